//! The settings in force, to look at. What is changed is changed in a terminal.

use serde_json::{Value, json};

use super::desk::PageDesk;
use super::node::PageNode;
use crate::error::Result;
use crate::services::settings;
use crate::settings::{GROUPS, Key};

/// All settings by what they are about.
pub(super) fn show(desk: &PageDesk) -> Result<Value> {
    let (_, loaded) = settings::settings(&desk.caller().0)?;
    let groups = GROUPS.iter().map(|group| {
        let of_group: Vec<Value> = loaded
            .rows()
            .filter(|(key, ..)| group.keys().any(|one| one.name == key.name))
            .map(|(key, value, origin)| described(key, &value, &origin.to_string()))
            .collect();
        json!({ "title": group.title, "settings": of_group })
    });
    Ok(json!({ "groups": groups.collect::<Vec<_>>() }))
}

fn described(key: &Key, value: &str, origin: &str) -> Value {
    json!({
        "name": key.name,
        "value": PageNode::code(value),
        "meaning": PageNode::sentence(key.meaning),
        "origin": PageNode::sentence(origin),
        "flag": key.flag,
    })
}

/// Returns true if a value permits no more than another.
pub(super) fn is_as_strict(key: &Key, value: &str, other: &str) -> bool {
    match (key.shape.read_text(value), key.shape.read_text(other)) {
        (Ok(value), Ok(other)) => value == other || key.is_as_strict(&value, &other),
        _ => false,
    }
}
