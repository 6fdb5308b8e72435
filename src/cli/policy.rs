//! `agent policy`: the rules in words, and those that the person gave with "always".

use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;

use clap::{Args, Subcommand};

use super::Common;
use crate::approve::KeptRules;
use crate::error::{Error, Result};
use crate::policy::{self, CommandConfinement, Decision, Rule, Ruling};
use crate::services::guard::Testing;
use crate::services::open;
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
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show what would happen to a command, and which rule decides it
    Check {
        /// The command, as the model would write it
        #[arg(required = true, value_name = "COMMAND")]
        script: Vec<String>,
    },
    /// Remove rules that you added with "always"; `agent policy` numbers them
    Forget {
        /// The numbers of the rules, or `all`
        #[arg(required = true, value_name = "N|all")]
        which: Vec<Which>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    Rule(usize),
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("all", _) => Ok(Self::All),
            (_, Ok(number)) => Ok(Self::Rule(number)),
            _ => Err("give the number of a rule, or `all`".to_owned()),
        }
    }
}

/// A rule that was given with "always", for scripts.
#[derive(Debug, serde::Serialize)]
struct Kept {
    /// By which `agent policy forget` knows it.
    number: usize,
    /// The beginning of the commands that it allows.
    allows: String,
}

impl PolicyArgs {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let place = open::place(&common.caller(ui), Testing::Unremembered)?;
        let (base, kept) = (&place.base, &place.permit.kept_rules);
        let always = kept.load(base)?;
        let mut policy = place.permit.policy;
        match self.verb {
            None => {
                table(&policy, common, ui);
                list(kept, &always, policy.confinement, common, ui);
            }
            Some(Verb::Check { script }) => {
                policy.person.always.extend(always);
                explain(&policy, &script.join(" "), common, ui);
            }
            Some(Verb::Forget { which }) => forget(kept, base, &always, &which, ui)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn table(policy: &policy::Policy, common: &Common, ui: &Ui) {
    for row in policy.table() {
        if common.json {
            ui.data(&row);
        } else {
            ui.line(&format!(
                "{:8} {}\n         {}",
                row.decision.word(),
                escape_line(&row.rule),
                row.why
            ));
        }
    }
}

fn list(
    kept: &KeptRules,
    always: &[Rule],
    confinement: CommandConfinement,
    common: &Common,
    ui: &Ui,
) {
    if common.json {
        for (number, rule) in (1..).zip(always) {
            let allows = rule.text();
            ui.data(&Kept { number, allows });
        }
        return;
    }
    if always.is_empty() {
        return;
    }
    ui.line("\nAllowed here because you said \"always\":");
    for (number, rule) in (1..).zip(always) {
        ui.line(&format!("{number:8} {}", escape_line(&rule.to_string())));
    }
    if confinement != CommandConfinement::Sandboxed {
        ui.line("Without a sandbox these do not count for programs that run the project's own code, such as `make`.");
    }
    let file = kept.file().unwrap_or_default();
    ui.line(&format!(
        "`agent policy forget N` takes one back; they are kept in `{}`.",
        file.display()
    ));
}

fn explain(policy: &policy::Policy, script: &str, common: &Common, ui: &Ui) {
    let rulings = policy.explain(script);
    let is_allowed = |ruling: &Ruling| ruling.decision == Decision::Allow;
    let all_allowed = rulings.iter().all(is_allowed);
    for ruling in rulings {
        if common.json {
            ui.data(&ruling);
            continue;
        }
        // The strictest rule wins: that another would allow it decides nothing.
        if is_allowed(&ruling) && !all_allowed {
            continue;
        }
        let about = if ruling.about.is_empty() {
            String::new()
        } else {
            format!(" (`{}`)", escape_line(&ruling.about))
        };
        ui.line(&format!(
            "{}{about}: {}\n         rule: {}",
            ruling.decision.word(),
            ruling.why,
            escape_line(&ruling.rule)
        ));
    }
}

fn forget(kept: &KeptRules, base: &Path, always: &[Rule], which: &[Which], ui: &Ui) -> Result<()> {
    let mut chosen: Vec<&Rule> = Vec::new();
    for which in which {
        match which {
            Which::All => chosen.extend(always),
            Which::Rule(number) => {
                let rule = number.checked_sub(1).and_then(|at| always.get(at));
                chosen.push(rule.ok_or_else(|| {
                    Error::mendable(format!("there is no rule {number}"))
                        .hint("`agent policy` shows those that you gave with \"always\"")
                })?);
            }
        }
    }
    for rule in chosen {
        if kept.remove(base, rule)? {
            ui.say(&format!("You are asked again about {rule}."));
        }
    }
    Ok(())
}
