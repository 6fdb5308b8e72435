//! Whole sessions against a real model server, which `tests/model/run` installs and starts. Without
//! it one line says that they were skipped.
//!
//! The server's grammar forces each reply to write `notes.txt` and to say `[DONE]`. A check that
//! fails twice, at the start and after the first round, makes the session take a second round.

use std::time::Duration;

use serde_json::Value;

use crate::harness::{Test, agent};

const KEY: &str = "sk-test";
/// A small machine reads a message in half a minute.
const LONGEST: Duration = Duration::from_mins(5);
/// Fails at the start and after the first round.
const CHECK: &str = "echo x >> .runs; test $(wc -l < .runs) -ge 3";

/// The address of the server, if one runs.
#[expect(clippy::print_stderr, reason = "what is skipped is said")]
fn server() -> Option<String> {
    let url = std::env::var("AGENT_MODEL_URL").ok();
    if url.is_none() {
        eprintln!("skipped, because no model server runs; `tests/model/run` starts one");
    }
    url
}

/// Runs a session to its end by this provider's wire.
#[track_caller]
fn to_done(provider: &str, variable: &str) {
    let Some(url) = server() else { return };
    let test = Test::new(&[
        "new",
        "--no-input",
        "--api",
        provider,
        "--api-url",
        &url,
        "--model",
        "smol",
        "--api-window",
        "8192",
        "--max-outbox-tokens",
        "3000",
        "--check",
        CHECK,
        "--max-rounds",
        "6",
        "write a note",
    ]);
    let running = test.environment(variable, KEY).start();
    let finished = running.wait_up_to(LONGEST).code(0);
    assert!(finished.files("workspace").contains_key("notes.txt"));
    let base = finished.base();
    let list = agent(&base).args(["list", "--json"]).output().unwrap();
    let list: Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!(list["state"], "done");
    let rounds = list["rounds"].as_u64().unwrap();
    let usage = &list["usage"];
    assert!(
        rounds >= 2 && usage["requests"].as_u64() >= Some(rounds),
        "{list}"
    );
    // The server has the beginning of the second request from the first one.
    assert!(usage["cached"].as_u64() > Some(500), "{list}");
}

#[test]
fn a_session_runs_to_done_by_chat_completions() {
    to_done("llamacpp", "LLAMA_API_KEY");
}

#[test]
fn a_session_runs_to_done_by_responses() {
    to_done("openai", "OPENAI_API_KEY");
}

#[test]
fn a_session_runs_to_done_by_messages() {
    to_done("anthropic", "ANTHROPIC_API_KEY");
}

#[test]
fn a_real_server_says_what_is_wrong() {
    let Some(url) = server() else { return };
    let common = [
        "--no-input",
        "--api",
        "llamacpp",
        "--api-url",
        &url,
        "--model",
        "smol",
    ];
    let wrong = Test::new(&[&["new"][..], &common, &["x"]].concat());
    wrong
        .environment("LLAMA_API_KEY", "sk-wrong")
        .run()
        .code(1)
        .said("Invalid API Key")
        .said("(401)");
    let tried = Test::new(&[&["api", "test"][..], &common].concat());
    let tried = tried.environment("LLAMA_API_KEY", KEY).start();
    let tried = tried.wait_up_to(LONGEST).code(0);
    assert!(
        tried.stdout.contains("answers") && tried.stdout.contains("streams"),
        "{}",
        tried.stdout
    );
}
