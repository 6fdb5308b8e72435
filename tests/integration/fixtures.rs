//! Bases that earlier versions left, as `tests/fixtures/README.md` describes them.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::harness::{agent, wait_for_outbox, wait_until};

/// Where the paths in a fixture begin.
const PLACEHOLDER: &str = "/tmp/agent-fixture";

/// Directories of a base directory that git does not keep.
const DIRECTORIES: [&str; 6] = [
    "workspace",
    "inbox/processed",
    "inbox/rejected",
    "outbox",
    "sessions/cache",
    "sessions/objects/cache",
];

const LIST: &str = "one\ntwo\nthree\n";

/// A copy of a fixture.
struct FixtureCopy {
    root: tempfile::TempDir,
    /// Its version and its name, for a test that fails.
    origin: String,
    base: PathBuf,
}

/// How a call of the program ended.
struct CallResult {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn versions() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut versions = entries(&all);
    versions.retain(|path| path.is_dir());
    assert!(!versions.is_empty());
    versions
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Copies of a fixture, of each version that has it.
fn opened(name: &str) -> Vec<FixtureCopy> {
    let found = versions().into_iter().map(|version| version.join(name));
    let found: Vec<FixtureCopy> = found
        .filter(|path| path.is_dir())
        .map(|path| FixtureCopy::copy(&path))
        .collect();
    assert!(!found.is_empty(), "no fixture {name}");
    found
}

/// Copies of every fixture.
fn all() -> Vec<FixtureCopy> {
    let versions = versions();
    let fixtures = versions.iter().flat_map(|version| entries(version));
    fixtures.map(|path| FixtureCopy::copy(&path)).collect()
}

impl FixtureCopy {
    fn copy(fixture: &Path) -> Self {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().canonicalize().unwrap();
        let placeholder = format!("{PLACEHOLDER}/{}", name_of(fixture));
        copy(fixture, &real, &placeholder, &real);
        for base in entries(&real) {
            if base.join("sessions").exists() {
                for directory in DIRECTORIES {
                    fs::create_dir_all(base.join(directory)).unwrap();
                }
                give_to_owner(&base);
            }
        }
        give_times(&real);
        trust_here(&real, &placeholder);
        let version = fixture.parent().unwrap();
        Self {
            base: real.join("base"),
            origin: format!("{} {}", name_of(version), name_of(fixture)),
            root,
        }
    }

    /// The program in the base directory.
    #[track_caller]
    fn agent(&self, arguments: &[&str]) -> CallResult {
        Self::agent_in(&self.base, arguments)
    }

    #[track_caller]
    fn agent_in(base: &Path, arguments: &[&str]) -> CallResult {
        let output = agent(base).args(arguments).output().unwrap();
        CallResult {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Saves a reply to the current round, and processes it.
    #[track_caller]
    fn step(&self, reply: &str) -> CallResult {
        let session = self.session();
        let id = session["sessionId"].as_str().unwrap();
        step_in(&self.base, id, reply, &[])
    }

    /// The only session.
    fn session(&self) -> Value {
        let ids = self.ids();
        assert_eq!(ids.len(), 1, "{}", self.origin);
        state(&self.base, &ids[0])
    }

    fn ids(&self) -> Vec<String> {
        ids(&self.base)
    }

    fn file(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.base.join("workspace").join(path)).ok()
    }

    #[track_caller]
    fn has(&self, path: &str, content: &str) {
        assert_eq!(
            self.file(path).as_deref(),
            Some(content),
            "{}: {path}",
            self.origin
        );
    }

    #[track_caller]
    fn lacks(&self, path: &str) {
        let there = self.base.join("workspace").join(path).exists();
        assert!(!there, "{}: {path}", self.origin);
    }

    /// The project as it was before the session.
    #[track_caller]
    fn is_untouched(&self) {
        let names: Vec<String> = files(&self.base.join("workspace")).into_keys().collect();
        assert_eq!(
            names,
            ["list.txt", "run.sh", "src/first.txt"],
            "{}",
            self.origin
        );
        self.has("list.txt", LIST);
        self.has("src/first.txt", "first\n");
        let script = fs::metadata(self.base.join("workspace/run.sh")).unwrap();
        assert_eq!(script.permissions().mode() & 0o777, 0o755);
    }

    #[track_caller]
    fn outbox(&self, sequence: u32) -> String {
        let id = &self.ids()[0];
        let path = self.base.join(format!("outbox/{id}_seq{sequence:04}.txt"));
        fs::read_to_string(&path).unwrap_or_else(|_| panic!("{}: {}", self.origin, path.display()))
    }
}

impl CallResult {
    #[track_caller]
    fn code(self, expected: i32) -> Self {
        let (stdout, stderr) = (&self.stdout, &self.stderr);
        assert_eq!(
            self.code,
            Some(expected),
            "stdout:\n{stdout}\nstderr:\n{stderr}"
        );
        self
    }

