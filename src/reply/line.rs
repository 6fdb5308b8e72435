//! What Markdown puts around a tag on its line.

use super::code_fence::Fence;
use crate::reply::trim::{is_blank, trim_start};

/// Whether a line holds nothing: only white space, or only a fence.
pub(super) fn is_blank_or_fence(line: &str) -> bool {
    is_blank(line) || Fence::read(line).is_some()
}

/// What stands around a tag on its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decoration {
    /// White space only: so many columns before it.
    Indented(usize),
    /// Bold or italic marks at the beginning of the line.
    Emphasis,
    /// A quote mark, a bullet, a number, a heading mark or backticks.
    Other,
}

/// A line taken apart: what Markdown put before a tag, and the tag with nothing around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decorated<'a> {
    pub(super) before: &'a str,
    pub(super) text: &'a str,
    pub(super) decoration: Decoration,
}

/// Takes off the marks around what may be a tag; nothing where no bracket is left at both ends.
pub(super) fn undecorate(line: &str) -> Option<Decorated<'_>> {
    let mut rest = trim_start(line);
    if !rest.as_bytes().first()?.is_ascii() {
        rest = rest.trim_start_matches(is_space);
    }
    let indent = line.len() - rest.len();
    let mut decoration = Decoration::Indented(indent);
    loop {
        let (after, kind) = match rest.as_bytes().first()? {
            b'[' => break,
            b'\\' if rest.starts_with("\\[") => break,
            b'&' if rest.starts_with("&#91;") || rest.starts_with("&lbrack;") => break,
            b'*' | b'_' => match bullet(rest) {
                Some(after) => (after, Decoration::Other),
                None => (rest.trim_start_matches(['*', '_']), Decoration::Emphasis),
            },
            _ => (opener(rest)?, Decoration::Other),
        };
        decoration = match (decoration, kind) {
            (Decoration::Indented(_), kind) => kind,
            (old, kind) if old == kind => kind,
            _ => Decoration::Other,
        };
        rest = after.trim_start_matches(is_space);
    }
    let before = &line[..line.len() - rest.len()];
    let text = rest.trim_end_matches(|c| is_space(c) || matches!(c, '*' | '_' | '`'));
    let text = match text.strip_suffix('\\') {
        Some(hard_break) => hard_break.trim_end_matches(is_space),
        None => text,
    };
    let closed = text.ends_with(']') || text.ends_with("&#93;") || text.ends_with("&rbrack;");
    closed.then_some(Decorated {
        before,
        text,
        decoration,
    })
}

/// What follows a quote mark, heading mark, bullet, number or backticks.
fn opener(rest: &str) -> Option<&str> {
    match rest.as_bytes()[0] {
        b'>' => Some(&rest[1..]),
        b'`' => Some(rest.trim_start_matches('`')),
        b'#' => rest.trim_start_matches('#').strip_prefix(' '),
        b'-' | b'+' | 0xe2 => bullet(rest),
        b'0'..=b'9' => {
            let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            let digits = rest.len() - after.len();
            let after = after.strip_prefix(['.', ')'])?;
            (digits <= 3).then(|| after.strip_prefix(' '))?
        }
        _ => None,
    }
}

fn bullet(rest: &str) -> Option<&str> {
    rest.strip_prefix(['-', '+', '*', '\u{2022}'])?
        .strip_prefix([' ', '\u{a0}'])
}

/// White space, also of the kinds that chat pages put in its place.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200b}' | '\u{feff}' | '\u{2060}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(line: &str, text: &str, decoration: Decoration) {
        let got = undecorate(line).map(|found| (found.text, found.decoration));
        assert_eq!(got, Some((text, decoration)), "{line}");
    }

    #[test]
    fn takes_off_what_markdown_puts_around_a_tag() {
        case("[DONE]", "[DONE]", Decoration::Indented(0));
        case("  [DONE]  ", "[DONE]", Decoration::Indented(2));
        case("**[DONE]**", "[DONE]", Decoration::Emphasis);
        case("__[DONE]__", "[DONE]", Decoration::Emphasis);
        case("- [DONE]", "[DONE]", Decoration::Other);
        case("* **[DONE]**", "[DONE]", Decoration::Other);
        case("> > [DONE]", "[DONE]", Decoration::Other);
        case("`[DONE]`", "[DONE]", Decoration::Other);
        case("## [DONE]", "[DONE]", Decoration::Other);
        case("12. [DONE]", "[DONE]", Decoration::Other);
        case("\u{2022} [DONE]\\", "[DONE]", Decoration::Other);
    }

    #[test]
    fn leaves_prose_alone() {
        for line in ["", "done", "see [DONE] above", "[DONE] now", "-[DONE]", "x"] {
            assert_eq!(undecorate(line), None, "{line}");
        }
    }
}
