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
            Err(problem) => SlashCommand::Tell(self.misunderstood(&problem)),
        }
    }
}

impl Word {
    /// Says in a line or two what is wrong with what follows the name. Help that was asked for is whole.
    fn misunderstood(&self, problem: &clap::Error) -> String {
        let text = problem.to_string();
        if !problem.use_stderr() {
            return text.trim_end().to_owned();
        }
        let paragraphs = text.split("\n\n");
        let told = paragraphs.take_while(|one| !one.starts_with("Usage:"));
        let told: Vec<&str> = told.flat_map(str::lines).map(str::trim).collect();
        let told = told.join(" ");
        let told = told.strip_prefix("error: ").unwrap_or(&told);
        format!(
            "`/{}`: {told}\n`/{} --help` shows what it takes.",
            self.name, self.name
        )
    }
}

/// Programs whose names are no English words: a line that begins with one is meant for a shell.
const SHELL_ONLY: &[&str] = &[
    "apt", "bash", "bun", "cargo", "cat", "cd", "chmod", "chown", "clear", "cls", "cp", "curl",
    "deno", "dir", "docker", "dotnet", "emacs", "gcc", "git", "gradle", "grep", "ls", "mkdir",
    "mv", "mvn", "nano", "npm", "npx", "pip", "pip3", "pnpm", "ps", "pwd", "py", "pytest",
    "python3", "rm", "rmdir", "rustc", "sed", "sh", "sudo", "tsc", "uv", "vi", "vim", "wget",
    "yarn", "zsh",
];
/// Programs that are words too: meant for a shell only if the rest looks like it.
const SHELL_OR_WORD: &[&str] = &[
    "code", "cut", "date", "diff", "echo", "find", "go", "head", "kill", "less", "make", "man",
    "more", "node", "open", "python", "ruby", "sort", "tail", "test", "time", "top", "touch",
    "tree", "type", "which",
];

/// Programs that run the file after them: `python hello.py` is meant for a shell.
const RUNS_FILE: &[&str] = &["node", "python", "ruby"];

/// Usual targets of `make` and subcommands of `go`: `make test` is meant for a shell.
const TARGETS: &[&str] = &[
    "all", "build", "check", "clean", "fmt", "install", "lint", "run", "test", "tests",
];

/// Returns true if a line looks like a command for a shell.
pub(super) fn is_for_shell(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let Some(first) = words.next() else {
        return false;
    };
    let rest: Vec<&str> = words.collect();
    // `clear; git status` begins with the same program as `clear`.
    let first = first.split([';', '&', '|']).next().unwrap_or(first);
    // The way to say something that only looks like a command.
    if line.starts_with(char::is_whitespace) || line.contains('\n') {
        return false;
    }
    if first.starts_with("./") || first.starts_with('$') {
        return true;
    }
    let has_shape = |word: &&str| word.starts_with('-') || word.contains(['/', '*', '|', '>']);
    // Our own program with a word that is no verb of it; a sentence about it is longer.
    if first == "agent" && !rest.is_empty() {
        return rest.len() <= 2 || rest.iter().any(has_shape);
    }
    if ["make", "go"].contains(&first) && matches!(rest[..], [target] if TARGETS.contains(&target))
    {
        return true;
    }
    if RUNS_FILE.contains(&first) && rest.first().is_some_and(|file| is_script(file)) {
        return true;
    }
    SHELL_ONLY.contains(&first) || (SHELL_OR_WORD.contains(&first) && rest.iter().any(has_shape))
}

/// Returns true for the name of a file with an extension of letters: not for `3.12`.
fn is_script(word: &str) -> bool {
    let extension = word.rsplit_once('.').map(|(_, extension)| extension);
    extension.is_some_and(|letters| {
        !letters.is_empty() && letters.chars().all(|letter| letter.is_ascii_alphabetic())
    })
}

/// The plain words that are commands, each with its slash.
const PLAIN: &[(&str, &str)] = &[
    ("?", "/help"),
    ("help", "/help"),
    ("quit", "/quit"),
    ("exit", "/exit"),
    (":q", "/quit"),
    ("agent", "/status"),
    ("status", "/status"),
    ("diff", "/diff"),
    ("undo", "/undo"),
    ("redo", "/redo"),
    ("notes", "/notes"),
];

/// The command that a plain word stands for.
pub(super) fn plain_command(line: &str) -> Option<&'static str> {
    let typed = line.trim_end();
    let mut plain = PLAIN.iter();
    plain.find_map(|(word, command)| word.eq_ignore_ascii_case(typed).then_some(*command))
}

/// The rest of a line that begins with `agent` and one of its verbs, as typed in a shell.
fn after_program<'a>(line: &'a str, verbs: &[String]) -> Option<&'a str> {
    let rest = line.strip_prefix("agent ")?.trim();
    let verb = rest.split_whitespace().next()?;
    (verbs.iter().any(|known| known == verb) || verb.starts_with('-')).then_some(rest)
}

/// Recognises a line of the prompt: with a slash, as it would be typed in a shell, or as a plain word.
pub(super) fn recognise_line(program: CommandLine, line: &str) -> Recognised<'_> {
    if let Some(command) = plain_command(line) {
        return recognise(program.words, command);
    }
    let grammar = (program.grammar)();
    let verbs: Vec<String> = (grammar.get_subcommands())
        .map(|verb| verb.get_name().to_owned())
        .collect();
    let Some(rest) = after_program(line, &verbs) else {
        let name = line.strip_prefix('/').unwrap_or_default();
        let name = name.split_whitespace().next().unwrap_or_default();
        return match recognise(program.words, line) {
            Recognised::Unclear(_) if verbs.iter().any(|verb| verb == name) => elsewhere(name),
            recognised => recognised,
        };
    };
    let (verb, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    // `agent paste --edit` is `/paste --edit` as well as `/edit`.
    let is_meant = |word: &&Word| word.verb == verb;
    match program.words.iter().find(is_meant) {
        Some(word) => Recognised::Command(word, rest.trim()),
        None if verb == "help" => recognise(program.words, "/help"),
        None => elsewhere(verb),
    }
}

/// The answer to a command that this prompt does not have.
fn elsewhere<'a>(verb: &str) -> Recognised<'a> {
    Recognised::Unclear(format!(
        "`agent {verb}` runs in another terminal. Here: `/help` shows the commands. Begin with a space to send the line as a note."
    ))
}

/// Recognises a line: a command may be shortened as long as it is clear.
pub(super) fn recognise<'a>(words: &'static [Word], line: &'a str) -> Recognised<'a> {
    let Some(text) = line.trim().strip_prefix('/') else {
        return Recognised::Note;
    };
    let text = if text == "?" { "help" } else { text };
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
        "Paste the chat's reply here. What you type goes to the model with the next message. Commands, which may be shortened:\n",
    );
    // All of it fits on a terminal of 24 rows.
    for word in words.iter().filter(|word| word.name != "exit") {
        let verb = match word.verb {
            "" => String::new(),
            verb if verb == word.name => String::new(),
            verb => format!(" (`agent {verb}`)"),
        };
        let _ = writeln!(text, "  /{:<9} {}{verb}", word.name, word.meaning);
    }
    text.push_str(
        "They take the same options as the commands: `/diff --round 2`, `/undo --to 1`, `/copy --part 2`. `agent diff`, `help` and `quit` work here too. Begin with a space to send such a line as a note.",
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
