"""Sessions of the real `agent.exe` under Wine. A test is a function whose name begins with `test_`; it is
called with a new base directory. What Wine cannot vouch for is not tested here."""

import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

KIT = Path(os.environ["KIT"])
ROOT = Path(__file__).resolve().parents[2]
WINE = "/usr/lib/wine/wine64"
DEADLINE = 90
# The seed of the random kills; a failure names it.
SEED = int(os.environ.get("AGENT_SEED") or random.randrange(1_000_000))


def wait_for(what, condition, seconds=DEADLINE):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {seconds} s for {what}")


def environment(**more):
    kept = {name: os.environ[name] for name in ["PATH", "HOME", "LANG"] if name in os.environ}
    return {
        **kept,
        "WINEPREFIX": str(KIT / "prefix"),
        "WINEDEBUG": "-all",
        "WINEDLLOVERRIDES": "mscoree=;mshtml=",
        **more,
    }


def windows_path(path):
    """How Wine names a file of this machine."""
    return "Z:" + str(path).replace("/", "\\")


def processes_with(mark):
    """Processes of this machine that have the mark in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if entry.name.isdigit() and mark in line:
            found.append((int(entry.name), line))
    return found


class Base:
    """A project that `agent` works on, in a folder of its own."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="agent windows "))
        self.said = Path(tempfile.mkdtemp(prefix="agent-said-"))
        self.processes = []
        # A batch file that starts `agent` from now on.
        self.launcher = None
        done = self.agent("init")
        assert done.returncode == 0, done.stdout

    def start(self, *words):
        # A file, not a pipe: processes of Wine itself would keep a pipe open.
        said = self.said / f"{len(self.processes)}.txt"
        with said.open("w") as output:
            program = ["cmd", "/c", self.launcher] if self.launcher else [str(KIT / "bin/agent.exe")]
            process = subprocess.Popen([WINE, *program, *words], cwd=self.folder, env=environment(),
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        process.said = lambda: said.read_text(errors="replace")
        self.processes.append(process)
        return process

    def launch_with(self, lines):
        """Starts `agent` from a batch file with these lines from now on."""
        launcher = self.said / "launcher.cmd"
        program = windows_path(KIT / "bin/agent.exe")
        launcher.write_text("\r\n".join([*lines, f'@"{program}" %*', ""]))
        self.launcher = windows_path(launcher)

    def agent(self, *words):
        process = self.start(*words)
        try:
            process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"agent {words} did not end:\n{process.said()}") from None
        text = process.said()
        assert "\\\\?\\" not in text, f"a path that nobody writes: {text}"
        return subprocess.CompletedProcess(words, process.returncode, text)

    def begin(self, task="do it"):
        done = self.agent("new", "--no-wait", "--no-input", "--max-rounds", "1000", task)
        assert done.returncode == 0, done.stdout

    def message(self):
        """The number of the latest message, and its text."""
        numbers = [(int(re.search(r"_seq(\d+)\.txt$", path.name)[1]), path)
                   for path in (self.folder / ".agent/outbox").glob("*_seq*.txt")]
        if not numbers:
            return 0, ""
        number, path = max(numbers)
        return number, path.read_text()

    def reply(self, body):
        """The text of a reply to the latest message."""
        mark = re.search(r"\[END \w+#\d+\]", self.message()[1])[0]
        return f"``````\n{body}\n{mark}\n``````\n"

    def step(self, body):
        """A round without questions: the message after it."""
        (self.folder / ".agent/reply.md").write_text(self.reply(body))
        done = self.agent("step", "--no-input", "--reply", ".agent/reply.md")
        assert done.returncode == 0, done.stdout
        return done.stdout, self.message()[1]

    def loop(self, *words):
        """Starts the loop, which waits for replies."""
        return self.start("resume", *words)

    def round(self, body, approves=True):
        """A round of a running loop; every command is approved."""
        before = self.message()[0]
        inbox = self.folder / ".agent/inbox"
        text = self.reply(body)
        temporary = inbox / ".writing"
        temporary.write_text(text)
        temporary.rename(inbox / f"reply{before}.md")
        questions = body.count("[RUN_COMMAND") if approves else 0
        end = time.monotonic() + DEADLINE
        while questions and time.monotonic() < end:
            if self.agent("approve").returncode == 0:
                questions -= 1
        wait_for("the next message", lambda: self.message()[0] > before)
        return self.message()[1]

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self.said, ignore_errors=True)


def test_doctor_speaks_of_windows(base):
    text = base.agent("doctor").stdout
    for word in ["inotify", "Linux", "bubblewrap", "wl-clipboard"]:
        assert word not in text, text
    assert "cmd.exe" in text and "WSL2" in text, text
    assert "no process outlives its command" in text, text


