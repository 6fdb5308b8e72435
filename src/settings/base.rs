//! The base directory: where `agent` keeps its folders, and how it is found and made.
//!
//! It is the nearest `.agent` that holds an `appsettings.json` with an `Agent` object, or the nearest
//! directory that holds one. What a model may write does not count: `.agent`, which it cannot touch,
//! comes before the file beside it, and a file in the workspace of another base needs the person's
//! trust. What to do where there is none is decided by the person, not here.

use std::fs;
use std::path::{Path, PathBuf};

use super::file::{SECTION, SettingsFile};
use super::keys::Key;
use super::loosens::Loosens;
use super::own::change;
use super::paths::{leads_out, resolved, without_verbatim_prefix};
use super::suggestion::quoted;
use super::trust::Trust;
use super::value::Value;
use crate::error::{Error, Result};
use crate::fs::{Durability, create_directory, resolve_dots, write_atomic};

/// The name of the settings file.
pub const FILE_NAME: &str = "appsettings.json";
/// The directory inside a project that is worked on in place.
pub const DIRECTORY_NAME: &str = ".agent";

/// The settings file of a new base directory. It sets nothing: a value that is written down stays
/// when the default changes.
const NEW_FILE: &str = include_str!("../../appsettings.json");
/// The setting that names the workspace.
const WORKSPACE: &str = "WorkspaceDir";
const IN_PLACE_WORKSPACE: &str = "..";
const IN_PLACE_FILE: &str = "{\n  \"Agent\": {\n    \"WorkspaceDir\": \"..\"\n  }\n}\n";
/// Files that file managers leave in a directory that a person calls empty.
const LITTER: [&str; 3] = [".DS_Store", "Thumbs.db", "desktop.ini"];

/// The directory that everything else is relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// `BasePath`: absolute, without links.
    pub directory: PathBuf,
    /// Its settings file, if it has one of ours.
    pub settings_file: Option<PathBuf>,
}

/// The result of the search for a base directory.
#[derive(Debug, PartialEq, Eq)]
pub enum FoundBase {
    /// Here it is.
    Base(Base),
    /// There is none, and this directory is empty: `Base::create` makes it one.
    EmptyDirectory(PathBuf),
    /// There is none, and this directory has something in it: the person decides between
    /// `init` (work on it in place) and `Base::create` (work in a new `workspace/`).
    Undecided(PathBuf),
}

impl Base {
    /// Looks for the base directory here, then upward; or takes the one that was named (`--base`).
    ///
    /// A directory that was named is a base even without settings, and nothing above it counts.
    /// One that lies in the workspace of another is refused, unless its settings are trusted: the
    /// model may have made it, to be rid of the other's rules.
    pub fn find(start: &Path, explicit: Option<&Path>, trust: &Trust) -> Result<FoundBase> {
        if let Some(named) = explicit {
            let directory = real_directory(&start.join(named))?;
            let base = Self::in_directory(&directory)?;
            return Ok(FoundBase::Base(base.unwrap_or(Self {
                directory,
                settings_file: None,
            })));
        }
        let start = real_directory(start)?;
        let home = std::env::home_dir().and_then(|home| crate::fs::canonical(home).ok());
        Self::upward(start, home.as_deref(), trust)
    }

    /// Looks in a directory and in those above it. The home directory counts only for who stands in
    /// it: whatever a person does somewhere below is another matter.
    fn upward(start: PathBuf, home: Option<&Path>, trust: &Trust) -> Result<FoundBase> {
        for directory in start.ancestors() {
            if directory != start && (is_shared(directory) || Some(directory) == home) {
                continue;
            }
            if let Some(base) = Self::in_directory(directory)? {
                base.refuse_if_made_by_a_model(trust)?;
                return Ok(FoundBase::Base(base));
            }
        }
        if is_empty(&start)? {
            Ok(FoundBase::EmptyDirectory(start))
        } else {
            Ok(FoundBase::Undecided(start))
        }
    }

    /// Makes a directory a base with a `workspace/` of its own, by giving it a settings file.
    ///
    /// Without that file the next run would not find it again.
    pub fn create(directory: &Path) -> Result<Self> {
        let directory = real_directory(directory)?;
        if let Some(base) = Self::in_directory(&directory)? {
            return Ok(base);
        }
        let file = directory.join(FILE_NAME);
        if file.symlink_metadata().is_ok() {
            return Err(Error::mendable(format!(
                "`{}` belongs to another program",
                file.display()
            ))
            .hint("add `\"Agent\": {}` to it, or work on this project in place: `agent init`"));
        }
        write_atomic(&file, NEW_FILE.as_bytes(), Durability::Durable)?;
        Ok(Self {
            directory,
            settings_file: Some(file),
        })
    }

