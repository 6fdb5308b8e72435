//! A whole file: a code block directly under a path.
//!
//! Only for replies that have nothing else, and only where the path is unmistakable: alone on the
//! line above the block, in a heading above a sentence, in the fence line, alone on the first line of the
//! block, or the one file of a label that announces it (`file_label`). What names the file on the first
//! line, be it a path or a comment, is not part of the file. Shell blocks are taken only for a file that
//! is a script; they are never run. Blocks that show a part, a diff or an output are left to the person.
//! Where fences follow that may as well be of the file, its end is uncertain and nothing from there on is
//! taken.
//!
//! The path of a code block: above it, in its fence line, or in a comment on its first line.
//!
//! Where a code block that shows a file ends.
//!
//! Blocks inside of it that say their language are passed over. A fence that says nothing closes the
//! block, or it begins or ends one inside of it: what follows decides. In a text, such a fence below
//! leaves both open; in code it does not if it stands apart, as in a reply.

use std::borrow::Cow;
use std::ops::Range;

use agent_protocol::{Command, ContentSource, RelPath};

use crate::candidate::{BlockCandidate, BlockCertainty, BlockTrouble, CandidateItem};
use crate::code_fence::{self, Fence};
use crate::line::{ends_with_colon, has_word};
use crate::repair;
use crate::tags::{FileContent, copy_button};
use crate::trim::{filled_above, is_blank, trim, trim_start};
use crate::{file_label, file_name, known_name, undone, work, workspace_root};

/// Marks with which a comment begins.
const COMMENTS: [&str; 6] = ["//", "#", "--", ";", "/*", "<!--"];

/// A code block that shows a file.
pub(super) struct FileBlock<'a> {
    name: &'a str,
    /// All its lines, that of the name and the fences included.
    pub(super) lines: Range<usize>,
    /// The lines between its fences.
    content: Range<usize>,
    pub(super) end: FileBlockEnd,
    /// True if only a comment inside of it names the file.
    is_named_inside: bool,
    is_text: bool,
    indent: usize,
}

impl<'a> FileBlock<'a> {
    /// The block that the fence on the line `at` begins, if it shows a file; lines before `after`
    /// belong to others.
    pub(super) fn at(lines: &[&'a str], at: usize, after: usize) -> Option<Self> {
        let fence = Fence::read(lines[at])?;
        let named = named(lines, at, after, &fence)?;
        Some(Self::under(lines, at, &fence, &named))
    }

    /// The block that the fence on the line `at` begins under its name.
    pub(super) fn under(
        lines: &[&'a str],
        at: usize,
        fence: &Fence<'a>,
        named: &NamedBlock<'a>,
    ) -> Self {
        let (end, content, below) = match end_of(lines, at, fence, named.text) {
            FileBlockEnd::Closed(close) => (FileBlockEnd::Closed(close), at + 1..close, close + 1),
            other => (other, at + 1..lines.len(), lines.len()),
        };
        Self {
            name: named.text,
            lines: named.line..below,
            content,
            end,
            is_named_inside: named.is_inside,
            is_text: may_hold_fences(named.text, fence),
            indent: fence.indent,
        }
    }

    /// Its lines, the fences aside.
    pub(super) fn content<'l>(&self, lines: &'l [&'a str]) -> &'l [&'a str] {
        &lines[self.content.clone()]
    }

    /// Returns true if the file is a text, which may show edits of others.
    pub(super) fn is_text(&self) -> bool {
        self.is_text
    }

    fn found(self, lines: &[&str]) -> BlockCandidate {
        let content = &lines[self.content];
        let content = match content.split_first() {
            Some((first, rest)) if labelled(first) == Some(self.name) => rest,
            Some((first, rest)) if self.is_named_inside && trim(first) == self.name => {
                rest.strip_prefix(&[""]).unwrap_or(rest)
            }
            Some((first, rest))
                if self.is_named_inside && !known_name::begins_with(self.name, first) =>
            {
                rest
            }
            _ => content,
        };
        let item = match self.end {
            FileBlockEnd::Uncertain => CandidateItem::Problem(uncertain(self.name)),
            _ if self.is_named_inside && is_shortened(content) => part(self.name),
            _ => item(self.name, content, self.indent),
        };
        BlockCandidate {
            span: self.lines,
            items: vec![item],
            certainty: BlockCertainty::open_if(self.end == FileBlockEnd::Missing),
        }
    }
}

/// All files of a reply.
///
/// A longer fence without a name, such as the one that the protocol asks for, is looked into.
pub(super) fn find_all(lines: &[&str]) -> Vec<BlockCandidate> {
    let files = files(lines, Depth::Reply);
    if files.is_empty() {
        return lone_block(lines).into_iter().collect();
    }
    files
}

/// The code blocks of a reply under what may be the name of a file, by the lines of
/// their fences: nobody can tell `RegExp.prototype.test` from `Makefile.in`.
pub(super) fn doubtful_names<'a>(lines: &[&'a str]) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    let (mut at, mut after) = (0, 0);
    while at < lines.len() {
        let Some(fence) = Fence::read(lines[at]) else {
            at += 1;
            continue;
        };
        if let Some(block) = FileBlock::at(lines, at, after) {
            at = block.lines.end;
        } else {
            let above = filled_above(&lines[after..at], at - after);
            let close = (at + 1..lines.len()).find(|line| fence.is_closed_by(lines[*line]));
            let name = above.and_then(doubtful_name);
            found.extend(name.map(|name| (at, name)));
            at = close.map_or(lines.len(), |close| close + 1);
        }
        after = at;
    }
    found
}

