//! Where a reply can be read in two ways, it is not guessed: nothing is done, and the model is told.

use super::{case, create, issue, path};
use crate::{Reply, TruncatedReply, parse, work};
use agent_protocol::{Command, Edit};

fn names(reply: &Reply) -> Vec<&str> {
    let steps = reply.steps.iter();
    steps.map(|step| step.command.name()).collect()
}

/// Holds that nothing is done, and that one malformed command says so.
#[track_caller]
fn refused(text: &str, message: &str) {
    let reply = parse(text);
    assert_eq!(names(&reply), [""; 0], "{text}");
    let found = issue(text, message);
    assert_eq!(found.number, Some(1), "{text}");
    assert!(!found.hint.is_empty());
}

/// The repairs that reach into a body.
fn repairs(text: &str) -> Vec<String> {
    let repairs = parse(text).repairs.into_iter();
    repairs
        .filter(|repair| repair.in_body)
        .map(|repair| repair.what)
        .collect()
}

fn edit(name: &str, lines: (u32, u32), text: &str) -> Command {
    Command::EditFile {
        path: path(name),
        edit: Edit::Lines {
            start_line: lines.0,
            end_line: lines.1,
            text: text.to_owned(),
        },
    }
}

fn insert(name: &str, line: u32, text: &str) -> Command {
    Command::InsertText {
        path: path(name),
        line,
        text: text.to_owned(),
    }
}

const FENCE_GONE: &str = "removed the code fence around a body";

#[test]
fn a_fence_that_belongs_to_the_file_stays() {
    case(
        "``````\n[EDIT_FILE path=\"README.md\" start_line=\"4\" end_line=\"5\"]\ncargo build\n```\n[/EDIT_FILE]\n``````",
        &[edit("README.md", (4, 5), "cargo build\n```\n")],
    );
    case(
        "```\n[EDIT_FILE path=\"README.md\" start_line=\"4\"]\ncargo build\n```\n[/EDIT_FILE]\n```",
        &[edit("README.md", (4, 4), "cargo build\n```\n")],
    );
    let docstring = "    ```python\n    f(1)\n    ```\n";
    case(
        &format!("[INSERT_TEXT path=\"a.py\" line=\"3\"]\n{docstring}[/INSERT_TEXT]"),
        &[insert("a.py", 3, docstring)],
    );
    case(
        "``````\n[EDIT_FILE path=\"a.py\" start_line=\"3\" end_line=\"4\"]\n    ```python\n    f(1)\n[/EDIT_FILE]\n``````",
        &[edit("a.py", (3, 4), "    ```python\n    f(1)\n")],
    );
    case(
        "``````\n[CREATE_FILE path=\"a.md\"]\n```markdown\n# A\n[/CREATE_FILE]\n``````",
        &[create("a.md", "```markdown\n# A\n")],
    );
    case(
        "``````\n[CREATE_FILE path=\"a.md\"]\n# A\n```\n[/CREATE_FILE]\n``````",
        &[create("a.md", "# A\n```\n")],
    );
}

#[test]
fn a_fence_that_goes_is_told() {
    for (text, expected) in [
        (
            "[CREATE_FILE path=a.py]\n```python\nx\n```\n[/CREATE_FILE]",
            create("a.py", "x\n"),
        ),
        (
            "[CREATE_FILE path=a.py]\n```python\nx\n[/CREATE_FILE]\n```",
            create("a.py", "x\n"),
        ),
        (
            "```\n[CREATE_FILE path=a.py]\nx\n```\n[/CREATE_FILE]",
            create("a.py", "x\n"),
        ),
        (
            "[EDIT_FILE path=a.py start_line=1]\n```python\nx\n```\n[/EDIT_FILE]",
            edit("a.py", (1, 1), "x\n"),
        ),
        (
            "[EDIT_FILE path=a.py start_line=1]\n```python\nx\n[/EDIT_FILE]\n```",
            edit("a.py", (1, 1), "x\n"),
        ),
        (
            "- [INSERT_TEXT path=a.py line=1]\n  ```python\n  x\n  ```\n  [/INSERT_TEXT]",
            insert("a.py", 1, "x\n"),
        ),
    ] {
        case(text, &[expected]);
        assert!(
            repairs(text).iter().any(|what| what == FENCE_GONE),
            "{text}"
        );
    }
}

