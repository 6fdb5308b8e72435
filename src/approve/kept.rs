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
    let real = fs::canonicalize(base);
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

#[cfg(test)]
mod tests {
    use super::*;

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
