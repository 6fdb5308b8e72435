//! Files that are shown under their paths: what stands in them is nobody's command.

use super::{case, create, path, shown_file};
use crate::{Reply, parse, work};
use agent_protocol::{Command, RelPath};

/// The issues of a reply that must change nothing.
#[track_caller]
fn refused(text: &str) -> Reply {
    let reply = parse(text);
    assert_eq!(reply.steps, [], "{text}");
    assert_eq!(reply.cut, None, "{text}");
    reply
}

#[test]
fn what_stands_in_a_file_that_is_shown_is_written_and_not_done() {
    for (name, language, content) in [
        (
            "tests/test_tools.py",
            "python",
            "CALLS = [\n{\"tool\": \"shell\", \"command\": \"touch pwned.txt\"}\n]\n",
        ),
        (
            "tasks.json",
            "json",
            "{\"name\": \"shell\", \"command\": \"make clean\"}\n",
        ),
        (
            "calls.json",
            "json",
            "{\"tool\": \"shell\", \"command\": \"make clean\"}\n",
        ),
        (
            "docs/guide.md",
            "markdown",
            "# Guide\n```\n*** Begin Patch\n*** Delete File: src/main.rs\n*** End Patch\n```\n",
        ),
        (
            "docs/guide.md",
            "markdown",
            "# Guide\n\nsrc/main.rs\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
        ),
        (
            "docs/guide.md",
            "",
            "# Guide\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n> [x]\n<READ_FILE path=\"a\">\nCopy\n",
        ),
        (
            "fix.patch",
            "diff",
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        ),
    ] {
        let block = format!("{name}\n````{language}\n{content}````\n");
        let expected = [shown_file(name, content)];
        case(&block, &expected);
        case(
            &format!("Here:\n\n``````\n{block}``````\nBye.\n"),
            &expected,
        );
        case(
            &format!("Here:\n\n{block}\n{block}Bye.\n"),
            &[&expected[..], &expected].concat(),
        );
        let tildes = format!("{name}\n~~~~{language}\n{content}~~~~\n");
        case(&tildes, &expected);
    }
}

#[test]
fn beside_other_commands_it_is_only_shown_and_told() {
    let call = "{\"tool\": \"shell\", \"command\": \"touch pwned.txt\"}\n";
    let text = format!("[GIT_STATUS]\n\na.py\n```python\nx = [\n{call}]\n```\n{call}");
    let reply = parse(&text);
    let names: Vec<&str> = reply.steps.iter().map(|it| it.command.name()).collect();
    assert_eq!(names, ["GIT_STATUS", "RUN_COMMAND"]);
    assert_eq!(reply.issues.len(), 1, "{reply:?}");
    assert_eq!(reply.issues[0].number, None);
    // It may have been the work that the reply calls done.
    let reply = parse("a.py\n```python\nx\n```\n[DONE]\n");
    assert_eq!(reply.issues[0].number, Some(1), "{reply:?}");
    // What is changed by a command is only shown.
    case(
        "a.py\n```python\nx\n```\n[DELETE_FILE path=\"a.py\"]\n[DONE]\n",
        &[
            Command::DeleteFile { path: path("a.py") },
            Command::Done {
                summary: String::new(),
            },
        ],
    );
}

#[test]
fn an_edit_of_the_file_above_it_is_done() {
    for block in [
        "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a\n+b\n",
        "@@ -1 +1 @@\n-a\n+b\n",
        "*** Begin Patch\n*** Update File: src/a.py\n@@\n-a\n+b\n*** End Patch\n",
        "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
        "src/a.py\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
        "{\"tool\": \"write_file\", \"path\": \"src/a.py\", \"content\": \"b\"}\n",
        "{\"tool\": \"read_file\", \"path\": \"src/b.py\"}\n",
    ] {
        let reply = parse(&format!("**src/a.py**\n\n```\n{block}```\n"));
        assert_eq!(reply.steps.len(), 1, "{block}: {reply:?}");
        assert_eq!(reply.issues, [], "{block}");
        assert_ne!(reply.steps[0].command, create("src/a.py", block));
    }
}

