//! The outbox of a round: composed from the session and the workspace, and put where the person
//! finds it.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::baseline::Baseline;
use super::context::{ContextFinder, Unasked};
use super::engine::Patience;
use super::kept_listing::{self, KeptListing};
use super::project::Project;
use super::redact::{self, MessageTexts, Redactor};
use super::{Agent, Manner, text_of};
use crate::compose::{
    self, AnswerMaterial, Carriage, Content, Facts, Listing, Material, MessageCarrier, Outbox,
    OutboxForm, parts,
};
use crate::error::Result;
use crate::execute::{self, Limits};
use crate::mailbox::Posted;
use crate::protocol::{
    Event, KnownExtent, Listed, ReadRequest, RelPath, SeenFiles, SessionId, StepResult,
    by_directory,
};
use crate::session::{ModelQuestion, Session};
use crate::workspace::walk::Walked;

/// Where the listing is kept that was taken before the first check.
const BEFORE_CHECK: &str = "listing-before-check.json";

/// The files that the model asked to read.
#[derive(Debug)]
pub(super) struct Requested {
    /// As it is shown where there is room for it.
    pub(super) contents: Vec<Content>,
    /// The files as the model had seen them before.
    pub(super) seen: SeenFiles,
}

/// State from earlier messages of this process that the next message needs.
#[derive(Debug, Default)]
pub(super) struct Published {
    /// The files that the next message shows, read when the round was concluded.
    requested: Option<Requested>,
    /// The files that the last one listed.
    listing: Option<KeptListing>,
    /// The last listing, and the walk that it was made from.
    listed: Option<(Arc<Walked>, Arc<Listing>)>,
}

impl Published {
    /// The chat has seen another message: the next one lists all files.
    pub(super) fn forget_listing(&mut self) {
        self.listing = None;
    }
}

/// A message that is not written yet.
#[derive(Debug)]
pub(super) struct DraftMessage {
    pub(super) outbox: Outbox,
    pub(super) project: Project,
    /// The files as the model has seen them once it has read the message.
    pub(super) seen: SeenFiles,
}

/// The reader of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageForm {
    /// A chat that a person pastes it into.
    Message,
    /// A chat that makes calls, and takes so many characters.
    Overview { room: usize },
}

/// The parts of the answer to one call.
#[derive(Debug)]
pub(super) struct CallTold {
    pub(super) result: StepResult,
    /// The files that the call asked for.
    pub(super) requests: Vec<ReadRequest>,
    /// The most characters of the answer.
    pub(super) room: usize,
    /// The limits of what is read.
    pub(super) limits: Limits,
    pub(super) news: CallNews,
    /// Answers and notes of the person that no answer has told.
    pub(super) words: UntoldWords,
}

/// Words of the person that the chat has not heard yet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct UntoldWords {
    /// The model's questions with the answers.
    pub(super) answers: Vec<ModelQuestion>,
    pub(super) notes: Vec<String>,
}

/// The news that an answer tells beside the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallNews {
    /// None: the round goes on.
    None,
    /// The plan, and what the person decided about it.
    Plan,
    /// How the check ended.
    Check,
}

/// Makes the messages of a session.
#[derive(Debug)]
pub(super) struct Publisher<'e, 'a> {
    pub(super) agent: &'a Agent,
    pub(super) session: &'e mut Session,
    pub(super) baseline: &'e mut Baseline<'a>,
    pub(super) redactor: &'e mut Redactor<'a>,
    pub(super) published: &'e mut Published,
}

impl Publisher<'_, '_> {
    /// The files for the message of this round, and as the last one listed them.
    pub(super) fn listings(&mut self) -> (Arc<Listing>, Option<KeptListing>) {
        let shown_before = self.shown_before();
        let mut listing = self.listing();
        let (store, id) = (&self.agent.store, &self.session.session_id);
        if self.session.sequence_number == 1
            && let Some(before) = store.aside::<Listing>(id, BEFORE_CHECK)
        {
            Arc::make_mut(&mut listing).set_apart_made_since(&before);
        }
        (listing, shown_before)
    }

