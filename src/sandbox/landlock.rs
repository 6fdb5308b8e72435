//! The third backend: Landlock, where no namespaces can be had.
//!
//! It only says what can be opened: nothing is hidden by name, `.git` cannot be taken out of a
//! workspace that can be written to, and other processes are seen. It does not part sockets either:
//! so there are none of the Internet without a grant, and no local ones at all, because behind
//! those of other programs lie services that run what they are told. The supervisor adopts and kills what its command left.

use std::ffi::OsString;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::process::{Pid, Signal, WaitOptions};

use super::child::{NOT_STARTED, Seen, end_like, watch};
use super::command::{become_command, give_up_power, tell};
use super::filter::Sockets;
use super::layout::{Layout, What};
use super::{Plan, root};
use crate::platform::linux::{self, Forked};

/// The newest version whose rights are asked for; older kernels give what they have.
const VERSION: ABI = ABI::V6;

/// Runs the command; returns only if it could not be started or `agent` has ended.
pub(super) fn supervise(agent: &UnixStream, plan: &Plan, words: &[OsString]) -> Result<(), String> {
    root::workspace(&plan.confinement)?;
    let own = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(own)).map_err(|error| error.to_string())?;
    let scratch =
        crate::platform::temporary_directory("agent-").map_err(|error| error.to_string())?;
    match linux::fork().map_err(|error| format!("could not fork: {error}"))? {
        Forked::Child => {
            let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
            tell(agent, &confine_and_run(agent, plan, words, scratch.path()));
            linux::exit_at_once(i32::from(NOT_STARTED))
        }
        Forked::Parent(command) => {
            let seen = watch(agent, command)?;
            let status = end_all(own, command);
            let _ = scratch.close();
            if seen == Seen::Deserted {
                plan.reserved.remove_for_the_dead();
                return Ok(());
            }
            status.map_or_else(
                || Err("the command was lost".to_owned()),
                |status| end_like(status),
            )
        }
    }
}

/// Becomes the command; gives the reason if it cannot.
fn confine_and_run(agent: &UnixStream, plan: &Plan, words: &[OsString], scratch: &Path) -> String {
    let confined = restrict(&plan.layout, scratch);
    let sockets = if plan.confinement.network {
        Sockets::Internet
    } else {
        Sockets::Pairs
    };
    if let Err(reason) = confined.and_then(|()| give_up_power(sockets)) {
        return reason;
    }
    let cache = plan.confinement.cache.as_deref().unwrap_or(scratch);
    let environment = [("TMPDIR", scratch), ("XDG_CACHE_HOME", cache)];
    become_command(plan, words, &environment, agent)
}

fn restrict(layout: &Layout, scratch: &Path) -> Result<(), String> {
    let cannot = |error: landlock::RulesetError| format!("could not use Landlock: {error}");
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(VERSION))
        .and_then(|rules| rules.scope(Scope::AbstractUnixSocket | Scope::Signal))
        .and_then(Ruleset::create)
        .map_err(cannot)?;
    rules = allow(rules, scratch, Right::Change).map_err(cannot)?;
    rules = allow(rules, Path::new("/proc"), Right::Read).map_err(cannot)?;
    for (path, what) in layout {
        let (source, right) = match what {
            What::System => (path, Right::Read),
            // Those in `/dev` lead to descriptors, which need no right.
            What::Link(_) if !path.starts_with("/dev") => (path, Right::Read),
            What::Shown(source) => (source, Right::Read),
            What::Open(source) => (source, Right::Change),
            What::Workspace | What::Device => (path, Right::Change),
            _ => continue,
        };
        rules = match right {
            Right::Read => allow_but_hidden(rules, source, layout),
            Right::List | Right::Change => allow(rules, source, right),
        }
        .map_err(cannot)?;
    }
    let status = rules.restrict_self().map_err(cannot)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err("this kernel has no Landlock".to_owned());
    }
    Ok(())
}

/// Lets a path be read. What is hidden in it cannot be taken out again, so where something is,
/// the neighbours are let in one by one.
fn allow_but_hidden(
    rules: RulesetCreated,
    path: &Path,
    layout: &Layout,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let is_hidden = |what: &What| matches!(what, What::Hidden | What::Masked);
    if layout.get(path).is_some_and(is_hidden) {
        return Ok(rules);
    }
    let hides_something = layout
        .range(path.to_owned()..)
        .take_while(|(beneath, _)| beneath.starts_with(path))
        .any(|(beneath, what)| is_hidden(what) && beneath.symlink_metadata().is_ok());
    if !hides_something {
        return allow(rules, path, Right::Read);
    }
    let mut rules = allow(rules, path, Right::List)?;
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        rules = allow_but_hidden(rules, &entry.path(), layout)?;
    }
    Ok(rules)
}

/// Keeps the command from the local sockets without a path that a shared network brings along:
/// those of the desktop are among them. Kernels before 6.12 cannot.
pub(super) fn part_sockets() {
    let parted = Ruleset::default()
        .scope(Scope::AbstractUnixSocket)
        .and_then(Ruleset::create)
        .and_then(RulesetCreated::restrict_self);
    drop(parted);
}

#[derive(Clone, Copy)]
enum Right {
    /// Only the names in a directory.
    List,
    Read,
    Change,
}

/// Adds a path with all beneath it; one that cannot be opened is not there for the command.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    right: Right,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let (Ok(opened), Ok(found)) = (PathFd::new(path), fs::metadata(path)) else {
        return Ok(rules);
    };
    let mut access = match right {
        Right::List => AccessFs::ReadDir.into(),
        Right::Read => AccessFs::from_read(VERSION),
        Right::Change => AccessFs::from_all(VERSION),
    };
    if !found.is_dir() {
        access &= AccessFs::from_file(VERSION);
    }
    rules.add_rule(PathBeneath::new(opened, access))
}

/// Kills the command and all that it left, and gives the command's status.
fn end_all(own: Pid, command: Pid) -> Option<i32> {
    let mut status = None;
    loop {
        for child in children_of(own) {
            // The command itself may have ended, and must not look as if it had been killed.
            if child != command {
                let _ = rustix::process::kill_process(child, Signal::KILL);
            }
        }
        if status.is_none() {
            let _ = rustix::process::kill_process(command, Signal::KILL);
        }
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((process, ended))) if process == command => status = Some(ended.as_raw()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return status,
        }
    }
}

fn children_of(process: Pid) -> Vec<Pid> {
    let number = process.as_raw_nonzero();
    let path = PathBuf::from(format!("/proc/{number}/task/{number}/children"));
    fs::read_to_string(path)
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|number| Pid::from_raw(number.parse().ok()?))
        .collect()
}
