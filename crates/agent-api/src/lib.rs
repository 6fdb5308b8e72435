#![doc = include_str!("../README.md")]

mod client;
mod error;
mod key;
mod provider;
mod request;
mod retry;
mod sse;
mod stop;
mod surrogate;
mod usage;
mod wire;

pub use self::client::{
    ApiClient, ApiEndpoint, Completion, CompletionEnd, ReplyTiming, RequestProgress, ServedModel,
};
pub use self::error::{ApiError, ApiErrorKind};
pub use self::key::{ApiKey, KeyFilter, KeyFilters, KeyFingerprint};
pub use self::provider::{KeyHeader, ModelFacts, Provider};
pub use self::request::{ChatRole, ChatTurn, ModelRequest, ReasoningEffort};
pub use self::retry::{RetryPolicy, retry_after};
pub use self::sse::{SseEvent, SseReader};
pub use self::stop::StopSignal;
pub use self::usage::{TokenPrice, TokenUsage, UsageRecord, dollars};
pub use self::wire::{FinishReason, ServerComplaint, StreamDelta, Wire, WireProblem};
