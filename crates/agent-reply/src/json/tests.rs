use super::*;
use crate::tests::dialects;
use agent_protocol::{FileChange, RelPath};

fn scan(text: &str) -> Vec<BlockCandidate> {
    dialects::scan(text, find)
}

fn items(text: &str) -> Vec<CandidateItem> {
    scan(text)
        .into_iter()
        .flat_map(|block| block.items)
        .collect()
}

#[track_caller]
fn one(text: &str) -> Command {
    let mut items = items(text);
    assert_eq!(items.len(), 1, "{text}: {items:?}");
    match items.remove(0) {
        CandidateItem::Command(command) => command,
        other @ CandidateItem::Problem { .. } => panic!("{other:?}"),
    }
}

#[test]
fn backslashes_that_a_model_forgot_to_double_stay() {
    for (written, meant) in [
        (r"\bfoo\s+\b", r"\bfoo\s+\b"),
        (r"\bfoo\b", r"\bfoo\b"),
        (r"\\bfoo", r"\bfoo"),
        (r"$\frac{a}{b} \beta$", r"$\frac{a}{b} \beta$"),
        (r"a\f\nb", "a\u{c}\nb"),
        (r"C:\\bin", r"C:\bin"),
    ] {
        let call = format!("{{\"tool\": \"run\", \"command\": \"{written}\"}}");
        assert_eq!(one(&call), run(meant), "{written}");
    }
}

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn read(file: &str) -> Command {
    Command::ReadFile {
        path: path(file).into(),
        start_line: None,
        end_line: None,
        numbered: false,
    }
}

fn run(script: &str) -> Command {
    Command::RunCommand {
        script: script.to_owned(),
        timeout: None,
    }
}

