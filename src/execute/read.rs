//! `READ_FILE`: a promise while the steps run, the contents when the next outbox is composed.
//!
//! The file is shown as it is at the end of the round, wherever the step stood in the reply, so
//! that the line numbers hold for the next reply. Numbered lines read `12: text`. The caller takes out
//! what must not be shown of a file ([`FileVeil`]), before anything is cut.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use super::seen::hash;
use super::select::Scope;
use super::skipped::Skipped;
use super::walks::Walks;
use super::{Execution, Limits, count};
use crate::excerpt;
use crate::protocol::{
    Capped, Command, LineWindow, Outcome, ReadRequest, RelPath, Selection, ShownLines, Step,
};
use crate::workspace::text::TextFile;
use crate::workspace::{FileKind, FileProblem, Workspace};

/// The most characters of one line that are shown.
const MAX_LINE_CHARS: usize = 2000;

/// The most files that one step shows.
const MAX_FILES: usize = 50;

/// Takes out of the whole text of a file what must not be shown; it keeps every line.
pub type FileVeil<'a> = dyn FnMut(&RelPath, String) -> String + 'a;

/// Leaves a text as it is.
pub fn unveiled(_: &RelPath, text: String) -> String {
    text
}

/// The contents of a file, ready for an outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// One line: the path, or why nothing follows.
    pub header: String,
    /// Which lines follow, if any do.
    pub lines: Option<LineWindow>,
    /// The lines, each with a line break at its end so that a blank last one counts, and how many
    /// that were asked for are missing after them.
    pub contents: Capped,
    /// The lines of the file that the contents show, if they show any.
    pub sighting: Option<ShownLines>,
    /// True if the end of a very long line is missing.
    pub has_cut_lines: bool,
}

impl Shown {
    fn nothing(header: String) -> Self {
        Self {
            header,
            lines: None,
            contents: Capped::default(),
            sighting: None,
            has_cut_lines: false,
        }
    }
}

/// The files that steps ask to see, as they are now; none for what is not `READ_FILE`.
pub fn read_requests<'s>(
    workspace: &Workspace,
    steps: impl IntoIterator<Item = &'s Step>,
) -> Vec<ReadRequest> {
    let walks = Walks::new(workspace);
    let steps = steps.into_iter();
    steps.flat_map(|step| requests(&walks, step)).collect()
}

fn requests(walks: &Walks<'_>, step: &Step) -> Vec<ReadRequest> {
    let Command::ReadFile {
        path,
        start_line,
        end_line,
        numbered,
    } = &step.command
    else {
        return Vec::new();
    };
    let request = |path| ReadRequest {
        step: step.number,
        path,
        start_line: *start_line,
        end_line: *end_line,
        numbered: *numbered,
    };
    match Wanted::find(walks, path) {
        Ok(wanted) => wanted.files.into_iter().map(request).collect(),
        // What became of a file that was promised is told where its contents would stand.
        Err(_) => path.only().cloned().map(request).into_iter().collect(),
    }
}

/// Shows a file, or the part of it that was asked for, as it is now.
pub fn read_file(
    workspace: &Workspace,
    request: &ReadRequest,
    limits: &Limits,
    veil: &mut FileVeil<'_>,
) -> Shown {
    let path = &request.path;
    let content = match workspace.read(path, limits.max_file_bytes) {
        Ok(content) => content,
        Err(problem) => return Shown::nothing(unreadable(&problem).line_for_model()),
    };
    let hash = hash(&content);
    let size = content.len();
    let Ok(file) = TextFile::decode(content) else {
        let name = path.quoted();
        return Shown::nothing(format!("{name} (binary file, {size} bytes: not shown)"));
    };
    // A part of a secret is still one, and a line of a key does not tell that it is one. What a link
    // leads to is taken out under both names: whichever is the stricter counts.
    let text = match workspace.real(path) {
        Some(real) => veil(&real, file.text),
        None => file.text,
    };
    let text = veil(path, text);
    let lines: Vec<&str> = text.lines().collect();
    let sighting = |lines, of| ShownLines {
        path: path.clone(),
        hash,
        lines,
        of,
    };
    if lines.is_empty() {
        return Shown {
            sighting: Some(sighting(0..0, 0)),
            ..Shown::nothing(format!("{} (empty file: 0 lines)", path.quoted()))
        };
    }
    match part(request, lines.len()) {
        Ok(range) => Shown {
            header: path.quoted().into_owned(),
            lines: Some(LineWindow {
                first: range.start + 1,
                of: lines.len(),
            }),
            has_cut_lines: lines[range.clone()].iter().any(|line| is_cut(line)),
            sighting: Some(sighting(shown(&range, limits), lines.len())),
            contents: contents(&lines, range, request, limits),
        },
        Err(problem) => Shown::nothing(format!("`{path}` {problem}")),
    }
}

