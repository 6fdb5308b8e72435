#[cfg(target_os = "linux")]
use crate::harness::wait_for_outbox;
use crate::harness::{Finished, Test};
#[cfg(target_os = "linux")]
use crate::terminal::{Terminal, has_script};

const REVIEW: &str =
    "---\nname: review\ndescription: Look for mistakes\n---\nReview {{args}} well.\n";

/// A test whose person has a configuration with this template.
fn with_own(arguments: &[&str], name: &str, template: &str) -> Test {
    let path = format!("../config/agent/prompts/{name}");
    let run = Test::new(arguments).file(&path, template);
    let configuration = run.base().with_file_name("config");
    run.environment("XDG_CONFIG_HOME", configuration.to_str().unwrap())
}

fn outbox_has(finished: &Finished, text: &str) {
    let outbox = finished.outbox(1);
    assert!(outbox.contains(text), "{outbox}");
}

#[test]
fn an_own_template_becomes_the_task() {
    let arguments = ["new", "--no-wait", "/review", "src/a.rs", "twice"];
    let finished = with_own(&arguments, "review.md", REVIEW).run().code(0);
    outbox_has(&finished, "Task: Review src/a.rs twice well.");
    let finished = with_own(&["new", "--no-wait", "/review b"], "review.md", REVIEW)
        .run()
        .code(0);
    outbox_has(&finished, "Task: Review b well.");
}

#[test]
fn a_task_may_begin_with_a_slash() {
    let finished = Test::new(&["new", "--no-wait", "/etc/hosts", "is", "wrong"])
        .run()
        .code(0);
    outbox_has(&finished, "Task: /etc/hosts is wrong");
    let finished = Test::new(&["new", "--no-wait", " /tmp is full"])
        .run()
        .code(0);
    outbox_has(&finished, "Task: /tmp is full");
    let finished = Test::new(&["new", "--no-wait", "-"])
        .input("/tmp is full")
        .run()
        .code(0);
    outbox_has(&finished, "Task: /tmp is full");
}

#[test]
fn an_unknown_template_makes_nothing_and_says_what_was_meant() {
    let finished = with_own(&["new", "/reveiw", "a"], "review.md", REVIEW)
        .run()
        .code(2)
        .said("did you mean `/review`?")
        .said("agent new \" /reveiw ...\"");
    assert_eq!(std::fs::read_dir(finished.base()).unwrap().count(), 0);
}

#[test]
fn a_template_of_the_project_is_not_used_unseen() {
    let finished = Test::new(&["new", "--base", ".", "/review", "a"])
        .file(".agent/prompts/review.md", REVIEW)
        .run()
        .code(1)
        .said("came with this project")
        .said("agent new - <");
    assert!(!finished.base().join("outbox").exists());
}

#[test]
fn a_hostile_template_is_a_clear_error() {
    let case = |text: &str, expected: &str| {
        Test::new(&["new", "/evil"])
            .file(".agent/prompts/evil.md", text)
            .run()
            .code(1)
            .said(expected);
    };
    case(
        "---\nname: [evil\n---\nx",
        "line 2: a line of text is expected",
    );
    case(
        "---\nname: evil\nshell: rm -rf /\n---\nx",
        "there is no `shell`",
    );
    case("---\nname: evil\n", "is not closed");
}

#[test]
fn templates_are_listed_and_shown() {
    let finished = with_own(&["prompts"], "review.md", REVIEW)
        .file(".agent/prompts/fix.md", "Fix it.\n")
        .file(".agent/prompts/bad.md", "---\n")
        .run()
        .code(0)
        .said("bad.md");
    assert_eq!(
        finished.stdout,
        "/fix     Fix it. (of this project; it is shown to you before its first use)\n\
         /review  Look for mistakes\n"
    );
    let finished = with_own(&["prompts", "/review"], "review.md", REVIEW)
        .run()
        .code(0);
    assert_eq!(finished.stdout, "Review {{args}} well.\n");
    let finished = with_own(&["prompts", "--json"], "review.md", REVIEW)
        .run()
        .code(0);
    let row: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(row["owner"], "person");
    assert_eq!(row["isTrusted"], true);
    Test::new(&["prompts"])
        .run()
        .code(0)
        .said("There are no prompt templates");
}

#[cfg(target_os = "linux")]
#[test]
fn a_template_of_the_project_is_shown_once_and_then_used() {
    if !has_script() {
        return;
    }
    let test = Test::new(&[]).file(".agent/prompts/review.md", REVIEW);
    let mut terminal = Terminal::open(test, "new --base . --no-wait /review a", &[]);
    terminal.expect("  | Review {{args}} well.");
    terminal.expect("Use it as your task?");
    terminal.type_in("y\n");
    let (_, outbox) = wait_for_outbox(&terminal.base(), 1);
    assert!(outbox.contains("Task: Review a well."), "{outbox}");
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}
