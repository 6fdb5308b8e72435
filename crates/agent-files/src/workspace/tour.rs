//! Visits files in order on several threads, and can stop early.
//!
//! `walk` returns when it has seen the whole workspace; a tour hands over files as it finds them. A
//! visitor that has enough declares the remaining paths past, and they are not even listed. A tour
//! visits the files that `walk` would list, except links.

use std::cmp::Ordering;
use std::io;

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;

use super::crew::work_off;
use super::look::{DirectoryLister, PendingDirectory, WalkStart, path_order};
use super::{FileKind, FileProblem, Workspace};
use crate::platform::files::{self, EntryKind};
use agent_protocol::RelPath;

/// Files of one directory that are visited at a time; larger directories are split among threads.
const BATCH: usize = 64;

/// Some files of one directory.
pub struct Batch<'a> {
    directory: &'a Dir,
    /// Their paths, in order.
    pub files: &'a [RelPath],
}

impl Batch<'_> {
    /// Opens one of the files. A link fails; a pipe fails or reads as empty.
    pub fn open(&self, path: &RelPath) -> io::Result<std::fs::File> {
        files::open_in(self.directory, path.file_name())
    }
}

/// Receives the files of a tour.
pub trait Visitor: Sync {
    /// True if nothing at or beneath this path is needed any more.
    fn is_past(&self, path: &str) -> bool;

    /// True to skip a directory.
    fn passes_by(&self, _directory: &RelPath) -> bool {
        false
    }

    /// Handles a batch of files; called from several threads.
    fn visit(&self, batch: &Batch<'_>);
}

/// The result of a tour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Toured {
    /// True if the limit of a walk was reached, so that there are more files than were visited.
    pub is_cut: bool,
}

impl Workspace {
    /// Calls the visitor for the files beneath a directory, or of the whole workspace.
    pub fn tour(
        &self,
        beneath: Option<&RelPath>,
        visitor: &impl Visitor,
    ) -> Result<Toured, FileProblem> {
        let tour = Tour {
            workspace: self,
            looker: DirectoryLister::new(self, beneath),
            visitor,
        };
        match (self.start(beneath)?, beneath) {
            (WalkStart::Directory(place), _) => {
                work_off(vec![TourTask::Directory(place)], |task| tour.work(task));
            }
            (WalkStart::File(FileKind::File { .. }), Some(path)) => {
                let directory = path.parent().map(String::from).unwrap_or_default();
                tour.files(&directory, std::slice::from_ref(path));
            }
            (WalkStart::File(_), _) => {}
        }
        Ok(Toured {
            is_cut: tour.looker.is_cut(),
        })
    }
}

enum TourTask {
    Directory(PendingDirectory),
    Files {
        directory: String,
        files: Vec<RelPath>,
    },
}

impl TourTask {
    /// The first path of the task, and true if that is a directory.
    fn begins(&self) -> (&str, bool) {
        match self {
            Self::Directory(place) => (&place.path, true),
            Self::Files { files, .. } => (files.first().map_or("", RelPath::as_str), false),
        }
    }
}

struct Tour<'a, V> {
    workspace: &'a Workspace,
    looker: DirectoryLister<'a>,
    visitor: &'a V,
}

impl<V: Visitor> Tour<'_, V> {
    fn work(&self, task: TourTask) -> Vec<TourTask> {
        if self.visitor.is_past(task.begins().0) {
            return Vec::new();
        }
        match task {
            TourTask::Directory(place) => self.directory(&place),
            TourTask::Files { directory, files } => {
                self.files(&directory, &files);
                Vec::new()
            }
        }
    }

    fn directory(&self, place: &PendingDirectory) -> Vec<TourTask> {
        let Some(looked) = self.looker.look(place) else {
            return Vec::new();
        };
        let mut tasks = Vec::new();
        let mut files = Vec::new();
        for entry in &looked.content.entries {
            match entry.kind {
                EntryKind::Directory => {
                    if self.visitor.passes_by(&entry.path) {
                        continue;
                    }
                    tasks.push(TourTask::Directory(entry.place(looked.rules.as_ref())));
                }
                EntryKind::File => files.push(entry.path.clone()),
                EntryKind::Link | EntryKind::Special => {}
            }
        }
        if files.len() <= BATCH {
            self.visitor.visit(&Batch {
                directory: &looked.opened,
                files: &files,
            });
            return tasks;
        }
        // The directory is reopened for each batch: kept open, a deep tree would exceed the limit
        // on open files.
        tasks.extend(files.chunks(BATCH).map(|files| TourTask::Files {
            directory: place.path.clone(),
            files: files.to_vec(),
        }));
        tasks
    }

    fn files(&self, directory: &str, files: &[RelPath]) {
        let root = &self.workspace.root;
        let opened = if directory.is_empty() {
            root.try_clone()
        } else {
            root.open_dir_nofollow(directory)
        };
        if let Ok(opened) = opened {
            self.visitor.visit(&Batch {
                directory: &opened,
                files,
            });
        }
    }
}

impl Ord for TourTask {
    fn cmp(&self, other: &Self) -> Ordering {
        path_order(self.begins(), other.begins())
    }
}

impl PartialOrd for TourTask {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for TourTask {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for TourTask {}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    struct Names {
        seen: Mutex<Vec<String>>,
        end: &'static str,
    }

    impl Visitor for Names {
        fn is_past(&self, path: &str) -> bool {
            path > self.end
        }

        fn visit(&self, batch: &Batch<'_>) {
            let readable = |path: &&RelPath| batch.open(path).is_ok();
            let names = batch.files.iter().filter(readable).map(ToString::to_string);
            self.seen.lock().unwrap().extend(names);
        }
    }

    fn seen(workspace: &Workspace, beneath: Option<&str>, end: &'static str) -> Vec<String> {
        let names = Names {
            seen: Mutex::new(Vec::new()),
            end,
        };
        let beneath = beneath.map(|path| RelPath::parse(path).unwrap());
        workspace.tour(beneath.as_ref(), &names).unwrap();
        let mut seen = names.seen.into_inner().unwrap();
        seen.sort();
        seen
    }

    #[test]
    fn visits_what_a_walk_names() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        let write = |path: &str, content: &str| {
            let path = RelPath::parse(path).unwrap();
            workspace.write(&path, content.as_bytes()).unwrap();
        };
        write(".gitignore", "*.log\n");
        for number in 0..200 {
            write(&format!("many/{number:03}.txt"), "");
            write(&format!("deep/{}/{number:03}.txt", number % 7), "");
            write(&format!("deep/{}/x.log", number % 7), "");
        }
        for beneath in [None, Some("many"), Some("deep/3"), Some("many/007.txt")] {
            let path = beneath.map(|path| RelPath::parse(path).unwrap());
            let walked = workspace.walk(path.as_ref()).unwrap().files;
            let named: Vec<String> = walked.iter().map(|found| found.path.to_string()).collect();
            assert_eq!(seen(&workspace, beneath, "~"), named, "{beneath:?}");
        }
        let first = seen(&workspace, None, "deep/2");
        assert!(
            first.iter().all(|path| !path.starts_with("many/")),
            "{first:?}"
        );
        assert!(first.contains(&"deep/1/001.txt".to_owned()));
    }
}
