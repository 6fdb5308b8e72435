//! A session as a person reads it afterwards: what was sent, what came, what was done.
//!
//! It is gathered from the journal, `outbox/` and `inbox/processed/`, and nothing is changed. What
//! is missing there is missing here. Before a transcript leaves the machine all its texts pass
//! through `Transcript::redacted`, the one place that sees every one of them.

mod html;
mod markdown;

use std::collections::VecDeque;
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use crate::checkpoint::{CheckpointStore, DiffLimits};
use crate::error::Result;
use crate::mailbox::{Mailbox, has_calls, read_calls};
use crate::protocol::{Command, CommandKind, Issue, SessionId, Status, Step, StepResult};
use crate::reply::{self, Reply};
use crate::session::{
    Checkpoint, Further, ModelQuestion, Past, PastRound, Session, Store, UsageTotals,
    is_reversal_note,
};
use crate::unseen::is_unseen;

pub use self::html::html;
pub use self::markdown::markdown;

/// A session and its rounds.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Transcript {
    /// Its name.
    pub id: SessionId,
    /// The task.
    pub task: String,
    /// Follow-up tasks.
    #[serde(skip_serializing_if = "VecDeque::is_empty")]
    pub further: VecDeque<Further>,
    /// From which session it was forked, and after which of its rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkOrigin>,
    /// True if it has ended.
    pub is_complete: bool,
    /// How the model summed up its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it was last saved.
    pub updated_at: Timestamp,
    /// The tokens and costs of APIs; `None` if it used none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageTotals>,
    /// The rounds, in their order; the last one may wait for its reply.
    pub rounds: Vec<Round>,
    /// How many lines of the journal could not be read.
    #[serde(skip_serializing_if = "is_zero")]
    pub unreadable_lines: usize,
}

/// Where a fork comes from.
#[derive(Debug, Clone, Serialize)]
pub struct ForkOrigin {
    /// The session.
    pub session: SessionId,
    /// The round after which they differ.
    pub round: u32,
}

/// A round.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Round {
    /// Its number.
    pub number: u32,
    /// When it was over; nothing if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// True if the person undid it.
    pub is_undone: bool,
    /// The message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Letter>,
    /// The reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<Letter>,
    /// The tokens and costs of the API that answered it; `None` if a person carried it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageTotals>,
    /// The text around the commands.
    pub prose: String,
    /// Words of the model in commands: plans, messages, questions, the summary.
    pub said: Vec<Said>,
    /// The results of its steps.
    pub results: Vec<StepResult>,
    /// The parts of the reply that could not be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<Issue>,
    /// The model's questions and the person's answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<ModelQuestion>,
    /// The person's notes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Its changes as a unified diff; `None` if there are none or they are no longer known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    #[serde(skip)]
    checkpoint: Option<Checkpoint>,
}

/// A message or a reply.
#[derive(Debug, Clone, Serialize)]
pub struct Letter {
    /// The name of its file.
    pub file: String,
    /// The text.
    pub text: String,
}

