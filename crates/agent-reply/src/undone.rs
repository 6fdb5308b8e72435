//! The last look at a reply: work in lines that no recogniser took.
//!
//! A recogniser is strict, because what it finds is carried out. Here nothing is carried out: the
//! only question is whether the lines show work that somebody expects to be done. The arbiter asks
//! for it again unless a command of the reply does it.
//!
//! | what stands there | told as |
//! |---|---|
//! | a tag of ours behind words or HTML, in other brackets or letters, or closed among words | a tag |
//! | a call in broken or unknown JSON, in XML among words, as a function, in the tokens of a page | a call |
//! | changed lines in a cell of a table | a diff |
//! | a code block that names a file, or under a line that names one and leads to it | a file |

use std::cell::OnceCell;
use std::ops::Range;

use crate::candidate::BlockTrouble;
use crate::carried_out::ShownWork;
use crate::code_fence::{self, Fence};
use crate::line::{has_word, is_blank_or_fence};
use crate::recognise::shown;
use crate::tags::LooseTag;
use crate::trim::{is_blank, trim};
use crate::xml::XmlEnds;
use crate::{file_name, tools, whole_file, work};

/// How many values in braces are looked into: this bounds the time that hostile text can cost.
const MOST_VALUES: usize = 500;

/// Work that is shown and not carried out.
pub(super) struct UndoneWork {
    /// The lines that show it.
    pub(super) lines: Range<usize>,
    pub(super) work: ShownWork,
    pub(super) trouble: BlockTrouble,
}

/// The work in lines that are in none of the blocks.
pub(super) fn find(lines: &[&str], blocks: &[Range<usize>]) -> Vec<UndoneWork> {
    let mut is_taken = vec![false; lines.len()];
    for block in blocks {
        let end = block.end.min(lines.len());
        is_taken[block.start.min(end)..end].fill(true);
    }
    let mut look = LastLook {
        lines,
        is_taken,
        ends: OnceCell::new(),
        values: 0,
        found: Vec::new(),
    };
    look.walk();
    look.found
}

struct LastLook<'a> {
    lines: &'a [&'a str],
    is_taken: Vec<bool>,
    ends: OnceCell<XmlEnds>,
    values: usize,
    found: Vec<UndoneWork>,
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

