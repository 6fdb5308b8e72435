//! Plans and tool calls whose quotes a chat page made curly.
//!
//! All of them or none: a page changes every quote alike, so a value counts only if it is strict
//! JSON once every curly double quote is straight. The walk over brackets is the one of `extent`,
//! with the same bound on depth.

use super::super::candidate::{BlockCandidate, BlockCertainty, BlockTrouble, CandidateItem};
use super::super::code_fence;
use super::{extent, is_ours, items_of};
use crate::trim::{trim, trim_start};

/// The plan or tool call in curly quotes that begins on the line `at` and ends with a line.
pub(crate) fn find_curly(lines: &[&str], at: usize) -> Option<BlockCandidate> {
    if !may_begin(lines, at) {
        return None;
    }
    let end = at + length(&lines[at..])?;
    let text = straight(&lines[at..end].join("\n"));
    let items = match serde_json::from_str(&text) {
        Ok(value) => items_of(&value)?,
        Err(_) if is_ours(&text) => vec![unreadable()],
        Err(_) => return None,
    };
    Some(BlockCandidate {
        span: at..end,
        items,
        certainty: BlockCertainty::Whole,
    })
}

fn may_begin(lines: &[&str], at: usize) -> bool {
    let next = lines.get(at + 1).map_or("", |line| trim_start(line));
    let text = trim(lines[at]);
    match text.trim_start_matches(['[', '{', ' ']) {
        "" => text.contains('{') && next.trim_start_matches(['{', ' ']).starts_with(is_curly),
        rest => text.starts_with(['[', '{']) && rest.starts_with(is_curly),
    }
}

/// How many lines the value takes, if nothing but a comma follows it on its last line.
fn length(lines: &[&str]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut in_string = false;
    for (index, line) in lines.iter().enumerate() {
        if index > 0 && !in_string && (code_fence::is_bare(line) || code_fence::is_tag(line)) {
            return None;
        }
        let mut characters = line.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' if in_string => {
                    characters.next();
                }
                character if is_curly(character) => in_string = !in_string,
                _ if in_string => {}
                '{' | '[' => depth += 1,
                '}' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && !in_string && !character.is_whitespace() {
                return characters.as_str().trim().is_empty().then_some(index + 1);
            }
            if depth > extent::MAX_DEPTH {
                return None;
            }
        }
    }
    None
}

fn straight(text: &str) -> String {
    text.replace(is_curly, "\"")
}

fn is_curly(character: char) -> bool {
    matches!(character, '\u{201c}'..='\u{201f}')
}

fn unreadable() -> CandidateItem {
    CandidateItem::Problem(BlockTrouble::new(
        "the JSON has curly quotes and cannot be read",
        "send it again with straight quotes, in a code block",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<BlockCandidate> {
        find_curly(&text.lines().collect::<Vec<_>>(), 0)
    }

    #[test]
    fn reads_what_is_json_once_its_quotes_are_straight() {
        for text in [
            "{\u{201c}tool\u{201d}: \u{201c}run_command\u{201d}, \u{201c}command\u{201d}: \u{201c}echo {\u{201d}}",
            "{\n  \u{201c}tool\u{201d}: \u{201c}read_file\u{201d},\n  \u{201c}path\u{201d}: \u{201c}a\u{201d}\n}",
            "[{\u{201c}tool\u{201d}: \u{201c}write_file\u{201d}, \u{201c}path\u{201d}: \u{201c}a\u{201d}, \u{201c}content\u{201d}: \u{201c}\\\u{201c}x\\\u{201d}\u{201d}}]",
        ] {
            let found = found(text).unwrap();
            assert!(
                matches!(found.items[..], [CandidateItem::Command(_)]),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn data_and_prose_stay() {
        for text in [
            "{\u{201c}a\u{201d}: 1}",
            "{\u{201c}tool\u{201d}: 1} and so on",
            "{\u{201c}tool",
            "\u{201c}tool\u{201d}",
            "{\"tool\": 1}",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
        let broken =
            found("{\u{201c}tool\u{201d}: \u{201c}say \u{201c}hi\u{201d} now\u{201d}}").unwrap();
        assert!(matches!(broken.items[..], [CandidateItem::Problem { .. }]));
    }
}
