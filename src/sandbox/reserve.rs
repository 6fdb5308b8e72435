//! Names in the workspace that a command must not create.
//!
//! A name can only be protected by a mount, and a mount needs something to lie on: a missing name
//! is made as an empty directory, which version control does not see, and removed afterwards. Such
//! a directory has permissions that nobody else gives, so that one which a power failure left
//! behind is known and goes with the next. Names inside of `.git` whose mere presence would change
//! what git does are not made but looked for afterwards. Nothing is made or removed through a link.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use serde::{Deserialize, Serialize};

use super::{Confinement, PROTECTED, RESERVED_WORKFLOWS, STATE, paths, repository};

/// Tells a directory that was made here from all others; no usual mask takes a part of it away.
const MARK: u32 = 0o1500;

/// What is undone when the command has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Reserved {
    #[serde(with = "paths")]
    workspace: PathBuf,
    #[serde(with = "paths")]
    names: Vec<PathBuf>,
    #[serde(with = "paths")]
    absent: Vec<PathBuf>,
    /// Other places that are held: repositories which others use too.
    #[serde(with = "paths")]
    outside: Vec<PathBuf>,
}

/// Holds what is reserved, against others who run commands in the same workspace.
#[derive(Debug)]
pub(super) struct Hold(Vec<File>);

impl Reserved {
    /// Makes what is missing.
    pub(super) fn make(confinement: &Confinement) -> (Self, Hold) {
        let workspace = &confinement.workspace;
        let missing = repository::Missing::of(confinement);
        let hold = Hold::take(workspace, &missing.outside);
        let mut names: Vec<PathBuf> = PROTECTED.iter().map(|name| workspace.join(name)).collect();
        names.push(workspace.join(STATE));
        for name in RESERVED_WORKFLOWS.map(|name| workspace.join(name)) {
            // One that is made here is closed as a whole.
            if !name.parent().is_some_and(is_marked_or_missing) {
                names.push(name);
            }
        }
        names.extend(missing.hooks);
        names.extend(confinement.reserved.iter().cloned());
        let of_ours = confinement.hidden.iter();
        names.extend(of_ours.filter(|path| path.ends_with(STATE)).cloned());
        for ground in Ground::of(workspace, &missing.outside) {
            for name in &names {
                ground.make_marked(name);
            }
        }
        let reserved = Self {
            workspace: workspace.clone(),
            names,
            absent: missing.absent,
            outside: missing.outside,
        };
        (reserved, hold)
    }

    /// Removes what was made and what should not have come, unless others still need it.
    pub(super) fn remove(&self, hold: &Hold) {
        let grounds = Ground::of(&self.workspace, &self.outside);
        for ground in &grounds {
            self.absent.iter().for_each(|path| ground.remove_file(path));
        }
        if !hold.is_the_last() {
            return;
        }
        for ground in &grounds {
            self.names
                .iter()
                .for_each(|path| ground.remove_marked(path));
        }
    }

    /// The same, for a supervisor whose `agent` has died.
    pub(super) fn remove_for_the_dead(&self) {
        self.remove(&Hold::take(&self.workspace, &self.outside));
    }
}

impl Hold {
    fn take(workspace: &Path, outside: &[PathBuf]) -> Self {
        let places = [workspace]
            .into_iter()
            .chain(outside.iter().map(PathBuf::as_path));
        let files = places.filter_map(|place| File::open(place).ok());
        // Without a lock, as on some network file systems, one counts as alone.
        let is_held =
            |file: &File| rustix::fs::flock(file, FlockOperation::NonBlockingLockShared).is_ok();
        Self(files.filter(is_held).collect())
    }

    fn is_the_last(&self) -> bool {
        self.0
            .iter()
            .all(|file| rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).is_ok())
    }
}

fn is_marked_or_missing(path: &Path) -> bool {
    path.symlink_metadata().is_err() || is_marked(path)
}

/// The workspace or a repository outside, in which nothing is reached through a link: a command or a project may have made
/// one that leads out.
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

    /// The directory that holds the path, and its name there.
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

    fn make_marked(&self, path: &Path) {
        if let Some((directory, name)) = self.parent(path) {
            // One that exists already, as whatever, is not ours to change.
            let _ = rustix::fs::mkdirat(directory, name, Mode::from_raw_mode(MARK));
        }
    }

    fn remove_marked(&self, path: &Path) {
        let Some((directory, name)) = self.parent(path) else {
            return;
        };
        let is_marked =
            rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| {
                FileType::from_raw_mode(found.st_mode) == FileType::Directory
                    && found.st_mode & 0o7777 == MARK
            });
        if is_marked {
            let _ = rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR);
        }
    }

    fn remove_file(&self, path: &Path) {
        if let Some((directory, name)) = self.parent(path) {
            let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
        }
    }
}

/// Whether the directory was made here.
pub(super) fn is_marked(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|found| found.is_dir() && found.permissions().mode() & 0o7777 == MARK)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

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
        let (reserved, hold) = Reserved::make(&place.confinement);
        assert!(place.directory.path().join(".vscode").is_dir());
        File::create(place.directory.path().join(".git/commondir")).unwrap();
        reserved.remove(&hold);
        place.is_as_it_was();
    }

    #[test]
    fn nothing_is_made_or_removed_through_a_link() {
        let place = place();
        let outside = tempfile::tempdir().unwrap();
        let link = place.directory.path().join(".github");
        std::os::unix::fs::symlink(outside.path(), &link).unwrap();
        let (reserved, hold) = Reserved::make(&place.confinement);
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
        let (reserved, hold) = Reserved::make(&place.confinement);
        assert!(base.join(STATE).is_dir());
        reserved.remove(&hold);
        assert_eq!(fs::read_dir(&base).unwrap().count(), 0);
    }

    #[test]
    fn stays_until_the_last_one_has_ended() {
        let place = place();
        let (first, first_hold) = Reserved::make(&place.confinement);
        let (second, second_hold) = Reserved::make(&place.confinement);
        first.remove(&first_hold);
        drop(first_hold);
        assert!(place.directory.path().join(".vscode").is_dir());
        second.remove(&second_hold);
        place.is_as_it_was();
    }

    #[test]
    fn what_was_left_behind_goes_with_the_next() {
        let place = place();
        drop(Reserved::make(&place.confinement));
        assert!(place.directory.path().join(".vscode").is_dir());
        let (reserved, hold) = Reserved::make(&place.confinement);
        reserved.remove(&hold);
        place.is_as_it_was();
    }
}
