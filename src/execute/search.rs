//! `SEARCH_TEXT`: `file:line: text`, with ripgrep's engine; several lines of a file stand below its
//! path, as `  line: text`.
//!
//! Files are searched while the workspace is walked, by as many threads as pay. Whatever the
//! threads do, the lines that are shown are the first ones in the order of the paths: as soon as
//! there are enough of them, only files that stand before the last of them are looked at. Lines
//! around a match read `  line- text`, with `--` where lines are left out.

mod cover;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};

pub use self::cover::{Hidden, Hide};
use super::select::{Scope, ScopePlace};
use super::skipped::Skipped;
use super::{Execution, count};
use crate::protocol::{Capped, Excerpt, Outcome, RelPath, Selection};
use crate::workspace::text::TextFile;
use crate::workspace::tour::{Batch, Visitor};

/// The most characters of one line that are shown.
const MAX_LINE_CHARS: usize = 200;
/// The longest line that is searched, in bytes; a file with a longer one is left out.
const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;
/// The largest program that a regular expression may become, in bytes.
const MAX_REGEX_BYTES: usize = 4 * 1024 * 1024;
/// The most lines that are shown before and after a match.
const MAX_CONTEXT: u32 = 10;

/// The pattern to look for, and where.
pub(super) struct Query<'a> {
    pub(super) pattern: &'a str,
    pub(super) places: Option<&'a Selection>,
    pub(super) glob: Option<&'a str>,
    pub(super) is_regex: bool,
    pub(super) is_case_sensitive: bool,
    pub(super) context: u32,
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

    fn context(&self) -> usize {
        self.context.min(MAX_CONTEXT) as usize
    }
}

impl Execution<'_> {
    /// Searches the text of files.
    pub(super) fn search_text(&self, query: &Query<'_>) -> Outcome {
        let matcher = match query.matcher() {
            Ok(matcher) => matcher,
            Err(problem) => return Outcome::failed(problem),
        };
        let scope = match Scope::resolve(&self.walks, query.places, query.glob) {
            Ok(scope) => scope,
            Err(outcome) => return outcome,
        };
        let search = Search {
            matcher: &matcher,
            context: query.context(),
            is_context_capped: query.context > MAX_CONTEXT,
            limit: self.limits.max_search_results as usize,
            max_bytes: self.limits.max_file_bytes,
            too_large: AtomicUsize::new(0),
            too_long: AtomicUsize::new(0),
            skipped: Skipped::default(),
            has_enough: AtomicBool::new(false),
            hits: Mutex::new(BTreeMap::new()),
            searchers: Mutex::new(Vec::new()),
        };
        let mut is_cut = false;
        for place in &scope.places {
            let visit = Visit {
                search: &search,
                scope: &scope,
                place,
            };
            match self.workspace.tour(place.beneath.as_ref(), &visit) {
                Ok(toured) => is_cut |= toured.is_cut,
                Err(problem) => return self.walks.explained(&problem),
            }
        }
        search.outcome(is_cut, &scope.but_missing(), |hits, matcher| {
            if let Some(hide) = self.hide {
                let hide = |path: &RelPath, text: &str| self.hidden_in(path, text, hide);
                cover::cover(hits, matcher, &hide, &|path| self.text_of(path));
            }
        })
    }
}

impl Execution<'_> {
    /// The parts of a file that must not be shown, by this name or by its real one.
    fn hidden_in(&self, path: &RelPath, text: &str, hide: &Hide<'_>) -> Vec<Hidden> {
        let by_name = hide(path, text);
        match self.workspace.real(path) {
            Some(real) => cover::both(hide(&real, text), by_name),
            None => by_name,
        }
    }

    fn text_of(&self, path: &RelPath) -> Option<String> {
        let bytes = (self.workspace)
            .read(path, self.limits.max_file_bytes)
            .ok()?;
        Some(TextFile::decode(bytes).ok()?.text)
    }
}

