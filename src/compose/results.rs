//! What became of the last reply, as the model reads it.

use std::fmt::Write as _;

use super::{budget, chars, fenced};
use crate::protocol::{Status, StepResult};
use crate::reply::Issue;
use crate::session::Session;

const HEADING: &str = "\n## Previous Command Results\n";

/// The results section before it is cut to its room.
#[derive(Debug)]
pub(super) struct Results {
    blocks: Vec<Block>,
    remarks: String,
}

/// One result: a line, and what stands below it.
#[derive(Debug)]
struct Block {
    number: u32,
    line: String,
    detail: String,
}

impl Results {
    pub(super) fn new(session: &Session) -> Self {
        let mut blocks: Vec<Block> = session.last_results.iter().map(Block::of_result).collect();
        blocks.extend(session.last_issues.iter().filter_map(Block::of_issue));
        blocks.sort_by_key(|block| block.number);
        let mut remarks = String::new();
        for issue in session
            .last_issues
            .iter()
            .filter(|issue| issue.number.is_none())
        {
            let _ = writeln!(remarks, "- Line {}: {}", issue.line, sentence(issue));
        }
        for repair in &session.last_repairs {
            let _ = writeln!(remarks, "- Repaired in your reply: {repair}");
        }
        Self { blocks, remarks }
    }

    /// The length of the whole section.
    pub(super) fn chars(&self) -> usize {
        if self.blocks.is_empty() && self.remarks.is_empty() {
            return 0;
        }
        HEADING.len() + chars(&self.remarks) + self.blocks.iter().map(Block::chars).sum::<usize>()
    }

    /// The section in this room: every line stays as long as it can, details are cut fairly.
    pub(super) fn fit(&self, room: usize, cuts: &mut Vec<String>) -> String {
        if self.chars() == 0 {
            return String::new();
        }
        let lines: usize = self.blocks.iter().map(|block| chars(&block.line) + 1).sum();
        let fixed = HEADING.len() + chars(&self.remarks) + lines;
        let sizes: Vec<usize> = self
            .blocks
            .iter()
            .map(|block| block.chars() - chars(&block.line) - 1)
            .collect();
        let rooms = budget::shares(&sizes, room.saturating_sub(fixed));
        let mut section = HEADING.to_owned();
        for ((block, size), room) in self.blocks.iter().zip(sizes).zip(rooms) {
            section.push_str(&block.line);
            section.push('\n');
            if size == 0 {
                continue;
            }
            let room = if room < size {
                room.saturating_sub(size - chars(&block.detail))
            } else {
                usize::MAX
            };
            let _ = writeln!(
                section,
                "{}",
                fenced(&budget::both_ends(&block.detail, room))
            );
            if room < size {
                cuts.push(format!("the middle of result {}", block.number));
            }
        }
        section.push_str(&self.remarks);
        if chars(&section) > room {
            section = budget::first_lines(&section, room);
            cuts.push("the last results".to_owned());
        }
        section
    }
}

impl Block {
    fn of_result(result: &StepResult) -> Self {
        let outcome = &result.outcome;
        let subject = match outcome.status {
            Status::Ok | Status::Failed
                if result.command != "RUN_COMMAND" && result.command != "SEARCH_TEXT" =>
            {
                String::new()
            }
            _ if result.subject.is_empty() => String::new(),
            _ => format!("`{}`: ", result.subject),
        };
        Self {
            number: result.number,
            line: format!(
                "{}. [{}] {}: {subject}{}",
                result.number,
                outcome.status.label(),
                result.command,
                outcome.message
            ),
            detail: outcome.detail.text.clone(),
        }
    }

    fn of_issue(issue: &Issue) -> Option<Self> {
        let command = issue.command.as_deref().unwrap_or("COMMAND");
        Some(Self {
            number: issue.number?,
            line: format!(
                "{}. [FAILED] {command}: not understood (line {} of your reply): {}",
                issue.number?,
                issue.line,
                sentence(issue)
            ),
            detail: String::new(),
        })
    }

    fn chars(&self) -> usize {
        let detail = if self.detail.is_empty() {
            0
        } else {
            chars(&fenced(&self.detail)) + 1
        };
        chars(&self.line) + 1 + detail
    }
}

fn sentence(issue: &Issue) -> String {
    let end = if issue.hint.is_empty() {
        String::new()
    } else {
        format!("; {}", issue.hint)
    };
    format!("{}{end}", issue.message)
}
