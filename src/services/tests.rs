//! Services and the engine behind them, without a terminal: a person that only collects.

use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use super::say::SaidOutcome;
use super::*;
use crate::agent::Ending;
use crate::approve::tests::Absent;
use crate::approve::{Answer, Attending, Input, Pending, Question, Verdict};
use crate::fs::{Durability, write_atomic};
use crate::interrupt::Interrupt;
use crate::mailbox::Candidate;
use crate::policy::Decision;
use crate::protocol::{Event, EventSink, QuestionKind, SessionId, Step, StepResult};
use crate::services::decide::WhichQuestion;
use crate::session::{Session, Store};
use crate::settings::{Base, OwnSettings};
#[cfg(unix)]
use agent_files::platform::files::listed_by_this_thread;

/// A base directory with one session, and a call from there.
struct Scene {
    directory: tempfile::TempDir,
    person: Arc<Absent>,
    caller: Caller,
    session: Session,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().join("base");
        std::fs::create_dir_all(base.join("workspace")).unwrap();
        Base::create(&base).unwrap();
        let person = Arc::new(Absent::with(Input::Refuse));
        let caller = Caller {
            here: base.clone(),
            base: Some(base.clone()),
            flags: GivenFlags {
                given: vec![("--sandbox", "off".to_owned())],
            },
            own_settings: OwnSettings::default(),
            trust: Trust::kept_in(directory.path().join("state")),
            person: person.clone(),
            interrupt: Interrupt::default(),
        };
        let store = Store::open(base.join("sessions")).unwrap();
        let id = SessionId::parse("ab12cd34").unwrap();
        let session = Session::new(id, "task".to_owned(), 5, crate::session::now());
        store.save(&session).unwrap();
        Self {
            directory,
            person,
            caller,
            session,
        }
    }

    fn base(&self) -> std::path::PathBuf {
        self.directory.path().join("base")
    }

    fn pending(&self) -> Pending {
        Pending::of(&self.base().join("sessions/ab12cd34"))
    }

    fn names(&self) -> Vec<String> {
        let events = self.person.heard.lock().unwrap();
        let name = |event: &Event| {
            let json = serde_json::to_value(event).unwrap();
            json["event"].as_str().unwrap().to_owned()
        };
        events.iter().map(name).collect()
    }
}

fn reply(path: &Path, text: &str) -> Candidate {
    write_atomic(path, text.as_bytes(), Durability::Atomic).unwrap();
    Candidate::at(path.to_owned()).unwrap()
}

#[test]
fn a_session_is_found_listed_and_removed() {
    let scene = Scene::new();
    let files = open::files(&scene.caller).unwrap();
    let listed = list::list(&files).unwrap();
    assert_eq!(listed.sessions.len(), 1);
    assert!(!listed.sessions[0].is_running, "no loop runs");
    let standing = status::status(&scene.caller, Some("ab12")).unwrap();
    assert_eq!(standing.session.session_id, scene.session.session_id);
    assert!(standing.posted().is_none() && standing.questions.is_empty());
    remove::remove(&scene.caller, &files, &scene.session.session_id).unwrap();
    assert!(list::list(&files).unwrap().sessions.is_empty());
    assert!(status::status(&scene.caller, None).is_err());
}

#[test]
fn the_first_answer_to_the_model_counts_and_the_second_becomes_a_note() {
    let scene = Scene::new();
    let files = open::files(&scene.caller).unwrap();
    let mut session = scene.session.clone();
    let mut say = |text: &str| say::say(&files, &mut session, text).unwrap();
    let note = |is_late| SaidOutcome::Note {
        open: None,
        is_late,
    };
    assert_eq!(say("before"), note(false));
    let question = Question::of_model(1, "Which colour?");
    scene.pending().put(&question).unwrap();
    let answer = SaidOutcome::Answer {
        question: "Which colour?".to_owned(),
    };
    assert_eq!(say("blue"), answer);
    assert_eq!(say("red"), note(true));
    let text = "blue".to_owned();
    let decided = scene.pending().decision_on(&question);
    assert_eq!(decided, Some(Verdict::Say { text }));
    let notes = files.store.notes(&session.session_id).all();
    let notes: Vec<&str> = notes.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(notes, ["before", "red"]);
    // The loop told the answer and took the question back before the third one spoke.
    scene.pending().take_back(&question).unwrap();
    let mut told = scene.session.clone();
    told.questions = vec![crate::session::ModelQuestion {
        question: "Which colour?".to_owned(),
        answer: Some("blue".to_owned()),
    }];
    files.store.save(&told).unwrap();
    assert_eq!(say::say(&files, &mut told, "green").unwrap(), note(true));
}

