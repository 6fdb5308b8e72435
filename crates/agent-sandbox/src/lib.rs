#![doc = include_str!("../README.md")]

pub mod platform;
pub mod repositories;

#[cfg(target_os = "linux")]
mod attributes;
mod author;
#[cfg(target_os = "linux")]
mod bubblewrap;
mod changeable;
#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod closed;
#[cfg(target_os = "linux")]
mod command;
mod descendants;
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
mod linked;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod mounted;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod obeyed;
mod packages;
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
mod shell;
mod shields;
mod strength;
#[cfg(target_os = "linux")]
mod toolbox;
#[cfg(target_os = "linux")]
mod tools;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use agent_files::workspace::KnownNames;
use repositories::Inventory;

pub use author::Author;
#[cfg(target_os = "linux")]
pub use child::child_main;
pub use descendants::kill_with_descendants;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::UnsupportedLaunch as Launch;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{boot_id, child_main, probe, sweep, try_out};
pub use hints::{
    SandboxLimit, closed_for_size, fails_before_network, fetches, found_outside, limit_met,
    misses_network,
};
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
pub use shell::{CommandShell, PreparedScript};
pub use shields::{ExtraPath, Shield};
pub use strength::{Property, PropertyName, Strength};

pub use agent_protocol::obeyed::{TOOL_CONFIGURATION as PROTECTED, WORKFLOWS};

/// The first argument that makes this program the supervisor of a confined command.
pub const SUBCOMMAND: &str = "__sandbox";

/// The most common of [`WORKFLOWS`]. Commands cannot create these or their parent directories; the
/// others are protected only if they exist.
pub const RESERVED_WORKFLOWS: [&str; 3] = [".github", ".github/workflows", ".gitlab-ci.yml"];

/// Our own state, which is hidden from commands: it contains what is redacted elsewhere.
pub const STATE: &str = ".agent";

/// Limit on the names to look at before a command: about a second.
pub const MAX_NAMES: usize = 1_000_000;

agent_protocol::words! {
    /// Tells if commands must be confined; the strictest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
    pub enum SandboxMode {
        /// Always: without a sandbox no command runs.
        Required = "required",
        /// By the strongest sandbox that this machine supports; without one, each command needs
        /// approval.
        #[default]
        Auto = "auto",
        /// Never.
        Off = "off",
    }
}

/// The mechanism that enforces a confinement, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Our own namespaces.
    Namespaces,
    /// The program `bwrap`, which some systems allow to do what they deny to others.
    Bubblewrap,
    /// The kernel's file access rules alone; hides and isolates nothing.
    Landlock,
}

impl Backend {
    /// All backends, strongest first.
    pub const ALL: [Self; 3] = [Self::Namespaces, Self::Bubblewrap, Self::Landlock];

    /// The name in settings and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
        }
    }

    /// The backend of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|backend| backend.name() == name)
    }
}

/// The user that the kernel sees when a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandUser {
    /// An ordinary user, or an unprivileged one in place of root.
    Ordinary,
    /// Root without its privileges, because the file system cannot map the owners of files. The
    /// per-user process limit does not apply to it, and it could read files that only root may.
    Root,
}

/// Limits on the resources of a command; `None` means no limit.
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
    /// CPU seconds of one process.
    pub cpu_seconds: Option<u64>,
    /// Processors in use at the same time. Only a container holds to it.
    pub cpus: Option<u64>,
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
            cpus: None,
            scratch: GIB,
        }
    }
}

/// Identifies a file or directory, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    /// The device number.
    pub device: u64,
    /// The inode number.
    pub inode: u64,
}

impl FileIdentity {
    /// The identity of what is at this path now, if the system provides one.
    #[cfg(unix)]
    pub fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(path).ok()?;
        Some(Self {
            device: found.dev(),
            inode: found.ino(),
        })
    }

    /// The identity of what is at this path now, if the system provides one.
    #[cfg(not(unix))]
    pub fn of(_path: &Path) -> Option<Self> {
        None
    }
}

/// A repository outside the workspace that the workspace belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideRepository {
    /// The git directory, which a worktree shares with others.
    #[serde(with = "paths")]
    pub shared: PathBuf,
    /// The directory of this worktree alone, if it is a linked one.
    #[serde(with = "paths")]
    pub worktree: Option<PathBuf>,
}

