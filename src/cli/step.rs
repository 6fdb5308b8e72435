//! `agent step`: one reply in, one outbox out.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::{Common, exit_code, log, read_standard_input, resume};
use crate::agent::Agent;
use crate::error::{Error, Result};
use crate::mailbox;
use crate::mailbox::{Arrival, Candidate, Inbox, Reading};
use crate::services::reply::{self, RoundNumber};
use crate::services::{find, open};
use crate::session::{LoopLock, Session};
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent step
  agent step --reply reply.md
  agent step --json --reply - < reply.md";

/// Process one reply, write the next message, and exit: for scripts and editors
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct StepArgs {
    /// The session; by default the latest unfinished one
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// The reply, `-` for standard input; by default the oldest reply in the inbox
    #[arg(long, value_name = "FILE")]
    reply: Option<PathBuf>,
}

impl StepArgs {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let mut lock = None;
        let opened = open::session(&common.caller(ui), |store, person| {
            lock = Some(LoopLock::take(store.directory())?);
            find::find_open(store, person, self.id.as_deref())
        })?;
        let (agent, session) = (opened.agent, opened.session);
        resume::tell_permissions(ui, &opened.not_kept, &opened.held_back);
        log::start(&agent, &session, ui);
        let find = |session: &Session| match &self.reply {
            Some(file) => {
                let path = reply::put(&agent.mailbox, &read(file)?, RoundNumber::MustMatch)?;
                Candidate::at(path).map(Some)
            }
            None => waiting(&agent, session).map(Some),
        };
        agent.run_once(session, find).map(exit_code)
    }
}

/// The oldest reply that lies in the inbox.
fn waiting(agent: &Agent, session: &Session) -> Result<Candidate> {
    let inbox = Inbox::watch(&agent.mailbox, crate::reply::end_mark);
    let mut inbox = inbox.telling(agent.person.clone());
    while let Some(arrival) = inbox.poll(&session.end_mark()) {
        match arrival {
            Arrival::Reply(candidate) => {
                match agent.other_session(&session.session_id, &candidate) {
                    Some(other) => agent.tell_left(&candidate.name, &other),
                    None => return Ok(candidate),
                }
            }
            Arrival::Notice(notice) => agent.tell_notice(notice),
            Arrival::Woken => {}
        }
    }
    Err(Error::mendable(format!(
        "there is no reply in `{}`",
        agent.mailbox.inbox().display()
    ))
    .hint("save the chat's reply there, or name it: `agent step --reply FILE`"))
}

/// Reads a reply from a file or from standard input.
pub(super) fn read(file: &Path) -> Result<Vec<u8>> {
    if file.as_os_str() == "-" {
        return read_standard_input("the reply");
    }
    match mailbox::read_reply(file)? {
        Reading::Text(bytes) => Ok(bytes),
        Reading::TooLarge { size } => Err(Error::mendable(format!(
            "`{}` has {size} bytes; a chat reply is never that large",
            file.display()
        ))
        .hint("name the file that holds the reply, and nothing else")),
        Reading::NotText => Err(Error::mendable(format!("`{}` is not text", file.display()))
            .hint("save the reply as plain text or Markdown")),
        Reading::Gone => Err(
            Error::mendable(format!("there is no file `{}`", file.display()))
                .hint("name the file that holds the reply, or `-` for standard input"),
        ),
    }
}
