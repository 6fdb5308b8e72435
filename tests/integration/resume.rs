use std::fs;

use crate::harness::{Finished, Test, agent};

const DONE: &str = "[DONE]\nfine\n[/DONE]\n{end}\n";

fn id_of(outbox: &str) -> String {
    outbox.lines().nth(1).unwrap()["Session: ".len()..].to_owned()
}

#[test]
fn a_killed_loop_goes_on_where_it_was() {
    let running = Test::new(&["new", "task"])
        .reply(
            "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n[READ_FILE path=\"a.txt\"]\n{end}\n",
        )
        .start();
    let before = running.outbox(2);
    let finished = running.kill();
    assert_eq!(finished.session()["sequenceNumber"], 2);
    let resumed = Test::after(finished, &["resume"]).reply(DONE).run().code(0);
    assert_eq!(
        resumed.outbox(2),
        before,
        "an outbox that is there is not written again"
    );
    assert_eq!(resumed.outboxes(), 2);
}

#[test]
fn a_lost_outbox_is_composed_again_with_the_contents_that_were_asked_for() {
    let running = Test::new(&["new", "task"])
        .file("workspace/a.txt", "the content\n")
        .file("appsettings.json", "{\"Agent\": {}}")
        .reply("[READ_FILE path=\"a.txt\"]\n{end}\n")
        .start();
    let before = running.outbox(2);
    let finished = running.kill();
    for entry in fs::read_dir(finished.base().join("outbox")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let running = Test::after(finished, &["resume"]).start();
    let after = running.outbox(2);
    assert!(after.contains("the content"), "{after}");
    assert_eq!(after.replace(' ', ""), before.replace(' ', ""));
    running.kill();
}

#[test]
fn a_reply_that_came_while_nothing_ran_is_picked_up() {
    let running = Test::new(&["new", "task"]).start();
    let outbox = running.outbox(1);
    let id = outbox.lines().nth(1).unwrap()["Session: ".len()..].to_owned();
    let finished = running.kill();
    fs::write(
        finished.base().join("inbox/late.txt"),
        format!("[DONE]\nlate\n[/DONE]\n[END {id}#1]\n"),
    )
    .unwrap();
    Test::after(finished, &["resume", &id[..4]])
        .run()
        .code(0)
        .said("late");
}

#[test]
fn what_was_running_at_the_kill_is_reported_and_not_run_again() {
    let running = Test::new(&["new", "task"])
        .reply("[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n[RUN_COMMAND]\necho ran >> log.txt; echo so far; sleep 1000\n[/RUN_COMMAND]\n[CREATE_FILE path=\"b.txt\"]\nb\n[/CREATE_FILE]\n{end}\n")
        .start();
    let id = id_of(&running.outbox(1));
    let printed = running
        .base()
        .join(format!("sessions/{id}/running-0001-2.txt"));
    while fs::read_to_string(&printed).ok().as_deref() != Some("so far\n") {
        std::thread::yield_now();
    }
    let finished = running.kill();
    let resumed = Test::after(finished, &["resume"])
        .reply_second(DONE)
        .start();
    let outbox = resumed.outbox(2);
    assert!(outbox.contains("1. [OK] CREATE_FILE"), "{outbox}");
    assert!(
        outbox.contains(
            "2. [FAILED] RUN_COMMAND: `echo ran >> log.txt; echo so far; sleep 1000`: interrupted"
        ),
        "{outbox}"
    );
    assert!(outbox.contains("\nso far\n"), "{outbox}");
    assert!(!printed.exists());
    assert!(outbox.contains("3. [SKIPPED] CREATE_FILE"), "{outbox}");
    resumed.wait().code(0).workspace("log.txt", "ran\n");
}

#[test]
fn a_reply_that_was_claimed_and_not_begun_is_executed_once() {
    let running = Test::new(&["new", "task"]).start();
    let outbox = running.outbox(1);
    let id = outbox.lines().nth(1).unwrap()["Session: ".len()..].to_owned();
    let finished = running.kill();
    let claimed = finished
        .base()
        .join(format!("inbox/processed/{id}_seq0001_reply.txt"));
    fs::write(
        claimed,
        format!("[RUN_COMMAND]\necho x >> a.txt\n[/RUN_COMMAND]\n[END {id}#1]\n"),
    )
    .unwrap();
    Test::after(finished, &["resume"])
        .reply_second(DONE)
        .run()
        .code(0)
        .workspace("a.txt", "x\n");
}

#[test]
fn a_lost_or_damaged_session_file_is_rebuilt_from_the_journal() {
    for damage in [None, Some(""), Some("{\"schema\": 1, ")] {
        let running = Test::new(&["new", "task"])
            .reply("[LIST_FILES]\n{end}\n")
            .start();
        let outbox = running.outbox(2);
        let id = outbox.lines().nth(1).unwrap()["Session: ".len()..].to_owned();
        let finished = running.kill();
        let file = finished.base().join(format!("sessions/{id}.json"));
        match damage {
            None => fs::remove_file(file).unwrap(),
            Some(text) => fs::write(file, text).unwrap(),
        }
        Test::after(finished, &["resume", &id])
            .reply(DONE)
            .run()
            .code(0)
            .said("rebuilt from the journal");
    }
}

/// A session of which the first of two rounds is the last that its records tell of, and its id.
fn with_lost_records() -> (Finished, String) {
    let running = Test::new(&["new", "task", "--approval", "auto"])
        .reply("[RUN_COMMAND]\necho one >> one.txt\n[/RUN_COMMAND]\n{end}\n")
        .reply("[RUN_COMMAND]\necho two >> two.txt\n[/RUN_COMMAND]\n{end}\n")
        .reply("[RUN_COMMAND]\necho three >> three.txt\n[/RUN_COMMAND]\n{end}\n")
        .start();
    let id = id_of(&running.outbox(4));
    let finished = running.kill();
    let base = finished.base();
    fs::remove_file(base.join(format!("sessions/{id}.json"))).unwrap();
    let journal = base.join(format!("sessions/{id}.journal.jsonl"));
    let text = fs::read_to_string(&journal).unwrap();
    let first = text.find('\n').unwrap() + 1;
    fs::write(&journal, &text[..first]).unwrap();
    (finished, id)
}

#[test]
fn a_reply_is_not_taken_again_when_nothing_tells_of_its_round_any_more() {
    let (finished, id) = with_lost_records();
    let resumed = Test::after(finished, &["resume", &id]).reply(DONE).run();
    resumed
        .code(0)
        .said("inbox/rejected")
        .workspace("one.txt", "one\n")
        .workspace("two.txt", "two\n");
}

#[test]
fn a_copy_of_a_reply_of_which_nothing_tells_any_more_is_not_taken_either() {
    let (finished, id) = with_lost_records();
    let claimed = finished.files("inbox/processed").into_iter();
    let mut third = claimed.filter(|(name, _)| name.contains("_seq0003_"));
    let inbox = finished.base().join("inbox");
    fs::write(inbox.join("again.txt"), third.next().unwrap().1).unwrap();
    // Another answer to the lost third message, in what is the second round now.
    let other = format!("[RUN_COMMAND]\necho 3 >> three.txt\n[/RUN_COMMAND]\n[END {id}#3]\n");
    fs::write(inbox.join("other.txt"), other).unwrap();
    let resumed = Test::after(finished, &["resume", &id]).reply(DONE).run();
    let resumed = resumed
        .code(0)
        .said("this very reply was taken in a round of which nothing tells any more")
        .said("it answers round 3, this is round 2")
        .workspace("three.txt", "three\n");
    let rejected = resumed.files("inbox/rejected");
    for name in ["again.txt", "other.txt"] {
        assert!(rejected.contains_key(name), "{rejected:?}");
    }
}

#[test]
fn a_second_loop_is_told_who_holds_the_base() {
    let running = Test::new(&["new", "task"]).start();
    running.outbox(1);
    let second = agent(&running.base())
        .args(["new", "another"])
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(
        said.contains(&format!("process {}", running.child.id())),
        "{said}"
    );
    running.signal("INT");
    running.wait().code(130);
}

#[test]
fn resume_without_a_session_says_what_to_do() {
    Test::new(&["resume"]).run().code(1).said("agent new");
    Test::new(&["resume", "deadbeef"])
        .file("appsettings.json", "{\"Agent\":{}}")
        .run()
        .code(1)
        .said("agent list");
}

#[test]
fn without_waiting_the_message_that_is_there_is_named_again() {
    let finished = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let finished = Test::after(finished, &["resume", "--no-wait"])
        .run()
        .code(0)
        .said("_seq0001.txt into the chat");
    Test::after(finished, &["new"])
        .run()
        .code(2)
        .said("`agent help new` shows examples");
}

#[test]
fn without_waiting_the_message_of_a_round_that_was_just_finished_is_named() {
    let finished = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let id = id_of(&finished.outbox(1));
    let claimed = finished
        .base()
        .join(format!("inbox/processed/{id}_seq0001_reply.txt"));
    fs::write(claimed, format!("[LIST_FILES]\n[END {id}#1]\n")).unwrap();
    let finished = Test::after(finished, &["resume", "--no-wait"])
        .run()
        .code(0)
        .said("_seq0002.txt");
    assert!(
        !finished.stderr.contains("_seq0001.txt"),
        "{}",
        finished.stderr
    );
}
