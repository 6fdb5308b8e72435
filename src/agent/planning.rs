//! Plan mode: nothing is changed before the person has approved a plan.
//!
//! Where a session stands is kept in it, so a restart neither forgets a plan nor lets the work
//! begin early, whatever the settings say by then.

use super::Agent;
use super::engine::{Engine, Patience};
use super::questions::Answered;
use super::round::bounded;
use crate::approve::{self, Input, Person as _, Question, Verdict};
use crate::error::Result;
use crate::policy::Approval;
use crate::protocol::{CommandKind, Event, QuestionKind, StepResult};
use crate::session::{Instructions, PlanNews, Planning, Session};

/// When the person is asked, now.
pub(super) fn approval(agent: &Agent, session: &Session) -> Approval {
    let authorizer = &agent.manner.authorizer;
    match session.planning {
        Planning::Off => authorizer.policy.approval,
        Planning::Underway | Planning::Proposed => Approval::Plan,
        Planning::Approved => authorizer.work_approval,
    }
}

/// The plan of a session, and what the person says of it.
#[derive(Debug)]
pub(super) struct PlanMode<'e, 'a> {
    pub(super) engine: &'e mut Engine<'a>,
}

impl PlanMode<'_, '_> {
    /// Enters plan mode if the settings say so and no plan was approved; tells whether that is new.
    pub(super) fn begin(&mut self) -> bool {
        let is_wanted = self.engine.agent.manner.authorizer.policy.approval == Approval::Plan;
        let begins = is_wanted && self.engine.session.planning == Planning::Off;
        if begins {
            self.engine.session.planning = Planning::Underway;
        }
        begins
    }

    /// Says that nothing is going to be changed, if so.
    pub(super) fn tell(&self) {
        if self.engine.session.planning.is_open() {
            self.engine.agent.tell(Event::PlanMode);
        }
    }

    /// Gets the decision about a plan that waits for it.
    ///
    /// Where nobody is waited for, the question stays, and the next run goes by the answer.
    pub(super) fn decide(&mut self, patience: Patience) -> Result<Answered> {
        let Some(plan) = self.engine.session.plan.clone() else {
            return Ok(Answered::Yes);
        };
        if self.engine.session.planning != Planning::Proposed {
            return Ok(Answered::Yes);
        }
        let person = &self.engine.agent.person;
        if person.input() == Input::Refuse {
            let reason = Some("nobody can be asked about it now".to_owned());
            return self.settle(Verdict::No { reason });
        }
        let question = self.question_about(&plan);
        let pending = self.engine.pending();
        pending.put(&question)?;
        if patience == Patience::OneReply && !person.is_interactive() {
            if let Some(verdict) = pending.decision_on(&question) {
                return self.settle(verdict);
            }
            let kind = QuestionKind::Plan;
            self.engine.agent.tell(Event::Waiting { kind });
            return Ok(Answered::Yes);
        }
        let verdicts = approve::decide(
            &**person,
            &self.engine.agent.interrupt,
            &pending,
            &[question],
        )?;
        match verdicts.and_then(|verdicts| verdicts.into_iter().next()) {
            Some(verdict) => self.settle(verdict),
            None => Ok(Answered::Interrupted),
        }
    }

    /// Goes by what was decided about a plan after the client had given up waiting.
    pub(super) fn settle_decided(&mut self) -> Result<()> {
        let plan = self.engine.session.plan.clone();
        let waits = self.engine.session.planning == Planning::Proposed && !self.engine.is_under_way;
        if let Some(plan) = plan.filter(|_| waits)
            && let Some(verdict) = self
                .engine
                .pending()
                .decision_on(&self.question_about(&plan))
        {
            self.settle(verdict)?;
        }
        Ok(())
    }

    fn question_about(&self, plan: &str) -> Question {
        let mut put = self.engine.pending().all().into_iter();
        let is_put = |put: &Question| put.kind == QuestionKind::Plan && put.shown == plan;
        if let Some(put) = put.find(is_put) {
            return put;
        }
        let is_plan = |result: &&StepResult| result.is(CommandKind::Plan);
        let step = self.engine.session.last_results.iter().find(is_plan);
        let number = step.map_or(1, |result| result.number);
        let mode = self.engine.agent.manner.authorizer.work_approval;
        Question::about_plan(number, self.engine.session.sequence_number - 1, plan, mode)
    }

    /// Goes by the person's decision; the model learns of it in the next outbox that is written.
    fn settle(&mut self, verdict: Verdict) -> Result<Answered> {
        let (planning, text) = match verdict {
            Verdict::Yes | Verdict::AllOfThisRound | Verdict::Always => (
                Planning::Approved,
                "The user approved this plan. Carry it out now: all commands are open again."
                    .to_owned(),
            ),
            Verdict::Edit { script } => {
                self.engine.session.plan = Some(bounded(&script));
                (
                    Planning::Approved,
                    "The user changed your plan and approved it like this. Carry it out now: all commands are open again.".to_owned(),
                )
            }
            Verdict::No { reason } => {
                let why = reason.map_or_else(String::new, |reason| format!(": {reason}"));
                (
                    Planning::Underway,
                    format!("The user declined your plan{why}\nSend a better [PLAN]."),
                )
            }
            Verdict::Skip | Verdict::Say { .. } => (
                Planning::Underway,
                "The user did not decide about your plan. Send another [PLAN].".to_owned(),
            ),
            Verdict::Stop => {
                // The next run asks again.
                self.engine.pending().clear(&*self.engine.agent.person);
                self.engine.agent.interrupt.raise();
                return Ok(Answered::Interrupted);
            }
        };
        let session = &mut self.engine.session;
        let sequence = session.sequence_number;
        let mailbox = &self.engine.agent.mailbox;
        let is_written = mailbox.outbox_path(&session.session_id, sequence).exists();
        session.planning = planning;
        session.plan_news = Some(PlanNews {
            sequence: sequence + u32::from(is_written),
            text,
        });
        if planning == Planning::Approved {
            // The work needs the commands that plan mode left out, and the plan.
            session.instructions = Instructions::Full;
        }
        let _alone = self.engine.alone()?;
        self.engine.save()?;
        self.engine.pending().clear(&*self.engine.agent.person);
        Ok(Answered::Yes)
    }
}
