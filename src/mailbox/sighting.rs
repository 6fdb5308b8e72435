//! Remembers each file in the inbox from one look to the next.
//!
//! The directory is listed anew at every look; here is kept only what a look cannot see: since
//! when a file is as it is, whether its writer closed it, and what the person was told already.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::entry::{Examined, InboxEntryKind, Oddity, examine};
use super::name::{self, NameKind};
use super::read;
use super::settle::{self, Evidence, SETTLE, SettleLook, Stat};
use crate::protocol::EndMark;
use crate::watch::Touch;

/// How many entries are looked at; more than a person would ever put there.
pub(super) const MAX_FILES: usize = 10_000;

/// How old a file must be when it is first seen at the start, to count as still since then.
///
/// More than `SETTLE`, because the clock of a file server may differ from ours.
const LONG_AGO: Duration = Duration::from_secs(2);

/// Finds the end mark in the last part of a reply.
pub type FindEndMark = fn(&str) -> Option<EndMark>;

/// The result of looking at the whole inbox.
#[derive(Debug, Default)]
pub(super) struct Overview {
    /// The oldest whole reply.
    pub(super) reply: Option<(OsString, Stat)>,
    /// Problems to report, each once.
    pub(super) oddities: Vec<(OsString, Oddity)>,
    /// Replies that are not whole yet and have grown, with their sizes.
    pub(super) arriving: Vec<(OsString, u64)>,
    /// When the next file may have settled.
    pub(super) wait: Option<Duration>,
}

/// How much of the directory was listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListingExtent {
    /// It was.
    Complete,
    /// Only `MAX_FILES` entries were looked at.
    Cut,
}

/// All files in the inbox that matter.
#[derive(Debug)]
pub(super) struct Sightings {
    files: BTreeMap<OsString, Sighting>,
    /// Events of files that were not looked at yet.
    unseen: BTreeMap<OsString, Touch>,
    find_end_mark: FindEndMark,
    is_first_look: bool,
}

#[derive(Debug)]
struct Sighting {
    found: InboxEntryKind,
    /// See [`Examined::changed`].
    changed: i128,
    since: Instant,
    /// True if it had settled before the next event.
    held_still: bool,
    /// True if it grew after it had settled: somebody appends to it piece by piece.
    has_grown: bool,
    writer: Writer,
    tail: ReplyTail,
    /// The round for which it was handed out: once each, or a loop that leaves it would spin.
    delivered: Option<EndMark>,
    is_told: bool,
    /// How long it was when it was last told that it arrives.
    told_size: u64,
}

/// The state of the program that writes a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Unknown,
    Busy,
    Done,
    /// It was renamed into place.
    Placed,
}

impl From<Touch> for Writer {
    fn from(touch: Touch) -> Self {
        match touch {
            Touch::Changed => Self::Unknown,
            Touch::Written => Self::Busy,
            Touch::Closed => Self::Done,
            Touch::Placed => Self::Placed,
        }
    }
}

#[derive(Debug)]
enum ReplyTail {
    Unread,
    Read(Option<EndMark>),
}

impl Sightings {
    /// Nothing seen yet.
    pub(super) fn new(find_end_mark: FindEndMark) -> Self {
        Self {
            files: BTreeMap::new(),
            unseen: BTreeMap::new(),
            find_end_mark,
            is_first_look: true,
        }
    }

    /// Takes in what was reported about a file; says whether that calls for a look at once.
    pub(super) fn touch(&mut self, name: &OsStr, touch: Touch, now: Instant) -> bool {
        let Some(sighting) = self.files.get_mut(name) else {
            if name::kind(&name.to_string_lossy()) == NameKind::Bystander {
                return false;
            }
            self.unseen.insert(name.to_owned(), touch);
            return true;
        };
        sighting.writer = touch.into();
        sighting.tail = ReplyTail::Unread;
        sighting.delivered = None;
        if sighting.found.is_odd() {
            return touch.is_end() || sighting.found.is_empty();
        }
        sighting.held_still |= sighting.is_still(now);
        sighting.since = now;
        // A file that is being written is looked at when it has been still for long enough; to
        // look at every write would keep a processor busy.
        touch.is_end()
    }

