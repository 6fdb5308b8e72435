//! The cost of the sandbox: a confined `true` beside bubblewrap's and a plain shell's.
//!
//! Both sandboxes run the program `true`; a script of a reply is run by the shell, so there is a
//! line with `bash -c true` in both as well. All take turns, so that a busy moment of the machine
//! hits all of them; the processor time is that of all their processes together.

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use agent::runner::{Granted, Job, LocalRunner, Program, RunEnd, Runner as _};
use agent::sandbox::Confinement;
use agent::sandbox::platform::ChildTree;

use crate::Outcome;
use crate::measure::{median, ratio, run_time};
use crate::table::{Goal, Row, Table, milliseconds};

const RUNS: u32 = 200;

/// How many times bubblewrap's time a sandboxed command may take.
const GOAL: f64 = 1.5;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    let directory = tempfile::tempdir()?;
    let small = workspace(directory.path(), "small", 10)?;
    let large = workspace(directory.path(), "large", 10_000)?;
    compare(table, "small workspace", &small, Some(GOAL))?;
    // It also looks for links that lead out, which bubblewrap does not.
    compare(table, "10,000 files, first of a reply", &large, None)?;
    let mut later = large;
    later.search();
    compare(table, "10,000 files, later in a reply", &later, Some(GOAL))?;
    search(table, &mut later)
}

/// The confinement in a new workspace with so many files.
fn workspace(directory: &Path, name: &str, files: usize) -> Result<Confinement, Box<dyn Error>> {
    let workspace = directory.join(name);
    fill(&workspace, files)?;
    let mut confinement = Confinement::of_workspace(workspace);
    confinement.launcher = PathBuf::from(env!("CARGO_BIN_EXE_agent"));
    Ok(confinement)
}

fn fill(workspace: &Path, files: usize) -> Outcome {
    for number in 0..files {
        let directory = workspace.join(format!("d{}", number / 100));
        fs::create_dir_all(&directory)?;
        fs::write(directory.join(format!("f{number}")), "text\n")?;
    }
    Ok(())
}

/// The times of one contestant.
#[derive(Default)]
struct Times {
    clock: Vec<Duration>,
    processor: Duration,
}

impl Times {
    fn take(
        &mut self,
        work: impl FnOnce() -> Result<Duration, Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        let before = children_time()?;
        self.clock.push(work()?);
        until_all_are_reaped();
        self.processor += children_time()?.saturating_sub(before);
        Ok(())
    }
}

/// Waits until supervisors that have reported also exit: their time counts, and they must not slow
/// down the next run.
fn until_all_are_reaped() {
    let is_parent = |task: fs::DirEntry| {
        let children = fs::read_to_string(task.path().join("children"));
        children.is_ok_and(|children| !children.trim().is_empty())
    };
    let has_children = || {
        let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
        tasks.flatten().any(is_parent)
    };
    ChildTree::reap_ended();
    while has_children() {
        std::thread::yield_now();
        ChildTree::reap_ended();
    }
}

const TRUE: &[&str] = &["true"];
const SCRIPT: &[&str] = &["bash", "-c", "true"];

