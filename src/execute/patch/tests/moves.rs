//! Files that change places, are overwritten or were moved before.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::super::super::stage::{patch, stage, update};
use super::{FileChange, add, holds, moved};

/// A move as `*** Move to` has it: a file in the way is overwritten.
fn moved_over(from: &str, to: &str, lines: &[&str]) -> FileChange {
    let mut change = moved(from, to, lines);
    if let FileChange::Update { overwrite, .. } = &mut change {
        *overwrite = true;
    }
    change
}

fn copied(from: &str, to: &str, lines: &[&str]) -> FileChange {
    let mut change = moved(from, to, lines);
    if let FileChange::Update { copy, .. } = &mut change {
        *copy = true;
    }
    change
}

/// Applies a patch to files of which each contains its own name.
#[track_caller]
fn moves(files: &[&str], changes: Vec<FileChange>, expected: &[(&str, &str)]) {
    let named: Vec<(&str, String)> = files
        .iter()
        .map(|name| (*name, format!("{name}\n")))
        .collect();
    let named: Vec<(&str, &str)> = named
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    let mut stage = stage(&named);
    stage.succeeds(vec![patch(changes)]);
    holds(&stage, expected);
}

#[test]
fn a_file_may_move_with_nothing_but_context() {
    moves(&["a"], vec![moved("a", "d/b", &[" a"])], &[("d/b", "a\n")]);
    let mut stage = stage(&[("a", "a\n")]);
    stage.fails(
        patch(vec![moved("a", "b", &[" other"])]),
        "`a`: hunk 1 of 1",
    );
    holds(&stage, &[("a", "a\n")]);
}

#[test]
fn files_may_change_places() {
    moves(
        &["a", "b"],
        vec![
            moved("a", "b", &["-a", "+A"]),
            moved("b", "a", &["-b", "+B"]),
        ],
        &[("a", "B\n"), ("b", "A\n")],
    );
    moves(
        &["a", "b", "c"],
        vec![
            moved("a", "b", &[]),
            moved("b", "c", &[]),
            moved("c", "a", &[]),
        ],
        &[("a", "c\n"), ("b", "a\n"), ("c", "b\n")],
    );
    moves(
        &["a", "b"],
        vec![moved("a", "b", &[]), moved("b", "c", &[])],
        &[("b", "a\n"), ("c", "b\n")],
    );
    // Nothing is lost either where a move may overwrite.
    moves(
        &["a", "b"],
        vec![moved_over("a", "b", &[]), moved_over("b", "a", &[])],
        &[("a", "b\n"), ("b", "a\n")],
    );
}

#[test]
fn files_that_change_places_take_their_bits_along() {
    let mut stage = stage(&[("a", "1\n"), ("b", "2\n")]);
    let at = |name: &str| stage.directory.path().join(name);
    std::fs::set_permissions(at("a"), PermissionsExt::from_mode(0o755)).unwrap();
    let (a, b) = (at("a"), at("b"));
    stage.succeeds(vec![patch(vec![
        moved("a", "b", &[]),
        moved("b", "a", &[]),
    ])]);
    let is_executable = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o111 != 0;
    assert_eq!((is_executable(&a), is_executable(&b)), (false, true));
}

#[test]
fn a_place_that_was_left_and_taken_again_is_not_overwritten() {
    let mut stage = stage(&[("a", "a\n"), ("b", "b\n")]);
    stage.fails(
        patch(vec![
            moved("a", "c", &[]),
            add("a", "new\n"),
            moved("b", "a", &[]),
        ]),
        "`a` exists already",
    );
    for to_one_place in [
        vec![moved_over("a", "c", &[]), moved_over("b", "c", &[])],
        vec![update("b", &["-b", "+x"]), moved_over("a", "b", &[])],
    ] {
        stage.fails(
            patch(to_one_place),
            "an earlier change of this patch writes it",
        );
    }
    stage.fails(
        patch(vec![moved("a", "c", &[]), update("a", &["-a", "+x"])]),
        "`a` is gone: an earlier change of this patch moves or deletes it",
    );
    stage.fails(
        patch(vec![
            moved("a", "b", &[]),
            moved("b", "a", &["-nowhere", "+x"]),
        ]),
        "`a`",
    );
    holds(&stage, &[("a", "a\n"), ("b", "b\n")]);
}

#[test]
fn a_copy_is_made_of_the_file_before_the_patch() {
    moves(
        &["a"],
        vec![update("a", &["-a", "+A"]), copied("a", "b", &["-a", "+B"])],
        &[("a", "A\n"), ("b", "B\n")],
    );
    moves(
        &["a"],
        vec![moved("a", "c", &[]), copied("a", "b", &[])],
        &[("b", "a\n"), ("c", "a\n")],
    );
    moves(
        &["a"],
        vec![update("a", &["-a", "+A"]), moved("a", "b", &["-A", "+B"])],
        &[("b", "B\n")],
    );
}

#[test]
fn an_envelope_may_move_a_file_over_another() {
    moves(
        &["a", "d/b"],
        vec![moved_over("a", "d/b", &["-a", "+new"])],
        &[("d/b", "new\n")],
    );
    let mut stage = stage(&[("a", "a\n"), ("b", "b\n")]);
    stage.fails(
        patch(vec![
            moved_over("a", "b", &[]),
            update("gone", &["-x", "+y"]),
        ]),
        "`gone` does not exist",
    );
    holds(&stage, &[("a", "a\n"), ("b", "b\n")]);
}

#[test]
fn a_file_that_was_moved_before_is_patched_where_it_is() {
    let mut stage = stage(&[("b", "old\n")]);
    let change = || vec![patch(vec![moved("a", "b", &["-old", "+new"])])];
    stage.succeeds(change());
    assert_eq!(stage.text("b"), "new\n");
    stage.fails(
        patch(vec![moved("a", "b", &["-other", "+x"])]),
        "`a` does not exist",
    );
    stage.fails(
        patch(vec![moved("a", "b", &["-  new", "+x"])]),
        "`a` does not exist",
    );
    stage.fails(patch(vec![moved("a", "b", &[])]), "`a` does not exist");
}
