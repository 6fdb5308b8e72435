//! Small things that stand in the way of a first hour, each as a person meets it.

use std::fs;

use crate::harness::{Finished, Test, agent, program, wait_for_outbox};
use crate::terminal::{DONE, Terminal, has_script};

const CREATE: &str = "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n";

fn begun(options: &[&str]) -> Finished {
    Test::new(&[&["new", "--no-wait"], options, &["task"]].concat())
        .run()
        .code(0)
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn help_about_a_placeholder_is_the_list_of_commands() {
    let finished = Test::new(&["help", "COMMAND"]).run().code(0);
    assert!(finished.stdout.contains("agent new"), "{}", finished.stdout);
}

#[test]
fn a_chat_that_does_not_exist_is_refused_before_a_project_is_set_up() {
    let finished = Test::new(&["init", "--chat", "gpt"]).run().code(2);
    assert!(finished.stderr.contains("chatgpt"), "{}", finished.stderr);
    assert!(!finished.base().join(".agent").exists());
}

#[test]
fn an_exported_file_is_not_replaced_in_silence() {
    let finished = begun(&[]);
    let file = finished.base().join("mine.md");
    fs::write(&file, "mine\n").unwrap();
    let finished = Test::after(finished, &["export", "-o", "mine.md"])
        .run()
        .code(1)
        .said("--force");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
    let _kept = Test::after(finished, &["export", "-o", "mine.md", "--force"])
        .run()
        .code(0);
    assert!(fs::read_to_string(&file).unwrap().contains("task"));
}

#[test]
fn an_export_to_a_dash_goes_to_standard_output() {
    let finished = Test::after(begun(&[]), &["export", "-o", "-"])
        .run()
        .code(0);
    assert!(finished.stdout.contains("task"), "{}", finished.stdout);
    assert!(!finished.base().join("-").exists());
}

#[test]
fn a_reply_that_is_pasted_while_nothing_runs_says_who_takes_it() {
    let finished = begun(&[]);
    let finished = Test::after(finished, &["paste", "-"])
        .input(CREATE)
        .run()
        .code(0);
    assert!(
        finished.stderr.contains("`agent resume` takes it"),
        "{}",
        finished.stderr
    );
}

#[test]
fn list_and_status_say_the_same_about_a_session() {
    let finished = begun(&[]);
    let id = finished.session()["sessionId"].as_str().unwrap().to_owned();
    let (_, message) = wait_for_outbox(&finished.base(), 1);
    assert!(message.contains(&id));
    let list = Test::after(finished, &["list"]).run().code(0);
    let listed = list.stdout.clone();
    let status = Test::after(list, &["status"]).run().code(0);
    for (text, of) in [(&listed, "list"), (&status.stdout, "status")] {
        assert!(text.contains("waiting"), "{of}: {text}");
        assert!(!text.contains("done"), "{of}: {text}");
    }
}

#[test]
fn apply_and_decline_tell_everything_once() {
    let run = "[RUN_COMMAND]\necho only-once-here\n[/RUN_COMMAND]\n";
    let applied = Test::new(&["apply", "-"]).input(run).run();
    let shown = format!("{}{}", applied.stdout, applied.stderr);
    let is_output = |line: &&str| line.trim() == "only-once-here";
    assert_eq!(shown.lines().filter(is_output).count(), 1, "{shown}");

    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new --approval ask task", &[]);
    terminal.reply(1, &format!("{CREATE}{{end}}\n"));
    terminal.expect("Do it?");
    let declined = agent(&terminal.base())
        .args(["decline", "not this file"])
        .output()
        .unwrap();
    assert!(declined.status.success(), "{declined:?}");
    let said = String::from_utf8_lossy(&declined.stderr).into_owned();
    assert_eq!(count(&said, "declined 1."), 1, "{said}");
    let (_, second) = wait_for_outbox(&terminal.base(), 2);
    assert!(second.contains("not this file"), "{second}");
    let shown = bare(&terminal.expect_text("Round 2"));
    assert_eq!(count(&shown, "declined 1."), 1, "{shown}");
    terminal.reply(2, DONE);
    assert_eq!(terminal.close().0, Some(0));
}

#[test]
fn the_last_round_is_announced_and_none_is_counted_above_the_limit() {
    if !has_script() {
        return;
    }
    let arguments = "new --max-rounds 2 task; echo code $?";
    let mut terminal = Terminal::open(Test::new(&[]), arguments, &[]);
    let shown = terminal.expect_text("into your chat");
    assert!(!shown.contains("The last round"), "{shown}");
    terminal.reply(1, &format!("{CREATE}{{end}}\n"));
    terminal.expect("The last round");
    terminal.reply(2, "[LIST_FILES]\n{end}\n");
    let shown = terminal.expect_text("Stopped");
    assert!(!shown.contains("of at most"), "{shown}");
    terminal.expect("after 2 rounds");
}

#[test]
fn a_step_that_was_skipped_for_a_decline_says_so() {
    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new --approval ask task", &[]);
    let both = format!("{CREATE}[RUN_COMMAND]\ncat a.txt\n[/RUN_COMMAND]\n{{end}}\n");
    terminal.reply(1, &both);
    terminal.expect("[o] one by one");
    terminal.type_in("o\r");
    terminal.expect("Do it?");
    terminal.type_in("n later\r");
    let (_, second) = wait_for_outbox(&terminal.base(), 2);
    let shown = bare(&terminal.expect_text("Round 2"));
    let why = "the change in step 1 was declined";
    assert!(second.contains(why), "{second}");
    // Between the lines of the prompt the words may be folded.
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert!(words.join(" ").contains(why), "{shown}");
    terminal.reply(2, DONE);
    assert_eq!(terminal.close().0, Some(0));
}

#[test]
fn what_only_the_model_can_follow_is_not_shown_to_the_person() {
    let finished = begun(&[]);
    let reply = "[EDIT_FILE path=\"no.txt\"]\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n[/EDIT_FILE]\n[DONE]\nall is fine\n[/DONE]\n";
    let finished = Test::after(finished, &["step", "--reply", "-"])
        .input(reply)
        .run();
    for words in ["send a reply", "send the", "fix it, or"] {
        assert!(!finished.stderr.contains(words), "{}", finished.stderr);
    }
    let told = finished.outbox(2);
    assert!(told.contains("send a reply with only [DONE]"), "{told}");
}

#[test]
fn a_bracket_with_a_backslash_before_it_begins_a_command() {
    let reply = "\\[CREATE_FILE path=\"a.py\"]\nx = [1]\n\\[/CREATE_FILE]\n";
    Test::new(&["apply", "-"])
        .input(reply)
        .run()
        .code(0)
        .said("created a.py");
}

#[test]
fn the_better_way_to_copy_is_said_once() {
    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new task", &[]);
    let escaped = |sequence: u32| {
        format!(
            "\\[CREATE\\_FILE path=\"a{sequence}.py\"\\]\nx\\_y\n\\[/CREATE\\_FILE\\]\n{{end}}\n"
        )
    };
    terminal.reply(1, &escaped(1));
    terminal.expect("chat's own copy button");
    wait_for_outbox(&terminal.base(), 2);
    terminal.reply(2, &escaped(2));
    wait_for_outbox(&terminal.base(), 3);
    terminal.reply(3, DONE);
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains("own copy button"), "{shown}");
}

