//! Chooses by the lines that a hunk's `@@` names.

use super::super::Refusal;
use super::super::anchor::{self, Reach};
use super::super::document::{Document, EDGE, LineId};
use super::candidate::{Candidate, ambiguous, is_telling};
use super::{Placer, only};
use agent_protocol::{Hunk, Level};

impl Placer {
    /// Chooses the place in the block that the hunk's anchors open.
    ///
    /// The only place of all is good enough if it is below them. Above them, or where they are not
    /// found, it is only if the hunk itself says enough to leave no doubt.
    pub(super) fn choose_by_anchors<'h>(
        &mut self,
        document: &mut Document<'_>,
        hunk: &Hunk,
        found: &[Candidate<'h>],
    ) -> Result<Candidate<'h>, Refusal> {
        let mut refusal = None;
        for above in [self.last(), EDGE] {
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
        openings: &[LineId],
        found: &[Candidate<'h>],
    ) -> Option<Result<Candidate<'h>, Refusal>> {
        let mut inside = |reach| -> Vec<Candidate<'h>> {
            let blocks = self.anchors.blocks(document, openings, reach);
            let has = |found: &&Candidate<'h>| blocks.has(found.start);
            found.iter().filter(has).copied().collect()
        };
        let (within, near) = (inside(Reach::Block), inside(Reach::Wide));
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

fn beside_anchor<'h>(candidate: &Candidate<'h>) -> Candidate<'h> {
    Candidate {
        level: Level::Anchor,
        ..*candidate
    }
}
