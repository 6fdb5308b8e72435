//! The files of the workspace as they will be once the prepared steps are carried out.
//!
//! A file step is worked out over this picture: what it writes goes under a temporary name beside
//! the file, and is read back from there by the steps after it. Nothing that anybody looks at is
//! changed before `carry_out`. So all steps of a batch can be written into the journal, with the
//! hashes of every file before and after, before the first of them happens.

pub(super) mod carry_out;
mod found;
mod names;

use std::collections::{BTreeMap, BTreeSet};

use super::seen::hash;
use crate::protocol::{RelPath, StagedChange};
use crate::workspace::{ExecutableBit, FileKind, FileProblem, Ownership, StagingTarget, Workspace};
use carry_out::Stats;
use found::FoundFile;
use names::Names;

/// A file as it will be.
#[derive(Debug, Clone)]
enum Picture {
    Gone,
    File {
        /// Where its content lies now.
        lies: RelPath,
        hash: String,
    },
}

/// Changes that are prepared and not yet carried out.
pub(super) struct Staging<'a> {
    workspace: &'a Workspace,
    names: Names,
    files: BTreeMap<RelPath, Picture>,
    /// Directories that will be there with the files in them.
    directories: BTreeSet<RelPath>,
    /// Contents of files that are not changed.
    read: BTreeMap<RelPath, String>,
    stats: Stats,
    changes: Vec<StagedChange>,
    /// How many bytes of new contents were put beside files.
    bytes: u64,
    /// Files of the step under way that will belong to somebody else than before.
    given: Vec<RelPath>,
    /// Entries of the picture that the current step has replaced.
    replaced: Vec<(RelPath, Option<Picture>)>,
}

impl<'a> Staging<'a> {
    pub(super) fn new(workspace: &'a Workspace) -> Self {
        Self {
            workspace,
            names: Names::new(),
            files: BTreeMap::new(),
            directories: BTreeSet::new(),
            read: BTreeMap::new(),
            stats: Stats::new(),
            changes: Vec::new(),
            bytes: 0,
            given: Vec::new(),
            replaced: Vec::new(),
        }
    }

    /// From now on temporary names have this in them.
    pub(super) fn set_mark(&mut self, mark: &str) {
        self.names.set_mark(mark);
    }

    /// The temporary names of this step have its number in them.
    pub(super) fn begin(&mut self, step: u32) {
        self.names.begin(step);
        self.given.clear();
    }

    /// Reads a whole file of at most `max_bytes` that could be written; with it its hash.
    pub(super) fn read(
        &mut self,
        path: &RelPath,
        max_bytes: u64,
    ) -> Result<(Vec<u8>, String), FileProblem> {
        match self.files.get(path) {
            Some(Picture::Gone) => Err(FileProblem::NotFound(path.clone())),
            Some(Picture::File { lies, .. }) => {
                let content = self.workspace.read(lies, max_bytes)?;
                let hash = hash(&content);
                Ok((content, hash))
            }
            None => {
                let found = FoundFile::read(self.workspace, path, max_bytes)?;
                self.read.insert(path.clone(), found.hash.clone());
                if let Some(stat) = found.stat {
                    self.stats.insert(path.clone(), stat);
                }
                Ok((found.content, found.hash))
            }
        }
    }

    /// Removes what an earlier try may have left beside a file that has its new content already: it
    /// may have stopped between that and the removal of the old one.
    pub(super) fn remove_left_over(&mut self, path: &RelPath) {
        if let Ok(mark) = self.names.give(path) {
            self.workspace.remove_left_over(path, &mark);
        }
    }

    /// The files of this step that will belong to somebody else than before, once.
    pub(super) fn take_given(&mut self) -> Vec<RelPath> {
        std::mem::take(&mut self.given)
    }

    /// How many bytes of new contents were put beside files since the last `clear`.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The metadata of the files that were read.
    pub(super) fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The files that the prepared steps make, change or take away. The directory of one that is made
    /// and taken away again stays.
    pub(super) fn paths(&self) -> impl Iterator<Item = &RelPath> {
        self.files.keys()
    }