#[test]
fn all_decides_steps_and_nothing_else() {
    let scene = Scene::new();
    let files = open::files(&scene.caller).unwrap();
    let pending = scene.pending();
    let (one, two) = (
        Question::about_network(1, 1, "curl a"),
        Question::about_network(2, 1, "curl b"),
    );
    pending.put(&one).unwrap();
    pending.put(&two).unwrap();
    let undo = pending
        .pose(Question::about_undo("round 1", "change a"))
        .unwrap();
    let id = &scene.session.session_id;
    let decide = |which: &[WhichQuestion]| decide::decide(&files, id, which, &Verdict::Yes);
    assert!(decide(&[]).is_err(), "two steps wait");
    assert_eq!(decide(&[WhichQuestion::All]).unwrap(), [one, two]);
    assert!(decide(&[WhichQuestion::All]).is_err(), "undo must be named");
    let named = WhichQuestion::Key("undo".to_owned());
    let decided = decide(std::slice::from_ref(&named)).unwrap();
    assert_eq!(decided[0].kind, QuestionKind::Undo);
    let error = decide(&[named]).unwrap_err().to_string();
    assert!(error.contains("decided already"), "{error}");
    drop(undo);
}

#[test]
fn a_whole_session_runs_without_a_terminal() {
    let scene = Scene::new();
    let (opened, session) = open::session(&scene.caller, find::find, None).unwrap();
    let agent = opened.agent;
    let inbox = scene.base().join("inbox");
    let text = "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n[DONE]\nmade\n[/DONE]\n[END ab12cd34#1]\n";
    agent.tell_session(&session, false);
    let ending = agent
        .run_once(session, |_| Ok(Some(reply(&inbox.join("one.md"), text))))
        .unwrap();
    assert_eq!(ending, Ending::Done);
    let names = scene.names();
    for name in ["session", "outbox", "reply", "step", "done"] {
        assert!(names.iter().any(|told| told == name), "{name}: {names:?}");
    }
    assert_eq!(
        std::fs::read(scene.base().join("workspace/a.txt")).unwrap(),
        b"a\n"
    );
    let mut changed = diff::changed_round(&scene.caller, None, None).unwrap();
    assert_eq!(changed.round, 1);
    assert!(changed.text_without(|_| false).unwrap().contains("+a"));
    let wish = crate::agent::undo::Wish::UndoLatest;
    let planned = undo::plan(&scene.caller, None, wish).unwrap();
    assert_eq!(planned.is_agreed("shown").unwrap(), None, "nobody is asked");
    planned.carry_out(crate::checkpoint::Force::Skip).unwrap();
    assert!(!scene.base().join("workspace/a.txt").exists());
    let folder = scene.base().join("sessions/ab12cd34");
    let kept = crate::session::EventReader::starting_at(&folder, 1).read();
    let is_reversed = |event: &Event| matches!(event, Event::Reversed { .. });
    assert!(kept.iter().any(|envelope| is_reversed(&envelope.event)));
}

#[test]
fn a_session_permits_no_more_than_it_began_with_unless_a_flag_says_so() {
    let mut scene = Scene::new();
    let store = Store::open(scene.base().join("sessions")).unwrap();
    let mut begun = scene.session.clone();
    begun.permissions.set("Network", "off");
    begun.permissions.set("Approval", "edits");
    begun.permissions.set("Grants", "git-write");
    begun.permissions.set("Deny", "rm");
    store.save(&begun).unwrap();
    let file = scene.base().join("appsettings.json");
    let json = br#"{"Agent": {"Network": "on", "Approval": "ask", "Grants": "git-write,network", "Deny": "ls"}}"#;
    write_atomic(&file, json, Durability::Atomic).unwrap();
    scene.caller.trust.remember(&file, json).unwrap();
    let (opened, _) = open::session(&scene.caller, find::find, None).unwrap();
    let authorizer = &opened.agent.manner.authorizer;
    assert_eq!(authorizer.network, crate::policy::Network::Off);
    assert_eq!(
        authorizer.policy.approval,
        crate::policy::Approval::Ask,
        "stricter by now"
    );
    assert_eq!(authorizer.policy.grants, [crate::policy::Grant::GitWrite]);
    let denied: Vec<String> = (authorizer.policy.person.deny.iter())
        .chain(&authorizer.policy.project.deny)
        .map(crate::policy::Rule::text)
        .collect();
    assert!(
        denied.contains(&"rm".to_owned()) && denied.contains(&"ls".to_owned()),
        "{denied:?}"
    );
    assert_eq!(
        opened.held_back,
        ["--grant 'git-write,network'", "--network on"]
    );
    scene
        .caller
        .flags
        .given
        .push(("--network", "on".to_owned()));
    let (opened, _) = open::session(&scene.caller, find::find, None).unwrap();
    assert_eq!(
        opened.agent.manner.authorizer.network,
        crate::policy::Network::On
    );
    assert_eq!(opened.held_back, ["--grant 'git-write,network'"]);
}

