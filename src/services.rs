//! Everything that a person can do with sessions, as functions: they take plain values, hold the
//! round lock where that is needed, and return data.
//!
//! Verbs, slash commands and other front ends parse what was typed, call a service and render what
//! comes back. A service prints nothing and reads no argument list. The front end is a [`Caller`]:
//! its person hears events, and is asked what only a person can decide.

pub mod add;
pub mod api;
pub mod apply;
pub mod ask;
pub mod batch;
pub mod browse;
pub mod check;
pub mod choices;
pub mod clipboard;
pub mod commit;
pub mod copy;
pub mod decide;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod export;
pub mod find;
pub mod follow;
pub mod fork;
pub mod guard;
pub mod handoff;
pub mod init;
mod known;
pub mod list;
mod log;
pub mod notes;
pub mod open;
pub mod outward;
pub mod policy;
pub mod prompts;
pub mod remove;
pub mod reply;
mod repository;
pub mod run;
pub mod say;
pub mod settings;
pub mod status;
pub mod undo;
mod workspace;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::approve::{Answer, Person, Question};
use crate::error::{Error, ExitKind, Result};
use crate::interrupt::Interrupt;
use crate::protocol::{Event, SetupNews, is_stop};
use crate::settings::{Overrides, OwnSettings, Trust};

/// A call: who wants something done, where, and with which settings.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Where the person stands: paths that they name start here.
    pub here: PathBuf,
    /// The base directory that was named; else it is looked for from `here`.
    pub base: Option<PathBuf>,
    /// The settings that were given with the call.
    pub flags: GivenFlags,
    /// The person's own settings.
    pub own_settings: OwnSettings,
    /// The person's trusted settings files, and the directory of their own state.
    pub trust: Trust,
    /// Hears what happens, and is asked.
    pub person: Arc<dyn Person>,
    /// Stops what the call began, and ends its questions.
    pub interrupt: Interrupt,
}

impl Caller {
    /// A call from the current directory of the process, by the person who runs it.
    pub fn of_this_process(person: Arc<dyn Person>, interrupt: Interrupt) -> Result<Self> {
        let here = std::env::current_dir().map_err(|cause| {
            Error::mendable("could not find the current directory").because(cause)
        })?;
        Ok(Self {
            here,
            base: None,
            flags: GivenFlags::default(),
            own_settings: OwnSettings::of_this_process(),
            trust: Trust::of_this_person(|name| std::env::var_os(name)),
            person,
            interrupt,
        })
    }

    /// Asks the person until a line answers the question; `q` stops the call.
    ///
    /// A slip of the fingers is no answer: nothing is decided, let alone remembered, because of one.
    /// Returns nothing where nobody answers.
    pub fn ask(&self, question: &Question) -> Result<Option<String>> {
        let takes = question.kind.takes();
        self.ask_for(question, &["y", "n"], |line| takes.accept(line))
    }

    /// Asks until a line is one of these answers.
    fn ask_for(
        &self,
        question: &Question,
        answers: &[&str],
        is_answer: impl Fn(&str) -> bool,
    ) -> Result<Option<String>> {
        loop {
            match self.person.ask(question, &self.interrupt) {
                Answer::Text(line) if is_stop(&line) => {
                    return Err(Error::new(ExitKind::Interrupted, "stopped"));
                }
                Answer::Text(line) if !is_answer(&line) => {
                    self.tell(SetupNews::AnswerUnknown {
                        answers: answers.iter().map(ToString::to_string).collect(),
                    });
                }
                Answer::Text(line) => return Ok(Some(line)),
                // Ctrl-D: a person who answers no question wants nothing begun.
                Answer::Nobody if self.person.is_interactive() => {
                    return Err(Error::new(ExitKind::Interrupted, "interrupted"));
                }
                Answer::Interrupted => {
                    return Err(Error::new(ExitKind::Interrupted, "interrupted"));
                }
                Answer::Nobody | Answer::Elsewhere => return Ok(None),
            }
        }
    }

    /// Tells the person a finding about the call itself.
    fn tell(&self, news: SetupNews) {
        self.person.emit(Event::Setup(news));
    }
}

/// Settings that were given by flag, as they were typed; the later one counts.
#[derive(Debug, Clone, Default)]
pub struct GivenFlags {
    /// The flag and its value.
    pub given: Vec<(&'static str, String)>,
}

impl GivenFlags {
    /// The flags as a layer of settings; paths in them start in that directory.
    fn overrides(&self, current_directory: &Path) -> Overrides {
        let start = Overrides::given_in(current_directory);
        self.given
            .iter()
            .fold(start, |flags, (flag, value)| flags.with(flag, Some(value)))
    }

    /// The value of a flag, if it was given.
    fn value(&self, flag: &str) -> Option<&str> {
        let mut given = self.given.iter().rev();
        given.find_map(|(name, value)| (*name == flag).then_some(value.as_str()))
    }
}
