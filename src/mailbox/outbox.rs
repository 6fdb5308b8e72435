//! Writing prompts.
//!
//! A prompt appears under its name only when all of it is on the disk, also after power loss: the
//! person may carry it away at once. One that goes in parts, or as a file beside a short message,
//! counts as posted when all its files are there; the one to paste first is written last.

use std::fs;
use std::path::PathBuf;

use serde::Serialize;

use super::{Mailbox, round_prefix};
use crate::error::{Error, Result};
use crate::fs::{Durability, write_atomic};
use crate::protocol::SessionId;

/// The files of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Posted {
    /// The pastes in order; never empty.
    pub pastes: Vec<PathBuf>,
    /// The file to drag in beside it.
    pub attachment: Option<PathBuf>,
}

impl Posted {
    fn whole(path: PathBuf) -> Self {
        Self {
            pastes: vec![path],
            attachment: None,
        }
    }
}

/// The name under which the current message always lies in the outbox.
const LATEST: &str = "latest.txt";

impl Mailbox {
    /// Where the prompt of a round lies: `outbox/ab12cd34_seq0001.txt`.
    pub fn outbox_path(&self, id: &SessionId, sequence: u32) -> PathBuf {
        self.outbox
            .join(format!("{}.txt", round_prefix(id, sequence)))
    }

    fn attachment_path(&self, id: &SessionId, sequence: u32) -> PathBuf {
        let prefix = round_prefix(id, sequence);
        self.outbox.join(format!("{prefix}_attachment.txt"))
    }

    fn part_path(&self, id: &SessionId, sequence: u32, number: usize, total: usize) -> PathBuf {
        let prefix = round_prefix(id, sequence);
        self.outbox
            .join(format!("{prefix}_part{number}of{total}.txt"))
    }

    /// Writes the prompt of a round.
    pub fn write_outbox(&self, id: &SessionId, sequence: u32, text: &str) -> Result<Posted> {
        let path = self.outbox_path(id, sequence);
        crate::fs::own_directory(&self.outbox)?;
        write_atomic(&path, text.as_bytes(), Durability::Durable)?;
        Ok(Posted::whole(path))
    }

    /// Keeps `latest.txt` a copy of what is pasted first of a message.
    ///
    /// It is a convenience: where it cannot be written, the message itself is there.
    pub fn keep_latest(&self, posted: &Posted) {
        let Some(path) = posted.pastes.first() else {
            return;
        };
        let latest = self.outbox.join(LATEST);
        let Ok(text) = std::fs::read(path) else {
            return;
        };
        if std::fs::read(&latest).ok().as_ref() != Some(&text) {
            let _ = write_atomic(&latest, &text, Durability::Atomic);
        }
    }

    /// Removes `latest.txt` if it has a message of this session.
    pub fn forget_latest(&self, id: &SessionId) {
        let latest = self.outbox.join(LATEST);
        let text = std::fs::read_to_string(&latest).unwrap_or_default();
        if text.contains(id.as_str()) {
            let _ = crate::fs::remove(&latest);
        }
    }

    /// Writes a prompt that goes in parts.
    pub fn write_parts(&self, id: &SessionId, sequence: u32, parts: &[String]) -> Result<Posted> {
        crate::fs::own_directory(&self.outbox)?;
        let mut pastes: Vec<PathBuf> = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate().rev() {
            let path = self.part_path(id, sequence, index + 1, parts.len());
            write_atomic(&path, part.as_bytes(), Durability::Durable)?;
            pastes.push(path);
        }
        pastes.reverse();
        Ok(Posted {
            pastes,
            attachment: None,
        })
    }

    /// Writes a prompt that goes as a file beside a short message.
    pub fn write_attached(
        &self,
        id: &SessionId,
        sequence: u32,
        message: &str,
        attachment: &str,
    ) -> Result<Posted> {
        crate::fs::own_directory(&self.outbox)?;
        let path = self.attachment_path(id, sequence);
        write_atomic(&path, attachment.as_bytes(), Durability::Durable)?;
        Ok(Posted {
            attachment: Some(path),
            ..self.write_outbox(id, sequence, message)?
        })
    }

