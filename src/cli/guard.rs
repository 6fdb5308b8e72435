//! From the settings to what the model may do: the rules and the sandbox.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::agent::Permit;
use crate::approve::KeptRules;
use crate::checkpoint;
use crate::error::{Error, Result};
use crate::fs::{Durability, create_directory, own_directory, write_atomic};
use crate::platform::programs;
use crate::policy::{self, Found, Grant, Lookup, PersonRules, Policy, ProjectRules, Rule};
use crate::protocol::RelPath;
use crate::repositories::Led;
use crate::sandbox::{self, Confinement, Identity, Mode, ResourceLimits, Strength};
use crate::settings::{Loaded, Origin, Settings, Trust};
use crate::ui::escape_line;

/// How much is done to know the sandbox of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Testing {
    /// It is tried where nobody knows yet, and remembered until the next start of the machine.
    Remembered,
    /// It is tried where nobody knows yet; nothing is written.
    Unremembered,
    /// No command is going to be run.
    Unneeded,
}

/// Joins rules and sandbox for a workspace.
pub(super) fn permit(
    loaded: &Loaded,
    workspace: &Path,
    trust: &Trust,
    testing: Testing,
) -> Result<Permit> {
    let settings = &loaded.settings;
    distrust_programs(loaded, workspace);
    let mode = match settings.sandbox.as_str() {
        "required" => Mode::Required,
        "off" => Mode::Off,
        _ => Mode::Auto,
    };
    let strength =
        (mode != Mode::Off && testing != Testing::Unneeded).then(|| strength(trust, testing));
    let confinement = match strength.as_ref().and_then(|strength| strength.backend) {
        Some(backend) => Some(Confinement {
            backend,
            ..confinement(loaded, workspace, trust, testing)?
        }),
        None => None,
    };
    let mut policy = Policy::new(workspace, std::env::home_dir().as_deref());
    policy.approval = settings.approval.parse().unwrap_or_default();
    policy.strictness = settings.policy.parse().unwrap_or_default();
    policy.confinement = match (mode, &confinement) {
        (Mode::Off, _) => policy::Confinement::SwitchedOff,
        (_, Some(confinement)) if confinement.exposes_records() => {
            policy::Confinement::RecordsExposed
        }
        (_, Some(_)) => policy::Confinement::Sandboxed,
        (Mode::Auto, None) => policy::Confinement::Missing,
        (Mode::Required, None) => policy::Confinement::Required,
    };
    policy.grants = grants(settings);
    policy.places = policy.places.with_writable(writable(settings));
    policy.own_paths = own_paths(loaded, workspace);
    policy.obeyed_by_git = obeyed_by_git(workspace);
    policy.lookup = Lookup::new(find_program);
    (policy.person, policy.project) = written_rules(loaded)?;
    Ok(Permit {
        commands: settings.commands,
        policy,
        work_approval: loaded.work_approval.parse().unwrap_or_default(),
        kept_rules: KeptRules::kept_in(trust.directory()),
        confinement,
        network: settings.network.parse().unwrap_or_default(),
        strength,
    })
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
fn written_rules(loaded: &Loaded) -> Result<(PersonRules, ProjectRules)> {
    let settings = &loaded.settings;
    let origin = |key| loaded.origins.get(key).unwrap_or(&Origin::Default);
    let parse = |key: &'static str, text: &str| -> Result<Vec<Rule>> {
        let rules = text.split(',').filter(|text| !text.is_empty());
        let rule = |text: &str| {
            Rule::parse(text).map_err(|problem| {
                Error::mendable(format!(
                    "`{key}` ({}) holds `{}`, which is no rule",
                    origin(key),
                    escape_line(text)
                ))
                .because(problem)
                .hint(format!(
                    "`agent help settings {key}` says what may be written"
                ))
            })
        };
        rules.map(rule).collect()
    };
    let (mut person, mut project) = (PersonRules::default(), ProjectRules::default());
    let is_of_project = |key| matches!(origin(key), Origin::File(_));
    person.allow = parse("Allow", &settings.allow)?;
    let ask = parse("Ask", &settings.ask)?;
    let deny = parse("Deny", &settings.deny)?;
    if is_of_project("Ask") {
        project.ask = ask;
    } else {
        person.ask = ask;
    }
    if is_of_project("Deny") {
        project.deny = deny;
    } else {
        person.deny = deny;
    }
    let further = |key: &str| loaded.further_rules.get(key).map_or("", String::as_str);
    person.ask.extend(parse("Ask", further("Ask"))?);
    person.deny.extend(parse("Deny", further("Deny"))?);
    Ok((person, project))
}

/// Where commands may write besides the workspace, under every name that leads there.
fn writable(settings: &Settings) -> impl Iterator<Item = PathBuf> {
    paths(&settings.extra_write_paths)
        .into_iter()
        .flat_map(|path| [path.canonicalize().ok(), Some(path)])
        .flatten()
}

fn paths(text: &str) -> Vec<PathBuf> {
    std::env::split_paths(text)
        .filter(|path| !path.as_os_str().is_empty())
        .collect()
}

