//! A list of a thousand sessions of a hundred rounds, beside reading their files.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::measure::{agent, median, ratio};
use crate::round::three_changes;
use crate::session::Session;
use crate::table::{Goal, Row, Table, milliseconds};

const SESSIONS: u32 = 1_000;
const ROUNDS: usize = 100;
const TIMES: usize = 11;
const GOAL: f64 = 5.0;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    let mut session = Session::begin()?;
    for number in 0..ROUNDS {
        session.round(&three_changes(number))?;
    }
    let base = session.base().to_owned();
    let files = multiply(&base.join("sessions"), session.id())?;
    let (mut lists, mut reads) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        lists.push(list(&base)?);
        reads.push(read(&files)?);
    }
    let (list, read) = (median(lists), median(reads));
    let times = ratio(list, read);
    table.add(&Row {
        what: "sessions: a list of 1,000 of 100 rounds, reading their files".to_owned(),
        ours: milliseconds(list),
        beside: milliseconds(read),
        ratio: Some(times),
        goal: Goal::new("at most 5", times <= GOAL),
    });
    Ok(())
}

/// Copies the files of a session under other names, with one and the same journal.
fn multiply(sessions: &Path, id: &str) -> Result<Vec<std::path::PathBuf>, Box<dyn Error>> {
    let text = fs::read_to_string(sessions.join(format!("{id}.json")))?;
    let journal = sessions.join(format!("{id}.journal.jsonl"));
    let mut files = Vec::new();
    for number in 0..SESSIONS {
        let other = format!("{number:08x}");
        let file = sessions.join(format!("{other}.json"));
        fs::write(&file, text.replace(id, &other))?;
        fs::hard_link(&journal, sessions.join(format!("{other}.journal.jsonl")))?;
        files.push(file);
    }
    Ok(files)
}

fn list(base: &Path) -> Result<Duration, Box<dyn Error>> {
    let began = Instant::now();
    let output = agent()
        .arg("list")
        .current_dir(base)
        .stderr(Stdio::inherit())
        .output()?;
    let time = began.elapsed();
    let lines = String::from_utf8_lossy(&output.stdout).lines().count();
    if lines < SESSIONS as usize {
        return Err(format!("only {lines} sessions were listed").into());
    }
    Ok(time)
}

fn read(files: &[std::path::PathBuf]) -> Result<Duration, Box<dyn Error>> {
    let began = Instant::now();
    for file in files {
        std::hint::black_box(fs::read(file)?);
    }
    Ok(began.elapsed())
}