    #[track_caller]
    fn said(self, text: &str) -> Self {
        let all = format!("{}{}", self.stdout, self.stderr);
        assert!(all.contains(text), "`{text}` was not said:\n{all}");
        self
    }
}

fn name_of(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Copies a file or a directory, with the real directory in place of the placeholder.
fn copy(from: &Path, to: &Path, placeholder: &str, real: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for path in entries(from) {
            copy(&path, &to.join(name_of(&path)), placeholder, real);
        }
        fs::set_permissions(to, Permissions::from_mode(0o755)).unwrap();
        return;
    }
    let bytes = fs::read(from).unwrap();
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => text
            .replace(placeholder, real.to_str().unwrap())
            .into_bytes(),
        Err(binary) => binary.into_bytes(),
    };
    fs::write(to, bytes).unwrap();
    let is_executable = fs::metadata(from).unwrap().permissions().mode() & 0o100 != 0;
    let mode = if is_executable { 0o755 } else { 0o644 };
    fs::set_permissions(to, Permissions::from_mode(mode)).unwrap();
}

/// Gives our own files to their owner alone, as the program makes them.
fn give_to_owner(base: &Path) {
    let mut open: Vec<PathBuf> = ["inbox", "outbox", "sessions"]
        .map(|name| base.join(name))
        .into();
    while let Some(path) = open.pop() {
        let is_directory = path.is_dir();
        let mode = if is_directory { 0o700 } else { 0o600 };
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        if is_directory {
            open.extend(entries(&path));
        }
    }
}

/// Gives files the times that they had, and has nothing be younger than the journals.
fn give_times(real: &Path) {
    let mut latest = SystemTime::UNIX_EPOCH;
    for line in fs::read_to_string(real.join("times")).unwrap().lines() {
        let (time, path) = line.split_once(' ').unwrap();
        let (seconds, fraction) = time.split_once('.').unwrap();
        let nanoseconds: u32 = fraction[..9].parse().unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::new(seconds.parse().unwrap(), nanoseconds);
        touch(&real.join(path), time);
        latest = latest.max(time);
    }
    // Setting a time changes the file too, in the eyes of the system: now, and not before.
    latest = latest.max(SystemTime::now());
    for (name, _) in files(real) {
        if name.ends_with(".journal.jsonl") || name.contains("/running-") {
            touch(&real.join(name), latest);
        }
    }
}

fn touch(path: &Path, time: SystemTime) {
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

/// Names the records of what the person trusted after the directory of the copy.
///
/// Such a record has the path in it, for people; its name is a hash of the path and of what was
/// trusted there, which the session has.
fn trust_here(real: &Path, placeholder: &str) {
    let trusted = real.join("state/agent/trusted");
    if !trusted.exists() {
        return;
    }
    let base = real.join("base");
    let session = state(&base, &ids(&base)[0]);
    for record in entries(&trusted) {
        let place = fs::read_to_string(&record).unwrap();
        let place = place.trim_end();
        let before = place.replace(real.to_str().unwrap(), placeholder);
        let given = match name_of(Path::new(place)) {
            "check" => session["choices"]["CheckCommand"].as_str().unwrap(),
            "workspace" => session["workspace"].as_str().unwrap(),
            other => panic!("{other} was trusted"),
        };
        let given_before = given.replace(real.to_str().unwrap(), placeholder);
        assert_eq!(name_of(&record), trust_record(&before, &given_before));
        fs::rename(&record, trusted.join(trust_record(place, given))).unwrap();
    }
}

fn trust_record(place: &str, given: &str) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(&(place.len() as u64).to_le_bytes());
    hash.update(place.as_bytes());
    hash.update(given.as_bytes());
    hash.finalize().to_hex().to_string()
}

fn ids(base: &Path) -> Vec<String> {
    let names = entries(&base.join("sessions"));
    let names = names.iter().map(|path| name_of(path));
    let ids = names.filter_map(|name| name.strip_suffix(".journal.jsonl"));
    ids.map(str::to_owned).collect()
}

fn state(base: &Path, id: &str) -> Value {
    let file = base.join(format!("sessions/{id}.json"));
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

fn step_in(base: &Path, id: &str, reply: &str, flags: &[&str]) -> CallResult {
    let sequence = state(base, id)["sequenceNumber"].as_u64().unwrap();
    let reply = format!("{reply}[END {id}#{sequence}]\n");
    fs::write(base.join("inbox/next.txt"), reply).unwrap();
    let arguments = [&["step", id], flags].concat();
    FixtureCopy::agent_in(base, &arguments)
}

/// All files beneath a directory, and their contents.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(entries(&path));
        } else {
            let name = path.strip_prefix(directory).unwrap().to_str().unwrap();
            found.insert(name.to_owned(), fs::read(&path).unwrap());
        }
    }
    found
}

