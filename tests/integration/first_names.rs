//! Names of changed files: what git does not ignore is listed everywhere, also under a name that is hard
//! to write.

use std::fs;

use crate::commit::{git, project};
use crate::harness::{Finished, Test, agent};

const DONE: &str = "[DONE]\nThe files are there and were read.\n[/DONE]\n{end}\n";

/// A session with one command that has ended, in a repository that ignores logs and tracks one.
fn session(command: &str) -> Finished {
    let test = project(&["new", "task"]);
    let workspace = test.base().join("workspace");
    fs::write(workspace.join(".gitignore"), "*.log\n").unwrap();
    fs::write(workspace.join("kept.log"), "1\n").unwrap();
    git(&workspace, &["add", "-f", ".gitignore", "kept.log"]);
    git(&workspace, &["commit", "--quiet", "-m", "a log"]);
    let reply = format!("[RUN_COMMAND]\n{command}\n[/RUN_COMMAND]\n{{end}}\n");
    test.reply(&reply).reply(DONE).run().code(0)
}

/// Runs a command whose output must contain a text.
#[track_caller]
fn prints(finished: Finished, arguments: &[&str], text: &str) -> Finished {
    let finished = Test::after(finished, arguments).run().code(0);
    assert!(finished.stdout.contains(text), "{}", finished.stdout);
    finished
}

#[track_caller]
fn diff_lists(finished: Finished, expected: &[&str]) -> Finished {
    let finished = Test::after(finished, &["diff", "--stat"]).run().code(0);
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert_eq!(lines, expected);
    finished
}

#[test]
fn a_tracked_file_that_an_ignore_file_names_is_shown() {
    let finished = session("echo 2 >> kept.log; echo 1 > new.log").said(": kept.log +1\n");
    let finished = diff_lists(
        finished,
        &[
            "modified         +1     -0  kept.log",
            "ignored      new.log (not shown; `--all` shows it)",
        ],
    );
    let finished = prints(finished, &["status"], "1 file changed");
    let finished = prints(finished, &["list", "--json"], "\"changedFiles\":1");
    for (arguments, rows) in [
        (&["diff", "--json"][..], 1),
        (&["diff", "--json", "--all"], 2),
    ] {
        let output = agent(&finished.base()).args(arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().count(), rows, "{arguments:?}: {text}");
    }
}

#[test]
fn names_with_blanks_and_backslashes_are_not_called_ignored() {
    let finished = session("echo 1 > ' a '; echo 1 > 'b\\c'; echo 1 > ' x.log'");
    let _kept = diff_lists(
        finished,
        &[
            "created          +1     -0   a ",
            "created          +1     -0  b\\c",
            "ignored       x.log (not shown; `--all` shows it)",
        ],
    );
}

#[test]
fn names_that_are_hard_to_write_are_counted_everywhere_and_committed() {
    let finished = session(
        "echo 1 > ' a '; echo 1 > 'b\\c'; f=$(printf 'n\\tm'); echo 1 > \"$f\"; \
        g=$(printf 'x\\377y'); echo 1 > \"$g\"",
    );
    let finished = finished.said(":  a  +1, b\\c +1, n\\tm +1, x\u{fffd}y +1\n");
    let finished = prints(finished, &["status"], "4 files changed");
    let finished = prints(finished, &["list", "--json"], "\"changedFiles\":4");
    let finished = diff_lists(
        finished,
        &[
            "created          +1     -0   a ",
            "created          +1     -0  b\\c",
            "created          +1     -0  n\\tm",
            "created          +1     -0  x\u{fffd}y",
        ],
    );
    let finished = Test::after(finished, &["commit", "--yes"])
        .run()
        .code(0)
        .said(", 3 files:")
        .said("left out: x\u{fffd}y: its name is no valid UTF-8; commit it yourself");
    let workspace = finished.base().join("workspace");
    let tree = git(&workspace, &["ls-tree", "-z", "--name-only", "HEAD"]);
    assert!(
        tree.contains("\0b\\c\0") && tree.contains(" a \0"),
        "{tree:?}"
    );
    assert!(tree.contains("\0n\tm\0"), "{tree:?}");
    let finished = Test::after(finished, &["undo", "--all", "--yes"])
        .run()
        .code(0);
    let _kept = prints(finished, &["list", "--json"], "\"changedFiles\":0");
}

#[test]
fn the_end_counts_a_moved_file_once_and_no_ignored_one() {
    let test = project(&["new", "task"]).file("workspace/.gitignore", "*.log\n");
    let finished = test
        .reply("[CREATE_FILE path=\"a.log\"]\n1\n[/CREATE_FILE]\n[RUN_COMMAND]\nmv old.txt moved.txt\n[/RUN_COMMAND]\n{end}\n")
        .reply(DONE)
        .run()
        .code(0)
        .said(": moved.txt +0\n");
    let _kept = prints(finished, &["status"], "1 file changed");
}

#[test]
fn a_session_that_made_only_ignored_files_has_nothing_to_undo() {
    let made = "[RUN_COMMAND]\nmkdir -p made; echo 1 >> made/out\n[/RUN_COMMAND]\n{end}\n";
    let test = || project(&["new", "task"]).file("workspace/.gitignore", "made/\n");
    let finished = test().reply(made).reply(DONE).run().code(0);
    let _kept = Test::after(finished, &["undo", "--yes"])
        .run()
        .code(1)
        .said("there is no round to undo: only build output and files that git ignores changed");
    let created = "[CREATE_FILE path=\"a.txt\"]\n1\n[/CREATE_FILE]\n{end}\n";
    let finished = test().reply(created).reply(made).reply(DONE).run().code(0);
    let _kept = Test::after(finished, &["undo", "--yes"])
        .run()
        .code(0)
        .said("delete a.txt");
}

#[test]
fn an_ignored_file_that_a_command_deletes_is_not_counted_and_comes_back() {
    let test = project(&["new", "task"])
        .file("workspace/.gitignore", ".env\n")
        .file("workspace/.env", "A=1\n");
    let finished = test
        .reply("[RUN_COMMAND]\nrm .env; echo 1 > made.txt\n[/RUN_COMMAND]\n{end}\n")
        .reply(DONE)
        .run()
        .code(0)
        .said(": made.txt +1\n");
    let finished = prints(finished, &["status"], "1 file changed");
    let _kept = Test::after(finished, &["undo", "--yes"])
        .run()
        .code(0)
        .said("create .env");
}

#[test]
fn an_undo_names_a_directory_that_is_all_the_round_made() {
    let finished = project(&["new", "task"])
        .reply("[RUN_COMMAND]\nmkdir -p made/deep\n[/RUN_COMMAND]\n{end}\n")
        .reply(DONE)
        .run()
        .code(0)
        .said("no files changed");
    let finished = Test::after(finished, &["undo", "--yes"])
        .run()
        .code(0)
        .said("Undoing round 1 of session")
        .said(":\n  delete made/deep/\nUndid round 1.");
    assert!(!finished.base().join("workspace/made").exists());
}
