//! A reply that a terminal or an editor wrapped at a column.
//!
//! A tag that continues on the next line shows it, and is put together. In a text nobody can tell where
//! a line continued, so a reply with a wrapped text is refused as a whole. The texts are those of the
//! commands that were read, in whatever format they came. These show it:
//!
//! - a line that ends where the next word did not fit and goes on at the margin, where code would be
//!   deeper: one is enough if it ends within a bracket, a string or a statement (`WrapEdge::judge`), or
//!   if the format has no such line (`line_grammar`); less, if the words of the reply were wrapped too,
//!   and still less if a tag or a SEARCH text was;
//! - several lines that all reach the edge, or whose rests go on although there was room: no author of a
//!   document writes so;
//! - blanks at the ends of lines, if all of them stand where the next word did not fit;
//! - in JSON, line ends at the edge within strings that also have `\n`.
//!
//! A single line that shows nothing but might be a rest is asked about.

use std::cell::LazyCell;
use std::collections::HashSet;

use agent_protocol::{Command, Edit, FileChange};

use super::copied::WRAPPED_TAGS;
use super::line_grammar::LineGrammar;
use super::{RepairedLines, RepairedText, repaired};
use crate::Reply;
use crate::line::{begins_with, has_word};
use crate::tags::{self, FileContent, Kind, Name};
use crate::trim::{each_line, trim, trim_end, trim_start};

/// Widths that people set, the narrowest first.
const WIDTHS: [usize; 5] = [60, 72, 80, 100, 120];

/// Wider windows are rare: one place proves nothing then.
const WIDEST: usize = 132;

/// The narrowest line that may have been cut off at its end.
const NARROWEST: usize = 40;

/// How far from the edge a line with an open bracket may end because the next word did not fit.
const RAGGED: usize = 20;

/// Words with which something of its own begins at the margin.
const BEGINNINGS: &str = "\
    abstract async class const def do done echo else end endif enum esac export extern fi final fn for from func \
    function if impl import interface let macro_rules! mod module namespace package private protected \
    pub public return static struct trait try type typedef union unsafe use var where while with";

/// Puts tags together whose last part stands on the next line.
pub(super) fn join_tags(text: &str) -> RepairedText {
    let mut joined = String::new();
    let (mut count, mut kept) = (0, 0);
    let first = text.starts_with('[').then_some(0);
    let others = memchr::memmem::find_iter(text.as_bytes(), b"\n[").map(|at| at + 1);
    for start in first.into_iter().chain(others) {
        let mut lines = text[start..].split('\n');
        let (line, next) = (lines.next().unwrap_or_default(), lines.next());
        let Some((tag, next)) = next.and_then(|next| Some((whole_tag(line, next)?, next))) else {
            continue;
        };
        joined.push_str(&text[kept..start]);
        joined.push_str(&tag);
        count += 1;
        kept = start + line.len() + 1 + next.len();
    }
    joined.push_str(&text[kept..]);
    repaired(joined, WRAPPED_TAGS, count, RepairedLines::Nothing)
}

/// The tag that begins on a line and ends on the next one.
fn whole_tag(line: &str, next: &str) -> Option<String> {
    let inner = line.strip_prefix('[')?;
    let line = trim_end(line);
    let inner = trim_end(inner);
    if line.len() < NARROWEST || line.ends_with(']') || next.starts_with(['[', ' ', '\t']) {
        return None;
    }
    let name = inner
        .split(' ')
        .next()
        .filter(|name| name.len() < inner.len())?;
    let is_ours = Name::read(name).is_some_and(|known| known.as_str() == name);
    if !is_ours || !trim_end(next).ends_with(']') {
        return None;
    }
    let is_in_value = memchr::memchr_iter(b'"', line.as_bytes()).count() % 2 == 1;
    let between = if is_in_value { "" } else { " " };
    let tag = format!("{line}{between}{}", trim(next));
    let is_open = matches!(tags::read(0, &tag)?.kind, Kind::Open { inline: None, .. });
    is_open.then_some(tag)
}

/// What the texts of a reply show about wrapping.
pub(crate) enum WrapVerdict {
    Sound,
    /// A line that may be the rest of the one above it, and the line of its command in the reply.
    Doubtful {
        line: String,
        command: u32,
    },
    /// All of them were wrapped at this column.
    Wrapped(usize),
}

/// Judges if the texts of a reply were wrapped. `lines` are all of it; `is_proved` is true if a tag or an
/// edit shows that something was.
pub(crate) fn judge_texts(lines: &[&str], reply: &Reply, is_proved: bool) -> WrapVerdict {
    let width = longest(lines, is_proved);
    let edge = WrapEdge::new(width);
    let mut signs = WrapSigns::default();
    for text in new_texts(reply, &edge) {
        signs.read(&text, &edge, is_proved);
    }
    let mut above = "";
    for line in each_line(&reply.prose) {
        signs.prose += usize::from(edge.breaks_prose(above, line));
        above = line;
    }
    for pair in lines.windows(2) {
        signs.blank_ends.note(pair[0], pair[1], &edge);
    }
    if signs.show_wrapping(width, is_proved)
        || breaks_added_lines(lines, &edge)
        || is_json_wrapped(lines, width)
    {
        return WrapVerdict::Wrapped(edge.named);
    }
    // A single one may be the author's.
    let is_only = signs.blank_ends.other == 0;
    match signs.doubtful.or(signs.behind_blank.filter(|_| is_only)) {
        Some((line, command)) => WrapVerdict::Doubtful {
            line: line.to_owned(),
            command,
        },
        None => WrapVerdict::Sound,
    }
}

/// A text that becomes part of a file as it stands, or a script that is run.
struct NewText<'r> {
    lines: Vec<&'r str>,
    /// Lines that the file has already, as the reply quotes them: the file tells if they were wrapped.
    quoted: HashSet<&'r str>,
    grammar: Option<LineGrammar>,
    is_prose: bool,
    /// It has a record on each line, which begins like no other and may be of any length.
    is_table: bool,
    /// Whoever writes the file finds its syntax errors.
    is_checked: bool,
    /// The line of its command in the reply.
    command: u32,
}

/// The new texts of a reply that have a line which may be a rest.
fn new_texts<'r>(reply: &'r Reply, edge: &WrapEdge) -> Vec<NewText<'r>> {
    let mut texts = Vec::new();
    for step in &reply.steps {
        let mut add = |path, text, quoted| {
            let may_break = edge.may_break_within(text);
            texts.extend(may_break.then(|| NewText::new(path, text, quoted, step.line)));
        };
        match &step.command {
            Command::CreateFile { path, content, .. } => add(path.as_str(), content, ""),
            Command::InsertText { path, text, .. }
            | Command::EditFile {
                path,
                edit: Edit::Lines { text, .. },
            } => add(path.as_str(), text, ""),
            Command::EditFile {
                path,
                edit: Edit::Replace { edits },
            } => {
                for edit in edits {
                    add(path.as_str(), &edit.replace, &edit.search);
                }
            }
            Command::ApplyPatch { changes } => {
                for change in changes {
                    if let FileChange::Add { path, content, .. } = change {
                        add(path.as_str(), content, "");
                    }
                }
            }
            Command::RunCommand { script, .. } => add("script.sh", script, ""),
            _ => {}
        }
    }
    texts
}

