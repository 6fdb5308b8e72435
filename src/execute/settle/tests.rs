//! A batch that is stopped after any number of its changes, and files that somebody else changed.

use super::super::stage::{Stage, create, delete, patch, path, rename, replace, stage, update};
use super::super::{Execution, Limits};
use super::*;
use crate::protocol::{Command, Seen, Status, Step};

fn prepared(stage: &Stage, commands: Vec<Command>) -> Batch {
    let limits = Limits::default();
    let mut seen = Seen::default();
    let steps: Vec<Step> = (1..)
        .zip(commands)
        .map(|(number, command)| Step {
            number,
            line: 1,
            command,
        })
        .collect();
    let mut execution = Execution::begin(&stage.workspace, &limits, &mut seen, &steps);
    execution.mark("test");
    let staged = steps.iter().map(|step| {
        let (outcome, changes) = execution.stage(step);
        assert_eq!(outcome.status, Status::Ok, "{outcome:?}");
        let result = StepResult::new(step, outcome, std::time::Duration::ZERO);
        StagedStep { result, changes }
    });
    let steps: Vec<StagedStep> = staged.collect();
    let changes: Vec<&StagedChange> = steps.iter().flat_map(|step| &step.changes).collect();
    let files = execution.files_of(&changes);
    Batch { steps, files }
}

fn files(stage: &Stage) -> BTreeMap<String, String> {
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let text = stage.text(&name);
        (name, text)
    };
    let entries = std::fs::read_dir(stage.directory.path()).unwrap();
    entries.map(read).collect()
}

const FILES: &[(&str, &str)] = &[("a", "1\n"), ("b", "2\n"), ("c", "3\n"), ("d", "4\n")];

/// Steps whose changes meet the same files again and again.
fn commands() -> Vec<Command> {
    vec![
        create("new", "n\n"),
        replace("a", &[("1\n", "one\n")]),
        rename("new", "other"),
        create("new", "again\n"),
        patch(vec![
            update("a", &["-one", "+1"]),
            update("b", &["-2", "+two"]),
            update("c", &["-3", "+three"]),
        ]),
        delete("d"),
        create("d", "4\n"),
    ]
}

fn nobody(_: &RelPath, _: &[u8]) -> Result<String, String> {
    Err("nothing had to be kept".to_owned())
}

#[test]
fn whatever_was_done_the_rest_is_done() {
    let undisturbed = {
        let stage = stage(FILES);
        let batch = prepared(&stage, commands());
        assert_eq!(files(&stage).len(), FILES.len() + 7);
        settle(&stage.workspace, &batch, &mut nobody);
        files(&stage)
    };
    assert_eq!(undisturbed["other"], "n\n");
    assert_eq!(undisturbed["b"], "two\n");
    let count = 9;
    for done in 0..=count {
        let stage = stage(FILES);
        let batch = prepared(&stage, commands());
        let changes = batch.steps.iter().flat_map(|step| &step.changes);
        assert_eq!(changes.clone().count(), count);
        for change in changes.take(done) {
            make(&stage.workspace, change, &Stats::new()).unwrap();
        }
        let settled = settle(&stage.workspace, &batch, &mut nobody);
        assert_eq!(files(&stage), undisturbed, "after {done}");
        let planned: Vec<StepResult> = batch.steps.iter().map(|step| step.result.clone()).collect();
        assert_eq!(settled.results, planned, "after {done}");
        assert_eq!(settled.files, batch.files);
    }
}

#[test]
fn a_file_that_somebody_changed_stays_and_what_was_meant_is_kept() {
    let stage = stage(FILES);
    let command = patch(vec![
        update("a", &["-1", "+one"]),
        update("b", &["-2", "+two"]),
        update("c", &["-3", "+three"]),
    ]);
    let batch = prepared(&stage, vec![command]);
    make(&stage.workspace, &batch.steps[0].changes[0], &Stats::new()).unwrap();
    stage.change("b", "mine\n");
    let mut kept = Vec::new();
    let settled = settle(&stage.workspace, &batch, &mut |path, content| {
        kept.push((path.clone(), content.to_vec()));
        Ok("kept/b".to_owned())
    });
    assert_eq!(kept, [(path("b"), b"two\n".to_vec())]);
    let expected = [
        ("a", "one\n"),
        ("b", "mine\n"),
        ("c", "three\n"),
        ("d", "4\n"),
    ];
    assert_eq!(
        files(&stage),
        expected
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .into()
    );
    let outcome = &settled.results[0].outcome;
    assert_eq!(outcome.status, Status::Failed);
    assert!(
        outcome.message.contains("`b` was changed by somebody else"),
        "{}",
        outcome.message
    );
    assert!(outcome.message.contains("kept/b"), "{}", outcome.message);
    assert_eq!(outcome.changed, [path("a"), path("c")]);
    assert!(settled.files.iter().all(|file| file.path != path("b")));
}

#[test]
fn a_directory_in_the_place_of_a_file_is_a_conflict_too() {
    let stage = stage(FILES);
    let batch = prepared(&stage, vec![create("a", "one\n"), delete("b")]);
    for name in ["a", "b"] {
        std::fs::remove_file(stage.directory.path().join(name)).unwrap();
        std::fs::create_dir(stage.directory.path().join(name)).unwrap();
    }
    let settled = settle(&stage.workspace, &batch, &mut |_, _| Ok("kept".to_owned()));
    for result in settled.results {
        assert_eq!(result.outcome.status, Status::Failed);
    }
}

#[test]
fn what_was_changed_after_it_was_written_is_no_conflict() {
    let stage = stage(FILES);
    let batch = prepared(&stage, vec![create("a", "one\n"), create("new", "n\n")]);
    make(&stage.workspace, &batch.steps[0].changes[0], &Stats::new()).unwrap();
    stage.change("a", "mine\n");
    make(&stage.workspace, &batch.steps[1].changes[0], &Stats::new()).unwrap();
    let settled = settle(&stage.workspace, &batch, &mut nobody);
    assert!(
        settled
            .results
            .iter()
            .all(|result| result.outcome.status == Status::Ok)
    );
    assert_eq!(stage.text("a"), "mine\n");
}
