//! Files and directories that a step over many files skips unless it names them: directories that
//! tools fill by themselves, and lock files. The result says so.
//!
//! Which these are stands in `protocol::generated`. Ignored files are no matter of this: the walk
//! does not know them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use crate::protocol::generated::{is_generated, is_generated_directory, is_lock_file};
use crate::protocol::{Outcome, RelPath, with_hint};

/// The most names that are told.
const MAX_NAMED: usize = 5;

/// Generated directories and files that a step names.
#[derive(Default)]
pub(super) struct NamedGenerated {
    directories: BTreeSet<String>,
    has_locks: bool,
}

impl NamedGenerated {
    /// Takes the words of a glob in.
    pub(super) fn read(&mut self, glob: &str) {
        /// Words that occur in names of lock files and hardly elsewhere.
        const LOCK_WORDS: [&str; 3] = ["lock", "shrinkwrap", ".sum"];
        for name in glob.split(['/', ',', '{', '}']) {
            if is_generated_directory(name) {
                self.directories.insert(name.to_owned());
            }
            self.has_locks |= LOCK_WORDS.iter().any(|word| name.contains(word));
        }
    }

    /// The generated directories that are named.
    pub(super) fn directories(&self) -> &BTreeSet<String> {
        &self.directories
    }

    /// Returns true if a walk skips this directory. Beneath one that was named, none is skipped.
    pub(super) fn pass_directory(&self, path: &RelPath) -> bool {
        let name = path.file_name();
        is_generated_directory(name)
            && !self.directories.contains(name)
            && !path.parent().is_some_and(|above| is_generated(&above))
    }

    /// Returns true if a walk skips the text of this file.
    pub(super) fn pass_file(&self, path: &RelPath) -> bool {
        is_lock_file(path.file_name()) && !self.has_locks && !is_generated(path)
    }
}

/// The skipped paths; several threads may add to them.
#[derive(Default)]
pub(super) struct Skipped(Mutex<BTreeSet<RelPath>>);

impl Skipped {
    pub(super) fn note(&self, path: &RelPath) {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        paths.insert(path.clone());
    }

    /// Adds to an outcome what was passed by before this path, or at all, and how to look there.
    pub(super) fn add_to(self, outcome: Outcome, before: Option<&RelPath>) -> Outcome {
        let words = self.words(before);
        if words.is_empty() {
            return outcome;
        }
        let Outcome { message, hint, .. } = &outcome;
        Outcome {
            message: format!("{message}; left out as generated: {words}"),
            hint: with_hint("name one in `path` to look there".to_owned(), hint),
            ..outcome
        }
    }

