//! The commands of the protocol, typed.
//!
//! A value of these types is well formed. Paths are checked (`RelPath`), but nothing here looks at
//! the workspace; execution and permission are left to others. All of it is written to sessions and
//! journals, so serialised names are a contract.

use serde::{Deserialize, Serialize};

use super::{FileChange, RelPath, Selection};

/// One command of a reply, with its position in the reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Counts the commands of the reply from 1, malformed ones included.
    pub number: u32,
    /// The line of the reply on which it begins, from 1.
    pub line: u32,
    /// The command itself.
    #[serde(flatten)]
    pub command: Command,
}

/// The number of the line after which text is appended to a file, however long it is.
pub const END_OF_FILE: u32 = u32::MAX;

/// A parsed command, checked as far as possible without the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(
    missing_docs,
    reason = "the fields are the attributes and the body of the protocol"
)]
pub enum Command {
    /// Creates or overwrites a file, making directories.
    CreateFile {
        path: RelPath,
        content: String,
        #[serde(default, skip_serializing_if = "ContentSource::is_command")]
        source: ContentSource,
    },
    /// Changes an existing file, by line numbers or by text.
    EditFile {
        path: RelPath,
        #[serde(flatten)]
        edit: Edit,
    },
    /// Inserts text after a line; line 0 is the top of the file, [`END_OF_FILE`] its end.
    InsertText {
        path: RelPath,
        /// Serialised as `after_line`, because a step already has a `line`: the one in the reply.
        #[serde(rename = "after_line")]
        line: u32,
        text: String,
    },
    /// Changes any number of files: all of them or none.
    ApplyPatch { changes: Vec<FileChange> },
    /// Deletes a file, never a directory.
    DeleteFile { path: RelPath },
    /// Renames a file, never onto an existing one.
    MoveFile { from: RelPath, to: RelPath },
    /// Asks for the contents of files, or of a range of their lines, in the next outbox.
    ReadFile {
        path: Selection,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start_line: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end_line: Option<u32>,
        #[serde(default)]
        numbered: bool,
    },
    /// Lists files below directories; `None` is the whole workspace.
    ListFiles {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<Selection>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        glob: Option<String>,
    },
    /// Searches the text of files.
    SearchText {
        pattern: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<Selection>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        glob: Option<String>,
        #[serde(default)]
        regex: bool,
        #[serde(default)]
        case_sensitive: bool,
        /// The number of lines shown around each match.
        #[serde(default, skip_serializing_if = "is_zero")]
        context: u32,
    },
    /// Lists the symbols of source files; `None` is the whole workspace.
    Outline {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<Selection>,
    },
    /// Runs a shell script in the workspace.
    RunCommand {
        script: String,
        /// In seconds; capped by the settings.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout: Option<u32>,
    },
    /// Shows `git status`.
    GitStatus {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<RelPath>,
    },
    /// Shows `git diff`.
    GitDiff {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<RelPath>,
    },
    /// The model's plan: shown to the person, kept in the session.
    Plan { text: String },
    /// A message to the person.
    Message { text: String },
    /// A question to the person; the answer comes with the next outbox.
    AskUser { question: String },
    /// Ends the session.
    Done { summary: String },
}

/// How `EDIT_FILE` changes a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[expect(
    missing_docs,
    reason = "the fields are the attributes and the body of the protocol"
)]
pub enum Edit {
    /// Replaces the lines `start_line..=end_line`, counted from 1; an empty text deletes them.
    Lines {
        start_line: u32,
        end_line: u32,
        text: String,
    },
    /// Replaces passages of text, in order.
    Replace { edits: Vec<Replacement> },
}

/// One passage to be replaced by another.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Replacement {
    /// The text to find; an empty one creates a file that does not exist.
    pub search: String,
    /// The text that replaces it.
    pub replace: String,
    /// How `search` is interpreted.
    #[serde(default, skip_serializing_if = "Pattern::is_lines")]
    pub pattern: Pattern,
    /// Replaces every match instead of the only one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// The line where the model believes the passage begins; chooses between several matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// This replacement without the line numbers in front of each of its lines. Tried only if
    /// `search` matches nowhere as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unnumbered: Option<Box<Replacement>>,
}

