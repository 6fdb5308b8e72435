//! The text between an opening and a closing tag, without the marks that only wrapped it.
//!
//! A body is verbatim. Taken off is only what certainly is not part of it:
//!
//! - a quote mark or the indentation of a list item that stands before the tag and before every
//!   line of the body;
//! - `Copy code` and the name of a language above it, as chat pages show them over a block;
//! - a fence that encloses all of it. A Markdown file may begin and end with fences of its own:
//!   there it goes only if the fence that opens first is closed by the last line and says
//!   `markdown` or, for a whole file, nothing. Some lines of a file may have fences too, as in a
//!   comment: there only a pair goes, and only if it stands no deeper than the tag;
//! - line numbers before every line that count up without a gap, in code, in settings whose lines
//!   show that the numbers are not their keys, and in a range if they are those of the range.
//!
//! The kind of the file, as its name tells, decides which of this applies. Everything that is removed
//! is reported. In other dialects, which have no tag, only the fence goes (`unfence`).

use std::borrow::Cow;

use agent_protocol::{Command, Edit};

use crate::code_fence::Fence;
use crate::line::has_word;
use crate::repair::{self, Divider, copied};
use crate::tags::copy_button;
use crate::trim::{is_blank, text_of};

/// The use of a body, which decides what may be taken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyPlace {
    /// The whole of a file.
    File(FileContent),
    /// Some lines of a file.
    Part(FileContent),
    /// Edits or a patch.
    Changes,
    /// A shell script.
    Script,
    /// Words for a person: everything counts.
    Words,
}

/// The lines around a body, and the marks before its tag.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Around<'a> {
    /// Marks of Markdown before the opening tag.
    pub(crate) before_tag: &'a str,
    /// The fence on the line above the opening tag.
    pub(crate) above: Option<Fence<'a>>,
    /// The fence on the line below the closing tag.
    pub(crate) below: Option<Fence<'a>>,
    /// The fence of the code block that the opening tag stands in.
    pub(crate) frame: Option<Fence<'a>>,
    /// True if the tags arrived with backslashes before Markdown characters.
    pub(crate) escaped: bool,
    /// The number in the file of the first line of the body, where the tag tells it.
    pub(crate) first_number: Option<u32>,
}

pub(crate) const FENCE_REMOVED: &str = "removed the code fence around a body";

/// How many quote marks in a row are taken off.
const DEEPEST_QUOTE: usize = 3;

/// A body, and what was done to it.
#[derive(Debug, Default)]
pub(crate) struct Body<'a> {
    lines: Cow<'a, [&'a str]>,
    unescape: bool,
    /// Repairs, and on how many lines.
    pub(crate) repairs: Vec<(&'static str, usize)>,
}