fn compare(
    table: &mut Table,
    name: &str,
    confinement: &Confinement,
    at_most: Option<f64>,
) -> Outcome {
    let (mut ours, mut theirs, mut plain) = (Times::default(), Times::default(), Times::default());
    let (mut our_script, mut their_script) = (Times::default(), Times::default());
    let has_bubblewrap = run_time(&mut bubblewrap(TRUE)).is_ok();
    for _ in 0..RUNS {
        ours.take(|| confined(confinement, TRUE))?;
        our_script.take(|| confined(confinement, SCRIPT))?;
        if has_bubblewrap {
            theirs.take(|| run_time(&mut bubblewrap(TRUE)))?;
            their_script.take(|| run_time(&mut bubblewrap(SCRIPT)))?;
        }
        plain.take(|| run_time(Command::new("sh").args(["-c", "true"])))?;
    }
    let (clock, shell) = (median(ours.clock), median(plain.clock));
    if has_bubblewrap {
        let peer = median(theirs.clock);
        table.add(&Row {
            what: format!("sandboxed `true`, {name}; bubblewrap's"),
            ours: milliseconds(clock),
            beside: milliseconds(peer),
            ratio: Some(ratio(clock, peer)),
            goal: at_most.map_or(Goal::None, |most| {
                Goal::new(format!("at most {most} times"), ratio(clock, peer) <= most)
            }),
        });
        table.add(&Row {
            what: format!("sandboxed `true`, {name}, processor time; bubblewrap's"),
            ours: milliseconds(ours.processor / RUNS),
            beside: milliseconds(theirs.processor / RUNS),
            ratio: Some(ratio(ours.processor, theirs.processor)),
            goal: Goal::None,
        });
        let (script, peer) = (median(our_script.clock), median(their_script.clock));
        table.add(&Row {
            what: format!("sandboxed `bash -c true`, {name}; bubblewrap's"),
            ours: milliseconds(script),
            beside: milliseconds(peer),
            ratio: Some(ratio(script, peer)),
            goal: Goal::None,
        });
    }
    table.add(&Row {
        what: format!("sandboxed `true`, {name}; plain `sh -c true`"),
        ours: milliseconds(clock),
        beside: milliseconds(shell),
        ratio: Some(ratio(clock, shell)),
        goal: Goal::None,
    });
    Ok(())
}

fn bubblewrap(words: &[&str]) -> Command {
    let mut command = Command::new("bwrap");
    command
        .args(["--unshare-all", "--ro-bind", "/", "/"])
        .args(words);
    command
}

/// Measures the search for links that lead out of the workspace, which the first command of a reply
/// pays for.
fn search(table: &mut Table, confinement: &mut Confinement) -> Outcome {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(&confinement.workspace).args(arguments);
        git
    };
    run_time(&mut git(&["init", "-q"]))?;
    run_time(&mut git(&["add", "-A"]))?;
    let mut status = git(&["status", "--short"]);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..RUNS / 4 {
        let began = Instant::now();
        confinement.search();
        ours.push(began.elapsed());
        theirs.push(run_time(&mut status)?);
    }
    let (ours, theirs) = (median(ours), median(theirs));
    table.add(&Row {
        what: "looking for links out of 10,000 files; `git status`".to_owned(),
        ours: milliseconds(ours),
        beside: milliseconds(theirs),
        ratio: Some(ratio(ours, theirs)),
        goal: Goal::None,
    });
    Ok(())
}

/// The time of a program in our sandbox, as a step of a reply runs it.
fn confined(confinement: &Confinement, words: &[&str]) -> Result<Duration, Box<dyn Error>> {
    let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
    let began = Instant::now();
    let ran = LocalRunner::default().run(Job {
        program: Program::Exec(&words),
        directory: &confinement.workspace,
        environment: &[],
        timeout: Duration::from_secs(30),
        max_output: 4000,
        cancelled: &AtomicBool::new(false),
        on_output: &mut |_| {},
        confinement: Some(confinement),
        withheld: None,
        granted: Granted::default(),
    });
    let time = began.elapsed();
    match ran.end {
        RunEnd::Exited(0) => Ok(time),
        other => Err(format!("the sandbox does not work here: {other:?}").into()),
    }
}

/// The processor time of all processes that this one has waited for.
fn children_time() -> Result<Duration, Box<dyn Error>> {
    const TICK: u64 = 10;
    let text = fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    // The 16th and 17th field of the whole line; two stand before the closing parenthesis.
    let ticks = |at: usize| -> u64 {
        fields
            .get(at - 3)
            .and_then(|text| text.parse().ok())
            .unwrap_or_default()
    };
    Ok(Duration::from_millis((ticks(16) + ticks(17)) * TICK))
}
