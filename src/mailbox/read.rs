//! Reading replies, never more of one than fits.
//!
//! A reading is one state of one file: if the file changes meanwhile, it counts as gone and will
//! arrive again. A name that leads to a pipe or a device is never waited for.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use encoding_rs::{Encoding, UTF_8};

use super::Candidate;
use super::settle::Stat;
use crate::error::{Error, Result};

/// The largest reply that is read, in bytes.
pub const MAX_REPLY: u64 = 16 << 20;

/// How much of the end of a reply is searched for the end mark, in bytes; even, for UTF-16.
const TAIL: u64 = 8 << 10;

/// How much of the beginning shows whether a file is text, in bytes.
const HEAD: usize = 8 << 10;

/// The result of reading a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// All of it, undecoded.
    Text(Vec<u8>),
    /// More than `MAX_REPLY` bytes; nothing was read.
    TooLarge {
        /// In bytes.
        size: u64,
    },
    /// Not text: a picture, an archive, or UTF-16 without its byte order mark.
    NotText,
    /// It vanished or changed meanwhile; if it is there again, it will arrive again.
    Gone,
}

/// Reads a reply that arrived.
pub(super) fn candidate(candidate: &Candidate) -> Result<Reading> {
    let attempt = || -> io::Result<Reading> {
        let (mut file, stat) = open(&candidate.path)?;
        if stat != candidate.stat {
            return Ok(Reading::Gone);
        }
        let reading = read_whole(&mut file, stat.size)?;
        let is_same = Stat::of(&file.metadata()?) == candidate.stat;
        Ok(if is_same { reading } else { Reading::Gone })
    };
    match attempt() {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Reading::Gone),
        result => result.map_err(|cause| Error::file("read", &candidate.path, cause)),
    }
}

/// Reads a reply that lies anywhere, such as one claimed before a crash.
pub fn read_reply(path: &Path) -> Result<Reading> {
    let attempt = || -> io::Result<Reading> {
        let (mut file, stat) = open(path)?;
        read_whole(&mut file, stat.size)
    };
    match attempt() {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Reading::Gone),
        result => result.map_err(|cause| Error::file("read", path, cause)),
    }
}

fn read_whole(file: &mut File, size: u64) -> io::Result<Reading> {
    if size > MAX_REPLY {
        return Ok(Reading::TooLarge { size });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    file.by_ref().take(HEAD as u64).read_to_end(&mut bytes)?;
    if is_binary(&bytes) {
        return Ok(Reading::NotText);
    }
    let rest = MAX_REPLY - bytes.len() as u64 + 1;
    file.take(rest).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_REPLY {
        let size = bytes.len() as u64;
        return Ok(Reading::TooLarge { size });
    }
    Ok(Reading::Text(bytes))
}

/// How files begin that chats and word processors save and that are no plain text: an office
/// document or another archive, an old office document, PDF, RTF, pictures.
const NO_TEXT: [&[u8]; 7] = [
    b"PK\x03\x04",
    b"\xd0\xcf\x11\xe0",
    b"%PDF-",
    b"{\\rtf",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
];

/// True if it begins like a known binary format, or more than a twentieth are control characters. A
/// few of them are an accident of copying.
fn is_binary(head: &[u8]) -> bool {
    const A_FEW: usize = 8;
    if NO_TEXT.iter().any(|begin| head.starts_with(begin)) {
        return true;
    }
    let has_mark = Encoding::for_bom(head).is_some_and(|(encoding, _)| encoding != UTF_8);
    let controls = head
        .iter()
        .filter(|&&byte| byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b))
        .count();
    !has_mark && controls > A_FEW && controls * 20 > head.len()
}

/// The last lines of a file, decoded, and the state of the file that they are from.
pub(super) fn tail(path: &Path) -> io::Result<(String, Stat)> {
    let (mut file, stat) = open(path)?;
    let mut mark = Vec::with_capacity(3);
    file.by_ref().take(3).read_to_end(&mut mark)?;
    let encoding = Encoding::for_bom(&mark).map_or(UTF_8, |(encoding, _)| encoding);
    let begin = stat.size.saturating_sub(TAIL).next_multiple_of(2);
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    let (text, _) = encoding.decode_without_bom_handling(&bytes);
    if begin == 0 {
        return Ok((text.trim_start_matches('\u{feff}').to_owned(), stat));
    }
    // The first line may lack its beginning.
    let whole_lines = text.split_once('\n').map_or("", |(_, rest)| rest);
    Ok((whole_lines.to_owned(), stat))
}

fn open(path: &Path) -> io::Result<(File, Stat)> {
    let mut options = OpenOptions::new();
    options.read(true);
    // Opening a pipe would wait for its writer.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok((file, Stat::of(&metadata)))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[track_caller]
    fn reading(content: &[u8]) -> Reading {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        read_reply(file.path()).unwrap()
    }

    #[test]
    fn text_of_any_encoding_is_read_as_it_is() {
        let wide: Vec<u8> = "\u{feff}[DONE]"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        for content in [
            b"[DONE]".as_slice(),
            b"",
            b"\xef\xbb\xbf[DONE]",
            b"stray \xff and \0 bytes",
            &wide,
        ] {
            assert_eq!(reading(content), Reading::Text(content.to_vec()));
        }
    }

    #[test]
    fn rubbish_is_told_from_text() {
        let rubbish: Vec<u8> = (0..=255).cycle().take(50_000).collect();
        assert_eq!(reading(&rubbish), Reading::NotText);
    }

    #[test]
    fn a_huge_file_is_not_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let size = 100 << 30;
        file.as_file().set_len(size).unwrap();
        assert_eq!(read_reply(file.path()).unwrap(), Reading::TooLarge { size });
        file.as_file().set_len(MAX_REPLY + 1).unwrap();
        assert!(matches!(
            read_reply(file.path()).unwrap(),
            Reading::TooLarge { .. }
        ));
    }

    #[test]
    fn a_file_that_vanished_is_gone() {
        assert_eq!(
            read_reply(Path::new("no/such/reply.txt")).unwrap(),
            Reading::Gone
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_never_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("reply.txt");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert!(read_reply(&path).is_err());
        assert!(tail(&path).is_err());
    }

    #[test]
    fn a_tail_begins_with_a_whole_line() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&b"x".repeat(9_000)).unwrap();
        assert_eq!(tail(file.path()).unwrap().0, "");
        file.write_all(b"\nlast").unwrap();
        assert_eq!(tail(file.path()).unwrap().0, "last");
    }
}
