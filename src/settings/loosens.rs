//! The strictness of settings: which values permit more than the default, and which of two values
//! permits less.
//!
//! A project's file may tighten as it likes, and a session keeps what it was told to be strict
//! about; both need to know which way of a setting is the strict one.

use super::keys::Key;
use super::value::{PATH_SEPARATOR, Shape, Value};
use crate::runner::RunnerChoice;

/// How a setting can give a project more than it has by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loosens {
    /// No value of it needs trust.
    Never,
    /// A directory outside of the base directory does, and there is no harmless value to fall back
    /// to: without trust the program stops.
    Outside,
    /// The words after the default do: the strictest is the first.
    Later,
    /// Every value but the empty one does: it lists what is permitted, or what is run.
    Filled,
    /// Every value but the default does, because limits are counted by it; none is stricter than
    /// another.
    Counts,
    /// A project's file cannot set it at all, trusted or not: it decides where a key goes, or runs a program
    /// outside of the sandbox.
    Personal,
    /// Every value but the default does, and a project's file can name containers only: the others run
    /// a program outside of the sandbox, or on another machine.
    Image,
    /// No value does: it lists what is refused or asked about, and such lists add up.
    Adds,
    /// No value does; the lower number is the stricter one, and 0, where it may be, is no limit.
    Limit,
}

impl Key {
    /// Returns true if some value of it needs trust.
    pub fn can_loosen(&self) -> bool {
        match self.loosens {
            Loosens::Never | Loosens::Adds | Loosens::Limit | Loosens::Personal => false,
            Loosens::Outside | Loosens::Filled | Loosens::Counts | Loosens::Image => true,
            Loosens::Later => !self.looser_words().is_empty(),
        }
    }

