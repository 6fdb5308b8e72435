//! The entry for `agent mcp` in the configuration of a client.
//!
//! The new entry is worked out first and shown; it is written only after the person said yes, as a
//! whole or not at all, and the file as it was stays beside it. A file that is no plain JSON (Zed allows
//! comments) is left to the person.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::fs::{Durability, create_directory, free_name, read_plain, write_atomic};

/// The largest configuration that is read, in bytes.
const LARGEST: u64 = 4 << 20;

crate::protocol::words! {
    /// A client whose configuration is known.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum KnownClient {
        /// Claude Desktop.
        ClaudeDesktop = "claude-desktop",
        /// Visual Studio Code.
        Vscode = "vscode",
        /// Zed.
        Zed = "zed",
        /// LM Studio.
        LmStudio = "lmstudio",
    }
}

impl KnownClient {
    /// Where the client keeps its configuration.
    pub fn file(self, variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
        let folder = |name: &str| variable(name).filter(|value| !value.is_empty());
        let home = || folder("HOME").or_else(|| folder("USERPROFILE"));
        let home = home().map(PathBuf::from).ok_or_else(|| {
            Error::mendable("your home directory is not known").hint("set `HOME`")
        })?;
        let configuration = if cfg!(windows) {
            folder("APPDATA").map_or_else(|| home.join("AppData/Roaming"), PathBuf::from)
        } else if cfg!(target_os = "macos") {
            home.join("Library/Application Support")
        } else {
            folder("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from)
        };
        Ok(match self {
            Self::ClaudeDesktop => configuration.join("Claude/claude_desktop_config.json"),
            Self::Vscode => configuration.join("Code/User/mcp.json"),
            Self::Zed if cfg!(target_os = "macos") => home.join(".config/zed/settings.json"),
            Self::Zed => configuration.join("zed/settings.json"),
            Self::LmStudio => home.join(".lmstudio/mcp.json"),
        })
    }

    /// The key under which its servers stand.
    fn key(self) -> &'static str {
        match self {
            Self::ClaudeDesktop | Self::LmStudio => "mcpServers",
            Self::Vscode => "servers",
            Self::Zed => "context_servers",
        }
    }
}

/// The server as a client starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEntry {
    /// Its name among others.
    pub name: String,
    command: String,
    arguments: Vec<String>,
}

/// A change of a configuration, worked out and not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallPlan {
    /// The file.
    pub file: PathBuf,
    /// The part that is added, as JSON.
    pub added: String,
    before: Option<Vec<u8>>,
    after: String,
}

impl ServerEntry {
    /// The entry for this program and this base directory.
    pub fn new(program: &Path, base: &Path) -> Result<Self> {
        let text = |path: &Path| {
            path.to_str().map(str::to_owned).ok_or_else(|| {
                Error::mendable(format!(
                    "`{}` cannot stand in a configuration: it is no UTF-8",
                    path.display()
                ))
            })
        };
        // `.agent` in a project, or a base directory of its own.
        let folder = match base.file_name() {
            Some(name) if name == ".agent" => base.parent().and_then(Path::file_name),
            name => name,
        };
        let folder = folder.map(|name| name.to_string_lossy().into_owned());
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        let folder: String = (folder.unwrap_or_default().chars())
            .map(|letter| if is_plain(letter) { letter } else { '-' })
            .take(40)
            .collect();
        Ok(Self {
            name: if folder.is_empty() {
                "agent".to_owned()
            } else {
                format!("agent-{folder}")
            },
            command: text(program)?,
            arguments: vec!["mcp".to_owned(), "--base".to_owned(), text(base)?],
        })
    }

    /// The entry as a client's configuration has it.
    pub fn to_json(&self) -> Value {
        json!({ "command": self.command, "args": self.arguments })
    }

    /// The whole configuration of a client that has no other server.
    pub fn alone(&self, key: &str) -> String {
        pretty(&json!({ key: { &self.name: self.to_json() } }))
    }
}

/// The configuration for any client that is not known, in the form that most of them take.
pub fn printed(entry: &ServerEntry, client: Option<KnownClient>) -> String {
    entry.alone(client.map_or("mcpServers", KnownClient::key))
}

