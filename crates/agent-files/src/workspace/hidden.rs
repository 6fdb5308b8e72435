//! Finds credential files in ignored directories: many directories are ignored because they contain
//! them.
//!
//! Looks at a few levels and a few thousand names, top levels first, so that a directory full of
//! data costs little. The directories themselves are not listed.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use super::Workspace;
use super::look::ListedEntry;
use super::walk::found;
use crate::platform::files::{self, EntryKind};
use agent_protocol::generated::{has_credentials, is_ignored_output};
use agent_protocol::{Listed, RelPath};

/// Levels of an ignored directory to look at.
const LEVELS: usize = 2;
/// Directories to look at.
const MAX_DIRECTORIES: usize = 200;
/// Names to look at in one directory.
const MAX_NAMES: usize = 1_000;
/// Names to look at in total.
const MAX_ALL: usize = 10_000;

impl Workspace {
    /// The credential files in these directories, down to a few levels.
    pub(super) fn credentials_beneath(&self, mut directories: Vec<RelPath>) -> Vec<Listed> {
        directories.sort_unstable_by_key(|path| (path.components().count(), path.clone()));
        let mut waiting: VecDeque<(RelPath, usize)> =
            directories.into_iter().map(|path| (path, 1)).collect();
        let (mut all, mut left) = (Vec::new(), MAX_ALL);
        for _ in 0..MAX_DIRECTORIES {
            let Some((directory, level)) = waiting.pop_front() else {
                break;
            };
            let mut credentials = Vec::new();
            let mut names = MAX_NAMES.min(left);
            let opened =
                files::list_beneath(&self.root, directory.as_str().as_ref(), |name, kind| {
                    let Some(rest) = names.checked_sub(1) else {
                        return ControlFlow::Break(());
                    };
                    (names, left) = (rest, left - 1);
                    let name = name.to_str().unwrap_or_default();
                    let path = || {
                        let path = RelPath::of_entry(directory.as_str(), name);
                        path.filter(|path| !self.left_out.contains(path))
                    };
                    match kind {
                        EntryKind::File if has_credentials(name) => credentials.extend(path()),
                        EntryKind::Directory if level < LEVELS && !is_ignored_output(name) => {
                            waiting.extend(path().map(|path| (path, level + 1)));
                        }
                        _ => {}
                    }
                    ControlFlow::Continue(())
                });
            let Ok(opened) = opened else { continue };
            all.extend(credentials.into_iter().filter_map(|path| {
                let kind = EntryKind::File;
                found(&ListedEntry { path, kind }, &opened)
            }));
        }
        all
    }
}
