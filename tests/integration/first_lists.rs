//! Lists that agree, choices that a session keeps, slips that decide nothing: all in the first hour.

use std::fs;

use crate::harness::{Finished, Test};
use crate::small::bare;
use crate::terminal::{Terminal, has_script};

/// One step with this reply on standard input.
fn step(finished: Finished, text: &str) -> Finished {
    let end = finished.end_mark();
    Test::after(finished, &["step", "--reply", "-"])
        .input(&format!("{text}\n{end}\n"))
        .run()
        .code(0)
}

fn told(finished: &Finished) -> String {
    format!("{}{}", finished.stdout, finished.stderr)
}

#[track_caller]
fn tells(finished: &Finished, text: &str) {
    let told = told(finished);
    assert!(told.contains(text), "{told}");
}

/// A new session at a terminal, in a folder whose settings need trust; none where there is no terminal.
pub(crate) fn untrusted() -> Option<Terminal> {
    if !has_script() {
        return None;
    }
    let looser = "{\"Agent\": {\"Network\": \"on\"}}";
    let test = Test::new(&[]).file("appsettings.json", looser);
    Some(Terminal::open(test, "new --no-wait task", &[]))
}

/// Waits for a question with its keys, and answers it.
#[track_caller]
fn answer(terminal: &mut Terminal, question: &str, line: &str) {
    terminal.expect(question);
    terminal.expect("[q] stop");
    terminal.type_in(line);
}

#[test]
fn all_lists_name_what_the_session_changed_and_nothing_of_the_person() {
    let begun = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let one = step(begun, "[CREATE_FILE path=\"n.txt\"]\none\n[/CREATE_FILE]");
    let workspace = one.base().join("workspace");
    fs::write(workspace.join("mine.txt"), "mine\n").unwrap();
    fs::write(workspace.join("n.txt"), "one\nmy line\n").unwrap();
    let two = step(
        one,
        "[CREATE_FILE path=\"m.txt\"]\nm\n[/CREATE_FILE]\n[RUN_COMMAND]\necho 1 > tmp.txt\n[/RUN_COMMAND]",
    );
    let done = step(
        two,
        "[RUN_COMMAND]\nrm tmp.txt\n[/RUN_COMMAND]\n[DONE]\nAll of it is there and was tried.\n[/DONE]",
    );
    tells(&done, "m.txt +1, n.txt +1\n");
    let status = Test::after(done, &["status"]).run().code(0);
    tells(&status, "2 files changed");
    let list = Test::after(status, &["list", "--json"]).run().code(0);
    tells(&list, "\"changedFiles\":2");
    let diff = Test::after(list, &["diff", "--stat"]).run().code(0);
    assert!(diff.stdout.contains("m.txt"), "{}", diff.stdout);
    assert!(diff.stdout.contains("n.txt"), "{}", diff.stdout);
    assert_eq!(diff.stdout.lines().count(), 2, "{}", diff.stdout);
    let whole = Test::after(diff, &["diff"]).run().code(0);
    assert!(!whole.stdout.contains("my line"), "{}", whole.stdout);
}

#[test]
fn a_diff_names_the_rounds_and_says_that_only_ignored_files_changed() {
    let finished = Test::new(&["new", "--base", ".", "task"])
        .file("workspace/.gitignore", "*.log\n")
        .reply("[RUN_COMMAND]\necho 1 > a.log\n[/RUN_COMMAND]\n{end}\n")
        .reply("[DONE]\nThe log is there and was read.\n[/DONE]\n{end}\n")
        .run()
        .code(0);
    let finished = Test::after(finished, &["diff", "--round", "9"])
        .run()
        .code(1)
        .said("has no round 9: they are 1 to 2");
    let _kept = Test::after(finished, &["diff", "--round", "1"])
        .run()
        .code(0)
        .said("Only build output and files that git ignores changed.");
}

#[test]
fn a_file_that_got_an_ignored_name_is_gone() {
    let finished = Test::new(&["new", "--base", ".", "task"])
        .file("workspace/.gitignore", "*.log\n")
        .file("workspace/notes", "some notes\n")
        .reply("[RUN_COMMAND]\nmv notes notes.log\n[/RUN_COMMAND]\n{end}\n")
        .reply("[DONE]\nThe notes are a log now.\n[/DONE]\n{end}\n")
        .run()
        .code(0)
        .said("notes");
    let finished = Test::after(finished, &["diff", "--stat"]).run().code(0);
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert!(
        matches!(lines.as_slice(), [gone, ignored]
            if gone.starts_with("deleted") && gone.ends_with(" notes")
            && ignored.starts_with("ignored") && ignored.contains("notes.log")),
        "{lines:?}"
    );
    let finished = Test::after(finished, &["diff", "--all", "--stat"])
        .run()
        .code(0);
    assert!(
        finished.stdout.starts_with("renamed"),
        "{}",
        finished.stdout
    );
}

