//! The value of one setting: what shapes there are, and how texts and JSON are read into them.
//!
//! Every error here goes on after the name of the key: ``must be `off` or `run`, not `maybe` ``.
//! Foreign text in it is short and escaped.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::Serialize;

use super::suggestion::{nearest, shown};
use super::typed::{ChosenPrice, SamplingTemperature, rules_in};
use crate::policy::Rule;
use crate::runner::RunnerChoice;

/// The longest path that is accepted, in bytes; the limit of Linux.
const LONGEST_PATH: usize = 4096;

/// The longest list of words that is accepted, in bytes.
const LONGEST_LIST: usize = 64 * 1024;

/// The kind of value that a setting takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// A directory, absolute or relative to the base directory.
    Directory,
    /// A whole number in this range.
    Number(RangeInclusive<u64>),
    /// One of these words, in any letter case.
    Choice(&'static [&'static str]),
    /// Any of these words, separated by commas; in the file also as a list.
    Words(&'static [&'static str]),
    /// Absolute paths, separated as in `PATH`; in the file also as a list.
    Paths,
    /// Beginnings of commands, separated by commas; in the file also as a list.
    Rules,
    /// Any words, separated by spaces; in the file also as a list.
    Items,
    /// One line of text.
    Text,
    /// A temperature of sampling, or nothing.
    Temperature,
    /// The price of a million tokens, or nothing.
    Price,
    /// Where commands run.
    Runner,
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A directory or a word.
    Text(Cow<'static, str>),
    /// A whole number.
    Number(u64),
}

/// The words that a mistyped one may stand for, in backticks: all that begin with it, else the one
/// that is nearest.
fn meant(written: &str, words: &[&str]) -> Vec<String> {
    let begins = |word: &&&str| !written.is_empty() && word.starts_with(written);
    let mut meant: Vec<&str> = words.iter().filter(begins).copied().collect();
    if meant.is_empty() {
        meant.extend(nearest(written, words.iter().copied()));
    }
    meant.iter().map(|word| format!("`{word}`")).collect()
}

impl Shape {
    /// Reads a value as it stands in a flag or in the environment.
    ///
    /// The shape decides how: `123456` is a number for a number and a name for a directory.
    pub fn read_text(&self, text: &str) -> Result<Value, String> {
        match self {
            Shape::Number(range) => match text.trim().parse() {
                Ok(number) if range.contains(&number) => Ok(Value::Number(number)),
                _ => Err(self.misfit(&format!("`{}`", shown(text)))),
            },
            Shape::Choice(words) => words
                .iter()
                .find(|word| word.eq_ignore_ascii_case(text.trim()))
                .map(|word| Value::Text(Cow::Borrowed(word)))
                .ok_or_else(|| {
                    let misfit = self.misfit(&format!("`{}`", shown(text)));
                    match meant(text.trim(), words).as_slice() {
                        [] => misfit,
                        words => format!("{misfit}; did you mean {}?", words.join(" or ")),
                    }
                }),
            Shape::Directory => read_directory(text),
            Shape::Words(words) => {
                read_words(text, words).ok_or_else(|| self.misfit(&format!("`{}`", shown(text))))
            }
            Shape::Text => {
                read_line(text).ok_or_else(|| self.misfit(&format!("`{}`", shown(text))))
            }
            Shape::Temperature => self.read_as::<SamplingTemperature>(text),
            Shape::Price => self.read_as::<ChosenPrice>(text),
            Shape::Runner => self.read_as::<RunnerChoice>(text),
            Shape::Items => {
                read_items(text).ok_or_else(|| self.misfit(&format!("`{}`", shown(text))))
            }
            Shape::Paths => {
                read_paths(text).ok_or_else(|| self.misfit(&format!("`{}`", shown(text))))
            }
            Shape::Rules => read_rules(text),
        }
    }

    /// Reads a value as it stands in the file, where a number is not written as a text.
    pub fn read_json(&self, json: &serde_json::Value) -> Result<Value, String> {
        match (self, json) {
            (Shape::Number(range), serde_json::Value::Number(number)) => number
                .as_u64()
                .filter(|number| range.contains(number))
                .map(Value::Number)
                .ok_or_else(|| self.misfit(&format!("`{number}`"))),
            (Shape::Number(_), _) => Err(self.misfit(&described(json))),
            (Shape::Temperature, serde_json::Value::Number(number)) => {
                self.read_text(&number.to_string())
            }
            (_, serde_json::Value::String(text)) => self.read_text(text),
            (Shape::Words(_) | Shape::Rules, serde_json::Value::Array(items)) => {
                self.read_list(items, ",")
            }
            (Shape::Items, serde_json::Value::Array(items)) => self.read_list(items, " "),
            (Shape::Paths, serde_json::Value::Array(items)) => {
                self.read_list(items, PATH_SEPARATOR)
            }
            (_, other) => Err(self.misfit(&described(other))),
        }
    }

