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
//! an example inside of the body, unless no other follows.
//!
//! This room finds the tags of a text and says where a body ends. It is linear: every question is
//! answered from an index that is made in one pass.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

use super::line::{Decorated, Decoration, is_blank_or_fence, undecorate};
use crate::protocol::{EndMark, SessionId};

mod attributes;
mod body;
mod command;
mod name;

pub(super) use body::Around;
pub(super) use command::{Opening, build, example};
pub(super) use name::Name;

/// A tag and the line it stands on, from 0.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TagLine<'a> {
    pub(super) line: usize,
    pub(super) kind: Kind<'a>,
    /// What Markdown put before it.
    pub(super) before: &'a str,
    decoration: Decoration,
    /// What the chat page did to the tag itself.
    pub(super) damage: Damage,
}

/// What a chat page did to a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Damage {
    #[default]
    None,
    /// Backslashes before Markdown characters.
    Escaped,
    /// HTML entities in place of characters.
    Entities,
}

/// What a tag says.
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

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Close {
    /// At the closing tag on this line.
    At(usize),
    /// It does not, but the command on this line begins the same all over again.
    Restarted(usize),
    /// Its closing tag is missing before the command on this line, which goes on.
    MissingBefore(usize),
    /// It holds closing tags of its own name; the outermost stands on this line.
    Nested(usize),
    /// It does not end.
    Missing,
}

/// All tags of a text, in order.
pub(super) struct Tags<'a> {
    list: Vec<TagLine<'a>>,
    closers: HashMap<(Name, String), Vec<usize>>,
    /// The closing tags without a mark that may belong to a tag at the beginning of its line.
    plain_closers: HashMap<Name, Vec<usize>>,
    openers: HashMap<Name, Vec<usize>>,
    /// The lines that no other dialect reaches beyond.
    boundaries: Vec<usize>,
    clean: OnceCell<Vec<bool>>,
}

/// How much deeper than its opening tag a closing tag may be indented.
const DEEPER: usize = 3;

/// How many tags are looked at to settle a doubtful case: what keeps hostile text from being slow.
const PATIENCE: usize = 256;

