//! The kinds of question that a person is asked, and the rules that hold for each of them.

use serde::{Deserialize, Serialize};

/// The kinds of question that a person can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QuestionKind {
    /// A step, before it is carried out.
    #[default]
    Step,
    /// A command that was run, and may run again with the network: `yes` is once, `always` is for
    /// the rest of the session.
    Network,
    /// A plan, before the work begins.
    Plan,
    /// Values that may be no secrets, before they are sent as they are.
    Secrets,
    /// The model's own question; the answer is a text.
    Model,
    /// A reply in the inbox that names an earlier round: is it used all the same?
    OtherRound,
    /// The person's check, which cannot run: does the work begin all the same?
    CheckCannotRun,
    /// The next part of a message, which replaces the one on the clipboard.
    NextPart,
    /// Looking at the clipboard while a reply is waited for.
    Clipboard,
    /// Using the reply that was found on the clipboard.
    ClipboardReply,
    /// Using what came of a reply before the person stopped the request.
    CutReply,
    /// Asking an API again after it failed, or after the person stopped it.
    AskAgain,
    /// Undoing or redoing rounds, before files are changed.
    Undo,
    /// Removing a session.
    Remove,
    /// Values of a settings file that permit more than the defaults.
    Trust,
    /// A task template that came with the project.
    Template,
    /// The directory to work in, where `agent` was never used.
    Place,
    /// Making the workspace that was named and does not exist.
    MakeWorkspace,
    /// A base directory above the current folder, which is empty or another project.
    OtherBase,
    /// A project that is only a part of its repository.
    Part,
    /// The task, where a placeholder was typed in its place.
    Task,
    /// Copying each message and taking the reply from the clipboard, offered once.
    UseClipboard,
    /// A commit of what the session changed.
    Commit,
    /// An entry in the configuration of a chat client.
    ClientEntry,
}

/// How long a question is kept as a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionLife {
    /// Until it is answered: a process that was killed comes back to it.
    UntilAnswered,
    /// As long as the process that asks waits for the answer.
    WhileAsked,
    /// It is not kept: it comes before there is a session, or is answered at a terminal only.
    NotKept,
}

/// The lines that answer a question; at the prompt every other line is a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AcceptedLines {
    /// Any that is not empty.
    #[default]
    AnyLine,
    /// `y`, `n`, or what is a no too: nothing, `s` and `q`.
    YesOrNo,
    /// `y`, `n`, or nothing, which is a yes.
    YesUnlessNo,
    /// Only Enter, which says that the person is ready.
    Enter,
}

impl QuestionKind {
    /// The words for those that have one: see [`QuestionKind::name`].
    pub const NAMES: &[&str] = &[
        "model",
        "other-round",
        "check",
        "next-part",
        "clipboard",
        "clipboard-reply",
        "cut-reply",
        "ask-again",
        "undo",
    ];

    /// Returns true for the usual kind, which is left out of question files.
    pub fn is_step(&self) -> bool {
        *self == Self::Step
    }

