use std::fs;
use std::path::Path;
use std::time::Duration;

use agent::runner::RunEnd;

use agent::sandbox::Backend;

use crate::place::Plain::{Always, ForRoot};
use crate::place::{Place, SECRET, backend, command, eventually};

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

/// A number that no other process sleeps for.
fn mark(number: u32) -> String {
    (number * 10_000_000 + std::process::id()).to_string()
}

const SURVIVORS: [&str; 5] = [
    "sleep MARK & exit 0",
    "setsid sleep MARK & sleep 0.2; exit 0",
    "nohup setsid sh -c 'trap \"\" TERM HUP INT; sleep MARK' >/dev/null 2>&1 & sleep 0.2",
    "(setsid sh -c 'setsid sleep MARK &' &); sleep 0.2",
    "/usr/bin/python3 -c 'import os, time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  [os.close(n) for n in (0, 1, 2)]\n  os.execvp(\"sleep\", [\"sleep\", \"MARK\"])\n os._exit(0)\nos.wait()\ntime.sleep(0.2)'",
];

#[test]
fn nobody_outlives_a_command() {
    let place = Place::new();
    let mark = mark(1);
    let reply: String = SURVIVORS
        .iter()
        .map(|script| command(&script.replace("MARK", &mark)))
        .collect();
    place.apply(&reply).all(SURVIVORS.len(), "ok");
    assert_eq!(running(&mark), 0);
}

#[test]
fn without_the_sandbox_a_daemon_outlives_its_command() {
    let place = Place::new();
    let mark = mark(2);
    for script in &SURVIVORS[1..] {
        let script = script.replace("MARK", &mark);
        assert_eq!(place.plain(&script).end, RunEnd::Exited(0));
        assert!(running(&mark) > 0, "{script}");
        let ended = std::process::Command::new("sh")
            .arg("-c")
            .arg(format!("for p in /proc/[0-9]*; do grep -qsz '^{mark}$' $p/cmdline && kill -9 ${{p#/proc/}}; done; true"))
            .status();
        assert!(ended.unwrap().success());
        eventually("it is gone", || running(&mark) == 0);
    }
}

#[test]
fn nobody_outlives_a_timeout() {
    let place = Place::new();
    let mark = mark(3);
    let script = format!("trap '' TERM INT HUP; setsid sleep {mark} & sleep {mark}");
    let reply = format!("[RUN_COMMAND timeout=\"1\"]\n{script}\n[/RUN_COMMAND]\n");
    place.apply(&reply).all(1, "failed");
    assert_eq!(running(&mark), 0);
}

#[test]
fn nobody_outlives_the_program() {
    let place = Place::new();
    let mark = mark(4);
    let script = format!(
        "trap '' TERM INT HUP; echo x > /tmp/left-{mark}; setsid nohup sleep {mark} & sleep {mark}"
    );
    let reply = format!("[RUN_COMMAND timeout=\"300\"]\n{script}\n[/RUN_COMMAND]\n");
    let mut child = place.start(&[], &reply);
    eventually("it has started", || running(&mark) >= 2);
    child.kill().unwrap();
    child.wait().unwrap();
    eventually("nobody is left", || running(&mark) == 0);
    eventually("nothing is reserved", || {
        fs::read_dir(place.workspace()).unwrap().count() == 1
    });
    assert!(!Path::new(&format!("/tmp/left-{mark}")).exists());
}

/// The first child of a process.
fn child_of(process: u32) -> rustix::process::Pid {
    let path = format!("/proc/{process}/task/{process}/children");
    let children = fs::read_to_string(path).unwrap();
    let child = children.split_whitespace().next().unwrap();
    rustix::process::Pid::from_raw(child.parse().unwrap()).unwrap()
}

#[test]
fn nobody_outlives_the_program_while_the_supervisor_is_stopped() {
    use rustix::process::{Signal, kill_process};
    let place = Place::new();
    let mark = mark(6);
    let script = format!("trap '' TERM INT HUP; setsid nohup sleep {mark} & sleep {mark}");
    let reply = format!("[RUN_COMMAND timeout=\"300\"]\n{script}\n[/RUN_COMMAND]\n");
    let mut child = place.start(&[], &reply);
    eventually("it has started", || running(&mark) >= 2);
    let supervisor = child_of(child.id());
    kill_process(supervisor, Signal::STOP).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    if backend() == Backend::Namespaces {
        // What is left is a stopped supervisor, which has the script among its arguments, too.
        eventually("nobody is left", || running(&mark) == 0);
    } else {
        // Nobody else can end them: this is what the table in docs/security.md says.
        std::thread::sleep(Duration::from_millis(500));
        assert!(running(&mark) > 0);
    }
    kill_process(supervisor, Signal::CONT).unwrap();
    eventually("nobody is left", || running(&mark) == 0);
    eventually("nothing is reserved", || {
        fs::read_dir(place.workspace()).unwrap().count() == 1
    });
}

