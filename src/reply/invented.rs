//! Results that a model made up: only the person's machine can have them.

/// What the model is told.
pub(super) const MESSAGE: &str = "the reply contains results, which only the person's machine has";
pub(super) const HINT: &str =
    "Send commands only; their results come with the next message and are never written by you.";

/// Whether a line looks like one of our own results or sections.
pub(super) fn is_result(line: &str) -> bool {
    let text = line.trim();
    match text.as_bytes().first() {
        Some(b'=') => is_section(text),
        Some(b'#') => matches!(
            text.trim_start_matches('#').trim(),
            "Previous Command Results" | "Requested File Contents"
        ),
        Some(b'0'..=b'9' | b'[') => is_outcome(text),
        _ => false,
    }
}

/// Whether a line is the heading of one of the sections of an outbox.
pub(super) fn is_section(text: &str) -> bool {
    matches!(
        text,
        "=== HEADER ===" | "=== PROTOCOL ===" | "=== CONTEXT ===" | "=== PROMPT ==="
    )
}

/// Whether a line after a command to run pretends to be its output.
pub(super) fn claims_output(line: &str) -> bool {
    let text = line.trim().trim_start_matches(['*', '_', '`']);
    ["Output:", "Result:", "Results:", "Exit code:", "stdout:"]
        .iter()
        .any(|word| {
            text.get(..word.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(word))
        })
}

/// `[OK] CREATE_FILE: ...`, with or without a number before it.
fn is_outcome(text: &str) -> bool {
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
        for line in [
            "=== CONTEXT ===",
            "## Previous Command Results",
            "1. [OK] CREATE_FILE: wrote `a`",
            "[FAILED] RUN_COMMAND: exit code 1",
        ] {
            assert!(is_result(line), "{line}");
        }
        for line in ["== a ==", "## Results", "1. [OK] fine", "[OK]", "1. do it"] {
            assert!(!is_result(line), "{line}");
        }
        assert!(claims_output("Output: all tests pass"));
        assert!(claims_output("**Output:**"));
        assert!(!claims_output("The output is fine"));
    }
}
