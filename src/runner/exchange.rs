//! Commands where the workspace is not: another machine, a pod. Files go there before a command, and
//! what it changed comes back after it.
//!
//! The other side is asked which files it has, with a hash of each, before and after a command; what
//! differs between the two answers was changed by the command. Our side remembers a hash of each file
//! that it sent. So only changes travel, in either direction, as an archive of `tar`. Ignored files
//! stay where they are made, and so does what a command must not change here.
//!
//! Each change of the other side is taken, refused, put beside a file that changed here too, or left
//! there; [`ExchangeReport`] tells all but the first. One that could not be written here is tried again
//! after the next command, and until then nothing of ours replaces it there.
//!
//! Nothing is lost: before files are sent and before a command begins, our side writes down what the
//! other side has. After a lost connection or a kill, what the lost command changed is fetched at the end
//! of the round or before the next command, and never between rounds, so that undo covers it. Where that
//! memory or the mark of the directory is lost, all that is there is compared with ours, and nothing
//! counts as deleted. The directory there is removed when all results have come back.
//!
//! Nothing of ours takes the place of something there that our side has never had: a file that the
//! person or an ignored build put there is first put beside ours. In a directory of the person it is put
//! beside ours on both sides, and what was theirs does not go because it goes here, as after an undo.
//! There our side also remembers the exchange after the session is over, so that the next one sends what
//! was undone or deleted in between. What changed there in between is the person's.

mod other_side;
mod our_side;
mod send;
mod state;
mod take;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::channel::{self, Belongings, Errand, quoted};
use super::listing::{ExchangedContent, LeftReason, MAX_FILE};
use super::owner;
use super::{Job, Ran, RunEnd, Runner};
use crate::fs::{Durability, write_atomic};
use crate::sandbox::{Property, PropertyName};
use crate::workspace::Workspace;
use other_side::OtherSide;
use our_side::{ExchangedWorkspace, is_left_out, is_odd_left_out};
pub use state::{ExchangeMemory, runners_with_results};
use state::{ExchangeState, RememberedExchange};

/// Marks the directory on the other side as that of this workspace.
pub(super) const MARK: &str = ".agent-runner";

/// The name of a directory for a trial in a directory of the person begins with this.
pub(super) const TRIAL: &str = ".agent-runner-trial-";

/// The most bytes of files that travel at once in one direction.
const MAX_BYTES: u64 = MAX_FILE;

/// How long the other side may be silent while files travel.
const SILENCE: Duration = Duration::from_mins(1);

/// How long it may be silent after the person's Ctrl-C.
const SHORT_SILENCE: Duration = Duration::from_secs(10);

/// How the other side is reached.
pub trait RemoteConnection: std::fmt::Debug + Send + Sync {
    /// A program that runs a script there: this one, or else the one that it reads from its standard
    /// input. Connects first, where that is needed.
    fn client(&self, script: Option<&str>, cancelled: &AtomicBool) -> Result<Command, String>;

    /// Learns that the person does not wait for an answer, so that its end waits for none either.
    fn give_up(&self) {}

    /// The words of a failure, with what to do about it.
    fn explain(&self, words: &str) -> String;

    /// Properties that hold for every command there.
    fn promises(&self) -> &'static [PropertyName] {
        &[]
    }

    /// A sentence for the person about what was asked of it and does not count.
    fn notice(&self) -> Option<String> {
        None
    }

    /// Tells what holds there.
    fn test(&self) -> Result<Vec<Property>, String> {
        Ok(Vec::new())
    }

    /// Runs a job in a directory there, which is a word of the shell.
    fn run(&self, directory: &str, job: Job<'_>) -> Ran {
        let client = match self.client(None, job.cancelled) {
            Ok(client) => client,
            Err(reason) => return Ran::not_started(reason),
        };
        let errand = Errand {
            client,
            directory,
            environment: &[],
            belongings: Belongings::Marked,
        };
        channel::run(errand, job)
    }

    /// Where the connection itself keeps the files there, which are gone once it is discarded.
    fn storage(&self) -> Option<String> {
        None
    }

    /// Removes what the connection itself keeps there.
    fn discard(&self, _cancelled: &AtomicBool) -> Result<(), String> {
        Ok(())
    }
}

/// Runs commands on the other side of a connection, and exchanges files with it.
#[derive(Debug)]
pub struct ExchangeRunner {
    ours: ExchangedWorkspace,
    other: OtherSide,
    memory: Option<ExchangeMemory>,
    known: Mutex<RememberedExchange>,
}

