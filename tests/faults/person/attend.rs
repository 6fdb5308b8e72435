use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::{Person, Phase, TOO_LONG};
use crate::injector::{self, Boundary, Running, Way};
use crate::story;

/// After how long without news the person presses Ctrl-C.
const LONG: Duration = Duration::from_secs(15);

impl Person {
    /// Works in a loop until it asks, and kills it then.
    pub fn play_until_asked(mut self) -> Self {
        let place = self.place.clone();
        injector::run(&place, &["new", "the task"], Way::Plain, |running| {
            while !running.is_over() {
                let said = self.place.said();
                if self.has_question() {
                    running.signal(libc::SIGKILL);
                } else if !self.look(&said) && !self.answer() {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        });
        self
    }

    /// Starts the loop and attends it until it ends, for whatever reason.
    pub(super) fn converse(&mut self, way: Way<'_>) -> Vec<Boundary> {
        let arguments: &[&str] = if self.session_file().is_none() {
            &["new", "the task"]
        } else {
            &["resume"]
        };
        let place = self.place.clone();
        let ran = injector::run(&place, arguments, way, |running| self.attend(running));
        self.take_in(arguments, way, &ran);
        self.look(&ran.said);
        self.end(ran.status.success(), &ran.said);
        ran.boundaries
    }

    /// Does what a person does beside a loop that waits.
    fn attend(&mut self, running: &Running) {
        let (mut since, mut is_stopping) = (Instant::now(), false);
        while !running.is_over() {
            if self.attend_once() {
                since = Instant::now();
                continue;
            }
            std::thread::sleep(Duration::from_millis(5));
            if since.elapsed() > LONG && !is_stopping {
                is_stopping = true;
                running.signal(libc::SIGINT);
            }
            if since.elapsed() > TOO_LONG {
                self.troubles.push("lost: it does not end".to_owned());
                running.signal(libc::SIGKILL);
                return;
            }
        }
    }

    /// Tells whether something was done.
    fn attend_once(&mut self) -> bool {
        let before = self.phase;
        let said = self.place.said();
        if self.look(&said) || self.answer() {
            return true;
        }
        if self.has_question() {
            let (status, said) = injector::beside(&self.place, &["approve", "all"]);
            let _ = writeln!(self.said, "$ agent approve all -> {status}\n{said}");
            return true;
        }
        match self.phase {
            Phase::Undo => {
                let (status, said) = injector::beside(&self.place, &story::UNDO);
                let _ = writeln!(self.said, "$ agent undo -> {status}\n{said}");
                self.after_reversal(status.success(), &said);
                // The loop tells it; there is no need for more beside it.
                if self.phase == Phase::Redo {
                    self.phase = Phase::Say;
                }
            }
            Phase::Say => {
                let (status, said) = injector::beside(&self.place, &story::SAY);
                let _ = writeln!(self.said, "$ agent say -> {status}\n{said}");
                self.after_note(status.success());
            }
            _ => {}
        }
        self.phase != before
    }

    /// Returns true if something waits for a decision.
    pub fn has_question(&self) -> bool {
        let sessions = story::read_tree(&self.base().join("sessions"));
        let is_open = |name: &&String| {
            let decision = name.replace(".json", ".decision.json");
            // The model's own question is answered by `agent say`.
            let is_question = name.contains("/pending/")
                && name.strip_suffix(".json").is_some()
                && !name.ends_with("/model.json");
            is_question && !name.contains(".decision.") && !sessions.contains_key(&decision)
        };
        sessions.keys().any(|name| is_open(&name))
    }
}
