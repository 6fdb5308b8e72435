//! File names on file systems that ignore letter case, or how an accent is written.

use super::Workspace;
use crate::platform::files;
use agent_protocol::RelPath;
use unicode_normalization::UnicodeNormalization as _;

impl Workspace {
    /// True if both names differ only in letter case or in how their accents are written, and refer to
    /// the same directory entry, which has the first name. Then renaming it to the second replaces
    /// nothing.
    ///
    /// Two hard links are two entries, so this is false for them.
    pub fn is_same_name(&self, one: &RelPath, other: &RelPath) -> bool {
        if one.parent() != other.parent() || folded(one.file_name()) != folded(other.file_name()) {
            return false;
        }
        let Ok(directory) = self.parent(one) else {
            return false;
        };
        let Ok(names) = files::names_in(&directory) else {
            return false;
        };
        let (mut has_one, mut has_other) = (false, false);
        for name in names.flatten() {
            has_one |= name == one.file_name();
            has_other |= name == other.file_name();
        }
        has_one && !has_other && matches!(self.kind(other), Ok(Some(_)))
    }
}

/// A name as such a file system compares it: macOS takes `é` as one character or as two for the same.
fn folded(name: &str) -> String {
    let composed: String = name.nfc().collect();
    composed.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_composition_make_no_other_name() {
        assert_eq!(folded("Caf\u{e9}.MD"), folded("cafe\u{301}.md"));
        assert_eq!(folded("\u{c9}"), folded("e\u{301}"));
        assert_ne!(folded("cafe"), folded("caf\u{e9}"));
    }
}
