//! The files as last seen between rounds, and the changes that somebody else made since.
//!
//! A checkpoint may look only at the files that the round names; the others stay as they were last
//! seen. Comparing the listing of each message with the one before shows which files differ. Those
//! are read then, and their changes are attributed to the person and shown to the model as a diff,
//! once (`untold`). Before there is a checkpoint, the texts that were shown are compared instead
//! (`glimpses`). Undo and redo report their own changes.

use serde::{Deserialize, Serialize};

use super::Baseline;
use crate::checkpoint::Snapshot;
use crate::compose::Listing;
use crate::protocol::RelPath;
use crate::session::{Session, Store};

/// Where it is kept, beside the session.
const KNOWN: &str = "known.json";

/// Of more files than these nobody wants to read what differs; the next whole checkpoint knows.
const MAX_FILES: usize = 1_000;

/// The files as last seen after a round, as kept beside the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct KnownSnapshot {
    /// The last round with a checkpoint of its own.
    round: u32,
    snapshot: Snapshot,
}

/// The files as a session last looked at them, where that is more than its rounds tell.
pub(in crate::agent) fn kept_known(store: &Store, session: &Session) -> Option<Snapshot> {
    let known: Option<KnownSnapshot> = store.aside(&session.session_id, KNOWN);
    known.map(|known| known.snapshot)
}

impl Baseline<'_> {
    /// The files as they were last looked at.
    pub(in crate::agent) fn known(&mut self, session: &Session) -> Option<Snapshot> {
        if self.known.is_none() {
            self.known = self.kept_known(session);
        }
        self.known
    }

    /// Loads the files as an earlier process last saw them; if it was killed before it wrote them,
    /// as they were after its last round.
    fn kept_known(&mut self, session: &Session) -> Option<Snapshot> {
        let last = session.checkpoints.back().copied();
        let kept: Option<KnownSnapshot> = self.agent.store.aside(&self.id, KNOWN);
        let kept = kept.filter(|kept| kept.round == last.map_or(0, |last| last.round));
        if kept.is_none() {
            let mut rounds = session.history.rounds.iter();
            self.is_reversed |= rounds
                .any(|round| last.is_some_and(|last| last.round == round.round) && round.is_undone);
        }
        kept.map(|kept| kept.snapshot)
            .or(last.map(|last| last.after))
    }

    /// Takes what differs now for the person's work.
    pub(super) fn learn(&mut self, session: &Session, now: Snapshot) {
        if let Some(known) = self.known(session)
            && known != now
            && !self.is_reversed
        {
            let agent = self.agent;
            let diff = self
                .store()
                .map(|store| agent.difference(store, &[known], &now));
            self.add_by_person(&diff.unwrap_or_default());
        }
        self.known = Some(now);
    }

    /// Knows the files as they are after the person took rounds back or put them again: that is told
    /// by a note.
    pub(in crate::agent) fn learn_reversal(&mut self, session: &Session) {
        self.is_reversed = true;
        self.end_glimpses(session);
        if let Some(now) = self.checkpoint() {
            self.learn(session, now);
        }
        self.is_reversed = false;
        self.keep_known(session);
    }

    /// Learns what became of the files that are listed in another way than in the message before.
    pub(in crate::agent) fn notice_changes(
        &mut self,
        session: &Session,
        now: &Listing,
        before: Option<&Listing>,
    ) {
        let is_known = std::mem::take(&mut self.is_fresh);
        if self.known(session).is_none() {
            self.compare_glimpses(now, before);
        }
        if let (false, Some(before), Some(known)) = (is_known, before, self.known(session)) {
            let paths: Vec<RelPath> = now.different_from(before).cloned().collect();
            if !paths.is_empty()
                && paths.len() <= MAX_FILES
                && let Some(now) = self.checkpoint_part(known, &paths)
            {
                self.learn(session, now);
            }
        }
        self.is_reversed = false;
        self.keep_known(session);
    }

    /// Keeps what is known for a later process, where that is more than its rounds tell.
    fn keep_known(&self, session: &Session) {
        let last = session.checkpoints.back();
        let round = last.map_or(0, |last| last.round);
        if let Some(snapshot) = self.known
            && last.is_none_or(|last| last.after != snapshot)
        {
            // Without it, changes are told later, or twice.
            let _ =
                (self.agent.store).put_aside(&self.id, KNOWN, &KnownSnapshot { round, snapshot });
        }
    }
}
