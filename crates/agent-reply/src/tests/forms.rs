//! Slips of form that do not hide what is meant, and those that do.

use super::{case, create, path, shown_file};
use crate::{Reply, parse};
use agent_protocol::{Command, Edit, FileChange};

/// The names of the commands of a reply.
fn names(reply: &Reply) -> Vec<&str> {
    reply.steps.iter().map(|it| it.command.name()).collect()
}

/// The numbers of the malformed commands of a reply.
fn numbered(reply: &Reply) -> usize {
    let issues = reply.issues.iter();
    issues.filter(|issue| issue.number.is_some()).count()
}

#[track_caller]
fn edits(text: &str, count: usize) {
    let reply = parse(text);
    assert_eq!(names(&reply), vec!["EDIT_FILE"; count], "{text}: {reply:?}");
    for step in &reply.steps {
        let Command::EditFile {
            path,
            edit: Edit::Replace { edits },
        } = &step.command
        else {
            panic!("{step:?}");
        };
        assert_eq!(path.as_str(), "src/a.py", "{text}");
        assert_eq!(
            (edits[0].search.as_str(), edits[0].replace.as_str()),
            ("x\n", "y\n")
        );
    }
}

#[track_caller]
fn patches(text: &str, hunks: usize) {
    let reply = parse(text);
    assert_eq!(reply.issues, [], "{text}");
    let [step] = &reply.steps[..] else {
        panic!("{text}: {reply:?}");
    };
    let Command::ApplyPatch { changes } = &step.command else {
        panic!("{step:?}");
    };
    let [
        FileChange::Update {
            path, hunks: all, ..
        },
    ] = &changes[..]
    else {
        panic!("{changes:?}");
    };
    assert_eq!((path.as_str(), all.len()), ("src/a.py", hunks), "{text}");
}

#[test]
fn a_block_may_be_closed_by_a_divider_or_have_its_path_twice() {
    let block = "<<<<<<< SEARCH\nx\n=======\ny\n";
    edits(&format!("src/a.py\n```python\n{block}=======\n```\n"), 1);
    edits(
        &format!("src/a.py\n{block}=======\n\nsrc/a.py\n{block}>>>>>>> REPLACE\n"),
        2,
    );
    let whole = format!("{block}>>>>>>> REPLACE\n```\n");
    edits(
        &format!("src/a.py\n```python\nsrc/a.py\n```python\n{whole}"),
        1,
    );
    edits(&format!("src/a.py\n```\npython\nCopy code\n{whole}"), 1);
    let dashes = "--------- SEARCH\nx\n=========\ny\n+++++++++ REPLACE\n";
    edits(&format!("src/a.py\n{dashes}"), 1);
}

#[test]
fn a_diff_may_lack_one_name_or_have_both_reversed() {
    let hunk = "@@ -1 +1 @@\n-x\n+y\n";
    for header in [
        "--- a/src/a.py\n",
        "+++ b/src/a.py\n",
        "+++ b/src/a.py\n--- a/src/a.py\n",
    ] {
        patches(&format!("{header}{hunk}"), 1);
        patches(&format!("```diff\n{header}{hunk}```\n"), 1);
    }
    let diff = format!("--- a/src/a.py\n+++ b/src/a.py\n{hunk}");
    let second = "@@ -9 +9 @@\n-x\n+y\n";
    patches(&format!("{diff}\nAnd further down:\n\n{second}"), 2);
    patches(
        &format!("```diff\n{diff}And further down:\n{second}```\n"),
        2,
    );
}

#[test]
fn what_looks_like_a_tag_ends_no_patch() {
    for word in ["[EOF]", "[TODO]", "[END]", "[ERROR]"] {
        let text = format!(
            "[APPLY_PATCH]\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1,9 +1,9 @@\n {word}\n-x\n+y\n[/APPLY_PATCH]\n"
        );
        patches(&text, 1);
        let bare = text.replace(&format!(" {word}"), word);
        patches(&bare, 1);
    }
}

#[test]
fn a_move_may_show_only_context() {
    let text = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n x\n*** End Patch\n";
    let reply = parse(text);
    assert_eq!(
        (names(&reply), reply.issues.len()),
        (vec!["APPLY_PATCH"], 0)
    );
}

