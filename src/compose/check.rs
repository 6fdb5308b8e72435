//! How the person's check stands, and whether the model goes in circles: what the context tells
//! first.

use std::fmt::Write as _;

use super::budget::{self, Claim, Rank};
use super::contents::fenced;
use super::{Section, chars};
use crate::session::{CheckReport, CheckedWhen, Session};

/// What always has room.
const LEAST: usize = 1500;

/// The sections together, whole.
pub(super) struct State(String);

impl State {
    pub(super) fn of(session: &Session) -> Self {
        Self(render(session))
    }
}

impl Section for State {
    fn claims(&self) -> Vec<Claim> {
        let need = chars(&self.0);
        vec![Claim {
            rank: Rank::Failure,
            need,
            least: need.min(LEAST),
        }]
    }

    fn fit(&self, rooms: &[usize], cuts: &mut Vec<String>) -> String {
        let room = rooms.first().copied().unwrap_or_default();
        if chars(&self.0) <= room {
            return self.0.clone();
        }
        cuts.push("the middle of what the check printed".to_owned());
        budget::both_ends(&self.0, room)
    }
}

/// The sections; empty without a check and without circles.
fn render(session: &Session) -> String {
    let circles = circles(session);
    let Some(report) = &session.check else {
        return circles;
    };
    let CheckReport {
        command,
        when,
        outcome,
    } = report;
    let when = match when {
        CheckedWhen::AtStart => "before any change",
        CheckedWhen::AfterRound => "after your last reply",
        CheckedWhen::Before => "in an earlier round; nothing has changed since",
    };
    let mut text = format!(
        "\n## Check\n[{}] `{command}`: {} ({when})\n",
        outcome.status.label(),
        outcome.message
    );
    if report.when != CheckedWhen::Before && !outcome.detail.is_empty() {
        let _ = writeln!(text, "{}", fenced(&outcome.detail.text));
    }
    if session.sequence_number == 1 {
        text.push_str("The user's check runs after each reply that changes something; [DONE] is accepted only when it passes.\n");
    }
    text + &circles
}

/// What the model must hear of going in circles.
fn circles(session: &Session) -> String {
    if session.last_circles.is_empty() {
        return String::new();
    }
    let lines = session
        .last_circles
        .iter()
        .map(|circle| format!("- {circle}.\n"));
    format!("\n## You Go in Circles\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Outcome;
    use crate::session::tests::session;

    #[test]
    fn tells_how_the_check_stands_and_repeats_no_output() {
        let mut session = session("ab12cd34");
        assert_eq!(render(&session), "");
        session.sequence_number = 2;
        session.check = Some(CheckReport {
            command: "make test".to_owned(),
            when: CheckedWhen::AfterRound,
            outcome: Outcome::failed("exit code 2 in 1 s").with_detail("boom\n"),
        });
        assert_eq!(
            render(&session),
            "\n## Check\n[FAILED] `make test`: exit code 2 in 1 s (after your last reply)\n```\nboom\n```\n"
        );
        session.check.as_mut().unwrap().when = CheckedWhen::Before;
        assert!(!render(&session).contains("boom"));
    }
}
