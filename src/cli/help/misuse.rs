//! A command line that was not understood, told as all errors are: what is wrong, then hints. All of
//! it comes from the typed context of clap's error, nothing from its text.

use std::error::Error as _;
use std::ffi::OsString;
use std::num::ParseIntError;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::error::Error;
use crate::ui::escape_line;

/// Explains a command line that lacks something, or has something that does not belong there; nothing
/// for what clap says best itself.
pub(super) fn explained(
    message: &clap::Error,
    grammar: &clap::Command,
    arguments: &[OsString],
) -> Option<Error> {
    let verb = verb_of(grammar, arguments);
    match message.kind() {
        ErrorKind::MissingRequiredArgument => too_little(message, &verb),
        _ => misused(message, &verb),
    }
}

/// The names of the verb that was typed: `policy check` of `agent --json policy check x`.
fn verb_of(grammar: &clap::Command, arguments: &[OsString]) -> String {
    let mut found = grammar;
    let mut verbs: Vec<&str> = Vec::new();
    let mut words = arguments
        .iter()
        .skip(1)
        .map(|argument| argument.to_string_lossy());
    while let Some(word) = words.next() {
        if word.starts_with('-') {
            if takes_next_word(&word, [grammar, found]) {
                words.next();
            }
            continue;
        }
        let Some(verb) = found.find_subcommand(&*word) else {
            break;
        };
        verbs.push(verb.get_name());
        found = verb;
    }
    verbs.join(" ")
}

/// Returns true if the word after an option is its value.
fn takes_next_word(option: &str, commands: [&clap::Command; 2]) -> bool {
    let long = option.strip_prefix("--");
    let mut letters = option.chars().skip(1);
    let short = letters
        .next()
        .filter(|_| long.is_none() && letters.next().is_none());
    let is_named = |argument: &&clap::Arg| {
        (long.is_some() && argument.get_long() == long)
            || (short.is_some() && argument.get_short() == short)
    };
    let mut all = commands.iter().flat_map(|command| command.get_arguments());
    let argument = all.find(is_named);
    argument.is_some_and(|argument| {
        argument.get_action().takes_values() && !argument.is_require_equals_set()
    })
}

/// A command without what it needs: how it is used, and where its examples are.
fn too_little(message: &clap::Error, verb: &str) -> Option<Error> {
    let missing = words(message, ContextKind::InvalidArg);
    if missing.is_empty() || verb.is_empty() {
        return None;
    }
    let error = Error::usage(format!("`agent {verb}` needs {}", missing.join(", ")));
    let error = with_usage(error, message);
    Some(error.hint(format!("`agent help {verb}` shows examples")))
}

/// Any other slip.
fn misused(message: &clap::Error, verb: &str) -> Option<Error> {
    let mut error = Error::usage(escape_line(&slip(message)?));
    let valid = words(message, ContextKind::ValidValue);
    if !valid.is_empty() {
        error = error.hint(format!("it may be {}", escape_line(&valid.join(", "))));
    }
    let similar = [
        ("argument", ContextKind::SuggestedArg),
        ("value", ContextKind::SuggestedValue),
    ];
    for (what, kind) in similar {
        let similar: Vec<String> = words(message, kind).iter().map(|one| quoted(one)).collect();
        error = match similar.as_slice() {
            [] => error,
            [one] => error.hint(format!("a similar {what} exists: {one}")),
            some => error.hint(format!("similar {what}s exist: {}", some.join(", "))),
        };
    }
    for tip in words(message, ContextKind::Suggested) {
        error = error.hint(escape_line(&tip.replace('\'', "`")));
    }
    let verb = format!("help {verb}");
    Some(with_usage(error, message).hint(format!(
        "`agent {}` shows the options and examples",
        verb.trim_end()
    )))
}

/// The slip itself, in a sentence.
fn slip(message: &clap::Error) -> Option<String> {
    let first = |kind| words(message, kind).into_iter().next();
    let argument = first(ContextKind::InvalidArg).map(|name| quoted(&name));
    let value = first(ContextKind::InvalidValue).unwrap_or_default();
    let number = |kind| match message.get(kind) {
        Some(ContextValue::Number(number)) => *number,
        _ => 0,
    };
    Some(match (message.kind(), argument) {
        (ErrorKind::UnknownArgument, Some(argument)) => {
            format!("unexpected argument {argument} found")
        }
        (ErrorKind::InvalidValue, Some(argument)) if value.is_empty() => {
            format!("a value is required for {argument} but none was supplied")
        }
        (ErrorKind::InvalidValue, Some(argument)) => {
            format!("invalid value {} for {argument}", quoted(&value))
        }
        (ErrorKind::ValueValidation, Some(argument)) => {
            let why = message.source().map(|source| {
                // Its own words speak of digits in a string.
                if source.is::<ParseIntError>() {
                    ": it must be a whole number".to_owned()
                } else {
                    format!(": {source}")
                }
            });
            let why = why.unwrap_or_default();
            format!("invalid value {} for {argument}{why}", quoted(&value))
        }
        (ErrorKind::ArgumentConflict, Some(argument)) => conflict(message, &argument),
        (ErrorKind::TooManyValues, Some(argument)) => format!(
            "unexpected value {} for {argument} found; no more were expected",
            quoted(&value)
        ),
        (ErrorKind::TooFewValues, Some(argument)) => format!(
            "{argument} needs at least {} values, and has {}",
            number(ContextKind::MinValues),
            number(ContextKind::ActualNumValues)
        ),
        (ErrorKind::WrongNumberOfValues, Some(argument)) => format!(
            "{argument} needs {} values, and has {}",
            number(ContextKind::ExpectedNumValues),
            number(ContextKind::ActualNumValues)
        ),
        (ErrorKind::NoEquals, Some(argument)) => {
            format!("the value of {argument} follows an equal sign")
        }
        (kind, _) => kind.as_str()?.to_owned(),
    })
}

