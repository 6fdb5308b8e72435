//! The words for repairs that show how a reply was copied.

use agent_protocol::CopiedFrom;

pub(crate) const LINE_NUMBERS: &str = "removed line numbers before every line";
pub(crate) const BLOCK_NUMBERS: &str = "removed line numbers before the lines of a block";
pub(crate) const ENTITIES: &str = "turned HTML entities into characters";
pub(crate) const BACKSLASHES: &str = "removed backslashes before Markdown characters";
pub(crate) const ESCAPED_TAGS: &str = "restored tags that were escaped";
pub(crate) const BUTTON_WORDS: &str = "removed the words of a copy button";
pub(crate) const UNUSUAL_SPACES: &str = "turned unusual spaces into plain ones";
pub(crate) const WRAPPED_TAGS: &str = "put tags together that were wrapped";
pub(crate) const INDENTATION: &str = "removed the indentation of every line";
pub(crate) const PADDING: &str = "removed blanks from the ends of all lines";

/// Where a reply was copied from, if this repair shows it.
pub(crate) fn copied_from(what: &str) -> Option<CopiedFrom> {
    match what {
        LINE_NUMBERS | BLOCK_NUMBERS | ENTITIES | BACKSLASHES | ESCAPED_TAGS | BUTTON_WORDS
        | UNUSUAL_SPACES => Some(CopiedFrom::Page),
        WRAPPED_TAGS | INDENTATION | PADDING => Some(CopiedFrom::Terminal),
        _ => None,
    }
}
