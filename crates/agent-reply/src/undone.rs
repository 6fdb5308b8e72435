//! The last look at a reply: work in lines that no recogniser took.
//!
//! A recogniser is strict, because what it finds is carried out. Here nothing is carried out: the
//! only question is whether the lines show work that somebody expects to be done. The arbiter asks
//! for it again unless a command of the reply does it.
//!
//! | what stands there | told as |
//! |---|---|
//! | a tag of ours behind words or HTML, in other brackets or letters, or closed among words | a tag |
//! | a tool that the table knows where one is called, with a parameter beside or below it, in whatever notation | a call |
//! | an XML element of a tool or for a file, the tokens of a page | a call |
//! | `4c4`, `edit 4:4`, `<<<<` with `>>>>` below, `Find:` over `Replace:`, changed lines in a cell of a table | an edit |
//! | `rm`, `mv`, `touch` or `sed -i` of a file in backticks, or another command that writes one | a command |
//! | a row of a table, or two lines with labels, with a file, its old and its new text | an edit |
//! | JSON that maps the name of a file to its lines | a call |
//! | a code block that names a file, or beside a line that names one and leads to it | a file |
//! | a code block below words that ask for a change and name no file | a change in words |
//! | code without a code block below a line that is only the name of a file, in whatever frame or call, or indented below one that leads to it | a file |
//! | a block of org-mode, reStructuredText or AsciiDoc that names a file, or below a line that leads to it | a file |

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

use crate::candidate::BlockTrouble;
use crate::carried_out::ShownWork;
use crate::code_fence::{self, Fence};
use crate::keyed_text::KeyedTexts;
use crate::line::{begins_with, ends_with_colon, has_word, is_blank_or_fence, is_number};
use crate::recognise::shown;
use crate::tags::{FileContent, LooseTag, Name};
use crate::trim::{is_blank, trim};
use crate::xml::XmlEnds;
use crate::{file_name, script, tools, whole_file, work};

/// How many values in braces are looked into: this bounds the time that hostile text can cost.
const MOST_VALUES: usize = 500;

/// Where the text of a block of `AsciiDoc` begins and ends.
const ASCIIDOC_MARK: &str = "----";

/// Work that is shown and not carried out.
pub(super) struct UndoneWork {
    /// The lines that show it.
    pub(super) lines: Range<usize>,
    pub(super) work: ShownWork,
    pub(super) trouble: BlockTrouble,
    /// The first line of the code block that it is, if it is the text of a file.
    pub(super) fence: Option<usize>,
}

/// What the last look at a reply finds.
#[derive(Default)]
pub(super) struct LastFound {
    pub(super) work: Vec<UndoneWork>,
    /// The first lines of code blocks that show no work and are not for a shell: anything, from an
    /// output to a file whose name looks like a heading.
    pub(super) unused: Vec<usize>,
}

/// The work in lines that are in none of the blocks.
pub(super) fn find(lines: &[&str], blocks: &[Range<usize>]) -> LastFound {
    let mut look = LastLook {
        lines,
        is_taken: code_fence::in_blocks(lines.len(), blocks),
        ends: OnceCell::new(),
        values: 0,
        searched: None,
        found: Vec::new(),
        unused: Vec::new(),
    };
    look.walk();
    LastFound {
        work: look.found,
        unused: look.unused,
    }
}

struct LastLook<'a> {
    lines: &'a [&'a str],
    is_taken: Vec<bool>,
    ends: OnceCell<XmlEnds>,
    values: usize,
    /// The code block above, if its label calls it the text to look for.
    searched: Option<usize>,
    found: Vec<UndoneWork>,
    unused: Vec<usize>,
}

/// Where a line stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LookPlace {
    /// Among words, or at the beginning of a code block.
    Open,
    /// Further down in a code block.
    Inside,
    /// At the beginning of a program, where JSON and tags are data.
    Program,
}

impl<'a> LastLook<'a> {
    fn walk(&mut self) {
        let mut at = 0;
        // The code block that commands stand in, whose end begins no other.
        let mut around: Option<Fence<'_>> = None;
        while at < self.lines.len() {
            work::count(1);
            let fence = Fence::read(self.lines[at]).filter(|_| !self.is_taken[at]);
            let is_end = |around: &mut Fence<'_>| fence.is_some_and(|fence| fence.closes(around));
            let is_end = around.take_if(is_end).is_some();
            if let Some(fence) = fence.filter(|fence| !is_end && !fence.is_frame()) {
                at = self.code_block(at, &fence);
                let is_open = self.is_taken.get(at).is_some_and(|is_taken| *is_taken);
                around = is_open.then_some(fence);
            } else {
                let told = self.found.len();
                self.quotation(at);
                self.line(at, LookPlace::Open);
                if self.found.len() == told && !self.is_taken[at] {
                    self.bare_diff(at);
                    self.other_block(at);
                    self.titled(at);
                    self.labelled_values(at);
                    self.table_row(at);
                }
                at += 1;
            }
        }
    }

    /// Looks at the code blocks of the quotation that begins on a line.
    fn quotation(&mut self, at: usize) {
        let is_quoted =
            |line: usize| !self.is_taken[line] && trim(self.lines[line]).starts_with('>');
        if !is_quoted(at) || (at > 0 && is_quoted(at - 1)) {
            return;
        }
        let quoted = (at..self.lines.len()).take_while(|line| is_quoted(*line));
        let inner = |line: usize| self.lines[line].trim_start_matches(['>', ' ']);
        let lines: Vec<&str> = quoted.map(inner).collect();
        if !lines.iter().any(|line| Fence::read(line).is_some()) {
            return;
        }
        let blocks = find(&lines, &[]).work.into_iter();
        let blocks = blocks.filter(|it| it.fence.is_some());
        self.found.extend(blocks.map(|it| UndoneWork {
            lines: at + it.lines.start..at + it.lines.end,
            fence: it.fence.map(|fence| at + fence),
            ..it
        }));
    }

