//! `agent config`: the settings in force, and how they are changed.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::common::Common;
use crate::error::{Error, Result};
use crate::services::settings::{self, FileLimit, Limit, SettingInForce, SettingsScope, TooLong};
use crate::services::{Caller, open};
use crate::settings::Settings;
use crate::ui::editor;
use crate::ui::{Ui, escape_line};

const EXAMPLES: &str = "\
Examples:
  agent config                        all settings, and where each comes from
  agent config set Chat claude        for all your projects
  agent config set Approval ask --here
  agent config get Chat
  agent config edit                   your own settings file in your editor
  agent help settings                 what each setting means

A flag counts most, then the environment, the project's file, your own file, the default. A \
project's file that you have not trusted counts only where it is stricter than your own value.";

/// Show the settings in force, or change one
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Config {
    #[command(subcommand)]
    change: Option<Change>,
}

#[derive(Debug, Subcommand)]
enum Change {
    /// Set a setting for all your projects
    Set {
        /// The setting, by its name or its option
        #[arg(value_name = "KEY")]
        key: String,
        /// Its value
        #[arg(value_name = "VALUE", allow_hyphen_values = true)]
        value: String,
        #[command(flatten)]
        scope: ScopeFlag,
    },
    /// Remove a setting, so that the default holds
    Unset {
        /// The setting, by its name or its option
        #[arg(value_name = "KEY")]
        key: String,
        #[command(flatten)]
        scope: ScopeFlag,
    },
    /// Show the value of a setting
    Get {
        /// The setting, by its name or its option
        #[arg(value_name = "KEY")]
        key: String,
    },
    /// Open the settings file in your editor
    Edit {
        #[command(flatten)]
        scope: ScopeFlag,
    },
}

#[derive(Debug, Args)]
struct ScopeFlag {
    /// The settings of this project only
    #[arg(long)]
    here: bool,
}

impl ScopeFlag {
    fn meant(&self) -> SettingsScope {
        if self.here {
            SettingsScope::Here
        } else {
            SettingsScope::Person
        }
    }
}

impl Config {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let caller = common.caller(ui)?;
        match self.change {
            None => show(&caller, common, ui)?,
            Some(Change::Get { key }) => get(&caller, common, ui, &key)?,
            Some(Change::Set { key, value, scope }) => {
                set(&caller, ui, &key, Some(&value), scope.meant())?;
            }
            Some(Change::Unset { key, scope }) => set(&caller, ui, &key, None, scope.meant())?,
            Some(Change::Edit { scope }) => edit(&caller, ui, scope.meant())?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn show(caller: &Caller, common: &Common, ui: &Ui) -> Result<()> {
    let (base, loaded) = settings::settings(caller)?;
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
            ui.folded_page(&format!(
                "{:width$} = {:12} ({})\n",
                setting.key,
                shown_value(setting),
                escape_line(&setting.origin)
            ));
        }
    }
    if !common.json {
        ui.folded_page(&format!("{}\n", about_chat(&loaded.settings)));
    }
    Ok(())
}

fn shown_value(setting: &SettingInForce) -> String {
    let value = setting.value.to_string();
    escape_line(value.trim_matches('"'))
}

fn get(caller: &Caller, common: &Common, ui: &Ui, key: &str) -> Result<()> {
    let setting = settings::get(caller, settings::named(key)?)?;
    if common.json {
        ui.data(&setting);
    } else {
        ui.line(&shown_value(&setting));
        ui.say(&format!("from {}", setting.origin));
    }
    Ok(())
}

fn set(
    caller: &Caller,
    ui: &Ui,
    key: &str,
    value: Option<&str>,
    scope: SettingsScope,
) -> Result<()> {
    let key = settings::named(key)?;
    let file = settings::set(caller, scope, key, value)?;
    let file = file.display();
    ui.say(&match value {
        Some(value) => format!("{} = {value}, in `{file}`.", key.name),
        None => format!("{} is not set in `{file}` now.", key.name),
    });
    // What is set may still lose against a flag, a variable or a file that counts more.
    let now = match settings::get(caller, key) {
        Ok(now) => now,
        // It is set all the same, and the file may have been wrong before.
        Err(trouble) => {
            ui.say("It is written, but the settings cannot be used yet:");
            ui.error(&trouble);
            return Ok(());
        }
    };
    let is_in_force = now.origin.contains(&file.to_string());
    if value.is_some() && !is_in_force {
        ui.say(&format!(
            "It does not hold here: {} is {}, from {}.",
            key.name,
            shown_value(&now),
            now.origin
        ));
    }
    Ok(())
}

/// Opens the file itself, so that comments and order are the person's; a mistake is told afterwards.
fn edit(caller: &Caller, ui: &Ui, scope: SettingsScope) -> Result<()> {
    let path = settings::file(caller, scope)?;
    let program = editor::of_this_person(|name| std::env::var_os(name)).ok_or_else(|| {
        Error::mendable("there is no editor").hint("set `VISUAL` or `EDITOR` to one")
    })?;
    let path = match scope {
        SettingsScope::Person => crate::fs::behind_links(&path)?,
        SettingsScope::Here => path,
    };
    if !path.exists() {
        let start = match scope {
            SettingsScope::Person => "{\n}\n",
            SettingsScope::Here => "{\n  \"Agent\": {\n  }\n}\n",
        };
        if let Some(directory) = path.parent() {
            crate::fs::create_directory(directory)?;
        }
        crate::fs::write_atomic(&path, start.as_bytes(), crate::fs::Durability::Durable)?;
    }
    editor::open_file(ui.terminal(), &program, &path)?;
    settings::ensure_readable(caller)?;
    ui.say(&format!("`{}` is fine.", path.display()));
    Ok(())
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
