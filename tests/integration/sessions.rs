use std::fs;
use std::path::Path;

use crate::harness::{Finished, Test, agent};

const DONE: &str = "[DONE]\nall done\n[/DONE]\n{end}\n";

fn create(name: &str, content: &str) -> String {
    format!("[CREATE_FILE path=\"{name}\"]\n{content}\n[/CREATE_FILE]\n{{end}}\n")
}

fn id_of(finished: &Finished) -> String {
    finished.session()["sessionId"].as_str().unwrap().to_owned()
}

/// A session of two rounds that has ended.
fn ended() -> Finished {
    Test::new(&["new", "write a greeting"])
        .reply(&create("a.txt", "hello"))
        .reply(DONE)
        .run()
        .code(0)
}

#[track_caller]
fn prints(finished: &Finished, text: &str) {
    let shown = &finished.stdout;
    assert!(shown.contains(text), "`{text}` is missing:\n{shown}");
}

#[track_caller]
fn json(finished: &Finished) -> serde_json::Value {
    serde_json::from_str(finished.stdout.lines().next().unwrap()).unwrap()
}

#[test]
fn a_list_tells_state_rounds_files_and_age() {
    let finished = ended();
    let id = id_of(&finished);
    let finished = Test::after(finished, &["list", "--json"]).run().code(0);
    let row = json(&finished);
    assert_eq!(row["id"], *id);
    assert_eq!(row["state"], "done");
    assert_eq!(row["rounds"], 2);
    assert_eq!(row["changedFiles"], 1);
    assert_eq!(row["isRunning"], false);
    let finished = Test::after(finished, &["list"]).run().code(0);
    prints(
        &finished,
        "ID        STATE     ROUNDS  FILES      AGE  TASK\n",
    );
    prints(&finished, &format!("{id}  done           2      1  "));
    prints(&finished, "write a greeting\n");
}

#[test]
fn a_session_is_named_by_a_beginning_or_as_the_latest_and_slips_are_pointed_out() {
    let finished = ended();
    let id = id_of(&finished);
    let finished = Test::after(finished, &["status", "latest"]).run().code(0);
    prints(&finished, &id);
    let finished = Test::after(finished, &["status", &id[..3]]).run().code(0);
    prints(&finished, &format!("agent resume {id}"));
    let last = if id.ends_with('0') { "1" } else { "0" };
    let typed = format!("{}{last}", &id[..7]);
    Test::after(finished, &["status", &typed])
        .run()
        .code(1)
        .said(&format!("there is no session `{typed}`"))
        .said(&format!("did you mean `{id}` (write a greeting)?"));
}

/// A base directory with so many copies of a session, each with a journal that cannot be read.
fn many(amount: u32) -> Finished {
    let finished = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let sessions = finished.base().join("sessions");
    let id = id_of(&finished);
    let text = fs::read_to_string(sessions.join(format!("{id}.json"))).unwrap();
    for number in 0..amount {
        let other = format!("{number:08x}");
        let path = |ending: &str| sessions.join(format!("{other}{ending}"));
        fs::write(path(".json"), text.replace(&id, &other)).unwrap();
        fs::write(path(".journal.jsonl"), "no journal\n").unwrap();
    }
    finished
}

#[test]
fn a_list_of_a_thousand_sessions_opens_no_journal() {
    let finished = many(1_000);
    let finished = Test::after(finished, &["list"]).run().code(0);
    assert_eq!(
        finished.stdout.lines().count(),
        1_002,
        "{}",
        finished.stderr
    );
    assert_eq!(finished.stderr, "");
}

