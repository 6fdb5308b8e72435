//! Reads a text that the person types or pastes where there is no prompt: a reply, an answer, a task.
//!
//! Key by key, as the prompt does: a terminal that hands over lines cuts them after 4,095 bytes. Ctrl-D
//! ends the text, and so does a line that has only a `.`, unless it is in a paste that the terminal marks.

use std::io::{self, Write as _};
use std::time::Duration;

use crossterm::event;

use super::keys::{self, KeyPress};
use super::line::Move;
use super::{TICK, turn};
use crate::error::{Error, ExitKind, Result};
use crate::escape::escape_text;
use crate::interrupt::Interrupt;
use crate::platform::{discard_typed_input, is_hung_up, stop_this_process};
use crate::ui::live;
use crate::ui::terminal::Terminal;
use crate::ui::width::width;

/// The terminal while it hands over keys; it is given back when this is dropped.
#[derive(Debug)]
struct KeyByKey;

impl KeyByKey {
    fn begin() -> io::Result<Self> {
        turn::take().map(|()| Self)
    }
}

impl Drop for KeyByKey {
    fn drop(&mut self) {
        turn::give_back();
    }
}

/// A text that is typed, and how the terminal shows it.
#[derive(Debug, Default)]
struct TypedText {
    text: String,
    /// Not shown yet.
    echo: String,
}

impl TypedText {
    /// Takes a key. Returns true if it ends the text.
    fn press(&mut self, key: &KeyPress) -> bool {
        match key {
            KeyPress::Character(character) => self.add(character.encode_utf8(&mut [0; 4])),
            KeyPress::Complete => self.add("\t"),
            KeyPress::Enter if self.line() == "." => {
                self.text.pop();
                self.echo.push('\n');
                return true;
            }
            KeyPress::Enter => self.add("\n"),
            KeyPress::Paste(text) | KeyPress::Burst(text) => {
                self.add(&text.replace("\r\n", "\n").replace('\r', "\n"));
            }
            KeyPress::Delete(Move::Left) => self.delete_last(),
            KeyPress::Delete(Move::Start) => {
                while !self.line().is_empty() {
                    self.delete_last();
                }
            }
            KeyPress::DeleteOrLeave => {
                self.echo.push('\n');
                return true;
            }
            _ => {}
        }
        false
    }

    fn add(&mut self, text: &str) {
        self.text.push_str(text);
        self.echo.push_str(&escape_text(text));
    }

    /// The line that is typed.
    fn line(&self) -> &str {
        self.text.rsplit('\n').next().unwrap_or_default()
    }

    fn delete_last(&mut self) {
        if let Some(last) = self.line().chars().next_back() {
            self.text.pop();
            self.echo.push_str(&"\u{8} \u{8}".repeat(width(last)));
        }
    }

    fn show(&mut self) {
        if live::has_terminal() {
            // A terminal that is gone shows nothing.
            let _ = io::stderr().write_all(self.echo.as_bytes());
        }
        self.echo.clear();
    }
}

impl Terminal {
    /// Reads a text of at most so many bytes that the person types or pastes, once `invite` has told them
    /// to; nothing if the terminal hands over no keys.
    pub fn read_text(
        &self,
        interrupt: &Interrupt,
        longest: usize,
        invite: impl FnOnce(),
    ) -> Result<Option<String>> {
        let keys = KeyByKey::begin();
        invite();
        let Ok(mut keys) = keys else {
            return Ok(None);
        };
        let failed = |cause| Error::mendable("could not read the terminal").because(cause);
        // A shell would run the rest of a paste.
        let stopped = |error| {
            discard_typed_input();
            Err(error)
        };
        let mut typed = TypedText::default();
        loop {
            if !event::poll(Duration::ZERO).map_err(failed)? {
                typed.show();
            }
            if interrupt.is_raised() {
                return stopped(Error::new(ExitKind::Interrupted, "interrupted"));
            }
            if typed.text.len() > longest {
                return stopped(
                    Error::mendable(format!("the text is larger than {} MiB", longest >> 20))
                        .hint("paste only what is asked for, not the whole chat"),
                );
            }
            if !event::poll(TICK).map_err(failed)? {
                if is_hung_up() {
                    return Err(Error::mendable("the terminal is gone"));
                }
                continue;
            }
            match keys::read(event::read().map_err(failed)?) {
                Some(KeyPress::Interrupt) => interrupt.press(),
                Some(KeyPress::Suspend) => {
                    drop(keys);
                    stop_this_process();
                    keys = KeyByKey::begin().map_err(failed)?;
                }
                Some(key) if typed.press(&key) => break,
                _ => {}
            }
        }
        typed.show();
        Ok(Some(typed.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> TypedText {
        let mut typed = TypedText::default();
        for character in text.chars() {
            let key = match character {
                '\n' => KeyPress::Enter,
                '\u{8}' => KeyPress::Delete(Move::Left),
                '\u{15}' => KeyPress::Delete(Move::Start),
                character => KeyPress::Character(character),
            };
            assert!(!typed.press(&key), "{text:?}");
        }
        typed
    }

    #[test]
    fn a_typed_line_with_only_a_dot_ends_the_text_and_a_pasted_one_does_not() {
        let mut text = typed("a.\n.b\n.");
        assert!(text.press(&KeyPress::Enter));
        assert_eq!(text.text, "a.\n.b\n");
        let mut text = typed("a\n");
        assert!(!text.press(&KeyPress::Paste("b\r\n.\rc".to_owned())));
        assert!(!text.press(&KeyPress::Enter));
        assert!(text.press(&KeyPress::DeleteOrLeave));
        assert_eq!(text.text, "a\nb\n.\nc\n");
    }

    #[test]
    fn a_line_can_be_corrected_before_it_ends() {
        let long = "y".repeat(5_000);
        let text = typed(&format!("one\n\u{8}twä\u{8}o\nthree\u{15}{long}\n"));
        assert_eq!(text.text, format!("one\ntwo\n{long}\n"));
        assert!(text.echo.contains("twä\u{8} \u{8}o\n"), "{:?}", text.echo);
    }
}
