//! A finished survey of everything: names and metadata of every directory, none of which is open.
//!
//! The snapshot reads from it what changed. What it saw is kept to compare it with the next one, so that
//! nothing more is done if nothing changed.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

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

/// What a survey saw, in all directories.
#[derive(Debug)]
pub(crate) struct SurveyedTree {
    /// Parents before children, otherwise in the order in which threads came to them.
    directories: Vec<(Arc<DirectoryContent>, Range<usize>)>,
}

impl KeptSurvey {
    /// True if it saw the same as the survey of this tree.
    pub(crate) fn has_seen(&self, tree: &SurveyedTree) -> bool {
        let mut pairs = vec![(0, 0)];
        while let Some((here, there)) = pairs.pop() {
            match (self.directories.get(here), tree.directories.get(there)) {
                (Some(Visited { value, children }), Some((content, beneath)))
                    if value.content.is_like(content) && children.len() == beneath.len() =>
                {
                    pairs.extend(children.clone().zip(beneath.clone()));
                }
                _ => return false,
            }
        }
        true
    }

    /// What it saw.
    pub(crate) fn tree(&self) -> SurveyedTree {
        let directories = self.directories.iter();
        let content = |visited: &Visited<KeptDirectory>| {
            (Arc::clone(&visited.value.content), visited.children.clone())
        };
        SurveyedTree {
            directories: directories.map(content).collect(),
        }
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
