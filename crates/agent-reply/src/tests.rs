//! Whole replies, from text to steps.

use super::*;
use agent_protocol::{Command, ContentSource, Edit, RelPath};

mod certain;
mod damage;
pub(crate) mod dialects;
mod forms;
mod meant;
mod pages;
mod precedence;
mod properties;
mod shown;

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn commands(text: &str) -> Vec<Command> {
    let reply = parse(text);
    assert_eq!(reply.issues, [], "{text}");
    reply.steps.into_iter().map(|step| step.command).collect()
}

fn create(name: &str, content: &str) -> Command {
    Command::create_file(path(name), content.to_owned())
}

/// The file that a code block under its path shows.
fn shown_file(name: &str, content: &str) -> Command {
    Command::CreateFile {
        path: path(name),
        content: content.to_owned(),
        source: ContentSource::CodeBlock,
    }
}

#[track_caller]
fn case(text: &str, expected: &[Command]) {
    assert_eq!(commands(text), expected, "{text}");
}

/// The one issue of a reply.
#[track_caller]
fn issue(text: &str, message: &str) -> Issue {
    let reply = parse(text);
    let [issue] = <[Issue; 1]>::try_from(reply.issues).unwrap_or_else(|all| panic!("{all:?}"));
    assert_eq!(issue.message, message, "{text}");
    issue
}

#[test]
fn reads_every_command() {
    case(
        "[CREATE_FILE path=\"a\"]\nx\n\n  y\n[/CREATE_FILE]\n\
         [EDIT_FILE path=\"a\" start_line=\"2\" end_line=\"3\"]\nnew\n[/EDIT_FILE]\n\
         [INSERT_TEXT path=a line=0]\ntop\n[/INSERT_TEXT]\n\
         [DELETE_FILE path='b']\n[MOVE_FILE from=\"c\" to=\"d\"]\n\
         [READ_FILE path=\"a\" start_line=\"1\" end_line=\"9\" numbered]\n\
         [LIST_FILES path=\".\" glob=\"*.rs\"]\n\
         [SEARCH_TEXT pattern=\"fn [a-z]+\" regex=\"true\" path=\"src\"]\n\
         [OUTLINE path=\"src/**/*.rs\"]\n\
         [RUN_COMMAND timeout=\"2m\"]\ncargo test\n[/RUN_COMMAND]\n\
         [GIT_STATUS]\n[GIT_DIFF path=src]\n\
         [PLAN]\n1. do\n[/PLAN]\n[MESSAGE]\nhi\n[/MESSAGE]\n[ASK_USER]\nwhy?\n[/ASK_USER]\n\
         [DONE]\nall good\n[/DONE]\n",
        &[
            create("a", "x\n\n  y\n"),
            Command::EditFile {
                path: path("a"),
                edit: Edit::Lines {
                    start_line: 2,
                    end_line: 3,
                    text: "new\n".to_owned(),
                },
            },
            Command::InsertText {
                path: path("a"),
                line: 0,
                text: "top\n".to_owned(),
            },
            Command::DeleteFile { path: path("b") },
            Command::MoveFile {
                from: path("c"),
                to: path("d"),
            },
            Command::ReadFile {
                path: path("a").into(),
                start_line: Some(1),
                end_line: Some(9),
                numbered: true,
            },
            Command::ListFiles {
                path: None,
                glob: Some("*.rs".to_owned()),
            },
            Command::SearchText {
                pattern: "fn [a-z]+".to_owned(),
                path: Some(path("src").into()),
                glob: None,
                regex: true,
                case_sensitive: false,
                context: 0,
            },
            Command::Outline {
                path: Some(path("src/**/*.rs").into()),
            },
            Command::RunCommand {
                script: "cargo test".to_owned(),
                timeout: Some(120),
            },
            Command::GitStatus { path: None },
            Command::GitDiff {
                path: Some(path("src")),
            },
            Command::Plan {
                text: "1. do".to_owned(),
            },
            Command::Message {
                text: "hi".to_owned(),
            },
            Command::AskUser {
                question: "why?".to_owned(),
            },
            Command::Done {
                summary: "all good".to_owned(),
            },
        ],
    );
}

