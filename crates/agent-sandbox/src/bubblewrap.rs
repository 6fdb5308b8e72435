//! The second backend: `bwrap` builds the root, for machines that allow only `bwrap` to do so.
//!
//! `agent` is visible inside under another name and finishes the setup there: limits, the system
//! call filter, and then the command. It cannot map the owners of files, so for root it is weaker
//! than our own namespaces.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;

use rustix::fs::MemfdFlags;
use rustix::process::Signal;

use super::child::{NOT_STARTED, SupervisorEvent, end_all, watch};
use super::command::{become_command, give_up_power, tell};
use super::layout::LayoutEntry;
use super::mounted::{MountChecklist, RealPath};
use super::{SUBCOMMAND, SandboxPlan, landlock, root};
use crate::platform::linux::{self, ForkResult};
use agent_files::platform::programs;

/// The first argument of `agent __sandbox` inside; the second is the descriptor of the list of mounts,
/// the third is the plan.
pub(super) const INSIDE: &str = "--inside";

/// The path of `agent` inside.
const OURSELVES: &str = "/run/agent-launcher";

/// Fixed paths, so that none is found in a workspace.
const PLACES: [&str; 3] = [
    "/usr/bin/bwrap",
    "/usr/local/bin/bwrap",
    "/run/current-system/sw/bin/bwrap",
];

/// Runs the command and returns its status; `None` if `agent` has ended.
pub(super) fn supervise(
    agent: &UnixStream,
    plan: &SandboxPlan,
    words: &[OsString],
) -> Result<Option<i32>, String> {
    let program = PLACES
        .iter()
        .find(|place| Path::new(place).exists())
        .ok_or("`bwrap` is not installed")?;
    // Processes that `bwrap` started are reparented to this one if it is killed. Otherwise they
    // could create mount points after the reserved names are removed.
    let own = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(own)).map_err(|error| error.to_string())?;
    // It stays open for `bwrap` and for what it starts.
    let (arguments, _checklist) = arguments(plan, words)?;
    match linux::fork().map_err(|error| format!("could not fork: {error}"))? {
        ForkResult::Child => {
            let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
            linux::end_first_where_memory_is_short();
            // Others do not own the devices. They could only change their times.
            if rustix::process::geteuid().is_root()
                && let Err(error) = root::close_devices(&plan.layout)
            {
                tell(agent, &format!("could not close the devices: {error}"));
                linux::exit_at_once(i32::from(NOT_STARTED))
            }
            let error = programs::with_whole_environment(Path::new(program))
                .args(arguments)
                .exec();
            tell(agent, &format!("could not start `{program}`: {error}"));
            linux::exit_at_once(i32::from(NOT_STARTED))
        }
        ForkResult::Parent(process) => {
            let seen = watch(agent, process, &plan.confinement.limits)?;
            match (seen, end_all(own, process)) {
                (SupervisorEvent::Deserted, _) => Ok(None),
                (_, Some(status)) => Ok(Some(status)),
                (_, None) => Err("`bwrap` was lost".to_owned()),
            }
        }
    }
}

/// Inside: reads the list of mounts, before its descriptor is closed.
pub(super) fn read_checklist(arguments: &[OsString]) -> Result<MountChecklist, String> {
    let [descriptor, ..] = arguments else {
        return Err("the list of mounts is missing".to_owned());
    };
    let cannot =
        |error: &dyn std::fmt::Display| format!("could not read the list of mounts: {error}");
    let path = Path::new("/proc/self/fd").join(descriptor);
    let list = fs::read(path).map_err(|error| cannot(&error))?;
    serde_json::from_slice(&list).map_err(|error| cannot(&error))
}

/// Inside: finishes the setup and becomes the command.
pub(super) fn go_on(
    agent: &UnixStream,
    checklist: &MountChecklist,
    arguments: &[OsString],
) -> Result<(), String> {
    let [_, plan, words @ ..] = arguments else {
        return Err("the plan is missing".to_owned());
    };
    checklist.compare()?;
    let plan: SandboxPlan = serde_json::from_slice(plan.as_encoded_bytes())
        .map_err(|error| format!("could not read the plan: {error}"))?;
    linux::ignore_termination();
    if plan.confinement.network {
        landlock::part_sockets();
    }
    give_up_power()?;
    Err(become_command(&plan, words, &[], agent))
}

