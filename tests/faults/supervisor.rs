use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::injector::{self, Running, Way};
use crate::person::{Course, Person};
use crate::story;

const REPLY: &str = "[CREATE_FILE path=\"made.txt\"]\nmade\n[/CREATE_FILE]\n[RUN_COMMAND]\necho ran >> log.txt; echo so far; sleep 1000\n[/RUN_COMMAND]\n[CREATE_FILE path=\"last.txt\"]\nlast\n[/CREATE_FILE]\n";

/// The processes that a process started, of all its threads.
fn children(process: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            let numbers = list.split_whitespace().map(str::parse);
            numbers.filter_map(Result::ok).collect::<Vec<i32>>()
        })
        .collect()
}

/// Waits until the command has written and printed all that it will, and the program has kept that.
fn wait_for_output(running: &Running, base: &Path) {
    let has_written =
        || fs::read(base.join("workspace/log.txt")).is_ok_and(|text| text == b"ran\n");
    let has_printed = || {
        let sessions = fs::read_dir(base.join("sessions")).into_iter().flatten();
        let mut kept = sessions
            .flatten()
            .filter_map(|session| fs::read(session.path().join("running-0001-2.txt")).ok());
        kept.any(|text| String::from_utf8_lossy(&text).contains("so far"))
    };
    let is_ready = || has_written() && has_printed();
    while !running.is_over() && !is_ready() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Kills the process that the program started for its command, once that has printed.
fn kill_supervisor(running: &Running, base: &Path) {
    wait_for_output(running, base);
    for child in children(running.process()) {
        crate::tracer::send(child, libc::SIGKILL);
    }
}

/// A session whose reply is carried out now.
fn answered() -> Person {
    let mut person = Person::begin(Course::Steps);
    person.run(&["new", "--no-wait", "the task"], Way::Plain);
    let (_, outbox) = person.latest().unwrap();
    let id = &outbox.lines().nth(1).unwrap()["Session: ".len()..];
    let reply = format!("{REPLY}[END {id}#1]\n");
    fs::write(person.base().join("inbox/reply1.txt"), reply).unwrap();
    person
}

/// The command ran once, its end is told, and nothing of it is left.
fn check(person: &Person, before: &story::Tree) {
    let (number, outbox) = person.latest().unwrap();
    assert_eq!(number, 2, "{}", person.said);
    assert!(outbox.contains("1. [OK] CREATE_FILE"), "{outbox}");
    assert!(outbox.contains("2. [FAILED] RUN_COMMAND"), "{outbox}");
    assert!(outbox.contains("so far"), "{outbox}");
    assert_eq!(person.tree()["log.txt"], "ran\n");
    let mut shape = story::read_shape(&person.base().join("workspace"));
    for name in ["made.txt", "log.txt", "last.txt"] {
        shape.remove(name);
    }
    assert_eq!(shape, *before);
    let workspace = person.base().join("workspace");
    let is_in_it = |process: &fs::DirEntry| {
        fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&workspace))
    };
    let left = fs::read_dir("/proc").unwrap().flatten().find(is_in_it);
    assert!(left.is_none(), "{left:?} still runs");
}

#[test]
fn a_killed_supervisor_ends_its_command_and_nothing_more() {
    let mut person = answered();
    let before = story::read_shape(&person.base().join("workspace"));
    let (base, place) = (person.base(), person.place.clone());
    let ran = injector::run(&place, &["step"], Way::Plain, |running| {
        kill_supervisor(running, &base);
    });
    assert!(ran.status.success(), "{}", ran.said);
    person.run(&["resume", "--no-wait"], Way::Plain);
    check(&person, &before);
}

#[test]
fn a_supervisor_that_is_killed_with_the_program_leaves_nothing_to_repeat() {
    let mut person = answered();
    let before = story::read_shape(&person.base().join("workspace"));
    let (base, place) = (person.base(), person.place.clone());
    injector::run(&place, &["step"], Way::Plain, |running| {
        wait_for_output(running, &base);
        let supervisors = children(running.process());
        running.signal(libc::SIGKILL);
        for child in supervisors {
            crate::tracer::send(child, libc::SIGKILL);
        }
    });
    let ran = person.run(&["resume", "--no-wait"], Way::Plain);
    assert!(ran.status.success(), "{}", ran.said);
    check(&person, &before);
}
