//! Unified diffs, as `diff -u`, git and models write them.
//!
//! ```text
//! diff   = (junk* file)+
//! file   = ["Index: " name] ["diff " words] extended* ["--- " name] ["+++ " name] hunk*
//! hunk   = "@@" ["-" start ["," count] " +" start ["," count] " @@"] [words]
//!          (" " line | "-" line | "+" line | "\" words | empty)+
//! ```
//!
//! Inside a fence or the body of a command the `@@` line of a file's only hunk may be missing.
//! Counts say where a hunk ends if they fit the marks of the lines; where they disagree the marks
//! decide, and changes below a full hunk belong to it. So a deleted line `-- x`, which reads
//! `--- x`, is told from a header. An empty line is a context line whose space was lost. Lines between the files belong to the diff inside a fence;
//! outside only what mail and version control write there does.
//!
//! One thing that is wrong makes the whole diff a problem: it is applied whole or not at all. Which
//! of two names is meant is decided without looking at the workspace; see `name`.

mod build;
pub(super) mod hunk;
mod name;

use agent_protocol::{Command, FileChange, RelPath};

use name::HeaderName;

use crate::candidate::{BlockCandidate, BlockCertainty, BlockTrouble, CandidateItem};
use crate::code_fence::{self, Enclosure, Fence};
use crate::line::begins_with;
use crate::trim::{filled_above, is_blank, trim_end};
use crate::{file_name, script, workspace_root};

/// The diff that begins on the line `at`.
pub(super) fn find(lines: &[&str], at: usize) -> Option<BlockCandidate> {
    if !begins(lines, at) {
        return None;
    }
    let enclosure = code_fence::open_after(&lines[..at]);
    // The line above may be the fence itself, with a command as its info.
    let inside = enclosure.map_or(0, |enclosure| enclosure.line + 1);
    let start = start_of(lines, at).max(inside);
    let frame = enclosure.filter(|enclosure| is_of_diff(enclosure, lines, start));
    let surroundings = match frame {
        Some(_) => DiffSurroundings::Own,
        None => DiffSurroundings::Mixed,
    };
    let name = named_above(lines, frame.map_or(start, |frame| frame.line));
    let fence = enclosure.map(|enclosure| enclosure.fence);
    let mut reader = DiffReader::new(lines, at, fence, surroundings);
    let files = reader.read();
    let block = code_fence::widen(lines, start..reader.at, enclosure);
    let at_end = code_fence::skip_blank(lines, block.end) == lines.len();
    let unfinished = enclosure.is_some() || !reader.is_complete;
    let path = name.and_then(|name| workspace_root::path(name).ok());
    let is_cut = frame.is_some_and(|frame| goes_on(lines, reader.at, &frame.fence));
    let changes = build::changes_below(files, path.as_ref());
    let changes = match changes {
        Ok(_) if is_cut => Err(wrapped(lines[reader.at])),
        changes => changes,
    };
    Some(BlockCandidate {
        certainty: BlockCertainty::open_if(at_end && block.end == reader.at && unfinished),
        span: block,
        items: vec![CandidateItem::of(
            "APPLY_PATCH",
            changes.map(|changes| Command::ApplyPatch { changes }),
        )],
    })
}

/// Returns true if the last added line of a diff may go on at `end`, on a line of its code block
/// without a mark.
fn goes_on(lines: &[&str], end: usize, fence: &Fence<'_>) -> bool {
    let is_diff = matches!(fence.language(), "diff" | "patch");
    let is_added = end > 0 && lines[end - 1].starts_with('+');
    let is_rest = |line: &&str| {
        !is_blank(line)
            && Fence::read(line).is_none()
            && !code_fence::is_tag(line)
            && !line.starts_with(['-', '*', '@', '\\', '['])
    };
    let is_closed = lines
        .get(end + 1)
        .is_some_and(|line| fence.is_closed_by(line));
    is_diff && is_added && is_closed && lines.get(end).is_some_and(is_rest)
}

fn wrapped(line: &str) -> BlockTrouble {
    let shown: String = line.trim().chars().take(60).collect();
    BlockTrouble::new(
        format!(
            "the last line of the diff has no mark, so it may be the rest of the line above: `{shown}`"
        ),
        "send the diff again, with ` `, `-` or `+` before each of its lines",
    )
}

/// Returns true if the last hunk of a diff has the lines that its header counts, and nothing
/// follows it.
pub(super) fn ends_as_counted(lines: &[&str]) -> bool {
    let last = lines.iter().rposition(|line| line.starts_with("@@"));
    last.is_some_and(|at| hunk::is_as_counted(&lines[at..]))
}

