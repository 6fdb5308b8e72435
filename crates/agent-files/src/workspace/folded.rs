//! File names on file systems that ignore letter case.

use super::Workspace;
use crate::platform::files;
use agent_protocol::RelPath;

impl Workspace {
    /// True if both names differ only in letter case and refer to the same directory entry, which
    /// has the first name. Then renaming it to the second replaces nothing.
    ///
    /// Two hard links are two entries, so this is false for them.
    pub fn is_same_name(&self, one: &RelPath, other: &RelPath) -> bool {
        if one.parent() != other.parent()
            || one.file_name().to_lowercase() != other.file_name().to_lowercase()
        {
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
