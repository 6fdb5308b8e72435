//! From the closing of a reply to the next outbox on the disk, beside two syncs of the same size.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::measure::{median, ratio};
use crate::session::Session;
use crate::table::{Goal, Row, Table, milliseconds};

const ROUNDS: usize = 40;

/// How much longer than two syncs a round may take.
const GOAL: Duration = Duration::from_millis(15);

pub(crate) fn measure(table: &mut Table) -> Outcome {
    let mut session = Session::begin()?;
    let directory = tempfile::tempdir()?;
    let (mut ours, mut beside) = (Vec::new(), Vec::new());
    for number in 0..ROUNDS {
        ours.push(session.round(&three_changes(number))?);
        let content = std::fs::read(session.outbox())?;
        beside.push(two_syncs(directory.path(), &content)?);
    }
    let (ours, beside) = (median(ours), median(beside));
    table.add(&Row {
        what: format!("round: reply with three changes to outbox, of {ROUNDS}"),
        ours: milliseconds(ours),
        beside: format!("two fsync {}", milliseconds(beside)),
        ratio: Some(ratio(ours, beside)),
        goal: Goal::new("under 15 ms above", ours < beside + GOAL),
    });
    Ok(())
}

/// Three changed files; another text each time, because the same reply is taken only once.
pub(crate) fn three_changes(number: usize) -> String {
    let file = |name: &str| {
        format!(
            "[CREATE_FILE path=\"{name}\"]\nfn answer() -> usize {{\n    {number}\n}}\n[/CREATE_FILE]\n"
        )
    };
    ["a.rs", "b.rs", "c/d.rs"].map(file).concat()
}

fn two_syncs(directory: &Path, content: &[u8]) -> io::Result<Duration> {
    let began = Instant::now();
    for name in ["one", "two"] {
        let mut file = File::create(directory.join(name))?;
        file.write_all(content)?;
        file.sync_all()?;
    }
    Ok(began.elapsed())
}