    /// Looks at a code block; returns the line below it, or the first line in it that a command took.
    fn code_block(&mut self, at: usize, fence: &Fence<'_>) -> usize {
        let mut rest = at + 1..self.lines.len();
        let end = rest.find(|line| self.is_taken[*line] || fence.is_closed_by(self.lines[*line]));
        let end = end.unwrap_or(self.lines.len());
        let is_named = whole_file::named(self.lines, at, 0, fence).is_some();
        let is_program = shown::is_program(fence);
        let first = code_fence::skip_blank(self.lines, at + 1);
        let told = self.found.len();
        let is_json = first < end && trim(self.lines[first]).starts_with('{');
        if is_json && tools::has_effects(fence.info) {
            let call = self.keyed_call(first, 0, Some(fence.info));
            self.found
                .extend(call.map(|it| self.told(first, "a call", it)));
        }
        for line in (at + 1..end).filter(|_| !is_named) {
            match line == first {
                true if is_program => self.line(line, LookPlace::Program),
                true => self.line(line, LookPlace::Open),
                false if is_program => {}
                false => self.line(line, LookPlace::Inside),
            }
        }
        if end < self.lines.len() && self.is_taken[end] {
            return end;
        }
        if self.found.len() == told {
            self.file(at, at + 1..end, fence);
        }
        if self.found.len() == told && first < end {
            self.asked_change(at, at + 1..end, fence);
        }
        let is_script = || self.lines[first].starts_with("#!");
        let is_for_person = || !whole_file::is_taken(fence.language(), "") && !is_script();
        if self.found.len() == told && first < end && !is_for_person() {
            self.unused.push(at);
        }
        end + 1
    }

    fn line(&mut self, at: usize, place: LookPlace) {
        const WIDE_MARKS: [char; 3] = ['\u{3010}', '\u{ff3b}', '\u{ff5c}'];
        let is_mark = |byte| matches!(byte, b'[' | b'{' | b'<' | b'|' | b'=' | b'(' | b':');
        let line = self.lines[at];
        if self.is_taken[at] {
            return;
        }
        if place == LookPlace::Open && line.contains('`') {
            let mut quoted = line.split('`').skip(1).step_by(2);
            let left =
                |code: &'a str| script::file_left_by(code).filter(|_| code.starts_with("touch "));
            let written = quoted.find_map(|code| {
                let name = script::file_written_by(code).or_else(|| left(code));
                Some((code, name?))
            });
            let work = written.map(|(code, name)| ShownWork::lines(&[code]).of_file(name));
            let told = work.map(|work| self.told(at, "a command in words", (at..at + 1, work)));
            self.found.extend(told);
        }
        let is_numbered = line.starts_with(|c: char| c.is_ascii_digit());
        let has_mark = line.bytes().any(is_mark) || (!line.is_ascii() && line.contains(WIDE_MARKS));
        let is_rename = line.starts_with("rename from ");
        if !(is_numbered || has_mark || is_rename) {
            return;
        }
        let tag = || self.tag(at).filter(|_| place != LookPlace::Program);
        let found = tag().or_else(|| self.call(at, place));
        self.found.extend(found);
    }

    fn tag(&self, at: usize) -> Option<UndoneWork> {
        let Some(tag) = LooseTag::find(self.lines[at]) else {
            let name = bare_tag(self.lines[at])?;
            return Some(self.told(at, name, (at..at + 1, ShownWork::default())));
        };
        Some(UndoneWork {
            lines: at..at + 1,
            work: ShownWork::lines(tag.body.as_slice()).of_files(tag.path),
            trouble: tag.trouble(),
            fence: None,
        })
    }

    fn call(&mut self, at: usize, place: LookPlace) -> Option<UndoneWork> {
        if self.found.last().is_some_and(|it| at < it.lines.end) {
            return None;
        }
        let line = trim(self.lines[at]);
        let bare = |is_it: bool| is_it.then(|| (at..at + 1, ShownWork::default()));
        let call = self.begun_call(at, place);
        let call = call.or_else(|| self.element(at, place));
        if let Some(call) = call.or_else(|| bare(has_token(line))) {
            return Some(self.told(at, "a call", call));
        }
        let is_free = place != LookPlace::Inside || begins_with(line, "edit |rename from ");
        let edit = self.edit(at).filter(|_| is_free);
        let edit = edit.or_else(|| bare(is_diff_cell(line)))?;
        Some(self.told(at, "an edit", edit))
    }

    /// Work on a line that nobody reads in this notation.
    fn told(&self, at: usize, what: &str, (lines, work): (Range<usize>, ShownWork)) -> UndoneWork {
        let mut shown: String = trim(self.lines[at]).chars().take(80).collect();
        if let [name] = &work.files[..]
            && !shown.contains(name)
        {
            shown = format!("{shown}` for `{name}");
        }
        UndoneWork {
            lines,
            work,
            trouble: BlockTrouble::new(
                format!("{what} was not understood, so it was not done: `{shown}`"),
                "Send it as a command of the protocol, if it was meant.",
            ),
            fence: None,
        }
    }

    /// A call that begins on a line: with the name of a tool, with a key that names one, or with a
    /// brace.
    fn begun_call(&mut self, at: usize, place: LookPlace) -> Option<(Range<usize>, ShownWork)> {
        let line = self.lines[at];
        let opened = opened_tool(line).filter(|_| place != LookPlace::Inside);
        if let Some(call) = opened.and_then(|name| self.bracketed(at, name)) {
            return Some(call);
        }
        let may_begin = place == LookPlace::Open || line.starts_with("[[");
        let is_begun = opened.is_some() || (may_begin && begins_with_key(line));
        let found = is_begun.then(|| self.keyed_call(at, 0, opened));
        found.flatten().or_else(|| {
            let brace = outside_code(line, '{').next()?;
            let is_data = place == LookPlace::Program && !is_blank(&line[..brace]);
            (!is_data).then(|| self.keyed_call(at, brace, None))?
        })
    }

    /// The lines between the name of a tool in brackets and its closing tag: `[BASH]` and `[/BASH]`.
    fn bracketed(&mut self, at: usize, name: &str) -> Option<(Range<usize>, ShownWork)> {
        const MOST_LINES: usize = 400;
        if self.values >= MOST_VALUES || trim(self.lines[at]) != format!("[{name}]") {
            return None;
        }
        self.values += 1;
        let end = format!("[/{name}]");
        let mut below = self.lines[at + 1..].iter().take(MOST_LINES);
        let length = below.position(|line| trim(line).eq_ignore_ascii_case(&end))?;
        let body = &self.lines[at + 1..=at + length];
        Some((at..at + length + 2, ShownWork::lines(body)))
    }

