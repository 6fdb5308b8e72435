//! Judges a text on the clipboard against the waiting round.
//!
//! Only a text that ends with this round's mark is taken by itself. Whatever has a part of our own
//! messages in it is not: a copy of the whole chat page would carry the examples of the
//! instructions along, and they would be executed.

use crate::protocol::EndMark;
use crate::reply;

/// The kind of a text on the clipboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// The reply to this round, whole.
    Reply,
    /// It has commands, and no mark at its end: the person may take it themselves.
    Unmarked,
    /// Nothing of ours.
    Nothing,
}

/// Looks at a text.
pub fn look(text: &str, mark: &EndMark) -> Sight {
    if has_our_message(text) {
        return Sight::Nothing;
    }
    match reply::end_mark(text) {
        Some(found) if found == *mark => Sight::Reply,
        None if has_tags(text) && !reply::parse(text).steps.is_empty() => Sight::Unmarked,
        // One with another mark is of another round.
        Some(_) | None => Sight::Nothing,
    }
}

/// True if a text has the mark of this round and only words after it, such as the chat's last
/// sentence. That is enough for a text that the person pastes as the reply.
pub fn is_marked_before_prose(text: &str, mark: &EndMark) -> bool {
    const MOST_LINES: usize = 50;
    if has_our_message(text) {
        return false;
    }
    let mut rest = text;
    for _ in 0..MOST_LINES {
        if let Some(found) = reply::end_mark(rest) {
            return found == *mark;
        }
        let trimmed = rest.trim_end();
        let begin = trimmed.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let (before, last) = trimmed.split_at(begin);
        if before.is_empty() || has_tags(last) {
            return false;
        }
        rest = before;
    }
    false
}

fn has_our_message(text: &str) -> bool {
    let is_section = |line: &str| {
        let line = line.trim();
        line == "=== PROTOCOL ===" || (line.starts_with("=== PART ") && line.ends_with(" ==="))
    };
    reply::is_outbox(text) || text.lines().any(is_section)
}

/// True if a line looks like one of our tags; a cheap check before the whole text is parsed.
fn has_tags(text: &str) -> bool {
    text.lines().any(|line| {
        let name = line.trim().strip_prefix('[').unwrap_or_default();
        name.starts_with(|first: char| first.is_ascii_uppercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::SessionId;

    #[track_caller]
    fn case(text: &str, expected: Sight) {
        let mark = EndMark {
            session: SessionId::parse("ab12cd34").unwrap(),
            sequence: 3,
        };
        assert_eq!(look(text, &mark), expected, "{text}");
    }

    #[test]
    fn only_the_mark_of_this_round_at_the_end_makes_a_reply() {
        case("[DONE]\n[END ab12cd34#3]\n", Sight::Reply);
        case("``````\n[DONE]\n[END ab12cd34#3]\n``````\n", Sight::Reply);
        case("[DONE]\n[END ab12cd34#2]\n", Sight::Nothing);
        case("[DONE]\n[END ffffffff#3]\n", Sight::Nothing);
        case(
            "[DONE]\n[END ab12cd34#3]\nThe chat can err.\n",
            Sight::Unmarked,
        );
    }

    #[test]
    fn words_after_the_mark_do_not_hide_it() {
        let mark = EndMark {
            session: SessionId::parse("ab12cd34").unwrap(),
            sequence: 3,
        };
        let is_marked = |text: &str| is_marked_before_prose(text, &mark);
        let body = "``````\n[DONE]\n[END ab12cd34#3]\n``````\n";
        assert!(is_marked(body));
        assert!(is_marked(&format!(
            "{body}\nLet me know how it goes!\n\nBye.\n"
        )));
        assert!(!is_marked(&format!("{body}And then:\n[DONE]\n")));
        assert!(!is_marked("[DONE]\n[END ab12cd34#2]\nBye.\n"));
        assert!(!is_marked("Bye.\n"));
        assert!(!is_marked(""));
        assert!(!is_marked(&format!("{body}{}", "words\n".repeat(10_000))));
        assert!(!is_marked(&format!("=== PROTOCOL ===\n{body}Bye.\n")));
    }

    #[test]
    fn our_own_message_is_no_reply_wherever_it_stands() {
        let message =
            "=== HEADER ===\nSession: ab12cd34\n=== PROTOCOL ===\n[DONE]\n[END ab12cd34#3]\n";
        case(message, Sight::Nothing);
        case(&format!("You said:\n{message}"), Sight::Nothing);
        case(
            "=== PART 2 of 2 ===\n[DONE]\n[END ab12cd34#3]\n",
            Sight::Nothing,
        );
    }

    #[test]
    fn commands_without_a_mark_are_named_and_other_texts_are_not() {
        case("[READ_FILE path=\"a.rs\"]\n", Sight::Unmarked);
        case("hunter2", Sight::Nothing);
        case("", Sight::Nothing);
        case("[Unreleased]\n- a change\n", Sight::Nothing);
        case("src/a.rs\n```rust\nfn a() {}\n```\n", Sight::Nothing);
    }
}
