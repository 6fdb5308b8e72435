//! Syntax errors that the steps of a reply bring into files.
//!
//! A line that was wrapped, lost or doubled on the way, an edit in the wrong place and a slip of the
//! model have one thing in common: the file seldom parses afterwards. So a file that parsed and does not
//! any more is never passed over in silence. Errors that were there before count for nothing, and neither
//! does a format that cannot be judged by itself, such as C before its macros are expanded or YAML with
//! the marks of a template.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use jsonc_parser::errors::ParseError;
use jsonc_parser::parse_to_value;
use saphyr_parser::Parser as YamlParser;
use tree_sitter::Node;

use super::Execution;
use super::outline::{Language, parse};
use crate::json::WITH_COMMENTS;
use crate::protocol::{RelPath, StagedChange, StagedStep};
use crate::workspace::text::TextFile;

/// The largest file that is parsed, in bytes: what is larger was hardly written by hand.
const MAX_BYTES: u64 = 512 * 1024;

/// How long the files of a group of steps may take together.
const MAX_TIME: Duration = Duration::from_secs(1);

/// The most errors of a file that are compared.
const MAX_ERRORS: usize = 50;

/// A format whose errors can be found.
enum SourceFormat {
    Program(&'static Language),
    Json,
    Yaml,
    /// Records with fields between which this stands.
    Table(char),
}

/// A file that steps write.
struct WrittenFile {
    /// The place of the last step that writes it.
    step: usize,
    /// Where its content was before the steps.
    origin: RelPath,
}

impl Execution<'_> {
    /// Adds a remark to the steps that leave a file with a syntax error which it did not have before.
    ///
    /// The steps are prepared and not carried out yet. They are judged together, because one may close
    /// what another opens.
    pub fn remark_on_syntax(&mut self, steps: &mut [StagedStep]) {
        let end = Instant::now() + MAX_TIME;
        for (path, written) in written_files(steps) {
            let Some(format) = SourceFormat::of(&path) else {
                continue;
            };
            let Ok((after, _)) = self.ledger.staging.read(&path, MAX_BYTES) else {
                continue;
            };
            let before = self.workspace.read(&written.origin, MAX_BYTES);
            let before = before.unwrap_or_default();
            let (Ok((before, _)), Ok((after, _))) =
                (TextFile::view(&before), TextFile::view(&after))
            else {
                continue;
            };
            let Some(line) = format.new_error(&before, &after, end) else {
                continue;
            };
            let outcome = &mut steps[written.step].result.outcome;
            outcome.remarks.push(remark(&path, line, &before, &after));
            let broken = std::mem::take(&mut outcome.broken_syntax);
            outcome.broken_syntax = broken.into_iter().chain([path]).collect();
        }
    }
}

/// The files that prepared steps write.
fn written_files(steps: &[StagedStep]) -> BTreeMap<RelPath, WrittenFile> {
    let mut files: BTreeMap<RelPath, WrittenFile> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        for change in &step.changes {
            match change {
                StagedChange::Write { path, .. } => {
                    let file = files.entry(path.clone()).or_insert_with(|| WrittenFile {
                        step: at,
                        origin: path.clone(),
                    });
                    file.step = at;
                }
                StagedChange::Remove { path, .. } => drop(files.remove(path)),
                StagedChange::Rename { from, to, .. } => {
                    let moved = files.remove(from);
                    let origin = moved.map_or_else(|| from.clone(), |moved| moved.origin);
                    files.insert(to.clone(), WrittenFile { step: at, origin });
                }
            }
        }
    }
    files
}

fn remark(path: &RelPath, line: usize, before: &str, after: &str) -> String {
    let news = if before.is_empty() {
        ""
    } else {
        " that was not there before"
    };
    let mut remark = format!("line {line} of {} is a syntax error{news}", path.quoted());
    if follows_a_wrap(after, line) {
        remark.push_str("; if the reply was wrapped, copy it with the chat's own copy button");
    }
    remark
}

/// Returns true if the error may come from a line that was wrapped: it begins at the margin, and the
/// line above it is long.
fn follows_a_wrap(text: &str, line: usize) -> bool {
    const LONG: usize = 50;
    let mut lines = text.lines().skip(line.saturating_sub(2));
    let (Some(above), Some(error)) = (lines.next(), lines.next()) else {
        return false;
    };
    line > 1 && above.chars().count() >= LONG && error.starts_with(|c: char| !c.is_whitespace())
}

