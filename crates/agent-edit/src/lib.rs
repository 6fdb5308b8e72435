#![doc = include_str!("../README.md")]
//!
//! # How it is made
//!
//! Edits as pure functions: text in, text out.
//!
//! An edit is applied only where exactly one place matches at the strictest level that matches at
//! all; otherwise it is refused in words that help the model to send it again. No similarity score
//! ever decides. A text keeps its own line endings, lines that no edit touches stay byte for byte
//! as they are, and so does a missing final newline. Encodings and byte order marks, and whether
//! the file is still the one that the model saw, are left to the caller.

mod align;
mod anchor;
mod copy_damage;
mod document;
mod ending;
mod fold;
mod guard;
mod inline;
mod lines;
mod lost_indentation;
mod matcher;
mod patch;
mod place;
mod quote;
mod refuse;
mod regular;
mod replace;
mod unwrap;
mod writer;

use std::ops::Range;

use agent_protocol::Level;

pub use copy_damage::{
    CopyDamage, RestoredCopy, doubled_lines_remark, entities_remark, lost_tabs_remark,
    restore_copy, typography_remark,
};
pub use guard::{drops_most, is_excerpt, omission_in_file};
pub use lines::{insert_lines, repeated_neighbours, replace_lines};
pub use patch::{changes_anything, check_patch_context, check_patch_old, patch, patch_moved};
pub use regular::quoted_replacement;
pub use replace::{Replaced, replace};

/// A text after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The new text.
    pub text: String,
    /// The least strict level that a part of it needed.
    pub level: Level,
    /// Which lines of the old text were replaced, in ascending order, without overlap.
    ///
    /// A line whose ending alone changed, because it became or ceased to be the last one, is not
    /// among them.
    pub changes: Vec<LineChange>,
}

/// A stretch of lines that was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineChange {
    /// Lines of the old text, from 0, half open; empty where lines were only inserted.
    pub old: Range<usize>,
    /// How many lines stand there now.
    pub new: usize,
}

/// Why an edit was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// One line: what is wrong and where.
    pub message: String,
    /// Advice for the model: how to send it so that it is applied. Empty if the message says enough.
    pub hint: String,
    /// Help to send it again: the nearest passages with their line numbers.
    pub detail: String,
}

impl Refusal {
    /// A refusal that needs no more than its one line.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: String::new(),
            detail: String::new(),
        }
    }

    /// Adds how to send the edit so that it is applied.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Names the part of an edit that is refused: `hunk 2: ...`.
    fn of(mut self, part: &str) -> Self {
        self.message = format!("{part}: {}", self.message);
        self
    }

    /// The line for the model: what is wrong, and how to send it so that it is applied.
    pub fn line_for_model(&self) -> String {
        agent_protocol::with_hint(self.message.clone(), &self.hint)
    }
}

#[cfg(test)]
mod tests {
    mod properties;
}
