//! Calls: commands that arrive one by one and are answered one by one.
//!
//! Consecutive calls are one round, so that they are undone, shown and told together. The round is
//! journalled like one of a pasted reply, whose file grows by a line with every call. It ends with
//! `[DONE]`, with a question to the person, before a call that needs their decision, when it has
//! become long, and when [`CallDesk::end_round`] is called. A call is planned, recorded and executed as
//! a step of a reply is: the same rules, the same runner, at most once. Each answer is what the next
//! message would have said.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::authorize::StepPlan;
use super::baseline::{FurtherCall, may_change};
use super::engine::{Engine, Patience, ReplyArrival, Taken};
use super::planning::approval;
use super::publish::{CallNews, CallTold, UntoldWords};
use super::questions::Answered;
use super::redact::TextCover;
use super::round::{is_proposal, read_requests};
use super::steps::{Begun, StepRunner};
use super::{Agent, file_name, identity, recover, text_of};
use crate::approve::{Input, Person as _, Question, Verdict};
use crate::checkpoint::Before;
use crate::compose::fenced;
use crate::error::{Error, Result};
use crate::execute::Limits;
use crate::mailbox::{CallSafety, CallsFile};
use crate::protocol::{
    Command, CommandKind, Event, QuestionKind, RelPath, Status, Step, StepResult,
};
use crate::reply::Reply;
use crate::session::{CheckProgress, Record, RoundLock, Session};

/// The most calls of a round.
const MOST_CALLS: usize = 100;
/// The most characters that the results of a round may have before it ends: all of them stay in the
/// session until the next one.
const LONGEST_RESULTS: usize = 400_000;
/// The most bytes that the calls of a round may have before it ends.
const LONGEST_CALLS: u64 = 8 << 20;

/// The most characters of what an interrupted command had printed.
const LONGEST_LEFT: usize = 4_000;

/// A session that takes calls.
#[derive(Debug)]
pub struct CallDesk<'a> {
    engine: Engine<'a>,
    open: Option<OpenRound>,
    /// The result of the last call.
    last: Option<StepResult>,
    /// True if it is kept that its answer may not have arrived.
    has_kept: bool,
    /// Words of the person that no answer has told, also on the disk.
    words: UntoldWords,
    /// True if the last answer told them.
    has_told: bool,
    /// Those of the session's own words that were taken over into `words`.
    gathered: UntoldWords,
    /// The questions that wait though nobody waits with them, and how they stood when they were told.
    mentioned: BTreeMap<String, Option<Verdict>>,
}

/// The room of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerRoom {
    /// The most characters.
    pub characters: usize,
    /// True if the client asked for so many: then the limits of the settings do not cut before.
    pub is_wanted: bool,
}

impl AnswerRoom {
    /// The limits of a step whose answer has this room.
    fn raise(self, limits: &Limits) -> Limits {
        let mut limits = limits.clone();
        if self.is_wanted {
            // A line has a character at least, an entry of a list and a match of a search a few.
            let most = |few: usize| u32::try_from(self.characters / few).unwrap_or(u32::MAX);
            limits.max_output = limits.max_output.max(self.characters);
            limits.max_read_lines = limits.max_read_lines.max(most(1));
            limits.max_list_items = limits.max_list_items.max(most(4));
            limits.max_search_results = limits.max_search_results.max(most(8));
        }
        limits
    }
}

/// A round to which calls are added.
#[derive(Debug)]
struct OpenRound {
    taken: Taken,
    file: CallsFile,
    before: Option<Before>,
    /// The files that its calls name.
    named: BTreeSet<RelPath>,
    results: Vec<StepResult>,
    /// Nobody undoes a round while this one goes on.
    alone: RoundLock,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallAnswer {
    /// The text for the model.
    pub text: String,
    /// True if it was not carried out, or failed.
    pub is_error: bool,
    /// True if the session has ended.
    pub has_ended: bool,
}

/// Where it is kept that an answer may not have arrived.
const UNANSWERED: &str = "unanswered.json";
/// Where words of the person are kept that no answer has told.
const UNTOLD: &str = "untold.json";

/// Says if a round ends while its last call waits for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answering {
    Now,
    Done,
}

