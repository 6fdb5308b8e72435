//! One hunk: where it ends and what it says.

use agent_protocol::{Hunk, HunkLine};

use super::super::code_fence::{self, Fence};
use super::{BlockTrouble, follows, name, unified_hint};
use crate::trim::{is_blank, trim_end};

/// A block as it was read.
pub(super) struct ReadHunk {
    pub(super) hunk: Result<Hunk, BlockTrouble>,
    /// The line after it.
    pub(super) end: usize,
    /// True if it has at least the lines that its header promises.
    pub(super) is_complete: bool,
}

/// Reads the hunk whose header is the line `at`.
pub(super) fn read(
    lines: &[&str],
    at: usize,
    fence: Option<&Fence<'_>>,
    is_enclosed: bool,
) -> ReadHunk {
    let range = range(lines[at]);
    let start = at + 1;
    let walk = HunkWalk {
        lines,
        fence,
        is_enclosed,
        begins_file: is_header,
    };
    let by_counts = match &range {
        Ok(Some(range)) => end_by_counts(lines, start, range).filter(|end| !walk.goes_on(*end)),
        _ => None,
    };
    let end = by_counts
        .unwrap_or_else(|| walk.end_by_marks(start, range.as_ref().ok().and_then(Option::as_ref)));
    let hunk = range.as_ref().map_err(Clone::clone).and_then(|range| {
        let mut hunk = content(&lines[start..end]);
        hunk.old_start = range.as_ref().map(|range| range.old_start);
        match range {
            Some(range) => hunk.note_old_count(range.old_count),
            None => hunk.anchors = anchor(lines[at]),
        }
        if hunk.lines.is_empty() {
            return Err(BlockTrouble::new(
                "the patch has a hunk without lines",
                unified_hint(),
            ));
        }
        check_marks(&lines[start..end], &hunk, range.as_ref())?;
        Ok(hunk)
    });
    let is_complete = match (&range, &hunk) {
        (Ok(Some(range)), Ok(hunk)) => has_promised(range, hunk),
        // Without numbers nothing says that it ends here.
        (Ok(None), _) => false,
        _ => true,
    };
    ReadHunk {
        hunk,
        end,
        is_complete,
    }
}

/// Refuses a hunk whose `-` a page turned into another sign, or that lost its change.
fn check_marks(lines: &[&str], hunk: &Hunk, range: Option<&Range>) -> Result<(), BlockTrouble> {
    let (old, new) = sizes(hunk);
    let counts = |range: &Range| (range.old_count as usize, range.new_count as usize);
    let fits = range.is_some_and(|range| counts(range) == (old, new));
    if let Some(line) = lines.iter().find(|line| has_turned_mark(line))
        && !fits
    {
        return Err(turned_mark(line));
    }
    let is_change = |line: &HunkLine| !matches!(line, HunkLine::Keep(_));
    let promises = range.is_some_and(|range| range.old_count != range.new_count);
    if promises && !hunk.lines.iter().any(is_change) {
        return Err(BlockTrouble::new(
            "a hunk changes nothing, although its `@@` line counts more or fewer new lines than old ones",
            unified_hint(),
        ));
    }
    Ok(())
}

/// Returns true if a line begins with a sign that pages put in the place of `-`.
pub(crate) fn has_turned_mark(line: &str) -> bool {
    line.starts_with(['\u{2022}', '\u{2212}', '\u{2013}', '\u{2014}'])
}

/// Message and hint for such a line.
pub(crate) fn turned_mark(line: &str) -> BlockTrouble {
    let shown: String = line.chars().take(60).collect();
    BlockTrouble::new(
        format!("a page may have turned the `-` of this line into another sign: `{shown}`"),
        "send the patch again in a code block, with `-` before each line that goes",
    )
}

/// Returns true if these lines are a header and as many lines as it counts.
pub(super) fn is_as_counted(lines: &[&str]) -> bool {
    let range = lines.first().and_then(|header| range(header).ok()?);
    range.is_some_and(|range| end_by_counts(lines, 1, &range) == Some(lines.len()))
}

/// Reads changed lines that stand directly under the names of a file, where `@@` is missing.
///
/// Only for a diff that is enclosed: elsewhere the lines might be prose.
pub(super) fn read_without_header(
    lines: &[&str],
    start: usize,
    fence: Option<&Fence<'_>>,
) -> Option<ReadHunk> {
    let walk = HunkWalk {
        lines,
        fence,
        is_enclosed: true,
        begins_file: are_names,
    };
    let end = walk.end_by_marks(start, None);
    let mut end = (start..end).find(|at| are_names(lines, *at)).unwrap_or(end);
    while end > start && lines[end - 1].is_empty() {
        end -= 1;
    }
    let hunk = content(&lines[start..end]);
    let is_change = |line: &HunkLine| !matches!(line, HunkLine::Keep(_));
    hunk.lines.iter().any(is_change).then_some(ReadHunk {
        hunk: Ok(hunk),
        end,
        is_complete: true,
    })
}

