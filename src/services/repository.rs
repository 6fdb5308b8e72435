//! The git repository around a directory, as far as a place to work in is concerned.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::fs::{Durability, create_directory, write_atomic};

/// The largest list of ignored files that is read, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// The root of the repository that a directory belongs to.
pub(super) fn root_of(directory: &Path) -> Option<PathBuf> {
    let mut above = directory.ancestors();
    above
        .find(|directory| directory.join(".git").exists())
        .map(Path::to_owned)
}

fn is_plain(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// The directory that all worktrees of a repository share: `.git`, or for a linked worktree the
/// `.git` of the repository that it was made from.
///
/// Nothing where `.git` is a file that another directory does not know as its own: one that came
/// with a project can name any directory.
fn common_directory(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if is_plain(&git) {
        return Some(git);
    }
    let named = |file: &Path| -> Option<PathBuf> {
        let found = file.symlink_metadata().ok()?;
        if !found.is_file() || found.len() > 4096 {
            return None;
        }
        let text = fs::read_to_string(file).ok()?;
        let path = text.trim_end_matches(['\n', '\r']);
        let path = path.strip_prefix("gitdir: ").unwrap_or(path);
        crate::fs::canonical(file.parent()?.join(path)).ok()
    };
    let own = named(&git)?;
    let known = named(&own.join("gitdir"))?;
    if known != crate::fs::canonical(&git).ok()? {
        return None;
    }
    let common = named(&own.join("commondir"))?;
    (own.parent() == Some(&common.join("worktrees"))).then_some(common)
}

/// Has git ignore these files and folders of a directory, for this person only: they are added to
/// `info/exclude` in the repository, which is no part of the project and which all its worktrees
/// read.
///
/// Does nothing where there is no such file of the repository's own, as in a submodule.
pub(super) fn exclude(root: &Path, directory: &Path, names: &[&str]) -> Result<()> {
    let (Ok(within), Some(git)) = (directory.strip_prefix(root), common_directory(root)) else {
        return Ok(());
    };
    let info = git.join("info");
    if info.symlink_metadata().is_ok() && !is_plain(&info) {
        return Ok(());
    }
    create_directory(&info)?;
    let file = info.join("exclude");
    let known = match fs::metadata(&file) {
        Ok(found) if found.len() > LARGEST => return Ok(()),
        Ok(_) => fs::read(&file).map_err(|cause| Error::file("read", &file, cause))?,
        Err(_) => Vec::new(),
    };
    let Some(within) = within.to_str() else {
        return Ok(());
    };
    let mut text = known.clone();
    for name in names {
        let slash = if within.is_empty() { "" } else { "/" };
        let line = format!("/{}{slash}{name}", escaped(&within.replace('\\', "/")));
        let is_there = known
            .split(|byte| *byte == b'\n')
            .any(|known| known == line.as_bytes());
        if is_there {
            continue;
        }
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        text.extend_from_slice(format!("{line}\n").as_bytes());
    }
    if text == known {
        return Ok(());
    }
    write_atomic(&file, &text, Durability::Durable)
}

/// A path as a pattern that means only itself.
fn escaped(path: &str) -> String {
    let mut pattern = String::new();
    for character in path.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | ' ' | '!' | '#') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ignored_once_and_what_was_there_stays() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        create_directory(&root.join(".git/info")).unwrap();
        let below = root.join("a [b]");
        create_directory(&below).unwrap();
        let file = root.join(".git/info/exclude");
        write_atomic(&file, b"*.o", Durability::Atomic).unwrap();
        assert_eq!(root_of(&below).as_deref(), Some(root));
        for _ in 0..2 {
            exclude(root, root, &["outbox/"]).unwrap();
            exclude(root, &below, &["outbox/"]).unwrap();
        }
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text, "*.o\n/outbox/\n/a\\ \\[b\\]/outbox/\n");
    }

    #[test]
    fn a_linked_worktree_ignores_where_git_reads_it_and_no_other_directory_is_written_to() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let (main, linked) = (base.join("main"), base.join("linked"));
        let own = main.join(".git/worktrees/linked");
        for made in [&own, &linked] {
            create_directory(made).unwrap();
        }
        let write = |path: &Path, text: &str| {
            write_atomic(path, text.as_bytes(), Durability::Atomic).unwrap();
        };
        write(
            &linked.join(".git"),
            &format!("gitdir: {}\n", own.display()),
        );
        write(&own.join("commondir"), "../..\n");
        // A project can bring such a file; the repository that it names does not know it.
        exclude(&linked, &linked, &["outbox/"]).unwrap();
        write(&own.join("gitdir"), "/elsewhere/.git\n");
        exclude(&linked, &linked, &["outbox/"]).unwrap();
        let file = main.join(".git/info/exclude");
        assert!(!file.exists());
        let back = format!("{}\n", linked.join(".git").display());
        write(&own.join("gitdir"), &back);
        exclude(&linked, &linked, &["outbox/"]).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "/outbox/\n");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_came_with_the_project_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (root, elsewhere) = (directory.path().join("a"), directory.path().join("b"));
        create_directory(&root.join(".git")).unwrap();
        create_directory(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, root.join(".git/info")).unwrap();
        exclude(&root, &root, &["outbox/"]).unwrap();
        assert!(!elsewhere.join("exclude").exists());
    }
}