/// All that matters of a base directory: neither locks nor logs.
fn kept(base: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut kept = files(base);
    kept.retain(|name, _| {
        let is_lock = name.ends_with("lock") || name.ends_with("loop.json");
        !is_lock && !name.ends_with("agent.log")
    });
    kept
}

fn edit(path: &str, from: &str, to: &str) -> String {
    format!(
        "[EDIT_FILE path=\"{path}\"]\n<<<<<<< SEARCH\n{from}\n=======\n{to}\n>>>>>>> REPLACE\n[/EDIT_FILE]\n"
    )
}

fn create(path: &str, content: &str) -> String {
    format!("[CREATE_FILE path=\"{path}\"]\n{content}\n[/CREATE_FILE]\n")
}

fn run(script: &str) -> String {
    format!("[RUN_COMMAND]\n{script}\n[/RUN_COMMAND]\n")
}

#[test]
fn looking_works_on_every_base_and_changes_nothing() {
    for opened in all() {
        for base in entries(&opened.root.path().canonicalize().unwrap()) {
            if !base.join("sessions").exists() {
                continue;
            }
            let before = kept(&base);
            for id in ids(&base) {
                let state = state(&base, &id);
                let look = |arguments: &[&str]| FixtureCopy::agent_in(&base, arguments).code(0);
                look(&["list"]).said(&id);
                if state["isComplete"] == false {
                    look(&["status"]).said("ound");
                }
                look(&["show", &id]).said(state["task"].as_str().unwrap());
                look(&["plan", &id]);
                look(&["export", &id]).said(state["task"].as_str().unwrap());
                look(&["export", &id, "--format", "html"]).said("</html>");
                let json = look(&["export", &id, "--format", "json"]).stdout;
                let json: Value = serde_json::from_str(&json).unwrap();
                let checkpoints = state["checkpoints"].as_array().unwrap();
                for round in checkpoints {
                    let round = round["round"].to_string();
                    look(&["show", &id, "--round", &round]);
                    look(&["diff", &id, "--round", &round]).said("+");
                }
                assert!(json.is_object(), "{}: {json}", opened.origin);
            }
            assert!(kept(&base) == before, "{} was changed", opened.origin);
        }
    }
}

