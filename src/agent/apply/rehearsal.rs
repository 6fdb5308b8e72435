//! A copy of what a reply touches, on which it can be tried without consequences.
//!
//! Files, directories and links on the way to each touched path are copied as they are, so that
//! what would be refused in the workspace is refused in the copy. Commands are not run.

use std::collections::BTreeSet;
use std::path::Path;

use crate::error::{Error, Result};
use crate::protocol::{RelPath, Step};
use crate::workspace::text::TextFile;
use crate::workspace::{FileKind, Workspace};

/// The copy.
#[derive(Debug)]
pub struct Rehearsal {
    /// Lives as long as the copy.
    _directory: tempfile::TempDir,
    /// The copy as a workspace of its own.
    pub workspace: Workspace,
    touched: BTreeSet<RelPath>,
    max_file_bytes: u64,
}

/// The change that a rehearsal made to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The file.
    pub path: RelPath,
    /// The text before, nothing where there is no file.
    pub before: Option<String>,
    /// The text after, nothing where there is no file.
    pub after: Option<String>,
}

impl Rehearsal {
    /// Copies what the steps touch.
    pub fn prepare(workspace: &Workspace, steps: &[Step], max_file_bytes: u64) -> Result<Self> {
        let directory = crate::fs::temporary_directory("agent-rehearsal-")?;
        let copy = Workspace::open(directory.path())?;
        let paths = steps.iter().flat_map(|step| step.command.changed_paths());
        let touched: BTreeSet<RelPath> = paths.cloned().collect();
        for path in &touched {
            mirror(workspace, directory.path(), &copy, path, max_file_bytes)?;
        }
        Ok(Self {
            _directory: directory,
            workspace: copy,
            touched,
            max_file_bytes,
        })
    }

    /// The text of a file in the copy; nothing where there is none.
    pub fn text(&self, path: &RelPath) -> Option<String> {
        text(&self.workspace, path, self.max_file_bytes)
    }

    /// Compares the touched files of the workspace with those of the copy.
    pub fn differences(&self, workspace: &Workspace) -> Vec<Difference> {
        let compare = |path: &RelPath| Difference {
            path: path.clone(),
            before: text(workspace, path, self.max_file_bytes),
            after: text(&self.workspace, path, self.max_file_bytes),
        };
        self.touched
            .iter()
            .map(compare)
            .filter(|found| found.before != found.after)
            .collect()
    }
}

/// The text of a file, or a word about its bytes; nothing where there is no file.
fn text(workspace: &Workspace, path: &RelPath, max_bytes: u64) -> Option<String> {
    let bytes = workspace.read(path, max_bytes).ok()?;
    let size = bytes.len();
    Some(TextFile::decode(bytes).map_or_else(
        |_| format!("(binary file, {size} bytes)\n"),
        |file| file.text,
    ))
}

/// Copies every component of a path that exists.
fn mirror(
    from: &Workspace,
    root: &Path,
    to: &Workspace,
    path: &RelPath,
    max_bytes: u64,
) -> Result<()> {
    let mut ancestors: Vec<RelPath> =
        std::iter::successors(Some(path.clone()), RelPath::parent).collect();
    ancestors.reverse();
    for part in ancestors {
        let place = root.join(part.as_str());
        let failed =
            |cause: std::io::Error| Error::file("rehearse with", Path::new(part.as_str()), cause);
        match from.kind(&part) {
            Ok(Some(FileKind::Directory)) => crate::fs::create_directory(&place)?,
            Ok(Some(FileKind::Link)) => {
                if place.symlink_metadata().is_err() {
                    crate::fs::make_dead_link(&place).map_err(failed)?;
                }
                return Ok(());
            }
            Ok(Some(FileKind::File { .. })) => {
                if let (Ok(content), Ok(permission)) =
                    (from.read(&part, max_bytes), from.permission(&part))
                {
                    to.write_as(&part, &content, permission).map_err(|cause| {
                        Error::file("rehearse with", Path::new(part.as_str()), cause)
                    })?;
                }
            }
            Ok(Some(FileKind::Special) | None) | Err(_) => return Ok(()),
        }
    }
    Ok(())
}
