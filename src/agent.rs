//! The loop: an outbox goes out, a reply comes in, its steps are executed, until the model is done.
//!
//! Everything that the person or the model is told is written to disk first, so the loop can be
//! killed at any moment and continue from there. It does not know how a message travels: it writes
//! `outbox/`, and any file that appears in `inbox/` is a reply.

mod accept;
pub mod added;
pub mod apply;
mod authorize;
mod baseline;
mod calls;
mod check;
mod context;
mod differences;
mod engine;
mod environment;
pub mod fork;
mod handover;
mod instruct;
mod kept_listing;
mod live_output;
mod network;
mod planning;
mod project;
mod publish;
mod questions;
mod recorder;
mod recover;
mod redact;
mod report;
mod round;
mod round_journal;
mod shown_paths;
mod steps;
mod tidy;
pub mod undo;
mod whereabouts;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::accept::{ANYWAY, identity, read_beside_files};
pub use self::authorize::Authorizer;
use self::baseline::Baseline;
pub use self::calls::{AnswerRoom, CallAnswer, CallDesk};
pub use self::check::CheckCommand;
use self::engine::{Engine, Patience};
pub use self::live_output::announce;
pub use self::project::PROJECT_NAMES;
pub use self::publish::message_of;
pub use self::recorder::Recorder;
pub use self::recover::disarm_left;
pub use self::redact::{TextCover, credentials, kept_secrets};
pub use self::shown_paths::ShownPaths;
use crate::approve::{Asker, Pending};
use crate::checkpoint::CheckpointLimits;
use crate::compose::Carriage;
use crate::error::Result;
use crate::execute::Limits;
use crate::interrupt::Interrupt;
use crate::mailbox::{Candidate, Inbox, Mailbox, Notice};
use crate::protocol::{Event, EventSink as _, OnFailure, Recovery, SessionId};
use crate::secrets;
use crate::session::{Choices, Session, Store};
use crate::settings::Chat;
use crate::workspace::Workspace;

/// All that a session works with; it outlives the session.
#[derive(Debug)]
pub struct Agent {
    /// The directory of settings, mailbox and sessions.
    pub base: PathBuf,
    /// The files that the model works on.
    pub workspace: Workspace,
    /// Where messages go out and come in.
    pub mailbox: Mailbox,
    /// Where sessions are kept.
    pub store: Store,
    /// The bounds of what steps may do.
    pub limits: Limits,
    /// The limits of checkpoints, and so of undo.
    pub covered: CheckpointLimits,
    /// The bounds of what an outbox may hold, and how failures are taken.
    pub manner: Manner,
    /// Who hears what happens, and is asked.
    pub person: Arc<Recorder>,
    /// The person's wish to stop.
    pub interrupt: Interrupt,
}

/// How the loop goes about its work.
#[derive(Debug)]
pub struct Manner {
    /// Decides what may be executed.
    pub authorizer: Authorizer,
    /// Finds secrets in messages; `None` if messages are sent unredacted.
    pub secrets: Option<secrets::Scanner>,
    /// The command that decides if the work is good, if the person set one.
    pub check: Option<CheckCommand>,
    /// The settings that the person chose by flag for this session, now or in an earlier call.
    pub choices: Choices,
    /// The permissions in force, for a session that begins.
    pub permissions: Choices,
    /// The fate of the commands of a reply after one of its changes failed.
    pub on_failure: OnFailure,
    /// The chat that the person uses.
    pub chat: &'static Chat,
    /// True if the chat remembers earlier messages.
    pub keeps_context: bool,
    /// How messages are carried to it.
    pub carriage: Carriage,
    /// The API that carries messages in place of the person, in words.
    pub carried_by: Option<String>,
    /// How many rounds a session gets, and gets again when it is resumed at its limit.
    pub max_rounds: u32,
}

/// How a run of the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The model is done.
    Done,
    /// All rounds are used up.
    RoundLimit,
    /// The person stopped it. The caller says so once everything beside the loop has ended.
    Interrupted,
    /// One reply was processed, as asked, and the next outbox is out.
    Stepped,
    /// The reply that was given was not used.
    Rejected,
}

impl Agent {
    /// Tells what happened.
    pub fn tell(&self, event: Event) {
        self.person.emit(event);
    }

    /// Puts questions of a session that go with this process.
    pub fn asker(&self, id: &SessionId) -> Asker {
        Asker {
            person: self.person.clone(),
            pending: self.pending(id),
        }
    }

    /// The questions of a session that wait for the person.
    fn pending(&self, id: &SessionId) -> Pending {
        Pending::of(&self.store.folder(id))
    }

    /// Keeps the events from now on with this session.
    pub(crate) fn record_events_of(&self, id: &SessionId) {
        self.person.record(&self.store, id);
    }

