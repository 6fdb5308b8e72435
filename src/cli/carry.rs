//! Carries a session on in this terminal: the loop, with the prompt and the couriers beside it.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::common::{Common, exit_code};
use super::slash::CommandLine;
use super::{add, console, copy, status};
use crate::courier::{Clipboard, Surroundings};
use crate::error::Result;
use crate::services::run::{Ending, HeldSession};
use crate::settings::ClipboardUse;
use crate::ui::Ui;

/// The flags of the verbs that carry a session on.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct CarryFlags {
    /// Write the message and exit, for scripts that continue with `agent step`
    #[arg(long)]
    no_wait: bool,
    /// Copy each message to the clipboard, like `--clipboard out`
    #[arg(long)]
    copy: bool,
}

impl CarryFlags {
    /// Returns true if nobody waits here, or has said how messages are copied.
    pub(super) fn is_short(self) -> bool {
        self.no_wait || self.copy
    }
}

/// Runs the loop, or writes the message and leaves.
pub(super) fn run(
    mut held: HeldSession,
    common: &Common,
    ui: &Ui,
    flags: CarryFlags,
    program: CommandLine,
) -> Result<ExitCode> {
    add::tell_attached(&held.to_attach, ui);
    ui.warn_before_round(held.last_round());
    if flags.copy {
        held.copy_messages();
    }
    let clipboard = Clipboard::of(Surroundings::of_this_process());
    let usage = held.opened.wishes.clipboard;
    // OSC 52 only writes: through a terminal far away nothing can be read back, and nobody knows if the
    // message is on the clipboard.
    let is_sure = !clipboard.ways_in().is_empty();
    let is_watched = usage == ClipboardUse::Auto && !held.opened.wishes.is_clipboard_declined();
    ui.takes_clipboard(is_watched && is_sure);
    ui.copies_messages(usage != ClipboardUse::Off && is_sure);
    if flags.no_wait {
        leave(&held, common, ui)
    } else {
        wait(&held, common, program)
    }
}

/// The prompt and the couriers have voices of their own.
fn wait(held: &HeldSession, common: &Common, program: CommandLine) -> Result<ExitCode> {
    let voice = common.ui();
    let prompt = console::open(common, held, program);
    let _unread = match &prompt {
        Some(_) => None,
        None => voice.leave_typing_unread(),
    };
    let _couriers = if held.is_carried_by_api() {
        None
    } else {
        held.start_couriers(Arc::new(voice))
    };
    let ending = held.run()?;
    Ok(code_of(ending, prompt.as_ref()))
}

/// The exit code of the loop; to leave by a command is no interruption.
fn code_of(ending: Ending, prompt: Option<&console::Opened>) -> ExitCode {
    let has_quit = prompt.is_some_and(console::Opened::has_quit);
    match ending {
        Ending::Interrupted if has_quit => ExitCode::SUCCESS,
        ending => exit_code(ending),
    }
}

fn leave(held: &HeldSession, common: &Common, ui: &Ui) -> Result<ExitCode> {
    let (ending, known) = held.write_message()?;
    if held.opened.wishes.clipboard != ClipboardUse::Off
        && let Some(message) = held.message()
    {
        let mut clipboard = Clipboard::of(Surroundings::of_this_process());
        let text = message.paste(1)?;
        copy::put(&mut clipboard, &message, 1, &text, &common.ui());
    }
    if known.is_some() {
        ui.say(&status::paste(known.as_ref(), held.inbox()).join("\n"));
    }
    Ok(exit_code(ending))
}
