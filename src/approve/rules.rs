//! What the person allowed with "always": rules that belong to them and not to the project.
//!
//! One file, `rules.json`, maps the path of a base directory to commands that are not asked about
//! there: `{"/home/me/project": ["cargo test"]}`. It can be read and mended by hand.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::fs::{Durability, create_directory, write_atomic};
use crate::policy::Rule;

type ByBase = BTreeMap<String, Vec<String>>;

/// The rules that this person has given.
#[derive(Debug, Clone)]
pub struct KeptRules {
    /// `None` where the person has no home: then none are kept.
    directory: Option<PathBuf>,
}

impl KeptRules {
    /// Kept in this directory, which need not exist yet; see `settings::Trust::directory`.
    pub fn kept_in(directory: Option<&Path>) -> Self {
        Self {
            directory: directory.map(Path::to_owned),
        }
    }

    /// The file that holds them, if there is a place for it.
    pub fn file(&self) -> Option<PathBuf> {
        Some(self.directory.as_ref()?.join("rules.json"))
    }

    /// The rules for a base directory.
    pub fn load(&self, base: &Path) -> Result<Vec<Rule>> {
        let Some(file) = self.file() else {
            return Ok(Vec::new());
        };
        let texts = read(&file)?.remove(&key(base)).unwrap_or_default();
        let parse = |text: &String| {
            Rule::parse(text).map_err(|cause| {
                Error::mendable(format!(
                    "`{}` holds `{text}`, which is no rule",
                    file.display()
                ))
                .because(cause)
                .hint("take it out of the file; nothing else is lost by that")
            })
        };
        texts.iter().map(parse).collect()
    }

    /// Keeps rules for a base directory; those that are there already stay once.
    pub fn add(&self, base: &Path, rules: &[Rule]) -> Result<()> {
        self.change(|all| {
            let kept = all.entry(key(base)).or_default();
            for text in rules.iter().map(Rule::text) {
                if !kept.contains(&text) {
                    kept.push(text);
                }
            }
        })
    }

    /// Takes a rule back; tells whether it was there.
    pub fn remove(&self, base: &Path, rule: &Rule) -> Result<bool> {
        let mut was_there = false;
        self.change(|all| {
            let kept = all.entry(key(base)).or_default();
            let before = kept.len();
            kept.retain(|text| *text != rule.text());
            was_there = kept.len() < before;
            if kept.is_empty() {
                all.remove(&key(base));
            }
        })?;
        Ok(was_there)
    }

    fn change(&self, change: impl FnOnce(&mut ByBase)) -> Result<()> {
        let (Some(directory), Some(file)) = (&self.directory, self.file()) else {
            return Err(Error::mendable("there is no place to keep your rules")
                .hint("set `HOME` or `XDG_STATE_HOME` to a directory of yours"));
        };
        create_directory(directory)?;
        let path = directory.join("rules.lock");
        // Two loops may learn a rule at the same time.
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|cause| Error::file("open", &path, cause))?;
        lock.lock()
            .map_err(|cause| Error::file("lock", &path, cause))?;
        let mut all = read(&file)?;
        change(&mut all);
        let mut json =
            crate::json::to_lines(&all).map_err(|cause| Error::file("write", &file, cause))?;
        json.push('\n');
        write_atomic(&file, json.as_bytes(), Durability::Synced)
    }
}

fn read(file: &Path) -> Result<ByBase> {
    let json = match fs::read(file) {
        Ok(json) => json,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(ByBase::new()),
        Err(cause) => return Err(Error::file("read", file, cause)),
    };
    serde_json::from_slice(&json).map_err(|cause| {
        Error::file("read your rules in", file, cause)
            .hint("mend the file, or remove it to be asked again")
    })
}

fn key(base: &Path) -> String {
    let real = fs::canonicalize(base);
    real.as_deref().unwrap_or(base).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Rule {
        Rule::parse(text).unwrap()
    }

    #[test]
    fn a_rule_counts_for_its_base_directory_only() {
        let directory = tempfile::tempdir().unwrap();
        let rules = KeptRules::kept_in(Some(&directory.path().join("state")));
        let (one, two) = (Path::new("/one"), Path::new("/two"));
        assert!(rules.load(one).unwrap().is_empty());
        rules.add(one, &[rule("cargo test"), rule("ls")]).unwrap();
        rules.add(one, &[rule("cargo test")]).unwrap();
        assert_eq!(rules.load(one).unwrap(), [rule("cargo test"), rule("ls")]);
        assert!(rules.load(two).unwrap().is_empty());
    }

    #[test]
    fn a_rule_can_be_taken_back() {
        let directory = tempfile::tempdir().unwrap();
        let rules = KeptRules::kept_in(Some(directory.path()));
        let base = Path::new("/one");
        rules.add(base, &[rule("cargo test")]).unwrap();
        assert!(rules.remove(base, &rule("cargo test")).unwrap());
        assert!(!rules.remove(base, &rule("cargo test")).unwrap());
        assert!(rules.load(base).unwrap().is_empty());
        assert_eq!(fs::read_to_string(rules.file().unwrap()).unwrap(), "{}\n");
    }

    #[test]
    fn a_person_without_a_home_is_told_so() {
        let rules = KeptRules::kept_in(None);
        let base = Path::new("/one");
        assert!(rules.load(base).unwrap().is_empty());
        let error = rules.add(base, &[rule("ls")]).unwrap_err();
        assert!(error.hints()[0].contains("XDG_STATE_HOME"));
    }

    #[test]
    fn a_damaged_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let rules = KeptRules::kept_in(Some(directory.path()));
        let write = |text: &str| {
            write_atomic(&rules.file().unwrap(), text.as_bytes(), Durability::Atomic).unwrap();
        };
        write("[");
        let error = rules.load(Path::new("/one")).unwrap_err();
        assert!(error.to_string().contains("rules.json"), "{error}");
        write(r#"{"/one": ["a; b"]}"#);
        let error = rules.load(Path::new("/one")).unwrap_err();
        assert!(error.to_string().contains("`a; b`"), "{error}");
    }
}
