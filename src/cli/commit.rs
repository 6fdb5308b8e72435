//! `agent commit`: commits what the session changed.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;

use super::common::Common;
use crate::approve::{Answer, Question};
use crate::error::{Error, ExitKind, Result};
use crate::services::Caller;
use crate::services::commit::{self, CommitHooks, HookFile, OwnChanges, PlannedCommit};
use crate::ui::editor::{self, Draft};
use crate::ui::{Ui, count, escape_line, escape_text};

const EXAMPLES: &str = "\
Examples:
  agent commit
  agent commit -m \"parser: accept empty lines\"
  agent commit --edit
  agent commit --with-mine

Commits only what the session changed; your own changes stay as they are. No hook and no filter of \
the repository is run, because they may run files that the model has edited. `--hooks` shows the \
hooks and what they execute, asks, and runs them outside of the sandbox.";

/// Commit what the session changed, without running hooks
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch")]
pub(super) struct Commit {
    /// The session; by default the latest one
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// The message; by default one is proposed
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
    /// Change the message in your editor
    #[arg(long, short)]
    edit: bool,
    /// Commit the files that the session changed as they are now, with your own changes
    #[arg(long)]
    with_mine: bool,
    /// Run the repository's hooks, outside of the sandbox, after showing what they execute
    #[arg(long)]
    hooks: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl Commit {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let caller = common.acting_caller(ui)?;
        let own = if self.with_mine {
            OwnChanges::Included
        } else {
            OwnChanges::LeftOut
        };
        let planned = commit::plan(&caller, self.id.as_deref(), own)?;
        if !planned.files.is_empty() || !planned.left_out.is_empty() {
            ui.say(&listed(&planned));
        }
        if planned.files.is_empty() {
            return Err(Error::mendable("there is nothing to commit")
                .hint("`agent diff` shows what the session changed"));
        }
        let hooks = if self.hooks {
            tell_hooks(ui, &planned.hooks()?);
            CommitHooks::Run
        } else {
            ui.say("Hooks and filters of the repository are not run.");
            CommitHooks::Off
        };
        let mut message = self
            .message
            .clone()
            .unwrap_or_else(|| planned.message.clone());
        if self.edit {
            message = edited(ui, &message)?;
        }
        let Some(message) = self.agreed(&caller, ui, &planned, message)? else {
            ui.say("Nothing was committed.");
            return Ok(ExitCode::SUCCESS);
        };
        let made = planned.carry_out(&message, hooks)?;
        ui.say(&format!(
            "Committed {}: {} ({}).",
            made.id,
            escape_line(&made.subject),
            count(made.files, "file")
        ));
        Ok(ExitCode::SUCCESS)
    }

    /// The message that the person agrees to; nothing if they do not want a commit.
    fn agreed(
        &self,
        caller: &Caller,
        ui: &Ui,
        planned: &PlannedCommit,
        mut message: String,
    ) -> Result<Option<String>> {
        loop {
            let shown: Vec<String> = escape_text(message.trim_end())
                .lines()
                .map(|line| format!("  | {line}").trim_end().to_owned())
                .collect();
            let shown = shown.join("\n");
            ui.say(&shown);
            if self.yes {
                return Ok(Some(message));
            }
            let shown = format!("{}\n{shown}", listed(planned));
            let question = Question::about_commit(&planned.author, &shown);
            match caller.person.ask(&question, &caller.interrupt) {
                Answer::Text(answer) => match answer.trim() {
                    "y" | "Y" | "yes" => return Ok(Some(message)),
                    "n" | "N" | "no" | "q" => return Ok(None),
                    "e" | "edit" => message = edited(ui, &message)?,
                    _ => ui.say("Please answer y, e or n."),
                },
                Answer::Interrupted => {
                    return Err(Error::new(ExitKind::Interrupted, "interrupted"));
                }
                Answer::Nobody | Answer::Elsewhere => {
                    return Err(Error::mendable(
                        "there is no terminal to ask on, so nothing was committed",
                    )
                    .hint("`--yes` does it without asking"));
                }
            }
        }
    }
}

/// The files of the commit and those that are left out.
fn listed(planned: &PlannedCommit) -> String {
    let mut text = format!(
        "By {}, {}:",
        escape_line(&planned.author),
        count(planned.files.len(), "file")
    );
    for file in &planned.files {
        let _ = write!(text, "\n  {}", escape_line(file));
    }
    for (file, why) in &planned.left_out {
        let _ = write!(
            text,
            "\n  left out: {}: {}",
            escape_line(file),
            escape_line(why)
        );
    }
    text
}

fn tell_hooks(ui: &Ui, hooks: &[HookFile]) {
    if hooks.is_empty() {
        ui.say("The repository has no hooks for a commit.");
        return;
    }
    let mut text = "These hooks run outside of the sandbox, with all that you may do:".to_owned();
    for hook in hooks {
        let _ = write!(text, "\n  {}", escape_line(&hook.name));
        for file in &hook.runs {
            let changed = if file.is_changed {
                "CHANGED BY THIS SESSION"
            } else {
                "not changed by this session"
            };
            let _ = write!(text, "\n    {} ({changed})", escape_line(&file.path));
        }
    }
    text.push_str("\nWhat these files start in turn is not listed.");
    ui.say(&text);
}

fn edited(ui: &Ui, message: &str) -> Result<String> {
    let program = editor::of_this_person(|name| std::env::var_os(name)).ok_or_else(|| {
        Error::mendable("there is no editor").hint("set `VISUAL` or `EDITOR` to one")
    })?;
    let draft = Draft {
        what: "message",
        file_name: "COMMIT_EDITMSG",
        text: message,
        max_bytes: 64 * 1024,
    };
    editor::edit_draft(ui.terminal(), &program, draft)
}
