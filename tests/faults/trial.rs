use std::sync::{Arc, OnceLock};

use crate::calls;
use crate::errand::{self, Errand};
use crate::injector::{Boundary, Effect, Fault, Torn, Way};
use crate::person::{Course, Person};
use crate::played::Played;

/// A run of the program that is disturbed: its boundaries, and what is made of a fault at one.
pub struct Trial {
    /// The story that it is part of; a sample takes some of each.
    pub story: &'static str,
    pub label: String,
    pub boundaries: Vec<Boundary>,
    play: Box<dyn Fn(&Fault) -> Verdict + Send + Sync>,
}

/// The judgement on a disturbed run.
pub struct Verdict {
    /// Everything that was lost, or happened twice.
    pub found: Vec<String>,
    pub said: String,
    pub was_hit: bool,
}

impl Trial {
    /// Ctrl-C is for who waits; what does not wait for anybody is killed by it.
    ///
    /// With long records it is only asked what becomes of half of one.
    pub fn takes(&self, effect: Effect) -> bool {
        match effect {
            Effect::Interrupt => self.story == "loop",
            Effect::Torn(_) => true,
            Effect::Kill | Effect::Error(..) => self.story != "large",
        }
    }

    pub fn play(&self, fault: &Fault) -> Verdict {
        (self.play)(fault)
    }
}

impl Verdict {
    fn of(played: Played, undisturbed: &Undisturbed, effect: Effect) -> Self {
        let undisturbed = undisturbed.get().unwrap();
        Self {
            found: played.compare(undisturbed, effect.is_kill()),
            said: played.said,
            was_hit: played.was_hit,
        }
    }
}

/// Every story, played once undisturbed and counted.
pub fn all() -> Vec<Trial> {
    std::thread::scope(|scope| {
        let steps = scope.spawn(|| {
            let (mut trials, undisturbed) = conversation("steps", Course::Steps);
            trials.extend(recoveries(&undisturbed));
            trials.push(tidying(&undisturbed));
            trials
        });
        let large = scope.spawn(|| conversation("large", Course::Large).0);
        let check = scope.spawn(|| conversation("check", Course::Check).0);
        let api = scope.spawn(|| conversation("api", Course::Api).0);
        let errands = scope.spawn(errands);
        let calls = scope.spawn(calls);
        let (mut waiting, undisturbed) = conversation("loop", Course::Loop);
        waiting.extend(decisions(&undisturbed));
        let mut trials = steps.join().unwrap();
        trials.append(&mut waiting);
        trials.append(&mut check.join().unwrap());
        trials.append(&mut api.join().unwrap());
        trials.append(&mut large.join().unwrap());
        trials.append(&mut errands.join().unwrap());
        trials.push(calls.join().unwrap());
        trials
    })
}

/// The undisturbed run, once it is over.
type Undisturbed = Arc<OnceLock<Played>>;

/// A whole session; each call of the program within it is a trial.
fn conversation(story: &'static str, course: Course) -> (Vec<Trial>, Undisturbed) {
    let undisturbed = Undisturbed::default();
    let mut person = Person::begin(course);
    let mut trials = Vec::new();
    while !person.is_done() {
        let before = person.copy();
        let boundaries = person.count();
        let undisturbed = Arc::clone(&undisturbed);
        trials.push(Trial {
            story,
            label: format!("{story}, action {}", trials.len()),
            boundaries,
            play: Box::new(move |fault| {
                let mut person = before.copy();
                person.act(Some(fault));
                Verdict::of(person.play(), &undisturbed, fault.effect)
            }),
        });
    }
    let played = undisturbed.get_or_init(|| person.play());
    assert_eq!(played.troubles, [""; 0], "{}", played.said);
    (trials, undisturbed)
}

/// The faults of the first reply whose recovery is disturbed in turn: at each write to the journal
/// before and in the middle of it, while files are put into place and when the command begins.
fn first_faults(boundaries: &[Boundary]) -> Vec<Fault> {
    let is_journal = |boundary: &Boundary| boundary.what.ends_with(".journal.jsonl");
    let mut faults = Vec::new();
    for boundary in boundaries {
        let effects: &[Effect] = match boundary.call() {
            "write" if is_journal(boundary) => &[Effect::Kill, Effect::Torn(Torn::Page)],
            "renameat2" if boundary.what.ends_with("workspace/p2.txt") => &[Effect::Kill],
            "renameat" if boundary.what.ends_with("moved/to.txt") => &[Effect::Kill],
            _ => &[],
        };
        faults.extend(effects.iter().map(|effect| Fault {
            boundary: boundary.clone(),
            effect: *effect,
        }));
    }
    faults
}