#[test]
fn an_edit_below_its_whole_path_is_done_under_the_name_alone() {
    let block = "```js\nsrc/a.js\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n";
    let reply = parse(&format!("**1. Change `a.js`:**\n\n{block}"));
    let changed = reply.steps[0].command.changed_paths();
    assert_eq!(changed, [&path("src/a.js")], "{reply:?}");
    assert_eq!(reply.issues, []);
}

#[test]
fn a_path_that_only_shows_how_one_looks_is_not_written() {
    for name in ["path/to/your/file.py", "src/path/to/file.js"] {
        let reply = refused(&format!("{name}\n```\nx\n```\n"));
        assert_eq!(reply.issues[0].number, Some(1), "{reply:?}");
    }
}

#[test]
fn an_edit_of_something_else_is_neither_written_nor_done() {
    for block in [
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "*** Begin Patch\n*** Delete File: src/main.rs\n*** End Patch\n",
        "{\"tool\": \"shell\", \"command\": \"make clean\"}\n",
    ] {
        let text = format!("notes.txt\n```\n{block}```\n");
        let reply = refused(&text);
        assert_eq!(reply.issues.len(), 1, "{reply:?}");
        assert!(reply.issues[0].message.contains("neither written nor done"));
        assert_eq!(reply.issues[0].number, Some(1));
        let reply = parse(&format!("[GIT_STATUS]\n{text}b.txt\n```\nx\n```\n"));
        let numbered = reply.issues.iter().filter(|issue| issue.number.is_some());
        assert_eq!((reply.steps.len(), numbered.count()), (1, 1));
        let reply = parse(&format!("{text}b.txt\n```\nx\n```\n"));
        assert_eq!((reply.steps.len(), reply.issues.len()), (1, 1));
    }
}

#[test]
fn a_call_that_a_program_holds_is_data() {
    let call = "{\"tool\": \"shell\", \"command\": \"touch pwned.txt\"}\n";
    let text = format!("For example:\n\n```python\nCALLS = [\n{call}]\n```\n");
    assert_eq!(refused(&text).issues, []);
    for text in [
        format!("```js\n\n{call}{call}```\n"),
        format!("```json\n\n{call}\n{call}```\n"),
        format!("```python\nx\n```\n{call}{call}"),
    ] {
        assert_eq!(parse(&text).steps.len(), 2, "{text}");
    }
}

#[test]
fn a_name_and_a_command_run_nothing() {
    let text = "For example, your VS Code task would be:\n\n```json\n{\"name\": \"run\", \"command\": \"npm start\"}\n```\nDo you want that?";
    assert_eq!(refused(text).issues, []);
}

#[test]
fn a_file_whose_end_is_uncertain_is_not_written() {
    for text in [
        "README.md\n```markdown\n# X\n```\nls\n```\nend\n```\n",
        "README.md\n```markdown\n# X\n```\n\nThen:\n\n```\nls\n```\n",
        "notes.txt\n```\na\n```\nb\n```\n",
        "a.py\n```python\n\"\"\"\n```\nx\n```\n\"\"\"\n```\n",
        "a.py\n```python\nx\n```\ny\n```\n",
        "a.py\n```python\nx\n```\n\nREADME.md\n```\n# X\n```\nls\n```\n\nb.py\n```python\ny\n```\n",
    ] {
        let reply = parse(text);
        let issue = reply
            .issues
            .last()
            .unwrap_or_else(|| panic!("{text}: {reply:?}"));
        assert!(issue.message.contains("its end is uncertain"), "{issue:?}");
        assert!(issue.hint.contains("[CREATE_FILE path="), "{issue:?}");
        assert!(reply.steps.len() + reply.issues.len() <= 2, "{reply:?}");
    }
}

