//! Names of what is left out, no more than are read.

/// As many of the titles as have this length together, in characters, and how many more there are.
pub(super) fn titles(titles: &[impl AsRef<str>], most: usize) -> String {
    let mut used = 0;
    let is_short = |title: &&_| {
        let title: &str = AsRef::as_ref(*title);
        used += title.chars().count() + 2;
        used <= most
    };
    let fitting = titles.iter().take_while(is_short).count();
    listed(titles, fitting)
}

/// So many of the titles, and how many more there are.
pub(super) fn listed(titles: &[impl AsRef<str>], most: usize) -> String {
    let named: Vec<&str> = titles.iter().take(most).map(AsRef::as_ref).collect();
    let named = named.join(", ");
    match (titles.len().saturating_sub(most), named.is_empty()) {
        (0, _) => named,
        (more, true) => format!("{more} files"),
        (more, false) => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_named_and_the_others_counted() {
        assert_eq!(listed(&["a", "b"], 2), "a, b");
        assert_eq!(listed(&["a", "b", "c"], 1), "a and 2 more");
        assert_eq!(titles(&["abc", "def", "g"], 10), "abc, def and 1 more");
        assert_eq!(titles(&["abc", "def"], 2), "2 files");
        assert_eq!(titles(&[] as &[&str], 2), "");
    }
}
