//! A checkpoint of a repository, beside `git status` on the same tree.
//!
//! The tree is made here: so many files of a few lines, sixty to a directory, committed to git. In
//! each turn three files are changed, as a round does.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use agent::checkpoint::{CheckpointLimits, CheckpointStore};
use agent::workspace::Workspace;

use crate::Outcome;
use crate::measure::{median, ratio, run_time};
use crate::table::{Goal, Row, Table, milliseconds};

/// How many files, how many turns, and what is hoped for.
const SIZES: [(usize, usize, Hope); 2] = [
    (60, 41, Hope::Under(Duration::from_millis(10))),
    (80_000, 15, Hope::Times(2.0)),
];

#[derive(Debug, Clone, Copy)]
enum Hope {
    Under(Duration),
    Times(f64),
}

pub(crate) fn measure(table: &mut Table) -> Outcome {
    for (files, turns, hope) in SIZES {
        let directory = tempfile::tempdir()?;
        let tree = directory.path().join("tree");
        make_tree(&tree, files)?;
        let workspace = Workspace::open(&tree)?;
        let mut store = CheckpointStore::open(&directory.path().join("objects"))?;
        // As in a session: the sync of the next journal record covers it.
        store.sync_later();
        let limits = CheckpointLimits::default();
        let began = Instant::now();
        store.take(&workspace, &limits)?;
        let first = began.elapsed();
        let mut status = git(&tree);
        status.args(["status", "--porcelain"]);
        run_time(&mut status)?;
        let (mut ours, mut beside) = (Vec::new(), Vec::new());
        for turn in 0..turns {
            for place in [0, files / 2, files - 1] {
                fs::write(tree.join(name(place)), format!("turn {turn}\n"))?;
            }
            let began = Instant::now();
            store.take(&workspace, &limits)?;
            ours.push(began.elapsed());
            beside.push(run_time(&mut status)?);
        }
        let (ours, beside) = (median(ours), median(beside));
        let ratio = ratio(ours, beside);
        table.add(&Row {
            what: format!("undo: the first checkpoint of {files} files"),
            ours: milliseconds(first),
            beside: String::new(),
            ratio: None,
            goal: Goal::None,
        });
        table.add(&Row {
            what: format!("undo: a checkpoint of {files} files, three changed"),
            ours: milliseconds(ours),
            beside: format!("git status {}", milliseconds(beside)),
            ratio: Some(ratio),
            goal: match hope {
                Hope::Under(most) => {
                    Goal::new(format!("under {} ms", most.as_millis()), ours < most)
                }
                Hope::Times(most) => Goal::new(format!("at most {most} times"), ratio <= most),
            },
        });
    }
    Ok(())
}

fn name(number: usize) -> String {
    let (directory, file) = (number / 60, number % 60);
    format!("{:02}/{directory:04}/{file:02}.rs", directory % 40)
}

fn make_tree(tree: &Path, files: usize) -> Outcome {
    for number in 0..files {
        let path = tree.join(name(number));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, format!("fn number() -> usize {{\n    {number}\n}}\n"))?;
    }
    run_time(git(tree).args(["init", "--quiet"]))?;
    run_time(git(tree).args(["add", "."]))?;
    let commit = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "--quiet",
        "-m",
        "all",
    ];
    run_time(git(tree).args(commit))?;
    Ok(())
}

fn git(tree: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(tree)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    command
}
