//! The texts of `agent help <topic>`, as Markdown.
//!
//! Facts that can change are taken from where the program itself has them: the instructions from
//! the message, the rules from the policy, the chats from their data file, the settings from their
//! table. The pages about single chats are those of `docs/chats`.

use std::fmt::Write as _;

use crate::error::{Error, Result};
use crate::services::policy::{self, Decision};
use crate::settings::{Chat, GROUPS, KEYS, Key, nearest};
use crate::ui::escape_line;

/// Something that a person may want to know before they know its name.
pub(super) struct Topic {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// The text, for the words after the name.
    pub(super) text: fn(&[String]) -> Result<String>,
}

pub(super) static TOPICS: &[Topic] = &[
    Topic {
        name: "protocol",
        about: "what the model is told, and what it may write",
        text: |_| Ok(protocol()),
    },
    Topic {
        name: "safety",
        about: "what protects your machine from the model",
        text: |_| Ok(safety()),
    },
    Topic {
        name: "chats",
        about: "your chat: what to copy, its limits, replies that were cut off",
        text: chats,
    },
    Topic {
        name: "settings",
        about: "every setting, its option and its default",
        text: settings,
    },
];

impl Topic {
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        TOPICS.iter().find(|topic| topic.name == name)
    }
}

/// A page about a chat, and the values of `Chat` that it is about.
struct Page {
    name: &'static str,
    chats: &'static [&'static str],
    text: &'static str,
}

static PAGES: &[Page] = &[
    Page {
        name: "chatgpt",
        chats: &["chatgpt-free", "chatgpt-plus", "chatgpt-pro"],
        text: include_str!("../../../docs/chats/chatgpt.md"),
    },
    Page {
        name: "claude",
        chats: &["claude"],
        text: include_str!("../../../docs/chats/claude.md"),
    },
    Page {
        name: "gemini",
        chats: &["gemini"],
        text: include_str!("../../../docs/chats/gemini.md"),
    },
    Page {
        name: "ai-studio",
        chats: &["ai-studio"],
        text: include_str!("../../../docs/chats/ai-studio.md"),
    },
    Page {
        name: "copilot",
        chats: &["copilot"],
        text: include_str!("../../../docs/chats/copilot.md"),
    },
    Page {
        name: "other",
        chats: &["generic"],
        text: include_str!("../../../docs/chats/other.md"),
    },
];

fn protocol() -> String {
    format!(
        "# What the model is told\n\n\
         You need not know this: each first message tells it to the model. A reply may have any text \
         around its commands, and other formats that models fall back on are understood too. `agent \
         parse reply.md` shows what a reply asks for and touches nothing. The details are in \
         `docs/protocol.md`.\n\n\
         These are the instructions; `ab12cd34` stands for the session and `#1` for the round:\n\n\
         {}\n",
        crate::services::settings::example_instructions()
    )
}

const SAFETY: &str = "\
# What protects your machine from the model

- File commands cannot leave the workspace: `..`, absolute paths and links that lead out fail.
- Commands run in a sandbox if this machine supports one: `agent doctor` tests it and shows what applies. Without one, every command needs your approval.
- Rules refuse, ask or allow; the strictest wins. `agent policy` shows those in force here, `agent policy check \"<command>\"` explains one command.
- `--approval ask` asks you before every change, `--approval edits` before every command, `--approval plan` changes nothing before you approve a plan. With `--commands off` no command runs.
- Every round can be shown and undone: `agent diff`, `agent undo`.
- Secrets are replaced by placeholders before a message is written.

Not protected: the files of the workspace themselves, anything you later run from it, and what you paste into the chat. Do not save replies that you do not trust. The details are in `docs/security.md`.

These rules apply in a sandbox by default:
";

fn safety() -> String {
    let rows = policy::built_in();
    let mut text = SAFETY.to_owned();
    for decision in [Decision::Deny, Decision::Ask, Decision::Allow] {
        let title = match decision {
            Decision::Deny => "Refused",
            Decision::Ask => "Asked",
            Decision::Allow => "Allowed",
        };
        let _ = writeln!(text, "\n## {title}\n");
        for row in rows.iter().filter(|row| row.decision == decision) {
            let _ = writeln!(text, "- {}: {}.", row.rule, row.why);
        }
    }
    text
}

const CHATS: &str = "\
# Your chat

Any chat will do. In all of them:

1. Paste the whole message and send it. Stay in one chat: later messages are short because the model still knows the first.
2. Wait until the reply has ended. Its commands are in one code block.
3. Copy with a button, of the code block or of the whole reply; never by selecting with the mouse, which loses indentation and marks.
4. If a paste becomes an attachment, send it that way.
5. If the reply was cut off, save it anyway: the complete commands are carried out, and the next message asks for the rest. Or let the chat continue, and save the whole reply again.
6. If the model answers in a canvas, an artifact or a file, say: \"Answer in the chat message itself.\"

`--chat NAME`, or `Chat` in the settings, names yours. Then no message is longer than it accepts; a longer one is sent in parts or as a file:
";

fn chats(words: &[String]) -> Result<String> {
    if let Some(name) = words.first() {
        return page(name).map(|page| page.text.replace("\r\n", "\n"));
    }
    let mut text = format!("{CHATS}\n");
    for chat in Chat::all() {
        let _ = writeln!(text, "- {}", in_words(chat));
    }
    let names: Vec<String> = (PAGES.iter())
        .map(|page| format!("`agent help chats {}`", page.name))
        .collect();
    let _ = writeln!(
        text,
        "\nWhich buttons, and what else to know: {}.",
        names.join(", ")
    );
    Ok(text)
}

