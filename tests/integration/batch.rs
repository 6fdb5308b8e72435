//! `agent batch` against a small server of our own, with jobs and batches that are killed on the way.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::api::{Answer, KEY, ModelServer, Seen, by_api, create, done, has_no_key, reply};
use crate::harness::{Finished, Test, agent, wait_until};
use crate::runners::{KUBECTL, bin, with_program};

const FILE: &str = "tasks.jsonl";
const STATE: &str = "tasks.jsonl.batch";

/// The name of the task that a request is about, and its round, from 0.
fn asked(seen: &Seen) -> (String, usize) {
    let turns = seen.body["messages"].as_array().unwrap();
    let first = turns[0]["content"].as_str().unwrap();
    let (_, name) = first.split_once("name=").expect("the task has a name");
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let name = &name[..end.unwrap_or(name.len())];
    (name.to_owned(), turns.len() / 2)
}

/// The answers of a model that works properly: a file, a command, the end.
fn proper(round: usize) -> Answer {
    match round {
        0 => create("a.txt", "one"),
        1 => reply("[RUN_COMMAND]\necho x >> count.txt\n[/RUN_COMMAND]"),
        _ => done(),
    }
}

/// The answer of a model that sends again what it hears was skipped.
fn attentive(seen: &Seen) -> Answer {
    let turns = seen.body["messages"].as_array().unwrap();
    let skipped = turns.iter().skip(1).filter(|turn| {
        let text = turn["content"].as_str().unwrap_or_default();
        text.contains("[SKIPPED] ")
    });
    proper(asked(seen).1 - skipped.count())
}

/// The requests of a server, by task and round.
fn requests(server: &ModelServer) -> BTreeMap<(String, usize), usize> {
    let mut counted = BTreeMap::new();
    for seen in server.requests() {
        *counted.entry(asked(&seen)).or_insert(0) += 1;
    }
    counted
}

/// A line of the file for a task of this name.
fn task(name: &str, more: &Value) -> String {
    let mut object = json!({"id": name, "task": format!("do name={name} now")});
    for (key, value) in more.as_object().unwrap() {
        object[key] = value.clone();
    }
    format!("{object}\n")
}

fn tasks(names: &[&str]) -> String {
    names.iter().map(|name| task(name, &json!({}))).collect()
}

/// A batch of this file; its summary goes to standard output.
fn batch(file: &str, more: &[&str], server: &ModelServer) -> Test {
    let arguments = [&["batch", FILE, "--json"], more].concat();
    by_api(Test::new(&arguments).file(FILE, file), server)
}

/// Runs the batch of an earlier run once more.
fn again(finished: Finished, more: &[&str], server: &ModelServer) -> Test {
    let arguments = [&["batch", FILE, "--json"], more].concat();
    by_api(Test::after(finished, &arguments), server)
}

fn summary(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|cause| panic!("{cause}: {}\n{}", finished.stdout, finished.stderr))
}

/// The status of each task of a summary.
fn statuses(finished: &Finished) -> BTreeMap<String, String> {
    let summary = summary(finished);
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let all = summary["tasks"].as_array().unwrap().iter();
    all.map(|task| (word(&task["id"]), word(&task["status"])))
        .collect()
}

fn base_of(base: &Path, name: &str) -> PathBuf {
    base.join(STATE).join(name).join("base")
}

/// The process that works on a task.
fn process_of(base: &Path, name: &str) -> u32 {
    let file = base_of(base, name).join("sessions/loop.json");
    let holder: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    u32::try_from(holder["process"].as_u64().unwrap()).unwrap()
}

