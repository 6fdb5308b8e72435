//! What a dialect found in a stretch of a reply.
use agent_protocol::Command;
use std::ops::Range;

/// A block of a reply in one of the dialects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// The lines it takes, from 0, half open, fences and file name lines that belong to it included.
    pub(super) lines: Range<usize>,
    /// What it asks for, in order.
    pub(super) items: Vec<Item>,
    /// Whether it ran into the end of the text without an end of its own: then it may be cut off.
    pub(super) open: bool,
}

/// One command of a block, or what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Command(Command),
    Problem {
        command: Option<&'static str>,
        message: String,
        hint: String,
    },
}
