//! Commands in a container, by the engine's own command-line program.
//!
//! A container is started for a session and a set of permissions, and each command is an `exec` in it.
//! Its first process, the keeper, reads from us: when we end, in whatever way, its input ends, it ends,
//! and the engine kills and removes the container. The keeper runs as another user than the commands,
//! which therefore cannot end it; so a command's script may kill all processes that it sees.
//!
//! A command may kill that script too, and run on. So after each command the keeper is asked if it is
//! alone; if not, the container ends, and everything in it. What a container mounts is decided while no
//! command runs, and anew when it has changed before a command.
//!
//! An engine on another machine cannot mount the workspace. There the container has a volume, and
//! [`exchange`](super::exchange) sends files to it and fetches them as over ssh.
//!
//! Before the first command the container is tested from inside. If something that was promised does
//! not hold, no command runs there.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{PipeWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::channel::{self, Belongings, Errand, quoted};
use super::exchange::RemoteConnection;
use super::owner;
use super::set_id::clear_set_id_bits;
use super::{ContainerEngine, ContainerPlan, Granted, Job, Program, Ran, RunEnd, Runner};
use crate::platform::{ChildEvent, ChildExit, ChildSession, ChildTree, programs};
use crate::sandbox::{self, Confinement, FileIdentity, Property, PropertyName, Shield};
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
const KEEPER_USER: u32 = 65534;

/// The keeper says this when the container runs.
const READY: &str = "agent-ready";

/// The keeper's answer when it is asked if it is alone, before the question's number.
const ALONE: &str = "agent-alone";
/// The keeper's answer if there are other processes.
const ACCOMPANIED: &str = "agent-accompanied";

/// The keeper, in words of the shell alone and on one line, which the live test reads.
///
/// Because another command follows, the shell waits for the subshell, and so it also reaps orphans. For
/// each line that it reads, the subshell looks at all processes twice. One that vanishes meanwhile may
/// have left a child where it has looked already, so it counts. A dead process counts if it has threads.
fn keeper_script() -> String {
    format!(
        "echo {READY}; ( while read -r t; do w={ALONE}; for i in 1 2; do for p in /proc/[0-9]*; do \
         o=yes; while read -r k v; do case $k in State:) s=$v;; Uid:) u=$v;; \
         Threads:) case \"$u,$s,$v\" in {KEEPER_USER}[!0-9]*|*,Z*,1) o=no;; esac; break;; esac; \
         done <\"$p/status\"; case $o in yes) w={ACCOMPANIED};; esac; done; done 2>/dev/null; \
         echo \"$w $t\"; done ); exit 0",
    )
}

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

/// How long it may take to list its containers. One that does not do that in time does nothing else.
const LIST: Duration = Duration::from_secs(10);

/// How long processes may take to be gone after they were killed.
const SETTLE: Duration = Duration::from_secs(2);

/// The pause between two checks for an interrupt.
const TICK: Duration = Duration::from_millis(50);

/// The reason why an engine was not waited for.
const INTERRUPTED: &str = "you interrupted it";

/// For what nobody interrupts.
static NEVER: AtomicBool = AtomicBool::new(false);

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
    /// The person's home, whose secrets no mount must show.
    home: PathBuf,
    /// The volume that has the workspace, if the engine is on another machine.
    volume: Option<String>,
    /// Sentences for the person about what does not count.
    notices: Vec<String>,
    /// No command ran before this.
    since: SystemTime,
    keepers: Mutex<BTreeMap<Granted, Keeper>>,
}

/// A path that is covered in a container, and what it was when the container started. A mount on
/// something that was replaced since then is gone.
type MountedShield = (PathBuf, Shield, Option<FileIdentity>);

