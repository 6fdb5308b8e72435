//! The passwords of `.netrc` and `.pgpass`.
//!
//! In these files the position of a word makes it a password, whatever it looks like. Elsewhere, if
//! a command printed such a file, `login x password y` does too, unless `y` is a name.
//!
//! ```text
//! machine api.host login bob password ...
//! host:port:database:user:password
//! ```

use std::ops::Range;

use super::plausible::{is_sample, is_template};
use super::{SecretFinding, TextSource};

/// The shortest password; shorter ones would match parts of ordinary words.
const SHORTEST: usize = 4;

/// Finds the passwords of a login file.
pub(super) fn scan(text: &str, source: TextSource<'_>) -> Vec<SecretFinding> {
    let TextSource::File(path) = source else {
        return Vec::new();
    };
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let parts: Vec<Range<usize>> = match name {
        ".netrc" | "_netrc" | ".authinfo" => netrc(text),
        ".pgpass" | "pgpass.conf" => pgpass(text),
        _ => return Vec::new(),
    };
    let parts = parts.into_iter().filter(|part| {
        let value = &text[part.clone()];
        value.len() >= SHORTEST && !is_sample(value)
    });
    parts.map(password).collect()
}

/// The password after this word `password`, if a login precedes it.
pub(super) fn at(text: &str, word: Range<usize>) -> Option<SecretFinding> {
    /// The maximum distance of the login.
    const FARTHEST: usize = 160;
    const WORD: &str = "password";
    let end = word.start + WORD.len();
    let bytes = text.as_bytes();
    let is_parted = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
    if bytes.get(word.start..end)? != WORD.as_bytes() || !is_parted(bytes.get(end)) {
        return None;
    }
    let from = text.ceil_char_boundary(word.start.saturating_sub(FARTHEST));
    let before = &text[from..word.start];
    // Lines may be numbered, or marked by a diff.
    let is_mark = |word: &&str| {
        word.bytes()
            .all(|byte| byte.is_ascii_digit() || b"+-:".contains(&byte))
    };
    let mut words = before
        .split_whitespace()
        .rev()
        .filter(|word| !is_mark(word));
    let has_login = before.ends_with(char::is_whitespace)
        && words.next().is_some()
        && words.next() == Some("login");
    if !has_login {
        return None;
    }
    let rest = &text[end..text.floor_char_boundary(end + FARTHEST)];
    let value = rest.split_whitespace().next()?.trim_matches('"');
    let start = end + rest.find(value)?;
    let is_made_up = value.contains(|c: char| c.is_ascii_digit() || "!#$%^&*?~".contains(c));
    let is_password = value.len() >= SHORTEST && is_made_up;
    let is_password = is_password && !is_sample(value) && !is_template(value);
    is_password.then(|| password(start..start + value.len()))
}

fn password(part: Range<usize>) -> SecretFinding {
    SecretFinding::new("password", vec![part])
}

/// The ranges of the passwords in a `.netrc`.
fn netrc(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // The keyword whose value comes next, and the macro that ends at an empty line.
    let (mut keyword, mut is_macro) = ("", false);
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let here = start;
        start += line.len();
        is_macro &= !line.trim().is_empty();
        let mut at = 0;
        for word in line.split_whitespace() {
            let place = at + line[at..].find(word).unwrap_or_default();
            at = place + word.len();
            if is_macro || (keyword.is_empty() && word.starts_with('#')) {
                break;
            }
            match keyword {
                "password" => {
                    let value = word.trim_matches('"');
                    let first = here + place + word.find(value).unwrap_or_default();
                    found.push(first..first + value.len());
                    keyword = "";
                }
                "" if word == "macdef" => is_macro = true,
                "" if ["machine", "login", "password", "account"].contains(&word) => keyword = word,
                _ => keyword = "",
            }
        }
    }
    found
}

/// The ranges of the passwords in a `.pgpass`: after the fourth unescaped colon.
fn pgpass(text: &str) -> Vec<Range<usize>> {
    const BEFORE: usize = 4;
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches(['\n', '\r']);
        let mut is_escaped = false;
        let colons = content.bytes().enumerate().filter(|(_, byte)| {
            let is_colon = *byte == b':' && !is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
            is_colon
        });
        let places: Vec<usize> = colons.map(|(at, _)| at).take(BEFORE).collect();
        if let ([.., last], false) = (places.as_slice(), content.starts_with('#'))
            && places.len() == BEFORE
        {
            found.push(start + last + 1..start + content.len());
        }
        start += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::{Scanner, Vault};
    use super::*;

    #[track_caller]
    fn case(path: Option<&str>, text: &str, expected: &str) {
        let source = path.map_or(TextSource::Text, TextSource::File);
        let redacted = Vault::default().redact(&Scanner::default(), text, source);
        assert_eq!(redacted.text, expected);
    }

    #[test]
    fn the_passwords_of_a_netrc_are_found() {
        let netrc = Some("home/.netrc");
        case(
            netrc,
            "machine a login bob password swordfish\nmachine b\n  login bob\n  password \"x9y8\"\n",
            "machine a login bob password [SECRET-1 password]\nmachine b\n  login bob\n  password \"[SECRET-2 password]\"\n",
        );
        for text in [
            "# password swordfish\nmachine password login password\n",
            "macdef init\ncd password swordfish\n\ndefault login anonymous\n",
            "machine a password",
            "password é",
        ] {
            case(netrc, text, text);
        }
    }

    #[test]
    fn a_printed_netrc_is_known_by_its_login() {
        case(
            None,
            "machine a login bob password Nr29dkfj39dkZ\nx",
            "machine a login bob password [SECRET-1 password]\nx",
        );
        case(
            None,
            "+  login bob\n+  password hunter2",
            "+  login bob\n+  password [SECRET-1 password]",
        );
        case(
            None,
            "  login bob\n  password hunter2",
            "  login bob\n  password [SECRET-1 password]",
        );
        for text in [
            "the login page password reset of my login form password field",
            "login anonymous password user@site",
            "(login, password) or login x password login_i",
            "login {self.login1} password {self.password1}",
        ] {
            case(None, text, text);
        }
    }

    #[test]
    fn the_passwords_of_a_pgpass_are_found() {
        let pgpass = Some(".pgpass");
        case(
            pgpass,
            "db:5432:app:bob:swordfish\n*:*:a\\:b:bob:x:y\\\\z\r\n",
            "db:5432:app:bob:[SECRET-1 password]\n*:*:a\\:b:bob:[SECRET-2 password]\r\n",
        );
        case(
            pgpass,
            "#a:b:c:d:efgh\na:b:c:d\n",
            "#a:b:c:d:efgh\na:b:c:d\n",
        );
        case(
            None,
            "db:5432:app:bob:Pp29dkfj39dkZ\n",
            "db:5432:app:bob:[SECRET-1 password]\n",
        );
    }
}
