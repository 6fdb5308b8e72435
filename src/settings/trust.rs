//! Which settings files this person has trusted.
//!
//! A settings file comes with a project, and a project may be hostile; so whatever loosens counts
//! only from a file that the person has confirmed once. Trust is given to one content at one path
//! and kept outside of any project: a file that is changed, copied or moved is a stranger again. A no
//! is remembered in the same way, so that nobody is asked twice about the same.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::file::read;
use crate::error::{Error, Result};
use crate::fs::{Durability, create_directory, write_atomic};

/// The folder of what was trusted.
const TRUSTED: &str = "trusted";

/// The folder of what the person said no to.
const DECLINED: &str = "declined";

/// The folder of the files about which the person was told something.
const TOLD: &str = "told";

/// The memory of trusted files.
#[derive(Debug, Clone)]
pub struct Trust {
    /// `None` where the person has no home: then nothing is trusted.
    directory: Option<PathBuf>,
}

impl Trust {
    /// Keeps it in this directory, which need not exist yet.
    pub fn kept_in(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: Some(directory.into()),
        }
    }

    /// Keeps it where this system keeps the state of programs.
    ///
    /// The directory is `$XDG_STATE_HOME/agent`, else `~/.local/state/agent`, on macOS
    /// `~/Library/Application Support/agent`, on Windows `%LOCALAPPDATA%\agent`.
    pub fn of_this_person(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        // A relative path would make the memory a part of the project; XDG says to ignore it.
        let place = |name: &str| {
            variable(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let home = || {
            if cfg!(windows) {
                place("LOCALAPPDATA")
            } else if cfg!(target_os = "macos") {
                place("HOME").map(|home| home.join("Library/Application Support"))
            } else {
                place("HOME").map(|home| home.join(".local/state"))
            }
        };
        Self {
            directory: place("XDG_STATE_HOME")
                .or_else(home)
                .map(|state| state.join("agent")),
        }
    }

    /// Where it is kept, if anywhere.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Returns true if the file, as it is on the disk now, was trusted.
    pub fn is_trusted(&self, file: &Path) -> bool {
        matches!(read(file), Ok(Some(content)) if self.holds(file, &content))
    }

    /// Trusts the file as it stands on the disk now.
    pub fn add(&self, file: &Path) -> Result<()> {
        let content = read(file)?
            .ok_or_else(|| Error::mendable(format!("there is no file `{}`", file.display())))?;
        self.remember(file, &content)
    }

    /// Returns true if this content at this path was trusted.
    pub fn holds(&self, file: &Path, content: &[u8]) -> bool {
        self.record(TRUSTED, file, content)
            .is_some_and(|record| record.is_file())
    }

    /// Returns true if the person declined this content at this path.
    pub fn is_declined(&self, file: &Path, content: &[u8]) -> bool {
        self.record(DECLINED, file, content)
            .is_some_and(|record| record.is_file())
    }

    /// Trusts this content at this path.
    pub fn remember(&self, file: &Path, content: &[u8]) -> Result<()> {
        self.write(TRUSTED, file, content)
    }

    /// Remembers that the person said no to this content at this path.
    pub fn decline(&self, file: &Path, content: &[u8]) -> Result<()> {
        self.write(DECLINED, file, content)
    }

    /// True the first time that the person is told something about this content at this path.
    pub fn tell_once(&self, file: &Path, content: &[u8]) -> bool {
        let is_told = |record: PathBuf| record.is_file();
        !self.record(TOLD, file, content).is_none_or(is_told)
            && self.write(TOLD, file, content).is_ok()
    }

    fn write(&self, folder: &str, file: &Path, content: &[u8]) -> Result<()> {
        let Some(record) = self.record(folder, file, content) else {
            return Err(
                Error::mendable("there is no place to remember which files you trust")
                    .hint("set `HOME` or `XDG_STATE_HOME` to a directory of yours"),
            );
        };
        if let Some(directory) = record.parent() {
            create_directory(directory)?;
        }
        // The name is what counts; the path is in it for a person who looks.
        let path = format!("{}\n", file.display());
        write_atomic(&record, path.as_bytes(), Durability::Synced)
    }

    fn record(&self, folder: &str, file: &Path, content: &[u8]) -> Option<PathBuf> {
        let directory = self.directory.as_ref()?;
        let path = place_of(file)?;
        let path = path.as_os_str().as_encoded_bytes();
        let mut hash = blake3::Hasher::new();
        // With its length in front, no path and content give the bytes of another pair.
        hash.update(&(path.len() as u64).to_le_bytes());
        hash.update(path);
        hash.update(content);
        Some(
            directory
                .join(folder)
                .join(hash.finalize().to_hex().as_str()),
        )
    }
}

/// The real directory of the file with its name in it.
///
/// The file itself is not resolved: a link to a file that is trusted elsewhere is another file.
fn place_of(file: &Path) -> Option<PathBuf> {
    let directory = file.parent().filter(|parent| *parent != Path::new(""));
    let directory = crate::fs::canonical(directory.unwrap_or(Path::new("."))).ok()?;
    Some(directory.join(file.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, content: &str) {
        create_directory(path.parent().unwrap()).unwrap();
        write_atomic(path, content.as_bytes(), Durability::Atomic).unwrap();
    }

    #[test]
    fn trust_is_for_one_content_at_one_path() {
        let directory = tempfile::tempdir().unwrap();
        let trust = Trust::kept_in(directory.path().join("state"));
        let file = directory.path().join("a/appsettings.json");
        let copy = directory.path().join("b/appsettings.json");
        write(&file, "one");
        write(&copy, "one");
        assert!(!trust.is_trusted(&file));
        trust.add(&file).unwrap();
        trust.add(&file).unwrap();
        assert!(trust.is_trusted(&file));
        assert!(!trust.is_trusted(&copy));
        write(&file, "two");
        assert!(!trust.is_trusted(&file));
        write(&file, "one");
        assert!(trust.is_trusted(&file));
    }

    #[test]
    fn a_no_is_for_one_content_too_and_a_yes_is_stronger() {
        let directory = tempfile::tempdir().unwrap();
        let trust = Trust::kept_in(directory.path().join("state"));
        let file = directory.path().join("appsettings.json");
        trust.decline(&file, b"one").unwrap();
        assert!(trust.is_declined(&file, b"one"));
        assert!(!trust.is_declined(&file, b"two"));
        assert!(!trust.holds(&file, b"one"));
        trust.remember(&file, b"one").unwrap();
        assert!(trust.holds(&file, b"one"));
    }

    #[test]
    fn a_missing_file_is_not_trusted() {
        let directory = tempfile::tempdir().unwrap();
        let trust = Trust::kept_in(directory.path());
        let file = directory.path().join("appsettings.json");
        assert!(!trust.is_trusted(&file));
        assert!(trust.add(&file).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_trusted_file_is_another_file() {
        let directory = tempfile::tempdir().unwrap();
        let trust = Trust::kept_in(directory.path().join("state"));
        let file = directory.path().join("a/appsettings.json");
        write(&file, "one");
        trust.add(&file).unwrap();
        let link = directory.path().join("appsettings.json");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(!trust.is_trusted(&link));
        let link = directory.path().join("b");
        std::os::unix::fs::symlink(directory.path().join("a"), &link).unwrap();
        assert!(trust.is_trusted(&link.join("appsettings.json")));
    }

    #[cfg(not(any(windows, target_os = "macos")))]
    #[test]
    fn the_state_directory_is_the_one_of_the_desktop_standard() {
        let case = |state: Option<&str>, home: Option<&str>, expected: Option<&str>| {
            let trust = Trust::of_this_person(|name| match name {
                "XDG_STATE_HOME" => state.map(OsString::from),
                "HOME" => home.map(OsString::from),
                _ => None,
            });
            assert_eq!(trust.directory(), expected.map(Path::new));
        };
        case(Some("/s"), Some("/h"), Some("/s/agent"));
        case(Some("relative"), Some("/h"), Some("/h/.local/state/agent"));
        case(None, Some("/h"), Some("/h/.local/state/agent"));
        case(None, None, None);
        case(None, Some(""), None);
    }

    #[test]
    fn without_a_home_nothing_is_trusted() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("appsettings.json");
        write(&file, "one");
        let trust = Trust::of_this_person(|_| None);
        assert!(!trust.is_trusted(&file));
        assert!(
            trust
                .add(&file)
                .unwrap_err()
                .to_string()
                .contains("no place")
        );
    }
}
