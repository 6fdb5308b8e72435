use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::harness::{Finished, Test};

/// Everything beneath a directory: files with their contents, directories with none.
fn tree(root: &Path) -> BTreeMap<String, Option<String>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            if path.is_dir() {
                open.push(path);
                found.insert(name, None);
            } else {
                let content = fs::read(&path).unwrap();
                found.insert(name, Some(String::from_utf8_lossy(&content).into_owned()));
            }
        }
    }
    found
}

/// The base directory, and the home and the state of the person beside it.
fn surroundings(base: &Path) -> BTreeMap<String, Option<String>> {
    tree(base.parent().unwrap())
}

/// Checks that a run changed these files and nothing else, anywhere.
#[track_caller]
fn changes_only(test: Test, changed: &[(&str, &str)]) -> Finished {
    let mut expected = surroundings(&test.base());
    for (name, content) in changed {
        expected.insert(format!("base/{name}"), Some((*content).to_owned()));
    }
    let finished = test.run();
    let found = surroundings(&finished.base());
    assert_eq!(found, expected, "{}", finished.stderr);
    finished
}

/// `agent apply` in a directory with one file, where `agent` was never used.
fn apply(arguments: &[&str], reply: &str) -> Test {
    let arguments: Vec<&str> = ["apply"].iter().chain(arguments).copied().collect();
    Test::new(&arguments)
        .file("a.txt", "one\ntwo\nthree\n")
        .input(reply)
}

#[track_caller]
fn json_lines(stdout: &str) -> Vec<serde_json::Value> {
    let read = |line| {
        serde_json::from_str(line).unwrap_or_else(|cause| panic!("{cause} in this line: {line}"))
    };
    stdout.lines().map(read).collect()
}

const EDIT: &str = "[EDIT_FILE path=\"a.txt\"]\n<<<<<<< SEARCH\ntwo\n=======\nTWO\n>>>>>>> REPLACE\n[/EDIT_FILE]\n";
const RUN: &str = "[RUN_COMMAND]\necho ran\n[/RUN_COMMAND]\n";

#[test]
fn works_on_the_current_directory_and_writes_nothing_but_its_files() {
    changes_only(apply(&[], EDIT), &[("a.txt", "one\nTWO\nthree\n")]).code(0);
    changes_only(apply(&["-"], EDIT), &[("a.txt", "one\nTWO\nthree\n")]).code(0);
    let create = "[CREATE_FILE path=\"b.txt\"]\nb\n[/CREATE_FILE]\n";
    let empty = Test::new(&["apply"]).input(create);
    changes_only(empty, &[("b.txt", "b\n")]).code(0);
}

#[test]
fn a_command_that_is_run_leaves_no_cache_and_no_state_behind() {
    let finished = changes_only(apply(&[], RUN), &[]).code(0);
    assert!(finished.stdout.contains("ran\n"), "{}", finished.stdout);
}

#[test]
fn a_rehearsal_of_a_command_leaves_no_cache_and_no_state_behind() {
    let finished = changes_only(apply(&["--dry-run"], RUN), &[]).code(0);
    assert!(!finished.stdout.contains("ran\n"), "{}", finished.stdout);
}

#[test]
fn a_placeholder_overwrites_no_secret() {
    let edit = "[EDIT_FILE path=\"a.txt\" start_line=\"2\" end_line=\"2\"]\nKEY=[SECRET-1 key]\n[/EDIT_FILE]\n";
    let finished = changes_only(apply(&[], edit), &[]);
    let told = format!("{}{}", finished.stdout, finished.stderr);
    assert!(
        told.contains("`[SECRET-1 key]` stands for no secret that is known here"),
        "{told}"
    );
    // What the file itself has is text like any other.
    let create = "[CREATE_FILE path=\"b.txt\"]\n[SECRET-1 key]\n2\n[/CREATE_FILE]\n";
    let test = Test::new(&["apply"])
        .file("b.txt", "[SECRET-1 key]\n")
        .input(create);
    changes_only(test, &[("b.txt", "[SECRET-1 key]\n2\n")]);
}

