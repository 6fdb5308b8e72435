use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::tracer::{self, Traced};

/// One system call of a run: what it does to which file, and how often that was done up to it.
#[derive(Debug, Clone)]
pub struct Boundary {
    pub what: String,
    pub number: usize,
    /// True if another thread than the main one did it; that may differ from run to run.
    pub is_beside: bool,
}

impl PartialEq for Boundary {
    fn eq(&self, other: &Self) -> bool {
        (self.number, &self.what) == (other.number, &other.what)
    }
}

impl Boundary {
    pub fn call(&self) -> &str {
        self.what.split(' ').next().unwrap_or_default()
    }
}

/// The disturbance at a boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Kill,
    /// The person presses Ctrl-C.
    Interrupt,
    /// The call fails, with this error of this number.
    Error(&'static str, i32),
    /// The program is killed when a part of what it writes is written.
    Torn(Torn),
}

/// How much of a write comes to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Torn {
    Byte,
    /// A page, or half of what is shorter.
    Page,
    AllButOne,
}

impl Torn {
    pub fn part_of(self, length: u64) -> u64 {
        let part = match self {
            Self::Byte => 1,
            Self::Page if length > 4096 => 4096,
            Self::Page => length / 2,
            Self::AllButOne => length.saturating_sub(1),
        };
        part.min(length)
    }
}

impl Effect {
    pub const ALL: [Self; 8] = [
        Self::Kill,
        Self::Torn(Torn::Byte),
        Self::Torn(Torn::Page),
        Self::Torn(Torn::AllButOne),
        Self::Interrupt,
        Self::Error("ENOSPC", libc::ENOSPC),
        Self::Error("EIO", libc::EIO),
        Self::Error("EACCES", libc::EACCES),
    ];

    /// A kill can come anywhere; errors like these come from the program's own files only.
    pub fn fits(self, boundary: &Boundary) -> bool {
        let starts = ["clone", "clone3", "fork", "vfork", "execve", "exit_group"];
        let is_file = boundary.what.contains(" ~/") && !boundary.what.contains(TALK);
        match self {
            Self::Kill | Self::Interrupt => true,
            Self::Error(..) => is_file && !starts.contains(&boundary.call()),
            Self::Torn(_) => is_file && ["write", "pwrite64"].contains(&boundary.call()),
        }
    }

    /// Returns true if the program ends at once: run again, it must end up as if nothing had happened.
    pub fn is_kill(self) -> bool {
        matches!(self, Self::Kill | Self::Torn(_))
    }
}

/// Where the program's talk goes, beside its base directory.
const TALK: &str = "~/talk.";

/// An effect and the boundary at which it happens.
#[derive(Debug, Clone)]
pub struct Fault {
    pub boundary: Boundary,
    pub effect: Effect,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Boundary { what, number, .. } = &self.boundary;
        write!(f, "{:?} at `{what}`, number {number}", self.effect)
    }
}

/// How a program is run.
#[derive(Debug, Clone, Copy)]
pub enum Way<'a> {
    Plain,
    Counting,
    Disturbed(&'a Fault),
}

/// The result of a run.
pub struct Ran {
    pub status: ExitStatus,
    /// Its messages to the person.
    pub said: String,
    pub boundaries: Vec<Boundary>,
    /// True if the run reached the fault.
    pub is_met: bool,
}

/// The program while it runs, for the thread that attends it.
#[derive(Debug, Default)]
pub struct Running {
    process: AtomicI32,
    is_over: AtomicBool,
}

impl Running {
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// The number of its process.
    pub fn process(&self) -> i32 {
        self.process.load(Ordering::SeqCst)
    }

    pub fn signal(&self, signal: i32) {
        let process = self.process.load(Ordering::SeqCst);
        if process > 0 && !self.is_over() {
            tracer::send(process, signal);
        }
    }
}

/// Ends the program when who attends it panics.
struct Leash<'a>(&'a Running);

impl Drop for Leash<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.signal(libc::SIGKILL);
        }
    }
}

/// Where the program is run: a directory of its own with the base, a home and what is said.
#[derive(Debug, Clone)]
pub struct Place {
    pub root: PathBuf,
    pub environment: Vec<(&'static str, String)>,
}

impl Place {
    pub fn base(&self) -> PathBuf {
        self.root.join("base")
    }

    /// The messages of the attended program so far.
    pub fn said(&self) -> String {
        let said = fs::read(self.root.join("talk.err")).unwrap_or_default();
        String::from_utf8_lossy(&said).into_owned()
    }

    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.base())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.root.join("home"))
            .env("XDG_STATE_HOME", self.root.join("state"))
            .env("TMPDIR", self.root.join("tmp"))
            .envs(self.environment.iter().map(|(name, value)| (*name, value)))
            .stdin(Stdio::null());
        command
    }
}

/// Returns true if the system lets a program be traced.
pub fn is_available() -> bool {
    let traced = tracer::trace(Command::new("true"), Path::new("/"), None, drop);
    traced.is_ok_and(|traced| traced.status.success())
}

/// Runs the program to its end, while `attend` does what it does.
pub fn run(
    place: &Place,
    arguments: &[&str],
    way: Way<'_>,
    attend: impl FnOnce(&Running) + Send,
) -> Ran {
    run_fed(place, arguments, Stdio::null(), way, attend)
}

/// The program that is disturbed; one built for speed makes the whole run shorter.
fn program() -> String {
    std::env::var("AGENT_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_agent").to_owned())
}

/// Runs the program to its end with this as its standard input, while `attend` does what it does.
pub fn run_fed(
    place: &Place,
    arguments: &[&str],
    input: Stdio,
    way: Way<'_>,
    attend: impl FnOnce(&Running) + Send,
) -> Ran {
    let mut command = place.command(program());
    command.stdin(input);
    let talk = |name: &str| File::create(place.root.join(name)).unwrap();
    command
        .args(arguments)
        .stdout(talk("talk.out"))
        .stderr(talk("talk.err"));
    let running = Running::default();
    let begun = |process| running.process.store(process, Ordering::SeqCst);
    let traced = std::thread::scope(|scope| {
        scope.spawn(|| {
            let _leash = Leash(&running);
            attend(&running);
        });
        let traced = match way {
            Way::Plain => {
                let mut child = command.spawn().unwrap();
                begun(i32::try_from(child.id()).unwrap());
                Traced {
                    status: child.wait().unwrap(),
                    boundaries: Vec::new(),
                    is_met: false,
                }
            }
            Way::Counting => tracer::trace(command, &place.root, None, begun).unwrap(),
            Way::Disturbed(fault) => {
                tracer::trace(command, &place.root, Some(fault), begun).unwrap()
            }
        };
        running.is_over.store(true, Ordering::SeqCst);
        traced
    });
    Ran {
        status: traced.status,
        said: place.said(),
        boundaries: traced.boundaries,
        is_met: traced.is_met,
    }
}

/// Runs the program to its end beside another one.
pub fn beside(place: &Place, arguments: &[&str]) -> (ExitStatus, String) {
    let mut command = place.command(program());
    let output = command.args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status, said)
}
