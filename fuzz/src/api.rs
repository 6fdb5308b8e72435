//! Whatever a server sends, the decoders do not panic, and how it was cut changes nothing.

use agent_api::{ApiKey, KeyFilter, SseReader, StreamDelta, Wire, WireProblem, retry_after};

const WIRES: [Wire; 3] = [Wire::ChatCompletions, Wire::Responses, Wire::Messages];

/// The first byte chooses a wire, the second where the stream is cut.
pub fn check(bytes: &[u8]) {
    let [first, second, rest @ ..] = bytes else {
        return;
    };
    let wire = WIRES[usize::from(first % 3)];
    let whole = read(wire, &[rest]);
    let at = usize::from(*second).min(rest.len());
    assert_eq!(read(wire, &[&rest[..at], &rest[at..]]), whole);
    let text = String::from_utf8_lossy(rest);
    let _ = wire.decode_body(&text);
    let _ = retry_after(&text, u64::from(*second));
    withhold(&text, at);
}

/// A key that repeats its own beginning goes, wherever the text is cut.
fn withhold(text: &str, at: usize) {
    let key = ApiKey::new("data:d").expect("it is one word");
    let at = text.floor_char_boundary(at);
    let mut filter = KeyFilter::new(key.clone());
    let mut passed = filter.push(&text[..at]) + &filter.push(&text[at..]);
    passed.push_str(&filter.finish());
    assert_eq!(passed, key.scrub(text.to_owned()));
}

fn read(wire: Wire, pieces: &[&[u8]]) -> Vec<Result<Vec<StreamDelta>, WireProblem>> {
    let mut reader = SseReader::default();
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(reader.push(piece).expect("it is short"));
    }
    events.extend(reader.finish());
    events.iter().map(|event| wire.decode_event(event)).collect()
}
