use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{Running, Test, agent, wait_until};

const PLAN: &str = "[RUN_COMMAND]\ntouch early\n[/RUN_COMMAND]\n[CREATE_FILE path=\"early.txt\"]\nx\n[/CREATE_FILE]\n[LIST_FILES]\n[GIT_STATUS]\n[PLAN]\n1. write a.txt\n[/PLAN]\n{end}\n";
const WORK: &str = "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n{end}\n";
const DONE: &str = "[DONE]\nfine\n[/DONE]\n{end}\n";
const MODE: &str = "PLAN MODE is on";

fn pending(running: &Running) -> PathBuf {
    let id = running.outbox(1).lines().nth(1).unwrap()["Session: ".len()..].to_owned();
    running.base().join("sessions").join(id).join("pending")
}

/// Waits for the question about the plan, and gives it.
fn question(running: &Running) -> serde_json::Value {
    let path = pending(running).join("5.json");
    wait_until("the plan is asked about", || path.exists());
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[track_caller]
fn decide(base: &Path, arguments: &[&str]) {
    let output = agent(base).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[track_caller]
fn has(outbox: &str, texts: &[&str]) {
    for text in texts {
        assert!(outbox.contains(text), "`{text}` is missing:\n{outbox}");
    }
}

#[test]
fn the_work_begins_when_the_plan_is_approved() {
    let running = Test::new(&["new", "--approval", "plan", "task"])
        .reply(PLAN)
        .reply(WORK)
        .reply(DONE)
        .start();
    has(&running.outbox(1), &[MODE, "then send the [PLAN]"]);
    let question = question(&running);
    assert_eq!(question["kind"], "plan");
    assert_eq!(question["shown"].as_str().unwrap().trim(), "1. write a.txt");
    assert!(question["may"].as_str().unwrap().contains("`auto`"));
    decide(&running.base(), &["approve"]);
    let finished = running
        .wait()
        .code(0)
        .said("nothing is changed before you approve a plan")
        .said("agent approve");
    let second = finished.outbox(2);
    has(
        &second,
        &[
            "1. [REFUSED] RUN_COMMAND",
            "2. [REFUSED] CREATE_FILE",
            "3. [OK] LIST_FILES",
            "5. [OK] PLAN",
            "The user approved this plan",
            "1. write a.txt",
            "[RUN_COMMAND timeout=",
            "carry it out step by step",
        ],
    );
    assert!(!second.contains(MODE), "{second}");
    has(&finished.outbox(3), &["1. [OK] CREATE_FILE"]);
    assert_eq!(finished.session()["planning"], "approved");
    assert_eq!(finished.files("workspace").len(), 1);
}

#[test]
fn a_decline_goes_back_to_the_model_with_its_reason() {
    let running = Test::new(&["new", "--approval", "plan", "task"])
        .reply(PLAN)
        .reply(WORK)
        .reply(DONE)
        .start();
    question(&running);
    decide(
        &running.base(),
        &["decline", "--reason", "write b.txt instead"],
    );
    let finished = running.wait().code(0);
    has(
        &finished.outbox(2),
        &[MODE, "declined your plan: write b.txt instead"],
    );
    has(&finished.outbox(3), &[MODE, "1. [REFUSED] CREATE_FILE"]);
    assert!(finished.files("workspace").is_empty());
}

#[test]
fn plan_mode_and_its_question_outlive_the_program() {
    let running = Test::new(&["new", "--approval", "plan", "task"])
        .reply(PLAN)
        .start();
    question(&running);
    let base = running.base();
    let finished = running.kill();
    assert_eq!(finished.session()["planning"], "proposed");
    decide(&base, &["approve"]);
    let finished = Test::after(finished, &["resume"])
        .reply_second(WORK)
        .start();
    has(&finished.outbox(2), &["The user approved this plan"]);
    finished.outbox(3);
    let finished = finished.kill();
    let finished = Test::after(finished, &["resume", "--approval", "plan"])
        .reply(DONE)
        .run()
        .code(0);
    has(&finished.outbox(3), &["1. [OK] CREATE_FILE"]);
    assert_eq!(finished.session()["planning"], "approved");
}

#[test]
fn after_the_plan_the_mode_is_the_one_that_is_set_elsewhere() {
    let running = Test::new(&["new", "--approval", "plan", "task"])
        .environment("Agent__Approval", "ask")
        .reply(PLAN)
        .reply(WORK)
        .reply(DONE)
        .start();
    let asked = question(&running);
    assert!(asked["may"].as_str().unwrap().contains("`ask`"), "{asked}");
    decide(&running.base(), &["approve"]);
    let file = pending(&running).join("1.json");
    wait_until("the change is asked about", || file.exists());
    decide(&running.base(), &["approve"]);
    running.wait().code(0).workspace("a.txt", "a\n");
}

#[test]
fn one_step_at_a_time_the_decision_comes_between_two_steps() {
    let finished = Test::new(&["new", "--no-wait", "--approval", "plan", "task"])
        .run()
        .code(0);
    let step = ["step", "--reply", "-"];
    let plan = PLAN.replace("{end}\n", "");
    let finished = Test::after(finished, &step)
        .input(&plan)
        .run()
        .code(0)
        .said("The plan waits for your decision");
    has(&finished.outbox(2), &["not decided about your plan", MODE]);
    let finished = Test::after(finished, &["approve"]).run().code(0);
    let finished = Test::after(finished, &step)
        .input(&WORK.replace("{end}\n", ""))
        .run()
        .code(0);
    has(
        &finished.outbox(3),
        &["The user approved this plan", "1. [OK] CREATE_FILE"],
    );
}

#[test]
fn where_nobody_can_be_asked_no_plan_is_approved() {
    let finished = Test::new(&["new", "--approval", "plan", "--no-input", "task"])
        .reply(PLAN)
        .reply(DONE)
        .run()
        .code(0);
    has(
        &finished.outbox(2),
        &[MODE, "declined your plan: nobody can be asked"],
    );
}

#[test]
fn a_plan_and_its_end_in_one_reply_wait_for_the_person_all_the_same() {
    let running = Test::new(&["new", "--approval", "plan", "task"])
        .reply(&PLAN.replace("{end}", "[DONE]\nfine\n[/DONE]\n{end}"))
        .reply(DONE)
        .start();
    question(&running);
    decide(&running.base(), &["approve"]);
    let finished = running.wait().code(0);
    has(&finished.outbox(2), &["6. [REFUSED] DONE"]);
}
