//! The settings in force, and where each comes from.

use super::Caller;
use super::open::{self, FirstRun};
pub use crate::compose::{FileLimit, Limit, TooLong, example_instructions};
use crate::error::Result;
use crate::settings::{Base, KEYS, Loaded};

/// A setting in force.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct SettingInForce {
    /// Its name.
    pub key: &'static str,
    /// Its value.
    pub value: serde_json::Value,
    /// Where it was set.
    pub origin: String,
}

/// Reads the settings; where `agent` was never used, these are the defaults.
pub fn settings(caller: &Caller) -> Result<(Base, Loaded)> {
    open::settings(caller, FirstRun::Look)
}

/// Every setting, in the order of the table.
pub fn in_force(loaded: &Loaded) -> Vec<SettingInForce> {
    let values = serde_json::to_value(&loaded.settings).unwrap_or_default();
    let setting = |key: &crate::settings::Key| SettingInForce {
        key: key.name,
        value: values[key.name].clone(),
        origin: loaded.origins[key.name].to_string(),
    };
    KEYS.iter().map(setting).collect()
}
