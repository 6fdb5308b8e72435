//! `agent ask`: one question about the workspace.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::mpsc;

use clap::Args;

use super::common::{Common, read_piped, read_standard_input};
use crate::error::{Error, ExitKind, Result};
use crate::interrupt::Interrupt;
use crate::services::ask::{self, CompletionEnd};
use crate::ui::{Ui, count, escape_line, escape_text};

const EXAMPLES: &str = "\
Examples:
  agent ask --api ollama --model qwen3-coder \"where are the settings read?\"
  agent ask --add src/parser.py \"why does this fail on empty input?\"
  agent ask \"how would you split this file?\" --add src/big.rs > answer.md
  agent apply --dry-run answer.md

Without an API the message is printed for you to paste, and the answer is read from standard input.";

/// Ask one question about the workspace; nothing is changed
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Ask {
    /// The question; the words are joined, `-` reads standard input
    #[arg(required = true, value_name = "QUESTION")]
    question: Vec<String>,
    /// Show this file, directory or pattern with the question
    #[arg(long, value_name = "PATH")]
    add: Vec<String>,
}

impl Ask {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let caller = common.acting_caller(ui)?;
        let question = if self.question == ["-"] {
            crate::reply::decode(&read_standard_input("the question", ui)?).0
        } else {
            self.question.join(" ")
        };
        let prepared = ask::prepare(&caller, &question, &self.add)?;
        for path in &prepared.left_out {
            ui.say(&format!(
                "`{}` is left out: it is no text, or there is no room.",
                escape_line(path)
            ));
        }
        let Some(api) = prepared.api() else {
            return carried_by_person(&prepared.message, &caller.interrupt, ui);
        };
        ui.say(&format!("{api}, ~{}", count(prepared.tokens, "token")));
        let mut last = String::new();
        let answer = prepared.ask(&caller, &mut |text| {
            text.clone_into(&mut last);
            ui.piece(text);
        })?;
        ui.end_piece(&last);
        ui.say(&answer.spent);
        // Half an answer is not what a script asked for.
        Ok(match &answer.end {
            CompletionEnd::LengthLimit => {
                ui.say("The answer reached the model's limit and was cut off.");
                ExitCode::FAILURE
            }
            CompletionEnd::Broken(why) => {
                ui.say(&format!(
                    "The answer broke off: {}.",
                    escape_line(&why.to_string())
                ));
                ExitCode::FAILURE
            }
            CompletionEnd::Stopped => ExitKind::Interrupted.exit_code().into(),
            CompletionEnd::Refused(words) => return Err(refused(words)),
            CompletionEnd::Whole => ExitCode::SUCCESS,
        })
    }
}

fn refused(words: &str) -> Error {
    let what = match words.trim() {
        "" => "the model refused to answer, or a filter of the provider stopped it".to_owned(),
        words => format!("the model refused: {words}"),
    };
    Error::mendable(what).hint("ask in other words, or use another model with `--model`")
}

/// Shows the message and takes the answer that the person brings.
fn carried_by_person(message: &str, interrupt: &Interrupt, ui: &Ui) -> Result<ExitCode> {
    ui.say("Paste this into your chat:\n");
    ui.say(&escape_text(message));
    ui.say("");
    let bytes = if std::io::stdin().is_terminal() {
        read_standard_input("the answer", ui)?
    } else {
        piped_answer(interrupt)?
    };
    let answer = crate::reply::decode(&bytes).0;
    if answer.trim().is_empty() {
        return Err(Error::mendable("the answer is empty")
            .hint("paste the chat's answer, or pipe it: `agent ask \"...\" < answer.md`"));
    }
    ui.piece(&answer);
    ui.end_piece(&answer);
    Ok(ExitCode::SUCCESS)
}

/// Reads the answer from standard input, on a thread of its own: Ctrl-C ends no read.
fn piped_answer(interrupt: &Interrupt) -> Result<Vec<u8>> {
    let interrupted = || Err(Error::new(ExitKind::Interrupted, "interrupted"));
    let (brought, answer) = mpsc::channel();
    let stopped = brought.clone();
    interrupt.on_raise(move || stopped.send(interrupted()).unwrap_or_default());
    std::thread::spawn(move || brought.send(read_piped("the answer")));
    answer.recv().unwrap_or_else(|_| interrupted())
}
