//! Sessions that a model's API carries, against a small server of our own that says what it is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::harness::{Finished, Save, Test, agent, save_reply, wait_for_outbox, wait_until};

pub const KEY: &str = "sk-integration-0123456789";

/// An answer of the server to one request.
#[derive(Clone)]
pub enum Answer {
    /// Streams this text.
    Text(String),
    /// Streams this text and breaks off.
    Broken(String),
    /// Streams so many pieces of this text, each a line, and breaks off.
    BrokenAfter(usize, String),
    /// Streams these events and closes.
    Events(Vec<Value>),
    /// A status, headers and a body.
    Status(&'static str, &'static str, String),
    /// Streams this text and then nothing until the client goes.
    Stall(String),
    /// Streams this text and its end, and keeps the connection open.
    Lingering(String),
    /// Says nothing until the client goes.
    Hang,
}

/// A server that gives one answer after the other, and keeps the requests.
pub struct ModelServer {
    pub url: String,
    requests: Arc<Mutex<Vec<Seen>>>,
}

#[derive(Debug, Clone)]
pub struct Seen {
    path: String,
    headers: String,
    pub body: Value,
}

impl ModelServer {
    /// Gives one answer after the other.
    pub fn start(answers: Vec<Answer>) -> Self {
        let mut answers = answers.into_iter();
        Self::answering(move |_| answers.next())
    }

    /// Gives each round its own answer, however often it is asked.
    fn by_round(answers: Vec<Answer>) -> Self {
        Self::answering(move |seen| {
            let turns = seen.body["messages"].as_array().map_or(0, Vec::len);
            answers.get(turns / 2).cloned()
        })
    }

    /// Gives the answer that is found for each request; several may be under way at once.
    pub fn answering(answer: impl FnMut(&Seen) -> Option<Answer> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        let answer = Arc::new(Mutex::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                thread::spawn(move || {
                    let Some(seen) = read_request(&mut stream) else {
                        return;
                    };
                    if seen.path.ends_with("/models") {
                        let models = json!({"data": [{"id": "one"}, {"id": "two"}]}).to_string();
                        let _ = stream.write_all(plain("200 OK", "", &models).as_bytes());
                        return;
                    }
                    let given = {
                        let mut answer = answer.lock().unwrap();
                        let Some(given) = answer(&seen) else { return };
                        kept.lock().unwrap().push(seen);
                        given
                    };
                    let _ = give(&mut stream, given);
                });
            }
        });
        Self { url, requests }
    }

    pub fn requests(&self) -> Vec<Seen> {
        self.requests.lock().unwrap().clone()
    }
}

fn read_request(stream: &mut TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut headers = String::new();
    while !headers.ends_with("\r\n\r\n") {
        if reader.read_line(&mut headers).ok()? == 0 {
            return None;
        }
    }
    let length = headers.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Seen {
        path: headers.split(' ').nth(1)?.to_owned(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
        headers,
    })
}

fn plain(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
    )
}

fn give(stream: &mut TcpStream, answer: Answer) -> std::io::Result<()> {
    const HEAD: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let chunk = |text: &str| {
        let json = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
        format!("data: {json}\n\n")
    };
    match answer {
        Answer::Status(status, headers, body) => {
            stream.write_all(plain(status, headers, &body).as_bytes())
        }
        Answer::Events(events) => {
            stream.write_all(HEAD.as_bytes())?;
            for event in events {
                write!(stream, "data: {event}\n\n")?;
            }
            Ok(())
        }
        Answer::Broken(text) => {
            stream.write_all(HEAD.as_bytes())?;
            stream.write_all(chunk(&text).as_bytes())
        }
        Answer::BrokenAfter(pieces, text) => {
            stream.write_all(HEAD.as_bytes())?;
            for piece in text.split_inclusive('\n').take(pieces) {
                stream.write_all(chunk(piece).as_bytes())?;
            }
            Ok(())
        }
        Answer::Text(text) => {
            stream.write_all(HEAD.as_bytes())?;
            let think = json!({"choices": [{"delta": {"reasoning_content": "Let me think."}}]});
            write!(stream, "data: {think}\n\n")?;
            for piece in text.split_inclusive('\n') {
                stream.write_all(chunk(piece).as_bytes())?;
            }
            let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
            let usage = json!({"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 50,
                "prompt_tokens_details": {"cached_tokens": 900}, "completion_tokens_details": {"reasoning_tokens": 20}}});
            write!(stream, "data: {end}\n\ndata: {usage}\n\ndata: [DONE]\n\n")
        }
        Answer::Stall(text) => {
            stream.write_all(HEAD.as_bytes())?;
            stream.write_all(chunk(&text).as_bytes())?;
            give(stream, Answer::Hang)
        }
        Answer::Lingering(text) => {
            let end = finish("stop");
            // In one write, so that a client that has the text has the end.
            write!(stream, "{HEAD}{}data: {end}\n\n", chunk(&text))?;
            give(stream, Answer::Hang)
        }
        Answer::Hang => {
            let mut byte = [0];
            let _ = stream.read(&mut byte);
            Ok(())
        }
    }
}

/// A reply with these commands and no end mark: the courier knows which round it answers.
pub fn reply(commands: &str) -> Answer {
    Answer::Text(format!("Sure.\n\n``````\n{commands}\n``````\n"))
}

pub fn create(path: &str, content: &str) -> Answer {
    reply(&format!(
        "[CREATE_FILE path=\"{path}\"]\n{content}\n[/CREATE_FILE]"
    ))
}

pub fn done() -> Answer {
    reply("[DONE]\nall done\n[/DONE]")
}

/// A piece of an answer in this field.
fn piece(field: &str, text: &str) -> Value {
    json!({"choices": [{"delta": {field: text}}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"delta": {}, "finish_reason": reason}]})
}

/// A reply of a server that does not count tokens.
fn uncounted(answer: Answer) -> Answer {
    let Answer::Text(text) = answer else {
        panic!("only a text is counted")
    };
    Answer::Events(vec![piece("content", &text), finish("stop")])
}

/// Asks the server in place of the person.
pub fn by_api(test: Test, server: &ModelServer) -> Test {
    test.environment("Agent__Api", "custom")
        .environment("Agent__ApiUrl", &server.url)
        .environment("Agent__Model", "one")
        .environment("AGENT_API_KEY", KEY)
}

/// Looks for the key in everything that a run left and said.
#[track_caller]
pub fn has_no_key(finished: Finished) -> Finished {
    has_no_key_but_in(finished, |_| false)
}

/// Looks for the key everywhere but in these files of the base directory.
#[track_caller]
fn has_no_key_but_in(finished: Finished, is_own: impl Fn(&str) -> bool) -> Finished {
    assert!(!finished.stdout.contains(KEY) && !finished.stderr.contains(KEY));
    for directory in ["", "../state", "../home"] {
        for (name, content) in finished.files(directory) {
            let is_clean = !content.contains(KEY) || (directory.is_empty() && is_own(&name));
            assert!(is_clean, "the key is in `{directory}/{name}`");
        }
    }
    finished
}

