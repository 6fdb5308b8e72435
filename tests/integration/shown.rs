use std::fs;

use serde_json::Value;

use crate::harness::{Finished, Test};

/// A session that has begun, with these options of the program.
fn begun(options: &[&str], task: &str, files: &[(&str, &str)]) -> Finished {
    let arguments = [
        &["--json", "--base", "."],
        options,
        &["new", "--no-wait", task],
    ]
    .concat();
    let new = Test::new(&arguments);
    let file =
        |new: Test, (path, text): &(&str, &str)| new.file(&format!("workspace/{path}"), text);
    files.iter().fold(new, file).run().code(0)
}

/// The next round, with these commands in the reply.
fn step(finished: Finished, options: &[&str], commands: &str) -> Finished {
    let session = finished.session();
    let (id, sequence) = (&session["sessionId"], &session["sequenceNumber"]);
    let end = format!("[END {}#{sequence}]", id.as_str().unwrap());
    let arguments = [
        &["--json", "--base", "."],
        options,
        &["step", "--reply", "-"],
    ]
    .concat();
    Test::after(finished, &arguments)
        .input(&format!("``````\n{commands}{end}\n``````\n"))
        .run()
}

fn event(finished: &Finished) -> Value {
    let events = finished.stdout.lines().rev();
    let mut events = events.map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.find(|event| event["event"] == "outbox").unwrap()
}

/// The last message, put together from its parts.
fn message(finished: &Finished) -> String {
    let event = event(finished);
    let pastes = event["pastes"].as_array().unwrap().iter();
    let read = |path: &Value| fs::read_to_string(path.as_str().unwrap()).unwrap();
    pastes.map(read).collect()
}

#[test]
fn a_blank_last_line_is_shown_and_can_be_edited() {
    let begun = begun(&[], "look", &[("a.txt", "a\nb\n\n")]);
    let first = message(&begun);
    let whole = "### a.txt (3 lines)\n```\na\nb\n\n```\n";
    assert!(first.contains(whole), "{first}");
    fs::write(begun.base().join("workspace/a.txt"), "new\na\nb\n\n").unwrap();
    let read =
        "[READ_FILE path=\"a.txt\"]\n[READ_FILE path=\"a.txt\" start_line=\"4\" end_line=\"4\"]\n";
    let second = step(begun, &[], read).code(0);
    let text = message(&second);
    let whole =
        "### a.txt (4 lines)\n```\nnew\na\nb\n\n```\n### a.txt (lines 4-4 of 4)\n```\n\n```\n";
    assert!(text.contains(whole), "{text}");
    let edit = "[EDIT_FILE path=\"a.txt\" start_line=\"3\" end_line=\"4\"]\nc\n[/EDIT_FILE]\n";
    let third = step(second, &[], edit).code(0);
    let text = message(&third);
    assert!(text.contains("1. [OK] EDIT_FILE"), "{text}");
}

#[test]
fn what_the_project_says_comes_to_its_end_over_several_messages() {
    const COPILOT: &[&str] = &["--chat", "copilot", "--max-parts", "1"];
    let rule = |text: String, n: u32| text + &format!("Rule {n} of sub.\n");
    let rules = (1..=200).fold(String::new(), rule);
    let code = "x = 1  # a line of code\n".repeat(300);
    let files = [
        ("sub/AGENTS.md", rules.as_str()),
        ("sub/m1.py", &code),
        ("sub/m2.py", &code),
        ("a.txt", "a\n"),
    ];
    let mut now = begun(COPILOT, "look", &files);
    assert!(!message(&now).contains("Rule 1 of sub."));
    now = step(now, COPILOT, "[READ_FILE path=\"sub/m*.py\"]\n").code(0);
    let mut told = message(&now).matches(" of sub.\n").count();
    assert!(told < 200);
    for _ in 0..4 {
        now = step(now, COPILOT, "[READ_FILE path=\"a.txt\"]\n").code(0);
        let text = message(&now);
        let here = text.matches(" of sub.\n").count();
        if here > 0 {
            assert!(
                text.contains(&format!("\nRule {} of sub.\n", told + 1)),
                "{text}"
            );
        }
        told += here;
    }
    assert_eq!(told, 200, "all of it, and none twice");
}