#[test]
fn a_plan_is_a_list_of_commands() {
    let text = r#"{"thought": "t", "plan": ["one", "two"], "actions": [{"tool": "read_file", "path": "a"}, {"tool": "run", "command": "ls"}]}"#;
    assert_eq!(
        items(text),
        vec![
            CandidateItem::Command(Command::Plan {
                text: "one\ntwo".to_owned()
            }),
            CandidateItem::Command(read("a")),
            CandidateItem::Command(run("ls")),
        ]
    );
    assert_eq!(
        one(r#"{"thought": "all done", "plan": [], "actions": []}"#),
        Command::Done {
            summary: "all done".to_owned()
        }
    );
}

#[test]
fn a_call_may_be_written_in_many_ways() {
    for text in [
        r#"{"tool": "read_file", "path": "a"}"#,
        r#"{"tool": "readFile", "filePath": "a"}"#,
        r#"{"name": "read_file", "arguments": {"path": "a"}}"#,
        r#"{"name": "read_file", "arguments": "{\"path\": \"a\"}"}"#,
        r#"{"action": "read_file", "params": {"file_path": "a"}}"#,
        r#"{"type": "tool_use", "id": "x", "name": "read_file", "input": {"path": "a"}}"#,
        r#"{"type": "function", "function": {"name": "read_file", "arguments": "{\"path\":\"a\"}"}}"#,
        r#"{"function": "read_file", "parameters": {"path": "a"}}"#,
        r#"{"name": "read_file", "path": "a"}"#,
        r#"[{"tool": "read_file", "path": "a"}]"#,
        "{\n  \"tool\": \"read_file\", // look\n  \"path\": \"a\",\n}",
        "```json\n{\n  \"tool\": \"read_file\",\n  \"path\": \"a\"\n}\n```",
        "```json\n{\"tool\": \"read_file\", \"path\": \"a\"\n```\nMore.",
        "Let me look:\n\n{\"actions\": [{\"tool\": \"read_file\", \"path\": \"a\"}]}\n\nDone.",
    ] {
        assert_eq!(one(text), read("a"), "{text}");
    }
}

#[test]
fn several_values_stand_one_after_the_other() {
    let call = r#"{"tool": "read_file", "path": "a"}"#;
    for text in [
        format!("{call}\n{call}"),
        format!("{call}{call}"),
        format!("{call}, {call}"),
        format!("```json\n{call}\n\n{call}\n```\n"),
        format!("[{call},\n{call}]"),
    ] {
        assert_eq!(
            items(&text),
            vec![
                CandidateItem::Command(read("a")),
                CandidateItem::Command(read("a"))
            ],
            "{text}"
        );
    }
    let found = scan(&format!("```json\n{call}\n{call}\n```\nText"));
    assert_eq!(found[0].span, 0..2);
    assert_eq!(found[1].span, 2..4);
}

#[test]
fn every_tool_of_the_table_is_known() {
    for (text, expected) in [
        (
            r#"{"tool": "view_file", "path": "a", "from": 2, "to": "9"}"#,
            r#"{"command":"READ_FILE","path":"a","start_line":2,"end_line":9,"numbered":false}"#,
        ),
        (
            "{\"tool\": \"write_file\", \"path\": \"a\", \"content\": \"one\ntwo\\n\"}",
            r#"{"command":"CREATE_FILE","path":"a","content":"one\ntwo\n"}"#,
        ),
        (
            r#"{"tool": "insert_text", "path": "a", "line": 0, "text": "x"}"#,
            r#"{"command":"INSERT_TEXT","path":"a","after_line":0,"text":"x"}"#,
        ),
        (
            r#"{"tool": "replace_text", "path": "a", "pattern": "a+", "replacement": "b"}"#,
            r#"{"command":"EDIT_FILE","path":"a","edits":[{"search":"a+","replace":"b","pattern":"regex"}]}"#,
        ),
        (
            r#"{"tool": "replaceText", "filePath": "a", "oldString": "x", "newString": "", "replaceAll": true}"#,
            r#"{"command":"EDIT_FILE","path":"a","edits":[{"search":"x","replace":"","pattern":"text","all":true}]}"#,
        ),
        (
            r#"{"tool": "replaceText", "path": "a", "oldString": "", "newString": "new"}"#,
            r#"{"command":"EDIT_FILE","path":"a","edits":[{"search":"","replace":"new","pattern":"text"}]}"#,
        ),
        (
            r#"{"tool": "listFiles", "path": "."}"#,
            r#"{"command":"LIST_FILES"}"#,
        ),
        (
            r#"{"tool": "searchText", "pattern": "x", "searchPath": "src", "isRegex": true, "caseSensitive": true}"#,
            r#"{"command":"SEARCH_TEXT","pattern":"x","path":"src","regex":true,"case_sensitive":true}"#,
        ),
        (
            r#"{"tool": "shell", "command": ["bash", "-lc", "ls | wc"]}"#,
            r#"{"command":"RUN_COMMAND","script":"ls | wc"}"#,
        ),
        (
            r#"{"tool": "shell", "command": ["echo", "it's", "a b"]}"#,
            r#"{"command":"RUN_COMMAND","script":"echo 'it'\\''s' 'a b'"}"#,
        ),
        (r#"{"tool": "git_status"}"#, r#"{"command":"GIT_STATUS"}"#),
        (r#"{"tool": "git_diff"}"#, r#"{"command":"GIT_DIFF"}"#),
        (
            r#"{"tool": "final_output", "output": "ok"}"#,
            r#"{"command":"DONE","summary":"ok"}"#,
        ),
    ] {
        assert_eq!(
            serde_json::to_string(&one(text)).unwrap(),
            expected,
            "{text}"
        );
    }
}

#[test]
fn patches_come_in_every_dialect() {
    let diff = r#"{"tool": "apply_diff", "path": "a.rs", "diff": "@@ -1 +1 @@\n-a\n+b\n"}"#;
    let envelope = r#"{"tool": "apply_patch", "input": "*** Begin Patch\n*** Update File: a.rs\n@@\n-a\n+b\n*** End Patch"}"#;
    for text in [diff, envelope] {
        let Command::ApplyPatch { changes } = one(text) else {
            panic!("{text}")
        };
        assert!(matches!(&changes[0], FileChange::Update { path, .. } if path.as_str() == "a.rs"));
    }
    let blocks = r#"{"tool": "apply_diff", "path": "a.rs", "diff": "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE"}"#;
    assert!(matches!(one(blocks), Command::EditFile { .. }));
}

#[test]
fn data_is_not_a_command() {
    for text in [
        r#"{"name": "my-package", "version": "1.0.0", "scripts": {"run": "x"}}"#,
        "```json\n{\n  \"name\": \"run\",\n  \"version\": \"1.0.0\"\n}\n```",
        r#"{"actions": [{"label": "x"}]}"#,
        r#"{"actions": {"tool": 1}}"#,
        r#"{"tool": "hammer", "weight": 3}"#,
        r#"{"name": "done"}"#,
        r#"{"name": "run", "kind": "task", "command": "make"}"#,
        r#"{"name": "run", "command": "npm start"}"#,
        r#"{"name": "shell", "command": "make clean"}"#,
        r#"{"action": "run_command", "command": "make clean"}"#,
        r#"{"actions": []}"#,
        r#"{"a": 1}"#,
        "{\n  int x;\n}",
        "{}",
        "[]",
        "[1, 2]",
        "[DONE]",
        r#"{"name": "done"} is what it says"#,
        r#"{"name": "git_status", "url": "x"}"#,
        r#"{"name": "Ann", "action": "walks"}"#,
        r#"{"name": "sort", "input": {"values": [3, 1]}}"#,
        r#"{"name": "weather", "description": "x", "parameters": {"type": "object"}}"#,
        r#"[{"name": "sort", "input": {"values": [3, 1]}}, {"name": "sum", "input": {"values": []}}]"#,
        "{\n  \"version\": 1,\n  \"open",
    ] {
        assert_eq!(scan(text), vec![], "{text}");
    }
}

#[test]
fn a_list_of_commands_to_run_may_be_data_or_meant() {
    let doubtful = |text: &str| dialects::scan(text, find_doubtful);
    for text in [
        r#"[{"name": "run", "command": "pytest"}]"#,
        r#"{"actions": [{"name": "run", "command": "pytest"}]}"#,
    ] {
        assert_eq!(scan(text), vec![], "{text}");
        let found = doubtful(text);
        assert!(
            found.iter().all(|found| !found.is_open()) && found.len() == 1,
            "{text}"
        );
        assert!(
            matches!(found[0].items[0], CandidateItem::Problem { .. }),
            "{text}"
        );
    }
    let mixed =
        r#"{"actions": [{"name": "read_file", "path": "a"}, {"name": "run", "command": "x"}]}"#;
    assert!(matches!(
        items(mixed)[..],
        [CandidateItem::Command(_), CandidateItem::Problem { .. }]
    ));
    for text in [
        r#"{"name": "run", "command": "npm start"}"#,
        r#"[{"name": "run", "kind": "task", "command": "make"}]"#,
        r#"[{"name": "test", "command": "make"}]"#,
        r#"{"actions": [{"name": "run", "command": "x"}, {"label": "x"}]}"#,
        r#"[{"name": "Ann"}]"#,
        "[]",
    ] {
        assert_eq!(doubtful(text), vec![], "{text}");
    }
}

#[test]
fn what_is_wrong_is_told() {
    let message = |text: &str| match items(text).remove(0) {
        CandidateItem::Problem(it) => format!("{}; {}", it.message, it.hint),
        other @ CandidateItem::Command(_) => panic!("{other:?}"),
    };
    assert!(message(r#"{"tool": "reed_file", "path": "a"}"#).contains("did you mean `read_file`"));
    assert!(
        message(r#"{"name": "browse", "arguments": {"url": "x"}}"#).contains("no tool `browse`")
    );
    assert!(message(r#"{"tool": "read_file"}"#).contains("needs `path`"));
    assert!(message(r#"{"tool": "read_file", "path": "/etc/passwd"}"#).contains("not relative"));
    assert!(
        message(r#"{"tool": "insert_text", "path": "a", "line": -1, "text": ""}"#)
            .contains("`line`")
    );
    let unknown = r#"{"name": "browse", "input": {"url": "x"}}"#;
    let known = r#"{"name": "read_file", "input": {"path": "a"}}"#;
    assert!(message(&format!("[{unknown}, {known}]")).contains("no tool `browse`"));
    assert!(message(r#"{"thought": "x", "actions": ["look"]}"#).contains("names no tool"));
    assert!(message(r#"{"thought": "x", "actions": [{"tool": "fly"}]}"#).contains("no tool `fly`"));
}

#[test]
fn a_value_without_its_brackets_is_open_at_the_end_and_never_done() {
    for text in [
        r#"{"thought": "I will now write the parser", "actions": ["#,
        r#"{"thought": "I will now write the parser", "#,
        "```json\n{\"thought\": \"first I\", \"actions\": [\n```\n",
        r#"{"thought":"x","actions":[{"tool":"replaceText","path":"a","oldString":"x","newString":"y""#,
        "```json\n{\"tool\": \"read_file\", \"path\": \"a\"\n```",
    ] {
        let found = scan(text);
        assert!(found.len() == 1 && found[0].is_open(), "{text}: {found:?}");
    }
    let more = "```json\n{\"thought\": \"first I\", \"actions\": [\n```\nMore.";
    assert!(
        matches!(items(more)[..], [CandidateItem::Problem { .. }]),
        "{more}"
    );
}

#[test]
fn a_value_cut_at_the_end_is_open() {
    let found = scan(
        "Here:\n```json\n{\"thought\": \"x\",\n \"actions\": [{\"tool\": \"write_file\", \"content\": \"abc\n\n",
    );
    assert_eq!(found.len(), 1);
    assert!(found[0].is_open());
    assert_eq!(found[0].span, 1..5);
    assert!(matches!(
        found[0].items[..],
        [CandidateItem::Problem { .. }]
    ));
}

fn curly(text: &str) -> Option<BlockCandidate> {
    find_curly(&text.lines().collect::<Vec<_>>(), 0)
}

#[test]
fn what_is_json_once_its_quotes_are_straight_is_read() {
    for text in [
        "{\u{201c}tool\u{201d}: \u{201c}run_command\u{201d}, \u{201c}command\u{201d}: \u{201c}echo {\u{201d}}",
        "{\n  \u{201c}tool\u{201d}: \u{201c}read_file\u{201d},\n  \u{201c}path\u{201d}: \u{201c}a\u{201d}\n}",
        "[{\u{201c}tool\u{201d}: \u{201c}write_file\u{201d}, \u{201c}path\u{201d}: \u{201c}a\u{201d}, \u{201c}content\u{201d}: \u{201c}\\\u{201c}x\\\u{201d}\u{201d}}]",
    ] {
        let found = curly(text).unwrap();
        assert!(
            matches!(found.items[..], [CandidateItem::Command(_)]),
            "{text}: {found:?}"
        );
    }
}

#[test]
fn data_and_prose_in_curly_quotes_stay() {
    for text in [
        "{\u{201c}a\u{201d}: 1}",
        "{\u{201c}tool\u{201d}: 1} and so on",
        "{\u{201c}tool",
        "\u{201c}tool\u{201d}",
        "{\"tool\": 1}",
    ] {
        assert_eq!(curly(text), None, "{text}");
    }
    let broken =
        curly("{\u{201c}tool\u{201d}: \u{201c}say \u{201c}hi\u{201d} now\u{201d}}").unwrap();
    assert!(matches!(broken.items[..], [CandidateItem::Problem { .. }]));
}

#[test]
fn a_return_behind_a_value_is_white_space() {
    let text = "{\r\n\"tool\": \"read_file\", \"path\": \"a\"\r\n}\r\nThat is\nall.\n";
    assert_eq!(scan(&text.replace("\r\n", "\r\u{a0}\n")).len(), 1);
}

#[test]
fn a_call_that_cannot_be_done_keeps_its_place_in_the_list() {
    let broken = items(
        "[{\"tool\":\"write_file\",\"path\":\"b.py\",\"content\":\"print(\"ho\")\\n\"},\n{\"tool\":\"bash\",\"command\":\"make\"}]",
    );
    let [
        CandidateItem::Problem(trouble),
        CandidateItem::Command(command),
    ] = &broken[..]
    else {
        panic!("{broken:?}");
    };
    assert_eq!(trouble.command, Some("CREATE_FILE"));
    assert_eq!(*command, run("make"));
    let unknown = items(
        "{\"tool_calls\":[{\"tool\":\"fly\",\"to\":\"moon\"},{\"tool\":\"bash\",\"command\":\"make\"}]}",
    );
    let [CandidateItem::Problem(trouble), CandidateItem::Command(_)] = &unknown[..] else {
        panic!("{unknown:?}");
    };
    assert!(trouble.message.contains("no tool `fly`"));
}

#[test]
fn a_call_with_a_key_that_no_call_has_is_data_that_is_told() {
    let record = r#"{"tool":"run","command":"make","output":"2 passed","executed":true}"#;
    let write = r#"{"tool":"write_file","path":"a","content":"b","message":"ok"}"#;
    let nested = r#"{"tool":"bash","arguments":{"command":"make"},"pid":12}"#;
    let certain = r#"{"tool":"run","command":"make"}"#;
    for (text, count) in [
        (record.to_owned(), 1),
        (write.to_owned(), 1),
        (nested.to_owned(), 1),
        (format!("[{record},{write}]"), 2),
        (format!("[{certain},{record}]"), 2),
        (format!("{{\"actions\":[{record}]}}"), 1),
    ] {
        let items = items(&text);
        let is_told = |item: &CandidateItem| match item {
            CandidateItem::Problem(trouble) => trouble.message.contains("may be data"),
            CandidateItem::Command(_) => false,
        };
        assert_eq!(items.len(), count, "{text}: {items:?}");
        assert!(items.iter().all(is_told), "{text}: {items:?}");
    }
    let meant = r#"{"tool":"bash","command":"make","description":"Builds","timeout_ms":9,"id":1}"#;
    assert_eq!(items(meant), [CandidateItem::Command(run("make"))]);
}
