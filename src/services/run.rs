//! Begins sessions and carries them on: the loop, a single reply, the end.
//!
//! A front end calls [`begin`] or [`resume`] and gets a [`HeldSession`]: from then on nobody else
//! carries on a session of that base directory. What happens is told to the person of the caller,
//! who also answers; replies arrive in the inbox, from a person or from a courier.

use std::path::Path;
use std::sync::Arc;

use super::api::{self, ApiChoice, SessionDesk};
use super::commit::RoundCommits;
use super::find::FindSession;
use super::open::{self, OpenedBase};
use super::reply::ReplyDesk;
use super::status::CheckStanding;
use super::{Caller, choices, commit, find, log, remove, reply, status, workspace};
pub use crate::agent::Ending;
use crate::agent::{Agent, added::AddedContext};
pub use crate::agent::{AnswerRoom, CallAnswer, CallDesk, TextCover};
use crate::approve::{Answer, Question};
use crate::compose::Carriage;
use crate::courier::api::{Allowance, ApiCourier, CourierFailure};
use crate::courier::{Couriers, Message, TerminalLine};
use crate::error::{Error, ExitKind, Result};
use crate::interrupt::Interrupt;
use crate::known_keys::{self, KnownKeys};
use crate::mailbox::{Arrival, Candidate, Inbox, Posted};
use crate::protocol::{Event, RelPath, SessionId};
use crate::session::{LoopLock, RoundLock, Session, Summary};
use crate::settings::ClipboardUse;

/// The most characters of a further instruction.
const MAX_INSTRUCTION: usize = 4_000;

/// Files and differences that the person adds to a message up front.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextRequest {
    /// Files, directories and patterns, relative to where the person stands or to the workspace.
    pub paths: Vec<String>,
    /// A commit: what has changed since then is shown.
    pub changed_since: Option<String>,
}

impl ContextRequest {
    /// Returns true if nothing is added.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.changed_since.is_none()
    }

    /// Refuses a path or a commit that cannot be there, before anybody is asked and before a base
    /// directory is made for it.
    pub fn ensure_possible(&self, caller: &Caller) -> Result<()> {
        let base = open::nearest_base(caller)?;
        if base.settings_file.is_some() {
            return Ok(());
        }
        if let Some(revision) = &self.changed_since {
            let workspace = workspace::named(caller).unwrap_or_else(|| caller.here.clone());
            commit::ensure_commit(&workspace, revision)?;
        }
        let is_pattern = |path: &str| path.contains(['*', '?', '[', '{']);
        // A workspace may be there before its settings.
        let places = [caller.here.clone(), base.directory.join("workspace")];
        let is_there =
            |path: &str| is_pattern(path) || places.iter().any(|place| place.join(path).exists());
        match self.paths.iter().find(|path| !is_there(path)) {
            None => Ok(()),
            Some(path) => Err(Error::usage(format!("there is no `{path}` to add"))
                .hint("name a file from here, or a pattern like `src/*.py`")),
        }
    }

    fn find(&self, caller: &Caller, agent: &Agent) -> Result<AddedContext> {
        agent.find_added(&caller.here, &self.paths, self.changed_since.as_deref())
    }
}

/// A session that only this process carries on, until the value is dropped.
#[derive(Debug)]
pub struct HeldSession {
    /// The opened base, with its engine and settings.
    pub opened: OpenedBase,
    session: Session,
    lock: LoopLock,
    api: Option<ApiChoice>,
    commits: RoundCommits,
    /// Files that only the chat itself can read: the person attaches them.
    pub to_attach: Vec<RelPath>,
}

