//! Watches a directory: what the kernel reports about it, and who else may end a wait.
//!
//! Reports are folded into one small state at once, instead of being queued: a program that writes
//! without end while nobody waits costs no memory, and a watcher that dies leaves a wait that
//! still ends by its deadline. Nothing here looks at a file.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

/// How many names are remembered between two waits; beyond it, only that something happened.
const MAX_NAMES: usize = 1_000;

/// True if the platform reports that a writer closed its file.
const REPORTS_CLOSING: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// The last thing that happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// It was made, changed or removed.
    Changed,
    /// It was written by a program that has yet to close it, and the closing will be reported.
    Written,
    /// Its writer closed it.
    Closed,
    /// It was renamed into place.
    Placed,
}

impl Touch {
    /// True if the file may be complete now.
    pub fn is_end(self) -> bool {
        matches!(self, Self::Closed | Self::Placed)
    }
}

/// Events since the last wait.
#[derive(Debug, Default)]
pub struct Signals {
    /// Somebody wants the waiting thread.
    pub woken: bool,
    /// Something happened that calls for a look at the directory.
    pub stirred: bool,
    /// The watched directory itself went away.
    pub lost: bool,
    /// Reports may be missing from now on.
    pub trouble: Option<WatchTrouble>,
    /// The events by file.
    pub touched: HashMap<OsString, Touch>,
}

impl Signals {
    fn is_quiet(&self) -> bool {
        !self.woken
            && !self.stirred
            && !self.lost
            && self.trouble.is_none()
            && self.touched.is_empty()
    }

    fn take_in(&mut self, directory: &Path, report: notify::Result<Event>) {
        let event = match report {
            Ok(event) => event,
            Err(trouble) => {
                self.trouble = Some(trouble.into());
                return;
            }
        };
        self.stirred |= event.need_rescan();
        let is_directory = event.paths.iter().any(|path| path == directory);
        let touch = match event.kind {
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From))
                if is_directory =>
            {
                self.lost = true;
                return;
            }
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => Touch::Closed,
            EventKind::Modify(ModifyKind::Name(
                RenameMode::To | RenameMode::Both | RenameMode::Any | RenameMode::Other,
            )) => Touch::Placed,
            // Listing the directory raises these: to answer them would never end.
            EventKind::Access(_) => return,
            // Browsers note the origin of a download after they closed it.
            EventKind::Modify(ModifyKind::Metadata(_)) => {
                self.stirred = true;
                return;
            }
            EventKind::Modify(ModifyKind::Data(_)) if REPORTS_CLOSING => Touch::Written,
            _ => Touch::Changed,
        };
        for name in event.paths.iter().filter_map(|path| path.file_name()) {
            if self.touched.len() < MAX_NAMES || self.touched.contains_key(name) {
                self.touched.insert(name.to_owned(), touch);
            } else {
                self.stirred = true;
            }
        }
    }
}

#[derive(Debug, Default)]
struct Bell {
    signals: Mutex<Signals>,
    rung: Condvar,
}

impl Bell {
    fn ring(&self, what: impl FnOnce(&mut Signals)) {
        what(&mut self.signals());
        self.rung.notify_all();
    }

    fn signals(&self) -> MutexGuard<'_, Signals> {
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a wait from another thread.
#[derive(Debug, Clone)]
pub struct Waker(Arc<Bell>);

impl Waker {
    /// Makes the wait under way return, or else the next one.
    pub fn wake(&self) {
        self.0.ring(|signals| signals.woken = true);
    }
}

/// A watch on a directory, or the mere intention where the platform refuses.
#[derive(Debug)]
pub struct DirectoryWatch {
    bell: Arc<Bell>,
    /// With a token that its reports must find alive: a watcher goes on for a while after it was
    /// dropped.
    watcher: Option<(RecommendedWatcher, Arc<()>)>,
}

impl DirectoryWatch {
    /// A watch that reports nothing yet.
    pub fn idle() -> Self {
        Self {
            bell: Arc::default(),
            watcher: None,
        }
    }

    /// Watches the directory from now on, and nothing else.
    pub fn start(&mut self, directory: &Path) -> Result<(), WatchTrouble> {
        self.stop();
        let token = Arc::new(());
        let alive = Arc::downgrade(&token);
        let bell = Arc::clone(&self.bell);
        let root = directory.to_owned();
        let mut watcher = notify::recommended_watcher(move |report| {
            if alive.strong_count() > 0 {
                bell.ring(|signals| signals.take_in(&root, report));
            }
        })?;
        watcher.watch(directory, RecursiveMode::NonRecursive)?;
        self.watcher = Some((watcher, token));
        Ok(())
    }

    /// Gives the watch up, and forgets what it said about the directory as a whole.
    pub fn stop(&mut self) {
        self.watcher = None;
        let mut signals = self.bell.signals();
        signals.lost = false;
        signals.trouble = None;
    }

    /// A handle that ends a wait from another thread.
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.bell))
    }

    /// Takes what happened since the last wait, waiting for something until `deadline`.
    pub fn wait_until(&self, deadline: Instant) -> Signals {
        let mut signals = self.bell.signals();
        while signals.is_quiet() {
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                break;
            }
            signals = self
                .bell
                .rung
                .wait_timeout(signals, rest)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        std::mem::take(&mut *signals)
    }
}

/// Waits for anything to change in a directory.
///
/// For what is not a reply: an outbox that appears, a note that is left.
#[derive(Debug)]
pub struct Doorbell(DirectoryWatch);