impl LastLook<'_> {
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
                self.line(at, LookPlace::Open);
                at += 1;
            }
        }
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
        end + 1
    }

    fn line(&mut self, at: usize, place: LookPlace) {
        const MARKS: [char; 9] = [
            '[', '\u{3010}', '\u{ff3b}', '{', '<', '|', '\u{ff5c}', '=', '(',
        ];
        if self.is_taken[at] || !self.lines[at].contains(MARKS) {
            return;
        }
        let tag = || self.tag(at).filter(|_| place != LookPlace::Program);
        let found = tag().or_else(|| self.call(at, place));
        self.found.extend(found);
    }

    fn tag(&self, at: usize) -> Option<UndoneWork> {
        let tag = LooseTag::find(self.lines[at])?;
        let name = tag.name;
        let trouble = BlockTrouble::new(
            format!(
                "`{}` counts only as a whole tag alone on its line, so this was not done",
                name.as_str()
            ),
            format!("Write it as `{}`.", name.example()),
        );
        let mut work = ShownWork::lines(tag.body.as_slice());
        work.files.extend(tag.path.map(str::to_owned));
        Some(UndoneWork {
            lines: at..at + 1,
            work,
            trouble: trouble.of(name.as_str()),
        })
    }

    fn call(&mut self, at: usize, place: LookPlace) -> Option<UndoneWork> {
        if self.found.last().is_some_and(|it| at < it.lines.end) {
            return None;
        }
        let line = trim(self.lines[at]);
        let json = (place != LookPlace::Program).then(|| self.json(at));
        let found = json.flatten().or_else(|| self.element(at, place));
        let found = found.or_else(|| {
            let work = match self.function(at).filter(|_| place != LookPlace::Inside) {
                None if has_token(line) => ShownWork::default(),
                function => function?,
            };
            Some((at..at + 1, work))
        });
        let (told, (lines, work)) = match found {
            Some(found) => ("a call", found),
            None if is_diff_cell(line) => ("a diff in a table", (at..at + 1, ShownWork::default())),
            None => return None,
        };
        let shown: String = line.chars().take(80).collect();
        Some(UndoneWork {
            lines,
            work,
            trouble: BlockTrouble::new(
                format!("{told} was not understood, so it was not done: `{shown}`"),
                "Send it as a command of the protocol, if it was meant.",
            ),
        })
    }

    /// A call in JSON that is broken or of a shape that nobody knows.
    fn json(&mut self, at: usize) -> Option<(Range<usize>, ShownWork)> {
        const MOST_LINES: usize = 40;
        let start = outside_code(self.lines[at], '{').next()?;
        if self.values >= MOST_VALUES {
            return None;
        }
        self.values += 1;
        let mut below = (at + 1..self.lines.len()).take(MOST_LINES);
        let end = below.find(|line| self.is_taken[*line] || is_blank_or_fence(self.lines[*line]));
        let end = end.unwrap_or(self.lines.len().min(at + 1 + MOST_LINES));
        let mut text = self.lines[at][start..].to_owned();
        for line in &self.lines[at + 1..end] {
            text.push('\n');
            text.push_str(line);
        }
        let work = JsonPairs::read(&text).work()?;
        Some((at..end, work))
    }

    /// A call, or an artifact without a path, as an XML element that begins on a line. Only one that
    /// begins its line may have a name of one word, as `<run>`.
    fn element(&self, at: usize, place: LookPlace) -> Option<(Range<usize>, ShownWork)> {
        const PARAMETERS: [&str; 4] = ["<path>", "<file_path>", "<command>", "<filename>"];
        let (lines, line) = (self.lines, self.lines[at]);
        let mut next = lines[at..].iter().take(2);
        let has_parameter = next.any(|line| PARAMETERS.iter().any(|it| line.contains(it)));
        let (start, name, last) = outside_code(line, '<').find_map(|start| {
            let name = element(&line[start + 1..])?;
            let begins = || place != LookPlace::Inside && is_blank(&line[..start]);
            let is_plain = || line[start + 1 + name.len()..].starts_with('>');
            let is_call = match name {
                "antArtifact" => true,
                "artifact" => begins(),
                "file" => has_parameter,
                "command" => begins() && is_plain(),
                name if !tools::has_effects(name) => false,
                name => name.contains(['_', '-']) || has_parameter || (begins() && is_plain()),
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
        Some((at..last + 1, ShownWork::lines(body)))
    }

    /// A call of a tool as a function of a program: `write_file(path="a.py", content="")`.
    fn function(&self, at: usize) -> Option<ShownWork> {
        let line = trim(self.lines[at]).trim_start_matches(['-', '*', '>', ' ']);
        let line = line.strip_prefix("print(").unwrap_or(line);
        let (name, values) = line.split_once('(')?;
        let name = name.strip_prefix("default_api.").unwrap_or(name);
        if name.contains(' ') || !tools::has_effects(name) {
            return None;
        }
        let below = self.lines.get(at + 1).filter(|_| is_blank(values));
        let values = below.map_or(values, |line| trim(line));
        let is_key = |key: &&str| key.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
        let named = values
            .split_once('=')
            .filter(|(key, _)| is_key(&key.trim()));
        let value = named.map_or(values, |(_, value)| value.trim_start());
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let value = value.trim_start_matches(quote).split(quote).next()?;
        let work = ShownWork::lines(&[value]).of_file(value);
        (named.is_some() || name.contains('_')).then_some(work)
    }

    /// The file that a code block is meant for, if the line above it names one and leads to it, or
    /// if it names one itself.
    fn file(&mut self, at: usize, content: Range<usize>, fence: &Fence<'_>) {
        const OUTPUTS: &str = "console output log logs traceback";
        let language = fence.language();
        let lines = &self.lines[content.clone()];
        let inside = || {
            let name = whole_file::named_at_top(lines);
            let names = name.map_or_else(|| file_name::in_words(fence.info), |name| vec![name]);
            (!names.is_empty()).then_some((at, names))
        };
        let Some((line, names)) = self.led_from(at).or_else(inside) else {
            return;
        };
        if has_word(OUTPUTS, language)
            || !whole_file::is_taken(language, names[0])
            || lines.iter().all(|line| is_blank(line))
        {
            return;
        }
        let mut work = ShownWork::lines(lines);
        work.files = names.iter().map(|name| (*name).to_owned()).collect();
        let name = names[0];
        let trouble = BlockTrouble::new(
            format!(
                "the code block for `{name}` was only shown: nothing says that it is the whole file"
            ),
            format!(
                "Send it as `[CREATE_FILE path=\"{name}\"]` if it is the whole file, or as `[EDIT_FILE path=\"{name}\"]` if it is a change."
            ),
        );
        self.found.push(UndoneWork {
            lines: line..content.end,
            work,
            trouble: trouble.of("CREATE_FILE"),
        });
    }

    /// The line that leads to the code block at `at`, and the files that it names.
    fn led_from(&self, at: usize) -> Option<(usize, Vec<&str>)> {
        const LABELS: &str = "before after old new with to by from";
        let above = |at: usize| {
            let mut above = (at.saturating_sub(2)..at).rev();
            let line = above.find(|line| !is_blank(self.lines[*line]))?;
            let is_free = !self.is_taken[line] && Fence::read(self.lines[line]).is_none();
            is_free.then_some(line)
        };
        let mut line = above(at)?;
        let label = trim(self.lines[line]).trim_matches(['*', '#', ':', '_', ' ']);
        let is_label = has_word(LABELS, &label.to_lowercase());
        if is_label {
            line = above(line)?;
        }
        let names = file_name::in_words(self.lines[line]);
        let first = names.first()?;
        let leads = is_label || leads_to_work(self.lines[line], first);
        leads.then_some((line, names))
    }
}

/// The name at the beginning of an element, behind its bracket.
fn element(text: &str) -> Option<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let end = text.find(|c| !is_name(c))?;
    let is_end = text[end..].starts_with(['>', ' ', '/']);
    (end > 0 && is_end).then(|| &text[..end])
}

/// The places of a character outside of backticks.
fn outside_code(line: &str, wanted: char) -> impl Iterator<Item = usize> {
    let mut is_code = false;
    line.char_indices().filter_map(move |(at, c)| {
        is_code ^= c == '`';
        (c == wanted && !is_code).then_some(at)
    })
}

/// Returns true if a line has the tokens of a call as pages show them.
fn has_token(line: &str) -> bool {
    line.contains("to=functions.")
        || (line.contains("DSML\u{ff5c}") && line.contains("invoke "))
        || (line.starts_with("Action Input:") && line.contains('{'))
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

/// Returns true if a line that names a file leads to what is to be written there: `Create x.py:`,
/// `In x.py, replace`, `x.py (lines 3-7)`.
fn leads_to_work(line: &str, name: &str) -> bool {
    const WORK: &str = "\
        add append apply change create edit insert make modify paste put replace rewrite save set \
        update write";
    const TALK: &str = "\
        already contains current currently e.g error example examples existing had has i've looks \
        not output prints says shown shows usage uses was were";
    let text = trim(line).trim_end_matches(['*', '_', ' ']);
    let lower = text.to_lowercase().replace('\u{2019}', "'");
    let lower = lower.replace(&name.to_lowercase(), " ");
    let is_part = |c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '.'));
    let words: Vec<&str> = lower
        .split(is_part)
        .map(|word| word.trim_matches('.'))
        .filter(|word| !word.is_empty())
        .collect();
    let tells_past = words
        .windows(2)
        .any(|pair| matches!(pair, ["i" | "we", verb] if verb.ends_with("ed") || *verb == "have"));
    if tells_past || words.iter().any(|word| has_word(TALK, word)) {
        return false;
    }
    let asks = words.iter().any(|word| has_word(WORK, word));
    text.ends_with(':')
        || text.starts_with('#')
        || (!text.ends_with('.') && (asks || words.len() <= 4))
}

