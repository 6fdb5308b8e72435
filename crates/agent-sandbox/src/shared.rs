//! Finds paths inside the workspace that must be mounted read-only.
//!
//! A file with a hard link elsewhere is the same file there: changing it here changes a file
//! outside. Build tools create links within the workspace, so a file counts only if fewer of its
//! names are found here than it has. The other paths are nested repositories, whose hooks and
//! configuration git obeys when the person works there, and the configuration of editors and
//! shells.
//!
//! Anything that was not searched is read-only. The walk is bounded in names and in time; a
//! directory that it did not or could not search is read-only as a whole. If there are too many
//! paths to mount one by one, their directories are mounted instead.

mod bases;
mod walk;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Confinement, PROTECTED, repository};
use crate::repositories::Inventory;
use agent_files::workspace::KnownNames;
use agent_files::workspace::joint_walk::look_through;
use walk::{Linked, WalkResult, WorkspaceWalk};

/// Limit on the paths that are mounted one by one, if directories can take their place.
const MAX_MOUNTS: usize = 1_000;

/// Limit on all mounts: each costs some time before every command.
const MAX_AT_TOP: usize = 5_000;

/// A longer path, in bytes, is too close to the kernel's limit.
const MAX_PATH_BYTES: usize = 4_000;

/// The paths to protect.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct ProtectedPaths {
    /// Files and directories to make read-only.
    pub(super) read_only: Vec<PathBuf>,
    /// Git directories that are writable, except for what git runs and obeys in them.
    pub(super) repositories: Vec<PathBuf>,
    /// Directories that contain repositories or tool configuration and cannot be renamed: otherwise
    /// another could take their place.
    pub(super) pinned: Vec<PathBuf>,
    /// Our own state further down, from work on a part of the workspace, and the records of other
    /// base directories.
    pub(super) hidden: Vec<PathBuf>,
    /// All git directories, and files that point to one.
    pub(super) git_directories: Vec<PathBuf>,
    /// Read-only directories that were not searched for lack of time or names; the workspace itself
    /// if it cannot be protected at all.
    pub(super) unseen: Vec<PathBuf>,
}

impl ProtectedPaths {
    /// True if there is nothing to protect.
    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// The result if nothing can be protected.
    fn not_at_all(workspace: &Path) -> Self {
        Self {
            unseen: vec![workspace.to_owned()],
            ..Self::default()
        }
    }
}

/// The paths to protect, from the current state of the workspace.
pub(super) fn in_workspace(confinement: &Confinement) -> ProtectedPaths {
    let walk = WorkspaceWalk::new(confinement);
    look_through(&confinement.workspace, &[&walk], None);
    of_seen(walk.finish(), confinement)
}

/// The paths to protect and the repositories, except for those in `left_out`, from one look. What a
/// survey has just seen is not looked at again.
pub(super) fn with_inventory(
    confinement: &Confinement,
    left_out: &[PathBuf],
    known: Option<&KnownNames>,
) -> (ProtectedPaths, Inventory) {
    let walk = WorkspaceWalk::new(confinement);
    let inventory = Inventory::take_beside(&walk, &confinement.workspace, left_out, known);
    (of_seen(walk.finish(), confinement), inventory)
}

fn of_seen(mut seen: WalkResult, confinement: &Confinement) -> ProtectedPaths {
    let workspace = &confinement.workspace;
    bases::add_all(&mut seen, workspace);
    let Some(hidden) = few(std::mem::take(&mut seen.states), workspace) else {
        return ProtectedPaths::not_at_all(workspace);
    };
    let git_directories = seen.git_directories();
    let mut draft = ProtectedPathsDraft::of(seen, confinement);
    if !confinement.git_write {
        draft.close_repositories();
    }
    ProtectedPaths {
        hidden,
        git_directories,
        ..draft.settle(workspace, MAX_MOUNTS)
    }
}

/// These paths, or the directories that contain them if there are many; `None` if there are still
/// too many.
fn few(mut paths: BTreeSet<PathBuf>, workspace: &Path) -> Option<Vec<PathBuf>> {
    const MOST: usize = 200;
    let top = depth(workspace) + 1;
    while paths.len() > MOST {
        let deepest = paths.iter().map(|path| depth(path)).max()?;
        if deepest <= top {
            return None;
        }
        paths = coarser(paths, deepest);
    }
    Some(paths.into_iter().map(nameable).collect())
}

fn is_git(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.eq_ignore_ascii_case(".git"))
}

/// The paths to protect, while they are collected.
#[derive(Debug, Default)]
struct ProtectedPathsDraft {
    read_only: BTreeSet<PathBuf>,
    repositories: BTreeSet<PathBuf>,
    /// Paths that are obeyed under their names: their parents must not be renamed, or a copy could
    /// take their place.
    anchors: BTreeSet<PathBuf>,
    unseen: BTreeSet<PathBuf>,
    /// True if the workspace itself is a git directory.
    is_bare: bool,
}

