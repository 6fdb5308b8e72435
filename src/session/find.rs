//! Which session a person means: 8 hex digits, the first few of them, or `latest`.

use super::{Store, Summary};
use crate::error::{Error, Result};
use crate::protocol::SessionId;

/// The word for the session that was last worked on.
const LATEST: &str = "latest";

/// How many sessions a message names.
const NAMED: usize = 5;

/// In how many digits a typing error may differ.
const MISTYPED: usize = 2;

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
        match fitting[..] {
            [id] => Ok(id.clone()),
            [] => Err(self.unknown(text, &start, ids.iter())),
            _ => Err(self.ambiguous(text, &fitting)),
        }
    }

    /// The session that was last worked on, ended or not.
    pub fn latest_summary(&self) -> Result<Summary> {
        let (summaries, mut troubles) = self.summaries()?;
        summaries.into_iter().next().ok_or_else(|| {
            troubles.pop().unwrap_or_else(|| {
                Error::mendable("there is no session here")
                    .hint("`agent new \"<task>\"` begins one")
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
    fn several_that_fit_are_named() {
        let (_directory, store) = store(&["ab12cd34", "ab99cd34"]);
        let error = store.named("ab").unwrap_err();
        assert!(error.to_string().starts_with("2 sessions begin"), "{error}");
        assert_eq!(error.hints().len(), 2);
    }
}
