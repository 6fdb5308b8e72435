//! All of a patch or nothing of it.

mod moves;

use std::os::unix::fs::{PermissionsExt, symlink};

use super::super::stage::{Stage, hunk, insert, lines, patch, path, replace, stage, update};
use super::*;
use crate::protocol::{Hunk, Status};

fn add(name: &str, content: &str) -> FileChange {
    FileChange::Add {
        path: path(name),
        content: content.to_owned(),
        mode: None,
        overwrite: false,
    }
}

fn remove(name: &str, hunks: Vec<Hunk>) -> FileChange {
    FileChange::Delete {
        path: path(name),
        hunks,
    }
}

fn moved(from: &str, to: &str, lines: &[&str]) -> FileChange {
    FileChange::Update {
        path: path(from),
        move_to: Some(path(to)),
        copy: false,
        overwrite: false,
        mode: None,
        hunks: if lines.is_empty() {
            Vec::new()
        } else {
            vec![hunk(lines)]
        },
    }
}

/// Nothing but these files is there.
#[track_caller]
fn holds(stage: &Stage, files: &[(&str, &str)]) {
    let found = stage.workspace.walk(None).unwrap().files;
    let found: Vec<(String, String)> = found
        .iter()
        .map(|found| (found.path.to_string(), stage.text(found.path.as_str())))
        .collect();
    let expected: Vec<(String, String)> = files
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_file_that_is_there_is_added_only_as_a_whole() {
    let lines: Vec<String> = (1..=12).map(|line| format!("line {line}\n")).collect();
    let text = lines.concat();
    let put = |content: &str| {
        let mut change = add("a", content);
        if let FileChange::Add { overwrite, .. } = &mut change {
            *overwrite = true;
        }
        patch(vec![change])
    };
    let mut stage = stage(&[("a", &text)]);
    for part in ["line 3\nline 4\n", "something else\n"] {
        stage.fails(put(part), "may be only a part of it");
        assert_eq!(stage.text("a"), text);
    }
    let new = text.replace("line 3", "third");
    stage.succeeds(vec![put(&new)]);
    assert_eq!(stage.text("a"), new);
}

#[test]
fn changes_many_files_at_once() {
    let mut stage = stage(&[("a", "1\n2\n"), ("b", "x\n"), ("c", "y\n")]);
    let outcome = stage.one(patch(vec![
        update("a", &["-1", "+one"]),
        update("a", &["-2", "+two"]),
        add("d/new", "new\n"),
        remove("b", vec![hunk(&["-x"])]),
        moved("c", "e/c", &["-y", "+why"]),
    ]));
    assert_eq!(
        (outcome.status, outcome.message.as_str()),
        (Status::Ok, "patched 4 files")
    );
    assert_eq!(
        outcome.detail.text,
        "updated a\nupdated a\nadded d/new\ndeleted b\nmoved c to e/c\nupdated e/c"
    );
    assert_eq!(outcome.changed, ["a", "b", "c", "d/new", "e/c"].map(path));
    holds(
        &stage,
        &[("a", "one\ntwo\n"), ("d/new", "new\n"), ("e/c", "why\n")],
    );
}

#[test]
fn one_trouble_stops_all_of_it() {
    let files = &[("a", "1\n"), ("b", "x\n")][..];
    for (bad, words) in [
        (update("b", &["-nowhere", "+x"]), "`b`"),
        (update("gone", &["-x", "+y"]), "`gone` does not exist"),
        (add("b", "other\n"), "`b` exists already"),
        (remove("gone", Vec::new()), "`gone` does not exist"),
        (remove("b", vec![hunk(&["-other"])]), "`b`"),
        (moved("b", "a", &[]), "`a` exists already"),
        (add("a/below", "x\n"), "`a` is not a directory"),
        (
            FileChange::Add {
                path: path("link"),
                content: "a".to_owned(),
                mode: Some(0o120_000),
                overwrite: false,
            },
            "a link or a submodule",
        ),
    ] {
        let mut stage = stage(files);
        let outcome = stage.fails(patch(vec![update("a", &["-1", "+one"]), bad]), words);
        assert!(
            outcome.message.starts_with("nothing was changed: "),
            "{}",
            outcome.message
        );
        assert!(outcome.changed.is_empty());
        holds(&stage, files);
    }
}

#[test]
fn many_files_are_patched_together_or_not_at_all() {
    use super::super::staging::{NewContent, Staging, carry_out::carry_out};
    use crate::workspace::ExecutableBit;

    let names: Vec<String> = (0..40)
        .map(|number| format!("d{}/{number:02}", number / 14))
        .collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "old\n")).collect();
    let mut stage = stage(&files);
    let mut staging = Staging::new(&stage.workspace);
    for name in &names {
        staging.read(&path(name), u64::MAX).unwrap();
        let content = NewContent::new(b"never\n");
        staging
            .write(&path(name), &content, ExecutableBit::Keep)
            .unwrap();
    }
    stage.change(&names[20], "mine\n");
    let changes = staging.take();
    let problem = carry_out(&stage.workspace, &changes, staging.stats())
        .unwrap_err()
        .message;
    assert!(
        problem.contains("was changed by somebody else"),
        "{problem}"
    );
    stage.change(&names[20], "old\n");
    holds(&stage, &files);

    let changes = names.iter().map(|name| update(name, &["-old", "+new"]));
    stage.succeeds(vec![patch(changes.collect())]);
    let patched: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "new\n")).collect();
    holds(&stage, &patched);
    for directory in ["d0", "d1", "d2"] {
        let entries = std::fs::read_dir(stage.directory.path().join(directory)).unwrap();
        let entries: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        assert!(
            entries.len() <= 14,
            "no temporary file is left: {entries:?}"
        );
    }
}

