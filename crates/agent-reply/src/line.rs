//! Takes off the marks that Markdown puts around a tag on its line.

use super::code_fence::Fence;
use crate::trim::{is_blank, trim_start};
use agent_protocol::unseen::is_stray;

/// Returns true if a line holds nothing: only white space, or only a fence.
pub(super) fn is_blank_or_fence(line: &str) -> bool {
    is_blank(line) || Fence::read(line).is_some()
}

/// Colons, with the wide one of Chinese and Japanese.
pub(super) const COLONS: [char; 2] = [':', '：'];

/// Returns true if a line ends with a colon, emphasis aside, and so leads to what follows.
pub(super) fn ends_with_colon(line: &str) -> bool {
    line.trim_end_matches(|c| is_space(c) || matches!(c, '*' | '_'))
        .ends_with(COLONS)
}

/// Marks around a tag on its line.
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
    let text = without_citations(undecorated_end(rest));
    let closed = text.ends_with(']') || text.ends_with("&#93;") || text.ends_with("&rbrack;");
    closed.then_some(Decorated {
        before,
        text,
        decoration,
    })
}

/// A text without the marks that Markdown puts behind it.
fn undecorated_end(text: &str) -> &str {
    let text = text.trim_end_matches(|c| is_space(c) || matches!(c, '*' | '_' | '`'));
    match text.strip_suffix('\\') {
        Some(hard_break) => hard_break.trim_end_matches(is_space),
        None => text,
    }
}

/// A tag in the protocol's own letters without the citations that a page put behind it: `[1]`,
/// `[^2]`, `【3†source】`, `:contentReference[oaicite:0]{index=0}`.
fn without_citations(text: &str) -> &str {
    let name = text.trim_start_matches(['[', '\\', '/']);
    let shouts = (name.bytes().take(2)).all(|byte| byte.is_ascii_uppercase());
    if !shouts || name.len() + 3 < text.len() {
        return text;
    }
    let mut rest = text;
    while let Some(before) = citation(rest) {
        rest = undecorated_end(before);
    }
    if rest.ends_with(']') { rest } else { text }
}

/// The text before the citation at its end.
fn citation(text: &str) -> Option<&str> {
    if let Some(inner) = text.strip_suffix('】') {
        return inner.rsplit_once('【').map(|(before, _)| before);
    }
    if let Some(inner) = text.strip_suffix('}') {
        let (before, rest) = inner.rsplit_once(":contentReference[")?;
        return rest.contains("]{").then_some(before);
    }
    let (before, number) = text.strip_suffix(']')?.rsplit_once('[')?;
    let number = number.strip_prefix('^').unwrap_or(number);
    (is_number(number) && number.len() <= 3).then_some(before)
}

/// The text behind a quote mark, heading mark, bullet, number or backticks.
fn opener(rest: &str) -> Option<&str> {
    match rest.as_bytes()[0] {
        b'>' => Some(&rest[1..]),
        b'`' => Some(rest.trim_start_matches('`')),
        b'#' => rest.trim_start_matches('#').strip_prefix(' '),
        b'-' | b'+' => bullet(rest),
        0xe2 if bullet(rest).is_some() => bullet(rest),
        b'0'..=b'9' => {
            let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            let digits = rest.len() - after.len();
            if let Some(after) = after
                .trim_start_matches('\u{fe0f}')
                .strip_prefix('\u{20e3}')
            {
                return Some(after);
            }
            let after = after.strip_prefix(['.', ')'])?;
            (digits <= 3).then(|| after.strip_prefix(' '))?
        }
        byte if !byte.is_ascii() => symbol(rest),
        _ => None,
    }
}

/// The text behind signs that are no letters of any language, such as a check mark.
fn symbol(rest: &str) -> Option<&str> {
    let after = rest.trim_start_matches(is_symbol);
    (after.len() < rest.len()).then_some(after)
}

/// Returns true if a character is a sign that is neither a letter nor a quote.
pub(super) fn is_symbol(c: char) -> bool {
    let is_quote =
        matches!(c, '\u{ab}' | '\u{bb}' | '\u{2018}'..='\u{201f}' | '\u{300a}'..='\u{301f}');
    !c.is_ascii() && !c.is_alphanumeric() && !c.is_whitespace() && !is_quote
}

fn bullet(rest: &str) -> Option<&str> {
    rest.strip_prefix(['-', '+', '*', '\u{2022}'])?
        .strip_prefix([' ', '\u{a0}'])
}

/// Returns true if a word is one of these, which single spaces divide.
pub(super) fn has_word(words: &str, word: &str) -> bool {
    // Looking where its first letter stands is quicker than to prepare a search for all of it.
    let (bytes, word) = (words.as_bytes(), word.as_bytes());
    let is_end = |at: usize| bytes.get(at).is_none_or(|byte| *byte == b' ');
    let is_whole = |at: usize| {
        at.checked_sub(1).is_none_or(&is_end)
            && bytes[at..].starts_with(word)
            && is_end(at + word.len())
    };
    (word.first()).is_some_and(|first| memchr::memchr_iter(*first, bytes).any(is_whole))
}

/// Returns true if a text begins with one of these, which bars divide.
pub(super) fn begins_with(text: &str, beginnings: &str) -> bool {
    // By bytes, because that is three times as fast.
    let mut beginnings = beginnings.as_bytes().split(|byte| *byte == b'|');
    beginnings.any(|beginning| text.as_bytes().starts_with(beginning))
}

/// The first of words that single spaces divide.
pub(super) fn first_word(words: &str) -> &str {
    words.split(' ').next().unwrap_or_default()
}

/// Returns true if a text is nothing but digits.
pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// White space, also of the kinds that chat pages put in its place, and what nobody sees.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || is_stray(c)
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
        case("1\u{fe0f}\u{20e3} [DONE]", "[DONE]", Decoration::Other);
    }

    #[test]
    fn takes_off_the_citations_behind_a_tag() {
        for (line, text) in [
            ("[DONE] [1]", "[DONE]"),
            ("[/CREATE_FILE][1][2]", "[/CREATE_FILE]"),
            ("**[END ab12cd34#1]** [^1]", "[END ab12cd34#1]"),
            (
                "[READ_FILE path=\"a\"]\u{3010}3\u{2020}source\u{3011}",
                "[READ_FILE path=\"a\"]",
            ),
            ("[DONE]:contentReference[oaicite:0]{index=0}", "[DONE]"),
        ] {
            let got = undecorate(line).map(|found| found.text);
            assert_eq!(got, Some(text), "{line}");
        }
        for line in [
            "[1]",
            "[DONE[1]]",
            "[Done] [1]",
            "[RUN_COMMAND]echo a[1]",
            "[[1]]",
        ] {
            case(line, line, Decoration::Indented(0));
        }
    }

    #[test]
    fn finds_whole_words() {
        for word in ["a", "ab", "abc"] {
            assert!(has_word("a ab abc", word), "{word}");
        }
        for word in ["", "b", "bc", "abcd", "a b"] {
            assert!(!has_word("a ab abc", word), "{word}");
        }
    }

    #[test]
    fn leaves_prose_alone() {
        for line in ["", "done", "see [DONE] above", "[DONE] now", "-[DONE]", "x"] {
            assert_eq!(undecorate(line), None, "{line}");
        }
    }
}
