//! A snapshot of a few paths: all else is taken over from an earlier one.
//!
//! Only the directories on the way to these paths are looked at, so that it costs no walk. Two of
//! them with the same paths, one upon the other, differ in these paths and nowhere else, whatever
//! happened to other files meanwhile: what a round did to the files that it names can be undone
//! with them, and what somebody else did to others is not touched. They are looked at though they
//! are ignored. Where the paths are not enough to be sure of all that, there is none.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use blake3::Hash;

use super::{Found, Seen, Taking, ensure_readable, lock, report};
use crate::checkpoint::changes::{Entries, entries};
use crate::checkpoint::objects::Objects;
use crate::checkpoint::tree::Node;
use crate::error::Result;
use crate::platform::files::bytes_of_name;
use crate::workspace::Workspace;
use crate::workspace::survey::{Directory, Scope, Visited};
use agent_protocol::RelPath;

/// Files that decide what of other files is covered.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// Whether a file decides what of other files is covered.
pub fn is_ignore_file(path: &RelPath) -> bool {
    IGNORE_FILES.contains(&path.file_name())
}

/// The names that are looked at, by the directories that they are in.
type Named = HashMap<PathBuf, Vec<OsString>>;

impl Taking<'_> {
    /// Looks at these paths; nothing comes back where they are not enough.
    pub(in crate::checkpoint) fn run_part(
        self,
        workspace: &Workspace,
        earlier: Hash,
        paths: &[RelPath],
    ) -> Result<Option<Found>> {
        if paths.iter().any(is_ignore_file) || !self.objects.contains(&earlier) {
            return Ok(None);
        }
        let only = with_directories(paths);
        let named = by_directory(&only);
        let scope = Scope {
            only: Some(only),
            ..self.limits.scope.clone()
        };
        let is_unclear = AtomicBool::new(false);
        let seen = workspace.survey(&scope, |directory| {
            let seen = self.see_part(directory);
            if seen.has_unclear_name(&named) {
                is_unclear.store(true, Ordering::Relaxed);
            }
            seen.seen
        })?;
        if let Some(failure) = lock(&self.failure).take() {
            return Err(failure);
        }
        ensure_readable(workspace, &seen)?;
        // What cannot be read of the earlier one cannot be taken over.
        match taken_over(self.objects, earlier, &seen) {
            Ok(earlier) if !is_unclear.into_inner() => {
                self.assemble_part(seen, earlier, &named).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn see_part<'d>(&self, mut directory: Directory<'d>) -> PartSeen<'d> {
        let surveyed = std::mem::take(&mut directory.entries);
        let entries = surveyed
            .into_iter()
            .filter(|surveyed| bytes_of_name(&surveyed.name).is_some())
            .map(|surveyed| self.enter(&directory, surveyed, None))
            .collect();
        PartSeen {
            seen: Seen {
                path: directory.path().to_owned(),
                entries,
                has_git: directory.has_git,
                state: directory.state,
                cached_tree: None,
                is_news_for_cache: false,
            },
            directory,
        }
    }

    /// Makes the trees, those without directories of their own first.
    fn assemble_part(
        self,
        mut seen: Vec<Visited<Seen>>,
        earlier: Vec<Entries>,
        named: &Named,
    ) -> Result<Found> {
        let mut new = self
            .new
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut trees = vec![Hash::from_bytes([0; 32]); seen.len()];
        let states: Vec<_> = seen.iter().map(|visited| visited.value.state).collect();
        let all = seen.iter_mut().zip(earlier).enumerate().rev();
        for (index, (Visited { value, children }, earlier)) in all {
            let found = children
                .clone()
                .map(|child| (trees[child], states[child]))
                .collect::<Vec<_>>();
            let entered = value.entries.iter_mut().filter(|entry| entry.is_entered);
            for (entry, (hash, state)) in entered.zip(found) {
                entry.settle(hash, state);
            }
            let bytes = tree_of(value, earlier, named);
            trees[index] = blake3::hash(&bytes);
            if !self.objects.contains(&trees[index]) {
                new.add(trees[index], &bytes)?;
            }
        }
        Ok(report(&seen, &trees, new, self.files_read.into_inner()))
    }
}

/// What was seen of a directory, while it is still open.
struct PartSeen<'d> {
    seen: Seen,
    directory: Directory<'d>,
}

impl PartSeen<'_> {
    /// Whether something answers to a name that no entry has.
    fn has_unclear_name(&self, named: &Named) -> bool {
        let here = named.get(&self.seen.path).into_iter().flatten();
        let entries = &self.seen.entries;
        let is_seen = |name: &OsString| {
            let found = entries.binary_search_by(|entry| entry.name.cmp(name));
            found.is_ok()
        };
        here.filter(|name| !is_seen(name))
            .any(|name| self.directory.answers_to(name))
    }
}

/// The paths and all directories above them.
fn with_directories(paths: &[RelPath]) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    for path in paths {
        let mut above = Some(Path::new(path.as_str()));
        while let Some(path) = above.filter(|path| !path.as_os_str().is_empty()) {
            if !all.insert(path.to_owned()) {
                break;
            }
            above = path.parent();
        }
    }
    all
}

fn by_directory(paths: &BTreeSet<PathBuf>) -> Named {
    let mut named = Named::new();
    for path in paths {
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
            let here = named.entry(parent.to_owned()).or_default();
            here.push(name.to_owned());
        }
    }
    named
}

/// What the earlier snapshot has of each of these directories; nothing where it had none.
fn taken_over(objects: &Objects, earlier: Hash, seen: &[Visited<Seen>]) -> Result<Vec<Entries>> {
    let mut trees = vec![None; seen.len()];
    if let Some(root) = trees.first_mut() {
        *root = Some(earlier);
    }
    let mut all = Vec::with_capacity(seen.len());
    for (index, Visited { value, children }) in seen.iter().enumerate() {
        let entries = entries(objects, trees[index])?;
        let entered = value.entries.iter().filter(|entry| entry.is_entered);
        for (entry, child) in entered.zip(children.clone()) {
            let known = bytes_of_name(&entry.name)
                .and_then(|name| entries.binary_search_by(|(one, _)| (**one).cmp(name)).ok());
            if let Some(Node::Directory { tree, .. }) = known.map(|at| entries[at].1) {
                trees[child] = Some(tree);
            }
        }
        all.push(entries);
    }
    Ok(all)
}

/// The tree of a directory: what was seen, and what was not looked at as it was.
fn tree_of(seen: &Seen, earlier: Entries, named: &Named) -> Vec<u8> {
    let mut nodes: BTreeMap<Box<[u8]>, Node> = earlier.into_iter().collect();
    for name in named.get(&seen.path).into_iter().flatten() {
        if let Some(name) = bytes_of_name(name) {
            nodes.remove(name);
        }
    }
    for entry in &seen.entries {
        if let Some(name) = bytes_of_name(&entry.name) {
            nodes.insert(name.into(), entry.node);
        }
    }
    let mut bytes = Vec::new();
    for (name, node) in &nodes {
        node.encode(name, &mut bytes);
    }
    bytes
}
