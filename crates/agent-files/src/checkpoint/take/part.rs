//! A snapshot of a few paths, which takes everything else from an earlier one.
//!
//! Only the directories on the way to these paths are visited, so it costs no walk. Two such
//! snapshots in a row differ only in these paths, whatever happened to other files: the round's
//! work can be undone, and changes by others are left alone. Named paths are covered even if they
//! are ignored. If the paths are not sufficient for this guarantee, no snapshot is taken.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use blake3::Hash;

use super::{FinishedSnapshot, SeenDirectory, SnapshotBuilder, ensure_readable, lock, report};
use crate::checkpoint::changes::{Entries, entries};
use crate::checkpoint::objects::Objects;
use crate::checkpoint::tree::Node;
use crate::error::Result;
use crate::platform::files::bytes_of_name;
use crate::workspace::Workspace;
use crate::workspace::survey::{SurveyScope, SurveyedDirectory, Visited};
use agent_protocol::RelPath;

/// Files that decide whether other files are covered.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// True for a file whose content decides whether other files are covered.
pub fn is_ignore_file(path: &RelPath) -> bool {
    IGNORE_FILES.contains(&path.file_name())
}

/// The names to look at, by directory.
type NamesByDirectory = HashMap<PathBuf, Vec<OsString>>;

impl SnapshotBuilder<'_> {
    /// Looks at these paths; `None` if that is not sufficient.
    pub(in crate::checkpoint) fn run_part(
        self,
        workspace: &Workspace,
        earlier: Hash,
        paths: &[RelPath],
    ) -> Result<Option<FinishedSnapshot>> {
        if paths.iter().any(is_ignore_file) || !self.objects.contains(&earlier) {
            return Ok(None);
        }
        let only = with_directories(paths);
        let named = by_directory(&only);
        let scope = SurveyScope {
            only: Some(only),
            ..self.limits.scope.clone()
        };
        let is_unclear = AtomicBool::new(false);
        let seen = workspace.survey(Arc::new(scope), |directory| {
            let seen = self.see_part(directory);
            if seen.has_unclear_name(&named) {
                is_unclear.store(true, Ordering::Relaxed);
            }
            Arc::new(seen.seen)
        })?;
        if let Some(failure) = lock(&self.failure).take() {
            return Err(failure);
        }
        ensure_readable(workspace, &seen)?;
        // An unreadable tree of the earlier snapshot cannot be reused.
        match taken_over(self.objects, earlier, &seen) {
            Ok(earlier) if !is_unclear.into_inner() => {
                self.assemble_part(seen, earlier, &named).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn see_part<'d>(&self, directory: SurveyedDirectory<'d>) -> OpenDirectory<'d> {
        let surveyed = &directory.content.entries;
        let entries = surveyed
            .iter()
            .filter(|surveyed| bytes_of_name(&surveyed.name).is_some())
            .map(|surveyed| self.enter(&directory, surveyed, None))
            .collect();
        OpenDirectory {
            seen: SeenDirectory {
                path: directory.path().to_owned(),
                entries,
                has_git: directory.content.has_git,
                state: directory.content.state,
                fingerprint: None,
                tree: None,
                listed: Arc::default(),
            },
            directory,
        }
    }

    /// Builds the trees bottom-up.
    fn assemble_part(
        self,
        mut seen: Vec<Visited<Arc<SeenDirectory>>>,
        earlier: Vec<Entries>,
        named: &NamesByDirectory,
    ) -> Result<FinishedSnapshot> {
        let mut new = self
            .new
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut trees = vec![Hash::from_bytes([0; 32]); seen.len()];
        let states: Vec<_> = seen.iter().map(|visited| visited.value.state).collect();
        let all = seen.iter_mut().zip(earlier).enumerate().rev();
        for (index, (Visited { value, children }, earlier)) in all {
            let beneath = trees[children.clone()]
                .iter()
                .zip(&states[children.clone()]);
            let value = Arc::make_mut(value);
            for (place, node) in value.corrected(beneath) {
                value.entries[place].node = node;
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

/// A visited directory that is still open.
struct OpenDirectory<'d> {
    seen: SeenDirectory,
    directory: SurveyedDirectory<'d>,
}

impl OpenDirectory<'_> {
    /// True if the file system resolves a named path to an entry with another spelling.
    fn has_unclear_name(&self, named: &NamesByDirectory) -> bool {
        let here = named.get(&self.seen.path).into_iter().flatten();
        let entries = &self.seen.entries;
        let is_seen = |name: &OsString| {
            let found = entries.binary_search_by(|entry| (*entry.name).cmp(name));
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

fn by_directory(paths: &BTreeSet<PathBuf>) -> NamesByDirectory {
    let mut named = NamesByDirectory::new();
    for path in paths {
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
            let here = named.entry(parent.to_owned()).or_default();
            here.push(name.to_owned());
        }
    }
    named
}

/// The entries that the earlier snapshot has for each of these directories; empty if it had none.
fn taken_over(
    objects: &Objects,
    earlier: Hash,
    seen: &[Visited<Arc<SeenDirectory>>],
) -> Result<Vec<Entries>> {
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

/// The tree of a directory: named entries as they are now, all others as they were.
fn tree_of(seen: &SeenDirectory, earlier: Entries, named: &NamesByDirectory) -> Vec<u8> {
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
