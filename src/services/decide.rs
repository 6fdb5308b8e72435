//! Decides from elsewhere what waits for the person in a session.

use super::known;
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
    known::take_over(&files.known, &files.base.directory, &files.store, id)?;
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

/// Decides the question that the person was shown, by its key and its hash. Refuses if another question
/// stands there by now, or if somebody was first.
pub fn decide_shown(
    files: &SessionFiles,
    id: &SessionId,
    (key, hash): (&str, &str),
    verdict: &Verdict,
) -> Result<Question> {
    let pending = Pending::of(&files.store.folder(id));
    let gone = || {
        Error::mendable("this question is no longer open, or it has changed")
            .hint("nothing was decided; look at the question that is open now")
    };
    let mut open = pending.open_questions().into_iter();
    let question = open.find(|question| question.key() == key && question.identity() == hash);
    let question = question.ok_or_else(gone)?;
    known::take_over(&files.known, &files.base.directory, &files.store, id)?;
    ensure_fits(&question, verdict)?;
    if !pending.decide(&question, verdict)? {
        return Err(decided_already(&question));
    }
    if !pending.was_read(&question) {
        return Err(gone());
    }
    Ok(question)
}

/// Refuses a decision that means nothing for this question.
fn ensure_fits(question: &Question, verdict: &Verdict) -> Result<()> {
    let fits = match verdict {
        Verdict::Say { text } => question.kind == QuestionKind::Model && !text.trim().is_empty(),
        Verdict::Edit { script } => question.is_about_script() && !script.trim().is_empty(),
        Verdict::Always => {
            ensure_rules_exist(std::slice::from_ref(question))?;
            true
        }
        Verdict::AllOfThisRound => question.kind == QuestionKind::Step,
        Verdict::Yes | Verdict::No { .. } | Verdict::Skip | Verdict::Stop => {
            question.kind != QuestionKind::Model
        }
    };
    if fits {
        Ok(())
    } else {
        Err(Error::usage(format!(
            "`{}` is no answer to this question",
            verdict.word()
        )))
    }
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
        .hint("the first decision counts; `agent status` shows where the session stands")
}
