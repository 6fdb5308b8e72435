//! Redacts secrets: what goes out to the chat has placeholders, and a reply may use them where the
//! secret itself stands (`reveal`).
//!
//! Each text is searched once where its origin is known, before it is cut to its room (`told`), and
//! the whole message once before it is measured and split. Files that are shown are searched when
//! they are read. What placeholders stand for is on the disk, readable by its owner only, before any
//! message that has them. The person is asked once about secrets that may be none (`doubts`).

mod credentials;
mod doubts;
mod named;
mod reveal;
mod told;

use std::collections::{BTreeMap, BTreeSet};

pub use self::credentials::credentials;
pub(super) use self::credentials::names;
use self::credentials::{Credentials, MAX_FILE};
pub(super) use self::reveal::refused_placeholder;
pub(super) use self::told::MessageTexts;
use super::Agent;
use crate::compose::{Content, Outbox, OutboxForm, Veil};
use crate::error::Result;
use crate::execute::{Hidden, Hide, Shown};
use crate::known_keys::KnownKeys;
use crate::protocol::{Event, KeptSecret, RelPath, SessionId};
use crate::secrets::{FoundPlaces, MAX_KNOWN, Plain, Scanner, TextSource, Vault, nameless};
use crate::session::Store;
use crate::workspace::Workspace;
use crate::workspace::text::TextFile;
use crate::workspace::walk::Walked;

/// Where the secrets of a session are kept, beside it.
const SECRETS: &str = "secrets.json";

/// Loads the secrets that the placeholders of a session stand for.
pub fn kept_secrets(store: &Store, id: &SessionId) -> Vault {
    store.aside(id, SECRETS).unwrap_or_default()
}

/// Redacts the messages of a session, and reveals what its replies use of placeholders.
#[derive(Debug)]
pub(super) struct Redactor<'a> {
    agent: &'a Agent,
    id: SessionId,
    /// The keys of APIs, which are hidden whatever the settings say about secrets.
    keys: KnownKeys,
    known: KnownSecrets,
    /// The secrets that are on the disk.
    kept: Vault,
    /// Those whose placeholders stand in the message that is being made.
    standing: BTreeSet<usize>,
}

/// The secrets of a session, and where they stood.
#[derive(Debug, Default)]
struct KnownSecrets {
    vault: Vault,
    /// Where each stood, by its number.
    places: BTreeMap<usize, BTreeSet<String>>,
    /// Secrets from the workspace's files, known before they occur in a text.
    credentials: Credentials,
}

impl KnownSecrets {
    /// Learns the secrets of a text; returns their places in it.
    fn learn(&mut self, scanner: &Scanner, text: &str, source: TextSource<'_>) -> FoundPlaces {
        self.foresee(text);
        self.vault.learn(scanner, text, source, MAX_KNOWN)
    }

    /// Learns those secrets of a text that files with credentials keep.
    fn foresee(&mut self, text: &str) {
        self.vault.foresee(self.credentials.vault(), text);
    }

    /// Puts placeholders in these places of a text, and for all secrets that are known; `place` says
    /// to the person where they stood.
    fn replace(
        &mut self,
        text: &mut String,
        source: TextSource<'_>,
        found: FoundPlaces,
        place: &str,
    ) {
        let redacted = self.vault.replace(text, source, found);
        for number in redacted.numbers {
            let places = self.places.entry(number).or_default();
            places.insert(place.to_owned());
        }
        *text = redacted.text;
    }

    /// Puts placeholders in the place of the secrets of a text.
    fn text(&mut self, scanner: &Scanner, text: &mut String, source: TextSource<'_>, place: &str) {
        let found = self.learn(scanner, text, source);
        self.replace(text, source, found, place);
    }
}

/// Covers secrets in texts that are told beside messages, such as the output of a command while it runs.
/// No placeholder stands there: nothing of it can be used in a call.
#[derive(Debug, Clone)]
pub struct TextCover {
    scanner: Option<Scanner>,
    vault: Vault,
    keys: KnownKeys,
}

impl TextCover {
    /// The text with every secret covered.
    pub fn cover(&self, text: &str) -> String {
        let mut text = self.keys.scrub(text);
        if let Some(scanner) = &self.scanner {
            let places = self.vault.places(scanner, &text, TextSource::Text);
            for place in places.into_iter().rev() {
                text.replace_range(place.range, &nameless(&place.kind));
            }
        }
        text
    }
}

impl<'a> Redactor<'a> {
    /// Redacts the messages of a session, with the placeholders that it has given away.
    pub(super) fn of(agent: &'a Agent, id: &SessionId) -> Self {
        let vault = kept_secrets(&agent.store, id);
        Self {
            kept: vault.clone(),
            ..Self::taken_over(agent, id, vault)
        }
    }

    /// Redacts with the secrets of another session, and the same placeholders; none is on the disk
    /// yet.
    pub(super) fn taken_over(agent: &'a Agent, id: &SessionId, vault: Vault) -> Self {
        Self {
            agent,
            id: id.clone(),
            keys: KnownKeys::of_session(&agent.store.folder(id)),
            known: KnownSecrets {
                vault,
                ..KnownSecrets::default()
            },
            kept: Vault::default(),
            standing: BTreeSet::new(),
        }
    }

