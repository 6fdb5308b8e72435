//! Only what was meant is done, and what was meant and not done is told with a number, so that
//! `[DONE]` does not end the session.

use super::{case, issue, path, shown_file};
use crate::{Reply, parse, work};
use agent_protocol::Command;

fn names(reply: &Reply) -> Vec<&str> {
    let steps = reply.steps.iter();
    steps.map(|step| step.command.name()).collect()
}

/// The numbers of the malformed commands.
fn malformed(reply: &Reply) -> Vec<u32> {
    let issues = reply.issues.iter();
    issues.filter_map(|issue| issue.number).collect()
}

/// Holds what is done, and which numbers are malformed.
#[track_caller]
fn read(text: &str, done: &[&str], not_done: &[u32]) -> Reply {
    let reply = parse(text);
    assert_eq!(names(&reply), done, "{text}\n{reply:#?}");
    assert_eq!(malformed(&reply), not_done, "{text}\n{reply:#?}");
    reply
}

fn run(script: &str) -> String {
    format!("[RUN_COMMAND]\n{script}\n[/RUN_COMMAND]\n")
}

const END: &str = "[END ab12cd34#1]\n";
const DONE: &str = "[DONE]\nok\n[/DONE]\n";

fn answer(content: &str) -> String {
    let run = run(&format!("echo {content} >> log"));
    format!("[CREATE_FILE path=\"a.py\"]\n{content}\n[/CREATE_FILE]\n{run}{END}")
}

#[test]
fn of_two_answers_to_one_round_neither_is_done() {
    for text in [
        format!("Response 1\n{}Response 2\n{}", answer("one"), answer("two")),
        format!("{}{}", answer("one"), answer("two")),
        format!(
            "{}\nOnce more:\n{}\n{}",
            answer("1"),
            answer("2"),
            answer("3")
        ),
        format!("{}\nOnce more:\n{}{END}", answer("1"), run("ls")),
        format!("{}\nOnce more:\n[READ_FILE path=a]\n{END}", answer("1")),
        format!("[READ_FILE path=a]\n{END}\nOnce more:\n{}", answer("1")),
    ] {
        let reply = read(&text, &[], &[1]);
        assert_eq!(reply.issues.len(), 1);
        issue(
            &text,
            "two different answers to this round stand in the reply, so neither was done",
        );
    }
}

#[test]
fn the_same_answer_twice_is_done_once() {
    let text = format!(
        "Response 1\n{}Response 2\n\n{}",
        answer("one"),
        answer("one")
    );
    read(&text, &["CREATE_FILE", "RUN_COMMAND"], &[]);
    let text = format!("{text}Response 3\n{}", answer("one"));
    read(&text, &["CREATE_FILE", "RUN_COMMAND"], &[]);
}

#[test]
fn two_looks_are_no_contradiction() {
    let text = format!("[READ_FILE path=a]\n{END}\nAnd:\n[READ_FILE path=b]\n{END}");
    read(&text, &["READ_FILE", "READ_FILE"], &[]);
}

#[test]
fn what_stands_in_words_below_the_end_mark_is_not_done() {
    let later = run("rm -rf build");
    let text = format!(
        "{}\nFor reference, a later step could be:\n{later}{later}",
        answer("x")
    );
    read(&text, &["CREATE_FILE", "RUN_COMMAND"], &[3]);
    let found = issue(
        &text,
        "it stands below the end mark, so it was not done, nor what follows it",
    );
    assert_eq!(found.command.as_deref(), Some("RUN_COMMAND"));
    let text = format!(
        "``````\n{}``````\nLater:\n{DONE}[READ_FILE path=a]\n",
        answer("x")
    );
    read(&text, &["CREATE_FILE", "RUN_COMMAND", "READ_FILE"], &[3]);
}

#[test]
fn a_mark_in_a_wrong_place_does_no_harm() {
    for text in [
        format!("{}{DONE}", answer("x")),
        format!("``````\n{}\n{DONE}``````\n", answer("x")),
        format!("I end with\n{END}\n``````\n{}\n{DONE}``````\n", answer("x")),
        format!(
            "I end with\n{END}\n``````\n{}{DONE}{END}",
            answer("x").replace(END, "")
        ),
    ] {
        read(&text, &["CREATE_FILE", "RUN_COMMAND", "DONE"], &[]);
    }
    let text = format!("{}{END}\nThat was all:\n{END}", answer("x"));
    read(&text, &["CREATE_FILE", "RUN_COMMAND"], &[]);
}

#[test]
fn our_own_prompt_above_an_answer_is_no_answer() {
    let prompt = format!("=== HEADER ===\nx\n=== PROMPT ===\nDo the task.\n\n{END}");
    let reply = format!("You said:\n{prompt}\nChatGPT said:\n{}", answer("x"));
    read(&reply, &["CREATE_FILE", "RUN_COMMAND"], &[]);
    let unmarked = format!("You said:\n{prompt}\nChatGPT said:\n{}", run("ls"));
    read(&unmarked, &["RUN_COMMAND"], &[]);
}

const EDIT: &str =
    "<<<<<<< SEARCH\n    print(\"x\")\n=======\n    print(\"hi\")\n>>>>>>> REPLACE\n";

#[test]
fn an_edit_with_a_line_above_it_is_never_a_file() {
    let patch = "*** Begin Patch\n*** Update File: src/app.py\n@@\n-a\n+b\n*** End Patch\n";
    for block in [
        format!("# only the greeting changes\n{EDIT}"),
        format!("In the greeting:\n{patch}"),
        "In the greeting:\n@@ -1,2 +1,2 @@\n def f():\n-a\n+b\n".to_owned(),
        "@@\n def f():\n-a\n+b\n".to_owned(),
        "def f():\n@@ def g():\n-a\n+b\n".to_owned(),
        " def greet():\n-    print(\"x\")\n+    print(\"hi\")\n".to_owned(),
        "-a\n\n+b\n".to_owned(),
    ] {
        for above in ["src/app.py\n", "Here is the updated `src/app.py`:\n\n"] {
            let text = format!("{above}```python\n{block}```\n");
            read(&text, &[], &[1]);
            read(&format!("{text}\n{DONE}"), &["DONE"], &[1]);
            // What is shown above the command that does it is only shown.
            let edit = format!("[EDIT_FILE path=\"src/app.py\"]\n{EDIT}[/EDIT_FILE]\n{DONE}");
            read(&format!("{text}\n{edit}"), &["EDIT_FILE", "DONE"], &[]);
            let other = edit.replace("app.py", "b.py");
            read(&format!("{text}\n{other}"), &["EDIT_FILE", "DONE"], &[1]);
        }
    }
}

#[test]
fn what_only_resembles_an_edit_is_a_file() {
    for (name, content) in [
        ("docs/guide.md", format!("# Guide\n{EDIT}")),
        ("notes.txt", "- a\n+ b\n".to_owned()),
        ("a.diff", " a\n-b\n+c\n".to_owned()),
        ("a.rb", "class A\n@@count = 0\n@@ids = []\nend\n".to_owned()),
        ("a.yml", "- a\n- b\n".to_owned()),
        ("a.c", "int x = 1\n- 2\n+ 3;\n".to_owned()),
        (
            "a.py",
            "x = '''\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n'''\n".to_owned(),
        ),
        ("a.py", "# <<<<<<< SEARCH\nx = 1\n".to_owned()),
    ] {
        case(
            &format!("{name}\n```\n{content}```\n"),
            &[shown_file(name, &content)],
        );
    }
}

#[test]
fn a_quoted_command_that_was_not_done_keeps_the_session_open() {
    let quoted = "Removing the old file:\n\n`[DELETE_FILE path=\"old.py\"]`\n\n";
    read(&format!("{quoted}{DONE}"), &["DONE"], &[1]);
    read(
        &format!("{quoted}[READ_FILE path=a]\n"),
        &["READ_FILE"],
        &[],
    );
    // It is done below, so above it was only talked about.
    let text = format!("{quoted}``````\n[DELETE_FILE path=\"old.py\"]\n{DONE}``````\n");
    read(&text, &["DELETE_FILE", "DONE"], &[]);
    let text =
        format!("I say\n`[DONE]`\nwhen it is finished, in a\n`[RUN_COMMAND]`\nno more.\n{DONE}");
    read(&text, &["DONE"], &[]);
    let text = format!("I run it:\n`[RUN_COMMAND]`\npytest\n[/RUN_COMMAND]\n{DONE}");
    read(&text, &["DONE"], &[1]);
}

