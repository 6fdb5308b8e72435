//! The `*** Begin Patch` envelope, as the models of `OpenAI` write it.
//!
//! ```text
//! patch  = [begin] file+ [end]
//! begin  = "*** Begin Patch"                 end = "*** End Patch"
//! file   = "*** Add File: " path ("+" line)*
//!        | "*** Delete File: " path
//!        | "*** Update File: " path ["*** Move to: " path] hunk*
//! hunk   = ("@@" [anchor])* (" " line | "-" line | "+" line)+ ["*** End of File"]
//! ```
//!
//! Also read: white space around the directives and missing white space in them, three more stars
//! behind them, a code fence around the content of a new file, the names of a unified diff (`---` and `+++`) under them, a heredoc around it
//! (`cd dir && apply_patch <<'EOF'`), no begin, no end, a context line without its space. Without
//! an end line the patch ends where its lines do, so a line without a mark is context only before
//! an end line. One thing that is wrong makes the whole patch a problem, because a patch is applied
//! whole or not at all.
//!
//! The search for an end line may go far and in vain, from one begin after the other. What it learned
//! is kept: no stretch is searched twice.

use std::ops::Range;

use agent_protocol::{Command, FileChange, Hunk, HunkLine, RelPath};

use crate::candidate::{BlockCandidate, BlockCertainty, BlockTrouble, CandidateItem};
use crate::code_fence::Fence;
use crate::diff::hunk::{has_turned_mark, turned_mark};
use crate::trim::{filled_above, is_blank, trim, trim_start};
use crate::{changes, code_fence, work, workspace_root};

/// The patch that begins on the line `at`; `ends` is what is known of lines with the same end.
pub(super) fn find(lines: &[&str], at: usize, ends: &mut Ends) -> Option<BlockCandidate> {
    if !begins(lines[at]) {
        return None;
    }
    let envelope = ends.envelope(lines, at);
    let heredoc = Heredoc::above(lines, at);
    let start = if heredoc.is_some() { at - 1 } else { at };
    let directory = heredoc.as_ref().map_or("", |heredoc| &heredoc.directory);
    let read = read_files(lines, &envelope, directory);
    let mut end = read.end;
    if let Some(heredoc) = &heredoc
        && lines
            .get(end)
            .is_some_and(|line| line.trim().trim_end_matches(['"', '\'', ')']) == heredoc.tag)
    {
        end += 1;
    }
    let block = code_fence::with_fences(lines, start..end);
    let at_end = code_fence::skip_blank(lines, block.end) == lines.len();
    Some(BlockCandidate {
        certainty: BlockCertainty::open_if(!envelope.closed && at_end && block.end == end),
        span: block,
        items: vec![item(read.changes)],
    })
}

/// Returns true if a patch begins with this line.
pub(super) fn begins(line: &str) -> bool {
    matches!(
        directive(line),
        Some(Directive::Begin | Directive::Add(_) | Directive::Delete(_) | Directive::Update(_))
    )
}

/// Returns true if the text has a line of an envelope, so that it is not a diff.
pub(super) fn is_envelope(body: &str) -> bool {
    body.lines().any(|line| directive(line).is_some())
}

/// The changes of the envelopes in the body of a command.
pub(super) fn parse_body(body: &str) -> Result<Vec<FileChange>, BlockTrouble> {
    let lines: Vec<&str> = body.lines().collect();
    let mut changes = Vec::new();
    let mut ends = Ends::default();
    let mut at = 0;
    while at < lines.len() {
        if directive(lines[at]).is_none() {
            at += 1;
            continue;
        }
        let mut envelope = ends.envelope(&lines, at);
        // The end of the body is as good as the end line.
        envelope.closed |= envelope.body.end == lines.len();
        let heredoc = Heredoc::above(&lines, at);
        let directory = heredoc.as_ref().map_or("", |heredoc| &heredoc.directory);
        let read = read_files(&lines, &envelope, directory);
        changes.extend(read.changes?);
        at = read.end.max(at + 1);
    }
    if changes.is_empty() {
        return Err(empty());
    }
    Ok(changes)
}

/// Changes that were read, and the line after them.
struct Read {
    changes: Result<Vec<FileChange>, BlockTrouble>,
    end: usize,
}

