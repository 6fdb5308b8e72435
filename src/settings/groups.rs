//! The settings by topic, as the help and the page show them.
//!
//! Every key is in exactly one group; a test holds that.

use super::keys::Key;

/// Settings that belong together.
#[derive(Debug)]
pub struct Group {
    /// The subject of the group.
    pub title: &'static str,
    names: &'static [&'static str],
}

/// All groups, in the order in which people need them.
pub static GROUPS: &[Group] = &[
    Group {
        title: "Folders",
        names: &["WorkspaceDir", "InboxDir", "OutboxDir", "SessionsDir"],
    },
    Group {
        title: "What the model may do",
        names: &[
            "Approval",
            "Commands",
            "Sandbox",
            "SandboxBackend",
            "Runner",
            "Shell",
            "Network",
            "Grants",
            "Policy",
            "Allow",
            "Ask",
            "Deny",
            "ExtraReadPaths",
            "ExtraWritePaths",
            "OnFailure",
        ],
    },
    Group {
        title: "Messages and replies",
        names: &[
            "Chat",
            "Clipboard",
            "Notify",
            "Attach",
            "KeepsContext",
            "MaxParts",
            "MaxOutboxChars",
            "MaxOutboxTokens",
            "Secrets",
            "AllowSecrets",
        ],
    },
    Group {
        title: "The API",
        names: &[
            "Api",
            "Model",
            "ApiUrl",
            "ApiKeyCommand",
            "ApiPrice",
            "ApiWindow",
            "Temperature",
            "Reasoning",
            "MaxCost",
            "MaxTokens",
        ],
    },
    Group {
        title: "The end of the work",
        names: &[
            "CheckCommand",
            "CheckTimeoutSeconds",
            "StopWhenCheckPasses",
            "MaxRounds",
        ],
    },
    Group {
        title: "What the model is shown at once",
        names: &[
            "MaxOutputLength",
            "MaxReadLines",
            "MaxListItems",
            "MaxSearchResults",
        ],
    },
    Group {
        title: "Limits of commands and files",
        names: &[
            "CommandTimeoutSeconds",
            "MaxCommandTimeoutSeconds",
            "MaxProcesses",
            "MaxMemoryMegabytes",
            "MaxWrittenMegabytes",
            "MaxOpenFiles",
            "MaxCpuSeconds",
            "MaxCpus",
            "MaxFileBytes",
            "MaxUndoFileBytes",
            "MaxUndoMegabytes",
        ],
    },
];

impl Group {
    /// Its settings.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> {
        self.names.iter().filter_map(|name| Key::named(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::KEYS;

    #[test]
    fn every_setting_is_in_exactly_one_group() {
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|group| group.names)
            .copied()
            .collect();
        let mut all: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }
}
