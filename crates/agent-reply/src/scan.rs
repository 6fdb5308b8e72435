//! Phase one: one walk over the lines of a reply, which asks the recognisers.
//!
//! On each line the recognisers are asked in the order that the head of `arbiter` states; the first
//! one that knows the line takes it, and the walk goes on below its last line. So offers never
//! overlap. Recognisers read the walk's `Scan` and change nothing; only this file does, and the
//! lines change only where a quote mark, an indentation or a copy button is taken off.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Range;

use agent_protocol::{EndMark, RelPath};

use crate::candidate::{
    BlockCandidate, BodyEnd, CandidateItem, EndedBody, OfferSource, ReplyOffer, Standing,
};
use crate::code_fence::{self, Enclosure, Fence};
use crate::line::is_blank_or_fence;
use crate::recognise::{angled, crowded, invention, other, quotation, shown, tagged};
use crate::tags::{Name, Tags, body, copy_button};
use crate::trim::{lead, trim};
use crate::xml::XmlEnds;
use crate::{diff, json, own_message, patch, work};

mod code_blocks;
mod plain_text;

pub(super) use code_blocks::{CodeBlocks, OpenBlock, ShownFiles, UnclearBlock, UnclearReason};
pub(super) use invention::Invented;

/// How many blocks may be followed beyond the next tag in vain, before every further one is looked
/// for only up to there. This bounds the time that hostile text can cost.
pub(super) const VAIN_LOOKS: u32 = 16;

pub(super) const OWN_MESSAGE: &str = "left out our own prompt, which was copied along";

/// The walk, and what it knows of the lines above the current one.
pub(super) struct Scan<'a> {
    pub(super) lines: Vec<&'a str>,
    pub(super) tags: &'a Tags<'a>,
    /// First line below the last offer: no recogniser looks above it.
    pub(super) free_from: usize,
    pub(super) frames: Frames<'a>,
    pub(super) code: CodeBlocks<'a>,
    pub(super) invented: Invented,
    /// Only blank lines and fences stand between here and a command to run.
    has_just_run: bool,
    /// Of each name the last command, if a closing tag without a mark ended it.
    pub(super) bodies: HashMap<Name, EndedBody>,
    /// File of the last SEARCH/REPLACE block: the next one may go on with it.
    pub(super) last_file: Option<RelPath>,
    last_end: Option<(usize, EndMark)>,
    /// First line whose quote mark was not yet looked at.
    quotes_read_to: usize,
    /// First line below the last part that was read without its quote marks.
    unquoted_to: usize,
    pub(super) last_line: TextEnd,
    pub(super) known: ScanCache,
    offers: Vec<ReplyOffer>,
}

/// The code block that commands stand in: the frame that the instructions ask for, or another.
///
/// Only lines outside of bodies count, so a fence in a file opens nothing.
#[derive(Clone, Default)]
pub(super) struct Frames<'a> {
    pub(super) open: Option<Enclosure<'a>>,
    /// First line below the last one that was closed and holds an offer.
    pub(super) end: usize,
    read_to: usize,
}

