//! Writes a file in two steps: the complete content under a temporary name, then the rename.
//!
//! Staged content is not visible to anyone. Many staged files can be synced at once before they are
//! renamed, so that a crash can only come between renames.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use cap_std::fs::{Dir, File};

use super::likeness::make_alike;
use super::survey::FileStat;
use super::{
    ExecutableBit, FileProblem, MadeDirectories, Ownership, Workspace, create_private, regular,
};
use crate::fs::TEMPORARY;
use crate::platform::files;
use agent_protocol::RelPath;

/// The largest file that is hashed to identify its content, in bytes. Larger files are never edited
/// here, only moved or deleted, which should not take as long as reading them.
const MAX_HASHED: u64 = 256 * 1024 * 1024;

/// Prefix of an identity made from file metadata; no hash begins with it.
const IDENTITY: &str = "stat:";

/// The target of staged content and the mark in its temporary name.
#[derive(Debug, Clone, Copy)]
pub struct StagingTarget<'a> {
    /// The target path.
    pub path: &'a RelPath,
    /// The file whose permission bits are copied; `None` for a new file.
    pub like: Option<&'a RelPath>,
    /// Makes the temporary name unique. Must not be in use: an existing file of that name is a
    /// leftover and is replaced.
    pub mark: &'a str,
}

