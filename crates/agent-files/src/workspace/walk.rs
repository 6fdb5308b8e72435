//! Lists the files of the workspace, as git and ripgrep would.
//!
//! Applies `.gitignore`, `.ignore` and `.git/info/exclude` of the workspace, but no rules from
//! above it and none from the person's git configuration, so that the same workspace always gives
//! the same list. Includes hidden files, but never `.git` and `.agent`. Lists links without
//! following them. Directories and ignore files are opened beneath the root, like all files.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::crew::work_off;
use super::look::{DirectoryLister, ListedEntry, PendingDirectory, WalkStart, path_order};
use super::{FileKind, FileProblem, Workspace};
use crate::platform::files::{EntryKind, size_and_time};
use agent_protocol::generated::GeneratedDirectories;
use agent_protocol::{Listed, RelPath};

/// Limit on the credential files that a walk lists.
pub(super) const MAX_CREDENTIALS: usize = 1_000;

/// The result of a walk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Walked {
    /// The files, sorted by path. The listing of a message shares them, because they are many.
    pub files: Arc<Vec<Listed>>,
    /// Number of names that a model cannot write: not UTF-8, with control characters, and so on.
    pub unnamable: u64,
    /// True if the limit was reached, so that there are more files than listed.
    pub cut: bool,
    /// Credential files, including ignored ones, up to a limit; those nearest to the root come
    /// first.
    pub credentials: Vec<Listed>,
    /// Directories of build output that the files tell about.
    pub generated: GeneratedDirectories,
}

impl Workspace {
    /// Lists the files beneath a directory, or of the whole workspace. For a file, lists just that
    /// file.
    ///
    /// Ignored files are left out, unless the directory itself is ignored: a caller who names it
    /// wants to see it.
    pub fn walk(&self, beneath: Option<&RelPath>) -> Result<Walked, FileProblem> {
        self.walk_past(beneath, |_| false)
    }

    /// Lists files like `walk`, but skips the directories for which `passes_by` is true.
    pub fn walk_past(
        &self,
        beneath: Option<&RelPath>,
        passes_by: impl Fn(&RelPath) -> bool + Sync,
    ) -> Result<Walked, FileProblem> {
        let place = match (self.start(beneath)?, beneath) {
            (WalkStart::Directory(place), _) => place,
            (WalkStart::File(kind), Some(path)) => return Ok(only(path, kind)),
            (WalkStart::File(_), None) => return Ok(Walked::default()),
        };
        if beneath.is_none() {
            self.count_walk();
        }
        let walk = ParallelWalk {
            looker: DirectoryLister::new(self, beneath),
            numbers: AtomicUsize::new(1),
            visited: Mutex::new(Vec::new()),
            credentials: Mutex::default(),
            generated: Mutex::default(),
            ignored: Mutex::new(Vec::new()),
        };
        work_off(vec![WalkTask { place, number: 0 }], |task| {
            walk.visit(&task, &passes_by)
        });
        Ok(walk.end(self))
    }
}

fn only(path: &RelPath, kind: FileKind) -> Walked {
    let (size, is_link) = match kind {
        FileKind::File { size } => (size, false),
        FileKind::Link => (0, true),
        FileKind::Directory | FileKind::Special => return Walked::default(),
    };
    Walked {
        files: Arc::new(vec![Listed {
            is_link,
            ..Listed::of_size(path.clone(), size)
        }]),
        ..Walked::default()
    }
}

/// A directory to list.
struct WalkTask {
    place: PendingDirectory,
    /// Index of its result.
    number: usize,
}

/// The files of one directory, and where its subdirectories belong among them.
#[derive(Default)]
struct WalkedFiles {
    /// Sorted by path.
    files: Vec<Listed>,
    /// For each subdirectory, the number of files before it.
    beneath: Vec<usize>,
    /// The index of the result of the first subdirectory; the others follow it.
    first: usize,
}