impl<'r> NewText<'r> {
    fn new(path: &str, text: &'r str, quoted: &'r str, command: u32) -> Self {
        const TABLES: &str = "csv tsv";
        const CHECKED: &str = "cjs cts go java js json jsx mjs mts py pyi pyw rs ts tsx yaml yml";
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        let is_long = |line: &&str| line.len() >= NARROWEST;
        Self {
            lines: text.lines().collect(),
            quoted: quoted.lines().filter(is_long).collect(),
            grammar: LineGrammar::of(path),
            is_prose: FileContent::of(path) == FileContent::Prose,
            is_table: has_word(TABLES, extension),
            is_checked: has_word(CHECKED, extension),
            command,
        }
    }

    /// The words with which lines at the margin begin that go on with no other.
    fn starts(&self, edge: &WrapEdge) -> HashSet<&'r str> {
        let above = std::iter::once("").chain(self.lines.iter().copied());
        let pairs = above.zip(self.lines.iter().copied());
        pairs
            .filter(|(above, line)| is_margin(line) && !edge.breaks(above, line))
            .map(|(_, line)| first_word(line))
            .collect()
    }
}

/// The signs that the texts of a reply were wrapped.
#[derive(Default)]
struct WrapSigns<'r> {
    certain: usize,
    likely: usize,
    possible: usize,
    /// Words around the commands that go on where the next one did not fit.
    prose: usize,
    blank_ends: BlankEnds,
    /// The first line of a text that follows one which ends in a blank, because its first word did not
    /// fit there, and the line of its command.
    behind_blank: Option<(&'r str, u32)>,
    /// Lines that reach a usual edge and go on at the margin.
    full: usize,
    /// Shorter ones that go on there, because the next word did not fit.
    ragged: usize,
    /// Lines that go on there, because the next word did not fit at a usual width.
    breaks: usize,
    /// Rests of such lines that go on in the next line, although there was room: no author writes so.
    remnants: usize,
    /// The first line that may be a rest, and the line of its command.
    doubtful: Option<(&'r str, u32)>,
}

impl<'r> WrapSigns<'r> {
    fn read(&mut self, text: &NewText<'r>, edge: &WrapEdge, is_proved: bool) {
        let (mut grammar, mut is_prose) = (text.grammar, text.is_prose);
        let starts = LazyCell::new(|| text.starts(edge));
        // Words in a comment of C may be broken anywhere.
        let has_comments = text.lines.iter().any(|line| line.contains("/*"));
        let mut is_comment = false;
        let mut above = "";
        for (at, &line) in text.lines.iter().enumerate() {
            if grammar.is_some_and(|grammar| grammar.ends_with(above)) {
                is_prose |= grammar == Some(LineGrammar::Settings);
                grammar = None;
            }
            if has_comments {
                is_comment = match above.rfind("/*").max(above.rfind("*/")) {
                    Some(mark) => above[mark..].starts_with("/*"),
                    None => is_comment,
                };
            }
            if !edge.may_break(above, line) || text.quoted.contains(above) {
                above = line;
                continue;
            }
            let below = text.lines.get(at + 1).copied().unwrap_or_default();
            let begins = grammar.is_some_and(|grammar| grammar.begins(line));
            let is_rest = || grammar.is_some_and(|grammar| grammar.is_rest(above, line));
            let is_long = above.len() >= NARROWEST || above.ends_with(" =");
            let is_broken = edge.breaks(above, line);
            if edge.is_broken_behind_blank(above, line) == Some(true) {
                self.behind_blank.get_or_insert((line, text.command));
            }
            let (is_full, is_ragged) = (edge.is_full(above), edge.is_ragged(above, line));
            if (is_full || is_ragged) && !text.is_table && !begins_anew(above, line) {
                self.full += usize::from(is_full);
                self.ragged += usize::from(is_ragged);
            }
            if is_broken && !text.is_table && !begins_anew(above, line) {
                self.breaks += 1;
                self.remnants += usize::from(edge.is_remnant(line, below));
                let is_free = is_prose || is_comment || text.is_checked;
                let is_known = begins || is_free || above.ends_with('\\');
                let is_strange = || !starts.contains(first_word(line)) && !begins_statement(line);
                if is_long && !is_known && goes_on_at_margin(line) && is_strange() {
                    self.doubtful.get_or_insert((line, text.command));
                }
            }
            if is_broken && (is_proved || is_rest()) {
                self.certain += 1;
            } else if is_long && !begins {
                match edge.judge(above, line, below) {
                    WrapSign::Nothing => {}
                    // Who writes a document wraps it too.
                    _ if is_prose => self.possible += 1,
                    WrapSign::Certain => self.certain += 1,
                    WrapSign::Likely => self.likely += 1,
                    WrapSign::Possible => self.possible += 1,
                }
            }
            above = line;
        }
    }

    fn show_wrapping(&self, width: usize, is_proved: bool) -> bool {
        // Whoever wraps the words of a reply wraps its bodies with them.
        self.certain > usize::from(width > WIDEST)
            || self.likely > 1
            || (self.likely + self.possible > 0 && (is_proved || self.prose > 1))
            || (self.behind_blank.is_some() && self.blank_ends.show_wrapping())
            || (self.full > 1 && self.ragged == 0)
            || (self.remnants > 1 && self.remnants * 2 > self.breaks)
    }
}

/// Returns true if a line at the margin is an assignment, a section or the head of a block.
fn begins_statement(line: &str) -> bool {
    let mut words = line.split_whitespace().take(2);
    line.starts_with('[') || trim_end(line).ends_with('{') || words.any(|word| word.contains('='))
}

/// The word or the mark with which a line begins.
fn first_word(line: &str) -> &str {
    let text = trim(line);
    let behind = text.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    match text.len() - behind.len() {
        0 => &text[..text.chars().next().map_or(0, char::len_utf8)],
        length => &text[..length],
    }
}

/// Returns true if a hunk of a patch has a line without a mark that goes on with an added one.
fn breaks_added_lines(lines: &[&str], edge: &WrapEdge) -> bool {
    let mut is_hunk = false;
    let mut above = "";
    for (at, line) in lines.iter().enumerate() {
        let may_begin = line.starts_with(['@', '*']);
        if may_begin && begins_with(line, "@@|*** Update File:|*** Add File:") {
            is_hunk = true;
        } else if is_hunk && begins_with(line, "diff |From |-- |***|[|`|<") {
            is_hunk = false;
        }
        let below = lines.get(at + 1).copied().unwrap_or_default();
        if is_hunk
            && above.len() >= NARROWEST
            && above.starts_with('+')
            && !has_mark(line)
            && edge.judge(above, line, below) == WrapSign::Certain
        {
            return true;
        }
        above = line;
    }
    false
}

/// Returns true if a text to look for has a line of the file in two, the second part at the margin, as
/// only wrapping does.
pub(crate) fn breaks_line_of(file: impl FnOnce() -> Option<String>, search: &str) -> bool {
    /// This bounds the time that hostile text can cost.
    const MOST: usize = 8;
    let lines: Vec<&str> = search.lines().collect();
    let pairs = lines.windows(2);
    let pairs = pairs.filter(|pair| pair[0].len() >= NARROWEST && is_margin(pair[1]));
    let mut pairs = pairs.take(MOST);
    let Some(first) = pairs.next() else {
        return false;
    };
    let Some(file) = file().filter(|file| !file.contains(search)) else {
        return false;
    };
    std::iter::once(first).chain(pairs).any(|pair| {
        let (first, second) = (trim_end(pair[0]), trim(pair[1]));
        let goes_on = |rest: &str| !rest.is_empty() && rest.trim_start().starts_with(second);
        (file.lines()).any(|line| line.strip_prefix(first).is_some_and(goes_on))
    })
}

/// How long the first part of a line is that white space ends.
fn first_part(line: &str) -> usize {
    line.split_whitespace().next().map_or(0, str::len)
}

/// How wide a line is: a rule of `═` has three bytes a column.
fn columns(line: &str) -> usize {
    if line.is_ascii() {
        line.len()
    } else {
        line.chars().count()
    }
}

/// The length of the longest line that has a blank where it could have been broken before its end. A
/// word that is longer than the line is not broken. A tag that was put together does not count.
fn longest(lines: &[&str], is_proved: bool) -> usize {
    let mut width = WIDTHS[0];
    let mut uncertain = Vec::new();
    let counts = |line: &str| line.len() > WIDTHS[0] && !(is_proved && is_like_tag(line));
    for line in lines.iter().filter(|line| counts(line)) {
        let text = line.trim_start();
        let Some(word) = text.find(' ').filter(|_| trim_end(text).contains(' ')) else {
            continue;
        };
        let first_blank = line.len() - text.len() + word;
        if first_blank <= WIDTHS[0] {
            width = width.max(columns(line));
        } else {
            uncertain.push((first_blank, columns(line)));
        }
    }
    uncertain.sort_unstable();
    for (first_blank, length) in uncertain {
        if first_blank <= width {
            width = width.max(length);
        }
    }
    width
}

fn is_like_tag(line: &str) -> bool {
    line.starts_with('[') && line.ends_with(']')
}

/// How likely it is that two lines were one before the reply was wrapped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WrapSign {
    Nothing,
    /// Enough if the words of the reply were wrapped.
    Possible,
    /// Two such places are enough.
    Likely,
    Certain,
}

