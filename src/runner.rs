//! Where commands run: a [`Runner`] takes a [`Job`] and gives back what became of it, a [`Ran`].
//!
//! Invariants: [`Runner::run`] returns soon after the program ended, its time was up or the person
//! interrupted, whatever the program and its descendants do with their output; nothing of it runs on
//! after that; memory depends on the cap and not on the output; and the output so far is there in
//! every case. Files, approvals, snapshots and undo stay where the workspace is, wherever commands
//! run. `sandbox` decides what a program may do on this machine, and the caller what its end
//! means.

mod attend;
mod channel;
mod choice;
mod container;
mod container_file;
mod environment;
mod escapes;
mod exchange;
mod exchange_report;
mod exec;
mod framed;
mod kubectl;
mod listing;
mod local;
mod output;
mod owner;
mod pipeline;
mod set_id;
mod ssh;
mod tar;

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::known_keys::KnownKeys;
use crate::protocol::{Capped, ShellLanguage};
use crate::sandbox::{Confinement, Property, PropertyName};
pub use choice::{ContainerEngine, NoRunner, RunnerChoice};
pub use container::{ContainerRunner, REMOTE_FILES, is_remote, remove_stale, volumes};
pub use container_file::ContainerPlan;
pub use exchange::{ExchangeMemory, ExchangeRunner, RemoteConnection, runners_with_results};
pub use exec::ExecRunner;
pub use kubectl::PodConnection;
pub use local::LocalRunner;
pub use pipeline::{FailedPart, hidden_failure};
pub use ssh::SshConnection;

/// A runner, and what confines the commands that it runs.
#[derive(Debug, Clone)]
pub struct CommandPlace {
    /// Runs the commands.
    pub runner: Arc<dyn Runner>,
    /// The limits on this machine; none if a program may do whatever the person may.
    pub confinement: Option<Confinement>,
    /// The person's permissions.
    pub granted: Granted,
}

/// The permissions that a person gave, for one command or for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Granted {
    /// Access to the network.
    pub network: bool,
    /// The repository may be written, except for its hooks and configuration.
    pub git_write: bool,
}

impl Default for CommandPlace {
    fn default() -> Self {
        Self {
            runner: Arc::new(LocalRunner::default()),
            confinement: None,
            granted: Granted::default(),
        }
    }
}

/// A place where commands run.
pub trait Runner: fmt::Debug + Send + Sync {
    /// The properties that hold for its commands whatever they do, tested before the first one runs.
    ///
    /// The sandbox of this machine is tested elsewhere, and tells more.
    fn promises(&self) -> &'static [PropertyName] {
        &[]
    }

    /// A sentence for the person about what was asked of it and does not count.
    fn notice(&self) -> Option<String> {
        None
    }

    /// True for this machine, whose sandbox the job names.
    fn is_local(&self) -> bool {
        false
    }

    /// The language of its scripts.
    fn language(&self) -> ShellLanguage {
        ShellLanguage::Bash
    }

    /// True if changes of an earlier command have not come back, or nobody knows if they have.
    fn awaits_results(&self) -> bool {
        false
    }

    /// Takes back what earlier commands changed elsewhere; tells the person what did not go the usual
    /// way.
    fn fetch_results(&self, _cancelled: &AtomicBool) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// Removes what is elsewhere at the end of a session, unless results have not come back: then an
    /// error tells why it is kept and where. Changes no file of the workspace.
    fn finish(&self, cancelled: &AtomicBool) -> Result<(), String> {
        self.clean(cancelled)
    }

    /// Learns that a session left files elsewhere: if nothing is known of them, they may be results.
    fn expect_files(&self) {}

    /// True if it may keep files elsewhere.
    fn keeps_files(&self) -> bool {
        false
    }

    /// Removes what it keeps elsewhere; nothing of it is needed afterwards.
    fn clean(&self, _cancelled: &AtomicBool) -> Result<(), String> {
        Ok(())
    }

    /// Tries it out with commands of our own; tells what holds, or why it does not work.
    fn test(&self, workspace: &Path) -> Result<Vec<Property>, String> {
        self.test_survival(workspace)
    }

    /// Tries out if a process can outlive its command.
    fn test_survival(&self, workspace: &Path) -> Result<Vec<Property>, String> {
        // It leaves its session and forgets its variables, as a server would.
        let begin = "s=; if command -v setsid >/dev/null 2>&1; then s=setsid; fi; env -i $s sleep 600 >/dev/null 2>&1 & echo $!";
        let process = self.tried(workspace, begin)?;
        // A dead process that its parent has not taken leave of does not live.
        let look = format!(
            "p={}; if [ -r /proc/self/stat ]; then read -r s 2>/dev/null </proc/$p/stat && \
             case ${{s##*) }} in [ZX]*) ;; *) echo lives;; esac; \
             elif kill -0 $p 2>/dev/null; then echo lives; fi; true",
            process.trim()
        );
        let holds = self.tried(workspace, &look)?.is_empty();
        let name = PropertyName::Survival;
        Ok(vec![Property { name, holds }])
    }

    /// Runs a script of our own; tells what it printed.
    fn tried(&self, workspace: &Path, script: &str) -> Result<String, String> {
        let ran = self.run_script(workspace, script);
        match ran.end {
            RunEnd::Exited(0) => Ok(ran.output.text),
            RunEnd::NotStarted(reason) => Err(reason),
            end => {
                let words = ran.note.unwrap_or(ran.output.text);
                if !words.trim().is_empty() {
                    return Err(words);
                }
                Err(match end {
                    RunEnd::TimedOut => "a command of the test did not end in time".to_owned(),
                    RunEnd::Interrupted => "interrupted".to_owned(),
                    RunEnd::Exited(code) => format!("a command of the test ended with {code}"),
                    _ => "a command of the test was killed".to_owned(),
                })
            }
        }
    }

    /// Runs a script of our own for at most 20 seconds; nobody watches it.
    fn run_script(&self, directory: &Path, script: &str) -> Ran {
        self.run(Job {
            program: Program::Shell(script),
            directory,
            environment: &[],
            timeout: Duration::from_secs(20),
            max_output: 4000,
            cancelled: &AtomicBool::new(false),
            on_output: &mut |_| {},
            confinement: None,
            withheld: None,
            granted: Granted::default(),
        })
    }

    /// Runs the job to its end, to the end of its time, or until the person interrupts.
    fn run(&self, job: Job<'_>) -> Ran;
}

