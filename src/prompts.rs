//! Prompt templates: tasks that are written once and used often, as `agent new /review src`.
//!
//! They are Markdown files in the project (`.agent/prompts/`) and in the person's own configuration
//! (`$XDG_CONFIG_HOME/agent/prompts/`). Of two with one name the person's counts: a project cannot
//! take the place of what they know. What a project brings is text of others that becomes the
//! person's own words to a model, so it counts only once the person has seen it; asking them is left
//! to the command line. A project's template is never read through a link, which could name any
//! file of the person's.

mod front_matter;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use self::front_matter::{FrontMatter, is_name};
use crate::error::{Error, Result};
use crate::settings::{DIRECTORY_NAME, Trust, nearest};

/// The directory with templates, in `.agent` and in the person's configuration.
const FOLDER: &str = "prompts";
/// The placeholder for the words after the name.
const PLACE_OF_WORDS: &str = "args";
/// The most bytes of a template: longer than any task may be.
const LARGEST: u64 = 64 * 1024;
/// The most files that are looked at in one place.
const MOST: usize = 200;

/// Whose template it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Owner {
    /// It lies in the person's own configuration.
    Person,
    /// It came with the project.
    Project,
}

/// A template.
#[derive(Debug)]
pub struct PromptTemplate {
    /// Its name, without the slash.
    pub name: String,
    /// Its purpose, in one line; may be empty.
    pub description: String,
    /// The task, with `{{args}}` where the words go.
    pub text: String,
    /// Whose it is.
    pub owner: Owner,
    /// Where it stands.
    pub file: PathBuf,
    content: Vec<u8>,
}

/// Where templates are looked for.
#[derive(Debug, Clone)]
pub struct Shelves {
    /// The person's own; none where they have no home.
    pub person: Option<PathBuf>,
    /// The project's.
    pub project: PathBuf,
}

/// Splits a task that calls a template, as `/review src/main.rs`: the name and the words.
///
/// Only a task whose first word is a slash and a name: `/etc/hosts is wrong` is none, and neither is
/// one that begins with a space.
pub fn called(task: &str) -> Option<(&str, &str)> {
    let rest = task.strip_prefix('/')?;
    let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_call = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    is_call.then_some((name, words.trim()))
}

impl Shelves {
    /// Those of this person and of the project with this base directory.
    pub fn of(base: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let is_in_place = base.file_name().is_some_and(|name| name == DIRECTORY_NAME);
        let own = if is_in_place {
            base.to_owned()
        } else {
            base.join(DIRECTORY_NAME)
        };
        Self {
            person: configuration(variable).map(|place| place.join("agent").join(FOLDER)),
            project: own.join(FOLDER),
        }
    }

    /// All templates by name, and what is wrong with files that are none.
    ///
    /// Where the person and the project have one of the same name, only the person's is there.
    pub fn all(&self) -> (Vec<PromptTemplate>, Vec<Error>) {
        let (mut prompts, mut troubles) = (Vec::new(), Vec::new());
        let person = self.person.as_deref().map(|place| (place, Owner::Person));
        let places = person
            .into_iter()
            .chain([(self.project.as_path(), Owner::Project)]);
        for (place, owner) in places {
            for file in files(place, owner, &mut troubles) {
                match PromptTemplate::read(file, owner) {
                    Ok(prompt) => add(prompt, &mut prompts, &mut troubles),
                    Err(trouble) => troubles.push(trouble),
                }
            }
        }
        prompts.sort_by(|one, other| one.name.cmp(&other.name));
        (prompts, troubles)
    }

    /// The template of this name.
    pub fn named(&self, name: &str) -> Result<PromptTemplate> {
        let (mut prompts, mut troubles) = self.all();
        if let Some(at) = prompts.iter().position(|prompt| prompt.name == name) {
            return Ok(prompts.swap_remove(at));
        }
        // A person who wrote `fix.md` and calls `/fix` wants to know why it is not a template.
        let file = format!("{name}.md");
        let about = |trouble: &Error| trouble.to_string().contains(&file);
        if let Some(at) = troubles.iter().position(about) {
            return Err(troubles.swap_remove(at));
        }
        let error = Error::usage(format!("there is no prompt template `/{name}`"));
        let names = prompts.iter().map(|prompt| prompt.name.as_str());
        Err(match nearest(name, names) {
            Some(near) => error.hint(format!("did you mean `/{near}`?")),
            None => error.hint("`agent prompts` lists the templates"),
        })
    }
}

impl PromptTemplate {
    fn read(file: PathBuf, owner: Owner) -> Result<Self> {
        let content = read(&file, owner)?;
        let wrong = |problem: String| {
            Error::mendable(format!(
                "`{}` is no prompt template: {problem}",
                file.display()
            ))
            .hint("`agent help prompts` shows what one looks like")
        };
        let text =
            std::str::from_utf8(&content).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
        let (front, text) = FrontMatter::split(text).map_err(wrong)?;
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let name = front.name.unwrap_or_else(|| stem.to_lowercase());
        if !is_name(&name) {
            return Err(wrong(
                "its name may have small letters, digits, `-` and `_`, at most 40".to_owned(),
            ));
        }
        if text.trim().is_empty() {
            return Err(wrong("it has no text".to_owned()));
        }
        Ok(Self {
            name,
            description: front.description.unwrap_or_default(),
            text: text.trim().to_owned(),
            owner,
            file,
            content,
        })
    }

