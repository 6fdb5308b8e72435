//! Calls that Landlock does not control, so that the filter and the supervisor must.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use agent::runner::RunEnd;
use agent::sandbox::{Backend, Confinement};

use crate::place::{DEADLINE, Place, TestProcess, cases, command, program, skipped};

/// A place with a tool that is shown, and the weakest of the sandboxes.
struct Open {
    place: Place,
    confinement: Confinement,
}

impl Open {
    /// None where the machine has no Landlock.
    fn new() -> Option<Self> {
        let place = Place::new();
        let tool = place.home().join(".gem/tool");
        fs::create_dir(tool.parent().unwrap()).unwrap();
        fs::write(&tool, "").unwrap();
        let mut confinement = Confinement::of_workspace(place.workspace());
        confinement.backend = Backend::Landlock;
        confinement.launcher = program();
        confinement.home = place.home();
        let open = Self { place, confinement };
        match open.run("true") {
            RunEnd::NotStarted(reason) => {
                skipped("landlock", &reason);
                None
            }
            _ => Some(open),
        }
    }

    fn run(&self, script: &str) -> RunEnd {
        self.place
            .run(script, Some(&self.confinement), DEADLINE)
            .end
    }

    fn filled(&self, script: &str) -> String {
        let home = self.place.home();
        self.place
            .filled(script)
            .replace("TOOL", home.join(".gem/tool").to_str().unwrap())
    }

    /// The attack fails confined and leaves the victims as they are, and succeeds plain.
    #[track_caller]
    fn withstands(&self, script: &str) {
        let script = self.filled(script);
        let before = self.victims();
        let ran = self.place.run(&script, Some(&self.confinement), DEADLINE);
        assert!(
            matches!(ran.end, RunEnd::Exited(1..=124) | RunEnd::Signalled(_)),
            "{script}: {ran:?}"
        );
        assert_eq!(self.victims(), before, "{script}");
        let ran = self.place.plain(&script);
        assert_eq!(ran.end, RunEnd::Exited(0), "plain: {script}: {ran:?}");
        cases(1);
    }

    /// Permissions, owner and last status change of the files outside.
    fn victims(&self) -> Vec<(u32, u32, i64, i64)> {
        let tool = self.place.home().join(".gem/tool");
        [self.place.victim(), self.place.outside(), tool]
            .iter()
            .map(|path| fs::metadata(path).unwrap())
            .map(|found| (found.mode(), found.uid(), found.ctime(), found.ctime_nsec()))
            .collect()
    }

    #[track_caller]
    fn works(&self, script: &str) {
        let script = self.filled(script);
        let ran = self.place.run(&script, Some(&self.confinement), DEADLINE);
        assert_eq!(ran.end, RunEnd::Exited(0), "{script}: {ran:?}");
    }
}

#[test]
fn attributes_of_files_outside_are_not_changed() {
    let Some(open) = Open::new() else { return };
    for script in [
        "chmod 700 OUTSIDE/victim",
        "chmod 755 OUTSIDE",
        "chmod 700 ../../outside/victim",
        "cd OUTSIDE && chmod 600 victim",
        "ln -sf OUTSIDE/victim l && chmod 640 l",
        "ln -sfn OUTSIDE d && chmod 644 d/victim",
        "chmod 700 /proc/self/root/OUTSIDE/victim",
        "chmod 600 /proc/self/cwd/../../outside/victim",
        "PYTHON 'import os; os.chmod(\"victim\", 0o700, dir_fd=os.open(\"OUTSIDE\", os.O_PATH))'",
        "PYTHON 'import os; os.fchmod(os.open(\"TOOL\", os.O_RDONLY), 0o600)'",
        "PYTHON 'import os; os.chmod(\"/proc/self/fd/%d\" % os.open(\"TOOL\", os.O_RDONLY), 0o640)'",
        "PYTHON 'import os; os.chmod(\"/proc/self/fd/%d\" % os.open(\"OUTSIDE/victim\", os.O_PATH), 0o640)'",
        "touch -d @0 OUTSIDE/victim",
        "touch -h -d @9 OUTSIDE/victim",
        "touch OUTSIDE/victim",
        "PYTHON 'import os; os.utime(os.open(\"TOOL\", os.O_RDONLY), (1, 1))'",
        "PYTHON 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(132, b\"OUTSIDE/victim\", None) != 0)'",
        "PYTHON 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(235, b\"OUTSIDE/victim\", None) != 0)'",
        "PYTHON 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(261, -100, b\"OUTSIDE/victim\", None) != 0)'",
        "PYTHON 'import os; os.chown(\"OUTSIDE/victim\", os.getuid(), os.getgid())'",
        "PYTHON 'import os; os.lchown(\"OUTSIDE/victim\", os.getuid(), -1)'",
        "PYTHON 'import os; os.fchown(os.open(\"TOOL\", os.O_RDONLY), os.getuid(), -1)'",
        "PYTHON 'import os; os.setxattr(\"OUTSIDE/victim\", \"user.x\", b\"x\")'",
        "PYTHON 'import os; os.setxattr(os.open(\"TOOL\", os.O_RDONLY), \"user.x\", b\"x\")'",
        "PYTHON 'import os; os.removexattr(\"OUTSIDE/victim\", \"user.x\")'",
        // FS_IOC_SETFLAGS: no dump.
        "PYTHON 'import fcntl, os; fcntl.ioctl(os.open(\"TOOL\", os.O_RDONLY), 0x40086602, b\"\\x40\\0\\x08\\0\\0\\0\\0\\0\")'",
    ] {
        open.withstands(script);
    }
}

