//! Expands the words of a script: removes quotes and inserts known values.

use super::{Dialect, ScriptReader, ScriptState, UNKNOWN, is_assignment};

/// The maximum number of words that one pair of braces may become.
const MAX_ALTERNATIVES: usize = 64;

/// The words that one piece of text without blanks becomes.
#[derive(Default)]
struct ExpandedWord {
    finished: Vec<String>,
    word: String,
    /// True if the word exists even if it is empty.
    is_quoted: bool,
    has_braces: bool,
}

impl ExpandedWord {
    fn push_expansion(&mut self, value: &str) {
        let mut fields = value.split([' ', '\t', '\n']);
        self.word.push_str(fields.next().unwrap_or_default());
        for field in fields {
            self.end_word();
            self.word.push_str(field);
        }
    }

    fn end_word(&mut self) {
        if !self.word.is_empty() || self.is_quoted {
            self.finished.push(std::mem::take(&mut self.word));
        }
        self.is_quoted = false;
    }
}

impl ScriptState<'_> {
    /// Follows the substitutions in a text that a shell treats like one in double quotes.
    pub(super) fn quoted_text(&mut self, text: &str) {
        let mut reader = ScriptReader::new(text, self);
        let mut ignored = String::new();
        while reader.peek().is_some() {
            reader.double_quoted(&mut ignored);
        }
    }
}

