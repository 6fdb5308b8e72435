//! What a session was told earlier, laid over the settings of now.
//!
//! It can only make things stricter: a flag of now wins over it, and where the settings say
//! something too, the stricter of both holds. What would permit more is left out and told.

use std::collections::BTreeMap;
use std::path::Path;

use super::keys::Key;
use super::layer::Layer;
use super::loosens::Loosens;
use super::origin::Origin;
use super::value::Value;
use super::{Layers, suggestion};

const APPROVAL: &str = "Approval";
const PLAN: &str = "plan";

impl Layers {
    /// Lays what was kept over the rest; gives the rules that hold besides, and the flags that would
    /// say again what does not hold.
    pub(super) fn keep_strict(&mut self) -> (BTreeMap<&'static str, String>, Vec<String>) {
        let (mut rules, mut not_kept) = (BTreeMap::new(), Vec::new());
        for (key, kept) in std::mem::take(&mut self.kept) {
            if self.is_flagged(key) {
                continue;
            }
            let now = self.value_of(key);
            if key.loosens == Loosens::Adds {
                rules.insert(key.name, kept.to_string());
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

    /// The `Approval` that would hold if nobody had said `plan`.
    pub(super) fn work_approval(&self) -> String {
        let is_work = |value: &&Value| value.to_string() != PLAN;
        let Some(key) = Key::named(APPROVAL) else {
            return String::new();
        };
        let flagged = self.flags().flat_map(|layer| &layer.values);
        let flagged = flagged.filter(|(set, _)| set.name == key.name);
        if let Some((_, value)) = flagged.filter(|(_, value)| is_work(&value)).last() {
            return value.to_string();
        }
        let defaults = Layer::defaults();
        let mut values = self.values_of(key, &defaults);
        let now = values.rfind(is_work).unwrap_or(&key.default);
        let mut kept = self.kept.iter().filter(|(set, _)| set.name == key.name);
        match kept.next_back() {
            Some((_, kept)) if is_work(&kept) && key.is_as_strict(kept, now) => kept.to_string(),
            _ => now.to_string(),
        }
    }

    fn flags(&self) -> impl Iterator<Item = &Layer> {
        let is_flag = |layer: &&Layer| matches!(layer.origin, Origin::Flag(_));
        self.above.iter().filter(is_flag)
    }

    fn is_flagged(&self, key: &Key) -> bool {
        self.flags().any(|layer| layer.sets(key))
    }

    /// What holds without the session.
    fn value_of(&self, key: &'static Key) -> Value {
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
        let layers = std::iter::once(defaults).chain(file).chain(&self.above);
        let values = layers.flat_map(|layer| &layer.values);
        let of_it = values.filter(move |(set, _)| set.name == key.name);
        of_it.map(|(_, value)| value)
    }
}
