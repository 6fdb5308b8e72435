//! Questions and decisions as files: `pending/<key>.json` and `pending/<key>.decision.json`.
//!
//! The key is the number of the step, or the name of the kind where there is no step; the round stands
//! in the file. A question that only the asking process can act on goes with that process: a lock on
//! `pending/<key>.lock` tells that it is still waited for. A decision belongs to the question
//! that lies beside it: if the step or what it would do has changed, it counts no more. Ours say which
//! question that is, so that none counts for another that took its place meanwhile. The first
//! decision that is written wins, on the terminal of the loop or anywhere else.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Question, QuestionOrigin, Verdict};
use crate::error::{Error, Result};
use crate::fs::{Durability, own_directory, read_plain, write_atomic, write_new};
use crate::known_keys::{self, KnownKeys};
use crate::protocol::{Event, EventSink, QuestionKind, QuestionLife};

/// The largest question that is read, in bytes: a reply and what it would change.
const MAX_QUESTION: u64 = 256 << 20;

/// The largest decision that is read, in bytes.
const MAX_DECISION: u64 = 1024 * 1024;

/// A decision, as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct KeptDecision {
    #[serde(flatten)]
    verdict: Verdict,
    /// The identity of the question that the person saw; nothing if they wrote the file themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    about: Option<String>,
}

/// The questions of one session that wait for the person.
#[derive(Debug, Clone)]
pub struct Pending {
    folder: PathBuf,
    directory: PathBuf,
}

impl Pending {
    /// Those in the folder of a session; nothing is made yet.
    pub fn of(folder: &Path) -> Self {
        Self {
            directory: folder.join("pending"),
            folder: folder.to_owned(),
        }
    }

    /// Where they lie; made if it is missing, so that it can be watched.
    pub fn directory(&self) -> Result<&Path> {
        own_directory(&self.folder)?;
        own_directory(&self.directory)?;
        Ok(&self.directory)
    }

    /// Puts a question, keeping the decision if this very question was put before. One that another
    /// version put in other words is put anew.
    pub fn put(&self, question: &Question) -> Result<()> {
        let decision = self.decision(&question.key());
        if !self.is_put(question) {
            // Empty directories of these names are in the way of the files; anything else stays.
            let place = self.question(&question.key());
            let _ = (fs::remove_dir(&place), fs::remove_dir(&decision));
            remove(&decision)?;
            let path = self.directory()?.join(format!("{}.json", question.key()));
            let mut json = crate::json::to_lines(question)
                .map_err(|cause| Error::file("write", &path, cause))?;
            json.push('\n');
            write_atomic(&path, json.as_bytes(), Durability::Synced)?;
        }
        // Somebody may have decided the one before it in between. Who comes later sees that it is gone.
        let kept = read::<KeptDecision>(&decision, MAX_DECISION);
        let about = kept.and_then(|kept| kept.about);
        match about {
            Some(about) if about != question.identity() => remove(&decision),
            _ => Ok(()),
        }
    }

    /// The question about a call as it was put when the call came before; else under a number that no
    /// other question has.
    pub(super) fn of_call(&self, mut question: Question) -> Question {
        question.origin = QuestionOrigin::Call;
        let mut put = self.all();
        if let Some(same) = put.iter().position(|put| put.is_same_call(&question)) {
            return put.swap_remove(same);
        }
        while put.iter().any(|put| put.key() == question.key()) {
            question.number += 1;
        }
        question
    }

    /// The questions about calls that nobody waits with any more, each with what was decided.
    pub fn of_calls(&self) -> Vec<(Question, Option<Verdict>)> {
        let mut questions = self.all();
        questions.retain(|question| question.origin == QuestionOrigin::Call);
        let with_verdict = questions.into_iter().map(|question| {
            let verdict = self.decision_on(&question);
            (question, verdict)
        });
        with_verdict.collect()
    }

