//! How one JSON value became another, so that states that are nearly the same are kept in little room.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The difference between two JSON values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum JsonDelta {
    /// Another value stands in its place.
    Set(Value),
    /// Fields of an object changed or were added, and these are gone.
    Fields {
        /// The fields that are not as they were.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        changed: BTreeMap<String, JsonDelta>,
        /// The fields that are no longer there.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gone: Vec<String>,
    },
    /// A list lost its first items and got others at its end.
    Shifted {
        /// How many are gone.
        dropped: usize,
        /// Those that were added.
        added: Vec<Value>,
    },
}

impl JsonDelta {
    /// The difference; `None` if the values are equal.
    pub(super) fn between(old: &Value, new: &Value) -> Option<Self> {
        if old == new {
            return None;
        }
        Some(match (old, new) {
            (Value::Object(old), Value::Object(new)) => Self::between_objects(old, new),
            (Value::Array(old), Value::Array(new)) => shifted(old, new),
            _ => Self::Set(new.clone()),
        })
    }

    fn between_objects(old: &Map<String, Value>, new: &Map<String, Value>) -> Self {
        let changed = new.iter().filter_map(|(name, value)| {
            let delta = match old.get(name) {
                Some(old) => Self::between(old, value)?,
                None => Self::Set(value.clone()),
            };
            Some((name.clone(), delta))
        });
        let gone = old.keys().filter(|name| !new.contains_key(*name));
        Self::Fields {
            changed: changed.collect(),
            gone: gone.cloned().collect(),
        }
    }

    /// Makes the new value; nothing if this is no delta of that value.
    pub(super) fn apply(self, to: &mut Value) -> Option<()> {
        match (self, to) {
            (Self::Set(new), old) => *old = new,
            (Self::Fields { changed, gone }, Value::Object(fields)) => {
                for name in &gone {
                    fields.remove(name)?;
                }
                for (name, delta) in changed {
                    delta.apply(fields.entry(name).or_insert(Value::Null))?;
                }
            }
            (Self::Shifted { dropped, added }, Value::Array(items)) => {
                if dropped > items.len() {
                    return None;
                }
                items.drain(..dropped);
                items.extend(added);
            }
            _ => return None,
        }
        Some(())
    }
}

fn shifted(old: &[Value], new: &[Value]) -> JsonDelta {
    let fits = |dropped: &usize| new.starts_with(&old[*dropped..]);
    let fewest = old.len().saturating_sub(new.len());
    match (fewest..old.len()).find(fits) {
        Some(dropped) => JsonDelta::Shifted {
            dropped,
            added: new[old.len() - dropped..].to_vec(),
        },
        None => JsonDelta::Set(Value::Array(new.to_vec())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn case(old: Value, new: &Value) -> JsonDelta {
        let delta = JsonDelta::between(&old, new).unwrap();
        let written = serde_json::to_string(&delta).unwrap();
        let read: JsonDelta = serde_json::from_str(&written).unwrap();
        let mut made = old;
        read.apply(&mut made).unwrap();
        assert_eq!(made, *new);
        delta
    }

    #[test]
    fn a_delta_makes_the_new_value_of_the_old_one() {
        case(json!(1), &json!(null));
        case(
            json!({"a": 1, "b": [1]}),
            &json!({"b": [1, 2], "c": {"d": null}}),
        );
        case(json!([[1], 2]), &json!([[2], 2]));
        case(json!({"a": {"b": {"c": 1}}}), &json!({"a": {"b": {}}}));
        case(json!([]), &json!([1]));
        assert_eq!(JsonDelta::between(&json!([1]), &json!([1])), None);
    }

    #[test]
    fn a_list_that_moves_on_costs_what_was_added() {
        let delta = case(json!([1, 2, 3, 4]), &json!([2, 3, 4, 5]));
        let added = vec![json!(5)];
        assert_eq!(delta, JsonDelta::Shifted { dropped: 1, added });
        let delta = case(json!([1, 2]), &json!([1, 2, 3]));
        let added = vec![json!(3)];
        assert_eq!(delta, JsonDelta::Shifted { dropped: 0, added });
    }

    #[test]
    fn a_delta_of_another_value_is_none_of_this_one() {
        let delta = case(json!([1, 2]), &json!([2, 3]));
        assert_eq!(delta.apply(&mut json!({"a": 1})), None);
    }
}
