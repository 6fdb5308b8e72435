//! The person's choices by flag for one session, so that a later call need not repeat them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Values of settings by their names, as they stood on the command line.
///
/// The code that reads the command line decides which settings may be chosen for a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Choices(BTreeMap<String, String>);

impl Choices {
    /// The chosen value of a setting.
    pub fn get(&self, setting: &str) -> Option<&str> {
        self.0.get(setting).map(String::as_str)
    }

    /// Chooses a value.
    pub fn set(&mut self, setting: &str, value: &str) {
        self.0.insert(setting.to_owned(), value.to_owned());
    }

    /// True if nothing was chosen.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The settings and their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.0.iter();
        pairs.map(|(setting, value)| (setting.as_str(), value.as_str()))
    }
}
