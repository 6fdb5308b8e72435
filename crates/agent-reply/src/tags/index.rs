//! All tags of a text, and where the body of each ends.
//!
//! Linear: every question is answered from an index that is made in one pass.

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::line::{Decoration, is_blank_or_fence};
use crate::tags::closer::{self, Closer};
use crate::tags::{Kind, Name, TagLine, read};
use crate::work;

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Close {
    /// At the closing tag on this line.
    At(usize),
    /// At a closing tag that is misspelled or not alone on its line.
    Oddly(Closer),
    /// At a closing tag that stands as an example would, with nothing of a body behind it.
    Example(usize),
    /// It does not: the text was cut, and what stands from `first` on stands from `again` on once
    /// more.
    Restarted { first: usize, again: usize },
    /// Its closing tag is missing before the command on this line, which goes on.
    MissingBefore(usize),
    /// It holds closing tags of its own name; the outermost stands on this line.
    Nested(usize),
    /// Another command of its name begins before the closing tag on this line, which may belong to
    /// either.
    Contested(usize),
    /// It does not end.
    Missing,
}

/// All tags of a text, in order.
pub(crate) struct Tags<'a> {
    list: Vec<TagLine<'a>>,
    closers: HashMap<(Name, String), Vec<usize>>,
    /// The closing tags without a mark that may belong to a tag at the beginning of its line.
    plain_closers: HashMap<Name, Vec<usize>>,
    openers: HashMap<Name, Vec<usize>>,
    /// The lines that no other dialect reaches beyond.
    boundaries: Vec<usize>,
    /// True if a command is among them that looks at something or changes it.
    has_work: bool,
    clean: OnceCell<CleanTags>,
    end_of_text: OnceCell<Option<usize>>,
}

/// How much deeper than its opening tag a closing tag may be indented.
const DEEPER: usize = 3;

/// How many tags are looked at to settle a doubtful case: what keeps hostile text from being slow.
const PATIENCE: usize = 256;

/// How many lines are compared to find where a reply goes on after a cut.
const LONGEST_REPEAT: usize = 5000;

