//! End marks, and several replies in one paste.
//!
//! A mark with another number below text of its own ends another reply: what stands above the mark
//! before it was sent for an earlier round, and is neither done again nor shown. A further mark with
//! the same number ends another answer to the same round: nobody can tell which of them was meant.
//! What stands in words below the last mark is no part of the answer.

use super::{Assembly, has_effects, number};
use crate::trim::is_blank;
use agent_protocol::EndMark;

impl Assembly<'_> {
    /// Takes an end mark; returns the line below it.
    pub(super) fn end(&mut self, line: usize, mark: &EndMark) -> usize {
        let is_other = self.reply.end.as_ref().is_some_and(|last| last != mark);
        let last = self.last_end;
        if let Some(earlier) = last.filter(|earlier| self.texts(earlier + 1..line) > 0) {
            if is_other {
                self.forget_through(earlier);
            } else {
                self.compare_answers(earlier);
            }
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
        let steps = &mut self.reply.steps;
        let kept = steps.partition_point(|step| step.line <= last);
        steps.drain(..kept);
        self.reply.issues.retain(|issue| issue.line > last);
        self.second_answer = None;
        self.blocks.push(0..earlier + 1);
        self.bodies.retain(|_, ended| ended.first > earlier);
        self.repaired(
            "left out an earlier reply, which was pasted along",
            1,
            false,
        );
    }

    /// Compares the answers above and below the end mark on this line.
    ///
    /// A mark above or below which no command stands is only mentioned, and to look twice is no
    /// contradiction.
    fn compare_answers(&mut self, earlier: usize) {
        let last = number(earlier);
        let steps = &self.reply.steps;
        let (first, second) = steps.split_at(steps.partition_point(|step| step.line <= last));
        if first.is_empty() || second.is_empty() {
            return;
        }
        let commands = |at: usize| (first.get(at), second.get(at));
        let is_same = first.len() == second.len()
            && (0..first.len()).map(commands).all(|(first, second)| {
                first.map(|step| &step.command) == second.map(|step| &step.command)
            });
        if is_same {
            self.forget_from(earlier + 1);
            self.repaired("left out the same answer, pasted once more", 1, false);
        } else if steps.iter().any(|step| has_effects(&step.command)) {
            self.second_answer = Some(earlier + 1);
        }
    }

    /// Leaves out what is not certain to be the answer, when the whole reply is known.
    pub(super) fn settle_answers(&mut self) {
        if let Some(line) = self.second_answer {
            self.forget_from(0);
            self.untold = None;
            self.reply.cut = None;
            let message =
                "two different answers to this round stand in the reply, so neither was done";
            let hint = "Send one answer, with one end mark as its last line.";
            self.malformed(line, None, message.to_owned(), hint.to_owned());
        } else if let Some(line) = self.last_end {
            self.leave_out_below(line);
        }
    }

    /// Leaves out the commands in words below the last end mark.
    ///
    /// Those that follow it with nothing between belong to the answer: the mark came too early.
    fn leave_out_below(&mut self, end: usize) {
        let mut answer_end = end + 1;
        for block in self.blocks.iter().filter(|block| block.start > end) {
            let between = self.lines.get(answer_end..block.start).unwrap_or_default();
            if !between.iter().all(|line| is_blank(line)) {
                break;
            }
            answer_end = block.end;
        }
        let steps = &mut self.reply.steps;
        if steps.first().is_none_or(|first| first.line > number(end)) {
            return;
        }
        let is_left_out =
            |line: u32, is_effect: bool| is_effect && line > number(answer_end).saturating_sub(1);
        let mut first = None;
        steps.retain(|step| {
            let is_out = is_left_out(step.line, has_effects(&step.command));
            if is_out && first.is_none() {
                first = Some((step.line, step.number, step.command.name()));
            }
            !is_out
        });
        if let Some((line, number, name)) = first {
            let message = "it stands below the end mark, so it was not done, nor what follows it";
            let hint = "Send it again above the end mark, if it was meant.";
            let line = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
            self.issue(
                line,
                Some(number),
                Some(name),
                message.to_owned(),
                hint.to_owned(),
            );
        }
    }
}
