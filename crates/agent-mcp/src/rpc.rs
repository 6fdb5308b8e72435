//! JSON-RPC 2.0 messages, one on each line.

use std::fmt;

use serde_json::{Map, Value, json};

/// The longest id or method that is taken, in bytes.
const LONGEST_NAME: usize = 256;

/// The id of a request: a number or a text, as the side that asks chose it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestId {
    /// A whole number.
    Number(i64),
    /// A text.
    Text(String),
}

impl RequestId {
    /// The id as it stands in JSON; `None` for anything that is no id.
    pub fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => number.as_i64().map(Self::Number),
            Value::String(text) if text.len() <= LONGEST_NAME => Some(Self::Text(text.clone())),
            _ => None,
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Number(number) => json!(number),
            Self::Text(text) => json!(text),
        }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "{text}"),
        }
    }
}

/// The token under which a client wants to hear of progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressToken(RequestId);

impl ProgressToken {
    /// The token of a request, if it has one.
    pub fn of(params: &Map<String, Value>) -> Option<Self> {
        RequestId::read(params.get("_meta")?.get("progressToken")?).map(Self)
    }

    pub(crate) fn to_json(&self) -> Value {
        self.0.to_json()
    }
}

/// The kinds of error that a server answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// No JSON.
    Parse,
    /// JSON that is no message.
    InvalidRequest,
    /// There is no such method.
    MethodNotFound,
    /// The method's parameters are wrong.
    InvalidParams,
    /// The server failed.
    Internal,
    /// There is no such resource.
    ResourceNotFound,
}

impl ErrorCode {
    fn number(self) -> i32 {
        match self {
            Self::Parse => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::Internal => -32603,
            Self::ResourceNotFound => -32002,
        }
    }
}

/// A message from the client.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// It wants an answer.
    Request {
        /// The id that the answer carries.
        id: RequestId,
        /// The method.
        method: String,
        /// Its parameters; empty if there are none.
        params: Map<String, Value>,
    },
    /// It tells something.
    Notification {
        /// The method.
        method: String,
        /// Its parameters; empty if there are none.
        params: Map<String, Value>,
    },
    /// It answers a request of the server; an error has no result.
    Answer {
        /// The id of the server's request.
        id: RequestId,
        /// The result; `None` for an error.
        result: Option<Value>,
    },
    /// It is no message; this is the line to answer with.
    Invalid(String),
}

impl Incoming {
    /// Reads a line; never fails.
    pub fn read(line: &[u8]) -> Self {
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            return Self::Invalid(error_line(None, ErrorCode::Parse, "this line is no JSON"));
        };
        let Value::Object(mut message) = value else {
            return Self::invalid(None, "a message is one JSON object on one line");
        };
        let id = message.get("id").and_then(RequestId::read);
        if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Self::invalid(id.as_ref(), "`jsonrpc` must be \"2.0\"");
        }
        let Some(method) = message.remove("method") else {
            return Self::answer(id, &mut message);
        };
        let Value::String(method) = method else {
            return Self::invalid(id.as_ref(), "`method` must be a string");
        };
        if method.len() > LONGEST_NAME {
            return Self::invalid(id.as_ref(), "`method` is too long");
        }
        let params = match message.remove("params") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return Self::invalid(id.as_ref(), "`params` must be an object"),
        };
        match (id, message.contains_key("id")) {
            (Some(id), _) => Self::Request { id, method, params },
            (None, false) => Self::Notification { method, params },
            (None, true) => Self::invalid(None, "`id` must be a whole number or a short string"),
        }
    }

    fn answer(id: Option<RequestId>, message: &mut Map<String, Value>) -> Self {
        match id {
            Some(id) if message.contains_key("result") || message.contains_key("error") => {
                // An answer with both says that something failed.
                let result = message.remove("result");
                Self::Answer {
                    id,
                    result: result.filter(|_| !message.contains_key("error")),
                }
            }
            id => Self::invalid(id.as_ref(), "`method` is missing"),
        }
    }

    fn invalid(id: Option<&RequestId>, why: &str) -> Self {
        Self::Invalid(error_line(id, ErrorCode::InvalidRequest, why))
    }
}

/// The line that answers a request.
pub fn result_line(id: &RequestId, result: &Value) -> String {
    line(&json!({ "jsonrpc": "2.0", "id": id.to_json(), "result": result }))
}

/// The line that says that a request failed; without an id if nobody knows which.
pub fn error_line(id: Option<&RequestId>, code: ErrorCode, message: &str) -> String {
    let error = json!({ "code": code.number(), "message": message });
    let id = id.map_or(Value::Null, RequestId::to_json);
    line(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))
}

/// The line of a notification.
pub fn notification_line(method: &str, params: &Value) -> String {
    line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

/// The line of a request to the client.
pub fn request_line(id: &RequestId, method: &str, params: &Value) -> String {
    line(&json!({ "jsonrpc": "2.0", "id": id.to_json(), "method": method, "params": params }))
}

/// JSON has no line end inside of a text, so that a message is always one line.
fn line(message: &Value) -> String {
    let mut line = message.to_string();
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(line: &str) -> Incoming {
        Incoming::read(line.as_bytes())
    }

    #[track_caller]
    fn invalid(line: &str, code: i32) {
        let Incoming::Invalid(answer) = read(line) else {
            panic!("{line}");
        };
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["error"]["code"], code, "{line}");
    }

    #[test]
    fn tells_requests_notifications_and_answers_apart() {
        let request = read(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#);
        let id = RequestId::Text("a".to_owned());
        let (method, params) = ("ping".to_owned(), Map::new());
        assert_eq!(request, Incoming::Request { id, method, params });
        let told = read(r#"{"jsonrpc":"2.0","method":"x","params":{"a":1}}"#);
        assert!(matches!(told, Incoming::Notification { params, .. } if params["a"] == 1));
        let answer = read(r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":""}}"#);
        let id = RequestId::Number(3);
        let failed = Incoming::Answer { id, result: None };
        assert_eq!(answer, failed);
        let both = read(r#"{"jsonrpc":"2.0","id":3,"result":{},"error":{}}"#);
        assert_eq!(both, failed);
    }

    #[test]
    fn what_is_no_message_is_answered_with_an_error() {
        invalid("", -32700);
        invalid("{", -32700);
        invalid("[]", -32600);
        invalid(r#"{"id":1,"method":"ping"}"#, -32600);
        invalid(r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600);
        invalid(r#"{"jsonrpc":"2.0","id":1,"method":3}"#, -32600);
        invalid(
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":[]}"#,
            -32600,
        );
        invalid(r#"{"jsonrpc":"2.0","id":1}"#, -32600);
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        invalid(&deep, -32700);
    }

    #[test]
    fn a_message_is_one_line_whatever_it_says() {
        let line = result_line(&RequestId::Number(1), &json!("a\nb\u{2028}"));
        assert_eq!(line.matches('\n').count(), 1);
    }

    proptest! {
        #[test]
        fn reading_never_panics(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Incoming::read(&line);
        }
    }
}