#[test]
fn a_quoted_block_that_was_not_done_keeps_the_session_open() {
    let quoted = format!("> {}\n", EDIT.trim_end().replace('\n', "\n> "));
    let text = format!("The change:\n\n{quoted}\n");
    read(&format!("{text}{DONE}"), &["DONE"], &[1]);
    read(&format!("{text}[READ_FILE path=a]\n"), &["READ_FILE"], &[]);
    let edit = format!("[EDIT_FILE path=\"a\"]\n{EDIT}[/EDIT_FILE]\n{DONE}");
    read(&format!("{text}{edit}"), &["EDIT_FILE", "DONE"], &[]);
}

/// An unrelated change, so that the reply changes something.
const OTHER: &str = "[CREATE_FILE path=\"other.py\"]\ny = 1\n[/CREATE_FILE]\n";

#[test]
fn an_unrelated_change_does_not_stand_for_what_was_only_shown() {
    let file = "[CREATE_FILE path=\"a.py\"]\nx = 1\n[/CREATE_FILE]\n";
    for (shown, same) in [
        ("```bash\ncat > a.py <<'EOF'\nx = 1\nEOF\n```\n", file),
        (
            "```sh\ntee a.py >/dev/null <<'EOF'\nx = 1\nEOF\n```\n",
            file,
        ),
        ("```powershell\nSet-Content a.py 'x = 1'\n```\n", file),
        ("```diff\n-x = 0\n+x = 1\n```\n", file),
        (
            "```python\nimport a\n<<<<<<< SEARCH\nx = 0\n=======\nx = 1\n>>>>>>> REPLACE\n```\n",
            file,
        ),
        (
            "Now:\n`[CREATE_FILE path=\"a.py\"]`\nx = 1\n[/CREATE_FILE]\n",
            file,
        ),
        (
            "Now:\n`[RUN_COMMAND]`\nmake a\n[/RUN_COMMAND]\n",
            "[RUN_COMMAND]\nmake a\n[/RUN_COMMAND]\n",
        ),
    ] {
        let other = "[RUN_COMMAND]\nmake other\n[/RUN_COMMAND]\n";
        let text = format!("{shown}\n{OTHER}{other}{DONE}");
        read(&text, &["CREATE_FILE", "RUN_COMMAND", "DONE"], &[1]);
        let reply = parse(&format!("{shown}\n{same}{DONE}"));
        assert_eq!(
            (reply.steps.len(), malformed(&reply)),
            (2, vec![]),
            "{shown}"
        );
    }
}

#[test]
fn each_file_that_a_script_writes_is_told() {
    let script = "```sh\ncat > a.py <<'EOF'\necho x > no.py\nEOF\necho 1 > b.py\n```\n";
    let reply = read(
        &format!("{script}{OTHER}{DONE}"),
        &["CREATE_FILE", "DONE"],
        &[1, 2],
    );
    assert!(reply.issues[1].message.contains("`b.py`"), "{reply:#?}");
}

/// Holds that work is told beside other commands and keeps the session open.
#[track_caller]
fn undone(text: &str) {
    let reply = parse(&format!("{text}\n{OTHER}{DONE}"));
    assert_eq!(names(&reply), ["CREATE_FILE", "DONE"], "{text}\n{reply:#?}");
    assert!(!malformed(&reply).is_empty(), "{text}\n{reply:#?}");
    let reply = parse(&format!("{text}\n{OTHER}"));
    assert!(!reply.issues.is_empty(), "{text}\n{reply:#?}");
    assert!(malformed(&reply).is_empty(), "{text}\n{reply:#?}");
}

/// Holds that words beside other commands are only words.
#[track_caller]
fn talk(text: &str) {
    let reply = parse(&format!("{text}\n{OTHER}{DONE}"));
    assert_eq!(reply.issues, [], "{text}");
}

#[test]
fn a_tag_that_was_meant_and_is_none_is_told() {
    for text in [
        "**Step 2** [CREATE_FILE path=\"a.py\"]\nx\n[/CREATE_FILE]",
        "Then [RUN_COMMAND]\nmake\n[/RUN_COMMAND]",
        "And [INSERT_TEXT path=\"a.py\" line=\"1\"]\nx\n[/INSERT_TEXT]",
        "// [CREATE_FILE path=\"a.py\"]\nx\n// [/CREATE_FILE]",
        "Next [RUN_COMMAND]make[/RUN_COMMAND] to check.",
        "Then I drop it with [DELETE_FILE path=\"a.py\"]",
        "a.py\nx\n[/CREATE_FILE]",
        "[[CREATE_FILE path=\"a.py\"]]\nx\n[[/CREATE_FILE]]",
        "(CREATE_FILE path=\"a.py\")\nx\n(/CREATE_FILE)",
        "Then [CREATE_FILE path=\"app/(group)/a.py\"]\nx\n[/CREATE_FILE]",
        "\u{3010}CREATE_FILE path=\"a.py\"\u{3011}\nx\n\u{3010}/CREATE_FILE\u{3011}",
        "\u{ff3b}CREATE_FILE path=\"a.py\"\u{ff3d}\nx\n\u{ff3b}/CREATE_FILE\u{ff3d}",
        "[CREATE FILE path=\"a.py\"]\nx\n[/CREATE FILE]",
        "[CreateFile path=\"a.py\"]\nx\n[/CreateFile]",
        "[ CREATE_FILE path=\"a.py\" ]\nx\n[ /CREATE_FILE ]",
        "{CREATE_FILE path=\"a.py\"}\nx\n{/CREATE_FILE}",
        "CREATE_FILE path=\"a.py\"\nx\n/CREATE_FILE",
        "<li>[DELETE_FILE path=\"a.py\"]</li>",
        "<div><span class=\"x\">[MOVE_FILE from=\"a\" to=\"b\"]</span></div>",
        "<pre><code>[CREATE_FILE path=\"a.py\"]\nx\n[/CREATE_FILE]</code></pre>",
    ] {
        undone(text);
    }
    for text in [
        "There is no need for [RUN_COMMAND] here.",
        "I did not use [DELETE_FILE path=\"a.py\"], because it is needed.",
        "A body ends with `[/CREATE_FILE]`, and `[RUN_COMMAND]make[/RUN_COMMAND]` runs.",
        "See [Create File](https://example.org) and [1].",
    ] {
        talk(text);
    }
}

