//! `agent approve` and `agent decline`: decide from another terminal what is pending.

use std::process::ExitCode;

use clap::Args;

use super::common::Common;
use crate::approve::Verdict;
use crate::error::Result;
use crate::services::decide::{self, WhichQuestion};
use crate::services::{find, open};
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
    #[arg(value_name = "N|NAME|all", value_parser = which)]
    which: Vec<WhichQuestion>,
    /// The session; by default the latest unfinished one
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

fn which(text: &str) -> Result<WhichQuestion, String> {
    let is_name = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    match (text, text.parse::<u32>()) {
        ("all", _) => Ok(WhichQuestion::All),
        (_, Ok(number)) => Ok(WhichQuestion::Key(number.to_string())),
        _ if text.starts_with(|c: char| c.is_ascii_lowercase()) && is_name(text) => {
            Ok(WhichQuestion::Key(text.to_owned()))
        }
        _ => Err("give the number of a step, the name of a question, or `all`".to_owned()),
    }
}

impl Approve {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let verdict = if self.always {
            Verdict::Always
        } else {
            Verdict::Yes
        };
        self.choice.decide(common, ui, &verdict)
    }
}

impl Decline {
    /// The questions and then the reason, without options: `2 use cargo instead`; nothing if there
    /// are options.
    pub(super) fn in_plain_words(words: &[String]) -> Option<Self> {
        if words.iter().any(|word| word.starts_with('-')) {
            return None;
        }
        let is_which = |word: &&String| *word == "all" || word.parse::<u32>().is_ok();
        let count = words.iter().take_while(is_which).count();
        let (named, reason) = words.split_at(count);
        let which: Result<_, _> = named.iter().map(|word| which(word)).collect();
        Some(Self {
            choice: Choice {
                which: which.ok()?,
                session: None,
            },
            reason: (!reason.is_empty()).then(|| reason.join(" ")),
        })
    }

    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let reason = self.reason.filter(|reason| !reason.trim().is_empty());
        self.choice.decide(common, ui, &Verdict::No { reason })
    }
}

impl Choice {
    fn decide(&self, common: &Common, ui: &Ui, verdict: &Verdict) -> Result<ExitCode> {
        let files = open::files(&common.caller(ui)?)?;
        let session = find::find(&files.store, ui, self.session.as_deref())?;
        let decided = decide::decide(&files, &session.session_id, &self.which, verdict)?;
        for question in &decided {
            if question.command.is_empty() && !common.json {
                let word = match verdict {
                    Verdict::No { .. } => "declined",
                    _ => "approved",
                };
                ui.say(&format!("{word} {}", question.key()));
            } else {
                ui.tell(&question.decided(verdict));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
