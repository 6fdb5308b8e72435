use std::fs;
use std::path::PathBuf;

use crate::harness::{Finished, Test, agent, wait_until};

/// A session that waits for decisions about these scripts.
fn waiting(scripts: &[&str]) -> (Finished, PathBuf) {
    let running = Test::new(&["new", "task"]).start();
    let outbox = running.outbox(1);
    let id = outbox.lines().nth(1).unwrap()["Session: ".len()..].to_owned();
    let finished = running.kill();
    let pending = finished.base().join("sessions").join(id).join("pending");
    fs::create_dir_all(&pending).unwrap();
    for (number, script) in (1..).zip(scripts) {
        let question = serde_json::json!({
            "number": number,
            "round": 1,
            "command": "RUN_COMMAND",
            "title": format!("`{script}`"),
            "shown": script,
            "why": "it uses the network",
            "may": "use the network",
        });
        fs::write(pending.join(format!("{number}.json")), question.to_string()).unwrap();
    }
    (finished, pending)
}

fn decision(pending: &std::path::Path, number: u32) -> serde_json::Value {
    let path = pending.join(format!("{number}.decision.json"));
    let mut decision: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    // Which question it is on.
    let about = decision.as_object_mut().unwrap().remove("about").unwrap();
    assert!(about.is_string());
    decision
}

#[test]
fn the_only_question_needs_no_number() {
    let (finished, pending) = waiting(&["curl example"]);
    let finished = Test::after(finished, &["approve"])
        .run()
        .code(0)
        .said("approved 1. run `curl example`");
    assert_eq!(
        decision(&pending, 1),
        serde_json::json!({"decision": "yes"})
    );
    Test::after(finished, &["approve"])
        .run()
        .code(1)
        .said("nothing waits for your decision")
        .said("hint: `agent status`");
}

#[test]
fn a_decline_carries_its_reason_and_the_first_decision_wins() {
    let (finished, pending) = waiting(&["one", "two"]);
    let finished = Test::after(finished, &["approve"])
        .run()
        .code(1)
        .said("2 steps wait for your decision: 1, 2");
    let finished = Test::after(finished, &["decline", "2", "--reason", "use cargo"])
        .run()
        .code(0)
        .said("declined 2. run `two`: use cargo");
    let finished = Test::after(finished, &["approve", "2"])
        .run()
        .code(1)
        .said("step 2 has been decided already");
    let _finished = Test::after(finished, &["approve", "all"]).run().code(0);
    assert_eq!(decision(&pending, 1)["decision"], "yes");
    let expected = serde_json::json!({"decision": "no", "reason": "use cargo"});
    assert_eq!(decision(&pending, 2), expected);
}

#[test]
fn status_shows_what_waits_whole_and_escaped() {
    let (finished, pending) = waiting(&["echo a\necho \u{1b}[2Jb"]);
    let finished = Test::after(finished, &["status"])
        .run()
        .code(0)
        .said("1. run `echo a")
        .said("| echo a\n  | echo \\u{1b}[2Jb")
        .said("why: it uses the network");
    assert!(finished.stdout.contains("agent approve, or agent decline"));
    let finished = Test::after(finished, &["approve", "1", "--always"])
        .run()
        .code(1)
        .said("no rule can be made of step 1");
    assert!(!pending.join("1.decision.json").exists());
    let json = Test::after(finished, &["decline", "--json"]).run().code(0);
    let event: serde_json::Value = serde_json::from_str(json.stdout.trim()).unwrap();
    assert_eq!(event["event"], "decided");
    assert_eq!(event["decision"], "no");
}

#[test]
fn a_decline_is_told_also_after_a_change_that_failed() {
    let running = Test::new(&["new", "task"])
        .reply("[EDIT_FILE path=\"missing.txt\"]\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n[/EDIT_FILE]\n[RUN_COMMAND]\ngit push\n[/RUN_COMMAND]\n{end}\n")
        .start();
    let id = running.outbox(1).lines().nth(1).unwrap()["Session: ".len()..].to_owned();
    let question = running.base().join(format!("sessions/{id}/pending/2.json"));
    wait_until("the question is there", || question.exists());
    let declined = agent(&running.base())
        .args(["decline", "2", "--reason", "leave the server alone"])
        .output()
        .unwrap();
    assert!(declined.status.success(), "{declined:?}");
    let outbox = running.outbox(2);
    assert!(outbox.contains("1. [FAILED] EDIT_FILE"), "{outbox}");
    assert!(outbox.contains("leave the server alone"), "{outbox}");
    assert!(!outbox.contains("send this command again"), "{outbox}");
    running.kill();
}

