//! `agent serve`: a page in the browser that does what the terminal does, on the same events, questions
//! and services.
//!
//! Requests come from 127.0.0.1 only and pass the [`guard`]; then [`api`] calls a service on a thread of
//! its own. tokio starts here and nowhere else, and nothing below `services` knows of it. What the page
//! shows is data ([`node`]): no HTML is made from text of others.

mod api;
mod begin;
mod browser;
mod desk;
mod guard;
mod keys;
mod loops;
mod markdown;
mod node;
mod page;
mod server;
mod settings;
mod stream;
mod view;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

pub use self::browser::OpenedBrowser;
use self::desk::PageDesk;
use crate::error::{Error, ExitKind, Result};
use crate::interrupt::Interrupt;
use crate::protocol::SessionId;
use crate::services::Caller;
use crate::services::run::{self, ContextRequest};

/// How many services run at a time.
const SERVICE_THREADS: usize = 8;
/// How long a running service is waited for at the end.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A page that waits for its first request.
#[derive(Debug)]
pub struct PageServer {
    listener: std::net::TcpListener,
    desk: Arc<PageDesk>,
}

impl PageServer {
    /// Takes a port of this machine; 0 is any free one.
    pub fn bind(caller: &Caller, port: u16) -> Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let trouble = |cause: std::io::Error| {
            Error::mendable(format!("could not listen at {address}"))
                .because(cause)
                .hint("`--port 0` takes any free port")
        };
        let listener = std::net::TcpListener::bind(address).map_err(trouble)?;
        listener.set_nonblocking(true).map_err(trouble)?;
        let port = listener.local_addr().map_err(trouble)?.port();
        let desk = Arc::new(PageDesk::new(caller, port)?);
        Ok(Self { listener, desk })
    }

    /// Begins a session, which the page carries on.
    pub fn begin(&self, task: String, context: ContextRequest) -> Result<SessionId> {
        let flags = self.desk.flags.clone();
        let open = move |caller: &Caller| run::begin(caller, &task, &context).map(Some);
        let started = self.desk.loops.start(&self.desk, flags, open)?;
        Ok(started.session)
    }

    /// Makes links that open the page, at this view of it (`/s/<id>`); empty for the list of sessions.
    pub fn links(&self, view: String) -> PageLinks {
        PageLinks {
            desk: self.desk.clone(),
            view,
        }
    }

    /// Answers requests until the interrupt is raised.
    pub fn run(self, interrupt: &Interrupt) -> Result<()> {
        let defect = |cause: std::io::Error| {
            Error::new(ExitKind::Mendable, "could not start the server").because(cause)
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(SERVICE_THREADS)
            .build()
            .map_err(defect)?;
        let stopped = Arc::new(Notify::new());
        let stop = stopped.clone();
        interrupt.on_raise(move || stop.notify_one());
        if interrupt.is_raised() {
            return Ok(());
        }
        let Self { listener, desk } = self;
        let serving = desk.clone();
        let result = runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            tokio::spawn(server::run(listener, serving));
            stopped.notified().await;
            Ok(())
        });
        runtime.shutdown_timeout(LAST_WORDS);
        desk.loops.end();
        result.map_err(defect)
    }
}

/// Makes links that open the page, each of them once.
#[derive(Debug, Clone)]
pub struct PageLinks {
    desk: Arc<PageDesk>,
    view: String,
}

impl PageLinks {
    /// The address, without a code.
    pub fn address(&self) -> &str {
        &self.desk.own.origin
    }

    /// A new link.
    pub fn link(&self) -> Result<String> {
        Ok(self.desk.link()? + &self.view)
    }

    /// Opens the page in the person's browser, where there is one.
    pub fn open_browser(&self) -> Result<Option<OpenedBrowser>> {
        match self.desk.trust.directory() {
            Some(directory) => OpenedBrowser::open(&self.link()?, directory),
            None => Ok(None),
        }
    }
}
