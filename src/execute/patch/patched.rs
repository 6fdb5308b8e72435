//! The effect of the hunks of one change on a file.

use super::super::replace::copied_characters_remark;
use crate::edit::{self, Edited, Refusal};
use crate::protocol::{Hunk, RelPath};
use crate::workspace::text::{NotText, TextEncoding, TextFile};

/// The effect of the hunks of one change on a file.
pub(super) struct Patched {
    pub(super) edited: Result<Edited, Refusal>,
    /// How the file is stored.
    pub(super) encoding: TextEncoding,
    /// Set if its text is another one than before.
    pub(super) is_changed: bool,
    /// Characters in its new text that copying makes.
    pub(super) remark: Option<String>,
}

impl Patched {
    /// Works it out from the content of the file.
    pub(super) fn new(path: &RelPath, content: &[u8], hunks: &[Hunk]) -> Result<Self, NotText> {
        Self::of(path, content, |text| edit::patch(text, hunks))
    }

    /// Works it out where the lines that the hunks state are elsewhere now.
    pub(super) fn moved(
        path: &RelPath,
        content: &[u8],
        hunks: &[Hunk],
        now: &[Option<u32>],
    ) -> Result<Self, NotText> {
        Self::of(path, content, |text| edit::patch_moved(text, hunks, now))
    }

    fn of(
        path: &RelPath,
        content: &[u8],
        place_hunks: impl FnOnce(&str) -> Result<Edited, Refusal>,
    ) -> Result<Self, NotText> {
        let (text, encoding) = TextFile::view(content)?;
        let edited = place_hunks(&text);
        let is_changed = edited.as_ref().is_ok_and(|edited| edited.text != text);
        let new = edited.as_ref().ok().filter(|_| is_changed);
        let remark = new.and_then(|edited| copied_characters_remark(path, &text, &edited.text));
        Ok(Self {
            edited,
            encoding,
            is_changed,
            remark,
        })
    }
}