const OWN_CLOSING: &str = "the body contains `[/CREATE_FILE]`, so its end is uncertain";

#[test]
fn what_stands_behind_a_closing_tag_inside_of_a_body_is_not_done() {
    let document = "[CREATE_FILE path=\"PROTOCOL.md\"]\n# P\nClose with:\n[/CREATE_FILE]\nThen run:\n\
                    [RUN_COMMAND]\ntouch x\n[/RUN_COMMAND]\nend of doc\n[/CREATE_FILE]\n";
    refused(document, OWN_CLOSING);
    let around = format!("[GIT_STATUS]\n{document}[GIT_DIFF]\n[END ab12cd34#1]\n");
    let reply = parse(&around);
    assert_eq!(names(&reply), ["GIT_STATUS", "GIT_DIFF"]);
    assert_eq!(reply.steps[1].number, 3);
    assert_eq!((reply.issues[0].number, reply.issues[0].line), (Some(2), 2));
    assert!(reply.end.is_some());
    // The command inside is itself without an end.
    refused(
        "[CREATE_FILE path=P.md]\nClose with:\n[/CREATE_FILE]\nRun with\n[RUN_COMMAND]\nls\n[/CREATE_FILE]\n",
        OWN_CLOSING,
    );
    let reply = parse(
        "[CREATE_FILE path=P.md]\nClose with:\n[/CREATE_FILE]\nRun with\n[RUN_COMMAND]\n[/CREATE_FILE]\n\
         [RUN_COMMAND]\nls\n[/RUN_COMMAND]\n[END ab12cd34#1]",
    );
    assert_eq!(names(&reply), ["RUN_COMMAND"]);
    assert_eq!(reply.issues[0].message, OWN_CLOSING);
    // The command inside is of the same name, and words stand before it.
    refused(
        "[CREATE_FILE path=P.md]\nClose with:\n[/CREATE_FILE]\nOpen with:\n[CREATE_FILE path=x]\nfoo\n\
         [/CREATE_FILE]\nend of doc\n[/CREATE_FILE]",
        OWN_CLOSING,
    );
    let found = issue(document, OWN_CLOSING);
    assert!(
        found
            .hint
            .ends_with("Nothing from there down to line 10 was done.")
    );
    // A closing tag in the body of another command belongs to that body.
    case(
        "[CREATE_FILE path=a]\nx\n[/CREATE_FILE]\n[INSERT_TEXT path=b line=1]\n[/CREATE_FILE]\n[/INSERT_TEXT]",
        &[create("a", "x\n"), insert("b", 1, "[/CREATE_FILE]\n")],
    );
    // With a mark of its own the end is certain.
    let reply = parse("[CREATE_FILE path=a end=Q]\nx\n[/CREATE_FILE Q]\nwords\n[/CREATE_FILE]\n");
    assert_eq!(names(&reply), ["CREATE_FILE"]);
}

const NO_CLOSING: &str =
    "another `[CREATE_FILE` begins before `[/CREATE_FILE]`, so its end is uncertain";

#[test]
fn a_forgotten_closing_tag_does_not_put_one_file_into_another() {
    refused(
        "[CREATE_FILE path=\"a.py\"]\nx = 1\n[CREATE_FILE path=\"b.py\"]\ny = 2\n[/CREATE_FILE]\n",
        NO_CLOSING,
    );
    let reply = parse(
        "[CREATE_FILE path=\"a.py\"]\nx = 1\n\nNow the second:\n[CREATE_FILE path=\"b.py\"]\ny = 2\n\
         [/CREATE_FILE]\nAnd run it:\n[RUN_COMMAND]\nls\n[/RUN_COMMAND]\n[END ab12cd34#1]",
    );
    assert_eq!(names(&reply), ["RUN_COMMAND"]);
    assert_eq!(reply.issues[0].message, NO_CLOSING);
    assert_eq!(reply.issues[0].number, Some(1));
}

