//! Runs one program to its end, or to the end of its time.
//!
//! Invariants: [`run`] returns soon after the program ended, its time was up or the person
//! interrupted, whatever the program and its descendants do with their output; the group is killed
//! before it returns; memory depends on the cap and not on the output; and the output so far is
//! there in every case. `sandbox` decides what a program may do while it runs, and the caller what
//! its end means.

mod environment;
mod escapes;
mod output;
mod pipeline;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::api::ApiKey;
use crate::platform::{self, ChildEvent, ChildExit, ChildSession, ChildTree};
use crate::protocol::Capped;
use crate::sandbox::{Confinement, Launch};
use output::Output;
pub use pipeline::{FailedPart, hidden_failure};

/// How long a program that was asked to end may take, before it is killed.
const GRACE: Duration = Duration::from_millis(500);

/// How long to read on after the end: what is in the pipe already takes a moment, and a process
/// that left the group may hold the pipe open for ever.
const DRAIN: Duration = Duration::from_millis(250);

/// How long to wait for a killed child, which may hang in the kernel.
const REAP: Duration = Duration::from_secs(2);

/// How often to look whether the person interrupted.
const TICK: Duration = Duration::from_millis(50);

/// The program to run.
#[derive(Debug, Clone, Copy)]
pub enum Program<'a> {
    /// A script for `bash -c`, for `sh -c` where there is no bash, for PowerShell on Windows.
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
    /// A key that its output must not have in it, wherever it comes from.
    pub withheld: Option<&'a ApiKey>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
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
    pub end: End,
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
}

/// Runs the job to its end, to the end of its time, or until the person interrupts.
#[expect(clippy::needless_pass_by_value, reason = "a job is run once")]
pub fn run(job: Job<'_>) -> Ran {
    let began = Instant::now();
    let mut output = match job.program {
        Program::Shell(_) => Output::of_commands(job.max_output),
        // What git shows of a file is shown as it is.
        Program::Exec(_) => Output::keeping(job.max_output),
    };
    output.withhold(job.withheld);
    let mut set_aside = Vec::new();
    let mut is_lost = false;
    let end = match start(&job) {
        Ok(started) => {
            let mut launch = started.launch;
            let attended = Attended {
                tree: started.tree,
                launch: launch.as_mut(),
                output: &mut output,
                on_output: job.on_output,
                buffer: vec![0; 64 * 1024],
            };
            let deadline = began.checked_add(job.timeout);
            let end = attended.attend(deadline, job.cancelled);
            set_aside = launch.as_ref().map(Launch::set_aside).unwrap_or_default();
            is_lost =
                matches!(end, End::Signalled(_)) && launch.as_mut().is_some_and(Launch::is_lost);
            match launch.as_mut().and_then(Launch::refusal) {
                Some(reason) if matches!(end, End::Exited(_)) => End::NotStarted(reason),
                _ => end,
            }
        }
        Err(reason) => End::NotStarted(reason),
    };
    let (output, report) = output.finish();
    Ran {
        end,
        output,
        took: began.elapsed(),
        pipeline: report
            .map(|report| pipeline::parse(&report))
            .unwrap_or_default(),
        set_aside,
        is_lost,
    }
}

/// A child that runs, and what confines it.
struct Started {
    tree: ChildTree,
    launch: Option<Launch>,
}

fn start(job: &Job<'_>) -> Result<Started, String> {
    // The operating system's word for a missing directory is the same as for a missing program.
    if !job.directory.is_dir() {
        return Err(format!(
            "there is no directory `{}`",
            job.directory.display()
        ));
    }
    let program = words_of(&job.program)?;
    let mut environment = environment::allowed(std::env::vars_os());
    let confined = job.confinement.map(Confinement::environment);
    let confined = confined.into_iter().flatten();
    environment.extend(confined.map(|(name, value)| (name.into(), value)));
    let own = job.environment.iter();
    environment.extend(own.map(|(name, value)| (name.into(), value.into())));
    let (command, input, mut launch) = match job.confinement {
        None => {
            let mut command = plain(&program);
            command
                .current_dir(job.directory)
                .env_clear()
                .envs(environment);
            (command, Stdio::null(), None)
        }
        Some(confinement) => {
            let (command, input, launch) =
                Launch::prepare(confinement, job.directory, &program, environment)?;
            (command, input, Some(launch))
        }
    };
    let session = match launch {
        None => ChildSession::MadeBefore,
        Some(_) => ChildSession::MadeByChild,
    };
    let mut tree = ChildTree::start(command, input, session).map_err(|error| {
        let name = Path::new(&program[0]).display();
        format!("could not start `{name}`: {error}")
    })?;
    if let Some(launch) = &mut launch {
        launch.send_plan(&mut tree);
    }
    Ok(Started { tree, launch })
}

