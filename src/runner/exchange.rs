//! Commands where the workspace is not: another machine, a pod. Files go there before a command, and
//! what it changed comes back after it.
//!
//! The other side is asked which files it has, with a hash of each, before and after a command; what
//! differs between the two answers was changed by the command. Our side remembers a hash of each file
//! that it sent. So only changes travel, in either direction, as an archive of `tar`. Ignored files
//! stay where they are made, and so does what a command must not change here.
//!
//! Each change of the other side is taken, refused, put beside a file that changed here too, or left
//! there; [`ExchangeReport`] tells all but the first. One that could not be written here is tried again
//! after the next command, and until then nothing of ours replaces it there.
//!
//! Nothing is lost: before files are sent and before a command begins, our side writes down what the
//! other side has. After a lost connection or a kill, what the lost command changed is fetched at the end
//! of the round or before the next command, and never between rounds, so that undo covers it. Where that
//! memory or the mark of the directory is lost, all that is there is compared with ours, and nothing
//! counts as deleted. The directory there is removed when all results have come back.
//!
//! Nothing of ours takes the place of something there that our side has never had: a file that the
//! person or an ignored build put there is first put beside ours. In a directory of the person it is put
//! beside ours on both sides, and what was theirs does not go because it goes here, as after an undo.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::channel::{self, Belongings, Errand, quoted};
use super::exchange_report::{ExchangeOutcome, ExchangeReport};
use super::framed::{CallLimits, FramedScript};
use super::listing::{
    ExchangedContent, LeftReason, MAX_FILE, PrunedDirectories, RemoteListing, listing_script,
};
use super::owner;
use super::tar::{self, TarContent, TarEntry, TarWriter};
use super::{End, Job, Ran, Runner};
use crate::fs::{Durability, write_atomic};
use crate::protocol::RelPath;
use crate::protocol::generated::generated_directory;
use crate::sandbox::{self, Property, PropertyName};
use crate::workspace::{IgnoreLookup, Kind, Workspace};

/// Marks the directory on the other side as that of this workspace.
pub(super) const MARK: &str = ".agent-runner";

/// The name of a directory for a trial in a directory of the person begins with this.
pub(super) const TRIAL: &str = ".agent-runner-trial-";

/// The most bytes of files that travel at once in one direction.
const MAX_BYTES: u64 = MAX_FILE;

/// How long the other side may be silent while files travel.
const SILENCE: Duration = Duration::from_mins(1);

/// How long it may be silent after the person's Ctrl-C.
const SHORT_SILENCE: Duration = Duration::from_secs(10);

/// The end of the name of a file that changed on both sides.
const OTHER: &str = ".other-side";

/// How the other side is reached.
pub trait RemoteConnection: std::fmt::Debug + Send + Sync {
    /// A program that runs a script there: this one, or else the one that it reads from its standard
    /// input. Connects first, where that is needed.
    fn client(&self, script: Option<&str>, cancelled: &AtomicBool) -> Result<Command, String>;

    /// Learns that the person does not wait for an answer, so that its end waits for none either.
    fn give_up(&self) {}

    /// The words of a failure, with what to do about it.
    fn explain(&self, words: &str) -> String;

    /// Properties that hold for every command there.
    fn promises(&self) -> &'static [PropertyName] {
        &[]
    }

    /// A sentence for the person about what was asked of it and does not count.
    fn notice(&self) -> Option<String> {
        None
    }

    /// Tells what holds there.
    fn test(&self) -> Result<Vec<Property>, String> {
        Ok(Vec::new())
    }

    /// Runs a job in a directory there, which is a word of the shell.
    fn run(&self, directory: &str, job: Job<'_>) -> Ran {
        let client = match self.client(None, job.cancelled) {
            Ok(client) => client,
            Err(reason) => return Ran::not_started(reason),
        };
        let errand = Errand {
            client,
            directory,
            environment: &[],
            belongings: Belongings::Marked,
        };
        channel::run(errand, job)
    }

    /// Where the connection itself keeps the files there, which are gone once it is discarded.
    fn storage(&self) -> Option<String> {
        None
    }

    /// Removes what the connection itself keeps there.
    fn discard(&self, _cancelled: &AtomicBool) -> Result<(), String> {
        Ok(())
    }
}

/// Runs commands on the other side of a connection, and exchanges files with it.
#[derive(Debug)]
pub struct ExchangeRunner<C> {
    connection: Arc<C>,
    workspace: Workspace,
    /// The directory there, as a word of the shell.
    directory: String,
    /// The directory there, for the person.
    shown: String,
    /// True if the directory is ours alone, to be removed.
    is_own: bool,
    /// The name of this workspace, in the mark.
    name: String,
    memory: Option<ExchangeMemory>,
    known: Mutex<RememberedExchange>,
    /// The directory there has been made, or may have been.
    has_entered: AtomicBool,
}

/// Where our side writes down what the other side has.
#[derive(Debug, Clone)]
pub struct ExchangeMemory {
    /// The file.
    pub file: PathBuf,
    /// The words for the runner, by which the person finds it again.
    pub runner: String,
}

/// The runners whose memories have names that begin so, and from which results have not come back.
pub fn runners_with_results(directory: &Path, prefix: &str) -> Vec<String> {
    let files = std::fs::read_dir(directory);
    let files = files.into_iter().flatten().flatten().filter(|file| {
        let name = file.file_name();
        name.to_str().is_some_and(|name| name.starts_with(prefix))
    });
    let states = files.filter_map(|file| {
        let bytes = std::fs::read(file.path()).ok()?;
        serde_json::from_slice(&bytes).ok()
    });
    let waiting = states.filter(ExchangeState::has_results);
    let mut runners: Vec<String> = waiting.map(|state| state.runner).collect();
    runners.sort();
    runners
}

/// The latest state, once it has been read or made.
#[derive(Debug, Default)]
struct RememberedExchange {
    state: Option<ExchangeState>,
    /// The directories that the latest listing left out, if nothing has run over there since.
    in_step: Option<PrunedDirectories>,
}

/// The files of both sides, as of the last exchange.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ExchangeState {
    /// The words for the runner.
    runner: String,
    /// The mark in the directory there: with another one it is not the directory that this is about.
    mark: String,
    /// Our files, as they were sent or fetched.
    here: BTreeMap<String, ExchangedContent>,
    /// The files of the other side, before the command that runs or runs next. The former content of
    /// those that are pending.
    there: RemoteListing,
    /// Names there whose content our side has never had: the person's, and ignored ones.
    untaken: BTreeSet<String>,
    /// Names in a directory of the person that did not come from here. They stay there when they go here.
    #[serde(default)]
    theirs: BTreeSet<String>,
    /// Names in a directory of the person that ours took, and the places there of what they were.
    #[serde(default)]
    replaced: BTreeMap<String, String>,
    /// Names that were on their way there: if they differ, a connection was cut, and no command has
    /// changed them.
    sending: BTreeSet<String>,
    /// Changes of the other side that could not be written here.
    pending: BTreeSet<String>,
    /// Our files that were not sent, as told.
    unsent: BTreeSet<String>,
    /// True if a command may have begun whose changes have not come back.
    awaits_results: bool,
}

impl ExchangeState {
    /// A state of which nothing is known, not even if there are results.
    fn unknown() -> Self {
        Self {
            awaits_results: true,
            ..Self::default()
        }
    }

    /// True if something there has not come back, or nobody knows if it has.
    fn has_results(&self) -> bool {
        self.awaits_results || !self.pending.is_empty()
    }

