use std::fs::{self, File};
use std::time::{Duration, Instant, SystemTime};

use crate::harness::{DEADLINE, Finished, Running, Save, Test, save_reply};

const CREATE: &str = "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n{end}\n";
const DONE: &str = "[DONE]\nfine\n[/DONE]\n{end}\n";
const READ: &str = "[READ_FILE path=\"a.txt\" numbered=\"true\"]\n{end}\n";
const EDIT_LINE_2: &str =
    "[EDIT_FILE path=\"a.txt\" start_line=\"2\" end_line=\"2\"]\nTWO\n[/EDIT_FILE]\n{end}\n";
const SETTINGS: &str = "{\"Agent\": {}}";

/// A session whose first message is out and that nobody waits for.
fn begun() -> Finished {
    Test::new(&["new", "--no-wait", "task"]).run().code(0)
}

/// A reply with the end mark of the session's round.
fn marked(finished: &Finished, text: &str) -> String {
    let session = finished.session();
    let id = session["sessionId"].as_str().unwrap();
    let end = format!("[END {id}#{}]", session["sequenceNumber"]);
    text.replace("{end}", &end)
}

/// One step with this reply on standard input.
fn step(finished: Finished, text: &str) -> Test {
    let reply = marked(&finished, text);
    Test::after(finished, &["step", "--reply", "-"]).input(&reply)
}