#[test]
fn a_session_that_waits_goes_on_and_its_rounds_are_undone() {
    for base in opened("waiting") {
        base.agent(&["status"]).code(0).said("_seq0003.txt");
        base.agent(&["diff", "--round", "1"]).code(0).said("+TWO");
        base.agent(&["resume", "--no-wait"]).code(0);
        base.step(&edit("list.txt", "three", "THREE")).code(0);
        base.has("list.txt", "one\nTWO\nTHREE\n");
        let outbox = base.outbox(4);
        assert!(outbox.contains("keep three"), "{outbox}");
        let untouched = ["src/second.txt", "made.txt", "run.sh"];
        assert!(
            untouched
                .iter()
                .all(|name| !outbox.contains(&format!("changed: {name}"))),
            "{outbox}"
        );
        base.agent(&["undo", "--yes"]).code(0);
        base.has("list.txt", "one\nTWO\nthree\n");
        base.agent(&["undo", "--yes"]).code(0);
        base.lacks("made.txt");
        base.has("src/first.txt", "first\n");
        base.agent(&["undo", "--yes", "--to", "0"]).code(0);
        base.is_untouched();
        base.agent(&["redo", "--yes"]).code(0);
        base.has("list.txt", "one\nTWO\nthree\n");
        base.step("[DONE]\nfine\n[/DONE]\n").code(0);
        assert_eq!(base.session()["isComplete"], true);
    }
}

#[test]
fn a_command_that_was_killed_is_told_and_not_run_again() {
    for base in opened("killed-command") {
        base.agent(&["undo", "--yes"]).code(1).said("resume");
        base.agent(&["resume", "--no-wait"]).code(0);
        base.has("log.txt", "ran\n");
        base.has("before.txt", "before\n");
        base.lacks("after.txt");
        let outbox = base.outbox(2);
        for told in [
            "1. [OK] CREATE_FILE",
            "2. [FAILED] RUN_COMMAND",
            "so far",
            "3. [SKIPPED]",
        ] {
            assert!(outbox.contains(told), "{told}:\n{outbox}");
        }
        base.agent(&["undo", "--yes"]).code(0);
        base.is_untouched();
        base.agent(&["redo", "--yes"]).code(0);
        base.has("log.txt", "ran\n");
        base.step(&run("cat log.txt")).code(0);
    }
}

#[test]
fn a_check_that_was_killed_is_told_and_not_run_again() {
    for base in opened("killed-check") {
        base.agent(&["resume", "--no-wait"]).code(0);
        base.has("stay.txt", "stay\n");
        let outbox = base.outbox(2);
        assert!(outbox.contains("1. [OK] CREATE_FILE"), "{outbox}");
        assert!(outbox.contains("checking"), "{outbox}");
        assert_eq!(base.session()["check"]["outcome"]["status"], "failed");
        base.agent(&["undo", "--yes"]).code(0);
        base.is_untouched();
    }
}

#[test]
fn file_steps_that_were_killed_are_brought_to_their_end() {
    for base in opened("killed-files") {
        base.has("list.txt", "ONE\ntwo\nthree\n");
        base.lacks("src/second.txt");
        base.agent(&["resume", "--no-wait"]).code(0);
        let names: Vec<String> = files(&base.base.join("workspace")).into_keys().collect();
        assert_eq!(names, ["list.txt", "src/first.txt", "src/second.txt"]);
        base.has("src/first.txt", "FIRST\n");
        let outbox = base.outbox(2);
        for number in 1..=4 {
            assert!(outbox.contains(&format!("{number}. [OK] ")), "{outbox}");
        }
        base.agent(&["undo", "--yes"]).code(0);
        base.is_untouched();
    }
}

