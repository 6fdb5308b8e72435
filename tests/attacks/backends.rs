use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use agent::runner::RunEnd;
use agent::sandbox::Backend;

use crate::place::{DEADLINE, Place, SECRET, cases, eventually, is_root, skipped};

/// Attacks that every backend withstands.
const CORE: [&str; 16] = [
    "grep -q SECRET ~/.ssh/key",
    "grep -q SECRET OUTSIDE/victim",
    "echo x >> OUTSIDE/victim && printf SECRET > OUTSIDE/victim",
    "ln -sf OUTSIDE/victim l && cat l",
    "exec 3<> /dev/tcp/127.0.0.1/PORT",
    "unshare -Ur true",
    "cp /bin/true t && chmod u+s t",
    "PYTHON 'import ctypes, sys; ctypes.CDLL(None, use_errno=True).ptrace(16, 0, 0, 0); sys.exit(ctypes.get_errno() == 1)'",
    "grep -q 'NoNewPrivs:.0' /proc/self/status",
    "grep -q 'Seccomp:.0' /proc/self/status",
    "kill -0 STRANGER",
    "ls OUTSIDE",
    "PYTHON 'import socket; socket.socket(socket.AF_UNIX).connect(\"SOCKET\")'",
    "head -c 1 /proc/STRANGER/environ | grep -q .",
    "PYTHON 'x = bytearray(400 << 20)'",
    "echo x > /dev/shm/STRANGER.BACKEND; PYTHON 'import os; os.kill(STRANGER, 0)' && rm /dev/shm/STRANGER.BACKEND",
];

/// Attacks that only mounts stop, which Landlock does not have.
const MOUNTED: [&str; 6] = [
    "touch .git/hooks/x",
    "mv .git .g2 && mv .g2 .git",
    "echo x >> .vscode/tasks.json",
    "echo x >> shared && printf SECRET > shared",
    "cat .agent/x",
    "test -e /proc/STRANGER/status",
];

fn place() -> Place {
    let place = Place::new()
        .file(".git/HEAD", "")
        .file(".git/hooks/sample", "")
        .file(".vscode/tasks.json", "{}")
        .file(".agent/x", SECRET);
    std::fs::hard_link(place.victim(), place.workspace().join("shared")).unwrap();
    place
}

fn withstand(backend: Backend, attacks: &[&str]) {
    let place = place();
    let mut confinement = place.confinement(backend);
    confinement.limits.memory = Some(300 << 20);
    let begun = place.run("true", Some(&confinement), DEADLINE);
    if backend == Backend::Landlock {
        // What lies beside something hidden is still there.
        let ran = place.run("ls /etc && cat /etc/passwd", Some(&confinement), DEADLINE);
        assert!(
            matches!(ran.end, RunEnd::Exited(0) | RunEnd::NotStarted(_)),
            "{ran:?}"
        );
    }
    if let RunEnd::NotStarted(reason) = begun.end {
        return skipped(backend.name(), &reason);
    }
    assert_eq!(begun.end, RunEnd::Exited(0), "{begun:?}");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let socket = place.root().join("socket");
    let _local = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for attack in attacks {
        let script = place
            .filled(attack)
            .replace("PORT", &port)
            .replace("SOCKET", socket.to_str().unwrap())
            .replace("BACKEND", backend.name())
            .replace("STRANGER", &std::process::id().to_string());
        let ran = place.run(&script, Some(&confinement), DEADLINE);
        assert!(
            matches!(ran.end, RunEnd::Exited(1..=124 | 126..) | RunEnd::Signalled(_)),
            "{}: {script}: {ran:?}",
            backend.name()
        );
        assert!(!ran.output.text.contains(SECRET), "{script}: {ran:?}");
        place.is_untouched(&script);
        cases(1);
        let ran = place.run(&script, None, DEADLINE);
        assert_eq!(
            ran.end,
            RunEnd::Exited(0),
            "plain: {script}: {}",
            ran.output.text
        );
    }
}

