//! Ends, survivors, limits.

use std::ffi::OsStr;
use std::fs;
use std::time::Duration;

use agent::runner::{Program, RunEnd};

use super::{Place, TIMEOUT};

#[test]
fn ends_as_the_command_ended() {
    let place = Place::new();
    for (script, end) in [
        ("exit 0", RunEnd::Exited(0)),
        ("exit 125", RunEnd::Exited(125)),
        ("kill -SEGV $$", RunEnd::Signalled(11)),
        ("kill -KILL $$", RunEnd::Signalled(9)),
    ] {
        assert_eq!(place.inside(script).end, end, "{script}");
    }
}

#[test]
fn a_program_that_is_not_there_is_said_so() {
    let place = Place::new();
    let missing = [OsStr::new("no-such-program")];
    let ran = place.run(Program::Exec(&missing), Some(&place.confinement), TIMEOUT);
    let RunEnd::NotStarted(reason) = ran.end else {
        panic!("{ran:?}");
    };
    assert!(
        reason.starts_with("could not start `no-such-program`: No such file"),
        "{reason}"
    );
}

#[test]
fn nothing_survives() {
    let place = Place::new();
    let mark = (100_000 + std::process::id()).to_string();
    for script in [
        "sleep MARK & exit 0",
        "setsid sleep MARK & sleep 0.1; exit 0",
        "nohup setsid sh -c 'trap \"\" TERM HUP; sleep MARK' >/dev/null 2>&1 & sleep 0.1",
        "(setsid sh -c 'setsid sleep MARK &' &) ; sleep 0.1",
    ] {
        let ran = place.inside(&script.replace("MARK", &mark));
        assert_eq!(ran.end, RunEnd::Exited(0));
        assert_eq!(running(&mark), 0, "{script}");
    }
    let script = "trap '' TERM; setsid sleep MARK & sleep MARK".replace("MARK", &mark);
    let timeout = Duration::from_millis(300);
    let ran = place.run(Program::Shell(&script), Some(&place.confinement), timeout);
    assert_eq!(ran.end, RunEnd::TimedOut);
    assert_eq!(running(&mark), 0);
}

/// How many processes of the whole machine have this word among their arguments.
fn running(word: &str) -> usize {
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| {
            line.split(|byte| *byte == 0)
                .any(|part| part == word.as_bytes())
        })
        .count()
}

/// Started by the test below, and killed by it.
#[test]
#[ignore = "runs until it is killed"]
fn runs_a_long_command() {
    let mark = std::env::var("MARK").unwrap();
    let mut place = Place::new();
    place.confinement.workspace = std::env::var("WORKSPACE").unwrap().into();
    let script = format!("trap '' TERM HUP; setsid sleep {mark} & sleep {mark}");
    place.run(
        Program::Shell(&script),
        Some(&place.confinement),
        TIMEOUT * 10,
    );
}

#[test]
fn nothing_survives_when_we_are_killed() {
    let place = Place::new();
    let mark = (200_000 + std::process::id()).to_string();
    let mut runner = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "processes::runs_a_long_command"])
        .env("MARK", &mark)
        .env("WORKSPACE", &place.confinement.workspace)
        .env("TMPDIR", place.directory.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    eventually("it has started", || running(&mark) >= 2);
    runner.kill().unwrap();
    runner.wait().unwrap();
    eventually("nobody is left", || running(&mark) == 0);
    eventually("nothing is reserved", || {
        fs::read_dir(&place.confinement.workspace).unwrap().count() == 0
    });
}

#[track_caller]
fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + TIMEOUT;
    while !is_so() {
        assert!(std::time::Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn other_processes_are_not_seen() {
    let place = Place::new();
    let own = std::process::id();
    place.withstands(&format!("grep -q sandbox /proc/{own}/cmdline"));
    place.fails("cat /proc/1/environ");
    place.prints("kill -KILL 1; echo alive", "alive\n");
}

#[test]
fn limits_hold() {
    let place = Place::with(|confinement| {
        confinement.limits.processes = Some(40);
        confinement.limits.file_size = Some(100_000);
        confinement.limits.memory = Some(300 << 20);
        confinement.limits.open_files = Some(64);
        confinement.limits.scratch = 10 << 20;
    });
    place.withstands(
        "/usr/bin/python3 -c 'import subprocess; [subprocess.Popen([\"sleep\", \"2\"]) for _ in range(60)]'",
    );
    place.withstands("head -c 200000 /dev/zero > big");
    place.withstands("/usr/bin/python3 -c 'x = bytearray(400 << 20)'");
    place.withstands("/usr/bin/python3 -c 'f = [open(\"/dev/null\") for _ in range(100)]'");
    place.fails("for i in $(seq 200); do head -c 90000 /dev/zero > /tmp/$i || exit 1; done");
}

#[test]
fn descriptors_of_others_are_not_inherited() {
    Place::new().prints("ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 ");
}

#[test]
fn many_commands_at_once_do_not_disturb_one_another() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for number in 0..4 {
            let place = &place;
            scope.spawn(move || {
                for _ in 0..3 {
                    place.prints(&format!("echo {number}"), &format!("{number}\n"));
                }
            });
        }
    });
}