    /// The kind of file that the name will stand for; `None` if nothing has it.
    pub(super) fn kind(&self, path: &RelPath) -> Result<Option<FileKind>, FileProblem> {
        match self.files.get(path) {
            Some(Picture::Gone) => Ok(None),
            Some(Picture::File { lies, .. }) => self.workspace.kind(lies),
            None if self.directories.contains(path) => Ok(Some(FileKind::Directory)),
            None => self.workspace.kind(path),
        }
    }

    /// Checks that the path could be written: no link on the way, and a regular file or nothing
    /// there.
    pub(super) fn check_writable(&self, path: &RelPath) -> Result<(), FileProblem> {
        for parent in std::iter::successors(path.parent(), RelPath::parent) {
            match self.files.get(&parent) {
                Some(Picture::File { .. }) => {
                    let path = path.clone();
                    return Err(FileProblem::NotInDirectory { path, parent });
                }
                // What is in the way goes away before.
                Some(Picture::Gone) => return Ok(()),
                None => {}
            }
        }
        match self.files.get(path) {
            Some(_) => Ok(()),
            None if self.directories.contains(path) => Err(FileProblem::IsDirectory(path.clone())),
            None => self.workspace.check_writable(path),
        }
    }

    /// Who may execute a regular file; never `Keep`.
    pub(super) fn permission(&self, path: &RelPath) -> Result<ExecutableBit, FileProblem> {
        match self.files.get(path) {
            Some(Picture::Gone) => Err(FileProblem::NotFound(path.clone())),
            Some(Picture::File { lies, .. }) => self.workspace.permission(lies),
            None => self.workspace.permission(path),
        }
    }

    /// Prepares a new content for a file.
    pub(super) fn write(
        &mut self,
        path: &RelPath,
        content: &NewContent<'_>,
        permission: ExecutableBit,
    ) -> Result<(), FileProblem> {
        let content = content.clone();
        self.write_all(vec![Write {
            path,
            content,
            permission,
        }])
    }

    /// Prepares new contents for files, no two of them for the same one.
    pub(super) fn write_all(&mut self, writes: Vec<Write<'_>>) -> Result<(), FileProblem> {
        // Each temporary file is entered at once, so that giving up the step removes it.
        for write in writes {
            let prepared = self.prepare(write)?;
            let (staged, ownership) = prepared.stage(self.workspace)?;
            if ownership == Ownership::Lost {
                self.given.push(prepared.write.path.clone());
            }
            self.enter_written(prepared, staged);
        }
        Ok(())
    }

