//! Our own dialect: tags that stand alone on their lines.
//!
//! ```text
//! command    := opening [ body closing ]
//! opening    := "[" NAME { attribute } [ "/" ] "]"
//! closing    := "[/" NAME [ mark ] "]"
//! end        := "[END " session "#" sequence "]"
//! inline     := opening text closing, all on one line
//! ```
//!
//! A tag counts only alone on its line, decoration aside, in any letter case, inside or outside of
//! code fences. A body is verbatim up to the first closing tag of its own name, or, where the
//! opening tag has `end="Q7"`, up to `[/NAME Q7]`; commands inside of it are text. A closing tag
//! that is indented four columns deeper than the opening one, quoted or in backticks is taken for
//! an example inside of the body, unless no other follows. A closing tag that is misspelled or
//! shares its line with the end of the body counts where no proper one can be meant. Either counts
//! only where nothing stands behind it that may belong to the body. A command whose end can be read
//! in two ways is not done.
//!
//! This file reads one line; its modules find where a body ends and make commands of tags.

use std::borrow::Cow;

use super::line::{Decorated, Decoration, is_space, is_symbol, undecorate};
use crate::trim::trim_start;
use agent_protocol::{EndMark, SessionId};

mod angled;
mod attributes;
pub(super) mod body;
mod closer;
mod command;
pub(super) mod copy_button;
mod damage;
mod harmless;
mod index;
mod loose;
mod name;

pub(super) use angled::read_angled;
pub(super) use body::{Around, FileContent};
pub(super) use closer::Closer;
pub(super) use command::{Opening, build};
pub(super) use index::{Close, Tags};
pub(super) use loose::LooseTag;
pub(super) use name::Name;

/// A tag and the line it stands on, from 0.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TagLine<'a> {
    pub(super) line: usize,
    pub(super) kind: Kind<'a>,
    /// Marks of Markdown before it.
    pub(super) before: &'a str,
    decoration: Decoration,
    /// Damage that the chat page did to the tag itself.
    pub(super) damage: Damage,
}

impl TagLine<'_> {
    /// The command that it opens.
    pub(super) fn opens(&self) -> Option<Name> {
        match self.kind {
            Kind::Open { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Returns true if it closes a command of this name.
    pub(super) fn closes(&self, name: Name) -> bool {
        matches!(&self.kind, Kind::Close { name: closed, .. } if *closed == name)
    }
}

/// Damage that a chat page does to tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Damage {
    #[default]
    None,
    /// Backslashes before Markdown characters.
    Escaped,
    /// HTML entities in place of characters.
    Entities,
}

/// The meaning of a tag.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// `[NAME ...]`, perhaps with body and closing tag on the same line.
    Open {
        name: Name,
        attributes: Cow<'a, str>,
        inline: Option<Cow<'a, str>>,
    },
    /// `[/NAME]` or `[/NAME mark]`.
    Close { name: Name, mark: String },
    /// `[END ...]`.
    End(EndMark),
    /// Looks like a command and is none.
    Unknown { name: String, has_attributes: bool },
    /// The closing tag of something unknown.
    UnknownClose { name: String },
}

/// Reads a line as a tag.
#[inline]
pub(super) fn read(line: usize, text: &str) -> Option<TagLine<'_>> {
    // Most lines begin with none of the marks that may stand before a tag.
    let is_mark = |byte| !matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'}' | b'/' | b')' | b'"');
    crate::trim::lead(text).filter(|byte| is_mark(*byte))?;
    read_marked(line, text)
}

fn read_marked(line: usize, text: &str) -> Option<TagLine<'_>> {
    let Decorated {
        before,
        text,
        decoration,
    } = undecorate(text)?;
    let (text, damage) = restored(text);
    let kind = match text {
        Cow::Borrowed(text) => kind(text)?,
        Cow::Owned(text) => owned(kind(&text)?),
    };
    // `\u{2705} [Done]` in a list tells how something stands.
    let has_symbol = |c: char| is_symbol(c) && c != '\u{2022}' && !is_space(c);
    let tag = TagLine {
        line,
        kind,
        before,
        decoration,
        damage,
    };
    let is_status = tag.opens().is_some_and(Name::only_tells) && before.contains(has_symbol);
    (!is_status).then_some(tag)
}

