//! `agent demo`: a whole session in a few seconds.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::common::exit_code;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::services::demo;
use crate::services::run::Ending;
use crate::ui::Ui;

/// Watch a whole session in a temporary directory: the real loop, with a scripted chat
#[derive(Debug, Args)]
pub(super) struct Demo {}

pub(super) fn run(ui: &Ui) -> Result<ExitCode> {
    ui.say("A demonstration: a script plays you and the chat. Everything else is real.\n");
    let ending = demo::run(Arc::new(ui.clone()), Interrupt::from_signals()?)?;
    if ending == Ending::Done {
        ui.say("\nThat is all there is to it; its folder is gone again. Now with a chat of yours: agent new \"<task>\"");
    }
    Ok(exit_code(ending))
}
