//! The events of a session: their page, their file, and who watches.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use agent::protocol::{
    ApiAnswer, ApiAnswerEnd, ApiNews, Bounded, ClipboardNews, Command, CopiedFrom, EVENT_SCHEMA,
    Event, Housekeeping, Issue, Outcome, PersonAct, QuestionKind, Recovery, RelPath, Repair,
    SessionId, SetupNews, Step, StepResult, WideExtent,
};
use serde_json::Value;

use crate::harness::{Save, Test, agent, save_reply, wait_for_outbox, wait_until};

fn text() -> String {
    "text".to_owned()
}

fn id() -> SessionId {
    SessionId::parse("ab12cd34").unwrap()
}

fn nothing<T>() -> Bounded<T> {
    Bounded::new(0, Vec::new())
}

/// How sessions begin and end, and what is said meanwhile.
fn sessions() -> Vec<Event> {
    vec![
        Event::Session {
            id: id(),
            task: text(),
            base: text(),
            workspace: text(),
            resumed: false,
        },
        Event::Confinement {
            commands: true,
            backend: None,
            network: false,
            properties: Vec::new(),
            runner: Some(text()),
        },
        Event::RepositoryHidden { repository: text() },
        Event::PlanMode,
        Event::Note { text: text() },
        Event::NoteUnsent { text: text() },
        Event::Committed {
            commit: text(),
            subject: text(),
        },
        Event::NotCommitted { cause: text() },
        Event::Notice { text: text() },
        Event::Trouble {
            message: text(),
            causes: Vec::new(),
            hints: Vec::new(),
        },
        Event::Done {
            id: id(),
            summary: text(),
            rounds: 1,
            changed: 1,
            files: Vec::new(),
            lines: BTreeMap::new(),
            seconds: 1,
            workspace: text(),
        },
        Event::Ended { id: id() },
        Event::RoundLimit {
            id: id(),
            rounds: 1,
        },
        Event::Interrupted { id: id() },
        Event::Reset,
        Event::Omitted {
            name: text(),
            bytes: 1,
        },
    ]
}

/// Events about messages and replies.
fn messages() -> Vec<Event> {
    vec![
        Event::Outbox {
            path: text(),
            pastes: Vec::new(),
            attachment: None,
            inbox: text(),
            sequence: 1,
            characters: 1,
            tokens: 1,
            takes: BTreeMap::new(),
            chat: text(),
            percent: 1,
            becomes_file: false,
            cuts: Vec::new(),
            is_waiting: true,
            carried_by: None,
        },
        Event::ChatMemory {
            tokens: 1,
            limit: 1,
            chat: text(),
        },
        Event::SecretsKept {
            secrets: Vec::new(),
            doubts: 0,
        },
        Event::Inbox {
            message: text(),
            hint: text(),
        },
        Event::LeftInInbox {
            name: text(),
            answers: id(),
        },
        Event::Rejected {
            name: text(),
            why: text(),
            moved_to: text(),
        },
        Event::Reply {
            name: text(),
            file: text(),
            sequence: 1,
            commands: 1,
        },
        Event::Repaired {
            repair: Repair {
                what: text(),
                count: 1,
                in_body: false,
                copied_from: Some(CopiedFrom::Page),
            },
        },
        Event::Prose { text: text() },
        Event::Issue {
            issue: Issue {
                line: 1,
                number: None,
                command: None,
                message: text(),
                hint: text(),
            },
        },
        Event::Cut {
            line: 1,
            what: text(),
        },
        Event::NoCommands,
    ]
}

/// Events about steps, and what they left.
fn steps() -> Vec<Event> {
    let step = Step {
        number: 1,
        line: 1,
        command: Command::DeleteFile {
            path: RelPath::parse("a").unwrap(),
        },
    };
    let outcome = Outcome::by_person(PersonAct::Declined).with_hint("ask first");
    vec![
        Event::Running {
            number: 1,
            script: text(),
        },
        Event::Output {
            number: 1,
            text: text(),
            omitted: 0,
        },
        Event::Check {
            command: text(),
            outcome: outcome.clone(),
        },
        Event::Step {
            result: StepResult::new(&step, outcome, std::time::Duration::ZERO),
            differences: Vec::new(),
        },
        Event::Plan { text: text() },
        Event::Message { text: text() },
        Event::Circles {
            circles: Vec::new(),
        },
        Event::LeftBehind {
            hooks: nothing(),
            obeyed: nothing(),
            executables: nothing(),
            links: nothing(),
        },
        Event::NotCovered { files: nothing() },
        Event::NoCheckpoint { cause: None },
        Event::Reversed {
            redone: false,
            rounds: Vec::new(),
            restored: nothing(),
            skipped: nothing(),
        },
        Event::Unlistable { problem: text() },
        Event::Arriving {
            name: text(),
            bytes: 1,
        },
    ]
}

