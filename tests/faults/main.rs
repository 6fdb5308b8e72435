//! Whatever is killed or fails when, nothing is lost and nothing happens twice.
//!
//! A session is played once undisturbed, and every system call of the program that writes, renames,
//! syncs, removes, watches, starts something or speaks to a server is counted, in all its threads. Then it is played
//! again for each of them: with the program killed there, or in the middle of what it writes, with
//! Ctrl-C, and with each of several errors in its place. The recovery from such a fault is disturbed
//! again. After that the person goes on as people do, by starting the program again,
//! and in the end workspace, session and messages are compared with those of the undisturbed run.
//! So are the loop that waits, the one that asks an API, and the calls that do something by
//! themselves.
//!
//! `cargo test` takes a sample of the points; `AGENT_FAULTS=all cargo test --test faults` all of
//! them, `AGENT_FAULTS=loop,check` all of these stories, `AGENT_FAULTS=30` thirty of each kind,
//! `AGENT_FAULTS=loop:30` thirty of each kind of this story. `AGENT_FAULTS=@events.jsonl` takes all
//! points at files with that in their paths, `AGENT_FAULTS=loop@events.jsonl` those of one story.
//! `AGENT_FAULTS_FROM=9000` leaves out the first 9,000, which an earlier run has made.
//! `AGENT_PROGRAM` is the program to disturb, if it is another one than that of the tests: all points
//! take hours, and less with one that is optimised.
//! Where nothing can be traced one line says that it was skipped.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "a test that cannot go on panics, and saves files as people's tools do"
)]

/// Calls of a chat that can use tools.
mod calls;
/// A journal that lost its end.
mod cut;
/// Calls of the program that do something by themselves.
mod errand;
/// The program, disturbed.
mod injector;
/// Edits by lines, after a kill.
mod lines;
/// A patch of many files, killed in the middle.
mod many;
/// A person who plays the session, and goes on after anything.
mod person;
/// The end of a session that was played, and how it differs from another.
mod played;
/// The replies, and what they make of the workspace.
mod story;
/// The process that watches over a command, killed.
mod supervisor;
/// The program's system calls, seen and replaced.
mod tracer;
/// The runs that are disturbed, and how each is judged.
mod trial;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use injector::{Boundary, Effect, Fault};
use person::{Course, Person};
use trial::{Trial, Verdict};

/// How many points of each effect are tried of a session, and of a single call, unless all are
/// wanted.
const SAMPLE: usize = 4;
const SMALL_SAMPLE: usize = 1;

/// The file of which a sample always has a point.
const EVENT_FILE: &str = "events.jsonl";

struct Point<'a> {
    trial: &'a Trial,
    fault: Fault,
}

#[test]
fn nothing_is_lost_and_nothing_happens_twice() {
    if !injector::is_available() {
        println!("skipped: nothing may be traced here");
        return;
    }
    let wanted = std::env::var("AGENT_FAULTS").unwrap_or_default();
    let trials = trial::all();
    if wanted == "list" {
        for trial in &trials {
            println!("{}: {} boundaries", trial.label, trial.boundaries.len());
            for boundary in &trial.boundaries {
                let beside = if boundary.is_beside { ", beside" } else { "" };
                println!("  {} ({}{beside})", boundary.what, boundary.number);
            }
        }
        return;
    }
    let from = std::env::var("AGENT_FAULTS_FROM").map_or(0, |from| from.parse().unwrap());
    let points = points(&trials, &wanted).split_off(from);
    let verdicts = play(&points);
    let (mut losses, mut repeats, mut missed) = (0, 0, 0);
    for verdict in &verdicts {
        missed += usize::from(!verdict.was_hit);
        for found in &verdict.found {
            let is_repeat = found.starts_with("repeated");
            *(if is_repeat { &mut repeats } else { &mut losses }) += 1;
        }
    }
    let mut counts = BTreeMap::<&str, usize>::new();
    for point in &points {
        *counts.entry(point.trial.story).or_default() += 1;
    }
    let boundaries = || trials.iter().flat_map(|trial| &trial.boundaries);
    let beside = boundaries().filter(|boundary| boundary.is_beside).count();
    println!("points of each story: {counts:?}");
    println!(
        "{} boundaries, {beside} of them in threads beside the main one; {missed} points were not reached",
        boundaries().count()
    );
    println!(
        "fault injection: {} points, losses: {losses}, repeats: {repeats}",
        points.len()
    );
    assert!(beside > 0, "only the main thread was seen");
    assert_eq!((losses, repeats), (0, 0));
}

/// Tries all points, some at a time, and tells at once what is found.
fn play(points: &[Point<'_>]) -> Vec<Verdict> {
    let next = AtomicUsize::new(0);
    let verdicts = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(point) = points.get(number) else {
                        return;
                    };
                    let mut verdict = point.trial.play(&point.fault);
                    if !verdict.was_hit {
                        // Threads come in another order now and then.
                        verdict = point.trial.play(&point.fault);
                    }
                    let name = format!("{}: {}", point.trial.label, point.fault);
                    if !verdict.was_hit {
                        println!("not reached: {name}");
                    }
                    for found in &verdict.found {
                        println!("{name}: {found}\n{}\n", verdict.said);
                    }
                    if number > 0 && number.is_multiple_of(500) {
                        println!("{number} of {} points", points.len());
                    }
                    verdicts.lock().unwrap().insert(number, verdict);
                }
            });
        }
    });
    verdicts.into_inner().unwrap().into_values().collect()
}

