//! From the settings to what the model may do: the rules and the sandbox.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agent::Authorizer;
use crate::approve::{KeptAnswers, KeptRules, KnownSessions};
use crate::checkpoint::CheckpointLimits;
use crate::error::{Error, Result};
use crate::fs::{Durability, create_directory, own_directory, real_path, write_atomic};
use crate::platform::{self, ChildRestrictions, programs};
use crate::policy::{
    self, FoundProgram, Grant, Network, PersonRules, Policy, ProgramLookup, ProjectRules,
    RecordsLookup,
};
use crate::protocol::RelPath;
use crate::repositories::{self, ConfiguredPaths};
use crate::runner::{
    ContainerPlan, ContainerRunner, ExchangeMemory, ExchangeRunner, ExecRunner, LocalRunner,
    PodConnection, REMOTE_FILES, RemoteConnection, Runner, RunnerChoice, SshConnection, is_remote,
    runners_with_results,
};
use crate::sandbox::{
    self, Backend, CommandShell, Confinement, FileIdentity, PropertyName, ResourceLimits,
    SandboxMode, Strength,
};
use crate::settings::{Loaded, Origin, Settings, Trust};
use crate::workspace::Workspace;

/// How much is done to know the sandbox of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Testing {
    /// It is tried where nobody knows yet, and remembered until the next start of the machine.
    Remembered,
    /// It is tried where nobody knows yet; nothing is written.
    Unremembered,
    /// No command is going to be run.
    Unneeded,
}

/// Joins rules and sandbox for a workspace.
pub(super) fn authorizer(
    loaded: &Loaded,
    workspace: &Path,
    trust: &Trust,
    testing: Testing,
) -> Result<Authorizer> {
    let settings = &loaded.settings;
    distrust_programs(loaded, workspace);
    let mode = settings.sandbox;
    let mut strength = (mode != SandboxMode::Off && testing != Testing::Unneeded).then(|| {
        let wanted = settings.sandbox_backend.only();
        strength(trust, testing, workspace, wanted)
    });
    if let Some(strength) = &mut strength
        && strength.backend.is_none()
        && settings.runner == RunnerChoice::Local
    {
        *strength = platform::held_without_sandbox(&shell(settings)?, workspace);
    }
    let confinement = match &strength {
        Some(strength) if let Some(backend) = strength.backend => Some(Confinement {
            backend,
            user: strength.user(),
            ..confinement(loaded, workspace, trust, testing)?
        }),
        _ => None,
    };
    if let Some(confinement) = &confinement {
        sandbox::sweep(confinement);
    }
    let mut policy = Policy::new(workspace, std::env::home_dir().as_deref());
    policy.approval = settings.approval;
    policy.strictness = settings.policy;
    policy.confinement = match (mode, &confinement) {
        // On Windows nothing was there to switch off: each command is asked about.
        (SandboxMode::Off, _) if cfg!(not(windows)) => policy::CommandConfinement::SwitchedOff,
        (_, Some(confinement)) if confinement.exposes_records() => {
            policy::CommandConfinement::RecordsExposed
        }
        (_, Some(_)) => policy::CommandConfinement::Sandboxed,
        (SandboxMode::Auto | SandboxMode::Off, None) => policy::CommandConfinement::Missing,
        (SandboxMode::Required, None) => policy::CommandConfinement::Required,
    };
    let runner = if settings.runner == RunnerChoice::Local {
        let writable = writable_without_sandbox(settings, workspace, strength.as_ref());
        Arc::new(local_runner(settings, writable)?)
    } else {
        runner(loaded, workspace, trust, testing)?
    };
    if settings.runner != RunnerChoice::Local {
        policy.confinement = confinement_by(&*runner, mode);
        policy.runs_by = Some(settings.runner.to_string());
    }
    policy.dialect = if runner.language().is_posix() {
        policy::Dialect::Posix
    } else {
        policy::Dialect::PowerShell
    };
    policy.grants = grants(settings);
    let places = policy.places.with_writable(writable(settings));
    policy.places = places.with_links(real_path);
    policy.own_paths = own_paths(loaded, workspace);
    let files = Workspace::open(workspace)?;
    policy.records = RecordsLookup::new(move |path| files.records_around(path));
    policy.obeyed_by_git = obeyed_by_git(workspace);
    policy.linked_from_home = linked_from_home(workspace);
    policy.lookup = ProgramLookup::new(find_program);
    (policy.person, policy.project) = written_rules(loaded);
    Ok(Authorizer {
        commands: settings.commands,
        policy,
        work_approval: loaded.work_approval,
        kept_rules: KeptRules::kept_in(trust.directory()),
        kept_answers: KeptAnswers::kept_in(trust.directory()),
        known_sessions: KnownSessions::kept_in(trust.directory()),
        runner,
        runner_choice: settings.runner.clone(),
        runners_with_results: other_runners_with_results(loaded, workspace, trust),
        confinement,
        kept_inventory: kept_inventory(trust, &loaded.paths.sessions),
        network: settings.network,
        strength,
    })
}

