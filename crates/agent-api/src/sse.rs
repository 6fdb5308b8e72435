//! Server-sent events, read from pieces of any size.
//!
//! ```text
//! stream  = *event
//! event   = *line blank-line
//! line    = (field ":" [space] value | ":" comment) (LF | CR | CRLF)
//! ```
//!
//! Only `event` and `data` matter here. The pieces may be cut anywhere, inside a character or
//! between CR and LF. Memory is bounded: an event longer than the limit is an error.

use std::mem;

use crate::wire::WireProblem;

/// The longest event; a whole reply of 16 MiB in one event still fits when escaped.
const LONGEST_EVENT: usize = 64 * 1024 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// Its type; empty if the server names none.
    pub name: String,
    /// Its data, lines joined by line feeds.
    pub data: String,
}

/// Reads events from the pieces of a stream.
#[derive(Debug, Default)]
pub struct SseReader {
    /// The line that is still incomplete.
    line: Vec<u8>,
    /// The event that is still incomplete.
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// True if the last byte was a CR, after which an LF ends no further line.
    after_return: bool,
    has_begun: bool,
}

impl SseReader {
    /// Takes the next piece and returns the events that it completes.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<SseEvent>, WireProblem> {
        let mut events = Vec::new();
        let mut rest = piece;
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (part, end) = (&rest[..at], rest[at]);
            rest = &rest[at + 1..];
            let is_rest_of_crlf = mem::take(&mut self.after_return) && at == 0 && end == b'\n';
            if is_rest_of_crlf {
                continue;
            }
            self.after_return = end == b'\r';
            self.append(part)?;
            events.extend(self.end_line());
        }
        if !rest.is_empty() {
            self.after_return = false;
            self.append(rest)?;
        }
        Ok(events)
    }

    /// Takes the end of the stream: an event without its blank line is complete if its line was.
    pub fn finish(mut self) -> Option<SseEvent> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.end_event()
    }

    fn append(&mut self, part: &[u8]) -> Result<(), WireProblem> {
        if self.line.len() + self.data.len() + part.len() > LONGEST_EVENT {
            return Err(WireProblem::TooLong);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let mut line = mem::take(&mut self.line);
        if !mem::replace(&mut self.has_begun, true) && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        if line.is_empty() {
            return self.end_event();
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = match colon {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line.as_slice(), &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.name = value.to_vec(),
            b"data" => {
                if mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<SseEvent> {
        let (name, data) = (mem::take(&mut self.name), mem::take(&mut self.data));
        mem::take(&mut self.has_data).then(|| SseEvent {
            name: String::from_utf8_lossy(&name).into_owned(),
            data: String::from_utf8_lossy(&data).into_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<SseEvent> {
        let mut reader = SseReader::default();
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(reader.push(piece).unwrap());
        }
        events.extend(reader.finish());
        events
    }

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent {
            name: name.to_owned(),
            data: data.to_owned(),
        }
    }

    #[test]
    fn reads_names_data_and_comments() {
        let stream =
            b"\xef\xbb\xbf: hello\nevent: a\ndata: one\ndata:two\n\ndata\n\nid: 1\nretry: 5\n\n";
        assert_eq!(read(&[stream]), [event("a", "one\ntwo"), event("", "")]);
    }

    #[test]
    fn all_line_ends_are_the_same() {
        let expected = [event("a", "1"), event("", "2")];
        for end in ["\n", "\r", "\r\n"] {
            let stream = format!("event: a{end}data: 1{end}{end}data: 2{end}{end}");
            assert_eq!(read(&[stream.as_bytes()]), expected, "{end:?}");
        }
    }

    #[test]
    fn an_event_without_its_blank_line_counts_at_the_end() {
        assert_eq!(read(&[b"data: [DONE]"]), [event("", "[DONE]")]);
        assert_eq!(read(&[b"data: [DONE]\n"]), [event("", "[DONE]")]);
        assert_eq!(read(&[b": only a comment"]), []);
    }

    #[test]
    fn a_stream_cut_at_every_byte_reads_the_same() {
        let stream = "event: ä\r\ndata: größe\r\rdata: 2\n\n: ping\n\ndata: €\r\n\r\n".as_bytes();
        let whole = read(&[stream]);
        assert_eq!(whole.len(), 3);
        for at in 0..=stream.len() {
            assert_eq!(read(&[&stream[..at], &stream[at..]]), whole, "cut at {at}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_read_the_same(
            stream in proptest::collection::vec(
                prop_oneof![Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), any::<u8>()], 0..200),
            cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..5),
        ) {
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            at.push(0);
            at.push(stream.len());
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&pieces), read(&[&stream]));
        }
    }
}
