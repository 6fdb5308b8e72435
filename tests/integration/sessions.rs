use std::fs;
use std::path::Path;

use crate::harness::{Finished, Test, agent};

const DONE: &str = "[DONE]\nall done\n[/DONE]\n{end}\n";

fn create(name: &str, content: &str) -> String {
    format!("[CREATE_FILE path=\"{name}\"]\n{content}\n[/CREATE_FILE]\n{{end}}\n")
}

fn id_of(finished: &Finished) -> String {
    finished.session()["sessionId"].as_str().unwrap().to_owned()
}

/// A session of two rounds that has ended.
fn ended() -> Finished {
    Test::new(&["new", "write a greeting"])
        .reply(&create("a.txt", "hello"))
        .reply(DONE)
        .run()
        .code(0)
}

#[track_caller]
fn prints(finished: &Finished, text: &str) {
    let shown = &finished.stdout;
    assert!(shown.contains(text), "`{text}` is missing:\n{shown}");
}

#[track_caller]
fn json(finished: &Finished) -> serde_json::Value {
    serde_json::from_str(finished.stdout.lines().next().unwrap()).unwrap()
}

#[test]
fn a_list_tells_state_rounds_files_and_age() {
    let finished = ended();
    let id = id_of(&finished);
    let finished = Test::after(finished, &["list", "--json"]).run().code(0);
    let row = json(&finished);
    assert_eq!(row["id"], *id);
    assert_eq!(row["state"], "done");
    assert_eq!(row["rounds"], 2);
    assert_eq!(row["changedFiles"], 1);
    assert_eq!(row["isRunning"], false);
    let finished = Test::after(finished, &["list"]).run().code(0);
    prints(
        &finished,
        "ID        STATE      ROUND  FILES      AGE  TASK\n",
    );
    prints(&finished, &format!("{id}  done           2      1  "));
    prints(&finished, "write a greeting\n");
}

#[test]
fn the_status_after_done_is_of_the_one_that_ended_and_names_the_others() {
    let waiting = Test::new(&["new", "--no-wait", "an older task"])
        .run()
        .code(0);
    let older = id_of(&waiting);
    let finished = Test::after(waiting, &["new", "write a greeting"])
        .reply("[DONE]\nall done\n[/DONE]\n")
        .run()
        .code(0);
    let finished = Test::after(finished, &["status"]).run().code(0);
    prints(&finished, "write a greeting");
    prints(&finished, &format!("Not finished: {older} (an older task)"));
}

#[test]
fn a_session_is_named_by_a_beginning_or_as_the_latest_and_slips_are_pointed_out() {
    let finished = ended();
    let id = id_of(&finished);
    let finished = Test::after(finished, &["status", "latest"]).run().code(0);
    prints(&finished, &id);
    let finished = Test::after(finished, &["status", &id[..3]]).run().code(0);
    prints(&finished, &format!("agent resume {id}"));
    let last = if id.ends_with('0') { "1" } else { "0" };
    let typed = format!("{}{last}", &id[..7]);
    Test::after(finished, &["status", &typed])
        .run()
        .code(1)
        .said(&format!("there is no session `{typed}`"))
        .said(&format!("did you mean `{id}` (write a greeting)?"));
}

/// A base directory with so many copies of a session, each with a journal that cannot be read.
fn many(amount: u32) -> Finished {
    let finished = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let sessions = finished.base().join("sessions");
    let id = id_of(&finished);
    let text = fs::read_to_string(sessions.join(format!("{id}.json"))).unwrap();
    for number in 0..amount {
        let other = format!("{number:08x}");
        let path = |ending: &str| sessions.join(format!("{other}{ending}"));
        fs::write(path(".json"), text.replace(&id, &other)).unwrap();
        fs::write(path(".journal.jsonl"), "no journal\n").unwrap();
    }
    finished
}

#[test]
fn a_list_of_a_thousand_sessions_opens_no_journal() {
    let finished = many(1_000);
    let finished = Test::after(finished, &["list"]).run().code(0);
    assert_eq!(
        finished.stdout.lines().count(),
        1_002,
        "{}",
        finished.stderr
    );
    assert_eq!(finished.stderr, "");
}

