//! The only place that writes to the terminal.
//!
//! Standard output carries data, standard error carries talk. Whatever comes from the model, a
//! file or a child process is escaped on its way out. Without a terminal there are plain lines,
//! with `--json` one object a line, and nobody is asked anything.

mod activity;
mod api;
mod approval;
mod ask;
mod dialog;
mod diff;
pub mod editor;
mod live;
mod markdown;
mod news;
mod outbox;
mod palette;
mod pause;
mod plain;
mod prompt;
mod setup;
mod shown_changes;
mod step;
mod terminal;
mod trace;
mod unread;
mod width;
mod wrap;

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use serde::Serialize;

use self::activity::{Activity, ActivityPhase};
use self::ask::PromptQuestion;
pub use self::news::{question_words, sentence};
pub use self::outbox::{length, space};
use self::plain::{OutputStyle, RenderContext};
pub use self::plain::{first_line, heading, quoted, shown, what_next};
pub use self::prompt::{
    Entry, HistoryFile, KeptInput, LentTerminal, LineKind, Listener, Pasted, Prompt,
};
use self::shown_changes::ShownChanges;
use self::step::StepLayout;
pub use self::step::elapsed;
pub use self::terminal::Terminal;
pub use self::unread::Unread;
pub use self::width::shortened;
pub use self::wrap::fold;
use crate::approve::{Answer, Answers, Attending, Input, Pending, Person, Question};
use crate::error::{Error, Result};
pub use crate::escape::{escape_line, escape_text};
use crate::interrupt::Interrupt;
use crate::known_keys::KnownKeys;
pub use crate::number::count;
use crate::protocol::{
    ApiNews, ClipboardNews, EVENT_SCHEMA, Envelope, Event, EventSink, StepResult,
};

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Volume {
    /// Only what needs the person, and errors.
    Quiet,
    /// The usual amount: everything a person wants to follow.
    #[default]
    Normal,
    /// Details too.
    Verbose,
}

/// In which form events are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// Lines for a person, on standard error.
    #[default]
    Lines,
    /// One JSON object a line, on standard output.
    Json,
}

/// The stream that lines for a person go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineStream {
    /// Standard error: they are talk.
    Error,
    /// Standard output: they are the result.
    Output,
}

/// An event as a script reads it; without number, time and session if it is not one of a session.
#[derive(Serialize)]
#[serde(untagged)]
enum ScriptEvent<'a> {
    Recorded {
        #[serde(flatten)]
        envelope: &'a Envelope,
        schema: u32,
    },
    Other {
        #[serde(flatten)]
        event: &'a Event,
        schema: u32,
    },
}

/// The terminal, or what stands in its place: renders events, and asks.
#[derive(Debug, Clone)]
pub struct Ui {
    volume: Volume,
    form: Form,
    lines: LineStream,
    color: ColorChoice,
    input: Input,
    terminal: Arc<Terminal>,
    /// The command that runs, where a line at the foot of the terminal tells of it.
    activity: Arc<Mutex<Option<Activity>>>,
    /// The steps that were told before the questions that are open.
    ahead: Arc<Mutex<Vec<Event>>>,
    /// Changes to files that the person has seen.
    seen_changes: Arc<Mutex<ShownChanges>>,
    /// The questions that a dialog tells the decisions of, by their keys.
    attended: Arc<Mutex<BTreeSet<String>>>,
}

impl Ui {
    /// Returns true if the person is told the size of a message that takes so many percent of what the
    /// chat takes.
    pub fn tells_size(&self, percent: usize) -> bool {
        self.volume == Volume::Verbose || outbox::is_tight(percent)
    }

    /// A voice of this volume and form.
    pub fn new(volume: Volume, form: Form, color: ColorChoice) -> Self {
        Self {
            volume,
            form,
            lines: LineStream::Error,
            color,
            input: Input::default(),
            terminal: Arc::default(),
            activity: Arc::default(),
            ahead: Arc::default(),
            seen_changes: Arc::default(),
            attended: Arc::default(),
        }
    }

    /// A voice at a terminal that others speak at too.
    #[must_use]
    pub fn at(mut self, terminal: &Arc<Terminal>) -> Self {
        self.terminal = Arc::clone(terminal);
        self
    }

    /// The terminal.
    pub fn terminal(&self) -> &Arc<Terminal> {
        &self.terminal
    }

