//! Results that a model made up: only the person's machine can have them.

use super::candidate::BlockTrouble;
use super::own_message::{FIRST_SECTION, LAST_SECTION};
use crate::line::has_word;
use crate::trim::trim;

/// The message to the model.
pub(super) const MESSAGE: &str = "the reply contains results, which only the person's machine has";
const HINT: &str = "Send commands only; their results come with the next message. What you wrote as \
    results was ignored.";

/// Message and hint for the first made-up result.
pub(super) fn told() -> BlockTrouble {
    BlockTrouble::new(MESSAGE, HINT)
}

/// Message and hint for a command among made-up results.
pub(super) fn not_done() -> BlockTrouble {
    BlockTrouble::new(
        "it stands in what you wrote as results, so it was not done",
        "Send it again, without results above it, if it was meant.",
    )
}

/// The element for results that a line opens: `<function_results>`.
pub(super) fn element(line: &str) -> Option<&str> {
    const NAMES: &str = "function_response function_result function_results observation \
        tool_output tool_outputs tool_response tool_result tool_results";
    let inner = trim(line).strip_prefix('<')?;
    let name = inner.split(['>', ' ']).next()?;
    has_word(NAMES, name).then_some(name)
}

/// Returns true if a line is the heading of a section that only we write.
pub(super) fn is_heading(line: &str) -> bool {
    let text = trim(line);
    match text.as_bytes().first() {
        Some(b'=') => matches!(
            text,
            FIRST_SECTION | "=== PROTOCOL ===" | "=== CONTEXT ===" | LAST_SECTION
        ),
        Some(b'#') => matches!(
            text.trim_start_matches('#').trim(),
            "Previous Command Results" | "Requested File Contents"
        ),
        _ => false,
    }
}

/// The words with which a line after a command to run pretends to be its output; none where the
/// output is to follow.
pub(super) fn claim(line: &str) -> Option<&str> {
    const LABELS: &str = "Observation|Output|Result|Results|Exit code|stdout";
    let text = trim(line).trim_start_matches(['*', '_', '`']);
    let (label, words) = text.split_once(':')?;
    let mut labels = LABELS.split('|');
    labels.find(|known| known.eq_ignore_ascii_case(label))?;
    Some(words.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`')))
}

/// Returns true if a line is one of our results: `[OK] CREATE_FILE: ...`, perhaps with a number
/// before it.
pub(super) fn is_outcome(line: &str) -> bool {
    let text = trim(line);
    if !text.starts_with(|c: char| c == '[' || c.is_ascii_digit()) {
        return false;
    }
    let text = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let text = text.strip_prefix('.').unwrap_or(text).trim_start();
    let Some((label, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) else {
        return false;
    };
    let name = rest
        .trim_start()
        .split([':', ' '])
        .next()
        .unwrap_or_default();
    matches!(label, "OK" | "FAILED" | "REFUSED" | "SKIPPED")
        && super::tags::Name::read(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_our_own_results() {
        for line in ["=== CONTEXT ===", " ## Previous Command Results"] {
            assert!(is_heading(line), "{line}");
        }
        for line in [
            "1. [OK] CREATE_FILE: wrote `a`",
            "[FAILED] RUN_COMMAND: exit code 1",
        ] {
            assert!(is_outcome(line), "{line}");
        }
        for line in ["== a ==", "## Results", "1. [OK] fine", "[OK]", "1. do it"] {
            assert!(!is_heading(line) && !is_outcome(line), "{line}");
        }
        assert_eq!(claim("Output: all tests pass"), Some("all tests pass"));
        assert_eq!(claim("**Output:**"), Some(""));
        assert_eq!(claim("The output is fine"), None);
    }
}
