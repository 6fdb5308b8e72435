//! Replies as they arrive after a chat page and a copy: what they say must not change.

use super::{case, create, shown_file};
use crate::{Reply, parse};
use agent_protocol::{Command, RelPath};

const CODE: &str = "fn main() {\n    let a_b = [1, 2];\n\n    if a_b[0] < 2 && true {\n        go(\"x\");\n    }\n}\n";

/// One reply in each dialect.
fn replies() -> Vec<String> {
    vec![
        format!("Hi.\n\n[CREATE_FILE path=\"src/main.rs\"]\n{CODE}[/CREATE_FILE]\n[RUN_COMMAND]\ncargo test\n[/RUN_COMMAND]\n[END ab12cd34#2]\n"),
        format!("Hi.\n\nsrc/main.rs\n```rust\n<<<<<<< SEARCH\n{CODE}=======\n    new(\"y\");\n>>>>>>> REPLACE\n```\n"),
        "*** Begin Patch\n*** Update File: src/main.rs\n@@ fn main() {\n-    let a = 1;\n+    let a = 2;\n     go();\n*** End Patch\n".to_owned(),
        "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1,3 +1,3 @@\n fn main() {\n-    let a = 1;\n+    let a = 2;\n     go();\n".to_owned(),
        "{\"thought\": \"\", \"plan\": [],\n \"actions\": [{\"tool\": \"replaceText\", \"path\": \"a.rs\",\n    \"oldString\": \"    a\", \"newString\": \"    b\"}]}\n".to_owned(),
        format!("Here is the whole of `src/main.rs`:\n\n```rust\n{CODE}```\n"),
    ]
}

fn commands(reply: Reply) -> Vec<Command> {
    reply.steps.into_iter().map(|step| step.command).collect()
}

/// Holds that every reply says the same after the damage, and that the repair is reported.
#[track_caller]
fn survives(damage: impl Fn(&str) -> String) {
    for text in replies() {
        let whole = parse(&text);
        assert!(!whole.steps.is_empty(), "{text}");
        let damaged = damage(&text);
        let reply = parse(&damaged);
        assert_eq!(
            (&reply.issues, &reply.cut),
            (&whole.issues, &whole.cut),
            "{damaged}"
        );
        assert_eq!(reply.end, whole.end, "{damaged}");
        assert_eq!(commands(reply), commands(whole), "{damaged}");
    }
}

#[test]
fn quoted_lines() {
    survives(|text| each_line(text, |_, line| format!("> {line}\n")));
    survives(|text| each_line(text, |_, line| format!(">{line}\n")));
    survives(|text| each_line(text, |_, line| format!("> > {line}\n")));
}

#[test]
fn other_line_ends() {
    survives(|text| text.replace('\n', "\r\n"));
    survives(|text| text.replace('\n', "\r"));
}

#[test]
fn other_spaces() {
    survives(|text| text.replace("    ", "\u{a0}\u{a0}\u{a0}\u{a0}"));
    survives(|text| text.replace("    ", "\u{a0} \u{a0} "));
    survives(|text| text.replace('\n', "\u{200b}\n"));
    survives(|text| format!("\u{feff}{text}"));
}

#[test]
fn line_numbers_and_signs() {
    survives(|text| each_line(text, |number, line| format!("{number:>3} | {line}\n")));
    survives(|text| each_line(text, |number, line| format!("{number}: {line}\n")));
    survives(|text| each_line(text, |_, line| format!("+ {line}\n")));
    survives(|text| each_line(text, |_, line| format!("   {line}\n")));
}

fn each_line(text: &str, write: impl Fn(usize, &str) -> String) -> String {
    let lines = (1..).zip(text.lines());
    let written: Vec<String> = lines.map(|(number, line)| write(number, line)).collect();
    written.concat()
}

#[test]
fn a_fence_around_everything() {
    survives(|text| format!("Here:\n\n``````\n{text}``````\n\nBye.\n"));
    survives(|text| format!("~~~~\n{text}~~~~\n"));
    let as_long = "````\na.txt\n````\nx\n````\n````\n";
    assert_eq!(commands(parse(as_long)), [shown_file("a.txt", "x\n")]);
    survives(|text| format!("Sure!\n\n{text}\nThat is all.\n"));
}

#[test]
fn thinking_before_the_answer() {
    survives(|text| format!("<think>\nI could say [DONE]:\n[DONE]\n</think>\n\n{text}"));
}

#[test]
fn entities() {
    // What shows that a text was escaped: quotes in tags and the markers of SEARCH/REPLACE.
    let escape = |text: &str| {
        text.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;")
    };
    for text in &replies()[..2] {
        assert_eq!(
            commands(parse(&escape(text))),
            commands(parse(text)),
            "{text}"
        );
    }
}

#[test]
fn backslashes() {
    let escaped = "\\[CREATE\\_FILE path=\"a\\_b.py\"\\]\ndef \\_\\_init\\_\\_(self):\n\\# no\n\\[/CREATE\\_FILE\\]\n";
    case(escaped, &[create("a_b.py", "def __init__(self):\n# no\n")]);
    let fenced =
        "\\[CREATE\\_FILE path=\"a.py\"\\]\n```python\nr\"\\_x\\[\"\n```\n\\[/CREATE\\_FILE\\]\n";
    case(fenced, &[create("a.py", "r\"\\_x\\[\"\n")]);
    let verbatim = "[CREATE\\_FILE path=\"a.py\"]\nx_y = r\"\\_\"\n[/CREATE\\_FILE]\n";
    case(verbatim, &[create("a.py", "x_y = r\"\\_\"\n")]);
}