/// Begins a session; its message is not written yet.
pub fn begin(caller: &Caller, task: &str, context: &ContextRequest) -> Result<HeldSession> {
    let commits = RoundCommits::default();
    let caller = &commits.follow(caller);
    let task = words_meant(
        caller,
        task.trim(),
        "agent new \"add a test for the parser\"",
    )?;
    let task = task.trim();
    if task.is_empty() {
        return Err(Error::usage("the task is empty")
            .hint("say what the model should do: agent new \"add a test for the parser\""));
    }
    context.ensure_possible(caller)?;
    // Before a base directory is made: a key that is missing is no reason for one.
    let early = match open::unmade(caller)? {
        Some(settings) => {
            choices::ensure_api_named(&caller.flags, &settings)?;
            Some(api::chosen(&settings, &caller.interrupt)?)
        }
        None => None,
    };
    let before = open::nearest_base(caller)?;
    let begun = open::new_session(caller).and_then(|opened| {
        let api = match early {
            Some(choice) => choice,
            None => api::chosen(&opened.settings, &caller.interrupt)?,
        };
        begin_in(caller, opened, task, api, context)
    });
    let begun = begun.map(|held| HeldSession { commits, ..held });
    if begun.is_err() {
        open::discard_new(caller, &before);
    }
    begun
}

/// Advice about a task that is too long.
pub(super) const LONG_TASK_HINT: &str =
    "put the long part into a file of the workspace and name it in the task";

/// Says why a task is too long for the messages that are carried so, if it is.
pub(super) fn too_long_task(task: &str, carriage: &Carriage) -> Option<String> {
    let longest = carriage.limit.characters / 2;
    (task.chars().count() > longest).then(|| format!("the task has more than {longest} characters"))
}

/// Begins a session in a base directory that is there.
fn begin_in(
    caller: &Caller,
    mut opened: OpenedBase,
    task: &str,
    api: Option<ApiChoice>,
    context: &ContextRequest,
) -> Result<HeldSession> {
    let api = carried_by(&mut opened, api)?;
    let agent = &opened.agent;
    let id = SessionId::from_random(uuid::Uuid::new_v4().as_fields().0);
    let task = KnownKeys::of_this_process().scrub(task);
    if let Some(problem) = too_long_task(&task, &agent.manner.carriage) {
        return Err(Error::usage(problem).hint(LONG_TASK_HINT));
    }
    let lock = LoopLock::take(agent.store.directory())?;
    let rounds = agent.manner.max_rounds;
    let mut session = Session::new(id, task, rounds, crate::session::now());
    session.permissions.clone_from(&agent.manner.permissions);
    agent.take_choices(&mut session);
    let added = context.find(caller, agent)?;
    added.put_into(&mut session);
    // Where that cannot be kept, decisions are asked for again after a stop.
    let known = &agent.manner.authorizer.known_sessions;
    let _ = known.add(&agent.base, &session.session_id);
    agent.store.save(&session)?;
    lock.works_on(agent.store.directory(), Some(&session.session_id))?;
    log::start(caller, agent, &session);
    agent.tell_session(&session, false);
    Ok(HeldSession {
        opened,
        session,
        lock,
        api,
        commits: RoundCommits::default(),
        to_attach: added.attached,
    })
}

/// A further instruction, as the person means it.
pub fn instruction_meant(caller: &Caller, text: &str) -> Result<String> {
    words_meant(caller, text, "agent resume \"now add tests\"")
}

/// The task or instruction, unless a placeholder of the documentation was typed in its place: then it is
/// asked for.
fn words_meant(caller: &Caller, task: &str, example: &str) -> Result<String> {
    let is_placeholder = task.starts_with('<') && task.ends_with('>') && !task.contains("</");
    if !is_placeholder || task.chars().count() > 40 {
        return Ok(task.to_owned());
    }
    let question = Question::about_task(task);
    match caller.person.ask(&question, &caller.interrupt) {
        Answer::Text(text) => Ok(text),
        Answer::Interrupted => Err(Error::new(ExitKind::Interrupted, "interrupted")),
        Answer::Nobody | Answer::Elsewhere => {
            Err(Error::usage(format!("`{task}` stands for what you want")).hint(example))
        }
    }
}

/// Continues a session that has not ended.
pub fn resume(caller: &Caller, id: Option<&str>) -> Result<HeldSession> {
    let held = HeldSession::open(caller, find::find_open, id)?;
    held.go_on(caller)
}

