//! Ends the wait of a dialog when a decision file may have come.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

use crate::approve::Answer;
use crate::watch::{Doorbell, Waker};

/// Rings when something happens to the decision files.
#[derive(Debug)]
pub(super) struct Watcher {
    is_over: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    pub(super) fn start(bell: Doorbell, sender: Sender<Answer>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (waker, over) = (bell.waker(), Arc::clone(&is_over));
        let thread = thread::spawn(move || {
            while !over.load(Ordering::SeqCst) {
                bell.wait();
                let _ = sender.send(Answer::Elsewhere);
            }
        });
        Self {
            is_over,
            waker,
            thread: Some(thread),
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
