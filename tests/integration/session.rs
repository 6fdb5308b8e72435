use std::fs;

use crate::harness::{Save, Test, agent};

const DONE: &str = "``````\n[DONE]\nall done\n[/DONE]\n{end}\n``````\n";

/// A reply with these commands in the form that the instructions ask for.
fn block(commands: &str) -> String {
    format!("Sure.\n\n``````\n{commands}\n{{end}}\n``````\n")
}

#[test]
fn a_task_goes_to_done_with_every_command_used_once() {
    let first = block(
        r#"[PLAN]
1. look around
[/PLAN]
[MESSAGE]
I begin.
[/MESSAGE]
[CREATE_FILE path="src/greet.sh"]
echo hello
echo world
[/CREATE_FILE]
[CREATE_FILE path="old.txt"]
one
two
three
four
[/CREATE_FILE]
[EDIT_FILE path="src/greet.sh"]
<<<<<<< SEARCH
echo world
=======
echo "world, $1"
>>>>>>> REPLACE
[/EDIT_FILE]
[EDIT_FILE path="old.txt" start_line="2" end_line="3"]
TWO
[/EDIT_FILE]
[INSERT_TEXT path="old.txt" line="0"]
zero
[/INSERT_TEXT]
[APPLY_PATCH]
*** Begin Patch
*** Add File: notes.md
+patched
*** End Patch
[/APPLY_PATCH]
[MOVE_FILE from="old.txt" to="new.txt"]
[CREATE_FILE path="gone.txt"]
x
[/CREATE_FILE]
[DELETE_FILE path="gone.txt"]
[RUN_COMMAND]
sh src/greet.sh you; git init -q .
[/RUN_COMMAND]
[READ_FILE path="new.txt" numbered="true"]
[LIST_FILES glob="**/*.sh"]
[SEARCH_TEXT pattern="WORLD"]
[GIT_STATUS]
[GIT_DIFF]"#,
    );
    let finished = Test::new(&["new", "use", "every", "command"])
        .reply(&first)
        .reply(DONE)
        .run()
        .code(0)
        .said("I begin.")
        .said("all done")
        .workspace("src/greet.sh", "echo hello\necho \"world, $1\"\n")
        .workspace("new.txt", "zero\none\nTWO\nfour\n")
        .workspace("notes.md", "patched\n");
    let outbox = finished.outbox(2);
    assert!(
        !outbox.contains("[FAILED]") && !outbox.contains("[REFUSED]"),
        "{outbox}"
    );
    for expected in [
        "[OK] CREATE_FILE: ",
        "[OK] RUN_COMMAND: ",
        "hello\nworld, you\n",
        "1: zero\n2: one\n3: TWO\n4: four\n",
        "src/greet.sh:2: echo \"world, $1\"",
        "[OK] GIT_STATUS: ",
        "new: notes.md (8 bytes)",
    ] {
        assert!(
            outbox.contains(expected),
            "`{expected}` is missing:\n{outbox}"
        );
    }
    assert!(!finished.base().join("workspace/gone.txt").exists());
    let session = finished.session();
    assert_eq!(session["isComplete"], true);
    assert_eq!(session["task"], "use every command");
    assert_eq!(session["plan"], "1. look around");
}

#[test]
fn the_first_outbox_says_what_to_do_and_where() {
    let running = Test::new(&["new", "a task"]).start();
    let outbox = running.outbox(1);
    assert!(outbox.starts_with("=== HEADER ===\nSession: "), "{outbox}");
    assert!(
        outbox.contains("\nSequence: 1\nTask: a task\nProtocol: 2\n"),
        "{outbox}"
    );
    running.signal("INT");
    running
        .wait()
        .code(130)
        .said("_seq0001.txt")
        .said("Save the reply as a .txt or .md file in ")
        .said("agent resume");
}

