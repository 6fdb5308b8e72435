//! Works out the effect of a patch on the files before anything is written.

mod moves;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::hash;
use super::super::ledger::{Known, Ledger};
use super::super::write::{PriorContent, overwritten};
use super::operation::Operation;
use super::patched::Patched;
use super::stated::{Counted, is_unsure, lines_of_now};
use super::worked_out::WorkedOut;
use crate::edit::{self, Refusal};
use crate::protocol::{ContentSource, FileChange, Hunk, HunkLine, Level, RelPath};
use crate::workspace::text::TextFile;
use crate::workspace::{ExecutableBit, FileProblem};
use moves::{InTheWay, Moves};

/// The most bytes that the files of one patch may have together.
const MAX_BYTES: usize = 256 * 1024 * 1024;

/// The most troubles that are looked for.
const MAX_TROUBLES: usize = 20;

/// Why one change of a patch does not work out.
pub(super) struct PatchTrouble {
    /// One line, with the path.
    pub(super) message: String,
    /// Advice for the model: how to send it so that it is applied.
    pub(super) hint: String,
    /// Lines of the file that help to send it again.
    pub(super) detail: String,
    /// The file that was expected and is not there.
    pub(super) missing: Option<RelPath>,
    /// The file that the change is of.
    pub(super) path: Option<RelPath>,
}

impl PatchTrouble {
    fn new(message: String) -> Self {
        Self {
            message,
            hint: String::new(),
            detail: String::new(),
            missing: None,
            path: None,
        }
    }

    fn binary(path: &RelPath) -> Self {
        Self::new(format!("`{path}` is a binary file: it cannot be patched"))
    }

    fn refused(path: &RelPath, refusal: Refusal) -> Self {
        Self {
            hint: refusal.hint,
            detail: refusal.detail,
            ..Self::new(format!("`{path}`: {}", refusal.message))
        }
    }

    /// A refusal that may have to do with what the model could not know.
    fn stale(path: &RelPath, refusal: Refusal) -> Self {
        Self {
            hint: refusal.hint,
            detail: refusal.detail,
            ..Self::new(format!(
                "`{path}` may not be as it was last shown, so that line numbers say little: {}",
                refusal.message
            ))
        }
    }
}

impl From<FileProblem> for PatchTrouble {
    fn from(problem: FileProblem) -> Self {
        let message = problem.to_string();
        let missing = match problem {
            FileProblem::NotFound(path) => Some(path),
            _ => None,
        };
        Self {
            missing,
            ..Self::new(message)
        }
    }
}

/// A file as it would be after the changes so far.
#[derive(Clone)]
struct FileDraft {
    /// `None` if there would be no such file.
    content: Option<Arc<Vec<u8>>>,
    known: Known,
    /// By what the lines that hunks state are counted.
    counted: Counted,
}

/// The picture of the files while a patch is worked out.
pub(super) struct PatchPlan<'a, 'b> {
    ledger: &'a mut Ledger<'b>,
    drafts: BTreeMap<RelPath, FileDraft>,
    worked_out: WorkedOut,
    /// Where the last operation on a path stands in the list.
    latest: BTreeMap<RelPath, usize>,
    bytes: usize,
    moves: Moves,
    /// The problems that were found.
    pub(super) troubles: Vec<PatchTrouble>,
    /// Files whose picture is wrong because of a trouble: more troubles with them are no news.
    broken: BTreeSet<RelPath>,
}

impl<'a, 'b> PatchPlan<'a, 'b> {
    /// The files before any of the changes.
    pub(super) fn new(ledger: &'a mut Ledger<'b>, changes: &[FileChange]) -> Self {
        Self {
            ledger,
            drafts: BTreeMap::new(),
            worked_out: WorkedOut::default(),
            latest: BTreeMap::new(),
            bytes: 0,
            moves: Moves::of(changes),
            troubles: Vec::new(),
            broken: BTreeSet::new(),
        }
    }

    /// The plan, once all changes were worked out.
    pub(super) fn finish(self) -> WorkedOut {
        let known = self
            .drafts
            .into_iter()
            .map(|(path, draft)| (path, draft.known));
        WorkedOut {
            known: known.collect(),
            ..self.worked_out
        }
    }

    /// Works out one change, after those before it.
    pub(super) fn work_out(&mut self, change: &FileChange) {
        let path = change.path();
        if self.broken.contains(path) || self.troubles.len() >= MAX_TROUBLES {
            return;
        }
        if let Err(trouble) = self.try_to_work_out(change) {
            self.troubles.push(PatchTrouble {
                path: Some(path.clone()),
                ..trouble
            });
            self.broken.insert(path.clone());
        }
    }

