//! The results of the last reply, as the model reads them.

use std::cmp::Reverse;
use std::fmt::Write as _;

use super::budget::{self, CUT_WORDS, Claim, Rank};
use super::content::fenced;
use super::cuts::Cuts;
use super::{Section, chars};
use crate::excerpt::excerpt;
use crate::protocol::{Issue, Status, StepResult};
use crate::session::Session;

pub(super) const HEADING: &str = "\n## Previous Command Results\n";

/// The least that is worth telling of a result, in characters: its number, its status and its
/// command.
const WORTH: usize = 40;

/// The room for the note about results that are left out.
const NOT_TOLD: usize = 50;

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
    rank: Rank,
    line: String,
    detail: String,
}

impl Results {
    pub(super) fn new(session: &Session) -> Self {
        let mut blocks: Vec<Block> = session.last_results.iter().map(Block::of_result).collect();
        blocks.extend(session.last_issues.iter().filter_map(Block::of_issue));
        blocks.sort_by_key(|block| block.number);
        fold_equal(&mut blocks);
        let mut remarks = String::new();
        for issue in session
            .last_issues
            .iter()
            .filter(|issue| issue.number.is_none())
        {
            let command = issue.command.as_deref().map(|name| format!("{name}: "));
            let command = command.unwrap_or_default();
            let _ = writeln!(
                remarks,
                "- Line {}: {command}{}",
                issue.line,
                issue.line_for_model()
            );
        }
        for repair in &session.last_repairs {
            let _ = writeln!(remarks, "- In your reply: {repair}");
        }
        Self { blocks, remarks }
    }

    /// Divides the room among the results; `None` for those that are left out.
    ///
    /// Where a share would be too small to say anything, the failures come first, then the others in
    /// their order.
    fn rooms(&self, rooms: &[usize]) -> Vec<Option<usize>> {
        let least = |at: usize| {
            let heading = if at == 0 { chars(HEADING) } else { 0 };
            self.blocks[at].chars().min(WORTH) + heading
        };
        let rooms = &rooms[..self.blocks.len()];
        if (0..).zip(rooms).all(|(at, room)| *room >= least(at)) {
            return rooms.iter().copied().map(Some).collect();
        }
        let all: usize = rooms.iter().sum();
        let mut left = all.saturating_sub(NOT_TOLD + chars(HEADING));
        let mut order: Vec<usize> = (0..rooms.len()).collect();
        order.sort_by_key(|at| Reverse(self.blocks[*at].rank));
        let mut told = vec![None; rooms.len()];
        for at in order {
            let least = self.blocks[at].chars().min(WORTH);
            if let Some(rest) = left.checked_sub(least) {
                (told[at], left) = (Some(least), rest);
            }
        }
        // Whichever comes first has the heading above it.
        if let Some(first) = told.iter_mut().flatten().next() {
            *first += chars(HEADING);
        }
        told
    }
}

/// A failure that reads like an earlier one is told once.
fn fold_equal(blocks: &mut [Block]) {
    let words = |block: &Block| {
        block
            .line
            .split_once(". ")
            .map(|(_, words)| words.to_owned())
    };
    for at in 1..blocks.len() {
        let (earlier, rest) = blocks.split_at_mut(at);
        let block = &mut rest[0];
        let is_same = |other: &&Block| {
            other.rank == block.rank && words(other) == words(block) && other.detail == block.detail
        };
        let same = earlier.iter().find(is_same).map(|other| other.number);
        if let Some(number) = same.filter(|_| block.rank == Rank::Failure) {
            let label = block.line.split(": ").next().unwrap_or_default();
            block.line = format!("{label}: as in step {number}");
            block.detail.clear();
        }
    }
}

impl Section for Results {
    fn claims(&self) -> Vec<Claim> {
        let heading = std::iter::once(chars(HEADING)).chain(std::iter::repeat(0));
        let blocks = self.blocks.iter().zip(heading);
        let mut claims: Vec<Claim> = blocks
            .map(|(block, heading)| Claim {
                rank: block.rank,
                need: block.chars() + heading,
                least: block.least() + heading,
            })
            .collect();
        let heading = if claims.is_empty() { chars(HEADING) } else { 0 };
        if !self.remarks.is_empty() {
            let need = chars(&self.remarks) + heading;
            claims.push(Claim {
                rank: Rank::Failure,
                need,
                least: need.min(CUT_WORDS + heading),
            });
        }
        claims
    }

