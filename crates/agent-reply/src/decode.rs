//! Bytes of a reply, turned into text.
//!
//! Any bytes give a text. A byte order mark decides; without one, UTF-16 is believed only if every
//! other byte of the beginning is zero, and anything else is UTF-8 with what is invalid replaced.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::Repair;

/// How many bytes are looked at to tell UTF-16 without a byte order mark.
const SAMPLE: usize = 512;

/// Reads the bytes of a reply as text, and says what that took.
pub fn decode(bytes: &[u8]) -> (String, Vec<Repair>) {
    let mut repairs = Vec::new();
    let (encoding, mark) = match Encoding::for_bom(bytes) {
        Some((encoding, length)) => (encoding, length),
        None => (guess(bytes), 0),
    };
    let bytes = &bytes[mark..];
    if encoding != UTF_8 {
        let what = format!("read the reply as {}", encoding.name());
        repairs.push(Repair::once(what));
    } else if mark > 0 {
        repairs.push(Repair::once("removed the byte order mark"));
    }
    let (text, malformed) = encoding.decode_without_bom_handling(bytes);
    if malformed {
        repairs.push(Repair {
            what: "replaced bytes that are not text".to_owned(),
            count: replaced(bytes, &text),
            in_body: true,
            copied_from: None,
        });
    }
    (text.into_owned(), repairs)
}

/// UTF-16 where the zero bytes of Latin letters show it, else UTF-8.
fn guess(bytes: &[u8]) -> &'static Encoding {
    let sample = &bytes[..bytes.len().min(SAMPLE) & !1];
    if sample.len() < 4 {
        return UTF_8;
    }
    let zeros = |from: usize| sample.iter().skip(from).step_by(2).filter(|b| **b == 0);
    let pairs = sample.len() / 2;
    match (zeros(0).count(), zeros(1).count()) {
        (0, low) if low * 10 >= pairs * 9 => UTF_16LE,
        (high, 0) if high * 10 >= pairs * 9 => UTF_16BE,
        _ => UTF_8,
    }
}

/// How many replacement characters the text has beyond those that were sent as such.
fn replaced(bytes: &[u8], text: &str) -> u32 {
    const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();
    let now = memchr::memmem::find_iter(text.as_bytes(), REPLACEMENT).count();
    let sent = memchr::memmem::find_iter(bytes, REPLACEMENT).count();
    u32::try_from(now.saturating_sub(sent).max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(bytes: &[u8], text: &str, repairs: &[&str]) {
        let (got, done) = decode(bytes);
        assert_eq!(got, text);
        let done: Vec<_> = done.iter().map(|repair| repair.what.as_str()).collect();
        assert_eq!(done, repairs);
    }

    fn utf16(text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(order).collect()
    }

    #[test]
    fn reads_utf_8_with_and_without_its_mark() {
        case("[DONE] \u{e9}".as_bytes(), "[DONE] \u{e9}", &[]);
        case(
            b"\xef\xbb\xbf[DONE]",
            "[DONE]",
            &["removed the byte order mark"],
        );
        case(b"", "", &[]);
    }

    #[test]
    fn reads_utf_16_of_both_orders() {
        let marked = utf16("\u{feff}[DONE]\r\n\u{e9}", u16::to_le_bytes);
        case(&marked, "[DONE]\r\n\u{e9}", &["read the reply as UTF-16LE"]);
        let marked = utf16("\u{feff}[DONE]", u16::to_be_bytes);
        case(&marked, "[DONE]", &["read the reply as UTF-16BE"]);
    }

    #[test]
    fn tells_utf_16_without_a_mark_by_its_zeros() {
        case(
            &utf16("[DONE]\nall", u16::to_le_bytes),
            "[DONE]\nall",
            &["read the reply as UTF-16LE"],
        );
        case(
            &utf16("[DONE]\nall", u16::to_be_bytes),
            "[DONE]\nall",
            &["read the reply as UTF-16BE"],
        );
        case(
            b"a\0b\0c\xff\0\0",
            "a\0b\0c\u{fffd}\0\0",
            &["replaced bytes that are not text"],
        );
    }

    #[test]
    fn counts_the_bytes_that_are_not_text() {
        let (text, repairs) = decode(b"a\xffb\xfe \xef\xbf\xbd");
        assert_eq!(text, "a\u{fffd}b\u{fffd} \u{fffd}");
        assert_eq!(repairs[0].count, 2);
    }
}
