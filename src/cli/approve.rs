//! `agent approve` and `agent decline`: decide from another terminal what is pending.

use std::process::ExitCode;
use std::str::FromStr;

use clap::Args;

use super::open::Files;
use super::{Common, open, resume};
use crate::approve::{Pending, Question, Verdict};
use crate::error::{Error, Result};
use crate::protocol::SessionId;
use crate::ui::Ui;

const APPROVE_EXAMPLES: &str = "\
Examples:
  agent approve
  agent approve 2
  agent approve all";

/// Approve what waits for your decision
#[derive(Debug, Args)]
#[command(after_help = APPROVE_EXAMPLES)]
pub(super) struct Approve {
    #[command(flatten)]
    choice: Choice,
    /// Do not ask about commands like this one again; for the network: allow it for this session
    #[arg(long)]
    always: bool,
}

const DECLINE_EXAMPLES: &str = "\
Examples:
  agent decline
  agent decline 2 --reason \"use cargo instead\"";

/// Decline what waits for your decision
#[derive(Debug, Args)]
#[command(after_help = DECLINE_EXAMPLES)]
pub(super) struct Decline {
    #[command(flatten)]
    choice: Choice,
    /// The reason to give to the model
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

#[derive(Debug, Args)]
struct Choice {
    /// The steps, or `all`; optional if only one waits
    #[arg(value_name = "N|all")]
    which: Vec<Which>,
    /// The session; by default the latest unfinished one
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    Step(u32),
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("all", _) => Ok(Self::All),
            (_, Ok(number)) => Ok(Self::Step(number)),
            _ => Err("give the number of a step, or `all`".to_owned()),
        }
    }
}

impl Approve {
    pub(super) fn run(self, common: &Common, ui: Ui) -> Result<ExitCode> {
        let verdict = if self.always {
            Verdict::Always
        } else {
            Verdict::Yes
        };
        self.choice.decide(common, ui, &verdict)
    }
}

impl Decline {
    pub(super) fn run(self, common: &Common, ui: Ui) -> Result<ExitCode> {
        let reason = self.reason.filter(|reason| !reason.trim().is_empty());
        self.choice.decide(common, ui, &Verdict::No { reason })
    }
}

impl Choice {
    fn decide(&self, common: &Common, ui: Ui, verdict: &Verdict) -> Result<ExitCode> {
        let agent = open::files(common, ui)?;
        let session = resume::find(&agent.store, &agent.ui, self.session.as_deref())?;
        let id = &session.session_id;
        let pending = Pending::of(&agent.store.folder(id));
        let chosen = self.chosen(pending.open_questions(), id)?;
        if *verdict == Verdict::Always {
            ensure_rules_exist(&chosen)?;
        }
        for question in &chosen {
            if !pending.decide(question, verdict)? {
                return Err(decided_already(question.number));
            }
            agent.ui.tell(&question.decided(verdict));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The questions that are meant.
    fn chosen(&self, open: Vec<Question>, id: &SessionId) -> Result<Vec<Question>> {
        if open.is_empty() {
            return Err(Error::mendable(format!(
                "nothing waits for your decision in session {id}"
            ))
            .hint("`agent status` shows where it stands")
            .hint("`--session ID` names another session"));
        }
        if self.which.contains(&Which::All) || self.which.is_empty() && open.len() == 1 {
            return Ok(open);
        }
        let waiting: Vec<String> = open.iter().map(|one| one.number.to_string()).collect();
        let waiting = waiting.join(", ");
        if self.which.is_empty() {
            return Err(Error::mendable(format!(
                "{} steps wait for your decision: {waiting}",
                open.len()
            ))
            .hint("name one, or say `all`; `agent status` shows them"));
        }
        let has = |number: u32| open.iter().any(|question| question.number == number);
        let missing = self.which.iter().find_map(|which| match which {
            Which::Step(number) if !has(*number) => Some(*number),
            _ => None,
        });
        if let Some(number) = missing {
            return Err(
                Error::mendable(format!("step {number} does not wait for your decision"))
                    .hint(format!("these do: {waiting}")),
            );
        }
        let is_meant = |question: &Question| self.which.contains(&Which::Step(question.number));
        Ok(open.into_iter().filter(is_meant).collect())
    }
}

fn ensure_rules_exist(chosen: &[Question]) -> Result<()> {
    match chosen.iter().find(|question| question.proposal.is_none()) {
        Some(Question { number, .. }) => Err(Error::mendable(format!(
            "no rule can be made of step {number}"
        ))
        .hint(format!("`agent approve {number}` allows it this time"))),
        None => Ok(()),
    }
}

fn decided_already(number: u32) -> Error {
    Error::mendable(format!("step {number} has been decided already"))
        .hint("whoever decides first wins; `agent status` shows where it stands")
}

/// Shows what waits for a decision in a session, whole; tells how much that is.
pub(super) fn show_pending(agent: &Files, id: &SessionId) -> usize {
    let open = Pending::of(&agent.store.folder(id)).open_questions();
    for question in &open {
        agent.ui.tell(&question.event());
    }
    open.len()
}
