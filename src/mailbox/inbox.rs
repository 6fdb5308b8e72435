//! Waiting for replies.
//!
//! The kernel's reports end a wait early; a look every second finds what they miss, because file
//! systems of networks, containers and virtual machines report nothing. Waiting costs no processor
//! time, survives the loss of its watch and of the directory, and never fails: what goes wrong is a
//! `Notice`.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::entry::Oddity;
use super::settle::Stat;
use super::sighting::{FindEndMark, ListingExtent, MAX_FILES, Sightings};
use super::{Arrival, Candidate, Mailbox, Notice, name};
use crate::protocol::{EndMark, Event, EventSink};
use crate::watch::{DirectoryWatch, Signals, Waker, WatchTrouble};

/// How often the directory is looked at when nothing is reported.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long `poll` waits for files that are still being written.
const POLL_AT_MOST: Duration = Duration::from_secs(5);

/// The directory where replies arrive.
#[derive(Debug)]
pub struct Inbox {
    directory: PathBuf,
    watch: DirectoryWatch,
    /// Which directory is watched; another one may come to bear its name.
    identity: Option<Identity>,
    /// Which directory holds it: the inbox is made again only there.
    home: Option<Identity>,
    sightings: Sightings,
    notices: VecDeque<Notice>,
    /// Hears of replies that are still being written.
    events: Option<Arc<dyn EventSink>>,
    /// The problem with the directory that was last reported.
    trouble: Option<String>,
}

/// The identity of a directory, to notice that it was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Identity {
    inode: u64,
    created: Option<SystemTime>,
}

/// How long to wait for an arrival.
#[derive(Debug, Clone, Copy)]
enum InboxPatience {
    Endless,
    /// While a file is still settling, at most until then.
    Settling(Instant),
}

/// The state of the inbox.
enum InboxState {
    Arrived(Arrival),
    Settling(Duration),
    Quiet,
}

impl Inbox {
    /// Watches the inbox from now on; `find_end_mark` finds the end mark in the end of a reply.
    pub fn watch(mailbox: &Mailbox, find_end_mark: FindEndMark) -> Self {
        let mut inbox = Self {
            directory: mailbox.inbox.clone(),
            watch: DirectoryWatch::idle(),
            identity: identity(&mailbox.inbox).ok(),
            home: home_of(&mailbox.inbox),
            sightings: Sightings::new(find_end_mark),
            notices: VecDeque::new(),
            events: None,
            trouble: None,
        };
        inbox.start_watch();
        inbox
    }

    /// Tells of replies that are still being written.
    #[must_use]
    pub fn telling(mut self, events: Arc<dyn EventSink>) -> Self {
        self.events = Some(events);
        self
    }

    /// A handle with which another thread ends the wait.
    pub fn waker(&self) -> Waker {
        self.watch.waker()
    }

    /// Blocks until a whole reply is there, something is to be told, or it was woken.
    pub fn next(&mut self, round: &EndMark) -> Arrival {
        loop {
            if let Some(arrival) = self.arrival(round, InboxPatience::Endless) {
                return arrival;
            }
        }
    }

    /// Takes what is there now; waits briefly for files that are still being written.
    pub fn poll(&mut self, round: &EndMark) -> Option<Arrival> {
        self.arrival(
            round,
            InboxPatience::Settling(Instant::now() + POLL_AT_MOST),
        )
    }

    fn arrival(&mut self, round: &EndMark, patience: InboxPatience) -> Option<Arrival> {
        let mut due = Instant::now();
        loop {
            let signals = self.watch.wait_until(due);
            if signals.woken {
                self.take_in(signals);
                return Some(Arrival::Woken);
            }
            let is_urgent = self.take_in(signals);
            let now = Instant::now();
            if now < due && !is_urgent {
                continue;
            }
            let sight = self.look(round, now);
            due = match (sight, patience) {
                (InboxState::Arrived(arrival), _) => return Some(arrival),
                (InboxState::Settling(rest), InboxPatience::Settling(end)) if now < end => {
                    (now + rest.min(LOOK_EVERY)).min(end)
                }
                (_, InboxPatience::Settling(_)) => return None,
                (InboxState::Settling(rest), InboxPatience::Endless) => now + rest.min(LOOK_EVERY),
                (InboxState::Quiet, InboxPatience::Endless) => now + LOOK_EVERY,
            };
        }
    }

    /// Remembers what was reported; says whether that calls for a look at once.
    fn take_in(&mut self, signals: Signals) -> bool {
        let now = Instant::now();
        let mut is_urgent = signals.stirred || signals.lost;
        for (name, touch) in signals.touched {
            is_urgent |= self.sightings.touch(&name, touch, now);
        }
        if signals.lost {
            self.identity = None;
        }
        if let Some(trouble) = signals.trouble {
            self.watch.stop();
            self.tell_watch_trouble(&trouble);
        }
        is_urgent
    }

