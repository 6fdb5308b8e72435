//! Questions and keys of a first hour that went another way than the person meant, each as they met it.

use std::fs;
use std::process::Command;

use crate::first_hour::{CREATE, paste, waiting};
use crate::harness::{Test, agent, program, wait_for_outbox};
use crate::terminal::{DONE, Terminal, has_script};

#[test]
fn the_line_after_a_shell_command_is_the_one_that_is_sent() {
    let Some((mut terminal, _)) = waiting("new task") else {
        return;
    };
    terminal.type_in("git log\r");
    terminal.expect("looks like a shell command");
    terminal.type_in("please add colours\r");
    terminal.expect("Noted.");
    terminal.type_in("git status\r");
    terminal.expect("looks like a shell command");
    terminal.type_in("n\r");
    terminal.expect("git status");
    terminal.type_in("\u{15}agent frobnicate\r");
    terminal.expect("looks like a shell command");
    terminal.type_in("\u{1b}");
    terminal.expect("agent frobnicate");
    terminal.type_in("\u{15}/notes\r");
    let notes = terminal.expect_text("please add colours");
    assert!(!notes.contains("1. git"), "{notes}");
    terminal.reply(1, "[LIST_FILES]\n{end}\n");
    let (_, second) = wait_for_outbox(&terminal.base(), 2);
    assert!(second.contains("please add colours"), "{second}");
    for line in ["git log", "git status", "frobnicate"] {
        assert!(!second.contains(line), "{line}: {second}");
    }
    terminal.reply(2, DONE);
    assert_eq!(terminal.close().0, Some(0));
}

#[test]
fn whatever_the_reading_of_a_reply_takes_is_no_paste_without_a_command() {
    let Some((mut terminal, id)) = waiting("new task") else {
        return;
    };
    fs::write(terminal.base().join("workspace/a.txt"), "a\n").unwrap();
    // Only the first bracket is escaped, as some pages do; the end mark says that it is all.
    paste(
        &mut terminal,
        &format!("\\[READ_FILE path=\"a.txt\"]\n\\[END {id}#1]\n"),
    );
    wait_for_outbox(&terminal.base(), 2);
    paste(
        &mut terminal,
        "```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n```\n",
    );
    let shown = terminal.expect_text("pasted, without the end mark.");
    assert!(!shown.contains("no complete command"), "{shown}");
    terminal.type_in("\r");
    wait_for_outbox(&terminal.base(), 3);
    terminal.reply(3, DONE);
    assert_eq!(terminal.close().0, Some(0));
}

#[test]
fn at_a_question_keys_and_commands_are_no_notes() {
    let Some((mut terminal, id)) = waiting("new task; echo code $?") else {
        return;
    };
    terminal.reply(1, CREATE);
    wait_for_outbox(&terminal.base(), 2);
    terminal.type_in("/undo\r");
    terminal.expect("Do it?");
    terminal.expect("[y] yes  [n] no");
    terminal.type_in("a\r");
    terminal.expect("`a` is no answer here.");
    terminal.type_in("yess\r");
    terminal.expect("`yess` is no answer here.");
    terminal.expect("[y] yes  [n] no");
    terminal.type_in("?\r");
    let again = terminal.expect_text("Do it?");
    assert!(again.contains("delete "), "{again}");
    terminal.expect("[y] yes  [n] no");
    terminal.type_in("/help\r");
    terminal.expect("Commands, which may be shortened");
    terminal.type_in("status\r");
    terminal.expect("`status` comes after `/undo`, which is not finished.");
    terminal.type_in("q\r");
    terminal.expect("Nothing was done.");
    terminal.expect(&format!("Session {id}"));
    terminal.reply(2, "[ASK_USER]\nWhich colour?\n[/ASK_USER]\n{end}\n");
    terminal.expect("Your answer:");
    terminal.type_in("?\r");
    terminal.expect("Which colour?");
    terminal.expect("Your answer:");
    terminal.type_in("help\r");
    terminal.expect("`/help` is the command.");
    terminal.type_in("\u{1b}\u{15}blue\r");
    wait_for_outbox(&terminal.base(), 3);
    terminal.type_in("/?\r");
    terminal.expect("Commands, which may be shortened");
    terminal.type_in("/undo\r");
    terminal.expect("Do it?");
    terminal.type_in("/quit\r");
    let shown = terminal.expect_text("code 0");
    assert!(!shown.contains("error"), "{shown}");
    let notes = terminal.base().join(format!("sessions/{id}/notes"));
    let left = fs::read_dir(notes).map_or(0, Iterator::count);
    assert_eq!(left, 0);
}

