//! Which files a step means: names, directories, globs, or several of them.
//!
//! A name that exists is taken as it is, whatever characters it has; otherwise a list is taken
//! apart, and what looks like a glob is matched against the files that are not ignored. A glob
//! without a `/` is about names anywhere, as in git and ripgrep; with one it is about the path from
//! the root of the workspace. What tools make is left out, unless it is named: see `skipped`.

use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::skipped::{NamedGenerated, Skipped};
use super::walks::Walks;
use crate::protocol::selection::split;
use crate::protocol::{Listed, Outcome, RelPath, Selection};
use crate::workspace::walk::Walked;
use crate::workspace::{FileKind, FileProblem, Workspace};

/// The files that a step looks at.
pub(super) struct Scope {
    pub(super) places: Vec<ScopePlace>,
    /// Names that nothing has.
    pub(super) missing: Vec<RelPath>,
    /// The globs among what was named.
    globs: Vec<RelPath>,
    /// A pattern that all files must match as well.
    glob: Option<Globs>,
    /// Generated directories and files that the step names.
    generated: NamedGenerated,
}

/// Every file that is meant.
pub(super) struct Meant {
    pub(super) walked: Walked,
    /// The files and directories that were passed by.
    pub(super) skipped: Skipped,
}

/// Files beneath a directory, or one file.
pub(super) struct ScopePlace {
    /// Nothing is the whole workspace.
    pub(super) beneath: Option<RelPath>,
    /// Which of the files; all if there are none.
    globs: Option<Globs>,
    /// Its kind, if it was named and not found by a glob.
    pub(super) named: Option<FileKind>,
}

impl Scope {
    /// Finds out what is meant. It fails if none of it is there, or a glob cannot be read.
    pub(super) fn resolve(
        walks: &Walks<'_>,
        selection: Option<&Selection>,
        glob: Option<&str>,
    ) -> Result<Self, Outcome> {
        let mut scope = Self {
            places: Vec::new(),
            missing: Vec::new(),
            globs: Vec::new(),
            glob: glob
                .map(Globs::parse)
                .transpose()
                .map_err(Outcome::failed)?,
            generated: NamedGenerated::default(),
        };
        scope.generated.read(glob.unwrap_or_default());
        let Some(selection) = selection else {
            scope.places.push(ScopePlace {
                beneath: None,
                globs: None,
                named: Some(FileKind::Directory),
            });
            return Ok(scope);
        };
        let mut globs = Vec::new();
        for entry in selection.entries() {
            if scope.name(walks, entry)? {
                continue;
            }
            for part in Selection::parts(entry) {
                let is_whole = part == *entry;
                if !is_whole && scope.name(walks, &part)? {
                    continue;
                }
                if Selection::is_glob(&part) {
                    globs.push(part);
                } else {
                    scope.missing.push(part);
                }
            }
        }
        scope.add_globs(walks.workspace, &globs)?;
        for glob in &globs {
            scope.generated.read(glob.as_str());
        }
        scope.globs = globs;
        if scope.places.is_empty()
            && let Some(path) = scope.missing.first()
        {
            return Err(walks.explained(&FileProblem::NotFound(path.clone())));
        }
        Ok(scope)
    }

    /// Adds a file or directory of exactly this name; says whether there is one.
    fn name(&mut self, walks: &Walks<'_>, path: &RelPath) -> Result<bool, Outcome> {
        match walks.workspace.kind(path) {
            Ok(None) => Ok(false),
            Ok(named @ Some(_)) => {
                self.places.push(ScopePlace {
                    beneath: Some(path.clone()),
                    globs: None,
                    named,
                });
                Ok(true)
            }
            Err(problem) => Err(walks.explained(&problem)),
        }
    }

