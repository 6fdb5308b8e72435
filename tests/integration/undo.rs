use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::harness::{Finished, Test, agent};
use crate::terminal::{Terminal, has_script};

const DONE: &str = "[DONE]\nall done\n[/DONE]\n{end}\n";

/// A command that changes all kinds of files.
const COMMAND: &str = "[RUN_COMMAND]\necho new > new.txt; rm gone.txt; mv old.txt moved.txt; printf x >> binary; chmod 755 tool.sh; mkdir -p deep/er; echo d > deep/er/d.txt; rm link; ln -s tool.sh link\n[/RUN_COMMAND]\n{end}\n";

/// Everything about a file that undo gives back.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Directory,
    File { mode: u32, content: Vec<u8> },
    Link(PathBuf),
}

fn tree(workspace: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut found = BTreeMap::new();
    let mut open = vec![workspace.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let entry = if metadata.is_symlink() {
                Entry::Link(fs::read_link(&path).unwrap())
            } else if metadata.is_dir() {
                open.push(path.clone());
                Entry::Directory
            } else {
                Entry::File {
                    mode: metadata.permissions().mode(),
                    content: fs::read(&path).unwrap(),
                }
            };
            found.insert(path.strip_prefix(workspace).unwrap().to_owned(), entry);
        }
    }
    found
}

fn workspace(base: &Path) -> PathBuf {
    base.join("workspace")
}

/// A session whose workspace has one of each kind of file.
fn session(arguments: &[&str]) -> Test {
    let test = Test::new(arguments)
        .file("appsettings.json", "{\"Agent\":{}}")
        .file("workspace/gone.txt", "gone\n")
        .file("workspace/old.txt", "old\r\nno end")
        .file("workspace/binary", b"\0\xff\xfe\x80")
        .file("workspace/tool.sh", "echo tool\n");
    symlink("old.txt", workspace(&test.base()).join("link")).unwrap();
    test
}

fn create(name: &str, content: &str) -> String {
    format!(
        "[CREATE_FILE path=\"{name}\" overwrite=\"true\"]\n{content}\n[/CREATE_FILE]\n{{end}}\n"
    )
}

