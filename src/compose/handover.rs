//! One message from which a chat that knows nothing can go on with a session.
//!
//! Decisions and results come from the journal, not from what the chat before believed: the answers
//! and words of the user, the state of their check, the work of each round, the changes as a diff,
//! the last failures, open questions, and the project's instructions. The message never exceeds its
//! length; whatever is cut says so.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::content::fenced;
use super::contents::{project, requested};
use super::cuts::Cuts;
use super::{
    Carriage, Content, Facts, Listing, Made, NamedFile, Outbox, Promises, Section, Veil, budget,
    chars, check, fit, head, history, length, listing, outbox, relevance, results,
};
use crate::excerpt::excerpt;
use crate::protocol::{CommandKind, Status, StepResult};
use crate::session::{Instructions, Past, Session, is_reversal_note, is_writable};

/// The material of such a message.
#[derive(Debug)]
pub struct Handover<'a> {
    /// The session as it goes on.
    pub session: &'a Session,
    /// Its rounds.
    pub past: &'a Past,
    /// The changes of its rounds, as a unified diff.
    pub diff: &'a str,
    /// The person's notes that no message has told yet.
    pub notes: &'a [String],
    /// The files of the workspace.
    pub listing: &'a Listing,
    /// The files that the task names.
    pub named_files: &'a [NamedFile<'a>],
    /// The contents that the chat before asked for.
    pub contents: &'a [Content],
    /// The project's instructions, the general before the specific.
    pub project: &'a [Content],
    /// The facts about this session for the instructions.
    pub facts: Facts,
    /// The most items that the listing shows.
    pub max_list_items: usize,
    /// How it travels; it is cut to what one paste may have.
    pub carriage: Carriage,
}

/// How many tokens the rounds may take.
const HISTORY: history::HistoryBudget = history::HistoryBudget {
    detailed: 1_200,
    all: 1_500,
};

/// How many of the failed commands, refusals and words of the user are told, the latest of each.
const LATEST: usize = 20;

/// How many characters of a failed command's output are told.
const OUTPUT_CHARS: usize = 3_000;

/// How many changed files are named above the diff.
const NAMED_FILES: usize = 100;

/// A section that has less room than this is left out: a word about its cut would fill it.
const LEAST_CHARS: usize = 200;

/// The room for the end of a code block that was cut.
const LONGEST_FENCE: usize = 40;

const OPENING: &str = "## You Take Over\nAnother chat worked on this task until now. You have not seen it and need nothing from it: what follows was recorded by `agent`, not by that chat. The files of the workspace are as the changes below left them. \"You\" and \"your reply\" in the records mean that chat.\n";

/// Returns true if this message was written for a chat that knows nothing of those before.
pub fn is_handover(message: &str) -> bool {
    message.contains(OPENING)
}

/// Writes the message of the session's current round for a chat that knows nothing.
///
/// The material has been through the veil already, see [`super::compose`].
pub fn hand_over(material: &Handover<'_>, veil: &mut Veil<'_>) -> Outbox {
    let mut session = material.session.clone();
    session.instructions = Instructions::Full;
    let head = head(&session, material.facts) + OPENING;
    let prompt = format!("=== PROMPT ===\n{}", prompt(&session));
    let mut promises = Promises::new(&session, material.contents);
    let made = loop {
        let pieces = pieces(material, &promises);
        let sizes: Vec<usize> = pieces.iter().map(HandoverPiece::size).collect();
        let made = material.carriage.fitted(veil, |room| {
            let room = (room.of(1)).saturating_sub(chars(&head) + chars(&prompt) + 1);
            let (mut context, mut cuts) = (String::new(), Cuts::default());
            for (piece, room) in pieces.iter().zip(budget::shares(&sizes, room)) {
                context.push_str(&piece.fit(room, &mut cuts));
            }
            Made {
                text: format!("{head}{context}\n{prompt}"),
                cuts,
                pastes: 1,
            }
        });
        drop(pieces);
        if !promises.are_broken_by(&made.cuts) {
            break made;
        }
    };
    outbox(made, &session, material.carriage, veil)
}

