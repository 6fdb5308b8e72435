//! The files that a message lists, kept beside the session: the next message tells only the
//! difference, also after a restart.
//!
//! The listing of a large workspace is long, and most rounds change few of its files. So most rounds
//! keep what differs from a listing that was kept whole, until that is much.
//!
//! ```text
//! listing-NNNN.json           the whole listing of message NNNN
//! listing-NNNN-changes.json   the number of an earlier whole one, and what differs from it
//! ```

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::compose::{Listing, ListingChanges};
use crate::error::Result;
use crate::protocol::SessionId;
use crate::session::Store;

/// A listing is kept whole if more than one in so many of its files differ.
const MANY: usize = 4;

fn whole_file(sequence: u32) -> String {
    format!("listing-{sequence:04}.json")
}

fn changes_file(sequence: u32) -> String {
    format!("listing-{sequence:04}-changes.json")
}

/// How a listing is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ListingRecord {
    /// The message whose listing is kept whole.
    whole: u32,
    /// The difference between the two listings.
    changes: ListingChanges,
}

/// A listing of an earlier message, and how it is kept.
#[derive(Debug)]
pub(super) struct KeptListing {
    pub(super) listing: Arc<Listing>,
    pub(super) record: ListingRecord,
}

impl KeptListing {
    /// Reads the listing of a message; `None` if it was not kept or is lost.
    pub(super) fn read(store: &Store, id: &SessionId, sequence: u32) -> Option<Self> {
        if let Some(listing) = store.aside(id, &whole_file(sequence)) {
            let record = ListingRecord::whole(sequence);
            let listing = Arc::new(listing);
            return Some(Self { listing, record });
        }
        let record: ListingRecord = store.aside(id, &changes_file(sequence))?;
        let whole: Listing = store.aside(id, &whole_file(record.whole))?;
        let listing = Arc::new(whole.changed_by(&record.changes));
        Some(Self { listing, record })
    }
}

impl ListingRecord {
    fn whole(sequence: u32) -> Self {
        Self {
            whole: sequence,
            changes: ListingChanges::default(),
        }
    }

    /// Keeps which files a message lists; `before` is the listing of the message before.
    pub(super) fn keep(
        store: &Store,
        (id, sequence): (&SessionId, u32),
        listing: &Listing,
        before: Option<&KeptListing>,
    ) -> Result<Self> {
        if let Some(record) = before.and_then(|before| Self::of_changes(listing, before)) {
            store.put_aside(id, &changes_file(sequence), &record)?;
            // A message that is composed again may be kept in the other way.
            crate::fs::remove(&store.folder(id).join(whole_file(sequence)))?;
            return Ok(record);
        }
        store.put_aside(id, &whole_file(sequence), listing)?;
        crate::fs::remove(&store.folder(id).join(changes_file(sequence)))?;
        Ok(Self::whole(sequence))
    }

    fn of_changes(listing: &Listing, before: &KeptListing) -> Option<Self> {
        if !listing.is_complete() || !before.listing.is_complete() {
            return None;
        }
        let ListingRecord { whole, changes } = before.record.clone();
        let changes = listing.add_changes(&before.listing, changes);
        (changes.count() <= listing.files.len() / MANY).then_some(Self { whole, changes })
    }

    /// Removes the listings that neither this message nor the one before is told by, `before`.
    pub(super) fn drop_others(
        &self,
        store: &Store,
        (id, sequence): (&SessionId, u32),
        before: Option<&Self>,
    ) {
        let told_by = [Some(self), before].map(|record| record.map(|record| record.whole));
        let is_needed = |other: u32| other + 1 >= sequence || told_by.contains(&Some(other));
        let names = std::fs::read_dir(store.folder(id)).into_iter().flatten();
        for name in names.flatten().map(|entry| entry.file_name()) {
            let name = name.to_string_lossy();
            if sequence_of(&name).is_some_and(|other| !is_needed(other)) {
                store.drop_aside(id, &name);
            }
        }
    }
}

/// Removes the listing of a message.
pub(super) fn remove(store: &Store, id: &SessionId, sequence: u32) -> Result<()> {
    let folder = store.folder(id);
    crate::fs::remove(&folder.join(whole_file(sequence)))?;
    crate::fs::remove(&folder.join(changes_file(sequence)))
}

