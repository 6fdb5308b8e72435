/// Beside a loop that waits.
mod attend;
/// The API of a model.
mod serve;
/// Statements that must be true at every moment.
mod truth;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::injector::{self, Boundary, Fault, Place, Way};
use crate::played::Played;
use crate::story::{self, Tree};

/// How often the person tries again where nothing moves.
const PATIENCE: usize = 4;
/// After how long without news the person gives up on a program.
const TOO_LONG: Duration = Duration::from_secs(45);

/// In which way the person works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// `agent step` for each reply, with an undo, a redo and a note between, beside a session that
    /// has ended.
    Steps,
    /// As `Steps`, with a task so long that records have several pages.
    Large,
    /// `agent new` and `agent resume` wait for the replies, and ask before they run a command.
    Loop,
    /// `agent step` for each reply, with a check.
    Check,
    /// `agent new --api` and `agent resume` ask an API, and nobody is there.
    Api,
}

impl Course {
    fn environment(self) -> Vec<(&'static str, String)> {
        let set: &[(&str, &str)] = match self {
            Self::Steps | Self::Large => &[],
            Self::Loop => &[("Agent__Approval", "edits")],
            Self::Check => &[("Agent__CheckCommand", "echo checked >> checked.log")],
            Self::Api => &[
                ("Agent__Api", "custom"),
                ("Agent__Model", "one"),
                ("AGENT_API_KEY", serve::KEY),
            ],
        };
        let owned = |(name, value): &(&'static str, &str)| (*name, (*value).to_owned());
        set.iter().map(owned).collect()
    }

    /// The workspace that a mended reply brings about.
    fn wanted(self) -> Tree {
        match self {
            // Nothing is undone there.
            Self::Api => story::after_second(),
            Self::Steps | Self::Large | Self::Loop | Self::Check => story::after_first(),
        }
    }
}

impl Course {
    fn task(self) -> String {
        match self {
            Self::Large => "a long task\n".repeat(1_000),
            _ => "the task".to_owned(),
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
    /// Another session, with all that is known of it: nothing touches it.
    other: Option<(String, Tree)>,
    /// The last message that was read.
    read: u32,
    /// The messages that were answered.
    answered: BTreeSet<u32>,
    /// The first request to an API for each round.
    asked: BTreeMap<u32, String>,
    /// How often the API was asked.
    requests: usize,
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
            let file = workspace.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        for (name, mode) in story::MODES {
            let mode = fs::Permissions::from_mode(*mode);
            fs::set_permissions(workspace.join(name), mode).unwrap();
        }
        let (link, target) = story::LINK;
        std::os::unix::fs::symlink(target, workspace.join(link)).unwrap();
        fs::create_dir(workspace.join(story::EMPTY)).unwrap();
        if course == Course::Loop {
            // So many that they are looked at by several threads.
            for number in 0..20 {
                let directory = workspace.join(format!("many/{number:02}"));
                fs::create_dir_all(&directory).unwrap();
                fs::write(
                    directory.join("file.txt"),
                    format!("{number}\n").repeat(5_000),
                )
                .unwrap();
            }
        }
        let environment = course.environment();
        let place = Place { root, environment };
        let other = (course == Course::Steps).then(|| begin_other(&place));
        Self {
            _directory: directory,
            place,
            course,
            other,
            phase: Phase::Begin,
            read: 0,
            answered: BTreeSet::new(),
            asked: BTreeMap::new(),
            requests: 0,
            stuck: 0,
            is_mended: false,
            was_hit: false,
            troubles: Vec::new(),
            said: String::new(),
        }
    }

    /// Copies the person and the whole directory.
    pub fn copy(&self) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let copied = Command::new("cp")
            .arg("-a")
            .arg(self.place.root.join("."))
            .arg(&root)
            .status();
        assert!(copied.unwrap().success());
        let environment = self.place.environment.clone();
        Self {
            _directory: directory,
            place: Place { root, environment },
            course: self.course,
            other: self.other.clone(),
            phase: self.phase,
            read: self.read,
            answered: self.answered.clone(),
            asked: self.asked.clone(),
            requests: self.requests,
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

    /// Works until two replies are carried out.
    pub fn play_two_rounds(mut self) -> Self {
        while !matches!(self.phase, Phase::Undo | Phase::Done) {
            self.act(None);
        }
        self
    }

    /// Works until the second reply is to be carried out, with a journal that has grown long and
    /// checkpoints that were last tidied days ago.
    pub fn play_until_tidy(mut self) -> Self {
        while self.phase != Phase::Second {
            self.act(None);
        }
        let journal = self.session_file().unwrap();
        let journal = journal.with_extension("journal.jsonl");
        let text = fs::read_to_string(&journal).unwrap();
        let round = text
            .lines()
            .rfind(|line| line.contains("\"round\""))
            .unwrap();
        let many = format!("{round}\n").repeat(600_000 / round.len());
        fs::write(&journal, format!("{text}{many}")).unwrap();
        let tidied = self.base().join("sessions/objects/tidied");
        let days = Duration::from_hours(72);
        let file = fs::File::create(tidied).unwrap();
        file.set_modified(SystemTime::now() - days).unwrap();
        self
    }

    /// Goes on to the end.
    pub fn play(mut self) -> Played {
        while !self.is_done() {
            self.act(None);
        }
        if let Some((id, then)) = &self.other
            && files_of(&self.place, id) != *then
        {
            self.troubles.push("lost: another session".to_owned());
        }
        if self.course == Course::Api {
            self.check_usage();
        }
        let workspace = self.base().join("workspace");
        let mut shape = story::read_shape(&workspace);
        shape.remove("checked.log");
        Played {
            workspace: self.tree(),
            shape,
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
            Course::Api => self.converse_by_api(way),
            Course::Steps | Course::Large | Course::Check => self.take_a_step(way),
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
                let task = self.course.task();
                let arguments: &[&str] = if self.session_file().is_none() {
                    &["new", "--no-wait", &task]
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

    fn after_reversal(&mut self, is_success: bool, said: &str) {
        let (wanted, over, next) = match self.phase {
            Phase::Redo => (
                story::after_second(),
                "there is nothing to redo",
                Phase::UndoAgain,
            ),
            phase => (
                story::after_first(),
                "there is no round after round 1 to undo",
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
        let Some(reply) = self.reply() else {
            return false;
        };
        self.answered.insert(number);
        let id = text.lines().nth(1).unwrap()["Session: ".len()..].to_owned();
        let elsewhere = self.place.root.join("reply.txt");
        fs::write(&elsewhere, format!("{reply}[END {id}#{number}]\n")).unwrap();
        let inbox = self.base().join("inbox");
        fs::rename(elsewhere, inbox.join(format!("reply{number}.txt"))).unwrap();
        true
    }

    /// The reply to the latest message, without its end mark.
    fn reply(&self) -> Option<String> {
        Some(match self.phase {
            Phase::First => story::FIRST.to_owned(),
            Phase::Mend => story::repair(&self.tree(), &self.course.wanted()),
            Phase::Second => story::SECOND.to_owned(),
            Phase::Look => "[LIST_FILES]\n".to_owned(),
            Phase::Last => story::LAST.to_owned(),
            _ => return None,
        })
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
            (Phase::Second | Phase::Mend, true) if self.course == Course::Api => Phase::Last,
            // The person was told that this round cannot be undone.
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

    /// The file of the session that is played, once it is there.
    pub fn session_file(&self) -> Option<PathBuf> {
        let is_other = |path: &PathBuf| {
            let other = self.other.as_ref().map(|(id, _)| id.as_str());
            path.file_stem().and_then(|stem| stem.to_str()) == other
        };
        session_files(&self.base()).find(|path| !is_other(path))
    }

    pub fn run(&mut self, arguments: &[&str], way: Way<'_>) -> injector::Ran {
        let ran = injector::run(&self.place, arguments, way, |_| {});
        self.take_in(arguments, way, &ran);
        ran
    }

    pub fn latest(&self) -> Option<(u32, String)> {
        outboxes(&self.base()).pop_last()
    }

    pub fn session(&self) -> serde_json::Value {
        let json = self.session_file().and_then(|path| fs::read(path).ok());
        let json = json.unwrap_or_default();
        serde_json::from_slice(&json).unwrap_or_default()
    }
}

/// A session that has ended, and all that is known of it.
fn begin_other(place: &Place) -> (String, Tree) {
    for arguments in [&["new", "--no-wait", "another task"][..], &["end"]] {
        let (status, said) = injector::beside(place, arguments);
        assert!(status.success(), "{said}");
    }
    let id = session_files(&place.base()).next().unwrap();
    let id = id.file_stem().unwrap().to_str().unwrap().to_owned();
    fs::remove_dir_all(place.base().join("outbox")).unwrap();
    let files = files_of(place, &id);
    (id, files)
}

/// The files of one session.
fn files_of(place: &Place, id: &str) -> Tree {
    let mut files = story::read_tree(&place.base().join("sessions"));
    files.retain(|name, _| name.starts_with(id));
    files
}

/// `sessions/ab12cd34.json`, whatever the ids are.
fn session_files(base: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(base.join("sessions")).into_iter().flatten();
    let files = entries.map(|entry| entry.unwrap().path());
    files.filter(|path| {
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
