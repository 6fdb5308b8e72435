//! A session of a thousand rounds: the last ones cost what the first ones did.
//!
//! The first rounds are those of a second session, played in turns with the last ones of the long
//! one, so that whatever else the machine does weighs on both alike.

use std::error::Error;
use std::time::Duration;

use crate::Outcome;
use crate::measure::{median, process_time, ratio};
use crate::round::three_changes;
use crate::session::Session;
use crate::table::{Goal, Row, Table, milliseconds};

const ROUNDS: usize = 1_000;

/// How many rounds stand for the beginning and for the end.
const WINDOW: usize = 50;

/// The rounds that warm up.
const FIRST: usize = 5;

const GOAL: f64 = 1.2;

/// Times of rounds, by the clock and of the processor.
#[derive(Default)]
struct Times {
    clock: Vec<Duration>,
    processor: Vec<Duration>,
}

pub(crate) fn measure(table: &mut Table) -> Outcome {
    let (mut long, mut young) = (Session::begin()?, Session::begin()?);
    for number in 0..ROUNDS - WINDOW {
        long.round(&three_changes(number))?;
    }
    for number in 0..FIRST {
        young.round(&three_changes(number))?;
    }
    let (mut late, mut early) = (Times::default(), Times::default());
    for number in ROUNDS - WINDOW..ROUNDS {
        late.play(&mut long, number)?;
        early.play(&mut young, number)?;
    }
    compare(table, "by the clock", late.clock, early.clock);
    compare(table, "processor", late.processor, early.processor);
    Ok(())
}

impl Times {
    fn play(&mut self, session: &mut Session, number: usize) -> Result<(), Box<dyn Error>> {
        let before = process_time(session.process());
        self.clock.push(session.round(&three_changes(number))?);
        let after = process_time(session.process());
        self.processor.push(after.saturating_sub(before));
        Ok(())
    }
}

fn compare(table: &mut Table, name: &str, late: Vec<Duration>, early: Vec<Duration>) {
    let (late, early) = (median(late), median(early));
    let times = ratio(late, early);
    table.add(&Row {
        what: format!("growth: rounds 951 to 1000, rounds 6 to 55, {name}"),
        ours: milliseconds(late),
        beside: milliseconds(early),
        ratio: Some(times),
        goal: Goal::new("at most 1.2", times <= GOAL),
    });
}