    fn try_to_work_out(&mut self, change: &FileChange) -> Result<(), PatchTrouble> {
        match change {
            FileChange::Add {
                path,
                content,
                mode,
                overwrite,
            } => {
                let permission = permission(path, *mode)?;
                if *overwrite {
                    self.put(path, content, permission)
                } else {
                    self.add(path, content, permission)
                }
            }
            FileChange::Delete { path, hunks } => self.delete(path, hunks),
            FileChange::Update {
                path,
                move_to,
                copy,
                overwrite,
                mode,
                hunks,
            } => {
                let permission = permission(path, *mode)?;
                let Some(to) = move_to.as_ref().filter(|to| *to != path) else {
                    if self.is_made_by(path, hunks)? {
                        let made = edit::patch("", hunks);
                        let made = made.map_err(|refusal| PatchTrouble::refused(path, refusal))?;
                        return self.put(path, &made.text, permission);
                    }
                    return self.update(path, hunks, permission);
                };
                let hunks = self.without_mere_context(path, hunks)?;
                let in_the_way = if *overwrite {
                    InTheWay::IsOverwritten
                } else {
                    InTheWay::Stays
                };
                if *copy {
                    self.copy(path, to, in_the_way)?;
                } else if self.is_moved_already(path, to, hunks)? {
                    self.worked_out.report.push(format!(
                        "moved already: {} to {}",
                        path.quoted(),
                        to.quoted()
                    ));
                } else {
                    self.rename(path, to, in_the_way)?;
                }
                self.update(to, hunks, permission)
            }
        }
    }

    /// Returns true if there is no file, and the hunks say that it was empty: `@@ -0,0 +1 @@`.
    fn is_made_by(&mut self, path: &RelPath, hunks: &[Hunk]) -> Result<bool, PatchTrouble> {
        let begins_empty = |hunk: &Hunk| {
            let mut lines = hunk.lines.iter();
            hunk.old_start == Some(0) && lines.all(|line| line.before().is_none())
        };
        Ok(matches!(hunks, [only] if begins_empty(only)) && self.draft(path)?.content.is_none())
    }

    fn add(
        &mut self,
        path: &RelPath,
        text: &str,
        permission: ExecutableBit,
    ) -> Result<(), PatchTrouble> {
        match &self.draft(path)?.content {
            Some(content) if content.as_slice() != text.as_bytes() => {
                Err(FileProblem::Exists(path.clone()).into())
            }
            _ => self.put(path, text, permission),
        }
    }

    fn put(
        &mut self,
        path: &RelPath,
        text: &str,
        permission: ExecutableBit,
    ) -> Result<(), PatchTrouble> {
        let draft = self.draft(path)?;
        let old = draft.content.as_deref().map(Vec::as_slice);
        // The model takes a file that it adds for new: one that is there is replaced only as by a code
        // block under its path.
        let new = overwritten(path, old, text, ContentSource::CodeBlock)
            .map_err(|refusal| PatchTrouble::refused(path, refusal))?;
        draft.known = Known::written(&new.content, new.lines);
        draft.counted = Counted::Reply;
        let verb = match new.before {
            PriorContent::Nothing => "added",
            PriorContent::Same => "already there:",
            PriorContent::Other => "overwrote",
        };
        let remark = new.remark.map(|remark| format!(" ({remark})"));
        let report = format!("{verb} {}{}", path.quoted(), remark.unwrap_or_default());
        self.worked_out.report.push(report);
        if new.before == PriorContent::Same && permission == ExecutableBit::Keep {
            self.worked_out.levels.push(Level::AlreadyApplied);
            self.ledger.staging.remove_left_over(path);
            return Ok(());
        }
        self.worked_out.levels.push(Level::Exact);
        self.write(path, Arc::new(new.content), permission)
    }

    fn delete(&mut self, path: &RelPath, hunks: &[Hunk]) -> Result<(), PatchTrouble> {
        if !hunks.is_empty() {
            let content = self.content(path)?;
            let (text, _) = TextFile::view(&content).map_err(|_| PatchTrouble::binary(path))?;
            edit::check_patch_old(&text, hunks)
                .map_err(|refusal| PatchTrouble::refused(path, refusal))?;
        }
        let draft = self.existing(path)?;
        draft.content = None;
        draft.known = Known::removed();
        self.worked_out
            .report
            .push(format!("deleted {}", path.quoted()));
        self.worked_out.levels.push(Level::Exact);
        self.push(Operation::Remove(path.clone()));
        Ok(())
    }