/// Says if the person's check runs when a round ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RoundCheck {
    Runs(Input),
    Waits,
}

impl Agent {
    /// Opens a session for calls, and settles what a killed process left.
    pub fn take_calls(&self, session: Session) -> Result<CallDesk<'_>> {
        self.tell_confinement();
        let mut engine = recover::open(self, session, Patience::Session)?;
        engine.plan_mode().tell();
        let (store, id) = (&self.store, &engine.session.session_id);
        let words: Option<UntoldWords> = store.aside(id, UNTOLD);
        let is_unanswered =
            engine.last_call.is_some() || store.aside::<String>(id, UNANSWERED).is_some();
        let gathered = if is_unanswered && words.is_none() {
            UntoldWords::default()
        } else {
            said_in(&engine.session)
        };
        engine.questions().answer_by_what_was_said()?;
        engine.check_at_start()?;
        // From now on the redactor knows the credentials of the workspace.
        engine.publisher().learn_files();
        let mut desk = CallDesk {
            engine,
            open: None,
            last: None,
            has_kept: false,
            words: words.unwrap_or_default(),
            has_told: false,
            gathered,
            mentioned: BTreeMap::new(),
        };
        desk.gather_words()?;
        Ok(desk)
    }
}

/// The words of the person that a session holds: answers to the model's questions, and notes.
fn said_in(session: &Session) -> UntoldWords {
    let answers = session.questions.iter();
    UntoldWords {
        answers: answers
            .filter(|one| one.answer.is_some())
            .cloned()
            .collect(),
        notes: session.notes.clone(),
    }
}