#[test]
fn line_ends_of_json_are_those_of_a_text() {
    case(
        "{\"tool\": \"write_file\", \"path\": \"a\", \"content\": \"x\\r\\ny\\r\\n\"}",
        &[create("a", "x\ny\n")],
    );
}

#[test]
fn the_only_block_may_name_its_file_in_a_comment() {
    let text = "Here it is:\n\n```python\n# src/app.py\nx = 1\n```\n";
    case(text, &[shown_file("src/app.py", "x = 1\n")]);
    for text in [
        "```python\n# app.py\nx = 1\n```\n",
        "```python\n# src/app.py\nx\n```\n```python\ny\n```\n",
        "```bash\n# src/app.py\nls\n```\n",
    ] {
        case(text, &[]);
    }
}

#[test]
fn an_unclosed_block_below_whole_ones_is_a_cut() {
    let edit = "src/a.py\n```\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n";
    let reply = parse(&format!("{edit}\nsrc/b.py\n```python\nx ="));
    assert_eq!(names(&reply), ["EDIT_FILE"]);
    assert!(reply.cut.is_some(), "{reply:?}");
    assert_eq!(parse(&format!("{edit}\n```\nx\n```\n")).cut, None);
    let marked = format!("{edit}\n```python\nx =\n[END ab12cd34#1]\n");
    assert_eq!(parse(&marked).cut, None);
}

#[test]
fn signs_before_a_tag_are_decoration() {
    let body = "x = 1\n[/CREATE_FILE]\n";
    for sign in ["\u{2705} ", "\u{26a0}\u{fe0f} ", "\u{2192} ", "\u{1f4dd}"] {
        case(
            &format!("{sign}[CREATE_FILE path=\"a.py\"]\n{body}"),
            &[create("a.py", "x = 1\n")],
        );
    }
    // A list tells so how things stand.
    case("\u{2705} [Done]\n\u{2705} [DONE]\n", &[]);
}

#[test]
fn a_tag_behind_words_that_lead_to_it_is_told() {
    for (text, count) in [
        ("Step 1: [RUN_COMMAND]\nls\n[/RUN_COMMAND]\n[DONE]\n", 1),
        (
            "1) First: [CREATE_FILE path=\"a\"]\nx\n[/CREATE_FILE]\n[DONE]\n",
            1,
        ),
        ("Then: [DELETE_FILE path=\"a\"]\n[DONE]\n", 1),
        ("Everything is written with [CREATE_FILE]\n[DONE]\n", 0),
        ("That is the tag [CREATE_FILE path=\"a\"]\n[DONE]\n", 0),
    ] {
        let reply = parse(text);
        assert_eq!(names(&reply), ["DONE"], "{text}");
        assert_eq!(numbered(&reply), count, "{text}: {reply:?}");
    }
}

#[test]
fn numbers_go_from_the_block_that_has_them() {
    let numbered = "1. [CREATE_FILE path=\"a.py\"]\n2. x = 1\n3. [/CREATE_FILE]\n";
    let expected = [create("a.py", "x = 1\n")];
    case(numbered, &expected);
    case(
        &format!("Here it is:\n\n```\n{numbered}```\n\nThat is all.\n"),
        &expected,
    );
    case(
        "1\n[CREATE_FILE path=\"a.py\"]\n2\nx = 1\n3\n[/CREATE_FILE]\n",
        &expected,
    );
    case(
        "[CREATE_FILE path=\"a.py\"]\n1\nx = 1\n2\ny = 2\n[/CREATE_FILE]\n",
        &[create("a.py", "x = 1\ny = 2\n")],
    );
    // A list of commands is one, and so is a list in a text.
    case(
        "[CREATE_FILE path=\"a.md\"]\n1. one\n2. two\n3. three\n[/CREATE_FILE]\n",
        &[create("a.md", "1. one\n2. two\n3. three\n")],
    );
}

