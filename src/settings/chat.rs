//! The limits of the chats: how long a message may be, and what they do with a longer one.
//!
//! The numbers stand in `chats.json`, each with its source and the month in which it was checked:
//! vendors change them without a word, so they are meant to be corrected there. A person who
//! knows better sets `MaxOutboxChars` and `MaxOutboxTokens`.

use std::fmt;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::number::grouped;
use crate::protocol::words;

/// The names in the order of the file; a test holds the two together.
pub(super) const NAMES: &[&str] = &[
    "generic",
    "chatgpt-free",
    "chatgpt-plus",
    "chatgpt-pro",
    "claude",
    "gemini",
    "ai-studio",
    "copilot",
];

static CHATS: LazyLock<Vec<Chat>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("chats.json")).expect("a test reads the same text")
});

/// The known facts about a chat.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Chat {
    /// The name by which the setting `Chat` refers to it.
    pub name: String,
    /// Where a new chat is opened, if that is known.
    pub open: Option<ChatLink>,
    /// The most characters of one message.
    pub max_characters: usize,
    /// The most estimated tokens of one message, if the chat counts them.
    pub max_tokens: Option<usize>,
    /// How many tokens it remembers, question and answer together, if that is less than plenty.
    pub chat_tokens: Option<usize>,
    /// The most that it reads of one file, if that is not what it takes in one message.
    pub max_attachment: Option<Attachment>,
    /// Above how many characters it makes an attachment of a paste by itself.
    pub attaches_above: Option<usize>,
    /// True if it remembers earlier messages.
    #[serde(default = "keeps")]
    pub keeps_context: bool,
    /// The best way to send a message that is too long for it.
    pub when_too_long: WhenTooLong,
    /// Where the numbers come from.
    pub source: String,
    /// The month in which they were last checked.
    pub checked: String,
}

/// Addresses that open a new chat.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChatLink {
    /// The name that people use for the chat.
    pub title: String,
    /// Its page.
    pub page: String,
    /// The address to which a message is appended so that the chat opens with it; only if the
    /// vendor has such a link.
    pub with_message: Option<String>,
}

/// The longest address that carries a message, in bytes: servers on the way refuse longer ones.
const MAX_ADDRESS: usize = 8_000;

impl ChatLink {
    /// The address that opens a new chat with this message, if there is one and it is not too long.
    pub fn carrying(&self, message: &str) -> Option<String> {
        use std::fmt::Write as _;
        let mut address = self.with_message.clone()?;
        for byte in message.bytes() {
            if address.len() > MAX_ADDRESS {
                return None;
            }
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                    address.push(char::from(byte));
                }
                other => {
                    let _ = write!(address, "%{other:02X}");
                }
            }
        }
        (address.len() <= MAX_ADDRESS).then_some(address)
    }
}

/// How much a chat reads of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Attachment {
    /// In bytes.
    pub bytes: usize,
    /// In estimated tokens.
    pub tokens: usize,
}

/// Nearly all do.
fn keeps() -> bool {
    true
}

words! {
    /// The chat's memory of earlier messages. Without it, every message repeats them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum KeepsContext {
        /// As known for this chat.
        Auto = "auto",
        /// It remembers them.
        On = "on",
        /// It does not.
        Off = "off",
    }
}

/// How a message travels that is too long for one paste.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenTooLong {
    /// In parts, one paste each.
    Parts,
    /// As a file beside a short message.
    Attachment,
}

words! {
    /// When to send a message as a file beside a short one.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Attach {
        /// If they are too long to be pasted and the chat is better at files than at parts.
        Auto = "auto",
        /// Never: in parts instead.
        Never = "never",
        /// If they are too long to be pasted, or so long that the chat would make a file of them.
        Always = "always",
    }
}

