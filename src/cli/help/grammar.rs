//! The form of the help: examples first, commands and options in groups.
//!
//! The words are those of the verbs and of the table of settings; here is only where they stand.
//! Settings can be given with every verb and are shown with those that use them.

use std::fmt::Write as _;

use clap::builder::styling::Style;
use clap::{Arg, Args as _, Command};

use super::super::common::Common;
use super::topics::TOPICS;
use crate::services::doctor::build_info;
use crate::settings::{GROUPS, Key, Shape};

/// The verbs of which the help shows every setting.
const USE_SETTINGS: &[&str] = &[
    "new", "resume", "mcp", "step", "apply", "ask", "batch", "check", "fork", "config", "api",
    "policy",
];

/// The settings that `-h` of a verb shows.
const OFTEN: &[&str] = &["CheckCommand", "Chat", "Clipboard", "Approval"];

const EXAMPLES: &str = "
  agent new \"fix the failing test\"
  agent new --copy --chat claude \"add a --json flag to the report command\"
  agent status
  agent resume
  agent demo                       watch a whole session, without a chat

A round: paste the file that appears in outbox/ into your chat, save the chat's reply into inbox/.";

const VERB: &str = "\
{about-with-newline}
{usage-heading} {usage}{after-help}

{all-args}";

/// Commands that a person needs for the same purpose.
struct Purpose {
    title: &'static str,
    verbs: &'static [&'static str],
}

static PURPOSES: &[Purpose] = &[
    Purpose {
        title: "Work",
        verbs: &["new", "resume", "serve", "mcp", "status", "ask", "end"],
    },
    Purpose {
        title: "Exchange",
        verbs: &["copy", "paste", "say", "notes", "add", "approve", "decline"],
    },
    Purpose {
        title: "Review and undo",
        verbs: &[
            "diff", "undo", "redo", "commit", "check", "list", "rename", "show", "plan", "export",
            "rm",
        ],
    },
    Purpose {
        title: "Branch",
        verbs: &["handoff", "fork"],
    },
    Purpose {
        title: "For scripts",
        verbs: &["step", "apply", "parse", "batch"],
    },
    Purpose {
        title: "Set up",
        verbs: &[
            "demo",
            "init",
            "config",
            "api",
            "policy",
            "prompts",
            "doctor",
            "completions",
            "man",
            "help",
        ],
    },
];

/// The command line as clap knows it, with the verbs that are added.
pub(in crate::cli) fn grammar(add_verbs: fn(Command) -> Command) -> Command {
    let root = root();
    let heading = *root.get_styles().get_header();
    let command = add_verbs(root).mut_subcommands(|verb| dressed(verb, heading));
    let template = template(&command);
    command.help_template(template)
}

/// The program with the options of every verb, and as yet without a verb.
fn root() -> Command {
    let command = Command::new("agent")
        .version(build_info::version())
        .about("A coding agent for people with a chat LLM in a browser tab and no API key")
        .max_term_width(100)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true);
    Common::augment_args(with_hidden_settings(command))
}

/// The verb with its help in our form, and its settings.
fn dressed(verb: Command, heading: Style) -> Command {
    let examples = verb.get_after_help().map(|text| {
        let styled = format!("{heading}Examples:{heading:#}");
        text.to_string().replacen("Examples:", &styled, 1)
    });
    let verb = match examples {
        Some(examples) => verb.after_help(examples),
        None => verb,
    };
    // Only the verb that was typed gets them: in all of them they would cost two milliseconds, and so
    // would global ones, which clap copies to every verb.
    let settings = if USE_SETTINGS.contains(&verb.get_name()) {
        with_settings
    } else {
        with_hidden_settings
    };
    verb.help_template(VERB).defer(settings)
}

fn with_settings(verb: Command) -> Command {
    (verb.args(setting_arguments())).mut_subcommands(|verb| verb.defer(with_settings))
}

fn with_hidden_settings(verb: Command) -> Command {
    let settings = setting_arguments().map(|argument| argument.hide(true));
    (verb.args(settings)).mut_subcommands(|verb| verb.defer(with_hidden_settings))
}

