//! Any text is a script: the rules judge it, explain it and propose rules for it.

use std::path::Path;

use agent_policy::{CommandConfinement, Decision, Dialect, MAX_BYTES, Policy, Strictness};
use agent_protocol::Command;

/// Any text as a script, for both shells.
pub fn check(bytes: &[u8]) {
    let script = String::from_utf8_lossy(bytes);
    for dialect in [Dialect::Posix, Dialect::PowerShell] {
        check_script(&script, dialect);
    }
}

fn check_script(script: &str, dialect: Dialect) {
    let mut policy = Policy::new(Path::new("/home/me/work"), Some(Path::new("/home/me")));
    policy.confinement = CommandConfinement::Sandboxed;
    policy.dialect = dialect;
    let command = Command::RunCommand {
        script: script.to_owned(),
        timeout: None,
    };
    let decision = policy.rule_on(&command).decision;
    let rulings = policy.explain(script);
    assert_eq!(decision, rulings[0].decision, "the first rule decides");
    assert!(script.len() <= MAX_BYTES || decision == Decision::Deny);
    let table = policy.table();
    for ruling in &rulings {
        assert!(table.iter().any(|row| row.rule == ruling.rule), "{ruling:?}");
    }
    policy.propose(script);
    policy.strictness = Strictness::Strict;
    let strict = policy.rule_on(&command).decision;
    assert!(strict >= decision, "the strict policy is no milder");
}