    /// The prompt of a round, if all of it is there.
    pub fn posted(&self, id: &SessionId, sequence: u32) -> Option<Posted> {
        let path = self.outbox_path(id, sequence);
        if path.exists() {
            let attachment = self.attachment_path(id, sequence);
            return Some(Posted {
                attachment: attachment.exists().then_some(attachment),
                ..Posted::whole(path)
            });
        }
        let total = self.parts(id, sequence).into_iter().map(|(_, total)| total);
        let pastes = total.max().map(|total| {
            let paths = (1..=total).map(|number| self.part_path(id, sequence, number, total));
            paths.collect::<Vec<_>>()
        })?;
        let is_whole = pastes.iter().all(|path| path.exists());
        is_whole.then_some(Posted {
            pastes,
            attachment: None,
        })
    }

    /// Removes the parts of a prompt of which not all were written.
    pub fn remove_parts(&self, id: &SessionId, sequence: u32) -> Result<()> {
        for (number, total) in self.parts(id, sequence) {
            let path = self.part_path(id, sequence, number, total);
            fs::remove_file(&path).map_err(|cause| Error::file("remove", &path, cause))?;
        }
        Ok(())
    }

    /// The number and the total of each part that is there.
    fn parts(&self, id: &SessionId, sequence: u32) -> Vec<(usize, usize)> {
        let prefix = format!("{}_part", round_prefix(id, sequence));
        let number_of = |name: &str| {
            let (number, total) = name
                .strip_prefix(&prefix)?
                .strip_suffix(".txt")?
                .split_once("of")?;
            Some((number.parse().ok()?, total.parse().ok()?))
        };
        let entries = fs::read_dir(&self.outbox).into_iter().flatten();
        entries
            .filter_map(|entry| number_of(entry.ok()?.file_name().to_str()?))
            .collect()
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
        let posted = mailbox.write_outbox(&id, 1, "text").unwrap();
        assert_eq!(posted.pastes, [outbox.join("ab12cd34_seq0001.txt")]);
        assert_eq!(fs::read(&posted.pastes[0]).unwrap(), b"text");
        assert_eq!(mailbox.posted(&id, 1), Some(posted));
        assert_eq!(mailbox.posted(&id, 2), None);
        let late = mailbox.outbox_path(&id, 12_345);
        assert_eq!(late, outbox.join("ab12cd34_seq12345.txt"));
    }

    #[test]
    fn parts_count_only_when_all_are_there() {
        let base = tempfile::tempdir().unwrap();
        let (outbox, inbox) = (base.path().join("outbox"), base.path().join("inbox"));
        let mailbox = Mailbox::open(outbox.clone(), inbox).unwrap();
        let id = SessionId::parse("ab12cd34").unwrap();
        let parts = ["one".to_owned(), "two".to_owned(), "three".to_owned()];
        let posted = mailbox.write_parts(&id, 1, &parts).unwrap();
        let first = outbox.join("ab12cd34_seq0001_part1of3.txt");
        assert_eq!(posted.pastes[0], first);
        assert_eq!(mailbox.posted(&id, 1), Some(posted));
        fs::remove_file(first).unwrap();
        assert_eq!(mailbox.posted(&id, 1), None);
        mailbox.remove_parts(&id, 1).unwrap();
        assert_eq!(fs::read_dir(outbox).unwrap().count(), 0);
    }

    #[test]
    fn an_attachment_lies_beside_its_message() {
        let base = tempfile::tempdir().unwrap();
        let (outbox, inbox) = (base.path().join("outbox"), base.path().join("inbox"));
        let mailbox = Mailbox::open(outbox.clone(), inbox).unwrap();
        let id = SessionId::parse("ab12cd34").unwrap();
        let posted = mailbox.write_attached(&id, 7, "short", "long").unwrap();
        let attachment = outbox.join("ab12cd34_seq0007_attachment.txt");
        assert_eq!(posted.attachment, Some(attachment));
        assert_eq!(mailbox.posted(&id, 7), Some(posted));
    }
}
