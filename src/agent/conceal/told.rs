//! All that a message tells, without secrets before any of it is measured, cut or split.
//!
//! A placeholder is longer than many a secret, and half a secret is none that can be found: so this
//! comes first. What one text teaches holds for all of them, also for those before it.

use std::collections::BTreeSet;

use super::super::{Agent, Conversation};
use super::named::named;
use super::{Concealed, text_of};
use crate::compose::Content;
use crate::protocol::{Excerpt, Outcome, RelPath, StepResult};
use crate::secrets::{Scanner, TextSource};
use crate::session::{PastRound, Session};

/// How often all of it is searched, as long as that teaches anything.
const PASSES: usize = 3;

/// What a message is made of, as far as it is words.
#[derive(Debug)]
pub(in crate::agent) struct Told<'a> {
    /// The session, with what the last round told.
    pub(in crate::agent) session: &'a mut Session,
    /// The contents of files.
    pub(in crate::agent) contents: Vec<&'a mut Vec<Content>>,
    /// Earlier rounds.
    pub(in crate::agent) past: &'a mut [PastRound],
    /// What else there is.
    pub(in crate::agent) texts: Vec<&'a mut String>,
}

impl Conversation<'_> {
    /// Puts placeholders in the place of all secrets of what is told.
    pub(in crate::agent) fn conceal(&mut self, mut told: Told<'_>) {
        let agent = self.agent;
        let Some(scanner) = &agent.manner.secrets else {
            return;
        };
        told.teach(agent, scanner, &mut self.concealed);
        for _ in 0..PASSES {
            let known = self.concealed.vault.changes();
            told.conceal(scanner, &mut self.concealed);
            if self.concealed.vault.changes() == known {
                break;
            }
        }
    }
}

impl Told<'_> {
    /// Learns what the files have in them of which lines are told, each file once.
    ///
    /// A line of a private key does not tell by itself what it is, nor does one of a file of settings.
    fn teach(&self, agent: &Agent, scanner: &Scanner, concealed: &mut Concealed) {
        let session = &*self.session;
        let (mut shown, mut printed) = (BTreeSet::new(), BTreeSet::new());
        for result in &session.last_results {
            let excerpts = result.outcome.excerpts.iter();
            shown.extend(about(result));
            shown.extend(excerpts.map(|excerpt| excerpt.path.clone()));
            if matches!(result.command.as_str(), "RUN_COMMAND" | "GIT_DIFF") {
                printed.extend(named(&result.subject));
                printed.extend(named(&result.outcome.detail.text));
            }
        }
        let check = session.check.iter();
        printed.extend(check.flat_map(|report| named(&report.outcome.detail.text)));
        printed.extend(self.texts.iter().flat_map(|text| named(text)));
        for path in &shown {
            let text = text_of(&agent.workspace, path, agent.limits.max_file_bytes);
            if let Some(text) = text {
                (concealed.credentials).learn_file(scanner, path, &text);
            }
        }
        printed.retain(|path| !shown.contains(path));
        (concealed.credentials).learn_paths(&agent.workspace, scanner, &printed);
    }

    fn conceal(&mut self, scanner: &Scanner, concealed: &mut Concealed) {
        let session = &mut *self.session;
        for result in &mut session.last_results {
            concealed.result(scanner, result);
        }
        if let Some(report) = &mut session.check {
            let text = &mut report.outcome.detail.text;
            concealed.text(scanner, text, TextSource::Text, "the output of the check");
        }
        let mut words = |text: &mut String| {
            concealed.text(scanner, text, TextSource::Text, "the message");
        };
        session.each_word(&mut words);
        for content in self
            .contents
            .iter_mut()
            .flat_map(|contents| contents.iter_mut())
        {
            words(&mut content.title);
            words(&mut content.text.text);
        }
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
        clean(&mut result.outcome.message);
        clean(&mut result.outcome.detail.text);
    }
    for question in &mut round.questions {
        clean(&mut question.question);
        question.answer.iter_mut().for_each(&mut *clean);
    }
    round.notes.iter_mut().for_each(&mut *clean);
}

impl Concealed {
    /// What became of a step, without secrets.
    fn result(&mut self, scanner: &Scanner, result: &mut StepResult) {
        let place = format!("the result of step {}", result.number);
        if result.command == "SEARCH_TEXT" {
            self.hits(scanner, &mut result.outcome.detail.text, &place);
        }
        let path = about(result);
        let outcome = &mut result.outcome;
        let source = match &path {
            Some(path) => TextSource::File(path.as_str()),
            None => TextSource::Text,
        };
        self.text(scanner, &mut outcome.message, source, &place);
        if outcome.excerpts.is_empty() {
            self.text(scanner, &mut outcome.detail.text, source, &place);
        } else {
            self.excerpts(scanner, outcome, &place);
        }
        self.text(scanner, &mut result.subject, TextSource::Text, &place);
    }

    /// A detail with lines of several files, each read as a part of its own.
    fn excerpts(&mut self, scanner: &Scanner, outcome: &mut Outcome, place: &str) {
        let mut lines = outcome.detail.text.split_inclusive('\n');
        let mut whole = String::new();
        for Excerpt { path, lines: count } in &outcome.excerpts {
            let mut text: String = lines.by_ref().take(*count).collect();
            self.text(scanner, &mut text, TextSource::File(path.as_str()), place);
            whole.push_str(&text);
        }
        let mut rest: String = lines.collect();
        self.text(scanner, &mut rest, TextSource::Text, place);
        whole.push_str(&rest);
        outcome.detail.text = whole;
    }
}

/// The file whose lines the result of a step shows.
fn about(result: &StepResult) -> Option<RelPath> {
    let is_about_a_file = matches!(
        result.command.as_str(),
        "CREATE_FILE" | "EDIT_FILE" | "INSERT_TEXT" | "APPLY_PATCH"
    );
    let path = RelPath::parse(&result.subject).ok();
    path.filter(|_| is_about_a_file)
}
