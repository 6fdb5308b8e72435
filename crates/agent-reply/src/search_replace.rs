//! SEARCH/REPLACE blocks, as aider, Cline and Roo taught them to models.
//!
//! ```text
//! block   = head [":start_line:" number] [":end_line:" number] ["-------"]
//!           line* divider line* tail
//! head    = 3..40 "<" or "-", "SEARCH" or "ORIGINAL", [">"] [path]
//! divider = 3..9 "=", or as many as the head has
//! tail    = 3..40 ">" or "+", "REPLACE" or "UPDATED", [">"]
//! ```
//!
//! The file is named by the head, by a line above it (a fence may stand between), by the fence
//! line, or else it is the one of the block before, unless words above it name another. A line of the contents that would be a marker
//! is written with a backslash before it. Where it is not certain which line is the divider, the
//! block is a problem: nothing here guesses. A line of `=` that is as long as the line above it may
//! underline a heading, and is the divider only if it is the only one.

use std::ops::{Range, RangeInclusive};

use agent_protocol::{Command, Edit, RelPath, Replacement};

use crate::candidate::{BlockCandidate, BlockCertainty, BlockTrouble, CandidateItem};
use crate::code_fence::{self, Fence};
use crate::line::{begins_with, ends_with_colon, has_word};
use crate::repair::{self, Divider, numbered, without_line_numbers};
use crate::tags::copy_button;
use crate::trim::{is_blank, lead, text_of, trim, trim_start};
use crate::{file_label, file_name, known_name, workspace_root};

/// How many lines above a block are looked at for the name of its file.
const LINES_ABOVE: usize = 6;

/// The block whose head is the line `at`; `inherited` is the file of the block before.
pub(super) fn find(
    lines: &[&str],
    at: usize,
    inherited: Option<&RelPath>,
) -> Option<BlockCandidate> {
    let head = head(lines[at])?;
    let mut above = look_above(lines, at);
    if head.name.is_none() && above.name.is_none() {
        above.look_further(lines);
    }
    let block = EditBlock::read(lines, at, &head);
    let end = match block.ending {
        EditBlockEnd::Tail => block.end,
        EditBlockEnd::NextHead => above_next(lines, at, block.end),
        EditBlockEnd::EndOfText => above
            .fence
            .and_then(|fence| first(lines, at + 1, |line| fence.is_closed_by(line)))
            .or_else(|| first(lines, at + 1, code_fence::is_tag))
            .unwrap_or(block.end),
    };
    let open = block.ending == EditBlockEnd::EndOfText && end == lines.len();
    let name = head.name.or(above.name);
    let item = match (block.replacement, name, inherited) {
        (Err(trouble), ..) => problem(trouble),
        (Ok(_), Some(name), _) if above.is_unclear => problem(no_clear_file(name)),
        (Ok(_), Some(name), Some(path)) if above.only_compares && is_other(path, name) => {
            problem(no_certain_file(path, name))
        }
        (Ok(replacement), Some(name), _)
            if replacement.search.is_empty()
                && (!file_name::is_unmistakable(name) || name.contains(' ')) =>
        {
            problem(no_certain_name(name))
        }
        (Ok(replacement), Some(name), _) => edit_of(name, replacement),
        (Ok(replacement), None, Some(path)) => match above.other_than(path) {
            Some(name) => problem(no_certain_file(path, name)),
            None => edit(path.clone(), replacement),
        },
        (Ok(_), None, None) => problem(no_file_name()),
    };
    let end = match lines.get(end) {
        Some(line) if closes(above.fence, line) => end + 1,
        _ => end,
    };
    Some(BlockCandidate {
        span: above.start..end,
        items: vec![item],
        certainty: BlockCertainty::open_if(open),
    })
}

/// Returns true if the line opens a block.
pub(super) fn is_head(line: &str) -> bool {
    head(line).is_some()
}

/// Returns true if the line begins a conflict as git writes it, which is no block.
pub(super) fn is_conflict(line: &str) -> bool {
    is_conflict_marker(line) && line.starts_with('<') && !is_head(line)
}

