//! All that a message tells, without secrets before any of it is measured, cut or split.
//!
//! A placeholder is longer than many a secret, and half a secret is none that can be found: so this
//! comes first. What one text teaches holds for all of them, also for those before it.

use super::super::{Agent, Conversation};
use super::{Concealed, text_of};
use crate::compose::Content;
use crate::protocol::{RelPath, StepResult};
use crate::secrets::{Scanner, Source};
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
        for _ in 0..PASSES {
            let known = self.concealed.vault.len();
            told.conceal(agent, scanner, &mut self.concealed);
            if self.concealed.vault.len() == known {
                break;
            }
        }
    }
}

impl Told<'_> {
    fn conceal(&mut self, agent: &Agent, scanner: &Scanner, concealed: &mut Concealed) {
        let session = &mut *self.session;
        for result in &mut session.last_results {
            concealed.result(agent, scanner, result);
        }
        if let Some(report) = &mut session.check {
            let text = &mut report.outcome.detail.text;
            concealed.text(scanner, text, Source::Text, "the output of the check");
        }
        let mut words = |text: &mut String| {
            concealed.text(scanner, text, Source::Text, "the message");
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
    fn result(&mut self, agent: &Agent, scanner: &Scanner, result: &mut StepResult) {
        let place = format!("the result of step {}", result.number);
        let outcome = &mut result.outcome;
        if result.command == "SEARCH_TEXT" {
            self.hits(scanner, &mut outcome.detail.text, &place);
        }
        let source = match RelPath::parse(&result.subject) {
            Ok(path) if is_about_a_file(&result.command) => {
                // A line of a private key does not tell by itself what it is.
                let max = agent.limits.max_file_bytes;
                if let Some(whole) = text_of(&agent.workspace, &path, max) {
                    let source = Source::File(path.as_str());
                    self.vault.learn(scanner, &whole, source);
                }
                Source::File(&result.subject)
            }
            _ => Source::Text,
        };
        for text in [&mut outcome.message, &mut outcome.detail.text] {
            self.text(scanner, text, source, &place);
        }
        self.text(scanner, &mut result.subject, Source::Text, &place);
    }
}

fn is_about_a_file(command: &str) -> bool {
    matches!(
        command,
        "CREATE_FILE" | "EDIT_FILE" | "INSERT_TEXT" | "APPLY_PATCH"
    )
}
