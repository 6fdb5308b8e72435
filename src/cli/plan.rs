//! `agent plan`: the model's plan.

use std::process::ExitCode;

use clap::Args;

use super::common::Common;
use crate::error::Result;
use crate::services::{find, open};
use crate::ui::Ui;

/// Show the model's plan
#[derive(Debug, Args)]
pub(super) struct Plan {
    /// The session: its ID, the first few digits of it, or `latest`; by default the latest one
    #[arg(value_name = "ID")]
    id: Option<String>,
}

impl Plan {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let files = open::files(&common.caller(ui)?)?;
        let session = find::find_any(&files.store, ui, self.id.as_deref())?;
        match &session.plan {
            Some(plan) if common.json => ui.data(&serde_json::json!({ "plan": plan })),
            Some(plan) => ui.spoken(plan),
            None => ui.say("The model has made no plan in this session."),
        }
        Ok(ExitCode::SUCCESS)
    }
}