#[test]
fn the_preview_of_a_paste_is_its_first_words() {
    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new task", &[]);
    terminal.expect("into your chat");
    let text = "```text\n[CREATE_FILE path=\"first.txt\"]\nx\n[/CREATE_FILE]\n```\n";
    terminal.type_in(&format!("\u{1b}[200~{text}\u{1b}[201~"));
    let shown = terminal.expect_text("Enter: it is the chat's reply");
    assert!(!shown.contains("```"), "{shown}");
    terminal.type_in("\r");
    wait_for_outbox(&terminal.base(), 2);
    terminal.reply(2, DONE);
    assert_eq!(terminal.close().0, Some(0));
}

/// The screen of a session at a width: its first message, a round, a list of questions, the end.
fn screen(columns: u32, environment: &[(&str, &str)]) -> Option<String> {
    if !has_script() {
        return None;
    }
    let arguments = format!(
        "--version; stty cols {columns}; '{}' new --approval ask 'write a program'",
        program()
    );
    let mut terminal = Terminal::open(Test::new(&[]), &arguments, environment);
    let mut shown = terminal.expect_text("into your chat");
    let reply = "[CREATE_FILE path=\"hello.py\"]\nprint('one')\nprint('two')\n[/CREATE_FILE]\n[RUN_COMMAND]\ncat hello.py && echo this is a long command that a terminal of eighty columns has to fold\n[/RUN_COMMAND]\n[RUN_COMMAND]\necho gone; exit 3\n[/RUN_COMMAND]\n{end}\n";
    terminal.reply(1, reply);
    shown += &terminal.expect_text("[q] stop");
    terminal.type_in("y\r");
    shown += &terminal.expect_text("Round 2");
    terminal.reply(2, "[DONE]\nIt works.\n[/DONE]\n{end}\n");
    let (code, rest) = terminal.close();
    assert_eq!(code, Some(0), "{rest}");
    Some(shown + &rest)
}

pub(crate) fn bare(shown: &str) -> String {
    anstream::adapter::strip_str(shown).to_string()
}

#[test]
fn the_screens_are_those_that_were_drawn() {
    for (columns, environment) in [
        (80, &[("LANG", "C.UTF-8")][..]),
        (120, &[("LANG", "C.UTF-8")]),
        (80, &[("NO_COLOR", "1")]),
        (80, &[("LC_ALL", "C")]),
    ] {
        let Some(raw) = screen(columns, environment) else {
            return;
        };
        let shown = bare(&raw);
        let has_signs = environment[0].0 == "LANG";
        let (good, bad) = if has_signs {
            ("✓", "✗")
        } else {
            ("ok", "failed")
        };
        for line in [
            "The model wants to do 3 things  (asked because `Approval` is `ask`)",
            "1  create  `hello.py`  +2",
            "3  run     echo gone; exit 3",
            "[y] yes to all  [n REASON] no  [o] one by one  [d] show all  [s] skip  [q] stop",
            "Reply 1",
            &format!(" 1 {good} created hello.py"),
            &format!(" 3 {bad} ran echo gone; exit 3"),
            "Done after 2 rounds",
            "  review  agent diff (the whole session)",
            "  undo    agent undo (the last round; --all for everything)",
        ] {
            assert!(
                shown.contains(line),
                "{columns} {environment:?}: {line}\n{shown}"
            );
        }
        assert_eq!(
            count(&shown, "`Approval` is `ask`"),
            1,
            "the reason once: {shown}"
        );
        // What was typed at the prompt is drawn anew with cursor keys; colours are another thing.
        assert_eq!(raw.contains("\u{1b}[32m"), environment[0].0 != "NO_COLOR");
        assert_eq!(shown.contains('✓'), has_signs, "{shown}");
    }
}
