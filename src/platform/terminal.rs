//! The terminal as the system sees it: whose turn it is, and how it hands keys and lines over.
//!
//! A shell lets one group of processes have the terminal at a time. A process that changes its
//! modes or reads it out of turn is stopped, so this must be asked first.

#[cfg(unix)]
use std::time::Duration;

/// Forgets what was typed on the terminal and not read yet, where the system knows how and it is our
/// turn.
///
/// The queue of a terminal is short: of a long paste the rest moves up as soon as there is room, so
/// it is done until no more lines come.
pub fn discard_typed_input() {
    #[cfg(unix)]
    {
        use rustix::termios::{QueueSelector, tcflush};
        const MOST: usize = 200;
        for _ in 0..MOST {
            let is_ours = has_foreground();
            if !is_ours || tcflush(rustix::stdio::stdin(), QueueSelector::IFlush).is_err() {
                return;
            }
            if !has_more_input() {
                break;
            }
        }
        // The beginning of a line, which does not count as more.
        let _ = tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
    }
    #[cfg(windows)]
    super::console::discard_keys();
}

/// Reads what comes on the terminal behind a line that was read: piece by piece, each as long after the
/// last one as `pause` says of the text so far.
///
/// It does not show, and the beginning of a further line counts too.
#[cfg(unix)]
pub fn read_rest(text: &mut Vec<u8>, most: usize, pause: impl Fn(&[u8]) -> Duration) {
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex};
    use rustix::termios::{tcgetattr, tcsetattr};
    let stdin = rustix::stdio::stdin();
    let Some(before) = tcgetattr(stdin).ok().filter(|_| has_foreground()) else {
        return;
    };
    let mut modes = before.clone();
    (modes.local_modes).remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ECHONL);
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    if tcsetattr(stdin, OptionalActions::Now, &modes).is_err() {
        return;
    }
    let mut piece = [0; 4096];
    while text.len() < most && has_input_within(pause(text)) {
        match rustix::io::read(stdin, &mut piece) {
            Ok(length @ 1..) => text.extend_from_slice(&piece[..length]),
            Err(rustix::io::Errno::INTR) => {}
            Ok(0) | Err(_) => break,
        }
    }
    let _ = tcsetattr(stdin, OptionalActions::Now, &before);
}

/// The time in which control characters are echoed as they are, not as `^[`.
#[derive(Debug)]
pub struct ControlEcho(());

impl ControlEcho {
    /// Begins; nothing where the system knows no such thing, or it is so already.
    pub fn off() -> Option<Self> {
        Self::set(false).then_some(Self(()))
    }

    /// True if anything was changed.
    fn set(is_named: bool) -> bool {
        #[cfg(unix)]
        {
            use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
            let stdin = rustix::stdio::stdin();
            if let Some(mut modes) = tcgetattr(stdin).ok().filter(|_| has_foreground()) {
                let is_new = modes.local_modes.contains(LocalModes::ECHOCTL) != is_named;
                modes.local_modes.set(LocalModes::ECHOCTL, is_named);
                return is_new && tcsetattr(stdin, OptionalActions::Now, &modes).is_ok();
            }
        }
        let _ = is_named;
        false
    }
}

impl Drop for ControlEcho {
    fn drop(&mut self) {
        Self::set(true);
    }
}

/// Returns true if a line can be read from the terminal now, or in a moment.
#[cfg(unix)]
fn has_more_input() -> bool {
    has_input_within(Duration::from_millis(20))
}

#[cfg(unix)]
fn has_input_within(pause: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let pause = Timespec {
        tv_sec: i64::try_from(pause.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(pause.subsec_nanos()),
    };
    let stdin = rustix::stdio::stdin();
    let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
    let is_ready = poll(&mut watched, Some(&pause)).is_ok_and(|ready| ready > 0);
    is_ready && watched[0].revents().contains(PollFlags::IN)
}

/// Returns true if an output is a pipe that nobody reads any more.
#[cfg(unix)]
pub fn is_unread(output: &impl std::os::fd::AsFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut watched = [PollFd::new(output, PollFlags::empty())];
    let is_ready = poll(&mut watched, Some(&Timespec::default())).is_ok_and(|ready| ready > 0);
    is_ready && watched[0].revents().contains(PollFlags::ERR)
}

/// Returns true if an output is known to be read by nobody; that is not known here.
#[cfg(not(unix))]
pub fn is_unread<T>(_: &T) -> bool {
    false
}

/// Lets a terminal in raw mode still begin each line at its left edge, where the system knows how:
/// whatever is printed by accident then stays readable.
pub fn keep_line_breaks() {
    #[cfg(unix)]
    {
        use rustix::termios::{OptionalActions, OutputModes, tcgetattr, tcsetattr};
        if let Ok(mut modes) = tcgetattr(rustix::stdio::stdin()) {
            modes.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &modes);
        }
    }
}

