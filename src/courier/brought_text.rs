//! Tells what a text is that the person brings while a round waits for its reply.
//!
//! A text is weighed alike wherever it comes from, by what [`reply::parse`] makes of it, since that is
//! what happens to it next. Only the clipboard is careful: it takes nothing by itself that has a part of
//! our own messages in it, because a copy of the whole chat page carries the examples of the
//! instructions along.

use crate::protocol::EndMark;
use crate::reply;

/// A text that the person brings, as it looks to a session that waits for a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BroughtText {
    /// The reply to this round.
    Reply,
    /// A reply to another round or session, by this mark.
    OtherReply(EndMark),
    /// Commands without the mark that says that they are all.
    Unmarked,
    /// Our own message.
    OwnMessage,
    /// Anything else.
    Other,
}

/// Tells what a text is that a person brings while the round of this mark waits for its reply.
pub fn weigh(text: &str, expected: &EndMark) -> BroughtText {
    match weigh_without_round(text) {
        BroughtText::OtherReply(mark) if mark == *expected => BroughtText::Reply,
        brought => brought,
    }
}

/// Tells what a text is where no round waits: a reply is one to another round.
pub fn weigh_without_round(text: &str) -> BroughtText {
    if reply::is_outbox(text) {
        return BroughtText::OwnMessage;
    }
    if let Some(mark) = reply::end_mark(text) {
        return BroughtText::OtherReply(mark);
    }
    // One word typed is weighed too, and has no room for a command.
    let parsed = if text.trim().contains(['\n', '[']) {
        reply::parse(text)
    } else {
        reply::Reply::default()
    };
    match parsed.end {
        Some(mark) => BroughtText::OtherReply(mark),
        None if parsed.steps.is_empty() => BroughtText::Other,
        None => BroughtText::Unmarked,
    }
}

/// A text on the clipboard, as it looks while a round waits for its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopiedText {
    /// The reply to this round, and nothing of our message.
    Reply,
    /// The reply below our message: the page was copied.
    ReplyAndMessage,
    /// The reply to this other round of the session.
    OtherRound(u32),
    /// Commands, or the beginning of one, without the end mark.
    Unmarked,
    /// Nothing that concerns this round.
    Other,
}

/// Tells what a text is that was copied while the round of this mark waits for its reply.
pub(super) fn weigh_copied(text: &str, expected: &EndMark) -> CopiedText {
    // Most of what people copy is no reply, and not to be read any further.
    if !has_tags(text) && !text.contains(expected.session.as_str()) {
        return CopiedText::Other;
    }
    match weigh(text, expected) {
        BroughtText::Reply if has_our_section(text) => CopiedText::ReplyAndMessage,
        BroughtText::Reply => CopiedText::Reply,
        BroughtText::OtherReply(mark) if mark.session == expected.session => {
            CopiedText::OtherRound(mark.sequence)
        }
        BroughtText::Unmarked => CopiedText::Unmarked,
        BroughtText::Other if reply::parse(text).cut.is_some() => CopiedText::Unmarked,
        // A reply to another session is for the loop that waits for it.
        BroughtText::OtherReply(_) | BroughtText::OwnMessage | BroughtText::Other => {
            CopiedText::Other
        }
    }
}

fn has_our_section(text: &str) -> bool {
    text.lines().map(str::trim).any(|line| {
        line == "=== PROTOCOL ===" || (line.starts_with("=== PART ") && line.ends_with(" ==="))
    })
}

