//! Lasting decisions, in files that belong to the person and not to the project.
//!
//! A file maps the path of a base directory to what holds there. It can be read and changed by hand.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::fs::{Durability, create_directory, write_atomic};
use crate::protocol::SessionId;

/// A file of the person with a value for each base directory.
#[derive(Debug, Clone)]
pub(super) struct PersonFile<T> {
    /// `None` where the person has no home: then nothing is kept.
    directory: Option<PathBuf>,
    name: &'static str,
    value: PhantomData<T>,
}

impl<T: Default + Serialize + DeserializeOwned> PersonFile<T> {
    /// `<name>.json` in this directory, which need not exist yet.
    pub(super) fn new(directory: Option<&Path>, name: &'static str) -> Self {
        Self {
            directory: directory.map(Path::to_owned),
            name,
            value: PhantomData,
        }
    }

    /// The path of the file, if there is a place for it.
    pub(super) fn path(&self) -> Option<PathBuf> {
        Some(self.directory.as_ref()?.join(format!("{}.json", self.name)))
    }

    /// The value of a base directory.
    pub(super) fn load(&self, base: &Path) -> Result<T> {
        let Some(path) = self.path() else {
            return Ok(T::default());
        };
        Ok(read(&path, self.name)?
            .remove(&key(base))
            .unwrap_or_default())
    }

    /// Changes the values of all base directories.
    pub(super) fn change(&self, change: impl FnOnce(&mut BTreeMap<String, T>)) -> Result<()> {
        let (Some(directory), Some(file)) = (&self.directory, self.path()) else {
            return Err(
                Error::mendable(format!("there is no place to keep your {}", self.name))
                    .hint("set `HOME` or `XDG_STATE_HOME` to a directory of yours"),
            );
        };
        create_directory(directory)?;
        let path = directory.join(format!("{}.lock", self.name));
        // Two loops may learn something at the same time.
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|cause| Error::file("open", &path, cause))?;
        lock.lock()
            .map_err(|cause| Error::file("lock", &path, cause))?;
        let mut all = read(&file, self.name)?;
        change(&mut all);
        let mut json =
            crate::json::to_lines(&all).map_err(|cause| Error::file("write", &file, cause))?;
        json.push('\n');
        write_atomic(&file, json.as_bytes(), Durability::Synced)
    }
}

fn read<T: DeserializeOwned>(file: &Path, name: &str) -> Result<BTreeMap<String, T>> {
    let json = match fs::read(file) {
        Ok(json) => json,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(cause) => return Err(Error::file("read", file, cause)),
    };
    serde_json::from_slice(&json).map_err(|cause| {
        Error::file(&format!("read your {name} in"), file, cause)
            .hint("fix the file, or remove it to be asked again")
    })
}

/// The name of a base directory in such a file.
pub(super) fn key(base: &Path) -> String {
    let real = crate::fs::canonical(base);
    real.as_deref().unwrap_or(base).display().to_string()
}

/// The person's answers about values that may be no secrets, by the marks of the values; true for
/// those that are sent.
type AnswersByQuestion = BTreeMap<String, bool>;

/// The answers about values that may be no secrets, in `secrets.json`.
#[derive(Debug, Clone)]
pub struct KeptAnswers {
    file: PersonFile<AnswersByQuestion>,
}

impl KeptAnswers {
    /// Kept in this directory, which need not exist yet; see `settings::Trust::directory`.
    pub fn kept_in(directory: Option<&Path>) -> Self {
        Self {
            file: PersonFile::new(directory, "secrets"),
        }
    }

    /// The answers for a base directory.
    pub fn load(&self, base: &Path) -> Result<BTreeMap<String, bool>> {
        self.file.load(base)
    }

    /// Keeps an answer about these values.
    pub fn add(&self, base: &Path, marks: Vec<String>, is_sent: bool) -> Result<()> {
        let marks = marks.into_iter().map(|mark| (mark, is_sent));
        self.file
            .change(|all| all.entry(key(base)).or_default().extend(marks))
    }
}

/// The sessions of a base directory that this person began or took over, in `sessions.json`, the latest
/// last.
///
/// Any other session record in a project was decided by somebody else.
#[derive(Debug, Clone)]
pub struct KnownSessions {
    file: PersonFile<Vec<String>>,
}

impl KnownSessions {
    /// More sessions of a base directory than these are not remembered.
    const MAX: usize = 1_000;

    /// Kept in this directory, which need not exist yet; see `settings::Trust::directory`.
    pub fn kept_in(directory: Option<&Path>) -> Self {
        Self {
            file: PersonFile::new(directory, "sessions"),
        }
    }

    /// Returns true if there is a place to remember sessions.
    pub fn can_remember(&self) -> bool {
        self.file.path().is_some()
    }

    /// Returns true if the session is known.
    pub fn has(&self, base: &Path, id: &SessionId) -> Result<bool> {
        let known = self.file.load(base)?;
        Ok(known.iter().any(|known| known == id.as_str()))
    }

    /// Remembers a session. Where nothing can be kept, its questions are asked again after a stop.
    pub fn add(&self, base: &Path, id: &SessionId) -> Result<()> {
        self.note(base, id.as_str().to_owned())
    }

    /// Returns true if the person gave the session the network.
    pub fn has_network(&self, base: &Path, id: &SessionId) -> Result<bool> {
        Ok(self.file.load(base)?.contains(&with_network(id)))
    }

    /// Remembers that the person gave the session the network.
    pub fn give_network(&self, base: &Path, id: &SessionId) -> Result<()> {
        self.note(base, with_network(id))
    }

    fn note(&self, base: &Path, entry: String) -> Result<()> {
        if !self.can_remember() {
            return Ok(());
        }
        self.file.change(|all| {
            let known = all.entry(key(base)).or_default();
            known.retain(|known| *known != entry);
            known.push(entry);
            let surplus = known.len().saturating_sub(Self::MAX);
            known.drain(..surplus);
        })
    }
}

/// The entry of a session that has the network.
fn with_network(id: &SessionId) -> String {
    format!("{id} network")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_known_in_its_base_directory_and_the_oldest_are_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let known = KnownSessions::kept_in(Some(directory.path()));
        let (one, two) = (Path::new("/one"), Path::new("/two"));
        let id = |number: usize| SessionId::parse(&format!("{number:08x}")).unwrap();
        for number in 0..=KnownSessions::MAX {
            known.add(one, &id(number)).unwrap();
        }
        assert!(!known.has(one, &id(0)).unwrap() && known.has(one, &id(1)).unwrap());
        assert!(!known.has(two, &id(1)).unwrap());
        assert!(!known.has_network(one, &id(1)).unwrap());
        known.give_network(one, &id(1)).unwrap();
        assert!(known.has_network(one, &id(1)).unwrap());
        let nowhere = KnownSessions::kept_in(None);
        nowhere.add(one, &id(1)).unwrap();
        assert!(!nowhere.has(one, &id(1)).unwrap());
    }

    #[test]
    fn an_answer_counts_for_its_base_directory_and_can_be_changed() {
        let directory = tempfile::tempdir().unwrap();
        let answers = KeptAnswers::kept_in(Some(directory.path()));
        let (one, two) = (Path::new("/one"), Path::new("/two"));
        answers.add(one, vec!["a".to_owned()], true).unwrap();
        answers
            .add(one, vec!["a".to_owned(), "b".to_owned()], false)
            .unwrap();
        let kept = answers.load(one).unwrap();
        assert_eq!(kept.get("a"), Some(&false));
        assert_eq!(kept.len(), 2);
        assert!(answers.load(two).unwrap().is_empty());
    }
}
