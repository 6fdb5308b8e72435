//! A home with a secret and a workspace, a directory outside, and the program that is attacked.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use agent::runner::{Granted, Job, LocalRunner, Program, Ran, RunEnd, Runner as _};
use agent::sandbox::{Backend, CommandUser, Confinement};
use serde_json::Value;

/// Text that nobody may get to see.
pub const SECRET: &str = "hunter2-the-secret";

/// How long anything may take before a test gives up; never reached when all is well.
pub const DEADLINE: Duration = Duration::from_mins(1);

pub struct Place {
    directory: tempfile::TempDir,
}

/// The program's report on a reply.
#[derive(Debug)]
pub struct Applied {
    pub rows: Vec<Value>,
    pub text: String,
}

/// When an attack succeeds without the control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    Always,
    /// The machine itself refuses it to others: the counterpart is made in root's run.
    ForRoot,
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns true if files are on a file system that cannot show them as another user's.
pub fn is_on_overlay() -> bool {
    std::env::var_os("ATTACKED_ON_OVERLAY").is_some()
}

/// Says that something was not tried, where the test's own output is not shown too.
pub fn skipped(what: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {what}: {why}");
}

/// Counts attacks that were withstood and have a counterpart, for the summary of the whole suite.
pub fn cases(count: usize) {
    if std::env::var_os("ATTACKS_COUNTED").is_some() {
        let _ = writeln!(std::io::stderr(), "cases: {count}");
    }
}

/// The program that is attacked.
pub fn program() -> PathBuf {
    std::env::var_os("ATTACKED_PROGRAM")
        .map_or_else(|| env!("CARGO_BIN_EXE_agent").into(), PathBuf::from)
}

/// The backend under attack: the strongest of the machine, or the one that this run is about.
pub fn backend() -> Backend {
    std::env::var("ATTACKED_BACKEND").map_or(Backend::Namespaces, |name| {
        Backend::named(&name).expect("the name of a backend")
    })
}

/// Where the program remembers what its sandbox holds: tried once for all tests.
fn state() -> &'static Path {
    static STATE: OnceLock<PathBuf> = OnceLock::new();
    STATE.get_or_init(|| {
        let state = std::env::var_os("ATTACKED_STATE").map_or_else(
            || Path::new(env!("CARGO_TARGET_TMPDIR")).join("attacks-state"),
            PathBuf::from,
        );
        // That of an earlier build says nothing about this one.
        let _ = fs::remove_dir_all(&state);
        state
    })
}

impl Place {
    pub fn new() -> Self {
        let place = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        for directory in [place.workspace().join("sub"), place.home().join(".ssh")] {
            fs::create_dir_all(directory).unwrap();
        }
        fs::create_dir(place.outside()).unwrap();
        fs::write(place.home().join(".ssh/key"), SECRET).unwrap();
        fs::write(place.outside().join("victim"), SECRET).unwrap();
        fs::write(place.outside().join("neighbour"), "").unwrap();
        place
    }

    pub fn root(&self) -> PathBuf {
        fs::canonicalize(self.directory.path()).unwrap()
    }

    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub fn workspace(&self) -> PathBuf {
        self.home().join("work")
    }

    pub fn outside(&self) -> PathBuf {
        self.root().join("outside")
    }

    pub fn victim(&self) -> PathBuf {
        self.outside().join("victim")
    }

