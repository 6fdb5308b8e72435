//! Where a session works, in words that hold when the base directory is moved with it.

use std::path::{Path, PathBuf};

use super::Agent;

impl Agent {
    /// The workspace as a session keeps it: from the base directory where one lies in the other,
    /// else absolute; nothing if it cannot be written as text.
    pub fn workspace_from_base(&self) -> Option<String> {
        from(&self.base, self.workspace.path())
            .to_str()
            .map(str::to_owned)
    }
}

fn from(base: &Path, workspace: &Path) -> PathBuf {
    if base == workspace {
        return PathBuf::from(".");
    }
    if let Ok(beneath) = workspace.strip_prefix(base) {
        return beneath.to_owned();
    }
    match base.strip_prefix(workspace) {
        Ok(down) => down.components().map(|_| "..").collect(),
        Err(_) => workspace.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_named_from_the_base_if_one_lies_in_the_other() {
        let case = |workspace: &str, expected: &str| {
            let named = from(Path::new("/project/.agent"), Path::new(workspace));
            assert_eq!(named, Path::new(expected));
        };
        case("/project/.agent/workspace", "workspace");
        case("/project/.agent", ".");
        case("/project", "..");
        case("/", "../..");
        case("/elsewhere", "/elsewhere");
    }
}