/// The column at which the lines of a reply may have been wrapped.
struct WrapEdge {
    /// The length of the longest line.
    width: usize,
    /// The next width that people set, or that length if there is none near it.
    named: usize,
    /// The next width that people set, however far.
    usual: usize,
}

impl WrapEdge {
    fn new(width: usize) -> Self {
        let usual = WIDTHS.into_iter().find(|usual| *usual >= width);
        // The last word of the longest line may have left a gap.
        let named = usual.filter(|usual| *usual < width + 8).unwrap_or(width);
        // Many replies have only short lines, so the narrowest width proves nothing.
        let usual = usual.map(|usual| usual.max(WIDTHS[1]));
        let usual = usual.unwrap_or(usize::MAX);
        Self {
            width,
            named,
            usual,
        }
    }

    /// Returns true if the first word of a line would have fitted on the one above it, far from the edge:
    /// nothing was wrapped there.
    fn is_far(&self, above: &str, line: &str) -> bool {
        let text = trim_start(line).as_bytes();
        let next = memchr::memchr(b' ', text).unwrap_or(text.len());
        above.len() + RAGGED.max(2 + next) <= self.width.min(self.usual)
    }

    /// Returns true if a line may be the rest of the one above it. Most are not at the margin.
    fn may_break(&self, above: &str, line: &str) -> bool {
        is_margin(line) && !self.is_far(above, line)
    }

    /// Returns true if a text has such a line.
    fn may_break_within(&self, text: &str) -> bool {
        let mut above = "";
        each_line(text).any(|line| self.may_break(std::mem::replace(&mut above, line), line))
    }

    /// Returns true if a line at the margin does not fit on the one above it, at a width that people
    /// set.
    fn breaks(&self, above: &str, line: &str) -> bool {
        let next = first_part(line);
        is_margin(line) && columns(above) + 1 + next > self.usual
    }

    /// Returns true if a line reaches the edge, and people set that width.
    fn is_full(&self, line: &str) -> bool {
        WIDTHS.contains(&self.width) && columns(line) == self.width
    }

    /// Returns true if a line is shorter than the edge because the next word did not fit.
    fn is_ragged(&self, above: &str, line: &str) -> bool {
        let next = first_part(line);
        columns(above) < self.width && columns(above) + 1 + next > self.width
    }

    /// Returns true if a line that goes on with another one has room for the word below it.
    fn is_remnant(&self, line: &str, below: &str) -> bool {
        let next = first_part(below);
        let is_ended =
            trim_end(line).ends_with(['.', ':', ';', '!', '?', ',', ')', '}', ']', '>', '|']);
        is_margin(below)
            && below.starts_with(|c: char| c.is_alphanumeric())
            && !is_ended
            && columns(line) + 1 + next + RAGGED <= self.usual
    }

    /// Judges if a line goes on on the one below it.
    fn judge(&self, above: &str, line: &str, below: &str) -> WrapSign {
        // A backslash continues the line on purpose.
        let is_statement_end = || above.ends_with(';') || above.contains("; # ");
        let is_ended =
            above.ends_with("*/") || (is_statement_end() && has_code(above) && !is_open(above));
        if !is_margin(line) || above.ends_with('\\') || is_ended || begins_anew(above, line) {
            return WrapSign::Nothing;
        }
        let next = first_part(line);
        // `fold -s` keeps the blank behind a word on its line.
        let has_blank = line.trim_start()[next..].starts_with(' ');
        let needed = columns(above) + 1 + next + usize::from(has_blank);
        let is_ragged = columns(above) + RAGGED > self.width;
        if needed <= self.width && !is_ragged {
            return WrapSign::Nothing;
        }
        let (is_near, is_usual) = (needed > self.width, needed > self.usual);
        let is_full = columns(above) == self.width;
        let is_indented = above.starts_with("  ") || above.starts_with('\t');
        let is_edge = is_full && self.width == self.usual;
        if (is_edge && is_cut(above, line, is_indented))
            || (is_usual && (closes_open(above, line) || is_operator(above, line, is_indented)))
        {
            return WrapSign::Certain;
        }
        if !goes_on_at_margin(line) {
            return WrapSign::Nothing;
        }
        let is_open = is_open(above);
        let is_value = (is_full || (is_near && opens_value(above))) && is_open;
        let is_words = is_near
            && is_comment(above, below)
            && (is_words(above, trim(line)) || (is_usual && is_starred(above, line, below)));
        let is_rest = is_full && is_indented && line.starts_with([';', ',']);
        let is_proved = || {
            let is_between = is_indented && is_indented_below(above, below) && !is_opener(line);
            is_between || is_unfinished(above, is_indented) || is_statement(above, line)
        };
        if is_value || is_words || is_rest || (is_usual && is_proved()) {
            WrapSign::Certain
        } else if (is_indented && (is_near || (is_ragged && is_open)))
            || (is_edge && is_within_word(above, line))
        {
            WrapSign::Likely
        } else if is_usual && has_code(above) && has_code(line) && ends_with_word(above) {
            WrapSign::Possible
        } else {
            WrapSign::Nothing
        }
    }

    /// Tells if a line that ends with a blank does so because the next word did not fit.
    fn is_broken_behind_blank(&self, above: &str, line: &str) -> Option<bool> {
        if !above.ends_with(' ') || above.ends_with("  ") || trim(above).is_empty() {
            return None;
        }
        let next = line.split(' ').next().unwrap_or_default();
        let needed = columns(above) + columns(next) + usize::from(next.len() < line.len());
        Some(!next.is_empty() && needed > self.usual)
    }

