//! Which files matter for a task: those that it names, those that were touched, and those that have
//! its words in their paths or contents.
//!
//! A file is named by a word with a dot or a slash that is its path, the end of its path or its name,
//! by a module with dots between its names (`a.b` is `a/b.py`), and one at the top also by a word that
//! is its whole name. Other words are words, though a file be
//! called like one: where they occur is shown instead.
//!
//! A word counts the more the fewer files have it, and in the name of a file more than in those of
//! the directories above; one that is everywhere tells nothing. Words are compared by their
//! beginnings, so that `parsing` finds `parser.rs`.

mod companions;
mod names;
mod words;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use aho_corasick::{AhoCorasick, MatchKind};

pub use self::companions::{companions, is_test, tests_and_sources};
use self::names::WordSet;
pub use self::words::identifiers;
use self::words::{stems, words};
use super::Listing;
use crate::protocol::{Listed, RelPath, by_directory};
use crate::session::Session;

/// More files than these are no help.
const MOST: usize = 40;

/// The shortest word that may be the name of a directory.
const SHORTEST_DIRECTORY: usize = 3;

/// More files than these that a word may mean are none that it means.
const FEW_FILES: usize = 3;

/// A directory is named by its last name if no more than these have it.
const FEW_DIRECTORIES: usize = 3;

/// A word that more than one in so many files has tells nothing.
const TOO_COMMON: usize = 4;

/// The weight of a file that is named or was touched: more than any words.
const NAMED: u32 = 100_000;

/// The weight of a file that contains a rare word of the task.
const MENTIONS: u32 = 3_000;

/// Directories of documents, fixtures, and what is built or taken over from elsewhere.
pub(super) const SIDE_DIRECTORIES: &[&str] = &[
    "__fixtures__",
    "__snapshots__",
    "build",
    "cassettes",
    "coverage",
    "dist",
    "doc",
    "docs",
    "documentation",
    "fixture",
    "fixtures",
    "golden",
    "goldens",
    "locale",
    "locales",
    "out",
    "snapshots",
    "target",
    "test-data",
    "test_data",
    "testdata",
    "third_party",
    "translations",
    "vendor",
    "website",
];

/// By how much less a word or a mention counts beside the sources.
const BESIDE_SOURCES: u32 = 4;

/// True for documents, fixtures and the like: they give way to sources.
pub fn is_beside_sources(path: &RelPath) -> bool {
    let (directory, name) = path.split();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    matches!(
        extension,
        Some("md" | "mdx" | "rst" | "adoc" | "po" | "snap")
    ) || is_changelog(path)
        || (directory.split('/')).any(|part| SIDE_DIRECTORIES.contains(&part))
}

/// True for a history of changes, of which only the head is read.
pub fn is_changelog(path: &RelPath) -> bool {
    const NAMES: [&str; 7] = [
        "changelog",
        "changes",
        "history",
        "news",
        "release-notes",
        "release_notes",
        "releases",
    ];
    let name = path.file_name().to_ascii_lowercase();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    NAMES.contains(&stem) && matches!(extension, "" | "md" | "rst" | "txt" | "adoc")
}

/// The relevant part of a listing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Relevance<'a> {
    /// The files that matter, and how much.
    pub(super) files: BTreeMap<&'a RelPath, u32>,
    /// The directories that the task names, each with a slash at its end.
    pub(super) directories: BTreeSet<&'a str>,
}

/// A file that a task names, and how.
pub type NamedFile<'a> = (Naming, &'a RelPath);

/// How a task names a file; the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Naming {
    /// By its path.
    Path,
    /// By the end of its path, or by its name.
    Name,
}

/// The files that the task names, the surest first.
pub fn named<'a>(session: &Session, listing: &'a Listing) -> Vec<NamedFile<'a>> {
    namings(said(session), listing)
}

/// The files that a command names, the surest first.
pub fn named_in<'a>(command: &str, listing: &'a Listing) -> Vec<&'a RelPath> {
    let named = namings(std::iter::once(command), listing).into_iter();
    named.map(|(_, path)| path).collect()
}