#[test]
fn a_diff_tells_ignored_directories_from_nothing_and_from_odd_names() {
    let finished = Test::new(&["new", "--base", ".", "task"])
        .file("workspace/.gitignore", "made/\n*.log\n")
        .reply("[RUN_COMMAND]\nmkdir made; echo 1 > made/out\n[/RUN_COMMAND]\n{end}\n")
        .reply("[RUN_COMMAND]\nf=$(printf 'a\\tb'); echo 1 > \"$f\"; echo 1 > \"$f.log\"\n[/RUN_COMMAND]\n{end}\n")
        .reply("[DONE]\nThe files are there and were read.\n[/DONE]\n{end}\n")
        .run()
        .code(0);
    let finished = Test::after(finished, &["diff", "--round", "1"])
        .run()
        .code(0)
        .said("Only build output and files that git ignores changed.");
    let finished = Test::after(finished, &["diff", "--stat"]).run().code(0);
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert!(
        matches!(lines.as_slice(), [made, ignored]
            if made.starts_with("created") && made.ends_with("a\\tb")
            && ignored.starts_with("ignored") && ignored.contains("a\\tb.log")),
        "{lines:?}"
    );
}

#[test]
fn a_session_that_is_undone_names_redo_and_a_diff_names_what_is_gone() {
    let finished = Test::new(&["new", "--base", ".", "task"])
        .reply("[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n[CREATE_FILE path=\"b.txt\"]\nb\n[/CREATE_FILE]\n[DONE]\nBoth files are there.\n[/DONE]\n{end}\n")
        .run()
        .code(0);
    fs::remove_file(finished.base().join("workspace/b.txt")).unwrap();
    let finished = Test::after(finished, &["diff"]).run().code(0);
    tells(&finished, "Deleted since: `b.txt`.");
    let finished = Test::after(finished, &["status"]).run().code(0);
    assert!(!told(&finished).contains("redo"), "{}", told(&finished));
    let finished = Test::after(finished, &["undo", "--all", "--yes", "--force"])
        .run()
        .code(0);
    let finished = Test::after(finished, &["status"]).run().code(0);
    tells(&finished, "agent redo (brings back round 1)");
}

#[test]
fn what_goes_with_the_next_message_is_said_in_one_way() {
    let finished = Test::new(&["new", "--base", ".", "--no-wait", "task"])
        .run()
        .code(0);
    let finished = step(finished, "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]");
    let finished = Test::after(finished, &["undo", "--yes"]).run().code(0);
    tells(&finished, "The model hears of it with the next message.");
    let finished = Test::after(finished, &["say", "use tabs"]).run().code(0);
    tells(&finished, "The model gets it with the next message.");
    let finished = Test::after(finished, &["status"]).run().code(0);
    tells(&finished, "1 note for the model, with the next message");
    tells(&finished, "`agent redo` brings back round 1.");
    let finished = step(finished, "[LIST_FILES]");
    let shown = Test::after(finished, &["show"]).run().code(0);
    tells(&shown, "use tabs");
    tells(&shown, ", undone\n");
    // Words for the model are not the person's.
    assert!(!told(&shown).contains("[undo]"), "{}", told(&shown));
}

#[test]
fn a_slip_at_the_question_of_trust_decides_nothing() {
    let Some(mut terminal) = untrusted() else {
        return;
    };
    terminal.expect("Do you trust this file?");
    terminal.type_in("maybe\n");
    terminal.expect("Please answer y or n.");
    terminal.expect("Do you trust this file?");
    terminal.type_in("y\n");
    terminal.expect("Started");
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn q_stops_a_question_that_comes_before_a_session() {
    if !has_script() {
        return;
    }
    let test = Test::new(&[]).file("notes.txt", "x\n");
    let mut terminal = Terminal::open(test, "new task", &[]);
    terminal.expect("Where should the model work?");
    terminal.type_in("q\n");
    let base = terminal.base();
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(130), "{shown}");
    assert!(!base.join("appsettings.json").exists());
}

#[test]
fn a_placeholder_is_no_instruction() {
    let begun = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    Test::after(begun, &["resume", "--no-wait", "<what to do next>"])
        .run()
        .code(2)
        .said("stands for what you want")
        .said("agent resume \"now add tests\"");
}

