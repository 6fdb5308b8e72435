//! The table of settings: every key with its default, its range, its flag and its meaning.
//!
//! `agent config`, `docs/settings.md`, the defaults, the checks and the suggestions in errors are
//! all made from this table, so a key is added in two places: here and in the struct `Settings`.
//! Reading a value is left to `value`, layering the values of several sources to `Layers`.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::chat;
use super::loosens::Loosens;
use super::suggestion::nearest;
use super::value::{Shape, Value};

/// A day: nobody waits longer for a command.
const LONGEST_TIMEOUT: u64 = 24 * 60 * 60;
const MIB: u64 = 1024 * 1024;

/// One setting: what a person may write for it and what it does.
#[derive(Debug)]
pub struct Key {
    /// The name in the file, in `PascalCase`; after `Agent__` also the name in the environment.
    pub name: &'static str,
    /// The flag that sets it, with its dashes.
    pub flag: &'static str,
    /// What holds if nobody sets it.
    pub default: Value,
    /// What may be written.
    pub shape: Shape,
    /// What it does, in one line of Markdown.
    pub meaning: &'static str,
    /// Which values permit more than others, and need a trusted file.
    pub loosens: Loosens,
}

/// Every setting, in the order in which people look for them.
pub static KEYS: &[Key] = &[
    directory(
        "WorkspaceDir",
        "--workspace",
        "workspace",
        "What the model works on.",
    ),
    directory("InboxDir", "--inbox", "inbox", "Where you put the replies."),
    directory(
        "OutboxDir",
        "--outbox",
        "outbox",
        "Where the messages to paste appear.",
    ),
    directory(
        "SessionsDir",
        "--sessions",
        "sessions",
        "Where `agent` keeps its own records.",
    ),
    number(
        "MaxRounds",
        "--max-rounds",
        20,
        1..=10_000,
        "Replies after which a session stops; `agent resume` grants as many again.",
    ),
    ordered(
        "Commands",
        "--commands",
        &["run", "off"],
        &["off", "run"],
        "run",
        "Whether the model may run commands; with `off` it only works on files.",
    ),
    ordered(
        "Approval",
        "--approval",
        &["auto", "edits", "ask", "plan"],
        &["plan", "ask", "edits", "auto"],
        "auto",
        "When you are asked: `auto`, what the rules allow runs; `edits`, before commands; `ask`, before every change; `plan`, nothing is changed before you approve a plan.",
    ),
    ordered(
        "Policy",
        "--policy",
        &["normal", "strict"],
        &["strict", "normal"],
        "normal",
        "How much is refused; `agent policy` shows the rules.",
    ),
    ordered(
        "Sandbox",
        "--sandbox",
        &["auto", "required", "off"],
        &["required", "auto", "off"],
        "auto",
        "Whether commands are confined: `auto`, as strongly as this machine can; `required`, or they do not run; `off`.",
    ),
    ordered(
        "SandboxBackend",
        "--sandbox-backend",
        &["auto", "namespaces", "bubblewrap", "landlock"],
        &["namespaces", "auto", "bubblewrap", "landlock"],
        "auto",
        "What confines commands: `auto`, the strongest that works here; or this one alone, as if there were no other.",
    ),
    ordered(
        "Network",
        "--network",
        &["off", "ask", "on"],
        &["off", "ask", "on"],
        "off",
        "Whether commands in the sandbox can use the network: `ask`, a command that seems to have missed it waits for your word to run again with it; with `off` that is offered on a terminal.",
    ),
    loosening(
        "Grants",
        "--grant",
        Shape::Words(&["git-write", "network"]),
        "What you allow beyond the defaults: `git-write` lets commands write to the repository.",
    ),
    loosening(
        "Allow",
        "--allow",
        Shape::Rules,
        "Commands that you are not asked about, by how they begin; what is refused stays refused.",
    ),
    rules(
        "Ask",
        "--ask",
        "Commands that you are always asked about, by how they begin.",
    ),
    rules(
        "Deny",
        "--deny",
        "Commands that are refused, by how they begin.",
    ),
    loosening(
        "ExtraReadPaths",
        "--extra-read-paths",
        Shape::Paths,
        "What commands in the sandbox may read besides the system, your tools and the workspace.",
    ),
    loosening(
        "ExtraWritePaths",
        "--extra-write-paths",
        Shape::Paths,
        "What commands in the sandbox may change besides the workspace.",
    ),
    loosening(
        "CheckCommand",
        "--check",
        Shape::Text,
        "What decides whether the work is good, such as `make test`: it runs at the start and after each round that changed something, and `[DONE]` counts only when it passes.",
    ),
    number(
        "CheckTimeoutSeconds",
        "--check-timeout",
        300,
        1..=LONGEST_TIMEOUT,
        "Seconds that the check command may run.",
    ),
    choice(
        "StopWhenCheckPasses",
        "--stop-when-check-passes",
        &["off", "on"],
        "Whether a session ends by itself when the check passes after a change.",
    ),
    ordered(
        "Secrets",
        "--secrets",
        &["on", "off"],
        &["on", "off"],
        "on",
        "Whether secrets in a message are kept back: `on`, placeholders stand for them; `off`, they are sent as they are.",
    ),
    loosening(
        "AllowSecrets",
        "--allow-secrets",
        Shape::Items,
        "What is sent although it looks like a secret: values, patterns with `*`, or kinds such as `jwt`.",
    ),
    choice(
        "OnFailure",
        "--on-failure",
        &["skip-commands", "continue"],
        "What becomes of the commands of a reply after a file change of it failed.",
    ),
    ordered(
        "Clipboard",
        "--clipboard",
        &["auto", "out", "off"],
        &["off", "out", "auto"],
        "off",
        "What the clipboard is used for: `out`, each message is put on it; `auto`, and the reply is taken from it when it ends with this round's end mark, once you have said yes to that.",
    ),
    ordered(
        "Notify",
        "--notify",
        &["off", "bell", "desktop"],
        &["off", "bell", "desktop"],
        "off",
        "How you are told that it is your turn: the terminal's bell, or a notification of the desktop or the terminal.",
    ),
    number(
        "CommandTimeoutSeconds",
        "--command-timeout",
        30,
        1..=LONGEST_TIMEOUT,
        "Seconds that a command may run if the model names no time.",
    ),
    number(
        "MaxCommandTimeoutSeconds",
        "--max-command-timeout",
        600,
        1..=LONGEST_TIMEOUT,
        "The most seconds that the model may name for a command.",
    ),
    limit(
        "MaxProcesses",
        "--max-processes",
        512,
        1..=100_000,
        "Processes and threads of a command in the sandbox.",
    ),
    limit(
        "MaxMemoryMegabytes",
        "--max-memory-megabytes",
        4096,
        16..=1_000_000,
        "Memory of one process in the sandbox, and shared memory of all processes of a command together.",
    ),
    limit(
        "MaxWrittenMegabytes",
        "--max-written-megabytes",
        2048,
        1..=1_000_000,
        "Size of one file that a command in the sandbox writes.",
    ),
    limit(
        "MaxOpenFiles",
        "--max-open-files",
        4096,
        16..=1_000_000,
        "Open files of one process in the sandbox.",
    ),
    limit(
        "MaxCpuSeconds",
        "--max-cpu-seconds",
        0,
        0..=LONGEST_TIMEOUT,
        "Computing time of one process in the sandbox; 0 is no limit of its own.",
    ),
    number(
        "MaxOutputLength",
        "--max-output-length",
        4000,
        1..=1_000_000,
        "Characters of a command's output that the model is shown.",
    ),
    number(
        "MaxReadLines",
        "--max-read-lines",
        500,
        1..=100_000,
        "Lines of a file that the model is shown at once.",
    ),
    number(
        "MaxListItems",
        "--max-list-items",
        200,
        1..=100_000,
        "Files in one listing.",
    ),
    number(
        "MaxSearchResults",
        "--max-search-results",
        50,
        1..=10_000,
        "Hits of one search.",
    ),
    choice(
        "Chat",
        "--chat",
        chat::NAMES,
        "Which chat you use: how long a message may be, and what happens to a longer one.",
    ),
    number(
        "MaxOutboxChars",
        "--max-outbox-chars",
        0,
        0..=2_000_000,
        "Characters of one message to the chat; 0 is what `Chat` says.",
    ),
    number(
        "MaxOutboxTokens",
        "--max-outbox-tokens",
        0,
        0..=1_000_000,
        "Estimated tokens of one message to the chat; 0 is what `Chat` says.",
    ),
    number(
        "MaxParts",
        "--max-parts",
        4,
        1..=20,
        "Into how many parts a message that is too long may be split before what it tells is cut.",
    ),
    choice(
        "Attach",
        "--attach",
        &["auto", "never", "always"],
        "Whether a long message goes as a file beside a short one: `auto`, if it is too long to paste and the chat is good at files; `always`, also if the chat would make a file of the paste.",
    ),
    choice(
        "KeepsContext",
        "--keeps-context",
        &["auto", "on", "off"],
        "Whether the chat knows in one message what the ones before said; with `off` every message has the instructions, the task and the listing again. `auto` is what `Chat` says.",
    ),
    number(
        "MaxFileBytes",
        "--max-file-bytes",
        10 * MIB,
        1..=256 * MIB,
        "Bytes of the largest file that is read or edited (10 MiB).",
    ),
    number(
        "MaxUndoFileBytes",
        "--max-undo-file-bytes",
        10 * MIB,
        1..=1024 * MIB,
        "Bytes of the largest file that undo covers (10 MiB); larger ones are named.",
    ),
    number(
        "MaxUndoMegabytes",
        "--max-undo-megabytes",
        8192,
        16..=1_000_000,
        "Size of all checkpoints of a base directory together; beyond it those of the oldest rounds are removed, and you are told.",
    ),
];

