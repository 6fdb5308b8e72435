//! The contents of the files of a batch when it is settled, and of the files under temporary names.

use std::collections::{BTreeMap, BTreeSet};

use crate::protocol::{RelPath, StagedChange};
use crate::workspace::Workspace;

/// The content under the temporary name of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lies {
    /// The content that is meant for the file.
    New,
    /// The previous content of the file: they have exchanged names.
    Old,
    /// Nothing, or nothing that is whole.
    Neither,
}

/// The files as they were found.
pub(super) struct FoundBatch<'a> {
    /// The contents of the files; `None` where there is no file.
    now: BTreeMap<&'a RelPath, Option<String>>,
    /// Files that are neither as before nor as any change left them.
    foreign: BTreeSet<&'a RelPath>,
    /// Files that are changed more than once, so that their content does not tell by which.
    changed_again: BTreeSet<&'a RelPath>,
    /// By temporary names.
    lies: BTreeMap<&'a RelPath, Lies>,
}

impl<'a> FoundBatch<'a> {
    pub(super) fn look(workspace: &Workspace, changes: &[&'a StagedChange]) -> Self {
        let mut found = Self {
            now: BTreeMap::new(),
            foreign: BTreeSet::new(),
            changed_again: BTreeSet::new(),
            lies: BTreeMap::new(),
        };
        let mut expected: BTreeMap<&RelPath, BTreeSet<Option<&str>>> = BTreeMap::new();
        for change in changes {
            for (path, before, after) in change.effects() {
                let contents = expected.entry(path).or_default();
                if !contents.is_empty() {
                    found.changed_again.insert(path);
                }
                contents.extend([before, after]);
            }
            if let StagedChange::Write {
                staged,
                before,
                after,
                ..
            } = change
            {
                let contents: Vec<&str> = before.iter().chain([after]).map(|it| &**it).collect();
                let lies = match workspace.content_like(staged, &contents) {
                    Ok(Some(content)) if content == *after => Lies::New,
                    Ok(content @ Some(_)) if content == *before => Lies::Old,
                    _ => Lies::Neither,
                };
                found.lies.insert(staged, lies);
            }
        }
        for (path, contents) in expected {
            let known: Vec<&str> = contents.iter().copied().flatten().collect();
            match workspace.content_like(path, &known) {
                Ok(content) if contents.contains(&content.as_deref()) => {
                    found.now.insert(path, content);
                }
                _ => {
                    found.foreign.insert(path);
                }
            }
        }
        found
    }

    /// A file of the change that somebody else changed.
    pub(super) fn foreign<'b>(&self, change: &'b StagedChange) -> Option<&'b RelPath> {
        let mut paths = change.effects().into_iter().map(|(path, _, _)| path);
        paths.find(|path| self.foreign.contains(path))
    }

    /// Looks up the content under the temporary name of the change.
    pub(super) fn lies(&self, change: &StagedChange) -> Lies {
        match change {
            StagedChange::Write { staged, .. } => {
                self.lies.get(staged).copied().unwrap_or(Lies::Neither)
            }
            _ => Lies::Neither,
        }
    }

    /// Returns true if the file is known to contain something else.
    pub(super) fn differs(&self, path: &RelPath, content: Option<&str>) -> bool {
        let now = self.now.get(path);
        now.is_some_and(|now| now.as_deref() != content)
    }

    /// Tells whether the files are as before the change, and whether they are as after it.
    fn before_and_after(&self, change: &StagedChange) -> (bool, bool) {
        let effects = change.effects();
        let fits = |content: Option<&str>, path| !self.differs(path, content);
        (
            (effects.iter()).all(|(path, before, _)| fits(*before, path)),
            (effects.iter()).all(|(path, _, after)| fits(*after, path)),
        )
    }

    /// Returns true if the change can be the one that was under way.
    pub(super) fn is_possible(&self, change: &StagedChange) -> bool {
        let (is_before, is_after) = self.before_and_after(change);
        is_before || is_after
    }

    /// Returns true if a new content can neither have got its name nor get it now.
    pub(super) fn is_lost(&self, change: &StagedChange) -> bool {
        self.is_contradictory(change) && self.lies(change) != Lies::New
    }

    /// Returns true if the file and the temporary name of a new content contradict each other.
    pub(super) fn is_contradictory(&self, change: &StagedChange) -> bool {
        let is_waiting = self.lies(change) == Lies::New;
        let is_write = matches!(change, StagedChange::Write { .. });
        match self.before_and_after(change) {
            (true, false) => is_write && !is_waiting,
            (false, true) => is_waiting,
            _ => false,
        }
    }

    /// Returns true if the change is made, as far as its own files tell.
    pub(super) fn is_made(&self, change: &StagedChange) -> bool {
        let StagedChange::Write { path, .. } = change else {
            return self.foreign(change).is_none() && self.before_and_after(change).1;
        };
        let (is_before, is_after) = self.before_and_after(change);
        match self.lies(change) {
            // Somebody else may have written the same.
            Lies::New => is_after && !is_before && !self.changed_again.contains(path),
            // A file that somebody else changed since then is made, too.
            Lies::Old | Lies::Neither => is_after,
        }
    }
}