impl CallDesk<'_> {
    /// The session as it stands.
    pub fn session(&self) -> &Session {
        &self.engine.session
    }

    /// The limits of steps.
    pub fn limits(&self) -> &Limits {
        &self.engine.agent.limits
    }

    /// Returns true if a round is under way.
    pub fn has_open_round(&self) -> bool {
        self.open.is_some()
    }

    /// Tells what a process before this one left, once: calls that were under way when it was killed,
    /// and the last one that was carried out, if its answer may not have arrived.
    pub fn take_left(&mut self) -> String {
        let engine = &mut self.engine;
        let interrupted = std::mem::take(&mut engine.interrupted);
        let (store, id) = (&engine.agent.store, &engine.session.session_id);
        let kept: Option<String> = store.aside(id, UNANSWERED);
        store.drop_aside(id, UNANSWERED);
        let last = engine.last_call.take();
        let last = last.filter(|last| !interrupted.contains(last));
        let mut left = String::new();
        if !interrupted.is_empty() {
            let calls: Vec<String> = interrupted.iter().map(with_output).collect();
            left = format!(
                "When `agent` was last stopped, this was under way:\n- {}\n\n",
                calls.join("\n- ")
            );
        }
        if let Some(line) = last.as_ref().map(line).or(kept) {
            let _ = write!(
                left,
                "This was carried out, and its result may not have reached you; do not repeat it:\n- {line}\n\n"
            );
        }
        self.redacted(left)
    }

    /// A text for the chat with placeholders in place of secrets; they are kept with the next answer.
    pub fn redacted(&mut self, mut text: String) -> String {
        self.engine.redactor.redact_text(&mut text);
        text
    }

    /// Covers secrets in what is told while this command is carried out.
    pub fn text_cover(&mut self, command: &Command) -> TextCover {
        let redactor = &mut self.engine.redactor;
        if let Command::RunCommand { script, .. } = command {
            redactor.learn_named(script);
        }
        redactor.text_cover()
    }

    /// Keeps that the answer to the last call may not have arrived, until another call comes.
    pub fn keep_unanswered(&mut self) -> Result<()> {
        self.has_told = false;
        self.mentioned.clear();
        let Some(last) = &self.last else {
            return Ok(());
        };
        let (store, id) = (&self.engine.agent.store, &self.engine.session.session_id);
        store.put_aside(id, UNANSWERED, &line(last))?;
        self.has_kept = true;
        Ok(())
    }

    /// Tells what a chat must know that begins here.
    pub fn overview(&mut self, room: usize) -> Result<String> {
        self.engine.publisher().overview(room)
    }

    /// Carries out a command and answers in this room.
    pub fn call(&mut self, command: Command, room: AnswerRoom) -> Result<CallAnswer> {
        if let Some(refusal) = self.refusal() {
            return Ok(CallAnswer {
                text: refusal,
                is_error: true,
                has_ended: self.engine.session.is_complete,
            });
        }
        if std::mem::take(&mut self.has_kept) {
            // A client that makes another call has read the last answer.
            let (store, id) = (&self.engine.agent.store, &self.engine.session.session_id);
            store.drop_aside(id, UNANSWERED);
        }
        self.forget_told();
        if self.open.is_none() {
            self.hear()?;
        }
        let mut step = self.numbered(command);
        if self.open.is_some() && self.must_begin_round(&step)? {
            self.end(RoundCheck::Waits, Answering::Done)?;
            self.hear()?;
            step = self.numbered(step.command);
        }
        let Some(plan) = self.plan(&step)? else {
            return Ok(CallAnswer {
                text: format!(
                    "{} was not carried out: the call was cancelled while the user was asked. If the user has approved it meanwhile, make the same call again.",
                    step.command.name()
                ),
                is_error: true,
                has_ended: false,
            });
        };
        self.add(&step)?;
        let limits = room.raise(&self.engine.agent.limits);
        let result = self.execute(&step, &plan, &limits)?;
        if may_change(&step) && plan.went_unasked() {
            self.drop_stale_questions()?;
        }
        let open = self.open.as_mut().expect("the call was added to a round");
        open.taken.reply.steps.push(step.clone());
        open.results.push(result.clone());
        self.last = Some(result.clone());
        let told = self.conclude_if_due(&step, result)?;
        let requests = read_requests(
            &self.engine.agent.workspace,
            std::slice::from_ref(&step),
            std::slice::from_ref(&told.0),
        );
        let (result, news) = told;
        let is_error = result.outcome.status != Status::Ok;
        let waiting = self.take_waiting();
        let waiting = self.redacted(waiting);
        let words = self.words.clone();
        self.has_told = words != UntoldWords::default();
        let mut text = self.engine.publisher().answer(CallTold {
            result,
            requests,
            room: room.characters,
            limits,
            news,
            words,
        })?;
        text.push_str(&waiting);
        Ok(CallAnswer {
            text,
            is_error,
            has_ended: self.engine.session.is_complete,
        })
    }

    /// Forgets the person's words if the last answer told them.
    fn forget_told(&mut self) {
        if std::mem::take(&mut self.has_told) {
            self.words = UntoldWords::default();
            let (store, id) = (&self.engine.agent.store, &self.engine.session.session_id);
            store.drop_aside(id, UNTOLD);
        }
    }

    /// Learns what the person said between rounds: answers to the model's questions, and what they
    /// decided about its plan.
    fn hear(&mut self) -> Result<()> {
        self.engine.questions().answer_by_what_was_said()?;
        self.engine.plan_mode().settle_decided()?;
        self.gather_words()
    }

    /// Takes over what the session knows of the person's words, to be told with the next answer.
    fn gather_words(&mut self) -> Result<()> {
        let said = said_in(&self.engine.session);
        if said == self.gathered {
            return Ok(());
        }
        let UntoldWords { answers, notes } = said.clone();
        for answer in answers {
            if !self.gathered.answers.contains(&answer) && !self.words.answers.contains(&answer) {
                self.words.answers.push(answer);
            }
        }
        let is_new = |note: &String| !self.gathered.notes.contains(note);
        let notes: Vec<String> = notes.into_iter().filter(is_new).collect();
        self.words.notes.extend(notes);
        self.gathered = said;
        let (store, id) = (&self.engine.agent.store, &self.engine.session.session_id);
        store.put_aside(id, UNTOLD, &self.words)
    }

    /// Forgets questions about commands that wait for their call, and approvals of them: another call,
    /// which the person was not asked about, may have changed what they run.
    fn drop_stale_questions(&self) -> Result<()> {
        let pending = self.engine.pending();
        for (question, _) in pending.of_calls() {
            if question.command == CommandKind::RunCommand.word() {
                pending.take_back(&question)?;
            }
        }
        Ok(())
    }

    /// Says which questions wait for the person though the client has given up waiting, and what they
    /// decided; each once.
    fn take_waiting(&mut self) -> String {
        let pending = self.engine.pending();
        let calls = pending.of_calls().into_iter();
        let of_model = pending.all().into_iter();
        let of_model = of_model.filter(|question| question.kind == QuestionKind::Model);
        let of_model = of_model.map(|question| (question, None));
        let waiting: Vec<(Question, Option<Verdict>)> = calls.chain(of_model).collect();
        let mut text = String::new();
        let mut mentioned = BTreeMap::new();
        for (question, verdict) in waiting {
            let identity = question.identity();
            if self.mentioned.get(&identity) != Some(&verdict) {
                text.push_str(&waiting_words(&question, verdict.as_ref()));
            }
            mentioned.insert(identity, verdict);
        }
        self.mentioned = mentioned;
        text
    }

    /// Ends the round that is under way, if there is one, with the person's check.
    pub fn end_round(&mut self) -> Result<()> {
        let check = if self.engine.agent.interrupt.is_raised() {
            RoundCheck::Waits
        } else {
            // Nobody is there to answer a question about it.
            RoundCheck::Runs(Input::Refuse)
        };
        self.end(check, Answering::Done)
    }

    /// Ends the round, and writes the message with which a person can go on.
    pub fn leave(mut self) -> Result<()> {
        self.forget_told();
        self.end_round()?;
        let engine = &mut self.engine;
        if !engine.session.is_complete {
            engine.publish(Patience::OneReply)?;
        }
        engine.tidy();
        Ok(())
    }

    /// Why no call is taken, if so.
    fn refusal(&self) -> Option<String> {
        let session = &self.engine.session;
        if session.is_complete {
            return Some("The session has ended. `begin` begins another one.".to_owned());
        }
        (self.open.is_none() && session.is_at_limit()).then(|| {
            format!(
                "The session has used its {} rounds. Wait for the user: they can go on in the chat after a minute, or allow more with `MaxRounds`.",
                session.sequence_number.saturating_sub(1)
            )
        })
    }

    fn numbered(&self, command: Command) -> Step {
        let done = self.open.as_ref().map_or(0, |open| open.results.len());
        let number = u32::try_from(done).unwrap_or(u32::MAX).saturating_add(1);
        Step {
            number,
            line: number,
            command,
        }
    }

    /// Returns true if a call cannot be added to the round that is under way: the person must decide
    /// about it, which they do between rounds, it asks anew while an earlier answer waits to be heard,
    /// or its checkpoint does not cover it.
    fn must_begin_round(&mut self, step: &Step) -> Result<bool> {
        let engine = &mut self.engine;
        if matches!(step.command, Command::AskUser { .. }) && engine.questions().has_answer() {
            return Ok(true);
        }
        let agent = engine.agent;
        let approval = approval(agent, &engine.session);
        if (agent.manner.authorizer).leaves_to_person(&agent.base, approval, step)? {
            return Ok(true);
        }
        let Some(open) = &mut self.open else {
            return Ok(false);
        };
        let Some(before) = open.before else {
            return Ok(false);
        };
        match engine.baseline.before_further(before, &open.named, step) {
            FurtherCall::NewRound => Ok(true),
            FurtherCall::Covered(covering) => {
                if covering != before {
                    let sequence = engine.session.sequence_number;
                    let before = covering;
                    engine
                        .progress
                        .unwritten
                        .push(Record::Before { sequence, before });
                    open.before = Some(covering);
                }
                Ok(false)
            }
        }
    }

    fn plan(&self, step: &Step) -> Result<Option<StepPlan>> {
        let steps = self.open.iter().flat_map(|open| &open.taken.reply.steps);
        let mut steps: Vec<Step> = steps.cloned().collect();
        let done = steps.len();
        steps.push(step.clone());
        let manner = (Patience::Session, ReplyArrival::Calls);
        self.engine.plan(&steps, done, manner)
    }

    /// Writes a call down, in the round that is under way or in a new one.
    fn add(&mut self, step: &Step) -> Result<()> {
        let engine = &mut self.engine;
        if let Some(open) = &mut self.open {
            let safety = if may_change(step) {
                CallSafety::Synced
            } else {
                CallSafety::Written
            };
            open.file.append(step, safety)?;
        } else {
            engine.agent.workspace.ensure_in_place()?;
            let alone = engine.alone()?;
            let (id, sequence) = (&engine.session.session_id, engine.session.sequence_number);
            let file = engine.agent.mailbox.begin_calls(id, sequence, step)?;
            let first = serde_json::to_string(step).unwrap_or_default();
            let taken = Taken {
                name: file_name(&file.path),
                reply: Reply::default(),
                identity: identity(&first),
                file: file.path.clone(),
                arrival: ReplyArrival::Calls,
            };
            engine.agent.tell(Event::Reply {
                name: taken.name.clone(),
                file: text_of(&taken.file),
                sequence,
                commands: 1,
            });
            engine.begin_round(&taken, None);
            self.open = Some(OpenRound {
                taken,
                file,
                before: None,
                named: BTreeSet::new(),
                results: Vec::new(),
                alone,
            });
        }
        let open = self.open.as_mut().expect("there is one by now");
        let has_changed = open.taken.reply.steps.iter().any(may_change);
        if open.before.is_none() && !has_changed && may_change(step) {
            let steps = std::slice::from_ref(step);
            open.before = engine.baseline.before(&engine.session, steps);
            let sequence = engine.session.sequence_number;
            let record = open
                .before
                .map(|before| Record::Before { sequence, before });
            engine.progress.unwritten.extend(record);
        }
        let named = step.command.changed_paths();
        open.named.extend(named.into_iter().cloned());
        Ok(())
    }

    fn execute(&mut self, step: &Step, plan: &StepPlan, limits: &Limits) -> Result<StepResult> {
        let engine = &mut self.engine;
        let mut seen = std::mem::take(&mut engine.session.seen);
        let hide = engine.redactor.hider();
        let runner = StepRunner {
            limits,
            // More calls may follow in the same round.
            snapshot_follows: false,
            ..engine.runner(hide.as_deref())
        };
        let reply = Reply {
            steps: vec![step.clone()],
            ..Reply::default()
        };
        let mut log = engine.log();
        let results = runner.run(plan, &reply, Begun::default(), &mut seen, &mut log)?;
        log.write_rest()?;
        engine.session.seen = seen;
        if super::steps::runs(step) {
            engine.publisher().learn_files();
        }
        (results.into_iter().next())
            .ok_or_else(|| Error::mendable("the call has no result, which is a defect of `agent`"))
    }

    /// Ends the round if this call does, or if it is long; returns the result as it is by then.
    fn conclude_if_due(
        &mut self,
        step: &Step,
        result: StepResult,
    ) -> Result<(StepResult, CallNews)> {
        let engine = &mut self.engine;
        let is_ok = result.outcome.status == Status::Ok;
        let answered = match step.command {
            Command::Done { .. } => {
                let input = engine.agent.person.input();
                self.end(RoundCheck::Runs(input), Answering::Now)?;
                // Whether it counts was decided with the round.
                let last = self.engine.session.last_results.last().cloned();
                return Ok((last.unwrap_or(result), CallNews::Check));
            }
            Command::AskUser { ref question } if is_ok => {
                self.end(RoundCheck::Waits, Answering::Now)?;
                let known = self.words.answers.iter();
                let known = known.rev().find(|known| known.question == *question);
                if let Some(text) = known.and_then(|known| known.answer.clone()) {
                    // The person answered after the client had given up waiting.
                    self.engine.questions().take(Verdict::Say { text })?;
                }
                self.engine.questions().answer(Patience::Session)?
            }
            Command::Plan { .. } if is_proposal(&engine.session, step) => {
                self.end(RoundCheck::Waits, Answering::Now)?;
                self.engine.plan_mode().decide(Patience::Session)?
            }
            _ => {
                let notes = engine.agent.store.notes(&engine.session.session_id);
                if !notes.all().is_empty() || engine.questions().has_answer() || self.is_long() {
                    self.end(RoundCheck::Waits, Answering::Now)?;
                    self.hear()?;
                }
                return Ok((result, CallNews::None));
            }
        };
        if answered == Answered::Interrupted {
            tracing::debug!("a call was cancelled while the person was asked");
        }
        self.gather_words()?;
        Ok((result, CallNews::Plan))
    }

    fn is_long(&self) -> bool {
        self.open.as_ref().is_some_and(|open| {
            let details = open.results.iter();
            let details: usize = details
                .map(|result| result.outcome.detail.text.len() + result.outcome.message.len())
                .sum();
            open.results.len() >= MOST_CALLS
                || details > LONGEST_RESULTS
                || open.file.length > LONGEST_CALLS
        })
    }

    fn end(&mut self, check: RoundCheck, answering: Answering) -> Result<()> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        if answering == Answering::Now {
            // Once the round is over, the journal tells nobody that its last call waits for an answer.
            self.keep_unanswered()?;
        }
        let OpenRound {
            taken,
            before,
            mut results,
            alone,
            ..
        } = open;
        let engine = &mut self.engine;
        let steps = &taken.reply.steps;
        let checked = match check {
            RoundCheck::Runs(input) => {
                let not_begun = CheckProgress::NotBegun;
                (engine.checks()).after_round((before, input, &not_begun), steps, &results)?
            }
            RoundCheck::Waits => engine.checks().postpone(),
        };
        engine.checkpoint_after(before, steps, &mut results)?;
        engine.conclude(taken, results, checked)?;
        drop(alone);
        // Its words took the place of those of the round before.
        self.gathered = UntoldWords::default();
        self.gather_words()
    }
}

