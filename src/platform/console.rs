//! Ctrl-C, Ctrl-Break and the end of a console of Windows.

#![expect(unsafe_code, reason = "the call of the system has no safe form")]

use std::io;
use std::os::windows::io::AsRawHandle as _;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use windows_sys::Win32::System::Console::{
    CTRL_BREAK_EVENT, CTRL_C_EVENT, FlushConsoleInputBuffer, GetNumberOfConsoleInputEvents,
    SetConsoleCtrlHandler,
};

use super::EndSignal;

/// Takes the events from the thread that the system calls.
static EVENTS: Mutex<Option<Sender<EndSignal>>> = Mutex::new(None);

/// The system gives a console that closes no more time than this.
const LAST_MOMENTS: Duration = Duration::from_secs(30);

/// Calls `heard` on a thread of its own with each event that asks the process to end.
pub(super) fn on_end_events(heard: impl Fn(EndSignal) + Send + 'static) -> io::Result<()> {
    let (sender, events) = channel();
    *EVENTS.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
    thread::spawn(move || events.iter().for_each(heard));
    // SAFETY: the handler is a function of this program.
    if unsafe { SetConsoleCtrlHandler(Some(handle), 1) } == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Forgets the keys that wait in the console, and those of a paste that still arrive.
pub(super) fn discard_keys() {
    const MOST: usize = 200;
    const PAUSE: Duration = Duration::from_millis(20);
    let console = io::stdin().as_raw_handle();
    for _ in 0..MOST {
        let mut waiting = 0;
        // SAFETY: it takes a number; where standard input is no console, it fails.
        if unsafe { FlushConsoleInputBuffer(console) } == 0 {
            return;
        }
        thread::sleep(PAUSE);
        // SAFETY: the pointer is to a number.
        let is_told = unsafe { GetNumberOfConsoleInputEvents(console, &raw mut waiting) } != 0;
        if !is_told || waiting == 0 {
            return;
        }
    }
}

/// Passes an event on. Of those that end the process, the system does so when this returns, so it
/// stays: what is under way gets the time to be put on the disk.
unsafe extern "system" fn handle(event: u32) -> i32 {
    let signal = match event {
        CTRL_C_EVENT => EndSignal::CtrlC,
        _ => EndSignal::Termination,
    };
    if let Some(sender) = &*EVENTS.lock().unwrap_or_else(PoisonError::into_inner) {
        // Nobody listens any more when the process ends.
        let _ = sender.send(signal);
    }
    if !matches!(event, CTRL_C_EVENT | CTRL_BREAK_EVENT) {
        thread::sleep(LAST_MOMENTS);
    }
    1
}
