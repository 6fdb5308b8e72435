//! The keys of a call in a notation that no recogniser reads.
//!
//! A call in JSON, YAML, XML or as a function of a program has keys with texts behind them, whatever
//! is wrong with it. They tell a call from data: it names a tool that the table knows and has a
//! parameter, or it has all that an edit needs. Nothing is carried out by this.

use crate::carried_out::ShownWork;
use crate::line::has_word;
use crate::{file_name, tools};

/// Keys with the text behind each, in JSON, YAML, XML or the call of a function, sound or not.
pub(super) struct KeyedTexts<'t> {
    text: &'t str,
    pairs: Vec<KeyedText<'t>>,
}

#[derive(Clone, Copy)]
struct KeyedText<'t> {
    key: &'t str,
    value: &'t str,
    /// The key is in quotes.
    is_quoted: bool,
}

impl<'t> KeyedTexts<'t> {
    pub(super) fn read(text: &'t str) -> Self {
        const MOST_BYTES: usize = 240;
        let is_quote = |c: char| matches!(c, '"' | '\'' | '\u{201c}' | '\u{201d}');
        let is_part = |c: char| c.is_alphanumeric() || "_-./".contains(c);
        let mut pairs = Vec::new();
        for (at, mark) in text.match_indices([':', '=', '>']) {
            let before = text[..at].trim_end_matches(' ');
            let inner = before.strip_suffix(is_quote);
            let before = inner.unwrap_or(before);
            let lead = before.trim_end_matches(is_part);
            let key = before[lead.len()..].trim_start_matches('-');
            let begins = |leads: &str| {
                let last = lead.chars().next_back();
                last.is_none_or(|last| leads.contains(last))
            };
            let is_key = match mark {
                ">" => inner.is_none() && lead.ends_with('<'),
                _ if inner.is_some() => lead.ends_with(is_quote),
                "=" => begins(" \t\n(,<"),
                _ => {
                    // `Action Input: {...}`
                    let lead = lead.strip_suffix("Action ").unwrap_or(lead);
                    let lead = lead.trim_end_matches([' ', '\t', '-', '*']);
                    lead.is_empty() || lead.ends_with(['\n', '{', '(', ',', '['])
                }
            };
            if is_key && (1..MOST_BYTES).contains(&key.len()) {
                let value = text[at + 1..].trim_start();
                // `**Tool:** bash`
                let bold = value.strip_prefix("**").filter(|_| mark == ":");
                let value = bold.map_or(value, str::trim_start);
                // `BEGIN_ARG: path` over the value.
                let argument = value.split_once('\n').filter(|_| key == "BEGIN_ARG");
                let (key, value) = argument.unwrap_or((key, value));
                pairs.push(KeyedText {
                    key: key.trim_end(),
                    value,
                    is_quoted: inner.is_some(),
                });
            }
        }
        Self { text, pairs }
    }

    fn has(&self, keys: &str) -> bool {
        self.pairs
            .iter()
            .any(|pair| tools::is_among(keys, pair.key))
    }

    /// The first of these keys whose value is a text of one word or line, and that value.
    fn text(&self, keys: &str) -> Option<(&'t str, &'t str)> {
        const ENDS: [char; 8] = ['\n', ',', '<', '>', ')', '}', '{', '['];
        let mut pairs = self.pairs.iter();
        pairs.find_map(|KeyedText { key, value, .. }| {
            if !tools::is_among(keys, key) {
                return None;
            }
            let value = match value.strip_prefix(['"', '\'', '\u{201c}']) {
                Some(inner) => &inner[..inner.find(['"', '\'', '\u{201d}', '\n'])?],
                None => value.split(ENDS).next()?.trim(),
            };
            (!value.is_empty()).then_some((*key, value))
        })
    }

    /// Returns true if it names a file under a key for one.
    pub(super) fn names_file(&self) -> bool {
        self.text(tools::PATH)
            .is_some_and(|(_, path)| file_name::is_file(path))
    }

