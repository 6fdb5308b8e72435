//! Names of changed files: what git does not ignore is listed everywhere, also under a name that is hard
//! to write.

use std::fs;

use crate::commit::{git, project};
use crate::harness::{Finished, Test};

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
    let finished = Test::after(finished, &["status"]).run().code(0);
    let finished = finished.said("1 file changed");
    let _kept = Test::after(finished, &["list", "--json"])
        .run()
        .code(0)
        .said("\"changedFiles\":1");
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