/// A result in one line.
fn line(result: &StepResult) -> String {
    let subject = if result.subject.is_empty() {
        String::new()
    } else {
        format!(" `{}`", result.subject)
    };
    format!(
        "{}{subject}: {}",
        result.command,
        result.outcome.line_for_model()
    )
}

/// An interrupted call with what it had printed.
fn with_output(result: &StepResult) -> String {
    let printed = result.outcome.detail.text.trim_end();
    if printed.is_empty() {
        return line(result);
    }
    let left_out = printed.chars().count().saturating_sub(LONGEST_LEFT);
    let printed: String = printed.chars().skip(left_out).collect();
    format!("{}\n{}", line(result), fenced(&printed))
}

/// Says how a question stands with which nobody waits.
fn waiting_words(question: &Question, verdict: Option<&Verdict>) -> String {
    let (key, shown) = (
        question.key(),
        format!("{} {}", question.command, question.title),
    );
    let words = match (question.kind, verdict) {
        (QuestionKind::Model, _) => format!(
            "The user has not answered your question yet: {}\nThey can answer with `agent say`; a later result will tell it.",
            question.shown.trim()
        ),
        (_, None) => format!(
            "The user has not decided yet about {shown}. They decide with `agent approve {key}` or `agent decline {key}`, or on the page of `agent serve`; then make the same call again."
        ),
        (
            _,
            Some(Verdict::Yes | Verdict::Always | Verdict::AllOfThisRound | Verdict::Edit { .. }),
        ) => {
            format!("The user has approved {shown}: make the same call again.")
        }
        (_, Some(verdict)) => {
            let why = verdict
                .reason()
                .map_or_else(String::new, |why| format!(": {why}"));
            format!("The user has declined {shown}{why}")
        }
    };
    format!("\n\n{words}\n")
}