    /// A call with keys, from a byte of a line on. It goes on to a blank line or the end of a code
    /// block; what a label leads to belongs to it.
    fn keyed_call(
        &mut self,
        at: usize,
        start: usize,
        opened: Option<&str>,
    ) -> Option<(Range<usize>, ShownWork)> {
        const MOST_LINES: usize = 40;
        if self.values >= MOST_VALUES {
            return None;
        }
        self.values += 1;
        let mut text = self.lines[at][start..].to_owned();
        let mut end = at + 1;
        for line in &self.lines[at + 1..] {
            let is_led = ends_with_colon(self.lines[end - 1]);
            let is_end = is_blank_or_fence(line) && !is_led;
            if is_end || self.is_taken[end] || end > at + MOST_LINES {
                break;
            }
            text.push('\n');
            text.push_str(line);
            end += 1;
        }
        let work = KeyedTexts::read(&text).work(opened)?;
        Some((at..end, work))
    }

    /// A call, an artifact or the text of a file, as an XML element that begins on a line and holds
    /// nothing that was taken. Only one that begins its line may have a name of one word, as `<run>`.
    fn element(&self, at: usize, place: LookPlace) -> Option<(Range<usize>, ShownWork)> {
        let (lines, line) = (self.lines, self.lines[at]);
        let near = || lines[at..lines.len().min(at + 2)].join("\n");
        let (start, name, last) = outside_code(line, '<').find_map(|start| {
            let name = element(&line[start + 1..])?;
            let begins = || place != LookPlace::Inside && is_blank(&line[..start]);
            let is_plain = || line[start + 1 + name.len()..].starts_with('>');
            let is_call = match name {
                "antArtifact" => true,
                "artifact" | "old_text" | "old_string" | "old_str" => begins(),
                "command" => begins() && is_plain(),
                name if tools::has_effects(name) => {
                    name.contains(['_', '-']) || (begins() && is_plain())
                }
                _ => begins() && KeyedTexts::read(&near()).names_file(),
            };
            let ends = || self.ends.get_or_init(|| XmlEnds::of(lines));
            let is_short = line.contains(&format!("</{name}>"));
            let last = is_call.then(|| is_short.then_some(at).or_else(|| ends().next(name, at)));
            Some((start, name, last??))
        })?;
        let inner = line[start..].split_once('>').map_or("", |(_, inner)| inner);
        let inner = inner.split(&format!("</{name}>")).next();
        let body = inner
            .as_slice()
            .iter()
            .chain(&lines[at + 1..last.max(at + 1)]);
        let is_done = self.is_taken[at..=last].contains(&true);
        (!is_done).then(|| (at..last + 1, ShownWork::lines(body)))
    }

    /// An edit in a notation that nobody reads: `4c4`, `edit 4:4`, or lines between `<<<<` and `>>>>`
    /// that are no conflict of git.
    fn edit(&mut self, at: usize) -> Option<(Range<usize>, ShownWork)> {
        const MOST_LINES: usize = 400;
        const CONFLICTS: [&str; 3] = ["HEAD", "ours", "Updated upstream"];
        let line = trim(self.lines[at]);
        let below = &self.lines[at + 1..];
        let find =
            |is_end: &dyn Fn(&str) -> bool| below.iter().take(MOST_LINES).position(|it| is_end(it));
        if let Some(name) = line.strip_prefix("rename from ") {
            let is_rename = below.first().is_some_and(|it| it.starts_with("rename to "));
            let work = ShownWork::default().of_file(name);
            return is_rename.then_some((at..at + 2, work));
        }
        if is_diff_place(line) {
            let is_changed = |line: &&&str| line.starts_with(['<', '>', '-', '\\']);
            let changed: Vec<&str> = below.iter().take_while(is_changed).copied().collect();
            let added = changed.iter().filter_map(|line| line.strip_prefix("> "));
            let work = ShownWork::lines(&added.collect::<Vec<_>>());
            return (!changed.is_empty()).then_some((at..at + 1 + changed.len(), work));
        }
        if let Some(range) = line.strip_prefix("edit ").filter(|it| is_edit_range(it)) {
            let mark = script::here_document_mark(range).unwrap_or("end_of_edit");
            let is_first = at > 0 && Fence::read(self.lines[at - 1]).is_some();
            let fence = || find(&|it| Fence::read(it).is_some()).filter(|_| is_first);
            let length = find(&|it| trim(it) == mark).or_else(fence)?;
            return Some((at..at + length + 2, ShownWork::lines(&below[..length])));
        }
        let is_conflict = || CONFLICTS.iter().any(|word| line.contains(word));
        if !line.starts_with("<<<<") || is_conflict() || self.values >= MOST_VALUES {
            return None;
        }
        self.values += 1;
        let middle = find(&|it| trim(it).starts_with("==="))?;
        let last = find(&|it| trim(it).starts_with(">>>>"))?;
        let work = ShownWork::lines(below.get(middle + 1..last)?);
        Some((at..at + last + 2, work))
    }

    /// Lines with the marks of a diff and nothing that says where they belong.
    fn bare_diff(&mut self, at: usize) {
        let is_marked = |line: usize| {
            !self.is_taken[line] && self.lines[line].starts_with(['+', '-', ' ', '\t'])
        };
        if !is_marked(at) || (at > 0 && is_marked(at - 1)) {
            return;
        }
        let rest = at..self.lines.len();
        let length = rest.take_while(|line| is_marked(*line)).count();
        let lines = &self.lines[at..at + length];
        if is_changed_code(lines) {
            let work = ShownWork::added(lines);
            let told = self.told(at, "a diff without its file", (at..at + length, work));
            self.found.push(told);
        }
    }

    /// The file that a code block is meant for, if the line above it names one and leads to it, or
    /// if it names one itself.
    fn file(&mut self, at: usize, content: Range<usize>, fence: &Fence<'_>) {
        const OUTPUTS: &str = "console output log logs traceback";
        let language = fence.language();
        let lines = &self.lines[content.clone()];
        let inside = || {
            let name = whole_file::named_at_top(lines).or_else(|| written_by_ed(fence, lines));
            let name = name.or_else(|| only_name_at_top(lines));
            let names = name.map_or_else(|| named_in(fence.info, lines), |name| vec![name]);
            if !names.is_empty() {
                return Some((at, names));
            }
            let asked = file_name::of_language(language).filter(|_| self.is_asked_for(at))?;
            Some((at, vec![asked]))
        };
        let led = self.led_from(at).or_else(inside);
        let led = led.or_else(|| self.under_heading(at));
        let Some((line, names)) = led.or_else(|| self.told_below(at, content.end)) else {
            self.labelled_edit(at, content);
            return;
        };
        if has_word(OUTPUTS, language)
            || !whole_file::is_taken(language, names[0])
            || lines.iter().all(|line| is_blank(line))
        {
            return;
        }
        self.shown_file(line..content.end, &names, content, Some(at));
    }

