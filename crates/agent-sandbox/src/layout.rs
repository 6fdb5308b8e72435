//! The file system that a confined command sees: a list of paths with their content.
//!
//! This is an allow-list: the root is empty, and contains only what is listed here. Entries are
//! sorted, so that a directory comes before its contents; of two entries for the same path the
//! later one counts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::changeable::Changeable;
use super::linked::WORKFLOW_PARENTS;
use super::{
    CommandUser, Confinement, PROTECTED, RESERVED_WORKFLOWS, STATE, WORKFLOWS, closed, paths,
    repository, reserve, toolbox, tools,
};

/// The content of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum LayoutEntry {
    /// The system's file or directory, read-only and with its owners.
    System,
    /// A device of the system.
    Device,
    /// A file or directory of the person, read-only.
    Shown(#[serde(with = "paths")] PathBuf),
    /// A file or directory of the person, writable; not a link.
    Open(#[serde(with = "paths")] PathBuf),
    /// The workspace.
    Workspace,
    /// An existing path, made read-only.
    Protected,
    /// An existing path, made a mount point so that it cannot be renamed.
    Pinned,
    /// An existing path, covered by something empty.
    Hidden,
    /// An existing path, covered by something empty if the command could read it.
    Masked,
    /// An empty writable directory with these permissions.
    Scratch(u32),
    /// An empty directory.
    Empty,
    /// A symbolic link.
    Link(#[serde(with = "paths")] PathBuf),
    /// The processes inside.
    Processes,
    /// Terminals for the processes inside.
    Terminals,
}

/// The layout by path.
pub(super) type Layout = BTreeMap<PathBuf, LayoutEntry>;

/// System directories that every command sees.
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

/// Parts of readable system directories that are hidden, and parts of `/proc` about the machine.
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

/// The layout for this confinement, from what exists on this machine now.
pub(super) fn of(confinement: &Confinement) -> Layout {
    let mut layout = Layout::new();
    let system = add_system(&mut layout);
    add_scratch(&mut layout, confinement);
    let tools = toolbox::of(confinement, &system);
    layout.extend(
        tools
            .private
            .iter()
            .map(|path| (path.clone(), LayoutEntry::Hidden)),
    );
    for path in &tools.shown {
        let shown = LayoutEntry::Shown(path.clone());
        layout.entry(path.clone()).or_insert(shown);
    }
    if let Some(cache) = confinement.cache.as_deref().filter(|path| is_real(path)) {
        layout.insert(
            confinement.home.join(".cache"),
            LayoutEntry::Open(cache.to_owned()),
        );
    }
    if confinement.network {
        add_resolver(&mut layout);
    }
    let changeable = Changeable::of(confinement);
    for path in existing(&confinement.extra_read, &changeable) {
        layout.insert(path.clone(), LayoutEntry::Shown(path.clone()));
    }
    for path in existing(&confinement.extra_write, &changeable) {
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
    layout.insert(confinement.workspace.clone(), LayoutEntry::Workspace);
    add_protected(&mut layout, confinement);
    layout
}

/// Masks files that others may not read, if they are in a visible system directory.
fn mask_closed(layout: &mut Layout) {
    for path in closed::to_others() {
        layout.entry(path.clone()).or_insert(LayoutEntry::Masked);
    }
}

/// Hides credentials that are inside visible directories.
fn hide_credentials(layout: &mut Layout, home: &Path) {
    let is_shown = |path: &Path| {
        matches!(
            layout.get(path),
            Some(LayoutEntry::Shown(_) | LayoutEntry::Open(_))
        )
    };
    let hidden: Vec<PathBuf> = tools::CREDENTIALS
        .iter()
        .map(|secret| home.join(secret))
        // Paths that the person named explicitly stay visible.
        .filter(|path| !is_shown(path) && path.ancestors().any(is_shown))
        .collect();
    layout.extend(hidden.into_iter().map(|path| (path, LayoutEntry::Hidden)));
}

/// A path that the person opened, with links resolved; from here on no link is followed.
pub(super) fn open(path: &Path) -> LayoutEntry {
    LayoutEntry::Open(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
}

/// True for a directory that is not a link.
fn is_real(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The extra paths that exist, except for the root directory and those that a command could lead
/// elsewhere.
fn existing<'a>(
    paths: &'a [PathBuf],
    changeable: &Changeable,
) -> impl Iterator<Item = &'a PathBuf> {
    paths.iter().filter(|path| {
        path.exists() && path.parent().is_some() && !changeable.decides_target_of(path)
    })
}

/// Adds the system directories, and returns the visible ones.
fn add_system(layout: &mut Layout) -> Vec<PathBuf> {
    let mut shown = Vec::new();
    for path in SYSTEM.iter().map(Path::new) {
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => {
                layout.insert(path.to_owned(), LayoutEntry::System);
                shown.push(path.to_owned());
            }
            Ok(found) if found.is_symlink() => {
                if let Ok(target) = fs::read_link(path) {
                    layout.insert(path.to_owned(), LayoutEntry::Link(target));
                    shown.push(path.to_owned());
                }
            }
            _ => {}
        }
    }
    for device in DEVICES {
        let path = Path::new("/dev").join(device);
        if path.exists() {
            layout.insert(path, LayoutEntry::Device);
        }
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        layout.insert(
            Path::new("/dev").join(name),
            LayoutEntry::Link(target.into()),
        );
    }
    layout.insert("/proc".into(), LayoutEntry::Processes);
    layout.insert("/dev/pts".into(), LayoutEntry::Terminals);
    for masked in MASKED.iter().map(Path::new).filter(|path| is_there(path)) {
        layout.insert(masked.to_owned(), LayoutEntry::Masked);
    }
    shown
}

fn add_scratch(layout: &mut Layout, confinement: &Confinement) {
    const FOR_ALL: u32 = 0o1777;
    const FOR_OWNER: u32 = 0o700;
    for path in ["/tmp", "/dev/shm"] {
        layout.insert(path.into(), LayoutEntry::Scratch(FOR_ALL));
    }
    layout.insert("/var/tmp".into(), LayoutEntry::Link("/tmp".into()));
    layout.insert("/run".into(), LayoutEntry::Empty);
    let home = &confinement.home;
    if home.starts_with(&confinement.workspace) {
        // The home is inside the workspace and cannot be hidden; credentials in it can.
        for secret in tools::CREDENTIALS {
            layout.insert(home.join(secret), LayoutEntry::Hidden);
        }
    } else if home.parent().is_some() {
        layout.insert(home.clone(), LayoutEntry::Scratch(FOR_OWNER));
    }
}

/// The resolver configuration, if the file in `/etc` is a link to somewhere else.
fn add_resolver(layout: &mut Layout) {
    let file = Path::new("/etc/resolv.conf");
    if let Ok(target) = fs::canonicalize(file)
        && target != file
    {
        layout.insert(target.clone(), LayoutEntry::Shown(target));
    }
}

fn add_protected(layout: &mut Layout, confinement: &Confinement) {
    let workspace = &confinement.workspace;
    let always = PROTECTED
        .iter()
        .chain([&".git"])
        .map(|name| workspace.join(name));
    // Most of them do not exist.
    let workflows = WORKFLOWS.iter().map(|name| workspace.join(name));
    for path in always.chain(workflows.filter(|path| is_there(path))) {
        layout.insert(path, LayoutEntry::Protected);
    }
    let reserved = RESERVED_WORKFLOWS.map(|name| workspace.join(name));
    layout.extend(reserved.map(|path| (path, LayoutEntry::Protected)));
    for name in WORKFLOW_PARENTS {
        let directory = workspace.join(name);
        // A command can set the mark too, so it counts only where we reserve the name.
        let is_ours = RESERVED_WORKFLOWS.contains(&name) && reserve::is_marked(&directory);
        // An existing one is writable except for its workflows, and cannot be renamed: otherwise
        // another could be put in its place.
        if is_there(&directory) && !is_ours {
            layout.insert(directory, LayoutEntry::Pinned);
        }
    }
    let git = workspace.join(".git");
    // A `.git` file only says where the repository is.
    if confinement.git_write && !git.is_file() {
        layout.remove(&git);
        repository::add(layout, &git);
    }
    layout.insert(workspace.join(STATE), LayoutEntry::Hidden);
    for path in &confinement.hidden {
        if workspace.starts_with(path) {
            continue;
        }
        layout.insert(path.clone(), LayoutEntry::Hidden);
        pin_above(layout, path, workspace);
    }
    add_found(layout, confinement);
    // The same in each path that the person opened; links among those are not shown at all.
    let (hidden, read_only) = (&confinement.hidden, &confinement.read_only);
    let outside = (hidden.iter().chain(read_only)).filter(|path| !path.starts_with(workspace));
    for path in outside.chain([workspace]) {
        for opened in &confinement.extra_write {
            pin_above(layout, path, opened);
        }
    }
}

/// Pins the directories between a path and the writable directory that it is in: otherwise all of it
/// could be renamed and replaced.
fn pin_above(layout: &mut Layout, path: &Path, writable: &Path) {
    let above = path.ancestors().skip(1);
    for directory in above.take_while(|path| *path != writable && path.starts_with(writable)) {
        layout
            .entry(directory.to_owned())
            .or_insert(LayoutEntry::Pinned);
    }
}

/// Adds the results of the search.
fn add_found(layout: &mut Layout, confinement: &Confinement) {
    // A closed directory must not be opened again.
    const CLOSED: [LayoutEntry; 2] = [LayoutEntry::Hidden, LayoutEntry::Protected];
    let is = |layout: &Layout, path: &Path, closed: &[LayoutEntry]| {
        let mut above = path.ancestors().filter_map(|above| layout.get(above));
        above.any(|what| closed.contains(what))
    };
    for path in &confinement.read_only {
        // A hidden path must not come back as a read-only one.
        if !is(layout, path, &[LayoutEntry::Hidden]) {
            layout.insert(path.clone(), LayoutEntry::Protected);
        }
    }
    for path in &confinement.pinned {
        if !is(layout, path, &CLOSED) {
            layout.entry(path.clone()).or_insert(LayoutEntry::Pinned);
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
        assert_eq!(layout[Path::new("/home/me")], LayoutEntry::Scratch(0o700));
        assert_eq!(layout[Path::new("/home/me/work")], LayoutEntry::Workspace);
        assert_eq!(
            layout[Path::new("/home/me/work/.git")],
            LayoutEntry::Protected
        );
        assert_eq!(
            layout[Path::new("/home/me/work/.agent")],
            LayoutEntry::Hidden
        );
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
        assert_eq!(layout[Path::new("/home/me")], LayoutEntry::Workspace);
        assert_eq!(layout[Path::new("/home/me/.ssh")], LayoutEntry::Hidden);
    }

    #[test]
    fn a_grant_opens_the_repository_but_not_its_hooks() {
        let mut confinement = confinement();
        confinement.git_write = true;
        let layout = of(&confinement);
        assert_eq!(layout[Path::new("/home/me/work/.git")], LayoutEntry::Pinned);
        for closed in ["hooks", "config", "config.worktree", "commondir", "modules"] {
            let path = Path::new("/home/me/work/.git").join(closed);
            assert_eq!(layout[&path], LayoutEntry::Protected);
        }
    }

    #[test]
    fn records_in_a_path_that_the_person_opened_stay_where_they_are() {
        let directory = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(directory.path()).unwrap();
        let at = |path: &str| top.join(path);
        for path in ["src/deep/base", "src/mine/work"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        let mut confinement = confinement();
        confinement.workspace = at("src/mine/work");
        confinement.hidden = vec![at("src/deep/base/sessions")];
        confinement.read_only = vec![at("src/deep/base/appsettings.json")];
        confinement.extra_write = vec![at("src")];
        let layout = of(&confinement);
        for pinned in ["src/deep", "src/deep/base", "src/mine"] {
            assert_eq!(layout[&at(pinned)], LayoutEntry::Pinned, "{pinned}");
        }
        let records = at("src/deep/base/sessions");
        assert_eq!(layout[&records], LayoutEntry::Hidden);
        let settings = at("src/deep/base/appsettings.json");
        assert_eq!(layout[&settings], LayoutEntry::Protected);
        assert!(matches!(layout[&at("src")], LayoutEntry::Open(_)));
        assert_eq!(layout[&at("src/mine/work")], LayoutEntry::Workspace);
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
        assert_eq!(layout[&at("large")], LayoutEntry::Protected);
        assert!(!layout.keys().any(|path| path.starts_with(at("large/a"))));
        assert_eq!(layout[&at("small")], LayoutEntry::Pinned);
        assert_eq!(layout[&at("small/.git")], LayoutEntry::Pinned);
        assert_eq!(layout[&at("small/.git/worktrees")], LayoutEntry::Protected);
    }

    #[test]
    fn credentials_are_hidden_in_what_is_shown() {
        let home = Path::new("/home/me");
        let shown = |path: &str| (home.join(path), LayoutEntry::Shown(home.join(path)));
        let mut layout = Layout::from([shown(".gem"), shown(".npmrc")]);
        hide_credentials(&mut layout, home);
        assert_eq!(layout[&home.join(".gem/credentials")], LayoutEntry::Hidden);
        assert_eq!(layout[&home.join(".npmrc")], shown(".npmrc").1);
        assert_eq!(layout.len(), 3);
    }

    #[test]
    fn what_lies_above_something_hidden_keeps_its_name() {
        let mut confinement = confinement();
        confinement.hidden = vec!["/home/me/work/a/b/inbox".into()];
        let layout = of(&confinement);
        for above in ["/home/me/work/a", "/home/me/work/a/b"] {
            assert_eq!(layout[Path::new(above)], LayoutEntry::Pinned);
        }
        assert_eq!(layout[Path::new("/home/me/work")], LayoutEntry::Workspace);
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
        assert_eq!(of(&confinement)[place], LayoutEntry::Open(real));
    }

    #[test]
    fn what_is_hidden_never_hides_the_workspace() {
        let mut confinement = confinement();
        confinement.hidden = vec!["/home/me".into(), "/home/me/work/inbox".into()];
        let layout = of(&confinement);
        assert_eq!(layout[Path::new("/home/me")], LayoutEntry::Scratch(0o700));
        assert_eq!(
            layout[Path::new("/home/me/work/inbox")],
            LayoutEntry::Hidden
        );
    }
}
