use std::fs::{self, File};
use std::io::Write as _;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::injector::{self, Boundary, Effect, Fault, Way};
use crate::person::{Course, Person};
use crate::story;

/// A file step, a command and another file step.
const REPLY: &str = "[CREATE_FILE path=\"made.txt\"]\nmade\n[/CREATE_FILE]\n[RUN_COMMAND]\necho ran >> log.txt\n[/RUN_COMMAND]\n[CREATE_FILE path=\"last.txt\"]\nlast\n[/CREATE_FILE]\n";

/// How many offsets of a journal are tried, unless all are wanted.
const SAMPLE: usize = 16;

/// A session whose reply lies in the inbox.
fn answered() -> Person {
    let mut person = Person::begin(Course::Steps);
    person.run(&["new", "--no-wait", "the task"], Way::Plain);
    let (_, outbox) = person.latest().unwrap();
    let id = &outbox.lines().nth(1).unwrap()["Session: ".len()..];
    let reply = format!("{REPLY}[END {id}#1]\n");
    fs::write(person.base().join("inbox/reply1.txt"), reply).unwrap();
    person
}

fn journal(person: &Person) -> PathBuf {
    let file = person.session_file().unwrap();
    file.with_extension("journal.jsonl")
}

/// The session with its reply carried out; and killed when the end of the round is written, with what
/// would have been written.
fn recorded() -> (Person, Person, Vec<u8>) {
    let before = answered();
    let mut over = before.copy();
    let boundaries = over.run(&["step"], Way::Counting).boundaries;
    let is_append = |boundary: &&Boundary| {
        boundary.call() == "write" && boundary.what.ends_with(".journal.jsonl")
    };
    let boundary = boundaries.iter().rfind(is_append).unwrap().clone();
    let effect = Effect::Kill;
    let mut killed = before.copy();
    let ran = killed.run(&["step"], Way::Disturbed(&Fault { boundary, effect }));
    assert!(ran.is_met, "{}", ran.said);
    let whole = fs::read(journal(&over)).unwrap();
    let is_break = |byte: &u8| *byte == b'\n';
    let start = whole[..whole.len() - 1].iter().rposition(is_break).unwrap() + 1;
    (over, killed, whole[start..].to_vec())
}

/// Every offset if `AGENT_FAULTS` wants it; else a sample, and all around the ends of lines.
fn offsets(text: &[u8], all: Range<usize>) -> Vec<usize> {
    let wanted = std::env::var("AGENT_FAULTS").unwrap_or_default();
    if wanted == "all" || wanted.split(',').any(|one| one == "cut") {
        return all.collect();
    }
    let every = all.len().div_ceil(SAMPLE).max(1);
    let is_end = |at: usize| at > 0 && text.get(at - 1) == Some(&b'\n');
    let is_near = |at: usize| is_end(at) || is_end(at + 1);
    let first = all.start;
    all.filter(|at| (at - first).is_multiple_of(every) || is_near(*at))
        .collect()
}

/// Goes on with each of the sessions that `make` gives, and tells which ran something twice.
fn resume_all(offsets: &[usize], make: impl Fn(usize) -> Person + Sync) {
    let next = AtomicUsize::new(0);
    let resume = || {
        while let Some(offset) = offsets.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut person = make(*offset);
            // Beside it somebody looks, which must not make a cut journal a whole one.
            injector::beside(&person.place, &["undo", "--yes"]);
            let ran = person.run(&["resume", "--no-wait"], Way::Plain);
            assert!(ran.status.success(), "cut at {offset}: {}", ran.said);
            assert_eq!(person.troubles, [""; 0], "cut at {offset}: {}", ran.said);
            let (number, outbox) = person.latest().unwrap();
            assert_eq!(number, 2, "cut at {offset}: {}", ran.said);
            let said = ran.said;
            assert_eq!(person.tree()["log.txt"], "ran\n", "cut at {offset}: {said}");
            let line = outbox.lines().find(|line| line.starts_with("2. ["));
            let is_told = line.is_some_and(|line| {
                line.starts_with("2. [OK]") || line.contains("may or may not have happened")
            });
            assert!(is_told, "cut at {offset}: {outbox}");
            let left = story::read_tree(&person.base().join("workspace"));
            let left: Vec<&String> = left
                .keys()
                .filter(|name| name.contains(".agent-"))
                .collect();
            assert!(left.is_empty(), "cut at {offset}: {left:?}");
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(resume);
        }
    });
}

#[test]
fn a_journal_that_is_cut_at_any_offset_repeats_nothing() {
    if !injector::is_available() {
        println!("skipped: nothing may be traced here");
        return;
    }
    let (over, killed, last) = recorded();
    for recorded in [&over, &killed] {
        let whole = fs::read(journal(recorded)).unwrap();
        let offsets = offsets(&whole, 0..whole.len());
        resume_all(&offsets, |offset| {
            let person = recorded.copy();
            let file = File::options().write(true).open(journal(&person)).unwrap();
            file.set_len(offset as u64).unwrap();
            person
        });
        println!("journal cut at {} offsets, repeats: 0", offsets.len());
    }
    let offsets = offsets(&last, 1..last.len());
    resume_all(&offsets, |offset| {
        let person = killed.copy();
        let mut file = File::options().append(true).open(journal(&person)).unwrap();
        file.write_all(&last[..offset]).unwrap();
        person
    });
    println!("last record torn at {} offsets, repeats: 0", offsets.len());
}

#[test]
fn a_journal_that_is_gone_repeats_nothing() {
    if !injector::is_available() {
        println!("skipped: nothing may be traced here");
        return;
    }
    let (_, killed, _) = recorded();
    resume_all(&[0], |_| {
        let person = killed.copy();
        fs::remove_file(journal(&person)).unwrap();
        person
    });
}
