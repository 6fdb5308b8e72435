//! Phase two: what the offers of a reply come to.
//!
//! `scan` walks over the lines and asks the recognisers; here the whole reply is known, and each
//! offer is done, told or left out. Where two readings meet, the row further up decides.
//! `tests/precedence.rs` has a test of each row.
//!
//! | # | what stands there | counts as |
//! |---|---|---|
//! | 1 | our own prompt, the model's thinking | nothing |
//! | 2 | a tag alone on its line | ours, in a code block and in a file that is shown too; row 17 has the exceptions |
//! | 3 | lines between a tag and its closing tag | the body, whatever they look like; also of a tag that does not count where it stands |
//! | 4 | results that the model made up or quotes | nothing that changes or runs something; nothing at all in an element for results |
//! | 5 | a code block under a path | that file; an edit only if it is one of it from its first line on |
//! | 6 | a shell block or here-document that writes files, a diff without a place, a string in code | content |
//! | 7 | a sound block of another dialect | itself, across lines that look like tags |
//! | 8 | a block that is not sound and reaches over a tag | itself up to that tag |
//! | 9 | of several dialects on one line: envelope, diff, JSON, XML, tokens, SEARCH/REPLACE | the first |
//! | 10 | JSON that is no call, or that the line above gives to a file of JSON which it does not name | data, with all that stands in it |
//! | 11 | whole files beside commands; diffs and SEARCH/REPLACE blocks above the code block with tags and the end mark; other calls, and tags outside of code blocks, above the frame with more than the end mark | shown; told unless a command changes the file or has the lines of the edit |
//! | | such an edit beside tags without a code block of their own | itself: nothing divides the answer from the rest, an edit that was only shown and fits the file cannot be told from one that was meant, and to leave out the latter loses work |
//! | 12 | two answers to one round | neither, unless they are the same or only look |
//! | 13 | commands in words below the end mark | told, not done |
//! | 14 | a document: front matter, a title with further headings, or headings and code blocks that ask for nothing | told, not done |
//! | 15 | two contents for one file in a reply of whole files; a patch, or a hunk of it, that is sent twice | neither; the first |
//! | 16 | commands above words that take them back: `Sorry, ignore the above` | told, not done |
//! | 17 | a command in an HTML comment, a here-document or a string of a code block, a tag below other lines of a program (`enclosed`); one beside words that call it an example, forbid it, give it up, quote it, ask about it, or offer it for later, on a condition or as one option (`words_against`) | told, not done; done if the end mark is in its code block |
//! | 18 | lines that nothing of this takes and that look like work (`undone`) | told; malformed beside `DONE` if nothing does it; nothing if they certainly quote a file (`quoted_file`) beside tags with an end mark |
//! | 19 | a command in backticks or a quotation among words | told; malformed beside `DONE` if nothing does it |

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use agent_protocol::{Command, EndMark, FileChange, Hunk, RelPath, Step};

use crate::candidate::{
    BlockCandidate, BlockTrouble, CandidateItem, DoubtedMeaning, OfferSource, ReplyOffer, Standing,
};
use crate::carried_out::{CarriedOut, ShownWork};
use crate::code_fence::{self, Fence};
use crate::example;
use crate::file_name;
use crate::invented;
use crate::known_name;
use crate::quoted_file::QuotedFiles;
use crate::scan::{Scanned, ShownFiles, UnclearReason};
use crate::shown_edit;
use crate::trim::{filled_above, is_blank};
use crate::undone::{self, LastFound, UndoneWork};
use crate::whole_file;
use crate::{
    Issue, Reply, TruncatedReply, WorkspaceFileReader, has_body, has_effects, line_index,
    line_number,
};

/// The most issues that are told one by one: a text of nothing but mistakes is not told a million
/// times.
const MAX_ISSUES: usize = 200;

/// A reply without its prose, and the lines that are not prose.
pub(super) struct JudgedReply<'a> {
    pub(super) reply: Reply,
    pub(super) lines: Vec<&'a str>,
    pub(super) blocks: Vec<Range<usize>>,
}

