//! Lines to the client, written by a thread of their own.
//!
//! A client that does not read must not hold up anybody: not the call under way, which holds the base
//! directory, and not the end of the program. Lines that it has not read wait up to a bound; one that
//! lets more pile up is left.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most bytes that wait for a client.
const MOST_WAITING: usize = 64 << 20;

/// How long the end of the program waits for a client that does not read.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// The lines that wait to be written.
#[derive(Debug)]
pub(super) struct OutgoingLines {
    shared: Arc<SharedLines>,
}

#[derive(Debug, Default)]
struct SharedLines {
    state: Mutex<LineQueue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct LineQueue {
    lines: VecDeque<String>,
    /// The bytes of the lines, and of the one that is being written.
    bytes: usize,
    is_broken: bool,
}

impl SharedLines {
    fn lock(&self) -> MutexGuard<'_, LineQueue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next line, without an end.
    fn next(&self) -> String {
        let mut queue = self.lock();
        loop {
            if let Some(line) = queue.lines.pop_front() {
                return line;
            }
            queue = (self.changed.wait(queue)).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl OutgoingLines {
    /// Starts the thread that writes. It is left behind at the end: nothing ends its wait.
    pub(super) fn new(mut out: Box<dyn Write + Send>) -> Self {
        let shared = Arc::new(SharedLines::default());
        let writing = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("mcp-writer".to_owned());
        let started = thread.spawn(move || {
            loop {
                let line = writing.next();
                let written = out.write_all(line.as_bytes()).and_then(|()| out.flush());
                let mut queue = writing.lock();
                queue.bytes -= line.len();
                queue.is_broken |= written.is_err();
                drop(queue);
                writing.changed.notify_all();
            }
        });
        shared.lock().is_broken = started.is_err();
        Self { shared }
    }

    /// Has a line written; returns false if the client is gone, or reads nothing.
    pub(super) fn push(&self, line: String) -> bool {
        let mut queue = self.shared.lock();
        if queue.is_broken || queue.bytes + line.len() > MOST_WAITING {
            return false;
        }
        queue.bytes += line.len();
        queue.lines.push_back(line);
        drop(queue);
        self.shared.changed.notify_all();
        true
    }

    /// Waits until everything is written, though not for long.
    pub(super) fn finish(&self) {
        let queue = self.shared.lock();
        let waits = |queue: &mut LineQueue| queue.bytes > 0 && !queue.is_broken;
        // A client that has not read it by then does not want it.
        let _ = (self.shared.changed).wait_timeout_while(queue, LAST_WAIT, waits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A client that reads a line when it is told to.
    struct SlowReader {
        may_read: Receiver<()>,
        read: Sender<Vec<u8>>,
    }

    impl Write for SlowReader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
            self.may_read.recv().map_err(gone)?;
            let _ = self.read.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_client_that_reads_nothing_holds_nobody_up_and_is_left() {
        let ((allow, may_read), (read, lines)) = (channel(), channel());
        let out = OutgoingLines::new(Box::new(SlowReader { may_read, read }));
        let line = "x".repeat(MOST_WAITING / 8);
        let taken = (0..20).take_while(|_| out.push(line.clone())).count();
        assert_eq!(taken, 8);
        allow.send(()).unwrap();
        assert_eq!(lines.recv().unwrap().len(), line.len());
        drop(allow);
        // The one that was being written fails, and nothing more is waited for.
        out.finish();
        assert!(!out.push(String::new()));
    }
}
