//! Carries out one step: `Command` in, `Outcome` out. Total: every trouble is an `Outcome`.
//!
//! The steps of a reply belong together, because line numbers refer to the files as they were when
//! the reply began: [`Execution`] holds what has to be remembered between them. Whether a step may
//! be executed at all was decided before, by `policy` and the person.

mod command;
mod edit;
pub mod git;
mod ledger;
mod lines;
mod list;
mod mentions;
mod nearest;
mod outline;
mod patch;
mod read;
mod replace;
mod search;
mod seen;
mod select;
mod settle;
mod skipped;
#[cfg(test)]
mod stage;
mod staging;
mod syntax;
mod versions;
mod walks;
mod write;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::known_keys::KnownKeys;
use crate::protocol::{
    Capped, Command, Outcome, RelPath, SeenFiles, StagedChange, StagedFile, StagedStep, Step,
};
use crate::repositories::{self, Inventory};
use crate::runner::CommandPlace;
use crate::workspace::Workspace;
use ledger::Ledger;
use staging::carry_out::{Failure, carry_out};
use walks::Walks;

pub use crate::edit::quoted_replacement;
pub use command::unseen_by_commands;
pub use mentions::{Mention, mentions};
pub use outline::{FileOutline, outline_of_file};
pub use read::{FileVeil, Shown, read_file, read_requests, unveiled};
pub use search::{Hidden, Hide};
pub use seen::hash;
pub use settle::{Keep, Settled, settle};
pub use versions::{ToolVersion, versions};

/// The bounds of what a step reads, shows and takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The most lines of a file that are shown.
    pub max_read_lines: u32,
    /// The most files that are listed.
    pub max_list_items: u32,
    /// The most lines that a search shows.
    pub max_search_results: u32,
    /// The most characters of a command's output that are kept.
    pub max_output: usize,
    /// How long a command runs that names no time of its own.
    pub command_timeout: Duration,
    /// The longest time that a command may name.
    pub max_command_timeout: Duration,
    /// The largest file that is read or edited, in bytes.
    pub max_file_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_read_lines: 500,
            max_list_items: 200,
            max_search_results: 50,
            max_output: 4000,
            command_timeout: Duration::from_mins(2),
            max_command_timeout: Duration::from_mins(10),
            max_file_bytes: 16 * 1024 * 1024,
        }
    }
}

/// The steps of one reply, executed one after the other.
pub struct Execution<'a> {
    workspace: &'a Workspace,
    limits: &'a Limits,
    ledger: Ledger<'a>,
    walks: Walks<'a>,
    /// Files that steps of this reply are going to make.
    promised: BTreeSet<RelPath>,
    watch: Option<Watch<'a>>,
    place: CommandPlace,
    missed_network: bool,
    /// Nothing in the workspace is shared with the outside; with `git-write`, nor in its `.git`.
    unshared: Option<Unshared>,
    hide: Option<&'a Hide<'a>>,
    withheld: Option<&'a KnownKeys>,
    /// A message about directories that were read-only for the last command because the workspace
    /// is too large.
    closed: Option<String>,
    /// The repositories after the last command, and when that was.
    inventory: Option<(Instant, Inventory)>,
    /// Where the repositories before a command are written down while it runs.
    kept_inventory: Option<PathBuf>,
    /// True if a snapshot of everything follows the next command.
    snapshot_follows: bool,
}

/// How far nothing was found that commands must not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unshared {
    in_git_too: bool,
}

/// How the person follows and ends a running command.
struct Watch<'a> {
    cancelled: &'a AtomicBool,
    on_output: &'a mut dyn FnMut(&str),
}

impl<'a> Execution<'a> {
    /// Looks at the files as they are before the first step.
    pub fn begin(
        workspace: &'a Workspace,
        limits: &'a Limits,
        seen: &'a mut SeenFiles,
        steps: &[Step],
    ) -> Self {
        let mut ledger = Ledger::new(workspace, seen, limits.max_file_bytes);
        let mut promised = BTreeSet::new();
        let mut has_command_before = false;
        for Step { command, .. } in steps {
            match command {
                Command::RunCommand { .. } => has_command_before = true,
                // What no command can have changed is looked at when its turn comes.
                _ if has_command_before => {
                    for path in command.changed_paths() {
                        // A problem shows when the step itself is executed.
                        let _ = ledger.read(path);
                    }
                }
                _ => {}
            }
            promised.extend(made_paths(command).cloned());
        }
        Self {
            workspace,
            limits,
            ledger,
            walks: Walks::new(workspace),
            promised,
            watch: None,
            place: CommandPlace::default(),
            missed_network: false,
            unshared: None,
            hide: None,
            withheld: None,
            closed: None,
            inventory: None,
            kept_inventory: None,
            snapshot_follows: false,
        }
    }