#[test]
fn an_edit_that_is_text_of_a_program_is_not_done() {
    let edit = "src/a.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n";
    let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    for text in [
        format!("```python\ntext = \"\"\"\n{edit}\"\"\"\n```\n"),
        format!("```bash\ncat > docs/a.md <<'EOF'\n# Patches\n{diff}EOF\n```\n"),
        format!("```\nlet text = `\n{edit}`;\n```\n"),
    ] {
        let reply = parse(&text);
        assert_eq!(
            (names(&reply), numbered(&reply)),
            (vec![], 0),
            "{text}: {reply:?}"
        );
    }
    // It may be the work that the reply calls done.
    let told = format!("```python\nimport os\n{edit}```\n[DONE]\n");
    assert_eq!(numbered(&parse(&told)), 1);
    let written = format!("```sh\ncat > a.md <<'EOF'\n{diff}EOF\n```\n[DONE]\n");
    assert_eq!(numbered(&parse(&written)), 1);
    edits(&format!("```python\n{edit}```\n"), 1);
}

#[test]
fn a_diff_in_a_list_item_is_an_edit() {
    let text = "1. First:\n\n   ```diff\n   --- a/src/a.py\n   +++ b/src/a.py\n   @@ -1 +1 @@\n   -x\n   +y\n   ```\n";
    patches(text, 1);
    let edit =
        "- src/a.py\n  ```\n  <<<<<<< SEARCH\n  x\n  =======\n  y\n  >>>>>>> REPLACE\n  ```\n";
    edits(edit, 1);
}

#[test]
fn a_patch_below_two_changes_of_directory_is_where_they_lead() {
    let text = "```bash\ncd foo && cd bar && apply_patch <<'PATCH'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nPATCH\n```\n";
    let reply = parse(text);
    let paths = reply.steps[0].command.changed_paths();
    assert_eq!(paths, [&path("foo/bar/a")]);
}

#[test]
fn an_example_under_a_path_is_no_file() {
    for text in [
        "For example:\n\nsrc/a.py\n```\n# entire file content here\n```\n",
        "Here's an example of a page:\n\n```html title=\"a.html\"\n<p>\n```\n",
        "src/a.py (lines 5-7):\n```\nx\n```\n",
        "src/a.py:5\n```\nx\n```\n",
        "Second:\n\n2\n```\nx\n```\n",
        "v2\n```\nx\n```\n",
    ] {
        case(text, &[]);
    }
    case(
        "```{.python filename=\"src/a.py\"}\nx\n```\n",
        &[shown_file("src/a.py", "x\n")],
    );
}

#[test]
fn a_sign_in_the_place_of_a_minus_is_told() {
    let header = "--- a/a\n+++ b/a\n";
    for (hunk, issues) in [
        ("@@ -1,2 +1,2 @@\n\u{2022} x\n+y\n z\n", 1),
        ("@@ -1,4 +1,3 @@\n g\n\u{2212}h\n i\n j\n", 1),
        ("@@ -1,3 +1,2 @@\n g\n h\n i\n", 1),
        ("@@ -1,2 +1,3 @@\n\u{2022} x\n+y\n z\n", 0),
    ] {
        let reply = parse(&format!("[APPLY_PATCH]\n{header}{hunk}[/APPLY_PATCH]\n"));
        assert_eq!(numbered(&reply), issues, "{hunk}: {reply:?}");
    }
}

#[test]
fn records_and_data_are_no_calls() {
    for text in [
        "```json\n[\n  {\"id\": 9, \"source\": \"agent\", \"action\": \"run\", \"args\": {\"command\": \"make\"}},\n  {\"id\": 10, \"observation\": \"run\"}\n]\n```\n",
        "```json\n{\"calls\": [\n{\"tool\": \"run\", \"command\": \"make\"}\n]}\n```\n",
        "{\"tool\": \"run\", \"command\": \"make\", \"exit_code\": 0}\n",
    ] {
        assert_eq!(names(&parse(text)), Vec::<&str>::new(), "{text}");
    }
}