struct ParallelWalk<'a> {
    looker: DirectoryLister<'a>,
    numbers: AtomicUsize,
    /// The results of the directories, unsorted.
    visited: Mutex<Vec<(usize, WalkedFiles)>>,
    credentials: Mutex<Vec<Listed>>,
    generated: Mutex<GeneratedDirectories>,
    /// Ignored directories, to search for credential files.
    ignored: Mutex<Vec<RelPath>>,
}

impl ParallelWalk<'_> {
    fn visit(&self, task: &WalkTask, passes_by: &impl Fn(&RelPath) -> bool) -> Vec<WalkTask> {
        let Some(looked) = self.looker.look(&task.place) else {
            return Vec::new();
        };
        let listed = &looked.content;
        let mut tasks = Vec::new();
        let mut beneath = Vec::new();
        let mut files = Vec::with_capacity(listed.entries.len());
        for entry in &listed.entries {
            if !entry.is_directory() {
                files.extend(found(entry, &looked.opened));
            } else if !passes_by(&entry.path) {
                beneath.push(files.len());
                tasks.push(entry.place(looked.rules.as_ref()));
            }
        }
        let first = self.numbers.fetch_add(tasks.len(), Ordering::Relaxed);
        let tasks = (first..).zip(tasks);
        let tasks = tasks.map(|(number, place)| WalkTask { place, number });
        let credentials = listed.credentials.iter();
        let credentials: Vec<Listed> = credentials
            .filter_map(|entry| found(entry, &looked.opened))
            .collect();
        add_some(&self.credentials, credentials);
        if !listed.generated.is_empty() {
            locked(&self.generated).add(&listed.generated);
        }
        add_some(&self.ignored, listed.ignored.iter().cloned());
        let files = WalkedFiles {
            files,
            beneath,
            first,
        };
        locked(&self.visited).push((task.number, files));
        tasks.collect()
    }

    /// Joins the results. Each directory is sorted already, so the whole needs no sorting.
    fn end(self, workspace: &Workspace) -> Walked {
        let visited = self.visited.into_inner();
        let visited = visited.unwrap_or_else(PoisonError::into_inner);
        let mut directories: Vec<WalkedFiles> = Vec::new();
        directories.resize_with(self.numbers.into_inner(), WalkedFiles::default);
        let count = visited.iter().map(|(_, visited)| visited.files.len());
        let mut files = Vec::with_capacity(count.sum());
        for (number, visited) in visited {
            directories[number] = visited;
        }
        add_files(&mut directories, 0, &mut files);
        let credentials = self.credentials.into_inner();
        let ignored = self.ignored.into_inner();
        let ignored = ignored.unwrap_or_else(PoisonError::into_inner);
        let credentials = credentials.unwrap_or_else(PoisonError::into_inner);
        let ignored = workspace.credentials_beneath(ignored);
        Walked {
            files: Arc::new(files),
            credentials: settled_credentials(credentials, ignored),
            generated: (self.generated.into_inner()).unwrap_or_else(PoisonError::into_inner),
            unnamable: self.looker.unnamable() as u64,
            cut: self.looker.is_cut(),
        }
    }
}

/// Adds the files of a directory and of those beneath it. The length of paths limits the depth.
fn add_files(directories: &mut [WalkedFiles], number: usize, all: &mut Vec<Listed>) {
    let walked = std::mem::take(&mut directories[number]);
    let (mut files, mut taken) = (walked.files.into_iter(), 0);
    for (number, before) in (walked.first..).zip(walked.beneath) {
        all.extend(files.by_ref().take(before - taken));
        taken = before;
        add_files(directories, number, all);
    }
    all.extend(files);
}

/// Adds the credential files of ignored directories to those of all others, and puts those nearest to
/// the root first.
pub(super) fn settled_credentials(
    mut credentials: Vec<Listed>,
    ignored: Vec<Listed>,
) -> Vec<Listed> {
    credentials.truncate(MAX_CREDENTIALS);
    credentials.extend(ignored);
    credentials.sort_unstable_by(|a, b| {
        let depth = |found: &Listed| found.path.components().count();
        depth(a).cmp(&depth(b)).then_with(|| a.path.cmp(&b.path))
    });
    credentials
}