/// Describes the limits of a chat, in the words of the pages about chats.
fn in_words(chat: &Chat) -> String {
    format!(
        "`{}`: at most {} in one message; a longer one is sent {}.",
        chat.name,
        chat.takes(),
        chat.when_too_long
    )
}

fn page(name: &str) -> Result<&'static Page> {
    let known = |page: &&Page| page.name == name || page.chats.contains(&name);
    if let Some(page) = PAGES.iter().find(known) {
        return Ok(page);
    }
    let error = Error::usage(format!(
        "there is no page about the chat `{}`",
        escape_line(name)
    ));
    let names = PAGES.iter().map(|page| page.name);
    Err(match nearest(name, names.clone()) {
        Some(near) => error.hint(format!("did you mean `agent help chats {near}`?")),
        None => error.hint(format!(
            "there are {}; for all others: `agent help chats other`",
            names.collect::<Vec<_>>().join(", ")
        )),
    })
}

const SETTINGS: &str = "\
# Settings

You can use `agent` without any of these. `agent config` shows the current values and where each comes from. Later ones win:

1. the default;
2. your own settings, for all projects: `agent config set MaxRounds 50`;
3. `appsettings.json` of a project, in its `Agent` section: `{\"Agent\": {\"MaxRounds\": 50}}`;
4. the environment: `Agent__MaxRounds=50 agent new \"...\"`;
5. an option: `agent new --max-rounds 50 \"...\"`.

A settings file may have come with a project. So a value that permits more than your own counts only if you trust the file: you are asked once. Settings with such values are marked with `*`; stricter values count from any file, and some settings, such as `ApiUrl`, from no project's file at all. A session keeps its workspace and its restrictions. More is in `docs/settings.md`.
";

fn settings(words: &[String]) -> Result<String> {
    if let Some(name) = words.first() {
        let named = Key::named_in_any_case(name).or_else(|| Key::with_flag(name));
        return named.map(setting).ok_or_else(|| no_such_setting(name));
    }
    let mut text = SETTINGS.to_owned();
    for group in GROUPS {
        let _ = writeln!(text, "\n## {}\n", group.title);
        for key in group.keys() {
            text.push_str(&setting(key));
        }
    }
    Ok(text)
}

/// One setting in a few lines.
pub(super) fn setting(key: &Key) -> String {
    let mark = if key.can_loosen() { "*" } else { "" };
    let default = match key.default.to_string() {
        text if text.is_empty() => "nothing".to_owned(),
        text => format!("`{text}`"),
    };
    format!(
        "- `{}`{mark}, `{}`: {} May be {}; default {default}.\n",
        key.name,
        key.flag,
        key.meaning,
        key.may_be()
    )
}

fn no_such_setting(name: &str) -> Error {
    let error = Error::usage(format!("there is no setting `{}`", escape_line(name)));
    match nearest(name, KEYS.iter().map(|key| key.name)) {
        Some(near) => error.hint(format!("did you mean `agent help settings {near}`?")),
        None => error.hint("`agent help settings` shows them all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &[&str]) -> Result<String> {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        (Topic::named(&words[0]).unwrap().text)(&words[1..])
    }

    #[test]
    fn the_rules_of_the_policy_are_all_told() {
        let text = text(&["safety"]).unwrap();
        for row in policy::built_in() {
            assert!(text.contains(&row.rule), "{}", row.rule);
        }
    }

    #[test]
    fn every_chat_has_a_page_that_says_what_it_takes() {
        let overview = text(&["chats"]).unwrap();
        for chat in Chat::all() {
            let told = in_words(chat);
            assert!(overview.contains(&told), "{told}");
            let page = page(&chat.name).unwrap();
            assert!(
                page.text.contains(&told),
                "docs/chats/{}.md: {told}",
                page.name
            );
            let date = format!("as of {}", chat.checked);
            assert!(
                page.text.contains(&date),
                "docs/chats/{}.md: {date}",
                page.name
            );
        }
        let pages = PAGES.iter().flat_map(|page| page.chats).count();
        assert_eq!(
            pages,
            Chat::all().len(),
            "a page about a chat that is unknown"
        );
    }

    #[test]
    fn every_page_answers_the_same_questions() {
        for page in PAGES {
            for heading in [
                "## What to copy",
                "## If the paste becomes an attachment",
                "## If the reply was cut",
                "## The setting",
            ] {
                assert!(
                    page.text.contains(heading),
                    "docs/chats/{}.md: {heading}",
                    page.name
                );
            }
        }
    }

    #[test]
    fn every_setting_is_told_and_found_by_name_or_option() {
        let all = text(&["settings"]).unwrap();
        for key in KEYS {
            let one = text(&["settings", &key.name.to_uppercase()]).unwrap();
            assert!(all.contains(&one), "{one}");
            assert_eq!(text(&["settings", key.flag]).unwrap(), one);
        }
    }

    #[test]
    fn what_was_meant_is_named() {
        let hint = |words: &[&str]| text(words).unwrap_err().hints()[0].clone();
        assert_eq!(
            hint(&["settings", "MaxRuonds"]),
            "did you mean `agent help settings MaxRounds`?"
        );
        assert_eq!(
            hint(&["chats", "cluade"]),
            "did you mean `agent help chats claude`?"
        );
        assert!(hint(&["chats", "llama"]).contains("agent help chats other"));
    }

    #[test]
    fn the_model_is_told_what_the_help_shows() {
        let text = text(&["protocol"]).unwrap();
        assert!(text.contains("[END ab12cd34#1]"), "{text}");
        assert!(!text.contains("{id}") && !text.contains("{timeout}"));
    }
}
