//! Finds the repository of a workspace.
//!
//! It can be in the workspace, or elsewhere for a linked worktree, a submodule, and a workspace
//! below the top of a repository. A `.git` file is content of the workspace and may lie, so it only
//! says where to look: the other directory counts if its own files, which no command can write, say
//! that this workspace belongs to it. This is decided once, before the first command.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::OutsideRepository;
use crate::repositories::{pointer, settings_of};

/// The repository outside the workspace that it belongs to.
pub(super) fn outside(workspace: &Path, home: &Path) -> Option<OutsideRepository> {
    let own = workspace.join(".git");
    match own.symlink_metadata() {
        Ok(found) if found.is_file() => linked(workspace, &own),
        Ok(_) => None,
        Err(_) => above(workspace, home).map(|shared| OutsideRepository {
            shared,
            worktree: None,
        }),
    }
}

/// The repository that contains the workspace.
fn above(workspace: &Path, home: &Path) -> Option<PathBuf> {
    workspace
        .ancestors()
        .skip(1)
        .take_while(|directory| *directory != home)
        .map(|directory| directory.join(".git"))
        .find(|git| is_repository(git))
}

/// The targets of a `.git` file: its own directory, and the one that it shares with others.
fn linked(workspace: &Path, file: &Path) -> Option<OutsideRepository> {
    let workspace = workspace.canonicalize().ok()?;
    let git = resolved(&workspace, &pointer(file, "gitdir: ")?)?;
    if git.starts_with(&workspace) || !is_of_person(&git, &workspace) {
        return None;
    }
    match pointer(&git.join("commondir"), "") {
        Some(common) => worktree(&workspace, git, &common),
        None => submodule(&workspace, git),
    }
}

/// A linked worktree: its directory is among those of the shared repository, and points back.
fn worktree(workspace: &Path, git: PathBuf, common: &Path) -> Option<OutsideRepository> {
    let worktrees = git.parent()?;
    let shared = worktrees.parent()?;
    let back = resolved_parent(&git, &pointer(&git.join("gitdir"), "")?)?;
    let is_meant = worktrees.ends_with("worktrees")
        && resolved(&git, common)? == shared
        && back == workspace.join(".git")
        && is_repository(shared)
        && is_of_person(shared, workspace)
        && !workspace.starts_with(shared);
    let shared = shared.to_owned();
    is_meant.then_some(OutsideRepository {
        shared,
        worktree: Some(git),
    })
}

/// A submodule: the configuration names its work tree.
fn submodule(workspace: &Path, git: PathBuf) -> Option<OutsideRepository> {
    let settings = settings_of(&git.join("config"))?;
    let mut files = settings
        .iter()
        .rev()
        .filter(|setting| setting.is("core", "worktree"));
    let files = resolved(&git, Path::new(files.next()?.text()?))?;
    let is_meant = files == workspace && is_repository(&git) && !workspace.starts_with(&git);
    is_meant.then_some(OutsideRepository {
        shared: git,
        worktree: None,
    })
}

fn is_repository(git: &Path) -> bool {
    let is = |name: &str, kind: fn(&fs::Metadata) -> bool| {
        git.join(name)
            .symlink_metadata()
            .is_ok_and(|found| kind(&found))
    };
    is("HEAD", fs::Metadata::is_file)
        && is("objects", fs::Metadata::is_dir)
        && is("refs", fs::Metadata::is_dir)
}

/// True if it belongs to the current user or to the owner of the workspace.
fn is_of_person(path: &Path, workspace: &Path) -> bool {
    let owner = |path: &Path| path.metadata().ok().map(|found| found.uid());
    let found = owner(path);
    found.is_some()
        && (found == Some(rustix::process::geteuid().as_raw()) || found == owner(workspace))
}

/// An absolute path without links.
fn resolved(base: &Path, path: &Path) -> Option<PathBuf> {
    base.join(path).canonicalize().ok()
}

