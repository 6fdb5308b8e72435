//! `GIT_STATUS` and `GIT_DIFF`, with nothing of the repository's own choosing being run.
//!
//! A repository's settings can name programs: hooks, a monitor of the file system, a pager, an
//! external diff. All of them are switched off here, and the settings of the person and the machine
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
    ("GIT_PAGER", "cat"),
    ("LC_ALL", "C.UTF-8"),
];

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
        self.git(&status, path)
    }

    /// Shows how tracked files differ from the index.
    pub(super) fn git_diff(&mut self, path: Option<&RelPath>) -> Outcome {
        let diff = [
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=dirty",
        ];
        let outcome = self.git(&diff, path);
        if outcome.status == crate::protocol::Status::Ok && outcome.detail.is_empty() {
            return Outcome::ok("no differences");
        }
        outcome
    }

    fn git(&mut self, arguments: &[&str], path: Option<&RelPath>) -> Outcome {
        let search = std::env::var_os("PATH").unwrap_or_default();
        let Some(git) = find_outside("git", &search, self.workspace.path()) else {
            return Outcome::failed("git is not installed");
        };
        // A name such as `:/` or `*.rs` means itself here, not a pattern.
        let literal = path.map_or(".".to_owned(), |path| format!(":(literal){path}"));
        let mut words: Vec<&OsStr> = vec![git.as_os_str()];
        words.extend(HARDENED.iter().chain(arguments).map(OsStr::new));
        words.extend(["--", &literal].map(OsStr::new));
        let timeout = self.limits.command_timeout;
        let ran = self.run(Program::Exec(&words), ENVIRONMENT, timeout);
        match ran.end {
            End::Exited(0) => Outcome::ok(describe(&ran, timeout)).with_detail(ran.output),
            End::Exited(_) if ran.output.text.contains("not a git repository") => {
                Outcome::failed("the workspace is not a git repository")
            }
            _ => Outcome::failed(describe(&ran, timeout)).with_detail(ran.output),
        }
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
