//! Events and rounds as the page shows them.
//!
//! Finished rounds come from the transcript; what happens now comes as events. Both are made of the same
//! parts, so that a round looks alike while it happens and after a reload.

use jiff::Timestamp;
use serde::Serialize;

use super::markdown;
use super::node::{PageNode, diff};
use crate::number::count;
use crate::protocol::{
    ApiAnswerEnd, ApiNews, Envelope, Event, Issue, Outcome, Repair, ShownDifference, Status,
    StepResult,
};
use crate::transcript::{Round, middle_out};
use crate::ui::{elapsed, sentence};

/// The longest text of the model that is shown without being asked for, in characters.
const MAX_SAID: usize = 30_000;
/// The longest output, in characters.
const MAX_OUTPUT: usize = 20_000;
/// The number of a request to an API, beside those of the steps that run.
const REQUEST: u32 = u32::MAX;

/// The page's action on an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ItemKind {
    /// Shows it.
    Item,
    /// Begins a round.
    Outbox,
    /// A reply was taken.
    Reply,
    /// A command runs; `number` says which step it is.
    Running,
    /// Adds text to the output of the command that runs.
    Output,
    /// Shows it in place of the command that ran.
    Step,
    /// Looks at what is asked now.
    Ask,
    /// Looks at where the session stands.
    State,
    /// Loads the session again.
    Reset,
}

/// An event as the page gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct PageItem {
    seq: u64,
    at: Timestamp,
    kind: ItemKind,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<PageNode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// True if the text is the model's reasoning.
    #[serde(rename = "isThought", skip_serializing_if = "std::ops::Not::not")]
    is_thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<MessageSize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<PageRequest>,
}

/// How far a request to an API has come, for the card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct PageRequest {
    phase: RequestPhase,
    /// Why it is sent again.
    #[serde(skip_serializing_if = "String::is_empty")]
    why: String,
    /// The wait before it is sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    millis: Option<u64>,
}

/// The stages of a request to an API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum RequestPhase {
    Asking,
    Thinking,
    Answering,
    Retrying,
    /// The whole answer is there and becomes the reply.
    Whole,
    /// It ended without a whole answer: the person decides, or carries the round.
    Over,
}

/// How long a message is, for the meter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct MessageSize {
    characters: usize,
    tokens: usize,
    percent: usize,
    becomes_file: bool,
    /// The API that carries it in place of the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    carried_by: Option<String>,
}

/// A finished round as the page gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each offers a button or a mark"
)]
pub(super) struct PageRound {
    number: u32,
    ended_at: Option<Timestamp>,
    is_undone: bool,
    has_changes: bool,
    has_message: bool,
    has_reply: bool,
    nodes: Vec<PageNode>,
}

/// The round of a transcript.
pub(super) fn round(round: &Round) -> PageRound {
    let mut nodes = Vec::new();
    if !round.prose.trim().is_empty() {
        nodes.push(said(&round.prose));
    }
    for said in round.said_before_end() {
        nodes.push(speech(said.heading(), &said.text));
    }
    nodes.extend(round.done().map(|result| step(result, &[])));
    nodes.extend(round.issues.iter().map(issue));
    nodes.extend(round.answers().map(|text| own_words("Your answer", text)));
    nodes.extend(round.notes.iter().map(|text| own_words("Your note", text)));
    for said in round.said.iter().filter(|said| said.is_end()) {
        nodes.push(speech(said.heading(), &said.text));
    }
    nodes.extend(round.usage.map(|usage| note(format!("By an API: {usage}"))));
    PageRound {
        number: round.number,
        ended_at: round.ended_at,
        is_undone: round.is_undone,
        has_changes: round.changed_files(),
        has_message: round.message.is_some(),
        has_reply: round.reply.is_some(),
        nodes,
    }
}

