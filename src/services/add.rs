//! Files for the next message of a session.

use super::{Caller, find, open};
use crate::agent::added::AddedContext;
use crate::error::{Error, Result};
use crate::session::Source;

/// Finds what the paths name, and has the next message show it.
pub fn add(caller: &Caller, id: Option<&str>, paths: &[String]) -> Result<AddedContext> {
    if paths.is_empty() {
        return Err(Error::usage("there is nothing to add").hint("agent add src/parser.py"));
    }
    let (opened, session) = open::session(caller, find::find, id)?;
    let added = opened.agent.find_added(&caller.here, paths, None)?;
    let notes = opened.agent.store.notes(&session.session_id);
    if !added.files.is_empty() {
        let names: Vec<String> = added.files.iter().map(ToString::to_string).collect();
        notes.add(Source::Added, &names.join("\n"))?;
    }
    if let Some(note) = added.note() {
        notes.add(Source::Person, &note)?;
    }
    Ok(added)
}
