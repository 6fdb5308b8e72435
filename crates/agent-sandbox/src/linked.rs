//! Refuses protected names that are links.
//!
//! A name is protected by a mount, and a mount on a link covers the target: the link itself could
//! be removed and replaced. So no command runs while there is one. A backend without mounts
//! protects no names and is not checked.

use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use super::Backend;
use super::{Confinement, PROTECTED, STATE, WORKFLOWS};

/// The directories of [`WORKFLOWS`] that also contain other files.
pub(super) const WORKFLOW_PARENTS: [&str; 3] = [".github", ".gitea", ".forgejo"];

/// Parts of a writable repository that stay closed.
const CLOSED_IN_GIT: [&str; 5] = ["hooks", "config", "modules", "worktrees", "commondir"];

/// The reason to refuse a command, if a protected name is a link.
#[cfg(target_os = "linux")]
pub(super) fn refusal(confinement: &Confinement) -> Option<String> {
    if confinement.backend == Backend::Landlock {
        return None;
    }
    let link = protected_link(confinement)?;
    Some(format!(
        "`{}` in the workspace is a link, so it cannot be protected from commands; the person has to \
         put there what it leads to, or to use `--sandbox off`, where every command is asked about",
        link.display()
    ))
}

/// The first protected name that is a link.
pub(super) fn protected_link(confinement: &Confinement) -> Option<PathBuf> {
    names(confinement).find(|name| confinement.workspace.join(name).is_symlink())
}

fn names(confinement: &Confinement) -> impl Iterator<Item = PathBuf> {
    let closed = CLOSED_IN_GIT.map(|name| Path::new(".git").join(name));
    let at_the_top = [".git", STATE].into_iter().chain(PROTECTED);
    at_the_top
        .chain(WORKFLOW_PARENTS)
        .chain(WORKFLOWS)
        .map(PathBuf::from)
        .chain(closed.into_iter().filter(|_| confinement.git_write))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    struct Place {
        directory: tempfile::TempDir,
        confinement: Confinement,
    }

    fn place() -> Place {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("elsewhere")).unwrap();
        Place {
            confinement: Confinement::of_workspace(directory.path()),
            directory,
        }
    }

    impl Place {
        #[track_caller]
        fn link(&self, name: &str) {
            let path = self.directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(self.directory.path().join("elsewhere"), path).unwrap();
        }

        #[track_caller]
        fn names(&self, expected: Option<&str>) {
            let refusal = refusal(&self.confinement);
            let named = refusal.as_ref().and_then(|text| text.split('`').nth(1));
            assert_eq!(named, expected);
        }
    }

    #[test]
    fn a_link_is_named() {
        for name in [
            ".git",
            ".agent",
            ".envrc",
            ".vscode",
            ".github",
            "Jenkinsfile",
        ] {
            let place = place();
            place.names(None);
            place.link(name);
            place.names(Some(name));
        }
        let place = place();
        place.link(".github/workflows");
        place.names(Some(".github/workflows"));
    }

    #[test]
    fn other_links_are_fine() {
        let place = place();
        place.link("node_modules");
        place.link(".github/ISSUE_TEMPLATE");
        place.names(None);
    }

    #[test]
    fn what_a_grant_keeps_closed_is_no_link_either() {
        let mut place = place();
        place.link(".git/hooks");
        place.names(None);
        place.confinement.git_write = true;
        place.names(Some(".git/hooks"));
        place.confinement.backend = Backend::Landlock;
        place.names(None);
    }
}