/// An event.
pub(super) fn event(envelope: &Envelope) -> PageItem {
    let mut item = PageItem {
        seq: envelope.seq,
        at: envelope.at,
        kind: ItemKind::Item,
        nodes: Vec::new(),
        number: None,
        text: None,
        is_thought: false,
        size: None,
        request: None,
    };
    match &envelope.event {
        Event::Outbox { .. } | Event::Reply { .. } => letter(&mut item, &envelope.event),
        Event::Running { number, script } => {
            item.kind = ItemKind::Running;
            item.number = Some(*number);
            item.nodes = running(*number, script);
        }
        Event::Output { number, text, .. } => {
            item.kind = ItemKind::Output;
            item.number = Some(*number);
            item.text = Some(crate::escape::escape_text(text));
        }
        Event::Step {
            result,
            differences,
        } => {
            item.kind = ItemKind::Step;
            item.number = Some(result.number);
            if !result.is_shown_speech() {
                item.nodes.push(step(result, differences));
            }
        }
        Event::Check { command, outcome } => {
            item.kind = ItemKind::Step;
            item.number = Some(0);
            item.nodes.push(check(command, outcome));
        }
        Event::Api(news) => request(&mut item, news),
        Event::Approval { .. } | Event::Waiting { .. } => item.kind = ItemKind::Ask,
        Event::Question { question } => {
            item.kind = ItemKind::Ask;
            item.nodes.push(speech("The model asks", question));
        }
        Event::Arriving { .. } | Event::Clipboard(_) | Event::Unknown => {
            item.kind = ItemKind::State;
        }
        Event::Reset => item.kind = ItemKind::Reset,
        other => {
            if changes_standing(other) {
                item.kind = ItemKind::State;
            }
            item.nodes = other_nodes(other);
        }
    }
    item
}

/// A message that is ready, or a reply that was taken: with either a round begins.
fn letter(item: &mut PageItem, event: &Event) {
    match event {
        Event::Outbox {
            sequence,
            characters,
            tokens,
            percent,
            becomes_file,
            cuts,
            carried_by,
            ..
        } => {
            item.kind = ItemKind::Outbox;
            item.number = Some(*sequence);
            item.size = Some(MessageSize {
                characters: *characters,
                tokens: *tokens,
                percent: *percent,
                becomes_file: *becomes_file,
                carried_by: carried_by.clone(),
            });
            let ready = format!("Message {sequence} is ready, ~{tokens} tokens");
            item.nodes.push(note(ready));
            let cuts = cuts.iter().map(|cut| foreign_note("Left out", cut));
            item.nodes.extend(cuts);
        }
        Event::Reply {
            sequence, commands, ..
        } => {
            item.kind = ItemKind::Reply;
            item.number = Some(*sequence);
            let taken = format!("Reply taken: {}", count(*commands, "command"));
            item.nodes.push(note(taken));
        }
        _ => {}
    }
}

/// An answer of an API is shown while it comes, as the output of a command is, and its costs in the
/// end.
fn request(item: &mut PageItem, news: &ApiNews) {
    item.number = Some(REQUEST);
    item.request = page_request(news);
    match news {
        ApiNews::Sending {
            provider, model, ..
        } => {
            item.kind = ItemKind::Running;
            let head = [
                PageNode::labelled("span", "sign", "…"),
                PageNode::Text("Asking ".to_owned()),
                PageNode::code(&format!("{provider} {model}")),
            ];
            item.nodes = vec![
                PageNode::element("p", "line", head),
                PageNode::element("pre", "output live", []),
            ];
        }
        ApiNews::Text { text } | ApiNews::Reasoning { text } => {
            item.kind = ItemKind::Output;
            item.text = Some(text.clone());
            item.is_thought = matches!(news, ApiNews::Reasoning { .. });
        }
        ApiNews::Answered(_) | ApiNews::Refused { .. } | ApiNews::Stopped { .. } => {
            item.kind = ItemKind::Step;
            item.nodes = other_nodes(&Event::Api(news.clone()));
        }
        ApiNews::Shortened { .. } | ApiNews::Retrying { .. } | ApiNews::Overtaken => {
            item.nodes = other_nodes(&Event::Api(news.clone()));
        }
    }
}

