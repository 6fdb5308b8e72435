//! The person's notes that wait for the next message: they can be listed and withdrawn.

use super::open::SessionFiles;
use crate::error::{Error, Result};
use crate::protocol::SessionId;
use crate::session::{Note, RoundLock, Source};

/// Which notes are withdrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhichNotes {
    /// The one with this number, counted from 1.
    Number(usize),
    /// All of them.
    All,
}

/// The texts of the notes that wait, the oldest first.
pub fn waiting(files: &SessionFiles, id: &SessionId) -> Vec<String> {
    let notes = own(files, id).into_iter();
    notes.map(|note| note.text).collect()
}

/// Withdraws notes before the model gets them, and returns their texts.
pub fn withdraw(files: &SessionFiles, id: &SessionId, which: WhichNotes) -> Result<Vec<String>> {
    // A round that is being concluded puts them into its message.
    let _alone = RoundLock::take(files.store.directory())?;
    let all = own(files, id);
    let chosen: Vec<&Note> = match which {
        WhichNotes::All => all.iter().collect(),
        WhichNotes::Number(number) => {
            let note = number.checked_sub(1).and_then(|at| all.get(at));
            vec![note.ok_or_else(|| {
                Error::usage(format!("there is no note {number}"))
                    .hint("`agent notes` lists those that wait")
            })?]
        }
    };
    let notes = files.store.notes(id);
    let mut withdrawn = Vec::new();
    for note in chosen {
        if notes.withdraw(note)? {
            withdrawn.push(note.text.clone());
        }
    }
    Ok(withdrawn)
}

/// Only the person's own notes: those of undo and `agent add` are not to be withdrawn here.
fn own(files: &SessionFiles, id: &SessionId) -> Vec<Note> {
    let notes = files.store.notes(id).all().into_iter();
    notes.filter(|note| note.source == Source::Person).collect()
}