#[test]
fn a_call_that_nobody_understands_is_told() {
    for text in [
        "```json\n{\"tool\":\"write_file\",\"path\":\"y.py\",\"content\":\"print(\"ho\")\\n\"}\n```",
        "{\"actions\":[{\"action\":\"append_file\",\"path\":\"a.md\",\"content\":\"x\"}]}",
        "```json\n{'tool': 'run', 'command': 'make'}\n```",
        "{\"action\":\"bash\",\"action_input\":{\"command\":\"make\"}}",
        "```json\n{\"files\":[{\"path\":\"a.py\",\"content\":\"x\"}]}\n```",
        "```json\n{\"edits\":[{\"path\":\"a.py\",\"search\":\"x\",\"replace\":\"y\"}]}\n```",
        "Now: <execute_command><command>make</command></execute_command>",
        "<file>\n<path>a.py</path>\n<content>\nx\n</content>\n</file>",
        "<edit_file path=\"a.py\">\n<old>x</old>\n<new>y</new>\n</edit_file>",
        "assistantcommentary to=functions.bash json{\"command\": \"make\"}",
        "\u{2039}\u{ff5c}DSML\u{ff5c}invoke name=\"bash\">",
        "| a.py | -x = 1<br>+x = 2 |",
        "| a.py | `-x = 1`<br>`+x = 2` |",
        "<run>make test</run>",
        "<terminal>\nmake test\n</terminal>",
        "```\n<bash>make test</bash>\n```",
        "<command>make test</command>",
        "<antArtifact identifier=\"a\" title=\"Hello script\">\nprint(1)\n</antArtifact>",
        "Sure: <antArtifact title=\"Hello\">\nprint(1)\n</antArtifact>",
        "write_file(path=\"a.py\", content=\"x\")",
        "- write_file(\"a.py\", \"x\")",
        "```python\nprint(default_api.delete_file(path='a.py'))\n```",
        "```\nbash(\n    command=\"make\",\n)\n```",
        "{tool: \"write_file\", path: \"a.py\", content: \"x\"}",
        "```json\n{tool: \"bash\", command: \"make\"}\n```",
        "```python\n{'tool': 'bash', 'command': 'make'}\n```",
        "Action: write_file\nAction Input:\n```json\n{\"path\": \"a.py\", \"content\": \"x\"}\n```",
        "```yaml\ntool: write_file\npath: a.py\ncontent: |\n  status: x\n```",
        "<use_tool name=\"write_file\">\n{\"path\": \"a.py\", \"content\": \"x\"}\n</use_tool>",
        "<tool>\n<name>bash</name>\n<input>\n{\"command\": \"make\"}\n</input>\n</tool>",
        "<action name=\"bash\">\n<command>make</command>\n</action>",
        "<bash command=\"make\">",
        "<change file=\"a.py\">\nx\n</change>",
        "<diff path=\"a.py\">\n-a\n+b\n</diff>",
        "[Write]\n{\"file_path\": \"a.py\", \"content\": \"x\"}\n[/Write]",
        "```Write\n{\"file_path\": \"a.py\", \"content\": \"x\"}\n```",
        "\u{23fa} Write(file_path: \"a.py\", content: \"x\")",
        "{\"write_file\": {\"path\": \"a.py\", \"content\": \"x\"}}",
        "{\"bash\": {\"command\": \"make\"}}",
        "{\"operations\": [{\"op\": \"write_file\", \"path\": \"a.py\", \"content\": \"x\"}]}",
        "Now: {\"tool\": \"move_file\", \"source\": \"a.py\", \"destination\": \"b.py\"}",
    ] {
        undone(text);
    }
    for text in [
        "```json\n{\"port\": 3000, \"name\": \"demo\", \"files\": [\"dist\"]}\n```",
        "```json\n{\"tool\": \"run\", \"command\": \"make\", \"exit_code\": 0}\n```",
        "The answer looks like `{\"tool\": \"run\", \"command\": \"make\"}`.",
        "A <write_to_file> call is not needed.",
        "```python\ncall = {'tool': 'run', 'command': 'make'}\n```",
        "| old | new |\n|---|---|\n| - a<br>- b | - c |",
        "It calls write_file(path=\"a.py\") for you.",
        "write_file(path, content) is the function that I use.",
        "```python\nimport os\nwrite_file(path=\"a.py\", content=\"x\")\n```",
        "```js\nwriteFile(\"a.txt\", data);\n```",
        "```xml\n<insert id=\"add\">\n  INSERT\n</insert>\n```",
        "```xml\n<project>\n<run>make</run>\n</project>\n```",
        "The <run>make</run> element is not needed.",
        "```yaml\nname: run\ncommand: make\n```",
        "```json\n{\"type\": \"shell\", \"command\": \"make\"}\n```",
        "```json\n{\"mcpServers\": {\"shell\": {\"command\": \"npx\"}}}\n```",
        "```bash\nnpm test [-- <args>]\n```",
        "```\npatch(\"a.b\", path=\"c\")\n```",
        "Path: src/app.py",
        "Tool: bash",
        "```html\n<form action=\"run\">\n<input name=\"command\">\n</form>\n```",
    ] {
        talk(text);
    }
    // A command with the same lines does what is shown.
    let run = run("make test");
    talk(&format!("<run>make test</run>\n{run}"));
    talk(&format!("<terminal>\nmake test\n</terminal>\n{run}"));
}

#[test]
fn issues_are_in_the_order_of_the_lines() {
    let shown = "a.py\n```python\nx = 1\n```\n";
    let reply = parse(&format!(
        "Then <run>make</run>\n<run>make</run>\n{shown}{DONE}"
    ));
    let lines: Vec<u32> = reply.issues.iter().map(|issue| issue.line).collect();
    assert_eq!(lines, [2, 4]);
}

