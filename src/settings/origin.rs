//! Where a value came from, and how figment carries that through the layers.

use std::fmt;
use std::path::PathBuf;

use figment::{Metadata, Source};

use super::keys::Key;

const DEFAULT: &str = "default";
const FILE: &str = "file";
const PERSON: &str = "person";
const ENVIRONMENT: &str = "environment";
const FLAG: &str = "flag";
const SESSION: &str = "session";

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The person's own settings file.
    Person(PathBuf),
    /// This settings file, of a base directory.
    File(PathBuf),
    /// This variable, in the spelling that it has there.
    Environment(String),
    /// This flag of the command line, with its dashes.
    Flag(&'static str),
    /// A flag that the session was given earlier, where it is stricter.
    Session,
}

impl Origin {
    /// Describes a layer to figment.
    pub(super) fn metadata(&self) -> Metadata {
        match self {
            Self::Default => Metadata::named(DEFAULT),
            Self::Person(path) => Metadata::from(PERSON, Source::File(path.clone())),
            Self::File(path) => Metadata::from(FILE, Source::File(path.clone())),
            Self::Environment(variable) => {
                Metadata::from(ENVIRONMENT, Source::Custom(variable.clone()))
            }
            Self::Flag(flag) => Metadata::from(FLAG, Source::Custom((*flag).to_owned())),
            Self::Session => Metadata::named(SESSION),
        }
    }

    /// Reads the origin of this key's value back from figment.
    pub(super) fn of(key: &Key, metadata: Option<&Metadata>) -> Self {
        let Some(metadata) = metadata else {
            return Self::Default;
        };
        match (metadata.name.as_ref(), &metadata.source) {
            (PERSON, Some(Source::File(path))) => Self::Person(path.clone()),
            (FILE, Some(Source::File(path))) => Self::File(path.clone()),
            (ENVIRONMENT, Some(Source::Custom(variable))) => Self::Environment(variable.clone()),
            (FLAG, _) => Self::Flag(key.flag),
            (SESSION, _) => Self::Session,
            _ => Self::Default,
        }
    }
}

/// In words that stand after "in": ``the environment variable `Agent__MaxRounds` ``.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("the defaults"),
            Self::Person(path) | Self::File(path) => write!(f, "`{}`", path.display()),
            Self::Environment(variable) => write!(f, "the environment variable `{variable}`"),
            Self::Flag(flag) => write!(f, "the flag `{flag}`"),
            Self::Session => f.write_str("the session"),
        }
    }
}
