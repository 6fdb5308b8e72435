//! The events of a session, as data: written to its event file, printed by `--json`, rendered by
//! front ends.
//!
//! An event has typed fields and no sentences of ours: the front end finds the words. Texts of
//! others (the model, a program, the person) are as they came; escape them before you print them.
//! The names are the documented JSON (`docs/events.md`).

use std::collections::BTreeMap;
use std::fmt::Debug;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Issue, Outcome, QuestionKind, Repair, SessionId, StepResult};

/// The version of the events: it grows when an event or a field goes, or means something else.
pub const EVENT_SCHEMA: u32 = 2;

/// Where the engine tells what happens.
pub trait EventSink: Debug + Send + Sync {
    /// Tells an event.
    fn emit(&self, event: Event);
}

/// An event with its place in the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// Counts the events of a session, from 1, over all processes that work on it.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// The session.
    pub session: SessionId,
    /// The event itself.
    #[serde(flatten)]
    pub event: Event,
}

/// How many lines of a file were added and removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineTotals {
    /// Added.
    pub added: usize,
    /// Removed.
    pub removed: usize,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[expect(missing_docs, reason = "the fields are the documented JSON events")]
pub enum Event {
    /// A session begins or goes on.
    Session {
        id: SessionId,
        task: String,
        base: String,
        workspace: String,
        resumed: bool,
    },
    /// How commands are confined.
    Confinement {
        commands: bool,
        backend: Option<String>,
        network: bool,
        properties: Vec<SandboxProperty>,
        /// The runner, if it is not this machine.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runner: Option<String>,
    },
    /// Commands do not see a repository outside that the session did not begin with.
    RepositoryHidden { repository: String },
    /// Nothing is changed before a plan is approved.
    PlanMode,
    /// A message is ready to be pasted.
    Outbox {
        path: String,
        pastes: Vec<String>,
        attachment: Option<String>,
        inbox: String,
        sequence: u32,
        characters: usize,
        tokens: usize,
        takes: BTreeMap<String, usize>,
        chat: String,
        percent: usize,
        becomes_file: bool,
        cuts: Vec<String>,
        is_waiting: bool,
        #[serde(default)]
        carried_by: Option<String>,
    },
    /// The chat has to remember nearly all that it can.
    ChatMemory {
        tokens: usize,
        limit: usize,
        chat: String,
    },
    /// Secrets were replaced by placeholders in the message.
    SecretsKept {
        secrets: Vec<KeptSecret>,
        doubts: usize,
    },
    /// News of the clipboard.
    Clipboard(ClipboardNews),
    /// News of a request to an API.
    Api(ApiNews),
    /// Something is wrong with the inbox, or with a file in it.
    Inbox { message: String, hint: String },
    /// A reply is being written into the inbox: so much of it is there.
    Arriving { name: String, bytes: u64 },
    /// A file in the inbox answers another session, which will take it.
    LeftInInbox { name: String, answers: SessionId },
    /// A file in the inbox was not used.
    Rejected {
        name: String,
        why: String,
        moved_to: String,
    },
    /// A reply was taken.
    Reply {
        name: String,
        file: String,
        sequence: u32,
        commands: usize,
    },
    /// Damage done by the chat page or by copying was undone.
    Repaired { repair: Repair },
    /// Text of the reply around its commands.
    Prose { text: String },
    /// A part of the reply that could not be used.
    Issue { issue: Issue },
    /// The reply ended too early.
    Cut { line: u32, what: String },
    /// The reply has no command at all.
    NoCommands,
    /// A command begins to run; step 0 is the check.
    Running { number: u32, script: String },
    /// Output of the command that runs: the latest of it, if there is much.
    Output {
        number: u32,
        text: String,
        omitted: usize,
    },
    /// The person's check was run.
    Check { command: String, outcome: Outcome },
    /// A step was executed.
    Step {
        result: StepResult,
        differences: Vec<ShownDifference>,
    },
    /// The model's plan.
    Plan { text: String },
    /// A word from the model to the person.
    Message { text: String },
    /// The model asks the person.
    Question { question: String },
    /// A question that waits for the person's decision; the model's own is `question`.
    Approval {
        kind: QuestionKind,
        #[serde(default)]
        key: String,
        number: u32,
        round: u32,
        command: String,
        title: String,
        shown: String,
        why: String,
        may: String,
        proposal: Option<String>,
        #[serde(default)]
        hash: String,
    },
    /// A file step that needs no decision and comes before one that does: what it will change. With the
    /// number 0, a file that earlier rounds changed: step `before` names it, or none if that is 0 too.
    Ahead {
        number: u32,
        command: String,
        title: String,
        shown: String,
        /// The step that is asked about next; 0 in events of earlier versions.
        #[serde(default)]
        before: u32,
    },
    /// The work stops here until somebody decides.
    Waiting { kind: QuestionKind },
    /// The person decided.
    Decided {
        #[serde(default)]
        key: String,
        number: u32,
        command: String,
        title: String,
        decision: String,
        reason: Option<String>,
    },
    /// A file lies where a decision belongs and is none.
    BadDecision {
        #[serde(default)]
        key: String,
        number: u32,
    },
    /// A rule of the person is kept: such commands are not asked about again.
    RuleKept { rule: String, file: String },
    /// The model goes in circles.
    Circles { circles: Vec<Circling> },
    /// A note of the person for the model.
    Note { text: String },
    /// The session ended before a note was sent.
    NoteUnsent { text: String },
    /// Files that a round left and that other programs would run or obey.
    LeftBehind {
        hooks: Bounded<String>,
        obeyed: Bounded<String>,
        executables: Bounded<String>,
        links: Bounded<OutwardLink>,
    },
    /// Files that undo does not cover.
    NotCovered { files: Bounded<UncoveredFile> },
    /// No checkpoint could be taken, so that undo does not cover the round.
    NoCheckpoint { cause: Option<String> },
    /// Rounds were undone or redone.
    Reversed {
        redone: bool,
        rounds: Vec<u32>,
        restored: Bounded<String>,
        skipped: Bounded<String>,
    },
    /// Old records were removed, or could not be.
    Housekeeping(Housekeeping),
    /// A session was settled after its process had been killed.
    Recovery(Recovery),
    /// The files of the workspace could not be listed.
    Unlistable { problem: String },
    /// Something failed, and the work goes on without it.
    Trouble {
        message: String,
        causes: Vec<String>,
        hints: Vec<String>,
    },
    /// A finding about the call itself: its settings, folders and flags.
    Setup(SetupNews),
    /// A round that passed the check was committed.
    Committed { commit: String, subject: String },
    /// A round that passed the check could not be committed.
    NotCommitted { cause: String },
    /// A word of the front end, about something that is no event of the session.
    Notice { text: String },
    /// The session ended.
    Done {
        id: SessionId,
        summary: String,
        rounds: u32,
        changed: usize,
        files: Vec<String>,
        /// Lines added and removed, by file; without those of which nobody counted them.
        #[serde(default)]
        lines: BTreeMap<String, LineTotals>,
        seconds: u64,
        /// The directory that the model worked in; empty in events of earlier versions.
        #[serde(default)]
        workspace: String,
    },
    /// The person ended the session.
    Ended { id: SessionId },
    /// The round limit stopped it.
    RoundLimit { id: SessionId, rounds: u32 },
    /// The person stopped it.
    Interrupted { id: SessionId },
    /// Events before this one are not kept any more: a reader loads the session anew.
    Reset,
    /// An event that was too long to be kept.
    Omitted { name: String, bytes: usize },
    /// An event of a later version.
    #[serde(other)]
    Unknown,
}