#[test]
fn open_questions_are_decided_and_carried_out() {
    for base in opened("approval-open") {
        base.agent(&["status"])
            .code(0)
            .said("2. run `echo ran > ran.txt`")
            .said("echo ran > ran.txt");
        // The loop puts them anew in its own words: a decision is about all that was shown.
        let mut waits = agent(&base.base).arg("resume").spawn().unwrap();
        let id = base.session()["sessionId"].as_str().unwrap().to_owned();
        let last = base.base.join(format!("sessions/{id}/pending/3.json"));
        wait_until("the questions", || {
            let put = fs::read_to_string(&last).unwrap_or_default();
            put.contains("\"context\"")
        });
        base.agent(&["approve", "1", "2"]).code(0);
        base.agent(&["decline", "3", "--reason", "never"]).code(0);
        wait_for_outbox(&base.base, 2);
        waits.kill().unwrap();
        waits.wait().unwrap();
        base.has("yes.txt", "yes\n");
        base.has("ran.txt", "ran\n");
        base.lacks("no.txt");
        let outbox = base.outbox(2);
        assert!(outbox.contains("the user declined: never"), "{outbox}");
        base.agent(&["undo", "--yes"]).code(0);
        base.is_untouched();
    }
}

#[test]
fn what_was_decided_about_a_question_in_other_words_does_not_count() {
    for base in opened("approval-answered") {
        base.agent(&["resume", "--no-wait", "--no-input"])
            .code(0)
            .said("was not begun by you");
        base.lacks("yes.txt");
        base.lacks("mine.txt");
    }
    for base in opened("approval-answered") {
        let id = base.session()["sessionId"].as_str().unwrap().to_owned();
        let known =
            serde_json::json!({ base.base.canonicalize().unwrap().to_str().unwrap(): [id] });
        let state = base.base.with_file_name("state/agent");
        fs::create_dir_all(&state).unwrap();
        fs::write(state.join("sessions.json"), known.to_string()).unwrap();
        base.agent(&["resume", "--no-wait", "--no-input"]).code(0);
        for file in ["yes.txt", "mine.txt", "no.txt", "ran.txt"] {
            base.lacks(file);
        }
        assert_eq!(base.session()["choices"]["Approval"], "ask");
    }
}

#[test]
fn a_plan_that_waits_is_approved_or_declined() {
    for base in opened("plan") {
        base.agent(&["status"]).code(0).said("1. write plan.txt");
        base.agent(&["approve"]).code(0);
        base.agent(&["resume", "--no-wait"]).code(0);
        assert_eq!(base.session()["planning"], "approved");
        assert!(base.outbox(2).contains("approved this plan"));
        base.step(&create("plan.txt", "planned")).code(0);
        base.has("plan.txt", "planned\n");
    }
    for base in opened("plan") {
        base.agent(&["decline", "--reason", "another one"]).code(0);
        base.agent(&["resume", "--no-wait"]).code(0);
        assert!(base.outbox(2).contains("another one"));
        base.step(&create("plan.txt", "planned"));
        base.lacks("plan.txt");
    }
}

#[test]
fn an_open_question_of_the_model_is_answered() {
    for base in opened("question") {
        base.agent(&["status"]).code(0).said("Tabs or spaces?");
        base.agent(&["say", "spaces it is"]).code(0);
        let mut waits = agent(&base.base).arg("resume").spawn().unwrap();
        wait_for_outbox(&base.base, 2);
        waits.kill().unwrap();
        waits.wait().unwrap();
        let outbox = base.outbox(2);
        assert!(outbox.contains("Tabs or spaces?"), "{outbox}");
        assert!(outbox.contains("spaces it is"), "{outbox}");
        base.agent(&["undo", "--yes"]).code(0);
        base.is_untouched();
    }
}

