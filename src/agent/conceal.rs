//! Keeps secrets from the chat: what goes out has placeholders, and a reply may use them where the
//! secret itself stands.
//!
//! What is read or was printed is searched where its origin is known, before it is cut to its room;
//! the whole message is searched once more before it is written. What placeholders stand for is on
//! the disk, readable by its owner only, before any message that has them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::Conversation;
use crate::compose::{Content, Form, Outbox};
use crate::error::Result;
use crate::execute::Shown;
use crate::protocol::{
    Command, Edit, FileChange, Hunk, HunkLine, Outcome, Pattern, RelPath, SessionId, Step,
};
use crate::secrets::{Misplaced, Scanner, Secret, Source, Vault};
use crate::session::{Session, Store};
use crate::workspace::Workspace;
use crate::workspace::text::TextFile;

/// Where the secrets of a session are kept, beside it.
const SECRETS: &str = "secrets.json";

/// What the placeholders of a session stand for.
pub fn kept_secrets(store: &Store, id: &SessionId) -> Vault {
    store.aside(id, SECRETS).unwrap_or_default()
}

/// The secrets of a session, and which of them stood in the message that is being made.
#[derive(Debug, Default)]
pub(super) struct Concealed {
    vault: Vault,
    /// What of it is on the disk.
    kept: Vault,
    /// Where each stood, by its number.
    places: BTreeMap<usize, BTreeSet<String>>,
}

impl Concealed {
    /// What was kept of a session's secrets.
    pub(super) fn of(store: &Store, session: &Session) -> Self {
        let vault = kept_secrets(store, &session.session_id);
        Self {
            kept: vault.clone(),
            vault,
            places: BTreeMap::new(),
        }
    }

    /// The secrets of another session, with the same placeholders; none is on the disk yet.
    pub(super) fn taken_over(vault: Vault) -> Self {
        Self {
            vault,
            ..Self::default()
        }
    }

    /// A text without its secrets; `place` says to the person where they stood.
    fn text(&mut self, scanner: &Scanner, text: &mut String, source: Source<'_>, place: &str) {
        let redacted = self.vault.redact(scanner, text, source);
        for number in redacted.numbers {
            let places = self.places.entry(number).or_default();
            places.insert(place.to_owned());
        }
        *text = redacted.text;
    }
}

