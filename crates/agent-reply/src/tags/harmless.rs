//! Attributes that nobody asked for: whether a command means the same without them.
//!
//! One that only says something about it, or asks for what is done anyway, may be ignored. With any
//! other the command would do something else than was meant.

use super::attributes::{Attribute, Attributes};
use super::name::Name;
use crate::line::has_word;

/// Names that say something and ask for nothing, written plain.
const NOTES: &str = "\
    comment contenttype desc description explanation filetype goal id intent label lang language \
    message note purpose rationale reason step summary syntax thought timeoutms title why";

/// Names for a file or for lines, which may be named once more.
const PLACES: &str = "\
    after afterline at end endline file filename filepath from line name path start startline \
    stop target to";

/// Names with the values that ask for what is done anyway.
const AS_DONE: [(&str, &[&str]); 6] = [
    (
        "confirm create createdirectories createdirs createifmissing createparents force makedirs \
         mkdir mkdirs overwrite parents",
        &["", "1", "true", "yes"],
    ),
    ("charset encoding", &["utf-8", "utf8", "ascii", "us-ascii"]),
    (
        "mode",
        &["create", "new", "overwrite", "replace", "w", "write"],
    ),
    ("position where", &["after", "below"]),
    ("shell", &["bash", "sh"]),
    ("type", &["bash", "command", "file", "sh", "shell", "text"]),
];

/// The attributes without which a command may do something else, as they were written.
pub(super) fn meaningful(name: Name, attributes: &Attributes) -> Vec<&str> {
    if !name.has_effects() || name == Name::Done {
        return Vec::new();
    }
    let left = attributes.left();
    let is_harmless = |it: &&Attribute| {
        let value = it.value.as_deref().unwrap_or_default().trim();
        has_word(NOTES, &it.name)
            || is_as_done(&it.name, value)
            || (has_word(PLACES, &it.name) && attributes.says_again(value))
    };
    let meaningful = left.filter(|it| !is_harmless(it));
    meaningful.map(|it| it.written.as_str()).collect()
}

fn is_as_done(name: &str, value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    AS_DONE
        .iter()
        .any(|(names, values)| has_word(names, name) && values.contains(&value.as_str()))
}
