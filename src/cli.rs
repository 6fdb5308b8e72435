//! The command line: what was typed, turned into calls of the library.
//!
//! One verb, one file: its arguments and its function. The doc comments are the help texts.

mod add;
mod apply;
mod approve;
mod carry;
mod check;
mod completions;
mod config;
mod console;
mod copy;
mod demo;
mod diff;
mod doctor;
mod end;
mod export;
mod fork;
mod handoff;
mod help;
mod init;
mod list;
mod new;
mod parse;
mod paste;
mod plan;
mod policy;
mod prompts;
mod resume;
mod rm;
mod say;
mod show;
mod status;
mod step;
mod undo;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand, ValueEnum};

use crate::approve::Input;
use crate::courier::TerminalLine;
use crate::error::{Error, Kind, Result};
use crate::interrupt::Interrupt;
use crate::services::run::Ending;
use crate::services::{Caller, GivenFlags};
use crate::settings::KEYS;
use crate::ui::{Form, Terminal, Ui, Volume};

/// What was typed; how it is read is told by `help`.
#[derive(Debug)]
struct Cli {
    common: Common,
    verb: Verb,
}

// The options that every verb knows. No doc comment: clap would take it for what the program is.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every command")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch")]
struct Common {
    /// Work with this base directory instead of the nearest one with an `appsettings.json`
    #[arg(long, global = true, value_name = "DIR")]
    base: Option<PathBuf>,
    /// One JSON object per line on standard output
    #[arg(long, global = true)]
    json: bool,
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
    copying: copy::Copying,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Verb {
    New(new::New),
    Resume(resume::Resume),
    Step(step::StepArgs),
    Apply(apply::Apply),
    Parse(parse::Parse),
    Status(status::StatusArgs),
    List(list::List),
    Show(show::Show),
    Plan(plan::Plan),
    Diff(diff::Diff),
    Undo(undo::Undo),
    Redo(undo::Redo),
    Copy(copy::Copy),
    Paste(paste::Paste),
    Say(say::Say),
    Add(add::Add),
    Approve(approve::Approve),
    Decline(approve::Decline),
    Check(check::Check),
    End(end::End),
    Handoff(handoff::Handoff),
    Fork(fork::Fork),
    Export(export::Export),
    Rm(rm::Rm),
    Config(config::Config),
    Policy(policy::PolicyArgs),
    Prompts(prompts::Prompts),
    Init(init::Init),
    Demo(demo::Demo),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
    Man(completions::Man),
    Help(help::Help),
}

/// A flag for every setting, made from the table of settings.
#[derive(Debug, Clone, Default)]
struct SettingFlags(GivenFlags);

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
    fn caller(&self, ui: &Ui) -> Result<Caller> {
        self.caller_until(ui, Interrupt::default())
    }

    /// A call that does something: Ctrl-C tells it to come to an end.
    fn acting_caller(&self, ui: &Ui) -> Result<Caller> {
        self.caller_until(ui, Interrupt::from_signals()?)
    }

    fn caller_until(&self, ui: &Ui, interrupt: Interrupt) -> Result<Caller> {
        Ok(Caller {
            base: self.base.clone(),
            flags: self.settings.0.clone(),
            ..Caller::of_this_process(Arc::new(ui.clone()), interrupt)?
        })
    }

    fn ui(&self) -> Ui {
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
        let input = if self.no_input {
            Input::Refuse
        } else {
            Input::Wait
        };
        Ui::new(volume, form, color)
            .at(&self.terminal)
            .with_input(input)
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

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    run(std::env::args_os())
}

/// Says that we are to blame, and gives the exit code for it.
pub fn defect() -> ExitCode {
    let error = Error::new(
        Kind::Defect,
        "this is a defect of `agent`; nothing of the session is lost",
    )
    .hint("`agent resume` goes on; please report the lines above");
    Ui::new(Volume::Normal, Form::Lines, anstream::ColorChoice::Auto).error(&error);
    Kind::Defect.exit_code().into()
}

/// Runs the program with these arguments and gives its exit code.
fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::read(arguments) {
        Ok(cli) => cli,
        Err(message) => return help::answer(&message),
    };
    let ui = cli.common.ui();
    match cli.verb.run(&cli.common, &ui) {
        Ok(code) => code,
        Err(error) => {
            cli.common.ui().error(&error);
            ExitCode::from(error.kind().exit_code())
        }
    }
}

impl Cli {
    fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut grammar = help::command();
        let read = |matches: &ArgMatches| {
            Ok(Self {
                common: Common::from_arg_matches(matches)?,
                verb: Verb::from_arg_matches(matches)?,
            })
        };
        let matches = grammar.try_get_matches_from_mut(arguments);
        matches
            .and_then(|matches| read(&matches))
            .map_err(|message| message.format(&mut grammar))
    }
}

impl Verb {
    fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        match self {
            Self::New(verb) => verb.run(common, ui),
            Self::Resume(verb) => verb.run(common, ui),
            Self::Step(verb) => verb.run(common, ui),
            Self::Apply(verb) => verb.run(common, ui),
            Self::Parse(verb) => verb.run(ui),
            Self::Status(verb) => verb.run(common, ui),
            Self::List(_) => list::run(common, ui),
            Self::Show(verb) => verb.run(common, ui),
            Self::Plan(verb) => verb.run(common, ui),
            Self::Diff(verb) => verb.run(common, ui),
            Self::Undo(verb) => verb.run(common, ui),
            Self::Redo(verb) => verb.run(common, ui),
            Self::Copy(verb) => verb.run(common, ui),
            Self::Paste(verb) => verb.run(common, ui),
            Self::Say(verb) => verb.run(common, ui),
            Self::Add(verb) => verb.run(common, ui),
            Self::Approve(verb) => verb.run(common, ui),
            Self::Decline(verb) => verb.run(common, ui),
            Self::Check(_) => check::Check::run(common, ui),
            Self::End(verb) => verb.run(common, ui),
            Self::Handoff(verb) => verb.run(common, ui),
            Self::Fork(verb) => verb.run(common, ui),
            Self::Export(verb) => verb.run(common, ui),
            Self::Rm(verb) => verb.run(common, ui),
            Self::Config(_) => config::run(common, ui),
            Self::Policy(verb) => verb.run(common, ui),
            Self::Prompts(verb) => verb.run(common, ui),
            Self::Doctor(_) => doctor::run(common, ui),
            Self::Completions(verb) => Ok(verb.run(ui)),
            Self::Man(verb) => verb.run(ui),
            Self::Help(verb) => verb.run(ui),
            Self::Init(verb) => verb.run(common, ui),
            Self::Demo(_) => demo::run(ui),
        }
    }
}

/// The exit code of a run of the loop.
fn exit_code(ending: Ending) -> ExitCode {
    match ending {
        Ending::Done | Ending::Stepped => ExitCode::SUCCESS,
        Ending::RoundLimit => Kind::RoundLimit.exit_code().into(),
        Ending::Interrupted => Kind::Interrupted.exit_code().into(),
        Ending::Rejected => Kind::NotApplied.exit_code().into(),
    }
}

/// Reads standard input to its end, as text; at most 16 MiB.
fn read_standard_input(what: &str) -> Result<Vec<u8>> {
    use std::io::Read;
    const MAX: u64 = 16 * 1024 * 1024;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        help::command().debug_assert();
    }
}