fn is_alive(process: u32) -> bool {
    // A zombie that nobody has waited for does nothing any more.
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

fn kill(process: u32) {
    let sent = Command::new("kill")
        .args(["-s", "KILL", &process.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// A server on which the first request of these tasks in their second round is never answered.
fn hanging(tasks: &'static [&'static str]) -> ModelServer {
    let mut hung = Vec::new();
    ModelServer::answering(move |seen| {
        let (name, round) = asked(seen);
        if round == 1 && tasks.contains(&name.as_str()) && !hung.contains(&name) {
            hung.push(name);
            return Some(Answer::Hang);
        }
        Some(proper(round))
    })
}

fn wait_for_request(server: &ModelServer, name: &str, round: usize) {
    let wanted = (name.to_owned(), round);
    wait_until(&format!("request {round} of {name}"), || {
        requests(server).contains_key(&wanted)
    });
}

/// Checks that every task did its work exactly once.
#[track_caller]
fn did_their_work_once(base: &Path, names: &[String]) {
    for name in names {
        let base = base_of(base, name);
        let content = |file: &str| fs::read_to_string(base.join("workspace").join(file));
        assert_eq!(content("a.txt").unwrap(), "one\n", "{name}");
        assert_eq!(content("count.txt").unwrap(), "x\n", "{name}");
        let sessions = fs::read_dir(base.join("sessions")).unwrap().flatten();
        let is_session = |path: &PathBuf| {
            path.extension().is_some_and(|end| end == "json")
                && path.file_stem().is_some_and(|stem| stem != "loop")
        };
        let sessions = sessions.filter(|entry| is_session(&entry.path())).count();
        assert_eq!(sessions, 1, "{name}");
    }
}

#[test]
fn twenty_tasks_go_on_after_kills_and_nothing_is_done_twice() {
    let server = hanging(&["t05", "t11", "t12"]);
    let names: Vec<String> = (1..=20).map(|number| format!("t{number:02}")).collect();
    let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
    let running = batch(&tasks(&borrowed), &["--jobs", "2"], &server).start();
    let base = running.base();
    // A job is killed: the others go on.
    wait_for_request(&server, "t05", 1);
    kill(process_of(&base, "t05"));
    // The batch is killed while both of its jobs wait for an answer.
    wait_for_request(&server, "t11", 1);
    wait_for_request(&server, "t12", 1);
    let jobs = [process_of(&base, "t11"), process_of(&base, "t12")];
    let before = requests(&server);
    let killed = running.kill();
    wait_until("the jobs stop without their batch", || {
        !jobs.iter().any(|job| is_alive(*job))
    });
    let finished = again(killed, &["--jobs", "2"], &server).run().code(0);
    let finished = has_no_key(finished.said("9 of 20 tasks finished already"));
    let statuses = statuses(&finished);
    assert_eq!(statuses.len(), 20);
    assert!(statuses.values().all(|word| word == "done"), "{statuses:?}");
    did_their_work_once(&base, &names);
    // Every round was asked for once, but those whose answer never came.
    for ((name, round), times) in requests(&server) {
        let hung = round == 1 && ["t05", "t11", "t12"].contains(&name.as_str());
        assert_eq!(times, if hung { 2 } else { 1 }, "{name} round {round}");
        if name.as_str() < "t11" && name != "t05" {
            assert_eq!(before[&(name, round)], times);
        }
    }
    let all = summary(&finished);
    assert_eq!(all["counts"], json!({"done": 20}));
    // Answers that were stopped count too, by an estimate.
    assert!(all["tokens"].as_u64() >= Some(20 * 3 * 1050), "{all}");
    assert_eq!(all["tasks"][4]["rounds"], 3);
    // Once more: there is nothing to do.
    let asked = server.requests().len();
    let finished = again(finished, &[], &server).run().code(0);
    assert_eq!(server.requests().len(), asked);
    assert_eq!(summary(&finished)["counts"], json!({"done": 20}));
}

#[test]
fn a_batch_that_is_killed_at_any_time_repeats_and_loses_nothing() {
    let names = ["a", "b", "c"].map(str::to_owned);
    let mut killed = 0;
    for millis in [30, 150, 400, 800, 1300, 2000] {
        // A job that stops with its batch skips what it has not begun, and says so.
        let server = ModelServer::answering(|seen| Some(attentive(seen)));
        let running = batch(&tasks(&["a", "b", "c"]), &["--jobs", "2"], &server).start();
        let mut finished = running.stop_after(millis);
        killed += usize::from(!finished.status.success());
        for _ in 0..2 {
            finished = again(finished, &["--jobs", "2"], &server).run();
        }
        let finished = finished.code(0);
        assert_eq!(summary(&finished)["counts"], json!({"done": 3}));
        for name in &names {
            let workspace = base_of(&finished.base(), name).join("workspace");
            // A command that a kill interrupted is told to the model, and not run again.
            let counted = fs::read_to_string(workspace.join("count.txt")).unwrap_or_default();
            assert!(counted.len() <= 2, "{name}: {counted:?} after {millis} ms");
            assert!(workspace.join("a.txt").exists(), "{name} after {millis} ms");
        }
        // At most the answers that were on their way are asked for again.
        let twice: usize = requests(&server).values().map(|times| times - 1).sum();
        assert!(twice <= 2, "{twice} after {millis} ms");
    }
    assert!(killed > 2, "only {killed} kills hit");
}

#[test]
fn a_killed_job_is_an_error_that_stops_nothing() {
    let server = hanging(&["a"]);
    let running = batch(&tasks(&["a", "b"]), &["--jobs", "1"], &server).start();
    let base = running.base();
    wait_for_request(&server, "a", 1);
    kill(process_of(&base, "a"));
    let finished = running.wait().code(1).said("a: error").said("b: done");
    let first = &summary(&finished)["tasks"][0];
    let message = first["message"].as_str().unwrap();
    assert!(
        message.contains("signal: 9") && message.contains("job.log"),
        "{first}"
    );
    let finished = again(finished, &[], &server).run().code(0);
    assert_eq!(summary(&finished)["counts"], json!({"done": 2}));
}

#[test]
fn ctrl_c_stops_all_jobs_and_says_how_to_go_on() {
    let server = hanging(&["a", "b"]);
    let flags = ["--jobs", "2", "--check", "true"];
    let running = batch(&tasks(&["a", "b", "c"]), &flags, &server).start();
    let base = running.base();
    for name in ["a", "b"] {
        wait_for_request(&server, name, 1);
    }
    let jobs = [process_of(&base, "a"), process_of(&base, "b")];
    running.signal("INT");
    let stopped = running.wait().code(130).said("Run the same command again");
    assert!(!jobs.iter().any(|job| is_alive(*job)));
    let words = ["interrupted", "interrupted", "not-started"];
    assert_eq!(statuses(&stopped).into_values().collect::<Vec<_>>(), words);
    // Where nothing is remembered of the person, as in another pod, the flags say it all.
    let elsewhere = again(stopped, &flags, &server).environment("XDG_STATE_HOME", "/proc/nobody");
    let _finished = elsewhere.run().code(0);
    did_their_work_once(&base, &["a".to_owned(), "b".to_owned(), "c".to_owned()]);
}

#[test]
fn bad_lines_are_named_and_nothing_is_begun() {
    let server = ModelServer::start(Vec::new());
    let file = "{\"task\": \"x\"}\n{\"task\": \"x\", \"modle\": \"y\"}\nno json\n\n{\"id\": \"z\"}\n{\"task\": \"x\", \"runner\": \"docker:y\"}\n{\"task\": \"x\", \"approval\": \"maybe\"}\n{\"task\": \"x\", \"worktree\": \"nowhere\"}\n";
    let finished = batch(file, &[], &server).run().code(2);
    let finished = finished
        .said("line 2: unknown key `modle`; did you mean `model`?")
        .said("line 3: this is not a JSON object")
        .said("line 5: there is no `task`")
        .said("line 6: `runner` is not taken from a file of tasks")
        .said("line 7: the value of `approval`")
        .said("line 8: there is no `nowhere`");
    assert!(!finished.base().join(STATE).exists());
    let long = json!({"task": "x".repeat(100_001)});
    let longer = json!({"task": "x".repeat(2_001), "max_outbox_chars": 4000});
    let file = [tasks(&["a"]), task("long", &long), task("longer", &longer)].concat();
    let finished = batch(&file, &[], &server).run().code(2);
    let finished = finished
        .said("line 2: the task has more than 100000 characters")
        .said("line 3: the task has more than 2000 characters");
    assert!(!finished.base().join(STATE).exists() && server.requests().is_empty());
    let no_api = Test::new(&["batch", FILE]).file(FILE, tasks(&["a"]));
    no_api.run().code(2).said("no API carries").said("--api");
    let based = batch(&tasks(&["a"]), &["--base", "."], &server).run();
    based.code(2).said("--state");
    let inside = json!({"directory": "."});
    let inside = batch(&task("a", &inside), &[], &server).run().code(2);
    inside.said("the records of the batch are in its directory");
    Test::new(&["batch", "missing.jsonl"])
        .run()
        .code(2)
        .said("missing.jsonl");
}

#[test]
fn a_record_that_cannot_be_read_stops_no_other_task() {
    let server = ModelServer::answering(|seen| Some(proper(asked(seen).1)));
    let finished = batch(&tasks(&["a", "b"]), &[], &server).run().code(0);
    let record = finished.base().join(STATE).join("a/record.json");
    let test = again(finished, &["--retry"], &server).file(FILE, tasks(&["a", "b", "c"]));
    let test = test.file(&format!("{STATE}/a/record.json"), "{\"schema\": 1, \"id\"");
    let finished = test.run().code(1).said("a/record.json").said("c: done");
    let expected = [("a", "error"), ("b", "done"), ("c", "done")];
    let expected = expected.map(|(name, status)| (name.to_owned(), status.to_owned()));
    assert_eq!(statuses(&finished), BTreeMap::from(expected));
    // Nothing was done for it, and its record is still there to be looked at.
    assert_eq!(server.requests().len(), 9);
    assert!(fs::read_to_string(&record).unwrap().ends_with("\"id\""));
    // What it has spent counts.
    assert_eq!(summary(&finished)["tokens"], 9450);
    let flags = ["--max-tokens", "9000"];
    let test = again(finished, &flags, &server).file(FILE, tasks(&["a", "b", "c", "d"]));
    let finished = test.run().said("2 of 4 tasks");
    assert_eq!(server.requests().len(), 9);
    assert_eq!(statuses(&finished)["d"], "stopped-by-limits");
    // A pipe that nobody writes to is no record either.
    fs::remove_file(&record).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(&record)
            .status()
            .unwrap()
            .success()
    );
    let finished = again(finished, &[], &server).run().code(1);
    let finished = finished.said("not a regular file");
    assert_eq!(statuses(&finished)["a"], "error");
}

#[test]
fn a_summary_that_has_no_place_is_refused_before_anything_begins() {
    let server = ModelServer::answering(|seen| Some(proper(asked(seen).1)));
    for (output, reason) in [
        ("no/summary.json", "there is no directory `no`"),
        (".", "is a directory"),
        (FILE, "is the file of tasks"),
        ("./linked.json", "is the file of tasks"),
        ("tasks.jsonl.batch/summary.json", "in the folder of records"),
        ("/dev/full", "No space left"),
        ("/proc/summary.json", "the summary cannot be written"),
    ] {
        let test = batch(&tasks(&["a"]), &["--output", output], &server)
            .file(&format!("{STATE}/.keep"), "");
        std::os::unix::fs::symlink(FILE, test.base().join("linked.json")).unwrap();
        let refused = test.run().code(2).said(reason);
        let kept = fs::read_to_string(refused.base().join(FILE)).unwrap();
        assert_eq!(kept, tasks(&["a"]), "{output}");
    }
    assert!(server.requests().is_empty());
}

#[test]
fn a_summary_keeps_links_and_pipes_as_they_are() {
    let server = ModelServer::answering(|seen| Some(proper(asked(seen).1)));
    let test = batch(&tasks(&["a"]), &["--output", "latest.json"], &server);
    let latest = test.base().join("latest.json");
    std::os::unix::fs::symlink("today.json", &latest).unwrap();
    let finished = test.run().code(0);
    assert!(latest.is_symlink());
    let written = fs::read_to_string(finished.base().join("today.json")).unwrap();
    assert!(written.contains("\"done\""), "{written}");
    // Once more, to a pipe with a reader.
    let pipe = finished.base().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let reader = std::thread::spawn(move || fs::read_to_string(&pipe).unwrap());
    let finished = again(finished, &["--output", "pipe"], &server)
        .run()
        .code(0);
    assert!(reader.join().unwrap().contains("\"done\""));
    // Standard output has it once, though both ask for it.
    let finished = again(finished, &["--output", "/dev/stdout"], &server).run();
    assert_eq!(statuses(&finished.code(0))["a"], "done");
}

#[test]
fn a_record_that_cannot_be_written_stops_no_other_task() {
    let server = ModelServer::answering(|seen| Some(proper(asked(seen).1)));
    let test = batch(&tasks(&["a", "b", "c"]), &["--jobs", "1"], &server)
        .file(&format!("{STATE}/.keep"), "");
    std::os::unix::fs::symlink("/nonexistent/x", test.base().join(STATE).join("b")).unwrap();
    let finished = test.run().code(1).said("a: done").said("c: done");
    assert_eq!(statuses(&finished)["b"], "error");
    assert_eq!(server.requests().len(), 6);
}

#[test]
fn a_record_with_absurd_numbers_reaches_the_limit() {
    let server = ModelServer::answering(|seen| Some(proper(asked(seen).1)));
    let finished = batch(&tasks(&["a", "b"]), &[], &server).run().code(0);
    let path = finished.base().join(STATE).join("a/record.json");
    let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    record["tokens"] = json!(u64::MAX);
    let test = again(finished, &["--max-tokens", "100000"], &server)
        .file(&format!("{STATE}/a/record.json"), record.to_string())
        .file(FILE, tasks(&["a", "b", "c"]));
    let finished = test.run().code(3);
    assert_eq!(statuses(&finished)["c"], "stopped-by-limits");
    assert_eq!(server.requests().len(), 6);
}

#[test]
fn a_line_that_was_changed_is_named_and_new_ones_run() {
    let server = ModelServer::answering(|seen| Some(proper(asked(seen).1)));
    let finished = batch(&tasks(&["a", "b"]), &[], &server).run().code(0);
    let changed = tasks(&["a"]) + &task("b", &json!({"max_rounds": 5}));
    let test = again(finished, &[], &server).file(FILE, changed);
    let refused = test.run().code(2).said("line 2 (`b`)").said("new `id`");
    assert_eq!(server.requests().len(), 6);
    let test = again(refused, &[], &server).file(FILE, tasks(&["new", "a"]));
    let finished = test.run().code(0).said("left as they are: b");
    assert_eq!(server.requests().len(), 9);
    let lines = &summary(&finished)["tasks"];
    assert_eq!(
        (&lines[1]["id"], &lines[1]["line"]),
        (&json!("a"), &json!(2))
    );
}

#[test]
fn every_end_has_its_status_and_one_failure_stops_nothing() {
    let server = ModelServer::answering(|seen| {
        let (name, round) = asked(seen);
        Some(match name.as_str() {
            "error" => Answer::Status("401 No", "", "{}".to_owned()),
            "plan" => reply("[PLAN]\nfirst this\n[/PLAN]"),
            "push" => reply("[RUN_COMMAND]\ngit push\n[/RUN_COMMAND]"),
            "rounds" => create(&format!("{round}.txt"), "x"),
            "check" => done(),
            _ => proper(round),
        })
    });
    let file = [
        task("error", &json!({})),
        task("plan", &json!({"approval": "plan", "max_rounds": 2})),
        task("push", &json!({"approval": "ask", "max_rounds": 1})),
        task("rounds", &json!({"max_rounds": 2})),
        task("check", &json!({"check": "false", "max_rounds": 2})),
        task("fine", &json!({"check": "true"})),
    ];
    let flags = ["--output", "summary.json"];
    let finished = has_no_key(batch(&file.concat(), &flags, &server).run().code(1));
    let statuses = statuses(&finished);
    for (name, expected) in [
        ("error", "error"),
        ("plan", "needs-person"),
        ("push", "needs-person"),
        ("rounds", "stopped-by-limits"),
        ("check", "check-failed"),
        ("fine", "done"),
    ] {
        assert_eq!(statuses[name], expected, "{}", finished.stdout);
    }
    let saved = fs::read(finished.base().join("summary.json")).unwrap();
    let saved: Value = serde_json::from_slice(&saved).unwrap();
    assert_eq!(saved, summary(&finished));
    let printed = by_api(Test::after(finished, &["batch", FILE, "-o", "-"]), &server);
    let finished = printed.run().code(1);
    assert_eq!(summary(&finished)["counts"], saved["counts"]);
    assert!(!finished.base().join("-").exists());
    let message = saved["tasks"][0]["message"].as_str().unwrap();
    assert!(message.contains("does not accept the key"), "{message}");
    // Only the error is tried again by itself.
    let asked_before = requests(&server);
    let finished = again(finished, &[], &server).run().code(1);
    let asked_now = requests(&server);
    for (key, times) in &asked_now {
        let more = usize::from(key.0 == "error");
        assert_eq!(*times, asked_before[key] + more, "{key:?}");
    }
    // What ended without being done goes on when it is wanted.
    again(finished, &["--retry"], &server).run().code(1);
    let rounds = |counted: &BTreeMap<(String, usize), usize>, name: &str| {
        counted.iter().filter(|((task, _), _)| task == name).count()
    };
    assert_eq!(rounds(&requests(&server), "rounds"), 4);
    assert_eq!(rounds(&requests(&server), "fine"), 3);
}

#[test]
fn limits_hold_for_all_tasks_together() {
    let server = ModelServer::answering(|seen| Some(proper(asked(seen).1)));
    let file = tasks(&["a", "b", "c"]);
    // Three answers of 1,050 tokens for the first task; the second gets one more.
    let flags = ["--jobs", "1", "--max-tokens", "4000"];
    let finished = batch(&file, &flags, &server).run().code(3);
    let finished = finished.said("of 4,000 that `--max-tokens` permits");
    let finished = finished.said("with a higher `--max-tokens` to continue");
    assert_eq!(server.requests().len(), 4);
    let words = ["done", "stopped-by-limits", "stopped-by-limits"];
    assert_eq!(statuses(&finished).into_values().collect::<Vec<_>>(), words);
    // With the same limit nothing more is asked.
    let finished = again(finished, &flags, &server).run().code(3);
    assert_eq!(server.requests().len(), 4);
    let finished = again(finished, &["--max-tokens", "100000"], &server)
        .run()
        .code(0);
    assert_eq!(server.requests().len(), 9);
    assert_eq!(summary(&finished)["tokens"], 9450);
    // Each answer costs $0.011.
    let server = ModelServer::answering(|seen| Some(proper(asked(seen).1)));
    let flags = ["--jobs", "1", "--max-cost", "4", "--api-price", "10/20"];
    let finished = batch(&file, &flags, &server).run().code(3);
    let finished = finished.said("of $0.0400 that `--max-cost` permits");
    assert_eq!(server.requests().len(), 4);
    assert_eq!(summary(&finished)["costMicros"], 44_000);
    let flags = ["--max-cost", "100", "--api-price", "10/20"];
    again(finished, &flags, &server).run().code(0);
    // The person's own limit for a session stays, if it is lower.
    let server = ModelServer::answering(|seen| Some(proper(asked(seen).1)));
    let test = batch(&tasks(&["a", "b"]), &flags, &server).environment("Agent__MaxCost", "1");
    let finished = test.run().code(3).said("`MaxCost` permits");
    assert_eq!(server.requests().len(), 2);
    assert_eq!(summary(&finished)["tasks"][0]["isFinished"], true);
    // A limit that nobody can count is none that holds.
    let flags = ["--max-cost", "4", "--jobs", "1"];
    let finished = batch(&tasks(&["a"]), &flags, &server).run().code(1);
    finished.said("no price of `one` is known");
}

#[test]
fn a_second_batch_is_refused_and_shards_run_beside_each_other() {
    let server = hanging(&["a", "b"]);
    let file = tasks(&["a", "b", "c", "d", "e"]);
    let running = batch(&file, &["--shard", "0/2"], &server).start();
    let base = running.base();
    wait_for_request(&server, "a", 1);
    let beside = |more: &[&str]| {
        let mut command = agent(&base);
        command.args(["batch", FILE]).args(more);
        command
            .env("Agent__Api", "custom")
            .env("Agent__ApiUrl", &server.url)
            .env("Agent__Model", "one")
            .env("AGENT_API_KEY", KEY);
        command
    };
    for flags in [&[][..], &["--shard", "0/2"]] {
        let refused = beside(flags).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains("another `agent batch`"), "{said}");
    }
    let mut other = beside(&["--shard", "1/2"]).spawn().unwrap();
    wait_for_request(&server, "b", 1);
    wait_for_request(&server, "d", 2);
    kill(process_of(&base, "b"));
    assert_eq!(other.wait().unwrap().code(), Some(1));
    running.signal("TERM");
    let stopped = running.wait().code(130);
    assert_eq!(statuses(&stopped).into_keys().collect::<String>(), "ace");
    assert_eq!(summary(&stopped)["shard"], "0/2");
    // Without shards, what they did counts.
    let finished = again(stopped, &[], &server).run().code(0);
    assert_eq!(summary(&finished)["counts"], json!({"done": 5}));
    let names = ["a", "b", "c", "d", "e"].map(str::to_owned);
    did_their_work_once(&base, &names);
    let wrong = batch(&file, &["--shard", "2/2"], &server).run();
    wrong.code(2).said("I from 0 to N-1");
}

fn git(directory: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"])
        .args(words)
        .current_dir(directory)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn each_task_has_a_worktree_which_stays_if_it_has_changes() {
    let server = ModelServer::answering(|seen| {
        let (name, round) = asked(seen);
        Some(match (name.as_str(), round) {
            ("ignored", 0) => create("out/report.txt", "found"),
            ("nothing" | "ignored", _) => done(),
            (_, round) => proper(round),
        })
    });
    let own = json!({"worktree": "repository"});
    let committing = json!({"worktree": "repository", "commit": true, "check": "true"});
    let file = [
        task("nothing", &own),
        task("files", &own),
        task("commits", &committing),
        task("ignored", &own),
    ];
    let test = batch(&file.concat(), &[], &server)
        .file("repository/readme.txt", "read me\n")
        .file("repository/.gitignore", "out/\n")
        // A kill left this one half made.
        .file("tasks.jsonl.batch/files/worktree/half.txt", "x")
        .environment("GIT_AUTHOR_NAME", "Ann")
        .environment("GIT_AUTHOR_EMAIL", "ann@example.org");
    let repository = test.base().join("repository");
    git(&repository, &["init", "-q", "-b", "main"]);
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "-q", "-m", "first"]);
    git(&repository, &["branch", "batch/files"]);
    let finished = test.run().code(0);
    let branches = git(&repository, &["branch", "--format=%(refname:short)"]);
    assert_eq!(branches, "batch/commits\nbatch/files\nbatch/ignored\nmain");
    let report = Path::new(STATE).join("ignored/worktree/out/report.txt");
    let report = fs::read_to_string(finished.base().join(report)).unwrap();
    assert_eq!(report, "found\n");
    assert_eq!(git(&repository, &["status", "--porcelain"]), "");
    let all = summary(&finished);
    assert_eq!(
        (&all["tasks"][0]["folder"], &all["tasks"][0]["branch"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(all["tasks"][1]["branch"], "batch/files");
    let folder = PathBuf::from(all["tasks"][1]["folder"].as_str().unwrap());
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("readme.txt"), "read me\n");
    assert_eq!(read("count.txt"), "x\n");
    assert!(!folder.join("half.txt").exists());
    let made = git(
        &repository,
        &["show", "--name-only", "--format=", "batch/commits"],
    );
    assert!(
        made.contains("count.txt") || made.contains("a.txt"),
        "{made}"
    );
    let files = git(&repository, &["ls-tree", "--name-only", "batch/commits"]);
    assert_eq!(files, ".gitignore\na.txt\ncount.txt\nreadme.txt");
    assert_eq!(git(&repository, &["worktree", "list"]).lines().count(), 4);
}

#[test]
fn tasks_of_one_directory_take_turns() {
    let server = ModelServer::answering(|seen| Some(proper(asked(seen).1)));
    let place = json!({"directory": "project"});
    let file = [task("a", &place), task("b", &place)].concat();
    let test = batch(&file, &["--jobs", "2"], &server).file("project/readme.txt", "x\n");
    let finished = test.run().code(0);
    let order: String = (server.requests().iter())
        .map(|seen| asked(seen).0)
        .collect();
    assert_eq!(order, "aaabbb");
    let project = finished.base().join("project");
    assert_eq!(
        fs::read_to_string(project.join("count.txt")).unwrap(),
        "x\nx\n"
    );
    assert!(!project.join(".agent").exists());
}

#[test]
fn progress_is_a_line_for_each_task() {
    let server = ModelServer::answering(|seen| Some(proper(asked(seen).1)));
    let file = tasks(&["a", "b"]);
    let test = Test::new(&["batch", FILE, "--jobs", "1", "--api-price", "10/20"]);
    let finished = by_api(test.file(FILE, file), &server).run().code(0);
    let lines: Vec<&str> = finished.stderr.lines().collect();
    assert!(
        lines[0].starts_with("[1/2] a: done, 3 rounds, 3,150 tokens, $0.0330, "),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("[2/2] b: done"), "{lines:?}");
    assert_eq!(lines[2], "2 done; 6,300 tokens, $0.0660 in all.");
    assert_eq!((lines.len(), finished.stdout.as_str()), (3, ""));
}

#[test]
fn a_terminal_shows_what_runs() {
    use crate::terminal::{CTRL_C, Terminal, has_script};
    if !has_script() {
        return;
    }
    let server = hanging(&["a"]);
    let test = Test::new(&[]).file(FILE, tasks(&["a", "b"]));
    let environment = [
        ("Agent__Api", "custom"),
        ("Agent__ApiUrl", server.url.as_str()),
        ("Agent__Model", "one"),
        ("AGENT_API_KEY", KEY),
    ];
    let mut terminal = Terminal::open(test, "batch tasks.jsonl", &environment);
    terminal.expect("a round 2");
    terminal.expect("[1/2] b: done");
    terminal.type_in(CTRL_C);
    terminal.expect("a: interrupted");
    terminal.expect("Run the same command again");
    let (code, shown) = terminal.close();
    assert_eq!(code, Some(130), "{shown}");
}

#[test]
fn a_task_is_not_done_until_its_results_are_back() {
    let server = ModelServer::answering(|seen| {
        Some(match asked(seen).1 {
            0 => reply("[RUN_COMMAND]\ntouch made\n[/RUN_COMMAND]"),
            _ => done(),
        })
    });
    let file = task("a", &json!({"worktree": "repository"}));
    let flags = [
        "--runner",
        "kubectl:pod",
        "--sandbox",
        "off",
        "--allow",
        "touch",
    ];
    let with_kubectl = |test: Test| with_program(test, "kubectl", KUBECTL);
    let test = batch(&file, &flags, &server)
        .file("repository/readme.txt", "read me\n")
        .file("../bin/cut", "");
    let repository = test.base().join("repository");
    git(&repository, &["init", "-q", "-b", "main"]);
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "-q", "-m", "first"]);
    let finished = with_kubectl(test).run().code(1);
    let finished = finished.said("results have not come back");
    assert_eq!(statuses(&finished)["a"], "error");
    // The same if its rounds are used up.
    let short = task("b", &json!({"worktree": "repository", "max_rounds": 1}));
    let test = again(finished, &flags, &server).file(FILE, [file.clone(), short].concat());
    let finished = with_kubectl(test).run().code(1);
    assert_eq!(statuses(&finished)["b"], "error");
    let made = ["a", "b"].map(|name| finished.base().join(STATE).join(name).join("worktree/made"));
    assert!(!made.iter().any(|made| made.exists()));
    fs::remove_file(bin(&finished.base()).join("cut")).unwrap();
    let finished = with_kubectl(again(finished, &flags, &server)).run().code(0);
    assert_eq!(statuses(&finished)["a"], "done");
    assert!(made.iter().all(|made| made.exists()));
    // The first task asks twice, nothing is asked again; the second one continues.
    assert_eq!(server.requests().len(), 4);
}

