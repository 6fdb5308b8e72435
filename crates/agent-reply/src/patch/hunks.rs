//! The files of an envelope and their hunks.

use agent_protocol::{FileChange, Hunk, HunkLine};

use super::{BlockTrouble, Directive, directive, path_of};
use crate::diff::hunk::{has_turned_mark, turned_mark};
use crate::trim::{is_blank, trim, trim_start};

/// Reads files until the end of an envelope or, without one, until a line that is not of a patch.
pub(super) struct PatchFiles<'a> {
    lines: &'a [&'a str],
    /// The line that is read next.
    pub(super) at: usize,
    closed: bool,
    directory: &'a str,
}

impl<'a> PatchFiles<'a> {
    pub(super) fn new(lines: &'a [&'a str], at: usize, closed: bool, directory: &'a str) -> Self {
        Self {
            lines,
            at,
            closed,
            directory,
        }
    }

    /// All files. After trouble the rest is still read, so that `at` is the end of the patch.
    pub(super) fn read(&mut self) -> Result<Vec<FileChange>, BlockTrouble> {
        let mut changes = Vec::new();
        let mut trouble = None;
        while let Some(line) = self.lines.get(self.at) {
            match self.file(line) {
                Some(Ok(change)) => changes.push(change),
                Some(Err(wrong)) => {
                    trouble.get_or_insert(wrong);
                }
                None if is_blank(line) => {
                    self.at += 1;
                }
                None if self.closed || is_strange_directive(line) => {
                    self.at += 1;
                    trouble.get_or_insert_with(|| unknown(line));
                }
                None => break,
            }
        }
        self.drop_blank_end();
        trouble.map_or(Ok(changes), Err)
    }

    /// The blank lines below an unfinished patch are not its own.
    fn drop_blank_end(&mut self) {
        while self.at > 0 && is_blank(self.lines[self.at - 1]) {
            self.at -= 1;
        }
    }

    fn file(&mut self, line: &'a str) -> Option<Result<FileChange, BlockTrouble>> {
        let next = directive(line)?;
        match next {
            Directive::Add(_) | Directive::Delete(_) | Directive::Update(_) => self.at += 1,
            _ => return None,
        }
        Some(match next {
            Directive::Add(name) => self.added(name),
            Directive::Delete(name) => self.deleted(name),
            Directive::Update(name) => self.updated(name),
            _ => return None,
        })
    }

    fn deleted(&mut self, name: &str) -> Result<FileChange, BlockTrouble> {
        // Some models show what goes; the name says all that counts.
        while self.peek().is_some_and(|line| line.starts_with('-')) {
            self.at += 1;
        }
        Ok(FileChange::Delete {
            path: path_of(self.directory, name)?,
            hunks: Vec::new(),
        })
    }

    fn added(&mut self, name: &str) -> Result<FileChange, BlockTrouble> {
        let start = self.at;
        while let Some(line) = self.peek() {
            if directive(line).is_some()
                || (!self.closed && !line.starts_with('+') && !line.is_empty())
            {
                break;
            }
            self.at += 1;
        }
        let lines = without_blank_end(&self.lines[start..self.at]);
        let marked = lines.iter().any(|line| line.starts_with('+'));
        let mut content = String::new();
        for line in lines {
            match line.strip_prefix('+') {
                Some(text) => content.push_str(text),
                None if line.is_empty() => {}
                // All lines lack the mark, and an end line says where they end.
                None if !marked => content.push_str(line),
                None => {
                    return Err(BlockTrouble::new(
                        format!(
                            "a line of the new file `{name}` does not begin with `+`: `{line}`"
                        ),
                        "begin every line under `*** Add File:` with `+`",
                    ));
                }
            }
            content.push('\n');
        }
        Ok(FileChange::Add {
            path: path_of(self.directory, name)?,
            content,
            mode: None,
            overwrite: true,
        })
    }

    fn updated(&mut self, name: &str) -> Result<FileChange, BlockTrouble> {
        let mut move_to = None;
        if let Some(Directive::MoveTo(target)) = self.peek().and_then(directive) {
            self.at += 1;
            move_to = Some(target);
        }
        self.skip_names(name);
        let hunks = self.hunks(name);
        let move_to = move_to
            .map(|target| path_of(self.directory, target))
            .transpose()?;
        let path = path_of(self.directory, name)?;
        let mut hunks = hunks?;
        if move_to.is_some() {
            let is_change = |line: &HunkLine| !matches!(line, HunkLine::Keep(_));
            hunks.retain(|hunk| hunk.lines.iter().any(is_change));
        }
        if hunks.is_empty() && move_to.is_none() {
            return Err(without_hunks(name));
        }
        Ok(FileChange::Update {
            path,
            overwrite: move_to.is_some(),
            move_to,
            copy: false,
            mode: None,
            hunks,
        })
    }

    /// Passes over the names of a unified diff, which say again what the directive said.
    fn skip_names(&mut self, name: &str) {
        let after = |at: usize, start: &str| self.lines.get(at)?.strip_prefix(start);
        let names = |text: &str| {
            let text = text.split('\t').next().unwrap_or_default().trim_end();
            text.strip_suffix(name)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        let is_pair = after(self.at, "--- ").is_some_and(names)
            && after(self.at + 1, "+++ ").is_some_and(names)
            && after(self.at + 2, "@@").is_some();
        if is_pair {
            self.at += 2;
        }
    }

    fn hunks(&mut self, name: &str) -> Result<Vec<Hunk>, BlockTrouble> {
        let mut hunks = Vec::new();
        loop {
            let (mut hunk, has_header) = self.hunk_header();
            let start = self.at;
            let mut turned = None;
            while let Some(line) = self.peek().and_then(|line| self.hunk_line(line)) {
                turned = turned.or_else(|| self.peek().filter(|line| has_turned_mark(line)));
                hunk.lines.push(line);
                self.at += 1;
            }
            let kept = without_blank_end(&self.lines[start..self.at]).len();
            hunk.lines.truncate(kept);
            hunk.note_old_count(hunk.unquoted);
            if let Some(Directive::EndOfFile) = self.peek().and_then(directive) {
                self.at += 1;
                hunk.at_end = true;
            }
            if let Some(line) = turned {
                return Err(turned_mark(line));
            }
            if !hunk.lines.is_empty() {
                hunks.push(hunk);
            } else if has_header {
                return Err(without_hunks(name));
            } else {
                return Ok(hunks);
            }
        }
    }

    /// Takes the `@@` lines; several say where the place is, from the outside in.
    fn hunk_header(&mut self) -> (Hunk, bool) {
        let mut hunk = Hunk::default();
        let start = self.at;
        while let Some(rest) = self.peek().and_then(|line| line.strip_prefix("@@")) {
            self.at += 1;
            let text = trim(rest);
            if let Some((number, count)) = old_range(text) {
                hunk.old_start = Some(number);
                hunk.unquoted = count;
                continue;
            }
            let text = text.strip_suffix("@@").map_or(text, str::trim_end);
            if !text.is_empty() && text != "..." {
                hunk.anchors.push(text.to_owned());
            }
        }
        (hunk, self.at > start)
    }

    fn hunk_line(&self, line: &str) -> Option<HunkLine> {
        if line.starts_with("@@") {
            return None;
        }
        // A directive at the margin is one; behind a space it is context.
        if line.starts_with("***") && (directive(line).is_some() || is_strange_directive(line)) {
            return None;
        }
        if let Some(text) = line.strip_prefix('+') {
            return Some(HunkLine::Add(text.to_owned()));
        }
        if let Some(text) = line.strip_prefix('-') {
            return Some(HunkLine::Remove(text.to_owned()));
        }
        if let Some(text) = line.strip_prefix(' ') {
            return Some(HunkLine::Keep(text.to_owned()));
        }
        (line.is_empty() || self.closed).then(|| HunkLine::Keep(line.to_owned()))
    }

    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }
}