    /// Reads a value of a type, in the form in which the type writes it.
    fn read_as<T: FromStr + fmt::Display>(&self, text: &str) -> Result<Value, String> {
        match text.parse::<T>() {
            Ok(value) => Ok(Value::Text(Cow::Owned(value.to_string()))),
            Err(_) => Err(self.misfit(&format!("`{}`", shown(text)))),
        }
    }

    fn read_list(&self, items: &[serde_json::Value], separator: &str) -> Result<Value, String> {
        let texts: Option<Vec<&str>> = items.iter().map(serde_json::Value::as_str).collect();
        let texts = texts.ok_or_else(|| self.misfit("a list of other things"))?;
        self.read_text(&texts.join(separator))
    }

    fn misfit(&self, found: &str) -> String {
        format!("must be {self}, not {found}")
    }
}

/// The separator of the paths in a list.
pub(super) const PATH_SEPARATOR: &str = if cfg!(windows) { ";" } else { ":" };

fn read_words(text: &str, words: &[&'static str]) -> Option<Value> {
    let mut chosen = Vec::new();
    for part in text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        chosen.push(*words.iter().find(|word| word.eq_ignore_ascii_case(part))?);
    }
    Some(Value::Text(Cow::Owned(chosen.join(","))))
}

fn read_rules(text: &str) -> Result<Value, String> {
    let rules = rules_in(text).map_err(|(text, problem)| {
        format!("holds `{}`, which is no rule: {problem}", shown(text))
    })?;
    let texts: Vec<String> = rules.iter().map(Rule::text).collect();
    Ok(Value::Text(Cow::Owned(texts.join(","))))
}

fn read_line(text: &str) -> Option<Value> {
    let text = text.trim();
    let fits = text.len() <= LONGEST_PATH && !text.chars().any(char::is_control);
    fits.then(|| Value::Text(Cow::Owned(text.to_owned())))
}

fn read_items(text: &str) -> Option<Value> {
    let items: Vec<&str> = text.split_whitespace().collect();
    let text = items.join(" ");
    let fits = text.len() <= LONGEST_LIST && !text.chars().any(char::is_control);
    fits.then_some(Value::Text(Cow::Owned(text)))
}

fn read_paths(text: &str) -> Option<Value> {
    let parts = text.split(PATH_SEPARATOR).filter(|part| !part.is_empty());
    let fits = |part: &str| {
        std::path::Path::new(part).is_absolute()
            && part.len() <= LONGEST_PATH
            && !part.chars().any(char::is_control)
    };
    let paths: Vec<&str> = parts.collect();
    paths
        .iter()
        .all(|part| fits(part))
        .then(|| Value::Text(Cow::Owned(paths.join(PATH_SEPARATOR))))
}

fn read_directory(text: &str) -> Result<Value, String> {
    let must = |what: &str| Err(format!("must name a directory, {what}"));
    if text.trim().is_empty() {
        must("not an empty text")
    } else if text == "~" || text.starts_with("~/") || text.starts_with("~\\") {
        must("written in full: `~` means nothing here")
    } else if text.len() > LONGEST_PATH {
        must("and no path is longer than 4,096 bytes")
    } else if text.chars().any(char::is_control) {
        must("without control characters")
    } else {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }
}

