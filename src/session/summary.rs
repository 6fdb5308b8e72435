//! The fields of a session that a list shows.
//!
//! The rest of the file is skipped, and no journal is opened, so that a list of a thousand sessions
//! costs little more than reading their files. A file that is lost or damaged is rebuilt first.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;

use jiff::Timestamp;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{ModelQuestion, REMEMBERED_FILES, SCHEMA, Session, Store};
use crate::error::{Error, Result};
use crate::protocol::SessionId;

/// A session as a list tells it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The version of the file.
    schema: u32,
    /// Its name.
    pub session_id: SessionId,
    /// The task.
    pub task: String,
    /// The number of the current outbox, from 1.
    pub sequence_number: u32,
    /// True if it has ended.
    pub is_complete: bool,
    /// When it began.
    pub created_at: Timestamp,
    /// When it was last saved.
    pub updated_at: Timestamp,
    /// The outbox number at which the round limit stops it.
    pub round_limit: u32,
    /// Questions of the model.
    #[serde(default)]
    questions: Vec<ModelQuestion>,
    /// How many files its rounds changed.
    #[serde(default)]
    pub changed_files: Count,
}

/// The length of a list whose items do not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count(pub usize);

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It has ended.
    Done,
    /// Its rounds are used up.
    AtLimit,
    /// The model asked something.
    Asks,
    /// It waits for a reply.
    Waiting,
}

impl State {
    /// One word for it, or two.
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::AtLimit => "at limit",
            Self::Asks => "asks",
            Self::Waiting => "waiting",
        }
    }
}

impl Summary {
    /// Sums a session up.
    pub fn of(session: &Session) -> Self {
        Self {
            schema: session.schema,
            session_id: session.session_id.clone(),
            task: session.task.clone(),
            sequence_number: session.sequence_number,
            is_complete: session.is_complete,
            created_at: session.created_at,
            updated_at: session.updated_at,
            round_limit: session.round_limit,
            questions: session.questions.clone(),
            changed_files: Count(session.changed_files.len()),
        }
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        let is_open = |question: &ModelQuestion| question.answer.is_none();
        if self.is_complete {
            State::Done
        } else if self.sequence_number > self.round_limit {
            State::AtLimit
        } else if self.questions.iter().any(is_open) {
            State::Asks
        } else {
            State::Waiting
        }
    }

    /// The round that it is in, or the last one of a session that waits for no reply.
    pub fn current_round(&self) -> u32 {
        match self.state() {
            State::Done | State::AtLimit => self.rounds(),
            State::Asks | State::Waiting => self.sequence_number,
        }
    }

    /// How many rounds are over.
    pub fn rounds(&self) -> u32 {
        self.sequence_number.saturating_sub(1)
    }

    /// The title of the task.
    pub fn title(&self) -> &str {
        title(&self.task)
    }
}

/// The first sentence of a task, or what of it stands on its line. A Markdown heading is skipped
/// where something follows it.
pub fn title(task: &str) -> &str {
    let mut lines = (task.lines())
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let is_heading = |line: &&str| line.starts_with('#') || line.chars().all(|c| "=-".contains(c));
    let line = if first.starts_with('#') {
        lines.find(|line| !is_heading(line)).unwrap_or(first)
    } else {
        first
    };
    let mut ends = line.match_indices(['.', '!', '?']).map(|(at, _)| at + 1);
    // `e.g. x` and `v1. 2` do not end a sentence: a capital follows.
    let is_end = |at: &usize| {
        let mut rest = line[*at..].chars();
        rest.next() == Some(' ') && rest.next().is_some_and(char::is_uppercase)
    };
    ends.find(is_end).map_or(line, |end| &line[..end])
}

impl Count {
    /// The number, with a `+` where no more were remembered.
    pub fn words(self) -> String {
        let more = if self.0 >= REMEMBERED_FILES { "+" } else { "" };
        format!("{}{more}", self.0)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items;
        impl<'de> Visitor<'de> for Items {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Count, A::Error> {
                let mut count = 0;
                while items.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(Count(count))
            }
        }
        deserializer.deserialize_seq(Items)
    }
}

impl Store {
    /// The names of all sessions, sorted; no file is opened.
    pub fn ids(&self) -> Result<BTreeSet<SessionId>> {
        let entries = fs::read_dir(self.directory())
            .map_err(|cause| Error::file("read", self.directory(), cause))?;
        let mut ids = BTreeSet::new();
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            let id = name
                .strip_suffix(".journal.jsonl")
                .or_else(|| name.strip_suffix(".json"));
            ids.extend(id.and_then(|id| SessionId::parse(id).ok()));
        }
        Ok(ids)
    }

    /// All sessions in short, the latest first; those that cannot be read are named instead.
    pub fn summaries(&self) -> Result<(Vec<Summary>, Vec<Error>)> {
        let (mut summaries, mut troubles) = (Vec::new(), Vec::new());
        for id in self.ids()? {
            match self.summary(&id) {
                Ok(summary) => summaries.push(summary),
                Err(trouble) => troubles.push(trouble),
            }
        }
        summaries.sort_by_key(|summary| std::cmp::Reverse(summary.updated_at));
        Ok((summaries, troubles))
    }

    /// A session in short.
    pub fn summary(&self, id: &SessionId) -> Result<Summary> {
        let known = fs::read(self.file(id))
            .ok()
            .and_then(|json| serde_json::from_slice::<Summary>(&json).ok())
            .filter(|summary| summary.schema <= SCHEMA);
        match known {
            Some(mut summary) => {
                if let Some(files) = self.reversed_files(id, summary.sequence_number) {
                    summary.changed_files = Count(files.len());
                }
                Ok(summary)
            }
            None => (self.load_or_rebuild(id)).map(|(session, _)| Summary::of(&session)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::session;

    #[test]
    fn the_title_is_the_first_sentence_of_the_task() {
        let case = |task: &str, expected: &str| assert_eq!(title(task), expected, "{task}");
        case(
            "# Instructions\n\nScore a bowling game. It has ten frames.",
            "Score a bowling game.",
        );
        case(
            "Fix e.g. the v1.2 parser, it fails",
            "Fix e.g. the v1.2 parser, it fails",
        );
        case("# Only a heading", "# Only a heading");
        case("one\ntwo", "one");
        case("", "");
    }

    fn store() -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("sessions")).unwrap();
        (directory, store)
    }

    #[test]
    fn the_file_tells_what_the_session_does() {
        let (_directory, store) = store();
        let mut session = session("ab12cd34");
        session.changed_files = ["a", "b"].map(str::to_owned).into();
        session.questions = vec![ModelQuestion {
            question: "Tabs?".to_owned(),
            answer: None,
        }];
        store.save(&session).unwrap();
        let summary = store.summary(&session.session_id).unwrap();
        assert_eq!(summary, Summary::of(&session));
        assert_eq!(summary.changed_files.words(), "2");
        assert_eq!(summary.state(), State::Asks);
    }

    #[test]
    fn states_are_told_apart() {
        let mut session = session("ab12cd34");
        let state = |session: &Session| Summary::of(session).state();
        assert_eq!(state(&session), State::Waiting);
        session.sequence_number = 21;
        assert_eq!(state(&session), State::AtLimit);
        session.is_complete = true;
        assert_eq!(state(&session), State::Done);
    }
}