#[test]
fn a_killed_supervisor_is_not_told_as_a_limit() {
    use rustix::process::{Signal, kill_process};
    let place = Place::new();
    let mark = mark(7);
    let reply = command(&format!("sleep {mark}"));
    let child = place.start(&["--json"], &reply);
    eventually("it has started", || running(&mark) >= 1);
    kill_process(child_of(child.id()), Signal::KILL).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("killed its supervisor"), "{said}");
    assert!(!said.contains("limit"), "{said}");
    eventually("nobody is left", || running(&mark) == 0);
}

/// Kills the program at moments all over a command and around it, each in a place of its own.
fn kill_around_a_command(moments: impl Iterator<Item = u32>) {
    const PARTS: u32 = 60;
    let place = Place::new();
    let reply = command("true");
    let whole = {
        let began = std::time::Instant::now();
        place.apply(&reply).all(1, "ok");
        began.elapsed()
    };
    for moment in moments {
        let mut child = place.start(&[], &reply);
        std::thread::sleep(whole * moment / PARTS);
        child.kill().unwrap();
        child.wait().unwrap();
        let is_clean = || fs::read_dir(place.workspace()).unwrap().count() == 1;
        let what = format!("nothing is left after {moment}/{PARTS} of {whole:?}");
        eventually(&what, is_clean);
    }
}

#[test]
fn a_kill_leaves_no_reserved_name_behind() {
    std::thread::scope(|scope| {
        for part in 0..4 {
            scope.spawn(move || kill_around_a_command((part..60).step_by(4)));
        }
    });
}

#[test]
fn no_file_is_left_behind() {
    let place = Place::new();
    let name = format!("left-behind-{}", mark(5));
    let directories = [
        "/tmp",
        "/var/tmp",
        "/dev/shm",
        "$HOME",
        "$HOME/.config",
        "$HOME/.ssh",
    ];
    let scripts: Vec<String> = directories
        .iter()
        .map(|directory| format!("mkdir -p {directory} && echo x > {directory}/{name}"))
        .collect();
    let reply: String = scripts.iter().map(|script| command(script)).collect();
    place.apply(&reply).all(directories.len(), "ok");
    let exists = |directory: &str| {
        let directory = directory.replace("$HOME", place.home().to_str().unwrap());
        let path = Path::new(&directory).join(&name);
        let is_there = path.exists();
        let _ = fs::remove_file(path);
        is_there
    };
    for (directory, script) in directories.iter().zip(&scripts) {
        assert!(!exists(directory), "{directory}");
        place.plain(script);
        assert!(exists(directory), "plain: {directory}");
    }
}

#[test]
fn nothing_outside_is_written_or_read() {
    let place = Place::new();
    let script = "for d in /etc /usr /usr/local/bin /opt /var/lib /root /boot; do f=$d/left-PID; if touch $f 2>/dev/null; then rm $f; exit 0; fi; done; exit 1"
        .replace("PID", &std::process::id().to_string());
    place.withstands(&[
        (Always, "cat ~/.ssh/key"),
        (Always, "cat OUTSIDE/victim"),
        (Always, "ls OUTSIDE"),
        (
            Always,
            "echo x > OUTSIDE/n && rm OUTSIDE/n && test -w OUTSIDE/victim",
        ),
        (
            Always,
            "test -n \"$(find $(dirname OUTSIDE) -name neighbour 2>/dev/null)\"",
        ),
        (ForRoot, "grep -q root /etc/shadow"),
        (ForRoot, &script),
        (Always, "ls /sys/kernel"),
        (Always, "ls /var/lib"),
    ]);
    place.is_untouched("commands");
}

#[test]
fn names_outside_are_not_seen() {
    let place = Place::new();
    place.withstands(&[
        (Always, "ls ~/.ssh/key"),
        (Always, "test -e OUTSIDE/victim"),
        (ForRoot, "ls /root/.profile || ls /root/.bashrc"),
        (Always, "test -e /sys/fs || test -e /sys/kernel"),
        (Always, "test -e /dev/kmsg"),
    ]);
}

