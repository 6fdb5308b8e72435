//! Steps that are given up after somebody else has changed what they had made.

use std::fs;
use std::path::Path;

use super::super::super::stage::{create, patch, path, rename, stage};
use super::super::{NewContent, Staging};
use super::*;
use crate::protocol::FileChange;

/// Checks the outcome of a step that wrote `a`, removed `b`, moved `c` to `d` and made `e`, was
/// then disturbed, and failed.
#[track_caller]
fn case(disturb: impl Fn(&Path), expected: &[(&str, &str)], words: &[&str], left: &[&str]) {
    let stage = stage(&[("a", "old a\n"), ("b", "old b\n"), ("c", "old c\n")]);
    let mut staging = Staging::new(&stage.workspace);
    let new = NewContent::new(b"new\n");
    staging
        .write(&path("a"), &new, ExecutableBit::Keep)
        .unwrap();
    staging.remove(&path("b")).unwrap();
    staging.rename(&path("c"), &path("d")).unwrap();
    staging
        .write(&path("e"), &new, ExecutableBit::Keep)
        .unwrap();
    staging
        .write(&path("never"), &new, ExecutableBit::Keep)
        .unwrap();
    let changes = staging.take();
    let undo = changes[..4].iter().map(|change| {
        let made = MadeDirectories::default();
        make_reversibly(&stage.workspace, change, staging.stats(), &made).unwrap()
    });
    let undo = undo.collect();
    disturb(stage.directory.path());
    let problem = FileProblem::Changed(path("never"));
    let failure = give_up(&stage.workspace, &changes, undo, &problem);
    let entries = fs::read_dir(stage.directory.path()).unwrap();
    let mut found: Vec<(String, String)> = entries
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read_to_string(entry.path()).unwrap_or_default())
        })
        .collect();
    found.sort();
    let found: Vec<(&str, &str)> = (found.iter())
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    assert_eq!(found, expected, "{failure:?}");
    for word in words {
        assert!(failure.message.contains(word), "{word}: {failure:?}");
    }
    let is_undone = failure.message.starts_with("nothing was changed: ");
    assert_eq!(is_undone, left.is_empty(), "{failure:?}");
    let left: Vec<RelPath> = left.iter().map(|name| path(name)).collect();
    assert_eq!(failure.left, left);
}

const BEFORE: &[(&str, &str)] = &[("a", "old a\n"), ("b", "old b\n"), ("c", "old c\n")];

#[test]
fn all_is_as_it_was() {
    case(|_| {}, BEFORE, &["`never` was changed"], &[]);
}

#[test]
fn a_file_that_is_gone_comes_back() {
    let disturb = |root: &Path| {
        fs::remove_file(root.join("a")).unwrap();
        fs::remove_file(root.join("e")).unwrap();
    };
    case(disturb, BEFORE, &[], &[]);
}

#[test]
fn the_old_content_is_kept_where_a_directory_is_in_its_place() {
    let disturb = |root: &Path| {
        fs::remove_file(root.join("a")).unwrap();
        fs::create_dir(root.join("a")).unwrap();
    };
    let expected = &[
        ("a", ""),
        ("a.kept", "old a\n"),
        ("b", "old b\n"),
        ("c", "old c\n"),
    ];
    let words = &["`a` is a directory", "held before is kept in `a.kept`"];
    case(disturb, expected, words, &["a", "a.kept"]);
}

#[test]
fn what_somebody_wrote_stays_and_the_old_content_is_kept_beside_it() {
    let disturb = |root: &Path| {
        for name in ["a", "a.kept", "b", "c", "e"] {
            let file = root.join(name);
            crate::fs::write_atomic(&file, b"mine\n", crate::fs::Durability::Atomic).unwrap();
        }
    };
    let expected = &[
        ("a", "mine\n"),
        ("a.kept", "mine\n"),
        ("a.kept-2", "old a\n"),
        ("b", "mine\n"),
        ("b.kept", "old b\n"),
        ("c", "mine\n"),
        ("d", "old c\n"),
        ("e", "mine\n"),
    ];
    let words = &["`a.kept-2`", "`b.kept`", "`c` exists already"];
    let left = &["e", "d", "c", "b", "b.kept", "a", "a.kept-2"];
    case(disturb, expected, words, left);
}

#[test]
fn directories_that_were_made_for_nothing_go() {
    let too_long = "n".repeat(300);
    let mut stage = stage(&[("kept/a", "1\n"), ("b", "2\n")]);
    let add = |name: &str| FileChange::Add {
        path: path(name),
        content: "x\n".to_owned(),
        mode: None,
        overwrite: false,
    };
    let patched = patch(vec![
        add("new/deep/x"),
        add("kept/more/x"),
        add(&format!("other/{too_long}")),
    ]);
    stage.fails(patched, "nothing was changed");
    stage.fails(create(&format!("d1/d2/{too_long}"), "x\n"), &too_long);
    stage.fails(rename("b", &format!("d3/{too_long}")), "could not move `b`");
    let mut found: Vec<String> = (fs::read_dir(stage.directory.path()).unwrap())
        .chain(fs::read_dir(stage.directory.path().join("kept")).unwrap())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, ["a", "b", "kept"]);
}

#[test]
fn a_directory_that_somebody_uses_stays() {
    let stage = stage(&[]);
    let made = MadeDirectories::default();
    let staging = stage.workspace.stage(
        crate::workspace::StagingTarget {
            path: &path("d/e/x"),
            like: None,
            mark: "1",
        },
        b"x",
        ExecutableBit::Keep,
    );
    stage
        .workspace
        .put(&staging.unwrap().0, &path("d/e/x"), &made)
        .unwrap();
    stage
        .workspace
        .rename(&path("d/e/x"), &path("d/mine"))
        .unwrap();
    stage.workspace.remove_made(made);
    assert!(stage.directory.path().join("d/mine").exists());
    assert!(!stage.directory.path().join("d/e").exists());
}