/// The program and its arguments; at least one word.
fn words_of(program: &Program<'_>) -> Result<Vec<OsString>, String> {
    match program {
        Program::Shell(script) => {
            let (shell, arguments) = platform::shell();
            let observed = pipeline::observed(&shell, script);
            let script = observed.as_deref().unwrap_or(script);
            let mut words = vec![shell.into_os_string()];
            words.extend(arguments.iter().map(OsString::from));
            words.push(OsString::from(script));
            Ok(words)
        }
        Program::Exec([]) => Err("no program was named".to_owned()),
        Program::Exec(words) => Ok(words.iter().map(OsString::from).collect()),
    }
}

fn plain(words: &[OsString]) -> Command {
    let mut command = platform::programs::with_whole_environment(Path::new(&words[0]));
    command.args(&words[1..]);
    command
}

/// A running child, and where its output goes.
struct Attended<'a> {
    tree: ChildTree,
    launch: Option<&'a mut Launch>,
    output: &'a mut Output,
    on_output: &'a mut dyn FnMut(&str),
    buffer: Vec<u8>,
}

impl Attended<'_> {
    fn attend(mut self, deadline: Option<Instant>, cancelled: &AtomicBool) -> End {
        let stopped = self.until_ended(deadline, Some(cancelled));
        if stopped.is_some() {
            self.tree.terminate();
            let late = self.until_ended(Some(Instant::now() + GRACE), None);
            if let (Some(_), Some(launch)) = (late, &self.launch) {
                // Its supervisor reaches also what has left the group.
                launch.stop();
                self.until_ended(Some(Instant::now() + GRACE), None);
            }
        }
        self.tree.kill();
        self.drain();
        let reported = self
            .launch
            .and_then(|launch| launch.reported_exit(&mut self.tree));
        let exit = match reported {
            Some(exit) => Ok(Some(exit)),
            None => self.tree.reap(REAP),
        };
        stopped.unwrap_or(match exit {
            // It was hit by the same Ctrl-C, in the moment before it had a session of its own.
            Ok(Some(ChildExit::Signal(INTERRUPT))) if cancelled.load(Ordering::Relaxed) => {
                End::Interrupted
            }
            Ok(Some(ChildExit::Code(code))) => End::Exited(code),
            Ok(Some(ChildExit::Signal(signal))) => End::Signalled(signal),
            Ok(None) | Err(_) => End::Signalled(KILLED),
        })
    }

    /// Takes output until the child has ended; tells why it was not waited for, if it was not.
    fn until_ended(
        &mut self,
        deadline: Option<Instant>,
        cancelled: Option<&AtomicBool>,
    ) -> Option<End> {
        loop {
            if cancelled.is_some_and(|cancelled| cancelled.load(Ordering::Relaxed)) {
                return Some(End::Interrupted);
            }
            let left = deadline.map_or(TICK, |deadline| {
                deadline.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                return Some(End::TimedOut);
            }
            match self.tree.next(&mut self.buffer, left.min(TICK)) {
                Ok(ChildEvent::Output(length)) => self.take(length),
                Ok(ChildEvent::Quiet) => (self.on_output)(""),
                Ok(ChildEvent::Closed) => {}
                // An error of the pipe or of `poll` leaves nothing to attend to.
                Ok(ChildEvent::Ended) | Err(_) => return None,
            }
        }
    }

    fn drain(&mut self) {
        let deadline = Instant::now() + DRAIN;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            match self.tree.drain(&mut self.buffer, left) {
                Ok(ChildEvent::Output(length)) => self.take(length),
                Ok(ChildEvent::Quiet | ChildEvent::Ended) => {}
                Ok(ChildEvent::Closed) | Err(_) => return,
            }
        }
    }

    fn take(&mut self, length: usize) {
        let text = self.output.push(&self.buffer[..length]);
        if !text.is_empty() {
            (self.on_output)(&text);
        }
    }
}

/// The number of the signal that cannot be refused.
const KILLED: i32 = 9;

/// The number of the signal that a terminal sends for Ctrl-C.
const INTERRUPT: i32 = 2;

#[cfg(test)]
#[cfg(unix)]
mod tests;
