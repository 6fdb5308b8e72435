//! What can happen, as far as a person or a script wants to know.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Volume;
use crate::protocol::{Outcome, StepResult};
use crate::reply::{Issue, Repair};

/// Something that happened.
#[derive(Debug, Serialize)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[expect(missing_docs, reason = "the fields are the documented JSON events")]
pub enum Event<'a> {
    /// A session begins or goes on.
    Session {
        id: &'a str,
        task: &'a str,
        base: &'a Path,
        workspace: &'a Path,
        resumed: bool,
    },
    /// An outbox is ready to be pasted.
    Outbox {
        path: &'a Path,
        pastes: &'a [PathBuf],
        attachment: Option<&'a Path>,
        inbox: &'a Path,
        sequence: u32,
        characters: usize,
        tokens: usize,
        takes: BTreeMap<&'static str, usize>,
        chat: &'a str,
        percent: usize,
        becomes_file: bool,
        cuts: &'a [String],
        is_waiting: bool,
    },
    /// A reply was taken.
    Reply {
        name: &'a str,
        sequence: u32,
        commands: usize,
    },
    /// What was undone of the damage done by chat page and copying.
    Repaired { repair: &'a Repair },
    /// What the reply says around its commands.
    Prose { text: &'a str },
    /// A part of the reply that could not be used.
    Issue { issue: &'a Issue },
    /// The reply ended too early.
    Cut { line: u32, what: &'a str },
    /// A command begins to run.
    Running { script: &'a str },
    /// The person's check was run.
    Check {
        command: &'a str,
        outcome: &'a Outcome,
    },
    /// A step was executed.
    Step { result: &'a StepResult },
    /// The model's plan.
    Plan { text: &'a str },
    /// A word of the model to the person.
    Message { text: &'a str },
    /// A question that the person must answer.
    Question { question: &'a str, how: &'a str },
    /// A step that waits for the person's decision.
    Approval {
        number: u32,
        round: u32,
        command: &'a str,
        title: &'a str,
        shown: &'a str,
        why: &'a str,
        may: &'a str,
        proposal: Option<&'a str>,
        how: &'a str,
    },
    /// The person decided about a step.
    Decided {
        number: u32,
        command: &'a str,
        title: &'a str,
        decision: &'a str,
        reason: Option<&'a str>,
    },
    /// A file in the inbox was not used.
    Rejected {
        name: &'a str,
        why: &'a str,
        moved_to: &'a Path,
    },
    /// Something of ours to know.
    Notice { text: &'a str },
    /// A detail, for `--verbose`.
    Detail { text: &'a str },
    /// The session ended.
    Done {
        id: &'a str,
        summary: &'a str,
        rounds: u32,
        changed: usize,
    },
    /// The round limit stopped it.
    RoundLimit { id: &'a str, rounds: u32 },
    /// The person stopped it.
    Interrupted { id: &'a str },
}

impl Event<'_> {
    /// The least volume at which it is told.
    pub(super) fn volume(&self) -> Volume {
        match self {
            Self::Outbox { .. }
            | Self::Question { .. }
            | Self::Approval { .. }
            | Self::Rejected { .. }
            | Self::Done { .. }
            | Self::RoundLimit { .. }
            | Self::Interrupted { .. } => Volume::Quiet,
            Self::Detail { .. } => Volume::Verbose,
            _ => Volume::Normal,
        }
    }
}
