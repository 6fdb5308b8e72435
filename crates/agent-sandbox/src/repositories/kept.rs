//! Stores the state before a command on disk, so that the changes of a killed command can still be
//! found.
//!
//! Names and configuration are stored as text if they are UTF-8, otherwise as bytes.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{DisarmReport, Inventory, find};
use agent_files::error::{Error, Result};
use agent_files::fs::{Durability, own_directory, write_atomic};

/// The repositories before a command that is running, or was running when `agent` was killed.
///
/// Its file must be where neither a command nor a project can write, because it decides what counts
/// as new.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeptInventory {
    #[serde(with = "path")]
    workspace: PathBuf,
    #[serde(with = "list")]
    left_out: Vec<PathBuf>,
    before: Inventory,
}

impl KeptInventory {
    /// The state of a workspace before a command, except for `left_out`.
    pub fn new(workspace: &Path, left_out: Vec<PathBuf>, before: Inventory) -> Self {
        Self {
            workspace: workspace.to_owned(),
            left_out,
            before,
        }
    }

    /// Writes it to a file.
    pub fn keep(&self, file: &Path) -> Result<()> {
        if let Some(directory) = file.parent() {
            own_directory(directory)?;
        }
        let json = serde_json::to_vec(self).map_err(|cause| Error::file("write", file, cause))?;
        write_atomic(file, &json, Durability::Atomic)
    }

    /// Disables changes of a command that were never compared, and reports them.
    ///
    /// Call it while no command runs.
    pub fn disarm(file: &Path) -> Option<DisarmReport> {
        let json = std::fs::read(file).ok()?;
        let told = match serde_json::from_slice::<Self>(&json) {
            Ok(kept) => {
                let mut now =
                    Inventory::take_after(&kept.before, &kept.workspace, &kept.left_out, &[], None);
                now.disarm_and_tell(&kept.before, &kept.workspace)
            }
            Err(_) => Some(DisarmReport {
                is_unknown: true,
                ..DisarmReport::default()
            }),
        };
        // If the file stays, this is repeated, which is harmless.
        let _ = agent_files::fs::remove(file);
        told
    }
}

/// Bytes that are mostly text.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum TextOrBytes {
    Text(String),
    Bytes(Vec<u8>),
}

impl TextOrBytes {
    fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Bytes(bytes.to_vec()),
        }
    }

    fn of_path(path: &Path) -> Self {
        Self::of(path.as_os_str().as_encoded_bytes())
    }

    fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.into_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    fn into_path(self) -> PathBuf {
        find::from_bytes(&self.into_bytes())
    }
}

pub(super) mod bytes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::TextOrBytes;

    pub(in super::super) fn serialize<S: Serializer>(
        bytes: &[u8],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        TextOrBytes::of(bytes).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        TextOrBytes::deserialize(deserializer).map(TextOrBytes::into_bytes)
    }
}

pub(super) mod path {
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::TextOrBytes;

    pub(in super::super) fn serialize<S: Serializer>(
        path: &Path,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        TextOrBytes::of_path(path).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PathBuf, D::Error> {
        TextOrBytes::deserialize(deserializer).map(TextOrBytes::into_path)
    }
}

mod list {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::TextOrBytes;

    pub(super) fn serialize<S: Serializer>(
        paths: &[PathBuf],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| TextOrBytes::of_path(path)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let paths = Vec::<TextOrBytes>::deserialize(deserializer)?;
        Ok(paths.into_iter().map(TextOrBytes::into_path).collect())
    }
}

pub(super) mod set {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use serde::{Deserializer, Serializer};

    use super::TextOrBytes;

    pub(in super::super) fn serialize<S: Serializer>(
        paths: &BTreeSet<PathBuf>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| TextOrBytes::of_path(path)))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeSet<PathBuf>, D::Error> {
        super::list::deserialize(deserializer).map(BTreeSet::from_iter)
    }
}

pub(super) mod map {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::TextOrBytes;

    pub(in super::super) fn serialize<S: Serializer, T: Serialize>(
        map: &BTreeMap<PathBuf, T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            map.iter()
                .map(|(path, value)| (TextOrBytes::of_path(path), value)),
        )
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<PathBuf, T>, D::Error> {
        let pairs = Vec::<(TextOrBytes, T)>::deserialize(deserializer)?;
        let pairs = pairs.into_iter();
        Ok(pairs
            .map(|(path, value)| (path.into_path(), value))
            .collect())
    }
}
