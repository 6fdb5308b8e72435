//! Tests and sources that belong together, by their names.
//!
//! `test_x.py`, `x_test.go`, `x.spec.js` and `XTest.java` test `x.py`, `x.go`, `x.js` and `X.java`,
//! wherever they lie; `tests/x.rs` tests `src/x.rs`, or the library of its package. Names are
//! compared without case, dashes and underscores.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::super::Listing;
use crate::protocol::RelPath;

/// More files than these of one name and language do not belong together.
const MOST_OF_A_NAME: usize = 4;

/// More tests than these are not looked at in a workspace where nothing else tells what matters.
const MOST_TESTS: usize = 12;

/// Endings and beginnings of the names of tests, the longest first.
const ENDINGS: [&str; 14] = [
    ".spec", ".test", "_tests", "-tests", "_test", "-test", "_spec", "-spec", ".tests", "Tests",
    "Test", "Spec", "TestCase", "IT",
];
const BEGINNINGS: [&str; 4] = ["test_", "test-", "tests_", "Test"];

/// The subject of a file, and its language.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct FileSubject {
    name: String,
    family: &'static str,
}

/// The subject of a source file, and if the file is a test of it.
fn subject(path: &RelPath) -> Option<(FileSubject, bool)> {
    let (stem, extension) = path.file_name().rsplit_once('.')?;
    let family = family(extension)?;
    let (name, is_named_test) = without_test(stem);
    let is_in_tests = is_in_tests(path);
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let name: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    let subject = FileSubject { name, family };
    (!subject.name.is_empty()).then_some((subject, is_named_test || is_in_tests))
}

/// The name of a file without what says that it is a test.
fn without_test(stem: &str) -> (&str, bool) {
    let ending = ENDINGS.iter().find_map(|ending| stem.strip_suffix(ending));
    let beginning = || {
        BEGINNINGS
            .iter()
            .find_map(|beginning| stem.strip_prefix(beginning))
    };
    match ending.or_else(beginning) {
        Some(name) if !name.is_empty() => (name, true),
        _ => (stem, false),
    }
}

fn is_in_tests(path: &RelPath) -> bool {
    let (directory, _) = path.split();
    let is_tests = |name| matches!(name, "test" | "tests" | "spec" | "specs" | "__tests__");
    directory.split('/').any(is_tests)
}

/// The languages whose files name each other.
fn family(extension: &str) -> Option<&'static str> {
    Some(match extension {
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "tsx" | "vue" | "svelte" => "js",
        "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" => "c",
        "java" | "kt" | "scala" | "groovy" => "jvm",
        "py" | "pyi" => "py",
        "rs" => "rs",
        "go" => "go",
        "rb" => "rb",
        "php" => "php",
        "cs" | "fs" => "net",
        "swift" => "swift",
        "ex" | "exs" => "ex",
        "dart" => "dart",
        "lua" => "lua",
        "sh" | "bash" | "bats" => "sh",
        "pl" | "pm" | "t" => "pl",
        "hs" => "hs",
        "zig" => "zig",
        _ => return None,
    })
}

/// True if a file is a test, by its name or its directory.
pub fn is_test(path: &RelPath) -> bool {
    subject(path).is_some_and(|(_, is_test)| is_test)
}

/// The files that belong to these: the source of a test, the tests of a source, a header.
pub fn companions<'a>(listing: &'a Listing, of: &BTreeSet<&RelPath>) -> Vec<&'a RelPath> {
    let mut by_subject: HashMap<FileSubject, Vec<&RelPath>> = HashMap::new();
    let wanted: Vec<(FileSubject, &RelPath)> = (of.iter())
        .filter_map(|path| Some((subject(path)?.0, *path)))
        .collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let subjects: HashSet<&FileSubject> = wanted.iter().map(|(subject, _)| subject).collect();
    for file in listing.files.iter() {
        if let Some((subject, _)) = subject(&file.path)
            && subjects.contains(&subject)
        {
            by_subject.entry(subject).or_default().push(&file.path);
        }
    }
    let mut found: Vec<&RelPath> = Vec::new();
    for (subject, path) in &wanted {
        let alike = by_subject.get(subject).cloned().unwrap_or_default();
        let belongs = |other: &&RelPath| {
            // A header belongs to the source beside it; other files of one name do not.
            let is_beside = path.is_beside(other) && *other != *path;
            is_test(path) != is_test(other) || (is_beside && !is_test(path))
        };
        let mut others: Vec<&RelPath> = alike.into_iter().filter(belongs).collect();
        // The nearest ones: `a/x.py` before `b/x.py` for `a/test_x.py`.
        others.sort_by_key(|other| std::cmp::Reverse(common_directories(path, other)));
        // `tests/utils_tests/test_x.py` before `tests/views_tests/test_x.py` for `utils/x.py`.
        let shared = |other: &RelPath| shared_words(path, other);
        let best = others.iter().map(|other| shared(other)).max();
        if best > Some(0) {
            others.retain(|other| Some(shared(other)) == best);
        }
        if others.len() > MOST_OF_A_NAME {
            let nearest = common_directories(path, others[0]);
            others.retain(|other| common_directories(path, other) == nearest);
        }
        if others.is_empty() {
            others.extend(library(listing, path));
        }
        if others.len() <= MOST_OF_A_NAME {
            found.extend(others);
        }
    }
    found.retain(|path| !of.contains(*path));
    found.sort_unstable();
    found.dedup();
    found
}

