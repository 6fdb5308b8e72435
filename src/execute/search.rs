//! `SEARCH_TEXT`: `file:line: text`, with ripgrep's engine.
//!
//! Files are opened through the workspace, in the order of their paths, by as many threads as pay.
//! Whatever the threads do, the lines that are shown are the first ones in that order.

use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};

use super::write::explained;
use super::{Execution, count};
use crate::protocol::{Capped, Outcome, RelPath};
use crate::workspace::Workspace;
use crate::workspace::walk::Found;

/// The most characters of one line that are shown.
const MAX_LINE_CHARS: usize = 200;
/// The longest line that is searched, in bytes; a file with a longer one is left out.
const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;
/// The largest program that a regular expression may become, in bytes.
const MAX_REGEX_BYTES: usize = 4 * 1024 * 1024;
/// How many files make it worth starting threads.
const WORTH_THREADS: usize = 32;
/// More threads than these only wait for the disk.
const MAX_THREADS: usize = 8;

/// What to look for, and where.
pub(super) struct Query<'a> {
    pub(super) pattern: &'a str,
    pub(super) beneath: Option<&'a RelPath>,
    pub(super) is_regex: bool,
    pub(super) is_case_sensitive: bool,
}

impl Query<'_> {
    fn matcher(&self) -> Result<RegexMatcher, String> {
        if self.pattern.is_empty() {
            return Err("the pattern is empty".to_owned());
        }
        if self.pattern.contains(['\n', '\r']) {
            return Err("the pattern has more than one line; search for one of them".to_owned());
        }
        RegexMatcherBuilder::new()
            .fixed_strings(!self.is_regex)
            .case_insensitive(!self.is_case_sensitive)
            .size_limit(MAX_REGEX_BYTES)
            // `^` and `$` are about lines, although many lines are searched at once.
            .multi_line(true)
            .crlf(true)
            .build(self.pattern)
            .map_err(|problem| {
                format!(
                    "`{}` is not a regular expression that can be used: {problem}",
                    self.pattern
                )
            })
    }
}

impl Execution<'_> {
    /// Searches the text of files.
    pub(super) fn search_text(&self, query: &Query<'_>) -> Outcome {
        let matcher = match query.matcher() {
            Ok(matcher) => matcher,
            Err(problem) => return Outcome::failed(problem),
        };
        let walked = match self.workspace.walk(query.beneath) {
            Ok(walked) => walked,
            Err(problem) => return explained(self.workspace, &problem),
        };
        let limit = self.limits.max_search_results as usize;
        let search = Search {
            workspace: self.workspace,
            files: &walked.files,
            matcher: &matcher,
            limit,
            max_bytes: self.limits.max_file_bytes,
            too_large: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            found: AtomicUsize::new(0),
        };
        let mut hits = search.run();
        let is_cut = hits.len() > limit || walked.cut;
        hits.truncate(limit);
        let mut message = match hits.len() {
            0 => "no matches".to_owned(),
            lines => count(lines, "matching line"),
        };
        let too_large = search.too_large.into_inner();
        if too_large > 0 {
            let files = count(too_large, "file");
            message = format!("{message}; not searched, too large: {files}");
        }
        Outcome::ok(message).with_detail(listing(&hits, is_cut, limit))
    }
}

fn listing(hits: &[Hit<'_>], is_cut: bool, limit: usize) -> Capped {
    let mut lines: Vec<String> = hits.iter().map(Hit::to_string).collect();
    if is_cut {
        lines.push(format!(
            "[TRUNCATED: reached limit {limit} before completing search]"
        ));
    }
    Capped {
        text: lines.join("\n"),
        // How many more there are is not known; there is one at least.
        omitted: u64::from(is_cut),
    }
}

/// A line that matched.
struct Hit<'a> {
    /// The place of its file in the order.
    file: usize,
    path: &'a RelPath,
    line: u64,
    text: String,
}

impl fmt::Display for Hit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.text)
    }
}

struct Search<'a> {
    workspace: &'a Workspace,
    files: &'a [Found],
    matcher: &'a RegexMatcher,
    limit: usize,
    max_bytes: u64,
    too_large: AtomicUsize,
    next: AtomicUsize,
    found: AtomicUsize,
}