    fn prepare<'b>(&mut self, write: Write<'b>) -> Result<Prepared<'b>, FileProblem> {
        let path = write.path;
        // A file that is there, and not a picture, is looked at when the content is put beside it.
        let is_looked_at = !self.files.contains_key(path) && self.read.contains_key(path);
        if !is_looked_at {
            self.check_writable(path)?;
        }
        let before = self.content(path)?;
        let mark = self.names.give(path)?;
        let like = match self.files.get(path) {
            Some(Picture::File { lies, .. }) => Some(lies.clone()),
            Some(Picture::Gone) => None,
            None => before.is_some().then(|| path.clone()),
        };
        Ok(Prepared {
            write,
            before,
            like,
            mark,
        })
    }

    fn enter_written(&mut self, prepared: Prepared<'_>, staged: RelPath) {
        let Prepared { write, before, .. } = prepared;
        self.bytes += write.content.bytes.len() as u64;
        let after = write.content.hash;
        let picture = Picture::File {
            lies: staged.clone(),
            hash: after.clone(),
        };
        self.enter(write.path, picture);
        self.changes.push(StagedChange::Write {
            path: write.path.clone(),
            staged,
            before,
            after,
        });
    }

    /// Prepares the removal of a regular file.
    pub(super) fn remove(&mut self, path: &RelPath) -> Result<(), FileProblem> {
        let before = self.regular(path)?;
        self.enter(path, Picture::Gone);
        self.changes.push(StagedChange::Remove {
            path: path.clone(),
            before,
        });
        Ok(())
    }

    /// Prepares another name for a regular file, never one that is taken.
    pub(super) fn rename(&mut self, from: &RelPath, to: &RelPath) -> Result<(), FileProblem> {
        let content = self.regular(from)?;
        if self.kind(to)?.is_some() && !self.workspace.is_same_name(from, to) {
            return Err(FileProblem::Exists(to.clone()));
        }
        self.check_writable(to)?;
        let lies = match self.files.get(from) {
            Some(Picture::File { lies, .. }) => lies.clone(),
            _ => from.clone(),
        };
        self.enter(from, Picture::Gone);
        let hash = content.clone();
        self.enter(to, Picture::File { lies, hash });
        self.changes.push(StagedChange::Rename {
            from: from.clone(),
            to: to.clone(),
            content,
        });
        Ok(())
    }

    /// The hash of a file that will be regular.
    fn regular(&mut self, path: &RelPath) -> Result<String, FileProblem> {
        match self.files.get(path) {
            Some(Picture::File { .. }) => {}
            Some(Picture::Gone) => return Err(FileProblem::NotFound(path.clone())),
            None => {
                self.workspace.permission(path)?;
            }
        }
        let content = self.content(path)?;
        content.ok_or_else(|| FileProblem::NotFound(path.clone()))
    }

    /// The hash of what a file will contain; nothing if there will be none.
    fn content(&mut self, path: &RelPath) -> Result<Option<String>, FileProblem> {
        match self.files.get(path) {
            Some(Picture::Gone) => Ok(None),
            Some(Picture::File { hash, .. }) => Ok(Some(hash.clone())),
            None => match self.read.get(path) {
                Some(known) => Ok(Some(known.clone())),
                None => self.workspace.content_of(path),
            },
        }
    }

    fn enter(&mut self, path: &RelPath, picture: Picture) {
        if matches!(picture, Picture::File { .. }) {
            let parents = std::iter::successors(path.parent(), RelPath::parent);
            self.directories.extend(parents);
        }
        let replaced = self.files.insert(path.clone(), picture);
        self.replaced.push((path.clone(), replaced));
    }

    /// Gives what was prepared since the last call: the changes of one step.
    pub(super) fn take(&mut self) -> Vec<StagedChange> {
        self.replaced.clear();
        std::mem::take(&mut self.changes)
    }

    /// Forgets what was prepared since the last `take`.
    pub(super) fn drop_step(&mut self) {
        for (path, picture) in self.replaced.drain(..).rev() {
            match picture {
                Some(picture) => self.files.insert(path, picture),
                None => self.files.remove(&path),
            };
        }
        carry_out::discard(self.workspace, &std::mem::take(&mut self.changes));
    }

    /// Forgets the picture: what was prepared is carried out or given up.
    pub(super) fn clear(&mut self) {
        self.files.clear();
        self.directories.clear();
        self.read.clear();
        self.stats.clear();
        self.bytes = 0;
        self.take();
    }
}

/// A file that gets a new content.
pub(super) struct Write<'a> {
    pub(super) path: &'a RelPath,
    pub(super) content: NewContent<'a>,
    pub(super) permission: ExecutableBit,
}

/// A write with all that is needed to put its content beside the file.
struct Prepared<'a> {
    write: Write<'a>,
    before: Option<String>,
    like: Option<RelPath>,
    mark: String,
}

impl Prepared<'_> {
    fn stage(&self, workspace: &Workspace) -> Result<(RelPath, Ownership), FileProblem> {
        let place = StagingTarget {
            path: self.write.path,
            like: self.like.as_ref(),
            mark: &self.mark,
        };
        workspace.stage(place, self.write.content.bytes, self.write.permission)
    }
}

/// A new content of a file.
#[derive(Clone)]
pub(super) struct NewContent<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) hash: String,
}

impl<'a> NewContent<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let hash = hash(bytes);
        Self { bytes, hash }
    }
}

#[cfg(test)]
mod tests;
