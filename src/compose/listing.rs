//! The files of the workspace, as far as the model must hear of them.
//!
//! The first outbox lists them; a follow-up tells only what is new, changed or gone since, because
//! the chat has the rest. What does not fit becomes a tree, see `tree`.

mod tree;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use self::tree::Tree;
use super::budget::{self, Claim, Rank};
use super::relevance::Relevance;
use super::{Section, chars};
use crate::protocol::RelPath;

/// The files of the workspace at one time, sorted by path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Listing {
    /// The files.
    pub files: Vec<Listed>,
    /// How many more there are.
    pub omitted: u64,
    /// Directories that tools fill by themselves, each with the number of its files; these are not
    /// among the files.
    #[serde(default)]
    pub generated: BTreeMap<String, u64>,
    /// Whether the workspace is a git repository.
    #[serde(default)]
    pub is_repository: bool,
}

impl Listing {
    /// The files that are new, changed or gone since another listing.
    pub fn different_from<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a RelPath> {
        self.differences(before).map(Difference::path)
    }

    /// How it differs from another one, by path; both are sorted, so nothing is searched.
    fn differences<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = Difference<'a>> {
        let (mut now, mut then) = (self.files.iter().peekable(), before.files.iter().peekable());
        // A listing that was cut says nothing about what it lacks.
        let is_whole = self.omitted == 0;
        std::iter::from_fn(move || {
            loop {
                let order = match (now.peek(), then.peek()) {
                    (None, None) => return None,
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (Some(new), Some(old)) => new.path.cmp(&old.path),
                };
                let difference = match order {
                    Ordering::Less => now.next().map(Difference::New),
                    Ordering::Greater => then.next().filter(|_| is_whole).map(Difference::Deleted),
                    Ordering::Equal => {
                        let old = then.next();
                        now.next()
                            .filter(|new| old != Some(*new))
                            .map(Difference::Changed)
                    }
                };
                if difference.is_some() {
                    return difference;
                }
            }
        })
    }
}

/// What happened to a file between two listings.
#[derive(Debug, Clone, Copy)]
enum Difference<'a> {
    New(&'a Listed),
    Changed(&'a Listed),
    Deleted(&'a Listed),
}

impl<'a> Difference<'a> {
    fn path(self) -> &'a RelPath {
        let (Self::New(file) | Self::Changed(file) | Self::Deleted(file)) = self;
        &file.path
    }

    /// A line about it.
    fn words(self) -> String {
        match self {
            Self::New(file) => format!("new: {} ({})", file.path, described(file)),
            Self::Changed(file) => format!("changed: {} ({})", file.path, described(file)),
            Self::Deleted(file) => format!("deleted: {}", file.path),
        }
    }
}

/// A file in a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Where it is.
    pub path: RelPath,
    /// Its length in bytes.
    pub size: u64,
    /// When it was changed, in nanoseconds since 1970; only compared, never shown.
    pub modified: i64,
}

/// What the listing always has room for.
const LEAST: usize = 1500;

/// What the listing takes at most by itself, so that a paste stays handy.
const MOST: usize = 12_000;

const HEADING: &str = "## Workspace Files\n";
const HEADING_LATER: &str = "## Workspace Files (what is different since the last message)\n";

/// The section before it is cut to its room.
pub(super) enum Files<'a> {
    /// The whole listing.
    All {
        now: &'a Listing,
        /// What matters, by what was touched and what the task says.
        relevance: Relevance<'a>,
        max_items: usize,
    },
    /// What is different, ready.
    Different(String),
}

/// The section: everything, or what is different since the last outbox.
pub(super) fn section<'a>(
    now: &'a Listing,
    before: Option<&Listing>,
    relevance: impl FnOnce() -> Relevance<'a>,
    max_items: usize,
) -> Files<'a> {
    let Some(before) = before else {
        return Files::All {
            now,
            relevance: relevance(),
            max_items,
        };
    };
    let (gone, there): (Vec<_>, Vec<_>) = now
        .differences(before)
        .partition(|difference| matches!(difference, Difference::Deleted(_)));
    let lines: Vec<Difference<'_>> = there.into_iter().chain(gone).collect();
    if lines.is_empty() {
        return Files::Different(String::new());
    }
    let mut text = HEADING_LATER.to_owned();
    for line in lines.iter().take(max_items) {
        let _ = writeln!(text, "{}", line.words());
    }
    if lines.len() > max_items {
        let _ = writeln!(text, "[TRUNCATED: first {max_items} items]");
    }
    Files::Different(text)
}

