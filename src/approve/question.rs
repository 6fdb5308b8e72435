//! One type for every question to the person.
//!
//! A question is data: its kind, and texts of others that it is about. The words around them are made
//! by the front end that shows it. What is decided carries the hash of all that was shown.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::earlier::CHANGES_BEFORE;
use super::{Verdict, words};
use crate::policy::Approval;
use crate::protocol::{CommandKind, Event, QuestionKind, Step};

/// Where the step of a question came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QuestionOrigin {
    /// A reply: its questions go with its round.
    #[default]
    Reply,
    /// A call. Its question stays when the client gives up waiting, and what is decided then is for
    /// the same call when it comes again.
    Call,
}

impl QuestionOrigin {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde calls it with a reference"
    )]
    fn is_reply(&self) -> bool {
        *self == Self::Reply
    }
}

/// A question, as it lies in `pending/<key>.json` if it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The kind of decision.
    #[serde(default, skip_serializing_if = "QuestionKind::is_step")]
    pub kind: QuestionKind,
    /// The step in the reply; 0 if it is about none.
    pub number: u32,
    /// The round whose reply it is; 0 before there is a session.
    pub round: u32,
    /// The name of the command; empty if it is about none.
    pub command: String,
    /// A line that tells it from its neighbours.
    pub title: String,
    /// The whole script, or the whole difference that it would make; not escaped.
    pub shown: String,
    /// Why the person is asked.
    pub why: String,
    /// The permissions that it would get.
    pub may: String,
    /// The rule that the answer "always" would add, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
    /// Tells what the reply changes before the command runs; empty if it changes nothing.
    #[serde(default)]
    pub context: String,
    /// The name of its file, if that is not the number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Where the step came from.
    #[serde(default, skip_serializing_if = "QuestionOrigin::is_reply")]
    pub origin: QuestionOrigin,
    /// True if the command does not run once a change before it is declined.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_changes: bool,
    /// The changes that the reply makes before the step and that nobody is asked about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ahead: Vec<ChangeAhead>,
}

/// A change to files that needs no decision and comes before a step that does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeAhead {
    /// The step in the reply.
    pub number: u32,
    /// The name of the command.
    pub command: String,
    /// A line that tells it from its neighbours.
    pub title: String,
    /// The whole difference; not escaped.
    pub shown: String,
}

impl ChangeAhead {
    /// The change that a step makes, as a difference.
    pub fn new(step: &Step, shown: String) -> Self {
        Self {
            number: step.number,
            command: step.command.name().to_owned(),
            title: words::title(&step.command),
            shown,
        }
    }

    /// The event that tells of it, before the question about step `before`.
    pub(super) fn event(&self, before: u32) -> Event {
        Event::Ahead {
            number: self.number,
            command: self.command.clone(),
            title: self.title.clone(),
            shown: self.shown.clone(),
            before,
        }
    }
}

impl Question {
    /// A question of a kind, about no step.
    pub(super) fn new(kind: QuestionKind, round: u32, title: String, shown: String) -> Self {
        Self {
            kind,
            number: 0,
            round,
            command: String::new(),
            title,
            shown,
            why: String::new(),
            may: String::new(),
            proposal: None,
            context: String::new(),
            name: kind.name().unwrap_or_default().to_owned(),
            origin: QuestionOrigin::Reply,
            needs_changes: false,
            ahead: Vec::new(),
        }
    }

    /// The key among the open questions of a session: the number of the step, or its name.
    pub fn key(&self) -> String {
        if self.name.is_empty() {
            self.number.to_string()
        } else {
            self.name.clone()
        }
    }

    /// Returns true if it is about a script, before it runs.
    pub fn is_about_script(&self) -> bool {
        self.kind == QuestionKind::Step && self.command == CommandKind::RunCommand.word()
    }

    /// Returns true if it is about a step that changes files.
    fn is_about_change(&self) -> bool {
        let kind: Option<CommandKind> = self.command.parse().ok();
        self.kind == QuestionKind::Step && kind.is_some_and(CommandKind::changes_files)
    }

    /// Returns true if it need not be decided once the other one, about a change, is declined.
    pub(super) fn depends_on(&self, other: &Self) -> bool {
        self.needs_changes && other.is_about_change() && other.number < self.number
    }

    /// The reason without the files that the reply changes first, where these are shown beside it.
    pub fn own_reason(&self) -> &str {
        let clause = format!("; {CHANGES_BEFORE}");
        match self.why.rfind(&clause).filter(|_| !self.context.is_empty()) {
            Some(at) => &self.why[..at],
            None => &self.why,
        }
    }