    /// Tells of the text of a file that was only shown.
    fn shown_file(
        &mut self,
        lines: Range<usize>,
        names: &[&str],
        content: Range<usize>,
        fence: Option<usize>,
    ) {
        let name = names[0];
        let what = fence.map_or("text", |_| "code block");
        let trouble = BlockTrouble::new(
            format!(
                "the {what} for `{name}` was only shown: nothing says that it is the whole file"
            ),
            format!(
                "Send it as `[CREATE_FILE path=\"{name}\"]` if it is the whole file, or as `[EDIT_FILE path=\"{name}\"]` if it is a change."
            ),
        );
        let work = ShownWork::lines(&self.lines[content]);
        self.found.push(UndoneWork {
            lines,
            work: work.of_files(names.iter().copied()),
            trouble: trouble.of("CREATE_FILE"),
            fence,
        });
    }

    /// Code that stands below the name of a file without a code block: `=== a.py ===`, `> a.py` in a
    /// quotation, `a.py` over `<pre>`.
    fn titled(&mut self, at: usize) {
        const LONGEST: usize = 160;
        const MOST_LINES: usize = 60;
        const LABELS: &str = "begin code content contents file filename filepath full in name new now of \
            path read reads source src start the updated";
        let title = self.lines[at];
        let is_told = |it: &UndoneWork| at < it.lines.end;
        let called = called_name(title);
        let framed = framed_name(title).or(called);
        let is_long = title.len() > LONGEST || self.values >= MOST_VALUES;
        let is_of_block = title.starts_with('.') && self.begins_asciidoc(at + 1);
        if is_long || is_of_block || (framed.is_none() && !title.contains('.')) {
            return;
        }
        let names = framed.map_or_else(|| file_name::in_words(title), |name| vec![name]);
        let [name] = names[..] else { return };
        let words = file_name::words_beside(title, name);
        let first = code_fence::skip_blank(self.lines, at + 1);
        let is_pre = (self.lines.get(first)).is_some_and(|line| trim(line).starts_with("<pre"));
        let is_led = is_pre && leads_to_work(title, name);
        let is_label = |word: &String| has_word(LABELS, word) || has_word(WORK, word);
        let is_title =
            (framed.is_some() && called.is_none()) || words.iter().all(is_label) || is_led;
        if !is_title || self.found.last().is_some_and(is_told) {
            return;
        }
        self.values += 1;
        let below = (first..self.lines.len()).take(MOST_LINES);
        let below = below.take_while(|line| !self.is_taken[*line]);
        let is_filled = |line: &usize| self.lines[*line].contains(char::is_alphanumeric);
        let shown: Vec<usize> = below.filter(is_filled).collect();
        let (mut code, mut end) = (0, at + 1);
        for (above, line) in shown.iter().enumerate() {
            if is_code(self.lines[*line], name) {
                (code, end) = (code + 1, line + 1);
            } else if code * 2 < above {
                break;
            }
        }
        let is_sentence = |line: &usize| trim(self.lines[*line]).ends_with(['.', '!', '?']);
        let is_fence = |line: &&str| Fence::read(line).is_some();
        let is_sentence = shown.first().is_none_or(is_sentence);
        let is_filled = is_pre || !(is_sentence || self.lines.get(first).is_some_and(is_fence));
        let is_indented = ends_with_colon(title)
            && self
                .lines
                .get(first)
                .is_some_and(|line| line.starts_with("    ") || line.starts_with('\t'));
        let is_framed = ((framed.is_some() || is_led || is_indented) && is_filled)
            || (words.iter().any(|word| word == "begin") && !shown.is_empty());
        if code > 1 || (code == 1 && shown.len() == 1) || is_framed {
            let end = end.max(first + 1);
            // A few lines at its top may stand in commands for another file.
            let is_rest = |line: &usize| !self.is_taken[*line] && !is_fence(&self.lines[*line]);
            let rest = (end..self.lines.len()).take(MOST_LINES);
            let content = first..end + rest.take_while(is_rest).count();
            self.shown_file(at..end, &[name], content, None);
        }
    }

    /// A block of org-mode, reStructuredText or `AsciiDoc` whose head or title names a file, or that a line
    /// leads to.
    fn other_block(&mut self, at: usize) {
        let head = trim(self.lines[at]);
        let is_org = is_org(head, "#+begin_src");
        let is_rst = begins_with(head, ".. code-block::|.. code::|.. sourcecode::");
        let is_adoc = self.begins_asciidoc(at);
        if !(is_org || is_rst || is_adoc) || self.values >= MOST_VALUES {
            return;
        }
        self.values += 1;
        let is_end = |line: &&str| {
            let is_left = || !is_blank(line) && !line.starts_with([' ', '\t']);
            match () {
                () if is_org => is_org_end(line),
                () if is_adoc => trim(line) == ASCIIDOC_MARK,
                () => is_left(),
            }
        };
        let first = at + 1 + usize::from(is_adoc);
        let below = &self.lines[first..];
        let end = first + below.iter().position(is_end).unwrap_or(below.len());
        let is_option = |line: &&&str| is_rst && trim(line).starts_with(':');
        let options = below.iter().take_while(is_option).copied();
        let above = self.line_above(at).map_or("", |line| self.lines[line]);
        let title = above.strip_prefix('.').filter(|_| is_adoc);
        let texts = std::iter::once(head).chain(options).chain(title);
        let names: Vec<&str> = texts.flat_map(file_name::in_words).collect();
        let own = (!names.is_empty()).then_some((at, names));
        let Some((line, names)) = own.or_else(|| self.led_from(at)) else {
            return;
        };
        let content = first..end;
        let is_done = self.is_taken[at..end].contains(&true);
        if !is_done
            && !self.lines[content.clone()]
                .iter()
                .all(|line| is_blank(line))
        {
            self.shown_file(line..end, &names, content, None);
        }
    }

    fn begins_asciidoc(&self, at: usize) -> bool {
        let is_mark = |line: &&str| trim(line) == ASCIIDOC_MARK;
        let head = self.lines.get(at).map_or("", |line| trim(line));
        head.starts_with("[source") && self.lines.get(at + 1).is_some_and(is_mark)
    }

