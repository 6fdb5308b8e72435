//! The settings in force, and the few that are changed on the page: the person's own, and nothing that
//! permits more than what holds already. For that the page shows the command to type.

use serde::Deserialize;
use serde_json::{Value, json};

use super::desk::PageDesk;
use super::node::PageNode;
use crate::error::{Error, Result};
use crate::services::Caller;
use crate::services::settings::{self, SettingsScope};
use crate::settings::{GROUPS, Key, Loaded, Origin, Shape};

/// A setting that the page may change.
struct OwnSetting {
    name: &'static str,
    title: &'static str,
    /// True if the page may only choose what permits no more than the value in force.
    is_guarded: bool,
}

const OWN: [OwnSetting; 4] = [
    OwnSetting {
        name: "Chat",
        title: "Chat",
        is_guarded: false,
    },
    OwnSetting {
        name: "Clipboard",
        title: "Clipboard in terminals",
        is_guarded: false,
    },
    OwnSetting {
        name: "Notify",
        title: "Notifications from terminals",
        is_guarded: false,
    },
    OwnSetting {
        name: "Approval",
        title: "Approval",
        is_guarded: true,
    },
];

/// All settings, and which of them the page may change to what.
pub(super) fn show(desk: &PageDesk) -> Result<Value> {
    let (caller, _) = desk.caller();
    let (_, loaded) = settings::settings(&caller)?;
    let file = settings::file(&caller, SettingsScope::Person).ok();
    let groups = GROUPS.iter().map(|group| {
        let of_group: Vec<Value> = loaded
            .rows()
            .filter(|(key, ..)| group.keys().any(|one| one.name == key.name))
            .map(|(key, value, origin)| described(key, &value, origin))
            .collect();
        json!({ "title": group.title, "settings": of_group })
    });
    let own = OWN.iter().filter_map(|own| {
        let (key, value, origin) = loaded.rows().find(|(key, ..)| key.name == own.name)?;
        let mut shown = described(key, &value, origin);
        shown["value"] = json!(value);
        shown["title"] = json!(own.title);
        shown["choices"] = choices(own, key, &[value, own_value(&caller, key)]);
        Some(shown)
    });
    Ok(json!({
        "own": own.collect::<Vec<_>>(),
        "groups": groups.collect::<Vec<_>>(),
        "file": file.map(|file| file.display().to_string()),
    }))
}

fn described(key: &Key, value: &str, origin: &Origin) -> Value {
    json!({
        "name": key.name,
        "value": PageNode::code(value),
        "meaning": PageNode::sentence(key.meaning),
        "origin": told_origin(origin),
    })
}

fn told_origin(origin: &Origin) -> PageNode {
    match origin {
        Origin::Person(_) => PageNode::Text("your own settings".to_owned()),
        other => PageNode::sentence(&other.to_string()),
    }
}

fn choices(own: &OwnSetting, key: &Key, held: &[String]) -> Value {
    let Shape::Choice(words) = &key.shape else {
        return json!([]);
    };
    let choice = |word: &&str| {
        json!({
            "word": word,
            "isLooser": own.is_guarded && is_looser(key, word, held),
            "command": format!("agent config set {} {word}", key.name),
        })
    };
    words.iter().map(choice).collect()
}

/// A setting and the value that the person chose for it.
#[derive(Debug, Deserialize)]
pub(super) struct ChosenSetting {
    key: String,
    value: String,
}

/// Changes one of the person's own settings, unless that would permit more.
pub(super) fn change(desk: &PageDesk, chosen: &ChosenSetting) -> Result<Value> {
    let value = &chosen.value;
    let own = OWN.iter().find(|own| own.name == chosen.key);
    let own = own.ok_or_else(|| {
        Error::usage("the page does not change this setting")
            .hint("in a terminal: agent config set KEY VALUE")
    })?;
    let (caller, _) = desk.caller();
    let key = settings::named(own.name)?;
    let (_, loaded) = settings::settings(&caller)?;
    let held = [in_force(&loaded, key), own_value(&caller, key)];
    if own.is_guarded && is_looser(key, value, &held) {
        return Err(
            Error::usage(format!("the page can only make `{}` stricter", key.name)).hint(format!(
                "in a terminal: agent config set {} {value}",
                key.name
            )),
        );
    }
    settings::set(&caller, SettingsScope::Person, key, Some(value))?;
    let (_, loaded) = settings::settings(&caller)?;
    let now = in_force(&loaded, key);
    // A project's file, the environment or a flag of `agent serve` counts more.
    let origin = loaded.origins.get(key.name).filter(|_| now != *value);
    Ok(json!({
        "inForce": now,
        "because": origin.map(told_origin),
    }))
}

fn in_force(loaded: &Loaded, key: &Key) -> String {
    let mut rows = loaded.rows();
    let found = rows.find(|(one, ..)| one.name == key.name);
    found.map(|(_, value, _)| value).unwrap_or_default()
}

/// The value in the person's own file, or the default: what holds in their other projects.
fn own_value(caller: &Caller, key: &Key) -> String {
    let file = settings::file(caller, SettingsScope::Person);
    let content = file.ok().and_then(|file| std::fs::read(file).ok());
    let json: Option<Value> = content.and_then(|json| serde_json::from_slice(&json).ok());
    let own = json.and_then(|json| json.get(key.name)?.as_str().map(ToOwned::to_owned));
    own.unwrap_or_else(|| key.default.to_string())
}

/// Returns true if a value permits more than one of those that hold.
fn is_looser(key: &Key, value: &str, held: &[String]) -> bool {
    held.iter().any(|held| !is_as_strict(key, value, held))
}

/// Returns true if a value permits no more than another.
pub(super) fn is_as_strict(key: &Key, value: &str, other: &str) -> bool {
    match (key.shape.read_text(value), key.shape.read_text(other)) {
        (Ok(value), Ok(other)) => value == other || key.is_as_strict(&value, &other),
        _ => false,
    }
}