    fn update(
        &mut self,
        path: &RelPath,
        hunks: &[Hunk],
        permission: ExecutableBit,
    ) -> Result<(), PatchTrouble> {
        if hunks.is_empty() {
            let content = self.content(path)?;
            return match permission {
                ExecutableBit::Keep => Ok(()),
                _ => self.write(path, content, permission),
            };
        }
        let rest = self.without_repeated(path, hunks)?;
        if rest.len() < hunks.len() && !edit::changes_anything(&rest) {
            self.worked_out.levels.push(Level::AlreadyApplied);
            self.worked_out
                .report
                .push(format!("already applied: {}", path.quoted()));
            return self.update(path, &[], permission);
        }
        let hunks = rest;
        let patched = self.patched(path, &hunks)?;
        let edited = match patched.edited {
            Ok(edited) => edited,
            Err(refusal) if is_unsure(&self.existing(path)?.known) => {
                return Err(PatchTrouble::stale(path, refusal));
            }
            Err(refusal) => return Err(PatchTrouble::refused(path, refusal)),
        };
        self.worked_out.levels.push(edited.level);
        if !patched.is_changed && permission == ExecutableBit::Keep {
            self.worked_out
                .report
                .push(format!("already applied: {}", path.quoted()));
            self.ledger.staging.remove_left_over(path);
            return Ok(());
        }
        let file = TextFile {
            text: edited.text,
            encoding: patched.encoding,
        };
        let content = file
            .into_bytes()
            .map_err(|problem| PatchTrouble::new(format!("`{path}`: {problem}")))?;
        let draft = self.existing(path)?;
        draft.counted = draft.counted.after_change_of(&draft.known);
        draft.known.record(&edited.changes);
        let remark = patched.remark.map(|remark| format!(" ({remark})"));
        let report = format!("updated {}{}", path.quoted(), remark.unwrap_or_default());
        self.worked_out.report.push(report);
        let hash = hash(&content);
        self.write_known(path, Arc::new(content), hash, permission)
    }