fn page_request(news: &ApiNews) -> Option<PageRequest> {
    let phase = match news {
        ApiNews::Sending { .. } => RequestPhase::Asking,
        ApiNews::Reasoning { .. } => RequestPhase::Thinking,
        ApiNews::Text { .. } => RequestPhase::Answering,
        ApiNews::Retrying { .. } => RequestPhase::Retrying,
        ApiNews::Answered(answer) if answer.end == ApiAnswerEnd::Whole => RequestPhase::Whole,
        ApiNews::Answered(_) | ApiNews::Refused { .. } | ApiNews::Stopped { .. } => {
            RequestPhase::Over
        }
        ApiNews::Shortened { .. } | ApiNews::Overtaken => return None,
    };
    let (why, millis) = match news {
        ApiNews::Retrying { why, millis, .. } => (crate::escape::escape_text(why), Some(*millis)),
        _ => (String::new(), None),
    };
    Some(PageRequest { phase, why, millis })
}

fn changes_standing(event: &Event) -> bool {
    matches!(
        event,
        Event::Session { .. }
            | Event::Decided { .. }
            | Event::Note { .. }
            | Event::Reversed { .. }
            | Event::Rejected { .. }
            | Event::Done { .. }
            | Event::Ended { .. }
            | Event::RoundLimit { .. }
            | Event::Interrupted { .. }
    )
}

/// The elements of an event that is shown and nothing else.
fn other_nodes(event: &Event) -> Vec<PageNode> {
    let node = match event {
        Event::Session { resumed, .. } => note(if *resumed { "Resumed" } else { "Started" }),
        Event::Prose { text } => said(text),
        Event::Plan { text } => speech("Plan", text),
        Event::Message { text } => speech("The model says", text),
        Event::Note { text } => own_words("Your note", text),
        Event::Issue { issue: one } => issue(one),
        Event::Repaired { repair } => repaired(repair),
        Event::Ahead {
            number,
            command,
            title,
            shown,
            before,
        } => ahead(*number, *before, command, title, shown),
        Event::Cut { line, what } => PageNode::element(
            "p",
            "note warning",
            [
                PageNode::Text(format!("The reply is cut off in line {line}, in ")),
                PageNode::code(what),
                PageNode::Text(". The model is asked to send the rest.".to_owned()),
            ],
        ),
        Event::Decided {
            command,
            number,
            title,
            decision,
            reason,
            ..
        } if !command.is_empty() => decided(*number, title, decision, reason.as_deref()),
        Event::Decided {
            reason: Some(answer),
            decision,
            ..
        } if decision == "say" => own_words("Your answer", answer),
        Event::Rejected { name, why, .. } => PageNode::element(
            "p",
            "note warning",
            [
                PageNode::Text("Not used: ".to_owned()),
                PageNode::code(name),
                PageNode::Text(": ".to_owned()),
                PageNode::sentence(why),
            ],
        ),
        Event::Trouble {
            message,
            causes,
            hints,
        } => trouble(message, causes, hints),
        Event::Done {
            summary,
            rounds,
            changed,
            seconds,
            ..
        } => finished(summary, *rounds, *changed, *seconds),
        Event::RoundLimit { rounds, .. } => note(format!(
            "Stopped after {}: that is the limit. Resuming allows more.",
            count(*rounds as usize, "round")
        )),
        Event::Interrupted { .. } => note("Stopped. Nothing is lost: resume it when you like."),
        other => {
            let words = sentence(other);
            if words.trim().is_empty() {
                return Vec::new();
            }
            PageNode::element("p", "note", [PageNode::sentence(words.trim())])
        }
    };
    vec![node]
}

/// The end of a session.
fn finished(summary: &str, rounds: u32, changed: usize, seconds: u64) -> PageNode {
    let words = format!(
        "Done after {}, {} changed, {}",
        count(rounds as usize, "round"),
        count(changed, "file"),
        elapsed(seconds)
    );
    let title = PageNode::labelled("p", "who", words);
    PageNode::element("div", "speech done", [title, said(summary)])
}

/// A line of ours.
fn note(text: impl Into<String>) -> PageNode {
    PageNode::labelled("p", "note", text)
}

fn foreign_note(what: &str, text: &str) -> PageNode {
    let what = PageNode::Text(format!("{what}: "));
    PageNode::element("p", "note", [what, PageNode::sentence(text)])
}

