use std::fs;
use std::path::Path;

use crate::harness::{Finished, Test, wait_until};

const CREATE: &str = "[CREATE_FILE path=\"w.txt\"]\nnew\n[/CREATE_FILE]\n{end}\n";
const RUN: &str = "[RUN_COMMAND]\necho it ran > ran.txt\n[/RUN_COMMAND]\n{end}\n";
const SETTINGS: &str = "{\"Agent\": {}}";

/// A session that was begun with these options, and that nobody waits for.
fn begun(options: &[&str]) -> Test {
    let arguments = [&["new", "--no-wait", "task"], options].concat();
    let test = Test::new(&arguments).file("appsettings.json", SETTINGS);
    if options.contains(&"work1") {
        fs::create_dir(test.base().join("work1")).unwrap();
    }
    test
}

/// One step with this reply.
fn step(finished: Finished, options: &[&str], reply: &str) -> Finished {
    let end = finished.end_mark();
    let arguments = [&["step", "--reply", "-"], options].concat();
    let test = Test::after(finished, &arguments);
    test.input(&reply.replace("{end}", &end)).run().code(0)
}

#[track_caller]
fn holds(finished: &Finished, path: &str, expected: Option<&str>) {
    let content = fs::read_to_string(finished.base().join(path)).ok();
    assert_eq!(content.as_deref(), expected, "{path}:\n{}", finished.stderr);
}

#[test]
fn every_verb_works_in_the_workspace_of_the_session() {
    let finished = begun(&["--workspace", "work1"])
        .file("workspace/w.txt", "precious\n")
        .file("work1/other.txt", "x\n")
        .run()
        .code(0);
    let finished = Test::after(finished, &["status"]).run().code(0);
    assert!(finished.stdout.contains("work1\n"), "{}", finished.stdout);
    let finished = step(finished, &[], CREATE);
    holds(&finished, "work1/w.txt", Some("new\n"));
    let finished = Test::after(finished, &["diff", "--stat"]).run().code(0);
    assert!(finished.stdout.contains("w.txt"), "{}", finished.stdout);
    let check = ["check", "--check", "test -f other.txt"];
    let finished = Test::after(finished, &check).run().code(0);
    let finished = Test::after(finished, &["handoff"]).run().code(0);
    assert!(finished.outbox(2).contains("other.txt"));
    let finished = Test::after(finished, &["undo", "--yes"]).run().code(0);
    holds(&finished, "work1/w.txt", None);
    holds(&finished, "workspace/w.txt", Some("precious\n"));
}

