//! Archives in the form of `tar`, as far as an exchange of files needs it.
//!
//! ```text
//! archive = { header(512) content padding } zero(1024)
//! header  = name(100) mode(8) ... size(12) ... checksum(8) kind(1) link(100) ...
//! kind    = "0" file | "1" another name of a file before it | "2" link | "5" directory
//!         | "L", "K", "x" a longer name or target for the next
//! ```
//!
//! Reading never trusts a name: the caller decides where it may lead.

const BLOCK: usize = 512;

/// An entry of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TarEntry {
    pub(super) name: String,
    /// The permission bits.
    pub(super) mode: u32,
    pub(super) content: TarContent,
}

/// The content of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TarContent {
    File(Vec<u8>),
    Link(String),
    Directory,
}

/// An archive that grows.
#[derive(Debug, Default)]
pub(super) struct TarWriter {
    bytes: Vec<u8>,
}

impl TarWriter {
    /// Adds an entry.
    pub(super) fn add(&mut self, entry: &TarEntry) {
        let (kind, content, link): (u8, &[u8], &str) = match &entry.content {
            TarContent::File(bytes) => (b'0', bytes, ""),
            TarContent::Link(target) => (b'2', &[], target),
            TarContent::Directory => (b'5', &[], ""),
        };
        for (kind, text) in [(b'L', entry.name.as_str()), (b'K', link)] {
            if text.len() >= 100 {
                let long = [text.as_bytes(), b"\0"].concat();
                self.put("././@LongLink", kind, 0o644, &long, "");
            }
        }
        self.put(&entry.name, kind, entry.mode, content, link);
    }

    fn put(&mut self, name: &str, kind: u8, mode: u32, content: &[u8], link: &str) {
        let mut header = [0; BLOCK];
        let mut field = |at: usize, room: usize, text: &[u8]| {
            let length = text.len().min(room);
            header[at..at + length].copy_from_slice(&text[..length]);
        };
        field(0, 100, name.as_bytes());
        field(100, 8, format!("{mode:07o}").as_bytes());
        field(108, 8, b"0000000");
        field(116, 8, b"0000000");
        field(124, 12, format!("{:011o}", content.len()).as_bytes());
        field(136, 12, b"00000000000");
        field(148, 8, b"        ");
        field(156, 1, &[kind]);
        field(157, 100, link.as_bytes());
        field(257, 8, b"ustar  ");
        let sum: u32 = header.iter().copied().map(u32::from).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(content);
        let padding = content.len().next_multiple_of(BLOCK) - content.len();
        self.bytes.extend(std::iter::repeat_n(0, padding));
    }

    /// The whole archive.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.extend([0; 2 * BLOCK]);
        self.bytes
    }
}

/// The entries of an archive; `None` if it is damaged or incomplete.
pub(super) fn entries(mut archive: &[u8]) -> Option<Vec<TarEntry>> {
    let mut entries: Vec<TarEntry> = Vec::new();
    let (mut long_name, mut long_link) = (None, None);
    loop {
        let (header, rest) = archive.split_at_checked(BLOCK)?;
        if header.iter().all(|byte| *byte == 0) {
            return Some(entries);
        }
        let sum: u32 = header.iter().copied().map(u32::from).sum();
        let own: u32 = header[148..156].iter().copied().map(u32::from).sum();
        if octal(&header[148..156])? != u64::from(sum - own + 8 * 32) {
            return None;
        }
        let size = usize::try_from(octal(&header[124..136])?).ok()?;
        let (content, rest) = rest.split_at_checked(size)?;
        let padding = size.next_multiple_of(BLOCK) - size;
        archive = rest.get(padding..)?;
        let kind = header[156];
        match kind {
            b'L' => long_name = Some(text(content)),
            b'K' => long_link = Some(text(content)),
            b'x' => {
                for (key, value) in pax(content) {
                    match key {
                        "path" => long_name = Some(value.to_owned()),
                        "linkpath" => long_link = Some(value.to_owned()),
                        _ => {}
                    }
                }
            }
            b'0' | 0 | b'7' | b'1' | b'2' | b'5' => {
                let short = match text(&header[345..500]) {
                    prefix if !prefix.is_empty() && &header[257..263] == b"ustar\0" => {
                        format!("{prefix}/{}", text(&header[..100]))
                    }
                    _ => text(&header[..100]),
                };
                let name = long_name.take().unwrap_or(short);
                let link = long_link.take();
                let link = || link.unwrap_or_else(|| text(&header[157..257]));
                let content = match kind {
                    b'1' => {
                        let first = link();
                        let first = entries.iter().find(|entry| entry.name == first)?;
                        first.content.clone()
                    }
                    b'2' => TarContent::Link(link()),
                    b'5' => TarContent::Directory,
                    _ => TarContent::File(content.to_vec()),
                };
                let mode = u32::try_from(octal(&header[100..108])? & 0o7777).ok()?;
                entries.push(TarEntry {
                    name,
                    mode,
                    content,
                });
            }
            _ => (long_name, long_link) = (None, None),
        }
    }
}