fn grants(settings: &Settings) -> Vec<Grant> {
    let mut grants: Vec<Grant> = settings
        .grants
        .split(',')
        .filter_map(|word| word.parse().ok())
        .collect();
    if settings.network == "on" && !grants.contains(&Grant::Network) {
        grants.push(Grant::Network);
    }
    grants
}

fn confinement(
    loaded: &Loaded,
    workspace: &Path,
    trust: &Trust,
    testing: Testing,
) -> Result<Confinement> {
    const MEGABYTE: u64 = 1 << 20;
    let settings = &loaded.settings;
    let grants = grants(settings);
    let mut confinement = Confinement::of_workspace(workspace);
    confinement.identity = Identity::of(workspace);
    confinement.network = grants.contains(&Grant::Network);
    confinement.git_write = grants.contains(&Grant::GitWrite);
    confinement.extra_read = paths(&settings.extra_read_paths);
    confinement.extra_write = paths(&settings.extra_write_paths);
    confinement.limits = ResourceLimits {
        processes: Some(settings.max_processes),
        memory: Some(settings.max_memory_megabytes * MEGABYTE),
        file_size: Some(settings.max_written_megabytes * MEGABYTE),
        open_files: Some(settings.max_open_files),
        cpu_seconds: Some(settings.max_cpu_seconds).filter(|seconds| *seconds > 0),
        ..ResourceLimits::default()
    };
    let own = loaded.paths.directories().into_iter();
    confinement.hidden = own.map(Path::to_owned).collect();
    confinement
        .hidden
        .extend(trust.directory().map(Path::to_owned));
    confinement.find_repository();
    protect_settings(&mut confinement, &loaded.paths.settings_files);
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

/// Closes a settings file that lies in the workspace, and the `.agent` beside it, which would count
/// in its place.
fn protect_settings(confinement: &mut Confinement, files: &[PathBuf]) {
    let state = confinement.workspace.join(sandbox::STATE);
    for file in files {
        let is_open = file.starts_with(&confinement.workspace) && !file.starts_with(&state);
        if let (true, Some(directory)) = (is_open, file.parent()) {
            confinement.read_only.push(file.clone());
            confinement.hidden.push(directory.join(sandbox::STATE));
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

/// What git runs or obeys in the workspace because the configuration of the repository, or of the
/// person, names it.
fn obeyed_by_git(workspace: &Path) -> Vec<RelPath> {
    let home = std::env::home_dir().unwrap_or_default();
    let led = Led::in_workspace(workspace, &home);
    let inside = led.beneath(workspace).filter_map(|path| {
        let path = path.strip_prefix(workspace).ok()?;
        RelPath::parse(path.to_str()?).ok()
    });
    inside.collect()
}

/// What checkpoints look at: all but our own folders and settings.
pub(super) fn covered(loaded: &Loaded, workspace: &Path) -> checkpoint::Limits {
    let mut covered = checkpoint::Limits {
        max_file_bytes: loaded.settings.max_undo_file_bytes,
        max_store_bytes: loaded.settings.max_undo_megabytes << 20,
        ..checkpoint::Limits::default()
    };
    let own = loaded.paths.own();
    let inside = own.filter_map(|path| path.strip_prefix(workspace).ok());
    covered.scope.leave_out.extend(inside.map(Path::to_owned));
    covered
}

/// The program that a command of this name would start.
fn find_program(name: &str) -> Option<Found> {
    let search = std::env::var_os("PATH")?;
    let found = |directory: PathBuf| {
        let path = directory.join(name);
        let real = path.canonicalize().ok()?;
        real.is_file().then_some(Found { path, real })
    };
    std::env::split_paths(&search)
        .filter(|directory| directory.is_absolute())
        .find_map(found)
}

/// What is remembered of a live test.
#[derive(Debug, Serialize, Deserialize)]
struct Tested {
    boot: Option<String>,
    version: String,
    strength: Strength,
}

/// The result of the live test: the one of this start of the machine, or a new one.
fn strength(trust: &Trust, testing: Testing) -> Strength {
    let file = trust
        .directory()
        .map(|directory| directory.join("sandbox.json"));
    let boot = sandbox::boot_id();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let known: Option<Tested> = file
        .as_ref()
        .and_then(|file| serde_json::from_slice(&std::fs::read(file).ok()?).ok());
    if let Some(known) =
        known.filter(|known| known.boot == boot && boot.is_some() && known.version == version)
    {
        return known.strength;
    }
    let strength = sandbox::probe(Path::new("/proc/self/exe"));
    if let (Testing::Remembered, Some(file)) = (testing, file) {
        let tested = Tested {
            boot,
            version,
            strength: strength.clone(),
        };
        let directory = file.parent().map_or(Ok(()), create_directory);
        if let (Ok(()), Ok(json)) = (directory, serde_json::to_vec_pretty(&tested)) {
            // A test that is not remembered is made again, no more.
            let _ = write_atomic(&file, &json, Durability::Atomic);
        }
    }
    strength
}
