//! Ctrl-C and termination, as a flag that long work looks at and an alarm that ends waiting.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::error::{Error, Kind, Result};

type Alarm = Box<dyn Fn() + Send>;

/// Whether the person wants to stop.
#[derive(Clone, Default)]
pub struct Interrupt {
    flag: Arc<AtomicBool>,
    alarms: Arc<Mutex<Vec<Alarm>>>,
}

impl Interrupt {
    /// One that is raised by Ctrl-C, SIGTERM and SIGHUP.
    ///
    /// A second signal ends the process at once: all that matters is on the disk already. There is
    /// one for the process, whoever asks for it.
    pub fn from_signals() -> Result<Self> {
        static OF_THIS_PROCESS: OnceLock<Interrupt> = OnceLock::new();
        if let Some(interrupt) = OF_THIS_PROCESS.get() {
            return Ok(interrupt.clone());
        }
        let interrupt = OF_THIS_PROCESS.get_or_init(Self::default).clone();
        let raised = interrupt.clone();
        ctrlc::set_handler(move || {
            if raised.is_raised() {
                std::process::exit(i32::from(Kind::Interrupted.exit_code()));
            }
            raised.raise();
        })
        .map_err(|cause| Error::new(Kind::Defect, "could not listen for Ctrl-C").because(cause))?;
        Ok(interrupt)
    }

    /// Raises it, as a signal does.
    pub fn raise(&self) {
        self.flag.store(true, Ordering::SeqCst);
        for alarm in self
            .alarms
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
        {
            alarm();
        }
    }

    /// Whether it was raised.
    pub fn is_raised(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }

    /// The flag, for work that looks at it now and then.
    pub fn flag(&self) -> &AtomicBool {
        &self.flag
    }

    /// Calls `alarm` when it is raised.
    pub fn on_raise(&self, alarm: impl Fn() + Send + 'static) {
        self.alarms
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Box::new(alarm));
    }
}

impl std::fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interrupt")
            .field("raised", &self.is_raised())
            .finish_non_exhaustive()
    }
}
