//! The state of the prompt: the typed line, pasted text, and who waits for an answer. Decides what
//! a key does.
//!
//! It touches neither the terminal nor a file: it is told of keys and says what is to be done.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use super::keys::{KeyPress, Screen};
use super::line::EditedLine;
use super::past::PastLines;
use super::view::View;
use super::{Entry, LineKind, Listener, Pasted};
use crate::protocol::{AcceptedLines, CommandKind, is_answer_key, is_no, is_yes};
use crate::ui::ask::PromptQuestion;
use crate::ui::live::Rows;
use crate::ui::{Answer, count};

/// How long after a piece of a paste another one may come.
pub(in crate::ui) const NEXT_PIECE: Duration = Duration::from_secs(1);
/// How long after a paste an Enter on an empty line belongs to it: the habit of ending a paste with
/// Enter must not answer a question that has come up since.
pub(in crate::ui) const PASTE_ENTER: Duration = Duration::from_millis(1_500);
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
    /// This was entered; where it could have been meant as an answer, with why it is none. A note that
    /// was typed beside a reply comes before it.
    Entered {
        echo: String,
        note: Option<String>,
        entry: Entry,
        why: Option<String>,
    },
    Interrupt,
    Suspend,
    Redraw(Screen),
}

impl Act {
    /// Tells also of a line that was not sent, because this one took its place.
    fn after_unsent(mut self, line: &str) -> Self {
        let told = format!(
            "`{}` was not sent; the up arrow brings it back.",
            line.trim()
        );
        let with = |more: Option<String>| match more {
            Some(more) => Some(format!("{told}\n{more}")),
            None => Some(told.clone()),
        };
        match &mut self {
            Self::Entered { why: said, .. } | Self::Answered { again: said, .. } => {
                *said = with(said.take());
            }
            Self::Say(said) => *said = format!("{told}\n{said}"),
            Self::Nothing => return Self::Say(told),
            Self::Interrupt | Self::Suspend | Self::Redraw(_) => {}
        }
        self
    }
}

/// A text that waits for the person to say what it is.
#[derive(Debug)]
struct Held {
    text: String,
    doubt: HeldDoubt,
    /// When it came, if the terminal did not mark it: then it may be a piece.
    burst: Option<Instant>,
    /// The number of the question that waited when it came. It is asked about only while that one is
    /// the latest: its Enter is no answer to another.
    beside: Option<u64>,
    /// True if a line stood at the prompt when it was pasted.
    follows_words: bool,
}

/// Why a text is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeldDoubt {
    /// It was pasted and has commands, but no mark that says that it is whole.
    NoEndMark,
    /// It was pasted and has no complete command.
    NoCommand,
    /// It was typed and looks like a command for a shell.
    Shell,
    /// It was typed while a question waits, and is also this command of ours.
    AnswerOrCommand(&'static str),
}

/// The meaning of a line that is entered beside a pasted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineBesidePaste {
    /// Nothing, or a yes: the text is what it is taken for.
    Nothing,
    /// A no: the text is the person's own.
    No,
    /// Words that go with the text.
    Words,
    /// The person wants to see the question.
    QuestionMark,
    /// A command of ours.
    Command,
    /// A slip, which decides nothing.
    Slip,
}

/// A question that waits for a line.
#[derive(Debug)]
struct WaitingQuestion {
    question: PromptQuestion,
    /// The line that was being typed when the question came: not an answer to it, and not to be
    /// lost.
    draft: EditedLine,
}

/// The state of the prompt.
#[derive(Debug)]
pub(super) struct PromptState {
    line: EditedLine,
    past: PastLines,
    /// The texts that wait for a decision, the latest last.
    held: Vec<Held>,
    asked: Vec<WaitingQuestion>,
    /// True if what an Enter decides has changed since the last key, while something else stood at the
    /// prompt: the next Enter may be meant for that.
    is_shifted: bool,
    last_key: Option<Instant>,
    last_paste: Option<Instant>,
    /// True once the person has been told that the line is full.
    knows_that_full: bool,
    /// True if the line was begun by a paste while a reply is waited for.
    is_line_pasted: bool,
}

impl PromptState {
    pub(super) fn new(mut history: Vec<String>) -> Self {
        history.retain(|line| EditedLine::default().has_room_for(line));
        Self {
            line: EditedLine::default(),
            past: PastLines::of(history),
            held: Vec::new(),
            asked: Vec::new(),
            is_shifted: false,
            last_key: None,
            last_paste: None,
            knows_that_full: false,
            is_line_pasted: false,
        }
    }