/// Events about questions and decisions.
fn decisions() -> Vec<Event> {
    let kind = QuestionKind::Step;
    vec![
        Event::Question { question: text() },
        Event::Ahead {
            number: 1,
            command: text(),
            title: text(),
            shown: text(),
            before: 2,
        },
        Event::Approval {
            kind,
            key: text(),
            number: 1,
            round: 1,
            command: text(),
            title: text(),
            shown: text(),
            why: text(),
            may: text(),
            proposal: None,
            hash: text(),
        },
        Event::Waiting { kind },
        Event::Decided {
            key: text(),
            number: 1,
            command: text(),
            title: text(),
            decision: text(),
            reason: None,
        },
        Event::BadDecision {
            key: text(),
            number: 1,
        },
        Event::RuleKept {
            rule: text(),
            file: text(),
        },
    ]
}

/// Events about an API, enough to have all fields.
fn by_api() -> Vec<ApiNews> {
    vec![
        ApiNews::Sending {
            provider: text(),
            model: text(),
            round: 1,
            turns: 1,
            tokens: 1,
        },
        ApiNews::Shortened {
            rounds: 1,
            tokens: 1,
        },
        ApiNews::Retrying {
            why: text(),
            millis: 1,
            tried: 1,
            tries: 1,
        },
        ApiNews::Text { text: text() },
        ApiNews::Stopped { characters: 1 },
        ApiNews::Answered(ApiAnswer {
            end: ApiAnswerEnd::Whole,
            why: text(),
            input: 1,
            cached: 1,
            output: 1,
            reasoning: 1,
            is_estimated: true,
            cost_micros: None,
            session_tokens: 1,
            session_cost_micros: None,
            session_is_estimated: true,
            session_unpriced: 1,
            first_millis: 1,
            millis: 1,
            tokens_in_ten_seconds: None,
        }),
    ]
}

/// Those that have different fields by what they tell: enough of each to have all fields.
fn by_what() -> Vec<Event> {
    let clipboard = [
        ClipboardNews::Copied {
            message: text(),
            how: text(),
        },
        ClipboardNews::NotCopied {
            message: text(),
            why: text(),
        },
        ClipboardNews::NextPart {
            message: text(),
            part: 2,
        },
        ClipboardNews::Unwatched {
            remembered_in: None,
        },
        ClipboardNews::Taken {
            characters: 1,
            lines: 1,
            mark: text(),
        },
        ClipboardNews::HasOtherRound {
            answered: 1,
            waiting: 2,
        },
    ];
    let housekeeping = [
        Housekeeping::JournalCompacted { bytes: 1 },
        Housekeeping::JournalNotCompacted { cause: text() },
        Housekeeping::EarlierDefault {
            setting: text(),
            value: text(),
            default: text(),
            file: text(),
        },
        Housekeeping::RoundsGivenUp {
            rounds: 1,
            limit_megabytes: 1,
        },
        Housekeeping::OverLimit {
            megabytes: 1,
            limit_megabytes: 1,
        },
        Housekeeping::RemovedFilesGivenUp {
            undos: 1,
            limit_megabytes: 1,
        },
    ];
    let recovery = [
        Recovery::ReplyGone { file: text() },
        Recovery::JournalTorn { bytes: 1 },
        Recovery::FileChanged {
            path: text(),
            kept: None,
            problem: None,
        },
        Recovery::Disarmed {
            disabled: Bounded::default(),
            suffix: text(),
            opened: nothing(),
            closed: nothing(),
            is_cut: false,
            is_unknown: false,
            in_cache: false,
        },
        Recovery::Unclear { files: nothing() },
    ];
    let api = by_api().into_iter().map(Event::Api);
    let clipboard = clipboard.into_iter().map(Event::Clipboard).chain(api);
    let housekeeping = housekeeping.into_iter().map(Event::Housekeeping);
    let recovery = recovery.into_iter().map(Event::Recovery);
    let setup = setup().into_iter().map(Event::Setup);
    (clipboard.chain(housekeeping).chain(recovery))
        .chain(setup)
        .collect()
}

