//! `agent config`: the settings in force.

use std::process::ExitCode;

use clap::Args;

use super::common::Common;
use crate::error::Result;
use crate::services::open;
use crate::services::settings::{self, FileLimit, Limit, TooLong};
use crate::settings::Settings;
use crate::ui::{Ui, escape_line};

const EXAMPLES: &str = "\
Examples:
  agent config
  agent config --json
  agent help settings            what each setting means";

/// Show the settings in force and where each comes from
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Config {}

pub(super) fn run(common: &Common, ui: &Ui) -> Result<ExitCode> {
    let (base, loaded) = settings::settings(&common.caller(ui)?)?;
    if !common.json {
        let directory = base.directory.display().to_string();
        ui.line(&format!("BasePath = {}", escape_line(&directory)));
    }
    let settings = settings::in_force(&loaded);
    let width = settings.iter().map(|one| one.key.len()).max().unwrap_or(0);
    for setting in &settings {
        if common.json {
            ui.data(setting);
        } else {
            let value = setting.value.to_string();
            ui.folded_page(&format!(
                "{:width$} = {:12} ({})\n",
                setting.key,
                escape_line(value.trim_matches('"')),
                escape_line(&setting.origin)
            ));
        }
    }
    if !common.json {
        ui.folded_page(&format!("{}\n", about_chat(&loaded.settings)));
    }
    Ok(ExitCode::SUCCESS)
}

/// The limits for messages, and where they come from.
fn about_chat(settings: &Settings) -> String {
    let (chat, carriage) = (settings.chat, open::carriage(settings));
    let Limit { characters, tokens } = carriage.limit;
    let tokens = match tokens {
        usize::MAX => String::new(),
        tokens => format!(" or ~{tokens} tokens"),
    };
    let too_long = match carriage.too_long {
        TooLong::Parts => format!("a longer one goes in up to {} parts", carriage.max_parts),
        TooLong::Attachment {
            file: Some(FileLimit { bytes, tokens }),
            ..
        } => format!(
            "a longer one goes as a file of at most {bytes} bytes or ~{tokens} tokens beside a short message"
        ),
        TooLong::Attachment { above, file: None } if above < characters => {
            format!("one above {above} goes as a file beside a short message")
        }
        TooLong::Attachment { .. } => "what is more is cut".to_owned(),
    };
    format!(
        "\nOne message has at most {characters} characters{tokens}; {too_long}.\n`{}` as of {}: {}.",
        chat.name, chat.checked, chat.source
    )
}