/// Waits until a command of the model has left this file in the workspace.
#[track_caller]
fn wait_for_file(running: &Running, name: &str) {
    let path = running.base().join("workspace").join(name);
    let began = Instant::now();
    while !path.exists() {
        assert!(began.elapsed() < DEADLINE, "no `{name}`");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn new_without_waiting_writes_the_first_message_and_ends() {
    let finished = begun().said("_seq0001.txt");
    assert_eq!(finished.outboxes(), 1);
    assert_eq!(finished.session()["sequenceNumber"], 1);
}

#[test]
fn a_reply_from_a_file_gives_the_next_message() {
    let finished = begun();
    let reply = marked(&finished, CREATE);
    let finished = Test::after(finished, &["step", "--reply", "reply of mine.md"])
        .file("reply of mine.md", &reply)
        .run()
        .code(0)
        .workspace("a.txt", "a\n");
    let outbox = finished.outbox(2);
    assert!(outbox.contains("1. [OK] CREATE_FILE"), "{outbox}");
    let mine = finished.base().join("reply of mine.md");
    assert_eq!(fs::read_to_string(mine).unwrap(), reply, "the file stays");
}

#[test]
fn a_reply_from_standard_input_gives_the_next_message_until_done() {
    let finished = step(begun(), CREATE)
        .run()
        .code(0)
        .workspace("a.txt", "a\n");
    assert_eq!(finished.outboxes(), 2);
    let finished = step(finished, DONE).run().code(0).said("fine");
    assert_eq!(finished.session()["isComplete"], true);
    assert_eq!(finished.outboxes(), 2);
    Test::after(finished, &["step"]).run().code(1);
}

#[test]
fn the_oldest_reply_of_the_inbox_is_taken_and_the_others_stay() {
    let finished = begun();
    let inbox = finished.base().join("inbox");
    let now = SystemTime::now();
    for (name, content, age) in [
        ("b.txt", "newer", 10),
        ("c.txt", "oldest", 30),
        ("a.txt", "newest", 5),
    ] {
        let create = format!("[CREATE_FILE path=\"a.txt\"]\n{content}\n[/CREATE_FILE]\n");
        fs::write(inbox.join(name), create).unwrap();
        let file = File::options().write(true).open(inbox.join(name)).unwrap();
        file.set_modified(now - Duration::from_secs(age)).unwrap();
    }
    let finished = Test::after(finished, &["step"])
        .run()
        .code(0)
        .workspace("a.txt", "oldest\n");
    assert_eq!(finished.outboxes(), 2);
    assert!(inbox.join("a.txt").exists() && inbox.join("b.txt").exists());
    assert!(!inbox.join("c.txt").exists());
}

#[test]
fn a_reply_that_was_saved_just_now_without_an_end_mark_is_taken() {
    let finished = begun();
    let text = "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n";
    fs::write(finished.base().join("inbox/reply.md"), text).unwrap();
    Test::after(finished, &["step"])
        .run()
        .code(0)
        .workspace("a.txt", "a\n");
}

#[test]
fn without_a_reply_it_says_where_to_put_one() {
    let finished = Test::after(begun(), &["step"])
        .run()
        .code(1)
        .said("there is no reply in")
        .said("agent step --reply FILE");
    assert_eq!(finished.session()["sequenceNumber"], 1);
    Test::after(finished, &["step", "--reply", "no-such.txt"])
        .run()
        .code(1)
        .said("no-such.txt");
}

#[test]
fn a_reply_that_is_not_for_this_round_is_rejected_with_the_reason_beside_it() {
    let finished = begun();
    let outbox = finished.outbox(1);
    for reply in ["[DONE]\n[END deadbeef#1]\n", &outbox] {
        let finished = begun();
        let finished = Test::after(finished, &["step", "--reply", "-"])
            .input(reply)
            .run()
            .code(4)
            .said("Not used");
        let rejected = finished.files("inbox/rejected");
        assert_eq!(rejected.len(), 2, "{rejected:?}");
        let (name, _) = rejected.iter().find(|(_, text)| text == &reply).unwrap();
        assert!(
            rejected.contains_key(&format!("{name}.why")),
            "{rejected:?}"
        );
        assert_eq!(finished.session()["sequenceNumber"], 1);
        assert_eq!(finished.session()["isComplete"], false);
    }
}

#[test]
fn the_round_limit_gives_exit_code_3() {
    let finished = Test::new(&["new", "--no-wait", "--max-rounds", "1", "task"])
        .run()
        .code(0);
    let finished = step(finished, CREATE)
        .run()
        .code(3)
        .said("agent resume")
        .workspace("a.txt", "a\n");
    Test::after(finished, &["step"]).run().code(3);
}

#[test]
fn what_was_running_at_a_kill_is_reported_and_not_run_again() {
    let script = "[RUN_COMMAND]\necho ran >> log.txt; sleep 1000\n[/RUN_COMMAND]\n[CREATE_FILE path=\"b.txt\"]\nb\n[/CREATE_FILE]\n{end}\n";
    let running = step(begun(), script).start();
    wait_for_file(&running, "log.txt");
    let finished = running.kill();
    assert_eq!(finished.outboxes(), 1);
    let finished = Test::after(finished, &["step"])
        .run()
        .code(0)
        .workspace("log.txt", "ran\n");
    let outbox = finished.outbox(2);
    assert!(outbox.contains("1. [FAILED] RUN_COMMAND"), "{outbox}");
    assert!(outbox.contains("interrupted"), "{outbox}");
    assert!(outbox.contains("2. [SKIPPED] CREATE_FILE"), "{outbox}");
    let finished = step(finished, DONE).run().code(0);
    assert_eq!(finished.session()["isComplete"], true);
}

/// A file that the model has read, changed by hand so that the line numbers have moved.
const CHANGED: &str = "zero\none\ntwo\nthree\n";

fn change_by_hand(base: &std::path::Path) {
    fs::write(base.join("workspace/a.txt"), CHANGED).unwrap();
}

#[track_caller]
fn is_stale(finished: Finished) {
    let outbox = finished.outbox(3);
    assert!(outbox.contains("1. [FAILED] EDIT_FILE"), "{outbox}");
    assert!(outbox.contains("not as it was last shown"), "{outbox}");
    finished.workspace("a.txt", CHANGED);
}

#[test]
fn a_line_edit_of_a_file_that_changed_between_two_steps_is_stale() {
    let finished = Test::new(&["new", "--no-wait", "task"])
        .file("appsettings.json", SETTINGS)
        .file("workspace/a.txt", "one\ntwo\nthree\n")
        .run()
        .code(0);
    let finished = step(finished, READ).run().code(0);
    assert!(finished.outbox(2).contains("2: two"));
    change_by_hand(&finished.base());
    is_stale(step(finished, EDIT_LINE_2).run().code(0));
}

#[test]
fn what_a_message_had_no_room_for_was_not_seen() {
    let lines = |name: &str| -> String {
        let line = |number| format!("{name} has words in line {number}");
        let lines: Vec<String> = (1..=80).map(line).collect();
        lines.join("\n") + "\n"
    };
    let mut test = Test::new(&["new", "--no-wait", "--chat", "copilot", "task"]);
    for number in 1..=9 {
        for kind in ["py", "rs"] {
            let name = format!("f{number}.{kind}");
            test = test.file(&format!("workspace/{name}"), lines(&name));
        }
    }
    let first = test.file("appsettings.json", SETTINGS).run().code(0);
    let read = "[READ_FILE path=\"f1.py\" numbered=\"true\"]\n{end}\n";
    let finished = step(first, read).run().code(0);
    let changed = format!("# person\n# added\n# lines\n{}", lines("f1.py"));
    fs::write(finished.base().join("workspace/f1.py"), &changed).unwrap();
    // Wrong by its text, so that the file would come unasked, if there were room beside the others.
    let wrong = "[EDIT_FILE path=\"f1.py\"]\n<<<<<<< SEARCH\nnothing of it\n=======\nx\n>>>>>>> REPLACE\n[/EDIT_FILE]\n";
    let others = "[READ_FILE path=\"f[2-9].*\"]\n";
    let finished = step(finished, &format!("{wrong}{others}{{end}}\n"))
        .run()
        .code(0)
        .said("f1.py");
    let message: String = finished
        .files("outbox")
        .into_iter()
        .filter(|(name, _)| name.contains("seq0003"))
        .map(|(_, text)| text)
        .collect();
    assert!(!message.contains("### f1.py"), "{message}");
    assert!(
        message.contains("Left out for lack of room: f1.py (83 lines)."),
        "{message}"
    );
    let edit = EDIT_LINE_2.replace("a.txt", "f1.py");
    let finished = step(finished, &edit).run().code(0);
    let outbox = finished.outbox(4);
    assert!(outbox.contains("1. [FAILED] EDIT_FILE"), "{outbox}");
    finished.workspace("f1.py", &changed);
}

/// A loop whose model has read the file and not answered yet.
fn has_read() -> Running {
    let running = Test::new(&["new", "task"])
        .file("appsettings.json", SETTINGS)
        .file("workspace/a.txt", "one\ntwo\nthree\n")
        .reply(READ)
        .start();
    assert!(running.outbox(2).contains("2: two"));
    running
}

#[test]
fn a_line_edit_of_a_file_that_changed_while_a_loop_waits_is_stale() {
    let running = has_read();
    change_by_hand(&running.base());
    let outbox = running.outbox(2);
    let id = &outbox.lines().nth(1).unwrap()["Session: ".len()..];
    let reply = EDIT_LINE_2.replace("{end}", &format!("[END {id}#2]"));
    let path = running.base().join("inbox/reply2.txt");
    save_reply(&path, Save::Write, reply.as_bytes());
    running.outbox(3);
    is_stale(running.kill());
}

#[test]
fn a_line_edit_of_a_file_that_changed_while_nothing_ran_is_stale() {
    let finished = has_read().kill();
    change_by_hand(&finished.base());
    let running = Test::after(finished, &["resume"])
        .reply(EDIT_LINE_2)
        .start();
    running.outbox(3);
    is_stale(running.kill());
}

#[test]
fn what_the_person_changed_between_rounds_is_shown_to_the_model() {
    let finished = step(begun(), CREATE).run().code(0);
    fs::write(finished.base().join("workspace/a.txt"), "mine\n").unwrap();
    let second = CREATE.replace("a.txt", "b.txt");
    let finished = step(finished, &second).run().code(0);
    let outbox = finished.outbox(3);
    let shown = "## Changed by the User, Not by You\n```\ndiff --git a/a.txt b/a.txt\n";
    assert!(outbox.contains(shown), "{outbox}");
    assert!(outbox.contains("-a\n+mine\n"), "{outbox}");
    let third = CREATE.replace("a.txt", "c.txt");
    let finished = step(finished, &third).run().code(0);
    assert!(!finished.outbox(4).contains("Changed by the User"), "once");
}

#[test]
fn what_the_person_changed_is_shown_before_any_round_has_changed_something() {
    let finished = Test::new(&["new", "--no-wait", "task"])
        .file("appsettings.json", SETTINGS)
        .file("workspace/a.txt", "one\ntwo\n")
        .run()
        .code(0);
    let edit = |finished: &Finished, text: &str| {
        fs::write(finished.base().join("workspace/a.txt"), text).unwrap();
    };
    // The first message has shown all of so small a workspace.
    edit(&finished, "one\nmine\n");
    let finished = step(finished, "[LIST_FILES]\n{end}\n").run().code(0);
    let outbox = finished.outbox(2);
    let shown = "## Changed by the User, Not by You\n```\ndiff --git a/a.txt b/a.txt\n";
    assert!(outbox.contains(shown), "{outbox}");
    assert!(outbox.contains("-two\n+mine\n"), "{outbox}");
    let finished = step(finished, "[LIST_FILES]\n{end}\n").run().code(0);
    assert!(!finished.outbox(3).contains("Changed by the User"), "once");
    // Before the first round that changes something, and that file among others.
    edit(&finished, "one\nours, all of it\n");
    let change = "[EDIT_FILE path=\"a.txt\"]\n<<<<<<< SEARCH\none\n=======\nONE\n>>>>>>> REPLACE\n[/EDIT_FILE]\n{end}\n";
    let finished = step(finished, change).run().code(0);
    let outbox = finished.outbox(4);
    assert!(outbox.contains("-mine\n+ours, all of it\n"), "{outbox}");
    assert!(!outbox.contains("+ONE"), "that was the model: {outbox}");
    fs::remove_file(finished.base().join("workspace/a.txt")).unwrap();
    let finished = step(finished, "[LIST_FILES]\n{end}\n").run().code(0);
    let outbox = finished.outbox(5);
    assert!(outbox.contains("-ours, all of it\n"), "{outbox}");
    let finished = step(finished, "[LIST_FILES]\n{end}\n").run().code(0);
    assert!(!finished.outbox(6).contains("Changed by the User"), "once");
}

#[test]
fn of_many_changes_of_the_person_all_files_are_named_or_counted() {
    let finished = step(begun(), CREATE).run().code(0);
    for number in 0..30 {
        let path = finished
            .base()
            .join(format!("workspace/person{number}.txt"));
        fs::write(path, "the person has written this\n".repeat(20)).unwrap();
    }
    let finished = step(finished, "[LIST_FILES]\n{end}\n").run().code(0);
    let outbox = finished.outbox(3);
    let (_, changed) = outbox.split_once("## Changed by the User").unwrap();
    assert!(
        changed.contains("[TRUNCATED: what was changed in these"),
        "{outbox}"
    );
    for number in 0..30 {
        let name = format!("person{number}.txt");
        assert!(changed.contains(&name), "{name}: {outbox}");
    }
    assert!(
        changed.contains("+the person has written this\n"),
        "{outbox}"
    );
}

#[test]
fn what_the_person_changed_is_shown_after_a_round_that_only_looks() {
    let finished = step(begun(), CREATE).run().code(0);
    fs::write(finished.base().join("workspace/a.txt"), "mine\n").unwrap();
    let finished = step(finished, "[LIST_FILES]\n{end}\n").run().code(0);
    let outbox = finished.outbox(3);
    assert!(outbox.contains("-a\n+mine\n"), "{outbox}");
    let finished = step(finished, "[LIST_FILES]\n{end}\n").run().code(0);
    assert!(!finished.outbox(4).contains("Changed by the User"), "once");
}