/// The help of the program itself.
fn template(command: &Command) -> String {
    let heading = command.get_styles().get_header();
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{heading}Examples:{heading:#}{EXAMPLES}\n{}\n\
         {heading}Options of every command:{heading:#}\n{{options}}\n\n\
         Every setting is an option too: `agent help settings`.",
        commands(command)
    )
}

/// The commands by their purpose, and the topics, a line each.
fn commands(command: &Command) -> String {
    let heading = command.get_styles().get_header();
    let name = command.get_styles().get_literal();
    let mut text = String::new();
    for purpose in PURPOSES {
        let _ = writeln!(text, "\n{heading}{}:{heading:#}", purpose.title);
        for verb in purpose.verbs {
            let about = command.find_subcommand(verb).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {name}{verb:11}{name:#}  {}", in_short(&about));
        }
    }
    let _ = writeln!(text, "\n{heading}Topics:{heading:#}");
    for topic in TOPICS {
        let line = format!("help {}", topic.name);
        let _ = writeln!(text, "  {name}{line:14}{name:#}  {}", topic.about);
    }
    text
}

/// The first words of what a verb does; its own help has the rest.
fn in_short(about: &str) -> &str {
    about.split([':', ';']).next().unwrap_or_default()
}

/// An option for each setting, by groups; clap keeps their order.
fn setting_arguments() -> impl Iterator<Item = Arg> {
    GROUPS
        .iter()
        .flat_map(|group| group.keys().map(move |key| (group, key)))
        .map(|(group, key)| {
            Arg::new(key.flag)
                .long(key.flag.trim_start_matches('-'))
                .value_name(value_name(key))
                .help(explained(key))
                .help_heading(group.title)
                .hide_short_help(!OFTEN.contains(&key.name))
        })
}

/// The longest placeholder that leaves room for what is said of an option, in characters.
const LONGEST_NAME: usize = 24;

/// The meaning of a setting, with the words that its placeholder has no room for.
fn explained(key: &Key) -> String {
    match &key.shape {
        Shape::Choice(words) | Shape::Words(words) if words.join("|").len() > LONGEST_NAME => {
            format!("{} One of: {}.", key.meaning, words.join(", "))
        }
        _ => key.meaning.to_owned(),
    }
}

/// The placeholder for the value in the help.
fn value_name(key: &Key) -> String {
    match &key.shape {
        Shape::Choice(words) | Shape::Words(words) if words.join("|").len() > LONGEST_NAME => {
            let words = key.flag.rsplit('-').next();
            words.unwrap_or_default().to_uppercase()
        }
        Shape::Directory => "DIR".to_owned(),
        Shape::Number(_) => "N".to_owned(),
        Shape::Choice(words) => words.join("|"),
        Shape::Words(words) => words.join(","),
        Shape::Paths => "PATHS".to_owned(),
        Shape::Rules => "COMMANDS".to_owned(),
        Shape::Items => "WORDS".to_owned(),
        Shape::Text => "TEXT".to_owned(),
        Shape::Temperature => "NUMBER".to_owned(),
        Shape::Price => "PRICE".to_owned(),
        Shape::Runner => "RUNNER".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::super::super::common::SettingFlags;
    use super::super::super::program::PROGRAM;
    use super::*;

    fn command() -> Command {
        (PROGRAM.grammar)()
    }

    #[test]
    fn every_command_has_exactly_one_purpose() {
        let command = command();
        let mut all: Vec<&str> = command
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set())
            .map(Command::get_name)
            .collect();
        let mut listed: Vec<&str> = PURPOSES
            .iter()
            .flat_map(|purpose| purpose.verbs)
            .copied()
            .collect();
        all.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, all);
    }

    #[test]
    fn every_line_of_the_overview_fits_a_terminal() {
        let help = command().render_help().to_string();
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
        let overview = commands(&command());
        let plain = anstream::adapter::strip_str(&overview).to_string();
        for line in plain.lines() {
            assert!(line.chars().count() <= 80, "{line}");
            assert!(!line.ends_with("  "), "nothing is said of `{line}`");
        }
    }

    #[track_caller]
    fn is_readable(help: &str) {
        let is_narrow = |line: &&str| line.len() - line.trim_start().len() > 50;
        let narrow = help.lines().find(is_narrow);
        assert_eq!(narrow, None, "{help}");
        let is_long = |line: &&str| line.chars().count() > 80;
        assert_eq!(help.lines().find(is_long), None, "{help}");
    }

    #[test]
    fn every_help_can_be_read_at_80_columns() {
        let mut command = command();
        command.build();
        for verb in command.get_subcommands() {
            let verb = verb.clone().term_width(80);
            is_readable(&verb.clone().render_help().to_string());
            is_readable(&verb.clone().render_long_help().to_string());
        }
    }

    #[test]
    fn settings_are_shown_where_they_are_used_and_known_everywhere() {
        let mut command = command();
        command.build();
        let help = |verb: &str| {
            let verb = command.find_subcommand(verb).unwrap();
            verb.clone().render_long_help().to_string()
        };
        assert!(help("new").contains("What the model may do:\n      --approval"));
        assert!(!help("list").contains("--approval"));
        for arguments in [
            &["agent", "--max-rounds", "3", "list"][..],
            &["agent", "list", "--max-rounds", "3"],
            &["agent", "--max-rounds", "3", "new", "x"],
            &["agent", "new", "--max-rounds", "3", "x"],
            &["agent", "policy", "check", "--max-rounds", "3", "ls"],
        ] {
            let matches = command.clone().try_get_matches_from(arguments).unwrap();
            let flags = SettingFlags::from_arg_matches(&matches).unwrap();
            let given = [("--max-rounds", "3".to_owned())];
            assert_eq!(flags.0.given, given, "{arguments:?}");
        }
    }
}
