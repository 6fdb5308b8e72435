//! `agent mcp`: chats that can call tools.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::common::Common;
use crate::approve::Question;
use crate::error::{Error, Result};
use crate::mcp::install::{self, KnownClient, ServerEntry};
use crate::mcp::{self, ServeOptions};
use crate::protocol::is_yes;
use crate::services::open::{self, FirstRun};
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent mcp install --client claude-desktop
  agent mcp install --print
  agent mcp --base ~/my-project/.agent

A client such as Claude Desktop, VS Code, Zed or LM Studio starts `agent mcp` itself and speaks the \
Model Context Protocol with it on standard input and output. `agent mcp install` adds it to the \
client's configuration, for the base directory of this folder.";

/// Let a chat that can call tools work on the project: a server of the Model Context Protocol
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct Mcp {
    /// Go on with this session; by default the latest unfinished one
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(subcommand)]
    verb: Option<McpVerb>,
}

#[derive(Debug, Subcommand)]
enum McpVerb {
    Install(Install),
}

/// Add `agent mcp` to the configuration of a client, after showing it
#[derive(Debug, Args)]
struct Install {
    /// The client: claude-desktop, vscode, zed or lmstudio
    #[arg(long, value_name = "CLIENT")]
    client: Option<KnownClient>,
    /// Print the configuration and write nothing
    #[arg(long)]
    print: bool,
}

impl Mcp {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        match self.verb {
            Some(McpVerb::Install(install)) => install.run(common, ui),
            None => {
                let options = ServeOptions {
                    session: self.session,
                    input: common.input(),
                };
                mcp::serve(&common.acting_caller(ui)?, options).map(|()| ExitCode::SUCCESS)
            }
        }
    }
}

impl Install {
    fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let caller = common.caller(ui)?;
        let (base, _) = open::settings(&caller, FirstRun::Refuse)?;
        let program = std::env::current_exe().map_err(|cause| {
            Error::mendable("could not find the path of this program").because(cause)
        })?;
        let entry = ServerEntry::new(&program, &base.directory)?;
        let client = match (self.print, self.client) {
            (true, client) => {
                ui.text(&entry.printed(client));
                return Ok(ExitCode::SUCCESS);
            }
            (false, Some(client)) => client,
            (false, None) => {
                return Err(Error::usage("which client?")
                    .hint("`--client` takes claude-desktop, vscode, zed or lmstudio")
                    .hint("`--print` prints the configuration for any other"));
            }
        };
        let file = client.file(|name| std::env::var_os(name))?;
        let Some(plan) = install::plan(client, &file, &entry)? else {
            ui.say(&format!("`{}` has it already.", file.display()));
            return Ok(ExitCode::SUCCESS);
        };
        let question = Question::about_client(&plan.file, &plan.shown);
        match caller.ask(&question)? {
            Some(answer) if is_yes(&answer) => {}
            None => {
                return Err(
                    Error::mendable("nobody could be asked; nothing was written").hint(format!(
                        "`agent mcp install --client {} --print` shows the entry",
                        client.word()
                    )),
                );
            }
            Some(_) => {
                ui.say("Nothing was written.");
                return Ok(ExitCode::SUCCESS);
            }
        }
        let backup = plan.carry_out()?;
        let kept = backup.map_or(String::new(), |backup| {
            format!(" The file as it was is `{}`.", backup.display())
        });
        ui.say(&format!(
            "Written to `{}`.{kept} Restart the client to use it.",
            plan.file.display()
        ));
        Ok(ExitCode::SUCCESS)
    }
}