/// The pieces of the message, in their order.
fn pieces<'a>(material: &'a Handover<'_>, promises: &'a Promises) -> Vec<HandoverPiece<'a>> {
    let session = promises.session();
    let files = listing::section(
        material.listing,
        None,
        || relevance::relevance(session, material.listing, material.named_files, &[]),
        material.max_list_items,
    );
    vec![
        HandoverPiece::Section(Box::new(check::section(session))),
        HandoverPiece::Text(decisions(material)),
        HandoverPiece::Text(plan(session)),
        HandoverPiece::Text(history::render(&session.history, HISTORY)),
        HandoverPiece::Text(changes(material)),
        HandoverPiece::Text(failures(material.past, session)),
        HandoverPiece::Section(Box::new(results::Results::new(session))),
        HandoverPiece::Text(open(session)),
        HandoverPiece::Section(Box::new(files)),
        HandoverPiece::Section(Box::new(project(material.project))),
        HandoverPiece::Section(Box::new(requested(promises.contents()))),
    ]
}

/// A part of the message, which has its share of the room.
enum HandoverPiece<'a> {
    /// Text of which a cut leaves the beginning.
    Text(String),
    /// A section, which knows how to cut itself.
    Section(Box<dyn Section + 'a>),
}

impl HandoverPiece<'_> {
    fn size(&self) -> usize {
        match self {
            Self::Text(text) => chars(text),
            Self::Section(section) => length(section.as_ref()),
        }
    }

    /// As much of it as fits; says what it had to cut.
    fn fit(&self, room: usize, cuts: &mut Cuts) -> String {
        match self {
            Self::Text(text) if chars(text) <= room => text.clone(),
            Self::Text(text) => {
                cuts.push(format!("the end of \"{}\"", title(text)));
                if room < LEAST_CHARS {
                    return String::new();
                }
                close_fence(budget::first_lines(text, room - LONGEST_FENCE))
            }
            Self::Section(section) if room < LEAST_CHARS.min(self.size()) => {
                // What becomes of it is told all the same.
                fit(section.as_ref(), 0, cuts);
                String::new()
            }
            Self::Section(section) => fit(section.as_ref(), room, cuts),
        }
    }
}

fn title(section: &str) -> &str {
    section
        .lines()
        .find_map(|line| line.strip_prefix("## "))
        .unwrap_or_default()
}

/// Ends a code block that was cut in the middle.
fn close_fence(text: String) -> String {
    let mut open: Option<&str> = None;
    for line in text.lines() {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match open {
            None if ticks.len() >= 3 => open = Some(ticks),
            Some(fence) if line == fence => open = None,
            _ => {}
        }
    }
    match open {
        Some(fence) => format!("{text}{fence}\n"),
        None => text,
    }
}

/// The words of the user, and the steps that they or the rules refused.
fn decisions(material: &Handover<'_>) -> String {
    let mut lines = Vec::new();
    for round in &material.past.rounds {
        for question in &round.questions {
            let answer = match &question.answer {
                Some(answer) => format!("The user says: {}", one_line(answer)),
                None => "Not answered at once.".to_owned(),
            };
            lines.push(format!(
                "- Asked in round {}: {} {answer}",
                round.number,
                one_line(&question.question),
            ));
        }
        // What was undone is in the history, and the changes are those of now.
        for note in (round.notes.iter()).filter(|note| !is_reversal_note(note)) {
            lines.push(format!(
                "- The user said after round {}: {}",
                round.number,
                one_line(note)
            ));
        }
        let refused = (round.results.iter()).filter(|one| one.outcome.status == Status::Refused);
        for result in refused.filter(|result| !result.is(CommandKind::Done)) {
            lines.push(format!(
                "- Refused in round {}: {} `{}`: {}",
                round.number,
                result.command,
                one_line(&result.subject),
                one_line(&result.outcome.line_for_model())
            ));
        }
    }
    lines.extend((material.notes.iter()).map(|note| format!("- Now: {}", one_line(note))));
    section("Decisions of the User", &lines)
}

fn section(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let left_out = lines.len().saturating_sub(LATEST);
    let mut text = format!("\n## {title}\n");
    if left_out > 0 {
        let _ = writeln!(text, "({left_out} earlier ones are left out)");
    }
    for line in &lines[left_out..] {
        let _ = writeln!(text, "{line}");
    }
    text
}

fn one_line(text: &str) -> String {
    const MAX_CHARS: usize = 1_000;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line,
    }
}

