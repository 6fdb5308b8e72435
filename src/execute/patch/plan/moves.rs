//! Renames and copies within one patch.
//!
//! As git has it, they do not depend on their order: two files may change places, and a copy is
//! made of the file as it was before the patch. A file in the way of a rename is overwritten only
//! if the change says that it may be, or if a later change moves it away; then what it contained
//! waits for its turn. Until the patch is carried out that is still on the disk. What the patch
//! itself wrote is never overwritten by a rename.

use std::collections::BTreeSet;

use super::super::super::ledger::Known;
use super::super::operation::Operation;
use super::super::patched::Patched;
use super::{FileDraft, PatchPlan, PatchTrouble};
use crate::edit;
use crate::protocol::{FileChange, Hunk, Level, RelPath};
use crate::workspace::text::TextFile;
use crate::workspace::{ExecutableBit, FileProblem};

/// Which files of a patch are on the move.
#[derive(Default)]
pub(super) struct Moves {
    /// Changes still to come move these away.
    leaving: BTreeSet<RelPath>,
    /// Other files took the place of these, whose turn is still to come.
    displaced: BTreeSet<RelPath>,
}

impl Moves {
    pub(super) fn of(changes: &[FileChange]) -> Self {
        let source = |change: &FileChange| match change {
            FileChange::Update {
                path,
                move_to: Some(to),
                copy: false,
                ..
            } if path != to => Some(path.clone()),
            _ => None,
        };
        Self {
            leaving: changes.iter().filter_map(source).collect(),
            displaced: BTreeSet::new(),
        }
    }
}

/// The fate of a file that is where another one goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InTheWay {
    Stays,
    IsOverwritten,
}

impl PatchPlan<'_, '_> {
    pub(super) fn copy(
        &mut self,
        from: &RelPath,
        to: &RelPath,
        in_the_way: InTheWay,
    ) -> Result<(), PatchTrouble> {
        let source = match self.look(from)? {
            original if original.content.is_some() => original,
            _ => self.existing(from)?.clone(),
        };
        self.make_way(to, in_the_way)?;
        self.note_move("copied", from, to);
        self.write_moved(from, to, source)
    }

    pub(super) fn rename(
        &mut self,
        from: &RelPath,
        to: &RelPath,
        in_the_way: InTheWay,
    ) -> Result<(), PatchTrouble> {
        self.moves.leaving.remove(from);
        if self.moves.displaced.contains(from) {
            let source = self.look(from)?;
            self.make_way(to, in_the_way)?;
            self.moves.displaced.remove(from);
            self.note_move("moved", from, to);
            return self.write_moved(from, to, source);
        }
        self.existing(from)?;
        let is_taken = self.make_way(to, in_the_way)?;
        let source = self.existing(from)?;
        let moved = source.clone();
        source.content = None;
        source.known = Known::removed();
        self.drafts.insert(to.clone(), moved);
        self.note_move("moved", from, to);
        if is_taken {
            self.push(Operation::Remove(to.clone()));
        }
        self.push(Operation::Rename {
            from: from.clone(),
            to: to.clone(),
        });
        Ok(())
    }

    /// Returns true if an earlier patch moved the file: it is gone, and exactly the text that the
    /// hunks speak of is at its destination.
    pub(super) fn is_moved_already(
        &mut self,
        from: &RelPath,
        to: &RelPath,
        hunks: &[Hunk],
    ) -> Result<bool, PatchTrouble> {
        if hunks.is_empty() || self.draft(from)?.content.is_some() {
            return Ok(false);
        }
        let Some(content) = self.draft(to)?.content.clone() else {
            return Ok(false);
        };
        let edited = Patched::new(to, &content, hunks).map(|patched| patched.edited);
        Ok(matches!(
            edited,
            Ok(Ok(edited)) if matches!(edited.level, Level::Exact | Level::AlreadyApplied)
        ))
    }

    /// The hunks of a file that moves; none if they only quote it, as they may.
    pub(super) fn without_mere_context<'h>(
        &mut self,
        from: &RelPath,
        hunks: &'h [Hunk],
    ) -> Result<&'h [Hunk], PatchTrouble> {
        if hunks.is_empty() || edit::changes_anything(hunks) {
            return Ok(hunks);
        }
        let content = if self.moves.displaced.contains(from) {
            self.look(from)?.content
        } else {
            self.draft(from)?.content.clone()
        };
        let Some(content) = content else {
            return Ok(hunks);
        };
        let file = TextFile::decode(content.to_vec()).map_err(|_| PatchTrouble::binary(from))?;
        edit::check_patch_context(&file.text, hunks)
            .map_err(|refusal| PatchTrouble::refused(from, refusal))?;
        Ok(&[])
    }

    /// Refuses a place that is taken and stays so; tells whether it is taken.
    fn make_way(&mut self, path: &RelPath, in_the_way: InTheWay) -> Result<bool, PatchTrouble> {
        let is_taken = self.draft(path)?.content.is_some();
        if !is_taken {
            return Ok(false);
        }
        let is_written = self.latest.contains_key(path);
        if !is_written && self.moves.leaving.contains(path) {
            self.moves.displaced.insert(path.clone());
        } else if in_the_way == InTheWay::Stays {
            return Err(FileProblem::Exists(path.clone()).into());
        } else if is_written {
            return Err(PatchTrouble::new(format!(
                "`{path}` is taken: an earlier change of this patch writes it"
            )));
        }
        Ok(true)
    }

    fn note_move(&mut self, verb: &str, from: &RelPath, to: &RelPath) {
        self.worked_out.carried.push((from.clone(), to.clone()));
        self.worked_out
            .report
            .push(format!("{verb} {} to {}", from.quoted(), to.quoted()));
        self.worked_out.levels.push(Level::Exact);
    }

    fn write_moved(
        &mut self,
        from: &RelPath,
        to: &RelPath,
        source: FileDraft,
    ) -> Result<(), PatchTrouble> {
        let content = source.content.clone().unwrap_or_default();
        self.drafts.insert(to.clone(), source);
        // A file that this patch makes has no bits yet to be copied.
        let permission = self
            .ledger
            .staging
            .permission(from)
            .unwrap_or(ExecutableBit::Keep);
        self.write(to, content, permission)
    }
}
