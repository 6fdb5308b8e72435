//! `agent mcp` without a client of others: the lines themselves.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{DEADLINE, Finished, Test, agent};

/// A client that speaks in lines.
struct LineClient {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl LineClient {
    fn connect(base: &Path, flags: &[&str]) -> Self {
        let mut command = agent(base);
        let mut child = command
            .args([&["mcp"], flags].concat())
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let mut client = Self {
            child,
            input,
            output: BufReader::new(output),
            next: 0,
        };
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "lines" },
        });
        let answer = client.request("initialize", &params);
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
        client
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        let message =
            json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        self.next
    }

    /// Sends a request and waits for its answer.
    fn request(&mut self, method: &str, params: &Value) -> Value {
        let number = self.send(method, params);
        loop {
            let mut line = String::new();
            let length = self.output.read_line(&mut line).unwrap();
            assert!(length > 0, "the server ended without an answer");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == number {
                return answer;
            }
        }
    }

    /// Calls a tool: the text of the result, and if it is an error.
    fn call(&mut self, tool: &str, arguments: &Value) -> (String, bool) {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.request("tools/call", &params);
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{answer}"));
        (text.to_owned(), result["isError"] == true)
    }

    #[track_caller]
    fn well(&mut self, tool: &str, arguments: &Value) -> String {
        let (text, is_error) = self.call(tool, arguments);
        assert!(!is_error, "{text}");
        text
    }

    /// Goes, as a client does, and waits until the server has put everything in order.
    fn leave(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for LineClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A base directory in which nothing has happened.
fn base() -> Finished {
    Test::new(&["config"])
        .file("appsettings.json", "{\"Agent\": {}}")
        .run()
        .code(0)
}

#[track_caller]
fn wait_for(path: &Path) {
    let began = Instant::now();
    while !path.exists() {
        assert!(began.elapsed() < DEADLINE, "no `{}`", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

const AUTO: [&str; 2] = ["--approval", "auto"];

#[test]
fn calls_of_a_chat_are_a_session_that_can_be_undone() {
    let test = base();
    let mut client = LineClient::connect(&test.base(), &AUTO);
    client.well("begin", &json!({ "task": "write" }));
    client.well(
        "write_file",
        &json!({ "path": "a.txt", "content": "one\n" }),
    );
    let answer = client.well("read_file", &json!({ "path": "a.txt" }));
    assert!(answer.contains("one"), "{answer}");
    let (answer, is_error) = client.call("read_file", &json!({ "path": "../appsettings.json" }));
    assert!(is_error, "{answer}");
    let edit = json!({ "path": "a.txt", "old_string": "one", "new_string": "two" });
    client.well("replace_text", &edit);
    let answer = client.well("done", &json!({ "summary": "written" }));
    assert!(answer.contains("[OK] DONE"), "{answer}");
    client.leave();
    let session = test.session();
    assert_eq!(session["isComplete"], true);
    assert_eq!(session["sequenceNumber"], 2, "the calls were one round");
    let undone = Test::after(test, &["undo", "--yes"]).run().code(0);
    assert!(!undone.base().join("workspace/a.txt").exists());
}

#[test]
fn an_ignored_file_that_a_call_names_after_a_command_comes_back() {
    let test = base();
    let workspace = test.base().join("workspace");
    std::fs::create_dir_all(&workspace).unwrap();
    std::fs::write(workspace.join(".gitignore"), "kept.log\n").unwrap();
    // Too long to be covered as an ignored file that nobody names.
    let kept = "precious line\n".repeat(20_000);
    std::fs::write(workspace.join("kept.log"), &kept).unwrap();
    let mut client = LineClient::connect(&test.base(), &AUTO);
    client.well("begin", &json!({ "task": "overwrite" }));
    client.well("run", &json!({ "command": "echo made > made.txt" }));
    client.well(
        "write_file",
        &json!({ "path": "kept.log", "content": "gone\n".repeat(20_000) }),
    );
    client.well(
        "write_file",
        &json!({ "path": "made.txt", "content": "changed\n" }),
    );
    client.leave();
    // The call that named it began a round of its own.
    let undone = Test::after(test, &["undo", "--yes"]).run().code(0);
    let is_back = std::fs::read_to_string(workspace.join("kept.log")).unwrap() == kept;
    assert!(is_back, "{}", undone.stderr);
    let _kept = Test::after(undone, &["undo", "--yes"]).run().code(0);
    assert!(!workspace.join("made.txt").exists());
}

#[test]
fn a_command_that_was_under_way_is_named_and_not_run_again() {
    let test = base();
    let mut client = LineClient::connect(&test.base(), &AUTO);
    client.well("begin", &json!({ "task": "append" }));
    let run = json!({ "command": "echo once >> count; echo printed; sleep 30" });
    client.send("tools/call", &json!({ "name": "run", "arguments": run }));
    let count = test.base().join("workspace/count");
    wait_for(&count);
    client.kill();
    let mut client = LineClient::connect(&test.base(), &AUTO);
    let answer = client.well("read_file", &json!({ "path": "count" }));
    assert!(
        answer.contains("under way") && answer.contains("RUN_COMMAND"),
        "{answer}"
    );
    assert_eq!(std::fs::read_to_string(&count).unwrap(), "once\n");
    let answer = client.well("read_file", &json!({ "path": "count" }));
    assert!(!answer.contains("under way"), "it is told once: {answer}");
    client.leave();
}

#[test]
fn a_call_that_was_not_begun_is_not_carried_out_by_anybody() {
    let test = base();
    let mut client = LineClient::connect(&test.base(), &AUTO);
    client.well("begin", &json!({ "task": "write" }));
    client.well("write_file", &json!({ "path": "a.txt", "content": "a\n" }));
    client.kill();
    // As a kill leaves it between the line of a call and the record that it begins.
    let processed = test.base().join("inbox/processed");
    let calls = std::fs::read_dir(processed)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let mut lines = std::fs::read_to_string(calls.path()).unwrap();
    let second = lines.replace("\"number\":1", "\"number\":2");
    lines.push_str(&second.replace("a.txt", "b.txt"));
    std::fs::write(calls.path(), lines).unwrap();
    let test = Test::after(test, &["resume", "--no-input"]).start();
    test.outbox(2);
    test.signal("INT");
    let finished = test.wait();
    let workspace = finished.base().join("workspace");
    assert!(workspace.join("a.txt").exists() && !workspace.join("b.txt").exists());
}

#[test]
fn install_prints_what_a_client_needs_and_writes_only_what_was_asked_for() {
    let printed = Test::after(base(), &["mcp", "install", "--print"])
        .run()
        .code(0);
    let said = format!("{}{}", printed.stdout, printed.stderr);
    assert!(
        said.contains("mcpServers") && said.contains("--base"),
        "{said}"
    );
    let refused = Test::after(printed, &["mcp", "install", "--client", "claude-desktop"]).run();
    assert_ne!(refused.status.code(), Some(0), "nobody could say yes");
    let file = refused.base().with_file_name("home").join(".config/Claude");
    assert!(!file.exists());
}
