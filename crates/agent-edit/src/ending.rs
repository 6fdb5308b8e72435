//! How lines end, and where.

use memchr::{memchr_iter, memchr2_iter};

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnding {
    /// `\n`
    Lf,
    /// `\r\n`
    CrLf,
    /// `\r`, where that counts as an ending.
    Cr,
    /// Not at all: the last line of a text without a final newline.
    Missing,
}

impl LineEnding {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
            Self::Missing => "",
        }
    }
}

/// Where each line ends and how; a lone `\r` is an ordinary character.
pub(super) fn breaks(text: &str) -> impl Iterator<Item = (usize, LineEnding)> {
    let bytes = text.as_bytes();
    memchr_iter(b'\n', bytes).map(|at| line_break(bytes, at))
}

/// Where each line ends and how; a lone `\r` ends one as well.
pub(super) fn breaks_with_lone_returns(text: &str) -> impl Iterator<Item = (usize, LineEnding)> {
    let bytes = text.as_bytes();
    memchr2_iter(b'\n', b'\r', bytes)
        .filter(|&at| bytes[at] == b'\n' || bytes.get(at + 1) != Some(&b'\n'))
        .map(|at| line_break(bytes, at))
}

/// True if a program may have taken a `\r` in the text for the end of a line.
pub(super) fn has_lone_return(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr_iter(b'\r', bytes).any(|at| bytes.get(at + 1) != Some(&b'\n'))
}

/// Where the line before a break ends, and how.
fn line_break(bytes: &[u8], at: usize) -> (usize, LineEnding) {
    if bytes[at] == b'\r' {
        (at, LineEnding::Cr)
    } else if at > 0 && bytes[at - 1] == b'\r' {
        (at - 1, LineEnding::CrLf)
    } else {
        (at, LineEnding::Lf)
    }
}
