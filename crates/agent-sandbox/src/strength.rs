//! The result of testing a sandbox.

use serde::{Deserialize, Serialize};

use super::{Backend, CommandUser};

agent_protocol::words! {
    /// A property that a sandbox is tested for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum PropertyName {
        /// The home directory is hidden.
        Home = "home",
        /// Files outside of the workspace cannot be changed.
        Files = "files",
        /// Git directories and editor settings cannot be changed.
        Repository = "repository",
        /// The network cannot be reached.
        Network = "network",
        /// Other processes cannot be seen.
        Processes = "processes",
        /// Other processes cannot be signalled.
        Signals = "signals",
        /// Commands have no privileges and cannot get any.
        Privileges = "privileges",
        /// Dangerous system calls are refused.
        Calls = "calls",
        /// The kernel's settings cannot be changed.
        Kernel = "kernel",
        /// Commands do not run as the kernel's root.
        User = "user",
        /// Files that only root may read are hidden.
        System = "system",
        /// Resources are limited.
        Limits = "limits",
        /// No process outlives its command.
        Survival = "survival",
    }
}

impl PropertyName {
    /// One line for the person: what holds, or what a command can do where it does not.
    pub fn sentence(self, holds: bool) -> &'static str {
        let (good, bad) = match self {
            Self::Home => (
                "your home directory is hidden, except installed tools",
                "commands can read your home directory",
            ),
            Self::Files => (
                "files outside of the workspace cannot be changed",
                "commands can change files outside of the workspace",
            ),
            Self::Repository => (
                "`.git`, editor settings and our own state cannot be changed",
                "commands can change `.git` and editor settings",
            ),
            Self::Network => (
                "the network cannot be reached",
                "commands can use the network",
            ),
            Self::Processes => (
                "other processes cannot be seen",
                "commands can see other processes",
            ),
            Self::Signals => (
                "other processes cannot be stopped or ended",
                "commands can signal other processes",
            ),
            Self::Privileges => (
                "commands have no privileges and cannot get any",
                "commands may get privileges",
            ),
            Self::Calls => (
                "dangerous system calls are refused",
                "system calls are not filtered",
            ),
            Self::Kernel => (
                "the kernel's settings cannot be changed",
                "commands can change settings of the kernel",
            ),
            Self::User => (
                "commands do not run as root",
                "commands run as root, though without its privileges",
            ),
            Self::System => (
                "files in /etc that only root may read are hidden",
                "commands can read files in /etc that only root may read",
            ),
            Self::Limits => (
                "processes, memory, file size and open files are limited",
                "the number of processes is not limited",
            ),
            Self::Survival => (
                "no process outlives its command",
                "processes can outlive their command",
            ),
        };
        if holds { good } else { bad }
    }
}

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
        if self.holds(PropertyName::User) {
            CommandUser::Ordinary
        } else {
            CommandUser::Root
        }
    }

    /// True if the property of this name holds.
    pub fn holds(&self, name: PropertyName) -> bool {
        self.properties
            .iter()
            .any(|property| property.name == name && property.holds)
    }
}

/// A tested property of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Property {
    /// Its name.
    pub name: PropertyName,
    /// True if it held in the test.
    pub holds: bool,
}
