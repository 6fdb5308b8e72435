//! Writing prompts.
//!
//! A prompt appears under its name only when all of it is on the disk, also after power loss: the
//! person may carry it away at once.

use std::path::PathBuf;

use super::{Mailbox, round_prefix};
use crate::error::Result;
use crate::fs::{Durability, write_atomic};
use crate::protocol::SessionId;

impl Mailbox {
    /// Where the prompt of a round lies: `outbox/ab12cd34_seq0001.txt`.
    pub fn outbox_path(&self, id: &SessionId, sequence: u32) -> PathBuf {
        self.outbox
            .join(format!("{}.txt", round_prefix(id, sequence)))
    }

    /// Writes the prompt of a round and gives its path.
    pub fn write_outbox(&self, id: &SessionId, sequence: u32, text: &str) -> Result<PathBuf> {
        let path = self.outbox_path(id, sequence);
        crate::fs::create_directory(&self.outbox)?;
        write_atomic(&path, text.as_bytes(), Durability::Durable)?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_lies_under_the_name_of_its_round() {
        let base = tempfile::tempdir().unwrap();
        let (outbox, inbox) = (base.path().join("outbox"), base.path().join("inbox"));
        let mailbox = Mailbox::open(outbox.clone(), inbox).unwrap();
        let id = SessionId::parse("ab12cd34").unwrap();
        let path = mailbox.write_outbox(&id, 1, "text").unwrap();
        assert_eq!(path, outbox.join("ab12cd34_seq0001.txt"));
        assert_eq!(std::fs::read(path).unwrap(), b"text");
        let late = mailbox.outbox_path(&id, 12_345);
        assert_eq!(late, outbox.join("ab12cd34_seq12345.txt"));
    }
}