/// The answers of a model that runs a command, ends, and runs it again when it is asked to go on.
fn insisting(command: &'static str) -> ModelServer {
    let mut asked = 0;
    ModelServer::answering(move |_| {
        asked += 1;
        Some(match asked % 2 {
            1 => reply(&format!("[RUN_COMMAND]\n{command}\n[/RUN_COMMAND]")),
            _ => done(),
        })
    })
}

#[test]
fn a_task_whose_commands_nobody_could_allow_is_not_called_done() {
    let server = insisting("touch made");
    let runner = ["--runner", "exec:sh"];
    let finished = batch(&tasks(&["a"]), &runner, &server).run().code(3);
    let (told, ended) = finished.stderr.split_once("[1/1] ").unwrap();
    assert!(
        told.contains("all of them will be refused") && told.contains("`--sandbox off`"),
        "{told}"
    );
    assert!(
        ended.starts_with("a: needs a person, 1 step refused, "),
        "{ended}"
    );
    assert!(
        ended.contains("1 needs a person; 1 step refused; "),
        "{ended}"
    );
    let all = summary(&finished);
    assert_eq!(
        (&all["refused"], &all["tasks"][0]["refused"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(statuses(&finished)["a"], "needs-person");
    let finished = again(finished, &runner, &server).run().code(3);
    assert_eq!(server.requests().len(), 2);
    assert!(
        !finished.stderr.contains("will be refused"),
        "{}",
        finished.stderr
    );
    // What was refused is tried again, and may run now.
    let allowing = ["--retry", "--sandbox", "off", "--allow", "touch"];
    let finished = again(finished, &[&runner[..], &allowing].concat(), &server)
        .run()
        .code(0);
    assert!(!finished.stderr.contains("refused"), "{}", finished.stderr);
    assert_eq!(
        (
            &statuses(&finished)["a"][..],
            &summary(&finished)["refused"]
        ),
        ("done", &json!(0))
    );
    assert!(
        base_of(&finished.base(), "a")
            .join("workspace/made")
            .exists()
    );
    // Where the settings rule every command out, nothing is begun.
    let required = [&runner[..], &["--sandbox", "required"]].concat();
    let test = batch(&tasks(&["a"]), &required, &server);
    let refused = test.run().code(2).said("no command could run");
    assert!(!refused.base().join(STATE).exists());
}

#[test]
fn a_check_that_passes_counts_more_than_a_refused_command() {
    let server = insisting("git push");
    let file = task("a", &json!({"check": "true"}));
    let finished = batch(&file, &[], &server).run().code(0);
    let finished = finished
        .said("a: done, 1 step refused, ")
        .said("1 done; 1 step refused; ");
    assert_eq!(summary(&finished)["tasks"][0]["refused"], 1);
}

#[test]
fn a_task_whose_commands_could_not_be_started_is_an_error_and_continues() {
    const HOP: &str = "#!/bin/sh\nif [ -e \"$(dirname \"$0\")/down\" ]; then echo no route to host; exit 255; fi\nexec sh\n";
    let server = insisting("touch made");
    let flags = [
        "--runner",
        "exec:hop",
        "--sandbox",
        "off",
        "--allow",
        "touch",
    ];
    let test = batch(&tasks(&["a"]), &flags, &server).file("../bin/down", "");
    let finished = with_program(test, "hop", HOP).run().code(1);
    let finished = finished.said("a command could not be started: no route to host");
    assert_eq!(statuses(&finished)["a"], "error");
    fs::remove_file(bin(&finished.base()).join("down")).unwrap();
    let test = again(finished, &flags, &server);
    let finished = with_program(test, "hop", HOP).run().code(0);
    assert_eq!(statuses(&finished)["a"], "done");
    let workspace = base_of(&finished.base(), "a").join("workspace");
    assert!(workspace.join("made").exists());
}

#[test]
fn an_engine_that_does_not_run_is_an_error_with_and_without_a_check() {
    const DOCKER: &str = "#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n";
    let server = ModelServer::answering(|seen| Some(proper(asked(seen).1)));
    let checked = json!({"check": "true", "max_rounds": 3});
    let file = [task("a", &json!({})), task("b", &checked)].concat();
    let test = batch(&file, &["--runner", "docker:image"], &server);
    let finished = with_program(test, "docker", DOCKER).run().code(1);
    let finished = finished.said("the docker daemon does not run");
    let statuses = statuses(&finished);
    assert_eq!((&*statuses["a"], &*statuses["b"]), ("error", "error"));
}