/// Text of the model.
pub(super) fn said(text: &str) -> PageNode {
    markdown::render(&middle_out(text.trim(), MAX_SAID))
}

/// Text of the model with a heading of ours.
pub(super) fn speech(who: &'static str, text: &str) -> PageNode {
    let class = match who {
        "Plan" => "speech plan",
        "Done" => "speech done",
        _ => "speech",
    };
    PageNode::element(
        "div",
        class,
        [PageNode::labelled("p", "who", who), said(text)],
    )
}

/// Words of the person.
pub(super) fn own_words(who: &'static str, text: &str) -> PageNode {
    let text = middle_out(text.trim(), MAX_SAID);
    PageNode::element(
        "div",
        "speech own",
        [
            PageNode::labelled("p", "who", who),
            PageNode::element("p", "plain", [PageNode::spoken(&text)]),
        ],
    )
}

fn running(number: u32, script: &str) -> Vec<PageNode> {
    let what = if number == 0 { "Checking" } else { "Running" };
    let head = [
        PageNode::labelled("span", "sign", "…"),
        PageNode::Text(format!("{what} ")),
        PageNode::code(&middle_out(script.trim(), 300)),
    ];
    vec![
        PageNode::element("p", "line", head),
        PageNode::element("pre", "output live", []),
    ]
}

/// A step with its state, its output folded.
fn step(result: &StepResult, differences: &[ShownDifference]) -> PageNode {
    let outcome = &result.outcome;
    let (class, sign, word) = signs(outcome.status);
    let mut line = vec![
        PageNode::labelled("span", "sign", sign),
        PageNode::labelled("span", "word", word),
        PageNode::Text(" ".to_owned()),
    ];
    if result.has_text_subject() {
        line.push(PageNode::code(&result.subject));
        line.push(PageNode::Text(" ".to_owned()));
    }
    line.push(PageNode::sentence(&outcome.line("you")));
    if !differences.is_empty() {
        let added: usize = differences.iter().map(|one| one.added).sum();
        let removed: usize = differences.iter().map(|one| one.removed).sum();
        line.push(PageNode::labelled("span", "plus", format!(" +{added}")));
        line.push(PageNode::labelled("span", "minus", format!(" −{removed}")));
    }
    let mut children = vec![PageNode::element("p", "line", line)];
    children.extend(output(outcome));
    let hunks = differences
        .iter()
        .filter(|one| one.is_edit && !one.hunks.is_empty());
    children.extend(hunks.map(|one| diff(&one.hunks)));
    PageNode::element("div", class, children)
}

fn check(command: &str, outcome: &Outcome) -> PageNode {
    let (class, sign, word) = signs(outcome.status);
    let line = [
        PageNode::labelled("span", "sign", sign),
        PageNode::labelled("span", "word", word),
        PageNode::Text(" Your check ".to_owned()),
        PageNode::code(command),
        PageNode::Text(": ".to_owned()),
        PageNode::sentence(&outcome.line("you")),
    ];
    let mut children = vec![PageNode::element("p", "line", line)];
    children.extend(output(outcome));
    PageNode::element("div", class, children)
}

/// The class, the sign and the word for a result; a screen reader hears the word.
fn signs(status: Status) -> (&'static str, &'static str, &'static str) {
    match status {
        Status::Ok => ("step ok", "✓", "ok:"),
        Status::Failed => ("step failed", "✗", "failed:"),
        Status::Refused => ("step refused", "⊘", "refused:"),
        Status::Skipped => ("step skipped", "–", "skipped:"),
    }
}

/// The output of a step, folded unless it failed.
fn output(outcome: &Outcome) -> Option<PageNode> {
    let text = outcome.detail.text.trim_end();
    if text.trim().is_empty() {
        return None;
    }
    let class = if outcome.status == Status::Failed {
        "open"
    } else {
        ""
    };
    let lines = count(text.lines().count(), "line");
    let shown = middle_out(text, MAX_OUTPUT);
    Some(PageNode::element(
        "details",
        class,
        [
            PageNode::labelled("summary", "", format!("Output, {lines}")),
            PageNode::block("output", &shown),
        ],
    ))
}

