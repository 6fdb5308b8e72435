//! The commands of the prompt line, each with the verb that it stands for.

use std::fmt::{self, Write as _};

use clap::{Args, Command};

use super::super::Verb;
use super::super::approve::Decline;
use crate::settings::nearest;

/// A command of the prompt.
pub(super) struct Word {
    /// What follows the slash.
    name: &'static str,
    /// The verb that it stands for, as it would be typed in a shell; empty for what only the prompt
    /// can do.
    verb: &'static str,
    /// What it does.
    meaning: &'static str,
    /// Understands what follows the name, split as a shell does.
    read: fn(Vec<String>) -> Result<SlashCommand, clap::Error>,
}

/// A line with a slash, as it was understood.
#[derive(Debug)]
pub(super) enum SlashCommand {
    /// A verb with its arguments.
    Verb(Box<Verb>),
    /// Nothing to do but to tell the person this.
    Tell(String),
    /// The person leaves.
    Quit,
}

/// Reads the arguments of a verb, without options of the program: those of the loop hold.
fn read<A: Args>(
    name: &'static str,
    words: Vec<String>,
    verb: fn(A) -> Verb,
) -> Result<SlashCommand, clap::Error> {
    let mut grammar = A::augment_args(Command::new(name).no_binary_name(true));
    let matches = grammar.try_get_matches_from_mut(words);
    let arguments = matches.and_then(|matches| A::from_arg_matches(&matches));
    match arguments {
        Ok(arguments) => Ok(SlashCommand::Verb(Box::new(verb(arguments)))),
        Err(message) => Err(message.format(&mut grammar)),
    }
}

/// A command that is a verb of the same arguments.
macro_rules! verb {
    ($name:literal, $verb:literal, $variant:ident, $meaning:literal) => {
        Word {
            name: $name,
            verb: $verb,
            meaning: $meaning,
            read: |words| read(concat!("/", $name), words, Verb::$variant),
        }
    };
}

/// All commands, in the order of the help.
static WORDS: &[Word] = &[
    verb!("copy", "copy", Copy, "put the message on the clipboard again"),
    verb!("paste", "paste", Paste, "take the reply from the clipboard"),
    Word {
        name: "edit",
        verb: "paste --edit",
        meaning: "paste the reply in your editor",
        read: |mut words| {
            words.insert(0, "--edit".to_owned());
            read("/edit", words, Verb::Paste)
        },
    },
    verb!("status", "status", Status, "where things stand, and what to do now"),
    verb!("add", "add", Add, "show files in the next message"),
    verb!("plan", "plan", Plan, "the model's plan"),
    verb!("diff", "diff", Diff, "what the latest round changed"),
    verb!("undo", "undo", Undo, "take the latest round back"),
    verb!("redo", "redo", Redo, "redo what was undone"),
    verb!("show", "show", Show, "the conversation so far"),
    verb!("approve", "approve", Approve, "approve what waits for your decision"),
    Word {
        name: "decline",
        verb: "decline",
        meaning: "decline it; the reason may follow",
        read: |words| match Decline::in_plain_words(&words) {
            Some(decline) => Ok(SlashCommand::Verb(Box::new(Verb::Decline(decline)))),
            None => read("/decline", words, Verb::Decline),
        },
    },
    verb!("check", "check", Check, "run the check command now"),
    verb!("handoff", "handoff", Handoff, "rewrite the message for another chat"),
    verb!("settings", "config", Config, "the settings in force"),
    Word {
        name: "help",
        verb: "",
        meaning: "this list",
        read: |_| Ok(SlashCommand::Tell(help())),
    },
    Word {
        name: "quit",
        verb: "",
        meaning: "stop; `agent resume` goes on",
        read: |_| Ok(SlashCommand::Quit),
    },
];

