//! The entry for `agent mcp` in the configuration of a client.
//!
//! The change is worked out first and shown; it is written only after the person said yes, as a whole or
//! not at all, and the file as it was stays beside it. What others wrote stays as it is, with comments. A
//! file that cannot be read is left to the person.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jsonc_parser::cst::{CstInputValue, CstObjectProp, CstRootNode};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::fs::{
    Durability, behind_links, create_directory, free_name, read_plain, write_atomic,
    write_atomic_in_place,
};
use crate::json::WITH_COMMENTS;

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
    /// The file, as the client names it.
    pub file: PathBuf,
    /// The change in words and as JSON.
    pub shown: String,
    /// The file that is written: the one that a link leads to.
    target: PathBuf,
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

    /// The entry as the configuration of this client has it.
    fn to_json(&self, client: Option<KnownClient>) -> Value {
        match client {
            // Its reference says that the type is required.
            Some(KnownClient::Vscode) => {
                json!({ "type": "stdio", "command": self.command, "args": self.arguments })
            }
            _ => json!({ "command": self.command, "args": self.arguments }),
        }
    }

    /// The whole configuration of a client that has no other server; most of those that are not known
    /// take this form too.
    pub fn printed(&self, client: Option<KnownClient>) -> String {
        let key = client.map_or("mcpServers", KnownClient::key);
        pretty(&json!({ key: { &self.name: self.to_json(client) } }))
    }

    /// Returns true if an entry serves the same base directory, with whatever flags.
    fn is_same_server(&self, entry: &Value) -> bool {
        let arguments = entry.get("args").and_then(Value::as_array);
        let arguments: Vec<&str> = arguments
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let base = self.arguments.last().map_or("", String::as_str);
        arguments.first() == Some(&"mcp")
            && (arguments.windows(2).any(|pair| pair == ["--base", base])
                || arguments
                    .iter()
                    .any(|one| one.strip_prefix("--base=") == Some(base)))
    }
}

/// Works out the change; `None` if the entry is there already. Comments, order and spaces stay, and so do
/// flags and variables that somebody added to the entry.
pub fn plan(client: KnownClient, file: &Path, entry: &ServerEntry) -> Result<Option<InstallPlan>> {
    let by_hand = |why: &str| {
        let word = client.word();
        Error::mendable(format!("`{}` {why}", file.display())).hint(format!(
            "add the entry yourself: `agent mcp install --client {word} --print` shows it"
        ))
    };
    let target = behind_links(file)?;
    let before = match read_plain(&target, LARGEST) {
        Ok(bytes) => Some(bytes),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => None,
        Err(cause) => return Err(Error::file("read", &target, cause)),
    };
    let is_read_only = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|found| found.permissions().readonly())
    };
    if is_read_only(&target) {
        return Err(by_hand("is read-only, so it is not changed"));
    }
    let text = std::str::from_utf8(before.as_deref().unwrap_or_default())
        .map_err(|_| by_hand("is no UTF-8, so it is not changed"))?;
    let has_mark = text.starts_with(BYTE_ORDER_MARK);
    let text = text.trim_start_matches(BYTE_ORDER_MARK);
    let unreadable = || by_hand("cannot be read as JSON, so it is not changed");
    let root = CstRootNode::parse(text, &WITH_COMMENTS).map_err(|_| unreadable())?;
    let key = client.key();
    let whole = root.object_value_or_create().ok_or_else(unreadable)?;
    let named = whole
        .properties()
        .into_iter()
        .filter(|one| one.decoded_name().as_deref() == Some(key));
    let servers = whole
        .object_value_or_create(key)
        .filter(|_| named.count() <= 1);
    let servers = servers.ok_or_else(|| by_hand(&format!("has no one object `{key}`")))?;
    let is_ours = |one: &CstObjectProp| {
        let value = one.value().and_then(|value| value.to_serde_value());
        value.is_some_and(|value| entry.is_same_server(&value))
    };
    let shown = if let Some(ours) = servers.properties().into_iter().find(is_ours) {
        let name = ours.decoded_name().unwrap_or_default();
        let command = ours.object_value().and_then(|ours| ours.get("command"));
        let command =
            command.ok_or_else(|| by_hand(&format!("has an entry `{name}` without a command")))?;
        let now = command.value().and_then(|value| value.to_serde_value());
        if now.as_ref() == Some(&json!(entry.command)) {
            return Ok(None);
        }
        command.set_value(CstInputValue::String(entry.command.clone()));
        let after = ours.value().and_then(|value| value.to_serde_value());
        format!(
            "The entry `{name}` for this project is there, with the command {}. It would become:\n{}",
            now.unwrap_or_default(),
            pretty(&json!({ name.clone(): after }))
        )
    } else {
        let mut entry = entry.clone();
        let plain = entry.name.clone();
        let mut number = 1;
        while servers.get(&entry.name).is_some() {
            number += 1;
            entry.name = format!("{plain}-{number}");
        }
        servers.append(&entry.name, cst(&entry.to_json(Some(client))));
        entry.printed(Some(client))
    };
    let mut after = root.to_string();
    if before.is_none() && !after.ends_with('\n') {
        after.push('\n');
    }
    if has_mark {
        after.insert(0, BYTE_ORDER_MARK);
    }
    Ok(Some(InstallPlan {
        file: file.to_owned(),
        shown,
        target,
        before,
        after,
    }))
}

