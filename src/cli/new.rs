//! `agent new`: begins a session.

use std::process::ExitCode;

use clap::Args;

use super::add::AddFlags;
use super::{Common, carry, exit_code, log, prompts, read_standard_input};
use crate::error::{Error, Result};
use crate::protocol::SessionId;
use crate::services::open;
use crate::session::{LoopLock, Session};
use crate::ui::Ui;

const EXAMPLES: &str = "\
Examples:
  agent new \"fix the failing test\"
  agent new --copy --chat claude \"add a --json flag to the report command\"
  agent new --approval plan \"move the settings into their own module\"
  agent new --add src/parser.py --add-diff=main \"finish what I began\"
  agent new /review src/parser
  agent new - < task.md";

/// Start a session: write the first message and wait for replies
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct New {
    /// What the model should do; the words are joined, `-` reads standard input, `/NAME` uses a
    /// template from `agent prompts`
    #[arg(required = true, value_name = "TASK")]
    task: Vec<String>,
    /// Write the message and exit, for scripts that continue with `agent step`
    #[arg(long)]
    no_wait: bool,
    /// Copy each message to the clipboard, like `--clipboard out`
    #[arg(long)]
    copy: bool,
    #[command(flatten)]
    adding: AddFlags,
}

impl New {
    pub(super) fn run(self, common: &Common, ui: &Ui) -> Result<ExitCode> {
        let task = self.task(common, ui)?;
        let (agent, wishes) = open::agent_and_wishes(&common.caller(ui))?;
        let longest = agent.manner.carriage.limit.characters / 2;
        if task.chars().count() > longest {
            return Err(
                Error::usage(format!("the task has more than {longest} characters"))
                    .hint("put the long part into a file of the workspace and name it in the task"),
            );
        }
        let lock = LoopLock::take(agent.store.directory())?;
        let id = SessionId::from_random(uuid::Uuid::new_v4().as_fields().0);
        let mut session = Session::new(id, task, agent.manner.max_rounds, crate::session::now());
        session.choices.clone_from(&agent.manner.choices);
        session.permissions.clone_from(&agent.manner.permissions);
        session.workspace = agent.workspace_from_base();
        session.outside_repository = agent.repository_from_workspace();
        self.adding.find(&agent, ui)?.put_into(&mut session);
        agent.store.save(&session)?;
        lock.works_on(agent.store.directory(), Some(&session.session_id))?;
        log::start(&agent, &session, ui);
        agent.tell_session(&session, false);
        let stay = carry::Stay::of(self.no_wait);
        let wishes = carry::copying(wishes, self.copy);
        carry::run(&agent, session, stay, wishes, common).map(exit_code)
    }

    fn task(&self, common: &Common, ui: &Ui) -> Result<String> {
        let said = self.task.join(" ");
        let task = if self.task == ["-"] {
            let bytes = read_standard_input("the task")?;
            crate::reply::decode(&bytes).0
        } else if let Some((name, words)) = crate::prompts::called(&said) {
            prompts::task(common, ui, name, words)?
        } else {
            said
        };
        if task.trim().is_empty() {
            return Err(Error::usage("the task is empty")
                .hint("say what the model should do: agent new \"add a test for the parser\""));
        }
        Ok(task.trim().to_owned())
    }
}
