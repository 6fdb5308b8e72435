//! The programs of a desktop that put a text on its clipboard and take one from it.
//!
//! A program gets a few seconds and a bounded answer. Those of X11 and Wayland stay behind to serve
//! the text, so they are started in a group of their own: Ctrl-C is not meant for them.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use wait_timeout::ChildExt;

use super::surroundings::Surroundings;
use crate::mailbox::MAX_REPLY;
use crate::platform::programs;

/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where a program works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProgramHome {
    Wayland,
    X11,
    MacOs,
    Wsl,
}

/// How a program wants its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    /// With its mark: else Windows takes it for its old code page.
    Utf16,
}

/// A program that puts, and the one that takes.
#[derive(Debug, PartialEq, Eq)]
pub struct ClipboardProgram {
    pub(super) name: &'static str,
    put: &'static [&'static str],
    taker: &'static str,
    take: &'static [&'static str],
    home: ProgramHome,
    encoding: Encoding,
}

/// All of them, the better ones first.
pub(super) static PROGRAMS: [ClipboardProgram; 5] = [
    ClipboardProgram {
        name: "wl-copy",
        put: &[],
        taker: "wl-paste",
        take: &["--no-newline"],
        home: ProgramHome::Wayland,
        encoding: Encoding::Utf8,
    },
    ClipboardProgram {
        name: "xclip",
        put: &["-selection", "clipboard"],
        taker: "xclip",
        take: &["-selection", "clipboard", "-o"],
        home: ProgramHome::X11,
        encoding: Encoding::Utf8,
    },
    ClipboardProgram {
        name: "xsel",
        put: &["--clipboard", "--input"],
        taker: "xsel",
        take: &["--clipboard", "--output"],
        home: ProgramHome::X11,
        encoding: Encoding::Utf8,
    },
    ClipboardProgram {
        name: "pbcopy",
        put: &[],
        taker: "pbpaste",
        take: &[],
        home: ProgramHome::MacOs,
        encoding: Encoding::Utf8,
    },
    ClipboardProgram {
        name: "clip.exe",
        put: &[],
        taker: "powershell.exe",
        take: &[
            "-NoProfile",
            "-Command",
            "[Console]::OutputEncoding=[Text.Encoding]::UTF8; Get-Clipboard -Raw",
        ],
        home: ProgramHome::Wsl,
        encoding: Encoding::Utf16,
    },
];

impl ClipboardProgram {
    /// True if it can work here.
    pub(super) fn works(&self, here: &Surroundings) -> bool {
        let is_home = match self.home {
            ProgramHome::Wayland => here.has_wayland,
            ProgramHome::X11 => here.has_x11,
            ProgramHome::MacOs => cfg!(target_os = "macos") && !here.is_remote,
            ProgramHome::Wsl => here.is_wsl && !here.is_remote,
        };
        is_home && here.has_program(self.name)
    }

    /// Hands it a text.
    pub(super) fn put(&self, text: &str) -> Result<(), String> {
        let bytes = match self.encoding {
            Encoding::Utf8 => text.as_bytes().to_vec(),
            Encoding::Utf16 => utf16(text),
        };
        let mut command = started(self.name)?;
        command
            .args(self.put)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = apart(&mut command)
            .spawn()
            .map_err(|cause| format!("could not start: {cause}"))?;
        feed(&mut child, bytes);
        finish(&mut child)
    }

    /// Asks it for the text that is there.
    pub(super) fn take(&self) -> Result<String, String> {
        let mut child = started(self.taker)?
            .args(self.take)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|cause| format!("could not start: {cause}"))?;
        let output = child.stdout.take();
        let reader = thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(output) = output {
                let _ = output.take(MAX_REPLY + 1).read_to_end(&mut bytes);
            }
            bytes
        });
        finish(&mut child)?;
        let bytes = reader.join().unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn started(name: &str) -> Result<Command, String> {
    programs::command(name).map_err(|cause| format!("could not start: {cause}"))
}

/// In a process group of its own, where there are such things.
pub(super) fn apart(command: &mut Command) -> &mut Command {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    command
}

/// Writes to a child that may never read; it ends with the child.
pub(super) fn feed(child: &mut Child, bytes: Vec<u8>) {
    if let Some(mut input) = child.stdin.take() {
        thread::spawn(move || {
            let _ = input.write_all(&bytes);
        });
    }
}

fn finish(child: &mut Child) -> Result<(), String> {
    match child.wait_timeout(PATIENCE) {
        Ok(Some(status)) if status.success() => Ok(()),
        Ok(Some(status)) => Err(format!("ended with {status}")),
        Ok(None) | Err(_) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(format!("did not end within {} seconds", PATIENCE.as_secs()))
        }
    }
}

fn utf16(text: &str) -> Vec<u8> {
    std::iter::once(0xfeff)
        .chain(text.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_gets_a_mark_and_two_bytes_a_letter() {
        assert_eq!(utf16("aü"), [0xff, 0xfe, b'a', 0, 0xfc, 0]);
    }

    #[test]
    fn a_program_that_is_not_there_says_so() {
        let program = ClipboardProgram {
            name: "no-such-program",
            put: &[],
            taker: "no-such-program",
            take: &[],
            home: ProgramHome::X11,
            encoding: Encoding::Utf8,
        };
        assert!(program.put("x").unwrap_err().contains("could not start"));
        assert!(program.take().unwrap_err().contains("could not start"));
        assert!(!program.works(&Surroundings::with(&[("DISPLAY", ":0")])));
    }
}