/// Where a hit stands: the first ones are shown.
type Position = (RelPath, u64);

/// A line that matched.
#[derive(Default)]
struct Hit {
    text: String,
    /// The lines before and after it that were asked for, with their numbers.
    before: Vec<(u64, String)>,
    after: Vec<(u64, String)>,
}

/// A search under way.
struct Search<'a> {
    matcher: &'a RegexMatcher,
    context: usize,
    /// True if more lines around each match were asked for than are shown.
    is_context_capped: bool,
    limit: usize,
    max_bytes: u64,
    too_large: AtomicUsize,
    /// How many files have a line that is too long to be searched.
    too_long: AtomicUsize,
    skipped: Skipped,
    /// True if there are more hits than can be shown.
    has_enough: AtomicBool,
    /// The first hits so far: one more than can be shown, at most.
    hits: Mutex<BTreeMap<Position, Hit>>,
    /// Those that are at rest; each has a buffer that is worth keeping.
    searchers: Mutex<Vec<Searcher>>,
}

impl Search<'_> {
    fn searcher(&self) -> Searcher {
        let at_rest = lock(&self.searchers).pop();
        at_rest.unwrap_or_else(|| {
            SearcherBuilder::new()
                .binary_detection(BinaryDetection::quit(0))
                .line_terminator(LineTerminator::crlf())
                .line_number(true)
                .before_context(self.context)
                .after_context(self.context)
                .heap_limit(Some(MAX_LINE_BYTES))
                .build()
        })
    }

    /// Returns true if no hit at or after this path can be one of the first.
    fn is_past(&self, path: &str) -> bool {
        self.has_enough.load(Ordering::Relaxed)
            && lock(&self.hits)
                .last_key_value()
                .is_some_and(|((last, _), _)| last.as_str() < path)
    }

    /// The hits in one file; a file that cannot be read, or is binary, has none.
    fn search_one(&self, searcher: &mut Searcher, batch: &Batch<'_>, path: &RelPath) {
        let Ok(file) = batch.open(path) else {
            return;
        };
        if file
            .metadata()
            .is_ok_and(|file| file.len() > self.max_bytes)
        {
            self.too_large.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let mut collector = Collector {
            search: self,
            hits: Vec::new(),
            before: Vec::new(),
            is_binary: false,
        };
        let result = searcher.search_file(self.matcher, &file, &mut collector);
        // What the system says has a number; what the searcher says is that a line is too long.
        if result.is_err_and(|error| error.raw_os_error().is_none()) {
            self.too_long.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if collector.is_binary || collector.hits.is_empty() {
            return;
        }
        let mut hits = lock(&self.hits);
        for (line, hit) in collector.hits {
            hits.insert((path.clone(), line), hit);
        }
        while hits.len() > self.limit + 1 {
            hits.pop_last();
        }
        if hits.len() > self.limit {
            self.has_enough.store(true, Ordering::Relaxed);
        }
    }

    fn outcome(
        self,
        is_cut: bool,
        but: &str,
        cover: impl FnOnce(&mut BTreeMap<Position, Hit>, &RegexMatcher),
    ) -> Outcome {
        let mut hits = self
            .hits
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        // What lies behind the last of them was not walked, or by chance.
        let last = hits.last_key_value().map(|((path, _), _)| path.clone());
        let last = last.filter(|_| hits.len() > self.limit);
        let is_cut = is_cut || last.is_some();
        while hits.len() > self.limit {
            hits.pop_last();
        }
        cover(&mut hits, self.matcher);
        let mut message = match hits.len() {
            0 => "no matches".to_owned(),
            lines => count(lines, "matching line"),
        };
        let too_large = self.too_large.into_inner();
        if too_large > 0 {
            let files = count(too_large, "file");
            let _ = write!(message, "; not searched, too large: {files}");
        }
        let too_long = self.too_long.into_inner();
        if too_long > 0 {
            let files = count(too_long, "file");
            let _ = write!(
                message,
                "; not searched, with a line over {} MiB: {files}",
                MAX_LINE_BYTES / 1024 / 1024
            );
        }
        if self.is_context_capped {
            let _ = write!(message, "; `context` is at most {MAX_CONTEXT}");
        }
        message.push_str(but);
        let HitListing {
            mut text, excerpts, ..
        } = listing(&hits, self.context);
        if is_cut {
            let _ = write!(
                text,
                "[TRUNCATED: reached limit {} before completing search]",
                self.limit
            );
        }
        text.truncate(text.trim_end_matches('\n').len());
        let detail = Capped {
            text,
            // How many more there are is not known; there is one at least.
            omitted: u64::from(is_cut),
        };
        let outcome = Outcome::ok(message)
            .with_detail(detail)
            .with_excerpts(excerpts);
        self.skipped.add_to(outcome, last.as_ref())
    }
}

/// A search in one of the places that were named.
struct Visit<'a> {
    search: &'a Search<'a>,
    scope: &'a Scope,
    place: &'a ScopePlace,
}

