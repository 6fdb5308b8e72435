//! Which files of the workspace git and ripgrep would leave out.
//!
//! The rules are those of the `ignore` crate, its own walker is not used: it opens ignore files by
//! name, and one that is a pipe, or a link to `/dev/zero`, would never end. Here they are read
//! through the workspace, up to a limit.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::Workspace;
use crate::protocol::RelPath;

/// The most that is read of one ignore file, in bytes; a larger one is not obeyed.
const MAX_IGNORE_BYTES: u64 = 256 * 1024;

/// Which ignore files there are to read in a directory.
#[derive(Clone, Copy)]
pub(super) struct IgnoreFiles {
    ignore: bool,
    gitignore: bool,
    exclude: bool,
}

impl IgnoreFiles {
    /// All that there may be.
    pub(super) const POSSIBLE: Self = Self {
        ignore: true,
        gitignore: true,
        exclude: true,
    };

    /// Those among the names in a directory.
    pub(super) fn among<'n>(names: impl Iterator<Item = &'n OsStr>, directory: &str) -> Self {
        let mut found = Self {
            ignore: false,
            gitignore: false,
            exclude: false,
        };
        for name in names {
            found.ignore |= name == ".ignore";
            found.gitignore |= name == ".gitignore";
            found.exclude |= name == ".git" && directory.is_empty();
        }
        found
    }
}

/// What a rule is asked about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Is {
    File,
    Directory,
}

/// The ignore rules of one directory, and those above it.
pub(super) struct Rules {
    above: Option<Arc<Rules>>,
    /// `.ignore`: goes before all that git says.
    ignore: Gitignore,
    /// `.gitignore`.
    gitignore: Gitignore,
    /// `.git/info/exclude`: comes last.
    exclude: Gitignore,
}

impl Rules {
    /// The rules that hold in a directory: those from above, if it has none of its own.
    pub(super) fn read(
        workspace: &Workspace,
        directory: &str,
        which: IgnoreFiles,
        above: Option<Arc<Rules>>,
    ) -> Option<Arc<Rules>> {
        let read = |wanted: bool, name: &str| {
            if wanted {
                read_rules(workspace, directory, name)
            } else {
                Gitignore::empty()
            }
        };
        let rules = Self {
            ignore: read(which.ignore, ".ignore"),
            gitignore: read(which.gitignore, ".gitignore"),
            exclude: read(which.exclude && directory.is_empty(), ".git/info/exclude"),
            above: None,
        };
        if rules.ignore.is_empty() && rules.gitignore.is_empty() && rules.exclude.is_empty() {
            return above;
        }
        Some(Arc::new(Self { above, ..rules }))
    }

    /// The innermost directory first.
    fn chain(&self) -> impl Iterator<Item = &Rules> {
        std::iter::successors(Some(self), |rules| rules.above.as_deref())
    }
}

/// Reads one ignore file through the workspace's own door; what cannot be read has no rules.
fn read_rules(workspace: &Workspace, directory: &str, name: &str) -> Gitignore {
    let content = RelPath::parse(&join(directory, name))
        .ok()
        .and_then(|path| workspace.read(&path, MAX_IGNORE_BYTES).ok());
    let Some(content) = content else {
        return Gitignore::empty();
    };
    let mut builder = GitignoreBuilder::new(absolute(directory));
    let text = String::from_utf8_lossy(&content);
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A glob that is wrong ignores nothing, as in git.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The matcher wants one root for its rules and the paths; the real one is none of its business.
fn absolute(path: &str) -> String {
    format!("/{path}")
}

/// Whether the rules leave the path out.
pub(super) fn is_ignored(rules: Option<&Rules>, path: &str, is: Is) -> bool {
    let Some(rules) = rules else {
        return false;
    };
    let path = absolute(path);
    let is_directory = is == Is::Directory;
    let in_order = (rules.chain().map(|rules| &rules.ignore))
        .chain(rules.chain().map(|rules| &rules.gitignore))
        .chain(rules.chain().map(|rules| &rules.exclude));
    for matcher in in_order {
        match matcher.matched(Path::new(&path), is_directory) {
            Match::None => {}
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
        }
    }
    false
}

/// A path from the root, whose own path is empty.
pub(super) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() {
        name.to_owned()
    } else {
        format!("{directory}/{name}")
    }
}