    fn add_globs(&mut self, workspace: &Workspace, globs: &[RelPath]) -> Result<(), Outcome> {
        if globs.is_empty() {
            return Ok(());
        }
        let matcher = Globs::build(globs.iter().map(RelPath::as_str)).map_err(Outcome::failed)?;
        // One glob is looked for where it can be; several are worth one walk, not one each.
        let beneath = match globs {
            [glob] => plain_directory(glob),
            _ => None,
        };
        let is_there = match &beneath {
            Some(path) => matches!(workspace.kind(path), Ok(Some(FileKind::Directory))),
            None => true,
        };
        self.places.push(ScopePlace {
            beneath: beneath.filter(|_| is_there),
            globs: Some(matcher),
            named: None,
        });
        Ok(())
    }

    /// Returns true if a file beneath one of its places is meant.
    pub(super) fn includes(&self, place: &ScopePlace, path: &RelPath) -> bool {
        let within = |globs: &Option<Globs>, beneath: Option<&RelPath>| {
            (globs.as_ref()).is_none_or(|globs| globs.matches(path, beneath))
        };
        within(&place.globs, None) && within(&self.glob, place.beneath.as_ref())
    }

    /// Returns true if a directory is skipped, and notes it.
    pub(super) fn passes_by(&self, place: &ScopePlace, path: &RelPath, skipped: &Skipped) -> bool {
        let is_passed_by = self.generated.pass_directory(path);
        if is_passed_by && self.reaches(place, path) {
            skipped.note(path);
        }
        is_passed_by
    }

    /// Returns true if the text of a file is skipped, and notes it.
    pub(super) fn passes_by_file(
        &self,
        place: &ScopePlace,
        path: &RelPath,
        skipped: &Skipped,
    ) -> bool {
        let is_named = || place.beneath.as_ref() == Some(path);
        let is_passed_by = self.generated.pass_file(path) && !is_named();
        if is_passed_by {
            skipped.note(path);
        }
        is_passed_by
    }

    /// Returns true if a file beneath a directory could be meant.
    fn reaches(&self, place: &ScopePlace, directory: &RelPath) -> bool {
        let could = |globs: &Option<Globs>, beneath: Option<&RelPath>| {
            (globs.as_ref()).is_none_or(|globs| globs.reach(directory, beneath))
        };
        could(&place.globs, None) && could(&self.glob, place.beneath.as_ref())
    }

    /// Every file of one of the places that is meant, sorted by path.
    pub(super) fn walk_place(
        &self,
        walks: &Walks<'_>,
        place: &ScopePlace,
        skipped: &Skipped,
    ) -> Result<Walked, Outcome> {
        let walk = (walks.beneath(place.beneath.as_ref(), &self.generated))
            .map_err(|problem| walks.explained(&problem))?;
        let passed = walk.passed.iter().filter(|path| self.reaches(place, path));
        passed.for_each(|path| skipped.note(path));
        let is_meant = |found: &&Listed| self.includes(place, &found.path);
        Ok(Walked {
            files: Arc::new(walk.walked.files.iter().filter(is_meant).cloned().collect()),
            unnamable: walk.walked.unnamable,
            cut: walk.walked.cut,
            ..Walked::default()
        })
    }

    /// Every file that is meant, sorted by path.
    pub(super) fn walk(&self, walks: &Walks<'_>) -> Result<Meant, Outcome> {
        let skipped = Skipped::default();
        let (mut all, mut files) = (Walked::default(), Vec::new());
        for place in &self.places {
            let walked = self.walk_place(walks, place, &skipped)?;
            files.extend(Arc::unwrap_or_clone(walked.files));
            all.unnamable += walked.unnamable;
            all.cut |= walked.cut;
        }
        if self.places.len() > 1 {
            files.sort_by(|a: &Listed, b: &Listed| a.path.cmp(&b.path));
            files.dedup_by(|a, b| a.path == b.path);
        }
        all.files = Arc::new(files);
        Ok(Meant {
            walked: all,
            skipped,
        })
    }

