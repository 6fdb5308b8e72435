//! Code with colours: comments, strings, numbers and the words that most languages share.
//!
//! It is read by characters, not by a grammar: that works for every language, loads nothing, and
//! an error costs a colour, no more.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use crate::ui::width::width;
use crate::ui::{diff, escape_line};

const COMMENT: Style = Style::new().dimmed();
const STRING: Style = AnsiColor::Green.on_default();
const NUMBER: Style = AnsiColor::Cyan.on_default();
const KEYWORD: Style = AnsiColor::Magenta.on_default();

/// Words that mean something in most of the languages that models write.
const KEYWORDS: &[&str] = &[
    "abstract",
    "and",
    "as",
    "async",
    "await",
    "begin",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "def",
    "default",
    "del",
    "do",
    "done",
    "elif",
    "else",
    "end",
    "enum",
    "esac",
    "except",
    "export",
    "extends",
    "extern",
    "false",
    "False",
    "fi",
    "final",
    "finally",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "go",
    "if",
    "impl",
    "implements",
    "import",
    "in",
    "interface",
    "is",
    "lambda",
    "let",
    "local",
    "loop",
    "match",
    "mod",
    "module",
    "mut",
    "namespace",
    "new",
    "nil",
    "None",
    "not",
    "null",
    "or",
    "package",
    "pass",
    "private",
    "protected",
    "pub",
    "public",
    "raise",
    "return",
    "select",
    "self",
    "Self",
    "static",
    "struct",
    "super",
    "switch",
    "then",
    "this",
    "throw",
    "trait",
    "true",
    "True",
    "try",
    "type",
    "typedef",
    "use",
    "using",
    "val",
    "var",
    "void",
    "where",
    "while",
    "with",
    "yield",
];

/// What begins a comment that ends with its line.
fn comment_marks(language: &str) -> &'static [&'static str] {
    let name = language.split([',', ' ', '{']).next().unwrap_or_default();
    match name.to_ascii_lowercase().as_str() {
        "sh" | "bash" | "zsh" | "shell" | "console" | "python" | "py" | "ruby" | "rb" | "yaml"
        | "yml" | "toml" | "make" | "makefile" | "dockerfile" | "perl" | "r" | "ini" | "cmake" => {
            &["#"]
        }
        "sql" | "lua" | "haskell" | "hs" => &["--"],
        "" | "text" | "txt" | "markdown" | "md" | "json" | "html" | "xml" | "css" => &[],
        _ => &["//"],
    }
}

/// The lines of a code block.
pub(super) fn colored(language: &str, code: &str) -> Vec<String> {
    if matches!(language, "diff" | "patch") {
        let shown = diff::colored(&code.replace('\t', "    "));
        return shown.lines().map(str::to_owned).collect();
    }
    let marks = comment_marks(language);
    let is_plain = matches!(
        language,
        "" | "text" | "txt" | "console" | "markdown" | "md"
    );
    let line = |line: &str| {
        let line = escape_line(&line.replace('\t', "    "));
        if is_plain {
            line
        } else {
            colored_line(&line, marks)
        }
    };
    code.lines().map(line).collect()
}

fn colored_line(line: &str, marks: &[&str]) -> String {
    let mut shown = String::with_capacity(line.len() + 32);
    let mut rest = line;
    let mut is_in_word = false;
    while let Some(first) = rest.chars().next() {
        let begins_word = !is_in_word && (first.is_alphanumeric() || first == '_');
        let (length, style) = if !is_in_word && marks.iter().any(|mark| rest.starts_with(mark)) {
            (rest.len(), COMMENT)
        } else if matches!(first, '"' | '\'' | '`') && !is_in_word {
            string(rest, first).map_or((first.len_utf8(), Style::new()), |end| (end, STRING))
        } else if begins_word {
            word(rest)
        } else {
            (first.len_utf8(), Style::new())
        };
        let (piece, after) = rest.split_at(length);
        let _ = write!(shown, "{style}{piece}{style:#}");
        is_in_word = piece.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        rest = after;
    }
    shown
}

/// Where a string ends, if it does on this line: else the sign is an apostrophe.
fn string(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            end if end == quote => return Some(at + end.len_utf8()),
            _ => {}
        }
    }
    None
}

fn word(text: &str) -> (usize, Style) {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let end = text.find(|character| !is_part(character));
    let word = &text[..end.unwrap_or(text.len())];
    let style = if word.starts_with(|first: char| first.is_ascii_digit()) {
        NUMBER
    } else if KEYWORDS.contains(&word) {
        KEYWORD
    } else {
        Style::new()
    };
    (word.len(), style)
}

/// A styled line in pieces of so many columns.
pub(super) fn cut(line: &str, columns: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0;
    let mut is_style = false;
    for character in line.chars() {
        is_style |= character == '\u{1b}';
        let wide = if is_style { 0 } else { width(character) };
        if is_style && character.is_ascii_alphabetic() {
            is_style = false;
        }
        if used + wide > columns && used > 0 {
            pieces.push(String::new());
            used = 0;
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(character);
        }
        used += wide;
    }
    pieces
}