/// How the search text of a replacement is interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Whole lines, as in SEARCH/REPLACE blocks.
    #[default]
    Lines,
    /// A string that may begin and end within a line.
    Text,
    /// A regular expression.
    Regex,
}

impl Pattern {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde calls it with a reference"
    )]
    fn is_lines(&self) -> bool {
        *self == Self::Lines
    }
}

impl Replacement {
    /// A SEARCH/REPLACE block of whole lines.
    pub fn lines(search: impl Into<String>, replace: impl Into<String>) -> Self {
        Self {
            search: search.into(),
            replace: replace.into(),
            pattern: Pattern::Lines,
            all: false,
            line: None,
            unnumbered: None,
        }
    }
}
/// How the content of a file was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentSource {
    /// As the body of a command: all of it is the file.
    #[default]
    Command,
    /// As a code block under a path. It may be an excerpt, so it replaces an existing file only if it
    /// is plainly the whole of it.
    CodeBlock,
}

impl ContentSource {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde calls it with a reference"
    )]
    fn is_command(&self) -> bool {
        *self == Self::Command
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

crate::words! {
    /// The kind of a command. Its word is its name in the protocol, as in `[CREATE_FILE ...]`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum CommandKind {
        /// Creates or overwrites a file.
        CreateFile = "CREATE_FILE",
        /// Changes a file.
        EditFile = "EDIT_FILE",
        /// Inserts lines into a file.
        InsertText = "INSERT_TEXT",
        /// Changes several files.
        ApplyPatch = "APPLY_PATCH",
        /// Deletes a file.
        DeleteFile = "DELETE_FILE",
        /// Renames a file.
        MoveFile = "MOVE_FILE",
        /// Shows files.
        ReadFile = "READ_FILE",
        /// Lists files.
        ListFiles = "LIST_FILES",
        /// Searches files.
        SearchText = "SEARCH_TEXT",
        /// Lists the symbols of files.
        Outline = "OUTLINE",
        /// Runs a script.
        RunCommand = "RUN_COMMAND",
        /// Shows the status of the repository.
        GitStatus = "GIT_STATUS",
        /// Shows the changes of the repository.
        GitDiff = "GIT_DIFF",
        /// Says what comes next.
        Plan = "PLAN",
        /// Tells the person something.
        Message = "MESSAGE",
        /// Asks the person something.
        AskUser = "ASK_USER",
        /// Ends the session.
        Done = "DONE",
    }
}

impl CommandKind {
    /// Returns true for commands that change files themselves.
    pub const fn changes_files(self) -> bool {
        matches!(
            self,
            Self::CreateFile
                | Self::EditFile
                | Self::InsertText
                | Self::ApplyPatch
                | Self::DeleteFile
                | Self::MoveFile
        )
    }

    /// The verbs that people read: when it is done, and before.
    pub const fn verbs(self) -> (&'static str, &'static str) {
        match self {
            Self::RunCommand => ("ran", "run"),
            Self::CreateFile => ("created", "create"),
            Self::EditFile | Self::InsertText => ("edited", "edit"),
            Self::ApplyPatch => ("patched", "patch"),
            Self::DeleteFile => ("deleted", "delete"),
            Self::MoveFile => ("moved", "move"),
            Self::ReadFile => ("read", "read"),
            Self::ListFiles => ("listed", "list files"),
            Self::SearchText => ("searched", "search"),
            Self::Outline => ("outlined", "outline"),
            Self::GitStatus => ("git status", "git status"),
            Self::GitDiff => ("git diff", "git diff"),
            Self::Plan => ("planned", "plan"),
            Self::Message => ("said", "say"),
            Self::AskUser => ("asked", "ask"),
            Self::Done => ("done", "done"),
        }
    }

    /// Returns true for commands that only say something to the person.
    pub const fn is_speech(self) -> bool {
        matches!(
            self,
            Self::Plan | Self::Message | Self::AskUser | Self::Done
        )
    }
}

impl Command {
    /// Creates or overwrites a file whose content is all of it.
    pub fn create_file(path: RelPath, content: String) -> Self {
        Self::CreateFile {
            path,
            content,
            source: ContentSource::Command,
        }
    }

