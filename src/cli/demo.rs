//! `agent demo`: a whole session in a few seconds.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use clap::Args;

use super::exit_code;
use crate::agent::{Agent, Ending};
use crate::error::Result;
use crate::fs::{Durability, write_atomic};
use crate::interrupt::Interrupt;
use crate::mailbox::Doorbell;
use crate::protocol::{EndMark, SessionId};
use crate::services::open;
use crate::session::Session;
use crate::settings::{self, Base, Overrides, Trust};
use crate::ui::Ui;

const TASK: &str =
    "Write a script `count.sh` that prints how many lines each .txt file has, and test it.";

/// What the chat says, round by round; the end mark is added.
const REPLIES: [&str; 3] = [
    include_str!("demo/reply1.md"),
    include_str!("demo/reply2.md"),
    include_str!("demo/reply3.md"),
];

/// Watch a whole session in a temporary directory: the real loop, with a scripted chat
#[derive(Debug, Args)]
pub(super) struct Demo {}

pub(super) fn run(ui: &Ui) -> Result<ExitCode> {
    let directory = crate::fs::temporary_directory("agent-demo-")?;
    let agent = agent(directory.path(), ui.clone())?;
    let id = SessionId::from_random(uuid::Uuid::new_v4().as_fields().0);
    let session = Session::new(
        id.clone(),
        TASK.to_owned(),
        agent.manner.max_rounds,
        crate::session::now(),
    );
    agent.store.save(&session)?;
    ui.say("A demonstration: a script plays you and the chat. Everything else is real.\n");
    agent.tell_session(&session, false);
    let ending = thread::scope(|scope| {
        scope.spawn(|| chat(&agent, &id));
        let ending = agent.run(session);
        agent.interrupt.raise();
        ending
    })?;
    if ending == Ending::Done {
        ui.say("\nThat is all there is to it; its folder is gone again. Now with a chat of yours: agent new \"<task>\"");
    }
    Ok(exit_code(ending))
}

fn agent(directory: &Path, ui: Ui) -> Result<Agent> {
    let base = Base::create(directory)?;
    let trust = Trust::kept_in(directory.join("state"));
    let flags = Overrides::given_in(directory);
    let loaded = settings::load(&base, std::iter::empty(), &flags, &trust)?;
    let agent = open::assemble(
        base.directory,
        &loaded,
        &trust,
        Arc::new(ui),
        Interrupt::from_signals()?,
    )?;
    for (name, content) in [("apples.txt", "red\ngreen\n"), ("pears.txt", "yellow\n")] {
        write_atomic(
            &agent.workspace.path().join(name),
            content.as_bytes(),
            Durability::Atomic,
        )?;
    }
    Ok(agent)
}

/// Plays the person: for each outbox that appears, the chat's reply appears in the inbox.
fn chat(agent: &Agent, id: &SessionId) {
    let bell = Doorbell::on(agent.mailbox.outbox());
    let waker = bell.waker();
    agent.interrupt.on_raise(move || waker.wake());
    for (sequence, reply) in (1..).zip(REPLIES) {
        while !agent.mailbox.outbox_path(id, sequence).exists() {
            if agent.interrupt.is_raised() {
                return;
            }
            bell.wait();
        }
        let end = EndMark {
            session: id.clone(),
            sequence,
        }
        .to_string();
        let text = reply.replace("{end}", &end);
        let path = agent.mailbox.inbox().join(format!("reply{sequence}.md"));
        if write_atomic(&path, text.as_bytes(), Durability::Atomic).is_err() {
            agent.interrupt.raise();
        }
    }
}
