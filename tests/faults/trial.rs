use std::sync::{Arc, OnceLock};

use crate::errand::{self, Errand};
use crate::injector::{Boundary, Effect, Fault, Way};
use crate::person::{Course, Person};
use crate::played::Played;

/// A run of the program that is disturbed: its boundaries, and what is made of a fault at one.
pub struct Trial {
    /// What it is part of; a sample takes some of each.
    pub story: &'static str,
    pub label: String,
    pub boundaries: Vec<Boundary>,
    play: Box<dyn Fn(&Fault) -> Verdict + Send + Sync>,
}

/// What a disturbed run came to.
pub struct Verdict {
    /// What was lost, or happened twice.
    pub found: Vec<String>,
    pub said: String,
    pub was_hit: bool,
}

impl Trial {
    /// Ctrl-C is for who waits; what does not wait for anybody is killed by it.
    pub fn takes(&self, effect: Effect) -> bool {
        effect != Effect::Interrupt || self.story == "loop"
    }

    pub fn play(&self, fault: &Fault) -> Verdict {
        (self.play)(fault)
    }
}

impl Verdict {
    fn of(played: Played, undisturbed: &Undisturbed, effect: Effect) -> Self {
        let undisturbed = undisturbed.get().unwrap();
        Self {
            found: played.compare(undisturbed, effect == Effect::Kill),
            said: played.said,
            was_hit: played.was_hit,
        }
    }
}

/// Every story, played once undisturbed and counted.
pub fn all() -> Vec<Trial> {
    std::thread::scope(|scope| {
        let steps = scope.spawn(|| conversation("steps", Course::Steps).0);
        let check = scope.spawn(|| conversation("check", Course::Check).0);
        let errands = scope.spawn(errands);
        let (mut waiting, undisturbed) = conversation("loop", Course::Loop);
        waiting.extend(decisions(&undisturbed));
        let mut trials = steps.join().unwrap();
        trials.append(&mut waiting);
        trials.append(&mut check.join().unwrap());
        trials.append(&mut errands.join().unwrap());
        trials
    })
}

/// What the undisturbed run came to, once it is over.
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
