//! What the sandbox costs: a confined `true` beside bubblewrap's and a plain shell's.
//!
//! The three take turns, so that a busy moment of the machine hits all of them; the processor time
//! is that of all their processes together.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use agent::execute::run::{End, Job, Program, run};
use agent::sandbox::Confinement;

use crate::Outcome;
use crate::measure::{median, ratio, run_time};
use crate::table::{Goal, Row, Table, milliseconds};

const RUNS: u32 = 200;

/// How many times bubblewrap's time a sandboxed command may take.
const GOAL: f64 = 1.5;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    let directory = tempfile::tempdir()?;
    for (name, files) in [("small workspace", 10), ("10,000 files", 10_000)] {
        let workspace = directory.path().join(name.replace(' ', "-"));
        fill(&workspace, files)?;
        compare(table, name, &workspace)?;
    }
    Ok(())
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
        self.processor += children_time()?.saturating_sub(before);
        Ok(())
    }
}

fn compare(table: &mut Table, name: &str, workspace: &Path) -> Outcome {
    let mut confinement = Confinement::of_workspace(workspace);
    confinement.launcher = PathBuf::from(env!("CARGO_BIN_EXE_agent"));
    let (mut ours, mut theirs, mut plain) = (Times::default(), Times::default(), Times::default());
    let mut bubblewrap = Command::new("bwrap");
    bubblewrap.args(["--unshare-all", "--ro-bind", "/", "/", "true"]);
    let has_bubblewrap = run_time(&mut bubblewrap).is_ok();
    for _ in 0..RUNS {
        ours.take(|| confined(&confinement))?;
        if has_bubblewrap {
            theirs.take(|| run_time(&mut bubblewrap))?;
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
            goal: Goal::new("at most 1.5 times", ratio(clock, peer) <= GOAL),
        });
        table.add(&Row {
            what: format!("sandboxed `true`, {name}, processor time; bubblewrap's"),
            ours: milliseconds(ours.processor / RUNS),
            beside: milliseconds(theirs.processor / RUNS),
            ratio: Some(ratio(ours.processor, theirs.processor)),
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

/// The time of a `true` in our sandbox, as a step of a reply runs it.
fn confined(confinement: &Confinement) -> Result<Duration, Box<dyn Error>> {
    let began = Instant::now();
    let ran = run(Job {
        program: Program::Shell("true"),
        directory: &confinement.workspace,
        environment: &[],
        timeout: Duration::from_secs(30),
        max_output: 4000,
        cancelled: &AtomicBool::new(false),
        on_output: &mut |_| {},
        confinement: Some(confinement),
    });
    let time = began.elapsed();
    match ran.end {
        End::Exited(0) => Ok(time),
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
