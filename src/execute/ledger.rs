//! Knowledge about each file while the steps of one reply are executed.
//!
//! For every file that a step touches: the content that it had when the program last looked or
//! wrote, whether the model knows that content, and where its lines are now. A content that is not
//! the one last known was changed by somebody else, a command of this reply most likely; from then
//! on line numbers of the model mean nothing for it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::lines::LineBook;
use super::seen::hash;
use super::staging::{NewContent, Staging};
use crate::edit::LineChange;
use crate::protocol::{KnownExtent, RelPath, SeenFiles, StagedFile, StagedLines};
use crate::workspace::text::TextFile;
use crate::workspace::{ExecutableBit, FileProblem, Workspace};

/// How well the model knows a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// It was shown this content, or made it itself.
    Current,
    /// It was never shown the file: its line numbers are taken on trust.
    Never,
    /// The file changed after it was shown: no line number of this reply can be trusted.
    Stale,
}

/// Knowledge about one file.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// The hash of its content; `None` if there is no such file.
    pub(super) hash: Option<String>,
    /// How well the model knows it.
    pub(super) sight: Sight,
    /// Which of its lines, as they are now, it knows; of one that is stale what this reply's
    /// results show.
    pub(super) extent: KnownExtent,
    /// Where the lines that the model may name are now.
    pub(super) book: LineBook,
    /// True if an earlier step of this reply changed it before the program was stopped.
    pub(super) is_taken_over: bool,
}

impl Known {
    /// A file that the model wrote from its first to its last line.
    pub(super) fn written(content: &[u8], lines: usize) -> Self {
        Self {
            hash: Some(hash(content)),
            sight: Sight::Current,
            extent: KnownExtent::Whole,
            book: LineBook::new(lines),
            is_taken_over: false,
        }
    }

    /// A file that the model removed.
    pub(super) fn removed() -> Self {
        Self {
            hash: None,
            sight: Sight::Current,
            extent: KnownExtent::Whole,
            book: LineBook::new(0),
            is_taken_over: false,
        }
    }

    /// A file of whose lines the model knows none as they are.
    pub(super) fn stale(hash: Option<String>) -> Self {
        Self {
            hash,
            sight: Sight::Stale,
            extent: KnownExtent::nothing(),
            book: LineBook::new(0),
            is_taken_over: false,
        }
    }

    /// Where its lines are, for the journal; nothing if no line number can be trusted.
    fn staged_lines(&self) -> Option<StagedLines> {
        let (of, replaced) = self.book.replaced();
        let known = match &self.extent {
            KnownExtent::Whole => None,
            KnownExtent::Lines(known) => {
                Some(known.iter().map(|one| (one.start, one.end)).collect())
            }
        };
        (!self.is_stale()).then_some(StagedLines {
            of,
            replaced,
            known,
            is_on_trust: self.sight == Sight::Never,
        })
    }

    /// Restores the knowledge about a file from the journal; `None` if the record makes no sense.
    fn restored(hash: &str, lines: &StagedLines) -> Option<Self> {
        let mut extent = KnownExtent::Whole;
        if let Some(known) = &lines.known {
            extent = KnownExtent::nothing();
            for (from, to) in known {
                extent.add(*from..*to);
            }
        }
        Some(Self {
            hash: Some(hash.to_owned()),
            sight: if lines.is_on_trust {
                Sight::Never
            } else {
                Sight::Current
            },
            extent,
            book: LineBook::restored(lines.of, &lines.replaced)?,
            is_taken_over: true,
        })
    }

    /// Returns true if no line number of the model can be trusted.
    pub(super) fn is_stale(&self) -> bool {
        self.sight == Sight::Stale
    }

    /// Enters what the model changed by an edit.
    pub(super) fn record(&mut self, changes: &[LineChange]) {
        let replaced = changes.iter().map(|one| (one.old.clone(), one.new));
        self.extent = self.extent.after(replaced);
        self.book.record(changes);
    }

    fn distrust(&mut self) {
        self.sight = Sight::Stale;
        self.extent = KnownExtent::nothing();
    }
}

/// The files of the workspace, as the steps of one reply see and change them.
pub(super) struct Ledger<'a> {
    /// The files as the steps so far will leave them.
    pub(super) staging: Staging<'a>,
    seen: &'a mut SeenFiles,
    /// The largest file that is read.
    pub(super) max_bytes: u64,
    files: BTreeMap<RelPath, Known>,
}

impl<'a> Ledger<'a> {
    pub(super) fn new(workspace: &'a Workspace, seen: &'a mut SeenFiles, max_bytes: u64) -> Self {
        Self {
            staging: Staging::new(workspace),
            seen,
            max_bytes,
            files: BTreeMap::new(),
        }
    }

    /// Reads a file and compares it with what was known of it.
    pub(super) fn read(&mut self, path: &RelPath) -> Result<Vec<u8>, FileProblem> {
        match self.staging.read(path, self.max_bytes) {
            Ok((content, hash)) => {
                self.observe(path, Some((&content, hash)));
                Ok(content)
            }
            Err(problem) => {
                // What cannot be read cannot be edited by lines either.
                if problem.is_not_found() {
                    self.observe(path, None);
                }
                Err(problem)
            }
        }
    }