/// True if a line looks like one of our tags, also if it is escaped, quoted or in a list.
fn has_tags(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start_matches([' ', '\t', '\\', '>', '-', '*', '`']);
        let name = line.strip_prefix('[').unwrap_or_default();
        name.starts_with(|first: char| first.is_ascii_uppercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::SessionId;

    fn mark(session: &str, sequence: u32) -> EndMark {
        EndMark {
            session: SessionId::parse(session).unwrap(),
            sequence,
        }
    }

    #[test]
    fn a_text_is_told_by_its_end_mark_and_its_commands() {
        let now = mark("ab12cd34", 3);
        let case = |text: &str, expected: BroughtText| {
            assert_eq!(weigh(text, &now), expected, "{text}");
        };
        let commands = "[RUN_COMMAND]\nls\n[/RUN_COMMAND]\n";
        case(&format!("{commands}{now}\n"), BroughtText::Reply);
        let chatty = format!("{commands}{now}\nTell me how it goes.\n");
        case(&chatty, BroughtText::Reply);
        for other in [mark("ab12cd34", 2), mark("00000000", 3)] {
            let text = format!("{commands}{other}\n");
            case(&text, BroughtText::OtherReply(other));
        }
        case(commands, BroughtText::Unmarked);
        case("a note", BroughtText::Other);
        // What the reading of a reply repairs or translates is a command here too.
        let half = "\\[READ_FILE path=\"a.sh\"]\n";
        case(half, BroughtText::Unmarked);
        case(&format!("{half}\\[END ab12cd34#3]\n"), BroughtText::Reply);
        let other = mark("ab12cd34", 2);
        let text = format!("{half}\\[END ab12cd34#2]\n");
        case(&text, BroughtText::OtherReply(other));
        let diff = "```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n```\n";
        case(diff, BroughtText::Unmarked);
        case("I would start\nwith the tests.\n", BroughtText::Other);
        case("```python\nprint(1)\nprint(2)\n```\n", BroughtText::Other);
    }

    #[track_caller]
    fn copied(text: &str, expected: CopiedText) {
        let found = weigh_copied(text, &mark("ab12cd34", 3));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_copy_with_the_mark_of_this_round_is_the_reply() {
        copied("[DONE]\n[END ab12cd34#3]\n", CopiedText::Reply);
        let fenced = "``````\n[DONE]\n[END ab12cd34#3]\n``````\n";
        copied(fenced, CopiedText::Reply);
        copied("[DONE]\n[END ab12cd34#2]\n", CopiedText::OtherRound(2));
        copied("[DONE]\n[END ffffffff#3]\n", CopiedText::Other);
    }

    #[test]
    fn words_after_the_mark_do_not_hide_it() {
        let body = "``````\n[DONE]\n[END ab12cd34#3]\n``````\n";
        let bye = "\nLet me know how it goes!\n\nBye.\n";
        copied(&format!("{body}{bye}"), CopiedText::Reply);
        let long = "words\n".repeat(10_000);
        copied(&format!("{body}{long}"), CopiedText::Reply);
        let earlier = body.replace("#3", "#2");
        copied(&format!("{earlier}{bye}"), CopiedText::OtherRound(2));
    }

    #[test]
    fn an_escaped_or_quoted_reply_is_seen_as_one() {
        let file = "Sure!\n\n\\[CREATE\\_FILE path=\"e.txt\"\\]\nhi\n\\[/CREATE\\_FILE\\]\n";
        let bye = "\nLet me know how it goes!";
        let end = "\\[END ab12cd34#3\\]\n";
        copied(&format!("{file}{end}"), CopiedText::Reply);
        copied(&format!("{file}{end}{bye}"), CopiedText::Reply);
        copied(&format!("{file}{bye}"), CopiedText::Unmarked);
        let quoted = "> [RUN_COMMAND]\n> ls\n> [/RUN_COMMAND]\n> [END ab12cd34#3]\n";
        copied(quoted, CopiedText::Reply);
    }

    #[test]
    fn our_own_message_is_no_reply_and_what_is_below_it_is_not_taken() {
        let message = "=== HEADER ===\nSession: ab12cd34\n=== PROTOCOL ===\n[DONE]\n\
                       === PROMPT ===\nGo on.\n[END ab12cd34#3]\n";
        copied(message, CopiedText::Other);
        let reply = "[RUN_COMMAND]\nls\n[/RUN_COMMAND]\n[END ab12cd34#3]\n";
        let page = format!("You said:\n{message}\nChat said:\n{reply}");
        copied(&page, CopiedText::ReplyAndMessage);
        let part = format!("=== PART 2 of 2 ===\n{reply}");
        assert_ne!(weigh_copied(&part, &mark("ab12cd34", 3)), CopiedText::Reply);
    }

    #[test]
    fn commands_without_a_mark_are_named_and_other_texts_are_not() {
        copied("[READ_FILE path=\"a.rs\"]\n", CopiedText::Unmarked);
        let cut = "[CREATE_FILE path=\"a.txt\"]\nhello\nwor";
        copied(cut, CopiedText::Unmarked);
        copied("hunter2", CopiedText::Other);
        copied("", CopiedText::Other);
        copied("[Unreleased]\n- a change\n", CopiedText::Other);
        copied("src/a.rs\n```rust\nfn a() {}\n```\n", CopiedText::Other);
        let diff = "```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n```\n";
        copied(diff, CopiedText::Other);
    }
}
