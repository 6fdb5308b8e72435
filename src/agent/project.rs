//! The project's own instructions: `AGENTS.md` and the like, each shown once per chat.
//!
//! They are the file in the root and those in the directories above each touched or named file, the
//! most specific last. If there are too many, the most general and the most specific are shown and
//! the others are named. Text that did not fit into a message comes with the next one, from where
//! it was cut.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Agent;
use super::context::whole;
use super::redact::{self, Redactor};
use crate::compose::{Content, Listing, NamedFile};
use crate::execute;
use crate::protocol::{Capped, RelPath, SessionId};
use crate::session::{Instructions, Session, Store};

/// Limit on the instructions in one file, in characters.
const PROJECT: usize = 6_000;

/// How many files with instructions are shown.
const PROJECT_FILES: usize = 5;

/// How many of those that are left out are named.
const PROJECT_NAMED: usize = 10;

/// The names of such files; the first that is there counts.
pub const PROJECT_NAMES: [&str; 4] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules"];

/// Where is kept which instructions of the project the chat has seen.
const SHOWN: &str = "project.json";

/// Under which name is kept there which were left out; no file has it.
const LEFT_OUT: &str = "";

/// How much of a file the chat has seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SeenInstructions {
    /// Of which content.
    hash: String,
    /// How many lines of it, from the first.
    lines: usize,
    /// How many lines it is to see.
    of: usize,
}

impl SeenInstructions {
    /// Returns true if part of the file has not been shown yet.
    fn is_owed(&self) -> bool {
        self.lines < self.of
    }
}

/// The project's instructions that the chat has not seen.
#[derive(Debug, Default)]
pub(super) struct Project {
    /// The instructions to show; for a file that was shown in part, the rest of it.
    pub(super) contents: Vec<Content>,
    /// For each of them, its name and what was told before.
    before: Vec<(String, SeenInstructions)>,
    /// All that the chat has seen.
    told: BTreeMap<String, SeenInstructions>,
}

impl Project {
    /// Starts with what the chat has seen. A new chat has seen nothing; files that the old one was
    /// not shown in full stay listed, from their first line.
    fn of(mut told: BTreeMap<String, SeenInstructions>, instructions: Instructions) -> Self {
        if instructions == Instructions::Full {
            told.retain(|_, told| told.is_owed());
            for told in told.values_mut() {
                told.lines = 0;
            }
        }
        Self {
            told,
            ..Self::default()
        }
    }

    /// The files of which a message before could not show everything.
    fn owed(&self) -> Vec<RelPath> {
        let owed = self.told.iter().filter(|(_, told)| told.is_owed());
        let paths = owed.map(|(name, _)| RelPath::parse(name));
        paths.filter_map(Result::ok).collect()
    }

    /// Adds what has not been told of this; the hash is that of all of it.
    fn add(&mut self, name: &str, hash: String, mut content: Content) {
        content.keep_first(PROJECT);
        let before = self.told.get(name).filter(|told| told.hash == hash);
        let of = content.text.text.lines().count();
        if before.is_some_and(|told| told.lines >= of) {
            return;
        }
        let lines = before.map_or(0, |told| told.lines);
        content.skip_first(lines);
        self.contents.push(content);
        (self.before).push((name.to_owned(), SeenInstructions { hash, lines, of }));
    }

    /// So many lines of each of them were shown, if it was shown at all.
    fn note(mut self, shown: &[Option<usize>]) -> BTreeMap<String, SeenInstructions> {
        for ((name, mut told), lines) in self.before.into_iter().zip(shown) {
            told.lines = told.lines.saturating_add(lines.unwrap_or_default());
            if lines.is_some() || told.is_owed() {
                self.told.insert(name, told);
            }
        }
        self.told
    }
}

