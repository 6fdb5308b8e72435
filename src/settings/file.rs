//! `appsettings.json`: whether it is ours, and what it sets.
//!
//! Other programs keep a file of the same name, some with comments in it, so a file counts as ours
//! only if it has an `Agent` object. What stands beside that object is not looked at. A settings
//! file may come with a hostile project: it is read with a limit, and its words are shown escaped.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::keys::Key;
use super::layer::Layer;
use super::origin::Origin;
use super::suggestion::shown;
use crate::error::{Error, Result};

/// The section that is ours.
pub(super) const SECTION: &str = "Agent";
/// No settings file that a person writes comes near this.
const LARGEST: u64 = 1024 * 1024;

/// A settings file with an `Agent` object.
#[derive(Debug)]
pub(super) struct SettingsFile {
    pub(super) path: PathBuf,
    /// As it stands on the disk: what is trusted is exactly what was read.
    pub(super) content: Vec<u8>,
    agent: Map<String, Value>,
}

impl SettingsFile {
    /// Reads the file, if there is one and it is ours.
    pub(super) fn look(path: &Path) -> Result<Option<Self>> {
        let Some((content, text)) = decoded(path, |text| text.contains(&format!("\"{SECTION}\"")))?
        else {
            return Ok(None);
        };
        let mentions_us = text.contains(&format!("\"{SECTION}\""));
        let json = match serde_json::from_str(&text) {
            Ok(json) => json,
            Err(problem) if mentions_us => return Err(not_json(path, &text, &problem)),
            Err(_) => return Ok(None),
        };
        Ok(section(path, json)?.map(|agent| Self {
            path: path.to_owned(),
            content,
            agent,
        }))
    }

    /// Reads a file that is all ours, with the settings at its top level.
    pub(super) fn look_flat(path: &Path) -> Result<Option<Self>> {
        let Some((content, text)) = decoded(path, |_| true)? else {
            return Ok(None);
        };
        // An editor or `touch` leaves such a file, which says nothing.
        if text.trim().is_empty() {
            return Ok(None);
        }
        let json: Value =
            serde_json::from_str(&text).map_err(|problem| not_json(path, &text, &problem))?;
        let Value::Object(agent) = json else {
            return Err(
                Error::mendable(format!("`{}` is no JSON object", path.display()))
                    .hint("it looks like {\"Chat\": \"claude\"}"),
            );
        };
        Ok(Some(Self {
            path: path.to_owned(),
            content,
            agent,
        }))
    }

    /// Reads the settings as a layer; an unknown key or an invalid value is an error.
    pub(super) fn layer(&self) -> Result<Layer> {
        let mut values = Vec::new();
        for (name, json) in &self.agent {
            let key = Key::named(name).ok_or_else(|| self.unknown(name))?;
            let value = key.shape.read_json(json).map_err(|problem| {
                Error::mendable(format!("`{name}` in `{}` {problem}", self.path.display()))
                    .hint(key.explained())
            })?;
            values.push((key, value));
        }
        Ok(Layer {
            origin: Origin::File(self.path.clone()),
            values,
        })
    }

    fn unknown(&self, name: &str) -> Error {
        Error::mendable(format!(
            "`{}` in `{}` is not a setting",
            shown(name),
            self.path.display()
        ))
        .hint(Key::suggestion(name, ""))
        .hint(concat!(
            "if a newer `agent` wrote it, update: this is version ",
            env!("CARGO_PKG_VERSION")
        ))
    }
}

/// The bytes of a settings file and their text; an error if a file of ours is no text.
///
/// Takes UTF-8 with or without a byte order mark, and the UTF-16 of Windows editors.
fn decoded(path: &Path, is_ours: impl Fn(&str) -> bool) -> Result<Option<(Vec<u8>, String)>> {
    let Some(content) = read(path)? else {
        return Ok(None);
    };
    let (text, _, is_damaged) = encoding_rs::UTF_8.decode(&content);
    if is_damaged && is_ours(&text) {
        return Err(
            Error::mendable(format!("`{}` is not UTF-8", path.display()))
                .hint("save it as UTF-8 in your editor"),
        );
    }
    let text = text.into_owned();
    Ok(Some((content, text)))
}

/// The bytes of a regular file, `None` where there is none.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    // A directory that may not be searched says nothing about a file in it.
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Ok(None),
        Err(cause)
            if matches!(
                cause.kind(),
                ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied
            ) =>
        {
            return Ok(None);
        }
        Err(cause) => return Err(Error::file("read", path, cause)),
    }
    let mut content = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut content))
        .map_err(|cause| Error::file("read", path, cause))?;
    if content.len() as u64 > LARGEST {
        return Err(Error::mendable(format!(
            "`{}` is larger than 1 MiB: that is no settings file",
            path.display()
        )));
    }
    Ok(Some(content))
}

fn section(path: &Path, json: Value) -> Result<Option<Map<String, Value>>> {
    let Value::Object(mut top) = json else {
        return Ok(None);
    };
    if let Some(Value::Object(agent)) = top.remove(SECTION) {
        return Ok(Some(agent));
    }
    match top.iter().find(|(name, value)| is_misspelt(name, value)) {
        Some((name, _)) => Err(Error::mendable(format!(
            "the section `{name}` in `{}` is written with other letters",
            path.display()
        ))
        .hint(format!("did you mean `{SECTION}`?"))),
        None => Ok(None),
    }
}

