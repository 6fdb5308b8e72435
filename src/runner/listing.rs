//! The list of the files on the other side: the script that makes it, and its reading.
//!
//! ```text
//! listing = { "=" section NUL { record } } "=end" NUL
//! record  = name NUL                    files, executable, directories, closed, special
//!         | name NUL (size | target) NUL    large, links
//!         | { hash SPACE SPACE name LF } NUL    hashes
//! ```
//!
//! Names end with a zero byte, so that no name passes for another. A hash is in a line of its own,
//! because that is how every `sha256sum` tells it; names that would break such a line have none, and
//! cannot be exchanged anyway. A file that is there and has no hash could not be read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::channel::quoted;
use super::exchange::{MARK, TRIAL};
use crate::protocol::RelPath;

/// The largest file that is exchanged, in bytes.
pub(super) const MAX_FILE: u64 = 512 << 20;

/// Files up to this many bytes are listed without their size.
pub(super) const SMALL: u64 = 1 << 20;

/// The content of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ExchangedContent {
    /// A regular file. The mode is told of our files only, where it matters who may read them.
    File {
        hash: String,
        executable: bool,
        mode: u32,
    },
    Link(String),
    Directory,
    /// It stays where it is, for this reason.
    Left(LeftReason),
}

/// The reason why something is not exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum LeftReason {
    /// A file or a directory that the other side's user may not read.
    Unreadable,
    /// Larger than [`MAX_FILE`]; its size.
    TooLarge(u64),
    /// A pipe, a socket, a device, or a link to a name that is no text.
    Special,
}

/// The files of the other side.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RemoteListing {
    /// By their names.
    pub(super) entries: BTreeMap<String, ExchangedContent>,
    /// The sizes of files that are not small.
    pub(super) sizes: BTreeMap<String, u64>,
    /// Names that our side cannot hold, as far as they can be shown; nothing within another one.
    pub(super) odd: BTreeSet<String>,
}

/// Directories that a listing leaves out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PrunedDirectories {
    /// By their names, anywhere.
    pub(super) names: BTreeSet<String>,
    /// By their paths.
    pub(super) paths: BTreeSet<String>,
}

impl PrunedDirectories {
    /// True if a directory of this name is left out.
    pub(super) fn leaves_out(&self, name: &str) -> bool {
        let last = name.rsplit('/').next().unwrap_or(name);
        self.names.contains(last) || self.paths.contains(name)
    }
}

/// A script that lists the files of the directory in which it runs.
pub(super) fn listing_script(pruned: &PrunedDirectories) -> String {
    let mut left_out =
        format!("-name .git -o -name .agent -o -path ./{MARK} -o -path './{TRIAL}*'");
    for name in &pruned.names {
        let _ = write!(left_out, " -o -type d -name {}", quoted(name));
    }
    for path in &pruned.paths {
        let _ = write!(
            left_out,
            " -o -type d -path {}",
            quoted(&format!("./{path}"))
        );
    }
    let small = SMALL / 512;
    let max = MAX_FILE / 512;
    // A `find` that was killed must not pass for a directory that has been emptied. It ends with 1
    // where it may not enter a directory, which is told.
    format!(
        "LC_ALL=C; export LC_ALL\n\
         if command -v sha256sum >/dev/null 2>&1; then h=sha256sum; else h='shasum -a 256'; fi\n\
         l() {{ find . \\( {left_out} \\) -prune -o \"$@\"; [ $? -le 1 ] || exit 9; }}\n\
         printf '=directories\\0'; l -type d -print0\n\
         printf '=closed\\0'; l -type d -exec sh -c 'for f; do [ -r \"$f\" ] && [ -x \"$f\" ] || printf \"%s\\0\" \"$f\"; done' sh {{}} +\n\
         printf '=files\\0'; l -type f -print0\n\
         printf '=executable\\0'; l -type f -perm -100 -print0\n\
         printf '=large\\0'; l -type f -size +{small} -exec sh -c 'for f; do [ -r \"$f\" ] && printf \"%s\\0%s\\0\" \"$f\" \"$(wc -c <\"$f\")\"; done' sh {{}} +\n\
         printf '=links\\0'; l -type l -exec sh -c 'for f; do printf \"%s\\0%s\\0\" \"$f\" \"$(readlink \"$f\")\"; done' sh {{}} +\n\
         printf '=special\\0'; l ! -type f ! -type d ! -type l -print0\n\
         printf '=hashes\\0'; l -type f ! -size +{max} ! -path '*\\\\*' ! -path '*\n*' -exec $h {{}} +\n\
         printf '\\0=end\\0'\n"
    )
}

