//! Where a file really lies that a link leads to.
//!
//! What may be shown of a file depends on its name, and a link gives it another one. Hard links are
//! no matter of this: no name of theirs is more real than another.

use super::Workspace;
use crate::platform::files;
use agent_protocol::RelPath;

impl Workspace {
    /// The path at which a file really lies, if a link on the way to it gives it another one.
    ///
    /// Characters that no path in a reply can have are replaced: it is to be judged, not opened.
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
