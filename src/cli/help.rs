//! `agent help`: a command, a topic or a setting, explained.
//!
//! Clap describes the arguments of a command from the doc comments of the verbs; `grammar` gives
//! that its form. Topics are made from what the program itself goes by: see `topics`.

mod grammar;
mod misuse;
mod topics;
mod wrap;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use clap::error::{ContextKind, ContextValue, ErrorKind};

pub(super) use self::grammar::grammar;
use self::topics::{TOPICS, Topic};
use self::wrap::wrapped;
use super::slash::CommandLine;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::services::{Caller, open};
use crate::settings::{Key, nearest};
use crate::ui::{Form, Ui, Volume, escape_line};

const EXAMPLES: &str = "\
Examples:
  agent help new
  agent help chats
  agent help chats claude
  agent help settings MaxRounds";

/// Explain a command, a topic or a setting: `protocol`, `safety`, `chats`, `settings`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Help {
    /// A command, a topic or a setting; after a topic, which part of it
    #[arg(value_name = "COMMAND|TOPIC")]
    words: Vec<String>,
}

impl Help {
    pub(super) fn run(&self, ui: &Ui, program: CommandLine) -> Result<ExitCode> {
        let columns = ui.columns().unwrap_or(80).min(100);
        let text = match &self.words[..] {
            [] => verb(program, &[])?,
            [name, rest @ ..] => match Topic::named(name) {
                Some(topic) => wrapped(&(topic.text)(rest)?, columns),
                None => match (verb(program, &self.words), Key::named_in_any_case(name)) {
                    (Err(_), Some(key)) => wrapped(&topics::setting(key), columns),
                    (text, _) => text?,
                },
            },
        };
        ui.page(&text);
        Ok(ExitCode::SUCCESS)
    }
}

/// The screen of a newcomer: what this is, and what to do next.
const BARE: &str = "\
agent: let the chat in your browser work on files here. No API key.

  agent demo                    see it work, 20 seconds
  agent new \"<what to do>\"      start; paste its message into your chat
  agent resume | status         continue, or see where it stands
  agent diff | undo | redo      review, and undo
  agent init                    use it in the project in this folder
  agent help [command]          everything else";

/// The commands and options that people use most, on less than a screen.
const SHORT: &str = "\
agent: let the chat in your browser work on files here. No API key.

  new \"<what to do>\"   start a session
  resume [ID]          continue one; resume \"<more>\" gives a further instruction
  status               where it stands, and what to do next
  copy, paste          the message to the clipboard, the reply from it
  diff, undo, redo     review what changed, and undo it
  commit               commit what the session changed
  list                 the sessions; --search WORD finds one
  config               your settings: config set Chat claude
  demo                 watch a whole session, without a chat
  help [command]       more

  --chat NAME          your chat: claude, gemini ... (agent help chats)
  --clipboard auto     copy each message, take the reply when you copy it
  --check COMMAND      a command that must pass before the work is done
  --approval MODE      auto, edits, ask or plan: when you are asked

agent --help shows all commands and options.";

/// Prints the few lines that are enough for most: for `agent -h`, and for `agent` alone at a terminal
/// where it was never used.
pub(super) fn overview(arguments: &[OsString]) -> Option<ExitCode> {
    let text = match arguments {
        [_] if is_at_terminal() && !is_used_here() => BARE,
        [_, flag] if flag == "-h" => SHORT,
        _ => return None,
    };
    Ui::new(Volume::Normal, Form::Lines, anstream::ColorChoice::Auto).line(text);
    Some(ExitCode::SUCCESS)
}

/// Returns true if a person looks at what is printed.
pub(super) fn is_at_terminal() -> bool {
    let ui = Ui::new(Volume::Normal, Form::Lines, anstream::ColorChoice::Auto);
    ui.columns().is_some()
}

fn is_used_here() -> bool {
    let nobody = Ui::new(Volume::Quiet, Form::Lines, anstream::ColorChoice::Auto).muted();
    let caller = Caller::of_this_process(Arc::new(nobody), Interrupt::default());
    caller
        .and_then(|caller| open::has_sessions(&caller))
        .unwrap_or(true)
}

/// The help of a command, or of a command of a command; of all without a word.
fn verb(program: CommandLine, words: &[String]) -> Result<String> {
    let mut all = (program.grammar)();
    all.build();
    let mut found = &mut all;
    // Who types the word of the documentation as it stands wants to see the commands.
    let is_placeholder = |word: &String| {
        let word = word.trim_matches(['<', '>', '[', ']']);
        word.eq_ignore_ascii_case("command")
    };
    let words = if words.len() == 1 && words.iter().all(is_placeholder) {
        &[]
    } else {
        words
    };
    for (index, word) in words.iter().enumerate() {
        if found.find_subcommand(word).is_none() {
            return Err(unknown(word, found, &words[..index]));
        }
        found = found
            .find_subcommand_mut(word)
            .ok_or_else(|| Error::usage(format!("there is no command `{word}`")))?;
    }
    Ok(format!("{}\n", found.render_long_help().ansi()))
}

