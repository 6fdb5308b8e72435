//! The `agent` program: see the library for all that it does.

fn main() {}
