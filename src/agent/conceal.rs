//! Keeps secrets from the chat: what goes out has placeholders, and a reply may use them where the
//! secret itself stands (`reveal`).
//!
//! Each text is searched once where its origin is known, before it is cut to its room (`told`), and
//! the whole message once before it is measured and split. Files that are shown are searched when
//! they are read. What placeholders stand for is on the disk, readable by its owner only, before any
//! message that has them. The person is asked once about secrets that may be none (`doubts`).

mod credentials;
mod doubts;
mod hits;
mod named;
mod reveal;
mod told;

use std::collections::{BTreeMap, BTreeSet};

pub use self::credentials::credentials;
use self::credentials::{Credentials, names};
pub(super) use self::reveal::refused_placeholder;
pub(super) use self::told::Told;
use super::{Agent, Conversation};
use crate::compose::{Content, Form, Outbox, Veil};
use crate::error::Result;
use crate::execute::{Hidden, Hide, Shown};
use crate::protocol::{Event, KeptSecret, RelPath, SessionId};
use crate::secrets::{FoundPlaces, Scanner, TextSource, Vault, nameless};
use crate::session::{Session, Store};
use crate::workspace::Workspace;
use crate::workspace::text::TextFile;
use crate::workspace::walk::Walked;

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
    /// Those whose placeholders stand in the message.
    standing: BTreeSet<usize>,
    /// What is known before it stands in a text.
    credentials: Credentials,
}

impl Concealed {
    /// What was kept of a session's secrets.
    pub(super) fn of(store: &Store, session: &Session) -> Self {
        let vault = kept_secrets(store, &session.session_id);
        Self {
            kept: vault.clone(),
            vault,
            ..Self::default()
        }
    }

    /// The secrets of another session, with the same placeholders; none is on the disk yet.
    pub(super) fn taken_over(vault: Vault) -> Self {
        Self {
            vault,
            ..Self::default()
        }
    }

    /// Learns the secrets of a text; returns their places in it.
    fn learn(&mut self, scanner: &Scanner, text: &str, source: TextSource<'_>) -> FoundPlaces {
        self.foresee(text);
        self.vault.learn(scanner, text, source)
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

    /// The whole text of a file without its secrets.
    pub(super) fn file(&mut self, agent: &Agent, path: &RelPath, text: String) -> String {
        let mut text = agent.without_api_key(text);
        if let Some(scanner) = &agent.manner.secrets {
            let place = format!("`{path}`");
            self.text(scanner, &mut text, TextSource::File(path.as_str()), &place);
        }
        text
    }

    /// What a search must not show in part; nothing where secrets are not looked for.
    pub(super) fn hider<'s>(&self, scanner: Option<&'s Scanner>) -> Option<Box<Hide<'s>>> {
        let (scanner, mut vault) = (scanner?, self.vault.clone());
        vault.adopt(self.credentials.vault().secrets());
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
}

impl Agent {
    /// Learns what the files have in them that are there to keep secrets, and which names there are.
    pub(super) fn learn_credentials(&self, concealed: &mut Concealed, walked: &Walked) {
        if let Some(scanner) = &self.manner.secrets {
            (concealed.credentials).learn(&self.workspace, scanner, &walked.credentials);
            let plain = names(&walked.files);
            concealed.vault.spare(plain.clone());
            concealed.credentials.spare(plain);
        }
    }

    /// Learns what the files have in them that a script names.
    pub(super) fn learn_named(&self, concealed: &mut Concealed, script: &str) {
        if let Some(scanner) = &self.manner.secrets {
            let paths = named::named(script);
            (concealed.credentials).learn_paths(&self.workspace, scanner, &paths);
        }
    }
}

impl Agent {
    /// A text without the key of the API, whatever the settings say about secrets.
    fn without_api_key(&self, text: String) -> String {
        match &self.manner.api_key {
            Some(key) => key.scrub(text),
            None => text,
        }
    }
}

/// The contents of a file that were read through [`Concealed::file`].
pub(super) fn content(shown: Shown) -> Content {
    Content {
        title: shown.header,
        lines: shown.lines,
        text: shown.contents,
        sighting: shown.sighting,
    }
}

impl Conversation<'_> {
    /// Composes a message: nothing of it is measured or split before it is without secrets.
    pub(super) fn compose_concealed(
        &mut self,
        compose: impl FnOnce(&mut Veil<'_>) -> Outbox,
    ) -> Outbox {
        let outbox = compose(&mut |text| self.conceal_message([text]));
        let vault = &self.concealed.vault;
        let mut standing = vault.numbers_in(&outbox.text);
        if let Form::Attached { message } = &outbox.form {
            standing.extend(vault.numbers_in(message));
        }
        self.concealed.standing = standing;
        outbox
    }

    /// Texts as the chat may read them.
    pub(super) fn conceal_message<'a>(&mut self, texts: impl IntoIterator<Item = &'a mut String>) {
        for text in texts {
            *text = self.agent.without_api_key(std::mem::take(text));
            if let Some(scanner) = &self.agent.manner.secrets {
                self.concealed
                    .text(scanner, text, TextSource::Text, "the message");
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
        let mut places = std::mem::take(&mut self.concealed.places);
        let standing = std::mem::take(&mut self.concealed.standing);
        places.retain(|number, _| standing.contains(number));
        if places.is_empty() {
            return;
        }
        let vault = &self.concealed.vault;
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
