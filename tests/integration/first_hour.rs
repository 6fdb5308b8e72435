//! The first hour of a new user, in a real pseudo-terminal.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{Test, agent, program, wait_for_outbox, wait_until};
use crate::terminal::{DONE, Terminal, has_script};

const READ: &str = "[LIST_FILES]\n{end}\n";
pub(crate) const CREATE: &str = "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n{end}\n";

pub(crate) fn waiting(arguments: &str) -> Option<(Terminal, String)> {
    if !has_script() {
        return None;
    }
    let mut terminal = Terminal::open(Test::new(&[]), arguments, &[]);
    let (id, _) = wait_for_outbox(&terminal.base(), 1);
    terminal.expect("into your chat");
    Some((terminal, id))
}

pub(crate) fn paste(terminal: &mut Terminal, text: &str) {
    terminal.type_in(&format!("\u{1b}[200~{text}\u{1b}[201~"));
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn pasted_lines_without_a_command_are_the_reply_unless_the_person_says_otherwise() {
    let Some((mut terminal, _)) = waiting("new task") else {
        return;
    };
    paste(
        &mut terminal,
        "I would start with the tests.\nThen the parser.\n",
    );
    terminal.expect("2 lines pasted, no complete command.");
    terminal.expect("Enter: it is the chat's reply");
    terminal.type_in("\r");
    let (_, second) = wait_for_outbox(&terminal.base(), 2);
    assert!(!second.contains("start with the tests"), "{second}");
    terminal.expect("There is no command in it");
    // A plain block of code, and a reply that was cut in its first command.
    for (sequence, text) in [
        (3, "```python\nprint(1)\nprint(2)\n```\n"),
        (4, "Here it is:\n[CREATE_FILE path=\"b.txt\"]\none\ntw"),
    ] {
        paste(&mut terminal, text);
        terminal.expect("Enter: it is the chat's reply");
        terminal.type_in("\r");
        wait_for_outbox(&terminal.base(), sequence);
    }
    paste(&mut terminal, "it printed:\nan error\n");
    terminal.expect("n Enter: a note from me");
    terminal.type_in("no\r");
    terminal.expect("Noted. The model gets it with the next message.");
    terminal.reply(4, READ);
    let (_, fifth) = wait_for_outbox(&terminal.base(), 5);
    assert!(fifth.contains("it printed:\nan error"), "{fifth}");
    terminal.reply(5, DONE);
    assert_eq!(terminal.close().0, Some(0));
}

#[test]
fn the_enter_after_a_paste_answers_nothing() {
    let Some((mut terminal, id)) = waiting("new task") else {
        return;
    };
    let asks = format!("[ASK_USER]\nWhich colour?\n[/ASK_USER]\n[END {id}#1]\n");
    paste(&mut terminal, &asks);
    terminal.type_in("\r");
    terminal.expect("Your answer:");
    // Nor does an empty line. What follows it at once would be taken for a paste.
    terminal.type_in("\r");
    std::thread::sleep(std::time::Duration::from_millis(200));
    terminal.type_in("blue\r");
    let (_, second) = wait_for_outbox(&terminal.base(), 2);
    assert!(second.contains("blue"), "{second}");
    terminal.reply(2, DONE);
    assert_eq!(terminal.close().0, Some(0));
}

#[test]
fn a_wrong_option_leaves_nothing_behind() {
    if !has_script() {
        return;
    }
    for (options, code) in [
        ("--chat nonsense", 2),
        ("--max-rounds many", 2),
        ("--command-timeout 3000", 1),
        ("--add nowhere.py", 2),
        ("--api nonsense", 2),
        // No key, no model, no server: before there is a folder, and before anything is asked.
        ("--api openai", 1),
        ("--api custom --api-url http://127.0.0.1:9/v1", 1),
        ("--api custom --model m --api-url nonsense", 1),
        ("--api ollama --model m --temperature hot", 2),
        // Nobody would be asked.
        ("--model m", 2),
        ("--api-url http://127.0.0.1:9/v1", 2),
    ] {
        let arguments = format!("new {options} task; echo code $?");
        let mut terminal = Terminal::open(Test::new(&[]), &arguments, &[]);
        terminal.expect(&format!("code {code}"));
        assert!(names(&terminal.base()).is_empty(), "{options}");
    }
}

#[test]
fn a_base_above_an_empty_folder_is_asked_about_and_that_of_the_home_is_not_used() {
    if !has_script() {
        return;
    }
    let test = Test::new(&[]).file("appsettings.json", "{\"Agent\": {}}");
    fs::create_dir(test.base().join("empty")).unwrap();
    let arguments = format!(
        "--version; cd empty; '{}' new --no-wait task; echo over",
        program()
    );
    let mut terminal = Terminal::open(test, &arguments, &[]);
    terminal.expect("above this folder is set up for `agent`");
    terminal.type_in("what?\n");
    terminal.expect("Please answer 1 or 2.");
    terminal.expect("[1/2]");
    terminal.type_in("2\n");
    terminal.expect("over");
    assert!(terminal.base().join("empty/appsettings.json").exists());
    assert!(!terminal.base().join("sessions").exists());

    let test = Test::new(&[]);
    let home = test.base().with_file_name("home");
    fs::create_dir_all(home.join("mine")).unwrap();
    fs::write(home.join("appsettings.json"), "{\"Agent\": {}}").unwrap();
    let arguments = format!(
        "--version; cd ../home/mine; '{}' new --no-wait task; echo over",
        program()
    );
    let mut terminal = Terminal::open(test, &arguments, &[]);
    terminal.expect("over");
    assert!(home.join("mine/appsettings.json").exists());
    assert!(!home.join("sessions").exists());
}

#[test]
fn a_base_above_is_named_and_without_a_terminal_not_taken_from_an_empty_folder() {
    let test = Test::new(&["new", "--no-wait", "task"]).file("appsettings.json", "{\"Agent\": {}}");
    let begun = test.file("docs/a.md", "a\n").run().code(0);
    let base = begun.base();
    fs::create_dir(base.join("empty")).unwrap();
    fs::create_dir_all(base.join("other/.git")).unwrap();
    let said = |folder: &str, arguments: &[&str]| {
        let mut command = agent(&base);
        let output = command
            .args(arguments)
            .current_dir(base.join(folder))
            .output();
        String::from_utf8(output.unwrap().stderr).unwrap()
    };
    for (folder, what) in [("empty", "empty"), ("other", "another project")] {
        let said = said(folder, &["new", "--no-wait", "task"]);
        assert!(said.contains(&format!("this folder is {what}")), "{said}");
        assert!(
            said.contains(&format!("hint: `--base {}`", base.display())),
            "{said}"
        );
    }
    assert_eq!(names(&base.join("empty")).len(), 0);
    for arguments in [
        &["new", "--no-wait", "task"][..],
        &["resume", "--no-wait"],
        &["undo"],
        &["diff"],
    ] {
        let said = said("docs", arguments);
        let above = format!(
            "Working with the base directory `{}`, above",
            base.display()
        );
        assert!(said.contains(&above), "{arguments:?}: {said}");
    }
}

#[test]
fn a_named_base_in_a_repository_is_ignored() {
    for place in [["--base", "."], ["--workspace", "src"]] {
        let test =
            Test::new(&["new", "--no-wait", place[0], place[1], "task"]).file("src/a", "a\n");
        git(&test.base(), &["init", "--quiet"]);
        git(&test.base(), &["add", "src"]);
        let begun = test.run().code(0);
        let status = git(&begun.base(), &["status", "--porcelain", "-uall"]);
        assert_eq!(status, "A  src/a\n", "{place:?}");
    }
}

#[test]
fn a_project_below_another_base_is_asked_about_as_any_other() {
    if !has_script() {
        return;
    }
    let test = Test::new(&[])
        .file("appsettings.json", "{\"Agent\": {}}")
        .file("proj/Cargo.toml", "")
        .file("proj/main.c", "int main;\n");
    let arguments = format!(
        "--version; cd proj; '{}' new --no-wait task; echo over",
        program()
    );
    let mut terminal = Terminal::open(test, &arguments, &[]);
    terminal.expect("above this folder is set up for `agent`");
    terminal.type_in("2\n");
    terminal.expect("on what is here, in place");
    terminal.type_in("1\n");
    terminal.expect("over");
    let project = terminal.base().join("proj");
    assert_eq!(names(&project), [".agent", "Cargo.toml", "main.c"]);
    assert!(!terminal.base().join("sessions").exists());
}

#[test]
fn a_repository_ignores_what_is_ours_and_its_root_is_offered() {
    if !has_script() {
        return;
    }
    let test = Test::new(&[]).file("mine.txt", "mine\n");
    git(&test.base(), &["init", "--quiet"]);
    let mut terminal = Terminal::open(test, "new --no-wait task", &[]);
    terminal.expect("[1/2]");
    terminal.type_in("3\n");
    terminal.expect("Please answer 1 or 2.");
    terminal.expect("[1/2]");
    terminal.type_in("2\n");
    terminal.expect("your message is");
    let status = git(&terminal.base(), &["status", "--porcelain", "-uall"]);
    assert_eq!(status, "?? mine.txt\n");
    drop(terminal);

    // A linked worktree has a file in place of `.git`, and its list of ignored files elsewhere.
    let test = Test::new(&[]);
    let main = test.base().with_file_name("main");
    fs::create_dir(&main).unwrap();
    git(&main, &["init", "--quiet"]);
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
    let commit = ["commit", "--quiet", "--allow-empty", "-m", "begin"];
    git(&main, &[&identity[..], &commit].concat());
    git(&main, &["worktree", "add", "--quiet", "../base/linked"]);
    fs::write(test.base().join("linked/mine.txt"), "mine\n").unwrap();
    let arguments = format!("--version; cd linked; '{}' new --no-wait task", program());
    let mut terminal = Terminal::open(test, &arguments, &[]);
    terminal.expect("[1/2]");
    terminal.type_in("2\n");
    terminal.expect("your message is");
    let linked = terminal.base().join("linked");
    let status = git(&linked, &["status", "--porcelain", "-uall"]);
    assert_eq!(status, "?? mine.txt\n");
    drop(terminal);

    let test = Test::new(&[]).file("src/mine.txt", "mine\n");
    git(&test.base(), &["init", "--quiet"]);
    let arguments = format!("--version; cd src; '{}' new --no-wait task", program());
    let mut terminal = Terminal::open(test, &arguments, &[]);
    terminal.expect("3. on the whole repository");
    terminal.type_in("3\n");
    terminal.expect("your message is");
    assert!(terminal.base().join(".agent/appsettings.json").exists());
    assert_eq!(names(&terminal.base().join("src")), ["mine.txt"]);
}

#[test]
fn after_the_end_the_whole_session_is_shown_and_the_last_real_round_undone() {
    let after = format!(
        "; P='{0}'; $P diff; $P status; echo status $?; $P undo --yes; $P diff --since 0; $P undo --all --yes",
        program()
    );
    let Some((mut terminal, _)) = waiting(&format!("new task{after}")) else {
        return;
    };
    terminal.reply(1, CREATE);
    wait_for_outbox(&terminal.base(), 2);
    terminal.reply(
        2,
        "[CREATE_FILE path=\"b.txt\"]\nb\n[/CREATE_FILE]\n{end}\n",
    );
    wait_for_outbox(&terminal.base(), 3);
    // Only what Python leaves behind.
    terminal.reply(
        3,
        "[RUN_COMMAND]\nmkdir __pycache__ && echo x > __pycache__/a.pyc\n[/RUN_COMMAND]\n{end}\n",
    );
    wait_for_outbox(&terminal.base(), 4);
    terminal.reply(4, DONE);
    terminal.expect("Done");
    terminal.expect("agent diff");
    terminal.expect("Rounds 1 to 3 of session");
    let diff = terminal.expect_text("(done)");
    assert!(diff.contains("b.txt") && diff.contains("a.txt"), "{diff}");
    assert!(!diff.contains("a.pyc"), "{diff}");
    terminal.expect("The files are in workspace");
    terminal.expect("agent resume");
    terminal.expect("status 0");
    terminal.expect("Undoing rounds 3 and 2");
    terminal.expect("delete b.txt");
    terminal.expect("Round 1 of session");
    terminal.expect("Undid round 1");
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn what_a_command_will_run_is_shown_before_the_question() {
    let Some((mut terminal, _)) = waiting("new --approval edits task") else {
        return;
    };
    terminal.reply(
        1,
        "[CREATE_FILE path=\"run.sh\"]\necho from the script\n[/CREATE_FILE]\n[RUN_COMMAND]\nsh run.sh\n[/RUN_COMMAND]\n[MESSAGE]\nI try the script.\n[/MESSAGE]\n{end}\n",
    );
    let before = terminal.expect_text("[y] yes");
    for text in ["I try the script.", "+echo from the script", "sh run.sh"] {
        assert!(before.contains(text), "`{text}`: {before}");
    }
    assert!(!terminal.base().join("workspace/run.sh").exists());
    terminal.type_in("d\r");
    terminal.expect("+echo from the script");
    terminal.expect("[y] yes");
    terminal.type_in("y\r");
    wait_for_outbox(&terminal.base(), 2);
    let after = terminal.expect_text("Round 2");
    assert!(!after.contains("I try the script."), "told twice: {after}");
    terminal.reply(2, DONE);
    assert_eq!(terminal.close().0, Some(0));
}

#[test]
fn plain_words_are_commands_and_shell_commands_are_asked_about() {
    for leave in ["quit", "exit", "/exit"] {
        let Some((mut terminal, id)) = waiting("new task; echo code $?") else {
            return;
        };
        terminal.type_in("?\r");
        terminal.expect("Commands, which may be shortened");
        terminal.type_in("help\r");
        terminal.expect("Commands, which may be shortened");
        terminal.type_in("agent status\r");
        terminal.expect(&format!("Session {id}"));
        terminal.type_in("agent diff\r");
        terminal.expect("no round of session");
        terminal.type_in("git status\r");
        terminal.expect("looks like a shell command");
        terminal.expect("Esc: edit");
        terminal.type_in("\u{1b}");
        terminal.expect("git status");
        terminal.type_in("\u{15}use tabs\r");
        terminal.expect("Noted.");
        terminal.type_in("/notes\r");
        terminal.expect("1. use tabs");
        terminal.type_in("/notes --drop 1\r");
        terminal.expect("Withdrawn: use tabs");
        terminal.type_in(&format!("{leave}\r"));
        terminal.expect("Nothing is lost");
        terminal.expect("code 0");
        let notes = terminal.base().join(format!("sessions/{id}/notes"));
        wait_until("no note is left", || names(&notes).is_empty());
    }
}

#[test]
fn a_placeholder_is_no_task() {
    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new --no-wait '<task>'", &[]);
    terminal.expect("What should the model do?");
    terminal.type_in("count the lines\n");
    terminal.expect("Started");
    terminal.expect("count the lines");
    Test::new(&["new", "--no-wait", "<what to do>"])
        .run()
        .code(2)
        .said("stands for what you want");
}

#[test]
fn the_current_message_is_always_in_latest() {
    let Some((terminal, _)) = waiting("new task") else {
        return;
    };
    let latest = || fs::read_to_string(terminal.base().join("outbox/latest.txt")).unwrap();
    assert_eq!(latest(), wait_for_outbox(&terminal.base(), 1).1);
    terminal.reply(1, READ);
    let (_, second) = wait_for_outbox(&terminal.base(), 2);
    wait_until("the second message is the latest", || latest() == second);
    terminal.reply(2, DONE);
    assert_eq!(terminal.close().0, Some(0));
}

#[test]
fn a_persons_own_settings_hold_everywhere_and_a_project_can_only_tighten_them() {
    let set = |finished, arguments: &[&str]| Test::after(finished, arguments).run();
    let finished = Test::new(&["config", "set", "chat", "claude"])
        .file(
            "appsettings.json",
            "{\"Agent\": {\"Approval\": \"auto\", \"MaxRounds\": 3}}",
        )
        .run()
        .code(0)
        .said("Chat = claude");
    let finished = set(finished, &["config", "get", "--chat-x"]).code(2);
    let finished = set(finished, &["config", "get", "Chat"]).code(0);
    assert_eq!(finished.stdout, "claude\n");
    let finished = set(finished, &["config", "set", "Approval", "ask"])
        .code(0)
        .said("Approval = ask");
    // The project's `auto` permits more than the person's own `ask`.
    let finished = set(finished, &["config", "get", "Approval"]).code(0);
    assert_eq!(finished.stdout, "ask\n");
    let finished = set(finished, &["config", "set", "MaxRounds", "9"]).code(0);
    let finished = set(finished, &["config", "get", "MaxRounds"]).code(0);
    assert_eq!(finished.stdout, "9\n");
    let finished = set(
        finished,
        &["--max-rounds", "4", "config", "get", "MaxRounds"],
    )
    .code(0);
    assert_eq!(finished.stdout, "4\n");
    // What the person sets for the project counts there.
    let finished = set(finished, &["config", "set", "--here", "MaxRounds", "5"]).code(0);
    let finished = set(finished, &["config", "get", "MaxRounds"]).code(0);
    assert_eq!(finished.stdout, "5\n");
    let finished = set(finished, &["config", "set", "MaxRounds", "8"])
        .code(0)
        .said("It does not hold here");
    let finished = set(finished, &["config", "unset", "Approval"]).code(0);
    let finished = set(finished, &["config", "set", "WorkspaceDir", "x"])
        .code(2)
        .said("folder of one project");
    set(finished, &["config", "set", "Chat", "nonsense"]).code(2);
}

#[test]
fn a_session_is_found_by_its_name_and_by_what_is_in_it() {
    let finished = Test::new(&["new", "fix the parser"])
        .reply(CREATE)
        .reply(DONE)
        .run()
        .code(0);
    let finished = Test::after(finished, &["rename", "first-try"])
        .run()
        .code(0)
        .said("is now `first-try`");
    let mut finished = Test::after(finished, &["status", "first-try"])
        .run()
        .code(0);
    for word in ["PARSER", "a.txt", "all is fine", "first-try"] {
        finished = Test::after(finished, &["list", "--search", word]).run();
        let shown = &finished.stdout;
        assert!(
            shown.contains("first-try: fix the parser"),
            "{word}: {shown}"
        );
    }
    let none = Test::after(finished, &["list", "--search", "nothing like it"])
        .run()
        .code(0)
        .said("No session here has");
    Test::after(none, &["rename", "abc"]).run().code(2);
}

#[test]
fn who_does_not_begin_without_the_check_has_no_message() {
    if !has_script() {
        return;
    }
    let arguments = format!(
        "new --check no-such-tool task; echo code $?; '{}' resume --check true",
        program()
    );
    let mut terminal = Terminal::open(Test::new(&[]), &arguments, &[]);
    terminal.expect("Begin without it?");
    terminal.expect("[n] no");
    terminal.type_in("n\r");
    let shown = terminal.expect_text("code 130");
    assert!(!shown.contains("into your chat"), "{shown}");
    // With a check that can run, the session begins.
    terminal.expect("into your chat");
    terminal.reply(1, DONE);
    assert_eq!(terminal.close().0, Some(0));
}