/// Continues a session, ended or not, to give it a further instruction: see
/// [`HeldSession::instruct`].
pub fn reopen(caller: &Caller, id: Option<&str>) -> Result<HeldSession> {
    let held = HeldSession::open(caller, find::find_any, id)?;
    held.go_on(caller)
}

/// Opens a session for a single reply: see [`HeldSession::step`].
pub fn for_one_reply(caller: &Caller, id: Option<&str>) -> Result<HeldSession> {
    let held = HeldSession::open(caller, find::find_open, id)?;
    held.settle_books();
    log::start(caller, &held.opened.agent, &held.session);
    Ok(held)
}

/// Continues a session that has not ended with calls: see [`HeldSession::take_calls`].
pub fn for_calls(caller: &Caller, id: Option<&str>) -> Result<HeldSession> {
    let mut held = HeldSession::open(caller, find::find_open, id)?;
    held.allow_more_rounds(caller);
    held.tell_resumed(caller)?;
    Ok(held)
}

/// Takes back what commands of a session that is done changed elsewhere. Returns false if it has not
/// come.
pub fn fetch_results(caller: &Caller, id: &str) -> Result<bool> {
    let held = HeldSession::open(caller, find::find, Some(id))?;
    held.end()?;
    Ok(!held.awaits_results())
}

/// The result of [`end`].
#[derive(Debug, PartialEq, Eq)]
pub struct EndedSession {
    /// The session.
    pub id: SessionId,
    /// True if it had not ended before.
    pub was_open: bool,
    /// True if results of its commands are elsewhere still.
    pub awaits_results: bool,
}

/// Ends a session because the person says so; the files stay as they are, but for results that come
/// back, also those of a session that has ended already. If none is named and all have ended, the latest
/// one with such results is meant.
pub fn end(caller: &Caller, id: Option<&str>) -> Result<EndedSession> {
    let done = match id {
        Some(_) => None,
        None => done_with_results(caller)?,
    };
    let id = done.as_ref().map(SessionId::as_str).or(id);
    let held = HeldSession::open(caller, find::find, id)?;
    held.settle_books();
    held.end()?;
    Ok(EndedSession {
        id: held.id().clone(),
        was_open: !held.session.is_complete,
        awaits_results: held.awaits_results(),
    })
}

/// The session that [`end`] means if no session is unfinished.
fn done_with_results(caller: &Caller) -> Result<Option<SessionId>> {
    let store = open::files(caller)?.store;
    if find::find(&store, &*caller.person, None).is_ok() {
        return Ok(None);
    }
    Ok(remove::done_with_results(caller, &store))
}

/// A further instruction, if it is one that can be given.
pub fn ensure_instruction(text: &str) -> Result<&str> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Error::usage("the instruction is empty")
            .hint("say what the model should do next: agent resume ab12 \"now add tests\""));
    }
    if text.chars().count() > MAX_INSTRUCTION {
        return Err(Error::usage(format!(
            "the instruction has more than {MAX_INSTRUCTION} characters"
        ))
        .hint("put the long part into a file of the workspace and name it"));
    }
    Ok(text)
}

impl HeldSession {
    fn open(caller: &Caller, find: FindSession, id: Option<&str>) -> Result<Self> {
        let commits = RoundCommits::default();
        let caller = &commits.follow(caller);
        let (opened, session, lock) = open::held_session(caller, find, id)?;
        if session.commits_rounds {
            commits.switch_on(&session.session_id);
        }
        Ok(Self {
            opened,
            session,
            lock,
            api: None,
            commits,
            to_attach: Vec::new(),
        })
    }

    /// Has a commit made after each round that passes the check, in later calls too: see
    /// [`commit::ensure_possible`].
    pub fn commit_rounds(&mut self) -> Result<()> {
        self.session.commits_rounds = true;
        self.opened.agent.store.save(&self.session)?;
        self.commits.switch_on(&self.session.session_id);
        Ok(())
    }

    fn go_on(mut self, caller: &Caller) -> Result<Self> {
        self.api = carried_by_api(&mut self.opened)?;
        self.allow_more_rounds(caller);
        self.tell_resumed(caller)?;
        Ok(self)
    }

