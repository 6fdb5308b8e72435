//! `RUN_COMMAND`: how a script ended, in one line, and what it printed below it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::{Execution, Unshared, Watch};
use crate::protocol::{Outcome, PersonAct, UnfinishedRun};
use crate::repositories::{self, Inventory, KeptInventory};
use crate::runner::{self, FailedPart, Job, LocalRunner, Program, Ran, RunEnd, Runner};
use crate::sandbox::{self, Backend, Confinement, PropertyName};
use crate::workspace::survey::CommandSurvey;

impl Execution<'_> {
    /// Runs a script in the workspace.
    pub(super) fn run_command(&mut self, script: &str, timeout: Option<u32>) -> Outcome {
        let timeout = timeout
            .map_or(self.limits.command_timeout, |seconds| {
                Duration::from_secs(u64::from(seconds.max(1)))
            })
            .min(self.limits.max_command_timeout);
        let (confinement, before) = self.look_around();
        self.keep(&before);
        let runner = Arc::clone(&self.place.runner);
        let program = Program::Shell(script);
        let ran = self.run_in(&*runner, confinement.as_ref(), program, &[], timeout);
        let set_aside = repositories::set_aside_in_words(&ran.set_aside, self.workspace.path());
        let disarmed = self.disarm(&before);
        self.walks.forget();
        let hidden = runner::hidden_failure(script, &ran.pipeline, &ran.output.text)
            .filter(|_| ran.end == RunEnd::Exited(0));
        let has_failed = ran.end != RunEnd::Exited(0) || hidden.is_some();
        self.missed_network = has_failed && self.misses_network(script, &ran);
        let mut message = describe(&ran, timeout);
        if let Some(part) = &hidden {
            message = format!("{message}, but {}", describe_part(part));
        }
        let limit = has_failed.then(|| self.limit_met(&ran)).flatten();
        let remarks = [
            limit,
            ran.note.clone(),
            self.closed.take(),
            set_aside,
            disarmed,
        ];
        let outcome = if has_failed {
            Outcome::failed(message)
        } else {
            Outcome::ok(message)
        };
        let (exit_code, unfinished) = match ran.end {
            RunEnd::Exited(code) => (Some(code), None),
            RunEnd::Signalled(signal) => {
                let signal = u8::try_from(signal).unwrap_or_default();
                (None, Some(UnfinishedRun::Signalled(signal)))
            }
            RunEnd::TimedOut => (None, Some(UnfinishedRun::TimedOut)),
            RunEnd::Interrupted => (None, Some(UnfinishedRun::Interrupted)),
            RunEnd::NotStarted(_) => (None, Some(UnfinishedRun::NotStarted)),
        };
        let longest = self.limits.max_command_timeout;
        let may_be_longer =
            ran.end == RunEnd::TimedOut && timeout < longest && !self.missed_network;
        Outcome {
            exit_code,
            unfinished,
            by_person: interrupted_by(&ran),
            hint: if may_be_longer {
                format!(
                    "if it needs longer, set timeout=\"...\" in seconds, up to {}",
                    longest.as_secs()
                )
            } else {
                String::new()
            },
            ..outcome
                .with_remarks(remarks.into_iter().flatten())
                .with_detail(ran.output)
        }
    }

    /// The confinement of a command, and the repositories of the workspace before it.
    fn look_around(&mut self) -> (Option<Confinement>, Inventory) {
        /// For so long nobody else is expected to have changed one.
        const FRESH: Duration = Duration::from_secs(1);
        let known = self.workspace.names_before_command();
        self.workspace.forget_survey();
        if let Some((taken, inventory)) = self.inventory.take()
            && taken.elapsed() < FRESH
        {
            return (self.searched(), inventory);
        }
        let left_out = self.left_out();
        let Some(mut confinement) = self.unsearched() else {
            let workspace = self.workspace.path();
            let inventory = Inventory::take_knowing(known.as_ref(), workspace, &left_out);
            return (self.searched(), inventory);
        };
        let (is_nothing, inventory) = confinement.search_with_inventory(&left_out, known.as_ref());
        self.remember_search(&confinement, is_nothing);
        (Some(confinement), inventory)
    }

    /// Writes down what the command finds, in case nobody is left to compare when it has ended.
    fn keep(&self, before: &Inventory) {
        if let Some(file) = &self.kept_inventory {
            let found = KeptInventory::new(self.workspace.path(), self.left_out(), before.clone());
            // Where it cannot be written, a kill leaves what the command made as it is.
            let _ = found.keep(file);
        }
    }

    /// Takes out of force what the command made git run or obey; tells what it was.
    fn disarm(&mut self, before: &Inventory) -> Option<String> {
        let workspace = self.workspace.path();
        let survey = (self.snapshot_follows)
            .then(|| self.workspace.survey_after_command())
            .flatten();
        let others: Vec<_> = survey.iter().map(CommandSurvey::search).collect();
        let (left_out, known) = (self.left_out(), self.workspace.names_seen());
        let mut now = Inventory::take_after(before, workspace, &left_out, &others, known.as_ref());
        let told = now.disarm_and_tell(before, workspace);
        let cache =
            (self.place.confinement.as_ref()).and_then(|confinement| confinement.cache.as_ref());
        let in_cache = cache.and_then(|cache| now.disarm_cache(cache));
        self.inventory = Some((Instant::now(), now));
        if let Some(file) = &self.kept_inventory {
            // What stays is compared once more, which does no harm.
            let _ = crate::fs::remove(file);
        }
        let told = told.into_iter().chain(in_cache);
        let told: Vec<String> = told.map(|report| report.to_string()).collect();
        if let (Some(survey), true) = (survey, told.is_empty()) {
            // What was disabled or opened is no longer as it was surveyed.
            survey.keep();
        }
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// Paths that commands do not see.
    fn left_out(&self) -> Vec<PathBuf> {
        unseen_by_commands(self.workspace.path(), self.place.confinement.as_ref())
    }

    /// True if a failed run looks as if it had missed the network: by what it printed, or because it
    /// fetches something. A pipe may have cut off the words.
    fn misses_network(&self, script: &str, ran: &Ran) -> bool {
        let runner = &self.place.runner;
        let is_cut = if runner.is_local() {
            self.place.confinement.is_some()
        } else {
            runner.promises().contains(&PropertyName::Network)
        };
        let is_over = !matches!(ran.end, RunEnd::Interrupted | RunEnd::NotStarted(_));
        is_over
            && is_cut
            && !self.place.granted.network
            && !sandbox::fails_before_network(&ran.output.text)
            && (sandbox::misses_network(&ran.output.text) || sandbox::fetches(script))
    }

    /// Which limit a failed command met, or what it lacked, if that shows.
    fn limit_met(&self, ran: &Ran) -> Option<String> {
        if self.missed_network {
            return Some(
                "there is no network in the sandbox; only the user can allow it (`--network ask` or `on`)"
                    .to_owned(),
            );
        }
        if ran.is_lost && ran.note.is_none() {
            return Some(
                "somebody outside of the sandbox killed its supervisor, and the command ended with it"
                    .to_owned(),
            );
        }
        let is_local = self.place.runner.is_local();
        let confinement = self.place.confinement.as_ref().filter(|_| is_local)?;
        let signal = match ran.end {
            RunEnd::Signalled(signal) => Some(signal),
            _ => None,
        };
        let output = &ran.output.text;
        if let Some(limit) = sandbox::limit_met(signal, output) {
            return Some(format!("the limit on {} was met", limit.name()));
        }
        let (program, place) = sandbox::found_outside(output, confinement)?;
        Some(format!(
            "`{program}` exists outside of the sandbox at `{}`; the user can show it with `ExtraReadPaths`",
            place.display()
        ))
    }

    /// Runs a program of ours on this machine in the workspace; `watch` sees its output and can stop it.
    pub(super) fn run(
        &mut self,
        program: Program<'_>,
        environment: &[(&str, &str)],
        timeout: Duration,
    ) -> Ran {
        let confinement = self.searched();
        self.run_in(
            &LocalRunner::default(),
            confinement.as_ref(),
            program,
            environment,
            timeout,
        )
    }

    fn run_in(
        &mut self,
        runner: &dyn Runner,
        confinement: Option<&Confinement>,
        program: Program<'_>,
        environment: &[(&str, &str)],
        timeout: Duration,
    ) -> Ran {
        let never = AtomicBool::new(false);
        let mut nobody = |_: &str| {};
        let (cancelled, on_output): (&AtomicBool, &mut dyn FnMut(&str)) = match &mut self.watch {
            Some(Watch {
                cancelled,
                on_output,
            }) => (cancelled, &mut **on_output),
            None => (&never, &mut nobody),
        };
        runner.run(Job {
            program,
            directory: self.workspace.path(),
            environment,
            timeout,
            max_output: self.limits.max_output,
            cancelled,
            on_output,
            confinement,
            withheld: self.withheld,
            granted: self.place.granted,
        })
    }

    /// The confinement with what was found in the workspace. It is looked through once for all
    /// commands of a reply, if nothing was found: that is most of what a command costs in a large one.
    fn searched(&mut self) -> Option<Confinement> {
        if let Some(mut confinement) = self.unsearched() {
            let is_nothing = confinement.search();
            self.remember_search(&confinement, is_nothing);
            return Some(confinement);
        }
        let mut confinement = self.place.confinement.clone()?;
        confinement.is_searched = true;
        Some(confinement)
    }

    /// The confinement, if the workspace must be looked through before a command runs.
    fn unsearched(&self) -> Option<Confinement> {
        let confinement = self.place.confinement.as_ref()?;
        let in_git_too = confinement.git_write;
        let is_known = |known: Unshared| known.in_git_too || !in_git_too;
        (!self.unshared.is_some_and(is_known)).then(|| confinement.clone())
    }

    fn remember_search(&mut self, confinement: &Confinement, is_nothing: bool) {
        let in_git_too = confinement.git_write;
        self.unshared = is_nothing.then_some(Unshared { in_git_too });
        self.closed = sandbox::closed_for_size(confinement);
    }
}

