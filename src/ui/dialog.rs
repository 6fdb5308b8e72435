//! Asks for the decisions of one round at the terminal.
//!
//! A typed answer becomes a decision file like any other: the files say who was first. Whatever
//! others decide meanwhile is noticed there, too.

mod answer;
mod watcher;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use self::answer::Typed;
use self::watcher::Watcher;
use super::{Ui, approval, editor, news};
use crate::approve::{
    Answer, Answers, Attending, Pending, Question, Verdict, decided, is_over, script_title,
};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::known_keys::{self, KnownKeys};
use crate::protocol::{AcceptedLines, ClipboardNews, Event, QuestionKind, QuestionLife, is_yes};
use crate::watch::Doorbell;

/// How many questions are answered at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerOrder {
    Together,
    OneByOne,
}

/// A question with what has come of it so far.
#[derive(Debug)]
struct Item {
    question: Question,
    verdict: Option<Verdict>,
    /// True if the person has edited the script; the question then shows the edited one.
    is_edited: bool,
    /// True once the person was told of the decision.
    is_told: bool,
}

/// The conversation about the questions of one round.
#[derive(Debug)]
pub(super) struct Dialog {
    ui: Ui,
    interrupt: Interrupt,
    pending: Pending,
    /// As they were put; an edit changes only the item.
    questions: Vec<Question>,
    items: Vec<Item>,
    manner: AnswerOrder,
    answers: Answers,
    /// The prompt that stands on the terminal is still the right one.
    is_prompted: bool,
    last_shown: Option<u32>,
    last_listed: Vec<usize>,
    /// The reason that was told last: it is not repeated for each step.
    told_reason: String,
    editor: Option<String>,
    /// True if the latest decision was typed here.
    is_decided_here: bool,
    is_withdrawn: Arc<AtomicBool>,
}

/// Lets the person decide until the returned value is dropped; the questions were shown.
pub(super) fn attend(
    ui: Ui,
    pending: &Pending,
    questions: &[Question],
    interrupt: &Interrupt,
) -> Attending {
    let shown = ui.clone();
    let keys: Vec<String> = questions.iter().map(Question::key).collect();
    ui.attended().extend(keys.iter().cloned());
    let dialog = Dialog::new(ui, interrupt, pending, questions);
    let is_withdrawn = Arc::clone(&dialog.is_withdrawn);
    let sender = dialog.answers.sender();
    let thread = thread::spawn(move || {
        let ui = dialog.ui.clone();
        if let Err(trouble) = dialog.run() {
            ui.error(&trouble);
        }
    });
    Attending::until(move || {
        shown.forget_shown();
        is_withdrawn.store(true, Ordering::SeqCst);
        let _ = sender.send(Answer::Elsewhere);
        let _ = thread.join();
        shown.attended().retain(|key| !keys.contains(key));
    })
}

impl Dialog {
    pub(super) fn new(
        ui: Ui,
        interrupt: &Interrupt,
        pending: &Pending,
        questions: &[Question],
    ) -> Self {
        let kind = questions.first().map(|question| question.kind);
        let items = questions.iter().map(|question| Item {
            question: question.clone(),
            verdict: None,
            is_edited: false,
            is_told: false,
        });
        Self {
            ui,
            interrupt: interrupt.clone(),
            pending: pending.clone(),
            questions: questions.to_vec(),
            items: items.collect(),
            manner: AnswerOrder::Together,
            answers: Answers::until(interrupt).about(kind.unwrap_or_default()),
            is_prompted: false,
            last_shown: None,
            last_listed: Vec::new(),
            told_reason: String::new(),
            editor: editor::of_this_person(|name| std::env::var_os(name)),
            is_decided_here: false,
            is_withdrawn: Arc::default(),
        }
    }

