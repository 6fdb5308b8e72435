//! What a sandbox was found to hold.

use serde::{Deserialize, Serialize};

use super::{Backend, CommandUser};

/// The property that commands are not run as the kernel's root.
pub(super) const USER: &str = "user";

/// What a sandbox holds on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strength {
    /// The strongest that works, if any does.
    pub backend: Option<Backend>,
    /// Each property and whether it holds, for that one.
    pub properties: Vec<Property>,
    /// Why stronger ones do not work.
    pub reasons: Vec<String>,
}

impl Strength {
    /// Whether there is a sandbox and all that was tried holds.
    pub fn is_whole(&self) -> bool {
        self.backend.is_some() && self.properties.iter().all(|property| property.holds)
    }

    /// Whom the kernel takes commands for.
    pub fn user(&self) -> CommandUser {
        if self.holds(USER) {
            CommandUser::Ordinary
        } else {
            CommandUser::Root
        }
    }

    /// Whether the property of this name holds.
    pub fn holds(&self, name: &str) -> bool {
        self.properties
            .iter()
            .any(|property| property.name == name && property.holds)
    }
}

/// Something that a sandbox should do, and whether it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Property {
    /// A short name: `home`, `files`, `repository`, `network`, `processes`, `signals`,
    /// `privileges`, `calls`, `kernel`, `user`, `system`, `limits` or `survival`.
    pub name: String,
    /// Whether it held when it was tried.
    pub holds: bool,
    /// One line for the person.
    pub words: String,
}
