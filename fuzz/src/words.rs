//! Texts of lines from a small vocabulary, so that lines repeat and edits often find a place.

/// Lines that differ in the ways in which a quote differs from a file.
const LINES: &[&str] = &[
    "",
    "a",
    "b",
    "c",
    "    a",
    "\ta",
    "  b",
    "a  ",
    "if x {",
    "}",
    "    }",
    "let a = 1;",
    "let  a = 1;",
    "say(\"it’s\")",
    "say(\"it's\")",
    "x – y",
    "x - y",
    "...",
    "// ...",
    "é",
    "a\u{a0}b",
    "a b",
    "\\n",
    "\\\"",
    "\"",
    "foo bar",
    "bar foo",
    "foo",
    "-- a",
    "++ b",
    "@@ -1 +1 @@",
    "日本",
];

/// How many lines are plain words and may stand in any diff.
const PLAIN: usize = 16;

/// Which lines and line ends a text has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// All lines, with `\n`, `\r\n`, and a lone `\r` as line ends.
    Any,
    /// Plain lines that end with `\n`.
    Plain,
}

/// A text of which each byte is a line; the highest bits of it say how the line ends.
pub fn text(bytes: &[u8], kind: Kind) -> String {
    let mut text = String::new();
    for (position, &byte) in bytes.iter().enumerate() {
        let is_last = position + 1 == bytes.len();
        let line = usize::from(byte & 0x1f);
        text.push_str(match kind {
            Kind::Any => LINES[line],
            Kind::Plain => LINES[line % PLAIN],
        });
        text.push_str(match (kind, byte >> 5) {
            (_, 0) if is_last => "",
            (Kind::Any, 6) => "\r\n",
            (Kind::Any, 7) => "\r",
            _ => "\n",
        });
    }
    text
}

/// Takes as many bytes as the first one says, at most those that there are.
pub fn take<'a>(bytes: &mut &'a [u8], most: u8) -> &'a [u8] {
    let Some((&count, rest)) = bytes.split_first() else {
        return &[];
    };
    let count = usize::from(count % (most + 1)).min(rest.len());
    let (taken, rest) = rest.split_at(count);
    *bytes = rest;
    taken
}

/// Takes one byte; zero where there is none.
pub fn byte(bytes: &mut &[u8]) -> u8 {
    take_one(bytes).unwrap_or_default()
}

fn take_one(bytes: &mut &[u8]) -> Option<u8> {
    let (&first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(first)
}