    /// The work that a call with these keys asks for; `opened` is a tool with whose name it begins.
    pub(super) fn work(&self, opened: Option<&str>) -> Option<ShownWork> {
        const TEXTS: &str = "\
            content contents text code diff patch search replace old_string new_string old new";
        const SCRIPTS: &str = "command cmd script";
        const MOVED: &str = "source destination old_path new_path";
        let path = self.text(tools::PATH).map(|(_, path)| path);
        let is_change = path.is_some() && self.has(TEXTS);
        let has_parameter = path.is_some() || self.has(SCRIPTS) || self.has(MOVED);
        let has_parameters = self.has(tools::NESTED) || self.has("action_input tool_input");
        let is_call = || {
            if let Some(tool) = opened {
                // `patch("a.b", path=c)` is a program.
                let behind = self.text.split_once(tool).map_or("", |(_, behind)| behind);
                let is_keyed = !behind
                    .trim_start_matches(['(', ' '])
                    .starts_with(['"', '\'']);
                return is_keyed && (has_parameter || has_parameters);
            }
            let Some((key, tool)) = self.text(&format!("{} op", tools::TOOL_KEYS)) else {
                return false;
            };
            // Much data has a name.
            let is_strong = key != "name" || self.text.starts_with('<');
            tools::has_effects(tool) && (has_parameters || (is_strong && has_parameter))
                || (is_strong && is_change)
        };
        // `{"write_file": {"path": ...}}`
        let is_keyed = || {
            let first = self.pairs.first();
            first.is_some_and(|it| it.value.starts_with('{') && tools::has_effects(it.key))
                && (path.is_some() || self.has(SCRIPTS))
        };
        let is_edit = || {
            let is_pair = self.has("search old_string find") && self.has(tools::NEW);
            self.names_file() && (is_pair || self.has("code_edit"))
        };
        // The whole text of a file, as a canvas has it: `{"name": "a.py", "content": "..."}`.
        let is_text = self.text.starts_with('{') && self.has("content contents code");
        let title = || {
            self.text("name")
                .filter(|(_, it)| is_text && file_name::is_file(it))
        };
        let is_file = || is_text && self.names_file() || title().is_some();
        // `{"a.py": "x = 1\n"}`
        if let Some(name) = self.mapped_file() {
            return Some(ShownWork::default().of_file(name));
        }
        let first = self.pairs.first().map_or("", |pair| pair.key);
        let lists_files =
            first == "files" && self.pairs.iter().any(|pair| file_name::is_file(pair.key));
        let lists = has_word("files edits changes", first) && (is_change || lists_files);
        // The quoted keys behind those of a call of a function are within a text.
        let is_in_text = opened.is_some() && !self.pairs.first().is_some_and(|it| it.is_quoted);
        let is_record = !is_in_text && self.is_record();
        if is_record || !(lists || is_call() || is_keyed() || is_edit() || is_file()) {
            return self.positional(opened);
        }
        let path = path.or_else(|| Some(title()?.1));
        let command = self.text(SCRIPTS).map(|(_, script)| script);
        Some(ShownWork::lines(command.as_slice()).of_files(path))
    }

    /// The file that JSON maps to a text of several lines.
    fn mapped_file(&self) -> Option<&'t str> {
        let first = self
            .pairs
            .first()
            .filter(|it| it.is_quoted && self.text.starts_with('{'))?;
        let text = first.value.strip_prefix('"')?.split('\n').next()?;
        (text.contains("\\n") && file_name::is_file(first.key)).then_some(first.key)
    }

    /// A call of a function whose first value has no key: `write_file("a.py", "x")`.
    fn positional(&self, opened: Option<&str>) -> Option<ShownWork> {
        let (before, values) = self.text.split_once('(')?;
        let is_compound = opened?.contains('_') && before.ends_with(opened?);
        let value = values.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let value = value.trim_start_matches(quote).split(quote).next()?;
        is_compound.then(|| ShownWork::lines(&[value]).of_file(value))
    }

    /// Returns true if it tells of a call that was made. What a file is moved from is its source.
    fn is_record(&self) -> bool {
        let is_move = self.has("destination");
        let mut keys = self.pairs.iter().filter(|pair| pair.is_quoted);
        keys.any(|pair| has_word(tools::RECORD, pair.key) && !(is_move && pair.key == "source"))
    }
}
