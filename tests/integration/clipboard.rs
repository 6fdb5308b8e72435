//! The clipboard for real: an X server of our own without a screen, `xclip` as the other program,
//! and a pseudo-terminal for what goes through the terminal. The person's own is never touched: the
//! environment is cleared.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{DEADLINE, Finished, Test, agent, program, wait_for_outbox, wait_until};
use crate::terminal::{Terminal, has_script};

const DONE: &str = "[DONE]\nall is fine\n[/DONE]\n{end}\n";

/// An X server that ends with the test.
struct Display {
    server: Child,
    name: String,
}

impl Display {
    /// Nothing, and a word about it, where the server or `xclip` is not there.
    #[expect(
        clippy::print_stderr,
        reason = "a skipped test says so to the person who runs it"
    )]
    fn open() -> Option<Self> {
        let has_xclip = Command::new("xclip").arg("-version").output().is_ok();
        let server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-nolisten", "tcp"])
            .args(["-screen", "0", "64x64x8"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let (true, Ok(mut server)) = (has_xclip, server) else {
            eprintln!("skipped: `Xvfb` or `xclip` is not there; tests/install.sh installs them");
            return None;
        };
        let mut number = String::new();
        BufReader::new(server.stdout.take().unwrap())
            .read_line(&mut number)
            .unwrap();
        let name = format!(":{}", number.trim());
        Some(Self { server, name })
    }

    fn xclip(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("xclip");
        command
            .env("DISPLAY", &self.name)
            .args(["-selection", "clipboard"])
            .args(arguments);
        command
    }

    /// Copies a text, as somebody in another program does.
    fn copy(&self, text: &str, arguments: &[&str]) {
        let mut child = self
            .xclip(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        drop(input);
        assert!(child.wait().unwrap().success());
    }

    /// The text that somebody who pastes gets.
    fn paste(&self) -> String {
        let output = self.xclip(&["-o"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn expect(&self, text: &str) {
        let began = Instant::now();
        loop {
            let pasted = self.paste();
            if pasted == text {
                return;
            }
            assert!(began.elapsed() < DEADLINE, "on the clipboard is: {pasted}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// As if the person had said yes when they were asked whether we may look.
fn consent(base: &Path) {
    let state = base.with_file_name("state").join("agent");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("clipboard"), "yes\n").unwrap();
}

fn id(finished: &Finished) -> String {
    finished.session()["sessionId"].as_str().unwrap().to_owned()
}

fn mark(base: &Path, sequence: u32) -> String {
    let (id, _) = crate::harness::wait_for_outbox(base, sequence);
    format!("[END {id}#{sequence}]")
}

#[test]
fn a_message_stays_on_the_clipboard_after_the_program_has_ended() {
    let Some(display) = Display::open() else {
        return;
    };
    let finished = Test::new(&["new", "--no-wait", "--copy", "tâsk →"])
        .environment("DISPLAY", &display.name)
        .run()
        .code(0)
        .said("the message: copied to the clipboard of X11.");
    assert_eq!(display.paste(), finished.outbox(1));
}

#[test]
fn without_a_way_nothing_is_said_to_be_copied() {
    let finished = Test::new(&["new", "--no-wait", "--copy", "task"])
        .run()
        .code(0)
        .said("the message is not on the clipboard: there is no way to a clipboard here");
    assert!(!finished.stderr.contains("copied"), "{}", finished.stderr);
    let finished = Test::new(&["new", "--no-wait", "--copy", "task"])
        .environment("DISPLAY", ":99999")
        .run()
        .code(0)
        .said("the message is not on the clipboard: ");
    assert!(!finished.stderr.contains("copied"), "{}", finished.stderr);
}

#[test]
fn a_round_by_clipboard_takes_the_reply_and_nothing_else() {
    let Some(display) = Display::open() else {
        return;
    };
    let test =
        Test::new(&["new", "--clipboard", "auto", "task"]).environment("DISPLAY", &display.name);
    consent(&test.base());
    let running = test.start();
    display.expect(&running.outbox(1));
    let end = mark(&running.base(), 1);
    let reply = |name: &str| format!("[CREATE_FILE path=\"{name}\"]\nx\n[/CREATE_FILE]\n{end}\n");
    // No event tells that something was not taken: it is looked at twice a second.
    display.copy(&reply("secret.txt"), &["-t", "x-kde-passwordManagerHint"]);
    thread::sleep(Duration::from_millis(1_200));
    display.copy(&reply("good.txt"), &[]);
    display.expect(&running.outbox(2));
    let end = mark(&running.base(), 2);
    display.copy(&DONE.replace("{end}", &end), &[]);
    let finished = running
        .wait()
        .code(0)
        .said("Taken from the clipboard: ")
        .workspace("good.txt", "x\n");
    assert!(!finished.base().join("workspace/secret.txt").exists());
}

#[test]
fn a_messy_reply_is_taken_and_each_copy_that_cannot_be_is_told() {
    let Some(display) = Display::open().filter(|_| has_script()) else {
        return;
    };
    let environment = [("DISPLAY", display.name.as_str())];
    let test = Test::new(&[]);
    consent(&test.base());
    let mut terminal = Terminal::open(test, "new --clipboard auto task", &environment);
    terminal.expect("copied to the clipboard of X11");
    let (id, message) = wait_for_outbox(&terminal.base(), 1);
    let command = |name: &str| {
        format!("Sure!\n\n\\[CREATE\\_FILE path=\"{name}\"\\]\nhi\n\\[/CREATE\\_FILE\\]\n")
    };
    let reply = |name: &str, round: u32| {
        let bye = "\nLet me know how it goes!\n";
        format!("{}\\[END {id}#{round}\\]\n{bye}", command(name))
    };
    for name in ["a.txt", "b.txt"] {
        display.copy(&command(name), &[]);
        terminal.expect("has commands, but not the end mark");
    }
    display.copy(&format!("{message}\n{}", reply("c.txt", 1)), &[]);
    terminal.expect("has our message in it");
    display.copy(&reply("d.txt", 7), &[]);
    terminal.expect("answers round 7, and this is round 1");
    display.copy(&reply("e.txt", 1), &[]);
    terminal.expect("Taken from the clipboard");
    display.expect(&wait_for_outbox(&terminal.base(), 2).1);
    let workspace = terminal.base().join("workspace");
    let files: Vec<_> = fs::read_dir(workspace).unwrap().flatten().collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(fs::read_to_string(files[0].path()).unwrap(), "hi\n");
    display.copy(&DONE.replace("{end}", &mark(&terminal.base(), 2)), &[]);
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn without_consent_the_clipboard_is_not_read() {
    let Some(display) = Display::open() else {
        return;
    };
    let running = Test::new(&["new", "--clipboard", "auto", "task"])
        .environment("DISPLAY", &display.name)
        .start();
    display.expect(&running.outbox(1));
    let end = mark(&running.base(), 1);
    display.copy(
        &format!("[CREATE_FILE path=\"a\"]\na\n[/CREATE_FILE]\n{end}\n"),
        &[],
    );
    thread::sleep(Duration::from_millis(1_200));
    fs::write(
        running.base().join("inbox/r.txt"),
        DONE.replace("{end}", &end),
    )
    .unwrap();
    let finished = running.wait().code(0);
    assert!(!finished.base().join("workspace/a").exists());
}

#[test]
fn the_person_is_asked_once_and_before_a_reply_is_used_if_they_want() {
    let Some(display) = Display::open().filter(|_| has_script()) else {
        return;
    };
    let environment = [("DISPLAY", display.name.as_str())];
    let arguments = "new --clipboard auto --approval ask task";
    let mut terminal = Terminal::open(Test::new(&[]), arguments, &environment);
    terminal.expect("copied to the clipboard of X11");
    terminal.expect("May `agent` look at the clipboard");
    terminal.type_in("y\n");
    let memory = terminal.base().with_file_name("state/agent/clipboard");
    wait_until("the answer is kept", || {
        fs::read_to_string(&memory).is_ok_and(|said| said == "yes\n")
    });
    display.copy("[MESSAGE]\nhello\n[/MESSAGE]\n", &[]);
    terminal.expect("has commands, but not the end mark of this round");
    let end = mark(&terminal.base(), 1);
    display.copy(&DONE.replace("{end}", &end), &[]);
    terminal.expect("Use the reply on the clipboard (");
    terminal.type_in("y\n");
    terminal.expect("Taken from the clipboard");
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn who_does_not_let_the_clipboard_be_looked_at_is_told_to_paste() {
    let Some(display) = Display::open().filter(|_| has_script()) else {
        return;
    };
    let environment = [("DISPLAY", display.name.as_str())];
    let arguments = format!(
        "new --clipboard auto task; '{}' resume --clipboard auto",
        program()
    );
    let mut terminal = Terminal::open(Test::new(&[]), &arguments, &environment);
    terminal.expect("May `agent` look at the clipboard");
    terminal.type_in("n\n");
    terminal.expect("The clipboard is not looked at");
    terminal.reply(1, "[LIST_FILES]\n{end}\n");
    let mut shown = terminal.expect_text("Copy its reply and paste it here");
    terminal.type_in("/quit\r");
    shown += &terminal.expect_text("Nothing is lost");
    shown += &terminal.expect_text("Copy its reply and paste it here");
    assert!(!shown.contains("taken from the clipboard"), "{shown}");
    terminal.reply(2, DONE);
    let (code, rest) = terminal.close();
    assert_eq!(code, Some(0), "{rest}");
}

#[test]
fn the_clipboard_is_offered_once_and_then_copying_the_reply_is_enough() {
    let Some(display) = Display::open().filter(|_| has_script()) else {
        return;
    };
    let environment = [("DISPLAY", display.name.as_str())];
    let mut terminal = Terminal::open(Test::new(&[]), "new task; echo over", &environment);
    terminal.expect("Copy each message, and take the reply when you copy it? [Y/n]");
    terminal.type_in("\n");
    terminal.expect("agent config set Clipboard off");
    terminal.expect("it is taken from the clipboard");
    let base = terminal.base();
    let (_, first) = crate::harness::wait_for_outbox(&base, 1);
    display.expect(&first);
    let end = mark(&base, 1);
    display.copy(&format!("[LIST_FILES]\n{end}\n"), &[]);
    let (_, second) = crate::harness::wait_for_outbox(&base, 2);
    display.expect(&second);
    display.copy(&DONE.replace("{end}", &mark(&base, 2)), &[]);
    terminal.expect("all is fine");
    terminal.expect("over");
    let own = base
        .with_file_name("home")
        .join(".config/agent/settings.json");
    let kept = fs::read_to_string(own).unwrap();
    assert_eq!(kept, "{\n  \"Clipboard\": \"auto\"\n}\n");
}

#[test]
fn only_a_clear_answer_to_the_offer_is_remembered_and_stopping_there_begins_nothing() {
    let Some(display) = Display::open().filter(|_| has_script()) else {
        return;
    };
    let environment = [("DISPLAY", display.name.as_str())];
    let asked = "Copy each message, and take the reply when you copy it? [Y/n]";
    for key in ["\u{3}", "\u{4}"] {
        let mut terminal = Terminal::open(Test::new(&[]), "new task", &environment);
        terminal.expect(asked);
        terminal.type_in(key);
        terminal.expect("Interrupted.");
        assert!(fs::read_dir(terminal.base()).unwrap().next().is_none());
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new --no-wait task", &environment);
    terminal.expect("Started");
    let mut terminal = Terminal::open(Test::new(&[]), "new task", &environment);
    terminal.expect(asked);
    terminal.type_in("maybe\n");
    terminal.expect("y or n");
    terminal.expect(asked);
    terminal.type_in("n\n");
    terminal.expect("agent config set Clipboard auto");
    terminal.expect("into your chat");
    let own = (terminal.base().with_file_name("home")).join(".config/agent/settings.json");
    assert!(fs::read_to_string(own).unwrap().contains("\"off\""));
}

#[test]
fn who_chose_the_clipboard_in_their_settings_is_not_asked_again() {
    let Some(display) = Display::open().filter(|_| has_script()) else {
        return;
    };
    // What lies there before the message is no answer to it, and no reason for a warning.
    display.copy("[MESSAGE]\nhello\n[/MESSAGE]\n", &[]);
    let environment = [("DISPLAY", display.name.as_str())];
    let arguments = format!("config set Clipboard auto; '{}' new task", program());
    let mut terminal = Terminal::open(Test::new(&[]), &arguments, &environment);
    let mut shown = terminal.expect_text("it is taken from the clipboard");
    shown += &terminal.expect_text("copied to the clipboard of X11");
    let end = mark(&terminal.base(), 1);
    display.copy(&DONE.replace("{end}", &end), &[]);
    shown += &terminal.expect_text("Taken from the clipboard");
    let (code, rest) = terminal.close();
    assert_eq!(code, Some(0), "{rest}");
    for words in ["May `agent` look", "has commands, but not"] {
        assert!(!shown.contains(words), "{shown}");
    }
}

#[test]
fn the_same_message_written_anew_is_not_carried_twice() {
    if !has_script() {
        return;
    }
    let sent = "sent through the terminal";
    let mut terminal = Terminal::open(Test::new(&[]), "new --clipboard out task", &[]);
    terminal.expect(sent);
    let (id, text) = crate::harness::wait_for_outbox(&terminal.base(), 1);
    let file = terminal.base().join(format!("outbox/{id}_seq0001.txt"));
    fs::write(file, text).unwrap();
    terminal.reply(1, "[LIST_FILES]\n{end}\n");
    let shown = terminal.expect_text("Round 2");
    assert!(!shown.contains(sent), "{shown}");
    terminal.expect(sent);
    terminal.reply(2, DONE);
    assert_eq!(terminal.close().0, Some(0));
}

#[test]
fn a_message_whose_reply_is_in_is_not_copied_again() {
    let Some(display) = Display::open() else {
        return;
    };
    let reply = "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n{end}\n";
    let running = Test::new(&["new", "--copy", "--approval", "ask", "task"])
        .environment("DISPLAY", &display.name)
        .start();
    display.expect(&running.outbox(1));
    let end = mark(&running.base(), 1);
    let id = end["[END ".len()..].split('#').next().unwrap().to_owned();
    fs::write(
        running.base().join("inbox/r.txt"),
        reply.replace("{end}", &end),
    )
    .unwrap();
    let question = running.base().join(format!("sessions/{id}/pending/1.json"));
    wait_until("the question is there", || question.exists());
    let finished = running.kill();
    display.copy("mine", &[]);
    let running = Test::after(finished, &["resume", "--copy", "--approval", "ask"])
        .environment("DISPLAY", &display.name)
        .start();
    // No event tells that something was not copied: a courier begins within half a second.
    thread::sleep(Duration::from_millis(1_200));
    assert_eq!(display.paste(), "mine");
    let approved = agent(&running.base()).args(["approve", "1"]).output();
    assert!(approved.unwrap().status.success());
    display.expect(&running.outbox(2));
    running.kill();
}

#[test]
fn a_copied_message_is_said_to_be_on_the_clipboard() {
    let Some(display) = Display::open().filter(|_| has_script()) else {
        return;
    };
    let environment = [("DISPLAY", display.name.as_str())];
    let mut terminal = Terminal::open(Test::new(&[]), "new --clipboard out task", &environment);
    terminal.expect("1. Paste the clipboard into your chat");
    terminal.expect("Copy its reply and paste it here");
}

#[test]
fn without_a_clipboard_to_read_nobody_is_told_that_copying_is_enough() {
    if !has_script() {
        return;
    }
    let arguments = format!("config set Clipboard auto; '{}' new task", program());
    let mut terminal = Terminal::open(Test::new(&[]), &arguments, &[]);
    let shown = terminal.expect_text("paste it here");
    assert!(!shown.contains("taken from the clipboard"), "{shown}");
    assert!(!shown.contains("Paste the clipboard"), "{shown}");
}

#[test]
fn paste_takes_the_clipboard_on_a_terminal_and_refuses_our_own_message() {
    let Some(display) = Display::open().filter(|_| has_script()) else {
        return;
    };
    let environment = [("DISPLAY", display.name.as_str())];
    let begun = Test::new(&["new", "--no-wait", "--copy", "task"])
        .environment("DISPLAY", &display.name)
        .run()
        .code(0);
    let reply = DONE.replace("{end}", &format!("[END {}#1]", id(&begun)));
    let (code, shown) = Terminal::open(Test::after(begun, &[]), "paste", &environment).close();
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("still has our own message"), "{shown}");

    let begun = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    display.copy(&reply, &[]);
    let test = Test::after(begun, &[]);
    let base = test.base();
    let mut terminal = Terminal::open(test, "paste", &environment);
    terminal.expect("From the clipboard, ");
    terminal.expect("Saved as");
    assert_eq!(only_reply(&base), reply);
}

/// The one file in the inbox.
#[track_caller]
fn only_reply(base: &Path) -> String {
    let entries = fs::read_dir(base.join("inbox")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let files: Vec<_> = paths.filter(|path| path.is_file()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    fs::read_to_string(&files[0]).unwrap()
}

#[test]
fn what_is_typed_ends_with_a_lone_dot() {
    if !has_script() {
        return;
    }
    let begun = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let test = Test::after(begun, &[]);
    let base = test.base();
    // Without a clipboard the terminal is read.
    let mut terminal = Terminal::open(test, "paste", &[]);
    terminal.expect("a line that has only a `.`");
    terminal.type_in("[DONE]\n.\n");
    terminal.expect("Saved as");
    assert_eq!(only_reply(&base), "[DONE]\n");
}

#[test]
fn a_reply_can_be_written_in_the_editor() {
    let begun = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let editor = begun.base().with_file_name("editor.sh");
    fs::write(&editor, "printf '[DONE]\\n' > \"$1\"\n").unwrap();
    let finished = Test::after(begun, &["paste", "--edit"])
        .environment("EDITOR", &format!("sh {}", editor.display()))
        .run()
        .code(0);
    assert_eq!(only_reply(&finished.base()), "[DONE]\n");
    Test::after(finished, &["paste", "--edit"])
        .run()
        .code(1)
        .said("set `VISUAL` or `EDITOR`");
}

#[test]
fn copy_prints_the_message_where_nobody_looks_at_a_terminal() {
    let begun = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let outbox = begun.outbox(1);
    let copied = Test::after(begun, &["copy"]).run().code(0);
    assert_eq!(copied.stdout, outbox);
    let full = Test::after(copied, &["copy", "--full"]).run().code(0);
    assert_eq!(full.stdout, outbox);
    let wrong = Test::after(full, &["copy", "--part", "2"]).run().code(2);
    let wrong = wrong
        .said("there is no part 2: the message has one")
        .said("leave the number out");
    fs::remove_dir_all(wrong.base().join("outbox")).unwrap();
    Test::after(wrong, &["copy"])
        .run()
        .code(1)
        .said("there is no message of session");
}

/// The texts that a terminal was asked to put on its clipboard.
fn sent_by_osc52(shown: &str) -> Vec<String> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let payloads = shown.split("\u{1b}]52;c;").skip(1);
    let texts = payloads.map(|rest| {
        let payload = rest.split('\u{7}').next().unwrap().trim_end_matches('=');
        let mut bytes = Vec::new();
        for chunk in payload.as_bytes().chunks(4) {
            let bits = (0..4).fold(0_u32, |bits, at| {
                bits << 6 | u32::from(chunk.get(at).copied().map_or(0, digit))
            });
            bytes.extend_from_slice(&bits.to_be_bytes()[1..chunk.len()]);
        }
        String::from_utf8(bytes).unwrap()
    });
    texts.collect()
}

#[test]
fn a_terminal_is_sent_the_message_and_nobody_claims_that_it_took_it() {
    if !has_script() {
        return;
    }
    let test = Test::new(&[]);
    let base = test.base();
    let terminal = Terminal::open(test, "new --no-wait --copy tâsk", &[]);
    let (_, outbox) = crate::harness::wait_for_outbox(&base, 1);
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(sent_by_osc52(&shown), [outbox]);
    assert!(shown.contains("if pasting gives"), "{shown}");
    assert!(!shown.contains("copied"), "{shown}");
}

#[test]
fn tmux_is_asked_to_pass_it_on_and_a_dumb_terminal_is_left_alone() {
    if !has_script() {
        return;
    }
    let shown = |environment: &[(&str, &str)]| {
        let (code, shown) =
            Terminal::open(Test::new(&[]), "new --no-wait --copy task", environment).close();
        assert_eq!(code, Some(0), "{shown}");
        shown
    };
    let shown_in_tmux = shown(&[("TMUX", "/tmp/tmux-0/default,1,0")]);
    assert!(
        shown_in_tmux.contains("\u{1b}Ptmux;\u{1b}\u{1b}]52;c;"),
        "{shown_in_tmux}"
    );
    let shown_by_dumb = shown(&[("TERM", "dumb")]);
    assert!(!shown_by_dumb.contains("]52;"), "{shown_by_dumb}");
    assert!(
        shown_by_dumb.contains("there is no way to a clipboard"),
        "{shown_by_dumb}"
    );
}

#[test]
fn parts_are_copied_one_after_the_other_each_on_enter() {
    if !has_script() {
        return;
    }
    let line = "some words that fill a line of text\n";
    let test = Test::new(&[])
        .file("workspace/big.txt", line.repeat(20_000 / line.len()))
        .file("appsettings.json", r#"{"Agent": {"MaxReadLines": 2000}}"#);
    let base = test.base();
    let mut terminal = Terminal::open(test, "new --chat copilot --copy task", &[]);
    terminal.reply(1, "[READ_FILE path=\"big.txt\"]\n{end}\n");
    for number in 1..=3 {
        terminal.expect(&format!("Part {number} of 3 of the message is sent"));
        if number < 3 {
            terminal.expect(&format!("press Enter for part {} of 3", number + 1));
            terminal.type_in("\n");
        }
    }
    let (id, _) = crate::harness::wait_for_outbox(&base, 1);
    let end = format!("[END {id}#2]");
    fs::write(base.join("inbox/r.txt"), DONE.replace("{end}", &end)).unwrap();
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn the_bell_and_the_notification_come_with_the_next_message() {
    if !has_script() {
        return;
    }
    for (notify, sequence) in [
        ("bell", "\u{7}"),
        (
            "desktop",
            "\u{1b}]777;notify;agent;round 2 is ready to paste\u{7}",
        ),
    ] {
        let arguments = format!("new --notify {notify} task");
        let mut terminal = Terminal::open(Test::new(&[]), &arguments, &[]);
        terminal.expect("into your chat");
        terminal.reply(1, "[LIST_FILES]\n{end}\n");
        terminal.expect(sequence);
        terminal.reply(2, DONE);
        let (code, shown) = terminal.close();
        assert_eq!(code, Some(0), "{shown}");
    }
}

#[test]
fn completions_and_manual_pages_know_the_verbs() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = Test::new(&["completions", shell]).run().code(0).stdout;
        assert!(
            script.contains("handoff") && script.contains("clipboard"),
            "{shell}"
        );
    }
    let page = Test::new(&["man"]).run().code(0).stdout;
    assert!(page.starts_with(".ie"), "{page}");
    let written = Test::new(&["man", "pages"]).run().code(0);
    let pages = written.files("pages");
    assert!(pages["agent-paste.1"].contains("clipboard"));
    assert!(pages.contains_key("agent.1") && pages.len() > 20);
}

#[test]
fn working_in_the_home_directory_is_warned_about() {
    let test = Test::new(&[
        "new",
        "--no-wait",
        "--workspace",
        ".",
        "--base",
        ".",
        "task",
    ]);
    let home = test.base();
    test.environment("HOME", home.to_str().unwrap())
        .run()
        .said("is your home directory. The model can read and change everything in it");
}

/// A directory of programs that stand in for those of Windows: one keeps the text, the other tells
/// it as this script does.
fn windows(base: &Path, teller: &str) -> String {
    use std::os::unix::fs::PermissionsExt;

    let directory = base.with_file_name("windows");
    fs::create_dir_all(&directory).unwrap();
    let kept = directory.join("kept");
    let keeper = format!("cat > '{}'", kept.display());
    let teller = teller.replace("KEPT", kept.to_str().unwrap());
    for (name, script) in [("clip.exe", keeper), ("powershell.exe", teller)] {
        let path = directory.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    format!("{}:{path}", directory.display())
}

#[test]
fn a_program_is_believed_only_if_it_gives_the_text_back() {
    let copy = |teller: &str| {
        let test = Test::new(&["new", "--no-wait", "--copy", "tâsk"]);
        let path = windows(&test.base(), teller);
        test.environment("WSL_DISTRO_NAME", "Debian")
            .environment("PATH", &path)
            .run()
            .code(0)
    };
    // As Windows does it: two bytes a letter in, other line breaks out.
    let finished = copy("iconv -f utf-16 -t utf-8 'KEPT' | sed 's/$/\\r/'");
    finished.said("the message: copied to the clipboard by `clip.exe`.");
    let finished = copy("echo something else")
        .said("the message is not on the clipboard: `clip.exe` gave another text back");
    assert!(!finished.stderr.contains("copied"), "{}", finished.stderr);
    copy("exit 1").said("the message: handed to `clip.exe`; if pasting gives something else, use the file in outbox/.");
}

#[test]
fn doctor_tells_the_ways_to_the_clipboard_and_the_limits_of_watching() {
    let without = Test::new(&["doctor"]).run();
    assert!(
        without
            .stdout
            .contains("warning  there is no way to a clipboard here\n         -> install")
    );
    assert!(
        without.stdout.contains("limits of inotify: "),
        "{}",
        without.stdout
    );
    let Some(display) = Display::open() else {
        return;
    };
    let with = Test::new(&["doctor"])
        .environment("DISPLAY", &display.name)
        .run();
    let ways = "ok       ways to the clipboard, in order: the clipboard of X11, `xclip`";
    assert!(with.stdout.contains(ways), "{}", with.stdout);
}