impl RemoteListing {
    /// Reads what the script printed.
    pub(super) fn parse(listed: &[u8]) -> Result<Self, String> {
        let incomplete = || "the list of files of the other side is incomplete".to_owned();
        let listed = listed.strip_suffix(b"=end\0").ok_or_else(incomplete)?;
        let mut reading = ListingReader::default();
        let mut section: &[u8] = b"";
        let mut records = listed.split(|byte| *byte == 0);
        while let Some(record) = records.next() {
            if let Some(name) = record.strip_prefix(b"=") {
                section = name;
                continue;
            }
            match section {
                b"large" | b"links" if !record.is_empty() => {
                    let value = records.next().ok_or_else(incomplete)?;
                    reading.pair(section, record, value);
                }
                b"hashes" => reading.hashes(record),
                _ => reading.name(section, record),
            }
        }
        // Each section but the first may be empty.
        if reading.has_top {
            Ok(reading.finish())
        } else {
            Err(incomplete())
        }
    }

    /// The size of a file, or the size that none without one exceeds.
    pub(super) fn size(&self, name: &str) -> u64 {
        self.sizes.get(name).copied().unwrap_or(SMALL)
    }

    /// True if the name is in a directory that could not be read.
    pub(super) fn is_closed(&self, name: &str) -> bool {
        let slashes = name.match_indices('/').map(|(at, _)| &name[..at]);
        let unreadable = ExchangedContent::Left(LeftReason::Unreadable);
        slashes
            .into_iter()
            .any(|above| self.entries.get(above) == Some(&unreadable))
    }
}

/// Collects the records of a listing.
#[derive(Default)]
struct ListingReader {
    listing: RemoteListing,
    has_top: bool,
    odd: BTreeSet<Vec<u8>>,
}

impl ListingReader {
    /// The name of a record, if our side can hold it.
    fn known_name(&mut self, record: &[u8]) -> Option<String> {
        let name = record.strip_prefix(b"./")?;
        let known = std::str::from_utf8(name).ok();
        let is_plain = |name: &&str| RelPath::parse(name).is_ok_and(|path| path.as_str() == *name);
        let known = known.filter(is_plain).map(str::to_owned);
        if known.is_none() {
            self.odd.insert(name.to_vec());
        }
        known
    }

    fn name(&mut self, section: &[u8], record: &[u8]) {
        self.has_top |= section == b"directories" && record == b".";
        let Some(name) = self.known_name(record) else {
            return;
        };
        let entries = &mut self.listing.entries;
        match section {
            b"directories" => drop(entries.insert(name, ExchangedContent::Directory)),
            b"files" | b"closed" => {
                let unread = ExchangedContent::Left(LeftReason::Unreadable);
                entries.insert(name, unread);
            }
            b"special" => {
                entries.insert(name, ExchangedContent::Left(LeftReason::Special));
            }
            b"executable" => {
                let hash = String::new();
                let file = ExchangedContent::File {
                    hash,
                    executable: true,
                    mode: 0,
                };
                entries.insert(name, file);
            }
            _ => {}
        }
    }