/// Adds to what was found, up to a limit.
fn add_some<T>(all: &Mutex<Vec<T>>, new: impl IntoIterator<Item = T>) {
    let mut new = new.into_iter().peekable();
    if new.peek().is_some() {
        let mut all = locked(all);
        let room = MAX_CREDENTIALS.saturating_sub(all.len());
        all.extend(new.take(room));
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A listed file with its metadata; `None` if it is gone.
pub(super) fn found(entry: &ListedEntry, directory: &cap_std::fs::Dir) -> Option<Listed> {
    let is_link = entry.kind == EntryKind::Link;
    let (size, modified) = if is_link {
        (0, 0)
    } else {
        size_and_time(directory, entry.path.file_name()).ok()?
    };
    Some(Listed {
        path: entry.path.clone(),
        size,
        is_link,
        modified,
    })
}

impl Ord for WalkTask {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        path_order((&self.place.path, true), (&other.place.path, true))
    }
}

impl PartialOrd for WalkTask {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for WalkTask {
    fn eq(&self, other: &Self) -> bool {
        self.place.path == other.place.path
    }
}

impl Eq for WalkTask {}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    struct Tree {
        directory: tempfile::TempDir,
        workspace: Workspace,
    }

    fn tree(files: &[(&str, &str)]) -> Tree {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        for (path, content) in files {
            let path = RelPath::parse(path).unwrap();
            workspace.write(&path, content.as_bytes()).unwrap();
        }
        Tree {
            directory,
            workspace,
        }
    }

    impl Tree {
        fn names(&self, beneath: Option<&str>) -> Vec<String> {
            let beneath = beneath.map(|path| RelPath::parse(path).unwrap());
            let walked = self.workspace.walk(beneath.as_ref()).unwrap();
            let paths = walked.files.iter().map(|found| found.path.to_string());
            paths.collect()
        }
    }

    #[test]
    fn names_hidden_files_but_not_the_repository_nor_our_own() {
        let tree = tree(&[
            (".env", ""),
            (".git/config", ""),
            ("sub/.git/config", ""),
            (".agent/x", ""),
            ("b.rs", ""),
            ("a/c.rs", "four"),
        ]);
        assert_eq!(tree.names(None), [".env", "a/c.rs", "b.rs"]);
        assert_eq!(tree.workspace.walk(None).unwrap().files[1].size, 4);
    }

    #[test]
    fn obeys_ignore_files_of_every_directory() {
        let tree = tree(&[
            (".gitignore", "*.log\n/target\nkeep.ignored\n"),
            (".ignore", "!keep.ignored\n"),
            (".git/info/exclude", "private.txt\n"),
            ("a.log", ""),
            ("keep.ignored", ""),
            ("private.txt", ""),
            ("target/x", ""),
            ("sub/target/y", ""),
            ("sub/.gitignore", "!b.log\nonly-here\n"),
            ("sub/b.log", ""),
            ("sub/c.log", ""),
            ("sub/only-here", ""),
            ("only-here", ""),
        ]);
        assert_eq!(
            tree.names(None),
            [
                ".gitignore",
                ".ignore",
                "keep.ignored",
                "only-here",
                "sub/.gitignore",
                "sub/b.log",
                "sub/target/y"
            ]
        );
        assert_eq!(
            tree.names(Some("sub")),
            ["sub/.gitignore", "sub/b.log", "sub/target/y"]
        );
    }

    #[test]
    fn files_with_secrets_are_known_also_where_they_are_ignored() {
        let tree = tree(&[
            (".gitignore", ".env*\n/build\nsecrets/\n"),
            (".env", "A=b"),
            (".env.example", ""),
            ("a/tls/server.pem", ""),
            ("a/.env.local", ""),
            ("b.rs", ""),
            ("build/x.pem", ""),
            ("secrets/.env", ""),
            ("secrets/a/b.env", ""),
            ("secrets/a/b/c.env", ""),
            ("secrets/readme.txt", ""),
        ]);
        let walked = tree.workspace.walk(None).unwrap();
        let paths: Vec<&str> = (walked.credentials.iter())
            .map(|found| found.path.as_str())
            .collect();
        let expected = [
            ".env",
            "a/.env.local",
            "secrets/.env",
            "a/tls/server.pem",
            "secrets/a/b.env",
        ];
        assert_eq!(paths, expected);
        assert_eq!(walked.credentials[0].size, 3);
        assert_eq!(tree.names(None), [".gitignore", "a/tls/server.pem", "b.rs"]);
    }

    #[test]
    fn an_ignored_directory_that_is_named_is_shown() {
        let tree = tree(&[
            (".gitignore", "target\n*.o\n"),
            ("target/debug/a.o", ""),
            ("src/b.o", ""),
        ]);
        assert_eq!(tree.names(Some("target")), ["target/debug/a.o"]);
        assert_eq!(tree.names(Some("target/debug")), ["target/debug/a.o"]);
        assert!(tree.names(Some("src")).is_empty());
        assert_eq!(tree.names(Some("src/b.o")), ["src/b.o"]);
    }

    #[test]
    fn nothing_above_the_workspace_is_obeyed() {
        let outer = tempfile::tempdir().unwrap();
        fs::create_dir_all(outer.path().join("workspace")).unwrap();
        fs::create_dir(outer.path().join(".git")).unwrap();
        fs::File::create(outer.path().join("workspace/a.txt")).unwrap();
        let outside = Workspace::open(outer.path()).unwrap();
        let path = RelPath::parse(".gitignore").unwrap();
        outside.write(&path, b"*\n").unwrap();
        let workspace = Workspace::open(&outer.path().join("workspace")).unwrap();
        assert_eq!(workspace.walk(None).unwrap().files.len(), 1);
    }

    #[test]
    fn links_are_named_and_not_followed() {
        let outside = tempfile::tempdir().unwrap();
        fs::File::create(outside.path().join("secret")).unwrap();
        let tree = tree(&[("a.txt", "")]);
        let root = tree.directory.path();
        symlink(outside.path(), root.join("out")).unwrap();
        symlink(".", root.join("loop")).unwrap();
        let walked = tree.workspace.walk(None).unwrap();
        assert_eq!(tree.names(None), ["a.txt", "loop", "out"]);
        assert!(walked.files[1].is_link && walked.files[2].is_link);
        assert_eq!(tree.names(Some("out")), ["out"]);
    }

    #[test]
    fn ignore_files_that_never_end_do_no_harm() {
        let tree = tree(&[("a/x", ""), ("b/x", "")]);
        let root = tree.directory.path();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("a/.gitignore"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        symlink("/dev/zero", root.join("b/.gitignore")).unwrap();
        assert_eq!(tree.names(None), ["a/x", "b/.gitignore", "b/x"]);
    }

    #[test]
    fn names_that_a_model_cannot_write_are_counted() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let tree = tree(&[("a", "")]);
        for name in [&b"caf\xe9"[..], b"line\nbreak", b"back\\slash", b" space"] {
            fs::File::create(tree.directory.path().join(OsStr::from_bytes(name))).unwrap();
        }
        let walked = tree.workspace.walk(None).unwrap();
        assert_eq!(walked.files.len(), 1);
        assert_eq!(walked.unnamable, 4);
    }

    #[test]
    fn threads_find_what_one_finds() {
        let names: Vec<String> = (0..64).map(|n| format!("d{n:02}/e/f.txt")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
        assert_eq!(tree(&files).names(None), names);
    }

    #[test]
    fn a_directory_that_is_not_there_is_a_problem() {
        let tree = tree(&[]);
        let path = RelPath::parse("gone").unwrap();
        let problem = tree.workspace.walk(Some(&path)).unwrap_err();
        assert!(matches!(problem, FileProblem::NotFound(_)));
    }
}
