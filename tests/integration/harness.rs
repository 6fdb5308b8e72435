//! A fluent test of one run: a temporary base directory, the real program, and a scripted person
//! who answers outbox *n* with reply *n*.
//!
//! The environment is cleared, so that the machine's settings do not matter. In replies `{end}`
//! stands for the end mark of the round that is answered.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecursiveMode, Watcher};

/// How long anything may take before a test gives up; never reached when all is well.
pub const DEADLINE: Duration = Duration::from_mins(1);

/// How a person's tool saves a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Save {
    /// Opened, written and closed.
    Write,
    /// Written in pieces, with pauses.
    Chunks,
    /// Written elsewhere and renamed into place.
    Rename,
    /// Copied from elsewhere.
    Copy,
    /// A swap file first, then the file, then the swap file goes.
    Editor,
    /// An old version is there first; it is emptied and written anew.
    Truncate,
}

/// One run of the program, to be described and then made.
#[must_use]
pub struct Test {
    root: tempfile::TempDir,
    arguments: Vec<String>,
    replies: Vec<(Save, Vec<u8>)>,
    input: Option<String>,
    environment: Vec<(String, String)>,
    skip: u32,
}

/// A run that has ended, and the files that it left.
pub struct Finished {
    root: tempfile::TempDir,
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output: data.
    pub stdout: String,
    /// Its standard error: messages to the person.
    pub stderr: String,
}

impl Test {
    /// A run of `agent` with these arguments in an empty base directory.
    pub fn new(arguments: &[&str]) -> Self {
        Self {
            root: root(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            replies: Vec::new(),
            input: None,
            environment: Vec::new(),
            skip: 0,
        }
    }

    /// Runs with these arguments.
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments = arguments.iter().map(ToString::to_string).collect();
        self
    }

    /// A file of the base directory before the run.
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.base().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Waits until the files are plainly older than the run: the clock of a file system may lag by 50 ms.
    pub fn of_earlier(self) -> Self {
        thread::sleep(Duration::from_millis(60));
        self
    }

    /// The next reply of the person, saved in one write.
    pub fn reply(self, text: &str) -> Self {
        self.reply_by(Save::Write, text.as_bytes())
    }

    /// The next reply of the person, saved in this way.
    pub fn reply_by(mut self, save: Save, bytes: impl Into<Vec<u8>>) -> Self {
        self.replies.push((save, bytes.into()));
        self
    }

    /// The reply to the outbox after the next one; the next one is answered already.
    pub fn reply_second(mut self, text: &str) -> Self {
        self.skip += 1;
        self.replies.push((Save::Write, text.into()));
        self
    }

    /// Text on standard input.
    pub fn input(mut self, text: &str) -> Self {
        self.input = Some(text.to_owned());
        self
    }

    /// An environment variable.
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Goes on in the base directory that another run left.
    pub fn after(finished: Finished, arguments: &[&str]) -> Self {
        let mut test = Self::new(arguments);
        test.root = finished.root;
        test
    }

    /// The base directory.
    pub fn base(&self) -> PathBuf {
        self.root.path().join("base")
    }

    /// Makes the run and waits for its end.
    pub fn run(self) -> Finished {
        let running = self.start();
        running.wait()
    }

    /// Starts the program and the person.
    pub fn start(mut self) -> Running {
        let mut command = agent(&self.base());
        command
            .args(&self.arguments)
            .envs(self.environment.iter().cloned());
        command.stdin(if self.input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        });
        let person = Person::watch(&self.base(), self.skip, std::mem::take(&mut self.replies));
        let mut child = command.spawn().unwrap();
        if let Some(input) = &self.input {
            let written = child.stdin.take().unwrap().write_all(input.as_bytes());
            // The program may have ended without reading it.
            let is_unread = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
            assert!(written.as_ref().err().is_none_or(is_unread), "{written:?}");
        }
        let stdout = drain(child.stdout.take().unwrap());
        let stderr = drain(child.stderr.take().unwrap());
        Running {
            root: self.root,
            child: Leashed(child),
            stdout,
            stderr,
            person,
        }
    }
}

/// The program that is tested: the one that cargo built, or another build of it.
pub fn program() -> String {
    std::env::var("AGENT_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_agent").to_owned())
}

