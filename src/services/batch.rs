//! Many tasks at once: each is a session of its own, carried by an API, in a process of its own.
//!
//! [`run`] reads the file of tasks, begins jobs and hears their news until every task has ended, a
//! limit of the whole batch is reached or the person stops it. What is known of a task is on the disk
//! at any time, so the same call goes on after a kill: tasks that are finished are left as they are,
//! and sessions that were interrupted go on.

mod job;
mod output;
mod record;
mod tasks;
mod worktree;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::str::FromStr;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use self::job::JobPlace;
pub use self::job::{JobEnd, JobNews, JobOrder, SPENT, carry};
use self::output::SummaryFile;
use self::record::{BatchFolder, status_at_limit, status_when_done};
pub use self::record::{TaskRecord, TaskStatus};
use self::tasks::{BatchTask, TaskPlace, not_for_tasks};
use self::worktree::TaskWorktree;
use super::run::{LONG_TASK_HINT, too_long_task};
use super::{Caller, open, repository};
pub use crate::courier::api::Allowance;
use crate::error::{Error, ExitKind, Result};
use crate::number::grouped;
use crate::platform::programs;
use crate::runner::RunnerChoice;
use crate::sandbox::SandboxMode;
use crate::settings::{Commands, Key, Settings, Shape};

const MAX_COST: &str = "--max-cost";
const MAX_TOKENS: &str = "--max-tokens";
/// Micro-dollars in a cent.
const CENT: u64 = 10_000;

/// A part of a file of tasks: one of so many, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchShard {
    index: usize,
    count: usize,
}

impl BatchShard {
    fn has(self, position: usize) -> bool {
        position % self.count == self.index
    }
}

impl FromStr for BatchShard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((index, count)) if index < count => Ok(Self { index, count }),
            _ => Err("must be I/N, with I from 0 to N-1".to_owned()),
        }
    }
}

impl fmt::Display for BatchShard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// The tasks to run, and how.
#[derive(Debug, Clone)]
pub struct BatchRequest {
    /// The file of tasks.
    pub tasks: PathBuf,
    /// The folder of records; beside the file if none is named.
    pub state: Option<PathBuf>,
    /// How many tasks run at once.
    pub jobs: usize,
    /// The part of the file.
    pub shard: Option<BatchShard>,
    /// True if tasks go on that ended without being done.
    pub retries: bool,
    /// The file that gets the summary.
    pub output: Option<PathBuf>,
}

/// News of a batch.
#[derive(Debug)]
pub enum BatchNews<'a> {
    /// The batch begins: so many tasks, and so many of them are finished already.
    Begun {
        /// All of them.
        tasks: usize,
        /// Those that are left as they are.
        finished: usize,
        /// Tasks of an earlier run that the file does not have any more.
        gone: &'a [String],
    },
    /// Jobs work on these tasks.
    Running(&'a [&'a TaskRecord]),
    /// A task ended.
    Ended {
        /// The task.
        record: &'a TaskRecord,
        /// How many have ended by now.
        ended: usize,
        /// How many there are.
        tasks: usize,
    },
    /// Something that the person should know before the first task begins.
    Notice(&'a str),
    /// The whole batch has used up what it may, in these words.
    LimitReached(&'a str),
    /// Something failed, and the batch goes on without it.
    Trouble(&'a Error),
}

/// The result of a batch.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchSummary {
    /// The file of tasks.
    pub file: PathBuf,
    /// The part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// The folder of records.
    pub state: PathBuf,
    /// How many tasks have each status.
    pub counts: BTreeMap<TaskStatus, usize>,
    /// How many steps of all tasks were refused because nobody could be asked.
    pub refused: u32,
    /// All tokens of all tasks.
    pub tokens: u64,
    /// All costs in millionths of a dollar, as far as they are known.
    pub cost_micros: Option<u64>,
    /// How long this run took.
    pub seconds: u64,
    /// The tasks, in the order of the file.
    pub tasks: Vec<TaskRecord>,
    /// True if the person stopped it.
    #[serde(skip)]
    pub is_interrupted: bool,
    /// The flag of the limit of the whole batch, if that is reached.
    #[serde(skip)]
    pub limit_flag: Option<&'static str>,
}

impl BatchSummary {
    fn write_to(&self, output: &SummaryFile) -> Result<()> {
        let json = crate::json::to_lines(self).map_err(|cause| {
            Error::new(ExitKind::Defect, "the summary is no JSON").because(cause)
        })?;
        output.write(format!("{json}\n").as_bytes())
    }

    /// Returns true if any task has this status.
    pub fn has(&self, status: TaskStatus) -> bool {
        self.counts.contains_key(&status)
    }
}

/// The limits of a whole batch; 0 for none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct BatchLimits {
    cents: u64,
    tokens: u64,
}

