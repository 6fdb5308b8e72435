//! The prompt line of a running loop: what is entered there does what the verbs do.
//!
//! A line is a note for the model, like `agent say`; a pasted reply goes into the inbox, like
//! `agent paste`; `/word` is the verb that [`slash`] names. All of it is done by the verbs
//! themselves, in threads of their own, so that the prompt never waits, and a note or a reply not for
//! a command that takes its time.

mod history;
mod slash;

use std::ffi::OsString;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use self::history::History;
use self::slash::Meant;
use super::copy::Copying;
use super::{Common, parse_line, say};
use crate::agent::Agent;
use crate::courier::{self, Message, Notify, Sight};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::mailbox::Mailbox;
use crate::protocol::SessionId;
use crate::reply;
use crate::services;
use crate::services::open as opening;
use crate::services::reply::RoundNumber;
use crate::ui::{Entry, Listener, Pasted, Prompt, Ui};

/// How long what was entered last may take when the loop ends before the person is told that it is
/// waited for.
const SOON: Duration = Duration::from_secs(1);

/// The command that runs now, as it was entered.
type Current = Arc<Mutex<Option<String>>>;

/// The prompt of a loop; it closes when this is dropped, after what was entered last is done.
#[derive(Debug)]
pub(super) struct Opened {
    prompt: Option<Prompt>,
    is_done: Receiver<()>,
    current: Current,
    ui: Ui,
}

