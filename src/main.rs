//! The `agent` program: see the library for all that it does.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: a supervisor of a command must still have one thread.
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next().unwrap_or_default();
    if first == agent::sandbox::SUBCOMMAND {
        return agent::sandbox::child_main(arguments);
    }
    if agent::courier::holder::is_meant(&first) {
        return agent::courier::holder::main();
    }
    // A panic is a defect of ours; the message that the hook printed says where.
    std::panic::catch_unwind(agent::cli::main).unwrap_or_else(|_| agent::cli::defect())
}