#[test]
fn a_body_is_verbatim() {
    case("[CREATE_FILE path=a]\n[/CREATE_FILE]", &[create("a", "")]);
    case(
        "[CREATE_FILE path=a]\n\n\n[/CREATE_FILE]",
        &[create("a", "\n\n")],
    );
    case(
        "[CREATE_FILE path=a]\n\tx  \n[/CREATE_FILE]",
        &[create("a", "\tx  \n")],
    );
    case(
        "[CREATE_FILE path=a]\n[DELETE_FILE path=b]\n[RUN_COMMAND]\nls\n[/RUN_COMMAND]\n[/CREATE_FILE]",
        &[create(
            "a",
            "[DELETE_FILE path=b]\n[RUN_COMMAND]\nls\n[/RUN_COMMAND]\n",
        )],
    );
    case(
        "[CREATE_FILE path=a end=\"Q7\"]\n[CREATE_FILE path=b]\n[/CREATE_FILE]\n[/CREATE_FILE Q7]",
        &[create("a", "[CREATE_FILE path=b]\n[/CREATE_FILE]\n")],
    );
}

#[test]
fn tags_are_found_however_they_are_dressed() {
    let done = [Command::Done {
        summary: String::new(),
    }];
    for text in [
        "[DONE]",
        "[done]",
        "**[DONE]**",
        "- [DONE]",
        "> [DONE]",
        "### [DONE]",
        "`[DONE]`",
        "1. [DONE]",
        "Well.\n\n```text\n[DONE]\n```\n",
        "``````\n[DONE]\n\n``````",
        "[DONE]\n[/DONE]",
        "\\[DONE\\]",
        "\u{feff}[DONE]",
    ] {
        case(text, &done);
    }
}

#[test]
fn prose_is_kept_and_shell_blocks_in_it_are_not_run() {
    let reply = parse("Run this:\n\n```bash\nrm -rf /\n```\n\n[TODO] and [1] are words.");
    assert_eq!(reply.steps, []);
    assert_eq!(reply.issues, []);
    assert_eq!(
        reply.prose,
        "Run this:\n\n```bash\nrm -rf /\n```\n\n[TODO] and [1] are words."
    );
    let reply = parse("Before.\n\n``````\n[DONE]\n[END ab12cd34#2]\n``````\nAfter.");
    assert_eq!(reply.prose, "Before.\n\nAfter.");
    assert_eq!(reply.end.unwrap().sequence, 2);
}

#[test]
fn a_summary_needs_its_closing_tag_before_anything_else() {
    case(
        "[DONE]\nwords\n[GIT_STATUS]\n[/DONE]",
        &[
            Command::Done {
                summary: String::new(),
            },
            Command::GitStatus { path: None },
        ],
    );
}

#[test]
fn a_malformed_command_takes_a_number_and_stops_nothing() {
    let text = "[READ_FILE]\n[CREATE_FILE path=\"../x\"]\na\n[/CREATE_FILE]\n[GIT_STATUS]";
    let reply = parse(text);
    let issues: Vec<_> = reply
        .issues
        .iter()
        .map(|it| (it.number, it.line, it.message.as_str()))
        .collect();
    assert_eq!(
        issues,
        [
            (Some(1), 1, "`path` is missing"),
            (Some(2), 2, "`../x` leaves the workspace")
        ]
    );
    assert_eq!(reply.steps.len(), 1);
    assert_eq!((reply.steps[0].number, reply.steps[0].line), (3, 5));
}

#[test]
fn says_what_is_wrong_with_numbers() {
    for (attributes, message) in [
        ("start_line=\"0\"", "lines are counted from 1"),
        (
            "start_line=\"x\"",
            "`start_line=\"x\"` is not a line number",
        ),
        ("start_line=5 end_line=3", "line 3 stands before line 5"),
        ("end_line=3", "`end_line` needs `start_line`"),
        ("start_line=-1", "`start_line=\"-1\"` is not a line number"),
    ] {
        let text = format!("[EDIT_FILE path=a {attributes}]\nx\n[/EDIT_FILE]");
        let issue = issue(&text, message);
        assert_eq!(issue.number, Some(1));
    }
    issue(
        "[INSERT_TEXT path=a]\nx\n[/INSERT_TEXT]",
        "`line` is missing",
    );
    issue("[RUN_COMMAND]\n\n[/RUN_COMMAND]", "there is nothing to run");
    issue(
        "[RUN_COMMAND timeout=soon]\nls\n[/RUN_COMMAND]",
        "`timeout=\"soon\"` is not a number of seconds",
    );
    issue("[SEARCH_TEXT path=a]", "`pattern` is missing");
}

