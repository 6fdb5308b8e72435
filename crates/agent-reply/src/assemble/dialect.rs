//! What another dialect than our tags knows.

use std::ops::Range;

use super::{Assembly, LastLine, VAIN_LOOKS, subject};
use crate::found::{Found, Item};
use crate::xml::{self, XmlEnds};
use crate::{code_fence, diff, json, patch, search_replace, tokens};
use agent_protocol::Command;

impl Assembly<'_> {
    /// Offers a line to the other dialects; returns the line below the block.
    pub(super) fn dialect(&mut self, at: usize) -> Option<usize> {
        if self.is_shown(at) {
            return None;
        }
        if self.is_in_results(at) {
            return self.claimed(at);
        }
        let end = self.lines.len();
        let reach = if at < self.unquoted_to {
            self.unquoted_to
        } else if self.vain_looks < VAIN_LOOKS {
            end
        } else {
            self.tags.next_boundary(at).unwrap_or(end)
        };
        let Some(mut found) = self.find(at, reach) else {
            self.tell_edit_in_program(at);
            let curly = self.curly_json(at, reach);
            return curly.or_else(|| json::data_end(&self.lines[..reach], at));
        };
        let is_sound = |item: &Item| matches!(item, Item::Command(_));
        if found.open || !found.items.iter().all(is_sound) {
            // It may have taken commands of ours for its own lines.
            let boundary = self.tags.next_boundary(at).unwrap_or(end);
            if boundary < found.lines.end {
                self.vain_looks += 1;
                found = self.find(at, boundary)?;
            }
        }
        Some(self.found(found))
    }

    /// Points out a block in the claimed output of a command, where it is not done.
    fn claimed(&mut self, at: usize) -> Option<usize> {
        let reach = self.output_end(at)?;
        let last_file = self.last_file.clone();
        let found = self.find(at, reach);
        self.last_file = last_file;
        let is_sound = |item: &Item| matches!(item, Item::Command(_));
        let found = found.filter(|found| found.items.iter().all(is_sound))?;
        let is_cut = found.open && found.lines.end == self.lines.len();
        (!is_cut).then(|| self.found(found))
    }

    fn curly_json(&mut self, at: usize, reach: usize) -> Option<usize> {
        if self.is_in_program(at) {
            return None;
        }
        let Some(found) = json::find_curly(&self.lines[..reach], at) else {
            return self.doubtful_json(at, reach);
        };
        self.repaired("straightened curly quotes in JSON", 1, true);
        Some(self.found(found))
    }

    /// Tells of calls that may be data, in a reply that asks for nothing else.
    fn doubtful_json(&mut self, at: usize, reach: usize) -> Option<usize> {
        if self.tags.has_work() {
            return None;
        }
        let from = self.free_from;
        let mut found = json::find_doubtful(&self.lines[from..reach], at - from)?;
        found.lines = found.lines.start + from..found.lines.end + from;
        Some(self.found(found))
    }

    /// Asks each dialect for a block at a line, showing it no line from `reach` on.
    pub(super) fn find(&mut self, at: usize, reach: usize) -> Option<Found> {
        let is_in_program = self.is_in_program(at);
        // The end of a code block that holds what was taken above would seem to begin one.
        self.read_fences(at);
        let from = self.free_from.max(self.frames_end.min(at));
        let lines = &self.lines[from..reach];
        let at = at - from;
        let is_edit = patch::begins(lines[at])
            || diff::begins(lines, at)
            || search_replace::is_head(lines[at]);
        if is_edit && self.quoted_in_code(at + from).is_some() {
            return None;
        }
        let lines = &self.lines[from..reach];
        let ends = self.patch_ends.up_to(reach, self.lines.len());
        let mut found = patch::find(lines, at, ends).or_else(|| diff::find(lines, at));
        if found.is_none() && !is_in_program {
            found = json::find(lines, at);
        }
        if found.is_none() && !is_in_program {
            let ends = self
                .xml_ends
                .get_or_insert_with(|| XmlEnds::of(&self.lines));
            found = xml::find(lines, at, from, ends).or_else(|| tokens::find(lines, at));
        }
        if found.is_none() {
            found = search_replace::find(lines, at, self.last_file.as_ref());
            if let Some([Item::Command(command)]) = found.as_ref().map(|found| &found.items[..]) {
                self.last_file = command.path().cloned();
            }
        }
        let mut found = found?;
        found.lines = found.lines.start + from..found.lines.end + from;
        Some(found)
    }

    /// Takes a block of another dialect; returns the line below it.
    pub(super) fn found(&mut self, found: Found) -> usize {
        let Range { start, end } = found.lines;
        let is_last = code_fence::skip_blank(&self.lines, end) == self.lines.len();
        let is_cut = found.open || self.is_cut_in_last_line(&found);
        if is_cut && is_last {
            let what = found.items.iter().find_map(|item| match item {
                Item::Command(command) => Some(subject(command)),
                Item::Problem { command, .. } => command.map(str::to_owned),
            });
            self.cut(start, what.unwrap_or_else(|| "an edit".to_owned()));
            return self.take(start, end);
        }
        for item in found.items {
            match item {
                Item::Command(command) => self.step(start, command),
                Item::Problem {
                    command,
                    message,
                    hint,
                } => self.malformed(start, command, message, hint),
            }
        }
        self.has_just_run = false;
        self.take_with_fences(start, end)
    }

    /// Whether a diff ends with an added line that may be only the beginning of one: its counts do
    /// not say that this line is its last.
    fn is_cut_in_last_line(&self, found: &Found) -> bool {
        let is_patch = |item: &Item| matches!(item, Item::Command(Command::ApplyPatch { .. }));
        self.last_line == LastLine::Open
            && found.lines.end == self.lines.len()
            && self.lines.last().is_some_and(|line| line.starts_with('+'))
            && found.items.iter().any(is_patch)
            && !diff::ends_as_counted(&self.lines[found.lines.clone()])
    }
}
