//! Flags that were given for a session: they hold in later calls too, until a flag says otherwise.
//!
//! A kept check or chat is as strong as the flag it came from. A kept check runs without a question,
//! and a kept workspace may lie anywhere, so both count only if this person gave them for these
//! sessions: those that came with a project may say anything. Of what decides how much is permitted,
//! the session keeps what makes it stricter; what permits more is told and must be said again.

use std::path::{Path, PathBuf};

use super::open::{self, SessionFiles};
use super::{Caller, GivenFlags};
use crate::error::{Error, Result};
use crate::escape::escape_line;
use crate::known_keys::{self, KnownKeys};
use crate::policy::Approval;
use crate::protocol::SetupNews;
use crate::secrets::{Scanner, TextSource};
use crate::session::{Choices, Session};
use crate::settings::{self, Base, KEYS, Key, Loaded, Loosens, Overrides, Settings, Trust};

const CHECK: &str = "CheckCommand";
const CHAT: &str = "Chat";
const APPROVAL: &str = "Approval";
const API: &str = "Api";
const RUNNER: &str = "Runner";
const WORKSPACE_FLAG: &str = "--workspace";

/// Settings that are kept together with the check.
const OF_THE_CHECK: [&str; 2] = ["CheckTimeoutSeconds", "StopWhenCheckPasses"];

/// Settings that are kept together with the chat, until another one is named.
const OF_THE_CHAT: [&str; 5] = [
    "KeepsContext",
    "MaxOutboxChars",
    "MaxOutboxTokens",
    "MaxParts",
    "Attach",
];

/// Settings that are kept together with the API, until another one is named.
const OF_THE_API: [&str; 7] = [
    "Model",
    "ApiUrl",
    "ApiKeyCommand",
    "ApiPrice",
    "ApiWindow",
    "Temperature",
    "Reasoning",
];

/// Resolves the choices of a session: the flags of this call, else the kept ones.
pub(super) fn chosen(flags: &GivenFlags, kept: &Choices) -> Choices {
    let given = |name: &str| {
        let key = Key::named(name)?;
        flags.value(key.flag)
    };
    let is_other_chat = given(CHAT).is_some();
    let is_other_api = given(API).is_some();
    let mut choices = Choices::default();
    for name in [CHECK, CHAT, API, RUNNER]
        .iter()
        .chain(&OF_THE_CHECK)
        .chain(&OF_THE_CHAT)
        .chain(&OF_THE_API)
    {
        let is_outdated = (is_other_chat && OF_THE_CHAT.contains(name))
            || (is_other_api && OF_THE_API.contains(name));
        let kept = kept.get(name).filter(|_| !is_outdated);
        if let Some(value) = given(name).or(kept) {
            choices.set(name, value);
        }
    }
    for key in KEYS.iter().filter(|key| decides_how_much(key)) {
        if let Some(value) = stricter(key, given(key.name), kept.get(key.name)) {
            choices.set(key.name, &value);
        }
    }
    choices
}

/// Refuses a flag about an API where no API is named: the person may believe that one is used.
pub(super) fn ensure_api_named(flags: &GivenFlags, settings: &Settings) -> Result<()> {
    let mut names = OF_THE_API.iter().filter_map(|name| Key::named(name));
    let given = names.find(|key| flags.value(key.flag).is_some());
    match given.filter(|_| settings.api.0.is_none()) {
        Some(key) => Err(Error::usage(format!("`{}` needs `--api`", key.flag)).hint(
            "name whose API carries the messages, for example `--api ollama`; `agent api list` lists them",
        )),
        None => Ok(()),
    }
}

/// The kinds of secrets that are keys of APIs by their form.
const KEYS_BY_FORM: [&str; 5] = [
    "anthropic-key",
    "api-key",
    "google-api-key",
    "openai-key",
    "openrouter-key",
];