#[test]
fn other_spellings_of_attributes_are_known() {
    let read = Command::ReadFile {
        path: path("a").into(),
        start_line: Some(2),
        end_line: Some(4),
        numbered: false,
    };
    for attributes in [
        "path=a startLine=2 endLine=4",
        "filePath=a start=2 end_line=4",
        "file=a from=2 to=4",
        "filename=a lines=2-4",
        "END_LINE=4 START_LINE=2 PATH=a",
    ] {
        case(
            &format!("[READ_FILE {attributes}]"),
            std::slice::from_ref(&read),
        );
    }
    case(
        "[RUN_COMMAND command=\"ls -l\"]\n[DONE]",
        &[
            Command::RunCommand {
                script: "ls -l".to_owned(),
                timeout: None,
            },
            Command::Done {
                summary: String::new(),
            },
        ],
    );
    case(
        "[DELETE_FILE]\nsrc/a.rs\n[/DELETE_FILE]",
        &[Command::DeleteFile {
            path: path("src/a.rs"),
        }],
    );
}

#[test]
fn unknown_attributes_are_reported_and_ignored() {
    let reply = parse("[GIT_STATUS colour=\"red\"]");
    assert_eq!(reply.steps.len(), 1);
    assert_eq!(reply.issues[0].number, None);
    assert!(reply.issues[0].message.contains("`colour`"));
}

#[test]
fn unknown_commands_are_reported_with_what_was_meant() {
    let found = issue(
        "[WRITE_FILE path=\"a\"]\n[DELETE_FILE path=b]\n[/WRITE_FILE]",
        "there is no command `WRITE_FILE`",
    );
    assert!(found.hint.contains("[CREATE_FILE"), "{}", found.hint);
    assert_eq!(found.number, Some(1));
    for name in ["FICHIER_CR\u{c9}ER", "\u{6587}\u{4ef6}"] {
        let text = format!("[{name} path=\"a.py\"]\nx\n[/{name}]");
        issue(&text, &format!("there is no command `{name}`"));
    }
    let found = issue("[FOO_BAR x=\"1\"]", "there is no command `FOO_BAR`");
    assert!(!found.hint.contains("mean"), "{}", found.hint);
    case("[FOO_BAR]", &[]);
}

#[test]
fn a_reply_cut_in_a_body_runs_what_came_before() {
    let reply = parse("[GIT_STATUS]\n[CREATE_FILE path=\"src/a.rs\"]\nfn main() {\n[DONE]\n");
    assert_eq!(reply.steps.len(), 1);
    assert_eq!(
        reply.cut,
        Some(TruncatedReply {
            line: 2,
            what: "CREATE_FILE src/a.rs".to_owned()
        })
    );
}

#[test]
fn a_forgotten_closing_tag_is_no_cut_where_the_reply_is_whole() {
    let reply = parse("[CREATE_FILE path=a]\nx\n[GIT_STATUS]\n[END ab12cd34#1]\n```");
    assert_eq!(reply.cut, None);
    assert_eq!(reply.issues[0].message, "`[/CREATE_FILE]` is missing");
    assert_eq!(reply.issues[0].number, Some(1));
    assert_eq!(reply.steps[0].number, 2);
    let reply = parse("[CREATE_FILE path=a]\nx\n[END ab12cd34#1]");
    assert_eq!((reply.steps.len(), reply.issues.len()), (0, 1));
    assert!(reply.end.is_some());
}

#[test]
fn a_body_with_its_own_closing_tag_is_not_written_in_part() {
    let found = issue(
        "[CREATE_FILE path=a]\nx\n[/CREATE_FILE]\ny\n[/CREATE_FILE]\n[DONE]",
        "the body contains `[/CREATE_FILE]`, so its end is uncertain",
    );
    assert!(found.hint.contains("end=\"Q7\""));
    case(
        "[CREATE_FILE path=a]\nx\n[/CREATE_FILE]\n\n[/CREATE_FILE]\n[/CREATE_FILE]\n",
        &[create("a", "x\n")],
    );
}

