//! The third backend: Landlock, for machines without namespaces.
//!
//! It only restricts which files can be opened: nothing is hidden by name, `.git` cannot be
//! excluded from a writable workspace, and other processes are visible. It does not isolate sockets
//! either. So there are no Internet sockets without permission, and no local ones at all, because
//! services behind the sockets of other programs run what they are told. The system call filter and
//! [`attributes`] cover what Landlock does not: file attributes, limits and priorities of other
//! processes, shared memory without a file. The supervisor adopts and kills the processes that its
//! command left.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::process::Signal;

use super::attributes::{self, Writable};
use super::child::{NOT_STARTED, SupervisorEvent, end_all, watch};
use super::command::{become_command, tell};
use super::filter::{self, Isolation};
use super::layout::{Layout, LayoutEntry};
use super::{Author, SandboxPlan, root};
use crate::platform::linux::notify::SyscallListener;
use crate::platform::linux::{self, ForkResult, descriptors, identity};

/// The newest version to request rights of; older kernels provide fewer.
const VERSION: ABI = ABI::V6;

/// Runs the command and returns its status; `None` if `agent` has ended.
pub(super) fn supervise(
    agent: &UnixStream,
    plan: &SandboxPlan,
    words: &[OsString],
) -> Result<Option<i32>, String> {
    let workspace = root::workspace(&plan.confinement)?;
    let plan = &with_room_beside_others(plan);
    let own = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(own)).map_err(|error| error.to_string())?;
    let scratch =
        agent_files::platform::temporary_directory("agent-").map_err(|error| error.to_string())?;
    let writable = Writable::new(workspace, writable_paths(&plan.layout, scratch.path()));
    let (outside, inside) = UnixStream::pair().map_err(|error| error.to_string())?;
    match linux::fork().map_err(|error| format!("could not fork: {error}"))? {
        ForkResult::Child => {
            drop((outside, writable));
            let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
            linux::end_first_where_memory_is_short();
            let task = LandlockChild {
                agent,
                plan,
                words,
                scratch: scratch.path(),
                supervisor: inside,
            };
            tell(agent, &task.confine_and_run());
            linux::exit_at_once(i32::from(NOT_STARTED))
        }
        ForkResult::Parent(command) => {
            drop(inside);
            // Otherwise it has ended already, and has reported why.
            if let Ok(listener) = descriptors::take_over(&outside) {
                attributes::serve(SyscallListener::new(listener), writable);
            }
            let seen = watch(agent, command, &plan.confinement.limits)?;
            let status = end_all(own, command);
            let _ = scratch.close();
            match (seen, status) {
                (SupervisorEvent::Deserted, _) => Ok(None),
                (_, Some(status)) => Ok(Some(status)),
                (_, None) => Err("the command was lost".to_owned()),
            }
        }
    }
}

/// The plan with a process limit that leaves room for the person's running processes: the kernel
/// counts all processes of a user, and only a user namespace has a separate count.
fn with_room_beside_others(plan: &SandboxPlan) -> SandboxPlan {
    let mut plan = plan.clone();
    if let Some(limit) = &mut plan.confinement.limits.processes {
        *limit = limit.saturating_add(threads_of(rustix::process::geteuid().as_raw()));
    }
    plan
}

/// The number of threads of a user.
fn threads_of(user: u32) -> u64 {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let threads = processes.filter_map(|entry| {
        let name = entry.file_name();
        name.to_str()?.parse::<u32>().ok()?;
        // A directory has a link from each of its subdirectories, and two of its own.
        let found = fs::metadata(entry.path().join("task")).ok()?;
        (found.uid() == user).then(|| found.nlink().saturating_sub(2))
    });
    threads.sum()
}

/// The work of the process that becomes the command.
struct LandlockChild<'a> {
    agent: &'a UnixStream,
    plan: &'a SandboxPlan,
    words: &'a [OsString],
    scratch: &'a Path,
    /// The socket on which the supervisor waits for the listener.
    supervisor: UnixStream,
}