#[test]
fn a_session_that_cannot_begin_leaves_nothing_behind() {
    for options in [
        &["--add-diff"][..],
        &["--add-diff=nope"],
        &["--add", "*.nothing"],
    ] {
        let arguments = [&["new"], options, &["task"]].concat();
        let finished = Test::new(&arguments).run();
        assert!(!finished.status.success(), "{}", finished.stderr);
        let left = finished.files(".");
        assert!(left.is_empty(), "{options:?}: {left:?}");
        let entries = fs::read_dir(finished.base()).unwrap().count();
        assert_eq!(entries, 0, "{options:?}");
    }
    // In a repository the commit is looked for, and what was there stays.
    let test = Test::new(&["new", "--add-diff=nope", "--base", ".", "task"]).file("mine.txt", "x");
    let init = Command::new("git")
        .args(["init", "-q"])
        .current_dir(test.base())
        .status();
    assert!(init.unwrap().success());
    let finished = test.run().said("`nope` is no commit");
    assert!(!finished.status.success());
    assert!(finished.base().join("mine.txt").exists());
    assert!(!finished.base().join("appsettings.json").exists());
    assert!(!finished.base().join("workspace").exists());
}

#[test]
fn settings_that_are_changed_at_the_same_time_are_all_kept() {
    let test = Test::new(&[]);
    let values = [
        ("Chat", "claude"),
        ("MaxRounds", "7"),
        ("Approval", "ask"),
        ("Clipboard", "off"),
        ("Notify", "off"),
        ("MaxParts", "3"),
    ];
    for _ in 0..3 {
        let children: Vec<_> = values
            .iter()
            .map(|(key, value)| {
                let mut command = agent(&test.base());
                command.args(["config", "set", key, value]).spawn().unwrap()
            })
            .collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
        let own = (test.base().with_file_name("home")).join(".config/agent/settings.json");
        let kept = fs::read_to_string(&own).unwrap();
        for (key, _) in values {
            assert!(kept.contains(key), "{key}: {kept}");
        }
        fs::remove_file(own).unwrap();
    }
}

#[test]
fn a_file_that_is_not_trusted_keeps_nobody_from_their_own_settings() {
    let file = "{\"Agent\": {\"WorkspaceDir\": \"/elsewhere\"}}";
    let finished = Test::new(&["config", "set", "Chat", "claude"])
        .file("appsettings.json", file)
        .run()
        .code(0);
    assert!(!finished.stderr.contains("error"), "{}", finished.stderr);
    let finished = Test::after(finished, &["config", "get", "Chat"])
        .run()
        .code(0);
    assert_eq!(finished.stdout, "claude\n");
    let finished = Test::after(finished, &["config", "get", "WorkspaceDir"])
        .run()
        .code(0);
    assert_eq!(finished.stdout, "workspace\n");
    assert!(
        finished.stderr.contains("appsettings.json"),
        "{}",
        finished.stderr
    );
}

#[test]
fn the_chats_that_the_short_help_names_exist() {
    let help = Test::new(&["-h"]).run().code(0).stdout;
    let line = help
        .lines()
        .find(|line| line.contains("--chat NAME"))
        .unwrap();
    let (_, names) = line.split_once("your chat: ").unwrap();
    let (names, _) = names.split_once(" ...").unwrap();
    for name in names.split(", ") {
        Test::new(&["config", "set", "Chat", name]).run().code(0);
    }
}