/// What may be the name of a file on the line above a block.
fn doubtful_name(above: &str) -> Option<&str> {
    let is_labelled = |name: &str| {
        let before = above.split(name).next().unwrap_or_default();
        before.contains(':') && !is_label(&name.to_lowercase())
    };
    let is_like_path = |name: &str| {
        let has_end = name.contains('/') || file_name::extension(name).is_some();
        (has_end && file_name::is_unmistakable(name)) || is_manual_page(name)
    };
    let is_doubtful =
        |name: &&str| is_like_path(name) || known_name::is_known(name) || is_labelled(name);
    let announced = || {
        let name = file_name::in_backticks(above)?;
        let speech = file_label::Speech::around(above, name)?;
        let is_led = ends_with_colon(above)
            && (speech.is_whole() || (is_like_path(name) && !speech.is_part));
        is_led.then_some(name)
    };
    file_name::word(above)
        .filter(is_doubtful)
        .or_else(announced)
}

/// Returns true if a name is one of a manual page: `tool.1`.
fn is_manual_page(name: &str) -> bool {
    let section = name
        .rsplit_once('.')
        .map(|(stem, section)| (stem, section.as_bytes()));
    section.is_some_and(|(stem, section)| {
        matches!(section, [b'1'..=b'9'])
            && stem.starts_with(|first: char| first.is_ascii_lowercase())
            && stem
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    })
}

/// The file of a reply's only code block, if its first line is a comment with a path.
fn lone_block(lines: &[&str]) -> Option<BlockCandidate> {
    let mut fences = lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| Some((at, Fence::read(line)?)));
    let ((at, fence), (close, end)) = (fences.next()?, fences.next()?);
    let name = path_in_comment(lines.get(at + 1)?)?;
    let is_file = end.closes(&fence) && close > at + 2 && is_taken(fence.language(), name);
    if fences.next().is_some() || !is_file {
        return None;
    }
    let content = &lines[at + 2..close];
    Some(BlockCandidate {
        span: at..close + 1,
        items: vec![if is_shortened(content) {
            part(name)
        } else {
            item(name, content, fence.indent)
        }],
        certainty: BlockCertainty::Whole,
    })
}

/// True if a code block may be a frame around others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Reply,
    Frame,
}

fn files(lines: &[&str], depth: Depth) -> Vec<BlockCandidate> {
    let mut found = Vec::new();
    let (mut at, mut after) = (0, 0);
    while at < lines.len() {
        let Some(fence) = Fence::read(lines[at]) else {
            at += 1;
            continue;
        };
        if let Some(block) = FileBlock::at(lines, at, after) {
            at = block.lines.end;
            after = at;
            found.push(block.found(lines));
            continue;
        }
        let close = (at + 1..lines.len()).find(|line| fence.is_closed_by(lines[*line]));
        let mut end = close.map_or(lines.len(), |close| close + 1);
        let above = filled_above(&lines[after..at], at - after);
        let is_named = fence.is_long() && above.is_some_and(speaks_of_file);
        if depth == Depth::Reply
            && !is_named
            && let Some(frame_end) = frame_end(lines, at, close, &fence)
        {
            let start = at + 1;
            end = frame_end;
            let inner = files(&lines[start..end], Depth::Frame);
            found.extend(inner.into_iter().map(|found| found.below(start)));
        }
        at = end;
        after = end;
    }
    found
}

/// Returns true if a line names a file: a longer fence below it shows one, and frames nothing.
fn speaks_of_file(line: &str) -> bool {
    let is_name = |word: &str| file_name::is_unmistakable(word);
    !file_name::in_words(line).is_empty() || file_name::word(line).is_some_and(is_name)
}

/// Where the contents of a fence that is only a frame around others end.
///
/// A longer fence is one unless the line above it names a file, and so is a `diff` that shows no diff:
/// what seems to close it opens the first block inside of it.
fn frame_end(lines: &[&str], at: usize, close: Option<usize>, fence: &Fence<'_>) -> Option<usize> {
    if fence.is_long() {
        return Some(close.unwrap_or(lines.len()));
    }
    let close = close?;
    let is_diff = lines[at + 1..close]
        .iter()
        .any(|line| line.starts_with(['+', '-', '@', ' ']));
    if fence.info != "diff" || is_diff {
        return None;
    }
    let last = lines.iter().rposition(|line| fence.is_closed_by(line))?;
    (last > close).then_some(last)
}