    /// Puts a question that goes with this process: it is taken back when the returned value is
    /// dropped, and nobody sees it any more once the process is gone.
    pub fn pose(&self, mut question: Question) -> Result<Posed> {
        self.directory()?;
        let kind = question.name.clone();
        // Another process may ask the same kind of question.
        for number in 1.. {
            if number > 1 {
                question.name = format!("{kind}-{number}");
            }
            let lock = self.open_lock(&question.name)?;
            let is_held = matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
            // The process that held it may have removed the file meanwhile: nobody would find our lock.
            if is_held || !is_at(&lock, &self.lock(&question.name)) {
                continue;
            }
            remove(&self.decision(&question.name))?;
            self.put(&question)?;
            return Ok(Posed {
                question,
                pending: self.clone(),
                _lock: lock,
            });
        }
        unreachable!("there are more numbers than processes")
    }

    /// Every question that is put, decided or not, in the order of the steps.
    pub fn all(&self) -> Vec<Question> {
        let mut questions: Vec<Question> = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .filter_map(|entry| {
                let name = entry.ok()?.file_name();
                let key = name.to_str()?.strip_suffix(".json")?;
                let question = read::<Question>(&self.question(key), MAX_QUESTION)?;
                let is_its_own = question.key() == key;
                (is_its_own && self.is_waited_for(&question)).then_some(question)
            })
            .collect();
        questions.sort_by_cached_key(|question| (question.number, question.key()));
        questions
    }

    /// Returns false if the process that asked is gone, and nobody else can act on the answer.
    fn is_waited_for(&self, question: &Question) -> bool {
        if question.kind.life() != QuestionLife::WhileAsked {
            return true;
        }
        let lock = OpenOptions::new()
            .write(true)
            .open(self.lock(&question.name));
        lock.is_ok_and(|lock| lock.try_lock_shared().is_err())
    }

    fn open_lock(&self, name: &str) -> Result<File> {
        let path = self.lock(name);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        crate::platform::ours(&mut options);
        options
            .open(&path)
            .map_err(|cause| Error::file("open", &path, cause))
    }

    /// The questions that nobody has decided yet.
    pub fn open_questions(&self) -> Vec<Question> {
        let mut questions = self.all();
        questions.retain(|question| self.decision_on(question).is_none());
        questions
    }

    /// Decides a question that the person saw; tells whether this was the first decision on it, and
    /// came before the question was taken back. Refuses a script with the key of an API in it.
    pub fn decide(&self, question: &Question, verdict: &Verdict) -> Result<bool> {
        let verdict = self.without_keys(question, verdict.clone());
        let verdict = verdict.ok_or_else(|| known_keys::refused("the script"))?;
        Ok(self.write_first(question, &verdict)? && self.is_in_time(question))
    }

    /// The decision without keys of APIs in the person's words; nothing for a script that has one, which
    /// would be another script without it.
    fn without_keys(&self, question: &Question, mut verdict: Verdict) -> Option<Verdict> {
        let is_script = matches!(verdict, Verdict::Edit { .. }) && question.is_about_script();
        let (Verdict::No { reason: Some(text) }
        | Verdict::Edit { script: text }
        | Verdict::Say { text }) = &mut verdict
        else {
            return Some(verdict);
        };
        let scrubbed = KnownKeys::of_session(&self.folder).scrub(text);
        if is_script && scrubbed != *text {
            return None;
        }
        *text = scrubbed;
        Some(verdict)
    }

    fn write_first(&self, question: &Question, verdict: &Verdict) -> Result<bool> {
        let path = self
            .directory()?
            .join(format!("{}.decision.json", question.key()));
        let json = decision_json(&path, question, verdict)?;
        if write_new(&path, json.as_bytes())? {
            return Ok(true);
        }
        if self.decision_on(question).is_some() {
            return Ok(false);
        }
        // What lies there is no decision, so nobody was first; but two may have found that at once.
        let lock = self.open_lock("decisions")?;
        // Without locks on this file system, the later one counts.
        let _ = lock.lock();
        if self.decision_on(question).is_some() {
            return Ok(false);
        }
        write_atomic(&path, json.as_bytes(), Durability::Synced)?;
        Ok(true)
    }

