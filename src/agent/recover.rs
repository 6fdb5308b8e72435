//! Going on where a killed process stopped.
//!
//! No step is executed twice. What the journal knows to be finished is kept; what was under way is
//! told to the model as interrupted; what was never begun is told as skipped. A reply that was
//! claimed and not begun is executed now.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::checkpoints::Checkpoints;
use super::conceal::Concealed;
use super::round::interrupted;
use super::{Agent, Conversation, Patience, Taken, file_name, identity};
use crate::error::{Error, Result};
use crate::execute::Execution;
use crate::protocol::{Command, Outcome, Step, StepResult};
use crate::reply;
use crate::session::{Recovered, RoundLock, Session};

impl<'a> Conversation<'a> {
    /// Opens a session for work and finishes what was left unfinished.
    pub(super) fn open(agent: &'a Agent, session: Session, patience: Patience) -> Result<Self> {
        let (mut conversation, recovered) = Self::restore(agent, session)?;
        conversation.finish_round(&recovered, patience)?;
        Ok(conversation)
    }

    /// Opens a session as it was last saved, and tells what was under way.
    pub(super) fn restore(agent: &'a Agent, session: Session) -> Result<(Self, Recovered)> {
        let _alone = RoundLock::wait(agent.store.directory())?;
        let (journal, mut recovered) = agent.store.journal(&session.session_id)?;
        if recovered.torn_bytes > 0 {
            agent.ui.say(&format!(
                "The journal of session {} ended in the middle of a line; {} bytes were cut off.",
                session.session_id, recovered.torn_bytes
            ));
        }
        let is_new = recovered.session.is_none();
        let session = match recovered.session.take() {
            Some(newer) if newer.updated_at > session.updated_at => {
                agent
                    .ui
                    .say("The session file was older than the journal; the journal was used.");
                agent.store.save(&newer)?;
                newer
            }
            _ => session,
        };
        let mut conversation = Self {
            agent,
            concealed: Concealed::of(&agent.store, &session),
            session,
            journal,
            contents: None,
            checkpoints: Checkpoints::default(),
        };
        conversation.undone(&recovered.undone);
        (conversation.session.history).mark(&recovered.redone, false);
        let confinement = agent.manner.permit.confinement.as_ref();
        let sandbox = confinement.map(|confinement| confinement.backend.name().to_owned());
        let is_other = conversation.session.sandbox != sandbox;
        conversation.session.sandbox = sandbox;
        let is_other = conversation.begin_planning() || is_other;
        // While a round is under way nothing is saved: the journal would forget that it is.
        if is_new || (is_other && recovered.claimed.is_none()) {
            conversation.save()?;
        }
        Ok((conversation, recovered))
    }

    fn finish_round(&mut self, recovered: &Recovered, patience: Patience) -> Result<()> {
        let (id, sequence) = (&self.session.session_id, self.session.sequence_number);
        let begun = recovered.claimed.is_some();
        let claimed = match &recovered.claimed {
            Some(file) => Some(self.agent.mailbox.processed().join(file)),
            None => self.agent.mailbox.claimed(id, sequence),
        };
        let Some(file) = claimed else { return Ok(()) };
        let taken = reread(file)?;
        if !begun {
            self.agent
                .ui
                .say("A reply had been taken when `agent` stopped; it is executed now.");
            return self.step(taken, patience);
        }
        self.agent.ui.say(
            "A reply was being executed when `agent` stopped. What is done stays, what was under way is reported to the model, and nothing is run twice.",
        );
        let _alone = self.alone()?;
        let steps = &taken.reply.steps;
        let mut results = self.settle_steps(steps, recovered);
        let input = self.input(patience);
        self.settle_offer(steps, recovered, &mut results, input)?;
        // The round ends now, so that it can be taken back like any other.
        let checked = self.check_round(recovered.before, steps, &results);
        self.checkpoint_after(recovered.before, steps, &results)?;
        self.conclude(taken, results, checked)
    }
}

impl Conversation<'_> {
    /// What became of the steps of a round that was stopped.
    ///
    /// What neither changes files nor runs programs is done now: doing it again harms nobody.
    fn settle_steps(&mut self, steps: &[Step], recovered: &Recovered) -> Vec<StepResult> {
        let agent = self.agent;
        let mut seen = std::mem::take(&mut self.session.seen);
        let mut execution = Execution::begin(&agent.workspace, &agent.limits, &mut seen, steps);
        let settle = |step: &Step| {
            let known = recovered
                .finished
                .iter()
                .find(|result| result.number == step.number);
            if let Some(known) = known {
                return known.clone();
            }
            if is_harmless(&step.command) {
                return StepResult::new(step, execution.step(step), Duration::ZERO);
            }
            if recovered.started.contains(&step.number) {
                return interrupted(step);
            }
            let outcome = Outcome::skipped(
                "`agent` was stopped before this; send it again if it is still wanted",
            );
            StepResult::new(step, outcome, Duration::ZERO)
        };
        let results = steps.iter().map(settle).collect();
        self.session.seen = seen;
        results
    }
}

/// Whether a step can be done twice.
fn is_harmless(command: &Command) -> bool {
    let runs = matches!(
        command,
        Command::RunCommand { .. } | Command::GitStatus { .. } | Command::GitDiff { .. }
    );
    !command.changes_files() && !runs
}

fn reread(file: PathBuf) -> Result<Taken> {
    let bytes = fs::read(&file).map_err(|cause| Error::file("read", &file, cause))?;
    let (text, reply) = reply::read(&bytes);
    Ok(Taken {
        name: file_name(&file),
        reply,
        identity: identity(&text),
        file,
    })
}