fn letters(base: &Path, id: &str) -> usize {
    let count = |directory: &str| {
        let entries = fs::read_dir(base.join(directory)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        names
            .filter(|name| name.to_string_lossy().starts_with(id))
            .count()
    };
    count("outbox") + count("inbox/processed") + count("sessions")
}

#[test]
fn a_removed_session_leaves_the_workspace_and_other_sessions() {
    let finished = ended();
    let id = id_of(&finished);
    let finished = Test::after(finished, &["new", "--no-wait", "another"])
        .run()
        .code(0);
    assert_eq!(letters(&finished.base(), &id), 7);
    let finished = Test::after(finished, &["rm", &id])
        .run()
        .code(1)
        .said("`--yes`");
    assert_eq!(letters(&finished.base(), &id), 7);
    let finished = Test::after(finished, &["rm", "--yes", &id[..4]])
        .run()
        .code(0)
        .said(&format!("Session {id} is removed."))
        .workspace("a.txt", "hello\n");
    assert_eq!(letters(&finished.base(), &id), 0);
    assert_eq!(finished.outboxes(), 1);
    assert_eq!(finished.session()["task"], "another");
    Test::after(finished, &["rm", "--yes", &id])
        .run()
        .code(1)
        .said("there is no session");
}

#[test]
fn a_session_at_work_is_not_removed() {
    let running = Test::new(&["new", "task"]).start();
    running.outbox(1);
    let output = agent(&running.base())
        .args(["rm", "--yes", "latest"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("is at work in process"), "{said}");
    running.signal("INT");
    let finished = running.wait().code(130);
    Test::after(finished, &["rm", "--yes", "latest"])
        .run()
        .code(0);
}

#[test]
fn every_message_after_the_first_tells_what_the_rounds_did() {
    let finished = Test::new(&["new", "task"])
        .reply("[RUN_COMMAND]\necho x > made.txt; exit 3\n[/RUN_COMMAND]\n{end}\n")
        .reply("[EDIT_FILE path=\"none.txt\"]\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n[/EDIT_FILE]\n{end}\n")
        .reply(&create("a.txt", "hello"))
        .reply(DONE)
        .run()
        .code(0);
    assert!(!finished.outbox(1).contains("## History"));
    let first = "Round 1: changed made.txt; ran `echo x > made.txt; exit 3` (exit code 3)\n";
    assert!(finished.outbox(2).contains(&format!("## History\n{first}")));
    let last = finished.outbox(4);
    let expected = format!(
        "## History\n{first}Round 2: did not work: EDIT_FILE `none.txt` failed\nRound 3: changed a.txt\n"
    );
    assert!(last.contains(&expected), "{last}");
}

#[test]
fn the_history_says_which_rounds_were_taken_back() {
    let finished = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let step = |finished: Finished, reply: &str| {
        let reply = reply.replace("{end}\n", "");
        Test::after(finished, &["step", "--reply", "-"])
            .input(&reply)
            .run()
            .code(0)
    };
    let finished = step(finished, &create("a.txt", "hello"));
    let finished = Test::after(finished, &["undo", "--yes"]).run().code(0);
    let finished = step(finished, "[LIST_FILES]\n");
    let told = "Round 1 (undone by the user since): changed a.txt\n";
    assert!(finished.outbox(3).contains(told), "{}", finished.outbox(3));
    let finished = Test::after(finished, &["redo", "--yes"]).run().code(0);
    let finished = step(finished, "[LIST_FILES]\n[LIST_FILES]\n");
    let told = "Round 1: changed a.txt\n";
    assert!(finished.outbox(4).contains(told), "{}", finished.outbox(4));
}

#[test]
fn an_ended_session_goes_on_with_a_further_instruction() {
    let finished = ended();
    let id = id_of(&finished);
    let finished = Test::after(finished, &["resume", &id])
        .run()
        .code(1)
        .said("has ended")
        .said(&format!("agent resume {id}"));
    let finished = Test::after(finished, &["resume", &id[..4], "now", "add tests"])
        .reply_second(&create("test.txt", "tested"))
        .reply(DONE)
        .run()
        .code(0)
        .workspace("test.txt", "tested\n");
    let outbox = finished.outbox(3);
    let asks = "THE USER ASKS FOR MORE, beyond the task in the header:\nnow add tests\n";
    assert!(outbox.contains(asks), "{outbox}");
    assert!(
        outbox.contains("## History\nRound 1: changed a.txt"),
        "{outbox}"
    );
    assert!(outbox.contains("You cannot see the machine"), "{outbox}");
    let later = finished.outbox(4);
    assert!(
        later.contains("Task: write a greeting\nThe user added in message 3: now add tests\n"),
        "{later}"
    );
    assert!(!later.contains("THE USER ASKS"), "{later}");
    assert_eq!(finished.session()["isComplete"], true);
    let journal = fs::read_to_string(finished.base().join(format!("sessions/{id}.journal.jsonl")));
    assert!(
        journal
            .unwrap()
            .contains("{\"event\":\"reopened\",\"sequence\":3}")
    );
}

#[test]
fn an_instruction_alone_goes_to_the_latest_session_and_into_its_current_message() {
    let finished = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let finished = Test::after(finished, &["step", "--reply", "-"])
        .input("[LIST_FILES]\n")
        .run()
        .code(0);
    assert!(!finished.outbox(2).contains("in French"));
    let finished = Test::after(finished, &["resume", "--no-wait", "in French please"])
        .run()
        .code(0);
    let outbox = finished.outbox(2);
    assert!(
        outbox.contains("in the header:\nin French please\n"),
        "{outbox}"
    );
    assert!(outbox.contains("1. [OK] LIST_FILES"), "{outbox}");
    assert_eq!(finished.outboxes(), 2);
    Test::after(finished, &["resume", "nosuch"])
        .run()
        .code(1)
        .said("there is no session `nosuch`");
}

/// A session with a question, a failure, a shell command and an instruction after its end.
fn eventful() -> Finished {
    let first = "I look <b>first</b>.\n[PLAN]\n1. look\n[/PLAN]\n[RUN_COMMAND]\necho made > made.txt; echo gone wrong; exit 3\n[/RUN_COMMAND]\n{end}\n";
    Test::new(&["new", "write a *greeting* <now>"])
        .reply(first)
        .reply(&create("a.txt", "<hello> & \u{1b}[31mred"))
        .reply(DONE)
        .run()
        .code(0)
}

#[test]
fn show_tells_the_conversation_in_short_and_a_round_whole() {
    let finished = eventful();
    let id = id_of(&finished);
    let finished = Test::after(finished, &["show", &id[..5]]).run().code(0);
    for text in [
        &format!("Session {id} (done), 3 rounds, 2 files changed"),
        "write a *greeting* <now>",
        "Round 1, 20",
        &format!("  Message: {id}_seq0001.txt ("),
        &format!("  Reply: {id}_seq0001_reply1.txt ("),
        "I look <b>first</b>.",
        "1. look",
        "  2 failed ran echo made > made.txt; echo gone wrong; exit 3  0.",
        "   exit 3\n",
        "gone wrong",
        "all done",
        "agent show",
    ] {
        prints(&finished, text);
    }
    let finished = Test::after(finished, &["show", &id, "--round", "2"])
        .run()
        .code(0);
    prints(&finished, "=== HEADER ===");
    prints(&finished, "[CREATE_FILE path=\"a.txt\"]");
    prints(&finished, "Round 2 of session");
    for text in [": message", ": reply", ": steps", "  1 ok created a.txt"] {
        prints(&finished, text);
    }
    for name in ["[OK]", "sent", "came"] {
        let steps = finished.stdout.split(": steps").last().unwrap_or_default();
        assert!(!steps.contains(name), "{steps}");
    }
    prints(&finished, &format!("agent diff {id} --round 2"));
    assert!(!finished.stdout.contains('\u{1b}'), "{}", finished.stdout);
    let finished = Test::after(finished, &["show", "--json"]).run().code(0);
    let rounds: Vec<serde_json::Value> = (finished.stdout.lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rounds.len(), 3);
    assert_eq!(rounds[0]["results"][1]["status"], "failed");
    assert!(
        rounds[1]["reply"]["text"]
            .as_str()
            .unwrap()
            .contains("a.txt")
    );
    Test::after(finished, &["show", &id, "--round", "9"])
        .run()
        .code(1)
        .said("has no round 9");
}

#[test]
fn show_of_a_session_that_waits_has_its_message() {
    let finished = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let finished = Test::after(finished, &["show"]).run().code(0);
    prints(&finished, "Reply: none yet");
    let finished = Test::after(finished, &["show", "--round", "1"])
        .run()
        .code(0);
    prints(&finished, "=== PROMPT ===");
}

#[test]
fn an_export_is_one_file_with_everything_and_nothing_that_runs() {
    let finished = eventful();
    let finished = Test::after(finished, &["export"]).run().code(0);
    for text in [
        "# write a \\*greeting\\* \\<now\\>\n",
        "> I look &lt;b>first&lt;/b>.",
        "- **failed** run `echo made > made.txt; echo gone wrong; exit 3`: exit code 3",
        "```diff\ndiff --git a/a.txt b/a.txt",
        "> all done",
    ] {
        prints(&finished, text);
    }
    let finished = Test::after(
        finished,
        &["export", "latest", "--format", "html", "-o", "t.html"],
    )
    .run()
    .code(0)
    .said("t.html");
    let page = fs::read_to_string(finished.base().join("t.html")).unwrap();
    for text in [
        "<h1>write a *greeting* &lt;now&gt;</h1>",
        "<span class=\"added\">+&lt;hello&gt; &amp; \u{fffd}[31mred</span>",
        "I look &lt;b&gt;first&lt;/b&gt;.",
        "prefers-color-scheme",
    ] {
        assert!(page.contains(text), "`{text}` is missing:\n{page}");
    }
    for text in [
        "http://", "https://", "<script", "src=", "url(", "@import", "\u{1b}",
    ] {
        assert!(!page.contains(text), "`{text}`:\n{page}");
    }
    let finished = Test::after(finished, &["export", "--format", "json"])
        .run()
        .code(0);
    let all: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(all["isComplete"], true);
    assert_eq!(all["rounds"].as_array().unwrap().len(), 3);
    assert!(
        all["rounds"][1]["diff"]
            .as_str()
            .unwrap()
            .contains("+<hello>")
    );
}

/// A session of three rounds that goes on: a command that fails, a file, a change to it.
fn under_way() -> Finished {
    let finished = Test::new(&["new", "--no-wait", "write a greeting"])
        .run()
        .code(0);
    let replies = [
        "[RUN_COMMAND]\necho gone wrong; exit 3\n[/RUN_COMMAND]\n",
        "[CREATE_FILE path=\"a.txt\"]\nhello\n[/CREATE_FILE]\n",
        "[CREATE_FILE path=\"b.txt\"]\nworld\n[/CREATE_FILE]\n[READ_FILE path=\"a.txt\"]\n",
    ];
    replies.iter().fold(finished, |finished, reply| {
        Test::after(finished, &["step", "--reply", "-"])
            .input(reply)
            .run()
            .code(0)
    })
}

#[test]
fn a_handover_has_all_that_a_new_chat_must_know_and_its_reply_is_taken() {
    let finished = under_way();
    let id = id_of(&finished);
    assert!(!finished.outbox(4).contains("You Take Over"));
    let finished = Test::after(finished, &["handoff"])
        .run()
        .code(0)
        .said(&format!("{id}_seq0004.txt"))
        .said(&format!("agent resume {id}"));
    let message = finished.outbox(4);
    for text in [
        "Task: write a greeting\n",
        "You cannot see the machine",
        "## You Take Over",
        "Round 2: changed a.txt",
        "+++ b/b.txt\n@@ -0,0 +1 @@\n+world\n",
        "- `echo gone wrong; exit 3` in round 1: exit code 3",
        "gone wrong\n",
        "## Workspace Files\n(2 files, 12 bytes; not a git repository)\n```\na.txt (6 bytes)\nb.txt (6 bytes)\n```\n",
        "### a.txt",
        &format!("[END {id}#4]\n"),
    ] {
        assert!(message.contains(text), "`{text}` is missing:\n{message}");
    }
    assert_eq!(finished.outboxes(), 4);
    let reply = format!("[DONE]\nfine\n[/DONE]\n[END {id}#4]\n");
    let finished = Test::after(finished, &["step", "--reply", "-"])
        .input(&reply)
        .run()
        .code(0)
        .said("fine");
    Test::after(finished, &["handoff", &id])
        .run()
        .code(1)
        .said("has ended");
}

#[test]
fn a_handover_beside_a_running_loop_changes_only_the_message() {
    let running = Test::new(&["new", "task"])
        .reply(&create("a.txt", "hello"))
        .start();
    let before = running.outbox(2);
    let output = agent(&running.base()).arg("handoff").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("The loop that runs takes the reply"),
        "{said}"
    );
    let after = running.outbox(2);
    assert!(
        before != after && after.contains("You Take Over"),
        "{after}"
    );
    let id = &after.lines().nth(1).unwrap()["Session: ".len()..];
    let reply = format!("[CREATE_FILE path=\"b.txt\"]\nb\n[/CREATE_FILE]\n[END {id}#2]\n");
    fs::write(running.base().join("inbox/b.txt"), reply).unwrap();
    assert!(running.outbox(3).contains("Round 2: changed b.txt"));
    running.signal("INT");
    running.wait().code(130);
}

#[test]
fn a_handover_fits_the_message_limit() {
    let finished = under_way();
    let big = "long line of text\n".repeat(3_000);
    fs::write(finished.base().join("workspace/a.txt"), big).unwrap();
    let finished = Test::after(finished, &["handoff", "--max-outbox-chars", "8000"])
        .run()
        .code(0);
    let message = finished.outbox(4);
    assert!(
        message.chars().count() <= 8_000,
        "{}",
        message.chars().count()
    );
    assert!(message.contains("[TRUNCATED"), "{message}");
}

fn fork_directory(finished: &Finished) -> std::path::PathBuf {
    let parent = finished.base().parent().unwrap().to_owned();
    let entries = fs::read_dir(parent)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_fork = |path: &std::path::PathBuf| path.to_string_lossy().contains("base-fork-");
    entries.into_iter().find(is_fork).unwrap()
}

#[test]
fn a_fork_has_the_files_of_its_round_and_leaves_the_other_session_alone() {
    let finished = under_way();
    let id = id_of(&finished);
    let before = finished.files("");
    let finished = Test::after(finished, &["fork", &id, "--round", "2", "in", "French"])
        .run()
        .code(0)
        .said(&format!("continues session {id} after round 2"));
    let after = finished.files("");
    for (name, text) in &before {
        if !name.starts_with("sessions/objects") {
            assert_eq!(after.get(name), Some(text), "{name}");
        }
    }
    let fork = fork_directory(&finished);
    assert_eq!(
        fs::read_to_string(fork.join("workspace/a.txt")).unwrap(),
        "hello\n"
    );
    assert!(!fork.join("workspace/b.txt").exists());
    let output = agent(&fork).args(["list", "--json"]).output().unwrap();
    let row: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_ne!(row["id"], *id);
    assert_eq!(row["round"], 3);
    let new = row["id"].as_str().unwrap();
    let message = fs::read_to_string(fork.join(format!("outbox/{new}_seq0003.txt"))).unwrap();
    for text in [
        "## You Take Over",
        "Round 2: changed a.txt",
        "+hello",
        "in the header:\nin French\n",
        &format!("[END {new}#3]"),
    ] {
        assert!(message.contains(text), "`{text}` is missing:\n{message}");
    }
    assert!(!message.contains("b.txt"), "{message}");
    let reply = fork.join("reply.txt");
    fs::write(
        &reply,
        format!("[CREATE_FILE path=\"c.txt\"]\nsalut\n[/CREATE_FILE]\n[END {new}#3]\n"),
    )
    .unwrap();
    let output = agent(&fork)
        .args(["step", "--reply", "reply.txt"])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(fork.join("workspace/c.txt").exists());
    let output = agent(&fork).args(["undo", "--yes"]).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!fork.join("workspace/c.txt").exists());
    let output = agent(&fork).args(["show"]).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        shown.contains(&format!("Forked from session {id} after round 2")),
        "{shown}"
    );
}

