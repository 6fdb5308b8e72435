//! How messages are carried to the chat: how long one may be, and how it is made as long as that.
//!
//! A message is made to a number of characters, but chats count tokens, of which some texts have
//! more in a character than others. So it is measured once it is made, and made again, shorter,
//! until the chat takes it: each paste or the file by itself, and all of it beside what the chat has
//! to remember already.

use super::cuts::Cuts;
use super::parts::{self, Limit};
use super::{Veil, chars, estimated_tokens};

/// How often a message that is more than its room promised is made again, shorter, each time by more.
const ATTEMPTS: usize = 16;

/// By how much less is tried than what an estimate says, in percent.
const MARGIN: usize = 5;

/// How messages are carried to the chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carriage {
    /// How much one paste may have.
    pub limit: Limit,
    /// Into how many pastes a message may be split before what it tells is cut.
    pub max_parts: usize,
    /// The way of a message that is too long for one paste.
    pub too_long: TooLong,
    /// How much all of a message may have beside what the chat remembers, in estimated tokens; the
    /// largest number if it remembers plenty.
    pub left_tokens: usize,
}

/// The way of a message that is too long for one paste.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooLong {
    /// It goes in parts.
    Parts,
    /// It goes as a file beside a short message; also if it has more characters than these.
    Attachment {
        /// Above how many characters it does in any case.
        above: usize,
        /// How much the file may have, if that is not what one paste may have.
        file: Option<FileLimit>,
    },
}

/// How much a chat reads of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLimit {
    /// In bytes.
    pub bytes: usize,
    /// In estimated tokens.
    pub tokens: usize,
}

/// The room that a message is composed for, in characters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// The limit of one paste, or of the file.
    paste: Limit,
    /// The most pastes.
    pub(super) pastes: usize,
    /// The limit of the whole message.
    all: usize,
}

impl Room {
    /// The room in so many pastes.
    pub(super) fn of(self, pastes: usize) -> usize {
        self.paste.room(pastes).min(self.all)
    }
}

/// A message that was made to a room.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) text: String,
    /// The cuts that were made.
    pub(super) cuts: Cuts,
    /// How many pastes it is meant for.
    pub(super) pastes: usize,
}

impl Carriage {
    /// An answer of at most so many characters, which goes to the chat without a person.
    pub fn of_answer(characters: usize) -> Self {
        Self {
            limit: Limit {
                characters,
                tokens: usize::MAX,
            },
            left_tokens: usize::MAX,
            too_long: TooLong::Parts,
            max_parts: 1,
        }
    }

    /// The limit that applies to a message: that of its file, or of a paste.
    pub fn limit_of(self, file: Option<&std::path::Path>) -> Limit {
        match self.too_long {
            TooLong::Attachment {
                file: Some(limit), ..
            } if file.is_some() => Limit {
                characters: limit.bytes.max(self.limit.characters),
                tokens: limit.tokens.max(self.limit.tokens),
            },
            _ => self.limit,
        }
    }

    /// The most characters that a message can have.
    pub fn most_characters(self) -> usize {
        let Room { paste, pastes, .. } = self.room();
        paste.characters.saturating_mul(pastes)
    }

    /// A message that the chat takes, made as often as that needs.
    pub(super) fn fitted(self, veil: &mut Veil<'_>, write: impl Fn(Room) -> Made) -> Made {
        let mut room = self.room();
        for attempt in 1..ATTEMPTS {
            let mut made = write(room);
            veil(&mut made.text);
            if self.takes(&made) {
                return made;
            }
            room = self.shorter(room, &made, attempt);
        }
        let mut made = write(room);
        veil(&mut made.text);
        made
    }

    /// The room before the number of tokens is known.
    fn room(self) -> Room {
        let (characters, pastes) = match self.too_long {
            TooLong::Parts => (self.limit.characters, self.max_parts.max(1)),
            TooLong::Attachment { file, .. } => {
                let file = file.map_or(0, |file| file.bytes);
                (self.limit.characters.max(file), 1)
            }
        };
        Room {
            paste: Limit {
                characters,
                ..self.limit
            },
            pastes,
            all: usize::MAX,
        }
    }