/// The runner that the settings name. Nothing is started before its first command.
pub(super) fn runner(
    loaded: &Loaded,
    workspace: &Path,
    trust: &Trust,
    testing: Testing,
) -> Result<Arc<dyn Runner>> {
    Ok(match loaded.settings.runner.clone() {
        RunnerChoice::Local => Arc::new(local_runner(&loaded.settings, None)?),
        RunnerChoice::Exec(words) => Arc::new(ExecRunner::new(words)),
        RunnerChoice::Container { engine, image } => {
            let mut confinement = confinement(loaded, workspace, trust, testing)?;
            let ignored = drop_mounts_of_project(loaded, &mut confinement);
            // What was built for one image may not run in another.
            let plan = ContainerPlan::read(engine, &image, &Workspace::open(workspace)?);
            if let Some(file) = described_in(&image) {
                // A command must not choose the container of the next one, nor move it away.
                let above = Path::new(file).ancestors().skip(1);
                let above = above.filter(|path| !path.as_os_str().is_empty());
                (confinement.pinned).extend(above.map(|path| workspace.join(path)));
                confinement.read_only.push(workspace.join(file));
            }
            let image = plan.as_ref().map_or(&image, |plan| &plan.image);
            let name = blake3::hash(image.as_bytes()).to_hex();
            let cache = (confinement.cache.take())
                .map(|cache| cache.join(format!("{}-{}", engine.program(), &name[..8])));
            confinement.cache = cache.filter(|cache| own_directory(cache).is_ok());
            let canary = trust.directory().map(Path::to_owned);
            let mut container = ContainerRunner::new(engine, plan, confinement, canary);
            for key in ignored {
                container = container.with_notice(format!(
                    "`{key}` of this project's settings does not count in a container; only your own settings and flags do"
                ));
            }
            if !is_remote(engine) {
                return Ok(Arc::new(container));
            }
            let connection =
                |name: &str| container.on_another_machine(format!("agent-files-{name}"));
            exchange(connection, Some(REMOTE_FILES), (loaded, workspace, trust))?
        }
        RunnerChoice::Ssh { host, directory } => {
            let connection = |_: &str| SshConnection::new(host);
            exchange(connection, directory.as_deref(), (loaded, workspace, trust))?
        }
        RunnerChoice::Kubectl {
            namespace,
            pod,
            container,
        } => {
            let connection = |_: &str| PodConnection {
                namespace,
                pod,
                container,
            };
            exchange(connection, None, (loaded, workspace, trust))?
        }
    })
}

/// The only directories that commands can change although they have no sandbox, if the live test says
/// that this holds.
fn writable_without_sandbox(
    settings: &Settings,
    workspace: &Path,
    strength: Option<&Strength>,
) -> Option<Vec<PathBuf>> {
    strength
        .filter(|strength| strength.backend.is_none() && strength.holds(PropertyName::Files))?;
    let mut writable = vec![workspace.to_owned()];
    writable.extend_from_slice(&settings.extra_write_paths);
    Some(writable)
}

/// Runs commands on this machine. Those that have no sandbox can change only the given directories, if
/// there are any.
fn local_runner(settings: &Settings, writable: Option<Vec<PathBuf>>) -> Result<LocalRunner> {
    Ok(LocalRunner {
        shell: shell(settings)?,
        restrictions: ChildRestrictions {
            limits: Some(limits(settings)),
            writable,
        },
    })
}

/// The shell of this machine that the settings name.
fn shell(settings: &Settings) -> Result<CommandShell> {
    let wanted = settings.shell.only();
    CommandShell::find(wanted).ok_or_else(|| {
        let word = settings.shell.word();
        Error::mendable(format!(
            "`Shell` is `{word}`, and there is no `{word}` here"
        ))
        .hint("install it, or set `Shell` to `auto`")
    })
}