impl Visitor for Visit<'_> {
    fn is_past(&self, path: &str) -> bool {
        self.search.is_past(path)
    }

    fn passes_by(&self, directory: &RelPath) -> bool {
        let Self { search, scope, .. } = self;
        scope.passes_by(self.place, directory, &search.skipped)
    }

    fn visit(&self, batch: &Batch<'_>) {
        let Self {
            search,
            scope,
            place,
        } = self;
        let mut searcher = search.searcher();
        for path in batch.files {
            if scope.includes(place, path)
                && !search.is_past(path.as_str())
                && !scope.passes_by_file(place, path, &search.skipped)
            {
                search.search_one(&mut searcher, batch, path);
            }
        }
        lock(&search.searchers).push(searcher);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn listing(hits: &BTreeMap<Position, Hit>, context: usize) -> HitListing {
    let mut listed = HitListing::default();
    let mut hits = hits.iter().peekable();
    while let Some(((path, _), _)) = hits.peek() {
        let path = path.clone();
        let mut group: Vec<(u64, &Hit)> = Vec::new();
        while let Some(((_, line), hit)) = hits.next_if(|((other, _), _)| *other == path) {
            group.push((*line, hit));
        }
        match &group[..] {
            // In one line it is shorter.
            [(line, hit)] if hit.before.is_empty() && hit.after.is_empty() => {
                listed.line(&format!("{path}:{line}: "), &hit.text);
            }
            _ => {
                listed.line(&format!("{path}:"), "");
                listed.group(&group, context);
            }
        }
        listed.end_file(path);
    }
    listed
}

/// The lines that were found, as they are shown, and which of them are of which file.
#[derive(Debug, Default)]
struct HitListing {
    text: String,
    excerpts: Vec<Excerpt>,
    /// The heads of the lines since the last file ended.
    heads: Vec<usize>,
}

impl HitListing {
    fn line(&mut self, head: &str, content: &str) {
        self.heads.push(head.len());
        let _ = writeln!(self.text, "{head}{content}");
    }

    /// The lines of one file.
    fn group(&mut self, group: &[(u64, &Hit)], context: usize) {
        let mut last: Option<u64> = None;
        for (line, hit) in group {
            let first = hit.before.first().map_or(*line, |(number, _)| *number);
            let is_gap = last.is_some_and(|last| last != first.saturating_sub(1));
            if context > 0 && is_gap {
                self.line("  --", "");
            }
            for (number, before) in &hit.before {
                self.line(&format!("  {number}- "), before);
            }
            self.line(&format!("  {line}: "), &hit.text);
            for (number, after) in &hit.after {
                self.line(&format!("  {number}- "), after);
            }
            last = Some(hit.after.last().map_or(*line, |(number, _)| *number));
        }
    }

    /// The lines since the last file are of this one.
    fn end_file(&mut self, path: RelPath) {
        let heads = std::mem::take(&mut self.heads);
        self.excerpts.push(Excerpt {
            path,
            lines: heads.len(),
            heads,
        });
    }
}

/// Takes the hits of one file, up to one more than can be shown.
struct Collector<'s, 'a> {
    search: &'s Search<'a>,
    hits: Vec<(u64, Hit)>,
    /// The lines before the hit that is to come.
    before: Vec<(u64, String)>,
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
        let hit = Hit {
            text: around(found.bytes(), at),
            before: std::mem::take(&mut self.before),
            after: Vec::new(),
        };
        self.hits
            .push((found.line_number().unwrap_or_default(), hit));
        Ok(self.hits.len() <= self.search.limit)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        let line = (
            found.line_number().unwrap_or_default(),
            around(found.bytes(), 0),
        );
        match (found.kind(), self.hits.last_mut()) {
            (SinkContextKind::After, Some((_, hit))) => hit.after.push(line),
            _ => self.before.push(line),
        }
        Ok(true)
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
    use super::super::stage::{files, stage};
    use super::*;
    use crate::protocol::{Command, Status};

    fn search(pattern: &str) -> Command {
        Command::SearchText {
            pattern: pattern.to_owned(),
            path: None,
            glob: None,
            regex: false,
            case_sensitive: false,
            context: 0,
        }
    }

    fn regex(pattern: &str, beneath: Option<&str>) -> Command {
        Command::SearchText {
            pattern: pattern.to_owned(),
            path: beneath.map(files),
            glob: None,
            regex: true,
            case_sensitive: true,
            context: 0,
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
            (4, "a:\n  1: x\n  2: x\nb:1: x"),
            (3, "a:\n  1: x\n  2: x\nb:1: x"),
            (
                2,
                "a:\n  1: x\n  2: x\n[TRUNCATED: reached limit 2 before completing search]",
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

    #[test]
    fn says_of_a_line_that_is_too_long_that_it_was_not_searched() {
        let long = "z".repeat(MAX_LINE_BYTES + 1);
        let mut stage = stage(&[("a", "x\n"), ("long", &long)]);
        stage.limits.max_file_bytes = u64::MAX;
        assert_eq!(
            stage.one(search("x")).message,
            "1 matching line; not searched, with a line over 8 MiB: 1 file"
        );
    }

    #[test]
    fn lines_around_a_match_are_told_from_it() {
        let lines: Vec<String> = (1..=20).map(|n| format!("line {n}\n")).collect();
        let lines = lines.concat();
        let mut stage = stage(&[("a.txt", &lines), ("b.md", "x\nline 5\ny\n")]);
        let mut with = |pattern: &str, glob: Option<&str>| {
            let outcome = stage.one(Command::SearchText {
                pattern: pattern.to_owned(),
                path: None,
                glob: glob.map(str::to_owned),
                regex: true,
                case_sensitive: true,
                context: 1,
            });
            outcome.detail.text
        };
        assert_eq!(
            with("line (5|6|9)$", None),
            "a.txt:\n  4- line 4\n  5: line 5\n  6: line 6\n  7- line 7\n  8- line 8\n  9: line 9\n\
            \x20 10- line 10\nb.md:\n  1- x\n  2: line 5\n  3- y"
        );
        assert_eq!(
            with("line 5$", Some("*.md")),
            "b.md:\n  1- x\n  2: line 5\n  3- y"
        );
        assert_eq!(
            with("line (1|20)$", Some("*.txt, *.rs")),
            "a.txt:\n  1: line 1\n  2- line 2\n  --\n  19- line 19\n  20: line 20"
        );
    }

    #[test]
    fn a_cap_on_lines_around_a_match_is_named() {
        let mut stage = stage(&[("a", "x\n")]);
        let outcome = stage.one(Command::SearchText {
            pattern: "x".to_owned(),
            path: None,
            glob: None,
            regex: false,
            case_sensitive: false,
            context: 30,
        });
        assert_eq!(outcome.message, "1 matching line; `context` is at most 10");
    }
}
