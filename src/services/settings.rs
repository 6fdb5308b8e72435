//! The settings in force, where each comes from, and how a person changes them.

use std::fs::{File, OpenOptions};
use std::path::PathBuf;

use super::Caller;
use super::open::{self, FirstRun};
pub use crate::compose::{FileLimit, Limit, TooLong, example_instructions};
use crate::error::{Error, Result};
use crate::known_keys::{self, KnownKeys};
pub use crate::settings::Key;
use crate::settings::{
    self, Base, ClipboardUse, FILE_NAME, FoundBase, KEYS, Loaded, Loosens, Value,
};

/// The setting that says how the clipboard is used.
pub(super) const CLIPBOARD: &str = "Clipboard";

/// Whose settings are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsScope {
    /// The person's own, for all projects.
    Person,
    /// Those of the base directory.
    Here,
}

/// A setting in force.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct SettingInForce {
    /// Its name.
    pub key: &'static str,
    /// Its value.
    pub value: serde_json::Value,
    /// Where it was set.
    pub origin: String,
}

/// Reads the settings; where `agent` was never used, these are the defaults.
pub fn settings(caller: &Caller) -> Result<(Base, Loaded)> {
    open::settings(caller, FirstRun::Look)
}

/// Every setting, in the order of the table.
pub fn in_force(loaded: &Loaded) -> Vec<SettingInForce> {
    let values = serde_json::to_value(&loaded.settings).unwrap_or_default();
    let setting = |key: &crate::settings::Key| SettingInForce {
        key: key.name,
        value: values[key.name].clone(),
        origin: loaded.origins[key.name].to_string(),
    };
    KEYS.iter().map(setting).collect()
}

/// The setting that a person names: by its name in any letter case, or by its flag.
pub fn named(text: &str) -> Result<&'static Key> {
    let key = Key::named_in_any_case(text).or_else(|| Key::with_flag(text));
    key.ok_or_else(|| {
        let error = Error::usage(format!("there is no setting `{text}`"));
        match Key::nearest(text) {
            Some(near) => error.hint(format!("did you mean `{}`?", near.name)),
            None => error.hint("`agent help settings` shows them all"),
        }
    })
}

/// The value of one setting in force, and where it comes from. A file that is not trusted keeps nobody
/// from looking: what it may not set is left out, and the person is told.
pub fn get(caller: &Caller, key: &Key) -> Result<SettingInForce> {
    let (base, trust) = (open::nearest_base(caller)?, &caller.trust);
    let flags = caller.flags.overrides(&caller.here);
    let layers = settings::read(&base, settings::process_environment(), &flags)?
        .over(&caller.own_settings)?;
    let mut untrusted = layers.untrusted(trust).into_iter();
    if let Some(item) = untrusted.find(|item| item.key == key.name) {
        caller.tell(item.notice(layers.is_declined(trust)));
    }
    let loaded = layers.without_untrusted(trust).settle(trust)?;
    let mut all = in_force(&loaded).into_iter();
    let found = all.find(|setting| setting.key == key.name);
    found.ok_or_else(|| Error::usage(format!("there is no setting `{}`", key.name)))
}

/// Sets a value, or removes it, and returns the file that was changed. One caller after the other
/// changes it: none loses what another has set.
pub fn set(
    caller: &Caller,
    scope: SettingsScope,
    key: &'static Key,
    value: Option<&str>,
) -> Result<PathBuf> {
    let read = |text: &str| {
        key.shape.read_text(text).map_err(|problem| {
            Error::usage(format!("`{}` {problem}", key.name)).hint(key.explained())
        })
    };
    if value.is_some_and(|text| KnownKeys::of_this_process().is_in(text)) {
        return Err(known_keys::refused(&format!("`{}`", key.name)));
    }
    let value = value.map(read).transpose()?;
    if scope == SettingsScope::Here && key.loosens == Loosens::Personal && value.is_some() {
        return Err(Error::usage(format!(
            "`{}` counts from no project's file: it decides where your key goes, or what runs outside of the sandbox",
            key.name
        ))
        .hint(format!(
            "without `--here` it holds for all your projects; for one session there is `{}`",
            key.flag
        )));
    }
    let _alone = lock_changes(caller)?;
    match scope {
        SettingsScope::Person => {
            caller.own_settings.set(key, value.as_ref())?;
            // Who says so in their own settings has answered whether we may look.
            if is_use_of_clipboard(key, value.as_ref()) {
                open::remember_look(caller)?;
            }
            caller.own_settings.file().map(ToOwned::to_owned)
        }
        SettingsScope::Here => {
            settings::set_here(&here(caller)?, key, value.as_ref(), &caller.trust)
        }
    }
}

fn is_use_of_clipboard(key: &Key, value: Option<&Value>) -> bool {
    let auto = ClipboardUse::Auto.word();
    key.name == CLIPBOARD && matches!(value, Some(Value::Text(text)) if text.as_ref() == auto)
}

/// Waits until nobody else changes settings of this person, and keeps others waiting.
///
/// The lock is in the person's state directory: a file beside the settings would be one more file in
/// their project.
fn lock_changes(caller: &Caller) -> Result<Option<File>> {
    let Some(directory) = caller.trust.directory() else {
        return Ok(None);
    };
    crate::fs::create_directory(directory)?;
    let path = directory.join("settings.lock");
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    crate::platform::ours(&mut options);
    let file = options
        .open(&path)
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|cause| Error::file("lock", &path, cause))?;
    Ok(Some(file))
}

/// The settings file of a scope, which need not exist.
pub fn file(caller: &Caller, scope: SettingsScope) -> Result<PathBuf> {
    match scope {
        SettingsScope::Person => caller.own_settings.file().map(ToOwned::to_owned),
        SettingsScope::Here => Ok(here(caller)?.directory.join(FILE_NAME)),
    }
}

fn here(caller: &Caller) -> Result<Base> {
    match Base::find(&caller.here, caller.base.as_deref(), &caller.trust)? {
        FoundBase::Base(base) => Ok(base),
        FoundBase::EmptyDirectory(directory) | FoundBase::Undecided(directory) => {
            Err(Error::mendable(format!(
                "`{}` is not set up for `agent`",
                directory.display()
            ))
            .hint(
                "`agent init` sets it up; without `--here` the setting holds for all your projects",
            ))
        }
    }
}

/// Checks a settings file after somebody has edited it.
pub fn ensure_readable(caller: &Caller) -> Result<()> {
    settings(caller).map(|_| ())
}