pub(super) fn issue(issue: &Issue) -> PageNode {
    let what = match issue.number {
        Some(_) => "Not used",
        None => "Note",
    };
    let mut line = vec![PageNode::Text(format!("{what}, line {}: ", issue.line))];
    if let Some(command) = &issue.command {
        line.push(PageNode::code(command));
        line.push(PageNode::Text(": ".to_owned()));
    }
    line.push(PageNode::sentence(&issue.message));
    PageNode::element("p", "note warning", line)
}

fn repaired(repair: &Repair) -> PageNode {
    foreign_note("In the reply", &repair.what)
}

/// Shows a change that needs no approval, ahead of a question that may depend on it.
fn ahead(number: u32, before: u32, command: &str, title: &str, shown: &str) -> PageNode {
    let line = [
        PageNode::Text(match number {
            0 => String::new(),
            number => format!("Step {number}, {command} "),
        }),
        PageNode::code(title),
        PageNode::Text(match before {
            0 if number == 0 => ": from an earlier round; no step names it".to_owned(),
            before if number == 0 => {
                format!(": from an earlier round; step {before} names it")
            }
            0 => ": not asked about".to_owned(),
            before => format!(": not asked about; it comes before step {before}"),
        }),
    ];
    let line = PageNode::element("p", "note", line);
    PageNode::element("div", "ahead", [line, diff(shown)])
}

fn decided(number: u32, title: &str, decision: &str, reason: Option<&str>) -> PageNode {
    let word = match decision {
        "yes" | "all" => "You approved",
        "always" => "You approved for good",
        "once" => "You allowed the network once for",
        "session" => "You allowed the network for this session with",
        "edit" => "You changed and approved",
        "no" => "You declined",
        "skip" => "You skipped",
        "stop" => "You stopped at",
        _ => "You decided",
    };
    let mut line = vec![
        PageNode::Text(format!("{word} step {number}: ")),
        PageNode::sentence(title),
    ];
    if let Some(reason) = reason {
        line.push(PageNode::Text(" — ".to_owned()));
        line.push(PageNode::spoken(reason));
    }
    PageNode::element("p", "note", line)
}

/// A failure with its causes and what to do.
pub(super) fn trouble(message: &str, causes: &[String], hints: &[String]) -> PageNode {
    let mut children = vec![PageNode::element("p", "", [PageNode::sentence(message)])];
    children.extend(causes.iter().map(|cause| foreign_note("Caused by", cause)));
    children.extend(hints.iter().map(|hint| foreign_note("Hint", hint)));
    PageNode::element("div", "trouble", children)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::SessionId;

    fn shown(news: ApiNews) -> serde_json::Value {
        let envelope = Envelope {
            seq: 1,
            at: Timestamp::UNIX_EPOCH,
            session: SessionId::parse("ab12cd34").unwrap(),
            event: Event::Api(news),
        };
        serde_json::to_value(event(&envelope)).unwrap()
    }

    #[test]
    fn an_answer_is_shown_as_it_comes_and_thoughts_apart_from_text() {
        let sending = shown(ApiNews::Sending {
            provider: "custom".to_owned(),
            model: "one".to_owned(),
            round: 1,
            turns: 1,
            tokens: 10,
        });
        assert_eq!(sending["kind"], "running");
        let (thought, text) = (
            shown(ApiNews::Reasoning {
                text: "hm".to_owned(),
            }),
            shown(ApiNews::Text {
                text: "yes".to_owned(),
            }),
        );
        assert_eq!(
            (&thought["kind"], &text["kind"]),
            (&"output".into(), &"output".into())
        );
        assert_eq!(
            (&thought["isThought"], text.get("isThought")),
            (&true.into(), None)
        );
        let stopped = shown(ApiNews::Stopped { characters: 5 });
        // All of them are about the same request, and the last takes the place of the others.
        assert_eq!(stopped["kind"], "step");
        for other in [&thought, &text, &stopped] {
            assert_eq!(other["number"], sending["number"]);
        }
    }
}
