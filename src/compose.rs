//! Turns a session into the text of the next outbox.
//!
//! Four sections in a fixed order: header, protocol, context, prompt. The text never exceeds the
//! length that it is given, as far as the fixed parts allow; what is cut, and in which order, is
//! decided in `budget`, and each cut says so in the text. Writing it to a file is left to `mailbox`.

pub mod budget;
mod handover;
mod history;
mod instructions;
mod listing;
mod results;

use std::fmt::Write as _;
use std::time::Duration;

pub use self::handover::{Handover, hand_over};
pub use self::listing::{Listed, Listing};
use crate::protocol::Capped;
use crate::session::{Instructions, Planning, Session};

/// What an outbox is made of.
#[derive(Debug)]
pub struct Material<'a> {
    /// The session, with what the last round told.
    pub session: &'a Session,
    /// The files of the workspace as they are now.
    pub listing: &'a Listing,
    /// The files as the last outbox showed them; nothing before the first.
    pub shown_before: Option<&'a Listing>,
    /// The contents that the model asked for.
    pub contents: &'a [Content],
    /// What the instructions must say of this session.
    pub facts: Facts,
    /// The most items that the listing shows.
    pub max_list_items: usize,
    /// The most characters that the outbox may have.
    pub max_chars: usize,
}

/// What the instructions say that depends on the settings.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// How long a command runs that names no time of its own.
    pub command_timeout: Duration,
    /// Whether commands are run at all.
    pub runs_commands: bool,
}

/// A file's contents as they are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The heading: the path, and which lines.
    pub title: String,
    /// The text; empty where the heading says why there is none.
    pub text: Capped,
}

/// The text of an outbox and how it came to its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outbox {
    /// What to paste.
    pub text: String,
    /// What was left out for want of room, in words for the person.
    pub cuts: Vec<String>,
}

/// Writes the outbox of the session's current round.
pub fn compose(material: &Material<'_>) -> Outbox {
    let session = material.session;
    let head = head(session, material.facts);
    let prompt = format!("=== PROMPT ===\n{}", instructions::prompt(session));
    let words = words(session);
    let history = history::render(&session.history, history::Tokens::default());
    let room = material
        .max_chars
        .saturating_sub(chars(&head) + chars(&history) + chars(&words) + chars(&prompt) + 2);

    let results = results::Results::new(session);
    let files = listing::render(
        material.listing,
        material.shown_before,
        material.max_list_items,
    );
    let rooms = budget::shares(
        &[
            results.chars(),
            contents_chars(material.contents),
            chars(&files.text),
        ],
        room,
    );

    let mut cuts = Vec::new();
    let mut context = String::new();
    context.push_str(&files.fit(rooms[2], &mut cuts));
    context.push_str(&history);
    context.push_str(&results.fit(rooms[0], &mut cuts));
    context.push_str(&fit_contents(material.contents, rooms[1], &mut cuts));
    context.push_str(&words);
    let context = context.trim_start_matches('\n');
    Outbox {
        text: format!("{head}{context}\n{prompt}"),
        cuts,
    }
}

/// The header, the protocol and the beginning of the context.
fn head(session: &Session, facts: Facts) -> String {
    format!(
        "=== HEADER ===\nSession: {}\nSequence: {}\nTask: {}\nProtocol: 2\n\n=== PROTOCOL ===\n{}\n\n=== CONTEXT ===\n",
        session.session_id,
        session.sequence_number,
        instructions::tasks(session),
        instructions::text(session, facts),
    )
}

/// What the person says: answers and notes. Never cut.
fn words(session: &Session) -> String {
    let mut text = String::new();
    text.push_str(&plan(session));
    if !session.questions.is_empty() {
        text.push_str("\n## Answers\n");
        for question in &session.questions {
            let answer = question
                .answer
                .as_deref()
                .unwrap_or("(not answered yet: do what does not depend on it, or ask again)");
            let _ = writeln!(
                text,
                "You asked: {}\nThe user says: {}",
                question.question.trim(),
                answer.trim()
            );
        }
    }
    if !session.notes.is_empty() {
        text.push_str("\n## A Note from the User\n");
        for note in &session.notes {
            let _ = writeln!(text, "{}", note.trim());
        }
    }
    text
}

