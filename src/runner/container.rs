//! Commands in a container, by the engine's own command-line program.
//!
//! A container is started once for a session and each set of permissions, and each command is an
//! `exec` in it. Its first process, the keeper, reads from us and does nothing else: when we end, in
//! whatever way, its input ends, it ends, and the engine kills and removes the container. The keeper
//! runs as another user than the commands, which therefore cannot end it; so a command's script may
//! kill all processes that it sees.
//!
//! An engine on another machine cannot mount the workspace. There the container has a volume, and
//! [`exchange`](super::exchange) sends files to it and fetches them as over ssh.
//!
//! Before the first command the container is tested from inside. If something that was promised does
//! not hold, no command runs there.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::channel::{self, Belongings, Errand, Lifeline, quoted};
use super::exchange::RemoteConnection;
use super::owner;
use super::{ContainerEngine, ContainerPlan, End, Granted, Job, Program, Ran, Runner};
use crate::platform::{ChildEvent, ChildExit, ChildSession, ChildTree, programs};
use crate::sandbox::{self, Confinement, Property, PropertyName, Shield};
use crate::workspace::Workspace;

/// The label of every container of ours.
const LABEL: &str = "agent.runner";

/// Options of every container.
const HARDENING: [&str; 4] = [
    "--read-only",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    "--ulimit=core=0:0",
];

/// The user of the keeper: nobody's, and not that of the commands.
const KEEPER: &str = "65534:65534";

/// The keeper says this when the container runs.
const READY: &str = "agent-ready";

/// The home of commands, which is scratch space.
const HOME: &str = "/home/agent";

/// Where the volume of an engine on another machine is, and the workspace in it.
const VOLUME: &str = "/agent";
/// The workspace in a container of an engine on another machine.
pub const REMOTE_FILES: &str = "/agent/files";

/// How long an engine may take to start a container.
const START: Duration = Duration::from_mins(1);

/// How long an engine may take to answer, and to end a container.
const ANSWER: Duration = Duration::from_secs(20);

/// Properties without which no command runs in a container.
const PROMISED: [PropertyName; 6] = [
    PropertyName::Home,
    PropertyName::Files,
    PropertyName::Network,
    PropertyName::Processes,
    PropertyName::Signals,
    PropertyName::Privileges,
];

/// Runs commands in containers of one image.
#[derive(Debug)]
pub struct ContainerRunner {
    engine: ContainerEngine,
    /// The image and its use, or why it is not known.
    plan: Result<ContainerPlan, String>,
    /// The workspace, its protected paths and the limits, as for the local sandbox.
    confinement: Confinement,
    /// A directory of the person that a container must not show.
    canary: Option<PathBuf>,
    /// The volume that has the workspace, if the engine is on another machine.
    volume: Option<String>,
    keepers: Mutex<BTreeMap<Granted, Keeper>>,
}

/// A container that runs.
#[derive(Debug)]
struct Keeper {
    engine: ContainerEngine,
    name: String,
    /// Commands run as this user.
    user: String,
    client: Option<ChildTree>,
    lifeline: Option<Lifeline>,
    properties: Vec<Property>,
}

impl ContainerRunner {
    /// A runner for this image and workspace; nothing is started yet. The file `canary` must not be
    /// seen in a container.
    pub fn new(
        engine: ContainerEngine,
        plan: Result<ContainerPlan, String>,
        mut confinement: Confinement,
        canary: Option<PathBuf>,
    ) -> Self {
        confinement.home = PathBuf::from(HOME);
        Self {
            engine,
            plan,
            confinement,
            canary,
            volume: None,
            keepers: Mutex::default(),
        }
    }

    /// The same runner for an engine on another machine, with the workspace in a volume of this name.
    #[must_use]
    pub fn on_another_machine(mut self, volume: String) -> Self {
        self.volume = Some(volume);
        self.confinement.cache = None;
        if let Ok(plan) = &mut self.plan
            && plan.folder.take().is_some()
        {
            plan.ignored
                .push("the folder (the engine is on another machine)".to_owned());
        }
        self
    }