impl BatchLimits {
    /// Takes them out of the flags, which hold for each task.
    fn taken_from(caller: &mut Caller) -> Result<Self> {
        let mut limits = Self::default();
        for (flag, text) in &caller.flags.given {
            let limit = match *flag {
                MAX_COST => &mut limits.cents,
                MAX_TOKENS => &mut limits.tokens,
                _ => continue,
            };
            *limit = text.parse().map_err(|_| {
                Error::usage(format!("the value of `{flag}` must be a whole number"))
            })?;
        }
        let is_ours = |flag: &str| matches!(flag, MAX_COST | MAX_TOKENS);
        caller.flags.given.retain(|(flag, _)| !is_ours(flag));
        Ok(limits)
    }

    /// The limit that these records have reached, in words.
    fn reached(self, records: &[TaskRecord]) -> Option<String> {
        let (tokens, cost) = totals(records);
        let flag = self.flag_reached(records)?;
        Some(if flag == MAX_TOKENS {
            format!(
                "the batch has used {} tokens, of {} that `{flag}` permits",
                grouped(tokens),
                grouped(self.tokens)
            )
        } else {
            format!(
                "the batch has cost {}, of {} that `{flag}` permits",
                crate::api::dollars(cost.unwrap_or(0)),
                crate::api::dollars(self.micros())
            )
        })
    }

    /// The flag of the limit that these records have reached.
    fn flag_reached(self, records: &[TaskRecord]) -> Option<&'static str> {
        let (tokens, cost) = totals(records);
        if self.tokens > 0 && tokens >= self.tokens {
            return Some(MAX_TOKENS);
        }
        (self.cents > 0 && cost.unwrap_or(0) >= self.micros()).then_some(MAX_COST)
    }

    fn micros(self) -> u64 {
        self.cents.saturating_mul(CENT)
    }
}

fn totals(records: &[TaskRecord]) -> (u64, Option<u64>) {
    let tokens = records.iter().map(|record| record.tokens);
    let tokens = tokens.fold(0, u64::saturating_add);
    let known = records.iter().filter_map(|record| record.cost_micros);
    (tokens, known.reduce(u64::saturating_add))
}

