//! A batch that is stopped after any number of its changes, and files that somebody else changed.

use std::collections::BTreeMap;

use super::super::stage::{Stage, create, delete, patch, path, rename, replace, stage, update};
use super::super::{Execution, Limits};
use super::*;
use crate::protocol::{Command, SeenFiles, Status, Step};

fn make_one(stage: &Stage, change: &StagedChange) {
    let made = MadeDirectories::default();
    make(&stage.workspace, change, &Stats::new(), &made).unwrap();
}

fn prepared(stage: &Stage, commands: Vec<Command>) -> StagedBatch {
    let limits = Limits::default();
    let mut seen = SeenFiles::default();
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
    StagedBatch { steps, files }
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
            make_one(&stage, change);
        }
        let settled = settle(&stage.workspace, &batch, &mut nobody);
        assert_eq!(files(&stage), undisturbed, "after {done}");
        let planned: Vec<StepResult> = batch.steps.iter().map(|step| step.result.clone()).collect();
        assert_eq!(settled.results, planned, "after {done}");
        assert_eq!(settled.files, batch.files);
    }
}

#[test]
fn what_could_not_be_kept_stays_under_its_temporary_name() {
    let stage = stage(FILES);
    let batch = prepared(&stage, vec![replace("a", &[("1\n", "one\n")])]);
    stage.change("a", "mine\n");
    let settled = settle(&stage.workspace, &batch, &mut |_, _| {
        Err("no room".to_owned())
    });
    let StagedChange::Write { staged, .. } = &batch.steps[0].changes[0] else {
        panic!("{batch:?}");
    };
    assert_eq!(stage.text(staged.as_str()), "one\n");
    assert_eq!(stage.text("a"), "mine\n");
    let message = &settled.results[0].outcome.message;
    assert!(
        message.contains(staged.as_str()) && message.contains("no room"),
        "{message}"
    );
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
    make_one(&stage, &batch.steps[0].changes[0]);
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
    make_one(&stage, &batch.steps[0].changes[0]);
    stage.change("a", "mine\n");
    make_one(&stage, &batch.steps[1].changes[0]);
    let settled = settle(&stage.workspace, &batch, &mut nobody);
    assert!(
        settled
            .results
            .iter()
            .all(|result| result.outcome.status == Status::Ok)
    );
    assert_eq!(stage.text("a"), "mine\n");
}

/// A patch of so many files that several threads put them into place.
fn many(count: usize) -> (Stage, StagedBatch) {
    let names: Vec<String> = (0..count).map(|number| format!("f{number:02}")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "old\n")).collect();
    files.extend([("gone", "g\n"), ("from", "moved\n")]);
    let stage = stage(&files);
    let updates = names.iter().map(|name| update(name, &["-old", "+new"]));
    let commands = vec![
        delete("gone"),
        rename("from", "to"),
        patch(updates.collect()),
        create("last", "l\n"),
    ];
    let batch = prepared(&stage, commands);
    (stage, batch)
}

/// Makes a change as a patch of many does: what the file held lies under the temporary name.
fn exchange(stage: &Stage, change: &StagedChange) {
    let StagedChange::Write { path, staged, .. } = change else {
        panic!("{change:?}");
    };
    let is_done = (stage.workspace).exchange(staged, path, |_| Ok(true));
    if !is_done.unwrap() {
        make_one(stage, change);
    }
}

#[test]
fn files_of_one_patch_are_made_in_any_order() {
    // Which of the files were put into place when the program was stopped.
    let gaps: [fn(usize) -> bool; 5] = [
        |_| false,
        |number| number % 2 == 1,
        |number| number != 7,
        |number| number == 19,
        |_| true,
    ];
    for (case, is_done) in gaps.iter().enumerate() {
        let (stage, batch) = many(20);
        for step in &batch.steps[..2] {
            make_one(&stage, &step.changes[0]);
        }
        for (number, change) in batch.steps[2].changes.iter().enumerate() {
            if is_done(number) {
                exchange(&stage, change);
            }
        }
        let settled = settle(&stage.workspace, &batch, &mut nobody);
        for (told, step) in settled.results.iter().zip(&batch.steps) {
            assert_eq!(*told, step.result, "case {case}");
        }
        let files = files(&stage);
        assert_eq!(files.len(), 22, "case {case}: {:?}", files.keys());
        assert!((0..20).all(|number| files[&format!("f{number:02}")] == "new\n"));
        assert_eq!((&*files["to"], &*files["last"]), ("moved\n", "l\n"));
    }
}