fn roles(seen: &Seen) -> Vec<String> {
    let messages = seen.body["messages"].as_array().unwrap();
    messages
        .iter()
        .map(|message| message["role"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_session_runs_to_done_without_a_person() {
    let look = "[CREATE_FILE path=\"a.txt\"]\none\n[/CREATE_FILE]\n[RUN_COMMAND]\nenv; cat /proc/[0-9]*/environ; true\n[/RUN_COMMAND]";
    let server = ModelServer::start(vec![reply(look), create("b.txt", "two"), done()]);
    let test = Test::new(&["new", "--no-input", "--json", "make two files"]);
    let finished = has_no_key(by_api(test, &server).run().code(0));
    let finished = finished
        .workspace("a.txt", "one\n")
        .workspace("b.txt", "two\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests[0].headers.contains(&format!("Bearer {KEY}")));
    assert_eq!(
        roles(&requests[2]),
        ["user", "assistant", "user", "assistant", "user"]
    );
    // Each request begins as the one before did, so that the provider's cache has it.
    let turns = |at: usize| requests[at].body["messages"].as_array().unwrap().clone();
    assert!(turns(1).starts_with(&turns(0)) && turns(2).starts_with(&turns(1)));
    assert_eq!(turns(0)[0]["content"], json!(finished.outbox(1)));
    // Text and reasoning come apart, and the costs are told.
    let events: Vec<Value> = finished
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let api = |what: &str| -> Vec<Value> {
        let of = |event: &&Value| event["event"] == "api" && event["what"] == what;
        events.iter().filter(of).cloned().collect()
    };
    assert_eq!(api("sending").len(), 3);
    assert!(
        api("reasoning")
            .iter()
            .all(|event| event["text"] == "Let me think.")
    );
    assert!(
        api("text")
            .iter()
            .any(|event| event["text"].as_str().unwrap().contains("CREATE_FILE"))
    );
    let answered = &api("answered")[2];
    assert_eq!(
        (&answered["sessionTokens"], &answered["cached"]),
        (&json!(3150), &json!(900))
    );
    let base = finished.base();
    let list = agent(&base).args(["list", "--json"]).output().unwrap();
    let list: Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!(
        (&list["usage"]["input"], &list["usage"]["requests"]),
        (&json!(3000), &json!(3))
    );
    for verb in [
        &["status", "latest"][..],
        &["show", "latest"],
        &["export", "latest"],
    ] {
        let told = agent(&base).args(verb).output().unwrap();
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        assert!(
            told.contains("3,000 tokens sent (2,700 from the cache), 150 received (60 to think)"),
            "{told}"
        );
    }
}

#[test]
fn a_price_makes_costs_and_a_limit_stops_before_the_next_request() {
    let server = ModelServer::start(vec![create("a.txt", "1"), create("b.txt", "2"), done()]);
    let test = Test::new(&[
        "new",
        "--no-input",
        "--api-price",
        "10/20",
        "--max-cost",
        "2",
        "x",
    ]);
    let finished = by_api(test, &server)
        .run()
        .code(3)
        .said("`MaxCost`")
        .said("$0.02");
    // Two requests of $0.011 each; the third is not made.
    assert_eq!(server.requests().len(), 2);
    let finished = finished.workspace("b.txt", "2\n");
    let test = Test::after(
        finished,
        &[
            "resume",
            "--no-input",
            "--max-cost",
            "50",
            "--api-price",
            "10/20",
        ],
    );
    by_api(test, &server).run().code(0);
    let server = ModelServer::start(vec![create("a.txt", "1"), done()]);
    let test = Test::new(&["new", "--no-input", "--max-tokens", "1000", "x"]);
    by_api(test, &server).run().code(3).said("`MaxTokens`");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_session_goes_from_paste_to_an_api_and_back() {
    let pasted = "``````\n[CREATE_FILE path=\"a.txt\"]\none\n[/CREATE_FILE]\n{end}\n``````\n";
    let begun = Test::new(&["new", "--max-rounds", "1", "x"])
        .reply(pasted)
        .run()
        .code(3);
    let begun = begun.workspace("a.txt", "one\n");
    let server = ModelServer::start(vec![
        create("b.txt", "two"),
        Answer::Status(
            "401 No",
            "",
            json!({"error": {"message": format!("bad key {KEY}")}}).to_string(),
        ),
    ]);
    let test = Test::after(begun, &["resume", "--no-input"]);
    let carried = has_no_key(by_api(test, &server).run().code(1));
    let carried = carried.workspace("b.txt", "two\n");
    assert!(
        carried.stderr.contains("<API key>") && carried.stderr.contains("hint: check that the key"),
        "{}",
        carried.stderr
    );
    let first = &server.requests()[0];
    assert_eq!(roles(first), ["user", "assistant", "user"]);
    assert!(
        first.body["messages"][1]["content"]
            .as_str()
            .unwrap()
            .contains("a.txt")
    );
    let last = "``````\n[DONE]\nall done\n[/DONE]\n{end}\n``````\n";
    Test::after(carried, &["resume"]).reply(last).run().code(0);
}

#[test]
fn a_session_remembers_its_api_and_a_stranger_s_does_not_count() {
    let server = ModelServer::start(vec![create("a.txt", "1"), done(), create("a.txt", "1")]);
    let flags = [
        "--api",
        "custom",
        "--api-url",
        &server.url,
        "--model",
        "one",
        "--no-input",
    ];
    let begin = || {
        let test = Test::new(&[&["new", "--max-rounds", "1"][..], &flags, &["x"]].concat());
        test.environment("AGENT_API_KEY", KEY).run().code(3)
    };
    let again = Test::after(begin(), &["resume", "--no-input"]);
    again.environment("AGENT_API_KEY", KEY).run().code(0);
    assert_eq!(server.requests().len(), 2);
    // Another person finds the session: nobody knows that they chose the API.
    let strange = Test::after(begin(), &["resume", "--no-wait"]);
    let strange = strange
        .environment("XDG_STATE_HOME", "/proc/nobody")
        .environment("AGENT_API_KEY", KEY);
    strange.run().code(0).said("not known that you chose it");
    assert_eq!(server.requests().len(), 3);
}

/// A session that is answered like this ends with this code and says these words.
#[track_caller]
fn case(answers: Vec<Answer>, code: i32, said: &[&str]) {
    let server = ModelServer::start(answers);
    let mut finished = by_api(Test::new(&["new", "--no-input", "x"]), &server)
        .run()
        .code(code);
    for words in said {
        finished = finished.said(words);
    }
    has_no_key(finished);
}

fn body(message: &str) -> String {
    json!({"error": {"message": message}}).to_string()
}

#[test]
fn errors_that_last_say_what_to_do() {
    case(
        vec![Answer::Status("404 No", "", body("model `one` not found"))],
        1,
        &[
            "does not have this model",
            "the server has: one, two",
            "--model",
        ],
    );
    case(
        vec![Answer::Status("402 Pay", "", body("no credit"))],
        1,
        &["no credit left", "add credit"],
    );
    case(
        vec![Answer::Status("403 No", "", body("not in your region"))],
        1,
        &["forbids this (403)", "in your region", "console"],
    );
    case(
        vec![Answer::Status("404 No", "", body("Not Found"))],
        1,
        &["no API at this address (404)", "`/v1`"],
    );
    case(
        vec![Answer::Status("400 Bad", "", body("no such parameter"))],
        1,
        &[
            "refuses the request (400): no such parameter",
            "`Temperature`",
        ],
    );
}

#[test]
fn passing_errors_are_tried_again_and_others_say_what_to_do() {
    case(
        vec![
            Answer::Status("429 Slow", "retry-after: 0\r\n", body("slow down")),
            Answer::Status("503 Busy", "retry-after: 0\r\n", body("Loading model")),
            done(),
        ],
        0,
        &[
            "too many requests (429): slow down; try 2 of 6 in 0 s",
            "try 3 of 6",
        ],
    );
    case(
        vec![Answer::Status(
            "302 Found",
            "location: http://evil.test/v1\r\n",
            String::new(),
        )],
        1,
        &["redirects", "evil.test", "not followed"],
    );
    // A conversation that is too long is shortened once; then it is said.
    let too_long = || Answer::Status("413 Long", "", body("prompt is too long"));
    let long = || create("a.txt", &"a long line of words\n".repeat(500));
    case(vec![long(), too_long(), done()], 0, &["sent as a summary"]);
    let said = ["too long for the model (413)", "agent handoff"];
    case(vec![long(), too_long(), too_long(), done()], 1, &said);
    // A first message has nothing before it that could be left out.
    case(vec![too_long(), done()], 1, &said);
    let missing = Test::new(&["new", "--no-input", "--api", "openai", "x"])
        .run()
        .code(1);
    let missing = missing.said("OPENAI_API_KEY").said("--api-key-command");
    assert!(
        !missing
            .base()
            .join("sessions")
            .read_dir()
            .is_ok_and(|mut all| {
                all.any(|entry| {
                    entry.is_ok_and(|one| one.path().extension().is_some_and(|end| end == "json"))
                })
            })
    );
}

#[test]
fn a_stream_that_breaks_is_a_cut_reply() {
    let half = "``````\n[CREATE_FILE path=\"a.txt\"]\none\n[/CREATE_FILE]\n[CREATE_FILE path=\"b.txt\"]\ntw";
    let server = ModelServer::start(vec![
        Answer::Broken(half.to_owned()),
        create("b.txt", "two"),
        done(),
    ]);
    let finished = by_api(Test::new(&["new", "--no-input", "x"]), &server)
        .run()
        .code(0);
    let finished = finished
        .said("broke off")
        .said("cut off")
        .workspace("b.txt", "two\n");
    assert_eq!(finished.outboxes(), 3);
}

#[test]
fn a_stream_that_breaks_ends_no_session() {
    for half in ["[DONE]\nfinished half of the", "I will look at the"] {
        let server = ModelServer::start(vec![Answer::Broken(half.to_owned()), done()]);
        let finished = by_api(Test::new(&["new", "--no-input", "x"]), &server).run();
        finished.code(0).said("cut off").said("all done");
        let requests = server.requests();
        assert_eq!(requests.len(), 2, "{half}");
        let told = requests[1].body["messages"][2]["content"].to_string();
        assert!(
            told.contains("Your last reply broke off on its way"),
            "{told}"
        );
    }
}

#[test]
fn an_answer_that_broke_off_counts_towards_the_limits() {
    let half = || Answer::Broken("I will look at the".to_owned());
    for (flags, limit) in [
        (&["--max-tokens", "100"][..], "`MaxTokens`"),
        (
            &["--max-cost", "1", "--api-price", "1000/1000"],
            "`MaxCost`",
        ),
    ] {
        let server = ModelServer::start(vec![half(), done()]);
        let test = Test::new(&[&["new", "--no-input"], flags, &["x"]].concat());
        let finished = by_api(test, &server).run().code(3).said(limit);
        assert_eq!(server.requests().len(), 1);
        let status = agent(&finished.base()).arg("status").output().unwrap();
        let status = String::from_utf8_lossy(&status.stdout).into_owned();
        assert!(status.contains("partly estimated"), "{status}");
    }
}

#[test]
fn an_answer_that_the_server_does_not_count_counts_towards_the_limits() {
    for (flags, limit) in [
        (&["--max-tokens", "50"][..], "`MaxTokens`"),
        (
            &["--max-cost", "1", "--api-price", "1000/1000"],
            "`MaxCost`",
        ),
    ] {
        let answers = vec![uncounted(create("a.txt", "1")), uncounted(done())];
        let server = ModelServer::start(answers);
        let test = Test::new(&[&["new", "--no-input"], flags, &["x"]].concat());
        let finished = by_api(test, &server).run().code(3).said(limit);
        let finished = finished.said("received, estimated; ").said("; ~");
        assert_eq!(server.requests().len(), 1);
        for (verb, words) in [("status", "partly estimated"), ("list", " ~")] {
            let told = agent(&finished.base()).arg(verb).output().unwrap();
            let told = String::from_utf8_lossy(&told.stdout).into_owned();
            assert!(told.contains(words), "{told}");
        }
    }
}

#[test]
fn a_cost_limit_holds_only_if_every_answer_has_a_price() {
    let refused = || Answer::Status("401 No", "", body("wrong key"));
    let server = ModelServer::start(vec![
        create("a.txt", "1"),
        refused(),
        create("b.txt", "2"),
        create("c.txt", "3"),
        done(),
    ]);
    let flags = ["new", "--no-input", "--max-cost", "9", "--api-price", "1/1"];
    let begun = by_api(Test::new(&[&flags[..], &["x"]].concat()), &server).run();
    let other = ["resume", "--no-input", "--max-cost", "9"];
    let unpriced = [&other[..], &["--model", "two", "--api-price", ""]].concat();
    let test = by_api(Test::after(begun.code(1), &unpriced), &server);
    let stopped = test.run().code(1).said("no price of `two` is known");
    assert_eq!(server.requests().len(), 3);
    let list = agent(&stopped.base()).arg("list").output().unwrap();
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    assert!(list.contains("$0.0010+"), "{list}");
    // With a price, answers without one are counted at it: 5 cents, of 9.
    let priced = [&other[..], &["--model", "two", "--api-price", "50/50"]].concat();
    let stopped = by_api(Test::after(stopped, &priced), &server).run();
    stopped.code(3).said("`MaxCost`").said("$0.11");
    assert_eq!(server.requests().len(), 4);
}

/// A reply whose server says what it costs.
fn billed(answer: Answer, dollars: f64) -> Answer {
    let Answer::Events(mut events) = uncounted(answer) else {
        unreachable!("it makes events")
    };
    let usage = json!({"prompt_tokens": 1000, "completion_tokens": 50, "cost": dollars});
    events.push(json!({"choices": [], "usage": usage}));
    Answer::Events(events)
}

#[test]
fn what_a_server_says_about_its_cost_opens_no_limit() {
    let flags = ["new", "--no-input", "--max-cost", "1"];
    for (provider, price, code, said) in [
        ("custom", "1000/1000", 3, "$1.05"),
        ("openrouter", "1000/1000", 3, "$1.05"),
        ("custom", "", 1, "no price of `one` is known"),
        ("openrouter", "", 0, "$0.00"),
    ] {
        let server =
            ModelServer::start(vec![billed(create("a.txt", "1"), 0.0), billed(done(), 0.0)]);
        let test = Test::new(&[&flags[..], &["--api-price", price, "x"]].concat());
        let test = by_api(test, &server)
            .environment("Agent__Api", provider)
            .environment("OPENROUTER_API_KEY", KEY);
        test.run().code(code).said(said);
    }
}

#[test]
fn a_limit_holds_between_the_tries_of_a_request() {
    let thought = || Answer::Events(vec![piece("reasoning_content", &"thought ".repeat(50))]);
    let server = ModelServer::start(vec![thought(), thought(), done()]);
    let test = Test::new(&["new", "--no-input", "--max-tokens", "5", "x"]);
    let finished = by_api(test, &server).run().code(3).said("`MaxTokens`");
    assert_eq!(server.requests().len(), 1);
    let list = agent(&finished.base()).args(["list", "--json"]).output();
    let list: Value = serde_json::from_slice(&list.unwrap().stdout).unwrap();
    assert_eq!(list["usage"]["output"], 100, "{list}");
}

#[test]
fn a_question_keeps_to_the_limits() {
    let thought = || Answer::Events(vec![piece("reasoning_content", &"thought ".repeat(2_000))]);
    let server = ModelServer::start(vec![thought(), thought(), done()]);
    let ask = |flags: &[&str]| by_api(Test::new(&[&["ask", "why"], flags].concat()), &server).run();
    let refused = ask(&["--max-tokens", "5"]).code(3);
    refused
        .said("the question comes to ~")
        .said("of 5 that `MaxTokens` permits");
    let priced = ["--max-cost", "1", "--api-price", "1000/1000"];
    ask(&priced).code(3).said("`MaxCost` permits");
    let unpriced = ask(&["--max-cost", "1"]).code(1);
    unpriced.said("no price of `one` is known");
    assert_eq!(server.requests().len(), 0);
    // Between two tries too.
    let stopped = ask(&["--max-tokens", "2000"]).code(3);
    stopped.said("`MaxTokens` permits").said("the request took");
    assert_eq!(server.requests().len(), 1);
}

/// A server whose first answer comes after something was done in the base directory.
fn disturbing(base: std::path::PathBuf, disturb: fn(&std::path::Path)) -> ModelServer {
    let mut answers = vec![create("a.txt", "one"), done()].into_iter();
    let mut is_first = true;
    ModelServer::answering(move |_| {
        if std::mem::take(&mut is_first) {
            disturb(&base);
        }
        answers.next()
    })
}

fn only_file(directory: &std::path::Path) -> std::path::PathBuf {
    let files = std::fs::read_dir(directory).unwrap().flatten();
    let mut messages = files.filter(|file| file.file_name() != "latest.txt");
    messages.next().unwrap().path()
}

#[test]
fn an_answer_is_used_although_the_mailbox_was_disturbed() {
    let disturbances: [fn(&std::path::Path); 4] = [
        |base| std::fs::remove_dir_all(base.join("inbox/processed")).unwrap(),
        |base| std::fs::rename(base.join("inbox"), base.join("moved")).unwrap(),
        |base| std::fs::remove_file(only_file(&base.join("outbox"))).unwrap(),
        |base| {
            let message = std::fs::File::options()
                .append(true)
                .open(only_file(&base.join("outbox")))
                .unwrap();
            message.set_modified(std::time::UNIX_EPOCH).unwrap();
        },
    ];
    for (number, disturb) in disturbances.into_iter().enumerate() {
        let test = Test::new(&["new", "--base", ".", "--no-input", "x"]);
        let server = disturbing(test.base(), disturb);
        let finished = by_api(test, &server).run().code(0);
        let finished = finished.workspace("a.txt", "one\n");
        assert!(!finished.stderr.contains("is not used"), "{number}");
        assert_eq!(server.requests().len(), 2, "{number}");
    }
}

#[test]
fn an_answer_that_cannot_be_booked_is_kept() {
    let test = Test::new(&["new", "--base", ".", "--no-input", "x"]);
    let server = disturbing(test.base(), |base| {
        let sessions = std::fs::read_dir(base.join("sessions")).unwrap().flatten();
        let mut folders = sessions.filter(|entry| entry.path().join("events.jsonl").exists());
        let folder = folders.next().unwrap().path();
        std::fs::remove_file(folder.join("usage.jsonl")).unwrap();
        std::fs::create_dir(folder.join("usage.jsonl")).unwrap();
    });
    let stopped = by_api(test, &server).run().code(1).said("usage.jsonl");
    let inbox = stopped.files("inbox");
    let kept = inbox.iter().find(|(name, _)| name.starts_with("api-"));
    assert!(kept.unwrap().1.contains("CREATE_FILE"), "{inbox:?}");
    // Nothing is asked for as long as nothing can be booked.
    let flags = ["resume", "--base", ".", "--no-input"];
    let stopped = by_api(Test::after(stopped, &flags), &server).run().code(1);
    let stopped = stopped.said("usage.jsonl").workspace("a.txt", "one\n");
    assert_eq!(server.requests().len(), 1);
    let sessions = std::fs::read_dir(stopped.base().join("sessions")).unwrap();
    for folder in sessions.flatten() {
        let _ = std::fs::remove_dir(folder.path().join("usage.jsonl"));
    }
    by_api(Test::after(stopped, &flags), &server).run().code(0);
    assert_eq!(server.requests().len(), 2);
}

/// A session that stopped after one round, and the file in which its costs are booked.
fn booked() -> (ModelServer, Finished, std::path::PathBuf) {
    let server = ModelServer::start(vec![create("a.txt", "1"), done()]);
    let flags = ["new", "--base", ".", "--no-input", "--max-rounds", "1", "x"];
    let finished = by_api(Test::new(&flags), &server).run().code(3);
    let books = finished.files("sessions").into_keys();
    let mut books = books.filter(|name| name.ends_with("usage.jsonl"));
    let books = finished.base().join("sessions").join(books.next().unwrap());
    (server, finished, books)
}

#[test]
fn a_broken_byte_in_the_books_opens_no_limit() {
    let (server, finished, books) = booked();
    let mut file = std::fs::File::options().append(true).open(books).unwrap();
    file.write_all(b"\xff").unwrap();
    let flags = [
        "resume",
        "--base",
        ".",
        "--no-input",
        "--max-tokens",
        "1000",
    ];
    let resumed = by_api(Test::after(finished, &flags), &server).run();
    resumed.code(3).said("`MaxTokens`");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn counts_beyond_all_numbers_do_no_harm() {
    let usage =
        json!({"choices": [], "usage": {"prompt_tokens": u64::MAX, "completion_tokens": u64::MAX}});
    let counted = |answer: Answer| {
        let Answer::Events(mut events) = uncounted(answer) else {
            unreachable!("it makes events")
        };
        events.push(usage.clone());
        Answer::Events(events)
    };
    let server = ModelServer::start(vec![counted(create("a.txt", "1")), counted(done())]);
    let test = Test::new(&["new", "--no-input", "--api-price", "2/10", "x"]);
    let finished = by_api(test, &server).run().code(0);
    finished.said("18,446,744,073,709,551,615 tokens sent");
}

#[test]
fn a_length_that_was_too_long_is_remembered() {
    let too_long = Answer::Status("413 Long", "", String::new());
    let long = create("a.txt", &"a long line of words\n".repeat(500));
    let server = ModelServer::start(vec![long, too_long, create("b.txt", "2"), done()]);
    let finished = by_api(Test::new(&["new", "--no-input", "x"]), &server).run();
    finished.code(0).said("sent as a summary");
    let requests = server.requests();
    let length = |at: usize| requests[at].body.to_string().len();
    assert!(length(2) < length(1) / 2 && length(3) < length(1) / 2);
}

#[test]
fn a_question_that_nobody_answers_is_left_to_the_model() {
    let ask = reply("[ASK_USER]\nTabs or spaces?\n[/ASK_USER]");
    let server = ModelServer::start(vec![ask, done()]);
    let finished = by_api(Test::new(&["new", "--no-input", "x"]), &server).run();
    let finished = finished.code(0);
    let told = server.requests()[1].body["messages"][2]["content"].to_string();
    assert!(
        told.contains("the user gave no answer; decide yourself"),
        "{told}"
    );
    let session = finished.session();
    assert_eq!(session["isComplete"], json!(true), "{session}");
}

#[test]
fn a_project_that_is_not_trusted_cannot_count_costs_away() {
    let server = ModelServer::start(vec![create("a.txt", "1"), create("b.txt", "2"), done()]);
    let file = json!({"Agent": {"ApiPrice": "0/0/0", "ApiWindow": 50_000_000}});
    let flags = ["new", "--base", ".", "--no-input", "--max-cost", "2", "x"];
    let test = Test::new(&flags).file("appsettings.json", file.to_string());
    let own = test.base().with_file_name("config");
    std::fs::create_dir_all(own.join("agent")).unwrap();
    let price = json!({"ApiPrice": "10/20"}).to_string();
    std::fs::write(own.join("agent/settings.json"), price).unwrap();
    let test = by_api(test, &server).environment("XDG_CONFIG_HOME", own.to_str().unwrap());
    let finished = test.run().code(3).said("`MaxCost`");
    finished.said("`ApiPrice` in").said("`ApiWindow` in");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_key_that_the_model_or_the_task_names_is_nowhere() {
    let said = format!("[MESSAGE]\nyour key is {KEY}\n[/MESSAGE]\n[DONE]\nit is {KEY}\n[/DONE]");
    let server = ModelServer::start(vec![reply(&said)]);
    let task = format!("use {KEY}");
    let test = Test::new(&["new", "--no-input", "--verbose", "--secrets", "off", &task]);
    let finished = has_no_key(by_api(test, &server).run().code(0));
    let finished = finished.said("it is <API key>");
    for verb in ["status", "export", "list", "show"] {
        let told = agent(&finished.base()).args([verb, "--json"]).output();
        let told = String::from_utf8_lossy(&told.unwrap().stdout).into_owned();
        assert!(!told.contains(KEY), "{verb}: {told}");
    }
}

/// Another provider's key, and that of an earlier run of the session.
#[test]
fn a_key_of_another_api_that_the_model_names_is_nowhere() {
    let own = "sk-another-0123456789";
    let said = format!("[MESSAGE]\nthe key is {KEY}\n[/MESSAGE]\n[READ_FILE path=\"a.txt\"]");
    let answers = vec![create("a.txt", "one"), reply(&said), done()];
    for variable in ["MISTRAL_API_KEY", "OTHER"] {
        let server = ModelServer::start(answers.clone());
        let flags = ["new", "--base", ".", "--no-input", "--max-rounds", "1", "x"];
        let begun = by_api(Test::new(&flags), &server).run().code(3);
        let flags = [
            "resume",
            "--base",
            ".",
            "--no-input",
            "--verbose",
            "--max-rounds",
            "9",
        ];
        let test = by_api(Test::after(begun, &flags), &server).environment("AGENT_API_KEY", own);
        has_no_key(test.environment(variable, KEY).run().code(0));
        let sent = server.requests()[2].body.to_string();
        assert!(sent.contains("the key is <API key>") && !sent.contains(KEY));
    }
}

#[test]
fn a_key_that_the_person_says_later_is_nowhere() {
    let server = ModelServer::start(vec![create("a.txt", "1"), done(), done()]);
    let flags = ["new", "--base", ".", "--no-input", "--max-rounds", "1", "x"];
    let begun = by_api(Test::new(&flags), &server).run().code(3);
    let words = format!("use {KEY} for it");
    // Also where only its fingerprint is known.
    let said = agent(&begun.base()).args(["say", &words]).output().unwrap();
    assert!(said.status.success());
    let begun = has_no_key(begun);
    let flags = ["resume", "--base", ".", "--no-input"];
    let done = by_api(Test::after(begun, &flags), &server).run().code(0);
    let flags = [&flags[..], &["latest", &words]].concat();
    let again = by_api(Test::after(has_no_key(done), &flags), &server).run();
    has_no_key(again.code(0));
    for seen in &server.requests() {
        assert!(!seen.body.to_string().contains(KEY));
    }
    let told = server.requests()[2].body.to_string();
    assert_eq!(told.matches("use <API key> for it").count(), 2, "{told}");
}

#[test]
fn a_flag_that_has_the_key_in_it_is_kept_nowhere() {
    let server = ModelServer::start(Vec::new());
    let command = format!("echo {KEY}");
    let failing = format!("echo {KEY}; exit 1");
    for (flag, value, said) in [
        ("--check", &command, "`CheckCommand` has the key"),
        ("--api-key-command", &command, "`ApiKeyCommand` has the key"),
        ("--api-key-command", &failing, "gave no key"),
    ] {
        let flags = ["new", "--base", ".", "--no-input", "--api", "custom"];
        let flags = [&flags[..], &[flag, value, "x"]].concat();
        let refused = by_api(Test::new(&flags), &server).run().said(said);
        assert!(!refused.status.success());
        has_no_key(refused);
    }
}

/// All files below a directory that have the key in them.
#[track_caller]
pub fn ensure_keyless(directory: &std::path::Path) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            ensure_keyless(&path);
        } else {
            let content = std::fs::read(&path).unwrap_or_default();
            let has_key = String::from_utf8_lossy(&content).contains(KEY);
            assert!(!has_key, "the key is in `{}`", path.display());
        }
    }
}

/// Everything that verbs print about the sessions of a base directory.
#[track_caller]
fn ensure_told_keyless(base: &std::path::Path) {
    for verb in ["status", "list", "show", "export", "notes"] {
        for json in [&[][..], &["--json"]] {
            let told = agent(base).arg(verb).args(json).output().unwrap();
            assert!(told.status.success(), "{verb}: {told:?}");
            let told = format!("{told:?}");
            assert!(!told.contains(KEY), "{verb}: {told}");
        }
    }
}

/// The variable is missing there: only the fingerprint of the key is known.
#[test]
fn a_key_that_is_given_elsewhere_is_nowhere() {
    let ask = reply("[ASK_USER]\nWhich key?\n[/ASK_USER]");
    let server = ModelServer::start(vec![ask, create("a.txt", "1"), Answer::Hang]);
    let test = Test::new(&["new", "--base", ".", "--approval", "ask", "x"]);
    let running = by_api(test, &server).start();
    let base = running.base();
    let beside = |arguments: &[&str], code: i32| {
        let told = agent(&base).args(arguments).output().unwrap();
        assert_eq!(told.status.code(), Some(code), "{arguments:?}: {told:?}");
        String::from_utf8_lossy(&told.stderr).into_owned()
    };
    let words = format!("no, use {KEY}");
    let is_asked = |event: &str| kept_events(&base).contains(&format!("\"event\":\"{event}\""));
    wait_until("the question", || is_asked("question"));
    beside(&["say", &words], 0);
    wait_until("the approval", || is_asked("approval"));
    beside(&["decline", "all", &words], 0);
    wait_until("the last request", || server.requests().len() == 3);
    beside(&["say", &words], 0);
    let name = beside(&["rename", KEY], 2);
    assert!(name.contains("the name has the key of an API"), "{name}");
    // A file that somebody wrote by hand.
    let session = running.base().join("sessions");
    let folder = std::fs::read_dir(session).unwrap().flatten();
    let folder = folder
        .map(|entry| entry.path())
        .find(|path| path.join("notes").is_dir());
    let note = folder.unwrap().join("notes/00000000000000000001.txt");
    std::fs::write(&note, &words).unwrap();
    let listed = agent(&base).arg("notes").output().unwrap();
    assert!(!format!("{listed:?}").contains(KEY), "{listed:?}");
    std::fs::remove_file(&note).unwrap();
    running.signal("TERM");
    let stopped = running.wait().code(130);
    ensure_keyless(base.parent().unwrap());
    let check = format!("curl -H 'X: {KEY}' localhost");
    for off in [&["--api", "off"][..], &[]] {
        let told = beside(
            &[&["resume", "--no-input", "--check", &check], off].concat(),
            2,
        );
        assert!(told.contains("`CheckCommand` has the key"), "{told}");
    }
    ensure_keyless(base.parent().unwrap());
    ensure_told_keyless(&base);
    let told = server.requests()[2].body.to_string();
    assert!(!told.contains(KEY), "{told}");
    assert_eq!(told.matches("no, use <API key>").count(), 2, "{told}");
    drop(stopped);
}

/// Nobody knows this key, so its form must do.
#[test]
fn a_check_with_a_key_by_its_form_is_refused() {
    let finished = Test::new(&["new", "--base", ".", "--no-wait", "x"])
        .run()
        .code(0);
    let key = format!("sk-proj-{}", "a1B2c3D4".repeat(5));
    let check = format!("OPENAI_API_KEY={key} make test");
    for verb in [&["resume", "--no-wait"][..], &["new", "--no-wait", "y"]] {
        let arguments = [verb, &["--check", &check]].concat();
        let told = agent(&finished.base()).args(arguments).output().unwrap();
        assert_eq!(told.status.code(), Some(2), "{told:?}");
        let told = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(told.contains("put the key into a variable"), "{told}");
        for content in finished.files("").values() {
            assert!(!content.contains(&key), "{content}");
        }
    }
}

#[test]
fn a_stand_in_for_a_key_is_hidden_nowhere() {
    for stand_in in ["ollama", "not-needed", "sk-no-key-required"] {
        let server = ModelServer::start(vec![create("a.txt", stand_in), done()]);
        let task = format!("say {stand_in}");
        let flags = ["new", "--base", ".", "--no-input", "--api", "ollama", &task];
        let test = Test::new(&flags)
            .environment("Agent__ApiUrl", &server.url)
            .environment("Agent__Model", "one")
            .environment("OPENAI_API_KEY", stand_in)
            .environment("OLLAMA_API_KEY", stand_in);
        let finished = test.run().code(0);
        let finished = finished.workspace("a.txt", &format!("{stand_in}\n"));
        assert_eq!(finished.session()["task"], task);
        assert!(kept_events(&finished.base()).contains(&task));
    }
}

#[test]
fn a_key_beside_a_changed_line_is_in_no_export() {
    let edit = "[EDIT_FILE path=\"notes.txt\"]\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n[/EDIT_FILE]";
    let server = ModelServer::start(vec![reply(edit), done()]);
    let test = Test::new(&["new", "--base", ".", "--no-input", "--secrets", "off", "x"]);
    let test = test.file("workspace/notes.txt", format!("the key: {KEY}\nold\n"));
    let finished = by_api(test, &server).run().code(0);
    let changed = format!("the key: {KEY}\nnew\n");
    let finished = finished.workspace("notes.txt", &changed);
    for format in ["md", "html", "json"] {
        let mut export = agent(&finished.base());
        let export = export.args(["export", "latest", "--format", format]);
        let told = export.env("AGENT_API_KEY", KEY).output().unwrap();
        assert!(told.status.success(), "{told:?}");
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        assert!(told.contains("API key") && !told.contains(KEY), "{told}");
    }
}

#[test]
fn the_status_of_a_session_that_an_api_carries_names_it_and_why_it_stopped() {
    let refused = Answer::Status("401 No", "", body("wrong key"));
    let server = ModelServer::start(vec![refused]);
    let flags = ["new", "--no-input", "--quiet", "x"];
    let finished = by_api(Test::new(&flags), &server).run().code(1);
    // Nothing is to be pasted, so there is nothing to tell quietly but the error.
    assert!(!finished.stdout.contains("Round 1") && !finished.stderr.contains("Round 1"));
    let status = by_api(Test::after(finished, &["status"]), &server).run();
    let told = status.code(0).stdout;
    let (_, next) = told.split_once("What to do now").unwrap();
    assert!(next.trim_start().starts_with("`agent resume "), "{next}");
    for words in [
        "asks `custom one`",
        "does not accept the key (401)",
        "--api off",
    ] {
        assert!(next.contains(words), "{next}");
    }
    assert!(!next.contains("Paste"), "{next}");
}

#[test]
fn half_an_answer_to_a_question_is_a_failure() {
    let server = ModelServer::start(vec![Answer::Broken(format!("In {KEY} `a"))]);
    let test = Test::new(&["ask", "where?"]).file("appsettings.json", "{}");
    let finished = has_no_key(by_api(test, &server).run().code(1).said("broke off"));
    assert_eq!(finished.stdout, "In <API key> `a\n");
}

#[test]
fn no_answer_to_a_question_is_a_failure() {
    let test = Test::new(&["ask", "why"]).file("appsettings.json", "{}");
    test.run().code(1).said("the answer is empty");
    let test = Test::new(&["ask", "why"]).file("appsettings.json", "{}");
    let finished = test.input("because\n").run().code(0);
    assert_eq!(finished.stdout, "because\n");
}

#[test]
fn a_key_in_a_name_of_a_file_is_sent_to_nobody() {
    let server = ModelServer::start(vec![Answer::Text("here\n".to_owned())]);
    let file = format!("workspace/{KEY}.txt");
    let test = Test::new(&["ask", "--add", &file, "where?"]).file(&file, "text\n");
    let test = test
        .file(&format!("workspace/{KEY}.bin"), b"\0\0\0")
        .file("appsettings.json", "{}");
    let finished = by_api(test, &server).run().code(0);
    let sent = server.requests()[0].body.to_string();
    assert!(
        sent.contains("<API key>.txt") && !sent.contains(KEY),
        "{sent}"
    );
    assert!(!finished.stdout.contains(KEY) && !finished.stderr.contains(KEY));
}

#[test]
fn an_answer_is_json_where_all_else_is() {
    let server = ModelServer::start(vec![Answer::Text("In\n`a.rs`.".to_owned())]);
    let test = Test::new(&["ask", "--json", "where?"]).file("appsettings.json", "{}");
    let finished = by_api(test, &server).run().code(0);
    let events = finished.stdout.lines();
    let events: Vec<Value> = events
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let pieces = events.iter().filter(|event| event["what"] == "text");
    let answer: String = pieces
        .map(|event| event["text"].as_str().unwrap())
        .collect();
    assert_eq!(answer, "In\n`a.rs`.");
    // And so is one that the person brings.
    let by_hand = Test::after(finished, &["ask", "--json", "where?"]).input("There.\n");
    let by_hand = by_hand.run().code(0);
    let last: Value = serde_json::from_str(by_hand.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["what"], &last["text"]),
        (&json!("text"), &json!("There.\n"))
    );
}

#[test]
fn a_refused_question_says_so_and_what_it_took() {
    let refused = vec![piece("content", "Partial ans"), finish("content_filter")];
    let server = ModelServer::start(vec![Answer::Events(refused)]);
    let test = Test::new(&["ask", "where?"]).file("appsettings.json", "{}");
    let finished = by_api(test, &server).run().code(1);
    assert_eq!(finished.stdout, "Partial ans\n");
    finished
        .said("refused to answer, or a filter")
        .said("--model")
        .said(" tokens\n");
    // Tries that failed are told too.
    let thought = Answer::Events(vec![piece("reasoning_content", "Let me see.")]);
    let no = Answer::Status("401 No", "", body("wrong key"));
    let server = ModelServer::start(vec![thought, no]);
    let test = Test::new(&["ask", "--api-price", "1000/1000", "where?"]);
    let test = test.file("appsettings.json", "{}");
    let finished = by_api(test, &server).run().code(1);
    finished.said("the request took ~").said(" tokens, ~$0.");
}

#[test]
fn where_the_key_goes_is_set_in_no_project() {
    let test = Test::new(&["config", "set", "ApiUrl", "https://x.test/v1", "--here"]);
    let test = test.file("appsettings.json", "{\"Agent\": {}}");
    let finished = test.run().code(2).said("counts from no project's file");
    let file = std::fs::read_to_string(finished.base().join("appsettings.json")).unwrap();
    assert!(!file.contains("x.test"), "{file}");
    let test = Test::after(finished, &["config", "set", "Temperature", "9"]);
    test.run().code(2).said("from 0 to 2");
}

#[test]
fn a_kill_while_the_model_answers_loses_nothing() {
    let server = ModelServer::start(vec![create("a.txt", "one"), Answer::Hang, done()]);
    let running = by_api(Test::new(&["new", "--no-input", "x"]), &server).start();
    wait_until("the second request", || server.requests().len() == 2);
    let killed = running.kill().workspace("a.txt", "one\n");
    let finished = by_api(Test::after(killed, &["resume", "--no-input"]), &server)
        .run()
        .code(0);
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[1].body, requests[2].body);
    assert_eq!(finished.files("inbox/processed").len(), 2);
}

/// A command that counts how often it ran, in a round of its own.
#[test]
fn kills_at_any_time_repeat_and_lose_nothing() {
    let count = || reply("[RUN_COMMAND]\necho x >> count.txt\n[/RUN_COMMAND]");
    let server = ModelServer::by_round(vec![
        create("a.txt", "one"),
        count(),
        create("b.txt", "two"),
        done(),
    ]);
    let mut killed = 0;
    for millis in [
        0, 60, 120, 180, 240, 320, 400, 500, 650, 800, 1000, 1300, 1700, 2200,
    ] {
        let mut finished = by_api(
            Test::new(&["new", "--base", ".", "--no-input", "x"]),
            &server,
        )
        .start()
        .stop_after(millis);
        for _ in 0..3 {
            if finished.status.success() {
                break;
            }
            killed += 1;
            let mut sessions = finished.files("sessions");
            sessions.retain(|name, _| name != "loop.json" && name.strip_suffix(".json").is_some());
            let session = sessions.into_values().next();
            // A kill between the end of the session and that of the process.
            if session
                .as_ref()
                .is_some_and(|text| text.contains("\"isComplete\": true"))
            {
                break;
            }
            let again: &[&str] = if session.is_some() {
                &["resume", "--base", ".", "--no-input"]
            } else {
                &["new", "--base", ".", "--no-input", "x"]
            };
            finished = by_api(Test::after(finished, again), &server).run();
        }
        let finished = has_no_key(finished);
        assert_eq!(finished.session()["isComplete"], true, "after {millis} ms");
        let finished = finished
            .workspace("a.txt", "one\n")
            .workspace("b.txt", "two\n");
        // A command that was interrupted in the middle is told to the model, and not run again.
        let counted = finished
            .files("workspace")
            .remove("count.txt")
            .unwrap_or_default();
        let is_told = || {
            let mut messages = finished.files("outbox").into_values();
            messages.any(|text| text.contains("so it may or may not have happened"))
        };
        assert!(
            counted == "x\n" || is_told(),
            "{counted:?} after {millis} ms"
        );
        assert!(counted.len() <= 2, "{counted:?} after {millis} ms");
    }
    assert!(killed > 3, "only {killed} kills hit");
}

#[test]
fn ctrl_c_stops_the_request_and_the_loop_goes_on_later() {
    let server = ModelServer::start(vec![Answer::Hang, done()]);
    let running = by_api(Test::new(&["new", "--no-input", "x"]), &server).start();
    wait_until("the request", || server.requests().len() == 1);
    running.signal("INT");
    let stopped = running.wait().code(130).said("was stopped");
    by_api(Test::after(stopped, &["resume", "--no-input"]), &server)
        .run()
        .code(0);
}

#[test]
fn a_project_cannot_set_where_the_key_goes_or_what_runs() {
    let evil = ModelServer::start(vec![done()]);
    let file = json!({"Agent": {"ApiUrl": evil.url, "ApiKeyCommand": "touch never; echo x", "Api": "custom"}});
    let server = ModelServer::start(vec![done()]);
    let test = Test::new(&["new", "--base", ".", "--no-input", "x"])
        .file("appsettings.json", file.to_string());
    let finished = by_api(test, &server).run().code(0);
    let finished = finished
        .said("`ApiUrl` in")
        .said("`ApiKeyCommand` in")
        .said("no settings file of a project may set it");
    assert_eq!((evil.requests().len(), server.requests().len()), (0, 1));
    // Not even the API itself without trust: the message waits to be pasted.
    let test = Test::after(finished, &["new", "--base", ".", "--no-wait", "x"]);
    test.run().code(0).said("`Api` in");
}

#[cfg(unix)]
#[test]
fn a_key_may_come_from_a_command() {
    let server = ModelServer::start(vec![done()]);
    let command = format!("printf '%s\\nnotes\\n' {KEY}");
    let test = Test::new(&["new", "--no-input", "x"])
        .environment("Agent__Api", "custom")
        .environment("Agent__Model", "one")
        .environment("Agent__ApiUrl", &server.url)
        .environment("Agent__ApiKeyCommand", &command);
    test.run().code(0);
    assert!(
        server.requests()[0]
            .headers
            .contains(&format!("Bearer {KEY}\r\n"))
    );
    let failing = Test::new(&["new", "--no-input", "x"])
        .environment("Agent__Api", "custom")
        .environment("Agent__Model", "one")
        .environment("Agent__ApiUrl", &server.url)
        .environment("Agent__ApiKeyCommand", "exit 7");
    failing.run().code(1).said("`ApiKeyCommand` gave no key");
}

#[cfg(unix)]
#[test]
fn a_key_command_may_leave_something_running() {
    for print in ["echo", "printf %s"] {
        let server = ModelServer::start(vec![done()]);
        let begun = std::time::Instant::now();
        let test = Test::new(&["new", "--no-input", "x"])
            .environment("Agent__Api", "custom")
            .environment("Agent__Model", "one")
            .environment("Agent__ApiUrl", &server.url)
            .environment(
                "Agent__ApiKeyCommand",
                &format!("sleep 100 2>/dev/null & {print} {KEY}"),
            );
        test.run().code(0);
        assert!(begun.elapsed().as_secs() < 90);
        let headers = &server.requests()[0].headers;
        assert!(headers.contains(&format!("Bearer {KEY}\r\n")));
    }
}

/// The command and what it started go too.
#[cfg(target_os = "linux")]
#[test]
fn one_ctrl_c_ends_a_slow_key_command() {
    for signal in ["INT", "TERM"] {
        let test = Test::new(&["new", "--no-input", "x"]);
        let started = test.base().with_file_name("started");
        let command = format!(
            "sleep 301 & echo $$ $! > '{}'; wait; echo {KEY}",
            started.display()
        );
        let running = test
            .environment("Agent__Api", "custom")
            .environment("Agent__Model", "one")
            .environment("Agent__ApiUrl", "http://127.0.0.1:9/v1")
            .environment("Agent__ApiKeyCommand", &command)
            .start();
        let processes = || std::fs::read_to_string(&started).unwrap_or_default();
        wait_until("the command", || processes().ends_with('\n'));
        let processes = processes();
        running.signal(signal);
        running
            .wait_up_to(std::time::Duration::from_secs(20))
            .code(130);
        for process in processes.split_whitespace() {
            let stat = format!("/proc/{process}/stat");
            // One that nobody has waited for yet is dead too.
            wait_until("the end of the command", || {
                std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))
            });
        }
    }
}