/// Returns true if the line divides the two parts of a block.
pub(super) fn is_divider(line: &str) -> bool {
    divider(line, 0).is_some()
}

/// The blocks in the body of a command that names the file itself; `None` without any.
pub(super) fn parse_body(body: &str) -> Option<Result<Vec<Replacement>, BlockTrouble>> {
    let lines: Vec<&str> = body.lines().collect();
    let mut replacements = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some(head) = head(lines[at]) else {
            at += 1;
            continue;
        };
        let block = EditBlock::read(&lines, at, &head);
        match block.replacement {
            Ok(replacement) => replacements.push(replacement),
            Err(trouble) => return Some(Err(trouble)),
        }
        at = block.end;
    }
    (!replacements.is_empty()).then_some(Ok(replacements))
}

/// Lines above the head of a block.
#[derive(Default)]
struct Above<'a> {
    name: Option<&'a str>,
    fence: Option<Fence<'a>>,
    /// True if the words with the name may be about another file: `like in b.py:`.
    only_compares: bool,
    /// True if words between a label and the block are about another file, or say that this one stays.
    is_unclear: bool,
    /// The files that the words there name without being a label.
    mentioned: Vec<&'a str>,
    /// The first line that belongs to the block.
    start: usize,
}

impl<'a> Above<'a> {
    /// Looks for a heading or another label above the words over a block, up to the block before or a
    /// heading of something else.
    fn look_further(&mut self, lines: &[&'a str]) {
        const MOST_LINES: usize = 40;
        /// More words than these are about something of their own.
        const MOST_WORDS: usize = 8;
        /// The lines of words nearest to the block that may name another file.
        const NEAR: usize = 2;
        const STAYS: [&str; 5] = ["no change", "not change", "stays", "unchanged", "was fine"];
        let mut open: Option<Fence<'_>> = None;
        let (mut words, mut stays) = (0, false);
        let region = self.start.saturating_sub(MOST_LINES)..self.start;
        for line in lines[region].iter().rev() {
            let text = trim(line);
            if is_tail(line) || is_divider(line) || code_fence::is_tag(line) || words > MOST_WORDS {
                return;
            }
            match (Fence::read(line), open) {
                (Some(fence), Some(close)) if close.closes(&fence) => open = None,
                (Some(fence), None) => open = Some(fence),
                (None, None) if !text.is_empty() => {
                    // One of several items is no label, nor is a quotation.
                    let is_item = text.starts_with(['-', '*', '+', '>']) && !text.starts_with("**");
                    let is_name =
                        |name: &&str| file_name::is_file(name) || known_name::is_known(name);
                    let label = file_name::alone(line).filter(is_name);
                    let label = label.or_else(|| file_name::in_sentence(line));
                    let label = label.or_else(|| next_file(line));
                    if let Some(name) = label.filter(|_| !is_item || ends_with_colon(text)) {
                        let others = self.mentioned.iter().any(|other| *other != name);
                        (self.is_unclear, self.name) = (stays || others, Some(name));
                        return;
                    }
                    if text.starts_with('#') || (text.starts_with("**") && text.ends_with("**")) {
                        return;
                    }
                    words += 1;
                    stays |= STAYS.iter().any(|it| text.contains(it));
                    if words <= NEAR {
                        self.mentioned.extend(mentioned(line));
                    }
                }
                _ => {}
            }
        }
    }

    /// Takes the file with which a label on a line begins that goes on to explain the block, if it is no
    /// item of a list of several and no other label above it names another file.
    fn explained_by(&mut self, lines: &[&'a str], line: usize) {
        let Some(name) = file_label::explained(lines[line]) else {
            return;
        };
        let above = lines[..line].iter().rev().find(|line| !is_blank(line));
        if above.is_some_and(|above| file_label::is_other_item(above, name)) {
            return;
        }
        let mut further = Above {
            start: line,
            ..Above::default()
        };
        further.look_further(lines);
        self.is_unclear = further.name.is_some_and(|other| other != name);
        (self.name, self.start) = (Some(name), line);
    }

    /// A file that the words name beside this one, or in its place.
    fn other_than(&self, path: &RelPath) -> Option<&'a str> {
        self.mentioned
            .iter()
            .copied()
            .find(|name| is_other(path, name))
    }
}

/// Returns true if a name is not the one of this file.
fn is_other(path: &RelPath, name: &str) -> bool {
    let name = name.trim_start_matches("./");
    path.as_str() != name && !path.as_str().ends_with(&format!("/{name}"))
}

fn look_above<'a>(lines: &[&'a str], at: usize) -> Above<'a> {
    let mut above = Above {
        start: at,
        ..Above::default()
    };
    let (mut first, mut has_button) = (at, false);
    for index in (at.saturating_sub(LINES_ABOVE)..at).rev() {
        let line = lines[index];
        if is_blank(line) {
            continue;
        }
        let is_button = copy_button::is_button(trim(line));
        if index + 1 == first && (is_button || (has_button && copy_button::is_language(trim(line))))
        {
            (first, has_button) = (index, true);
            above.start = index;
            continue;
        }
        if let Some(fence) = Fence::read(line) {
            if index + 1 == first {
                above.fence = Some(fence);
                above.start = index;
            }
            above.name = file_name::in_info(fence.info);
        } else if !is_source_tag(line) {
            above.name = named_by(line, above.start == index + 1);
            if above.name.is_some() {
                let fence = fence_above(lines, index);
                above.start = index - usize::from(fence.is_some());
                above.fence = above.fence.or(fence);
                above.only_compares = compares(line);
            } else {
                above.explained_by(lines, index);
            }
            break;
        }
        if above.name.is_some() {
            break;
        }
    }
    above
}