fn letters(base: &Path, id: &str) -> usize {
    let count = |directory: &str| {
        let entries = fs::read_dir(base.join(directory)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        names
            .filter(|name| name.to_string_lossy().starts_with(id))
            .count()
    };
    count("outbox") + count("inbox/processed") + count("sessions")
}

#[test]
fn a_removed_session_leaves_the_workspace_and_other_sessions() {
    let finished = ended();
    let id = id_of(&finished);
    let finished = Test::after(finished, &["new", "--no-wait", "another"])
        .run()
        .code(0);
    assert_eq!(letters(&finished.base(), &id), 7);
    let finished = Test::after(finished, &["rm", &id])
        .run()
        .code(1)
        .said("`--yes`");
    assert_eq!(letters(&finished.base(), &id), 7);
    let finished = Test::after(finished, &["rm", "--yes", &id[..4]])
        .run()
        .code(0)
        .said(&format!("Session {id} is removed."))
        .workspace("a.txt", "hello\n");
    assert_eq!(letters(&finished.base(), &id), 0);
    assert_eq!(finished.outboxes(), 1);
    assert_eq!(finished.session()["task"], "another");
    Test::after(finished, &["rm", "--yes", &id])
        .run()
        .code(1)
        .said("there is no session");
}

#[test]
fn a_session_at_work_is_not_removed() {
    let running = Test::new(&["new", "task"]).start();
    running.outbox(1);
    let output = agent(&running.base())
        .args(["rm", "--yes", "latest"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("is at work in process"), "{said}");
    running.signal("INT");
    let finished = running.wait().code(130);
    Test::after(finished, &["rm", "--yes", "latest"])
        .run()
        .code(0);
}

#[test]
fn every_message_after_the_first_tells_what_the_rounds_did() {
    let finished = Test::new(&["new", "task"])
        .reply("[RUN_COMMAND]\necho x > made.txt; exit 3\n[/RUN_COMMAND]\n{end}\n")
        .reply("[EDIT_FILE path=\"none.txt\"]\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n[/EDIT_FILE]\n{end}\n")
        .reply(&create("a.txt", "hello"))
        .reply(DONE)
        .run()
        .code(0);
    assert!(!finished.outbox(1).contains("## History"));
    let first = "Round 1: changed made.txt; ran `echo x > made.txt; exit 3` (exit code 3)\n";
    assert!(finished.outbox(2).contains(&format!("## History\n{first}")));
    let last = finished.outbox(4);
    let expected = format!(
        "## History\n{first}Round 2: did not work: EDIT_FILE `none.txt` failed\nRound 3: changed a.txt\n"
    );
    assert!(last.contains(&expected), "{last}");
}

#[test]
fn the_history_says_which_rounds_were_taken_back() {
    let finished = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let step = |finished: Finished, reply: &str| {
        let reply = reply.replace("{end}\n", "");
        Test::after(finished, &["step", "--reply", "-"])
            .input(&reply)
            .run()
            .code(0)
    };
    let finished = step(finished, &create("a.txt", "hello"));
    let finished = Test::after(finished, &["undo", "--yes"]).run().code(0);
    let finished = step(finished, "[LIST_FILES]\n");
    let told = "Round 1 (taken back by the user since): changed a.txt\n";
    assert!(finished.outbox(3).contains(told), "{}", finished.outbox(3));
    let finished = Test::after(finished, &["redo", "--yes"]).run().code(0);
    let finished = step(finished, "[LIST_FILES]\n[LIST_FILES]\n");
    let told = "Round 1: changed a.txt\n";
    assert!(finished.outbox(4).contains(told), "{}", finished.outbox(4));
}

#[test]
fn an_ended_session_goes_on_with_a_further_instruction() {
    let finished = ended();
    let id = id_of(&finished);
    let finished = Test::after(finished, &["resume", &id])
        .run()
        .code(1)
        .said("has ended")
        .said(&format!("agent resume {id}"));
    let finished = Test::after(finished, &["resume", &id[..4], "now", "add tests"])
        .reply_second(&create("test.txt", "tested"))
        .reply(DONE)
        .run()
        .code(0)
        .workspace("test.txt", "tested\n");
    let outbox = finished.outbox(3);
    let asks = "THE USER ASKS FOR MORE, beyond the task in the header:\nnow add tests\n";
    assert!(outbox.contains(asks), "{outbox}");
    assert!(
        outbox.contains("## History\nRound 1: changed a.txt"),
        "{outbox}"
    );
    assert!(outbox.contains("You cannot see the machine"), "{outbox}");
    let later = finished.outbox(4);
    assert!(
        later.contains("Task: write a greeting\nThe user added in message 3: now add tests\n"),
        "{later}"
    );
    assert!(!later.contains("THE USER ASKS"), "{later}");
    assert_eq!(finished.session()["isComplete"], true);
    let journal = fs::read_to_string(finished.base().join(format!("sessions/{id}.journal.jsonl")));
    assert!(
        journal
            .unwrap()
            .contains("{\"event\":\"reopened\",\"sequence\":3}")
    );
}

#[test]
fn an_instruction_alone_goes_to_the_latest_session_and_into_its_current_message() {
    let finished = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let finished = Test::after(finished, &["step", "--reply", "-"])
        .input("[LIST_FILES]\n")
        .run()
        .code(0);
    assert!(!finished.outbox(2).contains("in French"));
    let finished = Test::after(finished, &["resume", "--no-wait", "in French please"])
        .run()
        .code(0);
    let outbox = finished.outbox(2);
    assert!(
        outbox.contains("in the header:\nin French please\n"),
        "{outbox}"
    );
    assert!(outbox.contains("1. [OK] LIST_FILES"), "{outbox}");
    assert_eq!(finished.outboxes(), 2);
    Test::after(finished, &["resume", "nosuch"])
        .run()
        .code(1)
        .said("there is no session `nosuch`");
}
