//! The body of an `EDIT_FILE` or `APPLY_PATCH`: which dialect it is written in.

use super::candidate::BlockTrouble;
use super::code_fence::Fence;
use super::{diff, patch, search_replace};
use crate::trim::is_blank;
use agent_protocol::{Command, Edit, FileChange, PathProblem, RelPath};

/// Returns true if the first line of a body opens a SEARCH/REPLACE block.
///
/// Then line numbers in the tag only say where the block belongs: nobody wants its marks in a file.
pub(super) fn begin_with_edits(lines: &[&str]) -> bool {
    lines
        .iter()
        .find(|line| !is_blank(line) && Fence::read(line).is_none())
        .is_some_and(|line| search_replace::is_head(line))
}

/// Reads the body of an `EDIT_FILE` that is not a range of lines; `line` is where its only block
/// is said to belong.
pub(super) fn edits(path: RelPath, body: &str, line: Option<u32>) -> Result<Command, BlockTrouble> {
    if let Some(edits) = search_replace::parse_body(body) {
        let mut edits = edits?;
        if let [only] = &mut edits[..] {
            only.line = only.line.or(line);
        }
        let edit = Edit::Replace { edits };
        return Ok(Command::EditFile { path, edit });
    }
    if looks_like_a_patch(body) {
        let changes = patch(body, Some(&path))?;
        return Ok(Command::ApplyPatch { changes });
    }
    Err(BlockTrouble::new(
        "it has neither `start_line` nor a SEARCH/REPLACE block",
        "Name the lines with `start_line` and `end_line`, or put blocks of `<<<<<<< SEARCH`, \
         `=======` and `>>>>>>> REPLACE` into the body.",
    ))
}

/// Reads the body of an `APPLY_PATCH`; `path` is the file of a diff without a header.
pub(super) fn patch(body: &str, path: Option<&RelPath>) -> Result<Vec<FileChange>, BlockTrouble> {
    if patch::is_envelope(body) {
        patch::parse_body(body)
    } else {
        diff::parse_body(body, path)
    }
}

/// The trouble with a patch that names a file which cannot be one of the workspace.
pub(super) fn refused(problem: &PathProblem) -> BlockTrouble {
    BlockTrouble::new(
        format!("the patch cannot be used: {problem}"),
        "name every file relative to the workspace",
    )
}

fn looks_like_a_patch(body: &str) -> bool {
    patch::is_envelope(body) || body.lines().any(|line| line.starts_with("@@"))
}