impl Doorbell {
    /// Watches a directory; where the platform refuses, `wait` still returns once a second.
    pub fn on(directory: &Path) -> Self {
        let mut watch = DirectoryWatch::idle();
        let _ = watch.start(directory);
        Self(watch)
    }

    /// True if the platform can watch this directory.
    pub fn rings(directory: &Path) -> bool {
        DirectoryWatch::idle().start(directory).is_ok()
    }

    /// A handle that ends a wait from another thread.
    pub fn waker(&self) -> Waker {
        self.0.waker()
    }

    /// Returns when something has happened since the last wait, and after a second at the latest.
    pub fn wait(&self) {
        self.wait_for(Duration::from_secs(1));
    }

    /// Returns when something has happened since the last wait, and after this long at the latest.
    pub fn wait_for(&self, longest: Duration) {
        self.0.wait_until(Instant::now() + longest);
    }
}

/// Why a watch does not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchTrouble {
    /// The cause, without the path.
    pub cause: String,
    /// The limit of the system that was met, as `sysctl` takes it with a larger value.
    pub raise: Option<&'static str>,
}

impl From<notify::Error> for WatchTrouble {
    fn from(trouble: notify::Error) -> Self {
        // Linux says "too many open files" when the user has too many watchers.
        const TOO_MANY_OPEN: i32 = 24;
        let is_too_many = |cause: &std::io::Error| {
            cfg!(target_os = "linux") && cause.raw_os_error() == Some(TOO_MANY_OPEN)
        };
        let (cause, raise) = match trouble.kind {
            notify::ErrorKind::Io(cause) => (
                cause.to_string(),
                is_too_many(&cause).then_some("fs.inotify.max_user_instances=512"),
            ),
            notify::ErrorKind::Generic(text) => (text, None),
            notify::ErrorKind::MaxFilesWatch => (
                "the limit on watches is met".to_owned(),
                Some("fs.inotify.max_user_watches=524288"),
            ),
            kind => (format!("{kind:?}"), None),
        };
        Self { cause, raise }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::PathBuf;

    use notify::event::{CreateKind, DataChange, Flag, RemoveKind};

    use super::*;

    fn event(kind: EventKind, path: &str) -> Event {
        Event::new(kind).add_path(PathBuf::from(path))
    }

    fn after(events: impl IntoIterator<Item = Event>) -> Signals {
        let mut signals = Signals::default();
        for event in events {
            signals.take_in(Path::new("inbox"), Ok(event));
        }
        signals
    }

    const WRITTEN: EventKind = EventKind::Modify(ModifyKind::Data(DataChange::Any));
    const CLOSED: EventKind = EventKind::Access(AccessKind::Close(AccessMode::Write));

    #[test]
    fn the_last_touch_of_a_file_counts() {
        let touch = |events: [EventKind; 2]| {
            let signals = after(events.map(|kind| event(kind, "inbox/a.txt")));
            signals.touched[&OsString::from("a.txt")]
        };
        assert_eq!(touch([WRITTEN, CLOSED]), Touch::Closed);
        assert_eq!(
            touch([CLOSED, WRITTEN]),
            if REPORTS_CLOSING {
                Touch::Written
            } else {
                Touch::Changed
            }
        );
        let renamed = EventKind::Modify(ModifyKind::Name(RenameMode::To));
        assert_eq!(
            touch([EventKind::Create(CreateKind::File), renamed]),
            Touch::Placed
        );
    }

    #[test]
    fn our_own_listing_is_not_an_event() {
        let opened = EventKind::Access(AccessKind::Open(AccessMode::Any));
        let read = EventKind::Access(AccessKind::Close(AccessMode::Read));
        let signals = after([event(opened, "inbox"), event(read, "inbox/a.txt")]);
        assert!(signals.is_quiet());
    }

    #[test]
    fn a_lost_queue_or_directory_is_noticed() {
        assert!(after([Event::new(EventKind::Other).set_flag(Flag::Rescan)]).stirred);
        let removed = EventKind::Remove(RemoveKind::Folder);
        assert!(after([event(removed, "inbox")]).lost);
        assert!(!after([event(removed, "inbox/processed")]).lost);
    }

    #[test]
    fn endless_events_do_not_fill_the_memory() {
        let signals = after((0..3_000).map(|n| event(WRITTEN, &format!("inbox/{n}.txt"))));
        assert_eq!(signals.touched.len(), MAX_NAMES);
        assert!(signals.stirred);
    }

    #[test]
    fn a_wait_without_a_watcher_ends_by_its_deadline_and_not_before() {
        let watch = DirectoryWatch::idle();
        let deadline = Instant::now() + Duration::from_millis(30);
        assert!(watch.wait_until(deadline).is_quiet());
        assert!(Instant::now() >= deadline);
    }

    #[test]
    fn a_wake_before_the_wait_is_not_lost() {
        let watch = DirectoryWatch::idle();
        watch.waker().wake();
        assert!(
            watch
                .wait_until(Instant::now() + Duration::from_mins(1))
                .woken
        );
        assert!(!watch.wait_until(Instant::now()).woken);
    }

    #[test]
    fn limits_are_named_with_what_raises_them() {
        let raise = |trouble: notify::Error| WatchTrouble::from(trouble).raise;
        let watches = raise(notify::Error::new(notify::ErrorKind::MaxFilesWatch));
        assert!(watches.unwrap().starts_with("fs.inotify.max_user_watches="));
        let instances = raise(notify::Error::io(io::Error::from_raw_os_error(24)));
        assert_eq!(instances.is_some(), cfg!(target_os = "linux"));
    }
}