#[test]
fn a_closing_tag_in_a_sentence_or_an_example_does_not_end_a_cut_body() {
    for text in [
        "[CREATE_FILE path=\"P.md\"]\n# P\nEvery block ends with [/CREATE_FILE]\nMore text that is cut of",
        "[CREATE_FILE path=\"P.md\"]\n# P\nClose it with\n\n    [/CREATE_FILE]\n\nMore text that is cut of",
        "[CREATE_FILE path=\"P.md\"]\n# P\nClose it with\n</CREATE_FILE>\nMore text that is cut of",
        "[CREATE_FILE path=\"P.md\"]\n# P\n- `[/CREATE_FILE]`\nMore text that is cut of",
    ] {
        let reply = parse(text);
        assert_eq!(names(&reply), [""; 0], "{text}");
        let cut = TruncatedReply {
            line: 1,
            what: "CREATE_FILE P.md".to_owned(),
        };
        assert_eq!(reply.cut, Some(cut), "{text}");
    }
    for after in ["", "\n```\n", "\n[GIT_STATUS]\n", "\n\n[END ab12cd34#1]\n"] {
        let text = format!("[CREATE_FILE path=a]\nx\n    [/CREATE_FILE]{after}");
        let reply = parse(&text);
        assert_eq!(reply.steps[0].command, create("a", "x\n"), "{text}");
        assert_eq!(
            reply.repairs[0].what,
            "read an indented or quoted `[/CREATE_FILE]` as the end of a body"
        );
    }
}

#[test]
fn a_command_in_backticks_among_words_is_a_quotation() {
    for text in [
        "I will not do that:\n\n- `[DELETE_FILE path=\"src/main.rs\"]`\n\nbecause it is needed.",
        "I could do\n`[DELETE_FILE path=\"src/main.rs\"]`",
        "`[MOVE_FILE from=a to=b]`\nis what I would do.",
        "Never\n\n`[RUN_COMMAND]rm -rf .[/RUN_COMMAND]`\n\nplease",
        "Commands go into\n\n- `[RUN_COMMAND]`\n\nof course.",
        "I end with\n`[DONE]`\nonly when it works.",
    ] {
        let reply = parse(text);
        assert_eq!(names(&reply), [""; 0], "{text}");
        assert_eq!(reply.cut, None, "{text}");
        let [found] = &reply.issues[..] else {
            panic!("{text}: {:?}", reply.issues);
        };
        assert_eq!(found.number, None, "{text}");
        assert_eq!(
            found.message,
            "it stands in backticks among words, so it was taken for a quotation and not done"
        );
    }
    case(
        "`[DELETE_FILE path=\"a\"]`\n",
        &[Command::DeleteFile { path: path("a") }],
    );
    case(
        "I write it:\n\n`[CREATE_FILE path=\"a\"]`\nx\n`[/CREATE_FILE]`\n\nThat is all.",
        &[create("a", "x\n")],
    );
}

#[test]
fn what_would_change_something_in_invented_results_is_not_done() {
    let not_done = "it stands in what you wrote as results, so it was not done";
    let reply = parse(
        "[RUN_COMMAND]\nls\n[/RUN_COMMAND]\n\n## Requested File Contents\n### notes.md\n\
         [READ_FILE path=x]\n[DELETE_FILE path=\"src/main.rs\"]\nend\n[END ab12cd34#1]\n",
    );
    assert_eq!(names(&reply), ["RUN_COMMAND", "READ_FILE"]);
    assert_eq!(reply.issues[1].message, not_done);
    assert_eq!(reply.issues[1].number, Some(3));
    let reply = parse(
        "[RUN_COMMAND]\ncat a\n[/RUN_COMMAND]\n\nOutput:\n```\n[DELETE_FILE path=b]\n```\n[GIT_STATUS]\n",
    );
    assert_eq!(names(&reply), ["RUN_COMMAND", "GIT_STATUS"]);
    assert_eq!(reply.issues[1].message, not_done);
    // A frame or the end mark ends what was made up.
    let reply = parse("## Previous Command Results\nfine\n``````\n[DELETE_FILE path=b]\n``````\n");
    assert_eq!(names(&reply), ["DELETE_FILE"]);
}

#[test]
fn a_seam_of_two_parts_inside_of_a_body_is_not_written() {
    let message =
        "the code block around it ends inside of its body, so what belongs to it is uncertain";
    for between in [
        "\n\nContinuing where I left off:\n\n``````",
        "\n\nContinuing:\n\n``````text",
        "\n\nContinuing:\n",
        "\n``````",
    ] {
        refused(
            &format!(
                "``````\n[CREATE_FILE path=\"a.py\"]\nx = 1\n``````{between}\ny = 2\n[/CREATE_FILE]\n[END ab12cd34#1]\n``````\n"
            ),
            message,
        );
    }
    case(
        "```````\n[CREATE_FILE path=\"a.md\"]\nx\n``````\n[DONE]\n``````\ny\n[/CREATE_FILE]\n```````\n",
        &[create("a.md", "x\n``````\n[DONE]\n``````\ny\n")],
    );
    case(
        "``````\n[CREATE_FILE path=\"a.md\"]\n``````text\nx\n``````\ny\n[/CREATE_FILE]\n``````\n",
        &[create("a.md", "``````text\nx\n``````\ny\n")],
    );
}