    /// Allows as many rounds again at the limit, and whenever the person says how many.
    fn allow_more_rounds(&mut self, caller: &Caller) {
        if self.session.is_at_limit() || caller.flags.value("--max-rounds").is_some() {
            let rounds = self.session.sequence_number.saturating_sub(1);
            self.session.round_limit = rounds.saturating_add(self.opened.agent.manner.max_rounds);
        }
    }

    /// Books the cost of answers that an earlier run received, with or without an API now.
    fn settle_books(&self) {
        let agent = &self.opened.agent;
        if let Err(error) = api::settle_books(&agent.store, self.id())
            // No API is asked as long as nothing can be booked, which says why.
            && self.api.is_none()
        {
            agent.tell(Event::from(&error));
        }
    }

    fn tell_resumed(&self, caller: &Caller) -> Result<()> {
        self.settle_books();
        let agent = &self.opened.agent;
        self.lock
            .works_on(agent.store.directory(), Some(self.id()))?;
        log::start(caller, agent, &self.session);
        agent.tell_session(&self.session, true);
        Ok(())
    }

    /// Takes calls in place of replies.
    pub fn take_calls(&self) -> Result<CallDesk<'_>> {
        let agent = &self.opened.agent;
        self.lock.takes_calls(agent.store.directory(), self.id())?;
        agent.take_calls(self.session.clone())
    }

    /// Returns true if somebody waits for the round to end, and forgets it.
    pub fn is_round_wanted(&self) -> bool {
        RoundLock::take_wish(self.opened.agent.store.directory())
    }

    /// The task.
    pub fn task(&self) -> &str {
        &self.session.task
    }

    /// The directory that the model works in.
    pub fn workspace(&self) -> &Path {
        self.opened.agent.workspace.path()
    }

    /// The session.
    pub fn id(&self) -> &SessionId {
        &self.session.session_id
    }

    /// The last round that the session may have for now.
    pub fn last_round(&self) -> u32 {
        self.session.round_limit
    }

    /// Stops the loop when it is raised.
    pub fn interrupt(&self) -> &Interrupt {
        &self.opened.agent.interrupt
    }

    /// Where its replies go.
    pub fn replies(&self) -> ReplyDesk {
        ReplyDesk::new(
            &self.opened.agent.mailbox,
            &self.opened.agent.store,
            self.id(),
        )
    }

    /// The message of the round, if all of it is there.
    pub fn message(&self) -> Option<Message> {
        Message::latest(&self.opened.agent.mailbox, self.id())
    }

    /// The directory in which replies arrive.
    pub fn inbox(&self) -> &Path {
        self.opened.agent.mailbox.inbox()
    }

    /// Starts the couriers that the person wants; they stop when the value is dropped.
    pub fn start_couriers(&self, terminal: Arc<dyn TerminalLine>) -> Option<Couriers> {
        let (agent, id) = (&self.opened.agent, self.id());
        Couriers::start(
            self.opened.wishes.clone(),
            &agent.mailbox,
            id,
            terminal,
            agent.asker(id),
            &agent.interrupt,
        )
    }

    /// Returns true if an API carries messages in place of the person.
    pub fn is_carried_by_api(&self) -> bool {
        self.api.is_some()
    }

    /// Returns true if an answer of an API to the round is kept, and not in the inbox.
    pub fn has_held_answer(&self) -> bool {
        let store = &self.opened.agent.store;
        api::has_held_answer(store, self.id(), self.session.sequence_number)
    }

    /// Has the API asked only as long as this permits it.
    pub fn ask_within(&mut self, allowance: &Allowance) {
        if let Some(api) = &mut self.api {
            api.allowance = allowance.clone();
        }
    }

    /// Starts the courier that asks the API of the person's choice, if they chose one.
    fn start_api(&self) -> Option<ApiCourier> {
        let choice = self.api.clone()?;
        let (agent, id) = (&self.opened.agent, self.id());
        let keys = KnownKeys::of_session(&agent.store.folder(id));
        let mut plan = choice.plan.clone();
        plan.client = plan.client.hiding(keys.filters());
        if let Some(key) = &choice.key {
            // Only an export without the key's variable misses it.
            let _ = known_keys::keep_fingerprint(&agent.store.folder(id), key);
        }
        let desk = SessionDesk::new(choice, &agent.store, &agent.mailbox, id);
        Some(ApiCourier::start(
            plan,
            Box::new(desk),
            &agent.mailbox,
            id,
            agent.asker(id),
            self.opened.wishes.notify,
            &agent.interrupt,
        ))
    }

    /// Other sessions of the base directory that are not finished.
    pub fn others(&self) -> Vec<Summary> {
        status::others(&self.opened.agent.store, &self.session)
    }

    /// How the check stands, if there is one.
    pub fn check(&self) -> Option<CheckStanding> {
        let check = self.opened.agent.manner.check.as_ref()?;
        status::check(&self.opened.agent.store, &check.command, &self.session)
    }

    /// Has every message copied to the clipboard, whatever the settings say.
    pub fn copy_messages(&mut self) {
        if self.opened.wishes.clipboard == ClipboardUse::Off {
            self.opened.wishes.clipboard = ClipboardUse::Out;
        }
    }

    /// Adds an instruction to the task, and opens a session again that has ended; returns nothing if
    /// the person stopped what had to be finished first.
    pub fn instruct(
        mut self,
        caller: &Caller,
        text: &str,
        context: &ContextRequest,
    ) -> Result<Option<Self>> {
        let (agent, id) = (&self.opened.agent, self.id().clone());
        let keys = KnownKeys::of_session(&agent.store.folder(&id));
        let text = keys.scrub(ensure_instruction(text)?);
        let added = context.find(caller, agent)?;
        let Some(session) = agent.instruct(self.session, text, &added)? else {
            agent.tell(Event::Interrupted { id });
            return Ok(None);
        };
        self.session = session;
        self.to_attach = added.attached;
        Ok(Some(self))
    }

    /// Returns true if what a command changed elsewhere has not come back.
    pub fn awaits_results(&self) -> bool {
        self.opened.agent.manner.authorizer.runner.awaits_results()
    }

    /// Ends the session, takes what has not come back and leaves the runner.
    fn end(&self) -> Result<()> {
        let (agent, session) = (&self.opened.agent, &self.session);
        remove::expect_files(&*agent.manner.authorizer.runner, session);
        let had_results = self.awaits_results();
        if !session.is_complete || had_results {
            agent.end(session.clone())?;
        }
        if had_results && !self.awaits_results() {
            let text = "what its commands changed elsewhere has come back: `agent diff` shows it, `agent undo` reverts it";
            agent.tell(Event::Notice {
                text: text.to_owned(),
            });
        }
        // What is there may be that of another session.
        if !session.is_complete || self.awaits_results() || self.others().is_empty() {
            finish_runner(agent, self.id());
        }
        Ok(())
    }

    /// Carries the session on until it ends, its rounds are used up or the person stops it.
    pub fn run(&self) -> Result<Ending> {
        let store = &self.opened.agent.store;
        status::forget_api_stop(store, self.id());
        let api = self.start_api();
        let mut ending = self.opened.agent.run(self.session.clone());
        let failure = api.and_then(ApiCourier::finish);
        if !failure.as_ref().is_some_and(|failure| failure.has_lost) {
            ending = conclude(&self.opened.agent, self.id().clone(), ending);
        }
        match (failure, ending) {
            // The courier stopped the loop, and this is why.
            (Some(CourierFailure { error, .. }), Ok(Ending::Interrupted)) => {
                // Only `agent status` misses it where it cannot be kept.
                let _ = status::keep_api_stop(store, self.id(), &error);
                Err(error)
            }
            (_, ending) => ending,
        }
    }

    /// Writes the message of the round and waits for no reply. Also returns the message if it was
    /// there already: nobody was told of it now.
    pub fn write_message(&self) -> Result<(Ending, Option<Posted>)> {
        let (id, round) = (self.id().clone(), self.session.sequence_number);
        let known = self.opened.agent.mailbox.posted(&id, round);
        let ending = self.opened.agent.begin(self.session.clone());
        let ending = conclude(&self.opened.agent, id.clone(), ending)?;
        // A round that was finished just now has told its own message.
        let now = self.opened.agent.store.load(&id);
        let is_same = now.is_ok_and(|now| now.sequence_number == round);
        Ok((ending, known.filter(|_| is_same)))
    }

    /// Carries out the oldest reply in the inbox and writes the next message.
    pub fn step(self) -> Result<Ending> {
        let (agent, id) = (&self.opened.agent, self.id().clone());
        let ending = agent.run_once(self.session, |session| {
            oldest_reply(agent, session).map(Some)
        });
        conclude(agent, id, ending)
    }

    /// Carries out the reply that is given and writes the next message. Where a killed process left
    /// a round unfinished, that is finished instead, and nobody is asked for the reply.
    pub fn step_with(self, give: impl FnOnce() -> Result<Vec<u8>>) -> Result<Ending> {
        let (agent, id) = (&self.opened.agent, self.id().clone());
        let ending = agent.run_once(self.session, |_| {
            let path = reply::put(&agent.mailbox, &give()?, reply::RoundNumber::MustMatch)?;
            Candidate::at(path).map(Some)
        });
        conclude(agent, id, ending)
    }
}

