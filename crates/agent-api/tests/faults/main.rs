//! The client against servers that break, stall, lie, redirect and refuse: nothing is lost, nothing
//! is told twice, nothing hangs, and the key goes nowhere else.

#![allow(clippy::unwrap_used)]

mod server;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use agent_api::{
    ApiClient, ApiEndpoint, ApiError, ApiErrorKind, ApiKey, ChatTurn, Completion, CompletionEnd,
    ModelRequest, Provider, RequestProgress, RetryPolicy, StopSignal,
};

use self::server::{Act, STREAM_HEAD, Server, plain, read_request};

const KEY: &str = "sk-0123456789abcdef";
const PROVIDERS: [&str; 3] = ["llamacpp", "openai", "anthropic"];

/// A short wait between tries, so that tests are quick.
const IMPATIENT: RetryPolicy = RetryPolicy {
    tries: 4,
    first_wait: Duration::from_millis(2),
    longest_wait: Duration::from_millis(5),
    longest_asked: Duration::from_secs(2),
};

fn client(provider: &str, url: &str) -> ApiClient {
    let provider = Provider::named(provider).unwrap();
    let endpoint = ApiEndpoint::new(provider, Some(url), ApiKey::new(KEY)).unwrap();
    ApiClient::new(endpoint)
        .with_retries(IMPATIENT)
        .with_idle_limit(Duration::from_secs(10))
}

fn request() -> ModelRequest {
    ModelRequest::new("m", vec![ChatTurn::user("hi")])
}

/// An answer, the text as it was told, and the waits between tries.
#[derive(Debug)]
struct Told {
    answer: Result<Completion, ApiError>,
    text: String,
    waits: Vec<ApiErrorKind>,
}

fn ask(client: &ApiClient) -> Told {
    ask_until(client, &StopSignal::default())
}

fn ask_until(client: &ApiClient, stop: &StopSignal) -> Told {
    let (mut text, mut waits) = (String::new(), Vec::new());
    let answer = client.complete(&request(), stop, &mut |progress| match progress {
        RequestProgress::Text(piece) => text.push_str(piece),
        RequestProgress::Waiting { why, .. } => waits.push(why.kind),
        RequestProgress::Sending { .. } | RequestProgress::Reasoning(_) => {}
    });
    Told {
        answer,
        text,
        waits,
    }
}

/// `Hello!` as a stream of the provider's wire, event by event.
fn hello(provider: &str) -> Vec<String> {
    let events: &[&str] = match provider {
        "openai" => &[
            r#"{"type":"response.output_text.delta","delta":"Hel"}"#,
            r#"{"type":"response.output_text.delta","delta":"lo!"}"#,
            r#"{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":3,"output_tokens":2}}}"#,
        ],
        "anthropic" => &[
            r#"{"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":0}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo!"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        _ => &[
            r#"{"choices":[{"delta":{"content":"Hel"}}]}"#,
            r#"{"choices":[{"delta":{"content":"lo!"}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#,
            "[DONE]",
        ],
    };
    events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect()
}

#[test]
fn a_whole_answer_on_every_wire() {
    for provider in PROVIDERS {
        let server = Server::start(vec![Act::Stream(hello(provider))]);
        let told = ask(&client(provider, &server.url()));
        let answer = told.answer.unwrap();
        assert_eq!(
            (answer.text.as_str(), told.text.as_str()),
            ("Hello!", "Hello!")
        );
        assert_eq!(answer.end, CompletionEnd::Whole);
        assert_eq!(
            (answer.usage.input, answer.usage.output),
            (3, 2),
            "{provider}"
        );
        let request = &server.requests()[0];
        let (header, path) = match provider {
            "anthropic" => ("x-api-key", "/v1/messages"),
            "openai" => ("authorization", "/v1/responses"),
            _ => ("authorization", "/v1/chat/completions"),
        };
        assert!(request.header(header).unwrap().ends_with(KEY));
        assert!(
            request.line.starts_with(&format!("POST {path} ")),
            "{}",
            request.line
        );
        assert!(!request.body.contains(KEY));
    }
}

