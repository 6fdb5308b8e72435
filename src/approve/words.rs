//! A question in words: what it is about, why it is asked, what it may do.

use std::time::Duration;

use agent_files::line_diff::{DiffNames, LineDiff};

use crate::policy::{Approval, CommandConfinement, Grant, Policy, Ruling};
use crate::protocol::{Command, CommandKind, Outcome, RelPath};

/// The longest first line of a script in a title, in characters.
const MAX_TITLE: usize = 100;

/// How long a difference is made smaller; then it is shown as it is.
const MAX_TIME: Duration = Duration::from_secs(1);

/// A short title that tells a step from its neighbours.
pub(super) fn title(command: &Command) -> String {
    match command {
        Command::RunCommand { script, .. } => script_title(script),
        Command::MoveFile { from, to } => format!("`{from}` to `{to}`"),
        other => listed(&other.changed_paths()),
    }
}

/// A script by its first line.
pub fn script_title(script: &str) -> String {
    let mut lines = script.trim().lines();
    let first = lines.next().unwrap_or_default();
    let mut short: String = first.chars().take(MAX_TITLE).collect();
    if short.len() < first.len() || lines.next().is_some() {
        short.push_str(" ...");
    }
    format!("`{short}`")
}

/// Tells the person why a step is asked about.
pub(super) fn why(ruling: &Ruling) -> String {
    let remedy = match ruling.lifted_by {
        Some(grant) => format!("; for good you allow it with `--grant {}`", grant.word()),
        None => String::new(),
    };
    about(ruling, &format!("{}{remedy}", ruling.why))
}

/// The refusal of a step that needed a decision which nobody could make.
pub(super) fn undecided(ruling: &Ruling) -> Outcome {
    let why = about(ruling, &ruling.reason());
    let message = format!("this needs the user's approval, and nobody can be asked now: {why}");
    Outcome {
        needs_person: true,
        ..Outcome::refused(message).with_hint(&ruling.hint)
    }
}

fn about(ruling: &Ruling, why: &str) -> String {
    if ruling.about.is_empty() {
        why.to_owned()
    } else {
        format!("`{}`: {why}", ruling.about)
    }
}

/// Describes the permissions of a step once it is approved.
pub(super) fn may(policy: &Policy, ruling: &Ruling, command: &Command) -> String {
    match command {
        Command::RunCommand { .. } => {
            let has = |grant| ruling.needs == Some(grant) || policy.grants.contains(&grant);
            let mut may = match policy.confinement {
                CommandConfinement::Sandboxed => {
                    vec!["in the sandbox: change files in the workspace"]
                }
                CommandConfinement::RecordsExposed => vec![
                    "in the sandbox: change files in the workspace, and the records of `agent` that lie there",
                ],
                CommandConfinement::Missing
                | CommandConfinement::SwitchedOff
                | CommandConfinement::Required => {
                    return match &policy.runs_by {
                        Some(runner) => format!(
                            "whatever you may do there yourself: it is run by `{runner}`, without a sandbox"
                        ),
                        None => {
                            "whatever you may do yourself: it runs without a sandbox".to_owned()
                        }
                    };
                }
            };
            if has(Grant::Network) {
                may.push("use the network");
            }
            if has(Grant::GitWrite) {
                may.push("write to `.git`");
            }
            may.join(", ")
        }
        Command::CreateFile { path, .. } => format!("write `{path}`"),
        Command::DeleteFile { path } => format!("delete `{path}`"),
        Command::MoveFile { from, to } => format!("move `{from}` to `{to}`"),
        other => format!("change {}", listed(&other.changed_paths())),
    }
}

/// Describes the permissions of the model once its plan is approved.
pub(super) fn may_work(mode: Approval) -> &'static str {
    match mode {
        Approval::Auto => "work as it proposes, in the mode `auto`: what the rules allow is done",
        Approval::Edits => "work as it proposes, in the mode `edits`: you are asked about commands",
        Approval::Ask | Approval::Plan => {
            "work as it proposes, in the mode `ask`: you are asked about every change"
        }
    }
}

/// The difference between two versions of a file, as a unified diff that is not escaped.
pub fn difference(path: &RelPath, before: Option<&str>, after: Option<&str>) -> String {
    let name = |side: &str, text: Option<&str>| match text {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let names = DiffNames {
        old: &name("a", before),
        new: &name("b", after),
    };
    LineDiff::new(
        before.unwrap_or_default(),
        after.unwrap_or_default(),
        MAX_TIME,
    )
    .unified(3, Some(names))
}

/// The verb for a step before it is done; `shown` is the difference that it makes. A file that is there
/// already is not created. `None` for a command that only says something, or of a newer version.
pub fn verb(command: &str, shown: &str) -> Option<&'static str> {
    let kind: CommandKind = command.parse().ok()?;
    let is_there = shown.starts_with("--- a/");
    match kind {
        CommandKind::Plan | CommandKind::Message | CommandKind::AskUser => None,
        CommandKind::CreateFile if is_there => Some("overwrite"),
        kind => Some(kind.verbs().1),
    }
}

fn listed(paths: &[&RelPath]) -> String {
    let names: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn run(script: &str) -> Command {
        Command::RunCommand {
            script: script.to_owned(),
            timeout: None,
        }
    }

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(title(&run("ls\npwd\n")), "`ls ...`");
        assert_eq!(title(&run(&"ü".repeat(500))).chars().count(), 106);
        let path = RelPath::parse("a.rs").unwrap();
        assert_eq!(title(&Command::DeleteFile { path }), "`a.rs`");
    }

    #[test]
    fn says_what_a_yes_grants() {
        let mut policy = Policy::new(Path::new("/w"), None);
        policy.confinement = CommandConfinement::Sandboxed;
        let command = run("git commit -m x");
        let mut ruling = policy.rule_on(&command);
        ruling.needs = Some(Grant::GitWrite);
        assert_eq!(
            may(&policy, &ruling, &command),
            "in the sandbox: change files in the workspace, write to `.git`"
        );
        policy.confinement = CommandConfinement::Missing;
        assert!(may(&policy, &ruling, &command).contains("without a sandbox"));
        policy.runs_by = Some("ssh:box".to_owned());
        assert!(may(&policy, &ruling, &command).contains("by `ssh:box`, without a sandbox"));
    }

    #[test]
    fn the_grant_that_lifts_a_rule_is_named_to_each_in_their_words() {
        let mut policy = Policy::new(Path::new("/w"), None);
        policy.confinement = CommandConfinement::Sandboxed;
        let ruling = policy.rule_on(&run("git commit -m x"));
        assert_eq!(
            why(&ruling),
            "`git commit -m x`: `.git` is read-only; for good you allow it with `--grant git-write`"
        );
        assert_eq!(
            undecided(&ruling).message,
            "this needs the user's approval, and nobody can be asked now: `git commit -m x`: `.git` is read-only; the person can allow it with `--grant git-write`"
        );
        let ruling = policy.rule_on(&run("git push && git commit -m x"));
        assert_eq!(ruling.needs, Some(Grant::GitWrite));
        assert_eq!(why(&ruling).contains("--grant"), ruling.lifted_by.is_some());
    }

    #[test]
    fn a_new_file_is_a_difference_from_nothing() {
        let path = RelPath::parse("a.rs").unwrap();
        assert_eq!(
            difference(&path, None, Some("x\n")),
            "--- /dev/null\n+++ b/a.rs\n@@ -0,0 +1 @@\n+x\n"
        );
    }
}