/// The last component of a path.
fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The files that texts name and how, the surest first.
fn namings<'a, 't>(
    texts: impl Iterator<Item = &'t str>,
    listing: &'a Listing,
) -> Vec<NamedFile<'a>> {
    let words: Vec<&str> = texts.flat_map(words).collect();
    let modules: Vec<String> = (words.iter())
        .filter(|word| word.contains('.') && !word.contains('/'))
        .map(|word| word.replace('.', "/"))
        .collect();
    let modules: WordSet<'_> = modules.iter().map(String::as_str).collect();
    let words: WordSet<'_> = words.into_iter().collect();
    // Nearly all files are told from those that are named by their names alone.
    let last_names: WordSet<'_> = words.iter().map(last_name).collect();
    let last_of_modules: WordSet<'_> = modules.iter().map(last_name).collect();
    let may_be_named = |name: &str| {
        last_names.contains(name)
            || !modules.is_empty() && {
                let stem = name.rsplit_once('.').map_or("", |(stem, _)| stem);
                stem == "__init__" || last_of_modules.contains(stem)
            }
    };
    let is_module = |path: &RelPath| {
        let stem = (path.as_str().rsplit_once('.')).map_or("", |(stem, _)| stem);
        let stem = stem.strip_suffix("/__init__").unwrap_or(stem);
        let ends = stem.match_indices('/').map(|(at, _)| &stem[at + 1..]);
        let is_named = |name: &str| name.contains('/') && modules.contains(name);
        stem.contains('/') && (is_named(stem) || ends.into_iter().any(is_named))
    };
    let naming = |path: &RelPath, directory: &str| {
        if words.contains(path.as_str()) {
            // A word without a dot is a name only where it is all of it, at the top.
            return Some(Naming::Path);
        }
        let ends = path.as_str().match_indices('/');
        let mut ends = ends.map(|(at, _)| &path.as_str()[at + 1..]);
        let is_end = |end: &str| end.contains(['.', '/']) && words.contains(end);
        let is_named = !directory.is_empty() && ends.any(is_end);
        let is_named = is_named || is_module(path);
        is_named.then_some(Naming::Name)
    };
    let mut found = Vec::new();
    for (directory, files) in by_directory(&listing.files) {
        let named = (files.iter())
            .filter(|file| may_be_named(file.path.file_name()))
            .filter_map(|file| Some((naming(&file.path, directory)?, &file.path)));
        found.extend(named);
    }
    // A name that many files have means none of them.
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (_, path) in &found {
        *counts.entry(path.file_name()).or_default() += 1;
    }
    found.retain(|(naming, path)| *naming == Naming::Path || counts[path.file_name()] <= FEW_FILES);
    found.sort_by_key(|(naming, _)| *naming);
    found.truncate(MOST);
    found
}

/// Finds the relevant part of a listing for a session: its task names `named`, and `mentions` contain
/// rare words of it.
pub(super) fn relevance<'a>(
    session: &'a Session,
    listing: &'a Listing,
    named: &[NamedFile<'a>],
    mentions: &'a [RelPath],
) -> Relevance<'a> {
    // Where names occur, it is known better than words of paths could tell.
    let mut files: BTreeMap<&RelPath, u32> = if mentions.is_empty() {
        with_words(session, &listing.files)
    } else {
        BTreeMap::new()
    };
    for path in mentions.iter().take(MOST) {
        let less = if is_beside_sources(path) {
            BESIDE_SOURCES
        } else {
            1
        };
        *files.entry(path).or_default() += MENTIONS / less;
    }
    let listed = listing.files.iter().map(|file| &file.path);
    let changed = listed.filter(|path| session.changed_files.contains(path.as_str()));
    for path in changed.take(MOST.min(session.changed_files.len())) {
        *files.entry(path).or_default() += NAMED;
    }
    for (naming, path) in named {
        *files.entry(path).or_default() += match naming {
            Naming::Path => 3 * NAMED,
            Naming::Name => 2 * NAMED,
        };
    }
    Relevance {
        files,
        directories: named_directories(session, &listing.files),
    }
}

/// The person's own words: the task and further instructions.
fn said(session: &Session) -> impl Iterator<Item = &str> {
    let further = session.further.iter().map(|further| further.text.as_str());
    std::iter::once(session.task.as_str()).chain(further)
}

/// Which words a path has, as the bits of their numbers.
#[derive(Debug, Clone, Copy)]
struct Having {
    at: usize,
    in_name: u32,
    in_directories: u32,
}