    /// Asks until all is decided, or the question is taken back, or the person stops.
    pub(super) fn run(mut self) -> Result<()> {
        let bell = Doorbell::on(self.pending.directory()?);
        let _watcher = Watcher::start(bell, self.answers.sender());
        self.collect_known()?;
        self.last_shown = match self.open().as_slice() {
            // A step alone, and several, are shown here.
            [first, ..] if self.items[*first].question.kind == QuestionKind::Step => None,
            // The engine has just told of these, in their order.
            open => open.last().map(|at| self.items[*at].question.number),
        };
        while !self.is_over() {
            if self.interrupt.is_raised() {
                return Ok(());
            }
            self.prompt();
            match self.answers.first() {
                Answer::Text(line) => {
                    self.is_prompted = false;
                    self.is_decided_here = true;
                    self.hear(&line)?;
                }
                Answer::Interrupted => return Ok(()),
                Answer::Nobody => self.end_of_input()?,
                Answer::Elsewhere => self.is_decided_here = false,
            }
            self.collect()?;
        }
        // The question may have been taken back because of a decision.
        self.collect()
    }

    /// The terminal has nothing more to say. What outlives this process is still decided by a file;
    /// for the rest nobody is waited for.
    fn end_of_input(&mut self) -> Result<()> {
        let is_live = |at: &usize| self.items[*at].question.kind.life() == QuestionLife::WhileAsked;
        let open: Vec<usize> = self.open().into_iter().filter(is_live).collect();
        self.decide_all(&open, &Verdict::Skip)
    }

    fn open(&self) -> Vec<usize> {
        (0..self.items.len())
            .filter(|at| self.items[*at].verdict.is_none())
            .collect()
    }

    fn is_over(&self) -> bool {
        let verdicts: Vec<_> = self.items.iter().map(|item| item.verdict.clone()).collect();
        self.is_withdrawn.load(Ordering::SeqCst) || is_over(&verdicts)
    }

    /// Takes in what was decided before the person was asked; who asks tells of it.
    fn collect_known(&mut self) -> Result<()> {
        let verdicts = decided(&self.pending, &self.questions)?;
        for (item, verdict) in self.items.iter_mut().zip(verdicts) {
            if verdict.is_some() {
                item.verdict = verdict;
                item.is_told = true;
                self.ui.attended().remove(&item.question.key());
            }
        }
        Ok(())
    }

    /// Takes in what the decision files say, and tells what is new, before anything else is asked.
    fn collect(&mut self) -> Result<()> {
        let verdicts = decided(&self.pending, &self.questions)?;
        for (item, verdict) in self.items.iter_mut().zip(verdicts) {
            if verdict.is_some() && item.verdict.is_none() {
                item.verdict = verdict;
                self.is_prompted = false;
            }
        }
        self.tell_decided();
        Ok(())
    }

    fn tell_decided(&mut self) {
        // After the last answer the steps are listed, each with what became of it.
        let is_listed_next = self.is_decided_here && self.is_over();
        for (item, question) in self.items.iter_mut().zip(&self.questions) {
            if let Some(verdict) = item.verdict.as_ref().filter(|_| !item.is_told) {
                item.is_told = true;
                let is_plain = matches!(
                    verdict,
                    Verdict::Yes | Verdict::No { .. } | Verdict::Skip | Verdict::Stop
                );
                if !(is_listed_next && is_plain && question.kind == QuestionKind::Step) {
                    self.ui.tell(&question.decided(verdict));
                }
            }
        }
    }

    fn show(&mut self, at: usize) {
        let event = self.with_new_reason(at);
        self.ui.tell(&event);
        self.last_shown = Some(self.items[at].question.number);
    }

    /// A question with its reason, unless that was told for the one before.
    fn with_new_reason(&mut self, at: usize) -> Event {
        let question = &self.items[at].question;
        let why = match self.items.len() {
            1 => question.why.clone(),
            // What the reply changes before is shown with the other steps.
            _ => question.own_reason().to_owned(),
        };
        let is_told = why == self.told_reason && self.items.len() > 1;
        self.told_reason.clone_from(&why);
        let why = if is_told { String::new() } else { why };
        let shown = Question {
            why,
            ..question.clone()
        };
        shown.event()
    }