#[test]
fn credentials_of_tools_are_hidden_and_the_tools_are_not() {
    let place = Place::new();
    for (path, text) in [
        (".gem/credentials", SECRET),
        (".gem/tool", "tool"),
        (".npmrc", SECRET),
    ] {
        let path = place.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    place.withstands(&[
        (Always, "grep -q SECRET ~/.gem/credentials"),
        (Always, "grep -q SECRET ~/.npmrc"),
        (Always, "echo x >> ~/.gem/tool"),
    ]);
    place.apply(&command("cat ~/.gem/tool")).all(1, "ok");
}

#[test]
fn other_processes_are_not_seen() {
    let place = Place::new();
    let own = std::process::id();
    let attack = |script: &str| script.replace("PID", &own.to_string());
    place.withstands(&[
        (Always, &attack("grep -q attacks /proc/PID/cmdline")),
        (Always, &attack("ls /proc/PID/fd/")),
        (Always, "ps -e | grep -q '[a]ttacks'"),
    ]);
}

#[test]
fn other_processes_are_neither_signalled_nor_looked_into() {
    let place = Place::new();
    let own = std::process::id();
    let attack = |script: &str| script.replace("PID", &own.to_string());
    place.withstands(&[
        (Always, &attack("kill -0 PID")),
        (Always, &attack("head -c 1 /proc/PID/environ | grep -q .")),
        (Always, &attack("ls /proc/PID/root/")),
        (Always, &attack("readlink /proc/PID/fd/0")),
    ]);
    if backend() != Backend::Bubblewrap {
        // That of bubblewrap has the environment of the command.
        let parent = "cat /proc/$PPID/environ | wc -c | grep -qv '^0$'";
        place.withstands(&[(Always, parent)]);
    }
}

#[test]
fn the_environment_of_the_program_is_not_to_be_had() {
    let place = Place::new();
    // The counterpart: the program itself was given the secret, as its own environment shows.
    let mut child = place.start(&[], "[RUN_COMMAND]\nsleep 300\n[/RUN_COMMAND]\n");
    let path = format!("/proc/{}/environ", child.id());
    eventually("it has the secret", || {
        fs::read(&path).is_ok_and(|text| String::from_utf8_lossy(&text).contains(SECRET))
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let scripts = [
        "env",
        "cat /proc/self/environ",
        "cat /proc/*/environ; true",
        "set; export -p",
    ];
    let reply: String = scripts.iter().map(|script| command(script)).collect();
    let applied = place.apply(&reply);
    applied.all(scripts.len(), "ok");
    applied.tells_no_secret();
}

#[test]
fn limits_are_met() {
    let place = Place::new();
    let arguments = [
        "--max-processes",
        "40",
        "--max-memory-megabytes",
        "300",
        "--max-written-megabytes",
        "1",
        "--max-open-files",
        "64",
    ];
    place.withstands_with(
        &arguments,
        &[
            (Always, "PYTHON 'import subprocess; [subprocess.Popen([\"sleep\", \"2\"]) for _ in range(60)]'"),
            (Always, "PYTHON 'import threading, time; [threading.Thread(target=time.sleep, args=(1,)).start() for _ in range(60)]'"),
            (Always, "head -c 2000000 /dev/zero > big"),
            (Always, "PYTHON 'x = bytearray(400 << 20)'"),
            (Always, "PYTHON 'f = [open(\"/dev/null\") for _ in range(100)]'"),
            (Always, "ulimit -c unlimited"),
        ],
    );
    let hog = "PYTHON 'import resource; [resource.setrlimit(r, (1 << 40, 1 << 40)) for r in (1, 2, 6, 7)]'";
    place
        .apply_with(&arguments, &command(&place.filled(hog)))
        .all(1, "failed");
}

#[test]
fn a_fork_bomb_ends_with_its_command() {
    let place = Place::new();
    let bomb = "import os, time\nfor _ in range(2000):\n try:\n  if os.fork() == 0: os.setsid(); time.sleep(300)\n except OSError: break\nelse: os._exit(0)\nos._exit(7)";
    let applied = place.apply_with(
        &["--max-processes", "100"],
        &command(&format!("/usr/bin/python3 -c '{bomb}'")),
    );
    applied.all(1, "failed");
    assert!(applied.text.contains("exit code 7"), "{}", applied.text);
}

#[test]
fn descriptors_of_the_program_are_closed() {
    let place = Place::new();
    let applied = place.apply(&command("ls /proc/self/fd | tr '\\n' ' '"));
    assert_eq!(applied.rows[0]["detail"], "0 1 2 3 ", "{}", applied.text);
}

#[test]
fn output_without_end_is_cut() {
    let place = Place::new();
    let began = std::time::Instant::now();
    let reply = "[RUN_COMMAND timeout=\"1\"]\nyes\n[/RUN_COMMAND]\n";
    let applied = place.apply(reply);
    applied.all(1, "failed");
    assert!(applied.text.len() < 200_000);
    assert!(began.elapsed() < Duration::from_secs(20));
}