/// The tag without the escapes that a chat page put into it.
fn restored(text: &str) -> (Cow<'_, str>, Damage) {
    if text.starts_with("\\[") && text.ends_with("\\]") {
        let plain = super::repair::without_backslashes(text);
        return (Cow::Owned(plain), Damage::Escaped);
    }
    let entity = |name: &str| memchr::memmem::find(text.as_bytes(), name.as_bytes()).is_some();
    if entity("=&quot;") || entity("=&#34;") || entity("=&#39;") || text.starts_with('&') {
        let plain = super::repair::without_entities(text);
        return (Cow::Owned(plain), Damage::Entities);
    }
    // Names arrive as `[CREATE\_FILE ...]` where only the underscore is Markdown's.
    let name = &text[..text.find([' ', ']']).unwrap_or(text.len())];
    if name.contains("\\_") {
        let plain = super::repair::without_backslashes(text);
        return (Cow::Owned(plain), Damage::Escaped);
    }
    (Cow::Borrowed(text), Damage::None)
}

fn owned(kind: Kind<'_>) -> Kind<'static> {
    match kind {
        Kind::Open {
            name,
            attributes,
            inline,
        } => Kind::Open {
            name,
            attributes: Cow::Owned(attributes.into_owned()),
            inline: inline.map(|text| Cow::Owned(text.into_owned())),
        },
        Kind::Close { name, mark } => Kind::Close { name, mark },
        Kind::End(mark) => Kind::End(mark),
        Kind::Unknown {
            name,
            has_attributes,
        } => Kind::Unknown {
            name,
            has_attributes,
        },
        Kind::UnknownClose { name } => Kind::UnknownClose { name },
    }
}

/// Reads a text in brackets as a tag.
fn kind(text: &str) -> Option<Kind<'_>> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    if let Some(closing) = inner.strip_prefix('/') {
        let (name, mark) = word(closing)?;
        let mark = mark
            .trim()
            .trim_start_matches("end=")
            .trim_matches(is_quote);
        return Some(match Name::read(name) {
            Some(name) => Kind::Close {
                name,
                mark: mark.to_owned(),
            },
            None => Kind::UnknownClose {
                name: name.to_owned(),
            },
        });
    }
    let (name, rest) = word(inner)?;
    if name.eq_ignore_ascii_case("END") {
        return end(rest).map(Kind::End);
    }
    let Some(known) = Name::read(name) else {
        return unknown(name, rest);
    };
    let (rest, inline) = match memchr::memmem::rfind(inner.as_bytes(), b"[/") {
        Some(at) => split_inline(inner, rest, at, known)?,
        None => (rest, None),
    };
    if inline.is_none() && goes_on(rest) {
        return None;
    }
    let rest = rest.trim_end();
    Some(Kind::Open {
        name: known,
        attributes: Cow::Borrowed(rest.strip_suffix('/').unwrap_or(rest)),
        inline: inline.map(Cow::Borrowed),
    })
}

/// Takes `NAME attributes]text[/NAME` apart; all of it may also be one tag with `[/` in a value.
fn split_inline<'a>(
    inner: &'a str,
    rest: &'a str,
    at: usize,
    name: Name,
) -> Option<(&'a str, Option<&'a str>)> {
    let closing = word(&inner[at + 2..]).filter(|(_, mark)| !mark.contains(']'));
    if closing.and_then(|(other, _)| Name::read(other)) != Some(name) {
        return Some((rest, None));
    }
    let offset = inner.len() - rest.len();
    let end = outside_quotes(rest, |byte| byte == b']')?;
    let body = inner.get(offset + end + 1..at)?;
    // With another one of its name on the line nobody knows where it ends.
    let is_one = last_tag(body, |written| written == name.as_str()).is_none();
    is_one.then_some((&rest[..end], Some(body)))
}

