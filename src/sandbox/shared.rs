//! What lies in a workspace and must not be changed all the same.
//!
//! A file with a hard link elsewhere is the same file there: whoever changes it here changes what
//! lies outside. Build tools link within the workspace, so only a file counts of which fewer names
//! are found here than it has. The other kind are the hooks and the configuration of repositories
//! further down: git runs and obeys them when the person works there.
//!
//! The walk is bounded: what lies behind the first [`MAX_ENTRIES`] names is not looked at. Where
//! more is found than can be mounted one by one, the directories that hold it stand for it. It goes
//! by levels; those with many directories are shared out among threads.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, DirEntry};
use std::num::NonZeroUsize;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::{Confinement, STATE};

/// The most names that one walk looks at: some tenths of a second.
const MAX_ENTRIES: usize = 200_000;

/// The most paths that are made read-only one by one: each costs a mount.
const MAX_PATHS: usize = 1_000;

/// How many directories are worth a second thread, and the most threads that there are.
const MANY_DIRECTORIES: usize = 32;
const MAX_THREADS: usize = 4;

/// The files and directories to be made read-only, from what is there now.
pub(super) fn in_workspace(confinement: &Confinement) -> Vec<PathBuf> {
    let walk = Walk {
        confinement,
        left: AtomicUsize::new(MAX_ENTRIES),
    };
    let mut seen = Seen::default();
    let mut level = vec![confinement.workspace.clone()];
    while !level.is_empty() {
        for mut part in walk.look_into_level(&level) {
            seen.directories.append(&mut part.directories);
            seen.absorb(part);
        }
        level = std::mem::take(&mut seen.directories);
    }
    let outside = seen.linked.into_values().filter(Linked::is_also_outside);
    let mut found = seen.found;
    found.extend(outside.flat_map(|linked| linked.names));
    coarse_enough(found, &confinement.workspace, MAX_PATHS)
}

/// Whether the path lies directly in a git directory.
pub(super) fn is_part_of_git(path: &Path) -> bool {
    path.parent().is_some_and(is_git)
}

fn is_git(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.eq_ignore_ascii_case(".git"))
}

/// A file with more names than one.
#[derive(Default)]
struct Linked {
    count: u64,
    names: Vec<PathBuf>,
}

impl Linked {
    fn is_also_outside(&self) -> bool {
        (self.names.len() as u64) < self.count
    }
}

/// What a part of a walk has seen.
#[derive(Default)]
struct Seen {
    /// To be looked into next.
    directories: Vec<PathBuf>,
    linked: HashMap<(u64, u64), Linked>,
    found: BTreeSet<PathBuf>,
}

impl Seen {
    fn absorb(&mut self, mut other: Self) {
        self.found.append(&mut other.found);
        for (file, part) in other.linked {
            let whole = self.linked.entry(file).or_default();
            whole.count = part.count;
            whole.names.extend(part.names);
        }
    }

    fn look_at(&mut self, entry: &DirEntry) {
        let Ok(file) = entry.metadata() else { return };
        // That of a submodule says where its configuration is.
        if entry.file_name().eq_ignore_ascii_case(".git") {
            self.found.insert(entry.path());
        } else if file.nlink() > 1 {
            let linked = self.linked.entry((file.dev(), file.ino())).or_default();
            linked.count = file.nlink();
            linked.names.push(entry.path());
        }
    }
}

struct Walk<'a> {
    confinement: &'a Confinement,
    /// How many names may still be looked at.
    left: AtomicUsize,
}

impl Walk<'_> {
    /// Looks into all of these, with more than one thread if they are many.
    fn look_into_level(&self, level: &[PathBuf]) -> Vec<Seen> {
        if level.len() < MANY_DIRECTORIES {
            return vec![self.look_into_all(level)];
        }
        let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let share = level.len().div_ceil(threads.min(MAX_THREADS));
        thread::scope(|scope| {
            let (own, others) = level.split_at(share);
            let others: Vec<_> = others
                .chunks(share)
                .map(|part| {
                    let work = move || self.look_into_all(part);
                    (part, thread::Builder::new().spawn_scoped(scope, work))
                })
                .collect();
            let mut seen = vec![self.look_into_all(own)];
            seen.extend(others.into_iter().map(|(part, thread)| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| {
                    // What was not seen would not be protected.
                    std::panic::resume_unwind(panic)
                }),
                // There are no more threads to be had.
                Err(_) => self.look_into_all(part),
            }));
            seen
        })
    }

    fn look_into_all(&self, directories: &[PathBuf]) -> Seen {
        let mut seen = Seen::default();
        for directory in directories {
            self.look_into(directory, &mut seen);
        }
        seen
    }

    /// Looks at what a directory holds; one that cannot be read cannot be changed either.
    fn look_into(&self, directory: &Path, seen: &mut Seen) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let one_less = |left: usize| left.checked_sub(1);
            let order = Ordering::Relaxed;
            if self.left.fetch_update(order, order, one_less).is_err() {
                return;
            }
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() {
                let path = entry.path();
                if self.is_open(&path, seen) {
                    seen.directories.push(path);
                }
            } else if kind.is_file() {
                seen.look_at(&entry);
            }
        }
    }

    /// Whether what lies in the directory can be seen and changed; notes what is kept in it.
    fn is_open(&self, path: &Path, seen: &mut Seen) -> bool {
        let workspace = &self.confinement.workspace;
        if *path == workspace.join(STATE) || self.confinement.hidden.iter().any(|own| own == path) {
            return false;
        }
        if !is_git(path) {
            return true;
        }
        if path.parent() == Some(workspace) {
            return self.confinement.git_write;
        }
        if path.join("HEAD").symlink_metadata().is_ok() {
            seen.found
                .extend(["hooks", "config"].map(|name| path.join(name)));
        }
        true
    }
}