    /// Writes a message, and tells of it.
    pub(super) fn post(&mut self, message: DraftMessage, patience: Patience) -> Result<()> {
        let DraftMessage {
            outbox, project, ..
        } = message;
        let (agent, id) = (self.agent, self.session.session_id.clone());
        let sequence = self.session.sequence_number;
        self.redactor.keep()?;
        let posted = agent.post(&id, sequence, &outbox)?;
        project.keep(&agent.store, &id, &outbox.project);
        self.redactor.tell();
        self.tell_outbox(&posted, &outbox.text, &outbox.cuts, patience);
        self.tell_memory(compose::estimated_tokens(&outbox.text));
        if outbox.tells_changes {
            self.baseline.forget_by_person();
        }
        self.baseline.keep_glimpses(self.session, &outbox.shown);
        if sequence == 2 {
            agent.store.drop_aside(&id, BEFORE_CHECK);
        }
        Ok(())
    }

    /// Remembers the files that the message lists, after it was written: to free the room of earlier
    /// listings takes its time.
    pub(super) fn note_listed(&mut self, listed: KeptListing, before: Option<&KeptListing>) {
        let round = (&self.session.session_id, self.session.sequence_number);
        let before = before.map(|before| &before.record);
        (listed.record).drop_others(&self.agent.store, round, before);
        self.published.listing = Some(listed);
    }

    /// Tells of a message that is there already; only a restart can find one. Returns false if there
    /// is none.
    pub(super) fn is_posted(&self, patience: Patience) -> bool {
        if self.published.requested.is_some() {
            return false;
        }
        let session = &*self.session;
        let mailbox = &self.agent.mailbox;
        let posted = mailbox.posted(&session.session_id, session.sequence_number);
        if let Some(posted) = &posted
            && patience == Patience::Session
            && !self.agent.interrupt.is_raised()
        {
            self.tell_outbox(posted, &message_of(posted), &[], patience);
        }
        posted.is_some()
    }

    /// Gathers what the message of this round tells, and composes it.
    pub(super) fn message(
        &mut self,
        listing: &Listing,
        shown_before: Option<&Listing>,
    ) -> Result<DraftMessage> {
        self.gathered(listing, shown_before, MessageForm::Message)
    }

    /// Gathers what a message tells, and composes it.
    fn gathered(
        &mut self,
        listing: &Listing,
        shown_before: Option<&Listing>,
        form: MessageForm,
    ) -> Result<DraftMessage> {
        let Requested { mut contents, seen } = match self.published.requested.take() {
            Some(requested) => requested,
            None => self.requested_after_restart()?,
        };
        let agent = self.agent;
        let named_files = compose::named(self.session, listing);
        let finder = ContextFinder {
            agent,
            session: self.session,
        };
        let mentions = finder.mentions(listing, shown_before);
        let Unasked {
            mut named,
            mut other,
        } = finder.unasked(listing, &named_files, &mentions, self.redactor);
        let mentions: Vec<RelPath> = mentions.into_iter().map(|mention| mention.path).collect();
        let mut changed = self.baseline.by_person().to_owned();
        let mut project = Project::read(agent, self.session, listing, &named_files, self.redactor);
        let mut session = self.session.clone();
        let mut told = MessageTexts {
            session: &mut session,
            contents: vec![&mut contents, &mut named, &mut other, &mut project.contents],
            past: &mut [],
            texts: vec![&mut changed],
        };
        self.redactor.redact(&mut told);
        self.redactor.settle_doubts(&mut told)?;
        let carriage = match form {
            MessageForm::Message => self.carriage(),
            MessageForm::Overview { room } => Carriage::of_answer(room),
        };
        let material = Material {
            session: &session,
            listing,
            shown_before,
            contents: &contents,
            named_files: &named_files,
            named: &named,
            unasked: &other,
            changed: &changed,
            project: &project.contents,
            mentions: &mentions,
            facts: self.facts(),
            max_list_items: self.agent.limits.max_list_items as usize,
            carriage,
        };
        let outbox = match form {
            MessageForm::Message => self.compose(material),
            MessageForm::Overview { .. } => {
                (self.redactor).compose(|veil| compose::compose_overview(&material, veil))
            }
        };
        let seen = self.seen_in(&outbox, seen);
        Ok(DraftMessage {
            outbox,
            project,
            seen,
        })
    }

