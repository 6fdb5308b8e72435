//! `agent policy`: the rules in words.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::guard::Testing;
use super::{Common, open};
use crate::error::Result;
use crate::policy::Decision;
use crate::ui::{Ui, escape_line};

/// Show the rules in words, or what would happen to one command
#[derive(Debug, Args)]
pub(super) struct Policy {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Say what would happen to a command, and which rule says so
    Check {
        /// The command, as the model would write it
        #[arg(required = true, value_name = "COMMAND")]
        script: Vec<String>,
    },
}

impl Policy {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let policy = open::place(common, ui, Testing::Unremembered)?
            .permit
            .policy;
        let Some(Verb::Check { script }) = self.verb else {
            for row in policy.table() {
                if common.json {
                    ui.data(&row);
                } else {
                    ui.line(&format!(
                        "{:8} {}\n         {}",
                        word(row.decision),
                        row.rule,
                        row.why
                    ));
                }
            }
            return Ok(ExitCode::SUCCESS);
        };
        for ruling in policy.explain(&script.join(" ")) {
            if common.json {
                ui.data(&ruling);
            } else {
                let about = if ruling.about.is_empty() {
                    String::new()
                } else {
                    format!(" (`{}`)", escape_line(&ruling.about))
                };
                ui.line(&format!(
                    "{}{about}: {}\n         rule: {}",
                    word(ruling.decision),
                    ruling.why,
                    ruling.rule
                ));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allowed",
        Decision::Ask => "asked",
        Decision::Deny => "refused",
    }
}