impl SourceFormat {
    fn of(path: &RelPath) -> Option<Self> {
        let extension = path.file_name().rsplit_once('.')?.1.to_ascii_lowercase();
        match extension.as_str() {
            "json" => Some(Self::Json),
            "yaml" | "yml" => Some(Self::Yaml),
            "csv" => Some(Self::Table(',')),
            "tsv" => Some(Self::Table('\t')),
            _ => Language::of(path)
                .filter(|language| language.finds_errors())
                .map(Self::Program),
        }
    }

    /// The line of the first error that only the new text has.
    fn new_error(&self, before: &str, after: &str, end: Instant) -> Option<usize> {
        let errors = self.errors(after, end);
        if errors.is_empty() {
            return None;
        }
        // Where the grammar does not know all of the language, it is wrong at the same lines again.
        let old = self.errors(before, end);
        let old_lines: Vec<&str> = before.lines().collect();
        let known: HashSet<&str> = old
            .iter()
            .filter_map(|at| line_at(&old_lines, *at))
            .collect();
        let lines: Vec<&str> = after.lines().collect();
        let is_new = |at: &usize| line_at(&lines, *at).is_none_or(|line| !known.contains(line));
        let has_more = errors.len() > old.len();
        errors.into_iter().find(is_new).filter(|_| has_more)
    }

    /// The lines with errors, from 1; none if the text cannot be judged.
    fn errors(&self, text: &str, end: Instant) -> Vec<usize> {
        let is_template = || text.contains("{{") || text.contains("{%");
        match self {
            Self::Program(language) => parse(language, text, end)
                .map(|tree| error_lines(tree.root_node()))
                .unwrap_or_default(),
            Self::Json | Self::Yaml if is_template() => Vec::new(),
            Self::Json => {
                let error = parse_to_value(text, &WITH_COMMENTS).err();
                error.iter().map(ParseError::line_display).collect()
            }
            Self::Yaml => {
                let error = YamlParser::new_from_str(text).find_map(Result::err);
                error.iter().map(|error| error.marker().line()).collect()
            }
            Self::Table(separator) => uneven_records(text, *separator),
        }
    }
}

/// The line with this number, from 1, without the white space around it.
fn line_at<'t>(lines: &[&'t str], number: usize) -> Option<&'t str> {
    lines.get(number.checked_sub(1)?).map(|line| line.trim())
}

/// The lines on which errors of a tree begin, in their order.
fn error_lines(root: Node<'_>) -> Vec<usize> {
    let mut lines = Vec::new();
    let mut cursor = root.walk();
    // Not recursive: hostile text is nested as deep as it is long.
    loop {
        let node = cursor.node();
        let is_error = node.is_error() || node.is_missing();
        if is_error {
            lines.push(node.start_position().row + 1);
        }
        if !is_error && node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return lines;
            }
        }
        if lines.len() >= MAX_ERRORS {
            return lines;
        }
    }
}

/// The lines on which records begin that have more or fewer fields than the first one, if nearly all
/// have as many.
fn uneven_records(text: &str, separator: char) -> Vec<usize> {
    const FEWEST: usize = 4;
    let (mut records, mut uneven) = (0, Vec::new());
    let (mut width, mut fields, mut is_quoted, mut first) = (None, 1, false, 1);
    for (at, line) in (1..).zip(text.lines()) {
        for c in line.chars() {
            is_quoted ^= c == '"';
            fields += usize::from(c == separator && !is_quoted);
        }
        if is_quoted {
            continue;
        }
        if !line.is_empty() {
            records += 1;
            if *width.get_or_insert(fields) != fields {
                uneven.push(first);
            }
        }
        (fields, first) = (1, at + 1);
    }
    let is_table = records >= FEWEST && uneven.len() * 4 <= records;
    uneven.truncate(if is_table { MAX_ERRORS } else { 0 });
    uneven
}

#[cfg(test)]
mod tests {
    use super::super::stage::{create, path, rename, replace, stage};
    use super::*;
    use crate::protocol::{Command, Outcome, Step, StepResult};

