//! Chooses by the lines that a hunk's `@@` names.

use super::super::Refusal;
use super::super::anchor::{self, BlockReach};
use super::super::document::{Document, LineNumber};
use super::candidate::{HunkPlace, ambiguous, is_telling};
use super::{Placer, only};
use agent_protocol::{Hunk, Level};

impl Placer {
    /// Chooses the place in the block that the hunk's anchors open.
    ///
    /// The only place of all is good enough if it is below them. Above them, or where they are not
    /// found, it is only if the hunk itself says enough to leave no doubt.
    pub(super) fn choose_by_anchors<'h>(
        &mut self,
        document: &Document<'_>,
        hunk: &Hunk,
        found: &[HunkPlace<'h>],
    ) -> Result<HunkPlace<'h>, Refusal> {
        let mut refusal = None;
        for above in [self.last_changed, 0] {
            match self.anchors.find(document, &hunk.anchors, above) {
                Ok(openings) => {
                    if let Some(chosen) = self.choose_below(document, &openings, found) {
                        return chosen;
                    }
                    refusal.get_or_insert_with(|| {
                        let anchor = anchor::last(&hunk.anchors);
                        Refusal::new(format!(
                            "its old text is not below `{anchor}`, which it names"
                        ))
                    });
                }
                Err(unusable) => {
                    refusal.get_or_insert(unusable);
                }
            }
        }
        match (found, refusal) {
            ([only], _) if is_telling(hunk) => Ok(beside_anchor(only)),
            ([_], Some(refusal)) => Err(refusal),
            _ => Err(ambiguous(found)),
        }
    }

    /// The place that lines choose which open a block, if they choose any.
    fn choose_below<'h>(
        &mut self,
        document: &Document<'_>,
        openings: &[LineNumber],
        found: &[HunkPlace<'h>],
    ) -> Option<Result<HunkPlace<'h>, Refusal>> {
        let mut inside = |reach| -> Vec<HunkPlace<'h>> {
            let blocks = self.anchors.blocks(document, openings, reach);
            let has = |found: &&HunkPlace<'h>| blocks.has(found.start);
            found.iter().filter(has).copied().collect()
        };
        let (within, near) = (inside(BlockReach::Block), inside(BlockReach::Wide));
        if !within.is_empty() {
            let chosen = only(within.iter()).copied();
            let chosen = chosen.or_else(|| self.only_below(within.iter()));
            return Some(chosen.ok_or_else(|| ambiguous(&within)));
        }
        let below = match found {
            [only] if openings.first() < Some(&only.start) => Some(only),
            _ => only(near.iter()),
        };
        below.map(|below| Ok(beside_anchor(below)))
    }
}

fn beside_anchor<'h>(candidate: &HunkPlace<'h>) -> HunkPlace<'h> {
    HunkPlace {
        level: Level::Elsewhere,
        ..*candidate
    }
}
