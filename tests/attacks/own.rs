use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Output;

use agent::execute::run::End;
use agent::sandbox::Backend;

use crate::place::Plain::Always;
use crate::place::{DEADLINE, Place, SECRET, backend, cases, command, skipped};

const OURS: &str = "{\"Agent\":{}}";

/// What the program says, with the project as its base.
fn said(output: &Output) -> String {
    let (stdout, stderr) = (&output.stdout, &output.stderr);
    String::from_utf8_lossy(stdout).into_owned() + &String::from_utf8_lossy(stderr)
}

fn in_project(place: &Place, arguments: &[&str]) -> Output {
    let mut command = place.agent(arguments);
    command.current_dir(place.workspace()).output().unwrap()
}

#[test]
fn links_in_our_folders_lead_nothing_out() {
    for link in [
        "sessions/cache",
        "sessions/objects",
        "inbox/processed",
        "inbox/rejected",
        "outbox",
        "sessions",
    ] {
        let place = Place::new().file("appsettings.json", OURS);
        let path = place.workspace().join(link);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(place.outside(), &path).unwrap();
        let before = fs::metadata(place.outside()).unwrap().permissions().mode();
        let output = in_project(&place, &["new", "task", "--no-wait"]);
        assert!(!output.status.success(), "{link}: {}", said(&output));
        assert!(said(&output).contains("link"), "{link}: {}", said(&output));
        place.is_untouched(link);
        let after = fs::metadata(place.outside()).unwrap().permissions().mode();
        assert_eq!(before, after, "{link}");
        cases(1);
    }
}

#[test]
fn a_cache_is_not_mounted_through_a_link() {
    if backend() == Backend::Landlock {
        return skipped("a mounted cache", "Landlock mounts nothing");
    }
    let place = Place::new();
    let link = place.root().join("cache");
    symlink(place.home(), &link).unwrap();
    let script = "cat ~/.cache/.ssh/key && echo x > ~/.cache/planted";
    let run = |cache: &Path| {
        let mut confinement = place.confinement(backend());
        confinement.cache = Some(cache.to_owned());
        place.run(script, Some(&confinement), DEADLINE)
    };
    let ran = run(&link);
    assert!(!ran.output.text.contains(SECRET), "{ran:?}");
    assert!(!place.home().join("planted").exists());
    let ran = run(&place.home());
    assert_eq!(ran.end, End::Exited(0), "the counterpart: {ran:?}");
    cases(1);
}

#[test]
fn settings_in_force_are_not_replaced_by_a_reply() {
    let place = Place::new().file(
        ".agent/appsettings.json",
        "{\"Agent\":{\"WorkspaceDir\":\"..\",\"Deny\":\"frobnicate\"}}",
    );
    let output = in_project(&place, &["init"]);
    assert!(output.status.success(), "{}", said(&output));
    let planted = "{\"Agent\":{\"WorkspaceDir\":\".\"}}";
    let rules_hold = |directory: &str| {
        let mut command = place.agent(&["policy"]);
        let output = command.current_dir(place.workspace().join(directory));
        let said = said(&output.output().unwrap());
        assert!(!said.is_empty());
        said.contains("frobnicate")
    };
    assert!(rules_hold("") && rules_hold("sub"));
    place.apply(&format!(
        "[CREATE_FILE path=\"appsettings.json\"]\n{planted}\n[/CREATE_FILE]\n"
    ));
    assert!(rules_hold(""), "the file beside `.agent` does not count");
    place
        .apply(&command(&format!(
            "mkdir -p sub/.agent; echo '{planted}' | tee appsettings.json sub/appsettings.json"
        )))
        .all(1, "ok");
    assert!(rules_hold(""));
    let output = place
        .agent(&["policy"])
        .current_dir(place.workspace().join("sub"))
        .output()
        .unwrap();
    assert!(said(&output).contains("lies in the workspace"));
    fs::remove_dir_all(place.workspace().join(".agent")).unwrap();
    assert!(!rules_hold(""), "the counterpart counts");
    cases(3);
}

