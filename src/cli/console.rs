//! The prompt line of a running loop: what is entered there does what the verbs do.
//!
//! A line is a note for the model, like `agent say`; a pasted reply goes into the inbox, like
//! `agent paste`; `/word` is the verb that [`slash`] makes of it. A line is understood once, when it
//! is entered; it is done in threads of their own, so that the prompt never waits, and a note or a
//! reply not for a command that takes its time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::common::Common;
use super::say;
use super::slash::{self, CommandLine, EnteredVerb, Recognised, SlashCommand};
use crate::courier;
use crate::error::{ExitKind, Result};
use crate::interrupt::Interrupt;
use crate::protocol::is_answer_key;
use crate::services::copy::Copying;
use crate::services::reply::{BroughtText, ReplyDesk};
use crate::services::run::HeldSession;
use crate::settings::NotifyBy;
use crate::ui::{Entry, HistoryFile, KeptInput, LineKind, Listener, Pasted, Prompt, Ui};

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
    has_quit: Arc<AtomicBool>,
    ui: Ui,
}

impl Opened {
    /// Returns true if the person left by a command, which is no interruption.
    pub(super) fn has_quit(&self) -> bool {
        self.has_quit.load(Ordering::SeqCst)
    }
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
pub(super) fn open(common: &Common, held: &HeldSession, program: CommandLine) -> Option<Opened> {
    let state = common.caller(&common.ui()).ok()?.trust;
    let history = HistoryFile::kept_in(state.directory());
    let (words, told) = mpsc::channel();
    let (commands, entered) = mpsc::channel();
    let kept = KeptInput {
        history: history.load(),
        paste: held.replies().undecided(),
    };
    let has_quit = Arc::<AtomicBool>::default();
    let current = Current::default();
    let listener = Arc::new(Ear {
        program,
        current: Arc::clone(&current),
        has_quit: Arc::clone(&has_quit),
        replies: held.replies(),
        interrupt: held.interrupt().clone(),
        notify: held.opened.wishes.notify,
        history,
        voice: common.ui(),
        copying: common.copying.clone(),
        words: Mutex::new(words),
        commands: Mutex::new(commands),
    });
    let ui = common.ui();
    let prompt = ui.open_prompt(kept, listener, held.interrupt())?;
    let hand = Arc::new(Hand {
        common: common.clone(),
        replies: held.replies(),
        interrupt: held.interrupt().clone(),
        current: Arc::clone(&current),
        ui: common.ui(),
    });
    let (done, is_done) = mpsc::channel();
    for tasks in [told, entered] {
        let (hand, done) = (Arc::clone(&hand), done.clone());
        thread::spawn(move || {
            hand.work(&tasks);
            drop(done);
        });
    }
    Some(Opened {
        prompt: Some(prompt),
        is_done,
        current,
        has_quit,
        ui: common.ui(),
    })
}

/// Something to be done, as it was understood.
#[derive(Debug)]
enum PromptTask {
    /// A pasted reply goes into the inbox.
    Reply(String),
    /// A pasted text is kept until the person decides about it, or not any more.
    KeepPaste(Option<String>),
    /// A word for the model.
    Note(String),
    /// A sentence for the person.
    Tell(String),
    /// A verb, and the line that it was entered as.
    Verb(String, Box<dyn EnteredVerb>),
}

/// Hears what is entered, understands it, and passes it on.
#[derive(Debug)]
struct Ear {
    program: CommandLine,
    current: Current,
    has_quit: Arc<AtomicBool>,
    replies: ReplyDesk,
    interrupt: Interrupt,
    notify: NotifyBy,
    history: HistoryFile,
    voice: Ui,
    copying: Copying,
    /// To whom notes and replies go, and to whom commands: these may take their time.
    words: Mutex<Sender<PromptTask>>,
    commands: Mutex<Sender<PromptTask>>,
}

impl Listener for Ear {
    fn weigh(&self, text: &str) -> Pasted {
        match self.replies.weigh(text) {
            // The loop says that it is of another round, or asks.
            BroughtText::Reply | BroughtText::OtherReply(_) => Pasted::Reply,
            BroughtText::Unmarked => Pasted::Commands,
            BroughtText::OwnMessage => Pasted::Refused(
                "That is our own message, not the chat's reply: copy the reply and paste that."
                    .to_owned(),
            ),
            BroughtText::Other => Pasted::Text,
        }
    }

