//! Errors between us and a model, each with advice for the person.

use std::fmt;
use std::time::Duration;

use crate::usage::TokenUsage;
use crate::wire::{ServerComplaint, WireProblem};

/// The longest part of a server's sentence that is kept.
const LONGEST_MESSAGE: usize = 600;

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// Its kind, which decides about retries and advice.
    pub kind: ApiErrorKind,
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// The server's or the system's words for it; never the key.
    pub message: String,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
    /// Tokens of answers that had begun, or were stopped; the provider may bill them.
    pub spent: TokenUsage,
}

/// The kinds of errors, by what a person can do about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiErrorKind {
    /// There is no key.
    KeyMissing,
    /// The URL is none, or must not get the key.
    BadUrl,
    /// No connection.
    Unreachable,
    /// The certificate of the server is not trusted, or the handshake failed.
    Tls,
    /// The proxy refused.
    Proxy,
    /// A variable names a proxy and is no address.
    BadProxy,
    /// No connection to the proxy.
    ProxyUnreachable,
    /// Nothing came for too long.
    Idle,
    /// The connection broke in the middle of the answer.
    Broken,
    /// 401: the key is wrong.
    Unauthorized,
    /// 402, or a quota that is used up.
    Payment,
    /// 403: the key may not do this.
    Forbidden,
    /// 404: there is no such model.
    ModelNotFound,
    /// 404: there is no such address.
    WrongAddress,
    /// A web page where an answer should be.
    WebPage,
    /// 400 or 413: the conversation is longer than the model's window.
    ContextTooLong,
    /// 400 and other refusals of the request.
    BadRequest,
    /// 429: too many requests.
    RateLimited,
    /// 503 and 529: too busy, or still loading the model.
    Overloaded,
    /// 500 and other failures of the server.
    ServerFailed,
    /// 3xx: a redirect, which is not followed.
    Redirected,
    /// An answer that is none.
    Malformed,
    /// An answer beyond all limits.
    TooLong,
    /// An answer without any text.
    Empty,
    /// The person stopped it.
    Stopped,
}

impl ApiErrorKind {
    /// Returns true if the same request may succeed a moment later.
    pub fn is_passing(self) -> bool {
        matches!(
            self,
            Self::Unreachable
                | Self::ProxyUnreachable
                | Self::Broken
                | Self::RateLimited
                | Self::Overloaded
                | Self::ServerFailed
        )
    }

    fn advice(self) -> &'static str {
        match self {
            Self::KeyMissing => {
                "set the variable, or let a command print the key: `agent config set ApiKeyCommand \"pass show api-key\"`"
            }
            Self::BadUrl => "set `ApiUrl` to an address such as `https://host/v1`",
            Self::Unreachable => {
                "check that the server runs, the address in `ApiUrl`, and the network"
            }
            Self::Tls => {
                "if your company inspects TLS, install its CA certificate in the system, or name its file in the variable SSL_CERT_FILE"
            }
            Self::Proxy | Self::ProxyUnreachable => {
                "check the variables HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY"
            }
            Self::BadProxy => "correct the variable, or unset it",
            Self::Idle => "the server may be stuck; `agent resume` asks again",
            Self::Broken => "`agent resume` asks again",
            Self::Unauthorized => {
                "check that the key is the right one for this provider and still valid"
            }
            Self::Payment => "add credit at the provider, or use another one with `--api`",
            Self::Forbidden => {
                "check in the provider's console what this key may use, and from where"
            }
            Self::ModelNotFound => "name a model that the server has with `--model`",
            Self::WrongAddress | Self::WebPage => {
                "check `ApiUrl`: most servers want a path such as `/v1` in it"
            }
            Self::ContextTooLong => {
                "`agent handoff` starts a new conversation from the session's memory; `MaxOutboxTokens` makes messages shorter"
            }
            Self::BadRequest => {
                "the server's words above say what it does not accept; `Temperature` and `Reasoning` are sent only if you set them"
            }
            Self::RateLimited => {
                "wait a while, or raise the limit at the provider; `agent resume` continues"
            }
            Self::Overloaded => {
                "the server is too busy, or still loads the model; `agent resume` continues"
            }
            Self::ServerFailed => "the server has a problem of its own; `agent resume` asks again",
            Self::Redirected => {
                "redirects are not followed, because they could take your key elsewhere; set `ApiUrl` to the final address if you trust it"
            }
            Self::Malformed => {
                "check that `ApiUrl` is the address of an API, and that `--api` names the right kind of server"
            }
            Self::TooLong => "ask for smaller steps; a reply may have 16 MiB",
            Self::Empty => "`agent resume` asks again; with a reasoning model, lower `Reasoning`",
            Self::Stopped => "`agent resume` continues",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::KeyMissing => "there is no API key",
            Self::BadUrl => "the address of the API cannot be used",
            Self::Unreachable => "the server cannot be reached",
            Self::Tls => "the connection is not secure",
            Self::Proxy => "the proxy refused the connection",
            Self::BadProxy => "the proxy cannot be used",
            Self::ProxyUnreachable => "the proxy cannot be reached",
            Self::Idle => "the server sent nothing for too long",
            Self::Broken => "the connection broke",
            Self::Unauthorized => "the server does not accept the key",
            Self::Payment => "the account has no credit left",
            Self::Forbidden => "the server forbids this",
            Self::ModelNotFound => "the server does not have this model",
            Self::WrongAddress => "there is no API at this address",
            Self::WebPage => "this address gives a web page, not an API",
            Self::ContextTooLong => "the conversation is too long for the model",
            Self::BadRequest => "the server refuses the request",
            Self::RateLimited => "too many requests",
            Self::Overloaded => "the server is busy",
            Self::ServerFailed => "the server failed",
            Self::Redirected => "the server redirects to another address",
            Self::Malformed => "the server sent something that is no answer",
            Self::TooLong => "the answer is too long",
            Self::Empty => "the answer has no text",
            Self::Stopped => "the request was stopped",
        }
    }
}

