//! Typed lines and decision files, without a terminal.

use std::thread;

use super::*;
use crate::approve::tests::{Absent, question};
use crate::approve::{self, Input};
use crate::ui::{Form, Volume};

fn quiet() -> Ui {
    Ui::new(Volume::Quiet, Form::Lines, anstream::ColorChoice::Never).with_input(Input::Wait)
}

/// Answers `questions` with typed lines, none of which is ever read twice.
#[track_caller]
fn typed(questions: &[Question], lines: &[&str]) -> Vec<Verdict> {
    let directory = tempfile::tempdir().unwrap();
    let pending = Pending::of(directory.path());
    for question in questions {
        pending.put(question).unwrap();
    }
    let (ui, interrupt) = (quiet(), Interrupt::default());
    let mut dialog = Dialog::new(ui, &interrupt, &pending, questions);
    dialog.editor = Some("sed -i s/ls/pwd/".to_owned());
    for line in lines {
        let answer = Answer::Text((*line).to_owned());
        dialog.answers.sender().send(answer).unwrap();
    }
    dialog.run().unwrap();
    let verdicts = decided(&pending, questions).unwrap().into_iter();
    verdicts
        .map(|verdict| verdict.unwrap_or(Verdict::Skip))
        .collect()
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
    assert_eq!(typed(&two, &["o", "o", "y"]), [Verdict::Yes, Verdict::Yes]);
    assert_eq!(typed(&two, &["o", "y", "q"]), [Verdict::Yes, Verdict::Stop]);
    assert_eq!(typed(&two, &["q"]), [Verdict::Stop, Verdict::Skip]);
}

#[test]
fn nothing_is_asked_that_needs_a_declined_change() {
    let mut three = [question(1, "a.txt"), question(2, "ls"), question(3, "pwd")];
    three[0].command = "CREATE_FILE".to_owned();
    three[1].needs_changes = true;
    three[2].needs_changes = true;
    assert_eq!(
        typed(&three, &["o", "n wrong file"]),
        [no("wrong file"), Verdict::Skip, Verdict::Skip]
    );
    assert_eq!(typed(&three, &["n"]), vec![Verdict::No { reason: None }; 3]);
}

#[test]
fn always_covers_its_like_and_needs_a_rule() {
    let mut three = [question(1, "ls"), question(2, "ls -a"), question(3, "pwd")];
    three[0].proposal = Some("commands beginning with `ls`".to_owned());
    three[1].proposal = three[0].proposal.clone();
    assert_eq!(
        typed(&three, &["always", "o", "always", "always", "s"]),
        [Verdict::Always, Verdict::Yes, Verdict::Skip]
    );
}

#[test]
fn what_is_not_offered_decides_nothing() {
    let one = [question(1, "git push")];
    for line in ["a", "A", "all", "o", "always", "ok"] {
        assert_eq!(typed(&one, &[line, "s"]), [Verdict::Skip], "{line}");
    }
    let two = [question(1, "ls"), question(2, "git push")];
    for line in ["a", "A", "all", "e", "always"] {
        let skipped = [Verdict::Skip, Verdict::Skip];
        assert_eq!(typed(&two, &[line, "s"]), skipped, "{line}");
    }
}

#[cfg(unix)]
#[test]
fn an_edited_script_is_asked_about_again() {
    let two = [question(1, "ls"), question(2, "ls")];
    let script = "pwd".to_owned();
    assert_eq!(
        typed(&two, &["o", "e", "always", "o", "y"]),
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
    let (person, interrupt) = (Absent::with(Input::Wait), Interrupt::default());
    let verdicts = thread::scope(|scope| {
        let waiting =
            scope.spawn(|| approve::decide(&person, &interrupt, &pending, &questions).unwrap());
        pending.decide_put(2, &no("first")).unwrap();
        pending.decide_put(1, &Verdict::Yes).unwrap();
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
    let mut dialog = Dialog::new(ui, &interrupt, &pending, &questions);
    pending.decide_put(1, &no("first")).unwrap();
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
    let (person, interrupt) = (Absent::with(Input::Wait), Interrupt::default());
    interrupt.raise();
    let verdicts = approve::decide(&person, &interrupt, &pending, &questions).unwrap();
    assert_eq!(verdicts, None);
    assert_eq!(pending.open_questions().len(), 1, "it is asked again");
}
