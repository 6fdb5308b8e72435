//! The table of settings: every key with its default, its range, its flag and its meaning.
//!
//! `agent config`, `docs/settings.md`, the defaults, the checks and the suggestions in errors are
//! all made from this table, so a key is added in two places: here and in the struct `Settings`.
//! Reading a value is left to `value`, layering the values of several sources to `Layers`.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::chat::{self, Attach, KeepsContext};
use super::loosens::Loosens;
use super::suggestion::nearest;
use super::typed::{
    BackendChoice, ClipboardUse, Commands, NotifyBy, PROVIDERS, Reasoning, Secrets, ShellChoice,
    Switch,
};
use super::value::{Shape, Value};
use crate::policy::{Approval, Grant, Network, Strictness};
use crate::protocol::OnFailure;
use crate::sandbox::SandboxMode;

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
    /// The value if nobody sets it.
    pub default: Value,
    /// The values that it takes.
    pub shape: Shape,
    /// Its purpose, in one line of Markdown.
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
        "The folder that the model works in.",
    ),
    directory(
        "InboxDir",
        "--inbox",
        "inbox",
        "The folder where you save replies.",
    ),
    directory(
        "OutboxDir",
        "--outbox",
        "outbox",
        "The folder where messages to paste appear.",
    ),
    directory(
        "SessionsDir",
        "--sessions",
        "sessions",
        "The folder for `agent`'s own records.",
    ),
    number(
        "MaxRounds",
        "--max-rounds",
        20,
        1..=10_000,
        "Number of replies after which a session stops; `agent resume` allows as many again, and with this flag that many from there.",
    ),
    ordered(
        "Commands",
        "--commands",
        Commands::WORDS,
        Commands::Run.word(),
        "`run` lets the model run commands; with `off` it can only work on files.",
    ),
    ordered(
        "Approval",
        "--approval",
        Approval::WORDS,
        Approval::Auto.word(),
        "When to ask you: `auto`, only if a rule says so; `edits`, before every command; `ask`, before every change; `plan`, nothing changes until you approve a plan.",
    ),
    ordered(
        "Policy",
        "--policy",
        Strictness::WORDS,
        Strictness::Normal.word(),
        "How strict the built-in rules are; `agent policy` shows them.",
    ),
    ordered(
        "Sandbox",
        "--sandbox",
        SandboxMode::WORDS,
        SandboxMode::Auto.word(),
        "Confinement of commands: `auto`, as strong as this machine allows; `required`, run no command without a sandbox; `off`.",
    ),
    ordered(
        "SandboxBackend",
        "--sandbox-backend",
        BackendChoice::WORDS,
        BackendChoice::Auto.word(),
        "The sandbox to use: `auto`, the strongest that works here; or only the one you name.",
    ),
    Key {
        name: "Runner",
        flag: "--runner",
        default: Value::Text(Cow::Borrowed("local")),
        shape: Shape::Runner,
        meaning: "Where commands run: `local`, here in the sandbox; in a container; on another machine: see `docs/runners.md`.",
        loosens: Loosens::Image,
    },
    ordered(
        "Shell",
        "--shell",
        ShellChoice::WORDS,
        ShellChoice::Auto.word(),
        "The shell that runs commands on this machine: `auto`, bash or else `sh`, on Windows PowerShell 7, Windows PowerShell 5.1 or else `cmd`; `bash` on Windows is that of Git.",
    ),
    ordered(
        "Network",
        "--network",
        Network::WORDS,
        Network::Off.word(),
        "Network access in the sandbox: `off`, none, though on a terminal you can rerun a command that seems to need it; `ask`, such a command waits for your decision; `on`.",
    ),
    loosening(
        "Grants",
        "--grant",
        Shape::Words(Grant::WORDS),
        "Extra permissions: `git-write` lets commands write to the repository.",
    ),
    loosening(
        "Allow",
        "--allow",
        Shape::Rules,
        "Commands to run without asking, by how they begin; a refused command stays refused.",
    ),
    rules(
        "Ask",
        "--ask",
        "Commands to always ask about, by how they begin.",
    ),
    rules("Deny", "--deny", "Commands to refuse, by how they begin."),
    loosening(
        "ExtraReadPaths",
        "--extra-read-paths",
        Shape::Paths,
        "Paths that sandboxed commands may read, besides the system, your tools and the workspace.",
    ),
    loosening(
        "ExtraWritePaths",
        "--extra-write-paths",
        Shape::Paths,
        "Paths that sandboxed commands may change, besides the workspace.",
    ),
    loosening(
        "CheckCommand",
        "--check",
        Shape::Text,
        "A command that verifies the work, such as `make test`. It runs at the start and after each round that changed something, and `[DONE]` counts only if it passes.",
    ),
    number(
        "CheckTimeoutSeconds",
        "--check-timeout",
        300,
        1..=LONGEST_TIMEOUT,
        "Time limit of the check command, in seconds.",
    ),
    choice(
        "StopWhenCheckPasses",
        "--stop-when-check-passes",
        Switch::WORDS,
        "End the session when the check passes after a change.",
    ),
    ordered(
        "Secrets",
        "--secrets",
        Secrets::WORDS,
        Secrets::On.word(),
        "Secrets in messages: `on` replaces them with placeholders, `off` sends them as they are.",
    ),
    loosening(
        "AllowSecrets",
        "--allow-secrets",
        Shape::Items,
        "Values to send although they look like secrets: exact values, patterns with `*`, or kinds such as `jwt`.",
    ),
    choice(
        "OnFailure",
        "--on-failure",
        OnFailure::WORDS,
        "What to do with the remaining commands of a reply after one of its file changes failed.",
    ),
    ordered(
        "Clipboard",
        "--clipboard",
        ClipboardUse::WORDS,
        ClipboardUse::Off.word(),
        "Use of the clipboard: `out` copies each message to it; `auto` also takes the reply from it when it ends with this round's end mark, once you have agreed to that.",
    ),
    ordered(
        "Notify",
        "--notify",
        NotifyBy::WORDS,
        NotifyBy::Off.word(),
        "How to tell you that it is your turn: the terminal's bell, or a desktop or terminal notification.",
    ),
    number(
        "CommandTimeoutSeconds",
        "--command-timeout",
        120,
        1..=LONGEST_TIMEOUT,
        "Time limit of a command in seconds, if the model sets none.",
    ),
    number(
        "MaxCommandTimeoutSeconds",
        "--max-command-timeout",
        600,
        1..=LONGEST_TIMEOUT,
        "Longest time limit that the model can set for a command, in seconds.",
    ),
    limit(
        "MaxProcesses",
        "--max-processes",
        512,
        1..=100_000,
        "Limit on the processes and threads of a sandboxed command.",
    ),
    limit(
        "MaxMemoryMegabytes",
        "--max-memory-megabytes",
        4096,
        16..=1_000_000,
        "Memory limit of one sandboxed process, and of the shared memory of all processes of a command together.",
    ),
    limit(
        "MaxWrittenMegabytes",
        "--max-written-megabytes",
        2048,
        1..=1_000_000,
        "Limit on the size of one file that a sandboxed command writes.",
    ),
    limit(
        "MaxOpenFiles",
        "--max-open-files",
        4096,
        16..=1_000_000,
        "Limit on the open files of one sandboxed process.",
    ),
    limit(
        "MaxCpuSeconds",
        "--max-cpu-seconds",
        0,
        0..=LONGEST_TIMEOUT,
        "CPU time limit of one sandboxed process; 0 for none.",
    ),
    limit(
        "MaxCpus",
        "--max-cpus",
        0,
        0..=1024,
        "Processors that commands in a container may use at once; 0 for all.",
    ),
    number(
        "MaxOutputLength",
        "--max-output-length",
        4000,
        1..=1_000_000,
        "Characters of a command's output to show to the model.",
    ),
    number(
        "MaxReadLines",
        "--max-read-lines",
        500,
        1..=100_000,
        "Lines of a file to show to the model at once.",
    ),
    number(
        "MaxListItems",
        "--max-list-items",
        200,
        1..=100_000,
        "Maximum number of files in a listing.",
    ),
    number(
        "MaxSearchResults",
        "--max-search-results",
        50,
        1..=10_000,
        "Maximum number of hits in a search.",
    ),
    choice(
        "Chat",
        "--chat",
        chat::NAMES,
        "The chat you use. It decides how long a message may be and how a longer one is sent.",
    ),
    Key {
        name: "Api",
        flag: "--api",
        default: Value::Text(Cow::Borrowed("off")),
        shape: Shape::Choice(PROVIDERS),
        meaning: "Whose API carries the messages, in place of you: see `docs/api.md`.",
        loosens: Loosens::Filled,
    },
    loosening(
        "Model",
        "--model",
        Shape::Text,
        "The model to ask by the API; empty for the provider's default, if one is known.",
    ),
    personal(
        "ApiUrl",
        "--api-url",
        "The base URL of the API, such as `https://host/v1`; empty for the provider's own.",
    ),
    personal(
        "ApiKeyCommand",
        "--api-key-command",
        "A command that prints the API key, such as `pass show openai`; empty to take the key from the provider's variable.",
    ),
    Key {
        name: "ApiPrice",
        flag: "--api-price",
        default: Value::Text(Cow::Borrowed("")),
        shape: Shape::Price,
        meaning: "US dollars for a million tokens, as `INPUT/OUTPUT` or `INPUT/OUTPUT/CACHED`; empty for the price that is known of the model, if one is.",
        loosens: Loosens::Counts,
    },
    Key {
        name: "ApiWindow",
        flag: "--api-window",
        default: Value::Number(0),
        shape: Shape::Number(0..=100_000_000),
        meaning: "Tokens that the model reads and writes together; 0 for what is known of the model.",
        loosens: Loosens::Counts,
    },
    shaped(
        Shape::Temperature,
        "Temperature",
        "--temperature",
        "The temperature of sampling, from 0 to 2; empty for the model's own.",
    ),
    choice(
        "Reasoning",
        "--reasoning",
        Reasoning::WORDS,
        "How much the model thinks before it answers, if it can; `auto` leaves it to the model.",
    ),
    limit(
        "MaxCost",
        "--max-cost",
        0,
        0..=1_000_000_000,
        "The most that a session may cost by the API, in US cents; it stops before the next request. 0 for no limit.",
    ),
    limit(
        "MaxTokens",
        "--max-tokens",
        0,
        0..=1_000_000_000_000,
        "The most tokens that a session may send and receive by the API; it stops before the next request. 0 for no limit.",
    ),
    number(
        "MaxOutboxChars",
        "--max-outbox-chars",
        0,
        0..=2_000_000,
        "Maximum length of a message, in characters; 0 for the limit of your `Chat`.",
    ),
    number(
        "MaxOutboxTokens",
        "--max-outbox-tokens",
        0,
        0..=1_000_000,
        "Maximum length of a message, in estimated tokens; 0 for the limit of your `Chat`.",
    ),
    number(
        "MaxParts",
        "--max-parts",
        4,
        1..=20,
        "Maximum number of parts for a long message; beyond that, content is cut.",
    ),
    choice(
        "Attach",
        "--attach",
        Attach::WORDS,
        "Send a long message as a file next to a short one: `auto`, if it is too long to paste and the chat handles files well; `always`, also if the chat would turn the paste into a file.",
    ),
    choice(
        "KeepsContext",
        "--keeps-context",
        KeepsContext::WORDS,
        "Whether the chat remembers earlier messages; with `off` every message repeats the instructions, the task and the listing. `auto` depends on your `Chat`.",
    ),
    number(
        "MaxFileBytes",
        "--max-file-bytes",
        10 * MIB,
        1..=256 * MIB,
        "Largest file to read or edit, in bytes (10 MiB).",
    ),
    number(
        "MaxUndoFileBytes",
        "--max-undo-file-bytes",
        10 * MIB,
        1..=1024 * MIB,
        "Largest file that undo covers, in bytes (10 MiB); larger files are listed.",
    ),
    number(
        "MaxUndoMegabytes",
        "--max-undo-megabytes",
        8192,
        16..=1_000_000,
        "Size limit of all checkpoints in a base directory; beyond it the oldest rounds lose theirs, and you are told.",
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

/// A setting whose default is a text.
const fn text_key(
    name: &'static str,
    flag: &'static str,
    default: &'static str,
    shape: Shape,
    meaning: &'static str,
    loosens: Loosens,
) -> Key {
    Key {
        name,
        flag,
        default: Value::Text(Cow::Borrowed(default)),
        shape,
        meaning,
        loosens,
    }
}

/// A setting that is empty unless somebody permits more, for which a file needs trust.
const fn loosening(
    name: &'static str,
    flag: &'static str,
    shape: Shape,
    meaning: &'static str,
) -> Key {
    text_key(name, flag, "", shape, meaning, Loosens::Filled)
}

/// A value that may be empty and is, by default.
const fn shaped(
    shape: Shape,
    name: &'static str,
    flag: &'static str,
    meaning: &'static str,
) -> Key {
    text_key(name, flag, "", shape, meaning, Loosens::Never)
}

/// A text that only the person sets, by flag or in the environment.
const fn personal(name: &'static str, flag: &'static str, meaning: &'static str) -> Key {
    text_key(name, flag, "", Shape::Text, meaning, Loosens::Personal)
}

/// Words of which some permit more than others, the strictest first.
const fn ordered(
    name: &'static str,
    flag: &'static str,
    words: &'static [&'static str],
    default: &'static str,
    meaning: &'static str,
) -> Key {
    text_key(
        name,
        flag,
        default,
        Shape::Choice(words),
        meaning,
        Loosens::Later,
    )
}

