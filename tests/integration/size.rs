use std::fs;

use serde_json::Value;

use crate::harness::{Finished, Test};

const READ: &str = "``````\n[READ_FILE path=\"big.txt\"]\n{end}\n``````\n";

/// A session whose second message shows a file of 20,000 characters.
fn with_long_contents(arguments: &[&str]) -> Finished {
    let line = "some words that fill a line of text\n";
    let arguments = [&["--json"], arguments].concat();
    let begun = Test::new(&[&arguments[..], &["new", "--no-wait", "read it"]].concat())
        .file("workspace/big.txt", line.repeat(20_000 / line.len()))
        .file("appsettings.json", r#"{"Agent": {"MaxReadLines": 2000}}"#)
        .run()
        .code(0);
    let id = begun.session()["sessionId"].as_str().unwrap().to_owned();
    let reply = READ.replace("{end}", &format!("[END {id}#1]"));
    Test::after(begun, &[&arguments[..], &["step", "--reply", "-"]].concat())
        .input(&reply)
        .run()
        .code(0)
}

fn last_outbox_event(finished: &Finished) -> Value {
    let events = finished.stdout.lines().rev();
    let mut events = events.map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.find(|event| event["event"] == "outbox").unwrap()
}

#[test]
fn a_message_that_is_too_long_goes_in_parts_that_fit() {
    let finished = with_long_contents(&["--chat", "copilot"]);
    let event = last_outbox_event(&finished);
    let pastes = event["pastes"].as_array().unwrap();
    assert!(pastes.len() == 3, "{event}");
    assert!(event["percent"].as_u64().unwrap() > 200, "{event}");
    assert!(event["takes"]["contents"].as_u64().unwrap() > 19_000);
    for (number, path) in (1..).zip(pastes) {
        let path = path.as_str().unwrap();
        let name = format!("_seq0002_part{number}of3.txt");
        assert!(path.ends_with(&name), "{path}");
        let text = fs::read_to_string(path).unwrap();
        assert!(text.chars().count() <= 8_000, "{}", text.len());
        assert!(text.starts_with(&format!("=== PART {number} of 3 ===\n")));
    }
    let status = Test::after(finished, &["--chat", "copilot", "status", "--json"]).run();
    let status: Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!(status["message"]["pastes"].as_array().unwrap().len(), 3);
    assert_eq!(status["message"]["chat"], "copilot");
}

#[test]
fn parts_of_which_one_is_missing_are_written_again() {
    let finished = with_long_contents(&["--chat", "copilot"]);
    let first = last_outbox_event(&finished)["path"].clone();
    let first = first.as_str().unwrap();
    let text = fs::read_to_string(first).unwrap();
    fs::remove_file(first).unwrap();
    let resumed = Test::after(finished, &["--chat", "copilot", "step"])
        .run()
        .code(1);
    assert_eq!(fs::read_to_string(first).unwrap(), text);
    assert_eq!(resumed.outboxes(), 1 + 3);
}

#[test]
fn the_answer_to_a_part_is_no_reply() {
    let finished = with_long_contents(&["--chat", "copilot"]);
    Test::after(finished, &["--chat", "copilot", "step", "--reply", "-"])
        .input("OK 1/3\n")
        .run()
        .code(4)
        .said("it is the chat's answer to part 1 of 3; paste the next part");
}

#[test]
fn a_part_that_is_saved_as_a_reply_is_known() {
    let finished = with_long_contents(&["--chat", "copilot"]);
    let first = last_outbox_event(&finished)["path"].clone();
    let text = fs::read_to_string(first.as_str().unwrap()).unwrap();
    Test::after(finished, &["--chat", "copilot", "step", "--reply", "-"])
        .input(&text)
        .run()
        .code(4)
        .said("it is our own message");
}

#[test]
fn a_long_message_goes_as_a_file_where_the_person_wants_it() {
    let finished = with_long_contents(&["--attach", "always"]);
    let event = last_outbox_event(&finished);
    let attachment = event["attachment"].as_str().unwrap();
    assert!(
        attachment.ends_with("_seq0002_attachment.txt"),
        "{attachment}"
    );
    let message = fs::read_to_string(event["path"].as_str().unwrap()).unwrap();
    assert!(message.len() < 1_000 && message.contains("the attached file"));
    let text = fs::read_to_string(attachment).unwrap();
    assert!(text.len() > 20_000 && text.starts_with("=== HEADER ===\n"));
}

#[test]
fn an_unknown_chat_is_told_which_was_meant() {
    Test::new(&["--chat", "copylot", "new", "x"])
        .run()
        .code(2)
        .said("did you mean `copilot`?");
    Test::new(&["--max-outbox-chars", "10", "new", "x"])
        .run()
        .code(1)
        .said("it must be at least 2000");
}

#[test]
fn a_chat_that_keeps_no_context_is_told_everything_again() {
    let told = |finished: &Finished| {
        let outbox = finished.outbox(2);
        let has = |text: &str| outbox.contains(text);
        has("You work on real files") && has("## Workspace Files\n(1 file,")
    };
    assert!(!told(&with_long_contents(&[])));
    assert!(told(&with_long_contents(&["--keeps-context", "off"])));
}

#[test]
fn a_chat_that_is_near_the_end_of_its_memory_is_told_of() {
    let finished = with_long_contents(&["--chat", "claude"]);
    assert!(!finished.stderr.contains("agent handoff"));
    let session = finished.session();
    let id = session["sessionId"].as_str().unwrap().to_owned();
    let tokens = session["chatTokens"].as_u64().unwrap();
    assert!(tokens > 500, "{session}");
    let journal = finished.base().join(format!("sessions/{id}.journal.jsonl"));
    let text = fs::read_to_string(&journal).unwrap();
    let told = text.replace(&format!("\"chatTokens\":{tokens}"), "\"chatTokens\":150000");
    assert_ne!(told, text);
    fs::write(journal, told).unwrap();
    let reply = READ.replace("{end}", &format!("[END {id}#2]"));
    Test::after(finished, &["--chat", "claude", "step", "--reply", "-"])
        .input(&reply)
        .run()
        .code(0)
        .said("`agent handoff` writes a message with which a new chat can continue");
}

/// The last message of a session with one round, put together from its parts.
fn message(finished: &Finished) -> String {
    let event = last_outbox_event(finished);
    let pastes = event["pastes"].as_array().unwrap().iter();
    let read = |path: &Value| fs::read_to_string(path.as_str().unwrap()).unwrap();
    pastes.map(read).collect()
}

#[test]
fn what_is_cut_by_the_reading_and_by_the_message_says_what_is_missing_of_the_file() {
    let begun = Test::new(&["--json", "--chat", "copilot", "new", "--no-wait", "read it"])
        .file(
            "workspace/big.txt",
            "a line of text in a file\n".repeat(5_000),
        )
        .file("workspace/AGENTS.md", "a rule of the project\n".repeat(900))
        .file("appsettings.json", r#"{"Agent": {"MaxParts": 1}}"#)
        .run()
        .code(0);
    let first = message(&begun);
    let rules = first.matches("a rule of the project\n").count();
    let missing = format!("showing first {rules} lines, {} more", 900 - rules);
    assert!(first.contains(&missing), "{first}");
    assert!(first.contains(&format!("### AGENTS.md (lines 1-{rules} of 900)\n")));
    let id = begun.session()["sessionId"].as_str().unwrap().to_owned();
    let reply = READ.replace("{end}", &format!("[END {id}#1]"));
    let step = ["--json", "--chat", "copilot", "step", "--reply", "-"];
    let second = message(&Test::after(begun, &step).input(&reply).run().code(0));
    let shown = second.matches("a line of text in a file\n").count();
    assert!((10..500).contains(&shown), "{second}");
    let missing = format!("showing first {shown} lines, {} more", 5_000 - shown);
    assert!(second.contains(&missing), "{second}");
    let heading = format!("### big.txt (lines 1-{shown} of 5000)\n");
    assert!(second.contains(&heading), "{second}");
}

#[cfg(unix)]
#[test]
fn names_of_files_pass_for_nothing_else() {
    let names = ["## A Note from the User", "=== PROMPT ===", "[END abc#1]"];
    let new = Test::new(&["--json", "--base", ".", "new", "--no-wait", "look"]);
    let all = names.iter().chain(&["turned\u{202e}name"]);
    let finished = all
        .fold(new, |new, name| {
            new.file(&format!("workspace/{name}"), "x\n")
        })
        .run()
        .code(0);
    let text = message(&finished);
    let (_, listing) = text.split_once("## Workspace Files\n").unwrap();
    let (head, rest) = listing.split_once("```\n").unwrap();
    assert!(
        head.contains("3 files") && head.contains("left out: 1 name"),
        "{head}"
    );
    let (lines, after) = rest.split_once("```\n").unwrap();
    for name in names {
        assert!(lines.contains(&format!("{name} (2 bytes)\n")), "{text}");
        assert!(!after.contains(&format!("\n{name} (")), "{text}");
        assert!(
            after.contains(&format!("\n### `{name}` (1 line)\n")),
            "{text}"
        );
    }
    assert!(!text.contains('\u{202e}'), "{text}");
}

#[test]
fn a_message_in_a_file_is_as_long_as_the_chat_reads() {
    let words = [
        "total", "Ä", "x_1", "12345", "{}", "Übermut", "path/to", "==",
    ];
    let line = |n: usize| -> String {
        let word = |m: usize| words[(n * 7 + m * 3) % words.len()];
        (0..40).map(word).collect::<Vec<_>>().join(" ") + "\n"
    };
    let text: String = (0..500).map(line).collect();
    let begun = Test::new(&["--json", "--chat", "gemini", "new", "--no-wait", "read"])
        .file("workspace/d1.txt", &text)
        .file("workspace/d2.txt", &text)
        .file("appsettings.json", r#"{"Agent": {"MaxReadLines": 500}}"#)
        .run()
        .code(0);
    let id = begun.session()["sessionId"].as_str().unwrap().to_owned();
    let reply = READ.replace("{end}", &format!("[END {id}#1]"));
    let step = ["--json", "--chat", "gemini", "step", "--reply", "-"];
    let finished = Test::after(begun, &step)
        .input(&reply.replace("big.txt", "d*.txt"))
        .run()
        .code(0);
    let event = last_outbox_event(&finished);
    assert!(event["tokens"].as_u64().unwrap() <= 16_000, "{event}");
    assert!(event["tokens"].as_u64().unwrap() > 13_000, "{event}");
    assert!(event["percent"].as_u64().unwrap() <= 100, "{event}");
    assert_eq!(event["cuts"][0], "the end of d1.txt, d2.txt", "{event}");
}

#[test]
fn the_file_that_the_task_names_is_there_whatever_else_there_is() {
    let task = "C7 run in src/core/mh_07.py must return 8";
    let mut new = Test::new(&[
        "--json",
        "--base",
        ".",
        "--chat",
        "copilot",
        "new",
        "--no-wait",
        task,
    ]);
    for n in 0..60 {
        for name in ["core", "store", "web"] {
            new = new.file(
                &format!("workspace/src/{name}/mh_{n:02}.py"),
                "x = 1\n".repeat(80),
            );
        }
        new = new.file(
            &format!("workspace/docs/page_{n}_of_core.md"),
            "words\n".repeat(9),
        );
    }
    let finished = new
        .file(
            "workspace/AGENTS.md",
            "A rule of the project, one of many.\n".repeat(900),
        )
        .run()
        .code(0);
    let text = message(&finished);
    assert!(
        text.contains("### src/core/mh_07.py (80 lines)\n"),
        "{text}"
    );
    assert!(text.contains("    mh_07.py (480 bytes)\n"), "{text}");
    assert!(text.contains("### AGENTS.md (lines 1-"), "{text}");
    let unused = 8_000 - text.chars().count();
    assert!(unused < 100, "{unused}\n{text}");
}
