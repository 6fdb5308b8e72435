//! A diff or a SEARCH/REPLACE block in a cell of a Markdown table, where `<br>` ends its lines.
//!
//! A name of a file alone in another cell of the row is the name above the block.

use crate::candidate::{BlockCandidate, BlockCertainty};
use crate::trim::trim;
use crate::{diff, file_name, patch, search_replace};

/// The blocks in the row of a table on the line `at`.
pub(super) fn find(lines: &[&str], at: usize) -> Option<BlockCandidate> {
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
    (!items.is_empty()).then_some(BlockCandidate {
        span: at..at + 1,
        items,
        certainty: BlockCertainty::Whole,
    })
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