fn arguments(plan: &SandboxPlan, words: &[OsString]) -> Result<(Vec<OsString>, File), String> {
    let ourselves = fs::read_link("/proc/self/exe").map_err(|error| error.to_string())?;
    // Nothing has to be removed inside, and the command need not know what is hidden.
    let mut inside = plan.clone();
    inside.reserved = super::Reserved::default();
    inside.layout = super::Layout::new();
    inside.confinement.hidden = Vec::new();
    // The length of a single argument is limited.
    inside.confinement.forget_found();
    let inside = serde_json::to_string(&inside).map_err(|error| error.to_string())?;

    let mut list = Arguments::default();
    list.add(&["--unshare-user", "--unshare-ipc", "--unshare-pid"]);
    list.add(&["--unshare-uts", "--unshare-cgroup-try", "--die-with-parent"]);
    list.add(&["--hostname", "localhost", "--cap-drop", "ALL"]);
    if !plan.confinement.network {
        list.add(&["--unshare-net"]);
    }
    list.add(&["--dev", "/dev"]);
    let size = plan.confinement.limits.scratch.to_string();
    let mut checklist = MountChecklist::of(&plan.layout, &plan.confinement)?;
    for (path, what) in &plan.layout {
        if is_covered(&plan.layout, path, what) {
            continue;
        }
        // What is shown in a directory that commands can change is compared too.
        let real = if is_cover(what) || matches!(what, LayoutEntry::Shown(_)) {
            checklist.look(path, what)?
        } else {
            None
        };
        list.show(path, what, &size, real);
    }
    let checklist = handed_over(&checklist)
        .map_err(|error| format!("could not hand over the list of mounts: {error}"))?;
    list.add(&[
        OsStr::new("--ro-bind"),
        ourselves.as_os_str(),
        OsStr::new(OURSELVES),
    ]);
    list.add(&[
        "--remount-ro",
        "/proc",
        "--remount-ro",
        "/dev",
        "--remount-ro",
        "/",
    ]);
    list.add(&["--chdir", "/", "--", OURSELVES, SUBCOMMAND, INSIDE]);
    list.0.push(checklist.as_raw_fd().to_string().into());
    list.0.push(inside.into());
    list.0.extend(words.iter().cloned());
    Ok((list.0, checklist))
}

/// The list as a file in memory that programs inherit: it can be longer than an argument.
fn handed_over(checklist: &MountChecklist) -> std::io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("mounts", MemfdFlags::empty())?);
    file.write_all(&serde_json::to_vec(checklist)?)?;
    Ok(file)
}

/// True for an entry that changes what is at its path already.
fn is_cover(what: &LayoutEntry) -> bool {
    matches!(
        what,
        LayoutEntry::Hidden | LayoutEntry::Masked | LayoutEntry::Protected | LayoutEntry::Pinned
    )
}