impl Conversation<'_> {
    /// The contents of a file as the chat may see them.
    ///
    /// The whole file is searched, though only lines of it may be shown: a line of a private key
    /// does not tell by itself what it is.
    pub(super) fn conceal_file(&mut self, path: &RelPath, shown: Shown) -> Content {
        let mut content = Content {
            title: shown.header,
            text: shown.contents,
        };
        let agent = self.agent;
        if let Some(scanner) = &agent.manner.secrets
            && !content.text.is_empty()
        {
            let source = Source::File(path.as_str());
            if let Some(whole) = text_of(&agent.workspace, path, agent.limits.max_file_bytes) {
                self.concealed.vault.learn(scanner, &whole, source);
            }
            let place = format!("`{path}`");
            self.concealed
                .text(scanner, &mut content.text.text, source, &place);
        }
        content
    }

    /// The session as the chat may hear of it.
    pub(super) fn concealed_session(&mut self) -> Cow<'_, Session> {
        let Some(scanner) = &self.agent.manner.secrets else {
            return Cow::Borrowed(&self.session);
        };
        let mut session = self.session.clone();
        for result in &mut session.last_results {
            let place = format!("the result of step {}", result.number);
            let source = match RelPath::parse(&result.subject) {
                Ok(_) if is_about_a_file(&result.command) => Source::File(&result.subject),
                _ => Source::Text,
            };
            let outcome = &mut result.outcome;
            for text in [&mut outcome.message, &mut outcome.detail.text] {
                self.concealed.text(scanner, text, source, &place);
            }
        }
        if let Some(report) = &mut session.check {
            let text = &mut report.outcome.detail.text;
            self.concealed
                .text(scanner, text, Source::Text, "the output of the check");
        }
        Cow::Owned(session)
    }

    /// A message as the chat may read it, in whatever form it goes.
    pub(super) fn conceal_outbox(&mut self, outbox: &mut Outbox) {
        let Outbox { text, form, .. } = outbox;
        self.conceal_message([text]);
        match form {
            Form::Whole => {}
            Form::Parts(parts) => self.conceal_message(parts),
            Form::Attached { message } => self.conceal_message([message]),
        }
    }

    /// Texts as the chat may read them.
    pub(super) fn conceal_message<'a>(&mut self, texts: impl IntoIterator<Item = &'a mut String>) {
        if let Some(scanner) = &self.agent.manner.secrets {
            for text in texts {
                self.concealed
                    .text(scanner, text, Source::Text, "the message");
            }
        }
    }

    /// Whether any secret was kept from the chat.
    pub(super) fn has_secrets(&self) -> bool {
        !self.concealed.vault.is_empty()
    }

    /// Puts on the disk what new placeholders stand for.
    pub(super) fn keep_secrets(&mut self) -> Result<()> {
        let Concealed { vault, kept, .. } = &mut self.concealed;
        if vault != kept {
            let store = &self.agent.store;
            store.put_aside_durably(&self.session.session_id, SECRETS, vault)?;
            kept.clone_from(vault);
        }
        Ok(())
    }

    /// Tells the person what the message does not have.
    pub(super) fn tell_secrets(&mut self) {
        let places = std::mem::take(&mut self.concealed.places);
        if places.is_empty() {
            return;
        }
        let vault = &self.concealed.vault;
        let told: Vec<String> = places
            .iter()
            .map(|(number, places)| {
                let kind = vault
                    .secret(*number)
                    .map_or("secret", |secret| &secret.kind);
                // A place of its own tells more than that it stood in the message.
                let own = places.iter().filter(|place| *place != "the message");
                let own: Vec<&str> = own.map(String::as_str).collect();
                match own.as_slice() {
                    [] => format!("{kind} in your words"),
                    own => format!("{kind} in {}", own.join(", ")),
                }
            })
            .collect();
        let text = match told.as_slice() {
            [one] => format!("A secret stays here; the message has a placeholder for it: {one}"),
            _ => format!(
                "{} secrets stay here; the message has placeholders for them: {}",
                told.len(),
                told.join("; ")
            ),
        };
        self.agent.ui.say(&text);
    }

    /// The steps with secrets in the place of placeholders, as far as these may be used.
    pub(super) fn revealed_steps(&self, steps: &[Step]) -> Vec<Step> {
        let revealed = steps.iter().filter_map(|step| self.revealed(step).ok());
        revealed.map(Cow::into_owned).collect()
    }

    /// The step with secrets in the place of placeholders, or why it is refused.
    pub(super) fn revealed<'s>(&self, step: &'s Step) -> Result<Cow<'s, Step>, Outcome> {
        if self.concealed.vault.is_empty() {
            return Ok(Cow::Borrowed(step));
        }
        let revealing = Revealing {
            vault: &self.concealed.vault,
            workspace: &self.agent.workspace,
            max_file_bytes: self.agent.limits.max_file_bytes,
        };
        let mut revealed = step.clone();
        match revealing.command(&mut revealed.command) {
            Ok(()) => Ok(Cow::Owned(revealed)),
            Err(misplaced) => Err(refusal(&misplaced)),
        }
    }
}

fn is_about_a_file(command: &str) -> bool {
    matches!(
        command,
        "CREATE_FILE" | "EDIT_FILE" | "INSERT_TEXT" | "APPLY_PATCH"
    )
}

fn text_of(workspace: &Workspace, path: &RelPath, max_bytes: u64) -> Option<String> {
    let bytes = workspace.read(path, max_bytes).ok()?;
    Some(TextFile::decode(bytes).ok()?.text)
}

