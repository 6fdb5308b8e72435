//! Two lines about the machine, so that the model need not ask: system, shell, tools; what commands
//! have and have not.

use std::fmt::Write as _;
use std::path::Path;

use super::authorize::Authorizer;
use crate::execute::{self, ToolVersion};
use crate::protocol::ShellLanguage;
use crate::runner::RunnerChoice;

/// The lines for the first message.
pub(super) fn environment(authorizer: &Authorizer, workspace: &Path) -> String {
    if !authorizer.runs_commands() {
        return String::new();
    }
    if authorizer.runner_choice != RunnerChoice::Local {
        let has_network = authorizer.place([]).granted.network;
        return elsewhere(&authorizer.runner_choice, has_network);
    }
    let tools = execute::versions(workspace);
    let mut text = machine(authorizer.runner.language(), &tools);
    if let Some(confinement) = &authorizer.confinement {
        text.push('\n');
        if !confinement.network {
            text.push_str("Commands have no network unless the user allows it. ");
        }
        text.push_str("What a command leaves in /tmp is gone when it ends.");
    }
    text
}

/// Where commands run, if not here: nobody knows which tools are there before one has run.
fn elsewhere(runner: &RunnerChoice, has_network: bool) -> String {
    let place = match runner {
        RunnerChoice::Container { image, .. } if image.starts_with("./") => {
            format!("in a container that `{image}` describes")
        }
        RunnerChoice::Container { image, .. } => format!("in a container of the image `{image}`"),
        RunnerChoice::Local | RunnerChoice::Exec(_) => "through a program of the user".to_owned(),
        RunnerChoice::Ssh { host, .. } => format!("on another machine, `{host}`"),
        RunnerChoice::Kubectl { pod, .. } => format!("in the pod `{pod}`"),
    };
    let mut text = format!("Commands run {place}; file commands work on the same files.");
    if runner.is_container() && !has_network {
        text.push_str(" Commands have no network unless the user allows it.");
    }
    text
}

fn machine(shell: ShellLanguage, tools: &[ToolVersion]) -> String {
    let system = match std::env::consts::OS {
        "linux" => "Linux",
        "macos" => "macOS",
        "windows" => "Windows",
        other => other,
    };
    let shell = match shell {
        ShellLanguage::Pwsh => "PowerShell 7",
        ShellLanguage::PowerShell => "Windows PowerShell 5.1",
        other => other.word(),
    };
    let mut text = format!("Machine: {system} ({}), {shell}", std::env::consts::ARCH);
    let (there, missing): (Vec<&ToolVersion>, Vec<&ToolVersion>) =
        tools.iter().partition(|tool| tool.version.is_some());
    for tool in there {
        let version = tool.version.as_deref().unwrap_or_default();
        text.push_str(format!(", {} {version}", tool.name).trim_end());
    }
    text.push('.');
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|tool| tool.name).collect();
        let _ = write!(text, " Not installed: {}.", names.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_tools_and_those_that_are_missing() {
        let tool = |name, version: Option<&str>| ToolVersion {
            name,
            version: version.map(str::to_owned),
        };
        let tools = [
            tool("node", Some("18.1")),
            tool("x", Some("")),
            tool("go", None),
        ];
        let line = machine(ShellLanguage::Bash, &tools);
        assert!(
            line.ends_with(", bash, node 18.1, x. Not installed: go."),
            "{line}"
        );
    }
}