#[test]
fn the_task_can_come_from_standard_input() {
    let running = Test::new(&["new", "-"])
        .input("from a pipe\nwith two lines\n")
        .start();
    assert!(
        running
            .outbox(1)
            .contains("Task: from a pipe\nwith two lines\n")
    );
    running.signal("TERM");
    running.wait().code(130);
}

#[test]
fn an_empty_task_is_wrong_usage() {
    Test::new(&["new", " "])
        .run()
        .code(2)
        .said("the task is empty");
    Test::new(&["new", "-"]).input("\n").run().code(2);
    Test::new(&["new"]).run().code(2);
}

#[test]
fn a_reply_is_taken_however_it_is_saved() {
    for save in [
        Save::Write,
        Save::Chunks,
        Save::Rename,
        Save::Copy,
        Save::Editor,
        Save::Truncate,
    ] {
        Test::new(&["new", "task"])
            .reply_by(
                save,
                block("[CREATE_FILE path=\"a.txt\"]\nwhole\n[/CREATE_FILE]"),
            )
            .reply(DONE)
            .run()
            .code(0)
            .workspace("a.txt", "whole\n");
    }
}

#[test]
fn a_reply_without_end_mark_is_taken_when_it_holds_still() {
    Test::new(&["new", "task"])
        .reply("[CREATE_FILE path=\"a.txt\"]\nx\n[/CREATE_FILE]\n")
        .reply("[DONE]\n")
        .run()
        .code(0)
        .workspace("a.txt", "x\n");
}

#[test]
fn done_is_refused_after_a_failure_and_a_lone_done_ends_it() {
    let finished = Test::new(&["new", "task"])
        .reply(&block("[DELETE_FILE path=\"missing.txt\"]\n[DONE]"))
        .reply(DONE)
        .run()
        .code(0);
    let outbox = finished.outbox(2);
    assert!(outbox.contains("1. [FAILED] DELETE_FILE: "), "{outbox}");
    assert!(outbox.contains("2. [REFUSED] DONE: "), "{outbox}");
}

#[test]
fn a_file_that_stopped_parsing_is_told_and_holds_done_once() {
    let finished = Test::new(&["new", "task"])
        .reply(&block("[CREATE_FILE path=\"a.py\"]\nx = 1\n[/CREATE_FILE]"))
        .reply(&block(
            "[CREATE_FILE path=\"a.py\"]\nx = (1\n[/CREATE_FILE]\n[DONE]",
        ))
        .reply(DONE)
        .run()
        .code(0)
        .said("syntax error")
        .workspace("a.py", "x = (1\n");
    let outbox = finished.outbox(3);
    for told in [
        "1. [OK] CREATE_FILE: overwrote a.py (1 line); line 1 of a.py is a syntax error that was not there before",
        "2. [REFUSED] DONE: a.py has a syntax error that it did not have before",
    ] {
        assert!(outbox.contains(told), "{outbox}");
    }
}

#[test]
fn an_error_that_a_later_step_removes_holds_nothing() {
    Test::new(&["new", "task"])
        .reply(&block(
            "[CREATE_FILE path=\"a.py\"]\nx = (1\n[/CREATE_FILE]\n[RUN_COMMAND]\ntrue\n[/RUN_COMMAND]\n[CREATE_FILE path=\"a.py\"]\nx = 1\n[/CREATE_FILE]\n[DONE]",
        ))
        .run()
        .code(0)
        .workspace("a.py", "x = 1\n");
}

#[test]
fn commands_after_a_failed_change_are_skipped_and_reads_are_not() {
    let commands = "[EDIT_FILE path=\"missing.txt\" start_line=\"1\"]\nx\n[/EDIT_FILE]\n[RUN_COMMAND]\ntouch ran\n[/RUN_COMMAND]\n[LIST_FILES]\n[CREATE_FILE path=\"after.txt\"]\nx\n[/CREATE_FILE]";
    let finished = Test::new(&["new", "task"])
        .reply(&block(commands))
        .reply(DONE)
        .run()
        .code(0);
    let outbox = finished.outbox(2);
    assert!(outbox.contains("2. [SKIPPED] RUN_COMMAND: "), "{outbox}");
    assert!(outbox.contains("3. [OK] LIST_FILES"), "{outbox}");
    let files = finished.files("workspace");
    assert_eq!(
        files.keys().map(String::as_str).collect::<Vec<_>>(),
        ["after.txt"]
    );
}