/// The numbers of a hunk's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    old_start: u32,
    old_count: u32,
    new_count: u32,
}

/// Reads `@@ -1,3 +1,4 @@`; `None` where there are no numbers.
fn range(header: &str) -> Result<Option<Range>, BlockTrouble> {
    let text = header.trim_start_matches('@').trim_start();
    let Some(old) = text
        .strip_prefix('-')
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    else {
        return Ok(None);
    };
    let wrong = || {
        let shown: String = header.chars().take(80).collect();
        BlockTrouble::new(
            format!("the patch has a hunk header with wrong numbers: `{shown}`"),
            unified_hint(),
        )
    };
    let (old, rest) = old.split_once(' ').ok_or_else(wrong)?;
    let new = rest.trim_start().strip_prefix('+').ok_or_else(wrong)?;
    let new = new.split([' ', '@']).next().unwrap_or_default();
    let (old_start, old_count) = start_and_count(old).ok_or_else(wrong)?;
    let (_, new_count) = start_and_count(new).ok_or_else(wrong)?;
    Ok(Some(Range {
        old_start,
        old_count,
        new_count,
    }))
}

fn start_and_count(text: &str) -> Option<(u32, u32)> {
    match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

/// The words of a header without numbers: a line that stands above the place.
fn anchor(header: &str) -> Vec<String> {
    let text = header.trim_matches('@').trim();
    let words = Some(text).filter(|text| text.contains(char::is_alphanumeric));
    words.into_iter().map(str::to_owned).collect()
}

/// Where the hunk ends if its counts fit the marks of its lines.
fn end_by_counts(lines: &[&str], start: usize, range: &Range) -> Option<usize> {
    let (mut old, mut new) = (range.old_count, range.new_count);
    let mut at = start;
    while old > 0 || new > 0 {
        match lines.get(at)?.as_bytes().first() {
            None | Some(b' ') => {
                old = old.checked_sub(1)?;
                new = new.checked_sub(1)?;
            }
            Some(b'-') => old = old.checked_sub(1)?,
            Some(b'+') => new = new.checked_sub(1)?,
            Some(b'\\') => {}
            Some(_) => return None,
        }
        at += 1;
    }
    while follows(lines, at, "\\") {
        at += 1;
    }
    (!swallowed_header(lines, start, at)).then_some(at)
}

/// Returns true if the counts reach over the header of the next file, which then ends what is read.
fn swallowed_header(lines: &[&str], start: usize, end: usize) -> bool {
    end >= start + 3 && is_header(lines, end - 2) && {
        let old = name::read(&lines[end - 2][4..]).text;
        let new = name::read(&lines[end - 1][4..]).text;
        name::without_first(&old).is_some()
            && name::without_first(&old) == name::without_first(&new)
    }
}

/// Returns true if the header of another file stands here.
fn is_header(lines: &[&str], at: usize) -> bool {
    are_names(lines, at) && follows(lines, at + 2, "@@")
}

fn are_names(lines: &[&str], at: usize) -> bool {
    follows(lines, at, "--- ") && follows(lines, at + 1, "+++ ")
}

/// Returns true if the end of a mail stands here: `-- ` over a version, `2.47.3` or `cgit v1.2.3`.
fn is_signature(lines: &[&str], at: usize) -> bool {
    let is_version = |word: &str| {
        let number = word.strip_prefix('v').unwrap_or(word);
        number.contains('.') && number.starts_with(|c: char| c.is_ascii_digit())
    };
    let is_end = |next: &&str| {
        let has_mark = next.starts_with([' ', '+', '-', '\\']);
        next.is_empty() || !has_mark && next.split(' ').take(2).any(is_version)
    };
    trim_end(lines[at]) == "--" && lines.get(at + 1).is_none_or(is_end)
}

/// Goes by the marks of the lines where there are no counts or wrong ones.
struct HunkWalk<'a> {
    lines: &'a [&'a str],
    fence: Option<&'a Fence<'a>>,
    is_enclosed: bool,
    /// True if the next file begins on a line.
    begins_file: fn(&[&str], usize) -> bool,
}