/// The changes of a diff in the body of a command; `path` is the file of a diff without a header.
pub(super) fn parse_body(
    body: &str,
    path: Option<&RelPath>,
) -> Result<Vec<FileChange>, BlockTrouble> {
    let lines: Vec<&str> = body.lines().collect();
    let Some(start) = (0..lines.len()).find(|at| begins_body(&lines, *at)) else {
        return Err(not_a_diff(&lines));
    };
    let fence = code_fence::open_after(&lines[..start]).map(|enclosure| enclosure.fence);
    let files = DiffReader::new(&lines, start, fence, DiffSurroundings::Own).read();
    build::changes(files, path)
}

/// Returns true if a code block is there for the diff and not around the whole reply.
fn is_of_diff(enclosure: &Enclosure<'_>, lines: &[&str], start: usize) -> bool {
    let language = enclosure.fence.info.split_whitespace().next();
    matches!(language.unwrap_or_default(), "diff" | "patch")
        || lines[enclosure.line + 1..start]
            .iter()
            .all(|line| is_blank(line))
}

/// A line such as `diff -u a b` or `git apply <<'EOF'` directly above belongs to the diff.
fn start_of(lines: &[&str], at: usize) -> usize {
    match at.checked_sub(1).map(|above| lines[above]) {
        Some(line) if line.starts_with("diff ") || script::feeds_patch(line) => at - 1,
        _ => at,
    }
}

/// The file that the line above a diff names, for one whose header names none.
fn named_above<'a>(lines: &[&'a str], at: usize) -> Option<&'a str> {
    let fence = lines.get(at).and_then(|line| Fence::read(line));
    fence
        .and_then(|fence| file_name::in_info(fence.info))
        .or_else(|| {
            let line = filled_above(lines, at)?;
            file_name::alone(line).or_else(|| file_name::in_sentence(line))
        })
}

fn not_a_diff(lines: &[&str]) -> BlockTrouble {
    let is_normal = lines
        .iter()
        .any(|line| line.starts_with("< ") || line.starts_with("> "));
    let message = if is_normal {
        "the patch is a diff without context (`<` and `>` lines), which cannot be placed safely"
    } else {
        "the patch is neither a unified diff nor a `*** Begin Patch` envelope"
    };
    BlockTrouble::new(message, unified_hint())
}

fn unified_hint() -> String {
    "send a unified diff (`--- a/path`, `+++ b/path`, `@@ -1,3 +1,4 @@`) or a `*** Begin Patch` envelope".to_owned()
}

/// All that a header says, not yet weighed.
#[derive(Debug, Default)]
struct Header<'a> {
    /// The words after `diff --git`.
    git: Option<&'a str>,
    /// The name behind `--- `.
    old: Option<HeaderName>,
    /// The name behind `+++ `.
    new: Option<HeaderName>,
    /// The name behind `Index: `.
    index: Option<&'a str>,
    rename: (Option<String>, Option<String>),
    copy: (Option<String>, Option<String>),
    new_mode: Option<u32>,
    added: bool,
    deleted: bool,
    trouble: Option<BlockTrouble>,
}

impl Header<'_> {
    /// Returns true if it asks for something even without hunks.
    fn acts_alone(&self) -> bool {
        self.added
            || self.deleted
            || self.new_mode.is_some()
            || self.rename.1.is_some()
            || self.copy.1.is_some()
    }

    fn wrong(&mut self, message: impl Into<String>) {
        let trouble = BlockTrouble::new(message, unified_hint());
        self.trouble.get_or_insert(trouble);
    }
}

/// Reads the header that begins on the line `at`; gives the line after it.
fn read_header<'a>(lines: &[&'a str], mut at: usize, header: &mut Header<'a>) -> usize {
    while let Some(line) = lines.get(at) {
        if let Some(rest) = line.strip_prefix("diff --git ") {
            // Another file: this one has no hunks.
            if header.git.is_some() {
                break;
            }
            header.git = Some(rest);
        } else if let Some(rest) = line.strip_prefix("Index: ") {
            if header.index.is_some() || header.git.is_some() {
                break;
            }
            header.index = Some(rest.trim());
        } else if let Some(rest) = line.strip_prefix("--- ") {
            let has_rest = follows(lines, at + 1, "+++ ") || follows(lines, at + 1, "@@");
            if header.old.is_some() || !has_rest {
                break;
            }
            header.old = Some(name::read(rest));
        } else if let Some(rest) = line.strip_prefix("+++ ") {
            if header.new.is_some() {
                break;
            }
            header.new = Some(name::read(rest));
        } else if line.starts_with("diff --cc ") || line.starts_with("@@@") {
            header.wrong("the patch is a diff of a merge, which cannot be applied");
        } else if line.starts_with("*** ") {
            header.wrong(
                "the patch is a context diff (`***` and `---` lines), which is not supported",
            );
            return end_of_context_diff(lines, at);
        } else if !extended(line, header) {
            break;
        }
        at += 1;
        let is_reversed =
            header.old.is_none() && follows(lines, at, "--- ") && follows(lines, at + 1, "@@");
        if header.new.is_some() && !is_reversed {
            break;
        }
    }
    at
}