#[test]
fn a_done_that_does_not_count_is_told_once() {
    let scene = Scene::new();
    let (opened, session) = open::session(&scene.caller, find::find, None).unwrap();
    let inbox = scene.base().join("inbox");
    let text = "[DELETE_FILE path=\"missing.txt\"]\n[DONE]\nmade\n[/DONE]\n[END ab12cd34#1]\n";
    let find = |_: &Session| Ok(Some(reply(&inbox.join("one.md"), text)));
    let ending = opened.agent.run_once(session, find).unwrap();
    assert_eq!(ending, Ending::Stepped);
    let events = scene.person.heard.lock().unwrap();
    let told = events.iter().filter_map(|event| match event {
        Event::Step { result, .. } if result.command == "DONE" => Some(result.outcome.status),
        _ => None,
    });
    let told: Vec<_> = told.collect();
    assert_eq!(told, [crate::protocol::Status::Refused]);
}

/// Carries out one reply and tells how often the workspace was walked for it.
fn walks_of_round(scene: &Scene, round: u32, commands: &str) -> usize {
    let opened = after_round(scene, round, commands);
    opened.agent.workspace.walks()
}

fn after_round(scene: &Scene, round: u32, commands: &str) -> open::OpenedBase {
    let (opened, session) = open::session(&scene.caller, find::find, None).unwrap();
    assert_eq!(session.sequence_number, round);
    let file = scene.base().join(format!("inbox/{round}.md"));
    let text = format!("{commands}[END ab12cd34#{round}]\n");
    let find = |_: &Session| Ok(Some(reply(&file, &text)));
    let ending = opened.agent.run_once(session, find).unwrap();
    assert_eq!(ending, Ending::Stepped);
    opened
}

#[test]
fn a_round_walks_once_and_twice_with_a_command() {
    let scene = Scene::with_page();
    let create = |name: &str| format!("[CREATE_FILE path=\"{name}\"]\na\n[/CREATE_FILE]\n");
    let run = "[RUN_COMMAND]\ntouch c.txt\n[/RUN_COMMAND]\n";
    // The first two messages, and the first checkpoint: nothing was known before.
    assert_eq!(walks_of_round(&scene, 1, &create("a.txt")), 3);
    // The message lists the files; the checkpoints look only at what the step names.
    assert_eq!(walks_of_round(&scene, 2, &create("b.txt")), 1);
    // Before the command and after it; the message is made from the second walk.
    assert_eq!(walks_of_round(&scene, 3, run), 2);
    assert!(scene.base().join("workspace/c.txt").exists());
    // Also where what changed may be the output of a tool.
    assert_eq!(walks_of_round(&scene, 4, &create("build/x.txt")), 1);
    let (opened, session) = open::session(&scene.caller, find::find, None).unwrap();
    let posted = opened.agent.mailbox.posted(&session.session_id, 4).unwrap();
    let message = std::fs::read_to_string(&posted.pastes[0]).unwrap();
    assert!(message.contains("c.txt"), "{message}");
}

