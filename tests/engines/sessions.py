"""Sessions of the real `agent` with real engines: docker, rootless podman, ssh, a program of the person,
and a `kubectl` of our own making, because no cluster runs here. A test is a function whose name begins
with `test_`; it takes a runner and is called with each."""

import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

AGENT = os.environ["AGENT_PROGRAM"]
KIT = Path(os.environ["ENGINES"])
IMAGE = "local/busybox:1"
# Names of what this run makes, so that the next one finds what a killed run left.
OWN = f"agent-engines-{os.getpid()}"
DEADLINE = 60


class Skipped(Exception):
    pass


class NotForThis(Exception):
    """The test is about something that this runner does not have."""


def wait_for(what, condition, seconds=DEADLINE):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {seconds} s for {what}")


def survivors(mark):
    """Processes of this machine, containers included, that have the mark in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if f"sleep {mark}" in line:
                found.append((entry.name, line))
    return found


def end_sleep(mark):
    """Ends the `sleep` with the mark: the command goes on when the test has looked, on a slow machine too."""
    found = survivors(mark)
    assert found, f"no `sleep {mark}`"
    for number, _ in found:
        os.kill(int(number), signal.SIGTERM)


def rootfs():
    root = KIT / "rootfs"
    if not (root / "bin/sh").exists():
        for name in ["bin", "etc", "tmp", "root"]:
            (root / name).mkdir(parents=True, exist_ok=True)
        shutil.copy("/bin/busybox", root / "bin/busybox")
        names = subprocess.run(["/bin/busybox", "--list"], capture_output=True, text=True).stdout
        for name in names.split():
            if name != "busybox":
                (root / "bin" / name).symlink_to("busybox")
        (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
        (root / "tmp").chmod(0o1777)
    return root


def remove_user(name):
    """Removes a user made here, and its processes: podman leaves one that holds its namespaces."""
    number = pwd.getpwnam(name).pw_uid
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and entry.stat().st_uid == number:
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue  # it has ended

    def is_removed():
        return subprocess.run(["userdel", name], capture_output=True).returncode == 0
    wait_for("the end of its processes", is_removed, 10)


def remove_leftovers():
    """Removes users and folders of runs that were killed."""
    def is_gone(name):
        found = re.fullmatch(r"agent-engines-(\d+)(-.*)?", name)
        return found and not Path("/proc", found[1]).exists()

    for folder in Path(tempfile.gettempdir()).glob("agent-engines-*"):
        if is_gone(folder.name):
            shutil.rmtree(folder, ignore_errors=True)
    for user in pwd.getpwall():
        if is_gone(user.pw_name):
            remove_user(user.pw_name)


def make_user():
    """Makes a user for an engine without root."""
    made = subprocess.run(["useradd", "--no-create-home", "--shell", "/bin/sh", OWN], capture_output=True)
    if made.returncode:
        raise Skipped(f"no user can be made for it: {made.stderr.decode()}")
    return OWN


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Engine:
    """A runner and what it takes to use it."""

    confines = False
    shared = True  # it sees our files
    only = ()  # its tests, if not all

    def __init__(self):
        self.environment = {}
        self.user = None

    def start(self):
        pass

    def stop(self):
        pass

    def leftovers(self):
        return []


class Docker(Engine):
    name, confines = "docker", True
    runner = f"docker:{IMAGE}"
    wrapper = ()

    def listens(self):
        """The address of the daemon."""
        return f"unix://{self.folder}/docker.sock"

    def start(self):
        if os.getuid() != 0 or not shutil.which("dockerd") or not Path("/bin/busybox").exists():
            raise Skipped("dockerd needs root, docker.io and busybox-static")
        self.prepare()
        address = self.listens()
        self.environment["DOCKER_HOST"] = address
        log = open(self.folder / "log", "w")
        self.daemon = subprocess.Popen(
            [*self.wrapper, "dockerd", "--data-root", f"{self.folder}/data", "--exec-root", f"{self.folder}/exec",
             "-H", address, "-p", f"{self.folder}/pid", "--iptables=false", "--ip6tables=false",
             "--bridge=none", "--storage-driver=vfs"],
            stdout=log, stderr=log, start_new_session=True, **self.options(),
        )
        try:
            wait_for("dockerd", lambda: self.daemon.poll() is None and self.docker("info").returncode == 0, 30)
        except AssertionError:
            words = (self.folder / "log").read_text()[-400:]
            self.stop()
            raise Skipped(f"dockerd does not start here: {words}") from None
        archive = subprocess.run(["tar", "-C", rootfs(), "-c", "."], capture_output=True, check=True).stdout
        self.docker("import", "-", IMAGE, input=archive)

    def docker(self, *arguments, **options):
        return subprocess.run(["docker", *arguments], capture_output=True, timeout=60, **self.options(), **options)

    def options(self):
        return {"env": os.environ | self.environment}

    def prepare(self):
        self.folder = Path(tempfile.mkdtemp(prefix="docker-", dir=KIT))

    def containers(self):
        return self.docker("ps", "--all", "--quiet").stdout.split()

    def leftovers(self):
        return self.containers() + self.docker("volume", "ls", "--quiet").stdout.split()

    def stop(self):
        self.daemon.terminate()
        try:
            self.daemon.wait(20)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class DockerElsewhere(Docker):
    """A daemon that is reached over the network counts as one on another machine: nothing is mounted."""

    name, shared = "docker-tcp", False

    def listens(self):
        return f"tcp://127.0.0.1:{free_port()}"


class DockerRootless(Docker):
    """A daemon of a user made for it, in a user namespace."""

    name = "docker-rootless"
    # Links of the copied directory lead to files of root.
    wrapper = ("rootlesskit", "--net=host", "--copy-up=/etc", "--copy-up=/run", "--propagation=rslave",
               "sh", "-c", 'rm -f /run/docker /run/containerd; exec "$@" --rootless', "sh")

    def prepare(self):
        if not shutil.which("rootlesskit"):
            raise Skipped("docker without root needs rootlesskit")
        self.user = make_user()
        # Not below the checkout, which another user may not enter.
        self.folder = Path(tempfile.mkdtemp(prefix=f"{OWN}-d"))
        (self.folder / "home").mkdir()
        self.environment = {"XDG_RUNTIME_DIR": str(self.folder)}
        subprocess.run(["chown", "-R", f"{OWN}:{OWN}", self.folder], check=True)

    def options(self):
        environment = {"PATH": os.environ["PATH"], "HOME": f"{self.folder}/home"} | self.environment
        return {"env": environment, "user": OWN, "group": OWN, "extra_groups": [], "cwd": self.folder}

    def stop(self):
        super().stop()
        remove_user(OWN)


class Podman(Engine):
    name, confines = "podman", True
    runner = f"podman:{IMAGE}"

    def start(self):
        if os.getuid() != 0 or not shutil.which("podman") or not Path("/bin/busybox").exists():
            raise Skipped("rootless podman is tested by root, for a user made for it")
        self.user = make_user()
        # Not below the checkout, which another user may not enter.
        self.folder = Path(tempfile.mkdtemp(prefix=f"{OWN}-p"))
        for name in ["run", "home/.config/containers"]:
            (self.folder / name).mkdir(parents=True, mode=0o700)
        (self.folder / "home/.config/containers/containers.conf").write_text(
            '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n')
        self.own(self.folder)
        self.environment = {
            "XDG_RUNTIME_DIR": f"{self.folder}/run", "XDG_CONFIG_HOME": f"{self.folder}/home/.config",
            "XDG_DATA_HOME": f"{self.folder}/home/data",
        }
        archive = subprocess.run(["tar", "-C", rootfs(), "-c", "."], capture_output=True, check=True).stdout
        imported = self.podman("import", "-", IMAGE, input=archive)
        tried = self.podman("run", "--rm", "--network=none", IMAGE, "true")
        if imported.returncode or tried.returncode:
            words = (imported.stderr + tried.stderr).decode(errors="replace")[-400:]
            self.stop()
            raise Skipped(f"rootless podman does not work here: {words}")

    def own(self, folder):
        subprocess.run(["chown", "-R", f"{OWN}:{OWN}", folder], check=True)

    def podman(self, *arguments, **options):
        environment = {"PATH": os.environ["PATH"], "HOME": f"{self.folder}/home"} | self.environment
        return subprocess.run(["podman", *arguments], env=environment, user=OWN, group=OWN,
                              extra_groups=[], cwd=self.folder, capture_output=True, timeout=60, **options)

    def containers(self):
        return self.podman("ps", "--all", "--quiet").stdout.split()

    def leftovers(self):
        return self.containers() + self.podman("volume", "ls", "--quiet").stdout.split()

    def stop(self):
        self.podman("rm", "--all", "--force")
        # Its files belong to users that only podman knows.
        self.podman("unshare", "rm", "-rf", f"{self.folder}/home/data")
        shutil.rmtree(self.folder, ignore_errors=True)
        remove_user(OWN)


class Ssh(Engine):
    name, shared = "ssh", False
    runner = "ssh:engines"
    variables = ""

    def start(self):
        sshd = shutil.which("sshd") or "/usr/sbin/sshd"
        if os.getuid() != 0 or not Path(sshd).exists() or not shutil.which("ssh"):
            raise Skipped("sshd needs root here, and openssh-server")
        self.folder = Path(tempfile.mkdtemp(prefix=f"{OWN}-ssh-"))
        there = self.there = self.folder / "there"
        there.mkdir()
        Path("/run/sshd").mkdir(exist_ok=True)
        port = free_port()
        for name in ["host", "key"]:
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name], check=True)
        shutil.copy(self.folder / "key.pub", self.folder / "authorized")
        (self.folder / "sshd_config").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host\nPidFile {self.folder}/pid\n"
            f"AuthorizedKeysFile {self.folder}/authorized\nStrictModes no\nPasswordAuthentication no\n"
            f"PermitRootLogin prohibit-password\nUsePAM no\nSetEnv XDG_CACHE_HOME={there}{self.variables}\n")
        (self.folder / "known").write_text(
            f"[127.0.0.1]:{port} " + (self.folder / "host.pub").read_text())
        self.config = self.folder / "config"
        self.config.write_text(
            f"Host engines\n HostName 127.0.0.1\n Port {port}\n User root\n IdentityFile {self.folder}/key\n"
            f" IdentitiesOnly yes\n UserKnownHostsFile {self.folder}/known\n")
        # `ssh` takes the home of the user from the system, so its configuration is named by a wrapper.
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self.config} "$@"\n')
        (programs / "ssh").chmod(0o755)
        self.environment = {"PATH": f"{programs}:{os.environ['PATH']}"}
        self.daemon = subprocess.Popen([sshd, "-D", "-f", self.folder / "sshd_config", "-E", self.folder / "log"],
                                       start_new_session=True)
        tried = lambda: subprocess.run([programs / "ssh", "engines", "true"], capture_output=True).returncode == 0
        try:
            wait_for("sshd", tried, 15)
        except AssertionError:
            words = (self.folder / "log").read_text()[-400:]
            self.stop()
            raise Skipped(f"sshd does not work here: {words}") from None

    def leftovers(self):
        return list((self.there / "agent").glob("*")) if (self.there / "agent").exists() else []

    def stop(self):
        self.daemon.terminate()
        self.daemon.wait(10)
        shutil.rmtree(self.folder, ignore_errors=True)


class DockerOverSsh(Docker):
    """A daemon that is reached through sshd, as with `DOCKER_HOST=ssh://HOST`."""

    name, shared = "docker-ssh", False
    # Each call of its client is a connection, so the rest is left to `docker-tcp`.
    only = ("test_session_to_done", "test_kill_leaves_nothing", "test_conflict_keeps_both")

    def start(self):
        super().start()
        self.machine = Ssh()
        self.machine.variables = f" DOCKER_HOST={self.environment['DOCKER_HOST']}"
        try:
            self.machine.start()
        except Skipped:
            super().stop()
            raise
        self.environment = self.machine.environment | {"DOCKER_HOST": "ssh://engines"}

    def stop(self):
        self.machine.stop()
        super().stop()


class Kubectl(Engine):
    """No cluster runs here: this `kubectl` runs what it is given, in another directory."""

    name, shared = "kubectl", False
    runner = "kubectl:ci/builder"

    def start(self):
        self.folder = Path(tempfile.mkdtemp(prefix=f"{OWN}-kubectl-"))
        (self.folder / "bin").mkdir()
        kubectl = self.folder / "bin/kubectl"
        kubectl.write_text(
            '#!/bin/sh\nprintf "%s " "$1" "$2" "$3" "$4" "$5" "$6" "$7" >>"$0.log"; echo >>"$0.log"\n'
            'while [ "$1" != -- ]; do shift; done; shift\n'
            f'export XDG_CACHE_HOME={self.folder}/there; cd /\n'
            'if [ -e "$0.cut" ]; then case $3 in *"tar -cf"*) "$@" | head -c 700; exit 1;; esac; fi\n'
            'exec "$@"\n')
        kubectl.chmod(0o755)
        self.environment = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}"}

    def leftovers(self):
        return list((self.folder / "there/agent").glob("*"))

    def stop(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Exec(Engine):
    name = "exec"
    runner = "exec:sh"


class Base:
    """A base directory with a workspace, and a home of its own."""

    def __init__(self, engine):
        self.engine = engine
        self.root = Path(tempfile.mkdtemp(prefix=f"{OWN}-"))
        self.directory = self.root / "base"
        self.workspace = self.directory / "workspace"
        self.workspace.mkdir(parents=True)
        (self.root / "home").mkdir()
        (self.directory / "appsettings.json").write_text('{"Agent": {}}')
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.root / "home")} | engine.environment
        self.replies = self.asked = 0
        self.own()

    def own(self, *paths):
        """Gives the user these files, or all of them before a session begins: later some come and go."""
        if self.engine.user:
            which = paths or ("-R", self.root)
            subprocess.run(["chown", "-h", f"{self.engine.user}:", *which], check=True)

    def write(self, name, text):
        path = self.workspace / name
        path.write_text(text)
        self.own(path, *[above for above in path.parents if self.workspace in above.parents])

    def options(self):
        if not self.engine.user:
            return {}
        return {"user": self.engine.user, "group": self.engine.user, "extra_groups": []}

    def agent(self, *arguments, ok=True, timeout=DEADLINE):
        done = subprocess.run([AGENT, *arguments, "--base", self.directory], env=self.environment, cwd=self.root,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout,
                              **self.options())
        assert not ok or done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done

    def begin(self, *flags):
        """Starts the loop; every command is a script of the workspace."""
        if "--runner" not in flags:
            flags = ("--runner", self.engine.runner, *flags)
        with open(self.root / "said", "w") as said:
            self.loop = subprocess.Popen(
                [AGENT, "new", "test", "--base", self.directory, *flags],
                env=self.environment, cwd=self.root, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                start_new_session=True, **self.options())
        return self.message(1)

    def resume(self, *flags):
        self.asked = 0
        with open(self.root / "said", "w") as said:
            self.loop = subprocess.Popen(
                [AGENT, "resume", "--base", self.directory, *flags],
                env=self.environment, cwd=self.root, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                start_new_session=True, **self.options())

    def message(self, number):
        """The message of a round; several parts are one text."""
        def there():
            found = sorted((self.directory / "outbox").glob(f"*_seq{number:04}*.txt"))
            texts = [path.read_text() for path in found]
            return "".join(texts) if any("[END " in text for text in texts) else None
        try:
            return wait_for(f"message {number}", there)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.said()}") from None

    def said(self):
        return (self.root / "said").read_text()

    def reply(self, message, text):
        mark = re.findall(r"\[END [0-9a-f]+#\d+\]", message)[-1]
        self.replies += 1
        path = self.root / f"reply{self.replies}.md"
        path.write_text(f"``````\n{text}\n{mark}\n``````\n")
        self.own(path)
        path.rename(self.directory / "inbox" / path.name)

    def run(self, message, script, number, attributes=""):
        """Lets the model run a script of the workspace."""
        self.write(f"step{number}.sh", script)
        self.reply(message, f"[RUN_COMMAND{attributes}]\nsh step{number}.sh\n[/RUN_COMMAND]")
        if not self.engine.confines:
            wait_for("the question", lambda: self.said().count("Decide with") > self.asked)
            self.asked += 1
            self.agent("approve", "1")

    def round(self, message, script, number, attributes=""):
        """Lets the model run a script in round `number`; returns the next message."""
        self.run(message, script, number, attributes)
        return self.message(number + 1)

    def done(self, message):
        self.reply(message, "[DONE]\nfinished\n[/DONE]")
        assert self.loop.wait(DEADLINE) == 0, self.said()

    def kill(self):
        if getattr(self, "loop", None) and self.loop.poll() is None:
            self.loop.kill()
            self.loop.wait()

    def remove(self):
        self.kill()
        shutil.rmtree(self.root, ignore_errors=True)


WORK = """set -e
echo made >made.txt; echo changed >>kept.txt; rm gone.txt; mv old.txt new.txt
printf '#!/bin/sh\\necho tool\\n' >tool.sh; chmod +x tool.sh; ln -s made.txt link
mkdir -p deep/er; echo d >deep/er/file; mkdir -p ignored; echo i >ignored/file
echo worked
"""


def test_session_to_done(engine, base):
    base.write("kept.txt", "kept\n")
    base.write("gone.txt", "gone\n")
    base.write("old.txt", "old\n")
    base.write(".gitignore", "ignored/\n")
    message = base.begin()
    message = base.round(message, WORK, 1)
    assert "worked" in message and "exit code 0" in message, message
    files = base.workspace
    assert (files / "made.txt").read_text() == "made\n"
    assert (files / "kept.txt").read_text() == "kept\nchanged\n"
    assert not (files / "gone.txt").exists() and not (files / "old.txt").exists()
    assert (files / "new.txt").read_text() == "old\n"
    assert os.access(files / "tool.sh", os.X_OK) and os.readlink(files / "link") == "made.txt"
    assert (files / "deep/er/file").read_text() == "d\n"
    assert (files / "ignored").exists() == engine.shared
    # What is there on the other side is used again, and a file step arrives there.
    base.reply(message, "[CREATE_FILE path=\"from-model.txt\"]\nhello\n[/CREATE_FILE]\n"
                        "[DELETE_FILE path=\"made.txt\"]\n")
    message = base.message(3)
    base.run(message, "cat from-model.txt ignored/file; [ -e made.txt ] || echo no-made", 2)
    message = base.message(4)
    assert "hello\ni\nno-made" in message, message
    base.done(message)
    base.agent("undo", "--to", "1", "--yes", ok=False)
    for _ in range(4):
        if (files / "gone.txt").exists():
            break
        base.agent("undo", "--yes", ok=False)
    assert (files / "gone.txt").read_text() == "gone\n"
    assert (files / "old.txt").read_text() == "old\n" and not (files / "new.txt").exists()
    assert not (files / "tool.sh").exists() and not (files / "link").is_symlink()


def test_timeout_leaves_nothing(engine, base):
    message = base.begin()
    message = base.round(message, "echo begun; (setsid sleep 70101 &); sleep 70102 & sleep 70103", 1, ' timeout="2"')
    assert "timed out after 2 s" in message and "begun" in message, message
    wait_for("no survivors", lambda: not survivors("7010"), 5)
    message = base.round(message, "echo works again", 2)
    assert "works again" in message
    base.done(message)


def test_a_fork_that_stays_is_ended(engine, base):
    message = base.begin()
    message = base.round(message, "for i in 1 2 3 4 5 6 7 8; do (setsid sleep 70201 >/dev/null 2>&1 &); done; echo over", 1)
    assert "exit code 0" in message and "over" in message, message
    wait_for("no survivors", lambda: not survivors("7020"), 5)
    base.done(message)


def test_interrupt_leaves_nothing(engine, base):
    message = base.begin()
    base.run(message, "(setsid sleep 70301 &); sleep 70302", 1)
    wait_for("the command", lambda: len(survivors("7030")) >= 2)
    base.loop.send_signal(signal.SIGINT)
    base.loop.wait(30)
    wait_for("no survivors", lambda: not survivors("7030"), 5)
    # The session is not over, so its files are still there.
    assert engine.shared or engine.leftovers()
    base.agent("doctor", "--clean", "--runner", engine.runner)


def test_end_leaves_nothing(engine, base):
    message = base.begin()
    base.run(message, "echo made >made.txt", 1)
    base.message(2)
    base.loop.send_signal(signal.SIGINT)
    base.loop.wait(30)
    assert engine.shared or engine.leftovers()
    if engine.name == "kubectl":
        path, base.environment["PATH"] = base.environment["PATH"], "/usr/bin:/bin"
        told = base.agent("end")
        assert "agent doctor --clean --runner kubectl:ci/builder" in told.stdout + told.stderr, told
        base.environment["PATH"] = path
        base.agent("doctor", "--clean", "--runner", engine.runner)
    else:
        base.agent("end")
    assert not engine.leftovers()
    assert (base.workspace / "made.txt").read_text() == "made\n"


def test_removal_leaves_nothing(engine, base):
    message = base.begin()
    base.run(message, "echo made >made.txt", 1)
    base.message(2)
    base.loop.send_signal(signal.SIGINT)
    base.loop.wait(30)
    assert engine.shared or engine.leftovers()
    base.agent("rm", "--yes", "latest")
    assert not engine.leftovers()


def test_kill_leaves_nothing(engine, base):
    base.write("kept.txt", "kept\n")
    message = base.begin()
    base.run(message, "echo before >before.txt; (setsid sleep 70401 &); sleep 70402", 1)
    wait_for("the command", lambda: len(survivors("7040")) >= 2)
    base.killed = base.loop.pid
    base.loop.kill()
    base.loop.wait()
    wait_for("no survivors", lambda: not survivors("7040"), 10)
    if engine.confines:
        wait_for("no container", lambda: not engine.containers(), 15)
    # The session goes on with the same runner, and finds what the command did before the kill.
    base.asked = 0
    with open(base.root / "said", "w") as said:
        base.loop = subprocess.Popen([AGENT, "resume", "--base", base.directory], env=base.environment, cwd=base.root,
                                     stdin=subprocess.DEVNULL, stdout=said, stderr=said, **base.options())
    message = base.message(2)
    message = base.round(message, "cat before.txt kept.txt", 2)
    assert "before\nkept" in message, message
    wait_for("the file", lambda: (base.workspace / "before.txt").exists(), 5)
    killed = f"agent-ssh-{base.killed}-*"
    assert not list(Path(tempfile.gettempdir()).glob(killed)), "the killed process left a directory"
    base.done(message)


def test_much_output(engine, base):
    message = base.begin()
    size = 1 << (30 if engine.name == "docker" else 26)
    message = base.round(message, f"head -c {size} /dev/zero | tr '\\\\0' x; echo; echo the end", 1, ' timeout="300"')
    assert "exit code 0" in message and "the end" in message and "TRUNCATED" in message, message[-3000:]
    base.done(message)


def test_two_sessions_at_once(engine, base):
    other = Base(engine)
    try:
        first, second = base.begin(), other.begin()
        base.run(first, "echo one >one.txt; sleep 1; ls", 1)
        other.run(second, "echo two >two.txt; sleep 1; ls", 1)
        first, second = base.message(2), other.message(2)
        assert (base.workspace / "one.txt").exists() and not (base.workspace / "two.txt").exists()
        assert (other.workspace / "two.txt").exists() and not (other.workspace / "one.txt").exists()
        base.done(first)
        other.done(second)
    finally:
        other.remove()


def test_attacks_meet_walls(engine, base):
    if not engine.confines:
        raise NotForThis
    (base.workspace / ".git").mkdir()
    (base.workspace / ".agent").mkdir()
    (base.workspace / ".agent/secret").write_text("secret")
    (base.root / "outside").write_text("outside")
    base.own()
    message = base.begin()
    message = base.round(message, f"""
