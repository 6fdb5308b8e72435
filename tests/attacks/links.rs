use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use agent::runner::RunEnd;

use crate::place::Plain::Always;
use crate::place::{Place, SECRET, cases, command, contents};

#[test]
fn links_made_by_commands_do_not_lead_out() {
    let place = Place::new();
    place.withstands(&[
        (Always, "rm -f l; ln -s ~/.ssh/key l; grep SECRET l"),
        (Always, "rm -f l; ln -s OUTSIDE l; cat l/victim"),
        (Always, "rm -f l; ln -s OUTSIDE/victim m; ln -s m l; cat l"),
        (Always, "cat /proc/self/root/OUTSIDE/victim"),
        (Always, "cat /proc/self/cwd/../../outside/victim"),
        (Always, "cd sub; cat ../../../outside/victim"),
        (Always, "rm -f h; ln ~/.ssh/key h; grep SECRET h"),
        (
            Always,
            "rm -f o; ln -s OUTSIDE/new o; echo x > o; test -e OUTSIDE/new && rm OUTSIDE/new",
        ),
    ]);
    place.is_untouched("links");
}

#[test]
fn a_link_left_by_a_command_leads_no_later_step_out() {
    let place = Place::new();
    let reply = place.filled(
        "[RUN_COMMAND]\nln -s OUTSIDE/victim leaf; ln -s OUTSIDE parent\n[/RUN_COMMAND]\n\
         [READ_FILE path=\"leaf\"]\n\
         [CREATE_FILE path=\"parent/new\"]\nx\n[/CREATE_FILE]\n\
         [CREATE_FILE path=\"leaf\"]\nx\n[/CREATE_FILE]\n",
    );
    let applied = place.apply(&reply);
    applied.tells_no_secret();
    place.is_untouched(&applied.text);
    assert_eq!(
        fs::read_to_string(place.workspace().join("leaf")).unwrap(),
        SECRET
    );
}

fn with_hard_link() -> Place {
    let place = Place::new();
    fs::hard_link(place.victim(), place.workspace().join("sub/shared")).unwrap();
    place
}

#[test]
fn a_file_command_parts_a_hard_link() {
    for form in [
        "[CREATE_FILE path=\"sub/shared\"]\nx\n[/CREATE_FILE]\n",
        "[INSERT_TEXT path=\"sub/shared\" line=\"0\"]\nx\n[/INSERT_TEXT]\n",
        "[EDIT_FILE path=\"sub/shared\" start_line=\"1\"]\nx\n[/EDIT_FILE]\n",
    ] {
        let place = with_hard_link();
        place.apply(form).all(1, "ok");
        place.is_untouched(form);
    }
    let place = with_hard_link();
    fs::write(place.workspace().join("sub/shared"), "x").unwrap();
    assert_eq!(fs::read_to_string(place.victim()).unwrap(), "x");
}

#[test]
fn a_command_cannot_change_a_file_with_a_hard_link_outside() {
    for script in [
        "echo x >> sub/shared",
        "cp /etc/passwd sub/shared",
        "truncate -s 0 sub/shared",
        "chmod 777 sub/shared",
        "touch -d 2001-01-01 sub/shared",
        "rm -f sub/shared",
        "ln sub/shared other && echo x >> other",
        "mv sub other && echo x >> other/shared",
        "/usr/bin/python3 -c 'import os; os.truncate(\"sub/shared\", 0)'",
    ] {
        let place = with_hard_link();
        let before = fs::metadata(place.victim()).unwrap();
        place.withstands_confined(script);
        let after = fs::metadata(place.victim()).unwrap();
        assert_eq!(
            (before.mode(), before.nlink(), before.mtime()),
            (after.mode(), after.nlink(), after.mtime()),
            "{script}"
        );
        place.is_untouched(script);
        cases(1);
        let ran = with_hard_link().plain(script);
        assert_eq!(ran.end, RunEnd::Exited(0), "{script}");
    }
}

