//! End marks, and replies to several rounds in one paste.
//!
//! A mark with another number below text of its own ends another reply: what stands above the mark
//! before it was sent for an earlier round, and is neither done again nor shown.

use super::{Assembly, number};
use crate::protocol::EndMark;

impl Assembly<'_> {
    /// Takes an end mark; returns the line below it.
    pub(super) fn end(&mut self, line: usize, mark: &EndMark) -> usize {
        let is_other = self.reply.end.as_ref().is_some_and(|last| last != mark);
        let earlier = self.last_end.filter(|_| is_other);
        if let Some(earlier) = earlier.filter(|earlier| self.texts(earlier + 1..line) > 0) {
            self.forget_through(earlier);
        }
        self.read_fences(line);
        self.leave_results();
        self.reply.end = Some(mark.clone());
        self.last_end = Some(line);
        self.last_file = None;
        self.take(line, line + 1)
    }

    /// Forgets all commands up to the end mark on this line.
    fn forget_through(&mut self, earlier: usize) {
        let last = number(earlier);
        let before = self.count;
        let steps = &mut self.reply.steps;
        let kept = steps.partition_point(|step| step.line <= last);
        steps.drain(..kept);
        self.reply.issues.retain(|issue| issue.line > last);
        let numbered = self
            .reply
            .issues
            .iter_mut()
            .filter_map(|issue| issue.number.as_mut());
        let numbers = self.reply.steps.iter_mut().map(|step| &mut step.number);
        let mut numbers: Vec<&mut u32> = numbers.chain(numbered).collect();
        let first = numbers.iter().map(|number| **number).min();
        let gone = first.map_or(before, |first| first - 1);
        for number in &mut numbers {
            **number -= gone;
        }
        self.count = before - gone;
        self.blocks.push(0..earlier + 1);
        self.bodies.retain(|_, ended| ended.first > earlier);
        self.repaired(
            "left out an earlier reply, which was pasted along",
            1,
            false,
        );
    }
}
