//! The result of testing a sandbox.

use serde::{Deserialize, Serialize};

use super::{Backend, CommandUser};

/// Name of the property that commands do not run as the kernel's root.
pub(super) const USER: &str = "user";

/// The properties that a sandbox enforces on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strength {
    /// The strongest backend that works, if any.
    pub backend: Option<Backend>,
    /// The tested properties of that backend.
    pub properties: Vec<Property>,
    /// The reasons why stronger backends do not work.
    pub reasons: Vec<String>,
}

impl Strength {
    /// True if there is a sandbox and all tested properties hold.
    pub fn is_whole(&self) -> bool {
        self.backend.is_some() && self.properties.iter().all(|property| property.holds)
    }

    /// The user that the kernel sees when a command runs.
    pub fn user(&self) -> CommandUser {
        if self.holds(USER) {
            CommandUser::Ordinary
        } else {
            CommandUser::Root
        }
    }

    /// True if the property of this name holds.
    pub fn holds(&self, name: &str) -> bool {
        self.properties
            .iter()
            .any(|property| property.name == name && property.holds)
    }
}

/// A tested property of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Property {
    /// A short name: `home`, `files`, `repository`, `network`, `processes`, `signals`,
    /// `privileges`, `calls`, `kernel`, `user`, `system`, `limits` or `survival`.
    pub name: String,
    /// True if it held in the test.
    pub holds: bool,
    /// One line for the person.
    pub words: String,
}