#[test]
fn a_setting_is_written_beside_one_that_is_wrong() {
    let test = Test::new(&["config", "set", "Chat", "claude"]);
    let file = test
        .base()
        .with_file_name("home/.config/agent/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "{\"Nonsense\": 1}").unwrap();
    let _finished = test
        .run()
        .code(0)
        .said("Chat = claude")
        .said("cannot be used yet")
        .said("Nonsense");
    let written = fs::read_to_string(&file).unwrap();
    assert!(written.contains("claude"), "{written}");
}

#[test]
fn a_command_is_asked_about_with_what_an_earlier_round_wrote() {
    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new --approval edits task", &[]);
    terminal.reply(
        1,
        "[CREATE_FILE path=\"x.py\"]\nprint('the answer')\n[/CREATE_FILE]\n{end}\n",
    );
    terminal.expect("Round 2");
    terminal.reply(2, "[RUN_COMMAND]\npython3 x.py\n[/RUN_COMMAND]\n{end}\n");
    terminal.expect("x.py");
    terminal.expect("(from an earlier round; step 1 names it)");
    terminal.expect("print('the answer')");
    terminal.expect("1. run");
    answer(&mut terminal, "because `Approval` is `edits`", "q\r");
    terminal.expect("run python3 x.py: you stopped before this");
}

#[test]
fn the_reason_of_several_steps_is_told_once() {
    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new --approval ask task", &[]);
    terminal.reply(
        1,
        "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n[RUN_COMMAND]\ncat a.txt\n[/RUN_COMMAND]\n[RUN_COMMAND]\nls\n[/RUN_COMMAND]\n{end}\n",
    );
    answer(&mut terminal, "because `Approval` is `ask`", "d\r");
    terminal.expect("3. run");
    let shown = terminal.expect_text("[q] stop");
    assert!(!shown.contains("why:"), "{shown}");
    terminal.type_in("o\r");
    answer(&mut terminal, "Do it?", "y\r");
    let shown = terminal.expect_text("2. run");
    assert!(shown.contains("1. create"), "{shown}");
    assert!(!shown.contains("CREATE_FILE"), "{shown}");
    assert!(!shown.contains("why:"), "{shown}");
    answer(&mut terminal, "Run it?", "n not now\r");
    terminal.expect("declined");
    let shown = terminal.expect_text("not now");
    assert!(shown.contains("2. run `cat a.txt`"), "{shown}");
    answer(&mut terminal, "Run it?", "q\r");
    terminal.expect("stopped before this");
}

#[test]
fn questions_before_a_session_are_broken_between_words() {
    let Some(mut terminal) = untrusted() else {
        return;
    };
    let shown = terminal.expect_text("[y] yes  [n] no");
    let shown = without_sequences(&shown);
    let path = terminal.base();
    for line in shown.lines() {
        let is_path = line.contains(path.file_name().unwrap().to_str().unwrap());
        assert!(line.chars().count() <= 80 || is_path, "{line}");
    }
    terminal.type_in("q\n");
    assert_eq!(terminal.close().0, Some(130));
}

/// A text without the sequences of a terminal.
fn without_sequences(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else if letter != '\r' {
            plain.push(letter);
        }
    }
    plain
}

#[test]
fn a_part_of_a_repository_is_set_up_with_a_word_about_the_rest() {
    let test = Test::new(&["init", "part"]).file("part/a.txt", "a\n");
    fs::create_dir(test.base().join(".git")).unwrap();
    test.run()
        .code(0)
        .said("The model sees only this folder of the repository")
        .said("agent init '");
}

#[test]
fn a_step_warns_before_the_last_round() {
    let arguments = ["new", "--no-wait", "--max-rounds", "2", "task"];
    let begun = Test::new(&arguments).run().code(0);
    let stepped = step(begun, "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]");
    tells(&stepped, "The last round");
}

#[test]
fn an_undo_does_not_list_ignored_files() {
    let test = Test::new(&["new", "--no-wait", "task"])
        .file("appsettings.json", "{\"Agent\": {}}")
        .file("workspace/.gitignore", "*.log\n");
    fs::create_dir(test.base().join("workspace/.git")).unwrap();
    let begun = test.run().code(0);
    let stepped = step(
        begun,
        "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n[RUN_COMMAND]\necho x > build.log\n[/RUN_COMMAND]",
    );
    let undone = Test::after(stepped, &["undo", "--yes"]).run().code(0);
    let shown = told(&undone);
    assert!(shown.contains("delete a.txt"), "{shown}");
    assert!(!shown.contains("delete build.log"), "{shown}");
    let redone = Test::after(undone, &["redo", "--yes"]).run().code(0);
    tells(&redone, "create a.txt\n  create 1 file that git ignores\n");
}

