//! Finds the session a person means: by 8 hex digits, the first few of them, its name, or `latest`.

use super::{Store, Summary};
use crate::error::{Error, Result};
use crate::fs::{Durability, own_directory, read_plain, write_atomic};
use crate::known_keys::{self, KnownKeys};
use crate::protocol::SessionId;

/// The word for the session that was last worked on.
const LATEST: &str = "latest";

/// How many sessions a message names.
const NAMED: usize = 5;

/// In how many digits a typing error may differ.
const MISTYPED: usize = 2;

/// The file in the folder of a session that has its name.
const NAME_FILE: &str = "name";

/// The longest name, in characters.
const MAX_NAME: usize = 40;

/// Returns true for a word that is taken neither for an ID nor for `latest`.
fn is_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    let is_id = name.chars().all(|letter| letter.is_ascii_hexdigit());
    !name.is_empty()
        && name.chars().count() <= MAX_NAME
        && name.chars().all(is_letter)
        && !name.starts_with(['-', '.'])
        && !is_id
        && !name.eq_ignore_ascii_case(LATEST)
}

impl Store {
    /// The session that a person names.
    ///
    /// Only names are looked at, but for `latest` and for what a message tells.
    pub fn named(&self, text: &str) -> Result<SessionId> {
        let start = text.trim().to_ascii_lowercase();
        if start == LATEST {
            return self.latest_summary().map(|summary| summary.session_id);
        }
        let ids = self.ids()?;
        let fitting: Vec<&SessionId> = ids
            .iter()
            .filter(|id| !start.is_empty() && id.as_str().starts_with(&start))
            .collect();
        let named = ids.iter().find(|id| {
            let name = self.name(id);
            name.is_some_and(|name| name.eq_ignore_ascii_case(text.trim()))
        });
        if let Some(id) = named {
            return Ok(id.clone());
        }
        match fitting[..] {
            [id] => Ok(id.clone()),
            [] => Err(self.unknown(text, &start, ids.iter())),
            _ => Err(self.ambiguous(text, &fitting)),
        }
    }

    /// The name that the person gave to a session.
    pub fn name(&self, id: &SessionId) -> Option<String> {
        let bytes = read_plain(&self.folder(id).join(NAME_FILE), MAX_NAME as u64 * 4).ok()?;
        let name = String::from_utf8(bytes).ok()?.trim().to_owned();
        is_name(&name).then_some(name)
    }

    /// Names a session, or takes its name away.
    pub fn rename(&self, id: &SessionId, name: Option<&str>) -> Result<()> {
        let file = self.folder(id).join(NAME_FILE);
        let Some(name) = name else {
            return crate::fs::remove(&file);
        };
        if !is_name(name) {
            let refused = Error::usage(format!("`{name}` cannot be the name of a session")).hint(
                "use up to 40 letters, digits and `-_.`, not only digits and letters from a to f",
            );
            let words: Vec<&str> = name.split_whitespace().collect();
            let joined = words.join("-");
            return Err(if is_name(&joined) {
                refused.hint(format!("`{joined}` can"))
            } else {
                refused
            });
        }
        if KnownKeys::of_session(&self.folder(id)).is_in(name) {
            return Err(known_keys::refused("the name"));
        }
        let ids = self.ids()?;
        let taken = |other: &&SessionId| {
            let known = self.name(other);
            *other != id && known.is_some_and(|known| known.eq_ignore_ascii_case(name))
        };
        if let Some(other) = ids.iter().find(taken) {
            return Err(Error::mendable(format!(
                "session {} has that name already",
                self.told(other)
            )));
        }
        own_directory(&self.folder(id))?;
        write_atomic(&file, format!("{name}\n").as_bytes(), Durability::Durable)
    }

    /// The session that was last worked on, ended or not.
    pub fn latest_summary(&self) -> Result<Summary> {
        let (summaries, mut troubles) = self.summaries()?;
        summaries.into_iter().next().ok_or_else(|| {
            troubles.pop().unwrap_or_else(|| {
                Error::mendable("there is no session here")
                    .hint("`agent new \"<task>\"` starts one")
            })
        })
    }

