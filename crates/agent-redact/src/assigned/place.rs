//! Finds the value of a name.
//!
//! It may be after `=`, `:`, `:=`, `=>`, `->` and `: Type =`, after the name as a flag or in a
//! `Dockerfile` (`--token x`, `ENV TOKEN x`), between tags, the next argument, or in the `value`
//! next to it (`name: TOKEN` and `value: x`). A value is a quoted string, or it ends at a space or
//! at a character that no password has.

use std::ops::Range;

/// The longest unquoted value.
const LONGEST_BARE: usize = 200;
/// The longest quoted value.
const LONGEST_QUOTED: usize = 600;

/// The longest name of a query parameter.
const LONGEST_PARAMETER: usize = 40;

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueForm {
    /// A quoted string of its own.
    Quoted,
    /// A quoted string that may be anything: `password("x")`, `("password", "x")`.
    Argument,
    /// Unquoted, where only a value can be: after a flag, between tags.
    Own,
    /// Unquoted, where code can be too.
    Bare,
}

/// A value and how it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AssignedValue {
    pub(super) range: Range<usize>,
    pub(super) form: ValueForm,
}

/// Returns true if a value can follow a name that ends here. A quick check, because most names have
/// none.
pub(super) fn may_have_value(bytes: &[u8], end: usize) -> bool {
    bytes.get(end).is_some_and(|byte| {
        matches!(
            byte,
            b' ' | b'\t'
                | b'\n'
                | b'\r'
                | b'"'
                | b'\''
                | b'`'
                | b'\\'
                | b']'
                | b'>'
                | b'('
                | b'='
                | b':'
                | b'-'
                | b','
        )
    })
}

/// Returns true if the line has only a name and its value, apart from what programs print in front:
/// a line number, a path, a diff marker.
pub(super) fn is_alone(text: &str, name: usize, value_end: usize) -> bool {
    const LONGEST_MARK: usize = 120;
    let bytes = text.as_bytes();
    let from = name.saturating_sub(LONGEST_MARK);
    let before = &bytes[from..name];
    let before = match before.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => &before[end + 1..],
        None if from == 0 => before,
        None => return false,
    };
    let rest = bytes[value_end..].iter().take(LONGEST_MARK);
    let mut rest = rest.take_while(|byte| **byte != b'\n');
    rest.all(|byte| b" \t\r\"'".contains(byte)) && is_mark(before)
}

/// Returns true if a text is what programs print in front of a line: `12:`, `a/b.yml:12:`, `+`, `-
/// `.
fn is_mark(before: &[u8]) -> bool {
    let is_blank = |byte: &u8| b" \t+-\"'".contains(byte);
    let is_path = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-/:".contains(byte);
    let start = before.iter().position(|byte| !is_blank(byte));
    let end = before.iter().rposition(|byte| !is_blank(byte));
    let (Some(start), Some(end)) = (start, end) else {
        return true;
    };
    let mark = &before[start..=end];
    let is_of_file = || {
        let is_named = mark
            .iter()
            .any(|byte| byte.is_ascii_digit() || *byte == b'.');
        mark.ends_with(b":") && is_named && mark.iter().all(is_path)
    };
    mark.iter().all(u8::is_ascii_digit) || is_of_file()
}

/// Returns true if the name that begins here is indented.
pub(super) fn is_indented(text: &str, name: usize) -> bool {
    let before = text.as_bytes()[..name].iter().rev();
    let mut before = before.skip_while(|byte| b"\"'".contains(byte));
    before.next() == Some(&b' ') && before.next().is_some_and(|byte| b" -\t\n".contains(byte))
}

/// Returns true if the word before this position is one that parsers use before `token`.
pub(super) fn is_of_parser(text: &str, name: usize) -> bool {
    const WORDS: [&str; 6] = [
        "unexpected",
        "expected",
        "illegal",
        "unknown",
        "stray",
        "extra",
    ];
    const LONGEST: usize = 24;
    let from = text.ceil_char_boundary(name.saturating_sub(LONGEST));
    let before = text[from..name].trim_end();
    let word = before.rsplit(|c: char| !c.is_ascii_alphabetic()).next();
    let word = word.unwrap_or_default();
    WORDS.iter().any(|one| one.eq_ignore_ascii_case(word))
}

