//! Commands that the words above them call an example, a mistake or one of several options.
//!
//! Only plain words count, on the line that leads to the command: most replies introduce what they
//! do, and a reply that is asked for twice is a nuisance.

use std::collections::HashSet;
use std::ops::Range;

use agent_protocol::Step;

use crate::candidate::BlockTrouble;
use crate::code_fence::Fence;
use crate::line::{ends_with_colon, has_word};
use crate::trim::{is_blank, trim};
use crate::{file_name, has_effects, tags};

/// Words above a command that speak against carrying it out.
#[derive(Debug, Clone, PartialEq, Eq)]
enum WordsAbove {
    Example,
    Refusal,
    /// A question to the person: `Should I do this?`
    Question,
    /// One option of this name: `Option A:`.
    OneOption(String),
}

impl WordsAbove {
    /// Reads a line that leads to a command.
    fn read(line: &str) -> Option<Self> {
        const EXAMPLES: [&str; 4] = ["for example", "for instance", "e.g.", "hypothetically"];
        const EXAMPLE_LABELS: [&str; 4] = ["example", "examples", "an example", "sample"];
        const SHAPES: [&str; 8] = [
            "is an example of ",
            "once you approve",
            "documentation says:",
            "would look like this:",
            "would write:",
            "could send:",
            "reply i sent:",
            "reply contained:",
        ];
        const MISTAKE_LABELS: [&str; 6] =
            ["don't", "do not", "wrong", "bad", "incorrect", "instead of"];
        const REFUSALS: [&str; 6] = [
            "not to do:",
            "not recommend ",
            "bad solution:",
            "not like this:",
            "have not done it:",
            "haven't done it:",
        ];
        const QUESTIONS: [&str; 4] = ["should i ", "shall i ", "do you want ", "would you like "];
        let lower = trim(line).to_lowercase().replace('\u{2019}', "'");
        let text = lower.trim_matches(['*', '#', '_', '>', ' ']);
        if let Some(rest) = text.strip_prefix("option ") {
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
            return (name.len() == 1).then_some(Self::OneOption(name));
        }
        // Only the last sentence leads to the command.
        let text = text.rsplit(". ").next().unwrap_or(text);
        let label = text.trim_matches(|c: char| !c.is_alphanumeric());
        let is_led = ends_with_colon(text);
        let begins =
            |words: &&str| text.starts_with(*words) || text.contains(&format!(", {words}"));
        let has = |words: &&str| text.contains(*words);
        let is_question = text.ends_with('?') && QUESTIONS.iter().any(|it| text.starts_with(it));
        let is_example = || {
            let is_called = is_led && (EXAMPLES.iter().any(begins) || SHAPES.iter().any(has));
            let is_called = is_called || (is_led && calls_example(label));
            let is_alone = EXAMPLES.iter().any(|it| it.trim_end_matches('.') == label);
            is_called || is_alone || EXAMPLE_LABELS.contains(&label)
        };
        if MISTAKE_LABELS.contains(&label)
            || (is_led && (REFUSALS.iter().any(has) || forbids(label)))
        {
            Some(Self::Refusal)
        } else if is_question {
            Some(Self::Question)
        } else {
            is_example().then_some(Self::Example)
        }
    }

    /// The name of an option.
    fn option(self) -> Option<String> {
        match self {
            Self::OneOption(name) => Some(name),
            _ => None,
        }
    }

    fn trouble(&self) -> BlockTrouble {
        let (what, hint) = match self {
            Self::Example => (
                "the words above it call it an example",
                "Send it again without them, if it was meant.",
            ),
            Self::Refusal => (
                "the words above it say not to do it",
                "Send it again without them, if it was meant.",
            ),
            Self::Question => (
                "the words above it ask if it should be done",
                "Ask with `[ASK_USER]`, or send it again without them.",
            ),
            Self::OneOption(_) => (
                "it is one of several options",
                "Send the one that is meant, or ask with `[ASK_USER]`.",
            ),
        };
        BlockTrouble::new(format!("{what}, so it was not done"), hint)
    }
}