    /// Gives the container with these permissions, which is started if it does not run.
    fn with_keeper<T>(
        &self,
        granted: Granted,
        work: impl FnOnce(&Keeper) -> T,
    ) -> Result<T, String> {
        let mut keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        if keepers.get_mut(&granted).is_none_or(Keeper::has_ended) {
            keepers.remove(&granted);
            if keepers.is_empty() {
                remove_stale(self.engine);
                self.make_volume()?;
            }
            let keeper = self.start(granted)?;
            keepers.insert(granted, keeper);
        }
        let keeper = keepers.get(&granted).ok_or("the container did not start")?;
        Ok(work(keeper))
    }

    fn start(&self, granted: Granted) -> Result<Keeper, String> {
        let engine = self.engine.program();
        if cfg!(windows) {
            return Err(format!("`{engine}:` does not work on Windows yet; use WSL"));
        }
        self.plan.as_ref().map_err(String::clone)?;
        let identity = self.identity()?;
        let name = format!(
            "agent-{}-{}",
            owner::own_process(),
            uuid::Uuid::new_v4().simple()
        );
        let mut client = self.client()?;
        client.args(["run", "--interactive", "--rm", "--pull=never"]);
        client.args(["--name", &name, "--label", &label()]);
        client.args(self.options(granted)).args(identity.options);
        client.args(["--entrypoint", "sh", self.image(), "-c"]);
        // With a second command the shell waits for the first, and so it also reaps orphans.
        client.arg(format!("echo {READY}; cat >/dev/null; exit 0"));
        client.arg("agent-keeper");
        let (client, lifeline) = Lifeline::start(client, String::new())?;
        let mut keeper = Keeper {
            engine: self.engine,
            name,
            user: identity.user,
            client: Some(client),
            lifeline: Some(lifeline),
            properties: Vec::new(),
        };
        keeper.wait_until_ready(self.image())?;
        keeper.properties = self.tested(&keeper, granted)?;
        Ok(keeper)
    }

    /// Makes the volume, if there is to be one, with a directory that commands can write to.
    fn make_volume(&self) -> Result<(), String> {
        let (Some(volume), Ok(_)) = (&self.volume, &self.plan) else {
            return Ok(());
        };
        let explained = |words: String| explain(self.engine, self.image(), &words);
        let mut client = self.client()?;
        client.args(["volume", "create", "--label", &label(), volume]);
        answer(client).map_err(explained)?;
        // A new volume is root's. This root has no capabilities, and sees the volume only.
        let mut client = self.client()?;
        client.args(["run", "--rm", "--pull=never", "--label", &label()]);
        client
            .args(HARDENING)
            .args(["--network=none", "--user=0:0"]);
        client.arg(mounted(volume));
        client.args(["--entrypoint", "sh", self.image(), "-c"]);
        client.arg(format!(
            "mkdir -p {REMOTE_FILES} && chmod 777 {REMOTE_FILES}"
        ));
        answer(client).map(drop).map_err(explained)
    }

    fn image(&self) -> &str {
        self.plan.as_ref().map_or("", |plan| &plan.image)
    }

    /// Where the workspace is shown: at its own path, and in the folder that a file names.
    fn roots(&self) -> Vec<&Path> {
        let folder = self
            .plan
            .as_ref()
            .ok()
            .and_then(|plan| plan.folder.as_deref());
        [self.confinement.workspace.as_path()]
            .into_iter()
            .chain(folder)
            .collect()
    }

    fn client(&self) -> Result<Command, String> {
        let engine = self.engine.program();
        programs::command(engine).map_err(|_| {
            format!("`{engine}` is not installed; install it, or choose another `Runner`")
        })
    }

    /// The user of commands. An engine without root maps the person to another user.
    fn identity(&self) -> Result<CommandIdentity, String> {
        #[cfg(unix)]
        let (user, group) = (
            rustix::process::getuid().as_raw(),
            rustix::process::getgid().as_raw(),
        );
        #[cfg(not(unix))]
        let (user, group) = (1000, 1000);
        let own = format!("{user}:{group}");
        let question = match self.engine {
            ContainerEngine::Docker => "{{.SecurityOptions}}",
            ContainerEngine::Podman => "{{.Host.Security.Rootless}}",
        };
        let mut client = self.client()?;
        client.args(["info", "--format", question]);
        let told = answer(client).map_err(|words| explain(self.engine, self.image(), &words))?;
        let is_rootless = told.contains("rootless") || told.trim() == "true";
        Ok(match self.engine {
            ContainerEngine::Docker if is_rootless => CommandIdentity {
                user: "0:0".to_owned(),
                options: Vec::new(),
            },
            ContainerEngine::Podman if is_rootless => CommandIdentity {
                user: own,
                options: (["--userns=keep-id".to_owned()].into_iter())
                    // Not every system lets an engine without root limit processes in another way.
                    .chain(
                        (self.confinement.limits.processes)
                            .map(|most| format!("--ulimit=nproc={most}:{most}")),
                    )
                    .collect(),
            },
            ContainerEngine::Docker | ContainerEngine::Podman => CommandIdentity {
                user: own,
                options: Vec::new(),
            },
        })
    }