#[cfg(unix)]
#[test]
fn a_key_that_only_a_command_prints_is_in_no_export() {
    let edit = "[EDIT_FILE path=\"notes.txt\"]\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n[/EDIT_FILE]";
    let server = ModelServer::start(vec![reply(edit), done()]);
    let test = Test::new(&["new", "--base", ".", "--no-input", "--secrets", "off", "x"]);
    let test = test
        .file("workspace/notes.txt", format!("the key: {KEY}\nold\n"))
        .environment("Agent__Api", "custom")
        .environment("Agent__Model", "one")
        .environment("Agent__ApiUrl", &server.url)
        .environment("Agent__ApiKeyCommand", &format!("echo {KEY}"));
    let finished = has_no_key_but_in(test.run().code(0), is_own_file);
    for format in ["md", "html", "json"] {
        let mut export = agent(&finished.base());
        let export = export.args(["export", "latest", "--format", format]);
        let told = export.output().unwrap();
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        assert!(told.contains("API key") && !told.contains(KEY), "{told}");
    }
}

#[test]
fn a_key_in_a_file_of_the_workspace_reaches_nobody() {
    let read =
        reply("[READ_FILE path=\"notes.txt\"]\n[RUN_COMMAND]\ncat notes.txt\n[/RUN_COMMAND]");
    let server = ModelServer::start(vec![read, done()]);
    let test = Test::new(&[
        "new",
        "--base",
        ".",
        "--no-input",
        "--secrets",
        "off",
        "--add",
        "workspace/notes.txt",
        "x",
    ]);
    let test = test.file("workspace/notes.txt", format!("the key: {KEY}\n"));
    let finished = by_api(test, &server).run().code(0);
    for request in server.requests() {
        assert!(!request.body.to_string().contains(KEY));
    }
    assert!(
        finished
            .files("outbox")
            .values()
            .all(|text| !text.contains(KEY))
    );
    let events = finished.files("sessions");
    let events = events
        .iter()
        .find(|(name, _)| name.ends_with("events.jsonl"))
        .unwrap();
    assert!(!events.1.contains(KEY));
}

