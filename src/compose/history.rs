//! A summary of earlier rounds, in at most 500 tokens.
//!
//! A chat forgets, and a new one never knew. The latest rounds are told with names, earlier ones by
//! their numbers, the earliest only counted.

use std::fmt::Write as _;

use super::budget::{Claim, Rank};
use super::cuts::Cuts;
use super::{Section, chars, estimated_tokens};
use crate::session::{Named, Recap, RoundRecap};

/// How long the section may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct HistoryBudget {
    /// Up to how many tokens rounds are told with names.
    pub(super) detailed: usize,
    /// The most tokens.
    pub(super) all: usize,
}

impl Default for HistoryBudget {
    fn default() -> Self {
        Self {
            detailed: 320,
            all: 500,
        }
    }
}

/// The room for the note about rounds that are left out.
const RESERVE: usize = 20;

const HEADING: &str = "\n## History\n";

/// The section, which is never cut: it is short by itself.
pub(super) struct HistorySection(String);

pub(super) fn section(recap: &Recap) -> HistorySection {
    HistorySection(render(recap, HistoryBudget::default()))
}

impl Section for HistorySection {
    fn claims(&self) -> Vec<Claim> {
        let need = chars(&self.0);
        vec![Claim {
            rank: Rank::Project,
            need,
            least: need,
        }]
    }

    fn fit(&self, _rooms: &[usize], _cuts: &mut Cuts) -> String {
        self.0.clone()
    }
}

/// The text; nothing before the second outbox.
pub(super) fn render(recap: &Recap, max: HistoryBudget) -> String {
    let Some(last) = recap.rounds.back() else {
        return String::new();
    };
    let mut lines: Vec<String> = Vec::new();
    let mut size = estimated_tokens(HEADING) + RESERVE;
    let mut first = last.round + 1;
    for round in recap.rounds.iter().rev() {
        let detailed = detailed(round);
        let tokens = estimated_tokens(&detailed) + 1;
        let line = if size + tokens <= max.detailed {
            detailed
        } else {
            condensed(round)
        };
        size += estimated_tokens(&line) + 1;
        if size > max.all {
            break;
        }
        lines.push(line);
        first = round.round;
    }
    let mut text = HEADING.to_owned();
    match first {
        0 | 1 => {}
        2 => text.push_str("Round 1: left out here.\n"),
        _ => {
            let _ = writeln!(text, "Rounds 1 to {}: left out here.", first - 1);
        }
    }
    for line in lines.iter().rev() {
        let _ = writeln!(text, "{line}");
    }
    text
}

fn heading(round: &RoundRecap) -> String {
    let back = if round.is_undone {
        " (undone by the user since)"
    } else {
        ""
    };
    format!("Round {}{back}:", round.round)
}

fn detailed(round: &RoundRecap) -> String {
    let parts = [
        list("changed ", &round.files),
        list("ran ", &round.commands),
        list("did not work: ", &round.failures),
        list("looked at ", &round.looks),
    ];
    told(round, parts, "; ")
}

/// A round as the parts that there are; one without any changed nothing.
fn told<const N: usize>(round: &RoundRecap, parts: [Option<String>; N], between: &str) -> String {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let what = match parts.as_slice() {
        [] => "changed nothing".to_owned(),
        parts => parts.join(between),
    };
    format!("{} {what}", heading(round))
}

fn list(verb: &str, named: &Named) -> Option<String> {
    let more = named.count.saturating_sub(named.first.len());
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    (!named.is_empty()).then(|| format!("{verb}{}{rest}", named.first.join(", ")))
}

fn condensed(round: &RoundRecap) -> String {
    let count = |named: &Named, noun: &str| match named.count {
        0 => None,
        1 => Some(format!("1 {noun}")),
        many => Some(format!("{many} {noun}s")),
    };
    let parts = [
        count(&round.files, "file"),
        count(&round.commands, "command"),
        count(&round.failures, "failure"),
        count(&round.looks, "look"),
    ];
    told(round, parts, ", ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAX_TOKENS: usize = 500;

    fn render(recap: &Recap) -> String {
        super::render(recap, HistoryBudget::default())
    }

    fn named(items: &[&str], count: usize) -> Named {
        Named {
            first: items.iter().map(ToString::to_string).collect(),
            count,
        }
    }

    fn round(number: u32) -> RoundRecap {
        RoundRecap {
            round: number,
            files: named(&["src/a.rs", "src/b.rs"], 7),
            commands: named(&["`make` (exit code 2)"], 1),
            ..RoundRecap::default()
        }
    }

    fn recap(rounds: impl Iterator<Item = RoundRecap>) -> Recap {
        Recap {
            rounds: rounds.collect(),
        }
    }

    #[test]
    fn nothing_happened_before_the_first_round() {
        assert_eq!(render(&Recap::default()), "");
    }

    #[test]
    fn few_rounds_are_told_with_names() {
        let mut undone = round(2);
        undone.is_undone = true;
        undone.files = Named::default();
        undone.failures = named(&["EDIT_FILE `a` failed"], 1);
        assert_eq!(
            render(&recap([round(1), undone].into_iter())),
            "\n## History\nRound 1: changed src/a.rs, src/b.rs and 5 more; ran `make` (exit code 2)\nRound 2 (undone by the user since): ran `make` (exit code 2); did not work: EDIT_FILE `a` failed\n"
        );
    }

    #[test]
    fn a_round_that_only_looked_says_at_what() {
        let looked = RoundRecap {
            round: 1,
            looks: named(&["a.rs", "where `x` is"], 3),
            ..RoundRecap::default()
        };
        assert_eq!(
            render(&recap([looked].into_iter())),
            "\n## History\nRound 1: looked at a.rs, where `x` is and 1 more\n"
        );
    }

    #[test]
    fn what_was_read_is_told_beside_what_was_done() {
        let both = RoundRecap {
            looks: named(&["a.rs"], 1),
            ..round(1)
        };
        let text = render(&recap([both].into_iter()));
        assert!(
            text.contains("`make` (exit code 2); looked at a.rs\n"),
            "{text}"
        );
    }

    #[test]
    fn earlier_rounds_are_counted_and_the_earliest_left_out() {
        let text = render(&recap((61..=100).map(round)));
        assert!(text.contains("\nRound 100: changed src/a.rs"), "{text}");
        assert!(text.contains(": 7 files, 1 command\n"), "{text}");
        assert!(text.starts_with("\n## History\nRounds 1 to "), "{text}");
        assert!(estimated_tokens(&text) <= MAX_TOKENS, "{text}");
        assert!(estimated_tokens(&text) > MAX_TOKENS - 60, "{text}");
    }

    proptest! {
        #[test]
        fn never_more_than_its_tokens(
            names in proptest::collection::vec("\\PC{0,60}", 0..6),
            rounds in 0_u32..60,
            count in 0_usize..100_000,
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let many = || named(&names, names.len() + count);
            let rounds = (1..=rounds).map(|number| RoundRecap {
                round: number * 1_000,
                files: many(),
                commands: many(),
                failures: many(),
                looks: many(),
                is_undone: number % 2 == 0,
            });
            prop_assert!(estimated_tokens(&render(&recap(rounds))) <= MAX_TOKENS);
        }
    }
}