fn plan(session: &Session) -> String {
    match &session.plan {
        Some(plan) => format!(
            "\n## Plan (of the chat before; how much of it is done, the rest tells)\n{}\n",
            plan.trim()
        ),
        None => String::new(),
    }
}

fn changes(material: &Handover<'_>) -> String {
    let session = material.session;
    if material.diff.trim().is_empty() {
        let word = if session.changed_files.is_empty() {
            "Nothing was changed yet."
        } else {
            "The workspace is as it was when the session began, or what was changed is not known any more."
        };
        return format!("\n## Changes So Far\n{word}\n");
    }
    let names = session
        .changed_files
        .iter()
        .filter(|name| is_writable(name));
    let names: Vec<&str> = names.take(NAMED_FILES).map(String::as_str).collect();
    let more = session.changed_files.len().saturating_sub(names.len());
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!(
        "\n## Changes So Far\nFiles that the rounds changed: {}{rest}. All of it as a diff, from the beginning until now:\n{}\n",
        names.join(", "),
        fenced(material.diff)
    )
}

/// The commands that failed when they last ran, the output of each.
fn failures(past: &Past, session: &Session) -> String {
    let mut last: BTreeMap<&str, (u32, &StepResult)> = BTreeMap::new();
    for round in &past.rounds {
        let tried = |result: &&StepResult| {
            let status = result.outcome.status;
            result.is_run() && matches!(status, Status::Ok | Status::Failed)
        };
        for result in round.results.iter().filter(tried) {
            last.insert(&result.subject, (round.number, result));
        }
    }
    let current = past.rounds.last().map_or(0, |round| round.number);
    let mut failing: Vec<(u32, &StepResult)> = last
        .into_values()
        .filter(|(_, result)| result.outcome.status == Status::Failed)
        .collect();
    failing.sort_by_key(|(round, result)| (*round, result.number));
    let lines: Vec<String> = failing
        .iter()
        .map(|(round, result)| {
            let message = result.outcome.line_for_model();
            let is_old = (session.history.rounds.iter())
                .any(|later| later.round > *round && !later.files.is_empty());
            let since = if is_old {
                " (files were changed since, and nobody tried it again)"
            } else {
                ""
            };
            let head = format!("- `{}` in round {round}: {message}{since}", result.subject);
            let output = result.outcome.detail.text.trim();
            if *round == current || output.is_empty() {
                return head;
            }
            format!("{head}\n{}", fenced(&excerpt(output, OUTPUT_CHARS)))
        })
        .collect();
    section("Commands That Failed When They Last Ran", &lines)
}

fn open(session: &Session) -> String {
    let mut lines = Vec::new();
    for question in &session.questions {
        if question.answer.is_none() {
            lines.push(format!(
                "- A question to the user that is not answered yet: {}",
                one_line(&question.question)
            ));
        }
    }
    if let Some(cut) = &session.last_cut {
        let missing = if cut.cut.is_in_command() {
            "that command and what was to come after it"
        } else {
            "what was to come after it"
        };
        lines.push(format!(
            "- The last reply was cut off in {} (line {} of it): {missing} was not carried out.",
            cut.cut.what, cut.cut.line
        ));
    }
    for issue in (session.last_issues.iter()).filter(|issue| issue.number.is_some()) {
        let command = issue.command.as_deref().unwrap_or("a command");
        lines.push(format!(
            "- {command} of the last reply was not understood: {}",
            one_line(&issue.message)
        ));
    }
    let undone = (session.last_results.iter()).filter(|one| one.outcome.status != Status::Ok);
    for result in undone.filter(|result| !result.is_run()) {
        lines.push(format!(
            "- Step {} of the last reply did not work: {} {}",
            result.number, result.command, result.subject
        ));
    }
    section("What Is Open", &lines)
}