/// Drops the extra paths that a project's settings name, trusted or not: what a container mounts is the
/// person's alone. Tells the names of these settings.
fn drop_mounts_of_project(loaded: &Loaded, confinement: &mut Confinement) -> Vec<&'static str> {
    let extra = [
        ("ExtraReadPaths", &mut confinement.extra_read),
        ("ExtraWritePaths", &mut confinement.extra_write),
    ];
    let of_project = extra.into_iter().filter(|(key, paths)| {
        let origin = loaded.origins.get(key);
        !paths.is_empty() && matches!(origin, Some(Origin::File(_)))
    });
    let dropped = of_project.map(|(key, paths)| {
        paths.clear();
        key
    });
    dropped.collect()
}

/// The file of the workspace that describes the container, if the image is named by one.
fn described_in(image: &str) -> Option<&str> {
    let file = image.strip_prefix("./")?;
    Some(file.split_once('#').map_or(file, |(file, _)| file))
}

/// A runner that exchanges files over the connection for this name of the workspace.
fn exchange<C: RemoteConnection + 'static>(
    connection: impl FnOnce(&str) -> C,
    directory: Option<&str>,
    (loaded, workspace, trust): (&Loaded, &Path, &Trust),
) -> Result<Arc<dyn Runner>> {
    let files = Workspace::open(workspace)?.leaving_out(own_paths(loaded, workspace));
    let runner = loaded.settings.runner.to_string();
    let memories = exchange_memories(loaded, workspace);
    let name = blake3::hash(format!("{memories}\n{runner}").as_bytes()).to_hex();
    let name = &name[..16];
    let memory = trust.directory().map(|state| ExchangeMemory {
        file: state.join(format!("{memories}{name}.json")),
        runner,
    });
    if let Some(state) = trust.directory() {
        create_directory(state)?;
    }
    let runner = ExchangeRunner::new(connection(name), files, directory, name, memory);
    Ok(Arc::new(runner))
}

/// The beginning of the names of files in which exchanges of this workspace are remembered.
///
/// Two base directories may share a workspace: the one must not remove what the other one has elsewhere.
/// Several machines may share a directory over there.
fn exchange_memories(loaded: &Loaded, workspace: &Path) -> String {
    let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let sessions = &loaded.paths.sessions;
    // They may not exist yet; what is above them does.
    let above = sessions.parent().and_then(real_path);
    let sessions = match (above, sessions.file_name()) {
        (Some(above), Some(name)) => above.join(name),
        _ => sessions.clone(),
    };
    let words = format!("{machine}\n{}\n{}", workspace.display(), sessions.display());
    let name = blake3::hash(words.as_bytes()).to_hex();
    format!("runner-{}-", &name[..16])
}

/// Other runners than the chosen one from which results of commands in this workspace have not come
/// back.
fn other_runners_with_results(loaded: &Loaded, workspace: &Path, trust: &Trust) -> Vec<String> {
    let Some(state) = trust.directory() else {
        return Vec::new();
    };
    let mut runners = runners_with_results(state, &exchange_memories(loaded, workspace));
    let chosen = loaded.settings.runner.to_string();
    runners.retain(|runner| *runner != chosen);
    runners
}

/// How far a runner confines commands. Only one that promises it counts as a sandbox.
fn confinement_by(runner: &dyn Runner, mode: SandboxMode) -> policy::CommandConfinement {
    use policy::CommandConfinement::{Missing, Required, Sandboxed, SwitchedOff};
    match (runner.promises(), mode) {
        ([_, ..], _) => Sandboxed,
        ([], SandboxMode::Required) => Required,
        ([], SandboxMode::Auto) => Missing,
        ([], SandboxMode::Off) => SwitchedOff,
    }
}

/// Where stands, while a command runs, which repositories it found.
pub(super) fn kept_inventory(trust: &Trust, sessions: &Path) -> Option<PathBuf> {
    let real = crate::fs::canonical(sessions);
    let sessions = real.as_deref().unwrap_or(sessions).as_os_str();
    let name = blake3::hash(sessions.as_encoded_bytes()).to_hex();
    let directory = trust.directory()?;
    Some(directory.join(format!("repositories-{}.json", &name[..16])))
}

/// Keeps this process from starting a program that a command may have planted.
pub(super) fn distrust_programs(loaded: &Loaded, workspace: &Path) {
    programs::distrust(workspace);
    for directory in loaded.paths.directories() {
        programs::distrust(directory);
    }
    for directory in writable(&loaded.settings) {
        programs::distrust(&directory);
    }
}

