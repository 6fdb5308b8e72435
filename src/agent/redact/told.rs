//! All that a message tells, redacted before any of it is measured, cut or split: placeholders change
//! the length, and a truncated secret would not be recognised.
//!
//! Each text is searched once. Only then are placeholders written, because what one text teaches holds
//! for all of them.

use std::collections::BTreeSet;

use super::super::Agent;
use super::credentials::MAX_FILE;
use super::named::named;
use super::{KnownSecrets, Redactor};
use crate::compose::Content;
use crate::protocol::{CommandKind, Outcome, RelPath, StepResult};
use crate::secrets::{Scanner, TextSource};
use crate::session::{PastRound, Session};

/// A text of a message, or a part of one.
#[derive(Debug)]
pub(super) struct TextPiece<'a> {
    pub(super) text: &'a mut String,
    pub(super) source: TextSource<'a>,
    /// Says to the person where it stands.
    pub(super) place: &'a str,
    /// True if it was searched when its file was read.
    pub(super) is_searched: bool,
}

impl<'a> TextPiece<'a> {
    pub(super) fn new(text: &'a mut String, source: TextSource<'a>, place: &'a str) -> Self {
        Self {
            text,
            source,
            place,
            is_searched: false,
        }
    }

    /// A text of which nobody knows the origin.
    fn plain(text: &'a mut String, place: &'a str) -> Self {
        Self::new(text, TextSource::Text, place)
    }
}

/// A visitor that is called with each text.
pub(super) type TextVisitor<'v> = dyn FnMut(TextPiece<'_>) + 'v;

/// All texts that go into a message.
#[derive(Debug)]
pub(in crate::agent) struct MessageTexts<'a> {
    /// The session, with what the last round told.
    pub(in crate::agent) session: &'a mut Session,
    /// The contents of files.
    pub(in crate::agent) contents: Vec<&'a mut Vec<Content>>,
    /// Earlier rounds.
    pub(in crate::agent) past: &'a mut [PastRound],
    /// Other texts, such as notes and diffs.
    pub(in crate::agent) texts: Vec<&'a mut String>,
}

impl Redactor<'_> {
    /// Puts placeholders in the place of all secrets of what is told.
    pub(in crate::agent) fn redact(&mut self, told: &mut MessageTexts<'_>) {
        let agent = self.agent;
        if !self.keys.is_empty() {
            told.each_text(&mut |piece| *piece.text = self.keys.scrub(piece.text));
        }
        let Some(scanner) = &agent.manner.secrets else {
            return;
        };
        let known = &mut self.known;
        told.teach(agent, scanner, known);
        let mut found = Vec::new();
        told.each_text(&mut |piece| {
            found.push(if piece.is_searched {
                known.foresee(piece.text);
                Vec::new()
            } else {
                known.learn(scanner, piece.text, piece.source)
            });
        });
        let mut found = found.into_iter();
        told.each_text(&mut |piece| {
            let found = found.next().unwrap_or_default();
            known.replace(piece.text, piece.source, found, piece.place);
        });
    }
}

impl MessageTexts<'_> {
    /// Learns what the files have in them of which lines are told, each file once.
    ///
    /// A line of a private key does not tell by itself what it is, nor does one of a file of settings.
    fn teach(&self, agent: &Agent, scanner: &Scanner, known: &mut KnownSecrets) {
        let session = &*self.session;
        let (mut shown, mut printed) = (BTreeSet::new(), BTreeSet::new());
        for result in &session.last_results {
            // What a search found was compared with the whole files when it was found.
            let excerpts = (result.outcome.excerpts.iter()).filter(|one| one.heads.is_empty());
            shown.extend(about(result));
            shown.extend(excerpts.map(|excerpt| excerpt.path.clone()));
            if result.is_run() || result.is(CommandKind::GitDiff) {
                printed.extend(named(&result.subject));
                printed.extend(named(&result.outcome.detail.text));
            }
        }
        let check = session.check.iter();
        printed.extend(check.flat_map(|report| named(&report.outcome.detail.text)));
        printed.extend(self.texts.iter().flat_map(|text| named(text)));
        printed.retain(|path| !shown.contains(path));
        for (paths, most) in [(shown, agent.limits.max_file_bytes), (printed, MAX_FILE)] {
            (known.credentials).learn_paths(&agent.workspace, scanner, &paths, most);
        }
    }

    /// Visits each text once, always in the same order.
    pub(super) fn each_text(&mut self, visit: &mut TextVisitor<'_>) {
        const MESSAGE: &str = "the message";
        let session = &mut *self.session;
        for result in &mut session.last_results {
            each_piece(result, visit);
        }
        if let Some(report) = &mut session.check {
            const CHECK: &str = "the output of the check";
            let outcome = report.outcome.texts_mut();
            for text in outcome.chain([&mut report.command]) {
                visit(TextPiece::plain(text, CHECK));
            }
        }
        let contents = self.contents.iter_mut();
        for content in contents.flat_map(|contents| contents.iter_mut()) {
            visit(TextPiece::plain(&mut content.title, MESSAGE));
            visit(TextPiece {
                is_searched: true,
                ..TextPiece::plain(&mut content.text.text, MESSAGE)
            });
        }
        let mut words = |text: &mut String| visit(TextPiece::plain(text, MESSAGE));
        session.each_word(&mut words);
        for round in &mut *self.past {
            each_word(round, &mut words);
        }
        for text in &mut self.texts {
            words(text);
        }
    }
}