#[test]
fn the_reply_can_be_a_file() {
    let test = Test::new(&["apply", "reply.md"])
        .file("a.txt", "one\ntwo\n")
        .file("reply.md", EDIT);
    changes_only(test, &[("a.txt", "one\nTWO\n")]).code(0);
    Test::new(&["apply", "no-such.md"])
        .run()
        .code(1)
        .said("no-such.md");
}

#[test]
fn where_agent_is_used_its_workspace_is_worked_on() {
    Test::new(&["apply"])
        .file("appsettings.json", "{\"Agent\": {}}")
        .file("workspace/a.txt", "one\ntwo\n")
        .input(EDIT)
        .run()
        .code(0)
        .workspace("a.txt", "one\nTWO\n");
}

#[test]
fn a_rehearsal_prints_a_unified_diff_and_changes_nothing() {
    let reply = format!("{EDIT}[CREATE_FILE path=\"b.txt\"]\nb\n[/CREATE_FILE]\n");
    let finished = changes_only(apply(&["--dry-run"], &reply), &[]).code(0);
    for expected in [
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n",
        "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+b\n",
    ] {
        let shown = &finished.stdout;
        assert!(
            shown.contains(expected),
            "`{expected}` is missing:\n{shown}"
        );
    }
}

#[test]
fn json_has_one_object_for_each_step_and_a_last_one() {
    let reply = format!(
        "{EDIT}[EDIT_FILE path=\"a.txt\"]\n<<<<<<< SEARCH\nnowhere\n=======\nx\n>>>>>>> REPLACE\n[/EDIT_FILE]\n\
         [CREATE_FILE path=\".git/config\"]\nx\n[/CREATE_FILE]\n{RUN}"
    );
    for arguments in [&["--json"][..], &["--json", "--dry-run"]] {
        let finished = apply(arguments, &reply).run().code(4);
        let lines = json_lines(&finished.stdout);
        let [edit, missing, protected, run, rest] = lines.as_slice() else {
            panic!("five lines were expected:\n{}", finished.stdout);
        };
        assert_eq!(edit["step"], 1);
        assert_eq!(edit["command"], "EDIT_FILE");
        assert_eq!(edit["path"], "a.txt");
        assert_eq!(edit["status"], "ok");
        assert_eq!(edit["match"], "exact");
        assert!(
            edit["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        );
        assert_eq!(missing["status"], "failed");
        assert!(missing.get("match").is_none(), "{missing}");
        assert_eq!(protected["step"], 3);
        assert_eq!(protected["status"], "refused");
        assert_eq!(run["command"], "RUN_COMMAND");
        assert_eq!(run["status"], "skipped");
        assert!(run.get("path").is_none(), "{run}");
        let summary = serde_json::json!({"ok": 1, "failed": 1, "refused": 1, "skipped": 1});
        assert_eq!(rest["summary"], summary);
        assert_eq!(rest["repairs"], serde_json::json!([]));
        assert_eq!(rest["issues"], serde_json::json!([]));
    }
}

#[test]
fn json_tells_of_repairs_and_of_what_was_not_understood() {
    let whole = format!("{EDIT}[EDIT_FILE]\nx\n[/EDIT_FILE]\n");
    let quoted = |line| format!("> {line}\n");
    let damaged: String = whole.lines().map(quoted).collect();
    let finished = apply(&["--json"], &damaged).run().code(4);
    let rest = json_lines(&finished.stdout).pop().unwrap();
    assert_eq!(rest["summary"]["ok"], 1, "{rest}");
    assert!(rest["repairs"][0]["what"].is_string(), "{rest}");
    assert_eq!(rest["issues"][0]["command"], "EDIT_FILE", "{rest}");
    assert!(rest["issues"][0]["line"].is_u64(), "{rest}");
}

/// Checks that a reply is not wholly applied, and that the file stays as it is.
#[track_caller]
fn incomplete(reply: &str, said: &str) {
    let finished = changes_only(apply(&[], reply), &[]).code(4);
    let all = format!("{}{}", finished.stdout, finished.stderr);
    assert!(all.contains(said), "`{said}` was not said:\n{all}");
}

#[test]
fn whatever_is_not_done_gives_exit_code_4() {
    incomplete("", "nothing");
    incomplete("I would not know what to change.\n", "nothing");
    incomplete("[EDIT_FILE]\nx\n[/EDIT_FILE]\n", "path");
    incomplete(
        "[EDIT_FILE path=\"b.txt\" start_line=\"1\"]\nx\n[/EDIT_FILE]\n",
        "failed",
    );
    incomplete(
        "[CREATE_FILE path=\"../b.txt\"]\nx\n[/CREATE_FILE]\n",
        "../b.txt",
    );
    incomplete(
        "[CREATE_FILE path=\".git/config\"]\nx\n[/CREATE_FILE]\n",
        "refused",
    );
}

#[test]
fn a_command_that_fails_gives_exit_code_4() {
    apply(&[], "[RUN_COMMAND]\necho out; exit 3\n[/RUN_COMMAND]\n")
        .run()
        .code(4)
        .said("failed ran echo out; exit 3")
        .said("   exit 3");
}

#[test]
fn without_a_terminal_what_would_be_asked_is_refused() {
    let reply = "[RUN_COMMAND]\ngit push\n[/RUN_COMMAND]\n";
    let finished = apply(&["--json"], reply).run().code(4);
    assert_eq!(json_lines(&finished.stdout)[0]["status"], "refused");
}

#[test]
fn what_can_be_done_is_done_beside_a_malformed_block() {
    let reply = format!("[EDIT_FILE]\nx\n[/EDIT_FILE]\n{EDIT}");
    changes_only(apply(&[], &reply), &[("a.txt", "one\nTWO\nthree\n")]).code(4);
}

#[test]
fn a_cut_reply_is_applied_as_far_as_it_goes() {
    let reply = format!("{EDIT}[CREATE_FILE path=\"b.txt\"]\nhalf of");
    let changed = [("a.txt", "one\nTWO\nthree\n")];
    changes_only(apply(&[], &reply), &changed)
        .code(4)
        .said("Ask the chat for the rest");
    let finished = apply(&["--json"], &reply).run().code(4);
    let rest = json_lines(&finished.stdout).pop().unwrap();
    assert_eq!(rest["cut"]["line"], 8, "{rest}");
}

#[track_caller]
fn dialect(reply: &str) {
    changes_only(apply(&[], reply), &[("a.txt", "one\nTWO\nthree\n")]).code(0);
}

#[test]
fn every_dialect_is_applied() {
    dialect(EDIT);
    dialect("[EDIT_FILE path=\"a.txt\" start_line=\"2\"]\nTWO\n[/EDIT_FILE]\n");
    dialect("Sure:\n\na.txt\n```\n<<<<<<< SEARCH\ntwo\n=======\nTWO\n>>>>>>> REPLACE\n```\n");
    dialect(
        "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+TWO\n three\n*** End Patch\n",
    );
    dialect("```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n```\n");
    dialect(
        "```json\n{\"tool\": \"replaceText\", \"filePath\": \"a.txt\", \"oldString\": \"two\", \"newString\": \"TWO\"}\n```\n",
    );
    dialect("`a.txt`\n```\none\nTWO\nthree\n```\n");
}

#[test]
fn contents_output_and_messages_are_shown() {
    let reply = format!(
        "[MESSAGE]\nI had a look.\n[/MESSAGE]\n[READ_FILE path=\"a.txt\"]\n[SEARCH_TEXT pattern=\"three\"]\n{RUN}"
    );
    let finished = apply(&[], &reply).run().code(0);
    for expected in ["one\ntwo\nthree\n", "a.txt:3: three", "ran\n"] {
        let shown = &finished.stdout;
        assert!(
            shown.contains(expected),
            "`{expected}` is missing:\n{shown}"
        );
    }
    let all = format!("{}{}", finished.stdout, finished.stderr);
    assert!(all.contains("I had a look."), "{all}");
}

#[test]
fn our_own_message_is_no_reply() {
    let finished = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    incomplete(&finished.outbox(1), "a message of ours");
}