/// Rules that make things stricter, which everybody may add.
const fn rules(name: &'static str, flag: &'static str, meaning: &'static str) -> Key {
    text_key(name, flag, "", Shape::Rules, meaning, Loosens::Adds)
}

/// The first word is the default.
const fn choice(
    name: &'static str,
    flag: &'static str,
    words: &'static [&'static str],
    meaning: &'static str,
) -> Key {
    text_key(
        name,
        flag,
        words[0],
        Shape::Choice(words),
        meaning,
        Loosens::Never,
    )
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

    /// Describes the allowed values in words.
    pub fn may_be(&self) -> String {
        match &self.shape {
            Shape::Directory => "a directory".to_owned(),
            Shape::Number(range) => format!("{} to {}", range.start(), range.end()),
            Shape::Choice(_)
            | Shape::Words(_)
            | Shape::Paths
            | Shape::Rules
            | Shape::Items
            | Shape::Temperature
            | Shape::Price
            | Shape::Runner
            | Shape::Text => self.shape.to_string(),
        }
    }

    /// The hint for a value that does not fit.
    pub fn explained(&self) -> String {
        format!("`agent help settings {}` explains it", self.name)
    }

    fn markdown_row(&self) -> String {
        let looser: Vec<String> = (self.looser_words().iter())
            .map(|word| format!("`{word}`"))
            .collect();
        let trust = match self.loosens {
            Loosens::Outside => "; outside of the base directory with [trust](#trust)".to_owned(),
            Loosens::Filled | Loosens::Counts => "; with [trust](#trust)".to_owned(),
            Loosens::Personal => "; never from a project's file".to_owned(),
            Loosens::Image => {
                "; from a project's file only containers, with [trust](#trust)".to_owned()
            }
            Loosens::Later if !looser.is_empty() => {
                format!("; {} with [trust](#trust)", looser.join(" and "))
            }
            Loosens::Never | Loosens::Later | Loosens::Adds | Loosens::Limit => String::new(),
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
        let hint = Key::suggestion("Brightness", "");
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