    fn prompt(&mut self) {
        if self.is_prompted {
            return;
        }
        self.is_prompted = true;
        let open = self.open();
        let Some(&first) = open.first() else {
            return;
        };
        if self.is_joint(&open) {
            self.list(&open);
        } else if self.last_shown != Some(self.items[first].question.number) {
            self.show(first);
        }
        let keys = self.keys(&open).text();
        let text = match self.ui.unshown_changes() {
            0 => keys,
            1 => format!("1 changed file was not shown yet; d shows it\n{keys}"),
            more => format!("{more} changed files were not shown yet; d shows them\n{keys}"),
        };
        self.ui.prompt(&text, &self.answers);
    }

    /// Lists what waits, unless that is what was listed last.
    fn list(&mut self, open: &[usize]) {
        if self.last_listed == open {
            return;
        }
        let briefly = |at: &usize| {
            let question = &self.items[*at].question;
            // What the reply changes before is listed above.
            let why = question.own_reason().to_owned();
            Question {
                why,
                ..question.clone()
            }
            .event()
        };
        let listed: Vec<Event> = open.iter().map(briefly).collect();
        self.ui.list_questions(&listed);
        let mut reasons = open.iter().map(|at| self.items[*at].question.own_reason());
        let first = reasons.next().unwrap_or_default();
        let is_shared = reasons.all(|reason| reason == first);
        self.told_reason = first.to_owned();
        if !is_shared {
            self.told_reason.clear();
        }
        self.last_listed = open.to_vec();
    }

    /// Returns true if one answer counts for all questions that are open.
    fn is_joint(&self, open: &[usize]) -> bool {
        open.len() > 1 && self.manner == AnswerOrder::Together
    }

    /// The answers that are offered now.
    fn keys(&self, open: &[usize]) -> OfferedKeys {
        match open {
            [first, ..] if !self.is_joint(open) => {
                single_keys(&self.items[*first], open.len(), self.items.len())
            }
            _ => OfferedKeys::new("")
                .key("y", "yes to all")
                // All keys in one row of 80 columns.
                .key("n REASON", "no")
                .key("o", "one by one")
                .key("d", "show all")
                .key("s", "skip")
                .key("q", "stop"),
        }
    }

    /// Acts on a typed line.
    fn hear(&mut self, line: &str) -> Result<()> {
        let open = self.open();
        let Some(&first) = open.first() else {
            return Ok(());
        };
        let kind = self.items[first].question.kind;
        if line.trim() == "?" {
            if let Some(shown) = self.items[first].question.shown_before() {
                self.ui.say(shown);
            }
            self.show_again();
            return Ok(());
        }
        match answer::read(kind, line) {
            Some(Typed::Verdict(Verdict::Stop)) => self.decide(first, Verdict::Stop),
            Some(Typed::Show) => {
                let shown = match self.manner {
                    AnswerOrder::Together => open.as_slice(),
                    AnswerOrder::OneByOne => &open[..1],
                };
                let events: Vec<Event> =
                    (shown.iter()).map(|at| self.with_new_reason(*at)).collect();
                self.ui.show_whole(&events);
                Ok(())
            }
            Some(typed) if open.len() > 1 && self.manner == AnswerOrder::Together => {
                self.hear_about_all(&open, &typed)
            }
            Some(typed) => {
                self.hear_about(first, open.len(), typed)?;
                let kind = self.items[first].question.kind;
                // Where there is no prompt, every line comes here.
                if kind == QuestionKind::NextPart && !line.trim().is_empty() && !is_yes(line) {
                    (self.ui).tell(&Event::Clipboard(ClipboardNews::TypedCounted));
                }
                Ok(())
            }
            None if line.trim().is_empty() => Ok(()),
            None => {
                self.complain();
                Ok(())
            }
        }
    }

    /// Lets the next prompt show again all that it asks about.
    fn show_again(&mut self) {
        self.last_shown = None;
        self.last_listed.clear();
        self.told_reason.clear();
    }

