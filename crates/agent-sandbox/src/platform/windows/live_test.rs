//! Tries out what a job object and low integrity hold on this machine.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agent_files::platform::{programs, temporary_directory};

use super::super::{ChildEvent, ChildExit, ChildRestrictions, ChildSession};
use super::{WindowsChildTree, integrity};
use crate::{CommandShell, Property, PropertyName, ResourceLimits, Strength};

/// How long one trial may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Tests what confines commands without a sandbox. Starts one process of their shell, because this
/// runs at the beginning of every session.
pub fn held_without_sandbox(shell: &CommandShell, workspace: &Path) -> Strength {
    strength([
        (PropertyName::Files, confines_writes(shell, workspace)),
        // Nothing restricts these.
        (PropertyName::Home, Ok(false)),
        (PropertyName::Network, Ok(false)),
    ])
}

/// Tests which limits the job object of a command enforces.
pub fn held_by_job() -> Strength {
    strength([
        (PropertyName::Survival, ends_descendants()),
        (PropertyName::Limits, limits_processes()),
    ])
}

fn strength<const N: usize>(tried: [(PropertyName, io::Result<bool>); N]) -> Strength {
    let mut reasons = Vec::new();
    let properties = tried.map(|(name, tried)| {
        let holds = tried.unwrap_or_else(|error| {
            reasons.push(format!("the test of `{}` failed: {error}", name.word()));
            false
        });
        Property { name, holds }
    });
    Strength {
        backend: None,
        properties: properties.into(),
        reasons,
    }
}

/// True if a command of low integrity can write where it may, and nowhere else, and if it could be given
/// the workspace. Nothing in the workspace is changed.
fn confines_writes(shell: &CommandShell, workspace: &Path) -> io::Result<bool> {
    let outside = temporary_directory("agent-live-test-")?;
    let inside = outside.path().join("inside");
    std::fs::create_dir(&inside)?;
    let restrictions = ChildRestrictions {
        writable: Some(vec![inside.clone()]),
        ..ChildRestrictions::default()
    };
    // It means the same in all shells. The second line shows that the first one was tried.
    let script = shell.prepare("echo x > written.txt\necho x > inside/written.txt")?;
    let mut command = programs::exactly(Path::new(&script.words[0]));
    command.args(&script.words[1..]).current_dir(outside.path());
    wait_for_end(&mut started(command, &restrictions)?)?;
    if !inside.join("written.txt").exists() {
        return Err(io::Error::other("nothing was written"));
    }
    integrity::can_label(workspace)?;
    Ok(!outside.path().join("written.txt").exists())
}

/// True if a process that its parent left behind ends with the job.
fn ends_descendants() -> io::Result<bool> {
    let unrestricted = ChildRestrictions::default();
    let tree = &mut started(cmd("start /b ping -n 60 127.0.0.1"), &unrestricted)?;
    wait_for_end(tree)?;
    let outlived = tree.processes()?;
    tree.kill();
    let deadline = Instant::now() + PATIENCE;
    // Its pipe is closed when the last of them has ended.
    while tree.drain(&mut [0; 1024], PATIENCE)? != ChildEvent::Closed {
        if Instant::now() > deadline {
            return Ok(false);
        }
    }
    Ok(outlived > 0 && tree.processes()? == 0)
}

/// True if a process more than allowed is not started.
fn limits_processes() -> io::Result<bool> {
    let one_process = ChildRestrictions {
        limits: Some(ResourceLimits {
            processes: Some(1),
            ..ResourceLimits::default()
        }),
        ..ChildRestrictions::default()
    };
    let can_start = |restrictions: &ChildRestrictions| -> io::Result<bool> {
        let exit = wait_for_end(&mut started(cmd("cmd /d /c exit 7"), restrictions)?)?;
        Ok(exit == Some(ChildExit::Code(7)))
    };
    Ok(can_start(&ChildRestrictions::default())? && !can_start(&one_process)?)
}

fn cmd(script: &str) -> Command {
    let root = std::env::var_os("SystemRoot").unwrap_or_else(|| r"C:\Windows".into());
    let system = PathBuf::from(root).join("System32");
    let mut command = programs::exactly(&system.join("cmd.exe"));
    command.args(["/d", "/c", script]).current_dir(&system);
    command
}

fn started(command: Command, restrictions: &ChildRestrictions) -> io::Result<WindowsChildTree> {
    let session = ChildSession::MadeBefore;
    WindowsChildTree::start_restricted(command, Stdio::null(), session, restrictions)
}

fn wait_for_end(tree: &mut WindowsChildTree) -> io::Result<Option<ChildExit>> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if tree.next(&mut [0; 1024], PATIENCE)? == ChildEvent::Ended {
            return tree.reap(PATIENCE);
        }
    }
    Ok(None)
}
