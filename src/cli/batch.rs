//! `agent batch`: many tasks at once, over an API.

use std::num::NonZeroU16;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use clap::Args;

use super::common::Common;
use crate::error::{Error, ExitKind, Result};
use crate::interrupt::Interrupt;
use crate::services::Caller;
use crate::services::api::dollars;
use crate::services::batch::{
    self, Allowance, BatchNews, BatchRequest, BatchShard, BatchSummary, JobNews, SPENT, TaskRecord,
    TaskStatus,
};
use crate::ui::{Ui, count, elapsed, escape_line};

const EXAMPLES: &str = "\
Examples:
  agent batch tasks.jsonl --api openai
  agent batch tasks.jsonl --api ollama --model qwen3-coder --jobs 4 --output summary.json
  agent batch tasks.jsonl --api openai --max-cost 500 --check \"make test\"
  agent batch tasks.jsonl --api openai --shard 0/4

Each line of the file is a JSON object, such as {\"id\": \"parser\", \"task\": \"fix the parser\", \
\"worktree\": \".\", \"check\": \"make test\"}. Run the same command again to continue after Ctrl-C or a kill. \
Settings given here hold for every task that does not set them itself; `--max-cost` and \
`--max-tokens` limit all tasks together. `docs/batch.md` explains it.";

/// Run many tasks from a file over an API, several at once; go on with them after a stop
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct BatchArgs {
    /// The tasks: a JSON object on each line
    #[arg(value_name = "FILE", required_unless_present = "job")]
    tasks: Option<PathBuf>,
    /// Run so many tasks at once
    #[arg(long, value_name = "N", default_value = "2")]
    jobs: NonZeroU16,
    /// Run only every N-th task, beginning with the I-th, counted from 0
    #[arg(long, value_name = "I/N")]
    shard: Option<BatchShard>,
    /// Keep records and sessions in this folder instead of FILE.batch
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Write the summary to this file, as JSON; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Go on with tasks that ended without being done, too
    #[arg(long)]
    retry: bool,
    /// Carry on the task that standard input describes
    #[arg(long, hide = true)]
    job: bool,
}

impl BatchArgs {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let Some(tasks) = self.tasks.filter(|_| !self.job) else {
            return carry_job(common, ui);
        };
        let is_stdout = |file: &PathBuf| ["-", "/dev/stdout"].contains(&&*file.to_string_lossy());
        let is_printed = common.json || self.output.as_ref().is_some_and(is_stdout);
        // With `--json`, standard output has the summary and nothing else.
        let voice = ui.in_lines();
        let request = BatchRequest {
            tasks,
            state: self.state,
            jobs: usize::from(self.jobs.get()),
            shard: self.shard,
            retries: self.retry,
            output: self.output.filter(|file| !is_stdout(file)),
        };
        let caller = common.acting_caller(&voice)?;
        let summary = batch::run(&caller, &request, &mut |news| tell(&voice, news));
        voice.show_progress(None);
        let summary = summary?;
        if is_printed {
            ui.data(&summary);
        }
        voice.say(&closing(&summary));
        Ok(code_of(&summary))
    }
}

fn tell(ui: &Ui, news: &BatchNews<'_>) {
    match news {
        BatchNews::Begun {
            tasks,
            finished,
            gone,
        } => {
            if !gone.is_empty() {
                let names = escape_line(&gone.join(", "));
                ui.say(&format!(
                    "No longer in the file, and left as they are: {names}."
                ));
            }
            if *finished > 0 {
                ui.say(&format!(
                    "{finished} of {} finished already.",
                    count(*tasks, "task")
                ));
            }
        }
        BatchNews::Running(records) => {
            let lines: Vec<String> = records.iter().map(|record| at_work(record)).collect();
            ui.show_progress(Some(&lines.join("; ")));
        }
        BatchNews::Ended {
            record,
            ended,
            tasks,
        } => ui.say(&ended_line(record, *ended, *tasks)),
        BatchNews::Notice(text) => ui.say(text),
        BatchNews::LimitReached(words) => ui.say(&format!("Stopping: {words}.")),
        BatchNews::Trouble(error) => ui.error(error),
    }
}

