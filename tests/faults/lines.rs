use std::fs;

use crate::injector::{self, Boundary, Effect, Fault, Way};
use crate::person::{Course, Person};

/// Line numbers mean the lines as the reply began, or as it wrote the file.
const REPLY: &str = r#"[CREATE_FILE path="new.txt"]
one
two
three
[/CREATE_FILE]
[EDIT_FILE path="edit.txt" start_line="1" end_line="1"]
first
and another
[/EDIT_FILE]
[RUN_COMMAND]
echo ran >> log.txt
[/RUN_COMMAND]
[EDIT_FILE path="new.txt" start_line="2" end_line="2"]
TWO
[/EDIT_FILE]
[EDIT_FILE path="edit.txt" start_line="3" end_line="3"]
THREE
[/EDIT_FILE]
[RUN_COMMAND]
echo again >> log.txt
[/RUN_COMMAND]
"#;

/// A session that was killed when the edits after the first command were to be written down.
fn killed() -> Person {
    let mut person = Person::begin(Course::Steps);
    person.run(&["new", "--no-wait", "the task"], Way::Plain);
    let (_, outbox) = person.latest().unwrap();
    let id = &outbox.lines().nth(1).unwrap()["Session: ".len()..];
    let reply = format!("{REPLY}[END {id}#1]\n");
    fs::write(person.base().join("inbox/reply1.txt"), reply).unwrap();
    let boundaries = person.copy().run(&["step"], Way::Counting).boundaries;
    let is_staged = |boundary: &Boundary| {
        boundary.call().starts_with("open") && boundary.what.contains("workspace/.agent-")
    };
    // The first two contents are those of the steps before the command.
    let mut staged = boundaries.into_iter().filter(is_staged).skip(2);
    let boundary = staged.next().unwrap();
    let effect = Effect::Kill;
    let ran = person.run(&["step"], Way::Disturbed(&Fault { boundary, effect }));
    assert!(ran.is_met, "{}", ran.said);
    assert_eq!(person.tree()["log.txt"], "ran\n");
    person
}

#[test]
fn edits_by_lines_of_what_was_written_before_a_kill_are_made_after_it() {
    if !injector::is_available() {
        println!("skipped: nothing may be traced here");
        return;
    }
    let mut person = killed();
    let ran = person.run(&["resume", "--no-wait"], Way::Plain);
    let (_, outbox) = person.latest().unwrap();
    let tree = person.tree();
    assert_eq!(tree["new.txt"], "one\nTWO\nthree\n", "{outbox}");
    assert_eq!(
        tree["edit.txt"], "first\nand another\ntwo\nTHREE\n",
        "{outbox}"
    );
    assert_eq!(tree["log.txt"], "ran\nagain\n", "{}", ran.said);
}

#[test]
fn an_edit_by_lines_of_what_somebody_changed_meanwhile_says_that_agent_was_stopped() {
    if !injector::is_available() {
        println!("skipped: nothing may be traced here");
        return;
    }
    let mut person = killed();
    let file = person.base().join("workspace/new.txt");
    fs::write(&file, "zero\none\ntwo\nthree\n").unwrap();
    person.run(&["resume", "--no-wait"], Way::Plain);
    let (_, outbox) = person.latest().unwrap();
    let mut lines = outbox.lines();
    let line = lines.find(|line| line.starts_with("4. [FAILED]")).unwrap();
    assert!(
        line.contains("`agent` was stopped in the middle of this reply"),
        "{line}"
    );
    assert_eq!(person.tree()["new.txt"], "zero\none\ntwo\nthree\n");
    assert_eq!(person.tree()["log.txt"], "ran\n", "{outbox}");
}