/// Judges all offers of a reply.
pub(super) fn judge<'a>(scanned: Scanned<'a>, file: WorkspaceFileReader<'_>) -> JudgedReply<'a> {
    let Scanned {
        lines,
        offers,
        shown,
        open_block,
    } = scanned;
    let mut ledger = ReplyLedger::default();
    for offer in offers {
        ledger.admit(offer);
    }
    ledger.note_open_block(open_block);
    ledger.settle_answers(&lines);
    ledger.settle_talk();
    let has_tags = shown.has_tags;
    let mut quoted = QuotedFiles::new(file, has_tags && ledger.reply.end.is_some());
    if let Some(end) = ledger.last_end.filter(|_| has_tags) {
        ledger.leave_out_shown_edits(&lines, end, file);
    }
    if ledger.is_empty() && ledger.reply.cut.is_none() && !ledger.has_results {
        ledger.write_files(&lines, shown);
    } else {
        ledger.tell_of_files(&lines, shown, &mut quoted);
    }
    ledger.leave_out_taken_back(&lines);
    ledger.leave_out_examples(&lines);
    if !has_tags && ledger.reply.end.is_none() {
        ledger.refuse_document(&lines);
    }
    ledger.tell_of_undone(&lines, &mut quoted);
    ledger.number();
    ledger.tell_of_untold();
    JudgedReply {
        reply: ledger.reply,
        lines,
        blocks: ledger.blocks,
    }
}

/// Decisions so far.
#[derive(Default)]
struct ReplyLedger {
    reply: Reply,
    blocks: Vec<Range<usize>>,
    /// Lines of each block of another dialect, by the line of its commands.
    dialect_blocks: HashMap<u32, Range<usize>>,
    /// How many commands were met, malformed ones included.
    count: u32,
    untold: Option<UntoldIssues>,
    /// Lines and numbers of blocks that turned out to quote a file. They keep their numbers, so that
    /// those of the commands do not depend on the files.
    quoted: Vec<(u32, Option<u32>)>,
    doubted: Vec<DoubtedCommand>,
    /// Lines of what is there only if the workspace has a file. It is numbered last, so that the other
    /// numbers do not depend on the files.
    known_by_file: HashSet<u32>,
    /// The model made up results.
    has_results: bool,
    last_end: Option<usize>,
    /// First line of another answer to the same round, which contradicts the one above it.
    second_answer: Option<usize>,
}

/// Issues beyond those that are told.
struct UntoldIssues {
    count: usize,
    line: u32,
    /// Number of the first malformed command among them.
    number: Option<u32>,
}

/// A command that was not done and is malformed unless it was only talked about.
struct DoubtedCommand {
    /// The line of its issue.
    line: u32,
    meant: DoubtedMeaning,
}

impl ReplyLedger {
    fn admit(&mut self, offer: ReplyOffer) {
        self.retract(&offer);
        for repair in &offer.repairs {
            self.repaired(&repair.what, repair.count, repair.in_body);
        }
        let line = offer.line;
        match offer.standing {
            Standing::CutOff(what) => self.cut(line, what),
            Standing::Doubted(meant) => {
                if self.reply.issues.len() < MAX_ISSUES {
                    let line = line_number(line);
                    self.doubted.push(DoubtedCommand { line, meant });
                }
                self.items(line, offer.items, offer.is_in_results);
            }
            Standing::Sound => self.items(line, offer.items, offer.is_in_results),
        }
        let is_news = !matches!(offer.source, OfferSource::Invention)
            || !std::mem::replace(&mut self.has_results, true);
        for note in offer.notes.into_iter().filter(|_| is_news) {
            self.issue(line, None, note);
        }
        if matches!(offer.source, OfferSource::Dialect) {
            self.dialect_blocks
                .insert(line_number(line), offer.span.clone());
        }
        if !offer.span.is_empty() {
            self.blocks.push(offer.span);
        }
    }

    /// Takes back what an offer shows to be wrong.
    fn retract(&mut self, offer: &ReplyOffer) {
        match &offer.source {
            OfferSource::End { mark, above } => self.end(offer.line, mark, *above),
            OfferSource::Stray {
                first: Some(first), ..
            } => {
                self.forget_from(*first);
            }
            OfferSource::Restart { first } => {
                let again = self.forget_from(*first) + 1;
                self.repaired(
                    "left out commands that were cut and sent again",
                    again,
                    false,
                );
            }
            _ => {}
        }
    }

    /// Returns true if a command is a patch that the reply has already, which would fit elsewhere now.
    fn is_repeated(&self, command: &Command) -> bool {
        const MOST: usize = 100;
        let mut steps = self.reply.steps.iter().rev().take(MOST);
        matches!(command, Command::ApplyPatch { .. }) && steps.any(|it| it.command == *command)
    }

