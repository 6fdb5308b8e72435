use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::injector::{self, Boundary, Fault, Place, Running, Way};
use crate::played::Played;
use crate::story::{self, Tree};

/// How often the person tries again where nothing moves.
const PATIENCE: usize = 4;
/// After how long without news the person presses Ctrl-C, and after how long they give up.
const LONG: Duration = Duration::from_secs(15);
const TOO_LONG: Duration = Duration::from_secs(45);

/// In which way the person works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// `agent step` for each reply, with an undo, a redo and a note between.
    Steps,
    /// `agent new` and `agent resume` wait for the replies, and ask before they run a command.
    Loop,
    /// `agent step` for each reply, with a check.
    Check,
}

impl Course {
    fn environment(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Steps => &[],
            Self::Loop => &[("Agent__Approval", "edits")],
            Self::Check => &[("Agent__CheckCommand", "echo checked >> checked.log")],
        }
    }
}

/// Where the person is in the story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Begin,
    First,
    /// A reply was not carried out as a whole: the model mends it.
    Mend,
    Second,
    Undo,
    Redo,
    UndoAgain,
    Say,
    /// The message after it has the note.
    Look,
    Last,
    Done,
}

/// Someone who plays the session with the real program.
pub struct Person {
    /// Removed when the person is dropped.
    _directory: tempfile::TempDir,
    pub place: Place,
    course: Course,
    phase: Phase,
    /// The last message that was read.
    read: u32,
    /// The messages that were answered.
    answered: BTreeSet<u32>,
    stuck: usize,
    is_mended: bool,
    pub was_hit: bool,
    pub troubles: Vec<String>,
    pub said: String,
}

impl Person {
    pub fn begin(course: Course) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let workspace = root.join("base/workspace");
        fs::create_dir_all(&workspace).unwrap();
        fs::create_dir(root.join("tmp")).unwrap();
        fs::write(root.join("base/appsettings.json"), "{\"Agent\":{}}").unwrap();
        for (name, text) in story::BEFORE {
            fs::write(workspace.join(name), text).unwrap();
        }
        if course == Course::Loop {
            // So many that they are looked at by several threads.
            for number in 0..20 {
                let directory = workspace.join(format!("many/{number:02}"));
                fs::create_dir_all(&directory).unwrap();
                fs::write(
                    directory.join("file.txt"),
                    format!("{number}\n").repeat(30_000),
                )
                .unwrap();
            }
        }
        let environment = course.environment();
        Self {
            _directory: directory,
            place: Place { root, environment },
            course,
            phase: Phase::Begin,
            read: 0,
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
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let copied = Command::new("cp")
            .arg("-a")
            .arg(self.place.root.join("."))
            .arg(&root)
            .status();
        assert!(copied.unwrap().success());
        let environment = self.place.environment;
        Self {
            _directory: directory,
            place: Place { root, environment },
            course: self.course,
            phase: self.phase,
            read: self.read,
            answered: self.answered.clone(),
            stuck: 0,
            is_mended: self.is_mended,
            was_hit: false,
            troubles: self.troubles.clone(),
            said: self.said.clone(),
        }
    }

    pub fn base(&self) -> PathBuf {
        self.place.base()
    }

    /// The workspace, but for what the check writes and for what nobody touches.
    pub fn tree(&self) -> Tree {
        let mut tree = story::read_tree(&self.base().join("workspace"));
        tree.remove("checked.log");
        if self.course == Course::Loop {
            tree.retain(|name, _| !name.starts_with("many/"));
        }
        tree
    }

    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// Does what comes next, and counts the boundaries of the program.
    pub fn count(&mut self) -> Vec<Boundary> {
        self.go_on(Way::Counting)
    }

    /// Does what comes next, perhaps disturbed.
    pub fn act(&mut self, fault: Option<&Fault>) {
        self.go_on(fault.map_or(Way::Plain, Way::Disturbed));
    }

