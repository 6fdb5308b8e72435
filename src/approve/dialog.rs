//! Gets the decisions of one round: typed here, or written as files by whoever is faster.
//!
//! A typed answer becomes a decision file like any other, so that there is one place that says who
//! was first and nothing is asked again after a crash.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

use super::answer::{self, Typed};
use super::{Pending, Question, Verdict, editor, words};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::mailbox::{Doorbell, Waker};
use crate::ui::{Answer, Answers, Event, Ui};

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
    /// Whether the person has changed the script, which then stands in the question.
    is_edited: bool,
}

/// The conversation about the questions of one round.
#[derive(Debug)]
pub(super) struct Dialog<'a> {
    ui: &'a Ui,
    interrupt: &'a Interrupt,
    pending: &'a Pending,
    items: Vec<Item>,
    manner: Manner,
    answers: Answers,
    /// The prompt that stands on the terminal is still the right one.
    is_prompted: bool,
    last_shown: Option<u32>,
    complained: BTreeSet<u32>,
    editor: Option<String>,
}

impl<'a> Dialog<'a> {
    pub(super) fn new(
        ui: &'a Ui,
        interrupt: &'a Interrupt,
        pending: &'a Pending,
        questions: &[Question],
    ) -> Self {
        let items = questions.iter().map(|question| Item {
            question: question.clone(),
            verdict: None,
            is_edited: false,
        });
        Self {
            ui,
            interrupt,
            pending,
            items: items.collect(),
            manner: Manner::Together,
            answers: Answers::until(interrupt),
            is_prompted: false,
            last_shown: None,
            complained: BTreeSet::new(),
            editor: editor::of_this_person(|name| std::env::var_os(name)),
        }
    }

    /// Asks until all is decided or the person stops; nothing if they interrupt.
    pub(super) fn run(mut self) -> Result<Option<Vec<Verdict>>> {
        let bell = Doorbell::on(self.pending.directory()?);
        let _watcher = Watcher::start(bell, self.answers.sender());
        self.collect()?;
        if !self.is_over() {
            for at in self.open() {
                self.show(at);
            }
        }
        while !self.is_over() {
            if self.interrupt.is_raised() {
                return Ok(None);
            }
            self.prompt();
            match self.answers.first() {
                Answer::Text(line) => {
                    self.is_prompted = false;
                    self.hear(&line)?;
                }
                Answer::Interrupted => return Ok(None),
                // A file has changed, or the terminal has nothing more to say: a file still can.
                Answer::Nobody => {}
            }
            self.collect()?;
        }
        let verdicts = self.items.into_iter().map(|item| item.verdict);
        Ok(Some(
            verdicts
                .map(|verdict| verdict.unwrap_or(Verdict::Skip))
                .collect(),
        ))
    }

    fn open(&self) -> Vec<usize> {
        (0..self.items.len())
            .filter(|at| self.items[*at].verdict.is_none())
            .collect()
    }

    fn is_over(&self) -> bool {
        let stops = |item: &Item| item.verdict == Some(Verdict::Stop);
        self.open().is_empty() || self.items.iter().any(stops)
    }

    /// Takes in what the decision files say.
    fn collect(&mut self) -> Result<()> {
        let mut more = true;
        while more {
            more = false;
            for at in self.open() {
                let number = self.items[at].question.number;
                if let Some(verdict) = self.pending.decided(number) {
                    more |= self.take(at, &verdict)?;
                } else if self.pending.is_unreadable(number) && self.complained.insert(number) {
                    self.ui.say(&format!(
                        "`pending/{number}.decision.json` holds no decision; it could say {{\"decision\": \"yes\"}} or {{\"decision\": \"no\", \"reason\": \"...\"}}."
                    ));
                }
            }
        }
        Ok(())
    }

    /// Takes a decision in; tells whether it decides others too.
    fn take(&mut self, at: usize, verdict: &Verdict) -> Result<bool> {
        let question = &self.items[at].question;
        self.ui.tell(&Event::Decided {
            number: question.number,
            command: &question.command,
            title: &question.title,
            decision: verdict.word(),
            reason: verdict.reason(),
        });
        let proposal = question.proposal.clone();
        self.items[at].verdict = Some(verdict.clone());
        self.is_prompted = false;
        let is_covered = |other: &Item| match verdict {
            Verdict::AllOfThisRound => true,
            Verdict::Always => proposal.is_some() && other.question.proposal == proposal,
            _ => false,
        };
        let covered: Vec<u32> = self
            .open()
            .into_iter()
            .filter(|other| is_covered(&self.items[*other]))
            .map(|other| self.items[other].question.number)
            .collect();
        for number in &covered {
            self.pending.decide(*number, &Verdict::Yes)?;
        }
        Ok(!covered.is_empty())
    }