#[test]
fn on_failure_continue_runs_them_all_the_same() {
    let commands = "[DELETE_FILE path=\"missing.txt\"]\n[RUN_COMMAND]\ntouch ran\n[/RUN_COMMAND]";
    let finished = Test::new(&["new", "task", "--on-failure", "continue"])
        .reply(&block(commands))
        .reply(DONE)
        .run()
        .code(0);
    assert!(finished.base().join("workspace/ran").exists());
}

#[test]
fn the_round_limit_stops_with_code_3_and_resume_grants_as_many_again() {
    let step = block("[LIST_FILES]");
    let finished = Test::new(&["new", "task", "--max-rounds", "2"])
        .reply(&step)
        .reply(&step.replace("Sure.", "Again."))
        .run()
        .code(3)
        .said("agent resume");
    assert_eq!(finished.outboxes(), 3);
    Test::after(finished, &["resume"])
        .reply(DONE)
        .run()
        .code(0)
        .said("all done");
}

#[test]
fn a_reply_without_commands_is_answered_with_what_is_missing() {
    let finished = Test::new(&["new", "task"])
        .reply("I would suggest to write a file.\n{end}\n")
        .reply(DONE)
        .run()
        .code(0)
        .said("I would suggest to write a file.");
    let outbox = finished.outbox(2);
    assert!(outbox.contains("contained no command"), "{outbox}");
    assert!(
        outbox.contains("With a body and a closing tag (attributes in brackets):"),
        "the full instructions come back:\n{outbox}"
    );
}

#[test]
fn malformed_commands_are_reported_and_the_others_executed() {
    let commands = "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n[EDIT_FILE]\nx\n[/EDIT_FILE]\n[CREATE_FILE path=\"../b.txt\"]\nb\n[/CREATE_FILE]\n[CREATE_FILE path=\"c.txt\"]\nc\n[/CREATE_FILE]";
    let finished = Test::new(&["new", "task"])
        .reply(&block(commands))
        .reply(DONE)
        .run()
        .code(0);
    let outbox = finished.outbox(2);
    assert!(
        outbox.contains("2. [FAILED] EDIT_FILE: not understood (line "),
        "{outbox}"
    );
    assert!(
        outbox.contains("3. [FAILED] CREATE_FILE: not understood (line "),
        "{outbox}"
    );
    assert!(
        outbox.contains("`../b.txt` leaves the workspace"),
        "{outbox}"
    );
    assert_eq!(finished.files("workspace").len(), 2);
}

#[test]
fn a_reply_cut_in_a_body_runs_what_came_before_and_asks_for_the_rest() {
    let cut = "``````\n[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n[CREATE_FILE path=\"b.txt\"]\nhalf of";
    let finished = Test::new(&["new", "task"])
        .reply(cut)
        .reply(&block("[CREATE_FILE path=\"b.txt\"]\nb\n[/CREATE_FILE]"))
        .reply(DONE)
        .run()
        .code(0)
        .said("cut off")
        .workspace("a.txt", "a\n")
        .workspace("b.txt", "b\n");
    let outbox = finished.outbox(2);
    assert!(
        outbox.contains("was cut off in CREATE_FILE b.txt"),
        "{outbox}"
    );
}

