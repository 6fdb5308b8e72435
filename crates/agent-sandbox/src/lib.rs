#![doc = include_str!("../README.md")]

pub mod platform;
pub mod repositories;

#[cfg(target_os = "linux")]
mod attributes;
mod author;
#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod closed;
#[cfg(target_os = "linux")]
mod command;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod git;
mod hints;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod layout;
#[cfg(target_os = "linux")]
mod linked;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod obeyed;
mod paths;
#[cfg(target_os = "linux")]
mod private_files;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod repository;
#[cfg(target_os = "linux")]
mod reserve;
#[cfg(target_os = "linux")]
mod root;
#[cfg(target_os = "linux")]
mod shared;
mod strength;
#[cfg(target_os = "linux")]
mod tools;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use author::Author;
#[cfg(target_os = "linux")]
pub use child::child_main;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::Launch;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{boot_id, child_main, probe, sweep, try_out};
pub use hints::{Limit, closed_for_size, found_outside, limit_met, misses_network};
#[cfg(target_os = "linux")]
pub use launch::Launch;
#[cfg(target_os = "linux")]
use layout::Layout;
#[cfg(target_os = "linux")]
pub use probe::{boot_id, probe, try_out};
#[cfg(target_os = "linux")]
use reserve::Reserved;
#[cfg(target_os = "linux")]
pub use reserve::sweep;
pub use strength::{Property, Strength};

pub use agent_protocol::obeyed::{TOOL_CONFIGURATION as PROTECTED, WORKFLOWS};

/// The first argument that makes this program the supervisor of a confined command.
pub const SUBCOMMAND: &str = "__sandbox";

/// The most usual of [`WORKFLOWS`], which cannot be made either, with the directories above them.
/// The others are protected only where they exist.
pub const RESERVED_WORKFLOWS: [&str; 3] = [".github", ".github/workflows", ".gitlab-ci.yml"];

/// Our own state, which commands do not even see: it holds what was redacted elsewhere.
pub const STATE: &str = ".agent";

/// The most names that are looked at before a command: about a second.
pub const MAX_NAMES: usize = 1_000_000;

/// Whether commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// By the strongest that this machine has; if it has none, each command needs approval.
    #[default]
    Auto,
    /// Always: without a sandbox there are no commands.
    Required,
    /// Never.
    Off,
}

/// What enforces a confinement, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Namespaces of our own.
    Namespaces,
    /// The program `bwrap`, which some systems allow what they deny to others.
    Bubblewrap,
    /// The kernel's own rules for files, with neither hiding nor parting anything.
    Landlock,
}

impl Backend {
    /// All of them, the strongest first.
    pub const ALL: [Self; 3] = [Self::Namespaces, Self::Bubblewrap, Self::Landlock];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|backend| backend.name() == name)
    }
}

/// Whom the kernel takes a command for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandUser {
    /// An ordinary user, or one without any power in root's place.
    Ordinary,
    /// Root, though without its privileges, because files cannot be shown as another's. No limit of
    /// processes binds it by itself, and it could read what only root may.
    Root,
}

/// How much a command may use; none means without limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Processes and threads at the same time.
    pub processes: Option<u64>,
    /// Bytes of data of one process, and of the shared memory of all of them together.
    pub memory: Option<u64>,
    /// Bytes of one file.
    pub file_size: Option<u64>,
    /// Open files of one process.
    pub open_files: Option<u64>,
    /// Seconds of computing of one process.
    pub cpu_seconds: Option<u64>,
    /// Bytes in `/tmp`, `/dev/shm` and the home together.
    pub scratch: u64,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        const GIB: u64 = 1 << 30;
        Self {
            processes: Some(512),
            memory: Some(4 * GIB),
            file_size: Some(2 * GIB),
            open_files: Some(4096),
            cpu_seconds: None,
            scratch: GIB,
        }
    }
}

/// A file or directory, told from another of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The number of its device.
    pub device: u64,
    /// Its number on the device.
    pub inode: u64,
}

impl Identity {
    /// That of what lies there now, where the system tells.
    #[cfg(unix)]
    pub fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(path).ok()?;
        Some(Self {
            device: found.dev(),
            inode: found.ino(),
        })
    }

    /// That of what lies there now, where the system tells.
    #[cfg(not(unix))]
    pub fn of(_path: &Path) -> Option<Self> {
        None
    }
}

/// A repository of the person that a workspace belongs to and that lies outside of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideRepository {
    /// The git directory, which a worktree shares with others.
    #[serde(with = "paths")]
    pub shared: PathBuf,
    /// The directory of this worktree alone, if it is a linked one.
    #[serde(with = "paths")]
    pub worktree: Option<PathBuf>,
}

