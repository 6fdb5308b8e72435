//! The message that lies in `outbox/` and waits to be carried.

use std::fs;
use std::path::Path;

use crate::error::{Error, Result};
use crate::mailbox::{Mailbox, Posted};
use crate::protocol::{EndMark, SessionId};

/// The message of a round, and its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The round, and the mark that ends its reply.
    pub mark: EndMark,
    /// The pastes in order, and the attachments.
    pub posted: Posted,
    /// The digest of its files: one with other words is another one, under the same name.
    pub digest: String,
}

impl Message {
    /// The latest message of a session, if all of it is there.
    pub fn latest(mailbox: &Mailbox, session: &SessionId) -> Option<Self> {
        let files = mailbox.messages_of(session).ok()?;
        let start = format!("{session}_seq");
        let sequence = files
            .iter()
            .filter_map(|path| {
                let rest = path.file_name()?.to_str()?.strip_prefix(&start)?;
                let end = rest.find(['.', '_'])?;
                rest[..end].parse().ok()
            })
            .max()?;
        let posted = mailbox.posted(session, sequence)?;
        let attachment = posted.attachment.as_deref();
        Some(Self {
            mark: EndMark {
                session: session.clone(),
                sequence,
            },
            digest: digest(posted.pastes.iter().map(AsRef::as_ref).chain(attachment))?,
            posted,
        })
    }

    /// How many pastes it takes.
    pub fn parts(&self) -> usize {
        self.posted.pastes.len()
    }

    /// The text of one of its pastes, from 1.
    pub fn paste(&self, number: usize) -> Result<String> {
        let place = number.checked_sub(1);
        let Some(path) = place.and_then(|at| self.posted.pastes.get(at)) else {
            let (has, hint) = match self.parts() {
                0 | 1 => ("one".to_owned(), "leave the number out".to_owned()),
                parts => (
                    parts.to_string(),
                    format!("give a number from 1 to {parts}, or leave it out"),
                ),
            };
            let trouble = format!("there is no part {number}: the message has {has}");
            return Err(Error::usage(trouble).hint(hint));
        };
        let bytes = fs::read(path).map_err(|cause| Error::file("read", path, cause))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The name of a paste: `the message`, or `part 2 of 3 of the message`.
    pub fn name(&self, number: usize) -> String {
        match self.parts() {
            0 | 1 => "the message".to_owned(),
            total => format!("part {number} of {total} of the message"),
        }
    }
}

/// A word that stands for the contents of these files; nothing if one cannot be read.
fn digest<'p>(files: impl Iterator<Item = &'p Path>) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    for path in files {
        let content = fs::read(path).ok()?;
        hasher.update(&content.len().to_le_bytes()).update(&content);
    }
    Some(hasher.finalize().to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{Durability, write_atomic};

    #[track_caller]
    fn case(files: &[&str], expected: Option<(u32, &[&str])>) {
        let base = tempfile::tempdir().unwrap();
        let outbox = base.path().join("outbox");
        let mailbox = Mailbox::open(outbox.clone(), base.path().join("inbox")).unwrap();
        for name in files {
            write_atomic(&outbox.join(name), name.as_bytes(), Durability::Atomic).unwrap();
        }
        let session = SessionId::parse("ab12cd34").unwrap();
        let found = Message::latest(&mailbox, &session).map(|message| {
            let pastes = 1..=message.parts();
            let texts: Vec<String> = pastes.map(|n| message.paste(n).unwrap()).collect();
            (message.mark.sequence, texts)
        });
        let expected = expected.map(|(sequence, names)| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            (sequence, names)
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn the_latest_round_is_found_and_its_parts_in_order() {
        case(&[], None);
        case(
            &[
                "ab12cd34_seq0002.txt",
                "ab12cd34_seq0010.txt",
                "ffffffff_seq0011.txt",
            ],
            Some((10, &["ab12cd34_seq0010.txt"])),
        );
        case(
            &[
                "ab12cd34_seq0001.txt",
                "ab12cd34_seq0002_part2of2.txt",
                "ab12cd34_seq0002_part1of2.txt",
            ],
            Some((
                2,
                &[
                    "ab12cd34_seq0002_part1of2.txt",
                    "ab12cd34_seq0002_part2of2.txt",
                ],
            )),
        );
    }

    #[test]
    fn a_message_is_known_by_its_words_and_not_by_its_time() {
        let base = tempfile::tempdir().unwrap();
        let (outbox, inbox) = (base.path().join("outbox"), base.path().join("inbox"));
        let mailbox = Mailbox::open(outbox.clone(), inbox.clone()).unwrap();
        let session = SessionId::parse("ab12cd34").unwrap();
        let file = outbox.join("ab12cd34_seq0001.txt");
        let latest = || Message::latest(&mailbox, &session);
        write_atomic(&file, b"words", Durability::Atomic).unwrap();
        let first = latest();
        let touched = fs::File::options().append(true).open(&file).unwrap();
        touched.set_modified(std::time::UNIX_EPOCH).unwrap();
        assert!(first.is_some() && latest() == first);
        // The archive of replies has nothing to do with it.
        fs::remove_dir_all(inbox).unwrap();
        assert_eq!(latest(), first);
        write_atomic(&file, b"other words", Durability::Atomic).unwrap();
        assert!(latest().is_some() && latest() != first);
    }

    #[test]
    fn a_message_of_which_a_part_is_missing_is_not_there_yet() {
        case(&["ab12cd34_seq0002_part2of2.txt"], None);
    }
}
