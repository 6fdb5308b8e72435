//! From lines to a `Reply`: one walk from the top, each block taken by whoever knows it.
//!
//! A tag is ours; anything else is offered to the other dialects; what nobody wants is prose. Each
//! line belongs to one block or to the prose, and a command gets its number where it begins.
//!
//! Where two readings overlap, the row further up decides. `tests/precedence.rs` has a test of each.
//!
//! | # | what stands there | counts as |
//! |---|---|---|
//! | 1 | our own prompt, the model's thinking | nothing |
//! | 2 | a tag alone on its line | ours, in a code block and in a file that is shown too |
//! | 3 | lines between a tag and its closing tag | the body, whatever they look like |
//! | 4 | results that the model made up | nothing that changes or runs something |
//! | 5 | a code block under a path | that file; an edit only if it is one of it from its first line on |
//! | 6 | a shell block that writes files, a string or here-document in code | content |
//! | 7 | a sound block of another dialect | itself, across lines that look like tags |
//! | 8 | a block that is not sound and reaches over a tag | itself up to that tag |
//! | 9 | of several dialects on one line: envelope, diff, JSON, XML, tokens, SEARCH/REPLACE | the first |
//! | 10 | JSON that is no call | data, with all that stands in it |
//! | 11 | whole files beside commands | shown; told unless a command changes them |
//! | 12 | two answers to one round | neither, unless they are the same or only look |
//! | 13 | commands in words below the end mark | told, not done |
//! | 14 | a command in backticks or a quotation among words | told; malformed beside `DONE` if nothing does it |

use std::collections::HashMap;
use std::ops::Range;

use super::code_fence::Enclosure;
use super::repair::{Changed, Done};
use super::tags::{Name, Tags, copy_button};
use super::{Repair, Reply, TruncatedReply, code_fence, invented, own_message, prose, thinking};
use super::{patch, whole_file, work};
use crate::trim::{is_blank, lead, trim};
use agent_protocol::{Command, RelPath, Step};
use shown::CodeBlocks;

mod angled;
mod dialect;
mod doubt;
mod frame;
mod issues;
mod quoted;
mod results;
mod rounds;
mod shown;
mod tagged;
mod talk;

use doubt::Ended;
use issues::Untold;
use results::Results;
use talk::Talk;

/// How many blocks may be followed beyond the next tag in vain, before every further one is looked
/// for only up to there: what keeps hostile text from being slow.
const VAIN_LOOKS: u32 = 16;

const OWN_MESSAGE: &str = "left out our own prompt, which was copied along";

/// Turns repaired text into a reply; `done` is what was done to it before.
pub(super) fn assemble(text: &str, done: &[Done]) -> Reply {
    let mut lines = super::trim::lines(text);
    let messages = own_message::remove(text, &mut lines);
    let thoughts = thinking::remove(text, &mut lines);
    let tags = Tags::of(&lines);
    let mut assembly = Assembly {
        lines,
        tags: &tags,
        reply: Reply::default(),
        blocks: Vec::new(),
        free_from: 0,
        frame: None,
        frames_end: 0,
        fences_read_to: 0,
        bodies: HashMap::new(),
        has_just_run: false,
        last_file: None,
        count: 0,
        untold: None,
        has_results: false,
        results: Results::None,
        knows_no_prompt: false,
        vain_looks: 0,
        has_angled: None,
        quotes_read_to: 0,
        last_end: None,
        second_answer: None,
        talk: Talk::default(),
        code: CodeBlocks::default(),
        patch_ends: patch::KnownEnds::default(),
        xml_ends: None,
        unquoted_to: 0,
        last_line: if text.ends_with('\n') {
            LastLine::Whole
        } else {
            LastLine::Open
        },
    };
    assembly.walk();
    assembly.find_cut_block();
    assembly.settle_answers();
    assembly.settle_talk();
    assembly.count_again();
    if assembly.count == 0 && assembly.reply.cut.is_none() && !assembly.has_results {
        assembly.whole_files();
    } else {
        assembly.tell_unclear();
    }
    assembly.count_again();
    assembly.tell_of_untold();
    assembly.repaired("left out the model's thinking", thoughts.len(), false);
    assembly.repaired(OWN_MESSAGE, messages.len(), false);
    let repairs = done.iter().map(|done| assembly.told(done)).collect();
    let own = std::mem::replace(&mut assembly.reply.repairs, repairs);
    assembly.reply.repairs.extend(own);
    assembly.blocks.extend(messages);
    assembly.reply.prose = prose::around(&assembly.lines, &mut assembly.blocks);
    assembly.reply
}

