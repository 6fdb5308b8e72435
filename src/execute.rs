//! Carries out one step: `Command` in, `Outcome` out. Total: every trouble is an `Outcome`.

pub mod run;
