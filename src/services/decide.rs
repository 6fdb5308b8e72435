//! Decides from elsewhere what waits for the person in a session.

use super::known;
use super::open::SessionFiles;
use crate::approve::{self, Pending, Question, QuestionOrigin, Verdict};
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
    ensure_undecided(files, id, which)?;
    let chosen = chosen(which, open_questions(files, id), id)?;
    known::take_over(&files.known, &files.base.directory, &files.store, id)?;
    if *verdict == Verdict::Always {
        ensure_rules_exist(&chosen)?;
    }
    // The last one first: a running loop decides at once what follows from an earlier one.
    for question in chosen.iter().rev() {
        decide_one(files, id, question, verdict)?;
    }
    decide_dependents(files, id)?;
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
    let mut open = Pending::of(&files.store.folder(id))
        .open_questions()
        .into_iter();
    let question = open.find(|question| question.key() == key && question.identity() == hash);
    let question = question.ok_or_else(|| {
        Error::mendable("this question is no longer open, or it has changed")
            .hint("nothing was decided; look at the question that is open now")
    })?;
    known::take_over(&files.known, &files.base.directory, &files.store, id)?;
    decide_one(files, id, &question, verdict)?;
    decide_dependents(files, id)?;
    Ok(question)
}

/// Decides what follows from decisions on other steps of the reply, also where no loop is running.
fn decide_dependents(files: &SessionFiles, id: &SessionId) -> Result<()> {
    let pending = Pending::of(&files.store.folder(id));
    let mut steps = pending.all();
    steps.retain(|one| one.kind == QuestionKind::Step && one.origin == QuestionOrigin::Reply);
    approve::decided(&pending, &steps).map(|_| ())
}

fn decide_one(
    files: &SessionFiles,
    id: &SessionId,
    question: &Question,
    verdict: &Verdict,
) -> Result<()> {
    if !question.is_answered_by(verdict) {
        let word = verdict.word();
        let no_answer = Error::usage(format!("`{word}` is no answer to this question"));
        return Err(no_answer);
    }
    if Pending::of(&files.store.folder(id)).decide(question, verdict)? {
        return Ok(());
    }
    Err(decided_already(&question.key()))
}

/// Refuses a question that was decided and that nobody has gone on with since.
fn ensure_undecided(files: &SessionFiles, id: &SessionId, which: &[WhichQuestion]) -> Result<()> {
    let pending = Pending::of(&files.store.folder(id));
    let mut decided = pending.all();
    decided.retain(|question| pending.decision_on(question).is_some());
    let is_named = |question: &&Question| which.contains(&WhichQuestion::Key(question.key()));
    match decided.iter().find(is_named) {
        Some(question) => Err(decided_already(&question.key())),
        None => Ok(()),
    }
}

fn decided_already(key: &str) -> Error {
    let what = named(key);
    Error::mendable(format!("{what} has been decided already, or asked anew"))
        .hint("the first decision counts; `agent status` shows where the session stands")
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
        let what = match (of_steps == open.len(), open.len()) {
            (true, count) => format!("{count} steps wait"),
            (false, 1) => "1 question waits".to_owned(),
            (false, count) => format!("{count} questions wait"),
        };
        // `all` means steps.
        let how = match of_steps {
            0 => "name one",
            _ => "name one, or say `all`",
        };
        return Err(
            Error::mendable(format!("{what} for your decision: {waiting}"))
                .hint(format!("{how}; `agent status` shows them")),
        );
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
