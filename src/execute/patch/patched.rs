//! What the hunks of one change make of a file.

use crate::edit::{self, Edited, Refusal};
use crate::protocol::Hunk;
use crate::workspace::text::{NotText, TextEncoding, TextFile};

/// What the hunks of one change make of a file.
pub(super) struct Patched {
    pub(super) edited: Result<Edited, Refusal>,
    /// How the file is stored.
    pub(super) encoding: TextEncoding,
    /// Whether its text is another one than before.
    pub(super) is_changed: bool,
}

impl Patched {
    /// Works it out from the content of the file.
    pub(super) fn new(content: &[u8], hunks: &[Hunk]) -> Result<Self, NotText> {
        Self::of(content, |text| edit::patch(text, hunks))
    }

    /// The same, where the lines that the hunks state are elsewhere now.
    pub(super) fn moved(
        content: &[u8],
        hunks: &[Hunk],
        now: &[Option<u32>],
    ) -> Result<Self, NotText> {
        Self::of(content, |text| edit::patch_moved(text, hunks, now))
    }

    fn of(
        content: &[u8],
        patch: impl FnOnce(&str) -> Result<Edited, Refusal>,
    ) -> Result<Self, NotText> {
        let (text, encoding) = TextFile::view(content)?;
        let edited = patch(&text);
        let is_changed = edited.as_ref().is_ok_and(|edited| edited.text != text);
        Ok(Self {
            edited,
            encoding,
            is_changed,
        })
    }
}