    fn show(&mut self, at: usize) {
        let question = &self.items[at].question;
        let number = question.number;
        let how = format!(
            "Decide with `agent approve {number}` or `agent decline {number} --reason \"...\"` in this directory."
        );
        self.ui.tell(&Event::Approval {
            number,
            round: question.round,
            command: &question.command,
            title: &question.title,
            shown: &question.shown,
            why: &question.why,
            may: &question.may,
            proposal: question.proposal.as_deref(),
            how: if self.ui.is_interactive() { "" } else { &how },
        });
        self.last_shown = Some(number);
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
                if self.ui.is_interactive()
                    && self.last_shown != Some(self.items[first].question.number)
                {
                    self.show(first);
                }
                single_prompt(&self.items[first], open.len())
            }
        };
        self.ui.prompt(&text, &self.answers);
    }

    fn joint_prompt(&self, open: &[usize]) -> String {
        let mut text = format!("\n{} steps wait for your decision:\n", open.len());
        for question in open.iter().map(|at| &self.items[*at].question) {
            let title = question.title.replace('\n', " ");
            let _ = writeln!(text, "  {}. {} {title}", question.number, question.command);
        }
        text.push_str(
            "y yes to all, n no to all (a reason may follow), o one by one, s skip all, q stop",
        );
        text
    }

    /// Acts on a typed line.
    fn hear(&mut self, line: &str) -> Result<()> {
        let open = self.open();
        let Some(&first) = open.first() else {
            return Ok(());
        };
        let is_joint = open.len() > 1 && self.manner == Manner::Together;
        match answer::read(line) {
            Some(Typed::OneByOne) if open.len() > 1 => {
                self.manner = Manner::OneByOne;
                self.last_shown = None;
            }
            Some(Typed::Verdict(Verdict::Stop)) => self.decide(first, Verdict::Stop)?,
            Some(Typed::Verdict(Verdict::AllOfThisRound)) if is_joint => {
                self.decide_all(&open, &Verdict::Yes)?;
            }
            Some(Typed::Verdict(verdict)) if is_joint && verdict != Verdict::Always => {
                self.decide_all(&open, &verdict)?;
            }
            Some(Typed::Verdict(Verdict::Always)) if !is_joint && !self.may_be_always(first) => {
                self.ui
                    .say("No rule can be made of this; `y` allows it this time.");
            }
            Some(Typed::Verdict(verdict)) if !is_joint => self.decide(first, verdict)?,
            Some(Typed::Edit) if !is_joint => self.edit(first),
            _ if line.trim().is_empty() => {}
            _ => self.ui.say("That is none of the answers."),
        }
        Ok(())
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
        let number = question.number;
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
        self.pending.decide(number, &verdict).map(|_| ())
    }

    /// Lets the person change the script, which is then asked about anew.
    fn edit(&mut self, at: usize) {
        let question = &self.items[at].question;
        if question.command != "RUN_COMMAND" {
            self.ui
                .say("Only scripts can be edited; say `n` and why to have a change made.");
            return;
        }
        let Some(editor) = &self.editor else {
            self.ui.say("No editor is known: set `VISUAL` or `EDITOR`.");
            return;
        };
        match editor::edit(editor, &question.shown) {
            Ok(script) if script.trim().is_empty() => {
                self.ui.say("The script is empty now; `s` skips the step.");
            }
            Ok(script) if script == question.shown => self.ui.say("The script is as it was."),
            Ok(script) => {
                self.items[at].question.title = words::script_title(&script);
                self.items[at].question.shown = script;
                self.items[at].is_edited = true;
                self.last_shown = None;
            }
            Err(error) => self.ui.error(&error),
        }
    }
}

fn single_prompt(item: &Item, open: usize) -> String {
    let mut choices = vec!["y yes".to_owned(), "n no (a reason may follow)".to_owned()];
    if open > 1 {
        choices.push("a all of this round".to_owned());
    }
    if let Some(proposal) = item.question.proposal.as_ref().filter(|_| !item.is_edited) {
        choices.push(format!("A always ({proposal})"));
    }
    if item.question.command == "RUN_COMMAND" {
        choices.push("e edit".to_owned());
    }
    choices.push("s skip".to_owned());
    choices.push("q stop".to_owned());
    choices.join(", ")
}

