//! `GIT_STATUS` and `GIT_DIFF`, with nothing of the repository's own choosing being run.
//!
//! A repository's settings can name programs: hooks, a monitor of the file system, a pager, an
//! external diff, filters. All of them are switched off here, and the settings of the person and
//! the machine are not read. Where there is no sandbox, filters are switched off too, and so is a
//! setting by which the files lie elsewhere. `git` itself is taken from `PATH`, but never from
//! inside the workspace.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use super::Execution;
use super::command::unsuccessful;
use crate::platform::files::name_of_bytes;
use crate::platform::programs;
use crate::protocol::{Capped, Outcome, RelPath};
use crate::runner::{Granted, Job, LocalRunner, Program, RunEnd, Runner as _};

/// Options that are always given, to switch off whatever runs programs or writes.
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
    // Else git would be run in submodules, with their settings.
    "-c",
    "diff.submodule=short",
    "-c",
    "status.submoduleSummary=false",
];

/// The message if there is no repository.
const NO_REPOSITORY: &str = "the workspace is not a git repository";

/// Variables of a git that reads no settings of the person and the machine, fetches nothing and asks
/// nobody.
pub const GIT_ISOLATION: [(&str, &str); 7] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // A partial clone would fetch what is missing, by a program that its settings name.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
];
/// Variables for the form of what it prints.
const FORM: [(&str, &str); 2] = [("GIT_PAGER", "cat"), ("LC_ALL", "C.UTF-8")];

/// The message if the settings could hide a program.
const UNCLEAR: &str = "the repository's settings are too long or not plain text, so that programs which they name could run here without a sandbox; the user can run git by hand";

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
        match self.git(&status, path) {
            Ok(state) => Outcome::ok("git told the state of the files")
                .with_hint("it is below")
                .with_detail(state),
            Err(outcome) => outcome,
        }
    }

    /// Shows how tracked files differ from the index.
    pub(super) fn git_diff(&mut self, path: Option<&RelPath>) -> Outcome {
        let diff = [
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=dirty",
        ];
        match self.git(&diff, path) {
            Ok(found) if found.is_empty() => Outcome::ok("no differences")
                .with_hint("files that git does not track are in GIT_STATUS"),
            Ok(found) => differences(found),
            Err(outcome) => outcome,
        }
    }

    /// Shows how tracked files differ from a commit. What it is called must not begin with a dash.
    pub fn diff_since(&mut self, revision: &str) -> Outcome {
        let diff = [
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=dirty",
            revision,
        ];
        match self.git(&diff, None) {
            Ok(found) if found.is_empty() => Outcome::ok("no differences in files that git tracks"),
            Ok(found) => differences(found),
            Err(outcome) => outcome,
        }
    }

    /// Runs git and returns its output.
    fn git(&mut self, arguments: &[&str], path: Option<&RelPath>) -> Result<Capped, Outcome> {
        let Some(git) = programs::find("git") else {
            return Err(Outcome::failed("git is not installed"));
        };
        // A name such as `:/` or `*.rs` means itself here, not a pattern.
        let literal = path.map_or(".".to_owned(), |path| format!(":(literal){path}"));
        let mut words: Vec<&OsStr> = vec![git.as_os_str()];
        words.extend(HARDENED.iter().map(OsStr::new));
        let unconfined = match self.place.confinement {
            Some(_) => Unconfined::default(),
            None => self.without_a_sandbox(&git)?,
        };
        words.extend(unconfined.places.iter().map(OsString::as_os_str));
        words.extend(arguments.iter().map(OsStr::new));
        words.extend(["--", &literal].map(OsStr::new));
        let timeout = self.limits.command_timeout;
        let settings = unconfined.settings.iter();
        let settings = settings.map(|(name, value)| (name.as_str(), value.as_str()));
        let environment: Vec<_> = GIT_ISOLATION
            .into_iter()
            .chain(FORM)
            .chain(settings)
            .collect();
        let ran = self.run(Program::Exec(&words), &environment, timeout);
        match ran.end {
            RunEnd::Exited(0) => Ok(ran.output),
            // `git diff` begins the sentence with it, `git status` does not.
            RunEnd::Exited(_) if ran.output.text.contains("ot a git repository") => {
                // An answer like any other: no reason to refuse a DONE.
                Err(Outcome::ok(NO_REPOSITORY))
            }
            _ => Err(unsuccessful(ran, timeout)),
        }
    }
}

/// The files of a directory that git tracks, as paths from there; none outside of a repository.
pub fn tracked_files(directory: &Path) -> BTreeSet<PathBuf> {
    let Ok(mut command) = programs::command("git") else {
        return BTreeSet::new();
    };
    without_git_variables(&mut command);
    command
        .args(HARDENED)
        .args(["ls-files", "-z", "--cached"])
        .current_dir(directory)
        .envs(GIT_ISOLATION.into_iter().chain(FORM))
        .stdin(Stdio::null());
    let Ok(output) = command.output() else {
        return BTreeSet::new();
    };
    let names = output.stdout.split(|byte| *byte == 0);
    names
        .filter(|name| !name.is_empty())
        .filter_map(|name| Some(name_of_bytes(name)?.into()))
        .collect()
}

