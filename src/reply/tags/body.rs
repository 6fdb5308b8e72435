//! What lies between an opening and a closing tag, without what only wrapped it.
//!
//! A body is verbatim. Taken off is only what certainly is not part of it:
//!
//! - a quote mark or the indentation of a list item that stands before the tag and before every
//!   line of the body;
//! - `Copy code` and the name of a language above it, as chat pages show them over a block;
//! - a fence that encloses all of it. A Markdown file may begin and end with fences of its own:
//!   there it goes only if the fence that opens first is closed by the last line and says
//!   `markdown` or, for a whole file, nothing;
//! - line numbers before every line that count up without a gap, except in plain text and data.

use std::borrow::Cow;

use super::copy_button::{is_button, is_language};
use crate::reply::code_fence::Fence;
use crate::reply::repair;
use crate::reply::trim::{is_blank, trim};

/// What a body is for, which decides what may be taken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::reply) enum Place {
    /// The whole of a file; `prose` where it may begin with a fence of its own.
    File { prose: bool },
    /// Some lines of a file.
    Part { prose: bool },
    /// Edits or a patch.
    Changes,
    /// A shell script.
    Script,
    /// Words for a person: everything counts.
    Words,
}

/// The lines around a body, and the marks before its tag.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::reply) struct Around<'a> {
    /// What Markdown put before the opening tag.
    pub(in crate::reply) before_tag: &'a str,
    /// Whether the line above the opening tag opens a fence.
    pub(in crate::reply) fence_above: bool,
    /// Whether the line below the closing tag closes one.
    pub(in crate::reply) fence_below: bool,
    /// Whether the tags arrived with backslashes before Markdown characters.
    pub(in crate::reply) escaped: bool,
}

/// How many quote marks in a row are taken off.
const DEEPEST_QUOTE: usize = 3;

/// A body, and what was done to it.
#[derive(Debug, Default)]
pub(in crate::reply) struct Body<'a> {
    lines: Cow<'a, [&'a str]>,
    unescape: bool,
    /// What was undone, and on how many lines.
    pub(in crate::reply) repairs: Vec<(&'static str, usize)>,
}

impl<'a> Body<'a> {
    /// Takes off what is not part of the body.
    pub(in crate::reply) fn new(lines: &'a [&'a str], around: Around<'_>, place: Place) -> Self {
        let mut body = Self {
            lines: Cow::Borrowed(lines),
            unescape: false,
            repairs: Vec::new(),
        };
        body.remove_quote_marks(around.before_tag);
        body.remove_indentation(around.before_tag, place);
        if place == Place::Words {
            body.unescape = around.escaped;
            return body;
        }
        body.remove_copy_button(place);
        let fenced = body.remove_fence(around, place);
        body.unescape = around.escaped && !fenced;
        body.remove_line_numbers(place);
        body
    }

    /// The text; every line ends with a line break.
    pub(in crate::reply) fn text(&mut self) -> String {
        let size = self.lines.iter().map(|line| line.len() + 1).sum();
        let mut text = String::with_capacity(size);
        for line in self.lines.iter() {
            text.push_str(line);
            text.push('\n');
        }
        if self.unescape && repair::is_escaped(&text) {
            let plain = repair::without_backslashes(&text);
            let count = text.len() - plain.len();
            if count > 0 {
                self.repairs
                    .push(("removed backslashes before Markdown characters", count));
            }
            return plain;
        }
        text
    }

    fn replace(&mut self, lines: Vec<&'a str>, what: &'static str, count: usize) {
        self.lines = Cow::Owned(lines);
        self.repairs.push((what, count));
    }

    fn remove_quote_marks(&mut self, before_tag: &str) {
        let depth = before_tag.bytes().filter(|byte| *byte == b'>').count();
        let mut plain = None;
        for _ in 0..depth.min(DEEPEST_QUOTE) {
            let lines: &[&str] = plain.as_deref().unwrap_or_else(|| &*self.lines);
            match repair::without_quote_marks(lines) {
                Some(bare) => plain = Some(bare),
                None => return,
            }
        }
        if let Some(plain) = plain.filter(|plain| !plain.is_empty()) {
            let count = plain.len();
            self.replace(plain, "removed the quote mark before every line", count);
        }
    }

    fn remove_indentation(&mut self, before_tag: &str, place: Place) {
        let own = before_tag.rsplit('>').next().unwrap_or_default();
        let own = if own.len() < before_tag.len() {
            own.strip_prefix(' ').unwrap_or(own)
        } else {
            own
        };
        let listed = !is_blank(own);
        let width = own.trim_end_matches(['*', '_', '`', '#']).chars().count();
        let certain = listed || !matches!(place, Place::Part { .. } | Place::Words);
        if width == 0 || !certain {
            return;
        }
        let plain: Option<Vec<&str>> = self
            .lines
            .iter()
            .map(|line| {
                let spaces = line.bytes().take_while(|byte| *byte == b' ').count();
                if spaces >= width {
                    Some(&line[width..])
                } else {
                    is_blank(line).then_some("")
                }
            })
            .collect();
        if let Some(plain) = plain.filter(|plain| plain.iter().any(|line| !line.is_empty())) {
            let count = plain.len();
            self.replace(plain, "removed the indentation of a list", count);
        }
    }

    fn remove_copy_button(&mut self, place: Place) {
        let line = |at: usize| self.lines.get(at).map_or("", |line| trim(line));
        let language = usize::from(is_language(line(0)));
        let buttons = (language..language + 2)
            .take_while(|at| is_button(line(*at)))
            .count();
        let above_fence = Fence::read(line(language + buttons)).is_some();
        let sure = above_fence
            || buttons == 2
            || (buttons == 1 && (language == 1 || line(language) == "Copy code"))
            || (buttons == 1 && line(language) == "Copy" && !place.is_prose());
        let count = language + buttons;
        if count > 0 && sure {
            let rest = self.lines[count..].to_vec();
            self.replace(rest, "removed the words of a copy button", count);
        }
    }

    /// Takes off an enclosing fence; says whether there was one.
    fn remove_fence(&mut self, around: Around<'_>, place: Place) -> bool {
        let Some((first, last)) = outer_lines(&self.lines) else {
            return false;
        };
        let inner = match enclosing(&self.lines[first..=last], place) {
            Some(Enclosed::Both) if last > first => first + 1..last,
            Some(Enclosed::First) if around.fence_below || !place.is_prose() => {
                first + 1..self.lines.len()
            }
            Some(Enclosed::Last) if around.fence_above => 0..last,
            _ => return false,
        };
        // The fence is how a block is written, not damage: nothing to report.
        self.lines = match &self.lines {
            Cow::Borrowed(lines) => Cow::Borrowed(&lines[inner]),
            Cow::Owned(lines) => Cow::Owned(lines[inner].to_vec()),
        };
        true
    }

    fn remove_line_numbers(&mut self, place: Place) {
        if !matches!(
            place,
            Place::File { prose: false } | Place::Part { prose: false }
        ) {
            return;
        }
        if let Some(plain) = repair::without_line_numbers(&self.lines) {
            let count = plain.len();
            self.replace(plain, "removed line numbers before every line", count);
        }
    }
}

