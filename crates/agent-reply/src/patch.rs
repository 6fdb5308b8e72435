//! The `*** Begin Patch` envelope, as the models of `OpenAI` write it.
//!
//! ```text
//! patch  = [begin] file+ [end]
//! begin  = "*** Begin Patch"                 end = "*** End Patch"
//! file   = "*** Add File: " path ("+" line)*
//!        | "*** Delete File: " path
//!        | "*** Update File: " path ["*** Move to: " path] hunk*
//! hunk   = ("@@" [anchor])* (" " line | "-" line | "+" line)+ ["*** End of File"]
//! ```
//!
//! Also read: white space around the directives and missing white space in them, three more stars
//! behind them, the names of a unified diff (`---` and `+++`) under them, a heredoc around it
//! (`cd dir && apply_patch <<'EOF'`), no begin, no end, a context line without its space. Without
//! an end line the patch ends where its lines do, so a line without a mark is context only before
//! an end line. One thing that is wrong makes the whole patch a problem, because a patch is applied
//! whole or not at all.

mod directive;
mod ends;
mod hunks;

use agent_protocol::{Command, FileChange, RelPath};

use super::candidate::{BlockCandidate, BlockCertainty, BlockTrouble, CandidateItem};
use super::{code_fence, workspace_root};
use directive::{Directive, directive};
use ends::PatchEnvelope;
pub(super) use ends::{Ends, KnownEnds};

/// The patch that begins on the line `at`; `ends` is what is known of lines with the same end.
pub(super) fn find(lines: &[&str], at: usize, ends: &mut Ends) -> Option<BlockCandidate> {
    if !begins(lines[at]) {
        return None;
    }
    let envelope = ends.envelope(lines, at);
    let heredoc = at
        .checked_sub(1)
        .and_then(|above| Heredoc::read(lines[above]));
    let start = if heredoc.is_some() { at - 1 } else { at };
    let directory = heredoc.as_ref().map_or("", |heredoc| &heredoc.directory);
    let read = read_files(lines, &envelope, directory);
    let mut end = read.end;
    if let Some(heredoc) = &heredoc
        && lines
            .get(end)
            .is_some_and(|line| line.trim().trim_end_matches(['"', '\'', ')']) == heredoc.tag)
    {
        end += 1;
    }
    let enclosure = code_fence::open_after(&lines[..start]);
    let block = code_fence::widen(lines, start..end, enclosure);
    let at_end = code_fence::skip_blank(lines, block.end) == lines.len();
    Some(BlockCandidate {
        certainty: BlockCertainty::open_if(!envelope.closed && at_end && block.end == end),
        span: block,
        items: vec![item(read.changes)],
    })
}

/// Returns true if a patch begins with this line.
pub(super) fn begins(line: &str) -> bool {
    matches!(
        directive(line),
        Some(Directive::Begin | Directive::Add(_) | Directive::Delete(_) | Directive::Update(_))
    )
}

/// Returns true if the text has a line of an envelope, so that it is not a diff.
pub(super) fn is_envelope(body: &str) -> bool {
    body.lines().any(|line| directive(line).is_some())
}

/// The changes of the envelopes in the body of a command.
pub(super) fn parse_body(body: &str) -> Result<Vec<FileChange>, BlockTrouble> {
    let lines: Vec<&str> = body.lines().collect();
    let mut changes = Vec::new();
    let mut ends = Ends::default();
    let mut at = 0;
    while at < lines.len() {
        if directive(lines[at]).is_none() {
            at += 1;
            continue;
        }
        let mut envelope = ends.envelope(&lines, at);
        // The end of the body is as good as the end line.
        envelope.closed |= envelope.body.end == lines.len();
        let heredoc = at
            .checked_sub(1)
            .and_then(|above| Heredoc::read(lines[above]));
        let directory = heredoc.as_ref().map_or("", |heredoc| &heredoc.directory);
        let read = read_files(&lines, &envelope, directory);
        changes.extend(read.changes?);
        at = read.end.max(at + 1);
    }
    if changes.is_empty() {
        return Err(empty());
    }
    Ok(changes)
}

/// Changes that were read, and the line after them.
struct Read {
    changes: Result<Vec<FileChange>, BlockTrouble>,
    end: usize,
}

fn read_files(lines: &[&str], envelope: &PatchEnvelope, directory: &str) -> Read {
    let body = &lines[..envelope.body.end];
    let mut files = hunks::PatchFiles::new(body, envelope.body.start, envelope.closed, directory);
    let changes = files.read();
    let end = if envelope.closed {
        // The end of a body stands in for a missing end line.
        (envelope.body.end + 1).min(lines.len())
    } else {
        files.at
    };
    Read { changes, end }
}

/// The shell line over a patch.
struct Heredoc<'a> {
    tag: &'a str,
    /// Where `cd` goes first, one after the other; empty without.
    directory: String,
}

impl<'a> Heredoc<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (command, tag) = line.split_once("<<")?;
        if !command.contains("apply_patch") && !command.contains("applypatch") {
            return None;
        }
        let tag = tag
            .trim_start_matches('-')
            .trim()
            .trim_matches(['\'', '"', '\\', ')']);
        let steps = command.split("&&").flat_map(|steps| steps.split(';'));
        let directories = steps.filter_map(|step| step.trim().strip_prefix("cd "));
        let directories = directories.map(|it| it.trim().trim_matches(['\'', '"']));
        let directory = directories.fold(String::new(), |above, directory| {
            if above.is_empty() || directory.starts_with('/') {
                directory.to_owned()
            } else {
                format!("{above}/{directory}")
            }
        });
        Some(Self { tag, directory })
    }
}

/// A path of a patch, below the directory of its heredoc.
fn path_of(directory: &str, name: &str) -> Result<RelPath, BlockTrouble> {
    let name = workspace_root::relative(name.trim().trim_matches(['`', '"']));
    let directory = workspace_root::relative(directory);
    let parsed = if directory.is_empty() || directory == "." {
        RelPath::parse(&name)
    } else {
        RelPath::parse(&format!("{directory}/{name}"))
    };
    parsed.map_err(|refused| {
        BlockTrouble::new(
            format!("the patch cannot be used: {refused}"),
            "name every file relative to the workspace",
        )
    })
}

fn empty() -> BlockTrouble {
    BlockTrouble::new(
        "the patch changes no file",
        "write `*** Add File: path`, `*** Update File: path` or `*** Delete File: path` after `*** Begin Patch`",
    )
}

fn item(changes: Result<Vec<FileChange>, BlockTrouble>) -> CandidateItem {
    let changes = changes.and_then(|changes| match &changes[..] {
        [] => Err(empty()),
        _ => Ok(Command::ApplyPatch { changes }),
    });
    CandidateItem::of("APPLY_PATCH", changes)
}

#[cfg(test)]
mod tests;
