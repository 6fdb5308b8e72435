//! The disk is full, the directory is gone, the file is not what it was: each with a clear answer,
//! and nothing lost.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::harness::{Finished, Test, agent, program};

const DONE: &str = "[DONE]\nfine\n[/DONE]\n{end}\n";
const CREATE: &str = "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n{end}\n";

fn id_of(outbox: &str) -> String {
    outbox.lines().nth(1).unwrap()["Session: ".len()..].to_owned()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A session that waits for its second reply, stopped.
fn stopped() -> (Finished, String) {
    let running = Test::new(&["new", "task"]).reply(CREATE).start();
    let id = id_of(&running.outbox(2));
    (running.kill(), id)
}

/// Runs a script with a small file system of its own at `disk`; `None` where that is not allowed.
///
/// In the script `agent` is the program.
fn on_small_disk(kilobytes: u32, script: &str) -> Option<Output> {
    let root = tempfile::tempdir().unwrap();
    let disk = root.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let program = program();
    let script = format!(
        "mount -t tmpfs -o size={kilobytes}k small \"$1\" || exit 99\ncd \"$1\"\nagent() {{ {program} \"$@\"; }}\n{script}"
    );
    let output = Command::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            &script,
            "sh",
        ])
        .arg(&disk)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", root.path().join("home"))
        .env("XDG_STATE_HOME", root.path().join("state"))
        .stdin(Stdio::null())
        .output();
    let output = output
        .ok()
        .filter(|output| output.status.code() != Some(99));
    if output.is_none() {
        #[expect(clippy::print_stdout, reason = "what is skipped is said")]
        {
            println!("skipped: no file system can be mounted here");
        }
    }
    output
}

