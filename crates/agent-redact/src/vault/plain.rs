//! Ordinary text that every message contains: the names of files, and our own words.
//!
//! A password that is also a file name stays readable, because a message without file names would
//! be useless. All names are one text here, which is searched once for many values.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, LazyLock};

use aho_corasick::AhoCorasick;

use super::known::is_apart;

/// The longest value that is looked for; names are not longer.
const LONGEST: usize = 100;

/// Names and words, one per line.
#[derive(Clone)]
pub struct Plain(Arc<LazyText>);

/// The names of a large workspace are a long text, and most workspaces show no secret to look for in it.
type LazyText = LazyLock<String, Box<dyn FnOnce() -> String + Send>>;

impl Plain {
    /// The words of a text, which is made when it is first needed.
    pub fn new(text: impl FnOnce() -> String + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(text))))
    }

    /// The values that occur in it without a letter or digit next to them.
    pub(super) fn among<'v>(&self, values: impl Iterator<Item = &'v str>) -> BTreeSet<String> {
        let values: Vec<&str> = values
            .filter(|value| !value.is_empty() && value.len() <= LONGEST)
            .collect();
        let mut found = BTreeSet::new();
        if values.is_empty() {
            return found;
        }
        let Ok(automaton) = AhoCorasick::new(&values) else {
            return found;
        };
        let text = self.0.as_str();
        for hit in automaton.find_overlapping_iter(text) {
            let value = values[hit.pattern().as_usize()];
            if is_apart(text.as_bytes(), &hit.range()) && !found.contains(value) {
                found.insert(value.to_owned());
            }
        }
        found
    }
}

impl Default for Plain {
    fn default() -> Self {
        Self::new(String::new)
    }
}

impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Plain")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_as_a_whole_and_by_their_parts() {
        let plain = Plain::new(|| "src/billing2.py\ngcp-billing-2024.json\n".to_owned());
        let values = [
            "billing2",
            "src/billing2.py",
            "billing",
            "illing2",
            "gcp-billing-2024",
            "gcp-billing-202",
            "",
            "hunter2",
        ];
        let found = plain.among(values.into_iter());
        let expected = ["billing", "billing2", "gcp-billing-2024", "src/billing2.py"];
        assert!(found.iter().eq(expected), "{found:?}");
        assert!(Plain::default().among(values.into_iter()).is_empty());
    }
}
