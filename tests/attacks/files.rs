use std::fs;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use wait_timeout::ChildExt;

use crate::place::{Place, SECRET, cases, is_root, skipped};

/// A place full of links, and the paths that lead from its workspace to the victim outside.
fn hostile() -> (Place, Vec<String>) {
    let place = Place::new();
    let (victim, outside) = (place.victim(), place.outside());
    let place = place
        .link("leaf", "../../outside/victim")
        .link("absolute", &victim)
        .link("chain", "second")
        .link("second", "leaf")
        .link("parent", "../../outside")
        .link("sub/up", "../../..")
        .link("everything", "/")
        .link("magic", "/proc/self/root");
    let absolute = victim.to_str().unwrap();
    let paths = vec![
        "../../outside/victim".to_owned(),
        "sub/../../../outside/victim".to_owned(),
        "./../../outside/victim".to_owned(),
        "sub//..//..//..//outside/victim".to_owned(),
        absolute.to_owned(),
        format!("/proc/self/root{absolute}"),
        "leaf".to_owned(),
        "absolute".to_owned(),
        "chain".to_owned(),
        "parent/victim".to_owned(),
        "sub/up/outside/victim".to_owned(),
        format!("everything{absolute}"),
        format!("magic{absolute}"),
    ];
    for path in &paths {
        let naive = fs::read_to_string(place.workspace().join(path)).unwrap();
        assert_eq!(naive, SECRET, "{path} must lead out");
    }
    assert!(outside.is_dir());
    (place.file("own", "own\n"), paths)
}

/// Checks that a form of change does nothing with each hostile path.
#[track_caller]
fn change(form: &str) {
    let (place, paths) = hostile();
    let reply: String = paths
        .iter()
        .map(|path| form.replace("PATH", path).replace("TEXT", SECRET))
        .collect();
    let applied = place.apply(&reply);
    applied.did_nothing();
    place.is_untouched(&applied.text);
    assert!(place.workspace().join("own").exists());
    assert!(place.workspace().join("leaf").is_symlink());
    cases(1);
    // The counterpart: a program that merely joins the paths changes the victim.
    for path in paths {
        fs::write(place.workspace().join(&path), "overwritten").unwrap();
        assert_eq!(fs::read_to_string(place.victim()).unwrap(), "overwritten");
        fs::write(place.victim(), SECRET).unwrap();
    }
}

#[test]
fn no_file_is_created_outside() {
    change("[CREATE_FILE path=\"PATH\"]\nx\n[/CREATE_FILE]\n");
}

#[test]
fn no_lines_are_edited_outside() {
    change("[EDIT_FILE path=\"PATH\" start_line=\"1\"]\nx\n[/EDIT_FILE]\n");
}

#[test]
fn no_passage_is_edited_outside() {
    change(
        "[EDIT_FILE path=\"PATH\"]\n<<<<<<< SEARCH\nTEXT\n=======\nx\n>>>>>>> REPLACE\n[/EDIT_FILE]\n",
    );
}

#[test]
fn no_text_is_inserted_outside() {
    change("[INSERT_TEXT path=\"PATH\" line=\"0\"]\nx\n[/INSERT_TEXT]\n");
}

#[test]
fn no_file_is_deleted_outside() {
    change("[DELETE_FILE path=\"PATH\"]\n");
}

#[test]
fn no_file_is_moved_out() {
    change("[MOVE_FILE from=\"own\" to=\"PATH\"]\n");
}

#[test]
fn no_file_is_moved_in() {
    change("[MOVE_FILE from=\"PATH\" to=\"taken\"]\n");
}

#[test]
fn no_patch_leads_out() {
    for form in [
        "*** Update File: PATH\n@@\n-TEXT\n+x\n",
        "*** Add File: PATH\n+x\n",
        "*** Delete File: PATH\n",
        "*** Update File: own\n*** Move to: PATH\n@@\n-own\n+x\n",
    ] {
        change(&format!(
            "[APPLY_PATCH]\n*** Begin Patch\n{form}*** End Patch\n[/APPLY_PATCH]\n"
        ));
    }
}

#[test]
fn no_diff_leads_out() {
    for form in [
        "--- a/PATH\n+++ b/PATH\n@@ -1 +1 @@\n-TEXT\n+x\n",
        "--- /dev/null\n+++ b/PATH\n@@ -0,0 +1 @@\n+x\n",
        "--- a/PATH\n+++ /dev/null\n@@ -1 +0,0 @@\n-TEXT\n",
        "diff --git a/own b/PATH\nrename from own\nrename to PATH\n",
        "diff --git a/PATH b/taken\ncopy from PATH\ncopy to taken\n",
    ] {
        change(&format!("[APPLY_PATCH]\n{form}[/APPLY_PATCH]\n"));
    }
    change("[APPLY_PATCH path=\"PATH\"]\n@@ -1 +1 @@\n-TEXT\n+x\n[/APPLY_PATCH]\n");
}

