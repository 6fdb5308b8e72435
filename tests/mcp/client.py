"""`agent mcp` as the official Python client sees it: each test is a chat of its own, in a base directory
of its own. A test is a coroutine whose name begins with `test_`."""

import asyncio
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import asynccontextmanager
from pathlib import Path

import mcp_types as types
from mcp import ClientSession
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

AGENT = os.environ["AGENT_PROGRAM"]
DEADLINE = 120


class Base:
    """A base directory with a workspace, and a home of its own."""

    def __init__(self, root):
        self.root = Path(root)
        self.directory = self.root / "base"
        self.workspace = self.directory / "workspace"
        self.workspace.mkdir(parents=True)
        (self.directory / "appsettings.json").write_text('{"Agent": {}}')
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root / "home"),
            "AGENT_MCP_IDLE_MS": "60000",
        }
        (self.root / "home").mkdir()

    def arguments(self, *flags):
        return ["mcp", "--base", str(self.directory), *flags]

    def parameters(self, *flags, **variables):
        return StdioServerParameters(
            command=AGENT, args=self.arguments(*flags), env=self.environment | variables
        )

    def agent(self, *arguments, ok=True, **options):
        """Runs another verb beside the client."""
        done = subprocess.run(
            [AGENT, *arguments, "--base", str(self.directory)],
            env=self.environment, capture_output=True, text=True, timeout=DEADLINE, **options,
        )
        assert not ok or done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done

    def file(self, name):
        return (self.workspace / name).read_text()

    def sessions(self):
        return sorted((self.directory / "sessions").glob("????????.json"))


@asynccontextmanager
async def connected(base, *flags, elicit=None, **variables):
    with open(base.root / "stderr", "a") as errors:
        async with stdio_client(base.parameters(*flags, **variables), errlog=errors) as (read, write):
            async with ClientSession(read, write, elicitation_callback=elicit) as session:
                await session.initialize()
                yield session


async def call(session, tool, progress=None, **arguments):
    """The text of a result and if it is an error."""
    result = await asyncio.wait_for(
        session.call_tool(tool, arguments, progress_callback=progress), DEADLINE
    )
    assert len(result.content) == 1, result
    return result.content[0].text, bool(result.is_error)


async def well(session, tool, progress=None, **arguments):
    text, is_error = await call(session, tool, progress, **arguments)
    assert not is_error, text
    return text


async def test_a_whole_task_to_done(base):
    (base.workspace / "greet.sh").write_text("# greets\necho helo\n")
    (base.workspace / "AGENTS.md").write_text("Use single quotes.\n")
    flags = ["--approval", "auto", "--check", "test \"$(sh greet.sh)\" = hello"]
    async with connected(base, *flags) as chat:
        tools = {tool.name: tool for tool in (await chat.list_tools()).tools}
        assert len(tools) == 18, sorted(tools)
        assert tools["read_file"].annotations.read_only_hint
        assert tools["delete_file"].annotations.destructive_hint
        await chat.send_ping()
        text = await well(chat, "begin", task="fix the greeting")
        assert "greet.sh" in text and "Use single quotes." in text, text
        text = await well(chat, "read_file", path="greet.sh", numbered=True)
        assert "helo" in text, text
        text, is_error = await call(chat, "done", summary="nothing to do")
        assert is_error and "check" in text.lower(), text
        await well(chat, "replace_text", path="greet.sh", old_string="helo", new_string="hello")
        text = await well(chat, "run", command="sh greet.sh")
        assert "hello" in text, text
        text = await well(chat, "search_text", pattern="greets")
        assert "greet.sh" in text, text
        text, is_error = await call(chat, "replace_text", path="greet.sh", old_string="nowhere", new_string="x")
        assert is_error, text
        text = await well(chat, "done", summary="The greeting is right.")
        assert "[OK]" in text, text
        text, is_error = await call(chat, "read_file", path="greet.sh")
        assert is_error and "begin" in text or "has ended" in text, text
    assert "hello" in base.file("greet.sh")
    [session] = base.sessions()
    state = json.loads(session.read_text())
    assert state["isComplete"] and state["summary"] == "The greeting is right.", state
    shown = base.agent("show").stdout
    assert "fix the greeting" in shown, shown
    base.agent("export", "-o", str(base.root / "t.md"))
    assert "hello" in base.agent("diff").stdout
    base.agent("undo", "--to", "0", "--yes")
    assert "helo" in base.file("greet.sh")