fn item(name: &str, lines: &[&str], indent: usize) -> CandidateItem {
    match RelPath::parse(&workspace_root::relative(name)) {
        Ok(_) if is_placeholder(name) => CandidateItem::Problem(
            BlockTrouble::new(
                format!("`{name}` stands for the path of a file, so nothing was written"),
                "name the file",
            )
            .of("CREATE_FILE"),
        ),
        Ok(path) => CandidateItem::Command(Command::CreateFile {
            path,
            content: content(name, lines, indent),
            source: ContentSource::CodeBlock,
        }),
        Err(refused) => CandidateItem::Problem(
            BlockTrouble::new(
                format!("the file cannot be written: {refused}"),
                "name the file relative to the workspace",
            )
            .of("CREATE_FILE"),
        ),
    }
}

/// Returns true if a path only shows how one looks: `path/to/your/file.py`.
fn is_placeholder(name: &str) -> bool {
    let name = name.replace('\\', "/");
    name.starts_with("path/to/") || name.contains("/path/to/")
}

/// A block after which fences follow that may be its own.
pub(super) fn uncertain(name: &str) -> BlockTrouble {
    BlockTrouble::new(format!(
            "the block for `{name}` has fences in it or below it, so its end is uncertain: nothing from there on was done"
        ), format!(
            "send it as `[CREATE_FILE path=\"{name}\"]`, the lines and `[/CREATE_FILE]`, and what followed it again"
        )).of("CREATE_FILE")
}

/// A block that names its file and leaves lines out.
fn part(name: &str) -> CandidateItem {
    CandidateItem::Problem(
        BlockTrouble::new(
            format!("the block for `{name}` leaves lines out, so nothing was written"),
            "send the whole file, or the change with `[EDIT_FILE ...]`",
        )
        .of("CREATE_FILE"),
    )
}

/// The lines of a file without line numbers and labels that a page put there, if it is code.
fn plain_lines<'l, 'a>(name: &str, lines: &'l [&'a str]) -> Cow<'l, [&'a str]> {
    if FileContent::of(name) != FileContent::Code {
        return Cow::Borrowed(lines);
    }
    let lines = &lines[copy_button::labels(lines, false)..];
    let lines = repair::without_labels(lines).map_or(Cow::Borrowed(lines), Cow::Owned);
    repair::without_gutter(&lines).map_or(lines, Cow::Owned)
}

/// The lines, without the indentation that the fence itself has.
fn content(name: &str, lines: &[&str], indent: usize) -> String {
    let mut content = String::new();
    for line in plain_lines(name, lines).iter() {
        let white = line.len() - trim_start(line).len();
        let cut = indent.min(white);
        content.push_str(line.get(cut..).unwrap_or(line));
        content.push('\n');
    }
    content
}

/// A name and the line on which it stands.
pub(crate) struct NamedBlock<'a> {
    pub(crate) text: &'a str,
    line: usize,
    /// True if it stands in a comment inside of the block.
    is_inside: bool,
}

/// The file that the code block at the line `at` shows; lines before `after` belong to others.
pub(crate) fn named<'a>(
    lines: &[&'a str],
    at: usize,
    after: usize,
    fence: &Fence<'a>,
) -> Option<NamedBlock<'a>> {
    // A command may have begun within a block whose end is known already.
    let after = after.min(at);
    let language = fence.language();
    if file_name::is_citation(fence.info) {
        return None;
    }
    let is_example =
        |line: usize| filled_above(&lines[after..line], line - after).is_some_and(leads_to_example);
    if let Some(text) = file_name::in_info(fence.info) {
        return (is_taken(language, text) && !is_example(at)).then_some(NamedBlock {
            text,
            line: at,
            is_inside: false,
        });
    }
    let above = (after..at)
        .rev()
        .take(2)
        .find(|line| !is_blank(lines[*line]))
        .filter(|line| !ends_sentence(lines[after..*line].last()))
        .and_then(|line| {
            let name = named_above(lines[line], line + 1 == at)?;
            let is_other = |above| file_label::is_other_item(above, name);
            let is_one_of_several =
                filled_above(&lines[after..line], line - after).is_some_and(is_other);
            (!is_one_of_several || file_name::alone(lines[line]).is_some()).then_some((line, name))
        })
        .or_else(|| heading_above(lines, at, after));
    let inside = || Some((at, named_inside(lines, at, after, fence)?));
    let is_inside = above.is_none();
    let (line, text) = above.or_else(inside)?;
    (is_taken(language, text) && !is_example(line)).then_some(NamedBlock {
        text,
        line,
        is_inside,
    })
}

