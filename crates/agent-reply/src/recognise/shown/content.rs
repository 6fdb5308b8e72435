//! Tells apart what a block under a path holds: the file, an edit of it, or something else.

use crate::candidate::{BlockCandidate, BlockTrouble, CandidateItem};
use crate::code_fence::{self, Fence};
use crate::tags::copy_button;
use crate::trim::{is_blank, trim_end};
use crate::{diff, file_name, json, patch, search_replace, workspace_root};
use agent_protocol::{Command, RelPath};

/// The content of a block under a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockContent {
    File,
    /// Edits of that file.
    Edits,
    /// An edit or a call for something else.
    Other,
    /// An edit with other lines above it, or one without its beginning.
    Mixed,
    /// Two versions between the markers of a conflict.
    Conflict,
}

impl BlockContent {
    /// Looks at the beginning of a block of this name; its fence is the first of the lines.
    pub(super) fn begun(name: &str, lines: &[&str]) -> Self {
        let mut is_named_again = false;
        let is_content = |line: &&str| {
            let is_name = file_name::alone(line) == Some(name);
            is_named_again |= is_name;
            // Some models write the path and the fence once more.
            let is_fence =
                is_named_again && Fence::read(line).is_some_and(|it| !it.info.is_empty());
            !is_blank(line) && !is_name && !is_fence
        };
        let labels = 1 + copy_button::labels(lines.get(1..).unwrap_or_default(), false);
        let first = lines.iter().skip(labels).position(is_content);
        let Some(at) = first.map(|at| at + labels) else {
            return Self::File;
        };
        if search_replace::is_head(lines[at]) {
            return Self::Edits;
        }
        if search_replace::is_conflict(lines[at]) {
            return Self::Conflict;
        }
        let is_patch = patch::begins(lines[at]) || diff::begins(lines, at);
        let (found, own_kinds): (_, &[&str]) = if is_patch {
            let patch = patch::find(lines, at, &mut patch::Ends::default());
            (patch.or_else(|| diff::find(lines, at)), &DIFFS)
        } else {
            let call = json::find(lines, at).filter(|found| is_whole(found, lines));
            let kinds = &["json", "json5", "jsonc", "jsonl", "ndjson", "ipynb"];
            (call, kinds)
        };
        let Some(found) = found else {
            return Self::File;
        };
        let commands = || {
            found.items.iter().filter_map(|item| match item {
                CandidateItem::Command(command) => Some(command),
                CandidateItem::Problem(_) => None,
            })
        };
        if commands().any(|command| is_for(command, name)) {
            Self::Edits
        } else if is_of_kind(name, own_kinds) {
            Self::File
        } else if commands().all(only_looks) {
            // Nothing but what is wrong with it, or what does no harm.
            Self::Edits
        } else {
            Self::Other
        }
    }

    /// Looks at all lines of a block of this name that begins as a file.
    pub(super) fn of_file(name: &str, lines: &[&str]) -> Self {
        let is_mixed = !is_of_kind(name, &DIFFS) && (holds_edit(lines) || is_marked(lines));
        if is_mixed { Self::Mixed } else { Self::File }
    }

    /// The problem of a block of this name that is neither written nor done.
    pub(super) fn trouble(self, name: &str) -> BlockTrouble {
        let what = match self {
            Self::Mixed => "holds an edit that is not whole or has other lines above it",
            Self::Conflict => "begins with the marker of a conflict, not with `<<<<<<< SEARCH`",
            _ => "is an edit or a call for something else",
        };
        let otherwise = match self {
            Self::Mixed | Self::Conflict => {
                format!("as `[EDIT_FILE path=\"{name}\"]` if it is an edit of it")
            }
            _ => format!("without `{name}` above it if it is not"),
        };
        BlockTrouble::new(
            format!("the block under `{name}` {what}, so it was neither written nor done"),
            format!(
                "send it as `[CREATE_FILE path=\"{name}\"]` if it is that file, and {otherwise}"
            ),
        )
    }
}

const DIFFS: [&str; 2] = ["diff", "patch"];

fn is_of_kind(name: &str, extensions: &[&str]) -> bool {
    let extension = file_name::extension(name).unwrap_or_default();
    extensions.contains(&extension.to_ascii_lowercase().as_str())
}

/// Returns true if an edit in one of the dialects begins on any of the lines.
fn holds_edit(lines: &[&str]) -> bool {
    let changes = |line: &str| line.starts_with(['+', '-']);
    let last_tail = lines.iter().rposition(|line| search_replace::is_tail(line));
    let last_change = lines.iter().rposition(|line| changes(line));
    lines.iter().enumerate().any(|(at, line)| {
        let is_head = search_replace::is_head(line) && last_tail.is_some_and(|tail| at < tail);
        let is_hunk = (line.starts_with("@@ ") || trim_end(line) == "@@")
            && last_change.is_some_and(|change| at < change)
            && (lines.get(at + 1)).is_some_and(|next| next.starts_with(['+', '-', ' ']));
        is_head || is_hunk || patch::begins(line)
    })
}

/// Returns true if every line has the mark of a diff, and lines are added and removed.
fn is_marked(lines: &[&str]) -> bool {
    let begins = |mark: char| lines.iter().any(|line| line.starts_with(mark));
    let is_marked = |line: &&str| is_blank(line) || line.starts_with(['+', '-', ' ']);
    begins('+') && begins('-') && lines.iter().all(is_marked)
}

/// Returns true if nothing but other calls follows in the code block.
fn is_whole(found: &BlockCandidate, lines: &[&str]) -> bool {
    let next = code_fence::skip_blank(lines, found.span.end);
    let is_closed = Fence::read(lines[found.span.end - 1]).is_some();
    is_closed
        || lines
            .get(next)
            .is_none_or(|line| code_fence::is_bare(line) || json::begins(lines, next))
}

/// Returns true if a command is about the file of this name.
fn is_for(command: &Command, name: &str) -> bool {
    let Ok(name) = RelPath::parse(&workspace_root::relative(name)) else {
        return false;
    };
    let ends = |long: &RelPath, short: &RelPath| {
        let rest = long.as_str().strip_suffix(short.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    let paths = command.changed_paths();
    let mut paths = paths.into_iter().chain(command.path());
    paths.any(|path| ends(path, &name) || ends(&name, path))
}

fn only_looks(command: &Command) -> bool {
    command.selection().is_some()
        || matches!(
            command,
            Command::GitStatus { .. } | Command::GitDiff { .. } | Command::ListFiles { .. }
        )
}