fn conflict(message: &clap::Error, argument: &str) -> String {
    let others = words(message, ContextKind::PriorArg);
    let others: Vec<String> = others.iter().map(|one| quoted(one)).collect();
    match others.as_slice() {
        [] => format!("{argument} cannot be used with the other options"),
        [one] if one == argument => format!("{argument} cannot be used multiple times"),
        others => format!("{argument} cannot be used with {}", others.join(", ")),
    }
}

fn with_usage(error: Error, message: &clap::Error) -> Error {
    // clap prints the word before it, too.
    let usage = words(message, ContextKind::Usage).into_iter().next();
    let usage = usage
        .as_deref()
        .map(|usage| usage.trim_start_matches("Usage:").trim());
    match usage {
        Some(usage) => error.hint(format!("usage: {}", escape_line(usage))),
        None => error,
    }
}

/// The texts of a piece of context.
fn words(message: &clap::Error, kind: ContextKind) -> Vec<String> {
    match message.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(some)) => some.clone(),
        Some(ContextValue::StyledStr(one)) => vec![one.to_string()],
        Some(ContextValue::StyledStrs(some)) => some.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    }
}

fn quoted(word: &str) -> String {
    format!("`{word}`")
}

#[cfg(test)]
mod tests {
    use super::super::super::program::PROGRAM;
    use super::*;

    fn told(arguments: &[&str]) -> Error {
        let mut grammar = (PROGRAM.grammar)();
        let message = grammar.try_get_matches_from_mut(arguments).unwrap_err();
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        explained(&message, &grammar, &arguments).unwrap()
    }

    #[test]
    fn a_mistyped_option_is_told_as_all_errors_are() {
        let error = told(&["agent", "new", "--chek", "x", "task"]);
        assert_eq!(error.to_string(), "unexpected argument `--chek` found");
        assert_eq!(error.hints()[0], "a similar argument exists: `--check`");
        assert_eq!(
            error.hints().last().unwrap(),
            "`agent help new` shows the options and examples"
        );
        let error = told(&["agent", "--color", "pink", "list"]);
        assert_eq!(
            error.to_string(),
            "invalid value `pink` for `--color <WHEN>`"
        );
        assert_eq!(error.hints()[0], "it may be auto, always, never");
        let error = told(&["agent", "diff", "--since", "x"]);
        assert_eq!(
            error.to_string(),
            "invalid value `x` for `--since <N>`: it must be a whole number"
        );
        let error = told(&["agent", "new", "--check"]);
        assert!(
            error
                .to_string()
                .starts_with("a value is required for `--check ")
        );
    }

    #[test]
    fn the_value_of_an_option_is_no_verb() {
        for arguments in [
            ["agent", "--base", "list", "new", "--nonsense"],
            ["agent", "--base=list", "new", "--nonsense", "x"],
        ] {
            let hints = told(&arguments).hints().to_vec();
            let last = hints.last().unwrap();
            assert_eq!(last, "`agent help new` shows the options and examples");
        }
    }

    #[test]
    fn an_argument_cannot_forge_lines_of_ours() {
        let error = told(&["agent", "list", "--x\u{1b}[2J\nhint: y"]);
        let text = format!("{error} {:?}", error.hints());
        assert!(
            !text.contains('\u{1b}') && !error.to_string().contains('\n'),
            "{text}"
        );
    }

    #[test]
    fn a_command_without_what_it_needs_is_told_how_it_is_used() {
        let error = told(&["agent", "new"]);
        assert_eq!(error.to_string(), "`agent new` needs <TASK>...");
        assert!(error.hints()[0].starts_with("usage: agent new "));
        assert_eq!(error.hints()[1], "`agent help new` shows examples");
        let error = told(&["agent", "policy", "check"]);
        assert_eq!(error.hints()[1], "`agent help policy check` shows examples");
    }
}