    /// Everything that confines the container.
    fn options(&self, granted: Granted) -> Vec<String> {
        let limits = &self.confinement.limits;
        let mut options = HARDENING.map(str::to_owned).to_vec();
        options.push(format!("--user={KEEPER}"));
        if self.engine == ContainerEngine::Podman {
            // Else a system with SELinux denies the mounts below.
            options.push("--security-opt=label=disable".to_owned());
        }
        if !granted.network {
            options.push("--network=none".to_owned());
        }
        // Podman would copy what it covers into it: a hidden directory would be shown.
        let empty = match self.engine {
            ContainerEngine::Docker => "",
            ContainerEngine::Podman => ",notmpcopyup",
        };
        let scratch = format!(
            "rw,exec,nosuid,nodev,mode=1777,size={}{empty}",
            limits.scratch
        );
        for path in ["/tmp", "/var/tmp", HOME] {
            options.push(format!("--tmpfs={path}:{scratch}"));
        }
        options.extend(limits.processes.map(|most| format!("--pids-limit={most}")));
        options.extend(limits.memory.map(|most| format!("--memory={most}")));
        options.extend(
            limits
                .open_files
                .map(|most| format!("--ulimit=nofile={most}:{most}")),
        );
        options.extend(
            limits
                .file_size
                .map(|most| format!("--ulimit=fsize={most}:{most}")),
        );
        options.extend(
            limits
                .cpu_seconds
                .map(|most| format!("--ulimit=cpu={most}:{most}")),
        );
        // Docker refuses more than there are.
        let processors = match self.volume {
            Some(_) => u64::MAX,
            None => {
                std::thread::available_parallelism().map_or(u64::MAX, |number| number.get() as u64)
            }
        };
        options.extend(
            limits
                .cpus
                .map(|most| format!("--cpus={}", most.min(processors))),
        );
        if let Some(volume) = &self.volume {
            options.push(mounted(volume));
            return options;
        }
        let workspace = &self.confinement.workspace;
        let roots = self.roots();
        options.extend(roots.iter().map(|root| bind(workspace, root, "")));
        if let Some(cache) = &self.confinement.cache {
            options.push(bind(cache, &Path::new(HOME).join(".cache"), ""));
        }
        for path in &self.confinement.extra_read {
            options.push(bind(path, path, ",readonly"));
        }
        for path in &self.confinement.extra_write {
            options.push(bind(path, path, ""));
        }
        let mut confinement = self.confinement.clone();
        confinement.git_write = granted.git_write;
        for (path, shield) in confinement.shields() {
            let inside = path.strip_prefix(workspace).unwrap_or(&path);
            options.extend(roots.iter().map(|root| match (shield, root.join(inside)) {
                (Shield::ReadOnly, to) => bind(&path, &to, ",readonly"),
                (Shield::Pinned, to) => bind(&path, &to, ""),
                (Shield::Hidden, to) if path.is_dir() => {
                    format!("--tmpfs={}:ro,size=4k,mode=555{empty}", to.display())
                }
                (Shield::Hidden, to) => bind(Path::new("/dev/null"), &to, ",readonly"),
            }));
        }
        options
    }