def test_what_holds_for_commands_is_said_as_it_is(base):
    """Wine has no integrity levels, so here the sentence is that nothing keeps commands inside."""
    kept = "files outside of the workspace cannot be changed"
    open_ = "commands can change files outside of the workspace"
    doctor = base.agent("doctor").stdout
    assert (kept in doctor) != (open_ in doctor), doctor
    assert "commands can use the network" in doctor and "commands can read your home directory" in doctor, doctor
    switched_off = base.agent("doctor", "--sandbox", "off").stdout
    assert kept not in switched_off and open_ not in switched_off, switched_off
    base.begin()
    loop = base.loop()
    outside = base.said / "outside.txt"
    said = base.round(f'[RUN_COMMAND]\necho made> made.txt\necho x> "%TEMP%\\scratch.txt" && echo has a place\n'
                      f'echo x> "{windows_path(outside)}"\nexit /b 0\n[/RUN_COMMAND]')
    assert "has a place" in said, said
    assert outside.exists() == (open_ in doctor), said
    assert "each command needs your yes" in loop.said(), loop.said()
    assert (kept if kept in doctor else open_) in loop.said(), loop.said()
    # What a command made is the person's as before.
    made = base.folder / "made.txt"
    assert made.read_text().strip() == "made"
    base.round('[CREATE_FILE path="made.txt"]\nedited\n[/CREATE_FILE]')
    assert made.read_text() == "edited\n"
    for expected in ["made", None]:
        done = base.agent("undo", "--yes")
        assert done.returncode == 0, done.stdout
        assert (made.read_text().strip() if made.exists() else None) == expected, done.stdout
    return "held" if kept in doctor else "not held here"


def test_the_demo_plays_to_its_end(base):
    done = base.agent("demo")
    assert done.returncode == 0 and "Done" in done.stdout, done.stdout
    assert "pears.txt: 1" in done.stdout or "count.cmd" in done.stdout, done.stdout


def test_a_session_to_its_end(base):
    base.begin("write hello.txt")
    first = base.message()[1]
    assert "a batch script for `cmd.exe`" in first and "bash script" not in first, first
    assert "Machine: Windows" in first, first
    loop = base.loop()
    said = base.round('[CREATE_FILE path="sub\\hello.txt"]\nhello\n[/CREATE_FILE]\n'
                      "[RUN_COMMAND]\ntype sub\\hello.txt\nexit /b 3\n[/RUN_COMMAND]")
    assert "hello" in said and "exit code 3" in said, said
    assert (base.folder / "sub/hello.txt").read_text() == "hello\n"
    inbox = base.folder / ".agent/inbox/last.md"
    inbox.write_text(base.reply("[DONE]\nAll done.\n[/DONE]"))
    assert loop.wait(DEADLINE) == 0
    assert "Done" in loop.said(), loop.said()


def test_commands_end_with_codes_limits_and_timeouts(base):
    base.begin()
    base.loop("--command-timeout", "4", "--max-output-length", "300")
    said = base.round("[RUN_COMMAND]\necho größe und ≠\nexit /b 7\n[/RUN_COMMAND]")
    assert "exit code 7" in said and "größe und ≠" in said, said
    said = base.round("[RUN_COMMAND]\nfor /l %%i in (1,1,400) do @echo line %%i\n[/RUN_COMMAND]")
    assert "line 1\n" in said and "line 400" in said and "omitted" in said, said
    begun = time.monotonic()
    said = base.round("[RUN_COMMAND]\nstart /b ping -n 77 127.0.0.1 >nul\nping -n 78 127.0.0.1 >nul\n[/RUN_COMMAND]")
    assert "4 s" in said or "timed out" in said or "time limit" in said, said
    assert time.monotonic() - begun < 45
    wait_for("the end of its processes", lambda: not processes_with("ping -n 7"), 10)
    said = base.round("[RUN_COMMAND]\nno-such-program\n[/RUN_COMMAND]")
    assert "exit code" in said, said


def test_a_command_that_is_not_approved_does_not_run(base):
    base.begin()
    said, message = base.step("[RUN_COMMAND]\necho x> made.txt\n[/RUN_COMMAND]")
    assert "approval" in message and not (base.folder / "made.txt").exists(), message


