//! Questions and keys of a first hour that went another way than the person meant, each as they met it.

use std::fs;

use crate::harness::{Test, wait_for_outbox};
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
