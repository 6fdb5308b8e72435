//! Which rounds changed the workspace, what it was around each, and which are undone.
//!
//! It is read from the journal, which every process appends to: a session file belongs to the loop,
//! and an undo may come from elsewhere while the loop waits.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::journal::RecordProblem;
use super::{Record, SCHEMA};
use crate::checkpoint::{Before, Reach, Snapshot};
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
    /// Before its steps, with the files that were excluded from `before` because it is unclear who
    /// changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<Snapshot>,
}

/// The rounds that changed the workspace.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct History {
    rounds: Vec<RoundCheckpoints>,
    begun: Option<(u32, Before)>,
    /// Rounds that may have changed something, and nobody knows what, in their order.
    uncovered: Vec<u32>,
    undos: u32,
    unfinished: Option<Unfinished>,
}

/// The direction of a reversal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReversalDirection {
    /// They are undone.
    Undo,
    /// They are put again.
    Redo,
}

/// Files that the latest undo or redo could not restore, until a later round changes files.
#[derive(Debug, PartialEq, Eq)]
struct Unfinished {
    way: ReversalDirection,
    rounds: Vec<u32>,
    paths: BTreeSet<String>,
}

impl Unfinished {
    fn of(way: ReversalDirection, rounds: &[u32], open: &[String]) -> Option<Self> {
        (!open.is_empty()).then(|| Self {
            way,
            rounds: rounds.to_vec(),
            paths: open.iter().cloned().collect(),
        })
    }
}

#[derive(Debug, PartialEq, Eq)]
struct RoundCheckpoints {
    checkpoint: Checkpoint,
    /// How much its checkpoints looked at.
    reach: Reach,
    /// By which undo it was undone, counted from 1.
    undo: Option<u32>,
}

/// True if a newer version wrote this `round` record, judged by its first bytes.
fn is_newer_round(line: &[u8]) -> bool {
    let schema = line.strip_prefix(b"{\"event\":\"round\",\"session\":{\"schema\":");
    let digits = schema.map(|rest| rest.split(|byte| !byte.is_ascii_digit()).next());
    let digits = digits
        .flatten()
        .and_then(|digits| str::from_utf8(digits).ok());
    digits.is_some_and(|digits| digits.parse().is_ok_and(|schema: u32| schema > SCHEMA))
}

impl History {
    /// Reads a journal and leaves it alone: it may be another process's, at work.
    ///
    /// Records that tell nothing of this, which are long, are not looked into. A line that is no
    /// record is an error that names it: it may have told of an undo.
    pub(super) fn read(path: &Path) -> Result<Self> {
        const OTHERS: [&[u8]; 12] = [
            b"{\"event\":\"claimed\"",
            b"{\"event\":\"started\"",
            b"{\"event\":\"finished\"",
            b"{\"event\":\"round\"",
            b"{\"event\":\"checking\"",
            b"{\"event\":\"checked\"",
            b"{\"event\":\"reopened\"",
            b"{\"event\":\"instructed\"",
            b"{\"event\":\"handedOver\"",
            b"{\"event\":\"forked\"",
            b"{\"event\":\"told\"",
            b"{\"event\":\"kept\"",
        ];
        let failed = |cause: io::Error| Error::file("read", path, cause);
        let mut reader = BufReader::new(File::open(path).map_err(failed)?);
        let mut history = Self::default();
        let mut line = Vec::new();
        let mut number = 0_u64;
        // A last line without its end is torn, or being written.
        while reader.read_until(b'\n', &mut line).map_err(failed)? > 0 && line.ends_with(b"\n") {
            number += 1;
            let refused = |problem: RecordProblem| problem.in_line(path, &format!("line {number}"));
            if is_newer_round(&line) {
                return Err(refused(RecordProblem::Newer));
            }
            if !OTHERS.iter().any(|start| line.starts_with(start)) {
                history.take(&Record::parse(&line).map_err(refused)?);
            }
            line.clear();
        }
        Ok(history)
    }

    /// The round that began last, with the checkpoint before it.
    pub fn begun(&self) -> Option<(u32, Before)> {
        self.begun
    }