async def test_calls_are_one_round_and_are_undone_together(base):
    async with connected(base, "--approval", "auto") as chat:
        await well(chat, "begin", task="write files")
        await well(chat, "write_file", path="a.txt", content="one\n")
        await well(chat, "write_file", path="b.txt", content="one\n")
        await well(chat, "replace_text", path="a.txt", old_string="one", new_string="two")
        [session] = base.sessions()
        # While the round is open somebody else takes it back: it ends for them.
        began = time.monotonic()
        undone = base.agent("undo", "--yes", ok=False)
        if undone.returncode != 0:
            undone = base.agent("undo", "--yes")
        assert time.monotonic() - began < 10
        assert not (base.workspace / "a.txt").exists() and not (base.workspace / "b.txt").exists()
        text = await well(chat, "list_files")
        assert "a.txt" in text, f"the model hears of the undo: {text}"
        base.agent("redo", "--yes", ok=False)
    state = json.loads(session.read_text())
    assert state["sequenceNumber"] >= 2, state["sequenceNumber"]


async def test_approval_by_elicitation(base):
    asked = []

    async def elicit(context, params):
        asked.append(params.message)
        if "touch yes" in params.message:
            return types.ElicitResult(action="accept", content={"decision": "yes"})
        if "touch no" in params.message:
            return types.ElicitResult(action="accept", content={"decision": "no", "text": "use make"})
        if "The model asks" in params.message:
            return types.ElicitResult(action="accept", content={"text": "tabs"})
        return types.ElicitResult(action="decline")

    async with connected(base, "--approval", "ask", elicit=elicit) as chat:
        await well(chat, "begin", task="touch files")
        await well(chat, "run", command="touch yes")
        text, is_error = await call(chat, "run", command="touch no")
        assert is_error and "use make" in text, text
        text, is_error = await call(chat, "run", command="touch declined")
        assert is_error, text
        text = await well(chat, "ask_user", question="Tabs or spaces?")
        assert "tabs" in text, text
    assert (base.workspace / "yes").exists()
    assert not (base.workspace / "no").exists() and not (base.workspace / "declined").exists()
    assert len(asked) == 4, asked


async def test_approval_by_file_with_progress(base):
    told = []

    async def progress(step, total, message):
        told.append(message)

    async with connected(base, "--approval", "ask") as chat:
        await well(chat, "begin", task="touch a file")
        waiting = asyncio.create_task(call(chat, "run", progress, command="touch approved"))
        while not any("agent approve" in message for message in told):
            await asyncio.sleep(0.05)
        await asyncio.to_thread(base.agent, "approve", "1")
        text, is_error = await waiting
        assert not is_error, text
        assert (base.workspace / "approved").exists()
        waiting = asyncio.create_task(call(chat, "run", progress, command="touch declined"))
        told.clear()
        while not any("agent decline" in message for message in told):
            await asyncio.sleep(0.05)
        await asyncio.to_thread(base.agent, "decline", "1", "--reason", "not that")
        text, is_error = await waiting
        assert is_error and "not that" in text, text
        asking = asyncio.create_task(call(chat, "ask_user", progress, question="Which?"))
        told.clear()
        while not any("agent say" in message for message in told):
            await asyncio.sleep(0.05)
        await asyncio.to_thread(base.agent, "say", "the second")
        text, is_error = await asking
        assert "the second" in text, text
    assert not (base.workspace / "declined").exists()


async def test_a_cancelled_call_kills_its_command(base):
    mark = f"97{os.getpid() % 1000:03}.5"
    async with connected(base, "--approval", "auto") as chat:
        await well(chat, "begin", task="wait")
        started = asyncio.Event()

        async def progress(step, total, message):
            started.set()

        running = asyncio.create_task(
            chat.call_tool("run", {"command": f"sleep {mark}; touch late"}, progress_callback=progress)
        )
        await asyncio.wait_for(started.wait(), DEADLINE)
        running.cancel()
        began = time.monotonic()
        text = await well(chat, "list_files")
        assert time.monotonic() - began < 20, "the next call waited for the cancelled one"
        processes = subprocess.run(["ps", "ax", "-o", "args"], capture_output=True, text=True).stdout
        assert f"sleep {mark}" not in processes
        assert "late" not in text and not (base.workspace / "late").exists()
        await well(chat, "write_file", path="after.txt", content="x\n")


async def test_progress_of_a_command(base):
    told = []

    async def progress(step, total, message):
        told.append((step, message))

    async with connected(base, "--approval", "auto") as chat:
        await well(chat, "begin", task="count")
        script = "for i in 1 2 3 4; do echo line $i; sleep 0.6; done"
        await well(chat, "run", progress, command=script)
    steps = [step for step, _ in told]
    assert steps == sorted(set(steps)) and len(steps) >= 3, told
    assert any("line" in message for _, message in told), told