/// The file that a heading names, if nothing but a sentence or two of no other file stand between it and
/// the fence on the line `at`.
fn heading_above<'a>(lines: &[&'a str], at: usize, after: usize) -> Option<(usize, &'a str)> {
    const MOST_LINES: usize = 8;
    let is_sentence = |text: &str| {
        text.chars().next().is_some_and(char::is_alphanumeric)
            && !text.starts_with(|first: char| first.is_ascii_digit())
    };
    let mut above = (after..at).rev().take(MOST_LINES);
    let mut said = Vec::new();
    let (line, name) = above.find_map(|line| {
        let text = trim(lines[line]);
        match () {
            () if text.is_empty() => None,
            () if file_label::is_heading(text) => {
                Some(file_name::alone(text).map(|name| (line, name)))
            }
            () if is_sentence(text) => {
                said.push(text);
                None
            }
            () => Some(None),
        }
    })??;
    let is_about = |text: &&str| {
        file_name::in_words(text)
            .into_iter()
            .all(|other| other == name)
    };
    let tells_past = |text: &&str| undone::tells(&file_name::words_beside(text, "`"), "");
    if said.iter().any(tells_past) {
        return None;
    }
    let leads = said
        .iter()
        .all(|text| is_about(text) && file_label::leads_to_whole(text));
    (leads && !said.is_empty() && file_name::names_file(lines[line], name)).then_some((line, name))
}

/// The file that the first line within a code block names.
fn named_inside<'a>(
    lines: &[&'a str],
    at: usize,
    after: usize,
    fence: &Fence<'_>,
) -> Option<&'a str> {
    let first = lines.get(at + 1)?;
    let is_part =
        || filled_above(&lines[after..at], at - after).is_some_and(file_label::leads_to_part);
    let comment = || {
        let name = named_at_top(&[first]).filter(|name| file_name::alone(first) == Some(name))?;
        let is_mark = !(trim(first).starts_with('#') && may_hold_fences(name, fence));
        let length = code_fence::content(lines, at).len().saturating_sub(1);
        (is_mark && known_name::may_be_whole(name, length)).then_some(name)
    };
    let plain = || comment().or_else(|| path_at_top(lines, at, fence));
    labelled(first).or_else(|| plain().filter(|_| !is_part()))
}

/// The path that stands alone on the first line of a code block, if the lines below it are no paths.
fn path_at_top<'a>(lines: &[&'a str], at: usize, fence: &Fence<'_>) -> Option<&'a str> {
    const OUTPUTS: &str = "console output log logs tree diff patch";
    let name = lines.get(at + 1)?.trim_end();
    let below = lines.get(at + 2..)?.iter().find(|line| !is_blank(line))?;
    let below = trim(below);
    // `package a.b.c` is no path.
    let is_path = |text: &str| {
        text.ends_with('/') || (file_name::is_unmistakable(text) && !text.contains(' '))
    };
    // Below the name of a file, an output is indented.
    let is_output = fence.info.is_empty() && lines[at + 2].starts_with([' ', '\t']);
    let is_label = file_name::is_file(name)
        && !name.starts_with('.')
        && !fence.is_frame()
        && !has_word(OUTPUTS, fence.language())
        && Fence::read(below).is_none()
        && !is_output
        && !is_path(below);
    is_label.then_some(name)
}

/// Returns true if a name below this line is the end of a sentence that began there.
fn ends_sentence(above: Option<&&str>) -> bool {
    above.is_some_and(|line| {
        let text = trim(line);
        let last = text.chars().next_back();
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, ',' | '`' | '\'');
        let has_words = text.split(' ').nth(3).is_some();
        has_words && last.is_some_and(is_word) && !text.starts_with(['#', '-', '*', '|'])
    })
}

/// Returns true if a line leads to an example, which is no file: `For example:`.
fn leads_to_example(line: &str) -> bool {
    const WORDS: &str = "example,e.g.,for instance,such as,something like,format like";
    let text = trim(line).to_lowercase();
    ends_with_colon(&text) && WORDS.split(',').any(|word| text.contains(word))
}

/// The file that the line above a fence names.
fn named_above(line: &str, is_next: bool) -> Option<&str> {
    // `main` may be a function, and `TODO` a heading, although there is such a file.
    let known = || {
        line.contains(['.', '/']).then_some(())?;
        let name = file_name::word(line).filter(|name| name.contains(['.', '/']))?;
        known_name::is_known(name).then_some(name)
    };
    let bare_word = || bare_word(line).filter(|_| is_next).or_else(known);
    if !file_name::may_stand_in(line) {
        return bare_word();
    }
    file_name::alone(line)
        .filter(|name| file_name::names_file(line, name))
        .or_else(bare_word)
        .or_else(|| file_label::whole(line))
}