#[test]
fn a_stream_broken_at_every_byte_loses_nothing_and_repeats_nothing() {
    for provider in PROVIDERS {
        let pieces = hello(provider);
        let length = STREAM_HEAD.len() + pieces.concat().len();
        for at in 0..=length {
            // What comes after a break is another answer, which must not be mixed with the first.
            let server = Server::start(vec![
                Act::Break(pieces.clone(), at),
                Act::Stream(hello(provider)),
            ]);
            let told = ask(&client(provider, &server.url()));
            let answer = told
                .answer
                .unwrap_or_else(|error| panic!("{provider} at {at}: {error}"));
            assert_eq!(answer.text, told.text, "{provider} at {at}");
            match &answer.end {
                CompletionEnd::Whole => assert_eq!(answer.text, "Hello!", "{provider} at {at}"),
                CompletionEnd::Broken(_) => {
                    assert!(["Hel", "Hello!"].contains(&answer.text.as_str()));
                    assert_eq!(answer.tries, 1, "{provider} at {at}");
                }
                other => panic!("{provider} at {at}: {other:?}"),
            }
        }
    }
}

/// An event of chat completions with this piece in this field.
fn piece(field: &str, text: &str) -> String {
    let json = serde_json::json!({"choices": [{"delta": {field: text}}]});
    format!("data: {json}\n\n")
}

#[test]
fn a_key_that_the_model_writes_is_passed_on_in_no_piece() {
    for size in [1, 5, KEY.len() - 1, KEY.len()] {
        let said = format!("it is {KEY}, or {KEY}");
        let characters: Vec<char> = said.chars().collect();
        let pieces = |field: &str| -> Vec<String> {
            let chunks = characters.chunks(size);
            chunks
                .map(|chunk| piece(field, &chunk.iter().collect::<String>()))
                .collect()
        };
        let end = hello("llamacpp").split_off(2);
        let stream = [pieces("reasoning_content"), pieces("content"), end].concat();
        let server = Server::start(vec![Act::Stream(stream)]);
        let (mut text, mut reasoning) = (String::new(), String::new());
        let client = client("llamacpp", &server.url());
        let answer =
            client.complete(
                &request(),
                &StopSignal::default(),
                &mut |progress| match progress {
                    RequestProgress::Text(piece) => text.push_str(piece),
                    RequestProgress::Reasoning(piece) => reasoning.push_str(piece),
                    RequestProgress::Sending { .. } | RequestProgress::Waiting { .. } => {}
                },
            );
        let expected = "it is <API key>, or <API key>";
        assert_eq!(
            [&text, &reasoning],
            [expected, expected],
            "pieces of {size}"
        );
        assert_eq!(answer.unwrap().text, expected);
    }
    // Most of a key at a break is as good as the key.
    let stream = vec![piece(
        "content",
        &format!("it is {}", &KEY[..KEY.len() - 1]),
    )];
    let server = Server::start(vec![Act::Stream(stream)]);
    let told = ask(&client("llamacpp", &server.url()));
    assert_eq!(told.text, "it is <API key>");
    assert_eq!(told.answer.unwrap().text, "it is <API key>");
}

#[test]
fn a_web_page_is_named_at_once() {
    let page = |kind: &str| {
        let body = "\n<!doctype html><title>Welcome</title>";
        let length = body.len();
        let head = format!("HTTP/1.1 200 OK\r\n{kind}content-length: {length}\r\n\r\n");
        Act::Say((head + body).into_bytes())
    };
    for kind in ["content-type: text/html; charset=utf-8\r\n", ""] {
        let server = Server::start(vec![page(kind), page(kind)]);
        let client = client("llamacpp", &server.url());
        let told = ask(&client);
        let error = told.answer.unwrap_err();
        assert_eq!((error.kind, told.waits.len()), (ApiErrorKind::WebPage, 0));
        let error = client.models(&StopSignal::default()).unwrap_err();
        assert_eq!(error.kind, ApiErrorKind::WebPage);
    }
}