const CHANGE_AND_COMMANDS: &str = "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n[RUN_COMMAND]\nls\n[/RUN_COMMAND]\n[RUN_COMMAND]\npwd\n[/RUN_COMMAND]\n{end}\n";

#[test]
fn nobody_is_asked_about_a_command_that_needs_a_declined_change() {
    let running = Test::new(&["new", "--approval", "ask", "task"])
        .reply(CHANGE_AND_COMMANDS)
        .start();
    let id = running.outbox(1).lines().nth(1).unwrap()["Session: ".len()..].to_owned();
    let question = running.base().join(format!("sessions/{id}/pending/3.json"));
    wait_until("the questions are there", || question.exists());
    // Also where no loop is running.
    let finished = running.kill();
    let finished = Test::after(finished, &["decline", "1"]).run().code(0);
    let finished = Test::after(finished, &["approve", "2"])
        .run()
        .code(1)
        .said("step 2 has been decided already");
    let finished = Test::after(finished, &["resume", "--no-wait"]).run();
    let outbox = finished.outbox(2);
    let why = "the change in step 1 was declined, and this command came after it";
    assert_eq!(outbox.matches(why).count(), 2, "{outbox}");
}

#[test]
fn nobody_is_asked_about_a_command_after_a_change_that_the_rules_refuse() {
    let reply = CHANGE_AND_COMMANDS.replace("a.txt", ".git/config");
    let running = Test::new(&["new", "--approval", "ask", "task"])
        .reply(&reply)
        .start();
    let outbox = running.outbox(2);
    let why = "the change in step 1 was refused, and this command came after it";
    assert_eq!(outbox.matches(why).count(), 2, "{outbox}");
    running.kill();
}

#[test]
fn a_command_after_a_change_that_the_person_skipped_is_not_said_to_follow_a_failure() {
    let running = Test::new(&["new", "--approval", "ask", "task"])
        .reply(CHANGE_AND_COMMANDS)
        .start();
    let id = running.outbox(1).lines().nth(1).unwrap()["Session: ".len()..].to_owned();
    let pending = running.base().join(format!("sessions/{id}/pending"));
    wait_until("the questions are there", || {
        pending.join("3.json").exists()
    });
    let finished = running.kill();
    for number in 1..=3 {
        let path = pending.join(format!("{number}.decision.json"));
        let decision = if number == 1 { "skip" } else { "yes" };
        fs::write(path, format!("{{\"decision\": \"{decision}\"}}")).unwrap();
    }
    let finished = Test::after(finished, &["resume", "--no-wait"]).run();
    let outbox = finished.outbox(2);
    let why = "the change in step 1 was skipped, and this command came after it";
    assert_eq!(outbox.matches(why).count(), 2, "{outbox}");
    assert!(!outbox.contains("correct it"), "{outbox}");
}

#[test]
fn status_and_approve_show_what_changes_before_a_command_runs() {
    let long = "echo hi\n".repeat(60) + "echo the last line\n";
    let reply = format!(
        "[CREATE_FILE path=\"h.sh\"]\n{long}[/CREATE_FILE]\n[RUN_COMMAND]\nsh h.sh\n[/RUN_COMMAND]\n{{end}}\n"
    );
    let running = Test::new(&["new", "--approval", "edits", "task"])
        .reply(&reply)
        .start();
    let id = running.outbox(1).lines().nth(1).unwrap()["Session: ".len()..].to_owned();
    let question = running.base().join(format!("sessions/{id}/pending/2.json"));
    wait_until("the question is there", || question.exists());
    let finished = running.kill();
    let shown = "+echo the last line";
    let finished = Test::after(finished, &["status"]).run().code(0).said(shown);
    let finished = Test::after(finished, &["approve"])
        .run()
        .code(0)
        .said(shown);
    let finished = Test::after(finished, &["resume", "--no-wait", "--no-input"]).run();
    let outbox = finished.outbox(2);
    assert!(outbox.contains("2. [OK] RUN_COMMAND"), "{outbox}");
}

