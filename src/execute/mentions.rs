//! Which files have certain words in them: a quick look, not a search.
//!
//! It ends when its time is over, wherever it is then, so that it can be had before every message.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use memchr::memmem::Finder;

use crate::protocol::RelPath;
use crate::protocol::generated::{is_generated_directory, unread};
use crate::workspace::Workspace;
use crate::workspace::tour::{Batch, Visitor};

/// How much of a file is looked at, in bytes.
const LOOKED_AT: u64 = 128 * 1024;

/// A word that more files than these have is not rare.
const MOST: usize = 12;

/// The files that have one of these words, as long as few have it; those with the most words first.
pub fn mentions(workspace: &Workspace, words: &[String], time: Duration) -> Vec<RelPath> {
    let look = Look {
        finders: words.iter().map(Finder::new).collect(),
        end: Instant::now() + time,
        found: Mutex::new(vec![Vec::new(); words.len()]),
    };
    // What cannot be walked mentions nothing.
    if words.is_empty() || workspace.tour(None, &look).is_err() {
        return Vec::new();
    }
    let found = look
        .found
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let mut counts: BTreeMap<RelPath, usize> = BTreeMap::new();
    for files in found.into_iter().filter(|files| files.len() <= MOST) {
        for path in files {
            *counts.entry(path).or_default() += 1;
        }
    }
    let mut files: Vec<(RelPath, usize)> = counts.into_iter().collect();
    files.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    files.into_iter().map(|(path, _)| path).collect()
}

struct Look<'a> {
    finders: Vec<Finder<'a>>,
    end: Instant,
    /// For each word the files that have it, one more than are of use at most.
    found: Mutex<Vec<Vec<RelPath>>>,
}

impl Visitor for Look<'_> {
    fn is_past(&self, _path: &str) -> bool {
        Instant::now() >= self.end
    }

    fn passes_by(&self, directory: &RelPath) -> bool {
        is_generated_directory(directory.file_name())
    }

    fn visit(&self, batch: &Batch<'_>) {
        let mut bytes = Vec::new();
        let files = batch.files.iter().filter(|path| unread(path).is_none());
        for path in files {
            bytes.clear();
            let read = batch.open(path);
            let read = read.and_then(|file| file.take(LOOKED_AT).read_to_end(&mut bytes));
            if read.is_err() || self.is_past(path.as_str()) {
                continue;
            }
            for (number, finder) in self.finders.iter().enumerate() {
                if finder.find(&bytes).is_some() {
                    let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
                    let files = &mut found[number];
                    if files.len() <= MOST {
                        files.push(path.clone());
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_the_files_with_rare_words_and_ends_in_time() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        for number in 0..30 {
            let path = RelPath::parse(&format!("d{number}/f.txt")).unwrap();
            let text = match number {
                7 => "every_where and parse_date",
                8 => "every_where, parse_date, parse_time",
                _ => "every_where",
            };
            workspace.write(&path, text.as_bytes()).unwrap();
        }
        let words = ["every_where", "parse_date", "parse_time", "no_where"].map(str::to_owned);
        let found = mentions(&workspace, &words, Duration::from_mins(1));
        let found: Vec<&str> = found.iter().map(RelPath::as_str).collect();
        assert_eq!(found, ["d8/f.txt", "d7/f.txt"]);
        assert!(mentions(&workspace, &words, Duration::ZERO).is_empty());
    }
}