#[test]
fn blocks_below_a_file_that_cannot_be_of_it_leave_it_certain() {
    for below in [
        "\nRun it:\n\n```\npython a.py\n```\n",
        "Run it:\n```\npython a.py\n```\n",
        "\nRun it:\n\n```bash\npython a.py\n```\n\nIt says:\n\n```\nx\n```\n",
        "Run it:\n```bash\npython a.py",
    ] {
        case(
            &format!("a.py\n```python\nx = 1\n```\n{below}"),
            &[shown_file("a.py", "x = 1\n")],
        );
    }
    case(
        "prompt.txt\n```\nAnswer like:\n```json\n{}\n```\nThanks\n```\n",
        &[shown_file(
            "prompt.txt",
            "Answer like:\n```json\n{}\n```\nThanks\n",
        )],
    );
    case(
        "README.md\n````\n# X\n```\nls\n```\n````\n\nAnd:\n```\nls\n```\n",
        &[shown_file("README.md", "# X\n```\nls\n```\n")],
    );
}

#[test]
fn a_file_that_is_not_closed_is_cut() {
    let reply = parse("a.py\n```python\nx\n\nb.py\n```python\ny\n```\n");
    assert_eq!(reply.steps, []);
    assert!(reply.cut.is_some());
}

#[test]
fn a_diff_that_may_end_within_its_last_line_is_cut() {
    let diff = |header: &str| format!("--- a/x.py\n+++ b/x.py\n{header}\n a\n-b\n+    retu");
    for (text, is_cut) in [
        (diff("@@ ... @@"), true),
        (diff("@@ ... @@") + "\n", true),
        (diff("@@ -1,2 +1,2 @@"), false),
        (diff("@@ -1,2 +1,3 @@"), true),
        (diff("@@ -1,2 +1,2 @@") + "\n", false),
        (diff("@@ ... @@") + "\n[END ab12cd34#1]", false),
        (diff("@@ -1,2 +1,2 @@") + "\n\nThat is all.", false),
        (format!("```diff\n{}\n```", diff("@@ ... @@")), false),
    ] {
        let reply = parse(&text);
        assert_eq!(reply.cut.is_some(), is_cut, "{text}");
        assert_eq!(reply.steps.len(), usize::from(!is_cut), "{text}");
    }
}

#[test]
fn a_cut_plan_neither_ends_the_session_nor_runs() {
    for text in [
        "{\"thought\": \"I will now write the parser\", \"actions\": [",
        "```json\n{\"thought\": \"first I\", \"actions\": [\n```",
        "{\"thought\":\"x\",\"actions\":[{\"tool\":\"replaceText\",\"path\":\"a\",\"oldString\":\"x\",\"newString\":\"y\"",
    ] {
        let reply = parse(text);
        assert_eq!((reply.steps.len(), reply.issues.len()), (0, 0), "{reply:?}");
        assert!(reply.cut.is_some(), "{text}");
    }
    let marked = "{\"thought\":\"\",\"actions\":[{\"tool\":\"read_file\",\"path\":\"a\"}\n[END ab12cd34#1]\n";
    assert_eq!(parse(marked).steps.len(), 1);
    let marked = "{\"thought\":\"\",\"actions\":[\n[END ab12cd34#1]\n";
    let reply = parse(marked);
    assert_eq!((reply.steps.len(), reply.issues.len()), (0, 1));
}

#[test]
fn the_thinking_of_a_file_stays_in_it() {
    let content = "# x\n```sh\nls\n```\n<think>\nkeep me\n</think>\n";
    case(
        &format!(
            "```\n[CREATE_FILE path=\"README.md\"]\n{content}[/CREATE_FILE]\n[END ab12cd34#1]\n```\n"
        ),
        &[create("README.md", content)],
    );
    let reply = parse(
        "prompt.txt\n<<<<<<< SEARCH\nold\n=======\n<think>\nkeep me\n</think>\n>>>>>>> REPLACE\n",
    );
    let json = serde_json::to_string(&reply.steps).unwrap();
    assert!(json.contains("keep me"), "{json}");
    assert_eq!(reply.repairs, []);
}

