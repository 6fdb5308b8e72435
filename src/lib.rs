//! `agent`: a coding agent for people who have a chat LLM in a browser tab and no API key.
//!
//! A task becomes a prompt file in `outbox/`; the person carries it to the chat and the reply back
//! into `inbox/`; the reply is parsed into typed commands, executed in the workspace, and the
//! results become the next prompt, until the model says `[DONE]`.
//!
//! The modules stand in the order in which data passes through them.

pub mod cli;

pub mod agent;

pub use agent_protocol as protocol;

pub mod mailbox;
pub use agent_reply as reply;

pub use agent_policy as policy;

pub mod approve;

pub mod execute;
pub mod runner;

pub use agent_edit as edit;
pub use agent_files::workspace;

pub use agent_sandbox as sandbox;
pub use agent_sandbox::repositories;

pub use agent_files::checkpoint;
pub mod services;
pub mod session;
pub mod transcript;

pub mod compose;
pub mod excerpt;
pub use agent_redact as secrets;

pub use agent_api as api;
pub mod courier;
pub mod known_keys;

pub mod prompts;
pub mod settings;

pub mod mcp;
pub mod ui;
pub mod web;

pub use agent_files::{error, fs, watch};
pub mod escape;
pub mod interrupt;
pub mod json;
pub mod number;
pub mod platform;
pub use agent_protocol::unseen;