    /// Tests a container that has just been started; an error if it does not hold what it must.
    fn tested(&self, keeper: &Keeper, granted: Granted) -> Result<Vec<Property>, String> {
        let script = self.test_script();
        let ran = self.execute(
            keeper,
            &self.directory(&self.confinement.workspace),
            Job {
                program: Program::Shell(&script),
                directory: &self.confinement.workspace,
                environment: &[],
                timeout: START,
                max_output: 4000,
                cancelled: &AtomicBool::new(false),
                on_output: &mut |_| {},
                confinement: None,
                withheld: None,
                granted,
            },
        );
        if ran.end != End::Exited(0) {
            let words = match ran.end {
                End::NotStarted(reason) => reason,
                _ => ran.output.text,
            };
            return Err(explain(self.engine, self.image(), &words));
        }
        let told = ran.output.text;
        if told.contains("workspace=no") {
            return Err(sees_no_files(self.engine));
        }
        let properties: Vec<Property> = (PropertyName::WORDS.iter())
            .filter_map(|word| {
                let holds = told.contains(&format!("{word}=yes\n"));
                let is_told = holds || told.contains(&format!("{word}=no\n"));
                let name = word.parse().ok()?;
                is_told.then_some(Property { name, holds })
            })
            .collect();
        let is_needed = |property: &&Property| {
            PROMISED.contains(&property.name)
                && !(property.name == PropertyName::Network && granted.network)
        };
        let mut needed = properties.iter().filter(is_needed);
        match needed.find(|property| !property.holds) {
            Some(property) => Err(format!(
                "the container does not hold what it must: {}",
                property.name.sentence(false)
            )),
            None => Ok(properties),
        }
    }

    /// The live test, in words of the shell alone: an image may have no other program.
    fn test_script(&self) -> String {
        let workspace = &self.confinement.workspace;
        let mut script = String::from(
            "t() { n=$1; shift; if \"$@\" 2>/dev/null; then echo \"$n=yes\"; else echo \"$n=no\"; fi; }\n\
             no() { if \"$@\"; then return 1; fi; return 0; }\n\
             has() { while read -r k v; do [ \"$k\" = \"$2:\" ] && [ \"$v\" = \"$3\" ] && return 0; done <\"$1\"; return 1; }\n\
             writes() { (: >>\"$1\"); }\n\
             lone() { while read -r k v; do case $k in Inter-*|face|lo:*) ;; *) return 1;; esac; done </proc/net/dev; }\n\
             kept() { read -r k </proc/1/cmdline; case $k in *agent-keeper*) ;; *) return 1;; esac; }\n\
             few() { for f in /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max; do if read -r k <$f && [ \"$k\" != max ]; then return 0; fi; done; k=$(ulimit -u) && [ \"$k\" != unlimited ]; }\n\
             t files no writes /etc/agent-probe\n\
             t network lone\n\
             t processes kept\n\
             t signals no kill -0 1\n\
             t privileges has /proc/self/status CapEff 0000000000000000\n\
             t calls has /proc/self/status Seccomp 2\n\
             t kernel no writes /proc/sys/kernel/core_pattern\n\
             t user no has /proc/self/status Uid \"0\t0\t0\t0\"\n\
             t limits few\n",
        );
        if let Some(canary) = &self.canary {
            let canary = quoted(&canary.to_string_lossy());
            let _ = writeln!(script, "t home no [ -e {canary} ]");
        }
        if self.volume.is_some() {
            script.push_str("exit 0\n");
            return script;
        }
        if workspace.join(".git").is_dir() && !self.confinement.git_write {
            for root in self.roots() {
                let probe = root.join(".git/agent-probe");
                let probe = quoted(&probe.to_string_lossy());
                let _ = writeln!(script, "t repository no writes {probe}");
            }
        }
        #[cfg(unix)]
        if let Ok(found) = std::fs::metadata(workspace) {
            let inode = std::os::unix::fs::MetadataExt::ino(&found);
            // Only where the kernel is ours is the number the same.
            if cfg!(target_os = "linux") {
                let _ = writeln!(
                    script,
                    "i=$(ls -id .) && case \"$i\" in *{inode}*) ;; *) echo workspace=no;; esac"
                );
            }
        }
        script.push_str("exit 0\n");
        script
    }

    /// The directory in the container for this one of the workspace, as a word of the shell.
    fn directory(&self, directory: &Path) -> String {
        let folder = match (&self.volume, &self.plan) {
            (Some(_), _) => Some(Path::new(REMOTE_FILES)),
            (None, Ok(plan)) => plan.folder.as_deref(),
            (None, Err(_)) => None,
        };
        let inside = directory.strip_prefix(&self.confinement.workspace);
        let place = match (folder, inside) {
            (Some(folder), Ok(inside)) => folder.join(inside),
            _ => directory.to_owned(),
        };
        quoted(&place.to_string_lossy())
    }

