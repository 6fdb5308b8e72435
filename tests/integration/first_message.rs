use std::fs;
use std::process::Command;

use crate::harness::Test;

const SETTINGS: &str = "{\"Agent\": {}}";

fn begun(options: &[&str], task: &str) -> Test {
    let mut arguments = vec!["new", "--no-wait"];
    arguments.extend(options);
    arguments.push(task);
    Test::new(&arguments).file("appsettings.json", SETTINGS)
}

/// A test of some 9,000 characters.
fn long_test() -> String {
    let cases = (0..200).map(|n| format!("    assert score([{n}]) == {n}, 'case {n} of all'\n"));
    let cases: String = cases.collect();
    format!("from bowling import score\n\ndef test_all():\n{cases}# the end of the test\n")
}

#[test]
fn the_test_and_its_source_are_whole_beside_a_failing_check() {
    let check = "echo 'bowling_test.py:120: AssertionError'; exit 1";
    let finished = begun(&["--check", check], "Score a game")
        .file("workspace/bowling.py", "def score(rolls):\n    pass\n")
        .file("workspace/bowling_test.py", long_test())
        .file("workspace/LICENSE", "Permission is hereby granted\n")
        .file("workspace/.flake8", "[flake8]\nmax-line-length = 99\n")
        .run()
        .code(0);
    let message = finished.outbox(1);
    assert!(message.contains(&long_test()), "{message}");
    assert!(
        message.contains("def score(rolls):\n    pass\n"),
        "{message}"
    );
    assert!(!message.contains("Permission is hereby"), "{message}");
    assert!(!message.contains("max-line-length"), "{message}");
}

#[test]
fn a_file_that_matters_and_is_too_long_is_not_left_out_without_a_word() {
    let finished = begun(&["--chat", "copilot"], "Fix bowling.py")
        .file("workspace/bowling.py", "def score(rolls):\n    pass\n")
        .file("workspace/bowling_test.py", long_test())
        .run()
        .code(0);
    let messages: String = finished.files("outbox").into_values().collect();
    assert!(
        messages.contains("def score(rolls):\n    pass\n"),
        "{messages}"
    );
    let (_, below) = messages.split_once("## You May Need").unwrap();
    assert!(below.contains("bowling_test.py"), "{messages}");
}

#[test]
fn build_output_is_counted_and_not_listed() {
    let finished = begun(&[], "Add a test")
        .file("workspace/Cargo.toml", "[package]\n")
        .file("workspace/src/lib.rs", "// nothing\n")
        .file("workspace/target/debug/x.d", "made\n")
        .file(
            "workspace/build/CMakeCache.txt",
            "# This is the CMakeCache file.\n",
        )
        .file("workspace/build/x.txt", "made too\n")
        .run()
        .code(0);
    let message = finished.outbox(1);
    assert!(message.contains("target/ (1 file, generated)"), "{message}");
    assert!(message.contains("build/ (2 files, generated)"), "{message}");
    assert!(
        !message.contains("x.d") && !message.contains("x.txt"),
        "{message}"
    );
}

#[test]
fn where_names_of_the_task_occur_is_shown_by_file() {
    let filler = "# nothing to see here, move along\n".repeat(500);
    let long = format!("{filler}def reconcile_ledger(entries):\n    pass\n{filler}");
    let finished = begun(&[], "`reconcile_ledger` loses entries; the style is bad")
        .file("workspace/lib/books.py", &long)
        .file("workspace/lib/style.css", "a { color: red }\n".repeat(700))
        .run()
        .code(0);
    let message = finished.outbox(1);
    let expected = "### Where names of the task occur\n```\nlib/books.py\n  501: def reconcile_ledger(entries):\n```\n";
    assert!(message.contains(expected), "{message}");
    assert!(!message.contains("color: red"), "{message}");
}

#[test]
fn the_environment_is_told_in_two_lines() {
    let message = begun(&[], "task").run().code(0).outbox(1);
    let line = message.lines().find(|line| line.starts_with("Machine: "));
    assert!(line.unwrap().contains("bash"), "{message}");
    assert!(
        message.contains("120 if left out, at most 600"),
        "{message}"
    );
}