    /// Returns true if this decision means something for this kind of question.
    pub fn is_answered_by(&self, verdict: &Verdict) -> bool {
        let is_about_model = self.kind == QuestionKind::Model;
        match verdict {
            Verdict::Say { text } => is_about_model && !text.trim().is_empty(),
            Verdict::Edit { script } => self.can_be_edited() && !script.trim().is_empty(),
            Verdict::Always => self.proposal.is_some(),
            Verdict::Skip => true,
            Verdict::AllOfThisRound => self.name.is_empty(),
            Verdict::Yes | Verdict::No { .. } | Verdict::Stop => !is_about_model,
        }
    }

    /// Returns true if the person may put a text of their own in the place of what is shown.
    pub fn can_be_edited(&self) -> bool {
        self.is_about_script() || self.kind == QuestionKind::Plan
    }

    /// Returns true if both ask about the same call, in whatever round and under whatever number.
    pub(super) fn is_same_call(&self, other: &Self) -> bool {
        let placed = Self {
            number: other.number,
            round: other.round,
            ..self.clone()
        };
        self.origin == QuestionOrigin::Call
            && other.origin == QuestionOrigin::Call
            && placed == *other
    }

    /// The hash of all that is shown, which a decision carries.
    pub fn identity(&self) -> String {
        let json = serde_json::to_vec(self).unwrap_or_default();
        blake3::hash(&json).to_hex().to_string()
    }

    /// The event that tells of the question.
    pub fn event(&self) -> Event {
        if self.kind == QuestionKind::Model {
            let question = self.shown.clone();
            return Event::Question { question };
        }
        Event::Approval {
            kind: self.kind,
            key: self.key(),
            number: self.number,
            round: self.round,
            command: self.command.clone(),
            title: self.title.clone(),
            shown: self.shown.clone(),
            why: self.why.clone(),
            may: self.may.clone(),
            proposal: self.proposal.clone(),
            hash: self.identity(),
        }
    }

    /// The events that tell what changes before the step, without a question.
    pub fn changes_ahead(&self) -> Vec<Event> {
        let ahead = self.ahead.iter();
        ahead.map(|change| change.event(self.number)).collect()
    }

    /// The event that tells of the decision.
    pub fn decided(&self, verdict: &Verdict) -> Event {
        Event::Decided {
            key: self.key(),
            number: self.number,
            command: self.command.clone(),
            title: self.title.clone(),
            decision: verdict.word_for(self.kind).to_owned(),
            reason: verdict.reason().map(str::to_owned),
        }
    }

    /// Asks if the work that a plan describes may begin, in this mode.
    pub fn about_plan(number: u32, round: u32, plan: &str, mode: Approval) -> Self {
        let title = "the model's plan".to_owned();
        Self {
            number,
            command: "PLAN".to_owned(),
            why: "plan mode is on: nothing is changed before you approve a plan".to_owned(),
            may: words::may_work(mode).to_owned(),
            ..Self::new(QuestionKind::Plan, round, title, plan.to_owned())
        }
    }

    /// Asks if values that may be no secrets are sent to the chat as they are; a line for each.
    pub fn about_secrets(round: u32, values: &[String]) -> Self {
        let title = match values.len() {
            1 => "a value that may be no secret".to_owned(),
            count => format!("{count} values that may be no secrets"),
        };
        Self {
            number: 1,
            command: "SECRETS".to_owned(),
            why: "they look like secrets, but stand only in tests or documentation, or have names that do not say so".to_owned(),
            may: "go to the chat as they are, in this and later sessions of this project".to_owned(),
            ..Self::new(QuestionKind::Secrets, round, title, values.join("\n"))
        }
    }

    /// Asks if a command that seems to have failed for lack of a network is run again with it.
    pub fn about_network(number: u32, round: u32, script: &str) -> Self {
        let title = words::script_title(script);
        Self {
            number,
            command: "RUN_COMMAND".to_owned(),
            why: "it failed, probably for lack of a network".to_owned(),
            may: "run once more in the sandbox, this time with the network".to_owned(),
            proposal: Some("every command of this session has the network".to_owned()),
            ..Self::new(QuestionKind::Network, round, title, script.to_owned())
        }
    }

    /// The model's own question, which a text answers.
    pub fn of_model(round: u32, question: &str) -> Self {
        let title = "the model's question".to_owned();
        Self::new(QuestionKind::Model, round, title, question.to_owned())
    }

    /// Asks if a reply is used although it names an earlier round, which is in `number`.
    pub fn about_other_round(says: u32, is: u32, file: &str) -> Self {
        let mut question = Self::new(QuestionKind::OtherRound, is, file.to_owned(), String::new());
        question.number = says;
        question
    }

