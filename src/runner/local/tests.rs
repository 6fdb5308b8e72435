use std::ffi::OsStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::super::Granted;
use super::super::attend::GRACE;
use super::*;

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(20);

fn run_in(directory: &Path, program: Program<'_>, timeout: Duration, max_output: usize) -> Ran {
    LocalRunner::default().run(Job {
        program,
        directory,
        environment: &[("GIVEN", "value")],
        timeout,
        max_output,
        cancelled: &AtomicBool::new(false),
        on_output: &mut |_| {},
        confinement: None,
        withheld: None,
        granted: Granted::default(),
    })
}

fn shell(script: &str, timeout: Duration) -> Ran {
    run_in(Path::new("/"), Program::Shell(script), timeout, 1000)
}

#[track_caller]
fn case(script: &str, end: RunEnd, text: &str) {
    let ran = shell(script, LONG);
    assert_eq!((ran.end, ran.output.text.as_str()), (end, text), "{script}");
    assert!(ran.took < LONG / 2, "{script}: {:?}", ran.took);
}

/// The script ends when its time is up, and soon after.
#[track_caller]
fn stopped(script: &str) -> Ran {
    let ran = shell(script, SHORT);
    assert_eq!(ran.end, RunEnd::TimedOut, "{script}: {ran:?}");
    assert!(ran.took >= SHORT, "{script}: {:?}", ran.took);
    assert!(
        ran.took < SHORT + Duration::from_secs(4),
        "{script}: {:?}",
        ran.took
    );
    ran
}

#[cfg(target_os = "linux")]
/// A process that ended and that nobody has asked about yet does not run.
fn is_running(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
}

#[test]
fn tells_codes_from_signals() {
    case("exit 0", RunEnd::Exited(0), "");
    case("exit 3", RunEnd::Exited(3), "");
    case("kill -SEGV $$", RunEnd::Signalled(11), "");
    case("no-such-program-here 2>/dev/null", RunEnd::Exited(127), "");
}

#[track_caller]
fn pipeline(script: &str, end: RunEnd, codes: &[i32], text: &str) {
    let ran = shell(script, LONG);
    let told = (ran.end, ran.pipeline.as_slice(), ran.output.text.as_str());
    assert_eq!(told, (end, codes, text), "{script}");
}

#[test]
fn every_part_of_the_last_pipeline_tells_its_exit_code() {
    pipeline("(exit 3) | cat", RunEnd::Exited(0), &[3, 0], "");
    pipeline("seq 99999 | head -1", RunEnd::Exited(0), &[141, 0], "1\n");
    pipeline("cd / && false | true", RunEnd::Exited(0), &[1, 0], "");
    pipeline("false | true\nexit", RunEnd::Exited(0), &[1, 0], "");
    pipeline("false | (exit 4)", RunEnd::Exited(4), &[1, 4], "");
    pipeline("echo a | cat; exit 7", RunEnd::Exited(7), &[0, 0], "a\n");
    let script = "cat <<E | (cat >/dev/null; exit 1)\n|\nE";
    pipeline(script, RunEnd::Exited(1), &[0, 1], "");
    pipeline("IFS=; false | true", RunEnd::Exited(0), &[1, 0], "");
    pipeline("false | true; true", RunEnd::Exited(0), &[], "");
    pipeline("echo a || b", RunEnd::Exited(0), &[], "a\n");
}

#[test]
fn asking_for_exit_codes_changes_nothing_that_a_script_does() {
    pipeline(
        "set -e; false | true; (exit 5); echo no",
        RunEnd::Exited(5),
        &[],
        "",
    );
    pipeline("set -eu; false | true", RunEnd::Exited(0), &[1, 0], "");
    // The two parts are traced in any order.
    let traced = shell("set -x; false | true", LONG);
    let mut lines: Vec<&str> = traced.output.text.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        (lines, traced.pipeline),
        (vec!["+ false", "+ true"], vec![1, 0])
    );
    pipeline(
        "false | true; trap 'echo own' EXIT",
        RunEnd::Exited(0),
        &[],
        "own\n",
    );
    pipeline("false | true; kill -9 $$", RunEnd::Signalled(9), &[], "");
    pipeline("exec 2>&-; false | true", RunEnd::Exited(0), &[], "");
    let error = "/bin/bash: -c: line 1: syntax error near unexpected token `)'\n\
                 /bin/bash: -c: line 1: `false | true; )'\n";
    if CommandShell::default().program == Path::new("/bin/bash") {
        pipeline("false | true; )", RunEnd::Exited(2), &[], error);
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log");
    let script = format!("exec >{} 2>&1; false | true", file.display());
    pipeline(&script, RunEnd::Exited(0), &[], "");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "");
}

#[test]
fn escape_sequences_do_not_reach_the_output() {
    case(
        r"printf '\033[31mred\033[0m \033]0;title\007end'",
        RunEnd::Exited(0),
        "red end",
    );
}

#[test]
fn output_and_errors_keep_their_order() {
    case(
        "echo 1; echo 2 >&2; echo 3; echo 4 >&2",
        RunEnd::Exited(0),
        "1\n2\n3\n4\n",
    );
}