/// The files with the most, and the rarest, words of the task in their paths.
fn with_words<'a>(session: &Session, files: &'a [Listed]) -> BTreeMap<&'a RelPath, u32> {
    let stems = stems(said(session));
    if stems.is_empty() {
        return BTreeMap::new();
    }
    let searched = AhoCorasick::builder()
        .match_kind(MatchKind::Standard)
        .ascii_case_insensitive(true)
        // For texts as short as names it would cost more than it saves.
        .prefilter(false)
        .build(&stems);
    // Nothing that a task says is too much for it; if it were, no word would count.
    let Ok(searched) = searched else {
        return BTreeMap::new();
    };
    let bits = |text: &str| {
        // Most names have none of them, and to find them all begins slowly.
        if !searched.is_match(text) {
            return 0;
        }
        (searched.find_overlapping_iter(text))
            .filter(|found| words::is_word(text, found.start(), found.end()))
            .fold(0_u32, |bits, found| bits | 1 << found.pattern().as_u32())
    };
    let mut counts = vec![0_usize; stems.len()];
    let mut having: Vec<Having> = Vec::new();
    let mut at = 0;
    for (directory, files) in by_directory(files) {
        // No stem has a slash.
        let in_directories = bits(directory);
        for file in files {
            let in_name = bits(file.path.file_name());
            let all = in_name | in_directories;
            if all != 0 {
                for (number, count) in counts.iter_mut().enumerate() {
                    *count += usize::from(all & (1 << number) != 0);
                }
                having.push(Having {
                    at,
                    in_name,
                    in_directories,
                });
            }
            at += 1;
        }
    }
    heaviest(files, &having, &weights(&counts, files.len()))
}

/// The weight of each word: the rarer, the heavier.
fn weights(counts: &[usize], files: usize) -> Vec<u32> {
    let weight = |count: &usize| {
        if *count == 0 || count.saturating_mul(TOO_COMMON) > files {
            return 0;
        }
        // Twice as rare is worth as much more as it was before.
        200 * ((files / count).ilog2() + 1)
    };
    counts.iter().map(weight).collect()
}

fn heaviest<'a>(
    files: &'a [Listed],
    having: &[Having],
    weights: &[u32],
) -> BTreeMap<&'a RelPath, u32> {
    let sum = |bits: u32| -> u32 {
        let has = |number: &usize| bits & (1 << number) != 0;
        (0..weights.len())
            .filter(has)
            .map(|number| weights[number])
            .sum()
    };
    let weight = |one: &Having| {
        let weight = 2 * sum(one.in_name) + sum(one.in_directories & !one.in_name);
        let is_beside = weight > 0 && is_beside_sources(&files[one.at].path);
        weight / if is_beside { BESIDE_SOURCES } else { 1 }
    };
    let mut weighed: Vec<_> = having
        .iter()
        .map(|one| (weight(one), one.at))
        .filter(|(weight, _)| *weight > 0)
        .map(|(weight, at)| {
            let file = &files[at];
            let depth = file.path.components().count();
            // Among equals the shallow before the deep, and the recent before the old.
            (Reverse(weight), depth, Reverse(file.modified), at)
        })
        .collect();
    weighed.sort_unstable();
    weighed.truncate(MOST);
    let path = |(weight, _, _, at): (Reverse<u32>, usize, Reverse<i64>, usize)| {
        (&files[at].path, weight.0)
    };
    weighed.into_iter().map(path).collect()
}