impl ApiError {
    /// An error without a status.
    pub fn new(kind: ApiErrorKind, message: impl AsRef<str>) -> Self {
        Self {
            kind,
            status: None,
            message: one_line(message.as_ref()),
            retry_after: None,
            spent: TokenUsage::default(),
        }
    }

    /// Advice for the person.
    pub fn advice(&self) -> &'static str {
        if self.kind == ApiErrorKind::BadRequest && self.message.is_empty() {
            return "the server does not say why; `Temperature` and `Reasoning` are sent only if you set them, and a smaller message may pass: `MaxOutboxTokens`";
        }
        self.kind.advice()
    }

    /// The error that a status and the server's words stand for.
    pub(crate) fn from_status(status: u16, complaint: &ServerComplaint) -> Self {
        Self {
            status: Some(status),
            ..Self::new(kind_of(status, complaint), &complaint.message)
        }
    }

    /// An error in the middle of a stream, which has words and no status.
    pub(crate) fn from_stream(complaint: &ServerComplaint) -> Self {
        Self::new(kind_of(0, complaint), &complaint.message)
    }
}

impl From<WireProblem> for ApiError {
    fn from(problem: WireProblem) -> Self {
        let kind = match problem {
            WireProblem::TooLong => ApiErrorKind::TooLong,
            WireProblem::NotJson(_) | WireProblem::NoAnswer(_) => ApiErrorKind::Malformed,
        };
        Self::new(kind, problem.to_string())
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.words())?;
        if let Some(status) = self.status {
            write!(f, " ({status})")?;
        }
        if self.message.is_empty() {
            Ok(())
        } else {
            write!(f, ": {}", self.message)
        }
    }
}

impl std::error::Error for ApiError {}

/// Servers tell by status, by code and by sentence what is wrong; the sentence is the last resort.
fn kind_of(status: u16, complaint: &ServerComplaint) -> ApiErrorKind {
    let code = complaint.code.to_ascii_lowercase();
    let message = complaint.message.to_ascii_lowercase();
    let is_said = |words: &[&str]| {
        words
            .iter()
            .any(|word| message.contains(word) || code.contains(word))
    };
    let is_too_long = is_said(&[
        "context_length_exceeded",
        "exceed_context_size",
        "maximum context length",
        "context window",
        "context size",
        "prompt is too long",
        "input is too long",
        "too many tokens",
        "exceeds the maximum number of tokens",
        "reduce the length of the messages",
    ]);
    match status {
        413 => ApiErrorKind::ContextTooLong,
        400 | 422 | 0 if is_too_long => ApiErrorKind::ContextTooLong,
        300..=399 => ApiErrorKind::Redirected,
        401 => ApiErrorKind::Unauthorized,
        402 => ApiErrorKind::Payment,
        // A quota that is used up does not come back in a minute.
        429 | 0 if is_said(&["insufficient_quota", "billing", "credit balance"]) => {
            ApiErrorKind::Payment
        }
        400 if is_said(&["credit balance", "billing"]) => ApiErrorKind::Payment,
        403 => ApiErrorKind::Forbidden,
        404 if is_said(&["model"]) => ApiErrorKind::ModelNotFound,
        400 if is_said(&["model_not_found", "model not found", "invalid model"]) => {
            ApiErrorKind::ModelNotFound
        }
        404 | 405 => ApiErrorKind::WrongAddress,
        407 => ApiErrorKind::Proxy,
        429 => ApiErrorKind::RateLimited,
        503 | 529 => ApiErrorKind::Overloaded,
        0 if is_said(&["rate_limit", "rate limit"]) => ApiErrorKind::RateLimited,
        0 if is_said(&["overloaded", "unavailable"]) => ApiErrorKind::Overloaded,
        0 | 500..=599 | 408 | 409 | 425 => ApiErrorKind::ServerFailed,
        _ => ApiErrorKind::BadRequest,
    }
}

