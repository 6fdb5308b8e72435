//! Tags that were meant and are none: behind words, in other brackets, in other letters.

use super::Name;
use crate::candidate::BlockTrouble;

/// A tag as a model wrote it among words: `Then [INSERT_TEXT ...]`, `[[CREATE FILE ...]]`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LooseTag<'a> {
    pub(crate) name: Name,
    pub(crate) path: Option<&'a str>,
    /// The text up to its closing tag, if that is on the line.
    pub(crate) body: Option<&'a str>,
    pub(crate) is_closing: bool,
}

const OPENERS: [char; 5] = ['[', '{', '(', '\u{3010}', '\u{ff3b}'];
const CLOSERS: [char; 4] = [']', '}', '\u{3011}', '\u{ff3d}'];

impl<'a> LooseTag<'a> {
    /// The first tag on a line, outside of backticks, that changes or runs something and was meant:
    /// it closes a body, has its body on the line, or ends the line with attributes and needs no body
    /// or stands behind a label.
    pub(crate) fn find(line: &'a str) -> Option<Self> {
        let mut tags = Self::all(line);
        tags.find_map(|(tag, is_meant)| is_meant.then_some(tag))
    }

    /// A tag on a line that may open a body below it.
    pub(crate) fn opening(line: &'a str) -> Option<Self> {
        let is_open = |tag: &Self| !tag.is_closing && tag.body.is_none() && tag.name.needs_body();
        Self::all(line).map(|(tag, _)| tag).find(is_open)
    }

    /// The trouble with it: it counts only as it should be written.
    pub(crate) fn trouble(&self) -> BlockTrouble {
        let trouble = BlockTrouble::new(
            "it counts only as a whole tag alone on its line, so this was not done",
            format!("Write it as `{}`.", self.name.example()),
        );
        trouble.of(self.name.as_str())
    }

    /// The tags on a line, each with true if it was meant even if nothing follows.
    fn all(line: &'a str) -> impl Iterator<Item = (Self, bool)> {
        /// Each is looked for up to the end of the line.
        const MOST: usize = 8;
        let bytes = line.as_bytes();
        let leads_to_name = |at: usize| {
            let mut inner = bytes[at..].iter().take(MOST);
            let first = inner.find(|byte| !matches!(byte, b'[' | b'{' | b'(' | b'/' | b' '));
            first.is_none_or(|first| first.is_ascii_uppercase() || first.is_ascii_whitespace())
        };
        let may_open =
            !bytes.is_ascii() || memchr::memchr3_iter(b'[', b'{', b'(', bytes).any(leads_to_name);
        let line = if may_open { line } else { "" };
        let (mut is_code, mut last) = (false, ' ');
        let tags = line.char_indices().filter_map(move |(at, c)| {
            is_code ^= c == '`';
            let is_first = !OPENERS.contains(&std::mem::replace(&mut last, c));
            let is_opener = OPENERS.contains(&c) && is_first && !is_code;
            is_opener.then(|| Self::read(line, at))?
        });
        tags.take(MOST)
    }

    fn read(line: &'a str, at: usize) -> Option<(Self, bool)> {
        let (before, text) = line.split_at(at);
        let inner = text.trim_start_matches(OPENERS).trim_start();
        let (is_closing, inner) = match inner.strip_prefix('/') {
            Some(inner) => (true, inner.trim_start()),
            None => (false, inner),
        };
        inner.starts_with(char::is_uppercase).then_some(())?;
        let (name, rest) = Name::all()
            .filter(|name| name.is_compound() && name.has_effects())
            .find_map(|name| Some((name, after_name(inner, name)?)))?;
        // Paths have round brackets too.
        let closers: &[char] = if text.starts_with('(') {
            &[')']
        } else {
            &CLOSERS
        };
        let (attributes, behind) = match rest.find(closers) {
            Some(end) => (&rest[..end], rest[end..].trim_start_matches(closers)),
            None => (rest, ""),
        };
        let closing = behind.find(OPENERS).filter(|at| {
            let closing = behind[*at..].trim_start_matches(OPENERS);
            let closing = closing.strip_prefix('/');
            closing.is_some_and(|closing| after_name(closing, name).is_some())
        });
        // `</li>` behind a tag is no word.
        let mut words = behind.split('<').enumerate().map(|(at, part)| match at {
            0 => part,
            _ => part.split_once('>').map_or(part, |(_, words)| words),
        });
        let is_last = !words.any(|words| words.contains(char::is_alphanumeric));
        let path = ["path=", "from=", "file="].iter().find_map(|key| {
            let (_, value) = attributes.split_once(key)?;
            let is_quote = |c: char| matches!(c, '"' | '\'' | '\u{201c}' | '\u{201d}');
            let value = value.trim_start_matches(is_quote);
            value.split(|c: char| is_quote(c) || c == ' ').next()
        });
        let is_whole = !name.needs_body() || is_label(before);
        let is_meant = is_closing || closing.is_some() || (is_last && path.is_some() && is_whole);
        let body = closing.map(|end| &behind[..end]);
        let tag = Self {
            name,
            path,
            body,
            is_closing,
        };
        Some((tag, is_meant))
    }
}

/// Returns true if words are the label of a step: `**Step 1**`, `2. Create it:`.
fn is_label(words: &str) -> bool {
    let words = words.trim_end_matches([' ', '\\']);
    let text = words.trim_start_matches(['#', '*', '-', ' ']);
    words.ends_with(['*', ':', '.', ')']) && !text.is_empty()
        || text
            .get(..4)
            .is_some_and(|word| word.eq_ignore_ascii_case("step"))
}

/// The text behind a name that is written with an underscore, a space, a hyphen or nothing between
/// its words.
fn after_name(text: &str, name: Name) -> Option<&str> {
    let mut rest = text;
    for (at, word) in name.as_str().split('_').enumerate() {
        if at > 0 {
            rest = rest.trim_start_matches('\\');
            rest = rest.strip_prefix(['_', ' ', '-']).unwrap_or(rest);
        }
        let start = rest.get(..word.len())?;
        let is_same = start.eq_ignore_ascii_case(word);
        rest = (is_same && start.starts_with(char::is_uppercase)).then(|| &rest[word.len()..])?;
    }
    (!rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')).then_some(rest)
}
