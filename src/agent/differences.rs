//! What prepared steps are about to change, to be shown to a person at a terminal.
//!
//! Read before the changes are made, while both versions lie there. It is a courtesy: a file that
//! cannot be read, is large or is no text is left out, and nothing depends on it.

use std::collections::{BTreeMap, HashMap};

use super::Conversation;
use crate::protocol::{RelPath, StagedChange, StagedStep};
use crate::ui::Difference;

/// The largest file that is compared, in bytes.
const MAX_BYTES: u64 = 256 * 1024;

/// What each step changes, by its number.
pub(super) type Differences = BTreeMap<u32, Vec<Difference>>;

impl Conversation<'_> {
    /// What these steps change; nothing if nobody is shown it.
    pub(super) fn differences(&self, staged: &[StagedStep]) -> Differences {
        let mut differences = Differences::new();
        if !self.agent.ui.shows_differences() {
            return differences;
        }
        // A file that two steps change is read once: what the first wrote lies aside.
        let mut contents: HashMap<&str, String> = HashMap::new();
        for step in staged {
            let own = step.changes.iter();
            let own: Vec<Difference> = own
                .filter_map(|change| self.difference(change, &mut contents))
                .collect();
            if !own.is_empty() {
                differences.insert(step.result.number, own);
            }
        }
        differences
    }

    fn difference<'s>(
        &self,
        change: &'s StagedChange,
        contents: &mut HashMap<&'s str, String>,
    ) -> Option<Difference> {
        let mut text = |hash: &'s str, lies: &RelPath| -> Option<String> {
            if let Some(text) = contents.get(hash) {
                return Some(text.clone());
            }
            let text = self.text_of(lies)?;
            contents.insert(hash, text.clone());
            Some(text)
        };
        match change {
            StagedChange::Write {
                path,
                staged,
                before,
                after,
            } => {
                let before = match before {
                    Some(hash) => Some(text(hash, path)?),
                    None => None,
                };
                let after = text(after, staged)?;
                Some(Difference::between(before.as_deref(), Some(&after)))
            }
            StagedChange::Remove { path, before } => {
                Some(Difference::between(Some(&text(before, path)?), None))
            }
            StagedChange::Rename { .. } => None,
        }
    }

    fn text_of(&self, path: &RelPath) -> Option<String> {
        let bytes = self.agent.workspace.read(path, MAX_BYTES).ok()?;
        String::from_utf8(bytes).ok()
    }
}