    fn observe(&mut self, path: &RelPath, found: Option<(&[u8], String)>) {
        let (content, now) = found.unzip();
        if let Some(known) = self.files.get_mut(path) {
            if known.hash != now {
                known.hash = now;
                known.distrust();
            }
            return;
        }
        let (sight, extent) = match (self.seen.get(path), &now) {
            (None, _) | (_, None) => (Sight::Never, KnownExtent::Whole),
            (Some((seen, extent)), Some(now)) if seen == now => (Sight::Current, extent.clone()),
            _ => (Sight::Stale, KnownExtent::nothing()),
        };
        let lines = content.map_or(0, count_lines);
        self.files.insert(
            path.clone(),
            Known {
                hash: now,
                sight,
                extent,
                book: LineBook::new(lines),
                is_taken_over: false,
            },
        );
    }

    /// Looks up a file that was read.
    pub(super) fn known(&self, path: &RelPath) -> Option<&Known> {
        self.files.get(path)
    }

    /// Enters what is known of a file after it was changed.
    pub(super) fn enter(&mut self, path: &RelPath, known: Known) {
        self.files.insert(path.clone(), known);
    }

    /// Prepares a new content of a file, and enters what is known of it then.
    pub(super) fn write(
        &mut self,
        path: &RelPath,
        content: &[u8],
        known: Known,
    ) -> Result<(), FileProblem> {
        let content = match &known.hash {
            Some(hash) => NewContent {
                bytes: content,
                hash: hash.clone(),
            },
            None => NewContent::new(content),
        };
        self.staging
            .write(path, &content, ExecutableBit::Keep)
            .map(|()| self.enter(path, known))
    }

    /// Copies the knowledge about one file to another, which is a copy of it or its new name.
    pub(super) fn carry(&mut self, from: &RelPath, to: &RelPath) {
        if let Some(known) = self.files.get(from).cloned() {
            self.files.insert(to.clone(), known);
        }
        self.seen.copy(from, to);
    }

    /// The results of this reply show these lines of the file as they are now; it has so many.
    pub(super) fn show(&mut self, path: &RelPath, lines: Range<usize>, of: usize) {
        if let Some(known) = self.files.get_mut(path) {
            known.extent.add(lines);
            if of == 0 || known.extent.has(&(0..of)) {
                known.extent = KnownExtent::Whole;
            }
        }
    }

    /// Notes that a step did not change the file as it should have: line numbers mean nothing for
    /// it.
    pub(super) fn distrust(&mut self, path: &RelPath) {
        if let Some(known) = self.files.get_mut(path) {
            known.distrust();
        }
    }

    /// The knowledge about files, for the journal.
    pub(super) fn files<'b>(&self, paths: impl Iterator<Item = &'b RelPath>) -> Vec<StagedFile> {
        let paths: BTreeSet<&RelPath> = paths.collect();
        let file = |path: &RelPath| {
            let known = self.files.get(path)?;
            Some(StagedFile {
                path: path.clone(),
                hash: known.hash.clone(),
                is_seen: known.sight == Sight::Current && known.extent == KnownExtent::Whole,
                lines: known.staged_lines(),
            })
        };
        paths.into_iter().filter_map(file).collect()
    }

    /// Takes over what a process that was stopped knew of a file that it had changed.
    ///
    /// It counts as long as the file has the content that it had then.
    pub(super) fn take_over(&mut self, file: &StagedFile) {
        let known = match &file.hash {
            None => Known::removed(),
            Some(hash) => {
                let lines = file.lines.as_ref();
                let known = lines.and_then(|lines| Known::restored(hash, lines));
                known.unwrap_or_else(|| Known {
                    // An earlier version of the program did not write down where the lines are.
                    extent: if file.is_seen {
                        KnownExtent::Whole
                    } else {
                        KnownExtent::nothing()
                    },
                    ..Known::stale(Some(hash.clone()))
                })
            }
        };
        let is_taken_over = true;
        self.enter(
            &file.path,
            Known {
                is_taken_over,
                ..known
            },
        );
    }

    /// Remembers what the model knows from now on.
    ///
    /// A file that a command changed keeps the old hash, and so is stale in the next reply.
    pub(super) fn settle(self) {
        for (path, known) in self.files {
            match (known.sight, known.hash) {
                (_, None) => self.seen.forget(&path),
                (Sight::Never, Some(_)) => {}
                (Sight::Stale, Some(_)) if known.extent.is_nothing() => {}
                (Sight::Current | Sight::Stale, Some(hash)) => {
                    self.seen.note_extent(&path, hash, known.extent);
                }
            }
        }
    }
}

/// How many lines a file has, without decoding it where that is not needed.
fn count_lines(content: &[u8]) -> usize {
    if content.starts_with(&[0xff, 0xfe]) || content.starts_with(&[0xfe, 0xff]) {
        return TextFile::decode(content.to_vec()).map_or(0, |file| file.text.lines().count());
    }
    let is_open = content.last().is_some_and(|last| *last != b'\n');
    memchr::memchr_iter(b'\n', content).count() + usize::from(is_open)
}
