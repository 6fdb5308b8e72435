//! The results of steps, as the model gets them.
//!
//! Plain data: how results are ordered, shortened and printed is left to `compose`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Command, CommandKind, RelPath, Step};

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Done as asked.
    Ok,
    /// Tried, but it did not work.
    Failed,
    /// Refused by a rule or by the person.
    Refused,
    /// Not tried, because an earlier step failed.
    Skipped,
}

impl Status {
    /// The word in an outbox, as in `[OK]`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Failed => "FAILED",
            Self::Refused => "REFUSED",
            Self::Skipped => "SKIPPED",
        }
    }
}

/// How closely the text of an edit matched the file, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Byte for byte, except for line endings.
    Exact,
    /// Except for white space at the ends of lines.
    TrailingSpace,
    /// Except for indentation that differs by the same amount on every line.
    Indentation,
    /// Except for the amount of white space and the kind of quotes, dashes and spaces.
    #[serde(alias = "punctuation", alias = "within-line", alias = "elision")]
    Whitespace,
    /// Except for indentation that differs from line to line; new lines are written as sent.
    UnevenIndentation,
    /// Except for one layer of backslash escapes.
    Escapes,
    /// Except for line numbers in front of every quoted line.
    LineNumbers,
    /// Except for hunks that had already been applied.
    PartlyApplied,
    /// Except for at most two lines of context at the ends of a hunk.
    Fuzz,
    /// At one of several equal matches: the one nearest to the line that the hunk states, or the
    /// end of the file if the context says so.
    Nearest,
    /// At the only match of a hunk, which is not where its numbers or the line after its `@@` say.
    #[serde(alias = "anchor")]
    Elsewhere,
    /// Already applied: nothing was changed.
    AlreadyApplied,
}

/// The result of executing a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How the step ended.
    pub status: Status,
    /// One line, which holds for the model and for the person: what was done, or why not. If the
    /// person did it, they are its subject, which each reader names in its own way.
    pub message: String,
    /// Remarks for the model and the person: settings that were disabled, text that was repaired, files
    /// that could not be kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The advice for the model: how it goes on from here, or where it finds what was asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
    /// The act of the person that decided it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_person: Option<PersonAct>,
    /// True if it was refused because only the person could decide it, and nobody could be asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_person: bool,
    /// Text below that line: output, listings, the lines around a failed edit.
    #[serde(default, skip_serializing_if = "Capped::is_empty")]
    pub detail: Capped,
    /// The files whose lines the detail shows, if not the file that the step is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excerpts: Vec<Excerpt>,
    /// How closely an edit matched.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// The files that the step changed, as far as known without a look at the whole workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<RelPath>,
    /// The files among them that have a syntax error which they did not have before.
    #[serde(default, skip_serializing_if = "<[RelPath]>::is_empty")]
    pub broken_syntax: Box<[RelPath]>,
    /// The exit code of a command that ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Why a command has no exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<UnfinishedRun>,
}

/// An act of the person, because of which a step was not carried out as the model sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PersonAct {
    /// They said no; the message has their reason.
    Declined,
    /// They passed over it, and went on with the steps after it.
    Skipped,
    /// They stopped at it or before it.
    Stopped,
    /// They interrupted it, or a step before it.
    Interrupted,
    /// They ended the session before it.
    EndedSession,
    /// They had another script run in its place.
    ChangedScript,
}

impl PersonAct {
    /// The words of a message for it, whose subject is the person.
    fn verb(self) -> &'static str {
        match self {
            Self::Declined => "declined",
            Self::Skipped => "skipped this",
            Self::Stopped => "stopped before this",
            Self::Interrupted => "interrupted",
            Self::EndedSession => "ended the session before this",
            Self::ChangedScript => "changed the script",
        }
    }
}

/// The end of a command that did not end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UnfinishedRun {
    /// By a signal that was not ours.
    Signalled(u8),
    /// Its time was up.
    TimedOut,
    /// The person interrupted it.
    Interrupted,
    /// It did not begin.
    NotStarted,
}

