//! What a survey sees in one directory.
//!
//! A survey that sees the same as the last one shares its record instead of making another: in a large
//! workspace, a round would spend a quarter of its time on copies of what it knows.

use std::ffi::OsStr;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use blake3::Hash;

use super::{DirectoryReader, FileKind, FileStat, SurveyScope, is_dotted, is_passed_by};
use crate::workspace::ignored::{Is, Rules, is_ignored};
use crate::workspace::joint_walk::NamedEntry;
use crate::workspace::look::ListedContent;

/// What is in a directory.
#[derive(Debug)]
pub struct DirectoryContent {
    scope: Arc<SurveyScope>,
    /// All names in it; none if it could not be listed.
    pub names: Arc<[NamedEntry]>,
    pub(super) rules: Option<Arc<Rules>>,
    /// The entries, sorted by name.
    pub entries: Vec<Surveyed>,
    /// Names of which no more than their kinds is known, because they are not surveyed.
    unknown: Vec<NamedEntry>,
    /// The files that may have more than one name.
    pub linked: Vec<Arc<OsStr>>,
    /// True if it contains a repository.
    pub has_git: bool,
    /// Tells if the entries are complete.
    pub state: DirectoryState,
    /// A value that another survey of it has only if it saw the same, but for what is beneath it.
    pub fingerprint: Hash,
    /// What a walk listed of these names.
    pub(in crate::workspace) listed: OnceLock<Arc<ListedContent>>,
}

/// Tells if the entries of a directory are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectoryState {
    /// All entries are known.
    Known,
    /// The directory could not be read.
    Unreadable,
    /// The limit on names was reached.
    TooMany,
}

/// A directory entry.
#[derive(Debug, Clone)]
pub struct Surveyed {
    /// The exact name.
    pub name: Arc<OsStr>,
    /// Its metadata.
    pub stat: FileStat,
    /// True for a directory that is entered.
    pub is_entered: bool,
}

impl DirectoryContent {
    /// Looks at a directory, and counts its names among those that were seen.
    pub(super) fn look(
        reader: &DirectoryReader<'_>,
        scope: &Arc<SurveyScope>,
        seen: &AtomicUsize,
    ) -> Arc<Self> {
        let mut content = Self {
            scope: Arc::clone(scope),
            names: Arc::default(),
            rules: None,
            entries: Vec::new(),
            unknown: Vec::new(),
            linked: Vec::new(),
            has_git: false,
            state: DirectoryState::Unreadable,
            fingerprint: Hash::from_bytes([0; 32]),
            listed: OnceLock::new(),
        };
        if let Some(listed) = reader.names {
            content.names = Arc::clone(&listed.entries);
            let count = content.names.len();
            let before = seen.fetch_add(count, Ordering::Relaxed);
            if listed.is_cut || before.saturating_add(count) > scope.max_entries {
                content.state = DirectoryState::TooMany;
            } else {
                content.rules = reader.rules_here(&content.names);
                let known = (listed.known).filter(|known| known.can_stand_for(&content));
                let same = known.map_or(&[][..], |known| known.still_there(reader));
                if let Some(known) = known
                    && same.len() == known.entries.len()
                {
                    return Arc::clone(known);
                }
                content.state = content.sort_in(reader, same);
            }
        }
        let files = content.entries.iter();
        let files = files.filter(|entry| entry.stat.kind != FileKind::Directory);
        let linked = files.filter(|entry| entry.stat.links > 1);
        let unknown = content.unknown.iter().map(|(name, _)| name);
        let linked = linked.map(|entry| &entry.name).chain(unknown);
        content.linked = linked.cloned().collect();
        content.fingerprint = content.hash();
        Arc::new(content)
    }

    /// True if another survey of the directory saw the same, but for what is beneath it.
    pub(super) fn is_like(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        Arc::ptr_eq(self, other) || self.fingerprint == other.fingerprint
    }

    /// True if another survey of these names sees the same, as long as the entries stay the same.
    fn can_stand_for(&self, other: &Self) -> bool {
        let digest = |content: &Self| content.rules.as_ref().map(|rules| rules.digest);
        self.state == DirectoryState::Known
            && Arc::ptr_eq(&self.names, &other.names)
            && Arc::ptr_eq(&self.scope, &other.scope)
            && digest(self) == digest(other)
            // What had disappeared may be back.
            && self.unknown.iter().all(|(name, _)| is_passed_by(name))
    }

    /// The first entries, up to one that changed.
    fn still_there(&self, reader: &DirectoryReader<'_>) -> &[Surveyed] {
        let is_same = |entry: &Surveyed| {
            let stat = reader.stat(&entry.name);
            stat.is_ok_and(|stat| stat == entry.stat)
        };
        let changed = self.entries.iter().position(|entry| !is_same(entry));
        &self.entries[..changed.unwrap_or(self.entries.len())]
    }

    /// Sorts the names into entries and others. The first entries may be known.
    fn sort_in(&mut self, reader: &DirectoryReader<'_>, known: &[Surveyed]) -> DirectoryState {
        let mut known = known.iter().peekable();
        self.entries.reserve(self.names.len());
        for (name, kind) in self.names.iter() {
            self.has_git |= is_dotted(name) && &**name == ".git";
            if let Some(known) = known.next_if(|known| known.name == *name) {
                self.entries.push(known.clone());
                continue;
            }
            if is_passed_by(name) || !self.scope.looks_at(reader.path(), name) {
                self.unknown.push((Arc::clone(name), *kind));
                continue;
            }
            let stat = match reader.stat(name) {
                Ok(stat) => stat,
                // A directory that may be listed, but not searched: its names tell nothing.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    self.entries.clear();
                    return DirectoryState::Unreadable;
                }
                // It disappeared in the meantime.
                Err(_) => {
                    self.unknown.push((Arc::clone(name), *kind));
                    continue;
                }
            };
            let is_entered = stat.kind == FileKind::Directory && {
                let path = reader.path().join(&**name);
                if self.scope.leave_out.contains(&path) {
                    continue;
                }
                self.scope.only.is_some()
                    || !is_ignored(self.rules.as_deref(), &path, Is::Directory)
            };
            self.entries.push(Surveyed {
                name: Arc::clone(name),
                stat,
                is_entered,
            });
        }
        DirectoryState::Known
    }

    /// A hash of everything that a snapshot takes from the survey of this directory.
    fn hash(&self) -> Hash {
        let mut bytes = Vec::with_capacity(128 + 96 * self.entries.len());
        bytes.extend([u8::from(self.has_git), self.state as u8]);
        let rules = self.rules.as_ref().map(|rules| rules.digest);
        push(
            &mut bytes,
            rules.as_ref().map_or(&[], |digest| digest.as_bytes()),
        );
        bytes.extend(self.unknown.len().to_le_bytes());
        for (name, kind) in &self.unknown {
            push(&mut bytes, name.as_encoded_bytes());
            bytes.push(*kind as u8);
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
