//! A finished survey of everything: names and metadata of every directory, none of which is open.
//!
//! The snapshot reads from it what changed. A fingerprint tells two surveys apart, so that nothing more
//! is done if nothing changed since the last one.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use blake3::{Hash, Hasher};

use super::{DirectoryState, FileKind, FileStat, OnceCell, Rules, SurveyScope, SurveyTask};
use super::{Surveyed, SurveyedDirectory, Visited, Workspace};
use crate::workspace::joint_walk::NamedEntry;
use crate::workspace::{KnownDirectory, KnownNames};

/// A finished survey.
pub(crate) struct KeptSurvey {
    pub(super) scope: SurveyScope,
    /// When it was begun.
    pub(crate) began: SystemTime,
    /// Parents before children.
    pub(crate) directories: Vec<Visited<KeptDirectory>>,
}

/// A directory that was surveyed and is closed again.
pub(crate) struct KeptDirectory {
    place: SurveyTask,
    all_names: Option<Arc<[NamedEntry]>>,
    rules: Option<Arc<Rules>>,
    entries: Vec<Surveyed>,
    /// The files that may have more than one name.
    linked: Vec<Arc<OsStr>>,
    has_git: bool,
    state: DirectoryState,
    /// A value that another survey of it has only if it saw the same.
    pub(crate) fingerprint: Hash,
}

impl KeptSurvey {
    /// A value that another survey has only if it saw the same.
    pub(crate) fn fingerprint(&self) -> Hash {
        let mut all = vec![Hash::from_bytes([0; 32]); self.directories.len()];
        for (index, Visited { value, children }) in self.directories.iter().enumerate().rev() {
            let mut hasher = Hasher::new();
            hasher.update(value.fingerprint.as_bytes());
            for beneath in &all[children.clone()] {
                hasher.update(beneath.as_bytes());
            }
            all[index] = hasher.finalize();
        }
        all.first().copied().unwrap_or(Hash::from_bytes([0; 32]))
    }

    /// The names in all directories that will have another change time when they change again.
    pub(crate) fn known_names(&self, settled_before: i64) -> KnownNames {
        let known = self.settled(settled_before);
        KnownNames::new(known.filter_map(KeptDirectory::known_names))
    }

    /// The number of directories that will have another change time when they change again.
    pub(crate) fn count_settled(&self, settled_before: i64) -> usize {
        self.settled(settled_before).count()
    }

    fn settled(&self, before: i64) -> impl Iterator<Item = &KeptDirectory> {
        let directories = self.directories.iter().map(|visited| &visited.value);
        directories.filter(move |directory| {
            // Some file systems keep no change time.
            let is_settled = |stat: FileStat| stat.changed > 0 && stat.changed < before;
            directory.state == DirectoryState::Known && directory.place.stat.is_some_and(is_settled)
        })
    }
}

impl KeptDirectory {
    pub(super) fn of(directory: SurveyedDirectory<'_>) -> Self {
        let files = directory.entries.iter();
        let files = files.filter(|entry| entry.stat.kind != FileKind::Directory);
        let linked = files.filter(|entry| entry.stat.links > 1);
        let linked = linked.map(|entry| &entry.name).chain(&directory.unknown);
        Self {
            linked: linked.cloned().collect(),
            fingerprint: directory.fingerprint(),
            place: directory.place,
            all_names: directory.all_names,
            rules: directory.rules,
            entries: directory.entries,
            has_git: directory.has_git,
            state: directory.state,
        }
    }

    fn known_names(&self) -> Option<(PathBuf, KnownDirectory)> {
        let stat = self.place.stat?;
        let names = Arc::clone(self.all_names.as_ref()?);
        let known = KnownDirectory::new(&stat, names, self.linked.clone());
        Some((self.place.path.clone(), known))
    }

    /// The path relative to the root, which is empty.
    pub(crate) fn path(&self) -> &Path {
        &self.place.path
    }

    /// The directory as it was surveyed; it is opened again if something is read from it.
    pub(crate) fn again(self, workspace: &Workspace) -> SurveyedDirectory<'_> {
        SurveyedDirectory {
            workspace,
            place: self.place,
            names: None,
            all_names: self.all_names,
            reopened: OnceCell::new(),
            rules: self.rules,
            entries: self.entries,
            unknown: Vec::new(),
            has_git: self.has_git,
            state: self.state,
        }
    }
}

impl SurveyedDirectory<'_> {
    /// A hash of everything that a snapshot takes from the survey of this directory, but for what is
    /// beneath it.
    fn fingerprint(&self) -> Hash {
        let mut bytes = Vec::with_capacity(128 + 96 * self.entries.len());
        bytes.extend([u8::from(self.has_git), self.state as u8]);
        let rules = self.rules.as_ref().map(|rules| rules.digest);
        push(
            &mut bytes,
            rules.as_ref().map_or(&[], |digest| digest.as_bytes()),
        );
        bytes.extend(self.unknown.len().to_le_bytes());
        for name in &self.unknown {
            push(&mut bytes, name.as_encoded_bytes());
        }
        for Surveyed {
            name,
            stat,
            is_entered,
        } in &self.entries
        {
            let (kind, times) = match stat.kind {
                FileKind::File { .. } => (0, [stat.modified, stat.changed]),
                FileKind::Link => (1, [stat.modified, stat.changed]),
                FileKind::Special => (2, [0; 2]),
                FileKind::Directory => (3, [0; 2]),
            };
            let size = if kind < 2 { stat.size } else { 0 };
            push(&mut bytes, name.as_encoded_bytes());
            bytes.extend([kind, u8::from(*is_entered)]);
            bytes.extend(stat.mode.to_le_bytes());
            bytes.extend(times.map(i64::to_le_bytes).as_flattened());
            bytes.extend(
                [size, stat.inode, stat.links]
                    .map(u64::to_le_bytes)
                    .as_flattened(),
            );
        }
        blake3::hash(&bytes)
    }
}

/// Adds a part and its length, so that no other parts give the same bytes.
fn push(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend(part.len().to_le_bytes());
    bytes.extend_from_slice(part);
}