fn read_files(lines: &[&str], envelope: &PatchEnvelope, directory: &str) -> Read {
    let body = &lines[..envelope.body.end];
    let mut files = PatchFiles {
        lines: body,
        at: envelope.body.start,
        closed: envelope.closed,
        takes_bare_fence: envelope.takes_bare_fence,
        directory,
    };
    let changes = files.read();
    let end = if envelope.closed {
        // The end of a body stands in for a missing end line.
        (envelope.body.end + 1).min(lines.len())
    } else {
        files.at
    };
    Read { changes, end }
}

/// The shell line over a patch.
struct Heredoc<'a> {
    tag: &'a str,
    /// Where `cd` goes first, one after the other; empty without.
    directory: String,
}

impl<'a> Heredoc<'a> {
    /// Reads the line above the one at which a patch begins.
    fn above(lines: &[&'a str], at: usize) -> Option<Self> {
        let (command, tag) = lines[at.checked_sub(1)?].split_once("<<")?;
        if !command.contains("apply_patch") && !command.contains("applypatch") {
            return None;
        }
        let tag = tag
            .trim_start_matches('-')
            .trim()
            .trim_matches(['\'', '"', '\\', ')']);
        let steps = command.split("&&").flat_map(|steps| steps.split(';'));
        let directories = steps.filter_map(|step| step.trim().strip_prefix("cd "));
        let directories = directories.map(|it| it.trim().trim_matches(['\'', '"']));
        let directory = directories.fold(String::new(), |above, directory| {
            if above.is_empty() || directory.starts_with('/') {
                directory.to_owned()
            } else {
                format!("{above}/{directory}")
            }
        });
        Some(Self { tag, directory })
    }
}

/// A path of a patch, below the directory of its heredoc.
fn path_of(directory: &str, name: &str) -> Result<RelPath, BlockTrouble> {
    let name = workspace_root::relative(name.trim().trim_matches(['`', '"']));
    let directory = workspace_root::relative(directory);
    let parsed = if directory.is_empty() || directory == "." {
        RelPath::parse(&name)
    } else {
        RelPath::parse(&format!("{directory}/{name}"))
    };
    parsed.map_err(|problem| changes::refused(&problem))
}

fn empty() -> BlockTrouble {
    BlockTrouble::new(
        "the patch changes no file",
        "write `*** Add File: path`, `*** Update File: path` or `*** Delete File: path` after `*** Begin Patch`",
    )
}

fn item(changes: Result<Vec<FileChange>, BlockTrouble>) -> CandidateItem {
    let changes = changes.and_then(|changes| match &changes[..] {
        [] => Err(empty()),
        _ => Ok(Command::ApplyPatch { changes }),
    });
    CandidateItem::of("APPLY_PATCH", changes)
}

/// A line of an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Directive<'a> {
    Begin,
    End,
    Add(&'a str),
    Delete(&'a str),
    Update(&'a str),
    MoveTo(&'a str),
    EndOfFile,
}

/// Reads a directive, white space and closing stars aside.
fn directive(line: &str) -> Option<Directive<'_>> {
    let text = trim_start(line).strip_prefix("***")?.trim();
    let text = text.strip_suffix("***").map_or(text, str::trim_end);
    for (words, directive) in [
        ("Begin Patch", Directive::Begin),
        ("End Patch", Directive::End),
        ("End of File", Directive::EndOfFile),
    ] {
        if text.eq_ignore_ascii_case(words) {
            return Some(directive);
        }
    }
    let (words, name) = text.split_once(':')?;
    let (words, name) = (words.trim_end(), name.trim());
    let named = [
        ("Add File", Directive::Add(name)),
        ("Delete File", Directive::Delete(name)),
        ("Update File", Directive::Update(name)),
        ("Move to", Directive::MoveTo(name)),
    ];
    let found = named
        .into_iter()
        .find(|(known, _)| words.eq_ignore_ascii_case(known));
    found
        .map(|(_, directive)| directive)
        .filter(|_| !name.is_empty())
}

/// The code block in which the content of a new file stands, with its fences; `at` is the line under
/// the directive. A fence without a word may also end a block around the patch.
fn fenced_content(lines: &[&str], at: usize, takes_bare: bool) -> Option<Range<usize>> {
    let start = code_fence::skip_blank(lines, at);
    let open = Fence::read(lines.get(start)?)?;
    if open.info.is_empty() && !takes_bare {
        return None;
    }
    let mut inner = 0_usize;
    for (index, line) in lines.iter().enumerate().skip(start + 1) {
        work::count(1);
        if directive(line).is_some() {
            return None;
        }
        match Fence::read(line) {
            Some(fence) if fence.closes(&open) && inner == 0 => return Some(start..index + 1),
            Some(fence) if fence.closes(&open) => inner -= 1,
            Some(fence) if open.may_hold(&fence) => inner += 1,
            _ => {}
        }
    }
    None
}

/// Returns true if a code block may begin right above this line, so that one without a word below it
/// may end there.
fn is_below_fence(lines: &[&str], at: usize) -> bool {
    filled_above(lines, at).is_some_and(|line| Fence::read(line).is_some())
}

/// Where the lines of a patch stand.
struct PatchEnvelope {
    /// The lines of its files.
    body: Range<usize>,
    /// True if there is an end line: then every line before it belongs to the patch.
    closed: bool,
    /// True if a fence without a word under `*** Add File` begins the content.
    takes_bare_fence: bool,
}

/// Known ends of the envelopes in some lines.
///
/// For lines that end at the same place only: it counts from their end, so that they may begin
/// anywhere.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// Where the lines end.
    reach: usize,
    begun: Option<Stretch>,
    bare: Option<Stretch>,
}

/// Lines without an end line at the margin.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// How many lines there are from its first one to the end of all.
    first: usize,
    /// How many follow it.
    rest: usize,
    /// How many there are from its first padded end line on.
    padded: Option<usize>,
}

impl Ends {
    /// Known ends in the lines before `reach`: those of lines that end elsewhere are forgotten.
    pub(crate) fn up_to(&mut self, reach: usize) -> &mut Self {
        if self.reach != reach {
            *self = Self {
                reach,
                ..Self::default()
            };
        }
        self
    }

