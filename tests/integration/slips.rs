//! Mistakes of a person at the terminal, and the harm that they must not do.

use std::fs;

use crate::harness::{Save, Test, wait_for_outbox, wait_until};
use crate::terminal::{CTRL_C, DONE, Terminal, has_script};

/// Prints the input that is left for the shell once the program has ended.
const LEFT: &str =
    "; stty -icanon -echo min 0 time 5; echo \"left: <$(dd bs=9999 count=1 2>/dev/null)>\"";

#[track_caller]
fn nothing_is_left(arguments: &str, environment: &[(&str, &str)], pasted: &str) {
    if !has_script() {
        return;
    }
    let arguments = format!("{arguments}{LEFT}");
    let mut terminal = Terminal::open(Test::new(&[]), &arguments, environment);
    wait_for_outbox(&terminal.base(), 1);
    terminal.expect("takes no paste");
    terminal.type_in(pasted);
    terminal.expect("echo pasted");
    terminal.reply(1, DONE);
    terminal.expect("left: <>");
}

#[test]
fn what_is_pasted_where_nobody_reads_is_not_left_to_the_shell() {
    let line = "echo pasted\n";
    nothing_is_left("new task", &[("TERM", "dumb")], line);
    nothing_is_left("new --json task >/dev/null", &[], line);
    nothing_is_left("new --no-input task", &[], line);
    nothing_is_left("new task 2>&1 | cat", &[], line);
    // More than a terminal has room for, and no end of the last line.
    let long = format!("{}echo the end", line.repeat(1_000));
    nothing_is_left("new task", &[("TERM", "dumb")], &long);
}

#[test]
fn ctrl_c_leaves_nothing_to_the_shell_either() {
    if !has_script() {
        return;
    }
    let arguments = format!("new task{LEFT}");
    // One that goes on after a Ctrl-C that the program took for itself.
    let environment = [("TERM", "dumb"), ("SHELL", "/bin/bash")];
    let mut terminal = Terminal::open(Test::new(&[]), &arguments, &environment);
    wait_for_outbox(&terminal.base(), 1);
    terminal.expect("into your chat");
    terminal.type_in(&format!("echo pasted\n{CTRL_C}"));
    terminal.expect("left: <>");
}

#[test]
fn what_was_typed_before_a_question_is_no_answer_to_it() {
    if !has_script() {
        return;
    }
    let test = Test::new(&[]);
    let mut terminal = Terminal::open(test, "new --approval ask task", &[("TERM", "dumb")]);
    wait_for_outbox(&terminal.base(), 1);
    terminal.expect("takes no paste");
    terminal.type_in("y\n");
    terminal.expect("y\r\n");
    terminal.reply(
        1,
        "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n{end}\n",
    );
    terminal.expect("[y] yes");
    terminal.type_in("n later\n");
    let (_, second) = wait_for_outbox(&terminal.base(), 2);
    assert!(second.contains("the user declined: later"), "{second}");
    terminal.reply(2, DONE);
    assert_eq!(terminal.close().0, Some(0));
}

#[test]
fn the_letter_a_approves_nothing_where_there_is_no_rule_for_it() {
    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new --approval ask task", &[]);
    let create = |name: &str| format!("[CREATE_FILE path=\"{name}\"]\nx\n[/CREATE_FILE]\n");
    terminal.reply(1, &format!("{}{}{{end}}\n", create("a"), create("b")));
    terminal.expect("[s] skip");
    for answer in ["a\r", "all\r", "always\r"] {
        terminal.type_in(answer);
        terminal.expect("Please answer y, n, o, d, s or q.");
        terminal.expect("[s] skip");
        terminal.expect("? ");
    }
    terminal.type_in("o\r");
    terminal.expect("[o] all at once");
    terminal.type_in("a\r");
    terminal.expect("[o] all at once");
    terminal.type_in("o\r");
    terminal.expect("[o] one by one");
    terminal.type_in("y\r");
    wait_for_outbox(&terminal.base(), 2);
    assert!(terminal.base().join("workspace/b").exists());
    terminal.reply(2, DONE);
    assert_eq!(terminal.close().0, Some(0));
}

#[test]
fn a_reply_with_the_chats_last_words_after_its_mark_is_taken() {
    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new task", &[]);
    let (id, _) = wait_for_outbox(&terminal.base(), 1);
    terminal.expect("into your chat");
    let end = format!("[END {id}#1]");
    let reply = "Sure!\n``````\n[LIST_FILES]\n{end}\n``````\nLet me know how it goes!\n";
    let reply = reply.replace("{end}", &end);
    terminal.type_in(&format!("\u{1b}[200~{reply}\u{1b}[201~"));
    wait_for_outbox(&terminal.base(), 2);
    terminal.reply(2, DONE);
    assert_eq!(terminal.close().0, Some(0));
}

