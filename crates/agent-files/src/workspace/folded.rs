//! Names that a file system takes for the same although they are not.

use super::Workspace;
use crate::platform::files;
use agent_protocol::RelPath;

impl Workspace {
    /// Whether one file answers to both names, which differ in the case of letters only, and has the
    /// first of them: then the second is free for it.
    ///
    /// Two links to one file are two names in their directory, and so never this.
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