const fn directory(
    name: &'static str,
    flag: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> Key {
    Key {
        name,
        flag,
        default: Value::Text(Cow::Borrowed(default)),
        shape: Shape::Directory,
        meaning,
        loosens: Loosens::Outside,
    }
}

const fn number(
    name: &'static str,
    flag: &'static str,
    default: u64,
    range: RangeInclusive<u64>,
    meaning: &'static str,
) -> Key {
    Key {
        name,
        flag,
        default: Value::Number(default),
        shape: Shape::Number(range),
        meaning,
        loosens: Loosens::Never,
    }
}

/// A number of which the lower one is the stricter.
const fn limit(
    name: &'static str,
    flag: &'static str,
    default: u64,
    range: RangeInclusive<u64>,
    meaning: &'static str,
) -> Key {
    Key {
        name,
        flag,
        default: Value::Number(default),
        shape: Shape::Number(range),
        meaning,
        loosens: Loosens::Limit,
    }
}

/// A setting that is empty unless somebody permits more, for which a file needs trust.
const fn loosening(
    name: &'static str,
    flag: &'static str,
    shape: Shape,
    meaning: &'static str,
) -> Key {
    Key {
        name,
        flag,
        default: Value::Text(Cow::Borrowed("")),
        shape,
        meaning,
        loosens: Loosens::Filled,
    }
}

/// Words of which some permit more than others, from the strictest to the loosest in `order`.
const fn ordered(
    name: &'static str,
    flag: &'static str,
    words: &'static [&'static str],
    order: &'static [&'static str],
    default: &'static str,
    meaning: &'static str,
) -> Key {
    Key {
        name,
        flag,
        default: Value::Text(Cow::Borrowed(default)),
        shape: Shape::Choice(words),
        meaning,
        loosens: Loosens::Words(order),
    }
}