    fn fit(&self, rooms: &[usize], cuts: &mut Cuts) -> String {
        let mut section = String::new();
        let heading = |section: &str| if section.is_empty() { HEADING } else { "" };
        let rooms_of_blocks = self.rooms(rooms);
        for (block, room) in self.blocks.iter().zip(&rooms_of_blocks) {
            let Some(room) = room else {
                cuts.cut_result("all", block.number);
                continue;
            };
            let heading = heading(&section);
            section.push_str(heading);
            block.write(&mut section, room.saturating_sub(chars(heading)), cuts);
        }
        let not_told = rooms_of_blocks.iter().filter(|room| room.is_none()).count();
        if not_told > 0 && !section.is_empty() {
            let _ = writeln!(section, "[TRUNCATED: {not_told} results are not told]");
        }
        if !self.remarks.is_empty() {
            let heading = heading(&section);
            let room = rooms.last().copied().unwrap_or_default();
            let room = room.saturating_sub(chars(heading));
            if chars(&self.remarks) <= room {
                section.push_str(heading);
                section.push_str(&self.remarks);
            } else {
                cuts.push("some remarks about the last reply".to_owned());
                if room >= CUT_WORDS {
                    section.push_str(heading);
                    section.push_str(&budget::first_lines(&self.remarks, room));
                }
            }
        }
        section
    }
}

impl Block {
    fn of_result(result: &StepResult) -> Self {
        let outcome = &result.outcome;
        let subject = match outcome.status {
            Status::Ok | Status::Failed if !result.has_text_subject() => String::new(),
            _ if result.subject.is_empty() => String::new(),
            _ => format!("`{}`: ", result.subject),
        };
        Self {
            number: result.number,
            rank: match outcome.status {
                Status::Ok => Rank::Success,
                Status::Failed | Status::Refused | Status::Skipped => Rank::Failure,
            },
            line: format!(
                "{}. [{}] {}: {subject}{}",
                result.number,
                outcome.status.label(),
                result.command,
                outcome.line_for_model()
            ),
            detail: outcome.detail.text.clone(),
        }
    }

    fn of_issue(issue: &Issue) -> Option<Self> {
        let command = issue.command.as_deref().unwrap_or("COMMAND");
        Some(Self {
            number: issue.number?,
            rank: Rank::Failure,
            line: format!(
                "{}. [FAILED] {command}: not understood (line {} of your reply): {}",
                issue.number?,
                issue.line,
                issue.line_for_model()
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

    /// The line, and a word about what is missing below it.
    fn least(&self) -> usize {
        let all = self.chars();
        all.min(all - chars(&self.detail) + CUT_WORDS)
    }

    /// Writes the line and as much below it as fits; at the worst the beginning of the line.
    fn write(&self, section: &mut String, room: usize, cuts: &mut Cuts) {
        let line = chars(&self.line) + 1;
        if line > room {
            let start: String = self.line.chars().take(room.saturating_sub(5)).collect();
            let _ = writeln!(section, "{start} ...");
            return cuts.cut_result("most", self.number);
        }
        let _ = writeln!(section, "{}", self.line);
        let frame = self.chars() - line - chars(&self.detail);
        if self.detail.is_empty() {
            return;
        }
        if line + frame + CUT_WORDS > room && self.chars() > room {
            return cuts.cut_result("most", self.number);
        }
        let left = room - line - frame;
        let detail = excerpt(&self.detail, left);
        let _ = writeln!(section, "{}", fenced(&detail));
        if chars(&self.detail) > left {
            cuts.cut_result("some", self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_failures_are_told_once() {
        let block = |number: u32, rank, words: &str, detail: &str| Block {
            number,
            rank,
            line: format!("{number}. {words}"),
            detail: detail.to_owned(),
        };
        let failed = "[FAILED] EDIT_FILE: `a`: not found";
        let mut blocks = [
            block(1, Rank::Failure, failed, "lines\n"),
            block(2, Rank::Success, "[OK] X: y", ""),
            block(3, Rank::Failure, failed, "lines\n"),
            block(4, Rank::Success, "[OK] X: y", ""),
            block(5, Rank::Failure, failed, "others\n"),
        ];
        fold_equal(&mut blocks);
        let lines: Vec<&str> = blocks.iter().map(|block| block.line.as_str()).collect();
        assert_eq!(lines[2], "3. [FAILED] EDIT_FILE: as in step 1");
        assert_eq!(blocks[2].detail, "");
        assert_eq!(
            (lines[3], blocks[4].detail.as_str()),
            ("4. [OK] X: y", "others\n")
        );
    }
}
