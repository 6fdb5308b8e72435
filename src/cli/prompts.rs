//! `agent prompts`: templates for tasks, and how one becomes a task.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::Common;
use crate::approve::{Answer, Question};
use crate::error::{Error, Kind, Result};
use crate::interrupt::Interrupt;
use crate::prompts::{Owner, Prompt, Shelves};
use crate::services::open;
use crate::settings::{Base, Found, quoted};
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
struct Row<'a> {
    name: &'a str,
    description: &'a str,
    owner: Owner,
    is_trusted: bool,
    file: &'a Path,
}

impl Prompts {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let shelves = shelves(common)?;
        match self.name {
            Some(name) => ui.text(&shelves.named(name.trim_start_matches('/'))?.text),
            None => list(&shelves, common, ui),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn list(shelves: &Shelves, common: &Common, ui: &Ui) {
    let trust = open::trust();
    let (prompts, troubles) = shelves.all();
    for trouble in &troubles {
        ui.error(trouble);
    }
    if common.json {
        for prompt in &prompts {
            ui.data(&Row {
                name: &prompt.name,
                description: &prompt.description,
                owner: prompt.owner,
                is_trusted: prompt.is_trusted(&trust),
                file: &prompt.file,
            });
        }
        return;
    }
    if prompts.is_empty() {
        let places = [Some(&shelves.project), shelves.person.as_ref()];
        let places: Vec<String> = (places.into_iter().flatten())
            .map(|place| format!("`{}`", place.display()))
            .collect();
        ui.say(&format!(
            "There are no prompt templates. They are Markdown files in {}; `agent help prompts` shows what one looks like.",
            places.join(" or ")
        ));
        return;
    }
    let width = prompts.iter().map(|prompt| prompt.name.len()).max();
    let width = width.unwrap_or_default() + 1;
    for prompt in &prompts {
        let owner = match (prompt.owner, prompt.is_trusted(&trust)) {
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

/// What a template is for: its description, or how it begins.
fn described(prompt: &Prompt) -> String {
    const COLUMNS: usize = 100;
    let text = match prompt.description.as_str() {
        "" => prompt.text.lines().next().unwrap_or_default(),
        description => description,
    };
    shortened(&escape_line(text), COLUMNS)
}

/// Where templates are looked for from here; needs no settings, so that wrong ones do not matter.
fn shelves(common: &Common) -> Result<Shelves> {
    let here = std::env::current_dir()
        .map_err(|cause| Error::mendable("could not find the current directory").because(cause))?;
    let base = match Base::find(&here, common.base.as_deref(), &open::trust())? {
        Found::Base(base) => base.directory,
        Found::EmptyDirectory(directory) | Found::Undecided(directory) => directory,
    };
    Ok(Shelves::of(&base, |name| std::env::var_os(name)))
}

/// The task that a template makes of these words; one of the project is shown first.
pub(super) fn task(common: &Common, ui: &Ui, name: &str, words: &str) -> Result<String> {
    let prompt = shelves(common)?.named(name).map_err(|error| {
        error.hint(format!(
            "a task that begins with a slash gets a space in front: agent new \" /{name} ...\""
        ))
    })?;
    let task = prompt.fill(words)?;
    let trust = open::trust();
    if !prompt.is_trusted(&trust) {
        ask(ui, &prompt)?;
        prompt.confirm(&trust)?;
    }
    Ok(task)
}

fn ask(ui: &Ui, prompt: &Prompt) -> Result<()> {
    let file = prompt.file.display();
    let question = Question::about_template(&prompt.file, &prompt.text);
    match ui.ask(&question, &Interrupt::default()) {
        answer if answer.is_yes() => Ok(()),
        Answer::Nobody | Answer::Elsewhere => Err(Error::mendable(format!(
            "`{file}` came with this project, and you have not seen it yet"
        ))
        .hint("use it once on a terminal, where it is shown to you first")
        .hint(format!(
            "or read it, and give the task yourself: agent new - < {}",
            quoted(&prompt.file)
        ))),
        Answer::Interrupted => Err(Error::new(Kind::Interrupted, "interrupted")),
        Answer::Text(_) => Err(Error::mendable(format!("`/{}` was not used", prompt.name))
            .hint("agent new \"<task>\" begins a session with your own words")),
    }
}
