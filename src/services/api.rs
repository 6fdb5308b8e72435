//! Everything about a model's API but the asking: whom the settings mean, where the key comes from,
//! what is sent, what it costs, and whether it works.

use std::cell::{Cell, RefCell};
use std::io::Read as _;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use wait_timeout::ChildExt as _;

use crate::agent::message_of;
use crate::api::{
    ApiClient, ApiEndpoint, ApiError, ApiErrorKind, ApiKey, ChatTurn, CompletionEnd,
    ReasoningEffort, ReplyTiming, StopSignal, TokenPrice, TokenUsage, UsageRecord,
};
pub use crate::api::{Provider, dollars};
use crate::compose::{self, estimated_tokens};
use crate::courier::api::{
    Allowance, ApiDesk, ApiPlan, Dialogue, HeldAnswer, NotedAnswer, model_names,
};
use crate::error::{Error, ExitKind, Result};
use crate::interrupt::Interrupt;
use crate::known_keys::{self, KnownKeys};
use crate::mailbox::{self, Mailbox, Reading};
use crate::number::{count, grouped};
use crate::platform::programs;
use crate::protocol::SessionId;
use crate::reply;
use crate::sandbox::kill_with_descendants;
use crate::session::{RoundRecap, Store, UsageTotals, now};
use crate::settings::{Reasoning, Settings};

/// How long a command may take to print the key; it may ask for a finger.
const KEY_PATIENCE: Duration = Duration::from_mins(2);
/// The pause between two checks for an interrupt.
const NEXT_LOOK: Duration = Duration::from_millis(50);
/// The longest output of that command.
const LONGEST_KEY: u64 = 64 * 1024;
/// How long its output is read after it ended, if something that it started still holds the pipe.
const AFTER_ITS_END: Duration = Duration::from_secs(1);
/// The most tokens of a round in the memory that stands for rounds that are not sent.
const MEMORY_TOKENS: usize = 500;
/// The file beside a session with an answer that is not in the inbox.
const HELD_ANSWER: &str = "held-answer.json";
/// The share of a window that is left for the answer, if nothing else is known.
const ANSWER_SHARE: u64 = 4;
/// Micro-dollars in a cent.
const CENT: u64 = 10_000;

/// The API that the settings name, and what is known of its model.
#[derive(Debug, Clone)]
pub struct ApiChoice {
    /// Whom to ask, and how.
    pub plan: ApiPlan,
    /// The key, which is redacted from all texts.
    pub key: Option<ApiKey>,
    /// Tokens that the model reads and writes together, if it is known.
    pub window: Option<u64>,
    /// The price of tokens, if it is known.
    pub price: Option<TokenPrice>,
    /// The most that a session may cost, in cents; 0 for no limit.
    pub max_cost: u64,
    /// The most tokens of a session; 0 for no limit.
    pub max_tokens: u64,
    /// The requests that the batch of the session permits.
    pub allowance: Allowance,
}

/// Tokens that the limits of the person hold for.
#[derive(Debug)]
pub(super) struct LimitedSpending<'a> {
    /// The session, or whatever else they are spent on, in words.
    pub(super) what: &'a str,
    /// The command that takes another limit.
    pub(super) command: &'a str,
    /// The tokens.
    pub(super) usage: TokenUsage,
    /// Their cost, if it is known.
    pub(super) cost_micros: Option<u64>,
    /// The model of which no price is known, if the cost is not.
    pub(super) model: &'a str,
}

