//! `agent completions` and `agent man`: what shells and readers of manuals want, made from the
//! same table as the help.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command, ValueEnum};

use super::slash::CommandLine;
use crate::error::{Error, Result};
use crate::fs::{Durability, create_directory, write_atomic};
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent completions bash > ~/.local/share/bash-completion/completions/agent
  agent completions zsh > ~/.zfunc/_agent
  agent completions fish > ~/.config/fish/completions/agent.fish
  agent completions powershell >> $PROFILE";

/// Print a script that completes commands and options in your shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    Powershell,
}

impl Completions {
    pub(super) fn run(&self, ui: &Ui, program: CommandLine) -> ExitCode {
        use clap_complete::Shell as Known;

        let shell = match self.shell {
            Shell::Bash => Known::Bash,
            Shell::Zsh => Known::Zsh,
            Shell::Fish => Known::Fish,
            Shell::Powershell => Known::PowerShell,
        };
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut (program.grammar)(), "agent", &mut script);
        ui.text(&String::from_utf8_lossy(&script));
        ExitCode::SUCCESS
    }
}

const MAN_EXAMPLES: &str = "\
Examples:
  agent man | man -l -
  agent man ~/.local/share/man/man1";

/// Print the manual page; or write one for each command into a directory
#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(super) struct Man {
    /// Where to write `agent.1`, `agent-new.1` and so on
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

impl Man {
    pub(super) fn run(&self, ui: &Ui, program: CommandLine) -> Result<ExitCode> {
        let mut command = (program.grammar)();
        command.build();
        let Some(directory) = &self.directory else {
            ui.text(&page(&command)?);
            return Ok(ExitCode::SUCCESS);
        };
        create_directory(directory)?;
        write(directory, &command, "agent")?;
        let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let mut pages = 1;
        for verb in verbs {
            let name = format!("agent-{}", verb.get_name());
            write(directory, &verb.clone().name(name.clone()), &name)?;
            pages += 1;
        }
        ui.say(&format!(
            "Wrote {pages} pages to `{}`.",
            directory.display()
        ));
        Ok(ExitCode::SUCCESS)
    }
}

fn write(directory: &Path, command: &Command, name: &str) -> Result<()> {
    let path = directory.join(format!("{name}.1"));
    write_atomic(&path, page(command)?.as_bytes(), Durability::Atomic)
}

fn page(command: &Command) -> Result<String> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut text)
        .map_err(|cause| Error::mendable("could not make the manual page").because(cause))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