    /// Forgets what a directory without our mark does not have: nobody knows if a command deleted it.
    fn forget_missing(&mut self, listing: &RemoteListing) {
        let is_there =
            |name: &String| listing.entries.contains_key(name) || listing.is_closed(name);
        self.here.retain(|name, _| is_there(name));
        self.there.entries.retain(|name, _| is_there(name));
    }

    /// Remembers what the other side has, except for changes that are still to come here.
    fn adopt(&mut self, mut listing: RemoteListing) {
        for name in &self.pending {
            match self.there.entries.remove(name) {
                Some(former) => drop(listing.entries.insert(name.clone(), former)),
                None => drop(listing.entries.remove(name)),
            }
        }
        self.there = listing;
    }

    /// True if something of the other side would be lost if ours took its place, or if ours has no
    /// place there. `sent` are names that take their place before it.
    fn is_blocked(&self, name: &str, sent: &BTreeSet<String>) -> bool {
        let is_closed = |above: &str| match self.there.entries.get(above) {
            _ if self.pending.contains(above) => true,
            None | Some(ExchangedContent::Directory) => false,
            // A link would lead elsewhere.
            Some(_) => !sent.contains(above),
        };
        let mut above = name.match_indices('/').map(|(at, _)| &name[..at]);
        self.is_left(name) || self.untaken.contains(name) || above.any(is_closed)
    }

    fn is_left(&self, name: &str) -> bool {
        let content = self.there.entries.get(name);
        self.pending.contains(name) || matches!(content, Some(ExchangedContent::Left(_)))
    }

    /// True if something in that directory there would be lost with it.
    fn holds_results(&self, directory: &str) -> bool {
        let within = format!("{directory}/");
        let mut names = self.there.entries.keys().chain(&self.pending);
        let is_only_there = |name: &String| {
            let is_theirs = self.theirs.contains(name);
            let is_file = !is_directory(self.there.entries.get(name));
            self.is_left(name) || self.untaken.contains(name) || (is_theirs && is_file)
        };
        names.any(|name| name.starts_with(&within) && is_only_there(name))
            || self.there.odd.iter().any(|name| name.starts_with(&within))
    }

    /// Remembers that a name there is not ours any more.
    fn give_back(&mut self, name: &str, place: &str) {
        self.replaced.remove(name);
        self.theirs.remove(place);
        for name in [name, place] {
            self.here.remove(name);
            self.untaken.insert(name.to_owned());
        }
    }

    /// Remembers that something of the person is in this place there, and ours has its name.
    fn keep_replaced(&mut self, name: &str, place: &str) {
        self.theirs.remove(name);
        self.theirs.insert(place.to_owned());
        self.replaced.insert(name.to_owned(), place.to_owned());
    }
}

/// Names that are not here any more.
#[derive(Default)]
struct GoneNames {
    /// To be removed there, what a directory holds before itself.
    removed: Vec<String>,
    /// Something that has not come here is in their place there, or on the way to it.
    blocked: Vec<String>,
    /// Of the person there, so not removed.
    kept: Vec<String>,
    /// Where ours took the name of something that is now in the second place there.
    restored: Vec<[String; 2]>,
}

/// The directory there, just entered.
struct EnteredDirectory {
    mark: String,
    /// True if it had no mark.
    is_new: bool,
    listing: RemoteListing,
}

/// The changes that a command made there.
struct RemoteDifferences {
    /// New or with another content.
    changed: Vec<(String, ExchangedContent)>,
    gone: Vec<String>,
}

/// The taking of changes: what is told of it, and where things went.
#[derive(Default)]
struct TakenChanges {
    report: ExchangeReport,
    /// Names that were put beside something of ours, and the names that they have here.
    beside: BTreeMap<String, String>,
    /// Changes that could not be written here.
    pending: BTreeSet<String>,
}

impl TakenChanges {
    /// The place of a name that is in a directory which was put beside something of ours.
    fn moved(&self, name: &str) -> Option<String> {
        let mut slashes = name.match_indices('/').map(|(at, _)| at);
        slashes.find_map(|at| {
            let place = self.beside.get(&name[..at])?;
            Some(format!("{place}{}", &name[at..]))
        })
    }

    fn fail(&mut self, name: &str) {
        self.report.tell(ExchangeOutcome::Unwritable, name);
        self.pending.insert(name.to_owned());
    }
}

impl<C: RemoteConnection> ExchangeRunner<C> {
    /// A runner for this workspace. Without a directory it makes one of its own there, named by `name`.
    pub fn new(
        connection: C,
        workspace: Workspace,
        directory: Option<&str>,
        name: &str,
        memory: Option<ExchangeMemory>,
    ) -> Self {
        let own = || format!("\"${{XDG_CACHE_HOME:-$HOME/.cache}}\"/agent/{name}");
        let word = |directory: &str| match directory.strip_prefix('~') {
            Some("" | "/") => "\"$HOME\"".to_owned(),
            Some(rest) if rest.starts_with('/') => {
                format!("\"$HOME\"/{}", quoted(rest.trim_start_matches('/')))
            }
            _ => quoted(directory),
        };
        Self {
            connection: Arc::new(connection),
            workspace,
            is_own: directory.is_none(),
            directory: directory.map_or_else(own, word),
            shown: directory.map_or_else(|| format!("~/.cache/agent/{name}"), str::to_owned),
            name: name.to_owned(),
            memory,
            known: Mutex::default(),
            has_entered: AtomicBool::new(false),
        }
    }

    /// True if the files there go when the session is over: nobody else has put any there.
    fn is_removed_at_end(&self) -> bool {
        self.is_own || self.connection.storage().is_some()
    }

    /// Makes both sides equal, as far as files changed here; fetches what an earlier command left.
    fn send(&self, stop: &AtomicBool) -> Result<(ExchangeState, ExchangeReport), String> {
        let is_in_step = self.known().in_step.is_some();
        match self.send_once(stop) {
            // The directory may have been removed meanwhile, or the connection was lost.
            Err(_) if is_in_step && !stop.load(Ordering::Relaxed) => self.send_once(stop),
            sent => sent,
        }
    }

    fn send_once(&self, stop: &AtomicBool) -> Result<(ExchangeState, ExchangeReport), String> {
        let (mut known, mut report) = match self.take_in_step() {
            Some(known) => (known, ExchangeReport::default()),
            None => self.catch_up((stop, SILENCE))?,
        };
        let mut here = self.here(&mut known, &mut report)?;
        self.meet(&mut known, &mut here, &mut report, stop)?;
        let (mut entries, mut blocked) = self.to_send(&known, &here)?;
        let gone = self.gone(&known, &here);
        if !entries.is_empty() || !gone.removed.is_empty() || !gone.restored.is_empty() {
            let list = to_clear(&gone, &entries, &known, &self.pruned(&known.here));
            let sent = entries.keys().chain(&gone.removed);
            known.sending = sent
                .chain(gone.restored.iter().flatten())
                .cloned()
                .collect();
            for [name, place] in &gone.restored {
                known.give_back(name, place);
            }
            self.keep(&known, false)?;
            for name in self.clear(list, stop)? {
                // Something is in it that no listing shows.
                let within = format!("{name}/");
                entries.retain(|other, _| *other != name && !other.starts_with(&within));
                blocked.insert(name);
            }
            let mut archive = TarWriter::default();
            for (name, entry) in &entries {
                archive.add(entry);
                known.untaken.remove(name);
            }
            let script = format!("cd {} && tar -xpmf - || exit 1\n", self.directory);
            let script = script + &listing_script(&self.pruned(&here));
            known.adopt(RemoteListing::parse(&self.call(
                &script,
                archive.finish(),
                (stop, SILENCE),
            )?)?);
        }
        for name in blocked.iter().chain(&gone.blocked) {
            report.tell(ExchangeOutcome::Blocked, name);
        }
        for [name, _] in &gone.restored {
            report.tell(ExchangeOutcome::Restored, name);
        }
        for name in gone.kept {
            report.tell(ExchangeOutcome::KeptThere, &name);
            known.untaken.insert(name);
        }
        // What was not sent is tried again before the next command.
        let is_sent = |name: &String| entries.contains_key(name);
        let unsent: Vec<String> = (here.iter())
            .filter(|(name, content)| !is_sent(name) && known.here.get(*name) != Some(*content))
            .map(|(name, _)| name.clone())
            .chain(gone.blocked)
            .collect();
        for name in unsent {
            match known.here.remove(&name) {
                Some(former) => drop(here.insert(name, former)),
                None => drop(here.remove(&name)),
            }
        }
        known.here = here;
        known.sending.clear();
        known.awaits_results = true;
        self.keep(&known, false)?;
        Ok((known, report))
    }

