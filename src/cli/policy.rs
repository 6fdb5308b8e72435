//! `agent policy`: the rules in words, and those that the person gave with "always".

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::common::Common;
use crate::error::Result;
use crate::services::policy::{self, RulesInForce, Ruling, WhichRule};
use crate::ui::{Ui, escape_line};

const EXAMPLES: &str = "\
Examples:
  agent policy
  agent policy check \"git push --force\"
  agent policy forget 2";

/// Show the rules, or what would happen to one command
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct PolicyArgs {
    #[command(subcommand)]
    verb: Option<PolicyVerb>,
}

#[derive(Debug, Subcommand)]
enum PolicyVerb {
    /// Show whether a command would be refused, asked about or run, and which rule decides it
    Check {
        /// The command, as the model would write it
        #[arg(required = true, value_name = "COMMAND")]
        script: Vec<String>,
    },
    /// Remove rules that you added with "always"; `agent policy` numbers them
    Forget {
        /// The numbers of the rules, or `all`
        #[arg(required = true, value_name = "N|all")]
        which: Vec<WhichRule>,
    },
}

/// A rule that was given with "always", for scripts.
#[derive(Debug, serde::Serialize)]
struct KeptRuleRow {
    /// By which `agent policy forget` knows it.
    number: usize,
    /// The beginning of the commands that it allows.
    allows: String,
}

impl PolicyArgs {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let caller = common.caller(ui)?;
        match self.verb {
            None => show(&policy::rules(&caller)?, common, ui),
            Some(PolicyVerb::Check { script }) => {
                let rulings = policy::explain(&caller, &script.join(" "))?;
                explain(rulings, common, ui);
            }
            Some(PolicyVerb::Forget { which }) => {
                for rule in policy::forget(&caller, &which)? {
                    ui.say(&format!("You are asked again about {rule}."));
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn show(rules: &RulesInForce, common: &Common, ui: &Ui) {
    for row in &rules.table {
        if common.json {
            ui.data(row);
        } else {
            ui.line(&format!(
                "{:8} {}\n         {}",
                row.decision.word(),
                escape_line(&row.rule),
                row.reason()
            ));
        }
    }
    let numbered = (1..).zip(&rules.always);
    if common.json {
        for (number, rule) in numbered {
            let allows = rule.text();
            ui.data(&KeptRuleRow { number, allows });
        }
        return;
    }
    if rules.always.is_empty() {
        return;
    }
    ui.line("\nAllowed here because you said \"always\":");
    for (number, rule) in numbered {
        ui.line(&format!("{number:8} {}", escape_line(&rule.to_string())));
    }
    if !rules.is_sandboxed {
        ui.line("Without a sandbox these do not count for programs that run the project's own code, such as `make`.");
    }
    let file = rules.always_file.as_deref().unwrap_or(Path::new(""));
    ui.line(&format!(
        "`agent policy forget N` takes one back; they are kept in `{}`.",
        file.display()
    ));
}

fn explain(rulings: Vec<Ruling>, common: &Common, ui: &Ui) {
    if common.json {
        for ruling in &rulings {
            ui.data(ruling);
        }
        return;
    }
    for ruling in policy::decisive(rulings) {
        let about = if ruling.about.is_empty() {
            String::new()
        } else {
            format!(" (`{}`)", escape_line(&ruling.about))
        };
        ui.line(&format!(
            "{}{about}: {}\n         rule: {}",
            ruling.decision.word(),
            ruling.reason(),
            escape_line(&ruling.rule)
        ));
    }
}
