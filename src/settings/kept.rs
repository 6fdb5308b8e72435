//! Flags that a session was given earlier, laid over the present settings.
//!
//! It can only make things stricter: a flag of now wins over it, and where the settings say
//! something too, the stricter of both holds. What would permit more is left out and told.

use std::collections::BTreeMap;
use std::path::Path;

use super::keys::Key;
use super::layer::Layer;
use super::loosens::Loosens;
use super::origin::Origin;
use super::typed::rules_in;
use super::value::Value;
use super::{Layers, suggestion};
use crate::policy::{Approval, Rule};

impl Layers {
    /// Lays what was kept over the rest; gives the rules that hold besides, and the flags that would
    /// say again what does not hold.
    pub(super) fn keep_strict(&mut self) -> (BTreeMap<&'static str, Vec<Rule>>, Vec<String>) {
        let (mut rules, mut not_kept) = (BTreeMap::new(), Vec::new());
        for (key, kept) in std::mem::take(&mut self.kept) {
            if self.is_flagged(key) {
                continue;
            }
            let now = self.value_of(key);
            if key.loosens == Loosens::Adds {
                rules.insert(key.name, rules_of(&kept));
            } else if key.is_as_strict(&kept, &now) {
                if kept != now {
                    self.above.push(Layer {
                        origin: Origin::Session,
                        values: vec![(key, kept)],
                    });
                }
            } else {
                let value = kept.to_string();
                let value = suggestion::quoted(Path::new(&value));
                not_kept.push(format!("{} {value}", key.flag));
            }
        }
        (rules, not_kept)
    }

    /// Holds the settings to what was in force when the session began, where that is stricter; gives
    /// the flags that would say what the settings permit by now.
    pub(super) fn hold_to_beginning(
        &mut self,
        rules: &mut BTreeMap<&'static str, Vec<Rule>>,
    ) -> Vec<String> {
        let mut held_back = Vec::new();
        for (key, then) in std::mem::take(&mut self.began_with) {
            let now = self.value_of(key);
            // What waits for a plan keeps its mode, and the work after it is no looser.
            if self.is_flagged(key) || key.is_as_strict(&now, &then) {
                continue;
            }
            if key.loosens == Loosens::Adds {
                let besides: &mut Vec<Rule> = rules.entry(key.name).or_default();
                let mut further = rules_of(&then);
                further.retain(|rule| !besides.contains(rule));
                besides.extend(further);
                continue;
            }
            let value = suggestion::quoted(Path::new(&now.to_string()));
            held_back.push(format!("{} {value}", key.flag));
            let stricter = if key.is_as_strict(&then, &now) {
                then
            } else {
                key.in_both(&then, &now)
            };
            self.above.push(Layer {
                origin: Origin::Session,
                values: vec![(key, stricter)],
            });
        }
        held_back
    }

    /// The `Approval` that would hold if nobody had said `plan`.
    pub(super) fn work_approval(&self) -> Approval {
        let Some(key) = Key::named("Approval") else {
            return Approval::Plan;
        };
        let is_it = |(set, _): &&(&'static Key, Value)| set.name == key.name;
        let work = |value: &Value| {
            let approval: Option<Approval> = value.to_string().parse().ok();
            approval.filter(|approval| *approval != Approval::Plan)
        };
        let flagged = self.flags().flat_map(|layer| &layer.values).filter(is_it);
        if let Some(approval) = flagged.filter_map(|(_, value)| work(value)).last() {
            return approval;
        }
        let defaults = Layer::defaults();
        let now = self.values_of(key, &defaults).filter_map(work).next_back();
        let kept = self.kept.iter().rfind(is_it);
        let kept = kept.and_then(|(_, value)| work(value));
        kept.into_iter().chain(now).min().unwrap_or(Approval::Plan)
    }

    fn flags(&self) -> impl Iterator<Item = &Layer> {
        let is_flag = |layer: &&Layer| matches!(layer.origin, Origin::Flag(_));
        self.above.iter().filter(is_flag)
    }

    fn is_flagged(&self, key: &Key) -> bool {
        self.flags().any(|layer| layer.sets(key))
    }

    /// Returns the value that applies without the session.
    pub(super) fn value_of(&self, key: &'static Key) -> Value {
        let defaults = Layer::defaults();
        let value = self.values_of(key, &defaults).next_back();
        value.unwrap_or(&key.default).clone()
    }

    /// All that was said about a key, the strongest last.
    fn values_of<'a>(
        &'a self,
        key: &'static Key,
        defaults: &'a Layer,
    ) -> impl DoubleEndedIterator<Item = &'a Value> {
        let file = self.file.iter().map(|(_, layer)| layer);
        let layers = std::iter::once(defaults).chain(&self.person);
        let layers = layers.chain(file).chain(&self.above);
        let values = layers.flat_map(|layer| &layer.values);
        let of_it = values.filter(move |(set, _)| set.name == key.name);
        of_it.map(|(_, value)| value)
    }
}

/// The rules of a value that was read and checked.
fn rules_of(value: &Value) -> Vec<Rule> {
    rules_in(&value.to_string()).unwrap_or_default()
}