    /// Lists the directory and forgets what is no longer there.
    pub(super) fn refresh(&mut self, directory: &Path, now: Instant) -> io::Result<ListingExtent> {
        let mut known = std::mem::take(&mut self.files);
        let mut entries = fs::read_dir(directory)?;
        for entry in entries.by_ref().take(MAX_FILES) {
            let Ok(entry) = entry else { continue };
            let file_name = entry.file_name();
            let Some(examined) = examine(&entry.path(), &file_name.to_string_lossy()) else {
                continue;
            };
            let sighting = match known.remove(&file_name) {
                Some(sighting) => sighting.seen_again(examined, now),
                None => self.first_sighting(&file_name, examined, now),
            };
            self.files.insert(file_name, sighting);
        }
        self.unseen.clear();
        self.is_first_look = false;
        Ok(match entries.next() {
            Some(_) => ListingExtent::Cut,
            None => ListingExtent::Complete,
        })
    }

    fn first_sighting(&self, file_name: &OsStr, examined: Examined, now: Instant) -> Sighting {
        let was_there = self.is_first_look && examined.age >= LONG_AGO;
        Sighting {
            found: examined.found,
            changed: examined.changed,
            held_still: false,
            has_grown: false,
            since: if was_there {
                now.checked_sub(LONG_AGO).unwrap_or(now)
            } else {
                now
            },
            writer: match self.unseen.get(file_name) {
                Some(touch) => (*touch).into(),
                // Nobody saw who closed what lay there before we came; its end mark must do.
                None if self.is_first_look => Writer::Done,
                None => Writer::Unknown,
            },
            tail: ReplyTail::Unread,
            delivered: None,
            is_told: false,
            told_size: 0,
        }
    }

    /// Decides about every file.
    pub(super) fn overview(&mut self, directory: &Path, round: &EndMark, now: Instant) -> Overview {
        let mut overview = Overview::default();
        for (name, sighting) in &mut self.files {
            match sighting.look(&directory.join(name), round, self.find_end_mark, now) {
                FileVerdict::Whole(stat) => {
                    let is_older = overview
                        .reply
                        .as_ref()
                        .is_none_or(|(_, best)| stat.modified < best.modified);
                    if is_older {
                        overview.reply = Some((name.clone(), stat));
                    }
                }
                FileVerdict::Wait(rest) => {
                    if let Some(size) = sighting.news_of_size(rest) {
                        overview.arriving.push((name.clone(), size));
                    }
                    overview.wait = Some(overview.wait.map_or(rest, |wait| wait.min(rest)));
                }
                FileVerdict::Tell(oddity) => overview.oddities.push((name.clone(), oddity)),
                FileVerdict::Leave => {}
            }
        }
        overview
    }

    /// Remembers that a reply was handed out for this round.
    pub(super) fn deliver(&mut self, name: &OsStr, round: &EndMark) {
        if let Some(sighting) = self.files.get_mut(name) {
            sighting.delivered = Some(round.clone());
        }
    }
}

enum FileVerdict {
    Whole(Stat),
    Wait(Duration),
    Tell(Oddity),
    Leave,
}

impl Sighting {
    /// True if it has been unchanged for so long that another write starts a new file.
    fn is_still(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= SETTLE
    }

    fn seen_again(mut self, examined: Examined, now: Instant) -> Self {
        let Examined { found, changed, .. } = examined;
        if self.changed != changed {
            // One that could not be read may be readable by now.
            self.changed = changed;
            self.delivered = None;
        }
        if self.found == found {
            self.held_still |= self.is_still(now);
        } else {
            let is_resumed = std::mem::take(&mut self.held_still);
            if let (InboxEntryKind::Reply(old), InboxEntryKind::Reply(new)) = (&self.found, &found)
            {
                let is_longer = old.inode == new.inode && 0 < old.size && old.size < new.size;
                self.has_grown |= is_longer && is_resumed;
            }
            // `writer` stays: a write after the closing would have been reported.
            self.is_told &= self.found.is_odd() && found.is_odd();
            self.found = found;
            self.since = now;
            self.tail = ReplyTail::Unread;
            self.delivered = None;
        }
        self
    }

