use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{DEADLINE, Save, Test, agent, program, save_reply, wait_for_outbox};

/// The program in a pseudo-terminal of its own, with somebody who reads and types.
pub struct Terminal {
    /// Keeps the directories.
    test: Test,
    child: Child,
    keyboard: ChildStdin,
    output: Receiver<String>,
    shown: String,
}

/// Returns true if `script`, which gives us a terminal, is there in the variant that we can use.
#[expect(
    clippy::print_stderr,
    reason = "a skipped test says so to the person who runs it"
)]
pub fn has_script() -> bool {
    let version = Command::new("script").arg("--version").output();
    let is_known =
        version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("util-linux"));
    if !is_known {
        eprintln!("skipped: `script` of util-linux, which makes a terminal, is not there");
    }
    is_known
}

impl Terminal {
    /// Starts `agent` with these arguments in the base directory of a test.
    pub fn open(test: Test, arguments: &str, environment: &[(&str, &str)]) -> Self {
        Self::open_after(test, ":", arguments, environment)
    }

    /// Starts `agent` in a shell that has run this line.
    pub fn open_after(
        test: Test,
        first: &str,
        arguments: &str,
        environment: &[(&str, &str)],
    ) -> Self {
        let plain = agent(&test.base());
        let line = format!(
            "{first}; tty > ../tty; stty cols 80 rows 24; '{}' {arguments}",
            program()
        );
        let mut command = Command::new("script");
        command
            .args(["-qfec", &line, "/dev/null"])
            .current_dir(test.base())
            .env_clear()
            .envs(
                plain
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .env("TERM", "xterm")
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let keyboard = child.stdin.take().unwrap();
        let output = read(child.stdout.take().unwrap());
        Self {
            test,
            child,
            keyboard,
            output,
            shown: String::new(),
        }
    }

    pub fn base(&self) -> PathBuf {
        self.test.base()
    }

    /// Gives the directories to the next run.
    pub fn take_test(&mut self) -> Test {
        std::mem::replace(&mut self.test, Test::new(&[]))
    }

    /// Waits until the terminal shows a text that it has not shown before.
    #[track_caller]
    pub fn expect(&mut self, text: &str) {
        self.expect_text(text);
    }

    /// Waits for a text like `expect`; gives what the terminal showed up to there.
    #[track_caller]
    pub fn expect_text(&mut self, text: &str) -> String {
        let began = Instant::now();
        loop {
            if let Some(at) = self.shown.find(text) {
                return self.shown.drain(..at + text.len()).collect();
            }
            let Ok(more) = self.output.recv_timeout(Duration::from_secs(30)) else {
                panic!("`{text}` was not shown:\n{}", self.shown);
            };
            self.shown.push_str(&more);
            assert!(
                began.elapsed() < DEADLINE,
                "`{text}` was not shown:\n{}",
                self.shown
            );
        }
    }

    pub fn type_in(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Makes the terminal so wide.
    pub fn resize(&self, columns: u32) {
        let device = std::fs::read_to_string(self.base().with_file_name("tty")).unwrap();
        let status = Command::new("stty")
            .args(["-F", device.trim(), "cols", &columns.to_string()])
            .status()
            .unwrap();
        assert!(status.success());
    }

    /// Saves the reply to a round.
    pub fn reply(&self, sequence: u32, text: &str) {
        let (id, _) = wait_for_outbox(&self.base(), sequence);
        let text = text.replace("{end}", &format!("[END {id}#{sequence}]"));
        let path = self.base().join(format!("inbox/reply{sequence}.txt"));
        save_reply(&path, Save::Write, text.as_bytes());
    }

    /// Takes the terminal away from the program.
    pub fn hang_up(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for the end; gives the exit code and what was shown last.
    #[track_caller]
    pub fn close(mut self) -> (Option<i32>, String) {
        let status = wait_timeout::ChildExt::wait_timeout(&mut self.child, DEADLINE).unwrap();
        let Some(status) = status else {
            let _ = self.child.kill();
            panic!("the program did not end:\n{}", self.shown);
        };
        self.shown.extend(self.output.iter());
        (status.code(), std::mem::take(&mut self.shown))
    }
}

/// A test that gives up leaves no program behind: it goes with its terminal.
impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hands over what the terminal shows, as it comes.
fn read(mut stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut bytes) {
            let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
            if sender.send(text).is_err() {
                return;
            }
        }
    });
    receiver
}

pub const CTRL_C: &str = "\u{3}";
pub const DONE: &str = "[DONE]\nall is fine\n[/DONE]\n{end}\n";