/// Refuses a flag of this call that the session would keep with the key of an API in it, known or only
/// of the form of one.
pub(super) fn ensure_given_keyless(flags: &GivenFlags, keys: &KnownKeys) -> Result<()> {
    let given = chosen(flags, &Choices::default());
    ensure_keyless(given.iter(), keys)?;
    let has_key = |value: &str| {
        let found = Scanner::default().scan(value, TextSource::Text);
        (found.iter()).any(|secret| KEYS_BY_FORM.contains(&secret.kind))
    };
    match given.iter().find(|(_, value)| has_key(value)) {
        Some((name, _)) => Err(known_keys::refused(&format!("`{name}`"))),
        None => Ok(()),
    }
}

/// Refuses what the session would keep with a key of an API in it.
pub(super) fn ensure_keyless<'c>(
    mut kept: impl Iterator<Item = (&'c str, &'c str)>,
    keys: &KnownKeys,
) -> Result<()> {
    match kept.find(|(_, value)| keys.is_in(value)) {
        Some((name, _)) => Err(known_keys::refused(&format!("`{name}`"))),
        None => Ok(()),
    }
}

/// Returns true if a setting decides how much is permitted; a session keeps the stricter value.
fn decides_how_much(key: &Key) -> bool {
    let has_order = !matches!(
        key.loosens,
        Loosens::Never | Loosens::Outside | Loosens::Counts | Loosens::Image | Loosens::Personal
    );
    has_order && ![CHECK, API].contains(&key.name) && !OF_THE_API.contains(&key.name)
}

/// Picks the stricter of a flag given now and one given earlier.
fn stricter(key: &Key, given: Option<&str>, kept: Option<&str>) -> Option<String> {
    // How far a session is with its plan is kept apart, and what holds for the work after it stays.
    let is_plan = |value: &str| key.name == APPROVAL && value.parse() == Ok(Approval::Plan);
    let given = given.filter(|value| !is_plan(value));
    let (Some(given), Some(kept)) = (given, kept) else {
        return given.or(kept).map(str::to_owned);
    };
    if key.loosens == Loosens::Adds {
        return Some(key.added(kept, given));
    }
    let read = |text: &str| key.shape.read_text(text).ok();
    let is_kept = match (read(kept), read(given)) {
        (Some(kept), Some(given)) => key.is_as_strict(&kept, &given),
        _ => false,
    };
    Some(if is_kept { kept } else { given }.to_owned())
}

/// The permissions in force, as a session that begins now keeps them.
///
/// How much a command may use, the clipboard and notifications are no permissions of the model.
pub fn permissions(loaded: &Loaded) -> Choices {
    let is_permission = |key: &Key| {
        decides_how_much(key)
            && key.loosens != Loosens::Limit
            && !["Clipboard", "Notify"].contains(&key.name)
    };
    let mut permissions = Choices::default();
    for (key, value, _) in loaded.rows() {
        // How far a session is with its plan is kept apart.
        if key.name == APPROVAL {
            permissions.set(key.name, loaded.work_approval.word());
        } else if is_permission(key) {
            permissions.set(key.name, &value);
        }
    }
    permissions
}

/// The flags, held to what was in force when a session began.
fn held_to(permissions: &Choices, flags: Overrides) -> Overrides {
    permissions
        .iter()
        .fold(flags, |flags, (name, value)| match Key::named(name) {
            Some(key) => flags.beginning_with(key.flag, value),
            None => flags,
        })
}

/// The flags with all that was chosen for a session.
pub(super) fn flags_with(choices: &Choices, flags: Overrides) -> Overrides {
    choices
        .iter()
        .fold(flags, |flags, (name, value)| match Key::named(name) {
            Some(key) if decides_how_much(key) => flags.keeping(key.flag, value),
            Some(key) => flags.with(key.flag, Some(value)),
            None => flags,
        })
}

/// The settings of a session.
pub(super) struct Recalled {
    pub(super) choices: Choices,
    pub(super) loaded: Loaded,
}