#[test]
fn a_full_disk_is_named_and_with_room_again_the_session_goes_on() {
    let script = r#"
mkdir base && cd base
agent new --no-wait --base . task 2> ../new.txt || exit 1
id=$(ls outbox | cut -c1-8)
printf '[CREATE_FILE path="a.txt"]\n%s\n[/CREATE_FILE]\n[END %s#1]\n' "$(head -c 20000 /dev/zero | tr '\0' x)" "$id" > inbox/reply.txt
head -c 10000000 /dev/zero > ../filler 2> /dev/null
agent step > /dev/null; echo "full: $?" >&2
rm ../filler
agent step > /dev/null; echo "again: $?" >&2
agent step > /dev/null
cat outbox/*_seq0002.txt >&2
head -c 20 workspace/a.txt >&2
"#;
    let Some(output) = on_small_disk(600, script) else {
        return;
    };
    let said = said(&output);
    assert!(said.contains("No space left on device"), "{said}");
    assert!(said.contains("Sequence: 2"), "{said}");
    let is_told = said.contains("1. [OK] CREATE_FILE");
    assert_eq!(said.ends_with("xxxxxxxxxxxxxxxxxxxx"), is_told, "{said}");
}

#[test]
fn a_read_only_base_is_named() {
    let script = r#"
mkdir base && cd base
agent new --no-wait --base . task 2> ../new.txt || exit 1
cd .. && mount -o remount,ro "$1" && cd base || exit 99
agent new --no-wait another; echo "new: $?" >&2
agent step; echo "step: $?" >&2
agent list > /dev/null; echo "list: $?" >&2
agent status > /dev/null; echo "status: $?" >&2
"#;
    let Some(output) = on_small_disk(1000, script) else {
        return;
    };
    let said = said(&output);
    assert!(said.contains("Read-only file system"), "{said}");
    for line in ["new: 1", "step: 1", "list: 0", "status: 0"] {
        assert!(said.contains(line), "{said}");
    }
}

#[test]
fn a_base_that_was_moved_is_the_same_base() {
    let (stopped, id) = stopped();
    let moved = stopped.base().with_file_name("moved");
    fs::rename(stopped.base(), &moved).unwrap();
    fs::write(
        moved.join("inbox/r.txt"),
        format!("[READ_FILE path=\"a.txt\"]\n[END {id}#2]\n"),
    )
    .unwrap();
    let output = agent(&moved).arg("step").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let output = agent(&moved).args(["undo", "--yes"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(!moved.join("workspace/a.txt").exists());
}

#[test]
fn a_workspace_that_is_deleted_under_a_session_stops_it_and_the_reply_is_kept() {
    let running = Test::new(&["new", "task"]).start();
    let id = id_of(&running.outbox(1));
    let base = running.base();
    fs::remove_dir_all(base.join("workspace")).unwrap();
    let reply = CREATE.replace("{end}", &format!("[END {id}#1]"));
    fs::write(base.join("inbox/r.txt"), reply).unwrap();
    let finished = running
        .wait()
        .code(1)
        .said("workspace")
        .said("agent resume");
    assert!(!base.join("workspace").exists());
    fs::create_dir(base.join("workspace")).unwrap();
    Test::after(finished, &["resume"])
        .reply_second(DONE)
        .run()
        .code(0)
        .workspace("a.txt", "a\n");
}

#[test]
fn what_a_newer_version_wrote_is_not_touched() {
    let (stopped, id) = stopped();
    let file = stopped.base().join(format!("sessions/{id}.json"));
    let newer = fs::read_to_string(&file)
        .unwrap()
        .replace("\"schema\": 1", "\"schema\": 99");
    fs::write(&file, &newer).unwrap();
    let finished = Test::after(stopped, &["resume", &id])
        .run()
        .code(1)
        .said("was written by a newer `agent`");
    assert_eq!(fs::read_to_string(&file).unwrap(), newer);
    drop(finished);
}

#[test]
fn a_session_file_that_was_edited_by_hand_does_not_count_against_the_journal() {
    for (from, to) in [
        ("\"sequenceNumber\": 2", "\"sequenceNumber\": 0"),
        ("\"sequenceNumber\": 2", "\"sequenceNumber\": 1"),
        ("\"sequenceNumber\": 2", "\"sequenceNumber\": \"two\""),
    ] {
        let (stopped, id) = stopped();
        let file = stopped.base().join(format!("sessions/{id}.json"));
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&file, text.replace(from, to)).unwrap();
        let finished = Test::after(stopped, &["resume", &id])
            .reply(DONE)
            .run()
            .code(0)
            .said("journal")
            .workspace("a.txt", "a\n");
        assert_eq!(finished.session()["sequenceNumber"], 3);
    }
}

#[test]
fn a_clock_that_was_set_back_repeats_nothing() {
    let running = Test::new(&["new", "task"]).start();
    let id = id_of(&running.outbox(1));
    let base = running.base();
    let file = base.join(format!("sessions/{id}.json"));
    let before = fs::read_to_string(&file).unwrap();
    let reply = format!("[RUN_COMMAND]\necho ran >> log.txt\n[/RUN_COMMAND]\n[END {id}#1]\n");
    fs::write(base.join("inbox/r.txt"), reply).unwrap();
    running.outbox(2);
    let finished = running.kill();
    // As if the round had been saved an hour before the one before it, and the file not at all.
    fs::write(
        &file,
        before.replace("\"updatedAt\": \"20", "\"updatedAt\": \"29"),
    )
    .unwrap();
    Test::after(finished, &["resume", &id])
        .reply(DONE)
        .run()
        .code(0)
        .workspace("log.txt", "ran\n");
}

#[test]
fn an_inbox_that_is_a_file_is_named() {
    let (stopped, id) = stopped();
    let inbox = stopped.base().join("inbox");
    fs::rename(&inbox, stopped.base().join("inbox.old")).unwrap();
    fs::write(&inbox, "not a directory").unwrap();
    let finished = Test::after(stopped, &["resume", &id])
        .run()
        .code(1)
        .said("inbox` is a file, where a directory is needed");
    assert_eq!(fs::read_to_string(&inbox).unwrap(), "not a directory");
    drop(finished);
}

#[test]
fn an_inbox_that_becomes_a_file_stops_nothing() {
    let running = Test::new(&["new", "task"]).start();
    let id = id_of(&running.outbox(1));
    let inbox = running.base().join("inbox");
    let file = running.base().join("file");
    fs::write(&file, "not a directory").unwrap();
    // A lost inbox is made again, so that it takes a moment to be in its place.
    while fs::rename(&file, &inbox).is_err() {
        let _ = fs::remove_dir_all(&inbox);
    }
    // A look a second finds it.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    fs::remove_file(&inbox).unwrap();
    let _ = fs::create_dir(&inbox);
    let reply = DONE.replace("{end}", &format!("[END {id}#1]"));
    fs::write(inbox.join("r.txt"), reply).unwrap();
    running.wait().code(0);
}

#[test]
fn the_sessions_of_another_user_are_theirs() {
    let (stopped, id) = stopped();
    let base = stopped.base();
    for path in [base.clone(), base.parent().unwrap().to_owned()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let private = [
        format!("sessions/{id}.json"),
        format!("sessions/{id}.journal.jsonl"),
    ];
    for file in &private {
        let mode = fs::metadata(base.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{file}");
    }
    let output = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(program())
        .args(["resume", &id])
        .current_dir(&base)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::null())
        .output();
    let Ok(output) = output else { return };
    if said(&output).contains("setpriv") {
        println!("skipped: only root can become another user");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("Permission denied"),
        "{}",
        said(&output)
    );
}

#[test]
fn a_workspace_may_be_a_link() {
    let test = Test::new(&["new", "task"]).file("appsettings.json", "{\"Agent\":{}}");
    let elsewhere = test.base().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink("elsewhere", test.base().join("workspace")).unwrap();
    let finished = test.reply(CREATE).reply(DONE).run().code(0);
    assert_eq!(fs::read_to_string(elsewhere.join("a.txt")).unwrap(), "a\n");
    let undone = Test::after(finished, &["undo", "--yes"]).run().code(0);
    assert!(!elsewhere.join("a.txt").exists());
    drop(undone);
}

#[test]
fn a_name_that_is_not_utf_8_is_no_obstacle_and_undo_covers_it() {
    let test = Test::new(&["new", "task"])
        .file("workspace/b.txt", "b\n")
        .file("appsettings.json", "{\"Agent\":{}}");
    let name = |bytes: &[u8]| -> PathBuf {
        test.base()
            .join("workspace")
            .join(Path::new(std::ffi::OsStr::from_bytes(bytes)))
    };
    let (odd, other) = (name(b"odd-\xff\xfe.txt"), name(b"other-\xff.txt"));
    fs::write(&odd, "odd\n").unwrap();
    let reply = "[RUN_COMMAND]\nfor f in odd*; do mv \"$f\" \"$(printf 'other-\\377.txt')\"; done\n[/RUN_COMMAND]\n[LIST_FILES]\n[SEARCH_TEXT pattern=\"odd\"]\n{end}\n";
    let finished = test.reply(reply).reply(DONE).run().code(0);
    assert!(other.exists() && !odd.exists(), "{}", finished.stderr);
    let undone = Test::after(finished, &["undo", "--yes"]).run().code(0);
    assert_eq!(fs::read_to_string(&odd).unwrap(), "odd\n");
    assert!(!other.exists());
    drop(undone);
}

#[test]
fn a_file_that_became_a_directory_is_told_to_the_model() {
    let running = Test::new(&["new", "task"]).reply(CREATE).start();
    let id = id_of(&running.outbox(2));
    let file = running.base().join("workspace/a.txt");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let reply = "[EDIT_FILE path=\"a.txt\" start_line=\"1\" end_line=\"1\"]\nb\n[/EDIT_FILE]\n[CREATE_FILE path=\"a.txt\"]\nb\n[/CREATE_FILE]\n[DELETE_FILE path=\"a.txt\"]\n[CREATE_FILE path=\"a.txt/b\"]\nb\n[/CREATE_FILE]\n";
    fs::write(
        running.base().join("inbox/r.txt"),
        format!("{reply}[END {id}#2]\n"),
    )
    .unwrap();
    let outbox = running.outbox(3);
    for line in [
        "1. [FAILED] EDIT_FILE: `a.txt` is a directory, not a file",
        "2. [FAILED] CREATE_FILE: `a.txt` is a directory, not a file",
        "3. [FAILED] DELETE_FILE: `a.txt` is a directory, not a file",
        "4. [OK] CREATE_FILE",
    ] {
        assert!(outbox.contains(line), "{outbox}");
    }
    running.kill();
}

#[test]
fn an_archive_on_another_file_system_is_an_archive() {
    let script = r#"
mkdir base && cd base
agent new --no-wait --base . task 2> ../new.txt || exit 1
id=$(ls outbox | cut -c1-8)
mount -t tmpfs other inbox/processed && mount -t tmpfs other inbox/rejected || exit 99
printf 'Nothing for this session.\n[END 00000000#1]\n' > inbox/wrong.txt
agent step > /dev/null; echo "wrong: $?" >&2
ls inbox/rejected >&2
printf '[CREATE_FILE path="a.txt"]\na\n[/CREATE_FILE]\n[END %s#1]\n' "$id" > inbox/reply.txt
agent step > /dev/null; echo "right: $?" >&2
ls inbox inbox/processed workspace >&2
"#;
    let Some(output) = on_small_disk(2_000, script) else {
        return;
    };
    let said = said(&output);
    for line in [
        "right: 0",
        "wrong.txt",
        "wrong.txt.why",
        "seq0001_reply.txt",
        "a.txt",
    ] {
        assert!(said.contains(line), "{line} in\n{said}");
    }
    assert!(!said.contains("cross-device"), "{said}");
}

#[test]
fn a_reply_of_another_user_is_taken() {
    let started = Test::new(&["new", "--no-wait", "task"]).run().code(0);
    let base = started.base();
    let id = id_of(&started.outbox(1));
    let reply = base.join("inbox/reply.txt");
    fs::write(&reply, CREATE.replace("{end}", &format!("[END {id}#1]"))).unwrap();
    // Only root can make a file of somebody else; in a namespace of its own it has no rights to it.
    if std::os::unix::fs::chown(&reply, Some(1234), None).is_err() {
        return;
    }
    fs::set_permissions(&reply, fs::Permissions::from_mode(0o644)).unwrap();
    let mut step = Command::new("unshare");
    step.args(["--user", "--map-root-user", "--"])
        .arg(program())
        .args(["step", "--sandbox", "off"])
        .current_dir(&base)
        .env("HOME", base.with_file_name("home"))
        .env("XDG_STATE_HOME", base.with_file_name("state"));
    let output = step.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(
        fs::read_to_string(base.join("workspace/a.txt")).unwrap(),
        "a\n"
    );
    let kept = base.join(format!("inbox/processed/{id}_seq0001_reply.txt"));
    assert_eq!(
        fs::metadata(kept).unwrap().permissions().mode() & 0o777,
        0o600
    );
}
