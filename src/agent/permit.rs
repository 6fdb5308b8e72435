//! What the person permits, before a step is executed.
//!
//! The rules decide; where they say that the person shall be asked, all questions of a reply are
//! put before its first step is carried out.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::Agent;
use super::consult::Consulting;
use crate::approve::{Decisions, Desk, Input, KeptAnswers, KeptRules, Pending, Person};
use crate::error::Result;
use crate::execute::Limits;
use crate::interrupt::Interrupt;
use crate::policy::{Approval, Decision, Grant, Network, Policy};
use crate::protocol::{Command, Event, Outcome, SandboxProperty, SeenFiles, Step};
use crate::sandbox::{Confinement, Strength};
use crate::settings::Commands;
use crate::workspace::Workspace;

/// What may be executed, and how commands are confined.
#[derive(Debug)]
pub struct Permit {
    /// Whether the model may run commands.
    pub commands: Commands,
    /// The rules.
    pub policy: Policy,
    /// When the person is asked once a plan is approved.
    pub work_approval: Approval,
    /// What the person answered with "always".
    pub kept_rules: KeptRules,
    /// What the person answered about values that may be no secrets.
    pub kept_answers: KeptAnswers,
    /// How commands are confined; nothing where they are not.
    pub confinement: Option<Confinement>,
    /// Where stands, while a command runs, which repositories it found: with the person's own state,
    /// because a project may bring a `sessions/` along.
    pub kept_inventory: Option<PathBuf>,
    /// Whether commands have the network, and how it is offered where they have not.
    pub network: Network,
    /// What the sandbox of this machine was found to hold.
    pub strength: Option<Strength>,
}

/// Who is asked about the steps of a reply, and where.
#[derive(Debug)]
pub(super) struct Asking<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) limits: &'a Limits,
    pub(super) seen: &'a SeenFiles,
    pub(super) person: &'a dyn Person,
    pub(super) interrupt: &'a Interrupt,
    pub(super) base: &'a Path,
    pub(super) pending: &'a Pending,
    pub(super) input: Input,
    pub(super) approval: Approval,
}

/// What holds for the steps of one reply: the rules, and what the person decided.
#[derive(Debug)]
pub(super) struct Consent {
    policy: Policy,
    decisions: Decisions,
    runs_commands: bool,
    input: Input,
}

/// Whether a step is executed.
#[derive(Debug)]
pub(super) enum Permission {
    /// It is, with what the person granted for it.
    Granted(Option<Grant>),
    /// It is not, and this is told to the model.
    Refused(Outcome),
}

impl Permit {
    /// Whether the model may run commands at all.
    pub(super) fn runs_commands(&self) -> bool {
        self.commands == Commands::Run
    }

    /// Asks the person about the steps of a reply that need it, which are all of them or those that
    /// are not done yet; nothing if they interrupt.
    pub(super) fn consent(
        &self,
        asking: &Asking<'_>,
        round: u32,
        steps: &[Step],
        reply: &[Step],
    ) -> Result<Option<Consent>> {
        let mut policy = self.policy.clone();
        policy.approval = asking.approval;
        policy.person.always = self.kept_rules.load(asking.base)?;
        let consulting = Consulting {
            workspace: asking.workspace,
            limits: asking.limits,
            seen: asking.seen,
            policy: &policy,
            reply,
        };
        let desk = Desk {
            person: asking.person,
            interrupt: asking.interrupt,
            pending: asking.pending,
            rules: (&self.kept_rules, asking.base),
            input: asking.input,
        };
        let runs_commands = self.runs_commands();
        let permitted = |step: &&Step| runs_commands || !runs(step);
        let steps: Cow<'_, [Step]> = if steps.iter().all(|step| permitted(&step)) {
            Cow::Borrowed(steps)
        } else {
            steps.iter().filter(permitted).cloned().collect()
        };
        let Some(decisions) = consulting.ask(&desk, round, &steps)? else {
            return Ok(None);
        };
        Ok(Some(Consent {
            policy,
            decisions,
            runs_commands,
            input: asking.input,
        }))
    }

    /// The confinement of one command, with what was granted for it.
    pub(super) fn confinement(
        &self,
        grants: impl IntoIterator<Item = Grant>,
    ) -> Option<Confinement> {
        let mut confinement = self.confinement.clone()?;
        for grant in grants {
            match grant {
                Grant::GitWrite => confinement.git_write = true,
                Grant::Network => confinement.network = true,
            }
        }
        Some(confinement)
    }
}

