//! Code blocks that quote a file as it is, and so ask for nothing.
//!
//! An edit that is taken for a quotation is lost in silence, so only what is certain counts: words
//! above the block say that it shows what is there, or it is the whole file; its lines are in the
//! file to the last blank; nothing beside it asks for a change, and no other code block does.

use std::ops::Range;

use crate::code_fence::{self, Fence};
use crate::line::has_word;
use crate::trim::is_blank;
use crate::{WorkspaceFileReader, tags, workspace_root};

/// The most blocks that are compared with files.
const MAX_COMPARED: usize = 50;

/// Tells blocks that quote a file of the workspace from those that were meant to change it.
pub(super) struct QuotedFiles<'f> {
    file: WorkspaceFileReader<'f>,
    /// How many blocks may still be compared.
    rest: usize,
}

impl<'f> QuotedFiles<'f> {
    /// Only a reply in tags, with its end mark, has no need of a block.
    pub(super) fn new(file: WorkspaceFileReader<'f>, has_tags_and_end: bool) -> Self {
        let rest = if has_tags_and_end { MAX_COMPARED } else { 0 };
        Self { file, rest }
    }

    /// Returns true if the code block that begins on the line `fence` quotes the file of this name.
    pub(super) fn holds(
        &mut self,
        name: &str,
        lines: &[&str],
        fence: usize,
        blocks: &[Range<usize>],
    ) -> bool {
        if self.rest == 0 {
            return false;
        }
        self.rest -= 1;
        let content = code_fence::content(lines, fence);
        let is_taken = |line: usize| blocks.iter().any(|block| block.contains(&line));
        let below = fence + 1 + content.len()..lines.len();
        let (Some(above), Some(below)) = (
            words_beside(lines, (0..fence).rev(), &is_taken),
            words_beside(lines, below.skip(1), &is_taken),
        ) else {
            return false;
        };
        if asks_for_change(&above) || asks_for_change(&below) {
            return false;
        }
        let path = workspace_root::path(name);
        let Some(text) = path.ok().and_then(|path| (self.file)(&path)) else {
            return false;
        };
        let whole: Vec<&str> = text.lines().collect();
        let is_part = || {
            let first = content.first().filter(|_| says_quotation(&above));
            first.is_some_and(|first| {
                let starts = (0..whole.len()).filter(|at| whole[*at] == *first);
                let mut rests = starts.take(MAX_COMPARED).map(|at| &whole[at..]);
                rests.any(|rest| rest.starts_with(content))
            })
        };
        !content.iter().all(|line| is_blank(line)) && (whole == content || is_part())
    }
}

/// The paragraph that is nearest to a code block on one of its sides, in lower case. `None` if
/// another code block stands there, with which it may be a pair.
fn words_beside(
    lines: &[&str],
    side: impl Iterator<Item = usize>,
    is_taken: &dyn Fn(usize) -> bool,
) -> Option<String> {
    const MOST_LINES: usize = 20;
    let mut words: Vec<&str> = Vec::new();
    let mut is_near = true;
    let mut last_fence = false;
    for at in side.take(MOST_LINES) {
        let line = lines[at];
        if is_taken(at) || tags::read(0, line).is_some() {
            // The fence around commands.
            return Some(words.join(" ").to_lowercase());
        }
        if is_blank(line) {
            is_near &= words.is_empty();
        } else if last_fence {
            return None;
        } else if Fence::read(line).is_some() {
            last_fence = true;
        } else if is_near {
            words.push(line);
        }
    }
    (!last_fence).then(|| words.join(" ").to_lowercase())
}

/// Returns true if words say that a block shows what is there.
fn says_quotation(words: &str) -> bool {
    const PHRASES: &str = "is defined in,are defined in,stays the same,stay the same,\
        stays as it is,unchanged,for reference,already has,already contains";
    PHRASES.split(',').any(|phrase| words.contains(phrase))
}

/// Returns true if words may ask for a change of what a block shows.
fn asks_for_change(words: &str) -> bool {
    const WORDS: &str = "change changes changed replace replaces replaced remove removes removed \
        delete deletes deleted drop drops update updates updated edit edits modify rename move \
        moves insert inserts add adds added append create created write put set make turn swap \
        fix fixes rewrite save paste convert find search with to into before after old new from \
        becomes become should must needs need instead now then out";
    let mut each = words.split(|c: char| !c.is_alphanumeric());
    each.any(|word| has_word(WORDS, word))
}