impl ApiChoice {
    /// Refuses a request if a limit of the person is reached.
    pub(super) fn ensure_within_limits(&self, spent: &LimitedSpending<'_>) -> Result<()> {
        let about = if spent.usage.is_estimated { "~" } else { "" };
        let stopped = |sum: String, limit: String, setting: &str, flag: &str| {
            let what = spent.what;
            let what = format!("{what} comes to {about}{sum}, of {limit} that `{setting}` permits");
            let command = spent.command;
            Err(Error::new(ExitKind::RoundLimit, what)
                .hint(format!("`{command} {flag} N` sets another limit")))
        };
        let (limit, total) = (self.max_tokens, spent.usage.total());
        if limit > 0 && total >= limit {
            let sum = format!("{} tokens", grouped(total));
            return stopped(sum, grouped(limit), "MaxTokens", "--max-tokens");
        }
        let limit = self.max_cost.saturating_mul(CENT);
        match spent.cost_micros {
            _ if limit == 0 => Ok(()),
            Some(cost) if cost >= limit => {
                stopped(dollars(cost), dollars(limit), "MaxCost", "--max-cost")
            }
            Some(_) => Ok(()),
            // A limit that nobody can count must not pass for one that holds.
            None => Err(Error::mendable(format!(
                "`MaxCost` cannot be held: no price of `{}` is known",
                spent.model
            ))
            .hint(
                "tell it with `--api-price INPUT/OUTPUT`, or use `--max-cost 0 --max-tokens N` as the limit",
            )),
        }
    }
}

/// A signal that ends requests when the person interrupts.
pub(super) fn stop_on(interrupt: &Interrupt) -> StopSignal {
    let stop = StopSignal::default();
    let stopped = stop.clone();
    interrupt.on_raise(move || stopped.raise());
    stop
}

/// The API that the settings name, if they name one; gets the key. Ctrl-C ends it.
pub fn chosen(settings: &Settings, interrupt: &Interrupt) -> Result<Option<ApiChoice>> {
    let Some(provider) = settings.api.0 else {
        return Ok(None);
    };
    let key = key(provider, &settings.api_key_command, interrupt)?;
    let endpoint = ApiEndpoint::new(provider, Some(&settings.api_url), key.clone())
        .map_err(|error| refused(provider, &error))?;
    let client = ApiClient::new(endpoint).hiding(KnownKeys::of_this_process().filters());
    let model = model(settings, provider, &client, interrupt)?;
    let facts = provider.model(&model);
    let price = (settings.api_price.0).or_else(|| facts.and_then(|facts| facts.price));
    let window = match settings.api_window {
        0 => facts.map(|facts| facts.window),
        own => Some(own),
    };
    let max_output = facts.map(|facts| facts.max_output);
    Ok(Some(ApiChoice {
        plan: ApiPlan {
            client,
            model,
            // Only where the wire demands a limit is one sent.
            max_output: max_output.filter(|_| provider.wire == crate::api::Wire::Messages),
            temperature: settings.temperature.0,
            reasoning: reasoning(settings.reasoning),
        },
        key,
        window,
        price,
        max_cost: settings.max_cost,
        max_tokens: settings.max_tokens,
        allowance: Allowance::default(),
    }))
}

fn refused(provider: &Provider, error: &ApiError) -> Error {
    let told = Error::mendable(format!("`--api {}` cannot be used: {error}", provider.name));
    match error.kind {
        ApiErrorKind::KeyMissing => told.hint(format!(
            "export {}=..., or let a command print the key: `--api-key-command \"pass show {}\"`",
            provider.key_variable, provider.name
        )),
        _ => told.hint(error.advice()),
    }
}

fn reasoning(setting: Reasoning) -> Option<ReasoningEffort> {
    match setting {
        Reasoning::Auto => None,
        Reasoning::Off => Some(ReasoningEffort::Off),
        Reasoning::Low => Some(ReasoningEffort::Low),
        Reasoning::Medium => Some(ReasoningEffort::Medium),
        Reasoning::High => Some(ReasoningEffort::High),
    }
}

