//! Private keys between `-----BEGIN ... PRIVATE KEY-----` and `-----END`.
//!
//! Those two lines stay, since they say what it is. The lines between them are redacted one by one,
//! so that their number stays the same. Lines may be indented, numbered, quoted or marked by a
//! diff: only the run of base64 in each counts. A key may also be on one line, as a string with
//! `\n` in it. A key whose beginning or end is missing is found too.

use std::iter;
use std::ops::Range;

use regex::Match;

use super::rules::pattern;
use super::shape::distinct;
use super::{SecretFinding, shifted};

/// The kind of these secrets.
pub(super) const KIND: &str = "private-key";
/// The maximum number of lines of a block; the longest keys in use have about a hundred.
const MAX_LINES: usize = 500;
/// The maximum length of a line that is examined, in bytes; the longest keys fit into it on one
/// line.
const MAX_LINE: usize = 20_000;
/// Shorter runs are words, unless they precede the end line.
const SHORTEST_RUN: usize = 40;
/// Shorter runs next to a marker do not indicate a partial key.
const SHORTEST_PIECE: usize = 16;

/// A begin or end line of a key or of another PEM block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyMarker {
    pub(super) start: usize,
    pub(super) is_begin: bool,
}

/// Finds the keys at these markers, in order.
///
/// Each byte between two markers is examined only a few times, however many markers there are.
pub(super) fn scan(text: &str, marks: &[KeyMarker]) -> Vec<SecretFinding> {
    let mut found = Vec::new();
    for (index, mark) in marks.iter().enumerate() {
        found.extend(if mark.is_begin {
            beginning_at(text, mark.start, marks.get(index + 1))
        } else {
            let before = index.checked_sub(1).map(|before| &marks[before]);
            ending_at(text, mark.start, before)
        });
    }
    found
}

/// The key whose begin line is at this position; it ends at the next marker at the latest.
fn beginning_at(text: &str, start: usize, next: Option<&KeyMarker>) -> Option<SecretFinding> {
    let body = start + label_length(&text[start..])?;
    // Text before the next marker on its line is not part of the key.
    let text = &text[..next.map_or(text.len(), |next| next.start.max(body))];
    let is_ended = next.is_some_and(|next| !next.is_begin);
    let reaches_mark = |line: &Range<usize>| next.is_some() && line.end == text.len();
    let header = line_at(text, start);
    if reaches_mark(&header) && is_ended {
        return finding(at_most(words_after(text, body..header.end)));
    }
    let pieces = words_after(text, body..header.end.max(body));
    if let Some(cut) = cut_key(text, pieces) {
        return Some(cut);
    }
    let mut parts = Vec::new();
    let lines = lines_behind(text, header.end).take(MAX_LINES);
    let mut lines = lines.take_while(|line| !reaches_mark(line)).peekable();
    while let Some(line) = lines.next() {
        // The last line is short, and the next one has the marker.
        let is_last = is_ended && lines.peek().is_none();
        match run(text, line.clone(), is_last) {
            Some(part) => parts.push(part),
            None if may_stand_between(&text[line]) => {}
            None => break,
        }
    }
    finding(parts)
}

/// The key that ends with the line at this position, if its begin line is missing; it starts at the
/// marker before it at the earliest.
fn ending_at(text: &str, start: usize, before: Option<&KeyMarker>) -> Option<SecretFinding> {
    label_length(&text[start..])?;
    let floor = before.map_or(0, |before| (before.start + "-----".len()).min(start));
    let reaches_mark = |line: &Range<usize>| before.is_some() && line.start == floor;
    let own = line_before(text, floor, start);
    let is_begun = before.is_some_and(|before| before.is_begin);
    if is_begun && reaches_mark(&own) {
        // That key is found from its begin line.
        return None;
    }
    let pieces = words_before(text, own.clone());
    if let Some(cut) = cut_key(text, pieces) {
        return Some(cut);
    }
    let above = |below: &Range<usize>| line_above(text, floor, below.start);
    let mut parts = Vec::new();
    for line in iter::successors(above(&own), above).take(MAX_LINES) {
        if reaches_mark(&line) && is_begun {
            return None;
        }
        let part = run(text, line.clone(), parts.is_empty()).filter(|_| !reaches_mark(&line));
        let Some(part) = part else { break };
        parts.push(part);
    }
    parts.reverse();
    finding(parts)
}

/// The length of a begin or end line of a private key.
fn label_length(line: &str) -> Option<usize> {
    let label =
        pattern!(r"\A-----(?:BEGIN|END) (?:[^\n-]{0,29}PRIVATE KEY|PGP PRIVATE KEY BLOCK)-----");
    Some(label.find(line)?.end())
}

fn finding(parts: Vec<Range<usize>>) -> Option<SecretFinding> {
    let is_key = parts.iter().any(|part| part.len() >= SHORTEST_RUN);
    is_key.then(|| SecretFinding::new(KIND, parts))
}

