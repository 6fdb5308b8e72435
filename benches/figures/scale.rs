//! Large repositories: the first outbox beside `find`, the one after an edit beside the first, those
//! after an edit and after a command in the largest, and searches beside ripgrep.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::Outcome;
use crate::measure::{agent, ratio, run_time, shortest};
use crate::memory::high_water;
use crate::session::Session;
use crate::table::{Goal, Row, Table, megabytes, milliseconds};
use crate::tree;

/// So many that calm moments of a shared machine are among them.
const RUNS: usize = 25;

/// The most memory that the first outbox of the largest tree may take, in bytes.
const MEMORY: f64 = 100e6;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    let directory = tempfile::tempdir()?;
    let large = directory.path().join("large");
    tree::make(&large, 80_000)?;
    outboxes(table, &large, "80,000", 0.85)?;
    follow_ups(table, &large)?;
    searches(table, &large)?;
    fs::remove_dir_all(&large)?;
    let largest = directory.path().join("largest");
    tree::make(&largest, 200_000)?;
    outboxes(table, &largest, "200,000", 0.85)?;
    rounds(table, &largest)
}

/// From the start of `agent new` until it says that the first outbox is there.
fn outboxes(table: &mut Table, tree: &Path, files: &str, goal: f64) -> Outcome {
    let (mut ours, mut beside, mut peak) = (Vec::new(), Vec::new(), 0);
    run_time(&mut find(tree))?;
    for _ in 0..RUNS {
        beside.push(run_time(&mut find(tree))?);
        let session = Session::begin_on(tree)?;
        ours.push(session.first_outbox());
        peak = high_water(session.process()).unwrap_or_default().max(peak);
    }
    let (ours, beside) = (shortest(ours), shortest(beside));
    let times = ratio(ours, beside);
    table.add(&Row {
        what: format!("scale: first outbox, {files} files"),
        ours: milliseconds(ours),
        beside: format!("find -printf {}", milliseconds(beside)),
        ratio: Some(times),
        goal: Goal::new(format!("at most {goal}"), times <= goal),
    });
    let peak = f64::from(peak) * 1024.0;
    table.add(&Row {
        what: format!("scale: peak memory at the first outbox, {files} files"),
        ours: megabytes(peak),
        beside: String::new(),
        ratio: None,
        goal: Goal::new("under 100 MB", peak < MEMORY),
    });
    Ok(())
}

/// The outbox after a reply that edits one file, in turns with first outboxes.
fn follow_ups(table: &mut Table, tree: &Path) -> Outcome {
    let mut session = Session::begin_on(tree)?;
    let edit = |number: usize| {
        format!("[CREATE_FILE path=\"notes.md\"]\nRound {number}.\n[/CREATE_FILE]\n")
    };
    // The first round waits for the first checkpoint, which reads every file.
    session.round(&edit(0))?;
    let (mut ours, mut beside) = (Vec::new(), Vec::new());
    for number in 1..=RUNS {
        ours.push(session.round(&edit(number))?);
        beside.push(Session::begin_on(tree)?.first_outbox());
    }
    let (ours, beside) = (shortest(ours), shortest(beside));
    let times = ratio(ours, beside);
    table.add(&Row {
        what: "scale: outbox after an edit, 80,000 files".to_owned(),
        ours: milliseconds(ours),
        beside: format!("the first {}", milliseconds(beside)),
        ratio: Some(times),
        goal: Goal::new("at most 1.2", times <= 1.2),
    });
    Ok(())
}

/// The outboxes after a reply that edits one file, which costs one walk, and after one that runs a
/// command, which costs a snapshot before and after it and a look of the sandbox each.
fn rounds(table: &mut Table, tree: &Path) -> Outcome {
    let edit = |number: usize| {
        format!("[CREATE_FILE path=\"notes.md\"]\nRound {number}.\n[/CREATE_FILE]\n")
    };
    let command = |_| "[RUN_COMMAND]\ntrue\n[/RUN_COMMAND]\n".to_owned();
    round(table, tree, "an edit", 300, edit)?;
    round(table, tree, "a command", 500, command)
}