/// Another process of the same user, with a group of its own.
fn stranger() -> TestProcess {
    let mut command = Command::new("sleep");
    command.arg("300").process_group(0).stdout(Stdio::null());
    TestProcess(command.spawn().unwrap())
}

#[test]
fn other_processes_are_neither_limited_nor_scheduled() {
    let Some(open) = Open::new() else { return };
    let stranger = stranger();
    for script in [
        "PYTHON 'import resource; resource.prlimit(STRANGER, resource.RLIMIT_CPU, (99999, 99999))'",
        "PYTHON 'import resource; resource.prlimit(STRANGER, resource.RLIMIT_NOFILE)'",
        "PYTHON 'import os; os.setpriority(os.PRIO_PROCESS, STRANGER, 19)'",
        "PYTHON 'import os; os.setpriority(os.PRIO_PGRP, STRANGER, 19)'",
        "PYTHON 'import os; os.sched_setaffinity(STRANGER, {0})'",
        "PYTHON 'import os; os.sched_setscheduler(STRANGER, os.SCHED_BATCH, os.sched_param(0))'",
        "PYTHON 'import os; os.sched_setparam(STRANGER, os.sched_param(0))'",
        "ionice -c 3 -p STRANGER",
        "PYTHON 'import os; os.kill(STRANGER, 0)'",
    ] {
        open.withstands(&script.replace("STRANGER", &stranger.0.id().to_string()));
    }
    // What a command does to itself is its own business.
    for script in [
        "ulimit -n 100 && test $(ulimit -n) = 100",
        "nice -n 5 true",
        "ionice -c 3 true",
        "taskset 1 true",
        "PYTHON 'import os; os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))'",
    ] {
        open.works(script);
    }
}

/// Guards against an attack that was found: a limit on processor time kills the process that it is
/// set for.
#[test]
fn nobody_is_killed_by_a_limit() {
    let Some(open) = Open::new() else { return };
    let mut busy = Command::new("sh")
        .args(["-c", "while :; do :; done"])
        .spawn()
        .unwrap();
    let attack = "PYTHON 'import resource; resource.prlimit(BUSY, resource.RLIMIT_CPU, (0, 0))'"
        .replace("BUSY", &busy.id().to_string());
    assert!(matches!(open.run(&open.filled(&attack)), RunEnd::Exited(1)));
    assert!(busy.try_wait().unwrap().is_none(), "it runs on");
    let plain = open.place.plain(&open.filled(&attack));
    assert_eq!(plain.end, RunEnd::Exited(0), "{plain:?}");
    assert!(!busy.wait().unwrap().success(), "it was killed");
    cases(1);
}

#[test]
fn memory_semaphores_and_queues_of_others_are_not_reached() {
    let Some(open) = Open::new() else { return };
    for script in [
        "id=$(ipcmk -M 64 | grep -o '[0-9]*$') && ipcrm -m $id",
        "id=$(ipcmk -S 1 | grep -o '[0-9]*$') && ipcrm -s $id",
        "id=$(ipcmk -Q | grep -o '[0-9]*$') && ipcrm -q $id",
    ] {
        open.withstands(script);
    }
    let queue = "PYTHON 'import ctypes, os, sys; c = ctypes.CDLL(None); n = b\"/q%d\" % os.getpid(); q = c.mq_open(n, 66, 0o600, None); c.mq_unlink(n); sys.exit(q < 0)'";
    if open.place.plain(&open.filled(queue)).end == RunEnd::Exited(0) {
        open.withstands(queue);
    } else {
        skipped("message queues", "this kernel has none");
    }
}