#[test]
fn a_fork_goes_where_it_is_told_and_never_over_other_files() {
    let finished = under_way();
    let finished = Test::after(finished, &["fork", "latest", "--into", "../second"])
        .run()
        .code(0);
    let second = finished.base().with_file_name("second");
    assert!(second.join("workspace/b.txt").exists());
    Test::after(finished, &["fork", "latest", "--into", "../second"])
        .run()
        .code(1)
        .said("is not empty")
        .said("--into");
}

#[test]
fn a_fork_in_place_takes_later_rounds_back_first() {
    let finished = under_way();
    let id = id_of(&finished);
    let finished = Test::after(finished, &["fork", &id, "--round", "2", "--in-place"])
        .run()
        .code(1)
        .said("delete b.txt")
        .said("`--yes`")
        .workspace("b.txt", "world\n");
    let finished = Test::after(
        finished,
        &["fork", &id, "--round", "2", "--in-place", "--yes"],
    )
    .run()
    .code(0)
    .said("continues session")
    .workspace("a.txt", "hello\n");
    assert!(!finished.base().join("workspace/b.txt").exists());
    let finished = Test::after(finished, &["list", "--json"]).run().code(0);
    assert_eq!(finished.stdout.lines().count(), 2);
    assert_ne!(json(&finished)["id"], *id);
    Test::after(finished, &["fork", &id, "--round", "7"])
        .run()
        .code(1)
        .said("has no round 7");
}