    /// Tells what the model must know when it begins or goes on by calls, as a message without our
    /// protocol.
    pub(super) fn overview(&mut self, room: usize) -> Result<String> {
        let listing = self.listing();
        // A message that waits in `outbox/` stays as it is: it is for a chat that has read nothing yet.
        self.published.requested = Some(self.read_again());
        let form = MessageForm::Overview { room };
        let DraftMessage { outbox, seen, .. } = self.gathered(&listing, None, form)?;
        self.redactor.keep()?;
        self.redactor.tell();
        self.session.seen = seen;
        Ok(outbox.text)
    }

    /// The answer to one call: its result, the files that it asked for, and the news.
    pub(super) fn answer(&mut self, told: CallTold) -> Result<String> {
        let CallTold {
            result,
            requests,
            room,
            limits,
            news,
            words,
        } = told;
        let kept = std::mem::replace(&mut self.session.read_file_requests, requests);
        let Requested { mut contents, seen } = self.read_requested(room, &limits);
        let mut session = self.session.clone();
        self.session.read_file_requests = kept;
        session.last_results = vec![result];
        session.last_issues.clear();
        session.last_repairs.clear();
        session.questions = words.answers;
        session.notes = words.notes;
        if news == CallNews::None {
            session.plan = None;
            session.plan_news = None;
        }
        let mut told = MessageTexts {
            session: &mut session,
            contents: vec![&mut contents],
            past: &mut [],
            texts: Vec::new(),
        };
        self.redactor.redact(&mut told);
        let material = AnswerMaterial {
            session: &session,
            contents: &contents,
            tells_check: news == CallNews::Check,
            room,
        };
        let outbox = (self.redactor).compose(|veil| compose::compose_answer(&material, veil));
        self.redactor.keep()?;
        self.redactor.tell();
        self.session.seen = self.seen_in(&outbox, seen);
        Ok(outbox.text)
    }

    /// Learns the contents of credential files anew, after a program may have written some.
    pub(super) fn learn_files(&mut self) {
        self.listing();
    }

    /// Returns the files as the model has seen them once it has read this message; `seen` is the
    /// state before it.
    pub(super) fn seen_in(&self, outbox: &Outbox, mut seen: SeenFiles) -> SeenFiles {
        for sighting in &outbox.shown {
            seen.note_sighting(sighting);
        }
        // What failed by its line numbers was to show the lines of now.
        let is_cut = |result: &&StepResult| outbox.cut_results.contains(&result.number);
        for result in self.session.last_results.iter().filter(is_cut) {
            if let Ok(path) = RelPath::parse(&result.subject)
                && let Some((_, KnownExtent::Lines(_))) = seen.get(&path)
            {
                seen.doubt(&path);
            }
        }
        seen
    }

    /// The message as the chat may read it.
    fn compose(&mut self, mut material: Material<'_>) -> Outbox {
        let mut outbox = self
            .redactor
            .compose(|veil| compose::compose(&material, veil));
        if self.redactor.has_secrets() && !material.facts.conceals_secrets {
            // Only the whole of it told the first secret: the model must know what stands for it.
            material.facts = self.facts();
            outbox = self
                .redactor
                .compose(|veil| compose::compose(&material, veil));
        }
        outbox
    }

    /// How this message is carried, beside what the chat has to remember already.
    fn carriage(&self) -> Carriage {
        let Manner {
            carriage,
            chat,
            keeps_context,
            ..
        } = self.agent.manner;
        let remembered = if keeps_context {
            self.session.chat_tokens
        } else {
            0
        };
        Carriage {
            left_tokens: chat.memory(carriage.limit.tokens).left(remembered),
            ..carriage
        }
    }

    /// Collects the facts that the instructions state.
    pub(super) fn facts(&self) -> Facts {
        let agent = self.agent;
        Facts {
            command_timeout: agent.limits.command_timeout,
            max_command_timeout: agent.limits.max_command_timeout,
            shell: agent.manner.authorizer.runner.language(),
            runs_commands: agent.manner.authorizer.runs_commands(),
            has_repository: agent.workspace.is_repository(),
            conceals_secrets: self.redactor.has_secrets(),
            carrier: match agent.manner.carried_by {
                Some(_) => MessageCarrier::Api,
                None => MessageCarrier::Person,
            },
        }
    }