#[test]
fn a_name_with_spaces_and_no_quotes_is_not_guessed() {
    for (text, value) in [
        ("[DELETE_FILE path=old notes.txt]", "path=old notes.txt"),
        ("[DELETE_FILE path=data,v2.csv]", "path=data v2.csv"),
        ("[MOVE_FILE from=a b.txt to=c d.txt]", "from=a b.txt"),
        (
            "[CREATE_FILE path=my file.txt]\nx\n[/CREATE_FILE]",
            "path=my file.txt",
        ),
        ("[RUN_COMMAND command=rm -rf target]", "command=rm -rf"),
    ] {
        refused(
            text,
            &format!("`{value}` can be read in two ways without quotes"),
        );
    }
    refused(
        "[DELETE_FILE path=\"old\" notes.txt]",
        "the quote after `path=` is not closed",
    );
    let reply = parse("[READ_FILE path=old notes.txt]");
    assert_eq!(names(&reply), ["READ_FILE"]);
    case(
        "[CREATE_FILE path=a.txt, end=Q]\nx\n[/CREATE_FILE Q]",
        &[create("a.txt", "x\n")],
    );
}

#[test]
fn a_backslash_of_markdown_in_a_name_is_no_directory() {
    let text = "[CREATE_FILE path=\"my\\_file.py\"]\nx\n[/CREATE_FILE]";
    case(text, &[create("my_file.py", "x\n")]);
    assert_eq!(repairs(text), ["read `\\_` in a path as `_`"]);
    case(
        "[CREATE_FILE path=\"src\\_private\\a.py\"]\nx\n[/CREATE_FILE]",
        &[create("src/_private/a.py", "x\n")],
    );
}

#[test]
fn numbers_that_belong_to_the_content_stay() {
    for (name, content) in [
        ("a.rs", "4294967295: a\nb\n"),
        ("a.rs", "4294967295: a\n0: b\n"),
        ("users.dat", "1\tAlice\n2\tBob\n3\tCarol\n"),
        ("a.rs", "1\tAlice\n2\tBob\n"),
        ("case1.expected", "1: one\n2: two\n"),
        (
            "quiz.txt",
            "a) Describe the step in detail here\nb) Check the results carefully\nAnswer: 1\n\
             a) Describe the step in detail here\nb) Check the results carefully\nAnswer: 12\n",
        ),
    ] {
        let text =
            format!("[CREATE_FILE path=\"{name}\"]\n{content}[/CREATE_FILE]\n[END ab12cd34#1]");
        case(&text, &[create(name, content)]);
    }
    let entries = "    1: \"one\",\n    2: \"two\",\n";
    case(
        &format!("[INSERT_TEXT path=a.py line=3]\n{entries}[/INSERT_TEXT]"),
        &[insert("a.py", 3, entries)],
    );
}

#[test]
fn a_label_above_a_fence_in_a_document_stays() {
    let text = "Python\n```python\nf(1)\n```\n";
    case(
        &format!("[INSERT_TEXT path=README.md line=3]\n{text}[/INSERT_TEXT]"),
        &[insert("README.md", 3, text)],
    );
}

#[test]
fn a_quote_mark_takes_its_space_along_where_there_is_one() {
    case(
        "> [CREATE_FILE path=\"Makefile\"]\n> all:\n>\tgcc\n> [/CREATE_FILE]\n> [END ab12cd34#1]",
        &[create("Makefile", "all:\n\tgcc\n")],
    );
    case(
        "Look:\n> [CREATE_FILE path=\"Makefile\"]\n> all:\n>\tgcc\n> [/CREATE_FILE]\n",
        &[create("Makefile", "all:\n\tgcc\n")],
    );
}