/// A word of the model to the person.
#[derive(Debug, Clone, Serialize)]
pub struct Said {
    /// The number of its command.
    pub number: u32,
    /// The command, such as `PLAN`.
    pub command: CommandKind,
    /// The text.
    pub text: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Transcript {
    /// Gathers the rounds of a session, or only one of them.
    pub fn gather(
        session: &Session,
        store: &Store,
        mailbox: &Mailbox,
        only: Option<u32>,
    ) -> Result<Self> {
        let wanted = |number: u32| only.is_none_or(|only| only == number);
        Self::gather_some(session, store, mailbox, wanted)
    }

    /// Gathers the rounds that are wanted; messages and replies of the others are not read.
    pub fn gather_some(
        session: &Session,
        store: &Store,
        mailbox: &Mailbox,
        wanted: impl Fn(u32) -> bool,
    ) -> Result<Self> {
        let past = store.past(&session.session_id)?;
        let id = &session.session_id;
        let mut rounds: Vec<Round> = past
            .rounds
            .iter()
            .filter(|round| wanted(round.number))
            .map(|round| Round::gather(round, &past, mailbox, id))
            .collect();
        let current = session.sequence_number;
        let is_over = past
            .rounds
            .last()
            .is_some_and(|last| last.number >= current);
        if !session.is_complete && !is_over && wanted(current) {
            // Of calls each result is told at once; of a reply they are told together.
            let is_open = |round: &PastRound| {
                round.number == current && round.file.as_deref().is_some_and(has_calls)
            };
            let round = past.under_way.clone().filter(is_open);
            let round = round.unwrap_or_else(|| PastRound {
                number: current,
                ..PastRound::default()
            });
            rounds.push(Round::gather(&round, &past, mailbox, id));
        }
        let booked = store.usage_records(id).unwrap_or_default();
        for round in &mut rounds {
            let of_round = booked.iter().filter(|record| record.round == round.number);
            let usage = UsageTotals::of(of_round);
            round.usage = (usage.requests > 0).then_some(usage);
        }
        Ok(Self {
            usage: (!booked.is_empty()).then(|| UsageTotals::of(&booked)),
            id: id.clone(),
            task: session.task.clone(),
            further: session.further.clone(),
            forked_from: past
                .origin
                .map(|(session, round)| ForkOrigin { session, round }),
            is_complete: session.is_complete,
            summary: session.summary.clone(),
            created_at: session.created_at,
            updated_at: session.updated_at,
            rounds,
            unreadable_lines: past.unreadable,
        })
    }

    /// Adds the changes of each round, as far as its checkpoints still exist.
    #[must_use]
    pub fn with_diffs(mut self, objects: &Path, limits: &DiffLimits) -> Self {
        let Ok(mut checkpoints) = CheckpointStore::open(objects) else {
            return self;
        };
        for round in &mut self.rounds {
            round.diff = round.checkpoint.and_then(|checkpoint| {
                let diff = checkpoints.diff(&checkpoint.before, &checkpoint.after, limits);
                diff.ok().filter(|diff| !diff.is_empty())
            });
        }
        self
    }

    /// Passes every text through a function.
    #[must_use]
    pub fn redacted(mut self, redact: &dyn Fn(&str) -> String) -> Self {
        let clean = |text: &mut String| *text = redact(text);
        clean(&mut self.task);
        self.summary.iter_mut().for_each(clean);
        for further in &mut self.further {
            clean(&mut further.text);
        }
        for round in &mut self.rounds {
            round.each_text(&clean);
        }
        self
    }
}

/// Reads a reply that came as a whole, or call by call.
fn read(name: &str, bytes: &[u8]) -> (String, Reply) {
    if !has_calls(name) {
        return reply::read(bytes);
    }
    let steps = read_calls(bytes);
    let text = String::from_utf8_lossy(bytes).into_owned();
    let reply = Reply {
        steps,
        ..Reply::default()
    };
    (text, reply)
}

impl Round {
    fn gather(round: &PastRound, past: &Past, mailbox: &Mailbox, id: &SessionId) -> Self {
        let reply = (round.file.as_ref()).and_then(|file| mailbox.processed_reply(file));
        let parsed = reply.as_ref().map(|(name, bytes)| read(name, bytes));
        let (text, parsed) = parsed.unzip();
        let (prose, steps) = parsed.map(|reply| (reply.prose, reply.steps)).unzip();
        Self {
            number: round.number,
            ended_at: round.ended_at,
            is_undone: past.history.is_undone(round.number),
            usage: None,
            message: mailbox
                .message(id, round.number)
                .map(|(file, text)| Letter { file, text }),
            reply: reply
                .zip(text)
                .map(|((file, _), text)| Letter { file, text }),
            prose: prose.unwrap_or_default(),
            said: steps.unwrap_or_default().iter().filter_map(said).collect(),
            results: round.results.clone(),
            issues: round.issues.clone(),
            questions: round.questions.clone(),
            notes: round.notes.clone(),
            diff: None,
            checkpoint: past.history.round(round.number),
        }
    }

