//! What is kept, counted and asked again in the first hour: lists that agree, choices that a session
//! keeps, slips that decide nothing.

use std::fs;

use crate::harness::{Finished, Test};
use crate::terminal::{Terminal, has_script};

/// One step with this reply on standard input.
fn step(finished: Finished, text: &str) -> Finished {
    let session = finished.session();
    let id = session["sessionId"].as_str().unwrap();
    let end = format!("[END {id}#{}]", session["sequenceNumber"]);
    Test::after(finished, &["step", "--reply", "-"])
        .input(&format!("{text}\n{end}\n"))
        .run()
        .code(0)
}

fn told(finished: &Finished) -> String {
    format!("{}{}", finished.stdout, finished.stderr)
}

#[test]
fn all_lists_name_what_the_session_changed_and_nothing_of_the_person() {
    let begun = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let one = step(begun, "[CREATE_FILE path=\"n.txt\"]\none\n[/CREATE_FILE]");
    let workspace = one.base().join("workspace");
    fs::write(workspace.join("mine.txt"), "mine\n").unwrap();
    fs::write(workspace.join("n.txt"), "one\nmy line\n").unwrap();
    let two = step(
        one,
        "[CREATE_FILE path=\"m.txt\"]\nm\n[/CREATE_FILE]\n[RUN_COMMAND]\necho 1 > tmp.txt\n[/RUN_COMMAND]",
    );
    let done = step(
        two,
        "[RUN_COMMAND]\nrm tmp.txt\n[/RUN_COMMAND]\n[DONE]\nAll of it is there and was tried.\n[/DONE]",
    );
    let text = told(&done);
    assert!(text.contains("m.txt +1, n.txt +1\n"), "{text}");
    let status = Test::after(done, &["status"]).run().code(0);
    assert!(
        told(&status).contains("2 files changed"),
        "{}",
        told(&status)
    );
    let list = Test::after(status, &["list", "--json"]).run().code(0);
    assert!(
        list.stdout.contains("\"changedFiles\":2"),
        "{}",
        list.stdout
    );
    let diff = Test::after(list, &["diff", "--stat"]).run().code(0);
    assert!(diff.stdout.contains("m.txt"), "{}", diff.stdout);
    assert!(diff.stdout.contains("n.txt"), "{}", diff.stdout);
    assert_eq!(diff.stdout.lines().count(), 2, "{}", diff.stdout);
    let whole = Test::after(diff, &["diff"]).run().code(0);
    assert!(!whole.stdout.contains("my line"), "{}", whole.stdout);
}

#[test]
fn a_slip_at_the_question_of_trust_decides_nothing() {
    if !has_script() {
        return;
    }
    let looser = "{\"Agent\": {\"Network\": \"on\"}}";
    let test = Test::new(&[]).file("appsettings.json", looser);
    let mut terminal = Terminal::open(test, "new --no-wait task", &[]);
    terminal.expect("Do you trust this file?");
    terminal.type_in("maybe\n");
    terminal.expect("Please answer y or n.");
    terminal.expect("Do you trust this file?");
    terminal.type_in("y\n");
    terminal.expect("Started");
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn q_stops_a_question_that_comes_before_a_session() {
    if !has_script() {
        return;
    }
    let test = Test::new(&[]).file("notes.txt", "x\n");
    let mut terminal = Terminal::open(test, "new task", &[]);
    terminal.expect("Where should the model work?");
    terminal.type_in("q\n");
    let base = terminal.base();
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(130), "{shown}");
    assert!(!base.join("appsettings.json").exists());
}

#[test]
fn a_placeholder_is_no_instruction() {
    let begun = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    Test::after(begun, &["resume", "--no-wait", "<what to do next>"])
        .run()
        .code(2)
        .said("stands for what you want")
        .said("agent resume \"now add tests\"");
}

#[test]
fn a_setting_is_written_beside_one_that_is_wrong() {
    let test = Test::new(&["config", "set", "Chat", "claude"]);
    let file = test
        .base()
        .with_file_name("home/.config/agent/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "{\"Nonsense\": 1}").unwrap();
    test.run()
        .code(0)
        .said("Chat = claude")
        .said("cannot be used yet")
        .said("Nonsense");
    let text = fs::read_to_string(&file).unwrap_or_default();
    assert!(text.is_empty() || text.contains("claude"), "{text}");
}