    /// Says of each glob that it matches none of these files, if so.
    pub(super) fn but_vain(&self, files: &[RelPath]) -> String {
        const MAX_NAMED: usize = 5;
        let is_vain = |glob: &&RelPath| {
            let globs = Globs::build(std::iter::once(glob.as_str()));
            globs.is_ok_and(|globs| !files.iter().any(|path| globs.matches(path, None)))
        };
        let mut text = String::new();
        for glob in self.globs.iter().filter(is_vain).take(MAX_NAMED) {
            text.push_str("; no file matches `");
            text.push_str(glob.as_str());
            text.push('`');
        }
        text
    }

    /// ``; `x` does not exist``, if there are files and something is missing.
    pub(super) fn but_missing(&self) -> String {
        const MAX_NAMED: usize = 5;
        let mut words: Vec<String> = (self.missing.iter().take(MAX_NAMED))
            .map(|path| format!("`{path}` does not exist"))
            .collect();
        let more = self.missing.len().saturating_sub(MAX_NAMED);
        if more > 0 {
            words.push(format!("nor do {more} others"));
        }
        let mut text = String::new();
        for word in words {
            text.push_str("; ");
            text.push_str(&word);
        }
        text
    }
}

/// The directory that all matches of a glob lie in, as far as it is written out.
fn plain_directory(glob: &RelPath) -> Option<RelPath> {
    let is_plain = |name: &&str| !name.contains(['*', '?', '[', ']', '{', '}', '\\']);
    // Without a `/` it is about names anywhere.
    glob.parent()?;
    let names: Vec<&str> = glob.components().take_while(is_plain).collect();
    RelPath::parse(&names.join("/")).ok()
}

/// Globs of which one must match.
pub(super) struct Globs {
    names: GlobSet,
    paths: GlobSet,
    /// How many names the longest path has that can match.
    deepest: usize,
}