/// The file of a comment that does nothing but say so: `// filepath: src/a.ts`.
fn labelled(line: &str) -> Option<&str> {
    const LABELS: [&str; 4] = ["filepath:", "file:", "path:", "filename:"];
    let text = trim(line);
    let comment = COMMENTS
        .iter()
        .find_map(|mark| text.strip_prefix(mark))?
        .trim_start();
    let is_label = |label: &&str| {
        comment
            .get(..label.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(label))
    };
    LABELS
        .iter()
        .any(is_label)
        .then(|| file_name::alone(text))?
}

/// The file of a comment that is nothing but its path: `# src/app.py`.
fn path_in_comment(line: &str) -> Option<&str> {
    let name = named_at_top(&[line])?;
    (name.contains('/') && file_name::alone(line) == Some(name)).then_some(name)
}

/// The file that a comment or a docstring at the beginning of a block names, be it in a frame, below
/// `#!`, under a label or above a remark: `# === a.py ===`, `"""a.py: the parser"""`, `# In a.py`,
/// `%%writefile a.py`, `@@ a.py @@`.
pub(super) fn named_at_top<'a>(block: &[&'a str]) -> Option<&'a str> {
    const MARKS: [&str; 4] = ["\"\"\"", "'''", "%%", "@@"];
    const LABELS: &str = "in to file path filename writefile new a";
    let mut is_open = false;
    let lines = block.iter().take(3).map(|line| trim(line));
    for line in lines.filter(|line| !line.starts_with("#!")) {
        let mut marks = COMMENTS.iter().chain(&MARKS);
        if !is_open && !marks.any(|mark| line.starts_with(mark)) {
            return None;
        }
        let text = line.trim_matches(|c: char| c == ' ' || "#/*-=~;<>!@\"'".contains(c));
        if !file_name::may_stand_in(text) {
            is_open |= text.is_empty();
            continue;
        }
        let name = [": ", " - ", " \u{2013} ", " \u{2014} "]
            .iter()
            .fold(text, |text, end| text.split(end).next().unwrap_or(text));
        let labelled = || {
            let name = *file_name::in_words(text).first()?;
            let words = file_name::words_beside(text, name);
            let is_label = words.iter().all(|word| has_word(LABELS, word));
            is_label.then_some(name)
        };
        let name = file_name::alone(name).or_else(|| file_name::alone(text));
        let name = name
            .or_else(labelled)
            .filter(|name| file_name::is_file(name));
        if name.is_some() {
            return name;
        }
    }
    None
}

/// Returns true if a comment says that lines were left out: `// ...existing code...`.
fn is_shortened(lines: &[&str]) -> bool {
    lines.iter().any(|line| {
        let text = trim(line);
        let words = text.trim_start_matches(['/', '#', '-', ';', '*', '<', '!', '{', ' ']);
        words.len() < text.len() && (words.starts_with("...") || words.starts_with('\u{2026}'))
    })
}

/// A file without an extension: one plain word directly above the fence, which is no label.
fn bare_word(line: &str) -> Option<&str> {
    let is_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    // `2` counts something, and `v2` is a version.
    let letters = || line.bytes().filter(u8::is_ascii_lowercase).count();
    let is_word = line.bytes().all(is_name) && letters() > 1;
    let has_sign = || line.bytes().any(|byte| !byte.is_ascii_lowercase());
    (is_word && !is_label(line) && has_sign()).then_some(line)
}

/// Returns true if a word over a block says what it is.
fn is_label(word: &str) -> bool {
    const LABELS: [&str; 16] = [
        "after", "before", "bash", "code", "console", "copy", "diff", "edit", "example", "input",
        "note", "output", "result", "shell", "text", "usage",
    ];
    LABELS.iter().any(|label| word.starts_with(label))
}

/// Returns true if a block of this language can be that file.
pub(super) fn is_taken(language: &str, name: &str) -> bool {
    const SHELLS: &str = "\
        bash bat cmd console fish powershell ps1 sh shell shellsession terminal zsh";
    const SCRIPTS: [&str; 7] = ["bash", "bat", "cmd", "fish", "ps1", "sh", "zsh"];
    let language = language.to_ascii_lowercase();
    if language == "diff" || language == "patch" {
        return matches!(file_name::extension(name), Some("diff" | "patch"));
    }
    !has_word(SHELLS, &language)
        || file_name::extension(name).is_some_and(|extension| SCRIPTS.contains(&extension))
}

/// How a block ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileBlockEnd {
    /// With the fence on this line.
    Closed(usize),
    /// Not before the end of the text.
    Missing,
    /// With one of several fences.
    Uncertain,
}