impl Workspace {
    /// Writes content under a temporary name in the target directory, or in its nearest existing
    /// parent. Tells if the file kept its owner.
    pub fn stage(
        &self,
        place: StagingTarget<'_>,
        content: &[u8],
        permission: ExecutableBit,
    ) -> Result<(RelPath, Ownership), FileProblem> {
        let failed = |cause| FileProblem::from_io("write", place.path, cause);
        let (directory, depth) = self.nearest_directory(place.path)?;
        let is_its_own = depth + 1 == place.path.components().count();
        let old = match place.like {
            Some(like) if like == place.path && is_its_own => Some(regular(&directory, like)?),
            Some(like) => Some(regular(&self.parent(like)?, like)?),
            None => None,
        };
        let name = temporary_name(place.mark);
        let components = place.path.components().take(depth);
        let components: Vec<&str> = components.chain([name.as_str()]).collect();
        let staged = RelPath::parse(&components.join("/"))
            .map_err(|problem| failed(io::Error::other(problem)))?;
        let write = || -> io::Result<Ownership> {
            let create = || create_private(&directory, &name, old.is_none());
            let mut file = match create() {
                // A leftover of a killed process.
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                    directory.remove_file(&name)?;
                    create()?
                }
                other => other?,
            };
            file.write_all(content)?;
            make_alike(&file, old.as_ref(), permission)
        };
        match write() {
            Ok(ownership) => Ok((staged, ownership)),
            Err(cause) => {
                remove_unwanted(&directory, &name);
                Err(failed(cause))
            }
        }
    }

    /// Renames staged content to its target, replacing a regular file and creating directories.
    pub fn put(
        &self,
        staged: &RelPath,
        path: &RelPath,
        made: &MadeDirectories,
    ) -> Result<(), FileProblem> {
        let directory = self.make_parent(path, made)?;
        match regular(&directory, path) {
            Ok(_) | Err(FileProblem::NotFound(_)) => {}
            Err(problem) => return Err(problem),
        }
        let elsewhere = self.elsewhere(staged, path)?;
        let beside = elsewhere.as_ref().unwrap_or(&directory);
        let renamed = files::patiently(|| {
            files::make_replaceable(&directory, path.file_name());
            beside.rename(staged.file_name(), &directory, path.file_name())
        });
        renamed.map_err(|cause| FileProblem::from_io("write", path, cause))
    }

    /// Swaps staged content with a regular file if that is unchanged, so that the old file gets the
    /// temporary name. Returns false, and changes nothing, if the system does not support this.
    pub fn exchange(
        &self,
        staged: &RelPath,
        path: &RelPath,
        is_as_before: impl FnOnce(&FileStat) -> Result<bool, FileProblem>,
    ) -> Result<bool, FileProblem> {
        let directory = self.parent(path)?;
        if !is_as_before(&FileStat::of(&regular(&directory, path)?))? {
            return Err(FileProblem::Changed(path.clone()));
        }
        let elsewhere = self.elsewhere(staged, path)?;
        let beside = elsewhere.as_ref().unwrap_or(&directory);
        let (temporary, name) = (staged.file_name(), path.file_name());
        match files::exchange_names(beside, temporary, &directory, name) {
            Ok(()) => Ok(true),
            Err(cause) if cause.kind() == io::ErrorKind::Unsupported => Ok(false),
            Err(cause) => Err(FileProblem::from_io("write", path, cause)),
        }
    }

    /// The directory of staged content, if it differs from the directory of its target.
    fn elsewhere(&self, staged: &RelPath, path: &RelPath) -> Result<Option<Dir>, FileProblem> {
        let is_beside = staged.parent() == path.parent();
        (!is_beside).then(|| self.parent(staged)).transpose()
    }

    /// Removes a leftover of a killed process under the temporary name of a file.
    pub fn remove_left_over(&self, path: &RelPath, mark: &str) {
        if let Ok(directory) = self.parent(path) {
            remove_unwanted(&directory, &temporary_name(mark));
        }
    }

    /// Removes staged contents of these files by the marks in their temporary names. They are in the
    /// directory of the file or in one above it, which was the nearest when they were staged.
    pub fn remove_left_overs(&self, paths: &[&RelPath], is_left_over: impl Fn(&str) -> bool) {
        let mut directories: BTreeSet<Option<RelPath>> = BTreeSet::new();
        for path in paths {
            let mut above = path.parent();
            while directories.insert(above.clone()) {
                above = above.and_then(|directory| directory.parent());
            }
        }
        for path in directories {
            let opened = match &path {
                Some(path) => self.directory(path).ok(),
                None => self.root.try_clone().ok(),
            };
            let Some(directory) = opened else { continue };
            for entry in directory.entries().into_iter().flatten().flatten() {
                let name = entry.file_name();
                let Some(name) = name.to_str() else { continue };
                let mark = || name.strip_prefix(TEMPORARY)?.strip_suffix(".tmp");
                if mark().is_some_and(&is_left_over) {
                    remove_unwanted(&directory, name);
                }
            }
        }
    }

    /// Removes staged content, if it is there.
    pub fn remove_staged(&self, staged: &RelPath) {
        if let Ok(directory) = self.parent(staged) {
            remove_unwanted(&directory, staged.file_name());
        }
    }

    /// The metadata of a file; `None` if it does not exist.
    pub fn stat(&self, path: &RelPath) -> Result<Option<FileStat>, FileProblem> {
        match self
            .parent(path)
            .and_then(|directory| regular(&directory, path))
        {
            Ok(metadata) => Ok(Some(FileStat::of(&metadata))),
            Err(FileProblem::NotFound(_)) => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    /// Identifies the content of a file: its hash, or for a very large file its metadata. `None` if
    /// the file does not exist.
    pub fn content_of(&self, path: &RelPath) -> Result<Option<String>, FileProblem> {
        match self.open_regular(path) {
            Ok((_, stat)) if stat.size > MAX_HASHED => Ok(Some(identity(&stat))),
            Ok((file, _)) => hashed(path, file).map(Some),
            Err(FileProblem::NotFound(_)) => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    /// Identifies the content of a file in the same form as the `known` identities: hash or
    /// metadata.
    pub fn content_like(
        &self,
        path: &RelPath,
        known: &[&str],
    ) -> Result<Option<String>, FileProblem> {
        let is_told_unread = |content: &&str| content.starts_with(IDENTITY);
        if !known.iter().any(is_told_unread) {
            return self.digest(path);
        }
        let Some(stat) = self.stat(path)? else {
            return Ok(None);
        };
        let identity = identity(&stat);
        // A smaller file may have replaced a very large one; then its hash is known.
        let is_read = stat.size <= MAX_HASHED && !known.iter().all(is_told_unread);
        if is_read && !known.contains(&identity.as_str()) {
            return self.digest(path);
        }
        Ok(Some(identity))
    }

    /// The hash of a file's content, whatever its size; `None` if the file does not exist.
    pub fn digest(&self, path: &RelPath) -> Result<Option<String>, FileProblem> {
        match self.open_file(path) {
            Ok((file, _)) => hashed(path, file).map(Some),
            Err(FileProblem::NotFound(_)) => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    /// True if `sync` also covers writes to this path.
    pub fn sync_covers(&self, path: &Path) -> bool {
        files::one_sync_covers(&self.path, path)
    }

    /// The directory of a path or its nearest existing parent, and the depth of that.
    fn nearest_directory(&self, path: &RelPath) -> Result<(Dir, usize), FileProblem> {
        let mut above = path.parent();
        loop {
            let Some(directory) = above else {
                let root = self.root.try_clone();
                let root = root.map_err(|cause| FileProblem::from_io("open", path, cause))?;
                return Ok((root, 0));
            };
            match self.directory(&directory) {
                Ok(opened) => return Ok((opened, directory.components().count())),
                // A file in the way may be removed before this one is put in place.
                Err(FileProblem::NotFound(_) | FileProblem::NotInDirectory { .. }) => {
                    above = directory.parent();
                }
                Err(problem) => return Err(problem),
            }
        }
    }
}

fn hashed(path: &RelPath, file: File) -> Result<String, FileProblem> {
    let mut hasher = blake3::Hasher::new();
    hasher
        .update_reader(file)
        .map_err(|cause| FileProblem::from_io("read", path, cause))?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// The metadata of a file that a rename does not change.
fn identity(stat: &FileStat) -> String {
    format!("{IDENTITY}{}-{}-{}", stat.size, stat.modified, stat.inode)
}

/// Removes a temporary file that may be missing. An error may be over a moment later; after that the
/// file stays, under a name that no listing shows.
fn remove_unwanted(directory: &Dir, name: &str) {
    let is_gone = |removed: io::Result<()>| match removed {
        Ok(()) => true,
        Err(cause) => cause.kind() == io::ErrorKind::NotFound,
    };
    files::make_replaceable(directory, name);
    if !is_gone(directory.remove_file(name)) {
        let _ = directory.remove_file(name);
    }
}

fn temporary_name(mark: &str) -> String {
    format!("{TEMPORARY}{mark}.tmp")
}
