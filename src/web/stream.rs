//! The events of a session as a stream that the page reads: one thread looks at the event file, and what
//! it finds goes to the connection.
//!
//! Each message carries the number of its event as its `id`, so that a page that was away asks for what
//! came after the last one that it saw.

use std::fmt::Write as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use http_body::{Body, Frame};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::view;
use crate::session::EventReader;
use crate::watch::Doorbell;

/// How often the file is looked at where nothing reports changes.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// After how many looks without news a sign of life is sent, so that a dead connection is noticed.
const SIGN_OF_LIFE: u32 = 15;
/// How many messages wait for a slow reader; the thread waits with it then.
const AHEAD: usize = 64;

/// The body of an answer that goes on as long as the page is there.
#[derive(Debug)]
pub(super) struct EventBody {
    messages: mpsc::Receiver<Bytes>,
    _permit: OwnedSemaphorePermit,
}

impl EventBody {
    /// Follows a session from the event of this number on.
    pub(super) fn follow(
        folder: std::path::PathBuf,
        from: u64,
        permit: OwnedSemaphorePermit,
    ) -> std::io::Result<Self> {
        let (sender, messages) = mpsc::channel(AHEAD);
        std::thread::Builder::new()
            .name("events".to_owned())
            .spawn(move || send_events(&folder, from, &sender))?;
        Ok(Self {
            messages,
            _permit: permit,
        })
    }
}

fn send_events(folder: &std::path::Path, from: u64, sender: &mpsc::Sender<Bytes>) {
    let bell = Doorbell::on(folder);
    let mut reader = EventReader::starting_at(folder, from);
    let mut quiet = 0;
    // The browser knows at once that the connection stands.
    let mut message = String::from(": \n\n");
    loop {
        for envelope in reader.read() {
            let item = view::event(&envelope);
            let json = serde_json::to_string(&item).unwrap_or_default();
            let _ = write!(message, "id: {}\ndata: {json}\n\n", envelope.seq);
        }
        if message.is_empty() {
            quiet += 1;
            if quiet >= SIGN_OF_LIFE {
                message.push_str(": \n\n");
            }
        }
        if !message.is_empty() {
            quiet = 0;
            let bytes = Bytes::from(std::mem::take(&mut message));
            if sender.blocking_send(bytes).is_err() {
                return;
            }
        }
        if sender.is_closed() {
            return;
        }
        bell.wait_for(LOOK_EVERY);
    }
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let message = self.get_mut().messages.poll_recv(context);
        message.map(|message| message.map(|bytes| Ok(Frame::data(bytes))))
    }
}
