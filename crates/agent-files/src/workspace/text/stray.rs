//! UTF-8 with some invalid bytes, for example a file into which another program pasted Latin-1.
//!
//! Each invalid byte becomes a private-use character, so that the rest can be read and edited as
//! UTF-8 and the byte round-trips. Text that already contains these characters is not decoded this
//! way.

/// Represents byte 0, in the last private-use plane; only bytes from 0x80 can be invalid.
const FIRST: u32 = 0x10_fe00;

/// Decodes the bytes, if most of the non-ASCII content is valid UTF-8.
pub(super) fn decode(bytes: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(bytes.len());
    let (mut whole, mut stray) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        if chunk
            .valid()
            .chars()
            .any(|character| byte_of(character).is_some())
        {
            return None;
        }
        whole += chunk
            .valid()
            .chars()
            .filter(|character| !character.is_ascii())
            .count();
        stray += chunk.invalid().len();
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| character_of(*byte)));
    }
    (whole > stray).then_some(text)
}

/// Encodes such a text.
pub(super) fn encode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, byte, character)) = first(rest) {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        bytes.push(byte);
        rest = &rest[at + character.len_utf8()..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

fn first(text: &str) -> Option<(usize, u8, char)> {
    let mut characters = text.char_indices();
    characters.find_map(|(at, character)| Some((at, byte_of(character)?, character)))
}

fn character_of(byte: u8) -> char {
    char::from_u32(FIRST + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn byte_of(character: char) -> Option<u8> {
    let byte = u8::try_from(u32::from(character).checked_sub(FIRST)?).ok()?;
    (byte >= 0x80).then_some(byte)
}