/// The run that settles what a fault left is disturbed too.
fn recoveries(undisturbed: &Undisturbed) -> Vec<Trial> {
    let mut answered = Person::begin(Course::Steps);
    answered.act(None);
    let faults = first_faults(&answered.copy().count());
    assert!(faults.len() > 8, "{faults:#?}");
    let answered = Arc::new(answered);
    let recovery = |first: Fault| {
        let (answered, undisturbed) = (Arc::clone(&answered), Arc::clone(undisturbed));
        // No copy is made in the middle of a round: files would have changed after it was killed.
        let stop = move |first: &Fault| {
            let mut person = answered.copy();
            person.act(Some(first));
            person
        };
        Trial {
            story: "recovery",
            label: format!("recovery after {first}"),
            boundaries: stop(&first).count(),
            play: Box::new(move |fault| {
                let mut person = stop(&first);
                person.act(Some(fault));
                Verdict::of(person.play(), &undisturbed, fault.effect)
            }),
        }
    };
    faults.into_iter().map(recovery).collect()
}

/// A round after which the journal is compacted and old checkpoints are removed.
fn tidying(undisturbed: &Undisturbed) -> Trial {
    let before = Person::begin(Course::Steps).play_until_tidy();
    let mut tidied = before.copy();
    let boundaries = tidied.count();
    let is_done = |what: &str| {
        let is_rename = |boundary: &&Boundary| boundary.call().starts_with("rename");
        let mut renames = boundaries.iter().filter(is_rename);
        renames.any(|boundary| boundary.what.ends_with(what))
    };
    assert!(is_done(".journal.jsonl"), "{boundaries:#?}");
    assert!(is_done("objects/tidied"), "{boundaries:#?}");
    let undisturbed = Arc::clone(undisturbed);
    Trial {
        story: "tidy",
        label: "tidy".to_owned(),
        boundaries,
        play: Box::new(move |fault| {
            let mut person = before.copy();
            person.act(Some(fault));
            Verdict::of(person.play(), &undisturbed, fault.effect)
        }),
    }
}

/// A loop was killed while it asked; the decision is given, and the loop goes on.
fn decisions(undisturbed: &Undisturbed) -> Vec<Trial> {
    let asked = Arc::new(Person::begin(Course::Loop).play_until_asked());
    assert!(asked.has_question(), "{}", asked.place.said());
    let decision = |story: &'static str, arguments: &'static [&'static str]| {
        let (before, undisturbed) = (Arc::clone(&asked), Arc::clone(undisturbed));
        let boundaries = before.copy().run(arguments, Way::Counting).boundaries;
        Trial {
            story,
            label: story.to_owned(),
            boundaries,
            play: Box::new(move |fault| {
                let mut person = before.copy();
                person.run(arguments, Way::Disturbed(fault));
                Verdict::of(person.play(), &undisturbed, fault.effect)
            }),
        }
    };
    vec![
        decision("approve", &["approve", "all"]),
        decision("decline", &["decline", "all", "--reason", "no"]),
    ]
}

/// Calls of a client that makes each of them until it is answered.
fn calls() -> Trial {
    let two_rounds = Person::begin(Course::Steps).play_two_rounds();
    let undisturbed = calls::play(&two_rounds, Way::Counting);
    assert_eq!(undisturbed.troubles, [""; 0], "{}", undisturbed.said);
    Trial {
        story: "mcp",
        label: "mcp".to_owned(),
        boundaries: undisturbed.boundaries,
        play: Box::new(move |fault| {
            let outcome = calls::play(&two_rounds, Way::Disturbed(fault));
            Verdict {
                found: outcome.troubles,
                said: outcome.said,
                was_hit: outcome.was_hit,
            }
        }),
    }
}

fn errands() -> Vec<Trial> {
    let two_rounds = Person::begin(Course::Steps).play_two_rounds();
    let before = Arc::new(Errand::prepare(&two_rounds));
    let trial = |errand: &'static Errand| {
        let undisturbed = errand.run(&before, Way::Counting);
        assert_eq!(undisturbed.troubles, [""; 0], "{}", undisturbed.said);
        let before = Arc::clone(&before);
        Trial {
            story: errand.name,
            label: errand.name.to_owned(),
            boundaries: undisturbed.boundaries,
            play: Box::new(move |fault| {
                let outcome = errand.run(&before, Way::Disturbed(fault));
                Verdict {
                    found: outcome.troubles,
                    said: outcome.said,
                    was_hit: outcome.was_hit,
                }
            }),
        }
    };
    errand::ALL.iter().map(trial).collect()
}