    /// Tells that a session begins or goes on.
    pub fn tell_session(&self, session: &Session, resumed: bool) {
        // Beside a journal of a newer version nothing is written.
        if self.store.journal(&session.session_id).is_ok() {
            self.record_events_of(&session.session_id);
        }
        self.tell(Event::Session {
            id: session.session_id.clone(),
            task: session.task.clone(),
            base: text_of(&self.base),
            workspace: text_of(self.workspace.path()),
            resumed,
        });
    }

    /// Tells what is the matter with the inbox.
    pub fn tell_notice(&self, notice: Notice) {
        let Notice { message, hint } = notice;
        self.tell(Event::Inbox { message, hint });
    }

    /// Tells how commands are confined, and what was asked of their runner and does not count.
    pub(crate) fn tell_confinement(&self) {
        let authorizer = &self.manner.authorizer;
        self.tell(authorizer.described());
        if let Some(text) = authorizer
            .runner
            .notice()
            .filter(|_| authorizer.runs_commands())
        {
            self.tell(Event::Notice { text });
        }
        for runner in &authorizer.runners_with_results {
            let text = format!(
                "`{runner}` still has results of a command in this workspace: `agent resume --runner {runner}` takes them with its next round, and `agent doctor --clean --runner {runner}` removes them"
            );
            self.tell(Event::Notice { text });
        }
    }

    /// Carries a session on until it ends, its rounds are used up or the person stops it.
    pub fn run(&self, session: Session) -> Result<Ending> {
        self.tell_confinement();
        let mut engine = recover::open(self, session, Patience::Session)?;
        engine.plan_mode().tell();
        let inbox = Inbox::watch(&self.mailbox, crate::reply::end_mark);
        let mut inbox = inbox.telling(self.person.clone());
        let waker = inbox.waker();
        self.interrupt.on_raise(move || waker.wake());
        loop {
            if let Some(ending) = engine.settle(Patience::Session)? {
                return Ok(ending);
            }
            engine.prepare_undo()?;
            engine.tidy();
            match engine.wait(&mut inbox)? {
                Some(taken) => engine.step(taken, Patience::Session)?,
                None => return Ok(Ending::Interrupted),
            }
        }
    }

    /// Processes the one reply that `find` gives and writes the next outbox.
    ///
    /// A round that a killed process left unfinished is finished first; then that was the step.
    pub fn run_once(
        &self,
        session: Session,
        find: impl FnOnce(&Session) -> Result<Option<Candidate>>,
    ) -> Result<Ending> {
        let sequence = session.sequence_number;
        let engine = recover::open(self, session, Patience::OneReply)?;
        Self::go_on_once(engine, sequence, find)
    }

    fn go_on_once(
        mut engine: Engine<'_>,
        sequence: u32,
        find: impl FnOnce(&Session) -> Result<Option<Candidate>>,
    ) -> Result<Ending> {
        let ending = engine.settle(Patience::OneReply)?;
        if let Some(ending) = ending {
            return Ok(ending);
        }
        if engine.session.sequence_number != sequence {
            engine.agent.tell(Event::Recovery(Recovery::RoundFinished));
            return Ok(Ending::Stepped);
        }
        let Some(candidate) = find(&engine.session)? else {
            return Ok(Ending::Stepped);
        };
        match engine.take(&candidate)? {
            Some(taken) => engine.step(taken, Patience::OneReply)?,
            None => return Ok(Ending::Rejected),
        }
        let ending = engine.settle(Patience::OneReply)?;
        engine.tidy();
        Ok(ending.unwrap_or(Ending::Stepped))
    }

    /// Writes the outbox of the session's round and does not wait for the reply.
    ///
    /// If the model asked a question, what the person has said since is the answer. That does not
    /// hold when a reply is taken: the reply answers a message without it, so it goes out with the
    /// next one.
    pub fn begin(&self, session: Session) -> Result<Ending> {
        let sequence = session.sequence_number;
        let mut engine = recover::open(self, session, Patience::OneReply)?;
        engine.questions().answer_by_what_was_said()?;
        Self::go_on_once(engine, sequence, |_| Ok(None))
    }

    /// Ends a session because the person says so; the files stay as they are.
    ///
    /// Of a round that a killed process left unfinished, what was under way is settled and the rest
    /// is not begun.
    pub fn end(&self, session: Session) -> Result<()> {
        let (mut engine, recovered) = recover::restore(self, session)?;
        let _alone = engine.alone()?;
        engine.left(&recovered).break_off()?;
        engine.fetch_last_results()?;
        engine.session.is_complete = true;
        engine.save()?;
        let id = engine.session.session_id.clone();
        self.store.events(&id).append(Event::Ended { id });
        Ok(())
    }
}

/// A path as an event has it.
fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
