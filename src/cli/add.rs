//! `agent add`: files for the next message, and the flags of the same purpose.

use std::process::ExitCode;

use clap::Args;

use super::common::Common;
use crate::error::Result;
use crate::protocol::RelPath;
use crate::services::add;
use crate::services::run::ContextRequest;
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent add src/parser.py
  agent add 'tests/*.py' docs/format.md
  agent add --session ab12 src";

/// Show files in the next message
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Add {
    /// A file, a directory, or a pattern such as `src/*.py`
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// The session; by default the latest unfinished one
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

impl Add {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let caller = common.acting_caller(ui)?;
        let added = add::add(&caller, self.session.as_deref(), &self.paths)?;
        if !added.files.is_empty() {
            ui.say(&format!("The next message shows {}.", named(&added.files)));
        }
        tell_attached(&added.attached, ui);
        Ok(ExitCode::SUCCESS)
    }
}

/// The flags that add context to a message.
#[derive(Debug, Args)]
pub(super) struct AddFlags {
    /// Show this in the message: a file, a directory, or a pattern such as `src/*.py`; may be
    /// repeated
    #[arg(long, value_name = "PATH")]
    add: Vec<String>,
    /// Show in the message what has changed since a commit, by default the last one
    #[arg(
        long,
        value_name = "REV",
        num_args = 0..=1,
        default_missing_value = "HEAD",
        require_equals = true
    )]
    add_diff: Option<String>,
}

impl From<AddFlags> for ContextRequest {
    fn from(flags: AddFlags) -> Self {
        Self {
            paths: flags.add,
            changed_since: flags.add_diff,
        }
    }
}

/// Only the chat itself can read these.
pub(super) fn tell_attached(attached: &[RelPath], ui: &Ui) {
    if !attached.is_empty() {
        ui.say(&format!(
            "Attach to the chat yourself, beside the message: {}.",
            named(attached)
        ));
    }
}

/// The names for a sentence; of many only the first.
fn named(paths: &[RelPath]) -> String {
    const MOST: usize = 5;
    let shown: Vec<String> = paths
        .iter()
        .take(MOST)
        .map(|path| format!("`{path}`"))
        .collect();
    match paths.len().saturating_sub(MOST) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