#[test]
fn an_answer_that_breaks_off_is_counted_by_its_length() {
    let broken = || {
        Act::Stream(vec![
            piece("reasoning_content", &"thought ".repeat(10)),
            piece("content", &"word ".repeat(20)),
        ])
    };
    let server = Server::start(vec![broken()]);
    let usage = ask(&client("llamacpp", &server.url()))
        .answer
        .unwrap()
        .usage;
    assert!(usage.is_estimated && usage.input > 10, "{usage:?}");
    assert_eq!(usage.output, 45);
    // Tries that only reasoned are counted with the answer that came in the end.
    let reasoned = Act::Stream(vec![piece("reasoning_content", &"thought ".repeat(10))]);
    let server = Server::start(vec![reasoned, Act::Stream(hello("llamacpp"))]);
    let usage = ask(&client("llamacpp", &server.url()))
        .answer
        .unwrap()
        .usage;
    assert!(usage.is_estimated && usage.input > 10, "{usage:?}");
    assert_eq!(usage.output, 22);
}

#[test]
fn a_complete_answer_that_the_server_does_not_count_is_counted_by_its_length() {
    let stream = hello("llamacpp").into_iter();
    let uncounted: Vec<String> = stream.filter(|event| !event.contains("usage")).collect();
    let server = Server::start(vec![Act::Stream(uncounted)]);
    let answer = ask(&client("llamacpp", &server.url())).answer.unwrap();
    assert_eq!(answer.end, CompletionEnd::Whole);
    let usage = answer.usage;
    assert!(usage.is_estimated && usage.input > 10, "{usage:?}");
    assert_eq!(usage.output, 2);
}

#[test]
fn a_character_in_two_events_is_one() {
    let half = |text: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
    };
    let mut stream = vec![half(r"bad \ud83d"), half(r"\ude00 end")];
    stream.extend(hello("llamacpp").split_off(2));
    let server = Server::start(vec![Act::Stream(stream)]);
    let told = ask(&client("llamacpp", &server.url()));
    let answer = told.answer.unwrap();
    assert_eq!(
        (answer.text.as_str(), answer.end),
        ("bad 😀 end", CompletionEnd::Whole)
    );
    assert_eq!(told.text, "bad 😀 end");
}

#[test]
fn the_words_of_a_giant_error_are_told_in_short_and_without_the_key() {
    let body = format!("{}{KEY} {}", "x".repeat(590), "no ".repeat(2_000_000));
    let server = Server::start(vec![plain("400 Bad", "", &body)]);
    let error = ask(&client("llamacpp", &server.url())).answer.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::BadRequest);
    assert!(error.message.starts_with("xxxx") && error.message.len() < 700);
    assert!(!error.message.contains(&KEY[..10]), "{error}");
}

#[test]
fn passing_errors_are_tried_again_and_told() {
    let quick = "retry-after: 0\r\n";
    let server = Server::start(vec![
        plain(
            "429 Too Many Requests",
            quick,
            r#"{"error":{"message":"slow down"}}"#,
        ),
        plain(
            "503 Service Unavailable",
            quick,
            r#"{"error":{"message":"Loading model"}}"#,
        ),
        plain("500 Oops", "", "<html>sorry</html>"),
        Act::Stream(hello("llamacpp")),
    ]);
    let told = ask(&client("llamacpp", &server.url()));
    assert_eq!(told.answer.unwrap().tries, 4);
    assert_eq!(
        told.waits,
        [
            ApiErrorKind::RateLimited,
            ApiErrorKind::Overloaded,
            ApiErrorKind::ServerFailed
        ]
    );
}

#[test]
fn the_number_of_tries_is_limited() {
    let busy = || plain("503 Busy", "retry-after: 0\r\n", "{}");
    let server = Server::start(vec![
        busy(),
        busy(),
        busy(),
        busy(),
        Act::Stream(hello("vllm")),
    ]);
    let told = ask(&client("llamacpp", &server.url()));
    assert_eq!(told.answer.unwrap_err().kind, ApiErrorKind::Overloaded);
    assert_eq!((told.waits.len(), server.requests().len()), (3, 4));
}

