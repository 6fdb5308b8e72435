//! `agent config`: the settings in force.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::{Common, open};
use crate::error::Result;
use crate::settings::KEYS;
use crate::ui::Ui;

/// Show the settings in force and where each comes from
#[derive(Debug, Args)]
pub(super) struct Config {}

#[derive(Debug, Serialize)]
struct Row {
    key: &'static str,
    value: serde_json::Value,
    origin: String,
}

pub(super) fn run(common: &Common, ui: &Ui) -> Result<ExitCode> {
    let (base, loaded) = open::settings(common, ui, open::FirstRun::Look)?;
    let values = serde_json::to_value(&loaded.settings).unwrap_or_default();
    if !common.json {
        ui.line(&format!("BasePath = {}", base.directory.display()));
    }
    let width = KEYS.iter().map(|key| key.name.len()).max().unwrap_or(0);
    for key in KEYS {
        let row = Row {
            key: key.name,
            value: values[key.name].clone(),
            origin: loaded.origins[key.name].to_string(),
        };
        if common.json {
            ui.data(&row);
        } else {
            let value = row.value.to_string();
            ui.line(&format!(
                "{:width$} = {:12} ({})",
                row.key,
                value.trim_matches('"'),
                row.origin
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}
