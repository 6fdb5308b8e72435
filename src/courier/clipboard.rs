//! The clipboard, by whatever way works here.
//!
//! The ways are tried in order. Where a way can be asked, the text is read back and must be the one
//! that was put; a way that fails that is not a way. The last one, through the terminal, cannot be
//! asked, and its words say so.

use std::fmt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use wait_timeout::ChildExt;

use super::program::{ClipboardProgram, PROGRAMS, apart, feed};
use super::{Surroundings, TerminalLine, holder, osc52};
use crate::mailbox::MAX_REPLY;
use crate::platform::programs;

/// How long a text may take to be on the clipboard.
const PATIENCE: Duration = Duration::from_secs(4);
/// The pause before the next check.
const NEXT_LOOK: Duration = Duration::from_millis(20);

/// A way to the clipboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClipboardRoute {
    /// The clipboard of the system, as programs with windows use it; with the system's name.
    System(&'static str),
    /// A program of the desktop.
    Program(&'static ClipboardProgram),
    /// The terminal, by OSC 52.
    Terminal,
}

impl fmt::Display for ClipboardRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(name) => write!(f, "the clipboard of {name}"),
            Self::Program(program) => write!(f, "`{}`", program.name),
            Self::Terminal => f.write_str("the terminal (OSC 52)"),
        }
    }
}

/// How a text went to the clipboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    way: ClipboardRoute,
    is_read_back: bool,
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.way, self.is_read_back) {
            (ClipboardRoute::System(name), true) => write!(f, "copied to the clipboard of {name}"),
            (ClipboardRoute::Program(program), true) => {
                write!(f, "copied to the clipboard by `{}`", program.name)
            }
            (ClipboardRoute::Terminal, _) => f.write_str(
                "sent through the terminal; if pasting gives something else, use the file in outbox/",
            ),
            (way, false) => write!(f, "handed to {way}; if pasting gives something else, use the file in outbox/"),
        }
    }
}

/// Why a text is not on the clipboard: each way with its trouble.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClipboardFailure(Vec<(ClipboardRoute, String)>);

impl fmt::Display for ClipboardFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("there is no way to a clipboard here");
        }
        for (index, (way, trouble)) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{way} {trouble}")?;
        }
        Ok(())
    }
}

/// The clipboard of the person.
#[derive(Debug)]
pub struct Clipboard {
    here: Surroundings,
    /// Those who keep what we put there, to be seen off when they end.
    holders: Vec<Child>,
}

impl Clipboard {
    /// The one that these surroundings have; nothing is opened yet.
    pub fn of(here: Surroundings) -> Self {
        Self {
            here,
            holders: Vec::new(),
        }
    }

    /// The ways on which a text can be put there, the best first.
    pub fn ways_out(&self, terminal: &dyn TerminalLine) -> Vec<ClipboardRoute> {
        let mut ways = self.ways_in();
        if terminal.has_terminal() && self.here.has_capable_terminal() {
            ways.push(ClipboardRoute::Terminal);
        }
        ways
    }

    /// The ways on which a text can be taken from there, the best first.
    pub fn ways_in(&self) -> Vec<ClipboardRoute> {
        let system = self.here.has_system_clipboard();
        let system = system.then(|| ClipboardRoute::System(self.here.system_name()));
        let works = |program: &&'static ClipboardProgram| program.works(&self.here);
        let programs = PROGRAMS.iter().filter(works).map(ClipboardRoute::Program);
        system.into_iter().chain(programs).collect()
    }

    /// Puts a text there on the first way that works.
    pub fn put(
        &mut self,
        text: &str,
        terminal: &dyn TerminalLine,
    ) -> Result<Sent, ClipboardFailure> {
        self.holders
            .retain_mut(|holder| matches!(holder.try_wait(), Ok(None)));
        let mut failures = Vec::new();
        for way in self.ways_out(terminal) {
            let put = match way {
                ClipboardRoute::System(_) => self.put_by_system(text),
                ClipboardRoute::Program(program) => put_by_program(program, text),
                ClipboardRoute::Terminal => self.put_by_terminal(text, terminal),
            };
            match put {
                Ok(is_read_back) => return Ok(Sent { way, is_read_back }),
                Err(trouble) => failures.push((way, trouble)),
            }
        }
        Err(ClipboardFailure(failures))
    }

    /// Takes the text that is there; nothing if there is none.
    pub fn take(&self) -> Result<Option<String>, ClipboardFailure> {
        let mut failures = Vec::new();
        for way in self.ways_in() {
            let taken = match way {
                ClipboardRoute::System(_) => take_by_system(),
                ClipboardRoute::Program(program) => program.take().map(Some),
                ClipboardRoute::Terminal => continue,
            };
            match taken {
                Ok(Some(text)) if text.len() as u64 > MAX_REPLY => {
                    failures.push((way, "has a text of more than 16 MiB".to_owned()));
                }
                Ok(text) => return Ok(text.filter(|text| !text.is_empty())),
                Err(trouble) => failures.push((way, trouble)),
            }
        }
        Err(ClipboardFailure(failures))
    }