impl Outcome {
    /// An outcome of one line.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            remarks: Vec::new(),
            hint: String::new(),
            by_person: None,
            needs_person: false,
            detail: Capped::default(),
            excerpts: Vec::new(),
            level: None,
            changed: Vec::new(),
            broken_syntax: Box::default(),
            exit_code: None,
            unfinished: None,
        }
    }

    /// A step that was done as asked.
    pub fn ok(message: impl Into<String>) -> Self {
        Self::new(Status::Ok, message)
    }

    /// A step that was tried and did not work.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(Status::Failed, message)
    }

    /// A step that a rule or the person refused.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(Status::Refused, message)
    }

    /// A step that was not tried.
    pub fn skipped(message: impl Into<String>) -> Self {
        Self::new(Status::Skipped, message)
    }

    /// A step that was not tried because of what the person did.
    pub fn by_person(act: PersonAct) -> Self {
        let status = match act {
            PersonAct::Declined => Status::Refused,
            _ => Status::Skipped,
        };
        Self {
            by_person: Some(act),
            ..Self::new(status, act.verb())
        }
    }

    /// The line for a reader who calls the person so, as in `the user declined`.
    pub fn line(&self, person: &str) -> String {
        match self.by_person {
            Some(_) => format!("{person} {}", self.message_and_remarks()),
            None => self.message_and_remarks(),
        }
    }

    /// The message and the remarks in one line.
    pub fn message_and_remarks(&self) -> String {
        let remarks = self.remarks.iter().map(String::as_str);
        let all: Vec<&str> = std::iter::once(self.message.as_str())
            .chain(remarks)
            .collect();
        all.join("; ")
    }

    /// The line for the model: what happened, and how it goes on from here.
    pub fn line_for_model(&self) -> String {
        with_hint(self.line("the user"), &self.hint)
    }

    /// The texts that may quote what others wrote.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let texts = [&mut self.message, &mut self.hint, &mut self.detail.text];
        texts.into_iter().chain(&mut self.remarks)
    }

    /// Adds remarks for the model and the person.
    #[must_use]
    pub fn with_remarks(mut self, remarks: impl IntoIterator<Item = String>) -> Self {
        self.remarks.extend(remarks);
        self
    }

    /// Adds advice for the model.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Adds text below the line.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<Capped>) -> Self {
        self.detail = detail.into();
        self
    }

    /// Adds the files whose lines the detail shows, in order.
    #[must_use]
    pub fn with_excerpts(mut self, excerpts: Vec<Excerpt>) -> Self {
        self.excerpts = excerpts;
        self
    }

    /// Adds the files that the step changed.
    #[must_use]
    pub fn with_changed(mut self, changed: impl IntoIterator<Item = RelPath>) -> Self {
        self.changed = changed.into_iter().collect();
        self
    }

    /// Adds the exit code of a command.
    #[must_use]
    pub fn with_exit_code(mut self, code: Option<i32>) -> Self {
        self.exit_code = code;
        self
    }

    /// Adds how closely the edit matched.
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }
}

/// A line for the model: what happened, and how it goes on from here.
///
/// A hint that is a sentence of its own goes on in small letters.
pub fn with_hint(message: String, hint: &str) -> String {
    let mut letters = hint.chars();
    match (letters.next(), letters.next()) {
        (None, _) => message,
        (Some(first), Some('a'..='z')) => {
            format!(
                "{message}; {}{}",
                first.to_lowercase(),
                &hint[first.len_utf8()..]
            )
        }
        _ => format!("{message}; {hint}"),
    }
}

/// The next lines of a detail, which are about a file and may quote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt {
    /// The file.
    pub path: RelPath,
    /// The number of lines.
    pub lines: usize,
    /// How many bytes at the beginning of each line are ours and not the file's, as `12: ` is; no
    /// numbers if all of it may quote the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heads: Vec<usize>,
}

impl Excerpt {
    /// The next lines, which may quote this file as a whole.
    pub fn of_lines(path: RelPath, lines: usize) -> Self {
        Self {
            path,
            lines,
            heads: Vec::new(),
        }
    }
}

