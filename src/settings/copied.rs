//! The settings of one base directory for another.

use std::path::Path;

use serde_json::{Map, Value};

use super::base::FILE_NAME;
use super::file;
use crate::error::{Error, Result};
use crate::fs::{Durability, write_atomic};

/// How the names of settings end that name the folders of a base directory.
const FOLDER: &str = "dir";

/// Gives a directory the settings of a base, but for its folders.
///
/// They are not trusted by that: what loosens counts only when the person has confirmed the copy.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let Some(content) = file::read(&from.join(FILE_NAME))? else {
        return Ok(());
    };
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&content);
    let path = to.join(FILE_NAME);
    let failed = |cause| Error::file("write", &path, cause);
    let settings: Map<String, Value> = serde_json::from_slice(content).map_err(failed)?;
    let ours = settings
        .into_iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("agent"));
    let Some((_, Value::Object(mut ours))) = ours else {
        return Ok(());
    };
    ours.retain(|name, _| !name.to_ascii_lowercase().ends_with(FOLDER));
    let copied = serde_json::json!({ "Agent": ours });
    let json = crate::json::to_lines(&copied).map_err(failed)?;
    write_atomic(&path, format!("{json}\n").as_bytes(), Durability::Durable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_folders_is_copied() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("a"), directory.path().join("b"));
        for path in [&from, &to] {
            crate::fs::create_directory(path).unwrap();
        }
        copy(&from, &to).unwrap();
        assert!(!to.join(FILE_NAME).exists());
        let settings = br#"{"Other": 1, "Agent": {"WorkspaceDir": "..", "MaxRounds": 7}}"#;
        write_atomic(&from.join(FILE_NAME), settings, Durability::Atomic).unwrap();
        copy(&from, &to).unwrap();
        let copied: Value =
            serde_json::from_slice(&std::fs::read(to.join(FILE_NAME)).unwrap()).unwrap();
        assert_eq!(copied, serde_json::json!({"Agent": {"MaxRounds": 7}}));
    }
}