#[test]
fn the_server_says_how_long_to_wait() {
    let limited = |headers: &str| plain("429 Slow", headers, "{}");
    let server = Server::start(vec![
        limited("retry-after: 1\r\n"),
        limited("retry-after-ms: 5\r\n"),
        Act::Stream(hello("llamacpp")),
    ]);
    let begun = Instant::now();
    ask(&client("llamacpp", &server.url())).answer.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1));
    // More than the limit of the policy: told at once.
    let server = Server::start(vec![limited("retry-after: 3600\r\n")]);
    let error = ask(&client("llamacpp", &server.url())).answer.unwrap_err();
    assert_eq!(error.retry_after, Some(Duration::from_hours(1)));
    assert!(
        error.message.contains("asks to wait for 60 minutes"),
        "{error}"
    );
}

#[test]
fn lasting_errors_are_not_tried_again() {
    let case = |status: &str, body: &str, kind| {
        let server = Server::start(vec![plain(status, "", body)]);
        let told = ask(&client("llamacpp", &server.url()));
        let error = told.answer.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert_eq!(told.waits, []);
        assert!(!error.advice().is_empty());
    };
    case(
        "401 No",
        r#"{"error":{"message":"Invalid API Key"}}"#,
        ApiErrorKind::Unauthorized,
    );
    case("402 Pay", r#"{"error":"no credit"}"#, ApiErrorKind::Payment);
    case("403 No", "", ApiErrorKind::Forbidden);
    case(
        "404 No",
        r#"{"error":{"message":"model m not found"}}"#,
        ApiErrorKind::ModelNotFound,
    );
    case(
        "400 Bad",
        r#"{"error":{"code":"context_length_exceeded"}}"#,
        ApiErrorKind::ContextTooLong,
    );
    case("200 OK", "<html>", ApiErrorKind::WebPage);
    case("200 OK", r#"{"hello":1}"#, ApiErrorKind::Malformed);
}

#[test]
fn the_key_is_not_in_any_error() {
    let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#);
    let server = Server::start(vec![plain("401 No", "", &body)]);
    let error = ask(&client("llamacpp", &server.url())).answer.unwrap_err();
    assert!(error.message.contains("<API key>"), "{error}");
    assert!(!format!("{error} {error:?}").contains(KEY));
}

#[test]
fn the_key_is_not_in_the_name_of_a_model() {
    let body = format!(r#"{{"data":[{{"id":"x-{KEY}"}}]}}"#);
    let server = Server::start(vec![plain("200 OK", "", &body)]);
    let models = client("custom", &server.url())
        .models(&StopSignal::default())
        .unwrap();
    assert_eq!(models[0].name, "x-<API key>");
}

#[test]
fn a_redirect_is_not_followed_with_the_key() {
    let elsewhere = Server::start(vec![Act::Stream(hello("llamacpp"))]);
    for status in [
        "301 Moved",
        "302 Found",
        "303 Other",
        "307 Temporary",
        "308 Permanent",
    ] {
        let location = format!("location: {}/chat/completions\r\n", elsewhere.url());
        let server = Server::start(vec![plain(status, &location, "")]);
        let error = ask(&client("llamacpp", &server.url())).answer.unwrap_err();
        assert_eq!(error.kind, ApiErrorKind::Redirected, "{error}");
    }
    assert!(elsewhere.requests().is_empty());
}

#[test]
fn wrong_json_in_a_stream_is_a_cut_or_an_error() {
    let wrong = || "data: {\"choices\":[{\"delta\n\n".to_owned();
    let server = Server::start(vec![Act::Stream(vec![wrong()])]);
    let error = ask(&client("llamacpp", &server.url())).answer.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Malformed);
    let first = hello("llamacpp").swap_remove(0);
    let server = Server::start(vec![Act::Stream(vec![first, wrong()])]);
    let answer = ask(&client("llamacpp", &server.url())).answer.unwrap();
    assert_eq!(answer.text, "Hel");
    let CompletionEnd::Broken(why) = answer.end else {
        panic!("{answer:?}")
    };
    assert_eq!(why.kind, ApiErrorKind::Malformed);
}

#[test]
fn an_error_in_the_stream_is_tried_again_only_before_any_text() {
    let overloaded =
        r#"data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let overloaded = || format!("event: error\n{overloaded}\n\n");
    let server = Server::start(vec![
        Act::Stream(vec![overloaded()]),
        Act::Stream(hello("anthropic")),
    ]);
    let told = ask(&client("anthropic", &server.url()));
    assert_eq!(
        (told.waits.as_slice(), told.text.as_str()),
        (&[ApiErrorKind::Overloaded][..], "Hello!")
    );
    let mut pieces = hello("anthropic");
    pieces.insert(2, overloaded());
    let server = Server::start(vec![Act::Stream(pieces)]);
    let answer = ask(&client("anthropic", &server.url())).answer.unwrap();
    assert_eq!(answer.text, "Hel");
    assert!(matches!(answer.end, CompletionEnd::Broken(_)));
}

#[test]
fn a_slow_first_token_is_waited_for_and_a_silent_server_is_not() {
    let slow = Act::Slow(Duration::from_millis(300), hello("llamacpp"));
    let server = Server::start(vec![slow]);
    // Each pause is below the limit, all together are above.
    let patient = client("llamacpp", &server.url()).with_idle_limit(Duration::from_secs(1));
    let answer = ask(&patient).answer.unwrap();
    assert_eq!(answer.text, "Hello!");
    assert!(answer.timing.to_first >= Duration::from_millis(300));
    assert!(answer.timing.total > Duration::from_secs(1));

    let server = Server::start(vec![Act::Hang]);
    let short = client("llamacpp", &server.url()).with_idle_limit(Duration::from_millis(100));
    assert_eq!(ask(&short).answer.unwrap_err().kind, ApiErrorKind::Idle);
}

#[test]
fn an_answer_beyond_the_limit_is_cut_and_the_connection_is_closed() {
    let piece = format!(
        r#"{{"choices":[{{"delta":{{"content":"{}"}}}}]}}"#,
        "x".repeat(1 << 20)
    );
    let piece = format!("data: {piece}\n\n");
    let server = Server::start(vec![Act::Stream(vec![piece; 40])]);
    let answer = ask(&client("llamacpp", &server.url())).answer.unwrap();
    assert_eq!(answer.text.len(), 16 << 20);
    let CompletionEnd::Broken(why) = answer.end else {
        panic!("{:?}", answer.end)
    };
    assert_eq!(why.kind, ApiErrorKind::TooLong);
    server.left.recv_timeout(Duration::from_secs(20)).unwrap();
}

#[test]
fn a_stop_ends_the_request_at_once_and_keeps_what_came() {
    let stop = StopSignal::default();
    let server = Server::start(vec![Act::Hang]);
    let waiting = client("llamacpp", &server.url());
    let raised = stop.clone();
    let seen = Arc::clone(&server.seen);
    let raising = thread::spawn(move || {
        while seen.lock().unwrap().is_empty() {
            thread::yield_now();
        }
        raised.raise();
    });
    let begun = Instant::now();
    let error = ask_until(&waiting, &stop).answer.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Stopped);
    assert!(begun.elapsed() < Duration::from_secs(5));
    raising.join().unwrap();
    // The server notices.
    server.left.recv_timeout(Duration::from_secs(5)).unwrap();

    let stop = StopSignal::default();
    let mut pieces = hello("llamacpp");
    pieces.truncate(1);
    pieces.push(": wait\n\n".repeat(10));
    let server = Server::start(vec![Act::Slow(Duration::from_millis(200), pieces)]);
    let asked = client("llamacpp", &server.url());
    let mut text = String::new();
    let answer = asked.complete(&request(), &stop, &mut |progress| {
        if let RequestProgress::Text(piece) = progress {
            text.push_str(piece);
            stop.raise();
        }
    });
    let answer = answer.unwrap();
    assert_eq!(
        (answer.text.as_str(), answer.end),
        ("Hel", CompletionEnd::Stopped)
    );
}

#[test]
fn a_stop_ends_the_wait_for_the_next_try() {
    let stop = StopSignal::default();
    let server = Server::start(vec![plain("503 Busy", "retry-after: 2\r\n", "{}")]);
    let asked = client("llamacpp", &server.url());
    let begun = Instant::now();
    let answer = asked.complete(&request(), &stop, &mut |progress| {
        if let RequestProgress::Waiting { .. } = progress {
            stop.raise();
        }
    });
    assert_eq!(answer.unwrap_err().kind, ApiErrorKind::Stopped);
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let told = ask(&client("ollama", &url));
    assert_eq!(told.answer.unwrap_err().kind, ApiErrorKind::Unreachable);
    assert_eq!(told.waits.len(), 3);
}

#[test]
fn requests_go_through_a_proxy() {
    let target = Server::start(vec![Act::Stream(hello("llamacpp"))]);
    let proxy = Server::start(vec![Act::Connect(target.address.port())]);
    // The name is one that only the proxy could resolve.
    let through = client("llamacpp", "http://model.local/v1")
        .with_proxy(&format!("http://{}", proxy.address))
        .unwrap();
    assert_eq!(ask(&through).text, "Hello!");
    assert_eq!(proxy.requests()[0].line, "CONNECT model.local:80 HTTP/1.1");
    assert!(!format!("{:?}", proxy.requests()).contains(KEY));
    assert!(target.requests()[0].header("authorization").is_some());

    let refusing = Server::start(vec![plain("407 Proxy Authentication Required", "", "")]);
    let refused = client("llamacpp", "http://model.local/v1")
        .with_proxy(&format!("http://{}", refusing.address))
        .unwrap();
    let error = ask(&refused).answer.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Proxy);
    let named = format!("the proxy refused the connection: `{}`: ", refusing.address);
    assert!(error.to_string().starts_with(&named), "{error}");
    assert!(error.advice().contains("HTTP_PROXY,"));

    // Nothing listens where a server was.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = listener.local_addr().unwrap();
    drop(listener);
    let dead = client("llamacpp", "http://model.local/v1")
        .with_proxy(&format!("http://me:password@{gone}"))
        .unwrap();
    let error = ask(&dead).answer.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::ProxyUnreachable);
    let named = format!("the proxy cannot be reached: `{gone}`: ");
    assert!(error.to_string().starts_with(&named), "{error}");
}