#[test]
fn no_other_dialect_leads_out() {
    change("{\"tool\": \"write_file\", \"path\": \"PATH\", \"content\": \"x\"}\n");
    change("{\"tool\": \"delete_file\", \"path\": \"PATH\"}\n");
    change(
        "{\"tool\": \"replaceText\", \"path\": \"PATH\", \"oldString\": \"TEXT\", \"newString\": \"x\"}\n",
    );
    change("PATH\n```\n<<<<<<< SEARCH\nTEXT\n=======\nx\n>>>>>>> REPLACE\n```\n\n");
    change("Here is the new version of `PATH`:\n\n```\nx\n```\n\n");
}

#[test]
fn nothing_outside_is_read_searched_or_listed() {
    let (place, paths) = hostile();
    for form in [
        "[READ_FILE path=\"PATH\"]\n",
        "[SEARCH_TEXT pattern=\"hunter\" path=\"PATH\"]\n",
        "[LIST_FILES path=\"PATH\"]\n",
        "{\"tool\": \"read_file\", \"path\": \"PATH\"}\n",
    ] {
        let reply: String = paths
            .iter()
            .map(|path| form.replace("PATH", path))
            .collect();
        place.apply(&reply).tells_no_secret();
    }
    let directories = [
        "..",
        "../../outside",
        "parent",
        "sub/up",
        "everything",
        "magic",
    ];
    for form in [
        "[LIST_FILES path=\"PATH\"]\n",
        "[LIST_FILES path=\"PATH\" glob=\"**\"]\n",
    ] {
        let reply: String = directories
            .iter()
            .map(|path| form.replace("PATH", path))
            .collect();
        let applied = place.apply(&reply);
        assert!(!applied.text.contains("neighbour"), "{}", applied.text);
    }
    // A search and a listing of everything do not follow links either.
    let applied = place.apply("[SEARCH_TEXT pattern=\"hunter\"]\n[LIST_FILES]\n");
    applied.tells_no_secret();
    assert!(!applied.text.contains("neighbour"), "{}", applied.text);
    let naive = fs::read_dir(place.workspace().join("parent")).unwrap();
    assert_eq!(naive.count(), 2);
}

#[test]
fn a_link_to_nothing_makes_no_file_outside() {
    let place = Place::new().link("dangling", "../../outside/new");
    let applied = place.apply(
        "[CREATE_FILE path=\"dangling\"]\nx\n[/CREATE_FILE]\n[APPLY_PATCH]\n*** Begin Patch\n*** Add File: dangling\n+x\n*** End Patch\n[/APPLY_PATCH]\n",
    );
    applied.did_nothing();
    place.is_untouched(&applied.text);
    fs::write(place.workspace().join("dangling"), "x").unwrap();
    assert!(place.outside().join("new").exists());
}

#[test]
fn a_pipe_does_not_hold_the_program_up() {
    let place = Place::new();
    assert_eq!(
        place.plain("mkfifo pipe").end,
        agent::runner::RunEnd::Exited(0)
    );
    let forms = [
        "[READ_FILE path=\"pipe\"]\n",
        "[SEARCH_TEXT pattern=\"x\"]\n",
        "[CREATE_FILE path=\"pipe\"]\nx\n[/CREATE_FILE]\n",
        "[INSERT_TEXT path=\"pipe\" line=\"0\"]\nx\n[/INSERT_TEXT]\n",
        "[DELETE_FILE path=\"pipe\"]\n",
        "[MOVE_FILE from=\"pipe\" to=\"own\"]\n",
    ];
    let applied = place.apply(&forms.concat());
    let failed = applied.rows.iter().filter(|row| row["status"] == "failed");
    assert_eq!(failed.count(), forms.len() - 1, "{}", applied.text);
    let mut naive = Command::new("cat")
        .arg(place.workspace().join("pipe"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let ended = naive.wait_timeout(Duration::from_millis(200)).unwrap();
    assert!(ended.is_none(), "a naive reader waits");
    naive.kill().unwrap();
    naive.wait().unwrap();
}

#[test]
fn sockets_and_devices_are_no_files() {
    let place = Place::new();
    let _listener = UnixListener::bind(place.workspace().join("socket")).unwrap();
    let reply = |name: &str| {
        format!(
            "[READ_FILE path=\"{name}\"]\n[DELETE_FILE path=\"{name}\"]\n[CREATE_FILE path=\"{name}\"]\nx\n[/CREATE_FILE]\n"
        )
    };
    place.apply(&reply("socket")).did_nothing();
    if !is_root() {
        return skipped("a device in the workspace", "only root can make one");
    }
    place.plain("mknod zero c 1 5");
    place.apply(&reply("zero")).did_nothing();
    let naive = place.plain("head -c 1 zero | wc -c | grep -q 1");
    assert_eq!(naive.end, agent::runner::RunEnd::Exited(0));
}