    pub fn file(self, path: &str, content: &str) -> Self {
        let path = self.workspace().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub fn link(self, path: &str, target: impl AsRef<Path>) -> Self {
        symlink(target, self.workspace().join(path)).unwrap();
        self
    }

    /// Everything outside is as it was.
    #[track_caller]
    pub fn is_untouched(&self, after: &str) {
        let expected = BTreeMap::from([
            ("neighbour".to_owned(), String::new()),
            ("victim".to_owned(), SECRET.to_owned()),
        ]);
        assert_eq!(contents(&self.outside()), expected, "{after}");
        assert_eq!(contents(&self.home().join(".ssh"))["key"], SECRET);
    }

    /// The program with these arguments, in an environment of its own.
    pub fn agent(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(arguments)
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("XDG_STATE_HOME", state())
            .env("AGENT_ATTACKS_TOKEN", SECRET)
            .env("Agent__SandboxBackend", backend().name())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The confinement that the program would use here, with this backend.
    pub fn confinement(&self, backend: Backend) -> Confinement {
        let is_mapped = backend == Backend::Namespaces && !is_on_overlay();
        let mut confinement = Confinement::of_workspace(self.workspace());
        confinement.backend = backend;
        confinement.launcher = program();
        confinement.home = self.home();
        if is_root() && !is_mapped {
            confinement.user = CommandUser::Root;
        }
        confinement
    }

    /// `agent apply` under way, with this reply on its standard input.
    pub fn start(&self, arguments: &[&str], reply: &str) -> Child {
        let workspace = self.workspace();
        let mut all = vec!["apply", "--workspace", workspace.to_str().unwrap()];
        all.extend(arguments);
        all.push("-");
        let mut child = self.agent(&all).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(reply.as_bytes()).unwrap();
        child
    }

    pub fn apply_with(&self, arguments: &[&str], reply: &str) -> Applied {
        let mut all = vec!["--json"];
        all.extend(arguments);
        let output = self.start(&all, reply).wait_with_output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let rows = stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .filter(|row: &Value| row.get("step").is_some())
            .collect();
        Applied {
            rows,
            text: format!("{stdout}{stderr}"),
        }
    }

    pub fn apply(&self, reply: &str) -> Applied {
        self.apply_with(&[], reply)
    }

    /// Runs a script without any control.
    pub fn plain(&self, script: &str) -> Ran {
        self.run(script, None, DEADLINE)
    }

    pub fn run(&self, script: &str, confinement: Option<&Confinement>, timeout: Duration) -> Ran {
        let home = self.home();
        LocalRunner::default().run(Job {
            program: Program::Shell(script),
            directory: &self.workspace(),
            environment: &[("HOME", home.to_str().unwrap())],
            timeout,
            max_output: 4000,
            cancelled: &AtomicBool::new(false),
            on_output: &mut |_| {},
            confinement,
            withheld: None,
            granted: Granted::default(),
        })
    }

    /// Each script fails in the sandbox of the program, all in one reply, and succeeds plain.
    #[track_caller]
    pub fn withstands(&self, attacks: &[(Plain, &str)]) {
        self.withstands_with(&[], attacks);
    }

    #[track_caller]
    pub fn withstands_with(&self, arguments: &[&str], attacks: &[(Plain, &str)]) {
        let attacks: Vec<(Plain, String)> = attacks
            .iter()
            .map(|(plain, script)| (*plain, self.filled(script)))
            .collect();
        let reply: String = attacks.iter().map(|(_, script)| command(script)).collect();
        let applied = self.apply_with(arguments, &reply);
        assert_eq!(applied.rows.len(), attacks.len(), "{}", applied.text);
        for (row, (_, script)) in applied.rows.iter().zip(&attacks) {
            assert_eq!(row["status"], "failed", "{script}: {row}");
            let message = row["message"].as_str().unwrap();
            // Neither a sandbox that cannot start nor a typing error is a defence.
            let is_real = !message.contains("could not be started")
                && !message.contains("timed out")
                && !message.contains("exit code 127");
            assert!(is_real, "{script}: {row}");
            assert!(!row.to_string().contains(SECRET), "{script}: {row}");
        }
        cases(attacks.len());
        for (plain, script) in &attacks {
            if *plain == Plain::Always || is_root() {
                let ran = self.plain(script);
                assert_eq!(
                    ran.end,
                    RunEnd::Exited(0),
                    "plain: {script}: {}",
                    ran.output.text
                );
            }
        }
    }

    /// Puts the places into a script.
    pub fn filled(&self, script: &str) -> String {
        script
            .replace("OUTSIDE", self.outside().to_str().unwrap())
            .replace("SECRET", SECRET)
            .replace("PYTHON", "/usr/bin/python3 -c")
    }
}

impl Applied {
    #[track_caller]
    pub fn tells_no_secret(&self) {
        assert!(!self.text.contains(SECRET), "{}", self.text);
    }

    #[track_caller]
    pub fn did_nothing(&self) {
        for row in &self.rows {
            assert_ne!(row["status"], "ok", "{}", self.text);
        }
    }

    #[track_caller]
    pub fn all(&self, count: usize, status: &str) {
        assert_eq!(self.rows.len(), count, "{}", self.text);
        for row in &self.rows {
            assert_eq!(row["status"], status, "{}", self.text);
        }
    }
}

/// A command of a reply.
pub fn command(script: &str) -> String {
    format!("[RUN_COMMAND timeout=\"20\"]\n{script}\n[/RUN_COMMAND]\n")
}

/// The names in a directory and the text of its files.
pub fn contents(directory: &Path) -> BTreeMap<String, String> {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read_to_string(entry.path()).unwrap_or_default())
        })
        .collect()
}

/// A process that ends with its test, also if that fails.
pub struct TestProcess(pub Child);

impl Drop for TestProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[track_caller]
pub fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