/// The first of a list, and how many more there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounded<T> {
    /// The first of them.
    pub first: Vec<T>,
    /// How many are left out.
    pub more: usize,
}

impl<T> Default for Bounded<T> {
    fn default() -> Self {
        Self {
            first: Vec::new(),
            more: 0,
        }
    }
}

impl<T> Bounded<T> {
    /// Keeps at most so many.
    pub fn new(most: usize, all: impl IntoIterator<Item = T>) -> Self {
        let mut all = all.into_iter();
        Self {
            first: all.by_ref().take(most).collect(),
            more: all.count(),
        }
    }

    /// Returns true if there is nothing in the list.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty() && self.more == 0
    }
}

/// A property of the sandbox, and whether it held when it was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the documented JSON events")]
pub struct SandboxProperty {
    pub name: String,
    pub holds: bool,
}

/// A finding about the settings, folders and flags of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "what",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[expect(missing_docs, reason = "the fields are the documented JSON events")]
pub enum SetupNews {
    /// The directory is much more than a project.
    WideWorkspace {
        directory: String,
        extent: WideExtent,
    },
    /// The base directory is above the current folder.
    BaseAbove { directory: String },
    /// The session was not begun by this person in this directory: what was decided in it does not
    /// count.
    SessionTakenOver { id: SessionId },
    /// An API carried the session, and it is not known that this person chose it.
    ApiNotKnown { id: SessionId },
    /// A flag has the session work in another directory than before.
    WorkspaceChanged {
        id: SessionId,
        from: String,
        to: String,
    },
    /// The session file could not be used and was made anew from the journal.
    SessionRebuilt { id: SessionId, cause: String },
    /// No log is written.
    NoLog { file: String, cause: String },
    /// A value that permits more does not count, because nobody trusted its file.
    UntrustedSetting {
        setting: String,
        file: String,
        is_declined: bool,
    },
    /// A value does not count, because no settings file may set it.
    PersonalSetting {
        setting: String,
        file: String,
        flag: String,
    },
    /// The person's own settings are not applied, because the model could have changed
    /// them.
    OwnSettingsExposed { file: String, workspace: String },
    /// A settings file does not count, because there is another one beside it.
    SettingsPassedOver { file: String, directory: String },
    /// The workspace holds the directory in which is remembered what the person trusts.
    TrustExposed {
        directory: String,
        workspace: String,
    },
    /// The answer was none of those that there are.
    AnswerUnknown { answers: Vec<String> },
}