async def test_progress_has_no_secret(base):
    secret, told = "q7Zr1VbN8sKx3LmT5wYd9PfHc2Gj", []
    (base.workspace / ".env").write_text(f"API_KEY={secret}\n")

    async def progress(step, total, message):
        told.append(message)

    async with connected(base, "--approval", "auto") as chat:
        await well(chat, "begin", task="print")
        await well(chat, "run", progress, command=f"cat .env; sleep 1; echo {secret}; sleep 1; echo end")
    assert len(told) >= 2 and not any(secret in message for message in told), told


async def test_an_answer_that_comes_late_is_told(base):
    waits = asyncio.Event()

    async def progress(step, total, message):
        waits.set()

    async with connected(base, "--approval", "auto") as chat:
        await well(chat, "begin", task="ask")
        asking = asyncio.create_task(call(chat, "ask_user", progress, question="Name?"))
        await asyncio.wait_for(waits.wait(), DEADLINE)
        asking.cancel()
        await well(chat, "list_files")
        await asyncio.to_thread(base.agent, "say", "Bobby")
        text = await well(chat, "list_files")
        assert "Name?" in text and "Bobby" in text, text


async def test_a_command_that_prints_a_gibibyte(base):
    async with connected(base, "--approval", "auto") as chat:
        await well(chat, "begin", task="print")
        script = "head -c 1073741824 /dev/zero | tr '\\0' x; echo the end"
        text, _ = await call(chat, "run", command=script, timeout=110)
        assert len(text) < 45_000 and "the end" in text, (len(text), text[-200:])
        short, _ = await call(chat, "run", command="seq 100000", max_characters=2000)
        assert len(short) <= 2200, len(short)


async def test_a_thousand_calls(base):
    (base.workspace / "a.txt").write_text("0\n")
    async with connected(base, "--approval", "auto") as chat:
        await well(chat, "begin", task="count to 500")
        for number in range(500):
            await well(chat, "read_file", path="a.txt")
            await well(
                chat, "replace_text", path="a.txt", old_string=str(number), new_string=str(number + 1)
            )
        await well(chat, "done", summary="counted")
    assert base.file("a.txt") == "500\n"
    [session] = base.sessions()
    assert json.loads(session.read_text())["isComplete"]
    assert session.stat().st_size < 3_000_000, session.stat().st_size


class RawClient:
    """A client without manners: whatever bytes, and a kill at any time."""

    def __init__(self, base, *flags):
        self.process = subprocess.Popen(
            [AGENT, *base.arguments(*flags)],
            env=base.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def send(self, message):
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self):
        return json.loads(self.process.stdout.readline())

    def request(self, number, method, **params):
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    def ask(self, number, method, **params):
        self.request(number, method, **params)
        while (answer := self.read()).get("id") != number:
            pass
        return answer

    def initialize(self):
        return self.ask(
            0, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "raw"}
        )

    def call(self, number, name, **arguments):
        self.request(number, "tools/call", name=name, arguments=arguments)

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=DEADLINE)
        self.process.stdout.close()


async def interrupted(base, stop):
    """Stops a client in the middle of a command, and connects again."""
    raw = RawClient(base, "--approval", "auto")
    raw.initialize()
    raw.ask(1, "tools/call", name="begin", arguments={"task": "append"})
    raw.ask(2, "tools/call", name="write_file", arguments={"path": "a.txt", "content": "a\n"})
    raw.call(3, "run", command="echo once >> count; sleep 30; echo twice >> count")
    while not (base.workspace / "count").exists():
        time.sleep(0.02)
    stop(raw)
    raw.process.wait(timeout=DEADLINE)
    async with connected(base, "--approval", "auto") as chat:
        text = await well(chat, "read_file", path="count")
        assert base.file("count") == "once\n"
        await well(chat, "done", summary="done")
    assert len(base.sessions()) == 1
    base.agent("undo", "--to", "0", "--yes", "--force")
    assert not (base.workspace / "a.txt").exists()
    return text


async def test_a_killed_server_names_what_was_interrupted(base):
    text = await interrupted(base, lambda raw: raw.process.send_signal(signal.SIGKILL))
    assert "under way" in text and "RUN_COMMAND" in text, text


async def test_a_client_that_goes_in_the_middle_leaves_a_whole_round(base):
    text = await interrupted(base, lambda raw: raw.process.stdin.close())
    assert "may not have reached you" in text and "echo once" in text, text