struct Assembly<'a> {
    lines: Vec<&'a str>,
    tags: &'a Tags<'a>,
    reply: Reply,
    /// The lines that are not prose.
    blocks: Vec<Range<usize>>,
    /// The first line below the last block: no dialect may look above it.
    free_from: usize,
    /// The code block that is open above `fences_read_to`, bodies aside.
    frame: Option<Enclosure<'a>>,
    /// The line below the last one that was closed and holds a block that was taken.
    frames_end: usize,
    /// The first line whose fence was not yet looked at.
    fences_read_to: usize,
    /// Of each name the last command, if a closing tag without a mark ended it.
    bodies: HashMap<Name, Ended>,
    /// Whether only blank lines and fences stand between here and a command to run.
    has_just_run: bool,
    /// The file of the last SEARCH/REPLACE block: the next one may go on with it.
    last_file: Option<RelPath>,
    /// How many commands there are so far, malformed ones included.
    count: u32,
    /// The issues beyond those that are told.
    untold: Option<Untold>,
    /// Whether the model made up results.
    has_results: bool,
    /// Whether these lines are such results.
    results: Results,
    /// Whether it is known that no prompt of ours follows.
    knows_no_prompt: bool,
    vain_looks: u32,
    /// Whether a tag in angle brackets stands anywhere that can be nothing else, once it is known.
    has_angled: Option<bool>,
    /// The first line whose quote mark was not yet looked at.
    quotes_read_to: usize,
    /// The line of the last end mark.
    last_end: Option<usize>,
    /// The first line of another answer to the same round, which contradicts the one above it.
    second_answer: Option<usize>,
    talk: Talk,
    code: CodeBlocks<'a>,
    patch_ends: patch::KnownEnds,
    /// Where elements are closed, once somebody asked.
    xml_ends: Option<crate::xml::XmlEnds>,
    /// The line below the last part that was read without its quote marks.
    unquoted_to: usize,
    last_line: LastLine,
}

/// How the text ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastLine {
    /// With a line end.
    Whole,
    /// Without one, so that the line may be cut.
    Open,
}

impl Assembly<'_> {
    fn walk(&mut self) {
        let mut coming = self.tags.below(0).iter().peekable();
        let mut at = 0;
        while at < self.lines.len() {
            while coming.next_if(|tag| tag.line < at).is_some() {}
            let next = match coming.peek() {
                Some(tag) if tag.line == at => self.tag(tag),
                _ if self.is_plain(at) => Some(at + 1),
                _ => {
                    self.unindent(at);
                    self.follow_fence(at);
                    self.unquote(at);
                    self.dialect(at)
                }
            };
            at = match next {
                Some(end) => end.max(at + 1),
                None => self.prose(at),
            };
        }
    }

    /// Whether a line begins as nothing does that anybody looks for, as most lines do.
    fn is_plain(&self, at: usize) -> bool {
        let line = self.lines[at];
        !self.has_just_run && begins_nothing(line) && !ends_as_tag(line)
    }

    /// Takes files that stand under their names, in a reply that has nothing else.
    fn whole_files(&mut self) {
        let mut files = whole_file::find_all(&self.lines);
        if files.is_empty() {
            files = whole_file::find_all(&without_outer_fence(&self.lines));
        }
        self.without_unclear(&mut files);
        for file in files {
            self.found(file);
        }
    }

    /// Looks at a line that nobody knows; returns the next one to look at.
    fn prose(&mut self, at: usize) -> usize {
        let line = self.lines[at];
        if self.is_shown(at) {
            return self.crowded_tag(at).unwrap_or(at + 1);
        }
        if copy_button::is_button(trim(line)) {
            let labels = copy_button::around(&self.lines, self.free_from, at);
            let is_button = |line: &&&str| copy_button::is_button(trim(line));
            let buttons = self.lines[labels.clone()].iter().filter(is_button).count();
            self.lines[labels].fill("");
            self.repaired("removed the words of a copy button", buttons, false);
        } else if let Some(end) = self.own_prompt(at) {
            self.repaired(OWN_MESSAGE, 1, false);
            return self.take(at, end);
        } else if let Some(end) = self.angled(at).or_else(|| self.crowded_tag(at)) {
            return end;
        } else {
            self.look_for_results(at);
        }
        at + 1
    }

    /// Where the prompt of ours ends that begins here, below a command that seemed to hold it.
    fn own_prompt(&mut self, at: usize) -> Option<usize> {
        if self.knows_no_prompt || !own_message::begins(self.lines[at]) {
            return None;
        }
        let end = own_message::end(&self.lines, at);
        self.knows_no_prompt = end.is_none();
        end
    }

    fn step(&mut self, line: usize, command: Command) {
        if self.is_in_results(line) && has_effects(&command) {
            let (message, hint) = invented::not_done();
            return self.malformed(line, Some(command.name()), message, hint);
        }
        let step = Step {
            number: self.next_number(),
            line: number(line),
            command,
        };
        self.reply.steps.push(step);
    }

    /// Whether the reply says that the work is done.
    fn ends_session(&self) -> bool {
        let mut commands = self.reply.steps.iter().map(|step| &step.command);
        commands.any(|command| matches!(command, Command::Done { .. }))
    }

    fn malformed(&mut self, line: usize, command: Option<&str>, message: String, hint: String) {
        let number = Some(self.next_number());
        self.issue(line, number, command, message, hint);
        self.has_just_run = false;
    }

    fn next_number(&mut self) -> u32 {
        self.count = self.count.saturating_add(1);
        self.count
    }

    fn cut(&mut self, line: usize, what: String) {
        self.reply.cut = Some(TruncatedReply {
            line: number(line),
            what,
        });
    }

    /// A repair of the whole text, and whether it reached into a body.
    fn told(&self, done: &Done) -> Repair {
        let in_body = match &done.changed {
            Changed::Nothing => false,
            Changed::Everything => self.reply.steps.iter().any(|step| has_body(&step.command)),
            Changed::Lines(lines) => self.blocks.iter().any(|block| {
                // The tags themselves are no body.
                let first = lines.partition_point(|line| *line <= block.start);
                lines.get(first).is_some_and(|line| *line + 1 < block.end)
            }),
        };
        Repair {
            what: done.what.to_owned(),
            count: u32::try_from(done.count).unwrap_or(u32::MAX),
            in_body,
        }
    }

    fn repaired(&mut self, what: &str, count: usize, in_body: bool) {
        super::add_repair(&mut self.reply.repairs, what, count, in_body);
    }

    /// How many lines of these are neither blank nor a fence; counts no further than two.
    fn texts(&self, lines: Range<usize>) -> usize {
        let lines = self.lines.get(lines).unwrap_or_default();
        let is_text = |line: &&&str| !super::line::is_blank_or_fence(line);
        let passed = lines.iter().inspect(|_| work::count(1));
        passed.filter(is_text).take(2).count()
    }

    fn take(&mut self, start: usize, end: usize) -> usize {
        self.follow_taken(start, end);
        self.read_fences(start);
        self.fences_read_to = self.fences_read_to.max(end);
        self.blocks.push(start..end);
        self.free_from = end;
        end
    }
}

