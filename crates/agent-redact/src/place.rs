//! Finds and judges the value of a name.
//!
//! It may be after `=`, `:`, `:=`, `=>`, `->` and `: Type =`, after the name as a flag or in a
//! `Dockerfile` (`--token x`, `ENV TOKEN x`), between tags, the next argument, or in the `value`
//! next to it (`name: TOKEN` and `value: x`). A value is a quoted string, or it ends at a space or
//! at a character that no password has.
//!
//! Source code is full of passwords that are none: names of fields, samples, templates. So a value
//! must look the more random the less its name and position say.

use std::ops::Range;

use super::names::{normal_name, telling};
use super::rules::table::SETTINGS;
use super::rules::{SecretRule, pattern};
use super::shape::{Stop, is_chosen, is_password, is_random, is_strong};
use super::{SecretFinding, TextSource};

/// The longest name that is examined, on each side of the telling word.
const LONGEST_NAME: usize = 40;
/// The accepted lengths of a value.
const LENGTHS: std::ops::RangeInclusive<usize> = 4..=600;
/// Values of this length and more are examined wherever they are; shorter ones only in settings.
const SHORTEST_ANYWHERE: usize = 8;
/// The longest unquoted value.
const LONGEST_BARE: usize = 200;
/// The longest quoted value.
const LONGEST_QUOTED: usize = 600;

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueForm {
    /// A quoted string of its own.
    Quoted,
    /// A quoted string that may be anything: `password("x")`, `("password", "x")`.
    Argument,
    /// Unquoted, where only a value can be: after a flag, between tags.
    Own,
    /// Unquoted, where code can be too.
    Bare,
}

/// Where a name and its value stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setting {
    /// Nested in another setting, as in YAML.
    Within,
    /// Anywhere in a settings file, or alone in a line.
    Plain,
    /// In code or prose.
    None,
}

/// Returns true if a path is that of a settings file, in which values are unquoted.
pub fn keeps_settings(path: &str) -> bool {
    pattern!(SETTINGS).is_match(path.rsplit(['/', '\\']).next().unwrap_or_default())
}

/// The secret that is assigned to the name that contains this word.
pub(super) fn at(text: &str, word: Range<usize>, source: TextSource<'_>) -> Option<SecretFinding> {
    let bytes = text.as_bytes();
    let after = bytes[word.end..].iter().take(LONGEST_NAME);
    let end = word.end + after.take_while(|byte| is_name(**byte)).count();
    let name = name_start(bytes, word.start)..end;
    if !may_have_value(bytes, &name) {
        return None;
    }
    let (range, form) = value(text, name.clone())?;
    if !LENGTHS.contains(&range.len()) {
        return None;
    }
    let words = text.get(name.clone())?;
    let content = text.get(range.clone())?;
    let setting = setting(text, &name, &range, source);
    let is_of_list = form == ValueForm::Bare && text[range.end..].starts_with([',', '}']);
    if setting == Setting::None && (content.len() < SHORTEST_ANYWHERE || is_of_list) {
        return None;
    }
    let rule = telling(words)?;
    let normal = normal_name(words);
    if normal == "_token_" && is_of_parser(text, name.start) {
        return None;
    }
    // A bare `pass` is a test result, a nested one is a password.
    let is_nested = matches!(normal.as_str(), "_pass_" | "_pw_") && setting == Setting::Within;
    let is_sure = !rule.is_doubtful || is_nested;
    let judged = JudgedValue {
        rule,
        is_sure,
        form,
        setting,
        name: words,
        content,
    };
    let is_secret = judged.is_secret();
    let is_word = !is_secret && judged.is_plain_word() && has_neighbours(text, &name, source);
    (is_secret || is_word).then(|| SecretFinding {
        is_doubtful: (!is_sure && !is_strong(content)) || (is_word && source == TextSource::Text),
        ..SecretFinding::new(rule.kind, vec![range])
    })
}