/// The directories that the task names, by their paths or by names that few have.
fn named_directories<'a>(session: &Session, files: &'a [Listed]) -> BTreeSet<&'a str> {
    let wanted: WordSet<'_> = said(session)
        .flat_map(words)
        .map(|word| word.trim_end_matches('/'))
        .filter(|word| word.len() >= SHORTEST_DIRECTORY)
        .collect();
    let mut by_word: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut last = "";
    for (_, files) in by_directory(files) {
        let path = &files[0].path;
        // With the slash at its end.
        let directory = &path.as_str()[..path.as_str().len() - path.file_name().len()];
        // Those above it that the file before was in too were looked at with that one.
        let known = directory.bytes().zip(last.bytes());
        let known = known.take_while(|(one, other)| one == other).count();
        for (slash, _) in directory.match_indices('/').filter(|(at, _)| *at >= known) {
            let path = &directory[..slash];
            let ends =
                std::iter::once(path).chain(path.match_indices('/').map(|(at, _)| &path[at + 1..]));
            for word in ends.filter_map(|end| wanted.get(end)) {
                by_word.entry(word).or_default().push(&directory[..=slash]);
            }
        }
        last = directory;
    }
    let mut named = BTreeSet::new();
    for (word, directories) in by_word {
        let is_exact = |directory: &&str| directory.strip_suffix('/') == Some(word);
        if directories.len() <= FEW_DIRECTORIES {
            named.extend(directories);
        } else {
            named.extend(directories.into_iter().filter(is_exact));
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::session;

    pub(super) fn listing(paths: &[impl AsRef<str>]) -> Listing {
        let mut files: Vec<Listed> = (paths.iter())
            .map(|path| Listed::of_size(RelPath::parse(path.as_ref()).unwrap(), 1))
            .collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Listing {
            files: files.into(),
            ..Listing::default()
        }
    }

    fn owned(paths: &[&str]) -> Vec<String> {
        paths.iter().map(ToString::to_string).collect()
    }

    fn task(text: &str) -> Session {
        let mut session = session("ab12cd34");
        session.task = text.to_owned();
        session
    }

    #[test]
    fn a_file_is_named_by_its_path_its_name_or_the_end_of_its_path() {
        let text = "Mend `parser` and ./src/lex.rs, then run setup.py and see out/core.rs.";
        let paths = [
            "a.rs",
            "lib/out/core.rs",
            "lib/parser.rs",
            "lib/setup.py",
            "other/core.rs",
            "run",
            "src/lex.rs",
        ];
        let expected = ["run", "src/lex.rs", "lib/out/core.rs", "lib/setup.py"];
        assert_eq!(named_by(text, &paths), expected);
        assert_eq!(named_by("Update the Makefile", &["Makefile"]).len(), 1);
        assert!(named_by("Update the Makefile", &["lib/Makefile"]).is_empty());
        let many = ["a/index.js", "b/index.js", "c/index.js", "d/index.js"];
        assert!(named_by("see index.js", &many).is_empty());
        assert_eq!(named_by("see c/index.js", &many), ["c/index.js"]);
        let modules = [
            "pack/utils/http.py",
            "pack/text/__init__.py",
            "src/org/x/Bar.java",
        ];
        let named = named_by("Fix pack.utils.http, pack.text and org.x.Bar.", &modules);
        assert_eq!(named.len(), 3, "{named:?}");
        assert!(named_by("Fix other.http and e.g. text.", &modules).is_empty());
    }

    fn named_by(text: &str, paths: &[&str]) -> Vec<String> {
        let (session, listing) = (task(text), listing(&owned(paths)));
        let named = named(&session, &listing).into_iter();
        named.map(|(_, path)| path.to_string()).collect()
    }

    #[test]
    fn words_without_a_dot_or_a_slash_name_no_file() {
        let text = "The style of `DateUtils` is wrong when the option of the parser is empty";
        let paths = [
            "parser.rs",
            "style.css",
            "src/DateUtils.ts",
            "src/option.rs",
        ];
        assert!(named_by(text, &paths).is_empty());
    }

    #[track_caller]
    fn heaviest(text: &str, paths: &[String]) -> String {
        let (session, listing) = (task(text), listing(paths));
        let relevance = relevance(&session, &listing, &named(&session, &listing), &[]);
        let heaviest = relevance.files.iter().max_by_key(|(_, weight)| **weight);
        heaviest.map_or_else(String::new, |(path, _)| path.to_string())
    }

    #[test]
    fn the_rare_words_of_a_task_find_its_files() {
        let mut paths: Vec<String> = (0..100)
            .map(|n| format!("packages/p{n}/src/index.ts"))
            .collect();
        paths.extend(owned(&[
            "packages/p7/src/InvoiceTotals.ts",
            "packages/p8/src/invoice/render.ts",
            "packages/p9/test/date-parser.test.ts",
        ]));
        assert_eq!(
            heaviest(
                "Rounding of invoice totals is wrong in the packages.",
                &paths
            ),
            "packages/p7/src/InvoiceTotals.ts"
        );
        assert_eq!(
            heaviest("Parsing dates fails", &paths),
            "packages/p9/test/date-parser.test.ts"
        );
        assert_eq!(heaviest("Make the src of packages nicer", &paths), "");
    }

    #[test]
    fn a_directory_is_named_by_its_path_or_by_a_name_that_few_have() {
        let mut paths: Vec<String> = (0..20)
            .map(|n| format!("services/s{n}/tests/a.py"))
            .collect();
        paths.extend(owned(&["tests/b.py", "libs/ledger/src/c.py", "docs/d.md"]));
        let listing = listing(&paths);
        let named = |text: &str| -> Vec<String> {
            let session = task(text);
            let relevance = relevance(&session, &listing, &named(&session, &listing), &[]);
            relevance
                .directories
                .iter()
                .map(ToString::to_string)
                .collect()
        };
        assert_eq!(
            named("Extend the tests of the ledger."),
            ["libs/ledger/", "tests/"]
        );
        assert_eq!(named("See services/s7/tests/"), ["services/s7/tests/"]);
        assert_eq!(named("See s7/tests"), ["services/s7/tests/"]);
        assert!(named("Add a test").is_empty());
    }

    #[test]
    fn a_file_that_mentions_a_rare_word_matters() {
        let (session, listing) = (task("x"), listing(&owned(&["a.rs", "b.rs"])));
        let mentions = [RelPath::parse("b.rs").unwrap()];
        let relevance = relevance(&session, &listing, &named(&session, &listing), &mentions);
        assert_eq!(relevance.files.len(), 1);
        assert_eq!(relevance.files.get(&mentions[0]), Some(&MENTIONS));
    }
}
