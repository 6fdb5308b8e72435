//! `agent approve` and `agent decline`: decide from another terminal what is pending.

use std::process::ExitCode;

use clap::Args;

use super::common::Common;
use crate::approve::Verdict;
use crate::error::Result;
use crate::protocol::QuestionKind;
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
  agent decline \"use cargo instead\"
  agent decline 2 \"use cargo instead\"
  agent decline undo";

/// Decline what waits for your decision
#[derive(Debug, Args)]
#[command(after_help = DECLINE_EXAMPLES)]
pub(super) struct Decline {
    /// Numbers of steps, names of other questions, or `all`, optional if only one waits; then the
    /// reason
    #[arg(value_name = "N|NAME|all|REASON")]
    words: Vec<String>,
    /// The reason to give to the model
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// The session; by default the latest unfinished one, or an ended one that asks
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

#[derive(Debug, Args)]
struct Choice {
    /// Numbers of steps, names of other questions, or `all`; optional if only one waits
    #[arg(value_name = "N|NAME|all", value_parser = which)]
    which: Vec<WhichQuestion>,
    /// The session; by default the latest unfinished one, or an ended one that asks
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
    /// The questions that are named first, and the reason that follows.
    fn understood(&self) -> (Vec<WhichQuestion>, Option<String>) {
        // Where two processes ask the same, the second question is `undo-2`.
        let is_number = |text: &str| text.parse::<u32>().is_ok();
        let is_kind = |word: &str| QuestionKind::NAMES.contains(&word);
        let is_name = |word: &str| {
            let numbered = word.rsplit_once('-');
            is_kind(word) || numbered.is_some_and(|(kind, of)| is_kind(kind) && is_number(of))
        };
        let is_which =
            |word: &&String| *word == "all" || is_number(word.as_str()) || is_name(word.as_str());
        let count = self.words.iter().take_while(is_which).count();
        let (named, reason) = self.words.split_at(count);
        let named = named.iter().filter_map(|word| which(word).ok()).collect();
        let said = (!reason.is_empty()).then(|| reason.join(" "));
        let reason = self.reason.clone().or(said);
        (named, reason.filter(|reason| !reason.trim().is_empty()))
    }

    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let (which, reason) = self.understood();
        let session = self.session;
        Choice { which, session }.decide(common, ui, &Verdict::No { reason })
    }
}

impl Choice {
    fn decide(&self, common: &Common, ui: &Ui, verdict: &Verdict) -> Result<ExitCode> {
        let files = open::files(&common.caller(ui)?)?;
        let id = self.session.as_deref();
        let session = find::find_asking(&files.store, ui, id, find::find)?;
        let decided = decide::decide(&files, &session.session_id, &self.which, verdict)?;
        // The loop of this terminal tells it itself.
        let told = decided.iter().filter(|_| !ui.has_prompt());
        for question in told {
            if matches!(verdict, Verdict::Yes | Verdict::Always) && !common.json {
                ui.show_unfolded(&question.changes_ahead());
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decline_may_say_why_in_plain_words() {
        let decline = |words: &[&str]| {
            let decline = Decline {
                words: words.iter().map(ToString::to_string).collect(),
                reason: None,
                session: None,
            };
            let (which, reason) = decline.understood();
            (format!("{which:?}"), reason)
        };
        let why = |text: &str| Some(text.to_owned());
        assert_eq!(
            decline(&["1", "2", "don't", "do it"]),
            (r#"[Key("1"), Key("2")]"#.to_owned(), why("don't do it"))
        );
        assert_eq!(decline(&["all"]), ("[All]".to_owned(), None));
        assert_eq!(decline(&["undo"]).0, r#"[Key("undo")]"#);
        assert_eq!(
            decline(&["undo-2", "not now"]),
            (r#"[Key("undo-2")]"#.to_owned(), why("not now"))
        );
        assert_eq!(decline(&["step-2"]), ("[]".to_owned(), why("step-2")));
        assert_eq!(decline(&["use cargo"]), ("[]".to_owned(), why("use cargo")));
    }
}
