//! What the model is told, bounded: a text of nothing but mistakes is not told a million times.

use super::{Assembly, number};
use crate::Issue;

/// The most issues that are told one by one.
const MAX_ISSUES: usize = 200;

/// The issues beyond those.
#[derive(Debug)]
pub(super) struct Untold {
    count: usize,
    line: u32,
    /// The number of the first malformed command among them.
    number: Option<u32>,
}

impl Assembly<'_> {
    /// Tells of something that could not be used; `number` is that of a malformed command.
    pub(super) fn issue(
        &mut self,
        line: usize,
        number: Option<u32>,
        command: Option<&str>,
        message: String,
        hint: String,
    ) {
        let line = super::number(line);
        if !self.has_room_for_issues() {
            let untold = self.untold.get_or_insert(Untold {
                count: 0,
                line,
                number: None,
            });
            untold.count += 1;
            untold.number = untold.number.or(number);
            return;
        }
        self.reply.issues.push(Issue {
            line,
            number,
            command: command.map(str::to_owned),
            message,
            hint,
        });
    }

    /// Whether the next issue is told.
    pub(super) fn has_room_for_issues(&self) -> bool {
        self.reply.issues.len() < MAX_ISSUES
    }

    /// Counts the commands once more, by their lines: some were forgotten, others found late.
    pub(super) fn count_again(&mut self) {
        let steps = self.reply.steps.iter_mut();
        let steps = steps.map(|step| (step.line, &mut step.number));
        let issues = self.reply.issues.iter_mut();
        let issues = issues.filter_map(|issue| Some((issue.line, issue.number.as_mut()?)));
        let untold = self.untold.iter_mut();
        let untold = untold.filter_map(|untold| Some((untold.line, untold.number.as_mut()?)));
        let mut numbers: Vec<(u32, &mut u32)> = steps.chain(issues).chain(untold).collect();
        numbers.sort_by_key(|(line, number)| (*line, **number));
        self.count = 0;
        for (_, number) in numbers {
            self.count = self.count.saturating_add(1);
            *number = self.count;
        }
    }

    /// Tells how many issues are not told.
    pub(super) fn tell_of_untold(&mut self) {
        if let Some(untold) = self.untold.take() {
            self.reply.issues.push(Issue {
                line: untold.line,
                number: untold.number,
                command: None,
                message: format!("{} further problems are not told", untold.count),
                hint: "Correct those above first.".to_owned(),
            });
        }
    }

    /// Forgets the commands and issues from a line on; returns how many commands they were.
    pub(super) fn forget_from(&mut self, first: usize) -> usize {
        let from = number(first);
        let mut gone = 0;
        while self.reply.steps.pop_if(|step| step.line >= from).is_some() {
            gone += 1;
            self.count -= 1;
        }
        while let Some(issue) = self.reply.issues.pop_if(|issue| issue.line >= from) {
            self.count -= u32::from(issue.number.is_some());
        }
        self.bodies.retain(|_, ended| ended.lines.start < first);
        self.has_just_run = false;
        gone
    }
}
