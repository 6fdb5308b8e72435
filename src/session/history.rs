//! Which rounds changed the workspace, what it was around each, and which are taken back.
//!
//! It is read from the journal, which every process appends to: a session file belongs to the loop,
//! and an undo may come from elsewhere while the loop waits.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Record;
use crate::checkpoint::Snapshot;
use crate::error::{Error, Result};

/// The workspace around a round that changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The number of the round.
    pub round: u32,
    /// Before its steps.
    pub before: Snapshot,
    /// After them.
    pub after: Snapshot,
}

/// The rounds that changed the workspace.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct History {
    rounds: Vec<Round>,
    begun: Option<(u32, Snapshot)>,
    /// Rounds that may have changed something, and nobody knows what, in their order.
    uncovered: Vec<u32>,
    undos: u32,
}

#[derive(Debug, PartialEq, Eq)]
struct Round {
    checkpoint: Checkpoint,
    /// By which undo it was taken back, counted from 1.
    undo: Option<u32>,
}

impl History {
    /// Reads a journal and leaves it alone: it may be another process's, at work.
    ///
    /// Records of other kinds, which are long, are not looked into.
    pub(super) fn read(path: &Path) -> Result<Self> {
        const STARTS: [&[u8]; 5] = [
            b"{\"event\":\"before\"",
            b"{\"event\":\"after\"",
            b"{\"event\":\"uncovered\"",
            b"{\"event\":\"undone\"",
            b"{\"event\":\"redone\"",
        ];
        let failed = |cause: io::Error| Error::file("read", path, cause);
        let mut reader = BufReader::new(File::open(path).map_err(failed)?);
        let mut history = Self::default();
        let mut line = Vec::new();
        // A last line without its end is torn, or being written.
        while reader.read_until(b'\n', &mut line).map_err(failed)? > 0 && line.ends_with(b"\n") {
            if STARTS.iter().any(|start| line.starts_with(start)) {
                let record = serde_json::from_slice(&line).map_err(|cause| failed(cause.into()))?;
                history.take(&record);
            }
            line.clear();
        }
        Ok(history)
    }

    /// Learns from the next record of the journal.
    pub(super) fn take(&mut self, record: &Record) {
        match record {
            Record::Before { sequence, before } => {
                self.begun = Some((*sequence, before.snapshot));
            }
            Record::After { sequence, snapshot } => self.finish(*sequence, *snapshot),
            Record::Uncovered { sequence } if !self.uncovered.contains(sequence) => {
                self.uncovered.push(*sequence);
            }
            Record::Undone { rounds } => {
                self.undos += 1;
                self.mark(rounds, Some(self.undos));
            }
            Record::Redone { rounds } => self.mark(rounds, None),
            _ => {}
        }
    }

    /// A round that left all as it was is not remembered: there is nothing to take back.
    fn finish(&mut self, round: u32, after: Snapshot) {
        let Some((begun, before)) = self.begun else {
            return;
        };
        // After a crash the end of a round may be told twice.
        self.rounds.retain(|known| known.checkpoint.round != round);
        self.uncovered.retain(|known| *known != round);
        if begun == round && before != after {
            self.rounds.push(Round {
                checkpoint: Checkpoint {
                    round,
                    before,
                    after,
                },
                undo: None,
            });
        }
    }

    fn mark(&mut self, numbers: &[u32], undo: Option<u32>) {
        for round in &mut self.rounds {
            if numbers.contains(&round.checkpoint.round) {
                round.undo = undo;
            }
        }
    }

    /// The round of this number, if it changed something.
    pub fn round(&self, number: u32) -> Option<Checkpoint> {
        let found = self
            .rounds
            .iter()
            .find(|round| round.checkpoint.round == number);
        found.map(|round| round.checkpoint)
    }

    /// The first round that changed something.
    pub fn first(&self) -> Option<Checkpoint> {
        self.rounds.first().map(|round| round.checkpoint)
    }

    /// What the workspace was after a round; nothing if no later round changed it, so that it is
    /// as it is now.
    pub fn after(&self, number: u32) -> Option<Snapshot> {
        let is_later = |round: &&Round| round.checkpoint.round > number;
        let next = self.rounds.iter().find(is_later)?;
        let last = self.rounds.iter().rfind(|round| !is_later(round));
        Some(last.map_or(next.checkpoint.before, |last| last.checkpoint.after))
    }

    /// Whether the round was taken back.
    pub fn is_undone(&self, number: u32) -> bool {
        self.rounds
            .iter()
            .any(|round| round.checkpoint.round == number && round.undo.is_some())
    }

    /// What an undo takes back, the latest first: all rounds after this one.
    pub fn undoable(&self, after: u32) -> Vec<Checkpoint> {
        self.rounds
            .iter()
            .rev()
            .filter(|round| round.undo.is_none() && round.checkpoint.round > after)
            .map(|round| round.checkpoint)
            .collect()
    }

