//! Which files the workspace has, as git and ripgrep would see it.
//!
//! `.gitignore`, `.ignore` and `.git/info/exclude` of the workspace are obeyed, nothing above it and
//! nothing of the person's own settings, so that the same workspace always gives the same answer.
//! Hidden files are included, `.git` and `.agent` never. Links are named and not followed. Every
//! directory and every ignore file is opened beneath the root, like all files of the workspace.

use std::ffi::{OsStr, OsString};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;
use std::{io, thread};

use cap_fs_ext::DirExt;
use cap_std::fs::{DirEntry, Metadata};

use super::ignored::{IgnoreFiles, Is, Rules, is_ignored, join, read_beneath};
use super::{FileProblem, Kind, Workspace, kind_of};
use crate::protocol::RelPath;

/// The most files and directories that one walk names.
const MAX_ENTRIES: usize = 200_000;
/// How many directories of one depth make it worth starting threads.
const WORTH_THREADS: usize = 16;
/// More threads than these only wait for the disk.
const MAX_THREADS: usize = 8;

/// What a walk found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Walked {
    /// The files, sorted by path.
    pub files: Vec<Found>,
    /// How many names could not be told to a model: not UTF-8, with control characters, and such.
    pub unnamable: u64,
    /// Whether it stopped at the limit, so that there are more files than these.
    pub cut: bool,
}

/// A file that a walk found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub path: RelPath,
    /// In bytes; 0 for a link.
    pub size: u64,
    /// Whether it is a symbolic link, which was not followed.
    pub is_link: bool,
    /// When it was changed, in nanoseconds since 1970; 0 where that is not known.
    pub modified: i64,
}

impl Workspace {
    /// Lists the files beneath a directory, or the whole workspace; a file gives itself.
    ///
    /// Ignored files are left out, unless the directory itself is ignored: whoever names it wants
    /// to see it.
    pub fn walk(&self, beneath: Option<&RelPath>) -> Result<Walked, FileProblem> {
        let start = match beneath {
            None => Directory {
                path: String::new(),
                rules: None,
            },
            Some(path) => match self.kind(path)? {
                None => return Err(FileProblem::NotFound(path.clone())),
                Some(Kind::Directory) => Directory {
                    path: path.as_str().to_owned(),
                    rules: self.rules_above(path),
                },
                Some(kind) => return Ok(only(path, kind)),
            },
        };
        let walk = Walk {
            workspace: self,
            entries: AtomicUsize::new(0),
            cut: AtomicBool::new(false),
        };
        Ok(walk.run(start))
    }

    /// The rules that hold in a directory from those above it; none if they ignore it.
    fn rules_above(&self, path: &RelPath) -> Option<Arc<Rules>> {
        let mut rules = None;
        let mut directory = String::new();
        for name in path.components() {
            let read = |name: &str| read_beneath(self, &directory, name);
            rules = Rules::read(read, Path::new(&directory), IgnoreFiles::POSSIBLE, rules);
            directory = join(&directory, name);
            if is_ignored(rules.as_deref(), Path::new(&directory), Is::Directory) {
                return None;
            }
        }
        rules
    }
}

fn only(path: &RelPath, kind: Kind) -> Walked {
    let (size, is_link) = match kind {
        Kind::File { size } => (size, false),
        Kind::Link => (0, true),
        Kind::Directory | Kind::Special => return Walked::default(),
    };
    Walked {
        files: vec![Found {
            path: path.clone(),
            size,
            is_link,
            modified: 0,
        }],
        ..Walked::default()
    }
}

/// A directory to look into, and the rules from above it.
struct Directory {
    /// Relative to the root, which is empty.
    path: String,
    rules: Option<Arc<Rules>>,
}

/// What one directory holds.
#[derive(Default)]
struct Looked {
    files: Vec<Found>,
    directories: Vec<Directory>,
    unnamable: u64,
}

