//! `agent approve` and `agent decline`: decide from another terminal what is pending.

use std::process::ExitCode;
use std::str::FromStr;

use clap::Args;

use super::open::Files;
use super::{Common, open, resume};
use crate::approve::{Pending, Question, Verdict};
use crate::error::{Error, Result};
use crate::protocol::{QuestionKind, SessionId};
use crate::ui::Ui;

const APPROVE_EXAMPLES: &str = "\
Examples:
  agent approve
  agent approve 2
  agent approve all
  agent approve undo";

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
    /// Numbers of steps, names of other questions, or `all`; optional if only one waits
    #[arg(value_name = "N|NAME|all")]
    which: Vec<Which>,
    /// The session; by default the latest unfinished one
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Which {
    All,
    /// The number of a step, or the name of a question about none.
    Key(String),
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_name = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        match (text, text.parse::<u32>()) {
            ("all", _) => Ok(Self::All),
            (_, Ok(number)) => Ok(Self::Key(number.to_string())),
            _ if text.starts_with(|c: char| c.is_ascii_lowercase()) && is_name(text) => {
                Ok(Self::Key(text.to_owned()))
            }
            _ => Err("give the number of a step, the name of a question, or `all`".to_owned()),
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
        let mut open = pending.open_questions();
        // It is answered in words, by `agent say`.
        open.retain(|question| question.kind != QuestionKind::Model);
        let chosen = self.chosen(open, id)?;
        if *verdict == Verdict::Always {
            ensure_rules_exist(&chosen)?;
        }
        for question in &chosen {
            if !pending.decide(question, verdict)? {
                return Err(decided_already(question));
            }
            if question.command.is_empty() && !common.json {
                let word = if *verdict == Verdict::Yes {
                    "approved"
                } else {
                    "declined"
                };
                agent.ui.say(&format!("{word} {}", question.key()));
            } else {
                agent.ui.tell(&question.decided(verdict));
            }
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
        let waiting: Vec<String> = open.iter().map(Question::key).collect();
        let waiting = waiting.join(", ");
        // What is about no step is named, so that no `all` decides it, unless it is all there is.
        let is_step = |question: &Question| question.name.is_empty();
        let of_steps = open.iter().filter(|question| is_step(question)).count();
        let is_single = of_steps == 1 || of_steps == 0 && open.len() == 1;
        if self.which.contains(&Which::All) && of_steps > 0 || self.which.is_empty() && is_single {
            let is_meant = |question: &Question| of_steps == 0 || is_step(question);
            return Ok(open.into_iter().filter(is_meant).collect());
        }
        if self.which.is_empty() || self.which.contains(&Which::All) {
            let what = if of_steps == open.len() {
                "steps"
            } else {
                "questions"
            };
            return Err(Error::mendable(format!(
                "{} {what} wait for your decision: {waiting}",
                open.len()
            ))
            .hint("name one, or say `all`; `agent status` shows them"));
        }
        let has = |key: &str| open.iter().any(|question| question.key() == key);
        let missing = self.which.iter().find_map(|which| match which {
            Which::Key(key) if !has(key) => Some(key),
            _ => None,
        });
        if let Some(key) = missing {
            return Err(
                Error::mendable(format!("{} does not wait for your decision", named(key)))
                    .hint(format!("these do: {waiting}")),
            );
        }
        let is_meant = |question: &Question| self.which.contains(&Which::Key(question.key()));
        Ok(open.into_iter().filter(is_meant).collect())
    }
}

fn ensure_rules_exist(chosen: &[Question]) -> Result<()> {
    match chosen.iter().find(|question| question.proposal.is_none()) {
        Some(question) => {
            let key = question.key();
            Err(
                Error::mendable(format!("no rule can be made of {}", named(&key)))
                    .hint(format!("`agent approve {key}` allows it this time")),
            )
        }
        None => Ok(()),
    }
}

/// A question as a person calls it.
fn named(key: &str) -> String {
    match key.parse::<u32>() {
        Ok(number) => format!("step {number}"),
        Err(_) => format!("`{key}`"),
    }
}

fn decided_already(question: &Question) -> Error {
    Error::mendable(format!(
        "{} has been decided already",
        named(&question.key())
    ))
    .hint("whoever decides first wins; `agent status` shows where it stands")
}

/// Shows what waits for a decision in a session, whole; tells how much that is.
pub(super) fn show_pending(agent: &Files, id: &SessionId) -> usize {
    let mut open = Pending::of(&agent.store.folder(id)).open_questions();
    open.retain(|question| question.kind != QuestionKind::Model);
    for question in &open {
        agent.ui.tell(&question.event());
    }
    open.len()
}
