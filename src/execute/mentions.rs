//! Where certain words occur in files: a quick look, not a search.
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

/// How many lines of a file are told for each word.
const LINES: usize = 3;

/// How much of a line is told, in characters.
const LINE: usize = 120;

/// A file in which words occur.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The file.
    pub path: RelPath,
    /// The number of different words in it.
    pub words: usize,
    /// Some of the lines, by their numbers; whatever is hidden in a line is not removed.
    pub lines: BTreeMap<usize, String>,
}

/// The files among those wanted that have one of these words, as long as few have it; those with the
/// most words first.
pub fn mentions(
    workspace: &Workspace,
    words: &[String],
    is_wanted: &(dyn Fn(&RelPath) -> bool + Sync),
    time: Duration,
) -> Vec<Mention> {
    let look = Look {
        is_wanted,
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
    let mut mentions: BTreeMap<RelPath, Mention> = BTreeMap::new();
    for files in found.into_iter().filter(|files| files.len() <= MOST) {
        for (path, lines) in files {
            let mention = mentions.entry(path.clone()).or_insert_with(|| Mention {
                path,
                words: 0,
                lines: BTreeMap::new(),
            });
            mention.words += 1;
            mention.lines.extend(lines);
        }
    }
    let mut mentions: Vec<Mention> = mentions.into_values().collect();
    mentions.sort_by_key(|mention| std::cmp::Reverse(mention.words));
    mentions
}

/// The first lines that have a word.
fn lines_with(finder: &Finder<'_>, bytes: &[u8]) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let (mut number, mut counted) = (1, 0);
    for at in finder.find_iter(bytes) {
        number += memchr::memchr_iter(b'\n', &bytes[counted..at]).count();
        counted = at;
        if lines.last().is_some_and(|(last, _)| *last == number) {
            continue;
        }
        if lines.len() == LINES {
            break;
        }
        let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |start| start + 1);
        let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |length| at + length);
        let line = String::from_utf8_lossy(&bytes[start..end]);
        lines.push((number, line.trim().chars().take(LINE).collect()));
    }
    lines
}

/// A file, and some lines that have a word.
type FoundLines = (RelPath, Vec<(usize, String)>);

struct Look<'a> {
    is_wanted: &'a (dyn Fn(&RelPath) -> bool + Sync),
    finders: Vec<Finder<'a>>,
    end: Instant,
    /// For each word the files that have it, one more than are of use at most.
    found: Mutex<Vec<Vec<FoundLines>>>,
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
        let is_text = |path: &&RelPath| unread(path).is_none() && (self.is_wanted)(path);
        let files = batch.files.iter().filter(is_text);
        for path in files {
            bytes.clear();
            let read = batch.open(path);
            let read = read.and_then(|file| file.take(LOOKED_AT).read_to_end(&mut bytes));
            let is_binary = memchr::memchr(0, &bytes).is_some();
            if read.is_err() || is_binary || self.is_past(path.as_str()) {
                continue;
            }
            for (number, finder) in self.finders.iter().enumerate() {
                let lines = lines_with(finder, &bytes);
                if !lines.is_empty() {
                    let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
                    let files = &mut found[number];
                    if files.len() <= MOST {
                        files.push((path.clone(), lines));
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
    fn lines_are_told_once_with_their_numbers() {
        let finder = Finder::new("ab");
        let lines = lines_with(&finder, b"x\n  ab ab\n\nab\nab\nab\n");
        let expected = [(2, "ab ab"), (4, "ab"), (5, "ab")];
        assert_eq!(
            lines,
            expected.map(|(number, line)| (number, line.to_owned()))
        );
    }

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
        let binary = RelPath::parse("binary").unwrap();
        workspace.write(&binary, b"parse_date\0").unwrap();
        let built = RelPath::parse("built").unwrap();
        workspace.write(&built, b"parse_date").unwrap();
        let is_wanted = |path: &RelPath| *path != built;
        let mentions = |time| mentions(&workspace, &words, &is_wanted, time);
        let found = mentions(Duration::from_mins(1));
        let paths: Vec<&str> = found.iter().map(|mention| mention.path.as_str()).collect();
        assert_eq!(paths, ["d8/f.txt", "d7/f.txt"]);
        assert_eq!(found[0].lines[&1], "every_where, parse_date, parse_time");
        assert!(mentions(Duration::ZERO).is_empty());
    }
}