    /// Lets the person know when the session comes to its last round.
    pub fn warn_before_round(&self, last: u32) {
        self.terminal.last_round.store(last, Ordering::SeqCst);
    }

    /// Lets the person know that a reply is taken from the clipboard.
    pub fn takes_clipboard(&self, is_taken: bool) {
        self.terminal
            .takes_clipboard
            .store(is_taken, Ordering::SeqCst);
    }

    /// Lets the person know that each message is on the clipboard.
    pub fn copies_messages(&self, is_copied: bool) {
        self.terminal.is_copied.store(is_copied, Ordering::SeqCst);
    }

    /// Recommends no commands at the end: the folder of a demonstration is gone then.
    pub fn plays_demo(&self) {
        self.terminal.is_demo.store(true, Ordering::SeqCst);
    }

    /// Returns true if a prompt is open, so that nobody else may read the terminal.
    pub fn has_prompt(&self) -> bool {
        self.terminal.has_prompt()
    }

    /// Sets whether the person can be waited for.
    #[must_use]
    pub fn with_input(mut self, input: Input) -> Self {
        self.input = input;
        self
    }

    /// One whose lines are the result, on standard output.
    #[must_use]
    pub fn on_output(mut self) -> Self {
        self.lines = LineStream::Output;
        self
    }

    /// One that is heard only where something fails, and asks nobody.
    #[must_use]
    pub fn muted(&self) -> Self {
        Self {
            volume: Volume::Quiet,
            form: Form::Lines,
            input: Input::Refuse,
            ..self.clone()
        }
    }

    /// One that talks in lines, also where data is JSON.
    #[must_use]
    pub fn in_lines(&self) -> Self {
        Self {
            form: Form::Lines,
            ..self.clone()
        }
    }

    /// Shows a line of progress at the foot of the terminal, or none; nothing without a terminal.
    pub fn show_progress(&self, text: Option<&str>) {
        if self.volume == Volume::Quiet || !live::has_terminal() {
            return;
        }
        let columns = live::size().0.saturating_sub(1);
        let row = text.map(|text| live::LiveRow::dimmed(&shortened(text, columns)));
        self.terminal.rows.set_progress(row, self.colour_of_talk());
    }

    /// True if the person can be waited for.
    pub fn input(&self) -> Input {
        self.input
    }

    /// Returns true if a person sits at a terminal and can be asked.
    pub fn is_interactive(&self) -> bool {
        self.input == Input::Wait
            && self.form == Form::Lines
            && io::stdin().is_terminal()
            && io::stderr().is_terminal()
    }

    /// Returns true if there is a terminal that understands escape sequences.
    pub fn has_terminal(&self) -> bool {
        self.form == Form::Lines
            && (io::stderr().is_terminal() || io::stdout().is_terminal())
            && !live::is_dumb()
    }

    /// Sends a sequence of ours to the terminal, which shows nothing of it; tells whether there is
    /// one.
    pub fn send_to_terminal(&self, sequence: &str) -> bool {
        if !self.has_terminal() {
            return false;
        }
        self.terminal.rows.beside(|| {
            let _ = if io::stderr().is_terminal() {
                write_all(&mut io::stderr().lock(), sequence)
            } else {
                write_all(&mut io::stdout().lock(), sequence)
            };
        });
        true
    }

    /// Tells what happened.
    pub fn tell(&self, event: &Event) {
        let schema = EVENT_SCHEMA;
        self.tell_as(event, &ScriptEvent::Other { event, schema });
    }

    /// Tells what happened in a session, here or elsewhere.
    pub fn show(&self, envelope: &Envelope) {
        let schema = EVENT_SCHEMA;
        self.tell_as(&envelope.event, &ScriptEvent::Recorded { envelope, schema });
    }

    fn tell_as(&self, event: &Event, told: &ScriptEvent<'_>) {
        self.bring(event, told);
        // The person does not wait for the log, whose lines are searched for secrets.
        tracing::debug!(event = %trace::trace(event));
    }

