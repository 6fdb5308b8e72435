//! Settings with a few values, and lists, as types: read once, here.
//!
//! Each value has a word, by which flags, the environment and files name it; the table `KEYS` takes its
//! words and their order from here. A list is one text in the layers, and comes out as its items.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::chat::Chat;
use super::value::PATH_SEPARATOR;
use crate::api::{Provider, TokenPrice};
use crate::policy::{Grant, Rule, RuleProblem};
use crate::protocol::{ShellLanguage, words};
use crate::sandbox::Backend;

words! {
    /// The right of the model to run commands; the strictest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Commands {
        /// They are refused; the model only works on files.
        Off = "off",
        /// They run.
        Run = "run",
    }

    /// On or off.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Switch {
        /// It is not.
        Off = "off",
        /// It is so.
        On = "on",
    }

    /// The fate of secrets in messages; the strictest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Secrets {
        /// Placeholders stand for them.
        On = "on",
        /// They are sent as they are.
        Off = "off",
    }

    /// The sandbox to use; the strictest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum BackendChoice {
        /// Our own namespaces, or none.
        Namespaces = "namespaces",
        /// The strongest that works here.
        Auto = "auto",
        /// Bubblewrap, or none.
        Bubblewrap = "bubblewrap",
        /// Landlock, or none.
        Landlock = "landlock",
    }
}

impl BackendChoice {
    /// The only one to use, if one is named.
    pub fn only(self) -> Option<Backend> {
        match self {
            Self::Auto => None,
            Self::Namespaces => Some(Backend::Namespaces),
            Self::Bubblewrap => Some(Backend::Bubblewrap),
            Self::Landlock => Some(Backend::Landlock),
        }
    }
}

words! {
    /// The shell that runs commands.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ShellChoice {
        /// The best that is installed.
        Auto = "auto",
        /// GNU bash; on Windows that of Git.
        Bash = "bash",
        /// The system's `sh`.
        Sh = "sh",
        /// PowerShell 7.
        Pwsh = "pwsh",
        /// Windows PowerShell 5.1.
        PowerShell = "powershell",
        /// The command prompt of Windows.
        Cmd = "cmd",
    }
}

impl ShellChoice {
    /// The only one to use, if one is named.
    pub fn only(self) -> Option<ShellLanguage> {
        match self {
            Self::Auto => None,
            Self::Bash => Some(ShellLanguage::Bash),
            Self::Sh => Some(ShellLanguage::Sh),
            Self::Pwsh => Some(ShellLanguage::Pwsh),
            Self::PowerShell => Some(ShellLanguage::PowerShell),
            Self::Cmd => Some(ShellLanguage::Cmd),
        }
    }
}

words! {
    /// The use of the clipboard; the strictest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ClipboardUse {
        /// It is not used.
        Off = "off",
        /// Messages go there.
        Out = "out",
        /// Messages go there, and replies come from there.
        Auto = "auto",
    }

    /// The way to tell a person that it is their turn; the strictest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum NotifyBy {
        /// The lines on the terminal alone.
        Off = "off",
        /// The terminal's bell.
        Bell = "bell",
        /// A notification of the desktop or the terminal.
        Desktop = "desktop",
    }
}

/// The words of the setting `Api`: the providers, and `off` before them.
pub(super) const PROVIDERS: &[&str] = &{
    let mut words = ["off"; Provider::NAMES.len() + 1];
    let mut at = 0;
    while at < Provider::NAMES.len() {
        words[at + 1] = Provider::NAMES[at];
        at += 1;
    }
    words
};

words! {
    /// How much the model thinks before it answers.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Reasoning {
        /// As it likes.
        Auto = "auto",
        /// Not at all, where it can be switched off.
        Off = "off",
        /// A little.
        Low = "low",
        /// Moderately.
        Medium = "medium",
        /// Thoroughly.
        High = "high",
    }
}

/// Permissions, separated by commas.
pub(super) mod grants {
    use super::{Deserialize as _, Deserializer, Grant, Serializer};
    use serde::de::Error as _;

    pub(crate) fn serialize<S: Serializer>(grants: &[Grant], out: S) -> Result<S::Ok, S::Error> {
        let words: Vec<&str> = grants.iter().map(|grant| grant.word()).collect();
        out.serialize_str(&words.join(","))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Grant>, D::Error> {
        let text = String::deserialize(from)?;
        let words = text.split(',').filter(|word| !word.is_empty());
        words
            .map(|word| word.parse().map_err(D::Error::custom))
            .collect()
    }
}

/// Rules, separated by commas.
pub(super) mod rules {
    use super::{Deserialize as _, Deserializer, Rule, Serializer, rules_in};
    use serde::de::Error as _;

    pub(crate) fn serialize<S: Serializer>(rules: &[Rule], out: S) -> Result<S::Ok, S::Error> {
        let texts: Vec<String> = rules.iter().map(Rule::text).collect();
        out.serialize_str(&texts.join(","))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Rule>, D::Error> {
        let text = String::deserialize(from)?;
        rules_in(&text).map_err(|(_, problem)| D::Error::custom(problem))
    }
}

/// The rules in a list; else the text that is none, and why.
pub(super) fn rules_in(list: &str) -> Result<Vec<Rule>, (&str, RuleProblem)> {
    let texts = list
        .split(',')
        .map(str::trim)
        .filter(|text| !text.is_empty());
    let rules = texts.map(|text| Rule::parse(text).map_err(|problem| (text, problem)));
    rules.collect()
}

/// Paths, separated as in `PATH`.
pub(super) mod paths {
    use super::{Deserialize as _, Deserializer, PATH_SEPARATOR, PathBuf, Serializer};

