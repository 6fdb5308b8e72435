//! `agent resume`: goes on with a session.

use std::process::ExitCode;

use clap::Args;

use super::add::AddFlags;
use super::carry::{self, CarryFlags};
use super::common::{Common, exit_code, read_standard_input};
use super::slash::CommandLine;
use super::status;
use crate::error::{Error, Result};
use crate::services::open;
use crate::services::run::{self, ContextRequest, Ending, HeldSession};
use crate::ui::{Ui, escape_line};

const EXAMPLES: &str = "\
Examples:
  agent resume
  agent resume ab12
  agent resume ab12 \"now add tests\"
  agent resume \"now add tests\"

With an instruction the next message asks the model for it, even if the session has ended. With \
only an instruction, the latest session is used.";

/// Continue a session, optionally with a new instruction
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Resume {
    /// The session: its ID, the first few digits of it, or `latest`
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// The next instruction for the model; the words are joined, `-` reads standard input
    #[arg(value_name = "INSTRUCTION")]
    instruction: Vec<String>,
    #[command(flatten)]
    carrying: CarryFlags,
    #[command(flatten)]
    adding: AddFlags,
}

impl Resume {
    pub(super) fn run(self, common: &Common, ui: &Ui, program: CommandLine) -> Result<ExitCode> {
        let (id, instruction) = self.understood(ui)?;
        let context = ContextRequest::from(self.adding);
        if instruction.is_none() && !context.is_empty() {
            return Err(
                Error::usage("`--add` and `--add-diff` go with an instruction here")
                    .hint("agent resume --add src/a.py \"use what is in it\"")
                    .hint("`agent add PATH` shows a file in the next message"),
            );
        }
        let caller = common.acting_caller(ui)?;
        open::name_base_above(&caller);
        let instruction = instruction
            .map(|text| run::instruction_meant(&caller, &text))
            .transpose()?;
        let mut held = match &instruction {
            Some(_) => run::reopen(&caller, id.as_deref())?,
            None => run::resume(&caller, id.as_deref())?,
        };
        tell_permissions(ui, &held);
        if let Some(line) = status::others_line(&held.others()).filter(|_| id.is_none()) {
            ui.say(&line);
        }
        if let Some(check) = held.check() {
            ui.say(&format!("{}.", status::check_line(&check)));
        }
        if held.has_held_answer() && !held.is_carried_by_api() {
            ui.say(&status::held_answer_line(held.id()));
        }
        if let Some(instruction) = instruction {
            held = match held.instruct(&caller, &instruction, &context)? {
                Some(held) => held,
                None => return Ok(exit_code(Ending::Interrupted)),
            };
        }
        carry::run(held, common, ui, self.carrying, program)
    }

    /// The session and the instruction; the only word that has spaces is no session.
    fn understood(&self, ui: &Ui) -> Result<(Option<String>, Option<String>)> {
        let mut words = self.instruction.clone();
        let mut id = self.id.clone();
        if let Some(text) = id.take_if(|text| text.trim().contains(char::is_whitespace)) {
            words.insert(0, text);
        }
        Ok((id, instruction(&words, ui)?))
    }
}

/// The new instruction, from the words of the command line or from standard input.
pub(super) fn instruction(words: &[String], ui: &Ui) -> Result<Option<String>> {
    let text = match words {
        [] => return Ok(None),
        [word] if word == "-" => {
            crate::reply::decode(&read_standard_input("the instruction", ui)?).0
        }
        words => words.join(" "),
    };
    run::ensure_instruction(&text).map(|text| Some(text.to_owned()))
}

/// Says what would permit more and is not in force: what the session was given earlier, and what the
/// settings say by now.
pub(super) fn tell_permissions(ui: &Ui, held: &HeldSession) {
    if !held.opened.not_kept.is_empty() {
        let flags = escape_line(&held.opened.not_kept.join(" "));
        ui.say(&format!(
            "Given earlier and not in force now, because it permits more: `{flags}`. Say it again if you want it."
        ));
    }
    if !held.opened.held_back.is_empty() {
        let flags = escape_line(&held.opened.held_back.join(" "));
        ui.say(&format!(
            "The settings permit more than this session began with, which stays as it was. To use it: `{flags}`."
        ));
    }
}