/// Returns true if a sentence calls what follows an example: `here is an example`, `this is only an
/// example command`, `an edit looks like this`.
///
/// `the fixed example` is one that is worked on.
fn calls_example(sentence: &str) -> bool {
    const STARTS: &str = "here here's this these that below as consider see just only";
    const NOUNS: &str = "command commands edit edits reply answer block blocks call calls diff \
        patch usage";
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let begins = |starts: &str| words.first().is_some_and(|first| has_word(starts, first));
    if sentence.ends_with("looks like this") {
        return begins("a an such");
    }
    let Some(at) = words.iter().position(|it| has_word("example examples", it)) else {
        return false;
    };
    let is_any = words[..at]
        .iter()
        .any(|it| has_word("a an another one some only just", it));
    let is_end = words[at + 1..]
        .iter()
        .all(|word| NOUNS.split_whitespace().any(|it| it == *word));
    begins(STARTS) && is_any && is_end && at < 7
}

/// Returns true if a sentence forbids what follows: `do not run this`, `I will not run this command`,
/// `avoid this`.
///
/// Only a ban on the commands below counts: `the workers never run the migration twice` is none.
fn forbids(sentence: &str) -> bool {
    const NEGATIONS: &str = "not don't never won't wouldn't didn't shouldn't mustn't haven't";
    const VERBS: &str = "do doing done run running execute executing use using apply applying send \
        sending write try call type copy";
    const OBJECTS: &str = "this these that it";
    const NOUNS: &str = "command commands code block blocks script edit edits change patch one way \
        like yet again now please following";
    let is_in = |words: &str, word: &&str| words.split_whitespace().any(|it| it == *word);
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let is_meant = |rest: &[&str], is_order: bool| {
        let rest = match rest {
            ["the", "following", rest @ ..] => rest,
            [object, rest @ ..] if is_in(OBJECTS, object) => rest,
            _ => return false,
        };
        let mut rest = rest.iter();
        let is_plain = rest.all(|word| is_in(NOUNS, word) || is_in(OBJECTS, word));
        is_plain || is_order
    };
    words.iter().enumerate().any(|(at, word)| {
        let (below, is_order) = match *word {
            "avoid" => (&words[at + 1..], at == 0),
            _ if is_in(NEGATIONS, word) => match &words[at + 1..] {
                [verb, rest @ ..] if is_in(VERBS, verb) => (rest, at < 2),
                _ => return false,
            },
            _ => return false,
        };
        let below = match below {
            [verb, rest @ ..] if *word == "avoid" && is_in(VERBS, verb) => rest,
            below => below,
        };
        let is_order = is_order && matches!(words[0], "do" | "don't" | "never" | "avoid");
        is_meant(below, is_order)
    })
}

/// The commands that are not meant to be done, by their place among the steps.
pub(super) fn find(
    lines: &[&str],
    steps: &[Step],
    blocks: &[Range<usize>],
) -> Vec<(usize, BlockTrouble)> {
    let mut ends: Vec<Range<usize>> = blocks.to_vec();
    ends.sort_unstable_by_key(|block| block.start);
    let mut found: Vec<(usize, WordsAbove)> = Vec::new();
    let mut same: Option<(usize, WordsAbove)> = None;
    for (index, step) in steps.iter().enumerate() {
        let line = usize::try_from(step.line - 1).unwrap_or_default();
        let last = ends.partition_point(|block| block.start < line);
        let free_from = ends[..last].last().map_or(0, |block| block.end);
        // What follows with nothing between is under the same words.
        let between = lines.get(free_from..line).unwrap_or_default();
        let is_next = index > 0 && between.iter().all(|line| is_blank(line));
        same = same.filter(|(end, _)| line < *end || is_next);
        if same.is_none() {
            same = led_by(lines, line, free_from);
        }
        if let Some((_, words)) = same.as_ref().filter(|_| has_effects(&step.command)) {
            found.push((index, words.clone()));
        }
    }
    let is_option = |words: &WordsAbove| matches!(words, WordsAbove::OneOption(_));
    let has_options = found.iter().any(|(_, words)| is_option(words)) && {
        let words = lines.iter().filter_map(|line| WordsAbove::read(line));
        let names: HashSet<String> = words.filter_map(WordsAbove::option).collect();
        names.len() > 1
    };
    let is_meant = |words: &WordsAbove| is_option(words) && !has_options;
    let found = found.iter().filter(|(_, words)| !is_meant(words));
    found
        .map(|(index, words)| (*index, words.trouble()))
        .collect()
}