#[test]
fn a_step_that_shows_nothing_has_failed() {
    let begun = begun(&[], "look", &[("a.txt", "a\nb\n"), ("b.txt", "b\n")]);
    let read = "[READ_FILE path=\"a.txt\" start_line=\"9999\"]\n[READ_FILE path=\"b.txt\"]\n";
    let text = message(&step(begun, &[], read).code(0));
    let failed = "1. [FAILED] READ_FILE: `a.txt` has 2 lines: there is no line 9999\n";
    assert!(text.contains(failed), "{text}");
    assert!(text.contains("2. [OK] READ_FILE: read b.txt; its contents are below\n"));
}

#[test]
fn what_is_read_first_leaves_room_for_what_is_read_later() {
    const COPILOT: &[&str] = &["--chat", "copilot"];
    let long = "a line of some length, of which there are many\n".repeat(600);
    let names: Vec<String> = (0..30).map(|n| format!("long/f{n:02}.txt")).collect();
    let mut files: Vec<(&str, &str)> = (names.iter())
        .map(|name| (name.as_str(), long.as_str()))
        .collect();
    files.push(("z.txt", "the last one\n"));
    let begun = begun(COPILOT, "look", &files);
    let read = "[READ_FILE path=\"long/*.txt\"]\n[READ_FILE path=\"z.txt\"]\n";
    let finished = step(begun, COPILOT, read).code(0);
    let text = message(&finished);
    assert_eq!(text.matches("\n### long/f").count(), 30, "{text}");
    assert!(text.contains("### z.txt (1 line)\n"), "{text}");
    assert!(!text.contains("first 0 lines") && !text.contains("not shown"));
    assert_eq!(event(&finished)["pastes"].as_array().unwrap().len(), 4);
}

#[test]
fn a_long_file_that_the_task_names_by_a_part_of_its_path_comes_with_its_first_lines() {
    let long = "    a line of code\n".repeat(5_000);
    let files = [
        ("lib/src/output/help.rs", long.as_str()),
        ("lib/src/other/help.rs", &long),
        ("lib/src/error.rs", "fn error() {}\n"),
    ];
    let task = "Mend output/help.rs: it has an error";
    let text = message(&begun(&[], task, &files));
    let (_, named) = text.split_once("## Files That the Task Names\n").unwrap();
    let heading = "### lib/src/output/help.rs (lines 1-500 of 5000)\n";
    assert!(named.starts_with(heading), "{named}");
    assert!(named.contains("[TRUNCATED: showing first 500 lines, 4500 more available]"));
    assert!(!named.contains("### lib/src/other/help.rs"), "{named}");
    assert!(!text.contains("Names\n### lib/src/error.rs"), "{text}");
    // Where it does not fit, as much of it as does.
    let text = message(&begun(&["--chat", "copilot"], task, &files));
    let shown = text.matches("    a line of code\n").count();
    assert!((100..500).contains(&shown), "{text}");
    assert!(
        text.contains(&format!("(lines 1-{shown} of 5000)\n")),
        "{text}"
    );
}

#[test]
fn lines_that_a_refused_edit_shows_come_once() {
    let begun = begun(&[], "look", &[("a.txt", "a\nb\nc\n")]);
    fs::write(begun.base().join("workspace/a.txt"), "new\na\nb\nc\n").unwrap();
    let edit = "[EDIT_FILE path=\"a.txt\" start_line=\"3\" end_line=\"3\"]\nB\n[/EDIT_FILE]\n";
    let text = message(&step(begun, &[], edit).code(0));
    assert!(text.contains("is not as it was last shown"), "{text}");
    assert!(!text.contains("## You May Need"), "{text}");
}