    /// A program that runs the script that it reads from its standard input in the container.
    fn exec(&self, keeper: &Keeper) -> Result<Command, String> {
        let mut client = self.client()?;
        client.args(["exec", "--interactive", "--user", &keeper.user]);
        client.args([&keeper.name, "sh"]);
        Ok(client)
    }

    fn execute(&self, keeper: &Keeper, directory: &str, job: Job<'_>) -> Ran {
        let client = match self.exec(keeper) {
            Ok(client) => client,
            Err(reason) => return Ran::not_started(reason),
        };
        let mut confinement = self.confinement.clone();
        confinement.network = job.granted.network;
        let mut environment: Vec<(String, String)> = (confinement.environment().into_iter())
            .map(|(name, value)| (name.to_owned(), value.to_string_lossy().into_owned()))
            .collect();
        if let Ok(plan) = &self.plan {
            let names = plan
                .user
                .iter()
                .flat_map(|user| ["USER", "LOGNAME"].map(|name| (name, user)));
            environment.extend(names.map(|(name, user)| (name.to_owned(), user.clone())));
            environment.extend(plan.environment.iter().cloned());
        }
        let own = job.environment.iter();
        environment.extend(own.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let errand = Errand {
            client,
            directory,
            environment: &environment,
            belongings: Belongings::Container,
        };
        channel::run(errand, job)
    }
}

impl Runner for ContainerRunner {
    fn promises(&self) -> &'static [PropertyName] {
        &PROMISED
    }

    fn notice(&self) -> Option<String> {
        match &self.plan {
            Ok(plan) => plan.notes(),
            Err(reason) => Some(format!("commands cannot run: {reason}")),
        }
    }

    fn test(&self, workspace: &Path) -> Result<Vec<Property>, String> {
        let properties =
            self.with_keeper(Granted::default(), |keeper| keeper.properties.clone())?;
        Ok(properties
            .into_iter()
            .chain(self.test_survival(workspace)?)
            .collect())
    }

    fn run(&self, job: Job<'_>) -> Ran {
        let names = ProtectedNames::missing_in(&self.confinement.workspace);
        let mut ran = self.run_in(&self.directory(job.directory), job);
        if let Some(created) = names.set_aside() {
            ran.note = Some(
                ran.note
                    .map_or(created.clone(), |note| format!("{note}; {created}")),
            );
        }
        ran
    }
}

impl ContainerRunner {
    fn run_in(&self, directory: &str, job: Job<'_>) -> Ran {
        let ran = self.with_keeper(job.granted, |keeper| self.execute(keeper, directory, job));
        let mut ran = match ran {
            Ok(ran) => ran,
            Err(reason) => return Ran::not_started(reason),
        };
        if let End::NotStarted(words) = &ran.end {
            ran.end = End::NotStarted(explain(self.engine, self.image(), words));
        }
        if ran.is_lost {
            ran.note = Some("the container was lost while it ran".to_owned());
        }
        ran
    }
}

impl RemoteConnection for ContainerRunner {
    fn client(&self, script: Option<&str>) -> Result<Command, String> {
        let mut client = self.with_keeper(Granted::default(), |keeper| self.exec(keeper))??;
        if let Some(script) = script {
            client.args(["-c", script]);
        }
        Ok(client)
    }

    fn explain(&self, words: &str) -> String {
        explain(self.engine, self.image(), words)
    }

    fn promises(&self) -> &'static [PropertyName] {
        Runner::promises(self)
    }

    fn notice(&self) -> Option<String> {
        Runner::notice(self)
    }

    fn test(&self) -> Result<Vec<Property>, String> {
        self.with_keeper(Granted::default(), |keeper| keeper.properties.clone())
    }

    fn run(&self, directory: &str, mut job: Job<'_>) -> Ran {
        // The repository is not there.
        job.granted.git_write = false;
        self.run_in(directory, job)
    }

    fn holds_files(&self) -> bool {
        self.volume.is_some()
    }

    fn discard(&self) -> Result<(), String> {
        let mut keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        keepers.clear();
        let Some(volume) = &self.volume else {
            return Ok(());
        };
        remove_stale(self.engine);
        let mut client = self.client()?;
        client.args(["volume", "rm", "--force", volume]);
        answer(client)
            .map(drop)
            .map_err(|words| RemoteConnection::explain(self, &words))
    }
}

