//! The state of the prompt: the typed line, pasted text, and who waits for an answer. Decides what
//! a key does.
//!
//! It touches neither the terminal nor a file: it is told of keys and says what is to be done.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use super::keys::{Key, Screen};
use super::line::Line;
use super::past::Past;
use super::view::View;
use super::{Entry, Listener, Pasted};
use crate::ui::ask::PromptQuestion;
use crate::ui::live::Rows;
use crate::ui::{Answer, count};

/// How long after a piece of a paste another one may come.
const NEXT_PIECE: Duration = Duration::from_secs(1);
/// How long the keyboard must have been silent before a question rings.
const AWAY: Duration = Duration::from_secs(10);

/// The action to take after a key.
#[derive(Debug)]
pub(super) enum Act {
    Nothing,
    /// These lines are shown above the prompt.
    Say(String),
    /// Somebody asked, and this is the answer; then the question before it is shown again.
    Answered {
        echo: String,
        to: Sender<Answer>,
        text: String,
        again: Option<String>,
    },
    /// This was entered; where it could have been meant as an answer, with why it is none.
    Entered {
        echo: String,
        entry: Entry,
        why: Option<String>,
    },
    Interrupt,
    Suspend,
    Redraw(Screen),
}

/// A text that was pasted, too long for the line or of several, and waits for Enter.
#[derive(Debug)]
struct Held {
    text: String,
    has_commands: bool,
    /// When it came, if the terminal did not mark it: then it may be a piece.
    burst: Option<Instant>,
}

/// A question that waits for a line.
#[derive(Debug)]
struct Asked {
    question: PromptQuestion,
    /// The line that was being typed when the question came: not an answer to it, and not to be
    /// lost.
    draft: Line,
}

/// The state of the prompt.
#[derive(Debug)]
pub(super) struct Desk {
    line: Line,
    past: Past,
    held: Option<Held>,
    asked: Vec<Asked>,
    last_key: Option<Instant>,
    /// Whether the person knows that the line takes no more.
    knows_that_full: bool,
}

impl Desk {
    pub(super) fn new(mut history: Vec<String>) -> Self {
        history.retain(|line| Line::default().has_room_for(line));
        Self {
            line: Line::default(),
            past: Past::of(history),
            held: None,
            asked: Vec::new(),
            last_key: None,
            knows_that_full: false,
        }
    }

    /// Renders the prompt.
    pub(super) fn rows(&self, columns: usize) -> Rows {
        let held = self.held.as_ref().map_or_else(String::new, Held::words);
        let is_question = !self.asked.is_empty();
        View {
            line: &self.line,
            is_question,
            hint: if is_question {
                ""
            } else {
                "a note for the model, the reply pasted, or /help"
            },
            held: &held,
        }
        .rows(columns)
    }

    /// Puts a question in front of all others; tells whether the person may be away.
    pub(super) fn ask(&mut self, question: PromptQuestion) -> bool {
        let draft = match self.place_of(question.number) {
            Some(at) => self.asked.remove(at).draft,
            None => std::mem::take(&mut self.line),
        };
        self.asked.push(Asked { question, draft });
        self.last_key.is_none_or(|at| at.elapsed() > AWAY)
    }

    /// Takes a question back: nobody waits for its answer any more.
    pub(super) fn withdraw(&mut self, number: u64) {
        if let Some(at) = self.place_of(number) {
            self.take_question(at);
        }
    }

    /// Tells all who asked that there is nobody any more.
    pub(super) fn dismiss(&mut self) {
        for asked in self.asked.drain(..) {
            let _ = asked.question.sender.send(Answer::Nobody);
        }
    }

    fn place_of(&self, number: u64) -> Option<usize> {
        let is_meant = |asked: &Asked| asked.question.number == number;
        self.asked.iter().position(is_meant)
    }

    /// Takes a question out; what was being typed before it comes back after those asked since.
    fn take_question(&mut self, at: usize) -> PromptQuestion {
        let Asked { question, draft } = self.asked.remove(at);
        let place = match self.asked.get_mut(at) {
            Some(later) => &mut later.draft,
            None => &mut self.line,
        };
        if place.is_empty() {
            *place = draft;
        }
        question
    }

