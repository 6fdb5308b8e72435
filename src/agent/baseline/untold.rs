//! The person's changes that no message has reported yet, as a diff; kept on disk until one has.

use super::Baseline;

/// Where it is kept, beside the session.
const UNTOLD: &str = "untold.json";

/// Limit on the diff, in bytes; a message shows far less.
const MAX_BYTES: usize = 256 * 1024;

/// Stands for the changes beyond the limit.
const MORE: &str = "[TRUNCATED: later changes are not shown]\n";

impl Baseline<'_> {
    /// Returns the person's changes that the model does not know yet, as a diff.
    pub(in crate::agent) fn by_person(&mut self) -> &str {
        let (agent, id) = (self.agent, &self.id);
        (self.by_person).get_or_insert_with(|| agent.store.aside(id, UNTOLD).unwrap_or_default())
    }

    /// Adds to it.
    pub(super) fn add_by_person(&mut self, diff: &str) {
        if diff.is_empty() {
            return;
        }
        let mut all = self.by_person().to_owned();
        if all.len().saturating_add(diff.len()) <= MAX_BYTES {
            all.push_str(diff);
        } else if !all.ends_with(MORE) {
            all.push_str(MORE);
        }
        // Without it, a message that is made after a kill does not tell it.
        let _ = (self.agent.store).put_aside(&self.id, UNTOLD, &all);
        self.by_person = Some(all);
    }

    /// A message has told it.
    pub(in crate::agent) fn forget_by_person(&mut self) {
        self.by_person = Some(String::new());
        (self.agent.store).drop_aside(&self.id, UNTOLD);
    }
}