impl ProtectedPathsDraft {
    fn of(seen: WalkResult, confinement: &Confinement) -> Self {
        let workspace = &confinement.workspace;
        let mut draft = Self {
            read_only: seen.found.into_iter().map(nameable).collect(),
            repositories: seen.repositories,
            unseen: seen.unseen.into_iter().map(nameable).collect(),
            ..Self::default()
        };
        let mut bare = seen.bare;
        draft.is_bare = bare.remove(workspace);
        let anchors = draft.read_only.iter().chain(&draft.repositories);
        draft.anchors = anchors.chain(&bare).cloned().map(nameable).collect();
        draft.read_only.extend(bare.into_iter().map(nameable));
        let linked = seen.linked.into_values();
        let shared: Vec<PathBuf> = linked
            .filter(|file| {
                file.is_also_outside() || file.has_name(|name| draft.is_closed(name, confinement))
            })
            .flat_map(Linked::into_paths)
            .collect();
        draft.read_only.extend(shared.into_iter().map(nameable));
        draft.read_only.extend(draft.unseen.iter().cloned());
        draft
    }

    /// True if a file cannot be changed under this name. Then it must not be changed under another
    /// one either: an old hard link to `.git/config` is `.git/config`.
    fn is_closed(&self, name: &Path, confinement: &Confinement) -> bool {
        let directory = name.parent().unwrap_or(name);
        let is_obeyed_by_git = || is_git(directory) && repository::is_closed_part(name);
        let mut above = name.ancestors();
        let inside = name.strip_prefix(&confinement.workspace).unwrap_or(name);
        let top = inside.iter().next().unwrap_or_default();
        PROTECTED.iter().any(|protected| top == *protected)
            || is_obeyed_by_git()
            || above.any(|path| {
                self.read_only.contains(path) || confinement.read_only.iter().any(|it| it == path)
            })
    }

    /// Makes the repositories read-only as a whole.
    fn close_repositories(&mut self) {
        let repositories = std::mem::take(&mut self.repositories);
        self.read_only
            .extend(repositories.into_iter().map(nameable));
    }

    /// Replaces paths by their directories until there are few enough.
    fn settle(mut self, workspace: &Path, most: usize) -> ProtectedPaths {
        let top = depth(workspace) + 1;
        loop {
            let pinned = above(&self.anchors, workspace, most);
            if self.read_only.len() + self.repositories.len() + pinned.len() <= most {
                return self.kept(workspace, pinned);
            }
            if !self.repositories.is_empty() {
                self.close_repositories();
                continue;
            }
            let deepest = self.read_only.iter().map(|path| depth(path)).max();
            match deepest {
                Some(deepest) if deepest > top => {
                    self.read_only = coarser(self.read_only, deepest);
                    self.anchors = coarser(self.anchors, deepest);
                }
                _ => return self.kept(workspace, pinned),
            }
        }
    }

    fn kept(self, workspace: &Path, pinned: BTreeSet<PathBuf>) -> ProtectedPaths {
        /// Limit on the paths in the result.
        const MAX_NAMED: usize = 10_000;
        let read_only = &self.read_only;
        if read_only.contains(workspace) || read_only.len() > MAX_AT_TOP {
            return ProtectedPaths::not_at_all(workspace);
        }
        let is_closed = |path: &Path| path.ancestors().any(|above| read_only.contains(above));
        let lies_in_closed = |path: &Path| path.parent().is_some_and(is_closed);
        let unseen: BTreeSet<&Path> = self
            .unseen
            .iter()
            .take(MAX_NAMED)
            .filter_map(|path| path.ancestors().find(|above| read_only.contains(*above)))
            .collect();
        let repositories = self.repositories.iter().filter(|path| !is_closed(path));
        let bare = self.is_bare.then(|| workspace.to_owned());
        ProtectedPaths {
            repositories: bare.into_iter().chain(repositories.cloned()).collect(),
            pinned: pinned.into_iter().filter(|path| !is_closed(path)).collect(),
            unseen: unseen.into_iter().map(Path::to_owned).collect(),
            hidden: Vec::new(),
            git_directories: Vec::new(),
            read_only: read_only
                .iter()
                .filter(|path| !lies_in_closed(path))
                .cloned()
                .collect(),
        }
    }
}

fn depth(path: &Path) -> usize {
    path.components().count()
}

/// The path, or its nearest parent that is short enough for the kernel.
fn nameable(mut path: PathBuf) -> PathBuf {
    while path.as_os_str().len() > MAX_PATH_BYTES && path.pop() {}
    path
}

