//! A process and everything that it started.

use std::process::Child;

/// Kills a child that was started without a group of its own, and on Linux everything that it started;
/// returns when the child is gone.
pub fn kill_with_descendants(child: &mut Child) {
    // The child is not waited for yet, so no other process has its number.
    #[cfg(target_os = "linux")]
    for process in with_descendants(child.id().cast_signed()) {
        if let Some(process) = rustix::process::Pid::from_raw(process) {
            let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// The numbers of a process and of its descendants, itself first.
#[cfg(target_os = "linux")]
pub(super) fn with_descendants(first: i32) -> Vec<i32> {
    let mut found = vec![first];
    let mut at = 0;
    while let Some(process) = found.get(at) {
        let threads = std::fs::read_dir(format!("/proc/{process}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(thread.path().join("children"));
            let children = children.unwrap_or_default();
            found.extend(
                children
                    .split_whitespace()
                    .filter_map(|word| word.parse::<i32>().ok()),
            );
        }
        at += 1;
    }
    found
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_with_its_children() {
        let mut child =
            agent_files::platform::programs::exactly(std::path::Path::new("/bin/sleep"))
                .arg("60")
                .spawn()
                .unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        let found = with_descendants(own);
        let number = i32::try_from(child.id()).unwrap();
        assert!(found.contains(&own) && found.contains(&number), "{found:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