/// Some editors of Windows begin a file with it.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A value for the configuration.
fn cst(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(cst).collect()),
        Value::Object(values) => {
            let values = values
                .iter()
                .map(|(name, value)| (name.clone(), cst(value)));
            CstInputValue::Object(values.collect())
        }
    }
}

impl InstallPlan {
    /// Makes the change; returns where the file as it was is kept, if there was one.
    pub fn carry_out(&self) -> Result<Option<PathBuf>> {
        let now = read_plain(&self.target, LARGEST).ok();
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
        write_atomic_in_place(&self.target, self.after.as_bytes())?;
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

    #[track_caller]
    fn installed(client: KnownClient, file: &Path, entry: &ServerEntry) -> String {
        plan(client, file, entry)
            .unwrap()
            .unwrap()
            .carry_out()
            .unwrap();
        std::fs::read_to_string(file).unwrap()
    }

    #[test]
    fn comments_and_trailing_commas_stay() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("settings.json");
        write(&file, "// mine\n{\n  \"theme\": \"One\", // dark\n}\n");
        let text = installed(KnownClient::Zed, &file, &entry());
        assert!(
            text.starts_with("// mine\n{\n  \"theme\": \"One\", // dark\n"),
            "{text}"
        );
        assert!(
            text.contains("\"context_servers\": {") && text.contains("agent-my-app"),
            "{text}"
        );
        assert_eq!(plan(KnownClient::Zed, &file, &entry()).unwrap(), None);
        for bad in [
            r#"{"context_servers": []}"#,
            "[]",
            "{\"a\":",
            r#"{"context_servers": {}, "context_servers": {}}"#,
        ] {
            write(&file, bad);
            let error = plan(KnownClient::Zed, &file, &entry()).unwrap_err();
            assert!(error.hints()[0].contains("--client zed --print"), "{error}");
        }
    }

    #[test]
    fn another_project_of_the_same_name_gets_another_name() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.json");
        let client = KnownClient::ClaudeDesktop;
        installed(client, &file, &entry());
        let other =
            ServerEntry::new(Path::new("/bin/agent"), Path::new("/srv/my app/.agent")).unwrap();
        let text = installed(client, &file, &other);
        assert!(
            text.contains("\"agent-my-app\"") && text.contains("\"agent-my-app-2\""),
            "{text}"
        );
        assert_eq!(plan(client, &file, &entry()).unwrap(), None);
        assert_eq!(plan(client, &file, &other).unwrap(), None);
    }

    #[test]
    fn flags_and_variables_of_an_entry_stay() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.json");
        let client = KnownClient::ClaudeDesktop;
        let args = r#"["mcp", "--base", "/home/me/my app/.agent", "--approval", "ask"]"#;
        let entries = |command: &str| {
            format!(
                r#"{{"mcpServers": {{"mine": {{"command": "{command}", "args": {args}, "env": {{"A": "1"}}}}}}}}"#
            )
        };
        write(&file, &entries("/bin/agent"));
        assert_eq!(plan(client, &file, &entry()).unwrap(), None);
        write(&file, &entries("/old/agent"));
        let change = plan(client, &file, &entry()).unwrap().unwrap();
        assert!(
            change.shown.contains("/old/agent") && change.shown.contains("\"A\": \"1\""),
            "{}",
            change.shown
        );
        assert_eq!(installed(client, &file, &entry()), entries("/bin/agent"));
    }

    #[test]
    fn the_entry_for_vs_code_has_its_type() {
        let printed: Value =
            serde_json::from_str(&entry().printed(Some(KnownClient::Vscode))).unwrap();
        assert_eq!(printed["servers"]["agent-my-app"]["type"], "stdio");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (
            directory.path().join("dotfiles.json"),
            directory.path().join("config.json"),
        );
        let client = KnownClient::LmStudio;
        let mode = |mode| std::fs::set_permissions(&real, PermissionsExt::from_mode(mode)).unwrap();
        symlink("dotfiles.json", &link).unwrap();
        // It leads nowhere yet.
        installed(client, &link, &entry());
        assert!(
            link.is_symlink()
                && std::fs::read_to_string(&real)
                    .unwrap()
                    .contains("agent-my-app")
        );
        write(&real, "{}");
        mode(0o644);
        installed(client, &link, &entry());
        assert!(link.is_symlink());
        assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o644);
        write(&real, "{}");
        mode(0o444);
        let error = plan(client, &link, &entry()).unwrap_err();
        assert!(error.to_string().contains("read-only"), "{error}");
    }
}