#[test]
fn files_that_git_ignores_are_neither_counted_nor_a_round_to_undo() {
    let Some((mut terminal, _)) = waiting("new task") else {
        return;
    };
    let base = terminal.base();
    fs::write(base.join("workspace/.gitignore"), "*.log\n").unwrap();
    terminal.reply(1, "[CREATE_FILE path=\"m.py\"]\nx\n[/CREATE_FILE]\n{end}\n");
    wait_for_outbox(&base, 2);
    terminal.reply(
        2,
        "[RUN_COMMAND]\necho x > build.log\n[/RUN_COMMAND]\n{end}\n",
    );
    wait_for_outbox(&base, 3);
    let said = |arguments: &[&str]| {
        let output = agent(&base).args(arguments).output().unwrap();
        let (out, err) = (output.stdout, output.stderr);
        String::from_utf8([out, err].concat()).unwrap()
    };
    let diff = said(&["diff"]);
    assert!(diff.contains("+x") && diff.contains("Round 1"), "{diff}");
    let undo = said(&["undo"]);
    assert!(undo.contains("delete m.py"), "{undo}");
    let list = said(&["list", "--json"]);
    assert!(list.contains("\"changedFiles\":1"), "{list}");
    terminal.reply(3, DONE);
    let shown = terminal.expect_text("agent diff");
    assert!(
        shown.contains("m.py") && !shown.contains(": build.log"),
        "{shown}"
    );
    let (code, rest) = terminal.close();
    assert_eq!(code, Some(0), "{rest}");
}

#[test]
fn a_decision_is_told_before_the_next_question() {
    let Some((mut terminal, _)) = waiting("new --approval edits task") else {
        return;
    };
    let run = |word: &str| format!("[RUN_COMMAND]\necho {word}\n[/RUN_COMMAND]\n");
    let reply = format!("{}{}{}{{end}}\n", run("one"), run("two"), run("three"));
    terminal.reply(1, &reply);
    terminal.expect("[o] one by one");
    terminal.type_in("o\r");
    let first = terminal.expect_text("Run it?");
    let first = anstream::adapter::strip_str(&first).to_string();
    assert!(first.contains("1. run `echo one`"), "{first}");
    assert!(!first.contains("RUN_COMMAND"), "{first}");
    for (answer, told) in [("n no", "declined 1."), ("s", "skipped 2.")] {
        terminal.type_in(&format!("{answer}\r"));
        let shown = terminal.expect_text("Run it?");
        let shown = anstream::adapter::strip_str(&shown).to_string();
        assert!(shown.contains(told), "{shown}");
        // The list has said why.
        assert!(!shown.contains("--approval"), "{shown}");
    }
    terminal.type_in("s\r");
    // The last one is told where all steps are listed.
    let shown = terminal.expect_text("Round 2");
    assert!(!shown.contains("3. run"), "{shown}");
    terminal.reply(2, DONE);
    assert_eq!(terminal.close().0, Some(0));
}

#[test]
fn a_change_that_is_not_asked_about_says_before_which_step_it_comes() {
    let Some((mut terminal, _)) = waiting("new --approval edits task") else {
        return;
    };
    let reply = "[RUN_COMMAND]\necho one\n[/RUN_COMMAND]\n[CREATE_FILE path=\"README.md\"]\nx\n[/CREATE_FILE]\n[RUN_COMMAND]\nseq 30; exit 3\n[/RUN_COMMAND]\n{end}\n";
    terminal.reply(1, reply);
    terminal.expect("(not asked about; it comes before step 3)");
    terminal.expect("[y] yes");
    terminal.type_in("y\r");
    // What was folded can be shown with the line as it stands.
    terminal.expect("all of it: agent show --round 1");
    wait_for_outbox(&terminal.base(), 2);
    terminal.reply(2, DONE);
    let shown = terminal.expect_text("agent diff");
    let bare = anstream::adapter::strip_str(&shown).to_string();
    let (_, done) = bare.split_once("Done after").unwrap();
    assert!(done.contains("README.md +1"), "{bare}");
    assert_eq!(terminal.close().0, Some(0));
}

