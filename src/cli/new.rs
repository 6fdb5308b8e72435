//! `agent new`: begins a session.

use std::process::ExitCode;

use clap::Args;

use super::add::AddFlags;
use super::carry::{self, CarryFlags};
use super::common::{Common, read_standard_input};
use super::serve;
use super::slash::CommandLine;
use crate::error::Result;
use crate::services::{Caller, clipboard, commit, prompts, run};
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent new \"fix the failing test\"
  agent new --chat claude --clipboard auto \"add a --json flag\"
  agent new --check \"cargo test\" --commit \"fix the parser\"
  agent new --approval plan \"move the settings into their own module\"
  agent new --add src/parser.py --add-diff=main \"finish what I began\"
  agent new /review src/parser
  agent new - < task.md";

/// Start a session: write the first message and wait for replies
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct New {
    /// The task for the model; the words are joined, `-` reads standard input, `/NAME` uses a
    /// template from `agent prompts`
    #[arg(required = true, value_name = "TASK")]
    task: Vec<String>,
    /// Carry it on in the browser, like `agent serve`
    #[arg(long, conflicts_with_all = ["no_wait", "copy"])]
    web: bool,
    /// Commit after each round that passes the check, without running hooks; `agent resume` and
    /// `agent step` commit too
    #[arg(long, conflicts_with = "web")]
    commit: bool,
    #[command(flatten)]
    carrying: CarryFlags,
    #[command(flatten)]
    adding: AddFlags,
}

impl New {
    pub(super) fn run(self, common: &Common, ui: &Ui, program: CommandLine) -> Result<ExitCode> {
        let caller = common.acting_caller(ui)?;
        let task = if self.task == ["-"] {
            let bytes = read_standard_input("the task", ui)?;
            crate::reply::decode(&bytes).0
        } else {
            prompts::task(&caller, &self.task.join(" "))?
        };
        if self.web {
            return serve::begin(common, ui, task, self.adding.into());
        }
        let context = run::ContextRequest::from(self.adding);
        context.ensure_possible(&caller)?;
        if self.commit {
            commit::ensure_possible(&caller)?;
        }
        if !self.carrying.is_short() {
            offer_clipboard(&caller, ui)?;
        }
        let mut held = run::begin(&caller, &task, &context)?;
        if self.commit {
            held.commit_rounds()?;
        }
        carry::run(held, common, ui, self.carrying, program)
    }
}

/// Offers the clipboard to who has one and has said nothing about it.
fn offer_clipboard(caller: &Caller, ui: &Ui) -> Result<()> {
    if let Some(answered) = clipboard::offer(caller)? {
        let (done, other) = if answered.is_accepted {
            (
                "Messages are copied, and replies taken when you copy them",
                "off",
            )
        } else {
            ("The clipboard is left alone", "auto")
        };
        ui.say(&format!(
            "{done}; `{}` remembers it. To change it: agent config set Clipboard {other}",
            answered.file.display()
        ));
    }
    Ok(())
}
