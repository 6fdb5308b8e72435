//! `OUTLINE`: the symbols of source files with their lines, the cheapest way to find one's way.
//!
//! One line for each symbol: where it stands and its signature, members indented beneath what they
//! belong to, so that `READ_FILE` can be asked for exactly those lines. Syntax errors are no
//! obstacle. Files are parsed by tree-sitter, each within a size and a time.

mod language;
mod symbols;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

pub(super) use self::language::Language;
pub(super) use self::symbols::parse;
use self::symbols::{OutlineTrouble, Symbol, symbols};
use super::select::{Meant, Scope};
use super::{Execution, count};
use crate::protocol::{Capped, Listed, Outcome, RelPath, Selection};
use crate::workspace::Workspace;
use crate::workspace::text::TextFile;

/// The most symbols that one step shows.
const MAX_SYMBOLS: usize = 400;
/// The most files that one step looks into.
const MAX_FILES: usize = 200;
/// The largest file that is parsed, in bytes; what is larger was hardly written by hand.
const MAX_BYTES: u64 = 2 * 1024 * 1024;
/// How long one file may take, and all of them together.
const FILE_TIME: Duration = Duration::from_millis(500);
const WHOLE_TIME: Duration = Duration::from_secs(5);

/// The outline of one file.
struct Outlined {
    header: String,
    symbols: Vec<Symbol>,
}

impl Execution<'_> {
    /// Lists the symbols of the files that are meant.
    pub(super) fn outline(&self, selection: Option<&Selection>) -> Outcome {
        let scope = match Scope::resolve(&self.walks, selection, None) {
            Ok(scope) => scope,
            Err(outcome) => return outcome,
        };
        let Meant { walked, skipped } = match scope.walk(&self.walks) {
            Ok(meant) => meant,
            Err(outcome) => return outcome,
        };
        let is_named = |path: &RelPath| {
            (scope.places.iter()).any(|place| place.beneath.as_ref() == Some(path))
        };
        let mut files: Vec<&Listed> = (walked.files.iter())
            .filter(|found| Language::of(&found.path).is_some() || is_named(&found.path))
            .collect();
        if files.is_empty() {
            let known = Language::names();
            let outcome = Outcome::failed(format!("no source files there; known are {known}"));
            return skipped.add_to(outcome, None);
        }
        // An empty `__init__.py` tells nothing, and there can be hundreds of them.
        if files.iter().any(|found| found.size > 0) {
            files.retain(|found| found.size > 0 || found.is_link || is_named(&found.path));
        }
        let more_files = files.len().saturating_sub(MAX_FILES);
        files.truncate(MAX_FILES);
        let end = Instant::now() + WHOLE_TIME;
        let outlined: Vec<Outlined> = files
            .iter()
            .map(|found| outline_one(self.workspace, &found.path, end))
            .collect();
        let message = format!(
            "{} in {}{}",
            count(outlined.iter().map(|one| one.symbols.len()).sum(), "symbol"),
            count(outlined.len(), "file"),
            scope.but_missing()
        );
        let outcome = Outcome::ok(message).with_detail(rendered(&outlined, more_files));
        skipped.add_to(outcome, None)
    }
}

fn outline_one(workspace: &Workspace, path: &RelPath, end: Instant) -> Outlined {
    let only = |header: String| Outlined {
        header,
        symbols: Vec::new(),
    };
    let content = match workspace.read(path, MAX_BYTES) {
        Ok(content) => content,
        Err(problem) => return only(problem.to_string()),
    };
    let size = content.len();
    let Ok(file) = TextFile::decode(content) else {
        return only(format!("{path} (binary file, {size} bytes)"));
    };
    let lines = count(file.text.lines().count(), "line");
    let Some(language) = Language::of(path) else {
        return only(format!(
            "{path} ({lines}; no outline for this kind of file)"
        ));
    };
    let end = end.min(Instant::now() + FILE_TIME);
    match symbols(language, &file.text, end) {
        Ok(found) => {
            let errors = if found.has_errors {
                "; has syntax errors, symbols may be missing"
            } else {
                ""
            };
            Outlined {
                header: format!("{path} ({lines}{errors})"),
                symbols: found.symbols,
            }
        }
        Err(OutlineTrouble::TooSlow) => only(format!("{path} ({lines}; not parsed in time)")),
        Err(OutlineTrouble::NoParser) => only(format!("{path} ({lines}; could not be parsed)")),
    }
}

/// The outline of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOutline {
    /// Its path and length.
    pub header: String,
    /// A line for each symbol that is shown.
    pub text: String,
    /// The first and the last line of each symbol that begins at one of the lines asked about.
    pub definitions: Vec<(usize, usize)>,
}

/// The outline of a file in at most `room` characters; nothing if it has no symbols.
///
/// Where not all fit, those around these lines come first, then those of the top level.
pub fn outline_of_file(
    workspace: &Workspace,
    path: &RelPath,
    lines: &BTreeSet<usize>,
    room: usize,
) -> Option<FileOutline> {
    let Outlined { header, symbols } = outline_one(workspace, path, Instant::now() + FILE_TIME);
    let mut order: Vec<usize> = (0..symbols.len()).collect();
    order.sort_by_key(|at| {
        let symbol = &symbols[*at];
        (!symbol.is_around_any_of(lines), symbol.depth)
    });
    let (mut shown, mut left) = (BTreeSet::new(), room);
    for at in order {
        let size = symbols[at].to_string().chars().count() + 1;
        let Some(rest) = left.checked_sub(size) else {
            break;
        };
        left = rest;
        shown.insert(at);
    }
    if shown.is_empty() {
        return None;
    }
    let mut text = String::new();
    for at in &shown {
        let _ = writeln!(text, "{}", symbols[*at]);
    }
    let more = symbols.len() - shown.len();
    if more > 0 {
        let _ = writeln!(text, "[{more} more symbols: OUTLINE shows them]");
    }
    let definitions = symbols
        .iter()
        .filter(|symbol| symbol.begins_at_any_of(lines));
    Some(FileOutline {
        header,
        text,
        definitions: definitions.map(Symbol::lines).collect(),
    })
}

/// The outline in its room: members go first, then the last symbols.
fn rendered(outlined: &[Outlined], more_files: usize) -> Capped {
    let all = || outlined.iter().flat_map(|one| &one.symbols);
    let total = all().count();
    let deepest = if total > MAX_SYMBOLS { 0 } else { usize::MAX };
    let mut text = String::new();
    let mut shown = 0;
    for one in outlined {
        if shown == MAX_SYMBOLS {
            break;
        }
        let _ = writeln!(text, "{}", one.header);
        let fitting = one.symbols.iter().filter(|symbol| symbol.depth <= deepest);
        for symbol in fitting.take(MAX_SYMBOLS - shown) {
            shown += 1;
            let _ = writeln!(text, "{symbol}");
        }
    }
    let top = all().filter(|symbol| symbol.depth <= deepest).count();
    if top < total {
        let members = total - top;
        let _ = writeln!(
            text,
            "[TRUNCATED: {members} members left out; outline fewer files]"
        );
    }
    if shown < top {
        let _ = writeln!(text, "[TRUNCATED: first {shown} items]");
    }
    if more_files > 0 {
        let files = outlined.len();
        let _ = writeln!(
            text,
            "[TRUNCATED: first {files} files, {more_files} more match; outline fewer at a time]"
        );
    }
    text.truncate(text.trim_end().len());
    Capped {
        text,
        omitted: (total - shown + more_files) as u64,
    }
}

#[cfg(test)]
mod tests;
