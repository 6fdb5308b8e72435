//! The words that chat pages show over a code block, and that copying takes along.
//!
//! ```text
//! labels := language { blank | button | other } | (button | "Run") [ button ] | language button
//! ```
//!
//! The last is one word or two on one line: `pythonCopyEdit`, `pythonCopy code`.
//!
//! Some buttons have names that are words of many files, such as `Download`: those count only
//! behind the name of a language and beside a button that copies.

use std::ops::Range;

use crate::code_fence::Fence;
use crate::line::has_word;
use crate::trim::trim;

/// The most lines that labels take.
const MOST_LINES: usize = 16;

/// How many lines at the beginning of a block are labels; `is_prose` if it is a text in which such
/// words may stand by themselves.
pub(crate) fn labels(lines: &[&str], is_prose: bool) -> usize {
    let line = |at: usize| lines.get(at).map_or("", |line| trim(line));
    if is_language(line(0)) {
        let Range { end, .. } = below_language(lines, 0);
        let is_above_fence = end == 1 && !is_prose && Fence::read(line(1)).is_some();
        return if end > 1 || is_above_fence { end } else { 0 };
    }
    let joined = ["Copy code", "CopyEdit"];
    let language = joined
        .iter()
        .find_map(|button| line(0).strip_suffix(button));
    if language.is_some_and(is_language) {
        return 1;
    }
    let is_run = |at: usize| at == 0 && !is_prose && line(at) == "Run";
    let is_label = |at: &usize| is_button(line(*at)) || is_run(*at);
    let buttons = (0..2).take_while(is_label).count();
    let is_above_fence = Fence::read(line(buttons)).is_some();
    let is_sure = match buttons {
        0 => false,
        1 => is_above_fence || line(0) == "Copy code" || (line(0) != "Edit" && !is_prose),
        _ => true,
    };
    if is_sure { buttons } else { 0 }
}

/// The labels around the button on this line, none above `from`.
pub(crate) fn around(lines: &[&str], from: usize, button: usize) -> Range<usize> {
    let is_label = |line: &&str| is_button(line) || is_other(line) || line.is_empty();
    let lowest = from.max(button.saturating_sub(MOST_LINES));
    let above = (lowest..button).rev().map(|at| (at, trim(lines[at])));
    let language = above
        .clone()
        .find(|(_, line)| !is_label(line))
        .filter(|(_, line)| is_language(line));
    match language.map(|(at, _)| below_language(lines, at)) {
        Some(labels) if labels.contains(&button) => labels,
        _ => button..button + 1,
    }
}

/// The labels that begin with the name of a language on this line; only that line if nothing below
/// it is certain.
fn below_language(lines: &[&str], at: usize) -> Range<usize> {
    let line = |at: usize| lines.get(at).map_or("", |line| trim(line));
    let mut end = at + 1;
    let (mut copies, mut is_plain) = (false, true);
    for next in at + 1..lines.len().min(at + MOST_LINES) {
        let text = line(next);
        if is_button(text) {
            copies |= text != "Edit";
        } else if is_other(text) && !is_underline(line(next + 1)) {
            is_plain = false;
        } else if text.is_empty() {
            continue;
        } else {
            break;
        }
        is_plain &= end == next;
        end = next + 1;
    }
    let is_sure = end > at + 1 && (copies || is_plain);
    at..if is_sure { end } else { at + 1 }
}

/// Returns true if a line makes a heading of the one above it.
fn is_underline(line: &str) -> bool {
    line.len() > 1
        && (line.bytes().all(|byte| byte == b'=') || line.bytes().all(|byte| byte == b'-'))
}

/// Returns true if a line is a word that pages show beside a copy button.
fn is_other(line: &str) -> bool {
    const WORDS: &str = "Run|Download|Wrap|Unwrap|Collapse|Expand|Preview|Insert|Explain|\
        Show more|Show less";
    WORDS.split('|').any(|word| word == line)
}

/// Returns true if a line is only the name of a button.
pub(crate) fn is_button(line: &str) -> bool {
    matches!(
        line,
        "Copy code"
            | "Copy Code"
            | "Copy"
            | "CopyEdit"
            | "Copied!"
            | "Edit"
            | "Show more lines"
            | "Continue generating"
    )
}

/// Returns true if a line is only the name of a language.
pub(crate) fn is_language(line: &str) -> bool {
    const LANGUAGES: &str = "\
        bash c c# c++ console cpp csharp css diff dockerfile go haskell html java javascript js \
        json jsx kotlin lua makefile markdown md perl php plaintext powershell py python r ruby \
        rust scala scss sh shell sql swift text toml ts tsx txt typescript xml yaml yml zsh";
    let longest = 10;
    line.len() <= longest && has_word(LANGUAGES, &line.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, code: usize, prose: usize) {
        let lines: Vec<&str> = text.split('\n').collect();
        let got = (labels(&lines, false), labels(&lines, true));
        assert_eq!(got, (code, prose), "{text}");
    }

    #[test]
    fn knows_the_labels_of_pages() {
        case("python\nCopy code\nx", 2, 2);
        case("python\nCopy\nEdit\nx", 3, 3);
        case("python\nCopy\nDownload\nx", 3, 3);
        case("python\n\nCopy code\nx", 3, 3);
        case("python\n\nCollapse\n\nWrap\n\nCopy\nx", 7, 7);
        case("python\nRun\nCopy code\nx", 3, 3);
        case("Copy code\nx", 1, 1);
        case("Copy\nEdit\nx", 2, 2);
        case("Copy\nx", 1, 0);
        case("Copied!\nx", 1, 0);
        case("Run\nx", 1, 0);
        case("Run\nCopy code\nx", 2, 0);
        case("pythonCopy code\nx", 1, 1);
        case("pythonCopyEdit\nx", 1, 1);
        case("python\nCopyEdit\nx", 2, 2);
        case("text\n```\nx", 1, 0);
    }

    #[test]
    fn words_of_a_file_stay() {
        for text in [
            "",
            "python",
            "rust\nis a language",
            "python\nDownload\nCollapse\nx",
            "python\n\nEdit\nx",
            "Download\nCopy\nx",
            "# Install\nDownload\nRun",
            "go\n\nRun",
            "sql\n\n\n",
        ] {
            case(text, 0, 0);
        }
        case("Copy\nDownload\nRun", 1, 0);
        case("markdown\nCopy\nDownload\n========\nx", 2, 2);
    }

    #[test]
    fn finds_the_labels_around_a_button() {
        let lines = [
            "a.py",
            "python",
            "",
            "Run",
            "Copy",
            "Download",
            "",
            "<<<<<<< SEARCH",
        ];
        assert_eq!(around(&lines, 0, 4), 1..6);
        assert_eq!(around(&lines, 2, 4), 4..5);
        assert_eq!(around(&["words", "Copy", "Download"], 0, 1), 1..2);
    }
}
