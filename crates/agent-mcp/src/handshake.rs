//! The first exchange: which version both sides speak, and what the client can do.

use serde_json::{Map, Value, json};

/// The versions that the server speaks, the newest first. 2025-03-26 is none of them: it has batches.
///
/// Revisions after these have no handshake; a client that knows one falls back when the server does
/// not know its first request.
pub const VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2024-11-05"];

/// The longest name of a client that is kept, in characters.
const LONGEST_NAME: usize = 80;

/// The client as its first request describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientProfile {
    /// The version to speak: the client's, if the server knows it; else the latest before it.
    pub version: &'static str,
    /// The client's name, without control characters.
    pub name: String,
    /// True if it can ask the person with a form.
    pub has_elicitation: bool,
}

impl ClientProfile {
    /// Reads the parameters of `initialize`.
    pub fn read(params: &Map<String, Value>) -> Self {
        let wanted = params.get("protocolVersion").and_then(Value::as_str);
        // Versions are dates, so that the order of texts is theirs.
        let known = VERSIONS
            .iter()
            .find(|version| wanted.is_none_or(|wanted| **version <= wanted));
        let name = params.get("clientInfo").and_then(|info| info.get("name"));
        let name = name.and_then(Value::as_str).unwrap_or_default();
        let is_shown = |letter: &char| !letter.is_control();
        let elicitation = params
            .get("capabilities")
            .and_then(|known| known.get("elicitation"));
        // An empty object stands for forms; one that names only other modes has none.
        let has_form = |modes: &Map<String, Value>| modes.is_empty() || modes.contains_key("form");
        Self {
            version: known.copied().unwrap_or(VERSIONS[0]),
            name: name.chars().filter(is_shown).take(LONGEST_NAME).collect(),
            has_elicitation: elicitation.and_then(Value::as_object).is_some_and(has_form),
        }
    }
}

/// The server as it describes itself.
#[derive(Debug, Clone, Copy)]
pub struct ServerProfile<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its name for people.
    pub title: &'a str,
    /// Its own version.
    pub version: &'a str,
    /// A few sentences for the model about how the tools belong together.
    pub instructions: &'a str,
}

/// The result of `initialize`.
pub fn initialize_result(client: &ClientProfile, server: ServerProfile<'_>) -> Value {
    json!({
        "protocolVersion": client.version,
        "capabilities": { "tools": {}, "resources": {}, "prompts": {}, "logging": {} },
        "serverInfo": {
            "name": server.name,
            "title": server.title,
            "version": server.version,
        },
        "instructions": server.instructions,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(params: Value) -> ClientProfile {
        let Value::Object(params) = params else {
            panic!("an object");
        };
        ClientProfile::read(&params)
    }

    #[test]
    fn the_clients_version_counts_if_it_is_known() {
        let version = |wanted: &str| read(json!({ "protocolVersion": wanted })).version;
        assert_eq!(version("2024-11-05"), "2024-11-05");
        assert_eq!(version("2025-03-26"), "2024-11-05");
        assert_eq!(version("draft"), VERSIONS[0]);
        assert_eq!(version("2099-01-01"), VERSIONS[0]);
        assert_eq!(read(json!({})).version, VERSIONS[0]);
    }

    #[test]
    fn the_client_says_what_it_can_do() {
        let can = |elicitation: Value| {
            read(json!({ "capabilities": { "elicitation": elicitation } })).has_elicitation
        };
        assert!(can(json!({})) && can(json!({ "form": {} })));
        assert!(!can(json!({ "url": {} })) && !can(Value::Null));
        let name = "x\u{1b}".repeat(100);
        let client = read(json!({ "clientInfo": { "name": name } }));
        assert_eq!(client.name, "x".repeat(LONGEST_NAME));
    }
}