/// The message whose listing is kept under this name.
fn sequence_of(name: &str) -> Option<u32> {
    let stem = name.strip_prefix("listing-")?.strip_suffix(".json")?;
    stem.strip_suffix("-changes").unwrap_or(stem).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Listed, RelPath};

    struct Shelf {
        directory: tempfile::TempDir,
        store: Store,
        id: SessionId,
        last: Option<KeptListing>,
    }

    impl Shelf {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let store = Store::open(directory.path().join("sessions")).unwrap();
            let id = SessionId::parse("ab12cd34").unwrap();
            std::fs::create_dir_all(store.folder(&id)).unwrap();
            Self {
                directory,
                store,
                id,
                last: None,
            }
        }

        /// Keeps the listing of a message as the engine does, and finds it again as a restart does.
        #[track_caller]
        fn keep(&mut self, sequence: u32, listing: &Listing, expected: &[&str]) {
            let (before, round) = (self.last.take(), (&self.id, sequence));
            let record = ListingRecord::keep(&self.store, round, listing, before.as_ref()).unwrap();
            record.drop_others(&self.store, round, before.as_ref().map(|it| &it.record));
            let found = KeptListing::read(&self.store, &self.id, sequence).unwrap();
            assert_eq!(*found.listing, *listing);
            assert_eq!(found.record, record);
            assert_eq!(self.names(), expected);
            self.last = Some(found);
        }

        fn names(&self) -> Vec<String> {
            let folder = self.store.folder(&self.id);
            assert!(folder.starts_with(self.directory.path()));
            let names = std::fs::read_dir(folder).unwrap();
            let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        }
    }

    fn listing(count: usize) -> Listing {
        let path = |number| RelPath::parse(&format!("src/f{number:03}.rs")).unwrap();
        let file = |number| Listed::of_size(path(number), 10);
        Listing {
            files: Arc::new((0..count).map(file).collect()),
            ..Listing::default()
        }
    }

    #[test]
    fn few_changes_are_kept_instead_of_the_listing() {
        let mut shelf = Shelf::new();
        let mut now = listing(100);
        shelf.keep(1, &now, &["listing-0001.json"]);
        let [first, second, third] = [2, 3, 4].map(|it| format!("listing-{it:04}-changes.json"));
        shelf.keep(2, &now, &["listing-0001.json", &first]);
        let files = Arc::make_mut(&mut now.files);
        files[50].size = 11;
        files.remove(7);
        now.unnamable = 1;
        now.generated.insert("target".to_owned(), 4);
        shelf.keep(3, &now, &["listing-0001.json", &first, &second]);
        // What is as it was in the whole listing is told too, because the last message told otherwise.
        let files = Arc::make_mut(&mut now.files);
        files[49].size = 10;
        files.insert(7, listing(100).files[7].clone());
        files.push(listing(101).files[100].clone());
        now.generated.clear();
        shelf.keep(4, &now, &["listing-0001.json", &second, &third]);
    }

    #[test]
    fn many_changes_make_a_listing_whole_again() {
        let mut shelf = Shelf::new();
        shelf.keep(1, &listing(20), &["listing-0001.json"]);
        shelf.keep(2, &listing(40), &["listing-0001.json", "listing-0002.json"]);
        let names = ["listing-0002.json", "listing-0003-changes.json"];
        shelf.keep(3, &listing(41), &names);
        let mut cut = listing(41);
        cut.omitted = 1;
        let names = [
            "listing-0002.json",
            "listing-0003-changes.json",
            "listing-0004.json",
        ];
        shelf.keep(4, &cut, &names);
        shelf.keep(5, &listing(41), &["listing-0004.json", "listing-0005.json"]);
    }

    #[test]
    fn a_message_that_is_composed_again_counts_as_it_was_kept_last() {
        let mut shelf = Shelf::new();
        shelf.keep(1, &listing(20), &["listing-0001.json"]);
        let first = KeptListing::read(&shelf.store, &shelf.id, 1);
        shelf.keep(2, &listing(40), &["listing-0001.json", "listing-0002.json"]);
        shelf.last = first;
        let names = ["listing-0001.json", "listing-0002-changes.json"];
        shelf.keep(2, &listing(21), &names);
        shelf.last = None;
        shelf.keep(2, &listing(22), &["listing-0001.json", "listing-0002.json"]);
    }
}