impl<'a> Tags<'a> {
    /// Finds the tags.
    pub(super) fn of(lines: &[&'a str]) -> Self {
        let mut tags = Self {
            list: Vec::new(),
            closers: HashMap::new(),
            plain_closers: HashMap::new(),
            openers: HashMap::new(),
            boundaries: Vec::new(),
            clean: OnceCell::new(),
        };
        for (line, text) in lines.iter().enumerate() {
            if let Some(tag) = read(line, text) {
                tags.push(tag);
            }
        }
        tags
    }

    fn push(&mut self, tag: TagLine<'a>) {
        let at = self.list.len();
        match &tag.kind {
            Kind::Close { name, mark } => {
                let key = (*name, mark.clone());
                self.closers.entry(key).or_default().push(at);
                if mark.is_empty() && stands_like(tag.decoration, Decoration::Indented(0)) {
                    self.plain_closers.entry(*name).or_default().push(at);
                }
            }
            Kind::Open { name, inline, .. } if inline.is_none() => {
                self.openers.entry(*name).or_default().push(at);
            }
            _ => {}
        }
        let bounds = matches!(tag.kind, Kind::Open { .. } | Kind::End(_));
        if bounds && tag.decoration == Decoration::Indented(0) {
            self.boundaries.push(tag.line);
        }
        self.list.push(tag);
    }

    /// The tags on this line and below.
    pub(super) fn below(&self, line: usize) -> &[TagLine<'a>] {
        &self.list[self.index_from(line)..]
    }

    /// The first tag, at this line or below, that begins or ends something of ours and is not
    /// indented: no other dialect reaches beyond it.
    pub(super) fn next_boundary(&self, line: usize) -> Option<usize> {
        let at = self.boundaries.partition_point(|at| *at < line);
        self.boundaries.get(at).copied()
    }

    /// The line of the end mark below which nothing stands, if there is one.
    pub(super) fn end_of_text(&self, lines: &[&str]) -> Option<usize> {
        let last = self.list.last()?;
        ends_text(lines, last).then_some(last.line)
    }

    /// The closing tag of the same name, if it is the very next tag.
    pub(super) fn closed_next(&self, tag: &TagLine<'_>) -> Option<usize> {
        let Kind::Open { name, .. } = &tag.kind else {
            return None;
        };
        let next = self.below(tag.line + 1).first()?;
        matches!(&next.kind, Kind::Close { name: other, .. } if other == name).then_some(next.line)
    }

    /// Where the closing tag of something unknown stands.
    pub(super) fn unknown_close(&self, tag: &TagLine<'_>) -> Option<usize> {
        let Kind::Unknown { name, .. } = &tag.kind else {
            return None;
        };
        // Only the next few tags: a name that nobody knows gets no index of its own.
        self.below(tag.line + 1)
            .iter()
            .take(PATIENCE)
            .find(|next| {
                matches!(&next.kind, Kind::UnknownClose { name: other }
                    if other.eq_ignore_ascii_case(name))
            })
            .map(|next| next.line)
    }

    /// Where the body of this opening tag ends.
    pub(super) fn close(&self, lines: &[&str], tag: &TagLine<'_>, mark: Option<&str>) -> Close {
        let Kind::Open { name, .. } = &tag.kind else {
            return Close::Missing;
        };
        if let Some(mark) = mark {
            let closer = self.closers_after(*name, mark, tag.line).first();
            return closer.map_or_else(
                || self.missing(lines, tag),
                |at| Close::At(self.list[*at].line),
            );
        }
        let all = self.closers_after(*name, "", tag.line);
        let closer = if tag.decoration == Decoration::Indented(0) {
            self.after(self.plain_closers.get(name), tag.line).first()
        } else {
            all.iter().take(PATIENCE).find(|at| {
                let closer = &self.list[**at];
                stands_like(closer.decoration, tag.decoration)
            })
        };
        let closer = closer.map(|at| self.list[*at].line);
        let example = all.first().map(|at| self.list[*at].line);
        let Some(line) = closer.or(example) else {
            return self.missing(lines, tag);
        };
        let again = self
            .openers_after(*name, tag.line)
            .iter()
            .map(|at| &self.list[*at])
            .take_while(|again| again.line < line)
            .find(|again| stands_like(again.decoration, tag.decoration));
        match again {
            None => Close::At(line),
            Some(again) => self.nested(lines, tag, again, line, example),
        }
    }

    /// Decides where another command of the same name begins before the closing tag.
    fn nested(
        &self,
        lines: &[&str],
        tag: &TagLine<'_>,
        again: &TagLine<'_>,
        line: usize,
        example: Option<usize>,
    ) -> Close {
        if repeats(lines, tag.line, again.line) {
            return Close::Restarted(again.line);
        }
        if let Some(example) = example.filter(|example| *example < again.line) {
            return Close::At(example);
        }
        if self.is_clean(lines, again.line) {
            return Close::MissingBefore(again.line);
        }
        self.outermost(tag, line)
            .map_or(Close::At(line), Close::Nested)
    }

    /// The closing tag at which openings and closings of one name balance, if they do.
    fn outermost(&self, tag: &TagLine<'_>, first: usize) -> Option<usize> {
        let Kind::Open { name, .. } = &tag.kind else {
            return None;
        };
        let mut openers = self.openers_after(*name, tag.line).iter().peekable();
        let mut depth = 1_usize;
        for closer in self
            .closers_after(*name, "", tag.line)
            .iter()
            .take(PATIENCE)
        {
            while openers.next_if(|opener| *opener < closer).is_some() {
                depth += 1;
            }
            depth -= 1;
            if depth == 0 {
                let line = self.list[*closer].line;
                return (line > first).then_some(line);
            }
        }
        None
    }

    /// Decides where no closing tag follows at all.
    fn missing(&self, lines: &[&str], tag: &TagLine<'_>) -> Close {
        if self.end_of_text(lines).is_none() {
            return Close::Missing;
        }
        let clean = self.clean(lines);
        let from = self.index_from(tag.line + 1);
        self.list[from..]
            .iter()
            .zip(&clean[from..])
            .find(|(next, clean)| **clean && stands_like(next.decoration, tag.decoration))
            .map_or(Close::Missing, |(next, _)| Close::MissingBefore(next.line))
    }

    fn is_clean(&self, lines: &[&str], line: usize) -> bool {
        let at = self.index_from(line);
        self.clean(lines).get(at) == Some(&true)
    }

    /// Of each opening tag: whether from there to the end mark stand only whole commands.
    ///
    /// Then a command before it whose closing tag is missing can be told from a body about this
    /// protocol, which would go on as text.
    fn clean(&self, lines: &[&str]) -> &[bool] {
        self.clean.get_or_init(|| {
            let mut clean = vec![false; self.list.len()];
            for at in (0..self.list.len()).rev() {
                clean[at] = match &self.list[at].kind {
                    Kind::End(_) => at + 1 == self.list.len() && ends_text(lines, &self.list[at]),
                    Kind::Open { .. } => self.after_whole(at).is_some_and(|next| {
                        let from = self.list[next - 1].line + 1;
                        clean.get(next) == Some(&true)
                            && all_blank(&lines[from..self.list[next].line])
                    }),
                    _ => false,
                };
            }
            // An end mark alone is no command to go on with.
            for (at, tag) in self.list.iter().enumerate() {
                clean[at] &= matches!(tag.kind, Kind::Open { .. });
            }
            clean
        })
    }

    /// The place in the list after the command that begins at `at`, if that is whole.
    fn after_whole(&self, at: usize) -> Option<usize> {
        let Kind::Open { name, inline, .. } = &self.list[at].kind else {
            return None;
        };
        let next = at + 1;
        let closes = self.list.get(next).is_some_and(
            |tag| matches!(&tag.kind, Kind::Close { name: other, .. } if other == name),
        );
        match (inline, closes) {
            (None, true) => Some(next + 1),
            (Some(_), _) => Some(next),
            (None, false) => (!name.needs_body()).then_some(next),
        }
    }

    fn index_from(&self, line: usize) -> usize {
        self.list.partition_point(|tag| tag.line < line)
    }

    fn closers_after(&self, name: Name, mark: &str, line: usize) -> &[usize] {
        let all = self.closers.get(&(name, mark.to_owned()));
        self.after(all, line)
    }

    fn openers_after(&self, name: Name, line: usize) -> &[usize] {
        self.after(self.openers.get(&name), line)
    }

    fn after<'b>(&self, all: Option<&'b Vec<usize>>, line: usize) -> &'b [usize] {
        let all = all.map_or(&[][..], Vec::as_slice);
        &all[all.partition_point(|at| self.list[*at].line <= line)..]
    }
}

