//! Reports the files of an exchange that were not simply copied, for the person and the model.

use std::collections::BTreeMap;

use super::listing::LeftReason;

/// The most names that are told of each outcome.
const MAX_NAMES: usize = 5;

/// The reason why a file was not just sent or taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ExchangeOutcome {
    /// Changed on both sides.
    Beside,
    /// Different there, where our side has never had it.
    Met,
    /// Deleted there and changed here.
    KeptHere,
    /// Protected here.
    Protected,
    /// Cannot be read there.
    Unreadable,
    /// Too large to come here.
    TooLarge,
    /// Something that is not exchanged.
    Special,
    /// A name that cannot be used here.
    OddName,
    /// Could not be written here.
    Unwritable,
    /// Too large to be sent, or cannot be read here.
    Unsent,
    /// Something that was left there is in its place.
    Blocked,
    /// Gone here, and not ours there.
    KeptThere,
    /// Gone here, and not ours there, but changed from here.
    KeptEdited,
    /// Gone here, so the other side has its own again.
    Restored,
    /// Gone here between two sessions, so removed there.
    RemovedThere,
}

impl From<LeftReason> for ExchangeOutcome {
    fn from(reason: LeftReason) -> Self {
        match reason {
            LeftReason::Unreadable => Self::Unreadable,
            LeftReason::TooLarge(_) => Self::TooLarge,
            LeftReason::Special => Self::Special,
        }
    }
}

impl ExchangeOutcome {
    fn sentence(self) -> &'static str {
        match self {
            Self::Beside => {
                "changed here and by the command, so yours stayed as it is, and the other one is beside it"
            }
            Self::Met => {
                "the other side had something else under this name, so it was replaced there, and the other one is here beside yours"
            }
            Self::KeptHere => "deleted by the command but changed here, so it stayed here",
            Self::Protected => "protected here, so not taken from the other side",
            Self::Unreadable => "could not be read there, so left there, and as it was here",
            Self::TooLarge => "larger than 512 MiB, so left there",
            Self::Special => "neither a file, a directory nor a plain link, so left there",
            Self::OddName => "left there, because the name cannot be used here",
            Self::Unwritable => {
                "could not be written here, so left there; it is tried again with the next command"
            }
            Self::Unsent => {
                "not sent, because it is larger than 512 MiB, cannot be read or named, or has a name that the exchange uses itself"
            }
            Self::Blocked => {
                "not sent, because the other side has something in its place that has not come here"
            }
            Self::KeptThere => "gone here, but kept on the other side, which had it before",
            Self::KeptEdited => {
                "gone here, but kept on the other side, which had it before, with the changes that were sent from here"
            }
            Self::Restored => {
                "gone here, so the other side has again what it had under this name before"
            }
            Self::RemovedThere => "gone here, so removed on the other side too",
        }
    }
}

/// Names by what became of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ExchangeReport {
    told: BTreeMap<ExchangeOutcome, Vec<String>>,
}

impl ExchangeReport {
    /// Tells of a file.
    pub(super) fn tell(&mut self, outcome: ExchangeOutcome, name: &str) {
        self.add(outcome, name.to_owned());
    }

    /// Tells of a file, and under which name the other one is here.
    pub(super) fn tell_place(&mut self, outcome: ExchangeOutcome, name: &str, place: &str) {
        self.add(outcome, format!("{name}` as `{place}"));
    }

    fn add(&mut self, outcome: ExchangeOutcome, text: String) {
        let names = self.told.entry(outcome).or_default();
        if !names.contains(&text) {
            names.push(text);
        }
    }

    /// Adds another report.
    pub(super) fn extend(&mut self, other: Self) {
        for (outcome, names) in other.told {
            for name in names {
                self.add(outcome, name);
            }
        }
    }

    /// A sentence for each outcome.
    pub(super) fn notes(&self) -> Vec<String> {
        let told = self.told.iter();
        told.map(|(outcome, names)| format!("{}: {}", outcome.sentence(), listed(names)))
            .collect()
    }
}

/// The first names, and how many more there are.
pub(super) fn listed(names: &[String]) -> String {
    let shown = names.iter().take(MAX_NAMES);
    let shown: Vec<String> = shown.map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