/// The library of the Rust package that a test belongs to.
fn library<'a>(listing: &'a Listing, test: &RelPath) -> Option<&'a RelPath> {
    let (directory, name) = test.split();
    let package = directory.strip_suffix("tests")?;
    let (_, extension) = name.rsplit_once('.')?;
    if extension != "rs" {
        return None;
    }
    let library = RelPath::parse(&format!("{package}src/lib.rs")).ok()?;
    let at = (listing.files).binary_search_by(|file| file.path.cmp(&library));
    at.ok().map(|at| &listing.files[at].path)
}

fn common_directories(one: &RelPath, other: &RelPath) -> usize {
    let (one, other) = (one.split().0.split('/'), other.split().0.split('/'));
    one.zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}

/// How many words of the directories of one file are in those of the other.
fn shared_words(one: &RelPath, other: &RelPath) -> usize {
    fn words(path: &RelPath) -> BTreeSet<&str> {
        const EVERYWHERE: [&str; 8] = [
            "test", "tests", "src", "lib", "main", "java", "spec", "specs",
        ];
        let words = path.split().0.split(|c: char| !c.is_alphanumeric());
        let words = words.filter(|word| !word.is_empty() && !EVERYWHERE.contains(word));
        words.collect()
    }
    words(one).intersection(&words(other)).count()
}

/// The tests of a small workspace and what they test; nothing of one with many tests.
pub fn tests_and_sources(listing: &Listing) -> Vec<&RelPath> {
    let tests: BTreeSet<&RelPath> = (listing.files.iter())
        .map(|file| &file.path)
        .filter(|path| is_test(path))
        .take(MOST_TESTS + 1)
        .collect();
    if tests.len() > MOST_TESTS {
        return Vec::new();
    }
    let mut found = companions(listing, &tests);
    found.extend(tests);
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::listing;
    use super::*;

    #[track_caller]
    fn case(files: &[&str], of: &str, expected: &[&str]) {
        let listing = listing(files);
        let of = RelPath::parse(of).unwrap();
        let found = companions(&listing, &[&of].into());
        let found: Vec<&str> = found.into_iter().map(RelPath::as_str).collect();
        assert_eq!(found, expected, "{of}");
    }

    #[test]
    fn tests_and_sources_belong_together() {
        let python = ["bowling.py", "test_bowling.py", "bowling.md", "other.py"];
        case(&python, "test_bowling.py", &["bowling.py"]);
        case(&python, "bowling.py", &["test_bowling.py"]);
        case(
            &["src/x.ts", "src/x.spec.tsx"],
            "src/x.spec.tsx",
            &["src/x.ts"],
        );
        let c = [
            "bank_account.h",
            "bank_account.cpp",
            "bank_account_test.cpp",
        ];
        case(
            &c,
            "bank_account_test.cpp",
            &["bank_account.cpp", "bank_account.h"],
        );
        let java = [
            "src/main/java/Bowling.java",
            "src/test/java/BowlingTest.java",
        ];
        case(&java, java[1], &[java[0]]);
        case(
            &["src/lib.rs", "tests/bowling.rs"],
            "tests/bowling.rs",
            &["src/lib.rs"],
        );
        case(
            &["a/src/x.rs", "a/tests/x.rs"],
            "a/tests/x.rs",
            &["a/src/x.rs"],
        );
        let go = ["two-fer/two_fer.go", "two-fer/two_fer_test.go"];
        case(&go, go[1], &[go[0]]);
        let many = [
            "pack/utils/http.py",
            "tests/sites/urls/http.py",
            "tests/sites/test_http.py",
            "tests/utils_tests/test_http.py",
        ];
        case(&many, many[0], &[many[3]]);
        case(&["a.md", "test.py"], "test.py", &[]);
        case(&["a/help.rs", "b/help.rs"], "a/help.rs", &[]);
        case(&["a/x.c", "a/x.h", "b/x.h"], "a/x.c", &["a/x.h"]);
    }

    #[test]
    fn of_many_with_one_name_the_nearest_belong() {
        let files: Vec<String> = (0..9)
            .flat_map(|n| [format!("p{n}/index.js"), format!("p{n}/index.test.js")])
            .collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        case(&files, "p3/index.test.js", &["p3/index.js"]);
    }
}