impl Looked {
    fn sort_in(
        &mut self,
        name: &OsStr,
        entry: &DirEntry,
        directory: &Directory,
        rules: Option<&Arc<Rules>>,
    ) {
        let Some(path) = name.to_str().and_then(|name| nameable(directory, name)) else {
            self.unnamable += 1;
            return;
        };
        let Ok(file_type) = entry.file_type() else {
            return;
        };
        let is = if file_type.is_dir() {
            Is::Directory
        } else {
            Is::File
        };
        let rules_here = rules.map(AsRef::as_ref);
        if is_hidden(path.file_name()) || is_ignored(rules_here, Path::new(path.as_str()), is) {
            return;
        }
        if file_type.is_dir() {
            self.directories.push(Directory {
                path: path.into(),
                rules: rules.cloned(),
            });
        } else if file_type.is_symlink() {
            self.files.extend(only(&path, Kind::Link).files);
        } else if let Ok(metadata) = entry.metadata() {
            let files = only(&path, kind_of(&metadata)).files.into_iter();
            let modified = modified(&metadata);
            self.files
                .extend(files.map(|file| Found { modified, ..file }));
        }
    }
}

struct Walk<'a> {
    workspace: &'a Workspace,
    entries: AtomicUsize,
    cut: AtomicBool,
}

impl Walk<'_> {
    /// Goes down one depth after the other, so that threads have something to share.
    fn run(self, start: Directory) -> Walked {
        let mut walked = Walked::default();
        let mut level = vec![start];
        while !level.is_empty() {
            let looked = in_parallel(&level, |one| self.look_into(one));
            level.clear();
            for one in looked {
                walked.files.extend(one.files);
                walked.unnamable += one.unnamable;
                level.extend(one.directories);
            }
        }
        walked.cut = self.cut.into_inner();
        walked.files.sort_by(|a, b| a.path.cmp(&b.path));
        walked
    }

    /// Looks into one directory; one that cannot be read, or vanished, holds nothing.
    fn look_into(&self, directory: &Directory) -> Looked {
        let mut looked = Looked::default();
        let Ok(entries) = self.entries_of(directory) else {
            return looked;
        };
        let has = |wanted: &str| entries.iter().any(|(name, _)| name == wanted);
        let rules = Rules::read(
            |name| read_beneath(self.workspace, &directory.path, name),
            Path::new(&directory.path),
            IgnoreFiles::among(has, directory.path.is_empty()),
            directory.rules.clone(),
        );
        for (name, entry) in &entries {
            looked.sort_in(name, entry, directory, rules.as_ref());
        }
        looked
    }

    fn entries_of(&self, directory: &Directory) -> io::Result<Vec<(OsString, DirEntry)>> {
        let root = &self.workspace.root;
        let opened = if directory.path.is_empty() {
            root.entries()?
        } else {
            root.open_dir_nofollow(&directory.path)?.entries()?
        };
        let mut entries = Vec::new();
        for entry in opened {
            if self.entries.fetch_add(1, Ordering::Relaxed) >= MAX_ENTRIES {
                self.cut.store(true, Ordering::Relaxed);
                break;
            }
            let entry = entry?;
            entries.push((entry.file_name(), entry));
        }
        Ok(entries)
    }
}

/// Does the same to every item, on several threads if there are many; the answers in their order.
pub(super) fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    if items.len() < WORTH_THREADS {
        return items.iter().map(work).collect();
    }
    let threads = thread::available_parallelism()
        .map_or(1, NonZeroUsize::get)
        .min(MAX_THREADS);
    let next = AtomicUsize::new(0);
    let share = || -> Vec<(usize, R)> {
        let take = || {
            let index = next.fetch_add(1, Ordering::Relaxed);
            Some((index, items.get(index)?))
        };
        std::iter::from_fn(take)
            .map(|(index, item)| (index, work(item)))
            .collect()
    };
    let mut done = thread::scope(|scope| {
        let workers: Vec<_> = (1..threads).map(|_| scope.spawn(share)).collect();
        let mut done = share();
        for worker in workers {
            match worker.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, answer)| answer).collect()
}

fn modified(metadata: &Metadata) -> i64 {
    let time = metadata.modified().ok();
    let since = time.and_then(|time| time.into_std().duration_since(UNIX_EPOCH).ok());
    since
        .and_then(|since| i64::try_from(since.as_nanos()).ok())
        .unwrap_or(0)
}

/// The path, if a model that writes it gets exactly this file.
fn nameable(directory: &Directory, name: &str) -> Option<RelPath> {
    let text = join(&directory.path, name);
    RelPath::parse(&text)
        .ok()
        .filter(|path| path.as_str() == text)
}

/// The repository's own files and ours; on some file systems in any letter case.
pub(super) fn is_hidden(name: &str) -> bool {
    name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case(".agent")
}

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
            walked
                .files
                .into_iter()
                .map(|found| found.path.into())
                .collect()
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