/// Whether a tag inside of a body stands so that it may belong to the opening tag.
fn stands_like(inner: Decoration, opening: Decoration) -> bool {
    match (inner, opening) {
        (Decoration::Indented(inner), Decoration::Indented(opening)) => inner <= opening + DEEPER,
        (Decoration::Indented(_) | Decoration::Emphasis, _) => true,
        (Decoration::Other, opening) => opening == Decoration::Other,
    }
}

/// Whether the lines from `again` on say the same as those from `first` up to `again`, the last of
/// which may have been cut.
fn repeats(lines: &[&str], first: usize, again: usize) -> bool {
    let before: &[&str] = &lines[first..again];
    let kept = before.iter().rposition(|line| !is_blank_or_fence(line));
    let Some(last) = kept else {
        return false;
    };
    let Some(after) = lines.get(again..=again + last) else {
        return false;
    };
    before[..last] == after[..last] && after[last].starts_with(before[last])
}

/// Whether this is an end mark with nothing below it.
fn ends_text(lines: &[&str], tag: &TagLine<'_>) -> bool {
    matches!(tag.kind, Kind::End(_)) && all_blank(&lines[tag.line + 1..])
}

fn all_blank(lines: &[&str]) -> bool {
    lines.iter().all(|line| is_blank_or_fence(line))
}