/// The outcome of reading a file that cannot be shown.
fn unreadable(problem: &FileProblem) -> Outcome {
    Outcome::failed(problem.to_string()).with_hint(match problem {
        FileProblem::TooLarge { .. } => "look at parts of it with RUN_COMMAND and `sed -n`",
        _ => "",
    })
}

/// The lines that were asked for, from 0, half open.
fn part(request: &ReadRequest, lines: usize) -> Result<Range<usize>, String> {
    let start = request.start_line.unwrap_or(1).max(1) as usize;
    let end = request.end_line.map_or(lines, |end| end as usize);
    if start > lines {
        return Err(format!(
            "has {}: there is no line {start}",
            count(lines, "line")
        ));
    }
    if end < start {
        return Err(format!(
            "has no lines {start}-{end}: the end is before the start"
        ));
    }
    Ok(start - 1..end.min(lines))
}

/// Those of the lines that one request may show.
fn shown(range: &Range<usize>, limits: &Limits) -> Range<usize> {
    // A file that is a little longer is shown whole: a word about the cut and another round cost more.
    let most = limits.max_read_lines as usize;
    let shown = if range.len() <= most + most / 20 {
        range.len()
    } else {
        most
    };
    range.start..range.start + shown
}

fn contents(lines: &[&str], range: Range<usize>, request: &ReadRequest, limits: &Limits) -> Capped {
    let all = range.len();
    let range = shown(&range, limits);
    let omitted = all - range.len();
    let lines: Vec<String> = if request.numbered {
        numbered(&lines[range.clone()], range.start)
    } else {
        lines[range].iter().map(|line| cut(line)).collect()
    };
    let ended = lines.into_iter().map(|line| line + "\n");
    Capped {
        text: ended.collect(),
        omitted: omitted as u64,
    }
}

/// A part of a text with line numbers, as a hint beside a failure.
pub(super) fn excerpt(text: &str, range: Range<usize>) -> String {
    let lines: Vec<&str> = text.lines().skip(range.start).take(range.len()).collect();
    numbered(&lines, range.start).join("\n")
}

/// Lines with their numbers; `above` is how many lines stand before them.
fn numbered(lines: &[&str], above: usize) -> Vec<String> {
    let numbers = above + 1..;
    numbers
        .zip(lines)
        .map(|(number, line)| format!("{number}: {}", cut(line)))
        .collect()
}

/// Returns true if a line is too long to be shown whole.
fn is_cut(line: &str) -> bool {
    line.len() > MAX_LINE_CHARS && line.chars().nth(MAX_LINE_CHARS).is_some()
}

/// A line, cut if it is very long.
fn cut(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => {
            let (shown, rest) = line.split_at(excerpt::whole_end(&line[..end]));
            let omitted = rest.chars().count();
            format!("{shown} [TRUNCATED: {omitted} more characters in this line]")
        }
        None => line.to_owned(),
    }
}

/// The files that a selection names.
struct Wanted {
    /// In the order of the selection, and of their paths where a glob found them.
    files: Vec<RelPath>,
    /// How many more there are.
    omitted: usize,
    /// A note about those that are missing.
    but: String,
    skipped: Skipped,
}

