//! Start-up: `agent --version` beside a Rust program that does nothing.

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::Outcome;
use crate::measure::{agent, median, ratio, run_time};
use crate::table::{Goal, Row, Table, milliseconds};

/// The argument with which this program does nothing.
pub(crate) const NOTHING: &str = "do-nothing";

const RUNS: usize = 200;

/// Other programs of this kind, and the one whose engine searches here.
const OTHERS: [&str; 4] = ["rg", "codex", "aider", "gemini"];

const OTHER_RUNS: usize = 9;

/// How much longer than nothing a start may take.
const GOAL: Duration = Duration::from_millis(2);

pub(crate) fn measure(table: &mut Table) -> Outcome {
    let this = std::env::current_exe()?;
    let nothing = || nothing(&this);
    let (mut ours, mut empty, mut system) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        ours.push(run_time(&mut version())?);
        empty.push(run_time(&mut nothing())?);
        system.push(run_time(&mut Command::new("true"))?);
    }
    let (ours, empty, system) = (median(ours), median(empty), median(system));
    table.add(&Row {
        what: "start: agent --version, a Rust program doing nothing".to_owned(),
        ours: milliseconds(ours),
        beside: milliseconds(empty),
        ratio: Some(ratio(ours, empty)),
        goal: Goal::new("at most 2 ms above", ours <= empty + GOAL),
    });
    table.add(&Row {
        what: "start: agent --version, true".to_owned(),
        ours: milliseconds(ours),
        beside: milliseconds(system),
        ratio: Some(ratio(ours, system)),
        goal: Goal::None,
    });
    for other in OTHERS {
        table.add(&beside_another(ours, other));
    }
    let counted = instructions(&version())?.zip(instructions(&nothing())?);
    if let Some((ours, empty)) = counted {
        table.add(&Row {
            what: "start: instructions, of the program doing nothing".to_owned(),
            ours: format!("{:.2} M", ours / 1e6),
            beside: format!("{:.2} M", empty / 1e6),
            ratio: Some(ours / empty),
            goal: Goal::None,
        });
    }
    Ok(())
}

/// The start of another program, if this machine has it.
fn beside_another(ours: Duration, name: &str) -> Row {
    let mut command = Command::new(name);
    command.arg("--version");
    let mut times = Vec::new();
    for _ in 0..OTHER_RUNS {
        // Whatever it says of itself, it has to be there.
        match run_time(&mut command) {
            Ok(time) => times.push(time),
            Err(_) => break,
        }
    }
    let is_there = times.len() == OTHER_RUNS;
    let other = median(times);
    Row {
        what: format!("start: agent --version, {name} --version"),
        ours: milliseconds(ours),
        beside: if is_there {
            milliseconds(other)
        } else {
            "not on this machine".to_owned()
        },
        ratio: is_there.then(|| ratio(ours, other)),
        goal: Goal::None,
    }
}

fn version() -> Command {
    let mut command = agent();
    command.arg("--version");
    command
}

fn nothing(this: &Path) -> Command {
    let mut command = Command::new(this);
    command.env_clear().arg(NOTHING);
    command
}

/// The instructions that a program executes, counted by valgrind where there is one.
fn instructions(program: &Command) -> Result<Option<f64>, Box<dyn Error>> {
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=cachegrind", "--cache-sim=no"])
        .arg("--cachegrind-out-file=/dev/null")
        .arg(program.get_program())
        .args(program.get_args());
    let Ok(output) = valgrind.output() else {
        return Ok(None);
    };
    let said = String::from_utf8(output.stderr)?;
    let count = said.lines().find_map(|line| {
        let (_, count) = line
            .split_once("I refs:")
            .or(line.split_once("I   refs:"))?;
        count.trim().replace(',', "").parse().ok()
    });
    Ok(count)
}