    fn pair(&mut self, section: &[u8], record: &[u8], value: &[u8]) {
        let Some(name) = self.known_name(record) else {
            return;
        };
        let value = std::str::from_utf8(value).ok();
        let size = value.and_then(|value| value.trim().parse().ok());
        let content = match (section, value, size) {
            (b"large", _, Some(size)) => {
                self.listing.sizes.insert(name.clone(), size);
                if size <= MAX_FILE {
                    return;
                }
                ExchangedContent::Left(LeftReason::TooLarge(size))
            }
            (b"links", Some(target), _) => ExchangedContent::Link(target.to_owned()),
            _ => ExchangedContent::Left(LeftReason::Special),
        };
        self.listing.entries.insert(name, content);
    }

    fn hashes(&mut self, lines: &[u8]) {
        for line in lines.split(|byte| *byte == b'\n') {
            let Some((hash, name)) = std::str::from_utf8(line)
                .ok()
                .and_then(|line| line.split_once("  ./"))
            else {
                continue;
            };
            let executable = match self.listing.entries.get(name) {
                Some(ExchangedContent::Left(LeftReason::Unreadable)) => false,
                Some(ExchangedContent::File { hash, .. }) if hash.is_empty() => true,
                _ => continue,
            };
            let file = ExchangedContent::File {
                hash: hash.to_owned(),
                executable,
                mode: 0,
            };
            self.listing.entries.insert(name.to_owned(), file);
        }
    }

    fn finish(mut self) -> RemoteListing {
        for content in self.listing.entries.values_mut() {
            if matches!(content, ExchangedContent::File { hash, .. } if hash.is_empty()) {
                *content = ExchangedContent::Left(LeftReason::Unreadable);
            }
        }
        let is_within = |name: &Vec<u8>| {
            let slashes = name.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            slashes
                .into_iter()
                .any(|(at, _)| self.odd.contains(&name[..at]))
        };
        let outermost = self.odd.iter().filter(|name| !is_within(name));
        let shown = outermost.map(|name| String::from_utf8_lossy(name).escape_debug().to_string());
        self.listing.odd = shown.collect();
        self.listing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> RemoteListing {
        RemoteListing::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_name_with_a_line_break_is_no_other_name() {
        let hash = "0".repeat(64);
        let listing = parsed(&format!(
            "=directories\0.\0./a\n.\0./a\n./keep.txt\0=files\0./keep.txt\0./a\n./keep.txt/x\0=hashes\0{hash}  ./keep.txt\n\0=end\0"
        ));
        assert_eq!(listing.odd.iter().collect::<Vec<_>>(), ["a\\n."]);
        assert_eq!(listing.entries.keys().collect::<Vec<_>>(), ["keep.txt"]);
        assert!(matches!(
            listing.entries["keep.txt"],
            ExchangedContent::File { .. }
        ));
    }

    #[test]
    fn an_incomplete_listing_is_none() {
        assert!(RemoteListing::parse(b"").is_err());
        assert!(RemoteListing::parse(b"=directories\0.\0=files\0").is_err());
        assert!(RemoteListing::parse(b"=directories\0=files\0=end\0").is_err());
        assert_eq!(
            parsed("=directories\0.\0=files\0=end\0"),
            RemoteListing::default()
        );
    }

    #[test]
    fn what_cannot_be_read_is_told_apart_from_what_is_gone() {
        let listing = parsed(
            "=directories\0.\0./d\0=closed\0./d\0=files\0./f\0./x\0=executable\0./x\0=large\0./big\0 536870913\0=special\0./pipe\0=hashes\0\0=end\0",
        );
        let left = |name: &str| match &listing.entries[name] {
            ExchangedContent::Left(reason) => *reason,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(left("d"), LeftReason::Unreadable);
        assert_eq!(left("f"), LeftReason::Unreadable);
        assert_eq!(left("x"), LeftReason::Unreadable);
        assert_eq!(left("big"), LeftReason::TooLarge(536_870_913));
        assert_eq!(left("pipe"), LeftReason::Special);
        assert!(listing.is_closed("d/any/f") && !listing.is_closed("d"));
    }
}