/// The paths that a command may see and change, and its resource limits. All paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// The mechanism that enforces it.
    pub backend: Backend,
    /// The program that understands [`SUBCOMMAND`]: this one.
    #[serde(with = "paths")]
    pub launcher: PathBuf,
    /// Writable except for protected paths; visible at its own path.
    #[serde(with = "paths")]
    pub workspace: PathBuf,
    /// The expected identity of the workspace, if known. A mismatch means that another directory
    /// has taken its name.
    pub identity: Option<FileIdentity>,
    /// Visible in addition to what every command sees.
    #[serde(with = "paths")]
    pub extra_read: Vec<PathBuf>,
    /// Writable in addition to the workspace.
    #[serde(with = "paths")]
    pub extra_write: Vec<PathBuf>,
    /// True for access to the person's network; otherwise there is only a loopback device.
    pub network: bool,
    /// True if the repository is writable, except for its hooks and configuration.
    pub git_write: bool,
    /// The user that commands run as, from [`Strength::user`].
    pub user: CommandUser,
    /// Resource limits.
    pub limits: ResourceLimits,
    /// A persistent directory that commands see as `~/.cache`.
    #[serde(with = "paths")]
    pub cache: Option<PathBuf>,
    /// Paths that appear empty, if they are inside visible directories.
    #[serde(with = "paths")]
    pub hidden: Vec<PathBuf>,
    /// Files and directories in the workspace that are read-only, besides those found when a
    /// command starts: files hard-linked from outside, nested repositories, tool configuration, and
    /// directories that could not be searched.
    #[serde(with = "paths")]
    pub read_only: Vec<PathBuf>,
    /// Nested repositories that are writable, except for their hooks and configuration.
    #[serde(with = "paths")]
    pub repositories: Vec<PathBuf>,
    /// Directories that cannot be renamed, because they contain repositories or tool configuration.
    #[serde(with = "paths")]
    pub pinned: Vec<PathBuf>,
    /// Directories that are read-only because they were too large to search. If the workspace
    /// itself is among them, no command runs.
    #[serde(with = "paths")]
    pub unseen: Vec<PathBuf>,
    /// Names in the workspace that do not exist and cannot be created.
    #[serde(with = "paths")]
    pub reserved: Vec<PathBuf>,
    /// The repository outside the workspace that it belongs to, as it was when the session began.
    pub repository: Option<OutsideRepository>,
    /// Limit on the names to look at when a command starts.
    pub max_names: usize,
    /// True if the lists above are complete, so that no search is needed.
    pub is_searched: bool,
    /// The person's home, of which only tools are visible.
    #[serde(with = "paths")]
    pub home: PathBuf,
    /// The person's program directories: `PATH`, and the directories named by variables of tools.
    #[serde(with = "paths")]
    pub programs: Vec<PathBuf>,
    /// The author of commits, if the repository does not name one.
    pub author: Option<Author>,
}

impl Confinement {
    /// The default confinement for a workspace, without extra permissions.
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

    /// True if commands could change our own records: they are inside a writable path, and the
    /// backend cannot exclude anything from that.
    pub fn exposes_records(&self) -> bool {
        if self.backend != Backend::Landlock {
            return false;
        }
        let own = self.hidden.iter().chain(&self.read_only);
        let state = self.workspace.join(STATE);
        own.chain(Some(&state).filter(|state| state.symlink_metadata().is_ok()))
            .any(|path| self.is_writable(path))
            || self.holds_other_records()
    }