    fn items(&mut self, line: usize, items: Vec<CandidateItem>, is_in_results: bool) {
        for item in items {
            match item {
                CandidateItem::Command(command) if is_in_results && has_effects(&command) => {
                    self.malformed(line, invented::not_done().of(command.name()));
                }
                CandidateItem::Command(command) if self.is_repeated(&command) => {
                    self.repaired("left out a patch that was sent twice", 1, false);
                }
                CandidateItem::Command(mut command) => {
                    let repeated = remove_repeated_hunks(&mut command);
                    self.repaired("left out a hunk that was sent twice", repeated, false);
                    let step = Step {
                        number: self.next_number(),
                        line: line_number(line),
                        command,
                    };
                    self.reply.steps.push(step);
                }
                CandidateItem::Problem(trouble) => self.malformed(line, trouble),
            }
        }
    }

    /// Takes an end mark; text stands between it and the one on the line `above`, if there is one.
    ///
    /// A mark with another number ends another reply: what stands above the mark before it was sent
    /// for an earlier round, and is neither done again nor shown. A further mark with the same number
    /// ends another answer to the same round: nobody can tell which of them was meant.
    fn end(&mut self, line: usize, mark: &EndMark, above: Option<usize>) {
        let is_other = self.reply.end.as_ref().is_some_and(|last| last != mark);
        match above {
            Some(above) if is_other => self.forget_through(above),
            Some(above) => self.compare_answers(above),
            None => {}
        }
        self.reply.end = Some(mark.clone());
        self.last_end = Some(line);
    }