fn at_work(record: &TaskRecord) -> String {
    format!("{} round {}", escape_line(&record.id), record.rounds + 1)
}

/// `[3/20] parser: done, 1 step refused, 3 rounds, 3,150 tokens, $0.03, 12 s`
fn ended_line(record: &TaskRecord, ended: usize, tasks: usize) -> String {
    let width = tasks.to_string().len();
    let mut line = format!(
        "[{ended:>width$}/{tasks}] {}: {}{}, {}, {}",
        escape_line(&record.id),
        record.status.words(),
        refused(record.refused, ", "),
        count(record.rounds as usize, "round"),
        spent(record.tokens, record.cost_micros),
    );
    line.push_str(", ");
    line.push_str(&elapsed(record.seconds));
    if !record.message.is_empty() {
        line.push_str("; ");
        line.push_str(&escape_line(&record.message));
    }
    line
}

/// The steps that nobody could say yes to, after this separator; nothing if there are none.
fn refused(steps: u32, separator: &str) -> String {
    match steps {
        0 => String::new(),
        steps => format!("{separator}{} refused", count(steps as usize, "step")),
    }
}

fn spent(tokens: u64, cost_micros: Option<u64>) -> String {
    let tokens = count(usize::try_from(tokens).unwrap_or(usize::MAX), "token");
    match cost_micros {
        Some(cost) => format!("{tokens}, {}", dollars(cost)),
        None => tokens,
    }
}

fn closing(summary: &BatchSummary) -> String {
    let counts: Vec<String> = (summary.counts.iter())
        .map(|(status, number)| format!("{number} {}", status.words()))
        .collect();
    let counts = if counts.is_empty() {
        "no tasks".to_owned()
    } else {
        counts.join(", ")
    };
    let all = spent(summary.tokens, summary.cost_micros);
    let refused = refused(summary.refused, "; ");
    let mut text = format!("{counts}{refused}; {all} in all.");
    let is_open = summary.tasks.iter().any(|record| !record.is_finished);
    let is_ended = |record: &TaskRecord| record.is_finished && record.status != TaskStatus::Done;
    match summary.limit_flag {
        Some(flag) if is_open => {
            text.extend([" Run it again with a higher `", flag, "` to continue."]);
        }
        None if is_open => text.push_str(" Run the same command again to continue."),
        _ => {}
    }
    if summary.tasks.iter().any(is_ended) {
        text.push_str(" `--retry` continues those that ended without being done.");
    }
    text
}

/// The exit code: 0 only if every task is done.
fn code_of(summary: &BatchSummary) -> ExitCode {
    let is_done = summary
        .tasks
        .iter()
        .all(|record| record.status == TaskStatus::Done);
    let kind = if is_done {
        return ExitCode::SUCCESS;
    } else if summary.is_interrupted {
        ExitKind::Interrupted
    } else if summary.has(TaskStatus::Error) || summary.has(TaskStatus::Interrupted) {
        ExitKind::Mendable
    } else {
        ExitKind::RoundLimit
    };
    kind.exit_code().into()
}

/// Carries on one task for the batch that started this process.
fn carry_job(common: &Common, ui: &Ui) -> Result<ExitCode> {
    let mut first = String::new();
    std::io::stdin()
        .read_line(&mut first)
        .map_err(|cause| Error::mendable("could not read the order").because(cause))?;
    let order = batch::read_order(&first)?;
    let caller = Caller {
        interrupt: Interrupt::from_repeated_signals()?,
        ..common.caller(ui)?
    };
    let allowance = Allowance::default();
    let (ended, interrupt) = (allowance.clone(), caller.interrupt.clone());
    thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if line == SPENT {
                ended.end();
            }
        }
        // The batch is gone, or wants the job to stop.
        interrupt.raise();
    });
    let voice = ui.clone();
    let end = batch::carry(&caller, &order, &allowance, move |news| voice.data(&news));
    ui.data(&JobNews::Ended(end));
    Ok(ExitCode::SUCCESS)
}
