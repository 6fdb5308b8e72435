//! Plan mode: nothing is changed before the person has approved a plan.
//!
//! Where a session stands is kept in it, so a restart neither forgets a plan nor lets the work
//! begin early, whatever the settings say by then.

use super::Engine;
use super::Patience;
use super::questions::Answered;
use super::round::bounded;
use crate::approve::{self, Input, Person as _, Question, Verdict};
use crate::error::Result;
use crate::policy::Approval;
use crate::protocol::{CommandKind, Event, QuestionKind, StepResult};
use crate::session::{Instructions, PlanNews, Planning};

impl Engine<'_> {
    /// When the person is asked, now.
    pub(super) fn approval(&self) -> Approval {
        let authorizer = &self.agent.manner.authorizer;
        match self.session.planning {
            Planning::Off => authorizer.policy.approval,
            Planning::Underway | Planning::Proposed => Approval::Plan,
            Planning::Approved => authorizer.work_approval,
        }
    }

    /// Enters plan mode if the settings say so and no plan was approved; tells whether that is new.
    pub(super) fn begin_planning(&mut self) -> bool {
        let is_wanted = self.agent.manner.authorizer.policy.approval == Approval::Plan;
        let begins = is_wanted && self.session.planning == Planning::Off;
        if begins {
            self.session.planning = Planning::Underway;
        }
        begins
    }

    /// Says that nothing is going to be changed, if so.
    pub(super) fn tell_planning(&self) {
        if self.session.planning.is_open() {
            self.agent.tell(Event::PlanMode);
        }
    }

    /// Gets the decision about a plan that waits for it.
    ///
    /// Where nobody is waited for, the question stays, and the next run goes by the answer.
    pub(super) fn decide_plan(&mut self, patience: Patience) -> Result<Answered> {
        let Some(plan) = self.session.plan.clone() else {
            return Ok(Answered::Yes);
        };
        if self.session.planning != Planning::Proposed {
            return Ok(Answered::Yes);
        }
        let person = &self.agent.person;
        if person.input() == Input::Refuse {
            let reason = Some("nobody can be asked about it now".to_owned());
            return self.settle_plan(Verdict::No { reason });
        }
        let question = self.question_about(&plan);
        let pending = self.pending();
        pending.put(&question)?;
        if patience == Patience::OneReply && !person.is_interactive() {
            if let Some(verdict) = pending.decision_on(&question) {
                return self.settle_plan(verdict);
            }
            let kind = QuestionKind::Plan;
            self.agent.tell(Event::Waiting { kind });
            return Ok(Answered::Yes);
        }
        let verdicts = approve::decide(&**person, &self.agent.interrupt, &pending, &[question])?;
        match verdicts.and_then(|verdicts| verdicts.into_iter().next()) {
            Some(verdict) => self.settle_plan(verdict),
            None => Ok(Answered::Interrupted),
        }
    }

    /// Goes by what was decided about a plan after the client had given up waiting.
    pub(super) fn settle_decided_plan(&mut self) -> Result<()> {
        let plan = self.session.plan.clone();
        let waits = self.session.planning == Planning::Proposed && !self.is_under_way;
        if let Some(plan) = plan.filter(|_| waits)
            && let Some(verdict) = self.pending().decision_on(&self.question_about(&plan))
        {
            self.settle_plan(verdict)?;
        }
        Ok(())
    }

    fn question_about(&self, plan: &str) -> Question {
        let mut put = self.pending().all().into_iter();
        let is_put = |put: &Question| put.kind == QuestionKind::Plan && put.shown == plan;
        if let Some(put) = put.find(is_put) {
            return put;
        }
        let is_plan = |result: &&StepResult| result.is(CommandKind::Plan);
        let step = self.session.last_results.iter().find(is_plan);
        let number = step.map_or(1, |result| result.number);
        let mode = self.agent.manner.authorizer.work_approval;
        Question::about_plan(number, self.session.sequence_number - 1, plan, mode)
    }

    /// Goes by the person's decision; the model learns of it in the next outbox that is written.
    fn settle_plan(&mut self, verdict: Verdict) -> Result<Answered> {
        let (planning, text) = match verdict {
            Verdict::Yes | Verdict::AllOfThisRound | Verdict::Always => (
                Planning::Approved,
                "The user approved this plan. Carry it out now: all commands are open again."
                    .to_owned(),
            ),
            Verdict::Edit { script } => {
                self.session.plan = Some(bounded(&script));
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
                self.pending().clear(&*self.agent.person);
                self.agent.interrupt.raise();
                return Ok(Answered::Interrupted);
            }
        };
        let session = &mut self.session;
        let sequence = session.sequence_number;
        let mailbox = &self.agent.mailbox;
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
        let _alone = self.alone()?;
        self.save()?;
        self.pending().clear(&*self.agent.person);
        Ok(Answered::Yes)
    }
}
