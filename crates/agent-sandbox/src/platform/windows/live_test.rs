//! Tries out what a job object holds on this machine.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use agent_files::platform::programs;

use super::super::{ChildEvent, ChildExit, ChildSession};
use super::WindowsChildTree;
use crate::{Property, PropertyName, ResourceLimits};

/// How long one trial may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The properties of commands that have no sandbox, tested now.
pub fn held_without_sandbox() -> Vec<Property> {
    let tried = [
        (PropertyName::Survival, ends_descendants()),
        (PropertyName::Limits, limits_processes()),
    ];
    let told = tried.into_iter().map(|(name, holds)| Property {
        name,
        holds: holds.unwrap_or(false),
    });
    told.collect()
}

/// True if a process that its parent left behind ends with the job.
fn ends_descendants() -> io::Result<bool> {
    let tree = &mut started("start /b ping -n 60 127.0.0.1", None)?;
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
    let limits = ResourceLimits {
        processes: Some(1),
        ..ResourceLimits::default()
    };
    let script = "cmd /d /c exit 7";
    let exit = |limits| wait_for_end(&mut started(script, limits)?);
    let can_start = exit(None)? == Some(ChildExit::Code(7));
    Ok(can_start && exit(Some(&limits))? != Some(ChildExit::Code(7)))
}

fn started(script: &str, limits: Option<&ResourceLimits>) -> io::Result<WindowsChildTree> {
    let root = std::env::var_os("SystemRoot").unwrap_or_else(|| r"C:\Windows".into());
    let system = PathBuf::from(root).join("System32");
    let mut command = programs::exactly(&system.join("cmd.exe"));
    command.args(["/d", "/c", script]).current_dir(&system);
    WindowsChildTree::start_limited(command, Stdio::null(), ChildSession::MadeBefore, limits)
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
