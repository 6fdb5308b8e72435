//! Runs child processes on each operating system.
//!
//! [`ChildTree`] is a running child with everything that it starts: its output, its end and how to
//! kill it. [`shells`] lists the programs that can run
//! scripts.

use std::path::PathBuf;

use crate::ResourceLimits;

#[cfg(target_os = "linux")]
pub mod linux;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::{
    UnixChildTree as ChildTree, console_text, held_by_job, held_without_sandbox, shells,
};
#[cfg(windows)]
pub use windows::{
    WindowsChildTree as ChildTree, console_text, held_by_job, held_without_sandbox, shells,
};

/// An event while waiting for a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildEvent {
    /// This many bytes of output were read into the buffer.
    Output(usize),
    /// All writers have closed the output.
    Closed,
    /// The child has ended. Processes that it started may live on, and there may be output left to
    /// read.
    Ended,
    /// Nothing happened within the given time.
    Quiet,
}

/// Tells who creates the session of a child; every child gets one of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildSession {
    /// Created before exec: the program has no terminal, whatever it does.
    MadeBefore,
    /// Created by the child, which is a program of ours, as its first action. Such a child can be
    /// started without copying this process, which takes longer the more memory is in use.
    MadeByChild,
}

/// Restrictions on a child that has no sandbox, as far as the system enforces them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChildRestrictions {
    /// Limits on the resources of all of its processes.
    pub limits: Option<ResourceLimits>,
    /// The only directories that it can change, besides a temporary one of its own; `None` for all that
    /// the person can change.
    pub writable: Option<Vec<PathBuf>>,
}

/// The exit status of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildExit {
    /// It exited with this code.
    Code(i32),
    /// It was ended by this signal.
    Signal(i32),
}
