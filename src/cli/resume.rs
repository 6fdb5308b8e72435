//! `agent resume`: goes on with a session.

use std::process::ExitCode;

use clap::Args;

use super::add::AddFlags;
use super::{Common, carry, exit_code, log, read_standard_input, status};
use crate::agent::Ending;
use crate::error::{Error, Result};
use crate::services::{self, find, open};
use crate::session::LoopLock;
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
    /// What the model should do next; the words are joined, `-` reads standard input
    #[arg(value_name = "INSTRUCTION")]
    instruction: Vec<String>,
    /// Write the message and exit, for scripts that continue with `agent step`
    #[arg(long)]
    no_wait: bool,
    /// Copy each message to the clipboard, like `--clipboard out`
    #[arg(long)]
    copy: bool,
    #[command(flatten)]
    adding: AddFlags,
}

/// The most characters of a new instruction.
const MAX_INSTRUCTION: usize = 4_000;

impl Resume {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let (id, instruction) = self.understood()?;
        if instruction.is_none() && self.adding.is_given() {
            return Err(
                Error::usage("`--add` and `--add-diff` go with an instruction here")
                    .hint("agent resume --add src/a.py \"use what is in it\"")
                    .hint("`agent add PATH` shows a file in the next message"),
            );
        }
        let mut lock = None;
        let opened = open::session(&common.caller(ui), |store, person| {
            lock = Some(LoopLock::take(store.directory())?);
            match &instruction {
                Some(_) => find::find_any(store, person, id.as_deref()),
                None => find::find_open(store, person, id.as_deref()),
            }
        })?;
        let (agent, mut session) = (opened.agent, opened.session);
        tell_permissions(ui, &opened.not_kept, &opened.held_back);
        if session.is_at_limit() {
            let rounds = session.sequence_number.saturating_sub(1);
            session.round_limit = rounds.saturating_add(agent.manner.max_rounds);
        }
        if let Some(lock) = &lock {
            lock.works_on(agent.store.directory(), Some(&session.session_id))?;
        }
        log::start(&agent, &session, ui);
        agent.tell_session(&session, true);
        if id.is_none()
            && let Some(line) =
                status::others_line(&services::status::others(&agent.store, &session))
        {
            ui.say(&line);
        }
        let check = agent.manner.check.as_ref();
        let check =
            check.and_then(|check| services::status::check(&agent.store, &check.command, &session));
        if let Some(check) = check {
            ui.say(&format!("{}.", status::check_line(&check)));
        }
        let is_instructed = instruction.is_some();
        if let Some(instruction) = instruction {
            let added = self.adding.find(&agent, ui)?;
            session = match agent.instruct(session, instruction, &added)? {
                Some(session) => session,
                None => return Ok(exit_code(Ending::Interrupted)),
            };
        }
        let stay = carry::Stay::of(self.no_wait);
        let wishes = carry::copying(opened.wishes, self.copy);
        let (id, round) = (session.session_id.clone(), session.sequence_number);
        let known = agent
            .mailbox
            .posted(&id, round)
            .filter(|_| self.no_wait && !is_instructed);
        let ending = carry::run(&agent, session, stay, wishes, common)?;
        // A round that was finished just now has told its own message.
        let is_same = || (agent.store.load(&id)).is_ok_and(|now| now.sequence_number == round);
        if known.is_some() && is_same() {
            // It was written and told in an earlier run.
            let inbox = agent.mailbox.inbox();
            ui.say(&status::paste(known.as_ref(), inbox).join("\n"));
        }
        Ok(exit_code(ending))
    }

    /// The session and the instruction; the only word that has spaces is no session.
    fn understood(&self) -> Result<(Option<String>, Option<String>)> {
        let mut words = self.instruction.clone();
        let mut id = self.id.clone();
        if let Some(text) = id.take_if(|text| text.trim().contains(char::is_whitespace)) {
            words.insert(0, text);
        }
        Ok((id, instruction(&words)?))
    }
}

/// The new instruction, from the words of the command line or from standard input.
pub(super) fn instruction(words: &[String]) -> Result<Option<String>> {
    if words.is_empty() {
        return Ok(None);
    }
    let text = if words == ["-"] {
        crate::reply::decode(&read_standard_input("the instruction")?).0
    } else {
        words.join(" ")
    };
    let text = text.trim();
    if text.is_empty() {
        return Err(Error::usage("the instruction is empty")
            .hint("say what the model should do next: agent resume ab12 \"now add tests\""));
    }
    if text.chars().count() > MAX_INSTRUCTION {
        return Err(Error::usage(format!(
            "the instruction has more than {MAX_INSTRUCTION} characters"
        ))
        .hint("put the long part into a file of the workspace and name it"));
    }
    Ok(Some(text.to_owned()))
}

/// Says what would permit more and is not in force: what the session was given earlier, and what the
/// settings say by now.
pub(super) fn tell_permissions(ui: &Ui, not_kept: &[String], held_back: &[String]) {
    if !not_kept.is_empty() {
        let flags = escape_line(&not_kept.join(" "));
        ui.say(&format!(
            "Given earlier and not in force now, because it permits more: `{flags}`. Say it again if you want it."
        ));
    }
    if !held_back.is_empty() {
        let flags = escape_line(&held_back.join(" "));
        ui.say(&format!(
            "The settings permit more than this session began with, which stays as it was. To use it: `{flags}`."
        ));
    }
}
