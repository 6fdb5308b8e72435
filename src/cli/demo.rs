//! `agent demo`: a whole session in a few seconds.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::common::exit_code;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::services::demo;
use crate::services::run::Ending;
use crate::ui::Ui;

/// How long each message stands on a terminal before the chat answers.
const PAUSE: Duration = Duration::from_secs(5);

/// Watch a whole session in a temporary directory: the real loop, with a scripted chat
#[derive(Debug, Args)]
pub(super) struct Demo {}

pub(super) fn run(ui: &Ui) -> Result<ExitCode> {
    ui.say("A demonstration: a script plays you and the chat. Everything else is real.\n");
    ui.plays_demo();
    let interrupt = Interrupt::from_signals()?;
    let pause = || ui.pause(PAUSE, &interrupt);
    if ui.can_pause() {
        ui.say("It waits a few seconds before each reply of the chat; space continues.\n");
    }
    let unconfined = || {
        ui.say("Here you will be asked before each command of a chat; those of the demonstration are our own.\n");
    };
    let ending = demo::run(Arc::new(ui.clone()), interrupt.clone(), &pause, unconfined)?;
    if ending == Ending::Done {
        ui.say("\nThat is all there is to it; its folder is gone again. Now with a chat of yours: agent new \"<task>\"");
    }
    Ok(exit_code(ending))
}
