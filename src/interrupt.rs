//! Ctrl-C and termination, as a flag that long work looks at and an alarm that ends waiting.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, ExitKind, Result};
use crate::platform::{EndSignal, on_end_signals};
use crate::protocol::PersonAct;

/// Signals that come together are one: a terminal that closes sends several.
const TOGETHER: Duration = Duration::from_millis(500);

type Alarm = Box<dyn Fn() + Send>;
type Detour = Box<dyn Fn() -> bool + Send>;

/// The person's wish to stop.
#[derive(Clone, Default)]
pub struct Interrupt {
    flag: Arc<AtomicBool>,
    raised_at: Arc<Mutex<Option<Instant>>>,
    /// True if an answer to a question raised it.
    is_answer: Arc<AtomicBool>,
    alarms: Arc<Mutex<Vec<Alarm>>>,
    detour: Arc<Mutex<Option<Detour>>>,
}

/// Keeps an interrupt diverted until it is dropped.
#[derive(Debug)]
pub struct Diversion(Interrupt);

impl Drop for Diversion {
    fn drop(&mut self) {
        *locked(&self.0.detour) = None;
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Interrupt {
    /// One that is raised by Ctrl-C, SIGTERM and SIGHUP.
    ///
    /// A second signal, a moment later, ends the process at once: what was under way has had the time
    /// to be put on the disk. All calls return the one of the process.
    pub fn from_signals() -> Result<Self> {
        Self::listening(|| std::process::exit(i32::from(ExitKind::Interrupted.exit_code())))
    }

    /// One that is raised by Ctrl-C, SIGTERM and SIGHUP, however often; the process ends when its work has.
    ///
    /// For a process that a parent starts and stops: at a terminal Ctrl-C reaches both, and what the
    /// parent says about it may come first.
    pub fn from_repeated_signals() -> Result<Self> {
        Self::listening(|| {})
    }

    fn listening(on_second: fn()) -> Result<Self> {
        static OF_THIS_PROCESS: OnceLock<Interrupt> = OnceLock::new();
        if let Some(interrupt) = OF_THIS_PROCESS.get() {
            return Ok(interrupt.clone());
        }
        let interrupt = OF_THIS_PROCESS.get_or_init(Self::default).clone();
        let raised = interrupt.clone();
        on_end_signals(move |signal| {
            if raised.was_raised_before(TOGETHER) {
                on_second();
            }
            match signal {
                EndSignal::CtrlC => raised.press(),
                EndSignal::Termination => raised.raise(),
            }
        })
        .map_err(|cause| {
            Error::new(ExitKind::Defect, "could not listen for Ctrl-C").because(cause)
        })?;
        Ok(interrupt)
    }

    /// Raises it as Ctrl-C does: unless a detour deals with it.
    pub fn press(&self) {
        let is_diverted =
            !self.is_raised() && (locked(&self.detour).as_ref()).is_some_and(|detour| detour());
        if !is_diverted {
            self.raise();
        }
    }

    /// Raises it, whatever is under way.
    pub fn raise(&self) {
        if !self.flag.swap(true, Ordering::SeqCst) {
            *locked(&self.raised_at) = Some(Instant::now());
        }
        for alarm in locked(&self.alarms).iter() {
            alarm();
        }
    }

    /// Raises it because the person answered a question with `q`.
    pub fn stop(&self) {
        self.is_answer.store(true, Ordering::SeqCst);
        self.raise();
    }

    /// The act of the person that raised it.
    pub fn act(&self) -> PersonAct {
        if self.is_answer.load(Ordering::SeqCst) {
            PersonAct::Stopped
        } else {
            PersonAct::Interrupted
        }
    }

    /// Returns true if it was raised at least so long ago.
    fn was_raised_before(&self, pause: Duration) -> bool {
        let raised_at = *locked(&self.raised_at);
        self.is_raised() && raised_at.is_none_or(|raised| raised.elapsed() >= pause)
    }

    /// Returns true if it was raised.
    pub fn is_raised(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }

    /// Takes back that it was raised: what it stopped is over, and the process goes on.
    pub fn reset(&self) {
        self.flag.store(false, Ordering::SeqCst);
        self.is_answer.store(false, Ordering::SeqCst);
    }

    /// The flag, for work that looks at it now and then.
    pub fn flag(&self) -> &AtomicBool {
        &self.flag
    }

    /// Calls `alarm` when it is raised.
    pub fn on_raise(&self, alarm: impl Fn() + Send + 'static) {
        locked(&self.alarms).push(Box::new(alarm));
    }

    /// Asks `detour` first when Ctrl-C is pressed: what returns true has dealt with it.
    ///
    /// So Ctrl-C stops a request, and only where there is none the loop. A termination and `/quit` stop
    /// the loop in any case.
    pub fn divert(&self, detour: impl Fn() -> bool + Send + 'static) -> Diversion {
        *locked(&self.detour) = Some(Box::new(detour));
        Diversion(self.clone())
    }
}

impl std::fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interrupt")
            .field("raised", &self.is_raised())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detour_takes_what_it_deals_with_and_nothing_afterwards() {
        let interrupt = Interrupt::default();
        let is_dealt_with = Arc::new(AtomicBool::new(true));
        let deals = Arc::clone(&is_dealt_with);
        let diversion = interrupt.divert(move || deals.load(Ordering::SeqCst));
        interrupt.press();
        assert!(!interrupt.is_raised());
        is_dealt_with.store(false, Ordering::SeqCst);
        interrupt.press();
        assert!(interrupt.is_raised());
        drop(diversion);
        let other = Interrupt::default();
        drop(other.divert(|| true));
        other.press();
        assert!(other.is_raised());
        let ended = Interrupt::default();
        let _diversion = ended.divert(|| true);
        ended.raise();
        assert!(ended.is_raised(), "only Ctrl-C is diverted");
    }
}
