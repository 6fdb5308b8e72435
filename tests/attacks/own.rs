use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Output;

use agent::runner::RunEnd;
use agent::sandbox::Backend;

use crate::place::Plain::Always;
use crate::place::{DEADLINE, Place, SECRET, backend, cases, command, skipped};

const OURS: &str = "{\"Agent\":{}}";

/// Everything that the program printed.
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
    assert_eq!(ran.end, RunEnd::Exited(0), "the counterpart: {ran:?}");
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
    assert!(said(&output).contains("is in the workspace"));
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
        assert_eq!(place.plain(&script).end, RunEnd::Exited(0));
        cases(1);
    }
    let place = Place::new().link("node_modules", "sub");
    place.apply(&command("ls node_modules")).all(1, "ok");
}

/// A base directory of another project in the workspace, with a session and a secret in its records.
fn with_other_base() -> Place {
    let place = Place::new().file("other/appsettings.json", OURS);
    let base = place.workspace().join("other");
    let new = ["new", "--base", base.to_str().unwrap(), "--no-wait", "task"];
    let output = place.agent(&new).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    place
        .file("other/sessions/x.json", SECRET)
        .file("other/inbox/x.txt", SECRET)
        .file("other/outbox/x.md", SECRET)
        .file("plain/sessions/x.json", SECRET)
}

#[test]
fn commands_neither_see_nor_change_the_records_of_another_base() {
    let place = with_other_base();
    let attacks = [
        "grep -r SECRET other/sessions",
        "grep -r SECRET other/inbox other/outbox",
        "cp other/appsettings.json . && echo '{\"Agent\":{\"Sandbox\":\"off\"}}' > other/appsettings.json && cp appsettings.json other && rm appsettings.json",
        "echo x > other/inbox/reply.txt && rm other/inbox/reply.txt",
        "mv other/inbox away && mkdir other/inbox && rmdir other/inbox && mv away other/inbox",
        "mv other moved && grep -r SECRET moved && mv moved other",
    ]
    .map(|script| place.filled(script));
    let reply: String = attacks.iter().map(|script| command(script)).collect();
    let applied = place.apply(&reply);
    assert_eq!(applied.rows.len(), attacks.len(), "{}", applied.text);
    // With Landlock each of them needs a yes.
    let expected = match backend() {
        Backend::Landlock => "refused",
        Backend::Namespaces | Backend::Bubblewrap => "failed",
    };
    for (row, script) in applied.rows.iter().zip(&attacks) {
        assert_eq!(row["status"], expected, "{script}: {row}");
    }
    applied.tells_no_secret();
    cases(attacks.len());
    for script in &attacks {
        let ran = place.plain(script);
        assert_eq!(ran.end, RunEnd::Exited(0), "plain: {script}: {ran:?}");
    }
}

#[test]
fn file_steps_and_messages_leave_the_records_of_another_base_alone() {
    let place = with_other_base();
    let journal = fs::read_dir(place.workspace().join("other/sessions"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .find(|name| name.ends_with(".journal.jsonl"))
        .unwrap();
    let forms = [
        "[READ_FILE path=\"other/sessions/x.json\"]\n".to_owned(),
        format!("[READ_FILE path=\"other/sessions/{journal}\"]\n"),
        "[READ_FILE path=\"other/inbox/x.txt\"]\n".to_owned(),
        "[LIST_FILES path=\"other/sessions\"]\n".to_owned(),
        "[SEARCH_TEXT pattern=\"hunter\" path=\"other/outbox\"]\n".to_owned(),
        "[CREATE_FILE path=\"other/inbox/zz.txt\"]\nx\n[/CREATE_FILE]\n".to_owned(),
        "[CREATE_FILE path=\"other/appsettings.json\"]\n{}\n[/CREATE_FILE]\n".to_owned(),
        "[DELETE_FILE path=\"other/sessions/x.json\"]\n".to_owned(),
        "[MOVE_FILE from=\"other/inbox/x.txt\" to=\"x.txt\"]\n".to_owned(),
    ];
    let applied = place.apply(&forms.concat());
    assert_eq!(applied.rows.len(), forms.len(), "{}", applied.text);
    applied.did_nothing();
    applied.tells_no_secret();
    let all = "[LIST_FILES]\n[SEARCH_TEXT pattern=\"hunter\"]\n";
    let text = place.apply(all).text;
    assert!(text.contains("plain/sessions/x.json"), "{text}");
    for hidden in [
        "other/sessions",
        "other/inbox",
        "other/outbox",
        "other/appsettings",
    ] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
    for counterpart in ["READ_FILE", "DELETE_FILE"] {
        let step = format!("[{counterpart} path=\"plain/sessions/x.json\"]\n");
        place.apply(&step).all(1, "ok");
    }
    let base = place.root().join("base");
    fs::create_dir(&base).unwrap();
    let workspace = place.workspace();
    let new = [
        "new",
        "--base",
        base.to_str().unwrap(),
        "--workspace",
        workspace.to_str().unwrap(),
        "--no-wait",
        "look at the sessions of other",
    ];
    let output = place.agent(&new).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let messages = crate::place::contents(&base.join("outbox"));
    assert!(!messages.is_empty());
    for (name, message) in messages {
        assert!(!message.contains(SECRET), "{name}: {message}");
        assert!(!message.contains("other/sessions"), "{name}: {message}");
    }
    cases(forms.len() + 2);
}

#[test]
fn a_base_in_a_path_that_the_person_opened_stays_as_it_is() {
    let place = Place::new();
    let wide = place.root().join("wide");
    let base = wide.join("deep/base");
    for directory in ["sessions", "inbox"] {
        fs::create_dir_all(base.join(directory)).unwrap();
    }
    fs::write(base.join("appsettings.json"), OURS).unwrap();
    fs::write(base.join("sessions/x.json"), SECRET).unwrap();
    let opened = wide.to_str().unwrap();
    let flags = [
        "--base",
        base.to_str().unwrap(),
        "--extra-write-paths",
        opened,
    ];
    let attacks = [
            "cp DEEP/base/appsettings.json x && echo '{}' > DEEP/base/appsettings.json && cp x DEEP/base/appsettings.json",
            "mv DEEP/base DEEP/other && mv DEEP/other DEEP/base",
            "mv DEEP DEEP.old && mv DEEP.old DEEP",
            "mkdir DEEP/base/.agent && rmdir DEEP/base/.agent",
            "grep -r SECRET DEEP/base/sessions",
            "echo x > DEEP/base/inbox/reply.txt && rm DEEP/base/inbox/reply.txt",
        ]
        .map(|script| place.filled(&script.replace("DEEP", &format!("{opened}/deep"))));
    let reply: String = attacks.iter().map(|script| command(script)).collect();
    let applied = place.apply_with(&flags, &reply);
    assert_eq!(applied.rows.len(), attacks.len(), "{}", applied.text);
    // With Landlock each of them needs a yes.
    let (stopped, usual) = match backend() {
        Backend::Landlock => ("refused", "refused"),
        Backend::Namespaces | Backend::Bubblewrap => ("failed", "ok"),
    };
    for (row, script) in applied.rows.iter().zip(&attacks) {
        assert_eq!(row["status"], stopped, "{script}: {row}");
    }
    applied.tells_no_secret();
    assert!(!base.join(".agent").exists(), "nothing is left");
    let free = command(&format!("echo x > {opened}/deep/free"));
    place.apply_with(&flags, &free).all(1, usual);
    for script in &attacks {
        let ran = place.plain(script);
        assert_eq!(ran.end, RunEnd::Exited(0), "plain: {script}: {ran:?}");
    }
    cases(attacks.len());
}
