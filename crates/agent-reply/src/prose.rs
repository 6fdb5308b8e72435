//! The text around the commands, for the person.
//!
//! Without the fences that only wrapped commands, without blank lines in a row, and bounded.

use std::ops::Range;

use super::code_fence::Fence;
use crate::trim::{trim, trim_end};

/// The most that is kept, in bytes.
const MAX_BYTES: usize = 20_000;

/// Who speaks, in the labels that pages put above each turn (`You said:`).
const SPEAKERS: &str = "You,ChatGPT,Claude,Copilot,DeepSeek,Gemini,Grok,Kimi,Le Chat,Perplexity,\
    Qwen";

/// Returns true for the label of a page, which is nobody's words.
fn is_page_label(line: &str) -> bool {
    let line = trim(line);
    let speaker = line.strip_suffix(" said:").or(line.strip_suffix(" said"));
    speaker.is_some_and(|speaker| SPEAKERS.split(',').any(|known| known == speaker))
}

/// Joins the lines that are in no block.
pub(super) fn around(lines: &[&str], blocks: &mut [Range<usize>]) -> String {
    blocks.sort_unstable_by_key(|block| block.start);
    let mut prose = Prose::default();
    let mut at = 0;
    for block in blocks.iter() {
        for line in lines.get(at..block.start).unwrap_or_default() {
            prose.line(line);
        }
        prose.block();
        at = at.max(block.end);
    }
    for line in lines.get(at..).unwrap_or_default() {
        prose.line(line);
    }
    prose.finish()
}

#[derive(Default)]
struct Prose<'a> {
    text: String,
    /// The fence that is open: where it stands in the text, and whether a block came since.
    fence: Option<(Fence<'a>, usize, bool)>,
    is_full: bool,
}

impl<'a> Prose<'a> {
    fn line(&mut self, line: &'a str) {
        if self.is_full {
            return;
        }
        if let Some(fence) = Fence::read(line) {
            return self.fence(line, fence);
        }
        if self.fence.is_some() || !is_page_label(line) {
            self.push(line);
        }
    }

    fn fence(&mut self, line: &'a str, fence: Fence<'a>) {
        match self.fence.take() {
            Some((open, at, wrapped)) if fence.closes(&open) => {
                if !wrapped && self.text[at..].trim_end().len() > open.info.len() + 3 {
                    self.push(line);
                } else {
                    self.remove_line(at);
                }
            }
            None => {
                self.fence = Some((fence, self.text.len(), false));
                self.push(line);
            }
            inside => {
                self.fence = inside;
                self.push(line);
            }
        }
    }

    fn block(&mut self) {
        if let Some((_, _, wrapped)) = &mut self.fence {
            *wrapped = true;
        }
    }

    fn push(&mut self, line: &str) {
        let line = trim_end(line);
        if line.is_empty() && (self.text.is_empty() || self.text.ends_with("\n\n")) {
            return;
        }
        if self.text.len() + line.len() > MAX_BYTES {
            self.text.push_str("[...]\n");
            self.is_full = true;
            return;
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Takes out the fence line that begins at this place.
    fn remove_line(&mut self, at: usize) {
        let rest = &self.text[at..];
        let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
        self.text.replace_range(at..at + end, "");
    }

    fn finish(mut self) -> String {
        if let Some((_, at, true)) = self.fence
            && !self.is_full
        {
            self.remove_line(at);
        }
        self.text.trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_fences_that_only_wrapped_commands() {
        let lines = [
            "Hello", "", "``````", "[DONE]", "``````", "", "", "```", "x", "```",
        ];
        let mut blocks = Vec::from_iter([3..4, 4..4]);
        assert_eq!(around(&lines, &mut blocks), "Hello\n\n```\nx\n```");
    }

    #[test]
    fn is_bounded() {
        let lines = vec!["some words"; 10_000];
        let prose = around(&lines, &mut []);
        assert!(prose.len() < MAX_BYTES + 10);
        assert!(prose.ends_with("[...]"));
    }

    #[test]
    fn labels_of_the_page_are_nobodys_words() {
        let lines = [
            "You said:",
            "The doctor said:",
            "ChatGPT said:",
            "Hello.",
            "```",
            "You said:",
            "```",
        ];
        let prose = around(&lines, &mut []);
        assert_eq!(prose, "The doctor said:\nHello.\n```\nYou said:\n```");
    }
}