    /// Names that are not here any more.
    fn gone(&self, known: &ExchangeState, here: &BTreeMap<String, ExchangedContent>) -> GoneNames {
        // What is only ignored now is still here, and stays there.
        let is_gone = |name: &String| {
            let found = self.workspace.stat_exact(Path::new(name));
            !here.contains_key(name) && matches!(found, Ok(None))
        };
        let mut gone = GoneNames::default();
        // A place may come before or after the name that it belongs to.
        let restored = known.replaced.iter().filter(|(name, place)| {
            known.here.contains_key(*name)
                && known.there.entries.contains_key(*place)
                && is_gone(name)
                && is_gone(place)
        });
        gone.restored = restored
            .map(|(name, place)| [name.clone(), place.clone()])
            .collect();
        let is_restored = |name: &String| gone.restored.iter().flatten().any(|other| other == name);
        let names = known.here.keys().rev();
        for name in names.filter(|name| is_gone(name) && !is_restored(name)) {
            let names = if known.is_blocked(name, &BTreeSet::new()) {
                &mut gone.blocked
            } else if known.theirs.contains(name) {
                &mut gone.kept
            } else {
                &mut gone.removed
            };
            names.push(name.clone());
        }
        gone
    }

    /// Our files that changed, as they are sent, and the names of those that have no place there.
    fn to_send(
        &self,
        known: &ExchangeState,
        here: &BTreeMap<String, ExchangedContent>,
    ) -> Result<(BTreeMap<String, TarEntry>, BTreeSet<String>), String> {
        let (mut entries, mut blocked) = (BTreeMap::new(), BTreeSet::new());
        let (mut bytes, mut sent) = (0, BTreeSet::new());
        let is_changed = |(name, content): &(&String, &ExchangedContent)| {
            known.here.get(*name) != Some(*content)
        };
        for (name, content) in here.iter().filter(is_changed) {
            let there = known.there.entries.get(name);
            let is_emptied = is_directory(there) && !is_directory(Some(content));
            if known.is_blocked(name, &sent) || (is_emptied && known.holds_results(name)) {
                blocked.insert(name.clone());
                continue;
            }
            let Some(entry) = self.entry(name) else {
                continue;
            };
            if let TarContent::File(content) = &entry.content {
                bytes += content.len() as u64;
            }
            if bytes > MAX_BYTES {
                return Err("the workspace is too large to be sent: ignore what the other side does not need, with a `.gitignore`".to_owned());
            }
            sent.insert(name.clone());
            entries.insert(name.clone(), entry);
        }
        Ok((entries, blocked))
    }

    /// Enters the directory there, for the first time in this process or after a lost connection, and
    /// takes what changed there.
    fn catch_up(
        &self,
        (stop, silence): (&AtomicBool, Duration),
    ) -> Result<(ExchangeState, ExchangeReport), String> {
        let mut known = self.recall().unwrap_or_default();
        let entered = self.enter(&self.pruned(&known.here), (stop, silence))?;
        let EnteredDirectory {
            mark,
            is_new,
            listing,
        } = entered;
        if known.mark != mark {
            if is_new {
                known.forget_missing(&listing);
            } else {
                known = ExchangeState::default();
            }
            if known.mark.is_empty() && !self.is_removed_at_end() {
                // What the person has there is theirs.
                known.untaken = listing.entries.keys().cloned().collect();
                known.there = listing.clone();
            }
            known.mark = mark;
        }
        if let Some(memory) = &self.memory {
            known.runner.clone_from(&memory.runner);
        }
        if !self.is_removed_at_end() {
            // No command of ours made what came since the last one.
            let mut changed = self.differences(&known, &listing).changed;
            changed.retain(|(name, _)| {
                !known.here.contains_key(name) && !known.sending.contains(name)
            });
            known
                .untaken
                .extend(changed.into_iter().map(|(name, _)| name));
        }
        let report = self.take_changes(&mut known, listing, (stop, silence))?;
        self.keep(&known, false)?;
        Ok((known, report))
    }

    /// Compares our files that are about to be sent with what the other side has in their place and
    /// our side has never had. Where they differ, the other one is put beside ours here, and in a
    /// directory of the person there too.
    fn meet(
        &self,
        known: &mut ExchangeState,
        here: &mut BTreeMap<String, ExchangedContent>,
        report: &mut ExchangeReport,
        stop: &AtomicBool,
    ) -> Result<(), String> {
        let is_sent = |name: &&String| {
            let ours = here.get(*name);
            ours.is_some() && known.here.get(*name) != ours
        };
        let met: Vec<String> = known.untaken.iter().filter(is_sent).cloned().collect();
        let mut taken = TakenChanges::default();
        let mut files = Vec::new();
        for name in &met {
            match known.there.entries.get(name) {
                None => drop(known.untaken.remove(name)),
                Some(ExchangedContent::Directory) if is_directory(here.get(name)) => {
                    known.here.insert(name.clone(), ExchangedContent::Directory);
                    known.untaken.remove(name);
                    if !self.is_removed_at_end() {
                        known.theirs.insert(name.clone());
                    }
                }
                Some(ExchangedContent::Link(target)) => {
                    self.meet_one(&link(name, target), here, known, &mut taken);
                }
                Some(ExchangedContent::File { .. }) => files.push(name.as_str()),
                // It stays there, and ours here.
                Some(ExchangedContent::Directory | ExchangedContent::Left(_)) => {}
            }
        }
        for batch in batches(&files, &known.there) {
            let mut contents = self.contents(&batch, (stop, SILENCE))?;
            for name in batch {
                // One that cannot be read stays untaken.
                if let Some(entry) = contents.remove(name) {
                    self.meet_one(&entry, here, known, &mut taken);
                }
            }
        }
        if !self.is_removed_at_end() {
            for (name, place) in &taken.beside {
                known.keep_replaced(name, place);
                here.extend(self.content(place).map(|content| (place.clone(), content)));
            }
        }
        report.extend(taken.report);
        Ok(())
    }

    fn meet_one(
        &self,
        entry: &TarEntry,
        here: &BTreeMap<String, ExchangedContent>,
        known: &mut ExchangeState,
        taken: &mut TakenChanges,
    ) {
        use ExchangedContent::File;
        let Some(ours) = here.get(&entry.name) else {
            return;
        };
        match (ours, &content_of(entry)) {
            (File { hash, mode, .. }, File { hash: other, .. }) if hash == other => {
                if mode & 0o700 == entry.mode & 0o700 {
                    known.here.insert(entry.name.clone(), ours.clone());
                }
            }
            (ours, other) if ours == other => {
                known.here.insert(entry.name.clone(), ours.clone());
            }
            _ => self.put_beside(entry, ExchangeOutcome::Met, known, taken),
        }
        if !taken.pending.contains(&entry.name) {
            known.untaken.remove(&entry.name);
        }
    }