impl ExchangeRunner {
    /// A runner for this workspace. Without a directory it makes one of its own there, named by `name`.
    pub fn new(
        connection: impl RemoteConnection + 'static,
        workspace: Workspace,
        directory: Option<&str>,
        name: &str,
        memory: Option<ExchangeMemory>,
    ) -> Self {
        let own = || format!("\"${{XDG_CACHE_HOME:-$HOME/.cache}}\"/agent/{name}");
        let word = |directory: &str| match directory.strip_prefix('~') {
            Some("" | "/") => "\"$HOME\"".to_owned(),
            Some(rest) if rest.starts_with('/') => {
                format!("\"$HOME\"/{}", quoted(rest.trim_start_matches('/')))
            }
            _ => quoted(directory),
        };
        Self {
            ours: ExchangedWorkspace { workspace },
            other: OtherSide {
                connection: Arc::new(connection),
                is_own: directory.is_none(),
                directory: directory.map_or_else(own, word),
                shown: directory.map_or_else(|| format!("~/.cache/agent/{name}"), str::to_owned),
                name: name.to_owned(),
                has_entered: AtomicBool::new(false),
            },
            memory,
            known: Mutex::default(),
        }
    }

    /// True if the files there go when the session is over: nobody else has put any there.
    fn is_removed_at_end(&self) -> bool {
        self.other.is_own || self.other.connection.storage().is_some()
    }

    fn known(&self) -> std::sync::MutexGuard<'_, RememberedExchange> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, if nothing can have changed over there since. It is returned once: the caller is about
    /// to change what is there.
    fn take_in_step(&self) -> Option<ExchangeState> {
        let (state, pruned) = {
            let mut known = self.known();
            let pruned = known.in_step.take()?;
            (known.state.clone()?, pruned)
        };
        // The person may work in a directory of theirs; and what is not ignored any more has not been
        // listed.
        let is_listed = || self.ours.pruned(&state.here) == pruned;
        (self.is_removed_at_end() && is_listed()).then_some(state)
    }

    /// The last state that was written down, if there is one.
    fn recall(&self) -> Option<ExchangeState> {
        let mut known = self.known();
        if known.state.is_none() {
            known.state = match std::fs::read(&self.memory.as_ref()?.file) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                read => {
                    let state = read
                        .ok()
                        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
                    Some(state.unwrap_or_else(ExchangeState::unknown))
                }
            };
        }
        known.state.clone()
    }

    fn keep(&self, state: &ExchangeState, is_in_step: bool) -> Result<(), String> {
        *self.known() = RememberedExchange {
            state: Some(state.clone()),
            in_step: is_in_step.then(|| self.ours.pruned(&state.here)),
        };
        let Some(ExchangeMemory { file, .. }) = &self.memory else {
            return Ok(());
        };
        let bytes = serde_json::to_vec(state).map_err(|error| error.to_string())?;
        // Once results are here, it does no harm to fetch them again.
        let durability = if is_in_step {
            Durability::Atomic
        } else {
            Durability::Durable
        };
        write_atomic(file, &bytes, durability).map_err(|error| error.to_string())
    }

    /// Names of results that are only there.
    fn only_there(&self, known: &ExchangeState) -> Vec<String> {
        let mut lookup = self.ours.workspace.ignore_lookup();
        let is_result = |content: &ExchangedContent| {
            use LeftReason::{TooLarge, Unreadable};
            matches!(content, ExchangedContent::Left(TooLarge(_) | Unreadable))
        };
        let left = known.there.entries.iter();
        let left = left.filter(|(_, content)| is_result(content));
        let mut names: Vec<String> = left
            .filter(|(name, content)| !is_left_out(&mut lookup, known, name, content))
            .map(|(name, _)| name.clone())
            .collect();
        names.extend(known.pending.iter().cloned());
        let odd = known.there.odd.iter();
        names.extend(
            odd.filter(|name| !is_odd_left_out(&mut lookup, name))
                .cloned(),
        );
        names
    }
}

