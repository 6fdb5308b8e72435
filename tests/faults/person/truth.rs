use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Person;
use crate::injector::{Ran, Way};
use crate::story;

impl Person {
    /// Checks that each step reported as done is done, each other one is not, and none is half done.
    pub(super) fn check_truth(&mut self, outbox: &str) {
        let tree = self.tree();
        for step in story::STEPS {
            let prefix = format!("{}. [", step.number);
            let Some(line) = outbox.lines().find(|line| line.starts_with(&prefix)) else {
                self.troubles
                    .push(format!("lost: nothing is told of step {}", step.number));
                continue;
            };
            let is_told = line.starts_with(&format!("{prefix}OK]"));
            let done = step
                .with
                .iter()
                .filter(|(name, text)| tree.get(*name).map(String::as_str) == *text)
                .count();
            let is_unknown = step.is_command && line.contains("[FAILED]");
            let is_true = if is_told {
                done == step.with.len()
            } else {
                done == 0 || is_unknown
            };
            if !is_true {
                self.troubles
                    .push(format!("lost: this is not true: {line}"));
            }
        }
    }

    /// Returns true if the note is in the session's folder of notes.
    pub(super) fn is_noted(&self) -> bool {
        let sessions = story::read_tree(&self.base().join("sessions"));
        let is_note = |name: &String| name.contains("/notes/") && name.ends_with("txt");
        sessions
            .iter()
            .any(|(name, text)| is_note(name) && text == "well done")
    }

    pub(super) fn check_note(&mut self, outbox: &str) {
        let is_told = |words: &str| outbox.contains(words);
        let is_undone = !self.said.contains("$ agent undo") || is_told("undid round 2");
        if !is_told("well done") || !is_undone {
            self.troubles.push("lost: a note".to_owned());
        }
    }

    /// Remembers what a run said, and looks for what must never be.
    pub(super) fn take_in(&mut self, arguments: &[&str], way: Way<'_>, ran: &Ran) {
        if matches!(way, Way::Disturbed(_)) {
            self.was_hit = ran.is_met;
        }
        let (line, status) = (arguments.join(" "), ran.status);
        let _ = writeln!(self.said, "$ agent {line} -> {status}\n{}", ran.said);
        if matches!(ran.status.code(), Some(70 | 101)) {
            self.troubles.push("lost: a defect".to_owned());
        }
        let files = story::read_tree(&self.base().join("workspace"));
        let lines = |name: &str| files.get(name).map_or(0, |text| text.lines().count());
        if lines("log.txt") > 1 {
            self.troubles
                .push("repeated: the command ran twice".to_owned());
        }
        let begun = self.checks_begun();
        let is_repeated = begun.iter().any(|(round, times)| {
            let at_start = usize::from(*round == 1);
            *times > 1 + at_start
        });
        if is_repeated || lines("checked.log") > begun.values().sum() {
            self.troubles
                .push("repeated: the check ran twice for a round".to_owned());
        }
    }

    /// How often the journal says of each round that its check is run.
    fn checks_begun(&self) -> BTreeMap<u64, usize> {
        let mut begun = BTreeMap::new();
        let sessions = story::read_tree(&self.base().join("sessions"));
        let journals = sessions
            .iter()
            .filter(|(name, _)| name.strip_suffix(".jsonl").is_some());
        for line in journals.flat_map(|(_, text)| text.lines()) {
            let record: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            if let ("checking", Some(round)) = (
                record["event"].as_str().unwrap_or_default(),
                record["sequence"].as_u64(),
            ) {
                *begun.entry(round).or_default() += 1;
            }
        }
        begun
    }
}
