//! What can happen, as far as a person or a script wants to know.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Difference, Volume};
use crate::protocol::{Issue, Repair};
use crate::protocol::{Outcome, StepResult};

/// Something that happened.
#[derive(Debug, Serialize)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[expect(missing_docs, reason = "the fields are the documented JSON events")]
pub enum Event<'a> {
    /// A session begins or goes on.
    Session {
        id: &'a str,
        task: &'a str,
        base: &'a Path,
        workspace: &'a Path,
        resumed: bool,
    },
    /// An outbox is ready to be pasted.
    Outbox {
        path: &'a Path,
        pastes: &'a [PathBuf],
        attachment: Option<&'a Path>,
        inbox: &'a Path,
        sequence: u32,
        characters: usize,
        tokens: usize,
        takes: BTreeMap<&'static str, usize>,
        chat: &'a str,
        percent: usize,
        becomes_file: bool,
        cuts: &'a [String],
        is_waiting: bool,
    },
    /// A reply was taken.
    Reply {
        name: &'a str,
        sequence: u32,
        commands: usize,
    },
    /// What was undone of the damage done by chat page and copying.
    Repaired { repair: &'a Repair },
    /// What the reply says around its commands.
    Prose { text: &'a str },
    /// A part of the reply that could not be used.
    Issue { issue: &'a Issue },
    /// The reply ended too early.
    Cut { line: u32, what: &'a str },
    /// A command begins to run.
    Running { script: &'a str },
    /// The person's check was run.
    Check {
        command: &'a str,
        outcome: &'a Outcome,
    },
    /// A step was executed.
    Step {
        result: &'a StepResult,
        #[serde(skip)]
        differences: &'a [Difference],
    },
    /// The model's plan.
    Plan { text: &'a str },
    /// A word of the model to the person.
    Message { text: &'a str },
    /// A question that the person must answer.
    Question { question: &'a str, how: &'a str },
    /// A step that waits for the person's decision.
    Approval {
        number: u32,
        round: u32,
        command: &'a str,
        title: &'a str,
        shown: &'a str,
        why: &'a str,
        may: &'a str,
        proposal: Option<&'a str>,
        how: &'a str,
    },
    /// The person decided about a step.
    Decided {
        number: u32,
        command: &'a str,
        title: &'a str,
        decision: &'a str,
        reason: Option<&'a str>,
    },
    /// A file in the inbox was not used.
    Rejected {
        name: &'a str,
        why: &'a str,
        moved_to: &'a Path,
    },
    /// Something of ours to know.
    Notice { text: &'a str },
    /// A detail, for `--verbose`.
    Detail { text: &'a str },
    /// The session ended.
    Done {
        id: &'a str,
        summary: &'a str,
        rounds: u32,
        changed: usize,
        files: Vec<&'a str>,
        seconds: u64,
    },
    /// The round limit stopped it.
    RoundLimit { id: &'a str, rounds: u32 },
    /// The person stopped it.
    Interrupted { id: &'a str },
}

impl Event<'_> {
    /// The least volume at which it is told.
    pub(super) fn volume(&self) -> Volume {
        match self {
            Self::Outbox { .. }
            | Self::Question { .. }
            | Self::Approval { .. }
            | Self::Rejected { .. }
            | Self::Done { .. }
            | Self::RoundLimit { .. }
            | Self::Interrupted { .. } => Volume::Quiet,
            Self::Detail { .. } => Volume::Verbose,
            _ => Volume::Normal,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::Duration;

    use super::*;
    use crate::protocol::{Command, RelPath, Status, Step};

    /// One of each, as a script gets it.
    fn all(tell: &mut dyn FnMut(&Event<'_>)) {
        sessions().iter().for_each(&mut *tell);
        messages(tell);
        steps(tell);
        decisions().iter().for_each(tell);
    }

    const ID: &str = "ab12cd34";
    const TEXT: &str = "text";

    /// How sessions begin and end, and what is said meanwhile.
    fn sessions() -> [Event<'static>; 9] {
        let (id, text, path) = (ID, TEXT, Path::new("/a"));
        [
            Event::Session {
                id,
                task: text,
                base: path,
                workspace: path,
                resumed: false,
            },
            Event::Plan { text },
            Event::Message { text },
            Event::Notice { text },
            Event::Detail { text },
            Event::Done {
                id,
                summary: text,
                rounds: 1,
                changed: 1,
                files: vec!["a"],
                seconds: 1,
            },
            Event::RoundLimit { id, rounds: 1 },
            Event::Interrupted { id },
            Event::Running { script: text },
        ]
    }

    /// What becomes of messages and replies.
    fn messages(tell: &mut dyn FnMut(&Event<'_>)) {
        let (text, path) = (TEXT, Path::new("/a"));
        let reply = crate::reply::parse("\u{feff}[NO_SUCH_COMMAND]\n[DELETE_FILE]\n");
        let issue = reply
            .issues
            .first()
            .expect("an unknown command is an issue");
        let repair = Repair {
            what: "x".to_owned(),
            count: 1,
            in_body: false,
        };
        let events = [
            Event::Outbox {
                path,
                pastes: &[],
                attachment: None,
                inbox: path,
                sequence: 1,
                characters: 1,
                tokens: 1,
                takes: BTreeMap::new(),
                chat: "generic",
                percent: 1,
                becomes_file: false,
                cuts: &[],
                is_waiting: true,
            },
            Event::Reply {
                name: text,
                sequence: 1,
                commands: 1,
            },
            Event::Repaired { repair: &repair },
            Event::Prose { text },
            Event::Issue { issue },
            Event::Cut {
                line: 1,
                what: text,
            },
            Event::Rejected {
                name: text,
                why: text,
                moved_to: path,
            },
        ];
        events.iter().for_each(tell);
    }

    /// What was carried out.
    fn steps(tell: &mut dyn FnMut(&Event<'_>)) {
        let outcome = Outcome::new(Status::Ok, "done");
        let step = Step {
            number: 1,
            line: 1,
            command: Command::DeleteFile {
                path: RelPath::parse("a").unwrap(),
            },
        };
        let result = StepResult::new(&step, outcome.clone(), Duration::ZERO);
        tell(&Event::Check {
            command: TEXT,
            outcome: &outcome,
        });
        tell(&Event::Step {
            result: &result,
            differences: &[],
        });
    }

    /// What the person is asked and decides.
    fn decisions() -> [Event<'static>; 3] {
        let text = TEXT;
        [
            Event::Question {
                question: text,
                how: text,
            },
            Event::Approval {
                number: 1,
                round: 1,
                command: text,
                title: text,
                shown: text,
                why: text,
                may: text,
                proposal: None,
                how: text,
            },
            Event::Decided {
                number: 1,
                command: text,
                title: text,
                decision: "yes",
                reason: None,
            },
        ]
    }

    /// The events of the page, each with the names of its fields.
    fn described() -> BTreeMap<String, BTreeSet<String>> {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/events.md");
        let page = std::fs::read_to_string(page).unwrap();
        let rows = page.lines().filter(|line| line.starts_with("| `"));
        let row = |line: &str| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            // What stands behind a colon is within the field before it.
            let fields = cells[2].split("`: ").next().unwrap_or_default();
            let fields = fields
                .split(", ")
                .map(|name| name.trim_matches('`').to_owned());
            (cells[1].trim_matches('`').to_owned(), fields.collect())
        };
        rows.filter(|line| !line.starts_with("| `event`"))
            .map(row)
            .collect()
    }

    #[test]
    fn the_page_describes_every_event_with_its_fields() {
        let mut told = BTreeMap::new();
        all(&mut |event| {
            let value = serde_json::to_value(event).unwrap();
            let object = value.as_object().unwrap();
            let names = object.keys().filter(|name| *name != "event");
            let event = object["event"].as_str().unwrap().to_owned();
            told.insert(event, names.cloned().collect::<BTreeSet<String>>());
        });
        assert_eq!(told, described());
    }

    #[test]
    fn the_page_names_the_version() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/events.md");
        let page = std::fs::read_to_string(page).unwrap();
        let schema = crate::ui::SCHEMA;
        assert!(page.contains(&format!("the version of this page: **{schema}**")));
        assert!(page.contains(&format!("\"schema\":{schema}}}")));
    }
}