/// A name on the line directly above, but for a fence, needs no slash and no extension.
fn named_by(line: &str, directly: bool) -> Option<&str> {
    let alone = file_name::alone(line).or_else(|| file_name::in_sentence(line));
    let alone = alone.or_else(|| next_file(line));
    let alone = alone.or_else(|| path_with_blanks(line).filter(|_| directly));
    let alone = alone.or_else(|| file_name::word(line).filter(|name| known_name::is_known(name)));
    alone.or_else(|| {
        file_name::word(line)
            .filter(|_| directly)
            .filter(|word| !copy_button::is_language(word))
    })
}

/// A path with blanks in the names of its directories: `docs/Some Product/README.md`.
fn path_with_blanks(line: &str) -> Option<&str> {
    const WORDS: &str = "and for from in of or the to with";
    let path = trim(line);
    let (directories, name) = path.rsplit_once('/')?;
    let is_name = |c: char| c.is_alphanumeric() || "-_/ ".contains(c);
    let is_path = directories.starts_with(char::is_alphanumeric)
        && directories.chars().all(is_name)
        && !directories.split('/').next()?.contains(' ')
        && !directories
            .split([' ', '/'])
            .any(|word| has_word(WORDS, word));
    (is_path && file_name::is_file(name)).then_some(path)
}

/// Returns true if a sentence may name a file only beside the one that it is about: `Like in b.py, set
/// x:`.
fn compares(line: &str) -> bool {
    const BEFORE: [&str; 9] = [
        "unlike",
        "like",
        "like in",
        "as in",
        "read by",
        "used by",
        "called by",
        "which",
        "match",
    ];
    let before = line.split('`').next().unwrap_or_default().to_lowercase();
    let is_end = |words: &&str| {
        let rest = before.trim_end().strip_suffix(*words);
        rest.is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
    };
    BEFORE.iter().any(is_end)
}

/// The only file of a few words that lead on to it: ``and `a.py` ``, `Also in a.py:`.
fn next_file(line: &str) -> Option<&str> {
    const LEADS: &str = "add again also and as change edit file finally first for here in is last lastly \
        next now of same second similarly modify the then third to too update well";
    let [name] = mentioned(line)[..] else {
        return None;
    };
    let words = file_name::words_beside(line, name);
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let leads = |word: &String| has_word(LEADS, word) || is_number(word);
    words.iter().all(leads).then_some(name)
}

