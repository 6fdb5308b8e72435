//! Finds the records of other base directories in the workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use super::Workspace;
use crate::platform::files;
use crate::records::{MAX_SETTINGS_BYTES, NamedDirectories, RecordMarks, SETTINGS};
use agent_protocol::RelPath;

/// Names to look at in a directory that may hold sessions.
const MAX_NAMES: usize = 20_000;

impl Workspace {
    /// The records and settings of base directories at or above this path.
    pub fn records_around(&self, path: &RelPath) -> Vec<RelPath> {
        let text = path.as_str();
        let ends = text.match_indices('/').map(|(end, _)| end);
        let directories = [0].into_iter().chain(ends).chain([text.len()]);
        let mut found = Vec::new();
        for directory in directories.map(|end| &text[..end]) {
            if !directory.is_empty() && self.holds_sessions(directory) {
                found.extend(RelPath::parse(directory));
                // Nothing beneath it needs a look.
                break;
            }
            found.extend(self.records_of_base(directory));
        }
        found
    }

    /// The records and settings of base directories among these files.
    pub(super) fn records_among<'a>(
        &self,
        files: impl Iterator<Item = &'a RelPath>,
    ) -> Vec<RelPath> {
        // With ignored sessions, only the rest of a base is listed.
        let usual = NamedDirectories::usual().all();
        let is_usual = |name: &str| usual.iter().any(|usual| usual.as_os_str() == name);
        let mut bases = BTreeSet::new();
        let mut marks: BTreeMap<RelPath, RecordMarks> = BTreeMap::new();
        for path in files {
            if path.file_name() == SETTINGS {
                bases.insert(path.parent());
            } else if RecordMarks::is_mark(path.file_name())
                && let Some(directory) = path.parent()
            {
                marks
                    .entry(directory)
                    .or_default()
                    .note(path.file_name().as_ref());
            }
            if path.components().any(is_usual) {
                let above = std::iter::successors(path.parent(), RelPath::parent);
                let named = above.filter(|above| is_usual(above.file_name()));
                bases.extend(named.map(|named| named.parent()));
            }
        }
        let sessions = marks.into_iter().filter(|(_, marks)| marks.are_complete());
        let mut found: Vec<RelPath> = sessions.map(|(directory, _)| directory).collect();
        for base in &bases {
            found.extend(self.records_of_base(base.as_ref().map_or("", RelPath::as_str)));
        }
        found
    }

    /// True if the path belongs to a base directory in the workspace.
    pub(super) fn is_of_a_base(&self, path: &RelPath) -> bool {
        self.records_around(path)
            .iter()
            .any(|records| is_beneath(path, records))
    }

    /// The records and settings of this directory, if it is a base directory with records.
    pub(super) fn records_of_base(&self, directory: &str) -> Vec<RelPath> {
        let settings = RelPath::of_entry(directory, SETTINGS);
        let content = settings.as_ref().and_then(|path| self.settings_at(path));
        let named = content.and_then(|content| NamedDirectories::in_settings(&content));
        let has_settings = named.is_some();
        let base = self.path.join(directory);
        let inside =
            |path: &Path| RelPath::parse(path.strip_prefix(&self.path).ok()?.to_str()?).ok();
        let mut found = Vec::new();
        // A flag may have overruled the settings.
        for named in named.into_iter().chain([NamedDirectories::usual()]) {
            let named = named.from_base(&base);
            let sessions = inside(&named.sessions);
            if sessions.is_some_and(|sessions| self.holds_sessions(sessions.as_str())) {
                found.extend(named.all().iter().filter_map(|path| inside(path)));
                found.extend(settings.clone().filter(|_| has_settings));
            }
        }
        found
    }

    fn holds_sessions(&self, directory: &str) -> bool {
        let mut marks = RecordMarks::default();
        let mut left = MAX_NAMES;
        let listed = files::list_beneath(&self.root, directory.as_ref(), |name, _| {
            marks.note(name);
            left -= 1;
            if marks.are_complete() || left == 0 {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        listed.is_ok() && marks.are_complete()
    }

    /// The content of a settings file; links are not followed, so that none leads around in circles.
    fn settings_at(&self, path: &RelPath) -> Option<Vec<u8>> {
        let directory = self.parent(path).ok()?;
        let file = files::open_in(&directory, path.file_name()).ok()?;
        let mut content = Vec::new();
        file.take(MAX_SETTINGS_BYTES)
            .read_to_end(&mut content)
            .ok()?;
        Some(content)
    }
}

/// True if the path is this directory or in it, in any letter case, as some file systems ignore it.
pub(super) fn is_beneath(path: &RelPath, directory: &RelPath) -> bool {
    let mut names = path.components();
    directory.components().all(|part| {
        names
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case(part))
    })
}
