//! Findings about the runner: what holds where commands run, tried out there.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::Finding;
use crate::error::Result;
use crate::runner::{ContainerEngine, Runner, RunnerChoice, is_remote, remove_stale, volumes};
use crate::services::guard::{self, Testing};
use crate::session::{LoopLock, Store};
use crate::settings::{Base, Loaded, Trust};

/// Runs commands of our own where the settings want commands to run.
pub(super) fn findings((base, loaded): &(Base, Loaded), trust: &Trust) -> Vec<Finding> {
    let choice = &loaded.settings.runner;
    if *choice == RunnerChoice::Local {
        return Vec::new();
    }
    let workspace = place(base, loaded);
    let tested = guard::runner(loaded, workspace, trust, Testing::Unremembered)
        .map_err(|error| error.to_string())
        .and_then(|runner| Ok((runner.test(workspace)?, runner)));
    let (properties, runner) = match tested {
        Ok(tested) => tested,
        Err(reason) => {
            let remedy = "fix it, or set `Runner` to `local`; docs/runners.md explains the runners";
            return vec![Finding::problem(
                format!("commands cannot run by `{choice}`: {reason}"),
                remedy,
            )];
        }
    };
    let mut findings = vec![first(choice, &*runner)];
    let notice = runner.notice();
    findings.extend(
        notice.map(|text| Finding::warning(text, "only image, user, folder and environment count")),
    );
    findings.extend(properties.iter().map(|property| {
        let what = format!("  {}", property.name.sentence(property.holds));
        if property.holds {
            Finding::ok(what)
        } else {
            Finding::warning(
                what,
                "docs/runners.md says what each runner holds; `--approval edits` asks you before every command",
            )
        }
    }));
    findings
}

fn first(choice: &RunnerChoice, runner: &dyn Runner) -> Finding {
    if runner.promises().is_empty() {
        Finding::warning(
            format!(
                "commands run by `{choice}`, which does not confine them, so every command needs your yes"
            ),
            "`--sandbox off` with `--allow` rules runs those that you trust unasked: rules count only so; or use a container",
        )
    } else {
        Finding::ok(format!("commands run in a container: {choice}"))
    }
}

/// Removes what runners left behind: containers whose `agent` is gone, and files of this workspace on
/// the other side of the runner that the settings name.
pub(super) fn clean(
    (base, loaded): &(Base, Loaded),
    trust: &Trust,
    cancelled: &AtomicBool,
) -> Result<Vec<Finding>> {
    let engines = ContainerEngine::ALL.into_iter();
    let mut findings: Vec<Finding> = (engines.filter(|engine| engine.has_been_used()))
        .flat_map(|engine| match remove_stale(engine, cancelled) {
            Ok(names) => (names.into_iter())
                .map(|name| Finding::ok(format!("removed the container `{name}`")))
                .collect(),
            Err(reason) => vec![Finding::warning(
                format!(
                    "the containers of `{}` could not be looked at: {}",
                    engine.program(),
                    reason.trim()
                ),
                "try again when it answers",
            )],
        })
        .collect();
    let choice = &loaded.settings.runner;
    if *choice != RunnerChoice::Local && LoopLock::holder(&loaded.paths.sessions).is_some() {
        findings.push(Finding::problem(
            format!("a session is at work here, so what `{choice}` keeps for it was not removed"),
            "end it first: `agent status` shows where it stands",
        ));
    } else if *choice != RunnerChoice::Local {
        let workspace = place(base, loaded);
        let runner = guard::runner(loaded, workspace, trust, Testing::Unremembered)?;
        findings.push(match runner.clean(cancelled) {
            Ok(()) => Finding::ok(format!("`{choice}` keeps nothing of this workspace")),
            Err(reason) => Finding::problem(
                format!("`{choice}` could not be cleaned: {reason}"),
                "try again when it answers",
            ),
        });
    }
    findings.extend(volumes_left(cancelled));
    findings.extend(runners_unseen(loaded));
    if findings.is_empty() {
        findings.push(Finding::ok("runners have left nothing behind"));
    }
    Ok(findings)
}

/// Names the volumes that stay with an engine on another machine: they may have results, and belong to
/// the runner of some base directory.
fn volumes_left(cancelled: &AtomicBool) -> Vec<Finding> {
    let engines = ContainerEngine::ALL.into_iter();
    let volumes = engines
        .filter(|engine| is_remote(*engine))
        .flat_map(|engine| {
            // An engine that does not answer has been told of.
            let names = volumes(engine, cancelled).unwrap_or_default();
            names.into_iter().map(move |name| (engine.program(), name))
        });
    let findings = volumes.map(|(program, name)| {
        Finding::warning(
            format!("`{program}` has the volume `{name}` with the files of a session, which was left alone"),
            format!("`agent doctor --clean --runner {program}:IMAGE`, in the directory and with the image of that session, removes it"),
        )
    });
    findings.collect()
}

/// Names the runners that kept files for sessions of this base directory, apart from the one that was
/// cleaned.
fn runners_unseen(loaded: &Loaded) -> Vec<Finding> {
    let sessions = &loaded.paths.sessions;
    let store = sessions
        .is_dir()
        .then(|| Store::open(sessions.clone()).ok());
    let Some(store) = store.flatten() else {
        return Vec::new();
    };
    let summaries = store.summaries().map(|(summaries, _)| summaries);
    let sessions = (summaries.unwrap_or_default().into_iter())
        .filter_map(|summary| store.load(&summary.session_id).ok())
        .filter(|session| session.has_files_elsewhere);
    let runners: BTreeSet<String> = sessions
        .filter_map(|session| session.choices.get("Runner").map(str::to_owned))
        .filter(|runner| *runner != loaded.settings.runner.to_string())
        .collect();
    let findings = runners.into_iter().map(|runner| {
        Finding::warning(
            format!("`{runner}`, which sessions here used, was not looked at"),
            format!("`agent doctor --clean --runner {runner}` removes what it has of this workspace, also results that have not come back"),
        )
    });
    findings.collect()
}

/// The workspace, or where it is going to be.
fn place<'a>(base: &'a Base, loaded: &'a Loaded) -> &'a Path {
    if loaded.paths.workspace.is_dir() {
        &loaded.paths.workspace
    } else {
        &base.directory
    }
}
