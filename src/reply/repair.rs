//! What chat pages and copying do to text, and its undoing.

use std::borrow::Cow;

use super::Repair;

mod escapes;
mod gutter;

pub(super) use escapes::{without_backslashes, without_entities};
pub(super) use gutter::without_line_numbers;

/// Undoes the damage of a text.
pub(super) fn repair(text: &str) -> (Cow<'_, str>, Vec<Repair>) {
    (Cow::Borrowed(text), Vec::new())
}