fn described(json: &serde_json::Value) -> String {
    match json {
        serde_json::Value::Null => "`null`".to_owned(),
        serde_json::Value::Bool(_) | serde_json::Value::Number(_) => format!("`{json}`"),
        serde_json::Value::String(text) => format!("the text `\"{}\"`", shown(text)),
        serde_json::Value::Array(_) => "a list".to_owned(),
        serde_json::Value::Object(_) => "an object".to_owned(),
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory => f.write_str("the name of a directory"),
            Self::Words(words) => write!(f, "any of `{}`, separated by commas", words.join("`, `")),
            Self::Rules => f.write_str("beginnings of commands, separated by commas"),
            Self::Items => f.write_str("any words, separated by spaces"),
            Self::Text => f.write_str("a line of text"),
            Self::Temperature => f.write_str("a number from 0 to 2, or nothing"),
            Self::Price => f.write_str("dollars like `2/10` or `2/10/0.2`, or nothing"),
            Self::Runner => f.write_str(
                "`local`, `docker:IMAGE`, `podman:IMAGE`, `docker:./FILE[#SERVICE]`, `ssh:HOST[:DIR]`, `kubectl:POD` or `exec:PROGRAM ARGS`",
            ),
            Self::Paths => write!(f, "absolute paths, separated by `{PATH_SEPARATOR}`"),
            Self::Number(range) => write!(
                f,
                "a whole number from {} to {}",
                range.start(),
                range.end()
            ),
            Self::Choice(words) => {
                for (index, word) in words.iter().enumerate() {
                    let separator = match index {
                        0 => "",
                        _ if index + 1 == words.len() => " or ",
                        _ => ", ",
                    };
                    write!(f, "{separator}`{word}`")?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::settings::Key;

    #[track_caller]
    fn text(name: &str, text: &str, expected: Result<&str, &str>) {
        let read = Key::named(name).unwrap().shape.read_text(text);
        let read = read.map(|value| value.to_string());
        assert_eq!(
            read.as_deref().map_err(String::as_str),
            expected,
            "{name} {text}"
        );
    }

    #[track_caller]
    fn json(name: &str, json: &serde_json::Value, expected: Result<&str, &str>) {
        let read = Key::named(name).unwrap().shape.read_json(json);
        let read = read.map(|value| value.to_string());
        assert_eq!(
            read.as_deref().map_err(String::as_str),
            expected,
            "{name} {json}"
        );
    }

    #[test]
    fn the_shape_decides_how_text_is_read() {
        text("WorkspaceDir", "123456", Ok("123456"));
        text("WorkspaceDir", "true", Ok("true"));
        text("MaxRounds", " 7 ", Ok("7"));
        text("Commands", "OFF", Ok("off"));
        text("OnFailure", "Skip-Commands", Ok("skip-commands"));
    }

    #[test]
    fn temperatures_and_prices_are_read_where_they_are_given() {
        text("Temperature", " 0.70 ", Ok("0.7"));
        text("Temperature", "", Ok(""));
        let temperature = "must be a number from 0 to 2, or nothing, not";
        for wrong in ["hot", "3", "-1", "NaN"] {
            text(
                "Temperature",
                wrong,
                Err(&format!("{temperature} `{wrong}`")),
            );
        }
        json("Temperature", &json!(0.1), Ok("0.1"));
        json("Temperature", &json!(1), Ok("1"));
        json("Temperature", &json!("0.1"), Ok("0.1"));
        let above = format!("{temperature} `2.5`");
        json("Temperature", &json!(2.5), Err(&above));
        text("ApiPrice", "2 / 10/0.20", Ok("2/10/0.2"));
        text("ApiPrice", "", Ok(""));
        let price = "must be dollars like `2/10` or `2/10/0.2`, or nothing, not `2`";
        text("ApiPrice", "2", Err(price));
    }

    #[test]
    fn a_word_that_is_nearly_right_is_told_which_was_meant() {
        let error = Key::named("Chat").unwrap().shape.read_text("chatgpt");
        let error = error.unwrap_err();
        let all = "; did you mean `chatgpt-free` or `chatgpt-plus` or `chatgpt-pro`?";
        assert!(error.ends_with(all), "{error}");
        let error = Key::named("Chat").unwrap().shape.read_text("gemni");
        assert!(error.unwrap_err().ends_with("did you mean `gemini`?"));
    }

    #[test]
    fn ranges_are_held() {
        let rounds = "must be a whole number from 1 to 10000, not";
        for wrong in ["0", "10001", "-1", "1.5", "abc", "99999999999999999999999"] {
            text("MaxRounds", wrong, Err(&format!("{rounds} `{wrong}`")));
        }
        text("MaxRounds", "1", Ok("1"));
        text("MaxRounds", "10000", Ok("10000"));
        json("MaxRounds", &json!(0), Err(&format!("{rounds} `0`")));
        json("MaxRounds", &json!(-3), Err(&format!("{rounds} `-3`")));
        json("MaxRounds", &json!(2.0), Err(&format!("{rounds} `2.0`")));
    }

    #[test]
    fn the_file_keeps_texts_and_numbers_apart() {
        let rounds = "must be a whole number from 1 to 10000, not";
        json("MaxRounds", &json!(7), Ok("7"));
        json(
            "MaxRounds",
            &json!("7"),
            Err(&format!("{rounds} the text `\"7\"`")),
        );
        json("MaxRounds", &json!(null), Err(&format!("{rounds} `null`")));
        json("MaxRounds", &json!([7]), Err(&format!("{rounds} a list")));
        json(
            "InboxDir",
            &json!(7),
            Err("must be the name of a directory, not `7`"),
        );
        json(
            "Commands",
            &json!(false),
            Err("must be `off` or `run`, not `false`"),
        );
    }

    #[test]
    fn refuses_what_is_no_directory() {
        text(
            "InboxDir",
            " ",
            Err("must name a directory, not an empty text"),
        );
        text(
            "InboxDir",
            "~/in",
            Err("must name a directory, written in full: `~` means nothing here"),
        );
        text(
            "InboxDir",
            "a\u{1b}[2J",
            Err("must name a directory, without control characters"),
        );
        assert!(
            Key::named("InboxDir")
                .unwrap()
                .shape
                .read_text(&"x".repeat(5000))
                .is_err()
        );
        text("InboxDir", "~backup", Ok("~backup"));
    }

    #[test]
    fn a_hostile_value_is_shown_short_and_escaped() {
        let error = Key::named("MaxRounds")
            .unwrap()
            .shape
            .read_text(&format!("\u{1b}[31m{}", "x".repeat(100_000)))
            .unwrap_err();
        assert!(error.len() < 200 && !error.contains('\u{1b}'), "{error}");
    }
}