#[test]
fn a_key_in_json_reaches_nobody() {
    let key = r#"sk-"quoted"\0123456789"#;
    let file = serde_json::json!({ "key": key }).to_string();
    let read = "[READ_FILE path=\"a.json\"]\n[RUN_COMMAND]\ncat a.json\n[/RUN_COMMAND]";
    let complaint = Answer::Status("400 Bad", "", file.clone());
    let server = ModelServer::start(vec![reply(read), complaint]);
    let flags = ["new", "--base", ".", "--no-input", "--secrets", "off", "x"];
    let test = by_api(Test::new(&flags), &server).environment("AGENT_API_KEY", key);
    let finished = test.file("workspace/a.json", &file).run();
    let finished = finished.said(r#"{"key":"<API key>"}"#);
    // In the records the message is a JSON text itself.
    let is_shown = |text: &str| text.replace('\\', "").contains("quoted");
    assert!(!is_shown(&finished.stdout) && !is_shown(&finished.stderr));
    for (name, content) in finished.files("") {
        let is_own = name.starts_with("workspace/") || name.starts_with("sessions/objects/");
        assert!(is_own || !is_shown(&content), "the key is in `{name}`");
    }
    let second = server.requests()[1].body.to_string();
    assert!(second.matches("<API key>").count() >= 2 && !is_shown(&second));
}

/// The person's file, and what a checkpoint keeps of it.
fn is_own_file(name: &str) -> bool {
    name == "workspace/notes.txt" || name.starts_with("sessions/objects/")
}

#[test]
fn a_key_that_commands_print_is_in_no_record_of_the_session() {
    // In one piece, in two, in a search, in the middle of much else, and in the output of the check.
    let half = KEY.len() / 2;
    let commands = format!(
        "[SEARCH_TEXT pattern=\"the key\"]\n[RUN_COMMAND]\ncat notes.txt; printf '%s' \"$(cut -c10-{} notes.txt)\"; sleep 0.3; cut -c{}- notes.txt\n[/RUN_COMMAND]\n[RUN_COMMAND]\nseq 30000; cat notes.txt; seq 30000\n[/RUN_COMMAND]",
        9 + half,
        10 + half,
    );
    for variable in ["AGENT_API_KEY", "MISTRAL_API_KEY"] {
        a_printed_key_is_nowhere(&commands, variable);
    }
}

/// Has commands print the key that is in this variable.
#[track_caller]
fn a_printed_key_is_nowhere(commands: &str, variable: &str) {
    let server = ModelServer::start(vec![reply(commands), done()]);
    let test = Test::new(&[
        "new",
        "--base",
        ".",
        "--no-input",
        "--json",
        "--verbose",
        "--secrets",
        "off",
        "--check",
        "cat notes.txt",
        "x",
    ]);
    let test = test.file("workspace/notes.txt", format!("the key: {KEY}\n"));
    let test = by_api(test, &server).environment("AGENT_API_KEY", "sk-another-0123456789");
    let finished = test.environment(variable, KEY).run().code(0);
    let finished = has_no_key_but_in(finished, is_own_file);
    let second = server.requests()[1].body.to_string();
    // The file, the search and both commands, the second in two pieces.
    assert!(second.matches("<API key>").count() >= 4, "{second}");
    assert!(!second.contains(KEY));
    let base = finished.base();
    for verb in [
        &["status", "latest"][..],
        &["status", "latest", "--json"],
        &["show", "latest"],
        &["export", "latest"],
        &["export", "latest", "--format", "html"],
        &["export", "latest", "--format", "json"],
    ] {
        let told = agent(&base).args(verb).output().unwrap();
        let told = String::from_utf8_lossy(&[told.stdout, told.stderr].concat()).into_owned();
        assert!(!told.contains(KEY), "{verb:?}: {told}");
    }
}

#[test]
fn the_key_of_a_session_stays_hidden_after_its_api_is_off() {
    let half = KEY.len() / 2;
    let shown = format!(
        "[READ_FILE path=\"notes.txt\"]\n[SEARCH_TEXT pattern=\"the key\"]\n[RUN_COMMAND]\ncat notes.txt; printf '%s' \"$(cut -c10-{} notes.txt)\"; sleep 0.3; cut -c{}- notes.txt\n[/RUN_COMMAND]\n{{end}}\n",
        9 + half,
        10 + half,
    );
    for variable in ["AGENT_API_KEY", "OTHER"] {
        let server = ModelServer::start(vec![create("a.txt", "one")]);
        let test = Test::new(&["new", "--base", ".", "--no-input", "--max-rounds", "1", "x"]);
        let test = test.file("workspace/notes.txt", format!("the key: {KEY}\n"));
        let begun = by_api(test, &server).run().code(3);
        let off = [
            "resume",
            "--base",
            ".",
            "--api",
            "off",
            "--max-rounds",
            "2",
            "--secrets",
            "off",
        ];
        let test = Test::after(begun, &off).environment(variable, KEY);
        let pasted = test.reply(&shown).reply("[DONE]\n{end}\n").run().code(0);
        let pasted = has_no_key_but_in(pasted, is_own_file);
        let outbox: String = pasted.files("outbox").into_values().collect();
        // The file, the search, and the command twice.
        let hidden = outbox.matches("<API key>").count();
        assert!(hidden >= 4, "{hidden} with `{variable}`: {outbox}");
    }
}

#[test]
fn a_key_is_in_no_message_of_a_session_by_paste() {
    let add = "workspace/notes.txt";
    let test = Test::new(&["new", "--base", ".", "--secrets", "off", "--add", add, "x"]);
    let test = test.file(add, format!("the key: {KEY}\n"));
    let shown = "[RUN_COMMAND]\ncat notes.txt\n[/RUN_COMMAND]\n{end}\n";
    let test = test.environment("MISTRAL_API_KEY", KEY);
    let finished = test.reply(shown).reply("[DONE]\n{end}\n").run().code(0);
    let finished = has_no_key_but_in(finished, is_own_file);
    let outbox: String = finished.files("outbox").into_values().collect();
    assert!(outbox.matches("<API key>").count() >= 2, "{outbox}");
    // What a message showed is kept until a checkpoint has it.
    let flags = [
        "new",
        "--base",
        ".",
        "--secrets",
        "off",
        "--no-wait",
        "--add",
        add,
        "x",
    ];
    let test = Test::after(finished, &flags).environment("MISTRAL_API_KEY", KEY);
    has_no_key_but_in(test.run().code(0), is_own_file);
}

#[test]
fn a_key_that_a_command_prints_is_not_left_behind_by_a_kill() {
    let commands = "[RUN_COMMAND]\ncat notes.txt; echo printed; sleep 1000\n[/RUN_COMMAND]";
    let server = ModelServer::start(vec![reply(commands), done()]);
    let test = Test::new(&["new", "--base", ".", "--no-input", "x"]);
    let test = test.file("workspace/notes.txt", format!("the key: {KEY}\n"));
    let running = by_api(test, &server).start();
    let sessions = running.base().join("sessions");
    let has_printed = || {
        let folders = std::fs::read_dir(&sessions).into_iter().flatten().flatten();
        let mut files = folders.flat_map(|folder| {
            let files = std::fs::read_dir(folder.path()).into_iter().flatten();
            files.flatten().collect::<Vec<_>>()
        });
        files.any(|file| {
            let is_output = file.file_name().to_string_lossy().starts_with("running-");
            is_output
                && std::fs::read_to_string(file.path())
                    .is_ok_and(|text| text.contains("<API key>") && text.contains("printed"))
        })
    };
    wait_until("the output is kept", has_printed);
    let killed = has_no_key_but_in(running.kill(), is_own_file);
    let resumed = by_api(Test::after(killed, &["resume", "--no-input"]), &server).run();
    has_no_key_but_in(resumed.code(0), is_own_file);
}

#[test]
fn a_stream_that_breaks_between_any_two_chunks_loses_and_repeats_nothing() {
    const WHOLE: &str = "Sure.\n``````\n[CREATE_FILE path=\"a.txt\"]\none\n[/CREATE_FILE]\n[RUN_COMMAND]\necho x >> count.txt\n[/RUN_COMMAND]\n[CREATE_FILE path=\"b.txt\"]\ntwo\n[/CREATE_FILE]\n``````\n";
    let pieces = WHOLE.split_inclusive('\n').count();
    for at in 0..=pieces {
        let test = Test::new(&["new", "--base", ".", "--no-input", "x"]);
        let workspace = test.base().join("workspace");
        let mut is_first = true;
        let server = ModelServer::answering(move |seen| {
            let turns = seen.body["messages"].as_array().map_or(0, Vec::len);
            if turns == 1 {
                let is_broken = std::mem::take(&mut is_first);
                let answer = Answer::BrokenAfter(at, WHOLE.to_owned());
                return Some(if is_broken {
                    answer
                } else {
                    Answer::Text(WHOLE.to_owned())
                });
            }
            // The model sends what is missing, as it is asked to.
            let mut missing = String::new();
            for (name, command) in [
                (
                    "a.txt",
                    "[CREATE_FILE path=\"a.txt\"]\none\n[/CREATE_FILE]\n",
                ),
                (
                    "count.txt",
                    "[RUN_COMMAND]\necho x >> count.txt\n[/RUN_COMMAND]\n",
                ),
                (
                    "b.txt",
                    "[CREATE_FILE path=\"b.txt\"]\ntwo\n[/CREATE_FILE]\n",
                ),
            ] {
                if !workspace.join(name).exists() {
                    missing.push_str(command);
                }
            }
            Some(if missing.is_empty() {
                done()
            } else {
                reply(&missing)
            })
        });
        let finished = by_api(test, &server).run().code(0);
        finished
            .workspace("a.txt", "one\n")
            .workspace("count.txt", "x\n")
            .workspace("b.txt", "two\n");
        let firsts = (server.requests().iter())
            .filter(|seen| seen.body["messages"].as_array().map_or(0, Vec::len) == 1)
            .count();
        // Only what had no text in it is asked for again.
        assert_eq!(firsts, if at == 0 { 2 } else { 1 }, "broken after {at}");
    }
}

#[test]
fn ctrl_c_without_a_terminal_keeps_what_came_for_the_next_run() {
    let half = "``````\n[CREATE_FILE path=\"a.txt\"]\none\n[/CREATE_FILE]\n[RUN_COMMAND]\nech";
    let server = ModelServer::start(vec![Answer::Stall(half.to_owned()), done()]);
    let running = by_api(Test::new(&["new", "--no-input", "x"]), &server).start();
    let sessions = running.base().join("sessions");
    let has_come = || {
        let folders = std::fs::read_dir(&sessions).into_iter().flatten().flatten();
        let mut events = folders
            .filter_map(|folder| std::fs::read_to_string(folder.path().join("events.jsonl")).ok());
        events.any(|events| events.contains("CREATE_FILE"))
    };
    wait_until("a piece of the answer", has_come);
    // A terminal that closes sends more than one signal.
    running.signal("INT");
    running.signal("HUP");
    running.signal("HUP");
    let stopped = running.wait().code(130);
    let inbox = stopped.files("inbox");
    let (name, kept) = inbox.first_key_value().unwrap();
    assert!(name.starts_with("api-") && kept == half, "{name}: {kept}");
    let finished = by_api(Test::after(stopped, &["resume", "--no-input"]), &server).run();
    finished.code(0).said("cut off").workspace("a.txt", "one\n");
    assert_eq!(server.requests().len(), 2);
}

/// The request is of no use any more, so the person means the command.
#[test]
fn ctrl_c_stops_the_command_of_a_reply_that_came_another_way() {
    let server = ModelServer::start(vec![Answer::Stall("Let me see".to_owned())]);
    let running = by_api(Test::new(&["new", "--no-input", "x"]), &server).start();
    let base = running.base();
    wait_until("a piece of the answer", || {
        kept_events(&base).contains("Let me see")
    });
    let (id, _) = wait_for_outbox(&base, 1);
    let command = "[RUN_COMMAND]\necho one > a.txt; sleep 60; echo harm > b.txt\n[/RUN_COMMAND]";
    let reply = format!("``````\n{command}\n[END {id}#1]\n``````\n");
    save_reply(&base.join("inbox/mine.md"), Save::Write, reply.as_bytes());
    wait_until("the command", || base.join("workspace/a.txt").exists());
    running.signal("INT");
    let stopped = running.wait().code(130);
    assert!(!stopped.files("workspace").contains_key("b.txt"));
}

/// The events that are kept in a base directory.
fn kept_events(base: &std::path::Path) -> String {
    let folders = std::fs::read_dir(base.join("sessions"));
    let folders = folders.into_iter().flatten().flatten();
    folders
        .filter_map(|folder| std::fs::read_to_string(folder.path().join("events.jsonl")).ok())
        .collect()
}

#[test]
fn ctrl_c_as_the_answer_ends_pauses_and_keeps_all_of_it() {
    let Answer::Text(whole) = create("a.txt", "one") else {
        unreachable!("a reply is a text")
    };
    let server = ModelServer::start(vec![Answer::Lingering(whole), done()]);
    let running = by_api(Test::new(&["new", "--no-input", "x"]), &server).start();
    let base = running.base();
    wait_until("the answer", || kept_events(&base).contains("CREATE_FILE"));
    running.signal("INT");
    let stopped = running.wait().code(130).said("Paused");
    assert!(!stopped.files("workspace").contains_key("a.txt"));
    let inbox = stopped.files("inbox");
    let (name, kept) = inbox.first_key_value().unwrap();
    assert!(name.starts_with("api-") && kept.contains("[END "), "{kept}");
    let finished = by_api(Test::after(stopped, &["resume", "--no-input"]), &server).run();
    finished.code(0).workspace("a.txt", "one\n");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_screen_that_stands_still_holds_up_no_answer() {
    let words = "words of the model\n".repeat(20_000);
    let Answer::Text(commands) = create("a.txt", "one") else {
        unreachable!("a reply is a text")
    };
    let server = ModelServer::start(vec![Answer::Text(words + &commands), done()]);
    let test = Test::new(&[]);
    let (_unread, screen) = std::io::pipe().unwrap();
    let by_server = |arguments: &[&str]| {
        let mut command = agent(&test.base());
        let address = [
            "--api",
            "custom",
            "--api-url",
            &server.url,
            "--model",
            "one",
        ];
        command.args(arguments).args(address).arg("--no-input");
        command
    };
    let mut child = by_server(&["new", "--verbose", "x"])
        .stdout(screen.try_clone().unwrap())
        .stderr(screen)
        .spawn()
        .unwrap();
    let has_reply = |directory: &str| {
        let files = std::fs::read_dir(test.base().join(directory));
        let mut files = files.into_iter().flatten().flatten();
        files.any(|file| file.file_name().to_string_lossy().contains("api-"))
    };
    wait_until("the reply", || {
        has_reply("inbox") || has_reply("inbox/processed")
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let resumed = by_server(&["resume"]).output().unwrap();
    assert!(resumed.status.success(), "{resumed:?}");
    assert!(test.base().join("workspace/a.txt").exists());
    assert_eq!(server.requests().len(), 2);
}

/// Makes the inbox a file.
fn close_inbox(base: &std::path::Path) {
    // The loop makes the directory again, unless we are faster.
    let mut moved = 0;
    while base.join("inbox").is_dir() {
        moved += 1;
        std::fs::rename(base.join("inbox"), base.join(format!("moved{moved}"))).unwrap();
        let _ = std::fs::File::create_new(base.join("inbox"));
    }
}

/// Nothing can be held beside a session or booked either.
fn close_inbox_and_session(base: &std::path::Path) {
    for entry in std::fs::read_dir(base.join("sessions")).unwrap().flatten() {
        if entry.path().join("events.jsonl").exists() {
            std::fs::create_dir_all(entry.path().join("held-answer.json/in the way")).unwrap();
            let books = entry.path().join("usage.jsonl");
            let _ = std::fs::remove_file(&books);
            std::fs::create_dir_all(books).unwrap();
        }
    }
    close_inbox(base);
}

/// Takes away what keeps a session from being written, and returns the file of its books.
fn open_session(finished: &Finished) -> std::path::PathBuf {
    let entries = std::fs::read_dir(finished.base().join("sessions")).unwrap();
    let mut folders = entries.flatten().map(|entry| entry.path());
    let folder = folders.find(|path| path.join("events.jsonl").exists());
    let folder = folder.unwrap();
    std::fs::remove_dir_all(folder.join("held-answer.json")).unwrap();
    std::fs::remove_dir(folder.join("usage.jsonl")).unwrap();
    folder.join("usage.jsonl")
}

#[test]
fn an_answer_that_cannot_be_put_into_the_inbox_is_held() {
    let test = Test::new(&["new", "--base", ".", "--no-input", "x"]);
    let server = disturbing(test.base(), close_inbox);
    let failed = by_api(test, &server).run().code(1);
    let failed = failed.said("cannot be put into the inbox; it is kept");
    std::fs::remove_file(failed.base().join("inbox")).unwrap();
    let flags = ["resume", "--base", ".", "--no-input"];
    let finished = by_api(Test::after(failed, &flags), &server).run().code(0);
    let finished = finished.workspace("a.txt", "one\n");
    assert_eq!(server.requests().len(), 2);
    let sessions = finished.files("sessions");
    let mut held = sessions
        .keys()
        .filter(|name| name.ends_with("held-answer.json"));
    assert_eq!(held.next(), None);
}

#[test]
fn an_answer_that_is_held_is_mentioned() {
    let test = Test::new(&["new", "--base", ".", "--no-input", "x"]);
    let server = disturbing(test.base(), close_inbox);
    let failed = by_api(test, &server).run().code(1);
    std::fs::remove_file(failed.base().join("inbox")).unwrap();
    let status = by_api(Test::after(failed, &["status", "--base", "."]), &server);
    let status = status.run().code(0);
    let told = "An answer of the API to this round is kept: `agent resume";
    assert!(status.stdout.contains(told), "{}", status.stdout);
    let off = ["resume", "--base", ".", "--api", "off", "--no-wait"];
    let left = Test::after(status, &off).run().code(0).said(told);
    let off = Test::after(left, &off[..5]).reply("[DONE]\n{end}\n");
    off.run().code(0).said(told);
}

#[test]
fn an_answer_that_is_held_is_booked_once_when_it_is_taken() {
    let by_paste = ["--api", "off", "--no-wait"];
    for (has_booked, flags, lines) in [
        (false, &[][..], 2),
        (true, &[], 2),
        (false, &by_paste, 1),
        (true, &by_paste, 1),
    ] {
        let test = Test::new(&["new", "--base", ".", "--no-input", "x"]);
        let server = disturbing(test.base(), close_inbox);
        let failed = by_api(test, &server).run().code(1);
        std::fs::remove_file(failed.base().join("inbox")).unwrap();
        let sessions = failed.files("sessions");
        let find = |end: &str| sessions.keys().find(|name| name.ends_with(end)).unwrap();
        if !has_booked {
            // As after a kill between both.
            let books = failed.base().join("sessions").join(find("usage.jsonl"));
            std::fs::remove_file(books).unwrap();
        }
        let id = find("held-answer.json").split('/').next().unwrap();
        let books = failed.base().join("sessions").join(id).join("usage.jsonl");
        let flags = [&["resume", "--base", ".", "--no-input"], flags].concat();
        let _finished = by_api(Test::after(failed, &flags), &server).run().code(0);
        assert_eq!(server.requests().len(), lines);
        let books = std::fs::read_to_string(books).unwrap();
        assert_eq!(books.lines().count(), lines, "{has_booked}: {books}");
    }
}

#[test]
fn an_answer_that_cannot_be_kept_beside_the_session_is_kept_elsewhere() {
    let test = Test::new(&["new", "--base", ".", "--no-input", "x"]);
    let server = disturbing(test.base(), close_inbox_and_session);
    let elsewhere = test.base().with_file_name("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let test = by_api(test, &server).environment("TMPDIR", elsewhere.to_str().unwrap());
    let failed = test.run().code(1);
    let files = || std::fs::read_dir(&elsewhere).unwrap().flatten();
    let find = |end: &str| {
        let mut paths = files().map(|file| file.path());
        paths.find(|path| path.to_str().unwrap().ends_with(end))
    };
    let kept = find(".txt").unwrap();
    assert!(
        std::fs::read_to_string(&kept)
            .unwrap()
            .contains("CREATE_FILE")
    );
    let failed = failed.said(kept.to_str().unwrap());
    let failed = failed.said(" tokens of this answer are not booked yet");
    let said = format!("{}{}", failed.stdout, failed.stderr);
    assert!(!said.contains("Nothing is lost"), "{said}");
    // They are booked once, when that is possible again.
    let books = open_session(&failed);
    std::fs::remove_file(failed.base().join("inbox")).unwrap();
    let mut finished = failed;
    for _ in 0..2 {
        let flags = ["resume", "--base", ".", "--api", "off", "--no-wait"];
        let test = Test::after(finished, &flags);
        let test = test.environment("TMPDIR", elsewhere.to_str().unwrap());
        finished = test.run().code(0);
        let booked = std::fs::read_to_string(&books).unwrap();
        assert_eq!(booked.lines().count(), 1, "{booked}");
        assert_eq!(find(".usage.json"), None);
    }
}

#[test]
fn an_answer_that_can_be_kept_nowhere_is_printed() {
    let test = Test::new(&["new", "--base", ".", "--no-input", "x"]);
    let server = disturbing(test.base(), close_inbox_and_session);
    let test = by_api(test, &server).environment("TMPDIR", "/dev/null");
    let failed = test.run().code(1).said("it is printed above");
    let said = format!("{}{}", failed.stdout, failed.stderr);
    assert!(
        said.contains("[CREATE_FILE path=\"a.txt\"]\none\n"),
        "{said}"
    );
    assert!(!said.contains("Nothing is lost"), "{said}");
}

#[cfg(unix)]
#[test]
fn nothing_is_asked_for_if_it_cannot_be_booked() {
    let (server, finished, books) = booked();
    let moved = finished.base().join("moved.jsonl");
    std::fs::rename(&books, &moved).unwrap();
    let flags = ["resume", "--base", ".", "--no-input"];
    let resume = |finished| {
        let stopped = by_api(Test::after(finished, &flags), &server).run();
        let stopped = stopped.code(1).said("usage.jsonl");
        assert_eq!(server.requests().len(), 1);
        std::fs::remove_file(&books)
            .or_else(|_| std::fs::remove_dir(&books))
            .unwrap();
        stopped
    };
    std::os::unix::fs::symlink(&moved, &books).unwrap();
    let finished = resume(finished);
    std::fs::create_dir(&books).unwrap();
    let finished = resume(finished);
    let made = std::process::Command::new("mkfifo").arg(&books).status();
    assert!(made.unwrap().success());
    resume(finished).said("it is not a regular file");
}

#[test]
fn a_resume_can_allow_fewer_rounds() {
    let server = ModelServer::start(vec![
        create("a.txt", "1"),
        Answer::Hang,
        create("b.txt", "2"),
        done(),
    ]);
    let running = by_api(Test::new(&["new", "--no-input", "x"]), &server).start();
    wait_until("the second request", || server.requests().len() == 2);
    let flags = ["resume", "--no-input", "--max-rounds", "1"];
    let resumed = by_api(Test::after(running.kill(), &flags), &server).run();
    resumed.code(3).workspace("b.txt", "2\n");
    assert_eq!(server.requests().len(), 3);
}

/// A server that does not have the model, and is silent when it is asked which ones it has.
fn silent_about_models() -> (String, std::sync::mpsc::Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (asked, is_asked) = std::sync::mpsc::channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let Some(seen) = read_request(&mut stream) else {
                continue;
            };
            if seen.path.ends_with("/models") {
                let _ = asked.send(stream);
            } else {
                let body = r#"{"error":{"code":"model_not_found","message":"no"}}"#;
                let _ = stream.write_all(plain("404 No", "", body).as_bytes());
            }
        }
    });
    (url, is_asked)
}

#[test]
fn one_ctrl_c_ends_the_question_for_the_models() {
    for arguments in [
        &["new", "--no-input", "--model", "one", "x"][..],
        &["new", "--no-input", "x"],
        &["ask", "--no-input", "why?"],
        &["ask", "--no-input", "--model", "one", "why?"],
    ] {
        let (url, is_asked) = silent_about_models();
        let running = Test::new(arguments)
            .environment("Agent__Api", "custom")
            .environment("Agent__ApiUrl", &url)
            .start();
        let minute = std::time::Duration::from_mins(1);
        let stream = is_asked.recv_timeout(minute).unwrap();
        running.signal("INT");
        let stopped = running.wait();
        assert_ne!(stopped.status.code(), Some(0), "{arguments:?}");
        drop(stream);
    }
}

#[test]
fn what_needs_a_person_is_refused_where_there_is_none() {
    let push = || reply("[RUN_COMMAND]\ngit push\n[/RUN_COMMAND]");
    let server = ModelServer::start(vec![push(), done()]);
    let test = Test::new(&["new", "--no-input", "--approval", "ask", "x"]);
    by_api(test, &server).run().code(0);
    let told = server.requests()[1].body["messages"][2]["content"].to_string();
    assert!(told.contains("1. [REFUSED] RUN_COMMAND"), "{told}");
}

#[cfg(unix)]
#[test]
fn a_question_waits_for_a_decision_from_elsewhere_and_is_notified() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = ModelServer::start(vec![create("a.txt", "one"), done()]);
    let test = Test::new(&["new", "--approval", "ask", "--notify", "desktop", "x"]);
    let (base, notified) = (test.base(), test.base().with_file_name("notified"));
    let programs = base.with_file_name("programs");
    let program = programs.join("notify-send");
    std::fs::create_dir(&programs).unwrap();
    let script = format!("#!/bin/sh\necho \"$*\" >> {}\n", notified.display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        programs.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let running = by_api(test, &server)
        .environment("PATH", &path)
        .environment("DISPLAY", ":99")
        .start();
    wait_until("the notification", || {
        std::fs::read_to_string(&notified).is_ok_and(|text| text.ends_with('\n'))
    });
    let approved = agent(&base).args(["approve", "all"]).output().unwrap();
    assert!(approved.status.success(), "{approved:?}");
    let _finished = running.wait().code(0).workspace("a.txt", "one\n");
    let notified = std::fs::read_to_string(notified).unwrap();
    assert_eq!(
        notified,
        "--app-name agent agent A question waits for you.\n"
    );
}

#[test]
fn a_conversation_beyond_the_window_is_sent_with_a_summary_of_its_oldest_rounds() {
    let prose = "some words of the model ".repeat(150);
    let rounds = (1..=6).map(|number| {
        let file = format!("[CREATE_FILE path=\"{number}.txt\"]\n{number}\n[/CREATE_FILE]");
        Answer::Text(format!("{prose}\n\n``````\n{file}\n``````\n"))
    });
    let server = ModelServer::start(rounds.chain([done()]).collect());
    let test = Test::new(&["new", "--no-input", "--api-window", "6000", "x"]);
    let finished = by_api(test, &server).run().code(0);
    let finished = finished
        .said("longer than the model's window")
        .said("sent as a summary");
    let requests = server.requests();
    let last = requests[6].body["messages"].as_array().unwrap();
    assert!(last.len() < 9, "{}", last.len());
    assert_eq!(roles(&requests[6]).last().unwrap(), "user");
    let first = last[0]["content"].as_str().unwrap();
    assert!(first.starts_with(finished.outbox(1).trim_end()), "{first}");
    assert!(first.contains("- round 1: changed 1.txt"), "{first}");
    let characters: usize = last
        .iter()
        .map(|turn| turn["content"].as_str().unwrap().len())
        .sum();
    assert!(characters < 6_000 * 4, "{characters}");
}

#[test]
fn costs_are_told_everywhere() {
    let server = ModelServer::start(vec![create("a.txt", "one"), done()]);
    let test = Test::new(&["new", "--no-input", "--json", "--api-price", "10/20", "x"]);
    let finished = by_api(test, &server).run().code(0);
    // 2,000 tokens sent at $10 and 100 received at $20 for a million.
    let answered: Vec<Value> = (finished.stdout.lines())
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["event"] == "api" && event["what"] == "answered")
        .collect();
    assert_eq!(answered[1]["costMicros"], 11_000);
    assert_eq!(answered[1]["sessionCostMicros"], 22_000);
    let base = finished.base();
    let told = |arguments: &[&str]| {
        let told = agent(&base).args(arguments).output().unwrap();
        String::from_utf8_lossy(&told.stdout).into_owned()
    };
    for arguments in [
        &["status", "latest"][..],
        &["list"],
        &["show", "latest"],
        &["export", "latest"],
        &["export", "latest", "--format", "html"],
    ] {
        let told = told(arguments);
        assert!(told.contains("$0.022"), "{arguments:?}: {told}");
    }
    for arguments in [
        &["status", "latest", "--json"][..],
        &["list", "--json"],
        &["export", "latest", "--format", "json"],
    ] {
        let told: Value = serde_json::from_str(&told(arguments)).unwrap();
        let usage = &told["usage"];
        assert_eq!(
            (&usage["costMicros"], &usage["output"]),
            (&json!(22_000), &json!(100)),
            "{arguments:?}: {told}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_reply_of_a_megabyte_takes_little_more_memory_than_a_short_one() {
    let peak = |answer: Answer| {
        // The last request hangs, so that the process can be looked at.
        let server = ModelServer::start(vec![answer, Answer::Hang]);
        let running = by_api(Test::new(&["new", "--no-input", "x"]), &server).start();
        wait_until("the second request", || server.requests().len() == 2);
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", running.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        running.kill();
        kilobytes.unwrap()
    };
    let short = peak(create("a.txt", "one"));
    let long = peak(create("a.txt", &"some words of a line\n".repeat(50_000)));
    let times = long.saturating_sub(short) / 1024;
    println!("a reply of 1 MB takes {short} to {long} KB, {times} times its length more");
    assert!(times < 20, "{short} to {long} KB");
}

#[test]
fn one_question_is_answered_as_it_streams() {
    let server = ModelServer::start(vec![Answer::Text("In `a.rs`.\n".to_owned())]);
    let test = Test::new(&["ask", "--add", "workspace/a.rs", "where?"])
        .file("workspace/a.rs", "fn main() {}\n");
    let test = test.file("appsettings.json", "{}");
    let finished = has_no_key(by_api(test, &server).run().code(0).said("1,050 tokens"));
    assert_eq!(finished.stdout, "In `a.rs`.\n");
    let sent = server.requests()[0].body["messages"][0]["content"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        sent.contains("fn main() {}") && sent.trim_end().ends_with("where?"),
        "{sent}"
    );
    assert!(!finished.base().join("outbox").exists());
    // Without an API the person carries it.
    let by_hand = Test::after(finished, &["ask", "where?"])
        .input("It is there.\n")
        .run()
        .code(0);
    assert_eq!(by_hand.stdout, "It is there.\n");
    by_hand.said("## Question\nwhere?");
}

#[test]
fn an_answer_to_a_question_can_be_applied() {
    let answer = "So:\n\n```diff\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-fn main() {}\n+fn main() { run(); }\n```\n";
    let server = ModelServer::start(vec![Answer::Text(answer.to_owned())]);
    let test = Test::new(&["ask", "--add", "workspace/a.rs", "how?"])
        .file("workspace/a.rs", "fn main() {}\n")
        .file("appsettings.json", "{}");
    let asked = by_api(test, &server).run().code(0);
    let asked = asked.workspace("a.rs", "fn main() {}\n");
    let answer = asked.stdout.clone();
    let applied = Test::after(asked, &["apply", "--workspace", "workspace", "answer.md"])
        .file("answer.md", answer);
    applied
        .run()
        .code(0)
        .workspace("a.rs", "fn main() { run(); }\n");
}

#[test]
fn the_api_is_tried_and_told() {
    let server = ModelServer::start(vec![Answer::Text("OK\nOK\n".to_owned())]);
    let finished = by_api(Test::new(&["api", "test"]), &server).run().code(0);
    for words in [
        "with a key",
        "`one` is one of them",
        "`one` answers",
        "streams",
        "no price is known",
    ] {
        assert!(
            finished.stdout.contains(words),
            "{words}: {}",
            finished.stdout
        );
    }
    has_no_key(finished);
    // One word is one piece, of a stream all the same.
    let word = vec![piece("content", "OK"), finish("stop")];
    let server = ModelServer::start(vec![Answer::Events(word)]);
    let finished = by_api(Test::new(&["api", "test"]), &server).run().code(0);
    for words in [
        "the answer streams",
        "the server has 2 models",
        "does not count",
    ] {
        assert!(finished.stdout.contains(words), "{}", finished.stdout);
    }
    let server = ModelServer::start(vec![Answer::Text("OK\n".to_owned())]);
    let doctor = by_api(Test::new(&["doctor"]), &server).run();
    assert!(doctor.stdout.contains("`one` answers"), "{}", doctor.stdout);
    has_no_key(doctor);
    let server = ModelServer::start(vec![Answer::Status("401 No", "", "{}".to_owned())]);
    let doctor = by_api(Test::new(&["doctor"]), &server).run();
    assert!(
        doctor.stdout.contains("`one` does not answer"),
        "{}",
        doctor.stdout
    );
    let no = json!({"choices": [{"delta": {"refusal": "no"}, "finish_reason": "content_filter"}]});
    let server = ModelServer::start(vec![Answer::Events(vec![no])]);
    let finished = by_api(Test::new(&["api", "test"]), &server).run().code(1);
    assert!(
        finished.stdout.contains("problem  `one` refuses to answer"),
        "{}",
        finished.stdout
    );
    let server = ModelServer::start(vec![Answer::Status("401 No", "", "{}".to_owned())]);
    let finished = by_api(Test::new(&["api", "test"]), &server).run().code(1);
    assert!(
        finished.stdout.contains("problem  `one` does not answer"),
        "{}",
        finished.stdout
    );
    Test::new(&["api", "test"])
        .run()
        .code(2)
        .said("no API is chosen");
    let list = Test::new(&["api", "list"]).run().code(0);
    assert!(list.stdout.contains("ANTHROPIC_API_KEY"));
}

/// A reply that the loop does not take is asked for again, and not for ever.
#[test]
fn replies_of_no_use_end_in_an_error() {
    let echo = || Answer::Text("\u{0}\u{1}\u{2}\u{3}\u{4}\u{5}".to_owned());
    let server = ModelServer::start(vec![echo(), echo(), echo()]);
    let finished = by_api(Test::new(&["new", "--no-input", "x"]), &server)
        .run()
        .code(1);
    finished.said("were of no use");
    assert_eq!(server.requests().len(), 2);
}

#[cfg(target_os = "linux")]
mod at_a_terminal {
    use super::*;
    use crate::terminal::{CTRL_C, Terminal, has_script};

    /// A session at a terminal, which asks the server.
    fn open(server: &ModelServer) -> Option<Terminal> {
        let environment = [
            ("Agent__Api", "custom"),
            ("Agent__ApiUrl", server.url.as_str()),
            ("Agent__Model", "one"),
            ("AGENT_API_KEY", KEY),
        ];
        has_script().then(|| Terminal::open(Test::new(&[]), "new task", &environment))
    }

    #[test]
    fn ctrl_c_keeps_what_came_and_asks() {
        let half = "``````\n[CREATE_FILE path=\"a.txt\"]\none\n[/CREATE_FILE]\n[RUN_COMMAND]\nech";
        let server = ModelServer::start(vec![
            Answer::Stall(half.to_owned()),
            Answer::Stall(half.to_owned()),
            done(),
        ]);
        let Some(mut terminal) = open(&server) else {
            return;
        };
        // What the model writes is shown while it comes.
        terminal.expect("answering");
        terminal.type_in(CTRL_C);
        terminal.expect("Use the part of the reply");
        terminal.type_in("n\r");
        terminal.expect("Ask custom one again?");
        terminal.type_in("y\r");
        wait_until("the second request", || server.requests().len() == 2);
        terminal.expect("answering");
        terminal.type_in(CTRL_C);
        terminal.expect("Use the part of the reply");
        terminal.type_in("y\r");
        terminal.expect("cut off");
        let (code, shown) = terminal.close();
        assert_eq!(code, Some(0), "{shown}");
        assert!(!shown.contains(KEY));
        assert_eq!(server.requests().len(), 3);
    }

    #[test]
    fn ctrl_c_ends_the_wait_for_an_answer_to_a_question() {
        if !has_script() {
            return;
        }
        let test = || Test::new(&[]).file("appsettings.json", "{}");
        let mut terminal = Terminal::open(test(), "ask why", &[]);
        terminal.expect("Type or paste the answer");
        terminal.type_in(CTRL_C);
        let (code, shown) = terminal.close();
        assert_eq!(code, Some(130), "{shown}");
    }

    #[test]
    fn a_long_line_that_is_pasted_at_a_terminal_is_whole() {
        if !has_script() {
            return;
        }
        let long = format!("A{}Z", "y".repeat(20_000));
        // A paste that the terminal marks, and one that it does not.
        for (pasted, end) in [
            (format!("\x1b[200~{long}\r.\rmore\r\x1b[201~"), "\x04"),
            (format!("{long}\r\rmore\r"), ".\r"),
        ] {
            let dot = if end == "\x04" { "." } else { "" };
            let expected = format!("{long}\n{dot}\nmore\n");
            let test = Test::new(&[]).file("appsettings.json", "{}");
            let mut terminal = Terminal::open(test, "ask why > ../answer.md", &[]);
            terminal.expect("Type or paste the answer");
            terminal.type_in(&pasted);
            terminal.expect("more");
            terminal.type_in(end);
            let answer = terminal.base().join("../answer.md");
            let test = terminal.take_test();
            let (code, shown) = terminal.close();
            assert_eq!(code, Some(0), "{shown}");
            assert_eq!(std::fs::read_to_string(answer).unwrap(), expected);
            drop(test);
            let begun = Test::new(&["new", "--no-wait", "task"]).run().code(0);
            let mut terminal = Terminal::open(Test::after(begun, &[]), "paste -", &[]);
            terminal.expect("Type or paste the reply");
            terminal.type_in(&pasted);
            terminal.expect("more");
            terminal.type_in(end);
            terminal.expect("Saved as");
            let inbox = terminal.base().join("inbox");
            let files = std::fs::read_dir(inbox).unwrap().flatten();
            let mut replies = files.filter(|file| file.path().extension().is_some());
            let reply = std::fs::read_to_string(replies.next().unwrap().path()).unwrap();
            assert_eq!(reply, expected);
            let (code, shown) = terminal.close();
            assert_eq!(code, Some(0), "{shown}");
        }
    }

    /// The key is typed wherever something can be typed.
    #[test]
    fn a_key_that_is_typed_is_nowhere() {
        let by_variable = [("AGENT_API_KEY", KEY)];
        let by_command = [("MINE", KEY), ("Agent__ApiKeyCommand", "echo $MINE")];
        for key in [&by_variable[..], &by_command] {
            let server = ModelServer::start(vec![
                reply("[ASK_USER]\nWhich key?\n[/ASK_USER]"),
                create("a.txt", "1"),
                Answer::Stall("Let me see".to_owned()),
            ]);
            let api = [
                ("Agent__Api", "custom"),
                ("Agent__ApiUrl", server.url.as_str()),
                ("Agent__Model", "one"),
            ];
            if !has_script() {
                return;
            }
            let task = format!("new --approval ask 'use {KEY}'");
            let test = Test::new(&[]);
            let mut terminal = Terminal::open(test, &task, &[&api[..], key].concat());
            terminal.expect("Your answer:");
            terminal.type_in(&format!("{KEY}\r"));
            terminal.expect("[y] yes");
            terminal.type_in(&format!("n not with {KEY}\r"));
            wait_until("the last request", || server.requests().len() == 3);
            terminal.type_in(&format!("/sya {KEY}\r"));
            terminal.expect("There is no `/sya`");
            terminal.type_in(&format!("/rename {KEY}\r"));
            terminal.expect("runs in another terminal");
            terminal.type_in(&format!("note {KEY}\r"));
            terminal.expect("Noted");
            terminal.type_in(&format!("unsent {KEY}"));
            terminal.expect("unsent");
            terminal.type_in("/");
            terminal.type_in(CTRL_C);
            terminal.expect("Use the part");
            terminal.type_in(CTRL_C);
            terminal.expect("Nothing is lost");
            let base = terminal.base();
            ensure_keyless(base.parent().unwrap());
            let history =
                std::fs::read_to_string(base.with_file_name("state").join("agent/history"));
            assert_eq!(history.unwrap().matches("<API key>").count(), 4);
            ensure_told_keyless(&base);
            let told = server.requests()[2].body.to_string();
            assert!(
                !told.contains(KEY) && told.contains("not with <API key>"),
                "{told}"
            );
            assert_eq!(terminal.close().0, Some(130));
        }
    }

    #[test]
    fn ctrl_c_at_the_question_keeps_what_came() {
        let half = "``````\n[CREATE_FILE path=\"a.txt\"]\none\n[/CREATE_FILE]\n[RUN_COMMAND]\nech";
        let server = ModelServer::start(vec![Answer::Stall(half.to_owned())]);
        let Some(mut terminal) = open(&server) else {
            return;
        };
        terminal.expect("answering");
        terminal.type_in(CTRL_C);
        terminal.expect("Use the part of the reply");
        terminal.type_in(CTRL_C);
        terminal.expect("Nothing is lost");
        let base = terminal.base();
        wait_until("the reply is kept", || {
            let files = std::fs::read_dir(base.join("inbox")).unwrap().flatten();
            let mut texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
            texts.any(|text| text == half)
        });
        assert_eq!(terminal.close().0, Some(130));
    }

    /// As one that was stopped with Ctrl-S.
    #[test]
    fn a_terminal_that_takes_nothing_loses_no_answer_and_a_termination_ends_it() {
        let words = "words of the model\n".repeat(40_000);
        let Answer::Text(commands) = create("a.txt", "one") else {
            unreachable!("a reply is a text")
        };
        let server = ModelServer::start(vec![Answer::Text(words + &commands), done()]);
        if !has_script() {
            return;
        }
        let test = by_api(Test::new(&[]), &server);
        let mut script = std::process::Command::new("script");
        let line = format!("'{}' new --verbose task", crate::harness::program());
        let plain = agent(&test.base());
        let plain = plain
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)));
        let mut child = script
            .args(["-qfec", &line, "/dev/null"])
            .current_dir(test.base())
            .env_clear()
            .envs(plain)
            .envs([
                ("TERM", "xterm"),
                ("Agent__Api", "custom"),
                ("Agent__ApiUrl", &server.url),
                ("Agent__Model", "one"),
            ])
            .stdin(std::process::Stdio::piped())
            // Nobody reads it.
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let processed = test.base().join("inbox/processed");
        wait_until("the reply", || {
            std::fs::read_dir(&processed).is_ok_and(|mut files| files.next().is_some())
        });
        let holder = std::fs::read_to_string(test.base().join("sessions/loop.json"));
        let holder: Value = serde_json::from_str(&holder.unwrap()).unwrap();
        let kill = std::process::Command::new("kill")
            .args(["-s", "TERM", &holder["process"].to_string()])
            .status();
        assert!(kill.unwrap().success());
        let process = std::path::PathBuf::from(format!("/proc/{}/stat", holder["process"]));
        wait_until("the end", || {
            std::fs::read_to_string(&process).map_or(true, |stat| stat.contains(") Z "))
        });
        child.kill().unwrap();
        child.wait().unwrap();
        let resumed = test.arguments(&["resume", "--no-input"]).run().code(0);
        resumed.workspace("a.txt", "one\n");
        assert_eq!(server.requests().len(), 2);
    }

    /// Kills the program at the question about what came, and gives its directories.
    fn killed_at_the_question(server: &ModelServer) -> Option<Test> {
        let mut terminal = open(server)?;
        terminal.expect("answering");
        terminal.type_in(CTRL_C);
        terminal.expect("Use the part of the reply");
        let holder = std::fs::read_to_string(terminal.base().join("sessions/loop.json"));
        let holder: Value = serde_json::from_str(&holder.unwrap()).unwrap();
        let kill = std::process::Command::new("kill")
            .args(["-s", "KILL", &holder["process"].to_string()])
            .status();
        assert!(kill.unwrap().success());
        let test = terminal.take_test();
        terminal.close();
        Some(test)
    }

    #[test]
    fn a_kill_at_the_question_keeps_what_came() {
        let half = "``````\n[CREATE_FILE path=\"a.txt\"]\none\n[/CREATE_FILE]\n[RUN_COMMAND]\nech";
        let stall = || Answer::Stall(half.to_owned());
        // Without a terminal it is used.
        let server = ModelServer::start(vec![stall(), done()]);
        let Some(test) = killed_at_the_question(&server) else {
            return;
        };
        let resumed = by_api(test.arguments(&["resume", "--no-input"]), &server).run();
        resumed.code(0).said("cut off").workspace("a.txt", "one\n");
        assert_eq!(server.requests().len(), 2);
        // At a terminal it is asked about again, as often as the program is killed.
        for (answer, has_file) in [("y\r", true), ("n\r", false)] {
            let server = ModelServer::start(vec![stall(), done(), done()]);
            let mut test = killed_at_the_question(&server).unwrap();
            let environment = [
                ("Agent__Api", "custom"),
                ("Agent__ApiUrl", server.url.as_str()),
                ("Agent__Model", "one"),
                ("AGENT_API_KEY", KEY),
            ];
            for typed in [CTRL_C, answer] {
                let mut terminal = Terminal::open(test, "resume", &environment);
                terminal.expect("Use the part of the reply");
                terminal.expect("[y]");
                terminal.type_in(typed);
                test = terminal.take_test();
                let code = if typed == CTRL_C { 130 } else { 0 };
                let (ended, shown) = terminal.close();
                assert_eq!(ended, Some(code), "{shown}");
            }
            assert_eq!(test.base().join("workspace/a.txt").exists(), has_file);
            assert_eq!(server.requests().len(), 2);
        }
    }

    /// Waits until half of a reply is in the inbox, and the session has ended with this code.
    #[track_caller]
    fn ends_without_a_question(terminal: Terminal, half: &str, code: i32) {
        let inbox = terminal.base().join("inbox");
        wait_until("the reply is kept", || {
            let files = std::fs::read_dir(&inbox).unwrap().flatten();
            let mut texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
            texts.any(|text| text == half)
        });
        let (ended, shown) = terminal.close();
        assert_eq!(ended, Some(code), "{shown}");
        assert!(!shown.contains("Use the part"), "{shown}");
        let stopped = shown.find("was stopped").unwrap();
        assert!(stopped < shown.find("Paused").unwrap(), "{shown}");
    }

    #[test]
    fn quit_and_a_termination_leave_without_a_question() {
        let half = "``````\n[CREATE_FILE path=\"a.txt\"]\none\n[/CREATE_FILE]\n[RUN_COMMAND]\nech";
        let stall = || ModelServer::start(vec![Answer::Stall(half.to_owned())]);
        let server = stall();
        let Some(mut terminal) = open(&server) else {
            return;
        };
        terminal.expect("answering");
        terminal.type_in("/quit\r");
        ends_without_a_question(terminal, half, 0);
        for signal in ["TERM", "HUP"] {
            let server = stall();
            let Some(mut terminal) = open(&server) else {
                return;
            };
            terminal.expect("answering");
            let holder = std::fs::read_to_string(terminal.base().join("sessions/loop.json"));
            let holder: Value = serde_json::from_str(&holder.unwrap()).unwrap();
            let kill = std::process::Command::new("kill")
                .args(["-s", signal, &holder["process"].to_string()])
                .status();
            assert!(kill.unwrap().success());
            ends_without_a_question(terminal, half, 130);
        }
    }

    #[test]
    fn a_failure_is_told_and_the_person_asks_again() {
        let busy = |seconds| Answer::Status("503 Busy", seconds, "{}".to_owned());
        let server = ModelServer::start(vec![
            busy("retry-after: 4\r\n"),
            Answer::Status("401 No", "", "{}".to_owned()),
            done(),
        ]);
        let Some(mut terminal) = open(&server) else {
            return;
        };
        terminal.expect("next try in ");
        terminal.expect("does not accept the key");
        terminal.expect("Ask custom one again?");
        terminal.type_in("y\r");
        let (code, shown) = terminal.close();
        assert_eq!(code, Some(0), "{shown}");
        // It counts down; a busy machine may skip a second.
        let seconds: Vec<u32> = shown
            .split("next try in ")
            .skip(1)
            .map(|rest| rest.split(' ').next().unwrap().parse().unwrap())
            .collect();
        assert!(seconds.iter().all(|second| *second <= 4), "{shown}");
        assert!(seconds.is_sorted_by(|a, b| a >= b), "{shown}");
    }
}