/// Returns true if this process may use the terminal now: no shell has put it into the background.
pub fn has_foreground() -> bool {
    #[cfg(unix)]
    {
        // One that is not ours, or has nobody in the foreground, stops nobody.
        rustix::termios::tcgetpgrp(rustix::stdio::stdin())
            .map_or(true, |group| group == rustix::process::getpgrp())
    }
    #[cfg(not(unix))]
    true
}

/// Returns true if the terminal that standard input is has gone away: it can be read for ever, and
/// nothing comes.
pub fn is_hung_up() -> bool {
    #[cfg(unix)]
    {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let stdin = rustix::stdio::stdin();
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        let at_once = Timespec::default();
        let polled = poll(&mut fds, Some(&at_once));
        polled.is_ok() && fds[0].revents().contains(PollFlags::HUP)
    }
    #[cfg(not(unix))]
    false
}

/// A signal that asks the process to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndSignal {
    /// The person pressed Ctrl-C.
    CtrlC,
    /// Somebody ends the process, or its terminal is gone.
    Termination,
}

/// Calls `heard` on a thread of its own with each signal that asks the process to end.
pub fn on_end_signals(
    heard: impl Fn(EndSignal) + Send + 'static,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    #[cfg(unix)]
    {
        let mut ends = vec![libc::SIGINT, libc::SIGTERM];
        if !is_ignored(libc::SIGHUP) {
            ends.push(libc::SIGHUP);
        }
        let mut signals = signal_hook::iterator::Signals::new(ends)?;
        std::thread::spawn(move || {
            for signal in signals.forever() {
                heard(match signal {
                    libc::SIGINT => EndSignal::CtrlC,
                    _ => EndSignal::Termination,
                });
            }
        });
    }
    #[cfg(windows)]
    super::console::on_end_events(heard)?;
    Ok(())
}

/// Returns true if who started this process has a signal ignored, as `nohup` does.
#[cfg(unix)]
#[expect(unsafe_code, reason = "there is no safe way to see what a signal does")]
fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is set, and the action is written to memory of ours; zeros are valid for it.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Returns true if the process was stopped and continued since the last call.
///
/// It must have been asked once before the stop.
pub fn was_continued() -> bool {
    #[cfg(unix)]
    {
        use std::sync::atomic::{AtomicBool, Ordering};
        use std::sync::{Arc, LazyLock};

        static CONTINUED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
            let flag = Arc::new(AtomicBool::new(false));
            // Without it a stop from outside goes unnoticed, and nothing else.
            let _ = signal_hook::flag::register(libc::SIGCONT, Arc::clone(&flag));
            flag
        });
        CONTINUED.swap(false, Ordering::SeqCst)
    }
    #[cfg(not(unix))]
    false
}

/// Stops this process and its group until the person lets them go on, as Ctrl-Z does, where the
/// system knows how. When it returns, that has happened.
#[cfg_attr(
    unix,
    expect(unsafe_code, reason = "there is no safe way to set what a signal does")
)]
pub fn stop_this_process() {
    #[cfg(unix)]
    {
        let set = |action| {
            // SAFETY: the actions are "ignore" and those that were in force; no code of ours runs
            // when the signal comes.
            unsafe { libc::signal(libc::SIGTSTP, action) }
        };
        // A signal to the whole group reaches this process in any of its threads, and the one that
        // calls would run on for a while. So the others get that one, and this thread one of its
        // own, which stops the process before the call returns.
        let before = set(libc::SIG_IGN);
        let _ = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
        if before != libc::SIG_ERR {
            set(before);
        }
        // SAFETY: it takes a number; the action of this signal runs no code of ours.
        unsafe { libc::raise(libc::SIGTSTP) };
    }
}