    fn look(
        &mut self,
        path: &Path,
        round: &EndMark,
        find_end_mark: FindEndMark,
        now: Instant,
    ) -> FileVerdict {
        let still = now.saturating_duration_since(self.since);
        let stat = match &self.found {
            InboxEntryKind::Odd(oddity) => return self.tell(*oddity, SETTLE.saturating_sub(still)),
            InboxEntryKind::Reply(stat) => stat.clone(),
        };
        let is_old_news = self.is_told && self.found.is_empty();
        if is_old_news || self.delivered.as_ref() == Some(round) {
            return FileVerdict::Leave;
        }
        let Some(evidence) = self.evidence(path, &stat, round, find_end_mark) else {
            // Written to since it was listed; the write wakes us, too, where there is a watcher.
            return FileVerdict::Wait(SETTLE);
        };
        match settle::look(&stat, still, evidence) {
            SettleLook::Whole => FileVerdict::Whole(stat),
            SettleLook::Wait(rest) => FileVerdict::Wait(rest),
            SettleLook::Empty => self.tell(Oddity::Empty, Duration::ZERO),
        }
    }

    /// The size of a reply that takes its time, each once. One that is about to be whole is not worth
    /// a word.
    fn news_of_size(&mut self, rest: Duration) -> Option<u64> {
        let InboxEntryKind::Reply(stat) = &self.found else {
            return None;
        };
        let is_new = stat.size > 0 && stat.size != self.told_size;
        if !is_new || rest <= SETTLE {
            return None;
        }
        self.told_size = stat.size;
        Some(stat.size)
    }

    /// Names an oddity once, and not before it stayed for a while: tools make such files too.
    fn tell(&mut self, oddity: Oddity, rest: Duration) -> FileVerdict {
        if self.is_told {
            FileVerdict::Leave
        } else if rest.is_zero() {
            self.is_told = true;
            FileVerdict::Tell(oddity)
        } else {
            FileVerdict::Wait(rest)
        }
    }