#[test]
fn the_work_grows_with_the_text_and_not_faster() {
    for unit in [
        "a.json\n```x\n{\"tool\": \"run\", \"command\": \"x\"}\n",
        "a.py\n```x\n{\"tool\": \"read_file\", \"path\": \"a.py\"}\n",
        "a.py\n```\nx\n```\n",
        "a.py\n```x\n",
        "```x\na.py\n",
        "a.md\n```\nx\n",
        "a.py\n```\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n```\n",
        "*** Delete File: a\n+x\n",
        "> *** Delete File: a\n> +x\n",
        "> *** Delete File: a\n *** Begin Patch\n",
        "> {\"tool\": \"git_status\"}\n *** Begin Patch\n",
        "<GIT_STATUS\t>\n",
        "<GIT_STATUS\t>\n<GIT_DIFF\t>\n",
    ] {
        work::assert_linear(250, |size| {
            parse(&format!("x\n{}", unit.repeat(size)));
        });
    }
}

#[test]
fn looks_for_the_end_of_quoted_results_are_counted() {
    for unit in [
        "<tool_result>\n",
        "<tool_result>\n[GIT_STATUS]\n",
        "```x\n[OK] GIT_DIFF: x\n",
        "```sh\npython3 - <<X\n",
        "[OK] GIT_DIFF: x\n<!--\n[DELETE_FILE path=a]\n```x\n\"\"\"\n",
    ] {
        for end in ["", "```\n</tool_result>\n[END ab12cd34#1]\n"] {
            work::assert_linear(250, |size| {
                parse(&format!("x\n{}{end}", unit.repeat(size)));
            });
        }
    }
}

#[test]
fn a_path_outside_is_refused_where_it_is_shown() {
    let reply = refused("/etc/passwd\n```\n{\"tool\": \"shell\", \"command\": \"x\"}\n```\n");
    assert_eq!(reply.issues.len(), 1);
    assert!(RelPath::parse("/etc/passwd").is_err());
}

#[test]
fn a_file_that_only_a_comment_names_is_pointed_out_beside_commands() {
    let reply = parse(
        "[CREATE_FILE path=\"a.txt\"]\nx\n[/CREATE_FILE]\n\n```python\n# tests/test_a.py\nimport a\n\nassert a\n```\n\n[DONE]\n",
    );
    assert_eq!(reply.steps.len(), 2);
    let [issue] = &reply.issues[..] else {
        panic!("{:?}", reply.issues);
    };
    assert!(issue.message.contains("`tests/test_a.py` was only shown"));
    assert!(issue.number.is_some(), "`[DONE]` must not count");
}

#[test]
fn lines_that_are_cited_are_not_a_file() {
    let block = "```4:4:src/app.py\nRATE = 0.21\n```\n";
    assert_eq!(parse(block).steps, []);
    let reply = parse(&format!("{block}[DONE]\nok\n[/DONE]\n"));
    let message = &reply.issues[0].message;
    assert!(message.contains("`src/app.py`"), "{message}");
}

