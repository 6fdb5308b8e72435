//! The commands that the person allowed with "always": rules that belong to them and not to the
//! project.
//!
//! One file, `rules.json`, maps the path of a base directory to commands that are not asked about
//! there: `{"/home/me/project": ["cargo test"]}`. It can be read and mended by hand.

use std::path::{Path, PathBuf};

use super::kept::{PersonFile, key};
use crate::error::{Error, Result};
use crate::policy::Rule;

type Texts = Vec<String>;

/// The rules that this person has given.
#[derive(Debug, Clone)]
pub struct KeptRules {
    file: PersonFile<Texts>,
}

impl KeptRules {
    /// Kept in this directory, which need not exist yet; see `settings::Trust::directory`.
    pub fn kept_in(directory: Option<&Path>) -> Self {
        Self {
            file: PersonFile::new(directory, "rules"),
        }
    }

    /// The file that holds them, if there is a place for it.
    pub fn file(&self) -> Option<PathBuf> {
        self.file.path()
    }

    /// The rules for a base directory.
    pub fn load(&self, base: &Path) -> Result<Vec<Rule>> {
        let Some(file) = self.file() else {
            return Ok(Vec::new());
        };
        let texts = self.file.load(base)?;
        let parse = |text: &String| {
            Rule::parse(text).map_err(|cause| {
                Error::mendable(format!(
                    "`{}` holds `{text}`, which is no rule",
                    file.display()
                ))
                .because(cause)
                .hint("remove it from the file; nothing else is lost")
            })
        };
        texts.iter().map(parse).collect()
    }

    /// Keeps rules for a base directory; those that are there already stay once.
    pub fn add(&self, base: &Path, rules: &[Rule]) -> Result<()> {
        self.file.change(|all| {
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
        self.file.change(|all| {
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
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::fs::{Durability, write_atomic};

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
