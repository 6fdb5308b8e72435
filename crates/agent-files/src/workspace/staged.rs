//! Writing a file in two steps: the whole new content under a temporary name, then the name.
//!
//! What is staged changes nothing that anybody looks at. Between the two steps it can be brought
//! onto the disk, many files at once, so that the second step is all that a crash can come between.

use std::io::{self, Write};
use std::path::Path;

use cap_std::fs::{Dir, File};

use super::likeness::make_alike;
use super::survey::Stat;
use super::{
    FileProblem, MadeDirectories, Ownership, Permission, Workspace, create_private, regular,
};
use crate::fs::TEMPORARY;
use crate::platform::files;
use agent_protocol::RelPath;

/// The largest file that is read to tell its content from others, in bytes. What is larger was never
/// edited here: it can only be moved or deleted, which must not take as long as reading it.
const MAX_HASHED: u64 = 256 * 1024 * 1024;

/// How what the system knows of a file begins; no hash does.
const IDENTITY: &str = "stat:";

/// Where a file is going to be, and how it is called until then.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The file.
    pub path: &'a RelPath,
    /// The file whose permission bits it gets; none for one that is new.
    pub like: Option<&'a RelPath>,
    /// What tells its temporary name from others, never one that is in use: a file of that name was
    /// left behind, and is replaced.
    pub mark: &'a str,
}

impl Workspace {
    /// Puts the content of a file under a temporary name in the directory where it will be, or the
    /// nearest one above it that is there; tells whether it belongs to whom the old file does.
    pub fn stage(
        &self,
        place: Place<'_>,
        content: &[u8],
        permission: Permission,
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
                // A process that was killed left it behind.
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
                // What is left of it helps nobody; the first error is the one to tell.
                let _ = directory.remove_file(&name);
                Err(failed(cause))
            }
        }
    }

    /// Gives a staged content its name, replacing the regular file that had it; makes directories.
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
        beside
            .rename(staged.file_name(), &directory, path.file_name())
            .map_err(|cause| FileProblem::from_io("write", path, cause))
    }

    /// Gives a staged content the name of a regular file, and that file the temporary name, if it is
    /// still as it was before. Tells whether the system can do that; if not, nothing was changed.
    pub fn exchange(
        &self,
        staged: &RelPath,
        path: &RelPath,
        is_as_before: impl FnOnce(&Stat) -> Result<bool, FileProblem>,
    ) -> Result<bool, FileProblem> {
        let directory = self.parent(path)?;
        if !is_as_before(&Stat::of(&regular(&directory, path)?))? {
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

    /// The directory where a staged content lies, if it is not the one of its file.
    fn elsewhere(&self, staged: &RelPath, path: &RelPath) -> Result<Option<Dir>, FileProblem> {
        let is_beside = staged.parent() == path.parent();
        (!is_beside).then(|| self.parent(staged)).transpose()
    }

    /// Removes what a process that was killed may have left under the temporary name of a file.
    pub fn remove_left_over(&self, path: &RelPath, mark: &str) {
        if let Ok(directory) = self.parent(path) {
            // Mostly there is nothing; and what stays has a name that nobody is shown.
            let _ = directory.remove_file(temporary_name(mark));
        }
    }

    /// Removes all contents that were prepared for a file under names with this mark and never used.
    pub fn remove_left_overs(&self, path: &RelPath, mark: &str) {
        let prefix = format!("{TEMPORARY}{mark}");
        let Ok((directory, _)) = self.nearest_directory(path) else {
            return;
        };
        for entry in directory.entries().into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.to_string_lossy().starts_with(&prefix) {
                // What stays has a name that nobody is shown.
                let _ = directory.remove_file(name);
            }
        }
    }

    /// Removes what lies under a temporary name.
    pub fn remove_staged(&self, staged: &RelPath) -> Result<(), FileProblem> {
        self.parent(staged)?
            .remove_file(staged.file_name())
            .map_err(|cause| FileProblem::from_io("delete", staged, cause))
    }

    /// What the system knows of a file without reading it; nothing if there is no such file.
    pub fn stat(&self, path: &RelPath) -> Result<Option<Stat>, FileProblem> {
        match self
            .parent(path)
            .and_then(|directory| regular(&directory, path))
        {
            Ok(metadata) => Ok(Some(Stat::of(&metadata))),
            Err(FileProblem::NotFound(_)) => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    /// What tells the content of a file from any other: its hash, or of a very large one what the
    /// system knows of it; nothing if there is no such file.
    pub fn content_of(&self, path: &RelPath) -> Result<Option<String>, FileProblem> {
        match self.open_regular(path) {
            Ok((_, stat)) if stat.size > MAX_HASHED => Ok(Some(identity(&stat))),
            Ok((file, _)) => hashed(path, file).map(Some),
            Err(FileProblem::NotFound(_)) => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    /// The same, in the way in which one of these was told: the one that it is, if it is one of them.
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
        // A file may have taken the place of a very large one; its hash is then known.
        let is_read = stat.size <= MAX_HASHED && !known.iter().all(is_told_unread);
        if is_read && !known.contains(&identity.as_str()) {
            return self.digest(path);
        }
        Ok(Some(identity))
    }

    /// The hash of a file's content, however large it is; nothing if there is no such file.
    pub fn digest(&self, path: &RelPath) -> Result<Option<String>, FileProblem> {
        match self.open_file(path) {
            Ok((file, _)) => hashed(path, file).map(Some),
            Err(FileProblem::NotFound(_)) => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    /// Whether `sync` brings onto the disk also what was written to this path.
    pub fn sync_covers(&self, path: &Path) -> bool {
        files::one_sync_covers(&self.path, path)
    }

    /// The directory of a path, or the nearest one above it that is there; and how deep it lies.
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
                // A file that is in the way may go before this one comes.
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

/// What the system knows of a file that another name does not change.
fn identity(stat: &Stat) -> String {
    format!("{IDENTITY}{}-{}-{}", stat.size, stat.modified, stat.inode)
}

fn temporary_name(mark: &str) -> String {
    format!("{TEMPORARY}{mark}.tmp")
}
