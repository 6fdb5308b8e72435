//! Commands that the words above them call an example, a mistake or one of several options.
//!
//! Only plain words count, on the line that leads to the command: most replies introduce what they
//! do, and a reply that is asked for twice is a nuisance.

use std::collections::HashSet;
use std::ops::Range;

use agent_protocol::Step;

use crate::candidate::BlockTrouble;
use crate::code_fence::Fence;
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
        const SHAPES: [&str; 9] = [
            "is an example of ",
            "once you approve",
            "documentation says:",
            "looks like this:",
            "would look like this:",
            "would write:",
            "could send:",
            "reply i sent:",
            "reply contained:",
        ];
        const MISTAKE_LABELS: [&str; 6] =
            ["don't", "do not", "wrong", "bad", "incorrect", "instead of"];
        const REFUSALS: [&str; 10] = [
            "do not do ",
            "don't do ",
            "never do ",
            "never run ",
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
        let is_led = text.ends_with(':');
        let begins =
            |words: &&str| text.starts_with(*words) || text.contains(&format!(", {words}"));
        let has = |words: &&str| text.contains(*words);
        let is_question = text.ends_with('?') && QUESTIONS.iter().any(|it| text.starts_with(it));
        let is_example = || {
            let is_called = is_led && (EXAMPLES.iter().any(begins) || SHAPES.iter().any(has));
            let is_alone = EXAMPLES.iter().any(|it| it.trim_end_matches('.') == label);
            is_called || is_alone || EXAMPLE_LABELS.contains(&label)
        };
        if MISTAKE_LABELS.contains(&label) || (is_led && REFUSALS.iter().any(has)) {
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