/// The settings of now with all that this session keeps: what was chosen for it, and where it works.
pub(super) fn recall(
    caller: &Caller,
    (base, now): (&Base, &Loaded),
    session: &Session,
) -> Result<Recalled> {
    let trust = &caller.trust;
    ensure_known(&now.paths.sessions, session)?;
    let choices = chosen(&caller.flags, &session.choices);
    let choices = with_known_api(caller, trust, &now.paths.sessions, choices, session);
    ensure_given(caller, trust, &now.paths.sessions, &choices, session)?;
    ensure_runner_given(caller, trust, &now.paths.sessions, &choices, session)?;
    let flags = flags_with(&choices, caller.flags.overrides(&caller.here));
    let mut flags = held_to(&session.permissions, flags);
    if let Some(place) = workspace_of(caller, trust, (base, now), session)? {
        flags = flags.with(WORKSPACE_FLAG, Some(place.display()));
    }
    let layers = settings::read(base, settings::process_environment(), &flags)?
        .over(&caller.own_settings)?;
    let loaded = layers.settle(trust)?;
    Ok(Recalled { choices, loaded })
}

/// Refuses a session with a setting of a newer version: to leave it out could permit more.
fn ensure_known(sessions: &Path, session: &Session) -> Result<()> {
    let mut kept = session.choices.iter().chain(session.permissions.iter());
    let Some((name, _)) = kept.find(|(name, _)| Key::named(name).is_none()) else {
        return Ok(());
    };
    let file = sessions.join(format!("{}.json", session.session_id));
    Err(Error::newer(&file).because(format!(
        "the session was given `{}`, which is not a setting of this version",
        escape_line(name)
    )))
}

/// Leaves out an API of which nobody knows that this person chose it for these sessions: it costs
/// money, and it decides who reads the workspace.
fn with_known_api(
    caller: &Caller,
    trust: &Trust,
    sessions: &Path,
    choices: Choices,
    session: &Session,
) -> Choices {
    let now = chosen(&caller.flags, &Choices::default());
    let is_kept = |name: &str| choices.get(name).is_some() && now.get(name).is_none();
    let is_of_api = |name: &str| name == API || OF_THE_API.contains(&name);
    let has_kept = choices
        .iter()
        .any(|(name, _)| is_of_api(name) && is_kept(name));
    let kept = api_words(&session.choices);
    if !has_kept || trust.holds(&asked_here(sessions), kept.as_bytes()) {
        return choices;
    }
    caller.tell(SetupNews::ApiNotKnown {
        id: session.session_id.clone(),
    });
    let mut known = Choices::default();
    for (name, value) in choices.iter() {
        if !is_of_api(name) || !is_kept(name) {
            known.set(name, value);
        }
    }
    known
}

/// All that was chosen about the API, in one text.
fn api_words(choices: &Choices) -> String {
    let names = std::iter::once(&API).chain(&OF_THE_API);
    let words = names.filter_map(|name| Some(format!("{name}={}", choices.get(name)?)));
    words.collect::<Vec<_>>().join("\n")
}

/// Remembers that the person chose the API, so that it is asked again without being said.
pub(super) fn remember_api(trust: &Trust, sessions: &Path, choices: &Choices) {
    let words = api_words(choices);
    let place = asked_here(sessions);
    if !words.is_empty() && !trust.holds(&place, words.as_bytes()) {
        // Where nothing can be remembered it has to be said again.
        let _ = trust.remember(&place, words.as_bytes());
    }
}

/// The place in the name of which the APIs of these sessions are trusted; there is no such file.
fn asked_here(sessions: &Path) -> PathBuf {
    sessions.join("api")
}