/// A server with TLS and a certificate for `localhost`, and the certificate of its own CA.
fn tls_server(answers: usize) -> (u16, String, mpsc::Receiver<String>) {
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let mut authority = rcgen::CertificateParams::default();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = rcgen::Issuer::new(authority, authority_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let own = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let own = own.signed_by(&key, &issuer).unwrap();
    let private = rustls::pki_types::PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.der().clone()], private)
        .unwrap();
    let config = Arc::new(config);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (seen, requests) = mpsc::channel();
    thread::spawn(move || {
        for _ in 0..answers {
            let (socket, _) = listener.accept().unwrap();
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = rustls::StreamOwned::new(connection, socket);
            let Some(request) = read_request(&mut stream) else {
                continue;
            };
            seen.send(request.headers.join("\n")).unwrap();
            let answer = format!("{STREAM_HEAD}{}", hello("llamacpp").concat());
            let _ = std::io::Write::write_all(&mut stream, answer.as_bytes());
            stream.conn.send_close_notify();
            let _ = std::io::Write::flush(&mut stream);
        }
    });
    (port, authority_pem, requests)
}

#[test]
fn an_own_authority_is_trusted_only_if_it_is_named() {
    let (port, authority, requests) = tls_server(2);
    let url = format!("https://localhost:{port}/v1");
    let error = ask(&client("llamacpp", &url)).answer.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Tls, "{error}");
    // Nothing was sent to a server that nobody vouches for.
    assert!(requests.try_recv().is_err());
    let trusting = client("llamacpp", &url)
        .with_root_certificate(&authority)
        .unwrap();
    assert_eq!(ask(&trusting).answer.unwrap().text, "Hello!");
    assert!(requests.recv().unwrap().contains(KEY));
}