impl Drop for Opened {
    fn drop(&mut self) {
        drop(self.prompt.take());
        // Nothing is ever sent: it ends with the threads. From now on Ctrl-C is a signal again, so
        // whatever runs can be stopped.
        if self.is_done.recv_timeout(SOON) == Err(RecvTimeoutError::Timeout) {
            let line = lock(&self.current).clone();
            if let Some(line) = line {
                self.ui.say(&format!(
                    "Waiting for the end of `{line}`; Ctrl-C stops it."
                ));
            }
            let _ = self.is_done.recv();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens the prompt of a loop, where there is a terminal for it.
pub(super) fn open(
    common: &Common,
    agent: &Agent,
    session: &SessionId,
    notify: Notify,
) -> Option<Opened> {
    let history = History::kept_in(opening::trust().directory());
    let (words, told) = mpsc::channel();
    let (commands, entered) = mpsc::channel();
    let lines = history.load();
    let listener = Arc::new(Ear {
        mailbox: agent.mailbox.clone(),
        session: session.clone(),
        interrupt: agent.interrupt.clone(),
        notify,
        history,
        voice: common.ui(),
        copying: common.copying.clone(),
        words: Mutex::new(words),
        commands: Mutex::new(commands),
    });
    let ui = common.ui();
    let prompt = ui.open_prompt(lines, listener, &agent.interrupt)?;
    let current = Current::default();
    let hand = Arc::new(Hand {
        common: common.clone(),
        mailbox: agent.mailbox.clone(),
        interrupt: agent.interrupt.clone(),
        current: Arc::clone(&current),
        ui: common.ui(),
    });
    let (done, is_done) = mpsc::channel();
    for entries in [told, entered] {
        let (hand, done) = (Arc::clone(&hand), done.clone());
        thread::spawn(move || {
            hand.work(&entries);
            drop(done);
        });
    }
    Some(Opened {
        prompt: Some(prompt),
        is_done,
        current,
        ui: common.ui(),
    })
}

/// Hears what is entered, and passes it on.
#[derive(Debug)]
struct Ear {
    mailbox: Mailbox,
    session: SessionId,
    interrupt: Interrupt,
    notify: Notify,
    history: History,
    voice: Ui,
    copying: Copying,
    /// To whom notes and replies go, and to whom commands: these may take their time.
    words: Mutex<Sender<Entry>>,
    commands: Mutex<Sender<Entry>>,
}

impl Listener for Ear {
    fn weigh(&self, text: &str) -> Pasted {
        let mark = Message::latest(&self.mailbox, &self.session).map(|message| message.mark);
        let is_marked = |mark: &_| courier::is_marked_before_prose(text, mark);
        let sight = match &mark {
            Some(mark) if is_marked(mark) => Sight::Reply,
            Some(mark) => courier::look(text, mark),
            None => Sight::Nothing,
        };
        match sight {
            Sight::Reply => Pasted::Reply,
            Sight::Unmarked => Pasted::Commands,
            Sight::Nothing if reply::is_outbox(text) => Pasted::Refused(
                "That is our own message, not the chat's reply: copy the reply and paste that."
                    .to_owned(),
            ),
            // One of another round: the loop says so, or asks.
            Sight::Nothing if reply::end_mark(text).is_some() => Pasted::Reply,
            Sight::Nothing => Pasted::Text,
        }
    }

    fn is_command(&self, line: &str) -> bool {
        !matches!(slash::read(line), Meant::Note)
    }

    fn complete(&self, before: &str) -> Vec<String> {
        slash::complete(before)
    }

    fn entered(&self, entry: Entry) {
        if let Entry::Line(line) | Entry::Unsent(line) = &entry
            && let Err(trouble) = self.history.remember(line)
        {
            self.voice.error(&trouble);
        }
        if let Entry::Line(line) = &entry
            && self.is_command(line)
        {
            self.copying.call_off();
        }
        // Not by the hand, which may be busy.
        if let Entry::Line(line) = &entry
            && matches!(slash::read(line), Meant::Command(word, _) if word.name == "quit")
        {
            return self.interrupt.raise();
        }
        let to = match &entry {
            Entry::Line(line) if self.is_command(line) => &self.commands,
            _ => &self.words,
        };
        let _ = lock(to).send(entry);
    }

    fn asked(&self) {
        courier::notify(self.notify, "A question waits for you.", &self.voice);
    }
}

/// Whether a line can only be the answer to a question, which is gone by now.
fn is_stray_answer(line: &str) -> bool {
    let line = line.trim();
    ["y", "n", "yes", "no"]
        .iter()
        .any(|answer| line.eq_ignore_ascii_case(answer))
}

/// Does what was entered.
#[derive(Debug)]
struct Hand {
    common: Common,
    mailbox: Mailbox,
    interrupt: Interrupt,
    current: Current,
    ui: Ui,
}

impl Hand {
    fn work(&self, entries: &Receiver<Entry>) {
        for entry in entries {
            if let Err(trouble) = self.act(&entry) {
                self.ui.error(&trouble);
            }
        }
    }

    fn act(&self, entry: &Entry) -> Result<()> {
        match entry {
            Entry::Reply(text) => {
                services::reply::put(&self.mailbox, text.as_bytes(), RoundNumber::MustMatch)?;
            }
            Entry::Unsent(_) => {}
            Entry::Line(line) => match slash::read(line) {
                Meant::Note if is_stray_answer(line) => self.ui.say(&format!(
                    "There is no open question; `{}` was ignored.",
                    line.trim()
                )),
                Meant::Note => say::tell(&self.common, &self.common.ui(), line)?,
                Meant::Command(word, _) if word.verb.is_empty() => self.ui.say(&slash::help()),
                // The person has left; what they told and pasted is kept all the same.
                Meant::Command(..) if self.interrupt.is_raised() => {}
                Meant::Command(word, rest) => {
                    *lock(&self.current) = Some(line.trim().to_owned());
                    let result = self.run(&slash::arguments(word, rest));
                    *lock(&self.current) = None;
                    result?;
                }
                Meant::Several(words) => {
                    self.ui.say(&format!("That may be {}.", words.join(" or ")));
                }
                Meant::Unknown(hint) => self.ui.say(&hint),
            },
        }
        Ok(())
    }

    /// Runs a verb as if it were typed in a shell, with the options of the loop.
    fn run(&self, arguments: &[String]) -> Result<()> {
        let line = std::iter::once("agent").chain(arguments.iter().map(String::as_str));
        match parse_line(line.map(OsString::from)) {
            Ok(cli) => cli.verb.run(&self.common, &self.common.ui()).map(|_| ()),
            Err(message) => {
                self.ui.say(message.to_string().trim_end());
                Ok(())
            }
        }
    }
}
