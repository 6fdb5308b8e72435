//! Names of things that outlive a killed process, so that the next one finds and removes them.

/// This process, so that another one with its number is not taken for it: `PID-START`.
pub(super) fn own_process() -> String {
    let process = std::process::id();
    let began = start_of(process).unwrap_or_else(|| "0".to_owned());
    format!("{process}-{began}")
}

/// True if the process of a name `PID-START-...` is gone.
pub(super) fn is_gone(name: &str) -> bool {
    let mut parts = name.split('-');
    let (Some(process), Some(began)) = (parts.next(), parts.next()) else {
        return false;
    };
    process
        .parse()
        .is_ok_and(|process| start_of(process).as_deref() != Some(began))
}

/// When a process began, in ticks of the kernel; `None` if there is none.
#[cfg(target_os = "linux")]
fn start_of(process: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19).map(str::to_owned)
}

/// `0` for a process that there is; `None` if there is none.
#[cfg(all(unix, not(target_os = "linux")))]
fn start_of(process: u32) -> Option<String> {
    let process = rustix::process::Pid::from_raw(process.try_into().ok()?)?;
    rustix::process::test_kill_process(process).ok()?;
    Some("0".to_owned())
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail on Unix")]
fn start_of(_process: u32) -> Option<String> {
    Some("0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_processes_that_are_gone_are_stale() {
        assert!(!is_gone(&format!("{}-x", own_process())));
        assert!(!is_gone("files") && !is_gone("abc-1-x"));
        if cfg!(unix) {
            assert!(is_gone("4194999-1-x"));
        }
    }
}