#[test]
fn a_block_in_a_table_cell_is_read() {
    edits(
        "| file | change |\n|---|---|\n| `src/a.py` | <<<<<<< SEARCH<br>x<br>=======<br>y<br>>>>>>>> REPLACE |\n",
        1,
    );
    patches(
        "| 1 | --- a/src/a.py<br/>+++ b/src/a.py<br/>@@ -1 +1 @@<br/>-x \\| z<br/>+y |\n",
        1,
    );
    let reply = parse("| a | one<br>two |\n| `b.py` | it has<br>- a list<br>- of words |\n");
    assert!(
        reply.steps.is_empty() && reply.issues.is_empty(),
        "{reply:?}"
    );
}

#[test]
fn elements_of_pages_that_build_programs_are_read() {
    for text in [
        "<dyad-write path=\"a.py\" description=\"x\">\nx\n</dyad-write>\n",
        "<lov-write file_path=\"a.py\">\nx\n</lov-write>\n",
        "<antArtifact identifier=\"i\" type=\"application/vnd.ant.code\" title=\"a.py\">\nx\n</antArtifact>\n",
        "a.py\n<source>\nx\n</source>\n",
    ] {
        let reply = parse(text);
        let [step] = &reply.steps[..] else {
            panic!("{text}: {reply:?}");
        };
        let Command::CreateFile { path, content, .. } = &step.command else {
            panic!("{step:?}");
        };
        assert_eq!((path.as_str(), content.as_str()), ("a.py", "x\n"), "{text}");
    }
    let deletion = parse(
        "<lov-delete file_path=\"a.py\" />\n<dyad-rename from=\"b\" to=\"c\"></dyad-rename>\n",
    );
    assert_eq!(
        names(&deletion),
        ["DELETE_FILE", "MOVE_FILE"],
        "{deletion:?}"
    );
    edits(
        "src/a.py\n<source>\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n</source>\n",
        1,
    );
    for text in [
        "<antArtifact identifier=\"i\" title=\"A clock\">\nx\n</antArtifact>\n",
        "<source src=\"a.mp4\">\n",
        "Some words\n<source>\nx\n</source>\n",
    ] {
        let reply = parse(text);
        assert!(
            reply.steps.is_empty() && reply.issues.is_empty(),
            "{text}: {reply:?}"
        );
    }
}

#[test]
fn a_path_above_our_own_tags_is_a_label() {
    let edit = "[EDIT_FILE path=\"src/a.py\"]\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n[/EDIT_FILE]\n";
    let patch =
        "[APPLY_PATCH]\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a\n+b\n[/APPLY_PATCH]\n";
    for (command, name) in [(edit, "EDIT_FILE"), (patch, "APPLY_PATCH")] {
        for label in [
            "### src/a.py\n",
            "**src/a.py**\n",
            "src/a.py:\n",
            "`src/a.py`\n",
        ] {
            for fence in ["```", "```python", "```makefile"] {
                let text = format!("{label}\n{fence}\n{command}[END ab12cd34#2]\n```\n");
                let reply = parse(&text);
                assert_eq!(names(&reply), [name], "{text}");
                assert_eq!(reply.issues, [], "{text}");
            }
        }
    }
}

