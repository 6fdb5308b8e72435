//! `agent api`: tries the API that the settings name.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::common::Common;
use crate::error::{Error, ExitKind, Result};
use crate::services::api::{self, ApiFinding, Provider};
use crate::services::open::{self, FirstRun};
use crate::ui::{Ui, escape_line};

const EXAMPLES: &str = "\
Examples:
  agent api test --api ollama --model qwen3-coder
  agent api test --api openai
  agent api list";

/// Try the API: key, model, streaming, limits; or list the providers
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Api {
    #[command(subcommand)]
    verb: ApiVerb,
}

#[derive(Debug, Clone, Copy, Subcommand)]
enum ApiVerb {
    /// Ask the model for one word, and say what works; costs a few tokens
    Test,
    /// List the providers with their addresses and the variables of their keys
    List,
}

/// A finding, for a script.
#[derive(Serialize)]
struct FindingLine<'a> {
    works: bool,
    what: &'a str,
    remedy: &'a str,
}

impl Api {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        match self.verb {
            ApiVerb::Test => test(common, ui),
            ApiVerb::List => {
                list(ui);
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

fn test(common: &Common, ui: &Ui) -> Result<ExitCode> {
    let caller = common.caller(ui)?;
    let (_, loaded) = open::settings(&caller, FirstRun::Look)?;
    let Some(choice) = api::chosen(&loaded.settings, &caller.interrupt)? else {
        return Err(Error::usage("no API is chosen").hint(
            "name one: `agent api test --api ollama --model NAME`; `agent api list` lists them",
        ));
    };
    let findings = api::test(&choice, &caller.interrupt);
    for ApiFinding {
        works,
        what,
        remedy,
    } in &findings
    {
        if common.json {
            ui.data(&FindingLine {
                works: *works,
                what,
                remedy,
            });
            continue;
        }
        let word = if *works { "ok" } else { "problem" };
        let mut line = format!("{word:8} {}", escape_line(what));
        if !works {
            let _ = write!(line, "\n         -> {}", escape_line(remedy));
        }
        ui.line(&line);
    }
    Ok(if findings.iter().all(|found| found.works) {
        ExitCode::SUCCESS
    } else {
        ExitKind::Mendable.exit_code().into()
    })
}

fn list(ui: &Ui) {
    for provider in Provider::all() {
        let url = provider.url.as_deref().unwrap_or("(set `--api-url`)");
        let model = provider.default_model().map_or("", |model| &model.name);
        ui.line(&format!(
            "{:<11} {:<22} {:<56} {model}",
            provider.name, provider.key_variable, url
        ));
    }
}
