//! The process that keeps a text on the clipboard of X11 or Wayland.
//!
//! There the clipboard is a promise: the program that copied hands the text out when somebody pastes,
//! and when that program ends, the text is gone. So a process of its own keeps it, as `xclip` does,
//! until something else is copied or the display goes away. It reads the text from standard input.

use std::ffi::OsStr;
use std::process::ExitCode;

/// The first argument that makes the program a holder.
pub const SUBCOMMAND: &str = "__hold-clipboard";

/// True if these arguments ask for a holder.
pub fn is_meant(first: &OsStr) -> bool {
    first == SUBCOMMAND
}

/// Holds the text until it is replaced.
#[cfg(all(unix, not(target_os = "macos")))]
pub fn main() -> ExitCode {
    use std::io::Read;

    use arboard::SetExtLinux;

    let mut text = String::new();
    if std::io::stdin().read_to_string(&mut text).is_err() {
        return ExitCode::FAILURE;
    }
    leave_with_the_display();
    let held = arboard::Clipboard::new()
        .and_then(|mut clipboard| clipboard.set().wait().text(text.as_str()));
    if held.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Elsewhere the system keeps the text itself.
#[cfg(not(all(unix, not(target_os = "macos"))))]
pub fn main() -> ExitCode {
    ExitCode::FAILURE
}

/// Ends the process when X11 ends: the library would wait for ever.
#[cfg(all(unix, not(target_os = "macos")))]
fn leave_with_the_display() {
    use x11rb::connection::Connection;

    let Ok((connection, _)) = x11rb::connect(None) else {
        return;
    };
    std::thread::spawn(move || {
        while connection.wait_for_event().is_ok() {}
        std::process::exit(1);
    });
}