/// What a line is.
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
pub(super) fn recognise(line: &str) -> Recognised<'_> {
    let Some(text) = line.trim().strip_prefix('/') else {
        return Recognised::Note;
    };
    let is_indented = line.starts_with(char::is_whitespace);
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    if let Some(word) = WORDS.iter().find(|word| word.name == name) {
        return Recognised::Command(word, rest.trim());
    }
    if text.is_empty() && !is_indented {
        return Recognised::Unclear("`/help` shows the commands.".to_owned());
    }
    // A path is no command.
    if name.is_empty() || !name.chars().all(|letter| letter.is_ascii_alphabetic()) {
        return Recognised::Note;
    }
    let fitting: Vec<&Word> = WORDS
        .iter()
        .filter(|word| word.name.starts_with(&name.to_ascii_lowercase()))
        .collect();
    match fitting.as_slice() {
        // The way to say something that only looks like a command.
        [] if is_indented => Recognised::Note,
        [] => Recognised::Unclear(unknown(name)),
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

fn unknown(name: &str) -> String {
    let names = WORDS.iter().map(|word| word.name);
    let meant =
        nearest(name, names).map_or_else(String::new, |near| format!(" Did you mean `/{near}`?"));
    format!(
        "There is no `/{name}`; `/help` shows the commands.{meant} Begin with a space to send it as a note."
    )
}

/// The commands that a line may become.
pub(super) fn complete(before: &str) -> Vec<String> {
    let Some(start) = before.strip_prefix('/') else {
        return Vec::new();
    };
    let fits = |word: &&Word| word.name.starts_with(start);
    let fitting = WORDS.iter().filter(fits);
    fitting.map(|word| format!("/{}", word.name)).collect()
}

/// The help of the prompt.
pub(super) fn help() -> String {
    let mut text = String::from(
        "What you type goes to the model with the next message. The chat's reply can be pasted here. Commands, which may be shortened:\n",
    );
    for word in WORDS {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(line: &str, expected: Option<(&str, &str)>) {
        match (recognise(line), expected) {
            (Recognised::Command(word, rest), Some(expected)) => {
                assert_eq!((word.name, rest), expected);
            }
            (Recognised::Command(..), None) | (_, Some(_)) => {
                panic!("{line}: {:?}", recognise(line))
            }
            _ => {}
        }
    }

    #[test]
    fn a_command_may_be_shortened_as_long_as_it_is_clear() {
        case("/undo", Some(("undo", "")));
        case(" /diff  --round 2 ", Some(("diff", "--round 2")));
        case("/u", Some(("undo", "")));
        case("/STAT", Some(("status", "")));
        case("/s", None);
        let either = "That may be `/handoff` or `/help`.".to_owned();
        assert_eq!(recognise("/h"), Recognised::Unclear(either));
    }

    #[test]
    fn what_begins_with_a_path_is_a_note() {
        for line in [
            "use /tmp",
            "/usr/bin is missing",
            "// a comment",
            " /tmp",
            "",
        ] {
            assert_eq!(recognise(line), Recognised::Note, "{line}");
        }
        assert!(matches!(recognise("/ "), Recognised::Unclear(_)));
        let unknown = recognise("/statsu");
        assert!(matches!(&unknown, Recognised::Unclear(hint) if hint.contains("`/status`?")));
    }

    fn understood(line: &str) -> SlashCommand {
        match recognise(line) {
            Recognised::Command(word, rest) => word.understand(rest),
            other => panic!("{line}: {other:?}"),
        }
    }

    fn verb(line: &str) -> Verb {
        match understood(line) {
            SlashCommand::Verb(verb) => *verb,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_slash_command_is_the_same_value_as_its_verb() {
        use std::ffi::OsString;
        for word in WORDS.iter().filter(|word| !word.verb.is_empty()) {
            let line = std::iter::once("agent").chain(word.verb.split(' '));
            let typed = super::super::super::Cli::read(line.map(OsString::from)).unwrap();
            let entered = verb(&format!("/{}", word.name));
            assert_eq!(format!("{entered:?}"), format!("{:?}", typed.verb));
            assert!(help().contains(&format!("/{} ", word.name)));
        }
        let Verb::Diff(diff) = verb("/diff --round 2 'ab 12'") else {
            panic!("no diff");
        };
        let expected = r#"Diff { id: Some("ab 12"), round: Some(2), stat: false }"#;
        assert_eq!(format!("{diff:?}"), expected);
    }

    #[test]
    fn a_mistyped_option_is_told_with_the_usage_of_the_command() {
        let SlashCommand::Tell(text) = understood("/diff --bad") else {
            panic!("it was understood");
        };
        assert!(text.contains("--bad") && text.contains("/diff"), "{text}");
    }

    #[test]
    fn a_decline_may_say_why_in_plain_words() {
        let decline = |line| format!("{:?}", verb(line));
        let keys = r#"[Key("1"), Key("2")]"#;
        let why = decline("/decline 1 2 don't do it");
        assert!(why.contains(keys) && why.contains(r#"Some("don't do it")"#), "{why}");
        let all = decline("/decline all");
        assert!(all.contains("[All]") && all.contains("reason: None"), "{all}");
        let option = decline("/decline 1 --reason \"too much\"");
        assert!(option.contains(r#"Some("too much")"#), "{option}");
    }

    #[test]
    fn a_beginning_is_completed() {
        assert_eq!(complete("/s"), ["/status", "/show", "/settings"]);
        assert_eq!(complete("/undo --to"), Vec::<String>::new());
        assert_eq!(complete("s"), Vec::<String>::new());
    }
}