/// The rules of the settings: those of a settings file are the project's, and only `Allow` needs
/// the trust that it was read with.
fn written_rules(loaded: &Loaded) -> (PersonRules, ProjectRules) {
    let settings = &loaded.settings;
    let (mut person, mut project) = (PersonRules::default(), ProjectRules::default());
    let is_of_project = |key| matches!(loaded.origins.get(key), Some(Origin::File(_)));
    person.allow.clone_from(&settings.allow);
    if is_of_project("Ask") {
        project.ask.clone_from(&settings.ask);
    } else {
        person.ask.clone_from(&settings.ask);
    }
    if is_of_project("Deny") {
        project.deny.clone_from(&settings.deny);
    } else {
        person.deny.clone_from(&settings.deny);
    }
    let further = |key| loaded.further_rules.get(key).cloned().unwrap_or_default();
    person.ask.extend(further("Ask"));
    person.deny.extend(further("Deny"));
    (person, project)
}

/// Where commands may write besides the workspace, under every name that leads there.
fn writable(settings: &Settings) -> impl Iterator<Item = PathBuf> {
    (settings.extra_write_paths.clone().into_iter())
        .flat_map(|path| [crate::fs::canonical(&path).ok(), Some(path)])
        .flatten()
}

fn grants(settings: &Settings) -> Vec<Grant> {
    let mut grants = settings.grants.clone();
    if settings.network == Network::On && !grants.contains(&Grant::Network) {
        grants.push(Grant::Network);
    }
    grants
}

fn limits(settings: &Settings) -> ResourceLimits {
    const MEGABYTE: u64 = 1 << 20;
    ResourceLimits {
        processes: Some(settings.max_processes),
        memory: Some(settings.max_memory_megabytes * MEGABYTE),
        file_size: Some(settings.max_written_megabytes * MEGABYTE),
        open_files: Some(settings.max_open_files),
        cpu_seconds: Some(settings.max_cpu_seconds).filter(|seconds| *seconds > 0),
        cpus: Some(settings.max_cpus).filter(|cpus| *cpus > 0),
        ..ResourceLimits::default()
    }
}

fn confinement(
    loaded: &Loaded,
    workspace: &Path,
    trust: &Trust,
    testing: Testing,
) -> Result<Confinement> {
    let settings = &loaded.settings;
    let grants = grants(settings);
    let mut confinement = Confinement::of_workspace(workspace);
    confinement.identity = FileIdentity::of(workspace);
    confinement.network = grants.contains(&Grant::Network);
    confinement.git_write = grants.contains(&Grant::GitWrite);
    (confinement.extra_read).clone_from(&settings.extra_read_paths);
    (confinement.extra_write).clone_from(&settings.extra_write_paths);
    confinement.limits = limits(settings);
    let own = loaded.paths.directories().into_iter();
    confinement.hidden = own.map(Path::to_owned).collect();
    confinement
        .hidden
        .extend(trust.directory().map(Path::to_owned));
    confinement.find_repository();
    let opened: Vec<PathBuf> = writable(settings).collect();
    protect_settings(&mut confinement, &loaded.paths.settings_files, &opened);
    if testing == Testing::Remembered {
        let cache = loaded.paths.sessions.join("cache");
        confinement.cache = match own_directory(&cache) {
            Ok(()) => Some(cache),
            Err(trouble) if cache.is_symlink() => return Err(trouble),
            // Without a cache of its own a build starts cold each time; that is no reason to stop.
            Err(_) => None,
        };
    }
    Ok(confinement)
}

/// Closes a settings file that commands could write, in the workspace or in a path that the person
/// opened, and the `.agent` beside it, which would count in its place.
fn protect_settings(confinement: &mut Confinement, files: &[PathBuf], opened: &[PathBuf]) {
    let state = confinement.workspace.join(sandbox::STATE);
    for file in files {
        let mut writable = [&confinement.workspace].into_iter().chain(opened);
        let is_open = writable.any(|place| file.starts_with(place)) && !file.starts_with(&state);
        if let (true, Some(directory)) = (is_open, file.parent()) {
            confinement.read_only.push(file.clone());
            if !directory.ends_with(sandbox::STATE) {
                confinement.hidden.push(directory.join(sandbox::STATE));
            }
        }
    }
}

