//! The options that all commands share, from which the caller of a service is made.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};

use crate::approve::Input;
use crate::courier::TerminalLine;
use crate::error::{Error, ExitKind, Result};
use crate::interrupt::Interrupt;
use crate::services::copy::Copying;
use crate::services::run::Ending;
use crate::services::{Caller, GivenFlags};
use crate::settings::KEYS;
use crate::ui::{Form, Terminal, Ui, Volume};

// The options that every verb knows. No doc comment: clap would take it for what the program is.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every command")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch")]
pub(super) struct Common {
    /// Work with this base directory instead of the nearest one with an `appsettings.json`
    #[arg(long, global = true, value_name = "DIR")]
    base: Option<PathBuf>,
    /// One JSON object per line on standard output
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// Print only what needs attention
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more
    #[arg(long, short, global = true)]
    verbose: bool,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: Color,
    /// Never ask; refuse what would need a decision
    #[arg(long, global = true)]
    no_input: bool,
    #[command(flatten)]
    settings: SettingFlags,
    /// All voices of the process speak at one terminal.
    #[arg(skip)]
    terminal: Arc<Terminal>,
    /// The copying of parts that waits for Enter.
    #[arg(skip)]
    pub(super) copying: Copying,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

/// A flag for every setting, made from the table of settings.
#[derive(Debug, Clone, Default)]
pub(super) struct SettingFlags(pub(super) GivenFlags);

impl Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        // `help` adds them, as far as they are needed.
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for key in KEYS {
            if let Ok(Some(value)) = matches.try_get_one::<String>(key.flag) {
                self.0.given.push((key.flag, value.clone()));
            }
        }
        // After the verb, the one that counts.
        match matches.subcommand() {
            Some((_, verb)) => self.update_from_arg_matches(verb),
            None => Ok(()),
        }
    }
}

impl Common {
    /// A call that looks at something: Ctrl-C ends the program.
    pub(super) fn caller(&self, ui: &Ui) -> Result<Caller> {
        self.caller_until(ui, Interrupt::default())
    }

    /// A call that does something: Ctrl-C tells it to come to an end.
    pub(super) fn acting_caller(&self, ui: &Ui) -> Result<Caller> {
        let interrupt = Interrupt::from_signals()?;
        ui.terminal().stop_unwritten(&interrupt);
        self.caller_until(ui, interrupt)
    }

    fn caller_until(&self, ui: &Ui, interrupt: Interrupt) -> Result<Caller> {
        Ok(Caller {
            base: self.base.clone(),
            flags: self.settings.0.clone(),
            ..Caller::of_this_process(Arc::new(ui.clone()), interrupt)?
        })
    }

    pub(super) fn ui(&self) -> Ui {
        let volume = match (self.quiet, self.verbose) {
            (true, _) => Volume::Quiet,
            (_, true) => Volume::Verbose,
            _ => Volume::Normal,
        };
        let form = if self.json { Form::Json } else { Form::Lines };
        let color = match self.color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        Ui::new(volume, form, color)
            .at(&self.terminal)
            .with_input(self.input())
    }

    /// Says if the person is waited for.
    pub(super) fn input(&self) -> Input {
        if self.no_input {
            Input::Refuse
        } else {
            Input::Wait
        }
    }
}

/// Couriers send their sequences to the terminal that this process speaks at.
impl TerminalLine for Ui {
    fn has_terminal(&self) -> bool {
        Ui::has_terminal(self)
    }

    fn send_to_terminal(&self, sequence: &str) -> bool {
        Ui::send_to_terminal(self, sequence)
    }
}

/// The exit code of a run of the loop.
pub(super) fn exit_code(ending: Ending) -> ExitCode {
    match ending {
        Ending::Done | Ending::Stepped => ExitCode::SUCCESS,
        Ending::RoundLimit => ExitKind::RoundLimit.exit_code().into(),
        Ending::Interrupted => ExitKind::Interrupted.exit_code().into(),
        Ending::Rejected => ExitKind::NotApplied.exit_code().into(),
    }
}

/// The longest text that is read from standard input, in bytes.
const MAX_INPUT: usize = 16 * 1024 * 1024;

/// Reads a text from standard input: what the person types or pastes at a terminal, else all that comes.
pub(super) fn read_standard_input(what: &str, ui: &Ui) -> Result<Vec<u8>> {
    use std::io::IsTerminal as _;
    if !std::io::stdin().is_terminal() {
        return read_piped(what);
    }
    if ui.has_prompt() {
        return Err(Error::usage(format!(
            "{what} cannot be read from the terminal while the prompt has it"
        )));
    }
    let invite = || {
        ui.say(&format!(
            "Type or paste {what}, then end it with a line that has only a `.`, or with Ctrl-D."
        ));
    };
    let interrupt = Interrupt::from_signals()?;
    match ui.terminal().read_text(&interrupt, MAX_INPUT, invite)? {
        Some(text) => Ok(text.into_bytes()),
        None => read_piped(what),
    }
}

/// Reads standard input to its end.
pub(super) fn read_piped(what: &str) -> Result<Vec<u8>> {
    use std::io::Read;
    const MAX: u64 = MAX_INPUT as u64;
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|cause| {
            Error::mendable(format!("could not read {what} from standard input")).because(cause)
        })?;
    if bytes.len() as u64 > MAX {
        return Err(Error::mendable(format!(
            "{what} on standard input is larger than 16 MiB"
        )));
    }
    Ok(bytes)
}
