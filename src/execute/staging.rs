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
use std::sync::atomic::{AtomicU64, Ordering};

use super::seen::hash;
use crate::protocol::{RelPath, StagedChange};
use crate::workspace::crew::each_of;
use crate::workspace::{FileProblem, Kind, Ownership, Permission, Place, Workspace};
use carry_out::Stats;
use found::Found;
use names::Names;

/// The most bytes that are read before they are asked for.
const MAX_AHEAD: u64 = 64 * 1024 * 1024;

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

/// What is prepared and not yet carried out.
pub(super) struct Staging<'a> {
    workspace: &'a Workspace,
    names: Names,
    files: BTreeMap<RelPath, Picture>,
    /// Directories that will be there with the files in them.
    directories: BTreeSet<RelPath>,
    /// What files that are not changed contain.
    read: BTreeMap<RelPath, String>,
    stats: Stats,
    /// What was read before it is asked for.
    ahead: BTreeMap<RelPath, Found>,
    changes: Vec<StagedChange>,
    /// How many bytes of new contents were put beside files.
    bytes: u64,
    /// Files of the step under way that will belong to somebody else than before.
    given: Vec<RelPath>,
    /// What the step under way has replaced in the picture.
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
            ahead: BTreeMap::new(),
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
        self.ahead.clear();
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
                let found = match self.ahead.remove(path) {
                    Some(found) => found,
                    None => Found::read(self.workspace, path, max_bytes)?,
                };
                self.read.insert(path.clone(), found.hash.clone());
                if let Some(stat) = found.stat {
                    self.stats.insert(path.clone(), stat);
                }
                Ok((found.content, found.hash))
            }
        }
    }

    /// Reads files that will be asked for, on several threads, and does this with each of them.
    ///
    /// What cannot be read or changed is left out: whoever asks for it hears why.
    pub(super) fn read_ahead<'b, R: Send>(
        &mut self,
        mut paths: Vec<&'b RelPath>,
        max_bytes: u64,
        and: impl Fn(&'b RelPath, &[u8]) -> R + Sync,
    ) -> Vec<(&'b RelPath, R)> {
        paths.retain(|path| !self.files.contains_key(path));
        let (workspace, bytes) = (self.workspace, AtomicU64::new(0));
        let read = |path: &&'b RelPath| {
            let path: &'b RelPath = path;
            if bytes.load(Ordering::Relaxed) > MAX_AHEAD {
                return None;
            }
            let found = Found::read(workspace, path, max_bytes).ok()?;
            bytes.fetch_add(found.content.len() as u64, Ordering::Relaxed);
            let done = and(path, &found.content);
            Some((found, done))
        };
        let read = each_of(&paths, read);
        let mut answers = Vec::with_capacity(paths.len());
        for (path, (found, done)) in paths
            .iter()
            .zip(read)
            .filter_map(|(path, read)| Some((*path, read?)))
        {
            self.ahead.insert(path.clone(), found);
            answers.push((path, done));
        }
        answers
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

    /// What the system knew of the files that were read.
    pub(super) fn stats(&self) -> &Stats {
        &self.stats
    }

    /// What the name will stand for; `None` if nothing has it.
    pub(super) fn kind(&self, path: &RelPath) -> Result<Option<Kind>, FileProblem> {
        match self.files.get(path) {
            Some(Picture::Gone) => Ok(None),
            Some(Picture::File { lies, .. }) => self.workspace.kind(lies),
            None if self.directories.contains(path) => Ok(Some(Kind::Directory)),
            None => self.workspace.kind(path),
        }
    }

    /// Whether the path could be written: no link on the way, and a regular file or nothing there.
    pub(super) fn check_writable(&self, path: &RelPath) -> Result<(), FileProblem> {
        if self.files.is_empty() && self.ahead.contains_key(path) {
            return Ok(());
        }
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
    pub(super) fn permission(&self, path: &RelPath) -> Result<Permission, FileProblem> {
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
        content: &Content<'_>,
        permission: Permission,
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
        let mut prepared = Vec::with_capacity(writes.len());
        for write in writes {
            prepared.push(self.prepare(write)?);
        }
        let workspace = self.workspace;
        let staged = each_of(&prepared, |prepared| prepared.stage(workspace));
        // All that lie there now are entered: whoever gives up the step removes them.
        let mut problem = None;
        for (prepared, staged) in prepared.into_iter().zip(staged) {
            match staged {
                Ok((staged, ownership)) => {
                    if ownership == Ownership::Lost {
                        self.given.push(prepared.write.path.clone());
                    }
                    self.enter_written(prepared, staged);
                }
                Err(first) => {
                    problem.get_or_insert(first);
                }
            }
        }
        problem.map_or(Ok(()), Err)
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
        self.ahead.clear();
        self.bytes = 0;
        self.take();
    }
}

/// A file that gets a new content.
pub(super) struct Write<'a> {
    pub(super) path: &'a RelPath,
    pub(super) content: Content<'a>,
    pub(super) permission: Permission,
}

/// The same, with what has to be known to put the content beside the file.
struct Prepared<'a> {
    write: Write<'a>,
    before: Option<String>,
    like: Option<RelPath>,
    mark: String,
}

impl Prepared<'_> {
    fn stage(&self, workspace: &Workspace) -> Result<(RelPath, Ownership), FileProblem> {
        let place = Place {
            path: self.write.path,
            like: self.like.as_ref(),
            mark: &self.mark,
        };
        workspace.stage(place, self.write.content.bytes, self.write.permission)
    }
}

/// A new content of a file.
#[derive(Clone)]
pub(super) struct Content<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) hash: String,
}

impl<'a> Content<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let hash = hash(bytes);
        Self { bytes, hash }
    }
}

#[cfg(test)]
mod tests;