/// Returns true if a value can follow a name. A quick check, because most words are followed by
/// another word.
fn may_have_value(bytes: &[u8], name: &Range<usize>) -> bool {
    const FEW: usize = 8;
    const FARTHEST: usize = 32;
    let rest = &bytes[name.end..];
    let between = |byte: &&u8| b" \t\r\n\"'`]\\,".contains(byte);
    match rest.first() {
        Some(b'>' | b'(' | b'=' | b':') => true,
        Some(b' ') if bytes[name.start] == b'-' || is_instruction(bytes, name.start) => true,
        Some(b'"' | b'\'' | b'`') if rest.iter().take(FEW).any(|byte| *byte == b',') => true,
        Some(next) if between(&next) => {
            let behind = rest.iter().take(FARTHEST).find(|byte| !between(byte));
            matches!(behind, Some(b'=' | b':' | b'-' | b'v' | b'V'))
        }
        _ => false,
    }
}

/// Returns true if the name at this position is set by an instruction of a `Dockerfile`.
fn is_instruction(bytes: &[u8], name: usize) -> bool {
    let before = &bytes[name.saturating_sub(4)..name];
    before == b"ENV " || before == b"ARG "
}

/// A value with all that is known about it.
struct JudgedValue<'a> {
    rule: &'static SecretRule,
    is_sure: bool,
    form: ValueForm,
    setting: Setting,
    name: &'a str,
    content: &'a str,
}

impl JudgedValue<'_> {
    fn is_secret(&self) -> bool {
        let Self { rule, content, .. } = *self;
        let is_bare = !matches!(self.form, ValueForm::Quoted | ValueForm::Argument);
        // Words and names are often unquoted; those with digits rarely are.
        if is_bare && !content.bytes().any(|byte| byte.is_ascii_digit()) {
            return false;
        }
        let is_in_place = match self.form {
            ValueForm::Quoted | ValueForm::Own => true,
            ValueForm::Bare => self.setting != Setting::None || is_capitals(self.name),
            ValueForm::Argument => false,
        };
        let is_setting = self.setting != Setting::None;
        match self.is_sure {
            true if is_in_place => is_password(content) || (is_setting && is_chosen(content)),
            true => is_random(content),
            false => rule.check.accepts(content),
        }
    }

    /// Returns true if the value may be an ordinary word that is a password: in settings, after a
    /// name that has nothing else.
    fn is_plain_word(&self) -> bool {
        let stops = [Stop::Sample, Stop::Template, Stop::StandIn];
        self.setting != Setting::None
            && self.is_sure
            && self.rule.kind == "password"
            && matches!(self.form, ValueForm::Bare | ValueForm::Quoted)
            && !stops.iter().any(|stop| stop.is_match(self.content))
            && !self.content.contains([':', '/', ','])
    }
}

/// Classifies a name and its value: they are a setting in a settings file, or alone in a line that
/// a command printed.
fn setting(
    text: &str,
    name: &Range<usize>,
    value: &Range<usize>,
    source: TextSource<'_>,
) -> Setting {
    let is_of_settings = matches!(source, TextSource::File(path) if keeps_settings(path));
    match is_of_settings || is_alone(text, name.start, value.end) {
        true if is_indented(text, name.start) => Setting::Within,
        true => Setting::Plain,
        false => Setting::None,
    }
}