    /// Works in a loop until it asks, and kills it then.
    pub fn play_until_asked(mut self) -> Self {
        let place = self.place.clone();
        injector::run(&place, &["new", "the task"], Way::Plain, |running| {
            while !running.is_over() {
                let said = self.place.said();
                if self.has_question() {
                    running.signal(libc::SIGKILL);
                } else if !self.look(&said) && !self.answer() {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        });
        self
    }

    /// Works until two replies are carried out.
    pub fn play_two_rounds(mut self) -> Self {
        while !matches!(self.phase, Phase::Undo | Phase::Done) {
            self.act(None);
        }
        self
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

    fn go_on(&mut self, way: Way<'_>) -> Vec<Boundary> {
        let before = (self.phase, self.latest().map(|(number, _)| number));
        let boundaries = match self.course {
            Course::Loop => self.converse(way),
            Course::Steps | Course::Check => self.take_a_step(way),
        };
        let after = (self.phase, self.latest().map(|(number, _)| number));
        self.stuck = if after == before { self.stuck + 1 } else { 0 };
        if self.stuck > PATIENCE {
            self.troubles
                .push(format!("lost: nothing moves in {:?}", self.phase));
            self.phase = Phase::Done;
        }
        boundaries
    }

    fn take_a_step(&mut self, way: Way<'_>) -> Vec<Boundary> {
        match self.phase {
            Phase::Undo | Phase::UndoAgain => {
                let ran = self.run(&story::UNDO, way);
                self.after_reversal(ran.status.success(), &ran.said);
                ran.boundaries
            }
            Phase::Redo => {
                let ran = self.run(&story::REDO, way);
                self.after_reversal(ran.status.success(), &ran.said);
                ran.boundaries
            }
            Phase::Say => {
                let ran = self.run(&story::SAY, way);
                self.after_note(ran.status.success());
                ran.boundaries
            }
            Phase::Done => Vec::new(),
            _ => {
                self.answer();
                let arguments: &[&str] = if session_file(&self.base()).is_none() {
                    &["new", "--no-wait", "the task"]
                } else {
                    &["step"]
                };
                let ran = self.run(arguments, way);
                self.look(&ran.said);
                self.end(ran.status.success(), &ran.said);
                ran.boundaries
            }
        }
    }

    /// Starts the loop and attends it until it ends, for whatever reason.
    fn converse(&mut self, way: Way<'_>) -> Vec<Boundary> {
        let arguments: &[&str] = if session_file(&self.base()).is_none() {
            &["new", "the task"]
        } else {
            &["resume"]
        };
        let place = self.place.clone();
        let ran = injector::run(&place, arguments, way, |running| self.attend(running));
        self.take_in(arguments, way, &ran);
        self.look(&ran.said);
        self.end(ran.status.success(), &ran.said);
        ran.boundaries
    }

    /// Does what a person does beside a loop that waits.
    fn attend(&mut self, running: &Running) {
        let (mut since, mut is_stopping) = (Instant::now(), false);
        while !running.is_over() {
            if self.attend_once() {
                since = Instant::now();
                continue;
            }
            std::thread::sleep(Duration::from_millis(5));
            if since.elapsed() > LONG && !is_stopping {
                is_stopping = true;
                running.signal(libc::SIGINT);
            }
            if since.elapsed() > TOO_LONG {
                self.troubles.push("lost: it does not end".to_owned());
                running.signal(libc::SIGKILL);
                return;
            }
        }
    }

    /// Tells whether something was done.
    fn attend_once(&mut self) -> bool {
        let before = self.phase;
        let said = self.place.said();
        if self.look(&said) || self.answer() {
            return true;
        }
        if self.has_question() {
            let (status, said) = injector::beside(&self.place, &["approve", "all"]);
            let _ = writeln!(self.said, "$ agent approve all -> {status}\n{said}");
            return true;
        }
        match self.phase {
            Phase::Undo => {
                let (status, said) = injector::beside(&self.place, &story::UNDO);
                let _ = writeln!(self.said, "$ agent undo -> {status}\n{said}");
                self.after_reversal(status.success(), &said);
                // The loop tells it; there is no need for more beside it.
                if self.phase == Phase::Redo {
                    self.phase = Phase::Say;
                }
            }
            Phase::Say => {
                let (status, said) = injector::beside(&self.place, &story::SAY);
                let _ = writeln!(self.said, "$ agent say -> {status}\n{said}");
                self.after_note(status.success());
            }
            _ => {}
        }
        self.phase != before
    }

    /// Whether something waits for a decision.
    pub fn has_question(&self) -> bool {
        let sessions = story::read_tree(&self.base().join("sessions"));
        let is_open = |name: &&String| {
            let decision = name.replace(".json", ".decision.json");
            let is_question = name.contains("/pending/") && name.strip_suffix(".json").is_some();
            is_question && !name.contains(".decision.") && !sessions.contains_key(&decision)
        };
        sessions.keys().any(|name| is_open(&name))
    }

    fn after_reversal(&mut self, is_success: bool, said: &str) {
        let (wanted, over, next) = match self.phase {
            Phase::Redo => (
                story::after_second(),
                "there is nothing to put again",
                Phase::UndoAgain,
            ),
            phase => (
                story::after_first(),
                "there is no round after round 1 to take back",
                if phase == Phase::Undo {
                    Phase::Redo
                } else {
                    Phase::Say
                },
            ),
        };
        if self.tree() == wanted && (is_success || said.contains(over)) {
            self.phase = next;
        }
    }

    fn after_note(&mut self, is_success: bool) {
        if is_success || self.is_noted() {
            self.phase = Phase::Look;
        }
    }

    /// Saves a reply to the latest message, unless that was done; tells whether it did.
    fn answer(&mut self) -> bool {
        let Some((number, text)) = self.latest() else {
            return false;
        };
        if number != self.read || self.answered.contains(&number) {
            return false;
        }
        let reply = match self.phase {
            Phase::First => story::FIRST.to_owned(),
            Phase::Mend => story::repair(&self.tree(), &story::after_first()),
            Phase::Second => story::SECOND.to_owned(),
            Phase::Look => "[LIST_FILES]\n".to_owned(),
            Phase::Last => story::LAST.to_owned(),
            _ => return false,
        };
        self.answered.insert(number);
        let id = text.lines().nth(1).unwrap()["Session: ".len()..].to_owned();
        let elsewhere = self.place.root.join("reply.txt");
        fs::write(&elsewhere, format!("{reply}[END {id}#{number}]\n")).unwrap();
        let inbox = self.base().join("inbox");
        fs::rename(elsewhere, inbox.join(format!("reply{number}.txt"))).unwrap();
        true
    }

    /// Reads the latest message, unless that was done; tells whether it did.
    fn look(&mut self, said: &str) -> bool {
        let Some((number, text)) = self.latest().filter(|(number, _)| *number > self.read) else {
            return false;
        };
        self.read = number;
        if self.phase == Phase::First {
            self.check_truth(&text);
        }
        let is_trouble = |line: &str| {
            let (number, rest) = line.split_once(". [").unwrap_or_default();
            number.parse::<u32>().is_ok() && !rest.starts_with("OK]")
        };
        let is_whole = !text.lines().any(is_trouble);
        let uncovered = "No checkpoint could be taken";
        let is_covered = !said.contains(uncovered) && !self.said.contains(uncovered);
        self.phase = match (self.phase, is_whole) {
            (Phase::Begin, _) => Phase::First,
            (Phase::First | Phase::Mend | Phase::Second, false) => {
                self.is_mended = true;
                Phase::Mend
            }
            (Phase::First, true) if self.course == Course::Check => Phase::Say,
            (Phase::First, true) => Phase::Second,
            // The person was told that this round cannot be taken back.
            (Phase::Second, true) if !is_covered => {
                self.is_mended = true;
                Phase::Mend
            }
            (Phase::Second, true) => Phase::Undo,
            (Phase::Look, _) => {
                self.check_note(&text);
                Phase::Last
            }
            // What was mended is not what undo is tried on.
            (Phase::Mend, true) => Phase::Say,
            (phase, _) => phase,
        };
        self.is_mended |= text.contains("[FAILED]") || text.contains("[SKIPPED]");
        true
    }

    /// Notices that the session has ended.
    fn end(&mut self, is_success: bool, said: &str) {
        let is_over = is_success || said.contains("there is no unfinished session");
        if self.phase == Phase::Last && self.session()["isComplete"] == true && is_over {
            self.phase = Phase::Done;
        }
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

    pub fn run(&mut self, arguments: &[&str], way: Way<'_>) -> injector::Ran {
        let ran = injector::run(&self.place, arguments, way, |_| {});
        self.take_in(arguments, way, &ran);
        ran
    }

    /// Remembers what a run said, and looks for what must never be.
    fn take_in(&mut self, arguments: &[&str], way: Way<'_>, ran: &injector::Ran) {
        if matches!(way, Way::Disturbed(_)) {
            self.was_hit = ran.is_met;
        }
        let (line, status) = (arguments.join(" "), ran.status);
        let _ = writeln!(self.said, "$ agent {line} -> {status}\n{}", ran.said);
        if matches!(ran.status.code(), Some(70 | 101)) {
            self.troubles.push("lost: a defect".to_owned());
        }
        let files = story::read_tree(&self.base().join("workspace"));
        let lines = |name: &str| files.get(name).map_or(0, |text| text.lines().count());
        if lines("log.txt") > 1 {
            self.troubles
                .push("repeated: the command ran twice".to_owned());
        }
        let begun = self.checks_begun();
        let is_repeated = begun.iter().any(|(round, times)| {
            let at_start = usize::from(*round == 1);
            *times > 1 + at_start
        });
        if is_repeated || lines("checked.log") > begun.values().sum() {
            self.troubles
                .push("repeated: the check ran twice for a round".to_owned());
        }
    }

    /// How often the journal says of each round that its check is run.
    fn checks_begun(&self) -> BTreeMap<u64, usize> {
        let mut begun = BTreeMap::new();
        let sessions = story::read_tree(&self.base().join("sessions"));
        let journals = sessions
            .iter()
            .filter(|(name, _)| name.strip_suffix(".jsonl").is_some());
        for line in journals.flat_map(|(_, text)| text.lines()) {
            let record: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            if let ("checking", Some(round)) = (
                record["event"].as_str().unwrap_or_default(),
                record["sequence"].as_u64(),
            ) {
                *begun.entry(round).or_default() += 1;
            }
        }
        begun
    }

    pub fn latest(&self) -> Option<(u32, String)> {
        outboxes(&self.base()).pop_last()
    }

    pub fn session(&self) -> serde_json::Value {
        let json = session_file(&self.base()).and_then(|path| fs::read(path).ok());
        let json = json.unwrap_or_default();
        serde_json::from_slice(&json).unwrap_or_default()
    }
}

/// `sessions/ab12cd34.json`, whatever the id is.
pub fn session_file(base: &Path) -> Option<PathBuf> {
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