#[test]
fn an_empty_folder_of_a_repository_is_not_called_full() {
    if !has_script() {
        return;
    }
    let test = Test::new(&[]);
    let init = Command::new("git")
        .args(["init", "-q"])
        .current_dir(test.base())
        .status();
    assert!(init.unwrap().success());
    fs::create_dir(test.base().join("empty")).unwrap();
    let arguments = format!("--version; cd empty; '{}' new task", program());
    let mut terminal = Terminal::open(test, &arguments, &[]);
    let shown = terminal.expect_text("Where should");
    assert!(!shown.contains("is not empty"), "{shown}");
    assert!(shown.contains("in the repository"), "{shown}");
}

#[test]
fn at_the_limit_no_further_round_is_announced() {
    let Some((mut terminal, id)) = waiting("new --max-rounds 1 task; echo over") else {
        return;
    };
    terminal.reply(1, CREATE);
    let shown = terminal.expect_text("over");
    assert!(!shown.contains("Round 2"), "{shown}");
    assert!(
        shown.contains(&format!("`agent resume {id}` allows more")),
        "{shown}"
    );
}

#[test]
fn damage_that_shows_how_a_reply_was_copied_brings_a_tip() {
    for reply in [
        "\\[CREATE_FILE path=\"a.py\"\\]\nx\n\\[/CREATE_FILE\\]\n",
        "  [CREATE_FILE path=\"a.py\"]\n  x\n  [/CREATE_FILE]\n",
    ] {
        Test::new(&["apply", "-"])
            .input(reply)
            .run()
            .code(0)
            .said("own copy button");
    }
}

#[test]
fn a_reply_for_a_session_that_has_ended_is_not_taken() {
    let finished = Test::new(&["new", "task"]).reply(DONE).run().code(0);
    let finished = Test::after(finished, &["paste", "-"])
        .input("[LIST_FILES]\n")
        .run()
        .code(1)
        .said("all of them have ended");
    assert!(
        finished.stderr.contains("agent resume"),
        "{}",
        finished.stderr
    );
}

#[test]
fn list_and_status_name_the_same_round() {
    let finished = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let finished = Test::after(finished, &["step", "--reply", "-"])
        .input("[LIST_FILES]\n")
        .run()
        .code(0);
    let list = Test::after(finished, &["list"]).run().code(0);
    let line = list.stdout.lines().nth(1).unwrap().to_owned();
    let round = line.split_whitespace().nth(2).unwrap().to_owned();
    let status = Test::after(list, &["status"]).run().code(0);
    assert!(
        status.stdout.contains(&format!("Round {round} of")),
        "{line}: {}",
        status.stdout
    );
}

#[test]
fn the_next_action_stays_in_one_line_with_a_path_that_leads_there() {
    if !has_script() {
        return;
    }
    let deep = "a-long-name/of-a-project/that-is-deep";
    for environment in [("LANG", "C.UTF-8"), ("NO_COLOR", "1")] {
        for columns in [80, 200] {
            let arguments = format!(
                "--version; stty cols {columns}; mkdir -p {deep}; cd {deep}; '{}' new task",
                program()
            );
            let mut terminal = Terminal::open(Test::new(&[]), &arguments, &[environment]);
            terminal.expect("Paste this into your chat:");
            let shown = terminal.expect_text("2. ");
            let bare = anstream::adapter::strip_str(&shown).to_string();
            let path = bare.trim().lines().next().unwrap_or_default().trim();
            assert!(path.ends_with("_seq0001.txt"), "{bare:?}");
            // Where nothing can be a link, the whole path has a line of its own.
            let is_whole = columns == 200 || environment.0 == "NO_COLOR";
            assert_eq!(path.starts_with('/'), is_whole, "{bare:?}");
        }
    }
}