impl<'a> Tags<'a> {
    /// Finds the tags.
    pub(crate) fn of(lines: &[&'a str]) -> Self {
        let mut tags = Self {
            list: Vec::new(),
            closers: HashMap::new(),
            plain_closers: HashMap::new(),
            openers: HashMap::new(),
            boundaries: Vec::new(),
            has_work: false,
            clean: OnceCell::new(),
            end_of_text: OnceCell::new(),
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
        self.has_work |= tag.opens().is_some_and(|name| !name.only_tells());
        let bounds = matches!(tag.kind, Kind::Open { .. } | Kind::End(_));
        if bounds && tag.decoration == Decoration::Indented(0) {
            self.boundaries.push(tag.line);
        }
        self.list.push(tag);
    }

    /// The tags on this line and below.
    pub(crate) fn below(&self, line: usize) -> &[TagLine<'a>] {
        &self.list[self.index_from(line)..]
    }

    /// Returns true if one of them begins a command that looks at something or changes it.
    pub(crate) fn has_work(&self) -> bool {
        self.has_work
    }

    /// The first tag, at this line or below, that begins or ends something of ours and is not
    /// indented: no other dialect reaches beyond it.
    pub(crate) fn next_boundary(&self, line: usize) -> Option<usize> {
        let at = self.boundaries.partition_point(|at| *at < line);
        self.boundaries.get(at).copied()
    }

    /// The line of the end mark below which nothing stands, if there is one.
    pub(crate) fn end_of_text(&self, lines: &[&str]) -> Option<usize> {
        *self.end_of_text.get_or_init(|| {
            let last = self.list.last()?;
            ends_text(lines, last).then_some(last.line)
        })
    }

    /// The closing tag of the same name, if it is the very next tag.
    pub(crate) fn closed_next(&self, tag: &TagLine<'_>) -> Option<usize> {
        let next = self.below(tag.line + 1).first()?;
        next.closes(tag.opens()?).then_some(next.line)
    }

    /// The closing tag of this name below a line, if no other command of that name begins before it.
    pub(crate) fn next_close(&self, name: Name, line: usize) -> Option<usize> {
        let closing = *self.closers_after(name, "", line).first()?;
        let opening = self.openers_after(name, line).first();
        let is_first = opening.is_none_or(|opening| *opening > closing);
        is_first.then(|| self.list[closing].line)
    }

    /// Where the closing tag of something unknown stands.
    pub(crate) fn unknown_close(&self, tag: &TagLine<'_>) -> Option<usize> {
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
    pub(crate) fn close(&self, lines: &[&str], tag: &TagLine<'_>, mark: Option<&str>) -> Close {
        let Some(name) = tag.opens() else {
            return Close::Missing;
        };
        if let Some((first, again)) = self.restarted(lines, tag) {
            return Close::Restarted { first, again };
        }
        if let Some(mark) = mark {
            let closer = self.closers_after(name, mark, tag.line).first();
            return closer.map_or_else(
                || self.missing(lines, tag),
                |at| Close::At(self.list[*at].line),
            );
        }
        let all = self.closers_after(name, "", tag.line);
        let closer = if tag.decoration == Decoration::Indented(0) {
            self.after(self.plain_closers.get(&name), tag.line).first()
        } else {
            all.iter().take(PATIENCE).find(|at| {
                let closer = &self.list[**at];
                stands_like(closer.decoration, tag.decoration)
            })
        };
        let closer = closer.map(|at| self.list[*at].line);
        let example = all
            .first()
            .map(|at| self.list[*at].line)
            .filter(|line| closer != Some(*line) && self.is_last_of_body(lines, *line));
        let (line, close) = match (closer, example) {
            (Some(line), _) => (line, Close::At(line)),
            (None, Some(line)) => (line, Close::Example(line)),
            (None, None) => {
                return self
                    .odd_closer(lines, tag)
                    .map_or_else(|| self.missing(lines, tag), Close::Oddly);
            }
        };
        let again = self
            .openers_after(name, tag.line)
            .iter()
            .map(|at| &self.list[*at])
            .take_while(|again| again.line < line)
            .find(|again| stands_like(again.decoration, tag.decoration));
        match again {
            None => close,
            Some(again) => self.nested(lines, tag, again, line, example),
        }
    }

    /// Where the next command was sent before, if all from there up to it stands once more below
    /// it.
    fn restarted(&self, lines: &[&str], tag: &TagLine<'_>) -> Option<(usize, usize)> {
        let at = self.index_from(tag.line);
        let next = self.list.get(at + 1)?;
        let is_open = |tag: &TagLine<'_>| tag.opens().is_some();
        if !is_open(next) || !stands_like(next.decoration, tag.decoration) {
            return None;
        }
        let again = next.line;
        self.list[..=at]
            .iter()
            .rev()
            .take(PATIENCE)
            .filter(|earlier| is_open(earlier) && lines[earlier.line] == lines[again])
            .find(|earlier| repeats(lines, earlier.line, again))
            .map(|earlier| (earlier.line, again))
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
        if let Some(example) = example.filter(|example| *example < again.line) {
            return Close::Example(example);
        }
        let outermost = self.outermost(tag, line);
        if outermost.is_none()
            && let Some(closer) = self.odd_closer(lines, tag)
        {
            return Close::Oddly(closer);
        }
        if self.is_clean(lines, again.line) {
            return Close::MissingBefore(again.line);
        }
        outermost.map_or(Close::Contested(line), Close::Nested)
    }

    /// Returns true if nothing that may belong to a body stands below this line: only fences and
    /// blank lines before the next command, the end mark or the end of the text.
    fn is_last_of_body(&self, lines: &[&str], line: usize) -> bool {
        let mut below = (line + 1..lines.len()).take(PATIENCE);
        let Some(next) = below.find(|at| !is_blank_or_fence(lines[*at])) else {
            return lines.len() - line <= PATIENCE;
        };
        let tag = self.list.get(self.index_from(next));
        tag.is_some_and(|tag| {
            tag.line == next && matches!(tag.kind, Kind::Open { .. } | Kind::End(_))
        })
    }

    /// The only closing tag in another spelling before the next command begins, if nothing of the
    /// body stands behind it.
    fn odd_closer(&self, lines: &[&str], tag: &TagLine<'_>) -> Option<Closer> {
        let name = tag.opens()?;
        let from = tag.line + 1;
        let next = self
            .below(from)
            .iter()
            .find(|next| matches!(next.kind, Kind::Open { .. } | Kind::End(_)));
        let end = next.map_or(lines.len(), |next| next.line);
        let mut all = (from..end).filter_map(|line| closer::read(line, lines[line], name));
        let only = all.next()?;
        (all.next().is_none() && all_blank(&lines[only.line + 1..end])).then_some(only)
    }

    /// The closing tag at which openings and closings of one name balance, if they do.
    fn outermost(&self, tag: &TagLine<'_>, first: usize) -> Option<usize> {
        let name = tag.opens()?;
        let mut openers = self.openers_after(name, tag.line).iter().peekable();
        let mut depth = 1_usize;
        for closer in self.closers_after(name, "", tag.line).iter().take(PATIENCE) {
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
        let from = self.index_from(tag.line + 1);
        self.clean(lines)
            .from(from)
            .take(PATIENCE)
            .map(|at| &self.list[at])
            .find(|next| stands_like(next.decoration, tag.decoration))
            .map_or(Close::Missing, |next| Close::MissingBefore(next.line))
    }

    fn is_clean(&self, lines: &[&str], line: usize) -> bool {
        let at = self.index_from(line);
        self.clean(lines).from(at).next() == Some(at)
    }

    fn clean(&self, lines: &[&str]) -> &CleanTags {
        self.clean.get_or_init(|| CleanTags::of(&self.list, lines))
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

/// Returns true if a tag inside of a body stands so that it may belong to the opening tag.
fn stands_like(inner: Decoration, opening: Decoration) -> bool {
    match (inner, opening) {
        (Decoration::Indented(inner), Decoration::Indented(opening)) => inner <= opening + DEEPER,
        (Decoration::Indented(_) | Decoration::Emphasis, _) => true,
        (Decoration::Other, opening) => opening == Decoration::Other,
    }
}

/// Returns true if the lines from `again` on say the same as those from `first` up to `again`, the
/// last of which may have been cut.
fn repeats(lines: &[&str], first: usize, again: usize) -> bool {
    if again - first > LONGEST_REPEAT {
        return false;
    }
    let before = &lines[first..again];
    let kept = before.iter().rposition(|line| !is_blank_or_fence(line));
    let Some(last) = kept else {
        return false;
    };
    let Some(after) = lines.get(again..=again + last) else {
        return false;
    };
    before[..last] == after[..last] && after[last].starts_with(before[last])
}

/// The opening tags below which only whole commands stand, up to the end mark.
///
/// There a command whose closing tag is missing can be told from a body about this protocol, which
/// would go on as text.
struct CleanTags {
    /// Of each tag: the first such tag, itself included; the number of tags where there is none.
    next: Vec<usize>,
}

impl CleanTags {
    /// Looks at all tags of a text, from the last to the first.
    fn of(list: &[TagLine<'_>], lines: &[&str]) -> Self {
        let mut is_clean = vec![false; list.len()];
        let mut next = vec![list.len(); list.len()];
        let mut below = list.len();
        for at in (0..list.len()).rev() {
            is_clean[at] = match &list[at].kind {
                Kind::End(_) => at + 1 == list.len() && ends_text(lines, &list[at]),
                Kind::Open { .. } => after_whole(list, at).is_some_and(|next| {
                    let from = list[next - 1].line + 1;
                    is_clean.get(next) == Some(&true) && all_blank(&lines[from..list[next].line])
                }),
                _ => false,
            };
            // An end mark alone is no command to go on with.
            if is_clean[at] && matches!(list[at].kind, Kind::Open { .. }) {
                below = at;
            }
            next[at] = below;
        }
        Self { next }
    }

    /// The places in the list of such tags, from this place on.
    fn from(&self, at: usize) -> impl Iterator<Item = usize> {
        let known = |at: usize| self.next.get(at).copied();
        let first = known(at).filter(|at| *at < self.next.len());
        std::iter::successors(first, move |at| {
            work::count(1);
            known(at + 1).filter(|at| *at < self.next.len())
        })
    }
}

/// The place in the list after the command that begins at `at`, if that is whole.
fn after_whole(list: &[TagLine<'_>], at: usize) -> Option<usize> {
    let Kind::Open { name, inline, .. } = &list[at].kind else {
        return None;
    };
    let next = at + 1;
    let closes = list.get(next).is_some_and(|tag| tag.closes(*name));
    match (inline, closes) {
        (None, true) => Some(next + 1),
        (Some(_), _) => Some(next),
        (None, false) => (!name.needs_body()).then_some(next),
    }
}

/// Returns true if this is an end mark with nothing below it.
fn ends_text(lines: &[&str], tag: &TagLine<'_>) -> bool {
    matches!(tag.kind, Kind::End(_)) && all_blank(&lines[tag.line + 1..])
}

/// Returns true if only blank lines and fences stand here.
fn all_blank(lines: &[&str]) -> bool {
    let mut passed = lines.iter().inspect(|_| work::count(1));
    passed.all(|line| is_blank_or_fence(line))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        close("[PLAN]\n    [/PLAN]", Close::Example(1));
        close("[PLAN]\n    [/PLAN]\n```\n[DONE]", Close::Example(1));
        close("[PLAN]\n    [/PLAN]\nx", Close::Missing);
        close("[PLAN]\nx", Close::Missing);
    }

    #[test]
    fn an_odd_closing_tag_counts_where_no_other_can_be_meant() {
        let odd = |line, keeps| Close::Oddly(Closer { line, keeps });
        close("[PLAN]\nx\n</PLAN>\n[DONE]", odd(2, 0));
        close("[PLAN]\nx[/PLAN]\n[PLAN]\ny\n[/PLAN]", odd(1, 1));
        close(
            "[PLAN]\nx\n[END_PLAN]\n[PLAN]\ny\n[/PLAN]\n[END ab12cd34#1]",
            odd(2, 0),
        );
        close("[PLAN]\nx\n</PLAN>\n[DONE]\n[/PLAN]", Close::At(4));
        close(
            "[PLAN]\nx[/PLAN]\n[PLAN]\ny\n[/PLAN]\n[/PLAN]",
            Close::Nested(5),
        );
        close("[PLAN]\n</PLAN>\n[END_PLAN]", Close::Missing);
        close("[PLAN]\n[DONE]\n</PLAN>", Close::Missing);
        close("[PLAN]\nx\n</PLAN>\ny", Close::Missing);
        close("[PLAN]\nx[/PLAN]\n```\ny", Close::Missing);
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
        close("[PLAN]\nx\n[PLAN]\ny\n[/PLAN]", Close::Contested(4));
        close(
            &format!("[PLAN]\nx\n[PLAN]\ny\n[/PLAN]\nand so on\n{end}"),
            Close::Contested(4),
        );
    }

    #[test]
    fn a_cut_reply_goes_on_where_it_is_sent_again() {
        let text = "[GIT_STATUS]\n[PLAN]\nx\n[/PLAN]\n[MESSAGE]\nHel\n\n[PLAN]\nx\n[/PLAN]\n[MESSAGE]\nHello\n[/MESSAGE]";
        let lines: Vec<&str> = text.split('\n').collect();
        let tags = Tags::of(&lines);
        let message = &tags.below(4)[0];
        let expected = Close::Restarted { first: 1, again: 7 };
        assert_eq!(tags.close(&lines, message, None), expected);
    }

    #[test]
    fn a_command_that_begins_again_counts_once() {
        close(
            "[PLAN]\none\ntw\n```\n[PLAN]\none\ntwo\n[/PLAN]",
            Close::Restarted { first: 0, again: 4 },
        );
    }
}
