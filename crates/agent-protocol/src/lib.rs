#![doc = include_str!("../README.md")]

mod command;
mod event;
mod failure;
pub mod generated;
mod lines;
mod listed;
pub mod obeyed;
mod outcome;
mod patch;
mod path;
mod question;
mod reading;
mod round;
mod seen;
pub mod selection;
mod shell;
mod staged;
pub mod unseen;
mod words;

pub use command::{
    Command, CommandKind, ContentSource, END_OF_FILE, Edit, Pattern, Replacement, Step,
};
pub use event::{
    ApiAnswer, ApiAnswerEnd, ApiNews, Bounded, Circling, ClipboardNews, DisarmedFile, EVENT_SCHEMA,
    Envelope, Event, EventSink, Housekeeping, KeptSecret, LineTotals, OutwardLink, Recovery,
    SandboxProperty, SetupNews, ShownDifference, UncoveredFile, WideExtent,
};
pub use failure::OnFailure;
pub use lines::{LineWindow, truncated_lines};
pub use listed::{Listed, by_directory};
pub use outcome::{
    Capped, Excerpt, Level, Outcome, PersonAct, Status, StepResult, UnfinishedRun, with_hint,
};
pub use patch::{FileChange, Hunk, HunkLine};
pub use path::{PathProblem, RelPath, is_renamed_by_windows, quoted};
pub use question::{
    AcceptedLines, QuestionKind, QuestionLife, is_answer_key, is_no, is_stop, is_yes,
};
pub use reading::{CopiedFrom, Issue, Repair, TruncatedReply};
pub use round::{EndMark, SessionId, SessionIdProblem};
pub use seen::{KnownExtent, ReadRequest, SeenFiles, ShownLines};
pub use selection::Selection;
pub use shell::ShellLanguage;
pub use staged::{StagedBatch, StagedChange, StagedFile, StagedLines, StagedStep};
pub use words::UnknownWord;

// The macro `words` needs it where it is used.
#[doc(hidden)]
pub use serde;