/// The start of the name that contains this position.
fn name_start(bytes: &[u8], word: usize) -> usize {
    let before = bytes[..word].iter().rev().take(LONGEST_NAME);
    let start = word - before.take_while(|byte| is_name(**byte)).count();
    // In `\npassword` the name is `password`.
    let is_escape = bytes[..start].ends_with(b"\\") && b"nrt".contains(&bytes[start]);
    if is_escape && start < word {
        start + 1
    } else {
        start
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_capitals(name: &str) -> bool {
    let mut letters = name.bytes().filter(u8::is_ascii_alphabetic);
    letters.all(|byte| byte.is_ascii_uppercase())
}

/// Returns true if the line has only a name and its value, apart from what programs print in front:
/// a line number, a path, a diff marker.
fn is_alone(text: &str, name: usize, value_end: usize) -> bool {
    const LONGEST_MARK: usize = 120;
    let bytes = text.as_bytes();
    let from = name.saturating_sub(LONGEST_MARK);
    let before = &bytes[from..name];
    let before = match before.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => &before[end + 1..],
        None if from == 0 => before,
        None => return false,
    };
    let to = text.floor_char_boundary(value_end + LONGEST_MARK);
    let is_end = pattern!(r#"\A["']{0,3}[ \t\r]*(?:\n|\z|[ \t](?:#|;|//|--))"#);
    is_end.is_match(&text[value_end..to]) && is_mark(before)
}

/// Returns true if a text is what programs print in front of a line: `12:`, `a/b.yml:12:`, `+`,
/// `- `.
fn is_mark(before: &[u8]) -> bool {
    std::str::from_utf8(before).is_ok_and(|before| {
        pattern!(r#"\A[ \t+"'-]*(?:[0-9]*|[A-Za-z0-9._/:-]*[0-9.][A-Za-z0-9._/:-]*:)[ \t+"'-]*\z"#)
            .is_match(before)
    })
}

/// Returns true if the name that begins here is indented.
fn is_indented(text: &str, name: usize) -> bool {
    let before = text.as_bytes()[..name].iter().rev();
    let mut before = before.skip_while(|byte| b"\"'".contains(byte));
    before.next() == Some(&b' ') && before.next().is_some_and(|byte| b" -\t\n".contains(byte))
}

/// Returns true if the text is a settings file, or printed with a setting above or below as well.
///
/// `password: word` alone can be the label of a field, or what a program says about a password.
fn has_neighbours(text: &str, name: &Range<usize>, source: TextSource<'_>) -> bool {
    const FARTHEST: usize = 200;
    let setting = pattern!(
        r#"\A[\s+-]*(?:[\w./-]+:\d+:|\d+[:\t])?[\s-]*["']?[a-z][a-zA-Z0-9_.-]*["']?\s?[:=]\s?(?:["']?[^\s,;(){}]+["']?)?\s*\z"#
    );
    if let TextSource::File(path) = source {
        return keeps_settings(path);
    }
    let start = text[..name.start].rfind('\n').unwrap_or_default();
    let from = text.ceil_char_boundary(start.saturating_sub(FARTHEST));
    let above = text[from..start].rsplit('\n').next().unwrap_or_default();
    let to = text.floor_char_boundary(name.end + 2 * FARTHEST);
    let below = text[name.end..to].split('\n').nth(1).unwrap_or_default();
    setting.is_match(above) || setting.is_match(below)
}

/// Returns true if the word before this position is one that parsers use before `token`.
fn is_of_parser(text: &str, name: usize) -> bool {
    const LONGEST: usize = 24;
    let from = text.ceil_char_boundary(name.saturating_sub(LONGEST));
    pattern!(r"(?i)\b(?:un)?(?:expected|known)\s*\z|\b(?:illegal|stray|extra)\s*\z")
        .is_match(&text[from..name])
}

/// The value of the name at this position, and how it is written.
fn value(text: &str, name: Range<usize>) -> Option<(Range<usize>, ValueForm)> {
    let bytes = text.as_bytes();
    let is_flag = bytes[name.start] == b'-';
    let next = bytes.get(name.end);
    let is_parted = is_flag || is_instruction(bytes, name.start);
    if (next == Some(&b' ') && is_parted) || (next == Some(&b'=') && is_flag) {
        let start = name.end + 1;
        let bare = || bare(text, start).map(|range| (range, ValueForm::Own));
        let is_value = |range: &Range<usize>| !matches!(bytes[range.start], b'-' | b'=' | b':');
        return quoted(text, start)
            .or_else(bare)
            .filter(|(range, form)| *form == ValueForm::Quoted || is_value(range));
    }
    let closed = name.end + spaces(bytes, name.end, b"\"'`]\\");
    if next == Some(&b'>') {
        let is_tag = bytes[..name.start].ends_with(b"<");
        return is_tag.then(|| between_tags(text, name.end + 1))?;
    }
    assigned(text, closed)
        .or_else(|| beside(text, name.end))
        .or_else(|| argument(text, name.end, closed))
}

/// The value after an assignment operator.
fn assigned(text: &str, start: usize) -> Option<(Range<usize>, ValueForm)> {
    let bytes = text.as_bytes();
    let at = |index: usize| bytes.get(index).copied().unwrap_or(b'\n');
    let mut is_typed = false;
    let behind = match (at(start), at(start + 1)) {
        (b':', b':') | (b'=', b'=' | b'~') => return None,
        (b':', b'=') | (b'=' | b'-', b'>') => start + 2,
        (b':', _) => match typed(text, start + 1) {
            Some(behind) => {
                is_typed = true;
                behind
            }
            None => start + 1,
        },
        (b'=', _) => start + 1,
        _ => return None,
    };
    let start = behind + spaces(bytes, behind, b"");
    quoted(text, start)
        .or_else(|| below(text, start))
        .or_else(|| {
            // A typed assignment is code, and strings in code are quoted.
            let is_value = |range: &Range<usize>| !is_typed && !is_path(&text[range.clone()]);
            let range = bare(text, start).filter(is_value)?;
            Some((range, ValueForm::Bare))
        })
}

/// The position after the `=` that follows a type: ` &'static str = `.
fn typed(text: &str, start: usize) -> Option<usize> {
    // There is a space between a type and its `=`; `Password: a=b` and base64 have none.
    let sign = pattern!(r"\A[A-Za-z0-9 &'_:<>\[\]|.]{0,23} (=)(?:[^=]|\z)")
        .captures(text.get(start..)?)?
        .get(1)?;
    Some(start + sign.end())
}

/// The value on the line below: a quoted string, or a block of YAML.
fn below(text: &str, start: usize) -> Option<(Range<usize>, ValueForm)> {
    let found =
        pattern!(r"\A(\(|[|>][+-]?)?[ \t]{0,8}\r?\n[ \t]{0,40}").captures(text.get(start..)?)?;
    let start = start + found[0].len();
    match found.get(1).map_or("", |mark| mark.as_str()) {
        "" | "(" => quoted(text, start),
        _ => Some((bare(text, start)?, ValueForm::Bare)),
    }
}

/// `name: PASSWORD` and `value: x`, on one line or two; `key="Password" value="x"`.
fn beside(text: &str, name_end: usize) -> Option<(Range<usize>, ValueForm)> {
    const FARTHEST: usize = 32;
    let bytes = text.as_bytes();
    let between = bytes[name_end..].iter().take(FARTHEST);
    let between = between.take_while(|byte| byte.is_ascii_whitespace() || b"\"',\\".contains(byte));
    let start = name_end + between.count();
    let end = start + "value".len();
    let is_value = start > name_end && bytes.get(start..end)?.eq_ignore_ascii_case(b"value");
    is_value.then(|| assigned(text, end + spaces(bytes, end, b"\"'\\")))?
}

/// `password("x")` and `"password", "x"`.
fn argument(text: &str, name_end: usize, closed: usize) -> Option<(Range<usize>, ValueForm)> {
    let bytes = text.as_bytes();
    let mut between = bytes[name_end..closed].iter();
    let start = match bytes.get(closed)? {
        b'(' if closed == name_end => closed + 1,
        b',' if between.any(|byte| b"\"'`".contains(byte)) => {
            closed + 1 + spaces(bytes, closed + 1, b"")
        }
        _ => return None,
    };
    quoted(text, start).map(|(range, _)| (range, ValueForm::Argument))
}

/// The number of spaces and of these other bytes at a position; at most 8.
fn spaces(bytes: &[u8], start: usize, others: &[u8]) -> usize {
    let rest = bytes.get(start..).unwrap_or_default().iter().take(8);
    rest.take_while(|byte| matches!(byte, b' ' | b'\t') || others.contains(byte))
        .count()
}

/// `x</password>`, also on a line of its own or as `<![CDATA[x]]>`.
fn between_tags(text: &str, start: usize) -> Option<(Range<usize>, ValueForm)> {
    let content = pattern!(r"\A\s{0,40}(?:<!\[CDATA\[)?([^<\s]{1,200}?)(?:\]\]>)?\s{0,40}</")
        .captures(text.get(start..)?)?
        .get(1)?;
    Some((
        start + content.start()..start + content.end(),
        ValueForm::Own,
    ))
}

/// Returns true if a value is a path of identifiers: `self.tokens.first2`.
fn is_path(value: &str) -> bool {
    pattern!(r"\A[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)+\z").is_match(value)
}

/// The text between quotes, if it has no white space.
fn quoted(text: &str, start: usize) -> Option<(Range<usize>, ValueForm)> {
    let bytes = text.as_bytes();
    // Python and C++ have a letter before the quote, Rust a `b`.
    let start = start
        + usize::from(
            bytes
                .get(start)
                .is_some_and(|byte| b"bruf@$".contains(byte)),
        );
    let is_tripled = |mark: &&[u8]| {
        bytes
            .get(start..)
            .is_some_and(|rest| rest.starts_with(mark))
    };
    let start = start + 2 * usize::from([&b"\"\"\""[..], b"'''"].iter().any(is_tripled));
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
    let is_closed = rest[length..].starts_with(mark);
    is_closed.then(|| (start..start + length, ValueForm::Quoted))
}

/// The text up to a space or a character that ends it; `None` if the text is code.
fn bare(text: &str, start: usize) -> Option<Range<usize>> {
    let rest = text.get(start..)?;
    let is_value =
        |letter: &char| letter.is_alphanumeric() || "_-+/=.~!@#$%^&*?:".contains(*letter);
    let letters = rest.chars().take(LONGEST_BARE + 1).take_while(is_value);
    let length = letters.map(char::len_utf8).sum();
    let value = &rest[..length];
    // A word of another language has no digit in it.
    if !value.is_ascii() && !value.contains(|letter: char| letter.is_ascii_digit()) {
        return None;
    }
    let length = next_parameter(value).unwrap_or(length);
    let ends = rest
        .as_bytes()
        .get(length)
        .is_none_or(|byte| byte.is_ascii_whitespace() || b"\"';&<\\,}".contains(byte));
    (ends && length > 0).then(|| start..start + length)
}

/// The start of the next parameter of a query: `&name=`.
fn next_parameter(value: &str) -> Option<usize> {
    value
        .contains('&')
        .then(|| pattern!("&[A-Za-z0-9_]{1,40}=").find(value))?
        .map(|found| found.start())
}

#[cfg(test)]
mod tests {
    use super::super::redact;

    /// `«` and `»` surround the value.
    #[track_caller]
    fn found(marked: &str) {
        let (before, rest) = marked.split_once('«').unwrap();
        let (value, after) = rest.split_once('»').unwrap();
        let redacted = redact(&format!("{before}{value}{after}"));
        let (start, end) = redacted.split_once("[SECRET-1 ").unwrap_or_default();
        let end = end.split_once(']').unwrap_or_default().1;
        assert_eq!((start, end), (before, after), "{redacted}");
    }

    #[test]
    fn values_are_found_in_every_way_that_they_follow_their_names() {
        for marked in [
            "\"Server=db;User Id=sa;Password=«Sup3rS3cret!9»;Encrypt=true\"",
            "  password: «Zürich!2024-kQ9»\n",
            "{ \"pwd\": \"«Qx7vTr92LmZp»\", \"x\": 1 }",
            "{\"pass\": \"«Zk29dkfj39dQ»\"}",
            "db_pass: «Yp29dkfj39dk»\n",
            "user_pwd: \"«Yq29dkfj39dk»\"",
            "signing_key: \"«q3IEZYdwomhI40hkpYr64Zi06aFOK3zd»\"",
            "OPENAI_KEY: \"«uewyPyLtxqmvBhiJaTUyYfKlcxDMPYIyOZcN4Bdx»\"",
            "\"AzureOpenAIKey\": \"«fadde07682d7d40ab83e3c3a30f47c12»\"",
            "<id>x</id><password>«Mv7x29Tq81Lz»</password>",
            "docker run -e DB_PASSWORD=«Dk83jfk29Lmq» image",
            "PGPASSWORD=«Pg29dkfj39dk» psql -h db",
            "mysql -u root --password=«My82kfj29Qzt» db",
            "x --token «KgQ4yl0bv12hb2hRE1S8sLtZfcXKGHTp»",
            "x --token '«KgQ4yl0bv12hb2hRE1S8sLtZfcXKGHTp»' y",
            "curl -H \"X-Api-Key: «Hx29dkfj39dkZq81»\" https://x",
            "{'X-Auth-Key': '«OOvDwR6wMTrVFbLd9Rb9xqODtLMulxluWx2Mq»'}",
            "ENV DB_PASSWORD «Df29dkfj39dkZ»\n",
            "ARG API_TOKEN=«Ar29dkfj39dkZ»",
            "password=«Lc29dkfj39dkX»\n",
            "db.password=«VE6SH8CLU2li»",
            "  password: «Sommer2024!»\n",
            "+  password: «Sommer2024!»\n",
            "config/a.yml:12:  password: «Sommer2024!»\n",
            "smtp:\n  pass: «Winter#2023»\n",
            "client_secret=«WrprNHHBdEuX0a2dXichdeEc2TfGGFuk»&grant_type=x",
            "host=db password=«Lc29dkfj39dkX» dbname=x",
            "\"auth\": \"«dXNlcjE6cEA1NXcwckQ5»\"",
            "_auth=«dXNlcjE6cEA1NXcwckQ5»\n",
            "\"a\\npassword: «Lc29dkfj39dkX»\\nb\"",
            "\"{\\\"password\\\": \\\"«Lc29dkfj39dkX»\\\"}\"",
            "<add key=\"ApiKey\" value=\"«Mv7x29Tq81Lz»\"/>",
            "- name: DB_PASSWORD\n  value: «Mv7x29Tq81Lz»\n",
            "{\"name\": \"DB_PASSWORD\", \"value\": \"«Mv7x29Tq81Lz»\"}",
            "$password = \"«A1V9kASKWLR7»\";",
            "password -> \"«HREjPz54jkgF»\"",
            "set_password(\"«0eplPpDNSW8z»\")",
            "login(password='«gJVg7JdJu3Kl»')",
            "setProperty(\"password\", \"«0eplPpDNSW8z»\")",
            "SECRET_KEY = 'x#k2(v!0&p9=z%w7)q3_m@5^t8*b-1+c4(d6$e0h'"
                .replace("'x", "'«x")
                .replace("h'", "h»'")
                .as_str(),
        ] {
            found(marked);
        }
    }

    #[track_caller]
    fn passed(text: &str) {
        assert_eq!(redact(text), text);
    }

    #[test]
    fn names_words_and_code_behind_a_telling_name_pass() {
        for text in [
            "AUTHOR=Jane Doe\nPASS=passed\nCOMPASS=northwest\nCERT_DIR=build/certs\nAUTH=ldap\n",
            "password: word",
            "password = hunter",
            "let token = lexer.next_token2(a);",
            "token = self.tokens1[2]",
            "key: \"a1b2c3d4e5f6\"",
            "\"public_key\": \"a8f5f167f44f4964e6c998dee827110c\"",
            "cache_key = \"a8f5f167f44f4964e6c998dee827110c\"",
            "auth: \"oauth2-client1\"",
            "\"auth\": \"a8f5f167f44f4964\"",
            "--token <token1a2b3c>",
            "--password-file /etc/x1y2z3w4",
            "<password>${db.password1a2b}</password>",
            "password_regex = \"^[a-z0-9]{8,20}(?:x1)$\"",
            "secret = \"^(?:[A-Za-z0-9_]{8,20}){2}(?P<x>[0-9]+)$\"",
            "PASS=12/14 FAIL=2",
            "let key = (a1b2c3d4, \"x\");",
            "build_key=8f14e45fceea167a5a36dedd4bea2543",
            "ACME_KEY = \"8f14e45fceea167a5a36dedd4bea2543\"",
            "ENV NODE_KEY 94AE36675C464D64BAFA68DD7434390BDBE9B9C5",
            "some_key: \"uploads/2024/a1b2c3d4e5.png\"",
            "ssh-key-fingerprint: SHA256:uNiVztksCsDhcc0u9e8BgrJXVGDbK2",
            "PASSWORD_HASH = \"5f4dcc3b5aa765d61d8327deb882cf99\"",
            "FOO_PASSWORD_SHA=8f14e45fceea167a5a36dedd4bea2543",
            "next_token = \"ab12cd34ef56ab12\"",
            "SyntaxError: Unexpected token: a1b2c3d4e5f6g7",
            "PASS: test_a1b2c3",
        ] {
            passed(text);
        }
    }
}
