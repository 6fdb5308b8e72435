//! Programs that start the command in their arguments, and the options before that command.

use super::names::{facts, is_a, is_in};
use super::reading::UNKNOWN;

/// The options of a program whose value is the next word, or the rest of the word.
fn valued(name: &str) -> impl Iterator<Item = &'static str> {
    facts("values", name).flat_map(str::split_whitespace)
}

/// The letters among them.
fn valued_letters(name: &str) -> String {
    let short = valued(name).filter(|option| !option.starts_with("--"));
    short.map(|option| &option[1..]).collect()
}

/// The options in a word such as `-xvf`. What follows one with a value is the value: `-XPOST` is
/// `-X POST`.
pub(super) fn option_letters<'w>(name: &str, word: &'w str) -> &'w str {
    let letters = word.strip_prefix('-').unwrap_or_default();
    if letters.starts_with('-') {
        return "";
    }
    let valued = valued_letters(name);
    let mut options = letters.split_inclusive(|letter| valued.contains(letter));
    options.next().unwrap_or_default()
}

/// Returns true if the value of an option is the next word.
pub(super) fn takes_next_word(name: &str, word: &str) -> bool {
    let letters = option_letters(name, word);
    let is_valued = |letter| valued_letters(name).contains(letter);
    valued(name).any(|option| option == word)
        || letters.len() + 1 == word.len() && letters.ends_with(is_valued)
}

/// The index of the command of a wrapper; `None` if there is no wrapper or it has no command.
pub(super) fn inner_command(words: &[String]) -> Option<usize> {
    let name = program_name(words.first()?);
    let fact = |section| facts(section, &name).next();
    fact("wrappers")?;
    let mut positional = fact("wrapper-words").map_or(0, |number| number.parse().unwrap_or(0));
    let subcommands = fact("wrapper-subcommands").unwrap_or_default();
    let mut awaits_subcommand = !subcommands.is_empty();
    let mut at = 1;
    while let Some(word) = words.get(at) {
        if word == "--" {
            at += 1;
            break;
        } else if word.starts_with('-') && (word.len() > 1 || name == "env") {
            // `command -v rm` only prints where it is.
            if name == "command" && word.contains(['v', 'V']) {
                return None;
            }
            at += usize::from(takes_next_word(&name, word));
        } else if name == "env" && word.contains('=') {
            // An assignment.
        } else if awaits_subcommand {
            // One letter, as in `npm x`, may be the value of an option before it.
            let is_doubtful = word.len() == 1 && at > 1;
            if is_doubtful || !is_in(subcommands, word) {
                return None;
            }
            awaits_subcommand = false;
        } else if positional > 0 {
            positional -= 1;
        } else {
            break;
        }
        at += 1;
    }
    let mut begins = at + positional;
    // `coproc x { ls; }`
    if let Some(brace) = words.iter().take(begins + 2).rposition(|word| word == "{") {
        begins = begins.max(brace + 1);
    }
    (!awaits_subcommand && begins < words.len()).then_some(begins)
}

/// The value of the last option that a section of the table lists for a program, and the words behind
/// it.
pub(super) fn option_value<'a>(
    name: &str,
    section: &str,
    words: &'a [String],
) -> Option<(&'a str, &'a [String])> {
    let options = facts(section, name).next()?;
    let is_meant = |option: &str| {
        let mut options = options.split(' ');
        options.any(|one| one == option || option.len() > 2 && one.starts_with(option))
    };
    words.iter().enumerate().rev().find_map(|(at, word)| {
        let letters = option_letters(name, word);
        let (option, value) = match word.split_once('=') {
            _ if !letters.is_empty() => {
                let last = letters.chars().next_back()?;
                (format!("-{last}"), &word[letters.len() + 1..])
            }
            Some((option, value)) => (option.to_owned(), value),
            None => (word.clone(), ""),
        };
        let rest = &words[at + 1..];
        match value {
            _ if !is_meant(&option) => None,
            "" => Some((rest.first()?.as_str(), &rest[1..])),
            _ => Some((value, rest)),
        }
    })
}

/// Returns true if a program runs the command in its arguments, whatever they are.
pub(super) fn is_wrapper(name: &str) -> bool {
    is_a("wrappers", name) && !is_a("wrapper-subcommands", name)
}

/// A command, the command that it starts if it is a wrapper, and so on.
pub(super) fn commands_within(command: &[String]) -> impl Iterator<Item = &[String]> {
    std::iter::successors(Some(command), |words| Some(&words[inner_command(words)?..]))
}

/// The part of a command that begins with the program that does the work.
pub(super) fn without_wrappers(command: &[String]) -> &[String] {
    commands_within(command).last().unwrap_or(command)
}

/// The last component of a program's path, in lower case, without `.exe`.
///
/// An unknown directory is all that may be unknown before it, as in `$venv/bin/python`.
pub(super) fn program_name(word: &str) -> String {
    let rest = word.strip_prefix(UNKNOWN);
    let known = rest.filter(|rest| rest.starts_with('/'));
    if known.unwrap_or(word).contains(UNKNOWN) {
        return UNKNOWN.to_string();
    }
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let mut name = name.to_lowercase();
    name.truncate(name.strip_suffix(".exe").map_or(name.len(), str::len));
    name
}
