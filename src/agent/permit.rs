//! What the person permits, before a step is executed.
//!
//! The rules decide; where they say that the person shall be asked, the person is asked, and where
//! nobody can be, the step is refused with the reason.

use super::Agent;
use crate::interrupt::Interrupt;
use crate::policy::{Decision, Grant, Policy, Ruling};
use crate::protocol::{Command, Outcome, Step};
use crate::sandbox::{Confinement, Strength};
use crate::settings::Commands;
use crate::ui::{Answer, Event, Ui};

/// What may be executed, and how commands are confined.
#[derive(Debug)]
pub struct Permit {
    /// Whether the model may run commands.
    pub commands: Commands,
    /// The rules.
    pub policy: Policy,
    /// How commands are confined; nothing where they are not.
    pub confinement: Option<Confinement>,
    /// What the sandbox of this machine was found to hold.
    pub strength: Option<Strength>,
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

    /// Decides about a step, asking the person where the rules say so.
    pub(super) fn decide(&self, step: &Step, ui: &Ui, interrupt: &Interrupt) -> Permission {
        if matches!(step.command, Command::RunCommand { .. }) && !self.runs_commands() {
            return Permission::Refused(Outcome::refused(
                "the user has switched commands off; work with files only, and say what to run in a MESSAGE",
            ));
        }
        let ruling = self.policy.rule_on(&step.command);
        match ruling.decision {
            Decision::Allow => Permission::Granted(None),
            Decision::Deny => Permission::Refused(Outcome::refused(reason(&ruling))),
            Decision::Ask => ask(step, &ruling, ui, interrupt),
        }
    }

    /// The confinement of one command, with what was granted for it.
    pub(super) fn confinement(&self, grant: Option<Grant>) -> Option<Confinement> {
        let mut confinement = self.confinement.clone()?;
        match grant {
            Some(Grant::GitWrite) => confinement.git_write = true,
            Some(Grant::Network) => confinement.network = true,
            None => {}
        }
        Some(confinement)
    }
}

fn reason(ruling: &Ruling) -> String {
    if ruling.about.is_empty() {
        ruling.why.clone()
    } else {
        format!("`{}`: {}", ruling.about, ruling.why)
    }
}

/// Shows the person what is asked, whole, and takes a yes or a no with a word why.
fn ask(step: &Step, ruling: &Ruling, ui: &Ui, interrupt: &Interrupt) -> Permission {
    let nobody = || Outcome::refused(format!("{}; nobody was there to be asked", reason(ruling)));
    if !ui.is_interactive() {
        return Permission::Refused(nobody());
    }
    let shown = match &step.command {
        Command::RunCommand { script, .. } => script.clone(),
        other => format!(
            "{} {}",
            other.name(),
            other.path().map_or("", |path| path.as_str())
        ),
    };
    ui.tell(&Event::Approval {
        number: step.number,
        shown: &shown,
        why: &reason(ruling),
    });
    match ui.ask("Allow it? [y/N, or why not]", interrupt) {
        Answer::Text(answer) if matches!(answer.trim(), "y" | "Y" | "yes") => {
            Permission::Granted(ruling.needs)
        }
        Answer::Text(answer) => {
            let why = answer.trim();
            let word = if matches!(why, "" | "n" | "N" | "no") {
                String::new()
            } else {
                format!(": {why}")
            };
            Permission::Refused(Outcome::refused(format!("the user declined{word}")))
        }
        Answer::Interrupted => Permission::Refused(Outcome::skipped("the user interrupted")),
        Answer::Nobody => Permission::Refused(nobody()),
    }
}

impl Agent {
    /// Says how commands are confined.
    pub(super) fn tell_confinement(&self) {
        let permit = &self.manner.permit;
        if let Some(confinement) = &permit.confinement {
            let network = if confinement.network {
                "with the network"
            } else {
                "without the network"
            };
            let text = format!(
                "Commands run in a sandbox ({}), {network}.",
                confinement.backend.name()
            );
            self.ui.tell(&Event::Notice { text: &text });
            for property in permit
                .strength
                .iter()
                .flat_map(|strength| &strength.properties)
            {
                let text = format!(
                    "  {}: {}",
                    if property.holds {
                        "holds"
                    } else {
                        "does not hold"
                    },
                    property.words
                );
                let event = if property.holds {
                    Event::Detail { text: &text }
                } else {
                    Event::Notice { text: &text }
                };
                self.ui.tell(&event);
            }
        } else if permit.runs_commands() {
            self.ui.say("Commands are not confined: each one needs your yes, unless a rule of yours allows it.");
        }
    }
}