#[track_caller]
fn beside(base: &Path, arguments: &[&str]) -> Output {
    let output = agent(base).args(arguments).output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Waits until the command under way has printed this; tells where that is kept.
fn wait_until_printed(base: &Path, text: &str) -> PathBuf {
    let (id, _) = crate::harness::wait_for_outbox(base, 1);
    let printed = base.join(format!("sessions/{id}/running-0001-1.txt"));
    while fs::read_to_string(&printed).ok().as_deref() != Some(text) {
        std::thread::yield_now();
    }
    printed
}

fn id_of(outbox: &str) -> String {
    outbox.lines().nth(1).unwrap()["Session: ".len()..].to_owned()
}

fn undo(finished: Finished) -> Finished {
    Test::after(finished, &["undo", "--yes"]).run().code(0)
}

fn redo(finished: Finished) -> Finished {
    Test::after(finished, &["redo", "--yes"]).run().code(0)
}

#[test]
fn a_round_of_shell_commands_is_taken_back_byte_for_byte_and_put_again() {
    let test = session(&["new", "task"]).reply(COMMAND).reply(DONE);
    let before = tree(&workspace(&test.base()));
    let finished = test.run().code(0);
    let after = tree(&workspace(&finished.base()));
    assert!(
        after.contains_key(Path::new("deep/er/d.txt")),
        "{}",
        finished.stderr
    );
    let undone = undo(finished).said("delete new.txt");
    assert_eq!(tree(&workspace(&undone.base())), before);
    let redone = redo(undone);
    assert_eq!(tree(&workspace(&redone.base())), after);
    let undone = undo(redone);
    assert_eq!(tree(&workspace(&undone.base())), before);
    Test::after(undone, &["undo", "--yes"])
        .run()
        .code(1)
        .said("there is no round to undo");
}

/// Three rounds that each write `a.txt`.
fn three_rounds() -> Finished {
    session(&["new", "task"])
        .file("workspace/a.txt", "0\n")
        .reply(&create("a.txt", "1"))
        .reply(&create("a.txt", "2"))
        .reply("[READ_FILE path=\"a.txt\"]\n{end}\n")
        .reply(&create("a.txt", "4"))
        .reply(DONE)
        .run()
        .code(0)
        .workspace("a.txt", "4\n")
}

#[test]
fn undo_goes_back_round_by_round_and_redo_forward() {
    let finished = undo(three_rounds()).workspace("a.txt", "2\n");
    let finished = undo(finished).workspace("a.txt", "1\n");
    let finished = redo(finished).workspace("a.txt", "2\n");
    let finished = redo(finished).workspace("a.txt", "4\n");
    Test::after(finished, &["redo", "--yes"])
        .run()
        .code(1)
        .said("there is nothing to redo");
}

#[test]
fn several_rounds_are_taken_back_at_once() {
    let finished = Test::after(three_rounds(), &["undo", "--to", "1", "--yes"])
        .run()
        .code(0)
        .said("rounds 4 and 2")
        .workspace("a.txt", "1\n");
    let finished = redo(finished).workspace("a.txt", "4\n");
    Test::after(finished, &["undo", "--to", "0", "--yes"])
        .run()
        .code(0)
        .workspace("a.txt", "0\n");
}

#[test]
fn what_the_person_changed_since_is_kept_and_named() {
    let finished = session(&["new", "task"])
        .reply(COMMAND)
        .reply(DONE)
        .run()
        .code(0);
    let mine = workspace(&finished.base()).join("moved.txt");
    fs::write(&mine, "mine\n").unwrap();
    let finished = undo(finished)
        .said("moved.txt was changed since")
        .workspace("moved.txt", "mine\n")
        .workspace("gone.txt", "gone\n");
    assert!(!workspace(&finished.base()).join("new.txt").exists());
}

#[test]
fn by_force_a_copy_is_kept_beside() {
    let finished = three_rounds();
    let file = workspace(&finished.base()).join("a.txt");
    fs::write(&file, "mine\n").unwrap();
    let finished = Test::after(finished, &["undo", "--yes"])
        .run()
        .code(1)
        .said("--force")
        .workspace("a.txt", "mine\n");
    let finished = Test::after(finished, &["undo", "--yes", "--force"])
        .run()
        .code(0)
        .workspace("a.txt", "2\n");
    let copies = tree(&workspace(&finished.base()));
    let is_mine =
        |entry: &Entry| matches!(entry, Entry::File { content, .. } if content == b"mine\n");
    assert_eq!(copies.values().filter(|entry| is_mine(entry)).count(), 1);
}

#[test]
fn without_a_terminal_nothing_is_done_unless_it_is_said() {
    let finished = three_rounds();
    Test::after(finished, &["undo"])
        .run()
        .code(1)
        .said("change a.txt")
        .said("`--yes`")
        .workspace("a.txt", "4\n");
}

#[test]
fn the_model_is_told_with_the_next_message() {
    let running = session(&["new", "task"])
        .reply(&create("a.txt", "1"))
        .start();
    let id = id_of(&running.outbox(2));
    let base = running.base();
    beside(&base, &["undo", "--yes"]);
    assert!(!workspace(&base).join("a.txt").exists());
    fs::write(
        base.join("inbox/next.txt"),
        format!("[LIST_FILES]\n[END {id}#2]\n"),
    )
    .unwrap();
    let outbox = running.outbox(3);
    assert!(
        outbox.contains("The user undid round 1: these files are now as they were before:\n- `a.txt` does not exist any more"),
        "{outbox}"
    );
    beside(&base, &["redo", "--yes"]);
    assert_eq!(
        fs::read_to_string(workspace(&base).join("a.txt")).unwrap(),
        "1\n"
    );
    fs::write(
        base.join("inbox/last.txt"),
        format!("[DONE]\nyes\n[/DONE]\n[END {id}#3]\n"),
    )
    .unwrap();
    running.wait().code(0);
}

#[test]
fn an_undo_does_not_answer_a_question() {
    let running = session(&["new", "task"])
        .reply("[CREATE_FILE path=\"a.txt\"]\n1\n[/CREATE_FILE]\n[ASK_USER]\ntabs?\n[/ASK_USER]\n{end}\n")
        .start();
    let base = running.base();
    running.outbox(1);
    while !workspace(&base).join("a.txt").exists() {
        std::thread::yield_now();
    }
    while !agent(&base)
        .args(["undo", "--yes"])
        .output()
        .unwrap()
        .status
        .success()
    {
        std::thread::yield_now();
    }
    beside(&base, &["say", "spaces"]);
    let outbox = running.outbox(2);
    assert!(outbox.contains("The user says: spaces"), "{outbox}");
    running.signal("INT");
    running.wait().code(130);
}

#[test]
fn no_undo_comes_between_two_steps() {
    let running = session(&["new", "task"])
        .reply(
            "[RUN_COMMAND]\necho ran > ran.txt; echo so far; sleep 1000\n[/RUN_COMMAND]\n{end}\n",
        )
        .start();
    let base = running.base();
    // What it made before its last sign of life is known to be its own.
    wait_until_printed(&base, "so far\n");
    let output = agent(&base).args(["undo", "--yes"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("a reply is being carried out"), "{said}");
    let killed = running.kill();
    let killed = Test::after(killed, &["undo", "--yes"])
        .run()
        .code(1)
        .said("agent resume");
    let resumed = Test::after(killed, &["resume"])
        .reply_second(DONE)
        .run()
        .code(0)
        .workspace("ran.txt", "ran\n");
    let undone = undo(resumed);
    assert!(!workspace(&undone.base()).join("ran.txt").exists());
}

#[test]
fn a_diff_shows_what_commands_changed() {
    let finished = session(&["new", "task"])
        .reply(COMMAND)
        .reply(&create("a.txt", "1"))
        .reply(DONE)
        .run()
        .code(0);
    let finished = Test::after(finished, &["diff"]).run().code(0);
    assert!(
        finished.stdout.contains("+++ b/a.txt\n@@ -0,0 +1 @@\n+1\n"),
        "{}",
        finished.stdout
    );
    let finished = Test::after(finished, &["diff", "--round", "1"])
        .run()
        .code(0);
    for expected in [
        "+++ b/new.txt",
        "--- a/gone.txt",
        "rename to moved.txt",
        "new mode 100755",
    ] {
        assert!(
            finished.stdout.contains(expected),
            "{expected}: {}",
            finished.stdout
        );
    }
    let finished = Test::after(finished, &["diff", "--round", "1", "--stat"])
        .run()
        .code(0);
    assert!(
        finished.stdout.contains("old.txt -> moved.txt"),
        "{}",
        finished.stdout
    );
    let finished = Test::after(finished, &["diff", "--round", "2", "--json"])
        .run()
        .code(0);
    assert!(
        finished.stdout.contains(
            "{\"round\":2,\"path\":\"a.txt\",\"change\":\"created\",\"added\":1,\"removed\":0}"
        ),
        "{}",
        finished.stdout
    );
    Test::after(finished, &["diff", "--round", "7"])
        .run()
        .code(1);
}

#[test]
fn the_repository_is_never_touched() {
    let test = session(&["new", "task"])
        .file("workspace/.git/HEAD", "ref: refs/heads/main\n")
        .reply(&create("a.txt", "1"))
        .reply(DONE);
    let finished = test.run().code(0);
    let git = workspace(&finished.base()).join(".git");
    fs::write(git.join("HEAD"), "ref: refs/heads/other\n").unwrap();
    fs::write(git.join("index"), "x").unwrap();
    let before = tree(&git);
    let finished = undo(finished);
    assert_eq!(tree(&git), before);
    assert!(!workspace(&finished.base()).join("a.txt").exists());
}

#[test]
fn a_round_that_only_reads_costs_no_checkpoint() {
    let finished = three_rounds();
    let journals = finished.files("sessions");
    let journal = journals
        .iter()
        .find(|(name, _)| name.ends_with(".journal.jsonl"))
        .unwrap()
        .1;
    assert_eq!(journal.matches("\"event\":\"before\"").count(), 3);
    assert_eq!(journal.matches("\"event\":\"after\"").count(), 3);
}

#[test]
fn a_checkpoint_that_fails_does_not_stop_the_round() {
    session(&["new", "task"])
        .file("sessions/objects", "in the way")
        .reply(&create("a.txt", "1"))
        .reply(DONE)
        .run()
        .code(0)
        .said("No checkpoint could be taken")
        .workspace("a.txt", "1\n");
}

#[test]
fn a_file_that_is_too_large_is_named() {
    session(&["new", "task"])
        .file("workspace/large.bin", vec![1; 10 * 1024 * 1024 + 1])
        .reply(DONE)
        .run()
        .code(0)
        .said("`large.bin` is larger than the limit");
}

#[test]
fn a_cut_reply_that_was_taken_back_and_comes_whole_is_done_from_its_beginning() {
    let begin =
        "[CREATE_FILE path=\"a.txt\"]\n1\n[/CREATE_FILE]\n[CREATE_FILE path=\"b.txt\"]\nhal";
    let running = session(&["new", "task"]).reply(begin).start();
    let id = id_of(&running.outbox(2));
    let base = running.base();
    beside(&base, &["undo", "--yes"]);
    assert!(!workspace(&base).join("a.txt").exists());
    let whole = format!("{begin}f\n[/CREATE_FILE]\n[END {id}#1]\n");
    fs::write(base.join("inbox/whole.txt"), whole).unwrap();
    running.outbox(3);
    running.signal("INT");
    running
        .wait()
        .code(130)
        .workspace("a.txt", "1\n")
        .workspace("b.txt", "half\n");
}

#[test]
fn what_a_session_that_ended_long_ago_needed_is_tidied_away() {
    let finished = session(&["new", "task"])
        .reply(&create("a.txt", "1"))
        .reply(DONE)
        .run()
        .code(0);
    let base = finished.base();
    let id = finished.session()["sessionId"].as_str().unwrap().to_owned();
    let file = base.join(format!("sessions/{id}.json"));
    let mut old = finished.session();
    old["updatedAt"] = "2001-01-01T00:00:00Z".into();
    fs::write(&file, old.to_string()).unwrap();
    let journal = base.join(format!("sessions/{id}.journal.jsonl"));
    let mut lines = String::new();
    for line in fs::read_to_string(&journal).unwrap().lines() {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        if record["event"] == "round" {
            record["session"]["updatedAt"] = old["updatedAt"].clone();
        }
        lines += &record.to_string();
        lines.push('\n');
    }
    fs::write(&journal, lines).unwrap();
    let mark = fs::File::options()
        .write(true)
        .open(base.join("sessions/objects/tidied"))
        .unwrap();
    mark.set_modified(std::time::UNIX_EPOCH).unwrap();
    let finished = Test::after(finished, &["undo", &id])
        .run()
        .code(1)
        .said("`--yes`");
    fs::write(workspace(&base).join("a.txt"), "mine\n").unwrap();
    fs::remove_file(workspace(&base).join("old.txt")).unwrap();
    let running = Test::after(finished, &["new", "another"]).start();
    let marked = || {
        fs::metadata(base.join("sessions/objects/tidied"))
            .unwrap()
            .modified()
    };
    while marked().unwrap() == std::time::UNIX_EPOCH {
        std::thread::yield_now();
    }
    running.signal("INT");
    let finished = running.wait().code(130);
    Test::after(finished, &["undo", &id, "--yes"])
        .run()
        .code(1)
        .said("30 days");
}

#[test]
fn an_undo_that_was_completed_later_names_all_files() {
    let two = format!(
        "{}{}",
        create("a", "x").replace("{end}\n", ""),
        create("b", "y")
    );
    let running = Test::new(&["new", "task"])
        .file("appsettings.json", "{\"Agent\":{}}")
        .start();
    let base = running.base();
    let (id, _) = crate::harness::wait_for_outbox(&base, 1);
    let end = |number: u32| format!("[END {id}#{number}]");
    let inbox = base.join("inbox");
    fs::write(inbox.join("1.txt"), two.replace("{end}", &end(1))).unwrap();
    crate::harness::wait_for_outbox(&base, 2);
    // So far the killed one came.
    fs::remove_file(workspace(&base).join("a")).unwrap();
    beside(&base, &["undo", "--yes"]);
    fs::write(inbox.join("2.txt"), format!("[LIST_FILES]\n{}", end(2))).unwrap();
    let (_, outbox) = crate::harness::wait_for_outbox(&base, 3);
    for name in ["a", "b"] {
        let line = format!("`{name}` does not exist any more");
        assert!(outbox.contains(&line), "{outbox}");
    }
    running.kill();
}

#[test]
fn a_round_without_checkpoint_is_not_passed_over_in_silence() {
    let finished = session(&["new", "--no-wait", "task"]).run().code(0);
    let base = finished.base();
    let id = id_of(&finished.outbox(1));
    let step = |number: u32, name: &str| {
        let reply = create(name, "x").replace("{end}", &format!("[END {id}#{number}]"));
        fs::write(base.join(format!("inbox/{number}.txt")), reply).unwrap();
        beside(&base, &["step"])
    };
    step(1, "first.txt");
    let (objects, away) = (base.join("sessions/objects"), base.join("away"));
    fs::rename(&objects, &away).unwrap();
    fs::write(&objects, "in the way").unwrap();
    step(2, "second.txt");
    fs::remove_file(&objects).unwrap();
    fs::rename(&away, &objects).unwrap();
    let undo = |arguments: &[&str]| {
        let output = agent(&base).arg("undo").args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said)
    };
    let (code, said) = undo(&["--yes"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("round 2 cannot be undone"), "{said}");
    assert!(said.contains("`agent undo --to 0`"), "{said}");
    assert!(workspace(&base).join("first.txt").exists());
    let (code, said) = undo(&["--to", "0", "--yes"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("What round 2 changed stays"), "{said}");
    assert!(!workspace(&base).join("first.txt").exists());
    assert!(workspace(&base).join("second.txt").exists());
    drop(finished);
}

#[test]
fn what_a_silent_command_did_while_it_was_known_to_run_is_taken_back() {
    let command =
        "[RUN_COMMAND]\nsleep 0.1; echo ran > ran.txt; exec sleep 1000\n[/RUN_COMMAND]\n{end}\n";
    let running = session(&["new", "task"]).reply(command).start();
    let base = running.base();
    let printed = wait_until_printed(&base, "");
    let ran = workspace(&base).join("ran.txt");
    let time = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    while time(&ran).is_none() || time(&printed) <= time(&ran) {
        std::thread::yield_now();
    }
    let resumed = Test::after(running.kill(), &["resume"])
        .reply_second(DONE)
        .run()
        .code(0);
    undo(resumed).said("delete ran.txt");
    assert!(!ran.exists());
}

#[test]
fn what_the_person_did_while_agent_was_down_is_never_taken_back() {
    let command = "[RUN_COMMAND]\necho ran > ran.txt; echo ran >> old.txt; echo so far; sleep 1000\n[/RUN_COMMAND]\n{end}\n";
    let running = session(&["new", "task"]).reply(command).start();
    let base = running.base();
    let printed = wait_until_printed(&base, "so far\n");
    let time = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let killed = running.kill();
    let alive_at = time(&printed);
    let place = workspace(&base);
    // The clock of a file system is coarse.
    while !place.join("novel.txt").exists() || time(&place.join("novel.txt")) <= alive_at {
        fs::write(place.join("novel.txt"), "mine\n").unwrap();
    }
    fs::write(place.join("tool.sh"), "mine\n").unwrap();
    fs::create_dir(place.join("mine")).unwrap();
    fs::write(place.join("mine/deep.txt"), "mine\n").unwrap();
    let resumed = Test::after(killed, &["resume"])
        .reply_second(DONE)
        .run()
        .code(0)
        .said("around the time `agent` was killed")
        .said("novel.txt");
    let undone = undo(resumed)
        .said("delete ran.txt")
        .said("novel.txt may have been changed by somebody else while `agent` was not running")
        .workspace("novel.txt", "mine\n")
        .workspace("mine/deep.txt", "mine\n")
        .workspace("tool.sh", "mine\n")
        .workspace("old.txt", "old\r\nno end");
    assert!(!place.join("ran.txt").exists());
    redo(undone)
        .workspace("ran.txt", "ran\n")
        .workspace("novel.txt", "mine\n");
}

#[test]
fn what_is_unclear_after_a_kill_is_restored_if_the_person_insists() {
    let command = "[RUN_COMMAND]\necho so far; sleep 1000\n[/RUN_COMMAND]\n{end}\n";
    let running = session(&["new", "task"]).reply(command).start();
    let base = running.base();
    let printed = wait_until_printed(&base, "so far\n");
    let time = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let killed = running.kill();
    let alive_at = time(&printed);
    let old = workspace(&base).join("old.txt");
    while fs::read(&old).unwrap() != b"unclear\n" || time(&old) <= alive_at {
        fs::write(&old, "unclear\n").unwrap();
    }
    let resumed = Test::after(killed, &["resume"])
        .reply_second(DONE)
        .run()
        .code(0);
    let refused = Test::after(resumed, &["undo", "--yes"])
        .run()
        .code(1)
        .said("`agent undo --force`")
        .workspace("old.txt", "unclear\n");
    Test::after(refused, &["undo", "--yes", "--force"])
        .run()
        .code(0)
        .said("Restored all the same; a copy is kept as NAME.kept:")
        .workspace("old.txt", "old\r\nno end")
        .workspace("old.txt.kept", "unclear\n");
}

#[test]
fn what_a_round_stopped_ignoring_was_not_moved() {
    let finished = session(&["new", "task"])
        .file("workspace/.gitignore", "build/\n")
        .file("workspace/build/x", "old\n")
        .reply("[RUN_COMMAND]\nrm .gitignore; echo new > build/x\n[/RUN_COMMAND]\n{end}\n")
        .reply(DONE)
        .run()
        .code(0);
    Test::after(finished, &["undo", "--yes"])
        .run()
        .code(0)
        .said("build is not covered by checkpoints: it is ignored")
        .workspace("build/x", "new\n");
}

#[test]
fn what_steps_do_to_ignored_files_is_taken_back() {
    for command in ["", "[RUN_COMMAND]\ntrue\n[/RUN_COMMAND]\n"] {
        let steps = create("dist/app.js", "new").replace("{end}\n", "");
        let reply = format!("{steps}[DELETE_FILE path=\"big.dat\"]\n{command}{{end}}\n");
        let big = "0123456789".repeat(7_000);
        let finished = Test::new(&["new", "task"])
            .file("appsettings.json", "{\"Agent\":{}}")
            .file("workspace/.gitignore", "dist/\n*.dat\n")
            .file("workspace/dist/app.js", "old\n")
            .file("workspace/big.dat", &big)
            .reply(&reply)
            .reply(DONE)
            .run()
            .code(0)
            .workspace("dist/app.js", "new\n");
        assert!(!workspace(&finished.base()).join("big.dat").exists());
        let undone = undo(finished)
            .said("change dist/app.js")
            .workspace("dist/app.js", "old\n")
            .workspace("big.dat", &big);
        redo(undone).workspace("dist/app.js", "new\n");
    }
}

/// Changes a byte of a content in the checkpoints, or changes it back.
fn damage(base: &Path, content: &[u8]) {
    let packs = fs::read_dir(base.join("sessions/objects/packs")).unwrap();
    for pack in packs.map(|entry| entry.unwrap().path()) {
        let mut bytes = fs::read(&pack).unwrap();
        let tail = &content[1..];
        let places = bytes.windows(tail.len()).position(|window| window == tail);
        if let Some(at) = places {
            bytes[at - 1] ^= 1;
            fs::set_permissions(&pack, fs::Permissions::from_mode(0o600)).unwrap();
            fs::write(&pack, bytes).unwrap();
            return;
        }
    }
    panic!("no pack has it");
}

#[test]
fn an_undo_with_an_obstacle_is_told_remembered_and_completed() {
    let steps = create("a.txt", "new a").replace("{end}\n", "");
    let finished = Test::new(&["new", "task"])
        .file("appsettings.json", "{\"Agent\":{}}")
        .file("workspace/a.txt", "old content of a\n")
        .file("workspace/b.txt", "old content of b\n")
        .reply(&format!("{steps}{}", create("b.txt", "new b")))
        .reply(DONE)
        .run()
        .code(0);
    let base = finished.base();
    let id = id_of(&finished.outbox(1));
    damage(&base, b"old content of b\n");
    let failing = Test::after(finished, &["undo", "--yes"])
        .run()
        .code(1)
        .said("`b.txt` could not be restored")
        .said("except for what could not be restored")
        .workspace("a.txt", "old content of a\n")
        .workspace("b.txt", "new b\n");
    let notes = fs::read_dir(base.join(format!("sessions/{id}/notes"))).unwrap();
    let notes: Vec<String> = notes
        .filter_map(|entry| fs::read_to_string(entry.unwrap().path()).ok())
        .collect();
    let is_told = |text: &str| notes.iter().any(|note| note.contains(text));
    assert!(is_told("`a.txt` is changed"), "{notes:?}");
    assert!(is_told("`b.txt` could not be restored"), "{notes:?}");
    let redone = redo(failing).workspace("a.txt", "new a\n");
    let failing = Test::after(redone, &["undo", "--yes"]).run().code(1);
    // What is restored already is not looked at again.
    fs::write(workspace(&base).join("a.txt"), "mine\n").unwrap();
    damage(&base, b"old content of b\n");
    let undone = undo(failing)
        .workspace("a.txt", "mine\n")
        .workspace("b.txt", "old content of b\n");
    assert!(!undone.stderr.contains("a.txt"), "{}", undone.stderr);
}

#[test]
fn a_fork_knows_what_was_taken_back_and_what_the_person_changed() {
    let finished = session(&["new", "--no-wait", "task"])
        .file("workspace/person.txt", "old\n")
        .run()
        .code(0);
    let base = finished.base();
    let id = id_of(&finished.outbox(1));
    let step = |number: u32| {
        let reply = create(&format!("f{number}.txt"), "x");
        let reply = reply.replace("{end}", &format!("[END {id}#{number}]"));
        fs::write(base.join(format!("inbox/{number}.txt")), reply).unwrap();
        beside(&base, &["step"]);
    };
    step(1);
    assert!(base.join("sessions/objects/tidied").exists());
    step(2);
    beside(&base, &["undo", "--yes"]);
    fs::write(workspace(&base).join("person.txt"), "mine\n").unwrap();
    step(3);
    step(4);
    beside(&base, &["fork", &id, "--round", "3", "--into", "../second"]);
    let fork = base.with_file_name("second").join("workspace");
    assert_eq!(
        fs::read_to_string(fork.join("person.txt")).unwrap(),
        "mine\n"
    );
    assert!(fork.join("f3.txt").exists());
    assert!(!fork.join("f2.txt").exists() && !fork.join("f4.txt").exists());
    drop(finished);
}

#[test]
fn the_question_of_an_undo_after_the_end_is_found_without_naming_the_session() {
    if !has_script() {
        return;
    }
    let finished = session(&["new", "task"])
        .reply(&create("a.txt", "1"))
        .reply("[DONE]\nfine\n[/DONE]\n{end}\n")
        .run()
        .code(0);
    let id = id_of(&finished.outbox(1));
    let mut terminal = Terminal::open(Test::after(finished, &[]), "undo", &[]);
    let pending = terminal.base().join(format!("sessions/{id}/pending"));
    terminal.expect("Do it?");
    let call = |words: &[&str]| -> Output {
        let output = agent(&terminal.base()).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        output
    };
    let status = String::from_utf8(call(&["status"]).stdout).unwrap();
    assert!(status.contains("agent approve undo"), "{status}");
    assert!(!status.contains("is not running"), "{status}");
    call(&["approve", "undo"]);
    terminal.expect("Undid round");
    assert!(!terminal.base().join("workspace/a.txt").exists());
    assert_eq!(fs::read_dir(pending).unwrap().count(), 0);
    let events = terminal.base().join(format!("sessions/{id}/events.jsonl"));
    let events = fs::read_to_string(events).unwrap();
    for event in ["\"event\":\"approval\"", "\"event\":\"decided\""] {
        assert!(events.contains(event), "{events}");
    }
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn an_undo_after_the_end_is_told_first_and_the_check_runs_again() {
    let finished = session(&["new", "--check", "test -f a.txt", "task"])
        .reply(&create("a.txt", "1"))
        .reply("[DONE]\nfine\n[/DONE]\n{end}\n")
        .run()
        .code(0);
    let id = id_of(&finished.outbox(1));
    let undo = ["undo", "--to", "0", "--yes"];
    let finished = Test::after(finished, &undo).run().code(0).said(&format!(
        "`agent resume {id} \"...\"` continues it, and its message tells the model"
    ));
    let finished = Test::after(finished, &["status", &id]).run().code(0);
    let not_since = "it has not run since rounds were undone";
    assert!(finished.stdout.contains(not_since), "{}", finished.stdout);
    let go_on = ["resume", &id, "--no-wait", "now add tests"];
    let finished = Test::after(finished, &go_on).run().code(0);
    let outbox = finished.outbox(3);
    for told in [
        "The user undid round 1: these files are now as they were before:\n- `a.txt` does not exist any more",
        "[FAILED] `test -f a.txt`",
        "(run again now, after the user undid or redid rounds",
        "the user undid some of it",
    ] {
        assert!(outbox.contains(told), "{told}:\n{outbox}");
    }
    assert!(!outbox.contains("Changed by the User"), "{outbox}");
    let finished = Test::after(finished, &["redo", "--yes"]).run().code(0);
    let go_on = ["resume", &id, "--no-wait", "and docs"];
    let finished = Test::after(finished, &go_on).run().code(0);
    let outbox = finished.outbox(3);
    assert!(outbox.contains("The user redid round 1"), "{outbox}");
    assert!(outbox.contains("[OK] `test -f a.txt`"), "{outbox}");
}

/// Makes the next process tidy, and waits until one that waits for a reply has.
fn tidy(finished: Finished) -> Finished {
    let base = finished.base();
    let mark = base.join("sessions/objects/tidied");
    let opened = fs::File::options().write(true).open(&mark).unwrap();
    opened.set_modified(std::time::UNIX_EPOCH).unwrap();
    let running = Test::after(finished, &["new", "another"]).start();
    let marked = || fs::metadata(&mark).unwrap().modified().unwrap();
    crate::harness::wait_until("the store is tidied", || marked() != std::time::UNIX_EPOCH);
    running.signal("INT");
    running.wait().code(130)
}

#[test]
fn tidying_keeps_what_a_round_needs_that_a_kill_interrupted() {
    let original = "original ".repeat(40_000);
    let command =
        "[RUN_COMMAND]\necho spoiled > big.txt; echo so far; sleep 1000\n[/RUN_COMMAND]\n{end}\n";
    let running = session(&["new", "task"])
        .file("workspace/big.txt", &original)
        .reply(command)
        .start();
    let base = running.base();
    wait_until_printed(&base, "so far\n");
    let killed = running.kill();
    let (id, _) = crate::harness::wait_for_outbox(&base, 1);
    let tidied = tidy(killed);
    let resumed = Test::after(tidied, &["resume", &id])
        .reply_second(DONE)
        .run()
        .code(0);
    Test::after(resumed, &["undo", &id, "--yes"])
        .run()
        .code(0)
        .said("change big.txt")
        .workspace("big.txt", &original);
}

/// A session with an ignored directory, in which a command is carried out.
fn with_ignored(command: &str) -> Finished {
    session(&["new", "task"])
        .file("workspace/.gitignore", "data/\n*.bin\n")
        .file("workspace/data/deep/x", "precious x\n")
        .file("workspace/data/y", "precious y\n")
        .file("workspace/large.bin", "0123456789".repeat(7_000))
        .of_earlier()
        .reply(&format!(
            "[RUN_COMMAND]\n{command}; echo new > new.txt\n[/RUN_COMMAND]\n{{end}}\n"
        ))
        .reply(DONE)
        .run()
        .code(0)
}

#[test]
fn a_round_that_only_moved_what_is_ignored_is_named_and_does_not_stand_in_the_way() {
    let command = |script: &str| format!("[RUN_COMMAND]\n{script}\n[/RUN_COMMAND]\n{{end}}\n");
    let finished = session(&["new", "task"])
        .file("workspace/.gitignore", "data/\n")
        .file("workspace/data/x", "precious\n")
        .of_earlier()
        .reply(&command("echo new > new.txt"))
        .reply(&command("mv data/x x"))
        .reply(DONE)
        .run()
        .code(0)
        .said("`x` was moved here from a place that checkpoints do not cover");
    let finished = Test::after(finished, &["undo", "--yes"])
        .run()
        .code(1)
        .said("checkpoints do not cover these files")
        .said("`agent undo --to 0` undoes round 1 too");
    let finished = Test::after(finished, &["undo", "--to", "0", "--yes"])
        .run()
        .code(0)
        .workspace("x", "precious\n");
    assert!(!workspace(&finished.base()).join("new.txt").exists());
}

#[test]
fn what_a_round_moved_out_of_an_ignored_place_stays() {
    let finished = with_ignored("mv data data2; mv data2/y old.txt; mv large.bin large.dat");
    let finished = undo(finished)
        .said("data2 is not covered by checkpoints: it was moved here from a place that checkpoints do not cover")
        .said("delete new.txt")
        .workspace("data2/deep/x", "precious x\n")
        .workspace("old.txt", "precious y\n")
        .workspace("large.dat", &"0123456789".repeat(7_000));
    assert!(!workspace(&finished.base()).join("new.txt").exists());
    redo(finished)
        .workspace("data2/deep/x", "precious x\n")
        .workspace("new.txt", "new\n");
}

#[test]
fn what_was_moved_onto_a_file_gives_way_by_force() {
    let finished = session(&["new", "task"])
        .file("workspace/.gitignore", "data/\n")
        .file("workspace/data/x", "precious\n")
        .file("workspace/t.txt", "the original\n")
        .of_earlier()
        .reply("[RUN_COMMAND]\nmv data/x t.txt; echo new > new.txt\n[/RUN_COMMAND]\n{end}\n")
        .reply(DONE)
        .run()
        .code(0);
    let finished = undo(finished)
        .said("With `--force`")
        .workspace("t.txt", "precious\n");
    let finished = redo(finished);
    Test::after(finished, &["undo", "--yes", "--force"])
        .run()
        .code(0)
        .workspace("t.txt", "the original\n")
        .workspace("t.txt.kept", "precious\n");
}

#[test]
fn what_a_round_copied_out_of_an_ignored_place_is_kept_aside() {
    let finished = with_ignored("cp -r data data2; rm -r data; cp -r data2 data3");
    let finished = undo(finished)
        .said("delete data2/y")
        .said("is kept for 30 days in");
    let base = finished.base();
    assert!(!workspace(&base).join("data2").exists());
    let id = finished.session()["sessionId"].as_str().unwrap().to_owned();
    let kept = base.join(format!("sessions/{id}/removed/round-0001"));
    for copy in ["data2", "data3"] {
        let read = |name: &str| fs::read_to_string(kept.join(copy).join(name)).unwrap();
        assert_eq!(
            (read("deep/x"), read("y")),
            ("precious x\n".to_owned(), "precious y\n".to_owned())
        );
    }
    redo(finished).workspace("data2/y", "precious y\n");
}

#[test]
fn what_file_steps_made_is_not_kept_aside() {
    let reply = "[CREATE_FILE path=\"made.txt\"]\none\n[/CREATE_FILE]\n[CREATE_FILE path=\"changed.txt\"]\none\n[/CREATE_FILE]\n[EDIT_FILE path=\"made.txt\" start_line=\"1\" end_line=\"1\"]\ntwo\n[/EDIT_FILE]\n[RUN_COMMAND]\necho by command > by.txt; echo more >> changed.txt\n[/RUN_COMMAND]\n{end}\n";
    let finished = session(&["new", "task"])
        .file("workspace/own.txt", "own\n")
        .reply(reply)
        .reply(DONE)
        .run()
        .code(0);
    let finished = undo(finished).said("delete made.txt");
    let base = finished.base();
    let id = finished.session()["sessionId"].as_str().unwrap().to_owned();
    let kept = base.join(format!("sessions/{id}/removed/round-0001"));
    let mut names: Vec<_> = (fs::read_dir(&kept).unwrap())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["by.txt", "changed.txt"]);
    redo(finished).workspace("made.txt", "two\n");
}

#[test]
fn a_directory_that_was_ignored_at_first_is_taken_back_with_its_files() {
    let command = |script: &str| format!("[RUN_COMMAND]\n{script}\n[/RUN_COMMAND]\n{{end}}\n");
    let finished = session(&["new", "task"])
        .file("workspace/.gitignore", "data/\n")
        .file("workspace/data/deep/x", "x\n")
        .reply(&command(": > .gitignore"))
        .reply(&command("rm -r data"))
        .reply(DONE)
        .run()
        .code(0);
    Test::after(finished, &["undo", "--to", "0", "--yes"])
        .run()
        .code(0)
        .workspace("data/deep/x", "x\n")
        .workspace(".gitignore", "data/\n");
}

#[test]
fn checkpoints_beyond_the_limit_are_removed_and_that_is_told() {
    let noise = |number: u32| {
        let script = format!("head -c 9000000 /dev/urandom > noise; echo {number} > a.txt");
        format!("[RUN_COMMAND]\n{script}\n[/RUN_COMMAND]\n{{end}}\n")
    };
    let finished = session(&["new", "task", "--max-undo-megabytes", "20"])
        .reply(&noise(1))
        .reply(&noise(2))
        .reply(&noise(3))
        .reply(DONE)
        .run()
        .code(0)
        .said("The checkpoints took more than 20 MB (`MaxUndoMegabytes`).");
    let packs = fs::read_dir(finished.base().join("sessions/objects/packs")).unwrap();
    let size: u64 = packs
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(size < 30 << 20, "{size}");
    let finished = undo(finished).workspace("a.txt", "2\n");
    Test::after(finished, &["undo", "--to", "0", "--yes"])
        .run()
        .code(1)
        .said("MaxUndoMegabytes");
}

#[test]
fn a_session_that_goes_on_after_its_end_and_an_undo_finds_its_file_as_it_was() {
    let finished = session(&["new", "task"]).reply(COMMAND).reply(DONE);
    let undone = Test::after(finished.run().code(0), &["undo", "--yes"]);
    let running = Test::after(undone.run().code(0), &["resume", "latest", "go on"]).start();
    running.outbox(3);
    running.signal("INT");
    let stopped = running.wait().code(130);
    let told = format!("{}{}", stopped.stdout, stopped.stderr);
    assert!(!told.contains("journal"), "{told}");
    assert_eq!(stopped.session()["changedFiles"], serde_json::json!([]));
}
