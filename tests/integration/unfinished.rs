use std::fs;
use std::path::PathBuf;

use crate::harness::{Finished, Test, wait_until};

/// A session that was killed in the second of three steps, and its id.
fn killed() -> (Finished, String) {
    let running = Test::new(&["new", "task"])
        .reply("[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n[RUN_COMMAND]\necho ran >> log.txt; echo so far; sleep 1000\n[/RUN_COMMAND]\n[CREATE_FILE path=\"b.txt\"]\nb\n[/CREATE_FILE]\n{end}\n")
        .start();
    let id = running.outbox(1).lines().nth(1).unwrap()["Session: ".len()..].to_owned();
    let printed = running
        .base()
        .join(format!("sessions/{id}/running-0001-2.txt"));
    wait_until("the command runs", || {
        fs::read_to_string(&printed).ok().as_deref() == Some("so far\n")
    });
    (running.kill(), id)
}

fn journal(finished: &Finished, id: &str) -> PathBuf {
    finished.base().join(format!("sessions/{id}.journal.jsonl"))
}

#[test]
fn a_session_that_is_ended_in_the_middle_of_a_round_never_repeats_it() {
    let (finished, id) = killed();
    let finished = Test::after(finished, &["end"]).run().code(0);
    assert_eq!(finished.session()["isComplete"], true);
    let finished = Test::after(finished, &["resume", &id, "--no-wait", "go on"])
        .run()
        .code(0)
        .workspace("log.txt", "ran\n");
    assert!(!finished.base().join("workspace/b.txt").exists());
    let outbox = finished.outbox(2);
    assert!(outbox.contains("1. [OK] CREATE_FILE"), "{outbox}");
    assert!(outbox.contains("2. [FAILED] RUN_COMMAND"), "{outbox}");
    assert!(outbox.contains("3. [SKIPPED] CREATE_FILE"), "{outbox}");
}

#[test]
fn a_round_that_is_interrupted_once_more_is_not_forgotten() {
    let (finished, id) = killed();
    // As if it had been killed before the command began.
    let journal = journal(&finished, &id);
    let text = fs::read_to_string(&journal).unwrap();
    let kept = text.trim_end().rsplit_once('\n').unwrap();
    assert!(kept.1.contains("started"), "{}", kept.1);
    let kept = format!("{}\n", kept.0);
    fs::write(&journal, &kept).unwrap();
    // Otherwise it would tell that the journal has been longer.
    let mark = format!("sessions/{id}/journal.length");
    fs::write(finished.base().join(mark), format!("{:020}\n", kept.len())).unwrap();
    for file in ["a.txt", "log.txt"] {
        fs::remove_file(finished.base().join("workspace").join(file)).unwrap();
    }
    let asked = Test::after(finished, &["resume", &id, "go on", "--approval", "ask"]).start();
    let question = asked.base().join(format!("sessions/{id}/pending/2.json"));
    wait_until("the question is there", || question.exists());
    asked.signal("INT");
    let finished = asked.wait().code(130);
    let running = Test::after(finished, &["resume", &id]).start();
    wait_until("the command runs", || {
        fs::read_to_string(running.base().join("workspace/log.txt")).is_ok()
    });
    let finished = running.kill().workspace("log.txt", "ran\n");
    let is_made_again = finished.base().join("workspace/a.txt").exists();
    assert!(!is_made_again, "what was finished is not done again");
}

#[test]
fn a_reply_that_is_gone_leaves_what_the_journal_knows() {
    for damage in [
        None,
        Some("[RUN_COMMAND]\necho other >> log.txt\n[/RUN_COMMAND]\n"),
    ] {
        let (finished, _) = killed();
        for entry in fs::read_dir(finished.base().join("inbox/processed")).unwrap() {
            let file = entry.unwrap().path();
            match damage {
                None => fs::remove_file(file).unwrap(),
                Some(text) => fs::write(file, text).unwrap(),
            }
        }
        let finished = Test::after(finished, &["resume", "--no-wait"])
            .run()
            .code(0)
            .said("is gone or was changed")
            .workspace("log.txt", "ran\n");
        let outbox = finished.outbox(2);
        assert!(
            outbox.contains("lost while it was being carried out"),
            "{outbox}"
        );
        assert!(
            outbox.contains("may or may not have happened: 2"),
            "{outbox}"
        );
        assert!(outbox.contains("1. [OK] CREATE_FILE"), "{outbox}");
    }
}