/// The plan where the chat may have forgotten it, and what the person says to it.
fn plan(session: &Session) -> String {
    let word = match session.planning {
        Planning::Proposed => Some(
            "The user has not decided about your plan yet. Change nothing; look at what else matters.",
        ),
        _ => session.plan_word(),
    };
    let is_full = session.instructions == Instructions::Full;
    let plan = session.plan.as_deref().filter(|_| is_full);
    if word.is_none() && plan.is_none() {
        return String::new();
    }
    let lines: Vec<&str> = word.into_iter().chain(plan).map(str::trim).collect();
    format!("\n## Plan\n{}\n", lines.join("\n\n"))
}

const CONTENTS_HEADING: &str = "\n## Requested File Contents\n";

fn content_chars(content: &Content) -> usize {
    let text = &content.text.text;
    let block = if text.is_empty() {
        0
    } else {
        chars(text) + 2 * fence(text).len() + 4
    };
    chars(&content.title) + "### \n".len() + block
}

fn contents_chars(contents: &[Content]) -> usize {
    let heading = if contents.is_empty() {
        0
    } else {
        CONTENTS_HEADING.len()
    };
    contents.iter().map(content_chars).sum::<usize>() + heading
}

/// The requested contents in this room, each cut fairly.
fn fit_contents(contents: &[Content], room: usize, cuts: &mut Vec<String>) -> String {
    if contents.is_empty() {
        return String::new();
    }
    let sizes: Vec<usize> = contents.iter().map(content_chars).collect();
    let rooms = budget::shares(&sizes, room.saturating_sub(CONTENTS_HEADING.len()));
    let mut section = CONTENTS_HEADING.to_owned();
    for ((content, size), room) in contents.iter().zip(sizes).zip(rooms) {
        let text = &content.text.text;
        let _ = writeln!(section, "### {}", content.title);
        if size <= room && !text.is_empty() {
            let _ = writeln!(section, "{}", fenced(text));
        } else if size > room {
            let room = room.saturating_sub(size - chars(text));
            let _ = writeln!(section, "{}", fenced(&budget::first_lines(text, room)));
            cuts.push(format!("the end of {}", content.title));
        }
    }
    section
}

/// Encloses a text in a code fence that it cannot end by itself.
fn fenced(text: &str) -> String {
    let fence = fence(text);
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{fence}\n{text}{end}{fence}")
}

/// A run of backticks longer than any in the text.
fn fence(text: &str) -> String {
    let (mut longest, mut current) = (0, 0);
    for byte in text.bytes() {
        current = if byte == b'`' { current + 1 } else { 0 };
        longest = longest.max(current);
    }
    "`".repeat((longest + 1).max(3))
}

/// The number of characters of a text, which is what chats count.
fn chars(text: &str) -> usize {
    text.chars().count()
}

