//! UTF-8 with bytes in it that are none: a file that somebody pasted into with another program.
//!
//! Such a byte becomes a character that no text uses, so that all around it can be read and edited
//! as what it is, and the byte itself comes back as it was. A text that uses these characters
//! already is not read in this way.

/// What stands for the byte 0; only those from 0x80 on are ever stray. Private use, the last plane.
const FIRST: u32 = 0x10_fe00;

/// The text, if the greater part of what is not ASCII is UTF-8.
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

/// The bytes of such a text.
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
