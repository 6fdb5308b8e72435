//! Our record of the other side's files, kept on disk between two exchanges.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::listing::{ExchangedContent, PrunedDirectories, RemoteListing};
use super::our_side::is_directory;

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
pub(super) struct RememberedExchange {
    pub(super) state: Option<ExchangeState>,
    /// The directories that the latest listing left out, if nothing has run over there since.
    pub(super) in_step: Option<PrunedDirectories>,
}

/// The files of both sides, as of the last exchange.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ExchangeState {
    /// The words for the runner.
    pub(super) runner: String,
    /// The mark in the directory there: with another one it is not the directory that this is about.
    pub(super) mark: String,
    /// Our files, as they were sent or fetched.
    pub(super) here: BTreeMap<String, ExchangedContent>,
    /// The files of the other side, before the command that runs or runs next. The former content of
    /// those that are pending.
    pub(super) there: RemoteListing,
    /// Names there whose content our side has never had: the person's, and ignored ones.
    pub(super) untaken: BTreeSet<String>,
    /// Names in a directory of the person that did not come from here. They stay there when they go here.
    #[serde(default)]
    pub(super) theirs: BTreeSet<String>,
    /// Those of them whose content is from here now.
    #[serde(default)]
    pub(super) edited: BTreeSet<String>,
    /// Names in a directory of the person that ours took, and the places there of what they were.
    #[serde(default)]
    pub(super) replaced: BTreeMap<String, String>,
    /// Names that were on their way there: if they differ, a connection was cut, and no command has
    /// changed them.
    pub(super) sending: BTreeSet<String>,
    /// Changes of the other side that could not be written here.
    pub(super) pending: BTreeSet<String>,
    /// Our files that were not sent, as told.
    pub(super) unsent: BTreeSet<String>,
    /// Names there that ours were sent to or that came here, but that the person may count as theirs: it
    /// is told if one is removed there.
    #[serde(default)]
    pub(super) doubtful: BTreeSet<String>,
    /// True if a command may have begun whose changes have not come back.
    pub(super) awaits_results: bool,
    /// True if the session is over, so that whatever changed there since is the person's.
    #[serde(default)]
    pub(super) is_left: bool,
}

impl ExchangeState {
    /// A state of which nothing is known, not even if there are results.
    pub(super) fn unknown() -> Self {
        Self {
            awaits_results: true,
            ..Self::default()
        }
    }

    /// True if something there has not come back, or nobody knows if it has.
    pub(super) fn has_results(&self) -> bool {
        self.awaits_results || !self.pending.is_empty()
    }

    /// Forgets what a directory without our mark does not have: nobody knows if a command deleted it.
    pub(super) fn forget_missing(&mut self, listing: &RemoteListing) {
        let is_there =
            |name: &String| listing.entries.contains_key(name) || listing.is_closed(name);
        self.here.retain(|name, _| is_there(name));
        self.there.entries.retain(|name, _| is_there(name));
    }

    /// Goes on in a directory of the person after a session there was over. What is there as it was left
    /// is still ours, and all else is theirs. `is_here` tells names that the workspace has now.
    pub(super) fn rejoin(&mut self, listing: &RemoteListing, is_here: impl Fn(&str) -> bool) {
        self.forget_missing(listing);
        self.sending.clear();
        let is_theirs = |(name, content): &(&String, &ExchangedContent)| {
            self.there.entries.get(*name) != Some(*content)
        };
        let theirs = listing.entries.iter().filter(is_theirs);
        let theirs: Vec<String> = theirs.map(|(name, _)| name.clone()).collect();
        for name in theirs {
            self.replaced.remove(&name);
            self.edited.remove(&name);
            if self.here.contains_key(&name) && !is_here(&name) {
                self.theirs.insert(name);
            } else {
                self.here.remove(&name);
                self.untaken.insert(name);
            }
        }
        self.there.entries.extend(listing.entries.clone());
        self.there.odd.clone_from(&listing.odd);
        let gone = self.here.keys().filter(|name| !is_here(name));
        self.doubtful = gone.cloned().collect();
        self.is_left = false;
    }

    /// Remembers what the other side has, except for changes that are still to come here.
    pub(super) fn adopt(&mut self, mut listing: RemoteListing) {
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
    pub(super) fn is_blocked(&self, name: &str, sent: &BTreeSet<String>) -> bool {
        let is_closed = |above: &str| match self.there.entries.get(above) {
            _ if self.pending.contains(above) => true,
            None | Some(ExchangedContent::Directory) => false,
            // A link would lead elsewhere.
            Some(_) => !sent.contains(above),
        };
        let mut above = name.match_indices('/').map(|(at, _)| &name[..at]);
        self.is_left(name) || self.untaken.contains(name) || above.any(is_closed)
    }

    pub(super) fn is_left(&self, name: &str) -> bool {
        let content = self.there.entries.get(name);
        self.pending.contains(name) || matches!(content, Some(ExchangedContent::Left(_)))
    }

    /// True if something in that directory there would be lost with it.
    pub(super) fn holds_results(&self, directory: &str) -> bool {
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
    pub(super) fn give_back(&mut self, name: &str, place: &str) {
        self.replaced.remove(name);
        self.theirs.remove(place);
        for name in [name, place] {
            self.here.remove(name);
            self.untaken.insert(name.to_owned());
        }
    }

    /// Remembers that something of the person is in this place there, and ours has its name.
    pub(super) fn keep_replaced(&mut self, name: &str, place: &str) {
        self.theirs.remove(name);
        self.theirs.insert(place.to_owned());
        self.replaced.insert(name.to_owned(), place.to_owned());
    }
}
