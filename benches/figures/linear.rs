//! Inputs that are made to be slow: twice the size must take twice the time.

use std::time::Duration;

use crate::Outcome;
use crate::measure::{ratio, shortest_processor_time};
use crate::table::{Goal, Row, Table, megabytes, milliseconds};

/// The size that is compared with its double.
const SIZE: usize = 1_000_000;

/// The size with which the look for a slow input begins.
const FIRST: usize = SIZE / 64;

/// If a size takes this long, no larger one is tried.
const TOO_SLOW: Duration = Duration::from_secs(2);

/// The most that the double may take: two, and room for caches.
const GOAL: f64 = 2.6;

/// What takes less is not slow, whatever the ratio: so short a time is mostly chance.
const AT_ONCE: Duration = Duration::from_millis(5);

const RUNS: usize = 7;

/// What is repeated, and what it is called.
const UNITS: &[(&str, &str)] = &[
    ("`[`", "["),
    ("lines of `[`", "[\n"),
    ("backticks", "`"),
    ("lines of three backticks", "```\n"),
    ("fences of growing length", "FENCES"),
    ("`<<<<<<< SEARCH` lines", "<<<<<<< SEARCH\n"),
    ("SEARCH, no REPLACE", "a.rs\n<<<<<<< SEARCH\na\n=======\n"),
    (
        "`[CREATE_FILE path=\"a\"]` lines",
        "[CREATE_FILE path=\"a\"]\n",
    ),
    (
        "`[CREATE_FILE path=\"a\" end=\"q\"]` lines",
        "[CREATE_FILE path=\"a\" end=\"q\"]\n",
    ),
    ("`[/CREATE_FILE]` lines", "[/CREATE_FILE]\n"),
    ("`{`", "{"),
    ("`{\"tool\":`", "{\"tool\":"),
    ("lines of `{\"tool\": \"run\"`", "{\"tool\": \"run\"\n"),
    ("double quotes", "\""),
    ("`@@` lines", "@@\n"),
    ("`@@ -1 +1 @@` lines", "@@ -1 +1 @@\n"),
    ("file headers of diffs", "--- a/a\n+++ b/a\n"),
    ("`*** Begin Patch` lines", "*** Begin Patch\n"),
    ("`*** Update File: a` lines", "*** Update File: a\n"),
    ("`> `", "> "),
    ("`<think>` lines", "<think>\n"),
    ("`&amp;`", "&amp;"),
    ("backslashes", "\\"),
    ("numbered lines", "12 | a\n"),
    ("blank lines", "\n"),
    ("non-breaking spaces", "\u{a0}"),
    ("one line said over and over", "The same line again.\n"),
];

pub(crate) fn measure(table: &mut Table) -> Outcome {
    for (name, unit) in UNITS {
        let mut size = FIRST;
        while size < SIZE && time(unit, size, 1) < TOO_SLOW / 8 {
            size *= 2;
        }
        let (once, twice) = (time(unit, size, RUNS), time(unit, size * 2, RUNS));
        let is_met = size >= SIZE && (ratio(twice, once) <= GOAL || twice <= AT_ONCE);
        let megabyte = f64::from(u32::try_from(size)?);
        table.add(&Row {
            what: format!("linear: {} of {name}, twice that", megabytes(megabyte)),
            ours: milliseconds(twice),
            beside: milliseconds(once),
            ratio: Some(ratio(twice, once)),
            goal: Goal::new("at most 2.6, or 5 ms", is_met),
        });
    }
    Ok(())
}

fn time(unit: &str, size: usize, runs: usize) -> Duration {
    let body = match unit {
        "FENCES" => fences(size),
        unit => unit.repeat(size / unit.len()),
    };
    // Without a first line of its own, an even number of units is one reply that was pasted twice.
    let text = format!("Here it is.\n\n{body}");
    shortest_processor_time(runs, || agent::reply::parse(&text))
}

/// Fences of three backticks, four, five and so on, none of which closes another.
fn fences(size: usize) -> String {
    let mut text = String::with_capacity(size);
    for length in 3.. {
        if text.len() + length > size {
            break;
        }
        text.extend(std::iter::repeat_n('`', length));
        text.push('\n');
    }
    text
}