    /// Follows a list of [`to_clear`] there. Tells the names that cannot take their place.
    fn clear(&self, list: String, stop: &AtomicBool) -> Result<Vec<String>, String> {
        if list.is_empty() {
            return Ok(Vec::new());
        }
        let script = format!(
            "cd {} || exit 1; while IFS= read -r n; do f=./${{n#?}}; case $n in \
             \\<*) p=$f;; \
             \\>*) [ -e \"$f\" ] || [ -h \"$f\" ] || mv \"$p\" \"$f\" 2>/dev/null;; \
             \\?*) [ -h \"$f\" ] || [ ! -d \"$f\" ] || printf '%s\\n' \"${{n#?}}\";; \
             *) rm -f \"$f\" 2>/dev/null || rmdir \"$f\" 2>/dev/null || \
             case $n in =*) printf '%s\\n' \"${{n#?}}\";; esac;; esac; done; exit 0",
            self.directory
        );
        let kept = self.call(&script, list.into_bytes(), (stop, SILENCE))?;
        let kept = String::from_utf8_lossy(&kept);
        Ok(kept.lines().map(str::to_owned).collect())
    }

    /// Makes the directory there; tells its mark and its files.
    fn enter(
        &self,
        pruned: &PrunedDirectories,
        patience: (&AtomicBool, Duration),
    ) -> Result<EnteredDirectory, String> {
        if !self.has_entered.swap(true, Ordering::Relaxed) {
            // What stays of them does no harm.
            let _ = self.remove_stale_trials(patience);
        }
        let new = format!("{} {}", uuid::Uuid::new_v4().simple(), self.name);
        // Nobody else uses a directory of our own: whatever its mark says, a command wrote it.
        let used = if self.is_own {
            String::new()
        } else {
            let used = format!(
                "another session uses the directory {0}; if it is over, remove {0}/{MARK} there",
                self.shown
            );
            format!("*' '*) echo {} >&2; exit 1;;", quoted(&used))
        };
        let script = format!(
            "umask 077; mkdir -p {0} && cd {0} || exit 1\n\
             for p in find tar; do command -v $p >/dev/null 2>&1 || {{ echo \"$p: not found\" >&2; exit 1; }}; done\n\
             command -v sha256sum >/dev/null 2>&1 || command -v shasum >/dev/null 2>&1 || {{ echo 'sha256sum: not found' >&2; exit 1; }}\n\
             m=$(cat {MARK} 2>/dev/null)\n\
             case $m in *' {name}') ;; {used} *) m='{new}'; rm -rf {MARK}; echo \"$m\" >{MARK} || exit 1;; esac\n\
             printf '%s\\0' \"$m\"\n",
            self.directory,
            name = self.name,
        );
        let script = script + &listing_script(pruned);
        let answer = self.call(&script, Vec::new(), patience)?;
        let end = answer.iter().position(|byte| *byte == 0);
        let end = end.ok_or("the other side has no directory")?;
        let mark = String::from_utf8_lossy(&answer[..end]).trim().to_owned();
        Ok(EnteredDirectory {
            is_new: mark == new,
            mark,
            listing: RemoteListing::parse(&answer[end + 1..])?,
        })
    }

    /// The beginning of the names of directories for trials there, as words of the shell.
    fn trials(&self) -> String {
        if self.is_own {
            format!("{}-trial-", self.directory)
        } else {
            format!("{}/{TRIAL}", self.directory)
        }
    }

    /// Removes the directories of trials whose process was killed: those of this machine and workspace,
    /// as the end of their names says.
    fn remove_stale_trials(&self, patience: (&AtomicBool, Duration)) -> Result<(), String> {
        let trials = self.trials();
        let script = format!(
            "for d in {trials}*; do [ -d \"$d\" ] && printf '%s\\n' \"${{d##*-trial-}}\"; done; exit 0"
        );
        let found = self.call(&script, Vec::new(), patience)?;
        let found = String::from_utf8_lossy(&found);
        let is_stale =
            |name: &&str| !name.contains('/') && name.ends_with(&self.name) && owner::is_gone(name);
        let stale: Vec<String> = (found.lines().filter(is_stale))
            .map(|name| format!("{trials}{}", quoted(name)))
            .collect();
        if stale.is_empty() {
            return Ok(());
        }
        let script = format!("rm -rf {}", stale.join(" "));
        self.call(&script, Vec::new(), patience).map(drop)
    }

    /// Fetches what changed there since the last listing.
    fn fetch(
        &self,
        known: &mut ExchangeState,
        patience: (&AtomicBool, Duration),
    ) -> Result<ExchangeReport, String> {
        let listing = self.list(&self.pruned(&known.here), patience)?;
        self.take_changes(known, listing, patience)
    }

    fn list(
        &self,
        pruned: &PrunedDirectories,
        patience: (&AtomicBool, Duration),
    ) -> Result<RemoteListing, String> {
        let script = format!("cd {} || exit 1\n", self.directory) + &listing_script(pruned);
        RemoteListing::parse(&self.call(&script, Vec::new(), patience)?)
    }

    /// Takes what differs between this listing and the last one.
    fn take_changes(
        &self,
        known: &mut ExchangeState,
        mut listing: RemoteListing,
        patience: (&AtomicBool, Duration),
    ) -> Result<ExchangeReport, String> {
        self.forget_sending(known, &listing);
        let mut taken = TakenChanges::default();
        // Rules that a command has written or deleted count for what else it has made.
        let is_rule = |name: &str| {
            let file = name.rsplit('/').next();
            matches!(file, Some(".gitignore" | ".ignore")) && self.has_room(name)
        };
        let mut rules = self.differences(known, &listing);
        rules.changed.retain(|(name, _)| is_rule(name));
        rules.gone.retain(|name| is_rule(name));
        if !rules.changed.is_empty() || !rules.gone.is_empty() {
            let former = self.pruned(&known.here);
            self.take(&rules, known, &listing, &mut taken, patience)?;
            self.settle_untaken(known, &rules, &taken);
            for name in &rules.gone {
                known.there.entries.remove(name);
            }
            let changed = rules.changed.into_iter();
            let changed = changed.filter(|(name, _)| !taken.pending.contains(name));
            known.there.entries.extend(changed);
            let pruned = self.pruned(&known.here);
            if pruned != former {
                listing = self.list(&pruned, patience)?;
            }
        }
        let differences = self.differences(known, &listing);
        self.take(&differences, known, &listing, &mut taken, patience)?;
        let mut lookup = self.workspace.ignore_lookup();
        for name in listing.odd.difference(&known.there.odd) {
            if !is_odd_left_out(&mut lookup, name) {
                taken.report.tell(ExchangeOutcome::OddName, name);
            }
        }
        // What is in a directory that cannot be read now is as it was, as far as anybody knows.
        let hidden: Vec<(String, ExchangedContent)> = (known.there.entries.iter())
            .filter(|(name, _)| listing.is_closed(name))
            .map(|(name, content)| (name.clone(), content.clone()))
            .collect();
        listing.entries.extend(hidden);
        self.settle_untaken(known, &differences, &taken);
        known
            .untaken
            .retain(|name| listing.entries.contains_key(name));
        let never_taken = (listing.entries.iter())
            .filter(|(name, content)| is_left_out(&mut lookup, known, name, content));
        let never_taken: Vec<String> = never_taken.map(|(name, _)| name.clone()).collect();
        known.untaken.extend(never_taken);
        known.pending = taken.pending;
        known.adopt(listing);
        known.awaits_results = false;
        Ok(taken.report)
    }

