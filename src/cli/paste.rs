//! `agent paste`: puts a reply into the inbox.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::{Common, open, step};
use crate::agent::ANYWAY;
use crate::error::{Error, Result};
use crate::fs::{Durability, write_atomic};
use crate::mailbox::Mailbox;
use crate::ui::Ui;

/// Put a reply into the inbox, from a file or from standard input
#[derive(Debug, Args)]
pub(super) struct Paste {
    /// The reply, `-` for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    reply: PathBuf,
    /// Use it even if it names another round
    #[arg(long)]
    anyway: bool,
}

/// Whether the round that a reply names must be the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    MustMatch,
    Anyway,
}

impl Paste {
    pub(super) fn run(self, common: &Common, ui: Ui) -> Result<ExitCode> {
        let agent = open::files(common, ui)?;
        if self.reply == Path::new("-") && std::io::stdin().is_terminal() {
            agent
                .ui
                .say("Paste the reply, then press Ctrl-D on a line of its own.");
        }
        let bytes = step::read(&self.reply)?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(Error::mendable("the reply is empty"));
        }
        let number = if self.anyway {
            Number::Anyway
        } else {
            Number::MustMatch
        };
        let path = put(&agent.mailbox, &bytes, number)?;
        agent.ui.say(&format!("Saved as `{}`.", path.display()));
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes a reply into the inbox under a name of its own.
pub(super) fn put(mailbox: &Mailbox, bytes: &[u8], number: Number) -> Result<PathBuf> {
    let start = if number == Number::Anyway {
        ANYWAY
    } else {
        "reply-"
    };
    let unique = uuid::Uuid::new_v4().simple().to_string();
    let path = mailbox.inbox().join(format!("{start}{}.txt", &unique[..8]));
    write_atomic(&path, bytes, Durability::Durable)?;
    Ok(path)
}