    /// The line that leads to the code block at `at`, and the files that it names.
    fn led_from(&self, at: usize) -> Option<(usize, Vec<&'a str>)> {
        let mut line = self.line_above(at)?;
        if let Some(name) = framed_name(self.lines[line]) {
            return Some((line, vec![name]));
        }
        let is_label = label(self.lines[line]).is_some();
        if is_label {
            line = self.line_above(line)?;
        }
        let text = without_elements(self.lines[line]);
        let names = named_in(self.lines[line], &self.lines[at + 1..]);
        let first = names.first()?;
        let leads = is_label || leads_to_work(&text, first);
        leads.then_some((line, names))
    }

    /// Returns true if the line above a code block asks for it: `Add this target:`.
    fn is_asked_for(&self, at: usize) -> bool {
        let above = self.line_above(at).map(|line| self.lines[line]);
        above.is_some_and(|line| {
            ends_with_colon(line) && asks_first(&file_name::words_beside(line, "`"))
        })
    }

    /// A change without the name of its file: ``Replace `f` with:`` over a code block.
    fn asked_change(&mut self, at: usize, content: Range<usize>, fence: &Fence<'_>) {
        const OTHERS: &str = "console log output terminal text";
        let language = fence.language();
        let may_be_change = whole_file::is_taken(language, "") && !has_word(OTHERS, language);
        let Some(line) = self.line_above(at).filter(|_| may_be_change) else {
            return;
        };
        let is_for_person = |line: &str| {
            let words = file_name::words_beside(line, "`");
            words.iter().any(|word| has_word(shown::PERSON, word))
        };
        if self.is_asked_for(at) && !is_for_person(self.lines[line]) {
            let work = ShownWork::lines(&self.lines[content.clone()]);
            let told = self.told(line, "a change in words", (line..content.end, work));
            self.found.push(told);
        }
    }

    /// The heading of the words above the code block at `at`, and the files that it names, if these
    /// words do not tell of something that is there or was done.
    fn under_heading(&self, at: usize) -> Option<(usize, Vec<&'a str>)> {
        const MOST_LINES: usize = 16;
        let is_other =
            |line: &usize| self.is_taken[*line] || Fence::read(self.lines[*line]).is_some();
        let above = (0..at).rev().take(MOST_LINES);
        let mut above = above.take_while(|line| !is_other(line));
        let heading = above.find(|line| is_heading(self.lines[*line]))?;
        let text = self.lines[heading];
        let names = match file_name::alone(text) {
            Some(name) if file_name::names_file(text, name) => vec![name],
            _ => file_name::in_words(text),
        };
        let words = self.lines[heading + 1..at].iter();
        let tells = words
            .clone()
            .any(|line| tells(&file_name::words_beside(line, "`"), PRESENT));
        (leads_to_work(text, names.first()?) && !tells).then_some((heading, names))
    }

    /// The next line above that has words, if nothing took it.
    fn line_above(&self, at: usize) -> Option<usize> {
        let mut above = (at.saturating_sub(2)..at).rev();
        let line = above.find(|line| !is_blank(self.lines[*line]))?;
        let is_free = !self.is_taken[line] && Fence::read(self.lines[line]).is_none();
        is_free.then_some(line)
    }

    /// The files of a line below a code block that says where to put it: ``Save this as `a.py`.``
    fn told_below(&self, at: usize, end: usize) -> Option<(usize, Vec<&'a str>)> {
        let below = code_fence::skip_blank(self.lines, end + 1);
        let line = self.lines.get(below).filter(|_| !self.is_taken[below])?;
        let names = file_name::in_words(line);
        let words = file_name::words_beside(line, names.first()?);
        let is_meant = words
            .iter()
            .any(|word| has_word("this it that above", word));
        (is_meant && asks_first(&words)).then_some((at, names))
    }

    /// Takes note of a code block under `Find:`, and tells of one under `Replace:` below it.
    fn labelled_edit(&mut self, at: usize, content: Range<usize>) {
        let above = self.line_above(at).and_then(|line| label(self.lines[line]));
        let searched = self.searched.take();
        match (above, searched) {
            (Some(BlockLabel::Old), _) => self.searched = Some(at),
            (Some(BlockLabel::New), Some(first)) => {
                let work = ShownWork::lines(&self.lines[content.clone()]);
                let line = self.line_above(first).unwrap_or(first);
                let told = self.told(line, "an edit", (line..content.end, work));
                self.found.push(told);
            }
            _ => {}
        }
    }

    /// A text to look for and its replacement on one line each, below the file that they belong to:
    /// `File: a.py`, ``Find: `x` ``, ``Replace: `y` ``.
    fn labelled_values(&mut self, at: usize) {
        const MOST_LINES: usize = 4;
        let is_told = self.found.last().is_some_and(|it| at <= it.lines.end);
        let Some((BlockLabel::Old, _)) = labelled_value(self.lines[at]).filter(|_| !is_told) else {
            return;
        };
        let below = self.lines.get(at + 1).and_then(|line| labelled_value(line));
        let Some((BlockLabel::New, new)) = below else {
            return;
        };
        let above = (at.saturating_sub(MOST_LINES)..at).rev();
        let name = above
            .map(|line| file_name::in_words(self.lines[line]))
            .find(|it| !it.is_empty());
        let Some(name) = name.as_ref().and_then(|names| names.first()) else {
            return;
        };
        let work = ShownWork::lines(&[new]).of_file(name);
        let told = self.told(at, "an edit", (at..at + 2, work));
        self.found.push(told);
    }

    /// A row of a table with a file, and the text of the file in another cell or its old and new text.
    fn table_row(&mut self, at: usize) {
        const MOST_ROWS: usize = 100;
        let line = trim(self.lines[at]);
        if !line.starts_with('|') || !line.contains('`') {
            return;
        }
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(trim).collect();
        let file = cells
            .iter()
            .find_map(|cell| file_name::alone(cell).filter(|it| file_name::is_file(it)));
        let code = |cell: &&&str| cell.len() > 2 && cell.starts_with('`') && cell.ends_with('`');
        let last = cells
            .last()
            .filter(|cell| code(cell) && file_name::alone(cell).is_none());
        let (Some(name), Some(last)) = (file, last) else {
            return;
        };
        let is_row = |line: &&&str| trim(line).starts_with('|');
        let above = self.lines[..at].iter().rev().take(MOST_ROWS);
        let head = above.take_while(is_row).last();
        let labels = || {
            head.into_iter()
                .flat_map(|head| head.split('|'))
                .filter_map(label)
        };
        let is_edit =
            || labels().any(|it| it == BlockLabel::Old) && labels().any(|it| it == BlockLabel::New);
        if !(last.contains("<br") || is_edit()) {
            return;
        }
        let texts = last
            .trim_matches('`')
            .split("<br")
            .map(|it| it.trim_start_matches(['/', '>']));
        let work = ShownWork::lines(&texts.collect::<Vec<_>>()).of_file(name);
        let told = self.told(at, "an edit", (at..at + 1, work));
        self.found.push(told);
    }
}

