//! Tests of finding and making a base directory.

use super::*;
use crate::protocol::SetupNews;
use crate::settings::{Overrides, load};

struct Place {
    _directory: tempfile::TempDir,
    root: PathBuf,
    trust: Trust,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        let place = Self {
            trust: Trust::kept_in(root.join("state")),
            root: root.join("project"),
            _directory: directory,
        };
        create_directory(&place.root).unwrap();
        place
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        create_directory(path.parent().unwrap()).unwrap();
        write_atomic(&path, content.as_bytes(), Durability::Atomic).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    #[track_caller]
    fn finds(&self, start: &str, expected: &str) {
        let directory = self.path(expected);
        let base = Base {
            settings_file: Some(directory.join(FILE_NAME)),
            directory,
        };
        let found = Base::find(&self.path(start), None, &self.trust).unwrap();
        assert_eq!(found, FoundBase::Base(base));
    }
}

const OURS: &str = r#"{"Agent": {}}"#;

#[test]
fn the_nearest_settings_file_decides() {
    let place = Place::new();
    place.write("appsettings.json", OURS);
    place.write("a/.agent/appsettings.json", OURS);
    place.write("a/b/c/file", "");
    place.write("d/appsettings.json", r#"{"Logging": {}}"#);
    place.finds("", "");
    place.finds("a/b/c", "a/.agent");
    place.finds("a", "a/.agent");
    place.finds("d", "");
}

#[test]
fn a_file_beside_dot_agent_does_not_count_and_that_is_told() {
    let place = Place::new();
    let base = init(&place.root, &place.trust).unwrap();
    for planted in [r#"{"Agent": {"WorkspaceDir": "."}}"#, "{\"Agent\": {"] {
        place.write("appsettings.json", planted);
        place.finds("", ".agent");
        let flags = Overrides::default();
        let loaded = load(&base, std::iter::empty(), &flags, &place.trust).unwrap();
        assert!(matches!(
            &loaded.notices[..],
            [SetupNews::SettingsPassedOver { .. }]
        ));
    }
    place.write("appsettings.json", r#"{"Logging": {}}"#);
    let loaded = load(
        &base,
        std::iter::empty(),
        &Overrides::default(),
        &place.trust,
    );
    assert!(loaded.unwrap().notices.is_empty());
}

#[test]
fn settings_in_the_workspace_of_another_base_need_trust() {
    let place = Place::new();
    place.write("appsettings.json", OURS);
    place.write("workspace/appsettings.json", OURS);
    place.write("workspace/deep/.agent/appsettings.json", OURS);
    place.write("beside/appsettings.json", OURS);
    place.finds("beside", "beside");
    for start in ["workspace", "workspace/deep"] {
        let error = Base::find(&place.path(start), None, &place.trust).unwrap_err();
        assert!(error.to_string().contains("is in the workspace"));
        let named = Base::find(&place.path(start), Some(Path::new(".")), &place.trust);
        assert!(matches!(named, Ok(FoundBase::Base(_))));
    }
    let nearer = place.path("workspace/deep/.agent/appsettings.json");
    place.trust.add(&nearer).unwrap();
    place.finds("workspace/deep", "workspace/deep/.agent");
}

#[test]
fn a_broken_file_is_told_and_not_passed_over() {
    let place = Place::new();
    place.write("appsettings.json", "{\"Agent\": {");
    create_directory(&place.path("deep")).unwrap();
    let error = Base::find(&place.path("deep"), None, &place.trust).unwrap_err();
    assert!(error.to_string().contains("is not valid JSON"), "{error}");
}

#[test]
fn an_empty_directory_is_told_from_one_with_files() {
    let place = Place::new();
    let find = || Base::find(&place.root, None, &place.trust).unwrap();
    assert_eq!(find(), FoundBase::EmptyDirectory(place.root.clone()));
    place.write(".DS_Store", "");
    assert_eq!(find(), FoundBase::EmptyDirectory(place.root.clone()));
    place.write("main.rs", "");
    assert_eq!(find(), FoundBase::Undecided(place.root.clone()));
}

#[test]
fn a_named_directory_is_the_base_whatever_lies_above() {
    let place = Place::new();
    place.write("appsettings.json", OURS);
    place.write("a/main.rs", "");
    let found = Base::find(&place.root, Some(Path::new("a")), &place.trust).unwrap();
    let expected = Base {
        directory: place.path("a"),
        settings_file: None,
    };
    assert_eq!(found, FoundBase::Base(expected));
    let error = Base::find(&place.root, Some(Path::new("missing")), &place.trust).unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
    let file = Base::find(&place.root, Some(Path::new("a/main.rs")), &place.trust).unwrap_err();
    assert!(file.to_string().ends_with("is not a directory"), "{file}");
}

#[cfg(unix)]
#[test]
fn a_directory_that_is_everybodys_is_no_base_from_below() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.write("appsettings.json", OURS);
    create_directory(&place.path("mine")).unwrap();
    fs::set_permissions(&place.root, fs::Permissions::from_mode(0o1777)).unwrap();
    let found = Base::find(&place.path("mine"), None, &place.trust).unwrap();
    assert_eq!(found, FoundBase::EmptyDirectory(place.path("mine")));
    place.finds("", "");
}

#[test]
fn the_home_directory_is_no_base_from_below() {
    let place = Place::new();
    place.write("appsettings.json", OURS);
    create_directory(&place.path("mine")).unwrap();
    let up = |from: &str, home| Base::upward(place.path(from), home, &place.trust).unwrap();
    let home = Some(place.root.as_path());
    assert_eq!(
        up("mine", home),
        FoundBase::EmptyDirectory(place.path("mine"))
    );
    assert!(matches!(up("mine", None), FoundBase::Base(_)));
    assert!(matches!(
        Base::upward(place.root.clone(), home, &place.trust),
        Ok(FoundBase::Base(_))
    ));
}

#[test]
fn a_value_set_by_the_person_needs_no_trust_and_trusts_nothing_else() {
    let network = Key::named("Network").unwrap();
    let on = network.shape.read_text("on").unwrap();
    let place = Place::new();
    let base = Base::create(&place.root).unwrap();
    let file = set_here(&base, network, Some(&on), &place.trust).unwrap();
    assert!(place.trust.is_trusted(&file));
    set_here(&base, network, None, &place.trust).unwrap();
    assert!(!place.read("appsettings.json").contains("Network"));
    place.write("appsettings.json", r#"{"Agent": {"Sandbox": "off"}}"#);
    set_here(&base, network, Some(&on), &place.trust).unwrap();
    assert!(!place.trust.is_trusted(&file));
}

#[test]
fn a_created_base_is_found_again() {
    let place = Place::new();
    let base = Base::create(&place.root).unwrap();
    place.write("workspace/x", "");
    place.finds("workspace", "");
    place.write("appsettings.json", OURS);
    assert_eq!(Base::create(&place.root).unwrap(), base);
    assert_eq!(place.read("appsettings.json"), OURS);
}

#[test]
fn creating_a_base_leaves_a_foreign_file_alone() {
    let place = Place::new();
    place.write("appsettings.json", "{}");
    let error = Base::create(&place.root).unwrap_err();
    assert!(error.to_string().ends_with("belongs to another program"));
    assert_eq!(place.read("appsettings.json"), "{}");
}

#[test]
fn init_prepares_a_project_and_trusts_what_it_wrote() {
    let place = Place::new();
    place.write("src/main.rs", "fn main() {}");
    let base = init(&place.root, &place.trust).unwrap();
    assert_eq!(base.directory, place.path(".agent"));
    assert_eq!(place.read(".agent/.gitignore"), "*\n");
    place.finds("src", ".agent");
    let flags = Overrides::default();
    let loaded = load(&base, std::iter::empty(), &flags, &place.trust).unwrap();
    assert_eq!(loaded.paths.workspace, place.root);
    assert_eq!(loaded.paths.inbox, place.path(".agent/inbox"));
    let names = fs::read_dir(&place.root).unwrap().count();
    assert_eq!(names, 2, "only `.agent` is new");
}

#[test]
fn init_a_second_time_changes_nothing() {
    let place = Place::new();
    let base = init(&place.root, &place.trust).unwrap();
    let own = r#"{"Agent": {"WorkspaceDir": "..", "MaxRounds": 5}}"#;
    place.write(".agent/appsettings.json", own);
    place.write(".agent/.gitignore", "inbox\n");
    assert_eq!(init(&place.root, &place.trust).unwrap(), base);
    assert_eq!(place.read(".agent/appsettings.json"), own);
    assert_eq!(place.read(".agent/.gitignore"), "inbox\n");
    assert!(
        place
            .trust
            .is_trusted(&place.path(".agent/appsettings.json"))
    );
}

#[test]
fn init_does_not_trust_more_than_the_project_itself() {
    for hostile in [
        r#"{"Agent": {"WorkspaceDir": "../.."}}"#,
        r#"{"Agent": {"WorkspaceDir": "..", "OutboxDir": "/tmp"}}"#,
    ] {
        let place = Place::new();
        place.write(".agent/appsettings.json", hostile);
        let error = init(&place.root, &place.trust).unwrap_err();
        assert!(error.to_string().contains("is not trusted"), "{error}");
        assert!(
            !place
                .trust
                .is_trusted(&place.path(".agent/appsettings.json"))
        );
    }
}

#[cfg(unix)]
#[test]
fn init_does_not_follow_a_link_that_came_with_the_project() {
    let place = Place::new();
    let elsewhere = place.root.parent().unwrap().join("elsewhere");
    create_directory(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, place.path(".agent")).unwrap();
    assert!(init(&place.root, &place.trust).is_err());
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn init_beside_settings_of_our_own_says_what_to_do() {
    let place = Place::new();
    place.write("appsettings.json", OURS);
    let error = init(&place.root, &place.trust).unwrap_err();
    assert!(error.hints()[0].contains("WorkspaceDir"), "{error}");
    assert!(!place.path(".agent").exists());
}

#[test]
fn an_untrusted_project_in_place_is_told_to_init() {
    let place = Place::new();
    place.write(".agent/appsettings.json", IN_PLACE_FILE);
    let FoundBase::Base(base) = Base::find(&place.root, None, &place.trust).unwrap() else {
        panic!("there is a base")
    };
    let flags = Overrides::default();
    let error = load(&base, std::iter::empty(), &flags, &place.trust).unwrap_err();
    assert_eq!(
        error.hints()[0],
        format!("run `agent init` in `{}`", place.root.display())
    );
}
