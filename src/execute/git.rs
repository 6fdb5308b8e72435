//! `GIT_STATUS` and `GIT_DIFF`, with nothing of the repository's own choosing being run.
//!
//! A repository's settings can name programs: hooks, a monitor of the file system, a pager, an
//! external diff, filters. All of them are switched off here (filters only where there is no sandbox), and the settings of the person and the machine
//! are not read. `git` itself is taken from `PATH`, but never from inside the workspace.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::Execution;
use super::command::describe;
use super::run::{End, Program};
use crate::protocol::{Outcome, RelPath};

/// What is switched off whatever is asked.
const HARDENED: &[&str] = &[
    "--no-optional-locks",
    "--no-pager",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.pager=cat",
    "-c",
    "core.quotePath=false",
    "-c",
    "diff.external=",
    "-c",
    "color.ui=false",
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // A partial clone would fetch what is missing, by a program that its settings name.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_PAGER", "cat"),
    ("LC_ALL", "C.UTF-8"),
];

/// What is said of a difference that there is.
const DIFFERENCES: &str = "the differences are below";

impl Execution<'_> {
    /// Shows which files changed since the last commit.
    pub(super) fn git_status(&mut self, path: Option<&RelPath>) -> Outcome {
        let status = [
            "status",
            "--short",
            "--branch",
            "--untracked-files=all",
            "--ignore-submodules=dirty",
        ];
        self.git(&status, path, "the state of the files is below")
    }

    /// Shows how tracked files differ from the index.
    pub(super) fn git_diff(&mut self, path: Option<&RelPath>) -> Outcome {
        let diff = [
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=dirty",
        ];
        let outcome = self.git(&diff, path, DIFFERENCES);
        if outcome.message == DIFFERENCES && outcome.detail.is_empty() {
            return Outcome::ok("no differences; files that git does not track are in GIT_STATUS");
        }
        outcome
    }

    fn git(&mut self, arguments: &[&str], path: Option<&RelPath>, message: &str) -> Outcome {
        let search = std::env::var_os("PATH").unwrap_or_default();
        let Some(git) = find_outside("git", &search, self.workspace.path()) else {
            return Outcome::failed("git is not installed");
        };
        // A name such as `:/` or `*.rs` means itself here, not a pattern.
        let literal = path.map_or(".".to_owned(), |path| format!(":(literal){path}"));
        let mut words: Vec<&OsStr> = vec![git.as_os_str()];
        words.extend(HARDENED.iter().map(OsStr::new));
        let off = self.filters_off(&git);
        words.extend(off.iter().map(OsStr::new));
        words.extend(arguments.iter().map(OsStr::new));
        words.extend(["--", &literal].map(OsStr::new));
        let timeout = self.limits.command_timeout;
        let ran = self.run(Program::Exec(&words), ENVIRONMENT, timeout);
        match ran.end {
            End::Exited(0) => Outcome::ok(message).with_detail(ran.output),
            // `git diff` begins the sentence with it, `git status` does not.
            End::Exited(_) if ran.output.text.contains("ot a git repository") => {
                // An answer like any other: no reason to refuse a DONE.
                Outcome::ok("the workspace is not a git repository")
            }
            _ => Outcome::failed(describe(&ran, timeout)).with_detail(ran.output),
        }
    }
}

impl Execution<'_> {
    /// Options that switch the repository's filters off where they would run unconfined.
    ///
    /// In the sandbox they may run: without them files of `git-lfs` and the like look changed.
    fn filters_off(&mut self, git: &Path) -> Vec<String> {
        if self.confinement.is_some() {
            return Vec::new();
        }
        let filters = [
            "config",
            "--null",
            "--name-only",
            "--get-regexp",
            "^filter[.]",
        ];
        let mut words: Vec<&OsStr> = vec![git.as_os_str()];
        words.extend(filters.map(OsStr::new));
        let timeout = self.limits.command_timeout;
        let ran = self.run(Program::Exec(&words), ENVIRONMENT, timeout);
        let keys = ran.output.text.split('\0').filter(|key| !key.is_empty());
        let off = |key: &str| {
            let value = if key.ends_with(".required") {
                "false"
            } else {
                ""
            };
            ["-c".to_owned(), format!("{key}={value}")]
        };
        keys.flat_map(off).collect()
    }
}

