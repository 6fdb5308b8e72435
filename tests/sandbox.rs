//! What a confined command cannot do and what it can, with the real program.
//!
//! An attack is a script that exits with 0 if it succeeded. Each is run confined, where it must
//! fail, and where that does no harm also plain, where it must succeed: else it proves nothing.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use agent::execute::run::{End, Job, Program, Ran, run};
use agent::sandbox::{Confinement, Identity};

const TIMEOUT: Duration = Duration::from_secs(30);

/// A home with a workspace in it.
struct Place {
    directory: tempfile::TempDir,
    confinement: Confinement,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(directory.path()).unwrap().join("home");
        let workspace = home.join("work");
        fs::create_dir_all(&workspace).unwrap();
        fs::create_dir(home.join(".ssh")).unwrap();
        write(&home.join(".ssh/key"), "secret");
        let mut confinement = Confinement::of_workspace(&workspace);
        confinement.launcher = PathBuf::from(env!("CARGO_BIN_EXE_agent"));
        confinement.home = home;
        Self {
            directory,
            confinement,
        }
    }

    fn with(change: impl FnOnce(&mut Confinement)) -> Self {
        let mut place = Self::new();
        change(&mut place.confinement);
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.confinement.workspace.join(path)
    }

    fn file(self, path: &str, content: &str) -> Self {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write(&path, content);
        self
    }

    fn run(
        &self,
        program: Program<'_>,
        confinement: Option<&Confinement>,
        timeout: Duration,
    ) -> Ran {
        let home = self.confinement.home.to_str().unwrap();
        run(Job {
            program,
            directory: &self.confinement.workspace,
            environment: &[("HOME", home)],
            timeout,
            max_output: 4000,
            cancelled: &AtomicBool::new(false),
            on_output: &mut |_| {},
            confinement,
        })
    }

    fn inside(&self, script: &str) -> Ran {
        self.run(Program::Shell(script), Some(&self.confinement), TIMEOUT)
    }

    #[track_caller]
    fn prints(&self, script: &str, expected: &str) {
        let ran = self.inside(script);
        assert_eq!(
            (ran.end, ran.output.text.as_str()),
            (End::Exited(0), expected),
            "{script}"
        );
    }

    #[track_caller]
    fn works(&self, script: &str) {
        let ran = self.inside(script);
        assert_eq!(ran.end, End::Exited(0), "{script}: {}", ran.output.text);
    }

    #[track_caller]
    fn fails(&self, script: &str) {
        let ran = self.inside(script);
        assert!(
            matches!(ran.end, End::Exited(1..) | End::Signalled(_)),
            "{script}: {ran:?}"
        );
    }

    /// The attack fails confined and succeeds plain.
    #[track_caller]
    fn withstands(&self, script: &str) {
        self.fails(script);
        let ran = self.run(Program::Shell(script), None, TIMEOUT);
        assert_eq!(ran.end, End::Exited(0), "{script}: {}", ran.output.text);
    }
}

fn write(path: &Path, content: &str) {
    agent::fs::write_atomic(path, content.as_bytes(), agent::fs::Durability::Atomic).unwrap();
}

#[test]
fn the_workspace_can_be_changed_and_belongs_to_its_owner() {
    let place = Place::new();
    let path = place.confinement.workspace.display();
    place.prints("echo text > a; cat a; pwd -P", &format!("text\n{path}\n"));
    let made = fs::metadata(place.at("a")).unwrap();
    let owner = fs::metadata(&place.confinement.workspace).unwrap();
    assert_eq!((made.uid(), made.gid()), (owner.uid(), owner.gid()));
}

#[test]
fn ends_as_the_command_ended() {
    let place = Place::new();
    for (script, end) in [
        ("exit 0", End::Exited(0)),
        ("exit 125", End::Exited(125)),
        ("kill -SEGV $$", End::Signalled(11)),
        ("kill -KILL $$", End::Signalled(9)),
    ] {
        assert_eq!(place.inside(script).end, end, "{script}");
    }
}

#[test]
fn a_program_that_is_not_there_is_said_so() {
    let place = Place::new();
    let missing = [OsStr::new("no-such-program")];
    let ran = place.run(Program::Exec(&missing), Some(&place.confinement), TIMEOUT);
    let End::NotStarted(reason) = ran.end else {
        panic!("{ran:?}");
    };
    assert!(
        reason.starts_with("could not start `no-such-program`: No such file"),
        "{reason}"
    );
}

#[test]
fn the_home_is_hidden() {
    let place = Place::new();
    place.withstands("cat ~/.ssh/key");
    place.withstands("ls ~/.ssh");
}

#[test]
fn other_directories_are_hidden() {
    let place = Place::new();
    write(&place.directory.path().join("other"), "x");
    place.withstands("cat ../../other");
    place.withstands("ls -d /sys/kernel");
    place.withstands("test -e /var/lib");
}