impl LandlockChild<'_> {
    /// Becomes the command. Returns the reason if it cannot.
    fn confine_and_run(&self) -> String {
        let confinement = &self.plan.confinement;
        let confined = restrict(&self.plan.layout, self.scratch)
            .and_then(|()| self.give_up_power(confinement.network));
        if let Err(reason) = confined {
            return reason;
        }
        let cache = confinement.cache.as_deref().unwrap_or(self.scratch);
        let settings = git_settings(confinement.author.as_ref(), self.scratch);
        let mut environment = vec![("TMPDIR", self.scratch), ("XDG_CACHE_HOME", cache)];
        if std::env::var_os(GIT_SETTINGS).is_none() {
            environment.push((GIT_SETTINGS, &settings));
        }
        become_command(self.plan, self.words, &environment, self.agent)
    }

    /// Drops every capability and installs the system call filter; from now on the supervisor
    /// carries out some of the calls.
    fn give_up_power(&self, network: bool) -> Result<(), String> {
        identity::drop_capabilities()
            .map_err(|error| format!("could not drop capabilities: {error}"))?;
        // Without a filter, Landlock does not protect other processes.
        let filter = filter::filter(Isolation::Landlock { network })
            .ok_or("there is no filter of system calls for this machine")?;
        let listener = filter
            .install_with_listener()
            .map_err(|error| format!("could not filter system calls: {error}"))?;
        descriptors::hand_over(&self.supervisor, listener.as_fd())
            .map_err(|error| format!("could not reach the supervisor: {error}"))
    }
}

/// The variable that names the person's configuration for git.
const GIT_SETTINGS: &str = "GIT_CONFIG_GLOBAL";

/// A configuration for git with only the author, or an empty one.
///
/// The home is the person's own and closed, and git refuses to work with a `~/.gitconfig` that it
/// cannot read.
fn git_settings(author: Option<&Author>, scratch: &Path) -> PathBuf {
    let path = scratch.join(".gitconfig");
    let written = author.and_then(|author| {
        let mut file = fs::File::create_new(&path).ok()?;
        file.write_all(author.to_configuration().as_bytes()).ok()
    });
    match written {
        Some(()) => path,
        None => PathBuf::from("/dev/null"),
    }
}

/// All writable paths besides the workspace.
fn writable_paths<'a>(layout: &'a Layout, scratch: &'a Path) -> impl Iterator<Item = &'a Path> {
    let open = layout.values().filter_map(|what| match what {
        LayoutEntry::Open(source) => Some(source.as_path()),
        _ => None,
    });
    open.chain([scratch])
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
            LayoutEntry::System => (path, Right::Read),
            // Links in `/dev` lead to descriptors, which need no right. A link to one of the
            // command's own directories does not exist here: a directory shared by everybody has
            // that name.
            LayoutEntry::Link(target) if is_of_system(path, target, layout) => (path, Right::Read),
            LayoutEntry::Shown(source) => (source, Right::Read),
            LayoutEntry::Open(source) => (source, Right::Change),
            LayoutEntry::Workspace | LayoutEntry::Device => (path, Right::Change),
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

fn is_of_system(path: &Path, target: &Path, layout: &Layout) -> bool {
    !path.starts_with("/dev") && !matches!(layout.get(target), Some(LayoutEntry::Scratch(_)))
}

/// Allows reading a path. Hidden parts cannot be excluded again, so if there are any, their
/// siblings are allowed one by one.
fn allow_but_hidden(
    rules: RulesetCreated,
    path: &Path,
    layout: &Layout,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let is_hidden = |what: &LayoutEntry| matches!(what, LayoutEntry::Hidden | LayoutEntry::Masked);
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

/// Blocks abstract local sockets, which a shared network namespace brings along: those of the
/// desktop are among them. Needs Linux 6.12.
pub(super) fn part_sockets() {
    let parted = Ruleset::default()
        .scope(Scope::AbstractUnixSocket)
        .and_then(Ruleset::create)
        .and_then(RulesetCreated::restrict_self);
    drop(parted);
}

#[derive(Clone, Copy)]
enum Right {
    /// Only list the names in a directory.
    List,
    Read,
    Change,
}

/// Allows a path with everything below it. A path that cannot be opened does not exist for the
/// command.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_is_told_the_author_and_nothing_else() {
        let scratch = tempfile::tempdir().unwrap();
        assert_eq!(git_settings(None, scratch.path()), Path::new("/dev/null"));
        let author = Author {
            name: "A B".to_owned(),
            email: "a@example.org".to_owned(),
        };
        let path = git_settings(Some(&author), scratch.path());
        assert!(path.starts_with(scratch.path()));
        assert_eq!(fs::read_to_string(path).unwrap(), author.to_configuration());
    }
}