/// The outcome of one step of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepResult {
    /// The step's number in the reply.
    pub number: u32,
    /// The command's name.
    pub command: String,
    /// The file that the step is about, or another short label that sets it apart.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// How long it took.
    pub millis: u64,
    /// The result.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl StepResult {
    /// Joins a step with its outcome.
    pub fn new(step: &Step, outcome: Outcome, took: Duration) -> Self {
        Self {
            number: step.number,
            command: step.command.name().to_owned(),
            subject: subject(&step.command),
            millis: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            outcome,
        }
    }

    /// The kind of the command; `None` for one of a newer version.
    pub fn kind(&self) -> Option<CommandKind> {
        self.command.parse().ok()
    }

    /// The verb that people read: what was done, or was to be done. A command of a newer version is
    /// named.
    pub fn verb(&self) -> &str {
        match (self.kind().map(CommandKind::verbs), self.outcome.status) {
            (Some((done, _)), Status::Ok) => done,
            (Some((_, to_do)), _) => to_do,
            (None, _) => &self.command,
        }
    }

    /// Returns true for words of the model that were shown to the person, with nothing to add.
    pub fn is_shown_speech(&self) -> bool {
        self.outcome.status == Status::Ok && self.kind().is_some_and(CommandKind::is_speech)
    }

    /// Returns true for a command that runs a script.
    pub fn is_run(&self) -> bool {
        self.is(CommandKind::RunCommand)
    }

    /// Returns true if the subject is a text and no file: a message does not name it.
    pub fn has_text_subject(&self) -> bool {
        self.is_run() || self.is(CommandKind::SearchText)
    }

    /// Returns true for a command of this kind.
    pub fn is(&self, kind: CommandKind) -> bool {
        self.command == kind.word()
    }
}

/// The longest subject that is no script, in characters.
const SHORT: usize = 100;

fn subject(command: &Command) -> String {
    match command {
        Command::MoveFile { from, to } => format!("{from} -> {to}"),
        Command::SearchText { pattern, .. } => first_line(pattern, SHORT),
        // Most are shorter, so that the result shows exactly what ran.
        Command::RunCommand { script, .. } => first_line(without_options(script), 400),
        other => match (other.selection(), other.path()) {
            (Some(selection), _) => first_line(&selection.to_string(), SHORT),
            (None, Some(path)) => path.to_string(),
            (None, None) => String::new(),
        },
    }
}

/// Skips leading lines such as `set -e`, which say nothing about the script.
fn without_options(script: &str) -> &str {
    let script = script.trim();
    match script.split_once('\n') {
        Some((first, rest)) if first.starts_with("set ") || first.starts_with('#') => {
            without_options(rest)
        }
        _ => script,
    }
}

fn first_line(text: &str, longest: usize) -> String {
    let mut lines = text.trim().lines();
    let line = lines.next().unwrap_or_default();
    let mut short: String = line.chars().take(longest).collect();
    if short.len() < line.len() || lines.next().is_some() {
        short.push_str(" ...");
    }
    short
}

/// Text that was shortened to a limit and says so.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Capped {
    /// The text, with a `[TRUNCATED ...]` line if something is missing.
    pub text: String,
    /// The number of characters (output), lines (files) or items (lists) that were left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Capped {
    /// Returns true if there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

impl From<String> for Capped {
    fn from(text: String) -> Self {
        Self { text, omitted: 0 }
    }
}

impl From<&str> for Capped {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_names_the_person_and_only_the_model_gets_the_advice() {
        let mut declined = Outcome::by_person(PersonAct::Declined);
        declined.message.push_str(": keep it");
        assert_eq!(declined.line("you"), "you declined: keep it");
        assert_eq!(declined.line_for_model(), "the user declined: keep it");
        let failed = Outcome::failed("`a` is too long").with_hint("send it in parts");
        assert_eq!(failed.line("you"), "`a` is too long");
        assert_eq!(failed.line_for_model(), "`a` is too long; send it in parts");
        for (hint, line) in [
            ("Send it again.", "x; send it again."),
            ("`a` is one.", "x; `a` is one."),
            ("JSON is one.", "x; JSON is one."),
            ("", "x"),
        ] {
            assert_eq!(with_hint("x".to_owned(), hint), line);
        }
    }

    #[test]
    fn levels_of_earlier_versions_can_still_be_read() {
        for (name, level) in [
            ("punctuation", Level::Whitespace),
            ("within-line", Level::Whitespace),
            ("elision", Level::Whitespace),
            ("anchor", Level::Elsewhere),
            ("trailing-space", Level::TrailingSpace),
        ] {
            let name = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(name);
            assert_eq!(Level::deserialize(name).unwrap(), level);
        }
    }
}