impl Files<'_> {
    fn render(&self, room: usize) -> (String, bool) {
        match self {
            Self::All {
                now,
                relevance,
                max_items,
            } => all(now, relevance, *max_items, room),
            Self::Different(text) if chars(text) <= room => (text.clone(), false),
            Self::Different(text) => (budget::first_lines(text, room), true),
        }
    }
}

impl Section for Files<'_> {
    fn claims(&self) -> Vec<Claim> {
        let need = chars(&self.render(MOST).0);
        vec![Claim {
            rank: Rank::Listing,
            need,
            least: need.min(LEAST),
        }]
    }

    fn fit(&self, rooms: &[usize], cuts: &mut Vec<String>) -> String {
        let room = rooms.first().copied().unwrap_or_default();
        let (text, is_cut) = self.render(room.min(MOST));
        if is_cut {
            cuts.push("part of the file listing".to_owned());
        }
        text
    }
}

/// The whole listing: a line for each file if they are few, else a tree; and whether it lacks more
/// than what the model can ask for by name.
fn all(now: &Listing, relevance: &Relevance<'_>, max_items: usize, room: usize) -> (String, bool) {
    let mut text = HEADING.to_owned();
    let _ = writeln!(text, "({})", sum(now));
    let mut generated = String::new();
    for (path, count) in &now.generated {
        let _ = writeln!(generated, "{path}/ ({}, generated)", files(*count));
    }
    let left = room.saturating_sub(chars(&text) + chars(&generated));
    if let Some(flat) = flat(now, max_items, left) {
        text.push_str(&flat);
    } else {
        text.push_str(
            "Directories with `(... files)` are not shown in full: LIST_FILES (path) opens them.\n",
        );
        let left = room.saturating_sub(chars(&text) + chars(&generated) + budget::CUT_WORDS);
        text.push_str(&Tree::of(&now.files, relevance).render(max_items, left));
    }
    text.push_str(&generated);
    if now.omitted > 0 {
        let _ = writeln!(text, "[TRUNCATED: first {} items]", now.files.len());
    }
    if chars(&text) > room {
        return (budget::first_lines(&text, room), true);
    }
    (text, false)
}

/// A line for each file, if they are few enough.
fn flat(now: &Listing, max_items: usize, room: usize) -> Option<String> {
    if now.files.len() > max_items {
        return None;
    }
    let mut text = String::new();
    for file in &now.files {
        let _ = writeln!(text, "{} ({})", file.path, described(file));
    }
    (chars(&text) <= room).then_some(text)
}

/// How many files there are and what they are part of.
fn sum(now: &Listing) -> String {
    let repository = if now.is_repository {
        "a git repository"
    } else {
        "not a git repository"
    };
    if now.files.is_empty() && now.generated.is_empty() {
        return format!("the workspace is empty; {repository}");
    }
    let size = now.files.iter().map(|file| file.size).sum();
    format!(
        "{}, {}; {repository}",
        files(now.files.len() as u64),
        bytes(size)
    )
}

/// The size of a file, and what it is if it is not to be read.
fn described(file: &Listed) -> String {
    let size = bytes(file.size);
    match unread(&file.path) {
        Some(kind) => format!("{size}, {kind}"),
        None => size,
    }
}