/// Rules that make things stricter, which everybody may add.
const fn rules(name: &'static str, flag: &'static str, meaning: &'static str) -> Key {
    Key {
        name,
        flag,
        default: Value::Text(Cow::Borrowed("")),
        shape: Shape::Rules,
        meaning,
        loosens: Loosens::Adds,
    }
}

/// The first word is the default.
const fn choice(
    name: &'static str,
    flag: &'static str,
    words: &'static [&'static str],
    meaning: &'static str,
) -> Key {
    Key {
        name,
        flag,
        default: Value::Text(Cow::Borrowed(words[0])),
        shape: Shape::Choice(words),
        meaning,
        loosens: Loosens::Never,
    }
}

impl Key {
    /// Finds the key of exactly this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// Finds the key of this name in any letter case.
    pub fn named_in_any_case(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name.eq_ignore_ascii_case(name))
    }

    /// Finds the key of this flag, with its dashes or without.
    pub fn with_flag(flag: &str) -> Option<&'static Self> {
        let flag = flag.trim_start_matches('-');
        let mut keys = KEYS.iter();
        keys.find(|key| key.flag.trim_start_matches('-') == flag)
    }

    /// Finds the key that the person most likely meant.
    pub fn nearest(name: &str) -> Option<&'static Self> {
        nearest(name, KEYS.iter().map(|key| key.name)).and_then(Self::named)
    }

    /// The hint for a name that is no key: what was meant, or what there is.
    ///
    /// It does not send the person to `agent config`, which needs valid settings itself.
    pub(super) fn suggestion(written: &str, prefix: &str) -> String {
        if let Some(key) = Self::nearest(written) {
            return format!("did you mean `{prefix}{}`?", key.name);
        }
        let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
        format!("the settings are: {}", names.join(", "))
    }

    /// What may be written for it, in words.
    pub fn may_be(&self) -> String {
        match &self.shape {
            Shape::Directory => "a directory".to_owned(),
            Shape::Number(range) => format!("{} to {}", range.start(), range.end()),
            Shape::Choice(_)
            | Shape::Words(_)
            | Shape::Paths
            | Shape::Rules
            | Shape::Items
            | Shape::Text => self.shape.to_string(),
        }
    }

    /// The hint for a value that does not fit.
    pub(super) fn explained(&self) -> String {
        format!("`agent help settings {}` explains it", self.name)
    }

    fn markdown_row(&self) -> String {
        let looser: Vec<String> = (self.looser_words().iter())
            .map(|word| format!("`{word}`"))
            .collect();
        let trust = match self.loosens {
            Loosens::Outside => "; outside of the base directory with [trust](#trust)".to_owned(),
            Loosens::Filled => "; with [trust](#trust)".to_owned(),
            Loosens::Words(_) if !looser.is_empty() => {
                format!("; {} with [trust](#trust)", looser.join(" and "))
            }
            Loosens::Never | Loosens::Words(_) | Loosens::Adds | Loosens::Limit => String::new(),
        };
        format!(
            "| `{}` | `{}` | {}{trust} | `{}` | {} |\n",
            self.name,
            self.default,
            self.may_be(),
            self.flag,
            self.meaning
        )
    }
}

