//! The log's view of an event: that it happened, and nothing of what others wrote.
//!
//! A log is sent with reports of defects. So it has our own words, names and numbers; of what the
//! model, a program or the person wrote it has the length, for any of it may be secret. The journal
//! beside it has all of it.

use serde_json::Value;

use crate::protocol::{Event, Issue};

/// The fields whose texts are our own, or names of files.
const OURS: [&str; 30] = [
    "attachment",
    "base",
    "changed",
    "chat",
    "command",
    "cuts",
    "decision",
    "directory",
    "event",
    "extent",
    "files",
    "flag",
    "from",
    "hint",
    "id",
    "inbox",
    "kind",
    "match",
    "may",
    "message",
    "movedTo",
    "name",
    "pastes",
    "path",
    "setting",
    "status",
    "to",
    "what",
    "why",
    "workspace",
];

/// The longest sentence of ours, in bytes.
const LONGEST_NOTICE: usize = 4_000;

/// The event as it is logged, in JSON.
pub(super) fn trace(event: &Event) -> String {
    let Ok(mut value) = serde_json::to_value(event) else {
        return String::new();
    };
    match event {
        // A long one has words of the model in it, as an answer that could not be kept.
        Event::Notice { text } if text.len() <= LONGEST_NOTICE => {}
        Event::Issue { .. } => {
            for name in ["message", "hint"] {
                if let Some(Value::String(text)) = value.pointer_mut(&format!("/issue/{name}")) {
                    let ours = text.find(Issue::ARRIVED);
                    let ours = ours.map_or(text.len(), |at| at + Issue::ARRIVED.len());
                    text.truncate(ours);
                }
            }
            strip("", &mut value);
        }
        Event::Check { .. } => {
            if let Some(command) = value.get_mut("command") {
                shorten(command);
            }
            strip("", &mut value);
        }
        _ => strip("", &mut value),
    }
    crate::json::escaped(value.to_string())
}

/// Leaves of all texts that are not ours no more than their lengths.
fn strip(name: &str, value: &mut Value) {
    match value {
        Value::String(_) if !OURS.contains(&name) => shorten(value),
        Value::Array(values) => values.iter_mut().for_each(|value| strip(name, value)),
        Value::Object(fields) => {
            for (name, value) in fields {
                strip(name, value);
            }
        }
        _ => {}
    }
}

fn shorten(value: &mut Value) {
    if let Value::String(text) = value {
        *text = format!("({} characters)", text.chars().count());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Outcome, StepResult};

    #[track_caller]
    fn case(event: &Event, expected: &str) {
        assert_eq!(trace(event), expected);
    }

    #[test]
    fn the_log_has_our_words_and_of_others_the_length() {
        case(
            &Event::Notice {
                text: "A secret stays here".to_owned(),
            },
            r#"{"event":"notice","text":"A secret stays here"}"#,
        );
        case(
            &Event::Notice {
                text: "x".repeat(5_000),
            },
            r#"{"event":"notice","text":"(5000 characters)"}"#,
        );
        case(
            &Event::Message {
                text: "it is hunter2".to_owned(),
            },
            r#"{"event":"message","text":"(13 characters)"}"#,
        );
        case(
            &Event::Check {
                command: "PGPASSWORD=hunter2 psql".to_owned(),
                outcome: Outcome::ok("exit code 0 in 1 s").with_detail("hunter2\n"),
            },
            r#"{"event":"check","command":"(23 characters)","outcome":{"status":"ok","message":"exit code 0 in 1 s","detail":{"text":"(8 characters)"}}}"#,
        );
        let issue = crate::reply::Issue {
            line: 1,
            number: None,
            command: None,
            message: "there is no tool `x`; this arrived: hunter2".to_owned(),
            hint: String::new(),
        };
        case(
            &Event::Issue { issue },
            r#"{"event":"issue","issue":{"line":1,"message":"there is no tool `x`; this arrived:"}}"#,
        );
        let result = StepResult {
            number: 1,
            command: "RUN_COMMAND".to_owned(),
            subject: "echo hunter2".to_owned(),
            millis: 3,
            outcome: Outcome::ok("exit code 0 in 3 ms").with_detail("hunter2\n"),
        };
        let step = Event::Step {
            result,
            differences: Vec::new(),
        };
        assert!(!trace(&step).contains("hunter2"), "{}", trace(&step));
        assert!(trace(&step).contains("exit code 0 in 3 ms"));
    }
}