impl HunkWalk<'_> {
    fn end_by_marks(&self, start: usize, range: Option<&Range>) -> usize {
        let mut counts =
            range.map(|range| (i64::from(range.old_count), i64::from(range.new_count)));
        let mut end = start;
        for (index, line) in self.lines.iter().enumerate().skip(start) {
            if self.is_end(index, line) {
                break;
            }
            match line.as_bytes().first() {
                // Blank lines count once something of the hunk follows them.
                None => {
                    let is_short = counts.is_none_or(|(old, new)| old > 0 || new > 0);
                    if !self.is_enclosed && !is_short && !self.goes_on(index) {
                        break;
                    }
                    continue;
                }
                Some(b'+') => count(&mut counts, 0, 1),
                Some(b'-') => count(&mut counts, 1, 0),
                Some(b' ') => count(&mut counts, 1, 1),
                Some(b'\\') => {}
                // The space of a context line is lost.
                Some(_) if self.is_enclosed || self.has_lost_minus(index) => {
                    count(&mut counts, 1, 1);
                }
                Some(_) => break,
            }
            end = index + 1;
        }
        end
    }

    /// Returns true if lines that a full hunk does not count still belong to it: a marked line
    /// directly below it, or a change further below. Outside of a code block a change must be
    /// more than a list of words.
    fn goes_on(&self, end: usize) -> bool {
        let is_marked = |line: &str| line.starts_with(['+', '-', ' ']) && !is_blank(line);
        let mut below = (self.lines.iter().enumerate().skip(end))
            .take_while(|(index, line)| !self.is_end(*index, line))
            .map(|(_, line)| *line)
            .peekable();
        if below.peek().is_some_and(|line| is_marked(line)) || self.has_lost_minus(end) {
            return true;
        }
        if self.is_enclosed {
            return below.any(|line| line.starts_with(['+', '-']) || has_turned_mark(line));
        }
        // A list has a blank behind its marks.
        let mut has_marks = [false; 2];
        for line in below.skip_while(|line| is_blank(line)) {
            if !is_marked(line) {
                break;
            }
            has_marks[0] |= line.starts_with('+');
            has_marks[1] |= line.starts_with('-');
            if line.starts_with('+') && !line.starts_with("+ ") {
                return true;
            }
        }
        has_marks == [true; 2]
    }

    /// Returns true if a page turned the `-` of this line into another sign.
    fn has_lost_minus(&self, at: usize) -> bool {
        let is_added = |line: &&str| line.starts_with('+');
        self.lines.get(at).is_some_and(|line| has_turned_mark(line))
            && self.lines.get(at + 1).is_some_and(is_added)
    }

    fn is_end(&self, index: usize, line: &str) -> bool {
        line.starts_with("@@")
            || line.starts_with("diff --git ")
            || super::is_mail(line)
            || (line.starts_with("Index: ") && follows(self.lines, index + 1, "====="))
            || self.fence.is_some_and(|fence| fence.is_closed_by(line))
            || (line.starts_with('[') && code_fence::is_tag(line))
            || (self.begins_file)(self.lines, index)
            || is_signature(self.lines, index)
    }
}

fn count(counts: &mut Option<(i64, i64)>, old: i64, new: i64) {
    if let Some(counts) = counts {
        counts.0 -= old;
        counts.1 -= new;
    }
}

fn content(lines: &[&str]) -> Hunk {
    let mut hunk = Hunk::default();
    for line in lines {
        let read = match line.as_bytes().first() {
            Some(b'\\') => {
                let last = hunk.lines.last();
                hunk.old_without_newline |= !matches!(last, Some(HunkLine::Add(_)));
                hunk.new_without_newline |= !matches!(last, Some(HunkLine::Remove(_)));
                continue;
            }
            Some(b'+') => HunkLine::Add(line[1..].to_owned()),
            Some(b'-') => HunkLine::Remove(line[1..].to_owned()),
            Some(b' ') => HunkLine::Keep(line[1..].to_owned()),
            _ => HunkLine::Keep((*line).to_owned()),
        };
        hunk.lines.push(read);
    }
    hunk
}

fn has_promised(range: &Range, hunk: &Hunk) -> bool {
    let (old, new) = sizes(hunk);
    old >= range.old_count as usize && new >= range.new_count as usize
}

/// How many old and new lines a hunk has.
fn sizes(hunk: &Hunk) -> (usize, usize) {
    let old = hunk.lines.iter().filter(|line| line.before().is_some());
    let new = hunk.lines.iter().filter(|line| line.after().is_some());
    (old.count(), new.count())
}
