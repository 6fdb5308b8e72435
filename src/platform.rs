//! Differences between operating systems: the terminal here, the rest in the crates that need it.

#[cfg(windows)]
mod console;
mod terminal;

pub use agent_files::platform::*;
pub use agent_sandbox::platform::*;
#[cfg(unix)]
pub use terminal::read_rest;
pub use terminal::{
    ControlEcho, EndSignal, discard_typed_input, has_foreground, is_hung_up, is_unread,
    keep_line_breaks, on_end_signals, stop_this_process, was_continued,
};