    /// Renders the prompt.
    pub(super) fn rows(&self, columns: usize, listener: &dyn Listener) -> Rows {
        let held = self.open_held();
        let held = held.map(|held| self.words_about(held, &self.line.text(), listener));
        let held = held.unwrap_or_else(|| self.words_about_line(listener));
        let is_question = !self.asked.is_empty();
        View {
            line: &self.line,
            is_question,
            hint: if is_question && self.takes_any_line() && !self.takes_keys() {
                "type your answer to the model (Enter sends it; ? shows the question)"
            } else if is_question {
                ""
            } else {
                "paste the reply, or type a note (/help; Ctrl-C pauses)"
            },
            held: &held,
        }
        .rows(columns)
    }

    /// Puts a question in front of all others; tells whether the person may be away.
    pub(super) fn ask(&mut self, question: PromptQuestion) -> bool {
        let draft = if let Some(at) = self.place_of(question.number) {
            self.asked.remove(at).draft
        } else {
            self.is_shifted |= !self.line.is_empty() || self.open_held().is_some();
            std::mem::take(&mut self.line)
        };
        self.asked.push(WaitingQuestion { question, draft });
        self.last_key.is_none_or(|at| at.elapsed() > AWAY)
    }

    /// Takes a question back: nobody waits for its answer any more.
    pub(super) fn withdraw(&mut self, number: u64) {
        if let Some(at) = self.place_of(number) {
            self.take_question(at);
            self.is_shifted |= self.open_held().is_some();
        }
    }

    /// Tells all who asked that there is nobody any more.
    pub(super) fn dismiss(&mut self) {
        for asked in self.asked.drain(..) {
            let _ = asked.question.sender.send(Answer::Nobody);
        }
    }

    fn place_of(&self, number: u64) -> Option<usize> {
        let is_meant = |asked: &WaitingQuestion| asked.question.number == number;
        self.asked.iter().position(is_meant)
    }

