//! Replies copied from a page: what the page brought along is no part of what the model said.

use super::{case, create, issue, path, shown_file};
use crate::{Reply, is_outbox, parse};
use agent_protocol::Command;

const OUTBOX: &str = "=== HEADER ===\nSession: ab12cd34\nSequence: 1\nTask: x\nProtocol: 2\n\n=== PROTOCOL ===\n``````\n[RUN_COMMAND]\nls\n[/RUN_COMMAND]\n[END ab12cd34#1]\n``````\n\n=== PROMPT ===\nDo the task in the header.\nThe last line of your code block is:\n[END ab12cd34#1]\n";

const STATUS: Command = Command::GitStatus { path: None };

fn read(name: &str) -> Command {
    Command::ReadFile {
        path: path(name).into(),
        start_line: None,
        end_line: None,
        numbered: false,
    }
}

fn whats(reply: &Reply) -> Vec<&str> {
    let repairs = reply.repairs.iter();
    repairs.map(|repair| repair.what.as_str()).collect()
}

#[test]
fn marks_of_direction_around_tags_change_nothing() {
    let done = [create("a.py", "x = 1\n"), STATUS];
    for text in [
        "[CREATE_FILE path=\"a.py\"]\nx = 1\n[/CREATE_FILE]\u{200f}\n[GIT_STATUS]",
        "\u{200f}[CREATE_FILE path=\"a.py\"]\nx = 1\n[/CREATE_FILE]\n[GIT_STATUS]",
        "[CREATE_FILE path=\"a.py\"]\nx = 1\n\u{200e}[/CREATE_FILE]\n[GIT_STATUS]",
        "[CREATE_FILE path=\"\u{200e}a.py\"]\nx = 1\n[/CREATE_FILE]\n[GIT_STATUS]",
        "[CREATE_FILE\u{200b} path=\"a.py\"]\nx = 1\n[/CREATE_FILE]\n[GIT_STATUS]",
        "\u{2068}[CREATE_FILE path=\"a.py\"]\u{2069}\nx = 1\n\u{2068}[/CREATE_FILE]\u{2069}\n[GIT_STATUS]",
        "\u{200f}[CREATE_FILE path=\"a.py\"]\n\u{200f}x = 1\n\u{200f}[/CREATE_FILE]\n\u{200f}[GIT_STATUS]",
    ] {
        case(text, &done);
        let reply = parse(text);
        let is_told = whats(&reply).iter().any(|what| what.contains("invisible"));
        assert!(is_told, "{text:?}");
    }
    let end = parse("[DONE]\n[END ab12cd34#1]\u{200f}\n").end;
    assert_eq!(end.map(|end| end.sequence), Some(1));
}

#[test]
fn marks_of_direction_in_a_file_stay() {
    let body = "\u{5d0}\u{5d1}\u{200f}!\u{200f}\n\u{645}\u{6cc}\u{200c}\u{634}\n\u{200e}1\n";
    let text = format!("[CREATE_FILE path=\"a.md\"]\n{body}[/CREATE_FILE]");
    case(&text, &[create("a.md", body)]);
    assert_eq!(parse(&text).repairs, []);
}

#[test]
fn thinking_below_our_own_prompt_is_not_done() {
    let text = format!(
        "You said:\n{OUTBOX}DeepSeek said:\n<think>\nmaybe\n[RUN_COMMAND]\nrm x\n[/RUN_COMMAND]\nno\n</think>\n[GIT_STATUS]\n[END ab12cd34#1]\n"
    );
    case(&text, &[STATUS]);
    assert_eq!(parse(&text).prose, "");
}

#[test]
fn a_page_copied_from_our_message_on_is_a_reply() {
    let answered = format!("{OUTBOX}\n\nI'll start.\n[GIT_STATUS]\n[END ab12cd34#1]\n");
    assert!(!is_outbox(&answered));
    case(&answered, &[STATUS]);
    assert_eq!(parse(&answered).prose, "I'll start.");
    for ours in [
        OUTBOX.to_owned(),
        format!("```\n{OUTBOX}```\n\n"),
        format!("{OUTBOX}\nCopy\nEdit\n"),
    ] {
        assert!(is_outbox(&ours), "{ours}");
    }
}

