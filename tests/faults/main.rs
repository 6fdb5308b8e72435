//! Whatever is killed or fails when, nothing is lost and nothing happens twice.
//!
//! A session is played once undisturbed, and every system call of the program that writes, renames,
//! syncs, removes or starts something is counted. Then it is played again for each of them: once
//! with the program killed there, and once with each of several errors in its place. After that the
//! person goes on as people do, by starting the program again, and in the end workspace, session and
//! messages are compared with those of the undisturbed run.
//!
//! `cargo test` takes a sample of the points; `AGENT_FAULTS=all cargo test --test faults` all of
//! them. It needs `strace`; without it one line says that it was skipped.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "a test that cannot go on panics, and saves files as people's tools do"
)]

/// The program under `strace`, which kills it or lets a call fail.
mod injector;
/// A person who plays the session, and goes on after anything.
mod person;
/// The replies, and what they make of the workspace.
mod story;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use injector::{Boundary, Effect, Fault};
use person::{Person, Played};

/// How many points of each effect are tried unless all are wanted.
const SAMPLE: usize = 14;

struct Point {
    /// Which of the person's actions is disturbed.
    action: usize,
    fault: Fault,
}

#[test]
fn nothing_is_lost_and_nothing_happens_twice() {
    if !injector::is_available() {
        println!("skipped: there is no `strace` that may trace");
        return;
    }
    let all = std::env::var_os("AGENT_FAULTS").is_some_and(|value| value == "all");
    let undisturbed = Person::begin().play();
    assert_eq!(undisturbed.troubles, [""; 0], "{}", undisturbed.said);
    let actions = count();
    let points = points(&actions, all);
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let missed = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let played = play(&actions[point.action], &point.fault);
                    missed.fetch_add(usize::from(!played.was_hit), Ordering::Relaxed);
                    let found = played.compare(&undisturbed, point.fault.effect);
                    failures.lock().unwrap().extend(
                        found
                            .into_iter()
                            .map(|loss| (point, loss, played.said.clone())),
                    );
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    for (point, loss, said) in &failures {
        println!("action {} {}: {loss}\n{said}\n", point.action, point.fault);
    }
    let repeats = failures
        .iter()
        .filter(|(_, loss, _)| loss.starts_with("repeated"))
        .count();
    println!(
        "fault injection: {} points, losses: {}, repeats: {repeats}",
        points.len(),
        failures.len() - repeats,
    );
    println!(
        "(of {} boundaries; {} points were not reached)",
        actions
            .iter()
            .map(|action| action.boundaries.len())
            .sum::<usize>(),
        missed.into_inner()
    );
    assert!(failures.is_empty());
}

#[test]
fn a_round_costs_at_most_five_syncs_and_two_for_each_command() {
    if !injector::is_available() {
        println!("skipped: there is no `strace` that may trace");
        return;
    }
    let is_sync =
        |boundary: &&Boundary| ["fsync", "fdatasync", "syncfs"].contains(&boundary.call.as_str());
    let actions = count();
    let syncs: Vec<usize> = actions
        .iter()
        .map(|action| action.boundaries.iter().filter(is_sync).count())
        .collect();
    println!(
        "syncs: {} in a round with one command, {} in one of file steps",
        syncs[1], syncs[2]
    );
    assert!(syncs[1] <= 7, "{:#?}", actions[1].boundaries);
    assert!(syncs[2] <= 5, "{:#?}", actions[2].boundaries);
}

#[test]
fn a_file_that_somebody_changed_meanwhile_is_kept_beside_what_was_meant() {
    if !injector::is_available() {
        println!("skipped: there is no `strace` that may trace");
        return;
    }
    let mut person = Person::begin();
    person.act(None);
    let mut stopped = person.copy();
    let boundaries = person.count();
    // The content of the second step gets its name, `plain.txt`.
    let is_named = |boundary: &&Boundary| {
        boundary.call.starts_with("rename") && boundary.line.contains("-2-1.tmp")
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

/// One of the person's actions: how things are before it, and the boundaries within it.
struct Action {
    before: Person,
    boundaries: Vec<Boundary>,
}

fn count() -> Vec<Action> {
    let mut person = Person::begin();
    let mut actions = Vec::new();
    while !person.is_done() {
        let before = person.copy();
        let boundaries = person.count();
        actions.push(Action { before, boundaries });
    }
    actions
}

fn points(actions: &[Action], all: bool) -> Vec<Point> {
    let mut points = Vec::new();
    for effect in Effect::ALL {
        let possible = actions.iter().enumerate().flat_map(|(action, found)| {
            let found = found
                .boundaries
                .iter()
                .filter(|boundary| effect.fits(boundary));
            found.map(move |boundary| Point {
                action,
                fault: Fault {
                    boundary: boundary.clone(),
                    effect,
                },
            })
        });
        let possible: Vec<Point> = possible.collect();
        let every = if all {
            1
        } else {
            possible.len().div_ceil(SAMPLE)
        };
        points.extend(possible.into_iter().step_by(every));
    }
    points
}

fn play(action: &Action, fault: &Fault) -> Played {
    let mut person = action.before.copy();
    person.act(Some(fault));
    person.play()
}