/// An `agent` object with one of our settings in it is ours; another is another program's.
fn is_misspelt(name: &str, value: &Value) -> bool {
    name.eq_ignore_ascii_case(SECTION)
        && value.as_object().is_some_and(|agent| {
            agent
                .keys()
                .any(|key| Key::named_in_any_case(key).is_some())
        })
}

fn not_json(path: &Path, text: &str, problem: &serde_json::Error) -> Error {
    let words = problem.to_string();
    let what = words.split(" at line ").next().unwrap_or(&words);
    let error = Error::mendable(format!(
        "`{}` is not valid JSON: line {}, column {}: {what}",
        path.display(),
        problem.line(),
        problem.column(),
    ));
    let line = text
        .lines()
        .nth(problem.line().saturating_sub(1))
        .unwrap_or_default();
    if line.contains("//") || line.contains("/*") {
        error.hint("JSON has no comments: remove them")
    } else {
        error.hint("look for a comma or quote too many or too few, there or in the line before")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{Durability, write_atomic};

    fn look(content: &[u8]) -> Result<Option<SettingsFile>> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("appsettings.json");
        write_atomic(&path, content, Durability::Atomic).unwrap();
        SettingsFile::look(&path)
    }

    #[track_caller]
    fn refused(content: &str, end_of_message: &str, hint: &str) {
        let error = look(content.as_bytes())
            .and_then(|file| file.unwrap().layer())
            .unwrap_err();
        let message = error.to_string();
        assert!(message.contains("appsettings.json`"), "{message}");
        assert!(message.ends_with(end_of_message), "{message}");
        assert_eq!(error.hints().first().map_or("", String::as_str), hint);
    }

    #[test]
    fn a_file_without_our_section_is_not_ours() {
        for foreign in [
            "{}",
            "[]",
            "3",
            "",
            r#"{"Logging": {}}"#,
            r#"{"Agent": "Smith"}"#,
            r#"{"agent": {"Name": "Smith"}}"#,
            "{ // comments, as other programs allow them\n}",
        ] {
            assert!(look(foreign.as_bytes()).unwrap().is_none(), "{foreign}");
        }
    }

    #[test]
    fn what_stands_beside_our_section_is_not_looked_at() {
        let file = look(br#"{"Logging": {"x": [1]}, "Agent": {"MaxRounds": 3}}"#).unwrap();
        assert_eq!(file.unwrap().layer().unwrap().values.len(), 1);
    }

    #[test]
    fn byte_order_marks_and_utf_16_are_read() {
        let text = r#"{"Agent": {"MaxRounds": 3}}"#;
        let with_mark = format!("\u{feff}{text}");
        let utf_16: Vec<u8> = with_mark
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        for content in [with_mark.as_bytes(), &utf_16] {
            let layer = look(content).unwrap().unwrap().layer().unwrap();
            assert_eq!(layer.values[0].1.to_string(), "3");
        }
        assert!(look(b"{\"Agent\": {\"InboxDir\": \"\xff\"}}").is_err());
    }

    #[test]
    fn an_unknown_key_names_the_file_and_the_nearest_key() {
        refused(
            r#"{"Agent": {"MaxRuonds": 3}}"#,
            "appsettings.json` is not a setting",
            "did you mean `MaxRounds`?",
        );
        refused(
            r#"{"Agent": {"maxRounds": 3}}"#,
            "is not a setting",
            "did you mean `MaxRounds`?",
        );
        refused(
            r#"{"Agent": {"Brightness": 3}}"#,
            "is not a setting",
            &Key::suggestion("Brightness", ""),
        );
    }

    #[test]
    fn a_misspelt_section_is_told() {
        refused(
            r#"{"agent": {"MaxRounds": 3}}"#,
            "is written with other letters",
            "did you mean `Agent`?",
        );
    }

    #[test]
    fn a_wrong_value_names_the_file_and_the_key() {
        refused(
            r#"{"Agent": {"MaxRounds": "3"}}"#,
            "appsettings.json` must be a whole number from 1 to 10000, not the text `\"3\"`",
            "`agent help settings MaxRounds` explains it",
        );
    }

    #[test]
    fn a_syntax_error_names_line_and_column() {
        refused(
            "{\"Agent\": {\n  \"MaxRounds\" 3\n}}",
            "is not valid JSON: line 2, column 15: expected `:`",
            "look for a comma or quote too many or too few, there or in the line before",
        );
        refused(
            "{\"Agent\": {\n  // no\n}}",
            "line 2, column 3: key must be a string",
            "JSON has no comments: remove them",
        );
        let deep = format!("{{\"Agent\": {}", "[".repeat(100_000));
        assert!(look(deep.as_bytes()).is_err());
    }

    #[test]
    fn a_file_of_many_megabytes_is_refused() {
        let error = look(&vec![b' '; 2_000_000]).unwrap_err();
        assert!(error.to_string().contains("larger than 1 MiB"), "{error}");
    }
}