(echo x >.git/hooks-probe) 2>/dev/null && echo BROKEN git
mv .git .g2 2>/dev/null && echo BROKEN rename
[ -e .agent/secret ] && echo BROKEN state
[ -e {base.root}/outside ] && echo BROKEN outside
(echo x >/etc/probe) 2>/dev/null && echo BROKEN root
kill -9 1 2>/dev/null && echo BROKEN keeper
mount -t tmpfs none /mnt 2>/dev/null && echo BROKEN mount
wget -q -T 2 -O - http://1.1.1.1/ 2>/dev/null && echo BROKEN network
grep -q eth0 /proc/net/dev && echo BROKEN interface
mkdir .vscode; echo x >.vscode/tasks.json; echo x >.envrc
echo tried
""", 1)
    assert "tried" in message and "\nBROKEN" not in message, message
    assert not (base.workspace / ".vscode").exists() and not (base.workspace / ".envrc").exists()
    assert ".vscode" in message and ("renamed" if engine.shared else "protected here") in message, message
    base.done(message)


def mounts(engine):
    """For tests about containers that mount the workspace."""
    if not (engine.confines and engine.shared):
        raise NotForThis


def test_links_in_place_of_protected_names_are_refused(engine, base):
    mounts(engine)
    outside = base.root / "outside"
    (outside / "workflows").mkdir(parents=True)
    (outside / "workflows/secret").write_text("of the host\n")
    (base.workspace / ".github").symlink_to(outside)
    base.own()
    message = base.begin()
    message = base.round(message, "cat .github/workflows/secret", 1)
    assert "`.github` in the workspace is a link" in message and "of the host" not in message, message
    (base.workspace / ".github").unlink()
    message = base.round(message, "echo works", 2)
    assert "exit code 0" in message, message
    # The container runs already.
    (base.workspace / ".vscode").symlink_to(outside)
    message = base.round(message, "rm .vscode", 3)
    assert "`.vscode` in the workspace is a link" in message, message
    assert (base.workspace / ".vscode").is_symlink()
    base.done(message)


def test_what_kills_our_script_does_not_survive(engine, base):
    if not engine.confines:
        raise NotForThis
    message = base.begin()
    for number, script in enumerate([
        "setsid sh -c 'kill -9 -1; sleep 70801' & sleep 70802",
        "setsid sh -c 'while :; do kill -9 -1; done; sleep 70803' & sleep 70804",
    ], 1):
        base.run(message, script, number)
        message = base.message(number + 1)
        assert not survivors("7080"), message
        assert "left processes behind" in message or not engine.shared, message
    message = base.round(message, "echo works again", 3)
    assert "works again" in message and "left processes" not in message, message
    base.done(message)


def test_one_container_runs_at_a_time(engine, base):
    if engine.name != "docker":
        raise NotForThis  # not every engine without root has a network to give
    message = base.begin("--network", "ask")
    base.run(message, "echo 'curl: (6) Could not resolve host: example.com'; "
                      "cat /proc/self/mountinfo >mounts; [ -e again ] || { touch again; exit 6; }", 1)
    wait_for("the offer", lambda: "Run it again" in base.said())
    assert len(engine.containers()) == 1
    base.agent("approve", "1")
    message = base.message(2)
    assert "exit code 0" in message and len(engine.containers()) == 1, message
    base.done(message)


def test_protected_files_that_come_later_are_protected_too(engine, base):
    mounts(engine)
    message = base.begin()
    message = base.round(message, "echo first >/tmp/first", 1)
    (base.workspace / ".vscode").mkdir()
    base.own(base.workspace / ".vscode")
    base.write(".gitlab-ci.yml", "ours\n")
    message = base.round(message, "for f in .vscode/tasks.json .gitlab-ci.yml; do (echo evil >>$f) && echo BROKEN $f; done; echo tried", 2)
    assert "tried" in message and "\nBROKEN" not in message, message
    # An editor puts another file in its place.
    base.write("new.yml", "theirs\n")
    (base.workspace / "new.yml").rename(base.workspace / ".gitlab-ci.yml")
    message = base.round(message, "(echo evil >>.gitlab-ci.yml) && echo BROKEN; cat .gitlab-ci.yml", 3)
    assert "theirs" in message and "\nBROKEN" not in message, message
    message = base.round(message, "touch /tmp/kept", 4)
    message = base.round(message, "ls /tmp/kept", 5)
    assert "exit code 0" in message, message
    base.done(message)


def test_records_in_an_extra_path_are_hidden(engine, base):
    mounts(engine)
    message = base.begin("--extra-write-paths", str(base.directory))
    message = base.round(message, """cd ..; ls sessions inbox
