//! Context that the person adds to a message up front: files, and what has changed since a commit.
//!
//! Files are shown like those that the model asks for. What only the chat itself can read (images,
//! archives) is named, so that the person attaches it and the model knows of it.

use std::path::Path;

use super::Agent;
use crate::error::{Error, Result};
use crate::execute::{self, Execution};
use crate::fs::resolve_dots;
use crate::protocol::generated::unread;
use crate::protocol::{Command, ReadRequest, RelPath, SeenFiles, Selection, Status, Step};
use crate::session::{Note, Session, Source};
use crate::workspace::Workspace;

/// How much of a difference is added, in characters.
const MAX_DIFF: usize = 40_000;

/// More files than these are not added at once.
const MAX_FILES: usize = 200;

/// Files and differences that the person adds to a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddedContext {
    /// Files to show, in the order in which they were named.
    pub files: Vec<RelPath>,
    /// Files that the person attaches to the chat.
    pub attached: Vec<RelPath>,
    /// The differences, in words for the model; empty if none were asked for.
    pub difference: String,
}

impl AddedContext {
    /// Puts it into the message of the session's current round.
    pub fn put_into(&self, session: &mut Session) {
        for path in &self.files {
            let is_known = |request: &ReadRequest| request.path == *path;
            if !session.read_file_requests.iter().any(is_known) {
                session.read_file_requests.push(super::context::whole(path));
            }
        }
        session.notes.extend(self.note());
    }

    /// Writes the note that goes to the model with the added files, if there is anything to say.
    pub fn note(&self) -> Option<String> {
        let names: Vec<String> = self
            .attached
            .iter()
            .map(|path| format!("`{path}`"))
            .collect();
        let mut lines = Vec::new();
        if !names.is_empty() {
            let names = names.join(", ");
            lines.push(format!(
                "The user attaches to the chat, beside this message: {names}"
            ));
        }
        if !self.difference.is_empty() {
            lines.push(self.difference.clone());
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// Takes over what the person noted: words, and files that they added.
pub(super) fn take_notes(session: &mut Session, notes: &[Note]) {
    let mut added = AddedContext::default();
    for note in notes {
        match note.source {
            Source::Added => {
                let paths = note.text.lines().map(RelPath::parse);
                added
                    .files
                    .extend(paths.filter_map(std::result::Result::ok));
            }
            Source::Person | Source::Undo => session.notes.push(note.text.clone()),
        }
    }
    added.put_into(session);
}

impl Agent {
    /// Finds what `--add` and `--add-diff` name; paths are relative to `here` or to the workspace.
    pub fn find_added(
        &self,
        here: &Path,
        paths: &[String],
        revision: Option<&str>,
    ) -> Result<AddedContext> {
        let mut added = AddedContext::default();
        for path in paths {
            for found in find_files(&self.workspace, here, path)? {
                let list = match unread(&found) {
                    Some("binary") => &mut added.attached,
                    _ => &mut added.files,
                };
                if !list.contains(&found) {
                    list.push(found);
                }
            }
        }
        if added.files.len() > MAX_FILES {
            let count = added.files.len();
            return Err(
                Error::usage(format!("`--add` names {count} files")).hint(format!(
                    "name at most {MAX_FILES}, or let the model read what it needs"
                )),
            );
        }
        if let Some(revision) = revision {
            added.difference = self.difference_since(revision)?;
        }
        Ok(added)
    }

    /// Runs git for the changes since a commit, and puts them in a code fence.
    fn difference_since(&self, revision: &str) -> Result<String> {
        if revision.starts_with('-') || revision.contains(char::is_whitespace) {
            return Err(Error::usage(format!("`{revision}` is no commit")));
        }
        let mut seen = SeenFiles::default();
        let mut limits = self.limits.clone();
        limits.max_output = MAX_DIFF;
        let mut execution = Execution::begin(&self.workspace, &limits, &mut seen, &[]);
        execution.run_at(self.manner.authorizer.place([]));
        let outcome = execution.diff_since(revision);
        if outcome.status != Status::Ok {
            let said = outcome.detail.text.lines().next().unwrap_or_default();
            return Err(Error::mendable(format!(
                "git could not tell what changed since `{revision}`: {} {said}",
                outcome.message
            )));
        }
        let text = outcome.detail.text;
        if text.trim().is_empty() {
            return Ok(format!(
                "Nothing has changed since `{revision}`: {}.",
                outcome.message
            ));
        }
        Ok(format!(
            "What has changed since `{revision}`:\n{}",
            crate::compose::fenced(&text)
        ))
    }
}

/// The files that a path, a glob or a directory names, relative to `here` or to the workspace.
pub fn find_files(workspace: &Workspace, here: &Path, named: &str) -> Result<Vec<RelPath>> {
    let root = workspace.path();
    let outside = || {
        Error::usage(format!("`{named}` is not in the workspace"))
            .hint(format!("the workspace is `{}`", root.display()))
    };
    let absolute = resolve_dots(&here.join(named));
    let inside = match absolute.strip_prefix(root) {
        Ok(inside) => inside.to_string_lossy().into_owned(),
        Err(_) if Path::new(named).is_absolute() => return Err(outside()),
        Err(_) => named.to_owned(),
    };
    let is_directory = root.join(&inside).is_dir();
    let pattern = match inside.trim_end_matches('/') {
        "" | "." => "**".to_owned(),
        inside if is_directory => format!("{inside}/**"),
        inside => inside.to_owned(),
    };
    let selection = Selection::parse(&pattern).map_err(|_| outside())?;
    let step = Step {
        number: 0,
        line: 0,
        command: Command::ReadFile {
            path: selection,
            start_line: None,
            end_line: None,
            numbered: false,
        },
    };
    let requests = execute::read_requests(workspace, [&step]);
    let is_there = |request: &ReadRequest| workspace.open_file(&request.path).is_ok();
    let found: Vec<RelPath> = (requests.into_iter().filter(is_there))
        .map(|request| request.path)
        .collect();
    if found.is_empty() {
        return Err(
            Error::usage(format!("there is no file `{named}` in the workspace"))
                .hint("`--add` takes a file, a directory or a pattern such as `src/*.py`"),
        );
    }
    Ok(found)
}