/// What a command may see and change, and how much it may use. All paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// What enforces it.
    pub backend: Backend,
    /// The program that knows [`SUBCOMMAND`]: this one.
    #[serde(with = "paths")]
    pub launcher: PathBuf,
    /// Can be changed, but for what is protected; seen at its own path.
    #[serde(with = "paths")]
    pub workspace: PathBuf,
    /// What the workspace must be, if that is known: else another directory has taken its name.
    pub identity: Option<Identity>,
    /// Seen besides what every command sees.
    #[serde(with = "paths")]
    pub extra_read: Vec<PathBuf>,
    /// Changed besides the workspace.
    #[serde(with = "paths")]
    pub extra_write: Vec<PathBuf>,
    /// Whether the person's network is there; else there is only a loopback device.
    pub network: bool,
    /// Whether the repository can be written to, its hooks and configuration excepted.
    pub git_write: bool,
    /// Whom the kernel takes it for; [`Strength::user`] knows it.
    pub user: CommandUser,
    /// How much it may use.
    pub limits: ResourceLimits,
    /// Lasts from command to command and is seen as `~/.cache`.
    #[serde(with = "paths")]
    pub cache: Option<PathBuf>,
    /// Seen as empty, where they lie in what is seen.
    #[serde(with = "paths")]
    pub hidden: Vec<PathBuf>,
    /// Files and directories in the workspace that cannot be changed, besides those that are found
    /// when a command is started: files with a hard link outside of it, repositories further down,
    /// what tools obey there, and what could not be looked into.
    #[serde(with = "paths")]
    pub read_only: Vec<PathBuf>,
    /// Repositories further down that can be written to, their hooks and configuration excepted.
    #[serde(with = "paths")]
    pub repositories: Vec<PathBuf>,
    /// Directories that cannot be renamed, because repositories lie in them.
    #[serde(with = "paths")]
    pub pinned: Vec<PathBuf>,
    /// Directories that are read-only because there was too much to look through; the workspace
    /// itself if it cannot be kept at all, and then nothing is run.
    #[serde(with = "paths")]
    pub unseen: Vec<PathBuf>,
    /// Names in the workspace that do not exist and cannot be made.
    #[serde(with = "paths")]
    pub reserved: Vec<PathBuf>,
    /// The repository outside of the workspace that it belongs to, as it was when the session began.
    pub repository: Option<OutsideRepository>,
    /// The most names that are looked at when a command is started.
    pub max_names: usize,
    /// Whether the lists above hold what is found, so that it is not looked for again.
    pub is_searched: bool,
    /// The person's home, of which only the tools are seen.
    #[serde(with = "paths")]
    pub home: PathBuf,
    /// Where the person's programs are: `PATH`, and the places that variables of tools name.
    #[serde(with = "paths")]
    pub programs: Vec<PathBuf>,
    /// Who commits, if the repository itself does not say.
    pub author: Option<Author>,
}

impl Confinement {
    /// The confinement that holds when nobody has granted anything.
    pub fn of_workspace(workspace: impl Into<PathBuf>) -> Self {
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        Self {
            backend: Backend::Namespaces,
            launcher: PathBuf::from("/proc/self/exe"),
            workspace: workspace.into(),
            identity: None,
            extra_read: Vec::new(),
            extra_write: Vec::new(),
            network: false,
            git_write: false,
            user: CommandUser::Ordinary,
            limits: ResourceLimits::default(),
            cache: None,
            hidden: Vec::new(),
            read_only: Vec::new(),
            repositories: Vec::new(),
            pinned: Vec::new(),
            unseen: Vec::new(),
            reserved: Vec::new(),
            repository: None,
            max_names: MAX_NAMES,
            is_searched: false,
            home: home.clone().unwrap_or_else(|| PathBuf::from("/tmp/home")),
            programs: programs_of(std::env::vars_os()),
            author: home.as_deref().and_then(Author::of_home),
        }
    }

    /// Whether commands could change our own records: those lie in something that they can write
    /// to, and the backend can take nothing out of that.
    pub fn exposes_records(&self) -> bool {
        let own = self.hidden.iter().chain(&self.read_only);
        let state = self.workspace.join(STATE);
        self.backend == Backend::Landlock
            && own
                .chain(Some(&state).filter(|state| state.symlink_metadata().is_ok()))
                .any(|path| self.is_writable(path))
    }