/// Reads a line as a tag.
pub(super) fn read(line: usize, text: &str) -> Option<TagLine<'_>> {
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
    Some(TagLine {
        line,
        kind,
        before,
        decoration,
        damage,
    })
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

/// What a text in brackets says, if it is a tag.
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
    let closing = word(&inner[at + 2..]);
    if closing.and_then(|(other, _)| Name::read(other)) != Some(name) {
        return Some((rest, None));
    }
    let offset = inner.len() - rest.len();
    let mut quote = None;
    for (place, byte) in rest.bytes().enumerate() {
        match (quote, byte) {
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            (None, b']') => {
                return inner
                    .get(offset + place + 1..at)
                    .map(|body| (&rest[..place], Some(body)));
            }
            _ => {}
        }
    }
    None
}

/// The name at the beginning, and the rest, which a space divides from it.
fn word(text: &str) -> Option<(&str, &str)> {
    let end = text
        .bytes()
        .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')))
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let divided = rest.is_empty() || rest.starts_with([' ', '\t', '\u{a0}', '/', ']']);
    (divided && name.as_bytes().first()?.is_ascii_alphabetic()).then_some((name, rest))
}

/// A name that nobody knows, if it looks like a command rather than like prose.
fn unknown(name: &str, rest: &str) -> Option<Kind<'static>> {
    let shouts = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let rest = rest.trim_start();
    let key = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')))
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

    #[track_caller]
    fn close(text: &str, expected: Close) {
        let lines: Vec<&str> = text.split('\n').collect();
        let tags = Tags::of(&lines);
        let tag = &tags.list[0];
        assert_eq!(tags.close(&lines, tag, None), expected, "{text}");
    }

    #[test]
    fn a_body_ends_at_its_own_closing_tag() {
        close("[PLAN]\nx\n[/PLAN]", Close::At(2));
        close(
            "[PLAN]\n[READ_FILE path=a]\n[/READ_FILE]\n[/plan]",
            Close::At(3),
        );
        close("[PLAN]\n**[/PLAN]**", Close::At(1));
        close("[PLAN]\n    [/PLAN]\n- [/PLAN]\n[/PLAN]", Close::At(3));
        close("[PLAN]\n    [/PLAN]", Close::At(1));
        close("[PLAN]\nx", Close::Missing);
    }

    #[test]
    fn a_forgotten_closing_tag_is_told_from_a_body_about_tags() {
        let end = "[END ab12cd34#1]";
        close(
            &format!("[PLAN]\nx\n[RUN_COMMAND]\nls\n[/RUN_COMMAND]\n[DONE]\n{end}"),
            Close::MissingBefore(2),
        );
        close(
            &format!("[PLAN]\nx\n[RUN_COMMAND]\nls\n[/RUN_COMMAND]\nand so on\n{end}"),
            Close::Missing,
        );
        close(
            &format!("[PLAN]\nx\n[PLAN]\ny\n[/PLAN]\n{end}\n```"),
            Close::MissingBefore(2),
        );
        close(&format!("[PLAN]\nx\n{end}"), Close::Missing);
        close(
            "[PLAN]\nx\n[PLAN]\ny\n[/PLAN]\nz\n[/PLAN]",
            Close::Nested(6),
        );
    }

    #[test]
    fn a_command_that_begins_again_counts_once() {
        close(
            "[PLAN]\none\ntw\n```\n[PLAN]\none\ntwo\n[/PLAN]",
            Close::Restarted(4),
        );
    }
}