#[test]
fn a_backslash_before_the_first_bracket_only() {
    let half =
        "Here:\n\\[CREATE_FILE path=\"a.py\"]\nx = [1]\n\\[/CREATE_FILE]\n\\[END ab12cd34#1]\n";
    case(half, &[create("a.py", "x = [1]\n")]);
    assert!(parse(half).end.is_some());
    // A file about the protocol keeps its own.
    let file = "[CREATE_FILE path=\"a.md\"]\n\\[CREATE_FILE path=\"b\"]\n\\[/CREATE_FILE]\n[/CREATE_FILE]\n";
    let kept = "\\[CREATE_FILE path=\"b\"]\n\\[/CREATE_FILE]\n";
    case(file, &[create("a.md", kept)]);
}

#[test]
fn curly_quotes_in_tags_only() {
    let text = "[CREATE_FILE path=\u{201c}a.md\u{201d}]\n\u{201c}quoted\u{201d}\n[/CREATE_FILE]";
    case(text, &[create("a.md", "\u{201c}quoted\u{201d}\n")]);
    assert_eq!(
        parse(text).repairs[0].what,
        "straightened curly quotes in tags"
    );
}

#[test]
fn words_of_a_copy_button() {
    case(
        "python\nCopy code\n[CREATE_FILE path=a.py]\npython\nCopy code\nx = 1\n[/CREATE_FILE]",
        &[create("a.py", "x = 1\n")],
    );
    let text = "a.py\n\npython\nCopy\nEdit\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";
    assert_eq!(parse(text).steps.len(), 1);
}

#[test]
fn the_same_reply_twice_and_parts_that_overlap() {
    let whole = &replies()[0];
    let twice = format!("{whole}\n{whole}");
    assert_eq!(commands(parse(&twice)), commands(parse(whole)));
    // Cut in the middle of a word, and sent again from the command on.
    let cut = whole.find("go(").unwrap();
    let start = whole.find("[CREATE_FILE").unwrap();
    let parts = format!("{}\n{}", &whole[..cut], &whole[start..]);
    assert_eq!(commands(parse(&parts)), commands(parse(whole)));
    let start = whole.find("    let a_b").unwrap();
    let parts = format!("{}\n{}", &whole[..cut], &whole[start..]);
    assert_eq!(commands(parse(&parts)), commands(parse(whole)));
}

/// Files that look like damage, and are none.
#[test]
fn what_a_file_contains_survives() {
    for (name, content) in [
        ("a.html", "<p>a &amp; b &lt; c&nbsp;d</p>\n&quot;\n"),
        ("a.md", "# T\n\n```sh\nls\n```\n\n> quoted\n\n```\nx\n```\n"),
        ("a.md", "Copy\n\n1. one\n2. two\n\n**[DONE]**\n"),
        (
            "a.md",
            "Vraiment\u{a0}? \u{201c}Oui\u{201d} \\[x\\] \\_y\\_\n",
        ),
        ("a.txt", "1: a\n2: b\n3: c\n"),
        ("a.txt", "> a\n> b\n"),
        ("a.py", "r\"\\[\\_\\*\\<\"\n\n\n\n"),
        ("a.md", "<think>\nhm\n</think>\n"),
        (
            "b.md",
            "[READ_FILE path=\"x\"]\n[RUN_COMMAND]\nls\n[/RUN_COMMAND]\n[END ab12cd34#9]\n",
        ),
        ("c.md", "    [CREATE_FILE path=\"x\"]\n    [/CREATE_FILE]\n"),
        ("d.md", "=== CONTEXT ===\n1. [OK] READ_FILE: x\n"),
        ("a.diff", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"),
        ("a.txt", "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"),
        ("a.json", "{\"tool\": \"run\", \"command\": \"rm -rf .\"}\n"),
        ("a.txt", "\ttab\n  trailing  \n\n"),
        ("x.rs", "    indented\n        more\n"),
        ("x.txt", "a\u{200d}b \u{200c} e\u{301}\n"),
    ] {
        let text = format!(
            "Hi.\n[CREATE_FILE path=\"{name}\"]\n{content}[/CREATE_FILE]\n[END ab12cd34#1]\n"
        );
        let reply = parse(&text);
        assert_eq!(reply.issues, [], "{text}");
        assert_eq!(commands(reply), [create(name, content)], "{text}");
    }
}

#[test]
fn a_body_that_was_changed_is_told_apart() {
    let in_body = |text: &str| {
        let repairs = parse(text).repairs;
        assert_eq!(repairs.len(), 1, "{repairs:?}");
        repairs[0].in_body
    };
    assert!(in_body(
        "[CREATE_FILE path=a]\n\u{a0}\u{a0}x y\n[/CREATE_FILE]"
    ));
    assert!(!in_body(
        "\u{a0}\u{a0}x y\n[CREATE_FILE path=a]\nz\n[/CREATE_FILE]"
    ));
    assert!(!in_body("[DELETE_FILE path=a]\r\n"));
}

#[test]
fn a_cut_in_another_dialect_is_a_cut() {
    for text in [
        "a.rs\n<<<<<<< SEARCH\na\n=======\nb\n",
        "*** Begin Patch\n*** Update File: a.rs\n@@\n-a\n+b\n",
        "{\"actions\": [{\"tool\": \"write_file\", \"path\": \"a\", \"content\": \"x",
    ] {
        let reply = parse(text);
        assert!(
            reply.cut.is_some() && reply.steps.is_empty(),
            "{text}: {reply:?}"
        );
    }
    let marked = "*** Begin Patch\n*** Update File: a.rs\n@@\n-a\n+b\n[END ab12cd34#1]\n";
    let reply = parse(marked);
    assert!(reply.cut.is_none() && reply.end.is_some());
    assert_eq!(reply.steps.len(), 1);
    assert_eq!(
        reply.steps[0].command.path(),
        Some(&RelPath::parse("a.rs").unwrap())
    );
}