    /// The directory that it was set up for: the project itself where `.agent` holds the settings.
    pub fn project(&self) -> &Path {
        let is_in_place = self.directory.file_name() == Some(DIRECTORY_NAME.as_ref());
        let above = self.directory.parent().filter(|_| is_in_place);
        above.unwrap_or(&self.directory)
    }

    /// The settings file that is passed over because that in `.agent` counts.
    pub(super) fn passed_over(&self) -> Option<PathBuf> {
        let is_in_place = self.directory.file_name() == Some(DIRECTORY_NAME.as_ref());
        let beside = self.directory.parent().filter(|_| is_in_place)?;
        let file = beside.join(FILE_NAME);
        matches!(SettingsFile::look(&file), Ok(Some(_)) | Err(_)).then_some(file)
    }

    fn refuse_if_made_by_a_model(&self, trust: &Trust) -> Result<()> {
        let Some(file) = &self.settings_file else {
            return Ok(());
        };
        if trust.is_trusted(file) {
            return Ok(());
        }
        let above = self.directory.ancestors().skip(1);
        let others = above
            .filter(|directory| !is_shared(directory))
            .filter_map(|directory| Self::in_directory(directory).ok().flatten());
        for other in others.filter(|other| other.directory != self.directory) {
            if self.directory.starts_with(other.workspace()) {
                return Err(Error::mendable(format!(
                    "`{}` is in the workspace of `{}`, where the model may have made it, and you \
                     have not trusted it",
                    file.display(),
                    other.directory.display()
                ))
                .hint(format!(
                    "if it is yours, `--base {}` uses it, with all its sessions",
                    quoted(&self.directory)
                ))
                .hint(format!(
                    "`--base {}` works on the folder above",
                    quoted(&other.directory)
                )));
            }
        }
        Ok(())
    }

    /// Returns the workspace that its settings file names, or the default one.
    pub fn workspace(&self) -> PathBuf {
        let file = self.settings_file.as_deref();
        let layer = file
            .and_then(|file| SettingsFile::look(file).ok().flatten())
            .and_then(|file| file.layer().ok());
        let named = layer.into_iter().flat_map(|layer| layer.values);
        let named = named
            .filter(|(key, _)| key.name == WORKSPACE)
            .map(|(_, value)| value.to_string())
            .next_back();
        let named = named.or_else(|| Some(Key::named(WORKSPACE)?.default.to_string()));
        resolved(&resolve_dots(
            &self.directory.join(named.unwrap_or_default()),
        ))
    }

    fn in_directory(directory: &Path) -> Result<Option<Self>> {
        for directory in [directory.join(DIRECTORY_NAME), directory.to_owned()] {
            let file = directory.join(FILE_NAME);
            if SettingsFile::look(&file)?.is_some() {
                let directory = real_directory(&directory)?;
                return Ok(Some(Self {
                    settings_file: Some(directory.join(FILE_NAME)),
                    directory,
                }));
            }
        }
        Ok(None)
    }
}

/// Sets a value in the settings file of a base directory, or removes it, because the person says so.
///
/// The file stays trusted if it was, or if nothing in it needed trust; else the person is asked about
/// it as before.
pub fn set_here(base: &Base, key: &Key, value: Option<&Value>, trust: &Trust) -> Result<PathBuf> {
    let path = base.directory.join(FILE_NAME);
    let before = SettingsFile::look(&path)?;
    let is_trusted = match &before {
        None => true,
        Some(file) if trust.holds(&path, &file.content) => true,
        Some(file) => {
            let values = file.layer()?.values;
            values
                .iter()
                .all(|(key, value)| is_harmless(base, key, value))
        }
    };
    let content = change(&path, Some(SECTION), key, value)?;
    if is_trusted {
        trust.remember(&path, &content)?;
    }
    Ok(path)
}

/// Returns true if a value needs no trust, whatever the person's own settings say.
fn is_harmless(base: &Base, key: &Key, value: &Value) -> bool {
    match (key.loosens, value) {
        (Loosens::Outside, Value::Text(text)) => !leads_out(&base.directory, text),
        _ => !key.is_beyond_default(value),
    }
}