/// The files that a line of words names.
fn mentioned(line: &str) -> Vec<&str> {
    let mut names = file_name::in_words(line);
    let spans = line.split('`').skip(1).step_by(2);
    names.extend(spans.filter(|span| known_name::is_known(span) && span.contains(['.', '/'])));
    names.dedup();
    names
}

/// The fence over a name that stands inside the code block.
fn fence_above<'a>(lines: &[&'a str], name: usize) -> Option<Fence<'a>> {
    Fence::read(lines.get(name.checked_sub(1)?)?).filter(|fence| !fence.info.is_empty())
}

/// Other fences that aider asks for: `<source>`, `<code>`, `<pre>`.
fn is_source_tag(line: &str) -> bool {
    begins_with(trim(line), "<source|<code|<pre|</source|</code|</pre")
}

/// Where an unfinished block ends: before what names the file of the next one.
fn above_next(lines: &[&str], at: usize, next: usize) -> usize {
    let start = at + 1 + look_above(&lines[at + 1..], next - at - 1).start;
    start.min(next)
}

fn first(lines: &[&str], from: usize, is_end: impl Fn(&str) -> bool) -> Option<usize> {
    let found = lines.iter().skip(from).position(|line| is_end(line))?;
    Some(from + found)
}

fn closes(fence: Option<Fence<'_>>, line: &str) -> bool {
    match fence {
        Some(fence) => fence.is_closed_by(line),
        None => code_fence::is_bare(line) || trim_start(line).starts_with("</source>"),
    }
}

fn edit_of(name: &str, replacement: Replacement) -> CandidateItem {
    match workspace_root::path(name) {
        Ok(path) => edit(path, replacement),
        Err(refused) => problem(BlockTrouble::new(
            format!("the SEARCH/REPLACE block cannot be used: {refused}"),
            "name the file relative to the workspace, on the line above the block",
        )),
    }
}

fn edit(path: RelPath, replacement: Replacement) -> CandidateItem {
    CandidateItem::Command(Command::EditFile {
        path,
        edit: Edit::Replace {
            edits: vec![replacement],
        },
    })
}

fn problem(trouble: BlockTrouble) -> CandidateItem {
    CandidateItem::Problem(trouble.of("EDIT_FILE"))
}

fn no_file_name() -> BlockTrouble {
    BlockTrouble::new(
        "the SEARCH/REPLACE block does not say which file it changes",
        "write the path of the file alone on the line above the block",
    )
}

fn no_certain_file(path: &RelPath, name: &str) -> BlockTrouble {
    BlockTrouble::new(
        format!(
            "the words above the SEARCH/REPLACE block name `{name}`, and the block before changes `{path}`"
        ),
        "write the path of the file that is meant alone on the line above the block",
    )
}

fn no_clear_file(name: &str) -> BlockTrouble {
    BlockTrouble::new(
        format!(
            "it is not clear that the SEARCH/REPLACE block is for `{name}`, which is named above it"
        ),
        "write the path of the file that is meant alone on the line above the block",
    )
}

fn no_certain_name(name: &str) -> BlockTrouble {
    BlockTrouble::new(
        format!("an empty SEARCH makes a new file, and `{name}` above it may be only a word"),
        format!("send it as `[CREATE_FILE path=\"...\"]`, with `{name}` if that is the file"),
    )
}

/// How many characters a marker has.
const LENGTH: RangeInclusive<usize> = 3..=40;

/// How many characters a divider has that is not as long as its head: longer ones underline headings.
const SHORT: RangeInclusive<usize> = 3..=9;

/// The first line of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head<'a> {
    /// How many characters its marker has: its divider should have as many.
    length: usize,
    /// The file, where it stands behind the word.
    name: Option<&'a str>,
}

/// Reads `<<<<<<< SEARCH` and its like.
fn head(line: &str) -> Option<Head<'_>> {
    let (length, rest) = marker(line, b"<-", &["SEARCH", "ORIGINAL"])?;
    let rest = rest.strip_prefix('>').unwrap_or(rest).trim();
    let name = match rest {
        "" => None,
        name => Some(file_name::alone(name)?),
    };
    Some(Head { length, name })
}