for f in inbox/forged.md sessions/x outbox/x appsettings.json; do (echo x >>$f) 2>/dev/null && echo BROKEN $f; done
for d in sessions inbox outbox appsettings.json; do mv $d x-$d 2>/dev/null && echo BROKEN mv $d; done
mkdir .agent; echo '{}' >.agent/appsettings.json; echo mine >beside; echo tried""", 1)
    assert "tried" in message and "\nBROKEN" not in message and "journal" not in message, message
    assert not (base.directory / ".agent").exists() and "`.agent.kept`" in message, message
    assert (base.directory / "beside").read_text() == "mine\n"
    base.done(message)


def test_no_setuid_program_is_left(engine, base):
    mounts(engine)
    message = base.begin()
    message = base.round(message, "echo x >program; chmod 6755 program; ls -l program", 1)
    assert (base.workspace / "program").stat().st_mode & 0o7777 == 0o755
    assert "lost such bits: `program`" in message, message
    base.done(message)


def test_the_repository_of_a_worktree_is_shown(engine, base):
    mounts(engine)
    git = lambda *arguments: subprocess.run(["git", *arguments], check=True, capture_output=True, cwd=base.root, env={
        "PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": "/nowhere",
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a"})
    main = base.root / "main"
    git("init", "-q", main)
    git("-C", main, "commit", "-q", "--allow-empty", "-m", "first")
    base.workspace.rmdir()
    git("-C", main, "worktree", "add", "-q", base.workspace)
    base.own()
    message = base.begin()
    message = base.round(message, "read -r _ git <.git; cat $git/HEAD $git/../../HEAD; for f in $git/x $git/../../hooks/x; do "
                                  "(echo x >$f) 2>/dev/null && echo BROKEN $f; done; echo tried", 1)
    assert "tried" in message and "\nBROKEN" not in message and message.count("ref: refs/heads/") >= 2, message
    base.done(message)


def test_odd_names_are_mounted_or_refused(engine, base):
    mounts(engine)
    for name in ["a:b", "a,b", 'a"b c']:
        other = Base(engine)
        other.directory = other.root / name
        (other.root / "base").rename(other.directory)
        other.workspace = other.directory / "workspace"
        (other.workspace / ".agent").mkdir()
        (other.workspace / ".agent/secret").write_text("secret")
        other.own()
        try:
            message = other.begin()
            message = other.round(message, "[ -e .agent/secret ] && echo BROKEN; echo tried >tried", 1)
            if engine.name == "podman" and name != "a:b":
                assert "comma" in message, message
            else:
                assert "exit code 0" in message and "\nBROKEN" not in message, message
                assert (other.workspace / "tried").exists()
            other.done(message)
        finally:
            other.remove()


def test_interrupt_while_a_container_starts(engine, base):
    if engine.name != "docker":
        raise NotForThis
    programs = base.root / "bin"
    programs.mkdir()
    (programs / "docker").write_text(
        f'#!/bin/sh\ncase $1 in run|rm) exec sleep 70901;; esac\nexec {shutil.which("docker")} "$@"\n')
    (programs / "docker").chmod(0o755)
    base.environment["PATH"] = f"{programs}:{base.environment['PATH']}"
    message = base.begin()
    base.run(message, "echo never", 1)
    wait_for("the start", lambda: survivors("70901"))
    began = time.monotonic()
    base.loop.send_signal(signal.SIGINT)
    base.loop.wait(30)
    assert time.monotonic() - began < 5, time.monotonic() - began
    wait_for("no survivors", lambda: not survivors("70901"), 5)


def test_a_docker_context_elsewhere_is_known(engine, base):
    if engine.name != "docker-tcp":
        raise NotForThis
    address = base.environment.pop("DOCKER_HOST")
    base.environment["DOCKER_CONFIG"] = str(base.root / "docker")
    subprocess.run(["docker", "context", "create", "far", "--docker", f"host={address}"], check=True,
                   env=base.environment, capture_output=True)
    subprocess.run(["docker", "context", "use", "far"], check=True, env=base.environment, capture_output=True)
    base.write("there.txt", "sent\n")
    message = base.begin()
    message = base.round(message, "pwd; cat there.txt", 1)
    assert "/agent/files\nsent" in message, message
    base.done(message)


def test_containers_of_another_machine_stay(engine, base):
    if not engine.confines:
        raise NotForThis
    client = engine.podman if engine.name == "podman" else engine.docker
    # A process that is not there: on this machine, and on another one that uses the same engine.
    other = ["run", "--detach", "--network=none", "--label", "agent.runner=0123456789abcdef",
             "--name", "agent-4194999-1-x", IMAGE, "sleep", "600"]
    assert client(*other).returncode == 0
    message = base.begin()
    base.run(message, "echo ran", 1)
    base.done(base.message(2))
    base.agent("doctor", "--clean", "--runner", engine.runner)
    assert client("rm", "--force", "agent-4194999-1-x").stdout.decode().strip() == "agent-4194999-1-x"
    assert not engine.containers()


def test_a_file_describes_the_container(engine, base):
    if not engine.confines or not engine.shared:
        raise NotForThis
    (base.workspace / ".git").mkdir()
    (base.workspace / "deploy").mkdir()
    base.own(base.workspace / ".git")
    base.write("deploy/compose.yaml", f"""services:
  app:
    image: {IMAGE}
    user: builder
    working_dir: /app
    environment: {{GREETING: "it's me", SECRET: "${{HOME}}"}}
    privileged: true
    volumes: ["/:/host"]