#[test]
fn a_long_command_is_told_whole() {
    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new task", &[]);
    let long = format!("echo {} the-last-word", "a-word ".repeat(20).trim_end());
    terminal.reply(
        1,
        &format!("[RUN_COMMAND]\n{long} > /dev/null\n[/RUN_COMMAND]\n{{end}}\n"),
    );
    terminal.expect("the-last-word > /dev/null");
    terminal.expect("Round 2");
}

#[test]
fn the_demonstration_recommends_nothing_for_a_folder_that_is_gone() {
    let shown = told(&Test::new(&["demo"]).run().code(0));
    assert!(shown.contains("Done after 3 rounds"), "{shown}");
    assert!(!shown.contains("agent undo"), "{shown}");
    assert!(!shown.contains("agent resume"), "{shown}");
}

#[test]
fn what_was_undone_is_counted_nowhere_until_it_is_redone() {
    let begun = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let one = step(begun, "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]");
    let two = step(one, "[CREATE_FILE path=\"b.txt\"]\nb\n[/CREATE_FILE]");
    let counts = |finished: Finished, files: &str, number: u32| {
        let status = Test::after(finished, &["status"]).run().code(0);
        let text = told(&status);
        assert!(text.contains(&format!("{files} changed")), "{text}");
        let list = Test::after(status, &["list", "--json"]).run().code(0);
        let expected = format!("\"changedFiles\":{number}");
        assert!(list.stdout.contains(&expected), "{}", list.stdout);
        list
    };
    let undone = Test::after(two, &["undo", "--all", "--yes"]).run().code(0);
    let counted = counts(undone, "0 files", 0);
    let redone = Test::after(counted, &["redo", "--yes"]).run().code(0);
    let counted = counts(redone, "2 files", 2);
    let undone = Test::after(counted, &["undo", "--all", "--yes"])
        .run()
        .code(0);
    let three = step(undone, "[CREATE_FILE path=\"c.txt\"]\nc\n[/CREATE_FILE]");
    let counted = counts(three, "1 file", 1);
    let done = step(counted, "[DONE]\nIt is there and was tried.\n[/DONE]");
    let text = told(&done);
    assert!(text.contains(": c.txt +1\n"), "{text}");
    let undone = Test::after(done, &["undo", "--yes"]).run().code(0);
    let counted = counts(undone, "0 files", 0);
    let status = Test::after(counted, &["status"]).run().code(0);
    assert!(!told(&status).contains("agent diff"), "{}", told(&status));
}

#[test]
fn the_end_does_not_list_a_file_that_the_person_deleted() {
    let begun = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let created = "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n[CREATE_FILE path=\"b.txt\"]\nb\n[/CREATE_FILE]";
    let one = step(begun, created);
    fs::remove_file(one.base().join("workspace/a.txt")).unwrap();
    let done = step(one, "[DONE]\nIt is there and was tried.\n[/DONE]");
    let text = told(&done);
    assert!(text.contains(": b.txt +1\n"), "{text}");
    let status = Test::after(done, &["status"]).run().code(0);
    let text = told(&status);
    assert!(text.contains("1 file changed"), "{text}");
}

#[test]
fn files_that_a_command_may_run_are_counted_until_the_person_has_seen_them() {
    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new --approval edits task", &[]);
    terminal.reply(
        1,
        "[CREATE_FILE path=\"my file.sh\"]\necho quoted\n[/CREATE_FILE]\n[CREATE_FILE path=\"Makefile\"]\nall: ; echo made\n[/CREATE_FILE]\n[CREATE_FILE path=\"b.mk\"]\nb = 1\n[/CREATE_FILE]\n{end}\n",
    );
    terminal.expect("Round 2");
    terminal.reply(
        2,
        "[CREATE_FILE path=\"c.mk\"]\nc = 1\n[/CREATE_FILE]\n[RUN_COMMAND]\nsh \"my file.sh\"\n[/RUN_COMMAND]\n{end}\n",
    );
    terminal.expect("(from an earlier round; step 2 names it)");
    terminal.expect("echo quoted");
    terminal.expect("2 changed files were not shown yet; d shows them");
    terminal.expect("[q] stop");
    terminal.type_in("y\r");
    terminal.expect("Round 3");
    terminal.reply(3, "[RUN_COMMAND]\nmake\n[/RUN_COMMAND]\n{end}\n");
    // What was shown as a step of the last round, or because it was named, is not counted again.
    let asked = terminal.expect_text("2 changed files were not shown yet; d shows them");
    assert!(!asked.contains("echo made"), "{asked}");
    terminal.expect("[q] stop");
    terminal.type_in("d\r");
    terminal.expect("Makefile");
    terminal.expect("(from an earlier round)");
    terminal.expect("echo made");
    let again = terminal.expect_text("[q] stop");
    assert!(!again.contains("not shown yet"), "{again}");
    terminal.type_in("y\r");
    terminal.expect("Round 4");
    terminal.reply(4, "[RUN_COMMAND]\nmake\n[/RUN_COMMAND]\n{end}\n");
    let asked = terminal.expect_text("[q] stop");
    assert!(!asked.contains("not shown yet"), "{asked}");
}