#[test]
fn what_others_keep_in_temporary_directories_is_not_read() {
    let Some(open) = Open::new() else { return };
    let name = format!("landlock-{}", std::process::id());
    for directory in ["/tmp", "/var/tmp", "/dev/shm"] {
        let path = Path::new(directory).join(&name);
        if fs::write(&path, "x").is_ok() {
            open.withstands(&format!("grep -q x {}", path.display()));
            fs::remove_file(path).unwrap();
        }
    }
}

/// A directory becomes a link while permissions in it are changed.
#[test]
fn no_race_leads_out() {
    let Some(open) = Open::new() else { return };
    let script = open.filled(
        r#"/usr/bin/python3 - <<'END'
import os, sys
os.makedirs("real", exist_ok=True)
open("real/victim", "w").close()
for left in ("d", "n"):
    if os.path.islink(left): os.unlink(left)
os.symlink("real", "d")
child = os.fork()
if child == 0:
    while True:
        for target in ("OUTSIDE", "real"):
            os.symlink(target, "n")
            os.rename("n", "d")
changed, swaps, before = 0, 0, None
while swaps < 200:
    now = os.readlink("d")
    swaps, before = swaps + (now != before), now
    try:
        os.chmod("d/victim", 0o640)
        os.chmod("real/victim", 0o600)
        changed += 1
    except PermissionError: pass
os.kill(child, 9)
os.wait()
sys.exit(changed == 0)
END"#,
    );
    let mode = || fs::metadata(open.place.victim()).unwrap().mode() & 0o777;
    fs::set_permissions(open.place.victim(), fs::Permissions::from_mode(0o604)).unwrap();
    assert_eq!(open.run(&script), RunEnd::Exited(0));
    assert_eq!(mode(), 0o604);
    let plain = open.place.plain(&script);
    assert_eq!(plain.end, RunEnd::Exited(0), "{plain:?}");
    assert_eq!(mode(), 0o640, "plain: it led out");
    cases(1);
}

/// Nobody can put a decision of their own before that of the supervisor.
#[test]
fn the_supervisor_is_not_replaced() {
    let Some(open) = Open::new() else { return };
    // A filter that allows all, with a listener.
    let attack = r#"/usr/bin/python3 - <<'END'
import ctypes, struct, sys
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 1, ctypes.addressof(code)))
sys.exit(libc.syscall(317, 1, 8, program) < 0)
END"#;
    open.withstands(attack);
}