/// Returns true if the line is `>>>>>>> REPLACE` or its like.
pub(super) fn is_tail(line: &str) -> bool {
    marker(line, b">+", &["REPLACE", "UPDATED"])
        .is_some_and(|(_, rest)| matches!(rest.trim(), "" | ">"))
}

/// The length of a line of nothing but `=`, in a block with a head of this length.
fn divider(line: &str, head: usize) -> Option<usize> {
    let text = trim(line);
    let is_meant = SHORT.contains(&text.len()) || (text.len() == head && text.len() > 2);
    (is_meant && text.bytes().all(|byte| byte == b'=')).then_some(text.len())
}

/// Returns true if the line is the rule under Roo's `:start_line:`.
fn is_rule(line: &str) -> bool {
    let text = trim(line);
    SHORT.contains(&text.len()) && text.bytes().all(|byte| byte == b'-')
}

/// A line of the contents, without the backslash that keeps it from being a marker.
fn unescape(line: &str) -> &str {
    let Some(rest) = line.strip_prefix('\\') else {
        return line;
    };
    let is_marker = head(rest).is_some()
        || is_tail(rest)
        || divider(rest, 0).is_some()
        || is_rule(rest)
        || is_conflict_marker(rest)
        || rest.starts_with(":start_line:")
        || rest.starts_with(":end_line:");
    if is_marker { rest } else { line }
}

/// Returns true if the line begins or ends a conflict as git writes it: models are taught to escape
/// them.
fn is_conflict_marker(line: &str) -> bool {
    ["<<<<<<<", ">>>>>>>"].iter().any(|mark| {
        line.strip_prefix(mark)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    })
}

/// A run of one of these characters, white space, one of these words; gives the run's length and
/// what follows.
fn marker<'a>(line: &'a str, characters: &[u8], words: &[&str]) -> Option<(usize, &'a str)> {
    let first = lead(line)?;
    if !characters.contains(&first) {
        return None;
    }
    let text = trim(line);
    let length = text.bytes().take_while(|byte| *byte == first).count();
    if !LENGTH.contains(&length) {
        return None;
    }
    let after = text[length..].trim_start();
    words.iter().find_map(|word| {
        let start = after.get(..word.len())?;
        let rest = &after[word.len()..];
        let ends = !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
        (start.eq_ignore_ascii_case(word) && ends).then_some((length, rest))
    })
}

/// A block as it was read.
struct EditBlock {
    replacement: Result<Replacement, BlockTrouble>,
    /// The line after it.
    end: usize,
    ending: EditBlockEnd,
}

/// The line that ended a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EditBlockEnd {
    Tail,
    NextHead,
    EndOfText,
}

impl EditBlock {
    /// Reads the block whose head is the line `at`.
    fn read(lines: &[&str], at: usize, head: &Head<'_>) -> Self {
        let mut dividers = Vec::new();
        let start = at + 1;
        let is_marker = |line: &str| matches!(lead(line), Some(b'<' | b'-' | b'=' | b'>' | b'+'));
        let below = lines.iter().enumerate().skip(start);
        for (index, line) in below.filter(|(_, line)| is_marker(line)) {
            if let Some(length) = divider(line, head.length) {
                dividers.push((index, length));
            } else if is_tail(line) {
                return Self {
                    replacement: divide(lines, start..index, &dividers, head.length),
                    end: index + 1,
                    ending: EditBlockEnd::Tail,
                };
            } else if is_head(line) {
                return Self::without_tail(lines, start..index, &dividers, EditBlockEnd::NextHead);
            }
        }
        Self::without_tail(
            lines,
            start..lines.len(),
            &dividers,
            EditBlockEnd::EndOfText,
        )
    }

    /// The block on these lines, below its head, that no tail ends.
    fn without_tail(
        lines: &[&str],
        body: Range<usize>,
        dividers: &[(usize, usize)],
        ending: EditBlockEnd,
    ) -> Self {
        let closed = closed_by_divider(lines, body.start, body.end, dividers);
        closed.unwrap_or_else(|| Self {
            replacement: Err(unfinished(dividers)),
            end: body.end,
            ending,
        })
    }
}

