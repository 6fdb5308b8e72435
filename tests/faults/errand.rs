use std::fs;

use crate::injector::{Boundary, Effect, Fault, Ran, Way};
use crate::person::Person;
use crate::story::{self, Tree};

/// How often the person tries again.
const PATIENCE: usize = 4;

/// One call of the program that does something by itself, after two rounds of a session.
pub struct Errand {
    pub name: &'static str,
    /// The call; `ID` stands for the session, `N` for which try it is.
    arguments: &'static [&'static str],
    /// Returns true if it is done.
    is_done: fn(&Person, &Ran) -> bool,
    /// Finds anything that must never be so.
    wrong: fn(&Scene<'_>) -> Option<String>,
    /// Finds anything that must not be so once it is done.
    wrong_at_end: fn(&Scene<'_>) -> Option<String>,
}

/// How things are, and how they were.
pub struct Scene<'a> {
    person: &'a Person,
    before: &'a Person,
    effect: Option<Effect>,
}

/// The result of an errand.
pub struct Outcome {
    pub troubles: Vec<String>,
    pub said: String,
    pub was_hit: bool,
    pub boundaries: Vec<Boundary>,
}

pub const ALL: &[Errand] = &[
    Errand {
        name: "end",
        arguments: &["end"],
        is_done: |person, _| person.session()["isComplete"] == true,
        wrong: other_files,
        wrong_at_end: |scene| {
            let (status, said) = scene.list();
            (!status || !said.is_empty()).then(|| format!("lost: the list says {said}"))
        },
    },
    Errand {
        name: "rm",
        arguments: &["rm", "--yes", "ID"],
        is_done: |person, ran| {
            ran.status.success() || ran.said.contains("there is no session") || {
                let base = story::read_tree(&person.base());
                !base.keys().any(|name| {
                    name.starts_with("sessions/") && name.strip_suffix(".json").is_some()
                })
            }
        },
        wrong: other_files,
        wrong_at_end: |scene| {
            let id = scene.id();
            let base = story::read_tree(&scene.person.base());
            let left = base.keys().find(|name| name.contains(&id))?;
            Some(format!("lost: `{left}` is still there"))
        },
    },
    Errand {
        name: "fork",
        arguments: &["fork", "ID", "--round", "1", "--into", "../fork-N"],
        is_done: |_, ran| ran.status.success(),
        wrong: |scene| other_files(scene).or_else(|| other_session(scene)),
        wrong_at_end: |scene| {
            let whole = (1..=PATIENCE).rev().find_map(|number| {
                let root = scene.person.place.root.join(format!("fork-{number}"));
                root.exists().then_some(root)
            })?;
            let files = story::read_tree(&whole.join("workspace"));
            let messages = story::read_tree(&whole.join("outbox"));
            let messages = messages.keys().filter(|name| name.contains("_seq")).count();
            (files != story::after_first() || messages != 1)
                .then(|| format!("lost: the fork has {messages} messages and {files:#?}"))
        },
    },
    Errand {
        name: "fork in place",
        arguments: &["fork", "ID", "--round", "1", "--in-place", "--yes"],
        is_done: |_, ran| ran.status.success(),
        wrong: |_| None,
        wrong_at_end: |scene| {
            let files = scene.person.tree();
            let messages = story::read_tree(&scene.person.base().join("outbox"));
            let id = scene.id();
            let forked = messages
                .keys()
                .filter(|name| name.contains("_seq") && !name.contains(&id))
                .count();
            (files != story::after_first() || forked == 0)
                .then(|| format!("lost: the fork has {forked} messages and {files:#?}"))
        },
    },
    Errand {
        name: "handoff",
        arguments: &["handoff"],
        is_done: |_, ran| ran.status.success(),
        wrong: other_files,
        wrong_at_end: |scene| {
            let (_, text) = scene.person.latest()?;
            (!text.contains("=== PROTOCOL ===")).then(|| format!("lost: the message is {text}"))
        },
    },
    Errand {
        name: "apply",
        arguments: &["apply", "../patch.txt"],
        is_done: |person, _| person.tree() == patched(),
        wrong: |scene| {
            let files = scene.person.tree();
            let (before, after) = (scene.before.tree(), patched());
            let is_whole = |name: &&str| {
                let now = files.get(*name);
                now == before.get(*name) || now == after.get(*name)
            };
            if let Some(torn) = PATCHED.iter().find(|name| !is_whole(name)) {
                return Some(format!("lost: `{torn}` is half"));
            }
            let done = PATCHED
                .iter()
                .filter(|name| files.get(**name) == after.get(**name));
            let is_half = !matches!(done.count(), 0 | 4);
            let is_error = matches!(scene.effect, Some(Effect::Error(..)));
            (is_half && is_error).then(|| format!("lost: half a patch is there: {files:#?}"))
        },
        wrong_at_end: |_| None,
    },
];

