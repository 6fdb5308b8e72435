//! Words that may be names, to be found among very many texts.
//!
//! Most texts are told from all of them by their first byte and their length, without a look at the
//! rest.

use std::collections::HashSet;

/// The longest length that has a bit of its own.
const LONGEST: usize = 63;

/// A set of words.
pub(super) struct WordSet<'a> {
    all: HashSet<&'a str>,
    /// For each first byte the lengths of the words, as bits; the last is that of all longer ones.
    lengths: [u64; 256],
}

impl<'a> WordSet<'a> {
    /// The word that is this text.
    pub(super) fn get(&self, text: &str) -> Option<&'a str> {
        if self.lengths_like(text) & length_bit(text) == 0 {
            return None;
        }
        self.all.get(text).copied()
    }

    /// Returns true if this text is one of the words.
    pub(super) fn contains(&self, text: &str) -> bool {
        self.get(text).is_some()
    }

    /// Returns true if there are no words.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The words, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &'a str> {
        self.all.iter().copied()
    }

    fn lengths_like(&self, text: &str) -> u64 {
        let first = text.as_bytes().first();
        first.map_or(0, |first| self.lengths[usize::from(*first)])
    }
}

impl<'a> FromIterator<&'a str> for WordSet<'a> {
    fn from_iter<I: IntoIterator<Item = &'a str>>(words: I) -> Self {
        let all: HashSet<&str> = words.into_iter().collect();
        let mut lengths = [0; 256];
        for word in &all {
            if let Some(first) = word.as_bytes().first() {
                lengths[usize::from(*first)] |= length_bit(word);
            }
        }
        Self { all, lengths }
    }
}

fn length_bit(text: &str) -> u64 {
    1 << text.len().min(LONGEST)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn has_what_a_set_has(words in proptest::collection::vec("[ab]{1,3}|a{60,66}", 0..8), text in "[abc]{0,3}|a{60,66}") {
            let names: WordSet<'_> = words.iter().map(String::as_str).collect();
            prop_assert_eq!(names.contains(&text), words.contains(&text));
        }
    }
}
