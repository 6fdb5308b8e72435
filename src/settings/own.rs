//! The person's own settings file, which holds for all their projects.
//!
//! It lies where the system keeps the configuration of programs, and has the settings at its top
//! level. It needs no trust: no project brings it. The folders of a base directory are not in it,
//! because they differ from project to project.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};

use super::file::{self, SettingsFile};
use super::keys::Key;
use super::layer::Layer;
use super::loosens::Loosens;
use super::origin::Origin;
use super::value::Value;
use crate::error::{Error, Result};
use crate::fs::{behind_links, create_directory, write_atomic_in_place};

/// The name of the file.
const NAME: &str = "settings.json";

/// The place of the person's own settings file, which need not exist.
#[derive(Debug, Clone, Default)]
pub struct OwnSettings {
    file: Option<PathBuf>,
}

impl OwnSettings {
    /// The file at this path.
    pub fn at(file: impl Into<PathBuf>) -> Self {
        Self {
            file: Some(file.into()),
        }
    }

    /// The file of the person who runs this process.
    pub fn of_this_process() -> Self {
        Self::of_this_person(|name| std::env::var_os(name))
    }

    /// The file where this system keeps the configuration of programs.
    ///
    /// Its directory is `$XDG_CONFIG_HOME/agent`, else `~/.config/agent`, on macOS
    /// `~/Library/Application Support/agent`, on Windows `%APPDATA%\agent`.
    pub fn of_this_person(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        // A relative path would let a project bring the file; XDG says to ignore it.
        let place = |name: &str| {
            variable(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let usual = || {
            if cfg!(windows) {
                place("APPDATA")
            } else if cfg!(target_os = "macos") {
                place("HOME").map(|home| home.join("Library/Application Support"))
            } else {
                place("HOME").map(|home| home.join(".config"))
            }
        };
        let directory = place("XDG_CONFIG_HOME").or_else(usual);
        Self {
            file: directory.map(|directory| directory.join("agent").join(NAME)),
        }
    }

    /// The file; an error where the person has no home.
    pub fn file(&self) -> Result<&Path> {
        self.file.as_deref().ok_or_else(|| {
            Error::mendable("there is no place for your own settings")
                .hint("set `HOME` or `XDG_CONFIG_HOME` to a directory of yours")
        })
    }

    /// Reads its values; nothing if there is no such file.
    pub(super) fn layer(&self) -> Result<Option<Layer>> {
        let Some(path) = &self.file else {
            return Ok(None);
        };
        let Some(file) = SettingsFile::look_flat(path)? else {
            return Ok(None);
        };
        let layer = file.layer()?;
        let is_folder = |key: &Key| key.loosens == Loosens::Outside;
        if let Some((key, _)) = layer.values.iter().find(|(key, _)| is_folder(key)) {
            return Err(Error::mendable(format!(
                "`{}` in `{}` names a folder of one project",
                key.name,
                path.display()
            ))
            .hint("remove it there; in the project: `agent config set --here KEY VALUE`"));
        }
        Ok(Some(Layer {
            origin: Origin::Person(path.clone()),
            ..layer
        }))
    }

    /// Sets a value, or removes it; the rest of the file stays as it is.
    pub fn set(&self, key: &Key, value: Option<&Value>) -> Result<()> {
        if key.loosens == Loosens::Outside {
            return Err(Error::usage(format!(
                "`{}` names a folder of one project, so it is no setting of yours alone",
                key.name
            ))
            .hint(format!(
                "in that project: `agent config set --here {} DIR`",
                key.name
            )));
        }
        // It is often a link into a repository of dotfiles; nobody but the person made that.
        let path = behind_links(self.file()?)?;
        if let Some(directory) = path.parent() {
            create_directory(directory)?;
        }
        change(&path, None, key, value).map(|_| ())
    }
}

/// Sets a value in a settings file, or removes it, and returns the new content.
///
/// The settings stand in this section of it, or at its top level.
pub(super) fn change(
    path: &Path,
    section: Option<&str>,
    key: &Key,
    value: Option<&Value>,
) -> Result<Vec<u8>> {
    let content = file::read(path)?.unwrap_or_default();
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&content);
    let content = match content.trim_ascii() {
        b"" => b"{}",
        content => content,
    };
    let failed = |cause| Error::file("change", path, cause).hint("it must be a JSON object");
    let mut top: Map<String, Json> = serde_json::from_slice(content).map_err(failed)?;
    let settings = match section {
        None => &mut top,
        Some(section) => {
            let entry = top.entry(section.to_owned());
            let entry = entry.or_insert_with(|| Json::Object(Map::new()));
            entry.as_object_mut().ok_or_else(|| {
                Error::mendable(format!(
                    "`{section}` in `{}` is no JSON object",
                    path.display()
                ))
            })?
        }
    };
    match value {
        Some(value) => {
            let json = serde_json::to_value(value).unwrap_or_default();
            settings.insert(key.name.to_owned(), json);
        }
        None => {
            settings.shift_remove(key.name);
        }
    }
    let json = crate::json::to_lines(&top).map_err(|cause| Error::file("write", path, cause))?;
    let content = format!("{json}\n").into_bytes();
    write_atomic_in_place(path, &content)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{Durability, write_atomic};

    #[cfg(not(any(windows, target_os = "macos")))]
    #[test]
    fn the_file_lies_where_the_desktop_standard_says() {
        let case = |config: Option<&str>, home: Option<&str>, expected: Option<&str>| {
            let own = OwnSettings::of_this_person(|name| match name {
                "XDG_CONFIG_HOME" => config.map(OsString::from),
                "HOME" => home.map(OsString::from),
                _ => None,
            });
            assert_eq!(own.file().ok(), expected.map(Path::new));
        };
        case(Some("/c"), Some("/h"), Some("/c/agent/settings.json"));
        case(
            Some("relative"),
            Some("/h"),
            Some("/h/.config/agent/settings.json"),
        );
        case(None, None, None);
    }

    #[test]
    fn a_value_is_set_and_removed_and_the_rest_stays() {
        let directory = tempfile::tempdir().unwrap();
        let own = OwnSettings::at(directory.path().join("deep/settings.json"));
        assert!(own.layer().unwrap().is_none());
        let chat = Key::named("Chat").unwrap();
        let rounds = Key::named("MaxRounds").unwrap();
        let claude = chat.shape.read_text("claude").unwrap();
        own.set(chat, Some(&claude)).unwrap();
        own.set(rounds, Some(&Value::Number(7))).unwrap();
        let text = std::fs::read_to_string(own.file().unwrap()).unwrap();
        assert_eq!(text, "{\n  \"Chat\": \"claude\",\n  \"MaxRounds\": 7\n}\n");
        own.set(chat, None).unwrap();
        let values = own.layer().unwrap().unwrap().values;
        assert_eq!(values.len(), 1);
        assert_eq!(values[0].0.name, "MaxRounds");
    }

    #[test]
    fn an_empty_file_sets_nothing_and_is_filled() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.json");
        let own = OwnSettings::at(&path);
        let rounds = Key::named("MaxRounds").unwrap();
        for empty in ["", " \n"] {
            write_atomic(&path, empty.as_bytes(), Durability::Atomic).unwrap();
            assert!(own.layer().unwrap().is_none());
            own.set(rounds, Some(&Value::Number(7))).unwrap();
            assert_eq!(own.layer().unwrap().unwrap().values.len(), 1);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_the_file_stays_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let (link, file) = (
            directory.path().join("settings.json"),
            directory.path().join("dotfiles/agent.json"),
        );
        std::os::unix::fs::symlink("dotfiles/agent.json", &link).unwrap();
        let rounds = Key::named("MaxRounds").unwrap();
        let own = OwnSettings::at(&link);
        for number in [7, 8] {
            own.set(rounds, Some(&Value::Number(number))).unwrap();
            assert!(link.is_symlink());
            let text = std::fs::read_to_string(&file).unwrap();
            assert_eq!(text, format!("{{\n  \"MaxRounds\": {number}\n}}\n"));
        }
    }

    #[test]
    fn folders_are_settings_of_a_project() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.json");
        let own = OwnSettings::at(&path);
        let inbox = Key::named("InboxDir").unwrap();
        let value = inbox.shape.read_text("x").unwrap();
        assert!(own.set(inbox, Some(&value)).is_err());
        write_atomic(&path, b"{\"InboxDir\": \"x\"}", Durability::Atomic).unwrap();
        let error = own.layer().unwrap_err();
        assert!(error.to_string().contains("folder of one project"));
    }
}