    /// Returns true if it may be used without showing it: it is the person's own, or they have seen
    /// it.
    pub fn is_trusted(&self, trust: &Trust) -> bool {
        self.owner == Owner::Person || trust.holds(&self.file, &self.content)
    }

    /// Remembers that the person has seen it as it is now.
    pub fn confirm(&self, trust: &Trust) -> Result<()> {
        trust.remember(&self.file, &self.content)
    }

    /// The task: the words take the place of `{{args}}`, or come last where it has no such place.
    pub fn fill(&self, words: &str) -> Result<String> {
        let (mut task, mut has_place) = (String::new(), false);
        let mut rest = self.text.as_str();
        while let Some((before, after)) = rest.split_once("{{") {
            task.push_str(before);
            let behind = after.trim_start().strip_prefix(PLACE_OF_WORDS);
            let behind = behind.and_then(|behind| behind.trim_start().strip_prefix("}}"));
            // Other braces are somebody else's: the text goes on right after them.
            task.push_str(if behind.is_some() { words } else { "{{" });
            has_place |= behind.is_some();
            rest = behind.unwrap_or(after);
        }
        task.push_str(rest);
        if has_place && words.is_empty() {
            return Err(
                Error::usage(format!("`/{}` wants words after its name", self.name))
                    .hint(format!("agent new /{} <words>", self.name))
                    .hint(format!("`agent prompts {}` shows where they go", self.name)),
            );
        }
        if !has_place && !words.is_empty() {
            task.push_str("\n\n");
            task.push_str(words);
        }
        Ok(task)
    }
}

/// Puts a template beside the others; two of one name in one place are both in doubt.
fn add(prompt: PromptTemplate, prompts: &mut Vec<PromptTemplate>, troubles: &mut Vec<Error>) {
    match prompts.iter().find(|other| other.name == prompt.name) {
        None => prompts.push(prompt),
        Some(other) if other.owner != prompt.owner => {}
        Some(other) => troubles.push(
            Error::mendable(format!(
                "`{}` and `{}` have the same name, `{}`; only the first counts",
                other.file.display(),
                prompt.file.display(),
                prompt.name
            ))
            .hint("change `name:` in one of them"),
        ),
    }
}

/// The Markdown files of a place, by name.
fn files(place: &Path, owner: Owner, troubles: &mut Vec<Error>) -> Vec<PathBuf> {
    if owner == Owner::Project && leads_elsewhere(place) {
        troubles.push(
            Error::mendable(format!(
                "`{}` is a link, so it is not read",
                place.display()
            ))
            .hint("use a directory of the project"),
        );
        return Vec::new();
    }
    let entries = match fs::read_dir(place) {
        Ok(entries) => entries,
        Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Vec::new();
        }
        Err(cause) => {
            troubles.push(Error::file("list", place, cause));
            return Vec::new();
        }
    };
    let is_template = |path: &PathBuf| {
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let ending = path.extension().unwrap_or_default();
        !is_hidden && ending.eq_ignore_ascii_case("md")
    };
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(is_template)
        .collect();
    files.sort();
    if files.len() > MOST {
        troubles.push(
            Error::mendable(format!(
                "`{}` has more than {MOST} templates; only the first {MOST} count",
                place.display()
            ))
            .hint("remove those that you do not use"),
        );
        files.truncate(MOST);
    }
    files
}

/// Returns true if the folder of a project, or the one above it, is a link.
fn leads_elsewhere(place: &Path) -> bool {
    let is_link = |path: &Path| {
        path.symlink_metadata()
            .is_ok_and(|metadata| metadata.is_symlink())
    };
    is_link(place) || place.parent().is_some_and(is_link)
}

fn read(file: &Path, owner: Owner) -> Result<Vec<u8>> {
    let metadata = match owner {
        Owner::Person => fs::metadata(file),
        Owner::Project => fs::symlink_metadata(file),
    };
    let metadata = metadata.map_err(|cause| Error::file("read", file, cause))?;
    if metadata.is_symlink() {
        return Err(
            Error::mendable(format!("`{}` is a link, so it is not read", file.display()))
                .hint("put the text itself there"),
        );
    }
    if !metadata.is_file() {
        return Err(Error::mendable(format!("`{}` is no file", file.display()))
            .hint("remove it, or give it another ending than `.md`"));
    }
    let mut content = Vec::new();
    File::open(file)
        .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut content))
        .map_err(|cause| Error::file("read", file, cause))?;
    if content.len() as u64 > LARGEST {
        return Err(Error::mendable(format!(
            "`{}` has more than 64 KiB: that is no prompt template",
            file.display()
        ))
        .hint("put the long part into a file of the workspace and name it in the template"));
    }
    Ok(content)
}

/// Where this system keeps what a person configures.
fn configuration(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // A relative path would make it a part of the project; XDG says to ignore it.
    let place = |name: &str| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    place("XDG_CONFIG_HOME").or_else(|| {
        if cfg!(windows) {
            place("APPDATA")
        } else if cfg!(target_os = "macos") {
            place("HOME").map(|home| home.join("Library/Application Support"))
        } else {
            place("HOME").map(|home| home.join(".config"))
        }
    })
}

#[cfg(test)]
mod tests;
