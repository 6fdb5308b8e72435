//! Findings about this place: the base directory, its settings, its disk, and what is remembered.

use std::path::Path;

use super::super::open;
use super::Finding;
use crate::error::Error;
use crate::platform;
use crate::protocol::WideExtent;
use crate::settings::{Base, Loaded, Origin, Trust};

/// Less room than this, and a round may fail.
const TOO_LITTLE: u64 = 64 * MIB;
/// Less room than this may not last for a day's work.
const LITTLE: u64 = 1024 * MIB;
const MIB: u64 = 1024 * 1024;

/// Everything about this place.
pub(super) fn findings(settings: Result<&(Base, Loaded), &Error>, trust: &Trust) -> Vec<Finding> {
    let mut findings = match settings {
        Ok((base, loaded)) => {
            let mut findings = vec![name(base)];
            findings.extend(in_force(loaded));
            findings.extend(folders(base, loaded));
            findings.extend(room(&base.directory));
            findings
        }
        Err(error) => vec![unreadable(error)],
    };
    findings.extend(memory(trust.directory()));
    findings
}

fn unreadable(error: &Error) -> Finding {
    let remedy = match error.hints() {
        [] => "fix it; `agent help settings` explains the settings".to_owned(),
        hints => hints.join("; "),
    };
    Finding::problem(error.to_string(), remedy)
}

fn name(base: &Base) -> Finding {
    let directory = base.directory.display();
    Finding::ok(match base.settings_file {
        None => format!(
            "`{directory}` is not used by `agent` yet: `agent new \"<task>\"` or `agent init` begins"
        ),
        Some(_) => format!("base directory `{directory}`"),
    })
}

/// The settings that are not the defaults, and those that do not count.
fn in_force(loaded: &Loaded) -> Vec<Finding> {
    let own = (loaded.rows()).filter(|(_, _, origin)| **origin != Origin::Default);
    let own: Vec<String> = own
        .filter(|(key, value, _)| *value != key.default.to_string())
        .map(|(key, value, origin)| format!("`{}` is `{value}` ({origin})", key.name))
        .collect();
    let mut findings = vec![Finding::ok(if own.is_empty() {
        "all settings are the defaults".to_owned()
    } else {
        format!("settings: {}", own.join(", "))
    })];
    findings.extend(loaded.untrusted.iter().map(|item| {
        Finding::warning(
            format!("`{}` in `{}` does not count: you have not trusted that file", item.key, item.file.display()),
            "read it; then run `agent new` on a terminal and confirm it, or give the option yourself",
        )
    }));
    let workspace = &loaded.paths.workspace;
    findings.extend(open::wide_extent(workspace).map(|extent| {
        let is = match extent {
            WideExtent::Root => "the root of the file system",
            WideExtent::Home => "your home directory",
            WideExtent::AboveHome => "a directory that has your home in it",
        };
        Finding::warning(
            format!(
                "the workspace `{}` is {is}: the model can read and change everything in it",
                workspace.display()
            ),
            "run `agent init` in the folder of one project",
        )
    }));
    findings
}

/// Checks that the directories of `agent` can be written to.
fn folders(base: &Base, loaded: &Loaded) -> Vec<Finding> {
    let paths = &loaded.paths;
    let all = [
        &base.directory,
        &paths.workspace,
        &paths.outbox,
        &paths.inbox,
        &paths.sessions,
    ];
    let mut findings: Vec<Finding> = (all.into_iter().filter(|path| path.exists()))
        .filter_map(|path| {
            let cause = tempfile::tempfile_in(path).err()?;
            Some(Finding::problem(
                format!("`{}` cannot be written: {cause}", path.display()),
                "look at its owner and its permissions, or work elsewhere: `--base DIR`",
            ))
        })
        .collect();
    if findings.is_empty() {
        findings.push(Finding::ok("the folders can be written"));
    }
    findings
}

fn room(directory: &Path) -> Option<Finding> {
    let free = platform::free_bytes(directory)?;
    let told = format!("{} MiB are free on the disk", free / MIB);
    Some(if free < TOO_LITTLE {
        Finding::problem(told, "make room: messages and checkpoints must be written")
    } else if free < LITTLE {
        Finding::warning(told, "make room before long work")
    } else {
        Finding::ok(told)
    })
}

/// Checks that lasting answers (trust, rules) can be remembered.
fn memory(directory: Option<&Path>) -> Option<Finding> {
    let Some(directory) = directory else {
        return Some(Finding::warning(
            "there is no place to remember what you trust and allow",
            "set `HOME` or `XDG_STATE_HOME` to a directory of yours",
        ));
    };
    let cause = (directory.exists()).then(|| tempfile::tempfile_in(directory).err())??;
    Some(Finding::warning(
        format!(
            "`{}`, where `agent` remembers what you trust, cannot be written: {cause}",
            directory.display()
        ),
        "look at its owner and its permissions",
    ))
}
