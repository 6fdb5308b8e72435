//! What a confined command sees, as a list: each entry is a path and what is there.
//!
//! An allow-list: the root is empty, and only what is listed here comes into it. Entries are
//! sorted, so that a directory stands before what lies in it; of two for the same path the later
//! one said counts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::linked::WORKFLOW_PARENTS;
use super::{
    CommandUser, Confinement, PROTECTED, RESERVED_WORKFLOWS, STATE, WORKFLOWS, closed, paths,
    private_files, repository, reserve, tools,
};

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum What {
    /// What the system has there, read-only and with its owners.
    System,
    /// A device of the system.
    Device,
    /// What the person has here, read-only.
    Shown(#[serde(with = "paths")] PathBuf),
    /// What the person has here, to be changed; no link.
    Open(#[serde(with = "paths")] PathBuf),
    /// The workspace.
    Workspace,
    /// What lies there already, made read-only, if it is there.
    Protected,
    /// What lies there already, made a mount so that it cannot be renamed.
    Pinned,
    /// Something empty over what lies there already, if it is there.
    Hidden,
    /// The same, if the command could read it.
    Masked,
    /// An empty directory that can be written to, with these permissions.
    Scratch(u32),
    /// An empty directory.
    Empty,
    /// A link.
    Link(#[serde(with = "paths")] PathBuf),
    /// The processes inside.
    Processes,
    /// Terminals for the processes inside.
    Terminals,
}

/// What there is, by path.
pub(super) type Layout = BTreeMap<PathBuf, What>;

/// Directories of the system that every command sees.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/nix/var/nix/profiles",
    "/run/current-system",
];

const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];

/// What even a readable system directory must not show, and parts of `/proc` about the machine.
const MASKED: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/security/opasswd",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/NetworkManager/system-connections",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ppp",
    "/etc/krb5.keytab",
    "/proc/kcore",
    "/proc/keys",
    "/proc/key-users",
    "/proc/kmsg",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/acpi",
    "/proc/sys/fs/binfmt_misc",
];

/// The list for this confinement, from what is on this machine now.
pub(super) fn of(confinement: &Confinement) -> Layout {
    let mut layout = Layout::new();
    let system = add_system(&mut layout);
    add_scratch(&mut layout, confinement);
    for path in tools::shown(confinement, &system) {
        for private in private_files::beneath(&path) {
            layout.insert(private, What::Hidden);
        }
        layout.insert(path.clone(), What::Shown(path));
    }
    if let Some(cache) = confinement.cache.as_deref().filter(|path| is_real(path)) {
        layout.insert(
            confinement.home.join(".cache"),
            What::Open(cache.to_owned()),
        );
    }
    if confinement.network {
        add_resolver(&mut layout);
    }
    for path in existing(&confinement.extra_read) {
        layout.insert(path.clone(), What::Shown(path.clone()));
    }
    for path in existing(&confinement.extra_write) {
        layout.insert(path.clone(), open(path));
    }
    if let Some(outside) = confinement.repository.clone() {
        repository::add_outside(&mut layout, outside, confinement.git_write);
    }
    if confinement.user == CommandUser::Root {
        mask_closed(&mut layout);
    }
    hide_credentials(&mut layout, &confinement.home);
    if let Ok(home) = fs::canonicalize(&confinement.home)
        && home != confinement.home
    {
        hide_credentials(&mut layout, &home);
    }
    layout.insert(confinement.workspace.clone(), What::Workspace);
    add_protected(&mut layout, confinement);
    layout
}

/// Masks what others may not read, where it lies in what the system shows.
fn mask_closed(layout: &mut Layout) {
    for path in closed::to_others() {
        layout.entry(path.clone()).or_insert(What::Masked);
    }
}

/// Hides what opens other doors, where it lies in something that is shown.
fn hide_credentials(layout: &mut Layout, home: &Path) {
    let is_shown = |path: &Path| matches!(layout.get(path), Some(What::Shown(_) | What::Open(_)));
    let hidden: Vec<PathBuf> = tools::CREDENTIALS
        .iter()
        .map(|secret| home.join(secret))
        // What the person named themselves is meant to be seen.
        .filter(|path| !is_shown(path) && path.ancestors().any(is_shown))
        .collect();
    layout.extend(hidden.into_iter().map(|path| (path, What::Hidden)));
}