    /// Returns true if a message can go as it is.
    fn takes(self, made: &Made) -> bool {
        let Made { text, pastes, .. } = made;
        let fits = match self.too_long {
            TooLong::Parts => parts::split(text, self.limit).len() <= *pastes,
            TooLong::Attachment { file, .. } => {
                self.limit.holds(text) || file.is_some_and(|file| file.holds(text))
            }
        };
        fits && (self.left_tokens == usize::MAX || estimated_tokens(text) <= self.left_tokens)
    }

    /// The room for a message like one that was too much.
    fn shorter(self, room: Room, made: &Made, attempt: usize) -> Room {
        let text = &made.text;
        let (characters, tokens) = (chars(text).max(1), estimated_tokens(text).max(1));
        let fitting = |most: usize| most.saturating_mul(characters) / tokens;
        let less = |characters: usize| characters / 100 * (100 - MARGIN.max(attempt));
        if tokens > self.left_tokens {
            let all = less(room.all.min(fitting(self.left_tokens)));
            return Room { all, ..room };
        }
        let in_paste = fitting(self.limit.tokens).min(self.limit.characters);
        let mut shorter = room;
        shorter.paste.characters = match self.too_long {
            TooLong::Parts if in_paste < room.paste.characters => less(in_paste),
            TooLong::Parts => {
                // All of it would fit if no part were cut before it is full.
                let parts = parts::split(text, self.limit);
                let too_many: usize = parts.iter().skip(made.pastes).map(|part| chars(part)).sum();
                let each = too_many.div_ceil(made.pastes.max(1));
                let further = room.paste.characters / 100 * (attempt - 1);
                room.paste.characters.saturating_sub(each + further)
            }
            TooLong::Attachment { file, .. } => {
                let in_file = file.map_or(0, |file| {
                    let in_bytes = file.bytes.saturating_mul(characters) / text.len().max(1);
                    in_bytes.min(fitting(file.tokens))
                });
                less(room.paste.characters.min(in_paste.max(in_file)))
            }
        };
        shorter
    }
}

impl FileLimit {
    fn holds(self, text: &str) -> bool {
        text.len() <= self.bytes && estimated_tokens(text) <= self.tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carriage(file: Option<FileLimit>, left_tokens: usize) -> Carriage {
        Carriage {
            limit: Limit {
                characters: 20_000,
                tokens: 5_000,
            },
            max_parts: 4,
            too_long: TooLong::Attachment {
                above: usize::MAX,
                file,
            },
            left_tokens,
        }
    }

    /// As much of a text as fits, as a draft would be.
    fn fitted(carriage: Carriage, text: &str) -> String {
        let write = |room: Room| Made {
            text: text.chars().take(room.of(room.pastes)).collect(),
            cuts: Cuts::default(),
            pastes: room.pastes,
        };
        carriage.fitted(&mut |_| (), write).text
    }

    #[test]
    fn a_file_is_no_longer_than_one_paste_unless_the_chat_reads_more() {
        let file = FileLimit {
            bytes: 60_000,
            tokens: 12_000,
        };
        // Words, ideographs, and both.
        for piece in ["some words ", "漢字", "漢 word "] {
            let text = piece.repeat(100_000);
            let paste = fitted(carriage(None, usize::MAX), &text);
            assert!(carriage(None, 0).limit.holds(&paste), "{piece}");
            assert!(chars(&paste) > 4_000, "{piece} {}", chars(&paste));
            let longer = fitted(carriage(Some(file), usize::MAX), &text);
            assert!(file.holds(&longer), "{piece} {}", longer.len());
            assert!(longer.len() > paste.len(), "{piece}");
        }
    }

    #[test]
    fn nothing_is_made_for_more_than_the_chat_can_remember() {
        for too_long in [
            TooLong::Parts,
            TooLong::Attachment {
                above: 10,
                file: None,
            },
        ] {
            let carriage = Carriage {
                too_long,
                ..carriage(None, 4_000)
            };
            let text = fitted(carriage, &"some words ".repeat(100_000));
            let tokens = estimated_tokens(&text);
            assert!((3_000..=4_000).contains(&tokens), "{tokens}");
        }
    }
}