#[test]
fn a_workspace_that_was_named_and_lies_elsewhere_need_not_be_named_again() {
    let test = begun(&["--workspace", "../elsewhere"]);
    let elsewhere = test.base().with_file_name("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let finished = step(test.run().code(0), &[], CREATE);
    assert_eq!(
        fs::read_to_string(elsewhere.join("w.txt")).unwrap(),
        "new\n"
    );
    assert!(!finished.base().join("workspace").exists());
}

#[test]
fn another_workspace_is_told_and_kept() {
    let finished = begun(&["--workspace", "work1"]).run().code(0);
    fs::create_dir(finished.base().join("work2")).unwrap();
    let finished = step(finished, &["--workspace", "work2"], CREATE).said("worked in `");
    holds(&finished, "work2/w.txt", Some("new\n"));
    let finished = Test::after(finished, &["undo", "--yes"]).run().code(0);
    holds(&finished, "work2/w.txt", None);
}

/// Rewrites what a session says about itself, in its file and in its journal.
fn rewrite(finished: &Finished, change: impl Fn(&str) -> String) {
    let session = finished.session();
    let id = session["sessionId"].as_str().unwrap();
    for ending in ["json", "journal.jsonl"] {
        let path = finished.base().join(format!("sessions/{id}.{ending}"));
        let text = fs::read_to_string(&path).unwrap();
        let changed = change(&text);
        assert_ne!(changed, text, "{ending}");
        fs::write(&path, changed).unwrap();
    }
}

fn renamed(text: &str, workspace: &str) -> String {
    let to = format!("\"{workspace}\"");
    text.replace("\"workspace\": \"work1\"", &format!("\"workspace\": {to}"))
        .replace("\"workspace\":\"work1\"", &format!("\"workspace\":{to}"))
}

#[test]
fn a_session_from_before_works_where_the_settings_say() {
    let finished = begun(&["--workspace", "work1"]).run().code(0);
    fs::create_dir(finished.base().join("workspace")).unwrap();
    rewrite(&finished, |text| {
        renamed(text, "x").replace("\"workspace\"", "\"unknown\"")
    });
    let finished = step(finished, &[], CREATE);
    holds(&finished, "workspace/w.txt", Some("new\n"));
}

#[test]
fn a_session_that_came_with_a_project_does_not_lead_out() {
    let finished = begun(&["--workspace", "work1"]).run().code(0);
    let private = finished.base().with_file_name("private");
    fs::create_dir(&private).unwrap();
    let link = finished.base().join("link");
    std::os::unix::fs::symlink(&private, link).unwrap();
    let mut named = "work1";
    let mut finished = finished;
    for place in ["../private", "link"] {
        rewrite(&finished, |text| {
            text.replace(&format!("\"{named}\""), &format!("\"{place}\""))
        });
        named = place;
        finished = Test::after(finished, &["resume", "--no-wait"])
            .run()
            .code(1)
            .said("it is not known that you chose that")
            .said("`--workspace ");
    }
    assert_eq!(fs::read_dir(private).unwrap().count(), 0);
}

#[test]
fn commands_that_were_switched_off_stay_off() {
    let finished = begun(&["--commands", "off"]).run().code(0);
    assert!(!finished.stderr.contains("sandbox"), "{}", finished.stderr);
    let finished = step(finished, &[], RUN);
    holds(&finished, "workspace/ran.txt", None);
    let finished = step(finished, &["--commands", "run"], RUN);
    holds(&finished, "workspace/ran.txt", Some("it ran\n"));
}

#[test]
fn with_commands_off_nobody_speaks_of_a_sandbox() {
    let running = Test::new(&["new", "--commands", "off", "task"]).start();
    running.outbox(1);
    let finished = running.kill();
    assert!(!finished.stderr.contains("sandbox"), "{}", finished.stderr);
}

#[test]
fn rules_of_the_session_and_of_the_settings_add_up() {
    let finished = begun(&["--deny", "touch"]).run().code(0);
    let rules = "{\"Agent\": {\"Deny\": \"mkdir\"}}";
    fs::write(finished.base().join("appsettings.json"), rules).unwrap();
    let script = "[RUN_COMMAND]\ntouch a\n[/RUN_COMMAND]\n[RUN_COMMAND]\nmkdir b\n[/RUN_COMMAND]\n[RUN_COMMAND]\necho c > c\n[/RUN_COMMAND]\n{end}\n";
    let finished = step(finished, &[], script);
    let files = finished.files("workspace");
    assert_eq!(
        files.keys().collect::<Vec<_>>(),
        ["c"],
        "{}",
        finished.stderr
    );
    assert!(!finished.base().join("workspace/b").exists());
}

#[test]
fn a_reply_that_waited_for_a_decision_waits_again_after_a_kill() {
    let running = Test::new(&["new", "--approval", "ask", "task"])
        .reply(CREATE)
        .start();
    let id = running.outbox(1).lines().nth(1).unwrap()["Session: ".len()..].to_owned();
    let question = Path::new("sessions").join(id).join("pending/1.json");
    let asked = running.base().join(&question);
    wait_until("asked", || asked.exists());
    let finished = running.kill();
    fs::remove_file(&asked).unwrap();
    let running = Test::after(finished, &["resume"]).start();
    wait_until("asked again", || asked.exists());
    let finished = running.kill();
    holds(&finished, "workspace/w.txt", None);
}

#[test]
fn what_permits_more_is_not_kept_and_told_with_the_flags_that_say_it_again() {
    let told = "not in force now, because it permits more: `--grant git-write`";
    let finished = begun(&["--grant", "git-write", "--approval", "edits"])
        .run()
        .code(0);
    let resume = ["resume", "--no-wait"];
    let finished = Test::after(finished, &resume).run().code(0).said(told);
    let again = ["resume", "--no-wait", "--grant", "git-write"];
    let finished = Test::after(finished, &again).run().code(0);
    assert!(
        !finished.stderr.contains("not in force"),
        "{}",
        finished.stderr
    );
    step(finished, &[], CREATE).said(told);
}

#[test]
fn where_session_and_settings_speak_the_stricter_holds() {
    let finished = begun(&["--approval", "auto"]).run().code(0);
    let settings = "{\"Agent\": {\"Approval\": \"ask\"}}";
    fs::write(finished.base().join("appsettings.json"), settings).unwrap();
    let finished = step(finished, &["--no-input"], CREATE).said("`--approval auto`");
    holds(&finished, "workspace/w.txt", None);
    let finished = step(finished, &["--approval", "auto"], CREATE);
    holds(&finished, "workspace/w.txt", Some("new\n"));
}

#[test]
fn a_reply_of_another_unfinished_session_stays_in_the_inbox() {
    let finished = begun(&[]).run().code(0);
    let first = finished.session()["sessionId"].as_str().unwrap().to_owned();
    let reply = |id: &str, word: &str| format!("[DONE]\n{word}\n[/DONE]\n[END {id}#1]\n");
    let waiting = finished.base().join("inbox/r5.md");
    fs::write(&waiting, reply(&first, "the first is done")).unwrap();
    let finished = Test::after(finished, &["new", "--no-wait", "second task"])
        .run()
        .code(0);
    let sessions = finished.files("sessions");
    let mut ids = sessions
        .keys()
        .filter_map(|name| name.strip_suffix(".json"));
    let second = ids
        .find(|id| id.len() == 8 && **id != first)
        .unwrap()
        .to_owned();
    let stays = format!("`r5.md` answers session {first}, which is not finished");
    let finished = Test::after(finished, &["step", &second])
        .run()
        .code(1)
        .said(&stays)
        .said("there is no reply");
    let finished = Test::after(finished, &["status", &second]).run().code(0);
    let also = format!("Not finished: {first} (task)");
    assert!(finished.stdout.contains(&also), "{}", finished.stdout);
    let inbox = finished.base().join("inbox");
    let look = "[LIST_FILES]\n";
    fs::write(inbox.join("s1.md"), format!("{look}[END {second}#1]\n")).unwrap();
    let running = Test::after(finished, &["resume", &second]).start();
    running.outbox(2);
    let done = reply(&second, "fine").replace("#1]", "#2]");
    fs::write(inbox.join("s2.md"), done).unwrap();
    let finished = running.wait().code(0);
    let told = finished.stderr.matches(&stays).count();
    assert!(told <= 1, "{}", finished.stderr);
    assert!(waiting.exists());
    Test::after(finished, &["resume"])
        .run()
        .code(0)
        .said("the first is done");
}