/// The table in Markdown, as it stands in `docs/settings.md`.
pub fn markdown() -> String {
    let head = "| key | default | may be | flag | meaning |\n|---|---|---|---|---|\n".to_owned();
    KEYS.iter()
        .fold(head, |table, key| table + &key.markdown_row())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_that_a_person_may_write() {
        for key in KEYS {
            assert_eq!(
                key.shape.read_text(&key.default.to_string()),
                Ok(key.default.clone()),
                "{}",
                key.name
            );
        }
    }

    #[test]
    fn names_and_flags_are_unique_and_well_formed() {
        let mut names: Vec<String> = KEYS.iter().map(|k| k.name.to_ascii_lowercase()).collect();
        let mut flags: Vec<&str> = KEYS.iter().map(|key| key.flag).collect();
        names.sort();
        names.dedup();
        flags.sort_unstable();
        flags.dedup();
        assert_eq!((names.len(), flags.len()), (KEYS.len(), KEYS.len()));
        for key in KEYS {
            assert!(key.name.starts_with(|c: char| c.is_ascii_uppercase()));
            assert!(!key.name.contains('_'), "{}", key.name);
            assert!(key.flag.starts_with("--"), "{}", key.flag);
            assert!(key.meaning.ends_with('.'), "{}", key.meaning);
            assert!(!key.meaning.contains(['|', '\n']), "{}", key.meaning);
        }
    }

    #[test]
    fn a_name_that_is_near_nothing_is_told_what_there_is() {
        let hint = Key::suggestion("Temperature", "");
        assert!(KEYS.iter().all(|key| hint.contains(key.name)), "{hint}");
        assert_eq!(
            Key::suggestion("Inbox", "Agent__"),
            "did you mean `Agent__InboxDir`?"
        );
    }

    #[test]
    fn the_settings_page_has_this_table() {
        let page = include_str!("../../docs/settings.md").replace("\r\n", "\n");
        assert!(
            page.contains(&markdown()),
            "put this table into docs/settings.md:\n\n{}",
            markdown()
        );
    }
}