/// Finds a program in the directories of `PATH`, those inside the workspace left out: what lies
/// there is the model's own work.
fn find_outside(name: &str, search: &OsStr, workspace: &Path) -> Option<PathBuf> {
    let file = OsString::from(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    std::env::split_paths(search)
        .filter(|directory| directory.is_absolute())
        .filter_map(|directory| directory.join(&file).canonicalize().ok())
        .find(|program| program.is_file() && !program.starts_with(workspace))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::super::stage::{Stage, create, path, stage};
    use super::*;
    use crate::protocol::Command;

    const STATUS: Command = Command::GitStatus { path: None };
    const DIFF: Command = Command::GitDiff { path: None };

    fn git(stage: &Stage, arguments: &[&str]) {
        let output = std::process::Command::new("git")
            .args([
                "-c",
                "user.name=n",
                "-c",
                "user.email=e",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(arguments)
            .current_dir(stage.directory.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    fn repository() -> Stage {
        let stage = stage(&[("a.txt", "one\n"), ("*.txt", "star\n")]);
        for arguments in [
            &["init", "-q"][..],
            &["add", "."],
            &["commit", "-qm", "first"],
        ] {
            git(&stage, arguments);
        }
        stage
    }

    #[test]
    fn shows_what_changed() {
        let mut stage = repository();
        assert!(stage.one(DIFF).message.starts_with("no differences"));
        stage.succeeds(vec![create("a.txt", "two\n"), create("d/new", "")]);
        let status = stage.one(STATUS);
        assert_eq!(status.detail.text.trim_end(), "## main\n M a.txt\n?? d/new");
        let diff = stage.one(DIFF);
        assert!(
            diff.detail.text.contains("-one\n+two\n"),
            "{}",
            diff.detail.text
        );
        let only = stage.one(Command::GitDiff {
            path: Some(path("*.txt")),
        });
        assert!(only.detail.is_empty(), "{}", only.detail.text);
    }

    #[test]
    fn says_that_there_is_no_repository() {
        for command in [STATUS, DIFF] {
            let outcome = stage(&[]).one(command);
            assert_eq!(
                outcome,
                Outcome::ok("the workspace is not a git repository")
            );
        }
    }

    /// The counterpart shows that the same settings do run a program when nothing is switched off.
    #[test]
    fn runs_nothing_that_the_repository_names() {
        let mut stage = repository();
        stage.change("a.txt", "two\n");
        let root = stage.directory.path().to_owned();
        let trap = root.join("trap");
        stage.change("trap", "#!/bin/sh\ntouch \"$(dirname \"$0\")/sprung\"\n");
        fs::set_permissions(&trap, Permissions::from_mode(0o755)).unwrap();
        stage.change(".gitattributes", "*.txt diff=trap\n");
        let trap = trap.to_str().unwrap();
        for key in [
            "core.fsmonitor",
            "diff.external",
            "core.pager",
            "diff.trap.textconv",
            "diff.trap.command",
        ] {
            git(&stage, &["config", key, trap]);
        }
        stage.one(STATUS);
        stage.one(DIFF);
        assert!(!root.join("sprung").exists());
        git(&stage, &["diff"]);
        assert!(root.join("sprung").exists());
    }

    #[test]
    fn a_program_of_the_workspace_is_not_taken_for_git() {
        let stage = stage(&[("bin/git", "")]);
        let inside = stage.workspace.path().join("bin");
        let outside = tempfile::tempdir().unwrap();
        let real = outside.path().join("git");
        fs::File::create(&real).unwrap();
        let search = std::env::join_paths([Path::new("bin"), &inside, outside.path()]).unwrap();
        let found = find_outside("git", &search, stage.workspace.path());
        assert_eq!(found, Some(real.canonicalize().unwrap()));
        assert_eq!(
            find_outside("git", inside.as_os_str(), stage.workspace.path()),
            None
        );
    }
}
