//! A record of what was shown and cut while the material of a message was fitted to its room.

use crate::protocol::ShownLines;

/// Grows as the sections are fitted, in their order.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    /// The omissions, in words for the person.
    pub(super) words: Vec<String>,
    /// The lines of files that were shown.
    pub(super) shown: Vec<ShownLines>,
    /// True if the message tells of the person's changes, or that some are missing.
    pub(super) tells_changes: bool,
    /// The numbers of the steps whose results are not told in full.
    pub(super) results: Vec<u32>,
    /// Which of the contents that the model asked for are not shown, by their places.
    pub(super) unkept: Vec<usize>,
    /// How many lines of each of the project's instructions are shown, if it is there at all.
    pub(super) project: Vec<Option<usize>>,
}

impl Cuts {
    /// Something was left out.
    pub(super) fn push(&mut self, words: String) {
        self.words.push(words);
    }

    /// Adds the record of later material.
    pub(super) fn append(&mut self, later: Self) {
        let Self {
            words,
            shown,
            tells_changes,
            results,
            unkept,
            project,
        } = later;
        self.words.extend(words);
        self.shown.extend(shown);
        self.tells_changes |= tells_changes;
        self.results.extend(results);
        self.unkept.extend(unkept);
        self.project.extend(project);
    }

    /// So much of the result of a step was left out.
    pub(super) fn cut_result(&mut self, how_much: &str, number: u32) {
        self.words.push(format!("{how_much} of result {number}"));
        self.results.push(number);
    }
}
