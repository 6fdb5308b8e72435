//! A way to end a request from another thread: while it waits for the server, for the next piece of
//! a stream, or for the next try.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Ends requests when it is raised. Clones share one state.
#[derive(Clone, Default)]
pub struct StopSignal {
    shared: Arc<(Mutex<StopState>, Condvar)>,
}

#[derive(Default)]
struct StopState {
    is_raised: bool,
    /// The connections of the request under way.
    connections: Option<ureq::Agent>,
}

impl StopSignal {
    /// Ends what is under way and all that begins later.
    pub fn raise(&self) {
        let mut state = self.state();
        state.is_raised = true;
        // Closes the socket, so that a blocked read returns at once.
        if let Some(connections) = state.connections.take() {
            connections.shutdown();
        }
        self.shared.1.notify_all();
    }

    /// Returns true if it was raised.
    pub fn is_raised(&self) -> bool {
        self.state().is_raised
    }

    /// Waits that long; returns false if it was raised meanwhile.
    pub fn wait(&self, duration: Duration) -> bool {
        let until = Instant::now() + duration;
        let mut state = self.state();
        while !state.is_raised {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            state = (self.shared.1.wait_timeout(state, left))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        false
    }

    /// Lets [`StopSignal::raise`] close these connections.
    pub(crate) fn guard(&self, connections: &ureq::Agent) {
        let mut state = self.state();
        if state.is_raised {
            connections.clone().shutdown();
        } else {
            state.connections = Some(connections.clone());
        }
    }

    fn state(&self) -> MutexGuard<'_, StopState> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StopSignal")
            .field("is_raised", &self.is_raised())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_it_is_raised() {
        let stop = StopSignal::default();
        assert!(stop.wait(Duration::from_millis(1)));
        let raised = stop.clone();
        let thread = std::thread::spawn(move || raised.raise());
        assert!(!stop.wait(Duration::from_hours(1)));
        thread.join().unwrap();
        assert!(stop.is_raised() && !stop.wait(Duration::ZERO));
    }
}
