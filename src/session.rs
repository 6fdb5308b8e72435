//! A session: what was asked, where it stands, and what the next outbox must tell.
//!
//! The file `sessions/<id>.json` holds no more than the next outbox needs, so that saving it costs
//! the same in the thousandth round as in the first. What happened on the way is in the journal.

mod check;
mod choices;
mod circles;
mod clock;
mod created;
mod events;
mod find;
mod history;
mod journal;
mod lock;
mod notes;
mod past;
mod planning;
mod printed;
mod recap;
mod store;
mod summary;
mod told;
mod usage;

use std::collections::{BTreeSet, VecDeque};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use self::check::{CheckReport, CheckedWhen};
pub use self::choices::Choices;
pub use self::circles::{Circle, Circles};
pub use self::clock::now;
pub use self::events::{EventLog, EventReader};
pub use self::history::{Checkpoint, History, ReversalDirection};
pub use self::journal::{
    CheckProgress, ClaimedReply, Journal, JournalEnd, JsonDelta, KeptSession, MissingRecords,
    Record, Recovered, Sync,
};
pub use self::lock::{Holder, LoopLock, RoundLock, lock_soon, open_lock};
pub use self::notes::{Note, Notes, Source, is_reversal_note};
pub use self::past::{Past, PastRound};
pub use self::planning::{PlanNews, Planning};
pub use self::printed::Printed;
pub use self::recap::{Named, Recap, RoundRecap};
pub use self::store::Store;
pub use self::summary::{Count, State, Summary, title};
pub use self::usage::UsageTotals;
use crate::protocol::{EndMark, ReadRequest, RelPath, SeenFiles, SessionId, Status, StepResult};
use crate::protocol::{Issue, TruncatedReply};

/// The version of the session file; a newer one is not guessed at.
pub const SCHEMA: u32 = 1;

/// How many earlier replies are remembered, to know one that is pasted again.
const REMEMBERED_REPLIES: usize = 50;

/// How many changed files are remembered.
pub const REMEMBERED_FILES: usize = 1_000;

/// How many further instructions are remembered.
const REMEMBERED_INSTRUCTIONS: usize = 10;

/// Of how many rounds the session knows the checkpoints; these are kept when the store is tidied.
const REMEMBERED_CHECKPOINTS: usize = 50;

/// The state of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Session {
    /// The version of this file's form.
    pub schema: u32,
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
    /// The results of the last reply's steps.
    pub last_results: Vec<StepResult>,
    /// The parts of the last reply that could not be used.
    #[serde(default)]
    pub last_issues: Vec<Issue>,
    /// Repairs that changed the body of a command, in words.
    #[serde(default)]
    pub last_repairs: Vec<String>,
    /// Where the last reply was cut off.
    #[serde(default)]
    pub last_cut: Option<CutReply>,
    /// True if the last reply ended between two commands and without its end mark.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_end: bool,
    /// The files whose contents the next outbox shows.
    pub read_file_requests: Vec<ReadRequest>,
    /// The person's notes for the next message.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Questions of the model; the next outbox tells the answers.
    #[serde(default)]
    pub questions: Vec<ModelQuestion>,
    /// The model's latest plan.
    #[serde(default)]
    pub plan: Option<String>,
    /// If the plan must be approved before anything is changed, and if it was.
    #[serde(default)]
    pub planning: Planning,
    /// The person's last decision about a plan.
    #[serde(default)]
    pub plan_news: Option<PlanNews>,
    /// How the model summed up its work.
    #[serde(default)]
    pub summary: Option<String>,
    /// How much of the instructions the next outbox carries.
    pub instructions: Instructions,
    /// How much the chat has to remember, messages and replies of the rounds before, in estimated tokens.
    #[serde(default)]
    pub chat_tokens: usize,
    /// The memory that notices a session going in circles.
    #[serde(default)]
    pub circles: Circles,
    /// Circles that the last round showed, in words for the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_circles: Vec<String>,
    /// How the person's check stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckReport>,
    /// A check that could not run when the session began, and that the person goes on without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waived_check: Option<String>,
    /// The person's choices by flag, which hold until another flag.
    #[serde(default, skip_serializing_if = "Choices::is_empty")]
    pub choices: Choices,
    /// True if its runner has kept files elsewhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_files_elsewhere: bool,
    /// How many steps since the last instruction were refused because nobody could be asked.
    #[serde(default)]
    pub undecided_steps: u32,
    /// The reason why the latest command since the last instruction could not be started; none if a later
    /// one ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unstarted_command: Option<String>,
    /// True if a commit is made after each round that passes the check.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub commits_rounds: bool,
    /// The permissions that were in force when it began: later calls permit no more, unless a flag
    /// says so. Nothing in sessions of version 0.1.0.
    #[serde(default, skip_serializing_if = "Choices::is_empty")]
    pub permissions: Choices,
    /// Where it works: from the base directory where one lies in the other, else absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The repository outside of the workspace that it belonged to when the session began, from the
    /// workspace: its git directory, and that of the worktree. Nothing in sessions of version 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside_repository: Option<Vec<String>>,
    /// The machine and its tools, in two lines for the model. Nothing in sessions of version 0.1.0.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub environment: String,
    /// The sandbox of its commands when it last ran.
    #[serde(default)]
    pub sandbox: Option<String>,
    /// True if the person allowed the network for the rest of the session.
    #[serde(default)]
    pub network_granted: bool,
    /// The state of each file as the model last saw it.
    #[serde(default)]
    pub seen: SeenFiles,
    /// The files that its rounds changed, as far as there are not too many to remember. A command can
    /// give a file any name, so these are no paths that a step could have.
    #[serde(default)]
    pub changed_files: BTreeSet<String>,
    /// Identities of the latest replies, oldest first.
    #[serde(default)]
    pub replies: VecDeque<String>,
    /// The workspace around the latest rounds that changed it, oldest first.
    #[serde(default)]
    pub checkpoints: VecDeque<Checkpoint>,
    /// A summary of the latest rounds.
    #[serde(default)]
    pub history: Recap,
    /// Follow-up tasks, the latest last.
    #[serde(default)]
    pub further: VecDeque<Further>,
}

