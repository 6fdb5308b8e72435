//! Tests of loading as a whole.

use crate::protocol::Housekeeping;
use std::borrow::Cow;
use std::path::Path;

use super::*;
use crate::fs::{Durability, create_directory, write_atomic};

/// A base directory with a settings file, and a memory of trust beside it.
struct Project {
    _directory: tempfile::TempDir,
    base: Base,
    trust: Trust,
}

impl Project {
    fn new(settings: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(directory.path()).unwrap();
        let base = root.join("base");
        create_directory(&base).unwrap();
        let file = base.join(FILE_NAME);
        let text = format!("{{\"Agent\": {settings}}}");
        write_atomic(&file, text.as_bytes(), Durability::Atomic).unwrap();
        Self {
            trust: Trust::kept_in(root.join("state")),
            base: Base {
                directory: base,
                settings_file: Some(file),
            },
            _directory: directory,
        }
    }

    fn load(&self, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Loaded> {
        load(&self.base, owned(environment), &given(flags), &self.trust)
    }

    fn layers(&self) -> Layers {
        read(&self.base, owned(&[]), &Overrides::default()).unwrap()
    }

    fn file(&self) -> PathBuf {
        self.base.directory.join(FILE_NAME)
    }
}

fn owned(variables: &[(&str, &str)]) -> impl Iterator<Item = (String, String)> {
    let variables: Vec<_> = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    variables.into_iter()
}

fn given(flags: &[(&str, &str)]) -> Overrides {
    flags
        .iter()
        .fold(Overrides::default(), |flags, (flag, value)| {
            flags.with(flag, Some(value))
        })
}

#[test]
fn the_table_and_the_struct_have_the_same_keys() {
    let settings = serde_json::to_value(Settings::default()).unwrap();
    let fields: Vec<&String> = settings.as_object().unwrap().keys().collect();
    let keys: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(fields, keys);
    for key in KEYS {
        let default = serde_json::to_value(&key.default).unwrap();
        assert_eq!(settings[key.name], default, "{}", key.name);
    }
}

#[test]
fn every_value_in_range_fits_its_field() {
    for key in KEYS {
        let values = match &key.shape {
            Shape::Number(range) => vec![range.start().to_string(), range.end().to_string()],
            Shape::Choice(words) => words.iter().map(ToString::to_string).collect(),
            Shape::Words(words) => vec![words.join(",")],
            Shape::Paths | Shape::Items | Shape::Text => vec![String::new()],
            Shape::Temperature => vec![String::new(), "0".to_owned(), "1.25".to_owned()],
            Shape::Price => vec![String::new(), "2/10".to_owned(), "2/10/0.5".to_owned()],
            Shape::Runner => vec!["local".to_owned(), "docker:rust:1".to_owned()],
            Shape::Rules => vec!["git push,make".to_owned()],
            Shape::Directory => vec!["123456".to_owned()],
        };
        for value in values {
            let layer = Layer {
                origin: Origin::Default,
                values: vec![(key, key.shape.read_text(&value).unwrap())],
            };
            let figment = Figment::from(Layer::defaults()).merge(layer);
            let settings = serde_json::to_value(extract(&figment).unwrap()).unwrap();
            assert_eq!(
                settings[key.name].to_string().trim_matches('"'),
                value,
                "{}",
                key.name
            );
        }
    }
}

#[test]
fn a_new_base_pins_no_default() {
    let project = Project::new("{}");
    let text = include_str!("../../appsettings.json");
    write_atomic(&project.file(), text.as_bytes(), Durability::Atomic).unwrap();
    let loaded = project.load(&[], &[]).unwrap();
    assert_eq!(loaded.settings, Settings::default());
    let mut origins = loaded.origins.values();
    assert!(origins.all(|origin| *origin == Origin::Default));
}

#[test]
fn the_examples_of_the_settings_page_are_valid() {
    let page = include_str!("../../docs/settings.md").replace("\r\n", "\n");
    let examples: Vec<&str> = page
        .split("```json\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        let project = Project::new("{}");
        write_atomic(&project.file(), example.as_bytes(), Durability::Atomic).unwrap();
        let file = SettingsFile::look(&project.file()).unwrap().unwrap();
        assert!(!file.layer().unwrap().values.is_empty(), "{example}");
    }
}

#[test]
fn each_layer_is_stronger_than_the_one_before() {
    let project = Project::new(
        r#"{"MaxRounds": 1, "MaxReadLines": 1, "MaxListItems": 1, "Commands": "Off"}"#,
    );
    let environment = [("AGENT__MAXREADLINES", "2"), ("Agent__MaxListItems", "2")];
    let loaded = project
        .load(&environment, &[("--max-list-items", "3")])
        .unwrap();
    let settings = &loaded.settings;
    let counts = (
        settings.max_rounds,
        settings.max_read_lines,
        settings.max_list_items,
        settings.max_search_results,
    );
    assert_eq!(counts, (1, 2, 3, 50));
    assert_eq!(settings.commands, Commands::Off);
    assert_eq!(loaded.origins["MaxRounds"], Origin::File(project.file()));
    assert_eq!(
        loaded.origins["MaxReadLines"],
        Origin::Environment("AGENT__MAXREADLINES".to_owned())
    );
    assert_eq!(
        loaded.origins["MaxListItems"],
        Origin::Flag("--max-list-items")
    );
    assert_eq!(loaded.origins["MaxSearchResults"], Origin::Default);
}

#[test]
fn rows_tell_every_setting_as_it_is_written() {
    let project = Project::new(r#"{"MaxRounds": 7}"#);
    let loaded = project.load(&[], &[]).unwrap();
    let rows: Vec<String> = loaded
        .rows()
        .map(|(key, value, origin)| format!("{} {value} {origin}", key.name))
        .collect();
    assert_eq!(rows.len(), KEYS.len());
    assert_eq!(rows[0], "WorkspaceDir workspace the defaults");
    let file = project.file();
    assert_eq!(rows[4], format!("MaxRounds 7 `{}`", file.display()));
    assert!(rows.contains(&"OnFailure skip-commands the defaults".to_owned()));
}

#[test]
fn directories_count_from_the_base() {
    let project = Project::new(r#"{"InboxDir": "./mail/../in"}"#);
    let base = project.base.directory.clone();
    let elsewhere = base.parent().unwrap().join("elsewhere");
    let flags = [("--workspace", elsewhere.to_str().unwrap())];
    let loaded = project
        .load(&[("Agent__OutboxDir", "out")], &flags)
        .unwrap();
    let expected = Paths {
        workspace: elsewhere.clone(),
        inbox: base.join("in"),
        outbox: base.join("out"),
        sessions: base.join("sessions"),
        settings_files: vec![project.file()],
    };
    assert_eq!(loaded.paths, expected);
}

#[test]
fn a_base_without_a_file_has_the_defaults() {
    let mut project = Project::new("{}");
    project.base.settings_file = None;
    assert_eq!(
        project.load(&[], &[]).unwrap().settings,
        Settings::default()
    );
}

#[test]
fn an_untrusted_file_cannot_move_a_directory_out() {
    for (key, flag) in [
        ("WorkspaceDir", "--workspace"),
        ("SessionsDir", "--sessions"),
    ] {
        let project = Project::new(&format!(r#"{{"{key}": "../out"}}"#));
        let error = project.load(&[], &[]).unwrap_err();
        let place = project.base.directory.parent().unwrap().join("out");
        assert_eq!(
            error.to_string(),
            format!(
                "`{key}` in `{}` leads out of its directory, to `{}`, and you have not trusted \
                 that file",
                project.file().display(),
                place.display()
            )
        );
        assert_eq!(
            error.hints()[1],
            format!("or say it yourself: `{flag} {}`", place.display())
        );
    }
}

#[test]
fn the_person_may_confirm_what_was_read() {
    let project = Project::new(r#"{"WorkspaceDir": "..", "MaxRounds": 3}"#);
    let layers = project.layers();
    let question = layers.untrusted(&project.trust);
    assert_eq!(question.len(), 1);
    assert_eq!(question[0].to_string(), "WorkspaceDir: `..`");
    layers.confirm(&project.trust).unwrap();
    assert!(layers.untrusted(&project.trust).is_empty());
    let loaded = layers.settle(&project.trust).unwrap();
    let parent = project.base.directory.parent().unwrap();
    assert_eq!(loaded.paths.workspace, parent);
    assert!(project.trust.is_trusted(&project.file()));
}

#[test]
fn what_is_confirmed_is_what_was_read_and_not_what_stands_there_now() {
    let project = Project::new(r#"{"WorkspaceDir": ".."}"#);
    let layers = project.layers();
    let swapped = br#"{"Agent": {"WorkspaceDir": "/"}}"#;
    write_atomic(&project.file(), swapped, Durability::Atomic).unwrap();
    layers.confirm(&project.trust).unwrap();
    assert!(!project.trust.is_trusted(&project.file()));
    assert!(project.load(&[], &[]).is_err());
}

#[test]
fn flags_and_environment_need_no_trust() {
    let project = Project::new(r#"{"WorkspaceDir": "/"}"#);
    let place = project.base.directory.parent().unwrap().join("out");
    let place = place.to_str().unwrap();
    let by_flag = project.load(&[], &[("--workspace", place)]).unwrap();
    assert_eq!(by_flag.paths.workspace, Path::new(place));
    let by_variable = project
        .load(&[("Agent__WorkspaceDir", place)], &[])
        .unwrap();
    assert_eq!(by_variable.paths.workspace, Path::new(place));
    assert!(by_variable.untrusted.is_empty());
}

#[test]
fn what_loosens_is_left_out_with_a_notice() {
    let project = Project::new(r#"{"Commands": "off", "Network": "on"}"#);
    let loaded = project.layers().settle(&project.trust).unwrap();
    assert_eq!(loaded.settings.network, Network::Off);
    assert_eq!(loaded.settings.commands, Commands::Off);
    assert_eq!(loaded.untrusted[0].key, "Network");
    assert!(matches!(
        &loaded.notices[..],
        [SetupNews::UntrustedSetting { setting, is_declined: false, .. }] if setting == "Network"
    ));
    project.layers().confirm(&project.trust).unwrap();
    let loaded = project.layers().settle(&project.trust).unwrap();
    assert_eq!(loaded.settings.network, Network::On);
    assert!(loaded.notices.is_empty());
}

#[test]
fn what_tightens_counts_without_trust_and_nobody_is_asked() {
    let project = Project::new(
        r#"{"Approval": "ask", "Policy": "strict", "Network": "off", "Sandbox": "required", "Secrets": "on", "Grants": "", "Clipboard": "off"}"#,
    );
    assert_eq!(project.layers().untrusted(&project.trust), []);
    let loaded = project.load(&[], &[]).unwrap();
    let settings = &loaded.settings;
    assert_eq!(settings.approval, Approval::Ask);
    assert_eq!(settings.policy, Strictness::Strict);
    assert_eq!(settings.sandbox, SandboxMode::Required);
    assert_eq!(loaded.notices, []);
}

#[test]
fn a_no_is_remembered_for_the_file_as_it_is() {
    let project = Project::new(r#"{"Network": "on", "Approval": "ask"}"#);
    assert!(!project.layers().is_declined(&project.trust));
    project.layers().decline(&project.trust).unwrap();
    assert!(project.layers().is_declined(&project.trust));
    let loaded = project.load(&[], &[]).unwrap();
    assert_eq!(
        loaded.settings.approval,
        Approval::Ask,
        "what tightens counts"
    );
    assert_eq!(loaded.settings.network, Network::Off);
    assert!(matches!(
        &loaded.notices[..],
        [SetupNews::UntrustedSetting {
            is_declined: true,
            ..
        }]
    ));
    let changed = br#"{"Agent": {"Network": "ask"}}"#;
    write_atomic(&project.file(), changed, Durability::Atomic).unwrap();
    assert!(!project.layers().is_declined(&project.trust));
}

#[cfg(unix)]
#[test]
fn a_link_that_came_with_the_project_does_not_lead_out() {
    let project = Project::new("{}");
    let outside = project.base.directory.parent().unwrap().join("private");
    create_directory(&outside).unwrap();
    let link = project.base.directory.join("workspace");
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    let error = project.load(&[], &[]).unwrap_err();
    assert!(error.to_string().contains("is a link that leads out"));
    let place = outside.to_str().unwrap();
    assert!(project.load(&[], &[("--workspace", place)]).is_ok());
    // A link further up in the path leads out just as well.
    let deep = [("Agent__MaxRounds", "3")];
    let file = br#"{"Agent": {"WorkspaceDir": "workspace/deep/er"}}"#;
    write_atomic(&project.file(), file, Durability::Atomic).unwrap();
    assert!(project.load(&deep, &[]).is_err());
}

#[cfg(unix)]
#[test]
fn a_link_inside_of_the_base_is_fine() {
    let project = Project::new("{}");
    let inside = project.base.directory.join("work");
    create_directory(&inside).unwrap();
    std::os::unix::fs::symlink(&inside, project.base.directory.join("workspace")).unwrap();
    assert!(project.load(&[], &[]).is_ok());
}

#[cfg(unix)]
#[test]
fn links_do_not_bring_our_folders_together() {
    for (name, target) in [
        ("inbox", "outbox"),
        ("sessions", "inbox"),
        ("workspace", "sessions/x"),
        ("sessions", "."),
    ] {
        let project = Project::new("{}");
        create_directory(&project.base.directory.join(target)).unwrap();
        let link = project.base.directory.join(name);
        std::os::unix::fs::symlink(target, link).unwrap();
        assert!(project.load(&[], &[]).is_err(), "{name} -> {target}");
    }
    let project = Project::new("{}");
    let mail = project.base.directory.join("workspace/mail");
    create_directory(&mail).unwrap();
    std::os::unix::fs::symlink("workspace/mail", project.base.directory.join("inbox")).unwrap();
    let loaded = project.load(&[], &[]).unwrap();
    assert_eq!(loaded.paths.inbox, mail, "it is known where it really is");
}

#[track_caller]
fn refused(settings: &str, message: &str) {
    let project = Project::new(settings);
    let error = project.load(&[], &[]).unwrap_err();
    let base = format!("{}/", project.base.directory.display());
    assert_eq!(error.to_string().replace(&base, ""), message);
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    refused(
        r#"{"InboxDir": "mail", "OutboxDir": "./mail/"}"#,
        "`InboxDir` and `OutboxDir` are both `mail`",
    );
    refused(
        r#"{"WorkspaceDir": "sessions/work"}"#,
        "`WorkspaceDir` is inside `SessionsDir`, `sessions`",
    );
    refused(
        r#"{"CommandTimeoutSeconds": 900}"#,
        "`CommandTimeoutSeconds` (900, in `appsettings.json`) is more than \
         `MaxCommandTimeoutSeconds` (600, in the defaults)",
    );
}

#[test]
fn a_workspace_that_holds_the_memory_of_trust_is_told() {
    let project = Project::new("{}");
    let root = project.base.directory.parent().unwrap();
    let loaded = project
        .load(&[], &[("--workspace", root.to_str().unwrap())])
        .unwrap();
    assert!(matches!(
        &loaded.notices[..],
        [SetupNews::TrustExposed { .. }]
    ));
}

#[test]
fn a_key_that_slips_through_is_named_without_the_profile_of_figment() {
    static STRAY: Key = Key {
        name: "Stray",
        flag: "--stray",
        default: Value::Text(Cow::Borrowed("")),
        shape: Shape::Directory,
        meaning: "In no struct.",
        loosens: Loosens::Never,
    };
    let layer = Layer {
        origin: Origin::Default,
        values: vec![(&STRAY, STRAY.default.clone())],
    };
    let error = extract(&Figment::from(Layer::defaults()).merge(layer)).unwrap_err();
    assert_eq!(error.kind(), ExitKind::Defect);
    assert!(!error.to_string().contains("default."), "{error}");
}

#[test]
fn a_default_of_an_earlier_version_in_the_file_is_told_once() {
    let (directory, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let trust = Trust::kept_in(state.path());
    let told = |content: &str| {
        let path = directory.path().join("appsettings.json");
        crate::fs::write_atomic(&path, content.as_bytes(), crate::fs::Durability::Atomic).unwrap();
        let Ok(FoundBase::Base(base)) = Base::find(directory.path(), None, &trust) else {
            panic!("no base");
        };
        let flags = Overrides::given_in(directory.path().to_owned());
        let layers = read(&base, std::iter::empty(), &flags).unwrap();
        layers.tell_pinned_default(&trust)
    };
    let earlier = r#"{"Agent": {"MaxRounds": 20, "CommandTimeoutSeconds": 30}}"#;
    let news = told(earlier);
    assert!(
        matches!(&news, Some(Housekeeping::EarlierDefault { default, .. }) if default == "120"),
        "{news:?}"
    );
    assert_eq!(told(earlier), None);
    assert_eq!(told(r#"{"Agent": {"CommandTimeoutSeconds": 31}}"#), None);
    assert_eq!(told(include_str!("../../appsettings.json")), None);
}
