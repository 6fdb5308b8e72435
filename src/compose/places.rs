//! The places in files that the output of a compiler or a test names.
//!
//! Understood are `path:line`, `path:line:column` (most compilers, linters and test runners),
//! `File "path", line 3` (Python), `path(3,5)` (`tsc`) and `path:[3,5]` (Maven). Whether there
//! is such a file is not known here.

use std::sync::LazyLock;

use regex::Regex;

/// How much of an output is searched, in bytes.
const SEARCHED: usize = 64 * 1024;

/// A place in a file, as an output names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ErrorLocation {
    /// As it is written there: relative to wherever, absolute, or only a name.
    pub path: String,
    /// From 1.
    pub line: u32,
}

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"File "(?<python>[^"\n]+)", line (?<python_line>[0-9]{1,7})|(?<path>[A-Za-z0-9_./\\@+-]*[A-Za-z0-9_-]\.[A-Za-z][A-Za-z0-9_]{0,9})(?::\[?|\()(?<line>[0-9]{1,7})(?-u:\b)"#,
    )
    .expect("a test uses it")
});

/// The places that a text names, each once, in their order.
pub fn places(text: &str) -> Vec<ErrorLocation> {
    let text = &text[..text.floor_char_boundary(SEARCHED)];
    let mut places: Vec<ErrorLocation> = Vec::new();
    for found in PLACE.captures_iter(text) {
        let (path, line) = match (found.name("python"), found.name("path")) {
            (Some(path), _) => (path, found.name("python_line")),
            (None, Some(path)) => (path, found.name("line")),
            (None, None) => continue,
        };
        let line = line.and_then(|line| line.as_str().parse().ok());
        let place = ErrorLocation {
            path: path.as_str().to_owned(),
            line: line.filter(|line| *line > 0).unwrap_or(1),
        };
        if !places.contains(&place) && places.len() < 100 {
            places.push(place);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn case(text: &str, expected: &[(&str, u32)]) {
        let found: Vec<(String, u32)> = places(text)
            .into_iter()
            .map(|place| (place.path, place.line))
            .collect();
        let expected: Vec<(String, u32)> = expected
            .iter()
            .map(|(path, line)| ((*path).to_owned(), *line))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn knows_how_tools_name_places() {
        case(
            "error[E0308]: mismatched types\n  --> src/main.rs:12:5\n",
            &[("src/main.rs", 12)],
        );
        case(
            "thread 'main' panicked at src/lib.rs:7:9:\nsrc/lib.rs:7: again",
            &[("src/lib.rs", 7)],
        );
        case(
            "  File \"/w/app.py\", line 3, in <module>\n",
            &[("/w/app.py", 3)],
        );
        case(
            "tests/test_a.py:10: AssertionError",
            &[("tests/test_a.py", 10)],
        );
        case("src/a.ts(4,17): error TS2304", &[("src/a.ts", 4)]);
        case(
            "[ERROR] /w/src/main/java/Foo.java:[8,13] cannot find symbol",
            &[("/w/src/main/java/Foo.java", 8)],
        );
        case("\tat com.acme.Foo.bar(Foo.java:21)", &[("Foo.java", 21)]);
        case("    foo_test.go:12: want 3", &[("foo_test.go", 12)]);
        case("main.c:3:10: fatal error: x.h", &[("main.c", 3)]);
    }

    #[test]
    fn other_text_names_no_place() {
        case("listening on 127.0.0.1:8080, took 1.5 s at 10:30:00", &[]);
        case("https://example.org/a.html said no", &[]);
        case("version 2.0 (3)", &[]);
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,200}") {
            places(&text);
        }
    }
}