    /// The kind of the command.
    pub const fn kind(&self) -> CommandKind {
        match self {
            Self::CreateFile { .. } => CommandKind::CreateFile,
            Self::EditFile { .. } => CommandKind::EditFile,
            Self::InsertText { .. } => CommandKind::InsertText,
            Self::ApplyPatch { .. } => CommandKind::ApplyPatch,
            Self::DeleteFile { .. } => CommandKind::DeleteFile,
            Self::MoveFile { .. } => CommandKind::MoveFile,
            Self::ReadFile { .. } => CommandKind::ReadFile,
            Self::ListFiles { .. } => CommandKind::ListFiles,
            Self::SearchText { .. } => CommandKind::SearchText,
            Self::Outline { .. } => CommandKind::Outline,
            Self::RunCommand { .. } => CommandKind::RunCommand,
            Self::GitStatus { .. } => CommandKind::GitStatus,
            Self::GitDiff { .. } => CommandKind::GitDiff,
            Self::Plan { .. } => CommandKind::Plan,
            Self::Message { .. } => CommandKind::Message,
            Self::AskUser { .. } => CommandKind::AskUser,
            Self::Done { .. } => CommandKind::Done,
        }
    }

    /// The name in the protocol, as in `[CREATE_FILE ...]`.
    pub const fn name(&self) -> &'static str {
        self.kind().word()
    }

    /// The file that the command is about, if there is one; the first file of a patch.
    pub fn path(&self) -> Option<&RelPath> {
        match self {
            Self::CreateFile { path, .. }
            | Self::EditFile { path, .. }
            | Self::InsertText { path, .. }
            | Self::DeleteFile { path }
            | Self::MoveFile { from: path, .. } => Some(path),
            Self::GitStatus { path } | Self::GitDiff { path } => path.as_ref(),
            Self::ApplyPatch { changes } => changes.first().map(FileChange::path),
            _ => self.selection().and_then(Selection::only),
        }
    }

    /// The files that the command looks at, for commands that accept several.
    pub fn selection(&self) -> Option<&Selection> {
        match self {
            Self::ReadFile { path, .. } => Some(path),
            Self::ListFiles { path, .. }
            | Self::SearchText { path, .. }
            | Self::Outline { path } => path.as_ref(),
            _ => None,
        }
    }

    /// The files that the command itself changes, as far as it names them.
    pub fn changed_paths(&self) -> Vec<&RelPath> {
        match self {
            Self::CreateFile { path, .. }
            | Self::EditFile { path, .. }
            | Self::InsertText { path, .. }
            | Self::DeleteFile { path } => vec![path],
            Self::MoveFile { from, to } => vec![from, to],
            Self::ApplyPatch { changes } => changes.iter().flat_map(FileChange::paths).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns true if the command itself changes files.
    pub fn changes_files(&self) -> bool {
        self.kind().changes_files()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_one_flat_object() {
        let step = Step {
            number: 2,
            line: 7,
            command: Command::EditFile {
                path: RelPath::parse("a.rs").unwrap(),
                edit: Edit::Replace {
                    edits: vec![Replacement::lines("old", "new")],
                },
            },
        };
        let json = serde_json::to_string(&step).unwrap();
        assert_eq!(
            json,
            r#"{"number":2,"line":7,"command":"EDIT_FILE","path":"a.rs","edits":[{"search":"old","replace":"new"}]}"#
        );
        assert_eq!(serde_json::from_str::<Step>(&json).unwrap(), step);
    }

    #[test]
    fn the_line_of_the_reply_and_the_line_of_the_file_are_told_apart() {
        let step = Step {
            number: 1,
            line: 7,
            command: Command::InsertText {
                path: RelPath::parse("a.rs").unwrap(),
                line: 3,
                text: "x\n".to_owned(),
            },
        };
        let json = serde_json::to_string(&step).unwrap();
        assert_eq!(
            json,
            r#"{"number":1,"line":7,"command":"INSERT_TEXT","path":"a.rs","after_line":3,"text":"x\n"}"#
        );
        assert_eq!(serde_json::from_str::<Step>(&json).unwrap(), step);
    }

    #[test]
    fn line_edits_come_back_as_line_edits() {
        let command = Command::EditFile {
            path: RelPath::parse("a.rs").unwrap(),
            edit: Edit::Lines {
                start_line: 1,
                end_line: 2,
                text: String::new(),
            },
        };
        let json = serde_json::to_string(&command).unwrap();
        assert_eq!(serde_json::from_str::<Command>(&json).unwrap(), command);
    }
}
