//! Properties of every dialect: no panic, no block that is empty or out of place, no input that
//! takes more than linear time.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::candidate::{BlockCandidate, CandidateItem};
use crate::{diff, json, patch, search_replace, whole_file};

/// Offers each line once, as the parser does, and gives the blocks with their lines in the text.
#[track_caller]
pub(crate) fn scan(
    text: &str,
    mut find: impl FnMut(&[&str], usize) -> Option<BlockCandidate>,
) -> Vec<BlockCandidate> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < lines.len() {
        let Some(mut block) = find(&lines[start..], at - start) else {
            at += 1;
            continue;
        };
        block.span = block.span.start + start..block.span.end + start;
        assert!(block.span.contains(&at), "line {at} is not in {block:?}");
        assert!(
            block.span.end <= lines.len(),
            "{block:?} goes beyond the end"
        );
        assert!(!block.items.is_empty(), "{block:?} is empty");
        at = block.span.end;
        start = at;
        found.push(block);
    }
    found
}

fn scan_all(text: &str) -> usize {
    let mut inherited = None;
    let blocks = scan(text, |lines, at| {
        let found = search_replace::find(lines, at, inherited.as_ref())?;
        if let [CandidateItem::Command(command)] = &found.items[..] {
            inherited = command.path().cloned();
        }
        Some(found)
    });
    let lines: Vec<&str> = text.lines().collect();
    let mut ends = patch::Ends::default();
    let _ = (
        search_replace::parse_body(text),
        patch::parse_body(text),
        diff::parse_body(text, None),
    );
    blocks.len()
        + scan(text, json::find).len()
        + scan(text, |lines, at| patch::find(lines, at, &mut ends)).len()
        + scan(text, diff::find).len()
        + whole_file::find_all(&lines).len()
}

const FRAGMENTS: &[&str] = &[
    "src/a.rs",
    "### `a.py`",
    "Here is `a.py`:",
    "```",
    "```json",
    "````diff",
    "~~~",
    " ```",
    "text",
    "",
    " ",
    "<<<<<<< SEARCH",
    "<<< SEARCH>",
    "------- SEARCH",
    ":start_line:3",
    "-------",
    "=======",
    "===",
    ">>>>>>> REPLACE",
    "+++++++ REPLACE",
    "\\=======",
    "3 | x",
    "4 | ä",
    "*** Begin Patch",
    "*** End Patch",
    "*** Add File: x",
    "*** Update File: ä/y",
    "*** Delete File: ../z",
    "*** Move to: q",
    "*** End of File",
    "*** Odd File: x",
    "@@",
    "@@ fn x",
    "@@ -1,3 +1,4 @@",
    "@@ -1 +0,0 @@ x",
    "@@ -0,0 +1,9 @@",
    "@@ ... @@",
    "@@@ -1 @@@",
    "+add",
    "-remove",
    " keep",
    "+",
    "-",
    "--",
    "-- ",
    "2.30",
    "\\ No newline at end of file",
    "--- a/x",
    "+++ b/x",
    "--- /dev/null",
    "+++ /dev/null",
    "--- \"a/\\303\"",
    "--- x\t1970-01-01 00:00:00",
    "diff --git a/x b/x",
    "diff --git \"a/x b/x",
    "rename from x",
    "rename to y",
    "new file mode 100644",
    "new file mode 120000",
    "deleted file mode 1",
    "GIT binary patch",
    "Index: x",
    "==========",
    "*** a",
    "--- b",
    "***************",
    "From 0123456789012345678901234567890123456789 Mon",
    "apply_patch <<'EOF'",
    "cd d && apply_patch <<EOF",
    "EOF",
    "{",
    "}",
    "[",
    "]",
    "[{",
    "{\"tool\": \"read_file\",",
    "\"path\": \"a\"}",
    "{\"actions\": [",
    "\"\\u12",
    "\"é\\",
    "// c",
    "{\"thought\": \"ü",
    "]}",
    ",",
    "[DONE]",
    "\u{a0}\u{2003}x",
];

proptest! {
    #[test]
    fn no_mix_of_fragments_panics(picks in prop::collection::vec(0..FRAGMENTS.len(), 0..60)) {
        let text: Vec<&str> = picks.into_iter().map(|pick| FRAGMENTS[pick]).collect();
        scan_all(&text.join("\n"));
    }

    #[test]
    fn no_text_panics(text in "[-+@*<>={}\\[\\]\"\\\\ \nSEARCHa/b`.:ä]{0,200}") {
        scan_all(&text);
    }
}

#[test]
fn hostile_input_takes_linear_time() {
    const SIZE: usize = 60_000;
    // Quadratic behaviour would take a quarter of a minute here; a slow machine takes half a second.
    const PATIENCE: Duration = Duration::from_secs(5);
    for unit in [
        "<<<<<<< SEARCH\n",
        "<<<<<<< SEARCH\n=======\n",
        "a.py\n```\n<<<<<<< SEARCH\n",
        "=======\n",
        "{",
        "{\n",
        "{\"",
        "{\"\n",
        "{\"tool\": \"x\n",
        "{\"tool\":[\n",
        "[{\"tool\": 1},\n",
        "[\n",
        "[",
        "[{\"a\":\n",
        "{\"a\": 1}\n",
        "```\n",
        "```x\n",
        "`",
        "*** Begin Patch\n",
        "*** Update File: x\n",
        "*** Begin Patch\n*** Update File: x\n@@\n",
        "*** ",
        "@@\n",
        "@@ -1,9999999 +1,9999999 @@\n",
        "@@ -1 +1 @@\n-\n",
        "@@ ... @@\n+\n",
        "--- a\n+++ b\n",
        "--- a/x\n+++ b/x\n@@ -1,99 +1,99 @@\n",
        "--- a\n+++ b\n\n",
        "diff --git a/x b/x\n",
        "diff --git a b ",
        "Index: x\n=====\n",
        "From 0123456789012345678901234567890123456789\n",
        "diff --git a/x b/x\nFrom 0123456789012345678901234567890123456789\nx\n",
        "x.py\n```\n",
        " \n",
        "\n",
        "\\",
        "\"a\\",
        "a/",
        "*** a\n--- b\n*****\n",
        "-- \n",
        "- - -\n",
        "### ",
        "**",
    ] {
        let text = unit.repeat(SIZE / unit.len());
        let start = Instant::now();
        scan_all(&text);
        assert!(
            start.elapsed() < PATIENCE,
            "{unit:?} took {:?}",
            start.elapsed()
        );
    }
}

#[track_caller]
fn inserts_below(text: &str, below: u32) {
    let steps = crate::parse(text).steps;
    assert!(
        matches!(&steps[..], [step] if matches!(&step.command, agent_protocol::Command::InsertText { line, .. } if *line == below)),
        "{steps:?}"
    );
}

#[test]
fn roo_inserts_above_a_line_and_appends_at_zero() {
    for (line, below) in [("1", 0), ("3", 2), ("0", agent_protocol::END_OF_FILE)] {
        let text = format!(
            "<insert_content>\n<path>a.md</path>\n<line>{line}</line>\n<content>\nx\n</content>\n</insert_content>\n"
        );
        inserts_below(&text, below);
    }
}

#[test]
fn serena_inserts_above_a_line_that_it_counts_from_zero() {
    for line in [0, 3] {
        let call = format!(
            "{{\"tool\": \"insert_at_line\", \"relative_path\": \"a.md\", \"line\": {line}, \"content\": \"x\"}}"
        );
        inserts_below(&call, line);
    }
}