/// The program in a base directory, with an environment of its own.
pub fn agent(base: &Path) -> Command {
    let mut command = Command::new(program());
    command
        .current_dir(base)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", base.with_file_name("home"))
        .env("XDG_STATE_HOME", base.with_file_name("state"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A temporary directory with an empty base directory in it.
fn root() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("base")).unwrap();
    root
}

fn drain(mut stream: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// A process that ends with the test, also with one that fails.
pub struct Leashed(Child);

impl Drop for Leashed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl std::ops::Deref for Leashed {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl std::ops::DerefMut for Leashed {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

/// A program under way.
pub struct Running {
    root: tempfile::TempDir,
    /// The process.
    pub child: Leashed,
    stdout: thread::JoinHandle<String>,
    stderr: thread::JoinHandle<String>,
    person: Person,
}

impl Running {
    /// Waits until the outbox of this round is there, and gives its text.
    pub fn outbox(&self, sequence: u32) -> String {
        wait_for_outbox(&self.base(), sequence).1
    }

    /// The base directory.
    pub fn base(&self) -> PathBuf {
        self.root.path().join("base")
    }

    /// Ends the process as a power cut would.
    pub fn kill(mut self) -> Finished {
        self.child.kill().unwrap();
        self.wait()
    }

    /// Ends the process as a power cut would, unless it ends by itself before.
    pub fn stop_after(mut self, millis: u64) -> Finished {
        let wait = Duration::from_millis(millis);
        let ended = wait_timeout::ChildExt::wait_timeout(&mut *self.child, wait).unwrap();
        if ended.is_none() {
            self.child.kill().unwrap();
        }
        self.wait()
    }

    /// Sends a signal, such as `INT`.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill")
            .args(["-s", name, &id])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// Waits for the end.
    #[track_caller]
    pub fn wait(self) -> Finished {
        self.wait_up_to(DEADLINE)
    }

    /// Waits for the end of something that takes its time.
    #[track_caller]
    pub fn wait_up_to(mut self, deadline: Duration) -> Finished {
        let began = Instant::now();
        let status = loop {
            if let Some(status) =
                wait_timeout::ChildExt::wait_timeout(&mut *self.child, Duration::from_secs(1))
                    .unwrap()
            {
                break status;
            }
            if began.elapsed() > deadline {
                let _ = self.child.kill();
                let stderr = self.stderr.join().unwrap();
                panic!("the program did not end; it said:\n{stderr}");
            }
        };
        self.person.leave();
        Finished {
            root: self.root,
            status,
            stdout: self.stdout.join().unwrap(),
            stderr: self.stderr.join().unwrap(),
        }
    }
}

impl Finished {
    /// Checks the exit code, and shows what was said if it is another.
    #[track_caller]
    pub fn code(self, expected: i32) -> Self {
        assert_eq!(
            self.status.code(),
            Some(expected),
            "stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Checks that a text was said on standard error.
    #[track_caller]
    pub fn said(self, text: &str) -> Self {
        assert!(
            self.stderr.contains(text),
            "`{text}` was not said:\n{}",
            self.stderr
        );
        self
    }

    /// Checks a file of the workspace.
    #[track_caller]
    pub fn workspace(self, path: &str, expected: &str) -> Self {
        let path = self.base().join("workspace").join(path);
        let content = fs::read_to_string(&path)
            .unwrap_or_else(|cause| panic!("{}: {cause}\n{}", path.display(), self.stderr));
        assert_eq!(content, expected, "{}", self.stderr);
        self
    }

    /// The base directory.
    pub fn base(&self) -> PathBuf {
        self.root.path().join("base")
    }

    /// The text of an outbox.
    #[track_caller]
    pub fn outbox(&self, sequence: u32) -> String {
        let path = outbox_path(&self.base(), sequence);
        fs::read_to_string(path.unwrap_or_else(|| panic!("no outbox {sequence}:\n{}", self.stderr)))
            .unwrap()
    }

    /// How many outboxes there are.
    pub fn outboxes(&self) -> usize {
        let files = fs::read_dir(self.base().join("outbox")).unwrap();
        let is_message = |name: &std::ffi::OsString| name.to_string_lossy().contains("_seq");
        files
            .map(|file| file.unwrap().file_name())
            .filter(is_message)
            .count()
    }

    /// The session file.
    pub fn session(&self) -> serde_json::Value {
        let directory = fs::read_dir(self.base().join("sessions")).unwrap();
        let mut files = directory
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|e| e == "json"))
            .filter(|path| path.file_stem().is_some_and(|stem| stem != "loop"));
        serde_json::from_slice(&fs::read(files.next().unwrap()).unwrap()).unwrap()
    }

    /// The mark that ends the reply to the current round.
    pub fn end_mark(&self) -> String {
        let session = self.session();
        let id = session["sessionId"].as_str().unwrap();
        format!("[END {id}#{}]", session["sequenceNumber"])
    }

    /// The files beneath a directory of the base, with their contents. After a kill the supervisor may
    /// still be taking some away.
    pub fn files(&self, directory: &str) -> BTreeMap<String, String> {
        let root = self.base().join(directory);
        let mut found = BTreeMap::new();
        let mut open = vec![root.clone()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else if let Ok(content) = fs::read(&path) {
                    let name = path
                        .strip_prefix(&root)
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .to_owned();
                    found.insert(name, String::from_utf8_lossy(&content).into_owned());
                }
            }
        }
        found
    }
}

/// Someone who watches the outbox and saves replies.
struct Person {
    stop: mpsc::Sender<()>,
    thread: thread::JoinHandle<()>,
}

impl Person {
    fn watch(base: &Path, skip: u32, replies: Vec<(Save, Vec<u8>)>) -> Self {
        let (stop, stopped) = mpsc::channel();
        let base = base.to_owned();
        let first = (1..1_000)
            .find(|sequence| outbox_path(&base, *sequence + 1).is_none())
            .unwrap_or(1);
        let thread = thread::spawn(move || answer(&base, first + skip, replies, &stopped));
        Self { stop, thread }
    }

    fn leave(self) {
        let _ = self.stop.send(());
        self.thread.join().unwrap();
    }
}

fn answer(base: &Path, first: u32, replies: Vec<(Save, Vec<u8>)>, stopped: &Receiver<()>) {
    for (sequence, (save, bytes)) in (first..).zip(replies) {
        let Some((id, _)) = outbox_or_stop(base, sequence, stopped) else {
            return;
        };
        let end = format!("[END {id}#{sequence}]");
        let bytes = replaced(&bytes, b"{end}", end.as_bytes());
        save_reply(
            &base.join("inbox").join(format!("reply{sequence}.txt")),
            save,
            &bytes,
        );
    }
}

/// Saves a file in one of the ways that people's tools do.
pub fn save_reply(path: &Path, save: Save, bytes: &[u8]) {
    let elsewhere = path
        .with_extension("elsewhere")
        .with_file_name("../elsewhere");
    match save {
        Save::Write => fs::write(path, bytes).unwrap(),
        Save::Chunks => {
            let mut file = File::create(path).unwrap();
            for chunk in bytes.chunks(bytes.len().div_ceil(4).max(1)) {
                file.write_all(chunk).unwrap();
                thread::sleep(Duration::from_millis(120));
            }
        }
        Save::Rename => {
            fs::write(&elsewhere, bytes).unwrap();
            fs::rename(&elsewhere, path).unwrap();
        }
        Save::Copy => {
            fs::write(&elsewhere, bytes).unwrap();
            fs::copy(&elsewhere, path).unwrap();
        }
        Save::Editor => {
            let swap = path.with_file_name(".reply.txt.swp");
            fs::write(&swap, b"swap").unwrap();
            fs::write(path, bytes).unwrap();
            fs::remove_file(swap).unwrap();
        }
        Save::Truncate => {
            let mut file = File::create(path).unwrap();
            file.write_all(b"half an old vers").unwrap();
            file.set_len(0).unwrap();
            drop(file);
            fs::write(path, bytes).unwrap();
        }
    }
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        result.extend_from_slice(&rest[..at]);
        result.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    result.extend_from_slice(rest);
    result
}

fn outbox_path(base: &Path, sequence: u32) -> Option<PathBuf> {
    let suffix = format!("_seq{sequence:04}.txt");
    let entries = fs::read_dir(base.join("outbox")).ok()?;
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.to_string_lossy().ends_with(&suffix))
}

/// Waits for an outbox and gives the session's id and the text.
pub fn wait_for_outbox(base: &Path, sequence: u32) -> (String, String) {
    let (_stop, never) = mpsc::channel();
    outbox_or_stop(base, sequence, &never).expect("nobody stops this")
}

fn outbox_or_stop(base: &Path, sequence: u32, stopped: &Receiver<()>) -> Option<(String, String)> {
    let (sender, changes) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        // To look for the file opens directories, which is an event too: heard, it would never end.
        let is_ours = event.is_ok_and(|event| {
            matches!(event.kind, EventKind::Access(kind) if kind != AccessKind::Close(AccessMode::Write))
        });
        if !is_ours {
            let _ = sender.send(());
        }
    })
    .unwrap();
    // Not the whole tree: a directory that a command has for a moment may go while it is added.
    watcher.watch(base, RecursiveMode::NonRecursive).unwrap();
    let began = Instant::now();
    let mut watches_outbox = false;
    loop {
        watches_outbox = watches_outbox
            || watcher
                .watch(&base.join("outbox"), RecursiveMode::NonRecursive)
                .is_ok();
        if let Some(path) = outbox_path(base, sequence) {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            return Some((name[..8].to_owned(), fs::read_to_string(path).unwrap()));
        }
        if stopped.try_recv().is_ok() {
            return None;
        }
        assert!(began.elapsed() < DEADLINE, "no outbox {sequence}");
        let _ = changes.recv_timeout(Duration::from_millis(100));
    }
}

/// Waits until something is so.
#[track_caller]
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < DEADLINE, "{what}: not so");
        thread::sleep(Duration::from_millis(10));
    }
}