/// The value of the name at this position.
pub(super) fn value(text: &str, name: Range<usize>) -> Option<AssignedValue> {
    let bytes = text.as_bytes();
    between_tags(text, name.clone())
        .or_else(|| behind_space(text, name.clone()))
        .or_else(|| {
            let closed = name.end + spaces(bytes, name.end, b"\"'`]\\");
            assigned(text, closed)
                .or_else(|| beside(text, name.end))
                .or_else(|| argument(text, name.end, closed))
        })
}

/// `<password>x</password>`.
fn between_tags(text: &str, name: Range<usize>) -> Option<AssignedValue> {
    let bytes = text.as_bytes();
    if bytes.get(name.end) != Some(&b'>') || !bytes[..name.start].ends_with(b"<") {
        return None;
    }
    let start = name.end + 1;
    let rest = bytes[start..].iter().take(LONGEST_BARE + 1);
    let length = rest
        .take_while(|byte| **byte != b'<' && !byte.is_ascii_whitespace())
        .count();
    let is_closed = bytes[start + length..].starts_with(b"</");
    is_closed.then(|| AssignedValue {
        range: start..start + length,
        form: ValueForm::Own,
    })
}

/// `--password x`, `--password=x`, `ENV PASSWORD x`.
fn behind_space(text: &str, name: Range<usize>) -> Option<AssignedValue> {
    let bytes = text.as_bytes();
    let is_flag = bytes[name.start] == b'-';
    let before = &bytes[name.start.saturating_sub(4)..name.start];
    let is_instruction = before == b"ENV " || before == b"ARG ";
    let is_parted = match bytes.get(name.end)? {
        b' ' => is_flag || is_instruction,
        b'=' => is_flag,
        _ => false,
    };
    if !is_parted {
        return None;
    }
    let start = name.end + 1;
    if let Some(quoted) = quoted(text, start) {
        return Some(quoted);
    }
    let value = bare(text, start)?;
    let is_value = !matches!(bytes[value.start], b'-' | b'=' | b':');
    is_value.then_some(AssignedValue {
        range: value,
        form: ValueForm::Own,
    })
}

/// The value after an assignment operator.
fn assigned(text: &str, start: usize) -> Option<AssignedValue> {
    let (start, is_typed) = operator(text.as_bytes(), start)?;
    quoted(text, start).or_else(|| {
        // A typed assignment is code, and strings in code are quoted.
        let range =
            bare(text, start).filter(|range| !is_typed && !is_path(&text[range.clone()]))?;
        Some(AssignedValue {
            range,
            form: ValueForm::Bare,
        })
    })
}

/// Returns true if a value is a path of identifiers: `self.tokens.first2`.
fn is_path(value: &str) -> bool {
    let is_name = |piece: &str| {
        let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
        piece.starts_with(is_letter) && piece.chars().all(|c| is_letter(c) || c.is_ascii_digit())
    };
    value.contains('.') && value.split('.').all(is_name)
}

/// `password("x")` and `"password", "x"`.
fn argument(text: &str, name_end: usize, closed: usize) -> Option<AssignedValue> {
    let bytes = text.as_bytes();
    let is_string = bytes[name_end..closed]
        .iter()
        .any(|byte| b"\"'`".contains(byte));
    let start = match bytes.get(closed)? {
        b'(' if closed == name_end => closed + 1,
        b',' if is_string => closed + 1 + spaces(bytes, closed + 1, b""),
        _ => return None,
    };
    let value = quoted(text, start)?;
    Some(AssignedValue {
        form: ValueForm::Argument,
        ..value
    })
}

/// `name: PASSWORD` and `value: x`, on one line or two; `key="Password" value="x"`.
fn beside(text: &str, name_end: usize) -> Option<AssignedValue> {
    const FARTHEST: usize = 32;
    let bytes = text.as_bytes();
    let between = bytes[name_end..].iter().take(FARTHEST);
    let between = between.take_while(|byte| byte.is_ascii_whitespace() || b"\"',\\".contains(byte));
    let start = name_end + between.count();
    let word = bytes.get(start..start + "value".len())?;
    if start == name_end || !word.eq_ignore_ascii_case(b"value") {
        return None;
    }
    let end = start + word.len();
    assigned(text, end + spaces(bytes, end, b"\"'\\"))
}

