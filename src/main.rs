//! The `agent` program: see the library for all that it does.

use std::process::ExitCode;

fn main() -> ExitCode {
    agent::cli::main()
}
