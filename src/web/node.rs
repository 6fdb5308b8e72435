//! The contents of the page, as a tree of elements and texts.
//!
//! Texts of others never become markup: the browser makes elements from the tags that are named here
//! and text nodes from the rest, and no HTML is parsed anywhere. Characters that are invisible or
//! change the direction of a line become visible.

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use crate::escape::{escape_line, escape_text};
use crate::unseen::is_unseen;

/// A text, or an element with a class and with what is in it. A tag is never a text of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PageNode {
    Text(String),
    Element {
        tag: &'static str,
        class: &'static str,
        children: Vec<PageNode>,
    },
}

impl PageNode {
    /// An element.
    pub(super) fn element(
        tag: &'static str,
        class: &'static str,
        children: impl IntoIterator<Item = Self>,
    ) -> Self {
        Self::Element {
            tag,
            class,
            children: children.into_iter().collect(),
        }
    }

    /// An element with a text of ours in it.
    pub(super) fn labelled(
        tag: &'static str,
        class: &'static str,
        text: impl Into<String>,
    ) -> Self {
        Self::element(tag, class, [Self::Text(text.into())])
    }

    /// Text that somebody says. Joiners stay, because words and emoji are made of them.
    pub(super) fn spoken(text: &str) -> Self {
        let joins = |c: char| matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
        let is_harmless =
            |c: char| matches!(c, '\n' | '\t') || joins(c) || !(c.is_control() || is_unseen(c));
        if text.chars().all(is_harmless) {
            return Self::Text(text.to_owned());
        }
        let mut shown = String::with_capacity(text.len());
        for character in text.replace("\r\n", "\n").chars() {
            if is_harmless(character) {
                shown.push(character);
            } else {
                shown.push_str(&escape_line(character.encode_utf8(&mut [0; 4])));
            }
        }
        Self::Text(shown)
    }

    /// A sentence of ours, in which names of others stand in backticks: they become code.
    pub(super) fn sentence(text: &str) -> Self {
        let pieces: Vec<&str> = text.split('`').collect();
        // An odd number of backticks means that a name has one.
        if pieces.len().is_multiple_of(2) {
            return Self::spoken(text);
        }
        let children = pieces
            .iter()
            .enumerate()
            .map(|(index, piece)| match index % 2 {
                0 => Self::spoken(piece),
                _ => Self::code(piece),
            });
        Self::element("span", "", children)
    }

    /// Code, output, a difference: every character counts.
    pub(super) fn exact(text: &str) -> Self {
        Self::Text(escape_text(text))
    }

    /// A name or a command that must stay on one line.
    pub(super) fn code(text: &str) -> Self {
        Self::labelled("code", "", escape_line(text))
    }

    /// A block of text in which every character counts.
    pub(super) fn block(class: &'static str, text: &str) -> Self {
        Self::element("pre", class, [Self::exact(text)])
    }
}

/// A text is a string, an element `[tag, class, child, ...]`.
impl Serialize for PageNode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Element {
                tag,
                class,
                children,
            } => {
                let mut list = serializer.serialize_seq(Some(children.len() + 2))?;
                list.serialize_element(tag)?;
                list.serialize_element(class)?;
                for child in children {
                    list.serialize_element(child)?;
                }
                list.end()
            }
        }
    }
}

/// The lines of a unified diff, each with its class, so that the page colours them. Long ones are cut.
pub(super) fn diff(text: &str) -> PageNode {
    const MAX_LINES: usize = 4_000;
    let mut lines = text.lines();
    let mut is_in_hunk = false;
    // What stands between the name of a file and its first hunk: modes, renames, why it is not shown.
    let mut is_in_header = false;
    let mut shown: Vec<PageNode> = lines
        .by_ref()
        .take(MAX_LINES)
        .map(|line| {
            let class = match line.as_bytes() {
                [b'@', b'@', ..] => {
                    (is_in_hunk, is_in_header) = (true, false);
                    "place"
                }
                [b'd', b'i', b'f', b'f', b' ', ..] => {
                    (is_in_hunk, is_in_header) = (false, true);
                    "head"
                }
                _ if is_in_header => "head",
                [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] if !is_in_hunk => {
                    "head"
                }
                [b'+', ..] => "added",
                [b'-', ..] => "removed",
                _ => "same",
            };
            PageNode::element("span", class, [PageNode::exact(line)])
        })
        .collect();
    let left_out = lines.count();
    if left_out > 0 {
        let words = format!("{left_out} more lines; `agent diff` shows them");
        shown.push(PageNode::labelled("span", "head", words));
    }
    PageNode::element("pre", "diff", shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_write_is_text() {
        let node = PageNode::element(
            "p",
            "x",
            [PageNode::spoken("<b>&\u{202e}\u{1b}👩\u{200d}🚀\r\nä")],
        );
        let json = serde_json::to_string(&node).unwrap();
        assert_eq!(
            json,
            "[\"p\",\"x\",\"<b>&\\\\u{202e}\\\\u{1b}👩\u{200d}🚀\\nä\"]"
        );
        assert_eq!(
            PageNode::code("a\nb\u{200b}"),
            PageNode::labelled("code", "", "a\\nb\\u{200b}")
        );
    }

    #[test]
    fn names_in_backticks_become_code() {
        let json = |text: &str| serde_json::to_string(&PageNode::sentence(text)).unwrap();
        assert_eq!(
            json("write `a.txt`"),
            r#"["span","","write ",["code","","a.txt"],""]"#
        );
        assert_eq!(json("it`s <b>"), "\"it`s <b>\"");
    }

    #[test]
    fn a_removed_line_of_dashes_is_no_heading() {
        let text = "diff --git a/x b/x\nnew file mode 1\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- sql\n+++ c\n same";
        let PageNode::Element { children, .. } = diff(text) else {
            panic!();
        };
        let classes: Vec<&str> = (children.iter())
            .map(|child| match child {
                PageNode::Element { class, .. } => *class,
                PageNode::Text(_) => "text",
            })
            .collect();
        assert_eq!(
            classes,
            [
                "head", "head", "head", "head", "place", "removed", "added", "same"
            ]
        );
    }
}