#[test]
fn what_a_file_held_before_is_not_taken_for_what_was_meant() {
    let (stage, batch) = many(20);
    for step in &batch.steps[..2] {
        make_one(&stage, &step.changes[0]);
    }
    let changes = &batch.steps[2].changes;
    for number in [3, 5, 6] {
        exchange(&stage, &changes[number]);
    }
    // One that was in place already, and one that was not.
    stage.change("f05", "mine\n");
    stage.change("f11", "mine\n");
    let mut kept = Vec::new();
    let settled = settle(&stage.workspace, &batch, &mut |path, content| {
        kept.push((path.clone(), content.to_vec()));
        Ok("kept/f11".to_owned())
    });
    assert_eq!(kept, [(path("f11"), b"new\n".to_vec())]);
    let message = &settled.results[2].outcome.message;
    assert!(
        message.contains("`f11` was changed by somebody else"),
        "{message}"
    );
    assert_eq!(message.matches('`').count(), 6, "no other file: {message}");
    let files = files(&stage);
    assert_eq!(files.len(), 22, "{:?}", files.keys());
    for (name, text) in &files {
        let expected = match name.as_str() {
            "f05" | "f11" => "mine\n",
            "to" => "moved\n",
            "last" => "l\n",
            _ => "new\n",
        };
        assert_eq!(text, expected, "{name}");
    }
}

#[test]
fn a_step_that_was_given_up_is_not_told_as_made_and_the_others_are() {
    let (stage, batch) = many(20);
    for step in &batch.steps[..2] {
        make_one(&stage, &step.changes[0]);
    }
    stage.change("f11", "mine\n");
    let changes = &batch.steps[2].changes;
    super::super::staging::carry_out::carry_out(&stage.workspace, changes, &Stats::new())
        .unwrap_err();
    make_one(&stage, &batch.steps[3].changes[0]);
    let settled = settle(&stage.workspace, &batch, &mut nobody);
    let is_ok = |result: &StepResult| result.outcome.status == Status::Ok;
    let is_ok: Vec<bool> = settled.results.iter().map(is_ok).collect();
    assert_eq!(is_ok, [true, true, false, true]);
    let outcome = &settled.results[2].outcome;
    assert!(outcome.changed.is_empty(), "{outcome:?}");
    assert!(
        outcome.message.contains("`f07` was not written"),
        "{outcome:?}"
    );
}

#[test]
fn a_file_that_somebody_put_back_does_not_make_the_others_unwritten() {
    let stage = stage(FILES);
    let commands = vec![
        create("a", "one\n"),
        create("b", "two\n"),
        rename("c", "e"),
        create("c", "3\n"),
    ];
    let batch = prepared(&stage, commands);
    for step in &batch.steps {
        make_one(&stage, &step.changes[0]);
    }
    stage.change("a", "1\n");
    let settled = settle(&stage.workspace, &batch, &mut nobody);
    let is_ok = |result: &StepResult| result.outcome.status == Status::Ok;
    let is_ok: Vec<bool> = settled.results.iter().map(is_ok).collect();
    assert_eq!(is_ok, [false, true, true, true], "{settled:?}");
}

#[test]
fn a_file_that_only_becomes_executable_is_so_wherever_it_was_stopped() {
    use std::os::unix::fs::PermissionsExt;

    use super::super::staging::carry_out::carry_out;
    use crate::protocol::FileChange;

    let executable = |name: &str| FileChange::Update {
        path: path(name),
        move_to: None,
        copy: false,
        overwrite: false,
        mode: Some(0o100_755),
        hunks: Vec::new(),
    };
    for is_carried_out in [false, true] {
        let stage = stage(FILES);
        let batch = prepared(&stage, vec![patch(vec![executable("a"), executable("b")])]);
        if is_carried_out {
            carry_out(&stage.workspace, &batch.steps[0].changes, &Stats::new()).unwrap();
        }
        settle(&stage.workspace, &batch, &mut nobody);
        for name in ["a", "b"] {
            let file = stage.directory.path().join(name);
            let mode = file.metadata().unwrap().permissions().mode();
            assert_ne!(mode & 0o111, 0, "{name}");
        }
        assert_eq!(files(&stage).len(), FILES.len());
    }
}
