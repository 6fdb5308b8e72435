//! The names of the commands, and what a wrong name may have meant.

use crate::tools;

/// A command's name in a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Name {
    CreateFile,
    EditFile,
    InsertText,
    ApplyPatch,
    DeleteFile,
    MoveFile,
    ReadFile,
    ListFiles,
    SearchText,
    Outline,
    RunCommand,
    GitStatus,
    GitDiff,
    Plan,
    Message,
    AskUser,
    Done,
}

const ALL: [(Name, &str); 17] = [
    (Name::CreateFile, "CREATE_FILE"),
    (Name::EditFile, "EDIT_FILE"),
    (Name::InsertText, "INSERT_TEXT"),
    (Name::ApplyPatch, "APPLY_PATCH"),
    (Name::DeleteFile, "DELETE_FILE"),
    (Name::MoveFile, "MOVE_FILE"),
    (Name::ReadFile, "READ_FILE"),
    (Name::ListFiles, "LIST_FILES"),
    (Name::SearchText, "SEARCH_TEXT"),
    (Name::Outline, "OUTLINE"),
    (Name::RunCommand, "RUN_COMMAND"),
    (Name::GitStatus, "GIT_STATUS"),
    (Name::GitDiff, "GIT_DIFF"),
    (Name::Plan, "PLAN"),
    (Name::Message, "MESSAGE"),
    (Name::AskUser, "ASK_USER"),
    (Name::Done, "DONE"),
];

/// The longest name that is worth comparing.
const MAX_LENGTH: usize = 24;

/// How many letters a name may differ from the one that was meant.
const MAX_DISTANCE: usize = 2;

impl Name {
    /// All names.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        ALL.iter().map(|(name, _)| *name)
    }

    /// Reads a name in any letter case.
    pub(crate) fn read(text: &str) -> Option<Self> {
        ALL.iter()
            .find(|(_, name)| name.eq_ignore_ascii_case(text))
            .map(|(name, _)| *name)
    }

    /// Reads a name in the protocol's own letters.
    pub(crate) fn exact(text: &str) -> Option<Self> {
        Self::read(text).filter(|name| name.as_str() == text)
    }

    /// The name as the protocol writes it.
    pub(crate) fn as_str(self) -> &'static str {
        ALL.iter()
            .find(|(name, _)| *name == self)
            .map_or("", |(_, text)| text)
    }

    /// Returns true if it has two words, so that hardly anything else is called so.
    pub(crate) fn is_compound(self) -> bool {
        self.as_str().contains('_')
    }

    /// Returns true if it is only a word to the person.
    pub(crate) fn only_tells(self) -> bool {
        matches!(
            self,
            Self::Plan | Self::Message | Self::AskUser | Self::Done
        )
    }

    /// Returns true if it means nothing without a body.
    pub(crate) fn needs_body(self) -> bool {
        matches!(
            self,
            Self::CreateFile
                | Self::EditFile
                | Self::InsertText
                | Self::ApplyPatch
                | Self::RunCommand
                | Self::Plan
                | Self::Message
                | Self::AskUser
        )
    }

    /// Returns true if it changes files, runs something or ends the session.
    pub(crate) fn has_effects(self) -> bool {
        !matches!(
            self,
            Self::ReadFile
                | Self::ListFiles
                | Self::SearchText
                | Self::Outline
                | Self::GitStatus
                | Self::GitDiff
                | Self::Plan
                | Self::Message
                | Self::AskUser
        )
    }

    /// How the command is written.
    pub(crate) fn example(self) -> &'static str {
        match self {
            Self::CreateFile => r#"[CREATE_FILE path="src/main.rs"] ... [/CREATE_FILE]"#,
            Self::EditFile => {
                r#"[EDIT_FILE path="src/main.rs" start_line="3" end_line="7"] ... [/EDIT_FILE]"#
            }
            Self::InsertText => r#"[INSERT_TEXT path="src/main.rs" line="3"] ... [/INSERT_TEXT]"#,
            Self::ApplyPatch => "[APPLY_PATCH] ... [/APPLY_PATCH]",
            Self::DeleteFile => r#"[DELETE_FILE path="src/old.rs"]"#,
            Self::MoveFile => r#"[MOVE_FILE from="src/old.rs" to="src/new.rs"]"#,
            Self::ReadFile => r#"[READ_FILE path="src/main.rs" start_line="1" end_line="80"]"#,
            Self::ListFiles => r#"[LIST_FILES path="src" glob="*.rs"]"#,
            Self::SearchText => r#"[SEARCH_TEXT pattern="fn main" path="src"]"#,
            Self::Outline => r#"[OUTLINE path="src/main.rs"]"#,
            Self::RunCommand => r#"[RUN_COMMAND timeout="60"] ... [/RUN_COMMAND]"#,
            Self::GitStatus => "[GIT_STATUS]",
            Self::GitDiff => "[GIT_DIFF]",
            Self::Plan => "[PLAN] ... [/PLAN]",
            Self::Message => "[MESSAGE] ... [/MESSAGE]",
            Self::AskUser => "[ASK_USER] ... [/ASK_USER]",
            Self::Done => "[DONE]",
        }
    }

    /// The command that a wrong name most likely stands for.
    pub(crate) fn meant_by(text: &str) -> Option<Self> {
        if text.len() > MAX_LENGTH {
            return None;
        }
        if let Some(name) = tools::command_of(text) {
            return Some(name);
        }
        let text = text.to_ascii_uppercase().replace('-', "_");
        ALL.iter()
            .filter(|(_, known)| known.len().abs_diff(text.len()) <= MAX_DISTANCE)
            .map(|(name, known)| (tools::distance(&text, known), *name))
            .filter(|(distance, _)| *distance <= MAX_DISTANCE && *distance * 3 < text.len())
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_in_any_letter_case() {
        assert_eq!(Name::read("create_file"), Some(Name::CreateFile));
        assert_eq!(Name::read("Done"), Some(Name::Done));
        assert_eq!(Name::read("WRITE_FILE"), None);
    }

    #[test]
    fn knows_what_a_wrong_name_means() {
        for (text, name) in [
            ("WRITE_FILE", Some(Name::CreateFile)),
            ("CREATE_FILES", Some(Name::CreateFile)),
            ("READFILE", Some(Name::ReadFile)),
            ("run-command", Some(Name::RunCommand)),
            ("EDIT_FLIE", Some(Name::EditFile)),
            ("TODO", None),
            ("FOO_BAR", None),
        ] {
            assert_eq!(Name::meant_by(text), name, "{text}");
        }
    }
}