/// The program to run.
#[derive(Debug, Clone, Copy)]
pub enum Program<'a> {
    /// A script in the language of the runner.
    Shell(&'a str),
    /// A program, at an absolute path or found through `PATH`, and its arguments.
    Exec(&'a [&'a OsStr]),
}

/// A program to run and its bounds.
pub struct Job<'a> {
    /// The program to run.
    pub program: Program<'a>,
    /// Where it is run.
    pub directory: &'a Path,
    /// Added to the environment, which is otherwise built from a list of allowed names.
    pub environment: &'a [(&'a str, &'a str)],
    /// How long it may run.
    pub timeout: Duration,
    /// How many characters of its output are kept.
    pub max_output: usize,
    /// Ends the run when it becomes true: the person's Ctrl-C.
    pub cancelled: &'a AtomicBool,
    /// Is told each piece of the output as it comes, and now and then nothing while it runs on.
    pub on_output: &'a mut dyn FnMut(&str),
    /// The limits on what it may see and change; none if it may do whatever the person may.
    pub confinement: Option<&'a Confinement>,
    /// Keys that its output must not have in it, wherever they come from.
    pub withheld: Option<&'a KnownKeys>,
    /// The person's permissions, for a runner that confines in its own way.
    pub granted: Granted,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// Its time was up.
    TimedOut,
    /// The person interrupted it.
    Interrupted,
    /// It did not begin, for this reason.
    NotStarted(String),
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub end: RunEnd,
    /// Its output and its errors in the order in which they came, cut in the middle.
    pub output: Capped,
    /// How long it took.
    pub took: Duration,
    /// The exit codes of the parts of a script's last pipeline, if it has several and the shell
    /// told them.
    pub pipeline: Vec<i32>,
    /// Files that came meanwhile, and were renamed because git would obey them.
    pub set_aside: Vec<PathBuf>,
    /// True if it was ended because somebody killed the supervisor of its sandbox.
    pub is_lost: bool,
    /// A sentence for the model about the place where it ran.
    pub note: Option<String>,
}

impl Ran {
    /// A job that did not begin, for this reason.
    fn not_started(reason: impl Into<String>) -> Self {
        Self {
            end: RunEnd::NotStarted(reason.into()),
            output: Capped::default(),
            took: Duration::ZERO,
            pipeline: Vec::new(),
            set_aside: Vec::new(),
            is_lost: false,
            note: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A runner whose commands end so and print nothing.
    #[derive(Debug)]
    struct SilentRunner(RunEnd);

    impl Runner for SilentRunner {
        fn run(&self, _: Job<'_>) -> Ran {
            Ran {
                end: self.0.clone(),
                ..Ran::not_started("")
            }
        }
    }

    #[test]
    fn a_failed_test_always_has_a_reason() {
        for (end, words) in [
            (RunEnd::TimedOut, "did not end in time"),
            (RunEnd::Exited(3), "ended with 3"),
            (RunEnd::Signalled(9), "was killed"),
        ] {
            let reason = SilentRunner(end).test(Path::new("/")).unwrap_err();
            assert!(reason.contains(words), "{reason}");
        }
    }
}