/// Tells that the person stopped a session, or leaves the runner of one that is done. It is an error if
/// they did not wait for its results.
fn conclude(agent: &Agent, id: SessionId, ending: Result<Ending>) -> Result<Ending> {
    match ending {
        Ok(Ending::Interrupted) => agent.tell(Event::Interrupted { id }),
        Ok(Ending::Done) => {
            finish_runner(agent, &id);
            if agent.interrupt.is_raised() && agent.manner.authorizer.runner.awaits_results() {
                let hint = format!("`agent end {id}` takes them");
                let words = "interrupted before the results of a command had come back";
                return Err(Error::new(ExitKind::Interrupted, words).hint(hint));
            }
        }
        _ => {}
    }
    ending
}

/// Removes what the runner of an ended session keeps elsewhere; tells the person what is kept.
fn finish_runner(agent: &Agent, id: &SessionId) {
    let authorizer = &agent.manner.authorizer;
    let (runner, choice) = (&*authorizer.runner, &authorizer.runner_choice);
    if let Some(notice) = remove::finish_runner(runner, choice, Some(id), &agent.interrupt) {
        agent.tell(notice);
    }
}

/// The API that the settings name, made known to the agent that writes the messages.
fn carried_by_api(opened: &mut OpenedBase) -> Result<Option<ApiChoice>> {
    let choice = api::chosen(&opened.settings, &opened.agent.interrupt)?;
    carried_by(opened, choice)
}