def test_the_rules_refuse_the_same_as_on_linux(base):
    source = (ROOT / "crates/agent-policy/src/tests/windows.rs").read_text()

    def commands(name):
        table = re.search(rf"const {name}: &\[&str\] = &\[(.*?)\n\];", source, re.S)[1]
        return [json.loads(text) for text in re.findall(r'^\s*("(?:[^"\\]|\\.)*"),$', table, re.M)]

    checked = 0
    for table, options in [("REFUSED", []), ("REFUSED_STRICTLY", ["--policy", "strict"])]:
        for command in commands(table):
            done = base.agent("policy", "check", *options, "--json", command)
            first = done.stdout.strip().splitlines()[0]
            assert json.loads(first)["decision"] == "deny", (command, done.stdout)
            checked += 1
    done = base.agent("policy", "check", "--json", "cargo test")
    assert json.loads(done.stdout.splitlines()[0])["decision"] == "ask", done.stdout
    return f"{checked} commands"


def test_every_reply_is_read_as_on_linux(base):
    linux = ROOT / "target/debug/agent"
    replies = sorted((ROOT / "tests/replies").glob("*.md"))

    def steps(text):
        lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return [line for line in lines if "summary" not in line]

    # Issues may have other words here: a name that Windows does not know is refused as such.
    different = []
    for reply in replies:
        shutil.copy(reply, base.folder / reply.name)
        there = subprocess.run([linux, "parse", reply.name], cwd=base.folder, capture_output=True, text=True)
        here = base.agent("parse", reply.name)
        if here.returncode != there.returncode or steps(here.stdout) != steps(there.stdout):
            different.append((reply.name, here.stdout, there.stdout))
    assert not different, different
    return f"{len(replies)} replies"


def test_names_that_mean_something_else_are_refused(base):
    base.begin()
    names = ["nul", "con.txt", "a.", "x:stream", "GIT~1/config", ".GIT/config", "sub/aux", "..\\x", "C:\\x"]
    body = "\n".join(f'[CREATE_FILE path="{name}"]\nx\n[/CREATE_FILE]' for name in names)
    said, message = base.step(body)
    assert "created" not in said, said
    left = [path.name for path in base.folder.rglob("*") if ".agent" not in path.parts]
    assert left == [], left
    base.step('[CREATE_FILE path="Readme.md"]\none\n[/CREATE_FILE]')
    base.step('[CREATE_FILE path="README.md"]\ntwo\n[/CREATE_FILE]')
    left = [path.name for path in base.folder.iterdir() if path.name.lower() == "readme.md"]
    assert len(left) == 1, left


