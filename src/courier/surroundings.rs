//! The desktop and the terminal, as described by the environment.

use std::ffi::OsString;

use crate::platform::programs;

/// A program that stands between us and the terminal, and swallows what it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Multiplexer {
    Tmux,
    Screen,
}

/// Where the program runs.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one fact of the environment"
)]
pub struct Surroundings {
    pub(super) has_x11: bool,
    pub(super) has_wayland: bool,
    /// The person sits at another machine.
    pub(super) is_remote: bool,
    /// Linux within Windows, whose clipboard is the one that counts.
    pub(super) is_wsl: bool,
    pub(super) multiplexer: Option<Multiplexer>,
    /// `TERM`, and the terminal's own name.
    pub(super) terminal: String,
    pub(super) terminal_program: String,
    path: OsString,
}

impl Surroundings {
    /// As the variables of the environment tell.
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
        let text = |name: &str| {
            let value = variable(name).unwrap_or_default();
            value.to_string_lossy().into_owned()
        };
        let multiplexer = if is_set("TMUX") {
            Some(Multiplexer::Tmux)
        } else {
            is_set("STY").then_some(Multiplexer::Screen)
        };
        Self {
            has_x11: is_set("DISPLAY"),
            has_wayland: is_set("WAYLAND_DISPLAY"),
            is_remote: is_set("SSH_CONNECTION") || is_set("SSH_TTY"),
            is_wsl: is_set("WSL_DISTRO_NAME"),
            multiplexer,
            terminal: text("TERM"),
            terminal_program: text("TERM_PROGRAM"),
            path: variable("PATH").unwrap_or_default(),
        }
    }

    /// Of this process.
    pub fn of_this_process() -> Self {
        Self::of(|name| std::env::var_os(name))
    }

    /// True if a library can reach the clipboard of this system, and it is the person's.
    pub(super) fn has_system_clipboard(&self) -> bool {
        if cfg!(any(target_os = "macos", windows)) {
            // Over a network it would be the one of a machine where nobody sits.
            !self.is_remote
        } else {
            // A display that is forwarded is the person's.
            self.has_x11 || self.has_wayland
        }
    }

    /// The name of this system's clipboard.
    pub(super) fn system_name(&self) -> &'static str {
        if self.has_wayland {
            "Wayland"
        } else if self.has_x11 {
            "X11"
        } else {
            "this system"
        }
    }

    /// True if a program of this name can be started.
    pub(super) fn has_program(&self, name: &str) -> bool {
        programs::find_in(&self.path, name).is_some()
    }

    /// True if the terminal may know escape sequences beyond colours.
    pub(super) fn has_capable_terminal(&self) -> bool {
        !matches!(self.terminal.as_str(), "" | "dumb" | "linux")
    }
}

#[cfg(test)]
impl Surroundings {
    /// With these variables and nothing else.
    pub(super) fn with(variables: &[(&str, &str)]) -> Self {
        Self::of(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }
}
