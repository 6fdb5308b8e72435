//! Which files matter for a task: those that it names, and those that were touched.

use std::collections::{BTreeSet, HashSet};

use super::Listing;
use crate::protocol::RelPath;
use crate::session::Session;

/// More files than these are no help.
const MOST: usize = 40;

/// The shortest name that counts without its extension.
const SHORTEST_STEM: usize = 4;

/// The files that the task names.
pub fn named<'a>(session: &Session, listing: &'a Listing) -> Vec<&'a RelPath> {
    let said = session.further.iter().map(|further| further.text.as_str());
    let said = std::iter::once(session.task.as_str()).chain(said);
    let words: HashSet<&str> = said.flat_map(words).collect();
    let is_named = |path: &RelPath| {
        let name = path.file_name();
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        words.contains(path.as_str())
            || words.contains(name)
            || (stem.len() >= SHORTEST_STEM && words.contains(stem))
    };
    let paths = listing.files.iter().map(|file| &file.path);
    paths.filter(|path| is_named(path)).take(MOST).collect()
}

/// The files that the task names and those that the session changed.
pub(super) fn pinned<'a>(session: &'a Session, listing: &'a Listing) -> BTreeSet<&'a RelPath> {
    let changed = session.changed_files.iter().take(MOST);
    named(session, listing).into_iter().chain(changed).collect()
}

/// The words of a text that may be names of files.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    text.split(move |c| !is_part(c))
        .map(|word| word.trim_end_matches('.').trim_start_matches("./"))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::Listed;
    use super::*;
    use crate::session::tests::session;

    #[test]
    fn a_file_is_named_by_its_path_its_name_or_its_stem() {
        let mut session = session("ab12cd34");
        session.task = "Mend `parser` and ./src/lex.rs, then run setup.py.".to_owned();
        let paths = ["a.rs", "lib/parser.rs", "lib/setup.py", "run", "src/lex.rs"];
        let listing = Listing {
            files: paths
                .iter()
                .map(|path| Listed {
                    path: RelPath::parse(path).unwrap(),
                    size: 1,
                    modified: 0,
                })
                .collect(),
            ..Listing::default()
        };
        let named: Vec<&str> = named(&session, &listing)
            .into_iter()
            .map(RelPath::as_str)
            .collect();
        assert_eq!(
            named,
            ["lib/parser.rs", "lib/setup.py", "run", "src/lex.rs"]
        );
    }
}
