use std::fs;
use std::ops::Range;
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

#[test]
fn what_the_first_check_makes_is_told_apart_and_is_no_news() {
    let check =
        "test -d fresh && echo > late; mkdir -p out && echo 1 > out/report.txt && echo x > a.out";
    let reply = "``````\n[RUN_COMMAND]\nmkdir -p fresh/src && echo a > fresh/src/main.rs\n[/RUN_COMMAND]\n{end}\n``````\n";
    let finished = Test::new(&["new", "--check", check, "--max-rounds", "1", "Add a test"])
        .file("appsettings.json", SETTINGS)
        .file("workspace/main.c", "int main(void) { return 0; }\n")
        .reply(reply)
        .run();
    let message = finished.outbox(1);
    let told = "(1 file, 29 bytes; not a git repository)\nMade by the check, and not listed: a.out (2 bytes), out/report.txt (2 bytes).\n```\nmain.c (29 bytes)\n```\n";
    assert!(message.contains(told), "{message}");
    let message = finished.outbox(2);
    for new in ["new: fresh/src/main.rs (2 bytes)\n", "new: late (1 byte)\n"] {
        assert!(message.contains(new), "{message}");
    }
    assert!(!message.contains("new: a.out"), "{message}");
    assert!(!message.contains("new: out/"), "{message}");
}

#[test]
fn a_long_file_with_names_of_the_task_is_shown_in_outline() {
    let filler = |n: usize| {
        let body = "    # nothing to see here, move along\n".repeat(60);
        format!("def filler_{n}(entry):\n{body}    return entry\n")
    };
    let before: String = (0..8).map(filler).collect();
    let after: String = (8..16).map(filler).collect();
    let long = format!("{before}def reconcile_ledger(entries):\n    pass\n{after}");
    let finished = begun(&[], "`reconcile_ledger` loses entries")
        .file("workspace/lib/books.py", &long)
        .file(
            "workspace/docs/books.md",
            format!("`reconcile_ledger`\n{}", "text\n".repeat(3_000)),
        )
        .run()
        .code(0);
    let message = finished.outbox(1);
    let (_, outline) = message.split_once("### Outline of lib/books.py (").unwrap();
    assert!(
        outline.contains("\n497-498: def reconcile_ledger(entries)"),
        "{message}"
    );
    assert!(outline.contains("\n1-62: def filler_0(entry)"), "{message}");
    let definition = "497: def reconcile_ledger(entries):\n498:     pass\n";
    assert!(message.contains(definition), "{message}");
    let (sources, documents) = (
        message.find("\nlib/books.py\n"),
        message.find("\ndocs/books.md\n"),
    );
    assert!(sources.unwrap() < documents.unwrap(), "{message}");
}

#[test]
fn of_a_changelog_the_head_is_shown_and_of_a_long_script_what_the_check_asks_of_it() {
    let lines = |numbers: Range<usize>, of: &str| -> String {
        let lines: Vec<String> = numbers.map(|n| format!("{of} {n} of all")).collect();
        lines.join("\n") + "\n"
    };
    let changelog = lines(0..400, "- change");
    let mut script = lines(0..300, "echo step");
    script.push_str("lint() {\n  echo this is linting\n}\n");
    script.push_str(&lines(300..600, "echo step"));
    let finished = begun(
        &["--check", "bash ci.sh lint"],
        "Mention it in CHANGELOG.md",
    )
    .file("workspace/CHANGELOG.md", &changelog)
    .file("workspace/ci.sh", &script)
    .run()
    .code(0);
    let message = finished.outbox(1);
    assert!(message.contains("- change 29 of all\n"), "{message}");
    assert!(!message.contains("- change 30 of all\n"), "{message}");
    assert!(message.contains("this is linting"), "{message}");
    assert!(message.contains("step 0 of all\n"), "{message}");
    let (_, files) = message.split_once("## Workspace Files").unwrap();
    assert!(!files.contains("step 450 of all\n"), "{message}");
}

#[test]
fn status_names_a_session_by_the_first_sentence_of_its_task() {
    let begun = begun(&[], "# Instructions\n\nScore a game. Then more.").run();
    let status = Test::after(begun.code(0), &["status"]).run().code(0);
    assert!(
        status.stdout.contains(": Score a game.\n"),
        "{}",
        status.stdout
    );
}