#[test]
fn all_can_be_declined_at_once() {
    let running = Test::new(&["new", "--approval", "ask", "task"])
        .reply(CHANGE_AND_COMMANDS)
        .start();
    let id = running.outbox(1).lines().nth(1).unwrap()["Session: ".len()..].to_owned();
    let question = running.base().join(format!("sessions/{id}/pending/3.json"));
    wait_until("the questions are there", || question.exists());
    let declined = agent(&running.base())
        .args(["decline", "all", "not now"])
        .output()
        .unwrap();
    assert!(declined.status.success(), "{declined:?}");
    let outbox = running.outbox(2);
    assert_eq!(outbox.matches("declined: not now").count(), 3, "{outbox}");
    running.kill();
}

#[test]
fn what_was_decided_before_counts_where_nobody_can_be_asked() {
    let running = Test::new(&["new", "--approval", "ask", "task"])
        .reply("[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n[CREATE_FILE path=\"b.txt\"]\nb\n[/CREATE_FILE]\n[CREATE_FILE path=\"c.txt\"]\nc\n[/CREATE_FILE]\n{end}\n")
        .start();
    let id = running.outbox(1).lines().nth(1).unwrap()["Session: ".len()..].to_owned();
    let question = running.base().join(format!("sessions/{id}/pending/3.json"));
    wait_until("the questions are there", || question.exists());
    let finished = running.kill();
    let finished = Test::after(finished, &["approve", "1"]).run().code(0);
    let finished = Test::after(finished, &["decline", "2", "--reason", "not b"])
        .run()
        .code(0);
    let finished = Test::after(finished, &["resume", "--no-wait", "--no-input"]).run();
    let outbox = finished.outbox(2);
    assert!(outbox.contains("1. [OK] CREATE_FILE"), "{outbox}");
    assert!(outbox.contains("the user declined: not b"), "{outbox}");
    assert!(outbox.contains("nobody can be asked now"), "{outbox}");
    let has = |name: &str| finished.base().join("workspace").join(name).exists();
    assert!(has("a.txt") && !has("b.txt") && !has("c.txt"));
}

/// A loop that asks about this script, with the path of the question.
fn asking(script: &str) -> (crate::harness::Running, PathBuf) {
    let reply = format!("[RUN_COMMAND]\n{script}\n[/RUN_COMMAND]\n{{end}}\n");
    let running = Test::new(&["new", "--ask", script, "task"])
        .reply(&reply)
        .start();
    let id = running.outbox(1).lines().nth(1).unwrap()["Session: ".len()..].to_owned();
    let question = running.base().join(format!("sessions/{id}/pending/1.json"));
    wait_until("the question is there", || question.exists());
    (running, question)
}

#[test]
fn a_script_that_the_person_wrote_is_bound_by_the_rules_too() {
    let (running, question) = asking("ls");
    let draft = question.with_file_name("draft");
    let edit = serde_json::json!({"decision": "edit", "script": "rm -rf / --no-preserve-root"});
    fs::write(&draft, edit.to_string()).unwrap();
    fs::rename(&draft, question.with_file_name("1.decision.json")).unwrap();
    let outbox = running.outbox(2);
    assert!(outbox.contains("1. [REFUSED] RUN_COMMAND"), "{outbox}");
    running.kill();
}

#[test]
fn a_question_that_somebody_changed_is_put_anew_before_a_decision_counts() {
    let (running, path) = asking("ls -la");
    let asked = fs::read_to_string(&path).unwrap();
    let draft = path.with_file_name("draft");
    fs::write(&draft, asked.replace("ls -la", "echo harmless")).unwrap();
    fs::rename(&draft, &path).unwrap();
    wait_until("the question is as it was", || {
        fs::read_to_string(&path).is_ok_and(|now| now == asked)
    });
    let approved = agent(&running.base()).args(["approve", "1"]).output();
    assert!(approved.unwrap().status.success());
    let outbox = running.outbox(2);
    assert!(outbox.contains("1. [OK] RUN_COMMAND"), "{outbox}");
    running.kill();
}
