//! One reply, applied to a workspace without a session, or tried on a copy.

use super::Caller;
use super::guard::Testing;
use super::open::{self, BoundedWorkspace};
pub use crate::agent::announce;
use crate::agent::apply::{Applying, Difference, Rehearsal, is_complete};
use crate::agent::read_beside_files;
use crate::compose::Content;
use crate::error::{Error, ExitKind, Result};
use crate::protocol::{Command, Step, StepResult};
use crate::reply::{self, Reply};

/// Says if the files change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplyMode {
    /// The reply is carried out.
    Real,
    /// It is tried on a copy; no command runs.
    DryRun,
}

/// A reply that asks for something, and the workspace to apply it to.
#[derive(Debug)]
pub struct PreparedReply {
    /// The reply as it was understood.
    pub reply: Reply,
    place: BoundedWorkspace,
    caller: Caller,
    mark: String,
}

/// The results of applying a reply.
#[derive(Debug)]
pub struct AppliedReply {
    /// A result for each step that was reached.
    pub results: Vec<StepResult>,
    /// Of a dry run, what would be different.
    pub differences: Vec<Difference>,
    /// The files that the reply asked to read, as they are now.
    pub contents: Vec<Content>,
    /// True if all that the reply asked for was done.
    pub is_complete: bool,
}

/// Reads a reply; refuses one that asks for nothing.
pub fn prepare(caller: &Caller, bytes: &[u8]) -> Result<PreparedReply> {
    let testing = if runs_programs(&reply::read(bytes).1) {
        Testing::Unremembered
    } else {
        Testing::Unneeded
    };
    let place = open::place(caller, testing)?;
    let (mark, reply) = checked(read_beside_files(&place.workspace, bytes))?;
    Ok(PreparedReply {
        reply,
        place,
        caller: caller.clone(),
        mark,
    })
}

impl PreparedReply {
    /// Carries the steps out; `tell` hears of each before and after it.
    pub fn apply(
        &self,
        mode: ApplyMode,
        tell: &mut dyn FnMut(&Step, Option<&StepResult>),
    ) -> Result<AppliedReply> {
        let (place, reply) = (&self.place, &self.reply);
        let applying = Applying {
            base: &place.base,
            workspace: &place.workspace,
            limits: &place.limits,
            authorizer: &place.authorizer,
            person: &*self.caller.person,
            on_failure: place.on_failure,
            interrupt: &self.caller.interrupt,
            mark: self.mark.clone(),
        };
        let (results, differences) = match mode {
            ApplyMode::Real => (applying.run(reply, None, tell)?, Vec::new()),
            ApplyMode::DryRun => {
                let max_bytes = place.limits.max_file_bytes;
                let rehearsal = Rehearsal::prepare(&place.workspace, &reply.steps, max_bytes)?;
                let results = applying.run(reply, Some(&rehearsal), tell)?;
                (results, rehearsal.differences(&place.workspace))
            }
        };
        Ok(AppliedReply {
            contents: applying.contents(reply, &results),
            is_complete: is_complete(reply, &results),
            results,
            differences,
        })
    }
}

/// A mark for the temporary files of the reply, and the reply, if it asks for something.
fn checked((text, reply): (String, Reply)) -> Result<(String, Reply)> {
    if reply::is_outbox(&text) {
        return Err(Error::new(
            ExitKind::NotApplied,
            "this is a message of ours, not the chat's reply to it",
        )
        .hint("paste it into the chat, and give the reply to `agent apply`"));
    }
    if reply.steps.is_empty() && reply.issues.is_empty() && reply.cut.is_none() {
        return Err(Error::new(
            ExitKind::NotApplied,
            "the reply asks for nothing that could be applied",
        )
        .hint("`agent parse FILE` shows what was understood"));
    }
    let mark = blake3::hash(text.as_bytes()).to_hex()[..16].to_owned();
    Ok((mark, reply))
}

/// Returns true if a program is going to be started.
fn runs_programs(reply: &Reply) -> bool {
    let is_one = |step: &Step| {
        matches!(
            step.command,
            Command::RunCommand { .. } | Command::GitStatus { .. } | Command::GitDiff { .. }
        )
    };
    reply.steps.iter().any(is_one)
}
