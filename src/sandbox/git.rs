//! Where the repository of a workspace is.
//!
//! It can lie in the workspace, or elsewhere for a linked worktree, for a submodule and for a
//! workspace below the top of a repository. A `.git` file is content of the workspace and may
//! lie: a directory elsewhere counts only if it is a repository that points back.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The repository of a workspace that lies outside of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outside {
    /// The git directory, which a worktree shares with others.
    pub(super) shared: PathBuf,
    /// The directory of this worktree alone, if it is a linked one.
    pub(super) worktree: Option<PathBuf>,
}

/// The repository outside of the workspace that it belongs to.
pub(super) fn outside(workspace: &Path, home: &Path) -> Option<Outside> {
    let own = workspace.join(".git");
    match own.symlink_metadata() {
        Ok(found) if found.is_file() => linked(workspace, &own),
        Ok(_) => None,
        Err(_) => above(workspace, home).map(|shared| Outside {
            shared,
            worktree: None,
        }),
    }
}

/// The repository that the workspace is a part of.
fn above(workspace: &Path, home: &Path) -> Option<PathBuf> {
    workspace
        .ancestors()
        .skip(1)
        .take_while(|directory| *directory != home)
        .map(|directory| directory.join(".git"))
        .find(|git| is_repository(git))
}

/// What a `.git` file leads to: its own directory, and the one that it shares with others.
fn linked(workspace: &Path, file: &Path) -> Option<Outside> {
    let git = path_in(file, "gitdir:", workspace)?;
    let common = path_in(&git.join("commondir"), "", &git);
    let shared = common.as_deref().unwrap_or(&git);
    let points_back = match common {
        Some(_) => path_in(&git.join("gitdir"), "", &git).is_some_and(|back| back == file),
        None => worktree_of(&git).is_some_and(|worktree| worktree == workspace),
    };
    if !points_back || !is_repository(shared) || shared.starts_with(workspace) {
        return None;
    }
    Some(Outside {
        shared: shared.to_path_buf(),
        worktree: common.is_some().then_some(git),
    })
}

/// Where the configuration of a submodule says that its files are.
fn worktree_of(git: &Path) -> Option<PathBuf> {
    let configuration = read_short(&git.join("config"))?;
    let line = configuration.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "worktree").then(|| value.trim().to_owned())
    })?;
    Some(tidy(&git.join(line)))
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

/// The path that a short file holds after a word, made absolute.
fn path_in(file: &Path, word: &str, base: &Path) -> Option<PathBuf> {
    let text = read_short(file)?;
    let path = text.trim_end().strip_prefix(word)?.trim();
    (!path.is_empty()).then(|| tidy(&base.join(path)))
}

fn read_short(file: &Path) -> Option<String> {
    const MAX_BYTES: u64 = 64 * 1024;
    let found = file.symlink_metadata().ok()?;
    if !found.is_file() || found.len() > MAX_BYTES {
        return None;
    }
    fs::read_to_string(file).ok()
}

/// Takes `.` and `..` out of an absolute path, by its letters.
fn tidy(path: &Path) -> PathBuf {
    let mut tidied = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                tidied.pop();
            }
            Component::CurDir => {}
            other => tidied.push(other),
        }
    }
    tidied
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{Durability, write_atomic};

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
                return self.0.path().to_owned();
            }
            self.0.path().join(path)
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