impl Globs {
    /// Reads a glob, or several with commas between them.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        Self::build(split(text))
    }

    fn build<'a>(globs: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        let mut deepest = 0;
        for text in globs {
            let text = text.trim_start_matches("./").trim_start_matches('/');
            let glob = GlobBuilder::new(text)
                .literal_separator(true)
                .build()
                .map_err(|problem| format!("`{text}` is not a glob: {}", problem.kind()))?;
            let set = if text.contains('/') {
                &mut paths
            } else {
                &mut names
            };
            set.add(glob);
            let is_anywhere = !text.contains('/') || text.contains("**");
            let depth = text.matches('/').count() + 1;
            deepest = deepest.max(if is_anywhere { usize::MAX } else { depth });
        }
        if deepest == 0 {
            deepest = usize::MAX;
            names.add(
                GlobBuilder::new("*")
                    .build()
                    .map_err(|problem| problem.to_string())?,
            );
        }
        let too_large = |problem: globset::Error| format!("the globs cannot be used: {problem}");
        Ok(Self {
            names: names.build().map_err(too_large)?,
            paths: paths.build().map_err(too_large)?,
            deepest,
        })
    }

    /// Returns true if a path beneath a directory could match.
    fn reach(&self, directory: &RelPath, beneath: Option<&RelPath>) -> bool {
        let above = beneath.map_or(0, |path| path.components().count());
        directory.components().count() < self.deepest.saturating_add(above)
    }

    fn matches(&self, path: &RelPath, beneath: Option<&RelPath>) -> bool {
        let from_there = || {
            let rest = path.as_str().strip_prefix(beneath?.as_str())?;
            Some(rest.trim_start_matches('/'))
        };
        self.names.is_match(path.file_name())
            || self.paths.is_match(path.as_str())
            || (!self.paths.is_empty()
                && from_there().is_some_and(|path| self.paths.is_match(path)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::stage::stage;
    use super::*;

    #[track_caller]
    fn case(selection: &str, glob: Option<&str>, expected: &[&str]) {
        let stage = stage(&[
            (".gitignore", "*.log\n/out\n"),
            ("a, b.txt", ""),
            ("a", ""),
            ("b.txt", ""),
            ("src/x*.rs", ""),
            ("src/xy.rs", ""),
            ("src/deep/z.rs", ""),
            ("src/z.c", ""),
            ("src/a.log", ""),
            ("out/made.rs", ""),
        ]);
        let selection = Selection::parse_directory(selection).unwrap();
        let walks = Walks::new(&stage.workspace);
        let scope = Scope::resolve(&walks, selection.as_ref(), glob);
        let found = scope.and_then(|scope| scope.walk(&walks));
        let paths: Vec<String> = match found {
            Ok(meant) => meant
                .walked
                .files
                .iter()
                .map(|found| found.path.to_string())
                .collect(),
            Err(outcome) => vec![outcome.message],
        };
        assert_eq!(paths, expected, "{selection:?}");
    }

    #[test]
    fn a_real_name_goes_before_a_list_or_a_glob() {
        case("a, b.txt", None, &["a, b.txt"]);
        case("a,b.txt", None, &["a", "b.txt"]);
        case("src/x*.rs", None, &["src/x*.rs"]);
        case("src/x?.rs", None, &["src/x*.rs", "src/xy.rs"]);
    }

    #[test]
    fn globs_are_about_names_or_about_paths() {
        case("z.*", None, &["src/deep/z.rs", "src/z.c"]);
        case("src/z.*", None, &["src/z.c"]);
        case("src/**/z.{c,rs}", None, &["src/deep/z.rs", "src/z.c"]);
        case("src/*.c, *.txt", None, &["a, b.txt", "b.txt", "src/z.c"]);
        case("gone/*.c", None, &[]);
        case("src, a", Some("*.c,a"), &["a", "src/z.c"]);
    }

    #[test]
    fn ignored_files_are_shown_if_they_are_named() {
        case("*.log", None, &[]);
        case("src/a.log", None, &["src/a.log"]);
        case("out", None, &["out/made.rs"]);
        case("out/*.rs", None, &["out/made.rs"]);
    }

    #[test]
    fn files_that_tools_make_are_shown_if_they_are_named() {
        let stage = stage(&[
            ("a.js", ""),
            ("web/b.js", ""),
            ("web/node_modules/c/d.js", ""),
            ("web/node_modules/c/__pycache__/e.js", ""),
            (".venv/f.js", ""),
        ]);
        let case = |selection: &str, glob: Option<&str>, expected: &[&str], skipped: &str| {
            let selection = Selection::parse_directory(selection).unwrap();
            let walks = Walks::new(&stage.workspace);
            let scope = Scope::resolve(&walks, selection.as_ref(), glob).ok();
            let meant = scope.unwrap().walk(&walks).ok().unwrap();
            let paths: Vec<&str> = (meant.walked.files.iter())
                .map(|found| found.path.as_str())
                .collect();
            assert_eq!(paths, expected, "{selection:?}");
            assert_eq!(meant.skipped.words(None), skipped, "{selection:?}");
        };
        let modules = "`web/node_modules`";
        let both = format!("`.venv`, {modules}");
        case("", None, &["a.js", "web/b.js"], &both);
        case("*.js", None, &["a.js", "web/b.js"], &both);
        case("**/*.js", None, &["a.js", "web/b.js"], &both);
        case("web", None, &["web/b.js"], modules);
        case("web", Some("*.js"), &["web/b.js"], modules);
        // Nothing that it could match lies there.
        case("web/*.js", None, &["web/b.js"], "");
        case("web", Some("./*.js"), &["web/b.js"], modules);
        let inside = [
            "web/node_modules/c/__pycache__/e.js",
            "web/node_modules/c/d.js",
        ];
        case("web/node_modules", None, &inside, "");
        case("web/node_modules/**/*.js", None, &inside, "");
        case("**/node_modules/**", None, &inside, "`.venv`");
        case("web", Some("node_modules/**"), &inside, "");
        case("web/node_modules/c/d.js", None, &inside[1..], "");
    }

    #[test]
    fn says_what_is_missing() {
        case("gone", None, &["`gone` does not exist"]);
        case(
            "a[",
            None,
            &["`a[` is not a glob: unclosed character class; missing ']'"],
        );
        case("gone, a", None, &["a"]);
    }
}
