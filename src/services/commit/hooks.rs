//! The hooks of a repository that a commit would run: which files they execute, and which of these the
//! session changed.

use std::collections::BTreeSet;
use std::path::Path;

use super::git::GitRepository;
use super::is_executable;
use crate::error::Result;

/// The hooks that `git commit` runs.
const OF_A_COMMIT: [&str; 5] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "reference-transaction",
];
/// Files that tell hook managers what to run.
const MANAGERS: [&str; 9] = [
    ".pre-commit-config.yaml",
    "package.json",
    ".lintstagedrc",
    ".lintstagedrc.json",
    "lint-staged.config.js",
    "lefthook.yml",
    ".lefthook.yml",
    "Makefile",
    "justfile",
];
/// The largest hook that is read, in bytes.
const LARGEST: u64 = 256 * 1024;

/// A hook that would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFile {
    /// Its name: `pre-commit`.
    pub name: String,
    /// The files that it executes or obeys, as far as it names them, itself first.
    pub runs: Vec<RunFile>,
}

/// A file that a hook executes or obeys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFile {
    /// Its path, from the root of the repository where it lies there.
    pub path: String,
    /// True if the session changed it.
    pub is_changed: bool,
}

/// The hooks that are there and can be executed.
pub(super) fn found(
    repository: &GitRepository,
    changed: &BTreeSet<String>,
) -> Result<Vec<HookFile>> {
    let directory = repository.hooks_directory()?;
    let root = repository.root();
    let mut hooks = Vec::new();
    for name in OF_A_COMMIT {
        let path = directory.join(name);
        let is_run = path
            .metadata()
            .is_ok_and(|found| found.is_file() && is_executable(&found));
        if is_run {
            hooks.push(HookFile {
                name: name.to_owned(),
                runs: run_by(&path, root, changed),
            });
        }
    }
    Ok(hooks)
}

fn run_by(hook: &Path, root: &Path, changed: &BTreeSet<String>) -> Vec<RunFile> {
    let shown = |path: &Path| {
        let below = path.strip_prefix(root).unwrap_or(path);
        below.to_string_lossy().replace('\\', "/")
    };
    let mut names = vec![shown(hook)];
    let text = crate::fs::read_plain(hook, LARGEST).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let is_part = |letter: char| letter.is_alphanumeric() || "._-/+".contains(letter);
    for word in text.split(|letter| !is_part(letter)) {
        let word = word.trim_start_matches("./").trim_end_matches(['.', '/']);
        let is_file = !word.is_empty() && !word.starts_with('/') && root.join(word).is_file();
        if is_file && !names.iter().any(|name| name == word) {
            names.push(word.to_owned());
        }
    }
    for name in MANAGERS {
        if root.join(name).is_file() && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
        .into_iter()
        .map(|path| RunFile {
            is_changed: changed.contains(&path),
            path,
        })
        .collect()
}