fn carried_by(opened: &mut OpenedBase, choice: Option<ApiChoice>) -> Result<Option<ApiChoice>> {
    // Only now a key is known that a command printed.
    let check = ("CheckCommand", opened.settings.check_command.as_str());
    let kept = opened.agent.manner.choices.iter().chain([check]);
    choices::ensure_keyless(kept, &KnownKeys::of_this_process())?;
    if let Some(choice) = &choice {
        opened.agent.manner.carried_by = Some(choice.plan.name());
    }
    Ok(choice)
}

/// The oldest reply that lies in the inbox.
fn oldest_reply(agent: &Agent, session: &Session) -> Result<Candidate> {
    let inbox = Inbox::watch(&agent.mailbox, crate::reply::end_mark);
    let mut inbox = inbox.telling(agent.person.clone());
    while let Some(arrival) = inbox.poll(&session.end_mark()) {
        match arrival {
            Arrival::Reply(candidate) => {
                match agent.other_session(&session.session_id, &candidate) {
                    Some(other) => agent.tell_left(&candidate.name, &other),
                    None => return Ok(candidate),
                }
            }
            Arrival::Notice(notice) => agent.tell_notice(notice),
            Arrival::Woken => {}
        }
    }
    Err(Error::mendable(format!(
        "there is no reply in `{}`",
        agent.mailbox.inbox().display()
    ))
    .hint("save the chat's reply there, or name it: `agent step --reply FILE`"))
}