/// Protected names that do not exist before a command.
///
/// A name can only be kept from being created by a mount, and the mounts of a container are made when
/// it starts. So what a command creates under such a name gets another one when the command has ended.
struct ProtectedNames<'a> {
    workspace: &'a Path,
    names: Vec<&'static str>,
}

impl<'a> ProtectedNames<'a> {
    fn missing_in(workspace: &'a Path) -> Self {
        // All of `.github` is nobody's program; its workflows are.
        let workflows = sandbox::RESERVED_WORKFLOWS
            .into_iter()
            .filter(|name| *name != ".github");
        let names = sandbox::PROTECTED.into_iter().chain(workflows);
        let names = names.chain([sandbox::STATE]);
        let is_missing = |name: &&str| workspace.join(name).symlink_metadata().is_err();
        Self {
            workspace,
            names: names.filter(is_missing).collect(),
        }
    }

    /// Renames those that exist now; tells the model about them.
    fn set_aside(&self) -> Option<String> {
        let files = Workspace::open(self.workspace).ok()?;
        let is_there = |name: &&&str| self.workspace.join(name).symlink_metadata().is_ok();
        let created = self.names.iter().filter(is_there).map(|&name| {
            let moved = if name == sandbox::STATE {
                let kept = format!("{name}.kept");
                crate::fs::move_aside(&self.workspace.join(name), self.workspace, &kept)
                    .map_err(|error| error.to_string())
            } else {
                files
                    .set_aside_exact(Path::new(name))
                    .map_err(|error| error.to_string())
            };
            match moved {
                Ok(path) => {
                    let other = path.file_name().unwrap_or_default().to_string_lossy();
                    format!("`{name}` (now `{other}`)")
                }
                Err(error) => format!("`{name}` (which could not be renamed: {error})"),
            }
        });
        let created: Vec<String> = created.collect();
        (!created.is_empty()).then(|| {
            format!(
                "commands must not create these names, so they were renamed: {}",
                created.join(", ")
            )
        })
    }
}

/// The user of commands, and what maps the person's files to it.
struct CommandIdentity {
    user: String,
    options: Vec<String>,
}

impl Keeper {
    /// Waits for the keeper's first word; an error has the words of the engine.
    fn wait_until_ready(&mut self, image: &str) -> Result<(), String> {
        let deadline = Instant::now() + START;
        let (mut printed, mut buffer) = (Vec::new(), [0; 4096]);
        let Some(client) = &mut self.client else {
            return Err("the engine has ended".to_owned());
        };
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err("the engine did not start a container in time".to_owned());
            }
            match client.next(&mut buffer, left) {
                Ok(ChildEvent::Output(length)) => printed.extend_from_slice(&buffer[..length]),
                Ok(ChildEvent::Quiet | ChildEvent::Closed) => {}
                Ok(ChildEvent::Ended) | Err(_) => {
                    while let Ok(ChildEvent::Output(length)) =
                        client.drain(&mut buffer, Duration::from_millis(100))
                    {
                        printed.extend_from_slice(&buffer[..length]);
                    }
                    let words = String::from_utf8_lossy(&printed);
                    return Err(explain(self.engine, image, &words));
                }
            }
            let words = String::from_utf8_lossy(&printed);
            if words.lines().any(|line| line.trim() == READY) {
                return Ok(());
            }
        }
    }

    fn has_ended(&mut self) -> bool {
        let mut buffer = [0; 256];
        let next = |client: &mut ChildTree| client.next(&mut buffer, Duration::ZERO);
        self.client
            .as_mut()
            .map(next)
            .is_none_or(|event| matches!(event, Ok(ChildEvent::Ended) | Err(_)))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // The keeper ends, and the engine removes the container.
        drop(self.lifeline.take());
        let Some(mut client) = self.client.take() else {
            return;
        };
        let deadline = Instant::now() + ANSWER;
        let mut buffer = [0; 256];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match client.next(&mut buffer, left) {
                Ok(ChildEvent::Ended) | Err(_) => break,
                Ok(_) if left.is_zero() => break,
                Ok(_) => {}
            }
        }
        drop(client);
        if let Ok(mut client) = programs::command(self.engine.program()) {
            client.args(["rm", "--force", &self.name]);
            // It is gone already, as a rule.
            let _ = answer(client);
        }
    }
}