    /// Decides the question of this number as it lies there.
    #[cfg(test)]
    pub(crate) fn decide_put(&self, number: u32, verdict: &Verdict) -> Result<bool> {
        let put = read(&self.question(&number.to_string()), MAX_QUESTION).expect("it was put");
        self.decide(&put, verdict)
    }

    /// The decision on this very question, if it was put and decided: one that answers it, and that is
    /// about no other.
    pub fn decision_on(&self, question: &Question) -> Option<Verdict> {
        let key = question.key();
        let KeptDecision { verdict, about } = read(&self.decision(&key), MAX_DECISION)?;
        let is_about_it = about.is_none_or(|about| about == question.identity());
        // What lies there may be another question by now, or have been changed by others.
        let counts = is_about_it && self.is_put(question) && question.is_answered_by(&verdict);
        // Anybody may have written the file.
        self.without_keys(question, verdict).filter(|_| counts)
    }

    /// Returns true if this very question lies there, with all that is shown.
    fn is_put(&self, question: &Question) -> bool {
        let put = read::<Question>(&self.question(&question.key()), MAX_QUESTION);
        put.as_ref() == Some(question)
    }

    /// Returns false if our decision came after the question was taken back, so that nobody reads it;
    /// it is removed then. With one that was read, both go, the question first.
    fn is_in_time(&self, question: &Question) -> bool {
        const TRIES: u32 = 20;
        const PAUSE: std::time::Duration = std::time::Duration::from_millis(10);
        let key = question.key();
        for _ in 0..TRIES {
            if self.is_put(question) || !self.decision(&key).exists() {
                return true;
            }
            // Another question took its place.
            if self.question(&key).exists() {
                break;
            }
            // Another process may be between the two removals.
            std::thread::sleep(PAUSE);
        }
        let kept = read::<KeptDecision>(&self.decision(&key), MAX_DECISION);
        if kept.is_some_and(|kept| kept.about == Some(question.identity())) {
            let _ = remove(&self.decision(&key));
        }
        false
    }

    /// The person's answer to a question of the model, if it waits to be told.
    pub fn answer_to(&self, question: &str) -> Option<String> {
        let mut put = self.all().into_iter();
        let put = put.find(|put| put.kind == QuestionKind::Model && put.shown == question)?;
        self.decision_on(&put).map(Verdict::in_words)
    }

    /// Returns true if the decision file exists and is no decision on this question.
    ///
    /// An empty one may be about to be written.
    pub fn is_unfit(&self, question: &Question) -> bool {
        let is_there = fs::metadata(self.decision(&question.key()))
            .is_ok_and(|found| found.len() > 0 || !found.is_file());
        is_there && self.decision_on(question).is_none()
    }

    /// Forgets a question and what was decided about it.
    pub fn take_back(&self, question: &Question) -> Result<()> {
        // The question first: who decides it now finds that it is gone. What they decided is not
        // taken for a decision on the next one of that name, which removes it.
        let key = question.key();
        remove(&self.question(&key))?;
        remove(&self.decision(&key))
    }

    /// Forgets all questions about the steps of replies and their decisions; tells what is no file
    /// and stays.
    pub fn clear(&self, told: &dyn EventSink) {
        self.forget(told, |_| true);
    }

    /// Forgets all questions about calls and their decisions, and the model's own.
    pub fn clear_calls(&self) -> Result<()> {
        for question in self.all() {
            if question.origin == QuestionOrigin::Call || question.kind == QuestionKind::Model {
                self.take_back(&question)?;
            }
        }
        Ok(())
    }