/// The keys of a value in JSON, sound or not, with the text behind each.
struct JsonPairs<'t>(Vec<(&'t str, &'t str)>);

impl<'t> JsonPairs<'t> {
    fn read(text: &'t str) -> Self {
        const MOST_BYTES: usize = 100;
        let mut pairs = Vec::new();
        for (at, quote) in text.match_indices(['"', '\'', '\u{201c}']) {
            let key = &text[at + quote.len()..];
            let is_key = |c: char| c.is_alphanumeric() || "_-./".contains(c);
            let end = key.find(|c| !is_key(c)).unwrap_or(key.len());
            let behind = key[end..].strip_prefix(['"', '\'', '\u{201d}']);
            let behind = behind.and_then(|rest| rest.trim_start().strip_prefix(':'));
            if let Some(value) = behind.filter(|_| (1..MOST_BYTES).contains(&end)) {
                pairs.push((&key[..end], value.trim_start()));
            }
        }
        Self(pairs)
    }

    fn has(&self, keys: &str) -> bool {
        self.0.iter().any(|(key, _)| has_word(keys, key))
    }

    /// The first of these keys, and its value if it is a string of one word or line.
    fn text(&self, keys: &str) -> Option<(&'t str, &'t str)> {
        self.0.iter().find_map(|(key, value)| {
            let inner = value.strip_prefix(['"', '\'', '\u{201c}'])?;
            let end = inner.find(['"', '\'', '\u{201d}', '\n'])?;
            has_word(keys, key).then_some((*key, &inner[..end]))
        })
    }

    /// The work that a call with these keys asks for.
    fn work(&self) -> Option<ShownWork> {
        const PATHS: &str = "path file_path filePath file filename";
        const TEXTS: &str = "\
            content contents text code diff patch search replace old_string new_string oldString \
            newString old new";
        let path = self.text(PATHS).map(|(_, path)| path);
        let is_change = path.is_some() && self.has(TEXTS);
        let is_call = || {
            let (key, tool) = self.text(tools::TOOL_KEYS)?;
            let has_parameters = self.has(tools::NESTED) || self.has("action_input");
            let is_known = tools::has_effects(tool);
            let is_alone = key != "name" && (path.is_some() || self.has("command"));
            Some(is_known && (has_parameters || is_alone) || (key != "name" && is_change))
        };
        let first = self.0.first()?.0;
        let lists_files = first == "files" && self.0.iter().any(|(key, _)| file_name::is_file(key));
        let lists = has_word("files edits changes", first) && (is_change || lists_files);
        if self.has(tools::RECORD) || !(lists || is_call() == Some(true)) {
            return None;
        }
        let command = self.text("command").map(|(_, script)| script);
        let mut work = ShownWork::lines(command.as_slice());
        work.files.extend(path.map(str::to_owned));
        Some(work)
    }
}