#[test]
fn invented_results_are_pointed_out_once() {
    let found = issue(
        "[RUN_COMMAND]\ncargo test\n[/RUN_COMMAND]\n\nOutput: all tests pass\n1. [OK] RUN_COMMAND: fine\n",
        invented::MESSAGE,
    );
    assert_eq!((found.line, found.number), (5, None));
    issue("## Previous Command Results\nfine", invented::MESSAGE);
}

#[test]
fn nothing_in_invented_results_counts() {
    let text = "## Requested File Contents\n```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n```\n[GIT_STATUS]\n";
    let reply = parse(text);
    assert_eq!(reply.steps.len(), 1, "{reply:?}");
    assert_eq!(reply.steps[0].command.name(), "GIT_STATUS");
}

#[test]
fn a_tag_that_is_not_alone_on_its_line_is_pointed_out() {
    let found = issue(
        "[RUN_COMMAND] cargo test\n[DELETE_FILE path=a]\n[/RUN_COMMAND]",
        "`[RUN_COMMAND` counts only as a whole tag alone on its line",
    );
    assert_eq!(found.number, Some(1));
    let found = issue(
        "[CREATE_FILE\n path=\"a\"]\nx\n[/CREATE_FILE]",
        "`[CREATE_FILE` counts only as a whole tag alone on its line",
    );
    assert_eq!(found.number, Some(1));
    let found = issue(
        "[DONE] is what I will say at the end.",
        "`[DONE` counts only as a whole tag alone on its line",
    );
    assert_eq!(found.number, None);
}

#[test]
fn a_prompt_that_was_copied_along_is_not_obeyed() {
    let text =
        "You said:\n=== HEADER ===\n[DELETE_FILE path=a]\n=== PROMPT ===\nGo on.\n\n[GIT_STATUS]\n";
    case(text, &[Command::GitStatus { path: None }]);
    assert_eq!(parse(text).prose, "Go on.");
}

#[test]
fn our_own_prompt_is_not_obeyed() {
    let text = "=== HEADER ===\nTask: x\n\n=== PROTOCOL ===\n[DONE]\n\n=== PROMPT ===\n";
    assert!(is_outbox(text));
    assert!(is_outbox(&format!(
        "\u{feff}> {}",
        text.replace('\n', "\r\n> ")
    )));
    assert_eq!(parse(text).steps, []);
    assert!(!is_outbox("Well, === HEADER ===\n=== PROMPT ==="));
    assert!(is_outbox(
        "=== PART 2 of 3 ===\nThis message comes in 3 parts"
    ));
    assert!(!is_outbox("=== PART 2 of 3\n"));
}

#[test]
fn an_end_mark_is_seen_from_the_tail_alone() {
    for text in [
        "[END ab12cd34#3]",
        "x]\n**[END ab12cd34#3]**\n``````\n\n",
        "> [end ab12cd34#3]\r\n",
    ] {
        assert_eq!(end_mark(text).map(|mark| mark.sequence), Some(3), "{text}");
    }
    assert_eq!(end_mark("[END ab12cd34#3]\nbye"), None);
    assert_eq!(end_mark(""), None);
}

#[test]
fn knows_the_answer_to_a_part_of_a_prompt() {
    for text in [
        "OK 1/3",
        "ok 1/3.\n",
        "```\nOK 1/3\n```",
        "**OK 1/3**",
        "> OK 1/3, waiting for the next part",
    ] {
        assert_eq!(acknowledged_part(text), Some((1, 3)), "{text}");
    }
    for text in ["OK", "1/3", "OK, here is the plan", "OK a/3", "ok/", ""] {
        assert_eq!(acknowledged_part(text), None, "{text}");
    }
}

#[test]
fn knows_that_the_chat_waits_for_more_in_its_own_words() {
    for text in [
        "OK, I am waiting for part 2.",
        "Got it. Please send the next part!",
        "I have received part 1 of 2.",
    ] {
        assert!(awaits_part(text), "{text}");
    }
    for text in [
        "I wait.",
        "The partial send failed",
        "This is part of it.",
        "",
    ] {
        assert!(!awaits_part(text), "{text}");
    }
    assert!(!awaits_part(&"waiting for part 2 ".repeat(100)));
}