    /// Remembers that changes have come here; in a directory of the person, which names were theirs.
    fn settle_untaken(
        &self,
        known: &mut ExchangeState,
        differences: &RemoteDifferences,
        taken: &TakenChanges,
    ) {
        for (name, _) in &differences.changed {
            if known.untaken.remove(name) && !self.is_removed_at_end() {
                match taken.beside.get(name) {
                    Some(place) => known.keep_replaced(name, place),
                    None => drop(known.theirs.insert(name.clone())),
                }
            }
        }
        for name in &differences.gone {
            known.theirs.remove(name);
            known.replaced.remove(name);
        }
    }

    /// Names there that were changed or deleted since the last listing, without those that are ignored
    /// here.
    fn differences(&self, known: &ExchangeState, listing: &RemoteListing) -> RemoteDifferences {
        let mut lookup = self.workspace.ignore_lookup();
        let is_removed_at_end = self.is_removed_at_end();
        // One that was ignored when a command made it, and is not any more.
        let is_late = |name: &String| {
            is_removed_at_end && known.untaken.contains(name) && !is_protected(name)
        };
        let is_new = |(name, content): &(&String, &ExchangedContent)| {
            known.there.entries.get(*name) != Some(*content) || is_late(name)
        };
        let changed: Vec<(String, ExchangedContent)> = (listing.entries.iter())
            .filter(is_new)
            .filter(|(name, content)| !is_left_out(&mut lookup, known, name, content))
            .map(|(name, content)| (name.clone(), content.clone()))
            .collect();
        let gone = (known.there.entries.iter().rev())
            .filter(|(name, _)| !listing.entries.contains_key(*name) && !listing.is_closed(name))
            .filter(|(name, content)| !is_left_out(&mut lookup, known, name, content))
            .map(|(name, _)| name.clone())
            .collect();
        RemoteDifferences { changed, gone }
    }

    /// Sends again what a cut connection has sent in part.
    fn forget_sending(&self, known: &mut ExchangeState, listing: &RemoteListing) {
        for name in std::mem::take(&mut known.sending) {
            match listing.entries.get(&name) {
                Some(there) => {
                    known.there.entries.insert(name.clone(), there.clone());
                }
                None => drop(known.there.entries.remove(&name)),
            }
            // One that is gone here is removed again. Of another one it is known only that what is
            // there is ours.
            if self.content(&name).is_some() {
                let partly = ExchangedContent::Left(LeftReason::Special);
                known.here.insert(name, partly);
            }
        }
    }

    /// Takes these changes and these removals.
    fn take(
        &self,
        RemoteDifferences { changed, gone }: &RemoteDifferences,
        known: &mut ExchangeState,
        listing: &RemoteListing,
        taken: &mut TakenChanges,
        patience: (&AtomicBool, Duration),
    ) -> Result<(), String> {
        let mut files = Vec::new();
        let mut others = Vec::new();
        for (name, content) in changed {
            match content {
                ExchangedContent::Left(reason) => {
                    taken.report.tell((*reason).into(), name);
                }
                ExchangedContent::Directory if is_protected(name) => {}
                _ if is_protected(name) => taken.report.tell(ExchangeOutcome::Protected, name),
                ExchangedContent::File { .. } => files.push(name.as_str()),
                ExchangedContent::Link(target) => others.push(link(name, target)),
                ExchangedContent::Directory => others.push(TarEntry {
                    name: name.clone(),
                    mode: 0o755,
                    content: TarContent::Directory,
                }),
            }
        }
        let batches = batches(&files, listing);
        let mut batches = batches.iter();
        // The connection has to hold before anything is changed here.
        let mut first = match batches.next() {
            Some(batch) => Some((batch, self.contents(batch, patience)?)),
            None => None,
        };
        for name in gone {
            self.remove(name, known, taken);
        }
        // A directory goes before what it holds.
        for entry in others {
            self.put(&entry, known, taken);
        }
        while let Some((batch, mut contents)) = first.take() {
            for name in batch {
                if let Some(entry) = contents.remove(*name) {
                    self.put(&entry, known, taken);
                } else {
                    taken.report.tell(ExchangeOutcome::Unreadable, name);
                    taken.pending.insert((*name).to_owned());
                }
            }
            first = match batches.next() {
                Some(batch) => Some((batch, self.contents(batch, patience)?)),
                None => None,
            };
        }
        Ok(())
    }

    /// The contents of these files there, as far as they can be read.
    fn contents(
        &self,
        names: &[&str],
        patience: (&AtomicBool, Duration),
    ) -> Result<BTreeMap<String, TarEntry>, String> {
        // A file that cannot be read is missing in the archive. Not every `tar` reads names from its
        // input, and a command line has a limit.
        let script = format!(
            "cd {} || exit 1; if tar -cf - -T /dev/null >/dev/null 2>&1; then tar -cf - -T -; exit 0; fi; \
             set --; while IFS= read -r n; do set -- \"$@\" \"$n\"; done; tar -cf - \"$@\"; exit 0",
            self.directory
        );
        let mut list = String::new();
        for name in names {
            let _ = writeln!(list, "./{name}");
        }
        let archive = self.call(&script, list.into_bytes(), patience)?;
        let entries = tar::entries(&archive).ok_or("the archive of the other side is damaged")?;
        let entries = entries.into_iter().map(|mut entry| {
            entry.name = entry.name.trim_start_matches("./").to_owned();
            (entry.name.clone(), entry)
        });
        Ok(entries.collect())
    }

    /// Writes a change of the other side here; beside ours, if that changed too.
    fn put(&self, entry: &TarEntry, known: &mut ExchangeState, taken: &mut TakenChanges) {
        let name = &entry.name;
        if let Some(place) = taken.moved(name) {
            if self.write(&place, entry).is_err() {
                taken.fail(name);
            }
            return;
        }
        let now = self.content(name);
        let new = content_of(entry);
        if let Some(now) = now.as_ref().filter(|now| is_alike(now, &new)) {
            known.here.insert(name.clone(), now.clone());
            return;
        }
        let is_ours = match (&now, known.here.get(name)) {
            (Some(now), Some(former)) => is_alike(now, former),
            (now, former) => now.is_none() && former.is_none(),
        };
        if !is_ours {
            self.put_beside(entry, ExchangeOutcome::Beside, known, taken);
            return;
        }
        let path = Path::new(name);
        let (was, is) = (is_directory(now.as_ref()), is_directory(Some(&new)));
        if was && !is {
            // Its files were removed there too, except for those that are ignored or changed here.
            if self.workspace.remove_directory_exact(path).is_err() {
                known.here.remove(name);
                self.put_beside(entry, ExchangeOutcome::Beside, known, taken);
                return;
            }
        } else if is && !was && now.is_some() {
            let _ = self.workspace.remove_exact(path);
        }
        match self.write(name, entry) {
            Ok(()) => known
                .here
                .extend(self.content(name).map(|now| (name.clone(), now))),
            Err(_) => taken.fail(name),
        }
    }

