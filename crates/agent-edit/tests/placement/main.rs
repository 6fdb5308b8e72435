//! Random edits of real sources whose place is known, so that one which lands elsewhere is noticed.
//!
//! Edits this crate's own sources. `PLACEMENT_SOURCES` names another directory, `PLACEMENT_CASES`
//! the number of cases of each kind, `PLACEMENT_SEED` where the random numbers begin,
//! `PLACEMENT_DAMAGE` the only damage to try; `PLACEMENT_SHOW` prints what came out wrong, with
//! `PLACEMENT_NEAR` also what is right but for space and quotes.
//! `cargo test --test placement -- --nocapture` prints tables of what became of the edits.

mod damage;
mod edits;
mod known;
mod replies;
