//! Properties of every text.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::{decode, end_mark, is_outbox, parse};
use agent_protocol::{Command, Edit, RelPath, Replacement};

const FRAGMENTS: &[&str] = &[
    "> <<<<<<< SEARCH",
    "> =======",
    "> >>>>>>> REPLACE",
    "> a.py",
    "</PLAN>",
    "[END_PLAN]",
    "x[/PLAN]",
    "<CREATE_FILE path=\"a\">",
    "</CREATE_FILE>",
    "<DONE/>",
    "[END ab12cd34#2]",
    "{\u{201c}tool\u{201d}: \u{201c}git_status\u{201d}}",
    "[CREATE_FILE path=\"a\"]",
    "[/CREATE_FILE]",
    "[CREATE_FILE path=\"a\" end=\"Q\"]",
    "[/CREATE_FILE Q]",
    "**[EDIT_FILE path=a start_line=1]**",
    "[EDIT_FILE path='a']",
    "[/EDIT_FILE]",
    "[APPLY_PATCH]",
    "[/APPLY_PATCH]",
    "[RUN_COMMAND]",
    "[/RUN_COMMAND]",
    "[RUN_COMMAND]ls[/RUN_COMMAND]",
    "[READ_FILE]",
    "- [READ_FILE path=\u{201c}\u{e4}\u{201d}]",
    "[DONE]",
    "[/DONE]",
    "[PLAN]",
    "[/PLAN]",
    "    [/PLAN]",
    "> [PLAN]",
    "> x",
    "\\[PLAN\\]",
    "[FOO_BAR x=1]",
    "[/FOO_BAR]",
    "[END ab12cd34#1]",
    "```",
    "```rust",
    "``````",
    "~~~",
    "",
    " ",
    "text",
    "\u{a0}\u{a0}x",
    "\u{200b}",
    "<think>",
    "</think>",
    "Copy code",
    "python",
    "a.rs",
    "<<<<<<< SEARCH",
    "=======",
    ">>>>>>> REPLACE",
    "*** Begin Patch",
    "*** Update File: a",
    "*** End Patch",
    "@@",
    "-a",
    "+b",
    "--- a/x",
    "+++ b/x",
    "@@ -1 +1 @@",
    "{\"tool\": \"run\",",
    "\"command\": \"ls\"}",
    "&lt;",
    "[X path=&quot;a&quot;]",
    "1. [OK] DONE: x",
    "Output: x",
    "=== HEADER ===",
    "=== PROMPT ===",
    "1 | x",
    "2 | y",
    "\r",
    "[SEARCH_TEXT pattern=\"a \"b\" [c]\" regex]",
    "[",
    "]",
    "[]",
    "\u{1f600}\u{301}",
];

fn fragments() -> impl Strategy<Value = String> {
    let line = prop::sample::select(FRAGMENTS);
    let end = prop::sample::select(&["\n", "\r\n", "\n\n"][..]);
    prop::collection::vec((line, end), 0..50).prop_map(|lines| {
        let pieces = lines.into_iter().flat_map(|(line, end)| [line, end]);
        pieces.collect()
    })
}

proptest! {
    #[test]
    fn no_mix_of_fragments_panics(text in fragments()) {
        let reply = parse(&text);
        let numbers = reply.steps.iter().map(|step| step.number);
        let mut numbers: Vec<u32> =
            numbers.chain(reply.issues.iter().filter_map(|issue| issue.number)).collect();
        numbers.sort_unstable();
        let expected: Vec<u32> = (1..).take(numbers.len()).collect();
        prop_assert_eq!(numbers, expected);
        end_mark(&text);
        is_outbox(&text);
    }

    #[test]
    fn no_text_panics(text in "[-+*<>={}\\[\\]\"'\\\\&; \r\nDONEPLAend/b`.:#\u{a0}\u{e4}\u{200b}0-9|]{0,120}") {
        parse(&text);
        end_mark(&text);
    }

    #[test]
    fn any_bytes_are_some_text(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let (text, _) = decode(&bytes);
        parse(&text);
    }

    #[test]
    fn what_is_written_as_the_protocol_says_comes_back(commands in prop::collection::vec(command(), 1..6)) {
        let text: String = commands.iter().map(write).collect();
        let reply = parse(&format!("Hello.\n\n``````\n{text}[END ab12cd34#1]\n``````\n"));
        prop_assert_eq!(&reply.issues, &[]);
        let got: Vec<Command> = reply.steps.into_iter().map(|step| step.command).collect();
        prop_assert_eq!(got, commands);
        prop_assert_eq!(reply.prose, "Hello.");
    }
}

/// Lines that no repair has a reason to touch; tags of other commands among them.
fn content() -> impl Strategy<Value = String> {
    let line = prop::sample::select(
        &[
            "fn main() {",
            "}",
            "",
            "    let x = \"<a & b>\";",
            "[DELETE_FILE path=\"b\"]",
            "\ttab  ",
            "a &amp; b",
            "\u{e4}\u{a0}b",
            "[/READ_FILE]",
            "\\_",
            "# Title",
        ][..],
    );
    prop::collection::vec(line, 0..12)
        .prop_map(|lines| lines.into_iter().flat_map(|line| [line, "\n"]).collect())
}

