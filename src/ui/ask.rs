//! Reading one line of standard input, where there is no prompt.

use std::io::{self, Write as _};
use std::sync::mpsc::Sender;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread;

use super::terminal::Terminal;
use crate::approve::Answer;
use crate::protocol::AcceptedLines;

/// A question as it is put at the prompt.
#[derive(Debug)]
pub(super) struct PromptQuestion {
    pub(super) number: u64,
    pub(super) text: String,
    pub(super) takes: AcceptedLines,
    pub(super) sender: Sender<Answer>,
}

/// Lets a typed line be an answer.
///
/// A thread reads, because a read of standard input cannot be called off. Should the answer come
/// another way, the thread stays behind and serves the next question.
pub(super) fn read_line(terminal: &Arc<Terminal>, sender: Sender<Answer>) {
    let mut reader = terminal.reader();
    reader.recipient = Some(sender);
    if reader.is_reading {
        // What was begun under the question before is no answer to this one.
        crate::platform::discard_typed_input();
        return;
    }
    reader.is_reading = true;
    let terminal = Arc::clone(terminal);
    thread::spawn(move || {
        let mut line = String::new();
        let answer = match io::stdin().read_line(&mut line) {
            Ok(0) | Err(_) => {
                // Ctrl-D leaves the cursor behind the question.
                let _ = writeln!(io::stderr());
                Answer::Nobody
            }
            Ok(_) => Answer::Text(line.trim_end_matches(['\n', '\r']).to_owned()),
        };
        let mut reader = terminal.reader();
        reader.is_reading = false;
        if let Some(recipient) = reader.recipient.take() {
            let _ = recipient.send(answer);
        }
    });
}

/// The one thread that reads standard input where there is no prompt, and who gets the line.
#[derive(Debug, Default)]
pub(super) struct LineReader {
    is_reading: bool,
    recipient: Option<Sender<Answer>>,
}

impl Terminal {
    fn reader(&self) -> MutexGuard<'_, LineReader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