    /// The rounds after this one that no undo can take back, because there is no checkpoint of them.
    pub fn uncovered(&self, after: u32) -> Vec<u32> {
        let later = self.uncovered.iter().copied();
        later.filter(|round| *round > after).collect()
    }

    /// What a redo puts again, in its order: what the latest undo took back.
    ///
    /// Nothing if a later round changed something: its files are built on what is there now.
    pub fn redoable(&self) -> Vec<Checkpoint> {
        let is_done = |round: &Round| round.undo.is_none();
        let tail = self
            .rounds
            .iter()
            .rposition(is_done)
            .map_or(0, |last| last + 1);
        let last_uncovered = self.uncovered.last().copied().unwrap_or_default();
        let undone = &self.rounds[tail..];
        if undone
            .iter()
            .any(|round| round.checkpoint.round < last_uncovered)
        {
            return Vec::new();
        }
        let latest = undone.iter().filter_map(|round| round.undo).max();
        undone
            .iter()
            .filter(|round| round.undo == latest)
            .map(|round| round.checkpoint)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::{Before, Reach};

    fn snapshot(number: u32) -> Snapshot {
        Snapshot::try_from(format!("{number:064x}")).unwrap()
    }

    /// Rounds 1, 2, 3 and so on, each of which changed something.
    fn history(rounds: u32) -> History {
        let mut history = History::default();
        for round in 1..=rounds {
            work(&mut history, round);
        }
        history
    }

    fn whole(snapshot: Snapshot) -> Before {
        Before {
            snapshot,
            reach: Reach::Whole,
        }
    }

    fn work(history: &mut History, sequence: u32) {
        let (before, after) = (snapshot(sequence), snapshot(sequence + 1));
        history.take(&Record::Before {
            sequence,
            before: whole(before),
        });
        history.take(&Record::After {
            sequence,
            snapshot: after,
        });
    }

    fn undo(history: &mut History, rounds: &[u32]) {
        history.take(&Record::Undone {
            rounds: rounds.to_vec(),
        });
    }

    fn redo(history: &mut History) -> Vec<u32> {
        let rounds = numbers(&history.redoable());
        history.take(&Record::Redone {
            rounds: rounds.clone(),
        });
        rounds
    }

    fn numbers(rounds: &[Checkpoint]) -> Vec<u32> {
        rounds.iter().map(|round| round.round).collect()
    }

    #[test]
    fn undo_goes_backwards_and_redo_forwards_step_by_step() {
        let mut history = history(3);
        assert_eq!(numbers(&history.undoable(0)), [3, 2, 1]);
        undo(&mut history, &[3]);
        undo(&mut history, &[2]);
        assert_eq!(numbers(&history.undoable(0)), [1]);
        assert_eq!(redo(&mut history), [2]);
        assert_eq!(redo(&mut history), [3]);
        assert!(redo(&mut history).is_empty());
    }

    #[test]
    fn what_one_undo_took_back_is_put_again_at_once() {
        let mut history = history(4);
        undo(&mut history, &[4]);
        undo(&mut history, &[3, 2]);
        assert!(history.is_undone(2) && !history.is_undone(1));
        assert_eq!(redo(&mut history), [2, 3]);
        assert_eq!(redo(&mut history), [4]);
    }

    #[test]
    fn a_later_round_ends_the_chance_to_redo() {
        let mut history = history(2);
        undo(&mut history, &[2]);
        work(&mut history, 3);
        assert!(history.redoable().is_empty());
        assert_eq!(numbers(&history.undoable(0)), [3, 1]);
        undo(&mut history, &[3]);
        assert_eq!(redo(&mut history), [3]);
    }

    #[test]
    fn a_round_without_checkpoint_is_known_until_it_has_one() {
        let mut history = history(2);
        undo(&mut history, &[2]);
        history.take(&Record::Uncovered { sequence: 3 });
        history.take(&Record::Uncovered { sequence: 3 });
        assert_eq!(history.uncovered(0), [3]);
        assert!(history.uncovered(3).is_empty());
        assert!(history.redoable().is_empty());
        work(&mut history, 3);
        assert!(history.uncovered(0).is_empty());
    }

    #[test]
    fn a_round_that_changed_nothing_is_not_there() {
        let mut history = history(1);
        for record in [
            Record::Before {
                sequence: 2,
                before: whole(snapshot(9)),
            },
            Record::After {
                sequence: 2,
                snapshot: snapshot(9),
            },
        ] {
            history.take(&record);
        }
        assert_eq!(numbers(&history.undoable(0)), [1]);
        assert_eq!(history.round(2), None);
    }
}
