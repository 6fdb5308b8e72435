//! Reserves names in the workspace that a command must not create.
//!
//! A name can only be protected by a mount, and a mount needs a mount point: a missing name is
//! created as an empty directory, which version control does not see, and removed afterwards. The
//! supervisor of the command creates and removes them, because it outlives both the command and a
//! killed `agent`. `agent` only checks for leftovers: after a command, in case the supervisor was
//! killed, and when a session is opened ([`sweep`]), in case both were. It recognises such a
//! directory by permissions that nobody else uses. Names inside `.git` whose mere presence would
//! change what git does are not created but checked afterwards; one that came is renamed and not
//! removed, because the person may have made it. Nothing is created or removed through a link.
//!
//! An overlay inside the namespace would need no mount points. But its upper layer would be the
//! workspace itself, where it leaves whiteouts and attributes, and its work directory must be on
//! the same file system.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use serde::{Deserialize, Serialize};

use super::repositories::DISABLED;
use super::{Backend, Confinement, PROTECTED, RESERVED_WORKFLOWS, STATE, paths, repository};

/// Permissions that mark a directory created here; no usual umask clears a part of them.
const MARK: u32 = 0o1500;

/// The permissions to compare with the mark: a directory inherits the set-group-ID bit.
const COMPARED: u32 = 0o5777;

/// Time limit for a lock: a killed process holds its lock until it has ended.
const PATIENCE: Duration = Duration::from_secs(2);

/// The names to reserve for a command, and those that must not exist when it has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Reserved {
    #[serde(with = "paths")]
    workspace: PathBuf,
    #[serde(with = "paths")]
    names: Vec<PathBuf>,
    #[serde(with = "paths")]
    absent: Vec<PathBuf>,
    /// Other directories to lock: repositories that others use too.
    #[serde(with = "paths")]
    outside: Vec<PathBuf>,
}

/// Locks the reserved names against other commands in the same workspace.
#[derive(Debug)]
pub(super) struct Hold(Vec<File>);

impl Reserved {
    /// The names for this confinement; creates nothing yet.
    pub(super) fn planned(confinement: &Confinement) -> Self {
        let workspace = &confinement.workspace;
        let missing = repository::Missing::of(confinement);
        let mut reserved = Self {
            workspace: workspace.clone(),
            names: Vec::new(),
            absent: missing.absent,
            outside: missing.outside,
        };
        if confinement.backend == Backend::Landlock {
            // Without mounts a directory in its place protects no name.
            return reserved;
        }
        let names = &mut reserved.names;
        names.extend(PROTECTED.iter().map(|name| workspace.join(name)));
        names.push(workspace.join(STATE));
        for name in RESERVED_WORKFLOWS.map(|name| workspace.join(name)) {
            // A directory created here is closed as a whole.
            if !name.parent().is_some_and(is_marked_or_missing) {
                names.push(name);
            }
        }
        names.extend(missing.hooks);
        names.extend(confinement.reserved.iter().cloned());
        let of_ours = || {
            confinement
                .hidden
                .iter()
                .filter(|path| path.ends_with(STATE))
        };
        names.extend(of_ours().cloned());
        // Inside, a mount point in the workspace could not be created where owners are mapped, and would
        // be left behind elsewhere.
        let cache = confinement.cache.as_ref();
        let cache = cache.map(|_| confinement.home.join(".cache"));
        names.extend(cache.filter(|cache| cache.starts_with(workspace)));
        // In a path that the person opened, the name must not be created either.
        let in_opened = of_ours().filter(|path| {
            let is_above = |opened: &PathBuf| {
                let real = fs::canonicalize(opened);
                real.is_ok_and(|real| path.starts_with(real))
            };
            !path.starts_with(workspace) && confinement.extra_write.iter().any(is_above)
        });
        let bases = in_opened.filter_map(|path| path.parent());
        reserved.outside.extend(bases.map(Path::to_owned));
        reserved
    }

    /// Prevents others from removing the names. Take it before process 1 starts, which then keeps it
    /// for as long as its mounts exist.
    pub(super) fn hold(&self) -> Hold {
        Hold::share(&self.workspace, &self.outside)
    }

    /// Creates the missing names. If one can neither be created nor exists, the command must not
    /// start: it could create the name itself.
    pub(super) fn make(&self) -> Result<(), String> {
        for ground in Ground::of(&self.workspace, &self.outside) {
            for name in &self.names {
                ground.make_marked(name).map_err(|error| {
                    let name = name.display();
                    format!("could not reserve the name `{name}`, so that no command creates it: {error}")
                })?;
            }
        }
        Ok(())
    }