impl ScriptReader<'_, '_> {
    /// Reads up to the next blank or operator; the text may become several words.
    pub(super) fn word(&mut self, words: &mut Vec<String>) {
        let mut draft = ExpandedWord::default();
        let is_first = words.iter().all(|word| is_assignment(word));
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' => break,
                '<' | '>' => {
                    // A number before a redirection is a descriptor, and so is a name in braces.
                    if is_descriptor(&draft.word) {
                        draft.word.clear();
                    }
                    break;
                }
                '~' if draft.word.is_empty() || draft.word.ends_with(['=', ':']) => {
                    self.tilde(&mut draft);
                }
                '\'' => self.single_quoted(&mut draft),
                '"' if self.quotes_a_list() => {
                    self.advance();
                    let value = self.dollar(&mut false);
                    self.state.spend(value.len());
                    draft.push_expansion(&value);
                    self.take_if('"');
                }
                '"' => {
                    self.advance();
                    draft.is_quoted = true;
                    self.double_quoted(&mut draft.word);
                }
                '\\' if self.state.dialect == Dialect::Posix => self.escaped(&mut draft),
                '`' => {
                    let value = self.backticks();
                    draft.push_expansion(&value);
                }
                '$' => {
                    let mut is_literal = false;
                    let value = self.dollar(&mut is_literal);
                    draft.is_quoted |= is_literal;
                    // Assigned values are not split.
                    if is_literal || is_first && is_assignment(&draft.word) {
                        draft.word.push_str(&value);
                    } else {
                        draft.push_expansion(&value);
                    }
                    self.state.spend(value.len());
                }
                _ => {
                    draft.has_braces |= next == '{';
                    draft.word.push(next);
                    self.advance();
                }
            }
        }
        draft.end_word();
        for word in draft.finished {
            if draft.has_braces {
                words.extend(alternatives(&word));
            } else {
                words.push(word);
            }
        }
    }

    /// Returns true if `"$@"` or `"${name[@]}"` follows, which becomes several words.
    fn quotes_a_list(&self) -> bool {
        const LONGEST_NAME: usize = 64;
        let ahead: String = (1..LONGEST_NAME)
            .map_while(|distance| self.ahead(distance))
            .take_while(|next| *next != '"')
            .collect();
        ahead == "$@" || ahead.starts_with("${") && ahead.ends_with("[@]}")
    }

    fn tilde(&mut self, draft: &mut ExpandedWord) {
        self.advance();
        let mut user = String::new();
        while let Some(next) = self.peek() {
            if !(next.is_ascii_alphanumeric() || matches!(next, '_' | '-' | '+')) {
                break;
            }
            user.push(next);
            self.advance();
        }
        match user.as_str() {
            "+" => {
                let directory = self.variable("PWD");
                draft.word.push_str(&directory);
            }
            "-" => draft.word.push(UNKNOWN),
            _ => draft.word.push_str(self.state.places.home()),
        }
    }

    fn single_quoted(&mut self, draft: &mut ExpandedWord) {
        self.advance();
        draft.is_quoted = true;
        while let Some(next) = self.peek() {
            self.advance();
            if next == '\'' {
                break;
            }
            draft.word.push(next);
        }
    }

    fn escaped(&mut self, draft: &mut ExpandedWord) {
        self.advance();
        if let Some(next) = self.peek() {
            self.advance();
            if next != '\n' {
                draft.is_quoted = true;
                draft.word.push(next);
            }
        }
    }

    /// Reads to the closing quote, or to the end.
    pub(super) fn double_quoted(&mut self, word: &mut String) {
        while let Some(next) = self.peek() {
            match next {
                '"' => {
                    self.advance();
                    return;
                }
                '\\' if self.state.dialect == Dialect::Posix => {
                    self.advance();
                    match self.peek() {
                        Some('\n') => self.advance(),
                        Some(escaped @ ('$' | '`' | '"' | '\\')) => {
                            word.push(escaped);
                            self.advance();
                        }
                        _ => word.push('\\'),
                    }
                }
                '`' => {
                    let value = self.backticks();
                    word.push_str(&value);
                }
                '$' => {
                    let value = self.dollar(&mut false);
                    self.state.spend(value.len());
                    word.push_str(&value);
                }
                _ => {
                    word.push(next);
                    self.advance();
                }
            }
        }
    }

    /// Reads a substitution in backticks.
    pub(super) fn backticks(&mut self) -> String {
        self.advance();
        let mut script = String::new();
        while let Some(next) = self.peek() {
            self.advance();
            match next {
                '`' => break,
                '\\' => {
                    if let Some(escaped) = self.peek() {
                        self.advance();
                        if !matches!(escaped, '`' | '\\' | '$') {
                            script.push('\\');
                        }
                        script.push(escaped);
                    }
                }
                _ => script.push(next),
            }
        }
        let around = self.state.begin_capture();
        self.state.script(&script);
        self.state.end_capture(around)
    }

    /// Reads a substitution after its `(` and returns its output.
    pub(super) fn substitution(&mut self) -> String {
        if !self.state.enter() {
            return String::new();
        }
        let around = self.state.begin_capture();
        self.open_substitutions += 1;
        let here_documents = std::mem::take(&mut self.here_documents);
        let arithmetic = self.arithmetic;
        let is_number = self.peek() == Some('(');
        if is_number {
            self.arithmetic = Some(0);
        }
        self.commands();
        self.arithmetic = arithmetic;
        self.here_documents = here_documents;
        self.open_substitutions -= 1;
        self.state.leave();
        self.take_if(')');
        let printed = self.state.end_capture(around);
        if is_number {
            UNKNOWN.to_string()
        } else {
            printed
        }
    }

    /// Reads an expansion that begins with `$`; sets `is_quoted` if a quote follows it.
    pub(super) fn dollar(&mut self, is_quoted: &mut bool) -> String {
        self.advance();
        match self.peek() {
            Some('(') => {
                self.advance();
                self.substitution()
            }
            Some('{') => {
                self.advance();
                if !self.state.enter() {
                    return String::new();
                }
                let value = self.parameter();
                self.state.leave();
                value
            }
            Some('\'') => {
                self.advance();
                *is_quoted = true;
                self.ansi_quoted()
            }
            Some('"') => String::new(),
            Some(next) if next.is_ascii_alphabetic() || next == '_' => {
                let name = self.name();
                // PowerShell reads the environment with `$env:NAME`.
                if name.eq_ignore_ascii_case("env") && self.peek() == Some(':') {
                    return "$env".to_owned();
                }
                self.variable(&name)
            }
            Some(next) if next.is_ascii_digit() || "@*".contains(next) => {
                self.advance();
                self.variable(&next.to_string())
            }
            Some(next) if "#?$!-".contains(next) => {
                self.advance();
                UNKNOWN.to_string()
            }
            _ => "$".to_owned(),
        }
    }

    pub(super) fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(next) = self.peek() {
            if !(next.is_ascii_alphanumeric() || next == '_') {
                break;
            }
            name.push(next);
            self.advance();
        }
        name
    }

    pub(super) fn variable(&self, name: &str) -> String {
        let known = match name {
            "PWD" => self.state.directory.as_deref().map(str::to_owned),
            _ => self.state.variables.get(name).cloned(),
        };
        known.unwrap_or_else(|| UNKNOWN.to_string())
    }

    /// Reads `$'...'` after its quote.
    fn ansi_quoted(&mut self) -> String {
        let mut value = String::new();
        while let Some(next) = self.peek() {
            self.advance();
            match next {
                '\'' => break,
                '\\' => self.ansi_escape(&mut value),
                _ => value.push(next),
            }
        }
        value
    }

    pub(super) fn ansi_escape(&mut self, value: &mut String) {
        let Some(kind) = self.peek() else { return };
        let (radix, digits) = match kind {
            'x' => (16, 2),
            'u' => (16, 4),
            'U' => (16, 8),
            '0'..='7' => (8, 3),
            _ => {
                self.advance();
                value.push(match kind {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    other => other,
                });
                return;
            }
        };
        if radix == 16 {
            self.advance();
        }
        let mut code = 0;
        for _ in 0..digits {
            let Some(digit) = self.peek().and_then(|next| next.to_digit(radix)) else {
                break;
            };
            code = code * radix + digit;
            self.advance();
        }
        value.extend(char::from_u32(code));
    }
}

/// Returns true if a word before a redirection is a descriptor: `2` or `{name}`.
fn is_descriptor(word: &str) -> bool {
    let in_braces = word
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|name| !name.contains([',', '.']));
    in_braces || word.chars().all(|digit| digit.is_ascii_digit())
}

/// The words that `a{b,c}d` becomes; at most `MAX_ALTERNATIVES`.
fn alternatives(word: &str) -> Vec<String> {
    let Some((before, rest)) = word.split_once('{') else {
        return vec![word.to_owned()];
    };
    match rest.split_once('}') {
        Some((inside, after)) if inside.contains(',') => inside
            .split(',')
            .take(MAX_ALTERNATIVES)
            .map(|alternative| format!("{before}{alternative}{after}"))
            .collect(),
        _ => vec![word.to_owned()],
    }
}