#[test]
fn the_first_run_asks_where_to_work_and_obeys() {
    if !has_script() {
        return;
    }
    let test = Test::new(&[]).file("mine.txt", "mine\n");
    let mut terminal = Terminal::open(test, "new task", &[]);
    terminal.expect("[1/2]");
    terminal.type_in("2\n");
    terminal.expect("into your chat");
    terminal.reply(
        1,
        "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n{end}\n",
    );
    terminal.reply(2, DONE);
    terminal.expect("all is fine");
    assert!(terminal.base().join("workspace/a.txt").exists());
    assert!(!terminal.base().join("a.txt").exists());
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn the_first_run_in_place_makes_only_its_own_folder() {
    if !has_script() {
        return;
    }
    let test = Test::new(&[]).file("mine.txt", "mine\n");
    let mut terminal = Terminal::open(test, "new --no-wait task", &[]);
    terminal.expect("[1/2]");
    terminal.type_in("1\n");
    terminal.expect("_seq0001.txt");
    let base = terminal.base();
    let mut names: Vec<_> = std::fs::read_dir(&base)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, [".agent", "mine.txt"]);
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn a_question_is_answered_by_typing() {
    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new task", &[]);
    terminal.reply(1, "[ASK_USER]\nWhich colour?\n[/ASK_USER]\n{end}\n");
    terminal.expect("Which colour?");
    terminal.expect("Your answer:");
    terminal.type_in("light blue\n");
    let (_, outbox) = wait_for_outbox(&terminal.base(), 2);
    assert!(outbox.contains("Which colour?"), "{outbox}");
    assert!(outbox.contains("light blue"), "{outbox}");
    terminal.reply(2, DONE);
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

fn make_repository(directory: &Path) {
    std::fs::create_dir_all(directory).unwrap();
    let made = agent(directory);
    let status = Command::new("git")
        .args(["init", "-q"])
        .current_dir(directory)
        .env_clear()
        .envs(
            made.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn a_decline_carries_its_reason_to_the_model() {
    if !has_script() {
        return;
    }
    let test = Test::new(&[]).file("appsettings.json", "{\"Agent\": {}}");
    make_repository(&test.base().join("workspace"));
    let mut terminal = Terminal::open(test, "new task", &[]);
    terminal.reply(1, "[RUN_COMMAND]\ngit push\n[/RUN_COMMAND]\n{end}\n");
    terminal.expect("git push");
    terminal.expect("why: ");
    terminal.expect("[n REASON] no");
    terminal.type_in("n the release is not ready\n");
    let (_, outbox) = wait_for_outbox(&terminal.base(), 2);
    assert!(outbox.contains("1. [REFUSED] RUN_COMMAND"), "{outbox}");
    assert!(outbox.contains("the release is not ready"), "{outbox}");
    terminal.expect("declined");
    terminal.reply(2, DONE);
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn on_a_terminal_a_command_that_missed_the_network_is_offered_again() {
    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new task", &[]);
    terminal.reply(
        1,
        "[RUN_COMMAND]\necho x >> runs; echo 'Could not resolve host: x'; exit 6\n[/RUN_COMMAND]\n{end}\n",
    );
    terminal.expect("Run it again with the network?");
    terminal.expect("[y] yes, once");
    terminal.type_in("y\n");
    let (_, outbox) = wait_for_outbox(&terminal.base(), 2);
    assert!(outbox.contains("it was run twice"), "{outbox}");
    let runs = std::fs::read_to_string(terminal.base().join("workspace/runs")).unwrap();
    assert_eq!(runs, "x\nx\n");
    terminal.reply(2, DONE);
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn a_plan_is_declined_changed_and_approved_on_the_terminal() {
    if !has_script() {
        return;
    }
    let editor = [("EDITOR", "sed -i s/tabs/spaces/")];
    let mut terminal = Terminal::open(Test::new(&[]), "new --approval plan task", &editor);
    terminal.reply(1, "[PLAN]\nwith tabs\n[/PLAN]\n{end}\n");
    terminal.expect(" with tabs");
    terminal.expect("Approve the plan?");
    terminal.type_in("n think again\n");
    let (_, outbox) = wait_for_outbox(&terminal.base(), 2);
    assert!(outbox.contains("declined your plan: think again"));
    terminal.reply(2, "[PLAN]\nstill with tabs\n[/PLAN]\n{end}\n");
    terminal.expect("Approve the plan?");
    terminal.type_in("e\n");
    terminal.expect(" still with spaces");
    terminal.expect("Approve the plan?");
    terminal.type_in("y\n");
    let (_, outbox) = wait_for_outbox(&terminal.base(), 3);
    assert!(outbox.contains("The user changed your plan"), "{outbox}");
    assert!(outbox.contains("still with spaces"), "{outbox}");
    terminal.reply(3, DONE);
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn ctrl_c_while_waiting_ends_with_130_and_says_how_to_go_on() {
    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new task", &[]);
    let (id, _) = wait_for_outbox(&terminal.base(), 1);
    terminal.expect("into your chat");
    terminal.type_in(CTRL_C);
    terminal.expect(&format!("agent resume {id}"));
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(130), "{shown}");
}

#[test]
fn ctrl_c_at_a_question_ends_with_130_and_says_how_to_go_on() {
    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new task", &[]);
    terminal.reply(1, "[ASK_USER]\nWhich colour?\n[/ASK_USER]\n{end}\n");
    terminal.expect("Your answer:");
    terminal.type_in(CTRL_C);
    terminal.expect("agent resume");
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(130), "{shown}");
}

#[test]
fn a_terminal_has_colour_unless_the_person_wants_none() {
    if !has_script() {
        return;
    }
    let coloured = Terminal::open(Test::new(&[]), "resume", &[]).close().1;
    assert!(coloured.contains("\u{1b}["), "{coloured:?}");
    for (arguments, environment) in [
        ("resume", &[("NO_COLOR", "1")][..]),
        ("resume --color never", &[]),
    ] {
        let (code, shown) = Terminal::open(Test::new(&[]), arguments, environment).close();
        assert_eq!(code, Some(1));
        assert!(
            shown.contains("error: ") && !shown.contains('\u{1b}'),
            "{shown:?}"
        );
    }
}

#[test]
fn what_the_model_says_and_does_is_rendered_where_there_is_colour() {
    if !has_script() {
        return;
    }
    let reply = "[MESSAGE]\n# Title\n- a **bold** word\n[/MESSAGE]\n[CREATE_FILE path=\"a.txt\"]\none\ntwo\n[/CREATE_FILE]\n[EDIT_FILE path=\"a.txt\"]\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n[/EDIT_FILE]\n{end}\n";
    let unicode = [("LANG", "C.UTF-8")];
    let mut terminal = Terminal::open(Test::new(&[]), "new task", &unicode);
    terminal.reply(1, reply);
    terminal.expect("• ");
    terminal.expect("\u{1b}[1mbold\u{1b}[0m word");
    terminal.expect("created a.txt");
    terminal.expect("\u{1b}[32m+2\u{1b}[0m");
    terminal.expect("\u{1b}[31m-two");
    terminal.expect("\u{1b}[32m+2");
    terminal.reply(2, DONE);
    terminal.expect("--all for everything");
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");

    let mut terminal = Terminal::open(Test::new(&[]), "new task", &[("NO_COLOR", "1")]);
    terminal.reply(1, reply);
    terminal.expect("# Title");
    terminal.expect("- a **bold** word");
    terminal.expect("ok created a.txt");
    terminal.reply(2, DONE);
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn a_command_that_takes_its_time_tells_how_it_goes() {
    if !has_script() {
        return;
    }
    let mut terminal = Terminal::open(Test::new(&[]), "new task", &[]);
    // It ends when the line was seen, which cannot be before it was shown.
    terminal.reply(
        1,
        "[RUN_COMMAND]\necho first; while [ ! -e seen ]; do sleep 0.1; done\n[/RUN_COMMAND]\n{end}\n",
    );
    terminal.expect("running 1 s: ");
    terminal.expect("| first");
    std::fs::write(terminal.base().join("workspace/seen"), "").unwrap();
    terminal.expect("ran echo first");
    terminal.reply(2, DONE);
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn a_check_that_takes_its_time_tells_how_it_goes() {
    if !has_script() {
        return;
    }
    let check = "echo looking; while [ ! -e seen ]; do sleep 0.1; done; rm seen";
    let arguments = format!("new --check '{check}' task");
    let mut terminal = Terminal::open(Test::new(&[]), &arguments, &[]);
    terminal.expect("running 1 s: ");
    terminal.expect("| looking");
    std::fs::write(terminal.base().join("workspace/seen"), "").unwrap();
    terminal.expect("into your chat");
    terminal.type_in("\u{3}");
    let (_, shown) = terminal.close();
    assert!(shown.contains("Paused"), "{shown}");
}

#[test]
fn a_settings_file_is_asked_about_once_and_only_if_it_loosens() {
    if !has_script() {
        return;
    }
    let settings = |values: &str| format!("{{\"Agent\": {{{values}}}}}");
    let stricter = settings("\"Approval\": \"ask\", \"Policy\": \"strict\"");
    let test = Test::new(&[]).file("appsettings.json", stricter);
    let (code, shown) = Terminal::open(test, "new --no-wait task", &[]).close();
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains("Do you trust"), "{shown}");
    let looser = settings("\"Approval\": \"ask\", \"Network\": \"on\"");
    let test = Test::new(&[]).file("appsettings.json", looser);
    let both = format!("new --no-wait task; '{0}' resume --no-wait", program());
    let mut terminal = Terminal::open(test, &both, &[]);
    terminal.expect("Do you trust this file?");
    terminal.type_in("n\n");
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains("Do you trust"), "{shown}");
    let words: Vec<&str> = shown.split_whitespace().collect();
    let told = words.join(" ").matches("you said no to that file").count();
    assert_eq!(told, 2, "{shown}");
    assert!(!shown.contains("Approval:"), "{shown}");
}

/// A token as tests have them, in a session that shows the test.
fn token_in_a_test() -> (String, Test) {
    let token = format!(
        "ey{}.ey{}.{}",
        "JhbGciOiJIUzI1NiJ9",
        "JzdWIiOiJib2IifQ",
        "a1B2c3D4".repeat(5)
    );
    let source = format!("TOKEN = '{token}'\n");
    let test = Test::new(&[]).file("workspace/tests/test_auth.py", source);
    (token, test)
}

const PRINT: &str = "[RUN_COMMAND]\ncat tests/test_auth.py\n[/RUN_COMMAND]\n{end}\n";

#[test]
fn a_sample_token_is_asked_about_once_and_then_sent() {
    if !has_script() {
        return;
    }
    let (token, test) = token_in_a_test();
    let mut terminal = Terminal::open(test, "new --base . task", &[]);
    terminal.expect("tests/test_auth.py: ey");
    terminal.expect("Send them as they are,");
    terminal.type_in("y\n");
    let (first, outbox) = wait_for_outbox(&terminal.base(), 1);
    assert!(outbox.contains(&token), "{outbox}");
    terminal.reply(1, PRINT);
    let (_, outbox) = wait_for_outbox(&terminal.base(), 2);
    assert!(outbox.contains(&token), "{outbox}");
    terminal.reply(2, DONE);
    terminal.child.wait().unwrap();
    // Another session of the project knows the answer.
    let again = agent(&terminal.base())
        .args(["new", "--base", ".", "--no-wait", "again"])
        .output()
        .unwrap();
    assert!(again.status.success(), "{again:?}");
    let outbox = std::fs::read_dir(terminal.base().join("outbox")).unwrap();
    let mut messages = outbox.map(|entry| entry.unwrap().path());
    let other = messages
        .find(|path| !path.to_string_lossy().contains(&first))
        .unwrap();
    let message = std::fs::read_to_string(other).unwrap();
    assert!(message.contains(&token), "{message}");
}

#[test]
fn a_sample_token_that_is_kept_back_is_not_asked_about_again() {
    if !has_script() {
        return;
    }
    let (token, test) = token_in_a_test();
    let mut terminal = Terminal::open(test, "new --base . task", &[]);
    terminal.expect("Send them as they are,");
    terminal.type_in("n\n");
    let (_, outbox) = wait_for_outbox(&terminal.base(), 1);
    assert!(outbox.contains("TOKEN = '[SECRET-1 jwt]'"), "{outbox}");
    terminal.reply(1, PRINT);
    let (_, outbox) = wait_for_outbox(&terminal.base(), 2);
    assert!(!outbox.contains(&token), "{outbox}");
    terminal.reply(2, DONE);
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains("Send them"), "{shown}");
}

#[test]
fn done_counts_unchecked_only_if_the_person_begins_without_the_check() {
    if !has_script() {
        return;
    }
    let arguments = "new --check 'no-such-tool-here --all' task";
    let mut terminal = Terminal::open(Test::new(&[]), arguments, &[]);
    terminal.expect("counts unchecked.");
    terminal.type_in("y\n");
    terminal.expect("into your chat");
    let (_, message) = wait_for_outbox(&terminal.base(), 1);
    assert!(
        message.contains("The user continues without it: [DONE] counts."),
        "{message}"
    );
    terminal.reply(1, DONE);
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("(not checked: "), "{shown}");
}
