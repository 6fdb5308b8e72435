//! Edits as pure functions: text in, text out.

use std::ops::Range;

use crate::protocol::Level;

/// A text after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The new text.
    pub text: String,
    /// The least strict level that a part of it needed.
    pub level: Level,
    /// Which lines of the old text were replaced, in ascending order, without overlap.
    pub changes: Vec<Change>,
}

/// A stretch of lines that was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Lines of the old text, from 0, half open; empty where lines were only inserted.
    pub old: Range<usize>,
    /// How many lines stand there now.
    pub new: usize,
}

/// Why an edit was not applied, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// One line: what is wrong and where.
    pub message: String,
    /// What helps to send it again: the nearest passages with their line numbers.
    pub detail: String,
}