/// Removes the containers whose `agent` is gone; tells their names.
pub fn remove_stale(engine: ContainerEngine) -> Vec<String> {
    let client = || programs::command(engine.program()).ok();
    let Some(mut list) = client() else {
        return Vec::new();
    };
    let filter = format!("label={}", label());
    list.args(["ps", "--all", "--filter", &filter, "--format", "{{.Names}}"]);
    let names = answer(list).unwrap_or_default();
    let names = names.lines().map(str::trim).filter(|name| {
        let owner = name.strip_prefix("agent-");
        owner.is_some_and(owner::is_gone)
    });
    let removed = names.filter(|name| {
        client().is_some_and(|mut client| {
            client.args(["rm", "--force", name]);
            answer(client).is_ok()
        })
    });
    removed.map(str::to_owned).collect()
}

/// True if the engine is on another machine, so that it cannot mount the workspace.
pub fn is_remote(engine: ContainerEngine) -> bool {
    let is_elsewhere = |host: &str| {
        let scheme = host.trim().split_once("://").map(|(scheme, _)| scheme);
        matches!(scheme, Some("tcp" | "ssh" | "http" | "https"))
    };
    let variable = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
    match (engine, variable("DOCKER_HOST")) {
        (ContainerEngine::Podman, _) => false,
        (ContainerEngine::Docker, Some(host)) => is_elsewhere(&host),
        (ContainerEngine::Docker, None) => {
            let context = variable("DOCKER_CONTEXT").or_else(current_context);
            let context = context.filter(|context| context != "default");
            let host = context.and_then(|context| {
                let mut client = programs::command(engine.program()).ok()?;
                let format = "{{.Endpoints.docker.Host}}";
                client.args(["context", "inspect", "--format", format, "--", &context]);
                answer(client).ok()
            });
            host.is_some_and(|host| is_elsewhere(&host))
        }
    }
}

/// The context that `docker context use` chose.
fn current_context() -> Option<String> {
    let named = std::env::var_os("DOCKER_CONFIG").map(PathBuf::from);
    let directory = named.or_else(|| Some(std::env::home_dir()?.join(".docker")))?;
    let text = std::fs::read(directory.join("config.json")).ok()?;
    let read: serde_json::Value = serde_json::from_slice(&text).ok()?;
    read.get("currentContext")?.as_str().map(str::to_owned)
}

/// The label of what this machine made: several may use one engine, and know only their own processes.
fn label() -> String {
    let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let processes = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let machine = format!("{machine}\n{}", processes.display());
    let machine = blake3::hash(machine.as_bytes()).to_hex();
    format!("{LABEL}={}", &machine[..16])
}

/// The volume of an engine on another machine, as a mount.
fn mounted(volume: &str) -> String {
    format!("--mount=type=volume,source={volume},destination={VOLUME}")
}

/// A mount of this path, as the engines read it: fields separated by commas, quoted as in CSV.
fn bind(from: &Path, to: &Path, more: &str) -> String {
    let field = |name: &str, path: &Path| {
        let text = format!("{name}={}", path.display());
        if text.contains([',', '"']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text
        }
    };
    format!(
        "--mount=type=bind,{},{}{more}",
        field("source", from),
        field("destination", to)
    )
}

/// Runs a program of an engine to its end; an error has its words.
fn answer(mut client: Command) -> Result<String, String> {
    client.env("LC_ALL", "C");
    let mut client = ChildTree::start(client, Stdio::null(), ChildSession::MadeBefore)
        .map_err(|error| error.to_string())?;
    let deadline = Instant::now() + ANSWER;
    let (mut printed, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match client.next(&mut buffer, left) {
            Ok(ChildEvent::Output(length)) => printed.extend_from_slice(&buffer[..length]),
            Ok(ChildEvent::Ended) | Err(_) => break,
            Ok(_) if left.is_zero() => return Err("the engine did not answer in time".to_owned()),
            Ok(_) => {}
        }
    }
    while let Ok(ChildEvent::Output(length)) = client.drain(&mut buffer, Duration::from_millis(100))
    {
        printed.extend_from_slice(&buffer[..length]);
    }
    let words = String::from_utf8_lossy(&printed).into_owned();
    match client.reap(Duration::from_secs(1)) {
        Ok(Some(ChildExit::Code(0))) => Ok(words),
        _ => Err(words),
    }
}