#[test]
fn an_open_question_is_handed_over_and_not_asked_again() {
    let finished = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let finished = Test::after(finished, &["step", "--reply", "-"])
        .input("[ASK_USER]\nWhich colour?\n[/ASK_USER]\n")
        .run()
        .code(0);
    let finished = Test::after(finished, &["handoff"]).run().code(0);
    let open = "## What Is Open\n- A question to the user that is not answered yet: Which colour?";
    assert!(finished.outbox(2).contains(open), "{}", finished.outbox(2));
    Test::after(finished, &["resume"]).reply(DONE).run().code(0);
}

#[test]
fn an_answer_that_comes_later_is_told_by_the_message_that_waits() {
    let finished = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let finished = Test::after(finished, &["step", "--reply", "-"])
        .input("[ASK_USER]\nWhich colour?\n[/ASK_USER]\n")
        .run()
        .code(0);
    assert!(finished.outbox(2).contains("not answered yet"));
    let running = Test::after(finished, &["resume"]).start();
    let output = agent(&running.base())
        .args(["say", "blue"])
        .output()
        .unwrap();
    assert!(output.status.success());
    let message = running.base().join("outbox/latest.txt");
    let has_answer =
        || fs::read_to_string(&message).is_ok_and(|text| text.contains("The user says: blue"));
    while !has_answer() {
        std::thread::yield_now();
    }
    running.signal("INT");
    running.wait().code(130);
}