    /// Looks for the end line of the envelope that begins on the line `at`.
    ///
    /// Another begin ends the search. Without a begin line an end far below may belong to something
    /// else, so there a line that is not of a patch ends it too.
    fn envelope(&mut self, lines: &[&str], at: usize) -> PatchEnvelope {
        let begins = matches!(directive(lines[at]), Some(Directive::Begin));
        let known = if begins {
            &mut self.begun
        } else {
            &mut self.bare
        };
        let start = if begins { at + 1 } else { at };
        let takes_bare_fence = !is_below_fence(lines, at);
        let from = lines.len() - start;
        let is_known = |known: &Stretch| known.rest < from && from <= known.first;
        let stretch = match known.filter(is_known) {
            Some(stretch) => stretch.below(lines, from),
            None => match search(lines, start, begins, takes_bare_fence) {
                Ok(end) => {
                    return PatchEnvelope {
                        body: start..end,
                        closed: true,
                        takes_bare_fence: true,
                    };
                }
                Err(stretch) => stretch,
            },
        };
        *known = Some(stretch);
        let end = stretch.padded.unwrap_or(stretch.rest);
        PatchEnvelope {
            body: start..lines.len() - end,
            closed: stretch.padded.is_some(),
            takes_bare_fence,
        }
    }

    /// The end line of the envelope that begins on the line `at`, if it has one.
    pub(crate) fn end_line(&mut self, lines: &[&str], at: usize) -> Option<usize> {
        let envelope = self.envelope(lines, at);
        envelope.closed.then_some(envelope.body.end)
    }
}

impl Stretch {
    /// The part of the stretch from a line on, so many lines before the end of all.
    fn below(self, lines: &[&str], from: usize) -> Self {
        let padded = match self.padded {
            Some(padded) if padded > from => {
                let end = lines.len() - self.rest;
                let below = lines[..end].iter().skip(lines.len() - from);
                let passed = below.take_while(|line| directive(line) != Some(Directive::End));
                let passed = passed.inspect(|_| work::count(1)).count();
                (from - passed > self.rest).then_some(from - passed)
            }
            padded => padded,
        };
        Self {
            first: from,
            padded,
            ..self
        }
    }
}

/// The end line at the margin, or the stretch that has none.
fn search(
    lines: &[&str],
    start: usize,
    begins: bool,
    takes_bare_fence: bool,
) -> Result<usize, Stretch> {
    // A padded end line may be context, so one at the margin is preferred.
    let mut padded = None;
    let mut stop = lines.len();
    let mut content_end = start;
    for (index, line) in lines.iter().enumerate().skip(start) {
        work::count(1);
        if index < content_end {
            continue;
        }
        match directive(line) {
            Some(Directive::Add(_)) => {
                let content = fenced_content(lines, index + 1, takes_bare_fence);
                content_end = content.map_or(index, |content| content.end);
            }
            Some(Directive::End) if !line.starts_with(char::is_whitespace) => return Ok(index),
            Some(Directive::End) => padded = padded.or(Some(lines.len() - index)),
            Some(Directive::Begin) if !line.starts_with(' ') => {
                stop = index;
                break;
            }
            None if !begins && !is_patch_line(line) => {
                stop = index;
                break;
            }
            _ => {}
        }
    }
    Err(Stretch {
        first: lines.len() - start,
        rest: lines.len() - stop,
        padded,
    })
}

fn is_patch_line(line: &str) -> bool {
    line.is_empty() || line.starts_with(['+', '-', ' ', '@'])
}

/// Reads files until the end of an envelope or, without one, until a line that is not of a patch.
struct PatchFiles<'a> {
    lines: &'a [&'a str],
    /// The line that is read next.
    at: usize,
    closed: bool,
    takes_bare_fence: bool,
    directory: &'a str,
}

