//! Goes through the lines of a diff, file by file.

use super::super::code_fence::{self, Fence};
use super::super::file_name;
use super::BlockTrouble;
use super::header::{Header, read_header};
use super::hunk::{self, ReadHunk};
use crate::trim::{is_blank, trim_end};

/// The longest stretch between two mails of one series.
const MAX_MAIL_LINES: usize = 500;

/// One file of a diff as it stands there.
#[derive(Debug, Default)]
pub(super) struct FileDiff<'a> {
    pub(super) header: Header<'a>,
    pub(super) hunks: Vec<agent_protocol::Hunk>,
    /// The first thing that is wrong with it.
    pub(super) trouble: Option<BlockTrouble>,
}

/// The text around a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffSurroundings {
    /// A code block or a body of its own: what follows belongs to it, whatever it looks like.
    Own,
    /// A reply with other things in it.
    Mixed,
}

/// Where a reader is.
pub(super) struct DiffReader<'a> {
    lines: &'a [&'a str],
    /// The line that is read next.
    pub(super) at: usize,
    fence: Option<Fence<'a>>,
    /// True if everything up to the end belongs to the diff: in a fence or in the body of a
    /// command.
    is_enclosed: bool,
    /// True if the last hunk has as many lines as its header says.
    pub(super) is_complete: bool,
}

impl<'a> DiffReader<'a> {
    /// Reads a diff that begins on the line `at`, in a code block if there is a fence.
    pub(super) fn new(
        lines: &'a [&'a str],
        at: usize,
        fence: Option<Fence<'a>>,
        surroundings: DiffSurroundings,
    ) -> Self {
        Self {
            lines,
            at,
            fence,
            is_enclosed: surroundings == DiffSurroundings::Own,
            is_complete: true,
        }
    }

    /// All files of the diff; leaves `at` on the line after it.
    pub(super) fn read(&mut self) -> Vec<FileDiff<'a>> {
        let mut files: Vec<FileDiff<'a>> = Vec::new();
        while let Some(next) = self.next_file(!files.is_empty()) {
            self.at = next;
            let is_hunk = self.lines[next].starts_with("@@");
            if !is_hunk || files.is_empty() {
                let mut file = FileDiff::default();
                self.at = read_header(self.lines, self.at, &mut file.header);
                if let Some(trouble) = file.header.trouble.take() {
                    file.trouble = Some(trouble);
                }
                files.push(file);
            }
            let before = self.at;
            if let Some(file) = files.last_mut() {
                self.hunks(file);
            }
            // Whatever begins a file must move on, or hostile input would hold us here.
            if self.at == before && self.at == next {
                self.at += 1;
            }
        }
        files
    }

    fn hunks(&mut self, file: &mut FileDiff<'a>) {
        self.skip_to_hunk();
        self.hunk_without_header(file);
        while self
            .lines
            .get(self.at)
            .is_some_and(|line| line.starts_with("@@"))
        {
            let read: ReadHunk =
                hunk::read(self.lines, self.at, self.fence.as_ref(), self.is_enclosed);
            self.at = read.end;
            self.is_complete = read.is_complete;
            match read.hunk {
                Ok(hunk) => file.hunks.push(hunk),
                Err(trouble) => {
                    file.trouble.get_or_insert(trouble);
                }
            }
            self.skip_to_hunk();
        }
    }

    fn hunk_without_header(&mut self, file: &mut FileDiff<'a>) {
        let is_marked = |line: &&str| line.starts_with(['+', '-', ' ']);
        let is_expected = self.is_enclosed && file.header.new.is_some() && file.hunks.is_empty();
        if is_expected
            && self.lines.get(self.at).is_some_and(is_marked)
            && let Some(read) = hunk::read_without_header(self.lines, self.at, self.fence.as_ref())
        {
            self.at = read.end;
            file.hunks.extend(read.hunk.ok());
            self.skip_to_hunk();
        }
    }

    /// Passes over blank lines if a hunk follows them.
    fn skip_to_hunk(&mut self) {
        let next = code_fence::skip_blank(self.lines, self.at);
        if self
            .lines
            .get(next)
            .is_some_and(|line| line.starts_with("@@"))
        {
            self.at = next;
        }
    }

    /// The next hunk of the same file, below a few words: a diff is applied whole or not at all.
    fn next_hunk(&self, from: usize) -> Option<usize> {
        const MOST_WORDS: usize = 6;
        let near = self.lines.iter().enumerate().skip(from).take(MOST_WORDS);
        for (index, line) in near {
            if is_hunk_header(line) && begins(self.lines, index) {
                return Some(index);
            }
            if Fence::read(line).is_some() || code_fence::is_tag(line) || begins(self.lines, index)
            {
                return None;
            }
        }
        None
    }

    /// Where the next file begins, if what stands between belongs to the diff.
    fn next_file(&self, has_file: bool) -> Option<usize> {
        if !has_file {
            return Some(self.at);
        }
        let mut mail = None;
        for (index, line) in self.lines.iter().enumerate().skip(self.at) {
            if begins(self.lines, index) {
                return Some(index);
            }
            if self.fence.is_some_and(|fence| fence.is_closed_by(line)) || code_fence::is_tag(line)
            {
                return None;
            }
            if is_mail(line) {
                mail = Some(index);
            }
            let in_mail = mail.is_some_and(|start| index - start < MAX_MAIL_LINES);
            if !self.is_enclosed && !in_mail && !is_between(self.lines, index) {
                return self.next_hunk(index);
            }
        }
        None
    }
}