    /// Nothing if the file is no longer in the state that was listed: the end of one state says
    /// nothing about another.
    fn evidence(
        &mut self,
        path: &Path,
        listed: &Stat,
        round: &EndMark,
        find_end_mark: FindEndMark,
    ) -> Option<Evidence> {
        if let ReplyTail::Unread = self.tail {
            self.tail = ReplyTail::Read(match read::tail(path) {
                Ok((_, stat)) if stat != *listed => return None,
                Ok((tail, _)) => find_end_mark(&tail),
                Err(_) => None,
            });
        }
        let mark = match &self.tail {
            ReplyTail::Read(mark) => mark.as_ref(),
            ReplyTail::Unread => None,
        };
        Some(match (self.writer, mark) {
            (Writer::Done | Writer::Placed, Some(mark)) if mark == round => Evidence::Complete,
            (Writer::Busy, mark) if mark != Some(round) => Evidence::Contrary,
            (_, None) if self.has_grown => Evidence::Contrary,
            (_, Some(_)) | (Writer::Placed, None) => Evidence::Likely,
            (_, None) => Evidence::Missing,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::protocol::SessionId;

    struct InboxDesk {
        directory: tempfile::TempDir,
        sightings: Sightings,
        now: Instant,
    }

    impl InboxDesk {
        /// A directory that has been looked at once, so that nothing lay there before.
        fn new() -> Self {
            let mut desk = Self {
                directory: tempfile::tempdir().unwrap(),
                sightings: Sightings::new(|tail| tail.contains("[END").then(round)),
                now: Instant::now(),
            };
            assert!(desk.look(0).reply.is_none());
            desk
        }

        fn save(&self, text: &str) {
            let path = self.directory.path().join("a.txt");
            fs::File::create(path)
                .unwrap()
                .write_all(text.as_bytes())
                .unwrap();
        }

        fn touch(&mut self, touch: Touch) -> bool {
            self.sightings.touch(OsStr::new("a.txt"), touch, self.now)
        }

        /// Looks after so many milliseconds.
        fn look(&mut self, millis: u64) -> Overview {
            self.now += Duration::from_millis(millis);
            let directory = self.directory.path();
            self.sightings.refresh(directory, self.now).unwrap();
            self.sightings.overview(directory, &round(), self.now)
        }

        #[track_caller]
        fn waits(&mut self, millis: u64, rest: u64) {
            let overview = self.look(millis);
            assert!(overview.reply.is_none());
            assert_eq!(overview.wait, Some(Duration::from_millis(rest)));
        }

        #[track_caller]
        fn arrives(&mut self, millis: u64) {
            assert!(self.look(millis).reply.is_some());
        }
    }

    fn round() -> EndMark {
        EndMark {
            session: SessionId::parse("ab12cd34").unwrap(),
            sequence: 1,
        }
    }

    #[test]
    fn any_change_starts_the_wait_again() {
        let mut desk = InboxDesk::new();
        desk.save("one");
        desk.waits(0, 2_000);
        desk.waits(400, 1_600);
        desk.save("one and two");
        desk.waits(400, 2_000);
        desk.waits(1_999, 1);
        desk.arrives(1);
    }

    #[test]
    fn a_reported_write_starts_the_wait_again_without_a_look() {
        let mut desk = InboxDesk::new();
        desk.save("one");
        desk.waits(0, 2_000);
        desk.now += Duration::from_millis(300);
        assert!(!desk.touch(Touch::Changed));
        desk.waits(200, 1_800);
    }

    #[test]
    fn a_mark_counts_only_after_the_file_was_closed() {
        let mut desk = InboxDesk::new();
        desk.save("[END");
        desk.waits(0, 500);
        assert!(desk.touch(Touch::Closed));
        desk.arrives(0);
        desk.touch(Touch::Changed);
        desk.waits(0, 500);
    }

    #[test]
    fn a_file_that_its_writer_has_open_is_waited_for() {
        let mut desk = InboxDesk::new();
        desk.save("one");
        desk.touch(Touch::Written);
        desk.waits(0, 10_000);
        desk.save("one [END");
        desk.touch(Touch::Written);
        desk.waits(1_000, 500);
        desk.save("one and more");
        desk.touch(Touch::Written);
        desk.waits(0, 10_000);
    }

    #[test]
    fn an_end_that_came_after_the_listing_does_not_make_the_listed_file_whole() {
        let mut desk = InboxDesk::new();
        desk.save("one");
        desk.touch(Touch::Written);
        let directory = desk.directory.path();
        desk.sightings.refresh(directory, desk.now).unwrap();
        desk.save("one [END");
        let later = desk.now + Duration::from_secs(1);
        let overview = desk.sightings.overview(directory, &round(), later);
        assert!(overview.reply.is_none());
        desk.waits(1_000, 500);
    }

    #[test]
    fn a_file_that_grew_after_a_pause_may_grow_again() {
        let mut desk = InboxDesk::new();
        desk.save("one");
        desk.touch(Touch::Closed);
        desk.waits(0, 2_000);
        desk.now += Duration::from_millis(1_500);
        desk.save("one and two");
        desk.touch(Touch::Written);
        desk.touch(Touch::Closed);
        desk.waits(0, 10_000);
        desk.now += Duration::from_secs(9);
        desk.save("one and two [END");
        desk.touch(Touch::Closed);
        desk.arrives(0);
    }

    #[test]
    fn a_file_that_was_renamed_into_place_grows_no_more() {
        let mut desk = InboxDesk::new();
        desk.save("one");
        desk.touch(Touch::Placed);
        desk.waits(0, 500);
        desk.arrives(500);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_handed_out_again_when_its_permissions_change() {
        use std::os::unix::fs::PermissionsExt;
        let mut desk = InboxDesk::new();
        desk.save("[END");
        desk.touch(Touch::Closed);
        desk.arrives(0);
        desk.sightings.deliver(OsStr::new("a.txt"), &round());
        assert!(desk.look(5_000).reply.is_none());
        let path = desk.directory.path().join("a.txt");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        desk.arrives(0);
    }

    #[test]
    fn a_closing_before_the_first_look_is_not_forgotten() {
        let mut desk = InboxDesk::new();
        desk.save("[END");
        assert!(desk.touch(Touch::Closed));
        desk.arrives(0);
    }

    #[test]
    fn a_closed_file_without_a_mark_has_to_settle() {
        let mut desk = InboxDesk::new();
        desk.save("one");
        desk.touch(Touch::Closed);
        desk.waits(0, 2_000);
        desk.arrives(2_000);
    }

    #[test]
    fn writes_beside_the_replies_call_for_no_look() {
        let mut desk = InboxDesk::new();
        let touched = Touch::Changed;
        let name = OsStr::new("reply.txt.crdownload");
        assert!(!desk.sightings.touch(name, touched, desk.now));
    }

    #[test]
    fn an_empty_file_is_looked_at_as_soon_as_it_is_written() {
        let mut desk = InboxDesk::new();
        desk.save("");
        desk.waits(0, 1_000);
        assert_eq!(desk.look(1_000).oddities.len(), 1);
        assert_eq!(desk.look(1_000).oddities.len(), 0);
        assert!(desk.touch(Touch::Changed));
    }
}