/// An absolute path without links, for a file that may be missing.
fn resolved_parent(base: &Path, path: &Path) -> Option<PathBuf> {
    let path = base.join(path);
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_files::fs::{Durability, write_atomic};

    struct Place(tempfile::TempDir);

    impl Place {
        fn with(directories: &[&str], files: &[(&str, &str)]) -> Self {
            let place = Self(tempfile::tempdir().unwrap());
            for directory in directories {
                fs::create_dir_all(place.at(directory)).unwrap();
            }
            for (file, text) in files {
                let path = place.at(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                let text = text.replace("ROOT", &place.at("").display().to_string());
                write_atomic(&path, text.as_bytes(), Durability::Atomic).unwrap();
            }
            place
        }

        fn at(&self, path: &str) -> PathBuf {
            if path.is_empty() {
                return self.0.path().canonicalize().unwrap();
            }
            self.0.path().canonicalize().unwrap().join(path)
        }

        #[track_caller]
        fn case(&self, workspace: &str, expected: &[&str]) {
            let expected: Vec<_> = expected.iter().map(|path| self.at(path)).collect();
            let found = outside(&self.at(workspace), &self.at("home"));
            let found = found.map(|found| [Some(found.shared), found.worktree]);
            let found: Vec<_> = found.into_iter().flatten().flatten().collect();
            assert_eq!(found, expected);
        }
    }

    const REPOSITORY: [&str; 2] = ["main/.git/objects", "main/.git/refs"];

    #[test]
    fn a_repository_in_the_workspace_needs_nothing_outside() {
        Place::with(&REPOSITORY, &[("main/.git/HEAD", "")]).case("main", &[]);
    }

    #[test]
    fn finds_the_repository_above() {
        let place = Place::with(&REPOSITORY, &[("main/.git/HEAD", ""), ("main/a/b/c", "")]);
        place.case("main/a/b", &["main/.git"]);
    }

    #[test]
    fn a_repository_of_the_whole_home_stays_hidden() {
        let place = Place::with(
            &["home/.git/objects", "home/.git/refs", "home/work"],
            &[("home/.git/HEAD", "")],
        );
        place.case("home/work", &[]);
    }

    #[test]
    fn finds_the_repository_of_a_worktree() {
        let place = Place::with(
            &REPOSITORY,
            &[
                ("main/.git/HEAD", ""),
                ("tree/.git", "gitdir: ROOT/main/.git/worktrees/tree\n"),
                ("main/.git/worktrees/tree/commondir", "../..\n"),
                ("main/.git/worktrees/tree/gitdir", "ROOT/tree/.git\n"),
            ],
        );
        place.case("tree", &["main/.git", "main/.git/worktrees/tree"]);
    }

    #[test]
    fn finds_the_repository_of_a_submodule() {
        let place = Place::with(
            &[
                "main/.git/modules/sub/objects",
                "main/.git/modules/sub/refs",
            ],
            &[
                ("main/sub/.git", "gitdir: ../.git/modules/sub\n"),
                ("main/.git/modules/sub/HEAD", ""),
                (
                    "main/.git/modules/sub/config",
                    "[core]\n\tworktree = ../../../sub\n",
                ),
            ],
        );
        place.case("main/sub", &["main/.git/modules/sub"]);
    }

    /// A `.git` file of a worktree, whose directory is forged in the workspace or named falsely.
    #[test]
    fn a_forged_worktree_opens_no_repository_of_the_person() {
        let place = Place::with(
            &REPOSITORY,
            &[
                ("main/.git/HEAD", ""),
                // Its own directory lies in the workspace and names the repository of the person.
                ("tree/.git", "gitdir: ROOT/tree/forged\n"),
                ("tree/forged/commondir", "ROOT/main/.git\n"),
                ("tree/forged/gitdir", "ROOT/tree/.git\n"),
                // The directory belongs to another worktree.
                ("other/.git", "gitdir: ROOT/main/.git/worktrees/tree\n"),
                ("main/.git/worktrees/tree/commondir", "../..\n"),
                ("main/.git/worktrees/tree/gitdir", "ROOT/tree/.git\n"),
                // It shares with a repository in which it does not lie.
                ("third/.git", "gitdir: ROOT/else/worktrees/third\n"),
                ("else/worktrees/third/commondir", "ROOT/main/.git\n"),
                ("else/worktrees/third/gitdir", "ROOT/third/.git\n"),
                // By a link in the workspace.
                ("fourth/.git", "gitdir: ROOT/fourth/link/worktrees/tree\n"),
            ],
        );
        std::os::unix::fs::symlink(place.at("main/.git"), place.at("fourth/link")).unwrap();
        for workspace in ["tree", "other", "third", "fourth"] {
            place.case(workspace, &[]);
        }
    }

    #[test]
    fn a_file_that_lies_leads_nowhere() {
        let place = Place::with(
            &REPOSITORY,
            &[
                ("main/.git/HEAD", ""),
                ("secret/key", ""),
                ("evil/.git", "gitdir: ROOT/main/.git"),
                ("worse/.git", "gitdir: ROOT/secret"),
                ("odd/.git", "no such thing"),
            ],
        );
        for workspace in ["evil", "worse", "odd"] {
            place.case(workspace, &[]);
        }
    }
}