impl Chat {
    /// All that are known.
    pub fn all() -> &'static [Self] {
        &CHATS
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        CHATS.iter().find(|chat| chat.name == name)
    }

    /// The chat's memory, given the most tokens of one message (`usize::MAX` if that is unknown).
    ///
    /// A limit for one message that exceeds the known memory means that the person's chat differs
    /// from the one we know, so its memory is unknown.
    pub fn memory(&self, message_tokens: usize) -> Memory {
        let is_other = |all: usize| message_tokens != usize::MAX && message_tokens >= all;
        Memory {
            tokens: self.chat_tokens.filter(|all| !is_other(*all)),
        }
    }

    /// The most that it takes at once: `300,000 characters or ~100,000 tokens`.
    pub fn takes(&self) -> String {
        let characters = grouped(self.max_characters as u64);
        match self.max_tokens {
            Some(tokens) => format!(
                "{characters} characters or ~{} tokens",
                grouped(tokens as u64)
            ),
            None => format!("{characters} characters"),
        }
    }
}

/// How much a chat remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// In tokens, question and answer together; nothing if that is plenty.
    pub tokens: Option<usize>,
}

impl Memory {
    /// How many tokens a message may have beside those that the chat has to remember already.
    ///
    /// A share of all is left for the answer; a message has as much at the least, because a chat
    /// that is full must still be told something.
    pub fn left(self, remembered: usize) -> usize {
        const SHARES: usize = 10;
        self.tokens.map_or(usize::MAX, |all| {
            let share = all / SHARES;
            (all - share).saturating_sub(remembered).max(share)
        })
    }
}

impl fmt::Display for WhenTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parts => "in parts",
            Self::Attachment => "as a file",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_the_names_of_the_setting() {
        let names: Vec<&str> = Chat::all().iter().map(|chat| chat.name.as_str()).collect();
        assert_eq!(names, NAMES);
        assert!(Chat::named("generic").is_some_and(|chat| chat.max_characters == 100_000));
    }

    #[test]
    fn the_settings_page_tells_what_each_takes() {
        let page = include_str!("../../docs/settings.md").replace("\r\n", "\n");
        for chat in Chat::all() {
            let row = format!(
                "| `{}` | {} | {} |\n",
                chat.name,
                chat.takes(),
                chat.when_too_long
            );
            assert!(page.contains(&row), "put into docs/settings.md: {row}");
        }
    }

    #[test]
    fn a_message_has_no_more_than_what_is_left_of_the_chat() {
        let memory = |name: &str, own| Chat::named(name).unwrap().memory(own);
        let plus = memory("chatgpt-plus", usize::MAX);
        assert_eq!(plus.left(0), 81_000);
        assert_eq!(plus.left(50_000), 31_000);
        assert_eq!(plus.left(500_000), 9_000);
        let generic = memory("generic", usize::MAX);
        assert_eq!(generic.left(500_000), usize::MAX);
        assert_eq!(memory("gemini", 16_000).left(20_000), 8_800);
        // With a subscription it remembers more than is known.
        assert_eq!(memory("gemini", 100_000).left(20_000), usize::MAX);
    }

    #[test]
    fn a_short_message_goes_into_the_address_that_opens_the_chat() {
        let open = |name: &str| Chat::named(name).unwrap().open.as_ref();
        let carried = open("chatgpt-free").unwrap().carrying("a b\n&c=ä#");
        let expected = "https://chatgpt.com/?q=a%20b%0A%26c%3D%C3%A4%23";
        assert_eq!(carried.as_deref(), Some(expected));
        let claude = open("claude").unwrap();
        assert_eq!(claude.carrying(&"x".repeat(8_000)), None);
        assert!(claude.carrying(&"x".repeat(7_900)).is_some());
        assert_eq!(open("gemini").unwrap().carrying("a"), None);
        assert_eq!(open("generic"), None);
    }

    #[test]
    fn every_number_has_a_source_and_a_date() {
        for chat in Chat::all() {
            assert!(chat.source.len() > 20, "{}", chat.name);
            assert!(
                chat.checked.len() == 7 && chat.checked.starts_with("20"),
                "{}",
                chat.name
            );
            assert!(
                chat.max_characters >= super::super::LEAST_MESSAGE,
                "{}",
                chat.name
            );
        }
    }
}