impl<'a> Body<'a> {
    /// Takes off what is not part of the body.
    pub(crate) fn new(lines: &'a [&'a str], around: Around<'_>, place: BodyPlace) -> Self {
        let mut body = Self {
            lines: Cow::Borrowed(lines),
            unescape: false,
            repairs: Vec::new(),
        };
        body.remove_quote_marks(around.before_tag);
        body.remove_indentation(around.before_tag, place);
        if place == BodyPlace::Words {
            body.unescape = around.escaped;
            return body;
        }
        body.remove_copy_button(place);
        let fenced = body.remove_fence(around, place);
        body.unescape = around.escaped && !fenced;
        body.remove_line_numbers(around.first_number, place);
        body
    }

    /// The text; every line ends with a line break.
    pub(crate) fn text(&mut self) -> String {
        let text = text_of(&self.lines);
        if self.unescape && repair::is_escaped(&text) {
            let plain = repair::without_backslashes(&text);
            let count = text.len() - plain.len();
            if count > 0 {
                self.repairs.push((copied::BACKSLASHES, count));
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
        let mut plain = None;
        let marks = before_tag.split('>').skip(1);
        for behind in marks.take(DEEPEST_QUOTE) {
            let lines: &[&str] = plain.as_deref().unwrap_or_else(|| &*self.lines);
            match repair::without_quote_marks(lines, behind.starts_with(' ')) {
                Some(bare) => plain = Some(bare),
                None => return,
            }
        }
        if let Some(plain) = plain.filter(|plain| !plain.is_empty()) {
            let count = plain.len();
            self.replace(plain, "removed the quote mark before every line", count);
        }
    }

    fn remove_indentation(&mut self, before_tag: &str, place: BodyPlace) {
        let own = before_tag.rsplit('>').next().unwrap_or_default();
        let own = if own.len() < before_tag.len() {
            own.strip_prefix(' ').unwrap_or(own)
        } else {
            own
        };
        let listed = !is_blank(own);
        let width = own.trim_end_matches(['*', '_', '`', '#']).chars().count();
        let certain = listed || !matches!(place, BodyPlace::Part(_) | BodyPlace::Words);
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

    fn remove_copy_button(&mut self, place: BodyPlace) {
        let count = copy_button::labels(&self.lines, place.is_prose());
        if count > 0 {
            let rest = self.lines[count..].to_vec();
            self.replace(rest, copied::BUTTON_WORDS, count);
        }
        let is_code = place
            .content()
            .is_none_or(|content| content == FileContent::Code);
        if let Some(rest) = repair::without_labels(&self.lines).filter(|_| is_code) {
            let count = self.lines.len() - rest.len();
            self.replace(rest, copied::BUTTON_WORDS, count);
        }
    }

    /// Takes off an enclosing fence; says whether there was one.
    fn remove_fence(&mut self, around: Around<'_>, place: BodyPlace) -> bool {
        let Some((first, last)) = outer_lines(&self.lines) else {
            return false;
        };
        let inner = match enclosing(&self.lines[first..=last], place) {
            Some(Enclosed::Both(open)) if last > first && around.may_wrap(&open, place) => {
                first + 1..last
            }
            Some(Enclosed::First(open)) if around.may_open(&open, place) => {
                first + 1..self.lines.len()
            }
            Some(Enclosed::Last(end)) if around.may_close(&end, place) => 0..last,
            _ => return false,
        };
        let lines = self.lines[inner].to_vec();
        self.replace(lines, FENCE_REMOVED, 1);
        true
    }

    fn remove_line_numbers(&mut self, expected: Option<u32>, place: BodyPlace) {
        let first = self.lines.first().and_then(|line| repair::numbered(line));
        let is_expected = first.is_some_and(|(first, ..)| Some(first) == expected);
        let counted = |dividers| {
            repair::without_line_numbers(&self.lines, dividers).or_else(|| {
                let lines = repair::without_number_lines(&self.lines);
                lines.filter(|_| place != BodyPlace::File(FileContent::Data))
            })
        };
        let plain = match (place, &self.lines[..], first) {
            (BodyPlace::File(FileContent::Code), lines, _) => repair::without_gutter(lines),
            (BodyPlace::File(FileContent::Data), [_, _, _, ..], _) => counted(&Divider::ALL),
            (BodyPlace::Part(_), [_], Some((.., text))) if is_expected => {
                Some(vec![text.strip_prefix(' ').unwrap_or(text)])
            }
            (BodyPlace::Part(_), ..) if is_expected => counted(&Divider::ALL),
            // `1: "one",` may be an entry in some lines of code.
            (BodyPlace::Part(FileContent::Code), ..) => counted(&[Divider::Bar]),
            _ => None,
        };
        // Numbers are keys in settings, and count the items of a list in words.
        let may_be_own = match (place.content(), first) {
            (Some(FileContent::Data), Some(_)) => true,
            (Some(FileContent::Prose), Some((_, divider, _))) => {
                matches!(divider, Divider::Dot | Divider::Bracket)
            }
            _ => false,
        };
        let plain = plain.filter(|plain| !may_be_own || repair::are_settings(plain));
        if let Some(plain) = plain {
            let count = plain.len();
            self.replace(plain, copied::LINE_NUMBERS, count);
        }
    }
}

/// Takes the code fence around its text off a command of another dialect; returns true if there was
/// one.
pub(crate) fn unfence(command: &mut Command) -> bool {
    let (text, place) = match command {
        Command::CreateFile { path, content, .. } => {
            let place = BodyPlace::File(FileContent::of(path.file_name()));
            (content, place)
        }
        Command::InsertText { path, text, .. }
        | Command::EditFile {
            path,
            edit: Edit::Lines { text, .. },
        } => (text, BodyPlace::Part(FileContent::of(path.file_name()))),
        Command::RunCommand { script, .. } => (script, BodyPlace::Script),
        _ => return false,
    };
    let has = |mark: &str| memchr::memmem::find(text.as_bytes(), mark.as_bytes()).is_some();
    if !has("```") && !has("~~~") {
        return false;
    }
    let lines: Vec<&str> = text.lines().collect();
    // Nothing asks for a fence in these dialects, so that of a text is most likely its own.
    let language = lines.first().and_then(|line| Fence::read(line));
    let is_markdown = language.is_some_and(|it| matches!(it.info, "md" | "markdown"));
    if place.is_prose() && !is_markdown {
        return false;
    }
    let mut body = Body {
        lines: Cow::Borrowed(&lines),
        ..Body::default()
    };
    let is_fenced = body.remove_fence(Around::default(), place);
    if is_fenced {
        *text = body.text();
    }
    is_fenced
}

impl BodyPlace {
    /// The kind of the file that it is for.
    fn content(self) -> Option<FileContent> {
        match self {
            Self::File(content) | Self::Part(content) => Some(content),
            _ => None,
        }
    }

    fn is_prose(self) -> bool {
        self == Self::Words || self.content() == Some(FileContent::Prose)
    }

    fn is_part(self) -> bool {
        matches!(self, Self::Part(_))
    }
}

/// The first and the last line that are not blank.
fn outer_lines(lines: &[&str]) -> Option<(usize, usize)> {
    let is_text = |line: &&str| !is_blank(line);
    let first = lines.iter().position(is_text)?;
    Some((first, lines.iter().rposition(is_text)?))
}

impl Around<'_> {
    /// Returns true if a pair of fences around all of the body can be no part of it.
    fn may_wrap(&self, open: &Fence<'_>, place: BodyPlace) -> bool {
        !place.is_part() || self.is_no_deeper(open)
    }

    /// Returns true if the first line of the body only opens what the line below the closing tag
    /// closes.
    fn may_open(&self, open: &Fence<'_>, place: BodyPlace) -> bool {
        let is_closed_below = self
            .below
            .is_some_and(|below| below.closes(open) && below.is_like(open))
            && !matches!((self.below, self.frame), (Some(below), Some(frame)) if below.closes(&frame));
        match place {
            BodyPlace::Part(content) => {
                content != FileContent::Prose && is_closed_below && self.is_no_deeper(open)
            }
            _ => is_closed_below || !place.is_prose(),
        }
    }

    /// Returns true if the last line of the body only closes what the line above the opening tag
    /// opens.
    fn may_close(&self, end: &Fence<'_>, place: BodyPlace) -> bool {
        let Some(above) = self.above.filter(|above| end.closes(above)) else {
            return false;
        };
        let is_closed_below = self.below.is_some_and(|below| below.closes(&above));
        let may_be_its_own = place.is_part() || (place.is_prose() && is_closed_below);
        !may_be_its_own
    }

    /// Returns true if a fence stands no deeper than the opening tag.
    fn is_no_deeper(&self, fence: &Fence<'_>) -> bool {
        let own = self.before_tag.rsplit('>').next().unwrap_or_default();
        let indent = if is_blank(own) { own.len() } else { 0 };
        fence.indent <= indent
    }
}

/// Which fences enclose a body.
enum Enclosed<'a> {
    /// This one and the one that closes it.
    Both(Fence<'a>),
    /// Only the first line is a fence: its end is missing or stands after the closing tag.
    First(Fence<'a>),
    /// Only the last line is one: it was opened above the opening tag.
    Last(Fence<'a>),
}

/// Looks at lines whose first and last are not blank.
fn enclosing<'a>(lines: &[&'a str], place: BodyPlace) -> Option<Enclosed<'a>> {
    let opens = lines.first().and_then(|line| Fence::read(line));
    let ends = lines.last().and_then(|line| Fence::read(line));
    if opens.is_none() && ends.is_none() {
        return None;
    }
    let middle = lines.get(1..lines.len() - 1).unwrap_or_default();
    let alone = !middle.iter().any(|line| Fence::read(line).is_some());
    match (opens, ends) {
        (Some(open), Some(end)) if lines.len() > 1 && end.closes(&open) => {
            let whole = !place.is_part();
            let own = match open.info.to_ascii_lowercase().as_str() {
                "md" | "markdown" => true,
                "" | "text" | "txt" | "plaintext" => whole,
                _ => false,
            };
            let enclosed = alone || encloses(&open, middle);
            let sure = if place.is_prose() {
                own && enclosed
            } else {
                enclosed || matches!(place, BodyPlace::File(_))
            };
            sure.then_some(Enclosed::Both(open))
        }
        (Some(open), None) if alone => {
            let markdown = matches!(open.info, "md" | "markdown");
            (markdown || !place.is_prose()).then_some(Enclosed::First(open))
        }
        (None, Some(end)) if alone && end.info.is_empty() => Some(Enclosed::Last(end)),
        _ => None,
    }
}