    /// Puts what the other side has beside ours, under a name that is free on both sides.
    fn put_beside(
        &self,
        entry: &TarEntry,
        outcome: ExchangeOutcome,
        known: &ExchangeState,
        taken: &mut TakenChanges,
    ) {
        let (name, new) = (&entry.name, content_of(entry));
        let places = (1..1000).map(|number| match number {
            1 => format!("{name}{OTHER}"),
            number => format!("{name}{OTHER}-{number}"),
        });
        let is_file = !is_directory(Some(&new));
        for place in places {
            let found = self.workspace.stat_exact(Path::new(&place));
            let is_there = is_file
                && matches!(found, Ok(Some(_)))
                && self.content(&place).is_some_and(|now| is_alike(&now, &new));
            let is_free = matches!(found, Ok(None)) && !known.there.entries.contains_key(&place);
            if !is_free && !is_there {
                continue;
            }
            if is_free && self.write(&place, entry).is_err() {
                break;
            }
            taken.report.tell_place(outcome, name, &place);
            taken.beside.insert(name.clone(), place);
            return;
        }
        taken.fail(name);
    }

    fn write(&self, place: &str, entry: &TarEntry) -> std::io::Result<()> {
        let path = Path::new(place);
        self.make_parents(path)?;
        match &entry.content {
            TarContent::File(bytes) => {
                let mode = self.mode_for(path, entry.mode);
                self.workspace.write_exact(path, bytes, mode)
            }
            TarContent::Link(target) => self.workspace.link_exact(path, target.as_ref()),
            TarContent::Directory => self.workspace.make_directory_exact(path),
        }
    }

    /// The permissions of a file here: those that it has, but for the bit that counts. A new one is as
    /// private as it is there.
    fn mode_for(&self, path: &Path, there: u32) -> u32 {
        let found = self.workspace.stat_exact(path).ok().flatten();
        let found = found.filter(|found| matches!(found.kind, Kind::File { .. }));
        let mode = found.map_or(0o600 | (there & 0o044), |found| found.mode);
        if there & 0o100 == 0 {
            mode & !0o111
        } else {
            mode | ((mode & 0o444) >> 2)
        }
    }

    /// True if all directories above a name are directories or can be made.
    fn has_room(&self, name: &str) -> bool {
        let mut above = name.match_indices('/').map(|(at, _)| &name[..at]);
        above.all(|above| {
            let found = self.workspace.stat_exact(Path::new(above));
            found.is_ok_and(|found| found.is_none_or(|found| found.is_directory()))
        })
    }

    fn make_parents(&self, path: &Path) -> std::io::Result<()> {
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        for directory in above
            .into_iter()
            .filter(|path| !path.as_os_str().is_empty())
        {
            if self.workspace.stat_exact(directory)?.is_none() {
                self.workspace.make_directory_exact(directory)?;
            }
        }
        Ok(())
    }

    /// Removes here what a command removed there, unless it changed here.
    fn remove(&self, name: &str, known: &mut ExchangeState, taken: &mut TakenChanges) {
        let (now, path) = (self.content(name), Path::new(name));
        let Some(now) = now.filter(|_| !is_protected(name)) else {
            known.here.remove(name);
            return;
        };
        let former = known.here.get(name);
        if !former.is_some_and(|former| is_alike(&now, former)) {
            taken.report.tell(ExchangeOutcome::KeptHere, name);
            return;
        }
        let removed = match now {
            // It may hold files that are ignored.
            ExchangedContent::Directory => self.workspace.remove_directory_exact(path).or(Ok(())),
            _ => self.workspace.remove_exact(path),
        };
        match removed {
            Ok(()) => drop(known.here.remove(name)),
            Err(_) => taken.fail(name),
        }
    }

    /// Our files now, and the directories that hold them.
    fn here(
        &self,
        known: &mut ExchangeState,
        report: &mut ExchangeReport,
    ) -> Result<BTreeMap<String, ExchangedContent>, String> {
        let walked = self
            .workspace
            .walk(None)
            .map_err(|error| error.to_string())?;
        let mut here = BTreeMap::new();
        let mut unsent = BTreeSet::new();
        for file in walked.files {
            let name = file.path.as_str();
            if is_reserved(name) {
                unsent.insert(name.to_owned());
                continue;
            }
            match self.content(name) {
                None => continue,
                Some(ExchangedContent::Left(_)) => {
                    unsent.insert(name.to_owned());
                    // What is there of it stays as it is.
                    here.extend(
                        known
                            .here
                            .get(name)
                            .map(|former| (name.to_owned(), former.clone())),
                    );
                }
                Some(content) => drop(here.insert(name.to_owned(), content)),
            }
            for above in Path::new(name).ancestors().skip(1) {
                let above = above.to_string_lossy();
                if !above.is_empty() && !here.contains_key(above.as_ref()) {
                    here.insert(above.into_owned(), ExchangedContent::Directory);
                }
            }
        }
        if walked.unnamable > 0 {
            unsent.insert(format!(
                "{} files whose names cannot be sent",
                walked.unnamable
            ));
        }
        // An empty directory that came from there is still there.
        for (name, content) in &known.here {
            if *content == ExchangedContent::Directory
                && self.content(name).as_ref() == Some(content)
            {
                here.entry(name.clone())
                    .or_insert(ExchangedContent::Directory);
            }
        }
        for name in unsent.difference(&known.unsent) {
            report.tell(ExchangeOutcome::Unsent, name);
        }
        known.unsent = unsent;
        Ok(here)
    }

    /// The content of a name here.
    fn content(&self, name: &str) -> Option<ExchangedContent> {
        let path = Path::new(name);
        let found = self.workspace.stat_exact(path).ok()??;
        Some(match found.kind {
            Kind::Directory => ExchangedContent::Directory,
            Kind::Link => {
                let target = self.workspace.read_link_exact(path).ok()?;
                match target.into_string() {
                    Ok(target) => ExchangedContent::Link(target),
                    Err(_) => ExchangedContent::Left(LeftReason::Special),
                }
            }
            Kind::File { size } if size > MAX_FILE => {
                ExchangedContent::Left(LeftReason::TooLarge(size))
            }
            Kind::File { .. } => match self.workspace.read_exact(path, MAX_FILE) {
                Ok(Some(bytes)) => ExchangedContent::File {
                    hash: blake3::hash(&bytes).to_hex().to_string(),
                    executable: found.mode & 0o100 != 0,
                    mode: found.mode & 0o777,
                },
                _ => ExchangedContent::Left(LeftReason::Unreadable),
            },
            Kind::Special => return None,
        })
    }

    /// Something of ours, to be sent; none if it cannot be read.
    fn entry(&self, name: &str) -> Option<TarEntry> {
        let path = Path::new(name);
        let found = self.workspace.stat_exact(path).ok()??;
        let (mode, content) = match found.kind {
            Kind::Directory => (found.mode & 0o777 | 0o700, TarContent::Directory),
            Kind::Link => {
                let target = self.workspace.read_link_exact(path).ok()?;
                (0o777, TarContent::Link(target.into_string().ok()?))
            }
            Kind::File { .. } => {
                let bytes = self.workspace.read_exact(path, MAX_FILE).ok()??;
                (found.mode & 0o777, TarContent::File(bytes))
            }
            Kind::Special => return None,
        };
        Some(TarEntry {
            name: name.to_owned(),
            mode,
            content,
        })
    }