    /// Removes the created names, unless others still need them, and renames those that must not
    /// exist.
    pub(super) fn remove(&self, hold: &Hold) {
        let grounds = Ground::of(&self.workspace, &self.outside);
        for ground in &grounds {
            self.absent.iter().for_each(|path| ground.set_aside(path));
        }
        if hold.is_the_last() {
            self.remove_marked(&grounds);
        }
    }

    /// Files under the names that disabled ones get. Compare them with those before the command.
    pub(super) fn found_aside(&self) -> BTreeMap<PathBuf, (u64, i64, i64)> {
        let found = self.absent.iter().filter_map(|path| {
            let found = aside(path).symlink_metadata().ok()?;
            let identity = (found.ino(), found.ctime(), found.ctime_nsec());
            Some((path.clone(), identity))
        });
        found.collect()
    }

    /// Removes leftovers of a killed supervisor, once nobody else needs them.
    pub(super) fn remove_leftovers(&self) {
        if !self.names.iter().any(|name| is_marked(name)) {
            return;
        }
        let grounds = Ground::of(&self.workspace, &self.outside);
        if Hold::alone(&self.workspace, &self.outside).is_some() {
            self.remove_marked(&grounds);
        }
    }

    fn remove_marked(&self, grounds: &[Ground<'_>]) {
        for ground in grounds {
            // Children come after their parents.
            let names = self.names.iter().rev();
            names.for_each(|path| ground.remove_marked(path));
        }
    }
}

/// Removes leftovers of commands of an earlier process that was killed.
pub fn sweep(confinement: &Confinement) {
    let mut everything = confinement.clone();
    everything.backend = Backend::Namespaces;
    everything.git_write = true;
    Reserved::planned(&everything).remove_leftovers();
}

impl Hold {
    /// Takes shared locks, beside others who run commands.
    fn share(workspace: &Path, outside: &[PathBuf]) -> Self {
        let mut files = Self::open(workspace, outside);
        // Without a lock, as on some network file systems, a process counts as alone.
        files.retain(|file| lock(file, FlockOperation::NonBlockingLockShared));
        Self(files)
    }

    /// Takes exclusive locks, once the others have ended.
    fn alone(workspace: &Path, outside: &[PathBuf]) -> Option<Self> {
        let files = Self::open(workspace, outside);
        let is_alone = files
            .iter()
            .all(|file| lock(file, FlockOperation::NonBlockingLockExclusive));
        is_alone.then_some(Self(files))
    }

    fn open(workspace: &Path, outside: &[PathBuf]) -> Vec<File> {
        let places = [workspace]
            .into_iter()
            .chain(outside.iter().map(PathBuf::as_path));
        places.filter_map(|place| File::open(place).ok()).collect()
    }

    fn is_the_last(&self) -> bool {
        self.0
            .iter()
            .all(|file| rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).is_ok())
    }
}

/// Takes a lock that another process may hold for a moment. Polls, because there is no lock call
/// with a timeout.
fn lock(file: &File, operation: FlockOperation) -> bool {
    const LOOK: Duration = Duration::from_millis(2);
    let deadline = Instant::now() + PATIENCE;
    loop {
        match rustix::fs::flock(file, operation) {
            Ok(()) => return true,
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR)
                if Instant::now() < deadline =>
            {
                std::thread::sleep(LOOK);
            }
            Err(_) => return false,
        }
    }
}

fn is_marked_or_missing(path: &Path) -> bool {
    path.symlink_metadata().is_err() || is_marked(path)
}

/// The workspace or a repository outside. Nothing in it is reached through a link: a command or a
/// project may have created one that leads out.
struct Ground<'a> {
    root: OwnedFd,
    path: &'a Path,
}

impl<'a> Ground<'a> {
    const DIRECTORY: OFlags = OFlags::PATH
        .union(OFlags::DIRECTORY)
        .union(OFlags::NOFOLLOW)
        .union(OFlags::CLOEXEC);

    fn of(workspace: &'a Path, outside: &'a [PathBuf]) -> Vec<Self> {
        let outside = outside.iter().map(PathBuf::as_path);
        let places = [workspace].into_iter().chain(outside);
        places.filter_map(Self::open).collect()
    }

    fn open(path: &'a Path) -> Option<Self> {
        let root = rustix::fs::open(path, Self::DIRECTORY, Mode::empty()).ok()?;
        Some(Self { root, path })
    }

