//! Offers the clipboard once: it is the shortest way, and nobody finds it by themselves.

use std::path::PathBuf;

use super::Caller;
use super::settings::{self, SettingsScope};
use crate::approve::Question;
use crate::courier::{Clipboard, Surroundings};
use crate::error::{Error, ExitKind, Result};
use crate::protocol::is_no;
use crate::settings::{ClipboardUse, Origin};

/// The answer to an offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredOffer {
    /// True if the clipboard is used both ways from now on.
    pub is_accepted: bool,
    /// The file that remembers it for this person.
    pub file: PathBuf,
}

/// Asks the person, once and for all their projects, if each message is copied and the reply taken when
/// they copy it. Nobody is asked who has said something about the clipboard, or who has none here.
/// Only a clear answer is remembered; if the person stops here, no session begins.
pub fn offer(caller: &Caller) -> Result<Option<AnsweredOffer>> {
    if !caller.person.is_interactive() || caller.own_settings.file().is_err() {
        return Ok(None);
    }
    let (_, loaded) = settings::settings(caller)?;
    let is_open = loaded.origins.get(settings::CLIPBOARD) == Some(&Origin::Default);
    let is_by_hand = loaded.settings.api.0.is_none();
    let clipboard = Clipboard::of(Surroundings::of_this_process());
    if !is_open || !is_by_hand || clipboard.ways_in().is_empty() {
        return Ok(None);
    }
    // Enter is a yes.
    let Some(answer) = caller.ask(&Question::about_using_clipboard())? else {
        return Err(Error::new(ExitKind::Interrupted, "interrupted"));
    };
    let is_accepted = !is_no(&answer);
    let word = if is_accepted {
        ClipboardUse::Auto.word()
    } else {
        ClipboardUse::Off.word()
    };
    let key = settings::named(settings::CLIPBOARD)?;
    let file = settings::set(caller, SettingsScope::Person, key, Some(word))?;
    Ok(Some(AnsweredOffer { is_accepted, file }))
}