/// How much a directory has in it that is much more than a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WideExtent {
    /// The whole file system.
    Root,
    /// The person's home.
    Home,
    /// The person's home and more.
    AboveHome,
}

/// A file that was disabled, or settings in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the documented JSON events")]
pub struct DisarmedFile {
    pub path: String,
    /// The disabled settings; empty if the whole file was disabled.
    pub settings: Bounded<String>,
    /// Why it is still in force, if it is.
    pub failure: Option<String>,
}

/// Secrets of one kind that stand in the same places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the documented JSON events")]
pub struct KeptSecret {
    pub kind: String,
    /// Files and results that have it; empty if it stands in words of the person.
    pub places: Vec<String>,
    pub count: usize,
}

/// A file that a step changed, as far as a person is shown it at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownDifference {
    /// How many lines were added.
    pub added: usize,
    /// How many lines were removed.
    pub removed: usize,
    /// True if the file was there before and after.
    pub is_edit: bool,
    /// The hunks of a unified diff; empty if they are long, or if the file is new or gone.
    pub hunks: String,
}

/// A sign that the model goes in circles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "sign", rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are the documented JSON events")]
pub enum Circling {
    /// A step fails in the same way again and again.
    StepFails {
        command: String,
        subject: String,
        times: usize,
    },
    /// A step is refused for the same reason again and again.
    StepRefused {
        command: String,
        subject: String,
        times: usize,
    },
    /// A command is written wrongly in the same way again and again.
    Misspelt {
        command: String,
        message: String,
        times: usize,
    },
    /// The check fails with the same output again and again.
    CheckFails { command: String, times: usize },
    /// A file is written back and forth between the same versions.
    FileReturns { path: String },
}

/// A link that leads out of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the documented JSON events")]
pub struct OutwardLink {
    pub path: String,
    pub target: String,
}

/// A file that checkpoints pass over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the documented JSON events")]
pub struct UncoveredFile {
    pub path: String,
    /// Follows the name of the file: `is larger than 10 MB`.
    pub reason: String,
}

/// Records that were removed to save space, or could not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "what",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[expect(missing_docs, reason = "the fields are the documented JSON events")]
pub enum Housekeeping {
    /// The journal became shorter.
    JournalCompacted {
        bytes: u64,
    },
    JournalNotCompacted {
        cause: String,
    },
    /// Old checkpoints could not be removed.
    CheckpointsNotTidied {
        cause: String,
    },
    /// The oldest rounds cannot be undone any more.
    RoundsGivenUp {
        rounds: usize,
        limit_megabytes: u64,
    },
    /// The checkpoints take more than they may, and all are needed.
    OverLimit {
        megabytes: u64,
        limit_megabytes: u64,
    },
    /// The settings file pins a value that was the default of an earlier version.
    EarlierDefault {
        setting: String,
        value: String,
        default: String,
        file: String,
    },
    /// The files that the oldest undos had removed were deleted for good.
    RemovedFilesGivenUp {
        undos: usize,
        limit_megabytes: u64,
    },
}