fn octal(field: &[u8]) -> Option<u64> {
    let digits = text(field);
    match digits.trim() {
        "" => Some(0),
        digits => u64::from_str_radix(digits, 8).ok(),
    }
}

/// The text up to the first zero byte.
fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&field[..end.unwrap_or(field.len())]).into_owned()
}

/// The records of an extended header: `LENGTH KEY=VALUE\n`.
fn pax(content: &[u8]) -> Vec<(&str, &str)> {
    let mut records = Vec::new();
    let mut rest = std::str::from_utf8(content).unwrap_or_default();
    while let Some((length, _)) = rest.split_once(' ') {
        let Some(record) = length.parse().ok().and_then(|length| rest.get(..length)) else {
            break;
        };
        let pair = record[length.len()..].trim_start().trim_end_matches('\n');
        records.extend(pair.split_once('='));
        rest = &rest[record.len()..];
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<TarEntry> {
        let entry = |name: &str, mode, content| TarEntry {
            name: name.to_owned(),
            mode,
            content,
        };
        let long = format!("{}/long", "n".repeat(200));
        vec![
            entry("d", 0o755, TarContent::Directory),
            entry("d/empty", 0o600, TarContent::File(Vec::new())),
            entry(&long, 0o755, TarContent::File(vec![7; 1500])),
            entry("link", 0o777, TarContent::Link("t".repeat(150))),
        ]
    }

    #[test]
    fn what_was_written_is_read() {
        let mut writer = TarWriter::default();
        for entry in sample() {
            writer.add(&entry);
        }
        let archive = writer.finish();
        assert_eq!(entries(&archive), Some(sample()));
        for cut in [100, 600, archive.len() - 1024] {
            assert_eq!(entries(&archive[..cut]), None, "cut at {cut}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn the_program_of_the_system_reads_and_writes_the_same() {
        use std::io::Write as _;
        let directory = tempfile::tempdir().unwrap();
        let mut writer = TarWriter::default();
        for entry in sample() {
            writer.add(&entry);
        }
        let tar = |arguments: &[&str], input: &[u8]| {
            let mut tar = crate::platform::programs::command("tar").unwrap();
            let tar = tar.args(arguments).current_dir(directory.path());
            let tar = tar
                .stdin(std::process::Stdio::piped())
                .stdout(std::process::Stdio::piped());
            let mut tar = tar.spawn().unwrap();
            tar.stdin.take().unwrap().write_all(input).unwrap();
            let output = tar.wait_with_output().unwrap();
            assert!(output.status.success());
            output.stdout
        };
        tar(&["-xf", "-"], &writer.finish());
        std::fs::hard_link(
            directory.path().join("d/empty"),
            directory.path().join("d/second"),
        )
        .unwrap();
        for form in ["gnu", "pax"] {
            let form_option = format!("--format={form}");
            let names = ["d", "link"];
            let mut arguments = vec!["-cf", "-", &form_option];
            arguments.extend(names);
            let read = entries(&tar(&arguments, b"")).unwrap();
            let mut names: Vec<&str> = read.iter().map(|entry| entry.name.as_str()).collect();
            names.sort_unstable();
            assert_eq!(names, ["d/", "d/empty", "d/second", "link"], "{form}");
            let empty = TarContent::File(Vec::new());
            let files = read.iter().filter(|entry| entry.content == empty);
            assert_eq!(files.map(|file| file.mode).collect::<Vec<_>>(), [0o600; 2]);
        }
    }
}