/// Returns true if lines with `-` and `+` before them are those of a program, and no list of points.
pub(super) fn is_changed_code(lines: &[&str]) -> bool {
    let begin = |marks: &'static [char]| {
        lines
            .iter()
            .filter_map(move |line| line.strip_prefix(marks))
    };
    // A point has one blank before it.
    let is_point = |text: &str| {
        trim(text).trim_matches(['+', '-']).is_empty()
            || text.starts_with(|c: char| c.is_ascii_digit() || c == '*')
            || (text.starts_with(' ') && !text.starts_with("  "))
    };
    let (removed, added) = (begin(&['-']).count(), begin(&['+']).count());
    let code = || {
        let changed = begin(&['+', '-']);
        changed.filter(|text| is_code(text, "")).count()
    };
    match (removed, added) {
        (_, 0) => false,
        (0, added) => added > 1 && code() * 2 > added,
        _ => begin(&['+', '-']).any(|text| !is_point(text)) || code() * 3 >= removed + added,
    }
}

/// The file that a line names in a frame of its own: `=== Makefile ===`, `%%writefile Makefile`.
fn framed_name(line: &str) -> Option<&str> {
    let line = trim(line);
    let cell = ["%%writefile ", "%%file "];
    if let Some(name) = cell.iter().find_map(|mark| line.strip_prefix(mark)) {
        return Some(trim(name)).filter(|name| file_name::is_unmistakable(name));
    }
    let mark = ["===", "---"]
        .into_iter()
        .find(|mark| line.starts_with(mark))?;
    let name = line
        .ends_with(mark)
        .then(|| trim(line.trim_matches(['=', '-'])))?;
    (!name.contains(' ') && file_name::is_unmistakable(name)).then_some(name)
}

/// The file that a line names as a call in some notation does: `@write a.py`, `[REPLACE_IN_FILE: a.py]`,
/// `{{write_file "a.py"}}`, `<code_file name="a.py">`.
fn called_name(line: &str) -> Option<&str> {
    const EDGES: &str = "()[]{}<>\"'`=:,";
    let line = trim(line);
    let is_closed = |open: char, close: char| line.starts_with(open) && line.ends_with(close);
    let is_begun = line.starts_with(['@', '/', '\u{23fa}', '\u{25cf}'])
        || is_closed('[', ']')
        || is_closed('{', '}')
        || is_closed('<', '>')
        || (line.starts_with('<') && line.ends_with("<![CDATA["));
    if !is_begun {
        return None;
    }
    let mut names = line.split(|c: char| c.is_whitespace() || EDGES.contains(c));
    let name = names.find(|name| file_name::is_file(name))?;
    let words = file_name::words_beside(line, name);
    let asks = words
        .iter()
        .any(|word| has_word(WORK, word) || word == "file");
    asks.then_some(name)
}

fn is_org(line: &str, mark: &str) -> bool {
    let start = line.get(..mark.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(mark))
}

fn is_org_end(line: &str) -> bool {
    is_org(trim(line), "#+end_src")
}

/// Returns true if a line is more likely of a program, or of the settings in the file of this name, than
/// words.
fn is_code(line: &str, name: &str) -> bool {
    const BEGINNINGS: &str = "async class const def enum export fn from func function impl import \
        interface let mod module namespace package private pub public return static struct type use \
        var";
    const SIGNS: [&str; 9] = [" = ", "==", "=>", "->", "::", "();", "(\"", "('", "\": "];
    let text = trim(line).trim_start_matches(['>', ' ']);
    let mut words = text.split(' ');
    let first = words.next().unwrap_or_default();
    let has_words = words.nth(1).is_some();
    if has_words && text.ends_with(['.', '!', '?']) || text.starts_with(['-', '*', '|', '<']) {
        return false;
    }
    let is_setting = || FileContent::of(name) == FileContent::Data && first.ends_with([':', '=']);
    let is_directive = || {
        let directive = text.strip_prefix('#').unwrap_or_default();
        directive.starts_with(|c: char| c.is_ascii_lowercase())
    };
    has_word(BEGINNINGS, first)
        || is_directive()
        || text.ends_with(['{', '}', ';', '(', '['])
        || text.ends_with("):")
        || SIGNS.iter().any(|sign| text.contains(sign))
        || is_setting()
}

/// The part of an edit that a line calls the code block below it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockLabel {
    Old,
    New,
}

/// The label that a line consists of: `**Before:**`, `Replace with`.
fn label(line: &str) -> Option<BlockLabel> {
    const OLD: &str = "before old from find search";
    const NEW: &str = "after new with to by replace";
    let text = trim(line).to_lowercase();
    let text = text.trim_matches(['*', '#', ':', '_', ' ']);
    let mut words = text.split(' ');
    let first = words
        .next()
        .filter(|_| words.all(|word| has_word("with this by it", word)))?;
    match () {
        () if has_word(OLD, first) => Some(BlockLabel::Old),
        () if has_word(NEW, first) => Some(BlockLabel::New),
        () => None,
    }
}

/// The label and the text in backticks that a line consists of: ``- old: `x` ``.
fn labelled_value(line: &str) -> Option<(BlockLabel, &str)> {
    let text = trim(line).trim_start_matches(['-', '*', '+', ' ']);
    let (key, value) = text.split_once(':')?;
    let value = value
        .trim_matches(['*', ' '])
        .strip_prefix('`')?
        .strip_suffix('`')?;
    Some((label(key)?, value))
}