/// All points of the wanted stories, or a sample of each story.
fn points<'a>(trials: &'a [Trial], wanted: &str) -> Vec<Point<'a>> {
    let mut points = Vec::new();
    let (wanted, place) = wanted.split_once('@').unwrap_or((wanted, ""));
    let wanted = if wanted.is_empty() && !place.is_empty() {
        "all"
    } else {
        wanted
    };
    let mut stories: Vec<&str> = trials.iter().map(|trial| trial.story).collect();
    stories.dedup();
    for (story, effect) in stories
        .iter()
        .flat_map(|story| Effect::ALL.map(|effect| (*story, effect)))
    {
        let trials = trials.iter().filter(|trial| trial.story == story);
        let possible = trials.flat_map(|trial| {
            let found = trial.boundaries.iter();
            let fits = move |boundary: &&Boundary| {
                effect.fits(boundary) && trial.takes(effect) && boundary.what.contains(place)
            };
            let found = found.filter(fits);
            found.map(move |boundary| Point {
                trial,
                fault: Fault {
                    boundary: boundary.clone(),
                    effect,
                },
            })
        });
        let possible: Vec<Point<'_>> = possible.collect();
        let is_session = ["steps", "loop", "check", "api", "recovery", "mcp"].contains(&story);
        let sample = match wanted {
            "all" => possible.len(),
            "" if is_session => SAMPLE,
            "" => SMALL_SAMPLE,
            _ => match sample_of(story, wanted, possible.len()) {
                Some(number) => number,
                None => continue,
            },
        };
        let every = possible.len().div_ceil(sample.max(1)).max(1);
        // Nothing depends on the event file: a fault there is always among the points.
        let is_event = |point: &Point<'_>| point.fault.boundary.what.contains(EVENT_FILE);
        let is_taken = |at: usize| at.is_multiple_of(every);
        let mut events = (possible.iter().enumerate())
            .filter(|(at, point)| is_event(point) && !is_taken(*at))
            .map(|(at, _)| at);
        let event = events.next().filter(|_| wanted.is_empty() && is_session);
        let chosen = possible.into_iter().enumerate();
        let chosen = chosen.filter(|(at, _)| is_taken(*at) || event == Some(*at));
        points.extend(chosen.map(|(_, point)| point));
    }
    points
}

/// How many points of a story and an effect are wanted: `30`, `loop,check` or `loop:30,check`.
fn sample_of(story: &str, wanted: &str, all: usize) -> Option<usize> {
    if let Ok(number) = wanted.parse() {
        return Some(number);
    }
    wanted.split(',').find_map(|one| {
        let (name, number) = one.split_once(':').unwrap_or((one, ""));
        (name == story).then(|| number.parse().unwrap_or(all))
    })
}

#[test]
fn a_round_costs_at_most_five_syncs_and_two_for_each_command() {
    if !injector::is_available() {
        println!("skipped: nothing may be traced here");
        return;
    }
    let is_sync =
        |boundary: &&Boundary| ["fsync", "fdatasync", "syncfs"].contains(&boundary.call());
    let mut person = Person::begin(Course::Steps);
    let rounds: [Vec<Boundary>; 3] = std::array::from_fn(|_| person.count());
    let syncs = rounds
        .each_ref()
        .map(|round| round.iter().filter(is_sync).count());
    println!(
        "syncs: {} in a round with one command, {} in one of file steps",
        syncs[1], syncs[2]
    );
    assert!(syncs[1] <= 7, "{:#?}", rounds[1]);
    assert!(syncs[2] <= 5, "{:#?}", rounds[2]);
}

#[test]
fn a_file_that_somebody_changed_meanwhile_is_kept_beside_what_was_meant() {
    if !injector::is_available() {
        println!("skipped: nothing may be traced here");
        return;
    }
    let mut person = Person::begin(Course::Steps);
    person.act(None);
    let mut stopped = person.copy();
    let boundaries = person.count();
    // The content of the second step gets its name, `plain.txt`.
    let is_named = |boundary: &&Boundary| {
        boundary.call().starts_with("rename") && boundary.what.ends_with("workspace/plain.txt")
    };
    let boundary = boundaries.iter().find(is_named).unwrap().clone();
    let effect = Effect::Kill;
    stopped.act(Some(&Fault { boundary, effect }));
    let file = stopped.base().join("workspace/plain.txt");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old\n");
    std::fs::write(&file, "mine\n").unwrap();
    stopped.act(None);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine\n");
    let (_, outbox) = stopped.latest().unwrap();
    let line = outbox
        .lines()
        .find(|line| line.starts_with("2. ["))
        .unwrap();
    assert!(
        line.contains("`plain.txt` was changed by somebody else"),
        "{line}"
    );
    let kept = line
        .split('`')
        .find(|word| word.contains("/kept/"))
        .unwrap();
    let kept = std::fs::read_to_string(stopped.base().join(kept)).unwrap();
    assert_eq!(kept, "new\n");
    assert!(outbox.contains("5. [OK] APPLY_PATCH"), "{outbox}");
}
