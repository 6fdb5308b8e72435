use std::fs::{self, File};
use std::io::{self, Write};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::errand::Outcome;
use crate::injector::{self, Running, Way};
use crate::person::Person;

/// How often the client connects again.
const PATIENCE: usize = 6;

/// The calls: an edit, a command that must not run twice, a file, another command, the end.
const CALLS: [(&str, &str); 5] = [
    (
        "write_file",
        r#"{"path": "called.txt", "content": "one\n"}"#,
    ),
    ("run", r#"{"command": "echo first >> ran.txt"}"#),
    (
        "write_file",
        r#"{"path": "called.txt", "content": "two\n"}"#,
    ),
    ("run", r#"{"command": "echo second >> ran.txt"}"#),
    ("message", r#"{"text": "all was called"}"#),
];

/// A client that makes one call after the other, and knows which were answered.
#[derive(Debug, Default)]
struct Caller {
    answered: usize,
    /// The calls that a first result named as interrupted: they may have happened.
    interrupted: Vec<usize>,
    troubles: Vec<String>,
}

/// Makes all calls, connecting again whenever the program ends before.
pub fn play(before: &Person, way: Way<'_>) -> Outcome {
    let person = before.copy();
    let mut caller = Caller::default();
    let (mut boundaries, mut was_hit, mut said) = (Vec::new(), false, String::new());
    for number in 1..=PATIENCE {
        if caller.answered == CALLS.len() {
            break;
        }
        let (input, output) = io::pipe().unwrap();
        let talk = person.place.root.join("talk.out");
        let _ = fs::remove_file(&talk);
        let way = if number == 1 { way } else { Way::Plain };
        let attend = |running: &Running| caller.attend(output, &talk, running);
        let arguments = ["mcp", "--approval", "auto"];
        let ran = injector::run_fed(&person.place, &arguments, Stdio::from(input), way, attend);
        if number == 1 {
            boundaries = ran.boundaries;
            was_hit = ran.is_met;
        }
        said.push_str(&ran.said);
    }
    let mut troubles = std::mem::take(&mut caller.troubles);
    if caller.answered < CALLS.len() {
        troubles.push(format!(
            "lost: call {} is never answered",
            caller.answered + 1
        ));
    }
    let tree = person.tree();
    if tree.get("called.txt").map(String::as_str) != Some("two\n") {
        troubles.push(format!("lost: the file is {:?}", tree.get("called.txt")));
    }
    let ran = tree.get("ran.txt").cloned().unwrap_or_default();
    for (call, word) in [(1, "first"), (3, "second")] {
        let times = ran.lines().filter(|line| *line == word).count();
        let may_be_missing = caller.interrupted.contains(&call);
        if times > 1 {
            troubles.push(format!("repeated: {word} ran {times} times"));
        } else if times == 0 && !may_be_missing {
            troubles.push(format!("lost: {word} was answered and did not run"));
        }
    }
    Outcome {
        troubles,
        said,
        was_hit,
        boundaries,
    }
}

impl Caller {
    fn attend(&mut self, mut input: io::PipeWriter, talk: &std::path::Path, running: &Running) {
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {} });
        if ask(&mut input, talk, running, 0, "initialize", &hello).is_none() {
            return;
        }
        // The first result names what was under way when the program was last stopped.
        let look = json!({ "name": "git_status", "arguments": {} });
        let Some(first) = ask(&mut input, talk, running, 1, "tools/call", &look) else {
            return;
        };
        let first = text(&first);
        if let Some(("run", arguments)) = CALLS.get(self.answered) {
            let arguments: Value = serde_json::from_str(arguments).unwrap();
            if first.contains(arguments["command"].as_str().unwrap()) {
                if first.contains("this was under way") {
                    self.interrupted.push(self.answered);
                }
                self.answered += 1;
            }
        }
        let mut number = 1;
        while let Some((tool, arguments)) = CALLS.get(self.answered) {
            number += 1;
            let arguments: Value = serde_json::from_str(arguments).unwrap();
            let call = json!({ "name": tool, "arguments": arguments });
            let Some(answer) = ask(&mut input, talk, running, number, "tools/call", &call) else {
                return;
            };
            let is_error = answer["result"]["isError"] == true || answer.get("error").is_some();
            if is_error {
                // A fault in its way: the next connection finds out what is left of it.
                return;
            }
            self.answered += 1;
        }
    }
}

/// Sends a request and waits for its answer; nothing if the program ends before.
fn ask(
    input: &mut io::PipeWriter,
    talk: &std::path::Path,
    running: &Running,
    number: u64,
    method: &str,
    params: &Value,
) -> Option<Value> {
    let message = json!({ "jsonrpc": "2.0", "id": number, "method": method, "params": params });
    writeln!(input, "{message}").ok()?;
    loop {
        let is_over = running.is_over();
        if let Some(answer) = answer(talk, number) {
            return Some(answer);
        }
        if is_over {
            return None;
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

fn answer(talk: &std::path::Path, number: u64) -> Option<Value> {
    let told = File::open(talk).and_then(io::read_to_string).ok()?;
    let whole = told
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    let mut answers = whole.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    answers.find(|answer| answer["id"] == number)
}

fn text(answer: &Value) -> &str {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_default()
}
