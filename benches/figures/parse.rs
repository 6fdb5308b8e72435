//! Parsing and repairing a reply of 1 MB, beside copying it and counting its lines.

use std::num::TryFromIntError;

use crate::Outcome;
use crate::measure::processor_time;
use crate::replies;
use crate::table::{Goal, Row, Table};

/// Bytes of a reply; a megabyte is a million.
const SIZE: usize = 1_000_000;

/// Megabytes in a second.
const GOAL: f64 = 100.0;

const RUNS: usize = 15;

/// A dialect and what makes a reply in it.
type Sample = (&'static str, fn(usize) -> String);

const SAMPLES: &[Sample] = &[
    ("tags with bodies", replies::tags),
    ("SEARCH/REPLACE blocks", replies::search_replace),
    ("unified diff", replies::diff),
    ("*** Begin Patch", replies::envelope),
    ("JSON plan", replies::json),
    ("tags, quoted and with HTML entities", replies::damaged),
    ("prose and code, no command", replies::prose),
    ("long paragraphs, one command", replies::paragraphs),
];

pub(crate) fn measure(table: &mut Table) -> Outcome {
    for (name, make) in SAMPLES {
        let text = make(SIZE);
        let reply = agent::reply::parse(&text);
        let understood = match (reply.steps.len(), reply.issues.len()) {
            (steps, 0) => format!("{steps} steps"),
            (steps, issues) => format!("{steps} steps, {issues} issues"),
        };
        drop(reply);
        let ours = rate(&text, || agent::reply::parse(&text))?;
        let copying = rate(&text, || {
            let copy = text.clone();
            let lines = copy.bytes().filter(|byte| *byte == b'\n').count();
            (copy, lines)
        })?;
        table.add(&Row {
            what: format!("parse 1 MB: {name} ({understood})"),
            ours: format!("{ours:.0} MB/s"),
            beside: format!("copy + count {copying:.0} MB/s"),
            ratio: Some(ours / copying),
            goal: Goal::new("at least 100 MB/s", ours >= GOAL),
        });
    }
    Ok(())
}

/// Megabytes in a second.
pub(crate) fn rate<T>(text: &str, work: impl FnMut() -> T) -> Result<f64, TryFromIntError> {
    let bytes = f64::from(u32::try_from(text.len())?);
    Ok(bytes / 1e6 / processor_time(RUNS, work).as_secs_f64())
}