/// Works out the change; `None` if the entry is there already.
pub fn plan(client: KnownClient, file: &Path, entry: &ServerEntry) -> Result<Option<InstallPlan>> {
    let before = match read_plain(file, LARGEST) {
        Ok(bytes) => Some(bytes),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => None,
        Err(cause) => return Err(Error::file("read", file, cause)),
    };
    let by_hand = |why: &str| {
        Error::mendable(format!("`{}` {why}", file.display()))
            .hint("add the entry yourself: `agent mcp install --print` shows it")
    };
    let is_empty = |bytes: &Vec<u8>| bytes.iter().all(u8::is_ascii_whitespace);
    let mut whole = match &before {
        None => Map::new(),
        Some(bytes) if is_empty(bytes) => Map::new(),
        Some(bytes) => match serde_json::from_slice(bytes) {
            Ok(Value::Object(whole)) => whole,
            _ => return Err(by_hand("is no plain JSON, so it is not changed")),
        },
    };
    let key = client.key();
    let servers = whole.entry(key).or_insert_with(|| json!({}));
    let Value::Object(servers) = servers else {
        return Err(by_hand(&format!("has a `{key}` that is no object")));
    };
    let json = entry.to_json();
    if servers.get(&entry.name) == Some(&json) {
        return Ok(None);
    }
    servers.insert(entry.name.clone(), json);
    Ok(Some(InstallPlan {
        file: file.to_owned(),
        added: entry.alone(key),
        before,
        after: pretty(&Value::Object(whole)),
    }))
}

impl InstallPlan {
    /// Makes the change; returns where the file as it was is kept, if there was one.
    pub fn carry_out(&self) -> Result<Option<PathBuf>> {
        let now = read_plain(&self.file, LARGEST).ok();
        if now != self.before {
            return Err(Error::mendable(format!(
                "`{}` was changed meanwhile; nothing was written",
                self.file.display()
            ))
            .hint("try again"));
        }
        let directory = self.file.parent().unwrap_or(Path::new("."));
        create_directory(directory)?;
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        let backup = match &self.before {
            None => None,
            Some(before) => {
                let backup = free_name(directory, &format!("{name}.before-agent"));
                write_atomic(&backup, before, Durability::Durable)?;
                Some(backup)
            }
        };
        write_atomic(&self.file, self.after.as_bytes(), Durability::Durable)?;
        Ok(backup)
    }
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> ServerEntry {
        ServerEntry::new(Path::new("/bin/agent"), Path::new("/home/me/my app/.agent")).unwrap()
    }

    fn write(file: &Path, text: &str) {
        write_atomic(file, text.as_bytes(), Durability::Atomic).unwrap();
    }

    #[test]
    fn what_others_wrote_stays_and_the_file_as_it_was_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("Claude/config.json");
        let client = KnownClient::ClaudeDesktop;
        let first = plan(client, &file, &entry()).unwrap().unwrap();
        assert!(!file.exists());
        assert_eq!(first.carry_out().unwrap(), None);
        assert_eq!(plan(client, &file, &entry()).unwrap(), None);
        let others = r#"{"theme": "dark", "mcpServers": {"other": {"command": "x"}}}"#;
        write(&file, others);
        let second = plan(client, &file, &entry()).unwrap().unwrap();
        let backup = second.carry_out().unwrap().unwrap();
        assert_eq!(std::fs::read_to_string(backup).unwrap(), others);
        let written: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(written["theme"], "dark");
        assert_eq!(written["mcpServers"]["other"]["command"], "x");
        let ours = &written["mcpServers"]["agent-my-app"];
        assert_eq!(
            ours["args"],
            json!(["mcp", "--base", "/home/me/my app/.agent"])
        );
        // What was changed after it was shown is not overwritten.
        write(&file, "{}");
        assert!(second.carry_out().is_err());
    }

    #[test]
    fn a_configuration_with_comments_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("settings.json");
        write(&file, "// mine\n{}");
        let error = plan(KnownClient::Zed, &file, &entry()).unwrap_err();
        assert!(error.to_string().contains("no plain JSON"), "{error}");
        write(&file, r#"{"context_servers": []}"#);
        assert!(plan(KnownClient::Zed, &file, &entry()).is_err());
    }
}