    /// The hunks that no earlier step of this reply applied.
    fn without_repeated<'h>(
        &mut self,
        path: &RelPath,
        hunks: &'h [Hunk],
    ) -> Result<Cow<'h, [Hunk]>, PatchTrouble> {
        let draft = self.existing(path)?;
        let known = &draft.known;
        if draft.counted != Counted::Reply || known.book.is_untouched() || known.is_stale() {
            return Ok(Cow::Borrowed(hunks));
        }
        let content = draft.content.clone().unwrap_or_default();
        let (text, _) = TextFile::view(&content).map_err(|_| PatchTrouble::binary(path))?;
        let lines: Vec<&str> = text.lines().collect();
        let is_new = |hunk: &&Hunk| {
            let old: Vec<&str> = hunk.lines.iter().filter_map(HunkLine::before).collect();
            let new: Vec<&str> = hunk.lines.iter().filter_map(HunkLine::after).collect();
            !known.book.has_change(&lines, &old, &new)
        };
        Ok(hunks.iter().filter(is_new).cloned().collect())
    }

    /// Applies the hunks to a file, whose lines may have moved since they were counted.
    fn patched(&mut self, path: &RelPath, hunks: &[Hunk]) -> Result<Patched, PatchTrouble> {
        let draft = self.existing(path)?;
        let content = draft.content.clone().unwrap_or_default();
        let now = lines_of_now(&draft.known, draft.counted, hunks);
        let patched = match now {
            Some(now) => Patched::moved(path, &content, hunks, &now),
            None => Patched::new(path, &content, hunks),
        };
        patched.map_err(|_| PatchTrouble::binary(path))
    }

    /// The content of a file that must be there.
    fn content(&mut self, path: &RelPath) -> Result<Arc<Vec<u8>>, PatchTrouble> {
        Ok(self.existing(path)?.content.clone().unwrap_or_default())
    }

    /// The picture of a file, which may be that there is none.
    fn draft(&mut self, path: &RelPath) -> Result<&mut FileDraft, PatchTrouble> {
        if !self.drafts.contains_key(path) {
            self.check_writable(path)?;
            let draft = self.look(path)?;
            self.drafts.insert(path.clone(), draft);
        }
        // It was put there just now, if it was not there before.
        self.drafts
            .get_mut(path)
            .ok_or_else(|| FileProblem::NotFound(path.clone()).into())
    }

    /// The file as it is before the patch.
    fn look(&mut self, path: &RelPath) -> Result<FileDraft, PatchTrouble> {
        let content = match self.ledger.read(path) {
            Ok(content) => Some(Arc::new(content)),
            Err(FileProblem::NotFound(_)) => None,
            Err(problem) => return Err(problem.into()),
        };
        self.bytes += content.as_ref().map_or(0, |content| content.len());
        if self.bytes > MAX_BYTES {
            return Err(PatchTrouble {
                hint: "send it in parts".to_owned(),
                ..PatchTrouble::new("the files of this patch are too large together".to_owned())
            });
        }
        let known = self
            .ledger
            .known(path)
            .cloned()
            .unwrap_or_else(Known::removed);
        Ok(FileDraft {
            content,
            known,
            counted: Counted::Reply,
        })
    }

    fn check_writable(&self, path: &RelPath) -> Result<(), FileProblem> {
        let is_gone = |parent| {
            let draft = self.drafts.get(parent);
            draft.is_some_and(|draft| draft.content.is_none())
        };
        match self.ledger.staging.check_writable(path) {
            // What is in the way goes away before.
            Err(FileProblem::NotInDirectory { parent, .. }) if is_gone(&parent) => Ok(()),
            other => other,
        }
    }

    fn existing(&mut self, path: &RelPath) -> Result<&mut FileDraft, PatchTrouble> {
        let is_touched = self.latest.contains_key(path);
        let draft = self.draft(path)?;
        if draft.content.is_none() && is_touched {
            return Err(PatchTrouble::new(format!(
                "`{path}` is gone: an earlier change of this patch moves or deletes it"
            )));
        }
        if draft.content.is_none() {
            return Err(FileProblem::NotFound(path.clone()).into());
        }
        Ok(draft)
    }

    /// Enters a new content, and plans to write it.
    fn write(
        &mut self,
        path: &RelPath,
        content: Arc<Vec<u8>>,
        permission: ExecutableBit,
    ) -> Result<(), PatchTrouble> {
        let hash = hash(&content);
        self.write_known(path, content, hash, permission)
    }

    /// Writes a file whose content has this hash.
    fn write_known(
        &mut self,
        path: &RelPath,
        content: Arc<Vec<u8>>,
        hash: String,
        permission: ExecutableBit,
    ) -> Result<(), PatchTrouble> {
        let draft = self.draft(path)?;
        draft.known.hash = Some(hash.clone());
        draft.content = Some(Arc::clone(&content));
        self.push(Operation::Write {
            path: path.clone(),
            content,
            hash,
            permission,
        });
        Ok(())
    }

    /// Plans an operation; of two writes to one file in a row only the second is needed.
    fn push(&mut self, operation: Operation) {
        let operations = &mut self.worked_out.operations;
        if let Operation::Write {
            path,
            content,
            hash,
            permission,
        } = &operation
            && let Some(earlier) = self.latest.get(path)
            && let Some(Operation::Write {
                content: old,
                hash: old_hash,
                permission: old_permission,
                ..
            }) = operations.get_mut(*earlier)
        {
            old.clone_from(content);
            old_hash.clone_from(hash);
            if *permission != ExecutableBit::Keep {
                *old_permission = *permission;
            }
            return;
        }
        let index = operations.len();
        match &operation {
            Operation::Write { path, .. } | Operation::Remove(path) => {
                self.latest.insert(path.clone(), index);
            }
            Operation::Rename { from, to } => {
                self.latest.insert(from.clone(), index);
                self.latest.insert(to.clone(), index);
            }
        }
        operations.push(operation);
    }
}

/// Interprets git's mode for a file.
fn permission(path: &RelPath, mode: Option<u32>) -> Result<ExecutableBit, PatchTrouble> {
    const TYPE: u32 = 0o170_000;
    const REGULAR: u32 = 0o100_000;
    match mode {
        None => Ok(ExecutableBit::Keep),
        Some(mode) if ![0, REGULAR].contains(&(mode & TYPE)) => Err(PatchTrouble::new(format!(
            "`{path}` would be a link or a submodule, which a patch cannot make here"
        ))),
        Some(mode) if mode & 0o111 != 0 => Ok(ExecutableBit::Executable),
        Some(_) => Ok(ExecutableBit::Plain),
    }
}