#[test]
fn what_tools_do_to_their_own_files_works() {
    let Some(open) = Open::new() else { return };
    for script in [
        "touch f && chmod 751 f && test $(stat -c %a f) = 751",
        "chmod -R u+w,go-w . && mkdir -p d/e && chmod 700 d && chmod 1777 d/e",
        "chmod u+x \"$PWD/f\" && cd sub && chmod 644 ../f",
        "ln -sf f l && chmod 600 l && test $(stat -c %a f) = 600",
        "touch -d @1000000 f && test $(stat -c %Y f) = 1000000",
        "touch -h -d @77 l && test $(stat -c %Y l) = 77 && test $(stat -c %Y f) = 1000000",
        "touch -r f g && test $(stat -c %Y g) = 1000000 && cp -p f h && cp -a sub sub2",
        "install -m 755 f i && test $(stat -c %a i) = 755 && sed -i s/a/b/ i",
        "chown $(id -u):$(id -g) f && chown -h $(id -u) l",
        "tar cf t.tar f d && mkdir -p x && tar xpf t.tar -C x && test $(stat -c %Y x/f) = 1000000",
        "t=$(mktemp) && chmod 644 $t && touch -d @5 $t && test $(stat -c %Y $t) = 5",
        "PYTHON 'import os; os.chmod(\"f\", 0o640, dir_fd=os.open(\".\", os.O_RDONLY)); os.utime(\"f\", ns=(1, 2)); assert os.stat(\"f\").st_mtime_ns == 2'",
        "PYTHON 'import os; f = os.open(\"f\", os.O_RDONLY); os.fchmod(f, 0o600); os.utime(f, (3, 4)); os.chmod(\"/proc/self/fd/%d\" % f, 0o644); assert os.fstat(f).st_mtime == 4'",
        "PYTHON 'import os; os.utime(\"f\"); assert os.stat(\"f\").st_mtime > 1e9'",
        "PYTHON 'import os, tempfile; f = tempfile.TemporaryFile(dir=\".\"); os.fchmod(f.fileno(), 0o644)'",
        "PYTHON 'import ctypes, os; c = ctypes.CDLL(None); assert c.syscall(235, b\"f\", (ctypes.c_long * 4)(7, 500000, 8, 250000)) == 0; assert os.stat(\"f\").st_mtime_ns == 8250000000'",
        "PYTHON 'import ctypes, os; c = ctypes.CDLL(None); assert c.syscall(132, b\"f\", (ctypes.c_long * 2)(7, 9)) == 0; assert os.stat(\"f\").st_mtime == 9'",
        "PYTHON 'import os, threading; t = [threading.Thread(target=lambda n: [os.chmod(n, 0o600) for _ in range(200)], args=(str(n),)) for n in range(8) if not open(str(n), \"w\").close()]; [x.start() for x in t]; [x.join() for x in t]'",
        "git init -q r && cd r && echo x > f && git add f && git -c user.name=a -c user.email=a@b commit -qm x && git status",
        "printf 'all: a\\na: b\\n\\ttouch a\\n' > Makefile && touch b && make && make | grep -q 'Nothing to be done'",
    ] {
        open.works(script);
    }
    // Errors are those of the kernel.
    for (call, errno) in [
        ("os.chmod(\"none\", 0o600)", 2),
        ("os.chmod(\"f/x\", 0o600)", 20),
        ("os.fchmod(99, 0o600)", 9),
        ("os.chmod(\"f\", 0o4755)", 1),
        ("os.chmod(\"x\" * 5000, 0o600)", 36),
        ("os.setxattr(\"f\", \"user.x\", b\"\")", 95),
    ] {
        open.works(&format!(
            "PYTHON 'import os, sys\ntry: {call}\nexcept OSError as e: sys.exit(e.errno != {errno})\nsys.exit(9)'"
        ));
    }
}

