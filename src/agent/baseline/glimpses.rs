//! Texts of files that messages showed before any checkpoint covers them.
//!
//! The first checkpoint reads every file, so none is taken before a round changes something, unless
//! a loop waits anyway. Until then the texts that the model was shown are kept beside the session,
//! within bounds, and what differs from them is the person's work. Nothing is walked for it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Baseline;
use crate::approve;
use crate::compose::Listing;
use crate::execute;
use crate::known_keys::KnownKeys;
use crate::protocol::{Listed, RelPath, ShownLines};
use crate::session::Session;

/// Where they are kept, beside the session.
const GLIMPSES: &str = "glimpses.json";

/// The largest file that is kept, in bytes.
const MAX_FILE: u64 = 64 * 1024;

/// Limit on all texts together, in bytes.
const MAX_ALL: usize = 256 * 1024;

/// The state of a file when it is read for a comparison.
#[derive(Debug, PartialEq, Eq)]
enum Glimpse {
    Text(String),
    Gone,
    /// It is there, and cannot be compared.
    Unclear,
}

/// The texts of files as they were last shown.
pub(super) type Glimpses = BTreeMap<RelPath, String>;

impl Baseline<'_> {
    /// Keeps the texts of the files that a message shows, as long as no checkpoint knows them.
    pub(in crate::agent) fn keep_glimpses(&mut self, session: &Session, shown: &[ShownLines]) {
        if shown.is_empty() || self.known(session).is_some() {
            return;
        }
        let mut kept = self.glimpses();
        let mut size: usize = kept.values().map(String::len).sum();
        for sighting in shown {
            let Glimpse::Text(text) = self.glimpse(&sighting.path) else {
                continue;
            };
            if execute::hash(text.as_bytes()) != sighting.hash {
                continue;
            }
            let before = kept.get(&sighting.path).map_or(0, String::len);
            if size - before + text.len() <= MAX_ALL {
                size = size - before + text.len();
                kept.insert(sighting.path.clone(), text);
            }
        }
        self.put_glimpses(kept);
    }

    /// Takes what differs from them for the person's work; looks at the files that are listed in
    /// another way than before.
    pub(super) fn compare_glimpses(&mut self, now: &Listing, before: Option<&Listing>) {
        let Some(before) = before else {
            return self.compare(|_| true);
        };
        let listed = |listing: &Listing, path: &RelPath| -> Option<Listed> {
            let found = listing.files.binary_search_by(|file| file.path.cmp(path));
            found.ok().map(|at| listing.files[at].clone())
        };
        self.compare(|path| listed(now, path) != listed(before, path));
    }

    /// Compares them for the last time, before anybody else than the person can change a file.
    pub(in crate::agent) fn end_glimpses(&mut self, session: &Session) {
        self.forget_walked();
        if self.known(session).is_none() {
            self.compare(|_| true);
        }
        if !self.glimpses().is_empty() {
            self.glimpses = Some(Glimpses::new());
            (self.agent.store).drop_aside(&self.id, GLIMPSES);
        }
    }

    fn compare(&mut self, is_looked_at: impl Fn(&RelPath) -> bool) {
        let mut kept = self.glimpses();
        let mut diff = String::new();
        kept.retain(|path, then| {
            if !is_looked_at(path) {
                return true;
            }
            let now = self.glimpse(path);
            if now == Glimpse::Text(then.clone()) {
                return true;
            }
            let _ = writeln!(diff, "diff --git a/{path} b/{path}");
            match now {
                Glimpse::Text(now) => {
                    diff += &approve::difference(path, Some(then), Some(&now));
                    *then = now;
                    return true;
                }
                Glimpse::Gone => diff += &approve::difference(path, Some(then), None),
                Glimpse::Unclear => diff += "Not shown: too large, no text, or not to be read\n",
            }
            false
        });
        if !diff.is_empty() {
            self.add_by_person(&diff);
            self.put_glimpses(kept);
        }
    }

    fn glimpse(&self, path: &RelPath) -> Glimpse {
        match self.agent.workspace.read(path, MAX_FILE) {
            Ok(bytes) => String::from_utf8(bytes).map_or(Glimpse::Unclear, Glimpse::Text),
            Err(problem) if problem.is_not_found() => Glimpse::Gone,
            Err(_) => Glimpse::Unclear,
        }
    }

    fn glimpses(&mut self) -> Glimpses {
        let (agent, id) = (self.agent, &self.id);
        let kept = &mut self.glimpses;
        kept.get_or_insert_with(|| agent.store.aside(id, GLIMPSES).unwrap_or_default())
            .clone()
    }

    /// Keeps them beside the session, but no text with the key of an API in it.
    fn put_glimpses(&mut self, mut kept: Glimpses) {
        let keys = KnownKeys::of_session(&self.agent.store.folder(&self.id));
        kept.retain(|_, text| !keys.is_in(text));
        if self.glimpses.as_ref() != Some(&kept) {
            // Without them, only the names of changed files are told.
            let _ = (self.agent.store).put_aside(&self.id, GLIMPSES, &kept);
            self.glimpses = Some(kept);
        }
    }
}