impl Project {
    /// Reads the project's instructions, as far as the chat has not seen them.
    pub(super) fn read(
        agent: &Agent,
        session: &Session,
        listing: &Listing,
        named: &[NamedFile<'_>],
        redactor: &mut Redactor<'_>,
    ) -> Self {
        let told = agent.store.aside(&session.session_id, SHOWN);
        let mut project = Self::of(told.unwrap_or_default(), session.instructions);
        let (files, left_out) = project_files(agent, session, named, project.owed());
        let mut files: VecDeque<RelPath> = files.into();
        let mut known: BTreeSet<RelPath> = files.iter().cloned().collect();
        while let Some(path) = files.pop_front() {
            let mut veil = |path: &RelPath, text| redactor.file(path, text);
            let (workspace, limits) = (&agent.workspace, &agent.limits);
            let mut read = execute::read_file(workspace, &whole(&path), limits, &mut veil);
            // It may be cut, and nobody edits it by what stands here.
            let sighting = read.sighting.take();
            for other in referred(&path, &read.contents.text, listing) {
                if known.len() < PROJECT_FILES && known.insert(other.clone()) {
                    files.push_front(other);
                }
            }
            if let Some(sighting) = sighting.filter(|_| !read.contents.is_empty()) {
                project.add(path.as_str(), sighting.hash, redact::content(read));
            }
        }
        if !left_out.is_empty() {
            let title = left_out_word(&left_out);
            let content = Content {
                title: title.clone(),
                lines: None,
                text: Capped::default(),
                sighting: None,
            };
            project.add(LEFT_OUT, title, content);
        }
        project
    }

    /// Remembers what a message has shown of it: what it cut comes with the next ones.
    pub(super) fn keep(self, store: &Store, id: &SessionId, shown: &[Option<usize>]) {
        if self.contents.is_empty() {
            return;
        }
        // Without it all is shown again, which does no harm.
        let _ = store.put_aside(id, SHOWN, &self.note(shown));
    }
}

/// The files with instructions above what was touched or is named, and those that are owed, the
/// general ones first; and those that are too many.
fn project_files(
    agent: &Agent,
    session: &Session,
    named: &[NamedFile<'_>],
    owed: Vec<RelPath>,
) -> (Vec<RelPath>, Vec<RelPath>) {
    let changed = session.changed_files.iter();
    let changed: Vec<RelPath> = changed
        .filter_map(|name| RelPath::parse(name).ok())
        .collect();
    let touched = (changed.iter())
        .chain(
            session
                .read_file_requests
                .iter()
                .map(|request| &request.path),
        )
        .chain(named.iter().map(|(_, path)| *path));
    let mut directories: BTreeSet<(usize, String)> = [(0, String::new())].into();
    for path in touched.take(200) {
        let mut above = path.parent();
        while let Some(directory) = above {
            let depth = directory.components().count();
            above = directory.parent();
            directories.insert((depth, directory.to_string()));
        }
    }
    let mut files = Vec::new();
    for (depth, directory) in directories {
        let name = PROJECT_NAMES.iter().find_map(|name| {
            let path = if depth == 0 {
                (*name).to_owned()
            } else {
                format!("{directory}/{name}")
            };
            let path = RelPath::parse(&path).ok()?;
            (agent.workspace.open_file(&path).is_ok()).then_some(path)
        });
        files.extend(name);
    }
    for path in owed {
        if !files.contains(&path) {
            files.push(path);
        }
    }
    files.sort_by_key(|path| path.components().count());
    let left_out = too_many(&mut files);
    (files, left_out)
}

/// Takes out what is too much of files with instructions, the general ones first: the first stays,
/// because it holds everywhere, and the last ones, because they take precedence.
fn too_many(files: &mut Vec<RelPath>) -> Vec<RelPath> {
    let excess = files.len().saturating_sub(PROJECT_FILES);
    let first_kept = usize::from(excess > 0);
    files.drain(first_kept..first_kept + excess).collect()
}

fn left_out_word(files: &[RelPath]) -> String {
    let named: Vec<_> = (files.iter().take(PROJECT_NAMED))
        .map(RelPath::quoted)
        .collect();
    let more = match files.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "Left out here; read them before you work beneath them: {}{more}",
        named.join(", ")
    )
}

/// The files that instructions bring along: `See @CLAUDE.md`.
fn referred(path: &RelPath, text: &str, listing: &Listing) -> Vec<RelPath> {
    let (directory, _) = path.split();
    let names = text.split_whitespace().filter_map(|word| {
        let name = word.trim_start_matches(['(', '`', '"']).strip_prefix('@')?;
        let name = name.trim_end_matches(|c: char| !c.is_alphanumeric());
        let is_markdown = Path::new(name)
            .extension()
            .is_some_and(|extension| extension == "md");
        is_markdown.then_some(name)
    });
    let paths = names.filter_map(|name| match directory {
        "" => RelPath::parse(name).ok(),
        _ => RelPath::parse(&format!("{directory}/{name}")).ok(),
    });
    let is_listed = |path: &RelPath| {
        let found = (listing.files).binary_search_by(|file| file.path.cmp(path));
        found.is_ok()
    };
    paths.filter(is_listed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::LineWindow;

    #[test]
    fn what_a_message_cut_comes_with_the_next_and_nothing_comes_twice() {
        let rules = |lines: usize| Content {
            title: "AGENTS.md".to_owned(),
            lines: Some(LineWindow {
                first: 1,
                of: lines,
            }),
            text: (1..=lines)
                .fold(String::new(), |text, line| text + &format!("rule {line}\n"))
                .into(),
            sighting: None,
        };
        let next = |told: &BTreeMap<String, SeenInstructions>, hash: &str| {
            let mut project = Project {
                told: told.clone(),
                ..Project::default()
            };
            project.add("AGENTS.md", hash.to_owned(), rules(20));
            project
        };
        let mut told = next(&BTreeMap::new(), "h").note(&[Some(3)]);
        let rest = next(&told, "h");
        assert_eq!(
            rest.contents[0].lines,
            Some(LineWindow { first: 4, of: 20 })
        );
        assert!(rest.contents[0].text.text.starts_with("rule 4\n"));
        // A message without it changes nothing.
        assert_eq!(next(&told, "h").note(&[None]), told);
        let owed = Project::of(told.clone(), Instructions::Reminder).owed();
        assert_eq!(owed.len(), 1);
        let anew = Project::of(told.clone(), Instructions::Full);
        assert_eq!((anew.owed(), anew.told["AGENTS.md"].lines), (owed, 0));
        told = rest.note(&[Some(17)]);
        assert!(next(&told, "h").contents.is_empty());
        assert!(
            Project::of(told.clone(), Instructions::Full)
                .told
                .is_empty()
        );
        assert!(
            Project::of(told.clone(), Instructions::Reminder)
                .owed()
                .is_empty()
        );
        assert_eq!(next(&told, "other").contents, [rules(20)]);
    }

    #[test]
    fn of_many_instructions_the_general_and_the_most_specific_stay() {
        let path = |depth: usize| format!("{}AGENTS.md", "d/".repeat(depth));
        let paths = |depths: &[usize]| -> Vec<RelPath> {
            let paths = depths.iter().map(|depth| RelPath::parse(&path(*depth)));
            paths.map(Result::unwrap).collect()
        };
        let mut files = paths(&[0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(too_many(&mut files), paths(&[1, 2]));
        assert_eq!(files, paths(&[0, 3, 4, 5, 6]));
        assert!(too_many(&mut files).is_empty());
        assert_eq!(files.len(), PROJECT_FILES);
    }
}