/// Output of the program where Landlock is the only backend that it may use.
fn with_landlock_only(place: &Place, arguments: &[&str], reply: &str) -> String {
    let workspace = place.workspace();
    let mut all = vec!["apply", "--workspace", workspace.to_str().unwrap()];
    all.extend(arguments);
    all.push("-");
    let mut command = place.agent(&all);
    command.env("Agent__SandboxBackend", Backend::Landlock.name());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, reply.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn every_command_asks_where_approvals_could_be_forged() {
    let Some(open) = Open::new() else { return };
    let record = open.place.workspace().join(".agent/x");
    fs::create_dir(record.parent().unwrap()).unwrap();
    fs::write(&record, "record").unwrap();
    // Not even a rule of the person's lets one pass: what it starts was written by the model.
    for (arguments, script) in [
        (&[][..], "echo forged > .agent/x"),
        (&[][..], "make forged"),
        (&["--allow", "touch"][..], "touch forged"),
    ] {
        let told = with_landlock_only(&open.place, arguments, &command(script));
        assert!(told.contains("approval"), "{told}");
        assert_eq!(fs::read_to_string(&record).unwrap(), "record");
        assert!(!open.place.workspace().join("forged").exists());
    }
    // The counterpart: the sandbox alone would not have kept it from them.
    assert_eq!(
        open.run("echo forged > .agent/x"),
        RunEnd::Exited(0),
        "Landlock can take nothing out of the workspace"
    );
    assert_eq!(fs::read_to_string(&record).unwrap(), "forged\n");
    cases(1);
    // Elsewhere, commands run as they do in the other sandboxes.
    fs::remove_dir_all(record.parent().unwrap()).unwrap();
    let told = with_landlock_only(&open.place, &["--json"], &command("echo works"));
    assert!(told.contains("\"status\":\"ok\""), "{told}");
}

/// How rows of the table in docs/security.md begin, and an attack on what each promises.
const TABLE: [(&str, &str); 22] = [
    ("Your home cannot be read", "grep -q SECRET ~/.ssh/key"),
    ("Password hashes", "grep -q . /etc/shadow"),
    (
        "Nothing outside of the workspace",
        "echo x >> OUTSIDE/victim && printf SECRET > OUTSIDE/victim",
    ),
    ("Permissions, owners, times", "chmod 640 OUTSIDE/victim"),
    ("`/tmp`, `/dev/shm` and the home", "cat OUTSIDE/neighbour"),
    ("`.git`, `.vscode`", "touch .git/hooks/x"),
    ("A settings file of `agent`", "echo >> settings.json"),
    ("`.agent` is not seen", "grep -q . .agent/x"),
    ("A `.vscode`, `.idea`", "echo >> sub/.vscode/tasks.json"),
    (
        "A file with a hard link",
        "echo x >> shared && printf SECRET > shared",
    ),
    ("Repositories further down", "touch sub/.git/hooks/x"),
    ("With `git-write`", "touch .git/hooks/y"),
    ("No network", "exec 3<> /dev/tcp/127.0.0.1/PORT"),
    (
        "Other kinds of sockets",
        "PYTHON 'import socket; socket.socket(16, 3, 16)'",
    ),
    (
        "Other processes and the machine's",
        "test -e /proc/STRANGER/status",
    ),
    ("Other processes are not signalled", "kill -0 STRANGER"),
    (
        "Limits, priorities and processors",
        "PYTHON 'import resource; resource.prlimit(STRANGER, resource.RLIMIT_CPU)'",
    ),
    (
        "Shared memory, semaphores",
        "PYTHON 'import ctypes, sys; c = ctypes.CDLL(None); c.shmat.restype = ctypes.c_long; sys.exit(c.shmat(SEGMENT, None, 0) == -1)'",
    ),
    ("No privileges", "unshare -Ur true"),
    (
        "Dangerous system calls",
        "grep -q 'Seccomp:.0' /proc/self/status",
    ),
    (
        "Memory, file size and open files",
        "PYTHON 'x = bytearray(400 << 20)'",
    ),
    (
        "Processes are limited",
        "PYTHON 'import subprocess; [subprocess.Popen([\"sleep\", \"1\"]) for _ in range(600)]'",
    ),
];

/// Returns true if this row of the table in docs/security.md makes the promise for this backend.
fn promised(row: &str, backend: Backend) -> bool {
    let page = include_str!("../../docs/security.md");
    let start = format!("| {row}");
    let line = page.lines().find(|line| line.starts_with(&start));
    let cells: Vec<&str> = line
        .unwrap_or_else(|| panic!("no row begins with `{row}`"))
        .split('|')
        .map(str::trim)
        .collect();
    let column = Backend::ALL.iter().position(|it| *it == backend).unwrap();
    cells[2 + column] != "no"
}

/// A segment of shared memory that belongs to somebody else.
struct Segment(String);

impl Segment {
    fn new() -> Self {
        let made = Command::new("ipcmk").args(["-M", "64"]).output().unwrap();
        let said = String::from_utf8(made.stdout).unwrap();
        Self(said.rsplit(' ').next().unwrap().trim().to_owned())
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        let _ = Command::new("ipcrm").args(["-m", &self.0]).status();
    }
}

#[test]
fn the_table_says_what_is_so() {
    let stranger = stranger();
    let segment = Segment::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    for backend in Backend::ALL {
        let place = Place::new()
            .file(".git/hooks/sample", "")
            .file("sub/.git/HEAD", "")
            .file("sub/.git/hooks/sample", "")
            .file("sub/.vscode/tasks.json", "")
            .file(".agent/x", "x")
            .file("settings.json", "{}");
        let workspace = place.workspace();
        fs::hard_link(place.victim(), workspace.join("shared")).unwrap();
        let mut confinement = place.confinement(backend);
        confinement.limits.memory = Some(300 << 20);
        confinement.read_only = vec![workspace.join("settings.json")];
        if let RunEnd::NotStarted(reason) = place.run("true", Some(&confinement), DEADLINE).end {
            skipped(backend.name(), &reason);
            continue;
        }
        for (row, attack) in TABLE {
            confinement.git_write = row.contains("git-write");
            let script = place
                .filled(attack)
                .replace("PORT", &port)
                .replace("SEGMENT", &segment.0)
                .replace("STRANGER", &stranger.0.id().to_string());
            let ran = place.run(&script, Some(&confinement), DEADLINE);
            let holds = ran.end != RunEnd::Exited(0);
            let expected = promised(row, backend);
            assert_eq!(holds, expected, "{}: {row}: {ran:?}", backend.name());
            cases(1);
        }
    }
}