/// The rest of a key on its begin or end line.
fn cut_key(text: &str, pieces: Vec<Range<usize>>) -> Option<SecretFinding> {
    let is_key =
        |part: &Range<usize>| part.len() >= SHORTEST_PIECE && distinct(&text[part.clone()]) >= 8;
    let is_cut_key = pieces.iter().any(is_key);
    is_cut_key.then(|| SecretFinding::new(KIND, at_most(pieces)))
}

/// Joins the parts into one if they are too many for the lines of a key.
fn at_most(parts: Vec<Range<usize>>) -> Vec<Range<usize>> {
    match parts.as_slice() {
        [first, .., last] if parts.len() > MAX_LINES => {
            let all = first.start..last.end;
            vec![all]
        }
        _ => parts,
    }
}

/// Splits a line into runs of base64, escaped line breaks, spaces, and other characters.
fn parts(text: &str) -> impl Iterator<Item = Match<'_>> {
    pattern!(r"(?s)[A-Za-z0-9+/=]+|(?:\\+[nr])+| +|.").find_iter(text)
}

/// The runs of base64 from the start of a range, separated by escaped line breaks or spaces, up to
/// anything else.
fn words_after(text: &str, place: Range<usize>) -> Vec<Range<usize>> {
    words(parts(&text[place.clone()]), place.start, false)
}

/// The runs of base64 up to the end of a range, separated as in `words_after`.
fn words_before(text: &str, place: Range<usize>) -> Vec<Range<usize>> {
    let parts: Vec<Match<'_>> = parts(&text[place.clone()]).collect();
    let mut words = words(parts.into_iter().rev(), place.start, true);
    words.reverse();
    words
}

fn words<'t>(
    parts: impl Iterator<Item = Match<'t>>,
    offset: usize,
    mut is_escaped: bool,
) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut is_parted = false;
    for part in parts {
        match part.as_str().as_bytes()[0] {
            b' ' => is_parted = true,
            b'\\' if part.len() > 1 => is_escaped = true,
            first if first.is_ascii_alphanumeric() || b"+/=".contains(&first) => {
                // The words of prose are separated by spaces as well.
                if is_parted && !is_escaped && part.len() < SHORTEST_PIECE {
                    break;
                }
                words.push(shifted(part.range(), offset));
                (is_parted, is_escaped) = (false, false);
            }
            _ => break,
        }
    }
    words
}

/// The line from this position to its end, without the line break.
pub(super) fn line_at(text: &str, start: usize) -> Range<usize> {
    let reach = text.floor_char_boundary(start.saturating_add(MAX_LINE));
    let end = text[start..reach].find('\n').map_or(reach, |at| start + at);
    start..end
}

/// The line up to this position, from `floor` on.
fn line_before(text: &str, floor: usize, end: usize) -> Range<usize> {
    let reach = text
        .ceil_char_boundary(end.saturating_sub(MAX_LINE).max(floor))
        .min(end);
    let start = text[reach..end]
        .rfind('\n')
        .map_or(reach, |at| reach + at + 1);
    start..end
}

/// The lines after the one that ends at this position.
pub(super) fn lines_behind(text: &str, end: usize) -> impl Iterator<Item = Range<usize>> {
    let behind = |end: usize| {
        let is_end = text.as_bytes().get(end) == Some(&b'\n');
        (is_end && end + 1 < text.len()).then(|| line_at(text, end + 1))
    };
    iter::successors(behind(end), move |line| behind(line.end))
}

/// The line above the one that begins at this position, if there is one.
fn line_above(text: &str, floor: usize, start: usize) -> Option<Range<usize>> {
    let end = text[floor..start].strip_suffix('\n')?.len();
    Some(line_before(text, floor, floor + end))
}

/// Returns true if a line may be between the lines of a key: an empty one, or a header such as
/// `Proc-Type: 4`.
fn may_stand_between(line: &str) -> bool {
    pattern!(r#"\A[\s+"-]*[\d:]*[\s+"-]*\z|Proc-Type:|DEK-Info:|Version:|Comment:"#).is_match(line)
}

/// The longest run of base64 in a line, if it is long enough for a line of a key.
pub(super) fn run(text: &str, line: Range<usize>, is_last: bool) -> Option<Range<usize>> {
    // The marker of a diff is not part of the key, although `+` is a base64 digit.
    let start = line.start + usize::from(text[line.clone()].starts_with('+'));
    let runs = pattern!("[A-Za-z0-9+/=]+").find_iter(&text[start..line.end]);
    let longest = runs.max_by_key(regex::Match::len)?;
    let shortest = if is_last { 2 } else { SHORTEST_RUN };
    (longest.len() >= shortest).then(|| shifted(longest.range(), start))
}