#[test]
fn what_was_said_before_is_the_answer_of_the_message_that_is_written_anew() {
    let finished = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let finished = Test::after(finished, &["step", "--reply", "-"])
        .input("[ASK_USER]\nWhich colour?\n[/ASK_USER]\n")
        .run()
        .code(0);
    assert!(finished.outbox(2).contains("not answered yet"));
    let finished = Test::after(finished, &["say", "blue"]).run().code(0);
    let finished = Test::after(finished, &["resume", "--no-wait"])
        .run()
        .code(0);
    let outbox = finished.outbox(2);
    assert!(outbox.contains("The user says: blue"), "{outbox}");
    assert!(!outbox.contains("not answered yet"), "{outbox}");
    // A reply that is there already answers a message without it, so the next one has it.
    let finished = Test::after(finished, &["step", "--reply", "-"])
        .input("[ASK_USER]\nWhich size?\n[/ASK_USER]\n")
        .run()
        .code(0);
    assert!(!finished.outbox(3).contains("blue"));
    let finished = Test::after(finished, &["say", "large"]).run().code(0);
    let finished = Test::after(finished, &["step", "--reply", "-"])
        .input("[LIST_FILES]\n")
        .run()
        .code(0);
    let outbox = finished.outbox(4);
    assert!(outbox.contains("large"), "{outbox}");
}