#[test]
fn nothing_outside_can_be_changed() {
    let place = Place::new();
    let name = format!("file-of-a-command-{}", std::process::id());
    for directory in ["/tmp", "/var/tmp", "/dev/shm", "~"] {
        place.works(&format!("echo x > {directory}/{name}"));
        place.fails(&format!("cat {directory}/{name}"));
    }
    for directory in [
        Path::new("/tmp"),
        Path::new("/dev/shm"),
        &place.confinement.home,
    ] {
        assert!(!directory.join(&name).exists());
    }
    for directory in ["/usr", "/etc", "/", "/run", "/proc", "/dev", "/opt", "/var"] {
        place.fails(&format!("echo x > {directory}/{name}"));
    }
}

#[test]
fn links_do_not_lead_out() {
    let place = Place::new();
    place.withstands("rm -f link; ln -s ~/.ssh/key link && cat link");
    place.withstands("cat /proc/self/root$HOME/.ssh/key");
}

#[test]
fn the_kernel_cannot_be_configured() {
    let place = Place::new();
    for script in [
        "exec 3>> /proc/sys/kernel/core_pattern",
        "exec 3>> /proc/sysrq-trigger",
        "exec 3>> /proc/sys/kernel/hostname",
        "exec 3< /etc/shadow && head -c 1 <&3 | grep -q .",
        "exec 3< /proc/kcore && head -c 1 <&3 | grep -q .",
    ] {
        place.fails(script);
    }
}

#[test]
fn there_are_no_capabilities_and_no_more_to_get() {
    let place = Place::new();
    place.prints(
        "awk '/^(Cap|NoNewPrivs|Seccomp:)/ {print $2}' /proc/self/status | uniq | tr '\\n' ' '",
        "0000000000000000 1 2 ",
    );
    place.prints("cat /proc/sys/user/max_user_namespaces", "0\n");
    for script in [
        "unshare -U true",
        "unshare -r true",
        "mount -t tmpfs x /tmp",
        "umount -l .vscode",
        "umount -l /proc",
        "chroot . true",
    ] {
        place.fails(script);
    }
}

#[test]
fn no_file_gets_a_set_user_bit() {
    let place = Place::new();
    place.withstands("cp /bin/true t && chmod u+s t");
    place.withstands("cp /bin/true t && chmod 2755 t");
    place.withstands(
        "/usr/bin/python3 -c 'import os; os.open(\"u\", os.O_CREAT | os.O_WRONLY, 0o4755)'",
    );
    place.works("touch v && chmod 755 v && chmod u+x,g-w v && chmod +t .");
}