#[test]
fn a_change_that_fails_takes_the_others_back() {
    use super::super::staging::{NewContent, Staging, carry_out::carry_out};
    use crate::workspace::ExecutableBit;

    let files = &[("a", "1\n"), ("b", "2\n"), ("c", "3\n"), ("e", "4\n")][..];
    let stage = stage(files);
    let mut staging = Staging::new(&stage.workspace);
    let write = |staging: &mut Staging<'_>, name: &str| {
        staging
            .write(
                &path(name),
                &NewContent::new(b"new\n"),
                ExecutableBit::Executable,
            )
            .unwrap();
    };
    write(&mut staging, "a");
    write(&mut staging, "new");
    staging.remove(&path("b")).unwrap();
    staging.rename(&path("c"), &path("d")).unwrap();
    write(&mut staging, "d");
    let problem = staging.write(
        &path("a/impossible"),
        &NewContent::new(b""),
        ExecutableBit::Keep,
    );
    assert_eq!(
        problem.unwrap_err().to_string(),
        "`a/impossible` cannot be created: `a` is not a directory"
    );
    write(&mut staging, "e");
    holds(&stage, files);
    stage.change("e", "somebody else\n");
    let changes = staging.take();
    let problem = carry_out(&stage.workspace, &changes, staging.stats())
        .unwrap_err()
        .message;
    assert!(
        problem.starts_with("nothing was changed: `e` was changed by somebody else"),
        "{problem}"
    );
    let mut left = files.to_vec();
    left[3].1 = "somebody else\n";
    holds(&stage, &left);
    let entries = std::fs::read_dir(stage.directory.path()).unwrap();
    assert_eq!(entries.count(), files.len(), "no temporary file is left");
    let mode = stage
        .directory
        .path()
        .join("a")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o111, 0);
}

#[test]
fn several_troubles_are_told_at_once() {
    let mut stage = stage(&[("src/main.rs", "x\n")]);
    let outcome = stage.fails(
        patch(vec![
            update("main.rs", &["-x", "+y"]),
            update("main.rs", &["-y", "+z"]),
            add("src/main.rs", "other\n"),
        ]),
        "`main.rs` does not exist; did you mean `src/main.rs`? (and 1 more problem below)",
    );
    assert_eq!(outcome.detail.text, "`src/main.rs` exists already");
}

#[test]
fn a_file_may_be_added_moved_and_deleted_in_one_patch() {
    let mut stage = stage(&[("a", "1\n")]);
    stage.succeeds(vec![patch(vec![
        moved("a", "b", &[]),
        add("a/inside", "2\n"),
        moved("b", "c", &["-1", "+one"]),
        add("b", "3\n"),
        update("b", &["-3", "+three"]),
        add("tmp", "x\n"),
        remove("tmp", Vec::new()),
    ])]);
    holds(
        &stage,
        &[("a/inside", "2\n"), ("b", "three\n"), ("c", "one\n")],
    );
}

#[test]
fn a_change_of_nothing_makes_a_file_that_is_not_there() {
    let from_line = |name: &str, line: u32| {
        let mut change = update(name, &["+one", "+two"]);
        if let FileChange::Update { hunks, .. } = &mut change {
            hunks[0].old_start = Some(line);
        }
        patch(vec![change])
    };
    let mut stage = stage(&[("empty", ""), ("full", "x\n")]);
    stage.fails(from_line("new", 1), "`new` does not exist");
    stage.succeeds(
        ["new", "empty", "full"]
            .map(|name| from_line(name, 0))
            .into(),
    );
    assert_eq!(stage.text("new"), "one\ntwo\n");
    assert_eq!(stage.text("empty"), "one\ntwo\n");
    assert_eq!(stage.text("full"), "one\ntwo\nx\n");
}