impl Runner for ExchangeRunner {
    fn promises(&self) -> &'static [PropertyName] {
        self.other.connection.promises()
    }

    fn notice(&self) -> Option<String> {
        self.other.connection.notice()
    }

    fn expect_files(&self) {
        if self.recall().is_none() {
            self.known().state = Some(ExchangeState::unknown());
        }
    }

    fn keeps_files(&self) -> bool {
        let is_remembered =
            self.memory.is_none() || self.recall().is_some_and(|known| !known.is_left);
        is_remembered || self.other.has_entered.load(Ordering::Relaxed)
    }

    fn awaits_results(&self) -> bool {
        self.recall().is_some_and(|known| known.has_results())
    }

    fn fetch_results(&self, cancelled: &AtomicBool) -> Result<Option<String>, String> {
        let (known, report) = self.catch_up((cancelled, SHORT_SILENCE))?;
        self.keep(&known, true)?;
        let notes = report.notes();
        Ok((!notes.is_empty()).then(|| notes.join("; ")))
    }

    fn finish(&self, cancelled: &AtomicBool) -> Result<(), String> {
        if !self.keeps_files() {
            return Ok(());
        }
        let place = match self.other.connection.storage() {
            Some(storage) => storage,
            None => format!("`{}`", self.other.shown),
        };
        let left = if self.awaits_results() {
            Some(format!(
                "what a command changed has not come back; its files are kept there in {place}, and the next session here with this runner takes them in its first round"
            ))
        } else {
            let known = self.recall().filter(|_| self.is_removed_at_end());
            let left = known.map(|known| self.only_there(&known));
            let left = left.filter(|left| !left.is_empty());
            left.map(|left| {
                let left = super::exchange_report::listed(&left);
                format!(
                    "not all results came back: {left}; its files are kept there in {place}, from where you can copy them"
                )
            })
        };
        if let Some(reason) = left {
            return Err(reason);
        }
        let known = self.recall().filter(|_| !self.is_removed_at_end());
        self.clean(cancelled)?;
        let Some(mut known) = known else {
            return Ok(());
        };
        // The next session sends what is undone or deleted here meanwhile.
        known.is_left = true;
        self.keep(&known, false).map_err(|error| {
            format!(
                "what was exchanged could not be written down, so what you undo or delete here from now on stays there ({error})"
            )
        })
    }

    fn clean(&self, cancelled: &AtomicBool) -> Result<(), String> {
        if self.other.connection.storage().is_some() {
            self.other.connection.discard(cancelled)?;
        } else {
            self.other.leave_directory(cancelled)?;
            self.other.remove_stale_trials((cancelled, SILENCE))?;
        }
        self.other.has_entered.store(false, Ordering::Relaxed);
        *self.known() = RememberedExchange::default();
        if let Some(memory) = &self.memory {
            let _ = crate::fs::remove(&memory.file);
        }
        Ok(())
    }

    fn test(&self, _: &Path) -> Result<Vec<Property>, String> {
        // With files and a directory of its own: a session may be at work.
        let here = crate::fs::temporary_directory("agent-trial-").map_err(|e| e.to_string())?;
        let file = here.path().join("trial");
        write_atomic(&file, b"trial\n", Durability::Atomic).map_err(|e| e.to_string())?;
        let id = uuid::Uuid::new_v4().simple();
        let other = &self.other;
        let workspace = Workspace::open(here.path()).map_err(|e| e.to_string())?;
        let trial = Self {
            ours: ExchangedWorkspace { workspace },
            other: OtherSide {
                connection: Arc::clone(&other.connection),
                directory: format!(
                    "{}{}-{id}-{}",
                    other.trials(),
                    owner::own_process(),
                    other.name
                ),
                shown: other.shown.clone(),
                is_own: true,
                name: "trial".to_owned(),
                has_entered: AtomicBool::new(false),
            },
            memory: None,
            known: Mutex::default(),
        };
        let never = AtomicBool::new(false);
        let tested = self.other.connection.test().and_then(|mut properties| {
            let tested = self.other.remove_stale_trials((&never, SILENCE));
            let tested = tested.and_then(|()| trial.test_survival(here.path()));
            trial.other.leave_directory(&never)?;
            properties.extend(tested?);
            Ok(properties)
        });
        if !self.keeps_files() {
            let discarded = self.other.connection.discard(&never);
            return tested.and_then(|properties| discarded.map(|()| properties));
        }
        tested
    }

    fn run(&self, job: Job<'_>) -> Ran {
        let (began, cancelled) = (Instant::now(), job.cancelled);
        let (mut known, mut report) = match self.send(cancelled) {
            Ok(sent) => sent,
            Err(reason) => return Ran::not_started(format!("no files were exchanged: {reason}")),
        };
        let mut ran = self.other.connection.run(&self.other.directory, job);
        // What an interrupted command changed is fetched too. A second Ctrl-C cannot be seen then.
        let never = AtomicBool::new(false);
        let patience = if cancelled.load(Ordering::Relaxed) {
            (&never, SHORT_SILENCE)
        } else {
            (cancelled, SILENCE)
        };
        let fetched = self.fetch(&mut known, patience);
        let mut late = None;
        match fetched {
            Ok(fetched) => {
                report.extend(fetched);
                // What cannot be remembered is fetched again.
                let _ = self.keep(&known, true);
            }
            Err(reason) => {
                let late_part = match ran.end {
                    RunEnd::NotStarted(_) => "if it began all the same, what it changed",
                    _ => "what it changed",
                };
                late = Some(format!(
                    "{late_part} has not come back yet and is fetched before the next command: {reason}"
                ));
            }
        }
        let mut notes: Vec<String> = ran.note.take().into_iter().collect();
        if ran.is_lost {
            notes.push("the connection was lost while it ran".to_owned());
        }
        notes.extend(report.notes());
        notes.extend(late);
        ran.note = (!notes.is_empty()).then(|| notes.join("; "));
        ran.took = began.elapsed();
        ran
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
