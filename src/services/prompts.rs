//! Task templates, and how one becomes a task.

use super::Caller;
use crate::approve::Question;
use crate::error::{Error, Result};
pub use crate::prompts::{Owner, PromptTemplate};
use crate::prompts::{Shelves, called};
use crate::protocol::is_yes;
use crate::settings::{Base, FoundBase, quoted};

/// The templates that can be used from here.
#[derive(Debug)]
pub struct PromptList {
    /// Each template, with true if it may be used without showing it.
    pub prompts: Vec<(PromptTemplate, bool)>,
    /// The problems with files that are no valid templates.
    pub troubles: Vec<Error>,
    /// Where they are looked for.
    pub places: Vec<std::path::PathBuf>,
}

/// All templates by name.
pub fn list(caller: &Caller) -> Result<PromptList> {
    let shelves = shelves(caller)?;
    let (prompts, troubles) = shelves.all();
    let with_trust = |prompt: PromptTemplate| {
        let is_trusted = prompt.is_trusted(&caller.trust);
        (prompt, is_trusted)
    };
    Ok(PromptList {
        prompts: prompts.into_iter().map(with_trust).collect(),
        troubles,
        places: std::iter::once(shelves.project)
            .chain(shelves.person)
            .collect(),
    })
}

/// The template of this name, with or without its slash.
pub fn named(caller: &Caller, name: &str) -> Result<PromptTemplate> {
    shelves(caller)?.named(name.trim_start_matches('/'))
}

/// The task that these words mean: a template and its words, or the words themselves. A template of
/// the project is shown to the person before its first use.
pub fn task(caller: &Caller, said: &str) -> Result<String> {
    let Some((name, words)) = called(said) else {
        return Ok(said.to_owned());
    };
    let prompt = named(caller, name).map_err(|error| {
        error.hint(format!(
            "a task that begins with a slash gets a space in front: agent new \" /{name} ...\""
        ))
    })?;
    let task = prompt.fill(words)?;
    if !prompt.is_trusted(&caller.trust) {
        ask(caller, &prompt)?;
        prompt.confirm(&caller.trust)?;
    }
    Ok(task)
}

/// Where templates are looked for from here; needs no settings, so that wrong ones do not matter.
fn shelves(caller: &Caller) -> Result<Shelves> {
    let base = match Base::find(&caller.here, caller.base.as_deref(), &caller.trust)? {
        FoundBase::Base(base) => base.directory,
        FoundBase::EmptyDirectory(directory) | FoundBase::Undecided(directory) => directory,
    };
    Ok(Shelves::of(&base, |name| std::env::var_os(name)))
}

fn ask(caller: &Caller, prompt: &PromptTemplate) -> Result<()> {
    let file = prompt.file.display();
    let question = Question::about_template(&prompt.file, &prompt.text);
    match caller.ask(&question)? {
        Some(answer) if is_yes(&answer) => Ok(()),
        None => Err(Error::mendable(format!(
            "`{file}` came with this project, and you have not seen it yet"
        ))
        .hint("use it once on a terminal, where it is shown to you first")
        .hint(format!(
            "or read it, and give the task yourself: agent new - < {}",
            quoted(&prompt.file)
        ))),
        Some(_) => Err(Error::mendable(format!("`/{}` was not used", prompt.name))
            .hint("agent new \"<task>\" begins a session with your own words")),
    }
}
