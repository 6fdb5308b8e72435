//! The figures of `docs/performance.md`: what the program costs, each beside a peer or a limit that
//! is measured in the same run.
//!
//! `cargo bench` measures everything, `cargo bench -- parse growth` only the topics that it names.
//! Nothing here fails because of a slow machine: a goal that is missed is said in the table.

#![expect(
    clippy::print_stdout,
    reason = "the table is all that this program is for"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "inputs are made in directories of its own; no crash must be survived"
)]

mod apply;
mod growth;
mod linear;
mod measure;
mod memory;
mod overhead;
mod parse;
mod replies;
mod round;
mod scale;
mod secrets;
mod session;
mod sessions;
mod start;
mod table;
mod tree;
mod undo;

use std::error::Error;

use table::Table;

/// An error ends the run: a figure of something that failed would be worse than none.
type Outcome = Result<(), Box<dyn Error>>;

/// A topic: its name on the command line, and what measures it.
type Topic = (&'static str, fn(&mut Table) -> Outcome);

const TOPICS: &[Topic] = &[
    ("start", start::measure),
    ("parse", parse::measure),
    ("linear", linear::measure),
    ("round", round::measure),
    ("growth", growth::measure),
    ("undo", undo::measure),
    ("apply", apply::measure),
    ("sessions", sessions::measure),
    ("memory", memory::measure),
    ("overhead", overhead::measure),
    ("secrets", secrets::measure),
    ("scale", scale::measure),
];

fn main() -> Outcome {
    // Cargo passes `--bench`; the program that does nothing is this one, called with its name.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    if arguments == [start::NOTHING] {
        return Ok(());
    }
    if let Some(unknown) = (arguments.iter()).find(|name| !TOPICS.iter().any(|(t, _)| t == name)) {
        let names: Vec<_> = TOPICS.iter().map(|(name, _)| *name).collect();
        return Err(format!("no topic `{unknown}`; there are {}", names.join(", ")).into());
    }
    let mut table = Table::begin();
    for (name, measure) in TOPICS {
        if arguments.is_empty() || arguments.iter().any(|argument| argument == name) {
            measure(&mut table)?;
        }
    }
    table.end();
    Ok(())
}