/// The model that is meant: the one that is named, the provider's default, or the only one that a
/// server on this machine has.
fn model(
    settings: &Settings,
    provider: &Provider,
    client: &ApiClient,
    interrupt: &Interrupt,
) -> Result<String> {
    if !settings.model.is_empty() {
        return Ok(settings.model.clone());
    }
    if let Some(model) = provider.default_model() {
        return Ok(model.name.clone());
    }
    let missing = Error::usage(format!("`--api {}` needs a model", provider.name))
        .hint("name one with `--model NAME`");
    if provider.needs_key {
        return Err(missing);
    }
    match client.models(&stop_on(interrupt)) {
        Ok(models) => match models.as_slice() {
            [only] => Ok(only.name.clone()),
            models => Err(match model_names(models) {
                Some(names) => missing.hint(format!("the server has: {names}")),
                None => missing,
            }),
        },
        Err(error) if error.kind == ApiErrorKind::Stopped => {
            Err(Error::new(ExitKind::Interrupted, "interrupted"))
        }
        Err(error) => {
            let told =
                Error::mendable(format!("`--api {}` cannot be used: {error}", provider.name));
            let told = match &provider.start {
                Some(start) => told.hint(start),
                None => told,
            };
            Err(told.hint(error.advice()))
        }
    }
}

/// The key, from the person's command or from the provider's variable. Ctrl-C ends the command.
fn key(provider: &Provider, command: &str, interrupt: &Interrupt) -> Result<Option<ApiKey>> {
    if command.is_empty() {
        let text = std::env::var(&provider.key_variable).unwrap_or_default();
        return match ApiKey::new(&text) {
            None if !text.trim().is_empty() => Err(Error::mendable(format!(
                "{} has something in it that is no key",
                provider.key_variable
            ))
            .hint("a key is one word of ASCII characters")),
            key => Ok(key),
        };
    }
    let failed = |why: String| {
        Error::mendable(format!("`ApiKeyCommand` gave no key: {why}"))
            // Not its words: the key may be one of them.
            .hint("run it yourself to see why")
    };
    let mut child = in_shell(command)
        .and_then(|mut started| {
            started
                // It may ask for a passphrase at the terminal.
                .stdin(Stdio::inherit())
                .stderr(Stdio::inherit())
                .stdout(Stdio::piped())
                .spawn()
        })
        .map_err(|cause| failed(cause.to_string()))?;
    let pieces = child.stdout.take().map(read_pieces);
    let until = Instant::now() + KEY_PATIENCE;
    let ended = loop {
        let ended = child.wait_timeout(NEXT_LOOK);
        let is_over = interrupt.is_raised() || Instant::now() >= until;
        if is_over || !matches!(ended, Ok(None)) {
            break ended;
        }
    };
    match ended {
        Ok(Some(status)) if status.success() => {}
        // At a terminal Ctrl-C reaches it too.
        Ok(Some(_)) if interrupt.is_raised() => {
            return Err(Error::new(ExitKind::Interrupted, "interrupted"));
        }
        Ok(Some(status)) => return Err(failed(format!("it ended with {status}"))),
        Ok(None) | Err(_) => {
            kill_with_descendants(&mut child);
            if interrupt.is_raised() {
                return Err(Error::new(ExitKind::Interrupted, "interrupted"));
            }
            let seconds = KEY_PATIENCE.as_secs();
            return Err(failed(format!("it did not end within {seconds} seconds")));
        }
    }
    let line = pieces.map(|pieces| first_line(&pieces)).unwrap_or_default();
    match ApiKey::new(&line) {
        Some(key) => {
            known_keys::learn(&key);
            Ok(Some(key))
        }
        None => Err(failed("its first line is no key".to_owned())),
    }
}

/// Reads the output of a command, piece by piece, until its end.
/// The shell of the system with a line of the person.
fn in_shell(line: &str) -> std::io::Result<Command> {
    #[cfg(windows)]
    {
        use std::os::windows::process::CommandExt as _;
        let mut shell = programs::command("cmd")?;
        // With `/s` it drops the first quote and the last one, and takes what is between as it is. The
        // quotes that `arg` adds for other programs would reach the command.
        shell.raw_arg("/d /s /c").raw_arg(format!("\"{line}\""));
        Ok(shell)
    }
    #[cfg(not(windows))]
    {
        let mut shell = programs::command("sh")?;
        shell.args(["-c", line]);
        Ok(shell)
    }
}