/// Runs the tasks of a file; `watch` hears how they get on.
pub fn run(
    caller: &Caller,
    request: &BatchRequest,
    watch: &mut dyn FnMut(&BatchNews<'_>),
) -> Result<BatchSummary> {
    let began = Instant::now();
    let mut caller = caller.clone();
    let limits = BatchLimits::taken_from(&mut caller)?;
    ensure_flags(&caller)?;
    let file = caller.here.join(&request.tasks);
    let file = crate::fs::canonical(&file).map_err(|cause| tasks::unreadable(&file, cause))?;
    let all = tasks::read(&file)?;
    let names: BTreeSet<String> = all.iter().map(|task| task.id.clone()).collect();
    let is_meant = |position| request.shard.is_none_or(|shard| shard.has(position));
    let tasks: Vec<BatchTask> = (all.into_iter().enumerate())
        .filter_map(|(position, task)| is_meant(position).then_some(task))
        .collect();
    let notices = ensure_settings(&caller, &tasks)?;
    let folder = folder_of(&caller, request, &file);
    let output = (request.output.as_ref())
        .map(|output| SummaryFile::tested(output, &caller.here, &file, &folder))
        .transpose()?;
    let folder = BatchFolder(made(&folder)?);
    ensure_apart(&folder, &tasks)?;
    let shard = request.shard.map(|shard| shard.to_string());
    let _lock = folder.lock(
        shard
            .as_deref()
            .map(|name| name.replace('/', "-of-"))
            .as_deref(),
    )?;
    let (records, troubles) = loaded(&folder, &tasks, &file)?;
    for trouble in &troubles {
        watch(&BatchNews::Trouble(trouble));
    }
    let mut batch = BatchRun {
        caller: &caller,
        folder: &folder,
        tasks: &tasks,
        records,
        jobs: request.jobs.max(1),
        limits,
        waiting: Vec::new(),
        running: BTreeMap::new(),
        is_stopped: false,
        limit: None,
    };
    batch.waiting = (0..tasks.len())
        .filter(|index| batch.is_open(*index, request.retries))
        .collect();
    watch(&BatchNews::Begun {
        tasks: tasks.len(),
        finished: batch
            .records
            .iter()
            .filter(|record| record.is_finished)
            .count(),
        gone: &gone(&folder, &names),
    });
    if !batch.waiting.is_empty() {
        for notice in &notices {
            watch(&BatchNews::Notice(notice));
        }
    }
    batch.carry_out(watch);
    let mut summary = summed_up(
        file,
        shard,
        folder.0.clone(),
        batch.records,
        began.elapsed(),
    );
    summary.is_interrupted = batch.is_stopped;
    summary.limit_flag = limits.flag_reached(&summary.tasks);
    output.map_or(Ok(()), |output| summary.write_to(&output))?;
    Ok(summary)
}

fn summed_up(
    file: PathBuf,
    shard: Option<String>,
    state: PathBuf,
    tasks: Vec<TaskRecord>,
    took: Duration,
) -> BatchSummary {
    let mut counts = BTreeMap::new();
    for record in &tasks {
        *counts.entry(record.status).or_insert(0) += 1;
    }
    let (tokens, cost_micros) = totals(&tasks);
    let refused = tasks.iter().map(|record| record.refused);
    let refused = refused.fold(0, u32::saturating_add);
    BatchSummary {
        file,
        shard,
        state,
        counts,
        refused,
        tokens,
        cost_micros,
        seconds: took.as_secs(),
        tasks,
        is_interrupted: false,
        limit_flag: None,
    }
}

/// Refuses flags that mean one session.
fn ensure_flags(caller: &Caller) -> Result<()> {
    if caller.base.is_some() {
        return Err(
            Error::usage("`--base` means nothing here: each task has its own")
                .hint("`--state DIR` names the folder that they are kept in"),
        );
    }
    let is_folder = |flag: &str| {
        let key = Key::with_flag(flag);
        key.is_some_and(|key| key.shape == Shape::Directory)
    };
    match caller.flags.given.iter().find(|(flag, _)| is_folder(flag)) {
        None => Ok(()),
        Some((flag, _)) => {
            let why = Key::with_flag(flag).and_then(not_for_tasks);
            Err(Error::usage(format!(
                "`{flag}` {}",
                why.unwrap_or_default()
            )))
        }
    }
}

/// Refuses tasks whose settings cannot hold, that no API carries or that are too long, before anything
/// is begun. Tells what the person should know of the others.
fn ensure_settings(caller: &Caller, tasks: &[BatchTask]) -> Result<Vec<String>> {
    let mut known: BTreeMap<&[(&'static str, String)], Settings> = BTreeMap::new();
    let (mut too_long, mut notices) = (Vec::new(), BTreeMap::<String, Vec<usize>>::new());
    for task in tasks {
        let settings =
            match known.entry(&task.settings) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(settings_of(caller, task).map_err(|error| {
                    error.hint(format!("this is the task of line {}", task.line))
                })?),
            };
        if settings.api.0.is_none() {
            return Err(Error::usage(format!(
                "no API carries the task of line {}",
                task.line
            ))
            .hint("name one for all tasks with `--api NAME`, or for one with the key `api`; `agent api list` lists them"));
        }
        if let Some(problem) = too_long_task(task.task.trim(), &open::carriage(settings)) {
            too_long.push(format!("line {}: {problem}", task.line));
        }
        if let Some(notice) = refusal_of_all_commands(settings)? {
            notices.entry(notice).or_default().push(task.line);
        }
    }
    if too_long.is_empty() {
        let notices = notices.into_iter().map(|(notice, lines)| {
            if lines.len() == tasks.len() {
                return notice;
            }
            let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
            format!("{notice} This holds for the lines {}.", lines.join(", "))
        });
        return Ok(notices.collect());
    }
    Err(Error::usage(format!("nothing was begun: {}", too_long.join("; "))).hint(LONG_TASK_HINT))
}

/// Says why no command can run where nobody is asked, and what to set; an error if the person rules it
/// out themselves.
fn refusal_of_all_commands(settings: &Settings) -> Result<Option<String>> {
    const ALLOW: &str = "`--allow \"cargo test\"`";
    let runner = &settings.runner;
    let is_confined = match runner {
        RunnerChoice::Local => settings.sandbox != SandboxMode::Off,
        RunnerChoice::Container { .. } => true,
        RunnerChoice::Ssh { .. } | RunnerChoice::Kubectl { .. } | RunnerChoice::Exec(_) => false,
    };
    if settings.commands == Commands::Off || is_confined {
        return Ok(None);
    }
    let refused = "so each one needs a yes, and nobody is asked: all of them will be refused";
    match settings.sandbox {
        SandboxMode::Required => Err(Error::usage(format!(
            "`{runner}` does not confine commands, and `Sandbox` is `required`: no command could run"
        ))
        .hint(format!("`--sandbox off` with rules such as {ALLOW} runs those that you allow"))
        .hint("`--commands off` if the tasks need none")),
        SandboxMode::Auto => Ok(Some(format!(
            "`{runner}` does not confine commands, {refused}. `--sandbox off` with rules such as {ALLOW} runs those that you allow."
        ))),
        SandboxMode::Off if settings.allow.is_empty() => Ok(Some(format!(
            "Commands run without a sandbox, {refused}. Rules such as {ALLOW} run those that you allow."
        ))),
        SandboxMode::Off => Ok(None),
    }
}

/// The settings of a task: its own over those of the caller.
fn settings_of(caller: &Caller, task: &BatchTask) -> Result<Settings> {
    let mut caller = caller.clone();
    caller.flags.given.extend(task.settings.iter().cloned());
    open::sound_settings(&caller)
}

/// The folder of the records: `tasks.jsonl.batch` beside the file, if no other is named.
fn folder_of(caller: &Caller, request: &BatchRequest, file: &Path) -> PathBuf {
    let beside = || {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(".batch");
        file.with_file_name(name)
    };
    let named = request.state.as_ref().map(|named| caller.here.join(named));
    let folder = named.unwrap_or_else(beside);
    crate::fs::real_path(&folder).unwrap_or(folder)
}

/// Makes the folder of the records, and has git ignore it; returns its path without links.
fn made(folder: &Path) -> Result<PathBuf> {
    crate::fs::own_directory(folder)?;
    let folder =
        crate::fs::canonical(folder).map_err(|cause| Error::file("open", folder, cause))?;
    if let (Some(root), Some(above), Some(name)) = (
        repository::root_of(&folder),
        folder.parent(),
        folder.file_name().and_then(|name| name.to_str()),
    ) {
        repository::exclude(&root, above, &[&format!("{name}/")])?;
    }
    Ok(folder)
}

/// Refuses a directory that holds the records of the batch: its model could change them.
fn ensure_apart(folder: &BatchFolder, tasks: &[BatchTask]) -> Result<()> {
    for task in tasks {
        if let TaskPlace::Directory(directory) = &task.place
            && (folder.0.starts_with(directory) || directory.starts_with(&folder.0))
        {
            return Err(Error::usage(format!(
                "line {}: the records of the batch are in its directory `{}`",
                task.line,
                directory.display()
            ))
            .hint(
                "keep them elsewhere with `--state DIR`, or use `worktree` in place of `directory`",
            ));
        }
    }
    Ok(())
}

/// The records of the tasks, and why some cannot be read; refuses lines that were changed after they
/// were begun.
fn loaded(
    folder: &BatchFolder,
    tasks: &[BatchTask],
    file: &Path,
) -> Result<(Vec<TaskRecord>, Vec<Error>)> {
    let (mut records, mut changed, mut troubles) = (Vec::new(), Vec::new(), Vec::new());
    for task in tasks {
        let base = folder.of_task(&task.id).join("base");
        let record = match folder.load(&task.id) {
            Err(trouble) => {
                let record = TaskRecord::unreadable(task, base, described(&trouble));
                troubles.push(trouble);
                record
            }
            Ok(Some(record)) if !record.is_of(task) => {
                changed.push(format!("line {} (`{}`)", task.line, task.id));
                continue;
            }
            Ok(Some(mut record)) => {
                // Wherever the folder is now.
                record.base = base;
                record.line = task.line;
                if record.status == TaskStatus::Running {
                    record.status = TaskStatus::Interrupted;
                    record.refresh();
                }
                record
            }
            Ok(None) => TaskRecord::new(task, base),
        };
        records.push(record);
    }
    if changed.is_empty() {
        return Ok((records, troubles));
    }
    Err(Error::usage(format!(
        "`{}` has lines that were changed after they were begun: {}",
        file.display(),
        changed.join(", ")
    ))
    .hint("put them back, or give each a new `id`; without one, the line number is the id")
    .hint("`--state DIR` names another folder, in which all tasks begin anew"))
}

/// The tasks of earlier runs that the file does not have any more.
fn gone(folder: &BatchFolder, names: &BTreeSet<String>) -> Vec<String> {
    let entries = std::fs::read_dir(&folder.0).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut gone: Vec<String> = folders
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !names.contains(name))
        .collect();
    gone.sort();
    gone
}

/// A signal to the batch while it waits.
#[derive(Debug)]
enum BatchSignal {
    News(usize, JobNews),
    Exited(usize, std::io::Result<ExitStatus>),
    Interrupted,
}

/// A job at work.
#[derive(Debug)]
struct RunningJob {
    /// Its standard input: when it is closed, the job stops.
    lifeline: Option<ChildStdin>,
    since: Instant,
    /// The seconds of earlier jobs for the same task.
    before: u64,
    end: Option<JobEnd>,
}

/// A batch under way.
struct BatchRun<'a> {
    caller: &'a Caller,
    folder: &'a BatchFolder,
    tasks: &'a [BatchTask],
    records: Vec<TaskRecord>,
    jobs: usize,
    limits: BatchLimits,
    /// The tasks that no job has yet, in their order.
    waiting: Vec<usize>,
    running: BTreeMap<usize, RunningJob>,
    is_stopped: bool,
    /// The limit of the batch that was reached.
    limit: Option<String>,
}

