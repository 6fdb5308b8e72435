//! Paths in a plan: as text where they are text, else as bytes.
//!
//! A command can give a file any name, and the plan of the next command has to name it.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path as it is written.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Written {
    Text(String),
    Bytes(Vec<u8>),
}

/// Something that consists of paths.
pub(super) trait Paths: Sized {
    /// The same, as it is written.
    type Written: Serialize + DeserializeOwned;

    fn write(&self) -> Self::Written;
    fn read(written: Self::Written) -> Self;
}

impl Paths for PathBuf {
    type Written = Written;

    fn write(&self) -> Written {
        self.to_str().map_or_else(
            || Written::Bytes(self.as_os_str().as_encoded_bytes().to_vec()),
            |text| Written::Text(text.to_owned()),
        )
    }

    fn read(written: Written) -> Self {
        match written {
            Written::Text(text) => text.into(),
            Written::Bytes(bytes) => from_bytes(bytes).into(),
        }
    }
}

impl Paths for Vec<PathBuf> {
    type Written = Vec<Written>;

    fn write(&self) -> Vec<Written> {
        self.iter().map(Paths::write).collect()
    }

    fn read(written: Vec<Written>) -> Self {
        written.into_iter().map(Paths::read).collect()
    }
}

impl Paths for Option<PathBuf> {
    type Written = Option<Written>;

    fn write(&self) -> Option<Written> {
        self.as_ref().map(Paths::write)
    }

    fn read(written: Option<Written>) -> Self {
        written.map(Paths::read)
    }
}

#[cfg(target_os = "linux")]
impl Paths for super::Layout {
    type Written = Vec<(Written, super::layout::What)>;

    fn write(&self) -> Self::Written {
        let entries = self.iter();
        (entries.map(|(path, what)| (path.write(), what.clone()))).collect()
    }

    fn read(written: Self::Written) -> Self {
        let entries = written.into_iter();
        (entries.map(|(path, what)| (PathBuf::read(path), what))).collect()
    }
}

pub(super) fn serialize<P: Paths, S: Serializer>(
    paths: &P,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    paths.write().serialize(serializer)
}

pub(super) fn deserialize<'de, P: Paths, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<P, D::Error> {
    P::Written::deserialize(deserializer).map(P::read)
}

#[cfg(unix)]
fn from_bytes(bytes: Vec<u8>) -> OsString {
    use std::os::unix::ffi::OsStringExt;

    OsString::from_vec(bytes)
}

#[cfg(not(unix))]
fn from_bytes(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}