    /// Learns from the next record of the journal.
    pub(super) fn take(&mut self, record: &Record) {
        match record {
            Record::Before { sequence, before } => {
                self.begun = Some((*sequence, *before));
            }
            Record::After { sequence, snapshot } => self.finish(*sequence, *snapshot),
            Record::Uncovered { sequence } if !self.uncovered.contains(sequence) => {
                self.uncovered.push(*sequence);
            }
            Record::Undone { rounds, open } => {
                self.undos += 1;
                self.mark(rounds, Some(self.undos));
                self.unfinished = Unfinished::of(ReversalDirection::Undo, rounds, open);
            }
            Record::Redone { rounds, open } => {
                self.mark(rounds, None);
                self.unfinished = Unfinished::of(ReversalDirection::Redo, rounds, open);
            }
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
        let Before {
            snapshot,
            reach,
            original,
        } = before;
        if begun == round && snapshot != after {
            self.unfinished = None;
            self.rounds.push(RoundCheckpoints {
                checkpoint: Checkpoint {
                    round,
                    before: snapshot,
                    after,
                    original,
                },
                reach,
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

    /// How much the checkpoints of this round looked at, if it changed something.
    pub fn reach(&self, number: u32) -> Option<Reach> {
        let mut rounds = self.rounds.iter();
        let found = rounds.find(|round| round.checkpoint.round == number);
        found.map(|round| round.reach)
    }

    /// The first round that changed something.
    pub fn first(&self) -> Option<Checkpoint> {
        self.rounds.first().map(|round| round.checkpoint)
    }

    /// The state of the workspace after a round; `None` if no later round changed it, so that it is
    /// the current state.
    ///
    /// This is the snapshot before the next round: it includes the person's own changes and undone
    /// rounds. The snapshot after a round covers only the files that the round names.
    pub fn after(&self, number: u32) -> Option<Snapshot> {
        let is_later = |round: &&RoundCheckpoints| round.checkpoint.round > number;
        let next = self.rounds.iter().find(is_later)?.checkpoint;
        let last = self.rounds.iter().rfind(|round| !is_later(round));
        let is_between = |round: &u32| *round > number && *round < next.round;
        match last {
            // What nobody knows of came before the next one.
            Some(last) if self.uncovered.iter().any(is_between) => Some(last.checkpoint.after),
            _ => Some(next.before),
        }
    }

    /// The rounds that the latest undo or redo could not restore in full, in the order in which it
    /// goes through them, and the paths that are open.
    pub fn unfinished(
        &self,
        way: ReversalDirection,
    ) -> Option<(Vec<Checkpoint>, &BTreeSet<String>)> {
        let unfinished = self.unfinished.as_ref().filter(|one| one.way == way)?;
        let rounds = unfinished.rounds.iter();
        let rounds = rounds.filter_map(|round| self.round(*round)).collect();
        Some((rounds, &unfinished.paths))
    }

    /// True if the round was undone.
    pub fn is_undone(&self, number: u32) -> bool {
        self.rounds
            .iter()
            .any(|round| round.checkpoint.round == number && round.undo.is_some())
    }

    /// The rounds that an undo takes back: all after this one, the latest first.
    pub fn undoable(&self, after: u32) -> Vec<Checkpoint> {
        self.rounds
            .iter()
            .rev()
            .filter(|round| round.undo.is_none() && round.checkpoint.round > after)
            .map(|round| round.checkpoint)
            .collect()
    }

    /// The workspace before and after each round that an undo takes back, the earliest first.
    pub fn snapshots(&self, after: u32) -> Vec<(Snapshot, Snapshot)> {
        let rounds = self.undoable(after).into_iter().rev();
        rounds.map(|round| (round.before, round.after)).collect()
    }

    /// The workspace before and after each round, also of those that are undone, the earliest first.
    pub fn all_snapshots(&self) -> Vec<(Snapshot, Snapshot)> {
        let rounds = self.rounds.iter().map(|round| round.checkpoint);
        rounds.map(|round| (round.before, round.after)).collect()
    }

    /// The rounds after this one that no undo can take back, because there is no checkpoint of them.
    pub fn uncovered(&self, after: u32) -> Vec<u32> {
        let later = self.uncovered.iter().copied();
        later.filter(|round| *round > after).collect()
    }

    /// The rounds that a redo restores, in order: those of the latest undo.
    ///
    /// Nothing if a later round changed something: its files are built on what is there now.
    pub fn redoable(&self) -> Vec<Checkpoint> {
        let is_done = |round: &RoundCheckpoints| round.undo.is_none();
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
    use crate::fs::{Durability, write_atomic};

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
            original: None,
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
            open: Vec::new(),
        });
    }

    fn redo(history: &mut History) -> Vec<u32> {
        let rounds = numbers(&history.redoable());
        history.take(&Record::Redone {
            rounds: rounds.clone(),
            open: Vec::new(),
        });
        rounds
    }

    fn numbers(rounds: &[Checkpoint]) -> Vec<u32> {
        rounds.iter().map(|round| round.round).collect()
    }

    #[test]
    fn what_could_not_be_restored_is_open_until_a_later_round_changes_files() {
        let mut history = history(2);
        history.take(&Record::Undone {
            rounds: vec![2, 1],
            open: vec!["a.txt".to_owned()],
        });
        assert_eq!(history.unfinished(ReversalDirection::Redo), None);
        let (rounds, paths) = history.unfinished(ReversalDirection::Undo).unwrap();
        assert_eq!(numbers(&rounds), [2, 1]);
        assert!(paths.contains("a.txt"));
        assert_eq!(numbers(&history.redoable()), [1, 2]);
        work(&mut history, 3);
        assert_eq!(history.unfinished(ReversalDirection::Undo), None);
    }

    #[test]
    fn after_a_round_is_what_the_next_one_found() {
        let mut history = history(2);
        let (found, left) = (snapshot(70), snapshot(71));
        let before = whole(found);
        history.take(&Record::Before {
            sequence: 4,
            before,
        });
        history.take(&Record::After {
            sequence: 4,
            snapshot: left,
        });
        assert_eq!(history.after(1), Some(snapshot(2)));
        assert_eq!(history.after(2), Some(found));
        assert_eq!(history.after(4), None);
        history.take(&Record::Uncovered { sequence: 3 });
        assert_eq!(history.after(2), Some(snapshot(3)));
        assert_eq!(history.after(3), Some(found));
    }

    #[test]
    fn a_line_that_is_no_record_is_named() {
        for damaged in [
            "{\"event\":\"undone\",\"round\":1}",
            "{\"event\":\"before\",\"sequence\":1,\"snapshot\":\"zz\"}",
            "",
        ] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("j.jsonl");
            let text = format!("{{\"event\":\"reopened\",\"sequence\":1}}\n{damaged}\n");
            write_atomic(&path, text.as_bytes(), Durability::Atomic).unwrap();
            let error = History::read(&path).unwrap_err();
            assert!(error.to_string().starts_with("line 2 of `"), "{error}");
        }
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
