//! The prompt line of a running loop, in a real pseudo-terminal.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::harness::{Test, agent, wait_for_outbox, wait_until};
use crate::terminal::{CTRL_C, DONE, Terminal, has_script};

const CTRL_D: &str = "\u{4}";
const READ: &str = "[LIST_FILES]\n{end}\n";
const CREATE: &str = "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n{end}\n";

/// A session that waits for its first reply, with the prompt ready.
fn waiting(arguments: &str, environment: &[(&str, &str)]) -> Option<(Terminal, String)> {
    if !has_script() {
        return None;
    }
    let mut terminal = Terminal::open(Test::new(&[]), arguments, environment);
    let (id, _) = wait_for_outbox(&terminal.base(), 1);
    terminal.expect("into your chat");
    Some((terminal, id))
}

/// A reply as it stands on the clipboard of the person.
fn reply(id: &str, sequence: u32, text: &str) -> String {
    text.replace("{end}", &format!("[END {id}#{sequence}]"))
}

fn ends_well(terminal: Terminal) {
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

fn outbox(terminal: &Terminal, sequence: u32) -> String {
    wait_for_outbox(&terminal.base(), sequence).1
}

#[test]
fn a_typed_line_is_a_note_that_the_next_message_tells() {
    let Some((mut terminal, _)) = waiting("new task", &[]) else {
        return;
    };
    terminal.type_in("use tabs, gr\u{fc}\u{df}e\r");
    terminal.expect("Noted. The model gets it with the next message.");
    terminal.reply(1, READ);
    let second = outbox(&terminal, 2);
    assert!(second.contains("use tabs, grüße"), "{second}");
    terminal.reply(2, DONE);
    ends_well(terminal);
}

#[test]
fn a_whole_reply_that_is_pasted_is_a_reply_and_no_note() {
    let Some((mut terminal, id)) = waiting("new task", &[]) else {
        return;
    };
    let pasted = reply(&id, 1, &format!("Some words first.\n\n{CREATE}")).replace('\n', "\r");
    terminal.type_in(&format!("\u{1b}[200~{pasted}\u{1b}[201~"));
    let second = outbox(&terminal, 2);
    assert!(second.contains("1. [OK] CREATE_FILE"), "{second}");
    assert!(!second.contains("Some words first"), "{second}");
    let pasted = reply(&id, 2, DONE);
    terminal.type_in(&format!("\u{1b}[200~{pasted}\u{1b}[201~"));
    ends_well(terminal);
}

#[test]
fn a_reply_is_known_also_where_the_terminal_marks_no_paste() {
    let Some((mut terminal, id)) = waiting("new task", &[]) else {
        return;
    };
    let many = "a line of it\n".repeat(400);
    let text = format!("Words.\n[CREATE_FILE path=\"a.txt\"]\n{many}[/CREATE_FILE]\n{{end}}\n");
    terminal.type_in(&reply(&id, 1, &text).replace('\n', "\r"));
    let second = outbox(&terminal, 2);
    assert!(second.contains("1. [OK] CREATE_FILE"), "{second}");
    let made = fs::read_to_string(terminal.base().join("workspace/a.txt")).unwrap();
    assert_eq!(made, many);
    terminal.reply(2, DONE);
    ends_well(terminal);
}

#[test]
fn a_reply_without_its_end_mark_is_taken_after_enter_and_other_lines_are_one_note() {
    let Some((mut terminal, _)) = waiting("new task", &[]) else {
        return;
    };
    let cut = CREATE.replace("{end}\n", "");
    terminal.type_in(&format!("\u{1b}[200~{cut}\u{1b}[201~"));
    terminal.expect("3 lines pasted, without the end mark.");
    terminal.type_in("\u{1b}");
    terminal.expect("paste the reply, or type a note");
    terminal.type_in("it printed: ");
    terminal.type_in("\u{1b}[200~error one\nerror two\n\u{1b}[201~");
    terminal.expect("Enter: both are a note from me");
    terminal.type_in("\r");
    terminal.expect("gets it with the next message");
    terminal.type_in(&format!("\u{1b}[200~{cut}\u{1b}[201~"));
    terminal.expect("without the end mark.");
    terminal.type_in("\r");
    let second = outbox(&terminal, 2);
    assert!(second.contains("[OK] CREATE_FILE"), "{second}");
    assert!(second.contains("error one\nerror two"), "{second}");
    terminal.reply(2, DONE);
    ends_well(terminal);
}

#[test]
fn a_paste_that_was_not_decided_about_comes_back_with_resume() {
    let arguments = format!("new task; '{}' resume", crate::harness::program());
    for signal in ["INT", "TERM", "HUP", "KILL"] {
        let Some((mut terminal, id)) = waiting(&arguments, &[]) else {
            return;
        };
        let cut = CREATE.replace("{end}\n", "");
        terminal.type_in(&format!("\u{1b}[200~{cut}\u{1b}[201~"));
        terminal.expect("3 lines pasted, without the end mark.");
        let kept = terminal
            .base()
            .join("sessions")
            .join(&id)
            .join("pasted.json");
        wait_until("it is on the disk", || kept.exists());
        match signal {
            "INT" => terminal.type_in(CTRL_C),
            signal => send(signal, &running(&terminal)),
        }
        terminal.expect(if signal == "KILL" {
            "Resuming"
        } else {
            "Nothing is lost"
        });
        terminal.expect("3 lines pasted, without the end mark.");
        terminal.type_in("\r");
        let second = outbox(&terminal, 2);
        assert!(second.contains("[OK] CREATE_FILE"), "{signal}: {second}");
        wait_until("nothing is kept", || !kept.exists());
        terminal.reply(2, DONE);
        ends_well(terminal);
    }
}

/// The process of the loop.
fn running(terminal: &Terminal) -> String {
    let json = fs::read(terminal.base().join("sessions/loop.json")).unwrap();
    let holder: serde_json::Value = serde_json::from_slice(&json).unwrap();
    holder["process"].to_string()
}

fn send(signal: &str, process: &str) {
    let mut kill = Command::new("kill");
    assert!(
        kill.args(["-s", signal, process])
            .status()
            .unwrap()
            .success()
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_loop_that_ignores_hangups_goes_on_without_its_terminal_and_without_a_processor() {
    if !has_script() {
        return;
    }
    let arguments = "new task; echo $? > ../code";
    let mut terminal = Terminal::open_after(Test::new(&[]), "trap '' HUP", arguments, &[]);
    terminal.expect("into your chat");
    let process = running(&terminal);
    terminal.hang_up();
    needs_no_processor(&process);
    terminal.reply(1, CREATE);
    terminal.reply(2, DONE);
    let code = terminal.base().with_file_name("code");
    wait_until("the loop ends", || {
        fs::read_to_string(&code).is_ok_and(|code| code == "0\n")
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_demo_that_nobody_watches_any_more_does_not_pause() {
    if !has_script() {
        return;
    }
    let first = "trap '' HUP; echo $$ > ../shell";
    let mut terminal = Terminal::open_after(Test::new(&[]), first, "demo; :", &[]);
    terminal.expect("Waiting for the reply.");
    let shell = fs::read_to_string(terminal.base().with_file_name("shell")).unwrap();
    let shell = shell.trim();
    let children = fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
    terminal.hang_up();
    needs_no_processor(children.trim());
}

/// Looks for a second at a process whose terminal is gone; it may have ended.
#[cfg(target_os = "linux")]
#[track_caller]
fn needs_no_processor(process: &str) {
    // Ticks of a hundredth of a second.
    let used = || -> Option<u64> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        let times = fields.split(' ').skip(11).take(2);
        Some(times.map(|ticks| ticks.parse::<u64>().unwrap()).sum())
    };
    thread::sleep(Duration::from_millis(500));
    let before = used();
    thread::sleep(Duration::from_secs(1));
    if let (Some(before), Some(after)) = (before, used()) {
        let spent = after - before;
        assert!(spent < 30, "{spent} of 100 ticks");
    }
}

#[test]
fn a_question_mark_shows_a_decision_again_and_a_reply_pasted_there_is_kept() {
    let Some((mut terminal, id)) = waiting("new --approval ask task", &[]) else {
        return;
    };
    terminal.reply(1, "[RUN_COMMAND]\necho hello\n[/RUN_COMMAND]\n{end}\n");
    terminal.expect("echo hello");
    terminal.expect("[y] yes");
    terminal.type_in("?\r");
    terminal.expect("echo hello");
    terminal.expect("[y] yes");
    let next = reply(&id, 2, DONE);
    terminal.type_in(&format!("\u{1b}[200~{next}\u{1b}[201~"));
    terminal.expect("The reply is kept, and taken after your answer.");
    terminal.type_in("y\r");
    ends_well(terminal);
}

#[test]
fn a_question_mark_shows_the_plan_and_the_question_of_the_model_again() {
    let Some((mut terminal, _)) = waiting("new --approval plan task", &[]) else {
        return;
    };
    terminal.reply(1, "[ASK_USER]\nWhich colour?\n[/ASK_USER]\n{end}\n");
    terminal.expect("Which colour?");
    terminal.expect("Your answer:");
    terminal.type_in("?\r");
    terminal.expect("Which colour?");
    terminal.expect("Your answer:");
    terminal.type_in("blue\r");
    outbox(&terminal, 2);
    terminal.reply(2, "[PLAN]\n- [ ] paint it\n[/PLAN]\n{end}\n");
    terminal.expect("paint it");
    terminal.expect("[y]");
    terminal.type_in("?\r");
    terminal.expect("paint it");
    terminal.expect("[y]");
    terminal.type_in("y\r");
    outbox(&terminal, 3);
    terminal.reply(3, DONE);
    ends_well(terminal);
}

#[test]
fn our_own_message_pasted_back_is_named() {
    let Some((mut terminal, _)) = waiting("new task", &[]) else {
        return;
    };
    let first = outbox(&terminal, 1);
    terminal.type_in(&format!("\u{1b}[200~{first}\u{1b}[201~"));
    terminal.expect("That is our own message");
    terminal.reply(1, DONE);
    ends_well(terminal);
}

#[test]
fn the_loop_goes_on_under_a_half_typed_line_and_keeps_it() {
    let Some((mut terminal, _)) = waiting("new task", &[]) else {
        return;
    };
    terminal.type_in("half a no");
    terminal.expect("half a no");
    terminal.reply(1, READ);
    outbox(&terminal, 2);
    terminal.type_in("te\r");
    terminal.expect("gets it with the next message");
    terminal.reply(2, READ);
    let third = outbox(&terminal, 3);
    assert!(third.contains("half a note"), "{third}");
    terminal.reply(3, DONE);
    ends_well(terminal);
}

#[test]
fn commands_do_what_their_verbs_do() {
    let Some((mut terminal, id)) = waiting("new task", &[]) else {
        return;
    };
    terminal.type_in("/stat\r");
    terminal.expect(&format!("Session {id}"));
    terminal.type_in("/s\r");
    terminal.expect("That may be `/status` or `/show` or `/settings`.");
    terminal.type_in("/hlep\r");
    terminal.expect("Did you mean `/help`?");
    terminal.type_in("/he\t\r");
    terminal.expect("continue with `agent resume`");
    terminal.type_in("/plan\r");
    terminal.expect("has made no plan");
    terminal.type_in("/diff --bad\r");
    terminal.expect("unexpected argument");
    terminal.reply(1, CREATE);
    outbox(&terminal, 2);
    let file = terminal.base().join("workspace/a.txt");
    terminal.type_in("/diff\r");
    terminal.expect("+a");
    terminal.type_in("/undo\r");
    terminal.expect("Do it?");
    terminal.type_in("y\r");
    terminal.expect("Undid round");
    assert!(!file.exists());
    terminal.type_in("/redo --yes\r");
    terminal.expect("Redid round");
    assert!(file.exists());
    terminal.type_in("/settings\r");
    terminal.expect("MaxRounds");
    terminal.reply(2, DONE);
    ends_well(terminal);
}

#[test]
fn a_decision_can_be_typed_as_an_answer_or_as_a_command() {
    let Some((mut terminal, _)) = waiting("new --approval ask task", &[]) else {
        return;
    };
    terminal.reply(1, CREATE);
    terminal.expect("because `Approval` is `ask`");
    terminal.expect("[y] yes");
    terminal.type_in("/decline not this file\r");
    terminal.expect("declined");
    let second = outbox(&terminal, 2);
    assert!(second.contains("not this file"), "{second}");
    terminal.reply(2, CREATE);
    terminal.expect("[y] yes");
    terminal.type_in("y\r");
    terminal.expect("created a.txt");
    outbox(&terminal, 3);
    assert!(terminal.base().join("workspace/a.txt").exists());
    terminal.reply(3, DONE);
    ends_well(terminal);
}

#[test]
fn a_question_takes_the_next_line_and_gives_the_half_typed_one_back() {
    let Some((mut terminal, _)) = waiting("new --notify bell task", &[]) else {
        return;
    };
    terminal.type_in("half");
    terminal.expect("half");
    terminal.reply(1, "[ASK_USER]\nWhich colour?\n[/ASK_USER]\n{end}\n");
    terminal.expect("Your answer:");
    terminal.type_in("blue\r");
    let second = outbox(&terminal, 2);
    assert!(
        second.contains("blue") && !second.contains("halfblue"),
        "{second}"
    );
    terminal.type_in(" done\r");
    terminal.expect("gets it with the next message");
    terminal.reply(2, READ);
    let third = outbox(&terminal, 3);
    assert!(third.contains("half done"), "{third}");
    terminal.reply(3, DONE);
    ends_well(terminal);
}

#[test]
fn the_reply_can_be_written_in_the_editor() {
    let editor = [("EDITOR", "cp ../reply.md")];
    let Some((mut terminal, id)) = waiting("new task", &editor) else {
        return;
    };
    let file = terminal.base().with_file_name("reply.md");
    fs::write(&file, reply(&id, 1, DONE)).unwrap();
    terminal.type_in("/edit\r");
    terminal.expect("all is fine");
    ends_well(terminal);
}

#[test]
fn leaving_says_how_to_go_on_and_gives_the_terminal_back() {
    for keys in [CTRL_C, CTRL_D, "/quit\r", &format!("half a note{CTRL_C}")] {
        let arguments = "new task; echo code $?; stty -a";
        let Some((mut terminal, id)) = waiting(arguments, &[]) else {
            return;
        };
        terminal.type_in(keys);
        terminal.expect(&format!("agent resume {id}"));
        let code = if keys == "/quit\r" { 0 } else { 130 };
        terminal.expect(&format!("code {code}"));
        let (_, shown) = terminal.close();
        for mode in ["icanon", "echo", "isig", "icrnl"] {
            let is_set = shown.split_whitespace().any(|word| word == mode);
            assert!(is_set, "{keys:?}: `{mode}`: {shown}");
        }
    }
}

#[test]
fn what_was_entered_is_there_the_next_time_and_private() {
    let Some((mut terminal, _)) = waiting("new task", &[]) else {
        return;
    };
    terminal.type_in("the first note\r");
    terminal.expect("gets it with the next message");
    terminal.type_in(&format!("half a thought{CTRL_C}"));
    terminal.expect("agent resume");
    let state = terminal.base().with_file_name("state");
    let history = wait_for_line(&state.join("agent/history"), "half a thought");
    assert_eq!(history, "the first note\nhalf a thought\n");
}

/// The text of a file as soon as it has this line.
fn wait_for_line(path: &Path, line: &str) -> String {
    let began = std::time::Instant::now();
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        if text.lines().any(|found| found == line) {
            return text;
        }
        assert!(began.elapsed() < crate::harness::DEADLINE, "{text}");
        thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn the_line_is_folded_anew_when_the_terminal_becomes_narrower() {
    let Some((mut terminal, _)) = waiting("new --color never task", &[]) else {
        return;
    };
    let text = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ";
    terminal.type_in(text);
    terminal.expect(&format!("> {text}"));
    terminal.resize(40);
    terminal.expect("> abcdefghijklmnopqrstuvwxyz0123456789A\r");
    terminal.expect("\n  BCDEFGHIJ");
    terminal.resize(120);
    terminal.expect(&format!("> {text}"));
    terminal.type_in(CTRL_C);
    terminal.expect("agent resume");
}

#[test]
fn a_terminal_that_can_do_nothing_has_no_prompt_and_still_answers() {
    let Some((mut terminal, _)) = waiting("new task", &[("TERM", "dumb")]) else {
        return;
    };
    terminal.reply(
        1,
        "[RUN_COMMAND]\nsleep 1.2\n[/RUN_COMMAND]\n[ASK_USER]\nWhich colour?\n[/ASK_USER]\n{end}\n",
    );
    terminal.expect("running: sleep 1.2");
    let before = terminal.expect_text("Your answer:");
    assert!(!before.contains('\u{1b}'), "{before:?}");
    terminal.type_in("blue\n");
    assert!(outbox(&terminal, 2).contains("blue"));
    terminal.reply(2, DONE);
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0));
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn a_mistyped_command_is_no_answer_to_a_question() {
    let Some((mut terminal, _)) = waiting("new task", &[]) else {
        return;
    };
    terminal.reply(1, "[ASK_USER]\nWhich directory?\n[/ASK_USER]\n{end}\n");
    terminal.expect("Your answer:");
    terminal.type_in("/statsu\r");
    terminal.expect("Did you mean `/status`?");
    terminal.type_in(" /tmp\r");
    let second = outbox(&terminal, 2);
    assert!(
        second.contains("/tmp") && !second.contains("statsu"),
        "{second}"
    );
    terminal.reply(2, DONE);
    ends_well(terminal);
}

#[test]
fn a_note_is_no_answer_to_a_question_about_yes_or_no() {
    let Some((mut terminal, _)) = waiting("new task", &[]) else {
        return;
    };
    terminal.reply(1, CREATE);
    outbox(&terminal, 2);
    terminal.type_in("/undo\r");
    terminal.expect("Do it?");
    terminal.type_in("use tabs\r");
    terminal.expect("goes to the model as a note");
    // It does not wait for the command that asks.
    terminal.expect("gets it with the next message");
    terminal.type_in("y\r");
    terminal.expect("Undid round");
    terminal.reply(2, READ);
    let third = outbox(&terminal, 3);
    assert!(third.contains("use tabs"), "{third}");
    terminal.reply(3, DONE);
    ends_well(terminal);
}

#[test]
fn what_was_entered_last_is_waited_for_at_the_end() {
    let script = "touch ../first; while [ ! -e ../go ]; do sleep 0.05; done; echo the editor ended";
    let editor = format!("sh -c '{script}'");
    let Some((mut terminal, _)) = waiting("new task", &[("EDITOR", &editor)]) else {
        return;
    };
    terminal.type_in("/edit\r");
    let beside = |name: &str| terminal.base().with_file_name(name);
    let (first, go) = (beside("first"), beside("go"));
    let began = std::time::Instant::now();
    while !first.exists() {
        assert!(began.elapsed() < crate::harness::DEADLINE);
        thread::sleep(std::time::Duration::from_millis(5));
    }
    terminal.reply(1, DONE);
    terminal.expect("Waiting for the end of `/edit`; Ctrl-C stops it.");
    fs::write(go, "").unwrap();
    terminal.expect("the editor ended");
    ends_well(terminal);
}

#[test]
fn leaving_stops_what_was_entered_last() {
    let check = "new --check 'if [ -e slow ]; then sleep 1000; fi' task";
    let Some((mut terminal, id)) = waiting(check, &[]) else {
        return;
    };
    fs::write(terminal.base().join("workspace/slow"), "").unwrap();
    terminal.type_in("/check\r");
    terminal.expect("running 1 s");
    terminal.type_in(CTRL_C);
    terminal.expect(&format!("agent resume {id}"));
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(130), "{shown}");
}

#[test]
fn another_terminal_answers_what_this_one_asks() {
    let Some((mut terminal, id)) = waiting("new task", &[]) else {
        return;
    };
    let base = terminal.base();
    let beside = |arguments: &[&str]| {
        let output = agent(&base).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), said)
    };
    terminal.reply(1, CREATE);
    outbox(&terminal, 2);
    // Before it is asked there is nothing to answer.
    assert!(!beside(&["approve", "undo"]).0);
    terminal.type_in("/undo\r");
    terminal.expect("Do it?");
    let pending = base.join(format!("sessions/{id}/pending"));
    wait_until("the question is a file", || {
        pending.join("undo.json").exists()
    });
    let (is_well, said) = beside(&["approve", "all"]);
    assert!(!is_well, "what changes files is named: {said}");
    let (is_well, said) = beside(&["approve", "undo"]);
    assert!(is_well, "{said}");
    terminal.expect("Undid round");
    assert!(!base.join("workspace/a.txt").exists());
    assert!(!pending.join("undo.json").exists());
    terminal.reply(2, "[ASK_USER]\nWhich colour?\n[/ASK_USER]\n{end}\n");
    terminal.expect("Your answer:");
    wait_until("the question is a file", || {
        pending.join("model.json").exists()
    });
    let (is_well, said) = beside(&["say", "blue"]);
    assert!(is_well && said.contains("Answers: Which colour?"), "{said}");
    let third = outbox(&terminal, 3);
    assert!(third.contains("blue"), "{third}");
    assert!(!pending.join("model.json").exists());
    terminal.reply(3, DONE);
    ends_well(terminal);
}
