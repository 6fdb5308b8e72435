//! The files that are new, changed or gone between two listings.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Listing, described};
use crate::protocol::{Listed, RelPath};

/// A later listing, told by what differs from an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ListingChanges {
    /// The new and changed files; nothing for those that are gone.
    files: BTreeMap<RelPath, Option<Listed>>,
    unnamable: u64,
    generated: BTreeMap<String, u64>,
    is_repository: bool,
}

impl ListingChanges {
    /// The number of files that differ.
    pub fn count(&self) -> usize {
        self.files.len()
    }
}

impl Listing {
    /// Returns false if a later listing cannot be told by what differs from this one.
    pub fn is_complete(&self) -> bool {
        self.omitted == 0 && self.made_by_check.is_empty()
    }

    /// Adds to changes that led to the listing `before` those that lead from there to this one. Both
    /// listings must be complete.
    pub fn add_changes(&self, before: &Self, mut changes: ListingChanges) -> ListingChanges {
        for difference in self.differences(before) {
            let (path, file) = match difference {
                ListedChange::New(file) | ListedChange::Changed(file) => (&file.path, Some(file)),
                ListedChange::Deleted(file) => (&file.path, None),
            };
            changes.files.insert(path.clone(), file.cloned());
        }
        ListingChanges {
            unnamable: self.unnamable,
            generated: self.generated.clone(),
            is_repository: self.is_repository,
            ..changes
        }
    }

    /// The listing to which changes lead from this one.
    #[must_use]
    pub fn changed_by(mut self, changes: &ListingChanges) -> Self {
        let files = Arc::make_mut(&mut self.files);
        files.retain(|file| !changes.files.contains_key(&file.path));
        files.extend(changes.files.values().flatten().cloned());
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Self {
            unnamable: changes.unnamable,
            generated: changes.generated.clone(),
            is_repository: changes.is_repository,
            ..self
        }
    }

    /// The files that are new, changed or gone since another listing.
    pub fn different_from<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a RelPath> {
        self.differences(before).map(ListedChange::path)
    }

    /// How it differs from another one, by path; both are sorted, so nothing is searched.
    pub(super) fn differences<'a>(
        &'a self,
        before: &'a Self,
    ) -> impl Iterator<Item = ListedChange<'a>> {
        // Most rounds change no file of a large workspace, and have the listing of the one before.
        let is_same = std::ptr::eq(self, before) && before.made_by_check.is_empty();
        let (now, then) = if is_same {
            (&[][..], &[][..])
        } else {
            (&self.files[..], &before.files[..])
        };
        let mut then: Vec<&Listed> = then.iter().collect();
        if !before.made_by_check.is_empty() {
            // They were told, though not listed.
            then.extend(&before.made_by_check);
            then.sort_by(|one, other| one.path.cmp(&other.path));
        }
        let (mut now, mut then) = (now.iter().peekable(), then.into_iter().peekable());
        // A listing that was cut says nothing about what it lacks.
        let is_whole = self.omitted == 0;
        std::iter::from_fn(move || {
            loop {
                let order = match (now.peek(), then.peek()) {
                    (None, None) => return None,
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (Some(new), Some(old)) => new.path.cmp(&old.path),
                };
                let difference = match order {
                    Ordering::Less => now.next().map(ListedChange::New),
                    Ordering::Greater => {
                        then.next().filter(|_| is_whole).map(ListedChange::Deleted)
                    }
                    Ordering::Equal => {
                        let old = then.next();
                        now.next()
                            .filter(|new| old != Some(*new))
                            .map(ListedChange::Changed)
                    }
                };
                if difference.is_some() {
                    return difference;
                }
            }
        })
    }
}

/// The change of a file between two listings.
#[derive(Debug, Clone, Copy)]
pub(super) enum ListedChange<'a> {
    New(&'a Listed),
    Changed(&'a Listed),
    Deleted(&'a Listed),
}

impl<'a> ListedChange<'a> {
    fn path(self) -> &'a RelPath {
        let (Self::New(file) | Self::Changed(file) | Self::Deleted(file)) = self;
        &file.path
    }

    /// A line about it.
    pub(super) fn words(self) -> String {
        match self {
            Self::New(file) => format!("new: {} ({})", file.path.quoted(), described(file)),
            Self::Changed(file) => {
                format!("changed: {} ({})", file.path.quoted(), described(file))
            }
            Self::Deleted(file) => format!("deleted: {}", file.path.quoted()),
        }
    }
}
