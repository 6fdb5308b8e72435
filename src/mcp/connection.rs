//! The client at the other end: messages in, answers out, and which call is under way.
//!
//! Requests that take no time are answered by the thread that reads, so that a client can cancel a call
//! while it runs. Calls go through a queue to the worker.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agent_mcp::{
    ClientProfile, ErrorCode, Incoming, ProgressToken, RequestId, ServerProfile, error_line,
    initialize_result, log_notice, notification_line, progress, request_line, result_line,
    tool_result,
};
use serde_json::{Map, Value, json};

use super::catalogue::{Catalogue, ToolCall};
use super::outgoing::OutgoingLines;
use super::resources::{ResourceRequest, listed};
use crate::error::Error;
use crate::escape::escape_line;
use crate::interrupt::Interrupt;
use crate::services::run::TextCover;

/// How many calls may wait, each as long as a message may be; more are refused.
pub(super) const MAX_QUEUED: usize = 16;

/// How often the client hears of progress at most.
const BETWEEN_PROGRESS: Duration = Duration::from_millis(500);

/// The longest line of progress, in characters.
const LONGEST_PROGRESS: usize = 400;

/// The words in place of a line that must not be told.
const AT_WORK: &str = "works on it";

const INSTRUCTIONS: &str = "These tools work on a project of the user. Call `begin` first, with the task in the user's words; it shows the files and the rules of the project. Paths are relative to the workspace. Read a file before you change it. The user's rules decide what is allowed, and the user may be asked before a call is carried out: then it takes as long as they need. End with `done`: the user's check decides if it counts.";

/// A call that waits for the worker.
#[derive(Debug)]
pub(super) struct QueuedCall {
    pub(super) id: RequestId,
    token: Option<ProgressToken>,
    pub(super) call: ToolCall,
    /// Tells it from another one with the same id.
    ticket: u64,
}

/// The call that is being carried out.
#[derive(Debug)]
struct CurrentCall {
    id: RequestId,
    token: Option<ProgressToken>,
    /// How often the client heard of progress.
    told: u64,
    last: Option<Instant>,
    is_cancelled: bool,
    /// Covers secrets in what is told of it; nothing is told before this is known.
    cover: Option<Arc<TextCover>>,
}

/// The calls that the client waits for.
#[derive(Debug, Default)]
struct OpenCalls {
    current: Option<CurrentCall>,
    /// The tickets of those that the worker has not begun.
    waiting: BTreeMap<RequestId, u64>,
}

