//! Takes what changed there: each change is written here, refused, put beside ours or left there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::super::exchange_report::{ExchangeOutcome, ExchangeReport};
use super::super::listing::{ExchangedContent, LeftReason, RemoteListing};
use super::super::tar::{TarContent, TarEntry};
use super::other_side::EnteredDirectory;
use super::our_side::{
    content_of, is_alike, is_directory, is_left_out, is_odd_left_out, is_protected, link,
};
use super::state::ExchangeState;
use super::{ExchangeRunner, MAX_BYTES};

/// The end of the name of a file that changed on both sides.
const OTHER: &str = ".other-side";

/// The changes that a command made there.
struct RemoteDifferences {
    /// New or with another content.
    changed: Vec<(String, ExchangedContent)>,
    gone: Vec<String>,
}

/// The taking of changes: what is told of it, and where things went.
#[derive(Default)]
pub(super) struct TakenChanges {
    pub(super) report: ExchangeReport,
    /// Names that were put beside something of ours, and the names that they have here.
    pub(super) beside: BTreeMap<String, String>,
    /// Changes that could not be written here.
    pub(super) pending: BTreeSet<String>,
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

impl ExchangeRunner {
    /// Enters the directory there, for the first time in this process or after a lost connection, and
    /// takes what changed there.
    pub(super) fn catch_up(
        &self,
        (stop, silence): (&AtomicBool, Duration),
    ) -> Result<(ExchangeState, ExchangeReport), String> {
        let mut known = self.recall().unwrap_or_default();
        let entered = self
            .other
            .enter(&self.ours.pruned(&known.here), (stop, silence))?;
        let EnteredDirectory {
            mark,
            is_new,
            listing,
        } = entered;
        if known.mark != mark {
            if !is_new {
                known = ExchangeState::default();
            } else if known.is_left {
                known.rejoin(&listing, |name| self.ours.content(name).is_some());
            } else {
                known.forget_missing(&listing);
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
            let mut changed = self.differences(&known, &listing).changed;
            changed.retain(|(name, _)| {
                !known.here.contains_key(name) && !known.sending.contains(name)
            });
            let new = if known.awaits_results {
                // Most likely a command made it whose results have not come back.
                &mut known.doubtful
            } else {
                // No command of ours made what came since the last one.
                &mut known.untaken
            };
            new.extend(changed.into_iter().map(|(name, _)| name));
        }
        let report = self.take_changes(&mut known, listing, (stop, silence))?;
        self.keep(&known, false)?;
        Ok((known, report))
    }

    /// Fetches what changed there since the last listing.
    pub(super) fn fetch(
        &self,
        known: &mut ExchangeState,
        patience: (&AtomicBool, Duration),
    ) -> Result<ExchangeReport, String> {
        let listing = self.other.list(&self.ours.pruned(&known.here), patience)?;
        self.take_changes(known, listing, patience)
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
            matches!(file, Some(".gitignore" | ".ignore")) && self.ours.has_room(name)
        };
        let mut rules = self.differences(known, &listing);
        rules.changed.retain(|(name, _)| is_rule(name));
        rules.gone.retain(|name| is_rule(name));
        if !rules.changed.is_empty() || !rules.gone.is_empty() {
            let former = self.ours.pruned(&known.here);
            self.take(&rules, known, &listing, &mut taken, patience)?;
            self.settle_untaken(known, &rules, &taken);
            for name in &rules.gone {
                known.there.entries.remove(name);
            }
            let changed = rules.changed.into_iter();
            let changed = changed.filter(|(name, _)| !taken.pending.contains(name));
            known.there.entries.extend(changed);
            let pruned = self.ours.pruned(&known.here);
            if pruned != former {
                listing = self.other.list(&pruned, patience)?;
            }
        }
        let differences = self.differences(known, &listing);
        self.take(&differences, known, &listing, &mut taken, patience)?;
        let mut lookup = self.ours.workspace.ignore_lookup();
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
            known.replaced.remove(name);
            if !known.theirs.remove(name) {
                continue;
            }
            // What a command renamed is still theirs.
            let former = known.there.entries.get(name);
            let former = former.filter(|former| matches!(former, ExchangedContent::File { .. }));
            let changed = differences.changed.iter();
            let renamed = changed.filter(|(_, content)| Some(content) == former);
            let renamed: Vec<String> = renamed.map(|(name, _)| name.clone()).collect();
            known.theirs.extend(renamed);
        }
    }

    /// Names there that were changed or deleted since the last listing, without those that are ignored
    /// here.
    fn differences(&self, known: &ExchangeState, listing: &RemoteListing) -> RemoteDifferences {
        let mut lookup = self.ours.workspace.ignore_lookup();
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
            if self.ours.content(&name).is_some() {
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
            Some(batch) => Some((batch, self.other.contents(batch, patience)?)),
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
                Some(batch) => Some((batch, self.other.contents(batch, patience)?)),
                None => None,
            };
        }
        Ok(())
    }

    /// Writes a change of the other side here; beside ours, if that changed too.
    fn put(&self, entry: &TarEntry, known: &mut ExchangeState, taken: &mut TakenChanges) {
        let name = &entry.name;
        if let Some(place) = taken.moved(name) {
            if self.ours.write(&place, entry).is_err() {
                taken.fail(name);
            }
            return;
        }
        let now = self.ours.content(name);
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
            if self.ours.workspace.remove_directory_exact(path).is_err() {
                known.here.remove(name);
                self.put_beside(entry, ExchangeOutcome::Beside, known, taken);
                return;
            }
        } else if is && !was && now.is_some() {
            let _ = self.ours.workspace.remove_exact(path);
        }
        match self.ours.write(name, entry) {
            Ok(()) => known
                .here
                .extend(self.ours.content(name).map(|now| (name.clone(), now))),
            Err(_) => taken.fail(name),
        }
    }

    /// Puts what the other side has beside ours, under a name that is free on both sides.
    pub(super) fn put_beside(
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
            let found = self.ours.workspace.stat_exact(Path::new(&place));
            let is_there = is_file
                && matches!(found, Ok(Some(_)))
                && self
                    .ours
                    .content(&place)
                    .is_some_and(|now| is_alike(&now, &new));
            let is_free = matches!(found, Ok(None)) && !known.there.entries.contains_key(&place);
            if !is_free && !is_there {
                continue;
            }
            if is_free && self.ours.write(&place, entry).is_err() {
                break;
            }
            taken.report.tell_place(outcome, name, &place);
            taken.beside.insert(name.clone(), place);
            return;
        }
        taken.fail(name);
    }

    /// Removes here what a command removed there, unless it changed here.
    fn remove(&self, name: &str, known: &mut ExchangeState, taken: &mut TakenChanges) {
        let (now, path) = (self.ours.content(name), Path::new(name));
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
            ExchangedContent::Directory => {
                self.ours.workspace.remove_directory_exact(path).or(Ok(()))
            }
            _ => self.ours.workspace.remove_exact(path),
        };
        match removed {
            Ok(()) => drop(known.here.remove(name)),
            Err(_) => taken.fail(name),
        }
    }
}

/// Names in groups, each of which travels at once.
pub(super) fn batches<'n>(names: &[&'n str], listing: &RemoteListing) -> Vec<Vec<&'n str>> {
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