    /// Returns true if nothing was skipped.
    pub(super) fn is_empty(&self) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
    }

    pub(super) fn words(self, before: Option<&RelPath>) -> String {
        let mut paths = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        paths.retain(|path| before.is_none_or(|before| path < before));
        if paths.is_empty() {
            return String::new();
        }
        let mut alike: BTreeMap<&str, (usize, &RelPath)> = BTreeMap::new();
        for path in &paths {
            alike.entry(path.file_name()).or_insert((0, path)).0 += 1;
        }
        let mut words: Vec<String> = (alike.iter().take(MAX_NAMED))
            .map(|(name, (count, first))| match count {
                1 => format!("`{first}`"),
                _ => format!("`{name}` ({count} times)"),
            })
            .collect();
        let others: usize = alike.values().skip(MAX_NAMED).map(|(count, _)| count).sum();
        if others > 0 {
            words.push(format!("{others} more"));
        }
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::super::stage::{files, stage};
    use super::*;
    use crate::protocol::Command;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    #[test]
    fn what_is_named_is_not_passed_by() {
        let mut named = NamedGenerated::default();
        assert!(named.pass_directory(&path("web/node_modules")));
        assert!(!named.pass_directory(&path("src")));
        // Nobody gets there who did not name it.
        assert!(!named.pass_directory(&path("node_modules/a/__pycache__")));
        assert!(named.pass_file(&path("Cargo.lock")));
        assert!(!named.pass_file(&path("node_modules/a/yarn.lock")));
        named.read("{src,node_modules}/**/*.js, *.lock");
        assert!(!named.pass_directory(&path("web/node_modules")));
        assert!(named.pass_directory(&path("web/.venv")));
        assert!(!named.pass_file(&path("Cargo.lock")));
    }

    fn commands(path: &str) -> [Command; 4] {
        [
            Command::SearchText {
                pattern: "total".to_owned(),
                path: Some(files(path)),
                glob: None,
                regex: false,
                case_sensitive: false,
                context: 0,
            },
            Command::ListFiles {
                path: Some(files(path)),
                glob: None,
            },
            Command::ReadFile {
                path: files(path),
                start_line: None,
                end_line: None,
                numbered: false,
            },
            Command::Outline {
                path: Some(files(path)),
            },
        ]
    }

    /// A source file among hundreds that tools made, and no ignore file.
    const MADE: usize = 300;

    #[test]
    fn what_tools_made_does_not_hide_what_a_person_wrote() {
        let made: Vec<String> = (0..MADE)
            .flat_map(|n| {
                [
                    format!(".venv/lib/m{n}.py"),
                    format!("node_modules/p{n}/x.py"),
                ]
            })
            .collect();
        let text = "def total():\n    pass\n";
        let mut all: Vec<(&str, &str)> = made.iter().map(|path| (path.as_str(), text)).collect();
        all.extend([
            ("src/sum.py", text),
            ("poetry.lock", text),
            ("src/__init__.py", ""),
        ]);
        let mut stage = stage(&all);
        let but =
            "left out as generated: `.venv`, `node_modules`; name one in `path` to look there";
        let [search, list, read, outline] = commands("*.py");
        let searched = stage.one(search);
        assert_eq!(searched.line_for_model(), format!("1 matching line; {but}"));
        assert_eq!(searched.detail.text, "src/sum.py:1: def total():");
        let listed = stage.one(list);
        assert_eq!(listed.line_for_model(), format!("2 files; {but}"));
        let read = stage.one(read);
        assert_eq!(
            read.line_for_model(),
            format!("read 2 files; {but}; the contents are below")
        );
        let outlined = stage.one(outline);
        assert_eq!(
            outlined.line_for_model(),
            format!("1 symbol in 1 file; {but}")
        );
        assert_eq!(
            outlined.detail.text,
            "src/sum.py (2 lines)\n1-2: def total()"
        );
    }

    #[test]
    fn what_tools_made_is_shown_where_it_is_asked_for() {
        let text = "def total():\n    pass\n";
        let mut stage = stage(&[
            ("a.py", text),
            (".venv/b.py", text),
            ("poetry.lock", "total\n"),
        ]);
        for command in commands(".venv/*.py") {
            let outcome = stage.one(command);
            assert!(!outcome.message.contains("left out"), "{}", outcome.message);
            assert!(!outcome.message.starts_with("no "), "{}", outcome.message);
        }
        let mut search = |path: &str| {
            let [search, ..] = commands(path);
            let outcome = stage.one(search);
            (outcome.message, outcome.detail.text)
        };
        let lock = "poetry.lock:1: total";
        assert_eq!(search("poetry.lock").1, lock);
        assert_eq!(search("*.lock").1, lock);
        let (message, text) = search("*");
        assert_eq!(text, "a.py:1: def total():");
        assert!(message.ends_with("`.venv`, `poetry.lock`"), "{message}");
    }

    #[test]
    fn a_search_that_ends_early_tells_the_same_whatever_the_threads_do() {
        let names: Vec<String> = (0..40)
            .flat_map(|n| {
                [
                    format!("d{n:02}/f.py"),
                    format!("d{n:02}/node_modules/x.py"),
                ]
            })
            .collect();
        let all: Vec<(&str, &str)> = names
            .iter()
            .map(|name| (name.as_str(), "total\n"))
            .collect();
        let mut stage = stage(&all);
        stage.limits.max_search_results = 9;
        for _ in 0..20 {
            let [search, ..] = commands("*");
            assert_eq!(
                stage.one(search).line_for_model(),
                "9 matching lines; left out as generated: `node_modules` (9 times); name one in `path` to look there"
            );
        }
    }

    #[test]
    fn many_of_one_name_are_told_at_once() {
        let noted = |paths: &[&str]| {
            let skipped = Skipped::default();
            for name in paths {
                skipped.note(&path(name));
            }
            skipped
        };
        assert_eq!(noted(&[]).words(None), "");
        let some = ["b/node_modules", "a/__pycache__", "c/__pycache__"];
        assert_eq!(
            noted(&some).words(None),
            "`__pycache__` (2 times), `b/node_modules`"
        );
        assert_eq!(noted(&some).words(Some(&path("b/a"))), "`a/__pycache__`");
        let many = [".eggs", ".next", ".nox", ".nuxt", ".tox", ".turbo", ".venv"];
        assert!(noted(&many).words(None).ends_with("`.tox`, 2 more"));
    }
}
