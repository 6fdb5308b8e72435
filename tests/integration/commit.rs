//! `agent commit`: what goes in, what stays out, and that nothing of the repository runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Finished, Test};

const CREATE: &str = "[CREATE_FILE path=\"new.txt\"]\nnew\n[/CREATE_FILE]\n{end}\n";
const EDIT: &str = "[EDIT_FILE path=\"old.txt\"]\n<<<<<<< SEARCH\nthree\n=======\nTHREE\n>>>>>>> REPLACE\n[/EDIT_FILE]\n{end}\n";
const DONE: &str = "[DONE]\nThe file is there. It was tried.\n[/DONE]\n{end}\n";

pub fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs([
            ("GIT_AUTHOR_NAME", "Somebody"),
            ("GIT_AUTHOR_EMAIL", "some@example.com"),
            ("GIT_COMMITTER_NAME", "Somebody"),
            ("GIT_COMMITTER_EMAIL", "some@example.com"),
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A workspace that is a repository with a commit; its person is known to git.
pub fn project(arguments: &[&str]) -> Test {
    let test = Test::new(arguments)
        .file("appsettings.json", "{\"Agent\": {}}")
        .file(
            "workspace/old.txt",
            "one\ntwo\nthree\nfour\nfive\nsix\nseven\n",
        );
    let base = test.base().join("workspace");
    git(&base, &["init", "--quiet", "--initial-branch=main"]);
    git(&base, &["add", "old.txt"]);
    git(&base, &["commit", "--quiet", "-m", "begin"]);
    let home = test.base().with_file_name("home");
    fs::create_dir_all(&home).unwrap();
    let config = "[user]\n\tname = A Person\n\temail = person@example.com\n";
    fs::write(home.join(".gitconfig"), config).unwrap();
    test
}

/// A session in the project that has ended; what the person does between its rounds is not known to it.
fn session(replies: &[&str]) -> Finished {
    let test = project(&["new", "task"]);
    let test = replies.iter().fold(test, |test, reply| test.reply(reply));
    test.reply(DONE).run().code(0)
}

/// Replies with an edit and the end, in a session that commits its rounds.
fn edit_and_end(test: Test) -> Finished {
    let finished = test.reply(EDIT).reply(DONE).run().code(0);
    finished.said("(no hooks were run)")
}

#[track_caller]
fn has_commits(repository: &Path, count: usize) {
    let counted = git(repository, &["rev-list", "--count", "HEAD"]);
    assert_eq!(counted, format!("{count}\n"));
}

fn plant(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn beside(base: &Path, name: &str) -> PathBuf {
    base.with_file_name(name)
}

#[test]
fn what_the_session_changed_is_committed_in_the_persons_name() {
    let finished = session(&[CREATE]);
    let base = finished.base().join("workspace");
    fs::write(base.join("mine.txt"), "mine\n").unwrap();
    let finished = Test::after(finished, &["commit", "--yes"])
        .run()
        .code(0)
        .said("By A Person <person@example.com>, 1 file:")
        .said("Hooks and filters of the repository are not run.")
        .said("Committed ");
    let log = git(
        &base,
        &["log", "-1", "--format=%an %ae %s%n%b", "--name-only"],
    );
    assert!(
        log.starts_with("A Person person@example.com The file is there\n"),
        "{log}"
    );
    assert!(
        log.contains("It was tried.") && log.ends_with("new.txt\n"),
        "{log}"
    );
    assert_eq!(git(&base, &["status", "--porcelain"]), "?? mine.txt\n");
    let kept = Test::after(finished, &["commit", "--yes"])
        .run()
        .code(1)
        .said("there is nothing to commit");
    assert!(!kept.stderr.contains("0 files"), "{}", kept.stderr);
}

#[test]
fn the_persons_own_changes_stay_theirs_unless_they_say_otherwise() {
    for (flags, committed, left) in [
        (
            &[][..],
            "one\ntwo\nTHREE\nfour\nfive\nsix\nseven\n",
            " M old.txt\n",
        ),
        (
            &["--with-mine"][..],
            "one\ntwo\nTHREE\nfour\nfive\nsix\nMINE\n",
            "",
        ),
    ] {
        let test = project(&["new", "task"]);
        let base = test.base().join("workspace");
        // Changed by the person before the session begins.
        fs::write(
            base.join("old.txt"),
            "one\ntwo\nthree\nfour\nfive\nsix\nMINE\n",
        )
        .unwrap();
        let finished = test.reply(EDIT).reply(DONE).run().code(0);
        let arguments: Vec<&str> = ["commit", "--yes"].iter().chain(flags).copied().collect();
        let _kept = Test::after(finished, &arguments).run().code(0);
        assert_eq!(git(&base, &["show", "HEAD:old.txt"]), committed);
        assert_eq!(git(&base, &["status", "--porcelain"]), left);
    }
}

#[test]
fn own_changes_can_be_committed_after_those_of_the_session() {
    let test = project(&["new", "task"]);
    let base = test.base().join("workspace");
    let mine = "one\ntwo\nthree\nfour\nfive\nsix\nMINE\n";
    fs::write(base.join("old.txt"), mine).unwrap();
    let finished = test.reply(EDIT).reply(DONE).run().code(0);
    let finished = Test::after(finished, &["commit", "--yes"]).run().code(0);
    assert_eq!(git(&base, &["status", "--porcelain"]), " M old.txt\n");
    let finished = Test::after(finished, &["commit", "--yes", "--with-mine"])
        .run()
        .code(0);
    assert_eq!(git(&base, &["status", "--porcelain"]), "");
    let subjects = git(&base, &["log", "-2", "--format=%s"]);
    assert_eq!(subjects, "Change old.txt\nThe file is there\n");
    has_commits(&base, 3);
    let _kept = Test::after(finished, &["commit", "--yes", "--with-mine"])
        .run()
        .code(1)
        .said("there is nothing to commit");
}

#[test]
fn changes_that_meet_are_left_out_and_told() {
    let test = project(&["new", "task"]);
    let base = test.base().join("workspace");
    fs::write(
        base.join("old.txt"),
        "one\nMINE\nthree\nMINE\nfive\nsix\nseven\n",
    )
    .unwrap();
    let finished = test.reply(EDIT).reply(DONE).run().code(0);
    let _kept = Test::after(finished, &["commit", "--yes"])
        .run()
        .code(1)
        .said("left out: old.txt: it has changes of yours");
    has_commits(&base, 1);
}

#[test]
fn no_hook_runs_and_with_hooks_they_are_shown_first() {
    let hooked = || {
        let finished = session(&[CREATE]);
        let base = finished.base().join("workspace");
        let mark = beside(&base, "hook-ran");
        let script = format!("#!/bin/sh\ntouch {}\n", mark.display());
        for name in [
            "pre-commit",
            "commit-msg",
            "post-commit",
            "reference-transaction",
            "post-index-change",
        ] {
            plant(&base.join(".git/hooks").join(name), &script);
        }
        (finished, mark)
    };
    let (finished, mark) = hooked();
    let _kept = Test::after(finished, &["commit", "--yes"]).run().code(0);
    assert!(!mark.exists(), "a hook has run");
    // The same with the hooks: they are real.
    let (finished, mark) = hooked();
    let base = finished.base().join("workspace");
    let _kept = Test::after(finished, &["commit", "--hooks", "--yes"])
        .run()
        .code(0)
        .said("run outside of the sandbox")
        .said("pre-commit (not changed by this session)");
    assert!(mark.exists(), "no hook has run");
    assert_eq!(git(&base, &["status", "--porcelain"]), "");
}

#[test]
fn a_hook_that_runs_what_the_session_changed_says_so() {
    let finished = session(&[CREATE]);
    let base = finished.base().join("workspace");
    plant(
        &base.join(".git/hooks/pre-commit"),
        "#!/bin/sh\ncat ./new.txt\n",
    );
    let _kept = Test::after(finished, &["commit", "--hooks"])
        .run()
        .code(1)
        .said("new.txt (CHANGED BY THIS SESSION)")
        .said("nothing was committed");
    has_commits(&base, 1);
}

#[test]
fn no_filter_and_no_monitor_runs() {
    let finished = session(&[CREATE]);
    let base = finished.base().join("workspace");
    let mark = beside(&base, "filter-ran");
    let evil = beside(&base, "evil");
    plant(
        &evil,
        &format!("#!/bin/sh\ntouch {}\ncat\n", mark.display()),
    );
    let evil = evil.display().to_string();
    fs::write(base.join(".gitattributes"), "*.txt filter=evil\n").unwrap();
    for key in ["filter.evil.clean", "filter.evil.smudge", "core.fsmonitor"] {
        git(&base, &["config", key, &evil]);
    }
    let finished = Test::after(finished, &["commit", "--yes"])
        .run()
        .code(1)
        .said("left out: new.txt: git stores it through the filter `evil`");
    assert!(!mark.exists(), "a program of the repository has run");
    // The same by git itself: they are real.
    git(&base, &["add", "new.txt"]);
    assert!(mark.exists(), "the filter does not work");
    drop(finished);
}

#[test]
fn a_file_that_was_left_out_is_committed_once_the_reason_is_gone() {
    let finished = session(&[CREATE, EDIT]);
    let base = finished.base().join("workspace");
    fs::write(base.join(".gitattributes"), "new.txt filter=evil\n").unwrap();
    let finished = Test::after(finished, &["commit", "--yes"])
        .run()
        .code(0)
        .said("left out: new.txt");
    // As long as it holds, it is named.
    let finished = Test::after(finished, &["commit", "--yes"])
        .run()
        .said("left out: new.txt");
    fs::remove_file(base.join(".gitattributes")).unwrap();
    let _committed = Test::after(finished, &["commit", "--yes"]).run().code(0);
    assert_eq!(git(&base, &["show", "HEAD:new.txt"]), "new\n");
    assert!(git(&base, &["show", "HEAD:old.txt"]).contains("THREE"));
}

#[test]
fn rounds_that_pass_the_check_are_committed_as_they_come() {
    let test = project(&["new", "--check", "test -f new.txt", "--commit", "task"]);
    let base = test.base().join("workspace");
    plant(&base.join(".git/hooks/pre-commit"), "#!/bin/sh\nexit 1\n");
    let kept = edit_and_end(test.reply(CREATE));
    has_commits(&base, 3);
    assert_eq!(git(&base, &["status", "--porcelain"]), "");
    let session = kept.session();
    let id = session["sessionId"].as_str().unwrap();
    let events = kept.base().join(format!("sessions/{id}/events.jsonl"));
    let events = std::fs::read_to_string(events).unwrap();
    let committed = events.lines().filter(|line| line.contains("\"committed\""));
    assert_eq!(committed.count(), 2, "{events}");
    Test::new(&["new", "--commit", "task"])
        .run()
        .code(2)
        .said("there is none");
}

#[test]
fn nothing_is_committed_while_another_program_holds_the_index() {
    let finished = session(&[CREATE]);
    let base = finished.base().join("workspace");
    let lock = base.join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let finished = Test::after(finished, &["commit", "--yes"])
        .run()
        .code(1)
        .said("nothing was committed");
    has_commits(&base, 1);
    fs::remove_file(lock).unwrap();
    let _kept = Test::after(finished, &["commit", "--yes"]).run().code(0);
    has_commits(&base, 2);
    assert_eq!(git(&base, &["status", "--porcelain"]), "");
}

#[test]
fn a_session_goes_on_committing_after_its_first_call() {
    let begun = project(&[
        "new",
        "--no-wait",
        "--check",
        "test -f new.txt",
        "--commit",
        "task",
    ])
    .run()
    .code(0);
    let base = begun.base().join("workspace");
    let reply = CREATE.replace("{end}", &begun.end_mark());
    let stepped = Test::after(begun, &["step", "--reply", "-"])
        .input(&reply)
        .run()
        .code(0)
        .said("(no hooks were run)");
    has_commits(&base, 2);
    let _resumed = edit_and_end(Test::after(stepped, &["resume"]));
    has_commits(&base, 3);
}

#[test]
fn names_that_mean_something_to_git_are_committed_and_stay_in_the_index() {
    let files = "[RUN_COMMAND]\necho 1 > :colon.txt; echo 1 > ':(glob)x'; echo 1 > '*'\n\
        [/RUN_COMMAND]\n{end}\n";
    let finished = session(&[files]);
    let finished = Test::after(finished, &["commit", "--yes"]).run().code(0);
    let workspace = finished.base().join("workspace");
    let tree = git(&workspace, &["ls-tree", "--name-only", "HEAD"]);
    for name in [":colon.txt", ":(glob)x", "*"] {
        assert!(tree.lines().any(|line| line == name), "{name}: {tree}");
    }
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "");
}

#[test]
fn with_mine_symbolic_links_are_committed_as_without() {
    for arguments in [
        &["commit", "--yes"][..],
        &["commit", "--yes", "--with-mine"],
    ] {
        let link = "[RUN_COMMAND]\nln -s old.txt link\n[/RUN_COMMAND]\n{end}\n";
        let finished = Test::after(session(&[link]), arguments).run().code(0);
        let workspace = finished.base().join("workspace");
        let committed = git(&workspace, &["ls-tree", "HEAD", "link"]);
        assert!(committed.starts_with("120000"), "{committed}");
        let target = git(&workspace, &["cat-file", "blob", "HEAD:link"]);
        assert_eq!(target, "old.txt");
    }
}

#[test]
fn a_file_that_the_model_moved_with_git_is_one_file_and_the_models() {
    let moved = "[RUN_COMMAND]\ngit mv old.txt moved.txt\n[/RUN_COMMAND]\n{end}\n";
    let test = project(&["new", "--grant", "git-write", "task"]);
    let finished = test.reply(moved).reply(DONE).run().code(0);
    let base = finished.base().join("workspace");
    let finished = Test::after(finished, &["commit", "--yes"])
        .run()
        .code(0)
        .said(", 1 file:\n  old.txt -> moved.txt\n")
        .said("(1 file).");
    assert_eq!(git(&base, &["status", "--porcelain"]), "");
    assert_eq!(
        git(&base, &["ls-tree", "--name-only", "HEAD"]),
        "moved.txt\n"
    );
    // What the person stages stays theirs.
    let finished = Test::after(finished, &["resume", "--no-wait", "do more"])
        .run()
        .code(0);
    let end = finished.end_mark();
    let edit = EDIT.replace("old.txt", "moved.txt").replace("{end}", &end);
    let finished = Test::after(finished, &["step", "--reply", "-"])
        .input(&edit)
        .run()
        .code(0);
    fs::write(base.join("moved.txt"), "mine\n").unwrap();
    git(&base, &["add", "moved.txt"]);
    let _kept = Test::after(finished, &["commit", "--yes"])
        .run()
        .code(1)
        .said("left out: moved.txt: you have staged changes of it");
}
