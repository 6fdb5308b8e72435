//! One task, carried on by a process of its own: a crash, a kill and the locks of one task are no
//! matter of the others.
//!
//! The process reads a [`JobOrder`] from its standard input, which stays open: a line there says that
//! the batch has used up what it may, and its end stops the job, as Ctrl-C would. So nothing works on
//! when the batch is killed. What happens goes back as [`JobNews`].
//!
//! A job may be begun again at any time: the session on the disk decides if it begins, goes on or is
//! over.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::super::commit;
use super::super::run::{self, ContextRequest, Ending};
use super::super::{Caller, GivenFlags};
use super::record::{is_at_work, session_in, unstarted};
use super::worktree::TaskWorktree;
use crate::approve::{Answer, Attending, Input, Pending, Person, Question};
use crate::courier::api::Allowance;
use crate::error::{Error, ExitKind, Result};
use crate::fs::{create_directory, own_directory};
use crate::interrupt::Interrupt;
use crate::protocol::{ApiNews, Event, EventSink, SessionId};
use crate::session::Session;
use crate::settings::Key;

/// The line that tells a job that the batch has used up what it may.
pub const SPENT: &str = "spent";

/// The instruction for a session that the model has ended though steps of it were refused.
const TRY_AGAIN: &str = "Some of your steps were refused because nobody could be asked. They may be \
    allowed now: do what is still missing, and then finish.";

/// The instruction for a session that the model has ended though a command could not be started.
const RUN_AGAIN: &str = "Some of your commands could not be started. They may start now: do what is \
    still missing, and then finish.";

/// How long a job waits for another process that works in the base directory: one of a batch that was
/// killed is about to stop.
const LEAVING: Duration = Duration::from_secs(30);

/// A task, as its job gets it.
#[derive(Debug, Serialize, Deserialize)]
pub struct JobOrder {
    pub(super) id: String,
    pub(super) task: String,
    /// The folder of the task.
    pub(super) folder: PathBuf,
    pub(super) base: PathBuf,
    pub(super) place: JobPlace,
    pub(super) commits: bool,
    /// The session, if one is known.
    pub(super) session: Option<SessionId>,
    /// True if a session that is done goes on, if steps of it were refused.
    pub(super) retries: bool,
    /// Settings by their flags.
    pub(super) settings: Vec<(String, String)>,
}

/// Where a job works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum JobPlace {
    Directory(PathBuf),
    Worktree(PathBuf),
}

/// News of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobNews {
    /// The session began or goes on.
    Session(SessionId),
    /// A message of this round is out.
    Round(u32),
    /// The session has taken so much by now.
    Spent {
        /// All tokens.
        tokens: u64,
        /// The costs, if a price is known.
        cost_micros: Option<u64>,
    },
    /// The job is over.
    Ended(JobEnd),
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobEnd {
    /// The session is done.
    Done,
    /// Its rounds are used up.
    RoundLimit,
    /// It reached a limit of its own, in these words.
    OwnLimit(String),
    /// The batch has used up what it may.
    BatchLimit,
    /// It was stopped.
    Interrupted,
    /// It cannot go on.
    Failed {
        /// The error.
        message: String,
        /// Suggestions for the next action.
        hints: Vec<String>,
    },
}

/// Carries a task on until it ends or is stopped.
///
/// `tell` gets the news; `allowance` is what the batch may still spend.
pub fn carry(
    caller: &Caller,
    order: &JobOrder,
    allowance: &Allowance,
    tell: impl Fn(JobNews) + Send + Sync + 'static,
) -> JobEnd {
    match carried(caller, order, allowance, Arc::new(tell)) {
        Ok(Ending::Done) => JobEnd::Done,
        Ok(Ending::RoundLimit) => JobEnd::RoundLimit,
        Ok(Ending::Interrupted | Ending::Stepped | Ending::Rejected) => JobEnd::Interrupted,
        Err(error) => match error.kind() {
            ExitKind::Interrupted => JobEnd::Interrupted,
            ExitKind::RoundLimit if allowance.is_used_up() => JobEnd::BatchLimit,
            ExitKind::RoundLimit => JobEnd::OwnLimit(error.to_string()),
            _ => failed(&error),
        },
    }
}

fn failed(error: &Error) -> JobEnd {
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        message = format!("{message}: {inner}");
        cause = inner.source();
    }
    JobEnd::Failed {
        message,
        hints: error.hints().to_vec(),
    }
}