/// The place of the first byte outside of quotes that is meant.
fn outside_quotes(text: &str, mut is_meant: impl FnMut(u8) -> bool) -> Option<usize> {
    let mut quote = None;
    text.bytes().position(|byte| {
        match (quote, byte) {
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, byte) => return is_meant(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
        false
    })
}

/// Returns true if a tag ends before its line does, and another one follows on it: `"a"] text
/// [/NAME`.
///
/// A value may hold brackets and quotes of its own, as a pattern does.
fn goes_on(rest: &str) -> bool {
    let mut depth = 0_usize;
    let end = outside_quotes(rest, |byte| {
        let is_end = byte == b']' && depth == 0;
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_end
    });
    let Some(end) = end else {
        return false;
    };
    let behind = &rest[end + 1..];
    let quotes = |at: usize| memchr::memchr_iter(b'"', &behind.as_bytes()[at..]).count();
    let is_whole = |at: usize| quotes(at).is_multiple_of(2);
    end == 0 || last_tag(behind, is_own).is_some_and(is_whole)
}

/// Where the last tag with such a name begins in a text.
fn last_tag(text: &str, is_meant: impl Fn(&str) -> bool) -> Option<usize> {
    memchr::memrchr_iter(b'[', text.as_bytes()).find(|at| {
        let inner = &text[at + 1..];
        let found = word(inner.strip_prefix('/').unwrap_or(inner));
        found.is_some_and(|(written, _)| is_meant(written))
    })
}

/// Returns true if a name is written in the protocol's own letters.
fn is_own(written: &str) -> bool {
    written == "END" || Name::exact(written).is_some()
}

/// A tag in the protocol's own letters with something else on its line.
pub(super) struct Crowded<'a> {
    pub(super) name: Name,
    /// The text behind the name.
    pub(super) rest: &'a str,
    pub(super) has_attributes: bool,
}

/// Reads a line that begins with a tag and goes on after it, or that ends before the tag does.
pub(super) fn crowded(line: &str) -> Option<Crowded<'_>> {
    let text = trim_start(line).trim_start_matches(['*', '`']);
    let inner = text.strip_prefix('[')?;
    // `[READ_FILE: src/main.rs]` is meant as a command, too.
    let (written, rest) = word(inner).or_else(|| inner.split_once(':'))?;
    let name = Name::exact(written)?;
    let has_attributes = rest
        .split_once('=')
        .is_some_and(|(before, _)| !before.contains(']'));
    Some(Crowded {
        name,
        rest: rest.trim_start_matches(']'),
        has_attributes,
    })
}

/// Reads a line that ends with a tag below words that lead to it: `Step 1: [RUN_COMMAND]`.
pub(super) fn led_to(line: &str) -> Option<Crowded<'_>> {
    const LONGEST: usize = 80;
    let text = crate::trim::trim(line).trim_end_matches(['*', '`', '|', ' ']);
    let inner = text.strip_suffix(']')?;
    let (words, tag) = inner.split_once('[')?;
    let words = words.trim_end_matches(['*', '`', ' ']);
    let leads = words.ends_with([':', '-', '\u{2013}', '\u{2014}', '\u{2192}', ')', '.', '|']);
    if words.is_empty() || words.len() > LONGEST || !leads {
        return None;
    }
    let (written, rest) = word(tag)?;
    let name = Name::exact(written)?;
    (!goes_on(rest)).then_some(Crowded {
        name,
        rest,
        has_attributes: rest.contains('='),
    })
}

/// The name at the beginning, and the rest, which a space divides from it.
fn word(text: &str) -> Option<(&str, &str)> {
    // A page translates names too: `[FICHIER_CR\u{c9}ER chemin="a.py"]`.
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')));
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    let divided = rest.is_empty() || rest.starts_with([' ', '\t', '\u{a0}', '/', ']']);
    (divided && name.starts_with(char::is_alphabetic)).then_some((name, rest))
}

/// A name that nobody knows, if it looks like a command rather than like prose.
fn unknown(name: &str, rest: &str) -> Option<Kind<'static>> {
    let shouts = !name.contains(char::is_lowercase);
    let rest = rest.trim_start();
    let key = rest
        .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')))
        .unwrap_or(rest.len());
    let has_attributes = key > 0 && rest[key..].trim_start().starts_with('=');
    let compound = name.contains(['_', '-']);
    let command = if has_attributes {
        shouts || compound
    } else {
        shouts && compound && rest.trim_end_matches('/').is_empty()
    };
    command.then(|| Kind::Unknown {
        name: name.to_owned(),
        has_attributes,
    })
}

