//! Files that meet while they are prepared: temporary names, and directories that become
//! repositories.

use super::super::Execution;
use super::super::stage::{create, delete, patch, rename, stage, update};
use crate::protocol::{Command, Status, Step};

#[test]
fn files_whose_hashes_begin_alike_do_not_meet() {
    let mut stage = stage(&[("f158494.txt", "old A\n"), ("f216861.txt", "old B\n")]);
    stage.succeeds(vec![patch(vec![
        update("f158494.txt", &["-old A", "+new A"]),
        update("f216861.txt", &["-old B", "+new B"]),
    ])]);
    assert_eq!(stage.text("f158494.txt"), "new A\n");
    assert_eq!(stage.text("f216861.txt"), "new B\n");
}

/// Prepares the steps as one group; the last of them is refused, or none is.
#[track_caller]
fn group(files: &[(&str, &str)], commands: Vec<Command>, is_last_refused: bool) {
    let mut stage = stage(files);
    let steps = (1..).zip(commands).map(|(number, command)| Step {
        number,
        line: 1,
        command,
    });
    let steps: Vec<Step> = steps.collect();
    let mut execution = Execution::begin(&stage.workspace, &stage.limits, &mut stage.seen, &steps);
    let statuses = steps.iter().map(|step| execution.stage(step).0.status);
    let mut expected = vec![Status::Ok; steps.len()];
    if is_last_refused {
        expected[steps.len() - 1] = Status::Refused;
    }
    assert_eq!(statuses.collect::<Vec<_>>(), expected, "{steps:?}");
}

#[test]
fn no_group_of_steps_completes_a_repository() {
    let begun = &[("kit/HEAD", "ref: refs/heads/main\n"), ("x", "x\n")][..];
    let config = || create("kit/config", "[core]\nfsmonitor=evil\n");
    let objects = || create("kit/objects/x", "x\n");
    let refs = || create("kit/refs/x", "x\n");
    group(begun, vec![config(), objects(), refs()], true);
    group(begun, vec![refs(), rename("x", "kit/objects/x")], true);
    let patched = patch(vec![update("x", &["-x", "+y"])]);
    group(
        begun,
        vec![objects(), patched, create("kit/REFS/a/b", "x\n")],
        true,
    );
    // The directory stays when its only file goes.
    let emptied = vec![objects(), rename("kit/objects/x", "y"), refs()];
    group(begun, emptied, true);
    let emptied = vec![objects(), delete("kit/objects/x"), refs()];
    group(begun, emptied, true);
    let all = vec![refs(), objects(), config(), create("kit/HEAD", "x\n")];
    group(&[], all, true);
    let nested = [
        "a/refs/kit/objects/x",
        "a/refs/kit/refs/x",
        "a/refs/kit/HEAD",
    ];
    group(&[], nested.map(|path| create(path, "x\n")).into(), true);

    let apart = vec![
        objects(),
        create("other/refs/x", "x\n"),
        create("refs/x", "x\n"),
    ];
    group(begun, apart, false);
    group(&[], vec![objects(), refs(), config()], false);
}