impl<'a> Search<'a> {
    /// Gives at least the first `limit` hits, and more than that only if there are more.
    fn run(&self) -> Vec<Hit<'a>> {
        let threads = if self.files.len() < WORTH_THREADS {
            1
        } else {
            thread::available_parallelism()
                .map_or(1, NonZeroUsize::get)
                .min(MAX_THREADS)
        };
        let hits = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| self.work(&hits));
            }
            self.work(&hits);
        });
        let mut hits = hits.into_inner().unwrap_or_default();
        hits.sort_by_key(|hit| (hit.file, hit.line));
        hits
    }

    /// Takes file after file until there are none or enough was found.
    ///
    /// Files are taken in order and each is finished, so the files searched are always the first
    /// ones: that makes the result the same however the threads run.
    fn work(&self, hits: &Mutex<Vec<Hit<'a>>>) {
        let mut searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .heap_limit(Some(MAX_LINE_BYTES))
            .build();
        while self.found.load(Ordering::Relaxed) <= self.limit {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = self.files.get(index) else {
                return;
            };
            let found = self.search_one(&mut searcher, index, file);
            if !found.is_empty() {
                self.found.fetch_add(found.len(), Ordering::Relaxed);
                if let Ok(mut hits) = hits.lock() {
                    hits.extend(found);
                }
            }
        }
    }

    /// The hits in one file; a file that cannot be read, or is binary, has none.
    fn search_one(&self, searcher: &mut Searcher, index: usize, file: &'a Found) -> Vec<Hit<'a>> {
        if file.is_link {
            return Vec::new();
        }
        let Ok((opened, size)) = self.workspace.open_file(&file.path) else {
            return Vec::new();
        };
        if size > self.max_bytes {
            self.too_large.fetch_add(1, Ordering::Relaxed);
            return Vec::new();
        }
        let mut collector = Collector {
            search: self,
            file: index,
            path: &file.path,
            hits: Vec::new(),
            is_binary: false,
        };
        let result = searcher.search_file(self.matcher, &opened.into_std(), &mut collector);
        if result.is_err() || collector.is_binary {
            return Vec::new();
        }
        collector.hits
    }
}

/// Takes the hits of one file, up to one more than can be shown.
struct Collector<'s, 'a> {
    search: &'s Search<'a>,
    file: usize,
    path: &'a RelPath,
    hits: Vec<Hit<'a>>,
    is_binary: bool,
}

impl Sink for Collector<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let at = self
            .search
            .matcher
            .find(found.bytes())
            .ok()
            .flatten()
            .map_or(0, |place| place.start());
        self.hits.push(Hit {
            file: self.file,
            path: self.path,
            line: found.line_number().unwrap_or_default(),
            text: around(found.bytes(), at),
        });
        Ok(self.hits.len() <= self.search.limit)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }
}

/// The line, or as much of it around the match as is shown.
fn around(line: &[u8], at: usize) -> String {
    const BEFORE: usize = MAX_LINE_CHARS / 4;
    // A character has at most four bytes: more of a long line need not be decoded.
    let from = at.saturating_sub(BEFORE * 4);
    let to = at.saturating_add(MAX_LINE_CHARS * 4).min(line.len());
    let before = String::from_utf8_lossy(&line[from..at]);
    let after = String::from_utf8_lossy(&line[at..to]);
    let after = after.trim_end_matches(['\n', '\r']);
    let (before_chars, after_chars) = (before.chars().count(), after.chars().count());
    if from == 0 && to == line.len() && before_chars + after_chars <= MAX_LINE_CHARS {
        return format!("{before}{after}");
    }
    let skipped = before_chars.saturating_sub(BEFORE);
    let room = MAX_LINE_CHARS - (before_chars - skipped);
    let is_cut_before = from > 0 || skipped > 0;
    let is_cut_after = to < line.len() || after_chars > room;
    let mut shown = String::new();
    shown.push_str(if is_cut_before { "..." } else { "" });
    shown.extend(before.chars().skip(skipped));
    shown.extend(after.chars().take(room));
    shown.push_str(if is_cut_after { "..." } else { "" });
    shown
}

#[cfg(test)]
mod tests {
    use super::super::stage::{path, stage};
    use super::*;
    use crate::protocol::{Command, Status};

