//! Lines of bounded length.

use std::io::{self, BufRead};

/// Reads lines and never keeps more of one than it may have.
#[derive(Debug)]
pub struct BoundedLines<R> {
    input: R,
    longest: usize,
}

/// A line, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadLine {
    /// A line without its end.
    Line(Vec<u8>),
    /// A line with more bytes than a message may have; all of it was passed over.
    TooLong,
    /// The input has ended. What came after the last line end is no message.
    End,
}

impl<R: BufRead> BoundedLines<R> {
    /// Reads from `input` lines of at most `longest` bytes.
    pub fn new(input: R, longest: usize) -> Self {
        Self { input, longest }
    }

    /// Waits for the next line.
    pub fn next_line(&mut self) -> io::Result<ReadLine> {
        let mut line = Vec::new();
        let mut is_too_long = false;
        loop {
            let piece = match self.input.fill_buf() {
                Ok([]) => return Ok(ReadLine::End),
                Ok(piece) => piece,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(cause),
            };
            let end = piece.iter().position(|byte| *byte == b'\n');
            let part = &piece[..end.unwrap_or(piece.len())];
            if is_too_long || line.len() + part.len() > self.longest {
                is_too_long = true;
                line = Vec::new();
            } else {
                line.extend_from_slice(part);
            }
            let read = part.len() + usize::from(end.is_some());
            self.input.consume(read);
            if end.is_none() {
                continue;
            }
            if is_too_long {
                return Ok(ReadLine::TooLong);
            }
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(ReadLine::Line(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_one_is_read() {
        let text = format!("one\r\n{}\ntwo\nhalf", "x".repeat(100));
        // A buffer that is smaller than the lines.
        let input = io::BufReader::with_capacity(7, text.as_bytes());
        let mut reader = BoundedLines::new(input, 10);
        let mut lines = Vec::new();
        for _ in 0..4 {
            lines.push(reader.next_line().unwrap());
        }
        let line = |text: &str| ReadLine::Line(text.as_bytes().to_vec());
        let expected = [line("one"), ReadLine::TooLong, line("two"), ReadLine::End];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_line_of_the_most_bytes_is_read() {
        let mut reader = BoundedLines::new(&b"0123456789\n01234567890\n"[..], 10);
        assert!(matches!(reader.next_line().unwrap(), ReadLine::Line(line) if line.len() == 10));
        assert_eq!(reader.next_line().unwrap(), ReadLine::TooLong);
    }
}