    /// Says so when this message is more than the chat can remember for long.
    fn tell_memory(&self, tokens: usize) {
        let Manner { chat, carriage, .. } = self.agent.manner;
        let all = self.session.chat_tokens.saturating_add(tokens);
        if let Some(most) = chat.memory(carriage.limit.tokens).tokens
            && all >= most / 5 * 4
        {
            self.agent.tell(Event::ChatMemory {
                tokens: all,
                limit: most,
                chat: chat.name.clone(),
            });
        }
    }

    /// The files as the last message listed them; nothing if this one is to list all of them.
    fn shown_before(&mut self) -> Option<KeptListing> {
        if !self.agent.manner.keeps_context {
            return None;
        }
        let before = self.session.sequence_number - 1;
        let (store, id) = (&self.agent.store, &self.session.session_id);
        let shown = self.published.listing.take();
        shown.or_else(|| KeptListing::read(store, id, before))
    }

    /// Remembers the project as it is before the first check: what that builds is no news of it.
    pub(super) fn keep_listing_before_check(&mut self) -> Result<()> {
        let listing = self.listing();
        let id = &self.session.session_id;
        self.agent.store.put_aside(id, BEFORE_CHECK, &*listing)
    }

    /// Takes the message of this round back, so that it is written anew, with the whole listing.
    pub(super) fn withdraw(&mut self) -> Result<()> {
        let (agent, id) = (self.agent, &self.session.session_id);
        self.published.forget_listing();
        if agent.mailbox.withdraw(id, self.session.sequence_number)? > 0 {
            kept_listing::remove(&agent.store, id, self.session.sequence_number - 1)?;
        }
        Ok(())
    }

    /// Reads the requested files again.
    ///
    /// Removes the parts that a killed process wrote of the message: the new one may be split
    /// differently.
    fn requested_after_restart(&mut self) -> Result<Requested> {
        let (id, sequence) = (&self.session.session_id, self.session.sequence_number);
        self.agent.mailbox.remove_parts(id, sequence)?;
        Ok(self.read_again())
    }

    /// The contents for a message that takes the place of another: what that one showed of them
    /// does not count.
    pub(super) fn read_again(&mut self) -> Requested {
        let mut requested = self.read_requested(self.most_characters(), &self.agent.limits);
        for request in &self.session.read_file_requests {
            requested.seen.doubt(&request.path);
        }
        requested
    }

    fn tell_outbox(&self, posted: &Posted, text: &str, cuts: &[String], patience: Patience) {
        let is_waiting = patience == Patience::Session && !self.session.is_at_limit();
        let sequence = self.session.sequence_number;
        self.agent
            .tell_outbox(sequence, posted, text, cuts, is_waiting);
    }

    /// Reads what the model asked for, for the next message.
    pub(super) fn read_for_next(&mut self) {
        self.published.requested =
            Some(self.read_requested(self.most_characters(), &self.agent.limits));
    }

    fn most_characters(&self) -> usize {
        self.agent.manner.carriage.most_characters()
    }

    /// Reads the files that the model asked for, as they are now.
    ///
    /// The session counts all of them as seen, because nearly always they are; that is undone for
    /// what the message must cut, once that is known.
    fn read_requested(&mut self, room: usize, limits: &Limits) -> Requested {
        let seen = self.session.seen.clone();
        let workspace = &self.agent.workspace;
        let requests = self.session.read_file_requests.clone();
        let redactor = &mut *self.redactor;
        let mut veil = |path: &RelPath, text| redactor.file(path, text);
        let noted = &mut self.session.seen;
        let contents = compose::gather(&requests, room, |request| {
            let shown = execute::read_file(workspace, request, limits, &mut veil);
            if let Some(sighting) = &shown.sighting {
                noted.note_sighting(sighting);
            }
            redact::content(shown)
        });
        Requested { contents, seen }
    }