fn setup() -> Vec<SetupNews> {
    vec![
        SetupNews::WideWorkspace {
            directory: text(),
            extent: WideExtent::Root,
        },
        SetupNews::WorkspaceChanged {
            id: id(),
            from: text(),
            to: text(),
        },
        SetupNews::NoLog {
            file: text(),
            cause: text(),
        },
        SetupNews::UntrustedSetting {
            setting: text(),
            file: text(),
            is_declined: false,
        },
        SetupNews::PersonalSetting {
            setting: text(),
            file: text(),
            flag: text(),
        },
        SetupNews::OwnSettingsExposed {
            file: text(),
            workspace: text(),
        },
        SetupNews::AnswerUnknown {
            answers: Vec::new(),
        },
    ]
}

fn page() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/events.md");
    std::fs::read_to_string(page).unwrap()
}

/// The events of the page, each with the names of its fields.
fn described() -> BTreeMap<String, BTreeSet<String>> {
    let page = page();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        // What stands behind a colon is within the field before it.
        let fields = cells[2].split("`: ").next().unwrap_or_default();
        let fields = fields
            .split(", ")
            .map(|name| name.trim_matches('`').to_owned())
            .filter(|name| !name.is_empty());
        (cells[1].trim_matches('`').to_owned(), fields.collect())
    };
    rows.filter(|line| !line.starts_with("| `event`"))
        .map(row)
        .collect()
}

#[test]
fn the_page_describes_every_event_with_its_fields() {
    let mut told: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let all = [sessions(), messages(), steps(), decisions(), by_what()];
    for event in all.into_iter().flatten() {
        let value = serde_json::to_value(event).unwrap();
        let object = value.as_object().unwrap();
        let names = object.keys().filter(|name| *name != "event");
        let fields = told.entry(object["event"].as_str().unwrap().to_owned());
        fields.or_default().extend(names.cloned());
    }
    assert_eq!(told, described());
}

#[test]
fn the_page_names_the_version() {
    let page = page();
    assert!(page.contains(&format!("the version of this page: **{EVENT_SCHEMA}**")));
    assert!(page.contains(&format!("\"schema\":{EVENT_SCHEMA}}}")));
}

const EDIT: &str = "[CREATE_FILE path=\"a.txt\"]\nhello\n[/CREATE_FILE]\n{end}\n";
const RUN: &str = "[RUN_COMMAND]\necho printed\n[/RUN_COMMAND]\n{end}\n";
const DONE: &str = "[DONE]\nready\n[/DONE]\n{end}\n";

fn lines(text: &str) -> Vec<Value> {
    let read = |line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
    text.lines().map(read).collect()
}

/// The file with the events of the only session.
fn event_file(base: &Path) -> PathBuf {
    let sessions = fs::read_dir(base.join("sessions")).unwrap();
    let mut files = sessions.map(|entry| entry.unwrap().path().join("events.jsonl"));
    files.find(|file| file.exists()).unwrap()
}

/// Waits for a message, and gives the mark with which its reply ends.
fn mark_of(base: &Path, sequence: u32) -> String {
    let (id, _) = wait_for_outbox(base, sequence);
    format!("[END {id}#{sequence}]")
}

fn numbers(events: &[Value]) -> Vec<u64> {
    let numbered = events.iter().filter_map(|event| event["seq"].as_u64());
    numbered.collect()
}