/// What the person opened, wherever a link of theirs leads; from here on no link is followed.
pub(super) fn open(path: &Path) -> What {
    What::Open(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
}

/// Whether it is a directory and no link to one.
fn is_real(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn existing(paths: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    // All of the machine is not something extra.
    paths
        .iter()
        .filter(|path| path.exists() && path.parent().is_some())
}

/// Adds what comes with the machine and gives the directories that are seen.
fn add_system(layout: &mut Layout) -> Vec<PathBuf> {
    let mut shown = Vec::new();
    for path in SYSTEM.iter().map(Path::new) {
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => {
                layout.insert(path.to_owned(), What::System);
                shown.push(path.to_owned());
            }
            Ok(found) if found.is_symlink() => {
                if let Ok(target) = fs::read_link(path) {
                    layout.insert(path.to_owned(), What::Link(target));
                    shown.push(path.to_owned());
                }
            }
            _ => {}
        }
    }
    for device in DEVICES {
        let path = Path::new("/dev").join(device);
        if path.exists() {
            layout.insert(path, What::Device);
        }
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        layout.insert(Path::new("/dev").join(name), What::Link(target.into()));
    }
    layout.insert("/proc".into(), What::Processes);
    layout.insert("/dev/pts".into(), What::Terminals);
    for masked in MASKED.iter().map(Path::new).filter(|path| is_there(path)) {
        layout.insert(masked.to_owned(), What::Masked);
    }
    shown
}

fn add_scratch(layout: &mut Layout, confinement: &Confinement) {
    const FOR_ALL: u32 = 0o1777;
    const FOR_OWNER: u32 = 0o700;
    for path in ["/tmp", "/dev/shm"] {
        layout.insert(path.into(), What::Scratch(FOR_ALL));
    }
    layout.insert("/var/tmp".into(), What::Link("/tmp".into()));
    layout.insert("/run".into(), What::Empty);
    let home = &confinement.home;
    if home.starts_with(&confinement.workspace) {
        // The home lies in the workspace and cannot be hidden; what opens other doors can.
        for secret in tools::CREDENTIALS {
            layout.insert(home.join(secret), What::Hidden);
        }
    } else if home.parent().is_some() {
        layout.insert(home.clone(), What::Scratch(FOR_OWNER));
    }
}

/// Where names are looked up, if the file in `/etc` is a link to somewhere else.
fn add_resolver(layout: &mut Layout) {
    let file = Path::new("/etc/resolv.conf");
    if let Ok(target) = fs::canonicalize(file)
        && target != file
    {
        layout.insert(target.clone(), What::Shown(target));
    }
}

fn add_protected(layout: &mut Layout, confinement: &Confinement) {
    let workspace = &confinement.workspace;
    let always = PROTECTED
        .iter()
        .chain([&".git"])
        .map(|name| workspace.join(name));
    // Most of them are not there.
    let workflows = WORKFLOWS.iter().map(|name| workspace.join(name));
    for path in always.chain(workflows.filter(|path| is_there(path))) {
        layout.insert(path, What::Protected);
    }
    let reserved = RESERVED_WORKFLOWS.map(|name| workspace.join(name));
    layout.extend(reserved.map(|path| (path, What::Protected)));
    let parents = WORKFLOW_PARENTS.map(|name| workspace.join(name));
    for directory in parents.into_iter().filter(|path| is_there(path)) {
        // One of the person's is open but for its workflows, and cannot be renamed: else another
        // could be put in its place.
        if !reserve::is_marked(&directory) {
            layout.insert(directory, What::Pinned);
        }
    }
    let git = workspace.join(".git");
    // A file only says where the repository is.
    if confinement.git_write && !git.is_file() {
        layout.remove(&git);
        repository::add(layout, &git);
    }
    layout.insert(workspace.join(STATE), What::Hidden);
    for path in &confinement.hidden {
        if workspace.starts_with(path) {
            continue;
        }
        layout.insert(path.clone(), What::Hidden);
        let above = path.ancestors().skip(1);
        for directory in above.take_while(|path| *path != workspace && path.starts_with(workspace))
        {
            // Else all of it could be renamed, and another put in its place.
            layout.entry(directory.to_owned()).or_insert(What::Pinned);
        }
    }
    add_found(layout, confinement);
}

/// Adds what the search found.
fn add_found(layout: &mut Layout, confinement: &Confinement) {
    // What is closed as a whole must not be opened again.
    const CLOSED: [What; 2] = [What::Hidden, What::Protected];
    let is = |layout: &Layout, path: &Path, closed: &[What]| {
        let mut above = path.ancestors().filter_map(|above| layout.get(above));
        above.any(|what| closed.contains(what))
    };
    for path in &confinement.read_only {
        // What is hidden must not come back as something read-only.
        if !is(layout, path, &[What::Hidden]) {
            layout.insert(path.clone(), What::Protected);
        }
    }
    for path in &confinement.pinned {
        if !is(layout, path, &CLOSED) {
            layout.entry(path.clone()).or_insert(What::Pinned);
        }
    }
    for path in &confinement.repositories {
        if !is(layout, path, &CLOSED) {
            repository::add(layout, path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confinement() -> Confinement {
        let mut confinement = Confinement::of_workspace("/home/me/work");
        confinement.home = "/home/me".into();
        confinement.programs = Vec::new();
        confinement
    }

    #[test]
    fn the_home_is_scratch_and_the_workspace_is_in_it() {
        let layout = of(&confinement());
        assert_eq!(layout[Path::new("/home/me")], What::Scratch(0o700));
        assert_eq!(layout[Path::new("/home/me/work")], What::Workspace);
        assert_eq!(layout[Path::new("/home/me/work/.git")], What::Protected);
        assert_eq!(layout[Path::new("/home/me/work/.agent")], What::Hidden);
        assert!(!layout.contains_key(Path::new("/sys")));
        assert!(!layout.contains_key(Path::new("/var")));
    }

    #[test]
    fn a_directory_stands_before_what_lies_in_it() {
        let layout = of(&confinement());
        let paths: Vec<_> = layout.keys().collect();
        for (place, path) in paths.iter().enumerate() {
            assert!(
                !paths[place..]
                    .iter()
                    .any(|later| later != path && path.starts_with(later))
            );
        }
    }

    #[test]
    fn a_home_in_the_workspace_hides_its_credentials() {
        let mut confinement = confinement();
        confinement.workspace = "/home/me".into();
        let layout = of(&confinement);
        assert_eq!(layout[Path::new("/home/me")], What::Workspace);
        assert_eq!(layout[Path::new("/home/me/.ssh")], What::Hidden);
    }

    #[test]
    fn a_grant_opens_the_repository_but_not_its_hooks() {
        let mut confinement = confinement();
        confinement.git_write = true;
        let layout = of(&confinement);
        assert_eq!(layout[Path::new("/home/me/work/.git")], What::Pinned);
        for closed in ["hooks", "config", "config.worktree", "commondir", "modules"] {
            let path = Path::new("/home/me/work/.git").join(closed);
            assert_eq!(layout[&path], What::Protected);
        }
    }

    #[test]
    fn what_lies_in_something_closed_is_not_opened_again() {
        let mut confinement = confinement();
        confinement.git_write = true;
        let at = |path: &str| Path::new("/home/me/work").join(path);
        confinement.read_only = vec![at("large")];
        confinement.pinned = vec![at("large/a"), at("small")];
        confinement.repositories = vec![at("large/a/.git"), at("small/.git")];
        let layout = of(&confinement);
        assert_eq!(layout[&at("large")], What::Protected);
        assert!(!layout.keys().any(|path| path.starts_with(at("large/a"))));
        assert_eq!(layout[&at("small")], What::Pinned);
        assert_eq!(layout[&at("small/.git")], What::Pinned);
        assert_eq!(layout[&at("small/.git/worktrees")], What::Protected);
    }

    #[test]
    fn credentials_are_hidden_in_what_is_shown() {
        let home = Path::new("/home/me");
        let shown = |path: &str| (home.join(path), What::Shown(home.join(path)));
        let mut layout = Layout::from([shown(".gem"), shown(".npmrc")]);
        hide_credentials(&mut layout, home);
        assert_eq!(layout[&home.join(".gem/credentials")], What::Hidden);
        assert_eq!(layout[&home.join(".npmrc")], shown(".npmrc").1);
        assert_eq!(layout.len(), 3);
    }

    #[test]
    fn what_lies_above_something_hidden_keeps_its_name() {
        let mut confinement = confinement();
        confinement.hidden = vec!["/home/me/work/a/b/inbox".into()];
        let layout = of(&confinement);
        for above in ["/home/me/work/a", "/home/me/work/a/b"] {
            assert_eq!(layout[Path::new(above)], What::Pinned);
        }
        assert_eq!(layout[Path::new("/home/me/work")], What::Workspace);
    }

    #[test]
    fn a_cache_that_is_a_link_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (directory.path().join("real"), directory.path().join("link"));
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink("/", &link).unwrap();
        let mut confinement = confinement();
        let place = Path::new("/home/me/.cache");
        confinement.cache = Some(link);
        assert_eq!(of(&confinement).get(place), None);
        confinement.cache = Some(real.clone());
        assert_eq!(of(&confinement)[place], What::Open(real));
    }

    #[test]
    fn what_is_hidden_never_hides_the_workspace() {
        let mut confinement = confinement();
        confinement.hidden = vec!["/home/me".into(), "/home/me/work/inbox".into()];
        let layout = of(&confinement);
        assert_eq!(layout[Path::new("/home/me")], What::Scratch(0o700));
        assert_eq!(layout[Path::new("/home/me/work/inbox")], What::Hidden);
    }
}
