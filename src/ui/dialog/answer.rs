//! What a typed line means as an answer.
//!
//! Only `n` may be followed by more words. A line that says yes and then something else is not
//! understood, rather than taken for a yes. What approves more than one step takes a whole word, so
//! that no slip of a finger does it. Whether an answer is offered now is for the dialog to say.

use crate::approve::Verdict;
use crate::protocol::ApprovalKind;

/// What the person wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    /// This decision.
    Verdict(Verdict),
    /// To change the script first.
    Edit,
    /// To answer the questions one by one.
    OneByOne,
}

/// Reads a line as an answer to this kind of question; nothing if it is none.
pub(super) fn read(kind: ApprovalKind, line: &str) -> Option<Typed> {
    match (kind, line.trim()) {
        (ApprovalKind::Network, "o" | "once") => Some(Typed::Verdict(Verdict::Yes)),
        (ApprovalKind::Network, "s" | "session") => Some(Typed::Verdict(Verdict::Always)),
        (ApprovalKind::Network, "y" | "Y" | "yes" | "Yes") => None,
        (_, line) => decision(line).filter(|typed| match typed {
            Typed::Verdict(verdict) => takes(kind, verdict),
            Typed::Edit => matches!(kind, ApprovalKind::Step | ApprovalKind::Plan),
            Typed::OneByOne => kind == ApprovalKind::Step,
        }),
    }
}

/// Returns true if a typed decision is one of the answers to this kind of question.
fn takes(kind: ApprovalKind, verdict: &Verdict) -> bool {
    match kind {
        ApprovalKind::Step => true,
        ApprovalKind::Network | ApprovalKind::Plan | ApprovalKind::Secrets => {
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
        "all" => Verdict::AllOfThisRound,
        "always" => Verdict::Always,
        "s" | "skip" => Verdict::Skip,
        "q" | "quit" | "stop" => Verdict::Stop,
        "e" | "edit" => return Some(Typed::Edit),
        "o" | "one" => return Some(Typed::OneByOne),
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
            read(ApprovalKind::Step, line),
            expected.map(Typed::Verdict),
            "{line}"
        );
    }

    #[test]
    fn a_letter_or_its_word_is_an_answer() {
        case(" y ", Some(Verdict::Yes));
        case("yes", Some(Verdict::Yes));
        case("all", Some(Verdict::AllOfThisRound));
        case("always", Some(Verdict::Always));
        case("n", Some(Verdict::No { reason: None }));
        case(
            "n use cargo instead",
            Some(Verdict::No {
                reason: Some("use cargo instead".to_owned()),
            }),
        );
        assert_eq!(read(ApprovalKind::Step, "e"), Some(Typed::Edit));
    }

    #[test]
    fn what_is_not_clear_is_no_answer() {
        for line in [
            "",
            "  ",
            "yes but not that",
            "y;",
            "ok",
            "a",
            "A",
            "All",
            "all of it",
            "always ask",
        ] {
            case(line, None);
        }
    }

    #[test]
    fn the_network_is_given_once_for_the_session_or_not() {
        let network = |line| read(ApprovalKind::Network, line);
        for (line, expected) in [
            ("o", Verdict::Yes),
            ("once", Verdict::Yes),
            ("s", Verdict::Always),
            ("n not now", no("not now")),
            ("q", Verdict::Stop),
        ] {
            assert_eq!(network(line), Some(Typed::Verdict(expected)), "{line}");
        }
        for line in ["a", "y", "yes", "all", "e", "skip", "once more"] {
            assert_eq!(network(line), None, "{line}");
        }
    }

    fn no(reason: &str) -> Verdict {
        Verdict::No {
            reason: Some(reason.to_owned()),
        }
    }
}
