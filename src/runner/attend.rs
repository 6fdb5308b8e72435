//! Attends to a running child: takes its output, and ends it when its time is up or the person
//! interrupts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::RunEnd;
use super::channel::Lifeline;
use super::output::Output;
use crate::platform::{ChildEvent, ChildExit, ChildTree};
use crate::sandbox::Launch;

/// How long a program that was asked to end may take, before it is killed.
pub(super) const GRACE: Duration = Duration::from_millis(500);

/// How long to read on after the end: what is in the pipe already takes a moment, and a process
/// that left the group may hold the pipe open for ever.
const DRAIN: Duration = Duration::from_millis(250);

/// How long to wait for a killed child, which may hang in the kernel.
const REAP: Duration = Duration::from_secs(2);

/// The pause between two checks for an interrupt.
const TICK: Duration = Duration::from_millis(50);

/// How long the other side may take to end a command, before its client is killed.
const REMOTE_GRACE: Duration = Duration::from_secs(5);

/// Who ends all that a child started.
pub(super) enum Supervisor<'a> {
    /// Nobody: its process group is killed.
    Nobody,
    /// The supervisor of the sandbox.
    Sandbox(&'a mut Launch),
    /// The script on the other side, when its lifeline is cut.
    Lifeline(Option<Lifeline>),
}

/// A running child, and where its output goes.
pub(super) struct Attended<'a> {
    pub(super) tree: ChildTree,
    pub(super) supervisor: Supervisor<'a>,
    pub(super) output: &'a mut Output,
    pub(super) on_output: &'a mut dyn FnMut(&str),
    pub(super) buffer: Vec<u8>,
}

impl Attended<'_> {
    /// Takes output until the child has ended or must end; nothing of it runs on afterwards.
    pub(super) fn attend(mut self, deadline: Option<Instant>, cancelled: &AtomicBool) -> RunEnd {
        let stopped = self.until_ended(deadline, Some(cancelled));
        if stopped.is_some() {
            self.stop();
        }
        self.tree.kill();
        self.drain();
        let reported = match self.supervisor {
            Supervisor::Sandbox(launch) => launch.reported_exit(&mut self.tree),
            Supervisor::Nobody | Supervisor::Lifeline(_) => None,
        };
        let exit = match reported {
            Some(exit) => Ok(Some(exit)),
            None => self.tree.reap(REAP),
        };
        stopped.unwrap_or(match exit {
            // It was hit by the same Ctrl-C, in the moment before it had a session of its own.
            Ok(Some(ChildExit::Signal(INTERRUPT))) if cancelled.load(Ordering::Relaxed) => {
                RunEnd::Interrupted
            }
            Ok(Some(ChildExit::Code(code))) => RunEnd::Exited(code),
            Ok(Some(ChildExit::Signal(signal))) => RunEnd::Signalled(signal),
            Ok(None) | Err(_) => RunEnd::Signalled(KILLED),
        })
    }

    /// Ends the child and what it started, as gently as possible.
    fn stop(&mut self) {
        if let Supervisor::Lifeline(lifeline) = &mut self.supervisor {
            drop(lifeline.take());
            self.until_ended(Some(Instant::now() + REMOTE_GRACE), None);
            return;
        }
        self.tree.terminate();
        let late = self.until_ended(Some(Instant::now() + GRACE), None);
        if let (Some(_), Supervisor::Sandbox(launch)) = (late, &self.supervisor) {
            // Its supervisor reaches also what has left the group.
            launch.stop();
            self.until_ended(Some(Instant::now() + GRACE), None);
        }
    }

    /// Takes output until the child has ended; tells why it was not waited for, if it was not.
    fn until_ended(
        &mut self,
        deadline: Option<Instant>,
        cancelled: Option<&AtomicBool>,
    ) -> Option<RunEnd> {
        loop {
            if cancelled.is_some_and(|cancelled| cancelled.load(Ordering::Relaxed)) {
                return Some(RunEnd::Interrupted);
            }
            let left = deadline.map_or(TICK, |deadline| {
                deadline.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                return Some(RunEnd::TimedOut);
            }
            match self.tree.next(&mut self.buffer, left.min(TICK)) {
                Ok(ChildEvent::Output(length)) => self.take(length),
                Ok(ChildEvent::Quiet) => (self.on_output)(""),
                Ok(ChildEvent::Closed) => {}
                // An error of the pipe or of `poll` leaves nothing to attend to.
                Ok(ChildEvent::Ended) | Err(_) => return None,
            }
        }
    }

    fn drain(&mut self) {
        let deadline = Instant::now() + DRAIN;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            match self.tree.drain(&mut self.buffer, left) {
                Ok(ChildEvent::Output(length)) => self.take(length),
                Ok(ChildEvent::Quiet | ChildEvent::Ended) => {}
                Ok(ChildEvent::Closed) | Err(_) => return,
            }
        }
    }

    fn take(&mut self, length: usize) {
        let text = self.output.push(&self.buffer[..length]);
        if !text.is_empty() {
            (self.on_output)(&text);
        }
    }
}

/// The number of the signal that cannot be refused.
const KILLED: i32 = 9;

/// The number of the signal that a terminal sends for Ctrl-C.
const INTERRUPT: i32 = 2;
