//! Removes what nobody needs any more: of the journal when it has grown long, checkpoints once a day,
//! and the oldest of them as soon as all together take more than they may.

mod removed;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use jiff::{SignedDuration, Timestamp};

use super::Agent;
use super::baseline::{Baseline, kept_known};
use crate::checkpoint::{CheckpointStore, WantedSnapshots};
use crate::error::Result;
use crate::fs::{Durability, write_atomic};
use crate::protocol::{Event, Housekeeping};
use crate::session::{Session, now};

/// For how long the rounds of a session that has ended can still be undone.
const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How often what nobody needs any more is looked for.
const TIDY_EVERY: Duration = Duration::from_hours(24);

/// Keeps the checkpoints of all sessions within their limit.
#[derive(Debug)]
pub(super) struct Housekeeper<'a> {
    agent: &'a Agent,
    /// The size of the store after tidying that could not bring it below its limit.
    tidied_to: Option<u64>,
}

/// The tidying that one pass has to do.
#[derive(Debug)]
pub(super) struct DueTidying {
    /// True if checkpoints are removed.
    pub(super) is_due: bool,
    /// The file whose time tells when that was last done, if it is to be written.
    mark: Option<PathBuf>,
}

impl<'a> Housekeeper<'a> {
    pub(super) fn new(agent: &'a Agent) -> Self {
        Self {
            agent,
            tidied_to: None,
        }
    }

    /// Tells how a long journal was compacted.
    pub(super) fn tell_compacted(&self, compacted: Result<u64>) {
        self.agent.tell(Event::Housekeeping(match compacted {
            Ok(bytes) => Housekeeping::JournalCompacted { bytes },
            Err(error) => Housekeeping::JournalNotCompacted {
                cause: error.to_string(),
            },
        }));
    }

    /// Looks if there is something to tidy; `None` while nothing was ever changed.
    pub(super) fn due(&self) -> Option<DueTidying> {
        let objects = self.agent.store.objects();
        if !objects.is_dir() {
            return None;
        }
        let mark = objects.join("tidied");
        let last = std::fs::symlink_metadata(&mark).and_then(|metadata| metadata.modified());
        let is_old = last.as_ref().is_ok_and(|last| {
            let age = SystemTime::now().duration_since(*last);
            age.unwrap_or_default() > TIDY_EVERY
        });
        Some(DueTidying {
            is_due: is_old || self.is_over_limit(),
            mark: (is_old || last.is_err()).then_some(mark),
        })
    }

    /// Notes that the store was tidied, or tells why it was not.
    pub(super) fn conclude(&self, due: DueTidying, tidied: Result<()>) {
        let marked = tidied.and_then(|()| match due.mark {
            Some(mark) => write_atomic(&mark, b"", Durability::Atomic),
            None => Ok(()),
        });
        if let Err(error) = marked {
            let cause = error.to_string();
            let news = Housekeeping::CheckpointsNotTidied { cause };
            self.agent.tell(Event::Housekeeping(news));
        }
    }

    /// Returns true if the checkpoints take more than they may, and enough more than after the last
    /// try that another one may help.
    fn is_over_limit(&self) -> bool {
        let size = CheckpointStore::size(&self.agent.store.objects());
        let tried = self.tidied_to;
        let is_news = tried.is_none_or(|tried| size > tried.saturating_add(tried / 10));
        size > self.agent.covered.max_store_bytes && is_news
    }

    /// Removes the checkpoints that no session needs; the caller holds the round lock.
    pub(super) fn tidy(&mut self, baseline: &mut Baseline<'_>, session: &Session) -> Result<()> {
        let wanted = self.wanted(baseline, session)?;
        let limit = self.agent.covered.max_store_bytes;
        let tidied = baseline.store()?.tidy(&wanted, limit)?;
        let is_over = tidied.left > limit;
        let was_over = std::mem::replace(&mut self.tidied_to, is_over.then_some(tidied.left));
        let limit_megabytes = limit >> 20;
        let tell = |news| self.agent.tell(Event::Housekeeping(news));
        if tidied.given_up > 0 {
            tell(Housekeeping::RoundsGivenUp {
                rounds: tidied.given_up,
                limit_megabytes,
            });
        }
        if is_over && was_over.is_none() {
            tell(Housekeeping::OverLimit {
                megabytes: tidied.left >> 20,
                limit_megabytes,
            });
        }
        let outbox = self.agent.mailbox.outbox();
        self.agent.store.remove_drafts(outbox, SystemTime::now())?;
        let lost = removed::prune(&self.agent.store, limit, SystemTime::now())?;
        if lost > 0 {
            tell(Housekeeping::RemovedFilesGivenUp {
                undos: lost,
                limit_megabytes,
            });
        }
        Ok(())
    }

    /// The checkpoints that are still of use, of all sessions.
    ///
    /// A state file tells what the last round that ended left; what a kill interrupted stands only
    /// at the end of a journal.
    fn wanted(&self, baseline: &mut Baseline<'_>, session: &Session) -> Result<WantedSnapshots> {
        let (mut sessions, mut troubles) = self.agent.store.all()?;
        // A session that cannot be read may need all of them.
        if let Some(trouble) = troubles.pop() {
            return Err(trouble);
        }
        let mut wanted = WantedSnapshots::default();
        for id in self.agent.store.ids()? {
            let end = self.agent.store.journal_end(&id)?;
            wanted.needed.extend(end.under_way);
            sessions.extend(end.session);
        }
        wanted.needed.extend(baseline.known(session));
        if let Some(latest) = session.checkpoints.back() {
            wanted.needed.extend([latest.before, latest.after]);
            wanted.needed.extend(latest.original);
        }
        sessions.sort_by_key(|session| std::cmp::Reverse(session.updated_at));
        let now = now();
        for session in sessions.iter().filter(|one| needs_checkpoints(one, now)) {
            wanted.handy.extend(kept_known(&self.agent.store, session));
            for round in session.checkpoints.iter().rev() {
                let befores = [Some(round.before), round.original];
                let befores = befores.into_iter().flatten();
                wanted
                    .rounds
                    .extend(befores.map(|before| [before, round.after]));
            }
        }
        Ok(wanted)
    }
}

fn needs_checkpoints(session: &Session, now: Timestamp) -> bool {
    !session.is_complete || now.duration_since(session.updated_at) < KEPT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::SessionId;

    #[test]
    fn ended_sessions_keep_their_checkpoints_for_a_while_and_others_for_good() {
        let begun = Timestamp::UNIX_EPOCH;
        let id = SessionId::parse("ab12cd34").unwrap();
        let mut session = Session::new(id, "task".to_owned(), 20, begun);
        let later = begun + KEPT + SignedDuration::from_secs(1);
        assert!(needs_checkpoints(&session, later));
        session.is_complete = true;
        assert!(!needs_checkpoints(&session, later));
        assert!(needs_checkpoints(
            &session,
            begun + SignedDuration::from_hours(24)
        ));
    }
}