impl<'a> PatchFiles<'a> {
    /// All files. After trouble the rest is still read, so that `at` is the end of the patch.
    fn read(&mut self) -> Result<Vec<FileChange>, BlockTrouble> {
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
        let (read, name): (fn(&mut Self, &str) -> _, _) = match directive(line)? {
            Directive::Add(name) => (Self::added, name),
            Directive::Delete(name) => (Self::deleted, name),
            Directive::Update(name) => (Self::updated, name),
            _ => return None,
        };
        self.at += 1;
        Some(read(self, name))
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
        if let Some(block) = fenced_content(self.lines, self.at, self.takes_bare_fence) {
            self.at = block.end;
            let lines = &self.lines[block.start + 1..block.end - 1];
            let mut filled = lines.iter().filter(|line| !line.is_empty());
            let marked = filled.all(|line| line.starts_with('+'));
            return self.new_file(name, lines, marked);
        }
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
        self.new_file(name, lines, marked)
    }

    /// A new file of lines that all have their mark, or all lack it.
    fn new_file(
        &self,
        name: &str,
        lines: &[&str],
        marked: bool,
    ) -> Result<FileChange, BlockTrouble> {
        let mut content = String::new();
        for line in lines {
            match line.strip_prefix('+').filter(|_| marked) {
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

    /// Takes the `@@` lines; several say where the place is, from the outside in. Blank lines between
    /// them are no hunk.
    fn hunk_header(&mut self) -> (Hunk, bool) {
        let mut hunk = Hunk::default();
        let start = self.at;
        let anchor = |at: usize| self.lines.get(at)?.strip_prefix("@@");
        while let Some(rest) = anchor(self.at) {
            self.at += 1;
            let below = code_fence::skip_blank(self.lines, self.at);
            if anchor(below).is_some() {
                self.at = below;
            }
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

#[cfg(test)]
mod directive_tests {
    use super::*;

    #[test]
    fn reads_directives_as_they_are_seen() {
        for line in [
            "*** Begin Patch",
            "*** Begin Patch ***",
            "***Begin Patch",
            " *** begin patch ",
        ] {
            assert_eq!(directive(line), Some(Directive::Begin), "{line}");
        }
        assert_eq!(
            directive("*** Update File: a b.rs"),
            Some(Directive::Update("a b.rs"))
        );
        assert_eq!(directive("***Add File:x"), Some(Directive::Add("x")));
        assert_eq!(directive("*** Move to: y"), Some(Directive::MoveTo("y")));
        for line in [
            "*** Frobnicate File: x",
            "+*** Begin Patch",
            "*** Update File:",
            "** Begin Patch",
            "****",
        ] {
            assert_eq!(directive(line), None, "{line}");
        }
    }
}

#[cfg(test)]
mod tests;
