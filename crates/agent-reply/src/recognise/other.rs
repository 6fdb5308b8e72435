//! The dialects that are not our tags, asked in the order of precedence.
//!
//! A diff or a SEARCH/REPLACE block may also stand in a cell of a Markdown table, where `<br>` ends its
//! lines. A name of a file alone in another cell of the row is the name above the block.

use std::ops::Range;

use agent_protocol::{Command, RelPath};

use crate::candidate::{BlockCandidate, CandidateItem};
use crate::recognise::shown;
use crate::scan::{Invented, Scan};
use crate::trim::trim;
use crate::xml::{self, XmlEnds};
use crate::{diff, file_name, json, patch, search_replace, tokens};

/// Asks each dialect for a block at a line, showing it only the lines of a window.
pub(crate) fn find(
    scan: &Scan<'_>,
    at: usize,
    window: Range<usize>,
    last_file: Option<&RelPath>,
) -> Option<BlockCandidate> {
    let Range {
        start: from,
        end: reach,
    } = window;
    let lines = &scan.lines[from..reach];
    let line = at - from;
    if begins_edit(lines, line) && shown::quoted_in_code(scan, at).is_some() {
        return None;
    }
    let mut ends = scan.known.patch_ends.borrow_mut();
    let ends = ends[usize::from(reach < scan.lines.len())].up_to(reach);
    let found = patch::find(lines, line, ends).or_else(|| diff::find(lines, line));
    let found = found.or_else(|| {
        if shown::is_in_program(scan, at) {
            return None;
        }
        let xml_ends = || scan.known.xml_ends.get_or_init(|| XmlEnds::of(&scan.lines));
        let call = json::find(lines, line);
        call.filter(|found| !shown::is_given_to_file(scan, &found.clone().below(from)))
            .or_else(|| xml::find(lines, line, from, xml_ends))
            .or_else(|| tokens::find(lines, line))
    });
    let found = found
        .or_else(|| search_replace::find(lines, line, last_file))
        .or_else(|| in_table_cell(lines, line));
    found.map(|found| found.below(from))
}

/// Returns true if an edit in one of the dialects begins on a line.
pub(crate) fn begins_edit(lines: &[&str], at: usize) -> bool {
    search_replace::is_head(lines[at]) || patch::begins(lines[at]) || diff::begins(lines, at)
}

/// A sound block in the claimed output of a command, which is pointed out there.
pub(crate) fn claimed(scan: &Scan<'_>, at: usize, from: usize) -> Option<BlockCandidate> {
    let Invented::Output { end: reach, .. } = scan.invented else {
        return None;
    };
    let found = find(scan, at, from..reach, scan.last_file.as_ref())?;
    let is_cut = found.is_open() && found.span.end == scan.lines.len();
    (found.is_sound() && !is_cut).then_some(found)
}

/// Calls in JSON whose quotes a page made curly.
pub(crate) fn curly_json(scan: &Scan<'_>, at: usize, reach: usize) -> Option<BlockCandidate> {
    if shown::is_in_program(scan, at) {
        return None;
    }
    let call = json::find_curly(&scan.lines[..reach], at);
    call.filter(|found| !shown::is_given_to_file(scan, found))
}

/// Calls that may be data, in a reply that asks for nothing else.
pub(crate) fn doubtful_json(scan: &Scan<'_>, at: usize, reach: usize) -> Option<BlockCandidate> {
    if shown::is_in_program(scan, at) || scan.tags.has_work() {
        return None;
    }
    let from = scan.free_from;
    let found = json::find_doubtful(&scan.lines[from..reach], at - from)?;
    Some(found.below(from))
}

/// The file of a SEARCH/REPLACE block at a line, with which the next one may go on.
pub(crate) fn edited_file(scan: &Scan<'_>, at: usize, found: &BlockCandidate) -> Option<RelPath> {
    match &found.items[..] {
        [CandidateItem::Command(command)] if search_replace::is_head(scan.lines[at]) => {
            command.path().cloned()
        }
        _ => None,
    }
}

/// Returns true if one of the commands of a block is a patch.
pub(crate) fn is_patch(found: &BlockCandidate) -> bool {
    let is_patch =
        |item: &CandidateItem| matches!(item, CandidateItem::Command(Command::ApplyPatch { .. }));
    found.items.iter().any(is_patch)
}

/// The blocks in the row of a table on the line `at`.
fn in_table_cell(lines: &[&str], at: usize) -> Option<BlockCandidate> {
    let row = trim(lines[at]).strip_prefix('|')?.strip_suffix('|')?;
    if !row.contains("<br") {
        return None;
    }
    let cells: Vec<String> = cells(row);
    let name = cells.iter().find_map(|cell| file_name::alone(cell));
    let mut items = Vec::new();
    for cell in cells.iter().filter(|cell| cell.contains("<br")) {
        let plain = ["<br/>", "<br />"]
            .iter()
            .fold(cell.clone(), |text, tag| text.replace(tag, "<br>"));
        let mut block: Vec<&str> = name.into_iter().collect();
        block.extend(plain.trim_matches('`').split("<br>"));
        let mut line = 0;
        while line < block.len() {
            let mut ends = patch::Ends::default();
            let found = patch::find(&block, line, &mut ends)
                .or_else(|| diff::find(&block, line))
                .or_else(|| search_replace::find(&block, line, None));
            line = found
                .as_ref()
                .map_or(line + 1, |found| found.span.end.max(line + 1));
            items.extend(found.into_iter().flat_map(|found| found.items));
        }
    }
    (!items.is_empty()).then(|| BlockCandidate::whole(at..at + 1, items))
}

/// The cells of a row, with `\\|` as the bar that it stands for.
fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut characters = row.chars().peekable();
    while let Some(character) = characters.next() {
        let cell = cells
            .last_mut()
            .expect("one cell was there from the beginning");
        match character {
            '\\' if characters.next_if_eq(&'|').is_some() => cell.push('|'),
            '|' => cells.push(String::new()),
            other => cell.push(other),
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}