/// The walks of the sandbox count too, and so do directories that git ignores. There are so few that
/// all of them are listed on this thread.
#[test]
#[cfg(unix)]
fn a_round_with_a_command_lists_only_directories_twice_that_it_changed_or_no_survey_saw() {
    use std::os::unix::fs::MetadataExt as _;

    let scene = Scene::with_page();
    let workspace = scene.base().join("workspace");
    let directories = [
        "",
        "src",
        "src/deep",
        "docs",
        "target",
        "target/deps",
        ".git",
    ];
    for directory in directories {
        std::fs::create_dir_all(workspace.join(directory)).unwrap();
    }
    let create = "[CREATE_FILE path=\".gitignore\"]\ntarget\n[/CREATE_FILE]\n";
    let run = "[RUN_COMMAND]\ntouch src/deep/b.txt\n[/RUN_COMMAND]\n";
    after_round(&scene, 1, create);
    // What has just changed may change again without a new time, so it is listed once more.
    let changed = workspace.metadata().unwrap().ctime();
    let is_settled = || crate::session::now().as_second() > changed + 3;
    while !is_settled() {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let before = listed_by_this_thread();
    let opened = after_round(&scene, 2, run);
    let twice = ["src/deep", "target", "target/deps", ".git"];
    let count = directories.len() + twice.len();
    assert_eq!(listed_by_this_thread() - before, count);
    let posted = opened.agent.mailbox.posted(&scene.session.session_id, 3);
    let message = std::fs::read_to_string(&posted.unwrap().pastes[0]).unwrap();
    assert!(message.contains("src/deep/b.txt"), "{message}");
}

/// A front end of its own kind: events go into a channel, and every question is answered with yes.
#[derive(Debug)]
struct Page(Mutex<mpsc::Sender<Event>>);

impl EventSink for Page {
    fn emit(&self, event: Event) {
        let _ = self.0.lock().unwrap().send(event);
    }
}

impl Person for Page {
    fn input(&self) -> Input {
        Input::Wait
    }

    fn is_interactive(&self) -> bool {
        true
    }

    fn ask(&self, _: &Question, _: &Interrupt) -> Answer {
        Answer::Text("y".to_owned())
    }

    fn attend(
        &self,
        pending: &Pending,
        questions: &[Question],
        _: &Interrupt,
    ) -> Option<Attending> {
        for question in questions {
            pending.decide(question, &Verdict::Yes).unwrap();
        }
        None
    }
}

/// Waits for an event, and fails rather than wait for ever.
fn wait_for<T>(events: &mpsc::Receiver<Event>, wanted: impl Fn(&Event) -> Option<T>) -> T {
    loop {
        let event = events.recv_timeout(Duration::from_mins(1)).unwrap();
        if let Some(found) = wanted(&event) {
            return found;
        }
    }
}

fn session_begun(event: &Event) -> Option<SessionId> {
    match event {
        Event::Session { id, .. } => Some(id.clone()),
        _ => None,
    }
}

fn message_written(event: &Event) -> Option<u32> {
    match event {
        Event::Outbox { sequence, .. } => Some(*sequence),
        _ => None,
    }
}

impl Scene {
    /// A scene whose person says yes to every command.
    fn with_page() -> Self {
        let mut scene = Self::new();
        (scene.caller, _) = scene.page(&[]);
        scene
    }

    /// The caller of a page, and what the page hears.
    fn page(&self, flags: &[(&'static str, &str)]) -> (Caller, mpsc::Receiver<Event>) {
        let (sender, events) = mpsc::channel();
        let mut caller = self.caller.clone();
        caller.person = Arc::new(Page(Mutex::new(sender)));
        caller.interrupt = Interrupt::default();
        let flags = flags
            .iter()
            .map(|(flag, value)| (*flag, (*value).to_owned()));
        caller.flags.given.extend(flags);
        (caller, events)
    }
}

#[test]
fn a_front_end_without_a_terminal_begins_answers_stops_and_resumes() {
    let scene = Scene::new();
    let (caller, events) = scene.page(&[("--approval", "ask")]);
    let id = std::thread::scope(|scope| {
        let context = run::ContextRequest::default();
        let held = run::begin(&caller, " make a file ", &context).unwrap();
        let other = run::resume(&scene.caller, None).unwrap_err().to_string();
        assert!(other.contains("another `agent` works on this"), "{other}");
        let running = scope.spawn(move || held.run().unwrap());
        let id = wait_for(&events, session_begun);
        assert_eq!(wait_for(&events, message_written), 1);
        let text = format!("[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n[END {id}#1]\n");
        reply::deliver(&caller, text.as_bytes(), reply::RoundNumber::MustMatch).unwrap();
        let asked = |event: &Event| matches!(event, Event::Approval { .. }).then_some(());
        wait_for(&events, asked);
        assert_eq!(wait_for(&events, message_written), 2);
        caller.interrupt.raise();
        assert_eq!(running.join().unwrap(), Ending::Interrupted);
        id
    });
    assert!(scene.base().join("workspace/a.txt").exists());
    let (caller, events) = scene.page(&[]);
    std::thread::scope(|scope| {
        let held = run::resume(&caller, Some(id.as_str())).unwrap();
        assert_eq!(held.others().len(), 1, "the one of the scene");
        scope.spawn(move || assert_eq!(held.run().unwrap(), Ending::Done));
        wait_for(&events, session_begun);
        let text = format!("[DONE]\nmade\n[/DONE]\n[END {id}#2]\n");
        reply::deliver(&caller, text.as_bytes(), reply::RoundNumber::MustMatch).unwrap();
        wait_for(&events, |event| {
            matches!(event, Event::Done { .. }).then_some(())
        });
    });
    let error = run::resume(&caller, Some(id.as_str())).unwrap_err();
    assert!(error.to_string().contains("has ended"), "{error}");
    let held = run::reopen(&caller, Some(id.as_str())).unwrap();
    let context = run::ContextRequest::default();
    let held = held
        .instruct(&caller, "now the tests", &context)
        .unwrap()
        .unwrap();
    assert_eq!(held.write_message().unwrap(), (Ending::Stepped, None));
    let (_, known) = held.write_message().unwrap();
    assert!(known.is_some(), "it is there already");
    drop(held);
    for was_open in [true, false] {
        let ended = run::EndedSession {
            id: id.clone(),
            was_open,
            awaits_results: false,
        };
        assert_eq!(run::end(&caller, Some(id.as_str())).unwrap(), ended);
    }
}

#[test]
fn one_reply_is_a_step_of_a_session_or_applied_without_one() {
    let scene = Scene::new();
    let held = run::for_one_reply(&scene.caller, None).unwrap();
    let text = "[CREATE_FILE path=\"a.txt\"]\na\n[/CREATE_FILE]\n[END ab12cd34#1]\n";
    let ending = held.step_with(|| Ok(text.as_bytes().to_vec())).unwrap();
    assert_eq!(ending, Ending::Stepped);
    let held = run::for_one_reply(&scene.caller, None).unwrap();
    let error = held.step().unwrap_err().to_string();
    assert!(error.contains("there is no reply in"), "{error}");
    let file = scene.base().join("workspace/a.txt");
    assert_eq!(std::fs::read(&file).unwrap(), b"a\n");
    let text = b"[DELETE_FILE path=\"a.txt\"]\n";
    let prepared = apply::prepare(&scene.caller, text).unwrap();
    let mut told = Vec::new();
    let mut tell = |_: &Step, result: Option<&StepResult>| {
        told.extend(result.map(|result| result.command.clone()));
    };
    let tried = prepared.apply(apply::ApplyMode::DryRun, &mut tell).unwrap();
    assert!(tried.is_complete && tried.differences.len() == 1 && file.exists());
    let applied = prepared.apply(apply::ApplyMode::Real, &mut tell).unwrap();
    assert!(applied.is_complete && !file.exists());
    assert_eq!(told, ["DELETE_FILE", "DELETE_FILE"]);
    let error = apply::prepare(&scene.caller, b"nothing").unwrap_err();
    assert!(error.to_string().contains("asks for nothing"), "{error}");
}

#[test]
fn rules_and_templates_are_data() {
    let scene = Scene::new();
    let rules = policy::rules(&scene.caller).unwrap();
    assert!(!rules.table.is_empty() && rules.always.is_empty() && !rules.is_sandboxed);
    let rulings = policy::explain(&scene.caller, "rm -rf /").unwrap();
    let decisive = policy::decisive(rulings);
    let decisions: Vec<Decision> = decisive.iter().map(|one| one.decision).collect();
    assert!(decisions.contains(&Decision::Deny), "{decisions:?}");
    assert!(!decisions.contains(&Decision::Allow), "{decisions:?}");
    let error = policy::forget(&scene.caller, &[policy::WhichRule::Number(1)]).unwrap_err();
    assert!(error.to_string().contains("there is no rule 1"), "{error}");
    let folder = scene.base().join(".agent/prompts");
    std::fs::create_dir_all(&folder).unwrap();
    write_atomic(
        &folder.join("review.md"),
        b"Read {{args}}.",
        Durability::Atomic,
    )
    .unwrap();
    let listed = prompts::list(&scene.caller).unwrap();
    let review = |(prompt, is_trusted): &(prompts::PromptTemplate, bool)| {
        prompt.name == "review" && !is_trusted
    };
    assert!(listed.prompts.iter().any(review));
    let error = prompts::task(&scene.caller, "/review src").unwrap_err();
    assert!(
        error.to_string().contains("you have not seen it"),
        "{error}"
    );
    let (caller, _events) = scene.page(&[]);
    let task = prompts::task(&caller, "/review src").unwrap();
    assert_eq!(task, "Read src.");
    assert_eq!(prompts::task(&caller, "fix it").unwrap(), "fix it");
}

#[test]
fn a_finding_that_is_not_fine_says_what_to_do() {
    let scene = Scene::new();
    let findings = doctor::examine(&scene.caller, &crate::courier::NoTerminal);
    assert!(findings.len() > 5);
    for finding in &findings {
        let is_fine = finding.health == doctor::Health::Ok;
        assert_eq!(is_fine, finding.remedy.is_empty(), "{finding:?}");
    }
}