/// A follow-up task, given when the session was resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Further {
    /// The outbox that told it first.
    pub sequence: u32,
    /// The text.
    pub text: String,
}

/// How much of the instructions an outbox carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Instructions {
    /// All of them: in the first outbox, and after a reply that broke the format.
    Full,
    /// A few lines, because the chat has seen the rest.
    Reminder,
}

/// A question of the model to the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelQuestion {
    /// The question.
    pub question: String,
    /// The person's answer, if there is one.
    pub answer: Option<String>,
}

/// A reply that ended too early, and what of it was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutReply {
    /// The round that it answered.
    pub sequence: u32,
    /// Where it ended.
    pub cut: TruncatedReply,
    /// Identities of the steps that were executed: the whole reply may still come.
    pub done: Vec<String>,
}

/// Returns true if a step can have this name, so that the model is told it.
pub fn is_writable(name: &str) -> bool {
    RelPath::parse(name).is_ok_and(|path| path.as_str() == name)
}

impl Session {
    /// Begins a session.
    pub fn new(id: SessionId, task: String, max_rounds: u32, now: Timestamp) -> Self {
        Self {
            schema: SCHEMA,
            session_id: id,
            task,
            sequence_number: 1,
            is_complete: false,
            created_at: now,
            updated_at: now,
            round_limit: max_rounds,
            last_results: Vec::new(),
            last_issues: Vec::new(),
            last_repairs: Vec::new(),
            last_cut: None,
            lacks_end: false,
            read_file_requests: Vec::new(),
            notes: Vec::new(),
            questions: Vec::new(),
            plan: None,
            planning: Planning::Off,
            plan_news: None,
            summary: None,
            instructions: Instructions::Full,
            chat_tokens: 0,
            circles: Circles::default(),
            last_circles: Vec::new(),
            check: None,
            waived_check: None,
            choices: Choices::default(),
            has_files_elsewhere: false,
            undecided_steps: 0,
            unstarted_command: None,
            commits_rounds: false,
            permissions: Choices::default(),
            workspace: None,
            outside_repository: None,
            environment: String::new(),
            sandbox: None,
            network_granted: false,
            seen: SeenFiles::default(),
            changed_files: BTreeSet::new(),
            replies: VecDeque::new(),
            checkpoints: VecDeque::new(),
            history: Recap::default(),
            further: VecDeque::new(),
        }
    }