/// Returns true if the fence that opened stays open throughout `middle`.
///
/// A fence with a language opens another block inside, and one without closes the innermost.
/// Where Markdown's own rule, by which nothing nests, also has every fence closed, that rule wins.
fn encloses(open: &Fence<'_>, middle: &[&str]) -> bool {
    let fences = || middle.iter().filter_map(|line| Fence::read(line));
    let mut flat = Some(*open);
    for fence in fences() {
        flat = fence.follow(flat);
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

/// Kinds of files by what their lines look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileContent {
    /// Code: no line of it begins with a fence or, a whole file through, with a number.
    Code,
    /// Words, or data that words are kept in: its lines may look like anything.
    Prose,
    /// Nobody knows what: fences do not belong to it, but numbers may.
    Data,
}

impl FileContent {
    /// The kind of a file with this name.
    pub(crate) fn of(name: &str) -> Self {
        const PROSE: &str = "md markdown mdx mdc mkd qmd rmd txt text rst adoc org csv tsv log \
            prompt";
        const CODE: &str = "astro bash c cc cjs clj cmake cpp cs css cxx dart erl ex exs fish \
            fs go gradle graphql groovy h hcl hh hpp hs htm html ini java jl js json jsonc jsx \
            kt kts less lua m mjs ml mm mts nim php pl pm proto ps1 py pyi r rb rs sass scala \
            scss sh sql svelte swift tf toml ts tsx vue xml zig zsh";
        if Self::is_settings(name) {
            return Self::Data;
        }
        let Some((_, extension)) = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty())
        else {
            // `README` and `LICENSE` are words; `.gitignore` and `gradlew` are none.
            let is_loud = name.bytes().any(|byte| byte.is_ascii_uppercase())
                && !name.bytes().any(|byte| byte.is_ascii_lowercase());
            return if is_loud { Self::Prose } else { Self::Data };
        };
        let extension = extension.to_ascii_lowercase();
        if has_word(PROSE, &extension) {
            Self::Prose
        } else if has_word(CODE, &extension) {
            Self::Code
        } else {
            Self::Data
        }
    }

    /// Returns true if a file of this name has settings or rules to build something: no fence can be
    /// its first line.
    pub(crate) fn is_settings(name: &str) -> bool {
        const NAMES: &str = "makefile gnumakefile dockerfile containerfile justfile procfile \
            jenkinsfile vagrantfile gemfile rakefile cmakelists.txt .env .editorconfig .npmrc \
            .bashrc .prettierrc .eslintrc";
        let name = name.to_ascii_lowercase();
        has_word(NAMES, &name)
            || [".yaml", ".yml", ".mk"].iter().any(|it| name.ends_with(it))
            || ["dockerfile.", ".env.", "requirements"]
                .iter()
                .any(|it| name.starts_with(it))
    }
}

