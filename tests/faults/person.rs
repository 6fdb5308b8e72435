use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::injector::{self, Boundary, Effect, Fault};
use crate::story::{self, Tree};

/// How often the person tries again where nothing moves.
const PATIENCE: usize = 4;

/// Where the person is in the story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Begin,
    First,
    /// The first reply was not carried out as a whole: the model mends it.
    Mend,
    Second,
    Undo,
    Say,
    /// The message after it has the note.
    Look,
    Last,
    Done,
}

/// Someone who plays the session with the real program.
pub struct Person {
    root: tempfile::TempDir,
    phase: Phase,
    /// The messages that were answered.
    answered: BTreeSet<u32>,
    stuck: usize,
    is_mended: bool,
    was_hit: bool,
    troubles: Vec<String>,
    said: String,
}

/// What a session came to.
pub struct Played {
    pub troubles: Vec<String>,
    pub said: String,
    pub was_hit: bool,
    is_mended: bool,
    workspace: Tree,
    session: serde_json::Value,
    outboxes: BTreeMap<u32, String>,
}

enum Way<'a> {
    Plain,
    Counting(&'a mut Vec<Boundary>),
    Disturbed(&'a Fault),
}

impl Person {
    pub fn begin() -> Self {
        let root = tempfile::tempdir().unwrap();
        let workspace = root.path().join("base/workspace");
        fs::create_dir_all(&workspace).unwrap();
        fs::write(root.path().join("base/appsettings.json"), "{\"Agent\":{}}").unwrap();
        for (name, text) in story::BEFORE {
            fs::write(workspace.join(name), text).unwrap();
        }
        Self {
            root,
            phase: Phase::Begin,
            answered: BTreeSet::new(),
            stuck: 0,
            is_mended: false,
            was_hit: false,
            troubles: Vec::new(),
            said: String::new(),
        }
    }

    /// The same person in a copy of all that there is.
    pub fn copy(&self) -> Self {
        let root = tempfile::tempdir().unwrap();
        let copied = Command::new("cp")
            .arg("-a")
            .arg(self.root.path().join("."))
            .arg(root.path())
            .status();
        assert!(copied.unwrap().success());
        Self {
            root,
            phase: self.phase,
            answered: self.answered.clone(),
            stuck: 0,
            is_mended: false,
            was_hit: false,
            troubles: self.troubles.clone(),
            said: self.said.clone(),
        }
    }

    pub fn base(&self) -> PathBuf {
        self.root.path().join("base")
    }

    fn tree(&self) -> Tree {
        story::read_tree(&self.base().join("workspace"))
    }

    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// Does what comes next, and counts the boundaries of the program.
    pub fn count(&mut self) -> Vec<Boundary> {
        let mut boundaries = Vec::new();
        self.go_on(Way::Counting(&mut boundaries));
        boundaries
    }

    /// Does what comes next, perhaps disturbed.
    pub fn act(&mut self, fault: Option<&Fault>) {
        self.go_on(fault.map_or(Way::Plain, Way::Disturbed));
    }

    /// Goes on to the end.
    pub fn play(mut self) -> Played {
        while !self.is_done() {
            self.act(None);
        }
        Played {
            workspace: self.tree(),
            session: self.session(),
            outboxes: outboxes(&self.base()),
            troubles: self.troubles,
            said: self.said,
            was_hit: self.was_hit,
            is_mended: self.is_mended,
        }
    }

    fn go_on(&mut self, way: Way<'_>) {
        let before = (self.phase, self.latest().map(|(number, _)| number));
        match self.phase {
            Phase::Begin => self.start(way),
            Phase::First => self.answer(story::FIRST, way),
            Phase::Mend => {
                let reply = story::repair(&self.tree(), &story::after_first());
                self.answer(&reply, way);
            }
            Phase::Second => self.answer(story::SECOND, way),
            Phase::Undo => {
                let output = self.run(&["undo", "--to", "1", "--yes"], way);
                let said = String::from_utf8_lossy(&output.stderr);
                let is_done = said.contains("there is no round after round 1 to take back");
                if !output.status.success() {
                    // What is told of it after a second try is not word for word the same.
                    self.is_mended = true;
                }
                if self.tree() == story::after_first() && (output.status.success() || is_done) {
                    self.phase = Phase::Say;
                }
            }
            Phase::Say => {
                let output = self.run(&["say", "well done"], way);
                if output.status.success() || self.is_noted() {
                    self.phase = Phase::Look;
                }
            }
            Phase::Look => self.answer("[LIST_FILES]\n", way),
            Phase::Last => self.answer(story::LAST, way),
            Phase::Done => {}
        }
        let after = (self.phase, self.latest().map(|(number, _)| number));
        self.stuck = if after == before { self.stuck + 1 } else { 0 };
        if self.stuck > PATIENCE {
            self.troubles
                .push(format!("lost: nothing moves in {:?}", self.phase));
            self.phase = Phase::Done;
        }
    }

    fn start(&mut self, way: Way<'_>) {
        let has_session = session_file(&self.base()).is_some();
        if has_session {
            self.run(&["step"], way);
        } else {
            self.run(&["new", "--no-wait", "the task"], way);
        }
        if self.latest().is_some() {
            self.phase = Phase::First;
        }
    }

    /// Saves a reply to the latest message, unless that was done, and has it carried out.
    fn answer(&mut self, reply: &str, way: Way<'_>) {
        let (number, text) = self.latest().unwrap();
        if self.answered.insert(number) {
            let id = text.lines().nth(1).unwrap()["Session: ".len()..].to_owned();
            let elsewhere = self.base().with_file_name("reply.txt");
            fs::write(&elsewhere, format!("{reply}[END {id}#{number}]\n")).unwrap();
            fs::rename(
                elsewhere,
                self.base().join(format!("inbox/reply{number}.txt")),
            )
            .unwrap();
        }
        let output = self.run(&["step"], way);
        if self.phase == Phase::Last {
            let is_ended =
                String::from_utf8_lossy(&output.stderr).contains("there is no unfinished session");
            if self.session()["isComplete"] == true && (output.status.success() || is_ended) {
                self.phase = Phase::Done;
            }
            return;
        }
        let Some((_, text)) = self.latest().filter(|(now, _)| *now > number) else {
            return;
        };
        if self.phase == Phase::First {
            self.check_truth(&text);
        }
        let is_whole = !text.contains("[FAILED]")
            && !text.contains("[SKIPPED]")
            && !text.contains("[REFUSED]");
        self.phase = match (self.phase, is_whole) {
            (Phase::First | Phase::Mend | Phase::Second, false) => {
                self.is_mended = true;
                Phase::Mend
            }
            (Phase::First, true) => Phase::Second,
            // The person was told that this round cannot be taken back.
            (Phase::Second, true) if self.said.contains("No checkpoint could be taken") => {
                self.is_mended = true;
                Phase::Mend
            }
            (Phase::Second, true) => Phase::Undo,
            (Phase::Look, true) => {
                self.check_note(&text);
                Phase::Last
            }
            // What was mended is not what undo is tried on.
            (Phase::Mend, true) => Phase::Say,
            (phase, _) => phase,
        };
    }

    /// What is told to be done is done, what is told to be not done is not, and nothing is half.
    fn check_truth(&mut self, outbox: &str) {
        let tree = self.tree();
        for step in story::STEPS {
            let prefix = format!("{}. [", step.number);
            let Some(line) = outbox.lines().find(|line| line.starts_with(&prefix)) else {
                self.troubles
                    .push(format!("lost: nothing is told of step {}", step.number));
                continue;
            };
            let is_told = line.starts_with(&format!("{prefix}OK]"));
            let done = step
                .with
                .iter()
                .filter(|(name, text)| tree.get(*name).map(String::as_str) == *text)
                .count();
            let is_unknown = step.is_command && line.contains("[FAILED]");
            let is_true = if is_told {
                done == step.with.len()
            } else {
                done == 0 || is_unknown
            };
            if !is_true {
                self.troubles
                    .push(format!("lost: this is not true: {line}"));
            }
        }
    }

    /// Whether the note lies where it is taken from.
    fn is_noted(&self) -> bool {
        let sessions = story::read_tree(&self.base().join("sessions"));
        let is_note = |name: &String| name.contains("/notes/") && name.ends_with("txt");
        sessions
            .iter()
            .any(|(name, text)| is_note(name) && text == "well done")
    }

    fn check_note(&mut self, outbox: &str) {
        let is_told = |words: &str| outbox.contains(words);
        let is_undone = !self.said.contains("$ agent undo") || is_told("took back round 2");
        if !is_told("well done") || !is_undone {
            self.troubles.push("lost: a note".to_owned());
        }
    }

    fn run(&mut self, arguments: &[&str], way: Way<'_>) -> Output {
        let base = self.base();
        let output = match way {
            Way::Plain => injector::plain(&base, arguments),
            Way::Counting(boundaries) => {
                let (output, found) = injector::count(&base, arguments);
                *boundaries = found;
                output
            }
            Way::Disturbed(fault) => {
                let (output, was_hit) = injector::disturbed(&base, arguments, fault);
                self.was_hit = was_hit;
                output
            }
        };
        let said = String::from_utf8_lossy(&output.stderr);
        let (line, status) = (arguments.join(" "), output.status);
        let _ = writeln!(self.said, "$ agent {line} -> {status}\n{said}");
        if matches!(output.status.code(), Some(70 | 101)) {
            self.troubles.push("lost: a defect".to_owned());
        }
        let log = self.tree().get("log.txt").cloned().unwrap_or_default();
        if log.lines().count() > 1 {
            self.troubles
                .push("repeated: the command ran twice".to_owned());
        }
        output
    }

    pub fn latest(&self) -> Option<(u32, String)> {
        outboxes(&self.base()).pop_last()
    }

    fn session(&self) -> serde_json::Value {
        let json = session_file(&self.base()).and_then(|path| fs::read(path).ok());
        let json = json.unwrap_or_default();
        serde_json::from_slice(&json).unwrap_or_default()
    }
}

/// `sessions/ab12cd34.json`, whatever the id is.
fn session_file(base: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(base.join("sessions")).ok()?;
    let mut files = entries.map(|entry| entry.unwrap().path());
    files.find(|path| {
        let stem = path.file_stem().unwrap_or_default();
        stem.len() == 8
            && path
                .extension()
                .is_some_and(|extension| extension == "json")
    })
}

fn outboxes(base: &Path) -> BTreeMap<u32, String> {
    let entries = fs::read_dir(base.join("outbox")).into_iter().flatten();
    let number = |path: &Path| -> Option<u32> {
        let name = path.file_name()?.to_str()?;
        name.strip_suffix(".txt")?
            .split_once("_seq")?
            .1
            .parse()
            .ok()
    };
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter_map(|path| Some((number(&path)?, fs::read_to_string(&path).ok()?)))
        .collect()
}

impl Played {
    /// In what it differs from an undisturbed session.
    pub fn compare(&self, undisturbed: &Self, effect: Effect) -> Vec<String> {
        let mut found = self.troubles.clone();
        if self.workspace != undisturbed.workspace {
            found.push(format!("lost: the workspace is {:#?}", self.workspace));
        }
        if self.session["isComplete"] != true || self.session["summary"] != "fine" {
            found.push(format!("lost: the session is {:#}", self.session));
        }
        if effect == Effect::Kill && !self.is_mended {
            for (number, text) in &undisturbed.outboxes {
                let ours = self.outboxes.get(number).map(|text| normal(text));
                if ours.as_deref() != Some(normal(text).as_str()) {
                    found.push(format!(
                        "lost: message {number} is {}",
                        ours.unwrap_or_default()
                    ));
                }
            }
            let session = |played: &Self| {
                let mut session = played.session.clone();
                for result in session["lastResults"].as_array_mut().into_iter().flatten() {
                    result["millis"].take();
                }
                for key in [
                    "sessionId",
                    "createdAt",
                    "updatedAt",
                    "replies",
                    "checkpoints",
                ] {
                    session[key].take();
                }
                normal(&session.to_string())
            };
            if session(self) != session(undisturbed) {
                found.push(format!("lost: the session is {:#}", self.session));
            }
        }
        found
    }
}

/// A text without what differs between any two sessions: the id, and how long things took.
fn normal(text: &str) -> String {
    let id = text
        .lines()
        .nth(1)
        .and_then(|line| line.strip_prefix("Session: "));
    let text = id.map_or(text.to_owned(), |id| text.replace(id, "<id>"));
    let mut words = Vec::new();
    for line in text.lines() {
        match line.split_once("exit code 0 in ") {
            Some((before, after)) => {
                let rest = after.split_once('s').map_or("", |(_, rest)| rest);
                words.push(format!("{before}exit code 0 in <time>{rest}"));
            }
            None => words.push(line.to_owned()),
        }
    }
    words.join("\n")
}