/// Returns true if an entry would cover something beneath a directory that is hidden already. There
/// is nothing left to cover, and `bwrap` would fail to find the mount point.
fn is_covered(layout: &super::Layout, path: &Path, what: &LayoutEntry) -> bool {
    let mut above = path.ancestors().skip(1).filter_map(|path| layout.get(path));
    let hides = |what: &LayoutEntry| matches!(what, LayoutEntry::Hidden | LayoutEntry::Masked);
    let decides = above.find(|what| hides(what) || !is_cover(what));
    is_cover(what) && decides.is_some_and(hides)
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn add<const N: usize>(&mut self, words: &[impl AsRef<OsStr>; N]) {
        self.0
            .extend(words.iter().map(|word| word.as_ref().to_owned()));
    }

    /// Shows an entry; `real` is what is at its path, as far as that matters.
    fn show(&mut self, path: &Path, what: &LayoutEntry, size: &str, real: Option<RealPath>) {
        let at = path.as_os_str();
        let word = OsStr::new;
        match what {
            LayoutEntry::System => self.add(&[word("--ro-bind-try"), at, at]),
            LayoutEntry::Shown(source) if real.is_some() => {
                self.add(&[word("--ro-bind-try"), source.as_os_str(), at]);
            }
            LayoutEntry::Open(source) => self.add(&[word("--bind-try"), source.as_os_str(), at]),
            LayoutEntry::Workspace => self.add(&[word("--bind"), at, at]),
            LayoutEntry::Protected if real.is_some() => self.add(&[word("--ro-bind"), at, at]),
            LayoutEntry::Pinned if real.is_some() => self.add(&[word("--bind"), at, at]),
            LayoutEntry::Hidden | LayoutEntry::Masked if let Some(real) = real => {
                self.hide(path, real);
            }
            LayoutEntry::Scratch(mode) => {
                let mode = format!("{mode:o}");
                self.add(&["--perms", &mode, "--size", size, "--tmpfs"]);
                self.add(&[at]);
            }
            LayoutEntry::Empty => self.add(&[word("--dir"), at]),
            LayoutEntry::Link(target) if !path.starts_with("/dev") => {
                self.add(&[word("--symlink"), target.as_os_str(), at]);
            }
            LayoutEntry::Processes => self.add(&[word("--proc"), at]),
            // `--dev` brings its own devices and links; a missing path needs no cover.
            LayoutEntry::Device
            | LayoutEntry::Shown(_)
            | LayoutEntry::Terminals
            | LayoutEntry::Link(_)
            | LayoutEntry::Protected
            | LayoutEntry::Pinned
            | LayoutEntry::Hidden
            | LayoutEntry::Masked => {}
        }
    }

    fn hide(&mut self, path: &Path, real: RealPath) {
        let at = path.as_os_str();
        match real {
            RealPath::Directory => {
                self.add(&[OsStr::new("--tmpfs"), at, OsStr::new("--remount-ro"), at]);
            }
            RealPath::File => self.add(&[OsStr::new("--ro-bind"), OsStr::new("/dev/null"), at]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(path: &str, what: &LayoutEntry, expected: &str) {
        let mut list = Arguments::default();
        let real = MountChecklist::default().look(Path::new(path), what);
        list.show(Path::new(path), what, "9", real.unwrap());
        let words: Vec<_> = list.0.iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn what_lies_in_something_hidden_is_not_looked_for() {
        let layout: super::super::Layout = [
            ("/etc/ssh", LayoutEntry::Masked),
            ("/etc/ssh/key", LayoutEntry::Hidden),
            ("/h", LayoutEntry::Hidden),
            ("/h/inbox", LayoutEntry::Hidden),
            ("/h/work", LayoutEntry::Workspace),
            ("/h/work/.git", LayoutEntry::Protected),
            ("/h/work/.git/inner", LayoutEntry::Hidden),
        ]
        .map(|(path, what)| (path.into(), what))
        .into();
        let covered: Vec<&str> = (layout.iter())
            .filter(|(path, what)| is_covered(&layout, path, what))
            .map(|(path, _)| path.to_str().unwrap())
            .collect();
        assert_eq!(covered, ["/etc/ssh/key", "/h/inbox"]);
    }

    #[test]
    fn each_entry_has_its_arguments() {
        case("/usr", &LayoutEntry::System, "--ro-bind-try /usr /usr");
        case("/w", &LayoutEntry::Workspace, "--bind /w /w");
        case(
            "/h/.cache",
            &LayoutEntry::Open("/c".into()),
            "--bind-try /c /h/.cache",
        );
        case(
            "/tmp",
            &LayoutEntry::Scratch(0o1777),
            "--perms 1777 --size 9 --tmpfs /tmp",
        );
        case(
            "/usr",
            &LayoutEntry::Hidden,
            "--tmpfs /usr --remount-ro /usr",
        );
        case(
            "/etc/passwd",
            &LayoutEntry::Hidden,
            "--ro-bind /dev/null /etc/passwd",
        );
        case("/no/such", &LayoutEntry::Protected, "");
        case("/dev/null", &LayoutEntry::Device, "");
    }
}