    /// The word for it in file names and on the command line; `None` for what has a step's number.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Step | Self::Network | Self::Plan | Self::Secrets => None,
            Self::Model => Some("model"),
            Self::OtherRound => Some("other-round"),
            Self::CheckCannotRun => Some("check"),
            Self::NextPart => Some("next-part"),
            Self::Clipboard => Some("clipboard"),
            Self::ClipboardReply => Some("clipboard-reply"),
            Self::CutReply => Some("cut-reply"),
            Self::AskAgain => Some("ask-again"),
            Self::Undo => Some("undo"),
            Self::Remove => Some("remove"),
            Self::Trust => Some("trust"),
            Self::Template => Some("template"),
            Self::Place => Some("place"),
            Self::MakeWorkspace => Some("make-workspace"),
            Self::OtherBase => Some("other-base"),
            Self::Part => Some("part"),
            Self::Task => Some("task"),
            Self::UseClipboard => Some("use-clipboard"),
            Self::Commit => Some("commit"),
            Self::ClientEntry => Some("client-entry"),
        }
    }

    /// How long it is kept as a file.
    pub fn life(self) -> QuestionLife {
        match self {
            Self::Step | Self::Network | Self::Plan | Self::Secrets | Self::Model => {
                QuestionLife::UntilAnswered
            }
            Self::OtherRound
            | Self::CheckCannotRun
            | Self::NextPart
            | Self::Clipboard
            | Self::ClipboardReply
            | Self::CutReply
            | Self::AskAgain
            | Self::Undo => QuestionLife::WhileAsked,
            Self::Remove
            | Self::Trust
            | Self::Template
            | Self::Place
            | Self::MakeWorkspace
            | Self::OtherBase
            | Self::Part
            | Self::Task
            | Self::UseClipboard
            | Self::Commit
            | Self::ClientEntry => QuestionLife::NotKept,
        }
    }

    /// Returns true if its answer is a text, which may be pasted and have several lines.
    pub fn takes_paste(self) -> bool {
        matches!(self, Self::Model | Self::Task)
    }

    /// Returns true if the loop itself asks it, so that a reply is taken only after the answer.
    pub fn holds_replies(self) -> bool {
        matches!(
            self,
            Self::Step
                | Self::Network
                | Self::Plan
                | Self::Secrets
                | Self::Model
                | Self::OtherRound
                | Self::CheckCannotRun
        )
    }

    /// The lines that answer it.
    pub fn takes(self) -> AcceptedLines {
        match self {
            Self::Step
            | Self::Network
            | Self::Plan
            | Self::Secrets
            | Self::Model
            | Self::Place
            | Self::OtherBase
            | Self::Part
            | Self::Task
            | Self::Commit => AcceptedLines::AnyLine,
            Self::UseClipboard => AcceptedLines::YesUnlessNo,
            Self::NextPart => AcceptedLines::Enter,
            Self::OtherRound
            | Self::CheckCannotRun
            | Self::Clipboard
            | Self::ClipboardReply
            | Self::CutReply
            | Self::AskAgain
            | Self::Undo
            | Self::Remove
            | Self::Trust
            | Self::Template
            | Self::MakeWorkspace
            | Self::ClientEntry => AcceptedLines::YesOrNo,
        }
    }
}

impl AcceptedLines {
    /// Returns true if this line is an answer.
    pub fn accept(self, line: &str) -> bool {
        let is_empty = line.trim().is_empty();
        match self {
            Self::AnyLine => !is_empty,
            Self::YesOrNo => is_empty || is_yes(line) || is_no(line) || is_refusal(line),
            Self::YesUnlessNo => is_empty || is_yes(line) || is_no(line) || is_stop(line),
            Self::Enter => is_empty || is_yes(line),
        }
    }
}

/// Returns true for a yes, in whatever letter case.
pub fn is_yes(line: &str) -> bool {
    is_one_of(line, ["y", "yes"])
}

/// Returns true for a no in so many words, in whatever letter case.
pub fn is_no(line: &str) -> bool {
    is_one_of(line, ["n", "no"])
}

/// Returns true for the key that ends what is being asked about: `q`.
pub fn is_stop(line: &str) -> bool {
    is_one_of(line, ["q", "quit", "stop"])
}

/// Returns true for the keys that leave a question without a yes: `s` and `q`.
fn is_refusal(line: &str) -> bool {
    is_stop(line) || is_one_of(line, ["s", "skip"])
}

/// Returns true for a key of some question, or its word: never a note for the model.
pub fn is_answer_key(line: &str) -> bool {
    is_yes(line)
        || is_no(line)
        || is_refusal(line)
        || is_one_of(line, ["a", "all", "always", "d", "e", "o"])
}

fn is_one_of<const N: usize>(line: &str, words: [&str; N]) -> bool {
    words
        .iter()
        .any(|word| line.trim().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(line: &str, is_yes_or_no: bool, is_enter: bool) {
        assert_eq!(AcceptedLines::AnyLine.accept(line), !line.is_empty());
        assert_eq!(AcceptedLines::YesOrNo.accept(line), is_yes_or_no, "{line}");
        assert_eq!(AcceptedLines::Enter.accept(line), is_enter, "{line}");
    }

    #[test]
    fn a_question_knows_its_answers() {
        case("", true, true);
        case(" Yes ", true, true);
        case("n", true, false);
        case("no, use tabs", false, false);
        case("use tabs", false, false);
        case("q", true, false);
        case("skip", true, false);
        case("a", false, false);
    }

    #[test]
    fn a_key_of_a_question_is_no_note() {
        for key in ["y", "No", "q", "s", "a", "all", "d", "e", "o"] {
            assert!(is_answer_key(key), "{key}");
        }
        for line in ["", "status", "a b", "no, use tabs"] {
            assert!(!is_answer_key(line), "{line}");
        }
    }
}