impl Wanted {
    fn find(walks: &Walks<'_>, selection: &Selection) -> Result<Self, Outcome> {
        let scope = Scope::resolve(walks, Some(selection), None)?;
        let skipped = Skipped::default();
        let mut files: Vec<RelPath> = Vec::new();
        let mut directory = None;
        for place in &scope.places {
            match (place.named, &place.beneath) {
                (Some(FileKind::Directory), Some(path)) => directory = Some(path),
                (Some(_), Some(path)) => files.push(path.clone()),
                _ => {
                    let walked = scope.walk_place(walks, place, &skipped)?;
                    let found = walked.files.iter().map(|found| found.path.clone());
                    files.extend(found.filter(|path| !scope.passes_by_file(place, path, &skipped)));
                }
            }
        }
        let mut known = BTreeSet::new();
        files.retain(|path| known.insert(path.clone()));
        match (files.as_slice(), directory) {
            ([], Some(path)) => Err(walks.explained(&FileProblem::IsDirectory(path.clone()))),
            ([], None) => {
                let outcome = Outcome::failed(format!("no file matches `{selection}`"));
                Err(skipped.add_to(outcome, None))
            }
            _ => {
                let mut but = scope.but_missing();
                but.push_str(&scope.but_vain(&files));
                let omitted = files.len().saturating_sub(MAX_FILES);
                files.truncate(MAX_FILES);
                if let Some(path) = directory {
                    let _ = write!(but, "; `{path}` is a directory, not a file");
                }
                Ok(Self {
                    files,
                    omitted,
                    but,
                    skipped,
                })
            }
        }
    }
}