/// Refuses a check of which nobody knows that this person gave it.
fn ensure_given(
    caller: &Caller,
    trust: &Trust,
    sessions: &Path,
    choices: &Choices,
    session: &Session,
) -> Result<()> {
    let Some(check) = choices.get(CHECK).filter(|check| !check.is_empty()) else {
        return Ok(());
    };
    let is_given_now = chosen(&caller.flags, &Choices::default()).get(CHECK) == Some(check);
    if is_given_now || trust.holds(&given_here(sessions), check.as_bytes()) {
        return Ok(());
    }
    Err(Error::mendable(format!(
        "session {} has the check `{check}`, and it is not known that you gave it",
        session.session_id
    ))
    .hint(format!(
        "say it again if you want it to run: `--check {}`",
        settings::quoted(Path::new(check))
    ))
    .hint("`--check \"\"` continues without a check"))
}

/// Refuses a runner of which nobody knows that this person chose it: it may start a program outside
/// of the sandbox, and send the workspace to another machine.
fn ensure_runner_given(
    caller: &Caller,
    trust: &Trust,
    sessions: &Path,
    choices: &Choices,
    session: &Session,
) -> Result<()> {
    let Some(runner) = choices.get(RUNNER) else {
        return Ok(());
    };
    let is_given_now = chosen(&caller.flags, &Choices::default()).get(RUNNER) == Some(runner);
    if is_given_now || trust.holds(&runs_here(sessions), runner.as_bytes()) {
        return Ok(());
    }
    Err(Error::mendable(format!(
        "session {} runs its commands by `{}`, and it is not known that you chose that",
        session.session_id,
        escape_line(runner)
    ))
    .hint(format!(
        "say it again if you want it: `--runner {}`",
        settings::quoted(Path::new(runner))
    ))
    .hint("`--runner local` continues on this machine"))
}

/// Remembers that the person chose the runner, so that it is used again without being said.
pub(super) fn remember_runner(trust: &Trust, sessions: &Path, choices: &Choices) {
    if let Some(runner) = choices.get(RUNNER) {
        let place = runs_here(sessions);
        if !trust.holds(&place, runner.as_bytes()) {
            // Where nothing can be remembered it has to be said again.
            let _ = trust.remember(&place, runner.as_bytes());
        }
    }
}

/// The place in the name of which the runners of these sessions are trusted; there is no such file.
fn runs_here(sessions: &Path) -> PathBuf {
    sessions.join("runner")
}

/// Where the session works, if that is not where the settings of now would have it.
fn workspace_of(
    caller: &Caller,
    trust: &Trust,
    (base, now): (&Base, &Loaded),
    session: &Session,
) -> Result<Option<PathBuf>> {
    let kept = session.workspace.as_deref();
    let Some(place) = kept.map(|kept| settings::placed(&base.directory, kept)) else {
        return Ok(None);
    };
    if place == now.paths.workspace {
        return Ok(None);
    }
    let id = &session.session_id;
    if is_flagged(caller) {
        caller.tell(SetupNews::WorkspaceChanged {
            id: id.clone(),
            from: place.display().to_string(),
            to: now.paths.workspace.display().to_string(),
        });
        return Ok(None);
    }
    let is_inside = place.starts_with(settings::placed(&base.directory, "."));
    let name = works_here(&now.paths.sessions);
    if is_inside || trust.holds(&name, place.as_os_str().as_encoded_bytes()) {
        return Ok(Some(place));
    }
    Err(Error::mendable(format!(
        "session {id} works in `{}`, and it is not known that you chose that",
        escape_line(&place.display().to_string())
    ))
    .hint(format!(
        "say it again if you want it: `--workspace {}`",
        settings::quoted(&place)
    )))
}

fn is_flagged(caller: &Caller) -> bool {
    caller.flags.value(WORKSPACE_FLAG).is_some()
}

