//! The courier that asks a model's API: sends the message of `outbox/`, writes the reply into
//! `inbox/`.
//!
//! It runs on a thread beside the loop and knows only the mailbox. A reply is written when it is
//! whole, under a name that says which round it answers, and a round that has a reply is not asked
//! again: so a kill at any point loses at most an answer that was still on its way. What was billed
//! is booked before the reply is in the inbox.
//!
//! Ctrl-C stops the request, not the loop. What cannot be answered goes to the person, if there is
//! one; otherwise the loop ends, and [`ApiCourier::finish`] says why.

use std::cell::RefCell;
use std::fmt::Debug;
use std::mem;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::Message;
use crate::api::{
    ApiClient, ApiError, ApiErrorKind, ChatTurn, Completion, CompletionEnd, ModelRequest,
    ReasoningEffort, ReplyTiming, RequestProgress, StopSignal, TokenUsage,
};
use crate::approve::{Asker, Question, Verdict};
use crate::error::{Error, Result};
use crate::fs::{Durability, write_atomic};
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

/// How much of a conversation is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogueLength {
    /// As much as the model's window has room for, as far as it is known.
    Window,
    /// Half of that, because the server said that it was too long.
    Half,
}

/// The session as the courier knows it: what to send, what may be spent, what was spent.
pub trait ApiDesk: Debug + Send {
    /// The conversation up to the message of this round.
    fn conversation(&self, round: u32, length: DialogueLength) -> Result<Dialogue>;

    /// Refuses a request that a limit of the person does not permit.
    fn ensure_affordable(&self) -> Result<()>;

    /// Books the tokens of an answer, or of half of one; returns the cost of it, and what the session
    /// took so far.
    fn book(&self, round: u32, usage: TokenUsage, timing: ReplyTiming) -> Result<BookedAnswer>;
}