/// The advice about an engine that runs elsewhere behind a local socket, so that [`is_remote`] is false.
fn sees_no_files(engine: ContainerEngine) -> String {
    let program = engine.program();
    format!(
        "`{program}` does not see the files of this machine; if docker runs on another one, say so with `DOCKER_HOST=ssh://HOST`, or use `--runner ssh:HOST`"
    )
}

/// The words of an engine about a failure, with what to do about it.
fn explain(engine: ContainerEngine, image: &str, words: &str) -> String {
    let program = engine.program();
    let lower = words.to_lowercase();
    let has = |part: &str| lower.contains(part);
    let words: Vec<&str> = words.split_whitespace().collect();
    let words = words.join(" ");
    let advice = if has("no such image") || has("image not known") || has("unable to find image") {
        format!("the image `{image}` is not on this machine: `{program} pull {image}`")
    } else if has("cannot connect to the docker daemon") || has("is the docker daemon running") {
        "the docker daemon does not run: start it, or set `DOCKER_HOST`".to_owned()
    } else if has("permission denied") && has("docker.sock") {
        "you may not use the docker daemon: join the group `docker`, or use podman".to_owned()
    } else if has("no space left") {
        format!("the disk is full: `{program} system prune` makes room")
    } else if has("\"sh\"") && (has("not found") || has("no such file")) {
        format!("the image `{image}` has no shell (`sh`), which commands need")
    } else if has("bind source path does not exist") {
        sees_no_files(engine)
    } else if words.is_empty() {
        format!("`{program}` failed without a word")
    } else {
        format!("`{program}` failed")
    };
    if words.is_empty() {
        advice
    } else {
        format!("{advice} ({words})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{Durability, write_atomic};

    #[test]
    fn protected_names_that_a_command_creates_are_renamed() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        let write = |name: &str| {
            let path = workspace.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            write_atomic(&path, b"x", Durability::Atomic).unwrap();
        };
        write(".idea/old");
        let names = ProtectedNames::missing_in(&workspace);
        assert_eq!(names.set_aside(), None);
        for name in [
            ".vscode/tasks.json",
            ".envrc",
            ".github/workflows/x.yml",
            ".agent/x",
            ".idea/new",
        ] {
            write(name);
        }
        let told = names.set_aside().unwrap();
        for name in [
            "`.vscode` (now `.vscode.kept`)",
            "`.agent`",
            "`.github/workflows` (now `workflows.kept`)",
        ] {
            assert!(told.contains(name), "{told}");
        }
        let left = |name: &str| workspace.join(name).exists();
        assert!(
            !left(".vscode") && !left(".envrc") && !left(".github/workflows") && !left(".agent")
        );
        assert!(left(".vscode.kept/tasks.json") && left(".agent.kept/x") && left(".idea/new"));
        write(".vscode/again");
        assert!(names.set_aside().unwrap().contains("`.vscode.kept-2`"));
    }

    #[test]
    fn a_container_is_given_limits_and_shields_in_both_folders() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        std::fs::create_dir(workspace.join(".vscode")).unwrap();
        let mut confinement = Confinement::of_workspace(&workspace);
        confinement.limits.cpus = Some(1);
        let plan = ContainerPlan {
            folder: Some("/app".into()),
            ..ContainerPlan::default()
        };
        let runner = ContainerRunner::new(ContainerEngine::Docker, Ok(plan), confinement, None);
        let options = runner.options(Granted::default());
        let shown = workspace.display();
        for option in [
            "--cpus=1",
            "--network=none",
            &format!("--mount=type=bind,source={shown},destination=/app"),
            &format!("--mount=type=bind,source={shown}/.vscode,destination=/app/.vscode,readonly"),
            &format!(
                "--mount=type=bind,source={shown}/.vscode,destination={shown}/.vscode,readonly"
            ),
        ] {
            assert!(
                options.iter().any(|one| one == option),
                "{option}: {options:?}"
            );
        }
        let far = runner.on_another_machine("volume".to_owned());
        let options = far.options(Granted::default());
        assert!(
            !options.iter().any(|option| option.contains("type=bind")),
            "{options:?}"
        );
        assert!(Runner::notice(&far).unwrap().contains("the folder"));
    }
}