    /// The remarks on the steps of one reply, prepared as a group.
    fn remarks(files: &[(&str, &str)], commands: Vec<Command>) -> Vec<String> {
        let mut stage = stage(files);
        let steps: Vec<Step> = (1..)
            .zip(commands)
            .map(|(number, command)| Step {
                number,
                line: 1,
                command,
            })
            .collect();
        let mut execution =
            Execution::begin(&stage.workspace, &stage.limits, &mut stage.seen, &steps);
        let staged = |step: &Step| {
            let (outcome, changes) = execution.stage(step);
            let result = StepResult::new(step, outcome, Duration::ZERO);
            StagedStep { result, changes }
        };
        let mut staged: Vec<StagedStep> = steps.iter().map(staged).collect();
        execution.remark_on_syntax(&mut staged);
        let outcomes = staged.into_iter().map(|step| step.result.outcome);
        let is_told = |outcome: &Outcome| !outcome.broken_syntax.is_empty();
        outcomes
            .filter(is_told)
            .flat_map(|outcome| outcome.remarks)
            .collect()
    }

    #[track_caller]
    fn case(name: &str, before: &str, after: &str, expected: Option<usize>) {
        let format = SourceFormat::of(&path(name)).unwrap();
        let end = Instant::now() + MAX_TIME;
        assert_eq!(
            format.new_error(before, after, end),
            expected,
            "{name}: {after}"
        );
    }

    #[test]
    fn an_error_that_a_file_did_not_have_is_found() {
        case("a.py", "x = 1\n", "x = (1\ny = 2\n", Some(1));
        case("a.py", "", "# a comment that was\nwrapped here\n", Some(2));
        case("a.rs", "fn f() {}\n", "fn f() {\n", Some(1));
        case("a.ts", "", "let x: number = 1;\n", None);
        case("a.go", "package a\n", "package a\nfunc {\n", Some(2));
        case("a.java", "", "class A { void f() { } }\n", None);
        case("a.json", "{}\n", "{\"a\": 1\n\"b\": 2}\n", Some(1));
        case(
            "tsconfig.json",
            "",
            "{\n  // why\n  \"a\": [1,],\n}\n",
            None,
        );
        case("a.yml", "a: 1\n", "a: 1\n b: 2\n", Some(2));
        case("a.yml", "", "a: {{ b }}\n c\n", None);
        case("a.csv", "", "a,b\n1,2\n3,\"x,\ny\"\n4,5\n6,7\n", None);
        case("a.csv", "", "a,b\n1,2\n3,4\n5,\n6\n7,8\n9,1\n", Some(5));
        case("a.csv", "", "a title\na,b\nc,d,e\n", None);
    }

    #[test]
    fn errors_that_were_there_do_not_count() {
        let old = "def f(:\n    pass\n\n\nx = 1\n";
        case("a.py", old, &old.replace("x = 1", "x = 2"), None);
        case("a.py", old, &format!("\n{old}"), None);
        case("a.py", old, "def f():\n    pass\n", None);
        case(
            "a.py",
            old,
            &old.replace("x = 1", "x = = 1\ny = )"),
            Some(5),
        );
        assert!(SourceFormat::of(&path("a.c")).is_none());
        assert!(SourceFormat::of(&path("a.md")).is_none());
        assert!(SourceFormat::of(&path("Makefile")).is_none());
    }

    #[test]
    fn steps_are_judged_together_and_by_where_their_file_was() {
        let open = || replace("a.py", &[("x = 1\n", "x = (\n    1,\n")]);
        let close = || replace("a.py", &[("y = 2\n", "    2,\n)\n")]);
        let files = &[("a.py", "x = 1\ny = 2\n"), ("bad.py", "def f(:\n")];
        assert!(remarks(files, vec![open(), close()]).is_empty());
        let told = remarks(files, vec![open(), create("b.py", "z = 1\n")]);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].ends_with("of a.py is a syntax error that was not there before"),
            "{told:?}"
        );
        assert!(remarks(files, vec![rename("bad.py", "moved.py")]).is_empty());
        let told = remarks(files, vec![create("c.py", "z = (\n")]);
        assert_eq!(told, ["line 1 of c.py is a syntax error"]);
    }

    #[test]
    fn a_long_line_above_the_error_may_have_been_wrapped() {
        let text = "# a comment that is long enough that an editor breaks it at its\nright end\n";
        let told = remarks(&[], vec![create("a.py", text)]);
        assert!(told[0].contains("if the reply was wrapped"), "{told:?}");
    }

    #[test]
    fn hostile_text_costs_little() {
        for name in ["a.py", "a.rs", "a.ts", "a.go", "a.json", "a.yml", "a.csv"] {
            for part in ["[", "{", "(", "- ", "\"", "a: ", "? "] {
                let text = part.repeat(100_000 / part.len());
                let format = SourceFormat::of(&path(name)).unwrap();
                let _ = format.new_error("", &text, Instant::now() + MAX_TIME);
            }
        }
    }
}