/// Our own folders and settings, where they lie in the workspace.
pub(super) fn own_paths(loaded: &Loaded, workspace: &Path) -> Vec<RelPath> {
    let inside = |path: &Path| {
        path.strip_prefix(workspace)
            .ok()?
            .to_str()
            .map(RelPath::parse)
    };
    let inside = loaded.paths.own().filter_map(inside);
    inside.flatten().collect()
}

/// Paths in the workspace that git runs or obeys because the configuration of the repository, or
/// the person's own, names them.
fn obeyed_by_git(workspace: &Path) -> Vec<RelPath> {
    let home = std::env::home_dir().unwrap_or_default();
    let led = ConfiguredPaths::in_workspace(workspace, &home);
    let inside = led.beneath(workspace).chain(led.missing_beneath(workspace));
    inside
        .filter_map(|path| relative_to(workspace, path))
        .collect()
}

/// Where dotfiles of the person's home lead, if they are links into the workspace: `~/.bashrc` and
/// the like, and what lies in `~/.config`.
fn linked_from_home(workspace: &Path) -> Vec<RelPath> {
    /// A home with more names than these has dotfiles among the first.
    const MAX_NAMES: usize = 10_000;
    let home = std::env::home_dir().unwrap_or_default();
    let names = |directory: &Path| {
        let entries = std::fs::read_dir(directory).into_iter().flatten();
        entries.flatten().map(|entry| entry.path())
    };
    let is_dotfile = |path: &PathBuf| {
        let name = path.file_name().map(OsStr::as_encoded_bytes);
        name.is_some_and(|name| name.starts_with(b"."))
    };
    let dotfiles = names(&home).filter(is_dotfile);
    let configuration = names(&home.join(".config"));
    let deeper = names(&home.join(".config")).flat_map(|directory| names(&directory));
    let all = dotfiles.chain(configuration).chain(deeper).take(MAX_NAMES);
    // A link to something that a command removed still counts.
    let real = all
        .filter(|path| !path.starts_with(workspace))
        .map(|path| repositories::really(&path));
    real.filter(|path| path.starts_with(workspace) && path != workspace)
        .filter_map(|path| relative_to(workspace, &path))
        .collect()
}

fn relative_to(workspace: &Path, path: &Path) -> Option<RelPath> {
    RelPath::parse(path.strip_prefix(workspace).ok()?.to_str()?).ok()
}

/// The scope of checkpoints: everything but our own folders and settings.
pub(super) fn covered(loaded: &Loaded, workspace: &Path) -> CheckpointLimits {
    let mut covered = CheckpointLimits {
        max_file_bytes: loaded.settings.max_undo_file_bytes,
        max_store_bytes: loaded.settings.max_undo_megabytes << 20,
        ..CheckpointLimits::default()
    };
    let own = loaded.paths.own();
    let inside = own.filter_map(|path| path.strip_prefix(workspace).ok());
    covered.scope.leave_out.extend(inside.map(Path::to_owned));
    covered
}

/// The program that a command of this name would start.
fn find_program(name: &str) -> Option<FoundProgram> {
    let search = std::env::var_os("PATH")?;
    let found = |directory: PathBuf| {
        let suffix = std::env::consts::EXE_SUFFIX;
        [name, &format!("{name}{suffix}")]
            .into_iter()
            .find_map(|name| {
                let path = directory.join(name);
                let real = crate::fs::canonical(&path).ok()?;
                real.is_file().then_some(FoundProgram { path, real })
            })
    };
    std::env::split_paths(&search)
        .filter(|directory| directory.is_absolute())
        .find_map(found)
}

/// A live test that is remembered.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Tested {
    /// The circumstances that it was made in.
    when: Circumstances,
    strength: Strength,
}

/// The circumstances under which the result of a live test stays valid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Circumstances {
    boot: String,
    version: String,
    /// The device of the workspace: not every file system can do the same.
    device: Option<u64>,
    /// The one that was tried, if it was not the strongest.
    wanted: Option<Backend>,
}

/// How many tests are remembered, each of another file system or backend.
const MAX_REMEMBERED: usize = 16;