/// The number of spaces and of these other bytes at a position; at most 8.
fn spaces(bytes: &[u8], start: usize, others: &[u8]) -> usize {
    let rest = bytes.get(start..).unwrap_or_default().iter().take(8);
    rest.take_while(|byte| matches!(byte, b' ' | b'\t') || others.contains(byte))
        .count()
}

/// The start of the value after `=`, `:`, `:=`, `=>`, `->` or `: Type =`, and true if there is a
/// type.
fn operator(bytes: &[u8], start: usize) -> Option<(usize, bool)> {
    let at = |index: usize| bytes.get(index).copied().unwrap_or(b'\n');
    let typed = typed(bytes, start + 1);
    let behind = match (at(start), at(start + 1)) {
        (b':', b':') | (b'=', b'=' | b'~') => return None,
        (b':', b'=') | (b'=' | b'-', b'>') => start + 2,
        (b':', _) => typed.unwrap_or(start + 1),
        (b'=', _) => start + 1,
        _ => return None,
    };
    let is_typed = bytes.get(start) == Some(&b':') && typed.is_some();
    Some((behind + spaces(bytes, behind, b""), is_typed))
}

/// The position after the `=` that follows a type: ` &'static str = `.
fn typed(bytes: &[u8], start: usize) -> Option<usize> {
    const LONGEST_TYPE: usize = 24;
    let rest = bytes.get(start..)?;
    let is_type = |byte: &u8| byte.is_ascii_alphanumeric() || b" &'_:<>".contains(byte);
    let length = rest
        .iter()
        .take(LONGEST_TYPE)
        .take_while(|byte| is_type(byte))
        .count();
    // There is a space between a type and its `=`; `Password: a=b` and base64 have none.
    (rest[..length].ends_with(b" ")
        && rest.get(length) == Some(&b'=')
        && rest.get(length + 1) != Some(&b'='))
    .then_some(start + length + 1)
}

/// The text between quotes, if it has no white space.
fn quoted(text: &str, start: usize) -> Option<AssignedValue> {
    let bytes = text.as_bytes();
    // Python and C++ have a letter before the quote, Rust a `b`.
    let start = start + usize::from(bytes.get(start).is_some_and(|byte| b"bruf@".contains(byte)));
    // Within a string, quotes are escaped with backslashes.
    let slashes = bytes.get(start..)?.iter().take(4);
    let slashes = slashes.take_while(|byte| **byte == b'\\').count();
    let mark = bytes.get(start..=start + slashes)?;
    let quote = mark.last().filter(|byte| b"\"'`".contains(byte))?;
    let start = start + mark.len();
    let rest = &bytes[start..];
    let length = rest
        .iter()
        .take(LONGEST_QUOTED + 1)
        .take_while(|byte| *byte != quote && !byte.is_ascii_whitespace())
        .count();
    if rest.get(length) != Some(quote) {
        return None;
    }
    let length = length.checked_sub(mark.len() - 1)?;
    rest[length..].starts_with(mark).then(|| AssignedValue {
        range: start..start + length,
        form: ValueForm::Quoted,
    })
}

/// The text up to a space or a character that ends it; `None` if the text is code.
fn bare(text: &str, start: usize) -> Option<Range<usize>> {
    let rest = text.as_bytes().get(start..)?;
    let is_value = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-+/=.~!@#$%^&*?:".contains(byte);
    let length = rest
        .iter()
        .take(LONGEST_BARE + 1)
        .take_while(|byte| is_value(byte))
        .count();
    let length = next_parameter(&rest[..length]).unwrap_or(length);
    let ends = rest.get(length).is_none_or(|byte| {
        byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b';' | b'&' | b'<' | b'\\')
    });
    (ends && length > 0).then(|| start..start + length)
}

/// The start of the next parameter of a query: `&name=`.
fn next_parameter(value: &[u8]) -> Option<usize> {
    let signs = value.iter().enumerate().filter(|(_, byte)| **byte == b'&');
    signs.map(|(at, _)| at).find(|at| {
        let rest = &value[at + 1..];
        let name = rest.iter().take(LONGEST_PARAMETER);
        let length = name
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
            .count();
        length > 0 && rest.get(length) == Some(&b'=')
    })
}
