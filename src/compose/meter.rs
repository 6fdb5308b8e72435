//! How long a message is for a chat, and what takes the space in it.
//!
//! Chats count tokens, and each vendor cuts text into other ones. The estimate is made from counts
//! of a few kinds of characters, with weights that were fitted to two public tokenizers and then
//! raised by a tenth, so that it errs on the long side; `docs/performance.md` has the error that was
//! measured. It costs one look at the text and nothing at the start of the program.

use serde::Serialize;

/// A token, in the unit in which they are summed.
const TOKEN: u64 = 1000;

/// A longer run of letters is no word.
const LONGEST_WORD: u64 = 20;

/// Weights in thousandths of a token.
mod weight {
    /// A run of letters that begins a word; a capital after a small letter begins another.
    pub(super) const WORD: u64 = 1155;
    /// Each letter of a word after its sixth.
    pub(super) const LATER_LETTER: u64 = 180;
    /// Each letter after the sixth of a run that is too long for a word, as in a sequence of amino
    /// acids: no tokenizer knows it.
    pub(super) const STRANGE_LETTER: u64 = 500;
    /// Each three digits.
    pub(super) const DIGITS: u64 = 1790;
    /// A run of two or more spaces; one belongs to the word after it.
    pub(super) const SPACES: u64 = 1285;
    /// A run of line breaks.
    pub(super) const LINE_BREAKS: u64 = 530;
    /// A run of punctuation, and each character of it after the first.
    pub(super) const PUNCTUATION: u64 = 670;
    pub(super) const MORE_PUNCTUATION: u64 = 210;
    /// A character of the alphabets beyond ASCII, of the ideographs, or any other.
    pub(super) const ALPHABET: u64 = 900;
    pub(super) const IDEOGRAPH: u64 = 1000;
    pub(super) const SYMBOL: u64 = 2000;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum CharacterClass {
    #[default]
    Nothing,
    Letter,
    Digit,
    Space,
    LineBreak,
    Punctuation,
    Other,
}

/// Estimates the tokens of a text that comes in pieces.
#[derive(Debug, Clone, Default)]
pub(super) struct Tokens {
    sum: u64,
    class: CharacterClass,
    run: u64,
    was_small: bool,
}

impl Tokens {
    /// Adds what comes next.
    pub(super) fn push(&mut self, text: &str) {
        for character in text.chars() {
            let class = class(character);
            if class == CharacterClass::Other {
                self.sum += weight_of(character);
            }
            let is_hump = self.was_small && character.is_ascii_uppercase();
            if class != self.class || is_hump {
                self.sum += weight_of_run(self.class, self.run);
                self.class = class;
                self.run = 0;
            }
            self.run += 1;
            self.was_small = character.is_ascii_lowercase();
        }
    }

    /// The estimate so far.
    pub(super) fn total(&self) -> usize {
        let sum = self.sum + weight_of_run(self.class, self.run);
        usize::try_from(sum.div_ceil(TOKEN)).unwrap_or(usize::MAX)
    }
}

fn class(character: char) -> CharacterClass {
    match character {
        'a'..='z' | 'A'..='Z' => CharacterClass::Letter,
        '0'..='9' => CharacterClass::Digit,
        ' ' | '\t' => CharacterClass::Space,
        '\n' | '\r' => CharacterClass::LineBreak,
        _ if character.is_ascii() => CharacterClass::Punctuation,
        _ => CharacterClass::Other,
    }
}

fn weight_of(character: char) -> u64 {
    match character {
        ..'\u{2000}' => weight::ALPHABET,
        '\u{2e80}'..'\u{fe00}' => weight::IDEOGRAPH,
        _ => weight::SYMBOL,
    }
}

fn weight_of_run(class: CharacterClass, run: u64) -> u64 {
    match class {
        CharacterClass::Letter => {
            let letter = if run > LONGEST_WORD {
                weight::STRANGE_LETTER
            } else {
                weight::LATER_LETTER
            };
            weight::WORD + run.saturating_sub(6) * letter
        }
        CharacterClass::Digit => run.div_ceil(3) * weight::DIGITS,
        CharacterClass::Space if run > 1 => weight::SPACES,
        CharacterClass::LineBreak => weight::LINE_BREAKS,
        CharacterClass::Punctuation => weight::PUNCTUATION + (run - 1) * weight::MORE_PUNCTUATION,
        CharacterClass::Space | CharacterClass::Other | CharacterClass::Nothing => 0,
    }
}

/// How many tokens a text may be for a chat; an estimate, to be shown with a `~`.
pub fn estimated_tokens(text: &str) -> usize {
    let mut tokens = Tokens::default();
    tokens.push(text);
    tokens.total()
}

/// How long a message is and what takes the space.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Meter {
    /// All of it, in characters.
    pub characters: usize,
    /// All of it, in estimated tokens.
    pub tokens: usize,
    /// The parts of the message by size, in their order.
    pub takes: Vec<Takes>,
}

/// How much of a message something takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Takes {
    /// Its name, in a word or two.
    pub what: &'static str,
    /// In characters.
    pub characters: usize,
}

/// The headings in the context and what each is called for the person.
const HEADINGS: &[(&str, &str)] = &[
    ("## Check", "check"),
    ("## You Go in Circles", "check"),
    ("## Workspace Files", "listing"),
    ("## Project Instructions", "project instructions"),
    ("## History", "history"),
    ("## Previous Command Results", "results"),
    ("## Commands That Failed", "results"),
    ("## Changes So Far", "changes"),
    ("## Changed by the User, Not by You", "changes"),
    ("## Requested File Contents", "contents"),
    ("## File Contents", "contents"),
    ("## Files That the Task Names", "contents"),
    ("## You May Need", "contents"),
    ("## Plan", "notes and answers"),
    ("## Answers", "notes and answers"),
    ("## A Note from the User", "notes and answers"),
    ("## Decisions of the User", "notes and answers"),
];

