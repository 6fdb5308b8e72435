//! Decodes files to text and encodes text back to the original bytes.
//!
//! Text that is not edited round-trips byte for byte in every encoding: UTF-8 with or without a
//! byte order mark, UTF-16 with one, UTF-8 with a few invalid bytes, and otherwise Windows-1252, in
//! which every byte is valid. Line endings are part of the text and never changed.

mod stray;

use std::borrow::Cow;

use encoding_rs::WINDOWS_1252;

/// A byte order mark.
const BOM: char = '\u{feff}';

/// The text of a file and its encoding.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextFile {
    /// The text, without a byte order mark.
    pub text: String,
    /// The encoding.
    pub encoding: TextEncoding,
}

/// A text encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextEncoding {
    /// UTF-8.
    #[default]
    Utf8,
    /// UTF-8 with a byte order mark.
    Utf8Bom,
    /// UTF-8 with some invalid bytes; each is represented by a private-use character in the text.
    Utf8Stray,
    /// UTF-8 with a byte order mark and some invalid bytes.
    Utf8BomStray,
    /// UTF-16, little-endian, with a byte order mark.
    Utf16Le,
    /// UTF-16, big-endian, with a byte order mark.
    Utf16Be,
    /// One byte per character.
    Windows1252,
}

/// The bytes are not text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is a binary file")]
pub struct NotText;

/// The text contains a character that the file's encoding lacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the file is stored as Windows-1252, which has no `{character}` (U+{code:04X}); use a character that it has, or delete the file and create it again",
    code = u32::from(*.character)
)]
pub struct Unencodable {
    /// The first character that cannot be stored.
    pub character: char,
}

impl TextFile {
    /// Decodes the bytes of a file.
    pub fn decode(bytes: Vec<u8>) -> Result<Self, NotText> {
        let file = match bytes.as_slice() {
            [0xef, 0xbb, 0xbf, rest @ ..] => match std::str::from_utf8(rest) {
                Ok(text) => Self::new(text, TextEncoding::Utf8Bom),
                // The byte order mark decides, however many bytes are invalid.
                Err(_) => match stray::decode(&bytes) {
                    // One mark only: a second one is part of the text.
                    Some(text) => Self::new(&text[BOM.len_utf8()..], TextEncoding::Utf8BomStray),
                    None => Self::single_bytes(&bytes)?,
                },
            },
            [0xff, 0xfe, rest @ ..] => Self::utf16(rest, TextEncoding::Utf16Le)?,
            [0xfe, 0xff, rest @ ..] => Self::utf16(rest, TextEncoding::Utf16Be)?,
            _ => match String::from_utf8(bytes) {
                Ok(text) => Self::new(text, TextEncoding::Utf8),
                Err(invalid) => match stray::decode(invalid.as_bytes()) {
                    Some(text) => Self::new(text, TextEncoding::Utf8Stray),
                    None => Self::single_bytes(invalid.as_bytes())?,
                },
            },
        };
        if looks_binary(&file.text, file.encoding) {
            return Err(NotText);
        }
        Ok(file)
    }

    /// Decodes borrowed bytes, without a copy if they are plain UTF-8.
    pub fn view(bytes: &[u8]) -> Result<(Cow<'_, str>, TextEncoding), NotText> {
        match std::str::from_utf8(bytes) {
            // The byte order marks of all other encodings are invalid UTF-8.
            Ok(text) if !text.starts_with(BOM) => {
                if looks_binary(text, TextEncoding::Utf8) {
                    return Err(NotText);
                }
                Ok((Cow::Borrowed(text), TextEncoding::Utf8))
            }
            _ => {
                let file = Self::decode(bytes.to_vec())?;
                Ok((Cow::Owned(file.text), file.encoding))
            }
        }
    }

    /// Encodes the text.
    pub fn encode(&self) -> Result<Vec<u8>, Unencodable> {
        let text = self.text.as_str();
        let with_mark = || std::iter::once(BOM).chain(text.chars());
        let mut units = [0; 2];
        Ok(match self.encoding {
            TextEncoding::Utf8 => text.as_bytes().to_vec(),
            TextEncoding::Utf8Bom => with_mark().collect::<String>().into_bytes(),
            TextEncoding::Utf8Stray => stray::encode(text),
            TextEncoding::Utf8BomStray => stray::encode(&with_mark().collect::<String>()),
            TextEncoding::Utf16Le => with_mark()
                .flat_map(|character| character.encode_utf16(&mut units).to_vec())
                .flat_map(u16::to_le_bytes)
                .collect(),
            TextEncoding::Utf16Be => with_mark()
                .flat_map(|character| character.encode_utf16(&mut units).to_vec())
                .flat_map(u16::to_be_bytes)
                .collect(),
            TextEncoding::Windows1252 => {
                let (bytes, _, has_unmappable) = WINDOWS_1252.encode(text);
                if has_unmappable {
                    return Err(unencodable(text));
                }
                bytes.into_owned()
            }
        })
    }

