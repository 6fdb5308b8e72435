//! The commands of the prompt line, each with the verb that it stands for.

use std::fmt::{self, Write as _};
use std::process::ExitCode;

use super::common::Common;
use crate::error::Result;
use crate::settings::nearest;
use crate::ui::Ui;

/// The program as its verbs know it, whatever verbs it has.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandLine {
    /// Its command line, as clap knows it.
    pub(super) grammar: fn() -> clap::Command,
    /// The commands of its prompt line, in the order of the help.
    pub(super) words: &'static [Word],
}

/// A verb that was entered at the prompt.
pub(super) trait EnteredVerb: fmt::Debug + Send {
    /// Does it, with the options of the loop.
    fn run(self: Box<Self>, common: &Common, ui: &Ui) -> Result<ExitCode>;
}

/// A command of the prompt.
pub(super) struct Word {
    /// The name after the slash.
    pub(super) name: &'static str,
    /// The verb that it stands for, as it would be typed in a shell; empty for what only the prompt
    /// can do.
    pub(super) verb: &'static str,
    /// A line of help.
    pub(super) meaning: &'static str,
    /// Makes a value of what follows the name, split as a shell does.
    pub(super) read: fn(Vec<String>) -> Result<SlashCommand, clap::Error>,
}

/// A line with a slash, as it was understood.
#[derive(Debug)]
pub(super) enum SlashCommand {
    /// A verb with its arguments.
    Verb(Box<dyn EnteredVerb>),
    /// Nothing to do but to tell the person this.
    Tell(String),
    /// The person leaves.
    Quit,
}

/// The kind of a line at the prompt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Recognised<'a> {
    /// A word for the model.
    Note,
    /// This command, with what follows it.
    Command(&'static Word, &'a str),
    /// Meant as a command, and none, or perhaps one of several; with a word about it.
    Unclear(String),
}

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Word {}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.name)
    }
}

impl Word {
    /// Understands what follows the name.
    pub(super) fn understand(&self, rest: &str) -> SlashCommand {
        match (self.read)(split(rest)) {
            Ok(command) => command,
            Err(message) => SlashCommand::Tell(message.to_string().trim_end().to_owned()),
        }
    }
}

/// Recognises a line: a command may be shortened as long as it is clear.
pub(super) fn recognise<'a>(words: &'static [Word], line: &'a str) -> Recognised<'a> {
    let Some(text) = line.trim().strip_prefix('/') else {
        return Recognised::Note;
    };
    let is_indented = line.starts_with(char::is_whitespace);
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    if let Some(word) = words.iter().find(|word| word.name == name) {
        return Recognised::Command(word, rest.trim());
    }
    if text.is_empty() && !is_indented {
        return Recognised::Unclear("`/help` shows the commands.".to_owned());
    }
    // A path is no command.
    if name.is_empty() || !name.chars().all(|letter| letter.is_ascii_alphabetic()) {
        return Recognised::Note;
    }
    let fitting: Vec<&Word> = words
        .iter()
        .filter(|word| word.name.starts_with(&name.to_ascii_lowercase()))
        .collect();
    match fitting.as_slice() {
        // The way to say something that only looks like a command.
        [] if is_indented => Recognised::Note,
        [] => Recognised::Unclear(unknown(words, name)),
        [word] => Recognised::Command(word, rest.trim()),
        several => {
            let names: Vec<String> = several
                .iter()
                .map(|word| format!("`/{}`", word.name))
                .collect();
            Recognised::Unclear(format!("That may be {}.", names.join(" or ")))
        }
    }
}

fn unknown(words: &[Word], name: &str) -> String {
    let names = words.iter().map(|word| word.name);
    let meant =
        nearest(name, names).map_or_else(String::new, |near| format!(" Did you mean `/{near}`?"));
    format!(
        "There is no `/{name}`; `/help` shows the commands.{meant} Begin with a space to send it as a note."
    )
}

/// The commands that a line may become.
pub(super) fn complete(words: &[Word], before: &str) -> Vec<String> {
    let Some(start) = before.strip_prefix('/') else {
        return Vec::new();
    };
    let fits = |word: &&Word| word.name.starts_with(start);
    let fitting = words.iter().filter(fits);
    fitting.map(|word| format!("/{}", word.name)).collect()
}

/// The help of the prompt.
pub(super) fn help(words: &[Word]) -> String {
    let mut text = String::from(
        "What you type goes to the model with the next message. The chat's reply can be pasted here. Commands, which may be shortened:\n",
    );
    for word in words {
        let verb = match word.verb {
            "" => String::new(),
            verb => format!(" (`agent {verb}`)"),
        };
        let _ = writeln!(text, "  /{:<9} {}{verb}", word.name, word.meaning);
    }
    text.push_str(
        "They take the same options as the commands: `/diff --round 2`, `/undo --to 1`, `/copy --part 2`.",
    );
    text
}

fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in text.chars() {
        match (quote, character) {
            (Some(open), end) if open == end => quote = None,
            (None, '"' | '\'') if word.as_ref().is_none_or(|word| word.ends_with('=')) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, space) if space.is_whitespace() => words.extend(word.take()),
            (_, other) => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}