#[test]
fn a_quotation_of_a_file_costs_nothing() {
    let file = "use std::fs;\n\nmod util;\n\nfn main() {\n    util::run();\n}\n";
    let workspace = crate::ReplyWorkspace {
        root: std::path::Path::new("/home/u/proj"),
        file: &|path| (path.as_str() == "src/main.rs").then(|| file.to_owned()),
    };
    let issues = |lead: &str, block: &str, end: &str| {
        let tags = "[RUN_COMMAND]\nmake\n[/RUN_COMMAND]\n[DONE]\nok\n[/DONE]\n";
        let text = format!("{lead}\n\n```rust\n{block}```\n\n{tags}{end}");
        let (_, reply) = crate::read_in(workspace, text.as_bytes());
        let numbers: Vec<u32> = reply.steps.iter().map(|step| step.number).collect();
        assert_eq!(numbers, [2, 3], "the same with and without the file");
        reply.issues.len()
    };
    let end = "[END ab12cd34#1]\n";
    for lead in [
        "This is defined in `src/main.rs`:",
        "`src/main.rs` stays the same:",
        "src/main.rs",
    ] {
        let is_part_told = usize::from(lead == "src/main.rs");
        assert_eq!(issues(lead, file, end), 0, "{lead}");
        let part = "fn main() {\n    util::run();\n";
        assert_eq!(issues(lead, part, end), is_part_told, "{lead}");
        assert_eq!(issues(lead, "mod util;\nfn main() {\n", end), 1, "{lead}");
        assert_eq!(issues(lead, "    mod util;\n", end), 1, "{lead}");
        assert_eq!(issues(lead, "mod other;\n", end), 1, "{lead}");
        assert_eq!(issues(lead, file, ""), 1, "{lead}");
        let pair = "mod util;\n```\n\nThis reads\n\n```rust\nmod tool;\n";
        assert_eq!(issues(lead, pair, end), 1, "{lead}");
        let asked = "mod util;\n```\n\nIt should go.\n\n```\n";
        assert_eq!(issues(lead, asked, end), 1, "{lead}");
    }
    for lead in [
        "Remove these lines from `src/main.rs`:",
        "In `src/main.rs`, change",
        "Update `src/main.rs` so that the rest is unchanged:",
        "In `src/main.rs`:\n\nFind:",
    ] {
        let pair = "mod util;\n```\n\nto\n\n```rust\nmod tool;\n";
        assert_eq!(issues(lead, "mod util;\n", end), 1, "{lead}");
        assert_eq!(issues(lead, pair, end), 1, "{lead}");
    }
    assert_eq!(issues("This is defined in `src/lib.rs`:", file, end), 1);
}

#[test]
fn an_edit_that_is_in_the_file_already_costs_nothing() {
    let edit = "a.py\n```\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n```\n";
    let diff = "```diff\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n y = 1\n```\n";
    let answer = "``````\n[DONE]\nok\n[/DONE]\n[END ab12cd34#1]\n``````\n";
    for (content, issues) in [("x = 2\ny = 1\n", 0), ("x = 1\ny = 1\n", 1)] {
        let workspace = crate::ReplyWorkspace {
            root: std::path::Path::new("/home/u/proj"),
            file: &|path| (path.as_str() == "a.py").then(|| content.to_owned()),
        };
        for shown in [edit, diff] {
            let text = format!("I changed it like this:\n\n{shown}\n{answer}");
            let (_, reply) = crate::read_in(workspace, text.as_bytes());
            assert_eq!(reply.issues.len(), issues, "{text}");
            let numbers: Vec<u32> = reply.steps.iter().map(|step| step.number).collect();
            assert_eq!(numbers, [2], "the same with and without the file");
        }
    }
}

