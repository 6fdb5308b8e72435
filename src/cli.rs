//! The command line: what was typed, turned into calls of services.
//!
//! One verb, one file: its arguments and its function. The doc comments are the help texts. No file
//! knows one that knows it.

mod add;
mod api;
mod apply;
mod approve;
mod ask;
mod batch;
mod carry;
mod check;
mod commit;
mod common;
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
mod mcp;
mod new;
mod notes;
mod parse;
mod paste;
mod plan;
mod policy;
mod program;
mod prompts;
mod rename;
mod resume;
mod rm;
mod say;
mod serve;
mod show;
mod slash;
mod status;
mod step;
mod undo;
mod verb;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};

use self::common::Common;
use self::program::PROGRAM;
use self::verb::Verb;
use crate::error::{Error, ExitKind, Result};
use crate::ui::{Form, Ui, Volume};

/// The parsed command line; `help` says how it is read.
#[derive(Debug)]
struct Cli {
    common: Common,
    verb: Verb,
}

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    run(std::env::args_os())
}

/// Says that we are to blame, and gives the exit code for it.
pub fn defect() -> ExitCode {
    let error = Error::new(
        ExitKind::Defect,
        "this is a defect of `agent`; nothing of the session is lost",
    )
    .hint("`agent resume` continues; please report the lines above");
    Ui::new(Volume::Normal, Form::Lines, anstream::ColorChoice::Auto).error(&error);
    ExitKind::Defect.exit_code().into()
}

/// Runs the program with these arguments and gives its exit code.
fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(code) = help::overview(&arguments) {
        return code;
    }
    // In a project, the bare program says where things stand.
    let is_bare = arguments.len() == 1 && help::is_at_terminal();
    let arguments: Vec<OsString> = arguments
        .into_iter()
        .chain(is_bare.then(|| OsString::from("status")))
        .collect();
    let cli = match Cli::read(&arguments) {
        Ok(cli) => cli,
        Err(message) => return help::answer(&message, PROGRAM, &arguments),
    };
    let ui = cli.common.ui();
    let ended = cli.verb.run(&cli.common, &ui, PROGRAM);
    match ended.and_then(|code| ui.ensure_written().map(|()| code)) {
        Ok(code) => code,
        Err(error) => {
            cli.common.ui().error(&error);
            ExitCode::from(error.kind().exit_code())
        }
    }
}

impl Cli {
    fn read(arguments: &[OsString]) -> Result<Self, clap::Error> {
        let mut grammar = (PROGRAM.grammar)();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        (PROGRAM.grammar)().debug_assert();
    }
}
