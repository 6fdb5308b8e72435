//! A directory in a snapshot: its names, sorted, with the node of each.
//!
//! A tree is stored under the hash of its bytes. Equal directories are stored once, and two
//! snapshots are compared by looking only at trees that differ. Times and inodes are not part of
//! it: the same files always give the same tree.
//!
//! ```text
//! tree  = entry*                       sorted by the bytes of the name
//! entry = tag:u8 mode:u16 size:u64 hash:[u8; 32] length:u16 name     numbers little-endian
//! ```

use blake3::Hash;

/// Size of an entry without its name.
const HEAD: usize = 1 + 2 + 8 + 32 + 2;

/// A file, link or directory in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Node {
    /// A regular file.
    File {
        /// Hash of the content, and the key under which it is stored.
        content: Hash,
        /// Size in bytes.
        size: u64,
        /// The permission bits.
        mode: u16,
    },
    /// A symbolic link.
    Link {
        /// Hash of the target, and the key under which it is stored.
        target: Hash,
    },
    /// A directory.
    Directory {
        /// Hash of the tree.
        tree: Hash,
        /// The permission bits.
        mode: u16,
    },
    /// An entry whose content is unknown.
    PassedOver {
        /// The reason.
        reason: Reason,
        /// A fingerprint that changes with the file, if it can be had without reading the file.
        mark: u64,
    },
}

/// The reason why a snapshot does not cover a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// An ignored directory, or an ignored file above the size limit.
    Ignored,
    /// Larger than the limit.
    TooLarge,
    /// It could not be read.
    Unreadable,
    /// A pipe, a socket or a device.
    Special,
    /// The workspace has more names than the limit.
    TooMany,
    /// The limit on new content for one snapshot was reached.
    NoRoom,
    /// It changed after the killed round last reported: it is unclear who changed it.
    Meanwhile,
    /// It existed before the round under a path that the snapshot before did not cover.
    MovedIn,
}

impl Reason {
    const ALL: [Self; 8] = [
        Self::Ignored,
        Self::TooLarge,
        Self::Unreadable,
        Self::Special,
        Self::TooMany,
        Self::NoRoom,
        Self::Meanwhile,
        Self::MovedIn,
    ];

    /// The reason as a phrase that follows the file name.
    pub fn words(self) -> &'static str {
        match self {
            Self::Ignored => "is ignored",
            Self::TooLarge => "is larger than the limit",
            Self::Unreadable => "could not be read",
            Self::Special => "is not a regular file",
            Self::TooMany => "is beyond the limit on the number of files",
            Self::NoRoom => "is beyond the limit on new content",
            Self::Meanwhile => {
                "may have been changed by somebody else while `agent` was not running"
            }
            Self::MovedIn => "was moved here from a place that checkpoints do not cover",
        }
    }
}

impl Node {
    /// The hash of the stored object, if the node has content.
    pub(super) fn object(&self) -> Option<Hash> {
        match *self {
            Self::File { content, .. } => Some(content),
            Self::Link { target } => Some(target),
            Self::Directory { tree, .. } => Some(tree),
            Self::PassedOver { .. } => None,
        }
    }

    /// True for a directory.
    pub fn is_directory(&self) -> bool {
        matches!(self, Self::Directory { .. })
    }

    /// The reason why it was passed over, if it was.
    pub fn passed_over(&self) -> Option<Reason> {
        match *self {
            Self::PassedOver { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// Appends an entry with this name to an encoded tree.
    pub(super) fn encode(&self, name: &[u8], bytes: &mut Vec<u8>) {
        let nothing = [0; 32];
        let (tag, mode, size, hash) = match self {
            Self::File {
                content,
                size,
                mode,
            } => (1, *mode, *size, content.as_bytes()),
            Self::Link { target } => (2, 0, 0, target.as_bytes()),
            Self::Directory { tree, mode } => (3, *mode, 0, tree.as_bytes()),
            Self::PassedOver { reason, mark } => (4, *reason as u16, *mark, &nothing),
        };
        // Longer names exist on no file system.
        let length = u16::try_from(name.len()).unwrap_or(u16::MAX);
        bytes.push(tag);
        bytes.extend_from_slice(&mode.to_le_bytes());
        bytes.extend_from_slice(&size.to_le_bytes());
        bytes.extend_from_slice(hash);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&name[..usize::from(length)]);
    }

    /// Decodes and removes the first entry.
    pub(super) fn decode<'a>(bytes: &mut &'a [u8]) -> Option<(&'a [u8], Self)> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let tag = head[0];
        let mode = u16::from_le_bytes(head[1..3].try_into().ok()?);
        let size = u64::from_le_bytes(head[3..11].try_into().ok()?);
        let hash = Hash::from_bytes(head[11..43].try_into().ok()?);
        let length = u16::from_le_bytes(head[43..45].try_into().ok()?);
        let (name, rest) = rest.split_at_checked(usize::from(length))?;
        *bytes = rest;
        let node = match tag {
            1 => Self::File {
                content: hash,
                size,
                mode,
            },
            2 => Self::Link { target: hash },
            3 => Self::Directory { tree: hash, mode },
            4 => Self::PassedOver {
                reason: *Reason::ALL.get(usize::from(mode))?,
                mark: size,
            },
            _ => return None,
        };
        Some((name, node))
    }
}

/// Decodes a tree; `None` if the bytes are not a valid one.
pub(super) fn decode_tree(mut bytes: &[u8]) -> Option<Vec<(&[u8], Node)>> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        entries.push(Node::decode(&mut bytes)?);
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_entry_comes_back() {
        let hash = blake3::hash(b"x");
        let mut nodes = vec![
            Node::File {
                content: hash,
                size: 7,
                mode: 0o755,
            },
            Node::Link { target: hash },
            Node::Directory {
                tree: hash,
                mode: 0o700,
            },
        ];
        nodes.extend(
            Reason::ALL
                .into_iter()
                .map(|reason| Node::PassedOver { reason, mark: 9 }),
        );
        let mut bytes = Vec::new();
        for node in &nodes {
            node.encode(b"caf\xe9\n", &mut bytes);
        }
        let entries = decode_tree(&bytes).unwrap();
        assert!(entries.iter().all(|(name, _)| name == b"caf\xe9\n"));
        assert_eq!(
            entries.iter().map(|(_, node)| *node).collect::<Vec<_>>(),
            nodes
        );
        for cut in 1..bytes.len() {
            let whole = decode_tree(&bytes[..cut]).map_or(0, |entries| entries.len());
            assert!(whole < nodes.len());
        }
    }
}