#[test]
fn a_name_that_the_workspace_has_is_that_of_a_file() {
    let workspace = crate::ReplyWorkspace {
        root: std::path::Path::new("/home/u/proj"),
        file: &|path| {
            ["CHANGES", "fzf.1", "m.gitignore"]
                .contains(&path.as_str())
                .then(String::new)
        },
    };
    let written = |reply: &Reply| -> Vec<(u32, String)> {
        let steps = reply.steps.iter();
        steps
            .map(|step| (step.number, step.command.path().unwrap().to_string()))
            .collect()
    };
    let certain = [(1, "a.py".to_owned())];
    let text = |lead: &str| format!("{lead}\n```\nx\n```\n\n`a.py`\n```python\ny\n```\n");
    for (lead, name) in [
        ("Here is the new `CHANGES`:", "CHANGES"),
        ("**fzf.1**", "fzf.1"),
        ("`/home/u/proj/fzf.1`:", "fzf.1"),
        ("m.gitignore", "m.gitignore"),
    ] {
        let (_, reply) = crate::read_in(workspace, text(lead).as_bytes());
        let both = [certain[0].clone(), (2, name.to_owned())];
        assert_eq!(
            written(&reply),
            both,
            "the other number is as without it: {lead}"
        );
        let (_, reply) = crate::read_in(
            workspace,
            text(lead)
                .replace(
                    "y\n```",
                    "y\n```\n\n[PLAN]\nx\n[/PLAN]\n[DONE]\nok\n[/DONE]",
                )
                .as_bytes(),
        );
        assert_eq!(reply.steps.len(), 2, "{lead}: {reply:?}");
        assert!(
            reply
                .issues
                .iter()
                .any(|issue| issue.message.contains(name)),
            "{lead}: {reply:?}"
        );
    }
    for lead in ["**CHANGES**", "## CHANGES", "`parse_args`", "Usage", "TODO"] {
        let (_, reply) = crate::read_in(workspace, text(lead).as_bytes());
        assert_eq!(written(&reply), certain, "{lead}");
    }
    // `main` may be a function, and `CHANGES` what was done.
    for lead in ["CHANGES", "`CHANGES`", "### `CHANGES`", "File: CHANGES"] {
        let (_, reply) = crate::read_in(workspace, text(lead).as_bytes());
        assert_eq!(written(&reply), certain, "{lead}");
        assert_eq!(reply.issues.len(), 1, "{lead}: {reply:?}");
    }
    assert_eq!(written(&parse(&text("`CHANGES`"))), certain);
    for (lead, is_told) in [
        ("`default.html4`", true),
        ("**Makefile.in**", true),
        ("**stable/engine/OWNERS**", true),
        ("Create `relay.service`:", true),
        ("Here is the new `configure`:", true),
        ("File: configure", true),
        ("Next, `relay.service`:", true),
        ("And finally, create `deploy/crontabs`:", true),
        ("`relay.1`", true),
        ("In `relay.service` this was:", false),
        ("Next, `parse_args`:", false),
        ("`parse_args`", false),
        ("`a()`", false),
    ] {
        let reply = parse(&text(lead));
        assert_eq!(written(&reply), certain, "{lead}");
        assert_eq!(
            reply.issues.len(),
            usize::from(is_told),
            "{lead}: {reply:?}"
        );
    }
}

#[test]
fn an_edit_of_a_script_is_one_whatever_its_lines_do() {
    let block =
        "<<<<<<< SEARCH\nset -e\necho a > out.txt\n=======\nset -eu\nrm x\n>>>>>>> REPLACE\n";
    for (name, fence) in [
        ("r.sh", "```bash"),
        ("r.sh", "```sh"),
        ("Makefile", "```"),
        ("run", "```console"),
    ] {
        for rest in [
            "",
            "\nb.py\n```python\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n",
        ] {
            let reply = parse(&format!("`{name}`\n{fence}\n{block}```\n{rest}"));
            let names: Vec<&str> = reply.steps.iter().map(|step| step.command.name()).collect();
            assert_eq!(
                names,
                vec!["EDIT_FILE"; 1 + usize::from(!rest.is_empty())],
                "{name}: {reply:?}"
            );
            assert_eq!(reply.steps[0].command.path().unwrap().as_str(), name);
        }
    }
}

#[test]
fn a_line_within_a_code_block_leads_to_nothing_below_it() {
    let tree = "```\n.\n├── a.py\n└── package.json\n```\n";
    let call =
        "```json\n{\"tool\": \"write_file\", \"path\": \"a.py\", \"content\": \"x\\n\"}\n```\n";
    case(
        &format!("The files:\n\n{tree}\n{call}"),
        &[create("a.py", "x\n")],
    );
    assert!(
        parse(&format!("Add this to package.json:\n\n{call}"))
            .steps
            .is_empty()
    );
}
