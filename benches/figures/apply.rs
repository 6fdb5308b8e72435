//! `agent apply` of a patch beside `git apply` and GNU patch, on copies of the tree that they change
//! in turns: how fast a directory gives out new files depends on where it lies on the disk.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::Outcome;
use crate::measure::{agent, median, ratio, run_time};
use crate::table::{Goal, Row, Table, milliseconds};

/// How long the files lie there before they are patched. A file that was changed within the last tick
/// of the clock is read twice by `agent`, which is not what happens to anybody's files.
const SETTLED: Duration = Duration::from_millis(50);

/// How often each program runs; a patch of few files is over so soon that chance weighs more.
fn runs(files: usize) -> usize {
    if files < 10 { 60 } else { 40 }
}

/// A file before and after a patch.
struct Version {
    path: String,
    before: String,
    after: String,
}

pub(crate) fn measure(table: &mut Table) -> Outcome {
    let hunks = [file("src/large.rs", 50_000, 250)];
    compare(table, "200 hunks in 50,000 lines", &hunks)?;
    for count in [1, 100] {
        let name = |number| format!("src/part_{}/file_{number}.rs", number % 50);
        let files: Vec<_> = (0..count)
            .map(|number| file(&name(number), 40, 40))
            .collect();
        compare(table, &format!("{count} files, a hunk each"), &files)?;
    }
    Ok(())
}

fn compare(table: &mut Table, name: &str, files: &[Version]) -> Outcome {
    let directory = tempfile::tempdir()?;
    let patch = directory.path().join("change.patch");
    fs::write(&patch, diff(files))?;
    let mut programs = [agent_apply(&patch), git_apply(&patch), gnu_patch(&patch)];
    let mut trees = ["one", "two", "three"].map(|name| directory.path().join(name));
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); programs.len()];
    for _ in 0..runs(files.len()) {
        for tree in &trees {
            lay_out(tree, files)?;
        }
        for ((command, tree), times) in programs.iter_mut().zip(&trees).zip(&mut times) {
            // Before each of them: a processor that slept is slower for the program that runs first.
            thread::sleep(SETTLED);
            times.push(run_time(command.current_dir(tree))?);
            check(tree, files)?;
        }
        trees.rotate_left(1);
    }
    let times: Vec<Duration> = times.into_iter().map(median).collect();
    let (ours, git, gnu) = (times[0], times[1], times[2]);
    table.add(&Row {
        what: format!("apply: {name}"),
        ours: milliseconds(ours),
        beside: format!("git apply {}", milliseconds(git)),
        ratio: Some(ratio(ours, git)),
        goal: Goal::new(
            "not slower, plus 3 ms",
            ours <= git + Duration::from_millis(3),
        ),
    });
    table.add(&Row {
        what: format!("apply: {name}"),
        ours: milliseconds(ours),
        beside: format!("GNU patch {}", milliseconds(gnu)),
        ratio: Some(ratio(ours, gnu)),
        goal: match files {
            // Many hunks in one file are what GNU patch does best.
            [_] if name.contains("hunks") => Goal::new("at most 2", ratio(ours, gnu) <= 2.0),
            _ => Goal::None,
        },
    });
    Ok(())
}

fn agent_apply(patch: &Path) -> Command {
    let mut command = agent();
    command.arg("apply").arg(patch);
    command
}

fn git_apply(patch: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("apply").arg(patch);
    command
}

fn gnu_patch(patch: &Path) -> Command {
    let mut command = Command::new("patch");
    command.args(["-p1", "-s", "-i"]).arg(patch);
    command
}

/// A file of so many lines in which every so manyth line changes.
fn file(path: &str, lines: usize, every: usize) -> Version {
    let (mut before, mut after) = (String::new(), String::new());
    for number in 1..=lines {
        let line = format!("    let value_{number} = compute({number}, \"{path}\");\n");
        before.push_str(&line);
        if number % every == every / 2 {
            let _ = writeln!(after, "    let value_{number} = changed({number});");
        } else {
            after.push_str(&line);
        }
    }
    Version {
        path: path.to_owned(),
        before,
        after,
    }
}

/// The patch as git writes it, with three lines of context.
fn diff(files: &[Version]) -> String {
    let mut text = String::new();
    for Version {
        path,
        before,
        after,
    } in files
    {
        let _ = write!(
            text,
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
        );
        let lines: Vec<(&str, &str)> = before.lines().zip(after.lines()).collect();
        let changed = (0..lines.len()).filter(|&number| lines[number].0 != lines[number].1);
        for changed in changed {
            let start = changed.saturating_sub(3);
            let end = (changed + 4).min(lines.len());
            let _ = writeln!(text, "@@ -{0},{1} +{0},{1} @@", start + 1, end - start);
            for (number, (old, new)) in (start..end).zip(&lines[start..end]) {
                let _ = if number == changed {
                    writeln!(text, "-{old}\n+{new}")
                } else {
                    writeln!(text, " {old}")
                };
            }
        }
    }
    text
}

fn lay_out(tree: &Path, files: &[Version]) -> Outcome {
    for file in files {
        let path = place(tree, file)?;
        fs::write(path, &file.before)?;
    }
    Ok(())
}

fn place(tree: &Path, file: &Version) -> Result<PathBuf, Box<dyn Error>> {
    let path = tree.join(&file.path);
    fs::create_dir_all(path.parent().ok_or("a file without a directory")?)?;
    Ok(path)
}

fn check(tree: &Path, files: &[Version]) -> Outcome {
    for file in files {
        if fs::read_to_string(tree.join(&file.path))? != file.after {
            return Err(
                format!("{} is not as it should be in {}", file.path, tree.display()).into(),
            );
        }
    }
    Ok(())
}
