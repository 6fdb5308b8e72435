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
use std::sync::LazyLock;

use regex::Regex;

use super::names::{normal_name, telling};
use super::rules::table::SETTINGS;
use super::rules::{SecretRule, compile, pattern};
use super::shape::{
    has_digit, has_sign, is_chosen, is_password, is_random, is_sample, is_stand_in, is_strong,
    is_template, is_uuid,
};
use super::{SecretFinding, TextSource, shifted};

/// The longest name that is examined, on each side of the telling word.
const LONGEST_NAME: usize = 40;
/// The accepted lengths of a value.
const LENGTHS: std::ops::RangeInclusive<usize> = 4..=600;
/// Values of this length and more are examined wherever they are; shorter ones only in settings.
const SHORTEST_ANYWHERE: usize = 8;
/// The longest unquoted value.
const LONGEST_BARE: usize = 200;
/// The bytes behind a name that are searched for its value.
const LONGEST_WINDOW: usize = 800;

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
    let is_setting = is_of_settings(source) || is_alone(text, name.start, range.end);
    let is_of_list = form == ValueForm::Bare && text[range.end..].starts_with([',', '}']);
    if !is_setting && (content.len() < SHORTEST_ANYWHERE || is_of_list) {
        return None;
    }
    let rule = telling(words)?;
    let normal = normal_name(words);
    if normal == "_token_" && is_of_parser(text, name.start) {
        return None;
    }
    // A bare `pass` is a test result, a nested one is a password.
    let is_nested =
        is_setting && matches!(normal.as_str(), "_pass_" | "_pw_") && is_indented(text, name.start);
    let is_sure = !rule.is_doubtful || is_nested;
    let judged = JudgedValue {
        rule,
        is_sure,
        form,
        is_setting,
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
    is_setting: bool,
    name: &'a str,
    content: &'a str,
}

impl JudgedValue<'_> {
    fn is_secret(&self) -> bool {
        let Self { rule, content, .. } = *self;
        let is_bare = !matches!(self.form, ValueForm::Quoted | ValueForm::Argument);
        // Words and names are often unquoted; those with digits rarely are.
        if is_bare && !has_digit(content) {
            return false;
        }
        let is_in_place = match self.form {
            ValueForm::Quoted | ValueForm::Own => true,
            ValueForm::Bare => self.is_setting || is_capitals(self.name),
            ValueForm::Argument => false,
        };
        let is_issued = || is_uuid(content) && !is_sample(content);
        match self.is_sure {
            true if is_issued() => true,
            true if is_in_place => {
                let may_be_chosen = self.is_setting || self.is_declared();
                is_password(content) || (may_be_chosen && is_chosen(content))
            }
            true => is_random(content),
            false => rule.check.accepts(content),
        }
    }

    /// Returns true if the value is a string in source code with a sign and a digit, as passwords
    /// have that people choose: `dbPassword = 'Marble!1234'`.
    fn is_declared(&self) -> bool {
        self.rule.kind == "password"
            && self.form == ValueForm::Quoted
            && has_digit(self.content)
            && has_sign(self.content)
    }

    /// Returns true if the value may be an ordinary word that is a password: in settings, after a
    /// name that has nothing else.
    fn is_plain_word(&self) -> bool {
        let content = self.content;
        self.is_setting
            && self.is_sure
            && self.rule.kind == "password"
            && matches!(self.form, ValueForm::Bare | ValueForm::Quoted)
            && !(is_sample(content) || is_template(content) || is_stand_in(content))
            && !content.contains([':', '/', ','])
    }
}

/// Returns true if a text is that of a settings file.
fn is_of_settings(source: TextSource<'_>) -> bool {
    source.path().is_some_and(keeps_settings)
}