    /// The directory that contains the path, and the name in it.
    fn parent<'b>(&self, path: &'b Path) -> Option<(OwnedFd, &'b OsStr)> {
        let inside = path.strip_prefix(self.path).ok()?;
        let mut directory = self.root.try_clone().ok()?;
        for component in inside.parent()?.components() {
            let Component::Normal(name) = component else {
                return None;
            };
            directory =
                rustix::fs::openat(&directory, name, Self::DIRECTORY, Mode::empty()).ok()?;
        }
        Some((directory, inside.file_name()?))
    }

    fn make_marked(&self, path: &Path) -> io::Result<()> {
        use rustix::io::Errno;
        let Some((directory, name)) = self.parent(path) else {
            return Ok(());
        };
        match rustix::fs::mkdirat(directory, name, Mode::from_raw_mode(MARK)) {
            // An existing entry, of whatever kind, is not ours to change; and where nothing can be
            // written, no command can create one.
            Ok(()) | Err(Errno::EXIST | Errno::ROFS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn remove_marked(&self, path: &Path) {
        let Some((directory, name)) = self.parent(path) else {
            return;
        };
        let is_marked =
            rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| {
                FileType::from_raw_mode(found.st_mode) == FileType::Directory
                    && found.st_mode & COMPARED == MARK
            });
        if !is_marked {
            return;
        }
        let remove = || rustix::fs::unlinkat(&directory, name, AtFlags::REMOVEDIR);
        if remove() == Err(rustix::io::Errno::ACCESS) {
            // A command has closed the directory.
            let _ = while_writable(&directory, remove);
        }
    }

    fn set_aside(&self, path: &Path) {
        if let Some((directory, name)) = self.parent(path) {
            let other = aside(Path::new(name));
            let set_aside = || {
                rustix::fs::renameat(&directory, name, &directory, &other)
                    // A directory has that name: better removed than obeyed.
                    .or_else(|_| rustix::fs::unlinkat(&directory, name, AtFlags::empty()))
            };
            if matches!(set_aside(), Err(error) if error != rustix::io::Errno::NOENT) {
                let _ = while_writable(&directory, set_aside);
            }
        }
    }
}

/// Opens a directory of ours for the duration of the work.
fn while_writable<T>(directory: &OwnedFd, work: impl FnOnce() -> T) -> io::Result<T> {
    let path = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    let before = fs::metadata(&path)?.permissions();
    let open = fs::Permissions::from_mode(before.mode() | 0o700);
    fs::set_permissions(&path, open)?;
    let done = work();
    fs::set_permissions(&path, before)?;
    Ok(done)
}

/// The path under which a file is disabled.
fn aside(path: &Path) -> PathBuf {
    let mut other = path.as_os_str().to_owned();
    other.push(DISABLED);
    other.into()
}

/// True if the directory was created here.
pub(super) fn is_marked(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|found| found.is_dir() && found.permissions().mode() & COMPARED == MARK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_files::fs::{Durability, write_atomic};

    struct Place {
        directory: tempfile::TempDir,
        confinement: Confinement,
    }

    fn place() -> Place {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join(".git")).unwrap();
        fs::create_dir(directory.path().join(".idea")).unwrap();
        let mut confinement = Confinement::of_workspace(directory.path());
        confinement.git_write = true;
        Place {
            directory,
            confinement,
        }
    }

    fn made(confinement: &Confinement) -> (Reserved, Hold) {
        let reserved = Reserved::planned(confinement);
        let hold = reserved.hold();
        reserved.make().unwrap();
        (reserved, hold)
    }

    impl Place {
        #[track_caller]
        fn is_as_it_was(&self) {
            let mut left: Vec<_> = fs::read_dir(self.directory.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .collect();
            left.sort();
            assert_eq!(left, [".git", ".idea"]);
            let git = self.directory.path().join(".git");
            assert_eq!(fs::read_dir(git).unwrap().count(), 0);
        }
    }

    #[test]
    fn leaves_the_workspace_as_it_was() {
        let place = place();
        let (reserved, hold) = made(&place.confinement);
        assert!(place.directory.path().join(".vscode").is_dir());
        reserved.remove(&hold);
        place.is_as_it_was();
    }

    /// The person may have made it, by `git sparse-checkout` for example.
    #[test]
    fn what_must_not_exist_is_renamed_and_told() {
        let place = place();
        let (reserved, hold) = made(&place.confinement);
        assert_eq!(reserved.found_aside(), BTreeMap::new());
        let file = place.directory.path().join(".git/commondir");
        write_atomic(&file, b"of the person", Durability::Atomic).unwrap();
        reserved.remove(&hold);
        assert!(!file.exists());
        assert_eq!(fs::read(aside(&file)).unwrap(), b"of the person");
        let told: Vec<PathBuf> = reserved.found_aside().into_keys().collect();
        assert_eq!(told, std::slice::from_ref(&file));
        // A directory under that name does not keep it in force.
        fs::remove_file(aside(&file)).unwrap();
        fs::create_dir(aside(&file)).unwrap();
        File::create(&file).unwrap();
        reserved.remove(&hold);
        assert!(!file.exists());
    }

    #[test]
    fn leaves_nothing_in_a_directory_that_passes_on_its_group_or_was_closed() {
        for mode in [0o2755, 0o555] {
            let place = place();
            let directory = place.directory.path();
            fs::set_permissions(directory, fs::Permissions::from_mode(0o2755)).unwrap();
            let (reserved, hold) = made(&place.confinement);
            assert!(is_marked(&directory.join(".vscode")));
            fs::set_permissions(directory, fs::Permissions::from_mode(mode)).unwrap();
            reserved.remove(&hold);
            place.is_as_it_was();
            let left = fs::metadata(directory).unwrap().permissions().mode();
            assert_eq!(left & 0o7777, mode);
        }
    }

    #[test]
    fn nothing_is_made_or_removed_through_a_link() {
        let place = place();
        let outside = tempfile::tempdir().unwrap();
        let link = place.directory.path().join(".github");
        std::os::unix::fs::symlink(outside.path(), &link).unwrap();
        let (reserved, hold) = made(&place.confinement);
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        let mark = fs::Permissions::from_mode(MARK);
        let alike = outside.path().join("workflows");
        fs::create_dir(&alike).unwrap();
        fs::set_permissions(&alike, mark).unwrap();
        reserved.remove(&hold);
        assert!(alike.is_dir(), "it is not ours");
        fs::remove_file(link).unwrap();
        place.is_as_it_was();
    }

    #[test]
    fn the_state_beside_settings_further_down_is_reserved() {
        let mut place = place();
        let base = place.directory.path().join(".idea/base");
        fs::create_dir(&base).unwrap();
        place.confinement.hidden = vec![base.join(STATE), "/elsewhere/.agent".into()];
        let (reserved, hold) = made(&place.confinement);
        assert!(base.join(STATE).is_dir());
        reserved.remove(&hold);
        assert_eq!(fs::read_dir(&base).unwrap().count(), 0);
    }

    #[test]
    fn stays_until_the_last_one_has_ended() {
        let place = place();
        let (first, first_hold) = made(&place.confinement);
        let (second, second_hold) = made(&place.confinement);
        first.remove(&first_hold);
        drop(first_hold);
        assert!(place.directory.path().join(".vscode").is_dir());
        second.remove(&second_hold);
        place.is_as_it_was();
    }

    #[test]
    fn what_was_left_behind_goes_with_the_next() {
        let place = place();
        drop(made(&place.confinement));
        assert!(place.directory.path().join(".vscode").is_dir());
        let (reserved, hold) = made(&place.confinement);
        reserved.remove(&hold);
        place.is_as_it_was();
    }

    #[test]
    fn what_was_left_behind_is_swept_once_nobody_needs_it() {
        let place = place();
        let (_, hold) = made(&place.confinement);
        let (_, other) = made(&place.confinement);
        drop(hold);
        std::thread::scope(|scope| {
            let sweeping = scope.spawn(|| sweep(&place.confinement));
            drop(other);
            sweeping.join().unwrap();
        });
        place.is_as_it_was();
    }

    #[test]
    fn what_somebody_still_needs_is_not_swept() {
        let place = place();
        let (reserved, hold) = made(&place.confinement);
        sweep(&place.confinement);
        assert!(place.directory.path().join(".vscode").is_dir());
        reserved.remove(&hold);
        place.is_as_it_was();
    }

    #[test]
    fn names_of_the_person_are_not_swept() {
        let place = place();
        let own = place.directory.path().join(".vscode");
        fs::create_dir(&own).unwrap();
        sweep(&place.confinement);
        assert!(own.is_dir());
    }

    #[test]
    fn without_mounts_nothing_is_reserved() {
        let mut place = place();
        place.confinement.backend = Backend::Landlock;
        let (reserved, hold) = made(&place.confinement);
        place.is_as_it_was();
        let file = place.directory.path().join(".git/commondir");
        File::create(&file).unwrap();
        reserved.remove(&hold);
        fs::remove_file(aside(&file)).unwrap();
        place.is_as_it_was();
    }
}