#[test]
fn the_executable_bit_is_set_and_kept() {
    let mut stage = stage(&[("a", "1\n"), ("b", "1\n")]);
    let mode = |name: &str, mode: Option<u32>, lines: &[&str]| FileChange::Update {
        path: path(name),
        move_to: None,
        copy: false,
        overwrite: false,
        mode,
        hunks: lines.iter().map(|line| hunk(&[line])).collect(),
    };
    stage.succeeds(vec![patch(vec![
        mode("a", Some(0o100_755), &[]),
        FileChange::Add {
            path: path("new"),
            content: String::new(),
            mode: Some(0o100_755),
            overwrite: false,
        },
    ])]);
    stage.succeeds(vec![patch(vec![
        moved("a", "moved", &["-1", "+one"]),
        FileChange::Update {
            path: path("moved"),
            move_to: Some(path("copy")),
            copy: true,
            overwrite: false,
            mode: None,
            hunks: vec![hunk(&["-one", "+two"])],
        },
        mode("new", Some(0o100_644), &[]),
    ])]);
    let is_executable = |name: &str| {
        let metadata = stage.directory.path().join(name).metadata().unwrap();
        metadata.permissions().mode() & 0o111 != 0
    };
    assert!(is_executable("moved"));
    assert!(!is_executable("new"));
    assert_eq!(stage.text("moved"), "one\n");
    assert_eq!(stage.text("copy"), "two\n");
}

#[test]
fn nothing_is_patched_through_links() {
    let outside = tempfile::tempdir().unwrap();
    let mut stage = stage(&[("a", "1\n"), ("source", "1\n")]);
    let root = stage.directory.path();
    symlink(outside.path(), root.join("dir")).unwrap();
    symlink("a", root.join("link")).unwrap();
    for change in [
        update("link", &["-1", "+x"]),
        add("link", "x\n"),
        add("dir/new", "x\n"),
        remove("link", Vec::new()),
        moved("source", "dir/new", &[]),
        moved("source", "link", &["-1", "+x"]),
        moved("link", "elsewhere", &[]),
    ] {
        stage.fails(patch(vec![change]), "is a symbolic link");
    }
    assert_eq!(outside.path().read_dir().unwrap().count(), 0);
    assert_eq!(stage.text("a"), "1\n");
    assert_eq!(stage.text("source"), "1\n");
}

#[test]
fn adding_what_is_there_already_is_a_success() {
    let mut stage = stage(&[("a", "1\n")]);
    let outcome = stage.one(patch(vec![add("a", "1\n")]));
    assert_eq!(
        (outcome.status, outcome.level, outcome.changed.len()),
        (Status::Ok, Some(Level::AlreadyApplied), 0)
    );
}

#[test]
fn a_change_that_an_earlier_step_made_is_not_made_twice() {
    let added = || update("a", &[" 1", " ", "+new"]);
    let edit = || replace("a", &[("1\n", "1\n\nnew\n")]);
    for commands in [
        vec![edit(), patch(vec![added()])],
        vec![patch(vec![added()]), edit()],
        vec![patch(vec![added()]), patch(vec![added()])],
    ] {
        let mut stage = stage(&[("a", "0\n1\n\n2\n")]);
        let outcomes = stage.reply(commands);
        assert_eq!(
            (outcomes[1].status, outcomes[1].level),
            (Status::Ok, Some(Level::AlreadyApplied))
        );
        assert_eq!(outcomes[1].changed.len(), 0);
        assert!(stage.text("a").starts_with("0\n1\n\nnew\n"));
        assert_eq!(stage.text("a").matches("new").count(), 1);
    }
}

#[test]
fn line_numbers_after_a_patch_are_mapped_and_known() {
    let mut stage = stage(&[("a", "1\n2\n3\n4\n")]);
    stage.show("a");
    stage.succeeds(vec![
        patch(vec![moved("a", "b", &[" 1", "+new", " 2"])]),
        lines("b", 4, 4, "four\n"),
    ]);
    assert_eq!(stage.text("b"), "1\nnew\n2\n3\nfour\n");
    stage.succeeds(vec![
        lines("b", 5, 5, "FOUR\n"),
        replace("b", &[("new\n", "NEW\n")]),
    ]);
    assert_eq!(stage.text("b"), "1\nNEW\n2\n3\nFOUR\n");
}

/// A diff of `a` with one hunk that begins at a line.
fn numbered(line: u32, lines: &[&str]) -> crate::protocol::Command {
    let hunk = Hunk {
        old_start: Some(line),
        ..hunk(lines)
    };
    patch(vec![FileChange::Update {
        path: path("a"),
        move_to: None,
        copy: false,
        overwrite: false,
        mode: None,
        hunks: vec![hunk],
    }])
}