/// Returns true if a line is the place of a change in a diff as `diff` writes it by default: `4c4`,
/// `3,5d2`.
fn is_diff_place(line: &str) -> bool {
    let is_lines = |text: &str| {
        let mut numbers = text.split(',');
        numbers.clone().count() <= 2 && numbers.all(is_number)
    };
    line.split_once(['a', 'c', 'd'])
        .is_some_and(|(old, new)| is_lines(old) && is_lines(new))
}

/// Returns true if a text begins with the lines that an edit replaces: `4:6`.
fn is_edit_range(text: &str) -> bool {
    let lines = text.split(' ').next().and_then(|it| it.split_once(':'));
    lines.is_some_and(|(first, last)| is_number(first) && is_number(last))
}

/// The name of a tag without its brackets that a line consists of: `CREATE_FILE path="a.py"`,
/// `RUN_COMMAND: make`.
fn bare_tag(line: &str) -> Option<&'static str> {
    let text = trim(line);
    text.starts_with(char::is_uppercase).then_some(())?;
    let mut names = Name::all().filter(|name| name.is_compound() && name.has_effects());
    let is_attribute = |rest: &str| {
        rest.starts_with(' ') && rest.contains("=\"")
            || rest
                .strip_prefix(':')
                .is_some_and(|script| !is_blank(script))
    };
    let is_it = |name: &Name| {
        let rest = text.strip_prefix(name.as_str());
        rest.is_some_and(is_attribute)
    };
    names.find(is_it).map(Name::as_str)
}

/// The tool with whose name a line begins that calls it: `write_file(`, `<bash command="x">`,
/// `[Write]`.
fn opened_tool(line: &str) -> Option<&str> {
    let is_mark = |c: char| !c.is_alphanumeric() && !matches!(c, '<' | '[');
    let text = line.trim_start_matches(is_mark);
    let inner = text.strip_prefix(['<', '[']).unwrap_or(text);
    let leads = ["print(", "await ", "default_api.", "functions.", "tools."];
    let inner = leads.iter().fold(inner, |inner, lead| {
        inner.strip_prefix(lead).unwrap_or(inner)
    });
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let end = inner.find(|c| !is_name(c))?;
    let is_opened = match text.as_bytes()[0] {
        b'<' => inner[end..].starts_with(['>', ' ']),
        b'[' => inner[end..].starts_with([']', '(']),
        _ => inner[end..].starts_with('('),
    };
    (is_opened && tools::has_effects(&inner[..end])).then(|| &inner[..end])
}

/// Returns true if a line begins with a key that names a tool or a file, or as an element that has
/// attributes.
fn begins_with_key(line: &str) -> bool {
    const LISTS: &str = "actions calls tool_calls";
    let text = trim(line).trim_start_matches(['-', '*', ' ']);
    let is_key = || {
        let Some((key, value)) = text.split_once([':', '=']) else {
            // A table of TOML.
            let name = text.strip_prefix("[[").and_then(|it| it.strip_suffix("]]"));
            return name.is_some_and(|name| has_word(LISTS, name));
        };
        let (key, value) = (key.trim_end(), value.trim_matches(['*', ' ', '`']));
        let is_word = !is_blank(value) && !value.contains(' ');
        let is_list = || is_blank(value) && has_word(LISTS, key);
        (is_word && tools::is_among(CALL_KEYS, key)) || is_list()
    };
    text.starts_with("<tool>") || (text.starts_with('<') && text.contains("=\"")) || is_key()
}

/// Keys with which a call begins.
const CALL_KEYS: &str = "tool tool_name action function op file path file_path filename";

/// The name at the beginning of an element, behind its bracket.
fn element(text: &str) -> Option<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let end = text.find(|c| !is_name(c))?;
    let is_end = text[end..].starts_with(['>', ' ', '/']);
    (end > 0 && is_end).then(|| &text[..end])
}

/// The places of a character outside of backticks.
fn outside_code(line: &str, wanted: char) -> impl Iterator<Item = usize> {
    let line = if line.contains(wanted) { line } else { "" };
    let mut is_code = false;
    line.char_indices().filter_map(move |(at, c)| {
        is_code ^= c == '`';
        (c == wanted && !is_code).then_some(at)
    })
}

/// Returns true if a line has the tokens of a call as pages show them.
fn has_token(line: &str) -> bool {
    (line.contains('=') && line.contains("to=functions."))
        || (!line.is_ascii() && line.contains("DSML\u{ff5c}") && line.contains("invoke "))
}

/// Returns true if a row of a table has a cell with removed and added lines.
fn is_diff_cell(line: &str) -> bool {
    let begins = |cell: &str, sign: char| {
        let mut parts = cell.split("<br");
        parts.any(|part| {
            part.trim_start_matches(['/', '>', '`', ' '])
                .starts_with(sign)
        })
    };
    line.starts_with('|')
        && line.contains("<br")
        && line
            .split('|')
            .any(|cell| begins(cell, '-') && begins(cell, '+'))
}

/// Words that ask for a change.
const WORK: &str = "\
    add append apply change create edit insert make modify paste put replace rewrite save set store \
    update write";

/// Returns true if a line that names a file leads to what is to be written there: `Create x.py:`,
/// `In x.py, replace`, `x.py (lines 3-7)`, `Save this as x.py.`
pub(super) fn leads_to_work(line: &str, name: &str) -> bool {
    const MADE: &str = "created now rewritten updated written";
    let text = trim(line).trim_end_matches(['*', '_', ' ']);
    let words = file_name::words_beside(line, name);
    let is_made = || words.iter().any(|word| has_word(MADE, word));
    let claims = ends_with_colon(text) && (is_made() || claims_text(&words));
    if !claims && tells(&words, TALK) {
        return false;
    }
    let asks = words.iter().any(|word| has_word(WORK, word));
    ends_with_colon(text)
        || text.starts_with('#')
        || is_label_of(text, name)
        || asks_first(&words)
        || (!text.ends_with('.') && (asks || words.len() <= 4))
}

/// Returns true if the words of a line with a colon say that what follows was written or is the text of the
/// file they name: ``I added `x.py`:``, ``Here's what `x.py` looks like:``.
///
/// `It currently contains` is of the time before a change, `I added this to` of a command elsewhere.
fn claims_text(words: &[String]) -> bool {
    const DID: &str = "added adjusted changed corrected extended fixed implemented modified refactored \
        replaced rewrote simplified wrote";
    const PAST: &str = "already before current currently earlier e.g error errors example examples existing \
        failed fails had not old original output outputs previously print prints said says still usage \
        was were";
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let did = words.iter().position(|word| has_word(DID, word));
    let did = did.is_some_and(|at| words.get(at + 1).is_none_or(|next| *next != "this"));
    let holds = matches!(
        words[..],
        [.., "contains"]
            | [.., "contains", "this"]
            | [.., "looks", "like"]
            | [.., "looks", "like", "this"]
            | [.., "looks", "as", "follows"]
    );
    (did || holds) && !words.iter().any(|word| has_word(PAST, word))
}