#[test]
fn a_fork_does_not_inherit_the_network() {
    let finished = under_way();
    let id = id_of(&finished);
    for name in [format!("{id}.json"), format!("{id}.journal.jsonl")] {
        let path = finished.base().join("sessions").join(name);
        let text = fs::read_to_string(&path).unwrap();
        let granted = text
            .replace("\"networkGranted\": false", "\"networkGranted\": true")
            .replace("\"networkGranted\":false", "\"networkGranted\":true");
        assert_ne!(granted, text);
        fs::write(&path, granted).unwrap();
    }
    let finished = Test::after(finished, &["fork", &id]).run().code(0);
    let sessions = fs::read_dir(fork_directory(&finished).join("sessions")).unwrap();
    let texts = sessions.filter_map(|entry| fs::read_to_string(entry.unwrap().path()).ok());
    let told: Vec<String> = texts
        .filter(|text| text.contains("\"networkGranted\""))
        .collect();
    assert!(!told.is_empty());
    for text in told {
        assert!(
            !text.replace(' ', "").contains("\"networkGranted\":true"),
            "{text}"
        );
    }
}

#[test]
fn a_fork_in_place_with_a_file_in_the_way_names_what_helps() {
    let finished = under_way();
    let id = id_of(&finished);
    fs::write(finished.base().join("workspace/b.txt"), "mine\n").unwrap();
    Test::after(
        finished,
        &["fork", &id, "--round", "2", "--in-place", "--yes"],
    )
    .run()
    .code(1)
    .said("`agent undo --to 2 --force`")
    .workspace("b.txt", "mine\n");
}