    fn bring(&self, event: &Event, told: &ScriptEvent<'_>) {
        if self.form == Form::Json {
            self.data(told);
            let stops = self.terminal.interrupt.get();
            if let Some(interrupt) = stops.filter(|_| self.ensure_written().is_err()) {
                interrupt.raise();
            }
            return;
        }
        self.follow_command(event);
        if let Event::Reply { sequence, .. } = event {
            self.terminal.round.store(*sequence, Ordering::SeqCst);
        }
        if let Event::Clipboard(ClipboardNews::Unwatched { .. }) = event {
            self.takes_clipboard(false);
        }
        // On a terminal its line at the foot says it.
        let is_at_foot = matches!(event, Event::Running { .. }) && self.has_foot();
        if is_at_foot || news::volume(event) > self.volume {
            return;
        }
        let mut text = plain::render(event, &self.context());
        if let Event::Repaired { repair } = event
            && let Some(tip) = plain::tip(repair)
            && !self.terminal.has_tip.swap(true, Ordering::SeqCst)
        {
            text.push_str(&tip);
        }
        if let Event::Ahead {
            number: 0,
            shown,
            before,
            ..
        } = event
        {
            // What an earlier round changed is shown once; what no step names, if the person wants it.
            if self.seen_changes().has(shown) {
                return;
            }
            if *before == 0 && self.is_interactive() {
                self.keep_shown(event);
                return;
            }
        }
        self.note_seen(event);
        // What the person decides about is shown exactly as it is.
        if matches!(event, Event::Approval { .. } | Event::Ahead { .. }) {
            self.keep_shown(event);
            self.talk(&text);
        } else {
            self.talk_folded(&text);
        }
    }

    /// Returns false if standard output is a pipe that nobody reads any more, or cannot be written.
    pub fn is_heard(&self) -> bool {
        self.ensure_written().is_ok() && !crate::platform::is_unread(&io::stdout())
    }

    /// Fails if something could not be written to standard output, other than for a reader that went
    /// away.
    pub fn ensure_written(&self) -> Result<()> {
        let Some(cause) = self.terminal.output_failure.get() else {
            return Ok(());
        };
        Err(Error::mendable("could not write to standard output")
            .because(cause.to_string())
            .hint("look at the file or the program that it goes to"))
    }

    /// Keeps what a question shows folded, until the person wants all of it.
    fn keep_shown(&self, event: &Event) {
        let mut kept = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(event, Event::Ahead { .. }) {
            kept.push(event.clone());
        }
    }

    /// Lists steps that wait for one answer: scripts whole, differences by their size.
    fn list_questions(&self, questions: &[Event]) {
        let columns = io::stderr().is_terminal().then(|| live::size().0);
        self.talk(&approval::listed(questions, columns));
    }

    /// Shows the steps before a question, and the questions, with nothing folded.
    fn show_whole(&self, questions: &[Event]) {
        let ahead = self
            .ahead
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        self.show_unfolded(ahead.iter().chain(questions));
    }