#[test]
fn the_file_has_what_json_prints_and_others_go_on_with_its_numbers() {
    let finished = Test::new(&["new", "--json", "task"])
        .reply(EDIT)
        .reply(RUN)
        .reply(DONE)
        .run()
        .code(0);
    let told = lines(&finished.stdout);
    let told: Vec<Value> = told
        .into_iter()
        .filter(|event| event["seq"].is_u64())
        .collect();
    let file = event_file(&finished.base());
    let kept = lines(&fs::read_to_string(&file).unwrap());
    assert_eq!(told, kept);
    let all: Vec<u64> = (1..=kept.len() as u64).collect();
    assert_eq!(numbers(&kept), all);
    let is_printed = |event: &Value| event["event"] == "output" && event["text"] == "printed\n";
    assert!(kept.iter().any(is_printed), "{kept:?}");
    let step = kept.iter().find(|event| event["event"] == "step").unwrap();
    assert_eq!(step["differences"][0]["added"], 1, "{step}");

    let finished = Test::after(finished, &["undo", "--yes", "--to", "0"])
        .run()
        .code(0);
    let kept = lines(&fs::read_to_string(&file).unwrap());
    let last = kept.last().unwrap();
    assert_eq!(last["event"], "reversed", "{last}");
    assert_eq!(last["restored"]["first"][0], "a.txt", "{last}");
    assert_eq!(last["seq"], kept.len() as u64);
    drop(finished);
}

#[test]
fn another_terminal_follows_what_one_does() {
    let running = Test::new(&["new", "task"]).start();
    let base = running.base();
    let mark = mark_of(&base, 1);
    let follower = agent(&base)
        .args(["show", "--follow", "--from", "1", "--json"])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let reply = |name: &str, text: &str, mark: &str| {
        let path = base.join("inbox").join(name);
        save_reply(&path, Save::Write, text.replace("{end}", mark).as_bytes());
    };
    reply("one.md", RUN, &mark);
    let mark = mark_of(&base, 2);
    let say = |words: &str| {
        let said = agent(&base).args(["say", words]).output().unwrap();
        assert!(said.status.success());
    };
    say("use tabs");
    reply("two.md", RUN, &mark);
    let mark = mark_of(&base, 3);
    say("too late");
    reply("three.md", DONE, &mark);
    let _finished = running.wait().code(0);
    let shown = follower.wait_with_output().unwrap();
    assert!(shown.status.success());
    let seen = lines(&String::from_utf8(shown.stdout).unwrap());
    let kept = lines(&fs::read_to_string(event_file(&base)).unwrap());
    assert_eq!(seen, kept);
    assert!(seen.iter().any(|event| event["event"] == "done"));
    assert_eq!(seen.last().unwrap()["event"], "noteUnsent");
    let is_note = |event: &Value| event["event"] == "note" && event["text"] == "use tabs";
    assert!(seen.iter().any(is_note), "{seen:?}");
}

#[test]
fn a_follower_sees_words_and_how_to_decide() {
    let running = Test::new(&["new", "--approval", "edits", "task"]).start();
    let base = running.base();
    let mark = mark_of(&base, 1);
    let text = RUN.replace("{end}", &mark);
    save_reply(&base.join("inbox/one.md"), Save::Write, text.as_bytes());
    wait_until("a question", || {
        let sessions = fs::read_dir(base.join("sessions")).into_iter().flatten();
        let mut folders = sessions.flatten().map(|entry| entry.path());
        folders.any(|folder| folder.join("pending/1.json").exists())
    });
    wait_until("its event", || {
        let kept = fs::read_to_string(event_file(&base)).unwrap();
        kept.contains("\"event\":\"approval\"")
    });
    let follower = agent(&base)
        .args(["show", "--follow"])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let approved = agent(&base).args(["approve", "1"]).output().unwrap();
    assert!(approved.status.success());
    let mark = mark_of(&base, 2);
    let text = DONE.replace("{end}", &mark);
    save_reply(&base.join("inbox/two.md"), Save::Write, text.as_bytes());
    let _finished = running.wait().code(0);
    let shown = follower.wait_with_output().unwrap();
    let said = String::from_utf8(shown.stdout).unwrap();
    for words in [
        "into your chat:",
        "Decide with `agent approve 1`",
        "approved 1. run",
        "Done after 2 rounds",
    ] {
        assert!(said.contains(words), "`{words}` is missing: {said}");
    }
}