impl<'a> Frames<'a> {
    /// Looks at the fences above a line; returns whether one of them frames commands.
    fn read(&mut self, lines: &[&'a str], end: usize, free_from: usize) -> bool {
        let mut has_frame = false;
        while self.read_to < end {
            let line = self.read_to;
            self.read_to += 1;
            work::count(1);
            let Some(fence) = Fence::read(lines[line]) else {
                continue;
            };
            self.open = match self.open {
                Some(open) if fence.closes(&open.fence) => {
                    if open.line < free_from {
                        self.end = line + 1;
                    }
                    None
                }
                None => Some(Enclosure { line, fence }),
                open => open,
            };
            has_frame |= fence.is_frame();
        }
        has_frame
    }

    /// First line that a recogniser may look at: the end of a code block that holds an offer would
    /// seem to begin one.
    fn window_start(&self, at: usize, free_from: usize) -> usize {
        free_from.max(self.end.min(at))
    }
}

/// Answers that are kept, so that no stretch of a reply is searched twice.
#[derive(Default)]
pub(super) struct ScanCache {
    pub(super) vain_looks: Cell<u32>,
    /// Lines of code blocks that were looked at for scripts and diffs. Blocks in blocks are looked at
    /// once for each.
    pub(super) block_lines: Cell<usize>,
    /// In all lines, and in those of the last window that ends before them.
    pub(super) patch_ends: RefCell<[patch::Ends; 2]>,
    pub(super) xml_ends: OnceCell<XmlEnds>,
    pub(super) has_angled: OnceCell<bool>,
    pub(super) lacks_prompt: Cell<bool>,
    pub(super) backticks: Cell<Option<quotation::BacktickRun>>,
}

impl ScanCache {
    pub(super) fn is_patient(&self) -> bool {
        self.vain_looks.get() < VAIN_LOOKS
    }

    pub(super) fn add_vain_look(&self) {
        self.vain_looks.set(self.vain_looks.get().saturating_add(1));
    }

    /// The end that a search gave; without one the look was in vain.
    pub(super) fn looked_for(&self, end: Option<usize>) -> Option<usize> {
        if end.is_none() {
            self.add_vain_look();
        }
        end
    }
}

/// How the text ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TextEnd {
    /// With a line end.
    Terminated,
    /// Without one, so the line may be cut.
    Unterminated,
}

/// All that phase one found.
pub(super) struct Scanned<'a> {
    pub(super) lines: Vec<&'a str>,
    pub(super) offers: Vec<ReplyOffer>,
    pub(super) shown: ShownFiles,
    /// A code block that the end of the text leaves open, and what it holds.
    pub(super) open_block: Option<(usize, String)>,
}

/// Walks over the lines of a repaired text.
pub(super) fn scan<'a>(lines: Vec<&'a str>, tags: &'a Tags<'a>, last_line: TextEnd) -> Scanned<'a> {
    let mut scan = Scan {
        lines,
        tags,
        free_from: 0,
        frames: Frames::default(),
        code: CodeBlocks::default(),
        invented: Invented::Nothing,
        has_just_run: false,
        bodies: HashMap::new(),
        last_file: None,
        last_end: None,
        quotes_read_to: 0,
        unquoted_to: 0,
        last_line,
        known: ScanCache::default(),
        offers: Vec::new(),
    };
    scan.walk();
    Scanned {
        open_block: scan.open_block(),
        lines: scan.lines,
        offers: scan.offers,
        shown: scan.code.files,
    }
}

