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
        let agent = open::agent(common, ui, open::FirstRun::Refuse)?;
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
        let path = put(&agent.mailbox, &bytes, number, &self.reply)?;
        agent.ui.say(&format!("Saved as `{}`.", path.display()));
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes a reply into the inbox under a name of its own that begins like the file's.
pub(super) fn put(mailbox: &Mailbox, bytes: &[u8], number: Number, file: &Path) -> Result<PathBuf> {
    let stem = file
        .file_stem()
        .and_then(|stem| stem.to_str())
        .filter(|stem| *stem != "-");
    let stem = stem.unwrap_or("reply").replace(ANYWAY, "");
    let mark = if number == Number::Anyway {
        format!("-{ANYWAY}")
    } else {
        String::new()
    };
    let unique = uuid::Uuid::new_v4().simple().to_string();
    let name = format!(
        "{}{mark}-{}.txt",
        stem.trim_start_matches('.'),
        &unique[..4]
    );
    let path = mailbox.inbox().join(name);
    write_atomic(&path, bytes, Durability::Durable)?;
    Ok(path)
}