    /// Ignored directories that a listing need not enter. A rule counts only if it names a directory
    /// plainly, nothing excepts that name, and nothing in such a directory was exchanged.
    fn pruned(&self, here: &BTreeMap<String, ExchangedContent>) -> PrunedDirectories {
        const MAX: u64 = 256 * 1024;
        let read = |file: &str| {
            let content = self.workspace.read_exact(Path::new(file), MAX);
            let content = content.ok().flatten().unwrap_or_default();
            String::from_utf8_lossy(&content).into_owned()
        };
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let rules = here
            .keys()
            .filter(|name| matches!(last(name).as_str(), ".gitignore" | ".ignore"));
        let excepted: BTreeSet<String> = rules
            .flat_map(|file| {
                let text = read(file);
                let lines = text.lines().filter_map(|line| line.strip_prefix('!'));
                let names = lines.map(|line| last(line.trim().trim_end_matches('/')));
                names.collect::<Vec<_>>()
            })
            .collect();
        let held: BTreeSet<String> = (here.iter())
            .filter(|(_, content)| **content == ExchangedContent::Directory)
            .map(|(name, _)| last(name))
            .collect();
        let is_plain = |c: char| c.is_alphanumeric() || "._-/".contains(c);
        let mut pruned = PrunedDirectories::default();
        for line in [".gitignore", ".ignore"]
            .map(read)
            .iter()
            .flat_map(|text| text.lines())
        {
            let line = line.trim();
            let path = line.trim_start_matches('/').trim_end_matches('/');
            let name = last(path);
            let is_excepted =
                |excepted: &String| *excepted == name || !excepted.chars().all(is_plain);
            if path.is_empty()
                || !path.chars().all(is_plain)
                || held.contains(&name)
                || excepted.iter().any(is_excepted)
            {
                continue;
            }
            if line.starts_with('/') || path.contains('/') {
                pruned.paths.insert(path.to_owned());
            } else {
                pruned.names.insert(path.to_owned());
            }
        }
        pruned
    }

    /// Runs a script there that reads this input; tells its output.
    fn call(
        &self,
        script: &str,
        input: Vec<u8>,
        (stop, silence): (&AtomicBool, Duration),
    ) -> Result<Vec<u8>, String> {
        let script = FramedScript::new(script);
        let client = self.connection.client(Some(&script.text), stop)?;
        // The archive of one file of the largest size fits.
        let limits = CallLimits {
            bytes: usize::try_from(MAX_BYTES + (64 << 20)).unwrap_or(usize::MAX),
            silence,
            stop,
        };
        let answer = script.run(client, input, limits);
        if answer.is_err() && stop.load(Ordering::Relaxed) {
            self.connection.give_up();
        }
        answer.map_err(|words| self.connection.explain(&words))
    }

    fn known(&self) -> std::sync::MutexGuard<'_, RememberedExchange> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, if nothing can have changed over there since. It is returned once: the caller is about
    /// to change what is there.
    fn take_in_step(&self) -> Option<ExchangeState> {
        let (state, pruned) = {
            let mut known = self.known();
            let pruned = known.in_step.take()?;
            (known.state.clone()?, pruned)
        };
        // The person may work in a directory of theirs; and what is not ignored any more has not been
        // listed.
        let is_listed = || self.pruned(&state.here) == pruned;
        (self.is_removed_at_end() && is_listed()).then_some(state)
    }

    /// The last state that was written down, if there is one.
    fn recall(&self) -> Option<ExchangeState> {
        let mut known = self.known();
        if known.state.is_none() {
            known.state = match std::fs::read(&self.memory.as_ref()?.file) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                read => {
                    let state = read
                        .ok()
                        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
                    Some(state.unwrap_or_else(ExchangeState::unknown))
                }
            };
        }
        known.state.clone()
    }

    fn keep(&self, state: &ExchangeState, is_in_step: bool) -> Result<(), String> {
        *self.known() = RememberedExchange {
            state: Some(state.clone()),
            in_step: is_in_step.then(|| self.pruned(&state.here)),
        };
        let Some(ExchangeMemory { file, .. }) = &self.memory else {
            return Ok(());
        };
        let bytes = serde_json::to_vec(state).map_err(|error| error.to_string())?;
        // Once results are here, it does no harm to fetch them again.
        let durability = if is_in_step {
            Durability::Atomic
        } else {
            Durability::Durable
        };
        write_atomic(file, &bytes, durability).map_err(|error| error.to_string())
    }

    /// Removes the directory there; of one that the person named, only the mark.
    fn leave_directory(&self, cancelled: &AtomicBool) -> Result<(), String> {
        let script = if self.is_own {
            format!("rm -rf {}", self.directory)
        } else {
            format!("rm -f {}/{MARK}", self.directory)
        };
        self.call(&script, Vec::new(), (cancelled, SILENCE))
            .map(drop)
    }

    /// Names of results that are only there.
    fn only_there(&self, known: &ExchangeState) -> Vec<String> {
        let mut lookup = self.workspace.ignore_lookup();
        let is_result = |content: &ExchangedContent| {
            use LeftReason::{TooLarge, Unreadable};
            matches!(content, ExchangedContent::Left(TooLarge(_) | Unreadable))
        };
        let left = known.there.entries.iter();
        let left = left.filter(|(_, content)| is_result(content));
        let mut names: Vec<String> = left
            .filter(|(name, content)| !is_left_out(&mut lookup, known, name, content))
            .map(|(name, _)| name.clone())
            .collect();
        names.extend(known.pending.iter().cloned());
        let odd = known.there.odd.iter();
        names.extend(
            odd.filter(|name| !is_odd_left_out(&mut lookup, name))
                .cloned(),
        );
        names
    }
}