    /// Returns true if words outside of a body go on where the next one did not fit.
    fn breaks_prose(&self, above: &str, line: &str) -> bool {
        let is_text = |text: &str| text.starts_with(char::is_alphanumeric);
        !self.is_far(above, line)
            && columns(above) + 1 + first_part(line) > self.width
            && is_text(above)
            && is_text(trim(line))
    }
}

/// Returns true if a line cannot be the rest of the one above it: that one is a rule, both are items of
/// a list or begin with the same marks, as comments do, or it is a directive of a template.
fn begins_anew(above: &str, line: &str) -> bool {
    const DIRECTIVES: &str =
        "block else elseif elsif elif end endblock endfor endif for if range unless";
    let has_letters = |text: &str| text.contains(char::is_alphanumeric);
    let marks = |text: &str| text.find(char::is_alphanumeric).unwrap_or(text.len());
    let (mark, other) = (marks(line), marks(above));
    let is_item = |text: &str| {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < text.len() && (rest.starts_with(". ") || rest.starts_with(") "))
    };
    // The string of several lines that it ends begins far above.
    let is_end_of_string = || line.starts_with('`') && !line.matches('`').count().is_multiple_of(2);
    let is_directive = || {
        let inner = line.trim_start_matches(['{', '%', '<', '$', '-', ' ']);
        let word = inner.split(|c: char| !c.is_alphanumeric()).next();
        ["{{", "{%", "<%", "$"]
            .iter()
            .any(|mark| line.starts_with(mark))
            && has_word(DIRECTIVES, word.unwrap_or_default())
    };
    !has_letters(above)
        || (mark > 1 && line[..mark] == above[..other])
        || (is_item(line) && is_item(above))
        || is_directive()
        || is_end_of_string()
}

/// Returns true if a line begins at the margin, or behind the blank at which it was broken.
fn is_margin(line: &str) -> bool {
    let text = line.strip_prefix(' ').unwrap_or(line);
    !text.starts_with(char::is_whitespace) && !text.is_empty()
}

fn has_code(line: &str) -> bool {
    line.contains(['=', '(', ')', '{', '}', '_', ';', '['])
}

