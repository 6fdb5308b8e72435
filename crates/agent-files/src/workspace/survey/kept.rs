//! A finished survey of everything: names and metadata of every directory, none of which is open.
//!
//! The snapshot reads from it what changed. A fingerprint tells two surveys apart, so that nothing more
//! is done if nothing changed since the last one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use blake3::{Hash, Hasher};

use super::{DirectoryContent, DirectoryReader, DirectoryState, FileStat, OnceCell, SurveyScope};
use super::{SurveyTask, SurveyedDirectory, Visited, Workspace};
use crate::workspace::{KnownDirectory, KnownNames};

/// A finished survey.
pub(crate) struct KeptSurvey {
    /// What was to be surveyed.
    pub(crate) scope: Arc<SurveyScope>,
    /// When it was begun.
    pub(crate) began: SystemTime,
    /// Parents before children.
    pub(crate) directories: Vec<Visited<KeptDirectory>>,
}

/// A directory that was surveyed and is closed again.
pub(crate) struct KeptDirectory {
    place: SurveyTask,
    /// What is in it.
    pub(crate) content: Arc<DirectoryContent>,
}

impl KeptSurvey {
    /// A value that another survey has only if it saw the same.
    pub(crate) fn fingerprint(&self) -> Hash {
        let mut all = vec![Hash::from_bytes([0; 32]); self.directories.len()];
        for (index, Visited { value, children }) in self.directories.iter().enumerate().rev() {
            let mut hasher = Hasher::new();
            hasher.update(value.content.fingerprint.as_bytes());
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
            directory.content.state == DirectoryState::Known
                && directory.place.stat.is_some_and(is_settled)
        })
    }
}

impl KeptDirectory {
    pub(super) fn of(directory: SurveyedDirectory<'_>) -> Self {
        Self {
            place: directory.reader.place,
            content: directory.content,
        }
    }

    fn known_names(&self) -> Option<(PathBuf, KnownDirectory)> {
        let known = KnownDirectory::new(&self.place.stat?, Arc::clone(&self.content));
        Some((self.place.path.clone(), known))
    }

    /// The path relative to the root, which is empty.
    pub(crate) fn path(&self) -> &Path {
        &self.place.path
    }

    /// The directory as it was surveyed; it is opened again if something is read from it.
    pub(crate) fn again(self, workspace: &Workspace) -> SurveyedDirectory<'_> {
        SurveyedDirectory {
            reader: DirectoryReader {
                workspace,
                place: self.place,
                names: None,
                reopened: OnceCell::new(),
            },
            content: self.content,
        }
    }
}
