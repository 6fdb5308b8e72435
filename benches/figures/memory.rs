//! The most memory that `agent apply` holds while a command prints a gigabyte, beside one that
//! prints nothing.

use std::error::Error;
use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::Outcome;
use crate::measure::agent;
use crate::table::{Goal, Row, Table, megabytes};

const SILENT: &str = "sleep 1";
const LOUD: &str = "yes 'a line of output' | head -c 1073741824";

/// How much more the loud one may hold: a pipe's buffers and what is kept of the output.
const GOAL: f64 = 1.2;

const RUNS: usize = 3;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    let (silent, loud) = (peak(SILENT)?, peak(LOUD)?);
    table.add(&Row {
        what: "memory: a command prints 1 GiB, nothing".to_owned(),
        ours: megabytes(loud),
        beside: megabytes(silent),
        ratio: Some(loud / silent),
        goal: Goal::new("at most 1.2", loud / silent <= GOAL),
    });
    Ok(())
}

/// The median of the peaks, in bytes.
fn peak(script: &str) -> Result<f64, Box<dyn Error>> {
    let mut peaks = Vec::new();
    for _ in 0..RUNS {
        peaks.push(peak_once(script)?);
    }
    peaks.sort_unstable();
    Ok(f64::from(peaks[RUNS / 2]) * 1024.0)
}

fn peak_once(script: &str) -> Result<u32, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let reply = directory.path().join("reply.txt");
    fs::write(
        &reply,
        format!("[RUN_COMMAND timeout=\"120\"]\n{script}\n[/RUN_COMMAND]\n"),
    )?;
    let mut child = agent()
        .arg("apply")
        .arg(&reply)
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // The counter only grows and is gone with the process: the last one seen is the peak.
    let mut peak = 0;
    let status = loop {
        peak = high_water(child.id()).unwrap_or(peak);
        if let Some(status) = child.try_wait()? {
            break status;
        }
        thread::sleep(Duration::from_millis(2));
    };
    if status.success() {
        Ok(peak)
    } else {
        Err(format!("`{script}` ended with {status}").into())
    }
}

/// The peak of a process in KiB.
pub(crate) fn high_water(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