/// A line that is meant as a directive and is none: `*** Rename File: x`.
fn is_strange_directive(line: &str) -> bool {
    let text = trim_start(line);
    text.starts_with("***") && text.contains(" File:")
}

/// The old line and count of a unified diff's header, which some models write here too.
fn old_range(text: &str) -> Option<(u32, u32)> {
    let numbers = text.strip_prefix('-')?;
    let (number, rest) = split_number(numbers);
    let count = match rest.strip_prefix(',') {
        Some(rest) => split_number(rest).0.parse().ok()?,
        None => 1,
    };
    (rest.contains('+').then(|| number.parse().ok()).flatten()).map(|number| (number, count))
}

fn split_number(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

fn without_blank_end<'a, 'b>(lines: &'b [&'a str]) -> &'b [&'a str] {
    let kept = lines.iter().rposition(|line| !line.is_empty());
    &lines[..kept.map_or(0, |last| last + 1)]
}

fn without_hunks(name: &str) -> BlockTrouble {
    BlockTrouble::new(
        format!(
            "`*** Update File: {name}` has no lines to change, or an `@@` without lines under it"
        ),
        "write `@@`, then lines that begin with a space, `-` or `+`",
    )
}

fn unknown(line: &str) -> BlockTrouble {
    let shown: String = line.trim().chars().take(80).collect();
    BlockTrouble::new(
        format!("the patch has a line that belongs to no file: `{shown}`"),
        "begin each file with `*** Add File: path`, `*** Update File: path` or `*** Delete File: path`",
    )
}
