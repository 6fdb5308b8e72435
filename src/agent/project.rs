//! What the project says about working on it: `AGENTS.md` and its like, each once a chat.
//!
//! The file of the root and those above what was touched or named, the more specific last; of too
//! many the most general and the most specific ones, and the others are named.

use std::collections::{BTreeMap, BTreeSet};

use super::Conversation;
use super::conceal;
use super::context::whole;
use crate::compose::{self, Content, Listing};
use crate::execute;
use crate::protocol::{Capped, RelPath};
use crate::session::Instructions;

/// What a project's instructions may have, in characters for each file.
const PROJECT: usize = 6_000;

/// How many files with instructions are shown.
const PROJECT_FILES: usize = 5;

/// How many of those that are left out are named.
const PROJECT_NAMED: usize = 10;

/// The names of such files; the first that is there counts.
pub(super) const PROJECT_NAMES: [&str; 4] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules"];

/// Where is kept which instructions of the project the chat has seen.
const SHOWN: &str = "project.json";

/// Under which name is kept there which were left out; no file has it.
const LEFT_OUT: &str = "";

impl Conversation<'_> {
    /// What the project says about working on it, as far as the chat has not seen it.
    pub(super) fn project_instructions(&mut self, listing: &Listing) -> Vec<Content> {
        let store = &self.agent.store;
        let id = self.session.session_id.clone();
        let mut shown: BTreeMap<String, String> = match self.session.instructions {
            Instructions::Full => BTreeMap::new(),
            Instructions::Reminder => store.aside(&id, SHOWN).unwrap_or_default(),
        };
        let mut contents = Vec::new();
        let (files, left_out) = self.project_files(listing);
        for path in files {
            let (agent, concealed) = (self.agent, &mut self.concealed);
            let mut veil = |path: &RelPath, text| concealed.file(agent, path, text);
            let (workspace, limits) = (&agent.workspace, &agent.limits);
            let mut read = execute::read_file(workspace, &whole(&path), limits, &mut veil);
            // It may be cut, and nobody edits it by what stands here.
            let sighting = read.sighting.take();
            let Some(hash) = (sighting.filter(|_| !read.contents.is_empty())).map(|one| one.hash)
            else {
                continue;
            };
            if shown.insert(path.to_string(), hash.clone()) != Some(hash) {
                let mut content = conceal::content(read);
                content.keep_first(PROJECT);
                contents.push(content);
            }
        }
        if !left_out.is_empty() {
            let title = left_out_word(&left_out);
            if shown.insert(LEFT_OUT.to_owned(), title.clone()).as_ref() != Some(&title) {
                contents.push(Content {
                    title,
                    lines: None,
                    text: Capped::default(),
                    sighting: None,
                });
            }
        }
        if !contents.is_empty() {
            // Without it they are shown again, which does no harm.
            let _ = store.put_aside(&id, SHOWN, &shown);
        }
        contents
    }

    /// The files with instructions above what was touched or is named, the general ones first; and
    /// those that are too many.
    fn project_files(&self, listing: &Listing) -> (Vec<RelPath>, Vec<RelPath>) {
        let session = &self.session;
        let touched = (session.changed_files.iter())
            .chain(
                session
                    .read_file_requests
                    .iter()
                    .map(|request| &request.path),
            )
            .chain(compose::named(session, listing));
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
                self.agent
                    .workspace
                    .open_file(&path)
                    .is_ok()
                    .then_some(path)
            });
            files.extend(name);
        }
        let left_out = too_many(&mut files);
        (files, left_out)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
