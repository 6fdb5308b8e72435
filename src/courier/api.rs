//! The courier that asks a model's API: sends the message of `outbox/`, writes the reply into
//! `inbox/`.
//!
//! It runs on a thread beside the loop and knows only the mailbox. A reply is written when it is
//! whole, under a name that says which round it answers, and a round that has a reply is not asked
//! again: so a kill at any point loses at most an answer that was still on its way. An answer is held
//! together with what was billed, that is noted, the reply is put into the inbox, and then it is booked:
//! a kill in between loses neither. News
//! is told on another thread, so that a screen that stands still holds up nothing. An answer that cannot
//! be booked is kept, and ends the loop. One that cannot be put into the inbox is held beside the session
//! for the next run; else in the folder for temporary files, or it is printed.
//!
//! Ctrl-C stops the request, not the loop; what came is held until the person has decided about it. An
//! answer that is whole by then waits in the inbox, and the loop ends. What cannot be answered goes to the person, if there is one; otherwise the loop ends, and
//! [`ApiCourier::finish`] says why. It also ends if this thread panics.

use std::cell::RefCell;
use std::fmt::Debug;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::Message;
use crate::api::{
    ApiClient, ApiError, ApiErrorKind, ChatTurn, Completion, CompletionEnd, ModelRequest,
    ReasoningEffort, ReplyTiming, RequestProgress, ServedModel, StopSignal, TokenUsage,
    UsageRecord,
};
use crate::approve::{Asker, Person, Question, Verdict};
use crate::error::{Error, ExitKind, Result};
use crate::fs::{Durability, own_directory, write_atomic, write_new};
use crate::interrupt::Interrupt;
use crate::mailbox::{self, Mailbox};
use crate::protocol::{ApiAnswer, ApiAnswerEnd, ApiNews, EndMark, Event, SessionId};
use crate::settings::NotifyBy;
use crate::watch::{Doorbell, Waker};

/// How long until the next look into the outbox, if nothing rings.
const NEXT_LOOK: Duration = Duration::from_millis(500);
/// Pieces of an answer are told together for so long.
const TOLD_TOGETHER: Duration = Duration::from_millis(200);
/// How long the loop gets to tell of a message before it is sent.
const AFTER_THE_LOOP: Duration = Duration::from_millis(150);
/// How many replies to a round may be of no use before the person is told.
const MOST_REJECTED: u32 = 2;
/// How many models are named to a person whose model the server does not have.
const NAMED_MODELS: usize = 20;

/// A conversation to send.
#[derive(Debug, Clone)]
pub struct Dialogue {
    /// Messages and replies in turns, the message of the round at the end.
    pub turns: Vec<ChatTurn>,
    /// How long it is, in estimated tokens.
    pub tokens: usize,
    /// How many of the oldest rounds are only summed up in it.
    pub summed_up: u32,
}

/// The session as the courier knows it: what to send, what may be spent, what was spent.
pub trait ApiDesk: Debug + Send {
    /// The conversation up to the message of this round, as much as the model's window has room for.
    fn conversation(&self, round: u32) -> Result<Dialogue>;

    /// Takes note that the server found a conversation of so many tokens too long: from now on they
    /// are at most half as long.
    fn learn_too_long(&self, tokens: usize);

    /// Refuses a request that a limit of the person does not permit; `unbooked` was spent on the round
    /// and is not booked yet.
    fn ensure_affordable(&self, unbooked: &TokenUsage) -> Result<()>;

    /// The record of an answer, or of half of one, for the books.
    fn record(&self, round: u32, usage: TokenUsage, timing: ReplyTiming) -> UsageRecord;

    /// Notes a record: its tokens count from now on, also after a kill. Refuses if it cannot be noted.
    /// Returns the cost, and what the session took so far.
    fn note(&self, record: UsageRecord) -> Result<NotedAnswer>;

    /// Books what was noted last.
    fn book(&self) -> Result<()>;

    /// Keeps what was noted last and could not be booked: a later run books it. Returns false if that
    /// is not possible either.
    fn owe(&self) -> bool;

    /// Keeps an answer that is not in the inbox, also after a kill.
    fn hold(&self, answer: &HeldAnswer) -> Result<()>;

    /// The answer that is held, if it is one to this round.
    fn held(&self, round: u32) -> Option<HeldAnswer>;

    /// Forgets the answer that is held, once its costs are booked.
    fn release(&self);
}

/// An answer that is not in the inbox, because the person has not decided about it or because it could
/// not be put there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldAnswer {
    /// The round.
    pub round: u32,
    /// The digest of the message that it answers.
    pub message: String,
    /// True if the person decides whether it is used.
    pub is_asked_about: bool,
    /// The text.
    pub text: String,
    /// The tokens and costs that were billed for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billed: Option<UsageRecord>,
}