    /// Encodes the text, without a copy if it is plain UTF-8.
    pub fn into_bytes(self) -> Result<Vec<u8>, Unencodable> {
        match self.encoding {
            TextEncoding::Utf8 => Ok(self.text.into_bytes()),
            _ => self.encode(),
        }
    }

    /// A file with another text and the same encoding.
    #[must_use]
    pub fn with_text(&self, text: impl Into<String>) -> Self {
        Self::new(text, self.encoding)
    }

    fn new(text: impl Into<String>, encoding: TextEncoding) -> Self {
        Self {
            text: text.into(),
            encoding,
        }
    }

    fn utf16(bytes: &[u8], encoding: TextEncoding) -> Result<Self, NotText> {
        let pairs = bytes.chunks_exact(2);
        if !pairs.remainder().is_empty() {
            return Err(NotText);
        }
        let units = pairs.map(|pair| match encoding {
            TextEncoding::Utf16Be => u16::from_be_bytes([pair[0], pair[1]]),
            _ => u16::from_le_bytes([pair[0], pair[1]]),
        });
        // A lone surrogate could not be written back.
        let text: Result<String, _> = char::decode_utf16(units).collect();
        Ok(Self::new(text.map_err(|_| NotText)?, encoding))
    }

    fn single_bytes(bytes: &[u8]) -> Result<Self, NotText> {
        // NUL is the best sign of a binary file, and searching for it is cheaper than decoding.
        if memchr::memchr(0, bytes).is_some() {
            return Err(NotText);
        }
        let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
        Ok(Self::new(text, TextEncoding::Windows1252))
    }
}

/// Text may contain one control character in this many.
fn one_control_in(encoding: TextEncoding) -> usize {
    match encoding {
        // Any bytes are valid here, so the limit is stricter.
        TextEncoding::Windows1252 | TextEncoding::Utf8Stray | TextEncoding::Utf8BomStray => 32,
        _ => 4,
    }
}

fn looks_binary(text: &str, encoding: TextEncoding) -> bool {
    const LOOKED_AT: usize = 8192;
    if memchr::memchr(0, text.as_bytes()).is_some() {
        return true;
    }
    // Arithmetic without branches, so that the compiler can vectorise it.
    let is = |byte: u8, other: u8| u8::from(byte == other);
    let is_control = |byte: u8| {
        let usual = [b'\t', b'\n', b'\r', 0x08, 0x0c, 0x1b];
        let is_usual = usual.iter().fold(0, |any, other| any | is(byte, *other));
        (u8::from(byte < 0x20) | is(byte, 0x7f)) & !is_usual
    };
    let start = &text.as_bytes()[..text.len().min(LOOKED_AT)];
    let in_chunk = |chunk: &[u8]| -> u8 { chunk.iter().map(|byte| is_control(*byte)).sum() };
    let chunks = start.chunks(usize::from(u8::MAX));
    let controls: usize = chunks.map(|chunk| usize::from(in_chunk(chunk))).sum();
    controls * one_control_in(encoding) > start.len()
}