    /// True if records of another base directory are in the workspace.
    #[cfg(target_os = "linux")]
    fn holds_other_records(&self) -> bool {
        !shared::in_workspace(self).hidden.is_empty()
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "it is used on Linux")]
    fn holds_other_records(&self) -> bool {
        false
    }

    fn is_writable(&self, path: &Path) -> bool {
        let lies_in = |directory: &PathBuf| {
            let real =
                |path: &Path| agent_files::fs::canonical(path).unwrap_or_else(|_| path.to_owned());
            path.starts_with(directory) || real(path).starts_with(real(directory))
        };
        lies_in(&self.workspace) || self.extra_write.iter().any(lies_in)
    }

    /// Finds the repository outside the workspace that it belongs to. Call it before the first
    /// command: later, commands may have changed the workspace.
    pub fn find_repository(&mut self) {
        #[cfg(target_os = "linux")]
        {
            self.repository = git::outside(&self.workspace, &self.home);
        }
    }

    /// Searches the workspace for paths that must not be changed. Returns true if there are none.
    ///
    /// Then there will be none as long as only commands change the workspace: inside the sandbox no
    /// link to a file outside can be created.
    pub fn search(&mut self) -> bool {
        #[cfg(target_os = "linux")]
        {
            let found = shared::in_workspace(self);
            self.protect(found)
        }
        #[cfg(not(target_os = "linux"))]
        {
            self.is_searched = true;
            true
        }
    }

    /// Searches as [`search`](Self::search) does and takes an inventory of the repositories, except
    /// for `left_out`. The workspace is looked through once for both, and what a snapshot has just seen
    /// is not looked at again.
    pub fn search_with_inventory(
        &mut self,
        left_out: &[PathBuf],
        known: Option<&KnownNames>,
    ) -> (bool, Inventory) {
        #[cfg(target_os = "linux")]
        {
            let (found, inventory) = shared::with_inventory(self, left_out, known);
            (self.protect(found), inventory)
        }
        #[cfg(not(target_os = "linux"))]
        {
            let inventory = Inventory::take_knowing(known, &self.workspace, left_out);
            (self.search(), inventory)
        }
    }

    /// Takes over what was found. Returns true if that is nothing.
    #[cfg(target_os = "linux")]
    fn protect(&mut self, found: shared::ProtectedPaths) -> bool {
        self.is_searched = true;
        let is_nothing = found.is_nothing();
        self.read_only.extend(found.read_only);
        self.repositories = found.repositories;
        self.pinned.extend(found.pinned);
        self.unseen = found.unseen;
        self.hidden.extend(found.hidden);
        let has_led = obeyed::protect(self, &found.git_directories);
        is_nothing && !has_led
    }

    /// Drops the results of the search.
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

    /// Environment variables that make tools find their directories inside the sandbox.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let cache = self.visible_cache();
        let mut environment = vec![
            ("HOME", self.home.clone().into()),
            ("TMPDIR", "/tmp".into()),
            ("XDG_CACHE_HOME", cache.clone().into()),
            ("GOCACHE", cache.join("go-build").into()),
            ("npm_config_cache", cache.join("npm").into()),
            ("npm_config_update_notifier", "false".into()),
            ("GRADLE_USER_HOME", cache.join("gradle").into()),
            // The repository above the workspace is a separate mount.
            ("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1".into()),
            ("PIP_DISABLE_PIP_VERSION_CHECK", "1".into()),
        ];
        if !self.network {
            environment.extend(WITHOUT_NETWORK.map(|(name, value)| (name, value.into())));
        }
        environment.extend(self.package_environment());
        environment
    }
}

/// Package managers fail at once where there is no network, instead of trying for minutes.
const WITHOUT_NETWORK: [(&str, &str); 9] = [
    ("npm_config_fetch_retries", "0"),
    ("YARN_HTTP_RETRY", "0"),
    ("PIP_RETRIES", "0"),
    ("UV_HTTP_RETRIES", "0"),
    ("POETRY_REQUESTS_MAX_RETRIES", "0"),
    ("CONDA_REMOTE_MAX_RETRIES", "0"),
    ("CARGO_NET_RETRY", "0"),
    ("BUNDLE_RETRY", "0"),
    ("NUGET_ENHANCED_MAX_NETWORK_TRY_COUNT", "1"),
];

/// The directories of `PATH` and those named by variables of tools.
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

/// The instructions for a supervisor.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SandboxPlan {
    confinement: Confinement,
    /// The working directory of the command.
    #[serde(with = "paths")]
    directory: PathBuf,
    /// The `LD_LIBRARY_PATH` of the command.
    #[serde(with = "paths")]
    library_path: Option<PathBuf>,
    /// Directories to create so that their names can be protected, and to remove afterwards.
    reserved: Reserved,
    /// The file system that the command sees.
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
