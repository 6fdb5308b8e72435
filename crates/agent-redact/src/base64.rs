//! Decodes base64, to see if it hides a key or a login.

/// Decodes base64; padding is optional. `None` if the text is not base64.
pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let filled = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let text = &text[..text.len() - filled];
    let mut decoded = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for four in text.chunks(4) {
        let mut bits = 0_u32;
        for byte in four {
            bits = bits << 6 | sextet(*byte)?;
        }
        let missing = 4 - four.len();
        let bytes = (bits << (6 * missing)).to_be_bytes();
        decoded.extend(&bytes[1..4 - missing.min(3)]);
    }
    Some(decoded)
}

/// Returns true if a text is the base64 of a user name and a password: `bob:...`.
pub(super) fn is_login(text: &str) -> bool {
    let Some(login) = decode(text.as_bytes()) else {
        return false;
    };
    let is_text = login.iter().all(u8::is_ascii_graphic);
    let colon = login.iter().position(|byte| *byte == b':');
    is_text && colon.is_some_and(|at| at > 0 && at + 1 < login.len())
}

fn sextet(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, expected: Option<&str>) {
        let decoded = decode(text.as_bytes());
        assert_eq!(decoded.as_deref(), expected.map(str::as_bytes), "{text}");
    }

    #[test]
    fn base64_is_read() {
        case("", Some(""));
        case("YQ==", Some("a"));
        case("YWI=", Some("ab"));
        case("YWI", Some("ab"));
        case("YWJj", Some("abc"));
        case("YWJjZA==", Some("abcd"));
        case("YW-j", None);
        case("é", None);
    }

    #[test]
    fn a_login_is_told_from_other_base64() {
        assert!(is_login("dXNlcjE6cEA1NXcwckQ5"));
        assert!(!is_login("YWJjZGVmZ2g="));
        assert!(!is_login("a8f5f167f44f4964"));
        assert!(!is_login("OnBhc3M="));
    }
}