    /// Forgets every decision; returns true if there was one.
    pub fn forget_decisions(&self) -> Result<bool> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(cause) => return Err(Error::file("read", &self.directory, cause)),
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let is_decision = |path: &PathBuf| path.to_string_lossy().ends_with(".decision.json");
        let decisions: Vec<PathBuf> = paths.filter(is_decision).collect();
        decisions.iter().try_for_each(|path| remove(path))?;
        Ok(!decisions.is_empty())
    }

    /// Forgets what belongs to other questions than these, as [`Pending::clear`] does.
    pub(super) fn keep(&self, told: &dyn EventSink, numbers: &[u32]) {
        self.forget(told, |number| !numbers.contains(&number));
    }

    /// An entry that cannot be removed ends nothing: it decides about no other question.
    fn forget(&self, told: &dyn EventSink, is_over: impl Fn(u32) -> bool) {
        let entries = fs::read_dir(&self.directory).into_iter().flatten();
        let remove = |path: &Path| {
            if let Err(error) = remove(path) {
                let hint = "move it out of the records of the session";
                told.emit(Event::from(&error.hint(hint)));
            }
        };
        let mut decisions = Vec::new();
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            let Some(name) = name.to_str().and_then(|name| name.strip_suffix(".json")) else {
                continue;
            };
            let number = name.trim_end_matches(".decision").parse().ok();
            if !number.is_some_and(&is_over) {
                continue;
            }
            let key = name.trim_end_matches(".decision");
            let put = read::<Question>(&self.question(key), MAX_QUESTION);
            if put.is_some_and(|put| put.origin == QuestionOrigin::Call) {
                continue;
            }
            // The questions first, as in `take_back`.
            if name.ends_with(".decision") {
                decisions.push(entry.path());
            } else {
                remove(&entry.path());
            }
        }
        for path in &decisions {
            remove(path);
        }
    }

    fn question(&self, key: &str) -> PathBuf {
        self.directory.join(format!("{key}.json"))
    }

    fn lock(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.lock"))
    }

    fn decision(&self, key: &str) -> PathBuf {
        self.directory.join(format!("{key}.decision.json"))
    }
}

/// A question that this process waits with; it is taken back when this is dropped.
#[derive(Debug)]
pub struct Posed {
    /// The question, under the name that it got.
    pub question: Question,
    pending: Pending,
    _lock: File,
}

impl Drop for Posed {
    fn drop(&mut self) {
        // What stays behind is seen by nobody: the lock goes with this value.
        let _ = self.pending.take_back(&self.question);
        // While it is held: who opened this file meanwhile finds that it is gone.
        let _ = remove(&self.pending.lock(&self.question.name));
    }
}

/// Returns true if this path still leads to this file, where the system can tell.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(ours), Ok(found)) = (file.metadata(), fs::metadata(path)) else {
        return false;
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        (ours.dev(), ours.ino()) == (found.dev(), found.ino())
    }
    #[cfg(not(unix))]
    {
        ours.created().ok() == found.created().ok()
    }
}

/// A decision on this question, as it is kept in this file.
fn decision_json(path: &Path, question: &Question, verdict: &Verdict) -> Result<String> {
    let decision = KeptDecision {
        verdict: verdict.clone(),
        about: Some(question.identity()),
    };
    let json = crate::json::to_line(&decision);
    Ok(json.map_err(|cause| Error::file("write", path, cause))? + "\n")
}

