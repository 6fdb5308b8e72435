//! Limits the shared memory of a command, which the kernel does not limit.
//!
//! `RLIMIT_DATA` covers the private memory of one process: shared pages and files in memory belong
//! to none. So the supervisor regularly checks how much of that the machine uses. As long as this
//! has not grown by more than the limit since the command began, the command cannot have used more;
//! only then are all its processes examined.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use rustix::process::Pid;

use super::descendants::with_descendants;

/// Check interval: in this time no machine fills more than a few hundred megabytes.
pub(super) const INTERVAL: Duration = Duration::from_millis(100);

/// Watches the shared memory of a process and everything that it starts.
#[derive(Debug)]
pub(super) struct SharedMemory {
    command: Pid,
    /// The limit in bytes.
    limit: u64,
    /// The machine's shared memory before the command.
    before: u64,
}

impl SharedMemory {
    /// Starts watching; `None` if the system does not provide the numbers.
    pub(super) fn watch(command: Pid, limit: Option<u64>) -> Option<Self> {
        Some(Self {
            command,
            limit: limit?,
            before: Machine::now()?.shared,
        })
    }

    /// True if the command exceeds the limit.
    pub(super) fn is_exceeded(&self) -> bool {
        let Some(machine) = Machine::now() else {
            return false;
        };
        if machine.shared.saturating_sub(self.before) <= self.limit {
            return false;
        }
        // A descriptor in transit between two processes belongs to neither of them; a machine that
        // is about to run out of memory cannot wait for it to arrive.
        machine.is_short() || used_by(self.command) > self.limit
    }
}

/// Memory statistics of the machine, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Machine {
    total: u64,
    available: u64,
    shared: u64,
}

impl Machine {
    fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/meminfo").ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        Some(Self {
            total: kilobytes(text, "MemTotal:")?,
            available: kilobytes(text, "MemAvailable:")?,
            shared: kilobytes(text, "Shmem:")?,
        })
    }

    fn is_short(self) -> bool {
        const TWENTIETH: u64 = 20;
        self.available < self.total / TWENTIETH
    }
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(number * 1024)
}

/// The shared memory of a process and everything that it started: mapped pages, each counted once,
/// and open files in memory.
fn used_by(command: Pid) -> u64 {
    let mut mapped = 0;
    let mut files = BTreeMap::new();
    for process in with_descendants(command.as_raw_nonzero().get()) {
        let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup"));
        mapped += kilobytes(&text.unwrap_or_default(), "Pss_Shmem:").unwrap_or(0);
        add_files_in_memory(process, &mut files);
    }
    mapped.max(files.values().sum())
}

/// Adds the in-memory files of a process, by inode.
fn add_files_in_memory(process: i32, files: &mut BTreeMap<u64, u64>) {
    const BLOCK: u64 = 512;
    let open = fs::read_dir(format!("/proc/{process}/fd"));
    for entry in open.into_iter().flatten().flatten() {
        let is_in_memory = fs::read_link(entry.path()).is_ok_and(|target| {
            target
                .as_os_str()
                .as_encoded_bytes()
                .starts_with(b"/memfd:")
        });
        if is_in_memory && let Ok(found) = fs::metadata(entry.path()) {
            files.insert(found.ino(), found.blocks() * BLOCK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_tells_what_it_has() {
        let text = "MemTotal:  100 kB\nMemFree: 1 kB\nMemAvailable:  4 kB\nShmem:   7 kB\nShmemHugePages: 9 kB\n";
        let machine = Machine::parse(text).unwrap();
        assert_eq!(machine.shared, 7 * 1024);
        assert!(machine.is_short());
        assert!(Machine::now().is_some_and(|machine| machine.total > machine.shared));
    }
}
