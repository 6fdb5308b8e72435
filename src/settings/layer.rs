//! One source of settings: values that are checked already, and where they came from.
//!
//! Every entry of a layer has a known key and a value that fits it; who makes a layer has told the
//! person about everything else. Figment puts the layers on top of each other.

use std::borrow::Cow;
use std::path::PathBuf;

use figment::value::{Dict, Map};
use figment::{Metadata, Profile, Provider};

use super::keys::{KEYS, Key};
use super::origin::Origin;
use super::value::{Shape, Value};
use crate::error::{Error, ExitKind, Result};

/// The values of one source.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    pub(super) origin: Origin,
    pub(super) values: Vec<(&'static Key, Value)>,
}

impl Layer {
    /// The layer of the defaults.
    pub(super) fn defaults() -> Self {
        Self {
            origin: Origin::Default,
            values: KEYS.iter().map(|key| (key, key.default.clone())).collect(),
        }
    }

    /// The value that it sets for a key.
    pub(super) fn value_of(&self, key: &Key) -> Option<&Value> {
        let mut values = self.values.iter().rev();
        values.find_map(|(set, value)| (set.name == key.name).then_some(value))
    }

    pub(super) fn sets(&self, key: &Key) -> bool {
        self.values.iter().any(|(set, _)| set.name == key.name)
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        self.origin.metadata()
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        let mut dict = Dict::new();
        for (key, value) in &self.values {
            let value = match value {
                Value::Text(text) => figment::value::Value::from(text.as_ref()),
                Value::Number(number) => figment::value::Value::from(*number),
            };
            dict.insert(key.name.to_owned(), value);
        }
        Ok(Profile::Default.collect(dict))
    }
}

/// The values that the command line sets.
///
/// A relative directory counts from where the person stands, not from the base directory as it
/// does in the file.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    current_directory: PathBuf,
    values: Vec<(String, String)>,
    kept: Vec<(String, String)>,
    began_with: Vec<(String, String)>,
}

impl Overrides {
    /// No flags yet, given in this directory.
    pub fn given_in(current_directory: impl Into<PathBuf>) -> Self {
        Self {
            current_directory: current_directory.into(),
            values: Vec::new(),
            kept: Vec::new(),
            began_with: Vec::new(),
        }
    }

    /// Adds a flag that the session was given earlier. It counts where it is stricter than the
    /// settings and no flag given now says otherwise.
    #[must_use]
    pub fn keeping(mut self, flag: &str, value: &str) -> Self {
        self.kept.push((flag.to_owned(), value.to_owned()));
        self
    }

    /// Holds a setting to what was in force when the session began, where that is stricter than the
    /// settings and no flag of now says otherwise.
    #[must_use]
    pub fn beginning_with(mut self, flag: &str, value: &str) -> Self {
        self.began_with.push((flag.to_owned(), value.to_owned()));
        self
    }

    /// Adds this flag (`--max-rounds`), if it was given.
    #[must_use]
    pub fn with(mut self, flag: &str, value: Option<impl ToString>) -> Self {
        if let Some(value) = value {
            self.values.push((flag.to_owned(), value.to_string()));
        }
        self
    }

    /// One layer a flag, so that each knows where it came from.
    pub(super) fn layers(&self) -> Result<Vec<Layer>> {
        self.values
            .iter()
            .map(|(flag, text)| self.layer(flag, text))
            .collect()
    }

    /// The values that the session was given earlier.
    pub(super) fn kept(&self) -> Result<Vec<(&'static Key, Value)>> {
        self.values_of(&self.kept)
    }

    /// The values that were in force when the session began.
    pub(super) fn began_with(&self) -> Result<Vec<(&'static Key, Value)>> {
        self.values_of(&self.began_with)
    }

    fn values_of(&self, flags: &[(String, String)]) -> Result<Vec<(&'static Key, Value)>> {
        let layers = flags.iter().map(|(flag, text)| self.layer(flag, text));
        let values = layers.map(|layer| Ok(layer?.values));
        let values: Result<Vec<_>> = values.collect();
        Ok(values?.into_iter().flatten().collect())
    }

    fn layer(&self, flag: &str, text: &str) -> Result<Layer> {
        let key = KEYS.iter().find(|key| key.flag == flag).ok_or_else(|| {
            Error::new(
                ExitKind::Defect,
                format!("no setting has the flag `{flag}`"),
            )
        })?;
        let mut value = key.shape.read_text(text).map_err(|problem| {
            Error::usage(format!("the value of `{flag}` {problem}")).hint(key.explained())
        })?;
        if let (Shape::Directory, Value::Text(text)) = (&key.shape, &mut value) {
            let place = self.current_directory.join(text.as_ref());
            *text = place
                .into_os_string()
                .into_string()
                .map(Cow::Owned)
                .map_err(|place| {
                    Error::usage(format!(
                        "the path `{}` is not UTF-8",
                        place.to_string_lossy()
                    ))
                })?;
        }
        Ok(Layer {
            origin: Origin::Flag(key.flag),
            values: vec![(key, value)],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_that_does_not_fit_is_wrong_usage() {
        let flags = Overrides::default().with("--max-rounds", Some("many"));
        let error = flags.layers().unwrap_err();
        assert_eq!(error.kind(), ExitKind::Usage);
        assert_eq!(
            error.to_string(),
            "the value of `--max-rounds` must be a whole number from 1 to 10000, not `many`"
        );
    }

    #[test]
    fn a_directory_on_the_command_line_counts_from_where_the_person_stands() {
        let flags = Overrides::given_in("/here").with("--workspace", Some("there"));
        let layers = flags.layers().unwrap();
        let place = PathBuf::from("/here").join("there");
        assert_eq!(layers[0].values[0].1.to_string(), place.to_str().unwrap());
    }

    #[test]
    fn a_flag_that_was_not_given_sets_nothing() {
        let flags = Overrides::default().with("--max-rounds", None::<u32>);
        assert!(flags.layers().unwrap().is_empty());
    }
}