#[test]
fn a_session_that_is_done_is_redone_undone_and_opened_again() {
    for base in opened("done") {
        base.has("list.txt", "ONE\ntwo\nthree\n");
        base.has("src/second.txt", "second\n");
        base.agent(&["redo", "--yes"]).code(0);
        base.has("list.txt", "ONE\nTWO\nthree\n");
        base.has("src/last.txt", "second\n");
        base.lacks("src/first.txt");
        base.agent(&["undo", "--yes"]).code(0);
        base.has("src/first.txt", "first\n");
        base.agent(&["undo", "--yes", "--to", "0"]).code(0);
        base.is_untouched();
        base.agent(&["resume", "--no-wait", "latest", "once more"])
            .code(0);
        let outbox = base.outbox(6);
        assert!(outbox.contains("once more"), "{outbox}");
        base.step(&edit("list.txt", "one", "1")).code(0);
        base.has("list.txt", "1\ntwo\nthree\n");
    }
    for base in opened("done") {
        base.agent(&["undo", "--yes"]).code(0);
        base.has("run.sh", "#!/bin/sh\necho run\n");
        base.lacks("deep");
        base.agent(&["redo", "--yes"]).code(0);
        base.has("deep/er/file.txt", "deep\n");
    }
}

#[test]
fn a_session_and_its_fork_go_on() {
    for base in opened("fork") {
        let forked = base.base.with_file_name("forked");
        let fork = &ids(&forked)[0];
        FixtureCopy::agent_in(&forked, &["show", fork])
            .code(0)
            .said(&base.ids()[0]);
        step_in(&forked, fork, &edit("list.txt", "three", "3"), &[]).code(0);
        let list = || fs::read_to_string(forked.join("workspace/list.txt")).unwrap();
        assert_eq!(list(), "ONE\ntwo\n3\n");
        base.has("list.txt", "ONE\nTWO\nthree\n");
        base.step(&edit("list.txt", "three", "THREE")).code(0);
        base.has("list.txt", "ONE\nTWO\nTHREE\n");
        FixtureCopy::agent_in(&forked, &["undo", "--yes"]).code(0);
        assert_eq!(list(), "ONE\ntwo\nthree\n");
        base.agent(&["undo", "--yes", "--to", "0"]).code(0);
        base.is_untouched();
    }
}

#[test]
fn a_fork_on_the_same_files_goes_on() {
    for base in opened("fork-in-place") {
        let ids = base.ids();
        let is_fork = |id: &&String| {
            let state = state(&base.base, id);
            state["further"]
                .as_array()
                .is_some_and(|further| !further.is_empty())
        };
        let fork = ids.iter().find(is_fork).unwrap();
        let first = ids.iter().find(|id| *id != fork).unwrap();
        base.has("list.txt", "ONE\ntwo\nthree\n");
        step_in(&base.base, fork, &edit("list.txt", "three", "3"), &[]).code(0);
        base.has("list.txt", "ONE\ntwo\n3\n");
        base.agent(&["undo", fork, "--yes"]).code(0);
        base.agent(&["undo", first, "--yes"]).code(0);
        base.is_untouched();
    }
}

#[test]
fn a_session_that_was_handed_over_goes_on() {
    for base in opened("handoff") {
        assert!(base.outbox(3).contains("now two"));
        base.agent(&["plan"]).code(0).said("2. two");
        base.step(&edit("list.txt", "two", "TWO")).code(0);
        base.has("list.txt", "ONE\nTWO\nthree\n");
        base.agent(&["handoff"]).code(0);
        assert!(base.outbox(4).contains("hand it over"));
        base.agent(&["undo", "--yes", "--to", "0"]).code(0);
        base.is_untouched();
    }
}

