//! Decides from elsewhere what waits for the person in a session.

use super::open::SessionFiles;
use crate::approve::{Pending, Question, Verdict};
use crate::error::{Error, Result};
use crate::protocol::{QuestionKind, SessionId};

/// A question that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhichQuestion {
    /// Every question about a step.
    All,
    /// The number of a step, or the name of a question about none.
    Key(String),
}

/// The questions that wait for a decision; the model's own is answered in words.
pub fn open_questions(files: &SessionFiles, id: &SessionId) -> Vec<Question> {
    let mut open = Pending::of(&files.store.folder(id)).open_questions();
    open.retain(|question| question.kind != QuestionKind::Model);
    open
}

/// Decides questions, each unless somebody was first; returns those that are decided so now.
pub fn decide(
    files: &SessionFiles,
    id: &SessionId,
    which: &[WhichQuestion],
    verdict: &Verdict,
) -> Result<Vec<Question>> {
    let chosen = chosen(which, open_questions(files, id), id)?;
    if *verdict == Verdict::Always {
        ensure_rules_exist(&chosen)?;
    }
    let pending = Pending::of(&files.store.folder(id));
    for question in &chosen {
        if !pending.decide(question, verdict)? {
            return Err(decided_already(question));
        }
    }
    Ok(chosen)
}

fn chosen(which: &[WhichQuestion], open: Vec<Question>, id: &SessionId) -> Result<Vec<Question>> {
    if open.is_empty() {
        return Err(
            Error::mendable(format!("nothing waits for your decision in session {id}"))
                .hint("`agent status` shows where it stands")
                .hint("`--session ID` names another session"),
        );
    }
    let waiting: Vec<String> = open.iter().map(Question::key).collect();
    let waiting = waiting.join(", ");
    // What is about no step is named, so that no `all` decides it, unless it is all there is.
    let is_step = |question: &Question| question.name.is_empty();
    let of_steps = open.iter().filter(|question| is_step(question)).count();
    let is_single = of_steps == 1 || of_steps == 0 && open.len() == 1;
    let means_all = which.contains(&WhichQuestion::All);
    if means_all && of_steps > 0 || which.is_empty() && is_single {
        let is_meant = |question: &Question| of_steps == 0 || is_step(question);
        return Ok(open.into_iter().filter(is_meant).collect());
    }
    if which.is_empty() || means_all {
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
    let missing = which.iter().find_map(|which| match which {
        WhichQuestion::Key(key) if !has(key) => Some(key),
        _ => None,
    });
    if let Some(key) = missing {
        return Err(
            Error::mendable(format!("{} does not wait for your decision", named(key)))
                .hint(format!("these do: {waiting}")),
        );
    }
    let is_meant = |question: &Question| which.contains(&WhichQuestion::Key(question.key()));
    Ok(open.into_iter().filter(is_meant).collect())
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
    let what = named(&question.key());
    Error::mendable(format!("{what} has been decided already"))
        .hint("whoever decides first wins; `agent status` shows where it stands")
}