/// The connection to the client, shared by the threads that send it messages.
pub(super) struct Connection {
    out: OutgoingLines,
    client: Mutex<Option<ClientProfile>>,
    calls: Mutex<OpenCalls>,
    /// Our own requests, and who waits for the answers.
    asked: Mutex<BTreeMap<RequestId, Sender<Option<Value>>>>,
    next: AtomicI64,
    next_ticket: AtomicU64,
    /// Stops the call under way.
    interrupt: Interrupt,
    is_closed: AtomicBool,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request of ours that waits for the client's answer; taken back when it is dropped.
#[derive(Debug)]
pub(super) struct AskedClient {
    id: RequestId,
    connection: Arc<Connection>,
    answer: Receiver<Option<Value>>,
    way_in: Sender<Option<Value>>,
}

impl Connection {
    pub(super) fn new(out: Box<dyn Write + Send>) -> Self {
        Self {
            out: OutgoingLines::new(out),
            client: Mutex::default(),
            calls: Mutex::default(),
            asked: Mutex::default(),
            next: AtomicI64::new(1),
            next_ticket: AtomicU64::new(1),
            interrupt: Interrupt::default(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Stops the call under way when it is raised.
    pub(super) fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// The client is gone, or is to be left: what runs is stopped, and nothing more is begun.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.interrupt.raise();
        for (_, asking) in std::mem::take(&mut *locked(&self.asked)) {
            let _ = asking.send(None);
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    pub(super) fn has_elicitation(&self) -> bool {
        (locked(&self.client).as_ref()).is_some_and(|client| client.has_elicitation)
    }

    /// Returns true while a call is carried out.
    pub(super) fn is_in_call(&self) -> bool {
        locked(&self.calls).current.is_some()
    }

    /// The client's name; empty if it did not say one.
    pub(super) fn client_name(&self) -> String {
        let client = locked(&self.client);
        client
            .as_ref()
            .map_or(String::new(), |client| client.name.clone())
    }

    pub(super) fn send(&self, line: String) {
        if !self.out.push(line) {
            self.close();
        }
    }

    /// Waits until the client has read what it was told, but not for one that reads nothing.
    pub(super) fn finish(&self) {
        self.out.finish();
    }

    /// Begins a call; false if the client cancelled it meanwhile.
    pub(super) fn begin_call(&self, call: &QueuedCall) -> bool {
        let mut calls = locked(&self.calls);
        if calls.waiting.get(&call.id) != Some(&call.ticket) || self.is_closed() {
            return false;
        }
        calls.waiting.remove(&call.id);
        // What stopped the call before this one has nothing to do with it.
        self.interrupt.reset();
        calls.current = Some(CurrentCall {
            id: call.id.clone(),
            token: call.token.clone(),
            told: 0,
            last: None,
            is_cancelled: false,
            cover: None,
        });
        if self.is_closed() {
            self.interrupt.raise();
        }
        true
    }

    /// Covers secrets in what is told of the call under way.
    pub(super) fn cover_progress(&self, cover: TextCover) {
        if let Some(current) = &mut locked(&self.calls).current {
            current.cover = Some(Arc::new(cover));
        }
    }

    /// Answers the call under way; returns false if the client cancelled it, or is gone.
    pub(super) fn answer(&self, text: &str, is_error: bool) -> bool {
        let current = {
            let mut calls = locked(&self.calls);
            if !self.is_closed() {
                // What comes after the call is no part of it.
                self.interrupt.reset();
            }
            calls.current.take()
        };
        let Some(current) = current.filter(|current| !current.is_cancelled) else {
            return false;
        };
        let is_there = !self.is_closed();
        self.send(result_line(&current.id, &tool_result(text, is_error)));
        is_there
    }

    /// Returns true if the client wants to hear of progress, and has not heard of any just now.
    pub(super) fn is_progress_due(&self) -> bool {
        let is_due = |last: Instant| last.elapsed() >= BETWEEN_PROGRESS;
        (locked(&self.calls).current.as_ref())
            .is_some_and(|current| current.token.is_some() && current.last.is_none_or(is_due))
    }

    /// A text about the call under way with its secrets covered; `None` while it is not known what
    /// these are.
    pub(super) fn covered(&self, text: &str) -> Option<String> {
        let cover = (locked(&self.calls).current.as_ref()).and_then(|call| call.cover.clone());
        cover.map(|cover| cover.cover(text))
    }

    /// Tells how the call under way gets on, if the client wants to know. The text must have been
    /// through [`Self::covered`]; without it the client hears only that the call goes on.
    pub(super) fn tell_progress(&self, words: Option<&str>) {
        let mut calls = locked(&self.calls);
        let Some(current) = &mut calls.current else {
            return;
        };
        let Some(token) = &current.token else {
            return;
        };
        current.told += 1;
        current.last = Some(Instant::now());
        let words = shortened(words.unwrap_or(AT_WORK));
        let params = progress(token, current.told, &words);
        drop(calls);
        self.send(notification_line("notifications/progress", &params));
    }

    /// Tells something that concerns the person to a client that does not want to hear of progress.
    pub(super) fn tell_notice(&self, words: &str) {
        let hears = (locked(&self.calls).current.as_ref()).is_some_and(|one| one.token.is_some());
        if !hears {
            let params = log_notice("agent", &shortened(words));
            self.send(notification_line("notifications/message", &params));
        }
    }

    /// Asks the client for something.
    pub(super) fn ask(self: &Arc<Self>, method: &str, params: &Value) -> AskedClient {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let id = RequestId::Text(format!("agent-{number}"));
        let (way_in, answer) = mpsc::channel();
        locked(&self.asked).insert(id.clone(), way_in.clone());
        self.send(request_line(&id, method, params));
        if self.is_closed() {
            let _ = way_in.send(None);
        }
        AskedClient {
            id,
            connection: Arc::clone(self),
            answer,
            way_in,
        }
    }

    /// Answers a request.
    pub(super) fn reply(&self, id: &RequestId, answered: RequestAnswer) {
        self.send(match answered {
            Ok(result) => result_line(id, &result),
            Err((code, why)) => error_line(Some(id), code, &why),
        });
    }

    fn cancel(&self, id: &RequestId) {
        let mut calls = locked(&self.calls);
        calls.waiting.remove(id);
        if let Some(current) = calls.current.as_mut().filter(|current| current.id == *id) {
            current.is_cancelled = true;
            self.interrupt.raise();
        }
    }
}

impl AskedClient {
    /// Waits for the answer; nothing for an error, and if the question is taken back.
    pub(super) fn answer(&self) -> Option<Value> {
        self.answer.recv().ok().flatten()
    }

    /// Ends the wait from elsewhere.
    pub(super) fn way_in(&self) -> Sender<Option<Value>> {
        self.way_in.clone()
    }
}

impl Drop for AskedClient {
    fn drop(&mut self) {
        // One that is still there was not answered.
        if locked(&self.connection.asked).remove(&self.id).is_some() {
            let params = json!({ "requestId": self.id.to_string(), "reason": "decided elsewhere" });
            let line = notification_line("notifications/cancelled", &params);
            self.connection.send(line);
        }
    }
}

/// One line for the client, not too long.
fn shortened(words: &str) -> String {
    escape_line(words).chars().take(LONGEST_PROGRESS).collect()
}

/// Takes the messages of the client.
#[derive(Debug)]
pub(super) struct RequestDesk {
    pub(super) connection: Arc<Connection>,
    pub(super) catalogue: Catalogue,
    pub(super) queue: SyncSender<QueuedCall>,
    /// Requests that look at files: they must not hold up a cancellation.
    pub(super) resources: SyncSender<ResourceRequest>,
}

/// The answer to a request.
pub(super) type RequestAnswer = Result<Value, (ErrorCode, String)>;

impl RequestDesk {
    /// Takes a message.
    pub(super) fn take(&self, line: &[u8]) {
        match Incoming::read(line) {
            Incoming::Request { id, method, params } => self.request(&id, &method, params),
            Incoming::Notification { method, params } => {
                if method == "notifications/cancelled"
                    && let Some(id) = params.get("requestId").and_then(RequestId::read)
                {
                    self.connection.cancel(&id);
                }
            }
            Incoming::Answer { id, result } => {
                let asking = locked(&self.connection.asked).remove(&id);
                if let Some(asking) = asking {
                    let _ = asking.send(result);
                }
            }
            Incoming::Invalid(answer) => self.connection.send(answer),
        }
    }

    /// Answers a line that has more bytes than a message may have.
    pub(super) fn refuse_length(&self) {
        let code = ErrorCode::InvalidRequest;
        self.connection
            .send(error_line(None, code, "the message is too long"));
    }

    fn request(&self, id: &RequestId, method: &str, params: Map<String, Value>) {
        let is_known = locked(&self.connection.client).is_some();
        let answered = match method {
            "initialize" => Ok(self.initialize(&params)),
            "ping" => Ok(json!({})),
            // A client of a later revision asks this first, and goes on with the handshake.
            "server/discover" => Err(not_found(method)),
            _ if !is_known => Err((
                ErrorCode::InvalidRequest,
                "`initialize` must come first".to_owned(),
            )),
            "tools/call" => match self.queue(id, params) {
                Ok(()) => return,
                Err(why) => Err(why),
            },
            "tools/list" => Ok(json!({ "tools": self.catalogue.to_json() })),
            "resources/list" => Ok(json!({ "resources": listed() })),
            "resources/templates/list" => Ok(json!({ "resourceTemplates": [] })),
            "resources/read" | "prompts/list" | "prompts/get" => {
                match self.look_up(id, method, params) {
                    Ok(()) => return,
                    Err(why) => Err(why),
                }
            }
            // All that is told this way concerns the person.
            "logging/setLevel" => Ok(json!({})),
            _ => Err(not_found(method)),
        };
        self.connection.reply(id, answered);
    }

    /// Hands a request to the thread that looks at files.
    fn look_up(
        &self,
        id: &RequestId,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<(), (ErrorCode, String)> {
        let id = id.clone();
        let request = match method {
            "resources/read" => ResourceRequest::Read {
                uri: text(&params, "uri")?.to_owned(),
                id,
            },
            "prompts/list" => ResourceRequest::Prompts { id },
            _ => ResourceRequest::Prompt {
                name: text(&params, "name")?.to_owned(),
                id,
                params,
            },
        };
        self.resources.try_send(request).map_err(|_| {
            let why = "too many requests wait already; make them one after the other";
            (ErrorCode::Internal, why.to_owned())
        })
    }

    fn initialize(&self, params: &Map<String, Value>) -> Value {
        let client = ClientProfile::read(params);
        let server = ServerProfile {
            name: "agent",
            title: "agent",
            version: env!("CARGO_PKG_VERSION"),
            instructions: INSTRUCTIONS,
        };
        let result = initialize_result(&client, server);
        *locked(&self.connection.client) = Some(client);
        result
    }

    /// Hands a call to the worker.
    fn queue(
        &self,
        id: &RequestId,
        mut params: Map<String, Value>,
    ) -> Result<(), (ErrorCode, String)> {
        let token = ProgressToken::of(&params);
        let arguments = match params.remove("arguments") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(arguments)) => arguments,
            Some(_) => return Err(wrong("`arguments` must be an object")),
        };
        let name = text(&params, "name")?;
        let Some(call) = self.catalogue.call(name, arguments) else {
            let shown: String = name.chars().take(60).collect();
            return Err(wrong(&format!("there is no tool `{shown}`")));
        };
        let connection = &self.connection;
        let call = match call {
            Ok(call) => call,
            Err(why) => {
                // The model reads what is wrong with its own call, not only the client.
                connection.send(result_line(id, &tool_result(&why, true)));
                return Ok(());
            }
        };
        let mut calls = locked(&connection.calls);
        let is_current = (calls.current.as_ref()).is_some_and(|current| current.id == *id);
        if is_current || calls.waiting.contains_key(id) {
            return Err((
                ErrorCode::InvalidRequest,
                "another call has this id".to_owned(),
            ));
        }
        let queued = QueuedCall {
            id: id.clone(),
            token,
            call,
            ticket: connection.next_ticket.fetch_add(1, Ordering::Relaxed),
        };
        let ticket = queued.ticket;
        match self.queue.try_send(queued) {
            Ok(()) => {
                calls.waiting.insert(id.clone(), ticket);
                Ok(())
            }
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => Err((
                ErrorCode::Internal,
                "too many calls wait already; make them one after the other".to_owned(),
            )),
        }
    }
}

fn not_found(method: &str) -> (ErrorCode, String) {
    let shown: String = method.chars().take(60).collect();
    (
        ErrorCode::MethodNotFound,
        format!("there is no method `{shown}`"),
    )
}

fn wrong(why: &str) -> (ErrorCode, String) {
    (ErrorCode::InvalidParams, why.to_owned())
}

/// A parameter that must be a text.
fn text<'p>(params: &'p Map<String, Value>, name: &str) -> Result<&'p str, (ErrorCode, String)> {
    let value = params.get(name).and_then(Value::as_str);
    value.ok_or_else(|| wrong(&format!("`{name}` must be a string")))
}

/// An error in one text: what happened, why, and what helps.
pub(super) fn in_words(error: &Error) -> String {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        words.push_str(": ");
        words.push_str(&next.to_string());
        cause = next.source();
    }
    for hint in error.hints() {
        words.push_str("\nhint: ");
        words.push_str(hint);
    }
    words
}
