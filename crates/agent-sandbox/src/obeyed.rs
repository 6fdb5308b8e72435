//! Protects names outside `.git` that git obeys because a configuration or a list of submodules
//! says so.
//!
//! `core.hooksPath`, `include.path`, `core.attributesFile`, links in place of hooks, and settings
//! that name a program may lead into the workspace: their targets are closed like `.git/hooks`. So
//! is the person's own configuration, if it is a link into the workspace or lies there. In
//! the directory of a submodule that is not checked out, `git status` at the top would obey a
//! `.git`, so it cannot be created. Missing names are reserved if their parent directory exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Confinement;
use super::reserve::is_marked;
use crate::repositories::{ConfiguredPaths, settings_of, work_trees};
use agent_files::fs::resolve_dots;

/// Limit on the submodules whose `.git` is reserved: a command can write any number into
/// `.gitmodules`, and they must not displace what a configuration names.
const MOST: usize = 500;

/// Closes these names. Returns true if there are any.
pub(super) fn protect(confinement: &mut Confinement, git_directories: &[PathBuf]) -> bool {
    let workspace = confinement.workspace.clone();
    let home = &confinement.home;
    let mut names: BTreeSet<PathBuf> = BTreeSet::new();
    let mut add = |mut led: ConfiguredPaths| {
        // Git fails if the person's own configuration is a directory. A new one is disabled.
        led.personal.retain(|path| path.symlink_metadata().is_ok());
        names.extend(led.beneath(&workspace).cloned());
    };
    add(ConfiguredPaths::in_workspace(&workspace, home));
    if let Some(outside) = &confinement.repository {
        let mut trees = work_trees(&outside.shared);
        trees.insert(workspace.clone());
        add(ConfiguredPaths::in_repository(
            &outside.shared,
            &[],
            &trees,
            home,
        ));
    }
    for git in git_directories {
        add(if git.is_dir() {
            ConfiguredPaths::in_repository(git, &[], &work_trees(git), home)
        } else {
            ConfiguredPaths::of_work_tree(git.parent().unwrap_or(git), home)
        });
    }
    let tops = git_directories.iter().filter_map(|git| git.parent());
    let tops = [workspace.as_path()].into_iter().chain(tops);
    let submodules = tops.flat_map(|top| missing_submodules(top, &workspace));
    names.extend(submodules.take(MOST));
    // A path below a link is also known under its real name.
    names.retain(|name| leads_through_no_link(name, &workspace) && !is_in_git(name, &workspace));
    let has_some = !names.is_empty();
    for name in names {
        let is_there = |path: &Path| path.symlink_metadata().is_ok();
        let above = name.ancestors().skip(1);
        let above = above.take_while(|path| *path != workspace);
        let above = above.filter(|path| is_there(path));
        confinement.pinned.extend(above.map(Path::to_owned));
        // A leftover from a power failure is removed with the others.
        if !is_there(&name) || is_marked(&name) {
            confinement.reserved.push(name.clone());
        }
        confinement.read_only.push(name);
    }
    has_some
}

/// The missing `.git` of each submodule that has a directory.
fn missing_submodules(top: &Path, workspace: &Path) -> Vec<PathBuf> {
    let settings = settings_of(&top.join(".gitmodules")).unwrap_or_default();
    let paths = settings.iter().filter(|setting| {
        setting.section == "submodule" && setting.subsection.is_some() && setting.name == "path"
    });
    paths
        .filter_map(|setting| Some(resolve_dots(&top.join(setting.text()?))))
        .filter(|path| path.starts_with(workspace) && path != workspace && path.is_dir())
        .map(|path| path.join(".git"))
        .filter(|git| git.symlink_metadata().is_err() || is_marked(git))
        .collect()
}

fn leads_through_no_link(path: &Path, workspace: &Path) -> bool {
    let mut within = path.ancestors().take_while(|path| *path != workspace);
    !within.any(Path::is_symlink)
}

