//! `agent prompts`: templates for tasks.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::common::Common;
use crate::error::Result;
use crate::services::prompts::{self, Owner, PromptList, PromptTemplate};
use crate::ui::{Ui, escape_line, shortened};

const EXAMPLES: &str = "\
Examples:
  agent prompts
  agent prompts review
  agent new /review src/parser

A template is a Markdown file `review.md`, in `.agent/prompts/` of a project or, for all projects, \
in `~/.config/agent/prompts/` (`$XDG_CONFIG_HOME`):

  ---
  name: review
  description: Find mistakes and fix them
  ---
  Read {{args}} and look for mistakes. Fix each one, with a test.

The words after the name replace `{{args}}`, or are appended if there is no `{{args}}`. `name` and \
`description` are optional. A template that came with a project is shown to you before its first \
use. Put a space before a task that begins with a slash and is not a template: agent new \" /tmp is full\"";

/// List the task templates, or show one: `agent new /NAME` uses it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Prompts {
    /// The template to show
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// A template as a script sees it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TemplateRow<'a> {
    name: &'a str,
    description: &'a str,
    owner: Owner,
    is_trusted: bool,
    file: &'a Path,
}

impl Prompts {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let caller = common.caller(ui)?;
        match self.name {
            Some(name) => ui.text(&prompts::named(&caller, &name)?.text),
            None => list(&prompts::list(&caller)?, common, ui),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn list(found: &PromptList, common: &Common, ui: &Ui) {
    for trouble in &found.troubles {
        ui.error(trouble);
    }
    if common.json {
        for (prompt, is_trusted) in &found.prompts {
            ui.data(&TemplateRow {
                name: &prompt.name,
                description: &prompt.description,
                owner: prompt.owner,
                is_trusted: *is_trusted,
                file: &prompt.file,
            });
        }
        return;
    }
    if found.prompts.is_empty() {
        let places = found.places.iter();
        let places: Vec<String> = places
            .map(|place| format!("`{}`", place.display()))
            .collect();
        ui.say(&format!(
            "There are no prompt templates. They are Markdown files in {}; `agent help prompts` shows what one looks like.",
            places.join(" or ")
        ));
        return;
    }
    let width = found.prompts.iter().map(|(prompt, _)| prompt.name.len());
    let width = width.max().unwrap_or_default() + 1;
    for (prompt, is_trusted) in &found.prompts {
        let owner = match (prompt.owner, is_trusted) {
            (Owner::Person, _) => "",
            (Owner::Project, true) => " (of this project)",
            (Owner::Project, false) => {
                " (of this project; it is shown to you before its first use)"
            }
        };
        let name = format!("/{}", prompt.name);
        ui.line(&format!("{name:width$}  {}{owner}", described(prompt)));
    }
}

/// A line about a template: its description, or how it begins.
fn described(prompt: &PromptTemplate) -> String {
    const COLUMNS: usize = 100;
    let text = match prompt.description.as_str() {
        "" => prompt.text.lines().next().unwrap_or_default(),
        description => description,
    };
    shortened(&escape_line(text), COLUMNS)
}