impl<C: RemoteConnection> Runner for ExchangeRunner<C> {
    fn promises(&self) -> &'static [PropertyName] {
        self.connection.promises()
    }

    fn notice(&self) -> Option<String> {
        self.connection.notice()
    }

    fn expect_files(&self) {
        if self.recall().is_none() {
            self.known().state = Some(ExchangeState::unknown());
        }
    }

    fn keeps_files(&self) -> bool {
        let is_remembered = self.memory.is_none() || self.recall().is_some();
        is_remembered || self.has_entered.load(Ordering::Relaxed)
    }

    fn awaits_results(&self) -> bool {
        self.recall().is_some_and(|known| known.has_results())
    }

    fn fetch_results(&self, cancelled: &AtomicBool) -> Result<Option<String>, String> {
        let (known, report) = self.catch_up((cancelled, SHORT_SILENCE))?;
        self.keep(&known, true)?;
        let notes = report.notes();
        Ok((!notes.is_empty()).then(|| notes.join("; ")))
    }

    fn finish(&self, cancelled: &AtomicBool) -> Result<(), String> {
        if !self.keeps_files() {
            return Ok(());
        }
        let place = match self.connection.storage() {
            Some(storage) => storage,
            None => format!("`{}`", self.shown),
        };
        let left = if self.awaits_results() {
            Some(format!(
                "what a command changed has not come back; its files are kept there in {place}, and the next session here with this runner takes them in its first round"
            ))
        } else {
            let known = self.recall().filter(|_| self.is_removed_at_end());
            let left = known.map(|known| self.only_there(&known));
            let left = left.filter(|left| !left.is_empty());
            left.map(|left| {
                let left = super::exchange_report::listed(&left);
                format!(
                    "not all results came back: {left}; its files are kept there in {place}, from where you can copy them"
                )
            })
        };
        match left {
            Some(reason) => Err(reason),
            None => self.clean(cancelled),
        }
    }

    fn clean(&self, cancelled: &AtomicBool) -> Result<(), String> {
        if self.connection.storage().is_some() {
            self.connection.discard(cancelled)?;
        } else {
            self.leave_directory(cancelled)?;
            self.remove_stale_trials((cancelled, SILENCE))?;
        }
        self.has_entered.store(false, Ordering::Relaxed);
        *self.known() = RememberedExchange::default();
        if let Some(memory) = &self.memory {
            let _ = crate::fs::remove(&memory.file);
        }
        Ok(())
    }

    fn test(&self, _: &Path) -> Result<Vec<Property>, String> {
        // With files and a directory of its own: a session may be at work.
        let here = crate::fs::temporary_directory("agent-trial-").map_err(|e| e.to_string())?;
        let file = here.path().join("trial");
        write_atomic(&file, b"trial\n", Durability::Atomic).map_err(|e| e.to_string())?;
        let id = uuid::Uuid::new_v4().simple();
        let trial = Self {
            connection: Arc::clone(&self.connection),
            workspace: Workspace::open(here.path()).map_err(|e| e.to_string())?,
            directory: format!(
                "{}{}-{id}-{}",
                self.trials(),
                owner::own_process(),
                self.name
            ),
            shown: self.shown.clone(),
            is_own: true,
            name: "trial".to_owned(),
            memory: None,
            known: Mutex::default(),
            has_entered: AtomicBool::new(false),
        };
        let never = AtomicBool::new(false);
        let tested = self.connection.test().and_then(|mut properties| {
            let tested = self.remove_stale_trials((&never, SILENCE));
            let tested = tested.and_then(|()| trial.test_survival(here.path()));
            trial.leave_directory(&never)?;
            properties.extend(tested?);
            Ok(properties)
        });
        if !self.keeps_files() {
            let discarded = self.connection.discard(&never);
            return tested.and_then(|properties| discarded.map(|()| properties));
        }
        tested
    }

    fn run(&self, job: Job<'_>) -> Ran {
        let (began, cancelled) = (Instant::now(), job.cancelled);
        let (mut known, mut report) = match self.send(cancelled) {
            Ok(sent) => sent,
            Err(reason) => return Ran::not_started(format!("no files were exchanged: {reason}")),
        };
        let mut ran = self.connection.run(&self.directory, job);
        // What an interrupted command changed is fetched too. A second Ctrl-C cannot be seen then.
        let never = AtomicBool::new(false);
        let patience = if cancelled.load(Ordering::Relaxed) {
            (&never, SHORT_SILENCE)
        } else {
            (cancelled, SILENCE)
        };
        let fetched = self.fetch(&mut known, patience);
        let mut late = None;
        match fetched {
            Ok(fetched) => {
                report.extend(fetched);
                // What cannot be remembered is fetched again.
                let _ = self.keep(&known, true);
            }
            Err(reason) => {
                let late_part = match ran.end {
                    End::NotStarted(_) => "if it began all the same, what it changed",
                    _ => "what it changed",
                };
                late = Some(format!(
                    "{late_part} has not come back yet and is fetched before the next command: {reason}"
                ));
            }
        }
        let mut notes: Vec<String> = ran.note.take().into_iter().collect();
        if ran.is_lost {
            notes.push("the connection was lost while it ran".to_owned());
        }
        notes.extend(report.notes());
        notes.extend(late);
        ran.note = (!notes.is_empty()).then(|| notes.join("; "));
        ran.took = began.elapsed();
        ran
    }
}

/// Makes room there before an archive is unpacked: for names that are gone, and for those that become
/// something else. All that is listed in such a directory has come here.
///
/// ```text
/// line = "-" name                 remove a file or an empty directory
///      | "=" name                 the same; told if it is still there
///      | "?" name                 told if it is a directory, which no listing shows
///      | "<" place LF ">" name    give a place back its name, if that is free
/// ```
fn to_clear(
    gone: &GoneNames,
    entries: &BTreeMap<String, TarEntry>,
    known: &ExchangeState,
    pruned: &PrunedDirectories,
) -> String {
    let mut list = String::new();
    for name in &gone.removed {
        let _ = writeln!(list, "-{name}");
    }
    for [name, place] in &gone.restored {
        let _ = writeln!(list, "-{name}\n<{place}\n>{name}");
    }
    for (name, entry) in entries {
        let Some(there) = known.there.entries.get(name) else {
            if entry.content != TarContent::Directory && pruned.leaves_out(name) {
                let _ = writeln!(list, "?{name}");
            }
            continue;
        };
        let is_emptied = *there == ExchangedContent::Directory;
        if is_emptied == (entry.content == TarContent::Directory) {
            continue;
        }
        if is_emptied {
            let within = format!("{name}/");
            let held = known.there.entries.keys().rev();
            for held in held.filter(|held| held.starts_with(&within)) {
                let _ = writeln!(list, "-{held}");
            }
        }
        let _ = writeln!(list, "={name}");
    }
    list
}

/// True for a name that the exchange itself uses in the directory there.
fn is_reserved(name: &str) -> bool {
    let first = name.split('/').next().unwrap_or_default();
    first == MARK || first.starts_with(TRIAL)
}

fn link(name: &str, target: &str) -> TarEntry {
    TarEntry {
        name: name.to_owned(),
        mode: 0o777,
        content: TarContent::Link(target.to_owned()),
    }
}

/// Names in groups, each of which travels at once.
fn batches<'n>(names: &[&'n str], listing: &RemoteListing) -> Vec<Vec<&'n str>> {
    let mut batches: Vec<Vec<&str>> = Vec::new();
    let mut bytes = 0;
    for name in names {
        let size = listing.size(name);
        match batches.last_mut() {
            Some(batch) if bytes + size <= MAX_BYTES => {
                bytes += size;
                batch.push(name);
            }
            _ => {
                bytes = size;
                batches.push(vec![name]);
            }
        }
    }
    batches
}

fn content_of(entry: &TarEntry) -> ExchangedContent {
    match &entry.content {
        TarContent::File(bytes) => ExchangedContent::File {
            hash: blake3::hash(bytes).to_hex().to_string(),
            executable: entry.mode & 0o100 != 0,
            mode: entry.mode & 0o777,
        },
        TarContent::Link(target) => ExchangedContent::Link(target.clone()),
        TarContent::Directory => ExchangedContent::Directory,
    }
}

fn is_directory(content: Option<&ExchangedContent>) -> bool {
    content == Some(&ExchangedContent::Directory)
}

/// True if two contents of our side differ at most in who may read them.
fn is_alike(one: &ExchangedContent, other: &ExchangedContent) -> bool {
    use ExchangedContent::File;
    match (one, other) {
        (
            File {
                hash, executable, ..
            },
            File {
                hash: other,
                executable: other_executable,
                ..
            },
        ) => hash == other && executable == other_executable,
        _ => one == other,
    }
}

/// True for a name that commands must not change here, or that leads out.
fn is_protected(name: &str) -> bool {
    let is_plain = |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
    let path = Path::new(name);
    // An editor obeys its configuration in whatever directory the person opens.
    let is_configuration = |part: &str| {
        let mut names = sandbox::PROTECTED.iter();
        names.any(|name| part.eq_ignore_ascii_case(name))
    };
    let mut workflows = sandbox::WORKFLOWS.iter();
    !path.components().all(is_plain)
        || name.split('/').any(is_configuration)
        || workflows.any(|guarded| path.starts_with(guarded))
}

/// True for a name that is ignored here and was not exchanged before.
fn is_left_out(
    lookup: &mut IgnoreLookup<'_>,
    known: &ExchangeState,
    name: &str,
    content: &ExchangedContent,
) -> bool {
    if known.here.contains_key(name) {
        return false;
    }
    RelPath::parse(name).is_ok_and(|path| {
        generated_directory(&path).is_some() || lookup.ignores(&path, is_directory(Some(content)))
    })
}

/// True for a name that our side cannot hold, in a directory that is ignored here.
fn is_odd_left_out(lookup: &mut IgnoreLookup<'_>, name: &str) -> bool {
    let slashes: Vec<usize> = name.match_indices('/').map(|(at, _)| at).collect();
    let mut above = slashes.into_iter().rev();
    above.any(|at| {
        RelPath::parse(&name[..at])
            .is_ok_and(|path| generated_directory(&path).is_some() || lookup.ignores(&path, true))
    })
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
