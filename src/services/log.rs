//! The trace of a session in `sessions/<id>/agent.log`: it is sent with reports of defects, so that
//! whatever gets into it is searched for secrets once more.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use tracing_subscriber::EnvFilter;

use super::Caller;
use crate::agent::Agent;
use crate::known_keys::KnownKeys;
use crate::protocol::SetupNews;
use crate::secrets;
use crate::session::Session;

/// The variable that says what is traced, as in `AGENT_LOG=agent=trace`.
const VARIABLE: &str = "AGENT_LOG";

/// The file of the session that this process carries on: a page carries on one after the other.
static TRACE: Mutex<Option<File>> = Mutex::new(None);

/// Begins the trace; a session without one is as good as with it, so trouble is only told.
pub(super) fn start(caller: &Caller, agent: &Agent, session: &Session) {
    let path = agent.store.folder(&session.session_id).join("agent.log");
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    crate::platform::ours(&mut options);
    let file = match options.open(&path) {
        Ok(file) => file,
        Err(cause) => {
            caller.tell(SetupNews::NoLog {
                file: path.display().to_string(),
                cause: cause.to_string(),
            });
            return;
        }
    };
    *TRACE.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
    let filter =
        EnvFilter::try_from_env(VARIABLE).unwrap_or_else(|_| EnvFilter::new("agent=debug"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(|| Searched)
        .finish();
    // With the second session of the process there is one already, and it does.
    let _ = tracing::subscriber::set_global_default(subscriber);
    tracing::info!(session = %session.session_id, version = env!("CARGO_PKG_VERSION"), "started");
}

/// The file of the session, into which no secret is written that tells by itself what it is.
struct Searched;

impl Write for Searched {
    /// Takes a whole line at once, as the tracer writes them.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = KnownKeys::of_this_process().scrub(&String::from_utf8_lossy(bytes));
        let text = secrets::redact(&text);
        let mut trace = TRACE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &mut *trace {
            file.write_all(text.as_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
