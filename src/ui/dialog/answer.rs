//! Parses a typed line as an answer.
//!
//! Only `n` may be followed by more words. A line that says yes and then something else is not
//! understood, rather than taken for a yes. Whether an answer is offered now is for the dialog to say.

use crate::approve::Verdict;
use crate::protocol::{AcceptedLines, QuestionKind, is_no, is_yes};

/// A typed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    /// This decision.
    Verdict(Verdict),
    /// To change the script first.
    Edit,
    /// To answer the questions one by one, or all at once again.
    OneByOne,
    /// To see all that is asked about, with nothing folded.
    Show,
}

/// Reads a line as an answer to this kind of question; nothing if it is none.
pub(super) fn read(kind: QuestionKind, line: &str) -> Option<Typed> {
    match (kind, line.trim()) {
        (QuestionKind::Model, "") => None,
        (QuestionKind::Model, _) => Some(Typed::Verdict(Verdict::Say {
            text: line.to_owned(),
        })),
        (kind, line) if kind.name().is_some() => short(kind, line).map(Typed::Verdict),
        (QuestionKind::Network, "o" | "once") => Some(Typed::Verdict(Verdict::Yes)),
        (QuestionKind::Network, "a" | "always" | "session") => {
            Some(Typed::Verdict(Verdict::Always))
        }
        (_, line) => decision(line).filter(|typed| match typed {
            Typed::Verdict(verdict) => takes(kind, verdict),
            Typed::Edit => {
                kind.is_step() || kind == QuestionKind::Plan || kind == QuestionKind::Network
            }
            Typed::Show => kind.is_step() || kind == QuestionKind::Network,
            Typed::OneByOne => kind.is_step(),
        }),
    }
}

/// The decision of a line about a question that takes a yes; a slip of the fingers is none.
fn short(kind: QuestionKind, line: &str) -> Option<Verdict> {
    let is_yes_by_default = match kind.takes() {
        AcceptedLines::Enter => true,
        AcceptedLines::YesUnlessNo => line.is_empty(),
        AcceptedLines::YesOrNo | AcceptedLines::AnyLine => false,
    };
    if is_yes_by_default || is_yes(line) {
        Some(Verdict::Yes)
    } else if is_no(line) {
        Some(Verdict::No { reason: None })
    } else {
        kind.takes().accept(line).then_some(Verdict::Skip)
    }
}

/// Returns true if a typed decision is one of the answers to this kind of question.
fn takes(kind: QuestionKind, verdict: &Verdict) -> bool {
    match kind {
        QuestionKind::Step | QuestionKind::Network => true,
        _ => {
            matches!(verdict, Verdict::Yes | Verdict::No { .. } | Verdict::Stop)
        }
    }
}

/// Reads a line as an answer to a question about a step.
fn decision(line: &str) -> Option<Typed> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let verdict = match word {
        "n" | "N" | "no" | "No" => Verdict::No {
            reason: (!rest.is_empty()).then(|| rest.to_owned()),
        },
        _ if !rest.is_empty() => return None,
        "y" | "Y" | "yes" | "Yes" => Verdict::Yes,
        "a" | "always" => Verdict::Always,
        "s" | "skip" => Verdict::Skip,
        "q" | "quit" | "stop" => Verdict::Stop,
        "e" | "edit" => return Some(Typed::Edit),
        "o" | "one" => return Some(Typed::OneByOne),
        "d" | "show" => return Some(Typed::Show),
        _ => return None,
    };
    Some(Typed::Verdict(verdict))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(line: &str, expected: Option<Verdict>) {
        assert_eq!(
            read(QuestionKind::Step, line),
            expected.map(Typed::Verdict),
            "{line}"
        );
    }

    #[test]
    fn a_letter_or_its_word_is_an_answer() {
        case(" y ", Some(Verdict::Yes));
        case("yes", Some(Verdict::Yes));
        case("always", Some(Verdict::Always));
        case("n", Some(Verdict::No { reason: None }));
        case(
            "n use cargo instead",
            Some(Verdict::No {
                reason: Some("use cargo instead".to_owned()),
            }),
        );
        assert_eq!(read(QuestionKind::Step, "e"), Some(Typed::Edit));
    }

    #[test]
    fn what_is_not_clear_is_no_answer() {
        for line in [
            "",
            "  ",
            "yes but not that",
            "y;",
            "ok",
            "A",
            "all",
            "all of it",
            "always ask",
        ] {
            case(line, None);
        }
    }

    #[test]
    fn a_question_without_a_step_is_decided_by_a_clear_word_only() {
        let undo = |line| read(QuestionKind::Undo, line);
        assert_eq!(undo("Y"), Some(Typed::Verdict(Verdict::Yes)));
        assert_eq!(
            undo("no"),
            Some(Typed::Verdict(Verdict::No { reason: None }))
        );
        for line in ["", "s", "q"] {
            assert_eq!(undo(line), Some(Typed::Verdict(Verdict::Skip)), "{line}");
        }
        for slip in ["yess", "always", "yes please", "e"] {
            assert_eq!(undo(slip), None, "{slip}");
        }
        let text = "y".to_owned();
        assert_eq!(
            read(QuestionKind::Model, "y"),
            Some(Typed::Verdict(Verdict::Say { text }))
        );
        assert_eq!(read(QuestionKind::Model, " "), None);
    }

    #[test]
    fn the_network_is_given_once_for_the_session_or_not() {
        let network = |line| read(QuestionKind::Network, line);
        for (line, expected) in [
            ("y", Verdict::Yes),
            ("o", Verdict::Yes),
            ("once", Verdict::Yes),
            ("a", Verdict::Always),
            ("n not now", no("not now")),
            ("s", Verdict::Skip),
            ("q", Verdict::Stop),
        ] {
            assert_eq!(network(line), Some(Typed::Verdict(expected)), "{line}");
        }
        // The dialog says why it cannot be edited any more.
        assert_eq!(network("e"), Some(Typed::Edit));
        for line in ["all", "once more"] {
            assert_eq!(network(line), None, "{line}");
        }
    }

    fn no(reason: &str) -> Verdict {
        Verdict::No {
            reason: Some(reason.to_owned()),
        }
    }
}