fn refusal(misplaced: &Misplaced) -> Outcome {
    let Misplaced { placeholder, files } = misplaced;
    let place = match files.first() {
        Some(file) => format!("edits of the file in which it stands (`{file}`)"),
        None => "edits of the file in which it stands".to_owned(),
    };
    Outcome::refused(format!(
        "`{placeholder}` stands for a secret that only {place} can use; let the program read the secret from there, or ask the user"
    ))
}

/// What is needed to put secrets back.
struct Revealing<'a> {
    vault: &'a Vault,
    workspace: &'a Workspace,
    max_file_bytes: u64,
}

impl Revealing<'_> {
    fn command(&self, command: &mut Command) -> Result<(), Misplaced> {
        match command {
            Command::CreateFile { path, content } => self.in_file(path, [content]),
            Command::InsertText { path, text, .. } => self.in_file(path, [text]),
            Command::EditFile { path, edit } => match edit {
                Edit::Lines { text, .. } => self.in_file(path, [text]),
                Edit::Replace { edits } => {
                    for edit in edits {
                        let quote = match edit.pattern {
                            Pattern::Regex => Quote::Regex,
                            Pattern::Lines | Pattern::Text => Quote::Verbatim,
                        };
                        self.put_back(path, &mut edit.search, quote)?;
                        let quote = match quote {
                            Quote::Regex => Quote::Replacement,
                            other => other,
                        };
                        self.put_back(path, &mut edit.replace, quote)?;
                    }
                    Ok(())
                }
            },
            Command::ApplyPatch { changes } => changes
                .iter_mut()
                .try_for_each(|change| self.change(change)),
            Command::RunCommand { script: text, .. }
            | Command::SearchText { pattern: text, .. } => self.nowhere(text),
            _ => Ok(()),
        }
    }

    fn change(&self, change: &mut FileChange) -> Result<(), Misplaced> {
        match change {
            FileChange::Add { path, content, .. } => self.in_file(path, [content]),
            FileChange::Delete { path, hunks } | FileChange::Update { path, hunks, .. } => {
                hunks.iter_mut().try_for_each(|hunk| self.hunk(path, hunk))
            }
        }
    }

    fn hunk(&self, path: &RelPath, hunk: &mut Hunk) -> Result<(), Misplaced> {
        let lines = hunk.lines.iter_mut().map(|line| match line {
            HunkLine::Keep(text) | HunkLine::Remove(text) | HunkLine::Add(text) => text,
        });
        self.in_file(path, lines.chain(&mut hunk.anchors))
    }

    fn in_file<'t>(
        &self,
        path: &RelPath,
        texts: impl IntoIterator<Item = &'t mut String>,
    ) -> Result<(), Misplaced> {
        texts
            .into_iter()
            .try_for_each(|text| self.put_back(path, text, Quote::Verbatim))
    }

    fn put_back(&self, path: &RelPath, text: &mut String, quote: Quote) -> Result<(), Misplaced> {
        let mut content: Option<Option<String>> = None;
        let mut may = |secret: &Secret| {
            let stands = |content: &Option<String>| {
                let content = content.as_deref().unwrap_or_default();
                secret.lines.iter().any(|line| content.contains(line))
            };
            secret.files.contains(path.as_str())
                || stands(
                    content
                        .get_or_insert_with(|| text_of(self.workspace, path, self.max_file_bytes)),
                )
        };
        let quoted = |value: &str| match quote {
            Quote::Verbatim => value.to_owned(),
            Quote::Regex => regex::escape(value),
            Quote::Replacement => value.replace('$', "$$"),
        };
        if let Some(revealed) = self.vault.reveal(text, &mut may, &quoted)? {
            *text = revealed;
        }
        Ok(())
    }

    fn nowhere(&self, text: &str) -> Result<(), Misplaced> {
        let never = &mut |_: &Secret| false;
        self.vault.reveal(text, never, &str::to_owned).map(|_| ())
    }
}

/// How a secret is written where it is put back.
#[derive(Debug, Clone, Copy)]
enum Quote {
    Verbatim,
    Regex,
    Replacement,
}