fn runs(step: &Step) -> bool {
    matches!(step.command, Command::RunCommand { .. })
}

impl Consent {
    /// Decides about a step.
    pub(super) fn on(&self, step: &Step, interrupt: &Interrupt) -> Permission {
        if runs(step) && !self.runs_commands {
            return Permission::Refused(Outcome::refused(
                "the user has switched commands off; work with files only, and say what to run in a MESSAGE",
            ));
        }
        if let Some(outcome) = self.decisions.hindrance(step, interrupt) {
            return Permission::Refused(outcome);
        }
        let ruling = self.policy.rule_on(&step.command);
        match ruling.decision {
            Decision::Deny => {
                let about = if ruling.about.is_empty() {
                    String::new()
                } else {
                    format!("`{}`: ", ruling.about)
                };
                Permission::Refused(Outcome::refused(format!("{about}{}", ruling.why)))
            }
            Decision::Ask if self.decisions.is_approved(step.number) => {
                Permission::Granted(ruling.needs)
            }
            // What was not asked about was not approved, however that came about.
            Decision::Ask => Permission::Refused(Outcome::refused(format!(
                "this needs the user's approval, which was not given: {}",
                ruling.why
            ))),
            Decision::Allow => Permission::Granted(None),
        }
    }

    /// What the person granted for a step with their yes.
    pub(super) fn needed(&self, step: &Step) -> Option<Grant> {
        let ruling = self.policy.rule_on(&step.command);
        ruling.needs.filter(|_| ruling.decision == Decision::Ask)
    }

    /// Whether the person is waited for.
    pub(super) fn input(&self) -> Input {
        self.input
    }

    /// The step as the person wants it carried out.
    pub(super) fn revised<'a>(&self, step: &'a Step) -> Cow<'a, Step> {
        self.decisions.revised(step)
    }

    /// Carries a step out as the person decided, with their script if they changed it.
    pub(super) fn carry_out(&self, step: &Step, execute: impl FnOnce(&Step) -> Outcome) -> Outcome {
        self.decisions
            .told(step.number, execute(&self.revised(step)))
    }
}

impl Agent {
    /// Tells how commands are confined.
    pub(super) fn tell_confinement(&self) {
        let permit = &self.manner.permit;
        let commands = permit.runs_commands();
        let confinement = permit.confinement.as_ref().filter(|_| commands);
        let properties = permit.strength.iter().filter(|_| confinement.is_some());
        let properties = properties.flat_map(|strength| &strength.properties);
        self.tell(Event::Confinement {
            commands,
            backend: confinement.map(|confinement| confinement.backend.name().to_owned()),
            network: confinement.is_some_and(|confinement| confinement.network),
            properties: properties
                .map(|property| SandboxProperty {
                    name: property.name.clone(),
                    holds: property.holds,
                    words: property.words.clone(),
                })
                .collect(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_yes_and_was_not_asked_about_is_refused() {
        let consent = |policy| Consent {
            policy,
            decisions: Decisions::default(),
            runs_commands: true,
            input: Input::Refuse,
        };
        let step = Step {
            number: 1,
            line: 1,
            command: Command::RunCommand {
                script: "git push".to_owned(),
                timeout: None,
            },
        };
        let policy = Policy::new(Path::new("/work"), None);
        let permission = consent(policy).on(&step, &Interrupt::default());
        assert!(
            matches!(&permission, Permission::Refused(outcome)
                if outcome.message.contains("needs the user's approval")),
            "{permission:?}"
        );
    }
}
