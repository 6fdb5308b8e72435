//! The check and the chat of a session: what was said by flag holds in later calls too, until a flag
//! says otherwise.
//!
//! A kept value is as strong as the flag it came from. A kept check runs without a question, so it
//! counts only if this person gave it for these sessions: those that came with a project may say
//! anything.

use std::path::{Path, PathBuf};

use super::open::{self, Files};
use super::{Common, SettingFlags};
use crate::agent::Agent;
use crate::error::{Error, Result};
use crate::protocol::Status;
use crate::session::{CheckReport, Choices, Session};
use crate::settings::{Key, Overrides, Trust};
use crate::ui::escape_line;

const CHECK: &str = "CheckCommand";
const CHAT: &str = "Chat";

/// What is kept besides the check.
const OF_THE_CHECK: [&str; 2] = ["CheckTimeoutSeconds", "StopWhenCheckPasses"];

/// What is kept besides the chat, until another one is named.
const OF_THE_CHAT: [&str; 5] = [
    "KeepsContext",
    "MaxOutboxChars",
    "MaxOutboxTokens",
    "MaxParts",
    "Attach",
];

/// What holds for a session: what the flags say, else what was kept.
pub(super) fn chosen(flags: &SettingFlags, kept: &Choices) -> Choices {
    let given = |name: &str| {
        let key = Key::named(name)?;
        let mut given = flags.given.iter().rev();
        given.find_map(|(flag, value)| (*flag == key.flag).then_some(value.as_str()))
    };
    let is_other_chat = given(CHAT).is_some();
    let mut choices = Choices::default();
    for name in [CHECK, CHAT]
        .iter()
        .chain(&OF_THE_CHECK)
        .chain(&OF_THE_CHAT)
    {
        let is_outdated = is_other_chat && OF_THE_CHAT.contains(name);
        let kept = kept.get(name).filter(|_| !is_outdated);
        if let Some(value) = given(name).or(kept) {
            choices.set(name, value);
        }
    }
    choices
}

/// The flags with all that was chosen for a session.
pub(super) fn flags_with(choices: &Choices, flags: Overrides) -> Overrides {
    choices
        .iter()
        .fold(flags, |flags, (name, value)| match Key::named(name) {
            Some(key) => flags.with(key.flag, Some(value)),
            None => flags,
        })
}

/// Goes on with the check and the chat of this session.
pub(super) fn recall(agent: &mut Agent, common: &Common, session: &Session) -> Result<()> {
    let choices = chosen(&common.settings, &session.choices);
    if choices == agent.manner.choices {
        return Ok(());
    }
    if let Some(check) = choices.get(CHECK).filter(|check| !check.is_empty())
        && agent.manner.choices.get(CHECK) != Some(check)
        && !open::trust().holds(&given_here(agent.store.directory()), check.as_bytes())
    {
        return Err(Error::mendable(format!(
            "session {} has the check `{check}`, and it is not known that you gave it",
            session.session_id
        ))
        .hint(format!(
            "say it again if you want it to run: `--check {}`",
            crate::settings::quoted(Path::new(check))
        ))
        .hint("`--check \"\"` goes on without a check"));
    }
    let loaded = open::loaded_with(common, &choices)?;
    open::adopt(&mut agent.manner, &loaded.settings);
    agent.manner.choices = choices;
    Ok(())
}

/// The same for a verb that only looks.
pub(super) fn recall_files(files: &mut Files, common: &Common, session: &Session) -> Result<()> {
    let choices = chosen(&common.settings, &session.choices);
    if !choices.is_empty() {
        let settings = open::loaded_with(common, &choices)?.settings;
        files.chat = open::chat(&settings);
        files.carriage = open::carriage(&settings);
        files.check = settings.check_command;
    }
    Ok(())
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

/// How the check stands, in a line for the person; nothing without a check.
pub(super) fn check_line(command: &str, session: &Session) -> Option<String> {
    if command.is_empty() {
        return None;
    }
    let is_of_it = |report: &&CheckReport| report.command == command;
    let report = session.check.as_ref().filter(is_of_it);
    let state = match report.map(|report| (report.outcome.status, &report.outcome.message)) {
        Some((Status::Ok, message)) => format!("passes ({message})"),
        Some((Status::Failed, message)) => format!("fails ({message})"),
        Some((Status::Refused, message)) => format!("is refused ({message})"),
        Some((Status::Skipped, _)) | None => "has not run yet".to_owned(),
    };
    let line = format!("The check `{command}` {state}");
    Some(escape_line(&line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(given: &[(&'static str, &str)]) -> SettingFlags {
        SettingFlags {
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
        kept.set("Sandbox", "off");
        let now = chosen(&flags(&[]), &kept);
        assert_eq!(now.get("CheckCommand"), Some("make test"));
        assert_eq!(now.get("MaxOutboxChars"), Some("4000"));
        assert_eq!(now.get("Sandbox"), None);
        let now = chosen(&flags(&[("--check", ""), ("--chat", "claude")]), &kept);
        assert_eq!(now.get("CheckCommand"), Some(""));
        assert_eq!(now.get("Chat"), Some("claude"));
        assert_eq!(now.get("MaxOutboxChars"), None, "it was for the other chat");
    }
}
