//! Secrets that are assigned to a telling name: `password = "..."`, `"apiKey": "..."`,
//! `API_TOKEN=...`.
//!
//! Source code is full of passwords that are none: names of fields, samples, templates. So a value
//! counts only if it looks random (`plausible`), and it must look the more so the less its name and
//! position say. `assigned::place` finds the value of a name; this file judges it.
//!
//! Each telling word in a name is examined once, together with at most a few hundred bytes, so the
//! work is linear in the length of the text.

mod place;

use std::ops::Range;

use self::place::{AssignedValue, ValueForm};
use super::base64::is_login;
use super::names::{Certainty, Telling, is_only_word, telling};
use super::open::is_open;
use super::plausible::{is_chosen, is_password, is_random};
use super::{SecretFinding, TextSource};

/// The longest name that is examined, on each side of the telling word.
const LONGEST_NAME: usize = 40;
/// The accepted lengths of a value.
const LENGTHS: std::ops::RangeInclusive<usize> = 8..=600;

/// The secret that is assigned to the name that contains this word.
pub(super) fn at(text: &str, word: Range<usize>, source: TextSource<'_>) -> Option<SecretFinding> {
    let bytes = text.as_bytes();
    let after = bytes[word.end..].iter().take(LONGEST_NAME);
    let end = word.end + after.take_while(|byte| is_name(**byte)).count();
    // Most words are followed by another word; those end here.
    if !place::may_have_value(bytes, end) {
        return None;
    }
    let place = name_start(bytes, word.start)..end;
    let value = place::value(text, place.clone())?;
    if !LENGTHS.contains(&value.range.len()) {
        return None;
    }
    let name = text.get(place.clone())?;
    let telling = telling(name)?;
    let content = &text[value.range.clone()];
    let setting = setting(text, &place, &value.range, source);
    let certainty = certainty(name, telling, setting);
    // Docker and other programs store a login as base64 of both its words.
    let is_secret = if is_only_word(name, "auth") {
        is_login(content)
    } else if is_only_word(name, "token") && place::is_of_parser(text, place.start) {
        false
    } else {
        is_made_up(name, certainty, &value, content, setting)
    };
    is_secret.then(|| SecretFinding {
        is_doubtful: certainty == Certainty::Doubtful && !is_strong(content),
        ..SecretFinding::new(telling.kind, vec![value.range])
    })
}

/// The kind of setting that a name and its value are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettingPosition {
    /// Nested in another setting, as in YAML.
    Within,
    /// Anywhere in a settings file, or alone in a line.
    Plain,
    /// No setting.
    None,
}

/// Classifies a name and its value: they are a setting in a settings file, or alone in a line that
/// a command printed.
fn setting(
    text: &str,
    name: &Range<usize>,
    value: &Range<usize>,
    source: TextSource<'_>,
) -> SettingPosition {
    let is_setting = match source {
        TextSource::File(path) => keeps_settings(path),
        TextSource::Text => place::is_alone(text, name.start, value.end),
    };
    match is_setting {
        true if place::is_indented(text, name.start) => SettingPosition::Within,
        true => SettingPosition::Plain,
        false => SettingPosition::None,
    }
}

/// How certain a name is at its position: a bare `pass` is a test result, a nested one is a
/// password.
fn certainty(name: &str, telling: Telling, setting: SettingPosition) -> Certainty {
    let is_short = is_only_word(name, "pass") || is_only_word(name, "pw");
    if is_short && setting == SettingPosition::Within {
        Certainty::Sure
    } else {
        telling.certainty
    }
}

/// Returns true if a value is so long and mixed that no identifier looks like it.
fn is_strong(value: &str) -> bool {
    const SHORTEST: usize = 20;
    let has = |test: fn(&u8) -> bool| value.as_bytes().iter().any(test);
    value.len() >= SHORTEST
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit)
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

fn is_made_up(
    name: &str,
    certainty: Certainty,
    value: &AssignedValue,
    content: &str,
    setting: SettingPosition,
) -> bool {
    let is_bare = value.form != ValueForm::Quoted && value.form != ValueForm::Argument;
    // Words and names are often unquoted; those with digits rarely are.
    if is_bare && !content.bytes().any(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let is_in_place = match value.form {
        ValueForm::Quoted | ValueForm::Own => true,
        ValueForm::Bare => setting != SettingPosition::None || is_capitals(name),
        ValueForm::Argument => false,
    };
    match certainty {
        Certainty::Sure if is_in_place => {
            is_password(content) || (setting != SettingPosition::None && is_chosen(content))
        }
        Certainty::Sure => is_random(content),
        Certainty::Doubtful => is_random(content) && !is_open(content),
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_capitals(name: &str) -> bool {
    let mut letters = name.bytes().filter(u8::is_ascii_alphabetic);
    letters.all(|byte| byte.is_ascii_uppercase())
}

/// Returns true if a path is that of a settings file, in which values are unquoted.
pub fn keeps_settings(path: &str) -> bool {
    const ENDINGS: [&str; 11] = [
        ".ini",
        ".cfg",
        ".cnf",
        ".conf",
        ".properties",
        ".env",
        ".yml",
        ".yaml",
        ".tfvars",
        ".npmrc",
        ".pypirc",
    ];
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    name == "credentials" || ENDINGS.iter().any(|ending| name.ends_with(ending))
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