#[test]
fn a_file_that_was_shown_in_pieces_is_not_shown_again() {
    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new --approval edits task", &[]);
    let run = "[RUN_COMMAND]\npython3 x.py\n[/RUN_COMMAND]\n{end}\n";
    let edit = "[EDIT_FILE path=\"x.py\"]\n<<<<<<< SEARCH\nprint(1)\n=======\nprint(2)\n>>>>>>> REPLACE\n[/EDIT_FILE]\n";
    let create = "[CREATE_FILE path=\"x.py\"]\nprint(0)\nprint(1)\n[/CREATE_FILE]\n";
    terminal.reply(1, &format!("{create}{run}"));
    answer(&mut terminal, "Run it?", "n\r");
    terminal.reply(2, &format!("{edit}{run}"));
    let shown = terminal.expect_text("[q] stop");
    assert!(shown.contains("+print(2)"), "{shown}");
    assert!(!shown.contains("earlier round"), "{shown}");
    terminal.type_in("n\r");
    terminal.reply(3, run);
    terminal.expect("Reply 3");
    let shown = terminal.expect_text("[q] stop");
    assert!(!shown.contains("earlier round"), "{shown}");
    assert!(!shown.contains("not shown yet"), "{shown}");
}

#[test]
fn a_question_about_a_long_change_keeps_its_head_and_each_step_is_listed_once_afterwards() {
    if !has_script() {
        return;
    }
    let test = Test::new(&[]).file("workspace/x.py", "old\n");
    let mut terminal = Terminal::open(test, "new --approval ask --base . task", &[]);
    let lines = "print(1)\n".repeat(60);
    let create = format!("[CREATE_FILE path=\"x.py\"]\n{lines}[/CREATE_FILE]\n");
    terminal.reply(1, &format!("{create}{{end}}\n"));
    terminal.expect("Reply 1");
    let asked = bare(&terminal.expect_text("[q] stop"));
    let (_, asked) = asked.split_once("1. overwrite `x.py`").expect(&asked);
    assert!(asked.lines().count() < 23, "{asked}");
    assert!(asked.contains("  (49 more lines; d shows all)"), "{asked}");
    terminal.type_in("n\r");
    terminal.expect("Round 2");
    let run = "[RUN_COMMAND]\npython3 x.py\n[/RUN_COMMAND]\n";
    terminal.reply(2, &format!("{create}{run}{{end}}\n"));
    let listed = bare(&terminal.expect_text("[q] stop"));
    assert!(listed.contains("1  overwrite `x.py`  +60  -1"), "{listed}");
    assert!(listed.contains("2  run       python3 x.py"), "{listed}");
    terminal.type_in("o\r");
    terminal.expect("[o] all at once");
    terminal.type_in("o\r");
    terminal.expect("[y] yes to all");
    terminal.expect("[q] stop");
    terminal.type_in("n later\r");
    let told = bare(&terminal.expect_text("Round 3"));
    assert_eq!(
        told.matches("x.py: you declined: later").count(),
        2,
        "{told}"
    );
    assert!(!told.contains("declined 2."), "{told}");
}

#[test]
fn a_long_change_before_a_question_keeps_its_head_in_sight() {
    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new --approval edits task", &[]);
    let lines = "print(1)\n".repeat(60);
    terminal.reply(
        1,
        &format!("[CREATE_FILE path=\"x.py\"]\n{lines}[/CREATE_FILE]\n[RUN_COMMAND]\npython3 x.py\n[/RUN_COMMAND]\n{{end}}\n"),
    );
    terminal.expect("Reply 1");
    let asked = bare(&terminal.expect_text("[a] always"));
    let (_, asked) = asked.split_once("1. create `x.py`").expect(&asked);
    // The prompt comes below.
    assert!(asked.lines().count() < 24, "{asked}");
}
