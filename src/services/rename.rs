//! The name that a person gives a session.

use super::open::SessionFiles;
use crate::error::{Error, Result};
use crate::protocol::SessionId;

/// The longest name, in characters.
const MAX_NAME: usize = 80;

/// Names a session; an empty name takes its name away, so that it is called by its task again.
/// Returns how it is called now.
pub fn rename(files: &SessionFiles, id: &SessionId, name: &str) -> Result<String> {
    let name = name.trim();
    if name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(Error::usage(format!(
            "a name is one line of at most {MAX_NAME} characters"
        )));
    }
    let (session, _) = files.store.load_or_rebuild(id)?;
    let name = (!name.is_empty()).then_some(name);
    files.store.set_name(id, name)?;
    Ok(files.store.summary_of(&session).title().to_owned())
}