    /// Asks if the work begins although the check cannot run; tells how it ended.
    pub fn about_check(round: u32, command: &str, how: &str) -> Self {
        let kind = QuestionKind::CheckCannotRun;
        Self::new(kind, round, command.to_owned(), how.to_owned())
    }

    /// Asks if the part of this name may replace the one on the clipboard.
    pub fn about_next_part(round: u32, part: &str) -> Self {
        Self::new(
            QuestionKind::NextPart,
            round,
            part.to_owned(),
            String::new(),
        )
    }

    /// Asks if the clipboard may be looked at while a reply is waited for.
    pub fn about_clipboard(round: u32) -> Self {
        let title = "the clipboard".to_owned();
        Self::new(QuestionKind::Clipboard, round, title, String::new())
    }

    /// Asks if this text, found on the clipboard, is used as the reply.
    pub fn about_clipboard_reply(round: u32, size: &str, text: &str) -> Self {
        let title = size.to_owned();
        Self::new(QuestionKind::ClipboardReply, round, title, text.to_owned())
    }

    /// Asks if what came of a reply is used, after the person stopped the request.
    pub fn about_cut_reply(round: u32, size: &str, text: &str) -> Self {
        let title = size.to_owned();
        Self::new(QuestionKind::CutReply, round, title, text.to_owned())
    }

    /// Asks if an API is asked again; tells why it did not answer.
    pub fn about_asking_again(round: u32, api: &str, why: &str) -> Self {
        let title = api.to_owned();
        Self::new(QuestionKind::AskAgain, round, title, why.to_owned())
    }

    /// Asks if rounds are undone or redone, with the files that this changes.
    pub fn about_undo(title: &str, files: &str) -> Self {
        Self::new(QuestionKind::Undo, 0, title.to_owned(), files.to_owned())
    }

    /// Asks if a session is removed, with the files that go.
    pub fn about_removal(session: &str, files: &str) -> Self {
        Self::new(
            QuestionKind::Remove,
            0,
            session.to_owned(),
            files.to_owned(),
        )
    }

    /// Asks if a settings file is trusted that sets these values.
    pub fn about_trust(file: &Path, values: &str) -> Self {
        let title = file.display().to_string();
        Self::new(QuestionKind::Trust, 0, title, values.to_owned())
    }

    /// Asks if a template of the project becomes the task.
    pub fn about_template(file: &Path, text: &str) -> Self {
        let title = file.display().to_string();
        Self::new(QuestionKind::Template, 0, title, text.to_owned())
    }

    /// Asks where to work in a directory that is not empty; names the root of its repository, if it is
    /// only a part of one.
    pub fn about_place(directory: &Path, repository: Option<&Path>) -> Self {
        let title = directory.display().to_string();
        let root = repository.map(|root| root.display().to_string());
        Self::new(QuestionKind::Place, 0, title, root.unwrap_or_default())
    }

    /// Asks if the project is a part of a repository or all of it.
    pub fn about_part(part: &Path, root: &Path) -> Self {
        let (title, shown) = (part.display().to_string(), root.display().to_string());
        Self::new(QuestionKind::Part, 0, title, shown)
    }

    /// Asks if the base directory above this one is meant.
    pub fn about_other_base(here: &Path, base: &Path) -> Self {
        let (title, shown) = (here.display().to_string(), base.display().to_string());
        Self::new(QuestionKind::OtherBase, 0, title, shown)
    }

    /// Asks for the task in place of this placeholder.
    pub fn about_task(placeholder: &str) -> Self {
        let title = placeholder.to_owned();
        Self::new(QuestionKind::Task, 0, title, String::new())
    }

    /// Asks if what was shown is committed in this name.
    pub fn about_commit(author: &str, shown: &str) -> Self {
        Self::new(QuestionKind::Commit, 0, author.to_owned(), shown.to_owned())
    }

    /// The text that stands above the question and is no part of it: it is shown again with the
    /// question.
    pub fn shown_before(&self) -> Option<&str> {
        let is_above = matches!(self.kind, QuestionKind::Undo | QuestionKind::Commit);
        is_above.then_some(self.shown.as_str())
    }

    /// Offers to use the clipboard both ways.
    pub fn about_using_clipboard() -> Self {
        let title = "the clipboard".to_owned();
        Self::new(QuestionKind::UseClipboard, 0, title, String::new())
    }

    /// Asks if this entry is written to the configuration of a chat client.
    pub fn about_client(file: &Path, entry: &str) -> Self {
        let title = file.display().to_string();
        Self::new(QuestionKind::ClientEntry, 0, title, entry.to_owned())
    }

    /// Asks if the workspace that was named is made.
    pub fn about_new_workspace(directory: &Path) -> Self {
        let title = directory.display().to_string();
        Self::new(QuestionKind::MakeWorkspace, 0, title, String::new())
    }
}
