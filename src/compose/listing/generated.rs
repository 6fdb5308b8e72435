//! The lines about directories that tools fill by themselves: few, however many there are.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{chars, files};
use crate::number::grouped;

/// The most characters for all of them, without the note about the rest.
const ROOM: usize = 500;

/// So many of one name have a line each; more have one together.
const FEW: usize = 3;

/// The lines about these directories, each with the number of its files.
pub(super) fn lines(directories: &BTreeMap<String, u64>) -> String {
    let mut alike: BTreeMap<&str, Vec<(&str, u64)>> = BTreeMap::new();
    for (path, count) in directories {
        let name = path.rsplit('/').next().unwrap_or(path);
        alike.entry(name).or_default().push((path, *count));
    }
    let mut text = String::new();
    let (mut left, mut untold) = (ROOM, 0);
    let mut tell = |line: &str, directories: usize| match left.checked_sub(chars(line)) {
        Some(rest) => {
            left = rest;
            text.push_str(line);
        }
        None => untold += directories,
    };
    for (name, same) in alike {
        if same.len() > FEW {
            let count = grouped(same.len() as u64);
            tell(
                &format!("{name}/ ({count} directories, generated)\n"),
                same.len(),
            );
            continue;
        }
        for (path, count) in same {
            tell(&format!("{path}/ ({}, generated)\n", files(count)), 1);
        }
    }
    if untold > 0 {
        let untold = grouped(untold as u64);
        let _ = writeln!(text, "... (generated directories besides: {untold})");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(paths: impl IntoIterator<Item = String>) -> String {
        lines(&paths.into_iter().map(|path| (path, 2)).collect())
    }

    #[test]
    fn many_of_one_name_have_one_line() {
        let mut paths: Vec<String> = (0..330).map(|n| format!("p{n}/__pycache__")).collect();
        paths.push("web/node_modules".to_owned());
        assert_eq!(
            told(paths),
            "__pycache__/ (330 directories, generated)\nweb/node_modules/ (2 files, generated)\n"
        );
    }

    #[test]
    fn no_names_make_them_long() {
        let deep = |n: usize, name: &str| format!("{}{n}/{name}", "long/".repeat(40));
        let text =
            told((0..3).flat_map(|n| [".tox", ".venv", "node_modules"].map(|name| deep(n, name))));
        assert!(chars(&text) < ROOM + 60, "{text}");
        assert!(
            text.ends_with("\n... (generated directories besides: 7)\n"),
            "{text}"
        );
    }
}
