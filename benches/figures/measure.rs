//! How time is taken.
//!
//! Code that only computes is measured in processor time of this thread, which other programs on the
//! machine do not add to. Code that waits for a disk or another process is measured by the clock, in
//! turns with its peer, so that a busy moment hits both. The figure is the median unless it says
//! otherwise.

use std::error::Error;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The processor time that `work` takes, as the median of so many runs after one to warm up.
pub(crate) fn processor_time<T>(runs: usize, work: impl FnMut() -> T) -> Duration {
    median(processor_times(runs, work))
}

/// The shortest processor time that `work` takes: other programs can only lengthen it, through the
/// caches, and a ratio of two shortest ones says most about the work itself.
pub(crate) fn shortest_processor_time<T>(runs: usize, work: impl FnMut() -> T) -> Duration {
    shortest(processor_times(runs, work))
}

fn processor_times<T>(runs: usize, mut work: impl FnMut() -> T) -> Vec<Duration> {
    std::hint::black_box(work());
    let times = (0..runs).map(|_| {
        let before = thread_time();
        let result = std::hint::black_box(work());
        let time = thread_time().saturating_sub(before);
        drop(result);
        time
    });
    times.collect()
}

/// The middle of the times; of none, nothing.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The shortest of the times; of none, nothing. A busy machine lengthens what runs in several threads
/// more than what runs in one, so that only the shortest of both compare the programs.
pub(crate) fn shortest(times: Vec<Duration>) -> Duration {
    times.into_iter().min().unwrap_or_default()
}

/// How many times `other` goes into `this`.
pub(crate) fn ratio(this: Duration, other: Duration) -> f64 {
    this.as_secs_f64() / other.as_secs_f64()
}

/// The processor time that this thread has used.
fn thread_time() -> Duration {
    // The kernel brings the counter up to date when it switches tasks.
    std::thread::yield_now();
    scheduled("/proc/thread-self/schedstat")
}

/// The processor time that a process of ours has used, over all its threads that still run.
pub(crate) fn process_time(process: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    let threads = threads.into_iter().flatten().flatten();
    threads
        .filter_map(|thread| Some(scheduled(thread.path().join("schedstat").to_str()?)))
        .sum()
}

fn scheduled(file: &str) -> Duration {
    let text = fs::read_to_string(file).unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

/// The time from the start of a program to its end, by the clock; it must succeed.
pub(crate) fn run_time(command: &mut Command) -> Result<Duration, Box<dyn Error>> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let began = Instant::now();
    let output = command.spawn()?.wait_with_output()?;
    let time = began.elapsed();
    if output.status.success() {
        return Ok(time);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?} ended with {}: {said}", output.status).into())
}

/// `agent`, with an environment of its own: the program that was built for this run, or another one
/// that is to be compared with it.
pub(crate) fn agent() -> Command {
    let program = std::env::var_os("AGENT_PROGRAM");
    let mut command = Command::new(program.unwrap_or_else(|| env!("CARGO_BIN_EXE_agent").into()));
    let home = std::env::temp_dir().join("agent-figures-home");
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", &home)
        .env("XDG_STATE_HOME", &home);
    command
}