/// A container that runs.
#[derive(Debug)]
struct Keeper {
    engine: ContainerEngine,
    name: String,
    /// Commands run as this user.
    user: String,
    client: Option<ChildTree>,
    /// The keeper's standard input; it ends when this is closed.
    input: Option<PipeWriter>,
    /// How often the keeper was asked.
    asked: u64,
    /// How long its end may take.
    patience: Duration,
    shields: Vec<MountedShield>,
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
        let home = std::mem::replace(&mut confinement.home, PathBuf::from(HOME));
        Self {
            engine,
            plan,
            confinement,
            canary,
            home,
            volume: None,
            notices: Vec::new(),
            since: SystemTime::now(),
            keepers: Mutex::default(),
        }
    }

    /// Adds a sentence for the person about a setting that has no effect.
    #[must_use]
    pub fn with_notice(mut self, notice: String) -> Self {
        self.notices.push(notice);
        self
    }

    /// Prepares for an engine on another machine, with the workspace in a volume of this name.
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

    fn keepers(&self) -> MutexGuard<'_, BTreeMap<Granted, Keeper>> {
        self.keepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The container with these permissions. It is started if it does not run, or if what it must cover
    /// has changed. No other one with the workspace runs then, so that no command decides its mounts.
    fn keeper<'k>(
        &self,
        keepers: &'k mut BTreeMap<Granted, Keeper>,
        granted: Granted,
        cancelled: &AtomicBool,
    ) -> Result<&'k mut Keeper, String> {
        self.ensure_no_link(granted)?;
        let shields = self.shields(granted);
        let is_of_use = |keeper: &mut Keeper| !keeper.has_ended() && keeper.shields == shields;
        if !keepers.get_mut(&granted).is_some_and(is_of_use) {
            keepers.remove(&granted);
            if self.volume.is_none() {
                keepers.clear();
            }
            if keepers.is_empty() {
                remove_stale(self.engine, cancelled)
                    .map_err(|words| explain(self.engine, self.image(), &words))?;
                self.make_volume(cancelled)?;
            }
            let keeper = self.start(granted, shields, cancelled)?;
            keepers.insert(granted, keeper);
        }
        let keeper = keepers.get_mut(&granted);
        keeper.ok_or_else(|| "the container did not start".to_owned())
    }

    /// Refuses a workspace with a link in place of something that is to be protected: the engine would
    /// mount what it leads to, and a command could replace it.
    fn ensure_no_link(&self, granted: Granted) -> Result<(), String> {
        if self.volume.is_some() {
            return Ok(());
        }
        match self.confined(granted).link_in_the_way() {
            None => Ok(()),
            Some(link) => Err(format!(
                "`{}` in the workspace is a link, so it cannot be protected from commands in a container; \
                 the person has to put there what it leads to",
                link.display()
            )),
        }
    }

    fn confined(&self, granted: Granted) -> Confinement {
        let mut confinement = self.confinement.clone();
        confinement.home.clone_from(&self.home);
        confinement.git_write = granted.git_write;
        confinement
    }

    /// Paths that have to be covered now.
    fn shields(&self, granted: Granted) -> Vec<MountedShield> {
        if self.volume.is_some() {
            return Vec::new();
        }
        let shields = self.confined(granted).shields().into_iter();
        let shields = shields.map(|(path, shield)| {
            let identity = FileIdentity::of(&path);
            (path, shield, identity)
        });
        shields.collect()
    }

    fn start(
        &self,
        granted: Granted,
        shields: Vec<MountedShield>,
        cancelled: &AtomicBool,
    ) -> Result<Keeper, String> {
        let engine = self.engine.program();
        if cfg!(windows) {
            return Err(format!("`{engine}:` does not work on Windows yet; use WSL"));
        }
        self.plan.as_ref().map_err(String::clone)?;
        let identity = self.identity(cancelled)?;
        let name = container_name();
        let mut client = self.client()?;
        client.args(["run", "--interactive", "--rm", "--pull=never"]);
        client.args(["--name", &name, "--label", &label()]);
        client.args(self.options(granted, &shields)?);
        client.args(identity.options);
        client.args(["--entrypoint", "sh", self.image(), "-c"]);
        client.args([&keeper_script(), "agent-keeper"]);
        let (reader, input) = std::io::pipe().map_err(|error| error.to_string())?;
        let client = ChildTree::start(client, Stdio::from(reader), ChildSession::MadeBefore)
            .map_err(|error| format!("could not start `{engine}`: {error}"))?;
        let mut keeper = Keeper {
            engine: self.engine,
            name,
            user: identity.user,
            client: Some(client),
            input: Some(input),
            asked: 0,
            patience: ANSWER,
            shields,
            properties: Vec::new(),
        };
        keeper.wait_until_ready(self.image(), cancelled)?;
        keeper.properties = self.tested(&keeper, granted, cancelled)?;
        Ok(keeper)
    }

    /// Makes the volume, if there is to be one, with a directory that commands can write to.
    fn make_volume(&self, cancelled: &AtomicBool) -> Result<(), String> {
        let (Some(volume), Ok(_)) = (&self.volume, &self.plan) else {
            return Ok(());
        };
        let explained = |words: String| explain(self.engine, self.image(), &words);
        let mut client = self.client()?;
        client.args(["volume", "create", "--label", &label(), volume]);
        answer(client, cancelled).map_err(explained)?;
        // A new volume is root's. This root has no capabilities, and sees the volume only.
        let mut client = self.client()?;
        let name = container_name();
        client.args(["run", "--rm", "--pull=never", "--label", &label()]);
        client.args(["--name", &name]);
        client
            .args(HARDENING)
            .args(["--network=none", "--user=0:0"]);
        client.arg(mounted(volume));
        client.args(["--entrypoint", "sh", self.image(), "-c"]);
        client.arg(format!(
            "mkdir -p {REMOTE_FILES} && chmod 777 {REMOTE_FILES}"
        ));
        let made = answer(client, cancelled);
        if made.is_err() {
            // The engine goes on with a container whose client was ended.
            let mut client = self.client()?;
            client.args(["rm", "--force", &name]);
            let _ = answer(client, &NEVER);
        }
        made.map(drop).map_err(explained)
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
    fn identity(&self, cancelled: &AtomicBool) -> Result<CommandIdentity, String> {
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
        let told = answer(client, cancelled)
            .map_err(|words| explain(self.engine, self.image(), &words))?;
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
    fn options(&self, granted: Granted, shields: &[MountedShield]) -> Result<Vec<String>, String> {
        let limits = &self.confinement.limits;
        let mut options = HARDENING.map(str::to_owned).to_vec();
        options.push(format!("--user={KEEPER_USER}:{KEEPER_USER}"));
        if self.engine == ContainerEngine::Podman {
            // Else a system with SELinux denies the mounts below.
            options.push("--security-opt=label=disable".to_owned());
        }
        if !granted.network {
            options.push("--network=none".to_owned());
        }
        // Podman would copy what it covers into it.
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
        } else {
            options.extend(self.mounts(shields)?);
        }
        Ok(options)
    }

    /// The workspace, what else commands see, and what is covered in them. There is one mount for each
    /// path, whatever asks for it.
    fn mounts(&self, shields: &[MountedShield]) -> Result<Vec<String>, String> {
        let workspace = self.confinement.workspace.as_path();
        let extra = self.confinement.extra_paths();
        let shown: Vec<(&Path, &Path, bool)> = (extra.iter())
            .map(|path| (path.real.as_path(), path.named.as_path(), path.is_writable))
            .chain(self.roots().into_iter().map(|root| (workspace, root, true)))
            .collect();
        let mut mounts = BTreeMap::new();
        for (from, to, is_writable) in &shown {
            let access = if *is_writable { "" } else { ",readonly" };
            mounts.insert(to.to_path_buf(), self.bind(from, to, access)?);
        }
        if let Some(cache) = &self.confinement.cache {
            let to = Path::new(HOME).join(".cache");
            mounts.insert(to.clone(), self.bind(cache, &to, "")?);
        }
        for (path, shield, _) in shields {
            for (from, to, is_writable) in &shown {
                let Ok(inside) = path.strip_prefix(from) else {
                    continue;
                };
                let to = to.join(inside);
                let mount = match shield {
                    Shield::ReadOnly => self.bind(path, &to, ",readonly")?,
                    Shield::Pinned if *is_writable => self.bind(path, &to, "")?,
                    Shield::Pinned => continue,
                    Shield::Hidden if path.is_dir() => self.cover(&to)?,
                    Shield::Hidden => self.bind(Path::new("/dev/null"), &to, ",readonly")?,
                };
                mounts.entry(to).or_insert(mount);
            }
        }
        Ok(mounts.into_values().collect())
    }

    /// A mount of this path.
    fn bind(&self, from: &Path, to: &Path, more: &str) -> Result<String, String> {
        let (from, to) = (self.field("source", from)?, self.field("destination", to)?);
        Ok(format!("--mount=type=bind,{from},{to}{more}"))
    }

    /// A mount of an empty directory that nobody can write to.
    fn cover(&self, path: &Path) -> Result<String, String> {
        let path = self.field("destination", path)?;
        // Podman would copy what it covers into it: a hidden directory would be shown.
        let empty = match self.engine {
            ContainerEngine::Docker => "",
            ContainerEngine::Podman => ",notmpcopyup",
        };
        Ok(format!(
            "--mount=type=tmpfs,{path},tmpfs-size=4096,tmpfs-mode=555,ro{empty}"
        ))
    }

    /// A part of a mount, as the engines read it: separated by commas, and by docker quoted as in CSV.
    fn field(&self, name: &str, path: &Path) -> Result<String, String> {
        let text = format!("{name}={}", path.display());
        match self.engine {
            _ if !text.contains([',', '"']) => Ok(text),
            ContainerEngine::Docker => Ok(format!("\"{}\"", text.replace('"', "\"\""))),
            ContainerEngine::Podman => Err(format!(
                "podman cannot mount `{}`, because of the comma or the quote in its name; rename it, or use docker",
                path.display()
            )),
        }
    }

    /// Tests a container that has just been started; an error if it does not hold what it must.
    fn tested(
        &self,
        keeper: &Keeper,
        granted: Granted,
        cancelled: &AtomicBool,
    ) -> Result<Vec<Property>, String> {
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
                cancelled,
                on_output: &mut |_| {},
                confinement: None,
                withheld: None,
                granted,
            },
        );
        if ran.end != RunEnd::Exited(0) {
            let words = match ran.end {
                RunEnd::NotStarted(reason) => reason,
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
             filled() { for f in \"$1\"/* \"$1\"/.[!.]*; do [ -e \"$f\" ] && return 0; done; return 1; }\n\
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
            let extra = self.confinement.extra_paths();
            let is_in = |path: &sandbox::ExtraPath| canary.starts_with(&path.named);
            // In a path that the person opened, it is there and empty.
            let shown = if extra.iter().any(is_in) {
                "filled"
            } else {
                "[ -e"
            };
            let end = if shown == "filled" { "" } else { " ]" };
            let canary = quoted(&canary.to_string_lossy());
            let _ = writeln!(script, "t home no {shown} {canary}{end}");
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
        let of_plan = match &self.plan {
            Ok(plan) => plan.notes(),
            Err(reason) => Some(format!("commands cannot run: {reason}")),
        };
        let notices: Vec<String> = of_plan.into_iter().chain(self.notices.clone()).collect();
        (!notices.is_empty()).then(|| notices.join("; "))
    }

    fn test(&self, workspace: &Path) -> Result<Vec<Property>, String> {
        Ok(RemoteConnection::test(self)?
            .into_iter()
            .chain(self.test_survival(workspace)?)
            .collect())
    }

    fn run(&self, job: Job<'_>) -> Ran {
        let names = ProtectedNames::missing_in(&self.confinement);
        let mut ran = self.run_in(&self.directory(job.directory), job);
        let notes = [ran.note.take(), names.set_aside(), self.clear_set_id_bits()];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        ran.note = (!notes.is_empty()).then(|| notes.join("; "));
        ran
    }
}

impl ContainerRunner {
    fn run_in(&self, directory: &str, job: Job<'_>) -> Ran {
        let (granted, cancelled) = (job.granted, job.cancelled);
        let mut keepers = self.keepers();
        let keeper = match self.keeper(&mut keepers, granted, cancelled) {
            Ok(keeper) => keeper,
            Err(_) if cancelled.load(Ordering::Relaxed) => {
                let end = RunEnd::Interrupted;
                return Ran {
                    end,
                    ..Ran::not_started("")
                };
            }
            Err(reason) => return Ran::not_started(reason),
        };
        let mut ran = self.execute(keeper, directory, job);
        let is_there = !keeper.has_ended();
        // A command may have killed the script that reports its end.
        ran.is_lost &= !is_there;
        if !keeper.is_alone() {
            // The kernel ends all processes of a container with its first one.
            keepers.remove(&granted);
            let note = if is_there {
                "it left processes behind that could only be ended with their container; the next command gets a new one, with an empty home and `/tmp`"
            } else {
                "the container was lost while it ran"
            };
            ran.note = Some(note.to_owned());
        }
        if let RunEnd::NotStarted(words) = &ran.end {
            ran.end = RunEnd::NotStarted(explain(self.engine, self.image(), words));
        }
        ran
    }

    /// Takes bits away by which a program that a command left here would run as its owner; tells the
    /// model about it.
    fn clear_set_id_bits(&self) -> Option<String> {
        let confinement = &self.confinement;
        let directories = [&confinement.workspace].into_iter();
        let directories = directories
            .chain(&confinement.cache)
            .chain(&confinement.extra_write);
        let directories: Vec<&Path> = directories.map(PathBuf::as_path).collect();
        let cleared = clear_set_id_bits(&directories, self.since);
        let names = cleared.iter().map(|path| {
            let inside = path.strip_prefix(&confinement.workspace).unwrap_or(path);
            format!("`{}`", inside.display())
        });
        let names: Vec<String> = names.collect();
        (!names.is_empty()).then(|| {
            format!(
                "commands must not leave setuid or setgid programs, so these lost such bits: {}",
                names.join(", ")
            )
        })
    }
}

impl RemoteConnection for ContainerRunner {
    fn client(&self, script: Option<&str>, cancelled: &AtomicBool) -> Result<Command, String> {
        let mut keepers = self.keepers();
        let keeper = self.keeper(&mut keepers, Granted::default(), cancelled)?;
        let mut client = self.exec(keeper)?;
        if let Some(script) = script {
            client.args(["-c", script]);
        }
        Ok(client)
    }

    fn give_up(&self) {
        for keeper in self.keepers().values_mut() {
            // It ends with its input.
            keeper.patience = TICK;
        }
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
        let mut keepers = self.keepers();
        let keeper = self.keeper(&mut keepers, Granted::default(), &NEVER)?;
        Ok(keeper.properties.clone())
    }

    fn run(&self, directory: &str, mut job: Job<'_>) -> Ran {
        // The repository is not there.
        job.granted.git_write = false;
        self.run_in(directory, job)
    }

    fn storage(&self) -> Option<String> {
        let volume = self.volume.as_ref()?;
        Some(format!("the volume `{volume}`"))
    }

    fn discard(&self, cancelled: &AtomicBool) -> Result<(), String> {
        if cancelled.load(Ordering::Relaxed) {
            self.give_up();
        }
        self.keepers().clear();
        let Some(volume) = &self.volume else {
            return Ok(());
        };
        let explained = |words: String| RemoteConnection::explain(self, &words);
        remove_stale(self.engine, cancelled).map_err(explained)?;
        let mut client = self.client()?;
        client.args(["volume", "rm", "--force", volume]);
        answer(client, cancelled).map(drop).map_err(explained)
    }
}

/// Protected names that do not exist before a command.
///
/// A name can only be kept from being created by a mount, and the mounts of a container are made when
/// it starts. So what a command creates under such a name gets another one when the command has ended.
struct ProtectedNames<'a> {
    workspace: &'a Path,
    names: Vec<&'static str>,
    /// Records of ours that a command could create in a path that the person opened.
    outside: Vec<&'a Path>,
}