#[test]
fn settings_that_were_given_by_flag_hold() {
    for base in opened("flags") {
        let id = &base.ids()[0];
        let reply = [
            run("./run.sh"),
            run("touch touched"),
            create("new.txt", "new"),
        ]
        .concat();
        step_in(&base.base, id, &reply, &["--no-input"]);
        let outbox = base.outbox(3);
        assert!(outbox.contains("1. [OK] RUN_COMMAND"), "{outbox}");
        assert!(outbox.contains("2. [REFUSED] RUN_COMMAND"), "{outbox}");
        assert!(outbox.contains("3. [REFUSED] CREATE_FILE"), "{outbox}");
        assert!(outbox.contains("[OK] `test -f list.txt`"), "{outbox}");
        base.is_untouched();
        base.agent(&["policy"]).code(0).said("./run.sh");
        step_in(
            &base.base,
            id,
            &create("new.txt", "new"),
            &["--approval", "auto"],
        )
        .code(0);
        base.has("new.txt", "new\n");
        base.agent(&["undo", "--yes"]).code(0);
        base.is_untouched();
    }
}

#[test]
fn a_workspace_elsewhere_is_found_and_undone() {
    for base in opened("elsewhere") {
        let far = || fs::read_to_string(base.base.with_file_name("elsewhere/far.txt")).unwrap();
        base.step(&edit("far.txt", "FAR", "farther")).code(0);
        assert_eq!(far(), "farther\n");
        base.agent(&["undo", "--yes", "--to", "0"]).code(0);
        assert_eq!(far(), "far\n");
        base.is_untouched();
    }
}

#[test]
fn a_reply_that_was_cut_off_comes_again_as_a_whole() {
    for base in opened("cut") {
        base.has("whole.txt", "whole\n");
        base.lacks("half.txt");
        let reply = [
            create("whole.txt", "whole"),
            create("half.txt", "half of it"),
        ]
        .concat();
        base.step(&reply).code(0);
        base.has("half.txt", "half of it\n");
        base.agent(&["undo", "--yes", "--to", "0"]).code(0);
        base.is_untouched();
    }
}

#[test]
fn a_placeholder_leads_back_to_the_secret() {
    for base in opened("secret") {
        let reply = edit(
            ".env",
            "DB_PASSWORD=[SECRET-1 password]\nDB_NAME=list",
            "DB_NAME=other\nDB_PASSWORD=[SECRET-1 password]",
        );
        base.step(&reply).code(0);
        base.has(
            ".env",
            "DB_NAME=other\nDB_PASSWORD=correct-horse-battery-9\n",
        );
        let outbox = base.outbox(3);
        assert!(!outbox.contains("correct-horse"), "{outbox}");
    }
}

#[test]
fn a_torn_journal_is_cut_and_its_round_concluded() {
    for base in opened("torn") {
        base.agent(&["resume", "--no-wait"]).code(0).said("cut off");
        base.has("log.txt", "ran\n");
        base.has("list.txt", "ONE\nTWO\nthree\n");
        assert_eq!(base.session()["sequenceNumber"], 3);
        let outbox = base.outbox(3);
        assert!(outbox.contains("1. [OK] EDIT_FILE"), "{outbox}");
        assert!(outbox.contains("2. [OK] RUN_COMMAND"), "{outbox}");
        base.agent(&["undo", "--yes"]).code(0);
        base.has("list.txt", "ONE\ntwo\nthree\n");
        base.lacks("log.txt");
    }
}

/// Calls with a base directory that a newer version wrote.
const CALLS: [&[&str]; 11] = [
    &["resume", "--no-wait"],
    &["step"],
    &["undo", "--yes"],
    &["undo", "--yes", "--to", "0"],
    &["redo", "--yes"],
    &["handoff"],
    &["fork", "latest", "--in-place", "--yes"],
    &["diff"],
    &["show"],
    &["export"],
    &["end"],
];

/// Checks that each call is refused with the name of the file, and changes nothing.
#[track_caller]
fn refuses(base: &FixtureCopy, file: &Path, calls: &[&[&str]]) {
    let before = kept(&base.base);
    for call in calls {
        let answer = base.agent(call).code(1).said("newer `agent`");
        answer.said(file.to_str().unwrap());
        let after = kept(&base.base);
        for (name, content) in &after {
            assert!(before.get(name) == Some(content), "{call:?} changed {name}");
        }
        assert_eq!(after.len(), before.len(), "{call:?}");
    }
}