impl BatchRun<'_> {
    fn is_open(&self, index: usize, retries: bool) -> bool {
        let record = &self.records[index];
        if record.is_unreadable {
            return false;
        }
        !record.is_finished || (retries && record.status != TaskStatus::Done)
    }

    fn carry_out(&mut self, watch: &mut dyn FnMut(&BatchNews<'_>)) {
        let (sender, signals) = mpsc::channel();
        let interrupted = sender.clone();
        self.caller.interrupt.on_raise(move || {
            let _ = interrupted.send(BatchSignal::Interrupted);
        });
        self.is_stopped = self.caller.interrupt.is_raised();
        loop {
            self.look_at_limits(watch);
            self.begin_jobs(&sender, watch);
            if self.running.is_empty() {
                break;
            }
            self.tell_running(watch);
            self.hear(&signals, watch);
        }
        if let Some(limit) = &self.limit {
            for index in std::mem::take(&mut self.waiting) {
                let record = &mut self.records[index];
                record.status = TaskStatus::StoppedByLimits;
                record.message.clone_from(limit);
            }
        }
    }

    /// Has no further request made when the batch has used up what it may.
    fn look_at_limits(&mut self, watch: &mut dyn FnMut(&BatchNews<'_>)) {
        if self.limit.is_some() {
            return;
        }
        self.limit = self.limits.reached(&self.records);
        if let Some(limit) = &self.limit {
            if !self.running.is_empty() || !self.waiting.is_empty() {
                watch(&BatchNews::LimitReached(limit));
            }
            for job in self.running.values_mut() {
                if let Some(lifeline) = &mut job.lifeline {
                    // One that is just ending needs no word.
                    let _ = writeln!(lifeline, "{SPENT}").and_then(|()| lifeline.flush());
                }
            }
        }
    }

    fn begin_jobs(&mut self, sender: &Sender<BatchSignal>, watch: &mut dyn FnMut(&BatchNews<'_>)) {
        while !self.is_stopped && self.limit.is_none() && self.running.len() < self.jobs {
            let next = self.waiting.iter().position(|index| self.is_free(*index));
            let Some(next) = next else { break };
            let index = self.waiting.remove(next);
            self.begin(index, sender, watch);
        }
    }

    /// Returns true if no running task works in the directory of this one, above it or below it.
    fn is_free(&self, index: usize) -> bool {
        let directory = |index: usize| match &self.tasks[index].place {
            TaskPlace::Directory(directory) => Some(directory),
            TaskPlace::Own | TaskPlace::Worktree(_) => None,
        };
        let Some(wanted) = directory(index) else {
            return true;
        };
        let mut taken = self.running.keys().filter_map(|index| directory(*index));
        !taken.any(|taken| taken.starts_with(wanted) || wanted.starts_with(taken))
    }

    fn begin(
        &mut self,
        index: usize,
        sender: &Sender<BatchSignal>,
        watch: &mut dyn FnMut(&BatchNews<'_>),
    ) {
        let order = self.order(index);
        let record = &mut self.records[index];
        record.status = TaskStatus::Running;
        record.is_finished = false;
        record.message.clear();
        let before = record.seconds;
        // Saved before the job is there: what is begun is known to be, whatever happens.
        match (self.folder.save(record)).and_then(|()| started(&order)) {
            Ok((child, lifeline)) => {
                let sender = sender.clone();
                thread::spawn(move || follow(index, child, &sender));
                let job = RunningJob {
                    lifeline: Some(lifeline),
                    since: Instant::now(),
                    before,
                    end: None,
                };
                self.running.insert(index, job);
            }
            Err(error) => {
                let record = &mut self.records[index];
                record.status = TaskStatus::Error;
                record.message = described(&error);
                self.concluded(index, watch);
            }
        }
    }

    /// The order for the job of a task, whose record learns where it works.
    fn order(&mut self, index: usize) -> JobOrder {
        let task = &self.tasks[index];
        let folder = self.folder.of_task(&task.id);
        let record = &mut self.records[index];
        let place = match &task.place {
            TaskPlace::Own => JobPlace::Directory(record.base.join("workspace")),
            TaskPlace::Directory(directory) => JobPlace::Directory(directory.clone()),
            TaskPlace::Worktree(repository) => JobPlace::Worktree(repository.clone()),
        };
        record.folder = Some(match &place {
            JobPlace::Directory(directory) => directory.clone(),
            JobPlace::Worktree(repository) => {
                let worktree = TaskWorktree::of_task(repository, &task.id, &folder);
                record.branch = Some(worktree.branch);
                worktree.folder
            }
        });
        let flags = self.caller.flags.given.iter().chain(&task.settings);
        let mut settings: Vec<(String, String)> = flags
            .map(|(flag, value)| ((*flag).to_owned(), value.clone()))
            .collect();
        // A price that nobody knows is noticed by the session that has a limit of costs.
        let own = settings_of(self.caller, task).map_or(0, |settings| settings.max_cost);
        if self.limits.cents > 0 && (own == 0 || own > self.limits.cents) {
            settings.push((MAX_COST.to_owned(), self.limits.cents.to_string()));
        }
        JobOrder {
            id: task.id.clone(),
            task: task.task.clone(),
            folder,
            base: record.base.clone(),
            place,
            commits: task.commits,
            session: record.session.clone(),
            // Of those that are finished, only these are begun again.
            retries: record.is_finished,
            settings,
        }
    }

    fn tell_running(&self, watch: &mut dyn FnMut(&BatchNews<'_>)) {
        let running: Vec<&TaskRecord> = (self.running.keys())
            .map(|index| &self.records[*index])
            .collect();
        watch(&BatchNews::Running(&running));
    }

    fn hear(&mut self, signals: &Receiver<BatchSignal>, watch: &mut dyn FnMut(&BatchNews<'_>)) {
        // We hold a sender ourselves.
        match signals.recv().expect("there is always a sender") {
            BatchSignal::Interrupted => {
                self.is_stopped = true;
                for job in self.running.values_mut() {
                    job.lifeline = None;
                }
            }
            BatchSignal::News(index, news) => {
                if let Err(trouble) = self.note(index, news) {
                    watch(&BatchNews::Trouble(&trouble));
                }
            }
            BatchSignal::Exited(index, status) => {
                self.conclude(index, status);
                self.concluded(index, watch);
            }
        }
    }

    /// Notes the news of a job in the record of its task.
    fn note(&mut self, index: usize, news: JobNews) -> Result<()> {
        let Some(job) = self.running.get_mut(&index) else {
            return Ok(());
        };
        let record = &mut self.records[index];
        match news {
            JobNews::Session(id) => record.session = Some(id),
            JobNews::Round(round) => record.rounds = round.saturating_sub(1),
            JobNews::Spent {
                tokens,
                cost_micros,
            } => {
                record.tokens = tokens;
                record.cost_micros = cost_micros;
                record.seconds = job.before.saturating_add(job.since.elapsed().as_secs());
                return self.folder.save(record);
            }
            JobNews::Ended(end) => job.end = Some(end),
        }
        Ok(())
    }

    /// Decides how a task stands whose job has ended.
    fn conclude(&mut self, index: usize, status: std::io::Result<ExitStatus>) {
        let Some(job) = self.running.remove(&index) else {
            return;
        };
        let record = &mut self.records[index];
        record.seconds = job.before.saturating_add(job.since.elapsed().as_secs());
        let session = record.refresh();
        let over_all = self.limits.reached(&self.records);
        let record = &mut self.records[index];
        // With more for the batch, it goes on.
        let is_of_batch = match &job.end {
            Some(JobEnd::BatchLimit) => true,
            Some(JobEnd::OwnLimit(_)) => over_all.is_some(),
            _ => false,
        };
        let (status, message) = match (job.end, session) {
            (Some(JobEnd::Done), Some(session)) => status_when_done(&session),
            (Some(JobEnd::Done), None) => (TaskStatus::Done, String::new()),
            (Some(JobEnd::RoundLimit), Some(session)) => status_at_limit(&session),
            (Some(JobEnd::RoundLimit), None) => (TaskStatus::StoppedByLimits, String::new()),
            (Some(JobEnd::OwnLimit(why)), _) => (TaskStatus::StoppedByLimits, why),
            (Some(JobEnd::BatchLimit), _) => {
                let why = self.limit.clone().unwrap_or_default();
                (TaskStatus::StoppedByLimits, why)
            }
            (Some(JobEnd::Interrupted), _) => (TaskStatus::Interrupted, String::new()),
            (Some(JobEnd::Failed { message, hints }), _) => {
                let hints = hints.iter().map(|hint| format!("; {hint}"));
                (
                    TaskStatus::Error,
                    hints.fold(message, |text, hint| text + &hint),
                )
            }
            (None, _) => {
                let log = self.folder.of_task(&record.id).join(LOG);
                let how =
                    status.map_or_else(|cause| cause.to_string(), |status| status.to_string());
                let why = format!(
                    "its job ended with {how}; `{}` has what it said",
                    log.display()
                );
                (TaskStatus::Error, why)
            }
        };
        let is_open = matches!(status, TaskStatus::Error | TaskStatus::Interrupted);
        record.is_finished = !is_open && !is_of_batch;
        record.status = status;
        record.message = message;
    }

    /// Keeps and tells that a task has ended, and tidies up behind it.
    fn concluded(&mut self, index: usize, watch: &mut dyn FnMut(&BatchNews<'_>)) {
        if self.records[index].is_finished
            && let Err(trouble) = self.remove_unchanged_worktree(index)
        {
            watch(&BatchNews::Trouble(&trouble));
        }
        let record = &self.records[index];
        // The next run reads the rest from the session.
        if let Err(trouble) = self.folder.save(record) {
            watch(&BatchNews::Trouble(&trouble));
        }
        let open = self.waiting.len() + self.running.len();
        watch(&BatchNews::Ended {
            record,
            ended: self.records.len() - open,
            tasks: self.records.len(),
        });
    }

    fn remove_unchanged_worktree(&mut self, index: usize) -> Result<()> {
        let task = &self.tasks[index];
        let TaskPlace::Worktree(repository) = &task.place else {
            return Ok(());
        };
        let folder = self.folder.of_task(&task.id);
        let worktree = TaskWorktree::of_task(repository, &task.id, &folder);
        if worktree.folder.exists() && worktree.remove_unchanged()? {
            let record = &mut self.records[index];
            (record.folder, record.branch) = (None, None);
        }
        Ok(())
    }
}

/// The file in the folder of a task that has what its jobs said besides the news.
const LOG: &str = "job.log";

/// Starts the process of a job and hands it its order.
fn started(order: &JobOrder) -> Result<(Child, ChildStdin)> {
    let failed = |cause: std::io::Error| {
        Error::mendable(format!("the job of `{}` could not be started", order.id)).because(cause)
    };
    let program = std::env::current_exe().map_err(failed)?;
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    crate::platform::ours(&mut options);
    let log = options.open(order.folder.join(LOG)).map_err(failed)?;
    // The whole environment: a job is what `agent new` would be here.
    let mut child = programs::with_whole_environment(&program)
        .args(["batch", "--job"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(failed)?;
    let mut lifeline = child.stdin.take().expect("it is piped");
    let sent = serde_json::to_string(order)
        .map_err(std::io::Error::from)
        .and_then(|line| writeln!(lifeline, "{line}"))
        .and_then(|()| lifeline.flush());
    if let Err(cause) = sent {
        let _ = child.kill();
        let _ = child.wait();
        return Err(failed(cause));
    }
    Ok((child, lifeline))
}

/// Passes on the news of a job until its process has ended.
fn follow(index: usize, mut child: Child, sender: &Sender<BatchSignal>) {
    let lines = child
        .stdout
        .take()
        .map(|output| BufReader::new(output).lines());
    for line in lines.into_iter().flatten().map_while(Result::ok) {
        if let Ok(news) = serde_json::from_str(&line) {
            let _ = sender.send(BatchSignal::News(index, news));
        }
    }
    let _ = sender.send(BatchSignal::Exited(index, child.wait()));
}

fn described(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// Reads the order of a job from the first line of its standard input.
pub fn read_order(line: &str) -> Result<JobOrder> {
    serde_json::from_str(line).map_err(|cause| {
        Error::new(ExitKind::Usage, "`--job` is for `agent batch` itself").because(cause)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_a_file_and_leave_nothing_out() {
        let shards: Vec<BatchShard> = (0..3)
            .map(|index| format!("{index}/3").parse().unwrap())
            .collect();
        for position in 0..20 {
            let having = shards.iter().filter(|shard| shard.has(position)).count();
            assert_eq!(having, 1, "{position}");
        }
        for text in ["3/3", "1", "0/0", "-1/2", "a/b", "1/2/3", ""] {
            assert!(text.parse::<BatchShard>().is_err(), "{text}");
        }
    }
}
