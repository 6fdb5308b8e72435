//! Asks for the decisions of one round at the terminal.
//!
//! A typed answer becomes a decision file like any other: the files say who was first. Whatever
//! others decide meanwhile is noticed there, too.

mod answer;
mod watcher;

use std::fmt::Write as _;
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
use crate::protocol::{AcceptedLines, ClipboardNews, Event, QuestionKind, QuestionLife, is_yes};
use crate::watch::Doorbell;

/// How many questions are answered at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
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
    manner: Manner,
    answers: Answers,
    /// The prompt that stands on the terminal is still the right one.
    is_prompted: bool,
    last_shown: Option<u32>,
    editor: Option<String>,
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
    })
}

impl Dialog {
    pub(super) fn new(
        ui: Ui,
        interrupt: &Interrupt,
        pending: &Pending,
        questions: &[Question],
    ) -> Self {
        let takes = questions
            .first()
            .map_or_else(AcceptedLines::default, |question| question.kind.takes());
        let items = questions.iter().map(|question| Item {
            question: question.clone(),
            verdict: None,
            is_edited: false,
        });
        Self {
            ui,
            interrupt: interrupt.clone(),
            pending: pending.clone(),
            questions: questions.to_vec(),
            items: items.collect(),
            manner: Manner::Together,
            answers: Answers::until(interrupt).taking(takes),
            is_prompted: false,
            last_shown: None,
            editor: editor::of_this_person(|name| std::env::var_os(name)),
            is_withdrawn: Arc::default(),
        }
    }