/// What a file is that nobody reads: these are shown, and not offered.
pub fn unread(path: &RelPath) -> Option<&'static str> {
    const BINARY: &[&str] = &[
        "7z", "a", "avi", "bin", "bmp", "bz2", "class", "dll", "doc", "docx", "dylib", "eot",
        "exe", "gif", "gz", "ico", "jar", "jpeg", "jpg", "lib", "mov", "mp3", "mp4", "o", "obj",
        "odt", "ogg", "otf", "pdf", "png", "ppt", "pptx", "pyc", "rar", "rlib", "so", "sqlite",
        "tar", "tgz", "tif", "tiff", "ttf", "wasm", "wav", "webm", "webp", "woff", "woff2", "xls",
        "xlsx", "xz", "zip", "zst",
    ];
    const LOCKS: &[&str] = &[
        "Cargo.lock",
        "Gemfile.lock",
        "Pipfile.lock",
        "bun.lockb",
        "composer.lock",
        "flake.lock",
        "go.sum",
        "npm-shrinkwrap.json",
        "package-lock.json",
        "pnpm-lock.yaml",
        "poetry.lock",
        "uv.lock",
        "yarn.lock",
    ];
    let name = path.file_name();
    if LOCKS.contains(&name) {
        return Some("lock file");
    }
    let (stem, extension) = name.rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    if BINARY.contains(&extension.as_str()) {
        return Some("binary");
    }
    let is_minified = stem.rsplit('.').next() == Some("min") || extension == "map";
    is_minified.then_some("generated")
}

fn files(count: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} file{plural}", thousands(count))
}

/// A size that is easy to read and no longer than it need be.
fn bytes(size: u64) -> String {
    match size {
        1 => "1 byte".to_owned(),
        0..10_000 => format!("{size} bytes"),
        10_000..1_000_000 => format!("{} kB", size / 1000),
        _ => format!("{}.{} MB", thousands(size / 1_000_000), size / 100_000 % 10),
    }
}

