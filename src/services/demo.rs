//! A whole session in a few seconds: the real loop, with a scripted chat.

use std::sync::Arc;
use std::thread;

use super::open;
use crate::agent::{Agent, Ending};
use crate::approve::Person;
use crate::error::Result;
use crate::fs::{Durability, write_atomic};
use crate::interrupt::Interrupt;
use crate::policy::CommandConfinement;
use crate::protocol::{EndMark, SessionId, ShellLanguage};
use crate::session::Session;
use crate::settings::{self, Base, Overrides, Trust};
use crate::watch::Doorbell;

/// The script of the chat for one shell.
struct ScriptedChat {
    /// The name of the file that the task asks for.
    file: &'static str,
    /// The replies, round by round; the end mark is added.
    replies: [&'static str; 3],
}

impl ScriptedChat {
    fn for_shell(language: ShellLanguage) -> Self {
        match language {
            ShellLanguage::Bash | ShellLanguage::Sh => Self {
                file: "count.sh",
                replies: [
                    include_str!("demo/posix/reply1.md"),
                    include_str!("demo/posix/reply2.md"),
                    include_str!("demo/posix/reply3.md"),
                ],
            },
            ShellLanguage::Pwsh | ShellLanguage::PowerShell => Self {
                file: "count.ps1",
                replies: [
                    include_str!("demo/powershell/reply1.md"),
                    include_str!("demo/powershell/reply2.md"),
                    include_str!("demo/powershell/reply3.md"),
                ],
            },
            ShellLanguage::Cmd => Self {
                file: "count.cmd",
                replies: [
                    include_str!("demo/cmd/reply1.md"),
                    include_str!("demo/cmd/reply2.md"),
                    include_str!("demo/cmd/reply3.md"),
                ],
            },
        }
    }

    fn task(&self) -> String {
        format!(
            "Write a script `{}` that prints how many lines each .txt file has, and test it.",
            self.file
        )
    }
}

/// Plays a session in a temporary directory, which is gone afterwards; before each reply somebody may
/// take their time. Where there is no sandbox every command asks, but not in the demo: `unconfined` says
/// so.
pub fn run(
    person: Arc<dyn Person>,
    interrupt: Interrupt,
    before_reply: &(dyn Fn() + Sync),
    unconfined: impl FnOnce(),
) -> Result<Ending> {
    let directory = crate::fs::temporary_directory("agent-demo-")?;
    let base = Base::create(directory.path())?;
    let trust = Trust::kept_in(directory.path().join("state"));
    let flags = Overrides::given_in(directory.path());
    let loaded = settings::load(&base, std::iter::empty(), &flags, &trust)?;
    let mut agent = open::assemble(base.directory, &loaded, &trust, person, interrupt)?;
    if agent.manner.authorizer.policy.confinement != CommandConfinement::Sandboxed {
        // Nobody has to answer for commands that are our own.
        unconfined();
        agent.manner.authorizer.policy.confinement = CommandConfinement::Sandboxed;
    }
    let script = ScriptedChat::for_shell(agent.manner.authorizer.runner.language());
    for (name, content) in [("apples.txt", "red\ngreen\n"), ("pears.txt", "yellow\n")] {
        let path = agent.workspace.path().join(name);
        write_atomic(&path, content.as_bytes(), Durability::Atomic)?;
    }
    let id = SessionId::from_random(uuid::Uuid::new_v4().as_fields().0);
    let rounds = agent.manner.max_rounds;
    let session = Session::new(id.clone(), script.task(), rounds, crate::session::now());
    agent.store.save(&session)?;
    agent.tell_session(&session, false);
    thread::scope(|scope| {
        scope.spawn(|| chat(&agent, &id, &script, before_reply));
        let ending = agent.run(session);
        agent.interrupt.raise();
        ending
    })
}

/// Plays the person: for each outbox that appears, the chat's reply appears in the inbox.
fn chat(agent: &Agent, id: &SessionId, script: &ScriptedChat, before_reply: &(dyn Fn() + Sync)) {
    let bell = Doorbell::on(agent.mailbox.outbox());
    let waker = bell.waker();
    agent.interrupt.on_raise(move || waker.wake());
    for (sequence, reply) in (1..).zip(script.replies) {
        while !agent.mailbox.outbox_path(id, sequence).exists() {
            if agent.interrupt.is_raised() {
                return;
            }
            bell.wait();
        }
        before_reply();
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