/// How many tokens a text may be for a chat; an estimate, to be shown with a `~`.
///
/// From 2.7 to 5.0 bytes a token were seen, by kind of text; 3.5 is a fair middle.
pub fn estimated_tokens(text: &str) -> usize {
    (text.len() * 2).div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Outcome, RelPath, StepResult};
    use crate::session::Question;
    use crate::session::tests::session;

    const FACTS: Facts = Facts {
        command_timeout: Duration::from_secs(30),
        runs_commands: true,
    };

    fn listing(paths: &[&str]) -> Listing {
        let files = paths.iter().map(|path| Listed {
            path: RelPath::parse(path).unwrap(),
            size: 10,
            modified: 0,
        });
        Listing {
            files: files.collect(),
            omitted: 0,
        }
    }

    fn material<'a>(
        session: &'a Session,
        listing: &'a Listing,
        contents: &'a [Content],
    ) -> Material<'a> {
        Material {
            session,
            listing,
            shown_before: None,
            contents,
            facts: FACTS,
            max_list_items: 200,
            max_chars: 100_000,
        }
    }

    fn result(number: u32, outcome: Outcome) -> StepResult {
        StepResult {
            number,
            command: "RUN_COMMAND".to_owned(),
            subject: "make".to_owned(),
            millis: 3,
            outcome,
        }
    }

    fn text(name: &str, text: &str) -> Content {
        Content {
            title: name.to_owned(),
            text: text.into(),
        }
    }

    #[test]
    fn the_first_outbox_has_its_four_sections_in_order() {
        let (session, listing) = (session("ab12cd34"), listing(&["src/main.rs"]));
        let outbox = compose(&material(&session, &listing, &[]));
        insta::assert_snapshot!(outbox.text);
    }

    #[test]
    fn the_full_instructions_are_short() {
        let outbox = instructions::text(&session("ab12cd34"), FACTS);
        assert!(chars(&outbox) <= 3_700, "{}", chars(&outbox));
    }

    #[test]
    fn a_follow_up_with_small_results_stays_small() {
        let mut session = session("ab12cd34");
        session.sequence_number = 2;
        session.instructions = Instructions::Reminder;
        session.last_results = (1..10)
            .map(|n| result(n, Outcome::ok("exit code 0")))
            .collect();
        session.task = "x ".repeat(10_000);
        let listing = listing(&["src/main.rs"]);
        let outbox = compose(&Material {
            shown_before: Some(&listing),
            ..material(&session, &listing, &[])
        });
        assert!(chars(&outbox.text) < 5_000, "{}", outbox.text);
    }

    #[test]
    fn a_follow_up_tells_everything_that_the_round_brought() {
        let mut session = session("ab12cd34");
        session.sequence_number = 2;
        session.instructions = Instructions::Reminder;
        session.last_results = vec![
            result(
                1,
                Outcome::failed("exit code 2 in 0.1 s").with_detail("make: *** No targets\n"),
            ),
            result(3, Outcome::skipped("an earlier change failed")),
        ];
        session.last_issues = vec![crate::reply::Issue {
            line: 7,
            number: Some(2),
            command: Some("EDIT_FILE".to_owned()),
            message: "`path` is missing".to_owned(),
            hint: "write [EDIT_FILE path=\"...\"]".to_owned(),
        }];
        session.questions = vec![Question {
            question: "Tabs?".to_owned(),
            answer: Some("Spaces".to_owned()),
        }];
        session.notes = vec!["mind the docs".to_owned()];
        let (before, now) = (listing(&["a", "b"]), listing(&["b", "c"]));
        let contents = [
            text("a.md", "```\ncode\n```\n"),
            text("e (empty file: 0 lines)", ""),
        ];
        let outbox = compose(&Material {
            shown_before: Some(&before),
            ..material(&session, &now, &contents)
        });
        insta::assert_snapshot!(outbox.text);
    }

    #[test]
    fn never_exceeds_its_length_and_says_what_was_cut() {
        let mut session = session("ab12cd34");
        session.last_results = (1..40)
            .map(|n| {
                result(
                    n,
                    Outcome::failed("no").with_detail("long line\n".repeat(900)),
                )
            })
            .collect();
        let names: Vec<String> = (0..5000)
            .map(|n| format!("directory/file{n}.txt"))
            .collect();
        let listing = listing(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let contents: Vec<Content> = (0..30)
            .map(|n| text(&format!("f{n}"), &"some content\n".repeat(800)))
            .collect();
        let outbox = compose(&Material {
            max_chars: 30_000,
            max_list_items: 5000,
            ..material(&session, &listing, &contents)
        });
        assert!(chars(&outbox.text) <= 30_000, "{}", chars(&outbox.text));
        assert!(chars(&outbox.text) > 25_000, "{}", chars(&outbox.text));
        assert!(outbox.text.contains("[TRUNCATED: "));
        assert!(!outbox.cuts.is_empty());
    }

    #[test]
    fn a_fence_is_longer_than_what_it_encloses() {
        assert_eq!(fence("no ticks"), "```");
        assert_eq!(fence("a ````` b"), "``````");
    }
}