/// Reads what follows `END`.
fn end(rest: &str) -> Option<EndMark> {
    let (session, sequence) = rest.trim().split_once('#')?;
    Some(EndMark {
        session: SessionId::parse(session.trim_end_matches('\\')).ok()?,
        sequence: sequence.trim().parse().ok()?,
    })
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '\u{2018}'..='\u{201f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(text: &str) -> (Name, String, Option<String>) {
        match read(0, text).unwrap().kind {
            Kind::Open {
                name,
                attributes,
                inline,
            } => (
                name,
                attributes.trim().to_owned(),
                inline.map(Cow::into_owned),
            ),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reads_opening_tags() {
        let path = r#"path="a""#.to_owned();
        for text in [
            r#"[READ_FILE path="a"]"#,
            r#"[read_file path="a"]"#,
            r#"**[READ_FILE path="a"]**"#,
            r#"[READ_FILE path="a" /]"#,
            r#"\[READ\_FILE path="a"\]"#,
            "[READ_FILE path=&quot;a&quot;]",
        ] {
            let (name, attributes, inline) = opened(text);
            assert_eq!(
                (name, attributes.trim_end(), inline),
                (Name::ReadFile, path.as_str(), None)
            );
        }
    }

    #[test]
    fn reads_a_command_on_one_line() {
        let got = opened("[RUN_COMMAND timeout=5]echo a[0][/RUN_COMMAND]");
        assert_eq!(
            got,
            (
                Name::RunCommand,
                "timeout=5".to_owned(),
                Some("echo a[0]".to_owned())
            )
        );
        let got = opened(r#"[SEARCH_TEXT pattern="[/DONE"]"#);
        assert_eq!(got.2, None);
    }

    #[test]
    fn several_tags_on_one_line_are_none() {
        for text in [
            r#"[CREATE_FILE path="a"] x = 1 [/CREATE_FILE] [RUN_COMMAND] ls [/RUN_COMMAND] [END ab12cd34#1]"#,
            r#"[CREATE_FILE path="a"] x [/CREATE_FILE] [READ_FILE path="b"]"#,
            "[RUN_COMMAND]a[/RUN_COMMAND] [RUN_COMMAND]b[/RUN_COMMAND]",
            "[MESSAGE]hi[/MESSAGE] [DONE]",
            r#"[READ_FILE path="a"] [END ab12cd34#1]"#,
            "[Done][1]",
        ] {
            assert_eq!(read(0, text), None, "{text}");
        }
        for text in [
            r#"[SEARCH_TEXT pattern="[^"]*"]"#,
            r#"[SEARCH_TEXT pattern="[^"]*[/DONE]"]"#,
            r#"[SEARCH_TEXT pattern="[DONE] or [/PLAN]" path="a"]"#,
            "[READ_FILE path=app/[id]/[...slug].ts]",
            "[SEARCH_TEXT pattern=a[0]]",
            "[RUN_COMMAND]echo [DONE] it's[/RUN_COMMAND]",
        ] {
            assert!(read(0, text).is_some(), "{text}");
        }
    }

    #[test]
    fn reads_end_marks_however_they_are_dressed() {
        for text in [
            "[END ab12cd34#3]",
            "**[end AB12CD34#3]**",
            "> [END ab12cd34 # 3]",
            "`[END ab12cd34#003]`",
            "\\[END ab12cd34\\#3\\]",
        ] {
            let kind = read(0, text).map(|tag| tag.kind);
            let Some(Kind::End(mark)) = kind else {
                panic!("{text}: {kind:?}");
            };
            assert_eq!(mark.to_string(), "[END ab12cd34#3]");
        }
        assert_eq!(read(0, "[END]"), None);
        assert_eq!(read(0, "[END ab12#3]"), None);
    }

    #[test]
    fn brackets_in_prose_are_no_tags() {
        for text in [
            "[TODO]",
            "[1]",
            "[x]",
            "- [ ]",
            "[link](https://example.org)",
            "[a_b]",
            "[DONE] now",
            "[READ_FILEpath]",
            "[[]]",
        ] {
            assert_eq!(read(0, text), None, "{text}");
        }
    }

    #[test]
    fn what_looks_like_a_command_is_noticed() {
        for text in [
            r#"[FOO_BAR x="1"]"#,
            "[FOO_BAR]",
            r#"[write_file path="a"]"#,
        ] {
            let kind = read(0, text).map(|tag| tag.kind);
            assert!(
                matches!(kind, Some(Kind::Unknown { .. })),
                "{text}: {kind:?}"
            );
        }
    }
}