    /// Shows questions and changes before them, with nothing folded.
    pub fn show_unfolded<'e>(&self, events: impl IntoIterator<Item = &'e Event>) {
        for event in events {
            self.note_seen(event);
            self.talk(&plain::whole(event, &self.context()));
        }
    }

    /// How many files that earlier rounds changed wait to be shown.
    fn unshown_changes(&self) -> usize {
        let kept = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let differences = kept.iter().filter_map(|event| match event {
            Event::Ahead {
                number: 0, shown, ..
            } => Some(shown),
            _ => None,
        });
        let mut seen = self.seen_changes();
        differences.filter(|shown| !seen.has(shown)).count()
    }

    /// Remembers the difference that an event shows, if it shows one.
    fn note_seen(&self, event: &Event) {
        match event {
            Event::Ahead {
                number: 0, shown, ..
            } => self.seen_changes().note_whole(shown),
            Event::Ahead { shown, .. } => self.seen_changes().note_step(shown),
            _ => {}
        }
    }

    fn seen_changes(&self) -> MutexGuard<'_, ShownChanges> {
        (self.seen_changes.lock()).unwrap_or_else(PoisonError::into_inner)
    }

    fn attended(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.attended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what questions showed: they are decided.
    fn forget_shown(&self) {
        let mut kept = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clear();
    }

    /// Keeps a line at the foot of the terminal as long as a command runs.
    fn follow_command(&self, event: &Event) {
        match event {
            Event::Running { script, .. } => {
                // The line of the command before must be gone first.
                self.activity().take();
                if self.volume > Volume::Quiet && self.has_foot() {
                    let name = script.trim().lines().next().unwrap_or_default();
                    self.begin_activity(ActivityPhase::Running, name);
                }
            }
            Event::Api(news) => self.follow_request(news),
            Event::Output { text, .. } => {
                if let Some(activity) = self.activity().as_ref() {
                    activity.printed(text);
                }
            }
            // Whatever is told next, the command has ended.
            Event::Step { .. }
            | Event::Check { .. }
            | Event::Trouble { .. }
            | Event::Interrupted { .. } => {
                self.activity().take();
            }
            _ => {}
        }
    }

    /// Keeps a line at the foot of the terminal as long as a model answers: what it thinks, then what
    /// it writes.
    fn follow_request(&self, news: &ApiNews) {
        let enter = |phase, text: &str| {
            if let Some(activity) = self.activity().as_ref() {
                activity.enter(phase, text);
            }
        };
        match news {
            ApiNews::Sending {
                provider, model, ..
            } => {
                self.activity().take();
                if self.volume > Volume::Quiet && self.has_foot() {
                    self.begin_activity(ActivityPhase::Asking, &format!("{provider} {model}"));
                }
            }
            ApiNews::Retrying { millis, .. } => {
                let until = Instant::now() + Duration::from_millis(*millis);
                enter(ActivityPhase::Retrying(until), "");
            }
            ApiNews::Reasoning { text } => enter(ActivityPhase::Thinking, text),
            ApiNews::Text { text } => enter(ActivityPhase::Answering, text),
            ApiNews::Answered(_) | ApiNews::Refused { .. } | ApiNews::Stopped { .. } => {
                self.activity().take();
            }
            ApiNews::Shortened { .. } | ApiNews::Overtaken => {}
        }
    }

    fn begin_activity(&self, phase: ActivityPhase, name: &str) {
        let begun = Activity::begin(self.terminal.clone(), phase, name, self.colour_of_talk());
        *self.activity() = Some(begun);
    }

    fn activity(&self) -> MutexGuard<'_, Option<Activity>> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says a sentence of ours.
    pub fn say(&self, text: &str) {
        // It may repeat what the person typed.
        self.tell(&Event::Notice {
            text: KnownKeys::of_this_process().scrub(text),
        });
    }

    /// How many columns the terminal has that data goes to; nothing if it goes elsewhere.
    pub fn columns(&self) -> Option<usize> {
        let stdout = io::stdout();
        if !stdout.is_terminal() {
            return None;
        }
        let size = terminal_size::terminal_size_of(&stdout);
        Some(size.map_or(80, |(width, _)| usize::from(width.0)))
    }

    /// Prints a text of ours, in colour where the terminal wants it; what others wrote in it is
    /// escaped already.
    pub fn page(&self, text: &str) {
        let stdout = io::stdout();
        self.terminal
            .rows
            .above(|| self.put_out(&mut self.colored(stdout.lock(), &stdout), text));
    }

    /// Writes to standard output, and remembers if it takes nothing more.
    fn put_out(&self, stdout: &mut impl Write, text: &str) {
        if let Err(cause) = write_all(stdout, text)
            && cause.kind() != io::ErrorKind::BrokenPipe
        {
            let _ = self.terminal.output_failure.set(cause);
        }
    }

    /// Prints a text of ours, its long lines folded between words on a terminal.
    pub fn folded_page(&self, text: &str) {
        match self.columns() {
            Some(columns) => self.page(&wrap::folded(text, columns)),
            None => self.page(text),
        }
    }

    /// A step of a round as the loop tells it, for a page.
    pub fn step_lines(&self, result: &StepResult, round: u32) -> String {
        let columns = self.columns();
        let look = columns.map_or(OutputStyle::Plain, |_| self.look());
        step::step(result, &[], StepLayout { columns, look }, Some(round))
    }

    /// Prints a line of data.
    pub fn line(&self, text: &str) {
        self.terminal
            .rows
            .above(|| self.put_out(&mut io::stdout().lock(), &format!("{text}\n")));
    }

    /// Prints what the model said, rendered where a person reads it.
    pub fn spoken(&self, text: &str) {
        let is_rich = io::stdout().is_terminal() && self.colour_of_talk() == live::Colour::On;
        match self.columns().filter(|_| is_rich) {
            Some(columns) => self.page(&plain::spoken(text, OutputStyle::Rich { columns }, "")),
            None => self.text(text),
        }
    }

    /// Prints a piece of a model's answer, as it comes; an event where the output is JSON.
    pub fn piece(&self, text: &str) {
        if self.form == Form::Json {
            let text = text.to_owned();
            return self.tell(&Event::Api(ApiNews::Text { text }));
        }
        let shown = if io::stdout().is_terminal() {
            escape_text(text)
        } else {
            text.to_owned()
        };
        self.terminal
            .rows
            .above(|| self.put_out(&mut io::stdout().lock(), &shown));
    }

    /// Ends the line of an answer whose last piece was this.
    pub fn end_piece(&self, last: &str) {
        if self.form != Form::Json && !last.is_empty() && !last.ends_with('\n') {
            self.piece("\n");
        }
    }

    /// Prints a text of others: contents, output.
    pub fn text(&self, text: &str) {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let shown = if io::stdout().is_terminal() {
            escape_text(text)
        } else {
            text.to_owned()
        };
        self.terminal
            .rows
            .above(|| self.put_out(&mut io::stdout().lock(), &format!("{shown}{end}")));
    }

    /// Prints the difference between two versions of a file as a unified diff.
    pub fn difference(&self, path: &str, before: Option<&str>, after: Option<&str>) {
        let text = diff::unified(path, before, after);
        self.page(&text);
    }

    /// Prints a diff: in colour on a terminal, and as it is elsewhere, so that it can be applied.
    pub fn patch(&self, text: &str) {
        let stdout = io::stdout();
        let is_plain = self.color == ColorChoice::Never
            || (self.color == ColorChoice::Auto
                && AutoStream::choice(&stdout) == ColorChoice::Never);
        if is_plain {
            self.text(text);
        } else {
            self.page(&diff::colored(text));
        }
    }

    /// Prints an object as one line of JSON.
    pub fn data(&self, object: &impl Serialize) {
        if let Ok(json) = crate::json::to_line(object) {
            self.line(&json);
        }
    }

    /// Reports what ends the program.
    pub fn error(&self, error: &Error) {
        let text = KnownKeys::of_this_process().scrub(&plain::error(error));
        self.talk_folded(&text);
    }

    /// Puts a question that is not kept to the person and waits for a line.
    pub fn ask(&self, question: &Question, interrupt: &Interrupt) -> Answer {
        if !self.is_interactive() {
            return Answer::Nobody;
        }
        let answers = Answers::until(interrupt).about(question.kind);
        loop {
            self.prompt(&news::inquiry(question), &answers);
            match answers.first() {
                Answer::Text(line) if line.trim() == "?" => {
                    if let Some(shown) = question.shown_before() {
                        self.say(shown);
                    }
                }
                answer => return answer,
            }
        }
    }

    /// Lets the person type an answer, where there is a terminal, and does not wait for it.
    pub fn prompt(&self, question: &str, answers: &Answers) {
        if !self.is_interactive() {
            return;
        }
        // First: an answer typed as soon as the question shows must be heard.
        let is_at_prompt = self.terminal.ask_at_prompt(PromptQuestion {
            number: answers.number(),
            text: question.to_owned(),
            kind: answers.kind(),
            sender: answers.sender(),
        });
        if is_at_prompt {
            let terminal = self.terminal.clone();
            answers.on_withdraw(move |number| terminal.withdraw(number));
            self.talk_folded(&format!("{}\n", escape_text(question.trim_end())));
        } else {
            ask::discard();
            self.talk_folded(&plain::question(question));
            ask::read_line(self, question, answers);
        }
    }

    /// Says that this terminal takes no paste, where there is one to type on and no prompt: until it
    /// is dropped nobody reads what is typed, and then it is thrown away.
    pub fn leave_typing_unread(&self) -> Option<Unread> {
        let unread = Unread::begin()?;
        self.talk_folded(
            "This terminal takes no paste: save the reply as a file in the inbox, or use `agent paste` in another terminal. What is typed here meanwhile is thrown away.\n",
        );
        Some(unread)
    }

    /// Opens the prompt line, where there is a terminal for it: until it is dropped, what is
    /// entered answers the open question, else it goes to the listener.
    pub fn open_prompt(
        &self,
        kept: KeptInput,
        listener: Arc<dyn Listener>,
        interrupt: &Interrupt,
    ) -> Option<Prompt> {
        let colour = self.colour_of_talk();
        self.is_interactive()
            .then(|| Prompt::open(&self.terminal, kept, listener, interrupt, colour))?
    }

    fn colour_of_talk(&self) -> live::Colour {
        let choice = match (self.color, self.lines) {
            (ColorChoice::Auto, LineStream::Error) => AutoStream::choice(&io::stderr()),
            (ColorChoice::Auto, LineStream::Output) => AutoStream::choice(&io::stdout()),
            (chosen, _) => chosen,
        };
        match choice {
            ColorChoice::Never => live::Colour::Off,
            _ => live::Colour::On,
        }
    }

    /// How and what is shown where talk goes.
    fn context(&self) -> RenderContext {
        RenderContext {
            look: self.look(),
            is_verbose: self.volume == Volume::Verbose,
            is_interactive: self.is_interactive(),
            has_prompt: self.has_prompt(),
            round: known(&self.terminal.round),
            last_round: known(&self.terminal.last_round),
            takes_clipboard: self.terminal.takes_clipboard.load(Ordering::SeqCst),
            is_copied: self.terminal.is_copied.load(Ordering::SeqCst),
            is_demo: self.terminal.is_demo.load(Ordering::SeqCst),
        }
    }

    /// How lines look where talk goes.
    fn look(&self) -> OutputStyle {
        if self.has_foot() && self.colour_of_talk() == live::Colour::On {
            let columns = live::size().0;
            OutputStyle::Rich { columns }
        } else if self.has_foot() {
            OutputStyle::Uncoloured
        } else {
            OutputStyle::Plain
        }
    }

    /// Returns true if lines go to a terminal with a foot.
    fn has_foot(&self) -> bool {
        live::has_terminal() && (self.lines == LineStream::Error || io::stdout().is_terminal())
    }

    fn talk_folded(&self, text: &str) {
        if self.lines == LineStream::Output {
            self.folded_page(text);
        } else if io::stderr().is_terminal() {
            self.talk(&wrap::folded(text, live::size().0));
        } else {
            self.talk(text);
        }
    }

    fn talk(&self, text: &str) {
        if self.lines == LineStream::Output {
            return self.page(text);
        }
        self.terminal.rows.above(|| {
            let _ = write_all(&mut self.colored(io::stderr().lock(), &io::stderr()), text);
        });
    }

    fn colored<S: RawStream>(&self, stream: S, raw: &impl RawStream) -> AutoStream<S> {
        let choice = match self.color {
            ColorChoice::Auto => AutoStream::choice(raw),
            chosen => chosen,
        };
        AutoStream::new(stream, choice)
    }
}