/// A finding about a process that was killed, and how it was settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "what",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[expect(missing_docs, reason = "the fields are the documented JSON events")]
pub enum Recovery {
    /// A reply was being executed.
    ReplyUnderWay,
    /// A reply had been taken and not begun.
    ReplyTaken,
    /// The round that was interrupted is finished, and no other reply was taken.
    RoundFinished,
    /// The reply that was being executed is gone or was changed.
    ReplyGone { file: String },
    /// The session file was replaced from the journal.
    SessionReplaced,
    /// The journal ended in the middle of a line.
    JournalTorn { bytes: u64 },
    /// The journal is missing or empty.
    JournalMissing,
    /// The journal has lost its latest rounds.
    JournalBehind,
    /// The journal is shorter than it was.
    JournalShort { bytes: u64 },
    /// Replies of rounds that nothing tells of any more; they may have been carried out, and are not
    /// taken again.
    LaterReplies { files: Bounded<String> },
    /// Somebody else changed a file that a step was changing; `kept` has what the model meant.
    FileChanged {
        path: String,
        kept: Option<String>,
        problem: Option<String>,
    },
    /// Settings and files that a command made git run or obey were disabled.
    Disarmed {
        #[serde(default)]
        disabled: Bounded<DisarmedFile>,
        /// The originals are beside the files, under their names with this at the end.
        #[serde(default)]
        suffix: String,
        /// Directories that the command had closed and that were opened.
        #[serde(default)]
        opened: Bounded<String>,
        /// Directories that nobody can look into.
        #[serde(default)]
        closed: Bounded<String>,
        /// True if the workspace is too large to be looked through.
        #[serde(default)]
        is_cut: bool,
        /// True if nobody knows how it was before the command.
        #[serde(default)]
        is_unknown: bool,
        /// True if this is about the cache of commands, to which a link leads.
        #[serde(default)]
        in_cache: bool,
    },
    /// Files that changed around the time of the kill; undo leaves them as they are.
    Unclear { files: Bounded<String> },
}

/// News of the clipboard: a message was copied, or a reply is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "what",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[expect(missing_docs, reason = "the fields are the documented JSON events")]
pub enum ClipboardNews {
    /// A message, or a part of it, was copied; `how` says by which way, and what that means.
    Copied { message: String, how: String },
    /// It could not be copied.
    NotCopied { message: String, why: String },
    /// The person copies the next part themselves.
    NextPart { message: String, part: usize },
    /// The clipboard is not looked at.
    Unwatched { remembered_in: Option<String> },
    /// The reply is on the clipboard, and nobody can be asked about it.
    HasReply,
    /// Commands are on the clipboard, without the end mark of this round.
    HasUnmarked,
    /// The reply is on the clipboard below our own message, because the page was copied.
    HasPage,
    /// The reply to another round of the session is on the clipboard.
    HasOtherRound { answered: u32, waiting: u32 },
    /// The reply was taken from the clipboard.
    Taken {
        characters: usize,
        lines: usize,
        mark: String,
    },
    /// A line that was typed counted as Enter.
    TypedCounted,
}

/// The progress of a request to an API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "what",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[expect(missing_docs, reason = "the fields are the documented JSON events")]
pub enum ApiNews {
    /// The conversation is sent; `tokens` is an estimate.
    Sending {
        provider: String,
        model: String,
        round: u32,
        turns: usize,
        tokens: usize,
    },
    /// The oldest rounds are sent as a summary, because the model's window is too small.
    Shortened { rounds: u32, tokens: usize },
    /// The request failed, and is sent again after a wait.
    Retrying {
        why: String,
        millis: u64,
        tried: u32,
        tries: u32,
    },
    /// A piece of the model's reasoning.
    Reasoning { text: String },
    /// A piece of the reply; its commands are carried out when it is whole.
    Text { text: String },
    /// The answer ended, and this is what it took.
    Answered(ApiAnswer),
    /// The model refused.
    Refused { text: String },
    /// The person stopped the request, and so much of the answer had come.
    Stopped { characters: usize },
    /// The reply was not used, because the round went on without it.
    Overtaken,
}

