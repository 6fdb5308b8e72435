//! `Listed`: a file in a listing of the workspace.

use serde::{Deserialize, Serialize};

use crate::RelPath;

/// A file in the workspace, as a walk found it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Its path.
    pub path: RelPath,
    /// Its length in bytes; 0 for a link.
    pub size: u64,
    /// When it was changed, in nanoseconds since 1970; 0 if unknown. Only compared, never shown.
    pub modified: i64,
    /// True for a symbolic link, which is not followed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_link: bool,
}

/// Neighbours in a listing that lie in the same directory, and that directory: empty at the top.
pub fn by_directory(files: &[Listed]) -> ByDirectory<'_> {
    ByDirectory { files }
}

/// The files of a listing, directory by directory.
///
/// This is a type of its own because closures are compiled in the crate that uses them, which is
/// optimised for size; this crate is optimised for speed.
#[derive(Debug)]
pub struct ByDirectory<'a> {
    files: &'a [Listed],
}

impl<'a> Iterator for ByDirectory<'a> {
    type Item = (&'a str, &'a [Listed]);

    fn next(&mut self) -> Option<Self::Item> {
        let first = &self.files.first()?.path;
        let is_other = |file: &Listed| !file.path.is_beside(first);
        let end = self.files.iter().position(is_other);
        let (group, files) = self.files.split_at(end.unwrap_or(self.files.len()));
        self.files = files;
        Some((first.split().0, group))
    }
}

impl Listed {
    /// A file whose time is not known.
    pub fn of_size(path: RelPath, size: u64) -> Self {
        Self {
            path,
            size,
            modified: 0,
            is_link: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_grouped_by_directory() {
        let file = |path: &str| Listed::of_size(RelPath::parse(path).unwrap(), 0);
        let files = ["a/b.rs", "a/c.rs", "a/d/e.rs", "a/f.rs", "g.rs"].map(file);
        let groups = by_directory(&files).map(|(directory, files)| {
            let names = files.iter().map(|file| file.path.file_name());
            (directory, names.collect::<Vec<_>>())
        });
        let expected = [
            ("a", vec!["b.rs", "c.rs"]),
            ("a/d", vec!["e.rs"]),
            ("a", vec!["f.rs"]),
            ("", vec!["g.rs"]),
        ];
        assert!(groups.eq(expected));
    }
}