/// The result of the live test: that of this start of the machine, or a new one.
///
/// Only a test in which everything held is remembered. After a failure the next call tests again, so
/// that it sees what the person has fixed meanwhile.
fn strength(
    trust: &Trust,
    testing: Testing,
    workspace: &Path,
    wanted: Option<Backend>,
) -> Strength {
    let file = trust
        .directory()
        .map(|directory| directory.join("sandbox.json"));
    let now = sandbox::boot_id().map(|boot| Circumstances {
        boot,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        device: FileIdentity::of(workspace).map(|identity| identity.device),
        wanted,
    });
    let mut known: Vec<Tested> = file
        .as_ref()
        .and_then(|file| serde_json::from_slice(&std::fs::read(file).ok()?).ok())
        .unwrap_or_default();
    if let Some(tested) = known
        .iter()
        .find(|tested| Some(&tested.when) == now.as_ref())
    {
        return tested.strength.clone();
    }
    let strength = sandbox::probe(Path::new("/proc/self/exe"), workspace, wanted);
    if let (Testing::Remembered, Some(file), Some(when), true) =
        (testing, file, now, strength.is_whole())
    {
        known.retain(|tested| tested.when.boot == when.boot && tested.when.version == when.version);
        known.truncate(MAX_REMEMBERED - 1);
        known.insert(
            0,
            Tested {
                when,
                strength: strength.clone(),
            },
        );
        let directory = file.parent().map_or(Ok(()), create_directory);
        if let (Ok(()), Ok(json)) = (directory, serde_json::to_vec_pretty(&known)) {
            // A test that is not remembered is made again, no more.
            let _ = write_atomic(&file, &json, Durability::Atomic);
        }
    }
    strength
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::{Property, PropertyName};
    use crate::settings::{self, Base, Overrides};

    fn remembered(device: Option<u64>, wanted: Option<Backend>) -> Tested {
        Tested {
            when: Circumstances {
                boot: sandbox::boot_id().unwrap_or_default(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                device,
                wanted,
            },
            strength: Strength {
                backend: Some(Backend::Bubblewrap),
                properties: vec![Property {
                    name: PropertyName::Network,
                    holds: true,
                }],
                reasons: Vec::new(),
            },
        }
    }

    /// Checks whether a remembered test is used. This program has no supervisor, so a test that is
    /// made now fails.
    #[track_caller]
    fn case(tested: &Tested, is_used: bool) {
        let (state, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = state.path().join("sandbox.json");
        let json = serde_json::to_vec(&[tested]).unwrap();
        write_atomic(&file, &json, Durability::Atomic).unwrap();
        let trust = Trust::kept_in(state.path());
        let strength = strength(&trust, Testing::Remembered, workspace.path(), None);
        assert_eq!(strength.holds(PropertyName::Network), is_used);
        assert_eq!(
            std::fs::read(&file).unwrap(),
            json,
            "a failure is not remembered"
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_test_counts_for_its_file_system_and_backend_until_the_next_start() {
        let device = FileIdentity::of(&std::env::temp_dir()).map(|identity| identity.device);
        case(&remembered(device, None), true);
        case(&remembered(Some(u64::MAX), None), false);
        case(&remembered(device, Some(Backend::Landlock)), false);
        let mut old = remembered(device, None);
        old.when.boot = "another".to_owned();
        case(&old, false);
    }

    #[test]
    fn a_trusted_project_names_no_path_that_a_container_mounts() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let trust = Trust::kept_in(root.join("state"));
        let file = root.join("base/appsettings.json");
        create_directory(&root.join("base")).unwrap();
        let text = br#"{"Agent": {"ExtraReadPaths": ["/opt"], "ExtraWritePaths": ["/srv"]}}"#;
        write_atomic(&file, text, Durability::Atomic).unwrap();
        trust.add(&file).unwrap();
        let base = Base {
            directory: root.join("base"),
            settings_file: Some(file),
        };
        let flags = Overrides::default().with("--extra-write-paths", Some("/var/mine"));
        let layers = settings::read(&base, std::iter::empty(), &flags).unwrap();
        let loaded = layers.settle(&trust).unwrap();
        assert_eq!(loaded.settings.extra_read_paths, [Path::new("/opt")]);
        let mut confinement =
            confinement(&loaded, &root.join("base"), &trust, Testing::Unneeded).unwrap();
        let dropped = drop_mounts_of_project(&loaded, &mut confinement);
        assert_eq!(dropped, ["ExtraReadPaths"]);
        assert!(confinement.extra_read.is_empty());
        assert_eq!(confinement.extra_write, [Path::new("/var/mine")]);
    }

    #[test]
    fn a_failed_test_is_not_remembered() {
        let (state, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let trust = Trust::kept_in(state.path());
        let strength = strength(&trust, Testing::Remembered, workspace.path(), None);
        assert!(!strength.is_whole());
        assert_eq!(std::fs::read_dir(state.path()).unwrap().count(), 0);
    }
}