    /// Asks until all is decided, or the question is taken back, or the person stops.
    pub(super) fn run(mut self) -> Result<()> {
        let bell = Doorbell::on(self.pending.directory()?);
        let _watcher = Watcher::start(bell, self.answers.sender());
        self.collect()?;
        // The engine has just told of these, in their order.
        self.last_shown = self.open().last().map(|at| self.items[*at].question.number);
        while !self.is_over() {
            if self.interrupt.is_raised() {
                return Ok(());
            }
            self.prompt();
            match self.answers.first() {
                Answer::Text(line) => {
                    self.is_prompted = false;
                    self.hear(&line)?;
                }
                Answer::Interrupted => return Ok(()),
                Answer::Nobody => self.end_of_input()?,
                Answer::Elsewhere => {}
            }
            self.collect()?;
        }
        Ok(())
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

    /// Takes in what the decision files say.
    fn collect(&mut self) -> Result<()> {
        let verdicts = decided(&self.pending, &self.questions)?;
        for (item, verdict) in self.items.iter_mut().zip(verdicts) {
            if verdict.is_some() && item.verdict.is_none() {
                item.verdict = verdict;
                self.is_prompted = false;
            }
        }
        Ok(())
    }

    fn show(&mut self, at: usize) {
        let question = &self.items[at].question;
        self.ui.tell(&question.event());
        self.last_shown = Some(question.number);
    }

    fn prompt(&mut self) {
        if self.is_prompted {
            return;
        }
        self.is_prompted = true;
        let open = self.open();
        let text = match open.as_slice() {
            [] => return,
            [_, _, ..] if self.manner == Manner::Together => self.joint_prompt(&open),
            [first, ..] => {
                let first = *first;
                if self.last_shown != Some(self.items[first].question.number) {
                    self.show(first);
                }
                single_prompt(&self.items[first], open.len())
            }
        };
        self.ui.prompt(&text, &self.answers);
    }

    fn joint_prompt(&self, open: &[usize]) -> String {
        let questions = || open.iter().map(|at| &self.items[*at].question);
        let mut text = format!(
            "\n{} steps wait for your decision{}:\n",
            open.len(),
            because(questions())
        );
        for question in questions() {
            let title = question.title.replace('\n', " ");
            let _ = writeln!(text, "  {}. {} {title}", question.number, question.command);
        }
        text.push_str(
            "[y] yes to all  [n] no + reason  [o] one by one  [d] show  [s] skip  [q] stop",
        );
        text
    }

    /// Acts on a typed line.
    fn hear(&mut self, line: &str) -> Result<()> {
        let open = self.open();
        let Some(&first) = open.first() else {
            return Ok(());
        };
        let typed = answer::read(self.items[first].question.kind, line);
        match typed {
            Some(Typed::Verdict(Verdict::Stop)) => self.decide(first, Verdict::Stop),
            Some(Typed::Show) => {
                let shown = match self.manner {
                    Manner::Together => open.as_slice(),
                    Manner::OneByOne => &open[..1],
                };
                let events = shown.iter().map(|at| self.items[*at].question.event());
                self.ui.show_whole(&events.collect::<Vec<_>>());
                Ok(())
            }
            Some(typed) if open.len() > 1 && self.manner == Manner::Together => {
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

    /// Acts on an answer to all questions at once; only what was listed is one.
    fn hear_about_all(&mut self, open: &[usize], typed: &Typed) -> Result<()> {
        match typed {
            Typed::OneByOne => {
                self.manner = Manner::OneByOne;
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
            Typed::Verdict(verdict) if verdict != Verdict::AllOfThisRound || open > 1 => {
                self.decide(at, verdict)
            }
            Typed::Edit => {
                self.edit(at);
                Ok(())
            }
            Typed::Verdict(_) | Typed::OneByOne | Typed::Show => {
                self.complain();
                Ok(())
            }
        }
    }

    fn complain(&self) {
        self.ui
            .say("Please answer with one of the keys in brackets; nothing is decided yet.");
    }

    fn may_be_always(&self, at: usize) -> bool {
        self.items[at].question.proposal.is_some() && !self.items[at].is_edited
    }

    fn decide_all(&mut self, open: &[usize], verdict: &Verdict) -> Result<()> {
        open.iter()
            .try_for_each(|at| self.decide(*at, verdict.clone()))
    }

    /// Writes a decision that was typed; `collect` takes in whoever was first.
    fn decide(&mut self, at: usize, verdict: Verdict) -> Result<()> {
        let Item {
            question,
            is_edited,
            ..
        } = &self.items[at];
        let is_yes = matches!(verdict, Verdict::Yes | Verdict::AllOfThisRound);
        let script = question.shown.clone();
        let is_edited = *is_edited && is_yes;
        if is_edited && verdict == Verdict::AllOfThisRound {
            let others: Vec<usize> = self
                .open()
                .into_iter()
                .filter(|other| *other != at)
                .collect();
            self.decide_all(&others, &Verdict::Yes)?;
        }
        let verdict = if is_edited {
            Verdict::Edit { script }
        } else {
            verdict
        };
        let is_first = self.pending.decide(&self.questions[at], &verdict)?;
        if !is_first {
            self.ui
                .say("That was answered elsewhere already; the first answer counts.");
        }
        Ok(())
    }

    /// Lets the person change the script, which is then asked about anew.
    fn edit(&mut self, at: usize) {
        let question = &self.items[at].question;
        let is_plan = question.kind == QuestionKind::Plan;
        if question.command != "RUN_COMMAND" && !is_plan {
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

/// The reason that all these questions have, if it is that of the mode; it is said once.
fn because<'q>(questions: impl Iterator<Item = &'q Question>) -> String {
    let mut reasons: Vec<&str> = questions
        .map(|question| question.why.as_str())
        .filter(|why| approval::is_of_mode(why))
        .collect();
    reasons.dedup();
    match reasons.first() {
        Some(why) => format!(", {why}"),
        None => String::new(),
    }
}

fn single_prompt(item: &Item, open: usize) -> String {
    match item.question.kind {
        _ if item.question.command.is_empty() => return news::inquiry(&item.question),
        QuestionKind::Network => {
            return "Run it again with the network?\n[y] yes, once  [a] always in this session  [n] no  [q] stop".to_owned();
        }
        QuestionKind::Secrets => {
            return "Send them as they are?\n[y] yes  [n] no, keep them back  [q] stop".to_owned();
        }
        QuestionKind::Plan => {
            return "Approve the plan?\n[y] yes  [n] no, say what to change  [e] edit  [q] stop"
                .to_owned();
        }
        _ => {}
    }
    let mut keys = vec!["[y] yes".to_owned(), "[n] no, with a reason".to_owned()];
    if open > 1 {
        keys.push("[all] yes to all that wait".to_owned());
    }
    if let Some(proposal) = item.question.proposal.as_ref().filter(|_| !item.is_edited) {
        keys.push(format!("[a] always ({proposal})"));
    }
    if item.question.command == "RUN_COMMAND" {
        keys.push("[e] edit".to_owned());
    }
    keys.push("[d] show all".to_owned());
    keys.push("[s] skip".to_owned());
    keys.push("[q] stop".to_owned());
    let verb = match item.question.command.as_str() {
        "RUN_COMMAND" => "Run it",
        _ => "Do it",
    };
    let why = because(std::iter::once(&item.question));
    format!(
        "{verb}?{}\n{}",
        why.replacen(", ", " Asked ", 1),
        keys.join("  ")
    )
}

#[cfg(test)]
mod tests;