    /// True if some of its calls are done, and more may come.
    pub fn is_under_way(&self) -> bool {
        self.ended_at.is_none() && self.reply.is_some()
    }

    /// The words of the person for the next message; of undone rounds the rounds themselves tell.
    pub fn own_notes(&self) -> impl Iterator<Item = &String> {
        self.notes.iter().filter(|note| !is_reversal_note(note))
    }

    /// True if it changed files.
    pub fn changed_files(&self) -> bool {
        self.checkpoint.is_some()
    }

    /// The results but for words of the model that were only shown, which are told in full.
    pub(crate) fn done(&self) -> impl Iterator<Item = &StepResult> {
        let is_told = |result: &StepResult| {
            let mut said = self.said.iter();
            result.outcome.status == Status::Ok && said.any(|said| said.number == result.number)
        };
        self.results.iter().filter(move |result| !is_told(result))
    }

    /// The words of the model but for the summary with which it ends the session.
    pub(crate) fn said_before_end(&self) -> impl Iterator<Item = &Said> {
        self.said.iter().filter(|said| !said.is_end())
    }

    pub(crate) fn answers(&self) -> impl Iterator<Item = &str> {
        let questions = self.questions.iter();
        questions.filter_map(|question| question.answer.as_deref())
    }

    fn each_text(&mut self, clean: &dyn Fn(&mut String)) {
        for letter in self.message.iter_mut().chain(&mut self.reply) {
            clean(&mut letter.text);
        }
        clean(&mut self.prose);
        for said in &mut self.said {
            clean(&mut said.text);
        }
        for result in &mut self.results {
            clean(&mut result.subject);
            result.outcome.texts_mut().for_each(clean);
        }
        for issue in &mut self.issues {
            clean(&mut issue.message);
            clean(&mut issue.hint);
        }
        for question in &mut self.questions {
            clean(&mut question.question);
            question.answer.iter_mut().for_each(clean);
        }
        self.notes.iter_mut().for_each(clean);
        self.diff.iter_mut().for_each(clean);
    }
}

fn said(step: &Step) -> Option<Said> {
    let text = match &step.command {
        Command::Plan { text } | Command::Message { text } => text,
        Command::AskUser { question } => question,
        Command::Done { summary } => summary,
        _ => return None,
    };
    Some(Said {
        number: step.number,
        command: step.command.kind(),
        text: text.clone(),
    })
}

impl Said {
    /// Its heading for the person.
    pub(crate) fn heading(&self) -> &'static str {
        match self.command {
            CommandKind::Plan => "Plan",
            CommandKind::AskUser => "The model asks",
            CommandKind::Done => "Done",
            _ => "The model says",
        }
    }

    /// Returns true for the summary with which the model ends the session.
    pub(crate) fn is_end(&self) -> bool {
        self.command == CommandKind::Done
    }
}

/// True if a character would act on a terminal, or make one text look like another.
///
/// Joiners and variation selectors stay: words and emoji are made of them.
fn is_hidden(character: char) -> bool {
    let joins = matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
    character.is_control() || is_unseen(character) && !joins
}

/// The beginning and the end of a long text.
pub(crate) fn middle_out(text: &str, max_chars: usize) -> String {
    let total = text.chars().count();
    if total <= max_chars {
        return text.to_owned();
    }
    let head: String = text.chars().take(max_chars / 3).collect();
    let rest = max_chars - max_chars / 3;
    let tail: String = text.chars().skip(total - rest).collect();
    let omitted = total - max_chars;
    format!("{head}\n[{omitted} characters left out]\n{tail}")
}