/// The parents of these paths inside the workspace, up to `most`.
fn above(paths: &BTreeSet<PathBuf>, workspace: &Path, most: usize) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for path in paths {
        for directory in path.ancestors().skip(1) {
            if directory == workspace || found.len() > most || found.contains(directory) {
                break;
            }
            found.insert(directory.to_owned());
        }
    }
    found
}

/// Replaces paths that are deeper than this by their parents.
fn coarser(paths: BTreeSet<PathBuf>, deepest: usize) -> BTreeSet<PathBuf> {
    paths
        .into_iter()
        .map(|path| match path.parent() {
            Some(parent) if depth(&path) == deepest => parent.to_owned(),
            _ => path,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::sync::Arc;

    use agent_files::platform::files::listed_by_this_thread;
    use agent_files::workspace::survey::SurveyScope;
    use agent_files::workspace::{KnownDirectory, Workspace};

    use super::*;

    /// More than a look takes on one thread.
    const MANY_DIRECTORIES: usize = 32;

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
            assert_eq!(in_workspace(&self.confinement).read_only, expected);
        }

        #[track_caller]
        fn kept(&self, of: fn(ProtectedPaths) -> Vec<PathBuf>, expected: &[&str]) {
            let expected: Vec<_> = expected
                .iter()
                .map(|path| self.confinement.workspace.join(path))
                .collect();
            assert_eq!(of(in_workspace(&self.confinement)), expected);
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

    /// The names that a survey sees.
    fn surveyed_names(workspace: &Path) -> KnownNames {
        let workspace = Workspace::open(workspace).unwrap();
        let scope = SurveyScope {
            max_entries: 100,
            ..SurveyScope::default()
        };
        let visited = workspace.survey(Arc::new(scope), |seen| {
            let known = KnownDirectory::new(&seen.stat().unwrap(), Arc::clone(&seen.content));
            (seen.path().to_owned(), known)
        });
        let visited = visited.unwrap().into_iter();
        KnownNames::new(visited.map(|visited| visited.value))
    }

    #[test]
    fn files_are_looked_at_unless_a_survey_has_counted_their_names() {
        let place = Place::new();
        place.file("outside");
        place.file("work/.gitignore");
        place.link("outside", "work/a/known");
        // Files get other names, outside, once the survey has counted them: no directory tells.
        let inside = ["work/a/file", "work/b/file"].map(|path| place.file(path));
        let workspace = &place.confinement.workspace;
        let closed = |names: &KnownNames| {
            let (kept, _) = with_inventory(&place.confinement, &[], Some(names));
            kept.read_only
        };
        let names = surveyed_names(workspace);
        for (number, file) in inside.iter().enumerate() {
            let outside = place.directory.path().join(format!("outside-{number}"));
            fs::hard_link(file, outside).unwrap();
        }
        // The files that had a single name are not looked at, and nothing is listed again.
        let listed = listed_by_this_thread();
        assert_eq!(closed(&names), [workspace.join("a/known")]);
        assert_eq!(listed_by_this_thread(), listed);
        // Later, a directory that changed is looked through, and so is one that is new.
        let b = workspace.join("b");
        let changed = || fs::metadata(&b).unwrap().ctime_nsec();
        let before = changed();
        while changed() == before {
            place.file("work/b/new");
            fs::remove_file(b.join("new")).unwrap();
        }
        place.link("outside", "work/c/file");
        let names = names.aged();
        let expected = ["a/file", "a/known", "b/file", "c/file"];
        assert_eq!(closed(&names), expected.map(|path| workspace.join(path)));
        // Another directory in the place of one is not the one that was counted.
        rustix::fs::rename(workspace.join("a"), workspace.join("d")).unwrap();
        place.link("outside", "work/a/file");
        let expected = ["a/file", "b/file", "c/file", "d/file", "d/known"];
        assert_eq!(closed(&names), expected.map(|path| workspace.join(path)));
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
    fn repositories_further_down_are_closed_or_keep_what_git_obeys() {
        let mut place = Place::new();
        for file in ["HEAD", "objects/x", "refs/x", "modules/m/HEAD"] {
            place.file(&format!("work/.git/{file}"));
            place.file(&format!("work/a/sub/.git/{file}"));
            place.file(&format!("work/a/bare/{file}"));
        }
        place.file("work/module/.git");
        place.file("work/without/.git/hooks/x");
        let pinned = ["a", "a/sub", "module", "without"];
        place.case(&["a/bare", "a/sub/.git", "module/.git", "without/.git"]);
        place.kept(|kept| kept.pinned, &pinned);
        place.kept(|kept| kept.repositories, &[]);
        place.confinement.git_write = true;
        place.case(&["a/bare", "module/.git"]);
        place.kept(|kept| kept.repositories, &["a/sub/.git", "without/.git"]);
        place.kept(|kept| kept.pinned, &pinned);
    }

    #[test]
    fn a_workspace_that_is_a_repository_itself_stays_open() {
        let place = Place::new();
        for file in ["HEAD", "objects/x", "refs/x"] {
            place.file(&format!("work/{file}"));
        }
        place.case(&[]);
        place.kept(|kept| kept.repositories, &[""]);
        let config = place.file("work/config");
        agent_files::fs::write_atomic(
            &config,
            b"[core]\n\trepositoryformatversion = 0\n",
            agent_files::fs::Durability::Atomic,
        )
        .unwrap();
        fs::remove_file(place.confinement.workspace.join("HEAD")).unwrap();
        place.kept(|kept| kept.repositories, &[""]);
    }

    #[test]
    fn what_tools_obey_further_down_is_closed_but_for_packages() {
        let place = Place::new();
        place.file("work/.envrc");
        place.file("work/sub/.envrc");
        place.file("work/sub/.vscode/tasks.json");
        place.file("work/node_modules/x/.vscode/tasks.json");
        place.case(&["sub/.envrc", "sub/.vscode"]);
        place.kept(|kept| kept.pinned, &["sub"]);
    }

    #[test]
    fn what_was_not_looked_at_is_closed() {
        let mut place = Place::new();
        for number in 0..9 {
            place.file(&format!("work/a/{number}"));
            place.file(&format!("work/a/b/{number}"));
        }
        place.confinement.max_names = 20;
        place.case(&[]);
        place.confinement.max_names = 15;
        place.case(&["a/b"]);
        place.kept(|kept| kept.unseen, &["a/b"]);
        place.confinement.max_names = 5;
        place.case(&["a"]);
        place.confinement.max_names = 0;
        place.case(&[]);
        place.kept(|kept| kept.unseen, &[""]);
    }

    #[test]
    fn a_path_that_is_too_long_is_closed_further_up() {
        let long = Path::new("/w").join("x/".repeat(3_000));
        let short = nameable(long.clone());
        assert!(short.as_os_str().len() <= MAX_PATH_BYTES && long.starts_with(short));
    }

    #[test]
    fn records_of_other_bases_are_known_by_what_they_are() {
        let place = Place::new();
        for file in [
            "a/sessions/ab12cd34.journal.jsonl",
            "a/inbox/x",
            "a/outbox/x",
            "a/workspace/x",
            "b/deep/state/loop.lock",
            "b/deep/state/round.lock",
            "b/deep/mail/x",
            "b/deep/inbox/x",
            "c/inbox/x",
            "c/sessions/loop.lock",
        ] {
            place.file(&format!("work/{file}"));
        }
        let settings = place.file("work/b/appsettings.json");
        let text = b"{\"Agent\":{\"SessionsDir\":\"deep/state\",\"InboxDir\":\"deep/mail\"}}";
        agent_files::fs::write_atomic(&settings, text, agent_files::fs::Durability::Atomic)
            .unwrap();
        let hidden = [
            "a/inbox",
            "a/outbox",
            "a/sessions",
            "b/deep/mail",
            "b/deep/state",
        ];
        place.kept(|kept| kept.hidden, &hidden);
        place.case(&["b/appsettings.json"]);
        let mut confinement = place.confinement.clone();
        assert!(!confinement.exposes_records());
        confinement.backend = crate::Backend::Landlock;
        assert!(confinement.exposes_records());
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

    #[track_caller]
    fn settled(most: usize, expected: &[&str], pinned: &[&str]) {
        let set = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<BTreeSet<_>>();
        let draft = ProtectedPathsDraft {
            read_only: set(&["/w/a/b/1", "/w/a/b/2", "/w/a/3", "/w/c/.git", "/w/5"]),
            anchors: set(&["/w/c/.git"]),
            ..ProtectedPathsDraft::default()
        };
        let kept = draft.settle(Path::new("/w"), most);
        assert_eq!(
            set(expected).into_iter().collect::<Vec<_>>(),
            kept.read_only
        );
        assert_eq!(set(pinned).into_iter().collect::<Vec<_>>(), kept.pinned);
    }

    #[test]
    fn directories_stand_for_too_many_files() {
        let all = ["/w/5", "/w/a/3", "/w/a/b/1", "/w/a/b/2", "/w/c/.git"];
        settled(9, &all, &["/w/c"]);
        settled(5, &["/w/5", "/w/a/3", "/w/a/b", "/w/c/.git"], &["/w/c"]);
        settled(3, &["/w/5", "/w/a", "/w/c"], &[]);
        settled(1, &["/w/5", "/w/a", "/w/c"], &[]);
    }
}
