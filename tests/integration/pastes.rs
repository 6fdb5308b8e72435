use std::fs;

use agent::compose::Limit;
use agent::settings::{Chat, WhenTooLong};
use serde_json::Value;

use crate::harness::{Finished, Test};

fn limit(chat: &Chat) -> Limit {
    Limit {
        characters: chat.max_characters,
        tokens: chat.max_tokens.unwrap_or(usize::MAX),
    }
}

/// The pastes of the last message, in their order, and what goes as a file beside them.
fn last_message(finished: &Finished) -> (Vec<String>, Option<String>) {
    let events = finished.stdout.lines().rev();
    let mut events = events.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let event = events.find(|event| event["event"] == "outbox").unwrap();
    let read = |path: &Value| fs::read_to_string(path.as_str().unwrap()).unwrap();
    let pastes = event["pastes"].as_array().unwrap().iter().map(read);
    let attachment = event["attachment"].as_str().map(fs::read_to_string);
    (pastes.collect(), attachment.map(Result::unwrap))
}

fn step(begun: Finished, commands: &str) -> Finished {
    let reply = format!("``````\n{commands}\n{}\n``````\n", begun.end_mark());
    let test = Test::after(begun, &["--json", "step", "--reply", "-"]);
    test.input(&reply).run().code(0)
}

/// Secrets that are shorter than what stands for them.
fn short_secrets() -> Vec<String> {
    (10..40).map(|number| format!("Xk{number}dQ")).collect()
}

#[test]
fn every_paste_is_within_the_limit_however_much_placeholders_add() {
    let secrets = short_secrets();
    let line = format!("log in with {}\n", secrets[..20].join(" or "));
    let values = (secrets.iter().enumerate()).map(|(n, secret)| format!("DB{n}_PASSWORD={secret}"));
    let values = values.collect::<Vec<_>>().join("\n");
    for chat in Chat::all() {
        let arguments = ["--json", "new", "--no-wait", "--chat", &chat.name, "task"];
        let mut begun = Test::new(&arguments)
            .file("workspace/z.env", &values)
            .file("appsettings.json", r#"{"Agent": {"MaxReadLines": 2000}}"#);
        for number in 1..=4 {
            let name = format!("workspace/notes{number}.txt");
            begun = begun.file(&name, line.repeat(250));
        }
        // What is read last teaches what the others have.
        let finished = step(
            begun.run().code(0),
            "[READ_FILE path=\"notes*.txt\"]\n[READ_FILE path=\"z.env\"]",
        );
        let (pastes, attachment) = last_message(&finished);
        for (number, paste) in (1..).zip(&pastes) {
            let length = paste.chars().count();
            let name = &chat.name;
            assert!(limit(chat).holds(paste), "{name}: paste {number}, {length}");
        }
        let is_file = chat.when_too_long == WhenTooLong::Attachment;
        assert!(is_file || attachment.is_none(), "{}", chat.name);
        let all = pastes.concat() + &attachment.unwrap_or_default();
        assert!(all.contains("log in with [SECRET-"), "{}", chat.name);
        for secret in &secrets {
            assert!(!all.contains(secret), "{}: {secret}", chat.name);
        }
    }
}

#[test]
fn no_secret_is_cut_in_two_between_the_pastes() {
    let token = format!("gh{}{}", "p_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    // One line with so many that a paste ends within one of them.
    let note = format!("use {token} ").repeat(300);
    let begun = Test::new(&["new", "--no-wait", "--chat", "copilot", "task"]);
    let said = Test::after(begun.run().code(0), &["say", &note]);
    let finished = step(said.run().code(0), "[LIST_FILES]");
    let (pastes, _) = last_message(&finished);
    assert!(pastes.len() > 1);
    for paste in &pastes {
        assert!(limit(Chat::named("copilot").unwrap()).holds(paste));
        assert!(!paste.contains(&token[..12]), "{paste}");
        assert!(!paste.contains(&token[20..]), "{paste}");
    }
    let whole = agent::compose::parts::join(&pastes);
    assert_eq!(whole.matches("use [SECRET-1 github-token]").count(), 300);
}