/// Prepares a project for being worked on in place (`agent init`).
///
/// Makes `.agent/` with settings whose workspace is the project, trusted, and with a `.gitignore`
/// that hides all of it. Nothing else in the project changes, and a second time changes nothing.
pub fn init(project: &Path, trust: &Trust) -> Result<Base> {
    let project = real_directory(project)?;
    refuse_a_second_base(&project)?;
    let directory = project.join(DIRECTORY_NAME);
    refuse_a_link(&directory)?;
    create_directory(&directory)?;
    write_new(&directory.join(".gitignore"), "*\n")?;
    let path = directory.join(FILE_NAME);
    write_new(&path, IN_PLACE_FILE)?;
    let file = SettingsFile::look(&path)?.ok_or_else(|| {
        Error::mendable(format!("`{}` has no `Agent` object", path.display()))
            .hint("delete it and run `agent init` again")
    })?;
    if !trust.holds(&path, &file.content) {
        refuse_more_than_in_place(&directory, &file)?;
        trust.remember(&path, &file.content)?;
    }
    Ok(Base {
        directory,
        settings_file: Some(path),
    })
}

fn refuse_a_second_base(project: &Path) -> Result<()> {
    let file = project.join(FILE_NAME);
    match SettingsFile::look(&file)? {
        None => Ok(()),
        Some(_) => Err(Error::mendable(format!(
            "`{}` has settings of `agent` already",
            file.display()
        ))
        .hint("to work on this directory in place, set `\"WorkspaceDir\": \".\"` in that file")),
    }
}

/// A project that brings `.agent` as a link would have us write elsewhere.
fn refuse_a_link(directory: &Path) -> Result<()> {
    match directory.symlink_metadata() {
        Ok(metadata) if !metadata.is_dir() => Err(Error::mendable(format!(
            "`{}` is not a directory",
            directory.display()
        ))
        .hint("remove it and run `agent init` again")),
        _ => Ok(()),
    }
}

/// `agent init` means "work on this project": a file that came with it may not ask for more.
fn refuse_more_than_in_place(directory: &Path, file: &SettingsFile) -> Result<()> {
    for (key, value) in file.layer()?.values {
        let Value::Text(text) = &value else { continue };
        let asks_for_more = match key.loosens {
            Loosens::Outside => {
                leads_out(directory, text) && (key.name != WORKSPACE || text != IN_PLACE_WORKSPACE)
            }
            Loosens::Personal => !text.is_empty(),
            _ => key.is_beyond_default(&value),
        };
        if asks_for_more {
            return Err(Error::mendable(format!(
                "`{}` was here before and sets `{}` to `{value}`, so it is not trusted",
                file.path.display(),
                key.name
            ))
            .hint(
                "read it; then delete it and run `agent init` again, or confirm it in `agent new`",
            ));
        }
    }
    Ok(())
}

fn write_new(path: &Path, content: &str) -> Result<()> {
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    write_atomic(path, content.as_bytes(), Durability::Durable)
}

/// Absolute and without links, so that `..` means the same to us and to the kernel.
fn real_directory(path: &Path) -> Result<PathBuf> {
    let directory = crate::fs::canonical(path).map_err(|cause| {
        Error::file("open the directory", path, cause).hint("create it first, or name another one")
    })?;
    if directory.is_dir() {
        Ok(without_verbatim_prefix(directory))
    } else {
        Err(
            Error::mendable(format!("`{}` is not a directory", path.display()))
                .hint("name the directory that holds it"),
        )
    }
}

/// Returns true if a directory has nothing in it that a person put there.
pub fn is_empty(directory: &Path) -> Result<bool> {
    let entries = fs::read_dir(directory).map_err(|cause| Error::file("list", directory, cause))?;
    for entry in entries {
        let entry = entry.map_err(|cause| Error::file("list", directory, cause))?;
        if !LITTER.iter().any(|litter| entry.file_name() == *litter) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Where anybody may put a file, as in `/tmp`: found on the way up, it would be somebody else's.
#[cfg(unix)]
fn is_shared(directory: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    const STICKY_AND_WRITABLE_BY_ALL: u32 = 0o1002;
    fs::metadata(directory).is_ok_and(|metadata| {
        metadata.mode() & STICKY_AND_WRITABLE_BY_ALL == STICKY_AND_WRITABLE_BY_ALL
    })
}

#[cfg(not(unix))]
fn is_shared(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests;
