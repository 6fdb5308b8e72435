//! The person's list of secrets that are sent unredacted.

use regex::Regex;
use serde::{Deserialize, Serialize};

/// Kinds, values, or patterns with `*` that are sent unredacted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Allow {
    items: Vec<String>,
}

impl Allow {
    /// Parses a list, separated by white space or commas.
    pub fn parse(text: &str) -> Self {
        let items = text.split(|c: char| c.is_whitespace() || c == ',');
        Self {
            items: items
                .filter(|item| !item.is_empty())
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Returns true if a secret of this kind with these lines is sent unredacted.
    pub(super) fn permits<'a>(
        &self,
        kind: &str,
        mut values: impl Iterator<Item = &'a str>,
    ) -> bool {
        if self.items.is_empty() {
            return false;
        }
        self.items.iter().any(|item| item == kind)
            || values.all(|value| self.items.iter().any(|item| fits(item, value)))
    }
}

impl From<String> for Allow {
    fn from(list: String) -> Self {
        Self::parse(&list)
    }
}

impl From<Allow> for String {
    fn from(allow: Allow) -> Self {
        allow.items.join(" ")
    }
}

/// Returns true if a value matches a pattern in which `*` stands for anything.
fn fits(pattern: &str, value: &str) -> bool {
    let pattern = regex::escape(pattern).replace(r"\*", ".*");
    Regex::new(&format!(r"(?s)\A{pattern}\z")).is_ok_and(|pattern| pattern.is_match(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(pattern: &str, value: &str, expected: bool) {
        assert_eq!(fits(pattern, value), expected, "{pattern} {value}");
    }

    #[test]
    fn a_star_stands_for_anything() {
        case("abc", "abc", true);
        case("abc", "abcd", false);
        case("sk_test_*", "sk_test_1", true);
        case("*x*y", "axby", true);
        case("*x*y", "axb", false);
        case("a*a", "a", false);
        case("*", "", true);
    }

    #[test]
    fn kinds_and_values_are_allowed_and_an_empty_list_allows_nothing() {
        let allow = Allow::parse("jwt, sk_test_*\n");
        assert!(allow.permits("jwt", ["anything"].into_iter()));
        assert!(allow.permits("stripe-key", ["sk_test_1"].into_iter()));
        assert!(!allow.permits("stripe-key", ["sk_live_1"].into_iter()));
        assert!(!Allow::default().permits("jwt", [].into_iter()));
    }
}
