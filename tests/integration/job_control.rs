//! A shell with job control around the program, in a real pseudo-terminal.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::harness::{DEADLINE, Test, program, wait_for_outbox};
use crate::terminal::{DONE, Terminal, has_script};

const CTRL_Z: &str = "\u{1a}";

/// A shell that controls jobs and does this, `agent` being the program.
fn shell(script: &str) -> Option<Terminal> {
    if !has_script() {
        return None;
    }
    let script = script.replace("agent ", &format!("'{}' ", program()));
    let arguments = format!("--version; set -m; {script}");
    Some(Terminal::open(Test::new(&[]), &arguments, &[]))
}

/// The modes of the terminal, as `stty` names them; none while there is no terminal yet.
fn modes(terminal: &Terminal) -> Vec<String> {
    let device = fs::read_to_string(terminal.base().with_file_name("tty")).unwrap_or_default();
    let told = Command::new("stty")
        .args(["-F", device.trim(), "-a"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    told.split([' ', '\n', ';']).map(str::to_owned).collect()
}

#[track_caller]
fn wait_for_mode(terminal: &Terminal, mode: &str) {
    let began = Instant::now();
    while !modes(terminal).iter().any(|found| found == mode) {
        assert!(began.elapsed() < DEADLINE, "{:?}", modes(terminal));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The prompt takes a note, and the session ends.
#[track_caller]
fn goes_on(mut terminal: Terminal) {
    wait_for_mode(&terminal, "-icanon");
    terminal.type_in("use tabs\r");
    terminal.expect("gets it with the next message");
    terminal.reply(1, "[LIST_FILES]\n{end}\n");
    let (_, second) = wait_for_outbox(&terminal.base(), 2);
    assert!(second.contains("use tabs"), "{second}");
    terminal.reply(2, DONE);
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn ctrl_z_gives_the_terminal_back_and_the_prompt_returns_with_it() {
    let stopped = "echo it is stopped; read line; echo \"read $line\"; fg";
    let Some(mut terminal) = shell(&format!("agent new task; {stopped}")) else {
        return;
    };
    terminal.expect("into your chat");
    wait_for_mode(&terminal, "-icanon");
    terminal.type_in(CTRL_Z);
    terminal.expect("it is stopped");
    let modes = modes(&terminal);
    for mode in ["icanon", "echo", "isig", "icrnl"] {
        assert!(modes.iter().any(|found| found == mode), "{mode}: {modes:?}");
    }
    terminal.type_in("a line\r");
    terminal.expect("read a line");
    goes_on(terminal);
}

#[test]
fn a_stop_from_outside_does_not_break_the_prompt() {
    let script = "agent new task & echo $! > ../pid; fg; stty sane; read line; fg";
    let Some(mut terminal) = shell(script) else {
        return;
    };
    // It began in the background: the prompt comes when it is brought to the front.
    wait_for_mode(&terminal, "-icanon");
    let process = fs::read_to_string(terminal.base().with_file_name("pid")).unwrap();
    let stopped = Command::new("kill")
        .args(["-TSTP", process.trim()])
        .status()
        .unwrap();
    assert!(stopped.success());
    wait_for_mode(&terminal, "icanon");
    terminal.type_in("\r");
    goes_on(terminal);
}

#[test]
fn in_the_background_the_loop_goes_on_without_the_prompt() {
    let Some(terminal) = shell("agent new task & wait $!") else {
        return;
    };
    terminal.reply(1, DONE);
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("all is fine"), "{shown}");
    assert!(!shown.contains("\u{1b}[?2004h"), "{shown}");
}