fn unencodable(text: &str) -> Unencodable {
    let is_unmappable = |character: &char| {
        let mut bytes = [0; 4];
        WINDOWS_1252.encode(character.encode_utf8(&mut bytes)).2
    };
    Unencodable {
        character: text
            .chars()
            .find(is_unmappable)
            .unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn case(bytes: &[u8], text: &str, encoding: TextEncoding) {
        let file = TextFile::decode(bytes.to_vec()).unwrap();
        assert_eq!((file.text.as_str(), file.encoding), (text, encoding));
        assert_eq!(file.encode().unwrap(), bytes);
    }

    #[test]
    fn reads_the_encodings_that_files_have() {
        case(b"", "", TextEncoding::Utf8);
        case("caf\u{e9}\r\n".as_bytes(), "café\r\n", TextEncoding::Utf8);
        case(b"\xef\xbb\xbfa\n", "a\n", TextEncoding::Utf8Bom);
        case(b"\xff\xfea\0\n\0", "a\n", TextEncoding::Utf16Le);
        case(b"\xfe\xff\0a\0\n", "a\n", TextEncoding::Utf16Be);
        case(
            b"\xff\xfe\x3d\xd8\x00\xde",
            "\u{1f600}",
            TextEncoding::Utf16Le,
        );
        case(
            b"caf\xe9 \x80 \x81",
            "café € \u{81}",
            TextEncoding::Windows1252,
        );
    }

    #[test]
    fn a_stray_byte_does_not_make_another_encoding_of_utf8() {
        let bytes = b"h\xc3\xa9llo \xe4\xb8\xad\nbad \xff byte\nline\n";
        for (mark, encoding) in [
            (&b""[..], TextEncoding::Utf8Stray),
            (b"\xef\xbb\xbf", TextEncoding::Utf8BomStray),
        ] {
            let bytes = [mark, bytes].concat();
            let file = TextFile::decode(bytes.clone()).unwrap();
            assert_eq!(file.encoding, encoding);
            assert!(
                file.text.starts_with("h\u{e9}llo \u{4e2d}\nbad "),
                "{file:?}"
            );
            assert_eq!(file.encode().unwrap(), bytes);
            let edited = file.with_text(file.text.replace("line", "caf\u{e9} \u{4e2d}"));
            let expected = [
                mark,
                b"h\xc3\xa9llo \xe4\xb8\xad\nbad \xff byte\ncaf\xc3\xa9 \xe4\xb8\xad\n",
            ];
            assert_eq!(edited.encode().unwrap(), expected.concat());
        }
        // A second mark is part of the text.
        case(
            b"\xef\xbb\xbf\xef\xbb\xbf\xbb",
            "\u{feff}\u{10febb}",
            TextEncoding::Utf8BomStray,
        );
        // As much of the one as of the other: then every byte means something by itself.
        case(
            b"\xc3\xa9 \xe9",
            "\u{c3}\u{a9} \u{e9}",
            TextEncoding::Windows1252,
        );
        // The characters that would stand for bytes are there already.
        let used = "\u{e9}\u{e9}\u{10fe80}".as_bytes();
        let file = TextFile::decode([used, b"\xff"].concat()).unwrap();
        assert_eq!(file.encoding, TextEncoding::Windows1252);
    }

    #[test]
    fn knows_what_is_not_text() {
        for bytes in [
            &b"\x7fELF\x02\x01\x01\0"[..],
            b"PK\x03\x04\x14\0\0",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
            b"\xff\xd8\xff\xe0\x01\x02\x03\x04\x05",
            b"\x01\x02\x03\x04",
            b"\xff\xfe\x00\xd8",
            b"\xff\xfea",
        ] {
            assert_eq!(TextFile::decode(bytes.to_vec()), Err(NotText), "{bytes:?}");
        }
    }

    #[test]
    fn an_edit_keeps_the_encoding() {
        let file = TextFile::decode(b"caf\xe9\n".to_vec()).unwrap();
        assert_eq!(file.with_text("th\u{e9}\n").encode().unwrap(), b"th\xe9\n");
    }

    #[test]
    fn names_the_character_that_cannot_be_stored() {
        let file = TextFile::decode(b"caf\xe9\n".to_vec()).unwrap();
        let problem = file.with_text("a \u{4e2d} b").encode().unwrap_err();
        assert_eq!(problem.character, '\u{4e2d}');
        assert!(problem.to_string().contains("U+4E2D"), "{problem}");
    }

    proptest! {
        #[test]
        fn what_is_not_edited_comes_back_byte_for_byte(
            bytes in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..64),
                proptest::collection::vec(9_u8..=255, 0..64),
                ".{0,32}".prop_map(String::into_bytes),
                ("\\PC{0,32}", any::<u8>(), ".{0,8}").prop_map(|(one, byte, other)| {
                    [one.as_bytes(), &[byte], other.as_bytes()].concat()
                }),
            ],
            mark in prop_oneof![
                Just(&b""[..]), Just(&b"\xef\xbb\xbf"[..]), Just(&b"\xff\xfe"[..]), Just(&b"\xfe\xff"[..]),
            ],
        ) {
            let bytes = [mark, &bytes].concat();
            let decoded = TextFile::decode(bytes.clone());
            let view = TextFile::view(&bytes)
                .map(|(text, encoding)| TextFile::new(text, encoding));
            prop_assert_eq!(&view, &decoded);
            if let Ok(file) = decoded {
                prop_assert_eq!(file.encode().unwrap(), bytes);
            }
        }
    }
}