impl Place {
    fn is_prose(self) -> bool {
        matches!(
            self,
            Self::File { prose: true } | Self::Part { prose: true } | Self::Words
        )
    }
}

/// Whether a file of this name holds words or data, whose lines may look like anything.
pub(in crate::reply) fn is_prose_file(name: &str) -> bool {
    const PROSE: [&str; 18] = [
        "md", "markdown", "mdx", "mdc", "mkd", "qmd", "rmd", "txt", "text", "rst", "adoc", "org",
        "csv", "tsv", "yaml", "yml", "log", "prompt",
    ];
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => PROSE
            .iter()
            .any(|known| known.eq_ignore_ascii_case(extension)),
        _ => true,
    }
}

/// The first and the last line that are not blank.
fn outer_lines(lines: &[&str]) -> Option<(usize, usize)> {
    let is_text = |line: &&str| !is_blank(line);
    let first = lines.iter().position(is_text)?;
    let last = lines.iter().rposition(is_text)?;
    Some((first, last))
}

/// Which fences enclose a body.
enum Enclosed {
    Both,
    /// Only the first line is a fence: its end is missing or stands after the closing tag.
    First,
    /// Only the last line is one: it was opened above the opening tag.
    Last,
}

/// Looks at lines whose first and last are not blank.
fn enclosing(lines: &[&str], place: Place) -> Option<Enclosed> {
    let opens = lines.first().and_then(|line| Fence::read(line));
    let ends = lines.last().and_then(|line| Fence::read(line));
    if opens.is_none() && ends.is_none() {
        return None;
    }
    let middle = lines.get(1..lines.len() - 1).unwrap_or_default();
    let alone = !middle.iter().any(|line| Fence::read(line).is_some());
    match (opens, ends) {
        (Some(open), Some(end)) if lines.len() > 1 && end.closes(&open) => {
            let whole = !matches!(place, Place::Part { .. });
            let own = match open.info.to_ascii_lowercase().as_str() {
                "md" | "markdown" => true,
                "" | "text" | "txt" | "plaintext" => whole,
                _ => false,
            };
            let enclosed = alone || encloses(&open, middle);
            let sure = if place.is_prose() {
                own && enclosed
            } else {
                enclosed || matches!(place, Place::File { .. } | Place::Part { .. })
            };
            sure.then_some(Enclosed::Both)
        }
        (Some(open), None) if alone => {
            let markdown = matches!(open.info, "md" | "markdown");
            (markdown || !place.is_prose()).then_some(Enclosed::First)
        }
        (None, Some(end)) if alone && end.info.is_empty() => Some(Enclosed::Last),
        _ => None,
    }
}

