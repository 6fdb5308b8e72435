//! Rules on every step of a kind, which follow from the approval mode and the sandbox.

use super::{Approval, CommandConfinement, Decision, Grant};

/// A rule on every step of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StandingRule {
    pub decision: Decision,
    /// The rule as `agent policy` prints it.
    pub rule: &'static str,
    /// The reason, for the person and the model.
    pub why: &'static str,
}

/// Steps that change nothing.
pub(super) const ON_READING: StandingRule = StandingRule {
    decision: Decision::Allow,
    rule: "reading, listing, searching, plans, messages and questions",
    why: "it changes nothing",
};

/// Files of `agent` itself in the workspace under other names than `.agent`.
pub(super) const OWN_PATHS: StandingRule = StandingRule {
    decision: Decision::Deny,
    rule: "reading or changing the settings and records of `agent` itself",
    why: "it belongs to `agent` itself and is hidden",
};

/// Files that git runs or reads although they lie outside of `.git`.
pub(super) const OBEYED_BY_GIT: StandingRule = StandingRule {
    decision: Decision::Ask,
    rule: "changing files that `core.hooksPath`, `include.path` or `core.attributesFile` of git's configuration name",
    why: "git runs or obeys it the next time the person uses git here",
};

const PLAN: StandingRule = StandingRule {
    decision: Decision::Deny,
    rule: "in plan mode, every change and every command",
    why: "plan mode is on, so only steps that read are executed; send a PLAN and wait for the person to approve it",
};

/// The rule on steps that change files.
pub(super) fn on_changes(approval: Approval) -> StandingRule {
    match approval {
        Approval::Plan => PLAN,
        Approval::Ask => StandingRule {
            decision: Decision::Ask,
            rule: "with `--approval ask`, every file change",
            why: "because of `--approval ask`",
        },
        Approval::Auto | Approval::Edits => StandingRule {
            decision: Decision::Allow,
            rule: "changing files in the workspace",
            why: "it stays in the workspace and can be undone",
        },
    }
}

/// The rules on commands; never empty.
pub(super) fn on_commands(
    approval: Approval,
    confinement: CommandConfinement,
) -> Vec<StandingRule> {
    let mode = match approval {
        Approval::Plan => Some(PLAN),
        Approval::Ask => Some(StandingRule {
            decision: Decision::Ask,
            rule: "with `--approval ask`, every command",
            why: "because of `--approval ask`",
        }),
        Approval::Edits => Some(StandingRule {
            decision: Decision::Ask,
            rule: "with `--approval edits`, every command",
            why: "because of `--approval edits`",
        }),
        Approval::Auto => None,
    };
    let sandbox = match confinement {
        CommandConfinement::Required => Some(StandingRule {
            decision: Decision::Deny,
            rule: "every command, since a sandbox is required and this machine has none",
            why: "the settings require a sandbox and this machine has none; `agent doctor` says what is missing",
        }),
        CommandConfinement::Missing => Some(StandingRule {
            decision: Decision::Ask,
            rule: "every command, one by one, since this machine has no sandbox",
            why: "it would run without a sandbox, with all of the person's rights",
        }),
        CommandConfinement::RecordsExposed => Some(StandingRule {
            decision: Decision::Ask,
            rule: "every command, one by one, since this sandbox cannot hide the records of `agent` in the workspace",
            why: "the sandbox of this machine cannot keep commands away from the records of `agent` in the workspace, which include approvals",
        }),
        CommandConfinement::SwitchedOff => Some(StandingRule {
            decision: Decision::Ask,
            rule: "every command, since the sandbox is switched off",
            why: "it would run without a sandbox, with all of the person's rights",
        }),
        CommandConfinement::Sandboxed if mode.is_none() => Some(StandingRule {
            decision: Decision::Allow,
            rule: "commands in the sandbox",
            why: "the sandbox confines it to the workspace",
        }),
        CommandConfinement::Sandboxed => None,
    };
    mode.into_iter().chain(sandbox).collect()
}

/// The rule on network access of commands.
pub(super) fn on_network(grants: &[Grant]) -> StandingRule {
    if grants.contains(&Grant::Network) {
        StandingRule {
            decision: Decision::Allow,
            rule: "network access in commands",
            why: "the person granted it",
        }
    } else {
        StandingRule {
            decision: Decision::Deny,
            rule: "network access in commands, without the grant `network`",
            why: "the sandbox has no network; the person can allow it with `--grant network`",
        }
    }
}

/// The reason given for a rule that somebody wrote.
pub(super) fn why_written(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "it is allowed by a rule",
        Decision::Ask => "a rule says to ask",
        Decision::Deny => "a rule refuses it",
    }
}