#[test]
fn a_file_that_holds_a_message_of_ours_is_written() {
    let text = format!(
        "[CREATE_FILE path=\"a.txt\" end=\"Q\"]\n{OUTBOX}[/CREATE_FILE Q]\n[END ab12cd34#2]"
    );
    case(&text, &[create("a.txt", OUTBOX)]);
}

#[test]
fn a_path_that_became_a_link_is_the_path() {
    let text = "[CREATE_FILE path=\"[main.py](http://main.py)\"]\nx\n[/CREATE_FILE]";
    case(text, &[create("main.py", "x\n")]);
    assert_eq!(
        whats(&parse(text)),
        ["read a link as the path that it shows"]
    );
    case(
        "[READ_FILE path=\"src/[lib.rs](http://lib.rs)\"]",
        &[read("src/lib.rs")],
    );
    case(
        "[main.py](http://main.py)\n```python\nx\n```\n",
        &[shown_file("main.py", "x\n")],
    );
    let elsewhere = "[DELETE_FILE path=\"[main.py](https://example.org/x)\"]";
    issue(
        elsewhere,
        "`[main.py](https://example.org/x)` is a link, not a path",
    );
    case(
        "[READ_FILE path=\"app/[id]/page.tsx\"]",
        &[read("app/[id]/page.tsx")],
    );
}

#[test]
fn citations_behind_a_tag_go() {
    case("[READ_FILE path=\"a.py\"][1]", &[read("a.py")]);
    let body = "See [1] and [2].\n\n[1]\n\n[1]: https://example.org\n";
    let text = format!(
        "[CREATE_FILE path=\"a.md\"]\n{body}[/CREATE_FILE] [1]\n[GIT_STATUS] \u{3010}3\u{2020}source\u{3011}\n[END ab12cd34#1] [2]"
    );
    case(&text, &[create("a.md", body), STATUS]);
    assert!(parse(&text).end.is_some());
    assert_eq!(parse("[Done][1]\n\n[1]: https://example.org").steps, []);
}

#[test]
fn the_words_of_buttons_are_not_written() {
    for labels in [
        "python\nCopy\nDownload\n",
        "python\n\nCopy code\n",
        "python\n\nCollapse\n\nWrap\n\nCopy\n",
        "python\nRun\nCopy code\n",
    ] {
        let text = format!("[CREATE_FILE path=\"a.py\"]\n{labels}x = 1\n[/CREATE_FILE]");
        case(&text, &[create("a.py", "x = 1\n")]);
        assert_eq!(whats(&parse(&text)), ["removed the words of a copy button"]);
    }
    let edit = "a.py\npython\nCopy\nDownload\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n";
    assert_eq!(parse(edit).steps.len(), 1);
    for body in [
        "# Install\nDownload\nRun\n",
        "Download\nCopy\n",
        "Python\n\nDownload it.\n",
        "Copy\nDownload\nRun\n",
    ] {
        let text = format!("[CREATE_FILE path=\"a.md\"]\n{body}[/CREATE_FILE]");
        case(&text, &[create("a.md", body)]);
    }
}

#[test]
fn all_on_one_line_is_pointed_out() {
    let text = "[CREATE_FILE path=\"a.py\"] x = 1 [/CREATE_FILE] [RUN_COMMAND] ls [/RUN_COMMAND] [END ab12cd34#1]";
    let found = issue(
        text,
        "`[CREATE_FILE` counts only as a whole tag alone on its line",
    );
    assert_eq!(found.number, Some(1));
    assert_eq!(parse(text).cut, None);
    let below = "[RUN_COMMAND] ls [/RUN_COMMAND] [GIT_STATUS]\n[CREATE_FILE path=\"a\"]\n[/RUN_COMMAND]\n[/CREATE_FILE]";
    assert_eq!(parse(below).steps.len(), 1);
}

