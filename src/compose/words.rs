//! The plan, the answers and the notes. Cut last of all.

use std::fmt::Write as _;

use super::budget::Rank;
use super::passage::Passage;
use crate::session::{Instructions, Planning, Session};

/// The sections together.
pub(super) fn section(session: &Session) -> Passage {
    let mut text = plan(session);
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
    Passage {
        rank: Rank::Words,
        before: text,
        output: String::new(),
        after: String::new(),
        cut: "the middle of what you said",
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