const TWO_XS: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\nx\n11\n12\nx\n14\n";

#[test]
fn numbers_of_hunks_are_those_of_the_beginning_of_the_reply() {
    let mut stage = stage(&[("a", TWO_XS)]);
    stage.succeeds(vec![
        insert("a", 0, "new\nnew\n"),
        numbered(13, &["-x", "+CHANGED"]),
        numbered(5, &["+after five"]),
    ]);
    let expected = format!("new\nnew\n{TWO_XS}")
        .replace("12\nx", "12\nCHANGED")
        .replace("5\n", "5\nafter five\n");
    assert_eq!(stage.text("a"), expected);
    stage.change("a", TWO_XS);
    stage.succeeds(vec![
        numbered(1, &["-1", "+1", "+new", "+new"]),
        numbered(13, &["-x", "+CHANGED"]),
    ]);
    assert!(
        stage.text("a").contains("12\nCHANGED"),
        "{}",
        stage.text("a")
    );
}

#[test]
fn a_number_that_fits_before_and_after_an_earlier_step_chooses_nothing() {
    let mut stage = stage(&[("a", TWO_XS)]);
    let outcomes = stage.reply(vec![
        insert("a", 0, "new\nnew\nnew\n"),
        numbered(13, &["-x", "+CHANGED"]),
        numbered(13, &[" 12", "-x", "+CHANGED"]),
    ]);
    assert!(
        outcomes[1]
            .message
            .contains("matches 2 places, at lines 13, 16"),
        "{outcomes:?}"
    );
    assert_eq!(outcomes[2].status, Status::Ok, "{outcomes:?}");
    assert!(stage.text("a").contains("12\nCHANGED"));
}

#[test]
fn a_file_that_a_patch_names_again_is_as_the_change_before_left_it() {
    let section = |line: u32, lines: &[&str]| match numbered(line, lines) {
        crate::protocol::Command::ApplyPatch { changes } => changes[0].clone(),
        other => panic!("{other:?}"),
    };
    let grown = || section(1, &["+n1", "+n2", "+n3", " 1"]);
    let before = "1\nx\n2\n3\nx\n4\n5\nx\n6\n";
    let mut stage = stage(&[("a", before)]);
    stage.succeeds(vec![patch(vec![
        grown(),
        section(5, &["-x", "+CHANGED"]),
        section(11, &["-x", "+LAST"]),
        section(12, &["+end"]),
    ])]);
    let expected = "n1\nn2\nn3\n1\nCHANGED\n2\n3\nx\n4\n5\nLAST\n6\nend\n";
    assert_eq!(stage.text("a"), expected);
    stage.change("a", before);
    let outcomes = stage.reply(vec![
        insert("a", 9, "after six\n"),
        patch(vec![grown(), section(5, &["-x", "+CHANGED"])]),
        patch(vec![grown(), section(5, &[" 1", "-x", "+CHANGED"])]),
    ]);
    assert!(
        outcomes[1].message.contains("matches 3 places"),
        "both an earlier step and the patch moved it: {outcomes:?}"
    );
    assert_eq!(outcomes[2].status, Status::Ok, "{outcomes:?}");
}

#[test]
fn a_line_that_this_reply_changed_is_no_place_for_a_hunk() {
    let mut stage = stage(&[("a", TWO_XS)]);
    let outcomes = stage.reply(vec![
        lines("a", 4, 6, "four to six\n"),
        numbered(5, &["+after five"]),
        numbered(5, &["-x", "+y"]),
    ]);
    assert_eq!(outcomes[1].status, Status::Failed, "{outcomes:?}");
    assert!(outcomes[1].hint == "quote lines around it", "{outcomes:?}");
    assert!(
        outcomes[2].message.contains("matches 2 places"),
        "{outcomes:?}"
    );
}

#[test]
fn numbers_of_a_file_that_changed_behind_the_models_back_are_not_believed() {
    let mut stage = stage(&[("a", TWO_XS)]);
    stage.show("a");
    let changed = format!("101\n102\n103\n{TWO_XS}");
    stage.change("a", &changed);
    for command in [numbered(5, &["+after five"]), numbered(13, &["-x", "+y"])] {
        let outcome = stage.fails(command, "`a` may not be as it was last shown");
        assert!(outcome.changed.is_empty());
    }
    stage.succeeds(vec![numbered(12, &[" 12", "-x", "+y", " 14"])]);
    assert_eq!(stage.text("a"), changed.replace("12\nx", "12\ny"));
}