/// The block that a second divider ends in the place of its tail: nothing of it stands below.
fn closed_by_divider(
    lines: &[&str],
    start: usize,
    end: usize,
    dividers: &[(usize, usize)],
) -> Option<EditBlock> {
    let [(divider, length), (tail, other)] = dividers else {
        return None;
    };
    let mut below = lines[tail + 1..end].iter().filter(|line| !is_blank(line));
    let is_ended = match below.next() {
        None => end < lines.len(),
        Some(line) => {
            let is_name = end < lines.len() && file_name::alone(line).is_some();
            is_name || Fence::read(line).is_some() || code_fence::is_tag(line)
        }
    };
    let is_heading = dividers.iter().any(|it| is_underline(lines, start, it));
    (length == other && is_ended && !is_heading).then(|| EditBlock {
        replacement: Ok(replacement(lines, start..*divider, divider + 1..*tail)),
        end: tail + 1,
        ending: EditBlockEnd::Tail,
    })
}

fn unfinished(dividers: &[(usize, usize)]) -> BlockTrouble {
    let missing = if dividers.is_empty() {
        "`=======` and `>>>>>>> REPLACE`"
    } else {
        "`>>>>>>> REPLACE`"
    };
    BlockTrouble::new(
        format!("the SEARCH/REPLACE block has no {missing}"),
        "send the whole block again: `<<<<<<< SEARCH`, the old lines, `=======`, the new lines, `>>>>>>> REPLACE`",
    )
}

/// Returns true if a line of `=` may underline a heading: it is as long as the line above.
fn is_underline(lines: &[&str], start: usize, (index, length): &(usize, usize)) -> bool {
    let above = lines[..*index].last().filter(|_| *index > start);
    above.is_some_and(|line| {
        let is_heading = line.starts_with(char::is_alphanumeric);
        is_heading && line.trim_end().chars().count() == *length
    })
}

/// Finds the divider among the lines between head and tail.
fn divide(
    lines: &[&str],
    body: Range<usize>,
    dividers: &[(usize, usize)],
    length: usize,
) -> Result<Replacement, BlockTrouble> {
    let is_single = dividers.len() < 2;
    let plain = || {
        dividers
            .iter()
            .filter(|it| is_single || !is_underline(lines, body.start, it))
    };
    let has_long = plain().any(|(_, own)| *own == length);
    let candidates: Vec<(usize, usize)> = (plain().copied())
        .filter(|(_, own)| !has_long || *own == length)
        .collect();
    let is_sure = plain().count() == dividers.len();
    let is_last = |index: usize| index + 1 == body.end;
    let is_closed = |own: usize| dividers.iter().any(|it| is_last(it.0) && it.1 == own);
    let divider = match candidates[..] {
        [(only, own)] if is_sure || !is_closed(own) => only,
        // Some models write it once more before the tail.
        [(first, _), (second, _)] if is_last(second) && is_sure => {
            return Ok(replacement(lines, body.start..first, first + 1..second));
        }
        [] if dividers.is_empty() => {
            return Err(BlockTrouble::new(
                "the SEARCH/REPLACE block has no `=======` between its two parts",
                "put a line `=======` between the old lines and the new ones",
            ));
        }
        _ => {
            return Err(BlockTrouble::new(
                "the SEARCH/REPLACE block has several `=======` lines, so its parts are not certain",
                "write `\\=======` where the line belongs to the file, or use a marker of another length throughout",
            ));
        }
    };
    Ok(replacement(
        lines,
        body.start..divider,
        divider + 1..body.end,
    ))
}

fn replacement<'a>(lines: &[&'a str], search: Range<usize>, replace: Range<usize>) -> Replacement {
    let (stated, search) = without_header(&lines[search]);
    let (search, replace) = (unescaped(search), unescaped(&lines[replace]));
    let plain = |lines: Vec<&'a str>| repair::without_labels(&lines).unwrap_or(lines);
    let (search, replace) = (plain(search), plain(replace));
    // Whether the numbers are the model's or the file's only the file can tell.
    let unnumbered = without_numbers(&search).map(|(first, search)| {
        let bare = without_numbers(&replace).map(|(_, bare)| bare);
        let replace = text_of(bare.as_ref().unwrap_or(&replace));
        Box::new(Replacement {
            line: stated.or(Some(first)),
            ..Replacement::lines(text_of(&search), replace)
        })
    });
    // A blank line alone quotes nothing: it is how some models write an empty part.
    let quoted = match search[..] {
        [""] => String::new(),
        _ => text_of(&search),
    };
    Replacement {
        line: stated,
        unnumbered,
        ..Replacement::lines(quoted, text_of(&replace))
    }
}