impl Scan<'_> {
    fn walk(&mut self) {
        let tags = self.tags;
        let mut coming = tags.below(0).iter().peekable();
        let mut at = 0;
        while at < self.lines.len() {
            while coming.next_if(|tag| tag.line < at).is_some() {}
            let tag = coming.peek().filter(|tag| tag.line == at);
            self.read_fences(at);
            if tag.is_none() && self.is_plain(at) {
                at += 1;
                // It is no fence.
                self.frames.read_to = self.frames.read_to.max(at);
                continue;
            }
            let next = if let Some(tag) = tag {
                tagged::find(self, tag).map(|offer| self.adopt(offer))
            } else {
                self.unindent(at);
                self.follow_fence(at);
                self.unquote(at);
                self.block(at)
            };
            at = next.unwrap_or_else(|| self.prose(at)).max(at + 1);
        }
    }

    /// Returns true if a line begins as nothing does that any recogniser looks for, as most lines
    /// do.
    fn is_plain(&self, at: usize) -> bool {
        let line = self.lines[at];
        !self.has_just_run && begins_nothing(line) && !ends_as_tag(line) && !has_here_document(line)
    }

    /// Asks the dialects that are not ours; returns the line below the block.
    fn block(&mut self, at: usize) -> Option<usize> {
        if self.is_shown(at) {
            return None;
        }
        if self.is_in_results(at) {
            let from = self.frames.window_start(at, self.free_from);
            let candidate = other::claimed(self, at, from)?;
            return Some(self.adopt_block(candidate));
        }
        let reach = if at < self.unquoted_to {
            self.unquoted_to
        } else if self.known.is_patient() {
            self.lines.len()
        } else {
            self.next_boundary(at)
        };
        let from = self.frames.window_start(at, self.free_from);
        if let Some(mut found) = other::find(self, at, from..reach, self.last_file.as_ref()) {
            self.last_file = other::edited_file(self, at, &found).or(self.last_file.take());
            let boundary = self.next_boundary(at);
            let is_unsound = found.is_open() || !found.is_sound();
            if is_unsound && boundary < found.span.end {
                // It may have taken commands of ours for its own lines.
                self.known.add_vain_look();
                found = other::find(self, at, from..boundary, self.last_file.as_ref())?;
                self.last_file = other::edited_file(self, at, &found).or(self.last_file.take());
            }
            return Some(self.adopt_block(found));
        }
        if let Some(offer) = shown::edit_in_program(self, at) {
            self.adopt(offer);
        }
        if let Some(found) = other::curly_json(self, at, reach) {
            self.remark(ReplyOffer::remark(at).repaired(
                "straightened curly quotes in JSON",
                1,
                true,
            ));
            return Some(self.adopt_block(found));
        }
        let doubtful = other::doubtful_json(self, at, reach);
        doubtful
            .map(|found| self.adopt_block(found))
            .or_else(|| json::data_end(&self.lines[..reach], at))
    }

    /// Looks at a line that no block takes; returns the next line to look at.
    fn prose(&mut self, at: usize) -> usize {
        let offer = if self.is_shown(at) {
            crowded::find(self, at)
        } else if copy_button::is_button(trim(self.lines[at])) {
            let labels = copy_button::around(&self.lines, self.free_from, at);
            let is_button = |line: &&&str| copy_button::is_button(trim(line));
            let buttons = self.lines[labels.clone()].iter().filter(is_button).count();
            self.lines[labels].fill("");
            self.remark(ReplyOffer::remark(at).repaired(
                crate::repair::copied::BUTTON_WORDS,
                buttons,
                false,
            ));
            return at + 1;
        } else {
            let offer = self.own_prompt(at).or_else(|| angled::find(self, at));
            let offer = offer.or_else(|| crowded::find(self, at));
            let offer = offer.or_else(|| crowded::loose(self, at));
            let offer = offer.or_else(|| shown::bare_script(self, at));
            offer.or_else(|| self.invention(at))
        };
        offer.map_or(at + 1, |offer| self.adopt(offer))
    }

    /// A prompt of ours that begins here, below a command that seemed to hold it.
    fn own_prompt(&self, at: usize) -> Option<ReplyOffer> {
        if self.known.lacks_prompt.get() || !own_message::begins(self.lines[at]) {
            return None;
        }
        let end = own_message::end(&self.lines, at);
        self.known.lacks_prompt.set(end.is_none());
        Some(ReplyOffer::aside(at..end?).repaired(OWN_MESSAGE, 1, false))
    }

    /// Looks for results that only the person's machine can have.
    fn invention(&mut self, at: usize) -> Option<ReplyOffer> {
        if is_blank_or_fence(self.lines[at]) {
            return None;
        }
        let has_just_run = std::mem::take(&mut self.has_just_run);
        let (invented, offer) = invention::find(self, at, has_just_run)?;
        self.invented = invented.unwrap_or(self.invented);
        Some(offer)
    }

    /// Takes a block of another dialect; returns the line below it.
    fn adopt_block(&mut self, found: BlockCandidate) -> usize {
        let is_last = code_fence::skip_blank(&self.lines, found.span.end) == self.lines.len();
        let is_cut = is_last && (found.is_open() || self.is_cut_in_last_line(&found));
        let mut offer = ReplyOffer::new(found.span.clone(), OfferSource::Dialect);
        if is_cut {
            offer = offer.cut_off(found.subject());
        } else {
            offer.items = found.items;
            let unfenced = offer.items.iter_mut().filter_map(|item| match item {
                CandidateItem::Command(command) => body::unfence(command).then_some(()),
                CandidateItem::Problem(_) => None,
            });
            let unfenced = unfenced.count();
            offer = offer.repaired(body::FENCE_REMOVED, unfenced, true);
        }
        self.adopt(offer)
    }

    /// Returns true if a diff ends with an added line that may be only the beginning of one: its
    /// counts do not say that this line is its last.
    fn is_cut_in_last_line(&self, found: &BlockCandidate) -> bool {
        self.last_line == TextEnd::Unterminated
            && found.span.end == self.lines.len()
            && self.lines.last().is_some_and(|line| line.starts_with('+'))
            && other::is_patch(found)
            && !diff::ends_as_counted(&self.lines[found.span.clone()])
    }

    fn remark(&mut self, offer: ReplyOffer) {
        self.offers.push(offer);
    }

    /// Takes an offer, and moves on to the line below it.
    fn adopt(&mut self, mut offer: ReplyOffer) -> usize {
        let Range { start, end } = offer.span.clone();
        let is_numbered = !offer.items.is_empty();
        match &mut offer.source {
            OfferSource::Tag { body, runs } => {
                self.leave_output(start);
                self.code.files.has_tags = true;
                self.has_just_run = *runs;
                self.remember_body(body);
            }
            OfferSource::Dialect => self.has_just_run = false,
            OfferSource::Invention => {}
            OfferSource::Remark => self.has_just_run &= !is_numbered,
            OfferSource::Misplaced { body } => {
                self.has_just_run &= !is_numbered;
                self.remember_body(body);
            }
            OfferSource::End { mark, above } => {
                let last = self.last_end.replace((offer.line, mark.clone()));
                if let Some((line, other)) =
                    last.filter(|(line, _)| self.texts(line + 1..start) > 0)
                {
                    *above = Some(line);
                    if other != *mark {
                        self.bodies.retain(|_, ended| ended.first > line);
                    }
                }
                self.invented = Invented::Nothing;
                self.last_file = None;
            }
            OfferSource::Stray { name, first } => match first {
                Some(first) => {
                    self.bodies.remove(name);
                    self.forget_from(*first);
                }
                None => {
                    if let Some(ended) = self.bodies.get_mut(name) {
                        ended.lines.end = end;
                    }
                }
            },
            OfferSource::Restart { first } => {
                self.leave_output(start);
                self.code.files.has_tags = true;
                self.forget_from(*first);
            }
        }
        offer.is_in_results = self.is_in_results(offer.line);
        if start < end {
            self.take(start..end, &offer);
        }
        self.offers.push(offer);
        end
    }

    /// Follows the fences over the lines of an offer.
    fn take(&mut self, span: Range<usize>, offer: &ReplyOffer) {
        let Range { start, end } = span;
        let is_block = matches!(offer.source, OfferSource::Dialect);
        if is_block && matches!(offer.standing, Standing::Sound) {
            // It may begin and end with the fences around it.
            self.read_fences(start + 1);
            self.frames.read_to = self.frames.read_to.max(end.saturating_sub(1));
            self.read_fences(end);
        }
        self.frames.read_to = self.frames.read_to.max(end);
        self.follow_taken(start, end);
        self.free_from = end;
    }

    /// Looks at the fences above a line.
    fn read_fences(&mut self, end: usize) {
        if self.frames.read(&self.lines, end, self.free_from) {
            self.invented = Invented::Nothing;
        }
    }

    fn remember_body(&mut self, body: &BodyEnd) {
        match body {
            BodyEnd::Unchanged => {}
            BodyEnd::Forgotten(name) => {
                self.bodies.remove(name);
            }
            BodyEnd::Unmarked(name, ended) => {
                self.bodies.insert(*name, ended.clone());
            }
        }
    }

    fn forget_from(&mut self, first: usize) {
        self.bodies.retain(|_, ended| ended.lines.start < first);
        self.has_just_run = false;
    }

    /// Returns true if a line stands in results that the model made up.
    pub(super) fn is_in_results(&self, line: usize) -> bool {
        match self.invented {
            Invented::Nothing => false,
            Invented::Section => true,
            Invented::Output { end, .. } => line < end,
        }
    }

    /// Takes note of a tag: output that is shown above it has come to its end.
    fn leave_output(&mut self, line: usize) {
        if let Invented::Output { block, .. } = self.invented
            && line < block
        {
            self.invented = Invented::Nothing;
        }
    }

    /// First line from here on that no other dialect reaches beyond.
    pub(super) fn next_boundary(&self, at: usize) -> usize {
        self.tags.next_boundary(at).unwrap_or(self.lines.len())
    }

    /// How many lines of these are neither blank nor a fence; counts no further than two.
    pub(super) fn texts(&self, lines: Range<usize>) -> usize {
        let lines = self.lines.get(lines).unwrap_or_default();
        let is_text = |line: &&&str| !is_blank_or_fence(line);
        let passed = lines.iter().inspect(|_| work::count(1));
        passed.filter(is_text).take(2).count()
    }
}