impl Place {
    #[track_caller]
    fn withstands_confined(&self, script: &str) {
        self.apply(&crate::place::command(script)).all(1, "failed");
    }
}

#[test]
fn links_within_the_workspace_can_be_changed() {
    let place = Place::new().file("a", "");
    fs::hard_link(place.workspace().join("a"), place.workspace().join("b")).unwrap();
    let applied = place.apply("[RUN_COMMAND]\necho x > a; cat b\n[/RUN_COMMAND]\n");
    applied.all(1, "ok");
    assert_eq!(contents(&place.workspace())["b"], "x\n");
}

#[test]
fn very_many_links_are_all_protected() {
    let place = Place::new();
    let store = place.root().join("store");
    fs::create_dir(&store).unwrap();
    for directory in ["one", "two"] {
        let modules = place.workspace().join("modules").join(directory);
        fs::create_dir_all(&modules).unwrap();
        for number in 0..700 {
            let name = format!("{directory}{number}");
            fs::write(store.join(&name), "kept").unwrap();
            fs::hard_link(store.join(&name), modules.join(&name)).unwrap();
        }
    }
    let applied = place.apply(
        "[RUN_COMMAND]\nfor f in modules/*/*; do echo x 2>/dev/null >> $f; done; echo x > own\n[/RUN_COMMAND]\n",
    );
    applied.all(1, "ok");
    assert!(contents(&store).values().all(|text| text == "kept"));
}

#[test]
fn a_link_that_one_command_found_is_closed_to_the_next_wherever_it_moves() {
    let place = with_hard_link();
    let applied = place.apply(
        "[RUN_COMMAND]\nmv sub moved\n[/RUN_COMMAND]\n[RUN_COMMAND]\necho x >> moved/shared\n[/RUN_COMMAND]\n",
    );
    assert_eq!(applied.rows[1]["status"], "failed", "{}", applied.text);
    place.is_untouched(&applied.text);
    cases(1);
}

/// A script of the project that the person linked into a directory of `PATH` leads wherever a
/// command wants; so does a directory of `PATH` that is one of the workspace.
#[test]
fn a_link_of_the_person_through_the_workspace_shows_nothing_else() {
    let place = Place::new().file("run", "#!/bin/sh\n").file("tools/x", "");
    let run = place.workspace().join("run");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
    let (bin, tools) = (place.home().join("bin"), place.home().join("tools"));
    fs::create_dir(&bin).unwrap();
    symlink(&run, bin.join("run")).unwrap();
    symlink(place.workspace().join("tools"), &tools).unwrap();
    let search = format!("{}:{}:/usr/bin:/bin", bin.display(), tools.display());
    let apply = |script: &str| {
        let workspace = place.workspace();
        let arguments = ["apply", "--workspace", workspace.to_str().unwrap(), "-"];
        let mut agent = place.agent(&arguments);
        let mut child = agent.env("PATH", &search).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(command(script).as_bytes()).unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let lead = place.filled(
        "ln -sfn OUTSIDE/victim run && chmod +x OUTSIDE/victim 2>/dev/null; rm -r tools; ln -s OUTSIDE tools",
    );
    apply(&lead);
    for script in [
        "cat OUTSIDE/victim",
        "cat ~/tools/victim",
        "cat ~/.ssh/key",
        "cat ~/bin/run",
    ] {
        let told = apply(&place.filled(script));
        assert!(!told.contains(SECRET), "{script}: {told}");
        assert_eq!(place.plain(&place.filled(script)).end, RunEnd::Exited(0));
        cases(1);
    }
    // Even if the victim is a program.
    fs::set_permissions(place.victim(), fs::Permissions::from_mode(0o755)).unwrap();
    let told = apply(&place.filled("cat OUTSIDE/victim"));
    assert!(!told.contains(SECRET), "{told}");
}