impl EventSink for Ui {
    fn emit(&self, event: Event) {
        self.tell(&event);
    }
}

impl Person for Ui {
    fn input(&self) -> Input {
        Ui::input(self)
    }

    fn is_interactive(&self) -> bool {
        Ui::is_interactive(self)
    }

    fn hear(&self, envelope: &Envelope) {
        // The dialog that follows shows it, and several as a list.
        let is_for_dialog = matches!(
            &envelope.event,
            Event::Approval { kind, .. } if kind.is_step()
        );
        // Told by the engine, it would come between the next question and its keys.
        let is_told_there = matches!(
            &envelope.event,
            Event::Decided { key, .. } if self.attended().contains(key)
        );
        if (is_for_dialog && self.is_interactive()) || is_told_there {
            tracing::debug!(event = %trace::trace(&envelope.event));
            return;
        }
        self.show(envelope);
    }

    fn ask(&self, question: &Question, interrupt: &Interrupt) -> Answer {
        Ui::ask(self, question, interrupt)
    }

    fn attend(
        &self,
        pending: &Pending,
        questions: &[Question],
        interrupt: &Interrupt,
    ) -> Option<Attending> {
        self.is_interactive()
            .then(|| dialog::attend(self.clone(), pending, questions, interrupt))
    }
}

/// The number of a round, where it is known.
fn known(round: &AtomicU32) -> Option<u32> {
    match round.load(Ordering::SeqCst) {
        0 => None,
        round => Some(round),
    }
}

fn write_all(stream: &mut impl Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())?;
    stream.flush()
}