    /// Keeps a record of the repositories before each command in this file while it runs: if we are
    /// killed, the next process disarms what the command made.
    #[must_use]
    pub fn keeping(mut self, file: Option<PathBuf>) -> Self {
        self.kept_inventory = file;
        self
    }

    /// Hides what this function names from search results, so that no secret is shown in part.
    #[must_use]
    pub fn hiding(mut self, hide: Option<&'a Hide<'a>>) -> Self {
        self.hide = hide;
        self
    }

    /// Keeps these keys out of all that is told of steps, and so out of the journal: a command may print
    /// a file that has one.
    #[must_use]
    pub fn withholding(mut self, keys: &'a KnownKeys) -> Self {
        self.withheld = Some(keys);
        self
    }

    /// From now on commands run there; without this they run on this machine, not confined.
    pub fn run_at(&mut self, place: CommandPlace) {
        self.place = place;
    }

    /// Says if the next command is the last that changes files before a snapshot of everything. Then
    /// the look after it makes the survey for the snapshot too.
    pub fn expect_snapshot(&mut self, follows: bool) {
        self.snapshot_follows = follows;
    }

    /// Tells, once, whether the last command that ran failed for want of the network, as far as its
    /// words tell.
    pub fn take_missed_network(&mut self) -> bool {
        std::mem::take(&mut self.missed_network)
    }

    /// Lets the caller follow the output of commands and end them.
    #[must_use]
    pub fn watched_by(
        mut self,
        cancelled: &'a AtomicBool,
        on_output: &'a mut dyn FnMut(&str),
    ) -> Self {
        self.watch = Some(Watch {
            cancelled,
            on_output,
        });
        self
    }

    /// Executes one step.
    pub fn step(&mut self, step: &Step) -> Outcome {
        let outcome = self.prepare(step);
        let changes = self.ledger.staging.take();
        let made = self.make(&changes);
        self.ledger.staging.clear();
        match made {
            Ok(()) => outcome,
            Err(failure) => failed(failure),
        }
    }

    /// Works out a step; what it changes in files is prepared, and happens with `carry_out`.
    pub fn stage(&mut self, step: &Step) -> (Outcome, Vec<StagedChange>) {
        let outcome = self.prepare(step);
        (outcome, self.ledger.staging.take())
    }

    /// Returns true if so much is prepared that it has to be carried out before more is: four times
    /// the largest file that is edited.
    pub fn is_full(&self) -> bool {
        self.ledger.staging.bytes() > self.limits.max_file_bytes.saturating_mul(4)
    }

    /// Marks the temporary files of what is prepared from now on.
    ///
    /// A killed process leaves them behind; the next one, with the same mark, replaces them.
    pub fn mark(&mut self, mark: &str) {
        self.ledger.staging.set_mark(mark);
    }

    /// The knowledge about the files of these changes, once they are made.
    pub fn files_of(&self, changes: &[&StagedChange]) -> Vec<StagedFile> {
        let effects: Vec<_> = changes.iter().flat_map(|change| change.effects()).collect();
        self.ledger.files(effects.iter().map(|(path, _, _)| *path))
    }

    /// Takes over what a process that was stopped knew of files.
    pub fn take_over(&mut self, files: &[StagedFile]) {
        for file in files {
            self.ledger.take_over(file);
        }
    }

    /// Makes the changes that were prepared for the steps; tells which steps came to nothing, by
    /// their place in the list.
    pub fn carry_out(&mut self, steps: &[StagedStep]) -> Vec<(usize, Outcome)> {
        let failed = (steps.iter().enumerate())
            .filter_map(|(place, step)| Some((place, self.make(&step.changes).err()?)))
            .map(|(place, failure)| (place, failed(failure)))
            .collect();
        self.ledger.staging.clear();
        failed
    }

    fn make(&mut self, changes: &[StagedChange]) -> Result<(), Failure> {
        if !changes.is_empty() {
            self.walks.forget();
            self.workspace.forget_survey();
            let effects = changes.iter().flat_map(StagedChange::effects);
            let paths = effects.map(|(path, ..)| Path::new(path.as_str()));
            self.workspace.forget_names_around(paths);
        }
        let stats = self.ledger.staging.stats();
        carry_out(self.workspace, changes, stats).inspect_err(|_| {
            for (path, _, _) in changes.iter().flat_map(StagedChange::effects) {
                self.ledger.distrust(path);
            }
        })
    }