fn ends_with_word(line: &str) -> bool {
    line.ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Returns true if a line that reaches a usual edge was cut there.
fn is_cut(above: &str, line: &str, is_indented: bool) -> bool {
    let is_behind_blank = |line: &str| {
        let text = line.strip_prefix(' ').unwrap_or_default();
        !text.is_empty() && !text.starts_with([' ', '\t', '*', '-'])
    };
    let is_at_blank = (is_behind_blank(line) && !is_behind_blank(above))
        || (above.ends_with(' ') && !above.ends_with("  "));
    let is_ended = above.ends_with(|c: char| " ,;:{([}".contains(c));
    let begins = |marks: &[char]| line.starts_with(marks);
    is_at_blank
        || (!is_ended && begins(&[';', ',', '.']))
        || (!is_ended && begins(&[')', ']']) && is_open(above))
        || (!is_ended && is_indented && begins(&['=', '&', '?', '+', '%', '!', '/', '|', '>']))
        || (is_indented && (goes_on_at_margin(line) || (is_open(above) && !is_ended)))
}

/// Returns true if a path may go on at the margin: `/srv/service/s`, `tate/*.bak`.
fn is_within_word(above: &str, line: &str) -> bool {
    let is_path = |word: &str| word.contains('/') && !word.contains(['=', ':', '(', '"']);
    let (last, first) = (above.rsplit(' ').next(), line.split(' ').next());
    ends_with_word(above)
        && last.is_some_and(is_path)
        && first.is_some_and(|first| is_path(first) && !first.starts_with(['/', '.']))
}

/// Returns true if an operator at the margin goes on with an indented line of code, or a value with an
/// assignment.
fn is_operator(above: &str, line: &str, is_indented: bool) -> bool {
    const OPERATORS: [&str; 6] = ["-> ", "=> ", "== ", "=== ", ">> ", "= "];
    let is_arguments = || {
        let names = line.strip_prefix("**").unwrap_or_default();
        trim_end(names).ends_with([')', ':', ',']) && !names.contains('*')
    };
    let begins = || OPERATORS.iter().any(|it| line.starts_with(it)) || is_arguments();
    (is_indented && begins()) || (above.ends_with(" =") && has_code(line))
}

/// Returns true if a line ends a statement of a language with `;` and braces that the one above it
/// does not end.
fn is_statement(above: &str, line: &str) -> bool {
    let is_open = ends_with_word(above) || above.ends_with([':', '^', '*', '>']);
    let line = trim_end(line);
    let is_ended = line.ends_with(';') && !line.ends_with("\\;");
    !above.starts_with("# ")
        && is_open
        && (is_ended || (line.ends_with('{') && !line.contains('=')))
}

/// Returns true if the line below a wrapped one is at least as deep as its beginning.
fn is_indented_below(above: &str, below: &str) -> bool {
    let depth = |line: &str| line.len() - line.trim_start().len();
    !trim(below).is_empty() && depth(below) >= depth(above)
}

/// Returns true if lines below this one are deeper for a reason.
fn is_opener(line: &str) -> bool {
    let is_heading = line
        .split_whitespace()
        .next()
        .is_some_and(|word| word.ends_with(':') || !word.contains(|c: char| !c.is_uppercase()));
    is_heading || trim_end(line).ends_with(['{', '(', '[', ':', ',', '\\', '|', '>'])
}

/// Returns true if nothing ends at the end of this line.
fn is_unfinished(line: &str, is_indented: bool) -> bool {
    let line = trim_end(line);
    let is_operator = || {
        [" =", "&&", " ||", " +"]
            .iter()
            .any(|it| line.ends_with(it))
    };
    line.ends_with(['(', '[']) || is_operator() || (is_indented && line.ends_with(','))
}

/// Returns true if a line of code closes a bracket or a quote that the one above it opens. Words do
/// that too, so it must end as code does, or the quote begin a value.
fn closes_open(above: &str, line: &str) -> bool {
    if line.starts_with([')', ']', '}', '#', '/']) || line.starts_with("* ") {
        return false;
    }
    let is_odd = |text: &str| text.matches('"').count() % 2 == 1;
    let begins_value = || {
        let before = above.rsplit_once('"').map_or("", |(before, _)| before);
        trim_end(before).ends_with(['=', '(', '[', '{', ':'])
    };
    let is_code = || trim_end(line).ends_with([';', '{', ',', ')', ':', '>']);
    (is_odd(above) && is_odd(line) && begins_value())
        || (is_code() && depth(above).0 > 0 && depth(line).0 < 0)
}

/// Returns true if a line is a comment of a program. `#` and `*` are also Markdown, unless the line
/// below begins so too.
fn is_comment(line: &str, below: &str) -> bool {
    let text = line.trim_start();
    let is_both = |mark| text.starts_with(mark) && below.trim_start().starts_with(mark);
    let is_indented = text.len() < line.len();
    text.starts_with("//")
        || (text.starts_with("# ") && is_indented)
        || is_both("*")
        || is_both("#")
}

/// Returns true if a line between two of a comment lacks the mark that they begin with.
fn is_starred(above: &str, line: &str, below: &str) -> bool {
    let has_star = |line: &str| line.starts_with([' ', '\t']) && line.trim_start().starts_with('*');
    has_star(above) && has_star(below) && line.starts_with(char::is_alphanumeric)
}

/// Returns true if a line is made of words alone, as no program is.
fn is_words(above: &str, line: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || " ,.:;`'\u{2019}-".contains(c);
    let is_text = || above.trim_start().starts_with("//") && line.contains([' ', '.']);
    let is_begun = line.starts_with(char::is_lowercase)
        || (line.starts_with(|c: char| c.is_uppercase() || c == '`') && is_text());
    is_begun && line.chars().all(is_part)
}

/// Returns true if the last quote of a line begins a value of code: `x="some words`.
fn opens_value(line: &str) -> bool {
    let above = line.rsplit_once('"').map_or("", |(above, _)| above);
    above.ends_with(['=', '(']) && above.matches('"').count().is_multiple_of(2)
}

/// Returns true if a JSON call was wrapped: line ends stand in its strings, each where the next word
/// did not fit, although it writes the line ends of the content as `\n`.
fn is_json_wrapped(lines: &[&str], width: usize) -> bool {
    let (mut is_in_string, mut is_in_call) = (false, false);
    let (mut breaks, mut at_edge, mut has_escape) = (0, 0, false);
    let mut lines = lines.iter().peekable();
    while let Some(line) = lines.next() {
        if !is_in_call {
            let begins = line.starts_with(['{', '[', '<'])
                && begins_with(without_tokens(line), "{\"|[{\"|{ \"");
            let is_key = |next: &&&str| next.trim_start().starts_with('"');
            let begins_below = *line == "{" && lines.peek().is_some_and(is_key);
            if !begins && !begins_below {
                continue;
            }
            (is_in_call, is_in_string) = (true, false);
            (breaks, at_edge, has_escape) = (0, 0, false);
        }
        let mut bytes = line.bytes();
        while let Some(byte) = bytes.next() {
            match byte {
                b'"' => is_in_string = !is_in_string,
                b'\\' if is_in_string => {
                    // In a string within a string the backslash has one of its own.
                    let next = bytes.next().filter(|next| *next != b'\\');
                    has_escape |= next.or_else(|| bytes.clone().next()) == Some(b'n');
                }
                _ => {}
            }
        }
        if is_in_string {
            let next = lines.peek().and_then(|next| next.split(' ').next());
            breaks += 1;
            at_edge += usize::from(columns(line) + 1 + next.map_or(0, str::len) > width);
        } else if trim_end(line).ends_with(['}', ']']) {
            is_in_call = false;
            let is_enough = breaks > 1 || (breaks == 1 && WIDTHS.contains(&width));
            // Blanks that were dropped at the start of a line leave it some columns off the edge.
            let is_at_edge = at_edge * 10 >= breaks * 9;
            if is_enough && is_at_edge && has_escape {
                return true;
            }
        }
    }
    false
}

/// The rest of a line behind the tokens that stand before a call: `[TOOL_CALLS]`, `<tool_call>`.
fn without_tokens(line: &str) -> &str {
    let is_token = |inner: &str| {
        inner
            .chars()
            .all(|c| c.is_alphabetic() || "_|/".contains(c))
    };
    let mut rest = line;
    while let Some((token, behind)) = rest.split_once([']', '>']) {
        let inner = token.strip_prefix(['[', '<']);
        if !inner.is_some_and(|inner| !inner.is_empty() && is_token(inner)) {
            break;
        }
        rest = behind;
    }
    rest
}

/// The lines of a reply that end with a blank, as `fold -s` leaves it behind the last word of a line.
#[derive(Default)]
struct BlankEnds {
    /// Where the next word did not fit.
    broken: usize,
    /// Where it would have fitted.
    other: usize,
}

impl BlankEnds {
    fn note(&mut self, above: &str, line: &str, edge: &WrapEdge) {
        match edge.is_broken_behind_blank(above, line) {
            Some(true) => self.broken += 1,
            Some(false) => self.other += 1,
            None => {}
        }
    }

    /// Returns true if a reply was wrapped: nobody else has blanks at all these ends, and only there.
    fn show_wrapping(&self) -> bool {
        self.other == 0 && self.broken > 1
    }
}

/// Returns true if a line is one of a patch, and so no rest of the one above it.
fn has_mark(line: &str) -> bool {
    line.is_empty() || line.starts_with([' ', '+', '-', '@', '\\', '*'])
}

/// Returns true if a line at the margin, or behind the blank at which it was broken, may be the rest
/// of the one above it.
fn goes_on_at_margin(line: &str) -> bool {
    let text = line.strip_prefix(' ').unwrap_or(line);
    let begins = |c: char| c.is_whitespace() || ")]}<=>#@/*-+|".contains(c);
    let is_own = |word| has_word(BEGINNINGS, word);
    !text.starts_with(begins) && !text.split_whitespace().next().is_none_or(is_own)
}

/// Returns true if a line opens a bracket or a quote that it does not close.
fn is_open(line: &str) -> bool {
    let (depth, is_quoted) = depth(line);
    depth > 0 || is_quoted
}

/// How many more brackets a line opens than it closes, and whether it leaves a quote open.
fn depth(line: &str) -> (i32, bool) {
    let mut depth = 0_i32;
    let mut quote = None;
    let mut escaped = false;
    // Lisp and Texinfo quote `name' so.
    let is_name = |rest: &str| {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "-_*:/.".contains(c)));
        end.is_some_and(|end| end > 0 && rest[end..].starts_with('\''))
    };
    for (at, byte) in line.bytes().enumerate() {
        match (quote, byte) {
            _ if std::mem::take(&mut escaped) => {}
            (None, b'`') if is_name(&line[at + 1..]) => {}
            (Some(_), b'\\') => escaped = true,
            (Some(open), byte) if open == byte => quote = None,
            (None, b'"' | b'`') => quote = Some(byte),
            (None, b'(' | b'[') => depth += 1,
            (None, b')' | b']') => depth -= 1,
            _ => {}
        }
    }
    (depth, quote.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The width that a whole reply is refused for.
    fn width(text: &str) -> Option<usize> {
        let issues = crate::parse(text).issues;
        let said = issues
            .iter()
            .find_map(|it| it.message.split_once("was wrapped at "));
        said.and_then(|(_, width)| width.split(' ').next()?.parse().ok())
    }

    #[test]
    fn a_wrapped_tag_is_put_together() {
        let text = "[CREATE_FILE path=\"src/components/settings/notifications/\nPanel.tsx\"]\nx\n[/CREATE_FILE]\n";
        let (repaired, _) = join_tags(text).unwrap();
        assert!(repaired.starts_with(
            "[CREATE_FILE path=\"src/components/settings/notifications/Panel.tsx\"]\nx\n"
        ));
        for text in [
            "[READ_FILE path=\"a\"\nx]\n",
            "[READ_FILE path=\"a/long/path/that/is/whole/as/it/stands/here.py\"]\n[x]\n",
            "[See the long list of links that somebody made for this page\nfor more]\n",
        ] {
            assert_eq!(join_tags(text), None, "{text}");
        }
    }

    #[test]
    fn a_wrapped_tag_shows_that_the_bodies_were_wrapped_too() {
        let tag = "[CREATE_FILE path=\"src/components/settings/notifications/list/of/all/people/Panel.txt\"]";
        let body = "One long line of words that ends where the next one did not fit on it any\nmore-or-less, as it seems\n[/CREATE_FILE]\n";
        let (first, rest) = tag.split_at(80);
        assert_eq!(width(&format!("{first}\n{rest}\n{body}")), Some(80));
        assert_eq!(width(&format!("{tag}\n{body}")), None);
        let short = body.replace(
            "long line of words that ends where the next one did not",
            "",
        );
        assert_eq!(width(&format!("{first}\n{rest}\n{short}")), None);
    }

    #[test]
    fn blanks_at_the_ends_of_broken_lines_show_it() {
        let reply = |first: &str, second: &str| {
            format!(
                "I have looked at it and made the change at the one place where the \n{first}\n\n[CREATE_FILE path=\"a.pl\"]\n# The order matters here, so that one that is slow cannot block the \n{second}\nf();\n[/CREATE_FILE]\n"
            )
        };
        assert_eq!(
            width(&reply("value is read", "others for longer")),
            Some(72)
        );
        // Blanks at the ends of lines that had room are the author's.
        assert_eq!(width(&reply("value is read", "")), None);
        assert_eq!(width(&reply("a ", "others for longer")), None);
    }

    #[test]
    fn a_wrapped_call_is_seen() {
        let call = "{\"tool\": \"write_file\", \"path\": \"n.txt\", \"content\": \"word word word word\nword word word word word word word word word word word word word word\nword word end\\n\"}\n";
        assert_eq!(width(call), Some(72));
        let hard = "{\"tool\": \"write_file\", \"path\": \"n.txt\", \"content\": \"word word word wwwww\nd\\n\"}\n";
        assert_eq!(hard.lines().next().map(str::len), Some(72));
        assert_eq!(width(hard), Some(72));
        // The members may stand on lines of their own.
        let pretty = call.replace("{\"tool\"", "{\n  \"tool\"");
        assert_eq!(width(&pretty), Some(72));
        // It may stand behind tokens, and within a string of another call.
        let behind = call.replacen("word word word word\n", "word\n", 1);
        let behind = format!("[TOOL_CALLS][{}]\n", behind.trim_end());
        assert_eq!(width(&behind), Some(72));
        let inner = call.replace("\"tool\": \"write_file\", ", "");
        let inner = inner.replace('"', "\\\"").replace("\\n", "\\\\n");
        let outer = format!("{{\n  \"arguments\": \"{}\"\n}}\n", inner.trim_end());
        assert!(width(&outer).is_some());
        // A model that does not escape its line ends has short lines, and no `\n`.
        for sound in [
            "{\"tool\": \"write_file\", \"path\": \"n.txt\", \"content\": \"word word word word\nword\nword word end\\n\"}\n",
            "{\"tool\": \"write_file\", \"path\": \"n.txt\", \"content\": \"word word word word\nword word word word word word word word word word word word word word\nword word end\"}\n",
        ] {
            assert_eq!(width(sound), None, "{sound}");
        }
    }

    #[test]
    fn lines_that_all_are_full_or_have_rests_show_it_in_any_text() {
        let text = |name: &str, lines: &str| {
            format!("[CREATE_FILE path=\"{name}\"]\n{lines}[/CREATE_FILE]\n")
        };
        let hard = "In the interest of fostering an open and welcoming environme\nnt, we pledge to making participation in our project a haras\nsment-free experience.\n";
        assert_eq!(width(&text("a.md", hard)), Some(60));
        // An author who wraps leaves some lines shorter.
        let own = "In the interest of fostering an open and welcoming community\nand environment, we pledge to make participation in our\nproject and our community a good and harassment free\nexperience.\n";
        assert_eq!(width(&text("a.md", own)), None);
        let rests = "The number of seconds after which a connection that nobody has used\nfor-some-time\nis closed by the server. A client that goes on to use it gets an answer\nthat says so\nand has to open it once more, which takes as long as it took it before\nthat.\n";
        assert_eq!(width(&text("a.txt", rests)), Some(72));
    }

    #[test]
    fn a_line_that_may_be_a_rest_is_asked_about() {
        let reply = |name: &str, line: &str| {
            crate::parse(&format!(
                "[CREATE_FILE path=\"{name}\"]\n.PHONY: help clean html dirhtml singlehtml pickle json man changes texts\n{line}\nhelp:\n[/CREATE_FILE]\n"
            ))
        };
        let asked = reply("a.d", "linkcheck doctest");
        assert_eq!((asked.steps.len(), asked.issues.len()), (1, 1), "{asked:?}");
        assert!(
            asked.issues[0]
                .message
                .starts_with("`linkcheck doctest` may be the rest")
        );
        assert_eq!(asked.issues[0].number, None);
        let comment = ".PHONY: help clean html dirhtml singlehtml pickle json man changes texts\n";
        let comment = format!(
            "[CREATE_FILE path=\"a.c\"]\n/* The words of it\n{comment}linkcheck doctest\n*/\n[/CREATE_FILE]\n"
        );
        assert!(crate::parse(&comment).issues.is_empty());
        for (name, line) in [
            ("a.d", "help: a"),
            ("a.d", "X = y"),
            ("a.d", "[x]"),
            ("a.md", "links"),
        ] {
            assert!(reply(name, line).issues.is_empty(), "{line}");
        }
    }

    #[test]
    fn a_line_behind_the_only_blank_at_an_end_is_asked_about() {
        let asked = |first: &str| {
            let text = format!(
                "[CREATE_FILE path=\"a.css\"]\n{first}input[type=checkbox].disabled, input[type=radio].disabled, .checkbox.disabled, \n.radio.disabled{{\n}}\n[/CREATE_FILE]\n"
            );
            let issues = crate::parse(&text).issues;
            assert!(issues.iter().all(|issue| issue.number.is_none()));
            issues.len()
        };
        assert_eq!(asked(""), 1);
        assert_eq!(asked("a, \nb {}\n"), 0);
    }

    const WRAPPED: &str = "[CREATE_FILE path=\"a.py\"]\ndef f():\n    raise ValueError(\"the value of the setting must be a number between one\nand nine\")\n    logging.getLogger(__name__).warning(\"the value of the setting is %s and\nshould be less\", 1)\n[/CREATE_FILE]\n";

    #[test]
    fn the_content_in_an_element_of_a_call_is_looked_at() {
        let content = WRAPPED.split_once('\n').unwrap().1;
        let content = content.strip_suffix("[/CREATE_FILE]\n").unwrap();
        for (before, after) in [
            (
                "<write_to_file>\n<path>a.py</path>\n<content>\n",
                "</content>\n</write_to_file>",
            ),
            (
                "<invoke name=\"Write\">\n<parameter name=\"file_path\">a.py</parameter>\n<parameter name=\"content\">",
                "</parameter>\n</invoke>",
            ),
            (
                "<function=write_file>\n<parameter=path>\na.py\n</parameter>\n<parameter=content>\n",
                "</parameter>\n</function>",
            ),
            (
                "<tool_call>edit\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n<arg_key>old_string</arg_key>\n<arg_value>x = 1</arg_value>\n<arg_key>new_string</arg_key>\n<arg_value>",
                "</arg_value>\n</tool_call>",
            ),
            ("<file path=\"a.py\">\n", "</file>"),
            (
                "<boltAction type=\"file\" filePath=\"a.py\">\n",
                "</boltAction>",
            ),
        ] {
            let wrapped = format!("{before}{content}{after}\nDone.\n");
            assert_eq!(width(&wrapped), Some(80), "{wrapped}");
            let sound = wrapped
                .replace("one\nand", "one and")
                .replace("and\nshould", "and should");
            assert_eq!(width(&sound), None, "{sound}");
            // Words are wrapped by their author.
            let document = wrapped.replace("a.py", "a.md");
            assert_eq!(width(&document), None, "{document}");
        }
        let ended = "<file path=\"a.py\">\nx\n</file>\n";
        assert_eq!(width(&format!("{ended}{content}")), None);
    }

    #[test]
    fn what_ends_where_a_line_ends_was_not_wrapped() {
        let edge = "x".repeat(64);
        for (first, second) in [
            // A string of several lines ends.
            (
                "  --noLockUpdate      Skips updating the lock with \"pnpm install\" always",
                "`.trim()",
            ),
            // Lisp has quotes of its own.
            (
                "Two example filter functions are shipped by default - `projectile-buffers-with-file'",
                "and `projectile-buffers-with-file-or-process'.\"",
            ),
            // A comment ends.
            (
                "   except that it is plainly the number of arguments without any flags. */",
                "PyAPI_FUNC(PyObject *) _PyObject_MakeTpCall(",
            ),
            (
                "$Unicode::UCD::SwashInfo{'ToNv'}{'format'} = 'a'; # some entries need this",
                "$Unicode::UCD::SwashInfo{'ToNv'}{'missing'} = 'NaN';",
            ),
            // A statement ends.
            (
                "  ->header_is('Accept-Ranges' => 'bytes')->content_is(\"test 123\\nlalala\");",
                "$modified = $t->tx->res->headers->last_modified;",
            ),
        ] {
            let text = file("", first, &format!("{second}\n    {edge}"));
            assert_eq!(width(&text.repeat(2)), None, "{text}");
        }
    }

    #[test]
    fn who_writes_a_document_wraps_it_too() {
        let text = "[CREATE_FILE path=\"README.markdown\"]\nView any blob, tree, commit, or tag in the repository with `:Gedit` (and\n`:Gsplit`, `:Gvsplit`, `:Gtabedit`, ...).  Edit a file in the index and\nwrite to it.\n[/CREATE_FILE]\n";
        assert_eq!(width(text), None);
        assert_eq!(width(&text.replace("README.markdown", "a.py")), Some(72));
        let prose = "I wrote the document that you asked for, and it says which commands show a\nblob, a tree or a commit, and how one goes back from there to the file that\nwas there before it, in the work tree.\n\n";
        assert!(width(&format!("{prose}{text}")).is_some());
    }

    #[test]
    fn two_paths_that_are_cut_at_a_usual_edge_are_enough() {
        let script = "rsync --archive --delete --compress --partial --progress /srv/service/data h:/sr\nv/backup/data\nrm -rf /srv/service/cache/old /srv/service/cache/older /srv/service/state/backup\ns/old/*.bak /srv/service/s\n";
        let script = script.replace(" h:/sr", " ha/sr");
        let text = format!("[CREATE_FILE path=\"r.sh\"]\n{script}[/CREATE_FILE]\n");
        assert_eq!(width(&text), Some(80));
        for next in ["rm /srv/old", "touch /srv/done"] {
            let text = text.replace(" ha/sr\nv/backup/data", "");
            let text = text.replace("\ns/old/*.bak", &format!("\n{next}"));
            assert_eq!(width(&text), None, "{text}");
        }
    }

    #[test]
    fn a_line_that_the_format_of_its_file_does_not_have_shows_it() {
        let tag = |name: &str| format!("[CREATE_FILE path=\"{name}\"]\n");
        let first = "After=apt-daily.service network.target network-online.target";
        let (second, rest) = (
            "systemd-networkd.service NetworkManager.service",
            "[Install]\n",
        );
        let end = "[/CREATE_FILE]\n";
        let text = |name: &str| format!("{}{first}\n{second}\n{rest}{end}", tag(name));
        assert_eq!(width(&text("etc/a.service")), Some(60));
        assert_eq!(width(&text("etc/a")), None);
        let sound = text("a.service").replace("target\n", "target ");
        assert_eq!(width(&sound), None);
        let short = text("a.service").replace("target network-online.", "");
        assert_eq!(width(&short), None);
        let block = format!("I made it:\n\n**a.service**\n```\n{first}\n{second}\n```\n");
        assert_eq!(width(&block), None);
        let key =
            "      spec: !REF\ngoogle.lib.network_security.security_profiles.resources:location\n";
        for text in [
            format!("{}params:\n{key}{end}", tag("a.yml")),
            format!("`a.yaml`:\n```yaml\nparams:\n{key}```\n"),
            format!("a.yaml\n<<<<<<< SEARCH\na: 1\n=======\nparams:\n{key}>>>>>>> REPLACE\n"),
        ] {
            assert!(width(&text).is_some(), "{text}");
        }
        // What is text in it may look like anything.
        let text = format!(
            "{}a = \"\"\"\n{first}\n{second}\n\"\"\"\n{end}",
            tag("p.toml")
        );
        assert_eq!(width(&text), None);
    }

    /// A file with these two lines in it.
    fn file(indentation: &str, first: &str, second: &str) -> String {
        format!("[CREATE_FILE path=\"a\"]\n{indentation}{first}\n{second}\n[/CREATE_FILE]\n")
    }

    #[test]
    fn what_only_looks_wrapped_can_be_sent_as_json() {
        let first =
            "const value = some_function_of(argument, another_argument, third_argument[first1";
        let reply = crate::parse(&file("", first, "]);"));
        assert!(reply.steps.is_empty() && reply.issues[0].hint.contains("as JSON"));
        let json = format!(
            "{{\"tool\": \"write_file\", \"path\": \"a\", \"content\": \"{first}\\n]);\"}}"
        );
        let reply = crate::parse(&json);
        assert_eq!((reply.steps.len(), reply.issues.len()), (1, 0), "{reply:?}");
    }

    #[test]
    fn a_rule_of_wide_characters_reaches_no_edge() {
        let rule = "\u{2550}".repeat(38);
        let css = format!("/* {rule}\n   {rule} */\n.grid {{\n");
        let text = format!("a.css\n<<<<<<< SEARCH\n=======\n{css}>>>>>>> REPLACE\n");
        assert_eq!(width(&text), None);
    }

    #[test]
    fn one_line_at_a_usual_edge_is_enough() {
        for (first, second) in [
            // At the column itself.
            (
                "use some::module::with::a::name::that::is::long::and::goes::on::and::on::and::on",
                "ly::Thing;",
            ),
            (
                "    let value = some_function_of(argument) * another_function_of(argument_twwo) ",
                "+ third;",
            ),
            (
                "    let value = some_function_of(argument) * another_function_of(argument_twwwo)",
                " + third;",
            ),
            (
                "const value = some_function_of(argument, another_argument, third_argument[first1",
                "]);",
            ),
            (
                "    total = first_value_of_the_sum + second_value_of_the_sum + third_value_of_th",
                "e_sum",
            ),
            // At the last blank before it.
            (
                "pub const SOME_RATHER_LONG_NAME_OF_A_CONSTANT: AutoSvcs_Error_Constants =",
                "2147803150u32;",
            ),
            (
                "pub fn all_attachments(&self, other: &Session, third: &Third) -> Option<&'static",
                "str> {",
            ),
            (
                "const Language *lookahead_iterator_language(const LookaheadIterator",
                "*self, int count) {",
            ),
            (
                "description = \"a sentence that says what this package is for and why",
                "anybody would use it at all\"",
            ),
            (
                "    const key =",
                "`${comparison.benchmark};${comparison.profile};${comparison.scenario};${it}`;",
            ),
            (
                "// A comment that goes on until the end of the line and then on the next, as",
                "Windows does.",
            ),
            (
                " * For the full copyright and license information, please view the file",
                "LICENSE\n * that was distributed with it.",
            ),
        ] {
            assert!(
                width(&file("", first, second)).is_some(),
                "{first}\n{second}"
            );
        }
        for (first, second) in [
            (
                "    return some_function_of(argument) * another_function_of(argument_two, thr)",
                "where",
            ),
            (
                "static const struct some_type some_name_of_a_table_of_values = { 1, 2, 3, 4 };",
                "int x;",
            ),
            (
                "name: a value that has some words in it, up to about eighty columns or so",
                "next: 1",
            ),
            (
                "A paragraph of a document that is wrapped by its author, near eighty columns",
                "goes on.",
            ),
        ] {
            assert_eq!(width(&file("", first, second)), None, "{first}\n{second}");
        }
    }

    #[test]
    fn an_operator_at_the_margin_goes_on_with_a_line() {
        for (first, second) in [
            (
                "// A comment that goes on until the end of the line and then on the next, with",
                "`code` in it.",
            ),
            (
                "    def adding_requirement(self, requirement: Requirement, parent: Candidate)",
                "-> None:",
            ),
            (
                "        state=None, code_challenge=None, code_challenge_method='plain',",
                "**kwargs):",
            ),
            (
                "pub const COM_ADMIN_ERR_COMP_FILE_GET_CLASS_OBJ: COMAdminErrorCodes_Type =",
                "-2146368474i32;",
            ),
        ] {
            assert!(
                width(&file("", first, second)).is_some(),
                "{first}\n{second}"
            );
        }
    }

    #[test]
    fn lines_of_a_patch_go_on_only_without_a_mark() {
        let patch = |rest: &str| {
            format!(
                "[APPLY_PATCH]\nFrom: A\n\nWords of the author that end where the next one did not fit on the line,\nwhich is why they go on.\n\n--- a/m4/libtool.m4\n+++ b/m4/libtool.m4\n@@ -1,3 +1,2 @@\n # Generated automatically by $as_me ($PACKAGE) $VERSION\n-# Libtool was configured on host `(hostname || uname -n) 2>/dev/null | sed 1q`:\n{rest}\n[/APPLY_PATCH]\n"
            )
        };
        assert_eq!(width(&patch(" # NOTE: changes will be lost")), None);
        assert_eq!(
            width(&patch(
                "+    raise ValueError(\"the value of the setting must be one\nand nine\")"
            )),
            None
        );
        let cut = "+    return some_function_name(argument_one, argument_two, argument_three, argum\nent_four)";
        assert_eq!(width(&patch(cut)), Some(80));
    }

    #[test]
    fn what_begins_anew_is_no_rest() {
        for (above, line) in [
            (
                "  export NODE_PORT=$(kubectl get services -o jsonpath=\"{.spec.ports[0].nodePort}\" {{ x }})",
                "{{- end }}",
            ),
            (
                "  \\setmainfont[$for(mainfontoptions)$$mainfontoptions$$sep$,$endfor$$if(x)$]",
                "$endif$",
            ),
            (
                "(* the assumption holds.  Note that is enabled (equals true for some next  *)",
                "(* value chosen) if and only if it equals the empty set.   *)",
            ),
            (
                ".\\\" Define V font for inline verbatim (using C font in formats",
                ".\\\" that render this), and otherwise B font.",
            ),
            (
                "  (*************************************************************************)",
                "VARIABLE chosen",
            ),
            (
                "1. [`check_manifest.py`](.github/scripts/check.py): this uses `(` of the package",
                "2. [`unicode.py`](.github/scripts/unicode.py)): this uses it too)",
            ),
            (
                "echo \"Current version:\" $(grep version package.json | sed -E 's/^.*\"([0-9]+)\".*$/(/')",
                "echo \"Enter it: \"",
            ),
        ] {
            let body = format!("{above}\n{line}\n{above}\n{line}");
            let text = format!("[CREATE_FILE path=\"a\"]\n{body}\n[/CREATE_FILE]\n");
            assert_eq!(width(&text), None, "{line}");
        }
    }

    #[test]
    fn wrapped_words_make_a_weaker_sign_enough() {
        let body = file(
            "",
            "    total = first_value_of_the_sum + second_value_of_the_sum + third",
            "value_of",
        );
        assert_eq!(width(&body), None);
        let words = "I looked at the file and found the place where this is done. It\nkeeps the behaviour for all callers as it is now and adds what you\nasked for.\n\n";
        assert_eq!(width(&format!("{words}{body}")), Some(72));
    }

    #[test]
    fn a_wrapped_body_is_seen() {
        assert_eq!(width(WRAPPED), Some(80));
        let comments = "[CREATE_FILE path=\"a.py\"]\ndef f():\n    # this comment is long enough that a terminal of eighty columns has to break\n it somewhere in the middle of it\n    # another long comment that goes on and on until the terminal has to break i\nt into two lines as well\n    return x\n[/CREATE_FILE]\n";
        assert_eq!(width(comments), Some(80));
        let replaced = "a.py\n<<<<<<< SEARCH\n    return x\n=======\n    return some_function_name(argument_one, argument_two, argument_three, argume\nnt_four)\n>>>>>>> REPLACE\n";
        assert_eq!(width(replaced), Some(80));
        // Whether a SEARCH was wrapped, the file tells.
        let searched = "a.py\n<<<<<<< SEARCH\n    return some_function_name(argument_one, argument_two, argument_three, argume\nnt_four)\n=======\n    return some_function_name(argument_one, argument_two, argument_three, argume\nnt_four)\n    pass\n>>>>>>> REPLACE\n";
        assert_eq!(width(searched), None);
        let margin = "a.py\n<<<<<<< SEARCH\ndef f():\n=======\ndef f(x=\"this is a rather long default string that goes on and on beyond\none hundred columns\", y=1):\n>>>>>>> REPLACE\n";
        assert_eq!(width(margin), Some(72));
        let narrow = "a.py\n<<<<<<< SEARCH\nx = 1\n=======\n    raise ValueError(\"the value of the setting must be a\nnumber\")\n    logging.getLogger(__name__).warning(\"the value is %s\nnow\", 1)\n>>>>>>> REPLACE\n";
        assert_eq!(width(narrow), Some(60));
        let ninety = "a.py\n<<<<<<< SEARCH\nx = 1\n=======\n    # this comment is long enough that a terminal of ninety columns has to break it there\nin the middle\n    x = 2\n>>>>>>> REPLACE\n";
        assert_eq!(width(ninety), Some(89));
        let rest = "[CREATE_FILE path=\"a.rs\"]\nfn f() {\n    let scrubbed = |text: &str| ApiKey::new(text).unwrap().scrub(format!(\"{text} {x}!!\"))\n;\n}\n[/CREATE_FILE]\n";
        assert_eq!(width(rest), Some(89));
        let address = format!("{WRAPPED}https://example.org/{}\n", "word/".repeat(40));
        assert_eq!(width(&address), Some(80));
        // A long word is not broken, so the blank behind it proves nothing.
        let word = format!("{WRAPPED}{}(first, second);\n", "word".repeat(25));
        assert_eq!(width(&word), Some(80));
        let long = format!("{WRAPPED}{}\n", "word ".repeat(40));
        assert_eq!(width(&long), None);
        let sound = WRAPPED
            .replace("one\nand", "one and")
            .replace("and\nshould", "and should");
        assert_eq!(width(&sound), None);
    }
}
