//! Settings from the environment: `Agent__MaxRounds=5`, in any letter case.
//!
//! Figment's own provider lower-cases the keys and guesses the types, so that a directory named
//! `123456` would become a number. Here the key decides how its text is read.

use std::collections::BTreeMap;

use super::keys::Key;
use super::layer::Layer;
use super::origin::Origin;
use super::suggestion::shown;
use crate::error::{Error, Result};

const PREFIX: &str = "Agent__";

/// The environment of this process, for `load`.
///
/// Variables that are not Unicode get replacement characters. `std::env::vars` would panic over
/// them, even if they have nothing to do with us.
pub fn process_environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().map(|(name, value)| {
        (
            name.to_string_lossy().into_owned(),
            value.to_string_lossy().into_owned(),
        )
    })
}

/// One layer a variable, so that each knows where it came from.
pub(super) fn layers(environment: impl Iterator<Item = (String, String)>) -> Result<Vec<Layer>> {
    let mut found: BTreeMap<&'static str, (String, String)> = BTreeMap::new();
    let mut layers = Vec::new();
    for (variable, text) in environment {
        let Some(name) = setting_name(&variable) else {
            continue;
        };
        let key = Key::named_in_any_case(name).ok_or_else(|| unknown(&variable, name))?;
        let value = key.shape.read_text(&text).map_err(|problem| {
            Error::mendable(format!(
                "the environment variable `{}` {problem}",
                shown(&variable)
            ))
            .hint(key.explained())
        })?;
        // Both spellings can stand side by side on Unix, in no order that a person could know.
        if let Some((other, other_text)) = found.get(key.name) {
            if *other_text != text {
                return Err(contradiction(other, &variable));
            }
            continue;
        }
        found.insert(key.name, (variable.clone(), text));
        layers.push(Layer {
            origin: Origin::Environment(variable),
            values: vec![(key, value)],
        });
    }
    Ok(layers)
}

fn setting_name(variable: &str) -> Option<&str> {
    let (prefix, name) = variable.split_at_checked(PREFIX.len())?;
    prefix.eq_ignore_ascii_case(PREFIX).then_some(name)
}

fn unknown(variable: &str, name: &str) -> Error {
    Error::mendable(format!(
        "the environment variable `{}` names no setting",
        shown(variable)
    ))
    .hint(Key::suggestion(name, PREFIX))
}

fn contradiction(one: &str, other: &str) -> Error {
    Error::mendable(format!(
        "the environment variables `{one}` and `{other}` set the same thing differently"
    ))
    .hint(format!("unset one of them: `unset {one}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Vec<Layer>> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        layers(variables.iter().map(owned))
    }

    #[track_caller]
    fn refused(variables: &[(&str, &str)], message: &str, hint: Option<&str>) {
        let error = read(variables).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(error.hints().first().map(String::as_str), hint);
    }

    #[test]
    fn letter_case_does_not_matter() {
        for variable in ["Agent__MaxRounds", "AGENT__MAXROUNDS", "agent__maxrounds"] {
            let layers = read(&[(variable, "7")]).unwrap();
            assert_eq!(layers[0].origin, Origin::Environment(variable.to_owned()));
            assert_eq!(layers[0].values[0].1.to_string(), "7");
        }
    }

    #[test]
    fn other_variables_are_left_alone() {
        let others = [
            ("PATH", "/bin"),
            ("AGENT_MAXROUNDS", "x"),
            ("AGENT", "x"),
            ("Agént__", "x"),
        ];
        assert!(read(&others).unwrap().is_empty());
    }

    #[test]
    fn a_wrong_value_names_the_variable() {
        refused(
            &[("AGENT__MaxRounds", "abc")],
            "the environment variable `AGENT__MaxRounds` must be a whole number from 1 to 10000, \
             not `abc`",
            Some("`agent help settings MaxRounds` explains it"),
        );
    }

    #[test]
    fn an_unknown_key_names_the_variable_and_the_nearest_key() {
        refused(
            &[("Agent__MaxRound", "3")],
            "the environment variable `Agent__MaxRound` names no setting",
            Some("did you mean `Agent__MaxRounds`?"),
        );
        refused(
            &[("Agent__Max__Rounds", "3")],
            "the environment variable `Agent__Max__Rounds` names no setting",
            Some("did you mean `Agent__MaxRounds`?"),
        );
        refused(
            &[("Agent__Brightness", "3")],
            "the environment variable `Agent__Brightness` names no setting",
            Some(&Key::suggestion("Brightness", "")),
        );
    }

    #[test]
    fn two_spellings_must_agree() {
        let same = [("Agent__MaxRounds", "3"), ("AGENT__MAXROUNDS", "3")];
        assert_eq!(read(&same).unwrap().len(), 1);
        refused(
            &[("Agent__MaxRounds", "3"), ("AGENT__MAXROUNDS", "4")],
            "the environment variables `Agent__MaxRounds` and `AGENT__MAXROUNDS` set the same \
             thing differently",
            Some("unset one of them: `unset Agent__MaxRounds`"),
        );
    }
}
