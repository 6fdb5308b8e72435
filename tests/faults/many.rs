use std::fmt::Write as _;
use std::fs;

use crate::injector::{self, Boundary, Effect, Fault, Way};
use crate::person::{Course, Person};
use crate::story;

const COUNT: usize = 24;

fn name(number: usize) -> String {
    format!("many{number:02}.txt")
}

/// A session whose reply, a patch of many files, waits to be carried out.
fn before() -> Person {
    let mut person = Person::begin(Course::Steps);
    for number in 0..COUNT {
        let file = person.base().join("workspace").join(name(number));
        fs::write(file, format!("old {number}\n")).unwrap();
    }
    person.run(&["new", "--no-wait", "the task"], Way::Plain);
    let (_, outbox) = person.latest().unwrap();
    let id = &outbox.lines().nth(1).unwrap()["Session: ".len()..];
    let mut reply = "[APPLY_PATCH]\n*** Begin Patch\n*** Delete File: gone.txt\n".to_owned();
    for number in 0..COUNT {
        let name = name(number);
        let _ = write!(
            reply,
            "*** Update File: {name}\n@@\n-old {number}\n+new {number}\n"
        );
    }
    let _ = write!(reply, "*** End Patch\n[/APPLY_PATCH]\n[END {id}#1]\n");
    fs::write(person.base().join("inbox/reply1.txt"), reply).unwrap();
    person
}

/// Lets it be as if the thread that had this file had been slower than the others.
fn hold_up(person: &Person, number: usize) {
    let workspace = person.base().join("workspace");
    let old = format!("old {number}\n");
    let tree = story::read_tree(&workspace);
    let is_its_own = |(name, text): &(&String, &String)| name.contains(".agent-") && **text == old;
    if let Some((temporary, _)) = tree.iter().find(is_its_own) {
        fs::write(workspace.join(temporary), format!("new {number}\n")).unwrap();
        fs::write(workspace.join(name(number)), old).unwrap();
    }
}

#[test]
fn a_killed_patch_of_many_files_is_finished_and_told_as_done() {
    if !injector::is_available() {
        println!("skipped: nothing may be traced here");
        return;
    }
    let before = before();
    let boundaries = before.copy().run(&["step"], Way::Counting).boundaries;
    let is_put = |boundary: &Boundary| {
        boundary.call().starts_with("rename") && boundary.what.contains("/many")
    };
    let puts: Vec<Boundary> = boundaries.into_iter().filter(is_put).collect();
    assert!(puts.len() >= COUNT, "{puts:#?}");
    for boundary in puts.into_iter().step_by(COUNT / 4) {
        let mut person = before.copy();
        let effect = Effect::Kill;
        let fault = Fault { boundary, effect };
        let killed = person.run(&["step"], Way::Disturbed(&fault));
        assert!(killed.is_met, "{fault}");
        hold_up(&person, 3);
        let resumed = person.run(&["resume", "--no-wait"], Way::Plain);
        assert!(resumed.status.success(), "{fault}: {}", resumed.said);
        let (number, outbox) = person.latest().unwrap();
        assert_eq!(number, 2, "{fault}: {}", resumed.said);
        assert!(outbox.contains("1. [OK] APPLY_PATCH"), "{fault}: {outbox}");
        let tree = story::read_tree(&person.base().join("workspace"));
        for number in 0..COUNT {
            assert_eq!(tree[&name(number)], format!("new {number}\n"), "{fault}");
        }
        assert!(!tree.contains_key("gone.txt"), "{fault}");
        let is_left = tree.keys().any(|name| name.contains(".agent-"));
        assert!(!is_left, "{fault}: {:?}", tree.keys());
    }
}