    fn look(&mut self, round: &EndMark, now: Instant) -> InboxState {
        let listed = self
            .keep_directory()
            .and_then(|()| self.sightings.refresh(&self.directory, now));
        match listed {
            Ok(ListingExtent::Complete) => self.trouble = None,
            Ok(ListingExtent::Cut) => self.tell_trouble(
                &format!("holds more than {MAX_FILES} files, and only so many are looked at"),
                "move away what is no reply",
            ),
            Err(_) if home_of(&self.directory) != self.home => self.tell_trouble(
                "is gone, with the directory that it was in: that was moved, renamed or removed",
                "move it back; or stop with Ctrl-C, and go on where it is now with `agent resume`",
            ),
            Err(cause) => self.tell_trouble(
                &format!("cannot be opened: {cause}"),
                "make it a directory that you may read: it is tried again every second",
            ),
        }
        let overview = self.sightings.overview(&self.directory, round, now);
        if let Some(events) = &self.events {
            for (name, bytes) in &overview.arriving {
                let name = name.to_string_lossy().into_owned();
                events.emit(Event::Arriving {
                    name,
                    bytes: *bytes,
                });
            }
        }
        for (name, oddity) in overview.oddities {
            self.notices.push_back(describe(&name, oddity));
        }
        if let Some((name, stat)) = overview.reply {
            self.sightings.deliver(&name, round);
            return InboxState::Arrived(Arrival::Reply(self.candidate(&name, stat)));
        }
        match (self.notices.pop_front(), overview.wait) {
            (Some(notice), _) => InboxState::Arrived(Arrival::Notice(notice)),
            (None, Some(rest)) => InboxState::Settling(rest),
            (None, None) => InboxState::Quiet,
        }
    }

    fn candidate(&self, name: &OsStr, stat: Stat) -> Candidate {
        Candidate {
            path: self.directory.join(name),
            name: name.to_string_lossy().into_owned(),
            stat,
        }
    }

    /// Makes sure that the directory is there and that it is the one that is watched.
    fn keep_directory(&mut self) -> io::Result<()> {
        let found = identity(&self.directory);
        if self.identity.is_some() && found.as_ref().ok() == self.identity.as_ref() {
            return Ok(());
        }
        let news = if found.is_ok() {
            "was replaced: replies are awaited in the new one"
        } else {
            // Elsewhere it would be an inbox of nobody, in which a reply is never found.
            if home_of(&self.directory) != self.home {
                return Err(io::ErrorKind::NotFound.into());
            }
            fs::create_dir(&self.directory)?;
            "was gone: it was made again"
        };
        self.identity = Some(identity(&self.directory)?);
        self.tell(news, "save the reply there");
        self.start_watch();
        Ok(())
    }

    fn start_watch(&mut self) {
        if let Err(trouble) = self.watch.start(&self.directory) {
            self.tell_watch_trouble(&trouble);
        }
    }

    /// As on a file system that reports nothing.
    #[cfg(test)]
    pub(super) fn without_reports(&mut self) {
        self.watch.stop();
    }

    fn tell_watch_trouble(&mut self, trouble: &WatchTrouble) {
        let what = format!("cannot be watched: {}", trouble.cause);
        let remedy = match trouble.raise {
            Some(limit) => format!(
                "the inbox is looked at once a second instead; `sudo sysctl {limit}` raises the limit"
            ),
            None => "nothing is lost: the inbox is looked at once a second".to_owned(),
        };
        self.tell(&what, &remedy);
    }

    /// Names a trouble once, until it is over or another one takes its place.
    fn tell_trouble(&mut self, what: &str, hint: &str) {
        if self.trouble.as_deref() != Some(what) {
            self.trouble = Some(what.to_owned());
            self.tell(what, hint);
        }
    }

    fn tell(&mut self, what: &str, hint: &str) {
        self.notices.push_back(Notice {
            message: format!("the inbox `{}` {what}", self.directory.display()),
            hint: hint.to_owned(),
        });
    }
}

/// Which directory holds this one.
fn home_of(directory: &Path) -> Option<Identity> {
    identity(directory.parent()?).ok()
}

fn identity(directory: &Path) -> io::Result<Identity> {
    let metadata = fs::metadata(directory)?;
    if !metadata.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(Identity {
        inode: Stat::of(&metadata).inode,
        created: metadata.created().ok(),
    })
}

fn describe(file_name: &OsStr, oddity: Oddity) -> Notice {
    let file_name = file_name.to_string_lossy();
    let (message, hint) = match oddity {
        Oddity::Empty => (
            "is empty".to_owned(),
            "paste the reply of the chat into it and save it".to_owned(),
        ),
        Oddity::OtherType if name::may_be_text(&file_name) => (
            "was left alone: a reply is a `.txt` or `.md` file".to_owned(),
            format!(
                "if it is the reply, rename it to `{}.txt`",
                name::stem(&file_name)
            ),
        ),
        Oddity::OtherType => (
            "was left alone: a reply is a `.txt` or `.md` file".to_owned(),
            "if it is the reply, save it as plain text, such as `reply.txt`".to_owned(),
        ),
        Oddity::NotAFile => (
            "was left alone: it is not a regular file".to_owned(),
            "save the reply as a plain file, such as `reply.txt`".to_owned(),
        ),
        Oddity::DanglingLink => (
            "is a link that leads nowhere".to_owned(),
            "save the reply itself there".to_owned(),
        ),
    };
    Notice {
        message: format!("`{file_name}` in the inbox {message}"),
        hint,
    }
}
