//! Asks the person about the steps of a reply that need it, before the first is carried out.
//!
//! What a step would do to files is tried on a copy, so that the question can show the difference.
//! Commands are not run for that: a difference that depends on one may turn out otherwise.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::apply::Rehearsal;
use crate::approve::{self, Asked, Decisions, Desk, EarlierChanges, Input, difference};
use crate::error::Result;
use crate::execute::{Execution, Limits};
use crate::policy::{Decision, Policy, Ruling};
use crate::protocol::{SeenFiles, Status, Step};
use crate::workspace::Workspace;

/// What questions about steps are made from.
#[derive(Debug)]
pub struct Consulting<'a> {
    /// The files.
    pub workspace: &'a Workspace,
    /// The bounds of what steps may do.
    pub limits: &'a Limits,
    /// What the model has seen of the files.
    pub seen: &'a SeenFiles,
    /// What decides which steps are asked about.
    pub policy: &'a Policy,
    /// Every step of the reply as the model wrote it, also those that are done already.
    pub reply: &'a [Step],
}

impl Consulting<'_> {
    /// Gets the decisions of the person; nothing if they interrupt.
    ///
    /// To be called before anything of the round is in the journal: then a killed loop comes back
    /// to the questions, and finds what was decided.
    pub fn ask(&self, desk: &Desk<'_>, round: u32, steps: &[Step]) -> Result<Option<Decisions>> {
        let rulings: Vec<(&Step, Ruling)> = steps
            .iter()
            .map(|step| (step, self.policy.rule_on(&step.command)))
            .filter(|(_, ruling)| ruling.decision == Decision::Ask)
            .collect();
        let changes_files = rulings.iter().any(|(step, _)| step.command.changes_files());
        // A decision that was made before is one about the very difference that was shown.
        let is_shown = desk.input == Input::Wait || !desk.pending.all().is_empty();
        let mut shown = if changes_files && is_shown {
            self.differences(steps)?
        } else {
            BTreeMap::new()
        };
        let mut earlier = EarlierChanges::default();
        let mut reply = self.reply.iter().peekable();
        let mut asked = Vec::with_capacity(rulings.len());
        for (step, ruling) in &rulings {
            while let Some(before) = reply.next_if(|before| before.number < step.number) {
                earlier.note(before);
            }
            let difference = shown.remove(&step.number);
            asked.push(Asked::new(self.policy, step, ruling, difference, &earlier));
        }
        approve::ask(desk, round, &asked)
    }

    /// What each file step would change, if those before it are carried out.
    fn differences(&self, steps: &[Step]) -> Result<BTreeMap<u32, String>> {
        let rehearsal = Rehearsal::prepare(self.workspace, steps, self.limits.max_file_bytes)?;
        let mut seen = self.seen.clone();
        let mut execution = Execution::begin(&rehearsal.workspace, self.limits, &mut seen, steps);
        let mut differences = BTreeMap::new();
        for step in steps.iter().filter(|step| step.command.changes_files()) {
            let paths = step.command.changed_paths();
            let texts = || -> Vec<Option<String>> {
                paths.iter().map(|path| rehearsal.text(path)).collect()
            };
            let before = texts();
            let outcome = execution.step(step);
            let mut shown = String::new();
            for ((path, before), after) in paths.iter().zip(before).zip(texts()) {
                if before != after {
                    shown += &difference(path, before.as_deref(), after.as_deref());
                }
            }
            if outcome.status != Status::Ok {
                let _ = writeln!(
                    shown,
                    "(as things are, this would fail: {})",
                    outcome.message
                );
            } else if shown.is_empty() {
                let _ = writeln!(shown, "({})", outcome.message);
            }
            differences.insert(step.number, shown);
        }
        Ok(differences)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Command, RelPath};

    #[test]
    fn each_difference_builds_on_those_before_it_and_touches_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        let path = |name: &str| RelPath::parse(name).unwrap();
        workspace.write(&path("a.txt"), b"one\n").unwrap();
        let commands = [
            Command::create_file(path("a.txt"), "two\n".to_owned()),
            Command::InsertText {
                path: path("a.txt"),
                line: 1,
                text: "three\n".to_owned(),
            },
            Command::DeleteFile {
                path: path("b.txt"),
            },
        ];
        let steps: Vec<Step> = (1..)
            .zip(commands)
            .map(|(number, command)| Step {
                number,
                line: 1,
                command,
            })
            .collect();
        let policy = Policy::new(directory.path(), None);
        let consulting = Consulting {
            workspace: &workspace,
            limits: &Limits::default(),
            seen: &SeenFiles::default(),
            policy: &policy,
            reply: &steps,
        };
        let shown = consulting.differences(&steps).unwrap();
        let header = "--- a/a.txt\n+++ b/a.txt\n";
        assert_eq!(shown[&1], format!("{header}@@ -1 +1 @@\n-one\n+two\n"));
        assert_eq!(shown[&2], format!("{header}@@ -1 +1,2 @@\n two\n+three\n"));
        assert!(shown[&3].contains("would fail"), "{}", shown[&3]);
        assert_eq!(workspace.read(&path("a.txt"), 100).unwrap(), b"one\n");
    }
}