/// Paths in a workspace that commands do not see. Landlock hides nothing there, nor does the lack of a
/// sandbox.
pub fn unseen_by_commands(workspace: &Path, confinement: Option<&Confinement>) -> Vec<PathBuf> {
    match confinement {
        Some(confinement) if confinement.backend != Backend::Landlock => {
            let mut unseen = confinement.hidden.clone();
            unseen.push(workspace.join(sandbox::STATE));
            unseen
        }
        _ => Vec::new(),
    }
}

/// The outcome of a program that did not succeed.
pub(super) fn unsuccessful(ran: Ran, timeout: Duration) -> Outcome {
    Outcome {
        by_person: interrupted_by(&ran),
        ..Outcome::failed(describe(&ran, timeout)).with_detail(ran.output)
    }
}

fn interrupted_by(ran: &Ran) -> Option<PersonAct> {
    (ran.end == RunEnd::Interrupted).then_some(PersonAct::Interrupted)
}

/// How it ended, and how long it took.
fn describe(ran: &Ran, timeout: Duration) -> String {
    let took = seconds(ran.took);
    match &ran.end {
        RunEnd::Exited(code) => format!("exit code {code} in {took}"),
        RunEnd::Signalled(signal) => format!("killed by {} after {took}", signal_name(*signal)),
        RunEnd::TimedOut => format!("timed out after {} and was killed", seconds(timeout)),
        RunEnd::Interrupted => format!("interrupted it after {took}"),
        RunEnd::NotStarted(reason) => format!("could not be started: {reason}"),
    }
}