    /// The whole text of a file without its secrets.
    pub(super) fn file(&mut self, path: &RelPath, mut text: String) -> String {
        text = self.keys.scrub(&text);
        if let Some(scanner) = &self.agent.manner.secrets {
            let (place, source) = (format!("`{path}`"), TextSource::File(path.as_str()));
            self.known.text(scanner, &mut text, source, &place);
        }
        text
    }

    /// The keys of APIs that no text may have in it.
    pub(super) fn keys(&self) -> &KnownKeys {
        &self.keys
    }

    /// Finds what a search must not show in part; `None` where secrets are not looked for.
    pub(super) fn hider(&self) -> Option<Box<Hide<'a>>> {
        let scanner = self.agent.manner.secrets.as_ref()?;
        let mut vault = self.known.vault.clone();
        vault.adopt(self.known.credentials.vault().secrets());
        Some(Box::new(move |path, text| {
            let places = vault.places(scanner, text, TextSource::File(path.as_str()));
            let hidden = places.into_iter().map(|place| Hidden {
                range: place.range,
                cover: nameless(&place.kind),
                is_alone: place.is_alone,
            });
            hidden.collect()
        }))
    }

    /// Covers secrets in what is told beside messages, by all that is known now.
    pub(super) fn text_cover(&self) -> TextCover {
        let mut vault = self.known.vault.clone();
        vault.adopt(self.known.credentials.vault().secrets());
        TextCover {
            scanner: self.agent.manner.secrets.clone(),
            vault,
            keys: self.keys.clone(),
        }
    }

    /// Learns the contents of credential files.
    pub(super) fn learn_credentials(&mut self, walked: &Walked) {
        if let Some(scanner) = &self.agent.manner.secrets {
            let credentials = &mut self.known.credentials;
            credentials.learn(&self.agent.workspace, scanner, &walked.credentials);
        }
    }

    /// Learns what is no secret, such as the names of files.
    pub(super) fn spare(&mut self, plain: Plain) {
        self.known.vault.spare(plain.clone());
        self.known.credentials.spare(plain);
    }

    /// Learns the contents of the files that a script names.
    pub(super) fn learn_named(&mut self, script: &str) {
        if let Some(scanner) = &self.agent.manner.secrets {
            let paths = named::named(script);
            (self.known.credentials).learn_paths(&self.agent.workspace, scanner, &paths, MAX_FILE);
        }
    }

    /// Composes a message: nothing of it is measured or split before it is without secrets.
    pub(super) fn compose(&mut self, compose: impl FnOnce(&mut Veil<'_>) -> Outbox) -> Outbox {
        let outbox = compose(&mut |text| self.redact_text(text));
        let vault = &self.known.vault;
        let mut standing = vault.numbers_in(&outbox.text);
        if let OutboxForm::Attached { message } = &outbox.form {
            standing.extend(vault.numbers_in(message));
        }
        self.standing = standing;
        outbox
    }

    /// Redacts a text that the chat is going to read.
    pub(super) fn redact_text(&mut self, text: &mut String) {
        *text = self.keys.scrub(text);
        if let Some(scanner) = &self.agent.manner.secrets {
            (self.known).text(scanner, text, TextSource::Text, "the message");
        }
    }

    /// Returns true if any secret was kept from the chat.
    pub(super) fn has_secrets(&self) -> bool {
        !self.known.vault.is_empty()
    }

    /// Writes down what new placeholders stand for.
    pub(super) fn keep(&mut self) -> Result<()> {
        let vault = &self.known.vault;
        if *vault != self.kept {
            let store = &self.agent.store;
            store.put_aside_durably(&self.id, SECRETS, vault)?;
            self.kept.clone_from(vault);
        }
        Ok(())
    }

    /// Tells the person what the message does not have.
    pub(super) fn tell(&mut self) {
        let mut places = std::mem::take(&mut self.known.places);
        let standing = std::mem::take(&mut self.standing);
        places.retain(|number, _| standing.contains(number));
        if places.is_empty() {
            return;
        }
        let vault = &self.known.vault;
        let mut secrets: Vec<KeptSecret> = Vec::new();
        for (number, places) in &places {
            let kind = vault
                .secret(*number)
                .map_or("secret", |secret| &secret.kind);
            // A place of its own tells more than that it stood in the message.
            let own = places.iter().filter(|place| *place != "the message");
            let own: Vec<String> = own.cloned().collect();
            let is_same = |told: &&mut KeptSecret| told.kind == *kind && told.places == own;
            match secrets.iter_mut().find(is_same) {
                Some(told) => told.count += 1,
                None => secrets.push(KeptSecret {
                    kind: kind.to_owned(),
                    places: own,
                    count: 1,
                }),
            }
        }
        let doubts = vault.open_doubts(places.keys().copied()).len();
        self.agent.tell(Event::SecretsKept { secrets, doubts });
    }
}

fn text_of(workspace: &Workspace, path: &RelPath, max_bytes: u64) -> Option<String> {
    let bytes = workspace.read(path, max_bytes).ok()?;
    Some(TextFile::decode(bytes).ok()?.text)
}

/// The contents of a file that were read through [`Redactor::file`].
pub(super) fn content(shown: Shown) -> Content {
    Content {
        title: shown.header,
        lines: shown.lines,
        text: shown.contents,
        sighting: shown.sighting,
    }
}