impl<'a> ProtectedNames<'a> {
    fn missing_in(confinement: &'a Confinement) -> Self {
        let workspace = confinement.workspace.as_path();
        // All of `.github` is nobody's program; its workflows are.
        let workflows = sandbox::RESERVED_WORKFLOWS
            .into_iter()
            .filter(|name| *name != ".github");
        let names = sandbox::PROTECTED.into_iter().chain(workflows);
        let names = names.chain([sandbox::STATE]);
        let is_missing = |name: &&str| workspace.join(name).symlink_metadata().is_err();
        let is_open = |path: &&Path| {
            let mut opened = confinement.extra_write.iter();
            !path.starts_with(workspace) && opened.any(|opened| path.starts_with(opened))
        };
        let records = confinement.hidden.iter().map(PathBuf::as_path);
        let records = records.filter(is_open);
        Self {
            workspace,
            names: names.filter(is_missing).collect(),
            outside: (records.filter(|path| path.symlink_metadata().is_err())).collect(),
        }
    }

    /// Renames those that exist now; tells the model about them.
    fn set_aside(&self) -> Option<String> {
        let files = Workspace::open(self.workspace).ok()?;
        let is_there = |name: &&&str| self.workspace.join(name).symlink_metadata().is_ok();
        let kept = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let directory = path.parent().unwrap_or(path);
            crate::fs::move_aside(path, directory, &format!("{name}.kept"))
                .map_err(|error| error.to_string())
        };
        let told = |name: &str, moved: Result<PathBuf, String>| match moved {
            Ok(path) => {
                let other = path.file_name().unwrap_or_default().to_string_lossy();
                format!("`{name}` (now `{other}`)")
            }
            Err(error) => format!("`{name}` (which could not be renamed: {error})"),
        };
        let created = self.names.iter().filter(is_there).map(|&name| {
            let moved = if name == sandbox::STATE {
                kept(&self.workspace.join(name))
            } else {
                files
                    .set_aside_exact(Path::new(name))
                    .map_err(|error| error.to_string())
            };
            told(name, moved)
        });
        let outside = self.outside.iter();
        let outside = outside.filter(|path| path.symlink_metadata().is_ok());
        let outside = outside.map(|path| told(&path.display().to_string(), kept(path)));
        let created = created.chain(outside);
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
    fn wait_until_ready(&mut self, image: &str, cancelled: &AtomicBool) -> Result<(), String> {
        let deadline = Instant::now() + START;
        let (mut printed, mut buffer) = (Vec::new(), [0; 4096]);
        let Some(client) = &mut self.client else {
            return Err("the engine has ended".to_owned());
        };
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if cancelled.load(Ordering::Relaxed) {
                // What the engine is about to start ends with its input.
                self.patience = TICK;
                return Err(INTERRUPTED.to_owned());
            }
            if left.is_zero() {
                return Err("the engine did not start a container in time".to_owned());
            }
            match client.next(&mut buffer, left.min(TICK)) {
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

    /// True if nothing runs in the container but the keeper. What was killed may take a moment to go.
    fn is_alone(&mut self) -> bool {
        let deadline = Instant::now() + SETTLE;
        loop {
            match self.ask(deadline) {
                Some(true) => return true,
                Some(false) if Instant::now() < deadline => thread::sleep(TICK / 5),
                Some(false) | None => return false,
            }
        }
    }

    /// Asks the keeper if it is alone; no answer if it does not give one in time.
    fn ask(&mut self, deadline: Instant) -> Option<bool> {
        self.asked += 1;
        let question = self.asked;
        let input = self.input.as_mut()?;
        writeln!(input, "{question}").ok()?;
        let (mut printed, mut buffer) = (Vec::new(), [0; 256]);
        loop {
            let words = String::from_utf8_lossy(&printed);
            let is = |answer: &str| {
                let answer = format!("{answer} {question}");
                words.lines().any(|line| line.trim() == answer)
            };
            if words.ends_with('\n') && (is(ALONE) || is(ACCOMPANIED)) {
                return Some(is(ALONE));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.client.as_mut()?.next(&mut buffer, left) {
                Ok(ChildEvent::Output(length)) => printed.extend_from_slice(&buffer[..length]),
                Ok(ChildEvent::Quiet) if !left.is_zero() => {}
                _ => return None,
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
        drop(self.input.take());
        let Some(mut client) = self.client.take() else {
            return;
        };
        let deadline = Instant::now() + self.patience;
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
            let _ = answer_within(client, self.patience, &NEVER);
        }
    }
}

/// Removes the containers whose `agent` is gone; tells their names. An error has the words of an engine
/// that cannot list them.
pub fn remove_stale(
    engine: ContainerEngine,
    cancelled: &AtomicBool,
) -> Result<Vec<String>, String> {
    let client = || programs::command(engine.program()).ok();
    let Some(mut list) = client() else {
        return Ok(Vec::new());
    };
    let filter = format!("label={}", label());
    list.args(["ps", "--all", "--filter", &filter, "--format", "{{.Names}}"]);
    let names = answer_within(list, LIST, cancelled)?;
    let names = names.lines().map(str::trim).filter(|name| {
        let owner = name.strip_prefix("agent-");
        owner.is_some_and(owner::is_gone)
    });
    let removed = names.filter(|name| {
        client().is_some_and(|mut client| {
            client.args(["rm", "--force", name]);
            answer(client, cancelled).is_ok()
        })
    });
    Ok(removed.map(str::to_owned).collect())
}

/// The volumes that this machine made with an engine on another one.
pub fn volumes(engine: ContainerEngine, cancelled: &AtomicBool) -> Result<Vec<String>, String> {
    let client = programs::command(engine.program());
    let mut list = client.map_err(|error| error.to_string())?;
    let filter = format!("label={}", label());
    list.args(["volume", "ls", "--filter", &filter, "--format", "{{.Name}}"]);
    let names = answer_within(list, LIST, cancelled)?;
    Ok(names.lines().map(|name| name.trim().to_owned()).collect())
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
                answer(client, &NEVER).ok()
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

/// A new name for a container, by which [`remove_stale`] knows the process that it belongs to.
fn container_name() -> String {
    let number = uuid::Uuid::new_v4();
    format!("agent-{}-{}", owner::own_process(), number.simple())
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

/// Runs a program of an engine to its end; an error has its words.
fn answer(client: Command, cancelled: &AtomicBool) -> Result<String, String> {
    answer_within(client, ANSWER, cancelled)
}

fn answer_within(
    mut client: Command,
    patience: Duration,
    cancelled: &AtomicBool,
) -> Result<String, String> {
    client.env("LC_ALL", "C");
    let mut client = ChildTree::start(client, Stdio::null(), ChildSession::MadeBefore)
        .map_err(|error| error.to_string())?;
    let deadline = Instant::now() + patience;
    let (mut printed, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match client.next(&mut buffer, left.min(TICK)) {
            Ok(ChildEvent::Output(length)) => printed.extend_from_slice(&buffer[..length]),
            Ok(ChildEvent::Ended) | Err(_) => break,
            Ok(_) if cancelled.load(Ordering::Relaxed) => return Err(INTERRUPTED.to_owned()),
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
        let base = directory.path().canonicalize().unwrap();
        let workspace = base.join("workspace");
        let write = |name: &str| {
            let path = workspace.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            write_atomic(&path, b"x", Durability::Atomic).unwrap();
        };
        write(".idea/old");
        let mut confinement = Confinement::of_workspace(&workspace);
        confinement.hidden = vec![base.join(".agent")];
        confinement.extra_write = vec![base.clone()];
        let names = ProtectedNames::missing_in(&confinement);
        assert_eq!(names.set_aside(), None);
        for name in [
            ".vscode/tasks.json",
            ".envrc",
            ".github/workflows/x.yml",
            ".agent/x",
            ".idea/new",
            "../.agent/x",
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
        assert!(left("../.agent.kept/x") && !left("../.agent"));
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
        let options = |runner: &ContainerRunner| {
            let shields = runner.shields(Granted::default());
            runner.options(Granted::default(), &shields).unwrap()
        };
        let all = options(&runner);
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
            assert!(all.iter().any(|one| one == option), "{option}: {all:?}");
        }
        let far = runner.on_another_machine("volume".to_owned());
        let all = options(&far);
        assert!(
            !all.iter().any(|option| option.contains("type=bind")),
            "{all:?}"
        );
        assert!(Runner::notice(&far).unwrap().contains("the folder"));
    }
}