fn read_pieces(output: ChildStdout) -> Receiver<Vec<u8>> {
    let (read, pieces) = mpsc::channel();
    std::thread::spawn(move || {
        let mut output = output.take(LONGEST_KEY);
        let mut piece = [0; 4096];
        while let Ok(length @ 1..) = output.read(&mut piece) {
            if read.send(piece[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    pieces
}

/// The first line of what a command printed that has ended: password managers print notes below it.
/// A child that lives on may hold the pipe open for ever, so its end is not waited for.
fn first_line(pieces: &Receiver<Vec<u8>>) -> String {
    let until = Instant::now() + AFTER_ITS_END;
    let mut printed = Vec::new();
    while !printed.contains(&b'\n') {
        let left = until.saturating_duration_since(Instant::now());
        match pieces.recv_timeout(left) {
            Ok(piece) => printed.extend(piece),
            Err(_) => break,
        }
    }
    let printed = String::from_utf8_lossy(&printed);
    printed.lines().next().unwrap_or_default().to_owned()
}

/// One session, as an API courier sees it.
#[derive(Debug)]
pub struct SessionDesk {
    choice: ApiChoice,
    store: Store,
    mailbox: Mailbox,
    session: SessionId,
    /// The longest conversation, in tokens, after the server found one too long.
    learned_room: Cell<usize>,
    /// The record that is to be booked next.
    noted: RefCell<Option<UsageRecord>>,
}

impl SessionDesk {
    /// The desk of a session.
    pub fn new(choice: ApiChoice, store: &Store, mailbox: &Mailbox, session: &SessionId) -> Self {
        Self {
            choice,
            store: store.clone(),
            mailbox: mailbox.clone(),
            session: session.clone(),
            learned_room: Cell::new(usize::MAX),
            noted: RefCell::default(),
        }
    }

    /// How many tokens a conversation may have.
    fn room(&self) -> usize {
        let window = self.choice.window.unwrap_or(u64::MAX);
        let answer = u64::from(self.choice.plan.max_output.unwrap_or(u32::MAX));
        let room = window - answer.min(window / ANSWER_SHARE);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        room.min(self.learned_room.get())
    }

    /// The cost of tokens, if it is known.
    fn cost_micros(&self, usage: &TokenUsage) -> Option<u64> {
        usage.cost_micros(self.choice.price.as_ref())
    }

    /// The costs of the session; nothing if they are not known. Answers that came when no price was
    /// known count at the present one.
    fn spent_micros(&self, records: &[UsageRecord], unbooked: &TokenUsage) -> Option<u64> {
        let booked = (records.iter())
            .map(|record| (record.cost_micros).or_else(|| self.cost_micros(&record.usage)));
        let unbooked = (!unbooked.is_empty()).then(|| self.cost_micros(unbooked));
        booked
            .chain(unbooked)
            .try_fold(0_u64, |sum, cost| Some(sum.saturating_add(cost?)))
    }
}

impl ApiDesk for SessionDesk {
    fn conversation(&self, round: u32) -> Result<Dialogue> {
        let rounds = exchanges(&self.mailbox, &self.session, round);
        let recaps = match self.store.load(&self.session) {
            Ok(session) => session.history.rounds.into_iter().collect(),
            Err(_) => Vec::new(),
        };
        Ok(dialogue(&rounds, &recaps, self.room()))
    }

    fn learn_too_long(&self, tokens: usize) {
        self.learned_room.set(self.room().min(tokens / 2));
    }

    fn ensure_affordable(&self, unbooked: &TokenUsage) -> Result<()> {
        if self.choice.allowance.is_used_up() {
            let what = "the batch has used up what `--max-cost` or `--max-tokens` permits";
            return Err(Error::new(ExitKind::RoundLimit, what));
        }
        // Also without a limit: an answer that cannot be booked should not be asked for.
        self.store.ensure_bookable(&self.session)?;
        settle_books(&self.store, &self.session)?;
        let records = self.store.usage_records(&self.session)?;
        let mut usage = UsageTotals::of(&records).usage;
        usage.add(unbooked);
        let unpriced = records.iter().rev().find(|one| one.cost_micros.is_none());
        self.choice.ensure_within_limits(&LimitedSpending {
            what: "the session",
            command: &format!("agent resume {}", self.session),
            usage,
            cost_micros: self.spent_micros(&records, unbooked),
            model: unpriced.map_or(&self.choice.plan.model, |one| &one.model),
        })
    }

    fn record(&self, round: u32, usage: TokenUsage, timing: ReplyTiming) -> UsageRecord {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        UsageRecord {
            at: now(),
            round,
            provider: self.choice.plan.client.endpoint().provider.name.clone(),
            model: self.choice.plan.model.clone(),
            cost_micros: self.cost_micros(&usage),
            usage,
            first_millis: millis(timing.to_first),
            millis: millis(timing.total),
        }
    }

    fn note(&self, record: UsageRecord) -> Result<NotedAnswer> {
        let cost_micros = record.cost_micros;
        let noted = self.store.note_usage(&self.session, &record);
        *self.noted.borrow_mut() = Some(record);
        noted?;
        let totals = self.store.usage(&self.session).unwrap_or_default();
        Ok(NotedAnswer {
            cost_micros,
            session_tokens: totals.usage.total(),
            session_cost_micros: totals.cost_micros,
            session_is_estimated: totals.usage.is_estimated,
            session_unpriced: totals.unpriced,
        })
    }

    fn book(&self) -> Result<()> {
        match self.noted.borrow().as_ref() {
            Some(record) => self.store.book_usage(&self.session, record),
            None => Ok(()),
        }
    }

    fn owe(&self) -> bool {
        let noted = self.noted.borrow();
        let record = noted.as_ref();
        record.is_some_and(|record| self.store.owe_usage(&self.session, record).is_ok())
    }

    fn hold(&self, answer: &HeldAnswer) -> Result<()> {
        self.store
            .put_aside_durably(&self.session, HELD_ANSWER, answer)
    }

    fn held(&self, round: u32) -> Option<HeldAnswer> {
        let held: Option<HeldAnswer> = self.store.aside(&self.session, HELD_ANSWER);
        held.filter(|held| held.round == round)
    }

    fn release(&self) {
        // What it cost must not go with it.
        if book_held(&self.store, &self.session).is_ok() {
            self.store.drop_aside(&self.session, HELD_ANSWER);
        }
    }
}

/// Books what answers to a session cost and earlier runs could not book, because they were killed or
/// because nothing could be written.
pub(super) fn settle_books(store: &Store, session: &SessionId) -> Result<()> {
    book_held(store, session)?;
    store.book_owed(session)
}

fn book_held(store: &Store, session: &SessionId) -> Result<()> {
    let held: Option<HeldAnswer> = store.aside(session, HELD_ANSWER);
    match held.and_then(|held| held.billed) {
        Some(billed) => store.book_usage(session, &billed),
        None => Ok(()),
    }
}

/// Returns true if an answer to this round is held beside the session.
pub(super) fn has_held_answer(store: &Store, session: &SessionId, round: u32) -> bool {
    let held: Option<HeldAnswer> = store.aside(session, HELD_ANSWER);
    held.is_some_and(|held| held.round == round)
}

/// A message and the reply to it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Exchange {
    round: u32,
    message: String,
    /// Nothing for the last round, and for one whose reply is gone.
    reply: Option<String>,
}

/// The rounds of a session up to this one, from `outbox/` and `inbox/processed/`: since the last
/// message that was written for a chat that knows nothing.
fn exchanges(mailbox: &Mailbox, session: &SessionId, round: u32) -> Vec<Exchange> {
    let mut exchanges = Vec::new();
    for sequence in (1..=round).rev() {
        let Some(posted) = mailbox.posted(session, sequence) else {
            continue;
        };
        let message = message_of(&posted);
        let is_first = compose::is_handover(&message);
        let reply = (sequence < round)
            .then(|| mailbox.claimed(session, sequence))
            .flatten()
            .and_then(|path| match mailbox::read_reply(&path) {
                Ok(Reading::Text(bytes)) => Some(reply::decode(&bytes).0),
                _ => None,
            });
        exchanges.push(Exchange {
            round: sequence,
            message,
            reply,
        });
        if is_first {
            break;
        }
    }
    exchanges.reverse();
    exchanges
}

/// The conversation, at most so many tokens long, if that can be: the oldest rounds are replaced by
/// a summary of each, and the first message stays.
///
/// Rounds are given up in large steps, and always the same ones for the same rounds: what is sent
/// begins as the request before did, so that the provider's cache has it.
fn dialogue(rounds: &[Exchange], recaps: &[RoundRecap], room: usize) -> Dialogue {
    let sizes: Vec<(usize, usize)> = rounds
        .iter()
        .map(|one| {
            let reply = one.reply.as_deref().map_or(0, estimated_tokens);
            (estimated_tokens(&one.message), reply)
        })
        .collect();
    let lines: Vec<String> = rounds.iter().map(|one| memory_line(one, recaps)).collect();
    let line_tokens: Vec<usize> = lines.iter().map(|line| estimated_tokens(line)).collect();
    // However many rounds there were, most of the room is for those that are sent.
    let memory_room = room / 4;
    let mut start = 0;
    for last in 0..rounds.len() {
        // The reply to the last message is still to come.
        let size = |from: usize| {
            let sent = sizes[from..last]
                .iter()
                .map(|(message, reply)| message + reply);
            let memory = match from {
                0 => 0,
                from => sizes[0].0 + line_tokens[..from].iter().sum::<usize>().min(memory_room),
            };
            sent.sum::<usize>() + sizes[last].0 + memory
        };
        if size(start) > room {
            let fits = |from: &usize| size(*from) <= room / 2;
            start = (start + 1..last).find(fits).unwrap_or(last);
        }
    }
    let mut turns: Vec<ChatTurn> = Vec::new();
    if start > 0 {
        let first = &rounds[0].message;
        let memory = memory(&lines[..start], memory_room);
        turns.push(ChatTurn::user(format!("{first}\n\n{memory}")));
    }
    for one in &rounds[start..] {
        match turns.last_mut() {
            // Roles take turns: what follows a message without a reply belongs to it.
            Some(before) if before.role == crate::api::ChatRole::User => {
                before.text.push_str("\n\n");
                before.text.push_str(&one.message);
            }
            _ => turns.push(ChatTurn::user(&one.message)),
        }
        turns.extend(one.reply.as_ref().map(ChatTurn::assistant));
    }
    let tokens = turns.iter().map(|turn| estimated_tokens(&turn.text)).sum();
    Dialogue {
        turns,
        tokens,
        summed_up: u32::try_from(start).unwrap_or(u32::MAX),
    }
}

/// The text in place of the rounds that are not sent: a line for each, the latest first if there is not
/// room for all.
fn memory(lines: &[String], room: usize) -> String {
    let mut told = Vec::new();
    let mut tokens = 0;
    for line in lines.iter().rev() {
        tokens += estimated_tokens(line);
        if tokens > room {
            break;
        }
        told.push(line.as_str());
    }
    told.reverse();
    let mut text = String::from(
        "## Rounds That Are Left Out\nTo save room, these rounds of our conversation are summed up here; the files are as they left them.\n",
    );
    if told.len() < lines.len() {
        text.push_str("- earlier rounds: nothing is told\n");
    }
    for line in told {
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn memory_line(one: &Exchange, recaps: &[RoundRecap]) -> String {
    let recap = recaps.iter().find(|recap| recap.round == one.round);
    let line = recap.map_or_else(|| "done".to_owned(), summed_up);
    let mut line = format!("- round {}: {line}", one.round);
    // At least three bytes make a token.
    line.truncate(line.floor_char_boundary(MEMORY_TOKENS * 3));
    line
}

fn summed_up(recap: &RoundRecap) -> String {
    let parts = [
        ("changed", &recap.files),
        ("ran", &recap.commands),
        ("failed", &recap.failures),
        ("looked at", &recap.looks),
    ];
    let words = parts.iter().filter(|(_, named)| !named.is_empty());
    let words: Vec<String> = words
        .map(|(verb, named)| {
            let more = named.count - named.first.len();
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            format!("{verb} {}{more}", named.first.join(", "))
        })
        .collect();
    let undone = if recap.is_undone {
        " (undone by the user)"
    } else {
        ""
    };
    if words.is_empty() {
        format!("nothing was changed{undone}")
    } else {
        format!("{}{undone}", words.join("; "))
    }
}

/// One finding of a test of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiFinding {
    /// True if it works.
    pub works: bool,
    /// The attempt, and how it went.
    pub what: String,
    /// Advice; empty if it works.
    pub remedy: String,
}

impl ApiFinding {
    fn fine(what: impl Into<String>) -> Self {
        Self {
            works: true,
            what: what.into(),
            remedy: String::new(),
        }
    }

    fn trouble(what: impl Into<String>, error: &ApiError) -> Self {
        Self {
            works: false,
            what: format!("{}: {error}", what.into()),
            remedy: error.advice().to_owned(),
        }
    }
}

/// Tries the key, the model, streaming and limits; the request costs a few tokens. Ctrl-C ends it.
pub fn test(choice: &ApiChoice, interrupt: &Interrupt) -> Vec<ApiFinding> {
    let ApiPlan { client, model, .. } = &choice.plan;
    let endpoint = client.endpoint();
    let key = match (&choice.key, endpoint.provider.needs_key) {
        (Some(_), _) => "with a key",
        (None, _) => "without a key",
    };
    let mut findings = vec![ApiFinding::fine(format!("{endpoint}, {key}"))];
    let stop = stop_on(interrupt);
    let patient = crate::api::RetryPolicy {
        tries: 2,
        ..crate::api::RetryPolicy::default()
    };
    let client = client.clone().with_retries(patient);
    let mut window = choice.window;
    match client.models(&stop) {
        Ok(models) => {
            let found = models.iter().find(|one| one.name == *model);
            window = window.or(found.and_then(|one| one.window));
            let listed = count(models.len(), "model");
            findings.push(match (found, models.len()) {
                (Some(_), 1) => ApiFinding::fine(format!("the server has one model, `{model}`")),
                (Some(_), _) => ApiFinding::fine(format!("the server has {listed}, and `{model}` is one of them")),
                (None, _) => ApiFinding::fine(format!("the server lists {listed}, and `{model}` is not among them; it may have it all the same")),
            });
        }
        // Not every server lists its models: only the request below decides.
        Err(error) => findings.push(ApiFinding::fine(format!(
            "the server does not list its models ({error})"
        ))),
    }
    findings.push(try_answer(&client, &choice.plan, &stop));
    findings.push(ApiFinding::fine(match window {
        Some(window) => format!("the model's window has {} tokens", grouped(window)),
        None => "the model's window is not known: a conversation that is too long is shortened when the server says so, or with `--api-window`".to_owned(),
    }));
    findings.push(ApiFinding::fine(match &choice.price {
        Some(price) => format!("a million tokens cost ${} sent and ${} received", price.input, price.output),
        None => "no price is known: costs are told in tokens, unless `--api-price` or the server tells it".to_owned(),
    }));
    findings
}

fn try_answer(client: &ApiClient, plan: &ApiPlan, stop: &StopSignal) -> ApiFinding {
    let mut request = plan.request(vec![ChatTurn::user("Answer with the word OK.")]);
    request.max_output = Some(64);
    let mut pieces = 0;
    let answer = client.complete(&request, stop, &mut |progress| {
        if matches!(
            progress,
            crate::api::RequestProgress::Text(_) | crate::api::RequestProgress::Reasoning(_)
        ) {
            pieces += 1;
        }
    });
    match answer {
        Ok(answer) if matches!(answer.end, CompletionEnd::Refused(_)) => ApiFinding {
            works: false,
            what: format!(
                "`{}` refuses to answer, or a filter of the provider stops it",
                plan.model
            ),
            remedy: "use another model with `--model`".to_owned(),
        },
        Ok(answer) => {
            let first = answer.timing.to_first.as_millis();
            let total = answer.timing.total.as_millis();
            let streams = if answer.is_streamed {
                "streams"
            } else {
                "came in one piece"
            };
            let tokens = usize::try_from(answer.usage.total()).unwrap_or(usize::MAX);
            let counted = if answer.usage.is_estimated {
                "the server does not count its tokens, so they will be estimated".to_owned()
            } else {
                count(tokens, "token")
            };
            ApiFinding::fine(format!(
                "`{}` answers: the first piece after {first} ms, all after {total} ms, {counted}; the answer {streams}",
                plan.model
            ))
        }
        // A reasoning model may spend all of a small limit on its thoughts: it answers.
        Err(error) if error.kind == ApiErrorKind::Empty && pieces > 0 => {
            ApiFinding::fine(format!("`{}` answers, and thinks first", plan.model))
        }
        Err(error) => ApiFinding::trouble(format!("`{}` does not answer", plan.model), &error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(round: u32, message: &str, reply: Option<&str>) -> Exchange {
        Exchange {
            round,
            message: message.to_owned(),
            reply: reply.map(str::to_owned),
        }
    }

    fn long(rounds: u32) -> Vec<Exchange> {
        let text = "some words of a message ".repeat(20);
        (1..=rounds)
            .map(|round| {
                let message = format!("message {round}: {text}");
                let reply = (round < rounds).then(|| format!("reply {round}: {text}"));
                exchange(round, &message, reply.as_deref())
            })
            .collect()
    }

    #[test]
    fn a_conversation_is_the_messages_and_the_replies() {
        let rounds = [
            exchange(1, "task", Some("reply")),
            exchange(2, "results", None),
        ];
        let dialogue = dialogue(&rounds, &[], usize::MAX);
        let expected = [
            ChatTurn::user("task"),
            ChatTurn::assistant("reply"),
            ChatTurn::user("results"),
        ];
        assert_eq!(
            (dialogue.turns.as_slice(), dialogue.summed_up),
            (&expected[..], 0)
        );
    }

    #[test]
    fn a_message_whose_reply_is_gone_is_joined_with_the_next() {
        let rounds = [exchange(1, "task", None), exchange(2, "again", None)];
        let dialogue = dialogue(&rounds, &[], usize::MAX);
        assert_eq!(dialogue.turns, [ChatTurn::user("task\n\nagain")]);
    }

    #[test]
    fn each_request_begins_as_the_one_before_but_for_a_few() {
        let (mut broken, room) = (0, 3_000);
        for last in 2..=30 {
            let before = dialogue(&long(last)[..last as usize - 1], &[], room);
            let after = dialogue(&long(last), &[], room);
            assert!(after.tokens <= room + 500, "{last}: {}", after.tokens);
            let is_prefix = after
                .turns
                .starts_with(&before.turns[..before.turns.len() - 1]);
            broken += u32::from(!is_prefix);
        }
        assert!((1..=6).contains(&broken), "{broken} of 29");
    }

    #[test]
    fn the_memory_stands_for_rounds_that_are_not_sent() {
        let rounds = long(12);
        let recap = RoundRecap {
            round: 1,
            files: crate::session::Named {
                first: vec!["src/a.rs".to_owned()],
                count: 3,
            },
            ..RoundRecap::default()
        };
        let dialogue = dialogue(&rounds, &[recap], 1_500);
        assert!(dialogue.summed_up > 5, "{}", dialogue.summed_up);
        let first = &dialogue.turns[0].text;
        assert!(first.starts_with("message 1:"), "{first}");
        assert!(
            first.contains("- round 1: changed src/a.rs and 2 more\n"),
            "{first}"
        );
        assert!(first.contains("- round 2: done\n"));
        assert!(dialogue.turns.last().unwrap().text.contains("message 12:"));
        // The same rounds give the same text.
        assert_eq!(
            first,
            &self::dialogue(&rounds, &[RoundRecap::default()], 1_500).turns[0]
                .text
                .replace("- round 1: done", "- round 1: changed src/a.rs and 2 more")
        );
    }
}