/// Rings when something happens to the decision files.
#[derive(Debug)]
struct Watcher {
    is_over: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    fn start(bell: Doorbell, sender: Sender<Answer>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (waker, over) = (bell.waker(), Arc::clone(&is_over));
        let thread = thread::spawn(move || {
            while !over.load(Ordering::SeqCst) {
                bell.wait();
                let _ = sender.send(Answer::Nobody);
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

#[cfg(test)]
mod tests {
    use super::super::tests::{question, quiet};
    use super::*;

    /// Answers `questions` with typed lines, none of which is ever read twice.
    #[track_caller]
    fn typed(questions: &[Question], lines: &[&str]) -> Vec<Verdict> {
        let directory = tempfile::tempdir().unwrap();
        let pending = Pending::of(directory.path());
        for question in questions {
            pending.put(question).unwrap();
        }
        let (ui, interrupt) = (quiet(), Interrupt::default());
        let mut dialog = Dialog::new(&ui, &interrupt, &pending, questions);
        dialog.editor = Some("sed -i s/ls/pwd/".to_owned());
        for line in lines {
            let answer = Answer::Text((*line).to_owned());
            dialog.answers.sender().send(answer).unwrap();
        }
        dialog.run().unwrap().unwrap()
    }

    fn no(reason: &str) -> Verdict {
        Verdict::No {
            reason: Some(reason.to_owned()),
        }
    }

    #[test]
    fn one_question_takes_one_answer() {
        let one = [question(4, "ls")];
        assert_eq!(typed(&one, &["y"]), [Verdict::Yes]);
        assert_eq!(typed(&one, &["n use cargo"]), [no("use cargo")]);
        assert_eq!(typed(&one, &["what?", "", "s"]), [Verdict::Skip]);
    }

    #[test]
    fn several_are_answered_together_or_one_by_one() {
        let two = [question(1, "ls"), question(2, "pwd")];
        assert_eq!(typed(&two, &["y"]), [Verdict::Yes, Verdict::Yes]);
        assert_eq!(typed(&two, &["n later"]), [no("later"), no("later")]);
        assert_eq!(typed(&two, &["o", "y", "n why"]), [Verdict::Yes, no("why")]);
        assert_eq!(
            typed(&two, &["o", "a"]),
            [Verdict::AllOfThisRound, Verdict::Yes]
        );
        assert_eq!(typed(&two, &["o", "y", "q"]), [Verdict::Yes, Verdict::Stop]);
        assert_eq!(typed(&two, &["q"]), [Verdict::Stop, Verdict::Skip]);
    }

    #[test]
    fn always_covers_its_like_and_needs_a_rule() {
        let mut three = [question(1, "ls"), question(2, "ls -a"), question(3, "pwd")];
        three[0].proposal = Some("commands beginning with `ls`".to_owned());
        three[1].proposal = three[0].proposal.clone();
        assert_eq!(
            typed(&three, &["A", "o", "A", "A", "s"]),
            [Verdict::Always, Verdict::Yes, Verdict::Skip]
        );
    }

    #[cfg(unix)]
    #[test]
    fn an_edited_script_is_asked_about_again() {
        let two = [question(1, "ls"), question(2, "ls")];
        let script = "pwd".to_owned();
        assert_eq!(
            typed(&two, &["o", "e", "A", "a"]),
            [Verdict::Edit { script }, Verdict::Yes]
        );
    }

    #[test]
    fn a_decision_from_elsewhere_ends_the_wait() {
        let directory = tempfile::tempdir().unwrap();
        let pending = Pending::of(directory.path());
        let questions = [question(1, "ls"), question(2, "pwd")];
        for question in &questions {
            pending.put(question).unwrap();
        }
        let (ui, interrupt) = (quiet(), Interrupt::default());
        let verdicts = thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                Dialog::new(&ui, &interrupt, &pending, &questions)
                    .run()
                    .unwrap()
            });
            pending.decide(2, &no("first")).unwrap();
            pending.decide(1, &Verdict::Yes).unwrap();
            waiting.join().unwrap()
        });
        assert_eq!(verdicts, Some(vec![Verdict::Yes, no("first")]));
    }

    #[test]
    fn the_faster_decision_counts() {
        let directory = tempfile::tempdir().unwrap();
        let pending = Pending::of(directory.path());
        let questions = [question(1, "ls")];
        pending.put(&questions[0]).unwrap();
        let (ui, interrupt) = (quiet(), Interrupt::default());
        let mut dialog = Dialog::new(&ui, &interrupt, &pending, &questions);
        pending.decide(1, &no("first")).unwrap();
        dialog.hear("y").unwrap();
        dialog.collect().unwrap();
        assert_eq!(dialog.items[0].verdict, Some(no("first")));
    }

    #[test]
    fn an_interrupt_decides_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let pending = Pending::of(directory.path());
        let questions = [question(1, "ls")];
        pending.put(&questions[0]).unwrap();
        let (ui, interrupt) = (quiet(), Interrupt::default());
        let dialog = Dialog::new(&ui, &interrupt, &pending, &questions);
        interrupt.raise();
        assert_eq!(dialog.run().unwrap(), None);
        assert_eq!(pending.open_questions().len(), 1, "it is asked again");
    }
}