/// Where the block of this file ends whose fence is the line `at`.
fn end_of(lines: &[&str], at: usize, fence: &Fence<'_>, name: &str) -> FileBlockEnd {
    let Some(close) = close_of(lines, at, fence) else {
        return FileBlockEnd::Missing;
    };
    let may_go_on = may_hold_fences(name, fence);
    let mut after = close + 1;
    while let Some((line, next)) = next_fence(lines, after, fence) {
        if named(lines, line, after, &next).is_some() {
            break;
        }
        let is_apart = !next.info.is_empty() || is_blank(lines[close + 1]) || is_led(lines, line);
        let its_close = (line + 1..lines.len()).find(|line| next.is_closed_by(lines[*line]));
        match its_close {
            Some(its_close) if is_apart && !(may_go_on && next.info.is_empty()) => {
                after = its_close + 1;
            }
            // A block of the reply that is cut.
            None if !may_go_on && !next.info.is_empty() => break,
            _ => return FileBlockEnd::Uncertain,
        }
    }
    FileBlockEnd::Closed(close)
}

/// The line that closes the block; those inside that say their language are passed over.
fn close_of(lines: &[&str], at: usize, fence: &Fence<'_>) -> Option<usize> {
    let mut inner = 0_usize;
    for (index, line) in lines.iter().enumerate().skip(at + 1) {
        work::count(1);
        let Some(other) = Fence::read(line) else {
            continue;
        };
        if other.closes(fence) {
            if inner == 0 {
                return Some(index);
            }
            inner -= 1;
        } else if fence.may_hold(&other) {
            inner += 1;
        }
    }
    None
}

/// The next fence that could be of the block.
fn next_fence<'a>(lines: &[&'a str], from: usize, fence: &Fence<'_>) -> Option<(usize, Fence<'a>)> {
    let lines_below = (from..lines.len()).inspect(|_| work::count(1));
    let fences = lines_below.filter_map(|line| Some((line, Fence::read(lines[line])?)));
    let mut own = fences.filter(|(_, other)| other.closes(fence) || fence.may_hold(other));
    own.next()
}

/// Returns true if the line above, blank ones aside, leads to what follows: `Run it:`.
fn is_led(lines: &[&str], at: usize) -> bool {
    filled_above(lines, at).is_some_and(ends_with_colon)
}

