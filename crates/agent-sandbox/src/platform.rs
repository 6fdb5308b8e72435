//! Running children, as each operating system does it.
//!
//! [`Tree`] is a running child with all that it starts: its output, its end and how it is killed.
//! [`shell`] is the program that runs a script.

#[cfg(target_os = "linux")]
pub mod linux;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::{Tree, shell};
#[cfg(windows)]
pub use windows::{Tree, shell};

/// What happened while waiting for a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// So many bytes of output were read into the buffer.
    Output(usize),
    /// Nobody can write to the output any more.
    Closed,
    /// The child itself has ended; what it started may live on, and output may be left to read.
    Ended,
    /// Nothing, for as long as was asked.
    Quiet,
}

/// When a child gets the session of its own that it always has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Session {
    /// Before it becomes its program: whatever that does, it has no terminal.
    MadeBefore,
    /// It is a program of ours that makes it first of all. So it can be started without a copy of
    /// this process, which takes the longer the more memory is in use.
    MadeByChild,
}

/// How a child ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}