/// Returns true if a line is blank, or begins with no mark that counts and with no letter that
/// begins a diff (`diff`, `Index:`) or the name of a button (`Copy`, `Edit`).
fn begins_nothing(line: &str) -> bool {
    const MARKS: &[u8] = b"*-+@{[<>=#`~|ICES";
    lead(line).is_none_or(|lead| match lead {
        b'a'..=b'z' => lead != b'd',
        _ => lead.is_ascii() && !lead.is_ascii_digit() && !MARKS.contains(&lead),
    })
}

/// Returns true if a line may begin a here-document.
fn has_here_document(line: &str) -> bool {
    memchr::memchr(b'<', line.as_bytes()).is_some_and(|at| line[at..].starts_with("<<"))
}

/// Returns true if a line may end with a tag, decoration aside.
fn ends_as_tag(line: &str) -> bool {
    crate::trim::trim_end(line)
        .trim_end_matches(['*', '`'])
        .ends_with(']')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::invented;
    use crate::search_replace;
    use crate::tags::{crowded as crowded_tag, read_angled};

    proptest! {
        /// Holds the short cut of `walk` to what it passes over.
        #[test]
        fn nobody_wants_a_line_that_begins_nothing(
            lead in "[ \t]{0,3}[!-~]{0,2}",
            rest in "(iff --git |iff --cc |ndex: |opy code|opy|dit|[ -~\u{201c}]{0,12})",
            next in "(\\+\\+\\+ b|=====|\\{\"|--- a|\\*\\*\\*\\*\\*|[ -~]{0,6})",
        ) {
            let line = format!("{lead}{rest}");
            let lines = [line.as_str(), next.as_str(), "*****", "x"];
            if begins_nothing(&line) {
                prop_assert!(patch::find(&lines, 0, &mut patch::Ends::default()).is_none());
                prop_assert!(Fence::read(&line).is_none());
                prop_assert!(diff::find(&lines, 0).is_none());
                prop_assert!(json::find(&lines, 0).is_none());
                prop_assert!(json::find_curly(&lines, 0).is_none());
                prop_assert!(search_replace::find(&lines, 0, None).is_none());
                prop_assert!(read_angled(0, &line).is_none());
                prop_assert!(crowded_tag(&line).is_none());
                prop_assert!(!plain_text::is_quoted(&line));
                prop_assert!(!copy_button::is_button(line.trim()));
                prop_assert!(!invented::is_heading(&line) && !invented::is_outcome(&line));
            }
        }
    }
}