#[test]
fn the_number_of_issues_is_bounded() {
    let reply = parse(&format!("{}x", "[PLAN x\n".repeat(5000)));
    assert!(reply.issues.len() <= 201, "{}", reply.issues.len());
    let last = reply.issues.last().unwrap();
    assert_eq!(last.message, "4800 further problems are not told");
    let reply = parse(&format!("x\n{}", "[READ_FILE]\n".repeat(300)));
    assert_eq!(reply.issues.last().unwrap().number, Some(201));
}

#[test]
fn what_is_hard_to_read_costs_no_more_than_its_length() {
    const RUN: &str = "[RUN_COMMAND]\nls\n[/RUN_COMMAND]\n";
    let blank = |size| "\n".repeat(size);
    let texts: [&dyn Fn(usize) -> String; 9] = [
        &|size| format!("[READ_FILE {}]", "path=a ".repeat(size)),
        &|size| format!("[GIT_STATUS {}]", "path=a ".repeat(size)),
        &|size| format!("{RUN}{}{}", blank(size), "Output:\n".repeat(size)),
        &|size| format!("{RUN}{}x\n{}", blank(size), "Output:\n".repeat(size)),
        &|size| format!("{RUN}{}x\n{}", blank(size), "[/RUN_COMMAND]\n".repeat(size)),
        &|size| format!("{RUN}{}{}", blank(size), "[/RUN_COMMAND]\n\n".repeat(size)),
        &|size| {
            let plans: Vec<String> = (0..size).map(|at| format!("[plan {at}]\n")).collect();
            format!("{}[END ab12cd34#1]{}", plans.concat(), blank(size))
        },
        &|size| format!("{}    [/plan]{}x", "[plan x]\n".repeat(size), blank(size)),
        &|size| {
            format!(
                "{RUN}{}",
                "[CREATE_FILE path=a]\n[/RUN_COMMAND]\n".repeat(size)
            )
        },
    ];
    for text in texts {
        work::assert_linear(500, |size| {
            parse(&text(size));
        });
    }
}

#[test]
fn a_fence_around_settings_is_removed() {
    for name in [
        "a.yaml",
        "a.yml",
        "Makefile",
        "Dockerfile",
        ".env",
        "CMakeLists.txt",
    ] {
        let text = format!("[CREATE_FILE path=\"{name}\"]\n```yaml\na: 1\n```\n[/CREATE_FILE]\n");
        let reply = parse(&text);
        let Command::CreateFile { content, .. } = &reply.steps[0].command else {
            panic!("{reply:?}");
        };
        assert_eq!(content, "a: 1\n", "{name}");
        assert_eq!(reply.repairs.len(), 1, "{name}");
    }
}

#[test]
fn changes_of_a_file_are_not_written_as_its_content() {
    let diff = "--- a/config.yaml\n+++ b/config.yaml\n@@ -1 +1 @@\n-a: 1\n+a: 2\n";
    let block = "<<<<<<< SEARCH\na: 1\n=======\na: 2\n>>>>>>> REPLACE\n";
    let added = "+import os\n+\n+def f():\n+    return 1\n";
    for (name, body, is_written) in [
        ("config.yaml", diff, false),
        ("config.yaml", block, false),
        ("src/util.py", added, false),
        ("src/util.py", block, false),
        ("config.yaml.diff", diff, true),
        ("other.txt", diff, true),
        ("notes.md", block, true),
        ("list.md", "+ a\n+ b\n+ c\n", true),
    ] {
        let text = format!("[CREATE_FILE path=\"{name}\"]\n{body}[/CREATE_FILE]\n");
        let reply = parse(&text);
        assert_eq!(reply.steps.len(), usize::from(is_written), "{text}");
        assert_eq!(reply.issues.len(), usize::from(!is_written), "{text}");
    }
}

#[test]
fn lines_of_a_diff_do_not_replace_a_range() {
    for (name, body, is_done) in [
        ("a.yaml", "   host: x\n-  port: 1\n+  port: 2\n", false),
        ("a.yaml", "- one\n- two\n", true),
        ("a.py", "    x = (1\n    - 2\n    + 3)\n", true),
        ("a.md", "- one\n+ two\n", true),
    ] {
        let tag = format!("[EDIT_FILE path=\"{name}\" start_line=\"2\" end_line=\"4\"]");
        let reply = parse(&format!("{tag}\n{body}[/EDIT_FILE]\n"));
        assert_eq!(reply.steps.len(), usize::from(is_done), "{body}");
        assert_eq!(reply.issues.len(), usize::from(!is_done), "{body}");
    }
}