/// The lines of git's extended header and the decoration of other tools.
fn extended(line: &str, header: &mut Header<'_>) -> bool {
    let unquoted = |rest: &str| Some(name::read(rest).text);
    if let Some(rest) = line
        .strip_prefix("rename from ")
        .or_else(|| line.strip_prefix("rename old "))
    {
        header.rename.0 = unquoted(rest);
    } else if let Some(rest) = line
        .strip_prefix("rename to ")
        .or_else(|| line.strip_prefix("rename new "))
    {
        header.rename.1 = unquoted(rest);
    } else if let Some(rest) = line.strip_prefix("copy from ") {
        header.copy.0 = unquoted(rest);
    } else if let Some(rest) = line.strip_prefix("copy to ") {
        header.copy.1 = unquoted(rest);
    } else if let Some(rest) = line.strip_prefix("new file mode ") {
        header.added = true;
        header.new_mode = mode(rest, header);
    } else if let Some(rest) = line.strip_prefix("deleted file mode ") {
        header.deleted = true;
        mode(rest, header);
    } else if let Some(rest) = line.strip_prefix("new mode ") {
        header.new_mode = mode(rest, header);
    } else if let Some(rest) = line.strip_prefix("old mode ") {
        mode(rest, header);
    } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
        header.wrong("the patch changes a binary file, which a reply cannot carry");
    } else {
        return begins_with(
            line,
            "index |similarity index |dissimilarity index |=====|diff ",
        );
    }
    true
}

fn mode(text: &str, header: &mut Header<'_>) -> Option<u32> {
    const SYMBOLIC_LINK: u32 = 0o12;
    const REPOSITORY: u32 = 0o16;
    let Ok(mode) = u32::from_str_radix(text.trim(), 8) else {
        header.wrong(format!("`{}` is not a file mode", text.trim()));
        return None;
    };
    match mode >> 12 {
        SYMBOLIC_LINK => {
            header.wrong("the patch makes or changes a symbolic link, which is not supported");
        }
        REPOSITORY => header.wrong("the patch changes a submodule, which is not supported"),
        _ => {}
    }
    Some(mode)
}

fn end_of_context_diff(lines: &[&str], at: usize) -> usize {
    let belongs = |line: &&str| begins_with(line, "***|---|! |+ |- |  ");
    at + lines[at..].iter().take_while(|line| belongs(line)).count()
}

/// The longest stretch between two mails of one series.
const MAX_MAIL_LINES: usize = 500;

/// One file of a diff as it stands there.
#[derive(Debug, Default)]
struct FileDiff<'a> {
    header: Header<'a>,
    hunks: Vec<agent_protocol::Hunk>,
    /// The first thing that is wrong with it.
    trouble: Option<BlockTrouble>,
}

/// The text around a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiffSurroundings {
    /// A code block or a body of its own: what follows belongs to it, whatever it looks like.
    Own,
    /// A reply with other things in it.
    Mixed,
}

/// Where a reader is.
struct DiffReader<'a> {
    lines: &'a [&'a str],
    /// The line that is read next.
    at: usize,
    fence: Option<Fence<'a>>,
    /// True if everything up to the end belongs to the diff: in a fence or in the body of a
    /// command.
    is_enclosed: bool,
    /// True if the last hunk has as many lines as its header says.
    is_complete: bool,
}

impl<'a> DiffReader<'a> {
    /// Reads a diff that begins on the line `at`, in a code block if there is a fence.
    fn new(
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
    fn read(&mut self) -> Vec<FileDiff<'a>> {
        let mut files: Vec<FileDiff<'a>> = Vec::new();
        while let Some(next) = self.next_file(!files.is_empty()) {
            self.at = next;
            let is_hunk = self.lines[next].starts_with("@@");
            if !is_hunk || files.is_empty() {
                let mut file = FileDiff::default();
                self.at = read_header(self.lines, self.at, &mut file.header);
                file.trouble = file.header.trouble.take();
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
        while follows(self.lines, self.at, "@@") {
            let read = hunk::read(self.lines, self.at, self.fence.as_ref(), self.is_enclosed);
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
        if follows(self.lines, next, "@@") {
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
fn begins_body(lines: &[&str], at: usize) -> bool {
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
    const STARTS: &str = "diff |Index: |=====|Only in |index |Property changes on";
    let line = lines[at];
    let above = at.checked_sub(1).map_or("", |above| trim_end(lines[above]));
    is_blank(line)
        || trim_end(line) == "--"
        || (above == "--" && line.starts_with(|c: char| c.is_ascii_digit()))
        || begins_with(line, STARTS)
}

#[cfg(test)]
mod tests;