    /// Acts on an answer to all questions at once; only what was listed is one.
    fn hear_about_all(&mut self, open: &[usize], typed: &Typed) -> Result<()> {
        match typed {
            Typed::OneByOne => {
                self.manner = AnswerOrder::OneByOne;
                self.last_shown = None;
                Ok(())
            }
            Typed::Verdict(verdict @ (Verdict::Yes | Verdict::No { .. } | Verdict::Skip)) => {
                self.decide_all(open, verdict)
            }
            Typed::Verdict(_) | Typed::Edit | Typed::Show => {
                self.complain();
                Ok(())
            }
        }
    }

    /// Acts on an answer to one question of so many; only what was listed is one.
    fn hear_about(&mut self, at: usize, open: usize, typed: Typed) -> Result<()> {
        match typed {
            Typed::Verdict(Verdict::Always) if !self.may_be_always(at) => {
                self.ui
                    .say("This cannot be allowed for good; `y` allows it once.");
                Ok(())
            }
            Typed::Verdict(verdict) => self.decide(at, verdict),
            Typed::OneByOne if open > 1 => {
                self.manner = AnswerOrder::Together;
                self.show_again();
                Ok(())
            }
            Typed::Edit => {
                self.edit(at);
                Ok(())
            }
            Typed::OneByOne | Typed::Show => {
                self.complain();
                Ok(())
            }
        }
    }

    fn complain(&self) {
        let open = self.open();
        let is_short = |at: &usize| {
            let kind = self.items[*at].question.kind;
            matches!(
                kind.takes(),
                AcceptedLines::YesOrNo | AcceptedLines::YesUnlessNo
            )
        };
        let keys = match open.first() {
            Some(first) if is_short(first) => "y or n".to_owned(),
            _ => self.keys(&open).names(),
        };
        self.ui.say(&format!("Please answer {keys}."));
    }

    fn may_be_always(&self, at: usize) -> bool {
        self.items[at].question.proposal.is_some() && !self.items[at].is_edited
    }

    /// The last one first: an answer to an earlier one may decide it too.
    fn decide_all(&mut self, open: &[usize], verdict: &Verdict) -> Result<()> {
        (open.iter().rev()).try_for_each(|at| self.decide(*at, verdict.clone()))
    }

    /// Writes a decision that was typed; `collect` reads the one that was written first.
    fn decide(&mut self, at: usize, verdict: Verdict) -> Result<()> {
        let Item {
            question,
            is_edited,
            ..
        } = &self.items[at];
        let verdict = if *is_edited && verdict == Verdict::Yes {
            Verdict::Edit {
                script: question.shown.clone(),
            }
        } else {
            verdict
        };
        let is_first = self.pending.decide(&self.questions[at], &verdict)?;
        if !is_first {
            self.is_decided_here = false;
            self.ui
                .say("That was answered elsewhere already; the first answer counts.");
        }
        Ok(())
    }

    /// Lets the person change the script, which is then asked about anew.
    fn edit(&mut self, at: usize) {
        let question = &self.items[at].question;
        let is_plan = question.kind == QuestionKind::Plan;
        if question.kind == QuestionKind::Network {
            let told = "It has run already, so it can only run again as it is; say `n` and leave a note for a change.";
            self.ui.say(told);
            return;
        }
        if !question.can_be_edited() {
            self.ui
                .say("Only scripts can be edited; say `n` and why to have a change made.");
            return;
        }
        let Some(editor) = &self.editor else {
            self.ui.say("There is no editor: set `VISUAL` or `EDITOR`.");
            return;
        };
        match editor::edit(self.ui.terminal(), editor, &question.shown) {
            Ok(script) if script.trim().is_empty() => {
                self.ui.say("There is nothing left; it stays as it was.");
            }
            Ok(script) if script == question.shown => self.ui.say("It is as it was."),
            Ok(script) if !is_plan && KnownKeys::of_this_process().is_in(&script) => {
                self.ui.error(&known_keys::refused("the script"));
            }
            Ok(script) => {
                if !is_plan {
                    self.items[at].question.title = script_title(&script);
                }
                self.items[at].question.shown = script;
                self.items[at].is_edited = true;
                self.last_shown = None;
            }
            Err(error) => self.ui.error(&error),
        }
    }
}