    fn search(pattern: &str) -> Command {
        Command::SearchText {
            pattern: pattern.to_owned(),
            path: None,
            regex: false,
            case_sensitive: false,
        }
    }

    fn regex(pattern: &str, beneath: Option<&str>) -> Command {
        Command::SearchText {
            pattern: pattern.to_owned(),
            path: beneath.map(path),
            regex: true,
            case_sensitive: true,
        }
    }

    #[track_caller]
    fn case(command: Command, message: &str, detail: &str) {
        let mut stage = stage(&[
            (".gitignore", "ignored\n"),
            ("ignored", "fn main"),
            ("b.rs", "// nothing\r\nfn Main() {}\r\n"),
            ("a/x.rs", "fn main() {}\nmain();\n"),
            ("binary", "fn main\0"),
        ]);
        let outcome = stage.one(command);
        assert_eq!(
            (outcome.message.as_str(), outcome.detail.text.as_str()),
            (message, detail)
        );
    }

    #[test]
    fn finds_text_in_any_letter_case_and_skips_what_is_ignored_or_binary() {
        case(
            search("FN main()"),
            "2 matching lines",
            "a/x.rs:1: fn main() {}\nb.rs:2: fn Main() {}",
        );
        case(search("nowhere"), "no matches", "");
        case(search(".*"), "no matches", "");
    }

    #[test]
    fn finds_regular_expressions_beneath_a_path() {
        case(
            regex(r"^fn \w+", None),
            "2 matching lines",
            "a/x.rs:1: fn main() {}\nb.rs:2: fn Main() {}",
        );
        case(
            regex(r"main\(\);$", Some("a")),
            "1 matching line",
            "a/x.rs:2: main();",
        );
        case(
            regex("Main.*}$", Some("b.rs")),
            "1 matching line",
            "b.rs:2: fn Main() {}",
        );
        case(
            regex("main", Some("ignored")),
            "1 matching line",
            "ignored:1: fn main",
        );
    }

    #[test]
    fn says_what_is_wrong_with_a_pattern() {
        let mut stage = stage(&[]);
        for command in [
            regex("(", None),
            search(""),
            search("a\nb"),
            regex("(a{1000}){1000}", None),
        ] {
            let outcome = stage.one(command);
            assert_eq!(outcome.status, Status::Failed, "{}", outcome.message);
        }
    }

    #[test]
    fn meeting_the_limit_exactly_is_not_truncation() {
        let mut stage = stage(&[("a", "x\nx\n"), ("b", "x\n")]);
        for (limit, expected) in [
            (4, "a:1: x\na:2: x\nb:1: x"),
            (3, "a:1: x\na:2: x\nb:1: x"),
            (
                2,
                "a:1: x\na:2: x\n[TRUNCATED: reached limit 2 before completing search]",
            ),
            (
                1,
                "a:1: x\n[TRUNCATED: reached limit 1 before completing search]",
            ),
        ] {
            stage.limits.max_search_results = limit;
            assert_eq!(stage.one(search("x")).detail.text, expected);
        }
    }

    #[test]
    fn the_first_hits_are_shown_however_the_threads_run() {
        let names: Vec<String> = (0..100).map(|n| format!("f{n:03}")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x\n")).collect();
        let mut stage = stage(&files);
        stage.limits.max_search_results = 10;
        let expected = stage.one(search("x")).detail.text;
        assert!(expected.starts_with("f000:1: x\nf001:1: x\n"), "{expected}");
        for _ in 0..20 {
            assert_eq!(stage.one(search("x")).detail.text, expected);
        }
    }

    #[test]
    fn a_long_line_is_cut_around_the_match() {
        assert_eq!(around(b"short\n", 2), "short");
        let line = format!("{}needle{}", "\u{e4}".repeat(300), "z".repeat(300));
        let shown = around(line.as_bytes(), 600);
        assert!(
            shown.starts_with("...\u{e4}") && shown.ends_with("z..."),
            "{shown}"
        );
        assert!(shown.contains("needle"));
        assert_eq!(shown.chars().count(), MAX_LINE_CHARS + 6);
        let start = around("z".repeat(300).as_bytes(), 0);
        assert_eq!(start, format!("{}...", "z".repeat(MAX_LINE_CHARS)));
    }
}