    fn unknown<'a>(
        &self,
        text: &str,
        start: &str,
        ids: impl Iterator<Item = &'a SessionId>,
    ) -> Error {
        let error = Error::mendable(format!("there is no session `{text}`"));
        let near: Vec<&SessionId> = ids.filter(|id| is_near(start, id.as_str())).collect();
        let error = near.iter().take(NAMED).fold(error, |error, id| {
            error.hint(format!("did you mean {}?", self.told(id)))
        });
        error.hint("`agent list` shows the sessions; `latest` is the latest one")
    }

    fn ambiguous(&self, text: &str, fitting: &[&SessionId]) -> Error {
        let error = Error::mendable(format!(
            "{} sessions begin with `{text}`; give more digits",
            fitting.len()
        ));
        let error = (fitting.iter().take(NAMED)).fold(error, |error, id| error.hint(self.told(id)));
        if fitting.len() > NAMED {
            error.hint("and others; `agent list` shows them all")
        } else {
            error
        }
    }

    /// A session by its name and its task.
    fn told(&self, id: &SessionId) -> String {
        const MAX_CHARS: usize = 50;
        match self.summary(id) {
            Ok(summary) => {
                let title: String = summary.title().chars().take(MAX_CHARS).collect();
                format!("`{id}` ({title})")
            }
            Err(_) => format!("`{id}`"),
        }
    }
}

/// True if the typed id is this one apart from a typing mistake.
fn is_near(typed: &str, id: &str) -> bool {
    let length = typed.chars().count();
    let differing = typed
        .chars()
        .zip(id.chars())
        .filter(|(a, b)| a != b)
        .count();
    let missing = length.saturating_sub(id.len());
    let is_slip = length >= 4 && differing + missing <= MISTYPED;
    is_slip || (length >= 3 && id.contains(typed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::session;

    fn store(ids: &[&str]) -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("sessions")).unwrap();
        for (age, id) in ids.iter().enumerate() {
            let mut session = session(id);
            let age = i64::try_from(age).unwrap();
            session.updated_at = jiff::Timestamp::from_second(1_000 - age).unwrap();
            store.save(&session).unwrap();
        }
        (directory, store)
    }

    #[test]
    fn names_beginnings_and_the_latest_are_understood() {
        let (_directory, store) = store(&["ab12cd34", "ab99cd34", "00000001"]);
        let case = |text: &str, expected: &str| {
            assert_eq!(store.named(text).unwrap().as_str(), expected, "{text}");
        };
        case("ab12cd34", "ab12cd34");
        case(" AB9 ", "ab99cd34");
        case("0", "00000001");
        case("latest", "ab12cd34");
    }

    #[test]
    fn a_slip_of_the_finger_is_pointed_out() {
        let (_directory, store) = store(&["ab12cd34", "00000001"]);
        for typed in ["ab12cd43", "ab12cd3x", "b12c", "ab12cd345"] {
            let error = store.named(typed).unwrap_err();
            assert_eq!(error.to_string(), format!("there is no session `{typed}`"));
            assert_eq!(error.hints()[0], "did you mean `ab12cd34` (make it work)?");
        }
        let error = store.named("ffff").unwrap_err();
        assert!(error.hints()[0].contains("agent list"), "{error:?}");
    }

    #[test]
    fn a_name_of_several_words_is_refused_with_one_that_can_be_used() {
        let (_directory, store) = store(&["ab12cd34"]);
        let id = store.named("ab").unwrap();
        let hints = |name: &str| {
            let error = store.rename(&id, Some(name)).unwrap_err();
            error.hints().to_vec()
        };
        assert_eq!(hints("the parser")[1], "`the-parser` can");
        assert_eq!(hints("the/parser").len(), 1);
    }

    #[test]
    fn several_that_fit_are_named() {
        let (_directory, store) = store(&["ab12cd34", "ab99cd34"]);
        let error = store.named("ab").unwrap_err();
        assert!(error.to_string().starts_with("2 sessions begin"), "{error}");
        assert_eq!(error.hints().len(), 2);
    }
}