    pub(crate) fn serialize<S: Serializer>(paths: &[PathBuf], out: S) -> Result<S::Ok, S::Error> {
        let texts: Vec<String> = (paths.iter())
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        out.serialize_str(&texts.join(PATH_SEPARATOR))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let text = String::deserialize(from)?;
        let paths = text.split(PATH_SEPARATOR).filter(|path| !path.is_empty());
        Ok(paths.map(PathBuf::from).collect())
    }
}

/// The provider whose API is asked; none if a person carries the messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChosenProvider(pub Option<&'static Provider>);

impl Serialize for ChosenProvider {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.0.map_or(PROVIDERS[0], |provider| &provider.name))
    }
}

impl<'de> Deserialize<'de> for ChosenProvider {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        if name == PROVIDERS[0] {
            return Ok(Self(None));
        }
        match Provider::named(&name) {
            Some(provider) => Ok(Self(Some(provider))),
            None => Err(serde::de::Error::custom("there is no such provider")),
        }
    }
}

/// The temperature of sampling, from 0 to 2; none for the model's own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SamplingTemperature(pub Option<f64>);

impl FromStr for SamplingTemperature {
    type Err = Misfit;

    fn from_str(text: &str) -> Result<Self, Misfit> {
        if text.trim().is_empty() {
            return Ok(Self(None));
        }
        let number = text.trim().parse().ok();
        match number.filter(|number| (0.0..=2.0).contains(number)) {
            Some(number) => Ok(Self(Some(number))),
            None => Err(Misfit),
        }
    }
}

impl fmt::Display for SamplingTemperature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(number) => write!(f, "{number}"),
            None => Ok(()),
        }
    }
}

/// The price of tokens that the person gave; none for the one that is known of the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChosenPrice(pub Option<TokenPrice>);

impl FromStr for ChosenPrice {
    type Err = Misfit;

    fn from_str(text: &str) -> Result<Self, Misfit> {
        if text.trim().is_empty() {
            return Ok(Self(None));
        }
        let price = TokenPrice::parse(text).ok_or(Misfit)?;
        Ok(Self(Some(price)))
    }
}

impl fmt::Display for ChosenPrice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(price) = &self.0 else {
            return Ok(());
        };
        write!(f, "{}/{}", price.input, price.output)?;
        match price.cached {
            Some(cached) => write!(f, "/{cached}"),
            None => Ok(()),
        }
    }
}

/// A text is no value of its type; its shape says what would be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the value does not fit its setting")]
pub struct Misfit;

macro_rules! as_text {
    ($($type:ty),+) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                out.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = String::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}

as_text!(SamplingTemperature, ChosenPrice);

/// A chat by its name.
pub(super) mod chat {
    use super::{Chat, Deserialize as _, Deserializer, Serializer};
    use serde::de::Error as _;

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde hands over a reference"
    )]
    pub(crate) fn serialize<S: Serializer>(
        chat: &&'static Chat,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        out.serialize_str(&chat.name)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<&'static Chat, D::Error> {
        let name = String::deserialize(from)?;
        Chat::named(&name).ok_or_else(|| D::Error::custom(format!("no chat is called `{name}`")))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::keys::KEYS;
    use super::super::value::Shape;
    use super::super::{Settings, extract};
    use super::*;

    /// Every word that the table offers is a value of the type, and comes out as it was written.
    #[test]
    fn the_types_have_the_words_of_the_table() {
        let defaults = serde_json::to_value(Settings::default()).unwrap();
        for key in KEYS {
            let Shape::Choice(words) = key.shape else {
                continue;
            };
            for word in words {
                let mut values: BTreeMap<String, serde_json::Value> =
                    serde_json::from_value(defaults.clone()).unwrap();
                values.insert(key.name.to_owned(), (*word).into());
                let figment =
                    figment::Figment::from(figment::providers::Serialized::defaults(&values));
                let settings = extract(&figment).unwrap();
                let written = serde_json::to_value(&settings).unwrap();
                assert_eq!(written[key.name], *word, "{}", key.name);
            }
        }
    }

    #[test]
    fn lists_come_out_as_they_were_written() {
        let mut values = serde_json::to_value(Settings::default()).unwrap();
        values["Grants"] = "git-write,network".into();
        let two = format!("/a{PATH_SEPARATOR}/b c");
        values["ExtraReadPaths"] = two.clone().into();
        let settings: Settings = serde_json::from_value(values.clone()).unwrap();
        assert_eq!(settings.grants, [Grant::GitWrite, Grant::Network]);
        assert_eq!(
            settings.extra_read_paths,
            [PathBuf::from("/a"), PathBuf::from("/b c")]
        );
        assert_eq!(serde_json::to_value(&settings).unwrap(), values);
        values["Grants"] = "everything".into();
        assert!(serde_json::from_value::<Settings>(values).is_err());
    }
}
