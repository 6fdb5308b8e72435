//! Gets the decisions of one round: typed here, or written as files by whoever is faster.
//!
//! A typed answer becomes a decision file like any other, so that there is one place that says who
//! was first and nothing is asked again after a crash.

mod watcher;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use self::watcher::Watcher;
use super::answer::{self, Typed};
use super::{Kind, Pending, Question, Verdict, editor, words};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::mailbox::Doorbell;
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
    /// The question as it was put, whatever the person made of it since.
    put: Question,
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
            put: question.clone(),
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
            decision: question.kind.word(verdict),
            reason: verdict.reason(),
        });
        let (proposal, context) = (question.proposal.clone(), question.context.clone());
        self.items[at].verdict = Some(verdict.clone());
        self.is_prompted = false;
        let is_covered = |other: &Item| match verdict {
            Verdict::AllOfThisRound => true,
            // What its like runs may have changed since: that is asked about by itself.
            Verdict::Always => {
                proposal.is_some()
                    && other.question.proposal == proposal
                    && other.question.context == context
            }
            _ => false,
        };
        let covered: Vec<usize> = self
            .open()
            .into_iter()
            .filter(|other| is_covered(&self.items[*other]))
            .collect();
        for at in &covered {
            (self.pending).decide(&self.items[*at].put, &Verdict::Yes)?;
        }
        Ok(!covered.is_empty())
    }

    fn show(&mut self, at: usize) {
        let question = &self.items[at].question;
        let number = question.number;
        let how = match question.kind {
            Kind::Step => format!(
                "Decide with `agent approve {number}` or `agent decline {number} --reason \"...\"` in this directory."
            ),
            Kind::Plan => {
                "Decide with `agent approve` or `agent decline --reason \"...\"` in this directory."
                    .to_owned()
            }
            Kind::Secrets => {
                "Decide with `agent approve` or `agent decline` in this directory.".to_owned()
            }
            Kind::Network => format!(
                "Run it again with the network: `agent approve {number}`, for the whole session `agent approve {number} --always`; else `agent decline {number}`."
            ),
        };
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
            "y yes to all, n no to all (a reason may follow), o one by one, s skip all, q skip all and stop",
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
            Some(typed) if open.len() > 1 && self.manner == Manner::Together => {
                self.hear_about_all(&open, &typed)
            }
            Some(typed) => self.hear_about(first, open.len(), typed),
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
            Typed::Verdict(_) | Typed::Edit => {
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
            Typed::Verdict(_) | Typed::OneByOne => {
                self.complain();
                Ok(())
            }
        }
    }

    fn complain(&self) {
        self.ui
            .say("Please type one of the answers above; nothing is decided yet.");
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
        (self.pending)
            .decide(&self.items[at].put, &verdict)
            .map(|_| ())
    }

    /// Lets the person change the script, which is then asked about anew.
    fn edit(&mut self, at: usize) {
        let question = &self.items[at].question;
        let is_plan = question.kind == Kind::Plan;
        if question.command != "RUN_COMMAND" && !is_plan {
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
                self.ui.say("There is nothing left; it stays as it was.");
            }
            Ok(script) if script == question.shown => self.ui.say("It is as it was."),
            Ok(script) => {
                if !is_plan {
                    self.items[at].question.title = words::script_title(&script);
                }
                self.items[at].question.shown = script;
                self.items[at].is_edited = true;
                self.last_shown = None;
            }
            Err(error) => self.ui.error(&error),
        }
    }
}

fn single_prompt(item: &Item, open: usize) -> String {
    if let Some(prompt) = item.question.kind.prompt() {
        return prompt.to_owned();
    }
    let mut choices = vec!["y yes".to_owned(), "n no (a reason may follow)".to_owned()];
    if open > 1 {
        choices.push("all yes to all that wait".to_owned());
    }
    if let Some(proposal) = item.question.proposal.as_ref().filter(|_| !item.is_edited) {
        choices.push(format!("always ({proposal})"));
    }
    if item.question.command == "RUN_COMMAND" {
        choices.push("e edit".to_owned());
    }
    choices.push("s skip".to_owned());
    choices.push("q skip the rest and stop".to_owned());
    choices.join(", ")
}

#[cfg(test)]
mod tests;
