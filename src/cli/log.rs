//! The trace of a session in `sessions/<id>/agent.log`.

use std::fs::OpenOptions;
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;

use crate::agent::Agent;
use crate::session::Session;

/// The variable that says what is traced, as in `AGENT_LOG=agent=trace`.
const VARIABLE: &str = "AGENT_LOG";

/// Begins the trace; a session without one is as good as with it, so trouble is only told.
pub(super) fn start(agent: &Agent, session: &Session) {
    let path = agent.store.folder(&session.session_id).join("agent.log");
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    crate::platform::ours(&mut options);
    let file = match options.open(&path) {
        Ok(file) => file,
        Err(cause) => {
            agent
                .ui
                .say(&format!("No log is written: `{}`: {cause}", path.display()));
            return;
        }
    };
    let filter =
        EnvFilter::try_from_env(VARIABLE).unwrap_or_else(|_| EnvFilter::new("agent=debug"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(Mutex::new(file))
        .finish();
    // A demo runs a second session in the same process; the first trace goes on.
    let _ = tracing::subscriber::set_global_default(subscriber);
    tracing::info!(session = %session.session_id, version = env!("CARGO_PKG_VERSION"), "started");
}