/// True for a path in the git directory of the workspace, which is closed anyway.
fn is_in_git(path: &Path, workspace: &Path) -> bool {
    path.starts_with(workspace.join(".git"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use agent_files::fs::{Durability, write_atomic};

    #[track_caller]
    fn case(files: &[(&str, &str)], read_only: &[&str], reserved: &[&str], pinned: &[&str]) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let at = |paths: &[&str]| -> Vec<PathBuf> {
            paths
                .iter()
                .map(|path| root.join("work").join(path))
                .collect()
        };
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            write_atomic(&path, text.as_bytes(), Durability::Atomic).unwrap();
        }
        let mut confinement = Confinement::of_workspace(root.join("work"));
        confinement.home = root.join("home");
        confinement.search();
        assert_eq!(confinement.read_only, at(read_only));
        assert_eq!(confinement.reserved, at(reserved));
        assert_eq!(confinement.pinned, at(pinned));
    }

    #[test]
    fn where_a_configuration_leads_is_closed() {
        case(
            &[
                ("home/.gitconfig", "[core]hooksPath=.githooks"),
                ("work/.git/config", "[include]path=../shared/config"),
                ("work/shared/config", "[core]attributesFile=a/b/attributes"),
                ("work/file", ""),
            ],
            &[".githooks", "a/b/attributes", "shared/config"],
            &[".githooks", "a/b/attributes"],
            &["shared"],
        );
        case(&[("work/.git/config", "[core]hooksPath=.")], &[], &[], &[]);
        case(
            &[("work/.git/config", "[core]hooksPath=.git/mine")],
            &[],
            &[],
            &[],
        );
    }

    #[test]
    fn a_relative_path_is_closed_in_each_work_tree() {
        let git = |path: &str| {
            [
                format!("{path}/HEAD"),
                format!("{path}/objects/x"),
                format!("{path}/refs/x"),
            ]
        };
        let names: Vec<String> =
            [git(".git"), git("work/deps/lib/.git"), git("modules/m")].concat();
        let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        files.extend([
            (
                ".git/config",
                "[core]\nhooksPath=work/.husky\nfsmonitor=work/tools/watch",
            ),
            ("work/tools/x", ""),
            ("work/deps/lib/.git/config", "[core]hooksPath=hooks"),
            (
                "work/deps/lib/.git/worktrees/w/gitdir",
                "../../../../w/.git",
            ),
            ("work/deps/w/x", ""),
            ("work/module/.git", "gitdir: ../../modules/m"),
            ("modules/m/config", "[core]hooksPath=hooks"),
        ]);
        let closed = [
            ".husky",
            "deps/lib/hooks",
            "deps/w/hooks",
            "module/hooks",
            "tools/watch",
        ];
        let read_only = [&["deps/lib/.git", "module/.git"], &closed[..]].concat();
        let of_pointers = ["deps", "deps/lib", "module"];
        let of_names = ["deps/lib", "deps", "deps/w", "deps", "module", "tools"];
        let pinned = [&of_pointers[..], &of_names].concat();
        case(&files, &read_only, &closed, &pinned);
    }

    #[test]
    fn nothing_is_left_out_for_submodules() {
        let mut files = vec![(
            "work/.git/config".to_owned(),
            "[core]hooksPath=tools".to_owned(),
        )];
        let numbers = 0..=MOST;
        let modules: Vec<String> = (numbers.clone())
            .map(|number| format!("[submodule \"{number}\"]path=a/{number}\n"))
            .collect();
        files.extend(numbers.map(|number| (format!("work/a/{number}/x"), String::new())));
        files.push(("work/.gitmodules".to_owned(), modules.concat()));
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for (path, text) in &files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            write_atomic(&path, text.as_bytes(), Durability::Atomic).unwrap();
        }
        let mut confinement = Confinement::of_workspace(root.join("work"));
        confinement.home = root.join("home");
        confinement.search();
        assert!(confinement.read_only.contains(&root.join("work/tools")));
        assert_eq!(confinement.reserved.len(), MOST + 1);
    }

    #[test]
    fn a_submodule_that_is_not_there_gets_no_repository() {
        let modules = "[submodule \"a\"]path=deps/a\n[submodule \"b\"]path=deps/none\n[submodule \"c\"]path=../out\n";
        case(
            &[
                ("work/.gitmodules", modules),
                ("work/deps/a/x", ""),
                ("out/x", ""),
            ],
            &["deps/a/.git"],
            &["deps/a/.git"],
            &["deps/a", "deps"],
        );
    }
}