fn unknown(word: &str, within: &clap::Command, before: &[String]) -> Error {
    let may_be_topic = before.is_empty();
    let topics = TOPICS.iter().map(|topic| topic.name);
    let verbs = within.get_subcommands().map(clap::Command::get_name);
    let candidates: Vec<&str> = verbs.chain(topics.filter(|_| may_be_topic)).collect();
    let what = if may_be_topic {
        "command, topic or setting"
    } else {
        "command"
    };
    let error = Error::usage(format!("there is no {what} `{}`", escape_line(word)));
    let error = match nearest(word, candidates.into_iter()) {
        Some(near) => {
            let words: Vec<&str> = before.iter().map(String::as_str).chain([near]).collect();
            error.hint(format!("did you mean `agent help {}`?", words.join(" ")))
        }
        None => error,
    };
    error.hint("`agent help` shows the commands and the topics")
}

/// Tells what is wrong with a command line, or prints the help that it asks for.
pub(super) fn answer(
    message: &clap::Error,
    program: CommandLine,
    arguments: &[OsString],
) -> ExitCode {
    let error = match message.kind() {
        ErrorKind::InvalidSubcommand => no_such_verb(message, program),
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => None,
        _ => misuse::explained(message, &(program.grammar)(), arguments),
    };
    if let Some(error) = error {
        Ui::new(Volume::Normal, Form::Lines, anstream::ColorChoice::Auto).error(&error);
    } else {
        // Help and version are no errors; clap knows which stream each belongs to.
        let _ = message.print();
    }
    ExitCode::from(u8::try_from(message.exit_code()).unwrap_or(2))
}

fn no_such_verb(message: &clap::Error, program: CommandLine) -> Option<Error> {
    let Some(ContextValue::String(word)) = message.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let near = match message.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(near)) => near.as_slice(),
        _ => &[],
    };
    Some(unknown_verb(program, word, near))
}

fn unknown_verb(program: CommandLine, word: &str, near: &[String]) -> Error {
    /// Longer texts are tasks, and the person knows what they wrote.
    const SHOWN: usize = 60;
    let shown = crate::ui::shortened(&escape_line(word), SHOWN);
    let error = Error::usage(format!("there is no command `{shown}`"));
    if word.contains(char::is_whitespace) {
        return error.hint(format!("to begin a session: agent new \"{shown}\""));
    }
    let command = (program.grammar)();
    let verbs = command.get_subcommands().map(clap::Command::get_name);
    let mut near: Vec<&str> = near.iter().map(String::as_str).collect();
    // clap finds nothing for slips in short words, as in `nwe`.
    if near.is_empty() {
        near.extend(nearest(word, verbs));
    }
    let near: Vec<String> = near.iter().map(|near| format!("`{near}`")).collect();
    let error = if near.is_empty() {
        error
    } else {
        error.hint(format!("did you mean {}?", near.join(" or ")))
    };
    error.hint("`agent help` shows the commands")
}

#[cfg(test)]
mod tests {
    use super::super::program::PROGRAM;
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_command_of_a_command_has_help_too() {
        let text = verb(PROGRAM, &words(&["policy", "check"])).unwrap();
        assert!(text.contains("agent policy check"), "{text}");
    }

    #[test]
    fn what_was_meant_is_named() {
        let hint = |typed: &[&str]| verb(PROGRAM, &words(typed)).unwrap_err().hints()[0].clone();
        assert_eq!(hint(&["protocl"]), "did you mean `agent help protocol`?");
        assert_eq!(hint(&["resme"]), "did you mean `agent help resume`?");
        assert_eq!(
            hint(&["policy", "chekc"]),
            "did you mean `agent help policy check`?"
        );
        assert!(hint(&["zzzzzz"]).contains("shows the commands"));
    }

    #[test]
    fn a_task_without_its_verb_is_recognised() {
        let error = unknown_verb(PROGRAM, "fix the\u{1b} bug", &[]);
        assert!(error.hints()[0].starts_with("to begin a session: agent new \"fix the"));
        assert!(!error.to_string().contains('\u{1b}'));
        let error = unknown_verb(PROGRAM, "nwe", &[]);
        assert_eq!(error.hints()[0], "did you mean `new`?");
    }
}
