//! A session of a thousand rounds: the last ones cost what the first ones did.

use std::time::Duration;

use crate::Outcome;
use crate::measure::{mean, median, process_time, ratio};
use crate::round::three_changes;
use crate::session::Session;
use crate::table::{Goal, Row, Table, milliseconds};

const ROUNDS: usize = 1_000;

/// How many rounds stand for the beginning and for the end.
const WINDOW: usize = 50;

/// The rounds that warm up.
const FIRST: usize = 5;

const GOAL: f64 = 1.2;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    let mut session = Session::begin()?;
    let (mut clock, mut processor) = (Vec::new(), Vec::new());
    let mut before = process_time(session.process());
    for number in 0..ROUNDS {
        clock.push(session.round(&three_changes(number))?);
        let now = process_time(session.process());
        processor.push(now.saturating_sub(before));
        before = now;
    }
    let median = |window: &[Duration]| median(window.to_vec());
    compare(table, "by the clock, median", &clock, median);
    compare(table, "processor, mean", &processor, mean);
    Ok(())
}

fn compare(
    table: &mut Table,
    name: &str,
    times: &[Duration],
    middle: impl Fn(&[Duration]) -> Duration,
) {
    let early = middle(&times[FIRST..FIRST + WINDOW]);
    let late = middle(&times[ROUNDS - WINDOW..]);
    let times = ratio(late, early);
    table.add(&Row {
        what: format!("growth: rounds 951 to 1000, 6 to 55, {name}"),
        ours: milliseconds(late),
        beside: milliseconds(early),
        ratio: Some(times),
        goal: Goal::new("at most 1.2", times <= GOAL),
    });
}
