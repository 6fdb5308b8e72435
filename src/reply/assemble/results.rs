//! Results that the model made up, and what stands among them.
//!
//! A section under one of our own headings goes on up to the end mark or to a fence that frames
//! commands; what is claimed to be a command's output goes on up to the next tag, unless that
//! stands in the code block with the output. No other dialect is looked for in them, and a command
//! that would change or run something is not done.

use super::Assembly;
use crate::reply::invented;
use crate::reply::line::is_blank_or_fence;

/// Whether lines are results that only we can know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Results {
    None,
    /// The output of a command, claimed on this line.
    Output(usize),
    /// A section of our own messages.
    Section,
}

impl Assembly<'_> {
    /// Whether a line stands in such results.
    pub(super) fn is_in_results(&mut self, line: usize) -> bool {
        self.read_fences(line);
        self.results != Results::None
    }

    /// Takes note of a tag: output that is shown above it has come to its end.
    pub(super) fn leave_output(&mut self, line: usize) {
        let frame = self.frame_at(line);
        if let Results::Output(claimed) = self.results
            && frame.is_none_or(|frame| frame.line < claimed)
        {
            self.results = Results::None;
        }
    }

    pub(super) fn leave_results(&mut self) {
        self.results = Results::None;
    }

    /// Looks for results that only we can know.
    pub(super) fn look_for_results(&mut self, at: usize) {
        let line = self.lines[at];
        if is_blank_or_fence(line) {
            return;
        }
        let is_claim = std::mem::take(&mut self.has_just_run) && invented::claims_output(line);
        self.read_fences(at);
        if invented::is_heading(line) {
            self.results = Results::Section;
        } else if is_claim && self.results == Results::None {
            self.results = Results::Output(at);
        } else if !is_claim && !invented::is_outcome(line) {
            return;
        }
        if !std::mem::replace(&mut self.has_results, true) {
            let (message, hint) = invented::told();
            self.issue(at, None, None, message, hint);
        }
    }
}
