//! The git worktree of a task: made once, on a branch of its own, and removed if it has no changes.
//!
//! Neither hooks nor filters of the repository run. A file beside the worktree names the commit that it
//! began with; it is written when the worktree is complete, so one that a kill left half made is made
//! anew.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::super::commit::git::GitRepository;
use crate::error::{Error, Result};
use crate::fs::{Durability, write_atomic};

/// The file that names the commit a complete worktree began with.
const MADE: &str = "worktree.commit";

/// Git has no lock for this: one that is pruned takes along another that is just being made.
static WORKTREES: Mutex<()> = Mutex::new(());

/// The worktree of a task.
#[derive(Debug)]
pub(super) struct TaskWorktree {
    repository: PathBuf,
    /// The worktree itself.
    pub(super) folder: PathBuf,
    /// Its branch.
    pub(super) branch: String,
    made: PathBuf,
}

impl TaskWorktree {
    /// The worktree of a task of this repository, in the folder of the task.
    pub(super) fn of_task(repository: &Path, id: &str, folder: &Path) -> Self {
        Self {
            repository: repository.to_owned(),
            folder: folder.join("worktree"),
            branch: format!("batch/{id}"),
            made: folder.join(MADE),
        }
    }

    /// Makes it, unless it is there.
    pub(super) fn ensure(&self) -> Result<()> {
        if self.made.exists() && self.folder.join(".git").exists() {
            return Ok(());
        }
        let _one_at_a_time = WORKTREES.lock().unwrap_or_else(PoisonError::into_inner);
        let repository = GitRepository::around(&self.repository)?;
        let commit = repository
            .text_of(&["rev-parse", "--verify", "HEAD^{commit}"])
            .map_err(|error| error.hint("a worktree needs a first commit in the repository"))?;
        let folder = self.folder.to_string_lossy().into_owned();
        if self.folder.exists() {
            // Half made: nobody has worked in it.
            self.remove(&repository, &commit)?;
        }
        crate::fs::remove(&self.made)?;
        let words = [
            "worktree",
            "add",
            "--quiet",
            "--no-track",
            "-b",
            &self.branch,
            &folder,
            &commit,
        ];
        repository.text_of(&words).map_err(|error| {
            error.hint(format!(
                "if the branch `{}` is of an earlier batch, rename or delete it",
                self.branch
            ))
        })?;
        write_atomic(&self.made, commit.as_bytes(), Durability::Durable)
    }

    /// Removes it together with its branch if nothing was made, changed or committed in it; tells
    /// whether. An ignored file may be the result that the task was about.
    pub(super) fn remove_unchanged(&self) -> Result<bool> {
        let commit = std::fs::read_to_string(&self.made)
            .map_err(|cause| Error::file("read", &self.made, cause))?;
        let worktree = GitRepository::around(&self.folder)?;
        let head = worktree.text_of(&["rev-parse", "--verify", "HEAD^{commit}"])?;
        let status = worktree.text_of(&[
            "status",
            "--porcelain",
            "--untracked-files=normal",
            "--ignored",
        ])?;
        if head != commit.trim() || !status.is_empty() {
            return Ok(false);
        }
        let _one_at_a_time = WORKTREES.lock().unwrap_or_else(PoisonError::into_inner);
        self.remove(&GitRepository::around(&self.repository)?, &head)?;
        crate::fs::remove(&self.made)?;
        Ok(true)
    }

    fn remove(&self, repository: &GitRepository, commit: &str) -> Result<()> {
        let folder = self.folder.to_string_lossy().into_owned();
        // Twice, because git locks one that is being made.
        let words = ["worktree", "remove", "--force", "--force", &folder];
        if repository.text_of(&words).is_err() {
            crate::fs::remove(&self.folder)?;
            repository.text_of(&["worktree", "prune"])?;
        }
        // Only where it still names that commit: nothing else is lost.
        let branch = format!("refs/heads/{}", self.branch);
        let _ = repository.text_of(&["update-ref", "-d", &branch, commit]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a shell of the machine, in a test"
    )]
    fn tasks_that_begin_at_once_do_not_prune_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let script =
            "git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m one";
        let made = std::process::Command::new("sh")
            .args(["-c", script])
            .current_dir(directory.path())
            .status();
        assert!(made.unwrap().success());
        let begin = &|number: usize| {
            let folder = directory.path().join(format!(".git/tasks/{number}"));
            // A kill left it half made, so it is removed first.
            std::fs::create_dir_all(folder.join("worktree")).unwrap();
            TaskWorktree::of_task(directory.path(), &number.to_string(), &folder).ensure()
        };
        std::thread::scope(|scope| {
            let tasks: Vec<_> = (0..100)
                .map(|number| scope.spawn(move || begin(number)))
                .collect();
            for task in tasks {
                task.join().unwrap().unwrap();
            }
        });
    }
}