    fn forget_through(&mut self, earlier: usize) {
        let last = line_number(earlier);
        let steps = &mut self.reply.steps;
        let kept = steps.partition_point(|step| step.line <= last);
        steps.drain(..kept);
        self.reply.issues.retain(|issue| issue.line > last);
        self.second_answer = None;
        self.blocks.push(0..earlier + 1);
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
        let last = line_number(earlier);
        let steps = &self.reply.steps;
        let (first, second) = steps.split_at(steps.partition_point(|step| step.line <= last));
        if first.is_empty() || second.is_empty() {
            return;
        }
        let commands = |steps: &'_ [Step]| -> Vec<Command> {
            steps.iter().map(|step| step.command.clone()).collect()
        };
        if first.len() == second.len() && commands(first) == commands(second) {
            self.forget_from(earlier + 1);
            self.repaired("left out the same answer, pasted once more", 1, false);
        } else if steps.iter().any(|step| has_effects(&step.command)) {
            self.second_answer = Some(earlier + 1);
        }
    }

    /// Takes a code block that is open at the end of a reply without an end mark for a cut, if
    /// commands stand above it.
    fn note_open_block(&mut self, open_block: Option<(usize, String)>) {
        let is_whole = self.reply.end.is_some() || self.reply.cut.is_some();
        if let Some((line, what)) = open_block
            && !is_whole
            && !self.is_empty()
        {
            self.cut(line, what);
        }
    }

    /// Leaves out what is not certain to be the answer.
    fn settle_answers(&mut self, lines: &[&str]) {
        if let Some(line) = self.second_answer {
            self.forget_from(0);
            self.untold = None;
            self.reply.cut = None;
            let trouble = BlockTrouble::new(
                "two different answers to this round stand in the reply, so neither was done",
                "Send one answer, with one end mark as its last line.",
            );
            self.malformed(line, trouble);
        } else if let Some(line) = self.last_end {
            self.leave_out_below(lines, line);
        }
    }

    /// Leaves out the commands in words below the last end mark.
    ///
    /// Those that follow it with nothing between belong to the answer: the mark came too early.
    fn leave_out_below(&mut self, lines: &[&str], end: usize) {
        let mut answer_end = end + 1;
        for block in self.blocks.iter().filter(|block| block.start > end) {
            let between = lines.get(answer_end..block.start).unwrap_or_default();
            if !between.iter().all(|line| is_blank(line)) {
                break;
            }
            answer_end = block.end;
        }
        let steps = &mut self.reply.steps;
        if steps
            .first()
            .is_none_or(|first| first.line > line_number(end))
        {
            return;
        }
        let mut first = None;
        steps.retain(|step| {
            let is_below = step.line > line_number(answer_end).saturating_sub(1);
            let is_out = is_below && has_effects(&step.command);
            if is_out && first.is_none() {
                first = Some((step.line, step.number, step.command.name()));
            }
            !is_out
        });
        if let Some((line, number, name)) = first {
            let trouble = BlockTrouble::new(
                "it stands below the end mark, so it was not done, nor what follows it",
                "Send it again above the end mark, if it was meant.",
            );
            let line = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
            self.issue(line, Some(number), trouble.of(name));
        }
    }

    /// Takes their numbers from the commands that were only talked about, and leaves out work that
    /// the commands do as it is shown.
    fn settle_talk(&mut self) {
        let done = CarriedOut::by(&self.reply.steps);
        let doubted = std::mem::take(&mut self.doubted);
        for DoubtedCommand { line, meant } in doubted.iter().filter(|it| !done.lacks(&it.meant)) {
            let issues = &mut self.reply.issues;
            let Some(at) = issues.iter().rposition(|issue| issue.line == *line) else {
                continue;
            };
            match meant {
                DoubtedMeaning::Shown(work) if done.has_lines(work) => drop(issues.remove(at)),
                _ => issues[at].number = None,
            }
        }
    }

    /// Leaves out diffs and SEARCH/REPLACE blocks that are only shown above the answer, which is the
    /// code block with tags and the end mark on the line `end`.
    ///
    /// They often explain a change, or tell of one that is not to be made. One that is in the file
    /// already asks for nothing.
    fn leave_out_shown_edits(&mut self, lines: &[&str], end: usize, file: WorkspaceFileReader<'_>) {
        let Some(answer) = shown_edit::AnswerBlock::find(lines, &self.blocks, end) else {
            return;
        };
        let dialect_blocks = std::mem::take(&mut self.dialect_blocks);
        let is_edit = |line: u32| {
            let span = dialect_blocks.get(&line);
            span.is_some_and(|span| shown_edit::is_edit(lines, span))
        };
        // A frame with only the end mark or `DONE` in it may close an answer that stands above it.
        let asks = |step: &Step| !matches!(step.command, Command::Done { .. });
        let mut steps = self.reply.steps.iter();
        let has_answer = steps.any(|step| line_index(step.line) > answer.start && asks(step));
        let is_shown = |step: &Step| {
            let is_tag = !dialect_blocks.contains_key(&step.line);
            let is_other = has_answer && has_body(&step.command);
            line_index(step.line) < answer.start
                && (is_edit(step.line)
                    || (is_other && (!is_tag || answer.leaves_out(line_index(step.line)))))
        };
        let steps = std::mem::take(&mut self.reply.steps);
        let (shown, meant): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(is_shown);
        let done = CarriedOut::by(&meant);
        let mut compared = 0;
        let changes_nothing = !meant.iter().any(|step| step.command.changes_files());
        for Step {
            number,
            line,
            command,
        } in shown
        {
            let span = dialect_blocks.get(&line).cloned().unwrap_or_default();
            let is_sent_again = meant.iter().any(|step| step.command == command);
            if is_sent_again || done.has_lines(&ShownWork::added(&lines[span])) {
                continue;
            }
            let paths = command.changed_paths();
            let is_changed = paths.iter().any(|path| done.changes(path.as_str()));
            let what = if is_edit(line) {
                "an edit"
            } else {
                "a command"
            };
            let trouble = BlockTrouble::new(
                format!("{what} above the code block with the answer was only shown"),
                "Send it in the code block with the end mark, if it was meant.",
            );
            let may_be_lost = !is_changed && (done.ends_session || changes_nothing);
            let number = may_be_lost.then_some(number);
            let line = line_index(line);
            compared += 1;
            if compared <= MAX_ISSUES && shown_edit::is_applied(&command, file) {
                self.quote(line, number);
            } else {
                self.issue(line, number, trouble.of(command.name()));
            }
        }
        self.reply.steps = meant;
    }

    /// Leaves out commands that words below them take back.
    fn leave_out_taken_back(&mut self, lines: &[&str]) {
        if !self
            .reply
            .steps
            .iter()
            .any(|step| has_effects(&step.command))
        {
            return;
        }
        let Some(words) = example::taken_back_above(lines, &self.blocks) else {
            return;
        };
        let last = line_number(words);
        let is_out = |step: &Step| step.line <= last && has_effects(&step.command);
        let steps = std::mem::take(&mut self.reply.steps);
        let (out, meant): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(is_out);
        self.reply.steps = meant;
        for step in out {
            let line = line_index(step.line);
            let trouble = example::taken_back().of(step.command.name());
            self.issue(line, Some(step.number), trouble);
        }
    }

    /// Leaves out commands that the words above them call an example; one that is done elsewhere is
    /// no failure, nor is one above an answer with the end mark that goes on.
    fn leave_out_examples(&mut self, lines: &[&str]) {
        let found = example::find(lines, &self.reply.steps, &self.blocks);
        let mut found = found.into_iter().peekable();
        let (mut meant, mut examples) = (Vec::new(), Vec::new());
        for (index, step) in std::mem::take(&mut self.reply.steps)
            .into_iter()
            .enumerate()
        {
            match found.next_if(|(example, _)| *example == index) {
                Some((_, trouble)) => examples.push((step, trouble)),
                None => meant.push(step),
            }
        }
        self.reply.steps = meant;
        let is_short = examples.len() <= MAX_ISSUES;
        let goes_on = self.last_end.is_some() && !CarriedOut::by(&self.reply.steps).ends_session;
        let last = self.reply.steps.last().filter(|_| goes_on);
        let last = last.map_or(0, |step| step.line);
        for (step, trouble) in examples {
            let mut others = self.reply.steps.iter();
            let is_done = is_short && others.any(|it| it.command == step.command);
            let line = line_index(step.line);
            let trouble = trouble.of(step.command.name());
            let is_failure = !is_done && step.line > last;
            self.issue(line, is_failure.then_some(step.number), trouble);
        }
    }

    /// Takes files that stand under their names, in a reply that has nothing else.
    fn write_files(&mut self, lines: &[&str], shown: ShownFiles) {
        let mut files = whole_file::find_all(lines);
        if files.is_empty()
            && let Some(inner) = without_outer_fence(lines)
        {
            files = whole_file::find_all(&inner);
        }
        if !files.is_empty() {
            self.tell_of_doubtful(lines);
        }
        let unclear = shown.unclear.into_iter();
        let mut unclear = unclear
            .filter(|it| it.reason == UnclearReason::Content)
            .peekable();
        let twice = told_twice(&files);
        for mut file in files {
            while unclear.next_if(|it| it.fence < file.span.start).is_some() {}
            if let Some(found) = unclear.next_if(|it| it.fence < file.span.end) {
                file.items = vec![CandidateItem::Problem(found.trouble)];
            }
            if let [CandidateItem::Command(Command::CreateFile { path, .. })] = &file.items[..]
                && twice.contains(path)
            {
                let trouble = BlockTrouble::new(
                    format!(
                        "the reply has two different contents for `{path}`, so neither was written"
                    ),
                    format!("Send the whole file once, as `[CREATE_FILE path=\"{path}\"]`."),
                );
                file.items = vec![CandidateItem::Problem(trouble.of("CREATE_FILE"))];
            }
            if (lines.get(file.span.start)).is_some_and(|line| known_name::is_over(line)) {
                self.known_by_file.insert(line_number(file.span.start));
            }
            self.file(lines, file);
        }
    }

    /// Tells of code blocks beside whole files that may be files, too.
    fn tell_of_doubtful(&mut self, lines: &[&str]) {
        for (fence, name) in whole_file::doubtful_names(lines) {
            let trouble = BlockTrouble::new(
                format!(
                    "the code block under `{name}` was not written: this may not be meant as the name of a file"
                ),
                format!("Send it as `[CREATE_FILE path=\"{name}\"]` if it is a file."),
            );
            self.issue(fence, None, trouble.of("CREATE_FILE"));
        }
    }

    fn file(&mut self, lines: &[&str], file: BlockCandidate) {
        let is_last = code_fence::skip_blank(lines, file.span.end) == lines.len();
        if file.is_open() && is_last {
            self.cut(file.span.start, file.subject());
        } else {
            self.items(file.span.start, file.items, false);
        }
        self.blocks.push(file.span);
    }

    /// Leaves out what a document asks for, which somebody saved in the place of a reply.
    fn refuse_document(&mut self, lines: &[&str]) {
        let is_work = |step: &&Step| crate::has_body(&step.command);
        let asked = self.reply.steps.iter().filter(is_work).count();
        let is_edit = |step: &Step| {
            matches!(
                step.command,
                Command::EditFile { .. } | Command::ApplyPatch { .. }
            )
        };
        let has_edits = self.reply.steps.iter().any(is_edit);
        if asked == 0 || !DocumentSigns::read(lines, &self.blocks).show_document(asked, has_edits) {
            return;
        }
        let steps = std::mem::take(&mut self.reply.steps);
        for step in steps {
            if !has_effects(&step.command) {
                self.reply.steps.push(step);
                continue;
            }
            let trouble = BlockTrouble::new(
                "the reply reads like a document, so this was not done",
                "Send only the commands, in one code block, if they were meant.",
            );
            let line = line_index(step.line);
            self.issue(line, Some(step.number), trouble.of(step.command.name()));
        }
    }

    /// Points out the blocks under a path that were not done, in a reply that has something else.
    ///
    /// Beside commands in tags no block is written, so it does not matter where one ends; one for a
    /// file that is changed elsewhere only shows what is done there. Files that no command changes
    /// may have been meant to be written.
    fn tell_of_files(&mut self, lines: &[&str], shown: ShownFiles, quoted: &mut QuotedFiles<'_>) {
        let steps = std::mem::take(&mut self.reply.steps);
        let done = CarriedOut::by(&steps);
        for unclear in shown.unclear {
            match unclear.reason {
                UnclearReason::End if shown.has_tags => {}
                UnclearReason::Content if done.changes(&unclear.name) => {
                    self.issue(unclear.fence, None, unclear.trouble);
                }
                _ => self.malformed(unclear.fence, unclear.trouble),
            }
        }
        let mut is_told = HashSet::new();
        for (fence, name) in shown.files {
            let work = ShownWork::lines(code_fence::content(lines, fence)).of_file(&name);
            if done.holds(&work) || !is_told.insert(name.clone()) {
                continue;
            }
            let trouble = BlockTrouble::new(
                format!(
                    "the code block under `{name}` was not written, because the reply has commands beside it"
                ),
                format!(
                    "Send it as `[CREATE_FILE path=\"{name}\"]` if it is the whole file, or as `[EDIT_FILE path=\"{name}\"]` if it is a change."
                ),
            );
            let number = done.ends_session.then(|| self.next_number());
            if known_name::is_known(&name) {
                self.known_by_file.insert(line_number(fence));
            }
            if quoted.holds(&name, lines, fence, &self.blocks) {
                self.quote(fence, number);
            } else {
                self.issue(fence, number, trouble.of("CREATE_FILE"));
            }
        }
        self.reply.steps = steps;
    }

    /// Points out work in lines that no recogniser took, unless a command does it; it is malformed
    /// beside `DONE`.
    fn tell_of_undone(&mut self, all: &[&str], quoted: &mut QuotedFiles<'_>) {
        if self.is_empty() {
            return;
        }
        let steps = std::mem::take(&mut self.reply.steps);
        let done = CarriedOut::by(&steps);
        let told = self.reply.issues.iter().map(|issue| issue.line);
        let told: Vec<u32> = told.chain(self.quoted.iter().map(|it| it.0)).collect();
        let LastFound {
            work: undone,
            unused,
        } = undone::find(all, &self.blocks);
        for UndoneWork {
            lines,
            work,
            trouble,
            fence,
        } in undone
        {
            let first = line_number(lines.start);
            let last = line_number(lines.end);
            if done.holds(&work) || told.iter().any(|line| (first..=last).contains(line)) {
                continue;
            }
            let number = done.ends_session.then(|| self.next_number());
            // Only the name of the file it shows, on the line that leads to it, is that of a quotation.
            let shown = match &work.files[..] {
                [name] => fence.map(|fence| (name, fence)),
                _ => None,
            };
            if shown.is_some_and(|(name, fence)| quoted.holds(name, all, fence, &self.blocks)) {
                self.quote(lines.start, number);
            } else {
                self.issue(lines.start, number, trouble);
            }
        }
        self.reply.steps = steps;
        self.note_unused(all, &unused);
    }

    /// Notes the code blocks that come to nothing, in a reply that nothing divides into an answer and
    /// the words around it.
    ///
    /// They are mostly meant for the person. Whoever knows better, because `configure` is a file and no
    /// heading, gets to know it.
    fn note_unused(&mut self, lines: &[&str], unused: &[usize]) {
        const MOST: usize = 5;
        let is_divided = self.reply.end.is_some() || self.has_results;
        if is_divided || !self.reply.steps.iter().any(|it| has_body(&it.command)) {
            return;
        }
        for fence in unused.iter().take(MOST) {
            let heading = filled_above(lines, *fence).and_then(file_name::word);
            let what = match heading {
                Some(heading) => format!("left out the code block under `{heading}`"),
                None => format!("left out the code block on line {}", line_number(*fence)),
            };
            self.repaired(&what, 1, true);
        }
        let more = unused.len().saturating_sub(MOST);
        self.repaired("left out further code blocks", more, true);
    }

    /// Leaves out a block that quotes a file.
    fn quote(&mut self, line: usize, number: Option<u32>) {
        self.quoted.push((line_number(line), number));
    }

    /// Returns true if the reply has no command, malformed ones included.
    fn is_empty(&self) -> bool {
        let is_numbered = |issue: &Issue| issue.number.is_some();
        self.reply.steps.is_empty()
            && !self.reply.issues.iter().any(is_numbered)
            && self.untold.as_ref().is_none_or(|it| it.number.is_none())
    }

    fn malformed(&mut self, line: usize, trouble: BlockTrouble) {
        let number = Some(self.next_number());
        self.issue(line, number, trouble);
    }

    /// Tells of something that could not be used; `number` is that of a malformed command.
    fn issue(&mut self, line: usize, number: Option<u32>, trouble: BlockTrouble) {
        let line = line_number(line);
        if self.reply.issues.len() >= MAX_ISSUES {
            let untold = self.untold.get_or_insert(UntoldIssues {
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
            command: trouble.command.map(str::to_owned),
            message: trouble.message,
            hint: trouble.hint,
        });
    }

    fn next_number(&mut self) -> u32 {
        self.count = self.count.saturating_add(1);
        self.count
    }

    /// Numbers the commands by their lines, and sorts the issues: some were forgotten, others found
    /// late.
    fn number(&mut self) {
        self.reply.issues.sort_by_key(|issue| issue.line);
        let steps = self.reply.steps.iter_mut();
        let steps = steps.map(|step| (step.line, &mut step.number));
        let issues = self.reply.issues.iter_mut();
        let issues = issues.filter_map(|issue| Some((issue.line, issue.number.as_mut()?)));
        let untold = self.untold.iter_mut();
        let untold = untold.filter_map(|untold| Some((untold.line, untold.number.as_mut()?)));
        let quoted = self.quoted.iter_mut();
        let quoted = quoted.filter_map(|(line, number)| Some((*line, number.as_mut()?)));
        let mut numbers: Vec<(u32, &mut u32)> =
            steps.chain(issues).chain(untold).chain(quoted).collect();
        numbers.sort_by_key(|(line, number)| (self.known_by_file.contains(line), *line, **number));
        for (number, (_, place)) in (1..).zip(numbers) {
            *place = number;
        }
        self.reply.steps.sort_by_key(|step| step.number);
    }

    fn tell_of_untold(&mut self) {
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
    fn forget_from(&mut self, first: usize) -> usize {
        let from = line_number(first);
        let mut gone = 0;
        while self.reply.steps.pop_if(|step| step.line >= from).is_some() {
            gone += 1;
        }
        while self
            .reply
            .issues
            .pop_if(|issue| issue.line >= from)
            .is_some()
        {}
        gone
    }

    fn cut(&mut self, line: usize, what: String) {
        self.reply.cut = Some(TruncatedReply {
            line: line_number(line),
            what,
        });
    }

    fn repaired(&mut self, what: &str, count: usize, in_body: bool) {
        crate::add_repair(&mut self.reply.repairs, what, count, in_body);
    }
}

/// Takes the hunks out of a patch that an earlier one of the same stated line repeats: there is only one
/// such place, and the second would be put elsewhere. Returns how many there are.
fn remove_repeated_hunks(command: &mut Command) -> usize {
    let Command::ApplyPatch { changes } = command else {
        return 0;
    };
    let mut count = 0;
    for change in changes {
        if let FileChange::Update { hunks, .. } = change {
            let mut last = HashMap::new();
            let is_repeated = |(at, hunk): (usize, &Hunk)| {
                let before = hunk.old_start.and_then(|line| last.insert(line, at));
                before.is_some_and(|before: usize| hunks[before] == *hunk)
            };
            let repeated: Vec<bool> = hunks.iter().enumerate().map(is_repeated).collect();
            count += repeated.iter().filter(|it| **it).count();
            let mut repeated = repeated.into_iter();
            hunks.retain(|_| repeated.next() != Some(true));
        }
    }
    count
}

/// The files that blocks show with different contents.
fn told_twice(files: &[BlockCandidate]) -> HashSet<RelPath> {
    let mut contents: HashMap<&RelPath, &str> = HashMap::new();
    let mut twice = HashSet::new();
    for item in files.iter().flat_map(|file| &file.items) {
        if let CandidateItem::Command(Command::CreateFile { path, content, .. }) = item
            && contents
                .insert(path, content)
                .is_some_and(|other| other != content)
        {
            twice.insert(path.clone());
        }
    }
    twice
}

/// Signs that a text is a document of some project and not a reply.
#[derive(Default)]
struct DocumentSigns {
    has_front_matter: bool,
    /// It begins with a heading of the first level.
    has_title: bool,
    /// It has elements of MDX, such as `<Tabs>`.
    has_components: bool,
    /// Headings outside of blocks.
    headings: usize,
    code_blocks: usize,
}

impl DocumentSigns {
    fn read(lines: &[&str], blocks: &[Range<usize>]) -> Self {
        const MOST_KEYS: usize = 40;
        const LABEL_AND_FENCE: usize = 3;
        // That of TOML stands between `+++`.
        let first = lines.first().map_or("", |line| line.trim_end());
        let sign = if first == "+++" { " =" } else { ":" };
        let is_key = |line: &&str| {
            line.split_once(sign)
                .is_some_and(|(key, _)| !key.contains(' '))
        };
        let is_rule = |line: &&str| line.trim_end() == first;
        let mut keys = lines.iter().skip(2).take(MOST_KEYS);
        let mut signs = Self {
            has_front_matter: matches!(first, "---" | "+++")
                && lines.get(1).is_some_and(is_key)
                && keys.any(is_rule),
            has_title: (lines.iter().find(|line| !is_blank(line)))
                .is_some_and(|line| line.starts_with("# ")),
            ..Self::default()
        };
        let mut blocks = blocks.to_vec();
        blocks.sort_unstable_by_key(|block| block.start);
        let mut blocks = blocks.into_iter().peekable();
        let mut taken_to = 0;
        let mut open: Option<Fence<'_>> = None;
        for (at, line) in lines.iter().enumerate() {
            while let Some(block) = blocks.next_if(|block| block.start <= at) {
                if block.start >= taken_to && open.is_none() {
                    let mut begun = lines[block.clone()].iter().take(LABEL_AND_FENCE);
                    signs.code_blocks += usize::from(begun.any(|it| Fence::read(it).is_some()));
                }
                taken_to = taken_to.max(block.end);
            }
            if open.is_none() && at < taken_to {
                // Fences in what a command writes are not of the reply.
                continue;
            }
            if let Some(fence) = Fence::read(line) {
                open = match open {
                    Some(open) if fence.closes(&open) => {
                        signs.code_blocks += 1;
                        None
                    }
                    None => Some(fence),
                    open => open,
                };
            } else if open.is_none() {
                let name = line.trim_start_matches('#');
                signs.headings += usize::from(name.len() < line.len() && name.starts_with(' '));
                let mut element = line
                    .trim_start()
                    .strip_prefix('<')
                    .unwrap_or_default()
                    .chars();
                signs.has_components |= element.next().is_some_and(char::is_uppercase)
                    && element.next().is_some_and(char::is_lowercase);
            }
        }
        signs
    }

    /// Returns true if a text with these signs that seems to ask for so much is no reply. Replies with
    /// edits have titles too.
    fn show_document(&self, asked: usize, has_edits: bool) -> bool {
        // A reply explains what it does; a document shows more than it could ask for.
        self.has_front_matter
            || self.has_components
            || (self.has_title && self.headings >= 2.max(asked + 1) && !has_edits)
            || self.headings >= 12
            || (self.headings >= 4 && asked * 2 <= self.code_blocks)
            || (self.code_blocks >= 8 && asked * 4 < self.code_blocks)
    }
}

/// The lines with the first and the last fence blanked, where the last one stands directly below
/// another: they may be as long as those inside.
fn without_outer_fence<'a>(lines: &[&'a str]) -> Option<Vec<&'a str>> {
    let is_fence = |line: &&str| Fence::read(line).is_some();
    let first = lines.iter().position(is_fence)?;
    let last = lines.iter().rposition(is_fence)?;
    let mut above = lines[..last].iter();
    let is_outer = code_fence::is_bare(lines[first])
        && last > first + 1
        && above.rfind(|line| !is_blank(line)).is_some_and(is_fence);
    is_outer.then(|| {
        let mut inner = lines.to_vec();
        inner[first] = "";
        inner[last] = "";
        inner
    })
}