    /// Lists the files of the workspace; if it cannot be walked, reports that and returns an empty
    /// list.
    ///
    /// From now on the redactor knows the contents of the workspace's credential files.
    pub(super) fn listing(&mut self) -> Arc<Listing> {
        let workspace = &self.agent.workspace;
        let walked = match self.baseline.take_walked() {
            Some(walked) => Ok(walked),
            None => workspace.walk(None).map(Arc::new),
        };
        let walked = match walked {
            Ok(walked) => walked,
            Err(problem) => {
                let problem = problem.to_string();
                self.agent.tell(Event::Unlistable { problem });
                return Arc::default();
            }
        };
        self.redactor.learn_credentials(&walked);
        let is_repository = workspace.is_repository();
        if let Some((last, listing)) = &self.published.listed
            && Arc::ptr_eq(last, &walked)
            && listing.is_repository == is_repository
        {
            return Arc::clone(listing);
        }
        self.redactor.spare(redact::names(&walked.files));
        let listing = Arc::new(listing_of(&walked, is_repository));
        self.published.listed = Some((walked, Arc::clone(&listing)));
        listing
    }
}

impl Agent {
    /// Writes a message in the form that it has.
    pub(super) fn post(&self, id: &SessionId, sequence: u32, outbox: &Outbox) -> Result<Posted> {
        let mailbox = &self.mailbox;
        match &outbox.form {
            OutboxForm::Whole => mailbox.write_outbox(id, sequence, &outbox.text),
            OutboxForm::Parts(parts) => mailbox.write_parts(id, sequence, parts),
            OutboxForm::Attached { message } => {
                mailbox.write_attached(id, sequence, message, &outbox.text)
            }
        }
    }

    /// Tells which message is ready, how long it is and what takes the space.
    pub fn tell_outbox(
        &self,
        sequence: u32,
        posted: &Posted,
        text: &str,
        cuts: &[String],
        is_waiting: bool,
    ) {
        self.mailbox.keep_latest(posted);
        let Manner { carriage, chat, .. } = &self.manner;
        let meter = compose::measure(text);
        let takes = meter.takes.iter();
        let pastes: Vec<String> = posted.pastes.iter().map(|path| text_of(path)).collect();
        self.tell(Event::Outbox {
            path: text_of(&posted.pastes[0]),
            pastes,
            attachment: posted.attachment.as_deref().map(text_of),
            inbox: text_of(self.mailbox.inbox()),
            sequence,
            characters: meter.characters,
            tokens: meter.tokens,
            takes: takes
                .map(|takes| (takes.what.to_owned(), takes.characters))
                .collect(),
            chat: chat.name.clone(),
            percent: carriage
                .limit_of(posted.attachment.as_deref())
                .percent(&meter),
            becomes_file: chat
                .attaches_above
                .is_some_and(|most| meter.characters > most),
            cuts: cuts.to_vec(),
            is_waiting,
            carried_by: self.manner.carried_by.clone(),
        });
    }
}

/// The whole message as it was posted; what cannot be read any more is empty.
pub fn message_of(posted: &Posted) -> String {
    let read = |path: &PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    match &posted.attachment {
        Some(attachment) => read(attachment),
        None => parts::join(&posted.pastes.iter().map(read).collect::<Vec<_>>()),
    }
}

/// Turns the result of a walk into a listing. Directories that tools fill are counted, not listed.
fn listing_of(walked: &Walked, is_repository: bool) -> Listing {
    let mut listing = Listing {
        files: Arc::clone(&walked.files),
        omitted: u64::from(walked.cut),
        unnamable: walked.unnamable,
        is_repository,
        ..Listing::default()
    };
    let mut listed: Vec<&[Listed]> = Vec::new();
    for (_, files) in by_directory(&walked.files) {
        match walked.generated.containing(files[0].path.as_str()) {
            Some(directory) => {
                let count = listing.generated.entry(directory.to_owned()).or_default();
                *count += files.len() as u64;
            }
            None => listed.push(files),
        }
    }
    if !listing.generated.is_empty() {
        listing.files = Arc::new(listed.concat());
    }
    listing
}
