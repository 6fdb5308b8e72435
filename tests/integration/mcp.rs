//! `agent mcp` without a client of others: the lines themselves.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::api::{KEY, has_no_key};
use crate::harness::{Finished, Test, agent, wait_until};

/// A client that speaks in lines.
struct LineClient {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
    /// The notifications and requests of the server, as they came.
    heard: Vec<Value>,
}

impl LineClient {
    fn connect(base: &Path, flags: &[&str]) -> Self {
        Self::connect_with(base, flags, &json!({}))
    }

    fn connect_with(base: &Path, flags: &[&str], capabilities: &Value) -> Self {
        Self::connect_by(agent(base), flags, capabilities)
    }

    fn connect_by(mut command: Command, flags: &[&str], capabilities: &Value) -> Self {
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
            heard: Vec::new(),
        };
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": capabilities,
            "clientInfo": { "name": "lines" },
        });
        let answer = client.request("initialize", &params);
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
        client
    }

    fn write(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Begins a call of which the client wants to hear progress.
    fn begin_call(&mut self, tool: &str, arguments: &Value) -> u64 {
        let token = json!({ "progressToken": self.next + 1 });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": token });
        self.send("tools/call", &params)
    }

    fn cancel(&mut self, call: u64) {
        self.notify("notifications/cancelled", &json!({ "requestId": call }));
    }

    /// Makes a call, and gives up waiting once the server says these words about it.
    fn abandon(&mut self, (tool, arguments): (&str, &Value), words: &str) {
        let call = self.begin_call(tool, arguments);
        self.hear(words);
        self.cancel(call);
        // The server reads one line after the other: then the call is cancelled.
        self.request("ping", &json!({}));
    }

    fn next_message(&mut self) -> Value {
        let mut line = String::new();
        let length = self.output.read_line(&mut line).unwrap();
        assert!(length > 0, "the server ended without an answer");
        serde_json::from_str(&line).unwrap()
    }

    /// Waits for the answer to a request.
    fn answer_to(&mut self, number: u64) -> Value {
        loop {
            let message = self.next_message();
            if message["method"].is_null() && message["id"] == number {
                return message;
            }
            self.heard.push(message);
        }
    }

    /// Waits until the server tells or asks something with these words in it.
    fn hear(&mut self, words: &str) -> Value {
        loop {
            let message = self.next_message();
            self.heard.push(message.clone());
            if message.to_string().contains(words) {
                return message;
            }
        }
    }

    /// Sends a request and waits for its answer.
    fn request(&mut self, method: &str, params: &Value) -> Value {
        let number = self.send(method, params);
        self.answer_to(number)
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

    /// Makes a call whose answer has these words.
    #[track_caller]
    fn told(&mut self, (tool, arguments): (&str, &Value), words: &[&str]) {
        let text = self.well(tool, arguments);
        for word in words {
            assert!(text.contains(word), "no `{word}`: {text}");
        }
    }

    /// Makes a call twice, of which only the first answer has these words.
    #[track_caller]
    fn told_once(&mut self, (tool, arguments): (&str, &Value), words: &[&str]) {
        self.told((tool, arguments), words);
        let text = self.well(tool, arguments);
        for word in words {
            assert!(!text.contains(word), "`{word}` is told again: {text}");
        }
    }

    #[track_caller]
    fn write_file(&mut self, path: &str, content: &str) {
        self.well("write_file", &json!({ "path": path, "content": content }));
    }

    /// Waits for the end of the server, which must come soon.
    #[track_caller]
    fn ends_soon(&mut self) {
        let began = Instant::now();
        self.child.wait().unwrap();
        let took = began.elapsed();
        assert!(took < Duration::from_secs(20), "{took:?}");
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

/// The workspace of a base directory, which is made if it is missing.
fn workspace(test: &Finished) -> PathBuf {
    let workspace = test.base().join("workspace");
    std::fs::create_dir_all(&workspace).unwrap();
    workspace
}

/// Connects a client and begins a session in a base directory.
fn begin_in(test: &Finished, flags: &[&str]) -> LineClient {
    let mut client = LineClient::connect(&test.base(), flags);
    client.well("begin", &json!({ "task": "work" }));
    client
}

/// A base directory in which a client has begun a session.
fn begun(flags: &[&str]) -> (Finished, LineClient) {
    let test = base();
    let client = begin_in(&test, flags);
    (test, client)
}

const AUTO: [&str; 2] = ["--approval", "auto"];

#[test]
fn calls_of_a_chat_are_a_session_that_can_be_undone() {
    let (test, mut client) = begun(&AUTO);
    client.write_file("a.txt", "one\n");
    client.told(("read_file", &json!({ "path": "a.txt" })), &["one"]);
    let (answer, is_error) = client.call("read_file", &json!({ "path": "../appsettings.json" }));
    assert!(is_error, "{answer}");
    let edit = json!({ "path": "a.txt", "old_string": "one", "new_string": "two" });
    client.well("replace_text", &edit);
    client.told(("done", &json!({ "summary": "written" })), &["[OK] DONE"]);
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
    let workspace = workspace(&test);
    std::fs::write(workspace.join(".gitignore"), "kept.log\n").unwrap();
    // Too long to be covered as an ignored file that nobody names.
    let kept = "precious line\n".repeat(20_000);
    std::fs::write(workspace.join("kept.log"), &kept).unwrap();
    let mut client = begin_in(&test, &AUTO);
    client.well("run", &json!({ "command": "echo made > made.txt" }));
    client.write_file("kept.log", &"gone\n".repeat(20_000));
    client.write_file("made.txt", "changed\n");
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
    let (test, mut client) = begun(&AUTO);
    let run = json!({ "command": "echo printed; sleep 1; echo once >> count; sleep 30" });
    client.send("tools/call", &json!({ "name": "run", "arguments": run }));
    let count = test.base().join("workspace/count");
    wait_until("the command runs", || count.exists());
    client.kill();
    let mut client = LineClient::connect(&test.base(), &AUTO);
    let words = ["under way", "RUN_COMMAND", "```\nprinted\n```"];
    client.told_once(("read_file", &json!({ "path": "count" })), &words);
    assert_eq!(std::fs::read_to_string(&count).unwrap(), "once\n");
    client.leave();
}

#[test]
fn a_call_that_was_not_begun_is_not_carried_out_by_anybody() {
    let (test, mut client) = begun(&AUTO);
    client.write_file("a.txt", "a\n");
    client.kill();
    let status = beside(&test, &["status"]);
    assert!(
        status.contains("The client is gone: 1 call in this round") && !status.contains("reply"),
        "{status}"
    );
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
    let entry: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert!(entry["mcpServers"].is_object(), "{entry}");
    let refused = Test::after(printed, &["mcp", "install", "--client", "claude-desktop"]).run();
    assert_ne!(refused.status.code(), Some(0), "nobody could say yes");
    let file = refused.base().with_file_name("home").join(".config/Claude");
    assert!(!file.exists());
}

/// Runs another verb beside the client, and returns what it printed.
#[track_caller]
fn beside(test: &Finished, arguments: &[&str]) -> String {
    let (is_success, said) = run_beside(test, arguments);
    assert!(is_success, "{arguments:?}: {said}");
    said
}

fn beside_fails(test: &Finished, arguments: &[&str], words: &str) {
    let (is_success, said) = run_beside(test, arguments);
    assert!(!is_success && said.contains(words), "{arguments:?}: {said}");
}

fn run_beside(test: &Finished, arguments: &[&str]) -> (bool, String) {
    let mut command = agent(&test.base());
    let command = command.args(arguments).stdin(Stdio::null());
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    (done.status.success(), said)
}

const ASK: [&str; 2] = ["--approval", "ask"];
const SECRET: &str = "q7Zr1VbN8sKx3LmT5wYd9PfHc2Gj";

fn add_secret(test: &Finished) {
    std::fs::write(workspace(test).join(".env"), format!("API_KEY={SECRET}\n")).unwrap();
}

#[test]
fn progress_has_no_secret() {
    let test = base();
    add_secret(&test);
    let mut client = begin_in(&test, &AUTO);
    let (first, second) = SECRET.split_at(10);
    let script = format!(
        "echo {SECRET}; cat .env; sleep 0.6; head -c 18 .env; sleep 0.6; tail -c +19 .env; sleep 0.6; echo last"
    );
    let call = client.begin_call("run", &json!({ "command": script }));
    client.answer_to(call);
    let told: Vec<String> = client.heard.iter().map(Value::to_string).collect();
    assert!(
        told.iter().any(|line| line.contains("runs: echo")),
        "{told:?}"
    );
    assert!(
        told.iter().any(|line| line.contains("API_KEY=[SECRET")),
        "{told:?}"
    );
    let is_bad = |line: &&String| line.contains(first) || line.contains(second);
    assert_eq!(told.iter().find(is_bad), None);
    client.leave();
}

#[test]
fn a_question_with_a_secret_is_no_form_and_its_title_has_none() {
    let test = base();
    add_secret(&test);
    let forms = json!({ "elicitation": {} });
    let mut client = LineClient::connect_with(&test.base(), &ASK, &forms);
    client.well("begin", &json!({ "task": "print" }));
    let call = client.begin_call("run", &json!({ "command": format!("echo {SECRET}") }));
    let told = client.hear("waits for").to_string();
    assert!(told.contains("[SECRET") && !told.contains(SECRET), "{told}");
    assert!(!told.contains("here"), "{told}");
    beside(&test, &["decline", "1"]);
    client.answer_to(call);
    let is_form = |message: &Value| message["method"] == "elicitation/create";
    assert!(!client.heard.iter().any(is_form), "{:?}", client.heard);
    client.leave();
}

/// A client with forms, of a process that knows a key and looks for no other secrets.
fn with_forms_and_key(test: &Finished) -> LineClient {
    let mut command = agent(&test.base());
    command.env("AGENT_API_KEY", KEY);
    let forms = json!({ "elicitation": {} });
    let flags = [&ASK[..], &["--secrets", "off"]].concat();
    let mut client = LineClient::connect_by(command, &flags, &forms);
    client.well("begin", &json!({ "task": format!("print {KEY}") }));
    client
}

#[test]
fn a_question_with_a_key_is_no_form() {
    let test = base();
    let mut client = with_forms_and_key(&test);
    let call = client.begin_call("run", &json!({ "command": format!("echo {KEY}") }));
    client.hear("waits for");
    beside(&test, &["decline", "1"]);
    client.answer_to(call);
    let is_form = |message: &Value| message["method"] == "elicitation/create";
    assert!(!client.heard.iter().any(is_form), "{:?}", client.heard);
    assert!(!json!(client.heard).to_string().contains(KEY));
    client.leave();
}

#[test]
fn what_a_form_brings_is_told_and_kept_without_keys() {
    let test = base();
    let mut client = with_forms_and_key(&test);
    for (tool, arguments, content) in [
        (
            "ask_user",
            json!({ "question": "Which key?" }),
            json!({ "text": format!("use {KEY}") }),
        ),
        (
            "run",
            json!({ "command": "echo one" }),
            json!({ "decision": "no", "text": format!("not with {KEY}") }),
        ),
    ] {
        let call = client.begin_call(tool, &arguments);
        let form = client.hear("elicitation/create");
        let result = json!({ "action": "accept", "content": content });
        client.write(&json!({ "jsonrpc": "2.0", "id": form["id"], "result": result }));
        let answer = client.answer_to(call).to_string();
        assert!(answer.contains("<API key>"), "{answer}");
        assert!(!answer.contains(KEY), "{answer}");
    }
    client.leave();
    has_no_key(test);
}

#[test]
fn an_answer_that_comes_after_the_client_gave_up_is_told() {
    let (test, mut client) = begun(&AUTO);
    client.abandon(("ask_user", &json!({ "question": "Tabs?" })), "agent say");
    client.told_once(("list_files", &json!({})), &["not answered", "Tabs?"]);
    // Also with a round under way.
    let said = beside(&test, &["say", "tabs please"]);
    assert!(said.contains("Answers: Tabs?"), "{said}");
    client.told_once(("list_files", &json!({})), &["tabs please"]);
    // The client goes, and another one hears it.
    client.begin_call("ask_user", &json!({ "question": "Name?" }));
    client.hear("agent say");
    client.leave();
    beside(&test, &["say", "Bobby"]);
    let status = beside(&test, &["status"]);
    assert!(!status.contains("(asks)"), "{status}");
    let mut client = LineClient::connect(&test.base(), &AUTO);
    client.told(("list_files", &json!({})), &["You asked: Name?", "Bobby"]);
    client.leave();
}

#[test]
fn a_question_asked_again_gets_the_answer_that_was_given_meanwhile() {
    let (test, mut client) = begun(&AUTO);
    client.abandon(("ask_user", &json!({ "question": "Tabs?" })), "agent say");
    beside(&test, &["say", "tabs please"]);
    client.told(
        ("ask_user", &json!({ "question": "Tabs?" })),
        &["tabs please"],
    );
    client.leave();
}

#[test]
fn a_question_takes_the_place_of_one_that_the_client_gave_up() {
    let test = base();
    let forms = json!({ "elicitation": {} });
    let mut client = LineClient::connect_with(&test.base(), &AUTO, &forms);
    client.well("begin", &json!({ "task": "ask" }));
    client.abandon(("ask_user", &json!({ "question": "Tabs?" })), "Tabs?");
    let call = client.begin_call("ask_user", &json!({ "question": "Name?" }));
    let form = client.hear("elicitation/create").to_string();
    assert!(form.contains("Name?"), "{form}");
    let status = beside(&test, &["status"]);
    assert!(status.contains("asks: Name?"), "{status}");
    let said = beside(&test, &["say", "Bobby"]);
    assert!(said.contains("Answers: Name?"), "{said}");
    let answer = client.answer_to(call).to_string();
    assert!(answer.contains("Bobby") && !answer.contains("Tabs?"));
    // Of two that nobody waits with, the latest is asked.
    for question in ["Blue?", "Green?"] {
        client.abandon(("ask_user", &json!({ "question": question })), question);
    }
    let said = beside(&test, &["say", "green"]);
    assert!(said.contains("Answers: Green?"), "{said}");
    let said = beside(&test, &["status"]);
    assert!(!said.contains("Blue?"), "{said}");
    let words = ["You asked: Green?\nThe user says: green"];
    client.told_once(("list_files", &json!({})), &words);
    client.leave();
}

#[test]
fn an_answer_is_told_though_another_question_comes() {
    let (test, mut client) = begun(&AUTO);
    client.abandon(("ask_user", &json!({ "question": "Tabs?" })), "agent say");
    // A round is under way when the answer comes.
    client.well("list_files", &json!({}));
    beside(&test, &["say", "tabs please"]);
    let call = client.begin_call("ask_user", &json!({ "question": "Name?" }));
    client.hear("agent say");
    beside(&test, &["say", "Bobby"]);
    let answer = client.answer_to(call).to_string();
    for words in [
        "Tabs?\\nThe user says: tabs",
        "Name?\\nThe user says: Bobby",
    ] {
        assert!(answer.contains(words), "{answer}");
    }
    client.leave();
}

#[test]
fn a_note_that_a_round_ended_with_is_told_to_the_next_call() {
    let (test, mut client) = begun(&AUTO);
    client.write_file("a.txt", "a\n");
    beside(&test, &["say", "use spaces"]);
    client.leave();
    let mut client = LineClient::connect(&test.base(), &AUTO);
    client.told(("list_files", &json!({})), &["use spaces"]);
    client.leave();
    let mut client = LineClient::connect(&test.base(), &AUTO);
    let answer = client.well("list_files", &json!({}));
    assert!(!answer.contains("use spaces"), "it is told once: {answer}");
    client.leave();
}

#[test]
fn a_question_and_an_approval_outlive_other_calls_and_the_client() {
    let test = base();
    let workspace = workspace(&test);
    std::fs::write(workspace.join("a.txt"), "a\n").unwrap();
    let mut client = begin_in(&test, &ASK);
    let run = json!({ "command": "touch two" });
    let read = json!({ "path": "a.txt" });
    client.abandon(("run", &run), "agent approve 1");
    // The question stays, and the chat hears that it does.
    client.told(("read_file", &read), &["not decided", "agent approve 1"]);
    beside(&test, &["approve", "1"]);
    client.told(
        ("read_file", &read),
        &["has approved RUN_COMMAND `touch two`"],
    );
    client.leave();
    let mut client = LineClient::connect(&test.base(), &ASK);
    client.well("read_file", &read);
    client.well("run", &run);
    assert!(workspace.join("two").exists());
    // It was for one call.
    client.abandon(("run", &run), "agent approve 1");
    // Two questions wait under numbers of their own.
    let other = client.begin_call("run", &json!({ "command": "touch three" }));
    client.hear("agent approve 2");
    beside(&test, &["approve", "2"]);
    client.answer_to(other);
    assert!(workspace.join("three").exists());
    client.leave();
}

#[test]
fn every_approval_holds_until_its_call_comes() {
    let (test, mut client) = begun(&ASK);
    let runs = ["one", "two", "three"].map(|name| json!({ "command": format!("touch {name}") }));
    for (number, run) in (1..).zip(&runs) {
        client.abandon(("run", run), &format!("agent approve {number}"));
    }
    beside(&test, &["decline", "3"]);
    beside(&test, &["approve", "all"]);
    client.leave();
    // Nobody is asked again.
    let mut client = LineClient::connect(&test.base(), &[&ASK[..], &["--no-input"]].concat());
    let [one, two, three] = &runs;
    assert!(client.call("run", three).1, "it was declined");
    client.well("run", one);
    client.well("run", two);
    assert!(client.call("run", two).1, "it was approved once");
    let made = |name: &str| test.base().join("workspace").join(name).exists();
    assert!(made("one") && made("two") && !made("three"));
    client.leave();
}

#[test]
fn an_approval_does_not_outlive_a_change_of_what_it_may_run() {
    let (test, mut client) = begun(&["--approval", "edits"]);
    let run = json!({ "command": "sh tool.sh" });
    client.abandon(("run", &run), "agent approve 1");
    beside(&test, &["approve", "1"]);
    client.write_file("tool.sh", "touch bad\n");
    let call = client.begin_call("run", &run);
    client.hear("agent approve 1");
    beside(&test, &["decline", "1"]);
    client.answer_to(call);
    assert!(!test.base().join("workspace/bad").exists());
    // Nor does a question that was put before the change.
    client.abandon(("run", &run), "agent approve 1");
    client.write_file("tool.sh", "touch worse\n");
    beside_fails(&test, &["approve", "1"], "nothing waits");
    let call = client.begin_call("run", &run);
    client.hear("agent approve 1");
    beside(&test, &["decline", "1"]);
    client.answer_to(call);
    assert!(!test.base().join("workspace/worse").exists());
    client.leave();
}

#[test]
fn a_client_without_progress_hears_what_a_call_waits_for() {
    let (test, mut client) = begun(&ASK);
    let script = format!("touch one # {}", "long ".repeat(100));
    let arguments = json!({ "command": script });
    let call = client.send(
        "tools/call",
        &json!({ "name": "run", "arguments": arguments }),
    );
    let told = client.hear("agent decline 1");
    assert_eq!(told["method"], "notifications/message");
    beside(&test, &["approve", "1"]);
    client.answer_to(call);
    client.leave();
}

#[test]
fn files_and_rules_are_read_before_a_session_begins_and_secrets_are_not() {
    let test = base();
    add_secret(&test);
    let rules = format!("be brief, the key is {SECRET}\n");
    std::fs::write(workspace(&test).join("AGENTS.md"), rules).unwrap();
    let mut client = LineClient::connect(&test.base(), &AUTO);
    let mut read = |uri: &str| {
        client
            .request("resources/read", &json!({ "uri": uri }))
            .to_string()
    };
    let files = read("agent://files");
    assert!(files.contains("AGENTS.md ("), "{files}");
    let rules = read("agent://rules");
    assert!(rules.contains("the key is [SECRET-1"), "{rules}");
    assert!(!rules.contains(SECRET), "{rules}");
    let task = read("agent://task");
    assert!(task.contains("there is no session here"), "{task}");
    client.leave();
}

#[test]
fn an_empty_question_is_refused() {
    let (_test, mut client) = begun(&AUTO);
    let (answer, is_error) = client.call("ask_user", &json!({ "question": " " }));
    assert!(is_error, "{answer}");
    client.leave();
}

#[test]
fn the_open_round_is_seen_while_calls_come() {
    let (test, mut client) = begun(&AUTO);
    let status = beside(&test, &["status"]);
    assert!(
        status.contains("A client is connected: 0 calls in this round so far"),
        "{status}"
    );
    client.write_file("a.txt", "LIVE\n");
    let status = beside(&test, &["status"]);
    assert!(
        status.contains("connected: 1 call in this") && !status.contains("reply"),
        "{status}"
    );
    let changes = beside(&test, &["diff"]);
    assert!(changes.contains("+LIVE"), "{changes}");
    let shown = beside(&test, &["show"]);
    assert!(
        shown.contains("a.txt") && shown.contains("1 round, the last one under way"),
        "{shown}"
    );
    let read = client.request("resources/read", &json!({ "uri": "agent://changes" }));
    let told = read["result"]["contents"][0]["text"]
        .as_str()
        .unwrap_or_default();
    assert!(told.contains("+LIVE"), "{read}");
    // A round that runs commands looks at everything.
    client.well("run", &json!({ "command": "echo MADE > b.txt" }));
    let changes = beside(&test, &["diff"]);
    assert!(changes.contains("+MADE"), "{changes}");
    // Nobody who looks ends the round.
    client.write_file("c.txt", "c\n");
    let undone = beside(&test, &["undo", "--yes"]);
    assert!(undone.contains("with its next call"), "{undone}");
    let workspace = test.base().join("workspace");
    assert!(!workspace.join("b.txt").exists() && !workspace.join("c.txt").exists());
    client.leave();
}

#[test]
fn a_client_can_raise_the_limits_that_bite() {
    let test = base();
    let workspace = workspace(&test);
    let lines: Vec<String> = (0..3_000)
        .map(|number| format!("line {number} of words\n"))
        .collect();
    std::fs::write(workspace.join("long.txt"), lines.concat()).unwrap();
    let mut client = begin_in(&test, &AUTO);
    for (tool, arguments, last) in [
        ("run", json!({ "command": "seq 9000" }), "\n5000\n"),
        ("read_file", json!({ "path": "long.txt" }), "line 2999 of"),
        ("search_text", json!({ "pattern": "words" }), "line 1999 of"),
    ] {
        let usual = client.well(tool, &arguments);
        assert!(!usual.contains(last), "{tool}: {}", usual.len());
        let mut raised = arguments.clone();
        raised["max_characters"] = json!(200_000);
        let more = client.well(tool, &raised);
        assert!(
            more.contains(last),
            "{tool}: {} after {}",
            more.len(),
            usual.len()
        );
        raised["max_characters"] = json!(2_000);
        let less = client.well(tool, &raised);
        assert!(less.chars().count() <= 2_200, "{tool}: {}", less.len());
    }
    client.leave();
}

#[test]
fn a_cancelled_call_does_not_run_when_its_id_comes_again() {
    let (test, mut client) = begun(&AUTO);
    let first = client.begin_call("run", &json!({ "command": "sleep 1" }));
    let cancelled = client.begin_call("run", &json!({ "command": "touch cancelled" }));
    client.cancel(cancelled);
    client.next = cancelled - 1;
    let again = client.begin_call("run", &json!({ "command": "touch again" }));
    assert_eq!(again, cancelled);
    client.answer_to(first);
    client.answer_to(again);
    let workspace = test.base().join("workspace");
    assert!(workspace.join("again").exists() && !workspace.join("cancelled").exists());
    client.leave();
}

#[test]
fn a_client_that_reads_nothing_blocks_nobody() {
    let test = base();
    let workspace = workspace(&test);
    std::fs::write(
        workspace.join("long.txt"),
        "many words in a line\n".repeat(4_000),
    )
    .unwrap();
    let mut client = begin_in(&test, &AUTO);
    for _ in 0..12 {
        client.begin_call(
            "read_file",
            &json!({ "path": "long.txt", "max_characters": 400_000 }),
        );
    }
    client.begin_call("run", &json!({ "command": "touch last" }));
    wait_until("the command runs", || workspace.join("last").exists());
    // The command may not have ended yet; then the round is not free.
    let undo = || {
        agent(&test.base())
            .args(["undo", "--yes"])
            .output()
            .unwrap()
    };
    wait_until("the round is undone", || undo().status.success());
    drop(client.input.take());
    client.ends_soon();
}

#[cfg(unix)]
#[test]
fn a_single_signal_ends_it_though_nobody_reads() {
    let (test, mut client) = begun(&AUTO);
    for _ in 0..12 {
        let run = json!({ "command": "seq 60000", "max_characters": 400_000 });
        client.begin_call("run", &run);
    }
    client.begin_call("run", &json!({ "command": "touch last" }));
    wait_until("the command runs", || {
        test.base().join("workspace/last").exists()
    });
    let pid = rustix::process::Pid::from_child(&client.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    client.ends_soon();
}

#[test]
fn after_done_the_chat_is_told_to_begin() {
    let (_test, mut client) = begun(&AUTO);
    client.well("done", &json!({ "summary": "done" }));
    let (answer, is_error) = client.call("list_files", &json!({}));
    assert!(
        is_error && answer.contains("`begin`") && !answer.contains("agent resume"),
        "{answer}"
    );
    client.leave();
}

#[test]
fn an_error_does_not_say_how_to_write_a_call_in_a_reply() {
    let (_test, mut client) = begun(&AUTO);
    for (tool, arguments) in [
        ("read_file", json!({ "path": "../x" })),
        ("read_file", json!({ "path": "" })),
        ("run", json!({ "command": " " })),
        (
            "insert_text",
            json!({ "path": "a", "line": -1, "text": "x" }),
        ),
    ] {
        let (answer, is_error) = client.call(tool, &arguments);
        assert!(is_error && !answer.contains("{\"tool\""), "{answer}");
    }
    client.leave();
}

#[test]
fn a_project_that_nobody_set_up_is_not_taken_for_a_base_directory() {
    let root = tempfile::tempdir().unwrap();
    let project = root.path().join("project");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join("main.py"), "print()\n").unwrap();
    let mut client = LineClient::connect(&project, &["--base", "."]);
    let (answer, is_error) = client.call("begin", &json!({ "task": "look" }));
    assert!(is_error && answer.contains("agent init"), "{answer}");
    client.leave();
    assert_eq!(std::fs::read_dir(&project).unwrap().count(), 1);
}

#[test]
fn a_slow_resource_does_not_hold_up_a_ping() {
    let test = base();
    let workspace = workspace(&test);
    for number in 0..3_000 {
        std::fs::write(workspace.join(format!("file{number}.txt")), "x\n").unwrap();
    }
    let mut client = begin_in(&test, &AUTO);
    let files = json!({ "uri": "agent://files" });
    let reads: Vec<u64> = (0..8)
        .map(|_| client.send("resources/read", &files))
        .collect();
    client.request("ping", &json!({}));
    let is_read = |message: &Value| reads.iter().any(|read| message["id"] == *read);
    let answered = client
        .heard
        .iter()
        .filter(|message| is_read(message))
        .count();
    assert!(answered < reads.len(), "the ping waited for all of them");
    client.leave();
}
