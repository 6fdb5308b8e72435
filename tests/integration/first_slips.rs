//! Slips of the first hour that decide nothing, and terminals that show less than others.

use std::fs;
use std::process::Command;

use crate::first_hour::waiting;
use crate::first_lists::untrusted;
use crate::harness::{Test, agent, program, wait_for_outbox};
use crate::terminal::{DONE, Terminal, has_script};

const TWO_STEPS: &str = "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n[RUN_COMMAND]\nfalse\n[/RUN_COMMAND]\n[MESSAGE]\n- one\n- two\n[/MESSAGE]\n{end}\n";

fn init(test: &Test) {
    let status = Command::new("git")
        .args(["init", "-q"])
        .current_dir(test.base())
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn ctrl_d_at_a_question_before_a_session_begins_nothing() {
    let Some(mut terminal) = untrusted() else {
        return;
    };
    terminal.expect("Do you trust this file?");
    terminal.expect("[n] no");
    terminal.type_in("\u{4}");
    let base = terminal.base();
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(130), "{shown}");
    assert!(!shown.contains("Started"), "{shown}");
    assert!(
        shown.contains("Interrupted.") && !shown.contains("error"),
        "{shown}"
    );
    assert!(!base.join("sessions").exists());
}

#[test]
fn a_typo_at_the_question_of_an_undo_decides_nothing() {
    if !has_script() {
        return;
    }
    let test = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let end = format!("[END {}#1]", test.session()["sessionId"].as_str().unwrap());
    let reply = format!("[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n{end}\n");
    let stepped = Test::after(test, &["step", "--reply", "-"])
        .input(&reply)
        .run()
        .code(0);
    let mut terminal = Terminal::open(Test::after(stepped, &[]), "undo", &[]);
    terminal.expect("Do it?");
    terminal.expect("[n] no");
    terminal.type_in("yess\n");
    terminal.expect("Please answer y or n.");
    terminal.expect("Do it?");
    terminal.expect("[n] no");
    terminal.type_in("y\n");
    terminal.expect("Undid round 1.");
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn a_note_is_withdrawn_in_plain_words_and_mistakes_are_told_in_a_line() {
    let Some((mut terminal, _)) = waiting("new task") else {
        return;
    };
    terminal.type_in("make it blue\r");
    terminal.expect("Noted.");
    terminal.type_in("/notes drop one\r");
    terminal.expect("`/notes`: ");
    let told = terminal.expect_text("`/notes --help` shows what it takes.");
    assert!(!told.contains("Usage:"), "{told}");
    terminal.type_in("/notes drop 1\r");
    terminal.expect("Withdrawn: make it blue");
    terminal.reply(1, DONE);
    assert_eq!(terminal.close().0, Some(0));
}

#[test]
fn commits_without_a_repository_are_refused_before_anything_is_written() {
    let finished = Test::new(&["new", "--check", "true", "--commit", "--no-wait", "task"])
        .run()
        .said("is in no git repository");
    assert!(!finished.status.success());
    assert_eq!(fs::read_dir(finished.base()).unwrap().count(), 0);
    let home = finished.base().with_file_name("home");
    assert!(!home.join(".config").exists());
}

#[test]
fn a_part_of_a_repository_is_asked_about_before_it_becomes_the_project() {
    if !has_script() {
        return;
    }
    for (answer, project) in [("1\n", "src"), ("2\n", ".")] {
        let test = Test::new(&[]).file("src/mine.txt", "mine\n");
        init(&test);
        let arguments = format!("--version; cd src; '{}' init", program());
        let mut terminal = Terminal::open(test, &arguments, &[]);
        terminal.expect("is in the repository");
        terminal.expect("2. on the whole repository, in place");
        terminal.type_in("both\n");
        terminal.expect("Please answer 1 or 2.");
        terminal.expect("[1/2]");
        terminal.type_in(answer);
        terminal.expect("is ready");
        for folder in ["src", "."] {
            let made = terminal.base().join(folder).join(".agent");
            assert_eq!(made.exists(), folder == project, "{folder}");
        }
    }
}

#[test]
fn who_works_on_a_whole_repository_is_not_asked_in_an_empty_folder_of_it() {
    if !has_script() {
        return;
    }
    let test = Test::new(&["init"]).file("mine.txt", "mine\n");
    init(&test);
    let ready = test.run().code(0);
    fs::create_dir(ready.base().join("empty")).unwrap();
    let arguments = format!("--version; cd empty; '{}' new --no-wait task", program());
    let mut terminal = Terminal::open(Test::after(ready, &[]), &arguments, &[]);
    let shown = terminal.expect_text("Started");
    assert!(!shown.contains("Where should the model work?"), "{shown}");
}

#[test]
fn a_step_that_is_refused_is_not_shown_as_one_that_comes() {
    let Some((mut terminal, _)) = waiting("new task") else {
        return;
    };
    terminal.reply(
        1,
        "[CREATE_FILE path=\".git/hooks/x\"]\nx\n[/CREATE_FILE]\n[CREATE_FILE path=\"e\"]\ne\n[/CREATE_FILE]\n[CREATE_FILE path=\".envrc\"]\nx\n[/CREATE_FILE]\n{end}\n",
    );
    let shown = terminal.expect_text("[q] stop");
    assert!(!shown.contains("hooks"), "{shown}");
    assert!(shown.contains("it comes before step 3"), "{shown}");
    terminal.type_in("n not this\r");
    let shown = terminal.expect_text("Round 2");
    // The letter of its name is in the message too.
    assert!(shown.contains("create .envrc"), "{shown}");
    assert!(shown.contains("create .git/hooks/x"), "{shown}");
}

#[test]
fn no_colour_takes_no_signs_away_and_a_terminal_of_ascii_gets_only_ascii() {
    if !has_script() {
        return;
    }
    for (environment, has_signs) in [
        (&[("NO_COLOR", "1"), ("LANG", "C.UTF-8")][..], true),
        (&[("NO_COLOR", "1"), ("LC_ALL", "C")], false),
        (&[("LC_ALL", "C")], false),
    ] {
        let terminal = Terminal::open(Test::new(&[]), "new task", environment);
        terminal.reply(1, TWO_STEPS);
        wait_for_outbox(&terminal.base(), 2);
        terminal.reply(2, DONE);
        let (code, shown) = terminal.close();
        assert_eq!(code, Some(0), "{shown}");
        if has_signs {
            for sign in ['→', '✓', '✗'] {
                assert!(shown.contains(sign), "{sign}: {shown}");
            }
        } else {
            assert!(shown.is_ascii(), "{shown}");
        }
    }
}

#[test]
fn the_end_names_a_commit_where_one_can_be_made() {
    for is_repository in [true, false] {
        let test = Test::new(&["new", "task"]).file("appsettings.json", "{\"Agent\": {}}");
        if is_repository {
            init(&test);
        }
        let finished = test.reply(TWO_STEPS).reply(DONE).run().code(0);
        let line = "  commit  agent commit (what the session changed, nothing of yours)\n";
        assert_eq!(finished.stderr.contains(line), is_repository);
        let status = Test::after(finished, &["status"]).run().code(0);
        assert_eq!(status.stdout.contains("  commit  "), is_repository);
    }
}

#[test]
fn the_sessions_of_a_folder_stay_reachable_after_init_above_it() {
    let test = Test::new(&["init"]).file("mine.txt", "mine\n");
    let below = test.base().join("below");
    fs::create_dir(&below).unwrap();
    let in_folder = |arguments: &[&str]| {
        let output = agent(&below).args(arguments).output().unwrap();
        let told = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(told).unwrap())
    };
    let (code, told) = in_folder(&["new", "--no-wait", "the task below"]);
    assert_eq!(code, Some(0), "{told}");
    let _above = test.run().code(0);
    let (code, told) = in_folder(&["list"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(!told.contains("delete"), "{told}");
    let (_, rest) = told.split_once("if it is yours, `--base ").expect(&told);
    let (path, _) = rest.split_once('`').unwrap();
    let (code, told) = in_folder(&["list", "--base", path]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("the task below"), "{told}");
}