fn prompt(session: &Session) -> String {
    let further = super::instructions::further(session);
    let check = super::instructions::failing_check(session);
    let task = if session.planning.is_open() {
        "Plan the task in the header: look at what you need, then send the [PLAN]. Nothing is changed before the user approves it."
    } else {
        "Take over: go on with the task in the header from where the records above end. Read a file before you change it; nothing that is done already needs to be done again. When the task is finished and tested, send [DONE] with a short summary."
    };
    format!(
        "{further}{task}{check}\nThe last line of your code block is:\n{}\n",
        session.end_mark()
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::protocol::{Outcome, PersonAct};
    use crate::session::tests::session;
    use crate::session::{CheckReport, CheckedWhen, ModelQuestion, PastRound};

    fn run(number: u32, subject: &str, outcome: Outcome) -> StepResult {
        StepResult {
            number,
            command: "RUN_COMMAND".to_owned(),
            subject: subject.to_owned(),
            millis: 0,
            outcome,
        }
    }

    fn past() -> Past {
        let rounds = vec![
            PastRound {
                number: 1,
                results: vec![
                    run(
                        1,
                        "make test",
                        Outcome::failed("exit code 2 in 1 s").with_detail("old\n"),
                    ),
                    run(
                        2,
                        "make lint",
                        Outcome::failed("exit code 1 in 1 s").with_detail("a.rs: bad\n"),
                    ),
                    run(
                        3,
                        "curl x",
                        Outcome {
                            message: "declined: no network".to_owned(),
                            ..Outcome::by_person(PersonAct::Declined)
                        },
                    ),
                ],
                questions: vec![ModelQuestion {
                    question: "Tabs?".to_owned(),
                    answer: Some("Spaces".to_owned()),
                }],
                ..PastRound::default()
            },
            PastRound {
                number: 2,
                results: vec![run(1, "make test", Outcome::ok("exit code 0 in 1 s"))],
                notes: vec![
                    "mind the docs".to_owned(),
                    "[undo] The user undid round 1".to_owned(),
                ],
                ..PastRound::default()
            },
        ];
        Past {
            rounds,
            ..Past::default()
        }
    }

    fn handed_over(diff: &str, max_chars: usize) -> Outbox {
        let mut session = session("ab12cd34");
        session.check = Some(CheckReport {
            command: "make all".to_owned(),
            when: CheckedWhen::Before,
            outcome: Outcome::failed("exit code 2 in 1 s").with_detail("a.rs:1: no\n"),
        });
        session.sequence_number = 3;
        session.plan = Some("1. look\n2. do".to_owned());
        session.changed_files = ["a.rs".to_owned()].into();
        session.questions = vec![ModelQuestion {
            question: "Which port?".to_owned(),
            answer: None,
        }];
        let material = Handover {
            session: &session,
            past: &past(),
            diff,
            notes: &["no dependencies".to_owned()],
            listing: &Listing::default(),
            named_files: &[],
            contents: &[],
            project: &[Content {
                title: "AGENTS.md".to_owned(),
                lines: None,
                text: "Use tabs.\n".into(),
                sighting: None,
            }],
            facts: Facts {
                command_timeout: Duration::from_secs(30),
                max_command_timeout: Duration::from_mins(10),
                shell: crate::protocol::ShellLanguage::Bash,
                runs_commands: true,
                has_repository: true,
                conceals_secrets: true,
                carrier: super::super::MessageCarrier::Person,
            },
            max_list_items: 200,
            carriage: Carriage {
                limit: super::super::Limit {
                    characters: max_chars,
                    tokens: usize::MAX,
                },
                max_parts: 1,
                too_long: super::super::TooLong::Parts,
                left_tokens: usize::MAX,
            },
        };
        hand_over(&material, &mut |_| ())
    }

    #[test]
    fn it_tells_all_that_a_new_chat_must_know() {
        let outbox = handed_over("--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-x\n+y\n", 100_000);
        let context = outbox.text.split("=== CONTEXT ===").nth(1).unwrap();
        insta::assert_snapshot!(context);
        assert!(outbox.text.contains("You cannot see the machine"));
        assert!(outbox.cuts.is_empty());
    }

    #[test]
    fn it_fits_however_much_there_is_to_tell() {
        let diff = "+a line of the diff\n".repeat(100_000);
        for max_chars in [5_000, 6_000, 20_000, 100_000] {
            let outbox = handed_over(&diff, max_chars);
            assert!(chars(&outbox.text) <= max_chars, "{max_chars}");
            assert!(outbox.text.ends_with("[END ab12cd34#3]\n"));
            assert!(!outbox.cuts.is_empty());
        }
    }

    #[test]
    fn a_block_that_is_cut_is_closed() {
        assert_eq!(close_fence("```\na\n".to_owned()), "```\na\n```\n");
        assert_eq!(close_fence("```\na\n```\n".to_owned()), "```\na\n```\n");
    }
}