/// A number with commas between its thousands.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::relevance::relevance;
    use super::*;
    use crate::session::tests::session;

    fn listed(path: &str, size: u64) -> Listed {
        Listed {
            path: RelPath::parse(path).unwrap(),
            size,
            modified: 0,
        }
    }

    fn listing(paths: &[String]) -> Listing {
        let mut files: Vec<Listed> = paths.iter().map(|path| listed(path, 10)).collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Listing {
            files,
            ..Listing::default()
        }
    }

    fn shown(now: &Listing, pinned: &[&str], max_items: usize) -> String {
        let pinned: Vec<RelPath> = pinned
            .iter()
            .map(|path| RelPath::parse(path).unwrap())
            .collect();
        let relevance = Relevance {
            files: pinned.iter().map(|path| (path, 1)).collect(),
            ..Relevance::default()
        };
        let section = section(now, None, || relevance, max_items);
        section.fit(&[MOST], &mut Vec::new())
    }

    #[test]
    fn a_few_files_are_listed_with_sizes_and_what_is_not_to_be_read() {
        let mut now = Listing {
            files: vec![
                listed("Cargo.lock", 61_000),
                listed("logo.png", 2_345_678),
                listed("src/main.rs", 1),
            ],
            is_repository: true,
            ..Listing::default()
        };
        now.generated.insert("web/node_modules".to_owned(), 12_345);
        assert_eq!(
            shown(&now, &[], 200),
            "## Workspace Files\n(3 files, 2.4 MB; a git repository)\nCargo.lock (61 kB, lock file)\nlogo.png (2.3 MB, binary)\nsrc/main.rs (1 byte)\nweb/node_modules/ (12,345 files, generated)\n"
        );
    }

    #[test]
    fn many_files_become_a_tree_where_what_matters_stays_open() {
        let mut paths: Vec<String> = (0..5000)
            .map(|n| format!("data/set{}/f{n}.csv", n % 7))
            .collect();
        paths.extend((0..30).map(|n| format!("src/m{n}.rs")));
        paths.extend((0..300).map(|n| format!("tests/cases/c{n}.txt")));
        paths.extend(["README.md", "Makefile", "src/deep/er/x.rs"].map(str::to_owned));
        let text = shown(&listing(&paths), &["tests/cases/c77.txt"], 60);
        insta::assert_snapshot!(text);
    }

    fn shown_for(task: &str, paths: &[String]) -> String {
        let mut session = session("ab12cd34");
        session.task = task.to_owned();
        let now = listing(paths);
        let section = section(&now, None, || relevance(&session, &now, &[]), 200);
        section.fit(&[MOST], &mut Vec::new())
    }

    /// Twelve packages of 24 files.
    fn packages() -> Vec<String> {
        let names = [
            "auth", "billing", "cache", "dates", "events", "forms", "grid", "http", "icons",
            "jobs", "kernel", "layout",
        ];
        let mut paths = vec!["README.md".to_owned(), "package.json".to_owned()];
        for name in names {
            paths.extend((0..14).map(|n| format!("packages/{name}/src/part{n}.ts")));
            paths.extend((0..9).map(|n| format!("packages/{name}/tests/case{n}.ts")));
            paths.push(format!("packages/{name}/package.json"));
        }
        paths.push("packages/jobs/tests/retry-backoff.ts".to_owned());
        paths
    }

    #[test]
    fn what_the_task_is_about_is_open_and_the_packages_beside_it_are_not() {
        let text = shown_for("The retries of jobs back off too slowly.", &packages());
        assert!(
            text.contains("      retry-backoff.ts (10 bytes)\n"),
            "{text}"
        );
        assert!(text.contains("      part0.ts (10 bytes)\n"), "{text}");
        assert_eq!(text.matches("    tests/ (9 files)\n").count(), 11, "{text}");
        assert_eq!(text.matches("part0.ts").count(), 1, "{text}");
    }

    #[test]
    fn a_directory_that_the_task_names_is_open_as_far_as_it_fits() {
        let text = shown_for("Look at packages/grid/tests, please.", &packages());
        assert!(text.contains("case8.ts"), "{text}");
        assert_eq!(text.matches("case8.ts").count(), 1, "{text}");
        let mut paths = packages();
        paths.extend((0..4_000).map(|n| format!("zoo/animals/a{n:04}.txt")));
        let text = shown_for("Count the animals.", &paths);
        assert!(
            text.contains("zoo/animals/\n  a0000.txt (10 bytes)\n"),
            "{text}"
        );
        assert!(text.contains("  ... (3,9"), "{text}");
    }

    #[test]
    fn of_many_alike_all_are_opened_or_none() {
        let mut paths: Vec<String> = (0..60)
            .flat_map(|n| (0..9).map(move |m| format!("services/s{n:02}/f{m}.go")))
            .collect();
        paths.extend((0..3).map(|n| format!("tools/t{n}.sh")));
        let text = shown_for("Make it faster.", &paths);
        assert!(text.contains("  s00/ (9 files)\n"), "{text}");
        assert!(text.contains("  s59/ (9 files)\n"), "{text}");
        assert!(text.contains("  t0.sh"), "{text}");
        assert!(!text.contains("f0.go"), "{text}");
        let mut now = listing(&paths);
        let changed = now
            .files
            .iter_mut()
            .find(|file| file.path.as_str() == "services/s42/f3.go");
        changed.unwrap().modified = 400 * 86_400 * 1_000_000_000;
        let text = shown(&now, &[], 200);
        assert_eq!(text.matches("f0.go").count(), 1, "{text}");
        assert!(text.contains("  s42/\n    f0.go"), "{text}");
    }

    #[test]
    fn nothing_makes_it_longer_than_its_room_or_than_its_items() {
        let paths: Vec<String> = (0..3000).map(|n| format!("top{n}/a")).collect();
        let now = listing(&paths);
        for items in [1, 10, 500] {
            let text = shown(&now, &["top7/a"], items);
            assert!(chars(&text) <= MOST, "{}", chars(&text));
            assert!(text.lines().count() <= items + 5, "{text}");
            assert!(text.contains("[TRUNCATED: first "), "{text}");
        }
    }

    #[test]
    fn sizes_are_short() {
        let sizes = [0, 1, 9_999, 10_000, 999_999, 1_000_000, 12_345_678_901];
        assert_eq!(
            sizes.map(bytes),
            [
                "0 bytes",
                "1 byte",
                "9999 bytes",
                "10 kB",
                "999 kB",
                "1.0 MB",
                "12,345.6 MB"
            ]
        );
    }
}
