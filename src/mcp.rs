//! `agent mcp`: chats that can call tools work on the project by themselves.
//!
//! One process serves one client, on standard input and output, and nothing else: no HTTP, no port.
//! Calls are commands of the protocol and take the way of a pasted reply, through the engine: rules,
//! approvals, sandbox, journal, secrets and undo are the same. `connection` reads and answers messages,
//! `worker` carries out one call after the other, `person` is the engine's view of the person in front
//! of the client, `resources` looks at files for it, `outgoing` writes lines.
//!
//! While calls come, the process holds the lock of the base directory; a minute after the last one it
//! gives it back, and `agent resume`, a pasted reply or another client can go on with the session.

mod catalogue;
mod connection;
pub mod install;
mod outgoing;
mod person;
mod resources;
mod worker;

use std::io;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use agent_mcp::{BoundedLines, ReadLine};

use self::catalogue::Catalogue;
use self::connection::{Connection, MAX_QUEUED, RequestDesk};
use self::person::ClientPerson;
use self::worker::CallWorker;
use crate::approve::Input;
use crate::error::{Error, Result};
use crate::services::Caller;

/// The most bytes of a message: as much as a reply may have.
const LONGEST_LINE: usize = 16 << 20;

/// How long a round stays open without a call.
const IDLE: Duration = Duration::from_mins(1);

/// The variable that shortens that, in milliseconds: for tests.
const IDLE_VARIABLE: &str = "AGENT_MCP_IDLE_MS";

/// A session that the client goes on with.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// The session by name; else the latest unfinished one.
    pub session: Option<String>,
    /// Says if the person is waited for.
    pub input: Input,
}

/// Serves the client at standard input and output until it goes.
pub fn serve(caller: &Caller, options: ServeOptions) -> Result<()> {
    let connection = Arc::new(Connection::new(Box::new(io::stdout())));
    let stopped = Arc::clone(&connection);
    // The reading thread is left behind: nothing ends its wait.
    caller.interrupt.on_raise(move || stopped.close());
    let person = Arc::new(ClientPerson::new(Arc::clone(&connection), options.input));
    let calling = Caller {
        person,
        interrupt: connection.interrupt().clone(),
        ..caller.clone()
    };
    let (queue, calls) = mpsc::sync_channel(MAX_QUEUED);
    let (lookups, requests) = mpsc::sync_channel(MAX_QUEUED);
    let desk = RequestDesk {
        connection: Arc::clone(&connection),
        catalogue: Catalogue::new(),
        queue,
        resources: lookups,
    };
    let (looking, files) = (Arc::clone(&connection), calling.clone());
    start("mcp-resources", move || {
        resources::answer_all(&looking, &files, &requests);
    })?;
    start("mcp-reader", move || {
        read(&desk);
        desk.connection.close();
    })?;
    let writing = Arc::clone(&connection);
    CallWorker::new(connection, calling, options.session, idle()).run(&calls);
    writing.finish();
    Ok(())
}

/// Starts a thread that is left behind at the end.
fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    let started = thread.spawn(work);
    started.map(drop).map_err(|cause| {
        Error::mendable(format!("could not start the thread `{name}`")).because(cause)
    })
}

fn idle() -> Duration {
    let given = std::env::var(IDLE_VARIABLE).ok();
    let given = given.and_then(|millis| millis.parse().ok());
    given.map_or(IDLE, Duration::from_millis)
}

/// Reads messages until the input ends.
fn read(desk: &RequestDesk) {
    let mut lines = BoundedLines::new(io::stdin().lock(), LONGEST_LINE);
    loop {
        match lines.next_line() {
            Ok(ReadLine::Line(line)) if line.iter().all(u8::is_ascii_whitespace) => {}
            Ok(ReadLine::Line(line)) => desk.take(&line),
            Ok(ReadLine::TooLong) => desk.refuse_length(),
            Ok(ReadLine::End) | Err(_) => return,
        }
    }
}