#[test]
fn a_check_that_cannot_run_is_the_persons_business() {
    let finished = begun(&["--check", "no-such-tool-here --all"], "task")
        .run()
        .code(0)
        .said("agent resume --check");
    let message = finished.outbox(1);
    let expected = "[SKIPPED] `no-such-tool-here --all`: it cannot run here (exit code 127); the user was told";
    assert!(message.contains(expected), "{message}");
    assert!(!message.contains("make it pass"), "{message}");
    let resumed = Test::after(
        finished,
        &["resume", "--no-wait", "--check", "echo no; exit 3"],
    )
    .run()
    .code(0);
    let message = resumed.outbox(1);
    assert!(
        message.contains("[FAILED] `echo no; exit 3`: exit code 3"),
        "{message}"
    );
    assert!(
        message.contains("(before any change)\n```\nno\n```"),
        "{message}"
    );
}

#[test]
fn the_person_adds_files_and_differences() {
    let test = begun(&["--add", "lib", "--add-diff", "--add", "shot.png"], "task")
        .file("workspace/lib/a.txt", "one\n")
        .file("workspace/lib/deep/b.txt", "two\n".repeat(4_000))
        .file("workspace/shot.png", "\u{0}not really\n");
    let workspace = test.base().join("workspace");
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]);
        git.args(arguments)
            .current_dir(&workspace)
            .output()
            .unwrap()
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "first"]);
    fs::write(workspace.join("lib/a.txt"), "uno\n").unwrap();
    let finished = test.run().code(0).said("Attach to the chat yourself");
    let message = finished.outbox(1);
    assert!(
        message.contains("### lib/a.txt (1 line)\n```\nuno\n```"),
        "{message}"
    );
    assert!(message.contains("### lib/deep/b.txt"), "{message}");
    assert!(
        message.contains("attaches to the chat, beside this message: `shot.png`"),
        "{message}"
    );
    assert!(
        message.contains("What has changed since `HEAD`:\n```\ndiff --git"),
        "{message}"
    );
    assert!(message.contains("-one\n+uno\n"), "{message}");
    let finished = Test::after(finished, &["add", "lib/deep"]).run().code(0);
    finished.said("The next message shows `lib/deep/b.txt`.");
    begun(&["--add", "nothing-here"], "task").run().code(2);
}

#[test]
fn files_that_were_added_come_with_the_next_message() {
    let finished = begun(&[], "task")
        .file("workspace/a.txt", "x\n".repeat(9_000))
        .run()
        .code(0);
    let finished = Test::after(finished, &["add", "a.txt"]).run().code(0);
    let finished = Test::after(finished, &["resume"])
        .reply("``````\n[LIST_FILES]\n{end}\n``````\n")
        .reply("``````\n[DONE]\nfine\n[/DONE]\n{end}\n``````\n")
        .run()
        .code(0);
    assert!(
        finished
            .outbox(2)
            .contains("## Requested File Contents\n### a.txt")
    );
}

#[test]
fn build_output_is_one_line_in_a_diff_and_before_an_undo() {
    let script = "[RUN_COMMAND]\nmkdir -p target/debug; touch target/debug/a target/debug/b; echo x > c.rs\n[/RUN_COMMAND]\n{end}\n";
    let finished = Test::new(&["new", "task"])
        .file("appsettings.json", SETTINGS)
        .file("workspace/Cargo.toml", "[package]\n")
        .reply(script)
        .reply("[DONE]\nfine\n[/DONE]\n{end}\n")
        .run()
        .code(0);
    let folded = "generated    target/ (2 files, not shown)";
    let finished = Test::after(finished, &["diff"]).run().code(0);
    assert!(finished.stdout.contains(folded), "{}", finished.stdout);
    assert!(finished.stdout.contains("+x\n"), "{}", finished.stdout);
    assert!(
        !finished.stdout.contains("target/debug"),
        "{}",
        finished.stdout
    );
    let finished = Test::after(finished, &["undo", "--yes"])
        .run()
        .code(0)
        .said(folded);
    assert!(!finished.files("workspace").contains_key("target/debug/a"));
}
