//! The thread beside the loop: every new message goes out, and the first reply comes in.
//!
//! It waits for nobody: a question to the person is put and looked after, and is forgotten when
//! another message appears, because then the round went on without it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::brought_text::{CopiedText, weigh_copied};
use super::observe::Observer;
use super::{Clipboard, ClipboardReplyUse, Message, Surroundings, TerminalLine, Wishes, notice};
use crate::approve::{Asker, Question, Verdict};
use crate::error::Result;
use crate::fs::{Durability, create_directory, write_atomic};
use crate::interrupt::Interrupt;
use crate::mailbox::Mailbox;
use crate::protocol::{ClipboardNews, Event, SessionId};
use crate::settings::ClipboardUse;
use crate::watch::{Doorbell, Waker};

/// How long the loop gets to tell of a message before a courier tells what became of it.
const AFTER_THE_LOOP: Duration = Duration::from_millis(150);
/// How long until the next look at the clipboard.
const NEXT_LOOK: Duration = Duration::from_millis(500);

/// The couriers of a running loop; they stop when this is dropped.
#[derive(Debug)]
pub struct Couriers {
    is_over: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Couriers {
    /// Starts them for a session; nothing if the person wants none.
    pub fn start(
        wishes: Wishes,
        mailbox: &Mailbox,
        session: &SessionId,
        terminal: Arc<dyn TerminalLine>,
        asker: Asker,
        interrupt: &Interrupt,
    ) -> Option<Self> {
        if wishes.are_none() {
            return None;
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let bell = Doorbell::on(mailbox.outbox());
        let waker = bell.waker();
        let here = Surroundings::of_this_process();
        let courier = Courier {
            clipboard: Clipboard::of(here.clone()),
            here,
            mailbox: mailbox.clone(),
            session: session.clone(),
            interrupt: interrupt.clone(),
            waker: bell.waker(),
            wishes,
            terminal,
            asker,
            round: None,
        };
        let over = Arc::clone(&is_over);
        let thread = thread::spawn(move || courier.run(&bell, &over));
        Some(Self {
            is_over,
            waker,
            thread: Some(thread),
        })
    }
}

impl Drop for Couriers {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The state of the thread.
#[derive(Debug)]
struct Courier {
    clipboard: Clipboard,
    here: Surroundings,
    mailbox: Mailbox,
    session: SessionId,
    interrupt: Interrupt,
    waker: Waker,
    wishes: Wishes,
    terminal: Arc<dyn TerminalLine>,
    asker: Asker,
    round: Option<WaitingRound>,
}

/// A message on its way.
#[derive(Debug)]
struct WaitingRound {
    message: Message,
    /// Its pastes, as they were when it was met: the same text is not carried twice.
    texts: Vec<Option<String>>,
    /// The next part to be put on the clipboard, from 1.
    next: usize,
    asked: Option<OpenCourierQuestion>,
    observer: Option<Observer>,
}

/// A question to the person.
#[derive(Debug)]
struct OpenCourierQuestion {
    what: CourierQuestion,
    answer: Receiver<Option<Verdict>>,
    /// Ends the wait for the answer.
    over: Interrupt,
}

/// A question that is forgotten is not asked any more.
impl Drop for OpenCourierQuestion {
    fn drop(&mut self) {
        self.over.raise();
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum CourierQuestion {
    /// The next part goes to the clipboard.
    NextPart,
    /// We look at the clipboard at all.
    MayLook,
    /// This text is used.
    MayUse(String),
}

impl Courier {
    fn run(mut self, bell: &Doorbell, is_over: &AtomicBool) {
        while !is_over.load(Ordering::SeqCst) {
            self.attend();
            bell.wait_for(NEXT_LOOK);
        }
        // The last message of a session that met its limit is carried too.
        if !self.interrupt.is_raised() {
            self.meet_message();
        }
    }

    fn attend(&mut self) {
        self.meet_message();
        if let Some(mut round) = self.round.take() {
            self.go_on(&mut round);
            self.round = Some(round);
        }
    }

    /// Begins anew if another message is there.
    fn meet_message(&mut self) {
        let Some(message) = Message::latest(&self.mailbox, &self.session) else {
            return;
        };
        if self
            .round
            .as_ref()
            .is_some_and(|round| round.message == message)
        {
            return;
        }
        thread::sleep(AFTER_THE_LOOP);
        // It may have been written anew meanwhile.
        let message = Message::latest(&self.mailbox, &self.session)
            .filter(|latest| latest.mark == message.mark)
            .unwrap_or(message);
        let texts: Vec<_> = (1..=message.parts())
            .map(|part| message.paste(part).ok())
            .collect();
        if let Some(round) = self.round.as_mut()
            && round.message.mark == message.mark
            && round.texts == texts
        {
            round.message = message;
            return;
        }
        // At the first one the person is still here.
        if self.round.is_some() {
            let turn = format!("round {} is ready to paste", message.mark.sequence);
            notice::give(self.wishes.notify, &turn, &self.here, &*self.terminal);
        }
        let mut round = WaitingRound {
            message,
            texts,
            next: 1,
            asked: None,
            observer: None,
        };
        // A session that is continued may stand at a question about the reply.
        let sequence = round.message.mark.sequence;
        let is_answered =
            self.round.is_none() && self.mailbox.claimed(&self.session, sequence).is_some();
        if self.wishes.clipboard != ClipboardUse::Off
            && !is_answered
            && !self.has_the_reply_already(&mut round)
        {
            self.copy_next(&mut round);
        }
        self.round = Some(round);
    }

    /// A reply that was copied while no loop was running must not be overwritten.
    fn has_the_reply_already(&mut self, round: &mut WaitingRound) -> bool {
        if self.wishes.clipboard != ClipboardUse::Auto || !self.may_look() {
            return false;
        }
        // What lay there before the message is no answer to it, unless its mark says so.
        if let Some((text, CopiedText::Reply)) = self.look(round) {
            self.take_reply(round, text);
        }
        round.observer.is_none() || round.asked.is_some()
    }

    fn copy_next(&mut self, round: &mut WaitingRound) {
        let WaitingRound { message, next, .. } = round;
        let text = match message.paste(*next) {
            Ok(text) => text,
            Err(trouble) => return self.asker.person.emit(Event::from(&trouble)),
        };
        let name = message.name(*next);
        match self.clipboard.put(&text, &*self.terminal) {
            Ok(sent) => self.tell(ClipboardNews::Copied {
                message: name,
                how: sent.to_string(),
            }),
            Err(failure) => {
                return self.tell(ClipboardNews::NotCopied {
                    message: name,
                    why: failure.to_string(),
                });
            }
        }
        *next += 1;
        if *next > message.parts() {
            return self.begin_watching(round);
        }
        let name = message.name(*next);
        if self.asker.person.is_interactive() {
            let question = Question::about_next_part(message.mark.sequence, &name);
            round.asked = Some(self.ask(CourierQuestion::NextPart, question));
        } else {
            self.tell(ClipboardNews::NextPart {
                message: name,
                part: *next,
            });
        }
    }

    /// Looks at the clipboard from now on, if the person lets us.
    fn begin_watching(&mut self, round: &mut WaitingRound) {
        if self.wishes.clipboard != ClipboardUse::Auto || self.clipboard.ways_in().is_empty() {
            return;
        }
        if self.may_look() {
            if round.observer.is_none() {
                round.observer = Some(Observer::new(&self.here));
            }
            return;
        }
        if self.wishes.remembered().is_some() || !self.asker.person.is_interactive() {
            return;
        }
        let question = Question::about_clipboard(round.message.mark.sequence);
        round.asked = Some(self.ask(CourierQuestion::MayLook, question));
    }

    fn go_on(&mut self, round: &mut WaitingRound) {
        let answer = |asked: &OpenCourierQuestion| asked.answer.try_recv().ok();
        if let Some(answer) = round.asked.as_ref().and_then(answer)
            && let Some(asked) = round.asked.take()
        {
            self.hear(round, asked.what.clone(), answer.as_ref());
        }
        if round.asked.is_none() && round.observer.is_some() {
            self.observe(round);
        }
    }

    fn hear(&mut self, round: &mut WaitingRound, what: CourierQuestion, verdict: Option<&Verdict>) {
        let is_yes = matches!(verdict, Some(Verdict::Yes | Verdict::Always));
        let is_no = matches!(verdict, Some(Verdict::No { .. }));
        match what {
            CourierQuestion::NextPart => {
                if is_yes {
                    self.copy_next(round);
                }
            }
            CourierQuestion::MayLook => {
                // Ctrl-C, the end of the input and an Enter that came too early are no answer.
                if is_yes || is_no {
                    self.remember(is_yes);
                }
                if is_yes {
                    self.begin_watching(round);
                } else {
                    self.tell_unwatched();
                }
            }
            CourierQuestion::MayUse(text) => {
                if is_yes {
                    self.use_reply(round, &text);
                }
            }
        }
    }

    fn tell_unwatched(&self) {
        let remembered_in = self
            .wishes
            .memory
            .as_deref()
            .filter(|file| file.exists())
            .map(|file| file.display().to_string());
        self.tell(ClipboardNews::Unwatched { remembered_in });
    }

    /// Looks at the clipboard once, if there is something new on it.
    fn look(&self, round: &mut WaitingRound) -> Option<(String, CopiedText)> {
        let observer = round
            .observer
            .get_or_insert_with(|| Observer::new(&self.here));
        let text = observer.look(&self.clipboard)?;
        let copied = weigh_copied(&text, &round.message.mark);
        Some((text, copied))
    }

    /// Looks at the clipboard once; with the reply in hand the watching ends. A copy that looks like a
    /// reply and is not taken is told, each time: silence would look as if it had been taken.
    fn observe(&mut self, round: &mut WaitingRound) {
        let Some((text, copied)) = self.look(round) else {
            return;
        };
        match copied {
            CopiedText::Reply => self.take_reply(round, text),
            CopiedText::ReplyAndMessage => self.tell(ClipboardNews::HasPage),
            CopiedText::OtherRound(answered) => {
                let waiting = round.message.mark.sequence;
                self.tell(ClipboardNews::HasOtherRound { answered, waiting });
            }
            CopiedText::Unmarked => self.tell(ClipboardNews::HasUnmarked),
            CopiedText::Other => {}
        }
    }

    /// Uses the reply that was found, or asks first if the person wants that.
    fn take_reply(&mut self, round: &mut WaitingRound, text: String) {
        if self.wishes.found == ClipboardReplyUse::Used {
            self.use_reply(round, &text);
        } else if self.asker.person.is_interactive() {
            let sequence = round.message.mark.sequence;
            let question = Question::about_clipboard_reply(sequence, &size(&text), &text);
            round.asked = Some(self.ask(CourierQuestion::MayUse(text), question));
        } else {
            self.tell(ClipboardNews::HasReply);
        }
    }

    fn use_reply(&mut self, round: &mut WaitingRound, text: &str) {
        self.tell(ClipboardNews::Taken {
            characters: text.chars().count(),
            lines: text.lines().count(),
            mark: round.message.mark.to_string(),
        });
        round.observer = None;
        if let Err(trouble) = put(&self.mailbox, text) {
            self.asker.person.emit(Event::from(&trouble));
        }
    }

    /// Puts a question and lets a thread wait for the answer.
    fn ask(&self, what: CourierQuestion, question: Question) -> OpenCourierQuestion {
        let over = Interrupt::default();
        let raised = over.clone();
        self.interrupt.on_raise(move || raised.raise());
        let (sender, answer) = mpsc::channel();
        let (waker, asker, until) = (self.waker.clone(), self.asker.clone(), over.clone());
        thread::spawn(move || {
            let verdict = asker.pose(question, &until).unwrap_or_else(|trouble| {
                asker.person.emit(Event::from(&trouble));
                None
            });
            let _ = sender.send(verdict);
            waker.wake();
        });
        OpenCourierQuestion { what, answer, over }
    }

    fn tell(&self, news: ClipboardNews) {
        self.asker.person.emit(Event::Clipboard(news));
    }

    fn may_look(&self) -> bool {
        self.wishes.remembered() == Some(true)
    }

    fn remember(&self, may_look: bool) {
        let word: &[u8] = if may_look { b"yes\n" } else { b"no\n" };
        let kept = self.wishes.memory.as_deref().map(|path| keep(path, word));
        if let Some(Err(trouble)) = kept {
            self.asker.person.emit(Event::from(&trouble));
        }
    }
}

fn keep(path: &Path, word: &[u8]) -> Result<()> {
    if let Some(directory) = path.parent() {
        create_directory(directory)?;
    }
    write_atomic(path, word, Durability::Synced)
}

/// Puts a reply into the inbox, under a name that says where it came from.
fn put(mailbox: &Mailbox, text: &str) -> Result<()> {
    let unique = uuid::Uuid::new_v4().simple().to_string();
    let name = format!("clipboard-{}.txt", &unique[..8]);
    write_atomic(
        &mailbox.inbox().join(name),
        text.as_bytes(),
        Durability::Durable,
    )
}

/// How long a text is, in words.
fn size(text: &str) -> String {
    let lines = text.lines().count();
    format!(
        "{}, {}",
        crate::number::count(text.chars().count(), "character"),
        crate::number::count(lines, "line")
    )
}
