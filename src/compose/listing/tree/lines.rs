//! The lines of a tree, and what they take.

use std::fmt::Write as _;

use super::super::runs::ends;
use super::super::{described, files};
use super::{Directory, LINE, Tree, TreeRow};
use crate::number::grouped;

/// By how much the numbers in two names may be longer than in the first of them, about.
const NUMBERS: usize = 10;

impl Tree<'_> {
    pub(super) fn cost(&self, entries: &[TreeRow]) -> usize {
        let cost = |entry: &TreeRow| match entry {
            TreeRow::File(at) => self.files[*at].path.file_name().len() + LINE,
            // Two of its names are told.
            TreeRow::Run(at, _) => self.files[*at].path.file_name().len() * 2 + LINE + NUMBERS,
            TreeRow::Directory(inner) => inner.start + LINE,
            TreeRow::Directories { from, .. } => {
                let path = self.files[*from].path.as_str();
                path.len() * 2 + LINE * 2 + NUMBERS
            }
        };
        entries.iter().map(cost).sum()
    }

    /// Writes what is open; as deep as directories were opened, which is less than there are items.
    pub(super) fn write(&self, directory: Directory, text: &mut String) {
        let Some(opened) = self.open.get(&directory) else {
            return;
        };
        let indent = "  ".repeat(directory.depth);
        let mut shown = 0;
        for entry in &opened.entries {
            match *entry {
                TreeRow::File(at) => {
                    let file = &self.files[at];
                    let name = &file.path.as_str()[directory.start..];
                    let _ = writeln!(text, "{indent}{name} ({})", described(file));
                }
                TreeRow::Run(from, to) => {
                    let names = self.files[from..to].iter();
                    let names = names.map(|file| &file.path.as_str()[directory.start..]);
                    let count = files((to - from) as u64);
                    if let Some((first, last)) = ends(names) {
                        let _ = writeln!(text, "{indent}{first} \u{2026} {last} ({count})");
                    }
                }
                TreeRow::Directories { from, to, count } => {
                    let names = self.files[from..to].iter().filter_map(|file| {
                        let path = &file.path.as_str()[directory.start..];
                        Some(path.split_once('/')?.0)
                    });
                    let files = files((to - from) as u64);
                    let count = grouped(count as u64);
                    if let Some((first, last)) = ends(names) {
                        let _ = writeln!(
                            text,
                            "{indent}{first}/ \u{2026} {last}/ ({count} directories, {files})"
                        );
                    }
                }
                TreeRow::Directory(inner) => {
                    let path = self.files[inner.from].path.as_str();
                    let name = &path[directory.start..inner.start];
                    if self.open.contains_key(&inner) {
                        let _ = writeln!(text, "{indent}{name}");
                        self.write(inner, text);
                    } else {
                        let count = files((inner.to - inner.from) as u64);
                        let _ = writeln!(text, "{indent}{name} ({count})");
                    }
                }
            }
            shown += entry.to() - entry.from();
        }
        if opened.is_part && directory.depth > 0 {
            let more = directory.to - directory.from - shown;
            let _ = writeln!(text, "{indent}... ({} besides)", files(more as u64));
        }
    }
}