fn command() -> impl Strategy<Value = Command> {
    let path = || {
        prop::sample::select(&["a.rs", "src/b c.py", "d/\u{e9}.md"][..])
            .prop_map(|path| RelPath::parse(path).unwrap())
    };
    prop_oneof![
        (path(), content()).prop_map(|(path, content)| Command::create_file(path, content)),
        (path(), 1..9_u32, 0..9_u32, content()).prop_map(|(path, start_line, more, text)| {
            let end_line = start_line + more;
            Command::EditFile {
                path,
                edit: Edit::Lines {
                    start_line,
                    end_line,
                    text,
                },
            }
        }),
        (path(), content(), content()).prop_map(|(path, search, replace)| {
            let edits = vec![Replacement::lines(format!("old\n{search}"), replace)];
            Command::EditFile {
                path,
                edit: Edit::Replace { edits },
            }
        }),
        path().prop_map(|path| Command::DeleteFile { path }),
        (path(), path()).prop_map(|(from, to)| Command::MoveFile { from, to }),
        "[a-z][a-z \"'\\[\\]]{0,12}[a-z]".prop_map(|pattern| Command::SearchText {
            pattern,
            path: None,
            glob: None,
            regex: true,
            case_sensitive: false,
            context: 0,
        }),
        Just(Command::RunCommand {
            script: "cargo test\nls -l".to_owned(),
            timeout: Some(5)
        }),
        Just(Command::Done {
            summary: String::new()
        }),
    ]
}

/// Writes a command as the protocol says.
fn write(command: &Command) -> String {
    match command {
        Command::CreateFile { path, content, .. } => {
            format!("[CREATE_FILE path=\"{path}\"]\n{content}[/CREATE_FILE]\n")
        }
        Command::EditFile {
            path,
            edit:
                Edit::Lines {
                    start_line,
                    end_line,
                    text,
                },
        } => format!(
            "[EDIT_FILE path=\"{path}\" start_line=\"{start_line}\" end_line=\"{end_line}\"]\n{text}[/EDIT_FILE]\n"
        ),
        Command::EditFile {
            path,
            edit: Edit::Replace { edits },
        } => {
            let Replacement {
                search, replace, ..
            } = &edits[0];
            format!(
                "[EDIT_FILE path=\"{path}\"]\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n[/EDIT_FILE]\n"
            )
        }
        Command::DeleteFile { path } => format!("[DELETE_FILE path=\"{path}\"]\n"),
        Command::MoveFile { from, to } => format!("[MOVE_FILE from=\"{from}\" to=\"{to}\"]\n"),
        Command::SearchText { pattern, .. } => {
            format!("[SEARCH_TEXT pattern=\"{pattern}\" regex=\"true\"]\n")
        }
        Command::RunCommand { script, .. } => {
            format!("[RUN_COMMAND timeout=\"5\"]\n{script}\n[/RUN_COMMAND]\n")
        }
        Command::Done { .. } => "[DONE]\n".to_owned(),
        other => panic!("{other:?} is not among the strategies"),
    }
}

#[test]
fn hostile_input_takes_linear_time() {
    const SIZE: usize = 60_000;
    // Quadratic behaviour would take minutes; a slow machine takes a second.
    const PATIENCE: Duration = Duration::from_secs(20);
    for unit in [
        "[",
        "`",
        "```\n",
        "> ",
        "**",
        "1. ",
        "\\[",
        "&quot;",
        "\u{a0} x",
        "\u{200b}",
        "\n",
        "\r",
        "<<<<<<< SEARCH\n",
        "<<<<<<< SEARCH\n[DONE]\n",
        "*** Begin Patch\n[DONE]\n",
        "[CREATE_FILE path=\"a\"]\n",
        "[CREATE_FILE path=\"a\"]\nx\n",
        "[PLAN]\n    [/PLAN]\n",
        "[PLAN]\n[PLAN]\n[/PLAN]\n",
        "[/PLAN]\n",
        "[PLAN]\n[MESSAGE]\n",
        "[FOO_BAR x=1]\n",
        "<think>\n",
        "Copy code\n",
        "Output:\n",
        "[READ_FILE path=\"",
        "[READ_FILE x=\"a\" ",
        "(\n(abcdefghijk\n",
        "[MESSAGE]\n> [/MESSAGE]\n",
        "- [MESSAGE]\n    [/PLAN]\n",
        "> <<<<<<< SEARCH\n",
        "> {\"\n\n",
        "> <<<<<<< SEARCH\n> =======\n> >>>>>>> REPLACE\n",
        "> <<<<<<< SEARCH\n> =======\n> >>>>>>> REPLACE\n\n",
        "```x\n> <<<<<<< SEARCH\n> =======\n> >>>>>>> REPLACE\n\n",
        "<CREATE_FILE path=\"a\">\n",
        "<CREATE_FILE path=\"a\">\n<EDIT_FILE>\nx\n",
        "<PLAN>\n",
        "<write_to_file>\n",
        "<function_calls>\n",
        "<file path=\"a/b.c\">\n",
        "<|tool_call_begin|>x\n",
        "[TOOL_CALLS]x\n",
        "```tool_code\nf(\n",
        "```bash\ncat > x <<EOF\n",
        "   ```diff\n   ~~~\n",
        "{\"name\":\"x\",\"a\":\n",
        "{\"a\": 1}\n",
        "```python\nx = 1\n<<<<<<< SEARCH\n",
        "<<<<<<< SEARCH\na\n=======\nb\n=======\n",
        "--- a/x.py\n@@ -1 +1 @@\n-a\n+b\nwords\n",
        "Step: [RUN_COMMAND]\n",
        "1\nx\n2\n",
        "[PLAN]\nx[/PLAN]\n",
        "[PLAN]\n</PLAN>\n",
        "[END ab12cd34#1]\nx\n[END ab12cd34#2]\n[DONE]\n",
        "{\u{201c}\n",
        "{\u{201c}a\u{201d}: \u{201c}\n",
    ] {
        let text = unit.repeat(SIZE / unit.len());
        let start = Instant::now();
        parse(&text);
        assert!(
            start.elapsed() < PATIENCE,
            "{unit:?} took {:?}",
            start.elapsed()
        );
    }
}
