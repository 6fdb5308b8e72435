//! The commands of the prompt line, each with the verb that it stands for.

use std::fmt::Write as _;

use crate::settings::nearest;

/// A command of the prompt.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// What follows the slash.
    pub(super) name: &'static str,
    /// The verb with its first arguments; none for what only the prompt can do.
    pub(super) verb: &'static [&'static str],
    /// What it does.
    meaning: &'static str,
}

const fn word(name: &'static str, verb: &'static [&'static str], meaning: &'static str) -> Word {
    Word {
        name,
        verb,
        meaning,
    }
}

/// All commands, in the order of the help.
pub(super) const WORDS: &[Word] = &[
    word("copy", &["copy"], "put the message on the clipboard again"),
    word("paste", &["paste"], "take the reply from the clipboard"),
    word(
        "edit",
        &["paste", "--edit"],
        "paste the reply in your editor",
    ),
    word(
        "status",
        &["status"],
        "where things stand, and what to do now",
    ),
    word("add", &["add"], "show files in the next message"),
    word("plan", &["plan"], "the model's plan"),
    word("diff", &["diff"], "what the latest round changed"),
    word("undo", &["undo"], "take the latest round back"),
    word("redo", &["redo"], "redo what was undone"),
    word("show", &["show"], "the conversation so far"),
    word(
        "approve",
        &["approve"],
        "approve what waits for your decision",
    ),
    word("decline", &["decline"], "decline it; the reason may follow"),
    word("check", &["check"], "run the check command now"),
    word(
        "handoff",
        &["handoff"],
        "rewrite the message for another chat",
    ),
    word("settings", &["config"], "the settings in force"),
    word("help", &[], "this list"),
    word("quit", &[], "stop; `agent resume` goes on"),
];

/// What a line means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meant<'a> {
    /// A word for the model.
    Note,
    /// This command, with what follows it.
    Command(&'static Word, &'a str),
    /// The beginning of several commands.
    Several(Vec<String>),
    /// Meant as a command, and none; with a hint.
    Unknown(String),
}

/// Reads a line: a command may be shortened as long as it is clear.
pub(super) fn read(line: &str) -> Meant<'_> {
    let Some(text) = line.trim().strip_prefix('/') else {
        return Meant::Note;
    };
    let is_indented = line.starts_with(char::is_whitespace);
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    if let Some(word) = WORDS.iter().find(|word| word.name == name) {
        return Meant::Command(word, rest.trim());
    }
    if text.is_empty() && !is_indented {
        return Meant::Unknown("`/help` shows the commands.".to_owned());
    }
    // A path is no command.
    if name.is_empty() || !name.chars().all(|letter| letter.is_ascii_alphabetic()) {
        return Meant::Note;
    }
    let fitting: Vec<&Word> = WORDS
        .iter()
        .filter(|word| word.name.starts_with(&name.to_ascii_lowercase()))
        .collect();
    match fitting.as_slice() {
        // The way to say something that only looks like a command.
        [] if is_indented => Meant::Note,
        [] => Meant::Unknown(unknown(name)),
        [word] => Meant::Command(word, rest.trim()),
        several => Meant::Several(
            several
                .iter()
                .map(|word| format!("`/{}`", word.name))
                .collect(),
        ),
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
            [] => String::new(),
            verb => format!(" (`agent {}`)", verb.join(" ")),
        };
        let _ = writeln!(text, "  /{:<9} {}{verb}", word.name, word.meaning);
    }
    text.push_str(
        "They take the same options as the commands: `/diff --round 2`, `/undo --to 1`, `/copy --part 2`.",
    );
    text
}

/// The arguments of the verb: what follows is split as a shell does, quotes and all.
pub(super) fn arguments(word: &Word, rest: &str) -> Vec<String> {
    let mut arguments: Vec<String> = word.verb.iter().map(ToString::to_string).collect();
    let given = split(rest);
    let is_number = |text: &String| text == "all" || text.parse::<u32>().is_ok();
    if word.name == "decline" && !given.iter().any(|argument| argument.starts_with('-')) {
        let reason: Vec<String> = given
            .iter()
            .skip_while(|text| is_number(text))
            .cloned()
            .collect();
        arguments.extend(given.into_iter().take_while(is_number));
        if !reason.is_empty() {
            arguments.push(format!("--reason={}", reason.join(" ")));
        }
    } else {
        arguments.extend(given);
    }
    arguments
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
    use std::ffi::OsString;

    use super::super::super::parse_line;
    use super::*;

    #[track_caller]
    fn case(line: &str, expected: Option<(&str, &str)>) {
        match (read(line), expected) {
            (Meant::Command(word, rest), Some(expected)) => {
                assert_eq!((word.name, rest), expected);
            }
            (Meant::Command(..), None) | (_, Some(_)) => panic!("{line}: {:?}", read(line)),
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
        assert_eq!(
            read("/h"),
            Meant::Several(vec!["`/handoff`".to_owned(), "`/help`".to_owned()])
        );
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
            assert_eq!(read(line), Meant::Note, "{line}");
        }
        assert!(matches!(read("/ "), Meant::Unknown(_)));
        let unknown = read("/statsu");
        assert!(matches!(&unknown, Meant::Unknown(hint) if hint.contains("`/status`?")));
    }

    #[test]
    fn every_command_is_a_verb() {
        for word in WORDS.iter().filter(|word| !word.verb.is_empty()) {
            let line = std::iter::once("agent").chain(word.verb.iter().copied());
            let parsed = parse_line(line.map(OsString::from));
            assert!(parsed.is_ok(), "/{}: {parsed:?}", word.name);
            assert!(help().contains(&format!("/{} ", word.name)));
        }
    }

    #[test]
    fn a_decline_may_say_why_in_plain_words() {
        let decline = |rest| {
            let Meant::Command(word, rest) = read(rest) else {
                panic!("{rest}");
            };
            arguments(word, rest)
        };
        assert_eq!(
            decline("/decline 2 don't do it"),
            ["decline", "2", "--reason=don't do it"]
        );
        assert_eq!(decline("/decline all"), ["decline", "all"]);
        assert_eq!(
            decline("/decline 1 --reason \"too much\""),
            ["decline", "1", "--reason", "too much"]
        );
    }

    #[test]
    fn a_beginning_is_completed() {
        assert_eq!(complete("/s"), ["/status", "/show", "/settings"]);
        assert_eq!(complete("/undo --to"), Vec::<String>::new());
        assert_eq!(complete("s"), Vec::<String>::new());
    }
}