#[test]
fn protected_names_cannot_be_changed_or_made() {
    let place = Place::new().file(".vscode/tasks.json", "{}");
    for script in [
        "echo x >> .vscode/tasks.json",
        "echo x > .vscode/new",
        "rm -r .vscode",
        "mv .vscode other",
        "mkdir .idea/x",
        "rmdir .idea && mkdir .idea && touch .idea/x",
        "rmdir .envrc && echo x > .envrc",
        "echo x > .envrc",
        "echo x > .mcp.json",
        "touch .agent/appsettings.json",
    ] {
        place.fails(script);
    }
    place.works("cat .vscode/tasks.json");
    let left: Vec<_> = fs::read_dir(&place.confinement.workspace)
        .unwrap()
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn our_own_state_is_hidden() {
    let mut place = Place::new()
        .file(".agent/sessions/x.json", "secret")
        .file("inbox/a.txt", "secret");
    place.confinement.hidden = vec![place.at("inbox")];
    place.withstands("cat .agent/sessions/x.json");
    place.withstands("cat inbox/a.txt");
    place.withstands("echo x > inbox/b.txt");
}

const REPOSITORY: &str = "git init -q . && git config user.name a && git config user.email b \
    && git commit -q --allow-empty -m one && echo text > file";

#[test]
fn a_repository_is_read_only() {
    let place = Place::new();
    place.works(REPOSITORY);
    place.prints("git status --short", "?? file\n");
    place.works("git diff && git log --oneline");
    for script in [
        "echo x > .git/hooks/pre-commit",
        "git config core.fsmonitor ./evil",
        "mv .git .g2",
        "rm -rf .git",
        "git add file",
    ] {
        place.fails(script);
    }
}

#[test]
fn a_grant_lets_a_commit_through_and_no_hook() {
    let mut place = Place::new();
    place.works(REPOSITORY);
    place.confinement.git_write = true;
    place.works("git add file && git commit -q -m two && git log --oneline | grep two");
    for script in [
        "echo x > .git/hooks/pre-commit",
        "git config core.fsmonitor ./evil",
        "mv .git .g2",
        "mv .git/hooks .git/h2",
        "rm .git/config && touch .git/config",
    ] {
        place.fails(script);
    }
    place.works("echo ../evil > .git/commondir");
    assert!(!place.at(".git/commondir").exists());
}

#[test]
fn git_works_below_the_top_and_in_a_worktree() {
    let mut place = Place::new();
    place.works(&format!(
        "{REPOSITORY} && mkdir sub && touch sub/x && git worktree add -q ../work/tree"
    ));
    let top = place.confinement.workspace.clone();
    place.confinement.workspace = top.join("sub");
    place.prints("git status --short .", "?? ./\n");
    place.fails("touch ../.git/x");
    place.fails("ls ../file");
    place.confinement.workspace = top.join("tree");
    place.prints("touch y; git status --short", "?? y\n");
    place.fails("git add y");
    place.confinement.git_write = true;
    place.works("git add y && git commit -q -m three");
    place.fails("echo x > ../.git/hooks/pre-commit");
}

#[test]
fn a_file_that_is_named_read_only_is() {
    let mut place = Place::new().file("shared", "outside").file("own", "");
    place.confinement.read_only = vec![place.at("shared")];
    place.fails("echo x > shared");
    place.fails("rm shared");
    place.works("echo x > own && cat shared");
}

#[test]
fn another_directory_of_the_same_name_is_refused() {
    let place = Place::with(|confinement| {
        confinement.identity = Some(Identity {
            device: 1,
            inode: 1,
        });
    });
    let ran = place.inside("true");
    let is_said =
        matches!(&ran.end, End::NotStarted(reason) if reason.contains("not the directory"));
    assert!(is_said, "{ran:?}");
}

#[test]
fn extra_paths_are_there() {
    let mut place = Place::new();
    let read = place.directory.path().join("read");
    let written = place.directory.path().join("written");
    for directory in [&read, &written] {
        fs::create_dir(directory).unwrap();
        write(&directory.join("a"), "text");
    }
    place.confinement.extra_read = vec![read, place.directory.path().join("missing")];
    place.confinement.extra_write = vec![written.clone()];
    place.works("cat ../../read/a && echo x > ../../written/b");
    place.fails("echo x > ../../read/b");
    assert!(written.join("b").exists());
}

#[test]
fn the_cache_lasts() {
    let mut place = Place::new();
    let cache = place.directory.path().join("cache");
    fs::create_dir(&cache).unwrap();
    place.confinement.cache = Some(cache);
    place.works("echo kept > $XDG_CACHE_HOME/x");
    place.prints("cat ~/.cache/x", "kept\n");
}

#[test]
fn the_network_is_off_and_the_loopback_on() {
    let place = Place::new();
    place.withstands("awk -F: 'NR > 2 {print $1}' /proc/net/dev | grep -v lo");
    place.fails("exec 3<> /dev/tcp/192.0.2.1/80");
    let script = r#"/usr/bin/python3 - <<'END'
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
server.accept()[0].send(b"hello")
print(client.recv(9).decode())
END"#;
    place.prints(script, "hello\n");
}

#[test]
fn other_kinds_of_sockets_do_not_exist() {
    let place = Place::new();
    // AF_PACKET sees other people's traffic, AF_ALG is a door to the kernel, and AF_VSOCK leads
    // to the machine's host whatever the network namespace.
    for family in [17, 38, 40] {
        let script = format!(
            "/usr/bin/python3 -c 'import socket\n\
             try: socket.socket({family}, socket.SOCK_DGRAM)\n\
             except OSError as e: print(e.errno)'"
        );
        place.prints(&script, "97\n");
    }
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
        assert_eq!(ran.end, End::Exited(0));
        assert_eq!(running(&mark), 0, "{script}");
    }
    let script = "trap '' TERM; setsid sleep MARK & sleep MARK".replace("MARK", &mark);
    let timeout = Duration::from_millis(300);
    let ran = place.run(Program::Shell(&script), Some(&place.confinement), timeout);
    assert_eq!(ran.end, End::TimedOut);
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
        .args(["--ignored", "--exact", "runs_a_long_command"])
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
fn the_self_test_finds_that_everything_holds() {
    let strength = agent::sandbox::probe(Path::new(env!("CARGO_BIN_EXE_agent")));
    assert!(strength.is_whole(), "{strength:#?}");
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
fn a_terminal_inside_works_and_typing_into_it_does_not() {
    let place = Place::new();
    place.prints(
        "/usr/bin/python3 -c 'import pty; pty.spawn([\"echo\", \"hi\"])'",
        "hi\r\n",
    );
    place.fails(
        "/usr/bin/python3 -c 'import fcntl, os; m, s = os.openpty(); fcntl.ioctl(s, 0x5412, b\"x\")'",
    );
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
