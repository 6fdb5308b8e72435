use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::harness::{Finished, Running, Test, agent, wait_until};

const DONE: &str = "[DONE]\nfine\n[/DONE]\n{end}\n";
const TWICE: &str = "it was run twice: first without the network";

/// A command that counts its runs, and succeeds only in the network of this test.
fn needs_network() -> String {
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    format!(
        "[RUN_COMMAND]\necho x >> runs\ntest \"$(readlink /proc/self/ns/net)\" = '{}' || {{ echo 'curl: (6) Could not resolve host: example'; exit 6; }}\n[/RUN_COMMAND]\n",
        own.display()
    )
}

/// A session in which that command is the first, with these options.
fn session(options: &[&str], more: &str) -> Test {
    let arguments: Vec<&str> = ["new", "task"].iter().chain(options).copied().collect();
    Test::new(&arguments).reply(&format!("{}{more}{{end}}\n", needs_network()))
}

/// Where the question about the network lies, once it is there.
fn question(running: &Running) -> PathBuf {
    let id = running.outbox(1).lines().nth(1).unwrap()["Session: ".len()..].to_owned();
    let path = running
        .base()
        .join("sessions")
        .join(id)
        .join("pending/1.json");
    wait_until("the offer is there", || path.exists());
    path
}

#[track_caller]
fn decide(base: &Path, arguments: &[&str]) {
    let output = agent(base).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Returns true if the sandbox of this machine has a network of its own, which the test looks at.
#[expect(
    clippy::print_stderr,
    reason = "a skipped test says so to the person who runs it"
)]
fn is_parted(finished: &Finished) -> bool {
    let sandbox = finished.session()["sandbox"].clone();
    let is_parted = sandbox == "namespaces" || sandbox == "bubblewrap";
    if !is_parted {
        eprintln!("skipped: this machine has no sandbox with a network of its own");
    }
    is_parted
}

#[test]
fn at_the_persons_word_a_command_is_run_again_with_the_network() {
    let running = session(&["--network", "ask"], "").reply(DONE).start();
    let question = question(&running);
    let shown: serde_json::Value = serde_json::from_slice(&fs::read(question).unwrap()).unwrap();
    assert_eq!(shown["kind"], "network");
    decide(&running.base(), &["approve"]);
    let finished = running.wait().code(0);
    if is_parted(&finished) {
        let outbox = finished.outbox(2);
        assert!(outbox.contains("1. [OK] RUN_COMMAND"), "{outbox}");
        assert!(outbox.contains(TWICE), "{outbox}");
        assert_eq!(finished.session()["networkGranted"], false);
        let finished = finished.said("agent approve 1 --always");
        finished.workspace("runs", "x\nx\n");
    }
}

#[test]
fn a_grant_for_the_session_holds_for_what_follows() {
    let second = needs_network();
    let running = session(&["--network", "ask"], &second)
        .reply(&format!("{second}{{end}}\n"))
        .reply(DONE)
        .start();
    question(&running);
    decide(&running.base(), &["approve", "--always"]);
    let finished = running.wait().code(0);
    if is_parted(&finished) {
        assert!(finished.outbox(2).contains("2. [OK] RUN_COMMAND"));
        assert!(finished.outbox(3).contains("1. [OK] RUN_COMMAND"));
        assert!(!finished.outbox(3).contains(TWICE));
        finished.workspace("runs", "x\nx\nx\nx\n");
    }
}

#[test]
fn without_the_persons_word_the_first_result_stands() {
    let running = session(&["--network", "ask"], "").reply(DONE).start();
    question(&running);
    decide(&running.base(), &["decline"]);
    let declined = running.wait().code(0);
    let refused = session(&["--network", "ask", "--no-input"], "")
        .reply(DONE)
        .run()
        .code(0);
    let off = session(&[], "").reply(DONE).run().code(0);
    for finished in [declined, refused, off] {
        if is_parted(&finished) {
            let outbox = finished.outbox(2);
            assert!(outbox.contains("1. [FAILED] RUN_COMMAND"), "{outbox}");
            assert!(outbox.contains("no network in the sandbox"), "{outbox}");
            assert!(!outbox.contains(TWICE), "{outbox}");
            finished.workspace("runs", "x\n");
        }
    }
}

#[test]
fn the_offer_outlives_the_program() {
    let running = session(&["--network", "ask"], "").start();
    question(&running);
    let base = running.base();
    let finished = running.kill();
    decide(&base, &["approve"]);
    let finished = Test::after(finished, &["resume", "--network", "ask"])
        .reply_second(DONE)
        .run()
        .code(0);
    if is_parted(&finished) {
        let outbox = finished.outbox(2);
        assert!(outbox.contains("1. [OK] RUN_COMMAND"), "{outbox}");
        assert!(outbox.contains(TWICE), "{outbox}");
        finished.workspace("runs", "x\nx\n");
    }
}

/// A package manager that would try for minutes, if nobody told it that there is no network.
#[test]
fn a_package_manager_fails_at_once_and_behind_a_pipe_too() {
    let tool = "#!/bin/sh\n[ \"$npm_config_fetch_retries$PIP_RETRIES$CARGO_NET_RETRY\" = 000 ] || sleep 60\nexit 1\n";
    let reply = "[RUN_COMMAND]\nchmod +x npm\nPATH=$PWD:$PATH\nnpm install 2>&1 | tail -1\n[/RUN_COMMAND]\n{end}\n";
    let began = Instant::now();
    let running = Test::new(&["new", "task", "--network", "ask"])
        .file("appsettings.json", "{\"Agent\": {}}")
        .file("workspace/npm", tool)
        .reply(reply)
        .reply(DONE)
        .start();
    question(&running);
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    decide(&running.base(), &["decline"]);
    let outbox = running.wait().code(0).outbox(2);
    assert!(outbox.contains("[FAILED] RUN_COMMAND"), "{outbox}");
    assert!(outbox.contains("no network in the sandbox"), "{outbox}");
}