async def test_two_clients(base):
    other = Base(base.root / "other")
    async with connected(base, "--approval", "auto") as one, connected(other, "--approval", "auto") as two:
        await asyncio.gather(well(one, "begin", task="one"), well(two, "begin", task="two"))
        await asyncio.gather(
            well(one, "write_file", path="a", content="one\n"),
            well(two, "write_file", path="a", content="two\n"),
        )
        async with connected(base, "--approval", "auto") as third:
            text, is_error = await call(third, "read_file", path="a")
            assert is_error and "another `agent`" in text, text
    assert (base.file("a"), other.file("a")) == ("one\n", "two\n")
    async with connected(base, "--approval", "auto") as third:
        assert "one" in await well(third, "read_file", path="a")


async def message_of(base, round):
    """Waits until the round before has ended by itself, and its message is there."""
    while not (found := list((base.directory / "outbox").glob(f"*_seq{round:04}.txt"))):
        await asyncio.sleep(0.05)
    return found[0]


async def test_a_pasted_reply_goes_on_and_the_other_way_round(base):
    async with connected(base, "--approval", "auto", AGENT_MCP_IDLE_MS="300") as chat:
        await well(chat, "begin", task="take turns")
        await well(chat, "write_file", path="a.txt", content="by call\n")
        await message_of(base, 2)
    [session] = base.sessions()
    [message] = (base.directory / "outbox").glob("*_seq0002.txt")
    mark = re.findall(r"\[END[^\]]*\]", message.read_text())[-1]
    reply = f'[CREATE_FILE path="b.txt"]\nby paste\n[/CREATE_FILE]\n{mark}\n'
    base.agent("step", "--approval", "auto", "--reply", "-", input=reply)
    assert base.file("b.txt") == "by paste\n"
    async with connected(base, "--approval", "auto") as chat:
        text = await well(chat, "read_file", path="b.txt")
        assert "by paste" in text and "take turns" in text, text
        await well(chat, "done", summary="both")
    assert json.loads(session.read_text())["isComplete"]


async def test_the_base_is_free_after_a_pause(base):
    async with connected(base, "--approval", "auto", AGENT_MCP_IDLE_MS="300") as chat:
        await well(chat, "begin", task="pause")
        await well(chat, "write_file", path="a.txt", content="a\n")
        await message_of(base, 2)
        reply = '[CREATE_FILE path="b.txt"]\nb\n[/CREATE_FILE]\n'
        await asyncio.to_thread(base.agent, "step", "--approval", "auto", "--reply", "-", input=reply)
        assert "b" in await well(chat, "read_file", path="b.txt")


async def test_resources_and_prompts(base):
    prompts = base.root / "home/.config/agent/prompts"
    prompts.mkdir(parents=True)
    (prompts / "review.md").write_text("---\ndescription: Find mistakes\n---\nReview {{args}}.\n")
    (base.workspace / "AGENTS.md").write_text("Be brief.\n")
    (base.workspace / ".env").write_text("API_KEY=q7Zr1VbN8sKx3LmT5wYd9PfHc2Gj\n")
    async with connected(base, "--approval", "auto") as chat:
        await well(chat, "begin", task="look around")
        await well(chat, "write_file", path="a.txt", content="q7Zr1VbN8sKx3LmT5wYd9PfHc2Gj\n")
        uris = [str(resource.uri) for resource in (await chat.list_resources()).resources]
        texts = {}
        for uri in uris:
            texts[uri] = (await chat.read_resource(uri)).contents[0].text
        # The round is open, and its changes are seen.
        assert "a.txt" in texts["agent://changes"] and "q7Zr1VbN8s" not in texts["agent://changes"], texts
        assert texts["agent://task"] == "look around"
        assert "AGENTS.md" in texts["agent://files"] and texts["agent://rules"] == "Be brief.\n", texts
        names = [prompt.name for prompt in (await chat.list_prompts()).prompts]
        assert "review" in names, names
        prompt = await chat.get_prompt("review", {"args": "src"})
        assert prompt.messages[0].content.text.strip() == "Review src.", prompt
        text = await well(chat, "read_file", path="a.txt")
        assert "q7Zr1VbN8s" not in text, text
        await well(chat, "done", summary="looked")
        changes = (await chat.read_resource("agent://changes")).contents[0].text
        assert "a.txt" in changes and "q7Zr1VbN8s" not in changes, changes


async def test_a_client_of_the_next_revision_falls_back(base):
    async with Client(stdio_client(base.parameters("--approval", "auto"))) as chat:
        tools = await chat.list_tools()
        assert len(tools.tools) == 18
        result = await chat.call_tool("list_files", {})
        assert not result.is_error, result


