//! Tells which changed files a person wants to hear of: not what a build makes, and not what an ignore
//! file names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Agent;
use crate::protocol::RelPath;
use crate::protocol::generated::GeneratedDirectories;
use crate::workspace::Workspace;
use crate::workspace::walk::Walked;

/// The files of a workspace that are shown as changes.
#[derive(Debug)]
pub struct ShownPaths {
    root: PathBuf,
    /// The files that no ignore file names; `None` if there are too many to know all of them.
    listed: Option<BTreeSet<String>>,
    generated: GeneratedDirectories,
}

impl ShownPaths {
    /// Those of a workspace that was walked.
    pub(super) fn among(workspace: &Workspace, walked: &Walked) -> Self {
        let names = || walked.files.iter().map(|file| file.path.as_str());
        Self {
            root: workspace.path().to_owned(),
            listed: (!walked.cut).then(|| names().map(str::to_owned).collect()),
            generated: GeneratedDirectories::among(names()),
        }
    }

    /// Returns true if a path is shown.
    pub fn has(&self, path: &str) -> bool {
        self.generated.containing_output(path).is_none() && !self.is_ignored(Path::new(path))
    }

    /// Returns true if an ignore file names what is at a path. Of a file that is gone nobody can tell.
    pub fn is_ignored(&self, path: &Path) -> bool {
        let is_there = || self.root.join(path).symlink_metadata().is_ok();
        // A walk does not list names with control characters.
        if let Some(name) = path.to_str().filter(|name| RelPath::parse(name).is_err()) {
            let is_named =
                |workspace: Workspace| workspace.ignore_lookup().ignores_name(name, false);
            return Workspace::open(&self.root).is_ok_and(is_named);
        }
        let is_unlisted = |listed: &BTreeSet<String>| {
            path.to_str().is_some_and(|path| !listed.contains(path)) && is_there()
        };
        self.listed.as_ref().is_some_and(is_unlisted)
    }

    /// The directories of build output.
    pub fn generated(&self) -> &GeneratedDirectories {
        &self.generated
    }
}

impl Agent {
    /// Tells which files are shown as changes; nothing if the workspace cannot be walked.
    pub fn shown_paths(&self) -> Option<ShownPaths> {
        let walked = self.workspace.walk(None).ok()?;
        Some(ShownPaths::among(&self.workspace, &walked))
    }
}