/// The start of the name that contains this position.
fn name_start(bytes: &[u8], word: usize) -> usize {
    let before = bytes[..word].iter().rev().take(LONGEST_NAME);
    let start = word - before.take_while(|byte| is_name(**byte)).count();
    // In `\npassword` the name is `password`.
    let is_escape = bytes[..start].ends_with(b"\\") && b"nrt".contains(&bytes[start]);
    start + usize::from(is_escape && start < word)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_capitals(name: &str) -> bool {
    let mut letters = name.bytes().filter(u8::is_ascii_alphabetic);
    letters.all(|byte| byte.is_ascii_uppercase())
}

/// The text before a name, as far as it is examined.
pub(super) fn before(text: &str, name: usize) -> &str {
    const LONGEST: usize = 120;
    &text[text.ceil_char_boundary(name.saturating_sub(LONGEST))..name]
}

/// Returns true if the line has only a name, its value and a comment, apart from what programs print
/// in front: `12:`, `a/b.yml:12:`, `+`, `- `.
fn is_alone(text: &str, name: usize, value_end: usize) -> bool {
    const LONGEST_END: usize = 120;
    let before = before(text, name);
    let behind = &text[value_end..text.floor_char_boundary(value_end + LONGEST_END)];
    (before.len() == name || before.contains('\n'))
        && pattern!(r#"\A["']{0,3}[ \t\r]*(?:\n|\z|[ \t](?:#|;|//|--))"#).is_match(behind)
        && pattern!(r#"(?:\A|\n)[ \t+"'-]*(?:[0-9]*|[\w./:-]*[0-9.][\w./:-]*:)[ \t+"'-]*\z"#)
            .is_match(before)
}

/// Returns true if the name that begins here is indented.
fn is_indented(text: &str, name: usize) -> bool {
    pattern!(r#"[ \t\n-] ["']*\z"#).is_match(before(text, name))
}

/// Returns true if the text is a settings file, or printed with a setting above or below as well.
///
/// `password: word` alone can be the label of a field, or what a program says about a password.
fn has_neighbours(text: &str, name: &Range<usize>, source: TextSource<'_>) -> bool {
    const FARTHEST: usize = 200;
    let setting = pattern!(
        r#"\A[\s+-]*(?:[\w./-]+:\d+:|\d+[:\t])?[\s-]*["']?[a-z][a-zA-Z0-9_.-]*["']?\s?[:=]\s?(?:["']?[^\s,;(){}]+["']?)?\s*\z"#
    );
    if source != TextSource::Text {
        return is_of_settings(source);
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
    pattern!(r"(?i)\b(?:un)?(?:expected|known)\s*\z|\b(?:illegal|stray|extra)\s*\z")
        .is_match(before(text, name))
}

/// The ways in which a value follows its name: a pattern for the text behind the name, in which the
/// value is the group that matches, and how the value is written then.
struct ValueForms {
    /// `--token x`, `--token=x`, `ENV TOKEN x`
    parted: [(Regex, ValueForm); 2],
    /// `<password>x</password>`, also on a line of its own or as `<![CDATA[x]]>`
    tagged: [(Regex, ValueForm); 1],
    others: [(Regex, ValueForm); 4],
}

static FORMS: LazyLock<ValueForms> = LazyLock::new(|| {
    // Python and C++ have a letter before the quote. Within a string, quotes are escaped.
    let in_quotes = |quote: char| {
        format!(r"(?:{quote}{quote})?\\{{0,4}}{quote}([^\s{quote}]*?)\\{{0,4}}{quote}")
    };
    let quoted = ['"', '\'', '`'].map(in_quotes).join("|");
    let quoted = format!("[bruf@$]?(?:{quoted})");
    let first = r"[\pL\pN_+/.!@#$%^&*?-]";
    let bare = format!(
        r#"({first}[\pL\pN_+/=.~!@#$%^&*?:-]*?)(?:&[A-Za-z0-9_]{{1,40}}=|[\s"';<\\,}}]|\z)"#
    );
    let line_break = r"[ \t]{0,8}\r?\n[ \t]{0,40}";
    // `name: PASSWORD` and `value: x`, on one line or two; `key="Password" value="x"`.
    let beside = r#"[\s"',\\]{1,32}(?i:value)["'\\ \t]{0,8}"#;
    let closing = r#"["'`\]\\ \t]{0,8}"#;
    // There is a space between a type and its `=`; `Password: a=b` and base64 have none.
    let typed = r":[A-Za-z0-9 &'_:<>\[\]|.]{0,23} =";
    let assigned = format!("(?:{closing}|{beside})(?::=|[=-]>|[:=]|{typed})[ \\t]{{0,8}}");
    let form = |pattern: String, form| (compile(&format!(r"\A(?:{pattern})")), form);
    ValueForms {
        parted: [
            form(format!("[ =]{quoted}"), ValueForm::Quoted),
            form(format!("[ =]{bare}"), ValueForm::Own),
        ],
        tagged: [form(
            r">\s{0,40}(?:<!\[CDATA\[)?([^<\s]{1,200}?)(?:\]\]>)?\s{0,40}</".to_owned(),
            ValueForm::Own,
        )],
        others: [
            form(
                format!(r"{assigned}(?:\(?{line_break})?{quoted}"),
                ValueForm::Quoted,
            ),
            form(
                format!("{assigned}[|>][+-]?{line_break}{bare}"),
                ValueForm::Bare,
            ),
            form(format!("{assigned}{bare}"), ValueForm::Bare),
            // `password("x")` and `"password", "x"`.
            form(
                format!(r#"\({quoted}|[\]\\ \t]*["'`]{closing},[ \t]{{0,8}}{quoted}"#),
                ValueForm::Argument,
            ),
        ],
    }
});

/// The value of the name at this position, and how it is written.
fn value(text: &str, name: Range<usize>) -> Option<(Range<usize>, ValueForm)> {
    let bytes = text.as_bytes();
    let is_flag = bytes[name.start] == b'-';
    let forms = match bytes.get(name.end)? {
        b' ' if is_flag || is_instruction(bytes, name.start) => &FORMS.parted[..],
        b'=' if is_flag => &FORMS.parted[..],
        b'>' if bytes[..name.start].ends_with(b"<") => &FORMS.tagged[..],
        b'>' => return None,
        _ => &FORMS.others[..],
    };
    let window = &text[name.end..text.floor_char_boundary(name.end + LONGEST_WINDOW)];
    let mut found = forms.iter().filter_map(|(pattern, form)| {
        let captures = pattern.captures(window)?;
        let value = captures.iter().flatten().nth(1)?;
        let range = shifted(value.range(), name.end);
        is_whole(text, &range, *form).then_some((range, *form))
    });
    found.next()
}

/// Returns true if a value ends where it seems to, and is no code.
fn is_whole(text: &str, range: &Range<usize>, form: ValueForm) -> bool {
    let (value, behind) = (&text[range.clone()], &text[range.end..]);
    match form {
        ValueForm::Quoted | ValueForm::Argument => {
            // The quote before it has as many backslashes as the one behind it.
            let is_slash = |byte: &u8| *byte == b'\\';
            let before = text[..range.start - 1].bytes().rev();
            before
                .take_while(is_slash)
                .eq(behind.bytes().take_while(is_slash))
        }
        ValueForm::Own | ValueForm::Bare => {
            // A word of another language has no digit in it.
            let is_odd = value.is_ascii() || value.contains(|c: char| c.is_ascii_digit());
            let is_code = form == ValueForm::Bare && (is_path(value) || behind.starts_with(" ="));
            value.len() <= LONGEST_BARE && is_odd && !is_code
        }
    }
}

/// Returns true if a value is a path of identifiers: `self.tokens.first2`.
fn is_path(value: &str) -> bool {
    pattern!(r"\A[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)+\z").is_match(value)
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
            "const dbPassword = '«Marble!1234»';",
            "private String password = \"«Marble#77»\";",
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
            "const passwordLabel = 'Password!1';",
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