/// The words above the command on a line, and the first line below what they lead to; `free_from` is
/// the line below the command before it.
fn led_by(lines: &[&str], line: usize, free_from: usize) -> Option<(usize, WordsAbove)> {
    const MOST_LINES: usize = 8;
    const MOST_BELOW: usize = 2_000;
    let mut fence: Option<Fence<'_>> = None;
    let above = (free_from.min(line)..line).rev().take(MOST_LINES);
    for text in above.map(|at| lines[at]) {
        if let Some(opened) = Fence::read(text) {
            fence = Some(opened);
        } else if !is_blank(text) && file_name::alone(text).is_none() {
            let words = WordsAbove::read(text)?;
            let Some(fence) = fence else {
                return Some((line + 1, words));
            };
            let below = lines.iter().enumerate().skip(line).take(MOST_BELOW);
            let mut inside = below.take_while(|(_, text)| !fence.is_closed_by(text));
            let is_end = |text: &str| {
                matches!(
                    tags::read(0, text).map(|tag| tag.kind),
                    Some(tags::Kind::End(_))
                )
            };
            // With the end mark in it, the block is the answer.
            let mut end = line + 1;
            let has_end = inside.any(|(at, text)| {
                end = at + 1;
                is_end(text)
            });
            return (!has_end).then_some((end, words));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_forbid_or_call_an_example_are_told_from_others() {
        for (line, expected) in [
            ("Do not run this:", Some(WordsAbove::Refusal)),
            (
                "**Please do not run this command:**",
                Some(WordsAbove::Refusal),
            ),
            ("I will not run this command:", Some(WordsAbove::Refusal)),
            ("Whatever you do, never do this:", Some(WordsAbove::Refusal)),
            (
                "Never run this without a backup:",
                Some(WordsAbove::Refusal),
            ),
            (
                "You should not use the following:",
                Some(WordsAbove::Refusal),
            ),
            ("Don\u{2019}t do it like this:", Some(WordsAbove::Refusal)),
            ("Avoid this:", Some(WordsAbove::Refusal)),
            ("Avoid running this command:", Some(WordsAbove::Refusal)),
            ("Here is an example:", Some(WordsAbove::Example)),
            ("Here's a simple example:", Some(WordsAbove::Example)),
            ("This is only an example:", Some(WordsAbove::Example)),
            ("Here is an example command:", Some(WordsAbove::Example)),
            ("An edit looks like this:", Some(WordsAbove::Example)),
            ("The corrected version looks like this:", None),
            (
                "This makes sure that two workers never run the migration twice:",
                None,
            ),
            ("The tests don't do network access any more:", None),
            ("The tests don't do this any more:", None),
            ("Do not worry, this fixes it:", None),
            ("Don't forget to run this:", None),
            ("I avoid the second call:", None),
            ("Here is the fixed example:", None),
            ("I add an example to the README:", None),
            ("Here is an example configuration for the tests:", None),
            ("Here is the change:", None),
        ] {
            assert_eq!(WordsAbove::read(line), expected, "{line}");
        }
    }
}