async def test_hostile_lines_are_answered_and_do_no_harm(base):
    raw = RawClient(base, "--approval", "auto")
    raw.send(b"garbage")
    assert raw.read()["error"]["code"] == -32700
    raw.send(b"\xff\xfe{")
    assert raw.read()["error"]["code"] == -32700
    assert raw.ask(1, "tools/list")["error"]["code"] == -32600
    raw.initialize()
    raw.send(b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"' + b"x" * (33 << 20) + b'"}}')
    assert "too long" in raw.read()["error"]["message"]
    assert raw.ask(3, "nope")["error"]["code"] == -32601
    assert raw.ask(4, "tools/call", name="rm")["error"]["code"] == -32602
    assert raw.ask(5, "tools/call", name="read_file", arguments=[])["error"]["code"] == -32602
    assert raw.ask(6, "tools/call", name="read_file", arguments={"path": 3})["result"]["isError"]
    outside = raw.ask(7, "tools/call", name="read_file", arguments={"path": "../appsettings.json"})
    assert outside["result"]["isError"], outside
    assert raw.ask(8, "resources/read", uri="file:///etc/passwd")["error"]["code"] == -32002
    raw.send({"jsonrpc": "2.0", "id": 99, "result": {}})
    raw.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 12345}})
    # More calls than may wait, and twice the same id.
    raw.call(10, "run", command="sleep 1")
    raw.call(10, "run", command="touch twice")
    for number in range(11, 111):
        raw.call(number, "git_status")
    answers = [raw.read() for _ in range(102)]
    duplicates = [one for one in answers if "another call" in one.get("error", {}).get("message", "")]
    refused = [one for one in answers if "too many" in one.get("error", {}).get("message", "")]
    assert len(duplicates) == 1 and len(refused) > 0, answers[:5]
    assert not (base.workspace / "twice").exists()
    assert raw.ask(200, "ping")["result"] == {}
    raw.end()


async def measure_latency(base):
    """Milliseconds of a read and of an edit, by call and by `agent step`."""
    (base.workspace / "a.txt").write_text("0\n")
    for number in range(200):
        (base.workspace / f"file{number}.txt").write_text("x\n" * 20)
    taken = {"read": [], "edit": []}
    async with connected(base, "--approval", "auto") as chat:
        await well(chat, "begin", task="measure")
        await well(chat, "read_file", path="a.txt")
        for number in range(30):
            for what, tool, arguments in [
                ("read", "read_file", {"path": "a.txt"}),
                ("edit", "replace_text",
                 {"path": "a.txt", "old_string": str(number), "new_string": str(number + 1)}),
            ]:
                began = time.monotonic()
                await well(chat, tool, **arguments)
                taken[what].append(time.monotonic() - began)
    other = Base(base.root / "other")
    (other.workspace / "a.txt").write_text("0\n")
    for number in range(200):
        (other.workspace / f"file{number}.txt").write_text("x\n" * 20)
    other.agent("new", "measure", "--no-wait", ok=False)
    stepped = {"read": [], "edit": []}
    for number in range(10):
        for what, reply in [
            ("read", '[READ_FILE path="a.txt"]\n'),
            ("edit", f'[EDIT_FILE path="a.txt"]\n<<<<<<< SEARCH\n{number}\n=======\n{number + 1}\n>>>>>>> REPLACE\n[/EDIT_FILE]\n'),
        ]:
            began = time.monotonic()
            other.agent("step", "--reply", "-", "--max-rounds", "100", input=reply, ok=False)
            stepped[what].append(time.monotonic() - began)
    assert (base.file("a.txt"), other.file("a.txt")) == ("30\n", "10\n")
    for what in taken:
        call_time, step_time = (1000 * statistics.median(times[what]) for times in (taken, stepped))
        print(f"{what}: {call_time:.1f} ms by call, {step_time:.1f} ms by agent step")


async def main(names):
    if names == ["latency"]:
        with tempfile.TemporaryDirectory() as root:
            await measure_latency(Base(root))
        return 0
    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    failed = []
    for name, test in tests.items():
        if names and not any(wanted in name for wanted in names):
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as root:
            base = Base(root)
            try:
                await asyncio.wait_for(test(base), 2 * DEADLINE)
            except BaseException:
                failed.append(name)
                print(f"FAILED {name}", flush=True)
                traceback.print_exc()
                errors = base.root / "stderr"
                print(errors.read_text() if errors.exists() else "", flush=True)
                continue
        print(f"ok {name} ({time.monotonic() - began:.1f} s)", flush=True)
    print(f"{len(failed)} failed" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
