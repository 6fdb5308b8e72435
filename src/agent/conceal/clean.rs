//! Texts that were searched and have no secret in them.
//!
//! Most of what a message tells stood in the message before it, and the earlier rounds stand in every
//! one. A text is not searched again as long as nothing was learned since.

use std::collections::BTreeSet;

use crate::secrets::TextSource;

/// How many texts are remembered; then it begins anew.
const MAX_TEXTS: usize = 4_096;

/// What tells a text, and where it comes from, from all others.
pub(super) type Mark = [u8; 32];

/// Texts without secrets, by their marks.
#[derive(Debug, Default)]
pub(super) struct Clean {
    marks: BTreeSet<Mark>,
    /// How often what is known had changed when they were searched.
    known: usize,
}

impl Clean {
    /// Whether the text was searched when the same was known as now, and had no secret in it.
    pub(super) fn has(&mut self, mark: &Mark, known: usize) -> bool {
        if self.known != known {
            self.marks.clear();
            self.known = known;
        }
        self.marks.contains(mark)
    }

    /// Remembers a text that has none of the secrets that were known at the last look.
    pub(super) fn remember(&mut self, mark: Mark) {
        if self.marks.len() == MAX_TEXTS {
            self.marks.clear();
        }
        self.marks.insert(mark);
    }
}

/// The mark of a text.
pub(super) fn mark(text: &str, source: TextSource<'_>) -> Mark {
    let mut hasher = blake3::Hasher::new();
    if let TextSource::File(path) = source {
        // No path has this in it, so that none runs into the text.
        hasher.update(path.as_bytes()).update(b"\0");
    }
    hasher.update(b"\0").update(text.as_bytes());
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learned_since_is_looked_for_everywhere() {
        let mut clean = Clean::default();
        let text = mark("the word is swordfish", TextSource::Text);
        assert!(!clean.has(&text, 0));
        clean.remember(text);
        assert!(clean.has(&text, 0));
        assert!(!clean.has(&text, 1));
        assert!(!clean.has(&text, 0), "forgotten for good");
    }

    #[test]
    fn the_same_text_of_another_file_is_another() {
        let marks = [
            mark("A=b", TextSource::Text),
            mark("A=b", TextSource::File(".env")),
            mark("A=b", TextSource::File("a.rs")),
            mark("A=c", TextSource::Text),
            mark("", TextSource::File(".env\0A=b")),
        ];
        let different: BTreeSet<_> = marks.iter().collect();
        assert_eq!(different.len(), marks.len());
    }
}
