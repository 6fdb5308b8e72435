//! Which existing files a wrong name may have meant.

use super::skipped::NamedGenerated;
use super::walks::Walks;
use crate::protocol::generated::is_generated;
use crate::protocol::{Listed, RelPath};

/// The most names that are suggested.
const MAX_SUGGESTIONS: usize = 3;
/// Names longer than this are not compared letter by letter.
const MAX_COMPARED: usize = 64;

/// ``; did you mean `src/main.rs`?``, or nothing.
pub(super) fn suggestion(walks: &Walks<'_>, path: &RelPath) -> String {
    let names: Vec<String> = nearest(walks, path)
        .iter()
        .map(|path| format!("`{path}`"))
        .collect();
    if names.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", names.join(" or "))
    }
}

/// Files of the same name elsewhere, and files beside it with nearly the same name.
fn nearest(walks: &Walks<'_>, path: &RelPath) -> Vec<RelPath> {
    // What tools make is seldom meant, and there is much of it.
    if is_generated(path) {
        let walked = walks.workspace.walk(None).unwrap_or_default();
        return nearest_of(&walked.files, path);
    }
    let walk = walks.beneath(None, &NamedGenerated::default());
    walk.map_or_else(|_| Vec::new(), |walk| nearest_of(&walk.walked.files, path))
}

fn nearest_of(files: &[Listed], path: &RelPath) -> Vec<RelPath> {
    let name = path.file_name().to_lowercase();
    let parent = path.parent();
    let mut close: Vec<(usize, &RelPath)> = Vec::new();
    for Listed { path: found, .. } in files {
        let other = found.file_name().to_lowercase();
        if other == name {
            close.push((0, found));
        } else if found.parent() == parent {
            let distance = distance(&name, &other);
            if distance <= 2 && distance < name.chars().count() {
                close.push((distance, found));
            }
        }
    }
    close.sort();
    close.truncate(MAX_SUGGESTIONS);
    close.into_iter().map(|(_, path)| path.clone()).collect()
}

/// How many letters have to be put in, taken out or changed.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > MAX_COMPARED || b.len() > MAX_COMPARED {
        return usize::MAX;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_letters() {
        for (a, b, expected) in [
            ("main.rs", "main.rs", 0),
            ("mian.rs", "main.rs", 2),
            ("main.r", "main.rs", 1),
            ("", "abc", 3),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }
}