    /// Handles a key.
    pub(super) fn press(&mut self, key: Key, listener: &dyn Listener) -> Act {
        self.last_key = Some(Instant::now());
        match key {
            Key::Character(character) => return self.type_in(character.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => return self.paste(&text, None, listener),
            Key::Burst(text) => return self.paste(&text, Some(Instant::now()), listener),
            Key::Go(to) => self.line.go(to),
            Key::Delete(to) => self.line.delete(to),
            Key::Earlier => {
                if let Some(line) = self.past.earlier(&self.line.text()) {
                    self.line = Line::of(&line);
                }
            }
            Key::Later => {
                if let Some(line) = self.past.later() {
                    self.line = Line::of(&line);
                }
            }
            Key::Complete => return self.complete(listener),
            Key::Enter if self.is_amid_burst() => {
                let text = self.begin_burst();
                return self.paste(&text, Some(Instant::now()), listener);
            }
            Key::Enter => return self.enter(listener),
            Key::Drop => {
                if self.held.take().is_none() {
                    self.line.take();
                }
            }
            Key::DeleteOrLeave if self.line.is_empty() && self.held.is_none() => {
                return Act::Interrupt;
            }
            Key::DeleteOrLeave => self.line.delete(super::line::Move::Right),
            Key::Interrupt => return Act::Interrupt,
            Key::Suspend => return Act::Suspend,
            Key::Redraw(screen) => return Act::Redraw(screen),
        }
        Act::Nothing
    }

    fn type_in(&mut self, character: &str) -> Act {
        let is_full = !self.line.has_room_for(character);
        if is_full && !std::mem::replace(&mut self.knows_that_full, true) {
            return Act::Say(format!(
                "The line takes {} and no more: a longer text can be pasted.",
                count(super::line::MAX, "character")
            ));
        }
        if !is_full {
            self.knows_that_full = false;
            self.line.insert(character);
        }
        Act::Nothing
    }

    /// The line with its line break, to which more text comes at once: it was pasted.
    pub(super) fn begin_burst(&mut self) -> String {
        let mut text = self.line.take();
        text.push('\n');
        text
    }

    fn is_amid_burst(&self) -> bool {
        let burst = self.held.as_ref().and_then(|held| held.burst);
        burst.is_some_and(|at| at.elapsed() < NEXT_PIECE)
    }

    /// The line typed so far, for the history of a person who leaves.
    pub(super) fn unsent(&self) -> String {
        self.line.text()
    }

    fn paste(&mut self, text: &str, burst: Option<Instant>, listener: &dyn Listener) -> Act {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        // The rest of a reply that was cut, or the next piece of a long one.
        let text = match self.held.take() {
            Some(before) => before.text + &text,
            None => text,
        };
        match listener.weigh(&text) {
            Pasted::Reply => {
                return reply(text);
            }
            Pasted::Refused(why) => return Act::Say(why),
            Pasted::Text if self.fits_the_line(text.trim_end()) => {
                self.line.insert(text.trim_end());
            }
            pasted => {
                self.held = Some(Held {
                    text,
                    has_commands: pasted == Pasted::Commands,
                    burst,
                });
            }
        }
        Act::Nothing
    }

    fn enter(&mut self, listener: &dyn Listener) -> Act {
        let typed = self.line.take();
        match self.held.take() {
            Some(held) if held.has_commands && typed.trim().is_empty() => reply(held.text),
            Some(held) => {
                let lines = count(held.text.lines().count(), "line");
                let echo = format!("{typed} ({lines} pasted)");
                let text = format!("{typed}\n{}", held.text.trim_end());
                self.send(echo, text.trim_start_matches('\n').to_owned())
            }
            None if listener.is_command(&typed) => {
                self.past.remember(&typed);
                Act::Entered {
                    echo: typed.clone(),
                    entry: Entry::Line(typed),
                    why: None,
                }
            }
            None if listener.weigh(&typed) == Pasted::Reply => reply(typed),
            None => self.send(typed.clone(), typed),
        }
    }

    /// Hands a text to whoever asked last and takes it; else it is a note.
    fn send(&mut self, echo: String, text: String) -> Act {
        let takes = |asked: &Asked| asked.question.takes.accept(&text);
        if let Some(at) = self.asked.iter().rposition(takes) {
            let question = self.take_question(at);
            return Act::Answered {
                echo,
                to: question.sender,
                text,
                again: self.asked.last().map(|asked| asked.question.text.clone()),
            };
        }
        if text.trim().is_empty() {
            return Act::Nothing;
        }
        if self.fits_the_line(&text) {
            self.past.remember(&text);
        }
        let why = self.asked.last().map(|asked| {
            format!(
                "That is no answer to the question, so it goes to the model as a note. The question still waits: {}",
                asked.question.text
            )
        });
        Act::Entered {
            echo,
            entry: Entry::Line(text),
            why,
        }
    }

    fn fits_the_line(&self, text: &str) -> bool {
        !text.contains('\n') && self.line.has_room_for(text)
    }

    fn complete(&mut self, listener: &dyn Listener) -> Act {
        let before = self.line.before();
        let found = listener.complete(&before);
        let common = common_start(&found);
        if common.len() > before.len() && common.starts_with(&before) {
            let end = if found.len() == 1 { " " } else { "" };
            self.line
                .insert(&format!("{}{end}", &common[before.len()..]));
            return Act::Nothing;
        }
        match found.as_slice() {
            [] | [_] => Act::Nothing,
            several => Act::Say(several.join("  ")),
        }
    }
}

impl Held {
    fn words(&self) -> String {
        let lines = match self.text.lines().count() {
            1 => {
                let characters = count(self.text.chars().count(), "character");
                format!("1 line of {characters}")
            }
            several => count(several, "line"),
        };
        // The keys come first: what does not fit the terminal is cut off at its end.
        if self.has_commands {
            format!("[Enter: reply, Esc: drop. {lines} pasted, commands without the end mark]")
        } else {
            format!("[Enter: send, Esc: drop. {lines} pasted]")
        }
    }
}

/// A reply that was pasted.
fn reply(text: String) -> Act {
    Act::Entered {
        echo: format!("({} pasted)", count(text.lines().count(), "line")),
        entry: Entry::Reply(text),
        why: None,
    }
}

fn common_start(words: &[String]) -> String {
    let Some((first, others)) = words.split_first() else {
        return String::new();
    };
    let mut common = first.as_str();
    for word in others {
        while !word.starts_with(common) {
            common = &common[..common.char_indices().next_back().map_or(0, |(at, _)| at)];
        }
    }
    common.to_owned()
}

#[cfg(test)]
mod tests;