/// Removes the variables of git that we inherited: they would lead it elsewhere.
pub fn without_git_variables(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
}

fn differences(found: Capped) -> Outcome {
    Outcome::ok("git found differences")
        .with_hint("they are below")
        .with_detail(found)
}

/// The arguments and variables for a git that nothing confines.
#[derive(Debug, Default)]
struct Unconfined {
    /// Options that say where the repository is and where its files are.
    places: Vec<OsString>,
    /// Variables that switch its filters off.
    ///
    /// In the sandbox they may run: without them files of `git-lfs` and the like look changed.
    settings: Vec<(String, String)>,
}

impl Execution<'_> {
    fn without_a_sandbox(&self, git: &Path) -> Result<Unconfined, Outcome> {
        // This also makes sure that the repository belongs to the person.
        let directory = self.ask(git, &["rev-parse", "--absolute-git-dir"])?;
        let directory = Path::new(directory.strip_suffix('\n').unwrap_or(&directory));
        let files = self
            .workspace
            .path()
            .ancestors()
            .find(|files| {
                let own = files.join(".git");
                own.is_file() || is_same(&own, directory)
            })
            .ok_or_else(|| Outcome::ok(NO_REPOSITORY))?;
        let pattern = r"^(filter\..*|core\.worktree)$";
        let settings = self.ask(git, &["config", "--null", "--get-regexp", pattern])?;
        let mut filters = BTreeSet::new();
        for setting in settings.split_terminator('\0') {
            match setting.split_once('\n').unwrap_or((setting, "")) {
                ("core.worktree", place) => ensure_here(directory, place, files)?,
                (key, _) if key.starts_with("filter.") => {
                    filters.insert(key);
                }
                _ => return Err(Outcome::refused(UNCLEAR)),
            }
        }
        let option = |name: &str, place: &Path| {
            let mut option = OsString::from(name);
            option.push(place);
            option
        };
        Ok(Unconfined {
            places: vec![
                option("--git-dir=", directory),
                option("--work-tree=", files),
            ],
            settings: filters_off(&filters),
        })
    }

    /// Asks git about the repository and returns its whole, exact answer.
    fn ask(&self, git: &Path, question: &[&str]) -> Result<String, Outcome> {
        const MAX_CHARS: usize = 64 * 1024;
        let mut words: Vec<&OsStr> = vec![git.as_os_str()];
        words.extend(question.iter().map(OsStr::new));
        let timeout = self.limits.command_timeout;
        let never = AtomicBool::new(false);
        let watch = self.watch.as_ref();
        let ran = LocalRunner::default().run(Job {
            program: Program::Exec(&words),
            directory: self.workspace.path(),
            environment: &[&GIT_ISOLATION[..], &FORM].concat(),
            timeout,
            max_output: MAX_CHARS,
            cancelled: watch.map_or(&never, |watch| watch.cancelled),
            on_output: &mut |_| {},
            confinement: None,
            // Names and settings, which must be exact; they are not shown.
            withheld: None,
            granted: Granted::default(),
        });
        let text = &ran.output.text;
        let is_whole = ran.output.omitted == 0 && !text.contains(char::REPLACEMENT_CHARACTER);
        match ran.end {
            RunEnd::Exited(0) if is_whole => Ok(ran.output.text),
            RunEnd::Exited(0) => Err(Outcome::refused(UNCLEAR)),
            // So it says that there is no such setting.
            RunEnd::Exited(1) if text.is_empty() => Ok(String::new()),
            RunEnd::Exited(_) if text.contains("ot a git repository") => {
                Err(Outcome::ok(NO_REPOSITORY))
            }
            _ => Err(unsuccessful(ran, timeout)),
        }
    }
}

/// Makes sure that a `core.worktree` says what is so anyway.
fn ensure_here(directory: &Path, place: &str, files: &Path) -> Result<(), Outcome> {
    // In a linked worktree git itself does not heed it.
    if directory.join("commondir").exists() || is_same(&directory.join(place), files) {
        return Ok(());
    }
    Err(Outcome::refused(format!(
        "the repository's `core.worktree` leads to `{}`, not to the workspace; the user can unset it",
        place.escape_debug()
    )))
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((crate::fs::canonical(one), crate::fs::canonical(other)), (Ok(one), Ok(other)) if one == other)
}

/// Variables that switch these filters off. On the command line a name that has a `=` would be cut
/// there.
pub fn filters_off(keys: &BTreeSet<&str>) -> Vec<(String, String)> {
    let mut variables = vec![("GIT_CONFIG_COUNT".to_owned(), keys.len().to_string())];
    for (number, key) in keys.iter().enumerate() {
        let value = if key.ends_with(".required") {
            "false"
        } else {
            ""
        };
        variables.push((format!("GIT_CONFIG_KEY_{number}"), (*key).to_owned()));
        variables.push((format!("GIT_CONFIG_VALUE_{number}"), value.to_owned()));
    }
    variables
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
        let output = programs::command("git")
            .unwrap()
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
        fs::set_permissions(inside.join("git"), Permissions::from_mode(0o755)).unwrap();
        assert_eq!(programs::find_in(inside.as_os_str(), "git"), None);
    }
}
