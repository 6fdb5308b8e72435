//! `agent paste`: puts a reply into the inbox.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::common::{Common, read_standard_input};
use super::step;
use crate::courier::{Clipboard, Surroundings};
use crate::error::{Error, Result};
use crate::reply;
use crate::services;
use crate::services::reply::{MAX_REPLY, RoundNumber};
use crate::ui::editor::{self, Draft};
use crate::ui::{Ui, count, escape_line, shortened};

const EXAMPLES: &str = "\
Examples:
  agent paste              from the clipboard
  agent paste reply.md     from a file
  agent paste -            from standard input; on a terminal a lone `.` ends it
  agent paste --edit       in your editor ($VISUAL or $EDITOR)

Works while a loop runs in another terminal. Without FILE it reads standard input if that is a \
pipe; on a terminal without a clipboard it reads what you type.";

/// Put a reply into the inbox: from the clipboard, a file or the terminal
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Paste {
    /// The reply, `-` for standard input
    #[arg(value_name = "FILE")]
    reply: Option<PathBuf>,
    /// Paste it in your editor
    #[arg(long, conflicts_with = "reply")]
    edit: bool,
    /// Use it even if it names another round
    #[arg(long)]
    anyway: bool,
}

impl Paste {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let caller = common.caller(ui)?;
        // Where no session waits, nobody is asked for a reply.
        services::reply::ensure_awaited(&caller)?;
        let bytes = self.bytes(ui)?;
        let number = if self.anyway {
            RoundNumber::Anyway
        } else {
            RoundNumber::MustMatch
        };
        let (path, is_awaited) = services::reply::deliver(&caller, &bytes, number)?;
        let next = if is_awaited {
            ""
        } else {
            " `agent` is not running: `agent resume` takes it."
        };
        ui.say(&format!("Saved as `{}`.{next}", path.display()));
        Ok(ExitCode::SUCCESS)
    }

    fn bytes(&self, ui: &Ui) -> Result<Vec<u8>> {
        if self.edit {
            return in_editor(ui);
        }
        let is_typed = std::io::stdin().is_terminal();
        match &self.reply {
            Some(file) if file.as_os_str() == "-" && ui.has_prompt() => {
                Err(Error::usage("paste the reply into this line"))
            }
            Some(file) => step::read(file, ui),
            None if !is_typed => read_standard_input("the reply", ui),
            None => {
                let clipboard = Clipboard::of(Surroundings::of_this_process());
                if clipboard.ways_in().is_empty() && ui.has_prompt() {
                    Err(Error::mendable("there is no way to a clipboard here")
                        .hint("paste the reply into this line, or use `/edit`"))
                } else if clipboard.ways_in().is_empty() {
                    read_standard_input("the reply", ui)
                } else {
                    from_clipboard(&clipboard, ui)
                }
            }
        }
    }
}

/// Reads the clipboard, and says so.
fn from_clipboard(clipboard: &Clipboard, ui: &Ui) -> Result<Vec<u8>> {
    let other = "`agent paste -` takes what you paste into the terminal, `agent paste --edit` opens your editor";
    let text = clipboard
        .take()
        .map_err(|failure| {
            Error::mendable("could not read the clipboard")
                .because(failure.to_string())
                .hint(other)
        })?
        .ok_or_else(|| Error::mendable("there is no text on the clipboard").hint(other))?;
    if reply::is_outbox(&text) {
        return Err(
            Error::mendable("the clipboard still has our own message, not the reply")
                .hint("copy the chat's reply, then run `agent paste` again"),
        );
    }
    let is_telling = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("```") && !line.starts_with("~~~")
    };
    let first = text.lines().find(is_telling);
    ui.say(&format!(
        "From the clipboard, {}: {}",
        count(text.chars().count(), "character"),
        shortened(&escape_line(first.unwrap_or_default().trim()), 60)
    ));
    Ok(text.into_bytes())
}

fn in_editor(ui: &Ui) -> Result<Vec<u8>> {
    let named = editor::of_this_person(|name| std::env::var_os(name));
    let program = named.ok_or_else(|| {
        Error::mendable("there is no editor").hint("set `VISUAL` or `EDITOR` to one")
    })?;
    let draft = Draft {
        what: "reply",
        file_name: "reply.md",
        text: "",
        max_bytes: MAX_REPLY,
    };
    editor::edit_draft(ui.terminal(), &program, draft).map(String::into_bytes)
}