    /// The words that permit more than the default does.
    pub(super) fn looser_words(&self) -> &'static [&'static str] {
        match self.loosens {
            Loosens::Later => &self.words()[self.rank(&self.default) + 1..],
            _ => &[],
        }
    }

    /// Returns true if only the person may give this value, and no project's file.
    pub(super) fn is_personal(&self, value: &Value) -> bool {
        match self.loosens {
            Loosens::Personal => true,
            Loosens::Image => {
                let choice = value.to_string().parse::<RunnerChoice>();
                *value != self.default && !choice.is_ok_and(|choice| choice.is_container())
            }
            _ => false,
        }
    }

    /// Returns true if this value permits more than the default. For directories, the caller
    /// decides.
    pub(super) fn is_beyond_default(&self, value: &Value) -> bool {
        match self.loosens {
            Loosens::Never
            | Loosens::Outside
            | Loosens::Adds
            | Loosens::Limit
            | Loosens::Personal => false,
            Loosens::Filled | Loosens::Counts | Loosens::Image => *value != self.default,
            Loosens::Later => self.rank(value) > self.rank(&self.default),
        }
    }

    /// Returns true if the first of two values permits no more than the second; never if they
    /// cannot be compared.
    pub fn is_as_strict(&self, one: &Value, other: &Value) -> bool {
        match (self.loosens, one, other) {
            (Loosens::Later, ..) => self.rank(one) <= self.rank(other),
            (Loosens::Filled, ..) => {
                let (one, other) = (one.to_string(), other.to_string());
                let others: Vec<&str> = self.items(&other).collect();
                self.items(&one).all(|item| others.contains(&item))
            }
            (Loosens::Adds, ..) => {
                let (one, other) = (one.to_string(), other.to_string());
                let ones: Vec<&str> = self.items(&one).collect();
                self.items(&other).all(|item| ones.contains(&item))
            }
            (Loosens::Limit, Value::Number(one), Value::Number(other)) => {
                let limit = |number: u64| if number == 0 { u64::MAX } else { number };
                limit(*one) <= limit(*other)
            }
            (Loosens::Counts | Loosens::Image, ..) => one == other,
            (Loosens::Never | Loosens::Outside | Loosens::Limit | Loosens::Personal, ..) => false,
        }
    }

    /// Two lists of what is refused or asked about, as one.
    pub fn added(&self, one: &str, other: &str) -> String {
        let mut items: Vec<&str> = self.items(one).collect();
        for item in self.items(other) {
            if !items.contains(&item) {
                items.push(item);
            }
        }
        items.join(self.separator())
    }

    /// The intersection of two lists of permissions.
    pub(super) fn in_both(&self, one: &Value, other: &Value) -> Value {
        let (one, other) = (one.to_string(), other.to_string());
        let others: Vec<&str> = self.items(&other).collect();
        let items = self.items(&one).filter(|item| others.contains(item));
        let items: Vec<&str> = items.collect();
        Value::Text(items.join(self.separator()).into())
    }

    fn items<'a>(&self, list: &'a str) -> impl Iterator<Item = &'a str> {
        list.split(self.separator()).filter(|item| !item.is_empty())
    }

    fn separator(&self) -> &'static str {
        match self.shape {
            Shape::Items => " ",
            Shape::Paths => PATH_SEPARATOR,
            _ => ",",
        }
    }

    /// Where a word stands among those of the setting; an unknown one is the loosest.
    fn rank(&self, value: &Value) -> usize {
        let is_it = |word: &&str| matches!(value, Value::Text(text) if text.as_ref() == *word);
        let words = self.words();
        words.iter().position(is_it).unwrap_or(words.len())
    }

    fn words(&self) -> &'static [&'static str] {
        match self.shape {
            Shape::Choice(words) => words,
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::KEYS;
    use super::*;

    fn read(key: &Key, text: &str) -> Value {
        key.shape.read_text(text).unwrap()
    }

    #[test]
    fn no_default_goes_beyond_itself() {
        for key in KEYS {
            assert!(!key.is_beyond_default(&key.default), "{}", key.name);
        }
    }

    #[track_caller]
    fn case(name: &str, stricter: &str, looser: &str) {
        let key = Key::named(name).unwrap();
        let (stricter, looser) = (read(key, stricter), read(key, looser));
        assert!(key.is_as_strict(&stricter, &looser), "{name}");
        assert!(key.is_as_strict(&stricter, &stricter), "{name}");
        assert!(!key.is_as_strict(&looser, &stricter), "{name}");
    }

    #[test]
    fn of_two_values_one_is_stricter() {
        case("Approval", "ask", "auto");
        case("Approval", "plan", "ask");
        case("Commands", "off", "run");
        case("Policy", "strict", "normal");
        case("Sandbox", "required", "auto");
        case("Sandbox", "auto", "off");
        case("SandboxBackend", "namespaces", "auto");
        case("SandboxBackend", "auto", "bubblewrap");
        case("SandboxBackend", "bubblewrap", "landlock");
        case("Network", "off", "ask");
        case("Network", "ask", "on");
        case("Secrets", "on", "off");
        case("Grants", "", "git-write");
        case("Grants", "network", "git-write,network");
        case("Deny", "ls,rm", "ls");
        case("AllowSecrets", "jwt", "jwt abc*");
        case("MaxMemoryMegabytes", "100", "200");
        case("MaxCpuSeconds", "10", "0");
    }

    #[test]
    fn only_what_permits_more_than_the_default_needs_trust() {
        let needs = |name: &str, value: &str| {
            let key = Key::named(name).unwrap();
            key.is_beyond_default(&read(key, value))
        };
        for (name, value) in [
            ("Approval", "ask"),
            ("Approval", "plan"),
            ("Policy", "strict"),
            ("Network", "off"),
            ("Sandbox", "required"),
            ("SandboxBackend", "namespaces"),
            ("Secrets", "on"),
            ("Grants", ""),
        ] {
            assert!(!needs(name, value), "{name} {value}");
        }
        for (name, value) in [
            ("Network", "ask"),
            ("Sandbox", "off"),
            ("SandboxBackend", "landlock"),
            ("Secrets", "off"),
            ("Grants", "network"),
            ("CheckCommand", "make"),
            ("Clipboard", "out"),
            ("Notify", "bell"),
            ("Notify", "desktop"),
            ("ApiPrice", "0/0/0"),
            ("ApiWindow", "1000000"),
        ] {
            assert!(needs(name, value), "{name} {value}");
        }
    }

    #[test]
    fn a_project_may_name_a_container_and_no_other_runner() {
        let key = Key::named("Runner").unwrap();
        for (value, is_personal, needs_trust) in [
            ("local", false, false),
            ("docker:rust:1", false, true),
            ("podman:rust:1", false, true),
            ("ssh:box", true, true),
            ("kubectl:pod", true, true),
            ("exec:sh", true, true),
        ] {
            let value = read(key, value);
            assert_eq!(key.is_personal(&value), is_personal, "{value}");
            assert_eq!(key.is_beyond_default(&value), needs_trust, "{value}");
        }
    }

    #[test]
    fn no_price_and_no_window_is_stricter_than_another() {
        for (name, own, others) in [
            ("ApiPrice", "2/10", ["", "0/0/0", "3/20"]),
            ("ApiWindow", "8000", ["0", "4000", "100000"]),
        ] {
            let key = Key::named(name).unwrap();
            let own = read(key, own);
            assert!(key.is_as_strict(&own, &own));
            for other in others {
                assert!(!key.is_as_strict(&read(key, other), &own), "{name} {other}");
            }
        }
    }

    #[test]
    fn lists_of_what_is_refused_add_up() {
        let key = Key::named("Deny").unwrap();
        assert_eq!(key.added("ls,rm", "rm,git push"), "ls,rm,git push");
        assert_eq!(key.added("", "rm"), "rm");
    }
}