fn carried(
    caller: &Caller,
    order: &JobOrder,
    allowance: &Allowance,
    tell: Arc<dyn Fn(JobNews) + Send + Sync>,
) -> Result<Ending> {
    own_directory(&order.base)?;
    let workspace = order.workspace()?;
    let caller = Caller {
        base: Some(order.base.clone()),
        flags: order.flags(workspace)?,
        person: Arc::new(JobPerson(tell)),
        ..caller.clone()
    };
    wait_for_predecessor(order, &caller.interrupt)?;
    let known = session_in(&order.base, order.session.as_ref());
    if let Some((session, _)) = known.as_ref().filter(|(session, _)| session.is_complete) {
        if !run::fetch_results(&caller, session.session_id.as_str())? {
            return Err(elsewhere());
        }
        if instruction_again(order, session).is_none() {
            return Ok(Ending::Done);
        }
    }
    if order.commits {
        commit::ensure_possible(&caller)?;
    }
    let mut held = match known {
        Some((session, _)) if session.is_complete => {
            let held = run::reopen(&caller, Some(session.session_id.as_str()))?;
            let instruction = instruction_again(order, &session).unwrap_or(TRY_AGAIN);
            match held.instruct(&caller, instruction, &ContextRequest::default())? {
                Some(held) => held,
                None => return Ok(Ending::Interrupted),
            }
        }
        Some((session, _)) => run::resume(&caller, Some(session.session_id.as_str()))?,
        None => run::begin(&caller, &order.task, &ContextRequest::default())?,
    };
    if !held.is_carried_by_api() {
        return Err(Error::mendable("no API carries this task").hint("name one with `--api`"));
    }
    if order.commits {
        held.commit_rounds()?;
    }
    held.ask_within(allowance);
    match held.run()? {
        Ending::Interrupted => Ok(Ending::Interrupted),
        _ if held.awaits_results() => Err(elsewhere()),
        ending => Ok(ending),
    }
}

/// The instruction with which a session goes on that the model has ended; none if it stays as it is.
fn instruction_again(order: &JobOrder, session: &Session) -> Option<&'static str> {
    if unstarted(session).is_some() {
        return Some(RUN_AGAIN);
    }
    (order.retries && session.undecided_steps > 0).then_some(TRY_AGAIN)
}

/// The session has ended, and what its commands changed is still where they ran.
fn elsewhere() -> Error {
    Error::mendable("its results have not come back from the runner")
        .hint("run the batch again when the runner can be reached: it takes them")
}

/// Waits until no other process works in the base directory.
fn wait_for_predecessor(order: &JobOrder, interrupt: &Interrupt) -> Result<()> {
    let since = Instant::now();
    while is_at_work(&order.base) && since.elapsed() < LEAVING {
        if interrupt.is_raised() {
            return Err(Error::new(ExitKind::Interrupted, "interrupted"));
        }
        // Nothing tells that a lock is given back but the lock itself.
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

impl JobOrder {
    /// The directory that the model works in, which is made first if it is the task's own.
    fn workspace(&self) -> Result<PathBuf> {
        match &self.place {
            JobPlace::Directory(directory) => {
                if directory.starts_with(&self.base) {
                    create_directory(directory)?;
                }
                Ok(directory.clone())
            }
            JobPlace::Worktree(repository) => {
                let worktree = TaskWorktree::of_task(repository, &self.id, &self.folder);
                worktree.ensure()?;
                Ok(worktree.folder)
            }
        }
    }

    /// The settings, and the folders of the base directory whatever the environment says.
    fn flags(&self, workspace: PathBuf) -> Result<GivenFlags> {
        let folders = [
            ("--workspace", workspace),
            ("--inbox", self.base.join("inbox")),
            ("--outbox", self.base.join("outbox")),
            ("--sessions", self.base.join("sessions")),
        ];
        let mut given = Vec::new();
        for (flag, value) in &self.settings {
            let key = Key::with_flag(flag)
                .ok_or_else(|| Error::new(ExitKind::Defect, format!("`{flag}` is no setting")))?;
            given.push((key.flag, value.clone()));
        }
        for (flag, directory) in folders {
            let text = directory.to_str().ok_or_else(|| {
                Error::mendable(format!("`{}` is not UTF-8", directory.display()))
                    .hint("name another folder with `--state`")
            })?;
            given.push((flag, text.to_owned()));
        }
        Ok(GivenFlags { given })
    }
}

/// Nobody: hears what happens, passes on what the batch needs, and answers nothing.
struct JobPerson(Arc<dyn Fn(JobNews) + Send + Sync>);

impl EventSink for JobPerson {
    fn emit(&self, event: Event) {
        match event {
            Event::Session { id, .. } => (self.0)(JobNews::Session(id)),
            Event::Outbox { sequence, .. } => (self.0)(JobNews::Round(sequence)),
            Event::Api(ApiNews::Answered(answer)) => (self.0)(JobNews::Spent {
                tokens: answer.session_tokens,
                cost_micros: answer.session_cost_micros,
            }),
            _ => {}
        }
    }
}

impl Person for JobPerson {
    fn input(&self) -> Input {
        Input::Refuse
    }

    fn is_interactive(&self) -> bool {
        false
    }

    fn ask(&self, _: &Question, _: &Interrupt) -> Answer {
        Answer::Nobody
    }

    fn attend(&self, _: &Pending, _: &[Question], _: &Interrupt) -> Option<Attending> {
        None
    }
}

impl std::fmt::Debug for JobPerson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobPerson").finish_non_exhaustive()
    }
}