/// One line of bounded length.
fn one_line(text: &str) -> String {
    let words = text.split_whitespace();
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        let room = LONGEST_MESSAGE.saturating_sub(line.len());
        if word.len() > room {
            line.push_str(&word[..word.floor_char_boundary(room)]);
            line.push('…');
            break;
        }
        line.push_str(word);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(status: u16, code: &str, message: &str, kind: ApiErrorKind) {
        let complaint = ServerComplaint {
            code: code.to_owned(),
            message: message.to_owned(),
        };
        assert_eq!(ApiError::from_status(status, &complaint).kind, kind);
    }

    #[test]
    fn statuses_and_words_are_told_apart() {
        use ApiErrorKind as Kind;
        case(
            400,
            "exceed_context_size_error",
            "request (9031 tokens) exceeds the available context size",
            Kind::ContextTooLong,
        );
        case(
            400,
            "invalid_request_error",
            "prompt is too long: 210000 tokens > 200000 maximum",
            Kind::ContextTooLong,
        );
        case(400, "context_length_exceeded", "", Kind::ContextTooLong);
        case(413, "", "", Kind::ContextTooLong);
        case(
            400,
            "invalid_request_error",
            "Your credit balance is too low",
            Kind::Payment,
        );
        case(400, "", "temperature is not supported", Kind::BadRequest);
        case(
            401,
            "authentication_error",
            "Invalid API Key",
            Kind::Unauthorized,
        );
        case(402, "", "Insufficient Balance", Kind::Payment);
        case(403, "", "", Kind::Forbidden);
        case(404, "", "The model `x` does not exist", Kind::ModelNotFound);
        case(404, "", "Not Found", Kind::WrongAddress);
        case(
            429,
            "insufficient_quota",
            "You exceeded your current quota",
            Kind::Payment,
        );
        case(
            429,
            "rate_limit_exceeded",
            "Rate limit reached",
            Kind::RateLimited,
        );
        case(500, "", "", Kind::ServerFailed);
        case(503, "unavailable_error", "Loading model", Kind::Overloaded);
        case(529, "overloaded_error", "Overloaded", Kind::Overloaded);
        case(302, "", "", Kind::Redirected);
        let stream = |code: &str| {
            let code = code.to_owned();
            ApiError::from_stream(&ServerComplaint {
                code,
                message: String::new(),
            })
            .kind
        };
        assert_eq!(stream("overloaded_error"), Kind::Overloaded);
        assert_eq!(stream("rate_limit_error"), Kind::RateLimited);
        assert_eq!(stream("api_error"), Kind::ServerFailed);
    }

    #[test]
    fn words_of_the_server_are_named_only_if_there_are_some() {
        let advice = |message| ApiError::new(ApiErrorKind::BadRequest, message).advice();
        assert!(advice("no such parameter").contains("words above"));
        assert!(!advice("").contains("words above"));
    }

    #[test]
    fn a_message_is_one_line_of_bounded_length() {
        let error = ApiError::new(ApiErrorKind::BadRequest, "a\n\tb ".repeat(5000));
        assert!(error.to_string().len() < 700 && !error.to_string().contains('\n'));
        let giant = ApiError::new(ApiErrorKind::BadRequest, "x".repeat(5000));
        assert!(giant.to_string().len() < 700 && giant.message.starts_with("xxx"));
    }
}
