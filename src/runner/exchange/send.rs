//! Sends what changed here, before a command.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::exchange_report::{ExchangeOutcome, ExchangeReport};
use super::super::listing::{ExchangedContent, PrunedDirectories, RemoteListing, listing_script};
use super::super::tar::{TarContent, TarEntry, TarWriter};
use super::our_side::{content_of, is_directory, is_reserved, link};
use super::state::ExchangeState;
use super::take::{TakenChanges, batches};
use super::{ExchangeRunner, MAX_BYTES, SILENCE};

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

impl ExchangeRunner {
    /// Makes both sides equal, as far as files changed here; fetches what an earlier command left.
    pub(super) fn send(
        &self,
        stop: &AtomicBool,
    ) -> Result<(ExchangeState, ExchangeReport), String> {
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
            let list = to_clear(&gone, &entries, &known, &self.ours.pruned(&known.here));
            let sent = entries.keys().chain(&gone.removed);
            known.sending = sent
                .chain(gone.restored.iter().flatten())
                .cloned()
                .collect();
            for [name, place] in &gone.restored {
                known.give_back(name, place);
            }
            self.keep(&known, false)?;
            for name in self.other.clear(list, stop)? {
                // Something is in it that no listing shows.
                let within = format!("{name}/");
                entries.retain(|other, _| *other != name && !other.starts_with(&within));
                blocked.insert(name);
            }
            let mut archive = TarWriter::default();
            for (name, entry) in &entries {
                archive.add(entry);
                known.untaken.remove(name);
                // Not what is theirs and only gets another place.
                if known.theirs.contains(name) && known.there.entries.contains_key(name) {
                    known.edited.insert(name.clone());
                }
            }
            let script = format!("cd {} && tar -xpmf - || exit 1\n", self.other.directory);
            let script = script + &listing_script(&self.ours.pruned(&here));
            known.adopt(RemoteListing::parse(&self.other.call(
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
        for name in &gone.removed {
            if known.doubtful.remove(name) {
                report.tell(ExchangeOutcome::RemovedThere, name);
            }
        }
        for name in gone.kept {
            let outcome = if known.edited.remove(&name) {
                ExchangeOutcome::KeptEdited
            } else {
                ExchangeOutcome::KeptThere
            };
            report.tell(outcome, &name);
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
            let found = self.ours.workspace.stat_exact(Path::new(name));
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
            let Some(entry) = self.ours.entry(name) else {
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
            let mut contents = self.other.contents(&batch, (stop, SILENCE))?;
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
                here.extend(
                    self.ours
                        .content(place)
                        .map(|content| (place.clone(), content)),
                );
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

    /// Our files now, and the directories that hold them.
    fn here(
        &self,
        known: &mut ExchangeState,
        report: &mut ExchangeReport,
    ) -> Result<BTreeMap<String, ExchangedContent>, String> {
        let walked = self
            .ours
            .workspace
            .walk(None)
            .map_err(|error| error.to_string())?;
        let mut here = BTreeMap::new();
        let mut unsent = BTreeSet::new();
        for file in walked.files.iter() {
            let name = file.path.as_str();
            if is_reserved(name) {
                unsent.insert(name.to_owned());
                continue;
            }
            match self.ours.content(name) {
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
                && self.ours.content(name).as_ref() == Some(content)
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
