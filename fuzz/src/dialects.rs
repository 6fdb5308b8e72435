//! Replies made of the words of one dialect: the first byte chooses the dialect, every other one a
//! word of it, so that deep structures come up often.

use crate::parse;

/// Words that any reply may contain.
const COMMON: &[&str] = &[
    "\n",
    "\n\n",
    " ",
    "    ",
    "a",
    "src/a.rs",
    "fn f() {}",
    "```",
    "```\n",
    "``````\n",
    "```rust\n",
    "~~~\n",
    "> ",
    "- ",
    "**",
    "`",
    "\r\n",
    "\u{feff}",
    "\u{a0}",
    "\u{200b}",
    "“",
    "”",
    "é",
    "&lt;",
    "&amp;",
    "\\",
    "<think>\n",
    "</think>\n",
    "[END ab12cd34#1]",
    "[DONE]\n",
    "Copy code\n",
    "12 | ",
];

const TAGS: &[&str] = &[
    "[",
    "]",
    "/",
    "[/",
    "[CREATE_FILE",
    "[/CREATE_FILE",
    "[EDIT_FILE",
    "[/EDIT_FILE",
    "[APPLY_PATCH",
    "[/APPLY_PATCH",
    "[RUN_COMMAND",
    "[/RUN_COMMAND",
    "[READ_FILE",
    "[ASK_USER]",
    "[/ASK_USER]",
    "[DONE",
    "[/DONE]",
    " path=",
    "\"",
    " end=\"q\"",
    " q]",
    " start_line=1",
    " end_line=\"2\"",
    "]\n",
    "[create_file path=“a”]\n",
    "[/create_file]\n",
    "[INSERT_TEXT path=\"a\" line=\"1\"]\n",
    "[/INSERT_TEXT]\n",
    "<<<<<<< SEARCH\n",
    "=======\n",
    ">>>>>>> REPLACE\n",
];

const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "{\"actions\": [",
    "]}",
    "{\"tool\": \"",
    "\"tool\"",
    "\"write_file\"",
    "\"run\"",
    "\"path\": \"a\"",
    "\"content\": \"",
    "\"command\": ",
    "\"replaceText\"",
    "\"oldString\": ",
    "\"newString\": ",
    "\\n",
    "\\\"",
    "\\u00e9",
    "\\ud83d",
    "null",
    "true",
    "1e9",
    "-",
    "```json\n",
    "\"thought\": ",
    "\"arguments\": {",
    "\"apply_patch\"",
    "\"patch\": ",
];

const SEARCH_REPLACE: &[&str] = &[
    "<<<<<<< SEARCH\n",
    "=======\n",
    ">>>>>>> REPLACE\n",
    "<<<<<<< SEARCH",
    "=======",
    ">>>>>>> REPLACE",
    "<<<",
    "===",
    ">>>",
    "SEARCH>\n",
    "-------\n",
    "+++++++\n",
    "### src/a.rs\n",
    "**src/a.rs**\n",
    "`src/a.rs`\n",
    "src/b.rs:\n",
    "```rust src/a.rs\n",
    "...\n",
    ":start_line:3\n",
    "<<<<<<< ORIGINAL\n",
    ">>>>>>> UPDATED\n",
    "let a = 1;\n",
    "let b = 2;\n",
];

const DIFF: &[&str] = &[
    "--- a/src/a.rs\n",
    "+++ b/src/a.rs\n",
    "--- ",
    "+++ ",
    "/dev/null\n",
    "@@ -1,2 +1,2 @@\n",
    "@@ -1 +1 @@ fn f\n",
    "@@ ... @@\n",
    "@@\n",
    "@@ -0,0 +1 @@\n",
    "@@ -4294967295,4294967295 +1 @@\n",
    "-a\n",
    "+b\n",
    " a\n",
    "-",
    "+",
    "\\ No newline at end of file\n",
    "diff --git a/x b/y\n",
    "rename from x\n",
    "rename to y\n",
    "new file mode 100755\n",
    "deleted file mode 100644\n",
    "index 1..2\n",
    "similarity index 90%\n",
    "\"a/\\303\\251\"",
    "\t2020-01-01 00:00:00\n",
    "GIT binary patch\n",
    "Binary files a and b differ\n",
    "```diff\n",
    "-- \n2.0\n",
    "copy from x\n",
];

const ENVELOPE: &[&str] = &[
    "*** Begin Patch\n",
    "*** End Patch\n",
    "*** Begin Patch ***\n",
    "***Begin Patch\n",
    "*** Update File: a\n",
    "*** Add File: b\n",
    "*** Delete File: c\n",
    "*** Move to: d\n",
    "*** End of File\n",
    "@@\n",
    "@@ fn f()\n",
    "@@ @@\n",
    "-a\n",
    "+b\n",
    " a\n",
    "-",
    "+",
    "***",
    "apply_patch <<'EOF'\n",
    "EOF\n",
    "cd dir && ",
    "bash -lc ",
    "*** ",
    "*** Update File: ",
    "@@ -1 +1 @@\n",
];

const WHOLE_FILE: &[&str] = &[
    "### `src/a.rs`\n",
    "**src/a.rs**\n",
    "File: src/a.rs\n",
    "src/a.rs:\n",
    "// src/a.rs\n",
    "# a.py\n",
    "```rust\n",
    "```python a.py\n",
    "````\n",
    "```",
    "fn main() {}\n",
    "Here is the file:\n",
    "1. ",
    "```bash\nrm -rf x\n```\n",
];

const DIALECTS: &[&[&str]] = &[TAGS, JSON, SEARCH_REPLACE, DIFF, ENVELOPE, WHOLE_FILE];

/// The first byte chooses the dialect, or all of them; the others choose words.
pub fn check(bytes: &[u8]) {
    let Some((&selector, rest)) = bytes.split_first() else {
        return;
    };
    parse::check_text(&reply(selector, rest));
}

fn reply(selector: u8, words: &[u8]) -> String {
    let chosen = usize::from(selector) % (DIALECTS.len() + 1);
    let mut vocabulary = COMMON.to_vec();
    for (number, dialect) in DIALECTS.iter().enumerate() {
        if chosen == number || chosen == DIALECTS.len() {
            vocabulary.extend(*dialect);
        }
    }
    words
        .iter()
        .map(|&word| vocabulary[usize::from(word) % vocabulary.len()])
        .collect()
}
