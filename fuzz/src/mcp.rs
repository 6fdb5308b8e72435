//! Whatever a client sends, reading does not panic, and every line that answers is one line of JSON.

use agent_mcp::{BoundedLines, ClientProfile, ElicitAnswer, Incoming, ProgressToken, ReadLine};

/// The first byte is the longest line that is taken.
pub fn check(bytes: &[u8]) {
    let [longest, rest @ ..] = bytes else {
        return;
    };
    let longest = usize::from(*longest);
    let input = std::io::BufReader::with_capacity(16, rest);
    let mut lines = BoundedLines::new(input, longest);
    loop {
        match lines.next_line().expect("memory can be read") {
            ReadLine::End => return,
            ReadLine::TooLong => {}
            ReadLine::Line(line) => {
                assert!(line.len() <= longest);
                take(&line);
            }
        }
    }
}

fn take(line: &[u8]) {
    match Incoming::read(line) {
        Incoming::Request { params, .. } | Incoming::Notification { params, .. } => {
            let _ = (ClientProfile::read(&params), ProgressToken::of(&params));
        }
        Incoming::Answer { result, .. } => {
            let _ = ElicitAnswer::read(result.as_ref(), &[]);
        }
        Incoming::Invalid(answer) => assert_eq!(answer.matches('\n').count(), 1),
    }
}