/// Returns true if the file is a text, which may show code itself.
fn may_hold_fences(name: &str, fence: &Fence<'_>) -> bool {
    const TEXTS: [&str; 9] = [
        "adoc", "markdown", "md", "mdx", "org", "prompt", "rst", "text", "txt",
    ];
    const WITHOUT_EXTENSION: [&str; 4] = ["README", "CHANGELOG", "LICENSE", "CONTRIBUTING"];
    let is_text = match file_name::extension(name) {
        Some(extension) => TEXTS.contains(&extension.to_ascii_lowercase().as_str()),
        None => WITHOUT_EXTENSION.iter().any(|text| name.ends_with(text)),
    };
    is_text || fence.info.starts_with("md") || fence.info.starts_with("markdown")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(text: &str) -> Vec<(String, String)> {
        let lines: Vec<&str> = text.lines().collect();
        find_all(&lines)
            .into_iter()
            .map(|found| match found.items.into_iter().next().unwrap() {
                CandidateItem::Command(Command::CreateFile { path, content, .. }) => {
                    (path.to_string(), content)
                }
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[track_caller]
    fn case(text: &str, expected: &[(&str, &str)]) {
        let files = files(text);
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        assert_eq!(files, expected, "{text}");
    }

    #[test]
    fn a_comment_on_the_first_line_may_name_the_file() {
        for (block, name) in [
            ("ts\n// filepath: src/a.ts", "src/a.ts"),
            ("python\n# filepath: a.py", "a.py"),
            ("html\n<!-- file: a.html -->", "a.html"),
            ("css\n/* File: a.css */", "a.css"),
        ] {
            case(&format!("Sure:\n\n```{block}\nx\n```\n"), &[(name, "x\n")]);
            case(
                &format!("**{name}**\n```{block}\nx\n```\n"),
                &[(name, "x\n")],
            );
        }
        for block in [
            "python\n# a.py does this\nx",
            "python\n# file: the one you sent\nx",
            "bash\n# file: a.py\nx",
            "python\nx\n# filepath: a.py",
        ] {
            case(&format!("Sure:\n\n```{block}\n```\n"), &[]);
        }
        let part = "```ts\n// filepath: src/a.ts\n// ...existing code...\nx\n```";
        let found = find_all(&part.lines().collect::<Vec<_>>());
        assert!(matches!(
            found[0].items[..],
            [CandidateItem::Problem { .. }]
        ));
    }

    #[test]
    fn a_path_stands_above_or_in_the_fence() {
        for above in [
            "sample.txt\n```\n",
            "### sample.txt\n\n```\n",
            "**`sample.txt`**:\n````\n",
            "```sample.txt\n",
            "```text path=sample.txt\n",
            "Here is a new version of `sample.txt` for you to consider:\n\n```\n",
            "And here's `sample.txt`:\n\n```\n",
            "Create `sample.txt`:\n\n```\n",
            "Overwrite `sample.txt` with:\n\n```\n",
            "Replace the contents of `sample.txt` with:\n\n```\n",
            "The complete `sample.txt` file:\n\n```\n",
            "Updated `sample.txt`:\n\n```\n",
            "Updated file: `sample.txt`\n\n```\n",
            "Datei: sample.txt\n\n```\n",
            "文件：sample.txt\n\n```\n",
            "sample.txt：\n\n```\n",
            "```text:A sample:sample.txt\n",
        ] {
            let close = if above.contains("````") {
                "````"
            } else {
                "```"
            };
            case(
                &format!("{above}one\ntwo\n{close}\nBye.\n"),
                &[("sample.txt", "one\ntwo\n")],
            );
        }
        case(
            "``````\nsample.txt\n```\nnew\n```\n\n``````\n",
            &[("sample.txt", "new\n")],
        );
        case(
            "```diff\nsample.txt\n```\nnew\n```\n\nBye.\n```\n",
            &[("sample.txt", "new\n")],
        );
        case("Do this:\n\nfile1\n```\nnew\n```\n", &[("file1", "new\n")]);
        case("Makefile\n```make\nall:\n```\n", &[("Makefile", "all:\n")]);
        // With a directory no extension need be known.
        case(
            "Create `system/relay.service`:\n\n```\nx\n```\n",
            &[("system/relay.service", "x\n")],
        );
        case("Use `system/relay.service`:\n\n```\nx\n```\n", &[]);
        for name in [
            "go.mod",
            ".env",
            ".gitignore",
            "Makefile",
            "backend/Dockerfile",
        ] {
            for language in ["", "makefile", "Dockerfile"] {
                case(
                    &format!("Here is the updated `{name}`:\n\n```{language}\nx\n```\n"),
                    &[(name, "x\n")],
                );
                case(
                    &format!("`{name}`:\n\n```{language}\nx\n```\n"),
                    &[(name, "x\n")],
                );
            }
        }
    }

    #[test]
    fn a_heading_names_the_file_below_a_sentence() {
        for above in [
            "### a.py\n\nThe value has to be checked here.\n\n",
            "**`a.py`**\n\nHier muss der Wert geprüft werden.\n\n",
            "## a.py\n这里需要检查该值。\n\n",
            "### `a.py`\n\nHere is the full file:\n\n",
            "### `a.py`\n\nIt is checked here.\nNothing else is.\n\n",
        ] {
            case(&format!("{above}```\nx\n```\n"), &[("a.py", "x\n")]);
        }
        for above in [
            "### a.py\n\nAdd this import:\n\n",
            "### a.py\n\nAdd the import at the top.\n\n",
            "### a.py\n\nReplace the condition with:\n\n",
            "### a.py\n\nUse it like this:\n\n",
            "### a.py\n\nThis is only an excerpt.\n\n",
            "### a.py\n\nIt is read by `b.py`.\n\n",
            "### a.py\n\nShould I do this?\n\n",
            "### a.py\n\n- One.\n\n",
            "### Words\n\nThe value has to be checked here.\n\n",
            "a.py\n\nSome words.\n\n",
        ] {
            case(&format!("{above}```\nx\n```\n"), &[]);
        }
    }

    #[test]
    fn a_path_on_the_first_line_names_the_file() {
        for top in ["src/a.py\n", "src/a.py\n\n"] {
            case(
                &format!("Sure:\n\n```python\n{top}import x\ny\n```\n"),
                &[("src/a.py", "import x\ny\n")],
            );
        }
        case(
            "```kotlin\nsrc/a.kt\npackage a.b.code\ny\n```\n",
            &[("src/a.kt", "package a.b.code\ny\n")],
        );
        for block in [
            "```\na.py\nb.py\n```\n",
            "```\na.py\nlib/\n```\n",
            "```\na.py\n```\n",
            "```console\na.py\nx y\n```\n",
            "```\na.py\n  1:1 error\n```\n",
            "Add this import:\n```python\na.py\nimport x\n```\n",
            "The output is:\n```text\na.py\nx y\n```\n",
            "```\nsome.thing\nx y\n```\n",
            "```gitignore\n.env\n*.log\n```\n",
            "``````\na.py\nx y\n``````\n",
        ] {
            case(block, &[]);
        }
    }

    #[test]
    fn a_comment_with_the_name_of_a_file_that_exists_is_a_label() {
        let existing = |path: &RelPath| match path.as_str() {
            "x.go" => Some("package x\n".to_owned()),
            "y.go" => Some("// y.go\npackage y\n".to_owned()),
            "README.md" => Some("# README.md\n".to_owned()),
            "Cargo.toml" => Some("[package]\n".repeat(9)),
            _ => None,
        };
        let written = |text: &str| {
            let lines: Vec<&str> = text.lines().collect();
            let _names = known_name::look_up(&existing, &lines);
            files(text)
        };
        let file = |path: &str, text: &str| vec![(path.to_owned(), text.to_owned())];
        let words = "Sure:\n\n";
        for (block, expected) in [
            (
                "```go\n// x.go\npackage z\n```\n",
                file("x.go", "package z\n"),
            ),
            (
                "```go\n// y.go\npackage z\n```\n",
                file("y.go", "// y.go\npackage z\n"),
            ),
            (
                "```markdown\n<!-- README.md -->\n# X\n```\n",
                file("README.md", "# X\n"),
            ),
            ("```markdown\n# README.md\n# X\n```\n", Vec::new()),
            (
                "```toml\n# Cargo.toml\n[dependencies]\na = 1\n```\n",
                Vec::new(),
            ),
            ("```go\n// z.go\npackage z\n```\n", Vec::new()),
            ("```go\n// x.go does this\npackage z\n```\n", Vec::new()),
        ] {
            assert_eq!(written(&format!("{words}{block}")), expected, "{block}");
        }
    }

    #[test]
    fn a_longer_fence_below_a_line_that_names_a_file_is_no_frame() {
        let block = "````markdown\n# X\n\n### `config.yml`\n\n```yaml\na: 1\n```\n````\n";
        for above in [
            "This is in README.md.",
            "I looked at `README.md`.",
            "See `README.md`:",
        ] {
            case(&format!("{above}\n\n{block}"), &[]);
        }
        case(
            &format!("Here it is:\n\n{block}"),
            &[("config.yml", "a: 1\n")],
        );
        let readme = "# X\n\n### `config.yml`\n\n```yaml\na: 1\n```\n";
        case(
            &format!("\u{1f4c4} **README.md**\n\n{block}"),
            &[("README.md", readme)],
        );
    }

    #[test]
    fn an_item_of_several_is_no_label() {
        case(
            "I changed:\n- `a.py` \u{2013} one\n- `b.py` \u{2013} two\n\n```\nx\n```\n",
            &[],
        );
        case(
            "1. **`a.py`** \u{2013} one\n\n   ```\n   x\n   ```\n\n2. **`b.py`** \u{2013} two\n\n   ```\n   y\n   ```\n",
            &[("a.py", "x\n"), ("b.py", "y\n")],
        );
    }

    #[test]
    fn what_is_not_unmistakable_is_left_alone() {
        for text in [
            "Run it like this:\n\n```\npython x.py\n```\n",
            "Run `x.py`:\n\n```\npython x.py\n```\n",
            "Here is how to use `x.py`:\n```\nx\n```\n",
            "Here is the snippet of `x.py`:\n```\nx\n```\n",
            "Here is `x.py` usage:\n```\nx\n```\n",
            "output\n```\nx\n```\n",
            "Add this target at the end:\n\n```makefile\nlint:\n```\n",
            "Update `x.py`:\n```\nx\n```\n",
            "Replace the loop in `x.py` with:\n```\nx\n```\n",
            "Create `x.py` with the changes below:\n```\nx\n```\n",
            "python\n```\nx\n```\n",
            "x.py\n\nSome words.\n```\nx\n```\n",
            "x.py\n```bash\npython x.py\n```\n",
            "x.py\n```diff\n-a\n```\n",
            "```\nx.py\n```\n```\ncode\n```\n",
        ] {
            case(text, &[]);
        }
    }

    #[test]
    fn a_script_is_a_file() {
        case(
            "scripts/build.sh\n```bash\nmake\n```\n",
            &[("scripts/build.sh", "make\n")],
        );
    }

    #[test]
    fn blocks_inside_markdown_belong_to_it() {
        case(
            "README.md\n```markdown\n# X\n```sh\nls\n```\nend\n```\nBye.\n",
            &[("README.md", "# X\n```sh\nls\n```\nend\n")],
        );
    }

    #[test]
    fn a_block_without_an_end_is_open() {
        let lines = ["a.py", "```", "x"];
        let found = find_all(&lines);
        assert!(found[0].is_open());
        assert_eq!(found[0].span, 0..3);
        assert!(find_all(&["a.py", "```", "x", "```"])[0].span == (0..4));
    }

    #[test]
    fn a_path_outside_is_a_problem() {
        assert!(matches!(
            find_all(&["/etc/passwd", "```", "x", "```"])[0].items[0],
            CandidateItem::Problem { .. }
        ));
    }

    #[test]
    fn a_block_within_one_whose_end_is_known_is_named_by_itself() {
        let lines = ["```html", "<!-- file: a.html -->", "x", "```"];
        let fence = Fence::read(lines[0]).unwrap();
        assert_eq!(named(&lines, 0, 3, &fence).unwrap().text, "a.html");
    }
}