#[test]
fn damage_that_nobody_can_undo_is_told() {
    let text = "[CREATE_FILE path=\u{201c}a.py\u{201d}]\ndef f():\nif x:\nprint(\u{201c}hi\u{201d})\n[/CREATE_FILE]";
    let found = issue(
        text,
        "its lines lost their indentation on a page, so it was not written",
    );
    assert_eq!(
        (found.number, found.command.as_deref()),
        (Some(1), Some("CREATE_FILE"))
    );
    assert_eq!(parse(text).steps.len(), 0);
    let quotes =
        "[INSERT_TEXT path=\u{201c}a.js\u{201d} line=1]\nsay(\u{201c}hi\u{201d})\n[/INSERT_TEXT]";
    issue(
        quotes,
        "its quotes became curly on a page, and it was written so",
    );
    let sound =
        "[CREATE_FILE path=\u{201c}a.js\u{201d}]\nsay(\"\u{201c}hi\u{201d}\")\n[/CREATE_FILE]";
    case(sound, &[create("a.js", "say(\"\u{201c}hi\u{201d}\")\n")]);
}

#[test]
fn a_summary_may_stand_in_the_tag() {
    let done = |summary: &str| Command::Done {
        summary: summary.to_owned(),
    };
    case("[DONE summary=\"all good\"]", &[done("all good")]);
    case("[DONE]\nall good\n[/DONE]", &[done("all good")]);
}

#[test]
fn a_call_that_may_be_data_is_told_where_nothing_else_is_asked() {
    for call in [
        r#"[{"name":"run","command":"pytest"}]"#,
        r#"{"actions":[{"name":"run","command":"pytest"}]}"#,
    ] {
        let reply = parse(&format!("{call}\n\n[DONE]\n"));
        assert_eq!(reply.steps.len(), 1);
        assert_eq!(reply.issues[0].number, Some(1), "{call}");
        assert_eq!(reply.issues[0].command.as_deref(), Some("RUN_COMMAND"));
        let shown = format!("The tasks:\n\n```json\n{call}\n```\n\n[GIT_STATUS]\n");
        case(&shown, &[STATUS]);
    }
}

#[test]
fn numbers_and_labels_between_the_lines_of_code_are_not_written() {
    let code = "import os\n\nx = 1\n    y = 2\n";
    let numbered = |write: &dyn Fn(usize, &str) -> String| -> String {
        let lines = code.lines().zip(1..);
        lines.map(|(line, number)| write(number, line)).collect()
    };
    for body in [
        numbered(&|number, line| format!("{number}: {line}\n")),
        numbered(&|number, line| format!("{number:2}  {line}\n")),
        numbered(&|number, line| format!("{number}\n{line}\n")),
        "import os\nShow more lines\n\nx = 1\nContinue generating\n    y = 2\n".to_owned(),
    ] {
        case(
            &format!("[CREATE_FILE path=\"a.py\"]\n{body}[/CREATE_FILE]\n"),
            &[create("a.py", code)],
        );
        case(
            &format!("a.py\n```python\n{body}```\n"),
            &[shown_file("a.py", code)],
        );
    }
    let words = "1  one\n2  two\n3  three\n";
    case(
        &format!("[CREATE_FILE path=\"a.txt\"]\n{words}[/CREATE_FILE]\n"),
        &[create("a.txt", words)],
    );
}

#[test]
fn the_numbers_of_the_lines_that_are_replaced_are_not_written() {
    let edit = |text: &str| Command::EditFile {
        path: path("a.py"),
        edit: agent_protocol::Edit::Lines {
            start_line: 6,
            end_line: 7,
            text: text.to_owned(),
        },
    };
    let tag = "[EDIT_FILE path=\"a.py\" start_line=\"6\" end_line=\"7\"]";
    case(
        &format!("{tag}\n6:     y = 9\n7:     return y\n[/EDIT_FILE]\n"),
        &[edit("    y = 9\n    return y\n")],
    );
    case(&format!("{tag}\n6: x\n[/EDIT_FILE]\n"), &[edit("x\n")]);
    // Numbers of other lines are entries.
    case(
        &format!("{tag}\n1: \"one\",\n2: \"two\",\n[/EDIT_FILE]\n"),
        &[edit("1: \"one\",\n2: \"two\",\n")],
    );
    case(
        "[INSERT_TEXT path=\"a.py\" line=\"5\"]\n6: x = 1\n7: y = 2\n[/INSERT_TEXT]\n",
        &[Command::InsertText {
            path: path("a.py"),
            line: 5,
            text: "x = 1\ny = 2\n".to_owned(),
        }],
    );
}
