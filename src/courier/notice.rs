//! Tells the person that it is their turn, where they may be looking elsewhere.

use std::process::Stdio;

use super::surroundings::Surroundings;
use super::{TerminalLine, osc52};
use crate::platform::programs;
use crate::settings::NotifyBy;

const BELL: &str = "\x07";
const TITLE: &str = "agent";

/// Rings or shows a notification; the text is ours, without control characters.
pub(super) fn give(notify: NotifyBy, text: &str, here: &Surroundings, terminal: &dyn TerminalLine) {
    match notify {
        NotifyBy::Off => {}
        NotifyBy::Bell => {
            terminal.send_to_terminal(BELL);
        }
        NotifyBy::Desktop => {
            if !by_program(text, here) && here.has_capable_terminal() {
                let sequence = for_terminal(text, here);
                terminal.send_to_terminal(&osc52::passed_on(&sequence, here.multiplexer));
            }
        }
    }
}

/// Through the desktop, if the person sits at this one.
fn by_program(text: &str, here: &Surroundings) -> bool {
    let is_here = (here.has_x11 || here.has_wayland) && !here.is_remote;
    if !is_here {
        return false;
    }
    let Ok(mut command) = programs::command("notify-send") else {
        return false;
    };
    let started = command
        .args(["--app-name", TITLE, TITLE, text])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    // It may wait for a daemon that does not answer; nobody waits for it here.
    started.is_ok_and(|mut child| {
        std::thread::spawn(move || child.wait());
        true
    })
}

/// OSC 9 for the terminals that are known to want it, OSC 777 for the others: some know both, and
/// would tell it twice.
fn for_terminal(text: &str, here: &Surroundings) -> String {
    let wants_nine = ["iTerm.app", "WezTerm", "ghostty", "WarpTerminal"]
        .contains(&here.terminal_program.as_str())
        || here.terminal.contains("kitty");
    if wants_nine {
        format!("\x1b]9;{text}\x07")
    } else {
        format!("\x1b]777;notify;{TITLE};{text}\x07")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_terminal_gets_the_sequence_that_it_knows() {
        let sequence =
            |variables: &[(&str, &str)]| for_terminal("your turn", &Surroundings::with(variables));
        assert_eq!(
            sequence(&[("TERM", "xterm-256color")]),
            "\x1b]777;notify;agent;your turn\x07"
        );
        assert_eq!(sequence(&[("TERM", "xterm-kitty")]), "\x1b]9;your turn\x07");
        assert_eq!(
            sequence(&[("TERM_PROGRAM", "WezTerm")]),
            "\x1b]9;your turn\x07"
        );
    }
}
