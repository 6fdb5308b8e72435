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
        "ID        STATE     ROUNDS  FILES      AGE  TASK\n",
    );
    prints(&finished, &format!("{id}  done           2      1  "));
    prints(&finished, "write a greeting\n");
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