#[test]
fn the_sound_calls_of_a_list_are_done() {
    let write = r#"{"tool":"write_file","path":"a","content":"x"}"#;
    let run = r#"{"tool":"run","command":"ls"}"#;
    let broken = r#"{"tool":"write_file","path":"b","content":"print("ho")"}"#;
    for list in [
        format!("[{write},{broken},{run}]"),
        format!("```json\n[\n  {write},\n  {broken},\n  {run}\n]\n```"),
        format!(r#"{{"thought":"x","actions":[{write},{broken},{run}]}}"#),
    ] {
        read(
            &format!("{list}\n{DONE}"),
            &["CREATE_FILE", "RUN_COMMAND", "DONE"],
            &[2],
        );
    }
    let function = r#"{"function":{"name":"run","arguments":{"command":"ls"}}}"#;
    let other = r#"{"function":{"name":"run","arguments":{"command":"a "b" c"}}}"#;
    let list = format!(r#"{{"tool_calls":[{function},{other}]}}"#);
    read(&format!("{list}\n{DONE}"), &["RUN_COMMAND", "DONE"], &[2]);
    // What the quotes divide is one text, not several calls.
    let text =
        r#"{"tool":"write_file","path":"a","content":"x"},{"tool":"run","command":"ls"},{"y"}"#;
    read(&format!("[{text}]\n{DONE}"), &["DONE"], &[1]);
    read(&format!("[{broken}]\n{DONE}"), &["DONE"], &[1]);
}

#[test]
fn a_block_under_a_line_that_leads_to_its_file_is_told() {
    let block = "\n\n```python\nx = 1\n```\n";
    for line in [
        "Create `tests/a.py`:",
        "Create `tests/a.py` with:",
        "Add a file called `tests/a.py`:",
        "Save this as tests/a.py:",
        "In `tests/a.py`:",
        "In `tests/a.py`, replace",
        "Update `tests/a.py` as follows:",
        "\u{1f4c4} tests/a.py",
        "*tests/a.py*",
        "--- tests/a.py ---",
        "tests/a.py (lines 21-22)",
        "`tests/a.py`\n\nBefore:",
        "Save this to `tests/a.py`.",
        "Creating tests/a.py...",
        "__tests/a.py__",
        "{tests/a.py}",
        "修改 `tests/a.py`：",
        "`tests/a.py` now looks like this:",
        "I added `tests/a.py`:",
        "I've added a test in `tests/a.py`:",
        "I replaced `f` in `tests/a.py`:",
        "I fixed `greet` in `tests/a.py` so that it raises:",
        "After the change, `tests/a.py` looks like this:",
        "Here's what `tests/a.py` looks like:",
        "`tests/a.py` contains:",
        "### 1. Create `tests/a.py`\n\nA small helper.",
        "### tests/a.py\n\nRound the result.",
        "**tests/a.py**\n\nRound the result:",
        "### tests/a.py\n\n\n",
        "### tests/a.py\n\nThis prints a greeting:",
        "**tests/a.py** (new)\n\nIt has one function.",
        "**File:** `tests/a.py`\n\nIt has one function.",
        "1. `tests/a.py` \u{2013} a helper\n\nA small helper.",
        "Create a new file `tests/a.py`.\n\nA small helper.",
        "- `tests/a.py`: a helper\n\nA small helper.",
    ] {
        undone(&format!("{line}{block}"));
        // A command for the file, or with the lines, does what is shown.
        for path in ["tests/a.py", "tests/b.py"] {
            let edit = format!("[CREATE_FILE path=\"{path}\"]\nx = 1\n[/CREATE_FILE]");
            talk(&format!("{line}{block}{edit}"));
        }
    }
    for line in [
        "Currently `tests/a.py` has:",
        "I added this to `tests/a.py`:",
        "`tests/a.py` currently contains:",
        "`tests/a.py` already has:",
        "Before the change, `tests/a.py` looks like this:",
        "The old `tests/a.py` contains:",
        "When I changed `tests/a.py`, pytest prints:",
        "The error in `tests/a.py` looks like this:",
        "`tests/a.py` contains a bug:",
        "Usage example (`tests/a.py`, not part of the change):",
        "With Node.js:",
        "It is used here:",
        "This is how it was.\n\nBefore:",
        "### tests/a.py\n\nI added a constant.",
        "### tests/a.py\n\nIt currently has this line:",
        "### The tests\n\nA small helper.",
        "### tests/a.py\n\n```sh\nmake\n```\n\nIt is used here:",
    ] {
        talk(&format!("{line}{block}"));
    }
    undone(&format!("Here it is.{block}\nSave this as `tests/a.py`.\n"));
    talk(&format!(
        "Here it is.{block}\nIt is much like `tests/a.py`.\n"
    ));
    talk("Run `tests/a.py`:\n```sh\npython tests/a.py\n```\n");
    undone("Replace `f` with:\n\n```python\ndef f():\n    return 2\n```\n");
    undone("Add this function:\n\n```\nfn f() {}\n```\n");
    talk("Add this to your settings:\n\n```json\n{\"a\": 1}\n```\n");
    talk("Change into it:\n\n```sh\ncd a\n```\n");
    talk("A call makes it:\n\n```python\nf()\n```\n");
    undone("**app.service**\n\n```ini\n[Unit]\nDescription=x\n```\n");
    undone("Create `a.j2`:\n\n```jinja\n{% if x %}\nhi\n{% endif %}\n```\n");
    undone("Create `a.x9`:\n\n```\nhi\nyou\n```\n");
    undone("Add this target at the end:\n\n```makefile\nlint:\n\truff check .\n```\n");
    talk("A rule has a target:\n\n```makefile\nlint:\n\truff check .\n```\n");
}

#[test]
fn code_below_the_name_of_its_file_is_told_without_a_code_block() {
    let code = "import json\n\n\ndef dump(value):\n    return json.dumps(value)\n";
    let quoted = format!("> {}\n", code.trim_end().replace('\n', "\n> "));
    let indented = code.trim_end().replace('\n', "\n   ") + "\n";
    for text in [
        format!("> tests/a.py\n>\n{quoted}"),
        format!("--- BEGIN FILE tests/a.py ---\n{code}--- END FILE ---\n"),
        "--- BEGIN FILE: docs/a.md ---\nJust some words.\n--- END FILE ---\n".to_owned(),
        format!("=== tests/a.py ===\n{code}"),
        format!("**tests/a.py**\n<pre>\n{code}</pre>\n"),
        format!("Put this into `tests/a.py`:\n<pre><code>\n{code}</code></pre>\n"),
        "<h3>docs/a.md</h3>\n<pre><code># A\n\nIt is one.\n</code></pre>\n".to_owned(),
        format!(
            "`tests/a.py` now reads:\n\n    # It is read.\n    {}",
            code.replace('\n', "\n    ")
        ),
        "=== tests/a.sh ===\n#!/bin/sh\n\nrm -f a\n".to_owned(),
        format!("[FILE: tests/a.py]\n{code}[/FILE]\n"),
        format!("tests/a.py\n\n{code}"),
        "# config.yaml\nname: ci\nport: 1\n".to_owned(),
        "=== Makefile ===\nall:\n\tcargo build\n".to_owned(),
        "--- Dockerfile ---\nFROM debian\nRUN make\n".to_owned(),
        "=== Makefile ===\n```make\nall:\n\tcargo build\n```\n".to_owned(),
        format!("#+begin_src python :tangle tests/a.py\n{code}#+end_src\n"),
        format!("Put this into `tests/a.py`:\n\n#+BEGIN_SRC python\n{code}#+END_SRC\n"),
        format!(".. code-block:: python\n   :caption: tests/a.py\n\n   {indented}"),
        format!(".tests/a.py\n[source,python]\n----\n{code}----\n"),
        format!("Put this into `tests/a.py`:\n\n[source,python]\n----\n{code}----\n"),
        "=== src/a.c ===\n\n#ifdef DEBUG\n# include \"a.h\"\nvoid f(void);\n".to_owned(),
        format!("Save this as ``tests/a.py``:\n\n.. code-block:: python\n\n   {indented}"),
    ] {
        undone(&text);
        let edit = "[CREATE_FILE path=\"tests/a.py\"]\nx = 1\n[/CREATE_FILE]\n";
        let has_file = text.contains("tests/a.py");
        if has_file {
            talk(&format!("{text}\n{edit}"));
        }
    }
    for text in [
        "=== tests/a.py ===\nmain() now writes lower case.\n",
        ".Usage\n[source,python]\n----\nimport a\na.dump(1)\n----\n",
        "It is used so:\n\n.. code-block:: python\n\n   import a\n   a.dump(1)\n",
        "tests/a.py:\n- main() writes lower case\n- save() is new\n",
        "**tests/a.py**\nThe function main now writes lower case.\n",
        "> tests/a.py\n> main writes upper case, but it should not.\n",
        "Output:\n<pre>\n3 passed in 0.1 s\n</pre>\n",
        "tests/a.py:17: AssertionError\nE   assert 'A' == 'a'\n",
    ] {
        talk(text);
    }
}

#[test]
fn json_that_a_line_gives_to_a_file_does_not_run() {
    let call = "{\"tool\": \"run\", \"command\": \"make test\"}\n";
    for line in [
        "Add this to x.json:",
        "### tasks.json",
        "`tasks.json` should look like this:",
        "F\u{fc}ge dies zu x.json hinzu:",
    ] {
        for block in [format!("```json\n{call}```\n"), call.to_owned()] {
            read(&format!("{line}\n\n{block}\n{DONE}"), &["DONE"], &[1]);
        }
    }
    let list = call.replace("make test", "cat x.json");
    for text in [
        format!("I test `x.json`:\n\n{call}"),
        format!("This is in x.json:\n\n{list}"),
        format!("Now the tests of `app.py`:\n\n{call}"),
    ] {
        read(&text, &["RUN_COMMAND"], &[]);
    }
}

#[test]
fn the_body_of_a_tag_that_is_none_is_content() {
    let call = "{\"tool\": \"bash\", \"command\": \"make\"}";
    for (before, after) in [
        ("**Step 2** [", "]"),
        ("Then [", "]"),
        ("// [", "]"),
        ("[[", "]]"),
        ("\u{3010}", "\u{3011}"),
        ("<li>[", "]</li>"),
    ] {
        let opening = format!("{before}CREATE_FILE path=\"a.json\"{after}");
        for closing in [
            format!("{before}/CREATE_FILE{after}"),
            "[/CREATE_FILE]".to_owned(),
        ] {
            undone(&format!("{opening}\n{call}\n{closing}"));
        }
    }
    // The body of another command begins there.
    let text = format!("I use [CREATE_FILE path=\"b\"] for it.\n{OTHER}");
    assert_eq!(names(&parse(&text)), ["CREATE_FILE"]);
}

#[test]
fn an_edit_that_nobody_reads_is_told() {
    for text in [
        "4c4\n< x = 1\n---\n> x = 2",
        "```\n3,5d2\n< x = 1\n```",
        "a.py\n<<<<\nx = 1\n====\nx = 2\n>>>>",
        "<<<<<<< a.py\nx = 1\n=======\nx = 2\n>>>>>>> new",
        "FILE: a.py\nSEARCH:\nx = 1\nREPLACE:\nx = 2",
        "Find:\n```python\nx = 1\n```\nReplace with:\n```python\nx = 2\n```",
        "<edits>\n<old_text line=4>\nx = 1\n</old_text>\n<new_text>\nx = 2\n</new_text>\n</edits>",
        "Then `sed -i 's/1/2/' src/a.py` sets it.",
        "[BASH]\ntouch a.txt\n[/BASH]",
        "[write_file(path=\"a.txt\", content=\"hello\")]",
        "RUN_COMMAND: touch a.txt",
        "{\"name\": \"src/a.py\", \"type\": \"code/python\", \"content\": \"x = 2\"}",
        "**Tool:** write_file\n**Path:** a.txt\n**Content:** hello",
        "Also the Dockerfile:\n\n```dockerfile\nFROM debian\n```",
        "And in the Makefile, add:\n\n```make\nlint:\n\truff .\n```",
        "Add to .gitignore:\n\n```\n*.log\n```",
        "```yaml\nactions:\n  - tool: write_file\n    path: a.txt\n    content: hello\n```",
    ] {
        undone(text);
    }
    // A command with the same lines does what is shown.
    let edit = "[CREATE_FILE path=\"b.py\"]\nx = 2\n[/CREATE_FILE]\n";
    talk(&format!(
        "Before:\n```\nx = 1\n```\nAfter:\n```\nx = 2\n```\n{edit}"
    ));
    for text in [
        "```\n<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> topic\n```",
        "4c4 is a colour.",
        "The [bash] tag is not in use.",
        "RUN_COMMAND:",
        "{\"name\": \"Ann\", \"content\": \"x = 2\"}",
        "The Makefile already has this:\n\n```make\nlint:\n\truff .\n```",
        "This runs the tests of the Makefile:\n\n```sh\nmake test\n```",
        "actions:\n- raise the rate",
        "Before:\n```\nx = 1\n```\nThat was slow.\n```\ny\n```",
    ] {
        talk(text);
    }
    let diff = "<patch>\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n</patch>\n[DONE]\n";
    assert_eq!(parse(diff).issues, []);
}

#[test]
fn a_block_that_names_its_file_is_told() {
    for top in [
        "python\n\"\"\"tests/a.py\"\"\"",
        "python\n\"\"\"\na.py\n\"\"\"",
        "python\n\"\"\"a.py: the parser.\"\"\"",
        "python\n#!/usr/bin/env python3\n# a.py",
        "python\n# === a.py ===",
        "js\n/**\n * src/a.js\n */",
        "js\n// a.js",
        "python {file=a.py}",
        "python title=\"a.py\"",
        "python title=\"The new a.py\"",
        "python label=a.py",
        "python|a.py|CODE_EDIT_BLOCK",
        "python\n%%writefile a.py",
        "python\n# In a.py",
        "python\n# -*- coding: utf-8 -*-\n# a.py",
    ] {
        undone(&format!("```{top}\nx = 1\ny = 2\n```\n"));
    }
    for top in [
        "python\n# === Setup ===",
        "python\n\"\"\"How a.py is used.\"\"\"",
        "python\nimport a\n# a.py",
        "js\n// Node.js",
        "sh\n# a.py",
        "python title=\"Usage\"",
    ] {
        talk(&format!("```{top}\nx = 1\ny = 2\n```\n"));
    }
    for name in ["and/or", "10/10", "CI/CD", "client/server", "### Node.js"] {
        talk(&format!("{name}\n\n```yaml\nx: 1\n```\n"));
    }
}

#[test]
fn a_crowded_tag_that_was_meant_keeps_the_session_open() {
    for text in [
        format!("``````\n[RUN_COMMAND] pytest -q\n{DONE}{END}``````\n"),
        format!("[RUN_COMMAND] pytest -q\n{DONE}{END}"),
        format!("[DELETE_FILE] old.py\n{DONE}{END}"),
    ] {
        read(&text, &["DONE"], &[1]);
    }
    let text = format!(
        "``````\n{}[RUN_COMMAND] pytest -q\n{DONE}``````\n",
        run("pytest -q")
    );
    read(&text, &["RUN_COMMAND", "DONE"], &[2]);
    let text = format!("{}[RUN_COMMAND] pytest -q\n{DONE}", run("ls"));
    read(&text, &["RUN_COMMAND", "DONE"], &[2]);
}

#[test]
fn a_list_of_what_follows_is_no_command() {
    let text = format!(
        "I will do this:\n[CREATE_FILE] src/a.py with the parser\n[RUN_COMMAND] pytest -q\n\n``````\n\
         [CREATE_FILE path=\"src/a.py\"]\nx\n[/CREATE_FILE]\n{}{DONE}``````\n",
        run("pytest -q")
    );
    read(&text, &["CREATE_FILE", "RUN_COMMAND", "DONE"], &[]);
    read(
        &format!("[DONE] is what I send last.\n\n{DONE}"),
        &["DONE"],
        &[],
    );
}

#[test]
fn of_quoted_commands_none_is_done() {
    for list in [
        "- `[DELETE_FILE path=\"a\"]`\n- `[DELETE_FILE path=\"b\"]`\n- `[DELETE_FILE path=\"c\"]`\n",
        "`[RUN_COMMAND]rm -rf a[/RUN_COMMAND]`\n\n`[RUN_COMMAND]rm -rf b[/RUN_COMMAND]`\n`[RUN_COMMAND]rm c[/RUN_COMMAND]`\n",
    ] {
        let above = "These are still needed, so I will not do this:\n\n";
        let below = "\nShall I go on?\n";
        for text in [
            format!("{above}{list}{below}"),
            format!("{above}{list}"),
            format!("{list}{below}"),
        ] {
            let reply = read(&text, &[], &[]);
            assert_eq!(reply.issues.len(), 3, "{reply:?}");
        }
        assert_eq!(parse(list).steps.len(), 3);
        let text = format!("{above}- `[READ_FILE path=x]`\n{list}{below}");
        read(&text, &["READ_FILE"], &[]);
    }
}

#[test]
fn an_attribute_that_changes_what_is_done_is_not_ignored() {
    for text in [
        "[RUN_COMMAND env=\"X=1\"]\nmake\n[/RUN_COMMAND]",
        "[RUN_COMMAND background=\"true\"]\nserver\n[/RUN_COMMAND]",
        "[INSERT_TEXT path=\"a.py\" line=\"3\" position=\"before\"]\nx\n[/INSERT_TEXT]",
        "[CREATE_FILE path=\"a\" append=\"true\"]\nx\n[/CREATE_FILE]",
        "[CREATE_FILE path=\"a\" mode=\"append\"]\nx\n[/CREATE_FILE]",
        "[CREATE_FILE path=\"a\" overwrite=\"false\"]\nx\n[/CREATE_FILE]",
        "[CREATE_FILE path=\"a\" encoding=\"latin-1\"]\nx\n[/CREATE_FILE]",
        "[CREATE_FILE path=\"a\" file=\"b\"]\nx\n[/CREATE_FILE]",
        "[DELETE_FILE path=\"a\" dry_run=\"true\"]",
        "[EDIT_FILE path=\"a\" lines=\"3-7\" start_line=\"4\"]\nx\n[/EDIT_FILE]",
        "[RUN_COMMAND command=\"ls\"]\nrm a\n[/RUN_COMMAND]",
    ] {
        read(text, &[], &[1]);
    }
    let found = issue(
        "[INSERT_TEXT path=a line=3 position=before]\nx\n[/INSERT_TEXT]",
        "`position` is not known here, and without it something else might be done",
    );
    assert_eq!(
        found.hint,
        "Send it again without `position`; the text goes below `line`."
    );
}

#[test]
fn a_command_runs_in_the_directory_that_it_names() {
    for (name, script) in [
        ("cwd=\"build\"", "cd build || exit 1\nrm -f *"),
        (
            "working_directory=\"my dir\"",
            "cd 'my dir' || exit 1\nrm -f *",
        ),
        ("cwd=\".\"", "rm -f *"),
    ] {
        case(
            &format!("[RUN_COMMAND {name}]\nrm -f *\n[/RUN_COMMAND]"),
            &[Command::RunCommand {
                script: script.to_owned(),
                timeout: None,
            }],
        );
    }
}

#[test]
fn an_attribute_that_changes_nothing_is_only_pointed_out() {
    for text in [
        "[RUN_COMMAND cwd=\".\"]\nls\n[/RUN_COMMAND]",
        "[RUN_COMMAND shell=\"bash\" description=\"lists\"]\nls\n[/RUN_COMMAND]",
        "[RUN_COMMAND command=\"ls\"]\nls\n[/RUN_COMMAND]",
        "[INSERT_TEXT path=\"a.py\" line=\"3\" position=\"after\"]\nx\n[/INSERT_TEXT]",
        "[CREATE_FILE path=\"a.py\" language=\"python\" overwrite=\"true\" encoding=\"UTF-8\"]\nx\n[/CREATE_FILE]",
        "[CREATE_FILE path=\"src/a.py\" filename=\"a.py\"]\nx\n[/CREATE_FILE]",
        "[CREATE_FILE path=\"a\" mode=\"overwrite\"]\nx\n[/CREATE_FILE]",
        "[EDIT_FILE path=\"a\" lines=\"3-7\" start_line=\"3\" end_line=\"7\"]\nx\n[/EDIT_FILE]",
        "[EDIT_FILE path=\"a\" line=\"3\" start_line=\"3\"]\nx\n[/EDIT_FILE]",
        "[DELETE_FILE path=\"a\" reason=\"it is old\"]",
        "[READ_FILE path=\"a\" cwd=\"build\"]",
        "[DONE status=\"success\"]",
    ] {
        let reply = parse(text);
        assert_eq!(
            (reply.steps.len(), malformed(&reply).len()),
            (1, 0),
            "{reply:?}"
        );
    }
}

#[test]
fn a_file_that_is_shown_beside_commands_is_not_called_undone() {
    let commands = format!("{}{DONE}{END}", run("ls"));
    let create = "[CREATE_FILE path=\"README.md\"]\n# X\n[/CREATE_FILE]\n";
    let inner = "[CREATE_FILE path=\"README.md\"]\n# X\n```\nls\n```\nend\n[/CREATE_FILE]\n";
    for above in [
        "Here is the `README.md`:\n\n",
        "**notes.txt**\n",
        "README.md\n",
    ] {
        for text in [
            format!("{above}```\n{create}```\n\nAnd then:\n\n```\n{commands}```\n"),
            format!("{above}```\n{inner}{commands}```\n"),
            format!(
                "{above}```\n# X\n```\nls\n```\nend\n```\n\n``````\n{create}{commands}``````\n"
            ),
        ] {
            let reply = read(&text, &["CREATE_FILE", "RUN_COMMAND", "DONE"], &[]);
            assert_eq!(reply.issues, [], "{text}");
        }
    }
}

#[test]
fn a_diff_whose_counts_are_met_is_whole() {
    let diff = "--- a/src/app.py\n+++ b/src/app.py\n@@ -9,2 +9,2 @@\n def b():\n-    return 2\n+    return 3";
    let new = "--- /dev/null\n+++ b/a.py\n@@ -0,0 +1,2 @@\n+x\n+y";
    for text in [diff, new] {
        read(text, &["APPLY_PATCH"], &[]);
        read(&format!("{text}\n"), &["APPLY_PATCH"], &[]);
        // Counts that promise more leave it open.
        let more = text.replace(",2 @@", ",3 @@");
        for text in [&more, &format!("{more}\n")] {
            assert!(read(text, &[], &[]).cut.is_some(), "{text}");
        }
    }
    let fenced = format!("```\n{}```\n\nAnd:\n{diff}", run("ls"));
    read(&fenced, &["RUN_COMMAND", "APPLY_PATCH"], &[]);
    assert!(
        parse(&format!("{diff}\n{}", &diff[..diff.len() - 20]))
            .cut
            .is_some()
    );
}

#[test]
fn a_claim_of_output_covers_no_further_block() {
    let readme = format!("[CREATE_FILE path=\"README.md\"]\n# X\n[/CREATE_FILE]\n{DONE}");
    let pytest = format!("```\n{}```\n\n", run("pytest"));
    let text = format!(
        "{pytest}Result: the tests should pass now. I also add a readme:\n\n```\n{readme}```\n"
    );
    read(&text, &["RUN_COMMAND", "CREATE_FILE", "DONE"], &[]);
    let text = format!("{pytest}Output:\n```\n3 passed\n```\n\nNext:\n```\n{readme}```\n");
    read(&text, &["RUN_COMMAND", "CREATE_FILE", "DONE"], &[]);
    let text =
        format!("{pytest}Output: 3 passed\n\n```\n== 3 passed ==\n```\n\n```\n{readme}```\n");
    read(&text, &["RUN_COMMAND", "CREATE_FILE", "DONE"], &[]);
    let patch = "*** Begin Patch\n*** Update File: src/app.py\n@@\n-a\n+b\n*** End Patch\n";
    let diff = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n";
    for block in [patch, diff] {
        for claim in [
            "Output: 3 passed\n\n",
            "Results: will come in your next message. Meanwhile the patch:\n\n",
            "Output: 3 passed\n",
        ] {
            read(
                &format!("{pytest}{claim}{block}"),
                &["RUN_COMMAND", "APPLY_PATCH"],
                &[],
            );
            let fenced = format!("{pytest}{claim}```\n{block}```\n");
            read(&fenced, &["RUN_COMMAND", "APPLY_PATCH"], &[]);
        }
    }
    for claim in ["Output: 3 passed\n", "Output: 3 passed\n\n", "Output:\n\n"] {
        let text = format!("{pytest}{claim}src/a.py\n```python\n{EDIT}```\n");
        read(&text, &["RUN_COMMAND", "EDIT_FILE"], &[]);
    }
}

#[test]
fn what_stands_in_claimed_output_is_not_done_and_told() {
    let show = run("git diff");
    let diff = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n";
    for text in [
        format!("{show}Output:\n```diff\n{diff}```\n{DONE}"),
        format!("{show}**Output:**\n\n```\n{diff}```\n{DONE}"),
        format!("{show}Output:\n{diff}\n{DONE}"),
        format!("{show}Output:\n```\n[DELETE_FILE path=b]\n```\n{DONE}"),
        format!("``````\n{show}Output:\n```\n[DELETE_FILE path=b]\n```\n{DONE}``````\n"),
    ] {
        let reply = read(&text, &["RUN_COMMAND", "DONE"], &[2]);
        assert_eq!(
            reply.issues[1].message,
            "it stands in what you wrote as results, so it was not done"
        );
    }
    // The fence that closes the frame begins no output.
    let text = format!(
        "``````\n{show}Output: fine\n``````\n\n```\n{}```\n",
        run("ls")
    );
    read(&text, &["RUN_COMMAND", "RUN_COMMAND"], &[]);
}

#[test]
fn looking_for_what_was_meant_costs_no_more_than_the_text_is_long() {
    let texts: [&dyn Fn(usize) -> String; 6] = [
        &|size| format!("x\n{}y", "`[DELETE_FILE path=a]`\n".repeat(size)),
        &|size| format!("{}{DONE}", "a.py\n```\nx\n@@\n-a\n+b\n```\n".repeat(size)),
        &|size| format!("{}{}", run("ls"), "Output:\n```x\n".repeat(size)),
        &|size| (run("ls") + "Output: a\n\n```x\n").repeat(size),
        &|size| format!("x\n{}", run("ls") + END).repeat(size),
        &|size| {
            format!(
                "x\n{}{DONE}",
                "[RUN_COMMAND] x\n".repeat(size) + &run("y").repeat(size)
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
fn numbers_count_on_over_what_is_not_done() {
    let text = format!(
        "[READ_FILE path=a]\n\nThe old file:\n`[DELETE_FILE path=b]`\nis needed.\n[READ_FILE path=c]\n\
         app.py\n```python\n# x\n{EDIT}```\n{DONE}"
    );
    let reply = read(&text, &["READ_FILE", "READ_FILE", "DONE"], &[2, 4]);
    let numbers: Vec<u32> = reply.steps.iter().map(|step| step.number).collect();
    assert_eq!(numbers, [1, 3, 5]);
    assert_eq!(
        reply.steps[0].command,
        Command::ReadFile {
            path: path("a").into(),
            start_line: None,
            end_line: None,
            numbered: false,
        }
    );
}

#[test]
fn what_looks_like_work_and_was_not_done_keeps_the_session_open() {
    for text in [
        "I write it:\n\ncat > x.py <<'EOF'\nprint(1)\nEOF\n",
        "````text\ncat <<EOF > x.py\nprint(1)\nEOF\n",
        "```bash\necho 'print(1)' > x.py\n```\n",
        "```diff\n-    y = x + 1\n+    y = x + 9\n```\n",
        "| 1 | [CREATE_FILE path=\"a\"] |\n",
        "{\"tool\": \"run\", \"command\": \"echo \u{201c}a b\u{201d}\"}\n",
    ] {
        read(&format!("{text}{DONE}{END}"), &["DONE"], &[1]);
    }
    // Only shown, where nothing says that the work is done.
    for text in [
        "Do not write it like this:\n\ncat > x.py <<'EOF'\nprint(1)\nEOF\n",
        "```diff\n-    y = x + 1\n+    y = x + 9\n```\n",
    ] {
        let run = run("true");
        read(&format!("{text}{run}{END}"), &["RUN_COMMAND"], &[]);
    }
    // The block ends with its fence, so that nothing below it seems to be cut.
    let shell = "```bash\ncat > x.py <<'EOF'\nprint(1)\nEOF\n```\nThat is all.\n";
    let reply = read(&format!("[READ_FILE path=a]\n{shell}"), &["READ_FILE"], &[]);
    assert_eq!(reply.cut, None);
    // A here-document without its end, and one in a program.
    for text in [
        "Use cat > x.py <<EOF for that.\n",
        "```rust\n// cat > x.py <<EOF\n// EOF\n```\n",
    ] {
        let reply = read(&format!("{text}{DONE}{END}"), &["DONE"], &[]);
        assert!(reply.issues.is_empty(), "{reply:#?}");
    }
}

#[test]
fn a_keycap_before_a_tag_is_decoration() {
    let text = "1\u{fe0f}\u{20e3} [CREATE_FILE path=\"a.txt\"]\nx\n[/CREATE_FILE]\n";
    read(text, &["CREATE_FILE"], &[]);
}

#[test]
fn the_schema_of_a_tool_is_no_call() {
    let text = "```json\n{\"name\": \"list_files\", \"description\": \"Lists\", \"parameters\": {\"type\": \"object\", \"properties\": {}}}\n```\n";
    read(text, &[], &[]);
}

#[test]
fn forms_of_other_tools_and_of_words_are_not_lost_beside_done() {
    for text in [
        "TOOL_NAME: create_file\nBEGIN_ARG: path\nx.txt\nEND_ARG\nBEGIN_ARG: content\nhello\nEND_ARG\n",
        "```\n@@ config.yaml @@\na: 1\nb: 2\n```\n",
        "I've created **x.py** for you:\n\n```python\nprint(1)\n```\n",
        "I updated `x.py` as follows:\n\n```python\nprint(1)\n```\n",
        "Remove the old file:\n\n```bash\nrm x.txt\n```\n",
        "Run `mv a.txt b.txt` and it is done.\n",
        "**Step 1** \\[CREATE_FILE path=\"x.txt\"\\]\n",
    ] {
        read(&format!("{text}\n{DONE}"), &["DONE"], &[1]);
    }
    for text in [
        "Run `rm -rf build` first.\n",
        "[DELETE_FILE path=\"x.txt\"]\n\nThat is what `rm x.txt` does.\n",
        "I've created **x.py** for you:\n\n```python\nprint(1)\n```\n\n[CREATE_FILE path=\"x.py\"]\nprint(1)\n[/CREATE_FILE]\n",
    ] {
        assert_eq!(
            malformed(&parse(&format!("{text}\n{DONE}"))),
            [0; 0],
            "{text}"
        );
    }
}

#[test]
fn a_tool_with_parameters_in_short_tags_is_a_call() {
    let call = "<tool name=\"write_file\"><param name=\"path\">x.txt</param><param name=\"content\">hello</param></tool>\n";
    read(&format!("{call}{DONE}"), &["CREATE_FILE", "DONE"], &[]);
    read(
        "<tool name=\"run_command\">\n<param name=\"command\">ls</param>\n</tool>\n",
        &["RUN_COMMAND"],
        &[],
    );
}

#[test]
fn line_ends_that_were_escaped_twice_are_line_ends() {
    let call = |content: &str| {
        format!("{{\"tool\": \"create_file\", \"path\": \"a.py\", \"content\": \"{content}\"}}\n")
    };
    let content = |text: &str| match parse(&call(text)).steps.remove(0).command {
        Command::CreateFile { content, .. } => content,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        content("a = 1\\\\nb = \\\\\\\"x\\\\\\\\n\\\\\\\"\\\\n"),
        "a = 1\nb = \"x\\n\"\n"
    );
    assert_eq!(
        content("print(\\\"a\\\\nb\\\\n\\\")"),
        "print(\"a\\nb\\n\")"
    );
    let half = call("a = \\\"x\\\"\\\\nb = 2\\\\n");
    read(&half, &[], &[1]);
    // A format, and what only begins like a line end.
    for doubtful in [
        "printf '%s\\\\n%s\\\\n' a b",
        "%s\\\\t%d\\\\n",
        "\\\\newpage\\\\noindent The next part.",
    ] {
        read(&call(doubtful), &[], &[1]);
    }
}

#[test]
fn a_program_that_only_writes_files_is_told() {
    for program in [
        "```python\nopen(\"src/a.py\", \"w\").write(\"\"\"x(1)\n\"\"\")\n```",
        "```python\nfrom pathlib import Path\n\np = Path(\"src/a.py\")\np.write_text(p.read_text().replace(\"a\", \"b\"))\n```",
        "I write it with Node:\n\n```js\nconst fs = require(\"fs\");\nfs.writeFileSync(\"a.js\", `f(1)`);\n```",
        "```powershell\n$text = @'\nx = 1\n'@\n[System.IO.File]::WriteAllText(\"a.txt\", $text)\n```",
        "```powershell\n@\"\nx\n\"@ | Out-File a.txt\n```",
    ] {
        undone(program);
    }
    let program = "open('a.py', 'w').write('text')";
    let shown = format!("```python\n{program}\n```\n");
    for command in [
        "[CREATE_FILE path=\"a.py\"]\nx\n[/CREATE_FILE]\n",
        &run(program),
    ] {
        let reply = parse(&format!("{shown}{command}{DONE}"));
        assert_eq!(malformed(&reply), [0; 0], "{reply:#?}");
    }
    for lead in [
        "Usage:",
        "For example:",
        "You can save it like this:",
        "Run it with:",
    ] {
        talk(&format!("{lead}\n\n{shown}"));
    }
    talk("```python\nrows = fetch(url)\nwith open('a.csv', 'w') as f:\n    f.write(rows)\n```");
    talk("```js\nconst fs = require(\"fs\");\nfs.writeFileSync(\"a.txt\", data, \"utf8\");\n```");
    talk("```python\ndef save(text):\n    open('a.txt', 'w').write(text)\n```");
}

#[test]
fn each_line_of_a_script_that_leaves_a_file_is_told() {
    let script = "```sh\necho 1 > b.py\ncp c.py d.py\ntouch e.py\n```\n";
    read(
        &format!("{script}[CREATE_FILE path=\"b.py\"]\n1\n[/CREATE_FILE]\n{DONE}"),
        &["CREATE_FILE", "DONE"],
        &[1, 2],
    );
}

#[test]
fn changed_lines_without_a_place_are_told() {
    for text in [
        "In a.py:\n\n-x = 1\n+x = 2\n y = 3\n",
        "The edit:\n- def f(a):\n+ def f(b):\n",
        "def f():\n-    return totl\n+    return total\n",
        "+ import os\n+ x = os.getcwd()\n",
        "```\n def f():\n-    x = g(1)\n+    x = g(2)\n```\n",
        "```python\n-x = 1\n+x = 2\n```\n",
        "%%writefile src/a.py\nprint(1)\n",
    ] {
        undone(text);
    }
    talk("-x = 1\n+x = 2\n\n[CREATE_FILE path=\"a.py\"]\nx = 2\n[/CREATE_FILE]\n");
    for text in [
        "+ fast\n+ simple\n- needs a server\n",
        "- 3 tests fail\n+ 2 tests pass\n",
        "- `a = 1;`\n- `b = 2;`\n",
        "- first\n  + nested\n  + more\n- second\n",
        "+1 for this.\n-1 for that.\n",
        "---\n+++\n",
        "```\n- a point\n+ another one\n```\n",
    ] {
        talk(text);
    }
}

#[test]
fn scripts_and_plans_that_nobody_reads_are_told() {
    for text in [
        "```bash\nls src > files.txt\n```\n",
        "Copy the settings:\n```sh\n# as they are\ncp a.example.toml a.toml\n```\n",
        "```sh\npython3 - <<'PY'\np = Path('src/a.py')\np.write_text('x')\nPY\n```\n",
        "```sh\nmkdir -p src && touch src/__init__.py\n```\n",
        "```toml\n[[actions]]\ntool = \"write_file\"\npath = \"a.py\"\ncontent = \"x\"\n```\n",
        "```toml\naction = \"run\"\ncommand = \"make\"\n```\n",
        "```\nedit 4:4\n    return 2\nend_of_edit\n```\n",
        "edit 4:6 <<EOF\n    return 2\nEOF\n",
        "```sh\npython3 -c \"open('a.py','w').write('x')\"\n```\n",
        "```sh\nawk -i inplace '{print}' src/a.py\n```\n",
        "I install it:\n```sh\nnpm install lodash\n```\n",
        "Let me run the tests:\n```bash\nmake test\n```\n",
        "Action: bash\nAction Input: make clean\n",
        "functions.write_file({\"path\": \"a.py\", \"content\": \"x\"})\n",
        "{\"TargetFile\": \"a.py\", \"CodeEdit\": \"x\"}\n",
        "```toml\nthought = \"x\"\n\n[[actions]]\naction = \"run\"\ncommand = \"make\"\n```\n",
        "```\nopen a.py\nedit 4:4\n    return 2\nend_of_edit\n```\n",
        "```\nedit 4:4\n    return 2\n```\n",
    ] {
        read(&format!("{text}{DONE}"), &["DONE"], &[1]);
    }
    for text in [
        "To run it, copy the example and fill in your key:\n```sh\ncp .env.example .env\n```\n",
        "```sh\npython3 - <<'PY'\nprint(open('a.py').read())\nPY\n```\n",
        "```sh\nmake test > test.log\n```\n",
        "Then you can do this:\n```sh\ncp a.example.toml a.toml\n```\n",
        "```sh\npython app.py > result.json\npython check.py result.json\n```\n",
        "It has this now:\n```toml\n[tool.ruff]\nline-length = 100\n```\n",
        "I edit 4:4 time.\n",
        "Run it with:\n```sh\npython app.py > out.txt\n```\n",
        "You may want to remove the old one:\n```sh\nrm a.sh\n```\n",
        "I ran the tests:\n```sh\nmake test\n```\n",
        "Run the tests:\n```sh\nmake test\n```\n",
    ] {
        read(&format!("{text}{DONE}"), &["DONE"], &[]);
    }
}

#[test]
fn the_sentence_that_names_the_file_of_an_edit_may_call_it_an_example_or_an_offer() {
    let edit = "```python\n<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> REPLACE\n```\n";
    for sentence in [
        "The format for `a.py` would be something like:",
        "Optionally, in `a.py`:",
        "For example, in `a.py`:",
        "If you want, in `a.py`:",
        "I already applied this to `a.py`:",
        "Do not change `a.py` like this:",
        "Please don't edit `a.py`:",
        "Wrong fix for `a.py`:",
        "I've already changed `a.py`:",
        "Example for `a.py`:",
        "An example edit to `a.py`:",
        "It would look like this in `a.py`:",
        "As an option, in `a.py`:",
        "Nice to have, in `a.py`:",
    ] {
        read(&format!("{sentence}\n{edit}"), &[], &[1]);
    }
    for sentence in [
        "In `a.py`:",
        "I already changed the tests, now `a.py`:",
        "I don't change the tests, only `a.py`:",
        "Change `a.py` like this:",
        "The first option is missing in `a.py`:",
        "This is the edit of `a.py`, as an example for the others:",
    ] {
        let done = parse(&format!("{sentence}\n{edit}"));
        assert_eq!(names(&done), ["EDIT_FILE"], "{sentence}");
    }
}

#[test]
fn words_that_call_a_command_wrong_or_a_fallback_are_heard_above_all_dialects() {
    let edit = "a.py\n<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> REPLACE\n";
    let diff = "```diff\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-a = 1\n+a = 2\n b = 1\n```\n";
    let tag = "```\n[DELETE_FILE path=\"a.py\"]\n```\n";
    let call = "```json\n{\"tool\": \"delete_file\", \"path\": \"a.py\"}\n```\n";
    for command in [edit, diff, tag, call] {
        for words in [
            "To revert, apply this:",
            "Rollback:",
            "Not this:",
            "This would be wrong:",
            "The naive version would be:",
            "My first attempt (wrong):",
            "Previously applied:",
            "Dry run:",
            "So nicht:",
            "错误示例：",
        ] {
            read(&format!("{words}\n\n{command}"), &[], &[1]);
        }
        for words in [
            "Instead of the loop, use this:",
            "The fix for the failing test:",
            "This was wrong, so I changed it:",
            "I ignore case now:",
            "The previous attempt failed, so here is another:",
            "Not only this file has it; here is the edit:",
            "Vorher war es falsch, jetzt:",
            "Otherwise nothing changes. Here is the edit:",
            "If the tests fail, I will look again. The edit:",
            "Here is the fix for the wrong value:",
        ] {
            let done = parse(&format!("{words}\n\n{command}"));
            assert_eq!(done.steps.len(), 1, "{words}\n{command}\n{done:#?}");
        }
        let waits = format!("{command}\nLet me know if I should also apply that.\n");
        read(&waits, &[], &[1]);
    }
}

#[test]
fn what_a_command_prints_is_no_file_of_that_name() {
    for command in [
        "cat src/main.py",
        "bin/tool --help",
        "python3 src/main.py -v",
        "./run.sh a.txt",
    ] {
        let reply = parse(&format!(
            "It prints this.\n\n`{command}`\n```\nhello\nworld\n```\n"
        ));
        assert!(reply.steps.is_empty(), "{command}: {reply:?}");
    }
}

#[test]
fn a_file_beside_its_text_is_told_in_whatever_frame() {
    for text in [
        "<details><summary>Updated <code>b.py</code></summary>\n\n```python\nx = 1\n```\n</details>\n",
        "2. **`b.py`** \u{2013} the same for this one\n\n   ```python\n   x = 1\n   ```\n",
        "`b.py` now reads:\n\n    x = 1\n    y = 2\n",
        "```json\n{\"b.py\": \"x = 1\\n\"}\n```\n",
        "```json\n{\n  \"file\": \"b.py\",\n  \"changes\": [\n    {\n      \"find\": \"x\",\n      \
         \"replace_with\": \"y\"\n    }\n  ]\n}\n```\n",
        "<code_file name=\"b.py\">\n<![CDATA[\nx = 1\n]]>\n</code_file>\n",
        "{{write_file \"b.py\"}}\nx = 1\ny = 2\n{{/write_file}}\n",
        "| File | Old | New |\n|---|---|---|\n| `b.py` | `x = 1` | `x = 2` |\n",
        "| File | Content |\n|---|---|\n| `b.py` | `x = 1<br>y = 2` |\n",
        "- `b.py`\n  - line 5\n    - old: `x = 1`\n    - new: `x = 2`\n",
        "```ed\n1c\nx = 1\n.\nw b.py\n```\n",
        "> In `b.py`:\n>\n> ```python\n> x = 1\n> ```\n",
        "[REPLACE_IN_FILE: b.py]\n[OLD]\nx = 1\n[NEW]\nx = 2\n[/REPLACE_IN_FILE]\n",
        "\u{23fa} Write(b.py)\n  \u{23bf} Wrote 2 lines\n     x = 1\n     y = 2\n",
        "@write b.py\nx = 1\ny = 2\n@end\n",
        "```diff\nrename from b.py\nrename to c.py\n```\n",
        "`touch b.py`\n",
        "File: `b.py`\nFind: `x = 1`\nReplace: `x = 2`\n",
        "**`b.gemspec`**\n\n```ruby\nx = 1\n```\n",
        "Update `b.theme`:\n\n```\nx = 1\n```\n",
        "### `configure`\n\n```\n#!/bin/sh\nset -e\n```\n",
        "Create `VERSION`:\n\n```\n2.4.1\n```\n",
        "## fstab\n\n```\ntmpfs /tmp tmpfs nosuid 0 0\n```\n",
        "And `bin/release` with this content:\n\n```\nset -e\n```\n",
        "```\n# NOTICE\nThis product\n```\n",
    ] {
        let reply = parse(&format!(
            "[CREATE_FILE path=\"a.py\"]\nz = 0\n[/CREATE_FILE]\n\n{text}\n[DONE]\n"
        ));
        assert_eq!(names(&reply), ["CREATE_FILE", "DONE"], "{text}\n{reply:#?}");
        assert_eq!(malformed(&reply).len(), 1, "{text}\n{reply:#?}");
    }
}

#[test]
fn a_file_beside_words_about_it_is_no_work() {
    for text in [
        "| File | Function |\n|---|---|\n| `b.py` | `parse()` |\n",
        "> In `b.py` the value is wrong.\n",
        "[b.py](b.py) is unchanged.\n",
        "- Before: `f(x)`\n- After: `f(x, y)`\n",
        "`os.path`:\n\n```python\nimport os\n```\n",
        "## Usage\n\n```\nx = 1\n```\n",
        "{\"lodash\": \"4.17\"}\n",
        "`b.py` stays the same:\n\nIt has the right check.\n",
    ] {
        let reply = parse(&format!(
            "[CREATE_FILE path=\"a.py\"]\nz = 0\n[/CREATE_FILE]\n\n{text}\n[DONE]\n"
        ));
        assert_eq!(malformed(&reply), [0u32; 0], "{text}\n{reply:#?}");
    }
}

#[test]
fn an_edit_that_words_speak_against_is_only_told() {
    let edit = "[DELETE_FILE path=\"a.py\"]";
    let fenced = format!("```\n{edit}\n```");
    let quoted = "> ```\n> [DELETE_FILE path=\"a.py\"]\n> ```";
    for text in [
        format!("## Rejected alternatives\n\n{fenced}\n"),
        format!(
            "<details><summary>Rejected approach (not applied)</summary>\n\n{fenced}\n\n</details>\n"
        ),
        format!("I considered this first:\n\n{fenced}\n\nbut rejected it, because it is used.\n"),
        format!("{fenced}\n\nActually, ignore that. I need to see it first.\n"),
        format!("{fenced}\n\nScratch that \u{2013} it is wrong.\n"),
        format!("{fenced}\n\nVergiss das, das ist falsch.\n"),
        format!(
            "{fenced}\n\n\u{8bf7}\u{5ffd}\u{7565}\u{4e0a}\u{9762}\u{7684}\u{5185}\u{5bb9}\u{3002}\n"
        ),
        format!("{fenced}\n\nShall I apply this, or not?\n"),
        format!("<!--\n{fenced}\n-->\n"),
        format!("You wrote:\n\n{quoted}\n"),
        format!("The ticket says:\n\n{quoted}\n"),
    ] {
        let reply = parse(&text);
        assert_eq!(names(&reply), [] as [&str; 0], "{text}\n{reply:#?}");
        assert_eq!(malformed(&reply), [1], "{text}\n{reply:#?}");
    }
    let text = format!("{fenced}\n\nI did not change this elsewhere.\n");
    read(&text, &["DELETE_FILE"], &[]);
}