def test_line_ends_and_the_read_only_attribute_are_kept_and_undone(base):
    (base.folder / "crlf.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    locked = base.folder / "locked.txt"
    locked.write_text("old\n")
    locked.chmod(0o444)
    base.begin()
    edit = ('[EDIT_FILE path="{}"]\n<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE\n[/EDIT_FILE]')
    base.step("\n".join([edit.format("crlf.txt", "two", "2\n2b"), edit.format("locked.txt", "old", "new"),
                         '[CREATE_FILE path="made/new.txt"]\nx\n[/CREATE_FILE]']))
    assert (base.folder / "crlf.txt").read_bytes() == b"one\r\n2\r\n2b\r\nthree\r\n"
    assert locked.read_text() == "new\n"
    assert not locked.stat().st_mode & 0o200, "it is not read-only any more"
    done = base.agent("undo", "--yes")
    assert done.returncode == 0, done.stdout
    assert (base.folder / "crlf.txt").read_bytes() == b"one\r\ntwo\r\nthree\r\n"
    assert locked.read_text() == "old\n" and not locked.stat().st_mode & 0o200
    assert not (base.folder / "made").exists()
    done = base.agent("redo", "--yes")
    assert done.returncode == 0, done.stdout
    assert locked.read_text() == "new\n" and (base.folder / "made/new.txt").read_text() == "x\n"
    done = base.agent("undo", "--yes")
    assert done.returncode == 0 and locked.read_text() == "old\n", done.stdout


def test_the_work_of_a_command_is_undone(base):
    (base.folder / "kept.txt").write_text("kept\n")
    base.begin()
    base.loop()
    base.round("[RUN_COMMAND]\nmkdir deep\necho x> deep\\made.txt\ndel kept.txt\n[/RUN_COMMAND]")
    assert not (base.folder / "kept.txt").exists() and (base.folder / "deep/made.txt").exists()
    done = base.agent("undo", "--yes")
    assert done.returncode == 0, done.stdout
    assert (base.folder / "kept.txt").read_text() == "kept\n" and not (base.folder / "deep").exists()


def test_undo_spares_the_neighbours_of_odd_names(base):
    """Most calls of Windows take `kept.` for `kept`, and `sub.` for `sub`."""
    (base.folder / "kept").write_text("kept\n")
    (base.folder / "sub").mkdir()
    (base.folder / "sub/x.txt").write_text("kept\n")
    base.begin()
    base.loop()
    # `\\?\` in two parts, because no other output may have it.
    base.round('[RUN_COMMAND]\nset q=?\necho x> "\\\\%q%\\%CD%\\kept."\necho x> "\\\\%q%\\%CD%\\nul.txt"\n'
               'mkdir "\\\\%q%\\%CD%\\sub."\necho x> made.txt\n[/RUN_COMMAND]')
    odd = sorted(path.name for path in base.folder.iterdir() if path.name in ["kept.", "nul.txt", "sub."])
    assert "kept." in odd, odd
    # As such a program would leave it behind.
    (base.folder / "sub.").mkdir(exist_ok=True)
    (base.folder / "sub./x.txt").write_text("odd\n")
    done = base.agent("undo", "--yes")
    assert done.returncode == 0, done.stdout
    assert not (base.folder / "made.txt").exists(), done.stdout
    assert (base.folder / "kept").read_text() == "kept\n", done.stdout
    assert (base.folder / "sub/x.txt").read_text() == "kept\n", done.stdout
    return ", ".join(odd)


def test_a_script_runs_from_any_temporary_directory(base):
    temporary = base.said / "R&D(old)"
    temporary.mkdir()
    # Wine takes these two variables from its registry.
    base.launch_with([f'@set "{name}={windows_path(temporary)}"' for name in ["TEMP", "TMP"]])
    # Not this one is meant by the line that sets the code page.
    (base.folder / "chcp.cmd").write_text("@echo planted> planted.txt\r\n")
    base.begin()
    base.loop()
    said = base.round('[RUN_COMMAND]\necho größe in "%TEMP%"\nexit /b 5\n[/RUN_COMMAND]')
    assert "exit code 5" in said and "größe in" in said, said
    assert not (base.folder / "planted.txt").exists(), said
    assert "R&D(old)" in said, said


def test_a_command_gets_no_handle_but_its_own(base):
    """What this process writes to is inherited by `agent`, and no further."""
    base.begin()
    base.loop()
    said = base.round(f'[RUN_COMMAND]\n"{windows_path(KIT / "bin/handles.exe")}"\n[/RUN_COMMAND]')
    # Files that were opened outside of Wine have no name there.
    assert "handles:" in said and ", ?" not in said, said


def test_no_setting_runs_commands_unasked(base):
    """Git Bash is the one shell whose scripts the rules that allow can read."""
    bash = KIT / "prefix/drive_c/Program Files/Git/bin/bash.exe"
    bash.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(KIT / "bin/hold.exe", bash)
    try:
        for more in [[], ["--sandbox", "off"]]:
            done = base.agent("policy", "check", "--shell", "bash", *more, "--allow", "hostname", "--json", "hostname")
            assert json.loads(done.stdout.splitlines()[0])["decision"] == "ask", done.stdout
    finally:
        bash.unlink()


def test_a_file_that_is_open_elsewhere_is_waited_for(base):
    held = base.folder / "held.txt"
    held.write_text("old\n")
    base.begin()
    edit = '[CREATE_FILE path="held.txt"]\n{}\n[/CREATE_FILE]'

    def hold(milliseconds):
        holder = subprocess.Popen([WINE, str(KIT / "bin/hold.exe"), windows_path(held), str(milliseconds)],
                                  env=environment(), stdout=subprocess.PIPE, text=True)
        assert holder.stdout.readline().strip() == "held"
        return holder

    holder = hold(2500)
    said, message = base.step(edit.format("new"))
    holder.wait()
    assert held.read_text() == "new\n", message
    holder = hold(60_000)
    said, message = base.step(edit.format("newer"))
    holder.kill()
    holder.wait()
    assert held.read_text() == "new\n" and "is open in another program" in message, message


def test_only_one_loop_holds_a_session(base):
    base.begin()
    loop = base.loop()
    wait_for("the lock", lambda: (base.folder / ".agent/sessions/loop.lock").exists())
    wait_for("the first lines", lambda: "Round" in loop.said())
    done = base.agent("resume")
    assert done.returncode != 0 and "process" in done.stdout, done.stdout


def test_a_killed_command_is_reported_and_nothing_of_it_runs_on(base):
    base.begin()
    loop = base.loop()
    before = base.message()[0]
    (base.folder / ".agent/inbox/reply.md").write_text(
        base.reply("[RUN_COMMAND]\necho begun> begun.txt\nping -n 91 127.0.0.1 >nul\n[/RUN_COMMAND]"))
    wait_for("the question", lambda: base.agent("approve").returncode == 0)
    wait_for("the command", lambda: processes_with("ping -n 91"))
    loop.send_signal(signal.SIGKILL)
    loop.wait()
    wait_for("the end of its processes", lambda: not processes_with("ping -n 91"), 20)
    assert (base.folder / "begun.txt").exists()
    base.loop()
    wait_for("the next message", lambda: base.message()[0] > before)
    assert "interrupted" in base.message()[1], base.message()[1]


def test_fifty_kills_lose_and_repeat_nothing(base):
    dice = random.Random(SEED)
    base.begin()
    log = base.folder / "log.txt"
    log.write_text("start\n")
    kills, rounds = 0, 0
    took = 2.0
    while kills < 50:
        rounds += 1
        before = base.message()[0]
        reply = base.folder / ".agent/reply.md"
        reply.write_text(base.reply(
            f'[INSERT_TEXT path="log.txt" line="end"]\nround {rounds}\n[/INSERT_TEXT]\n'
            f'[CREATE_FILE path="d{rounds % 3}/f{rounds}.txt"]\n{rounds}\n[/CREATE_FILE]'))
        killed_here = 0
        while base.message()[0] == before:
            begun = time.monotonic()
            step = base.start("step", "--no-input", "--reply", ".agent/reply.md")
            try:
                # The last calls of a round are let run, or it would never end on a slow machine.
                step.wait(dice.uniform(0, took) if kills < 50 and killed_here < 6 else DEADLINE)
                took = max(0.5, 0.5 * took + 0.5 * (time.monotonic() - begun))
            except subprocess.TimeoutExpired:
                step.send_signal(signal.SIGKILL)
                step.wait()
                kills, killed_here = kills + 1, killed_here + 1
    expected = "start\n" + "".join(f"round {number}\n" for number in range(1, rounds + 1))
    assert log.read_text() == expected, log.read_text()
    for number in range(1, rounds + 1):
        assert (base.folder / f"d{number % 3}/f{number}.txt").read_text() == f"{number}\n"
    # In our own folder a killed process leaves temporary files behind.
    left = [path for path in base.folder.rglob(".agent-*") if ".agent" not in path.parts]
    assert left == [], left
    return f"{kills} kills in {rounds} rounds, seed {SEED}"


def test_the_clipboard_carries_messages_and_replies(base):
    def on_terminal(verb):
        words = shlex.join([WINE, str(KIT / "bin/agent.exe"), verb])
        done = subprocess.run(["script", "-qec", words, "/dev/null"], cwd=base.folder, env=environment(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=DEADLINE)
        assert done.returncode == 0, done.stdout

    def other_program(*words):
        said = base.said / "clip.txt"
        with said.open("w") as output:
            subprocess.run([WINE, str(KIT / "bin/clip.exe"), *words], env=environment(), cwd=base.folder,
                           stdin=subprocess.DEVNULL, stdout=output, check=True, timeout=DEADLINE)
        return said.read_text()

    base.begin("für die Zwischenablage")
    on_terminal("copy")
    assert "für die Zwischenablage" in other_program("get")
    (base.folder / ".agent/reply.md").write_text(
        base.reply('[CREATE_FILE path="pasted.md"]\naus der Zwischenablage: ß\n[/CREATE_FILE]'))
    other_program("set", ".agent/reply.md")
    on_terminal("paste")
    done = base.agent("step", "--no-input")
    assert (base.folder / "pasted.md").read_text() == "aus der Zwischenablage: ß\n", done.stdout


def main():
    wanted = sys.argv[1:]
    tests = [(name, function) for name, function in globals().items() if name.startswith("test_")]
    silent = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    # Wine's own processes stay from here on, so that each of ours starts fast.
    subprocess.run(["/usr/lib/wine/wineserver64", "-p"], env=environment(), **silent)
    subprocess.run([WINE, "cmd", "/c", "exit 0"], env=environment(), **silent)
    failed = []
    try:
        for name, function in tests:
            if wanted and not any(word in name for word in wanted):
                continue
            base, begun = Base(), time.monotonic()
            try:
                told = function(base)
                note = f", {told}" if told else ""
                print(f"ok: {name[5:]} ({time.monotonic() - begun:.1f} s{note})", flush=True)
            except Exception:
                failed.append(name)
                print(f"FAILED: {name[5:]}\n{traceback.format_exc()}", flush=True)
            finally:
                base.close()
    finally:
        subprocess.run(["/usr/lib/wine/wineserver64", "-k"], env=environment(), **silent)
    print(f"{len(failed)} failed" if failed else "all passed")
    sys.exit(1 if failed else 0)


main()