/// The costs of an answer, and of the session so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BookedAnswer {
    /// The cost of the answer in millionths of a dollar, if a price is known.
    pub cost_micros: Option<u64>,
    /// All tokens of the session.
    pub session_tokens: u64,
    /// All costs of the session, as far as they are known.
    pub session_cost_micros: Option<u64>,
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
    pub fn explained(&self, error: &ApiError) -> Error {
        let endpoint = self.client.endpoint();
        let mut told = Error::mendable(format!("`{}` did not answer: {error}", self.name()));
        if error.kind == ApiErrorKind::ModelNotFound {
            told = match self.models() {
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
    fn models(&self) -> Option<String> {
        let models = self.client.models(&StopSignal::default()).ok()?;
        let mut names: Vec<String> = models.into_iter().map(|model| model.name).collect();
        names.sort();
        let more = names.len().saturating_sub(NAMED_MODELS);
        names.truncate(NAMED_MODELS);
        match (names.is_empty(), more) {
            (true, _) => None,
            (_, 0) => Some(names.join(", ")),
            (_, more) => Some(format!("{} and {more} more", names.join(", "))),
        }
    }
}

/// The courier of a running loop; it stops when this is dropped.
#[derive(Debug)]
pub struct ApiCourier {
    shared: Arc<SharedCourierState>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct SharedCourierState {
    is_over: AtomicBool,
    /// Ends the request under way.
    stop: Mutex<StopSignal>,
    /// Ends the question under way.
    question: Mutex<Interrupt>,
    failure: Mutex<Option<Error>>,
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
            asker,
            notify,
            told: RefCell::default(),
            interrupt: interrupt.clone(),
            shared: Arc::clone(&shared),
        };
        let thread = thread::spawn(move || desk.run(&bell));
        Self {
            shared,
            waker,
            thread: Some(thread),
        }
    }

    /// Ends it, and says why it ended the loop, if it did.
    pub fn finish(mut self) -> Option<Error> {
        self.end();
        locked(&self.shared.failure).take()
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

/// The outcome of one request for a round.
#[derive(Debug)]
enum CarriedRound {
    /// It has a reply, or the person goes on without the API.
    Settled,
    /// It is asked again.
    Again(DialogueLength),
}

/// The state of the thread.
#[derive(Debug)]
struct ApiThread {
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
            let Some(message) = Message::latest(&self.mailbox, &self.session) else {
                bell.wait_for(NEXT_LOOK);
                continue;
            };
            if settled.as_ref() != Some(&message) {
                rejected = 0;
                thread::sleep(AFTER_THE_LOOP);
                if !self.is_answered(&message) {
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
        if !is_enough || matches!(self.consider(message, error()), CarriedRound::Again(_)) {
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

    /// Asks until the round has a reply or the person says otherwise.
    fn carry(&self, message: &Message) {
        let mut length = DialogueLength::Window;
        while !self.is_over() {
            match self.ask(message, length) {
                Ok(CarriedRound::Settled) => return,
                Ok(CarriedRound::Again(next)) => length = next,
                Err(error) => match self.consider(message, error) {
                    CarriedRound::Settled => return,
                    CarriedRound::Again(next) => length = next,
                },
            }
        }
    }

    fn ask(&self, message: &Message, length: DialogueLength) -> Result<CarriedRound> {
        self.desk.ensure_affordable()?;
        let round = message.mark.sequence;
        let dialogue = self.desk.conversation(round, length)?;
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
        let answer = self.request(dialogue.turns);
        if let Err(error) = &answer
            && !error.spent.is_empty()
        {
            (self.desk).book(round, error.spent, ReplyTiming::default())?;
        }
        match answer {
            Ok(answer) => self.take(message, answer),
            // Both the first try and the shorter one may be too long for a tiny window, and a first
            // message has nothing before it that could be left out.
            Err(error)
                if error.kind == ApiErrorKind::ContextTooLong
                    && length == DialogueLength::Window
                    && (self.desk)
                        .conversation(round, DialogueLength::Half)?
                        .tokens
                        < dialogue.tokens =>
            {
                Ok(CarriedRound::Again(DialogueLength::Half))
            }
            Err(error) if error.kind == ApiErrorKind::Stopped => Ok(self.stopped(message, None)),
            Err(error) => Err(self.plan.explained(&error)),
        }
    }

    fn request(&self, turns: Vec<ChatTurn>) -> Result<Completion, ApiError> {
        let stop = StopSignal::default();
        *locked(&self.shared.stop) = stop.clone();
        if self.is_over() {
            return Err(ApiError::new(ApiErrorKind::Stopped, ""));
        }
        let stopped = stop.clone();
        // The first Ctrl-C stops the request, the second one the loop.
        let _diversion = self.interrupt.divert(move || {
            let is_first = !stopped.is_raised();
            stopped.raise();
            is_first
        });
        let mut pieces = ToldPieces::new(self);
        let answer = (self.plan.client).complete(&self.plan.request(turns), &stop, &mut |news| {
            pieces.hear(&news);
        });
        pieces.tell();
        answer
    }

    /// Books an answer and puts it into the inbox.
    fn take(&self, message: &Message, answer: Completion) -> Result<CarriedRound> {
        let round = message.mark.sequence;
        let booked = (self.desk).book(round, answer.usage, answer.timing)?;
        self.tell(ApiNews::Answered(told(&answer, booked)));
        // The person may have brought another reply meanwhile.
        let is_current = Message::latest(&self.mailbox, &self.session).as_ref() == Some(message);
        if !is_current || self.is_answered(message) {
            self.tell(ApiNews::Overtaken);
            return Ok(CarriedRound::Settled);
        }
        match answer.end {
            CompletionEnd::Whole => {
                self.put(&message.mark, &marked(answer.text, &message.mark))?;
                Ok(CarriedRound::Settled)
            }
            CompletionEnd::LengthLimit | CompletionEnd::Broken(_) => {
                self.put(&message.mark, &answer.text)?;
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

    /// Asks the person what to do after they stopped a request; without one, what came waits as a
    /// cut reply for the next run.
    fn stopped(&self, message: &Message, came: Option<&str>) -> CarriedRound {
        let round = message.mark.sequence;
        let characters = came.map_or(0, |text| text.chars().count());
        self.tell(ApiNews::Stopped { characters });
        let is_interactive = self.asker.person.is_interactive() && !self.is_over();
        if let Some(text) = came {
            let size = crate::number::count(characters, "character");
            let question = Question::about_cut_reply(round, &size, text);
            if !is_interactive || self.is_confirmed(question) {
                if let Err(trouble) = self.put(&message.mark, text) {
                    self.asker.person.emit(Event::from(&trouble));
                }
                if is_interactive {
                    return CarriedRound::Settled;
                }
            }
        }
        if is_interactive {
            let name = self.plan.name();
            if self.is_confirmed(Question::about_asking_again(round, &name, "")) {
                return CarriedRound::Again(DialogueLength::Window);
            }
        }
        self.interrupt.raise();
        CarriedRound::Settled
    }

    /// Asks the person what to do about a failure; without one the loop ends.
    fn consider(&self, message: &Message, error: Error) -> CarriedRound {
        if self.is_over() {
            return CarriedRound::Settled;
        }
        if !self.asker.person.is_interactive() {
            *locked(&self.shared.failure) = Some(error);
            self.interrupt.raise();
            return CarriedRound::Settled;
        }
        self.asker.person.emit(Event::from(&error));
        let (round, name) = (message.mark.sequence, self.plan.name());
        let question = Question::about_asking_again(round, &name, &error.to_string());
        if self.is_confirmed(question) {
            return CarriedRound::Again(DialogueLength::Window);
        }
        if !self.is_over() {
            *locked(&self.shared.failure) = Some(error);
            self.interrupt.raise();
        }
        CarriedRound::Settled
    }

    fn is_confirmed(&self, question: Question) -> bool {
        let over = Interrupt::default();
        *locked(&self.shared.question) = over.clone();
        let raised = over.clone();
        self.interrupt.on_raise(move || raised.raise());
        if self.is_over() {
            return false;
        }
        match self.asker.pose(question, &over) {
            Ok(verdict) => matches!(verdict, Some(Verdict::Yes | Verdict::Always)),
            Err(trouble) => {
                self.asker.person.emit(Event::from(&trouble));
                false
            }
        }
    }

    fn put(&self, mark: &EndMark, text: &str) -> Result<()> {
        let unique = uuid::Uuid::new_v4().simple().to_string();
        let name = mailbox::api_reply_name(&self.session, mark.sequence, &unique[..8]);
        let path = self.mailbox.inbox().join(name);
        write_atomic(&path, text.as_bytes(), Durability::Durable)?;
        *locked(&self.shared.placed) = Some(path);
        Ok(())
    }

    fn tell(&self, news: ApiNews) {
        self.asker.person.emit(Event::Api(news));
    }
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

fn told(answer: &Completion, booked: BookedAnswer) -> ApiAnswer {
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
        cost_micros: booked.cost_micros,
        session_tokens: booked.session_tokens,
        session_cost_micros: booked.session_cost_micros,
        first_millis: millis(answer.timing.to_first),
        millis: millis(answer.timing.total),
        tokens_in_ten_seconds: answer.timing.tenths_per_second(answer.usage.output),
    }
}

/// Pieces of an answer, told a few times a second: an event for each token would be a write each.
struct ToldPieces<'d> {
    desk: &'d ApiThread,
    text: String,
    reasoning: String,
    /// When something was last told; the first piece is told at once.
    last: Option<Instant>,
}

impl<'d> ToldPieces<'d> {
    fn new(desk: &'d ApiThread) -> Self {
        Self {
            desk,
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