/// Lays what a session keeps over the files that were opened to look at it.
pub fn recall_files(files: &mut SessionFiles, caller: &Caller, session: &Session) -> Result<()> {
    let choices = chosen(&caller.flags, &session.choices);
    if !choices.is_empty() {
        let flags = flags_with(&choices, caller.flags.overrides(&caller.here));
        let layers = settings::read(&files.base, settings::process_environment(), &flags)?
            .over(&caller.own_settings)?;
        let settings = layers.settle(&caller.trust)?.settings;
        files.chat = settings.chat;
        files.carriage = open::carriage(&settings);
        files.api = open::api_named(&settings);
        files.check = settings.check_command;
    }
    if let Some(kept) = session.workspace.as_deref().filter(|_| !is_flagged(caller)) {
        files.workspace = settings::placed(&files.base.directory, kept);
    }
    Ok(())
}

/// Remembers that this person works there, where the workspace is outside of the base directory.
pub(super) fn remember_workspace(trust: &Trust, base: &Path, sessions: &Path, workspace: &Path) {
    if workspace.starts_with(base) {
        return;
    }
    let (name, place) = (works_here(sessions), workspace.as_os_str());
    if !trust.holds(&name, place.as_encoded_bytes()) {
        // Where nothing can be remembered it has to be said again.
        let _ = trust.remember(&name, place.as_encoded_bytes());
    }
}

/// The place in the name of which the workspaces of these sessions are trusted; there is no such
/// file.
fn works_here(sessions: &Path) -> PathBuf {
    sessions.join("workspace")
}

/// Remembers that the person gave the check, so that it runs again without being said.
///
/// Where nothing can be remembered it has to be said again.
pub(super) fn remember_check(trust: &Trust, sessions: &Path, choices: &Choices) {
    if let Some(check) = choices.get(CHECK).filter(|check| !check.is_empty()) {
        let place = given_here(sessions);
        if !trust.holds(&place, check.as_bytes()) {
            let _ = trust.remember(&place, check.as_bytes());
        }
    }
}

/// The place in the name of which the checks of these sessions are trusted; there is no such file.
fn given_here(sessions: &Path) -> PathBuf {
    sessions.join("check")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(given: &[(&'static str, &str)]) -> GivenFlags {
        GivenFlags {
            given: (given.iter())
                .map(|(flag, value)| (*flag, (*value).to_owned()))
                .collect(),
        }
    }

    #[test]
    fn a_flag_wins_over_what_was_kept_and_nothing_else_is_kept() {
        let mut kept = Choices::default();
        kept.set("CheckCommand", "make test");
        kept.set("Chat", "copilot");
        kept.set("MaxOutboxChars", "4000");
        kept.set("InboxDir", "/elsewhere");
        let now = chosen(&flags(&[]), &kept);
        assert_eq!(now.get("CheckCommand"), Some("make test"));
        assert_eq!(now.get("MaxOutboxChars"), Some("4000"));
        assert_eq!(now.get("InboxDir"), None);
        let now = chosen(&flags(&[("--check", ""), ("--chat", "claude")]), &kept);
        assert_eq!(now.get("CheckCommand"), Some(""));
        assert_eq!(now.get("Chat"), Some("claude"));
        assert_eq!(now.get("MaxOutboxChars"), None, "it was for the other chat");
    }

    #[track_caller]
    fn keeps(name: &str, kept: &str, given: &str, expected: &str) {
        let key = Key::named(name).unwrap();
        let mut before = Choices::default();
        before.set(name, kept);
        let now = chosen(&flags(&[(key.flag, given)]), &before);
        assert_eq!(now.get(name), Some(expected), "{name}");
    }

    #[test]
    fn of_what_was_given_the_stricter_is_kept() {
        keeps("Approval", "ask", "auto", "ask");
        keeps("Approval", "auto", "ask", "ask");
        keeps("Approval", "ask", "plan", "ask");
        keeps("Commands", "off", "run", "off");
        keeps("Deny", "ls", "rm", "ls,rm");
        keeps("Network", "on", "off", "off");
        keeps("Grants", "git-write", "network", "network");
    }
}