/// The text that the only command of a reply writes or runs.
#[track_caller]
fn only_text(text: &str) -> String {
    let reply = parse(text);
    let mut commands = reply.steps.into_iter().map(|step| step.command);
    match (commands.next(), commands.next()) {
        (
            Some(
                Command::CreateFile { content: text, .. }
                | Command::RunCommand { script: text, .. },
            ),
            None,
        ) => text,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_fence_around_a_text_is_removed_in_every_dialect() {
    const FILE: &str = "```python\nprint(1)\n```\n";
    let json = serde_json::json!({"tool": "write_file", "path": "a.py", "content": FILE});
    let cline = format!("<path>a.py</path>\n<content>\n{FILE}</content>\n");
    let path = "<parameter name=\"file_path\">a.py</parameter>\n";
    let invoke = format!("{path}<parameter name=\"content\">{FILE}</parameter>\n");
    for text in [
        format!("<file path=\"a.py\">\n{FILE}</file>\n"),
        format!("<write_to_file>\n{cline}</write_to_file>\n"),
        format!("<invoke name=\"Write\">\n{invoke}</invoke>\n"),
        format!("{json}\n"),
    ] {
        assert_eq!(only_text(&text), "print(1)\n", "{text}");
        let repairs = parse(&text).repairs;
        let is_told = |repair: &crate::Repair| repair.what.contains("fence") && repair.in_body;
        assert!(repairs.iter().any(is_told), "{text}");
    }
    let script = "<command>\n```bash\nmake\n```\n</command>\n";
    let text = format!("<execute_command>\n{script}</execute_command>\n");
    assert_eq!(only_text(&text).trim(), "make");
    // A document may begin and end with a block of its own.
    let readme = format!("<file path=\"README.md\">\n{FILE}</file>\n");
    assert_eq!(only_text(&readme), FILE);
    for name in [".gitignore", ".nvmrc", "requirements.txt", "gradlew"] {
        for language in ["", "gitignore", "bash", "txt"] {
            let body = format!("```{language}\nx\n```\n");
            let text = format!("[CREATE_FILE path=\"{name}\"]\n{body}[/CREATE_FILE]\n");
            assert_eq!(only_text(&text), "x\n", "{text}");
        }
    }
}

#[test]
fn an_absolute_path_in_the_workspace_is_that_path() {
    let workspace = crate::ReplyWorkspace {
        root: std::path::Path::new("/home/u/proj"),
        file: &|_| None,
    };
    for text in [
        "[READ_FILE path=\"/home/u/proj/src/a.py\"]\n",
        "[DELETE_FILE path=\"/home/u/proj/src/a.py\"]\n",
        "{\"tool\": \"read_file\", \"path\": \"/home/u/proj/src/a.py\"}\n",
        "/home/u/proj/src/a.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n",
        "--- /home/u/proj/src/a.py\n+++ /home/u/proj/src/a.py\n@@ -1 +1 @@\n-x\n+y\n",
        "*** Begin Patch\n*** Update File: /home/u/proj/src/a.py\n@@\n-x\n+y\n*** End Patch\n",
        "<write_to_file>\n<path>/home/u/proj/src/a.py</path>\n<content>\nx\n</content>\n</write_to_file>\n",
        "/home/u/proj/src/a.py\n```python\nx\n```\n",
    ] {
        let (_, reply) = crate::read_in(workspace, text.as_bytes());
        assert_eq!(
            (reply.steps.len(), &reply.issues[..]),
            (1, &[][..]),
            "{text}"
        );
        let command = serde_json::to_string(&reply.steps[0].command).unwrap();
        assert!(command.contains("\"src/a.py\""), "{command}");
        let outside = text.replace("/home/u/proj/", "/home/u/other/");
        let (_, reply) = crate::read_in(workspace, outside.as_bytes());
        assert!(
            reply.steps.is_empty() && !reply.issues.is_empty(),
            "{outside}"
        );
    }
}

#[test]
fn an_edit_of_a_line_that_was_wrapped_shows_that_the_reply_was() {
    let line = "recipients = ops@example.com, oncall@example.com, platform-team@example.com";
    let workspace = crate::ReplyWorkspace {
        root: std::path::Path::new("/home/u/proj"),
        file: &|path| (path.as_str() == "settings.ini").then(|| format!("{line}\nx = 1\n")),
    };
    let reply = |search: &str, note: &str| {
        format!(
            "[EDIT_FILE path=\"notes.txt\"]\n<<<<<<< SEARCH\na\n=======\na\n{note}\n>>>>>>> REPLACE\n[/EDIT_FILE]\n[EDIT_FILE path=\"settings.ini\"]\n<<<<<<< SEARCH\n{search}\n=======\ny = 1\n>>>>>>> REPLACE\n[/EDIT_FILE]\n"
        )
    };
    let read = |text: String| crate::read_in(workspace, text.as_bytes()).1;
    let wrapped = line.replace(", platform", ",\nplatform");
    let note = "Some long words that go on where the next one did not fit upon the\nfollowing, as it seems";
    let refused = read(reply(&wrapped, note));
    assert!(refused.steps.is_empty(), "{refused:?}");
    assert!(refused.issues[0].message.contains("was wrapped at 72"));
    // Where nothing else reaches the edge, the edit is unwrapped by the file.
    assert_eq!(read(reply(&wrapped, "b")).steps.len(), 2);
    assert_eq!(read(reply(line, note)).steps.len(), 2);
}
