//! JSON with the faults that models make.
//!
//! ```text
//! value  = object | array | string | number | "true" | "false" | "null"
//! object = "{" [string ":" value ("," string ":" value)* [","]] ["}"]
//! array  = "[" [value ("," value)* [","]] ["]"]
//! string = '"' (character | escape)* '"'
//! space  = white space | "//" to the end of the line | "/*" to "*/"
//! ```
//!
//! Beyond strict JSON: trailing commas, comments, characters below space inside strings, an escape
//! that JSON does not know (kept with its backslash), and closing brackets that are missing at the
//! very end. A string that does not end is never completed: its content would be a guess.
//!
//! The literals of Python are read by the same functions: single and triple quotes and raw strings.
//!
//! Written here because no crate does this and no more: `json5` refuses line ends in strings, and
//! the crates that repair JSON complete strings, values and brackets, so that data would become
//! calls.

use serde_json::{Map, Number, Value};

/// How deep values may nest; the reader calls itself.
const MAX_DEPTH: usize = 48;

/// Reads the whole text as one value.
pub(super) fn read(text: &str) -> Option<Value> {
    let mut reader = LenientReader::new(text, LiteralSyntax::Json);
    let value = reader.value(0)?;
    reader.skip_space();
    reader.is_at_end().then_some(value)
}

/// The language that values are written in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LiteralSyntax {
    Json,
    Python,
}

pub(crate) struct LenientReader<'a> {
    text: &'a str,
    at: usize,
    syntax: LiteralSyntax,
}

impl<'a> LenientReader<'a> {
    pub(crate) fn new(text: &'a str, syntax: LiteralSyntax) -> Self {
        Self {
            text,
            at: 0,
            syntax,
        }
    }

    pub(crate) fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.skip_space();
        match self.peek()? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string().map(Value::String),
            b'r' | b'\'' if self.is_python() => self.string().map(Value::String),
            _ => self.constant(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.at += 1;
        let mut object = Map::new();
        while !self.closes(b'}')? {
            let key = self.string()?;
            self.skip_space();
            self.take(b':')?;
            let value = self.value(depth + 1)?;
            object.insert(key, value);
            self.separator(b'}')?;
        }
        Some(Value::Object(object))
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        self.at += 1;
        let mut values = Vec::new();
        while !self.closes(b']')? {
            values.push(self.value(depth + 1)?);
            self.separator(b']')?;
        }
        Some(Value::Array(values))
    }

    /// Returns true if the object or array ends here; the end of the text ends it too.
    fn closes(&mut self, bracket: u8) -> Option<bool> {
        self.skip_space();
        match self.peek() {
            None => Some(true),
            Some(byte) if byte == bracket => {
                self.at += 1;
                Some(true)
            }
            // The other bracket: they are crossed.
            Some(b'}' | b']') => None,
            Some(_) => Some(false),
        }
    }

    fn separator(&mut self, bracket: u8) -> Option<()> {
        self.skip_space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Some(())
            }
            None => Some(()),
            Some(byte) if byte == bracket => Some(()),
            Some(_) => None,
        }
    }

    fn string(&mut self) -> Option<String> {
        let is_raw = self.is_python() && self.eat("r");
        let quotes: &[&str] = match self.syntax {
            LiteralSyntax::Json => &["\""],
            LiteralSyntax::Python => &["\"\"\"", "'''", "\"", "'"],
        };
        let quote = *quotes.iter().find(|quote| self.eat(quote))?;
        let mut value = String::new();
        loop {
            let rest = &self.text[self.at..];
            let stop = memchr::memchr2(quote.as_bytes()[0], b'\\', rest.as_bytes())?;
            value.push_str(&rest[..stop]);
            self.at += stop;
            if self.eat(quote) {
                return Some(value);
            }
            self.at += 1;
            if rest.as_bytes()[stop] == b'\\' && !is_raw {
                self.escape(&mut value)?;
            } else {
                value.push_str(&rest[stop..=stop]);
            }
        }
    }

    fn escape(&mut self, value: &mut String) -> Option<()> {
        let escaped = self.text[self.at..].chars().next()?;
        self.at += escaped.len_utf8();
        match escaped {
            '"' | '\\' => value.push(escaped),
            '/' if !self.is_python() => value.push(escaped),
            '\'' if self.is_python() => value.push(escaped),
            '\n' if self.is_python() => {}
            'n' => value.push('\n'),
            't' => value.push('\t'),
            'r' => value.push('\r'),
            'b' => value.push('\u{8}'),
            'f' => value.push('\u{c}'),
            'u' => value.push(self.unicode()?),
            other => {
                value.push('\\');
                value.push(other);
            }
        }
        Some(())
    }

    fn unicode(&mut self) -> Option<char> {
        let high = self.hexadecimal()?;
        if !(0xD800..0xDC00).contains(&high) {
            return char::from_u32(high);
        }
        self.take(b'\\')?;
        self.take(b'u')?;
        let low = self
            .hexadecimal()?
            .checked_sub(0xDC00)
            .filter(|low| *low < 0x400)?;
        char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + low)
    }

    fn hexadecimal(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }

    fn constant(&mut self) -> Option<Value> {
        match self.word() {
            "true" | "True" => Some(Value::Bool(true)),
            "false" | "False" => Some(Value::Bool(false)),
            "null" | "None" => Some(Value::Null),
            word => word.parse::<Number>().ok().map(Value::Number),
        }
    }

    /// The name or number that follows; it may be empty.
    pub(crate) fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(byte))
            .count();
        self.at += length;
        &rest[..length]
    }

    /// Skips white space and comments.
    pub(crate) fn skip_space(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            let comment = if trimmed.starts_with("//") {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if trimmed.starts_with("/*") {
                trimmed.find("*/").map_or(trimmed.len(), |end| end + 2)
            } else {
                return;
            };
            self.at += comment;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(crate) fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Takes a text if it follows.
    pub(crate) fn eat(&mut self, text: &str) -> bool {
        let is_there = self.text[self.at..].starts_with(text);
        self.at += if is_there { text.len() } else { 0 };
        is_there
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    fn is_python(&self) -> bool {
        self.syntax == LiteralSyntax::Python
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn case(text: &str, expected: Value) {
        assert_eq!(read(text), Some(expected), "{text}");
    }

    #[test]
    fn forgives_what_models_do() {
        case(
            r#"{"a": [1, 2,], "b": true,}"#,
            json!({"a": [1, 2], "b": true}),
        );
        case(
            "{\"a\": \"one\ntwo\tthree\"}",
            json!({"a": "one\ntwo\tthree"}),
        );
        case("{ // why\n\"a\": /* x */ 1 // no\n}", json!({"a": 1}));
        case(
            r#"{"a": "\d+ \\ \u00e4 \ud83d\ude00"}"#,
            json!({"a": "\\d+ \\ ä 😀"}),
        );
        case(r#"{"a": [{"b": 1"#, json!({"a": [{"b": 1}]}));
        case(r#"{"a": "http://x"}"#, json!({"a": "http://x"}));
        case("-1.5e3", json!(-1500.0));
    }

    #[test]
    fn refuses_what_would_be_a_guess() {
        for text in [
            r#"{"a": "unfinished"#,
            r#"{"a": 1 "b": 2}"#,
            r#"{"a": 1]"#,
            "{a: 1}",
            "{} {}",
            r#"{"a": "\ud83d"}"#,
            "",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read(&"[".repeat(100_000)), None);
    }
}
