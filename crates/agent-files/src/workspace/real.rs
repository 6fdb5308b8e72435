//! Resolves links to the real path of a file.
//!
//! The policy decides by name, and a link gives a file another name. Hard links do not matter here:
//! none of their names is more real than the others.

use super::Workspace;
use crate::platform::files;
use agent_protocol::RelPath;

impl Workspace {
    /// The real path of a file, if a link on the way gives it another one.
    ///
    /// The result is for policy checks, not for opening: characters that no path in a reply can
    /// contain are replaced.
    pub fn real(&self, path: &RelPath) -> Option<RelPath> {
        if files::open_file_beneath(&self.root, path.as_str()).is_ok() {
            return None;
        }
        let real = self.root.canonicalize(path.as_str()).ok()?;
        let visible = |character: char| match character {
            hidden if hidden.is_control() => '_',
            other => other,
        };
        let text: String = real.to_string_lossy().chars().map(visible).collect();
        RelPath::parse(&text).ok().filter(|real| real != path)
    }
}
