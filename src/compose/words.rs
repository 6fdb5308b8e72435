//! What was said: the plan, the answers and the notes. Cut last of all.

use std::fmt::Write as _;

use super::budget::{self, Claim, Rank};
use super::{Section, chars};
use crate::session::{Instructions, Planning, Session};

/// What always has room.
const LEAST: usize = 1500;

/// The sections together, whole.
pub(super) struct Words(String);

impl Words {
    pub(super) fn of(session: &Session) -> Self {
        let mut text = String::new();
        text.push_str(&plan(session));
        if !session.questions.is_empty() {
            text.push_str("\n## Answers\n");
            for question in &session.questions {
                let answer = question
                    .answer
                    .as_deref()
                    .unwrap_or("(not answered yet: do what does not depend on it, or ask again)");
                let _ = writeln!(
                    text,
                    "You asked: {}\nThe user says: {}",
                    question.question.trim(),
                    answer.trim()
                );
            }
        }
        if !session.notes.is_empty() {
            text.push_str("\n## A Note from the User\n");
            for note in &session.notes {
                let _ = writeln!(text, "{}", note.trim());
            }
        }
        Self(text)
    }
}

impl Section for Words {
    fn claims(&self) -> Vec<Claim> {
        let need = chars(&self.0);
        vec![Claim {
            rank: Rank::Words,
            need,
            least: need.min(LEAST),
        }]
    }

    fn fit(&self, rooms: &[usize], cuts: &mut Vec<String>) -> String {
        let room = rooms.first().copied().unwrap_or_default();
        if chars(&self.0) <= room {
            return self.0.clone();
        }
        cuts.push("the middle of what you said".to_owned());
        budget::both_ends(&self.0, room)
    }
}

/// The plan where the chat may have forgotten it, and what the person says to it.
fn plan(session: &Session) -> String {
    let word = match session.planning {
        Planning::Proposed => Some(
            "The user has not decided about your plan yet. Change nothing; look at what else matters.",
        ),
        _ => session.plan_word(),
    };
    let is_full = session.instructions == Instructions::Full;
    let plan = session.plan.as_deref().filter(|_| is_full);
    if word.is_none() && plan.is_none() {
        return String::new();
    }
    let lines: Vec<&str> = word.into_iter().chain(plan).map(str::trim).collect();
    format!("\n## Plan\n{}\n", lines.join("\n\n"))
}
