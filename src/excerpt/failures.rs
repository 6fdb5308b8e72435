//! Recognises lines that report a failure, as compilers and test runners write them.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// Words that such a line contains, in any letter case.
const WORDS: [&str; 14] = [
    "error",
    "fail",
    "panic",
    "exception",
    "traceback",
    "fatal",
    "assert",
    "not ok ",
    "undefined reference",
    "cannot find",
    "segmentation",
    "\u{2717}",
    "\u{2718}",
    "\u{d7} ",
];

/// How lines begin and end that tell of a success, whatever they are about.
const FINE_BEGINNINGS: [&str; 5] = ["\u{2713}", "\u{2714}", "ok ", "PASS ", "--- PASS"];
const FINE_ENDINGS: [&str; 5] = [" ok", " PASSED", " passed", "[  OK  ]", "... ignored"];

/// Words before a failure word that say that there is none.
const NONE: [&str; 3] = ["0 ", "no ", "without "];
/// How far around a word is looked, in bytes: enough for any of those and the letter before it, and
/// for any name. A line may be one long row of words.
const NEARBY: usize = 128;

static SEARCHED: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(WORDS)
        .expect("a test uses it")
});

/// Returns true if a text may have a line that reports a failure. Quick.
pub(super) fn may_fail(text: &str) -> bool {
    SEARCHED.is_match(text)
}

/// Returns true if a line reports a failure.
pub fn is_failure(line: &str) -> bool {
    let line = line.trim();
    let is_fine = || {
        FINE_BEGINNINGS.iter().any(|begin| line.starts_with(begin))
            || FINE_ENDINGS.iter().any(|end| line.ends_with(end))
    };
    let mut found = SEARCHED.find_iter(line);
    found.any(|found| is_meant(line, found.start(), found.end())) && !is_fine()
}

/// Returns true if the word stands for itself: `TypeError`, not `thiserror`, `errors.py` or `0
/// errors`.
fn is_meant(line: &str, start: usize, end: usize) -> bool {
    let before = line[..start].chars().next_back();
    let is_hump =
        line[start..].starts_with(char::is_uppercase) && before.is_some_and(char::is_lowercase);
    let begins = before.is_none_or(|c| !c.is_alphanumeric() && c != '_') || is_hump;
    let is_denied = || {
        let near = line.ceil_char_boundary(start.saturating_sub(NEARBY));
        let beginning = line[near..start].to_lowercase();
        let denied = NONE.iter().find_map(|none| beginning.strip_suffix(none));
        // `10 errors` are not none.
        denied.is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
    };
    let is_name = || {
        let near = line.floor_char_boundary(end.saturating_add(NEARBY));
        let rest = &line[end..near];
        let mut rest = rest
            .trim_start_matches(|c: char| c.is_alphanumeric())
            .chars();
        matches!(rest.next(), Some('.' | '/' | '_' | '-'))
            && rest
                .next()
                .is_some_and(|c| c.is_ascii_lowercase() || c == '_')
    };
    begins && !is_denied() && !is_name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(line: &str, expected: bool) {
        assert_eq!(is_failure(line), expected, "{line}");
    }

    #[test]
    fn knows_how_tools_tell_of_failures() {
        case("error[E0308]: mismatched types", true);
        case("src/a.ts(4,17): error TS2304: Cannot find name", true);
        case("thread 'main' panicked at src/lib.rs:7:9:", true);
        case("Traceback (most recent call last):", true);
        case("TypeError: x is not a function", true);
        case("E       AssertionError: assert 1 == 2", true);
        case("tests/test_a.py::test_b FAILED", true);
        case("--- FAIL: TestFoo (0.00s)", true);
        case("not ok 3 - adds numbers", true);
        case("    \u{2717} adds numbers", true);
        case("test result: FAILED. 3 passed; 1 failed; 0 ignored", true);
        case("make: *** [Makefile:3: all] Error 1", true);
        case("Found 10 errors.", true);
        case("fatal: not a git repository", true);
        case("main.o: undefined reference to `foo'", true);
    }

    #[test]
    fn a_line_that_is_one_row_of_words_takes_no_longer_than_others() {
        let began = std::time::Instant::now();
        for words in ["no error, ", "0 errors ", "Error", "xfail_fail_"] {
            let row = words.repeat(200_000);
            is_failure(&row);
            is_failure(&format!("{row}.py"));
            is_failure(&format!("é{row}"));
        }
        assert!(began.elapsed().as_secs() < 20);
    }

    #[test]
    fn what_went_well_is_no_failure_whatever_it_is_about() {
        case("test error::tests::fails_early ... ok", false);
        case("test result: ok. 842 passed; 0 failed; 1 ignored", false);
        case("   Compiling thiserror v2.0.0", false);
        case("tests/errors.py ......", false);
        case("Found 0 errors.", false);
        case("no errors, 3 warnings", false);
        case("\u{2713} reports an error", false);
        case("ok 4 - fails on bad input", false);
        case("tests/test_a.py::test_error PASSED", false);
        case("    Finished dev profile", false);
        case("", false);
    }
}