impl HeldAnswer {
    fn new(message: &Message, text: &str) -> Self {
        Self {
            round: message.mark.sequence,
            message: message.digest.clone(),
            is_asked_about: false,
            text: text.to_owned(),
            billed: None,
        }
    }
}

/// The costs of an answer, and of the session so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NotedAnswer {
    /// The cost of the answer in millionths of a dollar, if a price is known.
    pub cost_micros: Option<u64>,
    /// All tokens of the session.
    pub session_tokens: u64,
    /// All costs of the session, as far as they are known.
    pub session_cost_micros: Option<u64>,
    /// True if some of the session's tokens are estimated.
    pub session_is_estimated: bool,
    /// How many answers are not in the costs, because their price is not known.
    pub session_unpriced: u64,
}

/// The requests that somebody above a session permits; all clones share it.
#[derive(Debug, Clone, Default)]
pub struct Allowance(Arc<AtomicBool>);

impl Allowance {
    /// Permits no further request.
    pub fn end(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Returns true if no further request is permitted.
    pub fn is_used_up(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Whom to ask, and how.
#[derive(Debug, Clone)]
pub struct ApiPlan {
    /// Sends requests.
    pub client: ApiClient,
    /// The model.
    pub model: String,
    /// The most tokens of an answer, if it is known.
    pub max_output: Option<u32>,
    /// The temperature, if the person set one.
    pub temperature: Option<f64>,
    /// How much the model thinks, if the person decided it.
    pub reasoning: Option<ReasoningEffort>,
}

impl ApiPlan {
    /// The provider and the model, for people.
    pub fn name(&self) -> String {
        format!("{} {}", self.client.endpoint().provider.name, self.model)
    }

    /// A request with these turns.
    pub fn request(&self, turns: Vec<ChatTurn>) -> ModelRequest {
        ModelRequest {
            max_output: self.max_output,
            temperature: self.temperature,
            reasoning: self.reasoning,
            ..ModelRequest::new(self.model.clone(), turns)
        }
    }

    /// The error as the person is told it.
    pub fn explained(&self, error: &ApiError, stop: &StopSignal) -> Error {
        let endpoint = self.client.endpoint();
        let mut told = Error::mendable(format!("`{}` did not answer: {error}", self.name()));
        if error.kind == ApiErrorKind::ModelNotFound {
            told = match self.models(stop) {
                Some(models) => told.hint(format!("the server has: {models}")),
                None => told,
            };
        }
        if let (ApiErrorKind::Unreachable, Some(start)) = (error.kind, &endpoint.provider.start) {
            told = told.hint(format!("nothing answers at {}; {start}", endpoint.url()));
        }
        told.hint(error.advice())
    }

    /// The names of the models that the server has.
    fn models(&self, stop: &StopSignal) -> Option<String> {
        let models = self.client.models(stop).ok()?;
        model_names(&models)
    }
}

/// The names of some models, for people; nothing if there is none.
pub fn model_names(models: &[ServedModel]) -> Option<String> {
    let mut names: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
    names.sort_unstable();
    let more = names.len().saturating_sub(NAMED_MODELS);
    names.truncate(NAMED_MODELS);
    match (names.is_empty(), more) {
        (true, _) => None,
        (_, 0) => Some(names.join(", ")),
        (_, more) => Some(format!("{} and {more} more", names.join(", "))),
    }
}

/// The courier of a running loop; it stops when this is dropped.
#[derive(Debug)]
pub struct ApiCourier {
    shared: Arc<SharedCourierState>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

/// Why a courier ended the loop.
#[derive(Debug)]
pub struct CourierFailure {
    /// The reason, for the person.
    pub error: Error,
    /// True if an answer is lost.
    pub has_lost: bool,
}

#[derive(Debug, Default)]
struct SharedCourierState {
    is_over: AtomicBool,
    /// Ends the request under way.
    stop: Mutex<StopSignal>,
    /// Ends the question under way.
    question: Mutex<Interrupt>,
    failure: Mutex<Option<Error>>,
    /// True if the last answer could not be put into the inbox.
    has_lost: AtomicBool,
    /// The reply that was put into the inbox last.
    placed: Mutex<Option<PathBuf>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ApiCourier {
    /// Starts it for a session.
    pub fn start(
        plan: ApiPlan,
        desk: Box<dyn ApiDesk>,
        mailbox: &Mailbox,
        session: &SessionId,
        asker: Asker,
        notify: NotifyBy,
        interrupt: &Interrupt,
    ) -> Self {
        let shared = Arc::new(SharedCourierState::default());
        let bell = Doorbell::on(mailbox.outbox());
        let waker = bell.waker();
        let ringing = bell.waker();
        interrupt.on_raise(move || ringing.wake());
        let desk = ApiThread {
            plan,
            desk,
            mailbox: mailbox.clone(),
            session: session.clone(),
            notify,
            news: NewsTeller::start(asker.person.clone()),
            asker,
            told: RefCell::default(),
            interrupt: interrupt.clone(),
            shared: Arc::clone(&shared),
        };
        let alarm = PanicAlarm {
            interrupt: interrupt.clone(),
            shared: Arc::clone(&shared),
        };
        let thread = thread::spawn(move || {
            let _alarm = alarm;
            desk.run(&bell);
        });
        Self {
            shared,
            waker,
            thread: Some(thread),
        }
    }

    /// Ends it, and says why it ended the loop, if it did.
    pub fn finish(mut self) -> Option<CourierFailure> {
        self.end();
        let has_lost = self.shared.has_lost.load(Ordering::SeqCst);
        let error = locked(&self.shared.failure).take()?;
        Some(CourierFailure { error, has_lost })
    }

    fn end(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        locked(&self.shared.stop).raise();
        locked(&self.shared.question).raise();
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for ApiCourier {
    fn drop(&mut self) {
        self.end();
    }
}

/// Ends the loop if the thread that holds it panics: nobody else would ask the API.
#[derive(Debug)]
struct PanicAlarm {
    interrupt: Interrupt,
    shared: Arc<SharedCourierState>,
}

impl Drop for PanicAlarm {
    fn drop(&mut self) {
        if thread::panicking() {
            let error = Error::new(
                ExitKind::Defect,
                "the part of `agent` that asks the API crashed",
            )
            .hint("`agent resume` asks again; please report what was printed above");
            *locked(&self.shared.failure) = Some(error);
            self.interrupt.raise();
        }
    }
}

/// The outcome of one request for a round.
#[derive(Debug)]
enum CarriedRound {
    /// It has a reply, or the person goes on without the API.
    Settled,
    /// It is asked again.
    Again,
    /// It is asked again with a shorter conversation, because the server found it too long.
    AgainShorter,
}

/// The outcome of a request.
#[derive(Debug)]
struct RequestOutcome {
    answer: Result<Completion, ApiError>,
    /// The limit that forbade a further try.
    limit: Option<Error>,
    /// True if the person stopped it, in time or not.
    is_stopped: bool,
}

/// Tells news on a thread of its own: a terminal or a pipe that takes nothing must not hold up an
/// answer.
#[derive(Debug)]
struct NewsTeller {
    /// News, and after it those who wait until it is told; closed when this is dropped.
    queue: Option<Sender<(Option<Event>, Sender<()>)>>,
    thread: Option<JoinHandle<()>>,
}

impl NewsTeller {
    fn start(person: Arc<dyn Person>) -> Self {
        let (queue, news) = mpsc::channel::<(Option<Event>, Sender<()>)>();
        let thread = thread::spawn(move || {
            for (news, _told) in news {
                if let Some(news) = news {
                    person.emit(news);
                }
            }
        });
        Self {
            queue: Some(queue),
            thread: Some(thread),
        }
    }

    fn tell(&self, news: Option<Event>) -> mpsc::Receiver<()> {
        let (told, is_told) = mpsc::channel();
        if let Some(queue) = &self.queue {
            let _ = queue.send((news, told));
        }
        is_told
    }

    /// Waits until all is told.
    fn flush(&self) {
        // The other end is dropped then.
        let _ = self.tell(None).recv();
    }
}

impl Drop for NewsTeller {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The state of the thread.
#[derive(Debug)]
struct ApiThread {
    news: NewsTeller,
    plan: ApiPlan,
    desk: Box<dyn ApiDesk>,
    mailbox: Mailbox,
    session: SessionId,
    asker: Asker,
    notify: NotifyBy,
    /// The questions of which the person was told.
    told: RefCell<Vec<Question>>,
    interrupt: Interrupt,
    shared: Arc<SharedCourierState>,
}

impl ApiThread {
    fn run(self, bell: &Doorbell) {
        let mut settled: Option<Message> = None;
        let mut rejected = 0;
        while !self.is_over() {
            let latest = Message::latest(&self.mailbox, &self.session);
            // If somebody deletes the message, the one before it is no news.
            let is_old = |message: &Message| {
                (settled.as_ref()).is_some_and(|last| message.mark.sequence < last.mark.sequence)
            };
            let Some(message) = latest.filter(|message| !is_old(message)) else {
                bell.wait_for(NEXT_LOOK);
                continue;
            };
            if settled.as_ref() != Some(&message) {
                rejected = 0;
                thread::sleep(AFTER_THE_LOOP);
                if self.is_answered(&message) {
                    self.desk.release();
                } else if !self.take_held(&message) {
                    self.carry(&message);
                }
                settled = Some(message);
            } else if self.is_rejected(&message) {
                rejected += 1;
                self.again(&message, rejected);
            } else {
                self.tell_of_questions();
                bell.wait_for(NEXT_LOOK);
            }
        }
    }

    /// Notifies a person who is not at a terminal that a question waits for them; a prompt does it by
    /// itself.
    fn tell_of_questions(&self) {
        if self.notify == NotifyBy::Off || self.asker.person.is_interactive() {
            return;
        }
        let open = self.asker.pending.open_questions();
        let mut told = self.told.borrow_mut();
        if open.iter().any(|question| !told.contains(question)) {
            super::notify(self.notify, "A question waits for you.", &super::NoTerminal);
        }
        *told = open;
    }

    /// Returns true if the loop did not take the reply, and waits for another one.
    fn is_rejected(&self, message: &Message) -> bool {
        let mut placed = locked(&self.shared.placed);
        let is_gone = placed.as_ref().is_some_and(|path| !path.exists());
        is_gone && !self.is_answered(message) && placed.take().is_some()
    }

    /// Asks again after a reply that was of no use.
    fn again(&self, message: &Message, rejected: u32) {
        let is_enough = rejected >= MOST_REJECTED;
        let error = || {
            Error::mendable(format!(
                "{rejected} replies of `{}` to this round were of no use",
                self.plan.name()
            ))
            .hint("`inbox/rejected/` has them, with the reasons; another model may do better")
        };
        if !is_enough || matches!(self.consider(message, error()), CarriedRound::Again) {
            self.carry(message);
        }
    }

    fn is_over(&self) -> bool {
        self.shared.is_over.load(Ordering::SeqCst) || self.interrupt.is_raised()
    }

    fn is_answered(&self, message: &Message) -> bool {
        let sequence = message.mark.sequence;
        self.mailbox.has_api_reply(&self.session, sequence)
            || self.mailbox.claimed(&self.session, sequence).is_some()
    }

    /// Takes the answer that an earlier run held for this message. Returns false if the model is to be
    /// asked.
    fn take_held(&self, message: &Message) -> bool {
        let round = message.mark.sequence;
        let Some(held) = self.desk.held(round) else {
            return false;
        };
        if held.message != message.digest {
            self.tell(ApiNews::Overtaken);
            self.desk.release();
            return false;
        }
        if held.is_asked_about && self.asker.person.is_interactive() {
            match self.verdict(about_cut_reply(round, &held.text)) {
                Some(Verdict::Yes | Verdict::Always) => {}
                Some(Verdict::No { .. } | Verdict::Skip) => {
                    self.desk.release();
                    return false;
                }
                // It is held for the next run.
                _ => {
                    self.interrupt.raise();
                    return true;
                }
            }
        }
        // The person may have brought another reply while they were asked.
        if self.is_overtaken(message) {
            self.tell(ApiNews::Overtaken);
            self.desk.release();
        } else if let Err(trouble) = self.put(message, &held.text) {
            self.fail(trouble);
        }
        true
    }

    /// Asks until the round has a reply or the person says otherwise.
    fn carry(&self, message: &Message) {
        let mut is_shortened = false;
        while !self.is_over() {
            let asked = self.ask(message, is_shortened);
            match asked.unwrap_or_else(|error| self.consider(message, error)) {
                CarriedRound::Settled => return,
                CarriedRound::Again => is_shortened = false,
                CarriedRound::AgainShorter => is_shortened = true,
            }
        }
    }

    fn ask(&self, message: &Message, is_shortened: bool) -> Result<CarriedRound> {
        self.shared.has_lost.store(false, Ordering::SeqCst);
        self.desk.ensure_affordable(&TokenUsage::default())?;
        let round = message.mark.sequence;
        let dialogue = self.desk.conversation(round)?;
        if dialogue.summed_up > 0 {
            self.tell(ApiNews::Shortened {
                rounds: dialogue.summed_up,
                tokens: dialogue.tokens,
            });
        }
        self.tell(ApiNews::Sending {
            provider: self.plan.client.endpoint().provider.name.clone(),
            model: self.plan.model.clone(),
            round,
            turns: dialogue.turns.len(),
            tokens: dialogue.tokens,
        });
        let RequestOutcome {
            answer,
            limit,
            is_stopped,
        } = self.request(dialogue.turns);
        let is_cut_short = match &answer {
            Ok(answer) => answer.end == CompletionEnd::Stopped,
            Err(error) => error.kind == ApiErrorKind::Stopped,
        };
        // The answer was over by itself, and waits in the inbox; the loop must not take it. Or the loop
        // works on another reply, and the person meant that.
        if is_stopped && (!is_cut_short || self.is_overtaken(message)) {
            self.interrupt.raise();
        }
        if let Err(error) = &answer
            && !error.spent.is_empty()
        {
            let spent = (self.desk).record(round, error.spent, ReplyTiming::default());
            if let Err(unbooked) = (self.desk.note(spent)).and_then(|_| self.desk.book()) {
                self.desk.owe();
                return Err(unbooked);
            }
        }
        match (answer, limit) {
            (Ok(answer), _) => self.take(message, answer),
            (Err(_), Some(limit)) => Err(limit),
            // Both the first try and the shorter one may be too long for a tiny window.
            (Err(error), None)
                if error.kind == ApiErrorKind::ContextTooLong
                    && !is_shortened
                    && self.can_shorten(round, dialogue.tokens)? =>
            {
                Ok(CarriedRound::AgainShorter)
            }
            (Err(error), None) if error.kind == ApiErrorKind::Stopped => {
                Ok(self.stopped(message, None))
            }
            (Err(error), None) => {
                // The thread that ends the loop raises it.
                let stop = locked(&self.shared.stop).clone();
                Err(self.plan.explained(&error, &stop))
            }
        }
    }

    /// Shortens the conversations of the session. Returns false if this one has nothing that could be
    /// left out, as a first message.
    fn can_shorten(&self, round: u32, tokens: usize) -> Result<bool> {
        self.desk.learn_too_long(tokens);
        Ok(self.desk.conversation(round)?.tokens < tokens)
    }

    /// Sends a conversation.
    fn request(&self, turns: Vec<ChatTurn>) -> RequestOutcome {
        let stop = StopSignal::default();
        *locked(&self.shared.stop) = stop.clone();
        if self.is_over() {
            stop.raise();
        }
        let stopped = stop.clone();
        // The first Ctrl-C stops the request, the second one the loop.
        let diversion = self.interrupt.divert(move || {
            let is_first = !stopped.is_raised();
            stopped.raise();
            is_first
        });
        let mut pieces = ToldPieces::new(self, &stop);
        let answer = (self.plan.client).complete(&self.plan.request(turns), &stop, &mut |news| {
            pieces.hear(&news);
        });
        pieces.tell();
        let limit = pieces.limit;
        // From here on Ctrl-C ends the loop, so none is missed.
        drop(diversion);
        let is_stopped = stop.is_raised() && limit.is_none();
        RequestOutcome {
            answer,
            limit,
            is_stopped,
        }
    }

    /// Tells of an answer, puts it into the inbox and books it.
    fn take(&self, message: &Message, mut answer: Completion) -> Result<CarriedRound> {
        if answer.end == CompletionEnd::Whole {
            answer.text = marked(answer.text, &message.mark);
        }
        let billed = (self.desk).record(message.mark.sequence, answer.usage, answer.timing);
        if !matches!(answer.end, CompletionEnd::Refused(_)) {
            // Where it cannot be held, only a kill before it is in the inbox loses it.
            let _ = self.desk.hold(&HeldAnswer {
                is_asked_about: answer.end == CompletionEnd::Stopped,
                billed: Some(billed.clone()),
                ..HeldAnswer::new(message, &answer.text)
            });
        }
        let noted = self.desk.note(billed);
        // Limits cannot hold without books, so the loop ends; what was paid for is kept.
        let noted = noted.unwrap_or_else(|error| {
            self.fail(error);
            NotedAnswer::default()
        });
        // Told before the loop tells of the reply. Nobody waits until it is.
        self.tell(ApiNews::Answered(told(&answer, noted)));
        let is_overtaken = self.is_overtaken(message);
        let is_reply = !matches!(
            answer.end,
            CompletionEnd::Refused(_) | CompletionEnd::Stopped
        );
        let put = if is_reply && !is_overtaken {
            self.put(message, &answer.text)
        } else {
            Ok(())
        };
        let unbooked = self.desk.book().err().map(|error| {
            let tokens = usize::try_from(answer.usage.total()).unwrap_or(usize::MAX);
            let tokens = crate::number::count(tokens, "token");
            let later = if self.desk.owe() {
                " yet: `agent resume` books them when it can"
            } else {
                ""
            };
            let hint = format!("{tokens} of this answer are not booked{later}");
            self.fail(error.hint(&hint));
            hint
        });
        match put {
            // Why the loop ends matters less than what is lost.
            Err(lost) if self.is_over() => self.fail(match unbooked {
                Some(hint) => lost.hint(hint),
                None => lost,
            }),
            put => put?,
        }
        if is_overtaken {
            self.desk.release();
            self.tell(ApiNews::Overtaken);
            return Ok(CarriedRound::Settled);
        }
        match answer.end {
            CompletionEnd::Whole | CompletionEnd::LengthLimit | CompletionEnd::Broken(_) => {
                Ok(CarriedRound::Settled)
            }
            CompletionEnd::Refused(words) => {
                let words = if words.is_empty() { answer.text } else { words };
                let text = words.trim().to_owned();
                self.tell(ApiNews::Refused { text });
                Err(
                    Error::mendable(format!("`{}` refused to answer", self.plan.name()))
                        .hint("say it in other words with `agent say`, or use another model with `--model`"),
                )
            }
            CompletionEnd::Stopped => Ok(self.stopped(message, Some(&answer.text))),
        }
    }

    /// Returns true if the person brought another reply meanwhile, or replaced the message. A message
    /// or an archive that somebody deleted is neither.
    fn is_overtaken(&self, message: &Message) -> bool {
        let latest = Message::latest(&self.mailbox, &self.session);
        let is_replaced = latest.is_some_and(|latest| {
            latest.mark.sequence >= message.mark.sequence && latest != *message
        });
        is_replaced || self.is_answered(message)
    }

    /// Asks the person what to do after they stopped a request. Where nobody says that what came is of
    /// no use, it waits as a cut reply for the next run.
    fn stopped(&self, message: &Message, came: Option<&str>) -> CarriedRound {
        let round = message.mark.sequence;
        let characters = came.map_or(0, |text| text.chars().count());
        self.tell(ApiNews::Stopped { characters });
        let is_asked = || self.asker.person.is_interactive() && !self.is_over();
        let verdict = came
            .filter(|_| is_asked())
            .and_then(|text| self.verdict(about_cut_reply(round, text)));
        let kept = came.filter(|_| !matches!(verdict, Some(Verdict::No { .. } | Verdict::Skip)));
        if came.is_some() && kept.is_none() {
            self.desk.release();
        }
        if kept.is_none() && is_asked() {
            let name = self.plan.name();
            if self.is_confirmed(Question::about_asking_again(round, &name, "")) {
                return CarriedRound::Again;
            }
        }
        // First, so that the loop does not take what is kept for the next run.
        if !matches!(verdict, Some(Verdict::Yes | Verdict::Always)) {
            self.interrupt.raise();
        }
        if let Some(text) = kept
            && let Err(trouble) = self.put(message, text)
        {
            self.fail(trouble);
        }
        CarriedRound::Settled
    }

    /// Ends the loop with an error.
    fn fail(&self, error: Error) {
        *locked(&self.shared.failure) = Some(error);
        self.interrupt.raise();
    }

    /// Asks the person what to do about a failure; without one the loop ends.
    fn consider(&self, message: &Message, error: Error) -> CarriedRound {
        if self.is_over() {
            return CarriedRound::Settled;
        }
        if !self.asker.person.is_interactive() {
            self.fail(error);
            return CarriedRound::Settled;
        }
        self.news.flush();
        self.asker.person.emit(Event::from(&error));
        let (round, name) = (message.mark.sequence, self.plan.name());
        let question = Question::about_asking_again(round, &name, &error.to_string());
        if self.is_confirmed(question) {
            return CarriedRound::Again;
        }
        if !self.is_over() {
            self.fail(error);
        }
        CarriedRound::Settled
    }

    fn is_confirmed(&self, question: Question) -> bool {
        matches!(self.verdict(question), Some(Verdict::Yes | Verdict::Always))
    }

    /// The answer of the person; nothing if they interrupt, or cannot be asked.
    fn verdict(&self, question: Question) -> Option<Verdict> {
        let over = Interrupt::default();
        *locked(&self.shared.question) = over.clone();
        let raised = over.clone();
        self.interrupt.on_raise(move || raised.raise());
        self.news.flush();
        if self.is_over() {
            return None;
        }
        self.asker.pose(question, &over).unwrap_or_else(|trouble| {
            self.asker.person.emit(Event::from(&trouble));
            None
        })
    }

    /// Puts an answer into the inbox. One that cannot be put there is kept elsewhere, which is an error.
    fn put(&self, message: &Message, text: &str) -> Result<()> {
        let unique = uuid::Uuid::new_v4().simple().to_string();
        let round = message.mark.sequence;
        let name = mailbox::api_reply_name(&self.session, round, &unique[..8]);
        let inbox = self.mailbox.inbox();
        let path = inbox.join(&name);
        let write = || {
            // The loop makes the directory again too, in the base directory that it knows.
            if inbox.parent().is_some_and(Path::exists) {
                own_directory(inbox)?;
            }
            write_atomic(&path, text.as_bytes(), Durability::Durable)
        };
        if let Err(cause) = write() {
            return Err(self.keep_elsewhere(message, text, &name).because(cause));
        }
        // The next run must not take it twice.
        self.desk.release();
        *locked(&self.shared.placed) = Some(path);
        Ok(())
    }

    /// Keeps an answer that cannot be put into the inbox, and says where.
    fn keep_elsewhere(&self, message: &Message, text: &str, name: &str) -> Error {
        let round = message.mark.sequence;
        let unput = format!("the answer to round {round} cannot be put into the inbox");
        let is_held = (self.desk.held(round)).is_some_and(|held| held.text == text);
        if is_held || self.desk.hold(&HeldAnswer::new(message, text)).is_ok() {
            return Error::mendable(format!("{unput}; it is kept"))
                .hint("when the inbox can be written, `agent resume` uses it");
        }
        self.shared.has_lost.store(true, Ordering::SeqCst);
        let again = "`agent resume` without it asks the model again, which may be billed again";
        let elsewhere = std::env::temp_dir().join(name);
        if matches!(write_new(&elsewhere, text.as_bytes()), Ok(true)) {
            let place = elsewhere.display();
            return Error::mendable(format!("{unput}; it is in `{place}`")).hint(format!(
                "when the inbox can be written, move it there; {again}"
            ));
        }
        let size = crate::number::count(text.chars().count(), "character");
        let text = format!("The answer to round {round}, which cannot be kept:\n{text}");
        self.news.tell(Some(Event::Notice { text }));
        Error::mendable(format!("{unput}; it is printed above ({size})")).hint(format!(
            "when the inbox can be written, save it there; {again}"
        ))
    }

    fn tell(&self, news: ApiNews) {
        self.news.tell(Some(Event::Api(news)));
    }
}

/// The question whether what came of a stopped answer is used.
fn about_cut_reply(round: u32, text: &str) -> Question {
    let size = crate::number::count(text.chars().count(), "character");
    Question::about_cut_reply(round, &size, text)
}

/// The text with the end mark of its round: the wire told that it is whole, and which message it
/// answers, whatever the model wrote.
fn marked(mut text: String, mark: &EndMark) -> String {
    match crate::reply::end_mark(&text) {
        Some(found) if found == *mark => return text,
        // A wrong mark would be taken for a reply to something else.
        Some(_) => {
            let trimmed = text.trim_end_matches(['\n', '\r', '`', '~', ' ']).len();
            let line = text[..trimmed].rfind('\n').map_or(0, |at| at + 1);
            text.replace_range(line..trimmed, &mark.to_string());
            if crate::reply::end_mark(&text).as_ref() == Some(mark) {
                return text;
            }
        }
        None => {}
    }
    format!("{}\n{mark}\n", text.trim_end())
}

fn told(answer: &Completion, noted: NotedAnswer) -> ApiAnswer {
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let (end, why) = match &answer.end {
        CompletionEnd::Whole => (ApiAnswerEnd::Whole, String::new()),
        CompletionEnd::LengthLimit => (ApiAnswerEnd::LengthLimit, String::new()),
        CompletionEnd::Broken(why) => (ApiAnswerEnd::Broken, why.to_string()),
        CompletionEnd::Stopped => (ApiAnswerEnd::Stopped, String::new()),
        CompletionEnd::Refused(_) => (ApiAnswerEnd::Refused, String::new()),
    };
    ApiAnswer {
        end,
        why,
        input: answer.usage.input,
        cached: answer.usage.cached,
        output: answer.usage.output,
        reasoning: answer.usage.reasoning,
        is_estimated: answer.usage.is_estimated,
        cost_micros: noted.cost_micros,
        session_tokens: noted.session_tokens,
        session_cost_micros: noted.session_cost_micros,
        session_is_estimated: noted.session_is_estimated,
        session_unpriced: noted.session_unpriced,
        first_millis: millis(answer.timing.to_first),
        millis: millis(answer.timing.total),
        tokens_in_ten_seconds: answer.timing.tenths_per_second(answer.usage.output),
    }
}

/// Pieces of an answer, told a few times a second: an event for each token would be a write each.
struct ToldPieces<'d> {
    desk: &'d ApiThread,
    /// Ends the request.
    stop: &'d StopSignal,
    /// The limit that forbids a further try.
    limit: Option<Error>,
    text: String,
    reasoning: String,
    /// When something was last told; the first piece is told at once.
    last: Option<Instant>,
}

impl<'d> ToldPieces<'d> {
    fn new(desk: &'d ApiThread, stop: &'d StopSignal) -> Self {
        Self {
            desk,
            stop,
            limit: None,
            text: String::new(),
            reasoning: String::new(),
            last: None,
        }
    }

    fn hear(&mut self, progress: &RequestProgress<'_>) {
        match progress {
            RequestProgress::Sending { .. } => {}
            RequestProgress::Waiting {
                wait,
                tried,
                tries,
                why,
            } => {
                self.tell();
                // A try that broke off may be billed, and so may the next.
                if let Err(limit) = self.desk.desk.ensure_affordable(&why.spent) {
                    self.limit = Some(limit);
                    self.stop.raise();
                    return;
                }
                self.desk.tell(ApiNews::Retrying {
                    why: why.to_string(),
                    millis: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                    tried: *tried,
                    tries: *tries,
                });
            }
            RequestProgress::Text(piece) => self.text.push_str(piece),
            RequestProgress::Reasoning(piece) => self.reasoning.push_str(piece),
        }
        let is_time = |last: Instant| last.elapsed() >= TOLD_TOGETHER;
        if self.last.is_none_or(is_time) {
            self.tell();
        }
    }

    fn tell(&mut self) {
        if self.reasoning.is_empty() && self.text.is_empty() {
            return;
        }
        let reasoning = mem::take(&mut self.reasoning);
        if !reasoning.is_empty() {
            self.desk.tell(ApiNews::Reasoning { text: reasoning });
        }
        let text = mem::take(&mut self.text);
        if !text.is_empty() {
            self.desk.tell(ApiNews::Text { text });
        }
        self.last = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, expected: &str) {
        let mark = EndMark {
            session: SessionId::parse("ab12cd34").unwrap(),
            sequence: 3,
        };
        let expected = expected.replace("{end}", &mark.to_string());
        let text = text.replace("{end}", &mark.to_string());
        assert_eq!(marked(text, &mark), expected);
    }

    #[test]
    fn many_models_are_named_in_short() {
        let served = |number: usize| ServedModel {
            name: format!("m{number:04}"),
            window: None,
        };
        let models: Vec<ServedModel> = (0..5_000).map(served).collect();
        let names = model_names(&models).unwrap();
        assert!(names.starts_with("m0000, m0001, "), "{names}");
        assert!(names.ends_with("m0019 and 4980 more"), "{names}");
        assert_eq!(model_names(&models[..2]).unwrap(), "m0000, m0001");
        assert_eq!(model_names(&[]), None);
    }

    /// Nobody: a front end that hears nothing and answers nothing.
    #[derive(Debug)]
    struct Nobody;

    impl crate::protocol::EventSink for Nobody {
        fn emit(&self, _: Event) {}
    }

    impl crate::approve::Person for Nobody {
        fn input(&self) -> crate::approve::Input {
            crate::approve::Input::Refuse
        }

        fn is_interactive(&self) -> bool {
            false
        }

        fn ask(&self, _: &Question, _: &Interrupt) -> crate::approve::Answer {
            crate::approve::Answer::Nobody
        }

        fn attend(
            &self,
            _: &crate::approve::Pending,
            _: &[Question],
            _: &Interrupt,
        ) -> Option<crate::approve::Attending> {
            None
        }
    }

    /// A desk with a defect.
    #[derive(Debug)]
    struct BrokenDesk;

    impl ApiDesk for BrokenDesk {
        fn conversation(&self, _: u32) -> Result<Dialogue> {
            unreachable!("the defect comes first")
        }

        fn learn_too_long(&self, _: usize) {}

        fn ensure_affordable(&self, _: &TokenUsage) -> Result<()> {
            panic!("a defect of the desk")
        }

        fn record(&self, _: u32, _: TokenUsage, _: ReplyTiming) -> UsageRecord {
            unreachable!("the defect comes first")
        }

        fn note(&self, _: UsageRecord) -> Result<NotedAnswer> {
            unreachable!("the defect comes first")
        }

        fn owe(&self) -> bool {
            unreachable!("the defect comes first")
        }

        fn book(&self) -> Result<()> {
            unreachable!("the defect comes first")
        }

        fn hold(&self, _: &HeldAnswer) -> Result<()> {
            unreachable!("the defect comes first")
        }

        fn held(&self, _: u32) -> Option<HeldAnswer> {
            None
        }

        fn release(&self) {}
    }

    #[test]
    fn a_courier_that_crashes_ends_the_loop() {
        let base = tempfile::tempdir().unwrap();
        let outbox = base.path().join("outbox");
        let mailbox = Mailbox::open(outbox.clone(), base.path().join("inbox")).unwrap();
        let session = SessionId::parse("ab12cd34").unwrap();
        let message = outbox.join("ab12cd34_seq0001.txt");
        write_atomic(&message, b"a task", Durability::Atomic).unwrap();
        let provider = crate::api::Provider::named("custom").unwrap();
        let url = Some("http://127.0.0.1:1/v1");
        let endpoint = crate::api::ApiEndpoint::new(provider, url, None).unwrap();
        let plan = ApiPlan {
            client: ApiClient::new(endpoint),
            model: "one".to_owned(),
            max_output: None,
            temperature: None,
            reasoning: None,
        };
        let asker = Asker {
            person: Arc::new(Nobody),
            pending: crate::approve::Pending::of(base.path()),
        };
        let interrupt = Interrupt::default();
        let (raised, is_raised) = std::sync::mpsc::channel();
        interrupt.on_raise(move || raised.send(()).unwrap_or_default());
        let courier = ApiCourier::start(
            plan,
            Box::new(BrokenDesk),
            &mailbox,
            &session,
            asker,
            NotifyBy::Off,
            &interrupt,
        );
        is_raised.recv_timeout(Duration::from_mins(1)).unwrap();
        let failure = courier.finish().unwrap().error;
        assert_eq!(failure.kind(), ExitKind::Defect);
        assert!(failure.to_string().contains("crashed"), "{failure}");
    }

    #[test]
    fn a_whole_reply_ends_with_the_mark_of_its_round() {
        let other = EndMark {
            session: SessionId::parse("ffffffff").unwrap(),
            sequence: 1,
        };
        case("[DONE]\n{end}\n", "[DONE]\n{end}\n");
        case("[DONE]", "[DONE]\n{end}\n");
        case(
            &format!("[DONE]\n{other}\n``````\n"),
            "[DONE]\n{end}\n``````\n",
        );
    }
}