/// Returns true if a diff or the next file of one begins on this line.
pub(super) fn begins(lines: &[&str], at: usize) -> bool {
    let line = lines[at];
    match line.as_bytes().first() {
        Some(b'd') => line.starts_with("diff --git ") || line.starts_with("diff --cc "),
        Some(b'-') => {
            line.starts_with("--- ")
                && (follows(lines, at + 1, "+++ ") || is_lone_name(lines, at, "--- "))
        }
        Some(b'+') => {
            let is_reversed = follows(lines, at + 1, "--- ") && follows(lines, at + 2, "@@ -");
            line.starts_with("+++ ") && (is_reversed || is_lone_name(lines, at, "+++ "))
        }
        Some(b'@') => is_hunk_header(line) && lines.get(at + 1).is_some_and(|next| is_marked(next)),
        Some(b'I') => line.starts_with("Index: ") && follows(lines, at + 1, "====="),
        Some(b'*') => {
            line.starts_with("*** ")
                && follows(lines, at + 1, "--- ")
                && follows(lines, at + 2, "*****")
        }
        _ => false,
    }
}

/// Returns true if a file begins on this line of a body that is known to be a diff, where a header
/// may be shorter.
pub(super) fn begins_body(lines: &[&str], at: usize) -> bool {
    let line = lines[at];
    begins(lines, at)
        || line.starts_with("@@")
        || ((line.starts_with("--- ") || line.starts_with("+++ ")) && follows(lines, at + 1, "@@"))
}

fn follows(lines: &[&str], at: usize, start: &str) -> bool {
    lines.get(at).is_some_and(|line| line.starts_with(start))
}

/// Returns true if only one of the two names stands over a hunk: it must look like one.
fn is_lone_name(lines: &[&str], at: usize, mark: &str) -> bool {
    let name = lines[at].strip_prefix(mark).unwrap_or_default();
    lines.get(at + 1).is_some_and(|next| is_hunk_header(next)) && file_name::alone(name).is_some()
}

fn is_hunk_header(line: &str) -> bool {
    line.strip_prefix("@@ -")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        || line.starts_with("@@ ... @@")
        || line.starts_with("@@@ -")
}

fn is_marked(line: &str) -> bool {
    line.is_empty() || line.starts_with(['+', '-', ' '])
}

/// The first line of a mail in a series: `From 0123... Mon Sep 17 00:00:00 2001`.
fn is_mail(line: &str) -> bool {
    line.strip_prefix("From ")
        .is_some_and(|rest| rest.bytes().take_while(u8::is_ascii_hexdigit).count() >= 40)
}

/// Lines that version control and mail put between the files of a diff.
fn is_between(lines: &[&str], at: usize) -> bool {
    const STARTS: [&str; 6] = [
        "diff ",
        "Index: ",
        "=====",
        "Only in ",
        "index ",
        "Property changes on",
    ];
    let line = lines[at];
    let above = at.checked_sub(1).map_or("", |above| trim_end(lines[above]));
    is_blank(line)
        || trim_end(line) == "--"
        || (above == "--" && line.starts_with(|c: char| c.is_ascii_digit()))
        || STARTS.iter().any(|start| line.starts_with(start))
}