/// How an answer ended, and what it took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are the documented JSON events")]
pub struct ApiAnswer {
    pub end: ApiAnswerEnd,
    /// Why it broke off; empty if it did not.
    pub why: String,
    pub input: u64,
    pub cached: u64,
    pub output: u64,
    pub reasoning: u64,
    /// True if the server did not count some of these tokens.
    #[serde(default)]
    pub is_estimated: bool,
    /// Millionths of a dollar; `null` if no price is known.
    pub cost_micros: Option<u64>,
    /// Of the whole session.
    pub session_tokens: u64,
    pub session_cost_micros: Option<u64>,
    #[serde(default)]
    pub session_is_estimated: bool,
    /// Answers that are not in the costs of the session, because their price is not known.
    #[serde(default)]
    pub session_unpriced: u64,
    pub first_millis: u64,
    pub millis: u64,
    /// Tokens in ten seconds, after the first one.
    pub tokens_in_ten_seconds: Option<u64>,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ApiAnswerEnd {
    /// It is whole.
    Whole,
    /// It met the limit of the model.
    LengthLimit,
    /// It broke off.
    Broken,
    /// The person stopped it.
    Stopped,
    /// The model refused.
    Refused,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(event: Event) {
        let envelope = Envelope {
            seq: 7,
            at: Timestamp::from_second(1_700_000_000).unwrap(),
            session: SessionId::parse("ab12cd34").unwrap(),
            event,
        };
        let json = serde_json::to_string(&envelope).unwrap();
        let read: Envelope = serde_json::from_str(&json).unwrap();
        assert_eq!(read, envelope, "{json}");
    }

    #[test]
    fn what_is_written_reads_back() {
        case(Event::PlanMode);
        case(Event::Recovery(Recovery::JournalTorn { bytes: 3 }));
        case(Event::Recovery(Recovery::ReplyUnderWay));
        case(Event::Setup(SetupNews::WideWorkspace {
            directory: "/".to_owned(),
            extent: WideExtent::Root,
        }));
        case(Event::Housekeeping(Housekeeping::OverLimit {
            megabytes: 2,
            limit_megabytes: 1,
        }));
        case(Event::Circles {
            circles: vec![Circling::FileReturns {
                path: "a".to_owned(),
            }],
        });
        case(Event::Approval {
            kind: QuestionKind::Plan,
            key: "1".to_owned(),
            number: 1,
            round: 1,
            command: "PLAN".to_owned(),
            title: String::new(),
            shown: "x\n".to_owned(),
            why: String::new(),
            may: String::new(),
            proposal: None,
            hash: String::new(),
        });
        case(Event::Outbox {
            path: "/a".to_owned(),
            pastes: vec!["/a".to_owned()],
            attachment: None,
            inbox: "/i".to_owned(),
            sequence: 1,
            characters: 1,
            tokens: 1,
            takes: BTreeMap::from([("the task".to_owned(), 3)]),
            chat: "generic".to_owned(),
            percent: 1,
            becomes_file: false,
            cuts: Vec::new(),
            is_waiting: true,
            carried_by: None,
        });
    }

    #[test]
    fn events_that_had_words_in_them_are_still_read() {
        let json = r#"{"seq":1,"at":"2026-01-01T00:00:00Z","session":"ab12cd34","event":"recovery","what":"disarmed","told":"x"}"#;
        let read: Envelope = serde_json::from_str(json).unwrap();
        assert!(matches!(
            read.event,
            Event::Recovery(Recovery::Disarmed { .. })
        ));
        let json = r#"{"name":"home","holds":true,"words":"x"}"#;
        assert!(serde_json::from_str::<SandboxProperty>(json).unwrap().holds);
    }

    #[test]
    fn an_event_of_a_later_version_is_read_as_unknown() {
        let json = r#"{"seq":1,"at":"2026-01-01T00:00:00Z","session":"ab12cd34","event":"teleported","to":"x"}"#;
        let read: Envelope = serde_json::from_str(json).unwrap();
        assert_eq!(read.event, Event::Unknown);
    }

    #[test]
    fn a_long_list_is_counted() {
        let list = Bounded::new(2, 1..=5);
        assert_eq!((list.first, list.more), (vec![1, 2], 3));
    }
}