/// A session that waits, with a reply that would change a file.
fn waiting() -> (FixtureCopy, String) {
    let base = opened("waiting").pop().unwrap();
    let id = base.ids().remove(0);
    let reply = format!("{}[END {id}#3]\n", edit("list.txt", "one", "ONE"));
    fs::write(base.base.join("inbox/next.txt"), reply).unwrap();
    (base, id)
}

#[track_caller]
fn rewrite(path: &Path, change: impl Fn(&str) -> String) {
    let text = fs::read_to_string(path).unwrap();
    let changed = change(&text);
    assert_ne!(text, changed);
    fs::write(path, changed).unwrap();
}

#[test]
fn a_state_file_of_a_newer_version_is_left_alone() {
    let (base, id) = waiting();
    let file = base.base.join(format!("sessions/{id}.json"));
    rewrite(&file, |text| {
        text.replacen("\"schema\": 1", "\"schema\": 2", 1)
    });
    refuses(&base, &file, &CALLS);
    // Also one that this version could not even read.
    fs::write(&file, "{\"schema\": 2, \"id\": 7}\n").unwrap();
    refuses(&base, &file, &CALLS);
    base.agent(&["list"]).said("newer `agent`");
}

#[test]
fn a_journal_of_a_newer_version_is_left_alone() {
    for record in [
        "{\"event\":\"merged\",\"rounds\":[1,2]}\n",
        "{\"event\":\"merged\",\"rounds\":[1,2]}\n{\"event\":\"claimed\",\"sequ",
        "{\"event\":\"round\",\"session\":{\"schema\":2,\"id\":7}}\n",
    ] {
        let (base, id) = waiting();
        let file = base.base.join(format!("sessions/{id}.journal.jsonl"));
        rewrite(&file, |text| format!("{text}{record}"));
        refuses(&base, &file, &CALLS);
    }
    let (base, id) = waiting();
    let file = base.base.join(format!("sessions/{id}.journal.jsonl"));
    rewrite(&file, |text| {
        let (before, last) = text.trim_end().rsplit_once('\n').unwrap();
        format!(
            "{before}\n{}\n",
            last.replacen("\"schema\":1", "\"schema\":2", 1)
        )
    });
    refuses(&base, &file, &CALLS);
}

#[test]
fn settings_of_a_newer_version_are_refused() {
    let (base, _) = waiting();
    let file = base.base.join("appsettings.json");
    rewrite(&file, |text| {
        text.replacen('{', "{\"Agent\": {\"Telepathy\": true}, \"x\": {", 1) + "}"
    });
    refuses(&base, &file, &CALLS);
    let (base, id) = waiting();
    let file = base.base.join(format!("sessions/{id}.json"));
    let journal = base.base.join(format!("sessions/{id}.journal.jsonl"));
    rewrite(&file, |text| {
        text.replacen(
            "\"workspace\"",
            "\"choices\": {\"Telepathy\": \"no\"},\n  \"workspace\"",
            1,
        )
    });
    rewrite(&journal, |text| {
        text.replace(
            "\"workspace\":",
            "\"choices\":{\"Telepathy\":\"no\"},\"workspace\":",
        )
    });
    refuses(
        &base,
        &file,
        &[&["resume", "--no-wait"], &["step"], &["handoff"]],
    );
}

#[test]
fn checkpoints_of_a_newer_version_are_left_alone() {
    let (base, _) = waiting();
    for pack in entries(&base.base.join("sessions/objects/packs")) {
        let mut bytes = fs::read(&pack).unwrap();
        assert!(bytes.starts_with(b"agent-pack 1\n"));
        bytes[11] = b'2';
        fs::write(&pack, bytes).unwrap();
    }
    let packs = base.base.join("sessions/objects/packs");
    refuses(&base, &packs, &[&["undo", "--yes"], &["diff"]]);
}
