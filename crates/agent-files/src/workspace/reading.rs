//! Opens and reads files.
//!
//! Follows a link that stays inside the workspace, unless it leads to our own records. Never reads
//! a pipe or a device, which might not end.

use std::io::Read;
use std::path::Path;

use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::fs::{File, OpenOptions};

use super::exact::is_absence;
use super::survey::FileStat;
use super::{FileKind, FileProblem, OUR_DIRECTORY, Workspace, kind_of};
use crate::platform::files;
use agent_protocol::RelPath;

impl Workspace {
    /// Reads a file of at most `max_bytes`.
    pub fn read(&self, path: &RelPath, max_bytes: u64) -> Result<Vec<u8>, FileProblem> {
        self.read_with_stat(path, max_bytes)
            .map(|(content, _)| content)
    }

    /// Reads a file and returns the metadata that it had before.
    pub fn read_with_stat(
        &self,
        path: &RelPath,
        max_bytes: u64,
    ) -> Result<(Vec<u8>, FileStat), FileProblem> {
        read_whole(path, self.open_regular(path)?, max_bytes)
    }

    /// Reads a file like `read_with_stat`, but refuses a path that is or goes through a link, as
    /// writing would.
    pub fn read_writable(
        &self,
        path: &RelPath,
        max_bytes: u64,
    ) -> Result<(Vec<u8>, FileStat), FileProblem> {
        match files::open_file_beneath(&self.root, path.as_str()) {
            Ok(file) => {
                let opened = with_stat(path, File::from_std(file))?;
                read_whole(path, opened, max_bytes)
            }
            // A dangling link would have been refused before.
            Err(cause) if is_absence(&cause) => Err(FileProblem::NotFound(path.clone())),
            Err(_) => match self.check_writable(path) {
                Err(FileProblem::NotInDirectory { path, .. }) => Err(FileProblem::NotFound(path)),
                Err(problem) => Err(problem),
                Ok(()) => self.read_with_stat(path, max_bytes),
            },
        }
    }

    /// Opens a regular file for reading; returns it with its size in bytes.
    pub fn open_file(&self, path: &RelPath) -> Result<(File, u64), FileProblem> {
        let (file, stat) = self.open_regular(path)?;
        Ok((file, stat.size))
    }

    pub(super) fn open_regular(&self, path: &RelPath) -> Result<(File, FileStat), FileProblem> {
        // Without a link on the way, the policy has already checked this name.
        if let Ok(file) = files::open_file_beneath(&self.root, path.as_str()) {
            return with_stat(path, File::from_std(file));
        }
        self.refuse_hidden(path)?;
        let mut options = OpenOptions::new();
        // Without `nonblock`, opening a pipe would wait for a writer.
        options.read(true).nonblock(true);
        let opened = files::patiently(|| self.root.open_with(path.as_str(), &options));
        let file = match opened {
            Ok(file) => file,
            // A socket cannot be opened, and systems report that in different ways.
            Err(cause) => {
                return Err(match self.kind(path) {
                    Ok(Some(FileKind::Special)) => FileProblem::NotRegular(path.clone()),
                    _ => FileProblem::from_io("read", path, cause),
                });
            }
        };
        with_stat(path, file)
    }

    /// Refuses a path that leads through a link to our own records, which are otherwise hidden by
    /// name.
    pub(super) fn refuse_hidden(&self, path: &RelPath) -> Result<(), FileProblem> {
        let is_hidden = self.root.canonicalize(path.as_str()).is_ok_and(|real| {
            let is_ours = |own: &RelPath| begins_with(&real, own.components());
            real.iter()
                .any(|name| name.eq_ignore_ascii_case(OUR_DIRECTORY))
                || self.left_out.iter().any(is_ours)
                || (real.to_str())
                    .and_then(|real| RelPath::parse(real).ok())
                    .is_some_and(|real| self.is_of_a_base(&real))
        });
        if is_hidden {
            return Err(FileProblem::Hidden(path.clone()));
        }
        Ok(())
    }
}

/// True if the path begins with these names, in any letter case, as some file systems ignore it.
fn begins_with<'a>(path: &Path, names: impl Iterator<Item = &'a str>) -> bool {
    let mut components = path.iter();
    names.into_iter().all(|name| {
        components
            .next()
            .is_some_and(|component| component.eq_ignore_ascii_case(name))
    })
}

/// An opened file with its metadata, if it is regular.
fn with_stat(path: &RelPath, file: File) -> Result<(File, FileStat), FileProblem> {
    let metadata = file
        .metadata()
        .map_err(|cause| FileProblem::from_io("read", path, cause))?;
    match kind_of(&metadata) {
        FileKind::File { .. } => Ok((file, FileStat::of(&metadata))),
        FileKind::Directory => Err(FileProblem::IsDirectory(path.clone())),
        FileKind::Link | FileKind::Special => Err(FileProblem::NotRegular(path.clone())),
    }
}

fn read_whole(
    path: &RelPath,
    (file, stat): (File, FileStat),
    max_bytes: u64,
) -> Result<(Vec<u8>, FileStat), FileProblem> {
    let too_large = |size| FileProblem::TooLarge {
        path: path.clone(),
        size,
        limit: max_bytes,
    };
    if stat.size > max_bytes {
        return Err(too_large(stat.size));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(stat.size).unwrap_or_default());
    // The file may grow while it is read. Only std's `File` reads into memory without zeroing it
    // first.
    file.into_std()
        .take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|cause| FileProblem::from_io("read", path, cause))?;
    if bytes.len() as u64 > max_bytes {
        return Err(too_large(bytes.len() as u64));
    }
    Ok((bytes, stat))
}
