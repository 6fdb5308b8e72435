//! The way back: a reply may use a placeholder in edits of the file in which its secret stands, and
//! nowhere else. One that stands for nothing here is refused, for it would overwrite a secret.

use std::borrow::Cow;

use super::{Redactor, text_of};
use crate::execute::quoted_replacement;
use crate::protocol::{
    Command, Edit, FileChange, Hunk, HunkLine, Outcome, Pattern, RelPath, Selection, Step,
};
use crate::secrets::{Misplaced, Secret, Vault, may_have_placeholders, placeholder_in};
use crate::workspace::Workspace;

impl Redactor<'_> {
    /// The step with secrets in the place of placeholders, or why it is refused.
    pub(in crate::agent) fn reveal<'s>(&self, step: &'s Step) -> Result<Cow<'s, Step>, Outcome> {
        let is_off = self.agent.manner.secrets.is_none() && self.known.vault.is_empty();
        if is_off {
            return Ok(Cow::Borrowed(step));
        }
        let revealing = Revealing {
            vault: &self.known.vault,
            workspace: &self.agent.workspace,
            max_file_bytes: self.agent.limits.max_file_bytes,
        };
        let revealed = revealing.revealed(&step.command)?;
        Ok(revealed.map_or(Cow::Borrowed(step), |command| {
            let mut step = step.clone();
            step.command = command;
            Cow::Owned(step)
        }))
    }
}

/// Why a step without a session is refused: it has placeholders, and nobody knows for what.
pub(in crate::agent) fn refused_placeholder(
    workspace: &Workspace,
    max_file_bytes: u64,
    command: &Command,
) -> Option<Outcome> {
    let revealing = Revealing {
        vault: &Vault::default(),
        workspace,
        max_file_bytes,
    };
    revealing.revealed(command).err()
}

/// Why a command is refused that has a placeholder where a file is to be named; one that lies there
/// under such a name may be.
fn refused_name(workspace: &Workspace, command: &Command) -> Option<Outcome> {
    let selected = command.selection().into_iter();
    let selected = selected.flat_map(Selection::entries);
    let paths = command.path().into_iter().chain(command.changed_paths());
    let is_there = |path: &RelPath| matches!(workspace.kind(path), Ok(Some(_)));
    let placeholder = paths.chain(selected).find_map(|path| {
        let placeholder = placeholder_in(path.as_str())?;
        (!is_there(path)).then_some(placeholder)
    })?;
    Some(
        Outcome::refused(format!(
            "`{placeholder}` stands for a secret and is no name of a file"
        ))
        .with_hint("name files as LIST_FILES shows them, or ask the user"),
    )
}

fn refusal(misplaced: &Misplaced) -> Outcome {
    let Misplaced { placeholder, files } = misplaced;
    let Some(files) = files else {
        return Outcome::refused(format!(
            "`{placeholder}` stands for no secret that is known here, and would overwrite one"
        ))
        .with_hint("leave the lines that have it as they are, or ask the user to write them");
    };
    let place = match files.first() {
        Some(file) => format!("edits of the file in which it stands (`{file}`)"),
        None => "edits of the file in which it stands".to_owned(),
    };
    Outcome::refused(format!(
        "`{placeholder}` stands for a secret that only {place} can use"
    ))
    .with_hint("let the program read the secret from there, or ask the user")
}

/// Puts secrets back in place of their placeholders.
struct Revealing<'a> {
    vault: &'a Vault,
    workspace: &'a Workspace,
    max_file_bytes: u64,
}