    /// The mark that ends a reply to the current outbox.
    pub fn end_mark(&self) -> EndMark {
        EndMark {
            session: self.session_id.clone(),
            sequence: self.sequence_number,
        }
    }

    /// The decision about the plan, as the current message reports it.
    pub fn plan_word(&self) -> Option<&str> {
        let news = self.plan_news.as_ref()?;
        (news.sequence == self.sequence_number).then_some(&news.text)
    }

    /// True if all its rounds are used up.
    pub fn is_at_limit(&self) -> bool {
        self.sequence_number > self.round_limit
    }

    /// The first question that nobody has answered.
    pub fn open_question(&mut self) -> Option<&mut ModelQuestion> {
        self.questions
            .iter_mut()
            .find(|question| question.answer.is_none())
    }

    /// True if the check still cannot run, and the person said to go on without it.
    pub fn goes_without_check(&self) -> bool {
        let is_set_aside = |report: &CheckReport| {
            report.outcome.status == Status::Skipped
                && self.waived_check.as_ref() == Some(&report.command)
        };
        self.check.as_ref().is_some_and(is_set_aside)
    }

    /// Remembers what the last round did: what its results say, and which files changed besides.
    pub fn remember_round(&mut self, changed_besides: Vec<String>) {
        let results = self.last_results.iter();
        let told = results.flat_map(|result| result.outcome.changed.iter());
        let mut changed: Vec<String> = Vec::new();
        let mut known = BTreeSet::new();
        for path in told.map(ToString::to_string).chain(changed_besides) {
            if known.insert(path.clone()) {
                changed.push(path);
            }
        }
        let names = changed.iter().filter(|name| is_writable(name)).cloned();
        let round = self.sequence_number.saturating_sub(1);
        let recap = RoundRecap::of(round, names, &self.last_results, &self.last_issues);
        self.history.remember(recap);
        for path in changed {
            if self.changed_files.len() >= REMEMBERED_FILES {
                break;
            }
            self.changed_files.insert(path);
        }
    }

    /// Takes what the person wants beyond the task; a session that has ended goes on.
    pub fn instruct(&mut self, text: String) {
        self.undecided_steps = 0;
        self.unstarted_command = None;
        if self.is_complete {
            self.is_complete = false;
            // The chat may be another by now, or have forgotten.
            self.instructions = Instructions::Full;
        }
        if self.further.len() == REMEMBERED_INSTRUCTIONS {
            self.further.pop_front();
        }
        self.further.push_back(Further {
            sequence: self.sequence_number,
            text,
        });
    }

    /// Remembers the identity of a reply, so that it is known when it comes again.
    pub fn remember_reply(&mut self, identity: String) {
        if self.replies.len() == REMEMBERED_REPLIES {
            self.replies.pop_front();
        }
        self.replies.push_back(identity);
    }
}

impl Session {
    /// Remembers the workspace around a round that changed it.
    pub fn remember_checkpoint(&mut self, checkpoint: Checkpoint) {
        if self.checkpoints.len() == REMEMBERED_CHECKPOINTS {
            self.checkpoints.pop_front();
        }
        self.checkpoints.push_back(checkpoint);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn session(id: &str) -> Session {
        let id = SessionId::parse(id).unwrap();
        Session::new(id, "make it work".to_owned(), 20, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn keeps_the_fields_that_scripts_rely_on() {
        let json = serde_json::to_value(session("ab12cd34")).unwrap();
        for field in [
            "schema",
            "sessionId",
            "task",
            "sequenceNumber",
            "isComplete",
            "createdAt",
            "updatedAt",
            "lastResults",
            "readFileRequests",
        ] {
            assert!(json.get(field).is_some(), "{field}");
        }
    }

    #[test]
    fn remembers_a_bounded_number_of_replies() {
        let mut session = session("ab12cd34");
        for number in 0..1000 {
            session.remember_reply(number.to_string());
        }
        assert_eq!(session.replies.len(), REMEMBERED_REPLIES);
        assert_eq!(session.replies.back().unwrap(), "999");
    }

    #[test]
    fn the_limit_counts_rounds() {
        let mut session = session("ab12cd34");
        session.sequence_number = 20;
        assert!(!session.is_at_limit());
        session.sequence_number = 21;
        assert!(session.is_at_limit());
    }
}