    fn put_by_system(&mut self, text: &str) -> Result<bool, String> {
        if cfg!(any(target_os = "macos", windows)) {
            arboard::Clipboard::new()
                .and_then(|mut clipboard| clipboard.set_text(text))
                .map_err(|cause| format!("cannot be used: {cause}"))?;
            return verified(take_by_system()?.as_deref(), text);
        }
        self.put_by_holder(text)
    }

    /// Has a process of its own keep the text, and waits until it can be pasted.
    fn put_by_holder(&mut self, text: &str) -> Result<bool, String> {
        let program =
            std::env::current_exe().map_err(|cause| format!("cannot be served: {cause}"))?;
        let mut command = programs::exactly(&program);
        command
            .arg(holder::SUBCOMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = apart(&mut command)
            .spawn()
            .map_err(|cause| format!("cannot be served: {cause}"))?;
        feed(&mut child, text.as_bytes().to_vec());
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            match child.wait_timeout(NEXT_LOOK) {
                Ok(None) => {}
                // It was there, and somebody has copied something else already.
                Ok(Some(status)) if status.success() => return Ok(true),
                _ => return Err("cannot be reached".to_owned()),
            }
            if take_by_system().is_ok_and(|found| is_same(found.as_deref(), text)) {
                self.holders.push(child);
                return Ok(true);
            }
        }
        let _ = child.kill();
        let _ = child.wait();
        Err("did not give the text back".to_owned())
    }

    fn put_by_terminal(&self, text: &str, terminal: &dyn TerminalLine) -> Result<bool, String> {
        if text.len() > osc52::LONGEST {
            return Err(format!(
                "takes at most {} bytes, and this has {}",
                osc52::LONGEST,
                text.len()
            ));
        }
        if terminal.send_to_terminal(&osc52::copying(text, self.here.multiplexer)) {
            Ok(false)
        } else {
            Err("is not there".to_owned())
        }
    }
}

fn put_by_program(program: &ClipboardProgram, text: &str) -> Result<bool, String> {
    program.put(text)?;
    match program.take() {
        Ok(found) => verified(Some(&found), text),
        // It took the text; that it cannot be asked is no failure, only a doubt.
        Err(_) => Ok(false),
    }
}

fn take_by_system() -> Result<Option<String>, String> {
    let taken = arboard::Clipboard::new().and_then(|mut clipboard| clipboard.get_text());
    match taken {
        Ok(text) => Ok(Some(text)),
        Err(arboard::Error::ContentNotAvailable | arboard::Error::ConversionFailure) => Ok(None),
        Err(cause) => Err(format!("cannot be read: {cause}")),
    }
}

fn verified(found: Option<&str>, text: &str) -> Result<bool, String> {
    if is_same(found, text) {
        Ok(true)
    } else {
        Err("gave another text back".to_owned())
    }
}

/// Line breaks aside: Windows has its own.
fn is_same(found: Option<&str>, text: &str) -> bool {
    let lines = |text: &str| text.replace("\r\n", "\n").trim_end().to_owned();
    found.is_some_and(|found| lines(found) == lines(text))
}

#[cfg(test)]
mod tests {
    use super::super::NoTerminal;
    use super::*;

    fn ways(variables: &[(&str, &str)]) -> Vec<String> {
        let clipboard = Clipboard::of(Surroundings::with(variables));
        clipboard
            .ways_in()
            .iter()
            .map(ClipboardRoute::to_string)
            .collect()
    }

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn a_way_is_there_only_with_its_display() {
        let programs = tempfile::tempdir().unwrap();
        for name in ["xclip", "wl-copy", "clip.exe"] {
            let path = programs.path().join(name);
            crate::fs::write_atomic(&path, b"", crate::fs::Durability::Atomic).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&path, mode).unwrap();
        }
        let path = ("PATH", programs.path().to_str().unwrap());
        assert!(ways(&[path]).is_empty());
        assert_eq!(
            ways(&[path, ("DISPLAY", ":0")]),
            ["the clipboard of X11", "`xclip`"]
        );
        assert_eq!(
            ways(&[path, ("WAYLAND_DISPLAY", "wayland-0"), ("DISPLAY", ":0")]),
            ["the clipboard of Wayland", "`wl-copy`", "`xclip`"]
        );
        assert_eq!(ways(&[path, ("WSL_DISTRO_NAME", "x")]), ["`clip.exe`"]);
    }

    #[test]
    fn without_a_way_it_says_so_and_never_that_it_copied() {
        let mut clipboard = Clipboard::of(Surroundings::with(&[]));
        if !cfg!(any(target_os = "macos", windows)) {
            let failure = clipboard.put("x", &NoTerminal).unwrap_err();
            assert_eq!(failure.to_string(), "there is no way to a clipboard here");
        }
        for way in [
            ClipboardRoute::Terminal,
            ClipboardRoute::Program(&PROGRAMS[4]),
        ] {
            let sent = Sent {
                way,
                is_read_back: false,
            };
            assert!(!sent.to_string().contains("copied"), "{sent}");
            assert!(
                sent.to_string().contains("if pasting gives something else"),
                "{sent}"
            );
        }
    }

    #[test]
    fn line_breaks_do_not_make_another_text() {
        assert!(is_same(Some("a\r\nb\r\n"), "a\nb"));
        assert!(!is_same(Some("a"), "a\nb"));
        assert!(!is_same(None, ""));
    }
}