impl Revealing<'_> {
    /// The command with secrets in the place of placeholders, if it has any, or why it is refused.
    fn revealed(&self, command: &Command) -> Result<Option<Command>, Outcome> {
        if let Some(refused) = refused_name(self.workspace, command) {
            return Err(refused);
        }
        let text = serde_json::to_string(command);
        if text.is_ok_and(|text| !may_have_placeholders(&text)) {
            return Ok(None);
        }
        let mut revealed = command.clone();
        self.command(&mut revealed)
            .map_err(|misplaced| refusal(&misplaced))?;
        Ok(Some(revealed))
    }

    fn command(&self, command: &mut Command) -> Result<(), Misplaced> {
        match command {
            Command::CreateFile { path, content, .. } => self.in_file(path, [content]),
            Command::InsertText { path, text, .. } => self.in_file(path, [text]),
            Command::EditFile { path, edit } => match edit {
                Edit::Lines { text, .. } => self.in_file(path, [text]),
                Edit::Replace { edits } => {
                    for edit in edits {
                        let [sought, put]: [Quote; 2] = match edit.pattern {
                            Pattern::Regex => [regex::escape, quoted_replacement],
                            Pattern::Lines | Pattern::Text => [str::to_owned; 2],
                        };
                        self.put_back(path, &mut edit.search, sought)?;
                        self.put_back(path, &mut edit.replace, put)?;
                        if let Some(unnumbered) = &mut edit.unnumbered {
                            let texts = [&mut unnumbered.search, &mut unnumbered.replace];
                            self.in_file(path, texts)?;
                        }
                    }
                    Ok(())
                }
            },
            Command::ApplyPatch { changes } => changes
                .iter_mut()
                .try_for_each(|change| self.change(change)),
            Command::RunCommand { script, .. } => {
                self.nowhere(script, |secret| secret.is_none() && self.vault.is_empty())
            }
            // What it does not find it does not overwrite.
            Command::SearchText { pattern, .. } => self.nowhere(pattern, |secret| secret.is_none()),
            _ => Ok(()),
        }
    }

    fn change(&self, change: &mut FileChange) -> Result<(), Misplaced> {
        match change {
            FileChange::Add { path, content, .. } => self.in_file(path, [content]),
            FileChange::Delete { path, hunks } | FileChange::Update { path, hunks, .. } => {
                hunks.iter_mut().try_for_each(|hunk| self.hunk(path, hunk))
            }
        }
    }

    fn hunk(&self, path: &RelPath, hunk: &mut Hunk) -> Result<(), Misplaced> {
        let lines = hunk.lines.iter_mut().map(|line| match line {
            HunkLine::Keep(text) | HunkLine::Remove(text) | HunkLine::Add(text) => text,
        });
        self.in_file(path, lines.chain(&mut hunk.anchors))
    }

    fn in_file<'t>(
        &self,
        path: &RelPath,
        texts: impl IntoIterator<Item = &'t mut String>,
    ) -> Result<(), Misplaced> {
        let mut texts = texts.into_iter();
        texts.try_for_each(|text| self.put_back(path, text, str::to_owned))
    }

    fn put_back(&self, path: &RelPath, text: &mut String, quote: Quote) -> Result<(), Misplaced> {
        let mut content_of_file: Option<String> = None;
        let mut may = |placeholder: &str, secret: Option<&Secret>| {
            let is_here = secret.is_some_and(|secret| secret.files.contains(path.as_str()));
            let content = || text_of(self.workspace, path, self.max_file_bytes).unwrap_or_default();
            is_here || {
                let content = content_of_file.get_or_insert_with(content);
                match secret {
                    Some(secret) => secret.lines.iter().any(|line| content.contains(line)),
                    None => content.contains(placeholder),
                }
            }
        };
        if let Some(revealed) = self.vault.reveal(text, &mut may, &quote)? {
            *text = revealed;
        }
        Ok(())
    }

    fn nowhere(&self, text: &str, may: impl Fn(Option<&Secret>) -> bool) -> Result<(), Misplaced> {
        let may = &mut |_: &str, secret: Option<&Secret>| may(secret);
        self.vault.reveal(text, may, &str::to_owned).map(|_| ())
    }
}

/// Writes a secret as the place requires where it is put back.
type Quote = fn(&str) -> String;