/// The example, which cargo builds beside the tests.
#[expect(clippy::disallowed_methods, reason = "the path is our own")]
fn example() -> Command {
    let tests: PathBuf = std::env::current_exe().unwrap();
    let target = tests.parent().and_then(std::path::Path::parent).unwrap();
    let name = format!("ask{}", std::env::consts::EXE_SUFFIX);
    let mut command = Command::new(target.join("examples").join(name));
    command.env_clear().env("LLAMA_API_KEY", KEY);
    command
}

#[test]
fn the_example_finds_authorities_and_proxies_in_its_environment() {
    let (port, authority, _requests) = tls_server(1);
    let proxy = Server::start(vec![Act::Connect(port)]);
    let directory = std::env::temp_dir().join(format!("agent-api-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("ca.pem");
    #[expect(clippy::disallowed_methods, reason = "a file of the test")]
    std::fs::write(&file, authority).unwrap();
    let proxied = example()
        .args(["llamacpp", "https://localhost.:443/v1", "m", "hi"])
        .env("SSL_CERT_FILE", &file)
        .env("HTTPS_PROXY", format!("http://{}", proxy.address))
        .output()
        .unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    let shown = String::from_utf8_lossy(&proxied.stderr);
    assert_eq!(
        String::from_utf8_lossy(&proxied.stdout),
        "Hello!",
        "{shown}"
    );
    assert!(!proxy.requests().is_empty());
    assert!(!shown.contains(KEY));
}

/// A stream of so many small pieces.
fn small_pieces(number: usize) -> Vec<String> {
    let piece = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n";
    vec![
        piece.repeat(number),
        hello("llamacpp").split_off(2).concat(),
    ]
}

/// The time that the client takes for each of so many pieces.
fn our_time(number: u32) -> Duration {
    let pieces = usize::try_from(number).unwrap();
    let server = Server::start(vec![Act::Stream(small_pieces(pieces))]);
    let begun = Instant::now();
    let told = ask(&client("llamacpp", &server.url()));
    let took = begun.elapsed();
    assert_eq!(told.answer.unwrap().text.len(), pieces * 5);
    took / number
}

/// The time for each of them that it takes to read them and to parse their JSON.
fn bare_time(number: u32) -> Duration {
    let pieces = usize::try_from(number).unwrap();
    let server = Server::start(vec![Act::Stream(small_pieces(pieces))]);
    let begun = Instant::now();
    let mut stream = std::net::TcpStream::connect(server.address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut length = 0;
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let json = line.strip_prefix("data: ");
        let json = json.and_then(|json| serde_json::from_str::<serde_json::Value>(json).ok());
        let text =
            json.and_then(|json| Some(json.pointer("/choices/0/delta/content")?.as_str()?.len()));
        length += text.unwrap_or_default();
    }
    assert_eq!(length, pieces * 5);
    begun.elapsed() / number
}

#[test]
fn a_piece_costs_little_more_than_its_json() {
    let (few, many) = (our_time(5_000), our_time(50_000));
    let bare = bare_time(50_000);
    let ratio = many.as_secs_f64() / bare.as_secs_f64();
    let growth = many.as_secs_f64() / few.as_secs_f64();
    println!(
        "a piece takes {many:?}, {ratio:.1} times its JSON alone; {growth:.1} times in a stream ten times as long"
    );
    assert!(ratio < 10.0, "{many:?} beside {bare:?}");
    assert!(growth < 4.0, "{many:?} beside {few:?}");
}

/// The largest memory that the example had while it read a reply of this length, in bytes.
#[cfg(target_os = "linux")]
fn peak_memory(length: usize) -> u64 {
    let mut pieces = small_pieces(length / 5);
    // While the server waits, the process can be looked at.
    pieces.insert(1, String::new());
    let server = Server::start(vec![Act::Slow(Duration::from_millis(400), pieces)]);
    let mut child = example()
        .args(["llamacpp", &server.url(), "m", "hi"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        peak = peak.max(kilobytes.unwrap_or_default() * 1024);
        thread::sleep(Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success());
    peak
}

#[cfg(target_os = "linux")]
#[test]
fn a_reply_is_in_memory_about_once() {
    let (short, long) = (peak_memory(5), peak_memory(1 << 20));
    let tenths = (long.saturating_sub(short) * 10) >> 20;
    let ratio = format!("{}.{}", tenths / 10, tenths % 10);
    println!("a reply of 1 MB takes {ratio} times its length, of {long} bytes in all");
    assert!(tenths < 40, "{short} to {long} bytes");
}