/// The name for everything else.
const REST: &str = "task and prompt";

/// Measures a message of ours by its headings; those inside of code blocks do not count.
pub fn measure(text: &str) -> Meter {
    let mut meter = Meter {
        tokens: estimated_tokens(text),
        ..Meter::default()
    };
    let (mut what, mut in_context, mut fence) = (REST, false, 0);
    for line in text.split_inclusive('\n') {
        let ticks = line.bytes().take_while(|byte| *byte == b'`').count();
        if fence == 0 && !line.starts_with('`') {
            match line.trim_end() {
                "=== PROTOCOL ===" if !in_context => what = "instructions",
                "=== CONTEXT ===" if !in_context => (what, in_context) = (REST, true),
                "=== PROMPT ===" => what = REST,
                heading if in_context && heading.starts_with("## ") => {
                    let known = HEADINGS
                        .iter()
                        .find(|(start, _)| heading.starts_with(start));
                    what = known.map_or(REST, |(_, name)| name);
                }
                _ => {}
            }
        } else if fence == 0 && ticks >= 3 {
            fence = ticks;
        } else if fence > 0 && ticks >= fence && line[ticks..].trim().is_empty() {
            fence = 0;
        }
        meter.add(what, line.chars().count());
    }
    meter
}

impl Meter {
    fn add(&mut self, what: &'static str, characters: usize) {
        self.characters += characters;
        match self.takes.iter_mut().find(|takes| takes.what == what) {
            Some(takes) => takes.characters += characters,
            None => self.takes.push(Takes { what, characters }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Compares the estimate with a public tokenizer (the longer one of `o200k` and `cl100k`) on a
    /// few texts.
    #[test]
    fn is_near_what_a_tokenizer_counts_and_rather_above() {
        let cases = [
            (
                include_str!("../../crates/agent-protocol/src/instructions.md"),
                716,
            ),
            ("fn main() {\n    println!(\"hello, world\");\n}\n", 14),
            ("src/compose/budget.rs (12345 bytes)\n", 11),
        ];
        for (text, counted) in cases {
            let estimated = estimated_tokens(text);
            let ratio = estimated * 100 / counted;
            assert!((95..140).contains(&ratio), "{estimated} {counted}\n{text}");
        }
    }

    #[test]
    fn letters_that_are_no_words_count_about_half_a_token_each() {
        // Lines of 60 letters, as in a file of proteins.
        let acids = "MKVLAARTWGHNDEQSYPFCI".bytes().cycle();
        let letters: String = acids.take(24_000).map(char::from).collect();
        let lines: Vec<&str> = (0..400).map(|line| &letters[line * 60..][..60]).collect();
        let estimated = estimated_tokens(&lines.join("\n"));
        assert!((11_000..13_500).contains(&estimated), "{estimated}");
        assert!(estimated_tokens("internationalization") < 5);
    }

    #[test]
    fn nothing_is_nothing() {
        assert_eq!(estimated_tokens(""), 0);
        assert_eq!(measure(""), Meter::default());
    }

    #[test]
    fn says_what_takes_the_space() {
        let text = "=== HEADER ===\nTask: a\n\n=== PROTOCOL ===\nabc\n=== CONTEXT ===\n## Check\nno\n## Workspace Files\na.rs\n## Requested File Contents\n```\n## Workspace Files\n=== PROMPT ===\n```\n## Answers\nyes\n=== PROMPT ===\ngo\n";
        let meter = measure(text);
        let takes: Vec<(&str, usize)> = meter
            .takes
            .iter()
            .map(|takes| (takes.what, takes.characters))
            .collect();
        assert_eq!(
            takes,
            [
                (REST, 24 + 16 + 15 + 3),
                ("instructions", 21),
                ("check", 12),
                ("listing", 24),
                ("contents", 27 + 19 + 15 + 8),
                ("notes and answers", 11 + 4)
            ]
        );
        assert_eq!(meter.characters, text.chars().count());
    }

    #[test]
    fn names_of_files_are_no_headings() {
        use super::super::Listing;
        use crate::protocol::{Listed, RelPath};
        let listed = |name: &str| Listed::of_size(RelPath::parse(name).unwrap(), 1);
        let listing = Listing {
            files: ["## History", "=== PROMPT ==="].map(listed).to_vec().into(),
            ..Listing::default()
        };
        let section = super::super::listing::section(
            &listing,
            None,
            super::super::relevance::Relevance::default,
            200,
        );
        let text = super::super::fit(&section, 1_000, &mut super::super::cuts::Cuts::default());
        let meter = measure(&format!("=== CONTEXT ===\n{text}"));
        let takes: Vec<&str> = meter.takes.iter().map(|takes| takes.what).collect();
        assert_eq!(takes, [REST, "listing"], "{text}");
    }

    proptest! {
        #[test]
        fn pieces_are_worth_the_whole(text in "[ab1 .\né漢🎉A]{0,60}", cut in 0_usize..60) {
            let cut = text.floor_char_boundary(cut.min(text.len()));
            let mut pieces = Tokens::default();
            pieces.push(&text[..cut]);
            pieces.push(&text[cut..]);
            prop_assert_eq!(pieces.total(), estimated_tokens(&text));
        }

        #[test]
        fn the_shares_are_the_whole(text in "[a`#=\n ]{0,200}") {
            let meter = measure(&text);
            prop_assert_eq!(meter.characters, text.chars().count());
            prop_assert_eq!(meter.takes.iter().map(|takes| takes.characters).sum::<usize>(), meter.characters);
        }
    }
}