/// Which part of a pipeline failed; a long command is shortened.
fn describe_part(part: &FailedPart) -> String {
    const MAX_CHARS: usize = 80;
    let mut command: String = part.command.chars().take(MAX_CHARS).collect();
    if command.len() < part.command.len() {
        command.push_str(" ...");
    }
    let name = match command.lines().next() {
        Some(line) => format!(" (`{line}`)"),
        None => String::new(),
    };
    let (number, code) = (part.number, part.code);
    format!("part {number} of the pipeline{name} failed with exit code {code}")
}

/// `35 ms`, `1.3 s`, `30 s`.
fn seconds(duration: Duration) -> String {
    if !duration.is_zero() && duration < Duration::from_secs(1) {
        format!("{} ms", duration.as_millis())
    } else if duration.subsec_millis() == 0 || duration.as_secs() >= 100 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{:.1} s", duration.as_secs_f64())
    }
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal} ({name})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Capped;

    #[track_caller]
    fn case(end: RunEnd, millis: u64, expected: &str) {
        let ran = Ran {
            end,
            output: Capped::default(),
            took: Duration::from_millis(millis),
            pipeline: Vec::new(),
            set_aside: Vec::new(),
            is_lost: false,
            note: None,
        };
        assert_eq!(describe(&ran, Duration::from_secs(30)), expected);
    }

    #[test]
    fn tells_how_a_command_ended() {
        case(RunEnd::Exited(0), 1234, "exit code 0 in 1.2 s");
        case(RunEnd::Exited(2), 20, "exit code 2 in 20 ms");
        case(
            RunEnd::Signalled(9),
            3000,
            "killed by signal 9 (SIGKILL) after 3 s",
        );
        case(
            RunEnd::TimedOut,
            30_500,
            "timed out after 30 s and was killed",
        );
        case(RunEnd::Interrupted, 1500, "interrupted it after 1.5 s");
        case(
            RunEnd::NotStarted("no shell".to_owned()),
            0,
            "could not be started: no shell",
        );
    }
}