fn leaves_nobody(backend: Backend) {
    let place = place();
    let confinement = place.confinement(backend);
    let script = "(setsid sh -c 'trap \"\" TERM HUP; sleep 1; echo x > late' &); sleep 0.1";
    let ran = place.run(script, Some(&confinement), DEADLINE);
    if let RunEnd::NotStarted(_) = ran.end {
        return;
    }
    let plain = Place::new();
    plain.plain(script);
    eventually("a survivor writes", || {
        plain.workspace().join("late").exists()
    });
    assert!(
        !place.workspace().join("late").exists(),
        "{}",
        backend.name()
    );
}

#[test]
fn password_hashes_are_read_by_none() {
    if !is_root() {
        return;
    }
    for backend in Backend::ALL {
        withstand(backend, &["grep -q . /etc/shadow"]);
    }
}

#[test]
fn nobody_is_left_by_any() {
    for backend in Backend::ALL {
        leaves_nobody(backend);
    }
}

#[test]
fn namespaces_withstand() {
    withstand(Backend::Namespaces, &CORE);
    withstand(Backend::Namespaces, &MOUNTED);
}

#[test]
fn bubblewrap_withstands() {
    withstand(Backend::Bubblewrap, &CORE);
    withstand(Backend::Bubblewrap, &MOUNTED);
}

#[test]
fn landlock_withstands_the_core() {
    withstand(Backend::Landlock, &CORE);
}

/// Swaps a directory and a link in the workspace, over and over, as the command of another session can.
struct Swapper {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Swapper {
    fn of(directory: PathBuf, link: PathBuf) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let swap = move || {
            let (here, exchange) = (rustix::fs::CWD, rustix::fs::RenameFlags::EXCHANGE);
            while !seen.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(here, &directory, here, &link, exchange).unwrap();
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        Self {
            is_over,
            thread: Some(std::thread::spawn(swap)),
        }
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

#[test]
fn a_directory_that_becomes_a_link_shows_none_of_them_more() {
    const TRIES: usize = 40;
    let script = "cat ~/.ssh/key";
    for backend in [Backend::Namespaces, Backend::Bubblewrap] {
        let place = Place::new().file("d/.vscode/settings.json", "{}");
        std::fs::create_dir(place.home().join(".vscode")).unwrap();
        // The home, which is the parent of the workspace.
        let place = place.link("e", "..");
        let confinement = place.confinement(backend);
        let begun = place.run("true", Some(&confinement), DEADLINE);
        if let RunEnd::NotStarted(reason) = begun.end {
            skipped(backend.name(), &reason);
            continue;
        }
        let at = |name: &str| place.workspace().join(name);
        let swapper = Swapper::of(at("d"), at("e"));
        let mut started = 0;
        for _ in 0..TRIES {
            let ran = place.run(script, Some(&confinement), DEADLINE);
            assert!(
                !ran.output.text.contains(SECRET),
                "{}: {ran:?}",
                backend.name()
            );
            started += usize::from(!matches!(ran.end, RunEnd::NotStarted(_)));
        }
        assert!(started > 0, "{}: nothing was tried", backend.name());
        cases(TRIES);
        if backend == Backend::Bubblewrap {
            let counterpart = "bwrap --dev-bind / / --tmpfs \"$HOME\" --bind \"$PWD\" \"$PWD\" --bind \"$PWD/d\" \"$PWD/d\" cat \"$HOME/.ssh/key\"";
            eventually("a mount by name goes elsewhere", || {
                place.plain(counterpart).output.text.contains(SECRET)
            });
        }
        drop(swapper);
    }
}

#[test]
fn a_home_that_is_the_workspace_needs_no_cache_directory() {
    for backend in [Backend::Namespaces, Backend::Bubblewrap] {
        let place = Place::new();
        let cache = place.root().join("cache");
        std::fs::create_dir(&cache).unwrap();
        let mut confinement = place.confinement(backend);
        confinement.workspace = place.home();
        confinement.cache = Some(cache.clone());
        let ran = place.run("echo x > ~/.cache/kept", Some(&confinement), DEADLINE);
        if let RunEnd::NotStarted(reason) = &ran.end
            && place
                .run("true", Some(&place.confinement(backend)), DEADLINE)
                .end
                != RunEnd::Exited(0)
        {
            skipped(backend.name(), reason);
            continue;
        }
        assert_eq!(ran.end, RunEnd::Exited(0), "{}: {ran:?}", backend.name());
        assert!(cache.join("kept").exists());
        assert!(!place.home().join(".cache").exists(), "nothing is left");
    }
}
