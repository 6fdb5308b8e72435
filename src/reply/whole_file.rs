//! A whole file: a code block directly under a path.
//!
//! Only for replies that have nothing else, and only where the path is unmistakable: alone on the
//! line above the block, in the fence line, in a comment `filepath: a.py` on the first line of the
//! block, or the one file of a sentence that announces it ("Here is the new version of `a.py`:").
//! Such a comment is not part of the file. Shell blocks are taken only for a file that is a script; they
//! are never run. Blocks that show a part, a diff or an output are left to the person.

use crate::protocol::{Command, RelPath};

use super::code_fence::Fence;
use super::file_name;
use super::found::{Found, Item};
use crate::reply::trim::{is_blank, trim, trim_start};

/// All files of a reply.
///
/// A longer fence without a name, such as the one that the protocol asks for, is looked into.
pub(super) fn find_all(lines: &[&str]) -> Vec<Found> {
    files(lines, Depth::Reply)
}

/// Whether a code block may be a frame around others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Reply,
    Frame,
}

fn files(lines: &[&str], depth: Depth) -> Vec<Found> {
    let mut found = Vec::new();
    let (mut at, mut after) = (0, 0);
    while at < lines.len() {
        let Some(fence) = Fence::read(lines[at]) else {
            at += 1;
            continue;
        };
        let named = named(lines, at, after, &fence);
        let is_markdown = named
            .as_ref()
            .is_some_and(|named| is_markdown(named.text, &fence));
        let close = close_of(lines, at, &fence, is_markdown);
        let mut end = close.map_or(lines.len(), |close| close + 1);
        if let Some(named) = named {
            let content = &lines[at + 1..close.unwrap_or(lines.len())];
            let content = match content.split_first() {
                Some((first, rest)) if labelled(first) == Some(named.text) => rest,
                _ => content,
            };
            let item = if named.is_inside && is_shortened(content) {
                part(named.text)
            } else {
                item(named.text, content, fence.indent)
            };
            found.push(Found {
                lines: named.line..end,
                items: vec![item],
                open: close.is_none(),
            });
        } else if depth == Depth::Reply
            && let Some(frame_end) = frame_end(lines, at, close, &fence)
        {
            let start = at + 1;
            end = frame_end;
            let inner = files(&lines[start..end], Depth::Frame);
            found.extend(inner.into_iter().map(|found| Found {
                lines: found.lines.start + start..found.lines.end + start,
                ..found
            }));
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

/// A name and the line on which it stands.
struct Named<'a> {
    text: &'a str,
    line: usize,
    /// Whether it stands in a comment inside of the block.
    is_inside: bool,
}

fn named<'a>(lines: &[&'a str], at: usize, after: usize, fence: &Fence<'a>) -> Option<Named<'a>> {
    let language = fence.info.split([' ', ':', '{']).next().unwrap_or_default();
    if let Some(text) = file_name::in_info(fence.info) {
        return is_taken(language, text).then_some(Named {
            text,
            line: at,
            is_inside: false,
        });
    }
    let above = (after..at)
        .rev()
        .take(2)
        .find(|line| !is_blank(lines[*line]))
        .and_then(|line| Some((line, named_above(lines[line], line + 1 == at)?)));
    let inside = || Some((at, labelled(lines.get(at + 1)?)?));
    let is_inside = above.is_none();
    let (line, text) = above.or_else(inside)?;
    is_taken(language, text).then_some(Named {
        text,
        line,
        is_inside,
    })
}

/// The file that the line above a fence names.
fn named_above(line: &str, is_next: bool) -> Option<&str> {
    file_name::alone(line)
        .or_else(|| bare_word(line).filter(|_| is_next))
        .or_else(|| announced(line))
}

/// The file of a comment that does nothing but say so: `// filepath: src/a.ts`.
fn labelled(line: &str) -> Option<&str> {
    const COMMENTS: [&str; 6] = ["//", "#", "--", ";", "/*", "<!--"];
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

/// Whether a comment says that lines were left out: `// ...existing code...`.
fn is_shortened(lines: &[&str]) -> bool {
    lines.iter().any(|line| {
        let text = trim(line);
        let words = text.trim_start_matches(['/', '#', '-', ';', '*', '<', '!', '{', ' ']);
        words.len() < text.len() && (words.starts_with("...") || words.starts_with('\u{2026}'))
    })
}

/// A file without an extension: one plain word directly above the fence, which is no label.
fn bare_word(line: &str) -> Option<&str> {
    const LABELS: [&str; 16] = [
        "after", "before", "bash", "code", "console", "copy", "diff", "edit", "example", "input",
        "note", "output", "result", "shell", "text", "usage",
    ];
    let is_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    let is_word = !line.is_empty() && line.bytes().all(is_name);
    let is_label = LABELS.iter().any(|label| line.starts_with(label));
    (is_word
        && !is_label
        && line
            .bytes()
            .any(|byte| byte.is_ascii_digit() || b"_-".contains(&byte)))
    .then_some(line)
}

/// The file of a sentence that says that the whole of it follows.
fn announced(line: &str) -> Option<&str> {
    const BEFORE: &[&str] = &[
        "a",
        "an",
        "and",
        "code",
        "complete",
        "content",
        "contents",
        "corrected",
        "entire",
        "file",
        "final",
        "fixed",
        "for",
        "full",
        "here",
        "here's",
        "is",
        "modified",
        "new",
        "now",
        "of",
        "our",
        "revised",
        "rewritten",
        "the",
        "then",
        "this",
        "updated",
        "version",
        "whole",
        "your",
    ];
    const PARTIAL: &[&str] = &[
        "change", "changes", "excerpt", "lines", "output", "part", "run", "section", "snippet",
        "usage", "use",
    ];
    let text = trim(line);
    let name = file_name::in_sentence(text).filter(|_| text.ends_with(':'))?;
    let (before, after) = text.split_once(name)?;
    // "No problem! Here is ...": only the last sentence announces it.
    let before = ["! ", ". ", "? "]
        .iter()
        .fold(before, |rest, end| rest.rsplit(end).next().unwrap_or(rest));
    let words = |text: &str| -> Vec<String> {
        text.split(|character: char| {
            !(character.is_alphanumeric() || matches!(character, '\'' | '’'))
        })
        .filter(|word| !word.is_empty())
        .map(|word| word.to_lowercase().replace('’', "'"))
        .collect()
    };
    let before = words(before);
    let announces = before.iter().any(|word| word.starts_with("here"))
        && before.iter().all(|word| BEFORE.contains(&word.as_str()));
    let is_part = words(after)
        .iter()
        .any(|word| PARTIAL.contains(&word.as_str()));
    (announces && !is_part).then_some(name)
}

/// Whether a block of this language can be that file.
fn is_taken(language: &str, name: &str) -> bool {
    const SHELLS: [&str; 12] = [
        "bash",
        "bat",
        "cmd",
        "console",
        "fish",
        "powershell",
        "ps1",
        "sh",
        "shell",
        "shellsession",
        "terminal",
        "zsh",
    ];
    const SCRIPTS: [&str; 7] = ["bash", "bat", "cmd", "fish", "ps1", "sh", "zsh"];
    let language = language.to_ascii_lowercase();
    if language == "diff" || language == "patch" {
        return matches!(file_name::extension(name), Some("diff" | "patch"));
    }
    !SHELLS.contains(&language.as_str())
        || file_name::extension(name).is_some_and(|extension| SCRIPTS.contains(&extension))
}

fn is_markdown(name: &str, fence: &Fence<'_>) -> bool {
    matches!(file_name::extension(name), Some("md" | "mdx" | "markdown"))
        || fence.info.starts_with("md")
        || fence.info.starts_with("markdown")
}

/// The line that closes the block; in Markdown, blocks inside of it are passed over.
fn close_of(lines: &[&str], at: usize, fence: &Fence<'_>, is_markdown: bool) -> Option<usize> {
    let mut inner = 0_usize;
    for (index, line) in lines.iter().enumerate().skip(at + 1) {
        if fence.is_closed_by(line) {
            if inner == 0 {
                return Some(index);
            }
            inner -= 1;
        } else if is_markdown && Fence::read(line).is_some_and(|other| fence.may_hold(&other)) {
            inner += 1;
        }
    }
    None
}

fn item(name: &str, lines: &[&str], indent: usize) -> Item {
    match RelPath::parse(name) {
        Ok(path) => Item::Command(Command::CreateFile {
            path,
            content: content(lines, indent),
        }),
        Err(refused) => Item::Problem {
            command: Some("CREATE_FILE"),
            message: format!("the file cannot be written: {refused}"),
            hint: "name the file relative to the workspace".to_owned(),
        },
    }
}

/// A block that names its file and leaves lines out.
fn part(name: &str) -> Item {
    Item::Problem {
        command: Some("CREATE_FILE"),
        message: format!("the block for `{name}` leaves lines out, so nothing was written"),
        hint: "send the whole file, or the change with `[EDIT_FILE ...]`".to_owned(),
    }
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
                Item::Command(Command::CreateFile { path, content }) => (path.to_string(), content),
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
        assert!(matches!(found[0].items[..], [Item::Problem { .. }]));
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
        assert!(found[0].open);
        assert_eq!(found[0].lines, 0..3);
        assert!(find_all(&["a.py", "```", "x", "```"])[0].lines == (0..4));
    }

    #[test]
    fn a_path_outside_is_a_problem() {
        assert!(matches!(
            find_all(&["/etc/passwd", "```", "x", "```"])[0].items[0],
            Item::Problem { .. }
        ));
    }
}