    fn prepare(&mut self, step: &Step) -> Outcome {
        self.ledger.staging.begin(step.number);
        let mut outcome = self.work_out(step);
        let given = self.ledger.staging.take_given();
        if let (Some(first), false) = (given.first(), outcome.changed.is_empty()) {
            let files = match given.len() {
                1 => format!("`{first}`"),
                more => format!("`{first}` and {} more", more - 1),
            };
            let remark = format!("the owner or group of {files} could not be kept");
            outcome.remarks.push(remark);
        }
        if let Some(keys) = self.withheld {
            for text in outcome.texts_mut() {
                *text = keys.scrub(text);
            }
        }
        outcome
    }

    /// Why a step is refused that would change what git obeys in a repository without a `.git`, which
    /// no rule knows by its name.
    ///
    /// It is judged with what the steps before it have prepared, because a directory may become a
    /// repository by several steps of which none makes it one alone.
    fn refused_in_repository(&self, command: &Command) -> Option<Outcome> {
        if !command.changes_files() {
            return None;
        }
        let root = self.workspace.path();
        // Nothing else that is prepared makes a directory a git directory.
        let is_git_entry = |name: &str| {
            let mut entries = repositories::GIT_ENTRIES.iter();
            entries.any(|entry| name.eq_ignore_ascii_case(entry))
        };
        let prepared = self.ledger.staging.paths();
        let prepared = prepared.filter(|path| path.components().any(is_git_entry));
        let changed = command.changed_paths().into_iter().chain(prepared);
        let changed: Vec<&Path> = changed.map(|path| path.as_str().as_ref()).collect();
        let path = repositories::obeyed_in_repository(root, &changed)?;
        Some(
            Outcome::refused(format!(
                "`{}` belongs to a git repository, and git would run or obey it",
                path.display()
            ))
            .with_hint("ask the person to change it"),
        )
    }

    fn work_out(&mut self, step: &Step) -> Outcome {
        if let Some(outcome) = self.refused_in_repository(&step.command) {
            return outcome;
        }
        match &step.command {
            Command::CreateFile {
                path,
                content,
                source,
            } => self.create_file(path, content, *source),
            Command::EditFile { path, edit } => self.edit_file(path, edit),
            Command::InsertText { path, line, text } => self.insert_text(path, *line, text),
            Command::ApplyPatch { changes } => self.apply_patch(changes),
            Command::DeleteFile { path } => self.delete_file(path),
            Command::MoveFile { from, to } => self.move_file(from, to),
            Command::ReadFile { path, .. } => self.promise_contents(path),
            Command::ListFiles { path, glob } => self.list_files(path.as_ref(), glob.as_deref()),
            Command::SearchText {
                pattern,
                path,
                glob,
                regex,
                case_sensitive,
                context,
            } => self.search_text(&search::Query {
                pattern,
                places: path.as_ref(),
                glob: glob.as_deref(),
                is_regex: *regex,
                is_case_sensitive: *case_sensitive,
                context: *context,
            }),
            Command::RunCommand { script, timeout } => self.run_command(script, *timeout),
            Command::GitStatus { path } => self.git_status(path.as_ref()),
            Command::GitDiff { path } => self.git_diff(path.as_ref()),
            Command::Outline { path } => self.outline(path.as_ref()),
            Command::Plan { .. } => Outcome::ok("the plan was shown to the user"),
            Command::Message { .. } => Outcome::ok("the message was shown to the user"),
            Command::AskUser { .. } => Outcome::ok("the question was put to the user"),
            Command::Done { .. } => Outcome::ok("the session ends"),
        }
    }

    /// Remembers what the model knows of the files after its steps.
    pub fn finish(self) {
        self.ledger.settle();
    }
}

/// The outcome of a step whose changes could not be made.
fn failed(failure: Failure) -> Outcome {
    Outcome::failed(failure.message).with_changed(failure.left)
}

/// The files that are there after a command, if it succeeds.
fn made_paths(command: &Command) -> impl Iterator<Item = &RelPath> {
    let paths = match command {
        Command::DeleteFile { .. } => Vec::new(),
        Command::MoveFile { to, .. } => vec![to],
        other => other.changed_paths(),
    };
    paths.into_iter()
}

/// The beginning of a text, with a word about what is missing.
///
/// Lines stay whole where that leaves half of it: half a secret is none that can be found.
fn capped(text: &str, max_chars: usize) -> Capped {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => {
            let line_end = text[..end].rfind('\n').filter(|at| *at >= end / 2);
            let (shown, rest) = text.split_at(line_end.unwrap_or(end));
            let omitted = rest.chars().count();
            Capped {
                text: format!("{shown}\n[TRUNCATED: {omitted} characters omitted]"),
                omitted: omitted as u64,
            }
        }
        None => text.into(),
    }
}

/// `1 line`, `2 lines`.
fn count(number: usize, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}s")
    }
}