    /// Takes a question out; what was being typed before it comes back after those asked since.
    fn take_question(&mut self, at: usize) -> PromptQuestion {
        let before = at.checked_sub(1).map(|at| self.asked[at].question.number);
        let WaitingQuestion { question, draft } = self.asked.remove(at);
        for mut held in std::mem::take(&mut self.held) {
            let is_beside = held.beside == Some(question.number);
            if is_beside && held.doubt.is_typed() {
                // It was to be an answer; the arrow brings it back.
                self.past.remember(&held.text);
                continue;
            }
            if is_beside {
                held.beside = before;
            }
            self.held.push(held);
        }
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
    pub(super) fn press(&mut self, key: KeyPress, listener: &dyn Listener) -> Act {
        self.last_key = Some(Instant::now());
        let is_shifted = std::mem::take(&mut self.is_shifted);
        match key {
            KeyPress::Character(character) => {
                return self.type_in(character.encode_utf8(&mut [0; 4]));
            }
            KeyPress::Paste(text) => return self.paste(&text, None, listener),
            KeyPress::Burst(text) => return self.paste(&text, Some(Instant::now()), listener),
            KeyPress::Go(to) => self.line.go(to),
            KeyPress::Delete(to) => self.line.delete(to),
            KeyPress::Earlier => {
                if let Some(line) = self.past.earlier(&self.line.text()) {
                    self.line = EditedLine::of(&line);
                }
            }
            KeyPress::Later => {
                if let Some(line) = self.past.later() {
                    self.line = EditedLine::of(&line);
                }
            }
            KeyPress::Complete => return self.complete(listener),
            KeyPress::Enter if self.is_amid_burst() => {
                let text = self.begin_burst();
                return self.paste(&text, Some(Instant::now()), listener);
            }
            KeyPress::Enter if is_shifted && self.line.is_empty() => {
                let asks = self.words_of_now(listener);
                return Act::Say(format!("The question has changed. {asks}"));
            }
            KeyPress::Enter => return self.enter(listener),
            KeyPress::Drop if self.has_typed_held() && !self.line.is_empty() => {
                self.line.take();
            }
            KeyPress::Drop => match self.take_open_held() {
                Some(held) if held.doubt.is_typed() => self.line = EditedLine::of(&held.text),
                Some(_) => {}
                None => {
                    self.line.take();
                }
            },
            KeyPress::DeleteOrLeave if self.line.is_empty() && self.open_held().is_none() => {
                return Act::Interrupt;
            }
            KeyPress::DeleteOrLeave => self.line.delete(super::line::Move::Right),
            KeyPress::Interrupt => return Act::Interrupt,
            KeyPress::Suspend => return Act::Suspend,
            KeyPress::Redraw(screen) => return Act::Redraw(screen),
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
            self.is_line_pasted &= !self.line.is_empty();
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
        self.held.iter().any(Held::is_amid_burst)
    }

    /// The number of the latest question.
    fn latest_question(&self) -> Option<u64> {
        self.asked.last().map(|asked| asked.question.number)
    }

    fn place_of_open_held(&self) -> Option<usize> {
        let latest = self.latest_question();
        self.held.iter().rposition(|held| held.beside == latest)
    }

    /// The text that the person is asked about now.
    fn open_held(&self) -> Option<&Held> {
        self.place_of_open_held().map(|at| &self.held[at])
    }

    fn take_open_held(&mut self) -> Option<Held> {
        self.place_of_open_held().map(|at| self.held.remove(at))
    }

    /// The lines typed so far, for the history of a person who leaves: those that questions came
    /// between, and the current one.
    pub(super) fn unsent(&self) -> Vec<String> {
        let held = self.held.iter().filter(|held| held.doubt.is_typed());
        let held = held.map(|held| held.text.clone());
        let drafts = self.asked.iter().map(|asked| asked.draft.text());
        let lines = drafts.chain(held).chain([self.line.text()]);
        lines.filter(|line| !line.trim().is_empty()).collect()
    }

    /// The pasted text that the person has not decided about. Of several it is the first: the others
    /// were pasted at questions that come again.
    pub(super) fn undecided_paste(&self) -> Option<&str> {
        let mut pasted = self.held.iter().filter(|held| !held.doubt.is_typed());
        pasted.next().map(|held| held.text.as_str())
    }

    /// Asks again about a text that was pasted before the person left.
    pub(super) fn hold_again(&mut self, text: String, listener: &dyn Listener) {
        let doubt = HeldDoubt::of(&listener.weigh(&text));
        self.hold(text, doubt, None);
    }

    fn hold(&mut self, text: String, doubt: HeldDoubt, burst: Option<Instant>) {
        self.held.push(Held {
            text,
            doubt,
            burst,
            beside: self.latest_question(),
            follows_words: !self.line.is_empty(),
        });
    }

    fn paste(&mut self, text: &str, burst: Option<Instant>, listener: &dyn Listener) -> Act {
        self.last_paste = Some(Instant::now());
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        // The rest of a reply that was cut, or the next piece of a long one.
        let amid = self.held.iter().rposition(Held::is_amid_burst);
        let before = match amid.filter(|_| burst.is_some()) {
            Some(at) => Some(self.held.remove(at)),
            None => self.take_open_held(),
        };
        let (text, before) = match before {
            Some(before) if before.doubt.is_typed() => {
                self.line = EditedLine::of(&before.text);
                (text, None)
            }
            Some(mut before) => (std::mem::take(&mut before.text) + &text, Some(before)),
            None => (text, None),
        };
        match listener.weigh(&text) {
            Pasted::Reply => return self.reply(text),
            Pasted::Refused(why) => return Act::Say(why),
            Pasted::Text if self.fits_the_line(text.trim_end()) && !self.is_cut_reply(&text) => {
                self.is_line_pasted |= self.line.is_empty();
                self.line.insert(text.trim_end());
            }
            pasted => {
                let doubt = HeldDoubt::of(&pasted);
                match before {
                    Some(before) => self.held.push(Held {
                        text,
                        doubt,
                        burst,
                        ..before
                    }),
                    None => self.hold(text, doubt, burst),
                }
            }
        }
        Act::Nothing
    }

    fn enter(&mut self, listener: &dyn Listener) -> Act {
        if self.open_held().is_none() && self.line.is_empty() && self.ends_paste() {
            return Act::Nothing;
        }
        let typed = self.line.take();
        if let Some(held) = self.take_open_held() {
            if !held.doubt.is_typed() {
                return self.enter_beside_paste(held, typed, listener);
            }
            if typed.trim().is_empty() || is_yes(&typed) {
                return self.send(held.text.clone(), held.text);
            }
            if is_no(&typed) {
                self.line = EditedLine::of(&held.text);
                return Act::Nothing;
            }
            if typed.trim() == "?" {
                self.held.push(held);
                return Act::Say(self.words_of_now(listener));
            }
            // Another line takes its place; the arrow brings it back.
            self.past.remember(&held.text);
            return self.enter_line(typed, listener).after_unsent(&held.text);
        }
        self.enter_line(typed, listener)
    }

    /// Enter with a line that stands alone.
    fn enter_line(&mut self, typed: String, listener: &dyn Listener) -> Act {
        let kind = listener.kind_of_line(&typed);
        let is_answer = self.takes_any_line();
        if typed.trim() == "?" && !self.asked.is_empty() {
            return self.show_question_again();
        }
        let doubt = match kind {
            LineKind::PlainCommand(command) if is_answer => {
                Some(HeldDoubt::AnswerOrCommand(command))
            }
            LineKind::Shell if !is_answer => Some(HeldDoubt::Shell),
            _ => None,
        };
        if let Some(doubt) = doubt {
            self.hold(typed, doubt, None);
            return Act::Nothing;
        }
        match kind {
            // At a question, help is the question with its keys; `/help` lists the commands.
            LineKind::PlainCommand("/help") if !self.asked.is_empty() => {
                let asked = self.asked.last();
                Act::Say(asked.map_or_else(String::new, |asked| asked.question.text.clone()))
            }
            LineKind::Command | LineKind::PlainCommand(_) => {
                self.past.remember(&typed);
                Act::Entered {
                    echo: typed.clone(),
                    note: None,
                    entry: Entry::Command(typed),
                    why: None,
                }
            }
            _ if listener.weigh(&typed) == Pasted::Reply => self.reply(typed),
            _ => self.send(typed.clone(), typed),
        }
    }

    /// Asks the questioner to show the whole question again. It stays open.
    fn show_question_again(&self) -> Act {
        let Some(asked) = self.asked.last() else {
            return Act::Nothing;
        };
        Act::Answered {
            echo: "?".to_owned(),
            to: asked.question.sender.clone(),
            text: "?".to_owned(),
            again: None,
        }
    }

    /// Enter with a line beside a pasted text. A key or a command is what it is elsewhere, and the text
    /// waits; only words go with it.
    fn enter_beside_paste(&mut self, held: Held, typed: String, listener: &dyn Listener) -> Act {
        let line = self.line_beside(&held, &typed, listener);
        match line {
            LineBesidePaste::Nothing => return self.enter_held(held, ""),
            LineBesidePaste::Words => return self.enter_held(held, &typed),
            LineBesidePaste::No => {
                self.last_paste = Some(Instant::now());
                return self.send_pasted(&held, "");
            }
            LineBesidePaste::QuestionMark | LineBesidePaste::Command | LineBesidePaste::Slip => {}
        }
        self.held.push(held);
        if line == LineBesidePaste::Command {
            self.past.remember(&typed);
            return Act::Entered {
                echo: typed.clone(),
                note: None,
                entry: Entry::Command(typed),
                why: None,
            };
        }
        if line == LineBesidePaste::QuestionMark && self.takes_any_line() {
            return self.show_question_again();
        }
        let shown = self.words_of_now(listener);
        if line == LineBesidePaste::QuestionMark {
            return Act::Say(shown);
        }
        if self.fits_the_line(&typed) {
            self.past.remember(&typed);
        }
        Act::Say(format!("`{}` is no answer here. {shown}", typed.trim()))
    }

    /// Decides the meaning of a line beside a pasted text.
    fn line_beside(&self, held: &Held, line: &str, listener: &dyn Listener) -> LineBesidePaste {
        let line = line.trim();
        if line.is_empty() {
            return LineBesidePaste::Nothing;
        }
        if line == "?" {
            return LineBesidePaste::QuestionMark;
        }
        let kind = listener.kind_of_line(line);
        if matches!(kind, LineKind::Command | LineKind::PlainCommand(_)) {
            return LineBesidePaste::Command;
        }
        if self.takes_keys() {
            // Only a no takes more words: the reason.
            let is_reason = line.split_whitespace().next().is_some_and(is_no);
            return if is_reason {
                LineBesidePaste::Words
            } else {
                LineBesidePaste::Slip
            };
        }
        let is_word = !line.contains(char::is_whitespace) && !held.follows_words;
        match kind {
            _ if is_yes(line) => LineBesidePaste::Nothing,
            _ if is_no(line) => LineBesidePaste::No,
            _ if is_answer_key(line) => LineBesidePaste::Slip,
            _ if self.takes_any_line() => LineBesidePaste::Words,
            LineKind::Shell => LineBesidePaste::Slip,
            _ if is_word => LineBesidePaste::Slip,
            _ => LineBesidePaste::Words,
        }
    }

    /// Enter, while a pasted text is held and with what was typed beside it.
    fn enter_held(&mut self, held: Held, typed: &str) -> Act {
        self.last_paste = Some(Instant::now());
        let is_alone = typed.trim().is_empty();
        match held.doubt {
            HeldDoubt::NoEndMark if is_alone => self.reply(held.text),
            HeldDoubt::NoCommand if is_alone && (!self.takes_any_line() || self.takes_keys()) => {
                self.reply(held.text)
            }
            _ if self.takes_any_line() || held.is_of_the_line() => self.send_pasted(&held, typed),
            _ => self.reply_with_note(held.text, typed),
        }
    }

    /// A reply that was pasted, and a note that was typed beside it.
    fn reply_with_note(&mut self, text: String, typed: &str) -> Act {
        if self.fits_the_line(typed) {
            self.past.remember(typed);
        }
        let mut act = self.reply(text);
        if let Act::Entered { echo, note, .. } = &mut act {
            *echo = format!("{typed} {echo}");
            *note = Some(typed.to_owned());
        }
        act
    }

    /// A reply that was pasted; while the loop waits for an answer, it comes after that.
    fn reply(&self, text: String) -> Act {
        let mut asked = self.asked.iter().rev();
        let asked = asked.find(|asked| asked.question.kind.holds_replies());
        Act::Entered {
            echo: format!("({} pasted)", count(text.lines().count(), "line")),
            note: None,
            entry: Entry::Reply(text),
            why: asked.map(|asked| {
                format!(
                    "The reply is kept, and taken after your answer. The question still waits: {}",
                    asked.question.text
                )
            }),
        }
    }

    /// Sends a pasted text as the person's own words, below what was typed.
    fn send_pasted(&mut self, held: &Held, typed: &str) -> Act {
        let lines = count(held.text.lines().count(), "line");
        let echo = format!("{typed} ({lines} pasted)");
        let text = format!("{typed}\n{}", held.text.trim_end());
        let text = text.trim_start_matches('\n').to_owned();
        self.send(echo.trim_start().to_owned(), text)
    }

    /// Returns true if an Enter now can only be the end of a paste.
    fn ends_paste(&self) -> bool {
        self.last_paste.is_some_and(|at| at.elapsed() < PASTE_ENTER)
    }

    /// Returns true if the question that waits is answered by whatever is entered.
    fn takes_any_line(&self) -> bool {
        let last = self.asked.last();
        last.is_some_and(|asked| asked.question.kind.takes() == AcceptedLines::AnyLine)
    }

    /// Returns true if the question that waits is a decision, which has keys: no text is an answer.
    fn takes_keys(&self) -> bool {
        let takes_text = |asked: &WaitingQuestion| asked.question.kind.takes_paste();
        self.takes_any_line() && !self.asked.last().is_some_and(takes_text)
    }

    /// Answers the latest question that accepts the text; without one, the text is a note.
    fn send(&mut self, echo: String, text: String) -> Act {
        let takes = |asked: &WaitingQuestion| asked.question.kind.takes().accept(&text);
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
        if let Some(asked) = self.asked.last()
            && (is_answer_key(&text) || !text.trim().contains(char::is_whitespace))
        {
            // One word is a slip at this question rather than a note.
            return Act::Say(format!(
                "`{}` is no answer here. {}",
                text.trim(),
                asked.question.text
            ));
        }
        let why = self.asked.last().map(|asked| {
            format!(
                "That is no answer to the question, so it goes to the model as a note. The question still waits: {}",
                asked.question.text
            )
        });
        Act::Entered {
            echo,
            note: None,
            entry: Entry::Note(text),
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

impl PromptState {
    /// Returns true if the person is asked about a line that they typed.
    fn has_typed_held(&self) -> bool {
        self.open_held().is_some_and(|held| held.doubt.is_typed())
    }

    /// Tells what an Enter decides now.
    fn words_of_now(&self, listener: &dyn Listener) -> String {
        if let Some(held) = self.open_held() {
            return self.words_about(held, "", listener).join("\n");
        }
        let asked = self.asked.last();
        asked.map_or_else(String::new, |asked| asked.question.text.clone())
    }

    /// Returns true for a single line that begins like a command of the protocol, where a reply is
    /// waited for.
    fn is_cut_reply(&self, text: &str) -> bool {
        let tag = text.trim_start().strip_prefix('[').unwrap_or_default();
        let name = tag.split([' ', ']']).next().unwrap_or_default();
        let is_command = name.parse::<CommandKind>().is_ok();
        is_command && self.line.is_empty() && self.asked.is_empty()
    }

    /// Tells that a line which was pasted is none of the chat's replies; those have several.
    fn words_about_line(&self, listener: &dyn Listener) -> Vec<String> {
        let is_note = self.is_line_pasted && !self.line.is_empty() && self.asked.is_empty();
        if !is_note || listener.kind_of_line(&self.line.text()) != LineKind::Words {
            return Vec::new();
        }
        vec![
            "1 line pasted.".to_owned(),
            "Enter: a note for the model, not its reply   Esc: drop".to_owned(),
        ]
    }

    /// Tells what is held, and what the keys do with it and with the line.
    fn words_about(&self, held: &Held, line: &str, listener: &dyn Listener) -> Vec<String> {
        let has_other_line = !matches!(line.trim(), "" | "?") && !is_yes(line) && !is_no(line);
        let goes_with_it = |held| self.line_beside(held, line, listener) == LineBesidePaste::Words;
        let drop = "Esc: drop";
        match held.doubt {
            HeldDoubt::Shell | HeldDoubt::AnswerOrCommand(_) if has_other_line => vec![
                format!("`{}` is not sent.", held.text.trim()),
                "Enter: enter the new line   Esc: drop the new line".to_owned(),
            ],
            HeldDoubt::Shell => vec![
                "That looks like a shell command. It is not run here.".to_owned(),
                "Enter: send it to the model   Esc: edit".to_owned(),
            ],
            HeldDoubt::AnswerOrCommand(command) => vec![
                format!("A question waits. `{command}` is the command."),
                "Enter: it is my answer   Esc: edit".to_owned(),
            ],
            _ if goes_with_it(held) => {
                let both = if self.takes_keys() {
                    "no, with both as the reason"
                } else if self.takes_any_line() {
                    "both are my answer"
                } else if held.is_of_the_line() {
                    "both are a note from me"
                } else {
                    "the paste is the reply, the line a note from me"
                };
                vec![
                    format!("{} pasted.", held.size()),
                    format!("Enter: {both}   Esc: drop the paste"),
                ]
            }
            HeldDoubt::NoCommand if self.takes_any_line() && !self.takes_keys() => vec![
                format!("{} pasted.", held.size()),
                format!("Enter: it is my answer   {drop}"),
            ],
            HeldDoubt::NoEndMark | HeldDoubt::NoCommand => {
                let lack = match held.doubt {
                    HeldDoubt::NoEndMark => "without the end mark",
                    _ => "no complete command",
                };
                let no = if self.takes_keys() {
                    "n Enter: no, with it as the reason"
                } else {
                    "n Enter: a note from me"
                };
                vec![
                    format!("{} pasted, {lack}.", held.size()),
                    format!("Enter: it is the chat's reply   {no}   {drop}"),
                ]
            }
        }
    }
}

impl HeldDoubt {
    /// The doubt about a pasted text.
    fn of(pasted: &Pasted) -> Self {
        match pasted {
            Pasted::Commands => Self::NoEndMark,
            _ => Self::NoCommand,
        }
    }

    /// Returns true for a line that was typed, so that it goes back where it was.
    fn is_typed(self) -> bool {
        matches!(self, Self::Shell | Self::AnswerOrCommand(_))
    }
}

impl Held {
    /// Returns true if the line before it leads to it (`it printed:`): then it is no reply.
    fn is_of_the_line(&self) -> bool {
        self.doubt == HeldDoubt::NoCommand && self.follows_words
    }

    /// Returns true if more of it may come.
    fn is_amid_burst(&self) -> bool {
        self.burst.is_some_and(|at| at.elapsed() < NEXT_PIECE)
    }

    fn size(&self) -> String {
        match self.text.lines().count() {
            1 => {
                let characters = count(self.text.chars().count(), "character");
                format!("1 line of {characters}")
            }
            several => count(several, "line"),
        }
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