/// Passes every text of an earlier round through this function.
fn each_word(round: &mut PastRound, clean: &mut dyn FnMut(&mut String)) {
    for result in &mut round.results {
        clean(&mut result.subject);
        result.outcome.texts_mut().for_each(&mut *clean);
    }
    for question in &mut round.questions {
        clean(&mut question.question);
        question.answer.iter_mut().for_each(&mut *clean);
    }
    round.notes.iter_mut().for_each(&mut *clean);
}

/// Visits the texts of the result of a step.
fn each_piece(result: &mut StepResult, visit: &mut TextVisitor<'_>) {
    let place = format!("the result of step {}", result.number);
    let path = about(result);
    let source = match &path {
        Some(path) => TextSource::File(path.as_str()),
        None => TextSource::Text,
    };
    let outcome = &mut result.outcome;
    let words = std::iter::once(&mut outcome.message).chain(&mut outcome.remarks);
    for text in words.chain([&mut outcome.hint]) {
        visit(TextPiece::new(text, source, &place));
    }
    if outcome.excerpts.is_empty() {
        visit(TextPiece::new(&mut outcome.detail.text, source, &place));
    } else {
        each_excerpt(outcome, &place, visit);
    }
    visit(TextPiece::plain(&mut result.subject, &place));
}

/// Visits a detail with lines of several files, each file as a part of its own.
fn each_excerpt(outcome: &mut Outcome, place: &str, visit: &mut TextVisitor<'_>) {
    let mut lines = outcome.detail.text.split('\n');
    let mut visited: Vec<String> = Vec::new();
    for excerpt in &outcome.excerpts {
        let heads = excerpt.heads.iter().copied().chain(std::iter::repeat(0));
        let parted = lines.by_ref().zip(heads).take(excerpt.lines);
        // A text that was shortened since may not have all of a head.
        let parted = parted.map(|(line, head)| line.split_at_checked(head).unwrap_or((line, "")));
        let (heads, contents): (Vec<&str>, Vec<&str>) = parted.unzip();
        if heads.is_empty() {
            break;
        }
        let mut text = contents.join("\n");
        let source = TextSource::File(excerpt.path.as_str());
        visit(TextPiece::new(&mut text, source, place));
        // A placeholder may stand for several lines; the first of them keeps its head.
        let joined = heads.iter().zip(text.split('\n'));
        visited.extend(joined.map(|(head, content)| format!("{head}{content}")));
    }
    let rest: Vec<&str> = lines.collect();
    if !rest.is_empty() {
        let mut rest = rest.join("\n");
        visit(TextPiece::plain(&mut rest, place));
        visited.push(rest);
    }
    outcome.detail.text = visited.join("\n");
}

/// The file whose lines the result of a step shows.
fn about(result: &StepResult) -> Option<RelPath> {
    use CommandKind::{ApplyPatch, CreateFile, EditFile, InsertText};
    let kinds = [CreateFile, EditFile, InsertText, ApplyPatch];
    let is_about_a_file = kinds.iter().any(|kind| result.is(*kind));
    let path = RelPath::parse(&result.subject).ok();
    path.filter(|_| is_about_a_file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Excerpt;

    fn excerpt(path: &str, heads: &[usize]) -> Excerpt {
        Excerpt {
            path: RelPath::parse(path).unwrap(),
            lines: heads.len(),
            heads: heads.to_vec(),
        }
    }

    #[test]
    fn a_line_that_a_search_found_is_read_as_one_of_its_file() {
        let text =
            "conf.yml:\n  1: a: b\n  --\n  5: password: Xk29dkfj39dk\nc.rs:1: x\n[TRUNCATED]";
        let mut outcome = Outcome::ok("3 matching lines").with_detail(text);
        outcome.excerpts = vec![excerpt("conf.yml", &[9, 5, 4, 5]), excerpt("c.rs", &[8])];
        let (scanner, mut known) = (Scanner::default(), KnownSecrets::default());
        let mut visited = Vec::new();
        each_excerpt(&mut outcome, "a search", &mut |piece| {
            visited.push(piece.text.clone());
            known.text(&scanner, piece.text, piece.source, piece.place);
        });
        assert_eq!(
            visited,
            ["\na: b\n\npassword: Xk29dkfj39dk", "x", "[TRUNCATED]"]
        );
        assert_eq!(
            outcome.detail.text,
            "conf.yml:\n  1: a: b\n  --\n  5: password: [SECRET-1 password]\nc.rs:1: x\n[TRUNCATED]"
        );
    }

    #[test]
    fn a_detail_that_was_shortened_stays_as_long_as_it_is() {
        for text in [
            "",
            "a",
            "a.rs:1: \u{e4}",
            "a.rs:1: x\n",
            "\u{e4}\u{e4}\n  2",
        ] {
            let mut outcome = Outcome::ok("2 matching lines").with_detail(text);
            outcome.excerpts = vec![excerpt("a.rs", &[8, 5]), excerpt("b.rs", &[1])];
            each_excerpt(&mut outcome, "a search", &mut |_| {});
            assert_eq!(outcome.detail.text, text);
        }
    }
}