/// Whether a line is blank, or begins with no mark that counts and with no letter that begins a diff
/// (`diff`, `Index:`) or the name of a button (`Copy`, `Edit`).
fn begins_nothing(line: &str) -> bool {
    const MARKS: &[u8] = b"*-+@{[<>=#`~dICES";
    lead(line)
        .is_none_or(|lead| lead.is_ascii() && !lead.is_ascii_digit() && !MARKS.contains(&lead))
}

/// Whether a line may end with a tag, decoration aside.
fn ends_as_tag(line: &str) -> bool {
    crate::trim::trim_end(line)
        .trim_end_matches(['*', '`'])
        .ends_with(']')
}

/// The lines with the first and the last fence blanked, where the last one stands directly below
/// another: they may be as long as those inside.
fn without_outer_fence<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut inner = lines.to_vec();
    let is_fence = |line: &&str| code_fence::Fence::read(line).is_some();
    let first = lines.iter().position(is_fence);
    let last = lines.iter().rposition(is_fence);
    if let (Some(first), Some(last)) = (first, last)
        && code_fence::is_bare(lines[first])
        && last > first + 1
        && lines[..last]
            .iter()
            .rfind(|line| !is_blank(line))
            .is_some_and(is_fence)
    {
        inner[first] = "";
        inner[last] = "";
    }
    inner
}

fn has_body(command: &Command) -> bool {
    command.changes_files() || matches!(command, Command::RunCommand { .. })
}

/// Whether a command does more than to look or to tell.
fn has_effects(command: &Command) -> bool {
    has_body(command) || matches!(command, Command::Done { .. })
}

/// A few words that tell a command from its neighbours.
fn subject(command: &Command) -> String {
    match command.path() {
        Some(path) => format!("{} {path}", command.name()),
        None => command.name().to_owned(),
    }
}

/// A line as people count them, from 1.
fn number(line: usize) -> u32 {
    u32::try_from(line).map_or(u32::MAX, |line| line.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tags::{crowded, read_angled};
    use super::super::{diff, json, search_replace};
    use super::*;

    proptest! {
        /// Holds the short cut of `walk` to what it passes over.
        #[test]
        fn nobody_wants_a_line_that_begins_nothing(
            lead in "[ \t]{0,3}[!-~]{0,2}",
            rest in "(iff --git |iff --cc |ndex: |opy code|opy|dit|[ -~\u{201c}]{0,12})",
            next in "(\\+\\+\\+ b|=====|\\{\"|--- a|\\*\\*\\*\\*\\*|[ -~]{0,6})",
        ) {
            let line = format!("{lead}{rest}");
            let lines = [line.as_str(), next.as_str(), "*****", "x"];
            if begins_nothing(&line) {
                prop_assert!(patch::find(&lines, 0, &mut patch::Ends::default()).is_none());
                prop_assert!(code_fence::Fence::read(&line).is_none());
                prop_assert!(diff::find(&lines, 0).is_none());
                prop_assert!(json::find(&lines, 0).is_none());
                prop_assert!(json::find_curly(&lines, 0).is_none());
                prop_assert!(search_replace::find(&lines, 0, None).is_none());
                prop_assert!(read_angled(0, &line).is_none());
                prop_assert!(crowded(&line).is_none());
                prop_assert!(!quoted::is_quoted(&line));
                prop_assert!(!copy_button::is_button(line.trim()));
                prop_assert!(!invented::is_heading(&line) && !invented::is_outcome(&line));
            }
        }
    }
}