#[test]
fn a_workspace_that_has_gone_is_not_made_anew() {
    let finished = Test::new(&["new", "task", "--no-wait"]).run().code(0);
    let workspace = finished.base().join("workspace");
    fs::rename(&workspace, finished.base().join("elsewhere")).unwrap();
    let finished = Test::after(finished, &["resume", "--no-wait"])
        .run()
        .code(1)
        .said("was moved or deleted");
    let finished = Test::after(finished, &["step"]).run().code(1);
    assert!(!workspace.exists());
    fs::rename(finished.base().join("elsewhere"), &workspace).unwrap();
    Test::after(finished, &["resume", "--no-wait"])
        .run()
        .code(0);
}

#[test]
fn the_same_reply_again_is_used_if_it_is_pasted_anyway() {
    let finished = Test::new(&["new", "task", "--no-wait"]).run().code(0);
    let mut finished = Test::after(finished, &["paste", "reply.txt"])
        .file(
            "reply.txt",
            "[RUN_COMMAND]\necho ran >> log.txt\n[/RUN_COMMAND]\n",
        )
        .run()
        .code(0);
    finished = Test::after(finished, &["step"]).run().code(0);
    finished = Test::after(finished, &["paste", "reply.txt"]).run().code(0);
    finished = Test::after(finished, &["step"])
        .run()
        .code(4)
        .said("agent paste --anyway")
        .workspace("log.txt", "ran\n");
    finished = Test::after(finished, &["paste", "--anyway", "reply.txt"])
        .run()
        .code(0);
    Test::after(finished, &["step"])
        .run()
        .code(0)
        .workspace("log.txt", "ran\nran\n");
}

#[test]
fn status_of_a_reply_that_is_half_carried_out_says_nothing_of_pasting() {
    let (finished, id) = killed();
    let finished = Test::after(finished, &["status"]).run().code(0);
    let told = format!("Nothing is to be pasted: `agent resume {id}` goes on");
    assert!(finished.stdout.contains(&told), "{}", finished.stdout);
    assert!(!finished.stdout.contains("Paste "), "{}", finished.stdout);
    assert!(
        !finished.stdout.contains("The last reply"),
        "{}",
        finished.stdout
    );
}

#[test]
fn status_of_decided_steps_and_of_a_reply_in_the_inbox_names_resume() {
    let running = Test::new(&["new", "--approval", "ask", "task"]).start();
    let id = running.outbox(1).lines().nth(1).unwrap()["Session: ".len()..].to_owned();
    let base = running.base();
    let finished = running.kill();
    let reply = format!("[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n[END {id}#1]\n");
    fs::write(base.join("inbox/late.txt"), reply).unwrap();
    let finished = Test::after(finished, &["status"]).run().code(0);
    let told =
        format!("A reply is waiting in the inbox, `late.txt`: `agent resume {id}` takes it.");
    assert!(finished.stdout.contains(&told), "{}", finished.stdout);
    assert!(!finished.stdout.contains("Paste "), "{}", finished.stdout);
    let running = Test::after(finished, &["resume"]).start();
    let question = base.join(format!("sessions/{id}/pending/1.json"));
    wait_until("asked", || question.exists());
    let finished = running.kill();
    let finished = Test::after(finished, &["status"]).run().code(0);
    assert!(
        finished.stdout.contains("Decide with"),
        "{}",
        finished.stdout
    );
    let finished = Test::after(finished, &["approve", "1"]).run().code(0);
    let finished = Test::after(finished, &["status"]).run().code(0);
    assert!(
        finished.stdout.contains("Nothing is to be pasted"),
        "{}",
        finished.stdout
    );
    let running = Test::after(finished, &["resume"]).start();
    running.outbox(2);
    running.kill().workspace("a.txt", "a\n");
}

#[test]
fn a_reply_that_ends_between_commands_without_its_mark_is_asked_for_the_rest() {
    let finished = Test::new(&["new", "task"])
        .reply("``````\n[CREATE_FILE path=\"a\"]\nx\n[/CREATE_FILE]\n``````\n")
        .reply("``````\n[DONE]\nfine\n[/DONE]\n{end}\n``````\n")
        .run()
        .code(0);
    let message = finished.outbox(2);
    assert!(
        message.contains("without its end mark, so the end of it may be missing"),
        "{message}"
    );
}
