//! The person is asked once about secrets that may be none: sample tokens in tests, and values of
//! names that do not say that they are secret.
//!
//! The answer is kept for the project, so no later session asks again. Where nobody can be asked,
//! placeholders stay.

use super::Redactor;
use super::told::MessageTexts;
use crate::approve::{self, Person as _, Question, Verdict};
use crate::error::Result;
use crate::protocol::Event;
use crate::secrets::Secret;

/// The longest part of a value that is shown, in characters.
const LONGEST_SHOWN: usize = 80;

impl Redactor<'_> {
    /// Gets the person's answers about new secrets that may be none, and puts back into what is told
    /// those that are sent.
    pub(in crate::agent) fn settle_doubts(&mut self, told: &mut MessageTexts<'_>) -> Result<()> {
        let numbers = self.known.places.keys().copied();
        let doubts = self.known.vault.open_doubts(numbers);
        if doubts.is_empty() {
            return Ok(());
        }
        self.recall_answers(&doubts);
        let left = self.known.vault.open_doubts(doubts.iter().copied());
        if !left.is_empty() && self.agent.person.is_interactive() {
            self.ask_about(&left, told.session.sequence_number)?;
        }
        let vault = &self.known.vault;
        told.each_text(&mut |piece| {
            if let Some(restored) = vault.restore_sent(piece.text) {
                *piece.text = restored;
            }
        });
        Ok(())
    }

    /// Takes the answers that earlier sessions of this project got.
    fn recall_answers(&mut self, numbers: &[usize]) {
        let agent = self.agent;
        let kept = match agent.manner.authorizer.kept_answers.load(&agent.base) {
            Ok(kept) => kept,
            Err(error) => return agent.tell(Event::from(&error)),
        };
        let vault = &mut self.known.vault;
        for number in numbers {
            let mark = vault.secret(*number).map(mark);
            if let Some(is_sent) = mark.and_then(|mark| kept.get(&mark).copied()) {
                vault.answer(*number, is_sent);
            }
        }
    }

    /// Asks about all of these at once. Without an answer they are kept back, and asked about again.
    fn ask_about(&mut self, numbers: &[usize], round: u32) -> Result<()> {
        let agent = self.agent;
        let vault = &mut self.known.vault;
        let secrets = numbers.iter().filter_map(|number| vault.secret(*number));
        let shown: Vec<String> = secrets.clone().map(described).collect();
        let marks: Vec<String> = secrets.map(mark).collect();
        let question = Question::about_secrets(round, &shown);
        let pending = approve::Pending::of(&agent.store.folder(&self.id));
        pending.put(&question)?;
        let verdicts = approve::decide(&*agent.person, &agent.interrupt, &pending, &[question])?;
        let is_sent = match verdicts.as_deref().and_then(<[Verdict]>::first) {
            Some(Verdict::Yes | Verdict::AllOfThisRound | Verdict::Always) => true,
            Some(Verdict::No { .. }) => false,
            Some(Verdict::Stop) => {
                pending.clear(&*agent.person);
                agent.interrupt.raise();
                return Ok(());
            }
            Some(Verdict::Edit { .. } | Verdict::Skip | Verdict::Say { .. }) | None => {
                return Ok(());
            }
        };
        for number in numbers {
            vault.answer(*number, is_sent);
        }
        // That the answer cannot be kept for later sessions is no reason to lose it for this one.
        let answers = &agent.manner.authorizer.kept_answers;
        if let Err(error) = answers.add(&agent.base, marks, is_sent) {
            agent.tell(Event::from(&error));
        }
        pending.clear(&*agent.person);
        Ok(())
    }
}

/// Hashes a secret, so that the file of answers need not contain its value.
fn mark(secret: &Secret) -> String {
    let value = secret.lines.join("\n");
    blake3::hash(value.as_bytes()).to_hex().to_string()
}

/// A line about a secret from which the person can judge it.
fn described(secret: &Secret) -> String {
    let value = secret.lines.join(" ");
    let mut shown: String = value.chars().take(LONGEST_SHOWN).collect();
    if shown.len() < value.len() {
        shown.push_str("...");
    }
    let files: Vec<&str> = secret.files.iter().map(String::as_str).collect();
    match files.as_slice() {
        [] => format!("{}: {shown}", secret.kind),
        files => format!("{} in {}: {shown}", secret.kind, files.join(", ")),
    }
}