#[test]
fn there_is_nothing_to_read_and_no_terminal() {
    case("cat; echo end", RunEnd::Exited(0), "end\n");
    case(
        "(: </dev/tty) 2>/dev/null && echo a terminal",
        RunEnd::Exited(1),
        "",
    );
}

#[test]
fn a_script_may_begin_with_a_dash() {
    case(
        "-x 2>/dev/null; echo went on",
        RunEnd::Exited(0),
        "went on\n",
    );
}

#[test]
fn the_environment_is_the_list_and_what_was_given() {
    case(
        "echo $GIVEN ${NO_COLOR-none} ${CARGO_PKG_NAME-none}",
        RunEnd::Exited(0),
        "value none none\n",
    );
}

#[test]
fn a_program_is_run_without_a_shell() {
    let arguments = ["/bin/echo", "a  b", "$HOME"].map(OsStr::new);
    let ran = run_in(Path::new("/"), Program::Exec(&arguments), LONG, 100);
    assert_eq!(ran.output.text, "a  b $HOME\n");
}

#[test]
fn what_does_not_start_says_why() {
    let missing = [OsStr::new("no-such-program-here")];
    let places = [
        (
            Path::new("/"),
            Program::Exec(&missing),
            "could not start `no-such-program-here`",
        ),
        (Path::new("/"), Program::Exec(&[]), "no program was named"),
        (
            Path::new("/no/such"),
            Program::Shell("true"),
            "there is no directory `/no/such`",
        ),
        (Path::new("/"), Program::Shell("a\0b"), "could not start `/"),
    ];
    for (directory, program, expected) in places {
        match run_in(directory, program, LONG, 10).end {
            RunEnd::NotStarted(reason) => assert!(reason.starts_with(expected), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn endless_output_ends_in_time_with_its_beginning_and_end() {
    let ran = stopped("echo first; yes");
    assert!(
        ran.output.text.starts_with("first\ny\n"),
        "{}",
        ran.output.text
    );
    assert!(ran.output.text.ends_with("y\n"));
    assert!(ran.output.omitted > 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_background_child_does_not_outlive_its_time() {
    let ran = stopped("sleep 1000 & echo $!; sleep 1000");
    // A killed process takes a moment to go.
    let deadline = Instant::now() + LONG;
    while is_running(&ran.output.text) {
        assert!(Instant::now() < deadline, "{}", ran.output.text);
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_background_child_does_not_hold_up_a_command_that_ended() {
    case("sleep 1000 & exit 4", RunEnd::Exited(4), "");
    case("yes >/dev/null & echo end", RunEnd::Exited(0), "end\n");
}

#[test]
fn a_child_in_another_session_does_not_hold_the_pipe() {
    let ran = shell(
        "setsid sh -c 'echo $$; exec sleep 1000' & sleep 0.2; echo end",
        LONG,
    );
    let (pid, rest) = ran.output.text.split_once('\n').unwrap();
    // Only a sandbox catches what left the session: here the test tidies up.
    let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert_eq!((ran.end, rest), (RunEnd::Exited(0), "end\n"));
    assert!(ran.took < LONG / 2);
}

#[test]
fn a_child_that_ignores_the_request_to_end_is_killed() {
    let ran = stopped("trap 'echo asked' TERM; echo start; while :; do sleep 0.05; done");
    assert!(ran.output.text.ends_with("asked\n"), "{:?}", ran.output);
    assert!(ran.took >= SHORT + GRACE, "{:?}", ran.took);
}

#[test]
fn a_child_that_obeys_may_tidy_up() {
    let ran = stopped("trap 'echo tidied; exit' TERM; while :; do sleep 0.01; done");
    assert!(ran.output.text.ends_with("tidied\n"), "{:?}", ran.output);
}

#[test]
fn a_child_that_closed_its_output_is_still_waited_for() {
    stopped("exec >&- 2>&-; sleep 1000");
    case("exec >&- 2>&-; sleep 0.1; exit 5", RunEnd::Exited(5), "");
}

#[test]
fn a_stopped_child_is_ended_too() {
    stopped("kill -STOP $$");
}

#[test]
fn a_gigabyte_is_read_and_mostly_forgotten() {
    let ran = run_in(
        Path::new("/"),
        Program::Shell("head -c 1000000000 /dev/zero; echo end"),
        LONG * 3,
        1000,
    );
    assert_eq!(ran.end, RunEnd::Exited(0));
    assert_eq!(ran.output.omitted, 1_000_000_004 - 1000);
    assert!(ran.output.text.ends_with("\0end\n"));
}

#[test]
fn an_interrupt_ends_it_at_once() {
    let cancelled = AtomicBool::new(false);
    let mut shown = String::new();
    let ran = LocalRunner::default().run(Job {
        program: Program::Shell("echo begun; sleep 1000"),
        directory: Path::new("/"),
        environment: &[],
        timeout: LONG,
        max_output: 100,
        cancelled: &cancelled,
        on_output: &mut |text| {
            shown.push_str(text);
            cancelled.store(!shown.is_empty(), Ordering::Relaxed);
        },
        confinement: None,
        withheld: None,
        granted: Granted::default(),
    });
    assert_eq!(ran.end, RunEnd::Interrupted);
    assert_eq!(ran.output.text, "begun\n");
    assert_eq!(shown, "begun\n");
    assert!(ran.took < LONG / 2);
}
