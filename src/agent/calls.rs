//! Calls: commands that arrive one by one and are answered one by one.
//!
//! Consecutive calls are one round, so that they are undone, shown and told together. The round is
//! journalled like one of a pasted reply, whose file grows by a line with every call. It ends with
//! `[DONE]`, with a question to the person, before a call that needs their decision, when it has
//! become long, and when [`CallDesk::end_round`] is called. A call is planned, recorded and executed as
//! a step of a reply is: the same rules, the same runner, at most once. Each answer is what the next
//! message would have said.

use std::collections::BTreeSet;

use super::authorize::StepPlan;
use super::baseline::{FurtherCall, may_change};
use super::publish::{CallNews, CallTold};
use super::questions::Answered;
use super::round::read_requests;
use super::steps::Begun;
use super::{Agent, Engine, Patience, ReplyArrival, Taken, file_name, identity, text_of};
use crate::approve::{Input, Person as _};
use crate::checkpoint::Before;
use crate::error::{Error, Result};
use crate::execute::Limits;
use crate::mailbox::{CallSafety, CallsFile};
use crate::protocol::{Command, Event, RelPath, Status, Step, StepResult};
use crate::reply::Reply;
use crate::session::{CheckProgress, Record, RoundLock, Session};

/// The most calls of a round.
const MOST_CALLS: usize = 100;
/// The most characters that the results of a round may have before it ends: all of them stay in the
/// session until the next one.
const LONGEST_RESULTS: usize = 400_000;
/// The most bytes that the calls of a round may have before it ends.
const LONGEST_CALLS: u64 = 8 << 20;

/// A session that takes calls.
#[derive(Debug)]
pub struct CallDesk<'a> {
    engine: Engine<'a>,
    open: Option<OpenRound>,
    /// The result of the last call.
    last: Option<StepResult>,
    /// True if it is kept that its answer may not have arrived.
    has_kept: bool,
}

/// The calls that an earlier process left behind, a line for each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftCalls {
    /// The calls that were under way when it was killed.
    pub interrupted: Vec<String>,
    /// The last call that was carried out, if its answer may not have arrived.
    pub unanswered: Option<String>,
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
        self.tell(self.manner.authorizer.described());
        let mut engine = Engine::open(self, session, Patience::Session)?;
        engine.tell_planning();
        engine.answer_by_what_was_said()?;
        engine.check_at_start()?;
        // From now on the redactor knows the credentials of the workspace.
        engine.publisher().learn_files();
        Ok(CallDesk {
            engine,
            open: None,
            last: None,
            has_kept: false,
        })
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

    /// Takes what a process before this one left, to be told once.
    pub fn take_left(&mut self) -> LeftCalls {
        let engine = &mut self.engine;
        let interrupted = std::mem::take(&mut engine.interrupted);
        let (store, id) = (&engine.agent.store, &engine.session.session_id);
        let kept: Option<String> = store.aside(id, UNANSWERED);
        store.drop_aside(id, UNANSWERED);
        let last = engine.last_call.take();
        let last = last.filter(|last| !interrupted.contains(last));
        LeftCalls {
            unanswered: last.as_ref().map(line).or(kept),
            interrupted: interrupted.iter().map(line).collect(),
        }
    }

    /// Keeps that the answer to the last call may not have arrived, until another call comes.
    pub fn keep_unanswered(&mut self) -> Result<()> {
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

    /// Carries out a command and answers in at most so many characters.
    pub fn call(&mut self, command: Command, room: usize) -> Result<CallAnswer> {
        if let Some(refusal) = self.refusal() {
            return Ok(CallAnswer {
                text: refusal,
                is_error: true,
                has_ended: self.engine.session.is_complete,
            });
        }
        if std::mem::take(&mut self.has_kept) {
            // Whoever makes the next call has read the last answer.
            let (store, id) = (&self.engine.agent.store, &self.engine.session.session_id);
            store.drop_aside(id, UNANSWERED);
        }
        let mut step = self.numbered(command);
        if self.open.is_some() && self.must_begin_round(&step)? {
            self.end(RoundCheck::Waits, Answering::Done)?;
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
        let result = self.execute(&step, &plan)?;
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
        let text = self.engine.publisher().answer(CallTold {
            result,
            requests,
            room,
            news,
        })?;
        Ok(CallAnswer {
            text,
            is_error,
            has_ended: self.engine.session.is_complete,
        })
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
    /// about it, which they do between rounds, or its checkpoint does not cover it.
    fn must_begin_round(&mut self, step: &Step) -> Result<bool> {
        let engine = &mut self.engine;
        let agent = engine.agent;
        let approval = engine.approval();
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
                    engine.unwritten.push(Record::Before { sequence, before });
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
        self.engine.plan(&steps, done, Patience::Session)
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
            engine.unwritten.extend(record);
        }
        let named = step.command.changed_paths();
        open.named.extend(named.into_iter().cloned());
        Ok(())
    }

    fn execute(&mut self, step: &Step, plan: &StepPlan) -> Result<StepResult> {
        let engine = &mut self.engine;
        let mut seen = std::mem::take(&mut engine.session.seen);
        let hide = engine.redactor.hider();
        let runner = engine.runner(hide.as_deref());
        let reply = Reply {
            steps: vec![step.clone()],
            ..Reply::default()
        };
        let results = runner.run(plan, &reply, Begun::default(), &mut seen, engine)?;
        engine.session.seen = seen;
        let records = std::mem::take(&mut engine.unwritten);
        if !records.is_empty() {
            engine.journal.record(&records)?;
        }
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
                return Ok((last.unwrap_or(result), CallNews::WithCheck));
            }
            Command::AskUser { .. } if is_ok => {
                self.end(RoundCheck::Waits, Answering::Now)?;
                self.engine.answer_questions(Patience::Session)?
            }
            Command::Plan { .. } if engine.is_proposal(step) => {
                self.end(RoundCheck::Waits, Answering::Now)?;
                self.engine.decide_plan(Patience::Session)?
            }
            _ => {
                let notes = engine.agent.store.notes(&engine.session.session_id);
                if notes.all().is_empty() {
                    if self.is_long() {
                        self.end(RoundCheck::Waits, Answering::Now)?;
                    }
                    return Ok((result, CallNews::None));
                }
                self.end(RoundCheck::Waits, Answering::Now)?;
                Answered::Yes
            }
        };
        if answered == Answered::Interrupted {
            tracing::debug!("a call was cancelled while the person was asked");
        }
        Ok((result, CallNews::Words))
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
            results,
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
        engine.checkpoint_after(before, steps, &results)?;
        engine.conclude(taken, results, checked)?;
        drop(alone);
        Ok(())
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
