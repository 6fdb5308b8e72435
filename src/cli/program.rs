//! The program as a whole: its command line, and the commands of the prompt line with the verbs that
//! they stand for.

use std::process::ExitCode;

use clap::{Args, Command, Subcommand as _};

use super::common::Common;
use super::help;
use super::slash::{self, CommandLine, EnteredVerb, SlashCommand, Word};
use super::verb::Verb;
use crate::error::Result;
use crate::ui::Ui;

/// The program.
pub(super) const PROGRAM: CommandLine = CommandLine {
    grammar,
    words: WORDS,
};

/// The command line as clap knows it.
fn grammar() -> Command {
    help::grammar(Verb::augment_subcommands)
}

impl EnteredVerb for Verb {
    fn run(self: Box<Self>, common: &Common, ui: &Ui) -> Result<ExitCode> {
        Verb::run(*self, common, ui, PROGRAM)
    }
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
    verb!(
        "copy",
        "copy",
        Copy,
        "put the message on the clipboard again"
    ),
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
    verb!(
        "status",
        "status",
        Status,
        "where things stand, and what to do now"
    ),
    verb!("add", "add", Add, "show files in the next message"),
    Word {
        name: "notes",
        verb: "notes",
        meaning: "your notes for the next message; `--drop N` withdraws one",
        read: |mut words| {
            if let Some(first) = words.first_mut().filter(|first| *first == "drop") {
                "--drop".clone_into(first);
            }
            read("/notes", words, Verb::Notes)
        },
    },
    verb!("plan", "plan", Plan, "the model's plan"),
    verb!(
        "diff",
        "diff",
        Diff,
        "what the latest round changed; `--since 0` all"
    ),
    verb!("undo", "undo", Undo, "undo the latest round"),
    verb!("redo", "redo", Redo, "redo what was undone"),
    verb!("show", "show", Show, "the conversation so far"),
    verb!(
        "approve",
        "approve",
        Approve,
        "approve what waits for your decision"
    ),
    verb!(
        "decline",
        "decline",
        Decline,
        "decline it; the reason may follow"
    ),
    verb!("check", "check", Check, "run the check command now"),
    verb!(
        "handoff",
        "handoff",
        Handoff,
        "rewrite the message for another chat"
    ),
    verb!("settings", "config", Config, "the settings in force"),
    Word {
        name: "help",
        verb: "",
        meaning: "this list",
        read: |_| Ok(SlashCommand::Tell(slash::help(WORDS))),
    },
    Word {
        name: "quit",
        verb: "",
        meaning: "stop, or `/exit`; continue with `agent resume`",
        read: |_| Ok(SlashCommand::Quit),
    },
    Word {
        name: "exit",
        verb: "",
        meaning: "stop",
        read: |_| Ok(SlashCommand::Quit),
    },
];

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::super::slash::Recognised;
    use super::*;

    #[test]
    fn the_help_of_the_prompt_fits_on_a_terminal() {
        let help = slash::help(WORDS);
        let rows: usize = help.lines().map(|line| line.len().div_ceil(78)).sum();
        // The prompt is the last of 24 rows.
        assert!(rows <= 23, "{rows} rows:\n{help}");
    }

    #[track_caller]
    fn case(line: &str, expected: Option<(&str, &str)>) {
        match (slash::recognise(WORDS, line), expected) {
            (Recognised::Command(word, rest), Some(expected)) => {
                assert_eq!((word.name, rest), expected);
            }
            (Recognised::Command(..), None) | (_, Some(_)) => {
                panic!("{line}: {:?}", slash::recognise(WORDS, line))
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
        assert_eq!(slash::recognise(WORDS, "/h"), Recognised::Unclear(either));
    }

    #[test]
    fn what_is_typed_as_in_a_shell_is_the_command() {
        let name = |line| match slash::recognise_line(PROGRAM, line) {
            Recognised::Command(word, rest) => Some((word.name, rest.to_owned())),
            _ => None,
        };
        let is = |word: &'static str, rest: &str| Some((word, rest.to_owned()));
        assert_eq!(name("agent diff --round 2"), is("diff", "--round 2"));
        assert_eq!(name("agent paste --edit"), is("paste", "--edit"));
        assert_eq!(name("Help"), is("help", ""));
        assert_eq!(name("?"), is("help", ""));
        assert_eq!(name("/?"), is("help", ""));
        assert_eq!(name("exit"), is("exit", ""));
        assert_eq!(name("/quit"), is("quit", ""));
        for line in ["agent should use tabs", "quit using tabs", " help"] {
            assert_eq!(name(line), None, "{line}");
            let found = slash::recognise_line(PROGRAM, line);
            assert_eq!(found, Recognised::Note, "{line}");
        }
        assert_eq!(name("agent"), is("status", ""));
        let elsewhere = slash::recognise_line(PROGRAM, "agent new task");
        assert!(matches!(elsewhere, Recognised::Unclear(_)));
    }

    #[test]
    fn commands_for_a_shell_are_told_from_sentences() {
        for line in [
            "git status",
            "clear; git status --short",
            "ls",
            "./run.sh",
            "make -j4",
            "make test",
            "go build",
            "python src/a.py",
            "python hello.py",
            "node x.js --port 1",
            "agent frobnicate",
            "agent stauts --all ab12",
        ] {
            assert!(slash::is_for_shell(line), "{line}");
        }
        for line in [
            "make it faster",
            "make tests for it",
            "find the bug",
            "use git status",
            "agent should use tabs",
            " git status",
            "go on",
            "python 3.12 is needed",
            "",
        ] {
            assert!(!slash::is_for_shell(line), "{line}");
        }
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
            assert_eq!(slash::recognise(WORDS, line), Recognised::Note, "{line}");
        }
        assert!(matches!(
            slash::recognise(WORDS, "/ "),
            Recognised::Unclear(_)
        ));
        let unknown = slash::recognise(WORDS, "/statsu");
        assert!(matches!(&unknown, Recognised::Unclear(hint) if hint.contains("`/status`?")));
    }

    fn understood(line: &str) -> SlashCommand {
        match slash::recognise(WORDS, line) {
            Recognised::Command(word, rest) => word.understand(rest),
            other => panic!("{line}: {other:?}"),
        }
    }

    fn verb(line: &str) -> Box<dyn EnteredVerb> {
        match understood(line) {
            SlashCommand::Verb(verb) => verb,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_slash_command_is_the_same_value_as_its_verb() {
        for word in WORDS.iter().filter(|word| !word.verb.is_empty()) {
            let line = std::iter::once("agent").chain(word.verb.split(' '));
            let typed = grammar().try_get_matches_from(line).unwrap();
            let typed = Verb::from_arg_matches(&typed).unwrap();
            let entered = verb(&format!("/{}", word.name));
            assert_eq!(format!("{entered:?}"), format!("{typed:?}"));
            assert!(slash::help(WORDS).contains(&format!("/{} ", word.name)));
        }
        let diff = verb("/diff --round 2 'ab 12'");
        let expected = r#"Diff(Diff { id: Some("ab 12"), round: Some(2), since: None, all: false, stat: false })"#;
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
    fn a_beginning_is_completed() {
        assert_eq!(
            slash::complete(WORDS, "/s"),
            ["/status", "/show", "/settings"]
        );
        assert_eq!(slash::complete(WORDS, "/undo --to"), Vec::<String>::new());
        assert_eq!(slash::complete(WORDS, "s"), Vec::<String>::new());
    }
}