fn unescaped<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    lines.iter().map(|line| unescape(line)).collect()
}

/// Takes Roo's `:start_line:` lines and the rule under them off.
fn without_header<'a, 'b>(search: &'b [&'a str]) -> (Option<u32>, &'b [&'a str]) {
    let mut stated = None;
    let mut rest = search;
    while let [first, others @ ..] = rest {
        let text = first.trim();
        if let Some(number) = text.strip_prefix(":start_line:") {
            stated = number.trim().parse().ok();
        } else if !text.starts_with(":end_line:") {
            break;
        }
        rest = others;
    }
    if rest.len() == search.len() {
        return (None, search);
    }
    match rest {
        [rule, others @ ..] if is_rule(rule) => (stated, others),
        _ => (stated, rest),
    }
}

/// Takes `12 | `, `12: ` or a like number off every line, if they go up by one.
fn without_numbers<'a>(lines: &[&'a str]) -> Option<(u32, Vec<&'a str>)> {
    let (first, ..) = numbered(lines.first()?)?;
    if let [only] = lines {
        let (_, divider, text) = numbered(only)?;
        let text = text.strip_prefix(' ').unwrap_or(text);
        return (divider == Divider::Bar).then(|| (first, vec![text]));
    }
    let plain = without_line_numbers(lines, &[Divider::Bar, Divider::Colon, Divider::Tab])?;
    Some((first, plain))
}

#[cfg(test)]
mod markers_tests {
    use super::*;

    #[test]
    fn knows_the_markers_that_are_seen() {
        for line in [
            "<<<<<<< SEARCH",
            "<<<<<<< SEARCH>",
            "<<< SEARCH",
            "<<<<<<<<< SEARCH ",
            "<<<<<<<SEARCH",
            "------- SEARCH",
            "<<<<<<< ORIGINAL",
            "  <<<<<<< SEARCH",
        ] {
            assert!(head(line).is_some(), "{line}");
        }
        assert_eq!(head("<<<<<<< SEARCH a/b.py").unwrap().name, Some("a/b.py"));
        for line in [
            "<< SEARCH",
            "<<<<<<< HEAD",
            "<<<<<<< SEARCHING",
            "<<<<<<< SEARCH for this",
            "\\<<<<<<< SEARCH",
            "",
        ] {
            assert!(head(line).is_none(), "{line}");
        }
        for line in [
            ">>>>>>> REPLACE",
            "+++++++ REPLACE",
            ">>>>>>> UPDATED",
            ">>> REPLACE>",
        ] {
            assert!(is_tail(line), "{line}");
        }
        assert_eq!(divider("======= ", 7), Some(7));
        assert_eq!(divider("==========", 7), None);
        assert_eq!(divider("==========", 10), Some(10));
    }

    #[test]
    fn only_a_marker_loses_its_backslash() {
        assert_eq!(unescape("\\======="), "=======");
        assert_eq!(unescape("\\<<<<<<< SEARCH"), "<<<<<<< SEARCH");
        assert_eq!(unescape("\\:start_line:1"), ":start_line:1");
        assert_eq!(unescape("\\section"), "\\section");
        assert_eq!(unescape("\\--"), "\\--");
        assert_eq!(unescape("\\>>>>>>> theirs"), ">>>>>>> theirs");
        for line in [
            "\\--- not a rule",
            "\\+++ text",
            "\\=== text",
            "\\<<<a",
            "\\<<<<<<<<<<",
            "\\>>> print()",
        ] {
            assert_eq!(unescape(line), line);
        }
    }
}

#[cfg(test)]
mod tests;