""")
    (base.workspace / ".devcontainer").mkdir()
    base.write(".devcontainer/devcontainer.json",
               f'{{"image": "{IMAGE}", "workspaceFolder": "/srv/here", "mounts": []}} // a comment')
    program = engine.runner.split(":")[0]
    told = base.agent("doctor", "--runner", f"{program}:./.devcontainer/devcontainer.json", ok=False)
    assert "is ignored: `mounts`" in told.stdout, told.stdout
    message = base.begin("--runner", f"{program}:./deploy/compose.yaml#app")
    assert "in a container that `./deploy/compose.yaml#app` describes" in message, message
    assert "`privileged`" in base.said() and "`volumes`" in base.said(), base.said()
    message = base.round(message, """pwd; echo "$USER says $GREETING${SECRET-}"; echo made >made.txt
[ -e /host ] && echo BROKEN mount
(echo x >/app/.git/probe) 2>/dev/null && echo BROKEN git
(echo x >>deploy/compose.yaml) 2>/dev/null && echo BROKEN file
mv deploy other 2>/dev/null && echo BROKEN rename
grep -q 'CapEff.*0000000000000000' /proc/self/status || echo BROKEN privileges
""", 1)
    assert "/app\nbuilder says it's me\n" in message and "\nBROKEN" not in message, message
    assert (base.workspace / "made.txt").read_text() == "made\n"
    base.done(message)


def test_processors_are_limited(engine, base):
    if engine.name != "docker":
        raise NotForThis
    # More than the machine has means all of them.
    for wanted, limit in [("1", "100000"), ("1000", str(os.cpu_count() * 100000))]:
        message = base.begin("--max-cpus", wanted)
        script = "cat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2>/dev/null; true"
        message = base.round(message, script, 1)
        assert re.search(rf"^{limit}\b", message, re.M), message
        base.done(message)
        base.remove()
        base.__init__(engine)


def test_doctor_tells_what_holds(engine, base):
    found = base.agent("doctor", "--json", "--runner", engine.runner, ok=False).stdout
    findings = [json.loads(line) for line in found.splitlines()]
    told = {finding["what"].strip(): finding["health"] for finding in findings}
    assert told.get("no process outlives its command") == "ok", told
    if engine.confines:
        for words in ["the network cannot be reached", "your home directory is hidden, except installed tools",
                      "commands have no privileges and cannot get any"]:
            assert told.get(words) == "ok", told


def test_connection_cut_in_a_command(engine, base):
    if engine.name != "ssh":
        raise NotForThis
    message = base.begin()
    base.run(message, "echo before >before.txt; sleep 3; echo after >after.txt; sleep 70601", 1)
    wait_for("the command", lambda: survivors("70601"))
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0].endswith(b"ssh") and b"-M" in words:
                os.kill(int(entry.name), signal.SIGKILL)
    message = base.message(2)
    assert "lost" in message, message
    wait_for("no survivors", lambda: not survivors("70601"), 10)
    message = base.round(message, "cat before.txt after.txt", 2)
    assert "before\nafter" in message, message
    assert (base.workspace / "after.txt").read_text() == "after\n"
    base.done(message)


def test_connection_cut_in_the_exchange(engine, base):
    if engine.name != "kubectl":
        raise NotForThis
    cut = engine.folder / "bin/kubectl.cut"
    message = base.begin()
    cut.touch()
    message = base.round(message, "echo made >made.txt", 1)
    cut.unlink()
    assert "has not come back yet" in message, message
    assert not (base.workspace / "made.txt").exists()
    message = base.round(message, "cat made.txt", 2)
    assert "exit code 0" in message and (base.workspace / "made.txt").read_text() == "made\n", message
    base.done(message)


def test_results_come_back_before_their_directory_is_removed(engine, base):
    if engine.name != "kubectl":
        raise NotForThis
    cut = engine.folder / "bin/kubectl.cut"
    message = base.begin()
    cut.touch()
    message = base.round(message, "echo made >made.txt", 1)
    assert "has not come back yet" in message, message
    cut.unlink()
    base.done(message)
    assert (base.workspace / "made.txt").read_text() == "made\n"
    base.agent("undo", "--yes")
    assert not (base.workspace / "made.txt").exists()


def cut_results(engine, base):
    """A session that was stopped while results are on the other side."""
    if engine.name != "kubectl":
        raise NotForThis
    cut = engine.folder / "bin/kubectl.cut"
    base.write("f.txt", "1\n")
    base.write("gone.txt", "1\n")
    message = base.begin()
    cut.touch()
    base.run(message, "echo made >made.txt; echo 2 >f.txt; rm gone.txt", 1)
    base.message(2)
    base.loop.send_signal(signal.SIGINT)
    base.loop.wait(DEADLINE)
    cut.unlink()


def has_results(base):
    found = [(base.workspace / name).exists() for name in ("made.txt", "gone.txt")]
    text = (base.workspace / "f.txt").read_text()
    assert (found, text) in [([True, False], "2\n"), ([False, True], "1\n")], (found, text)
    return found[0]


def test_results_that_come_at_the_end_are_undone(engine, base):
    cut_results(engine, base)
    base.agent("end")
    assert has_results(base)
    base.agent("undo", "--yes")
    assert not has_results(base)
    base.agent("redo", "--yes")
    assert has_results(base)


def test_results_of_a_removed_session_come_with_the_next_one(engine, base):
    cut_results(engine, base)
    removed = base.agent("rm", "--yes", "latest")
    assert "the next session here" in removed.stdout + removed.stderr, removed
    assert not has_results(base) and engine.leftovers()
    for message in (base.directory / "outbox").glob("*.txt"):
        message.unlink()
    base.done(base.begin())
    assert has_results(base)
    base.agent("undo", "--yes")
    assert not has_results(base)


def test_another_runner_tells_of_results(engine, base):
    cut_results(engine, base)
    base.resume("--runner", "local")
    wait_for("the notice", lambda: f"`agent resume --runner {engine.runner}` takes them" in base.said())
    base.loop.send_signal(signal.SIGINT)
    base.loop.wait(DEADLINE)
    base.resume("--runner", engine.runner)
    base.done(base.message(2))
    assert has_results(base)


def test_two_bases_with_one_workspace(engine, base):
    if engine.shared:
        raise NotForThis
    other = Base(engine)
    other.workspace = base.workspace
    message, second = base.begin(), other.begin("--workspace", str(base.workspace))
    base.run(message, "true", 1)
    message = base.message(2)
    other.run(second, "echo early >early.txt; sleep 71101", 2)
    wait_for("the command", lambda: survivors("71101"))
    base.done(message)
    end_sleep("71101")
    second = other.message(2)
    assert (base.workspace / "early.txt").read_text() == "early\n", second
    other.done(second)
    other.remove()


def test_results_of_a_killed_session_are_undone(engine, base):
    if engine.shared:
        raise NotForThis
    base.write("f.txt", "1\n")
    base.write("gone.txt", "1\n")
    message = base.begin()
    base.run(message, "echo made >made.txt; echo 2 >f.txt; rm gone.txt; sleep 71001", 1)
    wait_for("the command", lambda: survivors("71001"))
    base.loop.kill()
    base.loop.wait(DEADLINE)
    wait_for("no survivors", lambda: not survivors("71001"), 15)
    base.resume()
    base.done(base.message(2))
    assert has_results(base)
    base.agent("undo", "--yes")
    assert not has_results(base)


def test_results_that_cannot_come_back_are_kept(engine, base):
    if engine.name != "kubectl":
        raise NotForThis
    cut = engine.folder / "bin/kubectl.cut"
    message = base.begin()
    cut.touch()
    base.run(message, "echo made >made.txt", 1)
    base.done(base.message(2))
    cut.unlink()
    assert "are kept there in" in base.said(), base.said()
    [kept] = engine.leftovers()
    assert (kept / "made.txt").read_text() == "made\n"
    base.agent("doctor", "--clean", "--runner", engine.runner)


def test_odd_results_block_nothing(engine, base):
    if engine.shared:
        raise NotForThis
    base.write("f.txt", "1\n")
    message = base.begin()
    message = base.round(message, "echo 2 >f.txt; truncate -s 600M big.bin; mkfifo pipe\n"
                                  "touch \"$(printf 'caf\\351')\"; d=$(printf 'a\\n.'); mkdir -p \"$d/f.txt\"\n", 1)
    for words in ["`big.bin`", "`pipe`", "caf", "`a\\n.`"]:
        assert words in message, (words, message)
    assert (base.workspace / "f.txt").read_text() == "2\n"
    message = base.round(message, "rm -rf big.bin pipe caf* a*; echo 3 >f.txt", 2)
    assert "exit code 0" in message and (base.workspace / "f.txt").read_text() == "3\n", message
    base.done(message)


def test_a_process_without_its_environment_is_ended(engine, base):
    if engine.confines or os.getuid() != 0:
        raise NotForThis
    message = base.begin()
    message = base.round(message, "(env -i setsid sleep 70801 >/dev/null 2>&1 &); sleep 0.5; echo begun", 1)
    assert "begun" in message and not survivors("70801"), (message, survivors("70801"))
    base.done(message)


def test_doctor_beside_a_command_changes_no_file(engine, base):
    if engine.shared:
        raise NotForThis
    base.write("f.txt", "0\n")
    message = base.begin()
    base.run(message, "echo 1 >f.txt; sleep 70901; echo 2 >f.txt", 1)
    wait_for("the command", lambda: survivors("70901"))
    base.agent("doctor", "--runner", engine.runner, ok=False)
    refused = base.agent("doctor", "--clean", "--runner", engine.runner, ok=False)
    assert "a session is at work here" in refused.stdout, refused.stdout
    assert (base.workspace / "f.txt").read_text() == "0\n"
    end_sleep("70901")
    message = base.message(2)
    assert "exit code 0" in message and (base.workspace / "f.txt").read_text() == "2\n", message
    base.done(message)


def test_conflict_keeps_both(engine, base):
    if engine.shared:
        raise NotForThis
    base.write("both.txt", "start\n")
    message = base.begin()
    base.run(message, "echo there >both.txt; sleep 70701", 1)
    wait_for("the command", lambda: survivors("70701"))
    base.write("both.txt", "here\n")
    end_sleep("70701")
    message = base.message(2)
    assert "both.txt" in message and "beside" in message, message
    assert (base.workspace / "both.txt").read_text() == "here\n"
    assert (base.workspace / "both.txt.other-side").read_text() == "there\n"
    base.done(message)


def test_troubles_are_told(engine, base):
    cases = {
        "docker": [("docker:no/such", {}, "docker pull no/such"),
                   (f"docker:{IMAGE}", {"DOCKER_HOST": "unix:///nowhere/docker.sock"}, "docker daemon")],
        "podman": [("podman:localhost/no/such:1", {}, "podman pull")],
        "ssh": [("ssh:no-such-host.invalid", {}, "no machine")],
        "kubectl": [("kubectl:builder", {"PATH": "/usr/bin:/bin"}, "kubectl")],
        "exec": [("exec:no-such-program", {}, "not installed")],
    }
    for runner, environment, words in cases.get(engine.name, []):
        before, base.environment = base.environment, base.environment | environment
        told = base.agent("doctor", "--runner", runner, ok=False)
        base.environment = before
        assert told.returncode == 1 and words in told.stdout, (runner, told.stdout)


def measure(engine):
    """The cost of a command beside that of the bare client, in milliseconds."""
    base = Base(engine)
    message = base.begin()
    times = []
    for number in range(1, 6):
        base.run(message, "true", number)
        message = base.message(number + 1)
        took = re.findall(r"exit code 0 in ([\d.]+) (ms|s)", message)[0]
        times.append(float(took[0]) * (1000 if took[1] == "s" else 1))
    base.done(message)
    base.remove()
    bare = None
    if engine.name == "ssh":
        bare = ["ssh", "engines", "true"]
    elif engine.name == "docker":
        name = engine.docker("run", "--detach", "--network=none", IMAGE, "sleep", "60").stdout.decode().strip()
        bare = ["docker", "exec", name, "true"]
    text = f"{engine.name}: a command takes {sorted(times[1:])[len(times[1:]) // 2]:.0f} ms"
    if bare:
        alone = []
        for _ in range(5):
            began = time.monotonic()
            subprocess.run(bare, env=os.environ | engine.environment, capture_output=True)
            alone.append((time.monotonic() - began) * 1000)
        text += f"; bare `{bare[0]}` {sorted(alone)[2]:.0f} ms"
    if engine.name == "docker":
        engine.docker("rm", "--force", name)
    print(text, flush=True)


def main():
    wanted = sys.argv[1:]
    remove_leftovers()
    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    chosen = [name for name in tests if not wanted or any(word in name for word in wanted)]
    engines = [Exec(), Kubectl(), Ssh(), Docker(), DockerElsewhere(), DockerOverSsh(), DockerRootless(), Podman()]
    names = [engine.name for engine in engines if engine.name in wanted]
    if names:
        words = [word for word in wanted if word not in names]
        chosen = [name for name in tests if not words or any(word in name for word in words)]
    failed, ran = 0, 0
    for engine in engines:
        if names and engine.name not in names:
            continue
        try:
            engine.start()
        except Skipped as reason:
            print(f"{engine.name}: skipped: {reason}", flush=True)
            continue
        try:
            for name in (name for name in chosen if name in (engine.only or chosen)):
                base, began = Base(engine), time.monotonic()
                try:
                    tests[name](engine, base)
                    base.remove()
                    left = wait_for_nothing(engine)
                    assert not left, f"left behind: {left}"
                    print(f"{engine.name}: {name} ok ({time.monotonic() - began:.1f} s)", flush=True)
                except NotForThis:
                    base.remove()
                    continue
                except Exception:
                    failed += 1
                    print(f"{engine.name}: {name} FAILED", flush=True)
                    traceback.print_exc()
                    base.kill()
                    # What it leaves would fail every test after it.
                    base.agent("doctor", "--clean", "--runner", engine.runner, ok=False)
                    base.remove()
                ran += 1
            if not wanted or "measure" in wanted:
                measure(engine)
        finally:
            engine.stop()
    print(f"{ran - failed} of {ran} passed")
    sys.exit(1 if failed else 0)


def wait_for_nothing(engine):
    try:
        wait_for("nothing left", lambda: not engine.leftovers(), 5)
        return []
    except AssertionError:
        return engine.leftovers()


main()
