//! Asking the person for one line.

use std::io;
use std::sync::mpsc;
use std::thread;

use crate::interrupt::Interrupt;

/// What came back from a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// What the person typed.
    Text(String),
    /// There is no terminal, or its input has ended.
    Nobody,
    /// Ctrl-C.
    Interrupted,
}

/// Reads one line from standard input.
///
/// A thread reads, so that Ctrl-C ends the waiting; a read of standard input itself cannot be
/// called off. After Ctrl-C the program ends, and the thread with it.
pub(super) fn line(interrupt: &Interrupt) -> Answer {
    let (sender, receiver) = mpsc::channel();
    let interrupted = sender.clone();
    interrupt.on_raise(move || {
        let _ = interrupted.send(Answer::Interrupted);
    });
    if interrupt.is_raised() {
        return Answer::Interrupted;
    }
    thread::spawn(move || {
        let mut line = String::new();
        let answer = match io::stdin().read_line(&mut line) {
            Ok(0) | Err(_) => Answer::Nobody,
            Ok(_) => Answer::Text(line.trim_end_matches(['\n', '\r']).to_owned()),
        };
        let _ = sender.send(answer);
    });
    receiver.recv().unwrap_or(Answer::Nobody)
}