#[test]
fn a_journal_that_is_missing_is_told() {
    let finished = under_way();
    let id = id_of(&finished);
    fs::remove_file(finished.base().join(format!("sessions/{id}.journal.jsonl"))).unwrap();
    Test::after(finished, &["resume", &id, "--no-wait"])
        .run()
        .code(0)
        .said("is missing or empty and begins anew");
}

/// Begins an escape sequence, rubs out, turns round, shows nothing; and a tag that nobody sees.
const HOSTILE: &str = "x\u{9b}31m\u{7f}\u{202e}\u{2066}\u{200b}\u{feff}\u{e0041}y";

fn is_hostile(text: &str) -> bool {
    text.chars().any(|c| {
        c.is_control() && c != '\n' || "\u{202e}\u{2066}\u{200b}\u{feff}\u{e0041}".contains(c)
    })
}

#[test]
fn what_is_printed_or_kept_as_json_has_nothing_that_acts_or_hides() {
    let reply = format!(
        "Prose {HOSTILE}\n[MESSAGE]\n{HOSTILE}\n[/MESSAGE]\n[CREATE_FILE path=\"a.txt\"]\n{HOSTILE}\n[/CREATE_FILE]\n[RUN_COMMAND]\ncat a.txt; exit 3\n[/RUN_COMMAND]\n{{end}}\n"
    );
    let task = format!("do {HOSTILE}");
    let finished = Test::new(&["--json", "new", &task])
        .reply(&reply)
        .reply(DONE)
        .run()
        .code(0);
    assert!(is_hostile(HOSTILE));
    let harmless = |what: &str, text: &str| assert!(!is_hostile(text), "{what}: {text:?}");
    let same = |text: &str| {
        let mut values = text.lines().map(|line| {
            serde_json::from_str::<serde_json::Value>(line)
                .unwrap()
                .to_string()
        });
        assert!(values.any(|value| value.contains(HOSTILE)), "{text}");
    };
    harmless("events", &finished.stdout);
    same(&finished.stdout);
    let id = id_of(&finished);
    let sessions = finished.base().join("sessions");
    for name in [format!("{id}.json"), format!("{id}.journal.jsonl")] {
        harmless(&name, &fs::read_to_string(sessions.join(&name)).unwrap());
    }
    let finished = Test::after(finished, &["show", "--json"]).run().code(0);
    harmless("show", &finished.stdout);
    same(&finished.stdout);
    let finished = Test::after(finished, &["list", "--json"]).run().code(0);
    harmless("list", &finished.stdout);
    for format in ["json", "md", "html"] {
        let export = ["export", "--format", format];
        let finished = Test::after(
            Test::new(&["--json", "new", &task])
                .reply(&reply)
                .reply(DONE)
                .run()
                .code(0),
            &export,
        )
        .run()
        .code(0);
        harmless(format, &finished.stdout);
    }
}