/// Whether the fence that opened stays open throughout `middle`.
///
/// A fence with a language opens another block inside, and one without closes the innermost.
/// Where Markdown's own rule, by which nothing nests, also has every fence closed, that rule wins.
fn encloses(open: &Fence<'_>, middle: &[&str]) -> bool {
    let fences = || middle.iter().filter_map(|line| Fence::read(line));
    let mut flat = Some(*open);
    for fence in fences() {
        flat = match flat {
            Some(current) if fence.closes(&current) => None,
            None => Some(fence),
            current => current,
        };
    }
    if !fences().any(|fence| fence.closes(open)) {
        return true;
    }
    // The last line of the body still follows: it closes what is open by then.
    let flat_is_sound = flat.is_some();
    let mut depth = 1_usize;
    for fence in fences() {
        depth = if fence.info.is_empty() {
            depth - 1
        } else {
            depth + 1
        };
        if depth == 0 {
            return false;
        }
    }
    depth == 1 && (!flat_is_sound || matches!(open.info, "md" | "markdown"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Place = Place::File { prose: false };
    const PROSE: Place = Place::File { prose: true };

    #[track_caller]
    fn case(body: &str, place: Place, expected: &str) {
        around(body, Around::default(), place, expected);
    }

    #[track_caller]
    fn around(body: &str, around: Around<'_>, place: Place, expected: &str) {
        let lines: Vec<&str> = body.split('\n').collect();
        assert_eq!(Body::new(&lines, around, place).text(), expected, "{body}");
    }

    #[test]
    fn a_fence_around_all_of_it_goes() {
        case("```rust\nfn a() {}\n```", FILE, "fn a() {}\n");
        case("\n~~~~\nx\n~~~~\n", FILE, "x\n");
        case(
            "```markdown\n# A\n```sh\nls\n```\nB\n```",
            PROSE,
            "# A\n```sh\nls\n```\nB\n",
        );
        case(
            "````\n# A\n```\nls\n```\n````",
            PROSE,
            "# A\n```\nls\n```\n",
        );
        case(
            "```\n# A\n```sh\nls\n```\n```",
            PROSE,
            "# A\n```sh\nls\n```\n",
        );
        case("```bash\ncargo test\n```", Place::Script, "cargo test\n");
        case("```\n```", FILE, "");
    }

    #[test]
    fn fences_that_belong_to_a_file_stay() {
        for text in [
            "# A\n```sh\nls\n```\n",
            "```sh\nls\n```\nand\n```sh\npwd\n```\n",
            "```\nls\n```\nand\n```\npwd\n```\n",
            "```rust\nfn a() {}\n```\n",
        ] {
            case(text.trim_end_matches('\n'), PROSE, text);
        }
        let part = Place::Part { prose: true };
        case("```\nls\n```", part, "```\nls\n```\n");
        case("```\nls\n```", Place::Words, "```\nls\n```\n");
    }

    #[test]
    fn a_fence_that_crosses_a_tag_goes() {
        let below = Around {
            fence_below: true,
            ..Around::default()
        };
        around("```rust\nx", below, FILE, "x\n");
        let above = Around {
            fence_above: true,
            ..Around::default()
        };
        around("x\n```", above, FILE, "x\n");
        case("x\n```", FILE, "x\n```\n");
    }

    #[test]
    fn the_words_of_a_copy_button_go() {
        case("rust\nCopy code\nfn a() {}", FILE, "fn a() {}\n");
        case("python\nCopy\nEdit\nx = 1", FILE, "x = 1\n");
        case("Copy code\n```\nx\n```", FILE, "x\n");
        case("text\n```\nx\n```", FILE, "x\n");
        case("Copy\nme", PROSE, "Copy\nme\n");
        case("rust\nis a language", PROSE, "rust\nis a language\n");
        case("go\nhome", FILE, "go\nhome\n");
    }

    #[test]
    fn what_stands_before_tag_and_lines_alike_goes() {
        let quoted = Around {
            before_tag: "> ",
            ..Around::default()
        };
        around("> a\n>\n>   b", quoted, FILE, "a\n\n  b\n");
        around("> a\nb", quoted, FILE, "> a\nb\n");
        let listed = Around {
            before_tag: "- ",
            ..Around::default()
        };
        around("  a\n\n    b", listed, FILE, "a\n\n  b\n");
        around("a\n  b", listed, FILE, "a\n  b\n");
        let indented = Around {
            before_tag: "    ",
            ..Around::default()
        };
        around("    a", indented, Place::Part { prose: false }, "    a\n");
    }

    #[test]
    fn line_numbers_go_only_where_they_count_up() {
        case(" 9 | a\n10 |\n11 |   b", FILE, "a\n\n  b\n");
        case("1 | a\n3 | b", FILE, "1 | a\n3 | b\n");
        case("1: a\n2: b", PROSE, "1: a\n2: b\n");
    }
}
