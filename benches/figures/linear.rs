//! Inputs that are made to be slow: twice the size must take twice the time.

use std::fmt::Write as _;
use std::time::Duration;

use crate::Outcome;
use crate::measure::{ratio, shortest_processor_time};
use crate::table::{Goal, Row, Table, megabytes, milliseconds};

/// The size that is compared with its double.
const SIZE: usize = 500_000;

/// The size with which the look for a slow input begins.
const FIRST: usize = SIZE / 64;

/// If a size takes this long, no larger one is tried.
const TOO_SLOW: Duration = Duration::from_secs(2);

/// The most that the double may take: two, and room for caches.
const GOAL: f64 = 2.6;

/// Shorter times are not slow, whatever the ratio: so short a time is mostly chance.
const AT_ONCE: Duration = Duration::from_millis(5);

const RUNS: usize = 7;

/// How an input of some size is made.
enum Made {
    /// One text over and over.
    Of(&'static str),
    /// The middle one over and over, between the others.
    Between(&'static str, &'static str, &'static str),
    By(fn(usize) -> String),
}

use Made::{Between, By, Of};

/// The inputs: names, and how each is made.
static INPUTS: &[(&str, Made)] = &[
    ("`[`", Of("[")),
    ("lines of `[`", Of("[\n")),
    ("backticks", Of("`")),
    ("lines of three backticks", Of("```\n")),
    ("fences of growing length", By(fences)),
    ("`<<<<<<< SEARCH` lines", Of("<<<<<<< SEARCH\n")),
    (
        "SEARCH, no REPLACE",
        Of("a.rs\n<<<<<<< SEARCH\na\n=======\n"),
    ),
    (
        "`[CREATE_FILE path=\"a\"]` lines",
        Of("[CREATE_FILE path=\"a\"]\n"),
    ),
    (
        "`[CREATE_FILE path=\"a\" end=\"q\"]` lines",
        Of("[CREATE_FILE path=\"a\" end=\"q\"]\n"),
    ),
    ("`[/CREATE_FILE]` lines", Of("[/CREATE_FILE]\n")),
    ("`{`", Of("{")),
    ("`{\"tool\":`", Of("{\"tool\":")),
    ("lines of `{\"tool\": \"run\"`", Of("{\"tool\": \"run\"\n")),
    ("double quotes", Of("\"")),
    ("`@@` lines", Of("@@\n")),
    ("`@@ -1 +1 @@` lines", Of("@@ -1 +1 @@\n")),
    ("file headers of diffs", Of("--- a/a\n+++ b/a\n")),
    ("`*** Begin Patch` lines", Of("*** Begin Patch\n")),
    ("`*** Update File: a` lines", Of("*** Update File: a\n")),
    ("`> `", Of("> ")),
    ("`<think>` lines", Of("<think>\n")),
    ("`&amp;`", Of("&amp;")),
    ("backslashes", Of("\\")),
    ("numbered lines", Of("12 | a\n")),
    ("blank lines", Of("\n")),
    ("non-breaking spaces", Of("\u{a0}")),
    ("one line said over and over", Of("The same line again.\n")),
    ("names of plans, each another", By(plans)),
    ("`[PLAN x` lines", Of("[PLAN x\n")),
    ("`<GIT_STATUS>` lines with a tab", Of("<GIT_STATUS\t>\n")),
    (
        "`*** Delete File: a` with a line",
        Of("*** Delete File: a\n+x\n"),
    ),
    ("indented `*** Begin Patch` lines", Of(" *** Begin Patch\n")),
    (
        "spaces in the name of a file that git changed",
        Between("diff --git ", " ", "x\n"),
    ),
    (
        "spaces in the name of a file of a diff",
        Between("--- ", " ", "x\n+++ b\n@@ -1 +1 @@\n-a\n+b\n"),
    ),
    (
        "attributes in one tag",
        Between("[READ_FILE ", "path=a ", "]\n"),
    ),
    (
        "`Output:` far below a command",
        By(|size| far_below("Output:\n", size)),
    ),
    (
        "closing tags far below a command",
        By(|size| far_below("[/RUN_COMMAND]\n", size)),
    ),
];

pub(crate) fn measure(table: &mut Table) -> Outcome {
    for (name, made) in INPUTS {
        let mut size = FIRST;
        while size < SIZE && time(made, size, 1) < TOO_SLOW / 8 {
            size *= 2;
        }
        let (once, twice) = (time(made, size, RUNS), time(made, size * 2, RUNS));
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

fn time(made: &Made, size: usize, runs: usize) -> Duration {
    let body = match made {
        Of(unit) => unit.repeat(size / unit.len()),
        Between(before, unit, after) => {
            format!("{before}{}{after}", unit.repeat(size / unit.len()))
        }
        By(text_of) => text_of(size),
    };
    // Without a first line of its own, an even number of units is one reply that was pasted twice.
    let text = format!("Here it is.\n\n{body}");
    shortest_processor_time(runs, || agent::reply::parse(&text))
}

/// A command, blank lines, and below them this line over and over.
fn far_below(line: &str, size: usize) -> String {
    let half = size / 2;
    let blank = "\n".repeat(half);
    let below = line.repeat(half / line.len());
    format!("[RUN_COMMAND]\nls\n[/RUN_COMMAND]\n{blank}x\n{below}")
}

/// Tags that almost close a command, each with another number.
fn plans(size: usize) -> String {
    let mut text = String::with_capacity(size + 32);
    for number in 0.. {
        if text.len() > size {
            break;
        }
        let _ = writeln!(text, "[plan {number}]");
    }
    text + "[END ab12cd34#1]\n"
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