#[test]
fn another_command_or_another_message_ends_the_copying_of_parts() {
    if !has_script() {
        return;
    }
    let line = "some words that fill a line of text\n";
    let test = Test::new(&[])
        .file("workspace/big.txt", line.repeat(20_000 / line.len()))
        .file("appsettings.json", r#"{"Agent": {"MaxReadLines": 2000}}"#);
    let mut terminal = Terminal::open(test, "new --chat copilot task", &[]);
    let (id, _) = wait_for_outbox(&terminal.base(), 1);
    terminal.reply(1, "[READ_FILE path=\"big.txt\"]\n{end}\n");
    terminal.expect("4. Paste only that reply here");
    terminal.type_in("/copy\r");
    terminal.expect("press Enter for part 2 of 3");
    terminal.type_in("/plan\r");
    terminal.expect("`agent copy --part 2` copies it");
    terminal.expect("plan");
    // What the chat says to a part is no reply.
    let inbox = terminal.base().join("inbox");
    fs::write(inbox.join("a.txt"), "OK, I am waiting for part 2.\n").unwrap();
    terminal.expect("answer to one part");
    terminal.type_in("/copy\r");
    terminal.expect("press Enter for part 2 of 3");
    let next = format!("[READ_FILE path=\"big.txt\"]\n[END {id}#2]\n");
    fs::write(inbox.join("b.txt"), next).unwrap();
    terminal.expect("another message by now");
    terminal.type_in(CTRL_C);
    terminal.expect("agent resume");
}

#[test]
fn ctrl_l_clears_the_screen_and_the_line_goes_on() {
    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new --color never task", &[]);
    terminal.expect("into your chat");
    terminal.type_in("/p");
    terminal.expect("> /p");
    terminal.type_in("\u{c}");
    terminal.expect("\u{1b}[H\u{1b}[2J> /p\r\u{1b}[4C");
    terminal.type_in("l");
    let drawn = terminal.expect_text("> /pl");
    assert_eq!(drawn, "\r\u{1b}[J> /pl");
    terminal.type_in(CTRL_C);
    terminal.expect("agent resume");
}

#[test]
fn bytes_of_a_document_use_no_round() {
    for document in [
        b"PK\x03\x04\x14\x00\x06\x00word/document.xml\x9c\xed\x5b".to_vec(),
        b"{\\rtf1 [DONE]}".to_vec(),
        b"plain\x00\x01\xff\xfd\xc0".to_vec(),
    ] {
        let running = Test::new(&["new", "task"]).start();
        let outbox = running.outbox(1);
        let inbox = running.base().join("inbox");
        fs::write(inbox.join("saved.txt"), document).unwrap();
        wait_until("it is rejected", || {
            inbox.join("rejected/saved.txt.why").exists()
        });
        let id = &outbox.lines().nth(1).unwrap()["Session: ".len()..];
        let done = DONE.replace("{end}", &format!("[END {id}#1]"));
        fs::write(inbox.join("done.txt"), done).unwrap();
        let finished = running
            .wait()
            .code(0)
            .said("it is not text; save the chat's reply as plain text");
        assert_eq!(finished.outboxes(), 1);
    }
}

#[test]
fn a_workspace_that_is_not_there_is_not_made_in_silence() {
    for name in ["wrok", "no/such/place"] {
        let finished = Test::new(&["new", "--no-wait", "--workspace", name, "task"])
            .run()
            .code(2)
            .said("does not exist")
            .said("mkdir -p");
        assert!(finished.files("").is_empty(), "{name}");
    }
    if !has_script() {
        return;
    }
    let test = Test::new(&[]).file("notes.md", "x");
    let mut terminal = Terminal::open(test, "new --no-wait --workspace work task", &[]);
    terminal.expect("Make it, and work in it?");
    terminal.type_in("y\n");
    terminal.expect("Round 1");
    assert!(terminal.base().join("work").is_dir());
    assert_eq!(terminal.close().0, Some(0));
}

#[test]
fn a_workspace_that_is_named_is_used_without_a_question() {
    let finished = Test::new(&["new", "--no-wait", "--workspace", "work", "task"])
        .file("work/a.txt", "a")
        .file("other.txt", "x")
        .run()
        .code(0);
    assert!(finished.outbox(1).contains("a.txt"));
    assert!(!finished.outbox(1).contains("other.txt"));
}

#[test]
fn a_done_that_does_not_count_and_a_reply_without_commands_are_told() {
    Test::new(&["new", "task"])
        .reply("[RUN_COMMAND]\nfalse\n[/RUN_COMMAND]\n[DONE]\nall\n[/DONE]\n{end}\n")
        .reply_by(Save::Write, "I think that all is well.\n{end}\n")
        .reply(DONE)
        .run()
        .code(0)
        .said("2 refused done: step 1 did not succeed")
        .said("There is no command in it; the next message asks the model for one.");
}