/// A question with the keys that answer it.
#[derive(Debug)]
struct OfferedKeys {
    question: String,
    /// Each key, with the name of what may follow it on the line, and what it does.
    keys: Vec<(&'static str, String)>,
}

impl OfferedKeys {
    fn new(question: impl Into<String>) -> Self {
        Self {
            question: question.into(),
            keys: Vec::new(),
        }
    }

    fn key(mut self, key: &'static str, words: impl Into<String>) -> Self {
        self.keys.push((key, words.into()));
        self
    }

    /// The question as the prompt puts it: `[y] yes  [n] no`.
    fn text(&self) -> String {
        // A row ends between two keys, where the terminal is not narrow, and a long one comes last.
        const ROW: usize = 79;
        let named = self.keys.iter();
        let named = named.map(|(key, words)| format!("[{key}] {words}"));
        let (short, long): (Vec<String>, Vec<String>) =
            named.partition(|one| one.chars().count() < ROW / 2);
        let (mut keys, mut used) = (String::new(), 0);
        for one in short.into_iter().chain(long) {
            let length = one.chars().count();
            match used {
                0 => {}
                used if used + 2 + length <= ROW => keys.push_str("  "),
                _ => {
                    keys.push('\n');
                    used = 0;
                }
            }
            used += length + if used == 0 { 0 } else { 2 };
            keys.push_str(&one);
        }
        match self.question.as_str() {
            "" => keys,
            question if keys.is_empty() => question.to_owned(),
            question => format!("{question}\n{keys}"),
        }
    }

    /// `y, n or q`.
    fn names(&self) -> String {
        let names = self.keys.iter().map(|(key, _)| *key);
        let names: Vec<&str> = names.filter_map(|key| key.split(' ').next()).collect();
        match names.as_slice() {
            [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
            _ => "the question".to_owned(),
        }
    }
}

/// The keys for a question, one of `open` that wait and of `all` that came together.
fn single_keys(item: &Item, open: usize, all: usize) -> OfferedKeys {
    match item.question.kind {
        _ if item.question.command.is_empty() => {
            return OfferedKeys::new(news::inquiry(&item.question));
        }
        QuestionKind::Network => {
            return OfferedKeys::new("Run it again with the network?")
                .key("y", "yes, once")
                .key("n", "no")
                .key("a", "always in this session")
                .key("s", "skip")
                .key("q", "stop");
        }
        QuestionKind::Secrets => {
            return OfferedKeys::new(
                "Send them as they are, in this and later sessions of this project?",
            )
            .key("y", "yes")
            .key("n", "no, keep them back")
            .key("q", "stop");
        }
        QuestionKind::Plan => {
            let (_, then) = (item.question.may).split_once(": ").unwrap_or_default();
            return OfferedKeys::new(format!("Approve the plan? Then {then}."))
                .key("y", "yes")
                .key("n WHAT TO CHANGE", "no")
                .key("e", "edit")
                .key("q", "stop");
        }
        _ => {}
    }
    let verb = if item.question.is_about_script() {
        "Run it?"
    } else {
        "Do it?"
    };
    let why = &item.question.why;
    // The list of several has said it.
    let question = if approval::is_of_mode(why) && all == 1 {
        format!("{verb} (asked {why})")
    } else {
        verb.to_owned()
    };
    let mut keys = OfferedKeys::new(question)
        .key("y", "yes")
        .key("n REASON", "no");
    if open > 1 {
        keys = keys.key("o", "all at once");
    }
    if let Some(proposal) = item.question.proposal.as_ref().filter(|_| !item.is_edited) {
        keys = keys.key("a", format!("always ({proposal})"));
    }
    if item.question.is_about_script() {
        keys = keys.key("e", "edit");
    }
    keys.key("d", "show all").key("s", "skip").key("q", "stop")
}

#[cfg(test)]
mod tests;
