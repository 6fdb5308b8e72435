//! Commands on this machine, in its sandbox or without one.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::attend::{Attended, Supervisor};
use super::output::Output;
use super::{Job, Program, Ran, RunEnd, Runner, environment, pipeline};
use crate::platform::{self, ChildRestrictions, ChildSession, ChildTree};
use crate::protocol::ShellLanguage;
use crate::sandbox::{CommandShell, Confinement, Launch, PreparedScript};

/// Runs commands on this machine, confined as the job says.
#[derive(Debug, Clone, Default)]
pub struct LocalRunner {
    /// Runs scripts.
    pub shell: CommandShell,
    /// Restrictions on commands that have no sandbox.
    pub restrictions: ChildRestrictions,
}

impl Runner for LocalRunner {
    fn is_local(&self) -> bool {
        true
    }

    fn language(&self) -> ShellLanguage {
        self.shell.language
    }

    fn run(&self, job: Job<'_>) -> Ran {
        let began = Instant::now();
        let mut output = match job.program {
            Program::Shell(_) => Output::of_commands(job.max_output),
            // What git shows of a file is shown as it is.
            Program::Exec(_) => Output::keeping(job.max_output),
        };
        output.withhold(job.withheld);
        let mut set_aside = Vec::new();
        let mut is_lost = false;
        let end = match start(&job, self) {
            Ok(started) => {
                let mut launch = started.launch;
                let attended = Attended {
                    tree: started.tree,
                    supervisor: match launch.as_mut() {
                        Some(launch) => Supervisor::Sandbox(launch),
                        None => Supervisor::Nobody,
                    },
                    output: &mut output,
                    on_output: job.on_output,
                    buffer: vec![0; 64 * 1024],
                };
                let deadline = began.checked_add(job.timeout);
                let end = attended.attend(deadline, job.cancelled);
                set_aside = launch.as_ref().map(Launch::set_aside).unwrap_or_default();
                is_lost = matches!(end, RunEnd::Signalled(_))
                    && launch.as_mut().is_some_and(Launch::is_lost);
                match launch.as_mut().and_then(Launch::refusal) {
                    Some(reason) if matches!(end, RunEnd::Exited(_)) => RunEnd::NotStarted(reason),
                    _ => end,
                }
            }
            Err(reason) => RunEnd::NotStarted(reason),
        };
        let (output, reports) = output.finish();
        Ran {
            end,
            output,
            took: began.elapsed(),
            pipeline: reports
                .pipeline
                .map(|report| pipeline::parse(&report))
                .unwrap_or_default(),
            set_aside,
            is_lost,
            note: None,
        }
    }
}

/// A child that runs, and what confines it.
struct Started {
    tree: ChildTree,
    launch: Option<Launch>,
    /// The file of the script, which is removed when it has run.
    _script: PreparedScript,
}

fn start(job: &Job<'_>, runner: &LocalRunner) -> Result<Started, String> {
    // The operating system's word for a missing directory is the same as for a missing program.
    if !job.directory.is_dir() {
        return Err(format!(
            "there is no directory `{}`",
            job.directory.display()
        ));
    }
    let script = prepared(&job.program, &runner.shell)?;
    let program = &script.words;
    let mut environment = environment::allowed(std::env::vars_os());
    let confined = job.confinement.map(Confinement::environment);
    let confined = confined.into_iter().flatten();
    environment.extend(confined.map(|(name, value)| (name.into(), value)));
    let own = job.environment.iter();
    environment.extend(own.map(|(name, value)| (name.into(), value.into())));
    let (command, input, mut launch) = match job.confinement {
        None => {
            let mut command = plain(program);
            command
                .current_dir(job.directory)
                .env_clear()
                .envs(environment);
            (command, Stdio::null(), None)
        }
        Some(confinement) => {
            let (command, input, launch) =
                Launch::prepare(confinement, job.directory, program, environment)?;
            (command, input, Some(launch))
        }
    };
    let session = match launch {
        None => ChildSession::MadeBefore,
        Some(_) => ChildSession::MadeByChild,
    };
    let tree = ChildTree::start_restricted(command, input, session, &runner.restrictions);
    let mut tree = tree.map_err(|error| {
        let name = Path::new(&program[0]).display();
        format!("could not start `{name}`: {error}")
    })?;
    if let Some(launch) = &mut launch {
        launch.send_plan(&mut tree);
    }
    Ok(Started {
        tree,
        launch,
        _script: script,
    })
}

/// The program and its arguments; at least one word.
fn prepared(program: &Program<'_>, shell: &CommandShell) -> Result<PreparedScript, String> {
    match program {
        Program::Shell(script) => {
            let observed = pipeline::observed(shell.language, script);
            let script = observed.as_deref().unwrap_or(script);
            let prepared = shell.prepare(script);
            prepared.map_err(|error| format!("could not write the script: {error}"))
        }
        Program::Exec([]) => Err("no program was named".to_owned()),
        Program::Exec(words) => Ok(words.iter().copied().collect()),
    }
}

fn plain(words: &[OsString]) -> Command {
    let mut command = platform::programs::with_whole_environment(Path::new(&words[0]));
    command.args(&words[1..]);
    command
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