/// The files of the patch that is applied, all of them or none.
const PATCHED: [&str; 4] = ["p1.txt", "p2.txt", "p3.txt", "plain.txt"];

pub const PATCH: &str = r"[APPLY_PATCH]
*** Begin Patch
*** Update File: p1.txt
@@
-ALPHA
+alpha again
 beta
*** Update File: p2.txt
@@
 gamma
-DELTA
+delta again
*** Update File: p3.txt
@@
-added
+added again
*** Update File: plain.txt
@@
-new
+new again
*** End Patch
[/APPLY_PATCH]
";

fn patched() -> Tree {
    let mut tree = story::after_second();
    for (name, text) in [
        ("p1.txt", "alpha again\nbeta\n"),
        ("p2.txt", "gamma\ndelta again\n"),
        ("p3.txt", "added again\n"),
        ("plain.txt", "new again\n"),
    ] {
        tree.insert(name.to_owned(), text.to_owned());
    }
    tree
}

fn other_files(scene: &Scene<'_>) -> Option<String> {
    let files = scene.person.tree();
    (files != scene.before.tree()).then(|| format!("lost: the workspace is {files:#?}"))
}

/// The session itself stays as it was.
fn other_session(scene: &Scene<'_>) -> Option<String> {
    (scene.person.session() != scene.before.session()).then(|| "lost: the session".to_owned())
}

impl Scene<'_> {
    fn id(&self) -> String {
        let id = &self.before.session()["sessionId"];
        id.as_str().unwrap_or_default().to_owned()
    }

    /// Lists the sessions: true if that succeeds, and the messages beside the list.
    fn list(&self) -> (bool, String) {
        let (status, said) = crate::injector::beside(&self.person.place, &["list", "--json"]);
        (status.success(), said)
    }
}

impl Errand {
    /// Two rounds, and the patch beside them.
    pub fn prepare(two_rounds: &Person) -> Person {
        let person = two_rounds.copy();
        fs::write(person.place.root.join("patch.txt"), PATCH).unwrap();
        person
    }

    /// Runs the errand until it is done.
    pub fn run(&self, before: &Person, way: Way<'_>) -> Outcome {
        let mut person = before.copy();
        let effect = match way {
            Way::Disturbed(Fault { effect, .. }) => Some(*effect),
            Way::Plain | Way::Counting => None,
        };
        let mut troubles = Vec::new();
        let mut boundaries = Vec::new();
        for number in 1..=PATIENCE {
            let id = before.session()["sessionId"].clone();
            let arguments: Vec<String> = (self.arguments.iter())
                .map(|argument| match *argument {
                    "ID" => id.as_str().unwrap_or_default().to_owned(),
                    other => other.replace("fork-N", &format!("fork-{number}")),
                })
                .collect();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let ran = person.run(&arguments, if number == 1 { way } else { Way::Plain });
            if number == 1 {
                boundaries.clone_from(&ran.boundaries);
            }
            let scene = Scene {
                person: &person,
                before,
                effect,
            };
            troubles.extend((self.wrong)(&scene));
            if (self.is_done)(&person, &ran) {
                troubles.extend((self.wrong_at_end)(&scene));
                break;
            }
            if number == PATIENCE {
                troubles.push(format!("lost: `{}` is never done", self.name));
            }
        }
        troubles.append(&mut person.troubles);
        Outcome {
            troubles,
            said: std::mem::take(&mut person.said),
            was_hit: person.was_hit,
            boundaries,
        }
    }
}