impl Execution<'_> {
    /// Says that the contents follow; fails at once if there is nothing to show.
    pub(super) fn promise_contents(&mut self, selection: &Selection) -> Outcome {
        let promise = |path: &RelPath| {
            Outcome::ok(format!("read {}", path.quoted())).with_hint("its contents are below")
        };
        if let Some(path) = selection.only()
            && self.promised.contains(path)
            && matches!(
                self.workspace.open_file(path),
                Ok(_) | Err(FileProblem::NotFound(_))
            )
        {
            return promise(path);
        }
        let wanted = match Wanted::find(&self.walks, selection) {
            Ok(wanted) => wanted,
            Err(outcome) => return outcome,
        };
        let Wanted {
            files,
            omitted,
            but,
            skipped,
        } = wanted;
        match files.as_slice() {
            [path] if but.is_empty() && skipped.is_empty() => {
                match self.workspace.read(path, self.limits.max_file_bytes) {
                    Ok(content) if TextFile::view(&content).is_ok() => promise(path),
                    Ok(content) => Outcome::failed(format!(
                        "`{path}` is a binary file ({} bytes): it cannot be shown",
                        content.len()
                    )),
                    Err(problem @ FileProblem::TooLarge { .. }) => unreadable(&problem),
                    Err(problem) => self.walks.explained(&problem),
                }
            }
            files => {
                let mut message = format!("read {}{but}", count(files.len(), "file"));
                if omitted > 0 {
                    let _ = write!(
                        message,
                        "; [TRUNCATED: first {MAX_FILES} items], {omitted} more match"
                    );
                }
                let outcome = Outcome::ok(message).with_hint("the contents are below");
                skipped.add_to(outcome, None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::stage::{files, path, stage};
    use super::*;
    use crate::protocol::Command;
    use crate::protocol::Status;

    fn request(name: &str) -> ReadRequest {
        ReadRequest {
            path: path(name),
            start_line: None,
            end_line: None,
            numbered: false,
            step: 0,
        }
    }

    fn lines(name: &str, start: u32, end: u32) -> ReadRequest {
        ReadRequest {
            start_line: Some(start),
            end_line: Some(end),
            numbered: true,
            ..request(name)
        }
    }

    #[track_caller]
    fn case(content: &str, request: &ReadRequest, header: &str, contents: &str) {
        let mut stage = stage(&[("a.txt", content)]);
        stage.limits.max_read_lines = 3;
        let shown = read_file(&stage.workspace, request, &stage.limits, &mut unveiled);
        assert_eq!((heading(&shown).as_str(), body(&shown)), (header, contents));
    }

    fn heading(shown: &Shown) -> String {
        let words = |lines: LineWindow| lines.words(shown.contents.text.lines().count());
        let words = shown.lines.map(words).map(|words| format!(" {words}"));
        format!("{}{}", shown.header, words.unwrap_or_default())
    }

    fn body(shown: &Shown) -> &str {
        assert!(!shown.contents.text.contains("[TRUNCATED"));
        &shown.contents.text
    }

    #[test]
    fn shows_a_file_or_a_part_of_it() {
        case("", &request("a.txt"), "a.txt (empty file: 0 lines)", "");
        case("one", &request("a.txt"), "a.txt (1 line)", "one\n");
        case("1\r\n2\r\n", &request("a.txt"), "a.txt (2 lines)", "1\n2\n");
        case(
            "1\n2\n3\n",
            &request("a.txt"),
            "a.txt (3 lines)",
            "1\n2\n3\n",
        );
        case("1\n\n", &request("a.txt"), "a.txt (2 lines)", "1\n\n");
        case(
            "1\n\n3\n",
            &ReadRequest {
                numbered: false,
                ..lines("a.txt", 2, 2)
            },
            "a.txt (lines 2-2 of 3)",
            "\n",
        );
        case(
            "1\n2\n3\n4\n5\n",
            &request("a.txt"),
            "a.txt (lines 1-3 of 5)",
            "1\n2\n3\n",
        );
        case(
            "a\nb\nc\nd\n",
            &lines("a.txt", 2, 3),
            "a.txt (lines 2-3 of 4)",
            "2: b\n3: c\n",
        );
        case(
            "a\nb\nc\nd\ne\nf\n",
            &lines("a.txt", 2, 9),
            "a.txt (lines 2-4 of 6)",
            "2: b\n3: c\n4: d\n",
        );
    }

    #[test]
    fn says_why_nothing_is_shown() {
        case("a\n", &request("b.txt"), "`b.txt` does not exist", "");
        case(
            "a\n",
            &lines("a.txt", 2, 3),
            "`a.txt` has 1 line: there is no line 2",
            "",
        );
        case(
            "a\nb\n",
            &lines("a.txt", 2, 1),
            "`a.txt` has no lines 2-1: the end is before the start",
            "",
        );
        case(
            "\0\x01",
            &request("a.txt"),
            "a.txt (binary file, 2 bytes: not shown)",
            "",
        );
    }

    #[test]
    fn a_very_long_line_is_cut() {
        let stage = stage(&[("a.txt", &"\u{e4}".repeat(2005))]);
        let shown = read_file(
            &stage.workspace,
            &request("a.txt"),
            &stage.limits,
            &mut unveiled,
        );
        assert!(
            shown
                .contents
                .text
                .ends_with("\u{e4} [TRUNCATED: 5 more characters in this line]\n"),
            "{}",
            shown.contents.text.len()
        );
        assert!(shown.has_cut_lines);
    }

    #[test]
    fn what_is_taken_out_is_taken_out_of_the_whole_before_it_is_cut() {
        let text = format!("one\n{}hidden {}\n", "x".repeat(1997), "y".repeat(50));
        let stage = stage(&[("a.txt", &text)]);
        let mut veil = |path: &RelPath, text: String| {
            assert_eq!((path.as_str(), text.lines().count()), ("a.txt", 2));
            text.replace("hidden", "[]")
        };
        let shown = read_file(
            &stage.workspace,
            &lines("a.txt", 2, 2),
            &stage.limits,
            &mut veil,
        );
        let end = "xx[]  [TRUNCATED: 50 more characters in this line]\n";
        assert!(shown.contents.text.ends_with(end), "{:?}", shown.contents);
    }

    #[cfg(unix)]
    #[test]
    fn what_a_link_leads_to_is_taken_out_under_both_names() {
        use std::os::unix::fs::symlink;

        let stage = stage(&[("conf/.env", "SESSION=1\n"), ("own.txt", "2\n")]);
        let root = stage.directory.path();
        symlink("conf/.env", root.join("notes.txt")).unwrap();
        symlink("conf", root.join("public")).unwrap();
        let case = |name: &str, expected: &[&str]| {
            let mut names = Vec::new();
            let mut veil = |path: &RelPath, text: String| {
                names.push(path.to_string());
                text.replace("SESSION=1", "hidden")
            };
            let shown = read_file(&stage.workspace, &request(name), &stage.limits, &mut veil);
            assert!(!shown.contents.text.contains("SESSION"), "{shown:?}");
            assert_eq!(names, expected);
        };
        case("notes.txt", &["conf/.env", "notes.txt"]);
        case("public/.env", &["conf/.env", "public/.env"]);
        case("own.txt", &["own.txt"]);
    }

    #[test]
    fn a_missing_file_fails_at_once_with_names_that_may_be_meant() {
        let mut stage = stage(&[("src/main.rs", ""), ("lib/util.rs", "")]);
        let read = |name: &str| Command::ReadFile {
            path: files(name),
            start_line: None,
            end_line: None,
            numbered: false,
        };
        let outcomes = stage.reply(vec![
            read("src/mian.rs"),
            read("util.rs"),
            read("src/main.rs"),
            read("later.rs"),
            Command::create_file(path("later.rs"), String::new()),
            read("src"),
        ]);
        let messages: Vec<&str> = outcomes.iter().map(|one| one.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "`src/mian.rs` does not exist; did you mean `src/main.rs`?",
                "`util.rs` does not exist; did you mean `lib/util.rs`?",
                "read src/main.rs",
                "read later.rs",
                "created later.rs (0 lines)",
                "`src` is a directory, not a file",
            ]
        );
        assert_eq!(outcomes[0].status, Status::Failed);
    }

    #[test]
    fn what_cannot_be_shown_fails_at_once() {
        let mut stage = stage(&[
            ("large", &"x".repeat(101)),
            ("binary", "\0\x01"),
            ("fine", "1\n"),
        ]);
        stage.limits.max_file_bytes = 100;
        let read = |name: &str| Command::ReadFile {
            path: files(name),
            start_line: None,
            end_line: None,
            numbered: false,
        };
        stage.fails(read("large"), "look at parts of it with RUN_COMMAND");
        stage.fails(
            read("binary"),
            "`binary` is a binary file (2 bytes): it cannot be shown",
        );
        assert_eq!(stage.one(read("fine")).status, Status::Ok);
        // What a later step makes of it counts.
        let outcomes = stage.reply(vec![
            read("binary"),
            super::super::stage::create("binary", "text\n"),
        ]);
        assert_eq!(outcomes[0].status, Status::Ok);
    }

    #[test]
    fn several_files_are_shown_at_once() {
        let names: Vec<String> = (0..60).map(|n| format!("many/{n:02}.txt")).collect();
        let mut all: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1\n")).collect();
        all.extend([("a.rs", "a\n"), ("b.rs", "b\n"), ("c/d.rs", "d\n")]);
        let mut stage = stage(&all);
        let mut case = |selection: &str, message: &str, first: &[&str]| {
            let command = Command::ReadFile {
                path: files(selection),
                start_line: None,
                end_line: None,
                numbered: false,
            };
            let step = Step {
                number: 3,
                line: 1,
                command: command.clone(),
            };
            let requests = read_requests(&stage.workspace, [&step]);
            assert!(requests.iter().all(|request| request.step == 3));
            let read = |request: &ReadRequest| {
                let (workspace, limits) = (&stage.workspace, &stage.limits);
                heading(&read_file(workspace, request, limits, &mut unveiled))
            };
            let headers: Vec<String> = requests.iter().map(read).collect();
            assert_eq!(headers[..first.len()], *first);
            assert_eq!(stage.one(command).message, message);
        };
        let one = |name: &str| format!("{name} (1 line)");
        let (a, b, d) = (one("a.rs"), one("b.rs"), one("c/d.rs"));
        let words = "read 2 files";
        case("b.rs, a.rs", words, &[&b, &a]);
        case("b.rs\nc/*.rs", words, &[&b, &d]);
        case("a.rs, *.rs", "read 3 files", &[&a, &b, &d]);
        case(
            "a.rs, x.rs, c",
            "read 1 file; `x.rs` does not exist; `c` is a directory, not a file",
            &[&a],
        );
        case(
            "many/*",
            "read 50 files; [TRUNCATED: first 50 items], 10 more match",
            &[&one("many/00.txt")],
        );
        case("*.zig", "no file matches `*.zig`", &[]);
        case(
            "a.rs, *.zig, c/*",
            "read 2 files; no file matches `*.zig`",
            &[&a, &d],
        );
    }
}
