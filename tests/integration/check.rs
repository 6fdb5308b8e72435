use crate::harness::Test;

const DONE: &str = "``````\n[DONE]\nall done\n[/DONE]\n{end}\n``````\n";

fn block(commands: &str) -> String {
    format!("``````\n{commands}\n{{end}}\n``````\n")
}

fn create(path: &str, content: &str) -> String {
    format!("[CREATE_FILE path=\"{path}\"]\n{content}\n[/CREATE_FILE]")
}

#[test]
fn the_check_runs_at_the_start_and_after_changes_and_decides_about_done() {
    let finished = Test::new(&["new", "--check", "echo looking; test -f good", "task"])
        .reply(&block(&create("bad", "x")))
        .reply(DONE)
        .reply(&block("[LIST_FILES]"))
        .reply(&block(&format!(
            "{}\n[DONE]\nnow\n[/DONE]",
            create("good", "x")
        )))
        .run()
        .code(0)
        .said("check fails")
        .said("check passes");
    let first = finished.outbox(1);
    assert!(
        first.contains(
            "=== CONTEXT ===\n## Check\n[FAILED] `echo looking; test -f good`: exit code 1"
        ),
        "{first}"
    );
    assert!(
        first.contains("(before any change)\n```\nlooking\n```\n"),
        "{first}"
    );
    assert!(finished.outbox(2).contains("(after your last reply)"));
    let refused = finished.outbox(3);
    assert!(
        refused.contains(
            "1. [REFUSED] DONE: the user's check `echo looking; test -f good` does not pass"
        ),
        "{refused}"
    );
    let unchanged = finished.outbox(4);
    assert!(
        unchanged.contains("nothing has changed since"),
        "{unchanged}"
    );
    assert!(!unchanged.contains("looking\n```"), "{unchanged}");
    assert_eq!(finished.outboxes(), 4);
}

#[test]
fn a_session_can_end_by_itself_when_the_check_passes() {
    let finished = Test::new(&[
        "new",
        "--check",
        "test -f good",
        "--stop-when-check-passes",
        "on",
        "task",
    ])
    .reply(&block("[RUN_COMMAND]\ntouch good\n[/RUN_COMMAND]"))
    .run()
    .code(0)
    .said("The check passes.");
    assert_eq!(finished.outboxes(), 1);
}

#[test]
fn what_the_check_changes_belongs_to_the_round() {
    let finished = Test::new(&["new", "--check", "echo made > made.txt", "task"])
        .reply(&block(&create("a", "x")))
        .reply(DONE)
        .run()
        .code(0);
    let undone = Test::after(finished, &["undo", "--yes"]).run().code(0);
    assert!(!undone.files("workspace").contains_key("a"));
}

#[test]
fn a_check_has_a_time_limit_and_a_project_cannot_set_one() {
    let finished = Test::new(&[
        "new",
        "--check",
        "sleep 60",
        "--check-timeout",
        "1",
        "--no-wait",
        "task",
    ])
    .run()
    .code(0);
    assert!(finished.outbox(1).contains("timed out after 1 s"));
    let finished = Test::new(&["new", "--no-wait", "task"])
        .file(
            "appsettings.json",
            r#"{"Agent": {"CheckCommand": "touch pwned"}}"#,
        )
        .run()
        .code(0)
        .said("`CheckCommand` in");
    assert!(!finished.files("workspace").contains_key("pwned"));
}

#[test]
fn the_check_can_be_run_by_itself() {
    let finished = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let finished = Test::after(finished, &["check"])
        .run()
        .code(1)
        .said("no check command");
    let finished = Test::after(finished, &["check", "--check", "echo hello; false"])
        .run()
        .code(4);
    assert!(finished.stdout.contains("hello"), "{}", finished.stdout);
    Test::after(finished, &["check", "--check", "true"])
        .run()
        .code(0)
        .said("check passes");
}

#[test]
fn a_step_that_fails_the_same_way_three_times_is_pointed_out() {
    let run = block("[RUN_COMMAND]\necho broken; exit 3\n[/RUN_COMMAND]");
    let finished = Test::new(&["new", "task"])
        .reply(&format!("One.\n{run}"))
        .reply(&format!("Two.\n{run}"))
        .reply(&format!("Three.\n{run}"))
        .reply(DONE)
        .run()
        .code(0)
        .said("The model goes in circles");
    assert!(!finished.outbox(3).contains("## You Go in Circles"));
    assert!(
        finished
            .outbox(4)
            .contains("## You Go in Circles\n- step 1 (RUN_COMMAND")
    );
}

#[test]
fn edits_that_undo_each_other_are_pointed_out() {
    let test = ["A", "B", "A", "B"]
        .iter()
        .enumerate()
        .fold(Test::new(&["new", "task"]), |test, (number, text)| {
            test.reply(&format!("{number}.\n{}", block(&create("a", text))))
        });
    let finished = test.reply(DONE).run().code(0);
    assert!(!finished.outbox(4).contains("## You Go in Circles"));
    assert!(finished.outbox(5).contains("your edits undo each other"));
}