fn read<T: DeserializeOwned>(path: &Path, max_bytes: u64) -> Option<T> {
    serde_json::from_slice(&read_plain(path, max_bytes).ok()?).ok()
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(Error::file("remove", path, cause))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Input;
    use super::super::tests::{Absent, question};
    use super::*;

    fn pending() -> (tempfile::TempDir, Pending) {
        let directory = tempfile::tempdir().unwrap();
        let pending = Pending::of(directory.path());
        (directory, pending)
    }

    fn no(reason: &str) -> Verdict {
        Verdict::No {
            reason: Some(reason.to_owned()),
        }
    }

    #[test]
    fn questions_come_in_the_order_of_the_steps() {
        let (_directory, pending) = pending();
        assert!(pending.all().is_empty());
        for number in [10, 2, 1] {
            pending.put(&question(number, "ls")).unwrap();
        }
        let numbers: Vec<u32> = pending.all().iter().map(|found| found.number).collect();
        assert_eq!(numbers, [1, 2, 10]);
        pending.clear(&Absent::with(Input::Wait));
        assert!(pending.all().is_empty());
    }

    #[test]
    fn a_directory_among_the_questions_is_passed_over_and_told() {
        let (_directory, pending) = pending();
        pending.put(&question(2, "ls")).unwrap();
        for path in [pending.question("11"), pending.decision("12")] {
            fs::create_dir(path).unwrap();
        }
        let nobody = Absent::with(Input::Wait);
        pending.clear(&nobody);
        assert!(pending.all().is_empty());
        assert_eq!(nobody.heard.lock().unwrap().len(), 2);
        // In the place of a question an empty one hinders nobody.
        for number in [11, 12] {
            pending.put(&question(number, "ls")).unwrap();
            assert!(pending.decide_put(number, &Verdict::Yes).unwrap());
        }
    }

    /// Written between the removal of the decision and the new question, by who saw the old one.
    #[test]
    fn a_decision_on_the_question_before_does_not_lie_in_the_way() {
        let (_directory, pending) = pending();
        let asked = question(1, "ls");
        pending.put(&asked).unwrap();
        let path = pending.decision("1");
        let late = decision_json(&path, &question(1, "rm x"), &Verdict::Yes).unwrap();
        write_atomic(&path, late.as_bytes(), Durability::Synced).unwrap();
        assert!(pending.is_unfit(&asked));
        pending.put(&asked).unwrap();
        assert!(!path.exists());
        assert!(pending.decide(&asked, &Verdict::Yes).unwrap());
        pending.put(&asked).unwrap();
        assert_eq!(pending.decision_on(&asked), Some(Verdict::Yes));
    }

    #[test]
    fn the_first_decision_wins() {
        let (_directory, pending) = pending();
        pending.put(&question(1, "ls")).unwrap();
        assert_eq!(pending.open_questions().len(), 1);
        assert!(pending.decide(&question(1, "ls"), &no("first")).unwrap());
        assert!(!pending.decide(&question(1, "ls"), &Verdict::Yes).unwrap());
        assert_eq!(pending.decision_on(&question(1, "ls")), Some(no("first")));
        assert!(pending.open_questions().is_empty());
    }

    #[test]
    fn one_of_many_deciders_wins() {
        let (_directory, pending) = pending();
        pending.put(&question(1, "ls")).unwrap();
        let winners: usize = std::thread::scope(|scope| {
            let decide = |number: usize| {
                let pending = &pending;
                scope.spawn(move || {
                    pending
                        .decide(&question(1, "ls"), &no(&number.to_string()))
                        .unwrap()
                })
            };
            let threads: Vec<_> = (0..8).map(decide).collect();
            threads
                .into_iter()
                .map(|thread| usize::from(thread.join().unwrap()))
                .sum()
        });
        assert_eq!(winners, 1);
    }

    #[test]
    fn a_decision_survives_the_same_question_and_no_other() {
        let (_directory, pending) = pending();
        pending.put(&question(1, "ls")).unwrap();
        pending.decide(&question(1, "ls"), &Verdict::Yes).unwrap();
        pending.put(&question(1, "ls")).unwrap();
        assert_eq!(pending.decision_on(&question(1, "ls")), Some(Verdict::Yes));
        let other = question(1, "rm -r .");
        pending.put(&other).unwrap();
        assert_eq!(pending.decision_on(&other), None);
    }

    #[test]
    fn a_file_that_is_no_decision_decides_nothing_and_blocks_nobody() {
        let (_directory, pending) = pending();
        pending.put(&question(1, "ls")).unwrap();
        let path = pending.decision("1");
        write_atomic(&path, b"{\"decision\": \"ye", Durability::Atomic).unwrap();
        assert_eq!(pending.decision_on(&question(1, "ls")), None);
        assert!(pending.is_unfit(&question(1, "ls")));
        assert!(pending.decide(&question(1, "ls"), &Verdict::Skip).unwrap());
        assert_eq!(pending.decision_on(&question(1, "ls")), Some(Verdict::Skip));
    }

    /// Many decide at once, where a file lies that is no decision.
    #[test]
    fn only_one_is_first_also_where_no_decision_lies() {
        let (_directory, pending) = pending();
        pending.put(&question(1, "ls")).unwrap();
        for _ in 0..20 {
            let bad = br#"{"decision": "yes", "about": "0000"}"#;
            write_atomic(&pending.decision("1"), bad, Durability::Atomic).unwrap();
            let first: usize = std::thread::scope(|scope| {
                let decide = || pending.decide(&question(1, "ls"), &Verdict::Skip).unwrap();
                let deciding: Vec<_> = (0..4).map(|_| scope.spawn(decide)).collect();
                let decided = deciding.into_iter().map(|one| one.join().unwrap());
                decided.filter(|is_first| *is_first).count()
            });
            assert_eq!(first, 1);
        }
    }

    /// A person decided on what they saw, while another question took its place.
    #[test]
    fn a_decision_on_one_question_is_none_on_another() {
        let (_directory, pending) = pending();
        let (shown, other) = (question(1, "ls"), question(1, "rm -r ."));
        pending.put(&shown).unwrap();
        pending.put(&other).unwrap();
        assert!(!pending.decide(&shown, &Verdict::Yes).unwrap());
        assert!(!pending.decision("1").exists());
        assert_eq!(pending.decision_on(&other), None);
        assert!(pending.decide(&other, &Verdict::Skip).unwrap());
        assert_eq!(pending.decision_on(&other), Some(Verdict::Skip));
        // One that the person wrote by hand is about what lies beside it.
        let by_hand = b"{\"decision\": \"yes\"}";
        write_atomic(&pending.decision("1"), by_hand, Durability::Atomic).unwrap();
        assert_eq!(pending.decision_on(&other), Some(Verdict::Yes));
    }

    #[test]
    fn a_question_goes_with_the_process_that_asks() {
        let (_directory, pending) = pending();
        let undo = || Question::about_undo("round 2", "change a.txt");
        let first = pending.pose(undo()).unwrap();
        let second = pending.pose(undo()).unwrap();
        assert_eq!(
            [first.question.key(), second.question.key()],
            ["undo", "undo-2"]
        );
        assert_eq!(pending.open_questions().len(), 2);
        assert!(pending.decide(&second.question, &Verdict::Yes).unwrap());
        assert!(!pending.decide(&second.question, &no("late")).unwrap());
        assert_eq!(pending.decision_on(&first.question), None);
        pending.clear(&Absent::with(Input::Wait));
        assert_eq!(
            pending.all().len(),
            2,
            "a round that ends does not take them back"
        );
        // A process that was killed leaves the file, and its lock is gone.
        let json = fs::read(pending.question("undo")).unwrap();
        drop((first, second));
        let left = fs::read_dir(pending.directory().unwrap()).unwrap();
        assert_eq!(left.count(), 0, "nothing stays behind, not even a lock");
        write_atomic(&pending.question("undo"), &json, Durability::Atomic).unwrap();
        assert!(pending.all().is_empty());
        // What was decided about it decides nothing about the next one.
        write_atomic(
            &pending.decision("undo"),
            b"{\"decision\": \"yes\"}",
            Durability::Atomic,
        )
        .unwrap();
        let again = pending.pose(undo()).unwrap();
        assert_eq!(pending.decision_on(&again.question), None);
    }

    #[test]
    fn no_decision_has_a_key_of_the_session_in_it() {
        let (directory, pending) = pending();
        let text = "sk-pending-0123456789".to_owned();
        let key = crate::api::ApiKey::new(&text).unwrap();
        known_keys::keep_fingerprint(directory.path(), &key).unwrap();
        let asked = question(1, "ls");
        pending.put(&asked).unwrap();
        let edit = Verdict::Edit {
            script: format!("echo {text}"),
        };
        let refused = pending.decide(&asked, &edit).unwrap_err();
        assert!(refused.to_string().contains("the script has the key"));
        let json = serde_json::to_vec(&edit).unwrap();
        write_atomic(&pending.decision("1"), &json, Durability::Atomic).unwrap();
        assert!(pending.is_unfit(&asked));
        assert!(pending.decide(&asked, &no(&text)).unwrap());
        assert_eq!(pending.decision_on(&asked), Some(no("<API key>")));
        let kept = fs::read_to_string(pending.decision("1")).unwrap();
        assert!(!kept.contains(&text), "{kept}");
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_the_place_of_a_decision_holds_nobody_up() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let (_directory, pending) = pending();
        pending.put(&question(1, "ls")).unwrap();
        let mode = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, pending.decision("1"), FileType::Fifo, mode, 0).unwrap();
        assert_eq!(pending.decision_on(&question(1, "ls")), None);
        assert!(pending.is_unfit(&question(1, "ls")));
        assert!(pending.decide(&question(1, "ls"), &Verdict::Yes).unwrap());
        assert_eq!(pending.decision_on(&question(1, "ls")), Some(Verdict::Yes));
    }

    #[test]
    fn a_decision_that_comes_after_the_question_was_taken_back_is_told_so() {
        let (_directory, pending) = pending();
        let asked = question(1, "ls");
        pending.put(&asked).unwrap();
        pending.take_back(&asked).unwrap();
        assert!(!pending.decide(&asked, &Verdict::Yes).unwrap());
        assert!(!pending.decision("1").exists());
    }

    /// Somebody changed what `agent status` and the page show.
    #[test]
    fn a_decision_on_a_question_that_was_changed_counts_for_nothing() {
        let (_directory, pending) = pending();
        let asked = question(1, "ls -la");
        let no_reason = Question {
            why: String::new(),
            ..asked.clone()
        };
        for changed in [question(1, "echo harmless"), no_reason] {
            pending.put(&asked).unwrap();
            let json = serde_json::to_vec(&changed).unwrap();
            write_atomic(&pending.question("1"), &json, Durability::Atomic).unwrap();
            assert!(pending.decide(&changed, &Verdict::Yes).unwrap());
            assert_eq!(pending.decision_on(&asked), None);
            assert!(pending.is_unfit(&asked));
            // Also if it was changed back after they saw it.
            let json = serde_json::to_vec(&asked).unwrap();
            write_atomic(&pending.question("1"), &json, Durability::Atomic).unwrap();
            assert_eq!(pending.decision_on(&asked), None);
            assert!(pending.decide(&asked, &Verdict::Skip).unwrap());
            pending.take_back(&asked).unwrap();
        }
    }

    #[test]
    fn a_decision_that_does_not_fit_the_question_counts_for_nothing() {
        let (_directory, pending) = pending();
        let file = Question {
            command: "CREATE_FILE".to_owned(),
            ..question(1, "+x")
        };
        let model = Question::of_model(1, "Which colour?");
        let undo = Question::about_undo("round 2", "change a.txt");
        let edit = r#"{"decision": "edit", "script": "touch x"}"#;
        let nothing = r#"{"decision": "edit", "script": " "}"#;
        for (question, decision, counts) in [
            (&file, edit, false),
            (&file, r#"{"decision": "say", "text": "x"}"#, false),
            (&file, r#"{"decision": "always"}"#, false),
            (&question(1, "ls"), nothing, false),
            (&question(1, "ls"), edit, true),
            (&model, r#"{"decision": "stop"}"#, false),
            (&model, r#"{"decision": "yes"}"#, false),
            (&model, r#"{"decision": "say", "text": "blue"}"#, true),
            (&undo, r#"{"decision": "all"}"#, false),
        ] {
            pending.put(question).unwrap();
            let path = pending.decision(&question.key());
            write_atomic(&path, decision.as_bytes(), Durability::Atomic).unwrap();
            assert_eq!(
                pending.decision_on(question).is_some(),
                counts,
                "{decision}"
            );
            assert_eq!(pending.is_unfit(question), !counts, "{decision}");
            pending.take_back(question).unwrap();
        }
    }
}