    fn kind_of_line(&self, line: &str) -> LineKind {
        if let Some(command) = slash::plain_command(line) {
            LineKind::PlainCommand(command)
        } else if slash::recognise_line(self.program, line) != Recognised::Note {
            LineKind::Command
        } else if slash::is_for_shell(line) {
            LineKind::Shell
        } else {
            LineKind::Words
        }
    }

    fn complete(&self, before: &str) -> Vec<String> {
        slash::complete(self.program.words, before)
    }

    fn entered(&self, entry: Entry) {
        if let Entry::Command(line) | Entry::Note(line) | Entry::Unsent(line) = &entry
            && let Err(trouble) = self.history.remember(line)
        {
            self.voice.error(&trouble);
        }
        let (to, task) = match entry {
            Entry::Unsent(_) => return,
            Entry::UndecidedPaste(text) => (&self.words, PromptTask::KeepPaste(text)),
            Entry::Reply(text) => (&self.words, PromptTask::Reply(text)),
            Entry::Note(line) => (&self.words, note(line)),
            Entry::Command(line) => match slash::recognise_line(self.program, &line) {
                Recognised::Note => (&self.words, note(line)),
                Recognised::Command(word, rest) => {
                    self.copying.call_off();
                    match word.understand(rest) {
                        SlashCommand::Verb(verb) => {
                            self.tell_running(&line);
                            let verb = PromptTask::Verb(line.trim().to_owned(), verb);
                            (&self.commands, verb)
                        }
                        // These do not wait for a command that is not finished.
                        SlashCommand::Tell(text) => (&self.words, PromptTask::Tell(text)),
                        SlashCommand::Quit => {
                            self.has_quit.store(true, Ordering::SeqCst);
                            return self.interrupt.raise();
                        }
                    }
                }
                Recognised::Unclear(hint) => {
                    self.copying.call_off();
                    (&self.words, PromptTask::Tell(hint))
                }
            },
        };
        let _ = lock(to).send(task);
    }

    fn asked(&self) {
        courier::notify(self.notify, "A question waits for you.", &self.voice);
    }
}

impl Ear {
    /// Says that a command waits for the one before it, which may itself wait for an answer.
    fn tell_running(&self, line: &str) {
        let running = lock(&self.current).clone();
        if let Some(running) = running {
            self.voice.say(&format!(
                "`{}` comes after `{running}`, which is not finished.",
                line.trim()
            ));
        }
    }
}

/// A word for the model, unless it can only be the answer to a question that is gone by now.
fn note(line: String) -> PromptTask {
    let answer = line.trim();
    if is_answer_key(answer) {
        PromptTask::Tell(format!(
            "There is no open question; `{answer}` was ignored."
        ))
    } else {
        PromptTask::Note(line)
    }
}

/// Does what was entered.
#[derive(Debug)]
struct Hand {
    common: Common,
    replies: ReplyDesk,
    interrupt: Interrupt,
    current: Current,
    ui: Ui,
}

impl Hand {
    fn work(&self, tasks: &Receiver<PromptTask>) {
        for task in tasks {
            if let Err(trouble) = self.act(task) {
                // Who leaves stops what still waits for an answer: that is no failure.
                let is_left = trouble.kind() == ExitKind::Interrupted && self.interrupt.is_raised();
                if !is_left {
                    self.ui.error(&trouble);
                }
            }
        }
    }

    fn act(&self, task: PromptTask) -> Result<()> {
        match task {
            PromptTask::Reply(text) => {
                self.replies.put(&text)?;
                Ok(())
            }
            PromptTask::KeepPaste(text) => self.replies.keep_undecided(text.as_deref()),
            PromptTask::Note(line) => say::tell(&self.common, &self.common.ui(), &line),
            PromptTask::Tell(text) => {
                self.ui.say(&text);
                Ok(())
            }
            // The person has left; what they told and pasted is kept all the same.
            PromptTask::Verb(..) if self.interrupt.is_raised() => Ok(()),
            PromptTask::Verb(line, verb) => {
                *lock(&self.current) = Some(line);
                let result = verb.run(&self.common, &self.common.ui());
                *lock(&self.current) = None;
                result.map(|_| ())
            }
        }
    }
}
