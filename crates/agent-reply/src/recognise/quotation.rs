//! Commands in backticks that have words around them, and so are only talked about.

use crate::candidate::{BlockTrouble, DoubtedMeaning, ReplyOffer};
use crate::carried_out::ShownWork;
use crate::line::is_blank_or_fence;
use crate::scan::Scan;
use crate::tags::{self, Around, Kind, Name, Opening, TagLine, build};
use crate::trim::is_blank;
use crate::work;

/// Tags in backticks with only blank lines between them: what stands around all of them tells what
/// they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BacktickRun {
    /// The line below.
    end: usize,
    is_among_words: bool,
}

/// A quoted command, which is pointed out and not done.
///
/// One that only looks may be done, and one whose closing tag is dressed alike is meant.
pub(super) fn find(scan: &Scan<'_>, tag: &TagLine<'_>, name: Name) -> Option<ReplyOffer> {
    if !tag.before.contains('`') || !is_among_words(scan, tag.line) || !name.has_effects() {
        return None;
    }
    let next = scan.tags.below(tag.line + 1).first();
    let closing = next.filter(|next| next.closes(name));
    if closing.is_some_and(|closing| closing.before.contains('`')) {
        return None;
    }
    let meant = match closing {
        Some(closing) => {
            DoubtedMeaning::Shown(ShownWork::lines(&scan.lines[tag.line + 1..closing.line]))
        }
        None => quoted(tag),
    };
    let trouble = BlockTrouble::new(
        "it stands in backticks among words, so it was taken for a quotation and not done",
        "Send it again without backticks, in the code block, if it was meant.",
    );
    let last = closing.map_or(tag.line, |closing| closing.line);
    let offer = ReplyOffer::aside(tag.line..last + 1).problem(trouble.of(name.as_str()));
    Some(offer.doubted(meant))
}

/// Returns true if words stand above or below the tags in backticks of which one is on this line.
fn is_among_words(scan: &Scan<'_>, line: usize) -> bool {
    if let Some(run) = scan.known.backticks.get()
        && line < run.end
    {
        return run.is_among_words;
    }
    let is_word = |line: &str| tags::read(0, line).is_none() && !is_blank_or_fence(line);
    let above = &scan.lines[scan.free_from.min(line)..line];
    let above = above.iter().rfind(|line| !is_blank(line));
    let mut end = line + 1;
    let mut below = None;
    for (at, text) in scan.lines.iter().enumerate().skip(line + 1) {
        work::count(1);
        if is_blank(text) {
            continue;
        }
        if !tags::read(0, text).is_some_and(|tag| tag.before.contains('`')) {
            below = Some(text);
            break;
        }
        end = at + 1;
    }
    let is_among_words = above.into_iter().chain(below).any(|line| is_word(line));
    scan.known.backticks.set(Some(BacktickRun {
        end,
        is_among_words,
    }));
    is_among_words
}

/// The command that a quoted tag stands for, if it is all there.
fn quoted(tag: &TagLine<'_>) -> DoubtedMeaning {
    let Kind::Open {
        name,
        attributes,
        inline,
    } = &tag.kind
    else {
        return DoubtedMeaning::Nothing;
    };
    let inline = inline.as_deref().filter(|text| !text.is_empty());
    let lines = inline.as_ref().map(std::slice::from_ref);
    let opening = Opening::read(*name, attributes);
    if *name == Name::Done || (opening.needs_body() && lines.is_none()) {
        return DoubtedMeaning::Nothing;
    }
    match build(opening, lines, Around::default()).command {
        Ok(command) if crate::has_effects(&command) => DoubtedMeaning::Command(command),
        _ => DoubtedMeaning::Named(*name),
    }
}
