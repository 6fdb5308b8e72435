//! Questions and keys of a first hour that went another way than the person meant, each as they met it.

use std::fs;
use std::process::Command;

use crate::harness::{Test, agent, wait_for_outbox};
use crate::terminal::{DONE, Terminal, has_script};

const CREATE: &str = "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n{end}\n";

fn waiting(arguments: &str) -> Option<(Terminal, String)> {
    if !has_script() {
        return None;
    }
    let mut terminal = Terminal::open(Test::new(&[]), arguments, &[]);
    let (id, _) = wait_for_outbox(&terminal.base(), 1);
    terminal.expect("into your chat");
    Some((terminal, id))
}

fn paste(terminal: &mut Terminal, text: &str) {
    terminal.type_in(&format!("\u{1b}[200~{text}\u{1b}[201~"));
}

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
    terminal.type_in("status\r");
    terminal.expect("`status` comes after `/undo`, which is not finished.");
    terminal.type_in("q\r");
    terminal.expect("Nothing was done.");
    terminal.expect(&format!("Session {id}"));
    terminal.reply(2, "[ASK_USER]\nWhich colour?\n[/ASK_USER]\n{end}\n");
    terminal.expect("Your answer:");
    terminal.type_in("?\r");
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
