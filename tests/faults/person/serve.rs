//! A model's API, which this person is too: it answers the requests of the program.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Person, TOO_LONG};
use crate::injector::{self, Boundary, Running, Way};
use crate::story;

/// The key that the program sends; it must not be in any file.
pub const KEY: &str = "sk-faults-0123456789abcdef";

/// How often it is looked for a request.
const PAUSE: Duration = Duration::from_millis(2);

impl Person {
    /// Starts the program and answers its requests until it ends, for whatever reason.
    pub(super) fn converse_by_api(&mut self, way: Way<'_>) -> Vec<Boundary> {
        let arguments: &[&str] = if self.session_file().is_none() {
            &["new", "--no-input", "the task"]
        } else {
            &["resume", "--no-input"]
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let mut place = self.place.clone();
        place.environment.push(("Agent__ApiUrl", url));
        let answered = self.answered_rounds();
        let ran = injector::run(&place, arguments, way, |running| {
            self.serve(&listener, running, answered);
        });
        self.take_in(arguments, way, &ran);
        self.look(&ran.said);
        self.end(ran.status.success(), &ran.said);
        self.check_key();
        ran.boundaries
    }

    /// Answers requests; `answered` are the rounds that need none, because their replies are there.
    fn serve(&mut self, listener: &TcpListener, running: &Running, mut answered: BTreeSet<u32>) {
        // Counted by our own pauses: a machine that stands still is not the program's fault.
        let mut waited = Duration::ZERO;
        while !running.is_over() {
            if let Ok((stream, _)) = listener.accept() {
                waited = Duration::ZERO;
                if let Some(round) = self.give(stream)
                    && !answered.insert(round)
                {
                    self.troubles
                        .push(format!("repeated: round {round} was asked again"));
                }
            } else {
                std::thread::sleep(PAUSE);
                waited += PAUSE;
            }
            if waited > TOO_LONG {
                self.troubles.push("lost: it does not end".to_owned());
                running.signal(libc::SIGKILL);
                return;
            }
        }
    }

    /// Reads one request and answers it; tells which round it was about, unless the program was gone
    /// before it had said all.
    fn give(&mut self, mut stream: TcpStream) -> Option<u32> {
        stream.set_nonblocking(false).ok()?;
        stream.set_read_timeout(Some(TOO_LONG)).ok()?;
        let body = read_body(&mut stream)?;
        let said = self.place.said();
        self.look(&said);
        let (round, text) = self.latest()?;
        let json: Value = serde_json::from_str(&body).unwrap_or_default();
        let turns = json["messages"].as_array().map_or(0, Vec::len);
        if json["messages"][turns.saturating_sub(1)]["content"] != text {
            let trouble = format!("lost: message {round} was not sent as it is");
            self.troubles.push(trouble);
        }
        let first = self.asked.entry(round).or_insert_with(|| body.clone());
        if *first != body {
            let trouble = format!("lost: round {round} was asked in other words");
            self.troubles.push(trouble);
        }
        self.requests += 1;
        let reply = self.reply()?;
        let chunk = |delta: Value, end: Option<&str>| {
            let choice = json!({"index": 0, "delta": delta, "finish_reason": end});
            format!("data: {}\n\n", json!({"choices": [choice]}))
        };
        let usage = json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 1}});
        let mut answer = String::from(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
        );
        for line in reply.split_inclusive('\n') {
            answer.push_str(&chunk(json!({"content": line}), None));
        }
        answer.push_str(&chunk(json!({}), Some("stop")));
        let _ = write!(answer, "data: {usage}\n\ndata: [DONE]\n\n");
        // The program may be killed while it reads.
        let _ = stream.write_all(answer.as_bytes());
        Some(round)
    }

    /// The rounds whose replies lie in the inbox or were taken from there.
    fn answered_rounds(&self) -> BTreeSet<u32> {
        let inbox = self.base().join("inbox");
        let names = [inbox.join("processed"), inbox].into_iter();
        let names = names.flat_map(|directory| fs::read_dir(directory).into_iter().flatten());
        let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let names = names.filter(|name| name.strip_suffix(".txt").is_some());
        names
            .filter_map(|name| {
                let (_, rest) = name.split_once("_seq")?;
                rest.get(..4)?.parse().ok()
            })
            .collect()
    }

    /// Each reply was booked before it was there, and no request twice.
    pub(super) fn check_usage(&mut self) {
        let sessions = story::read_tree(&self.base().join("sessions"));
        let booked = sessions
            .iter()
            .find(|(name, _)| name.ends_with("usage.jsonl"))
            .map(|(_, text)| text.as_str())
            .unwrap_or_default();
        let rounds: Vec<u32> = booked
            .lines()
            .filter_map(|line| {
                let record: Value = serde_json::from_str(line).ok()?;
                u32::try_from(record["round"].as_u64()?).ok()
            })
            .collect();
        if rounds.len() > self.requests {
            self.troubles
                .push("repeated: a request was booked twice".to_owned());
        }
        let missing: Vec<u32> = (self.answered_rounds().into_iter())
            .filter(|round| !rounds.contains(round))
            .collect();
        if !missing.is_empty() {
            self.troubles
                .push(format!("lost: rounds {missing:?} were not booked"));
        }
    }

    fn check_key(&mut self) {
        let files = story::read_tree(&self.place.root);
        for (name, _) in files.iter().filter(|(_, text)| text.contains(KEY)) {
            self.troubles.push(format!("lost: the key is in `{name}`"));
        }
    }
}

fn read_body(stream: &mut TcpStream) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let Some((name, value)) = line.split_once(':') else {
            if line.trim().is_empty() {
                break;
            }
            continue;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    String::from_utf8(body).ok()
}
