use std::fmt;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What writes, renames, syncs, removes or starts something.
const CALLS: &str = "write,pwrite64,writev,openat,openat2,rename,renameat,renameat2,fsync,fdatasync,syncfs,unlink,unlinkat,rmdir,link,linkat,symlink,symlinkat,mkdir,mkdirat,ftruncate,chmod,fchmod,fchmodat,clone,clone3,fork,vfork,execve,exit_group";

/// One system call of a run: its name, and how many of that name there were up to it.
#[derive(Debug, Clone)]
pub struct Boundary {
    pub call: String,
    pub number: usize,
    pub line: String,
}

/// What happens at a boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Kill,
    Error(&'static str),
}

impl Effect {
    pub const ALL: [Self; 4] = [
        Self::Kill,
        Self::Error("ENOSPC"),
        Self::Error("EIO"),
        Self::Error("EACCES"),
    ];

    /// A kill can come anywhere; errors like these come from files only.
    pub fn fits(self, boundary: &Boundary) -> bool {
        let is_start = ["clone", "clone3", "fork", "vfork", "execve", "exit_group"];
        let arguments = &boundary.line[boundary.call.len()..];
        let is_file = arguments.contains("</") || arguments.contains("\"/");
        self == Self::Kill || (is_file && !is_start.contains(&boundary.call.as_str()))
    }
}

/// What happens where.
#[derive(Debug, Clone)]
pub struct Fault {
    pub boundary: Boundary,
    pub effect: Effect,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at `{}`", self.effect, self.boundary.line)
    }
}

/// Whether `strace` is there and may trace.
pub fn is_available() -> bool {
    let output = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .stdin(Stdio::null())
        .output();
    output.is_ok_and(|output| output.status.success())
}

/// Runs the program and counts its boundaries.
pub fn count(base: &Path, arguments: &[&str]) -> (Output, Vec<Boundary>) {
    let (output, trace) = traced(
        base,
        arguments,
        &["-e".to_owned(), format!("trace={CALLS}")],
    );
    let mut numbers = std::collections::BTreeMap::<String, usize>::new();
    let mut boundaries = Vec::new();
    // The first call is the start of the program itself.
    for line in trace.lines() {
        let Some((call, _)) = line.split_once('(') else {
            continue;
        };
        let number = numbers.entry(call.to_owned()).or_default();
        *number += 1;
        let is_start = call == "execve" && *number == 1;
        let only_reads = call.starts_with("openat") && !line.contains("O_CREAT");
        if !is_start && !only_reads {
            boundaries.push(Boundary {
                call: call.to_owned(),
                number: *number,
                line: line.chars().take(160).collect(),
            });
        }
    }
    (output, boundaries)
}

/// Runs the program with a fault; tells whether it was met.
pub fn disturbed(base: &Path, arguments: &[&str], fault: &Fault) -> (Output, bool) {
    let Boundary { call, number, .. } = &fault.boundary;
    let effect = match fault.effect {
        Effect::Kill => "signal=KILL".to_owned(),
        Effect::Error(error) => format!("error={error}"),
    };
    let options = [
        "-e".to_owned(),
        format!("trace={call}"),
        "-e".to_owned(),
        format!("inject={call}:{effect}:when={number}"),
    ];
    let (output, trace) = traced(base, arguments, &options);
    let is_met = trace.contains("(INJECTED)") || trace.contains("+++ killed by SIGKILL +++");
    (output, is_met)
}

/// Without following threads and children: what a command does is not the program's doing.
fn traced(base: &Path, arguments: &[&str], options: &[String]) -> (Output, String) {
    let log = base.with_file_name("trace.txt");
    let mut command = Command::new("strace");
    command
        // `-y` tells which file a descriptor is.
        .args(["-y", "-o"])
        .arg(&log)
        .args(options)
        .arg(env!("CARGO_BIN_EXE_agent"))
        .args(arguments);
    environment(&mut command, base);
    let output = command.output().unwrap();
    let trace = fs::read(&log).unwrap_or_default();
    (output, String::from_utf8_lossy(&trace).into_owned())
}

/// Runs the program undisturbed.
pub fn plain(base: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agent"));
    command.args(arguments);
    environment(&mut command, base);
    command.output().unwrap()
}

fn environment(command: &mut Command, base: &Path) {
    command
        .current_dir(base)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", base.with_file_name("home"))
        .env("XDG_STATE_HOME", base.with_file_name("state"))
        .stdin(Stdio::null());
}