/// Returns true if a line is a name with words about it: ``2. **`a.py`** \u{2013} the same``.
fn is_label_of(line: &str, name: &str) -> bool {
    const SIGNS: [char; 6] = ['\u{2013}', '\u{2014}', '-', ':', '\u{ff1a}', '('];
    let is_mark = |c: char| c.is_ascii_digit() || "#*`-+.) ".contains(c);
    let rest = line.trim_start_matches(is_mark).strip_prefix(name);
    let rest = rest.map(|rest| rest.trim_start_matches(['*', '`', ' ']));
    rest.is_some_and(|rest| rest.starts_with(SIGNS)) && !line.ends_with('.')
}

/// A line without the elements of HTML in it.
fn without_elements(line: &str) -> Cow<'_, str> {
    let text = trim(line);
    if !(text.starts_with('<') && text.contains('>')) {
        return Cow::Borrowed(line);
    }
    let parts = text
        .split('<')
        .map(|part| part.split_once('>').map_or(part, |it| it.1));
    Cow::Owned(trim(&parts.collect::<Vec<_>>().join(" ")).to_owned())
}

/// The files that a line over a code block names. There a name in backticks may have any extension, and
/// some words that are headings elsewhere are files.
fn named_in<'l>(line: &'l str, content: &[&str]) -> Vec<&'l str> {
    const NAMES: &str = "AUTHORS INSTALL NEWS NOTICE THANKS TODO VERSION autogen bootstrap config configure \
        fstab hosts passwd sudoers";
    // In words these are methods and modules, too.
    const EXTENSIONS: &str = "cls desktop feature http ld mount props robot rules service slice socket \
        strings sty target targets timer";
    let names = file_name::in_words(line);
    if !names.is_empty() {
        return names;
    }
    let is_script = content.first().is_some_and(|first| first.starts_with("#!"));
    let is_path = |name: &str| {
        name.contains('/') && file_name::is_unmistakable(name) && file_name::names_file(line, name)
    };
    let is_dotted = |name: &str| {
        let extension = file_name::extension(name).unwrap_or_default();
        extension.len() > 1
            && extension.starts_with(|c: char| c.is_ascii_lowercase())
            && !extension.contains(|c: char| c.is_ascii_uppercase())
            && file_name::is_unmistakable(name)
            && asks_first(&file_name::words_beside(line, name))
    };
    let is_word = |name: &&str| {
        !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || "()<>{}$=".contains(c))
    };
    let has_end = |name: &str| {
        file_name::extension(name).is_some_and(|extension| has_word(EXTENSIONS, extension))
    };
    let is_it = |name: &&str| has_word(NAMES, name) || is_path(name) || is_script || has_end(name);
    let quoted = line.split('`').skip(1).step_by(2).filter(is_word);
    let alone = file_name::word(line)
        .or_else(|| line.strip_prefix("text "))
        .filter(is_word);
    let mut alone = alone.filter(|_| !line.contains('`')).into_iter();
    let mut dotted = quoted.clone().filter(|name| is_dotted(name));
    let name = quoted.clone().find(is_it).or_else(|| dotted.next());
    name.or_else(|| alone.find(is_it)).into_iter().collect()
}

/// The name without an extension that a comment on the first line of a code block consists of.
fn only_name_at_top<'l>(lines: &[&'l str]) -> Option<&'l str> {
    let comment = lines.iter().find(|line| !line.starts_with("#!"))?;
    let name = comment
        .strip_prefix("# ")
        .filter(|name| !name.contains(' '))?;
    named_in(name, &lines[..1]).first().copied()
}

/// The file that a script for `ed` writes.
fn written_by_ed<'l>(fence: &Fence<'_>, lines: &[&'l str]) -> Option<&'l str> {
    let is_ed = has_word("ed ex", fence.language());
    let mut names = lines
        .iter()
        .rev()
        .filter_map(|line| line.strip_prefix("w "));
    names.next().filter(|_| is_ed)
}

/// Words on the line above a code block that tell of something that is there or was done.
const TALK: &str = "\
    already contains current currently e.g error example examples existing had has i've looks not \
    output prints says shown shows usage uses was were";

/// Such words between a heading and a code block. A new file too `has` and `prints` something.
const PRESENT: &str = "\
    already current currently e.g error example examples existing had i've output usage was were";

/// Returns true if words tell of what was done, or have one of these.
pub(super) fn tells(words: &[String], talk: &str) -> bool {
    let tells_past = words.windows(2).any(|pair| {
        let [who, verb] = pair else { return false };
        matches!(&**who, "i" | "we") && (verb.ends_with("ed") || verb == "have")
    });
    tells_past || words.iter().any(|word| has_word(talk, word))
}

/// Returns true if a line may be the heading of what follows: marked as one or bold, or it begins with
/// the name of a file or asks for one (``1. `a.py`, the parser``, ``Create a new file `a.py`.``).
fn is_heading(line: &str) -> bool {
    let text = trim(line);
    let name = text.trim_start_matches('#');
    let is_marked = name.len() < text.len() && name.starts_with(' ');
    let is_bold =
        text.len() > 4 && text.starts_with("**") && text.trim_end_matches(':').ends_with("**");
    let is_name = || {
        let names = file_name::in_words(text);
        let name = names.first().copied().or_else(|| file_name::alone(text))?;
        let is_sign = |c: char| c.is_ascii_digit() || "*`-. )+".contains(c);
        let begins = text.trim_start_matches(is_sign).starts_with(name)
            || file_name::alone(text) == Some(name);
        Some(begins || asks_first(&file_name::words_beside(text, name)))
    };
    is_marked || is_bold || is_name().unwrap_or_default()
}

/// Returns true if the first of some words asks for a change: `save`, `creating`.
fn asks_first(words: &[String]) -> bool {
    words.first().is_some_and(|word| {
        let stem = word.strip_suffix("ing").unwrap_or(word);
        has_word(WORK, stem) || has_word(WORK, &format!("{stem}e"))
    })
}