fn round(
    table: &mut Table,
    tree: &Path,
    what: &str,
    most: u64,
    reply: impl Fn(usize) -> String,
) -> Outcome {
    let mut session = Session::begin_on(tree)?;
    // The first round waits for the first checkpoint, which reads every file.
    session.round(&reply(0))?;
    let ours: Result<Vec<_>, _> = (1..=RUNS)
        .map(|number| session.round(&reply(number)))
        .collect();
    let ours = shortest(ours?);
    table.add(&Row {
        what: format!("scale: outbox after {what}, 200,000 files"),
        ours: milliseconds(ours),
        beside: String::new(),
        ratio: None,
        goal: Goal::new(
            format!("under {most} ms"),
            ours < Duration::from_millis(most),
        ),
    });
    Ok(())
}

fn find(tree: &Path) -> Command {
    let mut command = Command::new("find");
    command
        .args([".", "-type", "f", "-printf", "%s %p\\n"])
        .current_dir(tree);
    command
}

/// A search: its name, our attributes, ripgrep's arguments, and whether the limit ends it.
struct Search {
    name: &'static str,
    attributes: String,
    arguments: Vec<String>,
    is_cut: bool,
}

fn searches(table: &mut Table, tree: &Path) -> Outcome {
    let is_there = Command::new("rg")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let (rare, common) = (tree::RARE, tree::COMMON);
    let search = |name, pattern: &str, is_regex: bool, is_cut| Search {
        name,
        attributes: format!("pattern=\"{pattern}\" regex=\"{is_regex}\" case_sensitive=\"true\""),
        arguments: [if is_regex { "-e" } else { "-Fe" }, pattern]
            .map(str::to_owned)
            .to_vec(),
        is_cut,
    };
    let all = [
        search("literal", rare, false, false),
        search(
            "regular expression",
            "reconcile_[a-z]+_ledger_[0-9]+",
            true,
            false,
        ),
        search("literal, ended by the limit", common, false, true),
        search(
            "regular expression, ended by the limit",
            "ret[a-z]+ [a-z]+;",
            true,
            true,
        ),
    ];
    for search in &all {
        if is_there {
            compare(table, tree, search)?;
        } else {
            table.add(&Row {
                what: format!("search: {}", search.name),
                ours: String::new(),
                beside: "ripgrep is missing".to_owned(),
                ratio: None,
                goal: Goal::None,
            });
        }
    }
    Ok(())
}

fn compare(table: &mut Table, tree: &Path, search: &Search) -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let reply = directory.path().join("reply.txt");
    fs::write(&reply, format!("[SEARCH_TEXT {}]\n", search.attributes))?;
    let mut ours = agent();
    ours.arg("apply").arg(&reply).current_dir(tree);
    let mut peer = ripgrep(search);
    peer.current_dir(tree);
    let (mut our_times, mut peer_times) = (Vec::new(), Vec::new());
    for _ in 0..=RUNS {
        our_times.push(run_time(&mut ours)?);
        peer_times.push(run_time(&mut peer)?);
    }
    let (ours, beside): (Duration, Duration) = (shortest(our_times), shortest(peer_times));
    let times = ratio(ours, beside);
    table.add(&Row {
        what: format!("search: {}, 80,000 files", search.name),
        ours: milliseconds(ours),
        beside: format!("rg {}", milliseconds(beside)),
        ratio: Some(times),
        goal: Goal::new("at most 1.15", times <= 1.15),
    });
    Ok(())
}

/// A search by ripgrep of the same files and lines. It has no limit of its own for all files together.
fn ripgrep(search: &Search) -> Command {
    const SAME: [&str; 5] = [
        "--no-config",
        "--hidden",
        "--no-require-git",
        "--no-ignore-global",
        "-n",
    ];
    if !search.is_cut {
        let mut command = Command::new("rg");
        command.args(SAME).args(&search.arguments);
        return command;
    }
    let mut command = Command::new("sh");
    command
        .args(["-c", "rg \"$@\" | head -n 50", "rg"])
        .args(SAME)
        .args(&search.arguments);
    command
}