/// Puts directories in the place of what they hold, the deepest first, until there are few enough.
fn coarse_enough(found: BTreeSet<PathBuf>, workspace: &Path, most: usize) -> Vec<PathBuf> {
    let depth = |path: &PathBuf| path.components().count();
    let top = workspace.components().count() + 1;
    let mut paths = found;
    while paths.len() > most {
        let deepest = paths.iter().map(depth).max().unwrap_or_default();
        if deepest <= top {
            break;
        }
        paths = paths
            .into_iter()
            .map(|path| match path.parent() {
                Some(parent) if depth(&path) == deepest => parent.to_owned(),
                _ => path,
            })
            .collect();
    }
    paths.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        directory: tempfile::TempDir,
        confinement: Confinement,
    }

    impl Place {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let workspace = directory.path().join("work");
            fs::create_dir(&workspace).unwrap();
            let confinement = Confinement::of_workspace(workspace);
            Self {
                directory,
                confinement,
            }
        }

        fn file(&self, path: &str) -> PathBuf {
            let path = self.directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::File::create(&path).unwrap();
            path
        }

        fn link(&self, from: &str, to: &str) {
            let to = self.directory.path().join(to);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::hard_link(self.directory.path().join(from), to).unwrap();
        }

        #[track_caller]
        fn case(&self, expected: &[&str]) {
            let expected: Vec<_> = expected
                .iter()
                .map(|path| self.confinement.workspace.join(path))
                .collect();
            assert_eq!(in_workspace(&self.confinement), expected);
        }
    }

    #[test]
    fn only_links_that_lead_out_count() {
        let place = Place::new();
        place.file("outside");
        place.file("work/target/deps/program");
        place.link("work/target/deps/program", "work/target/program");
        place.link("outside", "work/deep/er/file");
        place.link("outside", "work/other");
        place.file("work/alone");
        place.case(&["deep/er/file", "other"]);
    }

    #[test]
    fn many_directories_are_looked_into_as_one_is() {
        let place = Place::new();
        place.file("outside");
        place.file("work/d0/inside");
        for number in 1..=2 * MANY_DIRECTORIES {
            place.link("work/d0/inside", &format!("work/d{number}/inside"));
        }
        place.link("outside", "work/d1/file");
        place.link("outside", "work/d60/file");
        place.case(&["d1/file", "d60/file"]);
    }

    #[test]
    fn repositories_further_down_keep_hooks_and_configuration() {
        let place = Place::new();
        place.file("work/.git/HEAD");
        place.file("work/sub/.git/HEAD");
        place.file("work/module/.git");
        place.file("work/plain/.git/other");
        place.case(&["module/.git", "sub/.git/config", "sub/.git/hooks"]);
    }

    #[test]
    fn what_is_hidden_or_closed_anyway_is_not_looked_at() {
        let mut place = Place::new();
        place.file("outside");
        for path in ["work/.agent/a", "work/inbox/b", "work/.git/objects/c"] {
            place.link("outside", path);
        }
        place.confinement.hidden = vec![place.confinement.workspace.join("inbox")];
        place.case(&[]);
        place.confinement.git_write = true;
        place.case(&[".git/objects/c"]);
    }

    #[test]
    fn directories_stand_for_too_many_files() {
        let paths = ["/w/a/b/1", "/w/a/b/2", "/w/a/3", "/w/c/4", "/w/5"];
        let found: BTreeSet<PathBuf> = paths.iter().map(PathBuf::from).collect();
        let case = |most: usize, expected: &[&str]| {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(
                coarse_enough(found.clone(), Path::new("/w"), most),
                expected
            );
        };
        case(9, &["/w/5", "/w/a/3", "/w/a/b/1", "/w/a/b/2", "/w/c/4"]);
        case(4, &["/w/5", "/w/a/3", "/w/a/b", "/w/c/4"]);
        case(3, &["/w/5", "/w/a", "/w/c"]);
        case(1, &["/w/5", "/w/a", "/w/c"]);
    }
}
