//! A whole file: a code block directly under a path.
//!
//! Only for replies that have nothing else, and only where the path is unmistakable: alone on the
//! line above the block, in the fence line, in a comment `filepath: a.py` on the first line of the
//! block, or the one file of a sentence that announces it ("Here is the new version of `a.py`:").
//! Such a comment is not part of the file. Shell blocks are taken only for a file that is a script; they
//! are never run. Blocks that show a part, a diff or an output are left to the person. Where fences
//! follow that may as well be of the file, its end is uncertain and nothing from there on is taken.

mod end;
mod named;

use std::ops::Range;

use agent_protocol::{Command, ContentSource, RelPath};

use super::candidate::{BlockCandidate, BlockCertainty, BlockTrouble, CandidateItem};
use super::code_fence::Fence;
use super::workspace_root;
use crate::trim::trim_start;
pub(super) use end::FileBlockEnd;
pub(super) use named::named;
use named::{NamedBlock, is_shortened, is_taken, labelled, path_in_comment};

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
        let (end, content, below) = match end::of(lines, at, fence, named.text) {
            FileBlockEnd::Closed(close) => (FileBlockEnd::Closed(close), at + 1..close, close + 1),
            other => (other, at + 1..lines.len(), lines.len()),
        };
        Self {
            name: named.text,
            lines: named.line..below,
            content,
            end,
            is_named_inside: named.is_inside,
            is_text: end::may_hold_fences(named.text, fence),
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

/// The file that a comment on the first line of the block at this fence names, and the line of the
/// closing fence.
pub(super) fn named_in_comment<'a>(lines: &[&'a str], at: usize) -> Option<(&'a str, usize)> {
    let fence = Fence::read(lines[at])?;
    let name = path_in_comment(lines.get(at + 1)?)?;
    let language = fence.info.split([' ', ':', '{']).next().unwrap_or_default();
    let mut below = lines.iter().enumerate().skip(at + 1);
    let (close, end) = below.find_map(|(at, line)| Some((at, Fence::read(line)?)))?;
    let is_file = is_taken(language, name) && end.closes(&fence) && close > at + 2;
    is_file.then_some((name, close))
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

/// The file of a reply's only code block, if its first line is a comment with a path.
fn lone_block(lines: &[&str]) -> Option<BlockCandidate> {
    let mut fences = lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| Some((at, Fence::read(line)?)));
    let ((at, fence), (close, end)) = (fences.next()?, fences.next()?);
    if fences.next().is_some() || !end.closes(&fence) {
        return None;
    }
    let (name, _) = named_in_comment(lines, at)?;
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

/// Tells whether a code block may be a frame around others.
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
        if depth == Depth::Reply
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

/// Where the contents of a fence that is only a frame around others end.
///
/// A longer fence is one, and so is a `diff` that shows no diff: what seems to close it opens the
/// first block inside of it.
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
        Ok(path) => CandidateItem::Command(Command::CreateFile {
            path,
            content: content(lines, indent),
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

/// The lines, without the indentation that the fence itself has.
fn content(lines: &[&str], indent: usize) -> String {
    let mut content = String::new();
    for line in lines {
        let white = line.len() - trim_start(line).len();
        let cut = indent.min(white);
        content.push_str(line.get(cut..).unwrap_or(line));
        content.push('\n');
    }
    content
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
}
