//! Serialises paths in a plan: as text if they are UTF-8, otherwise as bytes.
//!
//! A command can give a file any name, and the plan of the next command must be able to name it.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A serialised path.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum SerialisedPath {
    Text(String),
    Bytes(Vec<u8>),
}

/// A type that consists of paths.
pub(super) trait SerialisePaths: Sized {
    /// The serialised form.
    type Serialised: Serialize + DeserializeOwned;

    fn write(&self) -> Self::Serialised;
    fn read(written: Self::Serialised) -> Self;
}

impl SerialisePaths for PathBuf {
    type Serialised = SerialisedPath;

    fn write(&self) -> SerialisedPath {
        self.to_str().map_or_else(
            || SerialisedPath::Bytes(self.as_os_str().as_encoded_bytes().to_vec()),
            |text| SerialisedPath::Text(text.to_owned()),
        )
    }

    fn read(written: SerialisedPath) -> Self {
        match written {
            SerialisedPath::Text(text) => text.into(),
            SerialisedPath::Bytes(bytes) => from_bytes(bytes).into(),
        }
    }
}

impl SerialisePaths for Vec<PathBuf> {
    type Serialised = Vec<SerialisedPath>;

    fn write(&self) -> Vec<SerialisedPath> {
        self.iter().map(SerialisePaths::write).collect()
    }

    fn read(written: Vec<SerialisedPath>) -> Self {
        written.into_iter().map(SerialisePaths::read).collect()
    }
}

impl SerialisePaths for Option<PathBuf> {
    type Serialised = Option<SerialisedPath>;

    fn write(&self) -> Option<SerialisedPath> {
        self.as_ref().map(SerialisePaths::write)
    }

    fn read(written: Option<SerialisedPath>) -> Self {
        written.map(SerialisePaths::read)
    }
}

#[cfg(target_os = "linux")]
impl SerialisePaths for super::Layout {
    type Serialised = Vec<(SerialisedPath, super::layout::LayoutEntry)>;

    fn write(&self) -> Self::Serialised {
        let entries = self.iter();
        (entries.map(|(path, what)| (path.write(), what.clone()))).collect()
    }

    fn read(written: Self::Serialised) -> Self {
        let entries = written.into_iter();
        (entries.map(|(path, what)| (PathBuf::read(path), what))).collect()
    }
}

pub(super) fn serialize<P: SerialisePaths, S: Serializer>(
    paths: &P,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    paths.write().serialize(serializer)
}

pub(super) fn deserialize<'de, P: SerialisePaths, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<P, D::Error> {
    P::Serialised::deserialize(deserializer).map(P::read)
}

#[cfg(unix)]
fn from_bytes(bytes: Vec<u8>) -> OsString {
    use std::os::unix::ffi::OsStringExt;

    OsString::from_vec(bytes)
}

#[cfg(not(unix))]
fn from_bytes(bytes: Vec<u8>) -> OsString {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
        .into()
}