#[cfg(test)]
mod content_tests {
    use super::*;

    #[test]
    fn tells_by_the_extension() {
        for (name, content) in [
            ("main.rs", FileContent::Code),
            ("A.PY", FileContent::Code),
            ("README.md", FileContent::Prose),
            ("Makefile", FileContent::Data),
            ("Dockerfile", FileContent::Data),
            (".env", FileContent::Data),
            ("config.yml", FileContent::Data),
            ("README", FileContent::Prose),
            ("LICENSE", FileContent::Prose),
            (".gitignore", FileContent::Data),
            (".nvmrc", FileContent::Data),
            ("gradlew", FileContent::Data),
            ("requirements.txt", FileContent::Data),
            ("requirements-dev.txt", FileContent::Data),
            ("users.dat", FileContent::Data),
            ("case1.expected", FileContent::Data),
        ] {
            assert_eq!(FileContent::of(name), content, "{name}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: BodyPlace = BodyPlace::File(FileContent::Code);
    const PROSE: BodyPlace = BodyPlace::File(FileContent::Prose);

    #[track_caller]
    fn case(body: &str, place: BodyPlace, expected: &str) {
        around(body, Around::default(), place, expected);
    }

    #[track_caller]
    fn around(body: &str, around: Around<'_>, place: BodyPlace, expected: &str) {
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
        case(
            "```bash\ncargo test\n```",
            BodyPlace::Script,
            "cargo test\n",
        );
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
        let part = BodyPlace::Part(FileContent::Prose);
        case("```\nls\n```", part, "```\nls\n```\n");
        let part = BodyPlace::Part(FileContent::Code);
        case("  ```\n  ls\n  ```", part, "  ```\n  ls\n  ```\n");
        case("```\nls\n```", BodyPlace::Words, "```\nls\n```\n");
    }

    #[test]
    fn a_fence_that_crosses_a_tag_goes() {
        let fence = Fence::read("```");
        let below = Around {
            below: fence,
            ..Around::default()
        };
        around("```rust\nx", below, FILE, "x\n");
        around("```markdown\nx", below, PROSE, "x\n");
        let above = Around {
            above: fence,
            ..Around::default()
        };
        around("x\n```", above, FILE, "x\n");
        around("x\n```", above, PROSE, "x\n");
        case("x\n```", FILE, "x\n```\n");
    }

    #[test]
    fn a_fence_that_closes_no_other_stays() {
        let framed = Around {
            above: Fence::read("``````"),
            below: Fence::read("``````"),
            frame: Fence::read("``````"),
            ..Around::default()
        };
        around("x\n```", framed, FILE, "x\n```\n");
        around("```markdown\nx", framed, PROSE, "```markdown\nx\n");
        let part = BodyPlace::Part(FileContent::Code);
        around("```rust\nx", framed, part, "```rust\nx\n");
        let above = Around {
            above: Fence::read("```"),
            ..Around::default()
        };
        around("x\n```", above, part, "x\n```\n");
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
        around(
            "    a",
            indented,
            BodyPlace::Part(FileContent::Code),
            "    a\n",
        );
    }

    #[test]
    fn line_numbers_go_only_where_they_count_up() {
        case(" 9 | a\n10 |\n11 |   b", FILE, "a\n\n  b\n");
        case("1 | a\n3 | b", FILE, "1 | a\n3 | b\n");
        case("1: a\n2: b", PROSE, "1: a\n2: b\n");
        case("1: a\n2: b", FILE, "a\nb\n");
        let part = BodyPlace::Part(FileContent::Code);
        case("1: a\n2: b", part, "1: a\n2: b\n");
        case("1 | a\n2 | b", part, "a\nb\n");
        case("1\ta\n2\tb", FILE, "1\ta\n2\tb\n");
        case("1\ta\n2\t\tb\n3\tc", FILE, "a\n\tb\nc\n");
        case("[1] a\n[2]   b", FILE, "a\n  b\n");
        case("     1\ta\n     2\t  b", FILE, "a\n  b\n");
        case(
            "1:def f():\n2:    return 1",
            FILE,
            "def f():\n    return 1\n",
        );
        case("1\n2\n3\na\nb\nc", FILE, "a\nb\nc\n");
        let data = BodyPlace::File(FileContent::Data);
        case("1 | a\n2 | b", data, "1 | a\n2 | b\n");
        case("1: a\n2: b\n3: c", data, "1: a\n2: b\n3: c\n");
        case("1: a: x\n2: b:\n3: - c", data, "a: x\nb:\n- c\n");
        case("1: all:\n2: \tcc\n3: x", data, "all:\n\tcc\nx\n");
    }
}