#[test]
fn the_settings_of_a_workspace_in_the_base_are_closed() {
    let place = Place::new().file("appsettings.json", OURS);
    let workspace = place.workspace();
    let base = ["--base", workspace.to_str().unwrap()];
    let reply = "[CREATE_FILE path=\"appsettings.json\"]\nx\n[/CREATE_FILE]\n\
                 [EDIT_FILE path=\"AppSettings.json\" start_line=\"1\"]\nx\n[/EDIT_FILE]\n\
                 [DELETE_FILE path=\"appsettings.json\"]\n\
                 [MOVE_FILE from=\"appsettings.json\" to=\"x\"]\n";
    place.apply_with(&base, reply).all(4, "refused");
    place.withstands_with(
        &base,
        &[
            (
                Always,
                "cp appsettings.json copy && echo x >> appsettings.json",
            ),
            (
                Always,
                "mv appsettings.json other && mv other appsettings.json",
            ),
            (Always, "mkdir .agent && echo x > .agent/appsettings.json"),
            (Always, "rm appsettings.json && cp copy appsettings.json"),
        ],
    );
}

#[test]
fn our_records_are_not_read_through_a_link() {
    let place = Place::new()
        .file("appsettings.json", OURS)
        .file(".agent/sessions/x.json", SECRET)
        .file("sessions/x.json", SECRET)
        .file("plain/x.json", SECRET);
    let base = place.workspace();
    let base = ["--base", base.to_str().unwrap()];
    let link = "ln -s .agent a; ln -s .agent/sessions b; ln -s sessions c; ln -s plain d";
    place.apply_with(&base, &command(link)).all(1, "ok");
    let forms = [
        "[READ_FILE path=\"a/sessions/x.json\"]\n",
        "[READ_FILE path=\"b/x.json\"]\n",
        "[READ_FILE path=\"c/x.json\"]\n",
        "[LIST_FILES path=\"a/sessions\"]\n",
        "[SEARCH_TEXT pattern=\"hunter\" path=\"b/x.json\"]\n",
        "[SEARCH_TEXT pattern=\"hunter\" path=\"a/sessions\"]\n",
        "[OUTLINE path=\"a/sessions/x.json\"]\n",
    ];
    let applied = place.apply_with(&base, &forms.concat());
    assert_eq!(applied.rows.len(), forms.len(), "{}", applied.text);
    applied.tells_no_secret();
    applied.did_nothing();
    let counterpart = "[READ_FILE path=\"d/x.json\"]\n";
    place.apply_with(&base, counterpart).all(1, "ok");
    cases(forms.len());
}

#[test]
fn what_may_not_be_read_is_not_printed_either() {
    let place = Place::new()
        .file("appsettings.json", OURS)
        .file(".agent/sessions/x.json", SECRET)
        .file("plain/x.json", SECRET);
    let base = place.workspace();
    let base = base.to_str().unwrap();
    // What a person sees, with the contents of the files that were read.
    let printed = |flags: &[&str], reply: &str| {
        let arguments = [&["--base", base], flags].concat();
        let output = place.start(&arguments, reply).wait_with_output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let hidden = "[READ_FILE path=\".agent/sessions/x.json\"]\n[READ_FILE path=\".AGENT/sessions/x.json\"]\n[READ_FILE path=\".agent/sessions/*\"]\n";
    for flags in [&[][..], &["--dry-run"]] {
        assert!(!printed(flags, hidden).contains(SECRET.trim()));
        let plain = printed(flags, "[READ_FILE path=\"plain/x.json\"]\n");
        assert!(plain.contains(SECRET.trim()), "{plain}");
        cases(3);
    }
}

#[test]
fn nothing_is_run_or_made_while_a_protected_name_is_a_link() {
    for name in [".git", ".envrc", ".vscode", ".github", ".agent"] {
        let place = Place::new();
        let target = place.outside();
        let place = place.link(name, target);
        let script = format!("rm {name} && mkdir {name}");
        let applied = place.apply(&command(&script));
        applied.did_nothing();
        assert!(applied.text.contains("is a link"), "{}", applied.text);
        assert!(place.workspace().join(name).is_symlink());
        place.is_untouched(name);
        assert_eq!(place.plain(&script).end, End::Exited(0));
        cases(1);
    }
    let place = Place::new().link("node_modules", "sub");
    place.apply(&command("ls node_modules")).all(1, "ok");
}