#[test]
fn the_whole_of_a_cut_reply_under_its_old_number_is_recognised() {
    let running = Test::new(&["new", "task"])
        .reply("``````\n[RUN_COMMAND]\necho x >> a.txt\n[/RUN_COMMAND]\n[CREATE_FILE path=\"b.txt\"]\nhalf of")
        .start();
    let outbox = running.outbox(2);
    let id = &outbox.lines().nth(1).unwrap()["Session: ".len()..];
    let whole = format!(
        "``````\n[RUN_COMMAND]\necho x >> a.txt\n[/RUN_COMMAND]\n[CREATE_FILE path=\"b.txt\"]\nhalf of it\n[/CREATE_FILE]\n[END {id}#1]\n``````\n"
    );
    fs::write(running.base().join("inbox/whole.txt"), whole).unwrap();
    running.outbox(3);
    fs::write(
        running.base().join("inbox/done.txt"),
        format!("[DONE]\n[END {id}#3]\n"),
    )
    .unwrap();
    running
        .wait()
        .code(0)
        .workspace("a.txt", "x\n")
        .workspace("b.txt", "half of it\n");
}

#[test]
fn a_question_is_answered_with_say_and_told_in_the_next_outbox() {
    let running = Test::new(&["new", "task"])
        .reply(&block("[ASK_USER]\nTabs or spaces?\n[/ASK_USER]"))
        .reply(DONE)
        .start();
    running.outbox(1);
    // The question is open once the session says so; until then `say` would be an ordinary note.
    let status = || {
        let output = agent(&running.base())
            .args(["list", "--json"])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    while !status().contains("\"asks\"") {}
    let said = agent(&running.base())
        .args(["say", "spaces,", "please"])
        .output()
        .unwrap();
    assert!(
        said.status.success(),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
    let outbox = running.outbox(2);
    assert!(
        outbox.contains("You asked: Tabs or spaces?\nThe user says: spaces, please\n"),
        "{outbox}"
    );
    running.wait().code(0);
}

#[test]
fn a_note_is_told_in_the_next_outbox() {
    let running = Test::new(&["new", "task"]).start();
    let outbox = running.outbox(1);
    let id = &outbox.lines().nth(1).unwrap()["Session: ".len()..];
    assert!(
        agent(&running.base())
            .args(["say", "mind", "the", "docs"])
            .output()
            .unwrap()
            .status
            .success()
    );
    fs::write(
        running.base().join("inbox/a.txt"),
        format!("[LIST_FILES]\n[END {id}#1]\n"),
    )
    .unwrap();
    assert!(
        running
            .outbox(2)
            .contains("## A Note from the User\nmind the docs\n")
    );
    fs::write(
        running.base().join("inbox/b.txt"),
        format!("[DONE]\n[END {id}#2]\n"),
    )
    .unwrap();
    running.wait().code(0);
}

#[test]
fn many_edits_of_a_large_file_do_not_lie_beside_it_all_at_once() {
    let text = |number: u32| format!("number {number}\n{}", "line\n".repeat(180));
    let edit = |number: u32| {
        let next = number + 1;
        format!(
            "[EDIT_FILE path=\"large.txt\"]\n<<<<<<< SEARCH\nnumber {number}\n=======\nnumber {next}\n>>>>>>> REPLACE\n[/EDIT_FILE]"
        )
    };
    let edits: Vec<String> = (0..20).map(edit).collect();
    let finished = Test::new(&["new", "--base", ".", "--max-file-bytes", "1000", "task"])
        .file("workspace/large.txt", text(0))
        .reply(&block(&edits.join("\n")))
        .reply(DONE)
        .run()
        .code(0)
        .workspace("large.txt", &text(20));
    let id = finished.session()["sessionId"].as_str().unwrap().to_owned();
    let journal = finished.base().join(format!("sessions/{id}.journal.jsonl"));
    let journal = fs::read_to_string(journal).unwrap();
    let groups = journal
        .lines()
        .filter(|line| line.contains("\"event\":\"started\""));
    let most = groups
        .map(|group| group.matches("\"staged\":").count())
        .max();
    assert_eq!(
        most,
        Some(5),
        "four times the largest file, and the step that goes past it"
    );
}
