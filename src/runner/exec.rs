//! Commands through a program of the person that runs a script where the workspace is, under the same
//! path: `nsenter`, `flatpak-spawn --host sh`, a wrapper around a job queue.

use super::channel::{self, Belongings, Errand, quoted};
use super::{Job, Ran, Runner};
use crate::platform::programs;

/// Hands scripts to a program of the person.
#[derive(Debug)]
pub struct ExecRunner {
    words: Vec<String>,
}

impl ExecRunner {
    /// A runner that starts these words; the first is a program in `PATH` or an absolute path.
    pub fn new(words: Vec<String>) -> Self {
        Self { words }
    }
}

impl Runner for ExecRunner {
    fn run(&self, job: Job<'_>) -> Ran {
        let Some((program, arguments)) = self.words.split_first() else {
            return Ran::not_started("no program was named");
        };
        let mut client = match programs::command(program) {
            Ok(client) => client,
            Err(error) => return Ran::not_started(format!("`Runner` cannot be started: {error}")),
        };
        client.args(arguments).current_dir(job.directory);
        let directory = quoted(&job.directory.to_string_lossy());
        let errand = Errand {
            client,
            directory: &directory,
            environment: &[],
            belongings: Belongings::Marked,
        };
        channel::run(errand, job)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::super::{Granted, Program, RunEnd};
    use super::*;

    fn run(words: &[&str], script: &str, seconds: u64, cancelled: &AtomicBool) -> Ran {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        ExecRunner::new(words).run(Job {
            program: Program::Shell(script),
            directory: Path::new("/tmp"),
            environment: &[],
            timeout: Duration::from_secs(seconds),
            max_output: 1000,
            cancelled,
            on_output: &mut |text| {
                if text.contains("cancel") {
                    cancelled.store(true, Ordering::Relaxed);
                }
            },
            confinement: None,
            withheld: None,
            granted: Granted::default(),
        })
    }

    #[track_caller]
    fn case(script: &str, code: i32, text: &str) {
        for shell in ["sh", "bash"] {
            let ran = run(&[shell], script, 20, &AtomicBool::new(false));
            let end = RunEnd::Exited(code);
            assert_eq!((ran.end, ran.output.text.as_str()), (end, text));
        }
    }

    fn is_running(mark: &str) -> bool {
        let lines = std::fs::read_dir("/proc").unwrap().flatten();
        let mut lines = lines.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        lines.any(|line| String::from_utf8_lossy(&line).contains(mark))
    }

    #[test]
    fn a_script_finds_its_directory_and_tells_its_code() {
        case("pwd; echo b >&2; exit 3", 3, "/tmp\nb\n");
        case("echo \"it's $((1 + 1))\"", 0, "it's 2\n");
        case("cat; echo end", 0, "end\n");
    }

    #[test]
    fn the_codes_of_a_pipeline_are_told() {
        let ran = run(&["sh"], "(exit 4) | cat", 20, &AtomicBool::new(false));
        assert_eq!(ran.pipeline, [4, 0]);
    }

    #[test]
    fn nothing_outlives_its_end_its_time_or_an_interrupt() {
        for (script, seconds, end) in [
            ("setsid sleep 7001 & exit 0", 20, RunEnd::Exited(0)),
            ("(setsid sleep 7002 &) ; sleep 7003", 1, RunEnd::TimedOut),
            (
                "(setsid sleep 7004 &) ; echo cancel; sleep 7005",
                20,
                RunEnd::Interrupted,
            ),
        ] {
            let ran = run(&["sh"], script, seconds, &AtomicBool::new(false));
            assert_eq!(ran.end, end, "{script}");
            assert!(
                ran.took < Duration::from_secs(10),
                "{script}: {:?}",
                ran.took
            );
        }
        for mark in ["7001", "7002", "7003", "7004", "7005"] {
            assert!(!is_running(mark), "sleep {mark}");
        }
    }

    #[test]
    fn a_process_that_forks_all_the_time_is_ended() {
        let script = "f='exec 0<&-; sleep 0.001; sh -c \"$1\" 7021 \"$1\" & exit'; sh -c \"$f\" 7021 \"$f\" & exit 0";
        let ran = run(&["sh"], script, 20, &AtomicBool::new(false));
        assert_eq!(ran.end, RunEnd::Exited(0));
        assert!(!is_running("7021"));
    }

    #[test]
    fn nothing_leaves_a_control_group() {
        let never = AtomicBool::new(false);
        let groups = run(&["sh"], "cat /proc/self/cgroup", 20, &never);
        if !groups.output.text.contains("/agent-") {
            // Only root and users who were given a part of the tree may make one.
            return;
        }
        let script = "(env -i setsid sleep 7031 >/dev/null 2>&1 &); f='sleep 0.01; setsid sh -c \"$1\" 7032 \"$1\" & exit'; env -i sh -c \"$f\" 7032 \"$f\" & sleep 0.2; exit 0";
        let ran = run(&["sh"], script, 20, &never);
        assert_eq!(ran.end, RunEnd::Exited(0));
        for mark in ["7031", "7032"] {
            assert!(!is_running(mark), "{mark}");
        }
        let groups = groups.output.text.lines();
        for group in groups.filter_map(|line| line.splitn(3, ':').nth(2)) {
            for tree in ["/sys/fs/cgroup", "/sys/fs/cgroup/freezer"] {
                let place = format!("{tree}{group}");
                assert!(
                    !group.contains("agent-") || !Path::new(&place).exists(),
                    "{place}"
                );
            }
        }
    }

    #[test]
    fn a_program_that_is_missing_or_fails_is_told() {
        let never = AtomicBool::new(false);
        let missing = run(&["no-such-runner"], "true", 20, &never);
        assert!(
            matches!(missing.end, RunEnd::NotStarted(reason) if reason.contains("no-such-runner"))
        );
        let failing = run(
            &["sh", "-c", "echo no route to host; exit 255"],
            "true",
            20,
            &never,
        );
        assert_eq!(
            failing.end,
            RunEnd::NotStarted("no route to host".to_owned())
        );
    }

    #[test]
    fn a_connection_that_is_lost_in_the_middle_is_told() {
        let cut = "exec 4<&0; sh <&4 & p=$!; sleep 1; kill -9 $p";
        let never = AtomicBool::new(false);
        let ran = run(&["sh", "-c", cut], "echo begun; sleep 7", 20, &never);
        assert!(ran.is_lost, "{ran:?}");
        assert_eq!(ran.output.text, "begun\n");
    }
}
