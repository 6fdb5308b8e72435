//! Tells which changed files a person wants to hear of: not what a build makes, and not what git
//! ignores.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::execute::git::tracked_files;
use crate::protocol::generated::GeneratedDirectories;
use crate::workspace::Workspace;
use crate::workspace::walk::Walked;

/// The files of a workspace that are shown as changes.
#[derive(Debug)]
pub struct ShownPaths {
    root: PathBuf,
    /// The files, none of which is ignored. Not every name is listed.
    walked: Arc<Walked>,
    /// The files that git tracks, read when the first of them matters.
    tracked: OnceLock<BTreeSet<PathBuf>>,
}

impl ShownPaths {
    /// Those of a workspace; nothing if it cannot be walked.
    pub fn of(workspace: &Workspace) -> Option<Self> {
        let walked = workspace.walk(None).ok()?;
        Some(Self::among(workspace, Arc::new(walked)))
    }

    /// Those of a workspace that was walked.
    pub(super) fn among(workspace: &Workspace, walked: Arc<Walked>) -> Self {
        Self {
            root: workspace.path().to_owned(),
            walked,
            tracked: OnceLock::new(),
        }
    }

    /// Returns true if a path is shown.
    pub fn has(&self, path: &Path) -> bool {
        !self.is_output(path) && !self.is_ignored(path)
    }

    /// Returns true if a path counts among the changed files; an empty directory is none.
    pub fn counts(&self, path: &Path) -> bool {
        let found = self.root.join(path).symlink_metadata();
        let is_directory = found.is_ok_and(|found| found.is_dir());
        !is_directory && !self.is_output(path) && !self.would_be_ignored(path)
    }

    fn is_output(&self, path: &Path) -> bool {
        let name = path.to_string_lossy();
        self.walked.generated.containing_output(&name).is_some()
    }

    /// Returns true if there is a file at a path that git ignores. The removal of such a file is
    /// shown, though not counted: nobody can see it any more.
    pub fn is_ignored(&self, path: &Path) -> bool {
        self.root.join(path).symlink_metadata().is_ok() && self.would_be_ignored(path)
    }

    /// Returns true if an ignore file names a path and git does not track it, whatever is there.
    pub fn would_be_ignored(&self, path: &Path) -> bool {
        let name = path.to_string_lossy();
        let files = &self.walked.files;
        if (files.binary_search_by(|file| file.path.as_str().cmp(&name))).is_ok() {
            return false;
        }
        let is_named = Workspace::open(&self.root)
            .is_ok_and(|workspace| workspace.ignore_lookup().ignores_name(&name, false));
        let tracked = || self.tracked.get_or_init(|| tracked_files(&self.root));
        is_named && !tracked().contains(path)
    }

    /// The directories of build output.
    pub fn generated(&self) -> &GeneratedDirectories {
        &self.walked.generated
    }
}