    fn is_writable(&self, path: &Path) -> bool {
        let lies_in = |directory: &PathBuf| {
            let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
            path.starts_with(directory) || real(path).starts_with(real(directory))
        };
        lies_in(&self.workspace) || self.extra_write.iter().any(lies_in)
    }

    /// Decides which repository outside of the workspace it belongs to. To be called before the first
    /// command: later, the workspace is what commands made of it.
    pub fn find_repository(&mut self) {
        #[cfg(target_os = "linux")]
        {
            self.repository = git::outside(&self.workspace, &self.home);
        }
    }

    /// Looks for what lies in the workspace and must not be changed all the same; tells whether
    /// nothing was found.
    ///
    /// Then nothing will be as long as only commands change the workspace: inside, no link to a
    /// file outside can be made.
    pub fn search(&mut self) -> bool {
        self.is_searched = true;
        #[cfg(target_os = "linux")]
        {
            let kept = shared::in_workspace(self);
            let is_nothing = kept.is_nothing();
            self.read_only.extend(kept.read_only);
            self.repositories = kept.repositories;
            self.pinned = kept.pinned;
            self.unseen = kept.unseen;
            self.hidden.extend(kept.hidden);
            let has_led = obeyed::protect(self, &kept.git_directories);
            is_nothing && !has_led
        }
        #[cfg(not(target_os = "linux"))]
        true
    }

    /// Forgets what was found.
    #[cfg(target_os = "linux")]
    fn forget_found(&mut self) {
        for list in [
            &mut self.read_only,
            &mut self.repositories,
            &mut self.pinned,
            &mut self.unseen,
            &mut self.reserved,
        ] {
            list.clear();
        }
    }

    /// What a command's environment must say for its tools to find their places inside.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let cache = self.home.join(".cache");
        vec![
            ("HOME", self.home.clone().into()),
            ("TMPDIR", "/tmp".into()),
            ("XDG_CACHE_HOME", cache.clone().into()),
            ("GOCACHE", cache.join("go-build").into()),
            ("npm_config_cache", cache.join("npm").into()),
            ("npm_config_update_notifier", "false".into()),
            ("GRADLE_USER_HOME", cache.join("gradle").into()),
            // The repository above the workspace is a mount of its own.
            ("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1".into()),
            ("PIP_DISABLE_PIP_VERSION_CHECK", "1".into()),
        ]
    }
}

/// The directories of `PATH` and those that variables of tools name.
fn programs_of(environment: impl Iterator<Item = (OsString, OsString)>) -> Vec<PathBuf> {
    const PLACES: [&str; 10] = [
        "RUSTUP_HOME",
        "GOROOT",
        "JAVA_HOME",
        "PYENV_ROOT",
        "NVM_DIR",
        "VOLTA_HOME",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "DOTNET_ROOT",
        "SDKMAN_DIR",
    ];
    let mut programs = Vec::new();
    for (name, value) in environment {
        let name = name.to_string_lossy();
        match &*name {
            "PATH" => programs.extend(std::env::split_paths(&value)),
            "CARGO_HOME" => {
                let home = Path::new(&value);
                programs.extend(["bin", "registry", "git"].map(|part| home.join(part)));
            }
            "GOPATH" => programs.extend(["bin", "pkg"].map(|part| Path::new(&value).join(part))),
            name if PLACES.contains(&name) => programs.push(value.into()),
            _ => {}
        }
    }
    programs.retain(|path| path.is_absolute());
    programs
}

/// What a supervisor is told.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Plan {
    confinement: Confinement,
    /// Where the command is run.
    #[serde(with = "paths")]
    directory: PathBuf,
    /// What is made so that it can be protected, and removed afterwards.
    reserved: Reserved,
    /// What the command sees.
    #[serde(with = "paths")]
    layout: Layout,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_exposed_where_only_landlock_could_hide_them() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().join("work");
        std::fs::create_dir(&workspace).unwrap();
        let mut confinement = Confinement::of_workspace(&workspace);
        confinement.hidden = vec![directory.path().join("sessions")];
        confinement.backend = Backend::Landlock;
        assert!(!confinement.exposes_records());
        confinement.extra_write = vec![directory.path().to_owned()];
        assert!(confinement.exposes_records());
        confinement.extra_write.clear();
        for record in ["sessions", "appsettings.json"] {
            confinement.hidden = vec![workspace.join(record)];
            assert!(confinement.exposes_records(), "{record}");
        }
        confinement.hidden.clear();
        assert!(!confinement.exposes_records());
        std::fs::create_dir(workspace.join(STATE)).unwrap();
        assert!(confinement.exposes_records());
        confinement.backend = Backend::Namespaces;
        assert!(!confinement.exposes_records());
    }
}