/// Waits for the process to end by itself.
fn has_ended(child: &mut std::process::Child) {
    for _ in 0..600 {
        if child.try_wait().unwrap().is_some() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = child.kill();
    panic!("the follower did not end");
}

#[test]
fn a_follower_ends_when_nobody_reads_it_and_when_the_session_is_removed() {
    let running = Test::new(&["new", "task"]).start();
    running.outbox(1);
    let finished = running.kill();
    let base = finished.base();
    let follow = || {
        let mut follower = agent(&base);
        follower.args(["show", "--follow", "--from", "1", "--json"]);
        follower.stdin(Stdio::null()).spawn().unwrap()
    };
    let mut unheard = follow();
    let mut left = follow();
    // It has begun when it has told something.
    let mut first = String::new();
    let mut reader = BufReader::new(unheard.stdout.take().unwrap());
    reader.read_line(&mut first).unwrap();
    assert!(first.contains("\"seq\":1"), "{first}");
    drop(reader);
    has_ended(&mut unheard);
    let mut in_words = agent(&base);
    in_words.args(["show", "--follow", "--from", "1"]);
    let mut in_words = in_words.stdin(Stdio::null()).spawn().unwrap();
    let mut reader = BufReader::new(in_words.stdout.take().unwrap());
    reader.read_line(&mut String::new()).unwrap();
    drop(reader);
    has_ended(&mut in_words);
    assert_eq!(in_words.wait().unwrap().code(), Some(0));
    let mut reader = BufReader::new(left.stdout.take().unwrap());
    reader.read_line(&mut first).unwrap();
    let removed = agent(&base)
        .args(["rm", "latest", "--yes"])
        .output()
        .unwrap();
    assert!(removed.status.success(), "{removed:?}");
    has_ended(&mut left);
    assert_eq!(left.wait().unwrap().code(), Some(1));
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_written_ends_the_program_that_prints_events() {
    let running = Test::new(&["new", "task"]).start();
    running.outbox(1);
    let finished = running.kill();
    let base = finished.base();
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    let follow = ["show", "--follow", "--from", "1", "--json"];
    let new = ["new", "--json", "another task"];
    for words in [&follow[..], &follow[..4], &new] {
        let mut child = agent(&base);
        child.args(words).stdin(Stdio::null()).stdout(full());
        let mut child = child.spawn().unwrap();
        has_ended(&mut child);
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(
            said.contains("could not write to standard output"),
            "{said}"
        );
        assert_eq!(ended.status.code(), Some(1), "{words:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_follower_ends_with_the_session_even_if_its_last_event_was_not_written() {
    let running = Test::new(&["new", "task"]).start();
    running.outbox(1);
    let finished = running.kill();
    let base = finished.base();
    let mut follower = agent(&base);
    follower.args(["show", "--follow", "--from", "1", "--json"]);
    let mut follower = follower.stdin(Stdio::null()).spawn().unwrap();
    let mut reader = BufReader::new(follower.stdout.take().unwrap());
    reader.read_line(&mut String::new()).unwrap();
    // A pipe in the place of the file: nothing can be written, and nobody is held up by it.
    let file = event_file(&base);
    fs::remove_file(&file).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&file).status();
    assert!(made.unwrap().success());
    let ended = agent(&base).args(["end"]).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    has_ended(&mut follower);
    assert_eq!(follower.wait().unwrap().code(), Some(0));
}

#[test]
fn a_check_between_two_rounds_is_told_to_followers() {
    let running = Test::new(&["new", "--check", "true", "task"]).start();
    running.outbox(1);
    let finished = running.kill();
    let finished = Test::after(finished, &["check"]).run().code(0);
    let kept = lines(&fs::read_to_string(event_file(&finished.base())).unwrap());
    let last = kept.last().unwrap();
    assert_eq!(last["event"], "check", "{kept:?}");
    assert_eq!(last["command"], "true");
}

#[test]
fn a_follower_sees_the_answer_to_the_models_question() {
    let running = Test::new(&["new", "task"]).start();
    let base = running.base();
    let reply = |name: &str, text: &str, round: u32| {
        let text = text.replace("{end}", &mark_of(&base, round));
        save_reply(&base.join("inbox").join(name), Save::Write, text.as_bytes());
    };
    reply(
        "one.md",
        "[ASK_USER]\nWhich colour?\n[/ASK_USER]\n{end}\n",
        1,
    );
    wait_until("the question", || {
        let kept = fs::read_to_string(event_file(&base)).unwrap();
        kept.contains("\"event\":\"question\"")
    });
    let said = agent(&base).args(["say", "deep blue"]).output().unwrap();
    assert!(said.status.success());
    reply("two.md", DONE, 2);
    let finished = running.wait().code(0);
    let shown = agent(&finished.base())
        .args(["show", "--follow", "--from", "1"])
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("answered: deep blue"), "{shown}");
}
