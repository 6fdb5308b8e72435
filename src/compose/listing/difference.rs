//! The files that are new, changed or gone between two listings.

use std::cmp::Ordering;

use super::{Listed, Listing, described};
use crate::protocol::RelPath;

impl Listing {
    /// The files that are new, changed or gone since another listing.
    pub fn different_from<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a RelPath> {
        self.differences(before).map(ListedChange::path)
    }

    /// How it differs from another one, by path; both are sorted, so nothing is searched.
    pub(super) fn differences<'a>(
        &'a self,
        before: &'a Self,
    ) -> impl Iterator<Item = ListedChange<'a>> {
        let mut then: Vec<&Listed> = before.files.iter().collect();
        if !before.made_by_check.is_empty() {
            // They were told, though not listed.
            then.extend(&before.made_by_check);
            then.sort_by(|one, other| one.path.cmp(&other.path));
        }
        let (mut now, mut then) = (self.files.iter().peekable(), then.into_iter().peekable());
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
