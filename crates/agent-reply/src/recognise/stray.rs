//! Closing tags that close nothing.
//!
//! A body that holds its own closing tag seems to end there. What shows it is another closing tag of
//! the same name, with text before it and no command of that name to close: then all from the
//! opening tag to there belongs to the body, commands that seemed to stand in it included.

use crate::candidate::{BlockTrouble, DoubtedMeaning, OfferSource, ReplyOffer};
use crate::carried_out::ShownWork;
use crate::line_number;
use crate::scan::Scan;
use crate::tags::{Kind, Name, TagLine};
use crate::work;

/// A closing tag without an opening one: harmless, unless text before it was lost to it.
pub(crate) fn find(scan: &Scan<'_>, name: Name, line: usize) -> ReplyOffer {
    let ended = scan.bodies.get(&name);
    let torn = ended.filter(|ended| scan.texts(ended.lines.end..line) > 0);
    let first = torn.map(|ended| ended.first);
    let source = OfferSource::Stray { name, first };
    let offer = ReplyOffer::new(first.unwrap_or(line)..line + 1, source);
    if first.is_some() {
        return offer.problem(uncertain_end(name, line));
    }
    let is_meant = name.is_compound() && name.has_effects() && !scan.lines[line].contains('`');
    if ended.is_some() || !is_meant || scan.texts(scan.free_from..line) == 0 {
        return offer;
    }
    let written = name.as_str();
    let trouble = BlockTrouble::new(
        format!(
            "`[/{written}]` closes nothing, so the lines above it were not taken for a command"
        ),
        format!(
            "Write it as `{}`, each tag alone on its line.",
            name.example()
        ),
    );
    let meant = DoubtedMeaning::Shown(ShownWork::default());
    offer.problem(trouble.of(written)).doubted(meant)
}

/// A closing tag above `end` that closes nothing, in what seems to be a body without an end.
pub(super) fn above(scan: &Scan<'_>, tag: &TagLine<'_>, end: usize) -> Option<ReplyOffer> {
    let mut opened = Vec::new();
    let within = scan.tags.below(tag.line + 1).iter();
    for inner in within.take_while(|inner| inner.line < end) {
        work::count(1);
        match &inner.kind {
            Kind::Open { name, .. } if !opened.contains(name) => opened.push(*name),
            Kind::Close { name, mark } if mark.is_empty() && !opened.contains(name) => {
                let ended = scan.bodies.get(name);
                if ended.is_some_and(|it| scan.texts(it.lines.end..inner.line) > 0) {
                    return Some(find(scan, *name, inner.line));
                }
            }
            _ => {}
        }
    }
    None
}

pub(super) fn uncertain_end(name: Name, last: usize) -> BlockTrouble {
    let name = name.as_str();
    BlockTrouble::new(format!("the body contains `[/{name}]`, so its end is uncertain"), format!(
            "Send it again with a mark of its own: `[{name} ... end=\"Q7\"]` and `[/{name} Q7]`. {}",
            not_done_to(last)
        )).of(name)
}

pub(super) fn not_done_to(last: usize) -> String {
    format!(
        "Nothing from there down to line {} was done.",
        line_number(last)
    )
}