#[test]
fn an_enter_for_a_line_or_a_paste_is_no_answer_to_the_model() {
    let Some((mut terminal, _)) = waiting("new task") else {
        return;
    };
    let ask = "[ASK_USER]\nWhich colour?\n[/ASK_USER]\n{end}\n";
    terminal.type_in("git push\r");
    terminal.expect("looks like a shell command");
    terminal.reply(1, ask);
    terminal.expect("Your answer:");
    terminal.type_in("\r");
    terminal.expect("The question has changed. Your answer:");
    terminal.type_in("blue\r");
    let (_, second) = wait_for_outbox(&terminal.base(), 2);
    assert!(
        second.contains("blue") && !second.contains("git push"),
        "{second}"
    );
    // The line is asked about again; Esc brings it back.
    terminal.expect("looks like a shell command");
    terminal.type_in("?\r");
    terminal.expect("looks like a shell command");
    terminal.type_in("\u{1b}");
    terminal.expect("git push");
    terminal.type_in("\u{15}");
    paste(&mut terminal, "mine\nnot for anyone\n");
    terminal.expect("Enter: it is the chat's reply");
    terminal.type_in("ok\r");
    terminal.expect("`ok` is no answer here.");
    terminal.reply(2, ask);
    terminal.expect("Your answer:");
    terminal.type_in("\r");
    terminal.expect("The question has changed. Your answer:");
    terminal.type_in("green\r");
    let (_, third) = wait_for_outbox(&terminal.base(), 3);
    assert!(
        third.contains("green") && !third.contains("not for anyone"),
        "{third}"
    );
    terminal.expect("Enter: it is the chat's reply");
    terminal.type_in("\u{1b}");
    terminal.reply(3, DONE);
    assert_eq!(terminal.close().0, Some(0));
}

#[test]
fn a_reply_pasted_at_the_question_about_an_earlier_one_is_said_to_be_kept() {
    let Some((mut terminal, id)) = waiting("new task") else {
        return;
    };
    terminal.reply(1, "[LIST_FILES]\n{end}\n");
    wait_for_outbox(&terminal.base(), 2);
    let create = |name: &str, round: u32| {
        format!("[CREATE_FILE path=\"{name}\"]\nx\n[/CREATE_FILE]\n[END {id}#{round}]\n")
    };
    paste(&mut terminal, &create("old.txt", 1));
    terminal.expect("Use it anyway?");
    terminal.expect("[y] yes  [n] no");
    paste(&mut terminal, &create("new.txt", 2));
    terminal.expect("The reply is kept, and taken after your answer.");
    terminal.type_in("n\r");
    wait_for_outbox(&terminal.base(), 3);
    let workspace = terminal.base().join("workspace");
    assert!(workspace.join("new.txt").exists() && !workspace.join("old.txt").exists());
    terminal.reply(3, DONE);
    assert_eq!(terminal.close().0, Some(0));
}

#[test]
fn a_paste_at_the_question_about_a_plan_is_no_answer_unless_it_is_the_reason() {
    let Some((mut terminal, _)) = waiting("new --approval plan task") else {
        return;
    };
    terminal.reply(1, "[PLAN]\n1. write a.txt\n[/PLAN]\n{end}\n");
    terminal.expect("[n WHAT TO CHANGE] no");
    paste(&mut terminal, "two files,\nnot one\n");
    let shown = terminal.expect_text("n Enter: no, with it as the reason");
    assert!(!shown.contains("it is my answer"), "{shown}");
    terminal.type_in("n\r");
    let (_, second) = wait_for_outbox(&terminal.base(), 2);
    assert!(second.contains("two files,\nnot one"), "{second}");
    terminal.reply(2, "[PLAN]\n1. write two files\n[/PLAN]\n{end}\n");
    terminal.expect("[n WHAT TO CHANGE] no");
    terminal.type_in("q\r");
    terminal.close();
}
