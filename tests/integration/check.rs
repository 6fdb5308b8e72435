use std::fs;

use crate::harness::{Finished, Test};

const SETTINGS: &str = "{\"Agent\": {}}";
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
fn a_check_that_passed_is_not_run_again_for_a_bare_done() {
    let reply = block("[RUN_COMMAND]\ntouch good\n[/RUN_COMMAND]");
    let finished = Test::new(&["new", "--check", "test -f good", "task"])
        .reply(&reply)
        .reply(DONE)
        .run()
        .code(0);
    let passed = finished.stderr.matches("check passes").count();
    assert_eq!(passed, 1, "{}", finished.stderr);
    let prompt = finished.outbox(2);
    assert!(prompt.contains("[DONE] alone ends it"), "{prompt}");
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
        .said("no unfinished session here has a check");
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
fn a_check_that_did_not_run_since_the_person_changed_something_does_not_say_otherwise() {
    let finished = Test::new(&["new", "--no-wait", "--check", "cat n.txt; exit 1", "task"])
        .file("appsettings.json", SETTINGS)
        .file("workspace/n.txt", "12 failed\n")
        .run()
        .code(0);
    let look = block("[LIST_FILES]");
    let finished = step(finished, &[], &look);
    assert!(finished.outbox(2).contains("nothing has changed since"));
    std::fs::write(finished.base().join("workspace/n.txt"), "7 or 8 failed\n").unwrap();
    let mut finished = finished;
    for number in [3, 4] {
        finished = step(finished, &[], &look);
        let outbox = finished.outbox(number);
        assert!(!outbox.contains("nothing has changed since"), "{outbox}");
        assert!(outbox.contains("not run since"), "{outbox}");
    }
    let change = block(&create("a", "1"));
    let finished = step(finished, &[], &change);
    assert!(finished.outbox(5).contains("(after your last reply)"));
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

#[test]
fn edits_of_a_file_that_was_there_undo_each_other_one_write_earlier() {
    let replies = ["B", "A", "B"].iter().enumerate();
    let test = Test::new(&["new", "task"])
        .file("appsettings.json", SETTINGS)
        .file("workspace/a", "A\n");
    let test = replies.fold(test, |test, (number, text)| {
        test.reply(&format!("{number}.\n{}", block(&create("a", text))))
    });
    let finished = test
        .reply(DONE)
        .run()
        .code(0)
        .said("The model goes in circles: it writes `a` back and forth");
    assert!(!finished.outbox(3).contains("## You Go in Circles"));
    assert!(finished.outbox(4).contains("your edits undo each other"));
}

#[test]
fn what_is_refused_malformed_or_fails_the_check_thrice_alike_is_a_circle() {
    let reply = block(&format!(
        "{}\n[RUN_COMMAND]\nsudo rm -r /\n[/RUN_COMMAND]\n[EDIT_FILE]\nx\n[/EDIT_FILE]",
        create("a", "{n}")
    ));
    let test = (1..=3).fold(
        Test::new(&[
            "new",
            "--check",
            "echo no; exit 1",
            "--max-rounds",
            "3",
            "task",
        ]),
        |test, number| test.reply(&reply.replace("{n}", &number.to_string())),
    );
    let finished = test.run().code(3).said("The model goes in circles: ");
    for text in [
        "it wrote EDIT_FILE wrongly 3 times",
        "the check `echo no; exit 1` has failed 3 times in a row",
    ] {
        assert!(finished.stderr.contains(text), "{}", finished.stderr);
    }
    let message = finished.outbox(4);
    for text in [
        "EDIT_FILE was not understood 3 times",
        "the check `echo no; exit 1` has failed 3 times in a row",
    ] {
        assert!(message.contains(text), "{message}");
    }
    assert!(
        !finished.stderr.contains("or ask the user"),
        "{}",
        finished.stderr
    );
}

fn step(finished: Finished, flags: &[&str], reply: &str) -> Finished {
    let session = finished.session();
    let id = session["sessionId"].as_str().unwrap();
    let end = format!("[END {id}#{}]", session["sequenceNumber"]);
    let arguments = [&["step", "--reply", "-"], flags].concat();
    Test::after(finished, &arguments)
        .input(&reply.replace("{end}", &end))
        .run()
}

#[test]
fn a_check_and_a_chat_given_by_flag_hold_until_a_flag_says_otherwise() {
    let begun = Test::new(&[
        "new",
        "--no-wait",
        "--check",
        "test -f good",
        "--chat",
        "copilot",
        "task",
    ])
    .run()
    .code(0);
    let refused = step(begun, &[], DONE).code(0).said("check fails");
    assert!(
        refused
            .outbox(2)
            .contains("[REFUSED] DONE: the user's check")
    );
    let status = Test::after(refused, &["status", "-v"]).run().code(0);
    for text in [
        "The check `test -f good` fails (exit code 1",
        "of the limit of `copilot`",
    ] {
        assert!(status.stdout.contains(text), "{}", status.stdout);
    }
    let resumed = Test::after(status, &["resume", "--no-wait"])
        .run()
        .code(0)
        .said("The check `test -f good` fails");
    let checked = Test::after(resumed, &["check"]).run().code(4);
    let ended = step(checked, &["--check", ""], DONE)
        .code(0)
        .said("all done");
    assert_eq!(ended.session()["choices"]["CheckCommand"], "");
}

#[test]
fn a_check_that_came_with_the_sessions_does_not_run() {
    let begun = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let mut session = begun.session();
    session["choices"] = serde_json::json!({"CheckCommand": "touch pwned"});
    let id = session["sessionId"].as_str().unwrap();
    let file = begun.base().join(format!("sessions/{id}.json"));
    fs::write(file, session.to_string()).unwrap();
    let refused = Test::after(begun, &["resume", "--no-wait"])
        .run()
        .code(1)
        .said("it is not known that you gave it")
        .said("--check 'touch pwned'");
    assert!(!refused.files("workspace").contains_key("pwned"));
}

#[test]
fn what_the_check_names_comes_unasked_and_the_prompt_names_the_check() {
    let long = "# a line\n".repeat(1_000);
    let reply = block(&create("b", "x"));
    let finished = Test::new(&[
        "new",
        "--check",
        "echo app.py:500: no; exit 1",
        "--max-rounds",
        "1",
        "task",
    ])
    .file("appsettings.json", SETTINGS)
    .file("workspace/app.py", &long)
    .reply(&reply)
    .run()
    .code(3);
    assert!(finished.outbox(1).contains("### app.py (1000 lines)"));
    assert!(finished.outbox(2).contains("### app.py (lines 494"));
    for message in [finished.outbox(1), finished.outbox(2)] {
        let prompt = message.split("=== PROMPT ===").nth(1).unwrap();
        assert!(
            prompt.contains("check `echo app.py:500: no; exit 1` fails, see Check above"),
            "{prompt}"
        );
    }
}

#[test]
fn a_handover_tells_the_check_and_what_the_project_says() {
    let begun = Test::new(&["new", "--no-wait", "--check", "echo broken; exit 1", "task"])
        .file("appsettings.json", SETTINGS)
        .file("workspace/AGENTS.md", "Use tabs.\n")
        .run()
        .code(0);
    let looked = step(begun, &[], &block("[LIST_FILES]")).code(0);
    assert!(!looked.outbox(2).contains("Use tabs."));
    let handed = Test::after(looked, &["handoff"]).run().code(0);
    let message = handed.outbox(2);
    for text in [
        "## Check\n[FAILED] `echo broken; exit 1`: exit code 1",
        "```\nbroken\n```\n",
        "## Project Instructions\n",
        "Use tabs.\n",
    ] {
        assert!(message.contains(text), "`{text}` is missing:\n{message}");
    }
}

#[test]
fn a_chat_that_forgets_is_told_the_output_of_the_check_each_time() {
    let begun = Test::new(&[
        "new",
        "--no-wait",
        "--keeps-context",
        "off",
        "--check",
        "echo broken; exit 1",
        "task",
    ])
    .run()
    .code(0);
    let looked = step(begun, &[], &block("[LIST_FILES]")).code(0);
    let message = looked.outbox(2);
    assert!(message.contains("```\nbroken\n```\n"), "{message}");
}

#[test]
fn of_many_instructions_the_most_specific_are_shown() {
    let test = (0..=6).fold(
        Test::new(&["new", "--no-wait", "mend d/d/d/d/d/d/deep.py"])
            .file("appsettings.json", SETTINGS)
            .file("workspace/d/d/d/d/d/d/deep.py", "x\n"),
        |test, depth| {
            let path = format!("workspace/{}AGENTS.md", "d/".repeat(depth));
            test.file(&path, format!("Rule {depth}.\n"))
        },
    );
    let message = test.run().code(0).outbox(1);
    for depth in [0, 3, 4, 5, 6] {
        assert!(message.contains(&format!("Rule {depth}.")), "{message}");
    }
    assert!(
        message.contains(
            "Left out here; read them before you work beneath them: d/AGENTS.md, d/d/AGENTS.md\n"
        ),
        "{message}"
    );
}

#[test]
fn done_is_refused_while_a_check_cannot_run_and_nobody_was_asked() {
    let finished = Test::new(&[
        "new",
        "--check",
        "no-such-tool-here",
        "--max-rounds",
        "1",
        "task",
    ])
    .reply(DONE)
    .run();
    let session = finished.session();
    assert_eq!(session["isComplete"], false, "{session}");
    assert!(session["waivedCheck"].is_null(), "{session}");
}

#[test]
fn build_output_does_not_count_as_changed_files() {
    let reply = block(
        "[RUN_COMMAND]\nmkdir -p target/debug && touch target/debug/a target/debug/b && echo x > made.txt\n[/RUN_COMMAND]",
    );
    let finished = Test::new(&["new", "--max-rounds", "1", "task"])
        .file("appsettings.json", SETTINGS)
        .file("workspace/Cargo.toml", "[package]\nname = \"x\"\n")
        .reply(&reply)
        .run();
    assert_eq!(
        finished.session()["changedFiles"],
        serde_json::json!(["made.txt"])
    );
}

/// A text that is searched twice has other positions the second time.
#[test]
fn a_secret_in_the_output_of_the_check_is_replaced_and_nothing_else() {
    let secret = "q7Zr1VbN8sKx3LmT5wYd9PfHc2Gj";
    for (after, told) in [
        ("", "API_KEY=[SECRET-1 key]\n```"),
        (
            "; echo these are plain words of the check",
            "API_KEY=[SECRET-1 key]\nthese are plain words of the check\n```",
        ),
    ] {
        let check = format!("cat .env{after}; exit 1");
        let finished = Test::new(&["new", "--no-wait", "--check", &check, "task"])
            .file("appsettings.json", SETTINGS)
            .file("workspace/.env", format!("API_KEY={secret}\n"))
            .run()
            .code(0);
        let first = finished.outbox(1);
        assert!(first.contains(told), "{first}");
        assert!(!first.contains("SECRET-2"), "{first}");
    }
}
